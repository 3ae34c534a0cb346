// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The client's sysctls, /proc/sys/sunrpc/rdma_*. They hold for transports
 * created, and connections made, from then on.
 */
#include <linux/nfs_fs.h>
#include <linux/sysctl.h>

#include "xprt_rdma.h"

unsigned int xprt_rdma_slots = 128;
unsigned int xprt_rdma_inline_read = RPCRDMA_NFS_ATTRS_TWICE ?
	RPCRDMA_INLINE_TWICE : RPCRDMA_INLINE_WANTED;
unsigned int xprt_rdma_inline_write = RPCRDMA_INLINE_WANTED;
/* Seconds that a Connect Request may go unanswered */
unsigned int xprt_rdma_connect_timeout = 20;
/* Seconds that an idle connection is kept; 0: for ever */
unsigned int xprt_rdma_idle_timeout = 300;
/* Version 2 is an expired draft: only on request */
unsigned int xprt_rdma_max_version = RPCRDMA_V1;
/* Seconds for the first answer in version 2; for servers without it */
unsigned int xprt_rdma_version_timeout = 10;
unsigned int xprt_rdma_version_memory = 600;
/* 0: for servers that write the XDR roundup behind the data of a Write chunk */
int xprt_rdma_pad_optimize = 1;

/* Kept so that scripts that set them go on working. Strategy 5 is FRWR. */
static unsigned int memreg = 5;
static unsigned int write_padding;

static struct ctl_table_header *sysctl_header;

static struct ctl_table sysctls[] = {
	RPCRDMA_TUNABLE("rdma_slot_table_entries", xprt_rdma_slots,
			XPRT_RDMA_FIRST_SLOTS, 16384),
	RPCRDMA_TUNABLE("rdma_max_inline_read", xprt_rdma_inline_read, 1024, 65536),
	RPCRDMA_TUNABLE("rdma_max_inline_write", xprt_rdma_inline_write, 1024, 65536),
	RPCRDMA_TUNABLE("rdma_connect_timeout", xprt_rdma_connect_timeout, 1, 300),
	RPCRDMA_TUNABLE("rdma_idle_timeout", xprt_rdma_idle_timeout, 0, 86400),
	RPCRDMA_TUNABLE("rdma_max_version", xprt_rdma_max_version,
			RPCRDMA_V1, RPCRDMA_VERS_MAX),
	RPCRDMA_TUNABLE("rdma_version_timeout", xprt_rdma_version_timeout, 1, 86400),
	RPCRDMA_TUNABLE("rdma_version_memory", xprt_rdma_version_memory, 1, 86400),
	RPCRDMA_TUNABLE("rdma_inline_write_padding", write_padding, 0, PAGE_SIZE),
	RPCRDMA_TUNABLE("rdma_memreg_strategy", memreg, 0, 6),
	{
		.procname	= "rdma_pad_optimize",
		.data		= &xprt_rdma_pad_optimize,
		.maxlen		= sizeof(xprt_rdma_pad_optimize),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	RPCRDMA_CTL_END
};

int xprt_rdma_sysctl_init(void)
{
	sysctl_header = register_sysctl("sunrpc", sysctls);
	return sysctl_header ? 0 : -ENOMEM;
}

void xprt_rdma_sysctl_exit(void)
{
	unregister_sysctl_table(sysctl_header);
}
