// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA Reads and Writes: the only user of rdma_rw. A context moves a range of
 * an xdr_buf to or from one segment of the peer's memory; the contexts of an
 * RPC are linked into one chain.
 *
 * rdma_rw allocates when an operation has several SGEs, and maps and unmaps
 * the pages itself: contexts are built in process context only, and released
 * wherever their completion arrives.
 */

#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/rw.h>

#include "svc_rdma.h"

/* Pages of a small I/O, at any alignment */
#define SVC_RDMA_RW_SMALL	4
/* Idle contexts a connection keeps of each size */
#define SVC_RDMA_RW_CACHED	8

/**
 * struct svc_rdma_rw - one RDMA Read or Write, which may take several WRs
 * @list: in its set, or in the connection's list of idle ones
 * @ctx: rdma_rw's part
 * @large: size class
 * @nents: entries of @sgl in use
 * @sgl: what is moved
 */
struct svc_rdma_rw {
	struct list_head list;
	struct rdma_rw_ctx ctx;
	bool large;
	unsigned int nents;
	struct scatterlist sgl[];
};

static struct page *kvec_piece(const struct kvec *vec, u32 at, u32 *offset)
{
	*offset = offset_in_page(vec->iov_base + at);
	return virt_to_page(vec->iov_base + at);
}

/**
 * svc_rdma_cursor_next - the next octets of an xdr_buf, within one page
 * @cur: position; moved behind them
 * @max: at most so many
 * @piece: result
 *
 * Context: any.
 *
 * Return: false at the end of the buffer, or when @max is 0.
 */
bool svc_rdma_cursor_next(struct svc_rdma_cursor *cur, u32 max,
			  struct svc_rdma_piece *piece)
{
	const struct xdr_buf *buf = cur->buf;
	const struct kvec *vec = &buf->head[0];
	u32 at = cur->at, left;

	if (at < vec->iov_len) {
		left = vec->iov_len - at;
		piece->page = kvec_piece(vec, at, &piece->offset);
		goto out;
	}
	at -= vec->iov_len;
	if (at < buf->page_len) {
		left = buf->page_len - at;
		at += buf->page_base;
		piece->page = buf->pages[at >> PAGE_SHIFT];
		piece->offset = offset_in_page(at);
		goto out;
	}
	at -= buf->page_len;
	vec = &buf->tail[0];
	if (at >= vec->iov_len)
		return false;
	left = vec->iov_len - at;
	piece->page = kvec_piece(vec, at, &piece->offset);
out:
	piece->len = min3(left, max, (u32)PAGE_SIZE - piece->offset);
	cur->at += piece->len;
	return piece->len;
}

static struct svc_rdma_rw *rw_get(struct svc_rdma_conn *conn, bool large)
{
	unsigned int max = large ? RPCSVC_MAXPAGES : SVC_RDMA_RW_SMALL;
	struct svc_rdma_rw *rw;

	spin_lock_bh(&conn->lock);
	rw = list_first_entry_or_null(&conn->free_rws[large],
				      struct svc_rdma_rw, list);
	if (rw) {
		list_del(&rw->list);
		conn->nr_free_rws[large]--;
	}
	conn->nr_busy_rws++;
	spin_unlock_bh(&conn->lock);
	if (rw)
		return rw;

	rw = RPCRDMA_ALLOC(NULL, kvmalloc(struct_size(rw, sgl, max), GFP_KERNEL));
	if (rw) {
		rw->large = large;
		return rw;
	}
	spin_lock_bh(&conn->lock);
	conn->nr_busy_rws--;
	spin_unlock_bh(&conn->lock);
	return NULL;
}

/* Caller: conn->lock. Returns a context to be freed, or NULL */
static struct svc_rdma_rw *rw_put_locked(struct svc_rdma_conn *conn,
					 struct svc_rdma_rw *rw)
{
	conn->nr_busy_rws--;
	if (conn->starved) {
		conn->starved = false;
		svc_rdma_make_ready(conn);
	}
	if (conn->nr_free_rws[rw->large] >= SVC_RDMA_RW_CACHED)
		return rw;
	list_add(&rw->list, &conn->free_rws[rw->large]);
	conn->nr_free_rws[rw->large]++;
	return NULL;
}

static void rw_put(struct svc_rdma_conn *conn, struct svc_rdma_rw *rw)
{
	spin_lock_bh(&conn->lock);
	rw = rw_put_locked(conn, rw);
	spin_unlock_bh(&conn->lock);
	kvfree(rw);
}

/**
 * svc_rdma_rws_free - free the idle contexts
 * @conn: connection whose contexts are all idle
 *
 * Context: any.
 */
void svc_rdma_rws_free(struct svc_rdma_conn *conn)
{
	struct svc_rdma_rw *rw, *next;
	int i;

	for (i = 0; i < ARRAY_SIZE(conn->free_rws); i++) {
		list_for_each_entry_safe(rw, next, &conn->free_rws[i], list)
			kvfree(rw);
		INIT_LIST_HEAD(&conn->free_rws[i]);
		conn->nr_free_rws[i] = 0;
	}
}

/*
 * Fills a context with up to @len octets from @cur. MRs have no gaps: a piece
 * that does not continue the page before it begins another context.
 */
