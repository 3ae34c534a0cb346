// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From a decoded header and a role to an action. Pure. The table of all
 * actions is in Documentation/answers.rst and kunit/answers_cases.h.
 */
#include "rpcrdma/wire.h"

/*
 * No Reply has a Read list (RFC 8166, section 4.3.1), so that a Position-Zero
 * Read chunk means a Call as well.
 */
static bool is_call(const struct rpcrdma_hdr *hdr)
{
	return hdr->direction == RPCRDMA_DIR_CALL ||
	       (!hdr->fault && hdr->pzrc_bytes);
}

/*
 * Can an accepted header bring a Call, as far as it is known before RDMA Reads?
 * No data item is within the part that each Call has: sunrpc takes that from
 * the bytes before the first item.
 */
static bool has_call(const struct rpcrdma_hdr *hdr)
{
	return is_call(hdr) && (hdr->ddp_first ? hdr->ddp_first : hdr->msg_len) >=
			       RPC_CALL_MIN_LEN;
}

/* There is no XID, or it is that of RDMA_DONE, which is ignored */
static bool lacks_xid(const struct rpcrdma_hdr *hdr)
{
	return hdr->len < RPCRDMA_WORD || hdr->fault == RPCRDMA_FAULT_RESERVED;
}

/* A message shorter than its kind gets no answer (RFC 8166, section 4.5) */
static bool is_answerable(const struct rpcrdma_hdr *hdr)
{
	if (rpcrdma_is_v2(hdr->vers) && hdr->fault != RPCRDMA_FAULT_VERSION)
		return hdr->len >= rpcrdma_v2_smallest(hdr);
	return hdr->len >= RPCRDMA_HDR_MIN;
}

static enum rpcrdma_action dispatch_responder(const struct rpcrdma_hdr *hdr)
{
	if (hdr->proc == RPCRDMA_ERROR)
		return RPCRDMA_ACT_FAIL;
	/* A callback offers no memory: a Reply to one returns no chunk */
	if (hdr->direction == RPCRDMA_DIR_REPLY)
		return hdr->fault || rpcrdma_hdr_has_chunks(hdr) ?
			RPCRDMA_ACT_FAIL : RPCRDMA_ACT_REPLY;
	if (!hdr->fault && has_call(hdr))
		return RPCRDMA_ACT_CALL;
	if (lacks_xid(hdr))
		return RPCRDMA_ACT_DROP;
	if (!is_answerable(hdr))
		return RPCRDMA_ACT_FAIL;
	if (hdr->fault == RPCRDMA_FAULT_OPTION)
		return RPCRDMA_ACT_FAIL_AND_ERROR;
	return is_call(hdr) ? RPCRDMA_ACT_ERROR : RPCRDMA_ACT_FAIL_OR_ERROR;
}

static enum rpcrdma_action dispatch_requester(const struct rpcrdma_hdr *hdr,
					      bool invalidated)
{
	bool ignored = lacks_xid(hdr);

	if (ignored || is_call(hdr)) {
		/* RFC 8797, section 4.1: only a Reply invalidates */
		if (invalidated)
			return RPCRDMA_ACT_CLOSE;
		if (ignored)
			return RPCRDMA_ACT_DROP;
		/* We support no chunks there (RFC 8167, section 5.3) */
		return hdr->fault || rpcrdma_hdr_has_chunks(hdr) ||
		       !has_call(hdr) ? RPCRDMA_ACT_ERROR : RPCRDMA_ACT_CALL;
	}
	/* The option may say why something was invalidated */
	if (hdr->fault == RPCRDMA_FAULT_OPTION && is_answerable(hdr))
		return invalidated ? RPCRDMA_ACT_CLOSE :
				     RPCRDMA_ACT_FAIL_AND_ERROR;
	return hdr->fault || hdr->proc == RPCRDMA_ERROR ? RPCRDMA_ACT_FAIL :
							  RPCRDMA_ACT_REPLY;
}

/**
 * rpcrdma_dispatch - choose the action for a received message
 * @hdr: header as rpcrdma_decode() left it, with or without a fault
 * @role: side that received the message
 * @invalidated: it came by Send With Invalidate
 *
 * A Responder treats a message of unknown direction as a Call, and answers one
 * that it cannot process with RDMA_ERROR. Such a message may also be the Reply
 * to a callback, which would otherwise wait forever, while an RDMA_ERROR must
 * not answer a Reply: if the XID is that of a callback, the callback fails
 * instead. A header without an RPC Call is answered with ERR_CHUNK (RFC 8166,
 * section 4.5.2). A Requester has nothing to invalidate: a Responder offers no
 * memory.
 *
 * A Requester treats a message of unknown direction as a Reply. It answers
 * callbacks, and options that it does not know. RFC 8166 wants an unreadable
 * Reply to be dropped in silence (section 4.5). Its RPC would then time out
 * and be retried on a new connection, again and again, so it fails instead.
 *
 * Whether an RPC with that XID is in flight, and whether the handle that the
 * peer invalidated was part of it, is for the side to check.
 *
 * Return: the action.
 */
