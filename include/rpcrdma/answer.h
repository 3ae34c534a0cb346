/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * From a decoded header and the role of its receiver to an action, and the
 * checks of a message that a side takes. Pure.
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
 * enum rpcrdma_action - what a side does with a received message
 * @RPCRDMA_ACT_CALL: give the Call in it to the RPC service
 * @RPCRDMA_ACT_REPLY: complete the RPC that has its XID, or drop it
 * @RPCRDMA_ACT_FAIL: end the RPC that has its XID with an error, or drop it
 * @RPCRDMA_ACT_DROP: repost the Receive
 * @RPCRDMA_ACT_ERROR: send the RDMA_ERROR of rpcrdma_fault_errcode()
 * @RPCRDMA_ACT_FAIL_OR_ERROR: end the RPC that has its XID with an error; if
 *	there is none, send RDMA_ERROR
 * @RPCRDMA_ACT_FAIL_AND_ERROR: do both
 * @RPCRDMA_ACT_CLOSE: break the connection
 * @__RPCRDMA_ACTIONS: number of values
 *
 * The RPC is the Requester's own, or a callback of the Responder's.
 */
enum rpcrdma_action {
	RPCRDMA_ACT_CALL,
	RPCRDMA_ACT_REPLY,
	RPCRDMA_ACT_FAIL,
	RPCRDMA_ACT_DROP,
	RPCRDMA_ACT_ERROR,
	RPCRDMA_ACT_FAIL_OR_ERROR,
	RPCRDMA_ACT_FAIL_AND_ERROR,
	RPCRDMA_ACT_CLOSE,
	__RPCRDMA_ACTIONS
};

enum rpcrdma_action rpcrdma_dispatch(const struct rpcrdma_hdr *hdr,
				     enum rpcrdma_role role, bool invalidated);

/**
 * rpcrdma_fault_errcode - rdma_err of the RDMA_ERROR that answers a message
 * @fault: of its header; RPCRDMA_FAULT_NONE if the header has none
 *
 * RFC 8166, section 4.5. BAD_HEADER of version 2 has the code of ERR_CHUNK.
 */
static inline enum rpcrdma_errcode
rpcrdma_fault_errcode(enum rpcrdma_fault fault)
{
	switch (fault) {
	case RPCRDMA_FAULT_VERSION:
		return RPCRDMA_ERR_VERS;
	case RPCRDMA_FAULT_OPTION:
		return RPCRDMA_ERR_INVAL_OPTION;
	default:
		return RPCRDMA_ERR_CHUNK;
	}
}

bool rpcrdma_is_call_of(const void *msg, const struct rpcrdma_hdr *hdr);
bool rpcrdma_is_reply_of(const void *msg, const struct rpcrdma_hdr *hdr);
u32 rpcrdma_hdr_grant(const struct rpcrdma_hdr *hdr, u32 most, u32 granted, bool matched);
bool rpcrdma_reply_within(const struct rpcrdma_hdr *hdr, u64 write_offered,
			  u64 reply_offered);
bool rpcrdma_reply_in_place(const struct rpcrdma_hdr *hdr, u64 write_offered,
			    u64 head);

#endif /* RPCRDMA_ANSWER_H */
