/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a side does with a message that it received: the decision behind
 * rpcrdma_decode()'s, which knows the header but not who looks at it; and what
 * it believes of a message that it takes. Pure.
 */
#ifndef RPCRDMA_ANSWER_H
#define RPCRDMA_ANSWER_H

#include "wire.h"

/**
 * enum rpcrdma_role - the side of a connection that received a message
 * @RPCRDMA_RESPONDER: it accepted the connection: Calls come to it, and the
 *	Replies to its callbacks (RFC 8167)
 * @RPCRDMA_REQUESTER: it made the connection: Replies come to it, and
 *	callbacks
 * @__RPCRDMA_ROLES: number of values
 */
enum rpcrdma_role {
	RPCRDMA_RESPONDER,
	RPCRDMA_REQUESTER,
	__RPCRDMA_ROLES
};

/**
 * enum rpcrdma_answer - what to do with a received message
 * @RPCRDMA_DO_CALL: give the Call in it to the RPC service
 * @RPCRDMA_DO_REPLY: complete the RPC that has its XID, or drop it
 * @RPCRDMA_DO_FAIL: end the RPC that has its XID with an error, or drop it
 * @RPCRDMA_DO_DROP: nothing; the Receive goes back
 * @RPCRDMA_DO_ERR_VERS: send RDMA_ERROR, ERR_VERS
 * @RPCRDMA_DO_ERR_CHUNK: send RDMA_ERROR, ERR_CHUNK
 * @RPCRDMA_DO_BAD_HEADER: send RDMA_ERROR, BAD_HEADER (version two)
 * @RPCRDMA_DO_INVAL_OPTION: send RDMA_ERROR, INVAL_OPTION (version two); a
 *	Requester also ends the RPC that has its XID with an error
 * @RPCRDMA_DO_CLOSE: break the connection
 * @__RPCRDMA_ANSWERS: number of values
 */
enum rpcrdma_answer {
	RPCRDMA_DO_CALL,
	RPCRDMA_DO_REPLY,
	RPCRDMA_DO_FAIL,
	RPCRDMA_DO_DROP,
	RPCRDMA_DO_ERR_VERS,
	RPCRDMA_DO_ERR_CHUNK,
	RPCRDMA_DO_BAD_HEADER,
	RPCRDMA_DO_INVAL_OPTION,
	RPCRDMA_DO_CLOSE,
	__RPCRDMA_ANSWERS
};

enum rpcrdma_answer rpcrdma_answer_any(const struct rpcrdma_hdr *hdr,
				       enum rpcrdma_disposition disposition,
				       enum rpcrdma_role role,
				       bool invalidated);

/**
 * rpcrdma_is_plain_for - is a message of the kind that a side gets most of?
 * @hdr: header as rpcrdma_decode() left it
 * @role: who received the message
 *
 * Context: Any context.
 * Return: a plain Call to a Responder, a plain Reply to a Requester.
 */
static inline bool rpcrdma_is_plain_for(const struct rpcrdma_hdr *hdr,
					enum rpcrdma_role role)
{
	return hdr->plain == (role == RPCRDMA_REQUESTER ? RPCRDMA_PLAIN_REPLY :
							  RPCRDMA_PLAIN_CALL);
}

/**
 * rpcrdma_answer - what a side does with a message that it received
 * @hdr: header as rpcrdma_decode() left it, whatever that returned
 * @disposition: what that returned
 * @role: who received the message
 * @invalidated: it came by Send With Invalidate
 *
 * For what is not plain see rpcrdma_answer_any(), which says the same of what is.
 *
 * Context: Any context.
 * Return: what to do.
 */
static inline enum rpcrdma_answer
rpcrdma_answer(const struct rpcrdma_hdr *hdr,
	       enum rpcrdma_disposition disposition, enum rpcrdma_role role,
	       bool invalidated)
{
	if (likely(rpcrdma_is_plain_for(hdr, role)))
		return role == RPCRDMA_REQUESTER ? RPCRDMA_DO_REPLY :
						   RPCRDMA_DO_CALL;
	return rpcrdma_answer_any(hdr, disposition, role, invalidated);
}

/**
 * rpcrdma_answer_errcode - rdma_err of an answer
 * @answer: one that is an RDMA_ERROR without data
 *
 * Context: Any context.
 * Return: the code.
 */
static inline enum rpcrdma_errcode
rpcrdma_answer_errcode(enum rpcrdma_answer answer)
{
	/* BAD_HEADER of version two has the code of ERR_CHUNK */
	return answer == RPCRDMA_DO_INVAL_OPTION ? RPCRDMA_ERR_INVAL_OPTION :
						   RPCRDMA_ERR_CHUNK;
}

bool rpcrdma_hdr_may_be_reply(const struct rpcrdma_hdr *hdr);
bool rpcrdma_is_call_of(const void *msg, const struct rpcrdma_hdr *hdr);
bool rpcrdma_is_reply_of(const void *msg, const struct rpcrdma_hdr *hdr);
u32 rpcrdma_hdr_grant(const struct rpcrdma_hdr *hdr, u32 most, u32 granted, bool matched);
bool rpcrdma_reply_within(const struct rpcrdma_hdr *hdr, u64 write_offered,
			  u64 reply_offered);
bool rpcrdma_reply_in_place(const struct rpcrdma_hdr *hdr, u64 write_offered,
			    u64 head);

#endif /* RPCRDMA_ANSWER_H */
