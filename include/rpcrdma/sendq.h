/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Send Queue of an endpoint: chains of WRs, the accounting of slots, and how chains
 * are posted. What looks into the endpoint is in endpoint.h.
 */
#ifndef RPCRDMA_SENDQ_H
#define RPCRDMA_SENDQ_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "send_slots.h"

struct rpcrdma_ep;

/**
 * struct rpcrdma_chain - WRs that are posted with one doorbell
 * @cqe: of the last WR when it is signalled
 * @list: in the Send Queue's wait list
 * @posted: among the posted chains that have a @done
 * @ep: set when posted
 * @first: first WR
 * @last: last WR
 * @slots: Send Queue slots, that is, number of WRs
 * @busy: with the Send Queue: it has a @done that was not called, or waits
 * @unsignalled_ok: @done may come late, with that of another chain posted after
 *	this one, or in the teardown, and with the status of that one. For a chain
 *	that owns only a header buffer that stays mapped, if no answer of the peer
 *	tells when it is free.
 * @signalled: has a completion of its own; private to sendq.c
 * @seq: where it ends in the Send Queue; private to sendq.c
 * @done: called exactly once for each successful rpcrdma_sendq_post() of a
 *	chain with a @done, with no lock held, in the context of the Send CQ
 *	or in that of the teardown; the chain is the owner's again. Its memory
 *	must not be freed before rpcrdma_ep_ops.dead by a Responder, or before
 *	rpcrdma_ep_ops.release by a Requester.
 *	NULL: the chain owns only header buffers that stay mapped. Its memory may be
 *	reused, not freed, once the peer's answer shows that it was received and
 *	rpcrdma_chain_waits() says no, or in rpcrdma_ep_ops.release.
 */
struct rpcrdma_chain {
	struct ib_cqe cqe;
	struct list_head list;
	struct list_head posted;
	struct rpcrdma_ep *ep;
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 slots;
	bool busy;
	bool unsignalled_ok;
	bool signalled;
	u64 seq;
	void (*done)(struct rpcrdma_chain *chain, enum ib_wc_status status);
};

/**
 * struct rpcrdma_sendq - the Send Queue of an endpoint
 * @lock: protects all of it and keeps the order of posts
 * @open: chains may be posted
 * @slots: accounting
 * @cqe: completion of a WR that is signalled for the queue's own sake
 * @waiting: chains that do not fit, in order; and one that could not be posted
 * @posted: posted chains with a @done, in order
 */
struct rpcrdma_sendq {
	spinlock_t lock;
	bool open;
	struct rpcrdma_send_slots slots;
	struct ib_cqe cqe;
	struct list_head waiting;
	struct list_head posted;
};

/* sendq.c */
void rpcrdma_sendq_init(struct rpcrdma_sendq *sq);
void rpcrdma_sendq_start(struct rpcrdma_ep *ep);
void rpcrdma_sendq_stop(struct rpcrdma_ep *ep);
bool rpcrdma_sendq_drained(struct rpcrdma_ep *ep);
void rpcrdma_sendq_flush(struct rpcrdma_ep *ep);
void rpcrdma_chain_wc(struct ib_cq *cq, struct ib_wc *wc);
void rpcrdma_chain_append(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
			  struct ib_send_wr *first);
int rpcrdma_sendq_post(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
		       bool alone);
bool rpcrdma_chain_still_waits(const struct rpcrdma_chain *chain);
void rpcrdma_stall_init(void);
void rpcrdma_stall_exit(void);

/**
 * rpcrdma_chain_waits - was a chain given to the Send Queue and not posted yet?
 * @chain: chain that was given to it
 *
 * Context: process, but not within the Send Queue's lock. The peer cannot answer one
 * that waits.
 *
 * Return: true if so, or if only a part of it was posted.
 */
static inline bool rpcrdma_chain_waits(const struct rpcrdma_chain *chain)
{
	/* Pairs with rpcrdma_sendq_serve() */
	if (likely(list_empty_careful(&chain->list)))
		return false;
	return rpcrdma_chain_still_waits(chain);
}

#endif /* RPCRDMA_SENDQ_H */
