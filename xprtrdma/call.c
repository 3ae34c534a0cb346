// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From an RPC Call to one chain of WRs: the short ways of those that offer no chunk, and
 * for all of them REG_MR ... REG_MR, SEND with one doorbell.
 */
#include "rpcrdma/rpc.h"
#include "xprt_rdma.h"

static void rpcrdma_send_done(struct rpcrdma_chain *chain,
			      enum ib_wc_status status)
{
	struct rpcrdma_req *req =
		container_of(chain, struct rpcrdma_req, chain);

	rpcrdma_body_unmap(chain->ep, req);
	if (unlikely(req->hdr_before.data))
		rpcrdma_dmabuf_free(&req->hdr_before);
	/* Pairs with rpcrdma_fenced() */
	smp_store_release(&req->sending, false);
	if (wq_has_sleeper(&req->rx->fence_wait))
		wake_up_all(&req->rx->fence_wait);
	rpcrdma_req_put(req);
}

static void rpcrdma_build_chain(struct rpcrdma_ep *ep, struct rpcrdma_req *req)
{
	void (*done)(struct rpcrdma_chain *chain, enum ib_wc_status status) =
		unlikely(req->mapped || req->hdr_before.data) ?
		rpcrdma_send_done : NULL;
	struct rpcrdma_mr *mr;

	if (likely(list_empty(&req->mrs))) {
		rpcrdma_chain_init_one(ep, &req->chain, &req->send_wr, done);
		return;
	}
	rpcrdma_chain_init(&req->chain, done);
	list_for_each_entry(mr, &req->mrs, list) {
		mr->xid = be32_to_cpu(req->rqst.rq_xid);
		rpcrdma_chain_append(ep, &req->chain, &mr->reg.wr);
	}
	rpcrdma_chain_append(ep, &req->chain, &req->send_wr);
}

/* Pages that are not there yet go the long way, to be filled in */
static bool rpcrdma_call_is_plain(const struct rpcrdma_xprt *rx,
				  const struct rpcrdma_req *req)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	const struct xdr_buf *rcv = &req->rqst.rq_rcv_buf;

	return !(rcv->flags & XDRBUF_SPARSE_PAGES) &&
	       rpcrdma_plan_is_plain(&rx->plain, snd->page_len, rcv->buflen,
				     snd->head[0].iov_len +
				     snd->tail[0].iov_len);
}

/*
 * What rpcrdma_call_prepare() does for such a Call, and no more: without a
 * chunk there is no handle to name, and the form names none.
 */
static int rpcrdma_call_prepare_plain(struct rpcrdma_ep *ep,
				      struct rpcrdma_req *req)
{
	const struct kvec *head = &req->rqst.rq_snd_buf.head[0];
	const struct kvec *tail = &req->rqst.rq_snd_buf.tail[0];
	u32 body = head->iov_len + tail->iov_len;
	struct rpcrdma_enc *enc = &req->enc;
	void *to;

	if (rpcrdma_req_map(ep, req))
		return -ENOBUFS;
	rpcrdma_enc_init(enc, req->hdr.data, req->hdr.size - body);
	rpcrdma_enc_plain(enc,
			  be32_to_cpu(req->rqst.rq_xid),
			  ep->sizes.credits, &req->form);
	if (WARN_ON_ONCE(enc->overflow ||
			 enc->len + body > req->rx->inline_send))
		return -EMSGSIZE;

	to = req->hdr.data + enc->len;
	memcpy(to, head->iov_base, head->iov_len);
	if (tail->iov_len)
		memcpy(to + head->iov_len, tail->iov_base, tail->iov_len);
	rpcrdma_req_fill(req, enc->len + body);
	return 0;
}

/* A WRITE of some KiB, most often: page data that the device gathers, and no chunk */
static bool rpcrdma_call_is_gathered(const struct rpcrdma_xprt *rx,
				     const struct rpcrdma_ep *ep,
				     const struct rpcrdma_req *req)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	const struct xdr_buf *rcv = &req->rqst.rq_rcv_buf;

	return rpcrdma_plan_is_plain(&rx->gathered, 0, rcv->buflen,
				     (u64)snd->head[0].iov_len +
				     snd->page_len + snd->tail[0].iov_len) &&
	       rpcrdma_plan_gathers(snd->page_len, rpcrdma_page_count(snd),
				    XPRT_RDMA_PULLUP_MAX, rpcrdma_page_sges(ep)) &&
	       !(rcv->flags & XDRBUF_SPARSE_PAGES);
}

/* What rpcrdma_call_prepare() does for such a Call */
static noinline int rpcrdma_call_prepare_gathered(struct rpcrdma_ep *ep,
						  struct rpcrdma_req *req)
{
	struct rpcrdma_body body = {
		.snd = &req->rqst.rq_snd_buf,
		.pages = req->rqst.rq_snd_buf.page_len,
	};

