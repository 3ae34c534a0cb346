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
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/rw.h>

#include "read.h"

/* Pages of a small I/O, at any alignment: see SVC_RDMA_RW_SMALL_LEN */
#define SVC_RDMA_RW_SMALL	4
/* Idle contexts a connection keeps of each size */
#define SVC_RDMA_RW_CACHED	8

/**
 * struct svc_rdma_rw - one RDMA Read or Write, which may take several WRs
 * @next: in its set, or among the connection's idle ones
 * @ctx: rdma_rw's part
 * @large: size class
 * @nents: entries of @sgl in use
 * @sgl: what is moved
 */
struct svc_rdma_rw {
	struct svc_rdma_rw *next;
	struct rdma_rw_ctx ctx;
	bool large;
	unsigned int nents;
	struct scatterlist sgl[];
};

static struct svc_rdma_rw *rw_alloc(struct svc_rdma_conn *conn, bool large)
{
	unsigned int max = large ? RPCSVC_MAXPAGES : SVC_RDMA_RW_SMALL;
	struct svc_rdma_rw *rw;

	static_assert(SVC_RDMA_RW_SMALL * PAGE_SIZE == SVC_RDMA_RW_SMALL_LEN + PAGE_SIZE);
	rw = kvmalloc(struct_size(rw, sgl, max), GFP_NOIO);
	if (rw) {
		rw->large = large;
		rw->nents = 0;
		sg_init_table(rw->sgl, max);
		return rw;
	}
	spin_lock(&conn->lock);
	conn->rws_taken--;
	spin_unlock(&conn->lock);
	return NULL;
}

static struct svc_rdma_rw *rw_get(struct svc_rdma_conn *conn, bool large)
{
	struct svc_rdma_rw *rw;

	spin_lock(&conn->lock);
	rw = conn->free_rws[large];
	if (rw) {
		conn->free_rws[large] = rw->next;
		conn->nr_free_rws[large]--;
	}
	conn->rws_taken++;
	spin_unlock(&conn->lock);
	return likely(rw) ? rw : rw_alloc(conn, large);
}

static void rws_kvfree(struct svc_rdma_rw *rw)
{
	struct svc_rdma_rw *next;

	for (; rw; rw = next) {
		next = rw->next;
		kvfree(rw);
	}
}

/* Whoever calls it holds conn->lock */
static void return_share(struct svc_rdma_conn *conn, u32 pages,
				enum dma_data_direction dir)
{
	if (dir == DMA_FROM_DEVICE) {
		svc_rdma_budget_return(&conn->reads, pages);
		return;
	}
	svc_rdma_budget_return(&conn->replies, pages);
	if (unlikely(conn->ready) && svc_rdma_may_reply(conn))
		svc_rdma_make_ready(conn);
}

/*
 * Makes contexts idle, from @rw on, and @pages available to the Reads, or the Replies, of
 * others. Not to @serve Calls that wait to read is for the caller who looks after them next.
 */
static void rws_put(struct svc_rdma_conn *conn, struct svc_rdma_rw *rw,
			   u32 pages, enum dma_data_direction dir, bool serve)
{
	/* A Send without Writes has nothing that a Call waits for to read */
	bool served = serve && (rw || dir == DMA_FROM_DEVICE);
	struct svc_rdma_rw *next, *surplus = NULL;

	spin_lock(&conn->lock);
	for (; rw; rw = next) {
		conn->rws_returned++;
		next = rw->next;
		if (unlikely(conn->nr_free_rws[rw->large] >= SVC_RDMA_RW_CACHED)) {
			rw->next = surplus;
			surplus = rw;
			continue;
		}
		conn->nr_free_rws[rw->large]++;
		rw->next = conn->free_rws[rw->large];
		conn->free_rws[rw->large] = rw;
	}
	if (pages)
		return_share(conn, pages, dir);
	if (unlikely(conn->waiting) && served) {
		conn->starved = false;
		svc_rdma_serve_waiting(conn);
	}
	spin_unlock(&conn->lock);
	if (unlikely(surplus))
		rws_kvfree(surplus);
}

