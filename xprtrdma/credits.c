// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Credits: how many Calls may be on the wire (RFC 8166, section 3.3.1). They
 * are sunrpc's congestion window, which counts the RPCs that hold one.
 */
#include "rpcrdma/rpc.h"
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

/**
 * xprt_rdma_credits_update - the server has granted credits
 * @rx: transport
 * @credits: from rpcrdma_hdr_grant()
 *
 * If RPCs that were given up have them all, the connection is given up as well:
 * a new one has them all back.
 *
 * Context: process.
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
	if (unlikely(!left))
		xprt_force_disconnect(&rx->xprt);
	else
		rpcrdma_rpc_wake_sender(&rx->xprt);
}

/**
 * xprt_rdma_credits_abandon - RPCs were given up, or answered after all
 * @rx: transport
 * @by: how many more keep a credit of their own
 *
 * Context: process, under the transport_lock.
 *
 * Return: false when too few credits are left to go on with the connection, or
 * none: RFC 8166, section 3.3.1, allows no Call more. The caller gives it up.
 */
bool xprt_rdma_credits_abandon(struct xprt_rdma *rx, int by)
{
	lockdep_assert_held(&rx->xprt.transport_lock);
	rx->abandoned += by;
	return xprt_rdma_credits_apply(rx) &&
	       rx->abandoned < min(rx->granted, rx->xprt.max_reqs / 2);
}

/**
 * xprt_rdma_credits_spent - too few credits were left when an RPC was given up
 * @rx: transport
 * @cookie: the connection's then
 *
 * A late Reply may have brought one back meanwhile, and a new connection has them all.
 *
 * Context: process.
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

/**
 * xprt_rdma_credits_late - an RPC that was given up is answered after all
 * @rx: transport; has one credit more
 *
 * Context: process.
 */
void xprt_rdma_credits_late(struct xprt_rdma *rx)
{
	spin_lock(&rx->xprt.transport_lock);
	xprt_rdma_credits_abandon(rx, -1);
	spin_unlock(&rx->xprt.transport_lock);
	rpcrdma_rpc_wake_sender(&rx->xprt);
}

/**
 * xprt_rdma_credits_lacking - a Call is to wait for a credit
 * @rx: transport, with its send lock held
 *
 * Until then sunrpc wakes nobody who wants to send. The Reply to a callback needs no
 * credit and goes before the Calls, but may have been queued between two looks of sunrpc
 * at the queue: then it would wait with them, and the server may answer none before it has
 * it (RFC 8167, section 4.1).
 *
 * Context: process.
 */
void xprt_rdma_credits_lacking(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct rpc_rqst *first;

	/* It clears the bit, if it is set, and queues the Reply in one hold of this lock */
	spin_lock(&xprt->queue_lock);
	first = list_first_entry_or_null(&xprt->xmit_queue, struct rpc_rqst, rq_xmit);
	if (first && first->rq_cong)
		clear_bit(XPRT_CWND_WAIT, &xprt->state);
	spin_unlock(&xprt->queue_lock);
}

/**
 * xprt_rdma_credits_reset - a new connection begins
 * @rx: transport, with its send lock held: nobody asks for a credit now
 *
 * It has one credit until the first Reply (RFC 8166, section 3.3.3). RPCs that
 * were in flight on the old connection get theirs anew.
 *
 * Context: process.
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
