// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests: the slots of a transport, their buffers, and who holds them.
 *
 * The RPC layer holds a request from alloc_slot to free_slot, and the wire
 * from the Send until the Reply is here or the connection is gone. The Send of
 * a Call reads the request's own buffer alone and is not signalled: the Reply
 * shows that the server has it. So the slot of an aborted RPC is not used
 * again, and its credit not spent again, before one of the two has happened.
 */
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>

#include "xprt_rdma.h"

/* XDR buffers grow in steps, so that they soon fit every RPC of a mount */
#define XDR_BUF_STEP	1024U

/* How long an aborted RPC waits for its LOCAL_INVs before the connection ends */
#define ABORT_TIMEOUT	(5 * HZ)

/**
 * rpcrdma_req_create - a new slot
 * @rx: transport
 * @gfp: how to allocate
 *
 * Buffers come with the first RPC that uses it.
 *
 * Context: as @gfp allows. The caller owns the slot, and its reference.
 *
 * Return: the slot or NULL.
 */
struct rpcrdma_req *rpcrdma_req_create(struct rpcrdma_xprt *rx, gfp_t gfp)
{
	struct rpcrdma_req *req;

	req = kzalloc(sizeof(*req), gfp);
	if (!req)
		return NULL;
	req->rx = rx;
	kref_init(&req->kref);
	INIT_LIST_HEAD(&req->mrs);
	req->send_wr.opcode = IB_WR_SEND;
	req->send_wr.sg_list = &req->sge;
	req->send_wr.num_sge = 1;
	spin_lock(&rx->req_lock);
	list_add(&req->all, &rx->all);
	spin_unlock(&rx->req_lock);
	return req;
}

/**
 * rpcrdma_req_destroy - free a slot
 * @req: slot that nobody holds
 *
 * Context: process, may sleep.
 */
void rpcrdma_req_destroy(struct rpcrdma_req *req)
{
	struct rpcrdma_xprt *rx = req->rx;

	WARN_ON_ONCE(rpcrdma_req_on_wire(req)); /* I15 */
	WARN_ON_ONCE(!list_empty(&req->mrs)); /* I15 */
	/* The release of the connection may be about to unmap the buffer */
	mutex_lock(&rx->lock);
	spin_lock(&rx->req_lock);
	list_del(&req->all);
	spin_unlock(&rx->req_lock);
	rpcrdma_dmabuf_free(&req->hdr);
	mutex_unlock(&rx->lock);
	kfree(req->sbuf);
	kfree(req->rbuf);
	kfree(req);
}

/**
 * rpcrdma_reqs_create - the slots of a new transport
 * @rx: transport
 * @count: how many
 *
 * Context: process, may sleep. Undone by rpcrdma_reqs_destroy(), after an
 * error too.
 *
 * Return: 0 or -ENOMEM.
 */
int rpcrdma_reqs_create(struct rpcrdma_xprt *rx, unsigned int count)
{
	struct rpcrdma_req *req;

	spin_lock_init(&rx->req_lock);
	INIT_LIST_HEAD(&rx->all);
	while (count--) {
		req = rpcrdma_req_create(rx, GFP_KERNEL);
		if (!req)
			return -ENOMEM;
		req->next = rx->free;
		rx->free = req;
	}
	return 0;
}

/**
 * rpcrdma_reqs_destroy - free all slots
 * @rx: transport that nobody uses and that is not connected
 *
 * Context: process, may sleep.
 */
void rpcrdma_reqs_destroy(struct rpcrdma_xprt *rx)
{
	struct rpcrdma_req *req, *next;

	list_for_each_entry_safe(req, next, &rx->all, all)
		rpcrdma_req_destroy(req);
}

static inline struct rpcrdma_req *rpcrdma_slot_pop(struct rpcrdma_xprt *rx)
{
	struct rpcrdma_req *req;

	spin_lock(&rx->req_lock);
	req = rx->free;
	if (req)
		rx->free = req->next;
	spin_unlock(&rx->req_lock);
	return req;
}

