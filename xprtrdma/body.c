// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The octets of a Call that travel in its Send, behind the Transport Header: copied
 * into the buffer that stays mapped, or mapped where they are.
 */
#include "xprt_rdma.h"

/* SGEs of a Send; header, head and tail take three */
#define OTHER_SGES	3U

static u32 rpcrdma_send_sges(const struct rpcrdma_ep *ep)
{
	return min(ep->sizes.send_sge, XPRT_RDMA_SEND_SGES);
}

/**
 * rpcrdma_page_sges - SGEs that a Send has for page data
 * @ep: endpoint
 *
 * Context: any.
 *
 * Return: their number, possibly 0.
 */
u32 rpcrdma_page_sges(const struct rpcrdma_ep *ep)
{
	return max(rpcrdma_send_sges(ep), OTHER_SGES) - OTHER_SGES;
}

/**
 * rpcrdma_body_unmap - undo what rpcrdma_body_put() mapped
 * @ep: endpoint
 * @req: request whose Send is complete, or was not posted
 *
 * Context: any.
 */
void rpcrdma_body_unmap(struct rpcrdma_ep *ep, struct rpcrdma_req *req)
{
	/* They follow the first, which is the buffer and stays mapped */
	while (req->mapped)
		rpcrdma_unmap_page(ep, &req->sges[req->mapped--],
				   DMA_TO_DEVICE);
	req->send_wr.num_sge = 1;
}

static int rpcrdma_map_sge(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			   struct page *page, u32 offset, u32 len)
{
	struct ib_send_wr *wr = &req->send_wr;
	int rc;

	if (!len)
		return 0;
	if (wr->num_sge == rpcrdma_send_sges(ep))
		return -EMSGSIZE;
	rc = rpcrdma_map_page(ep, &req->sges[wr->num_sge], page, offset, len,
			      DMA_TO_DEVICE);
	if (rc)
		return -ENOBUFS;
	wr->num_sge++;
	req->mapped++;
	return 0;
}

/* XDR buffers are kmalloc'ed, or pages: contiguous either way */
static int rpcrdma_map_kvec(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			    const void *base, u32 len)
{
	if (!len)
		return 0;
	return rpcrdma_map_sge(ep, req, virt_to_page(base),
			       offset_in_page(base), len);
}

static int rpcrdma_map_pages(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			     const struct rpcrdma_body *body)
{
	const struct xdr_buf *snd = body->snd;
	struct page **page = snd->pages + (snd->page_base >> PAGE_SHIFT);
	u32 offset = offset_in_page(snd->page_base);
	u32 left = body->pages, len;
	int rc;

	for (; left; left -= len, offset = 0) {
		len = min_t(u32, left, PAGE_SIZE - offset);
		rc = rpcrdma_map_sge(ep, req, *page++, offset, len);
		if (rc)
			return rc;
	}
	return 0;
}

static u32 rpcrdma_tail_len(const struct rpcrdma_body *body)
{
	return body->snd->tail[0].iov_len - body->skip;
}

/*
 * What has room behind the header is copied there, which costs less than mapping it
 * and being told when it may be unmapped.
 */
static int rpcrdma_copy_body(struct rpcrdma_req *req, u32 at,
			     const struct rpcrdma_body *body)
{
	const struct xdr_buf *snd = body->snd;
	u32 head_len = snd->head[0].iov_len;
	void *to = req->hdr.data + at;

	memcpy(to, snd->head[0].iov_base, head_len);
	to += head_len;
	if (body->pages) {
		if (read_bytes_from_xdr_buf(snd, head_len, to, body->pages))
			return -EIO;
		to += body->pages;
		req->rx->stats.pullup_copy_count += body->pages;
	}
	memcpy(to, snd->tail[0].iov_base + body->skip, rpcrdma_tail_len(body));
	rpcrdma_req_fill(req, at + head_len + body->pages +
			 rpcrdma_tail_len(body));
	return 0;
}

/*
 * Page data between a head and a tail that are copied: only the pages are mapped.
 * The tail follows the head in the buffer, as an SGE of its own.
 */
static int rpcrdma_copy_around(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			       u32 at, const struct rpcrdma_body *body)
{
	const struct kvec *head = &body->snd->head[0];
	u32 tail_len = rpcrdma_tail_len(body);
	u32 tail_at = at + head->iov_len;
	int rc;

	memcpy(req->hdr.data + at, head->iov_base, head->iov_len);
	memcpy(req->hdr.data + tail_at,
	       body->snd->tail[0].iov_base + body->skip, tail_len);
	rc = rpcrdma_map_pages(ep, req, body);
	if (rc)
		return rc;
	rpcrdma_req_fill(req, tail_at + tail_len);
	req->sges[0].length = tail_at;
	if (!tail_len)
		return 0;
	if (req->send_wr.num_sge == rpcrdma_send_sges(ep))
		return -EMSGSIZE;
	rpcrdma_dmabuf_sge(&req->hdr, &req->sges[req->send_wr.num_sge++],
			   tail_at, tail_len);
	return 0;
}

/* A head or tail that has no room behind the header */
static int rpcrdma_map_body(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			    u32 at, const struct rpcrdma_body *body)
{
	const struct kvec *head = &body->snd->head[0];
	int rc;

	rpcrdma_req_fill(req, at);
	rc = rpcrdma_map_kvec(ep, req, head->iov_base, head->iov_len);
	if (!rc)
		rc = rpcrdma_map_pages(ep, req, body);
	if (!rc)
		rc = rpcrdma_map_kvec(ep, req, body->snd->tail[0].iov_base +
				      body->skip, rpcrdma_tail_len(body));
	return rc;
}

/**
 * rpcrdma_body_put - put the inline part of a Call into its Send
 * @ep: endpoint
 * @req: request; the Transport Header is in its buffer, which is mapped for @ep
 * @at: octets of that header
 * @body: what follows it
 *
 * Sets the SGEs of the Send. When something was mapped, which req->mapped says, the
 * completion of the Send is needed, for rpcrdma_body_unmap().
 *
 * Context: process, under rpcrdma_xprt.lock.
 *
 * Return: 0; -ENOBUFS; -EMSGSIZE or -EIO if it can never be sent. After an error
 * rpcrdma_body_unmap() is due as well.
 */
int rpcrdma_body_put(struct rpcrdma_ep *ep, struct rpcrdma_req *req, u32 at,
		     const struct rpcrdma_body *body)
{
	u32 around = at + body->snd->head[0].iov_len + rpcrdma_tail_len(body);

	if (WARN_ON_ONCE(around + body->pages > req->rx->inline_send))
		return -EMSGSIZE;
	if (around + body->pages <= req->hdr.size)
		return rpcrdma_copy_body(req, at, body);
	if (body->pages && around <= req->hdr.size)
		return rpcrdma_copy_around(ep, req, at, body);
	return rpcrdma_map_body(ep, req, at, body);
}
