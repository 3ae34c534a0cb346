// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners, the transport class that creates them, and the server's init.
 */

#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "svc_rdma.h"

/* Connect Requests that iwcm keeps for us; IB and RoCE do not count them */
#define SVC_RDMA_BACKLOG	256

/* Connect Requests that may wait for their set-up or a thread; others get no answer */
#define SVC_RDMA_MAX_PENDING	1024

/* Connections that are set up at a time: commands of a device overlap */
#define SVC_RDMA_SET_UPS	8

/* How often a listener that is down tries again */
#define SVC_RDMA_RELISTEN	(2 * HZ)

/**
 * enum svc_rdma_listener_state - where a listener stands
 * @SVC_RDMA_LISTENER_DOWN: its device or address is gone, or not there yet
 * @SVC_RDMA_LISTENER_STARTING: its CM id is being set up
 * @SVC_RDMA_LISTENER_UP: it listens
 * @SVC_RDMA_LISTENER_CLOSED: nfsd has closed it
 */
enum svc_rdma_listener_state {
	SVC_RDMA_LISTENER_DOWN,
	SVC_RDMA_LISTENER_STARTING,
	SVC_RDMA_LISTENER_UP,
	SVC_RDMA_LISTENER_CLOSED,
};

/* Which states may follow each state */
static const u8 svc_rdma_listener_next[] = {
	[SVC_RDMA_LISTENER_DOWN]	= BIT(SVC_RDMA_LISTENER_STARTING) |
					  BIT(SVC_RDMA_LISTENER_CLOSED),
	[SVC_RDMA_LISTENER_STARTING]	= BIT(SVC_RDMA_LISTENER_UP) |
					  BIT(SVC_RDMA_LISTENER_DOWN) |
					  BIT(SVC_RDMA_LISTENER_CLOSED),
	[SVC_RDMA_LISTENER_UP]		= BIT(SVC_RDMA_LISTENER_DOWN) |
					  BIT(SVC_RDMA_LISTENER_CLOSED),
	[SVC_RDMA_LISTENER_CLOSED]	= 0,
};

/**
 * struct svc_rdma_listener - a listening address, as sunrpc sees it
 * @xprt: sunrpc's part
 * @id: CM id, or NULL; private to creation, the work and the detach, which do
 *	not overlap
 * @nr_pending: connections that are being set up, or in @pending
 * @lock: protects the members that follow
 * @state: where it stands
 * @why: reason for which it went down, if that is not logged yet
 * @pending: connections that wait for a thread of nfsd
 * @relisten: listens again when the device or address is back
 * @status: its line in /proc/net/rpcrdma/listeners
 */
struct svc_rdma_listener {
	struct svc_xprt xprt;
	struct rdma_cm_id *id;
	atomic_t nr_pending;
	spinlock_t lock; /* all that follows */
	enum svc_rdma_listener_state state;
	const char *why;
	struct list_head pending;
	struct delayed_work relisten;
	struct rpcrdma_listener status;
};

static struct svc_xprt_class svc_rdma_class;
static struct workqueue_struct *set_up_wq;

static struct svc_rdma_listener *svc_rdma_listener(struct svc_xprt *xprt)
{
	return container_of(xprt, struct svc_rdma_listener, xprt);
}

/*
 * The teardown, and the removal of a device, wait for this. So reclaim must not
 * wait for a mount of this host, but it may compact: drivers may want queues of
 * some hundred KiB without a gap. If it fails sunrpc closes the connection.
 */
static void listener_set_up(struct work_struct *work)
{
	struct svc_rdma_conn *conn = container_of(work, typeof(*conn), set_up);
	struct svc_rdma_listener *listener = conn->listener;
	unsigned int nofs = memalloc_nofs_save();
	int rc = rpcrdma_ep_accept(conn->ep);

	memalloc_nofs_restore(nofs);
	atomic_inc(rc ? &listener->status.refused : &listener->status.accepted);
	spin_lock(&listener->lock);
	list_add_tail(&conn->pending, &listener->pending);
	spin_unlock(&listener->lock);
	set_bit(XPT_CONN, &listener->xprt.xpt_flags);
	svc_xprt_enqueue(&listener->xprt);
}

/*
 * Nonzero: the CM destroys @id. It says nothing to the client after -ENOMEM
 * (but on iWARP), so that the request comes again, when there may be room.
 */
static int connect_request(struct svc_rdma_listener *listener,
			   struct rdma_cm_id *id,
			   const struct rdma_cm_event *event)
{
	struct svc_rdma_conn *conn = NULL;
	/* The CM's work, which a mount may need to reconnect, waits */
	unsigned int noio = memalloc_noio_save();
	bool full = atomic_read(&listener->nr_pending) >= SVC_RDMA_MAX_PENDING;

	if (!full)
		conn = svc_rdma_conn_create(&listener->xprt, id, event);
	memalloc_noio_restore(noio);
	if (!conn) {
		atomic_inc(&listener->status.refused);
		pr_warn_ratelimited("listener %s on %s: a Connect Request is not answered: %s\n",
				    listener->status.name,
				    dev_name(&id->device->dev),
				    full ? "too many wait for a thread" :
				    "no memory, or the device is being added or removed");
		return -ENOMEM;
	}
	atomic_inc(&listener->nr_pending);
	conn->listener = listener;
	INIT_WORK(&conn->set_up, listener_set_up);
	queue_work(set_up_wq, &conn->set_up);
	return 0;
}

