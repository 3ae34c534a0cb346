// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The client's sysctls, /proc/sys/sunrpc/rdma_*. They hold for transports
 * created, and connections made, from then on.
 */
#include <linux/sysctl.h>

#include "xprt_rdma.h"

unsigned int xprt_rdma_slots = XPRT_RDMA_SLOTS_DEF;
unsigned int xprt_rdma_inline_read = RPCRDMA_INLINE_WANTED;
unsigned int xprt_rdma_inline_write = RPCRDMA_INLINE_WANTED;
/* How long a Connect Request may go unanswered, in seconds */
unsigned int xprt_rdma_connect_timeout = XPRT_RDMA_CONNECT_TIMEOUT;
/* Likewise, how long a connection is kept that nobody uses; 0: for ever */
unsigned int xprt_rdma_idle_timeout = XPRT_RDMA_IDLE_TIMEOUT;
/* Version two is an expired draft: nobody speaks it unasked */
unsigned int xprt_rdma_max_version = RPCRDMA_V1;
unsigned int xprt_rdma_version_timeout = XPRT_RDMA_VERSION_TIMEOUT;
unsigned int xprt_rdma_version_memory = XPRT_RDMA_VERSION_MEMORY;

#if IS_ENABLED(CONFIG_SUNRPC_DEBUG)

/* Memory registration strategies by number: 5 is FRWR, and what we do */
#define MEMREG_MIN	0U
#define MEMREG_FRWR	5U
#define MEMREG_MAX	6U

static unsigned int slots_min = XPRT_RDMA_SLOTS_MIN;
static unsigned int slots_max = XPRT_RDMA_SLOTS_MAX;
static unsigned int inline_min = XPRT_RDMA_INLINE_MIN;
static unsigned int inline_max = XPRT_RDMA_INLINE_MAX;
static unsigned int memreg_min = MEMREG_MIN;
static unsigned int memreg_max = MEMREG_MAX;
static unsigned int version_min = RPCRDMA_V1;
static unsigned int version_max = RPCRDMA_VERS_MAX;
static unsigned int seconds_min = 1;
static unsigned int seconds_max = 24 * 60 * 60;
static unsigned int connect_max = 5 * 60;
static unsigned int idle_min;
static unsigned int padding_min;
static unsigned int padding_max = PAGE_SIZE;

/* Kept so that scripts that set them go on working; no effect */
static unsigned int memreg = MEMREG_FRWR;
static unsigned int write_padding;
static int pad_optimize;

static struct ctl_table_header *sysctl_header;

static struct ctl_table sysctls[] = {
	{
		.procname	= "rdma_slot_table_entries",
		.data		= &xprt_rdma_slots,
		.maxlen		= sizeof(xprt_rdma_slots),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &slots_min,
		.extra2		= &slots_max,
	},
	{
		.procname	= "rdma_max_inline_read",
		.data		= &xprt_rdma_inline_read,
		.maxlen		= sizeof(xprt_rdma_inline_read),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &inline_min,
		.extra2		= &inline_max,
	},
	{
		.procname	= "rdma_max_inline_write",
		.data		= &xprt_rdma_inline_write,
		.maxlen		= sizeof(xprt_rdma_inline_write),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &inline_min,
		.extra2		= &inline_max,
	},
	{
		.procname	= "rdma_connect_timeout",
		.data		= &xprt_rdma_connect_timeout,
		.maxlen		= sizeof(xprt_rdma_connect_timeout),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &seconds_min,
		.extra2		= &connect_max,
	},
	{
		.procname	= "rdma_idle_timeout",
		.data		= &xprt_rdma_idle_timeout,
		.maxlen		= sizeof(xprt_rdma_idle_timeout),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &idle_min,
		.extra2		= &seconds_max,
	},
	{
		.procname	= "rdma_max_version",
		.data		= &xprt_rdma_max_version,
		.maxlen		= sizeof(xprt_rdma_max_version),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &version_min,
		.extra2		= &version_max,
	},
	{
		.procname	= "rdma_version_timeout",
		.data		= &xprt_rdma_version_timeout,
		.maxlen		= sizeof(xprt_rdma_version_timeout),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &seconds_min,
		.extra2		= &seconds_max,
	},
	{
		.procname	= "rdma_version_memory",
		.data		= &xprt_rdma_version_memory,
		.maxlen		= sizeof(xprt_rdma_version_memory),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &seconds_min,
		.extra2		= &seconds_max,
	},
	{
		.procname	= "rdma_inline_write_padding",
		.data		= &write_padding,
		.maxlen		= sizeof(write_padding),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &padding_min,
		.extra2		= &padding_max,
	},
	{
		.procname	= "rdma_memreg_strategy",
		.data		= &memreg,
		.maxlen		= sizeof(memreg),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &memreg_min,
		.extra2		= &memreg_max,
	},
	{
		.procname	= "rdma_pad_optimize",
		.data		= &pad_optimize,
		.maxlen		= sizeof(pad_optimize),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	RPCRDMA_CTL_END
};

/**
 * xprt_rdma_sysctl_init - make the sysctls appear
 *
 * Context: process, module init.
 *
 * Return: 0 or -ENOMEM.
 */
int xprt_rdma_sysctl_init(void)
{
	sysctl_header = register_sysctl("sunrpc", sysctls);
	return sysctl_header ? 0 : -ENOMEM;
}

/**
 * xprt_rdma_sysctl_exit - make them disappear
 *
 * Context: process, module exit.
 */
void xprt_rdma_sysctl_exit(void)
{
	unregister_sysctl_table(sysctl_header);
	sysctl_header = NULL;
}

#else

/**
 * xprt_rdma_sysctl_init - nothing: sunrpc has no sysctl folder
 *
 * Return: 0.
 */
int xprt_rdma_sysctl_init(void)
{
	return 0;
}

/**
 * xprt_rdma_sysctl_exit - nothing
 */
void xprt_rdma_sysctl_exit(void)
{
}

#endif
