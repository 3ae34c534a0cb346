// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send a Call: plan how its bytes travel, register the memory that the server
 * reads and writes, encode the Transport Header, copy the inline part, and post
 * REG_MR ... REG_MR, SEND as one chain, with one doorbell.
 */
#include <linux/gfp.h>

#include "rpcrdma/trace.h"
#include "xprt_rdma.h"

/**
 * struct xprt_rdma_call - one Call while it is marshalled
 * @rx: transport
 * @ep: its connection
 * @req: request
 * @snd: the Call
 * @rcv: where the Reply will be
 * @plan: how they travel
 * @enc: writes the Transport Header
 * @next: the first MR that is not encoded yet
 * @reads: MRs of the Read chunk, the first ones of the request
 * @writes: MRs of the Write chunk, behind them
 * @replies: MRs of the Reply chunk, behind these
 */
struct xprt_rdma_call {
	struct xprt_rdma *rx;
	struct rpcrdma_ep *ep;
	struct xprt_rdma_req *req;
	const struct xdr_buf *snd;
	struct xdr_buf *rcv;
	struct xprt_rdma_call_plan plan;
	struct rpcrdma_enc enc;
	struct xprt_rdma_mr *next;
	int reads;
	int writes;
	int replies;
};

/*
 * XDR roundup of the page data at the start of the tail. The Upper Layer puts
 * it there whenever it writes pages of unaligned length.
 */
static u32 xprt_rdma_tail_pad(const struct xdr_buf *snd)
{
	return min_t(u32, xdr_pad_size(snd->page_len), snd->tail[0].iov_len);
}

static void xprt_rdma_plan(struct xprt_rdma_call *call)
{
	const struct xprt_rdma *rx = call->rx;
	struct xprt_rdma_call_shape shape = {
		.head = call->snd->head[0].iov_len,
		.pages = call->snd->page_len,
		.tail = call->snd->tail[0].iov_len,
		.tail_pad = xprt_rdma_tail_pad(call->snd),
		.call_ddp = call->snd->flags & XDRBUF_WRITE,
		.reply_max = call->rcv->buflen,
		.reply_pages = call->rcv->page_len,
		.reply_ddp = call->rcv->flags & XDRBUF_READ,
		.no_ddp = test_bit(RPCAUTH_AUTH_DATATOUCH,
				   &call->req->rqst.rq_cred->cr_auth->au_flags),
		.option = rx->version.plain_form.option,
		.inline_send = rx->inline_send,
		.inline_recv = rx->inline_recv,
		.write_pad = !READ_ONCE(xprt_rdma_pad_optimize),
		.mr_bytes = (call->ep->sizes.mr_pages - 1) << PAGE_SHIFT,
	};

	xprt_rdma_plan_call(&call->plan, &shape);
	/* Version 2 may write a header with chunks in a longer form */
	if (rx->version.form.option == shape.option ||
	    (call->plan.mode == XPRT_RDMA_CALL_INLINE &&
	     !call->plan.write_list && !call->plan.reply_chunk))
		return;
	shape.option = !shape.option;
	xprt_rdma_plan_call(&call->plan, &shape);
}

/*
 * ACLs: the Upper Layer leaves the allocation of pages to the transport, which
 * cannot wait until it knows how many the Reply needs. The Calls behind this
 * one wait as well, and some of them may write pages whose memory is needed
 * here: so no allocation waits for writeback.
 */
static int xprt_rdma_fill_sparse_pages(struct xdr_buf *rcv)
{
	struct page **pages = rcv->pages + (rcv->page_base >> PAGE_SHIFT);
	gfp_t gfp = rpc_task_gfp_mask() | __GFP_NORETRY | __GFP_NOWARN;
	u32 i, count = PAGE_ALIGN(offset_in_page(rcv->page_base) +
				  rcv->page_len) >> PAGE_SHIFT;

	for (i = 0; i < count; i++) {
		if (!pages[i])
			pages[i] = alloc_page(gfp);
		if (!pages[i])
			return -ENOBUFS;
	}
	return 0;
}

