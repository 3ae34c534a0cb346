// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners, the transport class that creates them, and the server's init.
 */

#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "rpcrdma/sides.h"
#include "rpcrdma/status.h"
#include "svc_rdma.h"

#define SVC_RDMA_BACKLOG	10

/* Connect Requests that wait for a thread; more are as those for want of memory */
#define SVC_RDMA_MAX_PENDING	256

/*
 * How often a listener whose device went away looks for its address. That is one
 * look at a few lists, so there is no need to look less often as time passes.
 */
#define SVC_RDMA_RELISTEN	(2 * HZ)

/**
 * struct svc_rdma_listener - a listening address, as sunrpc sees it
 * @xprt: sunrpc's part
 * @lock: protects what follows
 * @id: CM id, or NULL while its device or address is gone
 * @dead: what was @id when it went away; whoever takes it destroys it
 * @lost: an id that went away before it became @id; only compared
 * @lost_why: for what reason
 * @why: @id went away, for this reason, and nobody was told yet
 * @closed: nfsd gave it up
 * @pending: connections that nobody accepted yet
 * @nr_pending: how many
 * @relisten: listens again when the device or address is back
 * @status: what users see of it
 */
struct svc_rdma_listener {
	struct svc_xprt xprt;
	spinlock_t lock; /* all that follows */
	struct rdma_cm_id *id;
	struct rdma_cm_id *dead;
	const struct rdma_cm_id *lost;
	const char *lost_why;
	const char *why;
	bool closed;
	struct list_head pending;
	unsigned int nr_pending;
	struct delayed_work relisten;
	struct rpcrdma_listener status;
};

static struct svc_xprt_class svc_rdma_class;

static struct svc_rdma_listener *svc_rdma_listener(struct svc_xprt *xprt)
{
	return container_of(xprt, struct svc_rdma_listener, xprt);
}

/*
 * Nonzero: the CM destroys @id. It says nothing to the client after -ENOMEM (but on iWARP),
 * so that the request comes again, when there may be room.
 */
static int connect_request(struct svc_rdma_listener *listener,
			   struct rdma_cm_id *id,
			   const struct rdma_cm_event *event)
{
	struct svc_rdma_conn *conn = NULL;
	/* The CM's own work waits meanwhile, also for a mount that has to reconnect */
	unsigned int noio = memalloc_noio_save();
	bool full = READ_ONCE(listener->nr_pending) >= SVC_RDMA_MAX_PENDING;

	if (!full)
		conn = svc_rdma_conn_create(&listener->xprt, &svc_rdma_class,
					    id, event);
	memalloc_noio_restore(noio);
	if (!conn) {
		atomic_inc(&listener->status.refused);
		pr_warn_ratelimited("listener %s on %s: a Connect Request is not answered: %s\n",
				    listener->status.name,
				    dev_name(&id->device->dev),
				    full ? "too many wait for a thread" :
				    "no memory, or the device is being removed");
		return -ENOMEM;
	}
	spin_lock(&listener->lock);
	list_add_tail(&conn->pending, &listener->pending);
	listener->nr_pending++;
	spin_unlock(&listener->lock);
	set_bit(XPT_CONN, &listener->xprt.xpt_flags);
	svc_xprt_enqueue(&listener->xprt);
	return 0;
}

/*
 * The device or the address that the listener is bound to goes away. The CM is not to
 * destroy the id: rdma_destroy_id() is what waits for this handler, whose code may be gone
 * with the last listener. The work does it, and says what there is to say.
 */
static void listener_lost(struct svc_rdma_listener *listener,
			  struct rdma_cm_id *id, const char *why)
{
	spin_lock(&listener->lock);
	if (!listener->closed && listener->id == id) {
		listener->id = NULL;
		listener->dead = id;
		listener->why = why;
		schedule_delayed_work(&listener->relisten, 0);
	} else if (!listener->id) {
		listener->lost = id;
		listener->lost_why = why;
	}
	spin_unlock(&listener->lock);
}

static void listener_destroy_dead(struct svc_rdma_listener *listener)
{
	struct rdma_cm_id *dead;

	spin_lock(&listener->lock);
	dead = listener->dead;
	listener->dead = NULL;
	spin_unlock(&listener->lock);
	if (dead)
		rdma_destroy_id(dead);
}

/*
 * Whoever got @id from listen_on() gives it to the events, and looks into it
 * no more. False: it was lost meanwhile, and is destroyed; listener_say_lost() is due.
 */
