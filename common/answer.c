// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a side does with a message that it received. Pure. The table of all
 * answers is in Documentation/architecture.rst and kunit/answers_cases.h.
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

/* Its XID says nothing: there is none, or it is that of RDMA_DONE, which is ignored */
static bool is_nameless(const struct rpcrdma_hdr *hdr)
{
	return hdr->len < RPCRDMA_WORD || hdr->fault == RPCRDMA_FAULT_RESERVED;
}

/* The header is such that its message cannot be had from it */
static enum rpcrdma_answer refuse(const struct rpcrdma_hdr *hdr)
{
	return hdr->vers == RPCRDMA_V1 ? RPCRDMA_DO_ERR_CHUNK :
					 RPCRDMA_DO_BAD_HEADER;
}

static enum rpcrdma_answer answer_call(const struct rpcrdma_hdr *hdr,
				       enum rpcrdma_disposition disposition)
{
	switch (disposition) {
	case RPCRDMA_ACCEPT:
		/* RFC 8166, section 4.5.2: nothing to decode is an error too */
		return has_call(hdr) ? RPCRDMA_DO_CALL : refuse(hdr);
	case RPCRDMA_DROP:
		return RPCRDMA_DO_DROP;
	case RPCRDMA_ANSWER_VERS:
		return RPCRDMA_DO_ERR_VERS;
	case RPCRDMA_ANSWER_CHUNK:
	case RPCRDMA_ANSWER_BAD_HEADER:
		return refuse(hdr);
	case RPCRDMA_ANSWER_OPTION:
		return RPCRDMA_DO_INVAL_OPTION;
	default:
		return RPCRDMA_DO_CLOSE;
	}
}

/* What is not known for a Reply counts as a Call: Calls are what it serves */
static enum rpcrdma_answer
answer_of_responder(const struct rpcrdma_hdr *hdr,
		    enum rpcrdma_disposition disposition)
{
	if (hdr->proc == RPCRDMA_ERROR)
		return RPCRDMA_DO_FAIL;
	if (hdr_direction(hdr) != RPCRDMA_DIR_REPLY)
		return answer_call(hdr, disposition);
	/* A callback offers no memory: what chunks claim was written nowhere */
	return hdr->fault || rpcrdma_hdr_has_chunks(hdr) ? RPCRDMA_DO_FAIL :
					       RPCRDMA_DO_REPLY;
}

/* What is not known for a Call counts as a Reply: an RPC may wait for it */
static enum rpcrdma_answer
answer_of_requester(const struct rpcrdma_hdr *hdr,
		    enum rpcrdma_disposition disposition, bool invalidated)
{
	bool nameless = is_nameless(hdr);

	if (nameless || is_callback(hdr)) {
		/* RFC 8797, section 4.1: only a Reply invalidates */
		if (invalidated)
			return RPCRDMA_DO_CLOSE;
		if (nameless)
			return RPCRDMA_DO_DROP;
		/* We support no chunks there (RFC 8167, section 5.3) */
		return hdr->fault || rpcrdma_hdr_has_chunks(hdr) ||
		       !has_call(hdr) ? refuse(hdr) : RPCRDMA_DO_CALL;
	}
	if (disposition == RPCRDMA_ANSWER_OPTION)
		/* What was invalidated, and why, nobody knows */
		return invalidated ? RPCRDMA_DO_CLOSE : RPCRDMA_DO_INVAL_OPTION;
	return hdr->fault || hdr->proc == RPCRDMA_ERROR ? RPCRDMA_DO_FAIL :
							  RPCRDMA_DO_REPLY;
}

/**
 * rpcrdma_answer_any - what rpcrdma_answer() does, the long way
 * @hdr: header as rpcrdma_decode() left it, whatever that returned
 * @disposition: what that returned
 * @role: who received the message
 * @invalidated: it came by Send With Invalidate
 *
 * A Responder does what the disposition says, with two exceptions: Replies to
 * its callbacks and RDMA_ERROR, accepted or not, end the callback that they
 * name; and a header that brings no RPC message, or none that can be a Call, is answered
 * with ERR_CHUNK (version two: BAD_HEADER). A Requester answers callbacks alone, and options
 * that it does not know. RFC 8166 wants a Reply that cannot be read to be dropped in silence
 * (section 4.5): its RPC would go again when its time is over, on a new connection, for the
 * same answer, and that for ever. It ends with an error, whatever the header is like
 * otherwise. RDMA_DONE is no Reply, and ends nothing.
 *
 * Whether an RPC with that XID is in flight, and whether what the peer
 * invalidated was part of it, is for the side to find out.
 *
 * Context: Any context.
 * Return: what to do.
 */
enum rpcrdma_answer rpcrdma_answer_any(const struct rpcrdma_hdr *hdr,
				       enum rpcrdma_disposition disposition,
				       enum rpcrdma_role role, bool invalidated)
{
	if (role == RPCRDMA_REQUESTER)
		return answer_of_requester(hdr, disposition, invalidated);
	return answer_of_responder(hdr, disposition);
}

/**
 * rpcrdma_hdr_may_be_reply - can a message that a Responder refuses be a Reply?
 * @hdr: header as rpcrdma_decode() left it, with a fault or without a message
 *
 * One that cannot be read as far as its type, or has its message in a Reply chunk, may be
 * the Reply to a callback: that would wait for ever, while an RDMA_ERROR answers no Reply.
 * Where a callback has its XID it ends that, and is not answered.
 *
 * Context: Any context.
 * Return: whether to look for a callback with its XID first.
 */
bool rpcrdma_hdr_may_be_reply(const struct rpcrdma_hdr *hdr)
{
	return !is_nameless(hdr) && !is_callback(hdr);
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
