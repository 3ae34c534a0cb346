// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Send Queue: who may post, in which order, and when a slot is free again.
 * The only call of ib_post_send.
 *
 * Slots are counted as positions in a stream: @posted is where the stream
 * ends, @completed is how far completions are known to have come. A Send Queue
 * completes in order, so one signalled WR speaks for all before it (RDMA Reads of
 * iWARP, which complete later, leave the queue in order all the same). At most
 * @batch slots at the end of the stream are not covered by a signalled WR;
 * a chain of depth - batch slots therefore always gets its turn. It speaks to
 * the owners of lazy chains before it as well: a completion for each Send would
 * cost more than all else that is done for it here. All chains whose owner is to
 * be told are in one list, lazy or not, so that none is forgotten when a device
 * does not come back with them.
 *
 * A chain that finds no room waits in a list and is posted, in order, by the
 * completion that makes room. Nobody sleeps for it. When the connection goes
 * down, rpcrdma_sendq_sweep() hands every chain back to its owner.
 *
 * Its lock is taken in process context only, and leaves softirqs on: those that a post
 * raises shall not have to run before the next one posts.
 */

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

static void rpcrdma_marker_wc(struct ib_cq *cq, struct ib_wc *wc);

/* For the counters: what a WR is, by its opcode */
static const u8 rpcrdma_wr_kinds[U8_MAX + 1] = {
	[IB_WR_SEND]			= RPCRDMA_WR_SEND,
	[IB_WR_SEND_WITH_INV]		= RPCRDMA_WR_SEND_INV,
	[IB_WR_RDMA_READ]		= RPCRDMA_WR_READ,
	[IB_WR_RDMA_READ_WITH_INV]	= RPCRDMA_WR_READ,
	[IB_WR_RDMA_WRITE]		= RPCRDMA_WR_WRITE,
	[IB_WR_REG_MR]			= RPCRDMA_WR_REG_MR,
	[IB_WR_LOCAL_INV]		= RPCRDMA_WR_LOCAL_INV,
};

static void rpcrdma_count_wrs(struct rpcrdma_ep_counters *count,
			      const struct ib_send_wr *wr)
{
	do {
		count->wrs[rpcrdma_wr_kinds[(u8)wr->opcode]]++;
		wr = wr->next;
	} while (wr);
}

/* A WR that ends a batch of unsignalled ones gets a completion of the queue's own */
static noinline bool rpcrdma_marker_take(struct rpcrdma_sendq *sq,
					 struct rpcrdma_chain *chain)
{
	struct rpcrdma_send_marker *marker;
	int i;

	for (i = 0; i < RPCRDMA_SEND_MARKERS; i++) {
		marker = &sq->markers[i];
		if (marker->busy)
			continue;
		marker->busy = true;
		marker->seq = chain->seq;
		chain->last->wr_cqe = &marker->cqe;
		chain->last->send_flags |= IB_SEND_SIGNALED;
		return true;
	}
	/* Unreachable: a marker is taken at most every depth / 4 slots */
	WARN_ON_ONCE(1);
	return false;
}

/* @quiet: whoever wants to know learns it from a later completion */
static __always_inline void rpcrdma_chain_signal(struct rpcrdma_sendq *sq,
						 struct rpcrdma_chain *chain,
						 bool quiet)
{
	struct ib_send_wr *last = chain->last;

	if (!quiet) {
		last->wr_cqe = &chain->cqe;
		last->send_flags |= IB_SEND_SIGNALED;
		sq->unsignalled = 0;
		return;
	}
	last->send_flags &= ~IB_SEND_SIGNALED;
	sq->unsignalled += chain->slots;
	if (sq->unsignalled >= sq->batch && rpcrdma_marker_take(sq, chain))
		sq->unsignalled = 0;
}

static void rpcrdma_pending_add(struct rpcrdma_sendq *sq,
				struct rpcrdma_chain *chain)
{
	chain->next = NULL;
	*sq->pending_end = chain;
	sq->pending_end = &chain->next;
}

/*
 * Lazy chains up to @seq are complete with what completed there. One that has a
 * completion of its own waits for that: RDMA Reads of an iWARP device complete after
 * Sends that were posted behind them.
 *
 * @own: the chain that is complete, or NULL for a marker
 *
 * Return: those that are to be given back, linked.
 */
