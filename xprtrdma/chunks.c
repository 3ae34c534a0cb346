// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A Call that needs a plan: choose how its octets travel, register what the server will
 * read and write, encode the Transport Header with the chunks.
 */
#include <linux/gfp.h>

#include "xprt_rdma.h"

/**
 * struct rpcrdma_call - one Call while it is prepared
 * @rx: transport
 * @ep: its connection
 * @req: request
 * @snd: the Call
 * @rcv: where the Reply will be
 * @plan: how they travel
 * @reads: MRs of the Read chunk; those of all chunks are in the request, in this order
 * @writes: MRs of the Write chunk
 * @replies: MRs of the Reply chunk
 */
struct rpcrdma_call {
	struct rpcrdma_xprt *rx;
	struct rpcrdma_ep *ep;
	struct rpcrdma_req *req;
	const struct xdr_buf *snd;
	struct xdr_buf *rcv;
	struct rpcrdma_call_plan plan;
	int reads;
	int writes;
	int replies;
};

/*
 * XDR roundup of the page data at the start of the tail. The Upper Layer puts
 * it there whenever it writes pages of unaligned length.
 */
static u32 rpcrdma_tail_pad(const struct xdr_buf *snd)
{
	return min_t(u32, xdr_pad_size(snd->page_len), snd->tail[0].iov_len);
}

static void rpcrdma_call_plan_modes(struct rpcrdma_call *call)
{
	const struct rpc_rqst *rqst = &call->req->rqst;
	const struct rpcrdma_ep *ep = call->ep;
	struct rpcrdma_call_shape shape = {
		.head = call->snd->head[0].iov_len,
		.pages = call->snd->page_len,
		.tail = call->snd->tail[0].iov_len,
		.tail_pad = rpcrdma_tail_pad(call->snd),
		.page_count = rpcrdma_page_count(call->snd),
		.call_ddp = call->snd->flags & XDRBUF_WRITE,
		.reply_max = call->rcv->buflen,
		.reply_pages = call->rcv->page_len,
		.reply_ddp = call->rcv->flags & XDRBUF_READ,
		.no_ddp = test_bit(RPCAUTH_AUTH_DATATOUCH,
				   &rqst->rq_cred->cr_auth->au_flags),
		.option = call->req->form.option,
		.inline_send = call->rx->inline_send,
		.inline_recv = call->rx->inline_recv,
		.pullup_max = XPRT_RDMA_PULLUP_MAX,
		.page_sges = rpcrdma_page_sges(ep),
		.mr_bytes = (ep->sizes.mr_pages - 1) << PAGE_SHIFT,
	};

	rpcrdma_plan_call(&call->plan, &shape);
}

static gfp_t rpcrdma_call_gfp(void)
{
	return rpc_task_gfp_mask() | __GFP_NORETRY | __GFP_NOWARN;
}

/*
 * ACLs: the Upper Layer leaves the allocation of pages to the transport,
 * which cannot wait until it knows how many the Reply needs. Calls behind this one wait for
 * it, too, and some of them may write what would give memory back: so pages that are clean
 * are taken.
 */
static int rpcrdma_fill_sparse_pages(struct xdr_buf *rcv)
{
	struct page **pages = rcv->pages + (rcv->page_base >> PAGE_SHIFT);
	u32 i, count = rpcrdma_page_count(rcv);

	for (i = 0; i < count; i++) {
		if (!pages[i])
			pages[i] = alloc_page(rpcrdma_call_gfp());
		if (!pages[i])
			return -ENOBUFS;
	}
	return 0;
}

static void rpcrdma_segment_of(const struct rpcrdma_mr *mr,
			       struct rpcrdma_segment *seg)
{
	seg->handle = mr->mr->rkey;
	seg->length = mr->mr->length;
	seg->offset = mr->mr->iova;
}

/* Return: MRs of a chunk, or an error. With them all that was mapped is the request's. */
static int rpcrdma_call_map(struct rpcrdma_call *call, const struct xdr_buf *buf,
			    unsigned int parts, bool remote_write)
{
	return rpcrdma_mrs_map(call->rx, &call->req->mrs, buf, parts,
			       remote_write);
}

/*
 * The data item of a Read chunk goes without its XDR roundup (RFC 8166,
 * section 3.4.5.2); a Position-Zero chunk is the whole message as it is.
 */
static int rpcrdma_map_reads(struct rpcrdma_call *call)
{
	switch (call->plan.mode) {
	case RPCRDMA_CALL_READ_CHUNK:
		return rpcrdma_call_map(call, call->snd, RPCRDMA_PART_PAGES,
					false);
	case RPCRDMA_CALL_POSITION_ZERO:
		return rpcrdma_call_map(call, call->snd, RPCRDMA_PART_ALL,
					false);
	default:
		return 0;
	}
}

