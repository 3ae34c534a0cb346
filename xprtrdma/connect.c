// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connection of a transport: the connect worker makes it, close ends it.
 * A new connection begins when the old endpoint is dead, so that no request
 * has an MR, a mapping, or a Send on it.
 */

#include "xprt_rdma.h"

/*
 * No limits but the message's own: a Call with chunks must be told from a
 * Reply, and the bytes of a Reply's chunks are compared with those offered.
 */
static const struct rpcrdma_limits xprt_rdma_client_limits = {
	.vers_min		= RPCRDMA_V1,
	.vers_max		= RPCRDMA_V1,
	.max_read_segs		= U32_MAX,
	.max_write_segs		= U32_MAX,
	.max_write_chunks	= U32_MAX,
	.max_message		= U32_MAX,
};

/* Between attempts to connect: doubles from the first to the second */
#define RECONNECT_MIN	(5 * HZ)

/* xprt_destroy() waits for the send lock, which the worker holds */
static bool xprt_rdma_connect_unwanted(const void *owner)
{
	const struct xprt_rdma *rx = owner;

	return !kref_read(&rx->xprt.kref);
}

/*
 * Before the connect worker has set CONNECTED, it sees for itself that the
 * endpoint is down; afterwards sunrpc must hear it from us, unless it closes
 * the connection itself.
 */
static void xprt_rdma_client_closing(struct rpcrdma_ep *ep)
{
	struct xprt_rdma *rx = ep->attr.owner;

	/* An idle one may be closed without a word */
	if (READ_ONCE(rx->xprt.cong) && ep->error == -ECONNRESET && !ep->presumed)
		ep->presumed = "peer closed it with RPCs outstanding";
	/* Pairs with the one in xprt_rdma_connected() */
	smp_mb();
	if (ep->error && xprt_connected(&rx->xprt))
		xprt_force_disconnect(&rx->xprt);
}

static void xprt_rdma_client_release(struct rpcrdma_ep *ep)
{
	struct xprt_rdma *rx = ep->attr.owner;

	xprt_rdma_mrs_release(rx);
	xprt_rdma_reqs_release(rx, ep);
}

static void xprt_rdma_client_show(struct rpcrdma_ep *ep, struct seq_file *seq)
{
	const struct xprt_rdma *rx = ep->attr.owner;

	seq_printf(seq,
		   " granted=%u abandoned=%u slots=%d mrs=%u local_inv_needed=%lu bad_replies=%lu callbacks=%lu",
		   rx->granted, rx->abandoned, atomic_read(&rx->nr_slots),
		   rx->pool.kinds[0].count + rx->pool.kinds[1].count,
		   rx->stats.local_inv_needed, rx->stats.bad_reply_count,
		   rx->stats.bcall_count);
	xprt_rdma_version_show(rx, seq);
}

static const struct rpcrdma_ep_ops xprt_rdma_client_ops = {
	.side		= "client",
	.setup		= xprt_rdma_mrs_setup,
	.received	= xprt_rdma_received,
	.unwanted	= xprt_rdma_connect_unwanted,
	.closing	= xprt_rdma_client_closing,
	.release	= xprt_rdma_client_release,
	.show		= xprt_rdma_client_show,
};

static struct rpcrdma_ep *xprt_rdma_client_ep_create(struct xprt_rdma *rx)
{
	struct rpcrdma_ep_attr attr = {
		.ops = &xprt_rdma_client_ops,
		.owner = rx,
		.net = rx->xprt.xprt_net,
		.node = NUMA_NO_NODE,
		.want = {
			.credits = rx->xprt.max_reqs,
			.bc_credits = XPRT_RDMA_BC_CREDITS,
			.recv_batch = XPRT_RDMA_RECV_BATCH,
			.payload_pages = XPRT_RDMA_PAYLOAD_PAGES,
			.send_sge = 1,
			.use_frwr = true,
			.first_credits = XPRT_RDMA_FIRST_CREDITS,
		},
		.inline_send = min(XPRT_RDMA_SEND_BUF,
				   round_down(READ_ONCE(xprt_rdma_inline_write),
					      RPCRDMA_INLINE_UNIT)),
		.inline_recv = round_down(READ_ONCE(xprt_rdma_inline_read),
					  RPCRDMA_INLINE_UNIT),
		/*
		 * Version 2 requires callbacks (draft-cel-nfsv4-rpcrdma-
		 * version-two-00, 4.2), and a kernel may be without.
		 */
		.max_version = IS_ENABLED(CONFIG_SUNRPC_BACKCHANNEL) ?
			       READ_ONCE(xprt_rdma_max_version) : RPCRDMA_V1,
		.connect_timeout = READ_ONCE(xprt_rdma_connect_timeout) * HZ,
		.swapper = &rx->xprt.swapper,
		/* Plain spinlocks of sunrpc's are taken: never in softirq */
		.recv_poll = IB_POLL_WORKQUEUE,
		.last_error = rx->last_error,
		.last_reason = rx->last_reason,
	};

