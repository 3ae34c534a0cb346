// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive buffers: one array per connection, each buffer posted, held by a
 * side, or free. The only call of ib_post_recv. A refill allocates nothing.
 * Their memory comes in blocks of several, so that an inline threshold that is no
 * power of two wastes none of it.
 */

#include <linux/slab.h>

#include "rpcrdma/endpoint.h"

/**
 * struct rpcrdma_recvq - Receive buffers and their refill
 * @ep: endpoint it serves
 * @recvs: all buffers
 * @count: how many
 * @blocks: their memory, several in each
 * @nr_blocks: how many blocks
 * @free: those not posted and not held by a side
 * @nr_free: how many are in @free
 * @batch: post when so many are free
 * @lock: held while Receives are posted, so that none is after @open is false
 * @open: Receives may be posted
 * @abandoned: completions are ignored
 *
 * The memory lives as long as the endpoint, because a side may still read a
 * message when the connection is down; the mappings end with the connection.
 */
struct rpcrdma_recvq {
	struct rpcrdma_ep *ep;
	struct rpcrdma_recv *recvs;
	u32 count;
	struct rpcrdma_dmabuf *blocks;
	u32 nr_blocks;
	struct llist_head free;
	atomic_t nr_free;
	u32 batch;
	spinlock_t lock;
	bool open;
	bool abandoned;
};

static void rpcrdma_recv_wc(struct ib_cq *cq, struct ib_wc *wc);

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
	if (likely(!rc))
		return 0;

	/* The connection ends here: the drain brings back the others */
	rpcrdma_ep_fail_reason(rq->ep, rc, "posting a Receive failed");
	return rc;
}