static u32 rw_fill(struct svc_rdma_rw *rw, struct svc_rdma_cursor *cur, u32 len)
{
	unsigned int max = rw->large ? RPCSVC_MAXPAGES : SVC_RDMA_RW_SMALL;
	struct svc_rdma_cursor look = *cur;
	struct svc_rdma_piece piece;
	bool gap = false;
	u32 done = 0;

	sg_init_table(rw->sgl, max);
	rw->nents = 0;
	while (rw->nents < max && !gap &&
	       svc_rdma_cursor_next(&look, len - done, &piece)) {
		if (rw->nents && piece.offset)
			break;
		sg_set_page(&rw->sgl[rw->nents++], piece.page, piece.len,
			    piece.offset);
		gap = piece.offset + piece.len < PAGE_SIZE;
		done += piece.len;
		*cur = look;
	}
	if (rw->nents)
		sg_mark_end(&rw->sgl[rw->nents - 1]);
	return done;
}

/**
 * svc_rdma_rwset_init - an empty set
 * @set: set
 * @dir: DMA_FROM_DEVICE for RDMA Reads, DMA_TO_DEVICE for RDMA Writes
 *
 * Context: any.
 */
void svc_rdma_rwset_init(struct svc_rdma_rwset *set,
			 enum dma_data_direction dir)
{
	INIT_LIST_HEAD(&set->list);
	set->slots = 0;
	set->dir = dir;
}

/* Send Queue slots that @nents pages take at least */
static u32 rw_estimate(const struct ib_qp *qp, const struct svc_rdma_rwset *set,
		       u32 nents)
{
	u32 sges = set->dir == DMA_TO_DEVICE ? qp->max_write_sge :
					       qp->max_read_sge;

	return DIV_ROUND_UP(nents, max(sges, 1U));
}

static int rw_add_one(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		      struct svc_rdma_cursor *cur, u32 len, u32 handle,
		      u64 offset)
{
	bool large = len > (SVC_RDMA_RW_SMALL - 1) * PAGE_SIZE;
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_rw *rw;
	u32 done;
	int rc;

	rw = rw_get(conn, large);
	if (!rw)
		return -ENOMEM;
	done = rw_fill(rw, cur, len);
	rc = -EINVAL;
	if (!done)
		goto out;
	rc = -EMSGSIZE;
	if (set->slots + rw_estimate(ep->qp, set, rw->nents) >=
	    rpcrdma_sendq_max_chain(ep))
		goto out;
	rc = RPCRDMA_ALLOC(-ENOMEM,
			   rdma_rw_ctx_init(&rw->ctx, ep->qp, ep->id->port_num,
					    rw->sgl, rw->nents, 0, offset,
					    handle, set->dir));
	if (rc < 0)
		goto out;
	set->slots += rc;
	list_add(&rw->list, &set->list);
	/* With MRs it may be more than estimated; there is a Send to come */
	return set->slots < rpcrdma_sendq_max_chain(ep) ? done : -EMSGSIZE;
out:
	rw_put(conn, rw);
	return rc;
}

/**
 * svc_rdma_rwset_add - move octets to or from a segment
 * @conn: connection
 * @set: set to add the operation to
 * @cur: our side of it; moved behind the octets
 * @seg: the peer's side; @length octets are moved
 *
 * Context: process, may sleep; within svc_rdma_enter(). The pages must stay
 * until svc_rdma_rwset_release(), which is due after an error, too.
 *
 * Return: 0; -EMSGSIZE when the chain would be longer than the Send Queue;
 * -EINVAL when @cur comes to its end; -EAGAIN when the device needs MRs for
 * this and all are in use; -ENOMEM, -EIO.
 */
int svc_rdma_rwset_add(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		       struct svc_rdma_cursor *cur,
		       const struct rpcrdma_segment *seg)
{
	u32 done = 0;
	int rc;

	while (done < seg->length) {
		rc = rw_add_one(conn, set, cur, seg->length - done,
				seg->handle, seg->offset + done);
		if (rc < 0)
			return rc;
		done += rc;
	}
	if (set->dir == DMA_TO_DEVICE)
		percpu_counter_inc(&svc_rdma_stat_write);
	else
		percpu_counter_inc(&svc_rdma_stat_read);
	return 0;
}

/**
 * svc_rdma_rwset_wrs - link all operations of a set
 * @conn: connection
 * @set: set; not empty, unless there is a @send
 * @chain: to be posted at once: from here on MRs count as used
 * @send: WR to follow them, or NULL
 *
 * Context: process, within svc_rdma_enter().
 *
 * Return: the first WR of all.
 */
struct ib_send_wr *svc_rdma_rwset_wrs(struct svc_rdma_conn *conn,
				      struct svc_rdma_rwset *set,
				      struct rpcrdma_chain *chain,
				      struct ib_send_wr *send)
{
	struct rpcrdma_ep *ep = conn->ep;
	struct ib_send_wr *first = send;
	struct svc_rdma_rw *rw;

	/* The last comes first, so each can point to the one after it */
	list_for_each_entry(rw, &set->list, list)
		first = rdma_rw_ctx_wrs(&rw->ctx, ep->qp, ep->id->port_num,
					first ? NULL : &chain->cqe, first);
	return first;
}

/**
 * svc_rdma_rwset_release - unmap, and make the contexts idle
 * @conn: connection
 * @set: set whose operations are complete, or were never posted; is empty
 *	afterwards
 *
 * Context: process within svc_rdma_enter(), or a completion; does not sleep.
 */
void svc_rdma_rwset_release(struct svc_rdma_conn *conn,
			    struct svc_rdma_rwset *set)
{
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_rw *rw, *next;

	list_for_each_entry_safe(rw, next, &set->list, list) {
		rdma_rw_ctx_destroy(&rw->ctx, ep->qp, ep->id->port_num,
				    rw->sgl, rw->nents, set->dir);
		rw_put(conn, rw);
	}
	INIT_LIST_HEAD(&set->list);
	set->slots = 0;
}
