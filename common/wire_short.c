// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The way into the decoder, and the short one through it: messages with at most one
 * segment and without a fault are told by a few words, in both versions, and by the option
 * of version two. All others, and the answer to any doubt, are wire.c's. Pure.
 */
#include "rpcrdma/wire.h"
#include "rpcrdma/wire_get.h"

/* Are there three empty chunk lists at @at, and an RPC message behind them? */
static __always_inline bool plain_message(struct rpcrdma_hdr *hdr,
					  const struct rpcrdma_limits *lim,
					  u32 at)
{
	u32 body = at + RPCRDMA_NO_CHUNKS_LEN, len = hdr->len - body;
	const u8 *p = hdr->buf + at;
	u32 type;

	if (get_u32(p) | get_u32(p + 4) | get_u32(p + 8))
		return false;
	if (len > lim->max_message || get_u32(hdr->buf + body) != hdr->xid)
		return false;
	type = get_u32(hdr->buf + body + AT_RPC_TYPE);
	if (likely(type == RPC_TYPE_REPLY ||
		   (type == RPC_TYPE_CALL && len >= RPC_CALL_MIN_LEN)))
		hdr->plain = RPCRDMA_PLAIN_CALL + type;
	hdr->reads = at;
	hdr->body = body;
	hdr->body_len = len;
	hdr->msg_len = len;
	return true;
}

/* Is a Read chunk of one segment all that the lists at @at have? Then @len is right */
static bool one_read_segment(struct rpcrdma_hdr *hdr,
			     const struct rpcrdma_limits *lim, u32 at, u32 len)
{
	const u8 *p = hdr->buf + at;
	u32 position = get_u32(p + 4);
	u32 bytes = get_u32(p + 12);
	u64 msg_len = len + rpcrdma_xdr_roundup(bytes);

	if (get_u32(p + 24) | get_u32(p + 28) | get_u32(p + 32))
		return false;
	if (position % RPCRDMA_WORD || position < RPC_MIN_LEN || position > len)
		return false;
	if (!bytes || msg_len > min_t(u64, lim->max_message, U32_MAX) ||
	    !lim->max_read_segs)
		return false;
	hdr->one = at + 8;
	hdr->read_segs = 1;
	hdr->read_chunks = 1;
	hdr->read_bytes = bytes;
	hdr->item = position;
	hdr->item_end = position + rpcrdma_xdr_roundup(bytes);
	hdr->writes = at + RPCRDMA_READ_ITEM_LEN + RPCRDMA_WORD;
	hdr->msg_len = msg_len;
	return true;
}

/* Is a Write chunk of one segment all that they have? */
static bool one_write_segment(struct rpcrdma_hdr *hdr,
			      const struct rpcrdma_limits *lim, u32 at, u32 len)
{
	const u8 *p = hdr->buf + at;
	u32 bytes = get_u32(p + 16);

	if (get_u32(p + 4) != 1 || get_u32(p + 8) != 1 ||
	    (get_u32(p + 28) | get_u32(p + 32)))
		return false;
	if (bytes > lim->max_message || !lim->max_write_segs ||
	    !lim->max_write_chunks)
		return false;
	hdr->one = at + 12;
	hdr->writes = at + RPCRDMA_WORD;
	hdr->write_chunks = 1;
	hdr->write_segs = 1;
	hdr->write_bytes = bytes;
	hdr->msg_len = len;
	return true;
}

/* Is one segment all that the chunk lists at @at have, and an RPC message behind them? */
static noinline bool one_segment_message(struct rpcrdma_hdr *hdr,
					 const struct rpcrdma_limits *lim,
					 u32 at)
{
	u32 body = at + RPCRDMA_ONE_CHUNK_LEN, len = hdr->len - body, type;
	const u8 *p = hdr->buf + at;

	if (hdr->len < body + RPC_MIN_LEN)
		return false;
	if (len > lim->max_message || get_u32(hdr->buf + body) != hdr->xid)
		return false;
	type = get_u32(hdr->buf + body + AT_RPC_TYPE);
	if (!get_u32(p)) {
		if (!one_write_segment(hdr, lim, at, len))
			return false;
	} else if (get_u32(p) != 1 || type == RPC_TYPE_REPLY ||
		   !one_read_segment(hdr, lim, at, len)) {
		return false;
	}
	hdr->reads = at;
	hdr->body = body;
	hdr->body_len = len;
	return true;
}

