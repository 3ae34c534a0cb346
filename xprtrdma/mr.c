// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions: a pool for each connection, and their registration.
 *
 * An MR is either idle in the pool, or in the list of one request and mapped.
 * It leaves that list when the peer has invalidated it, when our LOCAL_INV is
 * complete, or when the connection is drained.
 *
 * MRs are of two kinds if the device registers memory with gaps. A chunk of
 * several ranges then takes one MR with gaps, which the server invalidates when
 * it answers. A chunk of one range takes an MR without.
 */
#include <linux/gfp.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rpcrdma/trace.h"
#include "xprt_rdma.h"

/* MRs a connection starts with. It gets more when fewer than so many are idle */
#define MRS_INITIAL	8U
#define MRS_IDLE	4U

/* Segments a Call can have beside those of its payload: heads and tails */
#define MRS_EXTRA	4U

/* Retry a failed allocation that a task waits for */
#define GROW_RETRY	(HZ / 4)

static size_t xprt_rdma_sgl_bytes(const struct rpcrdma_ep *ep)
{
	return array_size(ep->sizes.mr_pages, sizeof(struct scatterlist));
}

static void xprt_rdma_mr_unmap(struct xprt_rdma_mr *mr)
{
	if (!mr->nents)
		return;
	trace_xprtrdma_mr_unmap(mr->ep, mr->xid, mr->mr);
	rpcrdma_unmap_sg(mr->ep, mr->sgl, mr->nents, mr->dir);
	mr->nents = 0;
}

static struct xprt_rdma_mr *xprt_rdma_mr_alloc(struct rpcrdma_ep *ep, bool gaps)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;
	struct xprt_rdma_mr *mr;
	int rc = -ENOMEM;

	mr = kzalloc_node(sizeof(*mr), gfp, rpcrdma_ep_node(ep));
	if (!mr)
		return ERR_PTR(-ENOMEM);
	/* A little more than two pages for 1 MiB: kmalloc would take four */
	mr->sgl = rpcrdma_alloc_exact(xprt_rdma_sgl_bytes(ep),
				      rpcrdma_ep_node(ep), gfp);
	if (!mr->sgl)
		goto out_mr;
	mr->mr = ib_alloc_mr(ep->pd, gaps ? IB_MR_TYPE_SG_GAPS :
					    IB_MR_TYPE_MEM_REG,
			     ep->sizes.mr_pages);
	if (IS_ERR(mr->mr)) {
		rc = PTR_ERR(mr->mr);
		goto out_sgl;
	}
	mr->ep = ep;
	mr->gaps = gaps;
	INIT_LIST_HEAD(&mr->list);
	mr->reg.wr.opcode = IB_WR_REG_MR;
	mr->reg.mr = mr->mr;
	mr->inv.opcode = IB_WR_LOCAL_INV;
	return mr;

out_sgl:
	free_pages_exact(mr->sgl, xprt_rdma_sgl_bytes(ep));
out_mr:
	kfree(mr);
	return ERR_PTR(rc);
}

/* Return: how many were added, at most @nr and up to the limit; none once @ep closes */
static unsigned int xprt_rdma_mrs_add(struct xprt_rdma *rx,
				      struct rpcrdma_ep *ep, bool gaps,
				      unsigned int nr)
{
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	struct xprt_rdma_mr_kind *kind = &pool->kinds[gaps];
	struct xprt_rdma_mr *mr;
	unsigned int added;

	for (added = 0; added < nr && kind->count < kind->limit &&
	     READ_ONCE(ep->state) < RPCRDMA_EP_CLOSING; added++) {
		mr = xprt_rdma_mr_alloc(ep, gaps);
		if (IS_ERR(mr)) {
			/* Once for a connection: it is retried */
			if (!pool->logged_short)
				rpcrdma_ep_warn(ep, "failed to allocate MR, %u in pool (%ld)",
						kind->count, PTR_ERR(mr));
			pool->logged_short = true;
			break;
		}
		spin_lock(&pool->lock);
		list_add(&mr->list, &kind->idle);
		list_add(&mr->all, &pool->all);
		kind->nr_idle++;
		kind->count++;
		spin_unlock(&pool->lock);
		rx->stats.mrs_allocated++;
	}
	return added;
}

/* Drivers allocate while they destroy, and the teardown may wait for this */
void xprt_rdma_mrs_free(struct list_head *mrs)
{
	unsigned int noio = memalloc_noio_save();
	struct xprt_rdma_mr *mr, *next;

	list_for_each_entry_safe(mr, next, mrs, all) {
		ib_dereg_mr(mr->mr);
		free_pages_exact(mr->sgl, xprt_rdma_sgl_bytes(mr->ep));
		kfree(mr);
	}
	memalloc_noio_restore(noio);
}

