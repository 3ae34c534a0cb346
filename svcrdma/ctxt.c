// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Contexts of Calls and Sends, and all that they own. They are allocated at
 * need and kept for the next one: taken under conn->lock alone, so that a
 * completion can give one back without.
 *
 * A Call owns its Receive, its RDMA Reads and the pages that these go to, until
 * nfsd has processed it. A Send owns a header buffer that stays mapped, and its
 * RDMA Writes, SGEs and pages until the Send is complete. The Send Queue
 * completes in order, so that the RDMA Writes are complete by then.
 *
 * The pages that RDMA Reads go to come from a pool. They are exchanged one for
 * one with those of the nfsd thread that processes the Call, and the displaced
 * pages serve the next Reads: so a WRITE of 1 MiB does not cost the allocation,
 * and zeroing, of 256 pages. The pool has only pages without other references.
 * An nfsd thread may have others among its buffers: a READ that was spliced and
 * then truncated, or failed half way, leaves pages of the page cache there.
 * Each memory node has a pool of its own pages, for the threads that run there.
 */

#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "svc_rdma.h"

/* 4 MiB with pages of 4 KiB: a few megabyte WRITEs in flight on each node */
#define SVC_RDMA_POOL_PAGES	1024

struct svc_rdma_pool {
	spinlock_t lock;
	unsigned int nr;
	struct page *pages[SVC_RDMA_POOL_PAGES];
};

/* By node; those that can be online have one */
static struct svc_rdma_pool **pools;

int svc_rdma_pools_alloc(gfp_t gfp)
{
	struct svc_rdma_pool *pool;
	int node;

	pools = kcalloc(nr_node_ids, sizeof(*pools), gfp);
	if (!pools)
		return -ENOMEM;
	for_each_node(node) {
		pool = kvzalloc_node(sizeof(*pool), gfp, node);
		if (!pool) {
			svc_rdma_pools_free();
			return -ENOMEM;
		}
		spin_lock_init(&pool->lock);
		pools[node] = pool;
	}
	return 0;
}

void svc_rdma_pools_free(void)
{
	int node;

	for_each_node(node)
		kvfree(pools[node]);
	kfree(pools);
}

/*
 * Gives pages to the pool of this node; the array has others on return. Pages
 * of another node, with other references, or beyond what the pool can hold are
 * put.
 */
void svc_rdma_pages_put(struct page **pages, unsigned int nr)
{
	int node = numa_mem_id();
	struct svc_rdma_pool *pool = pools[node];
	unsigned int i, own = 0, keep;

	for (i = 0; i < nr; i++) {
		if (WARN_ON_ONCE(!pages[i])) /* I9 */
			continue;
		if (svc_rdma_page_is_shared(pages[i]) ||
		    page_to_nid(pages[i]) != node)
			put_page(pages[i]);
		else
			pages[own++] = pages[i];
	}
	spin_lock(&pool->lock);
	keep = min(own, SVC_RDMA_POOL_PAGES - pool->nr);
	memcpy(&pool->pages[pool->nr], pages, keep * sizeof(*pages));
	pool->nr += keep;
	spin_unlock(&pool->lock);
	if (keep < own)
		release_pages(pages + keep, own - keep);
}

/* Replaces and puts a page that others refer to; NULL: out of memory */
struct page *svc_rdma_page_replace(struct page *page)
{
	struct page *fresh = alloc_page(GFP_NOIO);

	if (fresh)
		put_page(page);
	return fresh;
}

/* When no connection is left; atomic context */
void svc_rdma_pages_drain(void)
{
	struct svc_rdma_pool *pool;
	int node;

	for_each_node(node) {
		pool = pools[node];
		spin_lock(&pool->lock);
		while (pool->nr)
			put_page(pool->pages[--pool->nr]);
		spin_unlock(&pool->lock);
	}
}

