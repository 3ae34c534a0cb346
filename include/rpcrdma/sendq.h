/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Send Queue of an endpoint: chains of WRs, the accounting of slots, and how chains
 * are posted. What looks into the endpoint is in endpoint.h.
 */
#ifndef RPCRDMA_SENDQ_H
#define RPCRDMA_SENDQ_H

#include <linux/bottom_half.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rpcrdma_ep;

/**
 * struct rpcrdma_chain - WRs that are posted with one doorbell
 * @cqe: of the last WR when it is signalled
 * @list: in the Send Queue's wait list
 * @next: among those that are posted and have a @done; private to sendq.c
 * @ep: set when posted
 * @first: first WR
 * @last: last WR
 * @slots: Send Queue slots, that is, number of WRs
 * @busy: with the Send Queue: it has a @done that was not called, or waits
 * @lazy: @done may come late, with that of another chain posted after this one, or in
 *	the teardown, and with the status of what told of it. For what owns nothing
 *	but a header buffer that stays mapped, where no answer of the peer tells
 *	when it is free.
 * @signalled: has a completion of its own; private to sendq.c
 * @seq: where it ends in the Send Queue; private to sendq.c
 * @done: called exactly once for each successful rpcrdma_sendq_post() of a
 *	chain with a @done, with no lock held, in the context of the Send CQ
 *	or in that of the teardown; the chain is the owner's again.
 *	NULL: the chain owns nothing but header buffers that stay mapped. It is
 *	not signalled (one in a batch is, by the queue's own cqe), nobody is
 *	told, and its memory may be reused, not freed, once the peer's answer shows that
 *	it was received and rpcrdma_chain_waits() says no, or in
 *	rpcrdma_ep_ops.release.
 */
struct rpcrdma_chain {
	struct ib_cqe cqe;
	struct list_head list;
	struct rpcrdma_chain *next;
	struct rpcrdma_ep *ep;
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 slots;
	bool busy;
	bool lazy;
	bool signalled;
	u64 seq;
	void (*done)(struct rpcrdma_chain *chain, enum ib_wc_status status);
};

#define RPCRDMA_SEND_MARKERS	8

/* Lazy chains in a row: what their owners keep for them is so much more */
#define RPCRDMA_SEND_LAZY	3

/**
 * struct rpcrdma_send_marker - a signalled WR in a batch that is not
 * @cqe: its completion entry
 * @seq: the batch ends here
 * @busy: posted
 */
struct rpcrdma_send_marker {
	struct ib_cqe cqe;
	u64 seq;
	bool busy;
};

/**
 * struct rpcrdma_sendq - accounting of the Send Queue
 * @lock: protects all of it and keeps the order of posts
 * @open: chains may be posted
 * @depth: slots, without the one kept for the drain
 * @batch: most slots left unsignalled
 * @max_chain: most slots of a chain that is sure to get its turn
 * @posted: slots ever posted
 * @completed: slots known to be complete
 * @unsignalled: slots posted since the last signalled WR
 * @seen: of @completed, when rpcrdma_sendq_still() looked
 * @still: how often in a row it was the same there, or @oldest was
 * @waiting: chains that found no slots, in order
 * @broken: chains whose last WR was not posted: no completion will come
 * @pending: posted chains whose owners are to be told, in order, the first of them
 * @pending_end: where the next of them goes
 * @bad_wr: where ib_post_send() says which it was, which nobody asks: here, as each
 *	post would pay for a variable on the stack
 * @markers: for batches
 * @oldest: of the first signalled chain in @pending, where it ends: when
 *	rpcrdma_sendq_still() looked; 0: there was none
 */
struct rpcrdma_sendq {
	spinlock_t lock;
	bool open;
	u32 depth;
	u32 batch;
	u32 max_chain;
	u64 posted;
	u64 completed;
	u32 unsignalled;
	u32 still;
	u64 seen;
	struct list_head waiting;
	struct list_head broken;
	struct rpcrdma_chain *pending;
	struct rpcrdma_chain **pending_end;
	const struct ib_send_wr *bad_wr;
	struct rpcrdma_send_marker markers[RPCRDMA_SEND_MARKERS];
	u64 oldest;
};

/* sendq.c */
void rpcrdma_sendq_init(struct rpcrdma_ep *ep);
void rpcrdma_sendq_open(struct rpcrdma_ep *ep);
void rpcrdma_sendq_shut(struct rpcrdma_ep *ep);
bool rpcrdma_sendq_drained(struct rpcrdma_ep *ep);
void rpcrdma_sendq_sweep(struct rpcrdma_ep *ep);
u32 rpcrdma_sendq_still(struct rpcrdma_ep *ep);
void rpcrdma_chain_wc(struct ib_cq *cq, struct ib_wc *wc);
void rpcrdma_chain_append(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
			  struct ib_send_wr *first);
int rpcrdma_sendq_post(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain);

/**
 * rpcrdma_sendq_post_lone - post a chain, and have it sent at once if it is alone
 * @ep: endpoint
 * @chain: at least one WR
 * @lone: whether no other message is to be expected soon
 *
 * A device made of software may send in a softirq. One that is raised where softirqs
 * are off runs as soon as they are on again, here; else a thread is woken for it. That
 * is one switch more, but where others post before it runs it sends for all of them,
 * and its device's completions come together as well. An adapter does not care.
 *
 * Context: process; does not sleep. Otherwise as rpcrdma_sendq_post().
 *
 * Return: as rpcrdma_sendq_post().
 */
static inline int rpcrdma_sendq_post_lone(struct rpcrdma_ep *ep,
					  struct rpcrdma_chain *chain,
					  bool lone)
{
	int rc;

	if (lone)
		local_bh_disable();
	rc = rpcrdma_sendq_post(ep, chain);
	if (lone)
		local_bh_enable();
	return rc;
}

bool rpcrdma_chain_still_waits(const struct rpcrdma_chain *chain);

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
