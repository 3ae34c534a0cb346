// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Send Queue: the order of posts, and when a slot is free again.
 * The only call of ib_post_send.
 *
 * send_slots.c counts the slots and decides which WRs are signalled: a
 * completion for each Send would cost more than all else that is done for it
 * here. One that comes also completes the chains before it whose owners agreed
 * to wait (unsignalled_ok). All posted chains with a @done are in one list, so
 * that none is forgotten when a device does not flush.
 *
 * A chain that does not fit waits in a list. The completion that frees its slots
 * posts it, in order; no task sleeps for it. One that is longer than the queue is
 * posted in parts. When the connection ends,
 * rpcrdma_sendq_flush() returns every chain to its owner.
 *
 * The lock is taken in process context only, and leaves softirqs on: a softirq
 * that a post raises need not run before the next one posts.
 */

#include <linux/bottom_half.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

/* Seconds between two checks for a stall, or for an idle connection */
#define RPCRDMA_STALL_INTERVAL	15

/* Connections that were crowded between the last two checks */
u32 rpcrdma_crowded;

/* For the counters */
static const u8 rpcrdma_wr_kinds[U8_MAX + 1] = {
	[IB_WR_SEND]			= RPCRDMA_WR_SEND,
	[IB_WR_SEND_WITH_INV]		= RPCRDMA_WR_SEND_INV,
	[IB_WR_RDMA_READ]		= RPCRDMA_WR_READ,
	[IB_WR_RDMA_READ_WITH_INV]	= RPCRDMA_WR_READ,
	[IB_WR_RDMA_WRITE]		= RPCRDMA_WR_WRITE,
	[IB_WR_REG_MR]			= RPCRDMA_WR_REG_MR,
	[IB_WR_LOCAL_INV]		= RPCRDMA_WR_LOCAL_INV,
};

/*
 * Post the first @nr WRs of a chain, for which there are slots; the others become the
 * chain. Called with sq->lock: chains are posted in the order of @seq. False: it failed
 */
static bool rpcrdma_chain_post(struct rpcrdma_ep *ep,
			       struct rpcrdma_chain *chain, u32 nr)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	const struct ib_send_wr *first = chain->first, *bad_wr;
	struct ib_send_wr *last = chain->first;
	enum rpcrdma_signal signal;
	bool told;
	int rc;
	u32 i;

	for (i = 0; i < nr; i++) {
		last = chain->first;
		ep->count.wrs[rpcrdma_wr_kinds[(u8)last->opcode]]++;
		chain->first = last->next;
	}
	last->next = NULL;
	chain->slots -= nr;
	told = chain->done && !chain->slots;
	signal = rpcrdma_slots_post(&sq->slots, nr,
				    !told ? RPCRDMA_NOTIFY_NEVER :
				    chain->unsignalled_ok ? RPCRDMA_NOTIFY_LATER :
				    RPCRDMA_NOTIFY_NOW);
	WARN_ON_ONCE(!rpcrdma_slots_fit(&sq->slots, 0)); /* I3 */
	chain->seq = sq->slots.posted;
	chain->busy = told || chain->slots;
	chain->signalled = signal == RPCRDMA_SIGNAL_CHAIN;
	if (signal != RPCRDMA_SIGNAL_NONE) {
		last->wr_cqe = chain->signalled ? &chain->cqe : &sq->cqe;
		last->send_flags |= IB_SEND_SIGNALED;
	}
	ep->count.doorbells++;
	trace_rpcrdma_post(ep, chain, last, nr);

	rc = ib_post_send(ep->qp, first, &bad_wr);
	if (unlikely(rc)) {
		/*
		 * WRs before bad_wr were posted and may be in progress, so the
		 * chain stays here until rpcrdma_sendq_flush().
		 */
		sq->open = false;
		chain->busy = true;
		list_move_tail(&chain->list, &sq->waiting);
		rpcrdma_ep_fail(ep, rc, "posting to the Send Queue failed");
		return false;
	}
	/* Without a @done it may be answered, and be built anew, by now */
	if (told)
		list_add_tail(&chain->posted, &sq->posted);
	return true;
}

/*
 * Called with sq->lock. A chain stays in the list until it is posted, for
 * rpcrdma_chain_waits(): a peer that claims to have answered it before would have
 * it built anew in the meantime.
 */
