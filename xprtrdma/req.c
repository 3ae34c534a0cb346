// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests: the slots of a transport, their buffers and references, and the
 * credits that their Calls need.
 *
 * The RPC layer holds a request from alloc_slot to free_slot, and the wire
 * from the Send until the Reply is here or the connection is gone. The Send of
 * a Call reads the request's own buffer alone and is not signalled: the Reply
 * shows that the server has it. So the slot of an aborted RPC is not used
 * again, and its credit not spent again, before one of the two has happened.
 *
 * Credits say how many Calls may be on the wire (RFC 8166, section 3.3.1). They
 * are sunrpc's congestion window, which counts the RPCs that hold one.
 */
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>

#include "rpcrdma/trace.h"
#include "xprt_rdma.h"

/* XDR buffers grow in steps, so that they soon fit every RPC of a mount */
#define XDR_BUF_STEP	1024U

/* A verifier may be so much longer than the last, by which sunrpc sizes Replies */
#define VERF_GROWTH	128U

/* If LOCAL_INVs of an aborted RPC take longer, the connection ends */
#define ABORT_TIMEOUT	(5 * HZ)

/*
 * Called with transport_lock. Returns false when the server has left no credit. If
 * only Receives are lacking the next Call has xprt_rdma_credits_grow().
 */
static bool xprt_rdma_credits_apply(struct xprt_rdma *rx)
{
	u32 left = min(rx->granted, rx->receivable);

	left -= min(left, rx->abandoned);
	rx->xprt.cwnd = (unsigned long)left << RPC_CWNDSHIFT;
	return rx->granted > rx->abandoned;
}

/*
 * The server granted @credits. If aborted RPCs hold them all, the connection
 * ends: a new one has them all back.
 */
void xprt_rdma_credits_update(struct xprt_rdma *rx, struct rpcrdma_ep *ep,
			      u32 credits)
{
	bool left;

	if (likely(credits == READ_ONCE(rx->granted)))
		return;
	trace_xprtrdma_credits(ep, 0, credits);
	spin_lock(&rx->xprt.transport_lock);
	rx->granted = credits;
	left = xprt_rdma_credits_apply(rx);
	spin_unlock(&rx->xprt.transport_lock);
	if (!left)
		xprt_force_disconnect(&rx->xprt);
	else
		rpcrdma_rpc_wake_sender(&rx->xprt);
}

/*
 * All credits that there are Receives for are taken: have Receives for twice as
 * many, if the server granted more. Called with rx->lock, by a task that may
 * allocate. Return: whether there are more.
 */
bool xprt_rdma_credits_grow(struct xprt_rdma *rx)
{
	if (rx->granted <= rx->receivable ||
	    rpcrdma_recvq_grow(rx->ep, rpc_task_gfp_mask() | __GFP_NORETRY |
				       __GFP_NOWARN))
		return false;
	spin_lock(&rx->xprt.transport_lock);
	rx->receivable = rx->ep->receivable;
	xprt_rdma_credits_apply(rx);
	spin_unlock(&rx->xprt.transport_lock);
	rpcrdma_rpc_wake_sender(&rx->xprt);
	return true;
}

/*
 * @by more aborted RPCs keep a credit until they are answered. Called with the
 * transport_lock.
 *
 * Return: false if too few credits are left to go on with the connection, or
 * none: RFC 8166, 3.3.1, allows no other Call. The caller then ends it.
 */
static bool xprt_rdma_credits_abandon(struct xprt_rdma *rx, int by)
{
	lockdep_assert_held(&rx->xprt.transport_lock);
	rx->abandoned += by;
	return xprt_rdma_credits_apply(rx) &&
	       rx->abandoned < min(rx->granted, rx->xprt.max_reqs / 2);
}

/*
 * Too few credits were left when an RPC was aborted. A late Reply may have
 * brought one back since, and a connection with another cookie has them all.
 */
static void xprt_rdma_credits_spent(struct xprt_rdma *rx, u32 cookie)
{
	struct rpc_xprt *xprt = &rx->xprt;
	bool spent;

	spin_lock(&xprt->transport_lock);
	spent = cookie == xprt->connect_cookie &&
		!xprt_rdma_credits_abandon(rx, 0);
	spin_unlock(&xprt->transport_lock);
	if (spent)
		xprt_force_disconnect(xprt);
}

/*
 * A connection ended; called with the send lock, so that no task asks for a
 * credit. The next connection has one until its first Reply (RFC 8166, 3.3.3),
 * and RPCs that were in flight get theirs anew.
 */
