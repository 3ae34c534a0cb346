/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue depths and credits of a connection from the limits of its device, and
 * the arithmetic of its Send Queue. Pure.
 */
#ifndef RPCRDMA_QUEUES_H
#define RPCRDMA_QUEUES_H

#include "wire_os.h"

/* ---- depths and credits ---- */

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
	u32	large_reads;	/* Responder: large RDMA Reads in flight */
	u32	first_credits;	/* with Receives from the start, at least one */
};

/* How fast a connection uses its credits */
struct rpcrdma_credit_use {
	u64	recvs;		/* messages received, at @since */
	u64	since;		/* the last look after enough of them */
	u32	credits;	/* there were, at @since */
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

/* Operations of rdma_rw that take an MR, by device */
enum rpcrdma_rw_mrs {
	RPCRDMA_RW_MRS_NONE,
	RPCRDMA_RW_MRS_LARGE,	/* RDMA Reads of many pages */
	RPCRDMA_RW_MRS_ALL,	/* RDMA Reads, one for each segment: iWARP */
};

/* A Responder's QP, as rdma_create_qp() is asked for it */
struct rpcrdma_rw_sizes {
	u32	ctxs;		/* of rdma_rw, and MRs if it uses any */
	u32	send_wrs;	/* beside those that it adds for them */
};

int rpcrdma_plan_queues(struct rpcrdma_queue_sizes *sizes,
			const struct rpcrdma_queue_want *want,
			const struct rpcrdma_device_limits *dev);
u32 rpcrdma_plan_rw_wrs(u32 payload_pages, u32 sges, u32 credits);
struct rpcrdma_rw_sizes
rpcrdma_plan_rw(const struct rpcrdma_queue_sizes *sizes, u32 large_reads,
		enum rpcrdma_rw_mrs mrs);
bool rpcrdma_plan_fewer(struct rpcrdma_queue_want *want,
			const struct rpcrdma_queue_sizes *tried,
			const struct rpcrdma_device_limits *dev);
bool rpcrdma_plan_more_credits(struct rpcrdma_credit_use *use, u32 credits,
			       u32 calls, u64 recvs, u64 now, u64 second);
u32 rpcrdma_plan_grant(u32 receivable, u32 least, u32 useful, u32 crowded);
u32 rpcrdma_plan_recv_block(u32 size, u32 page_size);

/*
 * May a message have @more pages that the device uses? One may always have its
 * own, or it would wait forever.
 */
static inline bool rpcrdma_plan_pages_fit(u32 in_flight, u32 more, u32 most)
{
	return !in_flight || (u64)in_flight + more <= most;
}

/* A connection may have one in so many of the pages that are left to all */
#define RPCRDMA_PAGE_SHARE	8U

/*
 * Pages that a connection may have in flight: @most, or a share of the pages
 * that are left of @all_most, which limits all connections together. The more
 * connections have pages, the fewer each may have.
 */
static inline u32 rpcrdma_plan_page_share(u32 most, u64 all, u64 all_most)
{
	u64 left = all < all_most ? all_most - all : 0;

	return min_t(u64, most, left / RPCRDMA_PAGE_SHARE);
}

/* ---- Send Queue: slots, which WRs to signal, stalls ---- */

/*
 * Slots that chains in a row may leave unsignalled although their owners wait. A
 * signalled one costs a wake-up, and each more the memory of a Send.
 */
#define RPCRDMA_MAX_UNSIGNALLED	7

/* A mark is taken at most every depth / 4 slots, or every slot of fewer than 8 */
#define RPCRDMA_SEND_MARKS	8

/* Checks without progress after which the queue has stalled */
#define RPCRDMA_STALL_CHECKS	5

/* Checks that a signalled chain may last, however much progress others make */
#define RPCRDMA_STALL_AGE	8

/**
 * enum rpcrdma_notify - when the owner of a chain is told that it is complete
 * @RPCRDMA_NOTIFY_NEVER: not at all: the peer's answer tells
 * @RPCRDMA_NOTIFY_LATER: with a later chain
 * @RPCRDMA_NOTIFY_NOW: by a completion of its own
 */
enum rpcrdma_notify {
	RPCRDMA_NOTIFY_NEVER,
	RPCRDMA_NOTIFY_LATER,
	RPCRDMA_NOTIFY_NOW,
};

/**
 * enum rpcrdma_signal - whose completion the last WR of a chain gets
 * @RPCRDMA_SIGNAL_NONE: it is unsignalled
 * @RPCRDMA_SIGNAL_CHAIN: the chain's
 * @RPCRDMA_SIGNAL_QUEUE: the queue's, see rpcrdma_slots_mark()
 */
enum rpcrdma_signal {
	RPCRDMA_SIGNAL_NONE,
	RPCRDMA_SIGNAL_CHAIN,
	RPCRDMA_SIGNAL_QUEUE,
};

/**
 * struct rpcrdma_send_slots - slots of a Send Queue, as positions in a stream
 * @depth: slots, without the one kept for the drain
 * @batch: most slots left unsignalled at the end of the stream
 * @max_part: most slots that are sure to be free together some time
 * @unsignalled: slots posted since the last signalled WR
 * @asked: the next WR is signalled, however few are not
 * @posted: slots ever posted
 * @completed: slots known to be complete
 * @marks: positions that the queue's own completions stand for, in order
 * @first_mark: the oldest of them
 * @nr_marks: how many there are
 * @stalled: checks in a row without progress
 * @seen: @completed at the last check
 * @seen_oldest: the oldest signalled chain at the last check
 * @seen_posted: @posted at the last checks, a ring
 * @checks: where the next check goes in that ring, modulo its size
 * @idle: checks in a row between which nothing was posted or received
 * @idle_posted: @posted at the last of these checks
 * @idle_recvs: messages received until then
 *
 * A Send Queue completes in order, so one signalled WR speaks for all before it.
 * (RDMA Reads of iWARP complete later, but leave the queue in order all the
 * same.) At most @batch slots at the end of the stream are not covered by a
 * signalled WR, so depth - batch slots are free as soon as all others have completed.
 */
struct rpcrdma_send_slots {
	u32 depth;
	u32 batch;
	u32 max_part;
	u32 unsignalled;
	bool asked;
	u64 posted;
	u64 completed;
	u64 marks[RPCRDMA_SEND_MARKS];
	u8 first_mark;
	u8 nr_marks;
	u8 stalled;
	u64 seen;
	u64 seen_oldest;
	u64 seen_posted[RPCRDMA_STALL_AGE];
	u8 checks;
	u32 idle;
	u64 idle_posted;
	u64 idle_recvs;
};

static inline bool rpcrdma_slots_fit(const struct rpcrdma_send_slots *s, u32 n)
{
	return s->posted - s->completed + n <= s->depth;
}

/* How many WRs of a chain of @n are posted next */
static inline u32 rpcrdma_slots_part(const struct rpcrdma_send_slots *s, u32 n)
{
	return rpcrdma_slots_fit(s, n) ? n : min(n, s->max_part);
}

void rpcrdma_slots_init(struct rpcrdma_send_slots *s, u32 sq_depth);
enum rpcrdma_signal rpcrdma_slots_post(struct rpcrdma_send_slots *s, u32 n,
				       enum rpcrdma_notify notify);
u64 rpcrdma_slots_mark(struct rpcrdma_send_slots *s);
void rpcrdma_slots_complete(struct rpcrdma_send_slots *s, u64 seq);
u64 rpcrdma_slots_ask(struct rpcrdma_send_slots *s);
bool rpcrdma_slots_stalled(struct rpcrdma_send_slots *s, u64 oldest);
bool rpcrdma_slots_probe(struct rpcrdma_send_slots *s, u64 recvs, u32 checks);

#endif /* RPCRDMA_QUEUES_H */
