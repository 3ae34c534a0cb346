// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive buffers, each posted, held by a side, or free. The only call of
 * ib_post_recv. A refill allocates nothing. A connection begins with buffers for a
 * few credits, and doubles them as its side asks. Their memory comes in blocks of
 * several, so that an inline threshold that is no power of two wastes none of it.
 */

#include <linux/slab.h>

#include "rpcrdma/endpoint.h"

/**
 * struct rpcrdma_recv_set - Receive buffers that were allocated together
 * @list: all sets of a connection
 * @recvs: the buffers
 * @count: how many
 * @blocks: their memory, several in each
 * @nr_blocks: how many blocks
 */
struct rpcrdma_recv_set {
	struct list_head list;
	struct rpcrdma_recv *recvs;
	u32 count;
	struct rpcrdma_dmabuf *blocks;
	u32 nr_blocks;
};

/**
 * struct rpcrdma_recvq - Receive buffers and their refill
 * @ep: endpoint it serves
 * @sets: all buffers; only added to, and not once the queue is stopped
 * @size: bytes of each
 * @free: those not posted and not held by a side
 * @nr_free: how many are in @free
 * @batch: post when so many are free
 * @lock: protects @sets, and is held while Receives are posted, so that none is
 *	after @open is false
 * @open: Receives may be posted
 * @abandoned: completions are ignored
 *
 * The memory lives as long as the endpoint, because a side may still read a
 * message when the connection is down; the mappings end with the connection.
 */
struct rpcrdma_recvq {
	struct rpcrdma_ep *ep;
	struct list_head sets;
	u32 size;
	struct llist_head free;
	atomic_t nr_free;
	u32 batch;
	spinlock_t lock;
	bool open;
	bool abandoned;
};

static void rpcrdma_recv_free(struct rpcrdma_recv *recv)
{
	struct rpcrdma_recvq *rq = recv->recvq;

	recv->owner = RPCRDMA_RECV_FREE;
	llist_add(&recv->free, &rq->free);
	atomic_inc(&rq->nr_free);
}

/*
 * Links the free Receives, which are mapped as long as the queue is open.
 *
 * Return: the first WR.
 */
static struct ib_recv_wr *rpcrdma_recvq_take(struct rpcrdma_recvq *rq)
{
	struct llist_node *node = llist_del_all(&rq->free);
	struct rpcrdma_recv *recv, *next;
	struct ib_recv_wr *first = NULL;
	int n = 0;

	llist_for_each_entry_safe(recv, next, node, free) {
		WARN_ON_ONCE(recv->owner != RPCRDMA_RECV_FREE); /* I1 */
		/* RPCSEC_GSS deciphers a Call where it was received */
		rpcrdma_dmabuf_sync_for_device(recv->block, recv->offset,
					       recv->len);
		recv->owner = RPCRDMA_RECV_POSTED;
		recv->wr.next = first;
		first = &recv->wr;
		n++;
	}
	atomic_sub(n, &rq->nr_free);
	return first;
}

/* Context: process */
static int rpcrdma_recvq_post(struct rpcrdma_recvq *rq)
{
	const struct ib_recv_wr *wr = NULL;
	struct ib_recv_wr *first;
	int rc = 0;

	spin_lock(&rq->lock);
	if (rq->open) {
		first = rpcrdma_recvq_take(rq);
		if (first)
			rc = ib_post_recv(rq->ep->qp, first, &wr);
	}
	if (unlikely(rc)) {
		rq->open = false;
		/* WRs that the device did not accept are not posted again */
		for (; wr; wr = wr->next)
			rpcrdma_recv_free(container_of(wr->wr_cqe,
						       struct rpcrdma_recv, cqe));
	}
	spin_unlock(&rq->lock);
	/* The connection ends here: the drain brings back the others */
	if (unlikely(rc))
		rpcrdma_ep_fail(rq->ep, rc, "posting a Receive failed");
	return rc;
}

