// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * An nfsd thread's rq_arg: where in memory the octets of a Call are that was not
 * received in one piece, or may not stay so.
 */

#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/sunrpc/xdr.h>

#include "rpcrdma/layout.h"
#include "arg.h"

/* One for one: the displaced pages serve the next Reads */
static void exchange_pages(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	unsigned int nr = call->nr_pages;

	svc_rdma_pages_put(rqstp->rq_pages, nr);
	memcpy(rqstp->rq_pages, call->pages, nr * sizeof(*call->pages));
	call->nr_pages = 0;
	rqstp->rq_respages = &rqstp->rq_pages[nr];
	rqstp->rq_next_page = rqstp->rq_respages;
}

/* @src NULL: zeroes */
static void fill_pages(struct page **pages, u32 at, const u8 *src, u32 len)
{
	while (len) {
		struct page *page = pages[at >> PAGE_SHIFT];
		u32 offset = offset_in_page(at);
		u32 n = min_t(u32, len, PAGE_SIZE - offset);

		if (src)
			memcpy_to_page(page, offset, src, n);
		else
			memzero_page(page, offset, n);
		src = src ? src + n : NULL;
		at += n;
		len -= n;
	}
}

/*
 * What the RDMA Reads of a whole message left out. After them and not before:
 * the device may own the cache lines next to what it writes.
 */
static void fill_gaps(struct svc_rqst *rqstp,
			       const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;

	rpcrdma_tiler_init(&tiler, hdr);
	while (rpcrdma_tiler_next(&tiler, &ext)) {
		if (ext.kind == RPCRDMA_EXTENT_PAD)
			fill_pages(rqstp->rq_pages, ext.msg, NULL, ext.len);
		else if (ext.kind == RPCRDMA_EXTENT_INLINE)
			fill_pages(rqstp->rq_pages, ext.msg, hdr->buf + ext.src,
				   ext.len);
	}
}

/*
 * The message as it was received, around what its only Read chunk brought. nfsd takes
 * the data of a WRITE from pages up to their last octet. A client may have them go on
 * behind the chunk: what is in the pages there must be those octets, or it would be
 * whatever the page was used for before.
 */
static void arg_chunk(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr)
{
	u32 len = xdr_align_size(hdr->read_bytes);

	if (len != hdr->read_bytes)
		fill_pages(rqstp->rq_pages, hdr->read_bytes, NULL,
			   len - hdr->read_bytes);
	fill_pages(rqstp->rq_pages, len, hdr->buf + hdr->body + hdr->ddp_position,
		   svc_rdma_tail_len(hdr));
	svc_rdma_arg_inline(rqstp, hdr, hdr->ddp_position, len);
}

/* The message in pages, from its first octet */
static void point_to_pages(struct svc_rqst *rqstp, u32 len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = page_address(rqstp->rq_pages[0]);
	arg->head[0].iov_len = min_t(u32, len, PAGE_SIZE);
	arg->pages = &rqstp->rq_pages[1];
	arg->page_base = 0;
	arg->page_len = len - arg->head[0].iov_len;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;
	arg->len = len;
	arg->buflen = len;
}

/*
 * The client says how large it is, and loses its connection when there is no memory: that is
 * no reason to try for ever, as the kernel does with what is not larger than this.
 */
static gfp_t copy_gfp(u32 len)
{
	gfp_t gfp = GFP_NOIO | __GFP_NOWARN;

	if (len <= PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)
		gfp |= __GFP_RETRY_MAYFAIL;
	return gfp;
}

/* Not vmalloc(): GSS computes checksums over the head by its struct pages */
static int arg_in_one_piece(struct svc_rqst *rqstp, struct svc_rdma_call *call,
			    u32 len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;
	u32 at, n;

	call->copy = kmalloc(len, copy_gfp(len));
	if (!call->copy)
		return -ENOMEM;
	for (at = 0; at < len; at += n) {
		n = min_t(u32, len - at, PAGE_SIZE);
		memcpy_from_page(call->copy + at,
				 rqstp->rq_pages[at >> PAGE_SHIFT], 0, n);
	}
	point_to_pages(rqstp, len);
	arg->head[0].iov_base = call->copy;
	arg->head[0].iov_len = len;
	arg->page_len = 0;
	return 0;
}

static const u8 *page_of(const void *ctx, u32 nr)
{
	const struct svc_rqst *rqstp = ctx;

	return page_address(rqstp->rq_pages[nr]);
}

/**
 * svc_rdma_arg_from_reads - a Call whose RDMA Reads are complete
 * @rqstp: nfsd thread; gets the pages that were read into as its first ones
 * @call: Call; owns no pages any more
 *
 * Context: process, may sleep.
 *
 * Return: 0, or -ENOMEM: there is no memory for the message in one piece.
 */
int svc_rdma_arg_from_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;

	exchange_pages(rqstp, call);
	if (likely(call->layout == RPCRDMA_LAYOUT_CHUNK)) {
		arg_chunk(rqstp, hdr);
		return 0;
	}
	fill_gaps(rqstp, hdr);
	if (rpcrdma_plan_layout_read(call->layout, page_of, rqstp, hdr->msg_len,
				     PAGE_SIZE) == RPCRDMA_LAYOUT_ONE_PIECE)
		return arg_in_one_piece(rqstp, call, hdr->msg_len);
	point_to_pages(rqstp, hdr->msg_len);
	return 0;
}

/* What we write is not for the page cache */
static int own_pages(struct page **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct page *page = pages[i];

		if (unlikely(svc_rdma_page_is_shared(page)))
			page = svc_rdma_page_renew(page);
		if (!page)
			return -ENOMEM;
		pages[i] = page;
	}
	return 0;
}

/**
 * svc_rdma_arg_in_pages - a Call that was received in one piece, but may not stay so
 * @rqstp: nfsd thread; the Call takes its first pages
 * @hdr: accepted header of a Call without Read chunks
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EMSGSIZE when the thread has too few pages; -ENOMEM: others refer to one of
 * them, and there is no memory for another.
 */
int svc_rdma_arg_in_pages(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr)
{
	u32 len = hdr->body_len;
	unsigned int nr = DIV_ROUND_UP(len, PAGE_SIZE);
	int rc;

	if (!svc_rdma_has_pages(rqstp, nr))
		return -EMSGSIZE;
	rc = own_pages(rqstp->rq_pages, nr);
	if (rc)
		return rc;
	fill_pages(rqstp->rq_pages, 0, hdr->buf + hdr->body, len);
	point_to_pages(rqstp, len);
	rqstp->rq_respages = &rqstp->rq_pages[nr];
	rqstp->rq_next_page = rqstp->rq_respages;
	return 0;
}