static bool listener_change_state(struct svc_rdma_listener *listener,
				  enum svc_rdma_listener_state next,
				  const char *why)
{
	enum svc_rdma_listener_state was;
	bool allowed;

	spin_lock(&listener->lock);
	was = listener->state;
	allowed = svc_rdma_listener_next[was] & BIT(next);
	if (allowed) {
		listener->state = next;
		listener->why = why;
		/* While it is set up its creator looks at the state */
		if (was == SVC_RDMA_LISTENER_UP &&
		    next == SVC_RDMA_LISTENER_DOWN)
			schedule_delayed_work(&listener->relisten, 0);
	}
	spin_unlock(&listener->lock);
	return allowed;
}

/*
 * If the device or the address goes away the CM is not to destroy the id: the
 * work does. It is rdma_destroy_id() that waits for this handler, whose code
 * may be gone with the last listener.
 */
static int listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct svc_rdma_listener *listener = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return connect_request(listener, id, event);
	if (event->event == RDMA_CM_EVENT_ADDR_CHANGE)
		listener_change_state(listener, SVC_RDMA_LISTENER_DOWN,
				      "the address moved to another device");
	else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		listener_change_state(listener, SVC_RDMA_LISTENER_DOWN,
				      "the device is removed");
	return 0;
}

/* On success there is an @id, but an event may have changed the state */
static int listener_start(struct svc_rdma_listener *listener,
			  struct sockaddr *sap)
{
	struct rdma_cm_id *id;
	int rc;

	if (!listener_change_state(listener, SVC_RDMA_LISTENER_STARTING, NULL))
		return -ESHUTDOWN;
	id = rdma_create_id(listener->xprt.xpt_net, listener_event, listener,
			    RDMA_PS_TCP, IB_QPT_RC);
	rc = PTR_ERR_OR_ZERO(id);
	/* IPv4 and IPv6 listeners share a port */
	if (!rc && sap->sa_family == AF_INET6)
		rc = rdma_set_afonly(id, 1);
	if (!rc)
		rc = rdma_bind_addr(id, sap);
	if (!rc)
		rc = rdma_listen(id, SVC_RDMA_BACKLOG);
	if (!rc) {
		listener->id = id;
		rpcrdma_proc_set_device(&listener->status, id->device ?
					dev_name(&id->device->dev) : "*");
		return 0;
	}
	if (!IS_ERR(id))
		rdma_destroy_id(id);
	listener_change_state(listener, SVC_RDMA_LISTENER_DOWN, NULL);
	return rc;
}

/* No event comes any more on return */
static void listener_stop(struct svc_rdma_listener *listener)
{
	if (listener->id)
		rdma_destroy_id(listener->id);
	listener->id = NULL;
}

/* The listener is down */
static void svc_rdma_relisten(struct work_struct *work)
{
	struct svc_rdma_listener *listener =
		container_of(work, struct svc_rdma_listener, relisten.work);
	struct rpcrdma_listener *status = &listener->status;
	unsigned long delay = SVC_RDMA_RELISTEN;
	const char *why;

	listener_stop(listener);
	spin_lock(&listener->lock);
	why = listener->why;
	listener->why = NULL;
	spin_unlock(&listener->lock);
	if (why) {
		pr_warn_ratelimited("listener %s on %s: %s\n", status->name,
				    status->dev_name, why);
		rpcrdma_proc_set_device(status, "-");
	}
	if (!listener_start(listener, (void *)&listener->xprt.xpt_local)) {
		if (listener_change_state(listener, SVC_RDMA_LISTENER_UP,
					  NULL)) {
			pr_info_ratelimited("listener %s on %s: listening again\n",
					    status->name, status->dev_name);
			return;
		}
		/* Down again: that is to be logged */
		delay = 0;
	}
	schedule_delayed_work(&listener->relisten, delay);
}

/* Context: nfsd thread */
static struct svc_xprt *listener_accept(struct svc_xprt *xprt)
{
	struct svc_rdma_listener *listener = svc_rdma_listener(xprt);
	struct svc_rdma_conn *conn;

	clear_bit(XPT_CONN, &xprt->xpt_flags);
	spin_lock(&listener->lock);
	conn = list_first_entry_or_null(&listener->pending,
					struct svc_rdma_conn, pending);
	if (conn) {
		list_del(&conn->pending);
		atomic_dec(&listener->nr_pending);
	}
	if (!list_empty(&listener->pending))
		set_bit(XPT_CONN, &xprt->xpt_flags);
	spin_unlock(&listener->lock);
	return conn ? &conn->xprt : NULL;
}

/* The listener has no id any more that could bring others */
static void listener_abandon(struct svc_rdma_listener *listener)
{
	struct svc_rdma_conn *conn, *next;

	flush_workqueue(set_up_wq);
	list_for_each_entry_safe(conn, next, &listener->pending, pending)
		svc_rdma_conn_abandon(conn);
}