static void rpcrdma_sendq_serve(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	struct rpcrdma_chain *chain;
	u32 nr;

	while (sq->open && !list_empty(&sq->waiting)) {
		chain = list_first_entry(&sq->waiting, struct rpcrdma_chain,
					 list);
		nr = rpcrdma_slots_part(&sq->slots, chain->slots);
		if (!rpcrdma_slots_fit(&sq->slots, nr))
			return;
		if (rpcrdma_chain_post(ep, chain, nr) && !chain->slots)
			list_del_init_careful(&chain->list);
	}
}

/* The chain may be gone on return */
static void rpcrdma_chain_done(struct rpcrdma_chain *chain,
			       enum ib_wc_status status)
{
	WARN_ON_ONCE(!chain->busy); /* I4 */
	chain->busy = false;
	if (chain->done)
		chain->done(chain, status);
}

static void rpcrdma_chains_done(struct list_head *posted,
				enum ib_wc_status status)
{
	struct rpcrdma_chain *chain, *next;

	list_for_each_entry_safe(chain, next, posted, posted)
		rpcrdma_chain_done(chain, status);
}

/*
 * A chain that has a completion of its own waits for it: RDMA Reads of an iWARP
 * device complete after Sends that were posted behind them.
 *
 * @own: the chain that is complete, NULL for the queue's own completion
 */
static void rpcrdma_send_complete(struct rpcrdma_ep *ep,
				  struct rpcrdma_chain *own,
				  const struct ib_wc *wc)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	struct rpcrdma_chain *chain, *next;
	LIST_HEAD(complete);
	u64 seq;

	if (unlikely(wc->status != IB_WC_SUCCESS))
		rpcrdma_ep_fail_wc(ep, wc, "signalled WR");
	spin_lock(&sq->lock);
	seq = own ? own->seq : rpcrdma_slots_mark(&sq->slots);
	list_for_each_entry_safe(chain, next, &sq->posted, posted) {
		if (chain->seq > seq)
			break;
		if (!chain->signalled || chain == own)
			list_move_tail(&chain->posted, &complete);
	}
	rpcrdma_slots_complete(&sq->slots, seq);
	if (unlikely(!list_empty(&sq->waiting)))
		rpcrdma_sendq_serve(ep);
	spin_unlock(&sq->lock);
	rpcrdma_chains_done(&complete, wc->status);
}

/* Of the last WR of a signalled chain */
static void rpcrdma_chain_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_chain *chain =
		container_of(wc->wr_cqe, struct rpcrdma_chain, cqe);

	rpcrdma_send_complete(chain->ep, chain, wc);
}

static void rpcrdma_sendq_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	rpcrdma_send_complete(cq->cq_context, NULL, wc);
}

void rpcrdma_sendq_init(struct rpcrdma_sendq *sq)
{
	spin_lock_init(&sq->lock);
	INIT_LIST_HEAD(&sq->waiting);
	INIT_LIST_HEAD(&sq->posted);
	sq->cqe.done = rpcrdma_sendq_wc;
}

/*
 * The QP is ready to send, or must not be used any more. Then, on return, no thread is
 * within ib_post_send and none will enter, so that the drain comes last. Context: process
 */
void rpcrdma_sendq_open(struct rpcrdma_ep *ep, bool open)
{
	spin_lock(&ep->sendq.lock);
	/* CLOSING comes before it is closed: never open after it */
	ep->sendq.open = open && READ_ONCE(ep->state) < RPCRDMA_EP_CLOSING;
	spin_unlock(&ep->sendq.lock);
}

/* Called with sq->lock. Where the oldest signalled chain ends, 0 if there is none */
static u64 rpcrdma_sendq_oldest(const struct rpcrdma_sendq *sq)
{
	const struct rpcrdma_chain *chain;

	list_for_each_entry(chain, &sq->posted, posted)
		if (chain->signalled)
			return chain->seq;
	return 0;
}

/* Have all signalled chains completed? Context: process */
bool rpcrdma_sendq_drained(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	bool drained;

	spin_lock(&sq->lock);
	drained = !rpcrdma_sendq_oldest(sq);
	spin_unlock(&sq->lock);
	return drained;
}

/*
 * Return every chain for which no completion will come, with IB_WC_WR_FLUSH_ERR.
 * Context: process, may sleep; the queue is stopped, and drained or abandoned.
 */
