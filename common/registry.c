// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The records of all RDMA devices, connections and listeners.
 *
 * A device has a list of its connections. When a device is removed, every
 * connection on it fails, and the removal waits until they have released it. It
 * never waits for references that sunrpc holds.
 *
 * /proc/net/rpcrdma/{connections,listeners}, in each network namespace, shows one
 * line per object, with key=value fields. New fields are only ever appended.
 */

#include <linux/jiffies.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>

#include "rpcrdma/endpoint.h"

/**
 * struct rpcrdma_device - one RDMA device
 * @device: the device
 * @list: in rpcrdma_devices
 * @eps: endpoints that use it
 * @gone: being removed: no endpoint may join
 * @idle: completed when it is @gone and the last endpoint has left
 * @vectors: counts connections, to spread them over completion vectors
 * @credits: how few the log last said that it allows, to a Requester and to a Responder
 */
struct rpcrdma_device {
	struct ib_device *device;
	struct list_head list;
	struct list_head eps;
	bool gone;
	struct completion idle;
	atomic_t vectors;
	u32 credits[2];
};

/* Protects the list and everything in struct rpcrdma_device but @vectors */
static DEFINE_MUTEX(rpcrdma_devices_lock);
static LIST_HEAD(rpcrdma_devices);

static int rpcrdma_device_add(struct ib_device *device)
{
	struct rpcrdma_device *rdev;

	rdev = kzalloc(sizeof(*rdev), GFP_KERNEL);
	if (!rdev)
		goto out_unused;
	rdev->device = device;
	INIT_LIST_HEAD(&rdev->eps);
	init_completion(&rdev->idle);
	ib_set_client_data(device, &rpcrdma_ib_client, rdev);

	mutex_lock(&rpcrdma_devices_lock);
	list_add_tail(&rdev->list, &rpcrdma_devices);
	mutex_unlock(&rpcrdma_devices_lock);
	return 0;

out_unused:
	pr_warn("device %s is not used: out of memory\n", device->name);
	return -ENOMEM;
}

static void rpcrdma_device_remove(struct ib_device *device, void *data)
{
	struct rpcrdma_device *rdev = data;
	struct rpcrdma_ep *ep;

	mutex_lock(&rpcrdma_devices_lock);
	list_del(&rdev->list);
	rdev->gone = true;
	list_for_each_entry(ep, &rdev->eps, on_device)
		rpcrdma_ep_fail(ep, -ENODEV, "the device is removed");
	if (list_empty(&rdev->eps))
		complete(&rdev->idle);
	mutex_unlock(&rpcrdma_devices_lock);

	wait_for_completion(&rdev->idle);
	WARN_ON_ONCE(!list_empty(&rdev->eps)); /* I14 */
	kfree(rdev);
}

struct ib_client rpcrdma_ib_client = {
	.name	= "rpcrdma",
	.add	= rpcrdma_device_add,
	.remove	= rpcrdma_device_remove,
};

/*
 * An endpoint starts to use a device, which does not go away before
 * rpcrdma_device_detach() without the endpoint having failed first.
 * Return: 0, or -ENODEV if the device is being removed.
 */
int rpcrdma_device_attach(struct rpcrdma_ep *ep, struct ib_device *device)
{
	struct rpcrdma_device *rdev;
	int rc = -ENODEV;

	mutex_lock(&rpcrdma_devices_lock);
	list_for_each_entry(rdev, &rpcrdma_devices, list) {
		if (rdev->device != device)
			continue;
		list_add_tail(&ep->on_device, &rdev->eps);
		ep->rdev = rdev;
		strscpy(ep->dev_name, device->name, sizeof(ep->dev_name));
		ep->device = device;
		if (device->ops.driver_id == RDMA_DRIVER_RXE) {
			ep->quirks = RPCRDMA_QUIRK_EARLY_READ_COMPLETION |
				     RPCRDMA_QUIRK_STRAY_ACCESS_ERROR;
			/* From a thread a softirq is one more switch */
			if (RPCRDMA_RXE_COMPLETES_IN_THREAD)
				ep->attr.recv_poll = IB_POLL_WORKQUEUE;
		}
		rc = 0;
		break;
	}
	mutex_unlock(&rpcrdma_devices_lock);
	return rc;
}