/*
 * One that got no MRs. Nobody has more of them for that, and Calls that lack them would wake
 * each other for ever. A set of Reads is released next, whatever is in it.
 */
static void rw_put(struct svc_rdma_conn *conn, struct svc_rdma_rw *rw,
			    enum dma_data_direction dir)
{
	rws_put(conn, rw, 0, dir, dir == DMA_TO_DEVICE);
}

/**
 * svc_rdma_rws_free - free the idle contexts
 * @conn: connection whose contexts are all idle
 *
 * Context: any.
 */
void svc_rdma_rws_free(struct svc_rdma_conn *conn)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(conn->free_rws); i++) {
		rws_kvfree(conn->free_rws[i]);
		conn->free_rws[i] = NULL;
		conn->nr_free_rws[i] = 0;
	}
}

/*
 * Fills a context with up to @len bytes; 0 if @buf has none there. MRs have no gaps: a part
 * that does not continue the page before it begins another context.
 */
static u32 rw_fill(struct svc_rdma_rw *rw, const struct xdr_buf *buf, u32 at,
		   u32 len)
{
	unsigned int max = rw->large ? RPCSVC_MAXPAGES : SVC_RDMA_RW_SMALL;
	struct svc_rdma_piece piece;
	u32 done = 0, end = 0;

	if (rw->nents)
		sg_unmark_end(&rw->sgl[rw->nents - 1]);
	rw->nents = 0;
	while (done < len && rw->nents < max &&
	       svc_rdma_buf_piece(&piece, buf, at + done)) {
		if (rw->nents && (piece.offset || end != PAGE_SIZE))
			break;
		piece.len = min(piece.len, len - done);
		sg_set_page(&rw->sgl[rw->nents++], piece.page, piece.len,
			    piece.offset);
		end = piece.offset + piece.len;
		done += piece.len;
	}
	if (rw->nents)
		sg_mark_end(&rw->sgl[rw->nents - 1]);
	return done;
}

/*
 * Are there Send Queue slots for @nents pages? What they take at least, and
 * without MRs, is one for as many as a WR has SGEs.
 */
static bool rw_fits(const struct rpcrdma_ep *ep,
		    const struct svc_rdma_rwset *set, u32 nents)
{
	u32 max = rpcrdma_sendq_max_chain(ep), sges;

	if (likely(set->slots + nents < max))
		return true;
	sges = set->dir == DMA_TO_DEVICE ? ep->qp->max_write_sge :
					   ep->qp->max_read_sge;
	return set->slots + DIV_ROUND_UP(nents, max(sges, 1U)) < max;
}

/* ib_core asks for memory, too: see svc_rdma_enter() */
static int rw_map(struct rpcrdma_ep *ep, struct svc_rdma_rw *rw, u32 handle,
		  u64 offset, enum dma_data_direction dir)
{
	unsigned int noio = memalloc_noio_save();
	int rc = rdma_rw_ctx_init(&rw->ctx, ep->qp, ep->id->port_num, rw->sgl,
				  rw->nents, 0, offset, handle, dir);

	memalloc_noio_restore(noio);
	return rc;
}

static int rw_add_one(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		      const struct xdr_buf *buf, u32 at, u32 len, u32 handle,
		      u64 offset)
{
	bool large = len > SVC_RDMA_RW_SMALL_LEN;
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_rw *rw;
	u32 done;
	int rc;

	rw = rw_get(conn, large);
	if (unlikely(!rw))
		return -ENOMEM;
	rw->next = NULL;
	done = rw_fill(rw, buf, at, len);
	rc = -EINVAL;
	if (unlikely(!done))
		goto out;
	rc = -ENOSPC;
	if (unlikely(!rw_fits(ep, set, rw->nents)))
		goto out;
	rc = rw_map(ep, rw, handle, offset, set->dir);
	if (unlikely(rc < 0))
		goto out;
	set->slots += rc;
	set->memory += large ? SVC_RDMA_RW_LARGE : 1;
	rw->next = set->last;
	set->last = rw;
	/* With MRs it may be more than estimated; there is a Send to come */
	return set->slots < rpcrdma_sendq_max_chain(ep) ? done : -ENOSPC;
out:
	rw_put(conn, rw, set->dir);
	return rc;
}

