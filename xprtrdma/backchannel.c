// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The reverse direction (RFC 8167): the client as the Responder of the
 * server's callbacks. Inline only, in both directions.
 *
 * A Call is copied out of its Receive and queued for the callback service;
 * its Reply leaves through send_request like any other message.
 */
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>

#include "xprt_rdma.h"

/*
 * The callback service builds the Reply in one page, whatever size it is told.
 * The Receive CQ must not wait for writeback over this transport, nor for
 * memory that the Replies behind this callback would free.
 */
static struct xprt_rdma_req *xprt_rdma_bc_req_create(struct xprt_rdma *rx)
{
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN;
	struct xprt_rdma_req *req;

	req = xprt_rdma_req_create(rx, gfp);
	if (!req)
		return NULL;
	req->sbuf = kmalloc(PAGE_SIZE, gfp);
	req->rbuf = kmalloc(PAGE_SIZE, gfp);
	if (!req->sbuf || !req->rbuf ||
	    rpcrdma_dmabuf_alloc(&req->hdr, PAGE_SIZE, DMA_TO_DEVICE,
				 NUMA_NO_NODE, gfp)) {
		xprt_rdma_req_destroy(req);
		return NULL;
	}
	req->rqst.rq_xprt = &rx->xprt;
	__set_bit(RPC_BC_PA_IN_USE, &req->rqst.rq_bc_pa_state);
	return req;
}

/* Slots come as callbacks do, so that nothing can fail here */
int xprt_rdma_bc_setup(struct rpc_xprt *xprt, unsigned int reqs)
{
	return 0;
}

/* The slots for callbacks have a page each way */
size_t xprt_rdma_bc_maxpayload(struct rpc_xprt *xprt)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	u32 threshold = min(READ_ONCE(rx->inline_send),
			    READ_ONCE(rx->inline_recv));
	/* A callback may come with the option of version 2 */
	const struct rpcrdma_form form = {
		.option = READ_ONCE(rx->version.nego.vers) > RPCRDMA_V1,
	};

	return min_t(u32, threshold, PAGE_SIZE) - rpcrdma_form_len(&form);
}

unsigned int xprt_rdma_bc_num_slots(struct rpc_xprt *xprt)
{
	return XPRT_RDMA_BC_CREDITS;
}

/*
 * The callback service is done with a slot. sunrpc drops a Reply if memory is
 * short, if it waited a minute to be sent, or with a killed task that was to
 * send it. That costs the connection that the callback came by: the server must
 * not wait for ever (RFC 8166, 4.5.4).
 */
void xprt_rdma_bc_free_rqst(struct rpc_rqst *rqst)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct xprt_rdma *rx = req->rx;

	if (req->reply_pending && !rpcrdma_bc_service_gone(xprt)) {
		mutex_lock(&rx->lock);
		if (rx->ep && rx->ep->number == req->conn_id &&
		    rpcrdma_ep_live(rx->ep))
			rpcrdma_ep_fail(rx->ep, -EIO,
					"a callback was not answered");
		mutex_unlock(&rx->lock);
	}
	xprt_rdma_req_put(req);
	xprt_put(xprt);
}

/*
 * The service's threads may stop before they take all that is queued; those
 * slots stay queued, each with a reference to the transport. Without any queued
 * there may be no service by now, and its pointer is stale.
 */
static void xprt_rdma_bc_drop_queued(struct rpc_xprt *xprt)
{
	struct rpc_rqst *rqst, *next;
	LIST_HEAD(queued);

	spin_lock(&xprt->bc_pa_lock);
	if (xprt->bc_serv && atomic_read(&xprt->bc_slot_count))
		rpcrdma_bc_dequeue(xprt->bc_serv, xprt, &queued);
	/* sunrpc leaves the pointer when the callback service is destroyed */
	xprt->bc_serv = NULL;
	spin_unlock(&xprt->bc_pa_lock);

	list_for_each_entry_safe(rqst, next, &queued, rq_bc_pa_list) {
		atomic_dec(&xprt->bc_slot_count);
		/* With their session */
		to_xprt_rdma_req(rqst)->reply_pending = false;
		xprt_rdma_bc_free_rqst(rqst);
	}
}

