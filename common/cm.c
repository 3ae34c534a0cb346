// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The handshake: events of the connection manager, connecting to a
 * Responder, and accepting a Requester.
 */

#include <rdma/ib_cm.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/trace.h"

/* Milliseconds for address and route resolution, each */
#define RPCRDMA_RESOLVE_TIMEOUT	5000

/* Retries of the transport layer below us, both in the range of 0..7 */
#define RPCRDMA_RETRY_COUNT	6
/*
 * A peer that keeps within its credits always finds a Receive; a few retries
 * forgive one that is slow to post, and bound the wait for one that never does.
 * The client chooses for both sides: on a server see rpcrdma_sendq_check().
 */
#define RPCRDMA_RNR_RETRY_COUNT	6

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
	if (!ep->attr.responder)
		rpcrdma_ep_read_private(ep, &event->param.conn);
	ep->created = jiffies;
	if (!rpcrdma_ep_change_state(ep, RPCRDMA_EP_LIVE))
		return;
	rpcrdma_sendq_open(ep, true);
	complete(&ep->cm_done);
	if (READ_ONCE(ep->qp_ended))
		rpcrdma_ep_fail(ep, -ECONNRESET, NULL);
}

static const char *rpcrdma_connect_reason(int rc)
{
	switch (rc) {
	case -ECONNREFUSED:
		return "connection refused: no listener on this port";
	case -ENODEV:
		return "no RDMA device leads to this address";
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return "no route to this address";
	default:
		return "setting up the connection failed";
	}
}

static void rpcrdma_ep_rejected(struct rpcrdma_ep *ep, int status)
{
	const char *reason = rdma_reject_msg(ep->id, status);
	int rc = -ECONNREFUSED;

	/* The CM's own words for the commonest cause tell a user nothing */
	if (rdma_cap_ib_cm(ep->id->device, ep->id->port_num)) {
		if (status == IB_CM_REJ_INVALID_SERVICE_ID)
			reason = rpcrdma_connect_reason(rc);
		else if (status == IB_CM_REJ_CONSUMER_DEFINED)
			reason = "peer rejected the connection";
		/*
		 * It has one with such a queue pair from before this host was restarted,
		 * and ends that now: the next attempt finds it gone.
		 */
		if (status == IB_CM_REJ_STALE_CONN) {
			reason = "peer still has a stale connection";
			rc = -ENOTCONN;
		}
	}
	rpcrdma_ep_fail(ep, rc, reason);
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
		rpcrdma_ep_fail(ep, -EHOSTUNREACH,
				"no RDMA device or neighbour leads to this address");
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		rpcrdma_ep_fail(ep, -EHOSTUNREACH, "no route to this address");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		rpcrdma_ep_fail(ep, -ENOTCONN, "connection handshake failed");
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		/*
		 * Of an established connection only a hint: the link address of the
		 * neighbour changed. Retries of the device find out what it means.
		 */
		if (!rpcrdma_ep_live(ep))
			rpcrdma_ep_fail(ep, -ETIMEDOUT, "peer does not answer");
		break;
	case RDMA_CM_EVENT_REJECTED:
		rpcrdma_ep_rejected(ep, event->status);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rpcrdma_ep_fail(ep, -ECONNRESET, NULL);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rpcrdma_ep_fail(ep, -EHOSTUNREACH,
				"the local address moved to another device");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rpcrdma_ep_fail(ep, -ENODEV, "the device is removed");
		break;
	default:
		break;
	}
	return 0;
}

/*
 * Waits for the next step of the handshake; the failure funnel wakes us too. An
 * attempt that is cancelled fails without a reason, so that it is not logged.
 */
static int rpcrdma_ep_wait_step(struct rpcrdma_ep *ep, unsigned long timeout,
				const char *reason)
{
	unsigned long end = jiffies + timeout;
	long left = timeout;

	while (!wait_for_completion_timeout(&ep->cm_done, min_t(long, left, HZ))) {
		if (ep->attr.ops->unwanted &&
		    ep->attr.ops->unwanted(ep->attr.owner)) {
			rpcrdma_ep_fail(ep, -ENOTCONN, NULL);
			break;
		}
		left = end - jiffies;
		if (left <= 0) {
			rpcrdma_ep_fail(ep, -ETIMEDOUT, reason);
			break;
		}
	}
	return rpcrdma_ep_failure(ep);
}