/*
 * All verbs objects of the endpoint are destroyed, its CM id excepted, which the
 * RDMA CM itself looks after. Nothing happens if it is not attached.
 */
void rpcrdma_device_detach(struct rpcrdma_ep *ep)
{
	struct rpcrdma_device *rdev = ep->rdev;

	if (!rdev)
		return;
	mutex_lock(&rpcrdma_devices_lock);
	list_del_init(&ep->on_device);
	ep->rdev = NULL;
	ep->device = NULL;
	if (rdev->gone && list_empty(&rdev->eps))
		complete(&rdev->idle);
	mutex_unlock(&rpcrdma_devices_lock);
}

/*
 * The completion vector of a connection. Those of a device get each in turn, so
 * that as many CPUs as it interrupts share the work of many connections.
 */
int rpcrdma_device_vector(struct rpcrdma_ep *ep)
{
	u32 vectors = min_t(u32, ep->device->num_comp_vectors,
			    num_online_cpus());

	return (u32)atomic_inc_return(&ep->rdev->vectors) % max(vectors, 1U);
}

/*
 * Does the device support another number of credits than it did when the log last
 * said so? Clients may connect often, and many clients may.
 */
bool rpcrdma_device_credits_changed(struct rpcrdma_ep *ep, u32 credits)
{
	u32 *said = &ep->rdev->credits[ep->attr.responder];
	bool changed;

	mutex_lock(&rpcrdma_devices_lock);
	changed = *said != credits;
	*said = credits;
	mutex_unlock(&rpcrdma_devices_lock);
	return changed;
}

/* All endpoints, of every device and of none yet */
static DEFINE_MUTEX(rpcrdma_eps_lock);
static LIST_HEAD(rpcrdma_eps);

/* The names of @ep are known */
void rpcrdma_ep_register(struct rpcrdma_ep *ep)
{
	mutex_lock(&rpcrdma_eps_lock);
	list_add_tail(&ep->all, &rpcrdma_eps);
	mutex_unlock(&rpcrdma_eps_lock);
}

/* Possibly never registered. On return rpcrdma_ep_walk() is done with it */
void rpcrdma_ep_unregister(struct rpcrdma_ep *ep)
{
	mutex_lock(&rpcrdma_eps_lock);
	list_del_init(&ep->all);
	mutex_unlock(&rpcrdma_eps_lock);
}

/* @fn must not wait for the end of an endpoint */
void rpcrdma_ep_walk(void (*fn)(struct rpcrdma_ep *ep, void *arg), void *arg)
{
	struct rpcrdma_ep *ep;

	mutex_lock(&rpcrdma_eps_lock);
	list_for_each_entry(ep, &rpcrdma_eps, all)
		fn(ep, arg);
	mutex_unlock(&rpcrdma_eps_lock);
}

/* Held while a line is shown, so that listeners stay */
static DEFINE_MUTEX(rpcrdma_listeners_lock);
static LIST_HEAD(rpcrdma_listeners);

/**
 * rpcrdma_proc_add_listener - show a listener
 * @listener: filled in by the caller, and kept by it
 */
void rpcrdma_proc_add_listener(struct rpcrdma_listener *listener)
{
	mutex_lock(&rpcrdma_listeners_lock);
	list_add_tail(&listener->list, &rpcrdma_listeners);
	mutex_unlock(&rpcrdma_listeners_lock);
}

/**
 * rpcrdma_proc_del_listener - stop showing a listener
 * @listener: was given to rpcrdma_proc_add_listener()
 */
void rpcrdma_proc_del_listener(struct rpcrdma_listener *listener)
{
	mutex_lock(&rpcrdma_listeners_lock);
	list_del_init(&listener->list);
	mutex_unlock(&rpcrdma_listeners_lock);
}

/**
 * rpcrdma_proc_set_device - show another device with a listener
 * @listener: listener, shown or not; its owner does not do this twice at a time
 * @name: the device's, "*" for any, "-" for none at the moment
 */