static struct rpcrdma_chain *rpcrdma_pending_take(struct rpcrdma_sendq *sq,
						  struct rpcrdma_chain *own,
						  u64 seq)
{
	struct rpcrdma_chain **at = &sq->pending, *chain;
	struct rpcrdma_chain *first = NULL, *last = NULL;

	for (chain = *at; chain && chain->seq <= seq; chain = *at) {
		if (unlikely(chain->signalled && chain != own)) {
			at = &chain->next;
			continue;
		}
		*at = chain->next;
		if (last)
			last->next = chain;
		else
			first = chain;
		last = chain;
	}
	if (likely(last))
		last->next = NULL;
	if (!chain)
		sq->pending_end = at;
	return first;
}

/*
 * What precedes @bad_wr was posted and may be in progress, so the chain stays the
 * queue's until the drain. The last WR never was posted: the sweep tells the owner.
 */
static noinline void rpcrdma_chain_break(struct rpcrdma_ep *ep,
					 struct rpcrdma_chain *chain, int rc)
{
	struct rpcrdma_sendq *sq = &ep->sendq;

	sq->open = false;
	chain->busy = true;
	/* It may have waited */
	list_move_tail(&chain->list, &sq->broken);
	rpcrdma_ep_fail_reason(ep, rc, "posting to the Send Queue failed");
}

/*
 * Called with sq->lock: the order of posts is the order of @seq.
 *
 * Return: whether the chain was posted; else it is broken.
 */
static __always_inline bool rpcrdma_chain_post(struct rpcrdma_ep *ep,
					       struct rpcrdma_chain *chain)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	const struct ib_send_wr **bad_wr = &sq->bad_wr;
	bool lazy = chain->lazy && sq->unsignalled < RPCRDMA_SEND_LAZY;
	bool pending = chain->done;
	int rc;

	sq->posted += chain->slots;
	WARN_ON_ONCE(sq->posted - sq->completed > sq->depth); /* I3 */
	chain->seq = sq->posted;
	chain->busy = pending;
	chain->signalled = pending && !lazy;
	rpcrdma_chain_signal(sq, chain, !chain->signalled);
	rpcrdma_count_wrs(&ep->count, chain->first);
	ep->count.doorbells++;
	trace_rpcrdma_post(ep, chain);

	/* Else ib_post_send() makes room on the stack, and guards it */
	if (!bad_wr)
		__builtin_unreachable();
	rc = ib_post_send(ep->qp, chain->first, bad_wr);
	/* One without a @done may be answered, and be built anew, by now */
	if (unlikely(rc)) {
		rpcrdma_chain_break(ep, chain, rc);
		return false;
	}
	if (pending)
		rpcrdma_pending_add(sq, chain);
	return true;
}

static bool rpcrdma_sendq_has_room(const struct rpcrdma_sendq *sq, u32 slots)
{
	return sq->posted - sq->completed + slots <= sq->depth;
}

/*
 * Called with sq->lock. A chain waits until it is posted, for rpcrdma_chain_waits():
 * whoever claims to answer it before could have it built anew meanwhile.
 */
static noinline void rpcrdma_sendq_serve(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	struct rpcrdma_chain *chain;

	while (sq->open) {
		chain = list_first_entry_or_null(&sq->waiting,
						 struct rpcrdma_chain, list);
		if (!chain || !rpcrdma_sendq_has_room(sq, chain->slots))
			return;
		if (rpcrdma_chain_post(ep, chain))
			list_del_init_careful(&chain->list);
	}
}

/* Called with sq->lock */
static void rpcrdma_sendq_complete(struct rpcrdma_ep *ep, u64 seq)
{
	struct rpcrdma_sendq *sq = &ep->sendq;

	if (seq > sq->completed)
		sq->completed = seq;
	if (unlikely(!list_empty(&sq->waiting)))
		rpcrdma_sendq_serve(ep);
}

/* The chain may be gone on return */
static void rpcrdma_chain_give_back(struct rpcrdma_chain *chain,
				    enum ib_wc_status status)
{
	WARN_ON_ONCE(!chain->busy); /* I4 */
	chain->busy = false;
	if (chain->done)
		chain->done(chain, status);
}

static void rpcrdma_pending_give_back(struct rpcrdma_chain *chain,
				      enum ib_wc_status status)
{
	struct rpcrdma_chain *next;

	for (; chain; chain = next) {
		next = chain->next;
		rpcrdma_chain_give_back(chain, status);
	}
}

/* @own, or @marker, is complete up to @seq */
static __always_inline void rpcrdma_send_ended(struct rpcrdma_ep *ep,
					       struct rpcrdma_chain *own,
					       struct rpcrdma_send_marker *marker,
					       u64 seq, enum ib_wc_status status)
{
	struct rpcrdma_chain *first;

	spin_lock(&ep->sendq.lock);
	if (marker)
		marker->busy = false;
	first = rpcrdma_pending_take(&ep->sendq, own, seq);
	rpcrdma_sendq_complete(ep, seq);
	spin_unlock(&ep->sendq.lock);
	rpcrdma_pending_give_back(first, status);
}

