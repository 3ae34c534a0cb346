// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The reverse direction (RFC 8167): the client as the Responder of the
 * server's callbacks. Inline only, in both directions.
 *
 * A Call is copied out of its Receive and queued for the callback service;
 * its Reply leaves through send_request like any other message.
 */
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/svc.h>

#include "xprt_rdma.h"

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

/*
 * The callback service builds the Reply in one page, whatever size it is
 * told. In a Receive's context: not to wait for writeback over this transport, nor
 * for memory that the Replies behind this callback would free.
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
	    rpcrdma_dmabuf_alloc(&req->hdr, PAGE_SIZE, DMA_TO_DEVICE, gfp)) {
		xprt_rdma_req_destroy(req);
		return NULL;
	}
	req->sbuf_size = PAGE_SIZE;
	req->rbuf_size = PAGE_SIZE;
	req->rqst.rq_xprt = &rx->xprt;
	__set_bit(RPC_BC_PA_IN_USE, &req->rqst.rq_bc_pa_state);
	return req;
}

/**
 * xprt_rdma_bc_setup - prepare for callbacks
 * @xprt: transport
 * @reqs: how many the caller expects at a time
 *
 * Slots come as callbacks do, so that a failure here cannot be.
 *
 * Context: process.
 *
 * Return: 0.
 */
int xprt_rdma_bc_setup(struct rpc_xprt *xprt, unsigned int reqs)
{
	return 0;
}

/**
 * xprt_rdma_bc_maxpayload - largest callback message, either way
 * @xprt: transport
 *
 * Context: process.
 *
 * Return: octets of RPC message.
 */
size_t xprt_rdma_bc_maxpayload(struct rpc_xprt *xprt)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	u32 threshold = min(READ_ONCE(rx->inline_send),
			    READ_ONCE(rx->inline_recv));
	/* In version two the server may use the option */
	const struct rpcrdma_form form = {
		.option = READ_ONCE(rx->nego.vers) == RPCRDMA_V2,
	};

	/* A page each way is what the slots for callbacks have at least */
	threshold = min_t(u32, threshold, PAGE_SIZE);
	return threshold - rpcrdma_form_len(&form);
}

/**
 * xprt_rdma_bc_num_slots - callbacks the server may have outstanding
 * @xprt: transport
 *
 * Context: process.
 *
 * Return: their number.
 */
unsigned int xprt_rdma_bc_num_slots(struct rpc_xprt *xprt)
{
	return XPRT_RDMA_BC_CREDITS;
}

/*
 * sunrpc drops a Reply for want of memory, when it has waited for a minute to be sent, or
 * with the RPC of somebody else who is killed and was to send it.
 */
static void xprt_rdma_bc_unanswered(struct xprt_rdma_req *req)
{
	struct xprt_rdma *rx = req->rx;

	mutex_lock(&rx->lock);
	if (rx->ep && rx->ep->number == req->conn_id && rpcrdma_ep_live(rx->ep))
		rpcrdma_ep_fail_reason(rx->ep, -EIO, "a callback was not answered");
	mutex_unlock(&rx->lock);
}

/**
 * xprt_rdma_bc_free_rqst - the callback service is done with a slot
 * @rqst: slot
 *
 * A callback that has no answer costs the connection that it came by: the server must not
 * wait for ever (RFC 8166, section 4.5.4).
 *
 * Context: process; takes the transport's lock.
 */
void xprt_rdma_bc_free_rqst(struct rpc_rqst *rqst)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);
	struct rpc_xprt *xprt = rqst->rq_xprt;

	if (unlikely(req->reply_pending))
		xprt_rdma_bc_unanswered(req);
	xprt_rdma_req_put(req);
	xprt_put(xprt);
}

/*
 * The service's threads may stop before they come to what is queued, and whatever is
 * queued then stays there, with its reference to the transport. A queued callback has
 * one, so that without any there may be no service by now, and its pointer is stale.
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

/**
 * xprt_rdma_bc_destroy - the session is over: no more callbacks
 * @xprt: transport
 * @reqs: unused: all
 *
 * Those that are queued are dropped, with their session, and idle slots freed.
 *
 * Context: process, may sleep.
 */
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