enum rpcrdma_action rpcrdma_dispatch(const struct rpcrdma_hdr *hdr,
				     enum rpcrdma_role role, bool invalidated)
{
	if (role == RPCRDMA_REQUESTER)
		return dispatch_requester(hdr, invalidated);
	return invalidated ? RPCRDMA_ACT_CLOSE : dispatch_responder(hdr);
}

/**
 * rpcrdma_is_msg_of - is an RPC message the one that its header announced?
 * @msg: its first eight bytes, from a Position-Zero Read chunk; or those of the
 *	Reply chunk, if it has so many
 * @hdr: its header
 * @type: Call or Reply
 *
 * The XIDs must be the same (RFC 8166, section 4.2.1): a Reply has that of the
 * header in its own, and a Responder may confuse two Reply chunks.
 * rpcrdma_decode() has checked this of an inline message.
 *
 * Return: true if it is.
 */
bool rpcrdma_is_msg_of(const void *msg, const struct rpcrdma_hdr *hdr,
		       enum rpcrdma_direction type)
{
	const u8 *p = msg;

	if (type == RPCRDMA_DIR_REPLY && hdr->reply_bytes < RPC_MIN_LEN)
		return false;
	return get_u32(p) == hdr->xid && get_u32(p + AT_RPC_TYPE) == type;
}

/**
 * rpcrdma_reply_verf_len - how long is the verifier of an RPC Reply?
 * @msg: the Reply
 * @len: its bytes, or those before page data that are elsewhere
 *
 * Return: bytes with XDR roundup; 0 if the Reply was not accepted (RFC 5531,
 * section 9).
 */
u64 rpcrdma_reply_verf_len(const void *msg, u32 len)
{
	const u8 *p = msg;

	/* xid, REPLY, MSG_ACCEPTED, flavor, length */
	if (len < 5 * RPCRDMA_WORD ||
	    get_u32(p + AT_RPC_TYPE) != RPCRDMA_DIR_REPLY || get_u32(p + 8))
		return 0;
	return rpcrdma_xdr_roundup(get_u32(p + 16));
}

/**
 * rpcrdma_hdr_grant - the credits that a message grants
 * @hdr: header as rpcrdma_decode() left it
 * @most: number of Receives for Replies, at least one
 * @granted: granted before, one to @most; one on a new connection
 * @matched: it has the XID of a Call that was sent, and is its answer
 *
 * No credits would be a deadlock; more than there are Receives could not be
 * answered (RFC 8166, section 3.3.1). A malformed message grants nothing, nor
 * does one of unknown direction (RFC 8167, section 4.1), such as an error or a
 * message in a chunk, unless it is @matched. An error never grants more: more
 * than one needs a Reply (version 2, section 5).
 *
 * Return: 1 to @most; 0 if the message says nothing.
 */
u32 rpcrdma_hdr_grant(const struct rpcrdma_hdr *hdr, u32 most, u32 granted,
		      bool matched)
{
	if (hdr->fault)
		return 0;
	if (!matched && hdr->direction != RPCRDMA_DIR_REPLY)
		return 0;
	if (hdr->proc == RPCRDMA_ERROR)
		most = granted;
	return clamp_t(u32, hdr->credits, 1, most);
}

/**
 * rpcrdma_reply_within - does a Reply return no more than was offered?
 * @hdr: accepted header of a Reply
 * @write_offered: bytes of the Write chunk in the Call
 * @reply_offered: bytes of the Reply chunk in the Call
 *
 * The whole message is either inline or in the Reply chunk (RFC 8166, section
 * 3.5). A Responder cannot have written beyond the end of a chunk.
 *
 * Return: false if the Reply cannot be used.
 */
bool rpcrdma_reply_within(const struct rpcrdma_hdr *hdr, u64 write_offered,
			  u64 reply_offered)
{
	if (hdr->write_chunks &&
	    (hdr->write_chunks > 1 || hdr->write_bytes > write_offered))
		return false;
	if (hdr->proc == RPCRDMA_NOMSG)
		return hdr->reply_bytes && hdr->reply_bytes <= reply_offered;
	return !hdr->reply_bytes;
}

/**
 * rpcrdma_hdr_inv_handle - which handle to invalidate with the Reply
 * @hdr: accepted header of a Call
 * @announced: both sides announced remote invalidation in their private data,
 *	which binds version 1 (RFC 8797, section 4.1)
 * @able: our own device can send such a message
 *
 * Version 1 leaves the choice to the Responder. In version 2 the Requester
 * chooses, by the option. The handle must be of the Call's own chunks, or it
 * might be another RPC's (draft-cel-nfsv4-reminv-design-03, section 5.3).
 *
 * Return: a handle, or 0 to invalidate none.
 */
u32 rpcrdma_hdr_inv_handle(const struct rpcrdma_hdr *hdr, bool announced,
			   bool able)
{
	if (hdr->vers == RPCRDMA_V1)
		return announced ? hdr->longest_handle : 0;
	return able && hdr->inv_offered ? hdr->inv_handle : 0;
}
