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

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <rdma/rw.h>

#include "svc_rdma.h"

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
 * @sgl: the memory that is moved
 */
struct svc_rdma_rw {
	struct svc_rdma_rw *next;
	struct rdma_rw_ctx ctx;
	bool large;
	unsigned int nents;
	struct scatterlist sgl[];
};

static struct svc_rdma_rw *rw_get(struct svc_rdma_conn *conn, bool large)
{
	unsigned int max = large ? SVC_RDMA_MIB_PAGES : SVC_RDMA_RW_SMALL;
	struct svc_rdma_rw *rw;

	static_assert(SVC_RDMA_RW_SMALL * PAGE_SIZE ==
		      SVC_RDMA_RW_SMALL_LEN + PAGE_SIZE);
	spin_lock(&conn->lock);
	rw = conn->free_rws[large];
	if (rw) {
		conn->free_rws[large] = rw->next;
		conn->nr_free_rws[large]--;
	}
	spin_unlock(&conn->lock);
	if (rw)
		return rw;
	rw = kvmalloc(struct_size(rw, sgl, max), GFP_NOIO);
	if (!rw)
		return NULL;
	atomic_inc(&conn->nr_rws);
	rw->large = large;
	rw->nents = 0;
	sg_init_table(rw->sgl, max);
	return rw;
}

static void rws_kvfree(struct svc_rdma_conn *conn, struct svc_rdma_rw *rw)
{
	struct svc_rdma_rw *next;

	for (; rw; rw = next) {
		next = rw->next;
		kvfree(rw);
		atomic_dec(&conn->nr_rws);
	}
}

/* Makes contexts idle, from @rw on */
static void rws_put(struct svc_rdma_conn *conn, struct svc_rdma_rw *rw)
{
	struct svc_rdma_rw *next, *surplus = NULL;

	spin_lock(&conn->lock);
	for (; rw; rw = next) {
		next = rw->next;
		if (conn->nr_free_rws[rw->large] >= SVC_RDMA_RW_CACHED) {
			rw->next = surplus;
			surplus = rw;
			continue;
		}
		conn->nr_free_rws[rw->large]++;
		rw->next = conn->free_rws[rw->large];
		conn->free_rws[rw->large] = rw;
	}
	spin_unlock(&conn->lock);
	rws_kvfree(conn, surplus);
}

/* Frees the idle contexts of a connection that uses none any more */
void svc_rdma_rws_free(struct svc_rdma_conn *conn)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(conn->free_rws); i++) {
		rws_kvfree(conn, conn->free_rws[i]);
		conn->free_rws[i] = NULL;
		conn->nr_free_rws[i] = 0;
	}
}

/*
 * Fills a context with up to @len bytes of @buf; 0 if it has none there. Not
 * @gaps: of one part only, as MRs have no gaps, and there is one between parts.
 */
static u32 rw_fill(struct svc_rdma_rw *rw, const struct xdr_buf *buf, u32 at,
		   u32 len, bool gaps)
{
	unsigned int max = rw->large ? SVC_RDMA_MIB_PAGES : SVC_RDMA_RW_SMALL;
	struct scatterlist *sg = rw->sgl;
	struct svc_rdma_piece piece;
	u32 done = 0, nents = 0, n;

	if (rw->nents)
		sg_unmark_end(&sg[rw->nents - 1]);
	do {
		if (!svc_rdma_buf_piece(&piece, buf, at + done))
			break;
		n = min(piece.len, len - done);
		sg_set_page(&sg[nents++], piece.page, n, piece.offset);
		for (done += n; piece.left && done < len && nents < max; done += n) {
			n = min3(piece.left, len - done, (u32)PAGE_SIZE);
			sg_set_page(&sg[nents++], *piece.next++, n, 0);
			piece.left -= n;
		}
	} while (gaps && done < len && nents < max);
	if (nents)
		sg_mark_end(&sg[nents - 1]);
	rw->nents = nents;
	return done;
}

/**
 * svc_rdma_rw_mrs - MRs that rdma_rw takes for an RDMA Read or Write
 * @conn: connection
 * @pages: pages of our side
 * @dir: DMA_FROM_DEVICE: Read; DMA_TO_DEVICE: Write
 *
 * As rdma_rw_io_needs_mr(). If ib_core.force_mr is set, which is for tests, a
 * device that needs MRs only for some operations takes more of them than this.
 * Then rdma_rw may find none, and the connection ends.
 *
 * Return: how many. A context moves up to SVC_RDMA_MIB_PAGES, and shares none.
 */
