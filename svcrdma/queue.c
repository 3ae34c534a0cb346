// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The next job of a connection, and how much may be in flight: the ring of
 * received messages, the Calls that are ready, those that wait to read, and the
 * limits of pages and MRs.
 *
 * The peer decides how long an RDMA Read or a Send takes, and it regains its
 * credits before a Send completes. So pages in flight are limited for each
 * connection, those of Reads and those of Replies. A Call that waits holds
 * neither pages nor a thread. Reads begin in order. The pages of a Reply are
 * not known before nfsd has encoded it: each thread may find that there is
 * room, and exceed the limit by one Reply. Messages are still taken and decoded
 * meanwhile, so that Replies to callbacks and rejected messages make progress.
 *
 * All connections together have a limit as well. A connection may have a share
 * of the pages that are left, and one RPC in any case. So a Call waits for pages
 * of its own connection only: the last of these to be uncharged lets it go on,
 * however many pages other connections have by then.
 *
 * This file counts, and takes Calls and messages off its lists. It never
 * releases, reads or sends: that is for the callers.
 */

#include <linux/slab.h>

#include "svc_rdma.h"

/* All static functions but limit_show() are called with queue->lock held */

/* Pages of all connections; exact to this number for each processor */
#define PINNED_BATCH	256

/* May there be so many pages more? Volatile without queue->lock */
static bool pages_fit(const struct svc_rdma_page_limit *limit, u32 pages)
{
	struct percpu_counter *pinned = &svc_rdma_counters[SVC_RDMA_PINNED];
	u32 most = rpcrdma_plan_page_share(limit->max,
					   percpu_counter_read_positive(pinned),
					   READ_ONCE(svc_rdma_max_total_size) >> PAGE_SHIFT);

	return rpcrdma_plan_pages_fit(READ_ONCE(limit->charged), pages, most);
}

/* May nfsd have a Call, whose Reply may need pages? Volatile */
bool svc_rdma_may_reply(const struct svc_rdma_conn *conn)
{
	return pages_fit(&conn->queue.replies, 1);
}

/* sunrpc may be told only while it knows of the svc_xprt */
static void wake_thread(struct svc_rdma_conn *conn)
{
	if (conn->queue.detached)
		return;
	set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	svc_xprt_enqueue(&conn->xprt);
}

static bool reads_fit(const struct svc_rdma_queue *queue,
		      const struct svc_rdma_call *call)
{
	return pages_fit(&queue->reads, call->want_pages) &&
	       (!call->want_mrs ||
		queue->mrs + call->want_mrs <= queue->max_mrs);
}

/* The list whose first Call may go on, or NULL */
static struct list_head *next_list(struct svc_rdma_queue *queue)
{
	if (!list_empty(&queue->ready) && pages_fit(&queue->replies, 1))
		return &queue->ready;
	if (!list_empty(&queue->waiting) &&
	    reads_fit(queue, list_first_entry(&queue->waiting,
					      struct svc_rdma_call, list)))
		return &queue->waiting;
	return NULL;
}

static void charge(struct svc_rdma_page_limit *limit, u32 pages)
{
	WRITE_ONCE(limit->charged, limit->charged + pages);
	limit->peak = max(limit->peak, limit->charged);
	percpu_counter_add_batch(&svc_rdma_counters[SVC_RDMA_PINNED], pages, PINNED_BATCH);
}

static void charge_reads(struct svc_rdma_queue *queue,
			 struct svc_rdma_call *call)
{
	charge(&queue->reads, call->want_pages);
	queue->mrs += call->want_mrs;
	call->pages_charged = call->want_pages;
	call->reads.mrs = call->want_mrs;
}

/* The list may be empty */
static struct svc_rdma_call *take_call(struct list_head *list)
{
	struct svc_rdma_call *call =
		list_first_entry_or_null(list, struct svc_rdma_call, list);

	if (call)
		list_del(&call->list);
	return call;
}

static struct rpcrdma_recv *take_received(struct svc_rdma_queue *queue)
{
	if (queue->first == queue->end)
		return NULL;
	return queue->ring[queue->first++ & queue->mask];
}

