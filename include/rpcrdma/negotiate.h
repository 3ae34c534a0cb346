/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which version of the protocol a connection speaks, as a state machine of the
 * Requester's, and what that means for its inline thresholds
 * (draft-cel-nfsv4-rpcrdma-version-two-00, sections 2.3 and 5). Pure: time is a
 * parameter, in milliseconds of a clock that never goes back.
 */
#ifndef RPCRDMA_NEGOTIATE_H
#define RPCRDMA_NEGOTIATE_H

#include "wire.h"

/* Most octets of a first message, which every receiver takes */
#define RPCRDMA_FIRST_MAX	RPCRDMA_INLINE_MIN

/**
 * enum rpcrdma_nego_state - how far the negotiation of a connection is
 * @RPCRDMA_NEGO_FIRST: version two is to be tried, nothing was sent
 * @RPCRDMA_NEGO_WAITING: the first message was sent, nothing was heard
 * @RPCRDMA_NEGO_HEARD: the server speaks version two, and has sent errors only
 * @RPCRDMA_NEGO_SETTLED: done
 */
enum rpcrdma_nego_state {
	RPCRDMA_NEGO_FIRST,
	RPCRDMA_NEGO_WAITING,
	RPCRDMA_NEGO_HEARD,
	RPCRDMA_NEGO_SETTLED,
};

/**
 * struct rpcrdma_nego - negotiation of a transport's versions
 * @v1_known: the server is taken as one of version one; outlives connections
 * @v1_since: when that was found
 * @state: of this connection
 * @vers: version of the next Call
 * @option: the next Call goes by the option of remote invalidation, if it has chunks
 * @sent_at: when the first message was sent
 * @patience: for how long its answer is waited for
 */
struct rpcrdma_nego {
	bool			v1_known;
	u64			v1_since;
	enum rpcrdma_nego_state	state;
	u32			vers;
	bool			option;
	u64			sent_at;
	u64			patience;
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

#endif /* RPCRDMA_NEGOTIATE_H */