/*
 * Collect MRs to be freed: as many as were idle since the last call. Those that one RPC
 * may need stay, and those that the device may register again if it repeats a Send.
 * Context: the worker that xprt_rdma_mrs_release() waits for, with rx->lock
 */
void xprt_rdma_mrs_shrink(struct xprt_rdma *rx, struct list_head *dead)
{
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	struct xprt_rdma_mr_kind *kind;
	struct xprt_rdma_mr *mr;
	unsigned int gaps;

	spin_lock(&pool->lock);
	for (gaps = 0; pool->ep && gaps < 2; gaps++) {
		kind = &pool->kinds[gaps];
		for (; kind->spare > MRS_IDLE && kind->count > pool->least; kind->spare--) {
			mr = list_first_entry(&kind->idle, struct xprt_rdma_mr, list);
			if (mr->seq > rx->cold)
				break;
			list_del(&mr->list);
			list_move(&mr->all, dead);
			kind->nr_idle--;
			kind->count--;
		}
		kind->spare = kind->nr_idle;
	}
	spin_unlock(&pool->lock);
}

/* Is it time to grow? Called with rx->lock or by the worker; need not be exact */
static bool xprt_rdma_mrs_short(const struct xprt_rdma_mr_kind *kind)
{
	return READ_ONCE(kind->nr_idle) < MRS_IDLE && kind->count < kind->limit;
}

/* Double the pool, so that a busy connection soon has as many as it needs */
static void xprt_rdma_mrs_grow(struct work_struct *work)
{
	struct xprt_rdma_mr_pool *pool =
		container_of(work, struct xprt_rdma_mr_pool, grow.work);
	struct xprt_rdma *rx = container_of(pool, struct xprt_rdma, pool);
	struct rpcrdma_ep *ep = READ_ONCE(pool->ep);
	unsigned int reserves, noio, gaps, nr;
	struct xprt_rdma_mr_kind *kind;

	/* ep is valid: the release waits for us before it goes away */
	if (!ep || !rpcrdma_ep_live(ep))
		return;
	/* The memory needed here may be freed by a WRITE of this mount */
	noio = memalloc_noio_save();
	reserves = xprt_rdma_use_reserves(rx);
	for (gaps = 0; gaps < 2; gaps++) {
		kind = &pool->kinds[gaps];
		/* Of the reserves, a few at a time */
		nr = current->flags & PF_MEMALLOC ? MRS_IDLE : kind->count;
		if (xprt_rdma_mrs_short(kind) &&
		    !xprt_rdma_mrs_add(rx, ep, gaps, nr))
			queue_delayed_work(xprtiod_workqueue, &pool->grow, GROW_RETRY);
	}
	rpcrdma_rpc_write_space(&rx->xprt);
	memalloc_noreclaim_restore(reserves);
	memalloc_noio_restore(noio);
}

void xprt_rdma_mrs_init(struct xprt_rdma *rx)
{
	struct xprt_rdma_mr_pool *pool = &rx->pool;

	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->kinds[0].idle);
	INIT_LIST_HEAD(&pool->kinds[1].idle);
	INIT_LIST_HEAD(&pool->all);
	INIT_DELAYED_WORK(&pool->grow, xprt_rdma_mrs_grow);
}

/*
 * Fill the pool of a new connection. Its limit lets every credit use as many
 * MRs as the largest payload takes. It starts with as many as any one RPC may
 * use: a Call that needs more MRs than there are would block the head of
 * sunrpc's queue.
 */
int xprt_rdma_mrs_setup(struct rpcrdma_ep *ep)
{
	struct xprt_rdma *rx = ep->attr.owner;
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	unsigned int payload = ep->sizes.mrs_per_payload;
	unsigned int least = 2 * payload + MRS_EXTRA, gaps;

	pool->least = least;
	pool->logged_short = false;
	pool->max_segment = rpcrdma_max_segment(ep);
	for (gaps = 0; gaps <= ep->sg_gaps; gaps++) {
		pool->kinds[gaps].limit = max(least, ep->sizes.credits *
						     (payload + 1));
		xprt_rdma_mrs_add(rx, ep, gaps, max(MRS_INITIAL, least));
	}
	if (pool->kinds[0].count < least)
		return -ENOMEM;
	/* Without those with gaps, a chunk of several ranges takes more MRs */
	if (pool->kinds[1].count < least)
		pool->kinds[1].limit = 0;
	mutex_lock(&rx->lock);
	WRITE_ONCE(pool->ep, ep);
	mutex_unlock(&rx->lock);
	return 0;
}