/* What the server will read and write; no XDR roundup: RFC 8166, section 3.4.6.2 */
static int rpcrdma_map_chunks(struct rpcrdma_call *call)
{
	const struct rpcrdma_call_plan *plan = &call->plan;

	call->reads = rpcrdma_map_reads(call);
	if (call->reads < 0)
		return call->reads;
	if (plan->write_list)
		call->writes = rpcrdma_call_map(call, call->rcv,
						RPCRDMA_PART_PAGES, true);
	if (call->writes < 0)
		return call->writes;
	if (plan->reply_chunk)
		call->replies = rpcrdma_call_map(call, call->rcv,
						 plan->write_list ?
						 RPCRDMA_PART_HEAD | RPCRDMA_PART_TAIL :
						 RPCRDMA_PART_ALL, true);
	return min(call->replies, 0);
}

/* Positions count from the beginning of the message: RFC 8166, section 3.4.5 */
static u32 rpcrdma_read_position(const struct rpcrdma_call *call)
{
	return call->plan.mode == RPCRDMA_CALL_POSITION_ZERO ?
	       0 : call->snd->head[0].iov_len;
}

/* Return: the MR behind them */
static struct rpcrdma_mr *rpcrdma_encode_reads(struct rpcrdma_call *call,
					       struct rpcrdma_mr *mr)
{
	u32 position = rpcrdma_read_position(call);
	struct rpcrdma_segment seg;
	int i;

	for (i = 0; i < call->reads; i++, mr = list_next_entry(mr, list)) {
		rpcrdma_segment_of(mr, &seg);
		rpcrdma_enc_read_segment(&call->req->enc, position, &seg);
	}
	return mr;
}

/* Return: the MR behind them */
static struct rpcrdma_mr *rpcrdma_encode_segments(struct rpcrdma_call *call,
						  struct rpcrdma_mr *mr, int nr)
{
	struct rpcrdma_segment seg;

	for (; nr; nr--, mr = list_next_entry(mr, list)) {
		rpcrdma_segment_of(mr, &seg);
		rpcrdma_enc_segment(&call->req->enc, &seg);
	}
	return mr;
}

/* The chunk lists, from MRs in their order */
static void rpcrdma_encode_lists(struct rpcrdma_call *call)
{
	struct rpcrdma_enc *enc = &call->req->enc;
	struct rpcrdma_mr *mr;

	mr = list_first_entry(&call->req->mrs, struct rpcrdma_mr, list);
	mr = rpcrdma_encode_reads(call, mr);
	rpcrdma_enc_list_end(enc);
	if (call->writes) {
		rpcrdma_enc_write_chunk(enc, call->writes);
		mr = rpcrdma_encode_segments(call, mr, call->writes);
	}
	rpcrdma_enc_list_end(enc);
	if (call->replies) {
		rpcrdma_enc_reply_chunk(enc, call->replies);
		rpcrdma_encode_segments(call, mr, call->replies);
	} else {
		rpcrdma_enc_list_end(enc);
	}
}

/*
 * The handle that costs most to invalidate. Each was registered for this RPC
 * alone, so that none must stay valid.
 */
static u32 rpcrdma_best_handle(const struct rpcrdma_req *req)
{
	struct rpcrdma_segment best = { .length = 0 }, seg;
	struct rpcrdma_mr *mr;

	list_for_each_entry(mr, &req->mrs, list) {
		rpcrdma_segment_of(mr, &seg);
		rpcrdma_longer_segment(&best, &seg);
	}
	return best.handle;
}

/* Octets of @nr MRs, from @mr on, which is the one behind them then */
static u32 rpcrdma_mrs_length(struct rpcrdma_mr **mr, int nr)
{
	u32 bytes = 0;

	for (; nr; nr--, *mr = list_next_entry(*mr, list))
		bytes += (*mr)->mr->length;
	return bytes;
}

/* What the Reply may have in its chunks; and statistics */
static void rpcrdma_note_chunks(struct rpcrdma_call *call)
{
	struct rpcrdma_xprt_stats *stats = &call->rx->stats;
	struct rpcrdma_req *req = call->req;
	struct rpcrdma_mr *mr;

	mr = list_first_entry(&req->mrs, struct rpcrdma_mr, list);
	stats->total_rdma_request += rpcrdma_mrs_length(&mr, call->reads);
	req->write_offered = rpcrdma_mrs_length(&mr, call->writes);
	req->reply_offered = rpcrdma_mrs_length(&mr, call->replies);
	stats->read_chunk_count += !!call->reads;
	stats->write_chunk_count += !!call->writes;
	stats->reply_chunk_count += !!call->replies;
}

/* A chunk of one segment is all that most have that have any */
static bool rpcrdma_encode_one(struct rpcrdma_call *call, u32 xid,
			       bool invalidates)
{
	struct rpcrdma_req *req = call->req;
	struct rpcrdma_segment seg;

	if (call->reads + call->writes != 1 || call->replies ||
	    call->plan.mode == RPCRDMA_CALL_POSITION_ZERO)
		return false;
	rpcrdma_segment_of(list_first_entry(&req->mrs, struct rpcrdma_mr, list),
			   &seg);
	if (invalidates)
		req->form.inv_handle = seg.handle;
	if (call->writes)
		rpcrdma_enc_one_write(&req->enc, xid, call->ep->sizes.credits,
				      &req->form, &seg);
	else
		rpcrdma_enc_one_read(&req->enc, xid, call->ep->sizes.credits,
				     &req->form, call->snd->head[0].iov_len, &seg);
	return true;
}

