// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of a connection: how it is set up, and the one teardown.
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

/* Milliseconds for address and route resolution, each */
#define RPCRDMA_RESOLVE_TIMEOUT	5000
/* How long a Connect Request may go unanswered */
#define RPCRDMA_CONNECT_TIMEOUT	(20 * HZ)

/* Retries of the transport layer below us, both in the range of 0..7 */
#define RPCRDMA_RETRY_COUNT	6
/*
 * A peer that keeps within its credits always finds a Receive; a few retries
 * forgive one that is slow to post, and bound the wait for one that never does.
 */
#define RPCRDMA_RNR_RETRY_COUNT	6

/*
 * One rdma_rw context per segment of a chunk. Where rdma_rw needs MRs it takes
 * them from a pool of this size per credit; Requesters use few segments.
 */
#define RPCRDMA_RW_CTXS_PER_CREDIT	4

static atomic_t rpcrdma_ep_numbers;

static void rpcrdma_error_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_ep_fail_wc(wc->qp->qp_context, wc);
}

static void rpcrdma_qp_event(struct ib_event *event, void *context)
{
	struct rpcrdma_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		rpcrdma_ep_fail_reason(ep, -ECONNRESET,
				       ib_event_msg(event->event));
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

	rpcrdma_recvq_destroy(ep);
	mutex_destroy(&ep->setup_lock);
	kfree(ep);
}

/* vfree() may sleep, and nfsd may drop its last reference under a spinlock */
static void rpcrdma_ep_free(struct kref *kref)
{
	struct rpcrdma_ep *ep = container_of(kref, struct rpcrdma_ep, kref);

	rpcrdma_queue_work(&ep->free);
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

/*
 * What was logged last. A mount makes several attempts, each with a transport
 * of its own; one line about the same peer and error in so many jiffies does.
 */
#define RPCRDMA_SAME_FAILURE	(30 * HZ)

static DEFINE_SPINLOCK(rpcrdma_logged_lock);
static struct {
	char peer_name[RPCRDMA_ADDRSTRLEN];
	int error;
	unsigned long when;
} rpcrdma_logged;

static bool rpcrdma_ep_is_news(const struct rpcrdma_ep *ep)
{
	bool same;

	spin_lock(&rpcrdma_logged_lock);
	same = rpcrdma_logged.error == ep->error &&
	       !strcmp(rpcrdma_logged.peer_name, ep->peer_name) &&
	       time_before(jiffies, rpcrdma_logged.when + RPCRDMA_SAME_FAILURE);
	rpcrdma_logged.error = ep->error;
	rpcrdma_logged.when = jiffies;
	strscpy(rpcrdma_logged.peer_name, ep->peer_name,
		sizeof(rpcrdma_logged.peer_name));
	spin_unlock(&rpcrdma_logged_lock);
	return !same;
}

static void rpcrdma_ep_log_failure(const struct rpcrdma_ep *ep)
{
	if (!ep->reason)
		return;
	if (ep->created)
		rpcrdma_ep_warn(ep, "connection lost: %s (%d)", ep->reason,
				ep->error);
	else if (rpcrdma_ep_is_news(ep))
		rpcrdma_ep_warn(ep, "connection failed: %s (%d)", ep->reason,
				ep->error);
}

/*
 * The one teardown. Each step is safe when its counterpart never happened, so
 * that a failed connect, a failed accept, a close and a device removal all
 * come here. Mirrors rpcrdma_ep_set_up() from the bottom to the top.
 */
static void rpcrdma_ep_teardown(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, teardown);

	/* Whoever connects or accepts has been woken and leaves soon */
	mutex_lock(&ep->setup_lock);
	rpcrdma_ep_log_failure(ep);
	rpcrdma_sendq_shut(ep);
	rpcrdma_recvq_shut(ep);
	ep->ops->closing(ep);

	if (ep->qp) {
		rdma_disconnect(ep->id);
		ib_drain_rq(ep->qp);
		ib_drain_sq(ep->qp);
	}
	rpcrdma_sendq_sweep(ep);
	ep->ops->release(ep);
	rpcrdma_recvq_unmap(ep);
	WARN_ONCE(atomic_read(&ep->maps) != atomic_read(&ep->unmaps),
		  "rpcrdma: %s: %d DMA mappings, %d undone\n", ep->ops->side,
		  atomic_read(&ep->maps), atomic_read(&ep->unmaps));

	if (ep->qp)
		rdma_destroy_qp(ep->id);
	ep->qp = NULL;
	if (ep->send_cq)
		ib_free_cq(ep->send_cq);
	if (ep->recv_cq)
		ib_free_cq(ep->recv_cq);
	rpcrdma_device_pd_put(ep);
	rpcrdma_status_del_ep(ep);
	rpcrdma_device_detach(ep);
	if (ep->id)
		rdma_destroy_id(ep->id);
	ep->id = NULL;
	mutex_unlock(&ep->setup_lock);

	rpcrdma_ep_change_state(ep, RPCRDMA_EP_DEAD);
	put_net(ep->net);
	complete_all(&ep->gone);
	ep->ops->dead(ep);
	rpcrdma_ep_put(ep);
}