void xprt_rdma_credits_reset(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;
	struct xprt_rdma_req *req;

	spin_lock(&xprt->transport_lock);
	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		/* The Reply to a callback has none */
		if (!req->rqst.rq_cong || bc_prealloc(&req->rqst))
			continue;
		req->rqst.rq_cong = 0;
		xprt->cong -= RPC_CWNDSCALE;
	}
	spin_unlock(&rx->req_lock);
	rx->granted = 1;
	rx->receivable = XPRT_RDMA_FIRST_CREDITS;
	rx->abandoned = 0;
	xprt_rdma_credits_apply(rx);
	spin_unlock(&xprt->transport_lock);
}

/* The caller owns the slot. Its buffers come with its first RPC. */
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

/* One more slot of the transport, or NULL */
static struct xprt_rdma_req *xprt_rdma_slot_create(struct xprt_rdma *rx,
						   gfp_t gfp)
{
	struct xprt_rdma_req *req;

	if (!atomic_add_unless(&rx->nr_slots, 1, rx->xprt.max_reqs))
		return NULL;
	req = xprt_rdma_req_create(rx, gfp);
	if (!req)
		atomic_dec(&rx->nr_slots);
	return req;
}

/*
 * Slots for tasks that find no memory for another one. After an error, too, those
 * in rx->all are to be destroyed.
 */
int xprt_rdma_reqs_create(struct xprt_rdma *rx)
{
	struct xprt_rdma_req *req;
	int i;

	spin_lock_init(&rx->req_lock);
	INIT_LIST_HEAD(&rx->all);
	init_waitqueue_head(&rx->abort_wait);
	for (i = 0; i < XPRT_RDMA_FIRST_SLOTS; i++) {
		req = xprt_rdma_slot_create(rx, GFP_KERNEL);
		if (!req)
			return -ENOMEM;
		req->next = rx->free;
		rx->free = req;
	}
	return 0;
}

static struct xprt_rdma_req *xprt_rdma_slot_pop(struct xprt_rdma *rx)
{
	struct xprt_rdma_req *req;

	spin_lock(&rx->req_lock);
	req = rx->free;
	if (req)
		rx->free = req->next;
	spin_unlock(&rx->req_lock);
	return req;
}

/*
 * Give a free slot to the first task that waits, or keep it. A task joins the
 * backlog and then looks for a slot again; here a slot joins the list and then
 * the backlog is read again. One of them sees the other, as both take the lock
 * of the list in between.
 */
static void xprt_rdma_slot_push(struct xprt_rdma *rx, struct xprt_rdma_req *req)
{
	do {
		if (READ_ONCE(rx->xprt.backlog.qlen) &&
		    xprt_wake_up_backlog(&rx->xprt, &req->rqst))
			return;
		memset(&req->rqst, 0, sizeof(req->rqst));
		spin_lock(&rx->req_lock);
		req->next = rx->free;
		rx->free = req;
		spin_unlock(&rx->req_lock);
		if (!READ_ONCE(rx->xprt.backlog.qlen))
			return;
		req = xprt_rdma_slot_pop(rx);
	} while (req);
}

static void xprt_rdma_req_release(struct kref *kref)
{
	struct xprt_rdma_req *req =
		container_of(kref, struct xprt_rdma_req, kref);
	struct rpc_xprt *xprt = &req->rx->xprt;

	WARN_ON_ONCE(!list_empty(&req->mrs)); /* I6 */
	WARN_ON_ONCE(xprt_rdma_req_on_wire(req)); /* I7 */
	kref_init(&req->kref);
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	if (unlikely(bc_prealloc(&req->rqst))) {
		spin_lock(&xprt->bc_pa_lock);
		list_add(&req->rqst.rq_bc_pa_list, &xprt->bc_pa_list);
		spin_unlock(&xprt->bc_pa_lock);
		return;
	}
#endif
	xprt_rdma_slot_push(to_xprt_rdma(xprt), req);
}

/* Process context, without a lock of sunrpc */
void xprt_rdma_req_put(struct xprt_rdma_req *req)
{
	kref_put(&req->kref, xprt_rdma_req_release);
}

void xprt_rdma_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	struct xprt_rdma_req *req = xprt_rdma_slot_pop(rx);

	if (unlikely(!req))
		req = xprt_rdma_slot_create(rx, rpc_task_gfp_mask());
	if (req) {
		task->tk_rqstp = &req->rqst;
		task->tk_status = 0;
		return;
	}
	task->tk_status = -EAGAIN;
	xprt_add_backlog_noncongested(xprt, task);
	/* A slot that became free before the task slept has woken no task */
	req = xprt_rdma_slot_pop(rx);
	if (req)
		xprt_rdma_slot_push(rx, req);
}

