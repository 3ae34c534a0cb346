// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transfer mode of a Call, and the handle to invalidate with its Reply. Pure.
 */
#include "rpcrdma/plan.h"
#include "rpcrdma/wire_get.h"

/* Octets of a Transport Header without chunks, of Call and Reply */
static u32 header_len(const struct rpcrdma_call_shape *shape)
{
	const struct rpcrdma_form form = { .option = shape->option };

	return rpcrdma_form_len(&form);
}

/* Segments for one registered range */
static u64 segments(const struct rpcrdma_call_shape *shape, u32 bytes)
{
	return shape->mr_bytes ? rpcrdma_div_up(bytes, shape->mr_bytes) : 1;
}

/* Header octets of a Write chunk (word 1, count) beyond an empty Write list */
static u64 write_list_len(const struct rpcrdma_call_shape *shape)
{
	return 2 * RPCRDMA_WORD +
	       segments(shape, shape->reply_pages) * RPCRDMA_SEGMENT_LEN;
}

/*
 * Header octets of the Reply chunk beyond its absence. The Reply buffer has
 * up to three ranges, head, pages and tail, each with segments of its own.
 */
static u64 reply_chunk_len(const struct rpcrdma_call_shape *shape,
			   const struct rpcrdma_call_plan *plan)
{
	u32 total = plan->reply_chunk_bytes;
	u32 pages = plan->write_list ? 0 : min(shape->reply_pages, total);
	u64 segs = segments(shape, total - pages);

	if (pages)
		segs += segments(shape, pages) + 1;
	return RPCRDMA_WORD + segs * RPCRDMA_SEGMENT_LEN;
}

static void plan_reply(struct rpcrdma_call_plan *plan,
		       const struct rpcrdma_call_shape *shape)
{
	u32 data = min(shape->reply_pages, shape->reply_max);
	u32 rest = shape->reply_max;
	u64 hdr = header_len(shape);

	if (rest + hdr <= shape->inline_recv)
		return;
	if (shape->reply_ddp && !shape->no_ddp && data) {
		plan->write_list = true;
		rest -= data;
		hdr += write_list_len(shape);
		if (rest + hdr <= shape->inline_recv)
			return;
	}
	plan->reply_chunk = true;
	plan->reply_chunk_bytes = rest;
}

static enum rpcrdma_call_mode inline_mode(const struct rpcrdma_call_shape *s)
{
	if (!s->pages)
		return RPCRDMA_CALL_INLINE;
	return rpcrdma_plan_gathers(s->pages, s->page_count, s->pullup_max,
				    s->page_sges) ? RPCRDMA_CALL_INLINE :
						    RPCRDMA_CALL_PULLUP;
}

static bool read_chunk_fits(const struct rpcrdma_call_shape *s, u64 hdr)
{
	u64 rest = (u64)s->head + s->tail - min(s->tail_pad, s->tail);

	/* The chunk stands behind the head: that is its position */
	if (!s->pages || s->head % RPCRDMA_WORD || !s->head)
		return false;
	hdr += segments(s, s->pages) * RPCRDMA_READ_ITEM_LEN;
	return hdr + rest <= s->inline_send;
}

/**
 * rpcrdma_plan_call - choose how a Call travels and what it offers its Reply
 * @plan: result
 * @shape: what the Requester knows
 *
 * The Call goes inline whenever it fits with its chunk lists. Its page data
 * are copied when they are small or have more pages than the Send has SGEs;
 * so whoever asks must be able to copy whatever fits the inline threshold.
 * What does not fit goes as a Read chunk if the Upper Layer Binding allows it
 * and the remainder fits, else all of it as a Position-Zero Read chunk
 * (RFC 8166, sections 3.5.3 and 4.3.3).
 *
 * A Write list is offered only for a Reply that may not fit inline. Header
 * octets of chunks are counted from @mr_bytes. Those of the Reply chunk are an upper
 * bound, as its buffer may have one segment less; beside a Write list they are of one range
 * for head and tail, which are short there. A @mr_bytes of 0 counts as "any range fits one
 * MR".
 *
 * Context: Any context.
 */
void rpcrdma_plan_call(struct rpcrdma_call_plan *plan,
		       const struct rpcrdma_call_shape *shape)
{
	u64 total = (u64)shape->head + shape->pages + shape->tail;
	u64 hdr = header_len(shape);

	memset(plan, 0, sizeof(*plan));
	plan_reply(plan, shape);
	if (plan->write_list)
		hdr += write_list_len(shape);
	if (plan->reply_chunk)
		hdr += reply_chunk_len(shape, plan);

	if (hdr + total <= shape->inline_send)
		plan->mode = inline_mode(shape);
	else if (shape->call_ddp && !shape->no_ddp &&
		 read_chunk_fits(shape, hdr))
		plan->mode = RPCRDMA_CALL_READ_CHUNK;
	else
		plan->mode = RPCRDMA_CALL_POSITION_ZERO;
}

/* One more than what fits behind a header; 0 if the header does not */
static u32 room_behind(u32 hdr, u32 threshold)
{
	return threshold < hdr ? 0 : threshold - hdr + 1;
}

