// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From a received message to a completed RPC: decode, match the XID, invalidate
 * the MRs, put the bytes where the Upper Layer expects them, complete.
 *
 * Inline bytes are copied and the Receive goes back at once, so that the
 * Receives posted are always those of the credits. The copy comes after the
 * MRs are unmapped, since it may go to memory that was offered to the peer.
 */

#include "rpcrdma/trace.h"
#include "xprt_rdma.h"

/*
 * An RPC message in two parts: the page data are in place, @body is the part
 * before them. The Upper Layer expects the page data where it expects the head
 * to end. A head of another length moves that point, as nothing follows the
 * page data: the verifier may be shorter or longer than that of earlier Replies.
 * The tail is only room behind the head.
 */
static int xprt_rdma_place_around(struct xprt_rdma_req *req, const u8 *body,
				  u32 len, u32 written)
{
	struct xdr_buf *buf = &req->rqst.rq_private_buf;
	struct kvec *head = &buf->head[0], *tail = &buf->tail[0];

	/* Without whole XDR units, page data would not begin with the pages */
	if (len % XDR_UNIT || head->iov_base != req->rbuf ||
	    len + tail->iov_len > req->rbuf_size)
		return -EIO;
	if (len > head->iov_len) {
		/* Other bytes than a verifier's would go before the data */
		if (len - head->iov_len >
		    rpcrdma_reply_verf_len(body ?: head->iov_base, len))
			return -EIO;
		/* A Reply chunk covers both: it is in place if they adjoin */
		if (!body && tail->iov_base != head->iov_base + head->iov_len)
			return -EIO;
		tail->iov_base = head->iov_base + len;
	}
	/* @body is NULL when it is in the Reply chunk */
	if (body)
		memcpy(head->iov_base, body, len);
	buf->buflen += len - (u32)head->iov_len;
	head->iov_len = len;
	req->rqst.rq_rcv_buf = *buf;
	return min_t(u32, len + xdr_align_size(written), buf->buflen);
}

/*
 * Return: bytes of the RPC message; -EIO; -EBADMSG if the Reply chunk holds
 * another message.
 */
static int xprt_rdma_place(struct xprt_rdma_req *req,
			   const struct rpcrdma_hdr *hdr)
{
	struct xdr_buf *buf = &req->rqst.rq_private_buf;
	const struct kvec *head = &buf->head[0];
	struct xprt_rdma_stats *stats = &req->rx->stats;
	const u8 *body = hdr->buf + hdr->body;
	u64 written = hdr->write_bytes;
	u32 len, first;

	if (xprt_rdma_no_common_version(hdr))
		return -EPROTONOSUPPORT;
	/* After RDMA_ERROR the same Call would fail again (RFC 8166, 4.5) */
	if (hdr->fault || hdr->proc == RPCRDMA_ERROR)
		return -EIO;
	if (!rpcrdma_reply_within(hdr, req->write_offered, req->reply_offered))
		return -EIO;
	stats->total_rdma_reply += written;
	if (hdr->proc != RPCRDMA_NOMSG && !written) {
		/* If it is too long it is cut, which its decoder will notice */
		len = min_t(u32, hdr->body_len, head->iov_len + buf->page_len +
						buf->tail[0].iov_len);
		first = min_t(u32, len, head->iov_len);
		memcpy(head->iov_base, body, first);
		if (len > first &&
		    write_bytes_to_xdr_buf(buf, first, (void *)body + first,
					   len - first))
			return -EIO;
		stats->fixup_copy_count += len - first;
		return len;
	}
	if (hdr->proc != RPCRDMA_NOMSG)
		return xprt_rdma_place_around(req, body, hdr->body_len,
					      written);
	stats->total_rdma_reply += hdr->reply_bytes;
	if (!rpcrdma_is_msg_of(head->iov_base, hdr, RPCRDMA_DIR_REPLY))
		return -EBADMSG;
	if (!req->write_offered)
		return hdr->reply_bytes;
	/* The Reply chunk covers the memory before and behind the data */
	return xprt_rdma_place_around(req, NULL, hdr->reply_bytes, written);
}

/* Malformed headers and RDMA_ERROR were logged by xprt_rdma_warn_about() */
static void xprt_rdma_bad_reply(struct rpcrdma_ep *ep,
				struct xprt_rdma_req *req,
				const struct rpcrdma_hdr *hdr, int err)
{
	if (!hdr->fault && hdr->proc != RPCRDMA_ERROR)
		rpcrdma_ep_warn(ep, "bad message, XID 0x%08x: %s", hdr->xid,
				err == -EBADMSG ?
				"no RPC Reply with its XID in its chunk" :
				"not within the chunks of its Call");
	req->rx->stats.bad_reply_count++;
}