/**
 * svc_rdma_rwset_add - move octets to or from a segment
 * @conn: connection
 * @set: set to add the operation to
 * @buf: our side of it
 * @at: first octet in it
 * @seg: the peer's side; @length octets are moved
 *
 * Context: process, may sleep; within svc_rdma_enter(). The pages must stay
 * until svc_rdma_rwset_release(), which is due after an error, too.
 *
 * Return: 0; -ENOSPC when the chain would be longer than the Send Queue;
 * -EINVAL when @buf ends before the segment does; -EAGAIN when the device
 * needs MRs for this and all are in use; -ENOMEM, -EIO.
 */
int svc_rdma_rwset_add(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		       const struct xdr_buf *buf, u32 at,
		       const struct rpcrdma_segment *seg)
{
	u32 done = 0;
	int rc;

	while (done < seg->length) {
		rc = rw_add_one(conn, set, buf, at + done, seg->length - done,
				seg->handle, seg->offset + done);
		if (unlikely(rc < 0))
			return rc;
		done += rc;
	}
	percpu_counter_inc(set->dir == DMA_TO_DEVICE ? &svc_rdma_stat_write :
						       &svc_rdma_stat_read);
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
	for (rw = set->last; rw; rw = rw->next)
		first = rdma_rw_ctx_wrs(&rw->ctx, ep->qp, ep->id->port_num,
					first ? NULL : &chain->cqe, first);
	return first;
}

static void rwset_release(struct svc_rdma_conn *conn,
			  struct svc_rdma_rwset *set, bool serve)
{
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_rw *rw;

	if (!set->last && !set->pages)
		return;
	for (rw = set->last; rw; rw = rw->next)
		rdma_rw_ctx_destroy(&rw->ctx, ep->qp, ep->id->port_num,
				    rw->sgl, rw->nents, set->dir);
	rws_put(conn, set->last, set->pages, set->dir, serve);
	set->last = NULL;
	set->slots = 0;
	set->memory = 0;
	set->pages = 0;
}

/**
 * svc_rdma_rwset_release - unmap, and make the contexts idle
 * @conn: connection
 * @set: set whose operations are complete, or were never posted; is empty
 *	afterwards, and has no share of the connection's pages
 *
 * Context: process within svc_rdma_enter(), or a completion; does not sleep.
 */
void svc_rdma_rwset_release(struct svc_rdma_conn *conn,
			    struct svc_rdma_rwset *set)
{
	rwset_release(conn, set, true);
}

/**
 * svc_rdma_rwset_undo - svc_rdma_rwset_release(), to wait for what the set lacked
 * @conn: connection
 * @set: set of Reads that were never posted
 *
 * No Call that waits is woken for what this one could not use. The caller puts it in
 * their list and looks who may begin.
 *
 * Context: process within svc_rdma_enter(); does not sleep.
 */
void svc_rdma_rwset_undo(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set)
{
	rwset_release(conn, set, false);
}

/**
 * svc_rdma_rwset_alone - are there never more MRs for a set?
 * @conn: connection
 * @set: set to which svc_rdma_rwset_add() could not add for lack of MRs
 * @returned: conn->rws_returned when it was empty
 *
 * Context: process.
 *
 * Return: true when no other set had a context while this one was filled, or when it has
 * had all MRs itself: a context has one at least.
 */
bool svc_rdma_rwset_alone(struct svc_rdma_conn *conn,
			  const struct svc_rdma_rwset *set, u32 returned)
{
	const struct svc_rdma_rw *rw;
	u32 own = 0;
	bool alone;

	for (rw = set->last; rw; rw = rw->next)
		own++;
	spin_lock(&conn->lock);
	/* The one that found no MRs was returned at once */
	alone = conn->rws_returned - returned == 1 &&
		conn->rws_taken - conn->rws_returned == own;
	spin_unlock(&conn->lock);
	return alone || own >= conn->ep->rw_ctxs;
}