/* A context for a Call; NULL if out of memory */
struct svc_rdma_call *svc_rdma_call_get(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call;
	struct llist_node *node;

	spin_lock(&conn->lock);
	node = llist_del_first(&conn->free_calls);
	spin_unlock(&conn->lock);
	if (node) {
		call = llist_entry(node, struct svc_rdma_call, free);
		call->nr_payloads = 0;
		return call;
	}
	call = kzalloc_node(sizeof(*call), GFP_NOIO,
			    rpcrdma_ep_node(conn->ep));
	if (!call)
		return NULL;
	atomic_inc(&conn->nr_calls);
	call->conn = conn;
	call->reads.dir = DMA_FROM_DEVICE;
	return call;
}

/* Ends a Call; its RDMA Reads are complete, or were never posted */
void svc_rdma_call_put(struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;

	svc_rdma_call_put_recv(call);
	svc_rdma_call_put_reads(call);
	if (call->nr_pages)
		svc_rdma_pages_put(call->pages, call->nr_pages);
	call->nr_pages = 0;
	if (call->head)
		vunmap(call->head);
	call->head = NULL;
	llist_add(&call->free, &conn->free_calls);
}

/* The RDMA Reads of a Call are complete, or were never posted */
void svc_rdma_call_put_reads(struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	u32 pages = call->pages_charged;

	if (!pages)
		return;
	svc_rdma_rwset_release(conn, &call->reads);
	call->pages_charged = 0;
	svc_rdma_uncharge(conn, pages, 0, 0);
}

/*
 * Pages for RDMA Reads to go to, from the pool as far as it has any, the others
 * from @rqstp. sunrpc replaces the pages that @rqstp lost before it receives
 * again. 0 or -ENOMEM.
 */
int svc_rdma_call_own_pages(struct svc_rdma_call *call, struct svc_rqst *rqstp,
			    unsigned int nr)
{
	struct svc_rdma_pool *pool = pools[numa_mem_id()];
	struct page *page;
	unsigned int got;

	WARN_ON_ONCE(call->nr_pages); /* I9 */
	if (!call->pages)
		call->pages = kmalloc_array_node(rpcrdma_serv_pages(rqstp->rq_server),
						 sizeof(*call->pages), GFP_NOIO,
						 rpcrdma_ep_node(call->conn->ep));
	if (!call->pages)
		return -ENOMEM;
	spin_lock(&pool->lock);
	got = min(nr, pool->nr);
	pool->nr -= got;
	memcpy(call->pages, &pool->pages[pool->nr], got * sizeof(*call->pages));
	spin_unlock(&pool->lock);
	for (; got < nr; got++) {
		page = rqstp->rq_pages[got];
		WARN_ON_ONCE(!page); /* I9 */
		if (svc_rdma_page_is_shared(page)) {
			page = svc_rdma_page_replace(page);
			if (!page) {
				call->nr_pages = got;
				return -ENOMEM;
			}
		}
		call->pages[got] = page;
		rqstp->rq_pages[got] = NULL;
		rpcrdma_rqst_call_gap(rqstp, got);
	}
	call->nr_pages = nr;
	call->sink.pages = call->pages;
	call->sink.page_len = nr << PAGE_SHIFT;
	return 0;
}

void svc_rdma_calls_free(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call, *next;

	llist_for_each_entry_safe(call, next, llist_del_all(&conn->free_calls),
				  free) {
		kfree(call->pages);
		kfree(call);
		atomic_dec(&conn->nr_calls);
	}
	WARN_ON_ONCE(atomic_read(&conn->nr_calls)); /* I12 */
}

/*
 * -ENOMEM; -ENOBUFS if the client exceeds its credits, or acknowledges no Sends.
 *
 * A client may have its Reply, and send its next Call, before the Send's
 * completion is seen here. So the Send Queue may be full of Sends to a client
 * that has no Call outstanding, and on top of them wait the Replies to all that
 * its credits allow. A client that sends more Calls without acknowledging
 * Replies loses its connection.
 */