/*
 * Unmap and free every MR, those of requests included: in the teardown, after
 * the drain, when neither a Reply nor a LOCAL_INV is being processed.
 */
void xprt_rdma_mrs_release(struct xprt_rdma *rx)
{
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	struct xprt_rdma_mr *mr;
	unsigned int gaps;
	LIST_HEAD(dead);

	/* No MR is taken from here on, and none is added or freed elsewhere */
	mutex_lock(&rx->lock);
	WRITE_ONCE(pool->ep, NULL);
	mutex_unlock(&rx->lock);
	cancel_delayed_work_sync(&pool->grow);
	cancel_delayed_work_sync(&rx->shrink);

	mutex_lock(&rx->lock);
	list_for_each_entry(mr, &pool->all, all) {
		if (mr->nents)
			rx->stats.mrs_orphaned++;
		xprt_rdma_mr_unmap(mr);
		/* Unmapped before xprt_rdma_buf_free() sees the list empty */
		smp_wmb();
		list_del(&mr->list);
	}
	list_splice_init(&pool->all, &dead);
	for (gaps = 0; gaps < 2; gaps++) {
		pool->kinds[gaps].nr_idle = 0;
		pool->kinds[gaps].spare = 0;
		pool->kinds[gaps].count = 0;
		pool->kinds[gaps].limit = 0;
	}
	mutex_unlock(&rx->lock);
	wake_up_all(&rx->abort_wait);

	/*
	 * Firmware may take long for each. The queue pair has ended, so that no
	 * peer reaches the MRs, and no RPC waits for this.
	 */
	xprt_rdma_mrs_free(&dead);
}

/* Does an RPC in flight with another XID offer this rkey? Walks all MRs. */
bool xprt_rdma_mrs_in_use(struct xprt_rdma *rx, u32 rkey, u32 xid)
{
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	struct xprt_rdma_mr *mr;
	bool found = false;

	spin_lock(&pool->lock);
	list_for_each_entry(mr, &pool->all, all) {
		if (mr->nents && mr->mr->rkey == rkey && mr->xid != xid) {
			found = true;
			break;
		}
	}
	spin_unlock(&pool->lock);
	return found;
}

static struct xprt_rdma_mr *xprt_rdma_mr_pop(struct xprt_rdma_mr_pool *pool,
					     bool gaps)
{
	struct xprt_rdma_mr_kind *kind = &pool->kinds[gaps];
	struct xprt_rdma_mr *mr;

	spin_lock(&pool->lock);
	mr = list_first_entry_or_null(&kind->idle, struct xprt_rdma_mr, list);
	if (mr) {
		list_del_init(&mr->list);
		kind->nr_idle--;
		kind->spare = min(kind->spare, kind->nr_idle);
	}
	spin_unlock(&pool->lock);
	/* Ahead of need, and not by the task that sends */
	if (unlikely(xprt_rdma_mrs_short(kind)))
		queue_delayed_work(xprtiod_workqueue, &pool->grow, 0);
	return mr;
}

/*
 * Called with rx->lock. At the limit there is no growth: an MR that comes back
 * wakes the task, or the end of its RPC wakes others.
 */
static struct xprt_rdma_mr *xprt_rdma_mr_get(struct xprt_rdma_req *req,
					     bool gaps)
{
	struct xprt_rdma *rx = req->rx;
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	struct xprt_rdma_mr *mr;

	lockdep_assert_held(&rx->lock);
	if (!pool->ep)
		return ERR_PTR(-ENOTCONN);
	mr = xprt_rdma_mr_pop(pool, gaps);
	if (mr)
		return mr;

	trace_xprtrdma_nomrs(pool->ep, be32_to_cpu(req->rqst.rq_xid),
			     pool->kinds[gaps].count);
	/* An MR that comes back from here on finds the flag and wakes us */
	xprt_wait_for_buffer_space(&rx->xprt);
	mr = xprt_rdma_mr_pop(pool, gaps);
	if (mr) {
		xprt_write_space(&rx->xprt);
		return mr;
	}
	return ERR_PTR(-EAGAIN);
}

/*
 * Unmap MRs that no peer can reach, and give them back to the pool. Not @wake:
 * they come from a Call that did not get all it needs, and the only task that
 * waits is its own, which would fail again.
 */