void xprt_rdma_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);
	bool spent = req->credits_spent, starved = req->starved;
	u32 cookie = req->spent_cookie;

	req->credits_spent = false;
	req->starved = false;
	xprt_rdma_req_put(req);
	/* Others may send again: they may need no MR */
	if (unlikely(starved))
		rpcrdma_rpc_write_space(xprt);
	if (unlikely(spent))
		xprt_rdma_credits_spent(to_xprt_rdma(xprt), cookie);
}

/*
 * The server still works on a Call that the RPC layer has aborted: the number
 * of credits is one less until its Reply comes or the connection ends. Called
 * with the transport_lock.
 */
void xprt_rdma_release_request(struct rpc_task *task)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(task->tk_rqstp);

	/* The Reply to a callback has none */
	if (unlikely(bc_prealloc(&req->rqst)))
		return;
	/* First: a sender that this wakes gets no credit, but can add Receives */
	xprt_release_rqst_cong(task);
	/* Its late Reply undoes this under the transport_lock, too */
	if (unlikely(xprt_rdma_req_on_wire(req)) &&
	    atomic_cmpxchg(&req->state, XPRT_RDMA_REQ_SENT,
			   XPRT_RDMA_REQ_ABANDONED) == XPRT_RDMA_REQ_SENT) {
		req->credits_spent = !xprt_rdma_credits_abandon(req->rx, 1);
		req->spent_cookie = req->rx->xprt.connect_cookie;
		/* A late Reply finds it soon, however many slots there are */
		spin_lock(&req->rx->req_lock);
		list_move(&req->all, &req->rx->all);
		spin_unlock(&req->rx->req_lock);
	}
}

/*
 * Give the device the first @len bytes of the buffer that a request is sent
 * from. The buffer stays mapped until the connection ends. Return: 0 or -EIO
 */
int xprt_rdma_req_prepare(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			  u32 len)
{
	if (unlikely(req->hdr.ep != ep)) {
		if (rpcrdma_dmabuf_map(ep, &req->hdr))
			return -EIO;
		rpcrdma_dmabuf_sge(&req->hdr, &req->sge, 0, len);
	}
	req->sge.length = len;
	rpcrdma_dmabuf_sync_for_device(&req->hdr, 0, len);
	return 0;
}

static int xprt_rdma_xdr_buf_grow(struct xprt_rdma_req *req, void **buf,
				  size_t *size, size_t need)
{
	void *data;

	need = round_up(need, XDR_BUF_STEP);
	data = kmalloc(need, rpc_task_gfp_mask());
	if (!data)
		return -ENOMEM;
	if (*buf)
		req->rx->stats.hardway_register_count += need;
	kfree(*buf);
	*buf = data;
	*size = need;
	return 0;
}

/*
 * Buffers for a task's Call and Reply, both of which may be registered as part
 * of a chunk: they are never vmalloc'ed. Upon -ENOMEM the task retries later.
 */
int xprt_rdma_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct xprt_rdma_req *req = to_xprt_rdma_req(rqst);

	if (unlikely(rqst->rq_callsize > req->sbuf_size) &&
	    xprt_rdma_xdr_buf_grow(req, &req->sbuf, &req->sbuf_size,
				   rqst->rq_callsize))
		return -ENOMEM;
	if (unlikely(rqst->rq_rcvsize + VERF_GROWTH > req->rbuf_size) &&
	    xprt_rdma_xdr_buf_grow(req, &req->rbuf, &req->rbuf_size,
				   rqst->rq_rcvsize + VERF_GROWTH))
		return -ENOMEM;
	if (unlikely(!req->hdr.data) &&
	    rpcrdma_dmabuf_alloc(&req->hdr, XPRT_RDMA_SEND_BUF, DMA_TO_DEVICE,
				 NUMA_NO_NODE, rpc_task_gfp_mask()))
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
	xprt_rdma_mrs_put(rx, &req->mrs, true);
	/* The request is no longer ours */
	wake_up_all(&rx->abort_wait);
}

/*
 * If no Reply came, the peer can still reach the memory that the Call offered.
 * Once this returns it cannot, and the pages are the caller's. This is the only
 * place where the client waits for the fabric. If the LOCAL_INVs do not
 * complete in time the connection ends, and its drain completes them.
 */
