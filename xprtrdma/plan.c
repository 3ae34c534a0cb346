// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transfer mode of a Call, and the MRs of its chunks. Pure.
 */
#include "plan.h"

/* Segments for one registered range */
static u64 segments(const struct xprt_rdma_call_shape *shape, u32 bytes)
{
	return shape->mr_bytes ? rpcrdma_div_up(bytes, shape->mr_bytes) : 1;
}

/* Header bytes of a Write chunk (word 1, count) beyond an empty Write list */
static u64 write_list_len(const struct xprt_rdma_call_shape *shape)
{
	bool pad = shape->write_pad && shape->reply_pages % RPCRDMA_WORD;

	return 2 * RPCRDMA_WORD + RPCRDMA_SEGMENT_LEN *
	       (segments(shape, shape->reply_pages) + pad);
}

/*
 * Header bytes of the Reply chunk beyond its absence. The Reply buffer has
 * up to three ranges, head, pages and tail, each with segments of its own.
 */
static u64 reply_chunk_len(const struct xprt_rdma_call_shape *shape,
			   const struct xprt_rdma_call_plan *plan)
{
	u32 total = plan->reply_chunk_bytes;
	u32 pages = plan->write_list ? 0 : min(shape->reply_pages, total);
	u64 segs = segments(shape, total - pages);

	if (pages)
		segs += segments(shape, pages) + 1;
	return RPCRDMA_WORD + segs * RPCRDMA_SEGMENT_LEN;
}

/* @hdr: bytes of the Transport Header without chunks */
static void plan_reply(struct xprt_rdma_call_plan *plan,
		       const struct xprt_rdma_call_shape *shape, u64 hdr)
{
	u32 data = min(shape->reply_pages, shape->reply_max);
	u32 rest = shape->reply_max;

	if (rest + hdr <= shape->inline_recv)
		return;
	if (shape->reply_ddp && !shape->no_ddp && data) {
		plan->write_list = true;
		if (shape->write_pad)
			plan->write_pad = -shape->reply_pages % RPCRDMA_WORD;
		rest -= data;
		hdr += write_list_len(shape);
		if (rest + hdr <= shape->inline_recv)
			return;
	}
	plan->reply_chunk = true;
	plan->reply_chunk_bytes = rest;
}

static bool read_chunk_fits(const struct xprt_rdma_call_shape *s, u64 hdr)
{
	u64 rest = (u64)s->head + s->tail - min(s->tail_pad, s->tail);

	/* The chunk stands behind the head: that is its position */
	if (!s->pages || s->head % RPCRDMA_WORD || !s->head)
		return false;
	hdr += segments(s, s->pages) * RPCRDMA_READ_ITEM_LEN;
	return hdr + rest <= s->inline_send;
}

/*
 * Choose how a Call travels, and the chunks that it offers its Reply.
 *
 * The Call goes inline if it fits with its chunk lists. Otherwise its page data
 * go as a Read chunk if the Upper Layer Binding allows it and the rest fits, or
 * else the whole Call goes as a Position-Zero Read chunk (RFC 8166, sections
 * 3.5.3 and 4.3.3).
 *
 * A Write list is offered only for a Reply that may not fit inline. Header bytes
 * of the Reply chunk are an upper bound, as its buffer may have one segment
 * less. Beside a Write list they are of one range for head and tail, which are
 * short there.
 */
void xprt_rdma_plan_call(struct xprt_rdma_call_plan *plan,
			 const struct xprt_rdma_call_shape *shape)
{
	u64 total = (u64)shape->head + shape->pages + shape->tail;
	const struct rpcrdma_form form = { .option = shape->option };
	u64 hdr = rpcrdma_form_len(&form);

	memset(plan, 0, sizeof(*plan));
	plan_reply(plan, shape, hdr);
	if (plan->write_list)
		hdr += write_list_len(shape);
	if (plan->reply_chunk)
		hdr += reply_chunk_len(shape, plan);

	if (hdr + total <= shape->inline_send)
		plan->mode = XPRT_RDMA_CALL_INLINE;
	else if (shape->call_ddp && !shape->no_ddp &&
		 read_chunk_fits(shape, hdr))
		plan->mode = XPRT_RDMA_CALL_READ_CHUNK;
	else
		plan->mode = XPRT_RDMA_CALL_POSITION_ZERO;
}

/*
 * Does the chunk need an MR with gaps to be covered by one? A chunk of one range
 * does not, and devices translate an MR without gaps faster.
 */
bool xprt_rdma_plan_gaps(const struct xprt_rdma_mr_plan *plan)
{
	u32 i, ranges = 0;

	for (i = 0; i < XPRT_RDMA_RANGES; i++)
		ranges += !!plan->range[i].len;
	return ranges > 1;
}

/*
 * Plan the next MR of a chunk: as much as one can cover. Without gaps only the
 * first range of an MR may begin within a page, and only the last may end there.
 * Head and tail are split only if no MR can cover them.
 *
 * Return: pages that the MR touches; 0 if the chunk is covered.
 */
u32 xprt_rdma_plan_mr(struct xprt_rdma_mr_plan *plan)
{
	u32 used = 0, end = 0, i, need, len;

	memset(plan->take, 0, sizeof(plan->take));
	for (i = 0; i < XPRT_RDMA_RANGES && used < plan->mr_pages; i++) {
		len = plan->range[i].len;
		if (!len)
			continue;
		if (used && !plan->gaps && (end || plan->range[i].offset))
			break;
		need = rpcrdma_div_up(plan->range[i].offset + len,
				      plan->page_size);
		if (need > plan->mr_pages - used) {
			if (used && i != XPRT_RDMA_PAGES)
				break;
			need = plan->mr_pages - used;
			len = need * plan->page_size - plan->range[i].offset;
		}
		end = (plan->range[i].offset + len) % plan->page_size;
		plan->range[i].offset = end;
		plan->range[i].len -= len;
		plan->take[i] = len;
		used += need;
	}
	return used;
}