/**
 * rpcrdma_ep_wait_dead - wait for the end of the teardown
 * @ep: endpoint that was closed or has failed
 *
 * Context: process, sleeps; not in a callback of @ep. Bounded by the drain,
 * which the device bounds.
 */
void rpcrdma_ep_wait_dead(struct rpcrdma_ep *ep)
{
	wait_for_completion(&ep->gone);
}

/**
 * rpcrdma_ep_create - an endpoint that is not connected to anything
 * @attr: what the side wants of it
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

	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
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
	rpcrdma_sendq_init(ep);
	ep->error_cqe.done = rpcrdma_error_wc;

	ep->ops = attr->ops;
	ep->owner = attr->owner;
	ep->responder = attr->responder;
	ep->net = get_net(attr->net);
	ep->want = attr->want;
	ep->send_poll = attr->send_poll;
	ep->recv_poll = attr->recv_poll;
	ep->last_error = attr->last_error;
	ep->local.send_size = attr->inline_send;
	ep->local.recv_size = attr->inline_recv;
	ep->number = atomic_inc_return(&rpcrdma_ep_numbers);
	strscpy(ep->dev_name, "no device", sizeof(ep->dev_name));
	strscpy(ep->local_name, "-", sizeof(ep->local_name));
	return ep;
}

static void rpcrdma_ep_read_limits(struct rpcrdma_ep *ep)
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
	ep->mr_type = attrs->kernel_cap_flags & IBK_SG_GAPS_REG ?
		      IB_MR_TYPE_SG_GAPS : IB_MR_TYPE_MEM_REG;
	/* RFC 8797, section 4.1: R tells that we can be invalidated, or can
	 * invalidate; both rest upon the same device capability.
	 */
	ep->local.remote_inv = frwr;
}

static int rpcrdma_ep_create_qp(struct rpcrdma_ep *ep)
{
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

	if (ep->responder) {
		/* rdma_rw adds a slot per context to those asked for, and
		 * those are in sq_depth already.
		 */
		attr.cap.max_rdma_ctxs = min(ep->sizes.credits *
					     RPCRDMA_RW_CTXS_PER_CREDIT,
					     ep->sizes.sq_depth - 1);
		attr.cap.max_send_wr -= attr.cap.max_rdma_ctxs;
	}
	rc = rdma_create_qp(ep->id, ep->pd, &attr);
	if (rc)
		return rc;
	ep->qp = ep->id->qp;
	return 0;
}