/* The last segment of a Write chunk is for the roundup, which nothing reads */
static void xprt_rdma_map_pad(struct xprt_rdma_call *call)
{
	const struct kvec *tail = &call->rcv->tail[0];
	struct xdr_buf pad = {
		.tail[0].iov_base = tail->iov_base,
		.tail[0].iov_len = min_t(size_t, tail->iov_len,
					 call->plan.write_pad),
	};
	int rc;

	rc = xprt_rdma_mrs_map(call->req, &pad, BIT(XPRT_RDMA_TAIL), true);
	call->writes = rc < 0 ? rc : call->writes + rc;
}

/*
 * The data item of a Read chunk goes without its XDR roundup (RFC 8166,
 * 3.4.5.2), and so does that of a Write chunk (3.4.6.2), unless the setting
 * rdma_pad_optimize is 0. A Position-Zero chunk is the whole message.
 */
static int xprt_rdma_map_chunks(struct xprt_rdma_call *call)
{
	const struct xprt_rdma_call_plan *plan = &call->plan;
	struct xprt_rdma_req *req = call->req;
	const unsigned int all = BIT(XPRT_RDMA_RANGES) - 1;
	unsigned int parts = all;

	if (plan->mode == XPRT_RDMA_CALL_READ_CHUNK)
		call->reads = xprt_rdma_mrs_map(req, call->snd,
						BIT(XPRT_RDMA_PAGES), false);
	else if (plan->mode == XPRT_RDMA_CALL_POSITION_ZERO)
		call->reads = xprt_rdma_mrs_map(req, call->snd, all, false);
	if (call->reads < 0)
		return call->reads;
	if (plan->write_list) {
		parts &= ~BIT(XPRT_RDMA_PAGES);
		call->writes = xprt_rdma_mrs_map(req, call->rcv,
						 BIT(XPRT_RDMA_PAGES), true);
	}
	if (unlikely(plan->write_pad) && call->writes > 0)
		xprt_rdma_map_pad(call);
	if (call->writes < 0)
		return call->writes;
	if (plan->reply_chunk)
		call->replies = xprt_rdma_mrs_map(req, call->rcv, parts, true);
	return min(call->replies, 0);
}

/*
 * Encode the next @nr MRs. Segments of a Read chunk have a @position, others
 * NULL. Return: their bytes
 */
static u32 xprt_rdma_encode_segments(struct xprt_rdma_call *call, int nr,
				     const u32 *position)
{
	struct rpcrdma_segment seg;
	struct ib_mr *mr;
	u32 bytes = 0;

	for (; nr; nr--) {
		mr = call->next->mr;
		seg.handle = mr->rkey;
		seg.length = mr->length;
		seg.offset = mr->iova;
		if (position)
			rpcrdma_enc_read_segment(&call->enc, *position, &seg);
		else
			rpcrdma_enc_segment(&call->enc, &seg);
		bytes += seg.length;
		call->next = list_next_entry(call->next, list);
	}
	return bytes;
}

/*
 * The chunk lists, from MRs in their order; notes the bytes a Reply may return.
 * Positions count from the beginning of the message (RFC 8166, 3.4.5).
 */