static noinline void rpcrdma_send_failed(struct rpcrdma_ep *ep,
					 struct rpcrdma_chain *own,
					 struct rpcrdma_send_marker *marker,
					 u64 seq, const struct ib_wc *wc)
{
	rpcrdma_ep_fail_wc(ep, wc);
	rpcrdma_send_ended(ep, own, marker, seq, wc->status);
}

/**
 * rpcrdma_chain_wc - a chain's last WR is complete
 * @cq: Send CQ
 * @wc: its completion
 *
 * Context: that of the Send CQ.
 */
void rpcrdma_chain_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_chain *chain =
		container_of(wc->wr_cqe, struct rpcrdma_chain, cqe);

	if (unlikely(wc->status != IB_WC_SUCCESS))
		rpcrdma_send_failed(chain->ep, chain, NULL, chain->seq, wc);
	else
		rpcrdma_send_ended(chain->ep, chain, NULL, chain->seq,
				   IB_WC_SUCCESS);
}

static void rpcrdma_marker_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_send_marker *marker =
		container_of(wc->wr_cqe, struct rpcrdma_send_marker, cqe);
	struct rpcrdma_ep *ep = wc->qp->qp_context;

	if (unlikely(wc->status != IB_WC_SUCCESS))
		rpcrdma_send_failed(ep, NULL, marker, marker->seq, wc);
	else
		rpcrdma_send_ended(ep, NULL, marker, marker->seq,
				   IB_WC_SUCCESS);
}

/**
 * rpcrdma_sendq_init - make the accounting fit the queue pair
 * @ep: endpoint whose sizes are planned
 *
 * Context: process, before the QP is used.
 */
void rpcrdma_sendq_init(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	int i;

	spin_lock_init(&sq->lock);
	INIT_LIST_HEAD(&sq->waiting);
	INIT_LIST_HEAD(&sq->broken);
	sq->pending_end = &sq->pending;
	/* One slot is the drain's */
	sq->depth = ep->sizes.sq_depth ? ep->sizes.sq_depth - 1 : 0;
	sq->batch = max_t(u32, sq->depth / 4, 1);
	sq->max_chain = sq->depth - sq->batch;
	for (i = 0; i < RPCRDMA_SEND_MARKERS; i++)
		sq->markers[i].cqe.done = rpcrdma_marker_wc;
}

/**
 * rpcrdma_sendq_open - chains may be posted from now on
 * @ep: endpoint whose QP is ready to send
 *
 * Context: process.
 */
void rpcrdma_sendq_open(struct rpcrdma_ep *ep)
{
	spin_lock(&ep->sendq.lock);
	/* CLOSING comes before rpcrdma_sendq_shut(): never open after it */
	if (READ_ONCE(ep->state) < RPCRDMA_EP_CLOSING)
		ep->sendq.open = true;
	spin_unlock(&ep->sendq.lock);
}

/**
 * rpcrdma_sendq_shut - no chain is posted any more
 * @ep: endpoint
 *
 * Context: process. On return no thread is within ib_post_send and none will
 * enter, so that the drain comes last.
 */
void rpcrdma_sendq_shut(struct rpcrdma_ep *ep)
{
	spin_lock(&ep->sendq.lock);
	ep->sendq.open = false;
	spin_unlock(&ep->sendq.lock);
}

/* Called with sq->lock. Return: where the first signalled chain ends, or 0 */
static u64 rpcrdma_sendq_oldest(const struct rpcrdma_sendq *sq)
{
	const struct rpcrdma_chain *chain;

	for (chain = sq->pending; chain; chain = chain->next)
		if (chain->signalled)
			return chain->seq;
	return 0;
}

/**
 * rpcrdma_sendq_drained - has every completion come that was asked for?
 * @ep: endpoint whose Send Queue is shut
 *
 * Of chains without a @done nobody knows.
 *
 * Context: process.
 *
 * Return: true if so.
 */
bool rpcrdma_sendq_drained(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	bool drained;

	spin_lock(&sq->lock);
	drained = !rpcrdma_sendq_oldest(sq);
	spin_unlock(&sq->lock);
	return drained;
}

/**
 * rpcrdma_sendq_still - for how long has something that was posted not been complete?
 * @ep: endpoint whose Send Queue was opened
 *
 * One caller, who looks at regular times. On iWARP a Send may be complete before an RDMA Read
 * in front of it.
 *
 * Context: process.
 *
 * Return: how many looks in a row a completion is due and has not come since the last.
 */
