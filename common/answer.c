// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a side does with a message that it received. Pure. The table of all
 * actions is in Documentation/answers.rst and kunit/answers_cases.h.
 */
#include "rpcrdma/answer.h"
#include "rpcrdma/wire_get.h"

/*
 * No Reply has a Read list (RFC 8166, section 4.3.1), so that a Position-Zero
 * Read chunk means a Call as well.
 */
static bool is_callback(const struct rpcrdma_hdr *hdr)
{
	return hdr_direction(hdr) == RPCRDMA_DIR_CALL ||
	       (!hdr->fault && hdr->pz_bytes);
}

/* Where in the message the first of its data items is; there is one */
static noinline u32 first_item(const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_read_iter it;

	rpcrdma_read_iter_init(&it, hdr);
	while (rpcrdma_read_iter_next(&it) && !it.position)
		;
	return it.position;
}

/* Octets of the message before its first data item, which is all without one */
static u64 octets_before_items(const struct rpcrdma_hdr *hdr)
{
	if (!hdr->item)
		return hdr->msg_len;
	return hdr->read_chunks == 1 ? hdr->item : first_item(hdr);
}

/*
 * Is what is known of the message before anything is read such that it can be a Call? A
 * data item is nowhere in what each Call has: sunrpc takes that from the octets before it.
 */
static bool has_call(const struct rpcrdma_hdr *hdr)
{
	if (!hdr->pz_bytes && hdr_direction(hdr) != RPCRDMA_DIR_CALL)
		return false;
	return octets_before_items(hdr) >= RPC_CALL_MIN_LEN;
}

/* There is no XID, or it is that of RDMA_DONE, which is ignored */
static bool lacks_xid(const struct rpcrdma_hdr *hdr)
{
	return hdr->len < RPCRDMA_WORD || hdr->fault == RPCRDMA_FAULT_RESERVED;
}

/*
 * A message shorter than the smallest of its kind gets no answer (RFC 8166,
 * section 4.5).
 */
static u32 smallest(const struct rpcrdma_hdr *hdr)
{
	if (hdr->vers != RPCRDMA_V2 || hdr->fault == RPCRDMA_FAULT_VERSION)
		return RPCRDMA_HDR_MIN;
	switch (hdr->proc) {
	case RPCRDMA_MSG:
	case RPCRDMA_NOMSG:
		return RPCRDMA_HDR_MIN;
	case RPCRDMA_OPTIONAL:
		return RPCRDMA_OPTIONAL_LEN;
	default:
		return RPCRDMA_FIXED_LEN;
	}
}

/* An unknown option, and enough of it for an answer */
static bool has_unknown_option(const struct rpcrdma_hdr *hdr)
{
	return hdr->fault == RPCRDMA_FAULT_OPTION && hdr->len >= smallest(hdr);
}

static enum rpcrdma_action dispatch_responder(const struct rpcrdma_hdr *hdr)
{
	if (hdr->proc == RPCRDMA_ERROR)
		return RPCRDMA_ACT_FAIL;
	/* A callback offers no memory: a Reply to one returns no chunk */
	if (hdr_direction(hdr) == RPCRDMA_DIR_REPLY)
		return hdr->fault || rpcrdma_hdr_has_chunks(hdr) ?
			RPCRDMA_ACT_FAIL : RPCRDMA_ACT_REPLY;
	if (!hdr->fault && has_call(hdr))
		return RPCRDMA_ACT_CALL;
	if (lacks_xid(hdr))
		return RPCRDMA_ACT_DROP;
	if (hdr->len < smallest(hdr))
		return RPCRDMA_ACT_FAIL;
	if (has_unknown_option(hdr))
		return RPCRDMA_ACT_FAIL_AND_ERROR;
	return is_callback(hdr) ? RPCRDMA_ACT_ERROR : RPCRDMA_ACT_FAIL_OR_ERROR;
}

