// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Marshal a Call: plan how its bytes travel, register the memory that the
 * server reads and writes, encode the Transport Header, copy the inline part.
 */
#include <linux/gfp.h>

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

static u32 xprt_rdma_page_count(const struct xdr_buf *buf)
{
	if (!buf->page_len)
		return 0;
	return DIV_ROUND_UP(offset_in_page(buf->page_base) + buf->page_len,
			    PAGE_SIZE);
}

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
		.option = xprt_rdma_version_option(rx, false),
		.inline_send = rx->inline_send,
		.inline_recv = rx->inline_recv,
		.mr_bytes = (call->ep->sizes.mr_pages - 1) << PAGE_SHIFT,
	};

	xprt_rdma_plan_call(&call->plan, &shape);
	/* Version 2 may write a header with chunks in a longer form */
	if (xprt_rdma_version_option(rx, true) == shape.option ||
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
	u32 i, count = xprt_rdma_page_count(rcv);

	for (i = 0; i < count; i++) {
		if (!pages[i])
			pages[i] = alloc_page(gfp);
		if (!pages[i])
			return -ENOBUFS;
	}
	return 0;
}

/*
 * The data item of a Read chunk goes without its XDR roundup (RFC 8166,
 * 3.4.5.2), and so does that of a Write chunk (3.4.6.2). A Position-Zero chunk
 * is the whole message.
 */
static int xprt_rdma_map_chunks(struct xprt_rdma_call *call)
{
	const struct xprt_rdma_call_plan *plan = &call->plan;
	struct list_head *mrs = &call->req->mrs;
	unsigned int parts = XPRT_RDMA_PART_ALL;

	if (plan->mode == XPRT_RDMA_CALL_READ_CHUNK)
		call->reads = xprt_rdma_mrs_map(call->rx, mrs, call->snd,
						XPRT_RDMA_PART_PAGES, false);
	else if (plan->mode == XPRT_RDMA_CALL_POSITION_ZERO)
		call->reads = xprt_rdma_mrs_map(call->rx, mrs, call->snd,
						XPRT_RDMA_PART_ALL, false);
	if (call->reads < 0)
		return call->reads;
	if (plan->write_list) {
		parts &= ~XPRT_RDMA_PART_PAGES;
		call->writes = xprt_rdma_mrs_map(call->rx, mrs, call->rcv,
						 XPRT_RDMA_PART_PAGES, true);
	}
	if (call->writes < 0)
		return call->writes;
	if (plan->reply_chunk)
		call->replies = xprt_rdma_mrs_map(call->rx, mrs, call->rcv,
						  parts, true);
	return min(call->replies, 0);
}

static void xprt_rdma_next_segment(struct xprt_rdma_call *call,
				   struct rpcrdma_segment *seg)
{
	struct ib_mr *mr = call->next->mr;

	seg->handle = mr->rkey;
	seg->length = mr->length;
	seg->offset = mr->iova;
	call->next = list_next_entry(call->next, list);
}

/*
 * Positions count from the beginning of the message (RFC 8166, 3.4.5).
 *
 * Return: bytes of the Read chunk.
 */
static u32 xprt_rdma_encode_reads(struct xprt_rdma_call *call)
{
	u32 position = call->plan.mode == XPRT_RDMA_CALL_POSITION_ZERO ?
		       0 : call->snd->head[0].iov_len;
	struct rpcrdma_segment seg;
	u32 bytes = 0;
	int i;

	for (i = 0; i < call->reads; i++) {
		xprt_rdma_next_segment(call, &seg);
		rpcrdma_enc_read_segment(&call->enc, position, &seg);
		bytes += seg.length;
	}
	return bytes;
}

/* Return: bytes of the @nr segments of a chunk */
static u32 xprt_rdma_encode_segments(struct xprt_rdma_call *call, int nr)
{
	struct rpcrdma_segment seg;
	u32 bytes = 0;

	for (; nr; nr--) {
		xprt_rdma_next_segment(call, &seg);
		rpcrdma_enc_segment(&call->enc, &seg);
		bytes += seg.length;
	}
	return bytes;
}

