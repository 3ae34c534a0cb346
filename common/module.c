// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Order of init and exit.
 */

#include <linux/module.h>

#include "rpcrdma/endpoint.h"

#define CREATE_TRACE_POINTS
#include "rpcrdma/trace.h"

/* The one place that has it; CHANGES begins with the same */
#define RPCRDMA_VERSION "1.1"

static int __init rpcrdma_module_init(void)
{
	int rc;

	rpcrdma_wq = alloc_workqueue("rpcrdma", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!rpcrdma_wq)
		return -ENOMEM;
	rc = register_pernet_subsys(&rpcrdma_proc_ops);
	if (rc)
		goto out_wq;
	rc = ib_register_client(&rpcrdma_ib_client);
	if (rc)
		goto out_proc;
	rc = svc_rdma_init();
	if (rc)
		goto out_device;
	rc = xprt_rdma_init();
	if (rc)
		goto out_svc;
	rpcrdma_stall_start();
	pr_info("RPC-over-RDMA transport, version " RPCRDMA_VERSION "\n");
	return 0;

out_svc:
	svc_rdma_exit();
out_device:
	ib_unregister_client(&rpcrdma_ib_client);
out_proc:
	unregister_pernet_subsys(&rpcrdma_proc_ops);
out_wq:
	destroy_workqueue(rpcrdma_wq);
	return rc;
}

static void __exit rpcrdma_module_exit(void)
{
	cancel_delayed_work_sync(&rpcrdma_stall_work);
	xprt_rdma_exit();
	svc_rdma_exit();
	/* Waits for the teardowns in progress, before the device record goes */
	destroy_workqueue(rpcrdma_wq);
	ib_unregister_client(&rpcrdma_ib_client);
	unregister_pernet_subsys(&rpcrdma_proc_ops);
}

module_init(rpcrdma_module_init);
module_exit(rpcrdma_module_exit);

MODULE_DESCRIPTION("RPC-over-RDMA transport, client and server");
MODULE_AUTHOR("rpcrdma maintainers <maintainers@users.noreply.a-seed-e78f4fde.example>");
MODULE_VERSION(RPCRDMA_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
/* sunrpc asks for svc<name>, older set-ups for xprtrdma, rpc<netid> for IPv6 */
MODULE_ALIAS("svcrdma");
MODULE_ALIAS("xprtrdma");
MODULE_ALIAS("rpcrdma6");