static bool listener_publish(struct svc_rdma_listener *listener,
			     struct rdma_cm_id *id)
{
	bool lost;

	spin_lock(&listener->lock);
	lost = listener->lost == id;
	listener->lost = NULL;
	if (lost)
		listener->why = listener->lost_why;
	else
		listener->id = id;
	spin_unlock(&listener->lock);
	if (lost)
		rdma_destroy_id(id);
	return !lost;
}

static int listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct svc_rdma_listener *listener = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return connect_request(listener, id, event);
	case RDMA_CM_EVENT_ADDR_CHANGE:
		listener_lost(listener, id,
			      "the address moved to another device");
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		listener_lost(listener, id, "the device is removed");
		return 0;
	default:
		return 0;
	}
}

static struct rdma_cm_id *listen_on(struct svc_rdma_listener *listener,
				    struct sockaddr *sap)
{
	struct rdma_cm_id *id;
	int rc = 0;

	/* That id is long gone; another may have its address */
	spin_lock(&listener->lock);
	listener->lost = NULL;
	spin_unlock(&listener->lock);
	id = rdma_create_id(listener->xprt.xpt_net, listener_event, listener,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	/* IPv4 and IPv6 listeners share a port */
	if (sap->sa_family == AF_INET6)
		rc = rdma_set_afonly(id, 1);
	if (!rc)
		rc = rdma_bind_addr(id, sap);
	if (!rc)
		rc = rdma_listen(id, SVC_RDMA_BACKLOG);
	if (!rc)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(rc);
}

static const char *listener_device(const struct rdma_cm_id *id)
{
	return id->device ? dev_name(&id->device->dev) : "*";
}

static void listener_say_lost(struct svc_rdma_listener *listener)
{
	const char *why;

	spin_lock(&listener->lock);
	why = listener->why;
	listener->why = NULL;
	spin_unlock(&listener->lock);
	if (!why)
		return;
	pr_warn_ratelimited("listener %s on %s: %s\n", listener->status.name,
			    listener->status.dev_name, why);
	rpcrdma_status_set_device(&listener->status, "-");
}

static bool listener_again(struct svc_rdma_listener *listener)
{
	struct rdma_cm_id *id;

	id = listen_on(listener, (struct sockaddr *)&listener->xprt.xpt_local);
	if (IS_ERR(id))
		return false;
	rpcrdma_status_set_device(&listener->status, listener_device(id));
	if (listener_publish(listener, id))
		return true;
	listener_say_lost(listener);
	return false;
}

static void listener_relisten(struct work_struct *work)
{
	struct svc_rdma_listener *listener =
		container_of(work, struct svc_rdma_listener, relisten.work);

	listener_destroy_dead(listener);
	listener_say_lost(listener);
	if (listener_again(listener))
		pr_info_ratelimited("listener %s on %s: listening again\n",
				    listener->status.name,
				    listener->status.dev_name);
	else
		schedule_delayed_work(&listener->relisten, SVC_RDMA_RELISTEN);
}

static struct svc_rdma_conn *next_pending(struct svc_rdma_listener *listener)
{
	struct svc_rdma_conn *conn;

	clear_bit(XPT_CONN, &listener->xprt.xpt_flags);
	spin_lock(&listener->lock);
	conn = list_first_entry_or_null(&listener->pending,
					struct svc_rdma_conn, pending);
	if (conn) {
		list_del_init(&conn->pending);
		listener->nr_pending--;
	}
	if (!list_empty(&listener->pending))
		set_bit(XPT_CONN, &listener->xprt.xpt_flags);
	spin_unlock(&listener->lock);
	return conn;
}

/* The connection's teardown, and who removes the device, wait for this */
static int accept(struct svc_rdma_conn *conn)
{
	unsigned int noio = memalloc_noio_save();
	int rc = rpcrdma_ep_accept(conn->ep);

	memalloc_noio_restore(noio);
	return rc;
}

/* Context: nfsd thread; sleeps for memory, not for the peer */
static struct svc_xprt *listener_accept(struct svc_xprt *xprt)
{
	struct svc_rdma_listener *listener = svc_rdma_listener(xprt);
	struct svc_rdma_conn *conn;