static enum rpcrdma_action dispatch_requester(const struct rpcrdma_hdr *hdr,
					      bool invalidated)
{
	bool ignored = lacks_xid(hdr);

	if (ignored || is_callback(hdr)) {
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
	if (has_unknown_option(hdr))
		return invalidated ? RPCRDMA_ACT_CLOSE :
				     RPCRDMA_ACT_FAIL_AND_ERROR;
	return hdr->fault || hdr->proc == RPCRDMA_ERROR ? RPCRDMA_ACT_FAIL :
							  RPCRDMA_ACT_REPLY;
}

/**
 * rpcrdma_dispatch - what a side does with a message that it received
 * @hdr: header as rpcrdma_decode() left it, with or without a fault
 * @role: who received the message
 * @invalidated: it came by Send With Invalidate
 *
 * A Responder treats a message of unknown direction as a Call, and answers one
 * that it cannot process with RDMA_ERROR. Such a message may also be the Reply
 * to a callback, which would otherwise wait forever, while an RDMA_ERROR must
 * not answer a Reply: if the XID is that of a callback, the callback fails
 * instead. A header without an RPC Call is answered with ERR_CHUNK (RFC 8166,
 * section 4.5.2).
 *
 * A Requester treats a message of unknown direction as a Reply. It answers
 * callbacks, and options that it does not know. RFC 8166 wants an unreadable
 * Reply to be dropped in silence (section 4.5). Its RPC would then time out
 * and be retried on a new connection, again and again, so it fails instead.
 *
 * Whether an RPC with that XID is in flight, and whether the handle that the
 * peer invalidated was part of it, is for the side to check.
 */
enum rpcrdma_action rpcrdma_dispatch(const struct rpcrdma_hdr *hdr,
				     enum rpcrdma_role role, bool invalidated)
{
	if (role == RPCRDMA_REQUESTER)
		return dispatch_requester(hdr, invalidated);
	return dispatch_responder(hdr);
}

/* What is inline rpcrdma_decode() has looked at */
static bool is_message_of(const u8 *msg, const struct rpcrdma_hdr *hdr, u32 type)
{
	return get_u32(msg) == hdr->xid && get_u32(msg + AT_RPC_TYPE) == type;
}

/**
 * rpcrdma_is_call_of - is an RPC message the Call that its header announced?
 * @msg: its first eight octets at least, which came out of a Position-Zero Read chunk
 * @hdr: its header
 *
 * As of what is inline, the XIDs must be the same (RFC 8166, section 4.2.1): a Reply has that
 * of the header in its own.
 *
 * Context: Any context.
 * Return: whether it is.
 */
bool rpcrdma_is_call_of(const void *msg, const struct rpcrdma_hdr *hdr)
{
	return is_message_of(msg, hdr, RPC_TYPE_CALL);
}

/**
 * rpcrdma_is_reply_of - is an RPC message the Reply that its header announced?
 * @msg: where the Reply chunk has its first eight octets, if it has so many
 * @hdr: its header
 *
 * RFC 8166, section 4.2.1, again: what a Responder that mixes up two Reply chunks wrote there
 * is another RPC's.
 *
 * Context: Any context.
 * Return: whether it is.
 */
bool rpcrdma_is_reply_of(const void *msg, const struct rpcrdma_hdr *hdr)
{
	return hdr->reply_bytes >= RPC_MIN_LEN &&
	       is_message_of(msg, hdr, RPC_TYPE_REPLY);
}

/**
 * rpcrdma_hdr_grant - the credits that a message grants
 * @hdr: header as rpcrdma_decode() left it
 * @most: those that there are Receives for, at least one
 * @granted: those that were granted before, one to @most; one on a new connection
 * @matched: it has the XID of a Call that was sent, and is its answer
 *
 * None would be a deadlock; more than there are Receives for could not be
 * answered (RFC 8166, section 3.3.1). A message at fault is discarded, and grants
 * nothing. Nor does one of unknown direction (RFC 8167, section 4.1): an error, or
 * a message that is in a chunk, unless it is @matched. An error never grants more: it
 * takes a Reply to have more than one (version two, section 5).
 *
 * Context: Any context.
 * Return: 1 to @most; 0 when the message says nothing that can be believed.
 */
u32 rpcrdma_hdr_grant(const struct rpcrdma_hdr *hdr, u32 most, u32 granted, bool matched)
{
	if (hdr->fault)
		return 0;
	if (!matched && hdr_direction(hdr) != RPCRDMA_DIR_REPLY)
		return 0;
	if (hdr->proc == RPCRDMA_ERROR)
		most = granted;
	return clamp_t(u32, hdr->credits, 1, most);
}

/**
 * rpcrdma_reply_within - do a Reply's chunks hold what they can hold?
 * @hdr: accepted header of a Reply
 * @write_offered: octets of the Write chunk that the Call offered
 * @reply_offered: octets of the Reply chunk that it offered
 *
 * The whole message is either inline or in the Reply chunk (RFC 8166, section
 * 3.5). What a Responder says it wrote beyond the end of a chunk it did not.
 *
 * Context: Any context.
 * Return: whether the Reply can be taken.
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
 * rpcrdma_reply_in_place - is what is in the Reply chunk where it is decoded?
 * @hdr: accepted header of a Reply in the Reply chunk, within what was offered
 * @write_offered: octets of the Write chunk that the Call offered, 0: none
 * @head: octets of the RPC message before those
 *
 * Beside a Write chunk the Reply chunk is the memory before and behind the data item. What
 * came behind it stands right only if the item fills its memory up to the next XDR word.
 *
 * Context: Any context.
 * Return: whether the Reply can be taken.
 */
bool rpcrdma_reply_in_place(const struct rpcrdma_hdr *hdr, u64 write_offered,
			    u64 head)
{
	if (!write_offered || hdr->reply_bytes <= head)
		return true;
	return write_offered % 4 == 0 &&
	       write_offered - hdr->write_bytes < 4;
}
