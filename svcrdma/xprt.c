// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection between sunrpc and the endpoint. Each of the two can go first:
 * sunrpc detaches and later drops its last reference, anywhere and possibly
 * under a spinlock; the endpoint is torn down by its own workqueue. Neither
 * waits for the other, so the memory has a reference count of its own.
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "svc_rdma.h"

/* Connections whose memory exists: the module stays until there are none */
static atomic_t nr_conns;

static void conn_put(struct svc_rdma_conn *conn)
{
	if (!refcount_dec_and_test(&conn->refs))
		return;
	svc_rdma_calls_free(conn);
	if (conn->ep)
		rpcrdma_ep_put(conn->ep);
	kfree(conn->queue.ring);
	percpu_ref_exit(&conn->use);
	kfree(conn);
	if (atomic_dec_and_test(&nr_conns)) {
		svc_rdma_pages_drain();
		wake_up_var(&nr_conns);
	}
}

/* Module exit: sunrpc's references are gone, teardowns may still run */
void svc_rdma_conns_wait(void)
{
	wait_var_event(&nr_conns, !atomic_read(&nr_conns));
}

static void ep_release(struct rpcrdma_ep *ep)
{
	struct svc_rdma_conn *conn = ep->attr.owner;
	struct svc_rdma_queue *queue = &conn->queue;
	struct svc_rdma_call *call;
	struct rpcrdma_recv *recv;

	percpu_ref_kill(&conn->use);
	wait_for_completion(&conn->unused);
	while (svc_rdma_queue_drop(conn, &call, &recv)) {
		if (recv)
			rpcrdma_recv_put(recv);
		else
			svc_rdma_call_put(call);
	}
	svc_rdma_sends_unmap(conn);
	svc_rdma_rws_free(conn);
	WARN_ON_ONCE(atomic_read(&conn->nr_rws) || queue->mrs); /* I11 */
	WARN_ON_ONCE(queue->reads.charged || !list_empty(&queue->waiting)); /* I16 */
	WARN_ON_ONCE(queue->replies.charged); /* I17 */
}

static void ep_dead(struct rpcrdma_ep *ep)
{
	svc_rdma_sends_free(ep->attr.owner);
	conn_put(ep->attr.owner);
}

static void ep_queued(struct rpcrdma_ep *ep)
{
	percpu_counter_inc(&svc_rdma_counters[SVC_RDMA_SQ_STARVE]);
}

static const struct rpcrdma_ep_ops ep_ops = {
	.side		= "server",
	.setup		= svc_rdma_queue_setup,
	.received	= svc_rdma_queue_received,
	.queued		= ep_queued,
	.closing	= svc_rdma_queue_close,
	.release	= ep_release,
	.dead		= ep_dead,
	.show		= svc_rdma_queue_show,
};

/* ->xpo_has_wspace, of listeners too */
int svc_rdma_has_wspace(struct svc_xprt *xprt)
{
	/*
	 * Credits limit the Calls of a client, svc_rdma_may_reply() the pages
	 * of Replies. Here Replies to callbacks would be held up, too.
	 */
	return 1;
}

/* sunrpc's last call: no completion touches @xprt afterwards */
static void conn_detach(struct svc_xprt *xprt)
{
	struct svc_rdma_conn *conn = svc_rdma_conn(xprt);

	svc_rdma_queue_detach(conn);
	rpcrdma_ep_fail(conn->ep, 0, NULL);
}

/* Context: wherever the last reference is dropped, under a spinlock too */
static void conn_free(struct svc_xprt *xprt)
{
	conn_put(svc_rdma_conn(xprt));
}

/* ->xpo_kill_temp_xprt, of listeners too */
void svc_rdma_kill_temp_xprt(struct svc_xprt *xprt)
{
}

static void __maybe_unused conn_secure_port(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}

static const struct svc_xprt_ops conn_ops = {
	.xpo_recvfrom		= svc_rdma_recvfrom,
	.xpo_sendto		= svc_rdma_sendto,
	.xpo_result_payload	= svc_rdma_result_payload,
	.xpo_release_ctxt	= svc_rdma_release_ctxt,
	.xpo_detach		= conn_detach,
	.xpo_free		= conn_free,
	.xpo_has_wspace		= svc_rdma_has_wspace,
	.xpo_kill_temp_xprt	= svc_rdma_kill_temp_xprt,
	RPCRDMA_XPO_SECURE_PORT(conn_secure_port)
};

static void conn_unused(struct percpu_ref *use)
{
	complete(&container_of(use, struct svc_rdma_conn, use)->unused);
}

static struct svc_rdma_conn *conn_alloc(struct svc_xprt *listener,
					struct ib_device *device)
{
	struct svc_rdma_conn *conn;