static void rpcrdma_recv_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *recv =
		container_of(wc->wr_cqe, struct rpcrdma_recv, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;

	if (READ_ONCE(recv->recvq->abandoned))
		return;
	WARN_ON_ONCE(recv->owner != RPCRDMA_RECV_POSTED); /* I1 */
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rpcrdma_ep_fail_wc(ep, wc, "Receive");
		rpcrdma_recv_free(recv);
		return;
	}
	/*
	 * An RDMA Write with immediate data uses up a Receive, and leaves its buffer as
	 * it was: the length is that of the Write, wherever it went.
	 */
	if (unlikely(wc->opcode != IB_WC_RECV ||
		     wc->byte_len > recv->sge.length)) {
		rpcrdma_ep_fail(ep, -EPROTO,
				"peer sent RDMA Write with immediate data");
		rpcrdma_recv_free(recv);
		return;
	}
	recv->owner = RPCRDMA_RECV_HELD;
	recv->ep = ep;
	recv->len = wc->byte_len;
	recv->invalidated = wc->wc_flags & IB_WC_WITH_INVALIDATE;
	recv->inv_rkey = recv->invalidated ? wc->ex.invalidate_rkey : 0;
	ep->count.recvs++;
	ep->count.recv_octets += recv->len;
	ep->count.remote_invs += recv->invalidated;
	rpcrdma_dmabuf_sync_for_cpu(recv->block, recv->offset, recv->len);
	ep->attr.ops->received(ep, recv);
}

/*
 * Memory for up to @nr buffers. A block of several may be more than a machine can give
 * that runs for long, or that reconnects because it must swap: then one buffer goes by
 * itself, whatever it wastes.
 *
 * Return: for how many it is, or a negative errno.
 */
static int rpcrdma_block_create(struct rpcrdma_recvq *rq,
				struct rpcrdma_recv_set *set, u32 nr, gfp_t gfp)
{
	struct rpcrdma_dmabuf *block = &set->blocks[set->nr_blocks++];
	int node = rpcrdma_ep_node(rq->ep), rc = -ENOMEM;

	if (nr > 1)
		rc = rpcrdma_dmabuf_alloc(block, nr * rq->size, DMA_FROM_DEVICE,
					  node, gfp | __GFP_NORETRY | __GFP_NOWARN);
	if (rc) {
		nr = 1;
		rc = rpcrdma_dmabuf_alloc(block, rq->size, DMA_FROM_DEVICE, node, gfp);
	}
	if (!rc)
		rc = rpcrdma_dmabuf_map(rq->ep, block);
	return rc ? : nr;
}

/* Buffers, and the blocks they are cut from: the last may be smaller */
static int rpcrdma_recvs_create(struct rpcrdma_recvq *rq,
				struct rpcrdma_recv_set *set, gfp_t gfp)
{
	u32 each = rpcrdma_plan_recv_block(rq->size, PAGE_SIZE), i = 0;
	struct rpcrdma_dmabuf *block;
	struct rpcrdma_recv *recv;
	int n, nr;

	while (i < set->count) {
		block = &set->blocks[set->nr_blocks];
		nr = rpcrdma_block_create(rq, set, min(each, set->count - i), gfp);
		if (nr < 0)
			return nr;
		for (n = 0; n < nr; n++) {
			recv = &set->recvs[i++];
			recv->recvq = rq;
			recv->cqe.done = rpcrdma_recv_wc;
			recv->block = block;
			recv->offset = n * rq->size;
			recv->data = block->data + recv->offset;
			rpcrdma_dmabuf_sge(block, &recv->sge, recv->offset,
					   rq->size);
			recv->wr.wr_cqe = &recv->cqe;
			recv->wr.sg_list = &recv->sge;
			recv->wr.num_sge = 1;
		}
		/* A large block failed once: do not try again and again */
		if (nr < each)
			each = 1;
	}
	return 0;
}

