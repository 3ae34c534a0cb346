// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of an RPC without a Reply: neither the peer nor our device may reach
 * its memory when the Upper Layer has that back.
 */
#include "xprt_rdma.h"

/* How long an abandoned RPC waits for its fence before the connection ends */
#define FENCE_TIMEOUT	(5 * HZ)

static void rpcrdma_fence_done(struct rpcrdma_chain *chain,
			       enum ib_wc_status status)
{
	struct rpcrdma_req *req =
		container_of(chain, struct rpcrdma_req, inv_chain);
	struct rpcrdma_xprt *rx = req->rx;

	/* Else the drain gives them back: rpcrdma_mrs_release() */
	if (unlikely(status != IB_WC_SUCCESS))
		return;
	rpcrdma_mrs_put(rx, &req->mrs);
	/* The request is no longer ours */
	wake_up_all(&rx->fence_wait);
}

/* Return: the endpoint with a reference; NULL if it is down */
static struct rpcrdma_ep *rpcrdma_fence_post(struct rpcrdma_xprt *rx,
					     struct rpcrdma_req *req)
{
	struct rpcrdma_ep *ep = NULL;

	mutex_lock(&rx->lock);
	if (rx->pool.ep) {
		ep = rpcrdma_ep_get(rx->pool.ep);
		if (!list_empty(&req->mrs) &&
		    rpcrdma_mrs_invalidate(ep, req, rpcrdma_fence_done))
			/* It is going down already, or must */
			rpcrdma_ep_fail(ep, -EIO);
	}
	mutex_unlock(&rx->lock);
	return ep;
}

static bool rpcrdma_fenced(struct rpcrdma_req *req)
{
	return list_empty_careful(&req->mrs) &&
	       !rpcrdma_req_sending(req);
}

/**
 * rpcrdma_req_fence - end all access to an abandoned RPC's memory
 * @req: request that no Reply will find any more
 *
 * The only place where the client waits for the fabric: when it returns, the
 * peer reaches none of the memory and our device reads none of it. What does
 * not complete in time costs the connection, whose drain gives it all back.
 *
 * Context: process, sleeps.
 */
void rpcrdma_req_fence(struct rpcrdma_req *req)
{
	struct rpcrdma_xprt *rx = req->rx;
	struct rpcrdma_ep *ep;

	if (rpcrdma_fenced(req))
		return;
	ep = rpcrdma_fence_post(rx, req);
	if (ep) {
		if (!wait_event_timeout(rx->fence_wait, rpcrdma_fenced(req),
					FENCE_TIMEOUT))
			rpcrdma_ep_fail_reason(ep, -ETIMEDOUT,
					       "an RPC given up could not be fenced");
		rpcrdma_ep_put(ep);
	}
	wait_event(rx->fence_wait, rpcrdma_fenced(req));
}