u32 svc_rdma_rw_mrs(const struct svc_rdma_conn *conn, u32 pages,
		    enum dma_data_direction dir)
{
	const struct ib_device *device = conn->ep->device;
	const struct ib_device_attr *attrs = &device->attrs;
	u32 each = clamp(attrs->max_fast_reg_page_list_len, 1U, 256U);
	bool read = dir == DMA_FROM_DEVICE;

	if (!conn->queue.max_mrs)
		return 0;
	if (rdma_protocol_iwarp(device, conn->ep->id->port_num)) {
		if (!read)
			return 0;
	} else if (attrs->max_sgl_rd && (!read || pages <= attrs->max_sgl_rd)) {
		return 0;
	}
	return DIV_ROUND_UP(pages, each) + (max(pages, 1U) - 1) / SVC_RDMA_MIB_PAGES;
}

/* The Reads of a Call are charged before they begin */
static int rw_charge_write(struct svc_rdma_conn *conn,
			   struct svc_rdma_rwset *set, u32 nents)
{
	u32 mrs = svc_rdma_rw_mrs(conn, nents, set->dir);

	if (set->dir == DMA_FROM_DEVICE || !mrs)
		return 0;
	if (set->mrs + mrs > conn->queue.max_mrs)
		return -EDQUOT;
	if (!svc_rdma_charge_mrs(conn, mrs))
		return -EAGAIN;
	set->mrs += mrs;
	return 0;
}

static int rw_add_one(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		      const struct xdr_buf *buf, u32 at, u32 len, u32 handle,
		      u64 offset)
{
	bool large = len > SVC_RDMA_RW_SMALL_LEN;
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_rw *rw;
	unsigned int noio;
	u32 done;
	int rc;

	rw = rw_get(conn, large);
	if (!rw)
		return -ENOMEM;
	rw->next = NULL;
	done = rw_fill(rw, buf, at, len, !svc_rdma_rw_mrs(conn, 1, set->dir));
	rc = -EINVAL;
	if (!done)
		goto out;
	rc = rw_charge_write(conn, set, rw->nents);
	if (rc)
		goto out;
	/* ib_core asks for memory, too: see svc_rdma_enter() */
	noio = memalloc_noio_save();
	rc = rdma_rw_ctx_init(&rw->ctx, ep->qp, ep->id->port_num, rw->sgl,
			      rw->nents, 0, offset, handle, set->dir);
	memalloc_noio_restore(noio);
	if (rc < 0)
		goto out;
	set->slots += rc;
	set->memory += large ? SVC_RDMA_RW_LARGE : 1;
	rw->next = set->last;
	set->last = rw;
	return done;
out:
	rws_put(conn, rw);
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
 * Return: 0; -EINVAL when @buf ends before the segment does; -EAGAIN when the
 * device needs MRs for this and others have them, -EDQUOT when there are never so
 * many; -ENOMEM, -EIO.
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
		if (rc < 0)
			return rc;
		done += rc;
	}
	percpu_counter_inc(&svc_rdma_counters[set->dir == DMA_TO_DEVICE ?
					      SVC_RDMA_WRITE : SVC_RDMA_READ]);
	return 0;
}

/**
 * svc_rdma_rwset_append - add all operations of a set to a chain
 * @conn: connection
 * @set: set; not empty, unless there is a @send
 * @chain: empty; to be posted at once: from here on MRs count as used
 * @send: WR to follow them, or NULL
 *
 * Context: process, within svc_rdma_enter().
 */
void svc_rdma_rwset_append(struct svc_rdma_conn *conn,
			   struct svc_rdma_rwset *set,
			   struct rpcrdma_chain *chain, struct ib_send_wr *send)
{
	struct rpcrdma_ep *ep = conn->ep;
	struct ib_send_wr *first = send;
	struct svc_rdma_rw *rw;

	/* The last comes first, so each can point to the one after it */
	for (rw = set->last; rw; rw = rw->next)
		first = rdma_rw_ctx_wrs(&rw->ctx, ep->qp, ep->id->port_num,
					first ? NULL : &chain->cqe, first);
	rpcrdma_chain_append(ep, chain, first);
}

/* Operations are complete, or were never posted. The set is empty afterwards */
void svc_rdma_rwset_release(struct svc_rdma_conn *conn,
			    struct svc_rdma_rwset *set)
{
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_rw *rw;