/* Once it is closed no event schedules the work */
static void listener_detach(struct svc_xprt *xprt)
{
	struct svc_rdma_listener *listener = svc_rdma_listener(xprt);

	listener_change_state(listener, SVC_RDMA_LISTENER_CLOSED, NULL);
	cancel_delayed_work_sync(&listener->relisten);
	listener_stop(listener);
	rpcrdma_proc_del_listener(&listener->status);
	listener_abandon(listener);
}

static void listener_free(struct svc_xprt *xprt)
{
	kfree(svc_rdma_listener(xprt));
}

static struct svc_xprt *listener_create(struct svc_serv *serv, struct net *net,
					struct sockaddr *sap, int salen,
					int flags)
{
	struct svc_rdma_listener *listener;
	struct rpcrdma_listener *status;
	int rc;

	if (sap->sa_family != AF_INET && sap->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	svc_xprt_init(net, &svc_rdma_class, &listener->xprt, serv);
	set_bit(XPT_LISTENER, &listener->xprt.xpt_flags);
	strscpy(listener->xprt.xpt_remotebuf, "listener",
		sizeof(listener->xprt.xpt_remotebuf));
	spin_lock_init(&listener->lock);
	INIT_LIST_HEAD(&listener->pending);
	INIT_DELAYED_WORK(&listener->relisten, svc_rdma_relisten);

	status = &listener->status;
	rc = listener_start(listener, sap);
	if (rc) {
		snprintf(status->name, sizeof(status->name), "%pISpc", sap);
		pr_warn("cannot listen on %s: error %d\n", status->name, rc);
		/* Other devices may have listened before one fails */
		listener_abandon(listener);
		/* The put drops a module reference, and so does the caller */
		__module_get(THIS_MODULE);
		svc_xprt_put(&listener->xprt);
		return ERR_PTR(rc);
	}
	/* Port 0 stands for any: take the one that it became */
	sap = (struct sockaddr *)&listener->id->route.addr.src_addr;
	svc_xprt_set_local(&listener->xprt, sap, svc_addr_len(sap));
	status->net = net;
	snprintf(status->name, sizeof(status->name), "%pISpc",
		 &listener->xprt.xpt_local);
	rpcrdma_proc_add_listener(status);
	if (!listener_change_state(listener, SVC_RDMA_LISTENER_UP, NULL))
		schedule_delayed_work(&listener->relisten, 0);
	return &listener->xprt;
}

static const struct svc_xprt_ops listener_ops = {
	.xpo_create		= listener_create,
	.xpo_accept		= listener_accept,
	.xpo_release_ctxt	= svc_rdma_release_ctxt,
	.xpo_detach		= listener_detach,
	.xpo_free		= listener_free,
	.xpo_has_wspace		= svc_rdma_has_wspace,
	.xpo_kill_temp_xprt	= svc_rdma_kill_temp_xprt,
};

static struct svc_xprt_class svc_rdma_class = {
	.xcl_name		= "rdma",
	.xcl_owner		= THIS_MODULE,
	.xcl_ops		= &listener_ops,
	.xcl_max_payload	= RPCSVC_MAXPAYLOAD,
	.xcl_ident		= XPRT_TRANSPORT_RDMA,
};

/**
 * svc_rdma_init - make the server transport known to sunrpc
 *
 * Context: module init.
 *
 * Return: 0 or a negative errno: -EEXIST when another module has the name.
 */
int svc_rdma_init(void)
{
	int rc;

	set_up_wq = alloc_workqueue("rpcrdma_set_up", WQ_MEM_RECLAIM | WQ_UNBOUND,
				    SVC_RDMA_SET_UPS);
	if (!set_up_wq)
		return -ENOMEM;
	rc = svc_rdma_pools_alloc(GFP_KERNEL);
	if (rc)
		goto out_wq;
	rc = svc_rdma_sysctl_init();
	if (rc)
		goto out_pools;
	rc = xprt_register_transport(&svc_rdma_bc_class);
	if (rc)
		goto out_sysctl;
	rc = svc_reg_xprt_class(&svc_rdma_class);
	if (rc)
		goto out_bc;
	return 0;

out_bc:
	xprt_unregister_transport(&svc_rdma_bc_class);
out_sysctl:
	svc_rdma_sysctl_exit();
out_pools:
	svc_rdma_pools_free();
out_wq:
	destroy_workqueue(set_up_wq);
	return rc;
}

/**
 * svc_rdma_exit - undo svc_rdma_init()
 *
 * Context: module exit. Waits for connections being torn down.
 */
void svc_rdma_exit(void)
{
	svc_unreg_xprt_class(&svc_rdma_class);
	xprt_unregister_transport(&svc_rdma_bc_class);
	svc_rdma_conns_wait();
	/* The last teardown may still give back the pages of the pools */
	flush_workqueue(rpcrdma_wq);
	svc_rdma_sysctl_exit();
	svc_rdma_pools_free();
	destroy_workqueue(set_up_wq);
}