static inline void rpcrdma_slot_keep(struct rpcrdma_xprt *rx,
				     struct rpcrdma_req *req)
{
	memset(&req->rqst, 0, sizeof(req->rqst));
	spin_lock(&rx->req_lock);
	req->next = rx->free;
	rx->free = req;
	spin_unlock(&rx->req_lock);
}

static inline bool rpcrdma_slot_wanted(const struct rpcrdma_xprt *rx)
{
	return unlikely(READ_ONCE(rx->xprt.backlog.qlen));
}

static noinline void rpcrdma_slot_offer(struct rpcrdma_xprt *rx,
					struct rpcrdma_req *req)
{
	for (; req; req = rpcrdma_slot_pop(rx)) {
		if (xprt_wake_up_backlog(&rx->xprt, &req->rqst))
			return;
		rpcrdma_slot_keep(rx, req);
		if (!rpcrdma_slot_wanted(rx))
			return;
	}
}

/*
 * Gives a slot that nobody holds to the first task that waits, or keeps it.
 * A task joins the backlog and then looks for a slot again; here a slot joins
 * the list and then the backlog is looked at again: one of them sees the other,
 * as both have taken the lock of the list in between.
 */
static void rpcrdma_slot_push(struct rpcrdma_xprt *rx, struct rpcrdma_req *req)
{
	if (!rpcrdma_slot_wanted(rx)) {
		rpcrdma_slot_keep(rx, req);
		if (!rpcrdma_slot_wanted(rx))
			return;
		req = rpcrdma_slot_pop(rx);
	}
	rpcrdma_slot_offer(rx, req);
}

#if defined(CONFIG_SUNRPC_BACKCHANNEL)
static noinline void rpcrdma_bc_slot_keep(struct rpc_xprt *xprt,
					  struct rpc_rqst *rqst)
{
	spin_lock(&xprt->bc_pa_lock);
	list_add(&rqst->rq_bc_pa_list, &xprt->bc_pa_list);
	spin_unlock(&xprt->bc_pa_lock);
}
#endif

static void rpcrdma_req_release(struct kref *kref)
{
	struct rpcrdma_req *req = container_of(kref, struct rpcrdma_req, kref);
	struct rpcrdma_xprt *rx = req->rx;

	WARN_ON_ONCE(!list_empty(&req->mrs)); /* I6 */
	WARN_ON_ONCE(rpcrdma_req_on_wire(req)); /* I7 */
	kref_init(&req->kref);
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	if (unlikely(bc_prealloc(&req->rqst))) {
		rpcrdma_bc_slot_keep(&rx->xprt, &req->rqst);
		return;
	}
#endif
	rpcrdma_slot_push(rx, req);
}

/**
 * rpcrdma_req_put - drop a reference
 * @req: slot; the last one to let go makes it free
 *
 * Context: process, no lock of sunrpc's held.
 */
void rpcrdma_req_put(struct rpcrdma_req *req)
{
	kref_put(&req->kref, rpcrdma_req_release);
}

static noinline void rpcrdma_slot_wait(struct rpcrdma_xprt *rx,
				       struct rpc_task *task)
{
	struct rpcrdma_req *req;

	task->tk_status = -EAGAIN;
	xprt_add_backlog_noncongested(&rx->xprt, task);
	/* One that became free before the task was asleep woke nobody */
	req = rpcrdma_slot_pop(rx);
	if (req)
		rpcrdma_slot_push(rx, req);
}

/**
 * xprt_rdma_alloc_slot - give a task a slot
 * @xprt: transport
 * @task: tk_rqstp is set; or tk_status is -EAGAIN and it waits in the backlog
 *
 * Context: process.
 */
void xprt_rdma_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_xprt *rx = to_rpcrdma_xprt(xprt);
	struct rpcrdma_req *req = rpcrdma_slot_pop(rx);

	if (unlikely(!req)) {
		rpcrdma_slot_wait(rx, task);
		return;
	}
	task->tk_rqstp = &req->rqst;
	task->tk_status = 0;
}