static struct xprt_rdma_req *xprt_rdma_bc_req_get(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct xprt_rdma_req *req;
	struct rpc_rqst *rqst;
	bool create = false;

	spin_lock(&xprt->bc_pa_lock);
	rqst = list_first_entry_or_null(&xprt->bc_pa_list, struct rpc_rqst,
					rq_bc_pa_list);
	if (rqst) {
		list_del(&rqst->rq_bc_pa_list);
	} else if (rx->bc_count < XPRT_RDMA_BC_REQS) {
		rx->bc_count++;
		create = true;
	}
	spin_unlock(&xprt->bc_pa_lock);
	if (!create)
		return rqst ? to_xprt_rdma_req(rqst) : NULL;

	req = xprt_rdma_bc_req_create(rx);
	if (!req) {
		spin_lock(&xprt->bc_pa_lock);
		rx->bc_count--;
		spin_unlock(&xprt->bc_pa_lock);
	}
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
	 * A Reply takes no credit, and goes before the Calls that wait for one: the server
	 * may answer none before it has this. Not counted in xprt->cong.
	 */
	rqst->rq_cong = 1;
}

static void xprt_rdma_bc_send_done(struct rpcrdma_chain *chain,
				   enum ib_wc_status status)
{
	xprt_rdma_req_put(container_of(chain, struct xprt_rdma_req, chain));
}

/* Send @len octets of the request's own buffer */
static int xprt_rdma_bc_post(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			     u32 len)
{
	int rc;

	if (xprt_rdma_req_map(ep, req))
		return -ENOBUFS;
	xprt_rdma_req_fill(req, len);
	/* No answer will tell us when the buffer is free: its completion does */
	rpcrdma_chain_init(&req->chain, xprt_rdma_bc_send_done);
	rpcrdma_chain_append(ep, &req->chain, &req->send_wr);
	kref_get(&req->kref);
	rc = rpcrdma_sendq_post(ep, &req->chain);
	if (rc)
		xprt_rdma_req_put(req);
	return rc;
}

static struct xprt_rdma_req *xprt_rdma_bc_req_need(struct xprt_rdma *rx,
						   struct rpcrdma_ep *ep)
{
	struct xprt_rdma_req *req = xprt_rdma_bc_req_get(rx);

	if (!req)
		rpcrdma_ep_fail_reason(ep, -ENOBUFS,
				       "no room for another callback");
	return req;
}

static void xprt_rdma_bc_send_error(struct xprt_rdma *rx,
				    struct rpcrdma_recv *recv,
				    enum rpcrdma_errcode errcode)
{
	const struct rpcrdma_hdr *hdr = &recv->hdr;
	struct rpcrdma_ep *ep = recv->ep;
	struct xprt_rdma_req *req;
	struct rpcrdma_enc enc;

	req = xprt_rdma_bc_req_need(rx, ep);
	if (!req)
		return;
	rpcrdma_enc_init(&enc, req->hdr.data, req->hdr.size);
	rpcrdma_enc_error(&enc, hdr->xid, hdr->vers, ep->sizes.bc_credits,
			  errcode, &rx->limits);
	/* RFC 8166, section 4.5.4: the server must not wait for ever */
	if (xprt_rdma_bc_post(ep, req, enc.len) == -ENOBUFS)
		rpcrdma_ep_fail_reason(ep, -ENOBUFS,
				       "an error could not be sent");
	xprt_rdma_req_put(req);
}

/**
 * xprt_rdma_bc_refuse - answer a callback with an error
 * @rx: transport
 * @recv: message; stays the caller's
 * @errcode: which
 *
 * RFC 8166, section 4.5.2; RFC 8167, section 5.3.
 *
 * Context: process (workqueue of the Receive CQ).
 */
void xprt_rdma_bc_refuse(struct xprt_rdma *rx, struct rpcrdma_recv *recv,
			 enum rpcrdma_errcode errcode)
{
	const struct rpcrdma_hdr *hdr = &recv->hdr;