u32 rpcrdma_sendq_still(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	u64 oldest;
	bool due;

	spin_lock(&sq->lock);
	/* A signalled WR is out there, in front of those that tell nothing */
	due = sq->posted - sq->completed > sq->unsignalled;
	oldest = rpcrdma_sendq_oldest(sq);
	if ((due && sq->seen == sq->completed) || (oldest && sq->oldest == oldest))
		sq->still++;
	else
		sq->still = 0;
	sq->seen = sq->completed;
	sq->oldest = oldest;
	spin_unlock(&sq->lock);
	return sq->still;
}

/**
 * rpcrdma_sendq_sweep - give back every chain that no completion will
 * @ep: endpoint whose Send Queue is shut, and drained, or never heard of again
 *
 * Context: process. Calls chain->done with IB_WC_WR_FLUSH_ERR.
 */
void rpcrdma_sendq_sweep(struct rpcrdma_ep *ep)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	struct rpcrdma_chain *chain, *next, *pending;
	LIST_HEAD(sweep);

	spin_lock(&sq->lock);
	pending = sq->pending;
	sq->pending = NULL;
	sq->pending_end = &sq->pending;
	list_splice_init(&sq->broken, &sweep);
	list_splice_tail_init(&sq->waiting, &sweep);
	spin_unlock(&sq->lock);

	rpcrdma_pending_give_back(pending, IB_WC_WR_FLUSH_ERR);
	list_for_each_entry_safe(chain, next, &sweep, list) {
		list_del_init(&chain->list);
		rpcrdma_chain_give_back(chain, IB_WC_WR_FLUSH_ERR);
	}
}

/**
 * rpcrdma_chain_append - add WRs to the end of a chain
 * @ep: endpoint it will be posted to
 * @chain: chain
 * @first: WRs linked by their next pointers
 *
 * Gives every WR the endpoint's error cqe: ib_core drops a failed completion
 * that has none, and a bad rkey would show only as a flushed Send.
 *
 * Context: any. The WRs stay the caller's and must live until the chain is
 * given back.
 */
void rpcrdma_chain_append(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
			  struct ib_send_wr *first)
{
	struct ib_send_wr *wr = first;

	if (!first)
		return;
	if (chain->last)
		chain->last->next = first;
	else
		chain->first = first;
	for (;;) {
		wr->wr_cqe = &ep->error_cqe;
		chain->slots++;
		if (!wr->next)
			break;
		wr = wr->next;
	}
	chain->last = wr;
}

/* Called with sq->lock */
static noinline void rpcrdma_chain_wait(struct rpcrdma_ep *ep,
					struct rpcrdma_chain *chain)
{
	ep->count.sendq_waits++;
	if (ep->ops->queued)
		ep->ops->queued(ep);
	chain->busy = true;
	list_add_tail(&chain->list, &ep->sendq.waiting);
}

/**
 * rpcrdma_chain_still_waits - does a chain wait that seemed to?
 * @chain: chain that was in a list
 *
 * Context: process, but not within the Send Queue's lock: it may be about to be
 * posted, and its answer may be here before it has left the list.
 *
 * Return: as rpcrdma_chain_waits().
 */
bool rpcrdma_chain_still_waits(const struct rpcrdma_chain *chain)
{
	struct rpcrdma_sendq *sq = &chain->ep->sendq;
	bool waits;

	spin_lock(&sq->lock);
	waits = !list_empty(&chain->list);
	spin_unlock(&sq->lock);
	return waits;
}

/**
 * rpcrdma_sendq_post - post a chain with one doorbell, or queue it
 * @ep: endpoint
 * @chain: at least one WR
 *
 * Context: process; does not sleep. On success the chain belongs to the queue:
 * see struct rpcrdma_chain for when it is the owner's again. On error it was never
 * posted and stays the caller's.
 *
 * Return: 0; -ENOTCONN when the connection is not established or going down;
 * -EMSGSIZE when it is longer than rpcrdma_sendq_max_chain().
 */
int rpcrdma_sendq_post(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain)
{
	struct rpcrdma_sendq *sq = &ep->sendq;
	int rc = 0;

	if (unlikely(chain->slots > sq->max_chain))
		return -EMSGSIZE;
	chain->ep = ep;
	spin_lock(&sq->lock);
	if (unlikely(!sq->open))
		rc = -ENOTCONN;
	else if (likely(list_empty(&sq->waiting) &&
			rpcrdma_sendq_has_room(sq, chain->slots)))
		rpcrdma_chain_post(ep, chain);
	else
		rpcrdma_chain_wait(ep, chain);
	spin_unlock(&sq->lock);
	return rc;
}