/**
 * xprt_rdma_free_slot - the RPC layer lets go of a slot
 * @xprt: transport
 * @rqst: slot
 *
 * Context: process.
 */
void xprt_rdma_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	struct rpcrdma_req *req = to_rpcrdma_req(rqst);
	bool spent = req->credits_spent;
	u32 cookie = req->spent_cookie;

	req->credits_spent = false;
	rpcrdma_req_put(req);
	if (unlikely(spent))
		rpcrdma_credits_spent(to_rpcrdma_xprt(xprt), cookie);
}

/**
 * xprt_rdma_release_request - an RPC is over, and its credit is free
 * @task: task
 *
 * The server still works on a Call that the RPC layer has given up: the number
 * of credits is one less until its Reply comes or the connection ends.
 *
 * Context: process, under the transport_lock.
 */
void xprt_rdma_release_request(struct rpc_task *task)
{
	struct rpcrdma_req *req = to_rpcrdma_req(task->tk_rqstp);

	/* The Reply to a callback has none */
	if (unlikely(bc_prealloc(&req->rqst)))
		return;
	/* Its late Reply undoes this under the transport_lock, too */
	if (unlikely(rpcrdma_req_on_wire(req)) &&
	    atomic_cmpxchg(&req->wire, RPCRDMA_WIRE_ON,
			   RPCRDMA_WIRE_ABANDONED) == RPCRDMA_WIRE_ON) {
		req->credits_spent = !rpcrdma_credits_abandon(req->rx, 1);
		req->spent_cookie = req->rx->xprt.connect_cookie;
	}
	xprt_release_rqst_cong(task);
}

static int rpcrdma_xdr_buf_reserve(struct rpcrdma_req *req, void **buf,
				   size_t *size, size_t need, gfp_t gfp)
{
	void *data;

	if (*buf && *size >= need)
		return 0;
	need = round_up(max_t(size_t, need, 1), XDR_BUF_STEP);
	data = kmalloc(need, gfp);
	if (!data)
		return -ENOMEM;
	if (*buf)
		req->rx->stats.hardway_register_count += need;
	kfree(*buf);
	*buf = data;
	*size = need;
	return 0;
}

/**
 * rpcrdma_req_map_anew - map the buffer a request is sent from
 * @ep: endpoint it is not mapped for
 * @req: request; not sent
 *
 * Context: as rpcrdma_dmabuf_map().
 *
 * Return: 0 or -EIO.
 */
int rpcrdma_req_map_anew(struct rpcrdma_ep *ep, struct rpcrdma_req *req)
{
	int rc = rpcrdma_dmabuf_map(ep, &req->hdr);

	if (!rc)
		rpcrdma_dmabuf_sge(&req->hdr, &req->sge, 0, req->hdr.size);
	return rc;
}

/* The one that it is sent from comes last: with it a slot has all three */
static noinline int rpcrdma_bufs_reserve(struct rpcrdma_req *req)
{
	gfp_t gfp = rpc_task_gfp_mask();

	if (rpcrdma_xdr_buf_reserve(req, &req->sbuf, &req->sbuf_size,
				    req->rqst.rq_callsize, gfp) ||
	    rpcrdma_xdr_buf_reserve(req, &req->rbuf, &req->rbuf_size,
				    req->rqst.rq_rcvsize, gfp))
		return -ENOMEM;
	if (req->hdr.data)
		return 0;
	return rpcrdma_dmabuf_alloc(&req->hdr, XPRT_RDMA_SEND_BUF,
				    DMA_TO_DEVICE, gfp);
}

/**
 * xprt_rdma_buf_alloc - buffers for a task's Call and Reply
 * @task: its request says how large
 *
 * Both can be registered as part of a chunk: they are never vmalloc'ed.
 *
 * Context: process; in reclaim, hence rpc_task_gfp_mask().
 *
 * Return: 0 or -ENOMEM, upon which the task tries again later.
 */
