// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Order of init and exit.
 */

#include <linux/module.h>

#include "rpcrdma/endpoint.h"

#define CREATE_TRACE_POINTS
#include "rpcrdma/trace.h"

static int __init rpcrdma_module_init(void)
{
	int rc;

	rc = rpcrdma_state_init();
	if (rc)
		return rc;
	rc = rpcrdma_proc_init();
	if (rc)
		goto out_state;
	rc = rpcrdma_device_init();
	if (rc)
		goto out_proc;
	rc = svc_rdma_init();
	if (rc)
		goto out_device;
	rc = xprt_rdma_init();
	if (rc)
		goto out_svc;
	rpcrdma_stall_init();
	return 0;

out_svc:
	svc_rdma_exit();
out_device:
	rpcrdma_device_exit();
out_proc:
	rpcrdma_proc_exit();
out_state:
	rpcrdma_state_exit();
	return rc;
}

static void __exit rpcrdma_module_exit(void)
{
	rpcrdma_stall_exit();
	xprt_rdma_exit();
	svc_rdma_exit();
	/* Teardowns in progress end here, before the device record goes */
	rpcrdma_state_exit();
	rpcrdma_device_exit();
	rpcrdma_proc_exit();
}

module_init(rpcrdma_module_init);
module_exit(rpcrdma_module_exit);

MODULE_DESCRIPTION("RPC-over-RDMA transport, client and server");
MODULE_AUTHOR("rpcrdma maintainers <maintainers@users.noreply.a-seed-e78f4fde.example>");
/* The one place that has it; CHANGES begins with the same */
MODULE_VERSION("1.1");
MODULE_LICENSE("Dual BSD/GPL");
/* sunrpc asks for svc<name>, older set-ups for xprtrdma, rpc<netid> for IPv6 */
MODULE_ALIAS("svcrdma");
MODULE_ALIAS("xprtrdma");
MODULE_ALIAS("rpcrdma6");