void svc_rdma_queue_init(struct svc_rdma_conn *conn)
{
	struct svc_rdma_queue *queue = &conn->queue;

	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->ready);
	INIT_LIST_HEAD(&queue->waiting);
	queue->reads.max = READ_ONCE(svc_rdma_max_outbound_size) >> PAGE_SHIFT;
	queue->replies.max = READ_ONCE(svc_rdma_max_reply_size) >> PAGE_SHIFT;
}

/* The QP exists, its Receives are not posted yet */
int svc_rdma_queue_setup(struct rpcrdma_ep *ep)
{
	u32 size = roundup_pow_of_two(ep->sizes.recvs);
	struct svc_rdma_conn *conn = ep->attr.owner;
	struct svc_rdma_queue *queue = &conn->queue;

	queue->ring = kmalloc_array_node(size, sizeof(*queue->ring), GFP_NOIO,
					 rpcrdma_ep_node(ep));
	if (!queue->ring)
		return -ENOMEM;
	queue->mask = size - 1;
	/* rdma_rw has filled its pool if this device may need MRs */
	if (!list_empty(&ep->qp->rdma_mrs))
		queue->max_mrs = ep->rw_ctxs;
	return 0;
}

/* No completion touches the svc_xprt afterwards */
void svc_rdma_queue_detach(struct svc_rdma_conn *conn)
{
	spin_lock_bh(&conn->queue.lock);
	conn->queue.detached = true;
	spin_unlock_bh(&conn->queue.lock);
}

/* rpcrdma_ep_ops.closing: the connection has failed, sunrpc is to close it */
void svc_rdma_queue_close(struct rpcrdma_ep *ep)
{
	struct svc_rdma_conn *conn = ep->attr.owner;

	spin_lock_bh(&conn->queue.lock);
	if (!conn->queue.detached)
		svc_xprt_deferred_close(&conn->xprt);
	spin_unlock_bh(&conn->queue.lock);
}

/* rpcrdma_ep_ops.received: a thread, which may sleep, is to decode it */
void svc_rdma_queue_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv)
{
	struct svc_rdma_conn *conn = ep->attr.owner;
	struct svc_rdma_queue *queue = &conn->queue;

	percpu_counter_inc(&svc_rdma_counters[SVC_RDMA_RECV]);
	spin_lock_bh(&queue->lock);
	queue->ring[queue->end++ & queue->mask] = recv;
	wake_thread(conn);
	spin_unlock_bh(&queue->lock);
}

/*
 * Nothing of a Call is missing: its RDMA Reads are complete, or it has none. If
 * it waits for the pages of Replies svc_rdma_uncharge() wakes a thread.
 */
void svc_rdma_queue_ready(struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	struct svc_rdma_queue *queue = &conn->queue;

	spin_lock_bh(&queue->lock);
	list_add_tail(&call->list, &queue->ready);
	if (svc_rdma_may_reply(conn))
		wake_thread(conn);
	else
		queue->replies.waits++;
	spin_unlock_bh(&queue->lock);
}

/* Charges the Reads of a Call. False: the Call is in the wait list now */
bool svc_rdma_queue_reads(struct svc_rdma_call *call)
{
	struct svc_rdma_queue *queue = &call->conn->queue;
	bool begin;

	spin_lock_bh(&queue->lock);
	/* In order with Calls that wait already */
	begin = list_empty(&queue->waiting) && reads_fit(queue, call);
	if (begin) {
		charge_reads(queue, call);
	} else {
		list_add_tail(&call->list, &queue->waiting);
		queue->reads.waits++;
	}
	spin_unlock_bh(&queue->lock);
	return begin;
}

/* Calls outstanding for each thread of nfsd: the next one is here before it asks */
#define THREAD_CALLS	8

/* Credits for the header of a message: a share while many connections are crowded */
u32 svc_rdma_grant(struct svc_rdma_conn *conn)
{
	u32 useful = conn->xprt.xpt_server->sv_nrthreads * THREAD_CALLS;
	const struct rpcrdma_ep *ep = conn->ep;
	u32 granted = rpcrdma_plan_grant(READ_ONCE(ep->receivable),
					 ep->attr.want.first_credits,
					 max(useful, ep->sizes.credits),
					 READ_ONCE(rpcrdma_crowded));

	WRITE_ONCE(conn->granted, granted);
	return granted;
}

