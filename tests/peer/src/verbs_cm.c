// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connection setup and teardown. See verbs.h. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"
#include "verbs_int.h"

static void take_private(struct vb_conn *c, const struct rdma_cm_event *event)
{
	/* The CM reports it from this side's view: as an initiator */
	c->peer_reads = event->param.conn.initiator_depth;
	c->peer_priv_len = event->param.conn.private_data_len;
	if (c->peer_priv_len)
		memcpy(c->peer_priv, event->param.conn.private_data,
		       c->peer_priv_len);
}

static int cm_expect(struct vb_conn *c, enum rdma_cm_event_type want, int ms)
{
	struct rdma_cm_event *event = vb_cm_wait(c->events, ms);
	int rc = 0;

	if (!event)
		return -1;
	if (event->event != want)
		rc = vb_fail("%s, status %d", rdma_event_str(event->event),
			     event->status);
	take_private(c, event);
	rdma_ack_cm_event(event);
	return rc;
}

static struct vb_conn *conn_new(void)
{
	struct vb_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->events = rdma_create_event_channel();
	if (c->events)
		return c;
	vb_fail_errno("rdma_create_event_channel");
	free(c);
	return NULL;
}

static int conn_cq(struct vb_conn *c)
{
	int depth = c->attr.recvs + c->attr.sends + 16;

	c->comps = ibv_create_comp_channel(c->id->verbs);
	if (!c->comps)
		return vb_fail_errno("ibv_create_comp_channel");
	c->cq = ibv_create_cq(c->id->verbs, depth, NULL, c->comps, 0);
	if (!c->cq)
		return vb_fail_errno("ibv_create_cq");
	if (ibv_req_notify_cq(c->cq, 0))
		return vb_fail_errno("ibv_req_notify_cq");
	return 0;
}

static int conn_qp(struct vb_conn *c)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.cap = {
			.max_send_wr = c->attr.sends,
			.max_recv_wr = c->attr.recvs ? c->attr.recvs : 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (rdma_create_qp(c->id, vb_pd(), &attr))
		return vb_fail_errno("rdma_create_qp");
	c->qp = c->id->qp;
	return 0;
}

static int conn_setup(struct vb_conn *c)
{
	const struct vb_attr *attr = &c->attr;

	if (conn_cq(c) || conn_qp(c))
		return -1;
	c->send_busy = calloc(attr->sends, 1);
	c->recv_busy = calloc(attr->recvs + 1, 1);
	c->send_mem = vb_alloc((size_t)attr->sends * attr->send_size, 0);
	if (!c->send_busy || !c->recv_busy || !c->send_mem)
		return -1;
	if (!attr->recvs)
		return 0;
	c->recv_mem = vb_alloc((size_t)attr->recvs * attr->recv_size, 0);
	if (!c->recv_mem)
		return -1;
	return vb_post_recvs(c, attr->recvs - attr->hold);
}

/*
 * librdmacm moves the queue pair of an id through the handshake. An
 * unestablished connection has none there, so this program does it.
 */
static int qp_ready(struct vb_conn *c)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RTR, IBV_QPS_RTS };

	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = { .qp_state = states[i] };
		int mask;

		if (rdma_init_qp_attr(c->id, &attr, &mask) ||
		    ibv_modify_qp(c->qp, &attr, mask))
			return vb_fail_errno("ibv_modify_qp");
	}
	return 0;
}

static struct rdma_conn_param conn_param(const struct vb_attr *attr)
{
	return (struct rdma_conn_param){
		.private_data		= attr->priv_len ? attr->priv : NULL,
		.private_data_len	= attr->priv_len,
		.responder_resources	= attr->responder_resources,
		.initiator_depth	= attr->initiator_depth,
		.retry_count		= attr->retry,
		.rnr_retry_count	= attr->rnr_retry,
	};
}

/* The CM sends the path's packet lifetime, which it derives from the timeout */
static int ask_ack_timeout(struct vb_conn *c)
{
	uint8_t timeout = c->attr.ack_timeout;

	if (!timeout)
		return 0;
	return rdma_set_option(c->id, RDMA_OPTION_ID,
			       RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			       sizeof(timeout));
}

static int resolve(struct vb_conn *c, const char *addr, int port, int ms)
{
	struct addrinfo *ai = NULL, hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	int64_t end = vb_now_ms() + ms;
	char service[8];
	int rc = -1;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(addr, service, &hints, &ai))
		return vb_fail("bad address %s", addr);
	if (rdma_create_id(c->events, &c->id, c, RDMA_PS_TCP))
		vb_fail_errno("rdma_create_id");
	else if (ask_ack_timeout(c))
		vb_fail_errno("rdma_set_option");
	else if (rdma_resolve_addr(c->id, NULL, ai->ai_addr, ms))
		vb_fail_errno("rdma_resolve_addr");
	else if (cm_expect(c, RDMA_CM_EVENT_ADDR_RESOLVED, vb_ms_left(end)))
		;
	else if (rdma_resolve_route(c->id, ms))
		vb_fail_errno("rdma_resolve_route");
	else
		rc = cm_expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED, vb_ms_left(end));
	freeaddrinfo(ai);
	return rc;
}

