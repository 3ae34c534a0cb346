// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state of a connection, who may change it, and where every failure goes.
 * Calls no other file of this layer, so that all of them may call it.
 */

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

static struct workqueue_struct *rpcrdma_wq;

/**
 * rpcrdma_queue_work - run something on the workqueue of the teardowns
 * @work: work
 *
 * Context: any.
 */
void rpcrdma_queue_work(struct work_struct *work)
{
	queue_work(rpcrdma_wq, work);
}

static const char * const rpcrdma_state_names[] = {
	[RPCRDMA_EP_NEW]	= "new",
	[RPCRDMA_EP_RESOLVING]	= "resolving",
	[RPCRDMA_EP_CONNECTING]	= "connecting",
	[RPCRDMA_EP_LIVE]	= "live",
	[RPCRDMA_EP_CLOSING]	= "closing",
	[RPCRDMA_EP_DEAD]	= "dead",
};

/* Which states may follow each state */
static const u8 rpcrdma_state_next[] = {
	[RPCRDMA_EP_NEW]	= BIT(RPCRDMA_EP_RESOLVING) |
				  BIT(RPCRDMA_EP_CONNECTING) |
				  BIT(RPCRDMA_EP_CLOSING),
	[RPCRDMA_EP_RESOLVING]	= BIT(RPCRDMA_EP_CONNECTING) |
				  BIT(RPCRDMA_EP_CLOSING),
	[RPCRDMA_EP_CONNECTING]	= BIT(RPCRDMA_EP_LIVE) |
				  BIT(RPCRDMA_EP_CLOSING),
	[RPCRDMA_EP_LIVE]	= BIT(RPCRDMA_EP_CLOSING),
	[RPCRDMA_EP_CLOSING]	= BIT(RPCRDMA_EP_DEAD),
	[RPCRDMA_EP_DEAD]	= 0,
};

/**
 * rpcrdma_ep_state_name - a state in words
 * @state: state
 *
 * Context: any.
 *
 * Return: the word.
 */
const char *rpcrdma_ep_state_name(enum rpcrdma_ep_state state)
{
	return rpcrdma_state_names[state];
}

static bool __rpcrdma_ep_change_state(struct rpcrdma_ep *ep,
				      enum rpcrdma_ep_state next)
{
	if (!(rpcrdma_state_next[ep->state] & BIT(next)))
		return false;
	trace_rpcrdma_state(ep, next);
	WRITE_ONCE(ep->state, next);
	return true;
}

/**
 * rpcrdma_ep_change_state - go to another state, if that is allowed from here
 * @ep: endpoint
 * @next: state to go to
 *
 * Context: any, hard interrupts included.
 *
 * Return: true when the state was changed.
 */
bool rpcrdma_ep_change_state(struct rpcrdma_ep *ep, enum rpcrdma_ep_state next)
{
	unsigned long flags;
	bool changed;

	spin_lock_irqsave(&ep->lock, flags);
	changed = __rpcrdma_ep_change_state(ep, next);
	spin_unlock_irqrestore(&ep->lock, flags);
	return changed;
}

/**
 * rpcrdma_ep_fail_reason - end a connection and say why
 * @ep: endpoint
 * @err: negative errno, or 0 for an orderly close
 * @reason: literal for the log, or NULL to say nothing
 *
 * The first call wins; all others do nothing. The teardown is queued.
 *
 * Context: any, hard interrupts included. The caller holds a reference, or
 * knows of another reason why the endpoint is not DEAD.
 */
void rpcrdma_ep_fail_reason(struct rpcrdma_ep *ep, int err, const char *reason)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&ep->lock, flags);
	first = __rpcrdma_ep_change_state(ep, RPCRDMA_EP_CLOSING);
	if (first) {
		ep->error = err;
		ep->reason = reason;
		rpcrdma_queue_work(&ep->teardown);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	if (first)
		complete(&ep->cm_done);
}

/**
 * rpcrdma_ep_fail - end a connection without a word in the log
 * @ep: endpoint
 * @err: negative errno, or 0 for an orderly close
 *
 * Context: see rpcrdma_ep_fail_reason().
 */
void rpcrdma_ep_fail(struct rpcrdma_ep *ep, int err)
{
	rpcrdma_ep_fail_reason(ep, err, NULL);
}

/**
 * rpcrdma_ep_close - end a connection in an orderly way
 * @ep: endpoint
 *
 * Context: see rpcrdma_ep_fail_reason().
 */
void rpcrdma_ep_close(struct rpcrdma_ep *ep)
{
	rpcrdma_ep_fail(ep, 0);
}

/*
 * A flushed WR is a consequence, never a cause: that is reported by the WR that failed, by
 * the CM, or by a QP event. But rxe of 6.12 reports none when it finds no route, and the log
 * would have nothing. With iWARP a connection may end so when the peer closes it.
 */
static const char *rpcrdma_flush_reason(const struct rpcrdma_ep *ep)
{
	if (READ_ONCE(ep->state) != RPCRDMA_EP_LIVE ||
	    rdma_protocol_iwarp(ep->device, ep->id->port_num))
		return NULL;
	return "the device ended the queue pair";
}

/**
 * rpcrdma_ep_fail_wc - a WR ended in an error
 * @ep: endpoint
 * @wc: its completion, of which only wr_cqe, status, vendor_err and qp count
 *
 * Context: that of a CQ.
 */
void rpcrdma_ep_fail_wc(struct rpcrdma_ep *ep, const struct ib_wc *wc)
{
	rpcrdma_ep_fail_reason(ep, -ECONNRESET,
			       wc->status == IB_WC_WR_FLUSH_ERR ?
			       rpcrdma_flush_reason(ep) :
			       ib_wc_status_msg(wc->status));
}

/**
 * rpcrdma_state_init - the workqueue that tears down
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int rpcrdma_state_init(void)
{
	rpcrdma_wq = alloc_workqueue("rpcrdma", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return rpcrdma_wq ? 0 : -ENOMEM;
}

/**
 * rpcrdma_state_exit - undo rpcrdma_state_init()
 *
 * Context: module exit. Waits for the teardowns in progress.
 */
void rpcrdma_state_exit(void)
{
	destroy_workqueue(rpcrdma_wq);
}