	conn = next_pending(listener);
	if (!conn)
		return NULL;
	if (accept(conn)) {
		atomic_inc(&listener->status.refused);
		svc_rdma_conn_abandon(conn);
		return NULL;
	}
	atomic_inc(&listener->status.accepted);
	return &conn->xprt;
}

/* Nobody will accept them; the listener has no id any more that could bring others */
static void listener_abandon(struct svc_rdma_listener *listener)
{
	struct svc_rdma_conn *conn, *next;
	LIST_HEAD(pending);

	list_splice_init(&listener->pending, &pending);
	list_for_each_entry_safe(conn, next, &pending, pending)
		svc_rdma_conn_abandon(conn);
}

/*
 * Once @closed is seen nobody schedules the work, and after it is cancelled
 * nobody sets @id. After rdma_destroy_id() no event comes any more.
 */
static void listener_detach(struct svc_xprt *xprt)
{
	struct svc_rdma_listener *listener = svc_rdma_listener(xprt);
	struct rdma_cm_id *id;

	spin_lock(&listener->lock);
	listener->closed = true;
	spin_unlock(&listener->lock);
	cancel_delayed_work_sync(&listener->relisten);

	spin_lock(&listener->lock);
	id = listener->id;
	listener->id = NULL;
	spin_unlock(&listener->lock);
	if (id)
		rdma_destroy_id(id);
	listener_destroy_dead(listener);
	rpcrdma_status_del_listener(&listener->status);
	listener_abandon(listener);
}

static void listener_free(struct svc_xprt *xprt)
{
	kfree(svc_rdma_listener(xprt));
}

static int listener_has_wspace(struct svc_xprt *xprt)
{
	return 1;
}

static void listener_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
}

static void listener_kill_temp(struct svc_xprt *xprt)
{
}

static void listener_set_status(struct svc_rdma_listener *listener,
				const struct rdma_cm_id *id)
{
	struct rpcrdma_listener *status = &listener->status;

	status->net = listener->xprt.xpt_net;
	rpcrdma_format_addr(status->name, sizeof(status->name),
			    (struct sockaddr *)&listener->xprt.xpt_local);
	rpcrdma_status_set_device(status, listener_device(id));
	rpcrdma_status_add_listener(status);
}

static struct svc_xprt *listener_create(struct svc_serv *serv, struct net *net,
					struct sockaddr *sap, int salen,
					int flags)
{
	struct svc_rdma_listener *listener;
	struct rdma_cm_id *id;

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
	INIT_DELAYED_WORK(&listener->relisten, listener_relisten);

	id = listen_on(listener, sap);
	if (IS_ERR(id)) {
		rpcrdma_format_addr(listener->status.name,
				    sizeof(listener->status.name), sap);
		pr_warn("cannot listen on %s: error %ld\n",
			listener->status.name, PTR_ERR(id));
		/* Where one device of several fails, others have listened before */
		listener_abandon(listener);
		/* The put drops a module reference, and so does the caller */
		__module_get(THIS_MODULE);
		svc_xprt_put(&listener->xprt);
		return ERR_CAST(id);
	}
	/* Port 0 stands for any: take the one that it became */
	sap = (struct sockaddr *)&id->route.addr.src_addr;
	svc_xprt_set_local(&listener->xprt, sap, svc_addr_len(sap));
	listener_set_status(listener, id);
	if (!listener_publish(listener, id)) {
		listener_say_lost(listener);
		schedule_delayed_work(&listener->relisten, SVC_RDMA_RELISTEN);
	}
	return &listener->xprt;
}

static const struct svc_xprt_ops listener_ops = {
	.xpo_create		= listener_create,
	.xpo_accept		= listener_accept,
	.xpo_release_ctxt	= listener_release_ctxt,
	.xpo_detach		= listener_detach,
	.xpo_free		= listener_free,
	.xpo_has_wspace		= listener_has_wspace,
	.xpo_kill_temp_xprt	= listener_kill_temp,
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

	rc = svc_rdma_sysctl_init();
	if (rc)
		return rc;
	rc = svc_rdma_bc_init();
	if (rc)
		goto out_sysctl;
	rc = svc_reg_xprt_class(&svc_rdma_class);
	if (rc)
		goto out_bc;
	return 0;

out_bc:
	svc_rdma_bc_exit();
out_sysctl:
	svc_rdma_sysctl_exit();
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
	svc_rdma_bc_exit();
	svc_rdma_conns_wait();
	svc_rdma_sysctl_exit();
}
