// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies on their way to the client: chunks, header, Send, and whatever the
 * rules have put in between.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy.h"

#define HONEST_CREDITS	64U

/* An XID that the client does not use: its own count up from a random one */
#define OTHER_XID(xid)	((xid) ^ 0x40000000U)
/* What those of our own Calls differ by that go with the same Call of the client's */
#define OWN_XID(n)	((n) << 20)

/* Slots that the client has: as many Calls can be in flight, whatever was granted */
#define MOST_CREDITS	128U

#define CB_PROGRAM	0x40000000U

#define UNKNOWN_OPTION	0x0badc0deU

/**
 * struct reply - one Reply while it is built
 * @call: what it answers
 * @item: data item that goes into the Write chunk
 * @written: octets of it there
 * @body: the RPC message without them
 * @body_len: its octets
 * @wire: header, and the body if that goes inline
 * @len: octets of it
 * @is_inline: the body is there
 */
struct reply {
	struct call *call;
	struct item item;
	uint32_t written;
	uint8_t *body;
	uint32_t body_len;
	uint8_t wire[MAX_THRESHOLD];
	uint32_t len;
	bool is_inline;
};

/* ---- credits ----------------------------------------------------------------- */

static uint32_t credits_of(struct call *call)
{
	return call->dev.has_credits ? call->dev.credits : HONEST_CREDITS;
}

/*
 * What a Requester makes of a grant: none counts as one, and more than all Calls that it
 * can have in flight is no more than that. Before the Send, since it may answer at once
 */
static void granted(struct conn *conn, uint32_t credits)
{
	credits = min(credits ? credits : 1, MOST_CREDITS);
	conn->grants[++conn->answered % MAX_GRANTS] = credits;
}

/* ---- rkeys -------------------------------------------------------------------- */

static void longer_of(struct rpcrdma_segment *best,
		      const struct rpcrdma_segment *seg)
{
	if (seg->length > best->length)
		*best = *seg;
}

static void longest_of_chunk(struct rpcrdma_segment *best,
			     const struct rpcrdma_chunk *chunk)
{
	struct rpcrdma_segment seg;

	for (u32 i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		longer_of(best, &seg);
	}
}

static struct rpcrdma_segment longest_write(const struct call *call)
{
	struct rpcrdma_segment best = { 0 };
	struct rpcrdma_write_iter it;

	rpcrdma_write_iter_init(&it, &call->hdr);
	while (rpcrdma_write_iter_next(&it))
		longest_of_chunk(&best, &it.chunk);
	return best;
}

/* @zero: of the chunk at position zero, otherwise of the others */
static struct rpcrdma_segment longest_read(const struct call *call, bool zero)
{
	struct rpcrdma_segment best = { 0 };
	struct rpcrdma_read_iter it;

	rpcrdma_read_iter_init(&it, &call->hdr);
	while (rpcrdma_read_iter_next(&it))
		if (!it.position == zero)
			longer_of(&best, &it.seg);
	return best;
}

static struct rpcrdma_segment longest_reply(const struct call *call)
{
	struct rpcrdma_segment best = { 0 };
	struct rpcrdma_chunk chunk;

	if (rpcrdma_hdr_reply_chunk(&call->hdr, &chunk))
		longest_of_chunk(&best, &chunk);
	return best;
}

/* Any rkey of a Call may be invalidated (RFC 8797, section 4.1) */
static bool own_rkey(const struct call *call, uint32_t *rkey)
{
	const struct rpcrdma_segment others[] = {
		longest_read(call, true),
		longest_read(call, false),
		longest_reply(call),
	};
	struct rpcrdma_segment best = longest_write(call);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		longer_of(&best, &others[i]);
	*rkey = best.handle;
	return best.length;
}

static bool neighbours_rkey(const struct call *call, uint32_t *rkey)
{
	for (struct call *other = calls; other; other = other->next)
		if (other != call && other->conn == call->conn &&
		    own_rkey(other, rkey))
			return true;
	return false;
}

