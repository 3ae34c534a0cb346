// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send a Call: REG_MR ... REG_MR, SEND as one chain, with one doorbell.
 */
#include "xprt_rdma.h"

/*
 * Called with rx->lock. A request that is on the wire, or whose MRs are being
 * invalidated after its Reply, is not sent twice on one connection: the server
 * would answer both, and the second Reply has no credit.
 *
 * Return: 0; -ENOTCONN to connect first; -EBADSLT to wait for a credit.
 */
static int xprt_rdma_may_send(struct xprt_rdma *rx, struct xprt_rdma_req *req)
{
	struct rpc_xprt *xprt = &rx->xprt;

	/*
	 * sunrpc of 6.1 sends an RPC that timed out although the connection is
	 * to be closed for it. Its Reply may be arriving.
	 */
	if (!xprt_connected(xprt) || test_bit(XPRT_CLOSE_WAIT, &xprt->state) ||
	    !rx->ep || !rpcrdma_ep_live(rx->ep))
		return -ENOTCONN;
	if (xprt_rdma_req_on_wire(req) || !list_empty(&req->mrs))
		return -ENOTCONN;
	if (!xprt_request_get_cong(xprt, &req->rqst)) {
		xprt_rdma_credits_lacking(rx);
		return -EBADSLT;
	}
	return 0;
}

/* Called with rx->lock. After an error nothing is mapped or registered. */
static int xprt_rdma_send_call(struct xprt_rdma *rx, struct xprt_rdma_req *req)
{
	struct rpcrdma_ep *ep = rx->ep;
	struct xprt_rdma_mr *mr;
	int rc;

	rc = xprt_rdma_marshal_req(rx, ep, req);
	if (rc)
		goto out;
	/* The Reply shows that the Send is complete: nothing to signal */
	rpcrdma_chain_init(&req->chain, NULL);
	list_for_each_entry(mr, &req->mrs, list) {
		mr->xid = be32_to_cpu(req->rqst.rq_xid);
		rpcrdma_chain_append(ep, &req->chain, &mr->reg.wr);
	}
	rpcrdma_chain_append(ep, &req->chain, &req->send_wr);
	req->rqst.rq_xtime = ktime_get();
	rc = xprt_rdma_req_post(ep, req);
	if (rc)
		xprt_rdma_mrs_put(rx, &req->mrs);
	else
		xprt_rdma_version_sent(rx);
out:
	if (rc && rc != -EAGAIN && rc != -ENOTCONN)
		rx->stats.failed_marshal_count++;
	return rc;
}

/*
 * Send a Call, or the Reply to a callback. A Call that expects no Reply costs
 * the connection: its credit would not come back. Called with the send lock,
 * in reclaim.
 *
 * Return: 0, also if it can never be sent, which ends the RPC with -EMSGSIZE or
 * -EIO; -ENOTCONN to connect and retry; -EAGAIN to retry after
 * xprt_write_space(); -EBADSLT to retry with a credit; -ENOBUFS to retry later.
 */
int xprt_rdma_send_request(struct rpc_rqst *rqst)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);
	struct xprt_rdma *rx = req->rx;
	u32 len = rqst->rq_snd_buf.len;
	int rc;

#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	if (unlikely(bc_prealloc(rqst)))
		return xprt_rdma_bc_send_reply(rqst);
#endif
	mutex_lock(&rx->lock);
	rc = xprt_rdma_may_send(rx, req);
	if (!rc)
		rc = xprt_rdma_send_call(rx, req);
	mutex_unlock(&rx->lock);

	switch (rc) {
	case 0:
		/* The Reply may be here, but the caller has pinned @rqst */
		rqst->rq_xmit_bytes_sent += len;
		if (likely(rpc_reply_expected(rqst->rq_task)))
			return 0;
		break;
	case -ENOTCONN:
		break;
	case -EAGAIN:
	case -EBADSLT:
	case -ENOBUFS:
		return rc;
	default:
		return rpcrdma_rpc_unsendable(rqst, rc);
	}
	if (xprt_connected(&rx->xprt))
		xprt_force_disconnect(&rx->xprt);
	return rc;
}
