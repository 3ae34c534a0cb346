// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue depths and credits of a connection from the limits of its device, and
 * how Receive buffers share a block. Pure.
 */
#include "rpcrdma/queues.h"

/*
 * MRs a Call may take beside those of its largest payload: the head of a
 * Position-Zero Read chunk, or a Reply chunk beside a Write list.
 */
#define EXTRA_MRS	1U

/* To drain a queue takes a WR */
#define DRAIN_WRS	1U

/* Most WRs, less the drain's, that fit a queue and the CQ that reports them */
static u32 queue_room(const struct rpcrdma_device_limits *dev)
{
	return max(min(dev->max_qp_wr, dev->max_cqe), DRAIN_WRS) - DRAIN_WRS;
}

/* Fewest of an MR: two hold a page at any alignment, one none */
#define MR_PAGES	2U

/* A chunk has a segment for each MR, and a server may reject more (RFC 8267, 6.4.2) */
#define CHUNK_SEGS	16U

static bool plan_mrs(struct rpcrdma_queue_sizes *sizes,
		     const struct rpcrdma_queue_want *want,
		     const struct rpcrdma_device_limits *dev)
{
	u32 pages = max(want->payload_pages, MR_PAGES);

	if (!want->use_frwr)
		return true;
	if (dev->max_frwr_pages < MR_PAGES)
		return false;
	sizes->mr_pages = min(dev->max_frwr_pages, pages);
	sizes->mrs_per_payload = rpcrdma_div_up(pages, sizes->mr_pages);
	return sizes->mrs_per_payload <= CHUNK_SEGS;
}

/*
 * Calls that find slots for their data at once: more large RPCs than a connection
 * needs. A Call beyond them waits for slots, as one with more data does.
 */
#define DATA_CALLS	8U

/* Slots of the Send Queue for the data of a Call, or its MRs: REG_MR, LOCAL_INV */
static u64 data_wrs(const struct rpcrdma_queue_sizes *sizes,
		    const struct rpcrdma_queue_want *want)
{
	u64 mrs = sizes->mr_pages ? sizes->mrs_per_payload + EXTRA_MRS : 0;

	return 2 * mrs + want->rw_wrs;
}

/* Forward credits that fit beside the reverse ones; 0 if none */
static u32 fit_credits(const struct rpcrdma_queue_sizes *sizes,
		       const struct rpcrdma_queue_want *want,
		       const struct rpcrdma_device_limits *dev)
{
	u64 data = data_wrs(sizes, want);
	u32 room = queue_room(dev), credits;

	if (room < sizes->bc_credits + (1 + data))
		return 0;
	room -= sizes->bc_credits;
	credits = room / (1 + (u32)data);
	if (credits >= DATA_CALLS)
		credits = room - DATA_CALLS * data;
	if (want->use_frwr)
		credits = min(credits, dev->max_mr / sizes->mrs_per_payload);
	return min(credits, want->credits);
}

static bool plan_credits(struct rpcrdma_queue_sizes *sizes,
			 const struct rpcrdma_queue_want *want,
			 const struct rpcrdma_device_limits *dev)
{
	sizes->bc_credits = want->bc_credits;
	sizes->credits = fit_credits(sizes, want, dev);
	if (!sizes->credits && sizes->bc_credits > 1) {
		sizes->bc_credits = 1;
		sizes->credits = fit_credits(sizes, want, dev);
	}
	return sizes->credits;
}

/**
 * rpcrdma_plan_queues - how deep the queues of a connection must be
 * @sizes: result; undefined after an error
 * @want: wishes of the side
 * @dev: limits of the device
 *
 * Each queue has a CQ of its own and one WR for its drain. The Send Queue has
 * slots for the Sends of half the messages, as they leave it long before the next
 * ones. One of the first 8 credits costs a Requester REG_MR and LOCAL_INV for each
 * MR of the largest payload and for one more, a Responder @rw_wrs. Reverse messages
 * have no chunks (RFC 8167). A message that finds no slots waits for them.
 *
 * If the device has less, forward credits go down until they fit; then reverse
 * credits fall to one; batching of Receives takes the rest.
 *
 * Return: 0, or -EINVAL if the device cannot carry one forward credit (and one
 * reverse, if wanted), has no SGE, or needs more than 16 MRs to register the
 * largest payload, or has none.
 */
int rpcrdma_plan_queues(struct rpcrdma_queue_sizes *sizes,
			const struct rpcrdma_queue_want *want,
			const struct rpcrdma_device_limits *dev)
{
	u32 msgs;

	memset(sizes, 0, sizeof(*sizes));
	sizes->send_sge = min(max(want->send_sge, 1U), dev->max_send_sge);
	if (!sizes->send_sge || !dev->max_recv_sge)
		return -EINVAL;
	if (!plan_mrs(sizes, want, dev) || !plan_credits(sizes, want, dev))
		return -EINVAL;

	msgs = sizes->credits + sizes->bc_credits;
	sizes->sq_depth = rpcrdma_div_up(msgs, 2) +
			  min(sizes->credits, DATA_CALLS) * data_wrs(sizes, want) +
			  DRAIN_WRS;
	sizes->recvs = msgs + min(want->recv_batch, queue_room(dev) - msgs);
	sizes->rq_depth = sizes->recvs + DRAIN_WRS;
	return 0;
}

/* A connection with fewer is hardly of use: better fail, and retry later */
#define FEWEST_CREDITS	4U

/* Largest payloads that a Responder has slots for, whatever the credits */
#define RW_PAYLOADS	2U

/**
 * rpcrdma_plan_rw_wrs - Send Queue WRs per credit for RDMA Reads and Writes
 * @payload_pages: pages of the largest payload, worst alignment
 * @sges: SGEs that one of them may have
 * @credits: RPCs outstanding, at least one
 *
 * A chain that finds no slots waits, or goes in parts. But the queue should have
 * slots for one payload that is cut into several segments.
 *
 * Return: their number.
 */
