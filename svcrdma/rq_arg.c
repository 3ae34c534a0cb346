// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * An nfsd thread's rq_arg: where in memory the bytes of a Call are.
 */

#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "svc_rdma.h"

/*
 * As with other transports a Call leaves some of an nfsd thread's pages for the
 * Reply: its head and a page. READDIR of nfsd counts on room behind the head.
 */
#define SVC_RDMA_REPLY_PAGES	2

/* Has an nfsd thread pages enough for a Call of @nr pages, and its Reply? */
bool svc_rdma_has_pages(const struct svc_rqst *rqstp, unsigned int nr)
{
	return nr + SVC_RDMA_REPLY_PAGES <= rpcrdma_rqst_pages(rqstp);
}

/*
 * The message as it was received, around @page_len bytes in the thread's pages,
 * which belong at @position. The Receive buffer stays the Call's.
 */
static void point_around(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr,
			 u32 position, u32 page_len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;
	void *body = (void *)hdr->buf + hdr->body;

	arg->head[0].iov_base = body;
	arg->head[0].iov_len = position;
	arg->pages = rqstp->rq_pages;
	arg->page_base = 0;
	arg->page_len = page_len;
	arg->tail[0].iov_base = body + position;
	arg->tail[0].iov_len = hdr->body_len - position;
	arg->len = hdr->body_len + page_len;
	arg->buflen = arg->len;
}

/* XDR roundup */
static const u8 zeroes[XDR_UNIT];

/* Copies bytes to offset @at of the thread's pages */
static void fill_pages(struct svc_rqst *rqstp, u32 at, const u8 *src, u32 len)
{
	const struct xdr_buf pages = {
		.pages = rqstp->rq_pages,
		.page_len = at + len,
	};

	write_bytes_to_xdr_buf(&pages, at, (void *)src, len);
}

/*
 * The parts of a message that its RDMA Reads left out. After them and not
 * before: the device may own the cache lines next to the bytes that it writes.
 */
static void fill_gaps(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_msg_iter it;
	struct rpcrdma_extent ext;

	rpcrdma_msg_iter_init(&it, hdr);
	while (rpcrdma_msg_iter_next(&it, &ext)) {
		if (ext.kind == RPCRDMA_EXTENT_PAD)
			fill_pages(rqstp, ext.msg, zeroes, ext.len);
		else if (ext.kind == RPCRDMA_EXTENT_INLINE)
			fill_pages(rqstp, ext.msg, hdr->buf + ext.src, ext.len);
	}
}

/*
 * The message as it was received, around its only Read chunk. nfsd takes the
 * data of a WRITE from pages up to their last byte. A client may have them go
 * on behind the chunk: the pages must have the bytes that follow, or they would
 * show the previous use of the page.
 */
static void point_around_chunk(struct svc_rqst *rqstp,
			       const struct rpcrdma_hdr *hdr)
{
	u32 len = xdr_align_size(hdr->read_bytes), at = hdr->ddp_position;

	fill_pages(rqstp, hdr->read_bytes, zeroes, len - hdr->read_bytes);
	fill_pages(rqstp, len, hdr->buf + hdr->body + at, hdr->body_len - at);
	point_around(rqstp, hdr, at, len);
}

/* The message in pages. @head: its first @head_len bytes */
static void point_to_pages(struct svc_rqst *rqstp, void *head, u32 head_len,
			   u32 len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = head;
	arg->head[0].iov_len = head_len;
	arg->pages = &rqstp->rq_pages[DIV_ROUND_UP(head_len, PAGE_SIZE)];
	arg->page_base = 0;
	arg->page_len = len - head_len;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;
	arg->len = len;
	arg->buflen = len;
}

static const u8 *page_of(const void *ctx, u32 nr)
{
	const struct svc_rqst *rqstp = ctx;

	return page_address(rqstp->rq_pages[nr]);
}

/*
 * The RDMA Reads of a Call are complete: their pages become the first ones of
 * the thread. 0; -EOPNOTSUPP if nfsd and RPCSEC_GSS need different layouts;
 * -ENOMEM.
 */
int svc_rdma_arg_from_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	unsigned int noio, nr = call->nr_pages;
	void *base;
	u32 head;

	/* One for one: the displaced pages serve the next Reads */
	svc_rdma_pages_put(rqstp->rq_pages, nr);
	memcpy(rqstp->rq_pages, call->pages, nr * sizeof(*call->pages));
	call->nr_pages = 0;
	rpcrdma_rqst_call_has(rqstp, nr);
	if (call->layout == RPCRDMA_LAYOUT_CHUNK) {
		point_around_chunk(rqstp, hdr);
		return 0;
	}
	fill_gaps(rqstp, hdr);
	base = page_address(rqstp->rq_pages[0]);
	head = RPCRDMA_NFSD_WANTS_RANGE ?
	       rpcrdma_plan_head(hdr, page_of, rqstp, PAGE_SIZE) :
	       min_t(u64, hdr->msg_len, PAGE_SIZE);
	if (!head)
		return -EOPNOTSUPP;
	if (head > PAGE_SIZE) {
		noio = memalloc_noio_save();
		call->head = vmap(rqstp->rq_pages,
				  DIV_ROUND_UP(head, PAGE_SIZE), VM_MAP,
				  PAGE_KERNEL);
		memalloc_noio_restore(noio);
		if (!call->head)
			return -ENOMEM;
		base = call->head;
	}
	point_to_pages(rqstp, base, head, hdr->msg_len);
	return 0;
}

/*
 * The message moves to the thread's first pages. A page that others refer to is
 * in the page cache: not ours to write to. 0, -EMSGSIZE or -ENOMEM.
 */
static int move_to_pages(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr)
{
	unsigned int i, nr = DIV_ROUND_UP(hdr->body_len, PAGE_SIZE);
	struct page *page;

	if (!svc_rdma_has_pages(rqstp, nr))
		return -EMSGSIZE;
	for (i = 0; i < nr; i++) {
		page = rqstp->rq_pages[i];
		if (svc_rdma_page_is_shared(page))
			page = svc_rdma_page_replace(page);
		if (!page)
			return -ENOMEM;
		rqstp->rq_pages[i] = page;
	}
	fill_pages(rqstp, 0, hdr->buf + hdr->body, hdr->body_len);
	point_to_pages(rqstp, page_address(rqstp->rq_pages[0]),
		       min_t(u32, hdr->body_len, PAGE_SIZE), hdr->body_len);
	rpcrdma_rqst_call_has(rqstp, nr);
	return 0;
}

/*
 * A Call without Read chunks stays in its Receive buffer. 0, or -EMSGSIZE or
 * -ENOMEM.
 *
 * 6.1's gss_read_proxy_verf() copies the rest of the head into one page. So the
 * head of a Call that sets up a security context is a page at most, as with
 * other transports.
 */
int svc_rdma_arg_inline(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr)
{
	if (hdr->body_len > PAGE_SIZE &&
	    rpcrdma_call_makes_gss_context(hdr->buf + hdr->body, hdr->body_len))
		return move_to_pages(rqstp, hdr);
	point_around(rqstp, hdr, hdr->body_len, 0);
	return 0;
}