	conn = kzalloc_node(sizeof(*conn), GFP_KERNEL, ibdev_to_node(device));
	if (!conn)
		return NULL;
	if (percpu_ref_init(&conn->use, conn_unused, 0, GFP_KERNEL)) {
		kfree(conn);
		return NULL;
	}
	init_completion(&conn->unused);
	svc_xprt_init(listener->xpt_net, listener->xpt_class, &conn->xprt,
		      listener->xpt_server);
	conn->xprt.xpt_ops = &conn_ops;
	/* RFC 7530, section 3.1: NFSv4 wants congestion control below it */
	set_bit(XPT_CONG_CTRL, &conn->xprt.xpt_flags);
	/* One client: sunrpc keeps its ip_map, and need not look it up for each RPC */
	set_bit(XPT_CACHE_AUTH, &conn->xprt.xpt_flags);
	refcount_set(&conn->refs, 1);
	spin_lock_init(&conn->lock);
	svc_rdma_queue_init(conn);
	conn->credit_use.since = jiffies;
	conn->limits.vers_min = RPCRDMA_V1;
	conn->limits.vers_max = READ_ONCE(svc_rdma_max_version);
	conn->limits.max_read_segs = SVC_RDMA_MAX_SEGMENTS;
	conn->limits.max_write_segs = SVC_RDMA_MAX_SEGMENTS;
	conn->limits.max_write_chunks = SVC_RDMA_MAX_PAYLOADS;
	/* A Requester may offer more room than any Reply needs; what a Call
	 * may bring is bounded by nfsd's pages.
	 */
	conn->limits.max_message = 4 * RPCSVC_MAXPAYLOAD;
	init_llist_head(&conn->free_calls);
	init_llist_head(&conn->free_sends);
	atomic_inc(&nr_conns);
	return conn;
}

static void conn_set_addresses(struct svc_rdma_conn *conn,
			       struct rdma_cm_id *id)
{
	struct sockaddr *peer = (struct sockaddr *)&id->route.addr.dst_addr;
	struct sockaddr *local = (struct sockaddr *)&id->route.addr.src_addr;

	svc_xprt_set_local(&conn->xprt, local, svc_addr_len(local));
	svc_xprt_set_remote(&conn->xprt, peer, svc_addr_len(peer));
	/* The duplicate request cache must know a client that reconnects from another port */
	rpc_set_port((struct sockaddr *)&conn->xprt.xpt_remote, 0);
	if (rpc_cmp_addr(peer, local))
		set_bit(XPT_LOCAL, &conn->xprt.xpt_flags);
}

static struct rpcrdma_ep *conn_create_ep(struct svc_rdma_conn *conn,
					 struct ib_device *device)
{
	struct svc_serv *serv = conn->xprt.xpt_server;
	u32 pages = DIV_ROUND_UP(serv->sv_max_payload, PAGE_SIZE) + 1;
	u32 credits = READ_ONCE(svc_rdma_max_requests);
	u32 inline_size = READ_ONCE(svc_rdma_max_req_size);
	u32 sges = min3(device->attrs.max_send_sge, device->attrs.max_sge_rd,
			(int)SVC_RDMA_RW_SGES);
	struct rpcrdma_ep_attr attr = {
		.ops		= &ep_ops,
		.owner		= conn,
		.net		= conn->xprt.xpt_net,
		.node		= ibdev_to_node(device),
		.responder	= true,
		.want = {
			.credits	= credits,
			.bc_credits	= SVC_RDMA_BC_CREDITS,
			.recv_batch	= SVC_RDMA_RECV_BATCH,
			.payload_pages	= pages,
			.rw_wrs		= rpcrdma_plan_rw_wrs(pages, sges, credits),
			.send_sge	= SVC_RDMA_RW_SGES,
			.large_reads	= conn->queue.reads.max / pages + 1,
			.first_credits	= READ_ONCE(svc_rdma_first_requests),
		},
		/* A client takes as much if it needs to; a Send buffer has two pages anyway */
		.inline_send	= max(inline_size, RPCRDMA_INLINE_TWICE),
		.inline_recv	= inline_size,
		.max_version	= conn->limits.vers_max,
		.keepalive	= &svc_rdma_keepalive,
		/* All that is done there is to wake a thread */
		.recv_poll	= IB_POLL_SOFTIRQ,
	};

	return rpcrdma_ep_create(&attr);
}

/* sunrpc drops a module reference with the last one of a svc_xprt */
static void conn_drop(struct svc_rdma_conn *conn)
{
	__module_get(THIS_MODULE);
	svc_xprt_put(&conn->xprt);
}

/*
 * A connection for the Connect Request of @event, to be accepted or abandoned;
 * NULL: the Connect Request is to be rejected. Called by the listener's CM
 * handler. On success @id is the endpoint's.
 */
struct svc_rdma_conn *svc_rdma_conn_create(struct svc_xprt *listener,
					   struct rdma_cm_id *id,
					   const struct rdma_cm_event *event)
{
	struct svc_rdma_conn *conn;

	conn = conn_alloc(listener, id->device);
	if (!conn)
		return NULL;
	conn_set_addresses(conn, id);
	conn->ep = conn_create_ep(conn, id->device);
	if (!conn->ep)
		goto out_drop;

	/* The endpoint's reference, which ops.dead drops */
	refcount_inc(&conn->refs);
	if (rpcrdma_ep_adopt(conn->ep, id, event)) {
		conn_put(conn);
		goto out_drop;
	}
	conn->ep->initiator_depth = min_t(u32, conn->ep->initiator_depth,
					  svc_rdma_max_outbound_reads);
	return conn;

out_drop:
	conn_drop(conn);
	return NULL;
}

/* Ends a connection from svc_rdma_conn_create() that sunrpc does not know */
void svc_rdma_conn_abandon(struct svc_rdma_conn *conn)
{
	conn_detach(&conn->xprt);
	conn_drop(conn);
}
