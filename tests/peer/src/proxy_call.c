// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls on their way to nfsd: what the client sent, as one RPC message.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy.h"

/* nfsd does not receive while it cannot send, so it must not have many Calls */
#define AT_NFSD		4U

/* Newest first */
struct call *calls;

/* A hash table that is never full */
static bool seen_before(uint32_t xid)
{
	static uint32_t seen[1 << 20];
	uint32_t mask = (1 << 20) - 1;
	uint32_t at = (xid * 2654435761U) & mask;

	if (!xid)
		return false;
	while (seen[at] && seen[at] != xid)
		at = (at + 1) & mask;
	if (seen[at] == xid)
		return true;
	seen[at] = xid;
	return false;
}

void call_free(struct call *call)
{
	struct call **p = &calls;

	while (*p && *p != call)
		p = &(*p)->next;
	if (*p)
		*p = call->next;
	free(call->msg);
	free(call->reply);
	free(call);
}

/* A Call at nfsd is kept, as the client may send it again */
void calls_drop(struct conn *conn)
{
	struct call *call, *next;

	for (call = calls; call; call = next) {
		next = call->next;
		if (call->conn != conn)
			continue;
		call->conn = NULL;
		if (call->state != CALL_AT_NFSD)
			call_free(call);
	}
}

/* NULL: no Call waits for it */
struct call *call_answered(uint32_t xid)
{
	struct call *call = calls;

	while (call && (call->state != CALL_AT_NFSD || rpc_word(call->msg, 0) != xid))
		call = call->next;
	return call;
}

/* Oldest first, up to AT_NFSD at a time */
void calls_forward(void)
{
	for (;;) {
		struct call *oldest = NULL;
		unsigned int n = 0;

		for (struct call *call = calls; call; call = call->next) {
			n += call->state == CALL_AT_NFSD;
			if (call->state == CALL_WAITS)
				oldest = call;
		}
		if (!oldest || n >= AT_NFSD)
			return;
		oldest->state = CALL_AT_NFSD;
		nfsd_send(oldest->msg, oldest->len);
	}
}

/* ---- segments ----------------------------------------------------------- */

static void longer_of(struct rpcrdma_segment *best, const struct rpcrdma_segment *seg)
{
	if (seg->length > best->length)
		*best = *seg;
}

static void longest_of_chunk(struct rpcrdma_segment *best, const struct rpcrdma_chunk *chunk)
{
	struct rpcrdma_segment seg;

	for (u32 i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		longer_of(best, &seg);
	}
}

struct rpcrdma_segment call_segment(const struct call *call, enum chunks chunks)
{
	struct rpcrdma_segment best = { 0 };
	struct rpcrdma_write_iter w;
	struct rpcrdma_read_iter r;
	struct rpcrdma_chunk reply;

	if (chunks == CHUNKS_WRITE) {
		rpcrdma_write_iter_init(&w, &call->hdr);
		while (rpcrdma_write_iter_next(&w))
			longest_of_chunk(&best, &w.chunk);
	} else if (chunks == CHUNKS_REPLY) {
		if (rpcrdma_hdr_reply_chunk(&call->hdr, &reply))
			longest_of_chunk(&best, &reply);
	} else {
		rpcrdma_read_iter_init(&r, &call->hdr);
		while (rpcrdma_read_iter_next(&r))
			if (!r.position == (chunks == CHUNKS_ZERO))
				longer_of(&best, &r.seg);
	}
	return best;
}

bool call_rkey(const struct call *call, uint32_t *rkey)
{
	struct rpcrdma_segment best = { 0 };

	for (enum chunks i = 0; i < CHUNKS_MAX; i++) {
		struct rpcrdma_segment seg = call_segment(call, i);

		longer_of(&best, &seg);
	}
	*rkey = best.handle;
	return best.length;
}

/* ---- the RPC message ---------------------------------------------------- */

static bool append(struct call *call, const uint8_t *from, uint32_t len)
{
	if (len > MAX_MESSAGE - call->len)
		return false;
	if (from)
		memcpy(call->msg + call->len, from, len);
	call->len += len;
	return true;
}

/*
 * Reads the Read list segment by segment. A chunk is at its position in the
 * message; the other bytes are inline, or in the Position-Zero Read chunk.
 */
static bool assemble(struct call *call)
{
	const struct rpcrdma_hdr *hdr = &call->hdr;
	const uint8_t *body = hdr->buf + hdr->body;
	struct rpcrdma_read_iter it;
	uint32_t used = 0, at = 0, n;

	call->msg = calloc(1, MAX_MESSAGE);
	if (!call->msg)
		errx(1, "no memory");
	rpcrdma_read_iter_init(&it, hdr);
	while (rpcrdma_read_iter_next(&it)) {
		if (it.position != at) {
			call->len = rpcrdma_xdr_roundup(call->len);
			at = it.position;
			n = at - call->len;
			if (!append(call, body + used, n))
				return false;
			used += n;
		}
		if (it.seg.length > MAX_MESSAGE - call->len ||
		    conn_read(call->conn, &it.seg, call->msg + call->len))
			return false;
		call->len += it.seg.length;
	}
	if (hdr->read_segs && at)
		call->len = rpcrdma_xdr_roundup(call->len);
	return append(call, body + used, hdr->body_len - used);
}

