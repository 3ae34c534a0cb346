// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fuzz target: transfer modes and queue sizes for any shape and any device.
 * What is planned is worked out again, in numbers that cannot wrap.
 */
#include "fuzz.h"
#include "../../xprtrdma/plan.h"
#include "rpcrdma/queues.h"

/* Small numbers and borders often, anything sometimes */
static u32 draw_size(struct draw *draw)
{
	u8 kind = draw_u8(draw);

	switch (kind % 4) {
	case 0:
		return draw_u8(draw);
	case 1:
		return draw_u32(draw) % 10000;
	case 2:
		return (1U << (kind / 4 % 32)) + draw_u8(draw) - 128;
	default:
		return draw_u32(draw);
	}
}

static void draw_shape(struct draw *draw, struct xprt_rdma_call_shape *s)
{
	u8 flags = draw_u8(draw);

	s->head = draw_size(draw);
	s->pages = draw_size(draw);
	s->tail = draw_size(draw);
	s->tail_pad = draw_u8(draw) % 4;
	s->call_ddp = flags & 1;
	s->reply_max = draw_size(draw);
	s->reply_pages = draw_size(draw);
	s->reply_ddp = flags & 2;
	s->no_ddp = flags & 4;
	s->option = flags & 8;
	s->write_pad = flags & 16;
	s->inline_send = draw_size(draw);
	s->inline_recv = draw_size(draw);
	s->mr_bytes = draw_size(draw);
}

typedef unsigned __int128 wide;

static wide ref_segments(const struct xprt_rdma_call_shape *s, wide bytes)
{
	return s->mr_bytes ? (bytes + s->mr_bytes - 1) / s->mr_bytes : 1;
}

/* Header octets of a Call that offers nothing */
static u32 ref_empty(const struct xprt_rdma_call_shape *s)
{
	return s->option ? 44 : 28;
}

/* Header octets of a Call that offers what is planned */
static wide ref_header(const struct xprt_rdma_call_shape *s,
		       const struct xprt_rdma_call_plan *plan)
{
	wide bytes = plan->reply_chunk_bytes, pages = 0, len = ref_empty(s);

	if (plan->write_list)
		len += 8 + 16 * (ref_segments(s, s->reply_pages) + !!plan->write_pad);
	if (!plan->reply_chunk)
		return len;
	if (!plan->write_list)
		pages = min(s->reply_pages, plan->reply_chunk_bytes);
	len += 4 + 16 * ref_segments(s, bytes - pages);
	return pages ? len + 16 * (ref_segments(s, pages) + 1) : len;
}

static bool ref_read_chunk(const struct xprt_rdma_call_shape *s, wide header)
{
	wide rest = (wide)s->head + s->tail;

	if (!s->call_ddp || s->no_ddp || !s->pages || !s->head || s->head % 4)
		return false;
	rest -= s->tail_pad < s->tail ? s->tail_pad : s->tail;
	return header + 24 * ref_segments(s, s->pages) + rest <= s->inline_send;
}

static void check_mode(const struct xprt_rdma_call_shape *s,
		       const struct xprt_rdma_call_plan *plan)
{
	wide header = ref_header(s, plan);
	bool fits = header + s->head + s->pages + s->tail <= s->inline_send;

	PROPERTY(fits == (plan->mode == XPRT_RDMA_CALL_INLINE));
	if (!fits)
		PROPERTY(ref_read_chunk(s, header) ==
			 (plan->mode == XPRT_RDMA_CALL_READ_CHUNK));
}

static void check_call(const struct xprt_rdma_call_shape *s)
{
	u64 total = (u64)s->head + s->pages + s->tail;
	struct xprt_rdma_call_plan plan;

	xprt_rdma_plan_call(&plan, s);
	switch (plan.mode) {
	case XPRT_RDMA_CALL_INLINE:
		PROPERTY(total + ref_empty(s) <= s->inline_send);
		break;
	case XPRT_RDMA_CALL_READ_CHUNK:
		PROPERTY(s->call_ddp && !s->no_ddp && s->pages);
		PROPERTY(s->head && s->head % 4 == 0);
		PROPERTY(s->head < s->inline_send);
		break;
	case XPRT_RDMA_CALL_POSITION_ZERO:
		PROPERTY(total + ref_empty(s) > s->inline_send ||
			 plan.write_list || plan.reply_chunk);
		break;
	}
	check_mode(s, &plan);
	if (plan.write_list)
		PROPERTY(s->reply_ddp && !s->no_ddp && s->reply_pages);
	if (plan.write_list && s->write_pad)
		PROPERTY((s->reply_pages + plan.write_pad) % 4 == 0 && plan.write_pad < 4);
	else
		PROPERTY(!plan.write_pad);
	if (plan.reply_chunk)
		PROPERTY(plan.reply_chunk_bytes <= s->reply_max);
	else
		PROPERTY(!plan.reply_chunk_bytes);
	PROPERTY(((u64)s->reply_max + ref_empty(s) <= s->inline_recv) ==
		 (!plan.write_list && !plan.reply_chunk));
}