/*
 * @req has no MRs left; the RPC layer has it pinned until here. The credit is
 * released here, not when the caller runs: frozen callers would hold all credits,
 * and no other Call could be sent.
 */
static void xprt_rdma_complete(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			       struct rpcrdma_recv *recv)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpc_xprt *xprt = &req->rx->xprt;
	int len;

	WARN_ON_ONCE(recv->hdr.xid != req->xid); /* I5 */
	WARN_ON_ONCE(!list_empty(&req->mrs)); /* I6 */
	if (unlikely(recv->hdr.proc == RPCRDMA_ERROR) &&
	    xprt_rdma_version_resend(req, &recv->hdr)) {
		rpcrdma_recv_put(recv);
		return;
	}
	len = xprt_rdma_place(req, &recv->hdr);
	if (unlikely(len <= 0))
		xprt_rdma_bad_reply(ep, req, &recv->hdr, len);
	rpcrdma_recv_put(recv);
	spin_lock(&xprt->transport_lock);
	xprt_release_rqst_cong(rqst->rq_task);
	spin_unlock(&xprt->transport_lock);
	spin_lock(&xprt->queue_lock);
	if (likely(len > 0))
		xprt_complete_rqst(rqst->rq_task, len);
	else
		rpcrdma_rpc_fail(rqst, len == -EPROTONOSUPPORT ? len : -EIO);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

static void xprt_rdma_unpin(struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	spin_lock(&xprt->queue_lock);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/*
 * If a LOCAL_INV failed the connection goes down, and the peer may reach the
 * MRs until the drain. The RPC stays pending until the next connection.
 */
static void xprt_rdma_inv_done(struct rpcrdma_chain *chain,
			       enum ib_wc_status status)
{
	struct xprt_rdma_req *req =
		container_of(chain, struct xprt_rdma_req, inv_chain);
	struct rpcrdma_recv *recv = req->recv;

	req->recv = NULL;
	if (unlikely(status != IB_WC_SUCCESS)) {
		rpcrdma_recv_put(recv);
		xprt_rdma_unpin(&req->rqst);
		return;
	}
	xprt_rdma_mrs_put(req->rx, &req->mrs, true);
	xprt_rdma_complete(chain->ep, req, recv);
}

/*
 * RFC 8797, 4.1: a Responder invalidates an rkey of the Call that it
 * answers, or none.
 */
static void xprt_rdma_bad_invalidation(struct rpcrdma_ep *ep)
{
	rpcrdma_ep_fail(ep, -EPROTO, "server invalidated an unexpected rkey");
}

/*
 * The request was on the wire and is the caller's. If the connection goes down
 * here, the RPC stays pending and is sent again on the next one.
 */
static void xprt_rdma_reply_matched(struct rpcrdma_ep *ep,
				    struct xprt_rdma_req *req,
				    struct rpcrdma_recv *recv)
{
	if (recv->invalidated && !xprt_rdma_mrs_put_rkey(req, recv->inv_rkey)) {
		xprt_rdma_bad_invalidation(ep);
		goto out_drop;
	}
	/* The server answers: no need to wait before we connect again */
	req->rx->xprt.reestablish_timeout = 0;
	if (likely(list_empty(&req->mrs))) {
		xprt_rdma_complete(ep, req, recv);
		return;
	}
	req->recv = recv;
	if (!xprt_rdma_mrs_invalidate(ep, req, xprt_rdma_inv_done))
		return;
	req->recv = NULL;

out_drop:
	rpcrdma_recv_put(recv);
	xprt_rdma_unpin(&req->rqst);
}

/* No RPC waits for it: aborted, answered before, or never sent */
static void xprt_rdma_reply_unmatched(struct rpcrdma_ep *ep,
				      struct rpcrdma_recv *recv)
{
	struct xprt_rdma *rx = ep->attr.owner;
	bool abandoned;

	abandoned = xprt_rdma_reqs_answer_abandoned(rx, recv->hdr.xid);
	/* The MRs of an aborted RPC are idle, or being invalidated */
	if (recv->invalidated &&
	    (!abandoned ||
	     xprt_rdma_mrs_in_use(rx, recv->inv_rkey, recv->hdr.xid)))
		xprt_rdma_bad_invalidation(ep);
	if (!abandoned)
		rx->stats.bad_reply_count++;
	rpcrdma_recv_put(recv);
}

/* Return: the request that @xid answers, pinned and taken off the wire */
static struct xprt_rdma_req *xprt_rdma_match(struct xprt_rdma *rx, u32 xid)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct xprt_rdma_req *req;
	struct rpc_rqst *rqst;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(xid));
	if (rqst)
		xprt_pin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	if (!rqst)
		return NULL;

	req = to_xprt_rdma_req(rqst);
	if (likely(xprt_rdma_req_answered(req)))
		return req;
	xprt_rdma_unpin(rqst);
	return NULL;
}

