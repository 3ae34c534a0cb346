/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How deep the queues of a connection are, how Receive buffers share a block, and how
 * many pages may be in flight. Pure.
 */
#ifndef RPCRDMA_PLAN_QUEUES_H
#define RPCRDMA_PLAN_QUEUES_H

#include "wire_os.h"

/**
 * struct rpcrdma_device_limits - a device's limits that bear upon the queues
 * @max_qp_wr: WRs per queue
 * @max_cqe: entries per CQ
 * @max_send_sge: SGEs per Send Queue WR
 * @max_recv_sge: SGEs per Receive
 * @max_sge_rd: SGEs per RDMA Read
 * @max_frwr_pages: pages per fast-registered MR, 0 if it has none
 * @max_mr: MRs of the device
 * @max_rd_atom: RDMA Reads a QP may have in flight as their target
 * @max_init_rd_atom: RDMA Reads a QP may have in flight as their initiator
 */
struct rpcrdma_device_limits {
	u32	max_qp_wr;
	u32	max_cqe;
	u32	max_send_sge;
	u32	max_recv_sge;
	u32	max_sge_rd;
	u32	max_frwr_pages;
	u32	max_mr;
	u32	max_rd_atom;
	u32	max_init_rd_atom;
};

/**
 * struct rpcrdma_queue_want - what a side would like to have
 * @credits: RPCs outstanding, forward direction
 * @bc_credits: RPCs outstanding, reverse direction
 * @recv_batch: extra Receives, so that they can be posted in batches
 * @payload_pages: pages of the largest payload, worst alignment
 * @rw_wrs: Send Queue WRs one RPC's RDMA Reads or Writes may take (a
 *	Responder), 0 for a Requester
 * @send_sge: SGEs a Send would like to have
 * @use_frwr: registers memory (a Requester): REG_MR and LOCAL_INV count
 */
struct rpcrdma_queue_want {
	u32	credits;
	u32	bc_credits;
	u32	recv_batch;
	u32	payload_pages;
	u32	rw_wrs;
	u32	send_sge;
	bool	use_frwr;
};

/**
 * struct rpcrdma_queue_sizes - result of rpcrdma_plan_queues()
 * @credits: forward credits that the device can carry
 * @bc_credits: reverse credits
 * @sq_depth: Send Queue WRs, one for the drain included
 * @rq_depth: Receive Queue WRs, one for the drain included
 * @recvs: Receives to keep posted (@rq_depth less the drain's)
 * @send_sge: SGEs per Send
 * @mr_pages: pages per MR
 * @mrs_per_payload: MRs the largest payload takes
 */
struct rpcrdma_queue_sizes {
	u32	credits;
	u32	bc_credits;
	u32	sq_depth;
	u32	rq_depth;
	u32	recvs;
	u32	send_sge;
	u32	mr_pages;
	u32	mrs_per_payload;
};

int rpcrdma_plan_queues(struct rpcrdma_queue_sizes *sizes,
			const struct rpcrdma_queue_want *want,
			const struct rpcrdma_device_limits *dev);
u32 rpcrdma_plan_rw_wrs(u32 payload_pages, u32 sges, u32 credits);
bool rpcrdma_plan_fewer(struct rpcrdma_queue_want *want,
			const struct rpcrdma_queue_sizes *tried,
			const struct rpcrdma_device_limits *dev);
u32 rpcrdma_plan_recv_block(u32 size, u32 page_size);

/**
 * rpcrdma_plan_pages_fit - may a message have pages that the device uses?
 * @in_flight: pages of the connection's other messages
 * @more: pages of this one
 * @most: pages that there may be for all of them
 *
 * One may always have its own, or it would never be its turn.
 *
 * Context: Any context.
 * Return: whether it may.
 */
static inline bool rpcrdma_plan_pages_fit(u32 in_flight, u32 more, u32 most)
{
	return !in_flight || (u64)in_flight + more <= most;
}

#endif /* RPCRDMA_PLAN_QUEUES_H */
