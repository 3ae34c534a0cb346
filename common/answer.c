// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a side does with a message that it received. Pure. The table of all
 * answers is in Documentation/architecture.rst and kunit/answers_cases.h.
 */
#include "rpcrdma/answer.h"

/* Reverse-direction messages have none (RFC 8167, section 5.4) */
static bool has_chunks(const struct rpcrdma_hdr *hdr)
{
	return hdr->read_segs || hdr->write_segs || hdr->reply_segs;
}

static enum rpcrdma_answer answer_call(const struct rpcrdma_hdr *hdr,
				       enum rpcrdma_disposition disposition)
{
	switch (disposition) {
	case RPCRDMA_ACCEPT:
		/* RFC 8166, section 4.5.2: nothing to decode is an error too */
		return rpcrdma_hdr_has_message(hdr) ? RPCRDMA_DO_CALL :
						      RPCRDMA_DO_ERR_CHUNK;
	case RPCRDMA_DROP:
		return RPCRDMA_DO_DROP;
	case RPCRDMA_ANSWER_VERS:
		return RPCRDMA_DO_ERR_VERS;
	case RPCRDMA_ANSWER_CHUNK:
		return RPCRDMA_DO_ERR_CHUNK;
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
	if (rpcrdma_hdr_direction(hdr) != RPCRDMA_DIR_REPLY)
		return answer_call(hdr, disposition);
	/* A callback offers no memory: what chunks claim was written nowhere */
	return hdr->fault || has_chunks(hdr) ? RPCRDMA_DO_FAIL :
					       RPCRDMA_DO_REPLY;
}

/* What is not known for a Call counts as a Reply: an RPC may wait for it */
static enum rpcrdma_answer
answer_of_requester(const struct rpcrdma_hdr *hdr, bool invalidated)
{
	if (hdr->len < RPCRDMA_WORD ||
	    rpcrdma_hdr_direction(hdr) == RPCRDMA_DIR_CALL) {
		/* RFC 8797, section 4.1: only a Reply invalidates */
		if (invalidated)
			return RPCRDMA_DO_CLOSE;
		return hdr->fault || has_chunks(hdr) ? RPCRDMA_DO_DROP :
						       RPCRDMA_DO_CALL;
	}
	return hdr->fault || hdr->proc == RPCRDMA_ERROR ? RPCRDMA_DO_FAIL :
							  RPCRDMA_DO_REPLY;
}

/**
 * rpcrdma_answer - what a side does with a message that it received
 * @hdr: header as rpcrdma_decode() left it, whatever that returned
 * @disposition: what that returned
 * @role: who received the message
 * @invalidated: it came by Send With Invalidate
 *
 * A Responder does what the disposition says, with two exceptions: Replies to
 * its callbacks and RDMA_ERROR, accepted or not, end the callback that they
 * name; and a header that brings no RPC message is answered with ERR_CHUNK. A
 * Requester answers nothing, so an RPC whose Reply cannot be read would wait
 * for ever: it ends with an error, whatever the header is like otherwise.
 *
 * Whether an RPC with that XID is in flight, and whether what the peer
 * invalidated was part of it, is for the side to find out.
 *
 * Context: Any context.
 * Return: what to do.
 */
enum rpcrdma_answer rpcrdma_answer(const struct rpcrdma_hdr *hdr,
				   enum rpcrdma_disposition disposition,
				   enum rpcrdma_role role, bool invalidated)
{
	if (role == RPCRDMA_REQUESTER)
		return answer_of_requester(hdr, invalidated);
	return answer_of_responder(hdr, disposition);
}
