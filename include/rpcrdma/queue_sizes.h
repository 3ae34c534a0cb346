/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue depths and credits of a connection from the limits of its device. Pure.
 */
#ifndef RPCRDMA_QUEUE_SIZES_H
#define RPCRDMA_QUEUE_SIZES_H

#include "wire_os.h"

/* Limits of a device */
struct rpcrdma_device_limits {
	u32	max_qp_wr;		/* WRs per queue */
	u32	max_cqe;		/* entries per CQ */
	u32	max_send_sge;
	u32	max_recv_sge;
	u32	max_sge_rd;		/* SGEs per RDMA Read */
	u32	max_frwr_pages;		/* per fast-registered MR, 0: has none */
	u32	max_mr;			/* MRs of the device */
	u32	max_rd_atom;		/* RDMA Reads of a QP as their target */
	u32	max_init_rd_atom;	/* RDMA Reads of a QP as initiator */
};

/* Wishes of a side */
struct rpcrdma_queue_want {
	u32	credits;	/* RPCs outstanding, forward direction */
	u32	bc_credits;	/* RPCs outstanding, reverse direction */
	u32	recv_batch;	/* extra Receives, to post them in batches */
	u32	payload_pages;	/* of the largest payload, worst alignment */
	u32	rw_wrs;		/* Responder: WRs for one RPC's RDMA */
	u32	send_sge;	/* SGEs of a Send */
	bool	use_frwr;	/* Requester: REG_MR and LOCAL_INV count */
};

/* Result of rpcrdma_plan_queues() */
struct rpcrdma_queue_sizes {
	u32	credits;	/* forward */
	u32	bc_credits;	/* reverse */
	u32	sq_depth;	/* WRs, one for the drain included */
	u32	rq_depth;	/* WRs, one for the drain included */
	u32	recvs;		/* Receives to keep posted */
	u32	send_sge;	/* SGEs of a Send */
	u32	mr_pages;	/* pages per MR */
	u32	mrs_per_payload; /* MRs of the largest payload */
};

int rpcrdma_plan_queues(struct rpcrdma_queue_sizes *sizes,
			const struct rpcrdma_queue_want *want,
			const struct rpcrdma_device_limits *dev);
u32 rpcrdma_plan_rw_wrs(u32 payload_pages, u32 sges, u32 credits);
bool rpcrdma_plan_fewer(struct rpcrdma_queue_want *want,
			const struct rpcrdma_queue_sizes *tried,
			const struct rpcrdma_device_limits *dev);
u32 rpcrdma_plan_recv_block(u32 size, u32 page_size);

/*
 * May a message have @more pages that the device uses? One may always have its
 * own, or it would wait forever.
 */
static inline bool rpcrdma_plan_pages_fit(u32 in_flight, u32 more, u32 most)
{
	return !in_flight || (u64)in_flight + more <= most;
}

#endif /* RPCRDMA_QUEUE_SIZES_H */