static int rpcrdma_ep_create_cqs(struct rpcrdma_ep *ep)
{
	struct ib_cq *cq;

	/* The responder's QP may get slots for MRs beyond sq_depth, but no
	 * more than sq_depth of them are ever in use.
	 */
	cq = ib_alloc_cq_any(ep->device, ep, ep->sizes.sq_depth,
			     ep->send_poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ep->send_cq = cq;
	cq = ib_alloc_cq_any(ep->device, ep, ep->sizes.rq_depth,
			     ep->recv_poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ep->recv_cq = cq;
	return 0;
}

/* Everything between a bound CM id and the handshake. Caller: setup_lock */
static int rpcrdma_ep_set_up(struct rpcrdma_ep *ep)
{
	int rc;

	rc = rpcrdma_plan_queues(&ep->sizes, &ep->want, &ep->limits);
	if (rc)
		return rc;
	rpcrdma_sendq_init(ep);
	rc = rpcrdma_device_pd_get(ep);
	if (rc)
		return rc;
	rc = rpcrdma_ep_create_cqs(ep);
	if (rc)
		return rc;
	rc = rpcrdma_ep_create_qp(ep);
	if (rc)
		return rc;
	rc = rpcrdma_recvq_create(ep);
	if (rc)
		return rc;
	if (ep->ops->setup) {
		rc = ep->ops->setup(ep);
		if (rc)
			return rc;
	}
	return rpcrdma_recvq_open(ep);
}

static void rpcrdma_ep_read_private(struct rpcrdma_ep *ep,
				    const struct rdma_conn_param *param)
{
	rpcrdma_cm_private_decode(&ep->peer, param->private_data,
				  param->private_data_len);
	rpcrdma_cm_private_combine(&ep->prop, &ep->local, &ep->peer);
}

/* RFC 8797, section 4 */
static void rpcrdma_ep_set_private(struct rpcrdma_ep *ep,
				   struct rdma_conn_param *param,
				   u8 buf[RPCRDMA_CMP_LEN])
{
	param->private_data = buf;
	param->private_data_len =
		rpcrdma_cm_private_encode(buf, RPCRDMA_CMP_LEN, &ep->local);
}

static void rpcrdma_ep_established(struct rpcrdma_ep *ep,
				   const struct rdma_cm_event *event)
{
	if (!ep->responder)
		rpcrdma_ep_read_private(ep, &event->param.conn);
	ep->created = jiffies;
	if (!rpcrdma_ep_change_state(ep, RPCRDMA_EP_LIVE))
		return;
	rpcrdma_sendq_open(ep);
	if (ep->ops->established)
		ep->ops->established(ep);
	complete(&ep->cm_done);
}

static void rpcrdma_ep_rejected(struct rpcrdma_ep *ep, int status)
{
	const char *reason = rdma_reject_msg(ep->id, status);

	/* The CM's own words for the commonest cause tell a user nothing */
	if (rdma_protocol_ib(ep->id->device, ep->id->port_num) ||
	    rdma_protocol_roce(ep->id->device, ep->id->port_num)) {
		if (status == IB_CM_REJ_INVALID_SERVICE_ID)
			reason = "nobody listens on this port";
		else if (status == IB_CM_REJ_CONSUMER_DEFINED)
			reason = "the peer refuses the connection";
	}
	rpcrdma_ep_fail_reason(ep, -ECONNREFUSED, reason);
}

/*
 * Never asks the CM to destroy the id: the teardown does. The endpoint is
 * there as long as the id is.
 */
static int rpcrdma_ep_cm_event(struct rdma_cm_id *id,
			       struct rdma_cm_event *event)
{
	struct rpcrdma_ep *ep = id->context;

	trace_rpcrdma_cm_event(ep, event->event, event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		complete(&ep->cm_done);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rpcrdma_ep_established(ep, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		rpcrdma_ep_fail_reason(ep, -EHOSTUNREACH,
				       "no RDMA device or neighbour leads to this address");
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		rpcrdma_ep_fail_reason(ep, -EHOSTUNREACH,
				       "no route to this address");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		rpcrdma_ep_fail_reason(ep, -ENOTCONN,
				       "the connection handshake failed");
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		rpcrdma_ep_fail_reason(ep, -ETIMEDOUT,
				       "the peer does not answer");
		break;
	case RDMA_CM_EVENT_REJECTED:
		rpcrdma_ep_rejected(ep, event->status);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rpcrdma_ep_fail(ep, -ECONNRESET);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rpcrdma_ep_fail_reason(ep, -ENETUNREACH,
				       "the local address moved to another device");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rpcrdma_ep_fail_reason(ep, -ENODEV, "the device is removed");
		break;
	default:
		break;
	}
	return 0;
}

/* Waits for the next step of the handshake; the failure funnel wakes us too */
static int rpcrdma_ep_wait_step(struct rpcrdma_ep *ep, unsigned long timeout)
{
	if (!wait_for_completion_timeout(&ep->cm_done, timeout))
		rpcrdma_ep_fail_reason(ep, -ETIMEDOUT,
				       "the peer does not answer");
	if (READ_ONCE(ep->state) >= RPCRDMA_EP_CLOSING)
		return ep->error ? : -ENOTCONN;
	return 0;
}

static int rpcrdma_ep_resolve(struct rpcrdma_ep *ep, const struct sockaddr *src,
			      const struct sockaddr *dst)
{
	unsigned long timeout = msecs_to_jiffies(RPCRDMA_RESOLVE_TIMEOUT) + HZ;
	struct rdma_cm_id *id;
	int rc;

	id = rdma_create_id(ep->net, rpcrdma_ep_cm_event, ep, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ep->id = id;
	rc = rdma_resolve_addr(id, (struct sockaddr *)src,
			       (struct sockaddr *)dst, RPCRDMA_RESOLVE_TIMEOUT);
	if (rc)
		return rc;
	rc = rpcrdma_ep_wait_step(ep, timeout);
	if (rc)
		return rc;
	rc = rpcrdma_device_attach(ep, id->device);
	if (rc)
		return rc;
	rpcrdma_format_addr(ep->local_name, sizeof(ep->local_name),
			    (struct sockaddr *)&id->route.addr.src_addr);
	rc = rdma_resolve_route(id, RPCRDMA_RESOLVE_TIMEOUT);
	if (rc)
		return rc;
	return rpcrdma_ep_wait_step(ep, timeout);
}

static int rpcrdma_ep_shake_hands(struct rpcrdma_ep *ep)
{
	u8 private[RPCRDMA_CMP_LEN];
	struct rdma_conn_param param = {
		/* The peer reads from us, never we from it */
		.responder_resources	= min_t(u32, ep->limits.max_rd_atom, U8_MAX),
		.initiator_depth	= 0,
		.retry_count		= RPCRDMA_RETRY_COUNT,
		.rnr_retry_count	= RPCRDMA_RNR_RETRY_COUNT,
	};
	int rc;

	rpcrdma_ep_set_private(ep, &param, private);
	if (!rpcrdma_ep_change_state(ep, RPCRDMA_EP_CONNECTING))
		return ep->error ? : -ENOTCONN;
	rc = rdma_connect(ep->id, &param);
	if (rc)
		return rc;
	return rpcrdma_ep_wait_step(ep, RPCRDMA_CONNECT_TIMEOUT);
}

/**
 * rpcrdma_ep_connect - connect to a Responder
 * @ep: new Requester endpoint
 * @src: local address to use, or NULL
 * @dst: the peer's address and port
 *
 * Context: process, sleeps; bounded by the timeouts of each step. On error the
 * teardown is under way: wait for it with rpcrdma_ep_wait_dead().
 *
 * Return: 0 when LIVE; -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -ENODEV, or
 * another negative errno.
 */
int rpcrdma_ep_connect(struct rpcrdma_ep *ep, const struct sockaddr *src,
		       const struct sockaddr *dst)
{
	int rc = -ENOTCONN;

	mutex_lock(&ep->setup_lock);
	rpcrdma_format_addr(ep->peer_name, sizeof(ep->peer_name), dst);
	if (!rpcrdma_ep_change_state(ep, RPCRDMA_EP_RESOLVING))
		goto out;
	rpcrdma_status_add_ep(ep);
	rc = rpcrdma_ep_resolve(ep, src, dst);
	if (rc)
		goto out;
	rpcrdma_ep_read_limits(ep);
	rc = rpcrdma_ep_set_up(ep);
	if (rc)
		goto out;
	rc = rpcrdma_ep_shake_hands(ep);
out:
	if (rc)
		rpcrdma_ep_fail_reason(ep, rc, rc == -ENODEV ?
				       "no RDMA device leads to this address" :
				       "setting up the connection failed");
	mutex_unlock(&ep->setup_lock);
	return rc;
}

/**
 * rpcrdma_ep_adopt - make a Connect Request's id an endpoint's own
 * @ep: new Responder endpoint
 * @id: the new id
 * @event: RDMA_CM_EVENT_CONNECT_REQUEST
 *
 * Context: the listener's CM handler, which must return 0 after success: from
 * then on only the teardown destroys @id. On failure @id stays the CM's, no
 * callback of @ep will come, and the caller drops its reference.
 *
 * Return: 0, or -ENODEV when the device is being removed.
 */
int rpcrdma_ep_adopt(struct rpcrdma_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	int rc;

	ep->device = id->device;
	rpcrdma_format_addr(ep->peer_name, sizeof(ep->peer_name),
			    (struct sockaddr *)&id->route.addr.dst_addr);
	rpcrdma_format_addr(ep->local_name, sizeof(ep->local_name),
			    (struct sockaddr *)&id->route.addr.src_addr);
	rpcrdma_ep_read_limits(ep);
	rpcrdma_ep_read_private(ep, param);
	/* The CM gives it from our point of view: what the peer can respond to
	 * is what we may initiate.
	 */
	ep->initiator_depth = min_t(u32, param->initiator_depth,
				    ep->limits.max_init_rd_atom);
	ep->id = id;
	id->context = ep;
	id->event_handler = rpcrdma_ep_cm_event;
	rpcrdma_status_add_ep(ep);
	rpcrdma_ep_change_state(ep, RPCRDMA_EP_CONNECTING);
	/* Last: a removal may tear it down from here on. Its destruction of
	 * the id waits for the CM handler that we are in.
	 */
	rc = rpcrdma_device_attach(ep, id->device);
	if (rc) {
		rpcrdma_status_del_ep(ep);
		ep->id = NULL;
		ep->device = NULL;
		/* What the teardown would have dropped */
		put_net(ep->net);
		rpcrdma_ep_put(ep);
	}
	return rc;
}

/**
 * rpcrdma_ep_accept - answer the Connect Request of an adopted endpoint
 * @ep: endpoint
 *
 * Messages may arrive, and replies be posted, before the connection is LIVE:
 * the peer's first message may overtake the last step of the handshake.
 *
 * Context: process, may sleep, but not for the peer. On error the teardown is
 * under way and will call rpcrdma_ep_ops.dead.
 *
 * Return: 0 or a negative errno.
 */
int rpcrdma_ep_accept(struct rpcrdma_ep *ep)
{
	u8 private[RPCRDMA_CMP_LEN];
	struct rdma_conn_param param = {
		.responder_resources	= 0,
		.initiator_depth	= ep->initiator_depth,
		.retry_count		= RPCRDMA_RETRY_COUNT,
		.rnr_retry_count	= RPCRDMA_RNR_RETRY_COUNT,
	};
	int rc = -ENOTCONN;

	mutex_lock(&ep->setup_lock);
	if (READ_ONCE(ep->state) != RPCRDMA_EP_CONNECTING)
		goto out;
	rc = rpcrdma_ep_set_up(ep);
	if (rc)
		goto out;
	rpcrdma_ep_set_private(ep, &param, private);
	rpcrdma_sendq_open(ep);
	rdma_lock_handler(ep->id);
	rc = rdma_accept(ep->id, &param);
	rdma_unlock_handler(ep->id);
out:
	if (rc)
		rpcrdma_ep_fail_reason(ep, rc, "accepting the connection failed");
	mutex_unlock(&ep->setup_lock);
	return rc;
}