static bool rkey_to_invalidate(const struct call *call, uint32_t *rkey)
{
	switch (call->dev.inval) {
	case INVAL_HONEST:
		if (call->hdr.vers == RPCRDMA_V1)
			return call->conn->prop.remote_inv && own_rkey(call, rkey);
		*rkey = call->hdr.inv_handle;
		return *rkey;
	case INVAL_NONE:
		return false;
	case INVAL_OWN:
	case INVAL_TWICE:
		return own_rkey(call, rkey);
	case INVAL_NEIGHBOUR:
		return neighbours_rkey(call, rkey);
	case INVAL_UNKNOWN:
		*rkey = 0x00dead00;
		return true;
	}
	return false;
}

/* ---- chunks ------------------------------------------------------------------- */

/* RDMA Writes; when the connection is to be cut in the middle, half of them */
static bool fill_chunk(struct call *call, const struct rpcrdma_chunk *chunk,
		       const uint8_t *data, uint32_t len)
{
	struct rpcrdma_segment seg;
	bool cut = call->dev.kill == MOMENT_WRITE;

	if (cut)
		len /= 2;
	for (u32 i = 0; i < chunk->segs && len; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		seg.length = min(seg.length, len);
		if (conn_write(call->conn, &seg, data, seg.length))
			return false;
		data += seg.length;
		len -= seg.length;
	}
	if (cut)
		conn_kill(call->conn, "in the middle of RDMA Writes");
	return !cut;
}

static void segment_back(struct rpcrdma_enc *enc, const struct deviation *dev,
			 enum chunk_lie lie, struct rpcrdma_segment *seg,
			 bool last)
{
	if (lie == CHUNK_LONGER && last)
		seg->length += dev->longer;
	if (lie == CHUNK_HUGE)
		seg->length = UINT32_MAX;
	if (lie == CHUNK_HANDLE)
		seg->handle ^= 0xffff00;
	rpcrdma_enc_segment(enc, seg);
}

/* A Write list item or the Reply chunk, as the Responder gives it back */
static void chunk_back(struct rpcrdma_enc *enc, const struct deviation *dev,
		       enum chunk_lie lie, const struct rpcrdma_chunk *chunk,
		       uint32_t written)
{
	struct rpcrdma_segment seg;

	if (lie == CHUNK_NONE || lie == CHUNK_IGNORED)
		return;
	if (lie == CHUNK_NO_SEGMENTS) {
		rpcrdma_enc_write_chunk(enc, 0);
		return;
	}
	if (lie == CHUNK_PAD)
		written = rpcrdma_xdr_roundup(written);
	rpcrdma_enc_write_chunk(enc, chunk->segs + (lie == CHUNK_SPLIT));
	for (u32 i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		seg.length = min(seg.length, written);
		written -= seg.length;
		segment_back(enc, dev, lie, &seg, i == chunk->segs - 1);
	}
	if (lie == CHUNK_SPLIT) {
		seg.length = 0;
		rpcrdma_enc_segment(enc, &seg);
	}
}

/* ---- the message -------------------------------------------------------------- */

static bool fill_with_garbage(struct call *call, const struct rpcrdma_chunk *chunk)
{
	static uint8_t garbage[MAX_MESSAGE];
	uint32_t len = min(chunk->bytes, sizeof(garbage));

	memset(garbage, 0xee, len);
	return fill_chunk(call, chunk, garbage, len);
}

/* Takes the data item out of the message when the client offers a place */
static bool write_list(struct reply *r)
{
	struct call *call = r->call;
	struct rpcrdma_write_iter it;
	uint32_t pad, rest;
	struct item item;

	r->body = call->reply;
	r->body_len = call->reply_len;
	rpcrdma_write_iter_init(&it, &call->hdr);
	if (!rpcrdma_write_iter_next(&it) ||
	    !rpc_reply_item(call->proc, call->reply, call->reply_len, &item))
		return true;
	if (call->dev.write_lie == CHUNK_IGNORED)
		return true;
	if (call->dev.write_lie == CHUNK_UNUSED)
		return fill_with_garbage(call, &it.chunk);
	if (item.len > it.chunk.bytes) {
		call->dev.error = ERROR_CHUNK;
		return true;
	}
	if (!fill_chunk(call, &it.chunk, call->reply + item.at, item.len))
		return false;
	r->written = item.len;
	pad = rpcrdma_xdr_roundup(item.len) - item.len;
	rest = call->dev.inline_pad ? pad : 0;
	memmove(call->reply + item.at, call->reply + item.at + item.len, rest);
	r->body_len = item.at + rest;
	return true;
}