static void draw_queues(struct draw *draw, struct rpcrdma_queue_want *want,
			struct rpcrdma_device_limits *dev)
{
	want->credits = draw_size(draw);
	want->bc_credits = draw_size(draw);
	want->recv_batch = draw_size(draw);
	want->payload_pages = draw_size(draw);
	want->rw_wrs = draw_size(draw);
	want->send_sge = draw_u8(draw);
	want->use_frwr = draw_u8(draw) & 1;
	dev->max_qp_wr = draw_size(draw);
	dev->max_cqe = draw_size(draw);
	dev->max_send_sge = draw_u8(draw);
	dev->max_recv_sge = draw_u8(draw);
	dev->max_sge_rd = draw_u8(draw);
	dev->max_frwr_pages = draw_size(draw);
	dev->max_mr = draw_size(draw);
	dev->max_rd_atom = draw_u8(draw);
	dev->max_init_rd_atom = draw_u8(draw);
}

/* Do so many credits fit the device? */
static bool ref_fits(const struct rpcrdma_queue_want *want,
		     const struct rpcrdma_device_limits *dev, u64 credits,
		     u64 bc)
{
	wide room = min(dev->max_qp_wr, dev->max_cqe), mrs = 0, pages;

	if (want->use_frwr) {
		pages = max(want->payload_pages, 2U);
		if (dev->max_frwr_pages < 2)
			return false;
		mrs = (pages + dev->max_frwr_pages - 1) / dev->max_frwr_pages;
		/* Segments that each server takes in a chunk */
		if (mrs > 16)
			return false;
		if (credits * mrs > dev->max_mr)
			return false;
		mrs++;
	}
	/* Slots for the data of the first 8 Calls */
	return credits + min(credits, 8ULL) * (2 * mrs + want->rw_wrs) + bc + 1 <=
	       room;
}

/* No credit more than the device carries, and none less */
static void check_credits(const struct rpcrdma_queue_want *want,
			  const struct rpcrdma_device_limits *dev,
			  const struct rpcrdma_queue_sizes *s, int ret)
{
	u64 bc = want->bc_credits;

	if (!ref_fits(want, dev, 1, bc) && bc > 1)
		bc = 1;
	PROPERTY((ret == 0) == (want->credits && dev->max_send_sge &&
				dev->max_recv_sge &&
				ref_fits(want, dev, 1, bc)));
	if (ret)
		return;
	PROPERTY(s->bc_credits == bc);
	PROPERTY(ref_fits(want, dev, s->credits, bc));
	PROPERTY(s->credits == want->credits ||
		 !ref_fits(want, dev, (u64)s->credits + 1, bc));
}

static void check_queues(const struct rpcrdma_queue_want *want,
			 const struct rpcrdma_device_limits *dev)
{
	struct rpcrdma_queue_sizes s;
	int ret;

	ret = rpcrdma_plan_queues(&s, want, dev);
	PROPERTY(ret == 0 || ret == -EINVAL);
	check_credits(want, dev, &s, ret);
	if (ret)
		return;
	PROPERTY(s.credits >= 1 && s.credits <= want->credits);
	PROPERTY(s.bc_credits <= want->bc_credits);
	PROPERTY(!want->bc_credits == !s.bc_credits);
	PROPERTY(s.sq_depth <= dev->max_qp_wr && s.sq_depth <= dev->max_cqe);
	PROPERTY(s.rq_depth <= dev->max_qp_wr && s.rq_depth <= dev->max_cqe);
	PROPERTY(s.recvs == s.rq_depth - 1);
	PROPERTY(s.recvs >= (u64)s.credits + s.bc_credits);
	PROPERTY(2 * ((u64)s.sq_depth - 1) >= (u64)s.credits + s.bc_credits);
	PROPERTY(s.send_sge >= 1 && s.send_sge <= dev->max_send_sge);
	if (!want->use_frwr) {
		PROPERTY(!s.mr_pages && !s.mrs_per_payload);
		return;
	}
	PROPERTY(s.mr_pages >= 2 && s.mr_pages <= dev->max_frwr_pages);
	PROPERTY((u64)s.mr_pages * s.mrs_per_payload >= want->payload_pages);
	PROPERTY((u64)s.credits * s.mrs_per_payload <= dev->max_mr);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct draw draw = { data, size };
	struct rpcrdma_device_limits dev;
	struct xprt_rdma_call_shape shape;
	struct rpcrdma_queue_want want;

	draw_shape(&draw, &shape);
	check_call(&shape);
	draw_queues(&draw, &want, &dev);
	check_queues(&want, &dev);
	return 0;
}