	return rpcrdma_ep_create(&attr);
}

static void xprt_rdma_set_ep(struct xprt_rdma *rx, struct rpcrdma_ep *ep)
{
	mutex_lock(&rx->lock);
	spin_lock(&rx->xprt.transport_lock);
	rx->ep = ep;
	spin_unlock(&rx->xprt.transport_lock);
	mutex_unlock(&rx->lock);
}

/*
 * Called with the send lock. Sleeps until the endpoint is dead: then no
 * request is on the wire and none has an MR.
 */
void xprt_rdma_disconnect(struct xprt_rdma *rx)
{
	struct rpcrdma_ep *ep = rx->ep;

	if (!ep)
		return;
	rpcrdma_ep_fail(ep, 0, NULL);
	wait_for_completion(&ep->gone);
	xprt_rdma_set_ep(rx, NULL);
	rpcrdma_ep_put(ep);
	/* Nothing is on the wire: no RPC keeps a credit */
	xprt_rdma_credits_reset(rx);
	xprt_rdma_version_end(rx);
}

static int xprt_rdma_try_connect(struct xprt_rdma *rx)
{
	struct rpcrdma_ep *ep;
	int rc;

	xprt_rdma_disconnect(rx);
	ep = xprt_rdma_client_ep_create(rx);
	if (!ep) {
		rx->last_reason = NULL;
		return -ENOMEM;
	}
	xprt_rdma_set_ep(rx, ep);
	rx->limits.vers_max = ep->attr.max_version;
	rc = rpcrdma_ep_connect(ep, NULL, (struct sockaddr *)&rx->xprt.addr);
	if (rc) {
		rx->last_reason = ep->reason;
		xprt_rdma_disconnect(rx);
		xprt_rdma_version_refused(rx, rc);
		return rc;
	}
	xprt_rdma_version_begin(rx, ep);
	return 0;
}

static void xprt_rdma_connected(struct xprt_rdma *rx)
{
	struct rpc_xprt *xprt = &rx->xprt;

	xprt->connect_cookie++;
	xprt->stat.connect_count++;
	xprt->stat.connect_time += (long)jiffies - xprt->stat.connect_start;
	xprt_set_connected(xprt);
	/* If it is down again, xprt_rdma_client_closing() or we tell sunrpc */
	smp_mb();
	if (!rpcrdma_ep_live(rx->ep))
		xprt_force_disconnect(xprt);
}

/*
 * Some errors end an RPC at once, soft or hard: in network namespaces of 7.2 also
 * -ENETUNREACH. That is right for the first connection of a mount: it reports
 * the error. A mount that exists, or makes further connections (nconnect), must
 * survive until the device or the server is back.
 */
static int xprt_rdma_connect_error(const struct xprt_rdma *rx, int rc)
{
	switch (rc) {
	case -ECONNREFUSED:
	case -ENOTCONN:
	case -ECONNRESET:
	case -ECONNABORTED:
	case -ENETDOWN:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EPIPE:
	case -EPROTO:
	case -EADDRINUSE:
	case -ENOBUFS:
		return rc;
	case -ENOMEM:
		return -ENOBUFS;
	case -ETIMEDOUT:
		/* Ends a soft-connect RPC at once, unlike -ETIMEDOUT */
		return -EHOSTUNREACH;
	}
	return rx->mounting ? rc : -EHOSTUNREACH;
}

