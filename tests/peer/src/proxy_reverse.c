// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The reverse direction: Calls of this server, messages that a rule writes word
 * by word, and the client's answers to both.
 */
#include <string.h>

#include "proxy.h"

#define CB_PROGRAM	0x40000000U

#define UNKNOWN_OPTION	0x0badc0deU

/* A whole message without chunks, or with all of them */
static void send_message(struct call *call, uint32_t xid, uint32_t type, uint32_t len)
{
	struct rpcrdma_segment seg = { .handle = 1, .length = 64 };
	enum reverse kind = call->dev.reverse;
	bool chunks = kind == REVERSE_CHUNKS;
	struct rpcrdma_form form = {
		.vers	= call->hdr.vers,
		.option	= kind == REVERSE_UNKNOWN || kind == REVERSE_OPTION,
	};
	static uint8_t wire[MAX_THRESHOLD];
	const uint8_t *session;
	struct rpcrdma_enc enc;
	uint8_t *msg;

	memset(wire, 0, sizeof(wire));
	rpcrdma_enc_init(&enc, wire, sizeof(wire));
	rpcrdma_enc_begin(&enc, xid, 2, RPCRDMA_MSG, &form);
	if (kind == REVERSE_UNKNOWN)
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
	msg = wire + enc.len;
	rpc_set_word(msg, 0, xid);
	rpc_set_word(msg, 4, type);
	if (type == RPC_CALL) {
		rpc_set_word(msg, 8, 2);
		rpc_set_word(msg, 12, CB_PROGRAM);
		rpc_set_word(msg, 16, 1);
	}
	if (kind == REVERSE_LONG) {
		session = rpc_call_session(call->msg, call->len);
		if (!session)
			errx(1, "a Call without a session");
		rpc_set_word(msg, 20, 1);
		len = 24 + rpc_long_callback(msg + 24, session);
	}
	len += enc.len;
	if (kind == REVERSE_LARGE)
		len = call->conn->prop.inline_send;
	if (kind == REVERSE_HUGE)
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

void reverse_send(struct call *call)
{
	const struct deviation *dev = &call->dev;
	uint32_t xid = own_xid(call);

	if (!dev->reverse)
		return;
	for (uint32_t i = 0; i < dev->reverse_count; i++) {
		own_sent(call->conn, xid ^ OWN_XID(i), dev->reverse);
		send_message(call, xid ^ OWN_XID(i), RPC_CALL, 40);
	}
	if (dev->reverse == REVERSE_XID)
		send_message(call, xid, RPC_REPLY, 24);
}

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

bool frames_send(struct call *call, bool instead)
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

/* ---- answers ------------------------------------------------------------ */

static struct own *own_find(struct conn *conn, uint32_t xid)
{
	for (unsigned int i = 0; i < MAX_OWN; i++)
		if (conn->own[i].waits && conn->own[i].xid == xid)
			return &conn->own[i];
	return NULL;
}

/* Of CB_NULL: MSG_ACCEPTED, no verifier, SUCCESS, and nothing else */
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
		/* And no byte more */
		return hdr->vers == RPCRDMA_V1 && hdr->errcode == RPCRDMA_ERR_CHUNK &&
		       hdr->credits && hdr->len == RPCRDMA_ERR_CHUNK_LEN;
	case REVERSE_UNKNOWN:
		return hdr->errcode == RPCRDMA_ERR_INVAL_OPTION;
	default:
		return false;
	}
}

void reverse_answered(struct conn *conn, const struct rpcrdma_hdr *hdr)
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
		say("XID 0x%08x: unexpected answer in the reverse direction", hdr->xid);
		report.reverse_wrong++;
	}
	if (!own)
		return;
	own->waits = false;
	for (struct call *call = calls; call; call = call->next)
		if (call->conn == conn && call->state == CALL_HELD && call->dev.ask &&
		    !((own_xid(call) ^ hdr->xid) & ~OWN_XID(MAX_OWN - 1)))
			call->answers++;
}