int xprt_rdma_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpcrdma_req *req = to_rpcrdma_req(rqst);

	if (unlikely(!req->hdr.data || req->sbuf_size < rqst->rq_callsize ||
		     req->rbuf_size < rqst->rq_rcvsize) &&
	    rpcrdma_bufs_reserve(req))
		return -ENOMEM;
	rqst->rq_buffer = req->sbuf;
	rqst->rq_rbuffer = req->rbuf;
	return 0;
}

static void rpcrdma_abort_done(struct rpcrdma_chain *chain,
			       enum ib_wc_status status)
{
	struct rpcrdma_req *req =
		container_of(chain, struct rpcrdma_req, inv_chain);
	struct rpcrdma_xprt *rx = req->rx;

	/* Else the drain gives them back: rpcrdma_mrs_release() */
	if (unlikely(status != IB_WC_SUCCESS))
		return;
	rpcrdma_mrs_put(rx, &req->mrs);
	/* The request is no longer ours */
	wake_up_all(&rx->abort_wait);
}

/*
 * End all access of the peer to an aborted RPC's memory, which no Reply finds
 * any more. This is the only place where the client waits for the fabric. If
 * the LOCAL_INVs do not complete in time the connection ends, and its drain
 * completes them.
 */
static void rpcrdma_req_abort(struct rpcrdma_req *req)
{
	struct rpcrdma_xprt *rx = req->rx;
	struct rpcrdma_ep *ep = NULL;

	mutex_lock(&rx->lock);
	if (rx->pool.ep && !list_empty(&req->mrs)) {
		ep = rpcrdma_ep_get(rx->pool.ep);
		if (rpcrdma_mrs_invalidate(ep, req, rpcrdma_abort_done))
			/* It is going down already, or must */
			rpcrdma_ep_fail(ep, -EIO);
	}
	mutex_unlock(&rx->lock);
	if (ep) {
		if (!wait_event_timeout(rx->abort_wait,
					list_empty_careful(&req->mrs),
					ABORT_TIMEOUT))
			rpcrdma_ep_fail_reason(ep, -ETIMEDOUT,
					       "could not invalidate memory of an aborted RPC");
		rpcrdma_ep_put(ep);
	}
	wait_event(rx->abort_wait, list_empty_careful(&req->mrs));
}

/**
 * xprt_rdma_buf_free - a task is done with its buffers
 * @task: task; the buffers stay with the slot
 *
 * If no Reply came, the peer can still reach the memory that the Call offered.
 * Once this returns it cannot, and the pages are the caller's.
 *
 * Context: process, sleeps for an aborted RPC.
 */
void xprt_rdma_buf_free(struct rpc_task *task)
{
	struct rpcrdma_req *req = to_rpcrdma_req(task->tk_rqstp);

	if (unlikely(!list_empty_careful(&req->mrs)))
		rpcrdma_req_abort(req);
}

/**
 * rpcrdma_req_post - send a request
 * @ep: endpoint
 * @req: its chain is ready
 *
 * Context: process, under rpcrdma_xprt.lock. On success the wire holds the
 * request.
 *
 * Return: 0, or an error of rpcrdma_sendq_post(): nothing was sent.
 */
int rpcrdma_req_post(struct rpcrdma_ep *ep, struct rpcrdma_req *req)
{
	int rc;

	lockdep_assert_held(&req->rx->lock);
	req->xid = be32_to_cpu(req->rqst.rq_xid);
	/*
	 * The Reply may be here before we are back: it waits for us. A forged
	 * one that came before must not find the request half prepared.
	 */
	atomic_set(&req->wire, RPCRDMA_WIRE_POSTING);
	rc = rpcrdma_sendq_post_lone(ep, &req->chain,
				     READ_ONCE(req->rx->xprt.cong) <= RPC_CWNDSCALE);
	if (likely(!rc)) {
		kref_get(&req->kref);
		/* Pairs with rpcrdma_wire_take() */
		atomic_set_release(&req->wire, RPCRDMA_WIRE_ON);
		return 0;
	}
	atomic_set(&req->wire, RPCRDMA_WIRE_OFF);
	return rc;
}

