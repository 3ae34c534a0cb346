// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Call contexts: what a Call owns from its reception to the end of its
 * processing. Allocated at need and kept for the next Call.
 */

#include <linux/slab.h>

#include "svc_rdma.h"

/**
 * svc_rdma_call_alloc - one context more
 * @conn: connection that has no idle one
 *
 * Context: process, may sleep.
 *
 * Return: the context, or NULL when memory is short.
 */
struct svc_rdma_call *svc_rdma_call_alloc(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call;

	call = kzalloc(sizeof(*call), GFP_NOIO);
	if (!call)
		return NULL;
	call->conn = conn;
	call->reads.dir = DMA_FROM_DEVICE;
	spin_lock(&conn->lock);
	conn->nr_calls++;
	spin_unlock(&conn->lock);
	return call;
}

/**
 * svc_rdma_call_put_pages - give up what a Call without Read chunks does not have
 * @call: Call whose RDMA Reads are released
 *
 * Context: process.
 */
void svc_rdma_call_put_pages(struct svc_rdma_call *call)
{
	if (call->nr_pages)
		svc_rdma_pages_put(call->pages, call->nr_pages);
	call->nr_pages = 0;
	kfree(call->copy);
	call->copy = NULL;
}

/**
 * svc_rdma_call_put - end the processing of a Call
 * @call: Call whose RDMA Reads are released
 *
 * Context: process.
 */
void svc_rdma_call_put(struct svc_rdma_call *call)
{
	svc_rdma_call_put_recv(call);
	if (unlikely(call->nr_pages || call->copy))
		svc_rdma_call_put_pages(call);
	/* Taken under conn->lock alone, it can be given back without */
	llist_add(&call->free, &call->conn->free_calls);
}

/**
 * svc_rdma_call_own_pages - pages for RDMA Reads to go to
 * @call: Call; has no pages yet
 * @rqstp: nfsd thread, which gives its own where the pool has too few
 * @nr: how many, fewer than @rqstp has
 *
 * sunrpc replaces the pages that @rqstp lost before it receives again.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int svc_rdma_call_own_pages(struct svc_rdma_call *call, struct svc_rqst *rqstp,
			    unsigned int nr)
{
	struct page *page;
	unsigned int got;

	WARN_ON_ONCE(call->nr_pages); /* I9 */
	if (!call->pages) {
		call->pages = kmalloc_array(RPCSVC_MAXPAGES,
					    sizeof(*call->pages), GFP_NOIO);
		if (!call->pages)
			return -ENOMEM;
	}
	got = svc_rdma_pages_get(call->pages, nr);
	for (; got < nr; got++) {
		page = rqstp->rq_pages[got];
		WARN_ON_ONCE(!page); /* I9 */
		if (unlikely(svc_rdma_page_is_shared(page))) {
			page = svc_rdma_page_renew(page);
			if (!page) {
				call->nr_pages = got;
				return -ENOMEM;
			}
		}
		call->pages[got] = page;
		rqstp->rq_pages[got] = NULL;
	}
	call->nr_pages = nr;
	call->sink.pages = call->pages;
	call->sink.page_len = nr << PAGE_SHIFT;
	return 0;
}

/**
 * svc_rdma_calls_free - free the idle contexts
 * @conn: connection that has no other ones left
 *
 * Context: any.
 */
void svc_rdma_calls_free(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call, *next;

	llist_for_each_entry_safe(call, next, llist_del_all(&conn->free_calls),
				  free) {
		kfree(call->pages);
		kfree(call);
		conn->nr_calls--;
	}
	WARN_ON_ONCE(conn->nr_calls); /* I12 */
}

/**
 * svc_rdma_call_ready - nothing of a Call is missing
 * @call: Call whose RDMA Reads are complete, or that has none; not the caller's any more
 *
 * If it has to wait for others' Replies, the end of those tells a thread of it.
 *
 * Context: process.
 */
void svc_rdma_call_ready(struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;

	call->next = NULL;
	spin_lock(&conn->lock);
	*conn->ready_end = call;
	conn->ready_end = &call->next;
	if (svc_rdma_may_reply(conn))
		svc_rdma_make_ready(conn);
	else
		conn->replies.waits++;
	spin_unlock(&conn->lock);
}
