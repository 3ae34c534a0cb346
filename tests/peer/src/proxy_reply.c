// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies on their way to the client: chunks, header, Send, and the deviations
 * between them.
 */
#include <string.h>

#include "proxy.h"

/**
 * struct reply - a Reply under construction
 * @call: its Call
 * @written: bytes in the Write chunk
 * @body: the RPC message without them
 * @body_len: its bytes
 * @wire: header, and the body if that is inline
 * @len: bytes of @wire
 * @is_inline: the body is in @wire
 */
struct reply {
	struct call *call;
	uint32_t written;
	uint8_t *body;
	uint32_t body_len;
	uint8_t wire[MAX_THRESHOLD];
	uint32_t len;
	bool is_inline;
};

static uint32_t credits_of(const struct call *call)
{
	return call->dev.credits.is ? call->dev.credits.value : HONEST_CREDITS;
}

static bool neighbours_rkey(const struct call *call, uint32_t *rkey)
{
	for (struct call *other = calls; other; other = other->next)
		if (other != call && other->conn == call->conn &&
		    call_rkey(other, rkey))
			return true;
	return false;
}

static bool rkey_to_invalidate(const struct call *call, uint32_t *rkey)
{
	switch (call->dev.inval) {
	case INVAL_HONEST:
		if (call->hdr.vers == RPCRDMA_V1)
			return call->conn->prop.remote_inv && call_rkey(call, rkey);
		*rkey = call->hdr.inv_handle;
		return *rkey;
	case INVAL_NONE:
		return false;
	case INVAL_OWN:
	case INVAL_TWICE:
		return call_rkey(call, rkey);
	case INVAL_NEIGHBOUR:
		return neighbours_rkey(call, rkey);
	case INVAL_UNKNOWN:
		*rkey = 0x00dead00;
		return true;
	}
	return false;
}

/* ---- chunks ------------------------------------------------------------- */