void xprt_rdma_mrs_put(struct xprt_rdma *rx, struct list_head *mrs, bool wake)
{
	struct xprt_rdma_mr_pool *pool = &rx->pool;
	struct xprt_rdma_mr *mr, *next;
	LIST_HEAD(unmapped);

	if (list_empty(mrs))
		return;
	list_for_each_entry(mr, mrs, list)
		xprt_rdma_mr_unmap(mr);
	spin_lock(&pool->lock);
	/*
	 * Unmapped before xprt_rdma_buf_free() sees the list empty. The request may be
	 * gone from then on.
	 */
	smp_wmb();
	list_splice_init(mrs, &unmapped);
	/*
	 * Last in, last out: an rkey comes again after 256 registrations of
	 * its MR, and should stay invalid for long.
	 */
	list_for_each_entry_safe(mr, next, &unmapped, list) {
		pool->kinds[mr->gaps].nr_idle++;
		list_move_tail(&mr->list, &pool->kinds[mr->gaps].idle);
	}
	spin_unlock(&pool->lock);
	/* Pairs with xprt_wait_for_buffer_space() in xprt_rdma_mr_get() */
	smp_mb();
	if (wake && unlikely(test_bit(XPRT_WRITE_SPACE, &rx->xprt.state)))
		rpcrdma_rpc_write_space(&rx->xprt);
}

/*
 * The peer invalidated an MR of an RPC that is pinned: xprt_rdma_buf_free() is
 * not looking at its list. Return: false if it is not one of @req
 */
bool xprt_rdma_mrs_put_rkey(struct xprt_rdma_req *req, u32 rkey)
{
	struct xprt_rdma_mr *mr;
	LIST_HEAD(invalid);

	list_for_each_entry(mr, &req->mrs, list) {
		if (mr->mr->rkey != rkey)
			continue;
		trace_xprtrdma_mr_reminv(mr->ep, mr->xid, mr->mr);
		mr->seq = req->chain.seq;
		list_move(&mr->list, &invalid);
		xprt_rdma_mrs_put(req->rx, &invalid, true);
		return true;
	}
	return false;
}

/* The memory of a chunk, as far as no MR covers it */
struct xprt_rdma_mr_cursor {
	struct xprt_rdma_mr_plan plan;
	u32 max_segment;
	void *head;
	struct page **pages;
	u32 offset;		/* in the first of @pages */
	void *tail;
};

static void xprt_rdma_cursor_init(struct xprt_rdma_mr_cursor *cur,
				  struct xprt_rdma *rx,
				  const struct xdr_buf *buf, unsigned int parts)
{
	const struct kvec *head = &buf->head[0], *tail = &buf->tail[0];
	struct xprt_rdma_mr_plan *plan = &cur->plan;

	memset(cur, 0, sizeof(*cur));
	if (parts & BIT(XPRT_RDMA_HEAD)) {
		cur->head = head->iov_base;
		plan->range[XPRT_RDMA_HEAD].offset = offset_in_page(cur->head);
		plan->range[XPRT_RDMA_HEAD].len = head->iov_len;
	}
	if (parts & BIT(XPRT_RDMA_PAGES)) {
		cur->pages = buf->pages + (buf->page_base >> PAGE_SHIFT);
		cur->offset = offset_in_page(buf->page_base);
		plan->range[XPRT_RDMA_PAGES].offset = cur->offset;
		plan->range[XPRT_RDMA_PAGES].len = buf->page_len;
	}
	if (parts & BIT(XPRT_RDMA_TAIL)) {
		cur->tail = tail->iov_base;
		plan->range[XPRT_RDMA_TAIL].offset = offset_in_page(cur->tail);
		plan->range[XPRT_RDMA_TAIL].len = tail->iov_len;
	}
	cur->max_segment = rx->pool.max_segment;
	plan->page_size = PAGE_SIZE;
	plan->mr_pages = rx->ep->sizes.mr_pages;
	plan->gaps = rx->pool.kinds[1].limit && xprt_rdma_plan_gaps(plan);
}

/* XDR buffers are kmalloc'ed, or pages: contiguous either way */
static struct scatterlist *xprt_rdma_fill_buf(struct scatterlist *sg,
					      void **buf, u32 len)
{
	if (!len)
		return sg;
	sg_set_buf(sg, *buf, len);
	*buf += len;
	return sg + 1;
}

/* An MR begins where the one before it ended: at a page boundary */
static struct scatterlist *xprt_rdma_fill_pages(struct scatterlist *sg,
						struct xprt_rdma_mr_cursor *cur,
						u32 left)
{
	struct page **next;
	u32 len;

	for (; left; left -= len) {
		next = cur->pages + 1;
		len = min_t(u32, left, PAGE_SIZE - cur->offset);
		/* Join pages that are contiguous */
		while (len < left && len + PAGE_SIZE <= cur->max_segment &&
		       page_to_pfn(next[0]) == page_to_pfn(next[-1]) + 1) {
			len += min_t(u32, left - len, PAGE_SIZE);
			next++;
		}
		sg_set_page(sg++, *cur->pages, len, cur->offset);
		cur->pages = next;
		cur->offset = 0;
	}
	return sg;
}

