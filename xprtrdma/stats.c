// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transport's line in /proc/self/mountstats.
 */
#include <linux/seq_file.h>

#include "xprt_rdma.h"

/**
 * xprt_rdma_print_stats - the "xprt:" line of /proc/self/mountstats
 * @xprt: transport
 * @seq: where to
 *
 * "rdma" and 27 columns that mountstats and nfsiostat know by their place.
 * Columns 1 (source port), 22, 26 and 27 have no meaning here and are 0.
 *
 * Context: process.
 */
void xprt_rdma_print_stats(struct rpc_xprt *xprt, struct seq_file *seq)
{
	const struct rpcrdma_xprt_stats *st = &to_rpcrdma_xprt(xprt)->stats;
	unsigned long idle = 0;

	if (xprt_connected(xprt))
		idle = (jiffies - xprt->last_used) / HZ;

	seq_printf(seq, "\txprt:\trdma 0 %lu %lu %lu %lu %lu %lu %lu %llu %llu ",
		   xprt->stat.bind_count,
		   xprt->stat.connect_count,
		   xprt->stat.connect_time / HZ,
		   idle,
		   xprt->stat.sends,
		   xprt->stat.recvs,
		   xprt->stat.bad_xids,
		   xprt->stat.req_u,
		   xprt->stat.bklog_u);
	seq_printf(seq, "%lu %lu %lu %llu %llu %llu %llu %lu %lu %lu %lu ",
		   st->read_chunk_count,
		   st->write_chunk_count,
		   st->reply_chunk_count,
		   st->total_rdma_request,
		   st->total_rdma_reply,
		   st->pullup_copy_count,
		   st->fixup_copy_count,
		   st->hardway_register_count,
		   st->failed_marshal_count,
		   st->bad_reply_count,
		   st->nomsg_call_count);
	seq_printf(seq, "%lu %lu %lu %lu %lu 0\n",
		   st->mrs_recycled,
		   st->mrs_orphaned,
		   st->mrs_allocated,
		   st->local_inv_needed,
		   st->empty_sendctx_q);
}
