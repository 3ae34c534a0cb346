/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RPC-over-RDMA version 1 CM Private Data (RFC 8797). Pure.
 */
#ifndef RPCRDMA_CM_PRIVATE_H
#define RPCRDMA_CM_PRIVATE_H

#include "wire.h"

#define RPCRDMA_CMP_MAGIC	0xf6ab0e18U
#define RPCRDMA_CMP_VERSION	1U
#define RPCRDMA_CMP_LEN		8U

/* Inline thresholds that the format can express, and the default */
#define RPCRDMA_INLINE_UNIT	1024U
#define RPCRDMA_INLINE_MIN	1024U
#define RPCRDMA_INLINE_MAX	262144U

/* What version two can count on, draft-cel-nfsv4-rpcrdma-version-two-00, 5.1 */
#define RPCRDMA_INLINE_V2	4096U
/* What either side asks for unless told otherwise: see Documentation/performance.rst */
#define RPCRDMA_INLINE_WANTED	5120U

/**
 * struct rpcrdma_cm_private - one side's transport properties
 * @present: a valid message was found (decoded side only)
 * @remote_inv: R: supports remote invalidation
 * @send_size: most octets it sends in one Send
 * @recv_size: most octets it takes in one Receive
 */
struct rpcrdma_cm_private {
	bool	present;
	bool	remote_inv;
	u32	send_size;
	u32	recv_size;
};

/**
 * struct rpcrdma_properties - what both sides agreed upon
 * @inline_send: inline threshold from us to the peer
 * @inline_recv: inline threshold from the peer to us
 * @remote_inv: both sides set R: a responder may Send With Invalidate
 */
struct rpcrdma_properties {
	u32	inline_send;
	u32	inline_recv;
	bool	remote_inv;
};

u32 rpcrdma_cm_private_encode(void *buf, u32 size,
			      const struct rpcrdma_cm_private *local);
void rpcrdma_cm_private_decode(struct rpcrdma_cm_private *peer,
			       const void *buf, u32 len);
void rpcrdma_cm_private_combine(struct rpcrdma_properties *prop,
				const struct rpcrdma_cm_private *local,
				const struct rpcrdma_cm_private *peer);

/**
 * rpcrdma_threshold - an inline threshold in a version of the protocol
 * @agreed: what the private data say: of struct rpcrdma_properties
 * @vers: version of the protocol
 *
 * Version two can count on 4096 octets each way (draft-cel-nfsv4-rpcrdma-
 * version-two-00, section 5.1), and on more where the private data say more.
 *
 * Context: Any context.
 * Return: octets.
 */
static inline u32 rpcrdma_threshold(u32 agreed, u32 vers)
{
	return vers < RPCRDMA_V2 ? agreed : max_t(u32, agreed, RPCRDMA_INLINE_V2);
}

#endif /* RPCRDMA_CM_PRIVATE_H */
