/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which version of the protocol a connection speaks. Pure.
 */
#ifndef XPRT_RDMA_NEGOTIATE_H
#define XPRT_RDMA_NEGOTIATE_H

#include "rpcrdma/wire.h"

/* Most bytes of a first message, which every receiver takes */
#define XPRT_RDMA_FIRST_MAX	RPCRDMA_INLINE_MIN

/* Zero, as all of struct xprt_rdma_nego, speaks version 1 */
enum xprt_rdma_nego_state {
	XPRT_RDMA_NEGO_SETTLED,
	XPRT_RDMA_NEGO_FIRST,	/* version 2 is to be tried, nothing was sent */
	XPRT_RDMA_NEGO_WAITING,	/* the first message was sent */
	XPRT_RDMA_NEGO_HEARD,	/* errors so far, none of which means version 1 */
};

/* Versions of a transport; times in ms of a clock that never goes back */
struct xprt_rdma_nego {
	bool			v1_known;	/* outlives connections */
	u64			v1_since;
	enum xprt_rdma_nego_state	state;		/* of this connection */
	u32			vers;		/* of the next Call */
	bool			option;		/* of the next, if it has chunks */
	u32			xid;		/* of the last Call, until settled */
	u64			sent_at;	/* the first message */
	u64			patience;	/* for its answer */
};

void xprt_rdma_nego_init(struct xprt_rdma_nego *nego);
void xprt_rdma_nego_begin(struct xprt_rdma_nego *nego, u32 max, u64 now,
			  u64 memory, u64 patience);
void xprt_rdma_nego_sent(struct xprt_rdma_nego *nego, u32 xid, u64 now);
bool xprt_rdma_nego_expired(const struct xprt_rdma_nego *nego, u64 now);
void xprt_rdma_nego_heard(struct xprt_rdma_nego *nego,
			  const struct rpcrdma_hdr *hdr, u64 now);
bool xprt_rdma_nego_resend(const struct xprt_rdma_nego *nego,
			   const struct rpcrdma_hdr *hdr,
			   const struct rpcrdma_form *sent);
void xprt_rdma_nego_lost(struct xprt_rdma_nego *nego, u64 now);
void xprt_rdma_nego_refused(struct xprt_rdma_nego *nego);
void xprt_rdma_nego_form(const struct xprt_rdma_nego *nego,
			 struct rpcrdma_form *form);
void xprt_rdma_nego_plain_form(const struct xprt_rdma_nego *nego,
			       struct rpcrdma_form *form);
bool xprt_rdma_no_common_version(const struct rpcrdma_hdr *hdr);
bool xprt_rdma_nego_invalidates(const struct xprt_rdma_nego *nego);
void xprt_rdma_nego_thresholds(const struct xprt_rdma_nego *nego,
			       struct rpcrdma_properties *prop,
			       const struct rpcrdma_properties *v1);

#endif /* XPRT_RDMA_NEGOTIATE_H */