static void xprt_rdma_encode_lists(struct xprt_rdma_call *call)
{
	u32 position = call->plan.mode == XPRT_RDMA_CALL_POSITION_ZERO ?
		       0 : call->snd->head[0].iov_len;
	struct xprt_rdma_stats *stats = &call->rx->stats;
	struct xprt_rdma_req *req = call->req;
	struct rpcrdma_enc *enc = &call->enc;

	call->next = list_first_entry(&req->mrs, struct xprt_rdma_mr, list);
	xprt_rdma_encode_segments(call, call->reads, &position);
	rpcrdma_enc_list_end(enc);
	if (call->writes)
		rpcrdma_enc_write_chunk(enc, call->writes);
	req->write_offered = xprt_rdma_encode_segments(call, call->writes,
						       NULL);
	rpcrdma_enc_list_end(enc);
	if (call->replies)
		rpcrdma_enc_write_chunk(enc, call->replies);
	else
		rpcrdma_enc_list_end(enc);
	req->reply_offered = xprt_rdma_encode_segments(call, call->replies,
						       NULL);
	/* As in the stock module: segments, and bytes that a server may write */
	stats->read_chunk_count += call->reads;
	stats->write_chunk_count += call->writes;
	stats->reply_chunk_count += call->replies;
	stats->total_rdma_request += req->write_offered + req->reply_offered;
}

static int xprt_rdma_encode_header(struct xprt_rdma_call *call, u32 max)
{
	bool nomsg = call->plan.mode == XPRT_RDMA_CALL_POSITION_ZERO;
	struct xprt_rdma_req *req = call->req;
	struct rpcrdma_enc *enc = &call->enc;

	xprt_rdma_version_form(call->rx, req);
	rpcrdma_enc_init(enc, req->hdr.data, max);
	rpcrdma_enc_begin(enc, be32_to_cpu(req->rqst.rq_xid),
			  call->ep->sizes.credits,
			  nomsg ? RPCRDMA_NOMSG : RPCRDMA_MSG, &req->form);
	xprt_rdma_encode_lists(call);
	rpcrdma_enc_end(enc);
	call->rx->stats.nomsg_call_count += nomsg;
	return enc->overflow ? -EMSGSIZE : 0;
}

/*
 * Copying costs less than mapping pages and unmapping them at the completion of
 * the Send. The Send need not be signalled, nor the RPC wait for it.
 */
static int xprt_rdma_copy_inline(struct xprt_rdma_call *call, u32 pages,
				 u32 skip)
{
	const struct xdr_buf *snd = call->snd;
	const struct kvec *head = &snd->head[0], *tail = &snd->tail[0];
	void *to = call->req->hdr.data + call->enc.len;

	memcpy(to, head->iov_base, head->iov_len);
	to += head->iov_len;
	if (pages) {
		if (read_bytes_from_xdr_buf(snd, head->iov_len, to, pages))
			return -EIO;
		to += pages;
		call->rx->stats.pullup_copy_count += pages;
	}
	if (tail->iov_len > skip)
		memcpy(to, tail->iov_base + skip, tail->iov_len - skip);
	return 0;
}

/*
 * Make a Call ready to be posted, its MRs before its Send. The plan says that
 * the inline part fits behind the header.
 */
static int xprt_rdma_marshal(struct xprt_rdma_call *call)
{
	const struct xdr_buf *snd = call->snd;
	u32 pages = 0, skip = 0, len = 0;
	int rc;

	if ((call->rcv->flags & XDRBUF_SPARSE_PAGES) &&
	    xprt_rdma_fill_sparse_pages(call->rcv))
		return -ENOBUFS;
	xprt_rdma_plan(call);
	if (call->plan.mode != XPRT_RDMA_CALL_POSITION_ZERO) {
		if (call->plan.mode == XPRT_RDMA_CALL_READ_CHUNK)
			skip = xprt_rdma_tail_pad(snd);
		else
			pages = snd->page_len;
		len = snd->head[0].iov_len + pages +
		      snd->tail[0].iov_len - skip;
	}
	rc = xprt_rdma_map_chunks(call);
	if (!rc)
		rc = xprt_rdma_encode_header(call, call->rx->inline_send - len);
	if (!rc && len)
		rc = xprt_rdma_copy_inline(call, pages, skip);
	if (!rc && xprt_rdma_req_prepare(call->ep, call->req,
					 call->enc.len + len))
		rc = -ENOBUFS;
	return rc;
}