/* Fill the scatterlist of an MR as planned. Return: the entries in use */
static unsigned int xprt_rdma_mr_fill(struct xprt_rdma_mr *mr,
				      struct xprt_rdma_mr_cursor *cur,
				      unsigned int pages)
{
	const u32 *take = cur->plan.take;
	struct scatterlist *sg = mr->sgl;

	/* Also clears the flags that the DMA layer left in the entries */
	sg_init_table(sg, pages);
	sg = xprt_rdma_fill_buf(sg, &cur->head, take[XPRT_RDMA_HEAD]);
	sg = xprt_rdma_fill_pages(sg, cur, take[XPRT_RDMA_PAGES]);
	sg = xprt_rdma_fill_buf(sg, &cur->tail, take[XPRT_RDMA_TAIL]);
	sg_mark_end(sg - 1);
	return sg - mr->sgl;
}

static int xprt_rdma_mr_register(struct xprt_rdma_mr *mr,
				 struct xprt_rdma_mr_cursor *cur,
				 unsigned int pages, bool remote_write)
{
	int mapped, n;

	WARN_ON_ONCE(mr->nents); /* I8 */
	mr->dir = remote_write ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	mr->nents = xprt_rdma_mr_fill(mr, cur, pages);
	mapped = rpcrdma_map_sg(mr->ep, mr->sgl, mr->nents, mr->dir);
	if (!mapped) {
		mr->nents = 0;
		return -ENOBUFS;
	}
	n = ib_map_mr_sg(mr->mr, mr->sgl, mapped, NULL, PAGE_SIZE);
	/* Bounce buffers may have moved data within their page */
	if (n != mapped) {
		rpcrdma_ep_warn(mr->ep, "ib_map_mr_sg mapped only %d of %d SG entries",
				max(n, 0), mapped);
		return -EIO;
	}

	/* The previous rkey becomes invalid */
	ib_update_fast_reg_key(mr->mr, (u8)(mr->mr->rkey + 1));

	mr->reg.wr.next = NULL;
	mr->reg.key = mr->mr->rkey;
	/* RFC 8166, section 8.1: no more access than the chunk needs */
	mr->reg.access = remote_write ?
			 IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE :
			 IB_ACCESS_REMOTE_READ;
	return 0;
}

/*
 * Prepare MRs for parts of an xdr_buf (BIT(XPRT_RDMA_HEAD), ...), one for each
 * segment, in order; called with rx->lock. The caller posts their REG_MRs, or
 * puts them back, after an error, too.
 *
 * Return: number of segments; -EAGAIN if MRs are exhausted (xprt_write_space()
 * wakes the task); -ENOBUFS if the DMA mapping failed for now; -ENOTCONN; -EIO.
 */
int xprt_rdma_mrs_map(struct xprt_rdma_req *req, const struct xdr_buf *buf,
		      unsigned int parts, bool remote_write)
{
	struct xprt_rdma_mr_cursor cur;
	struct xprt_rdma_mr *mr;
	u32 pages;
	int rc, n;

	xprt_rdma_cursor_init(&cur, req->rx, buf, parts);
	for (n = 0; (pages = xprt_rdma_plan_mr(&cur.plan)); n++) {
		mr = xprt_rdma_mr_get(req, cur.plan.gaps);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		list_add_tail(&mr->list, &req->mrs);
		rc = xprt_rdma_mr_register(mr, &cur, pages, remote_write);
		if (rc)
			return rc;
	}
	return n;
}

/* After an error of rpcrdma_sendq_post() @done is not called */
int xprt_rdma_mrs_invalidate(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			     void (*done)(struct rpcrdma_chain *chain,
					  enum ib_wc_status status))
{
	struct xprt_rdma_mr *mr;

	rpcrdma_chain_init(&req->inv_chain, done);
	list_for_each_entry(mr, &req->mrs, list) {
		mr->inv.next = NULL;
		mr->inv.send_flags = 0;
		mr->inv.ex.invalidate_rkey = mr->mr->rkey;
		trace_xprtrdma_mr_localinv(ep, mr->xid, mr->mr);
		rpcrdma_chain_append(ep, &req->inv_chain, &mr->inv);
		req->rx->stats.local_inv_needed++;
	}
	return rpcrdma_sendq_post(ep, &req->inv_chain, false);
}