/* If the connection is to be cut in the middle, writes half */
static bool fill_chunk(struct call *call, const struct rpcrdma_chunk *chunk,
		       const uint8_t *data, uint32_t len)
{
	struct rpcrdma_segment seg;
	bool cut = call->dev.kill == MOMENT_WRITE;

	if (cut)
		len /= 2;
	for (u32 i = 0; i < chunk->segs && len; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		/* The roundup goes there whether the chunk has room or not */
		if (call->dev.write_lie != CHUNK_ROUNDUP || i < chunk->segs - 1)
			seg.length = min(seg.length, len);
		else
			seg.length = len;
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

/* Returns an element of the Write list, or the Reply chunk */
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

/* ---- the message -------------------------------------------------------- */

static bool fill_with_garbage(struct call *call, const struct rpcrdma_chunk *chunk)
{
	static uint8_t garbage[MAX_MESSAGE];
	uint32_t len = min(chunk->bytes, sizeof(garbage));

	memset(garbage, 0xee, len);
	return fill_chunk(call, chunk, garbage, len);
}

/* Moves the data item to the client's Write chunk, if there is one */
static bool write_list(struct reply *r)
{
	struct call *call = r->call;
	struct rpcrdma_write_iter it;
	uint32_t pad, rest;
	struct item item;

	call->reply_len = rpc_set_verifier(call->reply, call->reply_len,
					   call->dev.verifier);
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
	pad = rpcrdma_xdr_roundup(item.len) - item.len;
	r->written = item.len;
	if (call->dev.write_lie == CHUNK_ROUNDUP)
		r->written += pad;
	if (!fill_chunk(call, &it.chunk, call->reply + item.at, r->written))
		return false;
	rest = call->dev.inline_pad ? pad : 0;
	memmove(call->reply + item.at, call->reply + item.at + item.len, rest);
	r->body_len = item.at + rest;
	memset(r->body + r->body_len, 0, min(call->dev.trailer, MAX_VERIFIER));
	r->body_len += min(call->dev.trailer, MAX_VERIFIER);
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
	if (dev->version.is)
		form.vers = dev->version.value;
	if (dev->version.is || dev->proc.is || proc == RPCRDMA_MSGP)
		form.option = false;
	rpcrdma_enc_init(enc, r->wire, sizeof(r->wire));
	rpcrdma_enc_begin(enc, call->hdr.xid, credits_of(call),
			  dev->proc.is ? dev->proc.value : proc, &form);
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

/* Returns false if the connection is gone */
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
		say("XID 0x%08x: no room for a Reply of %u bytes",
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

/* ---- other messages ----------------------------------------------------- */

static void send_words(struct call *call, const uint32_t *words, unsigned int n)
{
	uint8_t wire[8 * RPCRDMA_WORD];

	for (unsigned int i = 0; i < n; i++)
		rpc_set_word(wire, i * RPCRDMA_WORD, words[i]);
	conn_send(call->conn, wire, n * RPCRDMA_WORD, NULL);
}

static void send_error(struct call *call, enum error_kind kind, uint32_t xid)
{
	/* Version (0: that of the Call), and the words after the fixed part */
	static const struct {
		uint32_t vers, n, words[3];
	} errors[] = {
		[ERROR_VERS]	 = { 1, 3, { RPCRDMA_ERR_VERS, 2, 3 } },
		[ERROR_CHUNK]	 = { 1, 1, { RPCRDMA_ERR_CHUNK } },
		[ERROR_UNKNOWN]	 = { 1, 1, { 77 } },
		[ERROR_BARE]	 = { 1, 0, { 0 } },
		[ERROR_VERS_CUT] = { 1, 1, { RPCRDMA_ERR_VERS } },
		[ERROR_VERS_ONE] = { 0, 3, { RPCRDMA_ERR_VERS, 1, 1 } },
		[ERROR_VERS_NONE] = { 0, 3, { RPCRDMA_ERR_VERS, 3, 4 } },
		[ERROR_OPTION]	 = { 2, 1, { RPCRDMA_ERR_INVAL_OPTION } },
		[ERROR_HEADER]	 = { 2, 1, { RPCRDMA_ERR_BAD_HEADER } },
	};
	uint32_t words[7] = { xid, errors[kind].vers, credits_of(call), RPCRDMA_ERROR };

	if (!words[1])
		words[1] = call->hdr.vers;
	memcpy(&words[4], errors[kind].words, sizeof(errors[kind].words));
	send_words(call, words, 4 + errors[kind].n);
}

static void send_done(struct call *call)
{
	const uint32_t words[] = {
		call->hdr.xid, RPCRDMA_V1, credits_of(call), RPCRDMA_DONE
	};

	send_words(call, words, 4);
}

static void set_xid(struct reply *r, uint32_t xid)
{
	rpc_set_word(r->wire, 0, xid);
	if (r->is_inline)
		rpc_set_word(r->wire, r->len - r->body_len, xid);
}

/* A copy of the Reply, with an XID that the client does not use */
static void send_other(struct reply *r)
{
	uint32_t xid = r->call->hdr.xid;

	set_xid(r, OTHER_XID(xid));
	conn_send(r->call->conn, r->wire, r->len, NULL);
	set_xid(r, xid);
}

/* ---- in order ----------------------------------------------------------- */

static void send_first(struct reply *r)
{
	struct call *call = r->call;
	const struct deviation *dev = &call->dev;

	if (!dev->ask)
		reverse_send(call);
	frames_send(call, false);
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
	if (frames_send(call, true))
		return;
	if (dev->truncate.is)
		len = min(len, dev->truncate.value);
	inv = rkey_to_invalidate(call, &rkey);
	conn_send(call->conn, r->wire, len, inv ? &rkey : NULL);
	if (inv && dev->inval == INVAL_TWICE)
		conn_send(call->conn, r->wire, len, &rkey);
	for (uint32_t i = 0; i < dev->copies; i++)
		conn_send(call->conn, r->wire, len, NULL);
}

static void remember(struct call *call)
{
	for (enum chunks i = 0; i < CHUNKS_MAX; i++) {
		struct rpcrdma_segment seg = call_segment(call, i);

		if (seg.length)
			call->conn->old[i] = seg;
	}
}

/* The connection may be dead afterwards */
void reply_send(struct call *call)
{
	struct conn *conn = call->conn;
	static struct reply r;

	r.call = call;
	r.written = 0;
	r.len = 0;
	if (trespass(call))
		return;
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
	conn_grant(conn, credits_of(call));
	send_itself(&r);
	conn->burst = false;
	remember(call);
	if (call->dev.kill == MOMENT_SENT)
		conn_kill(conn, "after a Reply");
	if (call->dev.disconnect && !conn->dead)
		vb_disconnect(conn->vb);
}

/* Sends reverse-direction Calls; the Reply waits for their answers */
void reply_ask(struct call *call)
{
	reverse_send(call);
	if (call->dev.kill == MOMENT_CALLED)
		conn_kill(call->conn, "after reverse-direction Calls");
	if (call->dev.ask_leave && !call->conn->dead) {
		say("connection %u: killed by a disconnect", call->conn->number);
		vb_disconnect(call->conn->vb);
	}
}