/* The same for version two, by the option of remote invalidation */
static noinline bool dec_short_option(struct rpcrdma_hdr *hdr,
				      const struct rpcrdma_limits *lim)
{
	const u8 *p = hdr->buf + RPCRDMA_FIXED_LEN;
	u32 lists = RPCRDMA_FIXED_LEN + RPCRDMA_INV_LEN;
	u32 len, direction;

	if (hdr->len < RPCRDMA_HDR_MIN + RPCRDMA_INV_LEN + RPC_MIN_LEN)
		return false;
	if (get_u32(p) != RPCRDMA_OPT_INV_MSG)
		return false;
	len = get_u32(p + 4) - 2 * RPCRDMA_WORD;
	if (len != RPCRDMA_NO_CHUNKS_LEN &&
	    (len != RPCRDMA_ONE_CHUNK_LEN ||
	     hdr->len < lists + len + RPC_MIN_LEN))
		return false;
	direction = get_u32(p + 8);
	if (direction > RPCRDMA_DIR_REPLY ||
	    direction != get_u32(hdr->buf + lists + len + AT_RPC_TYPE))
		return false;
	/* Also if the lists are not short: the long way comes to the same */
	hdr->proc = RPCRDMA_MSG;
	hdr->option = true;
	hdr->direction = direction;
	hdr->inv_handle = get_u32(p + 12);
	return len == RPCRDMA_NO_CHUNKS_LEN ?
		plain_message(hdr, lim, lists) :
		one_segment_message(hdr, lim, lists);
}

/*
 * Nearly all messages have no chunk, or one of one segment, and no fault: the short
 * way to what hdr_decode_long() says of them. What this does not accept, that one looks at from
 * the beginning.
 */
static __always_inline bool dec_short(struct rpcrdma_hdr *hdr,
				      const struct rpcrdma_limits *lim)
{
	const u8 *p = hdr->buf;
	u32 vers;

	if (hdr->len < RPCRDMA_HDR_MIN + RPC_MIN_LEN)
		return false;
	vers = get_u32(p + 4);
	if (vers < lim->vers_min || vers > lim->vers_max)
		return false;
	hdr->xid = get_u32(p);
	hdr->vers = vers;
	hdr->credits = get_u32(p + 8);
	hdr->proc = get_u32(p + 12);
	if (hdr->proc == RPCRDMA_MSG &&
	    (likely(vers == RPCRDMA_V1) || vers == RPCRDMA_V2))
		return plain_message(hdr, lim, RPCRDMA_FIXED_LEN) ||
		       one_segment_message(hdr, lim, RPCRDMA_FIXED_LEN);
	return vers == RPCRDMA_V2 && hdr->proc == RPCRDMA_OPTIONAL &&
	       dec_short_option(hdr, lim);
}

/**
 * hdr_decode_short - what of rpcrdma_decode() goes the short way
 * @hdr: all zero but for @buf and @len; the view to fill
 * @lim: what the receiver is willing to take
 *
 * RDMA_MSG with at most one segment, without fault, or the option of version two that stands
 * for it. For tests: that the long way gives the same result hides whether the short
 * one was gone.
 *
 * Context: Any context.
 * Return: whether it accepts the header.
 */
bool hdr_decode_short(struct rpcrdma_hdr *hdr, const struct rpcrdma_limits *lim)
{
	return dec_short(hdr, lim);
}

/**
 * rpcrdma_decode - check a received Transport Header, all of it, once
 * @hdr: the view to fill; it borrows @buf
 * @buf: received octets
 * @len: how many
 * @lim: what the receiver is willing to take
 *
 * Nothing after this can fail: the iterators walk only what was checked here.
 *
 * Decisions where RFC 8166 leaves room:
 *
 * - Fewer than 28 octets are dropped, as section 4.5 demands. An ERR_CHUNK has
 *   20, so RDMA_ERROR is excepted.
 * - ERR_VERS is accepted under any version, since its sender may speak none of
 *   ours. No other RDMA_ERROR of a foreign version is, and none is answered.
 *   An RDMA_ERROR that is truncated or of an unknown kind is dropped, with
 *   @xid, @proc and, if it was there, @errcode set: a Requester can end the
 *   Call it belongs to.
 * - An unknown procedure is answered with ERR_CHUNK, the one error of version
 *   one that says "could not decode this" (section 4.5.2). So is RDMA_MSGP
 *   (section 4.6.1); RDMA_DONE is dropped (section 4.6.2).
 * - A Write chunk of zero segments asks for its result inline (section
 *   4.3.2.3). A Reply chunk of zero segments is one without room.
 * - A Read chunk of zero octets in all is rejected; a zero-length segment in
 *   one that has other octets is accepted and carries nothing.
 * - The Read list must ascend.
 * - RDMA_NOMSG needs a Position-Zero Read chunk (a Call) or a Reply chunk (a
 *   Reply). One without message octets is accepted, and rpcrdma_dispatch() makes
 *   the difference. Octets behind its chunk lists are ignored.
 * - An RPC message shorter than its XID and type, or with an XID that is not rdma_xid
 *   (section 4.2.1), is answered with ERR_CHUNK: the XID the Requester put in
 *   the Transport Header is the one it waits for. (So is what can be no Call for another
 *   reason, by rpcrdma_dispatch().)
 * - An RPC Reply must have no Read list, and is never answered but dropped.
 *
 * What version two adds is in Documentation/version-two.rst.
 *
 * Context: Any context.
 * Return: @hdr->fault, which is zero for a header that is accepted.
 */
enum rpcrdma_fault rpcrdma_decode(struct rpcrdma_hdr *hdr, const void *buf,
				  u32 len, const struct rpcrdma_limits *lim)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->buf = buf;
	hdr->len = len;
	return likely(dec_short(hdr, lim)) ? RPCRDMA_FAULT_NONE :
					     hdr_decode_long(hdr, lim);
}
