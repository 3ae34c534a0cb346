/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where in memory the octets of a Call are: rq_arg.
 */
#ifndef SVCRDMA_ARG_H
#define SVCRDMA_ARG_H

#include "svc_rdma.h"

/*
 * So many of an nfsd thread's pages a Call leaves for the Reply, as with other
 * transports: its head and a page. READDIR of nfsd takes room for granted behind the
 * head, and counts down from it.
 */
#define SVC_RDMA_REPLY_PAGES	2

/**
 * svc_rdma_has_pages - does an nfsd thread have enough pages?
 * @rqstp: thread
 * @nr: pages for the Call
 *
 * Context: any.
 *
 * Return: whether they suffice for the Call and for its Reply.
 */
static inline bool svc_rdma_has_pages(const struct svc_rqst *rqstp,
				      unsigned int nr)
{
	return nr + SVC_RDMA_REPLY_PAGES <=
	       rqstp->rq_page_end - rqstp->rq_pages;
}

/**
 * svc_rdma_tail_len - what a message has behind its only Read chunk
 * @hdr: accepted header with one Read chunk, not of Position Zero
 *
 * Context: any.
 *
 * Return: octets of the inline body from the chunk's position on.
 */
static inline u32 svc_rdma_tail_len(const struct rpcrdma_hdr *hdr)
{
	return hdr->body_len - hdr->ddp_position;
}

/**
 * svc_rdma_arg_inline - the message as it was received, around pages
 * @rqstp: nfsd thread
 * @hdr: accepted header of a Call; the Receive buffer stays the Call's
 * @position: where in the inline body the pages are
 * @page_len: octets in the thread's pages, from the first page on
 *
 * Context: any.
 */
static inline void svc_rdma_arg_inline(struct svc_rqst *rqstp,
				       const struct rpcrdma_hdr *hdr,
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

int svc_rdma_arg_from_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call);
int svc_rdma_arg_in_pages(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr);

#endif /* SVCRDMA_ARG_H */