/* Return: true if the back-off is not over. The worker polls each second. */
static bool xprt_rdma_connect_waits(struct xprt_rdma *rx)
{
	long left = rx->connect_at - jiffies;

	if (left <= 0 || xprt_rdma_connect_unwanted(rx))
		return false;
	queue_delayed_work(xprtiod_workqueue, &rx->connect_worker,
			   min_t(long, left, HZ));
	return true;
}

static void xprt_rdma_connect_worker(struct work_struct *work)
{
	struct xprt_rdma *rx =
		container_of(work, struct xprt_rdma, connect_worker.work);
	struct rpc_xprt *xprt = &rx->xprt;
	unsigned int reserves, nofs;
	int rc;

	if (xprt_rdma_connect_waits(rx))
		return;
	reserves = xprt_rdma_use_reserves(rx);
	nofs = memalloc_nofs_save();
	rc = xprt_rdma_connect_unwanted(rx) ? -ENOTCONN :
					      xprt_rdma_try_connect(rx);
	rx->last_error = rc;
	xprt_clear_connecting(xprt);
	if (rc) {
		/*
		 * Upon some errors a task ends the connection that it waited
		 * for. A task that runs late must not end the next one.
		 */
		xprt->connect_cookie++;
		rc = xprt_rdma_connect_error(rx, rc);
	} else {
		xprt_rdma_connected(rx);
		rc = -EAGAIN;
	}
	/* Before the lock is released: a task could send its Call twice */
	xprt_wake_pending_tasks(xprt, rc);
	xprt_unlock_connect(xprt, rx);
	memalloc_noreclaim_restore(reserves);
	memalloc_nofs_restore(nofs);
}

void xprt_rdma_connect_init(struct xprt_rdma *rx)
{
	mutex_init(&rx->lock);
	INIT_DELAYED_WORK(&rx->connect_worker, xprt_rdma_connect_worker);
	xprt_rdma_version_init(rx);
	rx->limits = xprt_rdma_client_limits;
	rx->inline_send = RPCRDMA_INLINE_MIN;
	rx->inline_recv = RPCRDMA_INLINE_MIN;
	rx->granted = 1;
	rx->receivable = XPRT_RDMA_FIRST_CREDITS;
}

/*
 * The send lock passes to the worker. There is no delay for a new transport
 * and after a conversation; else it begins at 5 s and doubles.
 */
void xprt_rdma_connect(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	unsigned long delay = xprt_reconnect_delay(xprt);

	WARN_ON_ONCE(!xprt_lock_connect(xprt, task, rx));
	/* The worker is not queued, and the only reader */
	rx->mounting = !xprt->stat.connect_count && RPC_IS_SOFTCONN(task);
	xprt_reconnect_backoff(xprt, RECONNECT_MIN);
	rx->connect_at = jiffies + delay;
	if (!xprt_rdma_connect_waits(rx))
		queue_delayed_work(xprtiod_workqueue, &rx->connect_worker, 0);
}

void xprt_rdma_close(struct rpc_xprt *xprt)
{
	xprt_rdma_disconnect(to_xprt_rdma(xprt));
	xprt->connect_cookie++;
	xprt_disconnect_done(xprt);
}

/*
 * An RPC timed out: end the connection that its Call was sent on, and no other
 * one. There is no keep-alive: a dead path shows here. A new connection sends
 * all pending RPCs again, and must not end for those that timed out on the one
 * before. The RPC layer learns of the end from the teardown. Called without the
 * send lock, in a worker of rpciod that other mounts need: it does not sleep.
 */
void xprt_rdma_timer(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	unsigned int cookie = task->tk_rqstp->rq_connect_cookie;

	spin_lock(&xprt->transport_lock);
	/* A new endpoint is not there before the cookie has changed */
	if (rx->ep && cookie == READ_ONCE(xprt->connect_cookie))
		rpcrdma_ep_fail(rx->ep, -ETIMEDOUT, "an RPC timed out");
	spin_unlock(&xprt->transport_lock);
}

/* For fault injection; called without the send lock */
void xprt_rdma_inject_disconnect(struct rpc_xprt *xprt)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);

	mutex_lock(&rx->lock);
	if (rx->ep)
		rpcrdma_ep_fail(rx->ep, -ECONNRESET, NULL);
	mutex_unlock(&rx->lock);
}
