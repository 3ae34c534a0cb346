// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For tests: an RDMA device of software has no node, since it has no parent.
 *
 * The module parameter "node_of" names a network device; as long as it does, rxe's
 * device on it has the same parent, and so the node of the adapter. To be cleared
 * before that device goes.
 */

#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

static char node_of[IFNAMSIZ];

static int rpcrdma_node_parent(const char *name, bool set)
{
	struct net_device *ndev = dev_get_by_name(&init_net, name);
	struct ib_device *device = NULL;

	if (ndev)
		device = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);
	if (device) {
		device->dev.parent = set ? ndev->dev.parent : NULL;
		ib_device_put(device);
	}
	dev_put(ndev);
	return device ? 0 : -ENODEV;
}

/* One at a time: the lock of the module's parameters is held */
static int rpcrdma_node_set(const char *val, const struct kernel_param *kp)
{
	char name[IFNAMSIZ];
	int rc;

	if (strscpy(name, val, sizeof(name)) < 0)
		return -EINVAL;
	strim(name);
	if (node_of[0])
		rpcrdma_node_parent(node_of, false);
	node_of[0] = 0;
	if (!name[0])
		return 0;
	rc = rpcrdma_node_parent(name, true);
	if (!rc)
		strscpy(node_of, name, sizeof(node_of));
	return rc;
}

static int rpcrdma_node_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", node_of);
}

static const struct kernel_param_ops rpcrdma_node_ops = {
	.set	= rpcrdma_node_set,
	.get	= rpcrdma_node_get,
};

module_param_cb(node_of, &rpcrdma_node_ops, NULL, 0600);
MODULE_PARM_DESC(node_of, "network device whose parent rxe's device gets");