static int rpcrdma_encode_header(struct rpcrdma_call *call)
{
	struct rpcrdma_req *req = call->req;
	bool zero = call->plan.mode == RPCRDMA_CALL_POSITION_ZERO;
	bool invalidates;
	u32 xid = be32_to_cpu(req->rqst.rq_xid);

	rpcrdma_enc_init(&req->enc, req->hdr.data,
			 min(req->hdr.size, call->rx->inline_send));
	if (list_empty(&req->mrs)) {
		req->form = call->rx->plain_form;
		rpcrdma_enc_plain(&req->enc, xid, call->ep->sizes.credits,
				  &req->form);
		return req->enc.overflow ? -EMSGSIZE : 0;
	}
	rpcrdma_note_chunks(call);
	invalidates = rpcrdma_nego_invalidates(&call->rx->nego);
	if (!rpcrdma_encode_one(call, xid, invalidates)) {
		if (invalidates)
			req->form.inv_handle = rpcrdma_best_handle(req);
		rpcrdma_enc_begin(&req->enc, xid, call->ep->sizes.credits,
				  zero ? RPCRDMA_NOMSG : RPCRDMA_MSG, &req->form);
		rpcrdma_encode_lists(call);
		rpcrdma_enc_end(&req->enc);
	}
	call->rx->stats.nomsg_call_count += zero;
	return req->enc.overflow ? -EMSGSIZE : 0;
}

/* Short of a chunk, all of the Call is in the Send */
static int rpcrdma_prepare_send(struct rpcrdma_call *call)
{
	bool chunk = call->plan.mode == RPCRDMA_CALL_READ_CHUNK;
	struct rpcrdma_body body = {
		.snd = call->snd,
		.pages = chunk ? 0 : call->snd->page_len,
		.skip = chunk ? rpcrdma_tail_pad(call->snd) : 0,
	};

	if (call->plan.mode == RPCRDMA_CALL_POSITION_ZERO) {
		rpcrdma_req_fill(call->req, call->req->enc.len);
		return 0;
	}
	return rpcrdma_body_put(call->ep, call->req, call->req->enc.len, &body);
}

/* Octets of a Send that is all copied; the header is not encoded yet */
static u32 rpcrdma_pullup_len(const struct rpcrdma_call *call)
{
	bool chunks = call->plan.write_list || call->plan.reply_chunk;

	return call->snd->len + (chunks ? XPRT_RDMA_HDR_ROOM :
				 rpcrdma_form_len(&call->req->form));
}

/* Must all of the Call have room in the buffer that it is sent from? */
static bool rpcrdma_call_is_copied(const struct rpcrdma_call *call)
{
	switch (call->plan.mode) {
	case RPCRDMA_CALL_PULLUP:
		return true;
	case RPCRDMA_CALL_INLINE:
		/* A device that cannot even gather head and tail */
		return !rpcrdma_page_sges(call->ep);
	default:
		return false;
	}
}

/**
 * rpcrdma_call_prepare - make a Call ready to be posted, whatever it needs
 * @rx: transport
 * @ep: its connection
 * @req: request; what it has mapped and registered after an error is the caller's to
 *	give back, as after success
 *
 * Context: process, under rx->lock; in reclaim.
 *
 * Return: 0; -EAGAIN when MRs are exhausted, -ENOBUFS when memory is; -ENOTCONN;
 * -EMSGSIZE or -EIO if it can never be sent.
 */
int rpcrdma_call_prepare(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep,
			 struct rpcrdma_req *req)
{
	struct rpcrdma_call call = {
		.rx = rx,
		.ep = ep,
		.req = req,
		.snd = &req->rqst.rq_snd_buf,
		.rcv = &req->rqst.rq_rcv_buf,
	};
	int rc;

	req->form = rx->form;
	if (call.rcv->flags & XDRBUF_SPARSE_PAGES) {
		rc = rpcrdma_fill_sparse_pages(call.rcv);
		if (rc)
			return rc;
	}
	rpcrdma_call_plan_modes(&call);
	if (rpcrdma_call_is_copied(&call) &&
	    rpcrdma_req_reserve(req, rpcrdma_pullup_len(&call), rpcrdma_call_gfp()))
		return -ENOBUFS;
	if (rpcrdma_req_map(ep, req))
		return -ENOBUFS;
	rc = rpcrdma_map_chunks(&call);
	if (!rc)
		rc = rpcrdma_encode_header(&call);
	if (rc)
		return rc;
	return rpcrdma_prepare_send(&call);
}