void rpcrdma_proc_set_device(struct rpcrdma_listener *listener,
			     const char *name)
{
	mutex_lock(&rpcrdma_listeners_lock);
	strscpy(listener->dev_name, name, sizeof(listener->dev_name));
	mutex_unlock(&rpcrdma_listeners_lock);
}

static void rpcrdma_show_ep(struct rpcrdma_ep *ep, void *arg)
{
	const struct rpcrdma_ep_counters *c = &ep->count;
	struct seq_file *seq = arg;

	if (!net_eq(ep->attr.net, seq_file_single_net(seq)))
		return;
	seq_printf(seq, "id=%u side=%s state=%s local=%s peer=%s device=%s",
		   ep->number, ep->attr.ops->side, rpcrdma_ep_state_names[ep->state],
		   ep->local_name, ep->peer_name,
		   READ_ONCE(ep->device) ? ep->dev_name : "-");
	seq_printf(seq, " version=%u private_data=%s inline_send=%u inline_recv=%u remote_inv=%s",
		   READ_ONCE(ep->version), ep->peer.present ? "yes" : "no",
		   ep->prop.inline_send, ep->prop.inline_recv,
		   ep->prop.remote_inv ? "yes" : "no");
	seq_printf(seq, " credits=%u receivable=%u bc_credits=%u sq_depth=%u rq_depth=%u send_sge=%u mr_pages=%u",
		   ep->sizes.credits, ep->receivable, ep->sizes.bc_credits,
		   ep->sizes.sq_depth, ep->sizes.rq_depth,
		   ep->sizes.send_sge, ep->sizes.mr_pages);
	seq_printf(seq, " age=%lu recvs=%llu recv_octets=%llu doorbells=%llu sends=%llu sends_inv=%llu reads=%llu writes=%llu reg_mrs=%llu local_invs=%llu remote_invs=%llu sendq_waits=%llu bad_headers=%llu",
		   ep->created ? (jiffies - ep->created) / HZ : 0,
		   c->recvs, c->recv_octets, c->doorbells,
		   c->wrs[RPCRDMA_WR_SEND], c->wrs[RPCRDMA_WR_SEND_INV],
		   c->wrs[RPCRDMA_WR_READ], c->wrs[RPCRDMA_WR_WRITE],
		   c->wrs[RPCRDMA_WR_REG_MR], c->wrs[RPCRDMA_WR_LOCAL_INV],
		   c->remote_invs, c->sendq_waits, c->bad_headers);
	if (ep->attr.ops->show)
		ep->attr.ops->show(ep, seq);
	seq_putc(seq, '\n');
}

static int rpcrdma_connections_show(struct seq_file *seq, void *unused)
{
	rpcrdma_ep_walk(rpcrdma_show_ep, seq);
	return 0;
}

static int rpcrdma_listeners_show(struct seq_file *seq, void *unused)
{
	struct net *net = seq_file_single_net(seq);
	struct rpcrdma_listener *l;

	mutex_lock(&rpcrdma_listeners_lock);
	list_for_each_entry(l, &rpcrdma_listeners, list) {
		if (!net_eq(l->net, net))
			continue;
		seq_printf(seq, "address=%s device=%s accepted=%d refused=%d\n",
			   l->name, l->dev_name, atomic_read(&l->accepted),
			   atomic_read(&l->refused));
	}
	mutex_unlock(&rpcrdma_listeners_lock);
	return 0;
}

static int __net_init rpcrdma_proc_net_init(struct net *net)
{
	struct proc_dir_entry *dir;

	dir = proc_net_mkdir(net, "rpcrdma", net->proc_net);
	if (!dir)
		return -ENOMEM;
	if (proc_create_net_single("connections", 0444, dir,
				   rpcrdma_connections_show, NULL) &&
	    proc_create_net_single("listeners", 0444, dir,
				   rpcrdma_listeners_show, NULL))
		return 0;
	remove_proc_subtree("rpcrdma", net->proc_net);
	return -ENOMEM;
}

static void __net_exit rpcrdma_proc_net_exit(struct net *net)
{
	remove_proc_subtree("rpcrdma", net->proc_net);
}

struct pernet_operations rpcrdma_proc_ops = {
	.init	= rpcrdma_proc_net_init,
	.exit	= rpcrdma_proc_net_exit,
};