	if (!set->last && !set->mrs)
		return;
	for (rw = set->last; rw; rw = rw->next)
		rdma_rw_ctx_destroy(&rw->ctx, ep->qp, ep->id->port_num,
				    rw->sgl, rw->nents, set->dir);
	if (set->last)
		rws_put(conn, set->last);
	if (set->mrs)
		svc_rdma_uncharge(conn, 0, 0, set->mrs);
	set->last = NULL;
	set->slots = 0;
	set->memory = 0;
	set->mrs = 0;
}

/*
 * Calls with an rkey that the client's device refused. That costs the connection, and
 * the client may send the same Call on each next one (RFC 8166, section 4.5.3).
 */
#define BAD_RKEYS		64
#define BAD_RKEYS_EACH		4
#define BAD_RKEY_MEMORY		(600 * HZ)

static struct svc_rdma_bad_rkey {
	const struct net *net;
	struct sockaddr_storage addr;
	u32 xid;
	u32 times;
	u64 when;
} bad_rkeys[BAD_RKEYS];
static DEFINE_SPINLOCK(bad_rkeys_lock);
static u64 bad_rkeys_until;

static bool is_of_client(const struct svc_rdma_bad_rkey *b,
			 const struct svc_rdma_conn *conn)
{
	return b->when && b->net == conn->ep->attr.net &&
	       rpc_cmp_addr((struct sockaddr *)&b->addr,
			    (struct sockaddr *)&conn->xprt.xpt_remote);
}

static struct svc_rdma_bad_rkey *find_bad_rkey(const struct svc_rdma_conn *conn,
					       u32 xid, u64 now)
{
	struct svc_rdma_bad_rkey *b;

	for (b = bad_rkeys; b < bad_rkeys + BAD_RKEYS; b++)
		if (b->xid == xid && is_of_client(b, conn) &&
		    now <= b->when + BAD_RKEY_MEMORY)
			return b;
	return NULL;
}

/* The oldest of all, or of this client's if it has its share */
static struct svc_rdma_bad_rkey *replace_bad_rkey(const struct svc_rdma_conn *conn)
{
	struct svc_rdma_bad_rkey *b, *oldest = bad_rkeys, *own = NULL;
	unsigned int nr = 0;

	for (b = bad_rkeys; b < bad_rkeys + BAD_RKEYS; b++) {
		if (b->when < oldest->when)
			oldest = b;
		if (!is_of_client(b, conn))
			continue;
		nr++;
		if (!own || b->when < own->when)
			own = b;
	}
	return nr < BAD_RKEYS_EACH ? oldest : own;
}

/*
 * The RDMA of Call @xid did not succeed. A queue pair executes WRs in order, so that of
 * all chains with RDMA the first one has the WR that failed.
 */
void svc_rdma_note_bad_rkey(struct svc_rdma_conn *conn, u32 xid)
{
	u64 now = get_jiffies_64();
	struct svc_rdma_bad_rkey *b;

	if (!conn->ep->bad_rkey || conn->bad_rkey_noted)
		return;
	conn->bad_rkey_noted = true;
	spin_lock(&bad_rkeys_lock);
	b = find_bad_rkey(conn, xid, now);
	if (!b) {
		b = replace_bad_rkey(conn);
		b->net = conn->ep->attr.net;
		b->addr = conn->xprt.xpt_remote;
		b->xid = xid;
		b->times = 0;
	}
	b->times++;
	b->when = now;
	WRITE_ONCE(bad_rkeys_until, now + BAD_RKEY_MEMORY);
	spin_unlock(&bad_rkeys_lock);
}

/*
 * Did Call @xid of this client cost a connection, or two where the device may have
 * failed the wrong WR? Forgets it then, as XIDs come again.
 */
bool svc_rdma_had_bad_rkey(struct svc_rdma_conn *conn, u32 xid)
{
	u32 most = conn->ep->quirks & RPCRDMA_QUIRK_STRAY_ACCESS_ERROR ? 2 : 1;
	u64 now = get_jiffies_64();
	struct svc_rdma_bad_rkey *b;
	bool found;

	if (likely(now > READ_ONCE(bad_rkeys_until)))
		return false;
	spin_lock(&bad_rkeys_lock);
	b = find_bad_rkey(conn, xid, now);
	found = b && b->times >= most;
	if (found)
		b->when = 0;
	spin_unlock(&bad_rkeys_lock);
	return found;
}