/* @wire: where it seems to be. Return: where it was; OFF when it was not on the wire. */
static __always_inline int rpcrdma_wire_off(struct rpcrdma_req *req, int wire)
{
	while (wire >= RPCRDMA_WIRE_ON)
		if (atomic_try_cmpxchg(&req->wire, &wire, RPCRDMA_WIRE_OFF))
			return wire;
	return RPCRDMA_WIRE_OFF;
}

/*
 * Takes a request off the wire; its reference is the caller's. One that still
 * waits for Send Queue slots stays: who claims to answer it would have the slot
 * used anew while the queue has its chain.
 *
 * Return: where it was; RPCRDMA_WIRE_OFF when it was not on the wire.
 */
static int rpcrdma_wire_take(struct rpcrdma_req *req)
{
	/* Pairs with rpcrdma_req_post(): the chain is as that left it */
	int wire = atomic_read_acquire(&req->wire);

	if (wire < RPCRDMA_WIRE_ON || rpcrdma_chain_waits(&req->chain))
		return RPCRDMA_WIRE_OFF;
	return rpcrdma_wire_off(req, wire);
}

static noinline bool rpcrdma_req_answered_early(struct rpcrdma_req *req)
{
	if (rpcrdma_wire_take(req) == RPCRDMA_WIRE_OFF)
		return false;
	rpcrdma_req_put(req);
	return true;
}

/**
 * rpcrdma_req_answered - take a request off the wire
 * @req: slot that the RPC layer holds
 *
 * Context: process.
 *
 * Return: false when it was not on the wire, never sent, or answered before;
 * or waits for the Send Queue.
 */
bool rpcrdma_req_answered(struct rpcrdma_req *req)
{
	/* As rpcrdma_wire_take(); a call in here would cost each Reply its registers */
	int wire = atomic_read_acquire(&req->wire);

	if (unlikely(!list_empty_careful(&req->chain.list)))
		return rpcrdma_req_answered_early(req);
	if (unlikely(rpcrdma_wire_off(req, wire) == RPCRDMA_WIRE_OFF))
		return false;
	rpcrdma_req_put(req);
	return true;
}

/**
 * rpcrdma_reqs_answer_abandoned - a Reply came that no RPC waits for
 * @rx: transport
 * @xid: its XID
 *
 * Context: process.
 *
 * Return: true if it answers a request that was sent and given up: the slot
 * and its credit are free again.
 */
bool rpcrdma_reqs_answer_abandoned(struct rpcrdma_xprt *rx, u32 xid)
{
	int wire = RPCRDMA_WIRE_OFF;
	struct rpcrdma_req *req;

	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		/* On the wire @xid is what was sent, until we say otherwise */
		if (atomic_read_acquire(&req->wire) >= RPCRDMA_WIRE_ON &&
		    req->xid == xid)
			wire = rpcrdma_wire_take(req);
		if (wire != RPCRDMA_WIRE_OFF)
			break;
	}
	spin_unlock(&rx->req_lock);
	if (wire == RPCRDMA_WIRE_OFF)
		return false;
	if (wire == RPCRDMA_WIRE_ABANDONED)
		rpcrdma_credits_late(rx);
	rpcrdma_req_put(req);
	return true;
}

/**
 * rpcrdma_reqs_release - the connection is gone, nothing is on the wire
 * @rx: transport
 * @ep: its drained endpoint
 *
 * Context: process, sleeps; in rpcrdma_ep_ops.release.
 */
void rpcrdma_reqs_release(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep)
{
	struct rpcrdma_req *req, *off = NULL;

	/* Nobody is within rpcrdma_req_post(), where we could not take it */
	mutex_lock(&rx->lock);
	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		if (req->hdr.ep == ep)
			rpcrdma_dmabuf_unmap(&req->hdr);
		if (rpcrdma_wire_take(req) == RPCRDMA_WIRE_OFF)
			continue;
		/* We hold it, so that it is in no other list */
		req->next = off;
		off = req;
	}
	spin_unlock(&rx->req_lock);
	mutex_unlock(&rx->lock);

	while (off) {
		req = off;
		off = req->next;
		rpcrdma_req_put(req);
	}
}
