// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our record of each RDMA device: which endpoints use it, and the protection
 * domain that those share which expose no memory. When the device is removed,
 * every endpoint on it fails, and the removal waits until they have let go of
 * it. It never waits for references that sunrpc holds.
 */

#include <linux/slab.h>

#include "rpcrdma/endpoint.h"

/**
 * struct rpcrdma_device - one RDMA device
 * @device: the device
 * @list: in rpcrdma_devices
 * @eps: endpoints that use it
 * @gone: being removed: no endpoint may join
 * @idle: completed when it is @gone and the last endpoint has left
 * @pd: shared by those of its endpoints that expose no memory, NULL if there
 *	are none
 * @pd_users: how many
 * @credits: how few the log last said that it allows, to a Requester and to a Responder
 */
struct rpcrdma_device {
	struct ib_device *device;
	struct list_head list;
	struct list_head eps;
	bool gone;
	struct completion idle;
	struct ib_pd *pd;
	unsigned int pd_users;
	u32 credits[2];
};

/* Protects the list and everything in struct rpcrdma_device */
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
		rpcrdma_ep_fail_reason(ep, -ENODEV, "the device is removed");
	if (list_empty(&rdev->eps))
		complete(&rdev->idle);
	mutex_unlock(&rpcrdma_devices_lock);

	wait_for_completion(&rdev->idle);
	WARN_ON_ONCE(rdev->pd || rdev->pd_users); /* I14 */
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
		if (device->ops.driver_id == RDMA_DRIVER_RXE)
			ep->quirks = RPCRDMA_QUIRK_EARLY_READ_COMPLETION;
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
 * Does the device support another number of credits than it did when the log last
 * said so? Clients may connect often, and many clients may.
 */
bool rpcrdma_device_credits_changed(struct rpcrdma_ep *ep, u32 credits)
{
	u32 *said = &ep->rdev->credits[ep->responder];
	bool changed;

	mutex_lock(&rpcrdma_devices_lock);
	changed = *said != credits;
	*said = credits;
	mutex_unlock(&rpcrdma_devices_lock);
	return changed;
}

/*
 * Can a peer reach memory of this endpoint's? A Responder offers none. But on
 * iWARP an RDMA Read is a Write by the peer in the end, and rdma_rw registers
 * its target for that: a peer that knows the STag can write there as well.
 */
static bool rpcrdma_ep_exposes_memory(const struct rpcrdma_ep *ep)
{
	return !ep->responder ||
	       rdma_protocol_iwarp(ep->device, ep->id->port_num);
}

/*
 * The device's own, which is @pd if it has none. Nothing is allocated under the lock: that
 * may wait for a mount of ours, and its connection for the lock.
 */
static struct ib_pd *rpcrdma_pd_share(struct rpcrdma_ep *ep, struct ib_pd *pd)
{
	struct rpcrdma_device *rdev = ep->rdev;

	mutex_lock(&rpcrdma_devices_lock);
	if (!rdev->pd)
		rdev->pd = pd;
	ep->pd = rdev->pd;
	rdev->pd_users += !!ep->pd;
	mutex_unlock(&rpcrdma_devices_lock);
	return ep->pd;
}

/*
 * An endpoint that exposes memory has a protection domain of its own, so that no
 * other connection's peer can reach it: a Requester, and on iWARP a Responder,
 * too. All others share that of the device.
 */
int rpcrdma_device_pd_get(struct rpcrdma_ep *ep)
{
	struct ib_pd *pd;

	if (!rpcrdma_ep_exposes_memory(ep) && rpcrdma_pd_share(ep, NULL))
		return 0;
	pd = ib_alloc_pd(ep->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	if (rpcrdma_ep_exposes_memory(ep))
		ep->pd = pd;
	else if (rpcrdma_pd_share(ep, pd) != pd)
		ib_dealloc_pd(pd);
	return 0;
}

/* Nothing happens if the endpoint has no protection domain */
void rpcrdma_device_pd_put(struct rpcrdma_ep *ep)
{
	struct rpcrdma_device *rdev = ep->rdev;
	bool last = true;

	if (!ep->pd)
		return;
	if (!rpcrdma_ep_exposes_memory(ep)) {
		mutex_lock(&rpcrdma_devices_lock);
		last = !--rdev->pd_users;
		if (last)
			rdev->pd = NULL;
		mutex_unlock(&rpcrdma_devices_lock);
	}
	if (last)
		ib_dealloc_pd(ep->pd);
	ep->pd = NULL;
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