	/* A fault has a line already, which does not say that this was a callback */
	if (!hdr->fault)
		rpcrdma_ep_warn(recv->ep, "callback refused, XID 0x%08x: %s", hdr->xid,
				rpcrdma_hdr_has_chunks(hdr) ? "it has chunks" :
							      "no RPC Call in it");
	xprt_rdma_bc_send_error(rx, recv, errcode);
}

/* There is nothing wrong with its header */
static void xprt_rdma_bc_decline(struct xprt_rdma *rx,
				 struct rpcrdma_recv *recv, const char *why)
{
	const struct rpcrdma_hdr *hdr = &recv->hdr;

	rpcrdma_ep_warn(recv->ep, "callback refused, XID 0x%08x: %s", hdr->xid, why);
	xprt_rdma_bc_send_error(rx, recv,
				hdr->vers == RPCRDMA_V1 ?
					RPCRDMA_ERR_CHUNK :
					RPCRDMA_ERR_BAD_HEADER);
}

/**
 * xprt_rdma_bc_received - a callback came from the server
 * @rx: transport
 * @recv: accepted message of direction Call, without chunks; stays the
 *	caller's
 *
 * One that we have no service for, or that is larger than we said, is refused: the server
 * must not wait for ever (RFC 8166, section 4.5.4). More at a time than there are slots cost
 * the connection.
 *
 * Context: process (workqueue of the Receive CQ).
 */
void xprt_rdma_bc_received(struct xprt_rdma *rx, struct rpcrdma_recv *recv)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct svc_serv *serv;
	struct xprt_rdma_req *req;

	if (recv->hdr.body_len > PAGE_SIZE) {
		xprt_rdma_bc_decline(rx, recv, "larger than a page");
		return;
	}
	req = xprt_rdma_bc_req_need(rx, recv->ep);
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
		xprt_rdma_bc_decline(rx, recv, "no service for it");
	}
}

/*
 * Called with rx->lock.
 *
 * Return: see xprt_rdma_bc_send_reply(); also -EMSGSIZE when it exceeds the inline
 * threshold, -EIO.
 */
static int xprt_rdma_bc_send(struct rpcrdma_ep *ep, struct xprt_rdma_req *req)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	struct rpcrdma_enc enc;

	rpcrdma_enc_init(&enc, req->hdr.data, req->hdr.size);
	rpcrdma_enc_begin(&enc,
			  be32_to_cpu(req->rqst.rq_xid),
			  ep->sizes.bc_credits, RPCRDMA_MSG, &req->form);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_end(&enc);
	if (enc.len + snd->len >
	    min(req->hdr.size, rpcrdma_ep_inline_send(ep, req->form.vers)))
		return -EMSGSIZE;
	if (read_bytes_from_xdr_buf(snd, 0, req->hdr.data + enc.len, snd->len))
		return -EIO;
	return xprt_rdma_bc_post(ep, req, enc.len + snd->len);
}

/**
 * xprt_rdma_bc_send_reply - send the Reply to a callback
 * @rqst: slot with the Reply in rq_snd_buf
 *
 * It takes no credit: those are for Calls. One that can never be sent costs
 * the connection, so that the server learns of it (RFC 8166, section 4.5.4).
 *
 * The Reply to a callback of the connection before goes nowhere: on this one the
 * server may have another callback of that XID. That is no error: sunrpc would give it to
 * whoever sends next, who may have the Reply to a callback of this connection.
 *
 * Context: process, with the transport's send lock.
 *
 * Return: 0, also for that; -ENOBUFS to come again later; -ENOTCONN, also when it can never be
 * sent.
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
		rpcrdma_ep_fail_reason(rx->ep, rc, "the reply to a callback cannot be sent");
	mutex_unlock(&rx->lock);
	req->reply_pending = rc;
	if (!rc || rc == -ENOBUFS)
		return rc;
	xprt_force_disconnect(&rx->xprt);
	/* sunrpc has whoever sends next send this, and its RPC would end with another error */
	return -ENOTCONN;
}

#endif /* CONFIG_SUNRPC_BACKCHANNEL */
