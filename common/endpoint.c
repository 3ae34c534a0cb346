// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The resources of a connection: how they are set up, and the one teardown.
 */

#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

/* A device flushes its queues within milliseconds; a guest may be slow to see it */
#define RPCRDMA_FLUSH_TIMEOUT		(30 * HZ)

static atomic_t rpcrdma_ep_numbers;

static void rpcrdma_error_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_ep_fail_wc(cq->cq_context, wc, "unsignalled WR");
}

static void rpcrdma_qp_event(struct ib_event *event, void *context)
{
	struct rpcrdma_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/* mlx5 reports it after the flush, bnxt_re before the WR with the cause */
		ep->presumed = ib_event_msg(event->event);
		rpcrdma_ep_qp_ended(ep, NULL);
		break;
	case IB_EVENT_COMM_EST:
		/* A message overtook the last step of the CM's handshake */
		rdma_notify(ep->id, event->event);
		break;
	default:
		break;
	}
}

static void rpcrdma_ep_free_work(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, free);

	WARN_ON_ONCE(ep->id || ep->qp || ep->pd || ep->rdev); /* I13 */
	rpcrdma_recvq_destroy(ep);
	mutex_destroy(&ep->setup_lock);
	kfree(ep);
}

/* vfree() may sleep, and nfsd may drop its last reference under a spinlock */
static void rpcrdma_ep_free(struct kref *kref)
{
	struct rpcrdma_ep *ep = container_of(kref, struct rpcrdma_ep, kref);

	queue_work(rpcrdma_wq, &ep->free);
}

/**
 * rpcrdma_ep_get - take a reference
 * @ep: endpoint
 *
 * Context: any.
 *
 * Return: @ep.
 */
struct rpcrdma_ep *rpcrdma_ep_get(struct rpcrdma_ep *ep)
{
	kref_get(&ep->kref);
	return ep;
}

/**
 * rpcrdma_ep_put - drop a reference
 * @ep: endpoint
 *
 * Context: any. The last one frees memory only: all else went with the
 * teardown.
 */
void rpcrdma_ep_put(struct rpcrdma_ep *ep)
{
	kref_put(&ep->kref, rpcrdma_ep_free);
}

static void rpcrdma_ep_destroy_qp(struct rpcrdma_ep *ep)
{
	if (ep->qp)
		rdma_destroy_qp(ep->id);
	ep->qp = NULL;
}

static void rpcrdma_ep_free_cqs(struct rpcrdma_ep *ep)
{
	if (ep->send_cq)
		ib_free_cq(ep->send_cq);
	ep->send_cq = NULL;
	if (ep->recv_cq)
		ib_free_cq(ep->recv_cq);
	ep->recv_cq = NULL;
}

static bool rpcrdma_ep_all_back(struct rpcrdma_ep *ep)
{
	return rpcrdma_recvq_drained(ep) && rpcrdma_sendq_drained(ep);
}

/*
 * A broken device may refuse to end the queue pair, or not flush it. A Requester
 * destroys the queue pair, which ends the device's access to memory, and frees the
 * CQs, which waits for their handlers, before the owner of any memory has it back.
 *
 * rdma_rw needs the queue pair of a Responder until the side has released its
 * contexts. Until the CQs are freed late completions may come: for a chain that was
 * flushed one does nothing, if the side keeps the chain's memory until
 * rpcrdma_ep_ops.dead, and the Receives ignore theirs. The device's access ends with
 * the queue pair, or with the reset that such a device is due for.
 */
static void rpcrdma_ep_abandon_device(struct rpcrdma_ep *ep)
{
	rpcrdma_ep_warn(ep, "device did not flush its queues within 30 s");
	if (ep->attr.responder) {
		rpcrdma_recvq_abandon(ep);
	} else {
		rpcrdma_ep_destroy_qp(ep);
		rpcrdma_ep_free_cqs(ep);
	}
}

/*
 * Wait until everything that was posted has been flushed. ib_core's drain has no
 * bound. A dead device fails before that: there is always a Receive posted.
 */
static bool rpcrdma_ep_drain(struct rpcrdma_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	unsigned long end = jiffies + RPCRDMA_FLUSH_TIMEOUT;
	bool ended = false;

	do {
		/* cxgb4 refuses while the queue pair ends by itself, after a TERMINATE */
		ended = ended || !ib_modify_qp(ep->qp, &attr, IB_QP_STATE);
		if (time_is_before_jiffies(end))
			return false;
		fsleep(ended ? 500 : 100000);
	} while (!ended || !rpcrdma_ep_all_back(ep));
	ib_drain_rq(ep->qp);
	ib_drain_sq(ep->qp);
	/* If they could not post, a handler may still run; see also rpcrdma_sendq_flush() */
	rpcrdma_recvq_settle(ep);
	return rpcrdma_ep_all_back(ep);
}

