// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The version of the protocol on a transport: common/negotiate.c decides, and
 * here are its clock, its timer, and what follows from its decisions.
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
		container_of(work, struct xprt_rdma, version_worker.work);

	mutex_lock(&rx->lock);
	if (rx->ep && rpcrdma_nego_expired(&rx->nego, xprt_rdma_now()))
		rpcrdma_ep_fail_reason(rx->ep, -ETIMEDOUT,
				       "no answer to a message of version two: version one is next");
	mutex_unlock(&rx->lock);
}

/**
 * xprt_rdma_version_init - a new transport
 * @rx: transport
 *
 * Context: any.
 */
void xprt_rdma_version_init(struct xprt_rdma *rx)
{
	rpcrdma_nego_init(&rx->nego);
	INIT_DELAYED_WORK(&rx->version_worker, xprt_rdma_version_worker);
}

/*
 * Called with rx->lock, whenever @nego may have changed but for the end of a
 * connection, after which nothing is sent: what Calls, the status and the
 * reverse direction go by.
 */
static void xprt_rdma_version_apply(struct xprt_rdma *rx, struct rpcrdma_ep *ep)
{
	struct rpcrdma_properties prop;

	if (rx->nego.state == RPCRDMA_NEGO_SETTLED)
		WRITE_ONCE(ep->version, rx->nego.vers);
	rpcrdma_nego_form(&rx->nego, &rx->form);
	rpcrdma_nego_plain_form(&rx->nego, &rx->plain_form);
	rpcrdma_nego_thresholds(&rx->nego, &prop, &ep->prop);
	WRITE_ONCE(rx->inline_send, prop.inline_send);
	WRITE_ONCE(rx->inline_recv, prop.inline_recv);
}

/**
 * xprt_rdma_version_begin - a connection was made
 * @rx: transport, with its send lock held
 * @ep: its endpoint
 *
 * Context: process, may sleep.
 */
void xprt_rdma_version_begin(struct xprt_rdma *rx, struct rpcrdma_ep *ep)
{
	u64 memory = (u64)READ_ONCE(xprt_rdma_version_memory) * MSEC_PER_SEC;
	/* That of now: the timer is armed once, whatever the setting is later */
	u64 patience = (u64)READ_ONCE(xprt_rdma_version_timeout) * MSEC_PER_SEC;

	mutex_lock(&rx->lock);
	rpcrdma_nego_begin(&rx->nego, ep->max_version, xprt_rdma_now(), memory,
			   patience);
	xprt_rdma_version_apply(rx, ep);
	mutex_unlock(&rx->lock);
}

/**
 * xprt_rdma_version_end - a connection ended
 * @rx: transport, with its send lock held; nothing will be received
 *
 * Context: process, may sleep.
 */
void xprt_rdma_version_end(struct xprt_rdma *rx)
{
	mutex_lock(&rx->lock);
	rpcrdma_nego_lost(&rx->nego, xprt_rdma_now());
	mutex_unlock(&rx->lock);
}

/**
 * xprt_rdma_version_refused - a connection could not be made
 * @rx: transport, with its send lock held
 * @err: why
 *
 * Context: process, may sleep.
 */
void xprt_rdma_version_refused(struct xprt_rdma *rx, int err)
{
	if (err != -ECONNREFUSED && err != -ETIMEDOUT)
		return;
	mutex_lock(&rx->lock);
	rpcrdma_nego_refused(&rx->nego);
	mutex_unlock(&rx->lock);
}

/*
 * The handle that costs most to invalidate. Each was registered for this RPC
 * alone, so that none must stay valid.
 */
static u32 xprt_rdma_best_handle(const struct xprt_rdma_req *req)
{
	struct xprt_rdma_mr *mr;
	u32 handle = 0, best = 0;

	list_for_each_entry(mr, &req->mrs, list) {
		if (mr->mr->length > best) {
			best = mr->mr->length;
			handle = mr->mr->rkey;
		}
	}
	return handle;
}

/**
 * xprt_rdma_version_form - decide how a Call is written
 * @rx: transport
 * @req: request with the MRs that the Call offers; its @form is the result
 *
 * Context: process, under xprt_rdma.lock.
 */
void xprt_rdma_version_form(const struct xprt_rdma *rx,
			    struct xprt_rdma_req *req)
{
	if (list_empty(&req->mrs)) {
		req->form = rx->plain_form;
		return;
	}
	req->form = rx->form;
	if (rpcrdma_nego_invalidates(&rx->nego))
		req->form.inv_handle = xprt_rdma_best_handle(req);
}

/**
 * xprt_rdma_version_first_sent - the first Call in a version to be tried was posted
 * @rx: transport
 *
 * Its answer waits for the lock: see xprt_rdma_version_heard(). What Calls go by
 * does not change with it.
 *
 * Context: process, under xprt_rdma.lock.
 */
void xprt_rdma_version_first_sent(struct xprt_rdma *rx)
{
	lockdep_assert_held(&rx->lock);
	rpcrdma_nego_sent(&rx->nego, xprt_rdma_now());
	mod_delayed_work(xprtiod_workqueue, &rx->version_worker,
			 msecs_to_jiffies(rx->nego.patience) + 1);
}

/**
 * xprt_rdma_version_heard - an answer came
 * @rx: transport
 * @ep: its endpoint
 * @hdr: as rpcrdma_decode() left it
 *
 * Context: process, may sleep.
 *
 * Return: false if it grants no credits: until the first answer that is no
 * error there is one (draft-cel-nfsv4-rpcrdma-version-two-00, section 5).
 */
bool xprt_rdma_version_heard(struct xprt_rdma *rx, struct rpcrdma_ep *ep,
			     const struct rpcrdma_hdr *hdr)
{
	bool grants = true;

	if (xprt_rdma_version_settled(rx))
		return true;
	mutex_lock(&rx->lock);
	if (rx->nego.state != RPCRDMA_NEGO_SETTLED) {
		grants = hdr->proc != RPCRDMA_ERROR;
		rpcrdma_nego_heard(&rx->nego, hdr, xprt_rdma_now());
		xprt_rdma_version_apply(rx, ep);
	}
	mutex_unlock(&rx->lock);
	return grants;
}

/**
 * xprt_rdma_version_resend - send an RPC again if its answer says how
 * @req: request; off the wire, without MRs, and pinned
 * @hdr: its answer; nothing happens unless it is an RDMA_ERROR
 *
 * To the RPC layer it looks as if there were a new connection. It would send
 * every RPC again that is out, but there is no other: one credit is all.
 *
 * Context: process.
 *
 * Return: true if it will be sent again; it is not pinned any more.
 */
bool xprt_rdma_version_resend(struct xprt_rdma_req *req,
			      const struct rpcrdma_hdr *hdr)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	if (!rpcrdma_nego_resend(&req->rx->nego, hdr, &req->form))
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
