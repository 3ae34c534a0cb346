// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Call contexts: what a Call owns from its reception to the end of its
 * processing. Allocated at need and kept for the next Call.
 */

#include <linux/slab.h>

#include "svc_rdma.h"

/**
 * svc_rdma_call_get - begin to process a Call
 * @conn: connection
 * @recv: the message, now the context's
 *
 * Context: process, may sleep.
 *
 * Return: the context, or NULL when memory is short: @recv stays the caller's.
 */
struct svc_rdma_call *svc_rdma_call_get(struct svc_rdma_conn *conn,
					struct rpcrdma_recv *recv)
{
	struct svc_rdma_call *call;

	spin_lock_bh(&conn->lock);
	call = list_first_entry_or_null(&conn->free_calls,
					struct svc_rdma_call, list);
	if (call)
		list_del(&call->list);
	conn->nr_busy_calls++;
	spin_unlock_bh(&conn->lock);
	if (!call) {
		call = RPCRDMA_ALLOC(NULL, kzalloc(sizeof(*call), GFP_KERNEL));
		if (!call) {
			spin_lock_bh(&conn->lock);
			conn->nr_busy_calls--;
			spin_unlock_bh(&conn->lock);
			return NULL;
		}
		call->conn = conn;
		svc_rdma_rwset_init(&call->reads, DMA_FROM_DEVICE);
	}
	call->recv = recv;
	call->nr_payloads = 0;
	return call;
}

/**
 * svc_rdma_call_put_recv - let the next Call have the Receive buffer
 * @call: Call whose message and header are not needed any more
 *
 * Context: process or softirq.
 */
void svc_rdma_call_put_recv(struct svc_rdma_call *call)
{
	struct rpcrdma_recv *recv = call->recv;

	call->recv = NULL;
	if (recv)
		rpcrdma_recv_put(recv);
}

/**
 * svc_rdma_call_put - end the processing of a Call
 * @call: Call whose RDMA Reads are released
 *
 * Context: process or softirq.
 */
void svc_rdma_call_put(struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;

	svc_rdma_call_put_recv(call);
	if (call->nr_pages)
		svc_rdma_pages_put(call->pages, call->nr_pages);
	call->nr_pages = 0;
	kfree(call->copy);
	call->copy = NULL;
	spin_lock_bh(&conn->lock);
	list_add(&call->list, &conn->free_calls);
	conn->nr_busy_calls--;
	spin_unlock_bh(&conn->lock);
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
	unsigned int got;

	RPCRDMA_INVARIANT(9, !call->nr_pages);
	if (!call->pages) {
		call->pages = RPCRDMA_ALLOC(NULL, kmalloc_array(RPCSVC_MAXPAGES,
								sizeof(*call->pages),
								GFP_KERNEL));
		if (!call->pages)
			return -ENOMEM;
	}
	got = svc_rdma_pages_get(call->pages, nr);
	for (; got < nr; got++) {
		call->pages[got] = rqstp->rq_pages[got];
		rqstp->rq_pages[got] = NULL;
	}
	call->nr_pages = nr;
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

	RPCRDMA_INVARIANT(12, !conn->nr_busy_calls);
	list_for_each_entry_safe(call, next, &conn->free_calls, list) {
		kfree(call->pages);
		kfree(call);
	}
	INIT_LIST_HEAD(&conn->free_calls);
}