/*
 * The one teardown. Each step is safe when its counterpart never happened, so
 * that a failed connect, a failed accept, a close and a device removal all
 * come here. Mirrors rpcrdma_ep_set_up() from the bottom to the top.
 */
static void rpcrdma_ep_teardown(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, teardown);
	/*
	 * Drivers allocate while they destroy. A task may wait for the teardown on
	 * behalf of reclaim, as sunrpc's does when it closes a connection: it must not
	 * wait for pages or inodes that only the next connection can free.
	 */
	unsigned int noio = memalloc_noio_save();
	unsigned int reserves = ep->attr.swapper && atomic_read(ep->attr.swapper) ?
				memalloc_noreclaim_save() : 0;
	bool known, drained = true;

	/* A task that connects or accepts has been woken and leaves soon */
	mutex_lock(&ep->setup_lock);
	/* A broken device may take long to drain */
	known = ep->reason;
	if (known)
		rpcrdma_ep_log_failure(ep);
	rpcrdma_sendq_open(ep, false);
	rpcrdma_recvq_stop(ep);
	ep->attr.ops->closing(ep);

	if (ep->qp) {
		rdma_disconnect(ep->id);
		drained = rpcrdma_ep_drain(ep);
	}
	if (!known)
		rpcrdma_ep_log_failure(ep);
	if (!drained)
		rpcrdma_ep_abandon_device(ep);
	rpcrdma_sendq_flush(ep);
	ep->attr.ops->release(ep);
	rpcrdma_recvq_unmap(ep);
	WARN_ON_ONCE(atomic_read(&ep->maps) != atomic_read(&ep->unmaps)); /* I10 */

	rpcrdma_ep_destroy_qp(ep);
	rpcrdma_ep_free_cqs(ep);
	if (ep->pd)
		ib_dealloc_pd(ep->pd);
	ep->pd = NULL;
	rpcrdma_ep_unregister(ep);
	rpcrdma_device_detach(ep);
	if (ep->id)
		rdma_destroy_id(ep->id);
	ep->id = NULL;
	mutex_unlock(&ep->setup_lock);

	rpcrdma_ep_change_state(ep, RPCRDMA_EP_DEAD);
	put_net(ep->attr.net);
	complete_all(&ep->gone);
	if (ep->attr.ops->dead)
		ep->attr.ops->dead(ep);
	rpcrdma_ep_put(ep);
	memalloc_noreclaim_restore(reserves);
	memalloc_noio_restore(noio);
}

/**
 * rpcrdma_ep_create - an endpoint that is not connected to anything
 * @attr: its parameters
 *
 * Context: process, may sleep. The caller owns a reference. The endpoint
 * itself holds another until it is DEAD: it must be connected, adopted, or
 * closed.
 *
 * Return: the endpoint, or NULL when memory is short.
 */
struct rpcrdma_ep *rpcrdma_ep_create(const struct rpcrdma_ep_attr *attr)
{
	struct rpcrdma_ep *ep;

	ep = kzalloc_node(sizeof(*ep), GFP_KERNEL, attr->node);
	if (!ep)
		return NULL;
	kref_init(&ep->kref);
	kref_get(&ep->kref);
	spin_lock_init(&ep->lock);
	mutex_init(&ep->setup_lock);
	init_completion(&ep->cm_done);
	init_completion(&ep->gone);
	INIT_WORK(&ep->teardown, rpcrdma_ep_teardown);
	INIT_WORK(&ep->free, rpcrdma_ep_free_work);
	INIT_LIST_HEAD(&ep->all);
	INIT_LIST_HEAD(&ep->on_device);
	rpcrdma_sendq_init(&ep->sendq);
	ep->error_cqe.done = rpcrdma_error_wc;

	ep->attr = *attr;
	get_net(attr->net);
	ep->local.send_size = attr->inline_send;
	ep->local.recv_size = attr->inline_recv;
	ep->version = RPCRDMA_V1;
	ep->number = atomic_inc_return(&rpcrdma_ep_numbers);
	strscpy(ep->dev_name, "no device", sizeof(ep->dev_name));
	strscpy(ep->local_name, "-", sizeof(ep->local_name));
	return ep;
}

/* The device of the endpoint is known */
void rpcrdma_ep_read_limits(struct rpcrdma_ep *ep)
{
	const struct ib_device_attr *attrs = &ep->device->attrs;
	struct rpcrdma_device_limits *l = &ep->limits;
	bool frwr = attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS;

	l->max_qp_wr = attrs->max_qp_wr;
	l->max_cqe = attrs->max_cqe;
	l->max_send_sge = attrs->max_send_sge;
	l->max_recv_sge = attrs->max_recv_sge;
	l->max_sge_rd = attrs->max_sge_rd;
	l->max_mr = attrs->max_mr;
	l->max_rd_atom = attrs->max_qp_rd_atom;
	l->max_init_rd_atom = attrs->max_qp_init_rd_atom;
	l->max_frwr_pages = frwr ? attrs->max_fast_reg_page_list_len : 0;
	ep->sg_gaps = attrs->kernel_cap_flags & IBK_SG_GAPS_REG;
	/* R (RFC 8797, 4.1): can be invalidated, or invalidate. A device has both or neither */
	ep->local.remote_inv = frwr;
}

