// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Version 2 of the protocol: all that the client knows of it. negotiate.c
 * decides which version a connection speaks; here are its clock, its timer,
 * and the consequences of its decisions. Without CONFIG_RPCRDMA_V2 the stubs
 * in xprt_rdma.h speak version 1.
 */

#include "xprt_rdma.h"

static u64 xprt_rdma_now(void)
{
	return ktime_to_ms(ktime_get());
}

/* Without an answer to the first message there is nothing else to wait for */
static void xprt_rdma_version_worker(struct work_struct *work)
{
	struct xprt_rdma *rx =
		container_of(work, struct xprt_rdma, version.worker.work);

	mutex_lock(&rx->lock);
	if (rx->ep &&
	    xprt_rdma_nego_expired(&rx->version.nego, xprt_rdma_now()))
		rpcrdma_ep_fail(rx->ep, -ETIMEDOUT,
				"no answer to a version 2 message: trying version 1");
	mutex_unlock(&rx->lock);
}

void xprt_rdma_version_init(struct xprt_rdma *rx)
{
	xprt_rdma_nego_init(&rx->version.nego);
	INIT_DELAYED_WORK(&rx->version.worker, xprt_rdma_version_worker);
}

/*
 * Called with rx->lock whenever @nego may have changed, except at the end of
 * a connection, after which nothing is sent.
 */
static void xprt_rdma_version_apply(struct xprt_rdma *rx,
				    struct rpcrdma_ep *ep)
{
	struct xprt_rdma_version *version = &rx->version;
	struct rpcrdma_properties prop;

	if (version->nego.state == XPRT_RDMA_NEGO_SETTLED)
		WRITE_ONCE(ep->version, version->nego.vers);
	xprt_rdma_nego_form(&version->nego, &version->form);
	xprt_rdma_nego_plain_form(&version->nego, &version->plain_form);
	xprt_rdma_nego_thresholds(&version->nego, &prop, &ep->prop);
	WRITE_ONCE(rx->inline_send, prop.inline_send);
	WRITE_ONCE(rx->inline_recv, prop.inline_recv);
}

/* A connection was made; called with the send lock */
void xprt_rdma_version_begin(struct xprt_rdma *rx, struct rpcrdma_ep *ep)
{
	u64 memory = (u64)READ_ONCE(xprt_rdma_version_memory) * MSEC_PER_SEC;
	/* Read once: the timer is armed once, whatever the setting is later */
	u64 timeout = (u64)READ_ONCE(xprt_rdma_version_timeout) * MSEC_PER_SEC;

	mutex_lock(&rx->lock);
	xprt_rdma_nego_begin(&rx->version.nego, ep->attr.max_version,
			     xprt_rdma_now(), memory, timeout);
	xprt_rdma_version_apply(rx, ep);
	mutex_unlock(&rx->lock);
}

/* A connection ended; called with the send lock, nothing will be received */
void xprt_rdma_version_end(struct xprt_rdma *rx)
{
	cancel_delayed_work_sync(&rx->version.worker);
	mutex_lock(&rx->lock);
	xprt_rdma_nego_lost(&rx->version.nego, xprt_rdma_now());
	mutex_unlock(&rx->lock);
}

/* A connection could not be made; called with the send lock */
void xprt_rdma_version_refused(struct xprt_rdma *rx, int err)
{
	if (err != -ECONNREFUSED && err != -ETIMEDOUT)
		return;
	mutex_lock(&rx->lock);
	xprt_rdma_nego_refused(&rx->version.nego);
	mutex_unlock(&rx->lock);
}

/*
 * Decide how a Call that offers the MRs of @req is written; with rx->lock. Each
 * MR was registered for this RPC alone, so that none must stay valid: the
 * handle to invalidate is the one that costs most.
 */
void xprt_rdma_version_form(const struct xprt_rdma *rx,
			    struct xprt_rdma_req *req)
{
	struct xprt_rdma_mr *mr;
	u32 best = 0;

	req->form = list_empty(&req->mrs) ? rx->version.plain_form :
					    rx->version.form;
	if (!xprt_rdma_nego_invalidates(&rx->version.nego))
		return;
	list_for_each_entry(mr, &req->mrs, list) {
		if (mr->mr->length > best) {
			best = mr->mr->length;
			req->form.inv_handle = mr->mr->rkey;
		}
	}
}

/*
 * A Call was posted; called with rx->lock, for which the answer to the first
 * one waits in xprt_rdma_version_heard().
 */
void xprt_rdma_version_sent(struct xprt_rdma *rx, u32 xid)
{
	struct xprt_rdma_nego *nego = &rx->version.nego;
	bool first = nego->state == XPRT_RDMA_NEGO_FIRST;

	if (likely(nego->state == XPRT_RDMA_NEGO_SETTLED))
		return;
	xprt_rdma_nego_sent(nego, xid, xprt_rdma_now());
	if (first)
		mod_delayed_work(xprtiod_workqueue, &rx->version.worker,
				 msecs_to_jiffies(nego->patience) + 1);
}

/*
 * An answer came. Until the first answer that settles the version and is no error
 * there is one credit (draft-cel-nfsv4-rpcrdma-version-two-00, 5).
 *
 * Return: false if this one grants none.
 */
bool xprt_rdma_version_heard(struct xprt_rdma *rx, struct rpcrdma_ep *ep,
			     const struct rpcrdma_hdr *hdr)
{
	bool grants = true;

	mutex_lock(&rx->lock);
	if (rx->version.nego.state != XPRT_RDMA_NEGO_SETTLED) {
		xprt_rdma_nego_heard(&rx->version.nego, hdr, xprt_rdma_now());
		xprt_rdma_version_apply(rx, ep);
		grants = hdr->proc != RPCRDMA_ERROR &&
			 xprt_rdma_version_settled(rx);
	}
	mutex_unlock(&rx->lock);
	return grants;
}

/*
 * Send an RPC again if @hdr is an RDMA_ERROR that says how. To the RPC layer
 * it looks as if there were a new connection. It would send every RPC again
 * that is out, but there is no other: there is only one credit yet.
 *
 * Return: true if it will be sent again; it is not pinned any more.
 */
bool xprt_rdma_version_resend(struct xprt_rdma_req *req,
			      const struct rpcrdma_hdr *hdr)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	if (!xprt_rdma_nego_resend(&req->rx->version.nego, hdr, &req->form))
		return false;
	spin_lock(&xprt->transport_lock);
	xprt->connect_cookie++;
	spin_unlock(&xprt->transport_lock);
	spin_lock(&xprt->queue_lock);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	xprt_wake_pending_tasks(xprt, -EAGAIN);
	return true;
}

void xprt_rdma_version_show(const struct xprt_rdma *rx, struct seq_file *seq)
{
	seq_printf(seq, " inv_option=%s v1_server=%s",
		   xprt_rdma_nego_invalidates(&rx->version.nego) ? "yes" : "no",
		   rx->version.nego.v1_known ? "yes" : "no");
}