static void encode(struct reply *r, struct rpcrdma_enc *enc, uint32_t proc,
		   uint32_t in_reply_chunk)
{
	struct call *call = r->call;
	const struct deviation *dev = &call->dev;
	struct rpcrdma_segment seg = { .handle = 1, .length = 4, .offset = 0 };
	struct rpcrdma_write_iter it;
	struct rpcrdma_chunk chunk;
	struct rpcrdma_form form;

	rpcrdma_form_of_reply(&form, &call->hdr);
	if (dev->has_version)
		form.vers = dev->version;
	if (dev->has_version || dev->has_proc || proc == RPCRDMA_MSGP)
		form.option = false;
	rpcrdma_enc_init(enc, r->wire, sizeof(r->wire));
	rpcrdma_enc_begin(enc, call->hdr.xid, credits_of(call),
			  dev->has_proc ? dev->proc : proc, &form);
	if (proc == RPCRDMA_MSGP) {
		/* rdma_align, rdma_thresh */
		rpcrdma_enc_list_end(enc);
		rpcrdma_enc_list_end(enc);
	}
	if (dev->read_list)
		rpcrdma_enc_read_segment(enc, 8, &seg);
	rpcrdma_enc_list_end(enc);
	rpcrdma_write_iter_init(&it, &call->hdr);
	if (rpcrdma_write_iter_next(&it)) {
		chunk_back(enc, dev, dev->write_lie, &it.chunk, r->written);
	} else if (dev->write_list) {
		rpcrdma_enc_write_chunk(enc, 1);
		rpcrdma_enc_segment(enc, &seg);
	}
	rpcrdma_enc_list_end(enc);
	if (rpcrdma_hdr_reply_chunk(&call->hdr, &chunk) &&
	    (in_reply_chunk || dev->reply_lie) && dev->reply_lie != CHUNK_NONE)
		chunk_back(enc, dev, dev->reply_lie, &chunk, in_reply_chunk);
	else
		rpcrdma_enc_list_end(enc);
	rpcrdma_enc_end(enc);
}

/* Return: whether there is a Reply to send */
static bool build(struct reply *r)
{
	struct call *call = r->call;
	const struct deviation *dev = &call->dev;
	struct rpcrdma_chunk chunk;
	struct rpcrdma_enc enc;

	if (dev->body_xid)
		rpc_set_word(r->body, 0, OTHER_XID(call->hdr.xid));
	encode(r, &enc, dev->msgp ? RPCRDMA_MSGP : RPCRDMA_MSG, 0);
	if (dev->oversize ||
	    (enc.len + r->body_len <= call->conn->prop.inline_send && !dev->nomsg)) {
		memcpy(r->wire + enc.len, r->body, r->body_len);
		r->len = enc.len + r->body_len;
		r->is_inline = true;
		return true;
	}
	if (!rpcrdma_hdr_reply_chunk(&call->hdr, &chunk) ||
	    chunk.bytes < r->body_len) {
		say("XID 0x%08x: no room for a Reply of %u octets",
		    call->hdr.xid, r->body_len);
		call->dev.error = ERROR_CHUNK;
		return true;
	}
	if (!fill_chunk(call, &chunk, r->body, r->body_len))
		return false;
	encode(r, &enc, RPCRDMA_NOMSG, r->body_len);
	r->len = enc.len;
	r->is_inline = false;
	return true;
}

/* ---- other messages ------------------------------------------------------------ */

