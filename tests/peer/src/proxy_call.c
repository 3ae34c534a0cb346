// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls on their way to nfsd: what the client sent, as one RPC message.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy.h"

/* nfsd stops to listen when it cannot send: never so many that it could */
#define AT_NFSD		4U

/* Newest first */
struct call *calls;

/* The XIDs that were there before, in a hash table that is never full */
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

unsigned int calls_count(enum call_state state)
{
	unsigned int n = 0;

	for (struct call *call = calls; call; call = call->next)
		n += call->state == state;
	return n;
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

/* A Call that nfsd works on is kept: the same may come again */
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

static struct call *find(uint32_t xid, enum call_state state)
{
	struct call *call;

	for (call = calls; call; call = call->next)
		if (call->state == state && rpc_word(call->msg, 0) == xid)
			break;
	return call;
}

/* The call that nfsd has answered, or NULL when nobody asked for it */
struct call *call_answered(uint32_t xid)
{
	return find(xid, CALL_AT_NFSD);
}

/* Oldest first, as far as nfsd has room */
void calls_forward(void)
{
	struct call *call, *oldest;

	while (calls_count(CALL_AT_NFSD) < AT_NFSD) {
		oldest = NULL;
		for (call = calls; call; call = call->next)
			if (call->state == CALL_WAITS)
				oldest = call;
		if (!oldest)
			return;
		oldest->state = CALL_AT_NFSD;
		nfsd_send(oldest->msg, oldest->len);
	}
}

/* Before the first Reply there is one credit */
static uint32_t grant_after(const struct conn *conn, uint32_t answers)
{
	return answers ? conn->grants[answers % MAX_GRANTS] : 1;
}

/*
 * Credits, without a clock. When the client sent this Call it knew of so many answers, of
 * @known or more, since it knew of them before, and at most of those that were sent. What
 * it had in flight was what came since, with this one; the last grant it knew of had to
 * allow that. The least number that explains the Call leaves most to those that follow.
 */
static bool granted(struct conn *conn)
{
	uint32_t answers = conn->known;

	if (conn->answered >= MAX_GRANTS && answers <= conn->answered - MAX_GRANTS)
		answers = conn->answered - MAX_GRANTS + 1;
	for (; answers <= conn->answered; answers++) {
		if (conn->arrived - answers > grant_after(conn, answers))
			continue;
		conn->known = answers;
		return true;
	}
	return false;
}

static void count_credits(struct conn *conn)
{
	uint32_t n = ++conn->arrived - conn->answered;

	if (n > report.most)
		report.most = n;
	if (granted(conn))
		return;
	say("connection %u: %u Calls in flight, %u granted", conn->number, n,
	    grant_after(conn, conn->answered));
	report.exceeded++;
}

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
 * The Read list, one segment after the other: the chunk at a position stands
 * there in the message, whose other octets are inline or, for a Position-Zero
 * chunk, that one.
 */
static bool assemble(struct call *call)
{
	const struct rpcrdma_hdr *hdr = &call->hdr;
	const uint8_t *body = hdr->buf + hdr->body;
	struct rpcrdma_read_iter it;
	uint32_t used = 0, at = 0, n;

	call->msg = calloc(1, MAX_MESSAGE);
	if (!call->msg)
		die("no memory");
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

/* The Read list of a Call: one chunk, and how long it is, or Position Zero alone */
struct read_chunk {
	uint32_t position;
	uint32_t len;
	bool other;		/* segments of another position */
};

static struct read_chunk read_chunk(const struct rpcrdma_hdr *hdr)
{
	struct read_chunk chunk = { 0 };
	struct rpcrdma_read_iter it;

	rpcrdma_read_iter_init(&it, hdr);
	while (rpcrdma_read_iter_next(&it)) {
		chunk.other |= chunk.len && it.position != chunk.position;
		chunk.position = it.position;
		chunk.len += it.seg.length;
	}
	return chunk;
}

/*
 * A Read chunk is the data of a WRITE, or the text of a SYMLINK (RFC 8267, section 4),
 * and as long as the word before it says: no roundup, and nothing of another item (RFC
 * 8166, sections 3.4.4.4 and 3.4.5.2). A whole Call in a chunk has no other.
 */
static bool is_read_chunk_right(const struct call *call)
{
	struct read_chunk chunk = read_chunk(&call->hdr);

	if (!call->hdr.read_segs)
		return true;
	if (chunk.other || !chunk.position != (call->hdr.proc == RPCRDMA_NOMSG))
		return false;
	if (!chunk.position)
		return true;
	return (call->proc == PROC_WRITE || call->proc == PROC_SYMLINK) &&
	       rpc_word(call->msg, chunk.position - 4) == chunk.len;
}

/*
 * A Write chunk is for the data of a READ, or the text of a READLINK. That of a READ has
 * room for the count, the Call's last word, and not for roundup (section 3.4.6.2).
 */
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
		rpc_word(call->msg, call->len - 4) == it.chunk.bytes);
}