/* The session is over: drop the queued callbacks, free the idle slots */
void xprt_rdma_bc_destroy(struct rpc_xprt *xprt, unsigned int reqs)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	struct rpc_rqst *rqst;

	xprt_rdma_bc_drop_queued(xprt);
	for (;;) {
		spin_lock(&xprt->bc_pa_lock);
		rqst = list_first_entry_or_null(&xprt->bc_pa_list,
						struct rpc_rqst, rq_bc_pa_list);
		if (rqst) {
			list_del(&rqst->rq_bc_pa_list);
			rx->bc_count--;
		}
		spin_unlock(&xprt->bc_pa_lock);
		if (!rqst)
			return;
		xprt_rdma_req_destroy(to_xprt_rdma_req(rqst));
	}
}

static struct xprt_rdma_req *xprt_rdma_bc_req_get(struct xprt_rdma *rx,
						  struct rpcrdma_ep *ep)
{
	struct rpc_xprt *xprt = &rx->xprt;
	const char *reason = "server exceeded its callback credits";
	struct xprt_rdma_req *req = NULL;
	struct rpc_rqst *rqst;

	spin_lock(&xprt->bc_pa_lock);
	rqst = list_first_entry_or_null(&xprt->bc_pa_list, struct rpc_rqst,
					rq_bc_pa_list);
	if (rqst) {
		list_del(&rqst->rq_bc_pa_list);
		spin_unlock(&xprt->bc_pa_lock);
		return to_xprt_rdma_req(rqst);
	}
	if (rx->bc_count < XPRT_RDMA_BC_REQS) {
		rx->bc_count++;
		spin_unlock(&xprt->bc_pa_lock);
		reason = "no memory for a callback";
		req = xprt_rdma_bc_req_create(rx);
		spin_lock(&xprt->bc_pa_lock);
		if (!req)
			rx->bc_count--;
	}
	spin_unlock(&xprt->bc_pa_lock);
	if (!req)
		rpcrdma_ep_fail(ep, -ENOBUFS, reason);
	return req;
}

static void xprt_rdma_bc_fill(struct xprt_rdma_req *req,
			      const struct rpcrdma_recv *recv)
{
	const struct rpcrdma_hdr *hdr = &recv->hdr;
	struct rpc_rqst *rqst = &req->rqst;
	struct xdr_buf *rcv = &rqst->rq_rcv_buf;

	req->conn_id = recv->ep->number;
	req->reply_pending = true;
	rpcrdma_form_of_reply(&req->form, hdr);
	memcpy(req->rbuf, hdr->buf + hdr->body, hdr->body_len);
	xdr_buf_init(rcv, req->rbuf, hdr->body_len);
	rcv->len = hdr->body_len;
	xdr_buf_init(&rqst->rq_snd_buf, req->sbuf, PAGE_SIZE);
	rqst->rq_private_buf = *rcv;
	rqst->rq_xid = cpu_to_be32(hdr->xid);
	rqst->rq_reply_bytes_recvd = 0;
	rqst->rq_bytes_sent = 0;
	/*
	 * A Reply takes no credit, and goes before the Calls that wait for one:
	 * the server may answer none before it has this. xprt->cong does not
	 * count it.
	 */
	rqst->rq_cong = 1;
}

static void xprt_rdma_bc_send_done(struct rpcrdma_chain *chain,
				   enum ib_wc_status status)
{
	xprt_rdma_req_put(container_of(chain, struct xprt_rdma_req, chain));
}

/* Send @len bytes of the request's own buffer */
static int xprt_rdma_bc_post(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			     u32 len)
{
	int rc;

	if (xprt_rdma_req_prepare(ep, req, len))
		return -ENOBUFS;
	/* No answer shows when the buffer is free: the completion does */
	rpcrdma_chain_init(&req->chain, xprt_rdma_bc_send_done);
	rpcrdma_chain_append(ep, &req->chain, &req->send_wr);
	kref_get(&req->kref);
	rc = rpcrdma_sendq_post(ep, &req->chain, false);
	if (rc)
		xprt_rdma_req_put(req);
	return rc;
}

/*
 * Answer a callback with RDMA_ERROR (RFC 8166, 4.5.2; RFC 8167, 5.3): the
 * server must not wait for ever (RFC 8166, 4.5.4). @why is logged, unless NULL.
 */
void xprt_rdma_bc_send_rdma_error(struct xprt_rdma *rx,
				  struct rpcrdma_recv *recv,
				  enum rpcrdma_errcode errcode, const char *why)
{
	const struct rpcrdma_hdr *hdr = &recv->hdr;
	struct rpcrdma_ep *ep = recv->ep;
	struct xprt_rdma_req *req;
	struct rpcrdma_enc enc;