static void send_error(struct call *call, enum error_kind kind, uint32_t xid)
{
	struct rpcrdma_enc enc;
	uint8_t wire[64];
	uint32_t len;

	rpcrdma_enc_init(&enc, wire, sizeof(wire));
	switch (kind) {
	case ERROR_VERS:
	case ERROR_VERS_CUT:
		rpcrdma_enc_err_vers(&enc, xid, RPCRDMA_V1, credits_of(call), 2, 3);
		break;
	case ERROR_VERS_ONE:
		rpcrdma_enc_err_vers(&enc, xid, call->hdr.vers, credits_of(call), 1, 1);
		break;
	case ERROR_OPTION:
		rpcrdma_enc_error(&enc, xid, RPCRDMA_V2, credits_of(call),
				  RPCRDMA_ERR_INVAL_OPTION);
		break;
	case ERROR_HEADER:
		rpcrdma_enc_error(&enc, xid, RPCRDMA_V2, credits_of(call),
				  RPCRDMA_ERR_BAD_HEADER);
		break;
	default:
		rpcrdma_enc_error(&enc, xid, RPCRDMA_V1, credits_of(call), RPCRDMA_ERR_CHUNK);
		break;
	}
	len = enc.len;
	if (kind == ERROR_UNKNOWN)
		rpc_set_word(wire, RPCRDMA_FIXED_LEN, 77);
	if (kind == ERROR_BARE)
		len = RPCRDMA_FIXED_LEN;
	if (kind == ERROR_VERS_CUT)
		len = RPCRDMA_FIXED_LEN + RPCRDMA_WORD;
	conn_send(call->conn, wire, len, NULL);
}

static void send_done(struct call *call)
{
	struct rpcrdma_enc enc;
	uint8_t wire[64];

	rpcrdma_enc_init(&enc, wire, sizeof(wire));
	rpcrdma_enc_fixed(&enc, call->hdr.xid, RPCRDMA_V1, credits_of(call),
			  RPCRDMA_DONE);
	conn_send(call->conn, wire, enc.len, NULL);
}

/* A whole message without chunks, or with all of them */
static void send_reverse(struct call *call, uint32_t xid, uint32_t type,
			 uint32_t len)
{
	struct rpcrdma_segment seg = { .handle = 1, .length = 64 };
	bool chunks = call->dev.reverse == REVERSE_CHUNKS;
	bool unknown = call->dev.reverse == REVERSE_UNKNOWN;
	struct rpcrdma_form form = {
		.vers	= call->hdr.vers,
		.option	= unknown || call->dev.reverse == REVERSE_OPTION,
	};
	static uint8_t wire[MAX_THRESHOLD];
	const uint8_t *session;
	struct rpcrdma_enc enc;

	memset(wire, 0, sizeof(wire));
	rpcrdma_enc_init(&enc, wire, sizeof(wire));
	rpcrdma_enc_begin(&enc, xid, 2, RPCRDMA_MSG, &form);
	if (unknown)
		rpc_set_word(wire, RPCRDMA_FIXED_LEN, UNKNOWN_OPTION);
	if (chunks)
		rpcrdma_enc_read_segment(&enc, 40, &seg);
	rpcrdma_enc_list_end(&enc);
	if (chunks) {
		rpcrdma_enc_write_chunk(&enc, 1);
		rpcrdma_enc_segment(&enc, &seg);
	}
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_end(&enc);
	rpc_set_word(wire, enc.len, xid);
	rpc_set_word(wire, enc.len + 4, type);
	if (type == RPC_CALL) {
		rpc_set_word(wire, enc.len + 8, 2);
		rpc_set_word(wire, enc.len + 12, CB_PROGRAM);
		rpc_set_word(wire, enc.len + 16, 1);
	}
	if (call->dev.reverse == REVERSE_LONG) {
		session = rpc_call_session(call->msg, call->len);
		if (!session)
			die("a Call without a session");
		rpc_set_word(wire, enc.len + 20, 1);
		len = 24 + rpc_long_callback(wire + enc.len + 24, session);
	}
	len += enc.len;
	if (call->dev.reverse == REVERSE_LARGE)
		len = call->conn->prop.inline_send;
	if (call->dev.reverse == REVERSE_HUGE)
		len = call->conn->client_recv + RPCRDMA_WORD;
	conn_send(call->conn, wire, len, NULL);
}