static int rpcrdma_ep_resolve(struct rpcrdma_ep *ep, const struct sockaddr *src,
			      const struct sockaddr *dst)
{
	unsigned long timeout = msecs_to_jiffies(RPCRDMA_RESOLVE_TIMEOUT) + HZ;
	struct rdma_cm_id *id;
	int rc;

	id = rdma_create_id(ep->attr.net, rpcrdma_ep_cm_event, ep, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ep->id = id;
	rc = rdma_resolve_addr(id, (struct sockaddr *)src,
			       (struct sockaddr *)dst, RPCRDMA_RESOLVE_TIMEOUT);
	if (rc)
		return rc;
	rc = rpcrdma_ep_wait_step(ep, timeout, "timeout while resolving the address");
	if (rc)
		return rc;
	rc = rpcrdma_device_attach(ep, id->device);
	if (rc)
		return rc;
	snprintf(ep->local_name, sizeof(ep->local_name), "%pISpc",
		 &id->route.addr.src_addr);
	rc = rdma_resolve_route(id, RPCRDMA_RESOLVE_TIMEOUT);
	if (rc)
		return rc;
	return rpcrdma_ep_wait_step(ep, timeout, "timeout while resolving the route");
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
		return rpcrdma_ep_failure(ep);
	rc = rdma_connect(ep->id, &param);
	if (rc)
		return rc;
	return rpcrdma_ep_wait_step(ep, ep->attr.connect_timeout,
				    "peer does not answer");
}

/**
 * rpcrdma_ep_connect - connect to a Responder
 * @ep: new Requester endpoint
 * @src: local address to use, or NULL
 * @dst: the peer's address and port
 *
 * Context: process, sleeps; bounded by the timeout of each step, and on iWARP by
 * the driver's. On error the teardown is under way: wait for it with @ep->gone.
 * Return: 0 when LIVE; -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -ENODEV, or
 * another negative errno.
 */
int rpcrdma_ep_connect(struct rpcrdma_ep *ep, const struct sockaddr *src,
		       const struct sockaddr *dst)
{
	int rc = -ENOTCONN;

	mutex_lock(&ep->setup_lock);
	snprintf(ep->peer_name, sizeof(ep->peer_name), "%pISpc", dst);
	if (!rpcrdma_ep_change_state(ep, RPCRDMA_EP_RESOLVING))
		goto out;
	rpcrdma_ep_register(ep);
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
		rpcrdma_ep_fail(ep, rc, rpcrdma_connect_reason(rc));
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
	snprintf(ep->peer_name, sizeof(ep->peer_name), "%pISpc",
		 &id->route.addr.dst_addr);
	snprintf(ep->local_name, sizeof(ep->local_name), "%pISpc",
		 &id->route.addr.src_addr);
	rpcrdma_ep_read_limits(ep);
	rpcrdma_ep_read_private(ep, param);
	/* The CM takes our point of view: we may initiate as many as the peer responds to */
	ep->initiator_depth = min_t(u32, param->initiator_depth,
				    ep->limits.max_init_rd_atom);
	ep->id = id;
	id->context = ep;
	id->event_handler = rpcrdma_ep_cm_event;
	rpcrdma_ep_register(ep);
	rpcrdma_ep_change_state(ep, RPCRDMA_EP_CONNECTING);
	/* Last: a removal may tear it down from here on. Its destruction of
	 * the id waits for the CM handler that we are in.
	 */
	rc = rpcrdma_device_attach(ep, id->device);
	if (rc) {
		rpcrdma_ep_unregister(ep);
		ep->id = NULL;
		ep->device = NULL;
		/* The teardown would have dropped these */
		put_net(ep->attr.net);
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
	rpcrdma_sendq_open(ep, true);
	rdma_lock_handler(ep->id);
	rc = rdma_accept(ep->id, &param);
	rdma_unlock_handler(ep->id);
out:
	if (rc)
		rpcrdma_ep_fail(ep, rc, "accepting the connection failed");
	mutex_unlock(&ep->setup_lock);
	return rc;
}