/*
 * Takes the next job of a thread: a Call that is complete, a Call whose
 * Reads may begin and are charged, or a message.
 *
 * XPT_DATA is cleared with the last one, not by a thread that finds none: that
 * would cost a wake-up for each Call.
 */
void svc_rdma_queue_next(struct svc_rdma_conn *conn,
			 struct svc_rdma_call **call,
			 struct rpcrdma_recv **recv)
{
	struct svc_rdma_queue *queue = &conn->queue;
	struct list_head *list;

	*call = NULL;
	*recv = NULL;
	spin_lock_bh(&queue->lock);
	list = next_list(queue);
	if (list)
		*call = take_call(list);
	else
		*recv = take_received(queue);
	if (list == &queue->waiting)
		charge_reads(queue, *call);
	if (queue->first == queue->end) {
		if (!next_list(queue))
			clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
	} else if (!READ_ONCE(conn->ep->crowded)) {
		WRITE_ONCE(conn->ep->crowded, true);
	}
	spin_unlock_bh(&queue->lock);
}

/* Takes anything, whatever it waits for. False: all lists are empty */
bool svc_rdma_queue_drop(struct svc_rdma_conn *conn,
			 struct svc_rdma_call **call,
			 struct rpcrdma_recv **recv)
{
	struct svc_rdma_queue *queue = &conn->queue;

	*call = NULL;
	spin_lock_bh(&queue->lock);
	*recv = take_received(queue);
	if (!*recv)
		*call = take_call(&queue->ready) ? : take_call(&queue->waiting);
	spin_unlock_bh(&queue->lock);
	return *recv || *call;
}

/* The pages of a Reply are charged even if they exceed the limit */
void svc_rdma_charge_reply(struct svc_rdma_conn *conn, u32 pages)
{
	spin_lock_bh(&conn->queue.lock);
	charge(&conn->queue.replies, pages);
	spin_unlock_bh(&conn->queue.lock);
}

/* MRs for RDMA Writes, which do not wait. False: other RPCs have them */
bool svc_rdma_charge_mrs(struct svc_rdma_conn *conn, u32 mrs)
{
	struct svc_rdma_queue *queue = &conn->queue;
	bool fit;

	spin_lock_bh(&queue->lock);
	fit = queue->mrs + mrs <= queue->max_mrs;
	if (fit)
		queue->mrs += mrs;
	spin_unlock_bh(&queue->lock);
	return fit;
}

void svc_rdma_uncharge(struct svc_rdma_conn *conn, u32 read_pages,
		       u32 reply_pages, u32 mrs)
{
	struct svc_rdma_queue *queue = &conn->queue;

	spin_lock_bh(&queue->lock);
	queue->reads.charged -= read_pages;
	WRITE_ONCE(queue->replies.charged,
		   queue->replies.charged - reply_pages);
	queue->mrs -= mrs;
	percpu_counter_add_batch(&svc_rdma_counters[SVC_RDMA_PINNED],
				 -(s64)(read_pages + reply_pages),
				 PINNED_BATCH);
	if (next_list(queue))
		wake_thread(conn);
	spin_unlock_bh(&queue->lock);
}

static void limit_show(const struct svc_rdma_page_limit *limit,
		       struct seq_file *seq, const char *name)
{
	seq_printf(seq,
		   " %s_pages=%u max_%s_pages=%u most_%s_pages=%u %s_waits=%llu",
		   name, READ_ONCE(limit->charged), name, limit->max,
		   name, READ_ONCE(limit->peak), name, READ_ONCE(limit->waits));
}

/* rpcrdma_ep_ops.show. The service may be gone before the endpoint */
void svc_rdma_queue_show(struct rpcrdma_ep *ep, struct seq_file *seq)
{
	const struct svc_rdma_conn *conn = ep->attr.owner;

	limit_show(&conn->queue.reads, seq, "read");
	limit_show(&conn->queue.replies, seq, "reply");
	seq_printf(seq, " total_pages=%lld max_total_pages=%lu granted=%u",
		   percpu_counter_sum_positive(&svc_rdma_counters[SVC_RDMA_PINNED]),
		   READ_ONCE(svc_rdma_max_total_size) >> PAGE_SHIFT,
		   READ_ONCE(conn->granted));
}