static uint32_t own_xid(const struct call *call)
{
	uint32_t xid = call->hdr.xid;

	return call->dev.reverse == REVERSE_SAME ? xid : OTHER_XID(xid);
}

static void own_sent(struct conn *conn, uint32_t xid, enum reverse kind)
{
	conn->own[conn->owns++ % MAX_OWN] = (struct own){
		.xid = xid,
		.kind = kind,
		.waits = true,
	};
}

static void send_reverses(struct call *call)
{
	const struct deviation *dev = &call->dev;
	uint32_t i, xid = own_xid(call);

	if (!dev->reverse)
		return;
	for (i = 0; i < dev->reverse_count; i++) {
		own_sent(call->conn, xid ^ OWN_XID(i), dev->reverse);
		send_reverse(call, xid ^ OWN_XID(i), RPC_CALL, 40);
	}
	if (dev->reverse == REVERSE_XID)
		send_reverse(call, xid, RPC_REPLY, 24);
}

static struct own *own_find(struct conn *conn, uint32_t xid)
{
	for (unsigned int i = 0; i < MAX_OWN; i++)
		if (conn->own[i].waits && conn->own[i].xid == xid)
			return &conn->own[i];
	return NULL;
}

/* What CB_NULL gets: MSG_ACCEPTED, no verifier, SUCCESS, and nothing else */
static bool is_null_reply(const struct rpcrdma_hdr *hdr)
{
	const uint8_t *msg = hdr->buf + hdr->body;

	if (rpcrdma_hdr_has_chunks(hdr) || hdr->body_len != 24)
		return false;
	for (uint32_t at = 8; at < 24; at += RPCRDMA_WORD)
		if (rpc_word(msg, at))
			return false;
	return rpc_word(msg, 0) == hdr->xid;
}

static bool is_right_answer(const struct own *own, const struct rpcrdma_hdr *hdr)
{
	if (hdr->proc != RPCRDMA_ERROR)
		return own->kind != REVERSE_FRAME && own->kind != REVERSE_UNSERVED &&
		       is_null_reply(hdr);
	switch (own->kind) {
	case REVERSE_CHUNKS:
	case REVERSE_LARGE:
	case REVERSE_UNSERVED:
	case REVERSE_FRAME:
		/* And no octet more */
		return hdr->vers == RPCRDMA_V1 && hdr->errcode == RPCRDMA_ERR_CHUNK &&
		       hdr->credits && hdr->len == RPCRDMA_ERR_CHUNK_LEN;
	case REVERSE_UNKNOWN:
		return hdr->errcode == RPCRDMA_ERR_INVAL_OPTION;
	default:
		return false;
	}
}

static void answer_counts(struct conn *conn, uint32_t xid)
{
	for (struct call *call = calls; call; call = call->next)
		if (call->conn == conn && call->state == CALL_HELD && call->dev.ask &&
		    !((own_xid(call) ^ xid) & ~OWN_XID(MAX_OWN - 1)))
			call->answers++;
}

void reply_own_answered(struct conn *conn, const struct rpcrdma_hdr *hdr)
{
	struct own *own = own_find(conn, hdr->xid);

	if (hdr->proc == RPCRDMA_ERROR) {
		report.reverse_errors++;
		report.reverse_invals += hdr->errcode == RPCRDMA_ERR_INVAL_OPTION;
	} else {
		report.reverse_answers++;
		report.reverse_grant = hdr->credits;
		report.reverse_options += hdr->option;
	}
	if (!own || !is_right_answer(own, hdr)) {
		say("XID 0x%08x: not what our own Call gets", hdr->xid);
		report.reverse_wrong++;
	}
	if (!own)
		return;
	own->waits = false;
	answer_counts(conn, hdr->xid);
}

