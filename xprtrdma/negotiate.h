/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which version of the protocol a connection speaks. Pure.
 */
#ifndef XPRT_RDMA_NEGOTIATE_H
#define XPRT_RDMA_NEGOTIATE_H

#include "rpcrdma/wire.h"

/* Most bytes of a first message, which every receiver takes */
#define RPCRDMA_FIRST_MAX	RPCRDMA_INLINE_MIN

enum rpcrdma_nego_state {
	RPCRDMA_NEGO_FIRST,	/* version 2 is to be tried, nothing was sent */
	RPCRDMA_NEGO_WAITING,	/* the first message was sent */
	RPCRDMA_NEGO_HEARD,	/* the server speaks version 2, errors so far */
	RPCRDMA_NEGO_SETTLED,
};

/* Versions of a transport; times in ms of a clock that never goes back */
struct rpcrdma_nego {
	bool			v1_known;	/* outlives connections */
	u64			v1_since;
	enum rpcrdma_nego_state	state;		/* of this connection */
	u32			vers;		/* of the next Call */
	bool			option;		/* of the next, if it has chunks */
	u64			sent_at;	/* the first message */
	u64			patience;	/* for its answer */
};

void rpcrdma_nego_init(struct rpcrdma_nego *nego);
void rpcrdma_nego_begin(struct rpcrdma_nego *nego, u32 max, u64 now,
			u64 memory, u64 patience);
void rpcrdma_nego_sent(struct rpcrdma_nego *nego, u64 now);
bool rpcrdma_nego_expired(const struct rpcrdma_nego *nego, u64 now);
void rpcrdma_nego_heard(struct rpcrdma_nego *nego,
			const struct rpcrdma_hdr *hdr, u64 now);
bool rpcrdma_nego_resend(const struct rpcrdma_nego *nego,
			 const struct rpcrdma_hdr *hdr,
			 const struct rpcrdma_form *sent);
void rpcrdma_nego_lost(struct rpcrdma_nego *nego, u64 now);
void rpcrdma_nego_refused(struct rpcrdma_nego *nego);
void rpcrdma_nego_form(const struct rpcrdma_nego *nego,
		       struct rpcrdma_form *form);
void rpcrdma_nego_plain_form(const struct rpcrdma_nego *nego,
			     struct rpcrdma_form *form);
bool rpcrdma_nego_invalidates(const struct rpcrdma_nego *nego);
void rpcrdma_nego_thresholds(const struct rpcrdma_nego *nego,
			     struct rpcrdma_properties *prop,
			     const struct rpcrdma_properties *v1);

#endif /* XPRT_RDMA_NEGOTIATE_H */