void xprt_rdma_buf_free(struct rpc_task *task)
{
	struct xprt_rdma_req *req = to_xprt_rdma_req(task->tk_rqstp);
	struct xprt_rdma *rx = req->rx;
	struct rpcrdma_ep *ep = NULL;

	if (likely(list_empty_careful(&req->mrs)))
		return;
	mutex_lock(&rx->lock);
	if (rx->pool.ep && !list_empty(&req->mrs)) {
		ep = rpcrdma_ep_get(rx->pool.ep);
		if (xprt_rdma_mrs_invalidate(ep, req, xprt_rdma_abort_done))
			/* It is going down already, or must */
			rpcrdma_ep_fail(ep, -EIO, NULL);
	}
	mutex_unlock(&rx->lock);
	if (ep) {
		if (!wait_event_timeout(rx->abort_wait,
					list_empty_careful(&req->mrs),
					ABORT_TIMEOUT))
			rpcrdma_ep_fail(ep, -ETIMEDOUT,
					"could not invalidate memory of an aborted RPC");
		rpcrdma_ep_put(ep);
	}
	wait_event(rx->abort_wait, list_empty_careful(&req->mrs));
}

/* Send a request whose chain is ready: on success the wire holds it, too */
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
	rc = rpcrdma_sendq_post(ep, &req->chain,
				READ_ONCE(req->rx->xprt.cong) <= RPC_CWNDSCALE);
	if (rc) {
		atomic_set(&req->state, XPRT_RDMA_REQ_IDLE);
		return rc;
	}
	kref_get(&req->kref);
	/* Pairs with xprt_rdma_req_claim() */
	atomic_set_release(&req->state, XPRT_RDMA_REQ_SENT);
	return 0;
}

/*
 * Take a request off the wire; its reference is the caller's. A request that
 * still waits for Send Queue slots stays: if a forged Reply took it, the slot
 * would be used again while the queue has its chain.
 *
 * Return: its state before; XPRT_RDMA_REQ_IDLE if it was not on the wire.
 */
static int xprt_rdma_req_claim(struct xprt_rdma_req *req)
{
	/* Pairs with xprt_rdma_req_post(): the chain is as that left it */
	int state = atomic_read_acquire(&req->state);

	if (state < XPRT_RDMA_REQ_SENT || rpcrdma_chain_waits(&req->chain))
		return XPRT_RDMA_REQ_IDLE;
	while (state >= XPRT_RDMA_REQ_SENT)
		if (atomic_try_cmpxchg(&req->state, &state, XPRT_RDMA_REQ_IDLE))
			return state;
	return XPRT_RDMA_REQ_IDLE;
}

/*
 * A Reply came for a slot that the RPC layer holds. Return: false if it was
 * never sent, or answered before, or waits for the Send Queue.
 */
bool xprt_rdma_req_answered(struct xprt_rdma_req *req)
{
	/* xprt_rdma_req_post() is about to return, with this lock held */
	if (unlikely(atomic_read(&req->state) == XPRT_RDMA_REQ_POSTING)) {
		mutex_lock(&req->rx->lock);
		mutex_unlock(&req->rx->lock);
	}
	if (xprt_rdma_req_claim(req) == XPRT_RDMA_REQ_IDLE)
		return false;
	xprt_rdma_req_put(req);
	return true;
}

/*
 * A Reply came that no RPC waits for. Return: true if it answers an aborted
 * one: the slot and its credit are free again.
 */
bool xprt_rdma_reqs_answer_abandoned(struct xprt_rdma *rx, u32 xid)
{
	int state = XPRT_RDMA_REQ_IDLE;
	struct xprt_rdma_req *req;

	spin_lock(&rx->req_lock);
	list_for_each_entry(req, &rx->all, all) {
		/* On the wire @xid is that of the Call that was sent */
		if (atomic_read_acquire(&req->state) >= XPRT_RDMA_REQ_SENT &&
		    req->xid == xid)
			state = xprt_rdma_req_claim(req);
		if (state != XPRT_RDMA_REQ_IDLE)
			break;
	}
	if (state == XPRT_RDMA_REQ_ABANDONED)
		list_move_tail(&req->all, &rx->all);
	spin_unlock(&rx->req_lock);
	if (state == XPRT_RDMA_REQ_IDLE)
		return false;
	if (state == XPRT_RDMA_REQ_ABANDONED) {
		spin_lock(&rx->xprt.transport_lock);
		xprt_rdma_credits_abandon(rx, -1);
		spin_unlock(&rx->xprt.transport_lock);
		rpcrdma_rpc_wake_sender(&rx->xprt);
	}
	xprt_rdma_req_put(req);
	return true;
}

/* The connection of @ep is drained: nothing is on the wire */
void xprt_rdma_reqs_release(struct xprt_rdma *rx, struct rpcrdma_ep *ep)
{
	struct xprt_rdma_req *req, *off = NULL;

	/* No task is in xprt_rdma_req_post(), where we could not claim it */
	mutex_lock(&rx->lock);
	rx->cold = 0;
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