static void set_xid(struct reply *r, uint32_t xid)
{
	rpc_set_word(r->wire, 0, xid);
	if (r->is_inline)
		rpc_set_word(r->wire, r->len - r->body_len, xid);
}

/* The same Reply as it will come, but nobody's */
static void send_other(struct reply *r)
{
	uint32_t xid = r->call->hdr.xid;

	set_xid(r, OTHER_XID(xid));
	conn_send(r->call->conn, r->wire, r->len, NULL);
	set_xid(r, xid);
}

/* ---- messages word by word ----------------------------------------------------- */

static void send_frame(struct call *call, unsigned int n)
{
	const struct frame *frame = call->dev.frames[n];
	uint32_t other = OTHER_XID(call->hdr.xid) ^ OWN_XID(n);
	uint8_t wire[MAX_FRAME * RPCRDMA_WORD];

	for (unsigned int i = 0; i < frame->len; i++) {
		uint32_t word = frame->numbers[i];

		if (frame->kinds[i] == WORD_XID)
			word = call->hdr.xid;
		if (frame->kinds[i] == WORD_OTHER)
			word = other;
		rpc_set_word(wire, i * RPCRDMA_WORD, word);
	}
	if (frame->how == FRAME_REFUSED)
		own_sent(call->conn, other, REVERSE_FRAME);
	conn_send(call->conn, wire, frame->len * RPCRDMA_WORD, NULL);
}

/* Those that come before the Reply, or the one instead of it if there is one */
static bool send_frames(struct call *call, bool instead)
{
	bool sent = false;

	for (unsigned int i = 0; i < call->dev.nframes; i++) {
		if ((call->dev.frames[i]->how == FRAME_INSTEAD) != instead)
			continue;
		send_frame(call, i);
		sent = true;
	}
	return sent;
}

/* ---- what the client's device must refuse ------------------------------------ */

/* Of a Call that waits on another connection of the same client's */
static struct rpcrdma_segment elsewhere(const struct call *call)
{
	bool reads = call->dev.trespass == TRESPASS_READ_ELSEWHERE;
	struct rpcrdma_segment seg = { 0 };

	for (struct call *other = calls; other && !seg.length; other = other->next)
		if (other->conn && other->conn != call->conn && !other->conn->dead)
			seg = reads ? longest_read(other, false) : longest_write(other);
	return seg;
}

static struct rpcrdma_segment trespass_at(struct call *call)
{
	struct rpcrdma_segment seg = { 0 };

	switch (call->dev.trespass) {
	case TRESPASS_NONE:
		break;
	case TRESPASS_WRITE_LATE:
		return call->conn->old_write;
	case TRESPASS_READ_LATE:
		return call->conn->old_read;
	case TRESPASS_ZERO_LATE:
		return call->conn->old_zero;
	case TRESPASS_REPLY_LATE:
		return call->conn->old_reply;
	case TRESPASS_WRITE_KEY:
		seg = longest_write(call);
		seg.handle = (seg.handle & ~0xffU) | ((seg.handle - 1) & 0xff);
		break;
	case TRESPASS_READ_WRITE:
		return longest_write(call);
	case TRESPASS_WRITE_READ:
		return longest_read(call, false);
	case TRESPASS_PAST_END:
		seg = longest_write(call);
		seg.offset += seg.length;
		break;
	case TRESPASS_WRITE_ELSEWHERE:
	case TRESPASS_READ_ELSEWHERE:
		return elsewhere(call);
	}
	return seg;
}

static bool trespass_reads(enum trespass trespass)
{
	return trespass == TRESPASS_READ_LATE || trespass == TRESPASS_ZERO_LATE ||
	       trespass == TRESPASS_READ_WRITE || trespass == TRESPASS_READ_ELSEWHERE;
}

/* Elsewhere: once, as soon as there is somewhere else */
static bool trespasses(struct call *call)
{
	switch (call->dev.trespass) {
	case TRESPASS_NONE:
		return false;
	case TRESPASS_WRITE_ELSEWHERE:
	case TRESPASS_READ_ELSEWHERE:
		return !report.refused && !report.trespassed && elsewhere(call).length;
	default:
		return true;
	}
}

