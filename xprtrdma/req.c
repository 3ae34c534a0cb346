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
 * xprt_rdma_req_create - a new slot
 * @rx: transport
 * @gfp: how to allocate
 *
 * Buffers come with the first RPC that uses it.
 *
 * Context: as @gfp allows. The caller owns the slot, and its reference.
 *
 * Return: the slot or NULL.
 */
struct xprt_rdma_req *xprt_rdma_req_create(struct xprt_rdma *rx, gfp_t gfp)
{
	struct xprt_rdma_req *req;

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
 * xprt_rdma_req_destroy - free a slot
 * @req: slot that nobody holds
 *
 * Context: process, may sleep.
 */
void xprt_rdma_req_destroy(struct xprt_rdma_req *req)
{
	struct xprt_rdma *rx = req->rx;

	WARN_ON_ONCE(xprt_rdma_req_on_wire(req)); /* I15 */
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
 * xprt_rdma_reqs_create - the slots of a new transport
 * @rx: transport
 * @count: how many
 *
 * Context: process, may sleep. Undone by xprt_rdma_reqs_destroy(), after an
 * error too.
 *
 * Return: 0 or -ENOMEM.
 */
int xprt_rdma_reqs_create(struct xprt_rdma *rx, unsigned int count)
{
	struct xprt_rdma_req *req;

	spin_lock_init(&rx->req_lock);
	INIT_LIST_HEAD(&rx->all);
	while (count--) {
		req = xprt_rdma_req_create(rx, GFP_KERNEL);
		if (!req)
			return -ENOMEM;
		req->next = rx->free;
		rx->free = req;
	}
	return 0;
}

/**
 * xprt_rdma_reqs_destroy - free all slots
 * @rx: transport that nobody uses and that is not connected
 *
 * Context: process, may sleep.
 */
void xprt_rdma_reqs_destroy(struct xprt_rdma *rx)
{
	struct xprt_rdma_req *req, *next;

	list_for_each_entry_safe(req, next, &rx->all, all)
		xprt_rdma_req_destroy(req);
}

static inline struct xprt_rdma_req *xprt_rdma_slot_pop(struct xprt_rdma *rx)
{
	struct xprt_rdma_req *req;

	spin_lock(&rx->req_lock);
	req = rx->free;
	if (req)
		rx->free = req->next;
	spin_unlock(&rx->req_lock);
	return req;
}

static inline void xprt_rdma_slot_keep(struct xprt_rdma *rx,
				       struct xprt_rdma_req *req)
{
	memset(&req->rqst, 0, sizeof(req->rqst));
	spin_lock(&rx->req_lock);
	req->next = rx->free;
	rx->free = req;
	spin_unlock(&rx->req_lock);
}

static inline bool xprt_rdma_slot_wanted(const struct xprt_rdma *rx)
{
	return unlikely(READ_ONCE(rx->xprt.backlog.qlen));
}

static noinline void xprt_rdma_slot_offer(struct xprt_rdma *rx,
					  struct xprt_rdma_req *req)
{
	for (; req; req = xprt_rdma_slot_pop(rx)) {
		if (xprt_wake_up_backlog(&rx->xprt, &req->rqst))
			return;
		xprt_rdma_slot_keep(rx, req);
		if (!xprt_rdma_slot_wanted(rx))
			return;
	}
}

/*
 * Gives a slot that nobody holds to the first task that waits, or keeps it.
 * A task joins the backlog and then looks for a slot again; here a slot joins
 * the list and then the backlog is looked at again: one of them sees the other,
 * as both have taken the lock of the list in between.
 */
static void xprt_rdma_slot_push(struct xprt_rdma *rx, struct xprt_rdma_req *req)
{
	if (!xprt_rdma_slot_wanted(rx)) {
		xprt_rdma_slot_keep(rx, req);
		if (!xprt_rdma_slot_wanted(rx))
			return;
		req = xprt_rdma_slot_pop(rx);
	}
	xprt_rdma_slot_offer(rx, req);
}

#if defined(CONFIG_SUNRPC_BACKCHANNEL)
static noinline void xprt_rdma_bc_slot_keep(struct rpc_xprt *xprt,
					    struct rpc_rqst *rqst)
{
	spin_lock(&xprt->bc_pa_lock);
	list_add(&rqst->rq_bc_pa_list, &xprt->bc_pa_list);
	spin_unlock(&xprt->bc_pa_lock);
}
#endif

static void xprt_rdma_req_release(struct kref *kref)
{
	struct xprt_rdma_req *req =
		container_of(kref, struct xprt_rdma_req, kref);
	struct xprt_rdma *rx = req->rx;

	WARN_ON_ONCE(!list_empty(&req->mrs)); /* I6 */
	WARN_ON_ONCE(xprt_rdma_req_on_wire(req)); /* I7 */
	kref_init(&req->kref);
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	if (unlikely(bc_prealloc(&req->rqst))) {
		xprt_rdma_bc_slot_keep(&rx->xprt, &req->rqst);
		return;
	}
#endif
	xprt_rdma_slot_push(rx, req);
}

/**
 * xprt_rdma_req_put - drop a reference
 * @req: slot; the last one to let go makes it free
 *
 * Context: process, no lock of sunrpc's held.
 */
void xprt_rdma_req_put(struct xprt_rdma_req *req)
{
	kref_put(&req->kref, xprt_rdma_req_release);
}

static noinline void xprt_rdma_slot_wait(struct xprt_rdma *rx,
					 struct rpc_task *task)
{
	struct xprt_rdma_req *req;

	task->tk_status = -EAGAIN;
	xprt_add_backlog_noncongested(&rx->xprt, task);
	/* One that became free before the task was asleep woke nobody */
	req = xprt_rdma_slot_pop(rx);
	if (req)
		xprt_rdma_slot_push(rx, req);
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
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	struct xprt_rdma_req *req = xprt_rdma_slot_pop(rx);

	if (unlikely(!req)) {
		xprt_rdma_slot_wait(rx, task);
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
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);
	bool spent = req->credits_spent;
	u32 cookie = req->spent_cookie;

	req->credits_spent = false;
	xprt_rdma_req_put(req);
	if (unlikely(spent))
		xprt_rdma_credits_spent(to_xprt_rdma(xprt), cookie);
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
	struct xprt_rdma_req *req = to_xprt_rdma_req(task->tk_rqstp);

	/* The Reply to a callback has none */
	if (unlikely(bc_prealloc(&req->rqst)))
		return;
	/* Its late Reply undoes this under the transport_lock, too */
	if (unlikely(xprt_rdma_req_on_wire(req)) &&
	    atomic_cmpxchg(&req->state, XPRT_RDMA_REQ_SENT,
			   XPRT_RDMA_REQ_ABANDONED) == XPRT_RDMA_REQ_SENT) {
		req->credits_spent = !xprt_rdma_credits_abandon(req->rx, 1);
		req->spent_cookie = req->rx->xprt.connect_cookie;
	}
	xprt_release_rqst_cong(task);
}

static int xprt_rdma_xdr_buf_reserve(struct xprt_rdma_req *req, void **buf,
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
 * xprt_rdma_req_map_anew - map the buffer a request is sent from
 * @ep: endpoint it is not mapped for
 * @req: request; not sent
 *
 * Context: as rpcrdma_dmabuf_map().
 *
 * Return: 0 or -EIO.
 */
int xprt_rdma_req_map_anew(struct rpcrdma_ep *ep, struct xprt_rdma_req *req)
{
	int rc = rpcrdma_dmabuf_map(ep, &req->hdr);

	if (!rc)
		rpcrdma_dmabuf_sge(&req->hdr, &req->sge, 0, req->hdr.size);
	return rc;
}

/* The one that it is sent from comes last: with it a slot has all three */
static noinline int xprt_rdma_bufs_reserve(struct xprt_rdma_req *req)
{
	gfp_t gfp = rpc_task_gfp_mask();

	if (xprt_rdma_xdr_buf_reserve(req, &req->sbuf, &req->sbuf_size,
				      req->rqst.rq_callsize, gfp) ||
	    xprt_rdma_xdr_buf_reserve(req, &req->rbuf, &req->rbuf_size,
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
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);

	if (unlikely(!req->hdr.data || req->sbuf_size < rqst->rq_callsize ||
		     req->rbuf_size < rqst->rq_rcvsize) &&
	    xprt_rdma_bufs_reserve(req))
		return -ENOMEM;
	rqst->rq_buffer = req->sbuf;
	rqst->rq_rbuffer = req->rbuf;
	return 0;
}

static void xprt_rdma_abort_done(struct rpcrdma_chain *chain,
				 enum ib_wc_status status)
{
	struct xprt_rdma_req *req =
		container_of(chain, struct xprt_rdma_req, inv_chain);
	struct xprt_rdma *rx = req->rx;

	/* Else the drain gives them back: xprt_rdma_mrs_release() */
	if (unlikely(status != IB_WC_SUCCESS))
		return;
	xprt_rdma_mrs_put(rx, &req->mrs);
	/* The request is no longer ours */
	wake_up_all(&rx->abort_wait);
}

/*
 * End all access of the peer to an aborted RPC's memory, which no Reply finds
 * any more. This is the only place where the client waits for the fabric. If
 * the LOCAL_INVs do not complete in time the connection ends, and its drain
 * completes them.
 */
static void xprt_rdma_req_abort(struct xprt_rdma_req *req)
{
	struct xprt_rdma *rx = req->rx;
	struct rpcrdma_ep *ep = NULL;

	mutex_lock(&rx->lock);
	if (rx->pool.ep && !list_empty(&req->mrs)) {
		ep = rpcrdma_ep_get(rx->pool.ep);
		if (xprt_rdma_mrs_invalidate(ep, req, xprt_rdma_abort_done))
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
	struct xprt_rdma_req *req = to_xprt_rdma_req(task->tk_rqstp);

	if (unlikely(!list_empty_careful(&req->mrs)))
		xprt_rdma_req_abort(req);
}

/**
 * xprt_rdma_req_post - send a request
 * @ep: endpoint
 * @req: its chain is ready
 *
 * Context: process, under xprt_rdma.lock. On success the wire holds the
 * request.
 *
 * Return: 0, or an error of rpcrdma_sendq_post(): nothing was sent.
 */
int xprt_rdma_req_post(struct rpcrdma_ep *ep, struct xprt_rdma_req *req)
{
	int rc;

	lockdep_assert_held(&req->rx->lock);
	req->xid = be32_to_cpu(req->rqst.rq_xid);
	/*
	 * The Reply may be here before we are back: it waits for us. A forged
	 * one that came before must not find the request half prepared.
	 */
	atomic_set(&req->state, XPRT_RDMA_REQ_POSTING);
	rc = rpcrdma_sendq_post_lone(ep, &req->chain,
				     READ_ONCE(req->rx->xprt.cong) <= RPC_CWNDSCALE);
	if (likely(!rc)) {
		kref_get(&req->kref);
		/* Pairs with xprt_rdma_req_claim() */
		atomic_set_release(&req->state, XPRT_RDMA_REQ_SENT);
		return 0;
	}
	atomic_set(&req->state, XPRT_RDMA_REQ_IDLE);
	return rc;
}

/* @wire: where it seems to be. Return: where it was; OFF when it was not on the wire. */
static __always_inline int xprt_rdma_wire_off(struct xprt_rdma_req *req,
					      int wire)
{
	while (wire >= XPRT_RDMA_REQ_SENT)
		if (atomic_try_cmpxchg(&req->state, &wire, XPRT_RDMA_REQ_IDLE))
			return wire;
	return XPRT_RDMA_REQ_IDLE;
}

/*
 * Takes a request off the wire; its reference is the caller's. One that still
 * waits for Send Queue slots stays: who claims to answer it would have the slot
 * used anew while the queue has its chain.
 *
 * Return: where it was; XPRT_RDMA_REQ_IDLE when it was not on the wire.
 */
static int xprt_rdma_req_claim(struct xprt_rdma_req *req)
{
	/* Pairs with xprt_rdma_req_post(): the chain is as that left it */
	int wire = atomic_read_acquire(&req->state);

	if (wire < XPRT_RDMA_REQ_SENT || rpcrdma_chain_waits(&req->chain))
		return XPRT_RDMA_REQ_IDLE;
	return xprt_rdma_wire_off(req, wire);
}

static noinline bool xprt_rdma_req_answered_early(struct xprt_rdma_req *req)
{
	if (xprt_rdma_req_claim(req) == XPRT_RDMA_REQ_IDLE)
		return false;
	xprt_rdma_req_put(req);
	return true;
}

/**
 * xprt_rdma_req_answered - take a request off the wire
 * @req: slot that the RPC layer holds
 *
 * Context: process.
 *
 * Return: false when it was not on the wire, never sent, or answered before;
 * or waits for the Send Queue.
 */
bool xprt_rdma_req_answered(struct xprt_rdma_req *req)
{
	/* As xprt_rdma_req_claim(); a call in here would cost each Reply its registers */
	int wire = atomic_read_acquire(&req->state);

	if (unlikely(!list_empty_careful(&req->chain.list)))
		return xprt_rdma_req_answered_early(req);
	if (unlikely(xprt_rdma_wire_off(req, wire) == XPRT_RDMA_REQ_IDLE))
		return false;
	xprt_rdma_req_put(req);
	return true;
}

/**
 * xprt_rdma_reqs_answer_abandoned - a Reply came that no RPC waits for
 * @rx: transport
 * @xid: its XID
 *
 * Context: process.
 *
 * Return: true if it answers a request that was sent and given up: the slot
 * and its credit are free again.
 */
bool xprt_rdma_reqs_answer_abandoned(struct xprt_rdma *rx, u32 xid)
{
	int wire = XPRT_RDMA_REQ_IDLE;
	struct xprt_rdma_req *req;

	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		/* On the wire @xid is what was sent, until we say otherwise */
		if (atomic_read_acquire(&req->state) >= XPRT_RDMA_REQ_SENT &&
		    req->xid == xid)
			wire = xprt_rdma_req_claim(req);
		if (wire != XPRT_RDMA_REQ_IDLE)
			break;
	}
	spin_unlock(&rx->req_lock);
	if (wire == XPRT_RDMA_REQ_IDLE)
		return false;
	if (wire == XPRT_RDMA_REQ_ABANDONED)
		xprt_rdma_credits_late(rx);
	xprt_rdma_req_put(req);
	return true;
}

/**
 * xprt_rdma_reqs_release - the connection is gone, nothing is on the wire
 * @rx: transport
 * @ep: its drained endpoint
 *
 * Context: process, sleeps; in rpcrdma_ep_ops.release.
 */
void xprt_rdma_reqs_release(struct xprt_rdma *rx, struct rpcrdma_ep *ep)
{
	struct xprt_rdma_req *req, *off = NULL;

	/* Nobody is within xprt_rdma_req_post(), where we could not take it */
	mutex_lock(&rx->lock);
	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		if (req->hdr.ep == ep)
			rpcrdma_dmabuf_unmap(&req->hdr);
		if (xprt_rdma_req_claim(req) == XPRT_RDMA_REQ_IDLE)
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
		xprt_rdma_req_put(req);
	}
}