/**
 * rpcrdma_plan_plain - which Calls need no plan
 * @plain: result, for rpcrdma_plan_is_plain()
 * @form: how Call and Reply are written
 * @inline_send: inline threshold for the Call
 * @inline_recv: inline threshold for the Reply
 *
 * rpcrdma_plan_call() offers nothing when the longest Reply fits inline behind
 * a header without chunks; then the Call's header has none either.
 *
 * Context: Any context.
 */
void rpcrdma_plan_plain(struct rpcrdma_plain *plain,
			const struct rpcrdma_form *form, u32 inline_send,
			u32 inline_recv)
{
	u32 hdr = rpcrdma_form_len(form);

	plain->call = room_behind(hdr, inline_send);
	plain->reply = room_behind(hdr, inline_recv);
}

/**
 * rpcrdma_longer_segment - the segment that costs most to invalidate
 * @best: the longest so far; to begin with, of length 0 or what is too short
 * @seg: another; the first of equals counts
 *
 * Context: Any context.
 */
void rpcrdma_longer_segment(struct rpcrdma_segment *best,
			    const struct rpcrdma_segment *seg)
{
	if (seg->length > best->length)
		*best = *seg;
}

/* @at: where the segment count stands. Return: offset behind the chunk. */
static u32 longest_of_chunk(struct rpcrdma_segment *best,
			    const struct rpcrdma_hdr *hdr, u32 at)
{
	u32 segs = get_u32(hdr->buf + at);
	struct rpcrdma_segment seg;

	for (at += RPCRDMA_WORD; segs; segs--, at += RPCRDMA_SEGMENT_LEN) {
		get_segment(hdr->buf + at, &seg);
		rpcrdma_longer_segment(best, &seg);
	}
	return at;
}

/*
 * The longest segment of Read list, Write list and Reply chunk costs the
 * Requester most to invalidate. One shorter than four octets may be a pad
 * segment that its owner keeps registered: never that.
 */
static noinline u32 longest_of_all(const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_segment best = { .length = RPCRDMA_WORD - 1 };
	u32 i, at = hdr->writes, read = hdr->reads;
	struct rpcrdma_segment seg;

	/* Each item begins with the word that says that it is there */
	for (i = 0; i < hdr->read_segs; i++, read += RPCRDMA_READ_ITEM_LEN) {
		get_segment(hdr->buf + read + 2 * RPCRDMA_WORD, &seg);
		rpcrdma_longer_segment(&best, &seg);
	}
	for (i = 0; i < hdr->write_chunks; i++)
		at = longest_of_chunk(&best, hdr, at + RPCRDMA_WORD);
	if (hdr->reply)
		longest_of_chunk(&best, hdr, hdr->reply);
	return best.handle;
}

static u32 longest_handle(const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_segment seg;

	if (!hdr_one_segment(hdr, &seg))
		return longest_of_all(hdr);
	return seg.length < RPCRDMA_WORD ? 0 : seg.handle;
}

static bool chunk_has_handle(const struct rpcrdma_chunk *chunk, u32 handle)
{
	struct rpcrdma_segment seg;
	u32 i;

	for (i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		if (seg.handle == handle)
			return true;
	}
	return false;
}

static noinline bool any_has_handle(const struct rpcrdma_hdr *hdr, u32 handle)
{
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_chunk reply;

	rpcrdma_read_iter_init(&reads, hdr);
	while (rpcrdma_read_iter_next(&reads))
		if (reads.seg.handle == handle)
			return true;
	rpcrdma_write_iter_init(&writes, hdr);
	while (rpcrdma_write_iter_next(&writes))
		if (chunk_has_handle(&writes.chunk, handle))
			return true;
	return rpcrdma_hdr_reply_chunk(hdr, &reply) &&
	       chunk_has_handle(&reply, handle);
}

static bool has_handle(const struct rpcrdma_hdr *hdr, u32 handle)
{
	struct rpcrdma_segment seg;

	if (!hdr_one_segment(hdr, &seg))
		return any_has_handle(hdr, handle);
	return seg.handle == handle;
}

/**
 * rpcrdma_hdr_inv_handle - which handle to invalidate with the Reply
 * @hdr: accepted header of a Call
 * @announced: both sides announced remote invalidation in their private data,
 *	which binds version one (RFC 8797, section 4.1)
 * @able: our own device can send such a message
 *
 * Version one leaves the choice to the Responder: the longest segment, and of
 * equals the first. Version two leaves it to the Requester, and only the
 * option lets it choose; what it names must be of the Call's own chunks, or it
 * might be another RPC's (draft-cel-nfsv4-reminv-design-03, section 5.3).
 *
 * Context: Any context.
 * Return: a handle, or 0 when there is none to invalidate.
 */
u32 rpcrdma_hdr_inv_handle(const struct rpcrdma_hdr *hdr, bool announced,
			   bool able)
{
	if (hdr->vers == RPCRDMA_V1)
		return announced ? longest_handle(hdr) : 0;
	/* Without the option it is zero, and nobody's */
	return able && has_handle(hdr, hdr->inv_handle) ? hdr->inv_handle : 0;
}