static void rpcrdma_recv_set_free(struct rpcrdma_recv_set *set)
{
	u32 i;

	for (i = 0; i < set->nr_blocks; i++)
		rpcrdma_dmabuf_free(&set->blocks[i]);
	kvfree(set->blocks);
	kvfree(set->recvs);
	kfree(set);
}

/* More buffers. 0; -ENOMEM; -ENOTCONN if the queue has been stopped */
static int rpcrdma_recvq_add(struct rpcrdma_recvq *rq, u32 count, gfp_t gfp)
{
	int node = rpcrdma_ep_node(rq->ep), rc = -ENOMEM;
	struct rpcrdma_recv_set *set;
	u32 i;

	set = kzalloc_node(sizeof(*set), gfp, node);
	if (!set)
		return -ENOMEM;
	set->count = count;
	set->recvs = kvmalloc_node(array_size(count, sizeof(*set->recvs)),
				   gfp | __GFP_ZERO, node);
	/* As many as there may be at most */
	set->blocks = kvmalloc_node(array_size(count, sizeof(*set->blocks)),
				    gfp | __GFP_ZERO, node);
	if (set->recvs && set->blocks)
		rc = rpcrdma_recvs_create(rq, set, gfp);
	spin_lock(&rq->lock);
	if (!rc && rq->ep->receivable && !rq->open)
		rc = -ENOTCONN;
	if (!rc) {
		list_add_tail(&set->list, &rq->sets);
		for (i = 0; i < count; i++)
			rpcrdma_recv_free(&set->recvs[i]);
	}
	spin_unlock(&rq->lock);
	if (rc)
		rpcrdma_recv_set_free(set);
	return rc;
}

/* Receives beyond those for @credits, which may stay unposted; few as long as these are few */
static u32 rpcrdma_recvq_batch(const struct rpcrdma_ep *ep, u32 credits)
{
	const struct rpcrdma_queue_sizes *s = &ep->sizes;

	return min(s->recvs - s->credits - s->bc_credits, credits / 4);
}

/* After an error rpcrdma_recvq_destroy() frees the rest, with the endpoint */
int rpcrdma_recvq_create(struct rpcrdma_ep *ep)
{
	u32 credits = min(ep->attr.want.first_credits, ep->sizes.credits);
	struct rpcrdma_recvq *rq;
	int rc;

	rq = kzalloc_node(sizeof(*rq), GFP_KERNEL, rpcrdma_ep_node(ep));
	if (!rq)
		return -ENOMEM;
	ep->recvq = rq;
	rq->ep = ep;
	rq->batch = rpcrdma_recvq_batch(ep, credits);
	init_llist_head(&rq->free);
	INIT_LIST_HEAD(&rq->sets);
	spin_lock_init(&rq->lock);
	/* A posted Receive cannot grow when the version becomes known */
	rq->size = rpcrdma_threshold(ep->local.recv_size, ep->attr.max_version);
	rc = rpcrdma_recvq_add(rq, credits + ep->sizes.bc_credits + rq->batch,
			       GFP_KERNEL);
	if (!rc)
		ep->receivable = credits;
	return rc;
}

/**
 * rpcrdma_recvq_grow - Receives for twice the credits
 * @ep: endpoint; its release must not begin meanwhile
 * @gfp: how to allocate
 *
 * Context: process; one caller at a time. Sleeps if @gfp allows it.
 *
 * Return: 0, and @ep->receivable has grown; -ENOBUFS if it has all that the queue
 * holds; -ENOMEM; -ENOTCONN when the connection ends.
 */
int rpcrdma_recvq_grow(struct rpcrdma_ep *ep, gfp_t gfp)
{
	u32 more = min(ep->receivable, ep->sizes.credits - ep->receivable);
	struct rpcrdma_recvq *rq = ep->recvq;
	u32 batch = rpcrdma_recvq_batch(ep, ep->receivable + more);
	int rc;

	if (!more)
		return -ENOBUFS;
	rc = rpcrdma_recvq_add(rq, more + batch - rq->batch, gfp);
	if (!rc)
		rc = rpcrdma_recvq_post(rq);
	if (rc)
		return rc;
	WRITE_ONCE(rq->batch, batch);
	/* No Reply grants them before they are posted */
	smp_store_release(&ep->receivable, ep->receivable + more);
	return 0;
}

