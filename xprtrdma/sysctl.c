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

static unsigned int zero;
static unsigned int one = 1;
static unsigned int slots_min = 4;
static unsigned int slots_max = 16384;
static unsigned int inline_min = 1024;
static unsigned int inline_max = 65536;
static unsigned int version_min = RPCRDMA_V1;
static unsigned int version_max = RPCRDMA_VERS_MAX;
static unsigned int connect_max = 5 * 60;
static unsigned int seconds_max = 24 * 60 * 60;
static unsigned int memreg_max = 6;
static unsigned int padding_max = PAGE_SIZE;

/* Kept so that scripts that set them go on working. Strategy 5 is FRWR. */
static unsigned int memreg = 5;
static unsigned int write_padding;

static struct ctl_table_header *sysctl_header;

#define TUNABLE(name, var, min, max) {			\
	.procname	= name,				\
	.data		= &(var),			\
	.maxlen		= sizeof(unsigned int),		\
	.mode		= 0644,				\
	.proc_handler	= proc_douintvec_minmax,	\
	.extra1		= &(min),			\
	.extra2		= &(max),			\
}

static struct ctl_table sysctls[] = {
	TUNABLE("rdma_slot_table_entries", xprt_rdma_slots,
		slots_min, slots_max),
	TUNABLE("rdma_max_inline_read", xprt_rdma_inline_read,
		inline_min, inline_max),
	TUNABLE("rdma_max_inline_write", xprt_rdma_inline_write,
		inline_min, inline_max),
	TUNABLE("rdma_connect_timeout", xprt_rdma_connect_timeout,
		one, connect_max),
	TUNABLE("rdma_idle_timeout", xprt_rdma_idle_timeout,
		zero, seconds_max),
	TUNABLE("rdma_max_version", xprt_rdma_max_version,
		version_min, version_max),
	TUNABLE("rdma_version_timeout", xprt_rdma_version_timeout,
		one, seconds_max),
	TUNABLE("rdma_version_memory", xprt_rdma_version_memory,
		one, seconds_max),
	TUNABLE("rdma_inline_write_padding", write_padding, zero, padding_max),
	TUNABLE("rdma_memreg_strategy", memreg, zero, memreg_max),
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
