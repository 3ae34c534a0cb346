// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The client transport as sunrpc knows it: its class, its operations, its
 * addresses, and the life of a transport.
 */
#include <linux/module.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "xprt_rdma.h"

/* Timers, in jiffies */
#define BIND_TIMEOUT	(60 * HZ)
#define RECONNECT_MAX	(30 * HZ)
#define CONNECT_MIN	(10 * HZ)

/* Between two times that a transport gives memory back */
#define SHRINK_INTERVAL	(10 * HZ)

static struct shrinker *xprt_rdma_shrinker;
static LIST_HEAD(xprt_rdma_list);
static DEFINE_SPINLOCK(xprt_rdma_list_lock);

static const struct rpc_timeout xprt_rdma_timeout = {
	.to_initval	= 60 * HZ,
	.to_maxval	= 60 * HZ,
};

static void xprt_rdma_set_port(struct rpc_xprt *xprt, unsigned short port)
{
	rpc_set_port((struct sockaddr *)&xprt->addr, port);
	rpcrdma_rpc_set_port(xprt, port);
}

/* For /sys/kernel/sunrpc. The id of a live endpoint outlasts the lock. */
static int xprt_rdma_get_srcaddr(struct rpc_xprt *xprt, char *buf,
				 size_t buflen)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);
	int rc = -ENOTCONN;

	mutex_lock(&rx->lock);
	if (rx->ep && rpcrdma_ep_live(rx->ep))
		rc = scnprintf(buf, buflen, "%pISc",
			       &rx->ep->id->route.addr.src_addr);
	mutex_unlock(&rx->lock);
	return rc;
}

static void xprt_rdma_set_connect_timeout(struct rpc_xprt *xprt,
					  unsigned long connect_timeout,
					  unsigned long reconnect_timeout)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);

	spin_lock(&xprt->transport_lock);
	if (connect_timeout < xprt->connect_timeout) {
		rx->timeout = *xprt->timeout;
		rx->timeout.to_initval = max_t(unsigned long, connect_timeout,
					       CONNECT_MIN);
		rx->timeout.to_maxval = rx->timeout.to_initval;
		xprt->timeout = &rx->timeout;
		xprt->connect_timeout = connect_timeout;
	}
	if (reconnect_timeout < xprt->max_reconnect_timeout)
		xprt->max_reconnect_timeout = reconnect_timeout;
	spin_unlock(&xprt->transport_lock);
}

/*
 * While sunrpc counts a swap file it sends with PF_MEMALLOC. The client also
 * connects and allocates MRs with it.
 */
static int xprt_rdma_enable_swap(struct rpc_xprt *xprt)
{
	atomic_inc(&xprt->swapper);
	return 0;
}

static void xprt_rdma_disable_swap(struct rpc_xprt *xprt)
{
	/* A transport may have joined its client after the swap file did */
	atomic_dec_if_positive(&xprt->swapper);
}

/*
 * "rdma" and 27 columns that mountstats and nfsiostat know by their place.
 * Columns 1 (source port), 22, 26 and 27 have no meaning here and are 0.
 */
static void xprt_rdma_print_stats(struct rpc_xprt *xprt,
				  struct seq_file *seq)
{
	const struct xprt_rdma_stats *st = &to_xprt_rdma(xprt)->stats;
	unsigned long idle = 0;

	if (xprt_connected(xprt))
		idle = (jiffies - xprt->last_used) / HZ;

	seq_printf(seq, "\txprt:\trdma 0 %lu %lu %lu %lu %lu %lu %lu %llu %llu ",
		   xprt->stat.bind_count,
		   xprt->stat.connect_count,
		   xprt->stat.connect_time / HZ,
		   idle,
		   xprt->stat.sends,
		   xprt->stat.recvs,
		   xprt->stat.bad_xids,
		   xprt->stat.req_u,
		   xprt->stat.bklog_u);
	seq_printf(seq, "%lu %lu %lu %llu %llu %llu %llu %lu %lu %lu %lu ",
		   st->read_chunk_count,
		   st->write_chunk_count,
		   st->reply_chunk_count,
		   st->total_rdma_request,
		   st->total_rdma_reply,
		   st->pullup_copy_count,
		   st->fixup_copy_count,
		   st->hardway_register_count,
		   st->failed_marshal_count,
		   st->bad_reply_count,
		   st->nomsg_call_count);
	seq_printf(seq, "0 %lu %lu %lu 0 0\n",
		   st->mrs_orphaned,
		   st->mrs_allocated,
		   st->local_inv_needed);
}