/* Post all Receives; the QP exists */
int rpcrdma_recvq_start(struct rpcrdma_ep *ep)
{
	ep->recvq->open = true;
	return rpcrdma_recvq_post(ep->recvq);
}

/* On return no thread is within ib_post_recv and none will enter: the drain is last */
void rpcrdma_recvq_stop(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recvq *rq = ep->recvq;

	if (!rq)
		return;
	spin_lock(&rq->lock);
	rq->open = false;
	spin_unlock(&rq->lock);
}

/* Has the device returned every Receive? Completions may still come in */
bool rpcrdma_recvq_drained(const struct rpcrdma_ep *ep)
{
	const struct rpcrdma_recv_set *set;
	u32 i;

	if (!ep->recvq)
		return true;
	list_for_each_entry(set, &ep->recvq->sets, list)
		for (i = 0; i < set->count; i++)
			if (READ_ONCE(set->recvs[i].owner) == RPCRDMA_RECV_POSTED)
				return false;
	return true;
}

/* No handler that began before is running on return. Context: may sleep */
void rpcrdma_recvq_settle(struct rpcrdma_ep *ep)
{
	if (ep->attr.recv_poll == IB_POLL_SOFTIRQ)
		synchronize_rcu();
	else
		flush_work(&ep->recv_cq->work);
}

/*
 * Ignore completions from now on. On return none is being handled.
 * Context: may sleep.
 */
void rpcrdma_recvq_abandon(struct rpcrdma_ep *ep)
{
	if (ep->recvq)
		WRITE_ONCE(ep->recvq->abandoned, true);
	rpcrdma_recvq_settle(ep);
}

/*
 * End the mappings, keep the memory: a side may go on reading a message that it holds.
 * If the device was abandoned, take back the Receives that it did not return.
 */
void rpcrdma_recvq_unmap(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recv_set *set;
	u32 i;

	if (!ep->recvq)
		return;
	list_for_each_entry(set, &ep->recvq->sets, list) {
		for (i = 0; i < set->count; i++)
			if (READ_ONCE(set->recvs[i].owner) == RPCRDMA_RECV_POSTED)
				rpcrdma_recv_free(&set->recvs[i]);
		for (i = 0; i < set->nr_blocks; i++)
			rpcrdma_dmabuf_unmap(&set->blocks[i]);
	}
}

/* The endpoint has no reference any more. Context: may sleep */
void rpcrdma_recvq_destroy(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recvq *rq = ep->recvq;
	struct rpcrdma_recv_set *set, *next;
	u32 i;

	if (!rq)
		return;
	list_for_each_entry_safe(set, next, &rq->sets, list) {
		for (i = 0; i < set->count; i++)
			WARN_ON_ONCE(set->recvs[i].owner > RPCRDMA_RECV_FREE); /* I2 */
		rpcrdma_recv_set_free(set);
	}
	kfree(rq);
	ep->recvq = NULL;
}

/**
 * rpcrdma_recv_put - a side is done with a message
 * @recv: given to rpcrdma_ep_ops.received
 *
 * The buffer is posted again, alone or with others. The caller held a
 * reference on the endpoint for as long as it held @recv outside of
 * rpcrdma_ep_ops.received.
 *
 * Context: process; does not sleep and allocates nothing.
 */
void rpcrdma_recv_put(struct rpcrdma_recv *recv)
{
	struct rpcrdma_recvq *rq = recv->recvq;

	WARN_ON_ONCE(recv->owner != RPCRDMA_RECV_HELD); /* I1 */
	rpcrdma_recv_free(recv);
	if (atomic_read(&rq->nr_free) >= READ_ONCE(rq->batch))
		rpcrdma_recvq_post(rq);
}