static void rpcrdma_recv_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *recv =
		container_of(wc->wr_cqe, struct rpcrdma_recv, cqe);
	struct rpcrdma_ep *ep = wc->qp->qp_context;

	if (READ_ONCE(recv->recvq->abandoned))
		return;
	WARN_ON_ONCE(recv->owner != RPCRDMA_RECV_POSTED); /* I1 */
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rpcrdma_ep_fail_wc(ep, wc, "Receive");
		rpcrdma_recv_free(recv);
		return;
	}
	/*
	 * An RDMA Write with immediate data uses up a Receive, and leaves what is in its
	 * buffer from before: the length is that of the Write, wherever it went.
	 */
	if (unlikely(wc->opcode != IB_WC_RECV ||
		     wc->byte_len > recv->sge.length)) {
		rpcrdma_ep_fail_reason(ep, -EPROTO,
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
	ep->ops->received(ep, recv);
}

static void rpcrdma_recv_init(struct rpcrdma_recvq *rq,
			      struct rpcrdma_recv *recv,
			      struct rpcrdma_dmabuf *block, u32 offset,
			      u32 size)
{
	recv->recvq = rq;
	recv->cqe.done = rpcrdma_recv_wc;
	recv->block = block;
	recv->offset = offset;
	recv->data = block->data + offset;
	rpcrdma_dmabuf_sge(block, &recv->sge, offset, size);
	recv->wr.wr_cqe = &recv->cqe;
	recv->wr.sg_list = &recv->sge;
	recv->wr.num_sge = 1;
	rpcrdma_recv_free(recv);
}

/*
 * Memory for up to @nr buffers. A block of several may be more than a machine can give
 * that runs for long, or that reconnects because it must swap: then one buffer goes by
 * itself, whatever it wastes.
 *
 * Return: for how many it is, or a negative errno.
 */
static int rpcrdma_block_create(struct rpcrdma_recvq *rq, u32 nr, u32 size)
{
	struct rpcrdma_dmabuf *block = &rq->blocks[rq->nr_blocks++];
	int node = rpcrdma_ep_node(rq->ep), rc = -ENOMEM;

	if (nr > 1)
		rc = rpcrdma_dmabuf_alloc(block, nr * size, DMA_FROM_DEVICE,
					  node, GFP_KERNEL | __GFP_NORETRY |
						__GFP_NOWARN);
	if (rc) {
		nr = 1;
		rc = rpcrdma_dmabuf_alloc(block, size, DMA_FROM_DEVICE, node,
					  GFP_KERNEL);
	}
	if (!rc)
		rc = rpcrdma_dmabuf_map(rq->ep, block);
	return rc ? : nr;
}

/* Buffers, and the blocks they are cut from: the last may be smaller */
static int rpcrdma_recvs_create(struct rpcrdma_recvq *rq, u32 size)
{
	u32 each = rpcrdma_plan_recv_block(size, PAGE_SIZE), i = 0;
	struct rpcrdma_dmabuf *block;
	int n, nr;

	/* As many as there may be at most */
	rq->blocks = kvmalloc_node(array_size(rq->count, sizeof(*rq->blocks)),
				   GFP_KERNEL | __GFP_ZERO,
				   rpcrdma_ep_node(rq->ep));
	if (!rq->blocks)
		return -ENOMEM;
	while (i < rq->count) {
		block = &rq->blocks[rq->nr_blocks];
		nr = rpcrdma_block_create(rq, min(each, rq->count - i), size);
		if (nr < 0)
			return nr;
		for (n = 0; n < nr; n++)
			rpcrdma_recv_init(rq, &rq->recvs[i++], block, n * size,
					  size);
		/* A large block failed once: do not try again and again */
		if (nr < each)
			each = 1;
	}
	return 0;
}

/* After an error rpcrdma_recvq_destroy() frees the rest, with the endpoint */
int rpcrdma_recvq_create(struct rpcrdma_ep *ep)
{
	int node = rpcrdma_ep_node(ep);
	struct rpcrdma_recvq *rq;

	rq = kzalloc_node(sizeof(*rq), GFP_KERNEL, node);
	if (!rq)
		return -ENOMEM;
	ep->recvq = rq;
	rq->ep = ep;
	/* Those beyond the credits may stay unposted, no more */
	rq->batch = max_t(u32, ep->sizes.recvs - ep->sizes.credits -
			  ep->sizes.bc_credits, 1);
	init_llist_head(&rq->free);
	spin_lock_init(&rq->lock);
	rq->recvs = kvmalloc_node(array_size(ep->sizes.recvs,
					     sizeof(*rq->recvs)),
				  GFP_KERNEL | __GFP_ZERO, node);
	if (!rq->recvs)
		return -ENOMEM;
	rq->count = ep->sizes.recvs;
	/* A posted Receive cannot grow when the version becomes known */
	return rpcrdma_recvs_create(rq, rpcrdma_threshold(ep->local.recv_size,
							  ep->max_version));
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
	const struct rpcrdma_recvq *rq = ep->recvq;
	u32 i;

	for (i = 0; rq && i < rq->count; i++)
		if (READ_ONCE(rq->recvs[i].owner) == RPCRDMA_RECV_POSTED)
			return false;
	return true;
}

/* No handler that began before is running on return. Context: may sleep */
void rpcrdma_recvq_settle(struct rpcrdma_ep *ep)
{
	if (ep->recv_poll == IB_POLL_SOFTIRQ)
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

/* Take back the Receives whose completions are ignored, or cannot come. */
void rpcrdma_recvq_flush(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recvq *rq = ep->recvq;
	u32 i;

	for (i = 0; rq && i < rq->count; i++)
		if (rq->recvs[i].owner == RPCRDMA_RECV_POSTED)
			rpcrdma_recv_free(&rq->recvs[i]);
}

/* End the mappings, keep the memory: a side may go on reading a message that it holds */
void rpcrdma_recvq_unmap(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recvq *rq = ep->recvq;
	u32 i;

	for (i = 0; rq && i < rq->nr_blocks; i++)
		rpcrdma_dmabuf_unmap(&rq->blocks[i]);
}

/* The endpoint has no reference any more. Context: may sleep */
void rpcrdma_recvq_destroy(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recvq *rq = ep->recvq;
	u32 i;

	if (!rq)
		return;
	for (i = 0; i < rq->count; i++)
		WARN_ON_ONCE(rq->recvs[i].owner > RPCRDMA_RECV_FREE); /* I2 */
	for (i = 0; i < rq->nr_blocks; i++)
		rpcrdma_dmabuf_free(&rq->blocks[i]);
	kvfree(rq->blocks);
	kvfree(rq->recvs);
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
	if (atomic_read(&rq->nr_free) >= rq->batch)
		rpcrdma_recvq_post(rq);
}