/*
 * Give back MRs and slots that were not needed since the last time: of the free slots
 * those whose last Send was complete then, since the device might read the buffer of
 * another once more. A few stay.
 */
static void xprt_rdma_shrink(struct work_struct *work)
{
	struct xprt_rdma *rx = container_of(work, struct xprt_rdma, shrink.work);
	struct xprt_rdma_req *req, **at = &rx->free, *cold = NULL;
	LIST_HEAD(mrs);

	/* To swap is to free memory, which takes some */
	if (atomic_read(&rx->xprt.swapper))
		return;
	mutex_lock(&rx->lock);
	spin_lock(&rx->req_lock);
	while ((req = *at)) {
		if ((req->hdr.ep && req->chain.seq > rx->cold) ||
		    !atomic_add_unless(&rx->nr_slots, -1, XPRT_RDMA_FIRST_SLOTS)) {
			at = &req->next;
			continue;
		}
		*at = req->next;
		req->next = cold;
		cold = req;
	}
	spin_unlock(&rx->req_lock);
	rx->cold = rx->pool.ep ? rpcrdma_sendq_completed(rx->pool.ep) : 0;
	xprt_rdma_mrs_shrink(rx, &mrs);
	mutex_unlock(&rx->lock);

	xprt_rdma_mrs_free(&mrs);
	while ((req = cold)) {
		cold = req->next;
		xprt_rdma_req_destroy(req);
	}
}

/*
 * Memory is short. To free an MR a device may wait for its firmware, so
 * xprt_rdma_shrink() is for a worker, not for the task that looks for memory.
 */
static unsigned long xprt_rdma_shrink_count(struct shrinker *shrinker,
					    struct shrink_control *sc)
{
	struct xprt_rdma *rx;

	spin_lock(&xprt_rdma_list_lock);
	list_for_each_entry(rx, &xprt_rdma_list, list)
		queue_delayed_work(xprtiod_workqueue, &rx->shrink, SHRINK_INTERVAL);
	spin_unlock(&xprt_rdma_list_lock);
	return 0;
}

static unsigned long xprt_rdma_shrink_scan(struct shrinker *shrinker,
					   struct shrink_control *sc)
{
	return SHRINK_STOP;
}