u32 rpcrdma_plan_rw_wrs(u32 payload_pages, u32 sges, u32 credits)
{
	u32 wrs = rpcrdma_div_up(payload_pages, max(sges, 1U));

	return rpcrdma_div_up(max(RW_PAYLOADS * wrs, CHUNK_SEGS),
			      min(credits, DATA_CALLS));
}

/* Contexts of rdma_rw for each credit: one for each segment of a chunk */
#define RW_CTXS		4U

/* Least for one RPC: two chunks of sixteen segments each (RFC 8267, section 6.4.2) */
#define RW_LEAST	48U

/**
 * rpcrdma_plan_rw - contexts of rdma_rw, and Send Queue WRs beside them
 * @sizes: queues of the Responder
 * @large_reads: large RDMA Reads that may be in flight
 * @mrs: which operations take an MR
 *
 * rdma_rw adds a WR for each context to the WRs that it is asked for, or three
 * if the device may use MRs: REG_MR, the operation, and LOCAL_INV. All of them
 * are in the depth of the Send Queue already. It allocates an MR for each context
 * at the accept, so if only large Reads take one, there are no more than for these,
 * and one for each credit; but enough for two chunks, or a Call would be rejected.
 *
 * Return: both numbers; with the WRs that rdma_rw adds they make the depth or more.
 */
struct rpcrdma_rw_sizes
rpcrdma_plan_rw(const struct rpcrdma_queue_sizes *sizes, u32 large_reads,
		enum rpcrdma_rw_mrs mrs)
{
	u32 wrs = mrs == RPCRDMA_RW_MRS_NONE ? 1 : 3;
	struct rpcrdma_rw_sizes rw;

	rw.ctxs = mrs == RPCRDMA_RW_MRS_LARGE ? sizes->credits + large_reads :
						sizes->credits * RW_CTXS;
	rw.ctxs = max(min(rw.ctxs, (sizes->sq_depth - 1) / wrs), RW_LEAST);
	rw.send_wrs = max(sizes->sq_depth, rw.ctxs * wrs + 1) - rw.ctxs * wrs;
	return rw;
}

/**
 * rpcrdma_plan_fewer - lower the wishes after the device rejected the queues
 * @want: led to @tried; lowered to half of its credits, or less
 * @tried: queues that could not be made
 * @dev: limits of the device
 *
 * The limits of a device hold for the smallest WRs, or count other units; the
 * truth depends on the SGEs.
 *
 * Return: whether another attempt makes sense.
 */
bool rpcrdma_plan_fewer(struct rpcrdma_queue_want *want,
			const struct rpcrdma_queue_sizes *tried,
			const struct rpcrdma_device_limits *dev)
{
	u32 sges = min(min(dev->max_send_sge, dev->max_sge_rd), want->send_sge);
	u32 credits = tried->credits / 2;

	if (credits < FEWEST_CREDITS)
		return false;
	want->credits = credits;
	if (want->rw_wrs)
		want->rw_wrs = rpcrdma_plan_rw_wrs(want->payload_pages, sges, credits);
	return true;
}

/* A peer that sends so many Calls for each credit within a second could use more */
#define BUSY_CALLS	4U

/**
 * rpcrdma_plan_more_credits - is a connection so busy that it should have more credits?
 * @use: what was seen before; @since is the time of the connect at first
 * @credits: that it has
 * @calls: Calls that are being executed
 * @recvs: messages received so far
 * @now: the time
 * @second: one second, in the unit of @now
 *
 * A Responder cannot see the Calls that a Requester holds back for lack of credits,
 * only how many of those that it has are used at a time, and how often. Long Calls
 * must not use up the credits of others: so more than half of them are many, but not
 * half, since a Call may count until after the next one. Where there is no memory for
 * more, the same credits are asked about once a second.
 *
 * Return: true once for each time of frequent use, and when many are in use.
 */
bool rpcrdma_plan_more_credits(struct rpcrdma_credit_use *use, u32 credits,
			       u32 calls, u64 recvs, u64 now, u64 second)
{
	bool recent = now - use->since < second;
	bool many = calls > credits / 2 &&
		    (!recent || credits != use->credits);

	if (!many && recvs - use->recvs < (u64)credits * BUSY_CALLS)
		return false;
	use->credits = credits;
	use->recvs = recvs;
	use->since = now;
	return many || recent;
}

/**
 * rpcrdma_plan_grant - credits for the header of a message (RFC 8166, section 3.3.1)
 * @receivable: credits that there are Receives for, at least one
 * @least: that a connection has in any case, if it has Receives for them
 * @useful: Calls of all connections that keep the threads busy
 * @crowded: connections of which Calls wait
 *
 * More Calls of one connection than its share of @useful would not be executed
 * earlier, but delay those of others.
 *
 * Return: at least one.
 */
u32 rpcrdma_plan_grant(u32 receivable, u32 least, u32 useful, u32 crowded)
{
	return min(receivable, max(least, useful / max(crowded, 1U)));
}

/* More would need high orders of pages, which a machine runs out of */
#define RECV_BLOCK_MAX	32768U

/**
 * rpcrdma_plan_recv_block - how many Receive buffers to cut from one block
 * @size: bytes of a buffer, at least one
 * @page_size: bytes of a page
 *
 * Return: the fewest that fill whole pages, if the block is not too large; else 1.
 */
u32 rpcrdma_plan_recv_block(u32 size, u32 page_size)
{
	u32 n;

	for (n = 1; n <= RECV_BLOCK_MAX / size; n++)
		if (n * size % page_size == 0)
			return n;
	return 1;
}
