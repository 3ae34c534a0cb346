// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * /proc/sys/sunrpc/svc_rdma/: tunables and counters, under the names that
 * administrators' scripts know.
 */

#include <linux/sysctl.h>

#include "svc_rdma.h"

/* RPCs a client may have outstanding: credits. For new connections */
unsigned int svc_rdma_max_requests = 64;
/* ... and those of a client that has not been busy yet */
unsigned int svc_rdma_first_requests = 4;
/* Largest inline Call, and Reply if more than its default. For new connections */
unsigned int svc_rdma_max_req_size = RPCRDMA_INLINE_WANTED;
/* RDMA Reads in flight per connection, where the devices allow it */
unsigned int svc_rdma_max_outbound_reads = 16;
/* Memory that RDMA Reads in flight go to, in bytes. For new connections */
unsigned int svc_rdma_max_outbound_size = 16 << 20;
/* Memory of Replies; beyond it nfsd gets no Call. For new connections */
unsigned int svc_rdma_max_reply_size = 16 << 20;
/* Memory of both kinds, of all connections; by default an eighth of the RAM */
unsigned long svc_rdma_max_total_size;
/* Seconds without a message after which a client is probed, 0: never */
unsigned int svc_rdma_keepalive = 300;
/* Highest version; a Call is answered in its own. For new connections */
unsigned int svc_rdma_max_version = RPCRDMA_V1;

/* At least an RPC of 1 MiB */
static unsigned long min_total_size = SVC_RDMA_MIB_PAGES * PAGE_SIZE;

struct percpu_counter svc_rdma_counters[SVC_RDMA_COUNTERS];

/* Names that older tools read; always zero */
static unsigned int stat_unused;

static struct ctl_table_header *sysctl_header;

/* Reads as a number of any size; any write resets it */
static int counter_handler(RPCRDMA_CTL_CONST struct ctl_table *table, int write,
			   void *buffer, size_t *lenp, loff_t *ppos)
{
	struct percpu_counter *counter = table->data;
	unsigned long value = percpu_counter_sum_positive(counter);
	struct ctl_table copy = {
		.data	= &value,
		.maxlen	= sizeof(value),
		.mode	= table->mode,
	};

	if (write) {
		percpu_counter_set(counter, 0);
		*ppos += *lenp;
		return 0;
	}
	return proc_doulongvec_minmax(&copy, write, buffer, lenp, ppos);
}

#define COUNTER(name, counter) {			\
	.procname	= name,				\
	.data		= &svc_rdma_counters[counter],	\
	.maxlen		= sizeof(unsigned long),	\
	.mode		= 0644,				\
	.proc_handler	= counter_handler,		\
}

static struct ctl_table sysctl_table[] = {
	RPCRDMA_TUNABLE("max_requests", svc_rdma_max_requests, 4, 16384),
	RPCRDMA_TUNABLE("first_requests", svc_rdma_first_requests, 4, 16384),
	RPCRDMA_TUNABLE("max_req_size", svc_rdma_max_req_size, 4096, 65536),
	RPCRDMA_TUNABLE("max_outbound_read_requests", svc_rdma_max_outbound_reads,
			1, 255),
	RPCRDMA_TUNABLE("max_outbound_read_size", svc_rdma_max_outbound_size,
			SVC_RDMA_MIB_PAGES * PAGE_SIZE, 1 << 30),
	RPCRDMA_TUNABLE("max_outbound_reply_size", svc_rdma_max_reply_size,
			SVC_RDMA_MIB_PAGES * PAGE_SIZE, 1 << 30),
	{
		.procname	= "max_total_size",
		.data		= &svc_rdma_max_total_size,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &min_total_size,
	},
	RPCRDMA_TUNABLE("keepalive", svc_rdma_keepalive, 0, 86400),
	RPCRDMA_TUNABLE("max_version", svc_rdma_max_version,
			RPCRDMA_V1, RPCRDMA_VERS_MAX),
	COUNTER("rdma_stat_read", SVC_RDMA_READ),
	COUNTER("rdma_stat_recv", SVC_RDMA_RECV),
	COUNTER("rdma_stat_write", SVC_RDMA_WRITE),
	COUNTER("rdma_stat_sq_starve", SVC_RDMA_SQ_STARVE),
	RPCRDMA_TUNABLE("rdma_stat_rq_starve", stat_unused, 0, 0),
	RPCRDMA_TUNABLE("rdma_stat_rq_poll", stat_unused, 0, 0),
	RPCRDMA_TUNABLE("rdma_stat_rq_prod", stat_unused, 0, 0),
	RPCRDMA_TUNABLE("rdma_stat_sq_poll", stat_unused, 0, 0),
	RPCRDMA_TUNABLE("rdma_stat_sq_prod", stat_unused, 0, 0),
	RPCRDMA_CTL_END
};

static void counters_destroy(int nr)
{
	while (nr--)
		percpu_counter_destroy(&svc_rdma_counters[nr]);
}

int svc_rdma_sysctl_init(void)
{
	int i;

	svc_rdma_max_total_size = max(totalram_pages() / 8 << PAGE_SHIFT,
				      min_total_size);
	for (i = 0; i < SVC_RDMA_COUNTERS; i++)
		if (percpu_counter_init(&svc_rdma_counters[i], 0, GFP_KERNEL))
			goto out;
	sysctl_header = register_sysctl("sunrpc/svc_rdma", sysctl_table);
	if (sysctl_header)
		return 0;
out:
	counters_destroy(i);
	return -ENOMEM;
}

void svc_rdma_sysctl_exit(void)
{
	unregister_sysctl_table(sysctl_header);
	counters_destroy(SVC_RDMA_COUNTERS);
}