/*
 * A Read chunk is the data of a WRITE or the text of a SYMLINK (RFC 8267, 4),
 * as long as the word before it says, without roundup (RFC 8166, 3.4.4.4 and
 * 3.4.5.2). A Position-Zero Read chunk is the only one of its Call.
 */
static bool is_read_chunk_right(const struct call *call)
{
	uint32_t position = 0, len = 0;
	struct rpcrdma_read_iter it;

	if (!call->hdr.read_segs)
		return true;
	rpcrdma_read_iter_init(&it, &call->hdr);
	while (rpcrdma_read_iter_next(&it)) {
		if (len && it.position != position)
			return false;
		position = it.position;
		len += it.seg.length;
	}
	if (!position || call->hdr.proc == RPCRDMA_NOMSG)
		return !position && call->hdr.proc == RPCRDMA_NOMSG;
	return (call->proc == PROC_WRITE || call->proc == PROC_SYMLINK) &&
	       rpc_word(call->msg, position - 4) == len;
}

/*
 * A READ's Write chunk is as long as its count, the Call's last word, without
 * roundup (RFC 8166, 3.4.6.2) unless it is to be written.
 */
static bool is_write_chunk_long(const struct call *call, u64 bytes)
{
	uint32_t count = rpc_word(call->msg, call->len - 4);

	if (call->dev.write_lie == CHUNK_ROUNDUP)
		return bytes == rpcrdma_xdr_roundup(count);
	return bytes == count;
}

/* A Write chunk is for the data of a READ or the text of a READLINK */
static bool is_write_chunk_right(const struct call *call)
{
	struct rpcrdma_write_iter it;

	rpcrdma_write_iter_init(&it, &call->hdr);
	if (!rpcrdma_write_iter_next(&it))
		return true;
	if (call->hdr.write_chunks > 1)
		return false;
	return call->proc == PROC_READLINK ||
	       (call->proc == PROC_READ &&
		is_write_chunk_long(call, it.chunk.bytes));
}

static void count_chunks(const struct call *call)
{
	const struct rpcrdma_hdr *hdr = &call->hdr;

	report.read_chunks += hdr->read_bytes != 0;
	report.write_chunks += hdr->write_chunks != 0;
	report.reply_chunks += hdr->reply != 0;
	if (!rpc_is_nfs3(call->msg, call->len) ||
	    (is_read_chunk_right(call) && is_write_chunk_right(call)))
		return;
	say("XID 0x%08x: unexpected chunks in a %s", hdr->xid,
	    proc_name(call->proc));
	report.bad_chunks++;
}

/* ---- arrival ------------------------------------------------------------ */

static struct call *call_new(struct conn *conn, const struct vb_event *ev)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		errx(1, "no memory");
	if (ev->len > sizeof(call->raw))
		errx(1, "a message of %u bytes", ev->len);
	call->conn = conn;
	memcpy(call->raw, ev->data, ev->len);
	rpcrdma_decode(&call->hdr, call->raw, ev->len, &limits);
	return call;
}

static void classify(struct call *call, const uint8_t *msg, uint32_t len)
{
	call->proc = rpc_call_proc(msg, len);
	rules_call(call->proc, &call->dev);
	report.calls++;
	report.by_proc[call->proc]++;
	report.repeated += seen_before(call->hdr.xid);
}

static bool call_take(struct call *call)
{
	const struct rpcrdma_hdr *hdr = &call->hdr;
	bool inline_head = hdr->proc == RPCRDMA_MSG;

	if (inline_head)
		classify(call, hdr->buf + hdr->body, hdr->body_len);
	if (call->dev.kill == MOMENT_CALL) {
		conn_kill(call->conn, "at a Call");
		return false;
	}
	if (!assemble(call))
		return false;
	if (!inline_head)
		classify(call, call->msg, call->len);
	if (call->dev.kill == MOMENT_READ) {
		conn_kill(call->conn, "after RDMA Reads");
		return false;
	}
	return true;
}

struct call *call_received(struct conn *conn, const struct vb_event *ev)
{
	struct call *call = call_new(conn, ev), *before;

	vb_recv_done(conn->vb, ev);
	if (call->hdr.fault) {
		say("XID 0x%08x: %s", call->hdr.xid, rpcrdma_fault_name(call->hdr.fault));
		report.bad_calls++;
		call_free(call);
		return NULL;
	}
	if (is_answer(&call->hdr))
		return call;
	if (!call_take(call)) {
		call_free(call);
		return NULL;
	}
	count_chunks(call);
	/* If nfsd has this Call already, its answer is for the newer one */
	before = call_answered(call->hdr.xid);
	if (before) {
		call->state = CALL_AT_NFSD;
		call_free(before);
	}
	call->next = calls;
	calls = call;
	return NULL;
}