void rpcrdma_sendq_flush(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	struct rpcrdma_chain *chain, *next;
	LIST_HEAD(waiting);
	LIST_HEAD(posted);

	spin_lock(&sq->lock);
	list_splice_init(&sq->posted, &posted);
	list_splice_init(&sq->waiting, &waiting);
	spin_unlock(&sq->lock);
	/* A late completion finds its chain in no list, but a handler may have one by now */
	if (ep->send_cq)
		flush_work(&ep->send_cq->work);

	rpcrdma_chains_done(&posted, IB_WC_WR_FLUSH_ERR);
	list_for_each_entry_safe(chain, next, &waiting, list) {
		list_del_init(&chain->list);
		rpcrdma_chain_done(chain, IB_WC_WR_FLUSH_ERR);
	}
}

/**
 * rpcrdma_chain_init - start an empty chain
 * @chain: zeroes, or a chain that the Send Queue does not have
 * @done: see struct rpcrdma_chain
 */
void rpcrdma_chain_init(struct rpcrdma_chain *chain,
			void (*done)(struct rpcrdma_chain *chain,
				     enum ib_wc_status status))
{
	WARN_ON_ONCE(chain->busy); /* I4 */
	chain->cqe.done = rpcrdma_chain_wc;
	INIT_LIST_HEAD(&chain->list);
	chain->first = NULL;
	chain->last = NULL;
	chain->slots = 0;
	chain->unsignalled_ok = false;
	chain->done = done;
}

/**
 * rpcrdma_chain_append - add WRs to the end of a chain
 * @ep: endpoint it will be posted to
 * @chain: chain
 * @first: WRs linked by their next pointers, or NULL
 *
 * Gives every WR the endpoint's error cqe: ib_core drops a failed completion
 * that has none, and a bad rkey would show only as a flushed Send. The WRs stay
 * the caller's and must live until the chain is returned.
 */
void rpcrdma_chain_append(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
			  struct ib_send_wr *first)
{
	struct ib_send_wr *wr;

	if (chain->last)
		chain->last->next = first;
	else
		chain->first = first;
	for (wr = first; wr; wr = wr->next) {
		wr->wr_cqe = &ep->error_cqe;
		wr->send_flags &= ~IB_SEND_SIGNALED;
		chain->slots++;
		chain->last = wr;
	}
}

/**
 * rpcrdma_chain_waits - was a chain given to the Send Queue and not posted yet?
 * @chain: chain that was given to it
 *
 * The peer cannot answer a chain that waits. Context: process, but not within
 * the Send Queue's lock.
 *
 * Return: true also if only a part of it was posted.
 */
bool rpcrdma_chain_waits(const struct rpcrdma_chain *chain)
{
	struct rpcrdma_sendq *sq;
	bool waits;

	/* Pairs with rpcrdma_sendq_serve() */
	if (likely(list_empty_careful(&chain->list)))
		return false;
	/* It may be about to be posted, and to be answered before it leaves the list */
	sq = &chain->ep->sendq;
	spin_lock(&sq->lock);
	waits = !list_empty(&chain->list);
	spin_unlock(&sq->lock);
	return waits;
}

/**
 * rpcrdma_sendq_post - post a chain, with one doorbell if it fits, or queue it
 * @ep: endpoint
 * @chain: at least one WR
 * @alone: no other message is expected soon
 *
 * On success the chain belongs to the queue: struct rpcrdma_chain says until when.
 * On error it was never posted and stays the caller's.
 *
 * A device made of software may send in a softirq. If @alone, the softirq runs
 * here, as soon as softirqs are on again. Otherwise a thread is woken for it: one
 * switch more, but it sends for all that is posted before it runs, and its completions
 * come together as well. An adapter does not care.
 *
 * Context: process; does not sleep.
 * Return: 0; -ENOTCONN before the connection is established and when it ends.
 */
int rpcrdma_sendq_post(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
		       bool alone)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	int rc = 0;

	if (alone)
		local_bh_disable();
	spin_lock(&sq->lock);
	chain->ep = ep;
	if (!sq->open) {
		rc = -ENOTCONN;
	} else if (list_empty(&sq->waiting) &&
		   rpcrdma_slots_fit(&sq->slots, chain->slots)) {
		rpcrdma_chain_post(ep, chain, chain->slots);
	} else {
		trace_rpcrdma_sendq_wait(ep, 0, chain->slots);
		ep->count.sendq_waits++;
		if (ep->attr.ops->queued)
			ep->attr.ops->queued(ep);
		chain->busy = true;
		list_add_tail(&chain->list, &sq->waiting);
		/* It may be longer than the queue, which may be empty */
		rpcrdma_sendq_serve(ep);
	}
	spin_unlock(&sq->lock);
	if (alone)
		local_bh_enable();
	return rc;
}