struct vb_conn *vb_connect_start(const char *addr, int port,
				 const struct vb_attr *attr, int ms)
{
	struct rdma_conn_param param = conn_param(attr);
	struct vb_conn *c;

	if (!vb_pd())
		return NULL;
	c = conn_new();
	if (!c)
		return NULL;
	c->attr = *attr;
	if (!resolve(c, addr, port, ms) && !conn_setup(c)) {
		if (attr->unestablished) {
			param.qp_num = c->qp->qp_num;
			c->id->qp = NULL;
		}
		if (!rdma_connect(c->id, &param))
			return c;
		vb_fail_errno("rdma_connect");
	}
	vb_free(c);
	return NULL;
}

int vb_connect_finish(struct vb_conn *c, int ms)
{
	if (c->attr.unestablished) {
		if (cm_expect(c, RDMA_CM_EVENT_CONNECT_RESPONSE, ms) || qp_ready(c))
			return -1;
	} else if (cm_expect(c, RDMA_CM_EVENT_ESTABLISHED, ms)) {
		return -1;
	}
	return 0;
}

struct vb_conn *vb_connect(const char *addr, int port,
			   const struct vb_attr *attr, int ms)
{
	int64_t end = vb_now_ms() + ms;
	struct vb_conn *c = vb_connect_start(addr, port, attr, ms);

	if (c && vb_connect_finish(c, vb_ms_left(end))) {
		vb_free(c);
		c = NULL;
	}
	return c;
}

struct vb_listener *vb_listen(const char *addr, int port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	struct vb_listener *l = calloc(1, sizeof(*l));

	if (!l || !vb_pd())
		return NULL;
	l->events = rdma_create_event_channel();
	if (inet_pton(AF_INET, addr, &sin.sin_addr) != 1)
		vb_fail("bad address %s", addr);
	else if (!l->events ||
		 rdma_create_id(l->events, &l->id, l, RDMA_PS_TCP))
		vb_fail_errno("rdma_create_id");
	else if (rdma_bind_addr(l->id, (struct sockaddr *)&sin))
		vb_fail_errno("rdma_bind_addr");
	else if (rdma_listen(l->id, 64))
		vb_fail_errno("rdma_listen");
	else
		return l;
	return NULL;
}

struct vb_conn *vb_next_request(struct vb_listener *l, int ms)
{
	struct rdma_cm_event *event = vb_cm_wait(l->events, ms);
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	struct vb_conn *c;

	if (!event)
		return NULL;
	c = conn_new();
	type = event->event;
	id = event->id;
	if (c && type == RDMA_CM_EVENT_CONNECT_REQUEST)
		take_private(c, event);
	rdma_ack_cm_event(event);
	if (!c)
		return NULL;
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST) {
		vb_fail("%s at a listener", rdma_event_str(type));
		vb_free(c);
		return NULL;
	}
	c->id = id;
	id->context = c;
	if (!rdma_migrate_id(id, c->events))
		return c;
	vb_fail_errno("rdma_migrate_id");
	vb_free(c);
	return NULL;
}

int vb_accept(struct vb_conn *c, const struct vb_attr *attr)
{
	struct rdma_conn_param param = conn_param(attr);

	c->attr = *attr;
	if (conn_setup(c))
		return -1;
	if (rdma_accept(c->id, &param))
		return vb_fail_errno("rdma_accept");
	return 0;
}

int vb_kill(struct vb_conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (ibv_modify_qp(c->qp, &attr, IBV_QP_STATE))
		return vb_fail_errno("ibv_modify_qp");
	return 0;
}

int vb_disconnect(struct vb_conn *c)
{
	if (rdma_disconnect(c->id))
		return vb_fail_errno("rdma_disconnect");
	return 0;
}

void vb_free(struct vb_conn *c)
{
	if (!c)
		return;
	/* A bound memory window holds the queue pair */
	while (c->nr_windows)
		ibv_dealloc_mw(c->windows[--c->nr_windows]);
	if (c->qp) {
		c->id->qp = c->qp;
		rdma_destroy_qp(c->id);
	}
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->comps)
		ibv_destroy_comp_channel(c->comps);
	if (c->id)
		rdma_destroy_id(c->id);
	if (c->events)
		rdma_destroy_event_channel(c->events);
	vb_dealloc(c->recv_mem);
	vb_dealloc(c->send_mem);
	free(c->send_busy);
	free(c->recv_busy);
	free(c);
}