static int rpcrdma_ep_create_qp(struct rpcrdma_ep *ep)
{
	enum rpcrdma_rw_mrs mrs = RPCRDMA_RW_MRS_NONE;
	struct rpcrdma_rw_sizes rw;
	struct ib_qp_init_attr attr = {
		.event_handler	= rpcrdma_qp_event,
		.qp_context	= ep,
		.send_cq	= ep->send_cq,
		.recv_cq	= ep->recv_cq,
		.cap = {
			.max_send_wr	= ep->sizes.sq_depth,
			.max_recv_wr	= ep->sizes.rq_depth,
			.max_send_sge	= ep->sizes.send_sge,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.port_num	= ep->id->port_num,
	};
	int rc;

	if (ep->attr.responder) {
		/* As rdma_rw_can_use_mr(), but for ib_core.force_mr, which is for tests */
		if (rdma_protocol_iwarp(ep->device, ep->id->port_num))
			mrs = RPCRDMA_RW_MRS_ALL;
		else if (ep->device->attrs.max_sgl_rd)
			mrs = RPCRDMA_RW_MRS_LARGE;
		rw = rpcrdma_plan_rw(&ep->sizes, ep->attr.want.large_reads, mrs);
		ep->rw_ctxs = rw.ctxs;
		attr.cap.max_rdma_ctxs = rw.ctxs;
		attr.cap.max_send_wr = rw.send_wrs;
	}
	rc = rdma_create_qp(ep->id, ep->pd, &attr);
	ep->qp = ep->id->qp;
	return rc;
}

/*
 * Both have the same vector: an answer is often sent, and its Send completes, where
 * the message was received. ib_alloc_cq_any() would give all Receive CQs vectors of
 * one parity.
 */
static int rpcrdma_ep_create_cqs(struct rpcrdma_ep *ep)
{
	int vector = rpcrdma_device_vector(ep);
	struct ib_cq *cq;

	/* The responder's QP may get slots for MRs beyond sq_depth, but no
	 * more than sq_depth of them are ever in use. The Send Queue's lock
	 * leaves softirqs on.
	 */
	cq = ib_alloc_cq(ep->device, ep, ep->sizes.sq_depth, vector,
			 IB_POLL_WORKQUEUE);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ep->send_cq = cq;
	cq = ib_alloc_cq(ep->device, ep, ep->sizes.rq_depth, vector,
			 ep->attr.recv_poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ep->recv_cq = cq;
	return 0;
}

/*
 * All of the queues, or none. A device may support less than it advertises: mlx5
 * counts blocks of 64 bytes where we ask for WRs. So ask for fewer credits until it
 * agrees.
 */
static int rpcrdma_ep_create_queues(struct rpcrdma_ep *ep)
{
	struct rpcrdma_queue_want want = ep->attr.want;
	u32 planned;
	int rc;

	rc = rpcrdma_plan_queues(&ep->sizes, &want, &ep->limits);
	if (rc)
		return rc;
	planned = ep->sizes.credits;
	for (;;) {
		rc = rpcrdma_ep_create_cqs(ep);
		if (!rc)
			rc = rpcrdma_ep_create_qp(ep);
		if (rc)
			rpcrdma_ep_free_cqs(ep);
		if (rc != -ENOMEM && rc != -EINVAL)
			break;
		if (!rpcrdma_plan_fewer(&want, &ep->sizes, &ep->limits) ||
		    rpcrdma_plan_queues(&ep->sizes, &want, &ep->limits))
			break;
	}
	if (!rc && ep->sizes.credits < planned &&
	    rpcrdma_device_credits_changed(ep, ep->sizes.credits))
		rpcrdma_ep_warn(ep, "device supports only %u of %u credits",
				ep->sizes.credits, planned);
	return rc;
}

/*
 * Everything between a bound CM id and the handshake; the caller holds setup_lock.
 * After an error it fails the endpoint, and the teardown undoes the rest.
 */
int rpcrdma_ep_set_up(struct rpcrdma_ep *ep)
{
	struct ib_pd *pd;
	int rc;

	/*
	 * Of its own, so that the peer of no other connection can reach or invalidate
	 * an MR. A Responder has MRs as well, if its device needs them for RDMA Reads.
	 */
	pd = ib_alloc_pd(ep->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ep->pd = pd;
	rc = rpcrdma_ep_create_queues(ep);
	if (rc)
		return rc;
	rpcrdma_slots_init(&ep->sendq.slots, ep->sizes.sq_depth);
	rc = rpcrdma_recvq_create(ep);
	if (!rc && ep->attr.ops->setup)
		rc = ep->attr.ops->setup(ep);
	return rc ? : rpcrdma_recvq_start(ep);
}
