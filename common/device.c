// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our record of each RDMA device: which endpoints use it, and the protection
 * domain that those share which expose no memory. When the device is removed,
 * every endpoint on it fails, and the removal waits until they have let go of
 * it. It never waits for what sunrpc still refers to.
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

static struct ib_client rpcrdma_ib_client;

static int rpcrdma_device_add(struct ib_device *device)
{
	struct rpcrdma_device *rdev;

	rdev = kzalloc(sizeof(*rdev), GFP_KERNEL);
	if (!rdev) {
		pr_warn("device %s is not used: out of memory\n", device->name);
		return -ENOMEM;
	}
	rdev->device = device;
	INIT_LIST_HEAD(&rdev->eps);
	init_completion(&rdev->idle);
	ib_set_client_data(device, &rpcrdma_ib_client, rdev);

	mutex_lock(&rpcrdma_devices_lock);
	list_add_tail(&rdev->list, &rpcrdma_devices);
	mutex_unlock(&rpcrdma_devices_lock);
	return 0;
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

static struct ib_client rpcrdma_ib_client = {
	.name	= "rpcrdma",
	.add	= rpcrdma_device_add,
	.remove	= rpcrdma_device_remove,
};

static struct rpcrdma_device *rpcrdma_device_find(struct ib_device *device)
{
	struct rpcrdma_device *rdev;

	list_for_each_entry(rdev, &rpcrdma_devices, list)
		if (rdev->device == device)
			return rdev;
	return NULL;
}

/**
 * rpcrdma_device_attach - an endpoint starts to use a device
 * @ep: endpoint
 * @device: device that its CM id is bound to
 *
 * Until rpcrdma_device_detach() the device does not go away without the
 * endpoint having failed first.
 *
 * Context: process, may sleep.
 *
 * Return: 0, or -ENODEV when the device is being removed.
 */
int rpcrdma_device_attach(struct rpcrdma_ep *ep, struct ib_device *device)
{
	struct rpcrdma_device *rdev;
	int rc = -ENODEV;

	mutex_lock(&rpcrdma_devices_lock);
	rdev = rpcrdma_device_find(device);
	if (rdev) {
		list_add_tail(&ep->on_device, &rdev->eps);
		ep->rdev = rdev;
		strscpy(ep->dev_name, device->name, sizeof(ep->dev_name));
		ep->device = device;
		rc = 0;
	}
	mutex_unlock(&rpcrdma_devices_lock);
	return rc;
}

/**
 * rpcrdma_device_detach - an endpoint has let go of its device
 * @ep: endpoint; nothing happens when it is not attached
 *
 * Context: process, may sleep. All verbs objects of @ep are destroyed, its CM
 * id excepted, which the RDMA CM itself looks after.
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

/**
 * rpcrdma_device_is_news - is it worth a line how few credits the device allows?
 * @ep: attached endpoint
 * @credits: how many
 *
 * A client may connect often, and many clients may: said again when it is another number
 * than the last one of that side.
 *
 * Context: process, may sleep.
 *
 * Return: whether it is.
 */
bool rpcrdma_device_is_news(struct rpcrdma_ep *ep, u32 credits)
{
	u32 *said = &ep->rdev->credits[ep->responder];
	bool news;

	mutex_lock(&rpcrdma_devices_lock);
	news = *said != credits;
	*said = credits;
	mutex_unlock(&rpcrdma_devices_lock);
	return news;
}

/*
 * Can a peer reach memory of this endpoint's? A Responder offers none. But on
 * iWARP an RDMA Read is a Write by the peer in the end, and rdma_rw registers
 * where it goes to for that: who knows the STag can write there as well.
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

/**
 * rpcrdma_device_pd_get - a protection domain for an endpoint
 * @ep: attached endpoint; its CM id is bound to a port
 *
 * One that exposes memory has one of its own, so that no other connection's
 * peer can reach it: a Requester, and on iWARP a Responder, too. All others
 * share that of the device.
 *
 * Context: process, may sleep. rpcrdma_device_pd_put() releases it.
 *
 * Return: 0 or a negative errno.
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

/**
 * rpcrdma_device_pd_put - undo rpcrdma_device_pd_get()
 * @ep: endpoint; nothing happens when it has no protection domain
 *
 * Context: process, may sleep.
 */
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

/**
 * rpcrdma_device_init - learn of devices
 *
 * Context: module init.
 *
 * Return: 0 or a negative errno.
 */
int rpcrdma_device_init(void)
{
	return ib_register_client(&rpcrdma_ib_client);
}

/**
 * rpcrdma_device_exit - forget all devices
 *
 * Context: module exit; no endpoint is left.
 */
void rpcrdma_device_exit(void)
{
	ib_unregister_client(&rpcrdma_ib_client);
}