	if (why)
		rpcrdma_ep_warn(ep, "callback rejected, XID 0x%08x: %s",
				hdr->xid, why);
	req = xprt_rdma_bc_req_get(rx, ep);
	if (!req)
		return;
	rpcrdma_enc_init(&enc, req->hdr.data, req->hdr.size);
	rpcrdma_enc_error(&enc, hdr->xid, hdr->vers, ep->sizes.bc_credits,
			  errcode, &rx->limits);
	if (xprt_rdma_bc_post(ep, req, enc.len) == -ENOBUFS)
		rpcrdma_ep_fail(ep, -ENOBUFS, "an error could not be sent");
	xprt_rdma_req_put(req);
}

/*
 * An accepted callback without chunks came; @recv stays the caller's. It is
 * rejected if there is no service for it, or if it is larger than announced.
 * More callbacks at a time than there are slots cost the connection.
 */
void xprt_rdma_bc_received(struct xprt_rdma *rx, struct rpcrdma_recv *recv)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct svc_serv *serv;
	struct xprt_rdma_req *req;

	if (recv->hdr.body_len > PAGE_SIZE) {
		xprt_rdma_bc_send_rdma_error(rx, recv, RPCRDMA_ERR_CHUNK,
					     "larger than a page");
		return;
	}
	req = xprt_rdma_bc_req_get(rx, recv->ep);
	if (!req)
		return;
	xprt_rdma_bc_fill(req, recv);

	/* The service goes away after xprt_rdma_bc_destroy(), not before */
	spin_lock(&xprt->bc_pa_lock);
	serv = xprt->bc_serv;
	if (serv && xprt_get(xprt)) {
		atomic_inc(&xprt->bc_slot_count);
		rpcrdma_bc_enqueue(serv, &req->rqst);
		rx->stats.bcall_count++;
		req = NULL;
	}
	spin_unlock(&xprt->bc_pa_lock);
	if (req) {
		xprt_rdma_req_put(req);
		xprt_rdma_bc_send_rdma_error(rx, recv, RPCRDMA_ERR_CHUNK,
					     "no callback service");
	}
}

/*
 * Called with rx->lock. Return: see xprt_rdma_bc_send_reply(); -EMSGSIZE if the
 * Reply exceeds the inline threshold; -EIO.
 */
static int xprt_rdma_bc_send(struct rpcrdma_ep *ep, struct xprt_rdma_req *req)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	struct rpcrdma_enc enc;

	rpcrdma_enc_init(&enc, req->hdr.data, req->hdr.size);
	rpcrdma_enc_msg(&enc, be32_to_cpu(req->rqst.rq_xid),
			ep->sizes.bc_credits, &req->form);
	if (enc.len + snd->len >
	    min(req->hdr.size, rpcrdma_ep_inline_send(ep, req->form.vers)))
		return -EMSGSIZE;
	if (read_bytes_from_xdr_buf(snd, 0, req->hdr.data + enc.len, snd->len))
		return -EIO;
	return xprt_rdma_bc_post(ep, req, enc.len + snd->len);
}

/*
 * Called with the send lock. The Reply takes no credit: those are for Calls. If
 * it can never be sent the connection ends, so that the server learns of it
 * (RFC 8166, 4.5.4). The Reply to a callback of an earlier connection is not
 * sent: on this one the server may have another callback with that XID. That
 * is no error, as sunrpc would report it to the task that sends next.
 *
 * Return: 0, also for that; -ENOBUFS to retry later; -ENOTCONN, also if it can
 * never be sent.
 */
int xprt_rdma_bc_send_reply(struct rpc_rqst *rqst)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);
	struct xprt_rdma *rx = req->rx;
	int rc = -ENOTCONN;

	if (!xprt_connected(&rx->xprt))
		return -ENOTCONN;
	mutex_lock(&rx->lock);
	if (rx->ep && rx->ep->number != req->conn_id)
		rc = 0;
	else if (rx->ep && rpcrdma_ep_live(rx->ep))
		rc = xprt_rdma_bc_send(rx->ep, req);
	if (rc == -EMSGSIZE || rc == -EIO)
		rpcrdma_ep_fail(rx->ep, rc,
				"the reply to a callback cannot be sent");
	mutex_unlock(&rx->lock);
	req->reply_pending = rc;
	if (!rc || rc == -ENOBUFS)
		return rc;
	xprt_force_disconnect(&rx->xprt);
	/* Any other error would end the RPC of the task that sends this */
	return -ENOTCONN;
}