static void xprt_rdma_free(struct rpc_xprt *xprt)
{
	struct xprt_rdma_req *req, *next;

	list_for_each_entry_safe(req, next, &to_xprt_rdma(xprt)->all, all)
		xprt_rdma_req_destroy(req);
	rpcrdma_rpc_free_addresses(xprt);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static void xprt_rdma_destroy(struct rpc_xprt *xprt)
{
	struct xprt_rdma *rx = to_xprt_rdma(xprt);

	spin_lock(&xprt_rdma_list_lock);
	list_del(&rx->list);
	spin_unlock(&xprt_rdma_list_lock);
	cancel_delayed_work_sync(&rx->shrink);
	cancel_delayed_work_sync(&rx->connect_worker);
	xprt_rdma_disconnect(rx);
	xprt_rdma_free(xprt);
}

static const struct rpc_xprt_ops xprt_rdma_ops = {
	.reserve_xprt		= xprt_reserve_xprt_cong,
	.release_xprt		= xprt_release_xprt_cong,
	.alloc_slot		= xprt_rdma_alloc_slot,
	.free_slot		= xprt_rdma_free_slot,
	.release_request	= xprt_rdma_release_request,
	.wait_for_reply_request	= xprt_wait_for_reply_request_def,
	.timer			= xprt_rdma_timer,
	.rpcbind		= rpcb_getport_async,
	.set_port		= xprt_rdma_set_port,
	.connect		= xprt_rdma_connect,
	.get_srcaddr		= xprt_rdma_get_srcaddr,
	.buf_alloc		= xprt_rdma_buf_alloc,
	.buf_free		= xprt_rdma_buf_free,
	.send_request		= xprt_rdma_send_request,
	.close			= xprt_rdma_close,
	.destroy		= xprt_rdma_destroy,
	.set_connect_timeout	= xprt_rdma_set_connect_timeout,
	.print_stats		= xprt_rdma_print_stats,
	.enable_swap		= xprt_rdma_enable_swap,
	.disable_swap		= xprt_rdma_disable_swap,
	.inject_disconnect	= xprt_rdma_inject_disconnect,
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	.bc_setup		= xprt_rdma_bc_setup,
	.bc_maxpayload		= xprt_rdma_bc_maxpayload,
	.bc_num_slots		= xprt_rdma_bc_num_slots,
	.bc_free_rqst		= xprt_rdma_bc_free_rqst,
	.bc_destroy		= xprt_rdma_bc_destroy,
#endif
};

static struct xprt_class xprt_rdma_class;

static void xprt_rdma_set_defaults(struct rpc_xprt *xprt,
				   const struct xprt_create *args)
{
	xprt->ops = &xprt_rdma_ops;
	xprt->xprt_class = &xprt_rdma_class;
	/* Side protocols look here for a protocol that the server speaks */
	xprt->prot = IPPROTO_TCP;
	xprt->timeout = &xprt_rdma_timeout;
	xprt->connect_timeout = xprt->timeout->to_initval;
	xprt->max_reconnect_timeout = RECONNECT_MAX;
	xprt->bind_timeout = BIND_TIMEOUT;
	xprt->idle_timeout = READ_ONCE(xprt_rdma_idle_timeout) * HZ;
	xprt->max_payload = XPRT_RDMA_PAYLOAD;
	xprt->addrlen = args->addrlen;
	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	if (rpc_get_port(args->dstaddr))
		xprt_set_bound(xprt);
}

static struct rpc_xprt *xprt_rdma_setup(struct xprt_create *args)
{
	struct xprt_rdma *rx;
	struct rpc_xprt *xprt;
	int rc;

	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	/* Until the transport is destroyed, which is long after this returns */
	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-EIO);
	xprt = xprt_alloc(args->net, sizeof(*rx), 0,
			  READ_ONCE(xprt_rdma_slots));
	if (!xprt) {
		module_put(THIS_MODULE);
		return ERR_PTR(-ENOMEM);
	}

	rx = to_xprt_rdma(xprt);
	xprt_rdma_set_defaults(xprt, args);
	xprt_rdma_connect_init(rx);
	xprt_rdma_mrs_init(rx);
	rc = xprt_rdma_reqs_create(rx);
	if (!rc)
		rc = rpcrdma_rpc_set_addresses(xprt);
	if (rc) {
		xprt_rdma_free(xprt);
		return ERR_PTR(rc);
	}
	INIT_DELAYED_WORK(&rx->shrink, xprt_rdma_shrink);
	spin_lock(&xprt_rdma_list_lock);
	list_add(&rx->list, &xprt_rdma_list);
	spin_unlock(&xprt_rdma_list_lock);
	return xprt;
}

static struct xprt_class xprt_rdma_class = {
	.list	= LIST_HEAD_INIT(xprt_rdma_class.list),
	.name	= "rdma",
	.owner	= THIS_MODULE,
	.ident	= XPRT_TRANSPORT_RDMA,
	.setup	= xprt_rdma_setup,
	.netid	= { "rdma", "rdma6", "" },
};

/**
 * xprt_rdma_init - register the client transport
 *
 * Return: 0; -EEXIST if another module is the "rdma" transport; -ENOMEM.
 */
int xprt_rdma_init(void)
{
	int rc;

	rc = xprt_rdma_sysctl_init();
	if (rc)
		return rc;
	rc = -ENOMEM;
	xprt_rdma_shrinker = shrinker_alloc(0, "rpcrdma-client");
	if (!xprt_rdma_shrinker)
		goto out_sysctl;
	xprt_rdma_shrinker->count_objects = xprt_rdma_shrink_count;
	xprt_rdma_shrinker->scan_objects = xprt_rdma_shrink_scan;
	shrinker_register(xprt_rdma_shrinker);
	rc = xprt_register_transport(&xprt_rdma_class);
	if (!rc)
		return 0;
	shrinker_free(xprt_rdma_shrinker);
out_sysctl:
	xprt_rdma_sysctl_exit();
	return rc;
}

/**
 * xprt_rdma_exit - unregister it
 *
 * Every transport is destroyed: each holds the module.
 */
void xprt_rdma_exit(void)
{
	xprt_unregister_transport(&xprt_rdma_class);
	shrinker_free(xprt_rdma_shrinker);
	xprt_rdma_sysctl_exit();
}