static struct svc_rdma_send *send_alloc(struct svc_rdma_conn *conn, gfp_t gfp)
{
	struct rpcrdma_ep *ep = conn->ep;
	u32 most = ep->sizes.sq_depth + ep->sizes.credits +
		   ep->sizes.bc_credits + RPCRDMA_MAX_UNSIGNALLED;
	struct svc_rdma_send *send;

	if (!atomic_add_unless(&conn->nr_sends, 1, most))
		return ERR_PTR(-ENOBUFS);
	send = kzalloc_node(sizeof(*send), gfp, rpcrdma_ep_node(ep));
	if (!send)
		goto out_uncount;
	send->conn = conn;
	send->pages = send->few;
	send->writes.dir = DMA_TO_DEVICE;
	if (rpcrdma_dmabuf_alloc(&send->buf,
				 rpcrdma_threshold(ep->prop.inline_send,
						   ep->attr.max_version),
				 DMA_TO_DEVICE, rpcrdma_ep_node(ep), gfp))
		goto out_free;
	if (rpcrdma_dmabuf_map(ep, &send->buf))
		goto out_free;
	rpcrdma_dmabuf_sge(&send->buf, &send->sge[0], 0, 0);
	send->nr_sge = 1;
	send->wr.sg_list = send->sge;
	return send;

out_free:
	rpcrdma_dmabuf_free(&send->buf);
	kfree(send);
out_uncount:
	atomic_dec(&conn->nr_sends);
	return ERR_PTR(-ENOMEM);
}

static void send_begin(struct svc_rdma_send *send, u32 vers)
{
	rpcrdma_enc_init(&send->enc, send->buf.data,
			 rpcrdma_threshold(send->conn->ep->prop.inline_send, vers));
}

/*
 * Begins a message of version @vers: a context with an empty header, or an
 * error. Called within svc_rdma_enter(); sleeps as @gfp says, if there is no
 * idle context.
 */
struct svc_rdma_send *svc_rdma_send_get(struct svc_rdma_conn *conn, u32 vers,
					gfp_t gfp)
{
	struct svc_rdma_send *send;
	struct llist_node *node;

	spin_lock(&conn->lock);
	node = llist_del_first(&conn->free_sends);
	spin_unlock(&conn->lock);
	if (node)
		send = llist_entry(node, struct svc_rdma_send, free);
	else
		send = send_alloc(conn, gfp);
	if (!IS_ERR(send))
		send_begin(send, vers);
	return send;
}

/* Releases all but the context and its header buffer */
static void send_release(struct svc_rdma_send *send)
{
	u32 pages = send->pages_charged;

	while (send->nr_sge > 1)
		rpcrdma_unmap_page(send->conn->ep, &send->sge[--send->nr_sge],
				   DMA_TO_DEVICE);
	svc_rdma_rwset_release(send->conn, &send->writes);
	if (send->nr_pages)
		release_pages(send->pages, send->nr_pages);
	send->nr_pages = 0;
	send->pages_charged = 0;
	if (pages)
		svc_rdma_uncharge(send->conn, 0, pages, 0);
}

/* Starts a message over that was not posted */
void svc_rdma_send_reset(struct svc_rdma_send *send, u32 vers)
{
	send_release(send);
	send_begin(send, vers);
}

/* The message was not posted, or is complete */
void svc_rdma_send_put(struct svc_rdma_send *send)
{
	send_release(send);
	llist_add(&send->free, &send->conn->free_sends);
}

/* Copies bytes behind the header, which is complete; they fit */
void svc_rdma_send_copy(struct svc_rdma_send *send, const struct xdr_buf *buf,
			u32 offset, u32 len)
{
	void *dst = send->buf.data + send->enc.len;

	/* Small Replies are all head */
	if (offset + len <= buf->head[0].iov_len)
		memcpy(dst, buf->head[0].iov_base + offset, len);
	else
		read_bytes_from_xdr_buf(buf, offset, dst, len);
	send->enc.len += len;
}

/*
 * Lets the device gather bytes in place. The pages must stay until the
 * completion: see svc_rdma_send_own_pages(). 0; -E2BIG if the SGEs do not
 * suffice; -EIO.
 */