/* Either way the connection is gone afterwards */
static void trespass(struct call *call)
{
	struct rpcrdma_segment seg = trespass_at(call);
	static const uint8_t octets[64] = { [0 ... 63] = 0xee };
	enum ibv_wc_status status;
	uint8_t stolen[64];

	if (!seg.length)
		die("nothing to trespass upon in a %s", proc_name(call->proc));
	seg.length = sizeof(octets);
	if (trespass_reads(call->dev.trespass))
		status = conn_read(call->conn, &seg, stolen);
	else
		status = conn_write(call->conn, &seg, octets, sizeof(octets));
	say("trespass with rkey 0x%08x: %s", seg.handle, ibv_wc_status_str(status));
	report.trespassed += status == IBV_WC_SUCCESS;
}

/* ---- in order ---------------------------------------------------------------- */

static void send_first(struct reply *r)
{
	struct call *call = r->call;
	const struct deviation *dev = &call->dev;

	if (!dev->ask)
		send_reverses(call);
	send_frames(call, false);
	if (dev->done)
		send_done(call);
	if (dev->error_other)
		send_error(call, dev->error_other, OTHER_XID(call->hdr.xid));
	if (dev->other_first && !dev->error)
		send_other(r);
}

static void send_itself(struct reply *r)
{
	struct call *call = r->call;
	const struct deviation *dev = &call->dev;
	uint32_t len = r->len, rkey;
	bool inv;

	if (dev->error) {
		send_error(call, dev->error, call->hdr.xid);
		return;
	}
	if (send_frames(call, true))
		return;
	if (dev->has_truncate)
		len = min(len, dev->truncate);
	inv = rkey_to_invalidate(call, &rkey);
	conn_send(call->conn, r->wire, len, inv ? &rkey : NULL);
	if (dev->inval == INVAL_TWICE && inv)
		conn_send(call->conn, r->wire, len, &rkey);
	for (uint32_t i = 0; i < dev->copies; i++)
		conn_send(call->conn, r->wire, len, NULL);
}

static void remember_one(struct rpcrdma_segment *old, struct rpcrdma_segment seg)
{
	if (seg.length)
		*old = seg;
}

static void remember(struct call *call)
{
	struct conn *conn = call->conn;

	remember_one(&conn->old_write, longest_write(call));
	remember_one(&conn->old_read, longest_read(call, false));
	remember_one(&conn->old_zero, longest_read(call, true));
	remember_one(&conn->old_reply, longest_reply(call));
}

/**
 * reply_send - answer a Call
 * @call: with nfsd's Reply; its connection may be dead afterwards
 */
void reply_send(struct call *call)
{
	struct conn *conn = call->conn;
	static struct reply r;

	r.call = call;
	r.written = 0;
	r.len = 0;
	if (trespasses(call)) {
		trespass(call);
		return;
	}
	conn->immediate = call->dev.immediate;
	if (!write_list(&r) || !build(&r))
		return;
	conn->immediate = false;
	if (call->dev.kill == MOMENT_REPLY) {
		conn_kill(conn, "before a Reply");
		return;
	}
	conn->burst = call->dev.burst;
	send_first(&r);
	granted(conn, credits_of(call));
	send_itself(&r);
	conn->burst = false;
	remember(call);
	if (call->dev.kill == MOMENT_SENT)
		conn_kill(conn, "after a Reply");
	if (call->dev.disconnect && !conn->dead)
		vb_disconnect(conn->vb);
}

/**
 * reply_ask - call the client back, before its own Call is answered
 * @call: with nfsd's Reply, which waits
 */
void reply_ask(struct call *call)
{
	send_reverses(call);
	if (call->dev.kill == MOMENT_CALLED)
		conn_kill(call->conn, "behind Calls of our own");
	if (call->dev.ask_leave && !call->conn->dead) {
		say("connection %u: killed by a disconnect", call->conn->number);
		vb_disconnect(call->conn->vb);
	}
}
