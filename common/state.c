// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * States of a connection, the funnel that every failure goes through, and the
 * failure log.
 * Calls no other file of this layer, so that all of them may call it.
 */

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

/* How long the same failure of the same host is not logged again */
#define RPCRDMA_SAME_FAILURE	(30 * HZ)

struct workqueue_struct *rpcrdma_wq;

const char *const rpcrdma_ep_state_names[] = {
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

static bool __rpcrdma_ep_change_state(struct rpcrdma_ep *ep,
				      enum rpcrdma_ep_state next)
{
	if (!(rpcrdma_state_next[ep->state] & BIT(next)))
		return false;
	trace_rpcrdma_state(ep, next);
	WRITE_ONCE(ep->state, next);
	return true;
}

/* Go to another state, if that is allowed from here. Context: any, hard IRQs included */
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
 * rpcrdma_ep_fail - end a connection and say why
 * @ep: endpoint
 * @err: negative errno, or 0 for an orderly close
 * @reason: literal for the log, or NULL to say nothing
 *
 * The first call wins; all others do nothing. The teardown is queued.
 *
 * Context: any, hard interrupts included. The caller holds a reference, or
 * knows of another reason why the endpoint is not DEAD.
 */
void rpcrdma_ep_fail(struct rpcrdma_ep *ep, int err, const char *reason)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&ep->lock, flags);
	first = __rpcrdma_ep_change_state(ep, RPCRDMA_EP_CLOSING);
	if (first) {
		ep->error = err;
		ep->reason = reason;
		queue_work(rpcrdma_wq, &ep->teardown);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	if (first)
		complete(&ep->cm_done);
}

/*
 * The queue pair is in the error state; @presumed is the cause if nothing else gives one.
 * The CM moves it there before it reports why a handshake failed: until that has ended
 * well nothing fails, and then rpcrdma_ep_established() looks.
 */
void rpcrdma_ep_qp_ended(struct rpcrdma_ep *ep, const char *presumed)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	WRITE_ONCE(ep->qp_ended, true);
	if (ep->state <= RPCRDMA_EP_LIVE && !ep->presumed)
		ep->presumed = presumed;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (rpcrdma_ep_live(ep))
		rpcrdma_ep_fail(ep, -ECONNRESET, NULL);
}

/*
 * A WR ended in an error: of @wc only wr_cqe, status, vendor_err and qp count.
 * @wr says for the log which one. Support of an adapter first asks for vendor_err.
 *
 * A flushed WR is a consequence, never a cause: that is reported by the WR that failed, by
 * the CM, or by a QP event. But rxe of 6.12 reports none when it finds no route, and the log
 * would have nothing. With iWARP a connection may end so when the peer closes it.
 */
void rpcrdma_ep_fail_wc(struct rpcrdma_ep *ep, const struct ib_wc *wc,
			const char *wr)
{
	trace_rpcrdma_wc_failed(ep, wc, wr);
	if (wc->status == IB_WC_REM_ACCESS_ERR)
		ep->bad_rkey = true;
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		rpcrdma_ep_qp_ended(ep, rdma_protocol_iwarp(ep->device, ep->id->port_num) ?
				    NULL : "device ended the queue pair");
		return;
	}
	if (!cmpxchg(&ep->failed_wr, NULL, wr)) {
		ep->failed_status = wc->status;
		ep->vendor_err = wc->vendor_err;
	}
	rpcrdma_ep_fail(ep, -ECONNRESET, ib_wc_status_msg(wc->status));
}

/* Under the lock: the state changes before the error is set */
int rpcrdma_ep_failure(struct rpcrdma_ep *ep)
{
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state >= RPCRDMA_EP_CLOSING)
		rc = ep->error ? : -ENOTCONN;
	spin_unlock_irqrestore(&ep->lock, flags);
	return rc;
}

/*
 * A mount makes several attempts, each with a transport of its own, and a client
 * that fails retries from another port: log the same failure of the same host
 * once in 30 s, and of one transport not twice in a row.
 */
static bool rpcrdma_ep_should_log(const struct rpcrdma_ep *ep)
{
	static DEFINE_SPINLOCK(lock);
	static char host[RPCRDMA_ADDRSTRLEN];
	static const char *reason;
	static int error;
	static unsigned long when;
	const char *port = strrchr(ep->peer_name, ':');
	size_t len = port ? port - ep->peer_name : strlen(ep->peer_name);
	bool same;

	if (ep->error == ep->attr.last_error &&
	    ep->reason == ep->attr.last_reason)
		return false;
	spin_lock(&lock);
	same = error == ep->error && reason == ep->reason &&
	       strlen(host) == len && !memcmp(host, ep->peer_name, len) &&
	       time_before(jiffies, when + RPCRDMA_SAME_FAILURE);
	/* A failure that is not logged does not count: one that lasts is repeated */
	if (!same) {
		strscpy(host, ep->peer_name, len + 1);
		reason = ep->reason;
		error = ep->error;
		when = jiffies;
	}
	spin_unlock(&lock);
	return !same;
}

/*
 * The completion that tells why a connection was reset may be polled after others,
 * and after the CM's event. Without a reason, call this when all have been.
 */
void rpcrdma_ep_log_failure(struct rpcrdma_ep *ep)
{
	char wr[48] = "";

	if (!ep->reason && ep->error == -ECONNRESET)
		ep->reason = ep->failed_wr ? ib_wc_status_msg(ep->failed_status) :
					     ep->presumed;
	if (!ep->reason)
		return;
	if (ep->failed_wr)
		snprintf(wr, sizeof(wr), ", %s, vendor error 0x%x",
			 ep->failed_wr, ep->vendor_err);
	if (ep->created)
		rpcrdma_ep_warn(ep, "connection lost: %s (%d)%s", ep->reason,
				ep->error, wr);
	else if (rpcrdma_ep_should_log(ep))
		rpcrdma_ep_warn(ep, "connection failed: %s (%d)%s", ep->reason,
				ep->error, wr);
}