int svc_rdma_send_map(struct svc_rdma_send *send, const struct xdr_buf *buf,
		      u32 offset, u32 len)
{
	struct rpcrdma_ep *ep = send->conn->ep;
	u32 max = min_t(u32, ep->sizes.send_sge, SVC_RDMA_SEND_SGES);
	struct svc_rdma_piece piece;
	int rc;

	for (; len && svc_rdma_buf_piece(&piece, buf, offset);
	     offset += piece.len, len -= piece.len) {
		if (send->nr_sge >= max)
			return -E2BIG;
		piece.len = min(piece.len, len);
		rc = rpcrdma_map_page(ep, &send->sge[send->nr_sge], piece.page,
				      piece.offset, piece.len, DMA_TO_DEVICE);
		if (rc)
			return rc;
		send->nr_sge++;
	}
	return 0;
}

/*
 * Takes nfsd's pages from @page up to @end until the completion, and charges
 * them if they are more than the Send's own buffer has. sunrpc allocates new ones
 * in their place before it receives again. 0 or -ENOMEM.
 */
int svc_rdma_send_own_pages(struct svc_rdma_send *send, struct page **page,
			    struct page **end)
{
	struct page **pages;

	WARN_ON_ONCE(send->nr_pages); /* I9 */
	if (end - page > SVC_RDMA_FEW_PAGES && send->pages == send->few) {
		pages = kmalloc_array_node(rpcrdma_serv_pages(send->conn->xprt.xpt_server),
					   sizeof(*pages), GFP_NOIO,
					   rpcrdma_ep_node(send->conn->ep));
		if (!pages)
			return -ENOMEM;
		send->pages = pages;
	}
	/* nfsd may have left gaps among them */
	for (; page < end; page++) {
		if (*page)
			send->pages[send->nr_pages++] = *page;
		*page = NULL;
	}
	if (send->nr_pages <= SVC_RDMA_FEW_PAGES && !send->writes.last)
		return 0;
	send->pages_charged = svc_rdma_pages_charged(send->nr_pages,
						     send->writes.memory);
	svc_rdma_charge_reply(send->conn, send->pages_charged);
	return 0;
}

/*
 * Callbacks are sent on behalf of others' memory reclaim. If a client has no
 * Calls outstanding its first callbacks depend neither on an allocation nor on
 * when the completion of a Reply is seen. If Replies have all contexts, and
 * there is no memory for another one, a callback is retried until one of them
 * is complete. Called within svc_rdma_enter(). 0 or -ENOMEM.
 */
int svc_rdma_sends_alloc(struct svc_rdma_conn *conn)
{
	struct svc_rdma_send *send;

	while (atomic_read(&conn->nr_sends) <
	       SVC_RDMA_BC_CREDITS + RPCRDMA_MAX_UNSIGNALLED) {
		send = send_alloc(conn, GFP_NOIO);
		if (IS_ERR(send))
			return PTR_ERR(send);
		llist_add(&send->free, &conn->free_sends);
	}
	return 0;
}

/* Called in rpcrdma_ep_ops.release */
void svc_rdma_sends_unmap(struct svc_rdma_conn *conn)
{
	struct svc_rdma_send *send;

	llist_for_each_entry(send, conn->free_sends.first, free)
		rpcrdma_dmabuf_unmap(&send->buf);
}

/* Called in rpcrdma_ep_ops.dead: late completions may look at a chain before */
void svc_rdma_sends_free(struct svc_rdma_conn *conn)
{
	struct svc_rdma_send *send, *next;

	llist_for_each_entry_safe(send, next, llist_del_all(&conn->free_sends),
				  free) {
		rpcrdma_dmabuf_free(&send->buf);
		if (send->pages != send->few)
			kfree(send->pages);
		kfree(send);
		atomic_dec(&conn->nr_sends);
	}
	WARN_ON_ONCE(atomic_read(&conn->nr_sends)); /* I11 */
}