/* What Calls of a client of ours have in chunks */
static void count_chunks(const struct call *call)
{
	const struct rpcrdma_hdr *hdr = &call->hdr;

	report.read_chunks += hdr->read_bytes != 0;
	report.write_chunks += hdr->write_chunks != 0;
	report.reply_chunks += hdr->reply != 0;
	if (!rpc_is_nfs3(call->msg, call->len) ||
	    (is_read_chunk_right(call) && is_write_chunk_right(call)))
		return;
	say("XID 0x%08x: chunks that are not those of a %s", hdr->xid,
	    proc_name(call->proc));
	report.bad_chunks++;
}

static const struct rpcrdma_limits limits = {
	.vers_min = RPCRDMA_V1,
	.vers_max = RPCRDMA_V2,
	.max_read_segs = 1024,
	.max_write_segs = 1024,
	.max_write_chunks = 16,
	.max_message = MAX_MESSAGE,
};

static struct call *call_new(struct conn *conn, const struct vb_event *ev)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		die("no memory");
	if (ev->len > sizeof(call->raw))
		die("a message of %u octets", ev->len);
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

/* Return: whether the Call is still to be worked on */
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

/**
 * call_arrived - a message is here, which may be read later
 * @conn: connection
 * @ev: VB_RECV
 */
void call_arrived(struct conn *conn, const struct vb_event *ev)
{
	struct rpcrdma_hdr hdr;

	rpcrdma_decode(&hdr, ev->data, ev->len, &limits);
	if (!hdr.fault && hdr.proc != RPCRDMA_ERROR &&
	    rpcrdma_hdr_direction(&hdr) != RPCRDMA_DIR_REPLY)
		count_credits(conn);
}

/**
 * call_received - a message came from the client
 * @conn: connection
 * @ev: VB_RECV
 */
void call_received(struct conn *conn, const struct vb_event *ev)
{
	struct call *call = call_new(conn, ev), *before;

	vb_recv_done(conn->vb, ev);
	if (call->hdr.fault) {
		say("XID 0x%08x: %s", call->hdr.xid,
		    rpcrdma_fault_name(call->hdr.fault));
		report.bad_calls++;
		call_free(call);
		return;
	}
	if (call->hdr.proc == RPCRDMA_ERROR ||
	    rpcrdma_hdr_direction(&call->hdr) == RPCRDMA_DIR_REPLY) {
		reply_own_answered(conn, &call->hdr);
		call_free(call);
		return;
	}
	if (!call_take(call)) {
		call_free(call);
		return;
	}
	count_chunks(call);
	/* nfsd works on it: its answer is for this one now */
	before = call_answered(call->hdr.xid);
	if (before) {
		call->state = CALL_AT_NFSD;
		call_free(before);
	}
	call->next = calls;
	calls = call;
}