/*
 * A Call is to wait for a credit; called with the send lock. Until then sunrpc
 * wakes no sender. The Reply to a callback needs no credit and goes before the
 * Calls, but sunrpc may have queued it after it last looked at the queue. It
 * would wait with them, and the server may answer none of them before it has
 * that Reply (RFC 8167, 4.1).
 *
 * If no RPC has a credit, aborted ones keep all that there are Receives for, and
 * memory for more is short: no Reply can be relied on to wake a sender.
 */
static int xprt_rdma_credits_lacking(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;
	bool none = !READ_ONCE(xprt->cong);
	struct rpc_rqst *first;

	/* sunrpc clears the bit and queues the Reply under this lock */
	spin_lock(&xprt->queue_lock);
	first = list_first_entry_or_null(&xprt->xmit_queue, struct rpc_rqst,
					 rq_xmit);
	if (none || (first && first->rq_cong))
		clear_bit(XPRT_CWND_WAIT, &xprt->state);
	spin_unlock(&xprt->queue_lock);
	return none ? -ENOBUFS : -EBADSLT;
}

/*
 * Called with rx->lock. A request that is on the wire, or whose MRs are being
 * invalidated after its Reply, is not sent twice on one connection: the server
 * would answer both, and the second Reply has no credit.
 *
 * Return: 0; -ENOTCONN to connect first; -EBADSLT to wait for a credit; -ENOBUFS
 * to retry later.
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
	if (xprt_request_get_cong(xprt, &req->rqst) ||
	    (xprt_rdma_credits_grow(rx) &&
	     xprt_request_get_cong(xprt, &req->rqst)))
		return 0;
	return xprt_rdma_credits_lacking(rx);
}

/*
 * Called with rx->lock, in reclaim. Return: 0; -EAGAIN if MRs are exhausted,
 * -ENOBUFS if memory is; -ENOTCONN; -EMSGSIZE or -EIO if the Call can never be
 * sent. After an error nothing is mapped or registered.
 */
static int xprt_rdma_send_call(struct xprt_rdma *rx, struct xprt_rdma_req *req)
{
	struct xprt_rdma_call call = {
		.rx = rx,
		.ep = rx->ep,
		.req = req,
		.snd = &req->rqst.rq_snd_buf,
		.rcv = &req->rqst.rq_rcv_buf,
	};
	u32 xid = be32_to_cpu(req->rqst.rq_xid);
	struct xprt_rdma_mr *mr;
	int rc;

	rc = xprt_rdma_marshal(&call);
	if (!rc) {
		/* The Reply shows that the Send is complete: no signal */
		rpcrdma_chain_init(&req->chain, NULL);
		list_for_each_entry(mr, &req->mrs, list) {
			mr->xid = xid;
			trace_xprtrdma_mr_map(rx->ep, xid, mr->mr);
			rpcrdma_chain_append(rx->ep, &req->chain, &mr->reg.wr);
		}
		rpcrdma_chain_append(rx->ep, &req->chain, &req->send_wr);
		trace_xprtrdma_marshal(rx->ep, xid, call.enc.len,
				       req->sge.length, call.reads,
				       call.writes, call.replies);
		req->rqst.rq_xtime = ktime_get();
		rc = xprt_rdma_req_post(rx->ep, req);
	} else if (rc == -EMSGSIZE) {
		rpcrdma_ep_warn(rx->ep, "cannot send XID 0x%08x (%u bytes): no room for its chunks in the header",
				xid, call.snd->len);
	}
	req->starved = rc == -EAGAIN;
	if (!rc) {
		xprt_rdma_version_sent(rx, req->xid);
		return 0;
	}
	/* After -EAGAIN only this task waits: it would find no MR again */
	xprt_rdma_mrs_put(rx, &req->mrs, rc != -EAGAIN);
	if (rc != -EAGAIN && rc != -ENOTCONN)
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

	if (unlikely(bc_prealloc(rqst)))
		return xprt_rdma_bc_send_reply(rqst);
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