/* The chunk lists, from MRs in their order; notes the bytes a Reply may return */
static void xprt_rdma_encode_lists(struct xprt_rdma_call *call)
{
	struct xprt_rdma_stats *stats = &call->rx->stats;
	struct xprt_rdma_req *req = call->req;
	struct rpcrdma_enc *enc = &call->enc;

	call->next = list_first_entry(&req->mrs, struct xprt_rdma_mr, list);
	stats->total_rdma_request += xprt_rdma_encode_reads(call);
	rpcrdma_enc_list_end(enc);
	req->write_offered = 0;
	if (call->writes) {
		rpcrdma_enc_write_chunk(enc, call->writes);
		req->write_offered =
			xprt_rdma_encode_segments(call, call->writes);
	}
	rpcrdma_enc_list_end(enc);
	req->reply_offered = 0;
	if (call->replies) {
		rpcrdma_enc_write_chunk(enc, call->replies);
		req->reply_offered =
			xprt_rdma_encode_segments(call, call->replies);
	} else {
		rpcrdma_enc_list_end(enc);
	}
	stats->read_chunk_count += !!call->reads;
	stats->write_chunk_count += !!call->writes;
	stats->reply_chunk_count += !!call->replies;
}

static int xprt_rdma_encode_header(struct xprt_rdma_call *call, u32 max)
{
	bool nomsg = call->plan.mode == XPRT_RDMA_CALL_POSITION_ZERO;
	struct xprt_rdma_req *req = call->req;

	xprt_rdma_version_form(call->rx, req);
	rpcrdma_enc_init(&call->enc, req->hdr.data, max);
	rpcrdma_enc_begin(&call->enc,
			  be32_to_cpu(req->rqst.rq_xid),
			  call->ep->sizes.credits,
			  nomsg ? RPCRDMA_NOMSG : RPCRDMA_MSG, &req->form);
	xprt_rdma_encode_lists(call);
	rpcrdma_enc_end(&call->enc);
	call->rx->stats.nomsg_call_count += nomsg;
	return call->enc.overflow ? -EMSGSIZE : 0;
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

/* The plan says that the inline part fits behind the header */
static int xprt_rdma_call_build(struct xprt_rdma_call *call)
{
	const struct xdr_buf *snd = call->snd;
	u32 pages = 0, skip = 0, len = 0;
	int rc;

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
	if (!rc)
		xprt_rdma_req_fill(call->req, call->enc.len + len);
	return rc;
}

/*
 * Make a Call ready to be posted, its MRs before its Send; called with
 * rx->lock, in reclaim.
 *
 * Return: 0; -EAGAIN if MRs are exhausted, -ENOBUFS if memory is; -ENOTCONN;
 * -EMSGSIZE or -EIO if it can never be sent. After an error nothing is mapped.
 */
int xprt_rdma_marshal_req(struct xprt_rdma *rx, struct rpcrdma_ep *ep,
			  struct xprt_rdma_req *req)
{
	struct xprt_rdma_call call = {
		.rx = rx,
		.ep = ep,
		.req = req,
		.snd = &req->rqst.rq_snd_buf,
		.rcv = &req->rqst.rq_rcv_buf,
	};
	int rc = 0;

	if (call.rcv->flags & XDRBUF_SPARSE_PAGES)
		rc = xprt_rdma_fill_sparse_pages(call.rcv);
	if (!rc)
		rc = xprt_rdma_req_map(ep, req);
	if (rc)
		return -ENOBUFS;
	xprt_rdma_plan(&call);
	rc = xprt_rdma_call_build(&call);
	if (!rc)
		return 0;
	if (rc == -EAGAIN)
		xprt_rdma_mrs_return(rx, &req->mrs);
	else
		xprt_rdma_mrs_put(rx, &req->mrs);
	if (rc == -EMSGSIZE)
		rpcrdma_ep_warn(ep, "cannot send XID 0x%08x (%u bytes): no room for its chunks in the header",
				be32_to_cpu(req->rqst.rq_xid),
				call.snd->len);
	return rc;
}