/**
 * rpcrdma_sendq_completed - how far is the Send Queue known to be complete?
 * @ep: endpoint
 *
 * The device does not read the memory of a chain again whose @seq is no greater. The
 * next message is signalled, so that a later call knows of all that were posted before.
 *
 * Context: process; does not sleep.
 * Return: a position, never less than the last time.
 */
u64 rpcrdma_sendq_completed(struct rpcrdma_ep *ep)
{
	u64 seq;

	spin_lock(&ep->sendq.lock);
	seq = rpcrdma_slots_ask(&ep->sendq.slots);
	spin_unlock(&ep->sendq.lock);
	return seq;
}

static void rpcrdma_probe_done(struct rpcrdma_chain *chain,
			       enum ib_wc_status status)
{
	struct rpcrdma_sendq *sq = &chain->ep->sendq;

	spin_lock(&sq->lock);
	sq->probing = false;
	spin_unlock(&sq->lock);
}

/*
 * Let the device find out whether the peer is there, and has the Replies that were not
 * signalled, whose memory is then free. An RDMA Write of no bytes needs
 * no memory and no Receive of the peer, which does not see it (InfiniBand, C9-88;
 * RFC 5040, section 5.2). The connection fails if it is not acknowledged.
 *
 * Context: process.
 */
static void rpcrdma_sendq_probe(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	bool probing;

	spin_lock(&sq->lock);
	probing = sq->probing;
	sq->probing = true;
	spin_unlock(&sq->lock);
	if (probing)
		return;
	sq->probe_wr.wr.opcode = IB_WR_RDMA_WRITE;
	rpcrdma_chain_init(&sq->probe, rpcrdma_probe_done);
	rpcrdma_chain_append(ep, &sq->probe, &sq->probe_wr.wr);
	if (rpcrdma_sendq_post(ep, &sq->probe, false))
		rpcrdma_probe_done(&sq->probe, IB_WC_WR_FLUSH_ERR);
}

/*
 * The CM lets a client choose how often the server's device retries: with an RNR
 * retry count of 7 for ever, and the server would keep its Replies for as long.
 * A server sends before it is LIVE, and the peer may never let it be LIVE.
 *
 * nfsd keeps the connection of a client that has state for as long as the state, and
 * a client that lost its power ends neither.
 *
 * @crowded: connections that were crowded since the last check
 */
static void rpcrdma_sendq_check(struct rpcrdma_ep *ep, void *crowded)
{
	u32 keepalive = ep->attr.keepalive ? READ_ONCE(*ep->attr.keepalive) : 0;
	struct rpcrdma_sendq *sq = &ep->sendq;
	bool stalled, probe;

	*(u32 *)crowded += READ_ONCE(ep->crowded);
	WRITE_ONCE(ep->crowded, false);
	spin_lock(&sq->lock);
	stalled = sq->open &&
		  rpcrdma_slots_stalled(&sq->slots, rpcrdma_sendq_oldest(sq));
	probe = rpcrdma_slots_probe(&sq->slots, ep->count.recvs,
				    DIV_ROUND_UP(keepalive, RPCRDMA_STALL_INTERVAL));
	spin_unlock(&sq->lock);
	if (stalled)
		rpcrdma_ep_fail(ep, -ETIMEDOUT,
				"send queue stalled: peer not acknowledging");
	else if (ep->attr.keepalive && probe)
		rpcrdma_sendq_probe(ep);
}

static void rpcrdma_sendqs_check(struct work_struct *work)
{
	u32 crowded = 0;

	rpcrdma_ep_walk(rpcrdma_sendq_check, &crowded);
	WRITE_ONCE(rpcrdma_crowded, crowded);
	rpcrdma_stall_start();
}

DECLARE_DELAYED_WORK(rpcrdma_stall_work, rpcrdma_sendqs_check);

void rpcrdma_stall_start(void)
{
	queue_delayed_work(system_power_efficient_wq, &rpcrdma_stall_work,
			   round_jiffies_relative(RPCRDMA_STALL_INTERVAL * HZ));
}
