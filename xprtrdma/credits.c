// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Credits: how many Calls may be on the wire (RFC 8166, section 3.3.1). They
 * are sunrpc's congestion window, which counts the RPCs that hold one.
 */
#include "xprt_rdma.h"

/* Called with transport_lock. Returns false when there is no credit left */
static bool xprt_rdma_credits_apply(struct xprt_rdma *rx)
{
	u32 left = 0;

	if (rx->granted > rx->abandoned)
		left = rx->granted - rx->abandoned;
	rx->xprt.cwnd = (unsigned long)left << RPC_CWNDSHIFT;
	return left;
}

/*
 * The server granted @credits. If aborted RPCs hold them all, the connection
 * ends: a new one has them all back.
 */
void xprt_rdma_credits_update(struct xprt_rdma *rx, u32 credits)
{
	bool left;

	if (likely(credits == READ_ONCE(rx->granted)))
		return;
	spin_lock(&rx->xprt.transport_lock);
	rx->granted = credits;
	left = xprt_rdma_credits_apply(rx);
	spin_unlock(&rx->xprt.transport_lock);
	if (!left)
		xprt_force_disconnect(&rx->xprt);
	else
		rpcrdma_rpc_wake_sender(&rx->xprt);
}

/*
 * @by more aborted RPCs keep a credit until they are answered. Called with the
 * transport_lock.
 *
 * Return: false if too few credits are left to go on with the connection, or
 * none: RFC 8166, 3.3.1, allows no other Call. The caller then ends it.
 */
bool xprt_rdma_credits_abandon(struct xprt_rdma *rx, int by)
{
	lockdep_assert_held(&rx->xprt.transport_lock);
	rx->abandoned += by;
	return xprt_rdma_credits_apply(rx) &&
	       rx->abandoned < min(rx->granted, rx->xprt.max_reqs / 2);
}

/*
 * Too few credits were left when an RPC was aborted. A late Reply may have
 * brought one back since, and a connection with another cookie has them all.
 */
void xprt_rdma_credits_spent(struct xprt_rdma *rx, u32 cookie)
{
	struct rpc_xprt *xprt = &rx->xprt;
	bool spent;

	spin_lock(&xprt->transport_lock);
	spent = cookie == xprt->connect_cookie &&
		!xprt_rdma_credits_abandon(rx, 0);
	spin_unlock(&xprt->transport_lock);
	if (spent)
		xprt_force_disconnect(xprt);
}

/* An aborted RPC is answered after all: there is one credit more */
void xprt_rdma_credits_late(struct xprt_rdma *rx)
{
	spin_lock(&rx->xprt.transport_lock);
	xprt_rdma_credits_abandon(rx, -1);
	spin_unlock(&rx->xprt.transport_lock);
	rpcrdma_rpc_wake_sender(&rx->xprt);
}

/*
 * A Call is to wait for a credit; called with the send lock. Until then sunrpc
 * wakes no sender. The Reply to a callback needs no credit and goes before the
 * Calls, but sunrpc may have queued it after it last looked at the queue. It
 * would wait with them, and the server may answer none of them before it has
 * that Reply (RFC 8167, 4.1).
 */
void xprt_rdma_credits_lacking(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct rpc_rqst *first;

	/* sunrpc clears the bit and queues the Reply under this lock */
	spin_lock(&xprt->queue_lock);
	first = list_first_entry_or_null(&xprt->xmit_queue, struct rpc_rqst,
					 rq_xmit);
	if (first && first->rq_cong)
		clear_bit(XPRT_CWND_WAIT, &xprt->state);
	spin_unlock(&xprt->queue_lock);
}

/*
 * A connection ended; called with the send lock, so that no task asks for a
 * credit. The next connection has one until its first Reply (RFC 8166, 3.3.3),
 * and RPCs that were in flight get theirs anew.
 */
void xprt_rdma_credits_reset(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct xprt_rdma_req *req;

	spin_lock(&xprt->transport_lock);
	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		/* The Reply to a callback has none */
		if (!req->rqst.rq_cong || bc_prealloc(&req->rqst))
			continue;
		req->rqst.rq_cong = 0;
		xprt->cong -= RPC_CWNDSCALE;
	}
	spin_unlock(&rx->req_lock);
	rx->granted = 1;
	rx->abandoned = 0;
	xprt_rdma_credits_apply(rx);
	spin_unlock(&xprt->transport_lock);
}