static void xprt_rdma_reply(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv)
{
	struct xprt_rdma *rx = ep->attr.owner;
	struct xprt_rdma_req *req;
	u32 credits = 0;

	req = xprt_rdma_match(rx, recv->hdr.xid);
	if (likely(xprt_rdma_version_settled(rx)) ||
	    xprt_rdma_version_heard(rx, ep, &recv->hdr))
		credits = rpcrdma_hdr_grant(&recv->hdr, ep->sizes.credits,
					    READ_ONCE(rx->granted), req);
	if (credits)
		xprt_rdma_credits_update(rx, ep, credits);
	if (req)
		xprt_rdma_reply_matched(ep, req, recv);
	else
		xprt_rdma_reply_unmatched(ep, recv);
}

static void xprt_rdma_warn_about(struct rpcrdma_ep *ep,
				 const struct rpcrdma_hdr *hdr)
{
	if (hdr->fault) {
		ep->count.bad_headers++;
		trace_xprtrdma_decode_err(ep, hdr->xid,
					  rpcrdma_fault_name(hdr->fault));
		rpcrdma_ep_warn(ep, "bad message, XID 0x%08x: %s", hdr->xid,
				rpcrdma_fault_name(hdr->fault));
	} else if (xprt_rdma_no_common_version(hdr)) {
		rpcrdma_ep_warn(ep, "no common version of RPC-over-RDMA: server supports only %u to %u",
				hdr->err_vers_low, hdr->err_vers_high);
	} else if (xprt_rdma_version_settled(ep->attr.owner)) {
		rpcrdma_ep_warn(ep, "server rejected XID 0x%08x: RDMA_ERROR %u, version %u",
				hdr->xid, hdr->errcode, hdr->vers);
	}
}

/* A fault was logged, but not that this was a callback */
static void xprt_rdma_reject(struct xprt_rdma *rx, struct rpcrdma_recv *recv,
			     enum rpcrdma_fault fault)
{
	const char *why = NULL;

	if (!fault)
		why = rpcrdma_hdr_has_chunks(&recv->hdr) ? "it has chunks" :
							   "no RPC Call in it";
	if (IS_ENABLED(CONFIG_SUNRPC_BACKCHANNEL))
		xprt_rdma_bc_send_rdma_error(rx, recv,
					     rpcrdma_fault_errcode(fault), why);
}

/* In the workqueue of the Receive CQ; @recv is ours until rpcrdma_recv_put() */
void xprt_rdma_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv)
{
	struct xprt_rdma *rx = ep->attr.owner;
	enum rpcrdma_fault fault;

	fault = rpcrdma_decode(&recv->hdr, recv->data, recv->len, &rx->limits);
	trace_xprtrdma_reply(ep, recv);
	if (fault || recv->hdr.proc == RPCRDMA_ERROR)
		xprt_rdma_warn_about(ep, &recv->hdr);
	switch (rpcrdma_dispatch(&recv->hdr, RPCRDMA_REQUESTER,
				 recv->invalidated)) {
	case RPCRDMA_ACT_FAIL_AND_ERROR:
		xprt_rdma_reject(rx, recv, fault);
		/* It may have been a Reply: see Documentation/version-two.rst */
		fallthrough;
	case RPCRDMA_ACT_REPLY:
	case RPCRDMA_ACT_FAIL:
		xprt_rdma_reply(ep, recv);
		return;
	case RPCRDMA_ACT_CALL:
		if (IS_ENABLED(CONFIG_SUNRPC_BACKCHANNEL))
			xprt_rdma_bc_received(rx, recv);
		break;
	case RPCRDMA_ACT_ERROR:
		xprt_rdma_reject(rx, recv, fault);
		break;
	case RPCRDMA_ACT_DROP:
		break;
	default:
		xprt_rdma_bad_invalidation(ep);
		break;
	}
	rpcrdma_recv_put(recv);
}