	if (rpcrdma_req_map(ep, req))
		return -ENOBUFS;
	rpcrdma_enc_init(&req->enc, req->hdr.data,
			 min(req->hdr.size, req->rx->inline_send));
	rpcrdma_enc_plain(&req->enc,
			  be32_to_cpu(req->rqst.rq_xid),
			  ep->sizes.credits, &req->form);
	if (WARN_ON_ONCE(req->enc.overflow))
		return -EMSGSIZE;
	return rpcrdma_body_put(ep, req, req->enc.len, &body);
}

/* Of memory that the device cannot register there is a line already */
static void rpcrdma_call_failed(struct rpcrdma_ep *ep, struct rpcrdma_req *req, int rc)
{
	req->rx->stats.failed_marshal_count++;
	if (rc == -EMSGSIZE)
		rpcrdma_ep_warn(ep, "a call of %u octets, XID 0x%08x, cannot be sent: %s",
				req->rqst.rq_snd_buf.len,
				be32_to_cpu(req->rqst.rq_xid),
				req->enc.overflow ?
				"its header has no room for its chunks" :
				"the device gathers too few pieces of memory");
}

/* Called with rx->lock. Nothing stays mapped or registered upon an error. */
static int rpcrdma_call_send(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep,
			     struct rpcrdma_req *req)
{
	int rc;

	req->form = rx->plain_form;
	req->write_offered = 0;
	req->reply_offered = 0;
	if (rpcrdma_call_is_plain(rx, req))
		rc = rpcrdma_call_prepare_plain(ep, req);
	else if (rpcrdma_call_is_gathered(rx, ep, req))
		rc = rpcrdma_call_prepare_gathered(ep, req);
	else
		rc = rpcrdma_call_prepare(rx, ep, req);
	if (!rc) {
		rpcrdma_build_chain(ep, req);
		req->rqst.rq_xtime = ktime_get();
		rc = rpcrdma_req_post(ep, req);
		if (likely(!rc)) {
			rpcrdma_version_sent(rx);
			return 0;
		}
	}
	rpcrdma_body_unmap(ep, req);
	if (rc == -EAGAIN)
		rpcrdma_mrs_return(rx, &req->mrs);
	else
		rpcrdma_mrs_put(rx, &req->mrs);
	if (rc != -EAGAIN && rc != -ENOTCONN)
		rpcrdma_call_failed(ep, req, rc);
	return rc;
}

static int rpcrdma_send_locked(struct rpcrdma_xprt *rx, struct rpcrdma_req *req)
{
	int rc = -ENOTCONN;

	mutex_lock(&rx->lock);
	/* MRs left over: a Reply came while the RPC was between two states */
	if (rx->ep && rpcrdma_ep_live(rx->ep) && list_empty(&req->mrs))
		rc = rpcrdma_call_send(rx, rx->ep, req);
	mutex_unlock(&rx->lock);
	return rc;
}

/**
 * xprt_rdma_send_request - send a Call, or the Reply to a callback
 * @rqst: encoded
 *
 * No Call is sent twice on one connection: the server would answer both, and
 * the second Reply has no credit. The connection is given up instead. That is
 * also what becomes of a Call that expects no Reply.
 *
 * Context: process, with the transport's send lock; in reclaim.
 *
 * Return: 0, also when it can never be sent, which ends the RPC with -EMSGSIZE or -EIO;
 * -ENOTCONN to connect and come again; -EAGAIN to come again when xprt_write_space()
 * says so; -EBADSLT to come again with a credit; -ENOBUFS to come again later.
 */
int xprt_rdma_send_request(struct rpc_rqst *rqst)
{
	struct rpcrdma_req *req = to_rpcrdma_req(rqst);
	struct rpcrdma_xprt *rx = req->rx;
	struct rpc_xprt *xprt = &rx->xprt;
	u32 len = rqst->rq_snd_buf.len;
	int rc;

#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	if (unlikely(bc_prealloc(rqst)))
		return rpcrdma_bc_send_reply(rqst);
#endif
	/*
	 * sunrpc of 6.1 comes with an RPC that timed out although the connection is to
	 * be closed for it. Its Reply may be arriving: the Call is not to be built anew
	 * beside that.
	 */
	if (unlikely(!xprt_connected(xprt) ||
		     test_bit(XPRT_CLOSE_WAIT, &xprt->state)))
		return -ENOTCONN;
	rc = -ENOTCONN;
	if (unlikely(rpcrdma_req_on_wire(req) || rpcrdma_req_sending(req)))
		goto out_disconnect;
	if (!xprt_request_get_cong(xprt, rqst)) {
		rpcrdma_credits_lacking(rx);
		return -EBADSLT;
	}

	rc = rpcrdma_send_locked(rx, req);
	if (rc == -ENOTCONN)
		goto out_disconnect;
	if (rc == -EAGAIN || rc == -ENOBUFS)
		return rc;
	if (unlikely(rc))
		return rpcrdma_rpc_unsendable(rqst, rc);
	/* The Reply may be here, but the caller has pinned @rqst */
	rqst->rq_xmit_bytes_sent += len;
	if (likely(rpc_reply_expected(rqst->rq_task)))
		return 0;

out_disconnect:
	xprt_force_disconnect(xprt);
	return rc;
}
