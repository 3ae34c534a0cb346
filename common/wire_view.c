// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Looking at a Transport Header that rpcrdma_decode() has checked: direction,
 * iterators that cannot fail, and words for a fault. Pure.
 */
#include "rpcrdma/wire.h"
#include "rpcrdma/wire_get.h"

static const char *const fault_names[__RPCRDMA_FAULT_MAX] = {
	[RPCRDMA_FAULT_NONE]		= "none",
	[RPCRDMA_FAULT_SHORT]		= "message too short",
	[RPCRDMA_FAULT_VERSION]		= "version not supported",
	[RPCRDMA_FAULT_PROC]		= "unknown procedure",
	[RPCRDMA_FAULT_RESERVED]	= "reserved procedure",
	[RPCRDMA_FAULT_ERRCODE]		= "unknown error code",
	[RPCRDMA_FAULT_DISCRIMINATOR]	= "bad list discriminator",
	[RPCRDMA_FAULT_POSITION_ALIGN]	= "Read position unaligned",
	[RPCRDMA_FAULT_POSITION_ORDER]	= "Read positions descend or overlap",
	[RPCRDMA_FAULT_POSITION_RANGE]	= "Read position past the message",
	[RPCRDMA_FAULT_POSITION_ZERO]	= "wrong use of Position Zero",
	[RPCRDMA_FAULT_SEGMENT_COUNT]	= "bad segment count",
	[RPCRDMA_FAULT_TOO_MANY]	= "too many segments or chunks",
	[RPCRDMA_FAULT_TOO_LONG]	= "message or chunk too long",
	[RPCRDMA_FAULT_EMPTY]		= "empty Read chunk",
	[RPCRDMA_FAULT_XID]		= "XIDs differ",
	[RPCRDMA_FAULT_DIRECTION]	= "Read list in a Reply",
	[RPCRDMA_FAULT_OPTION]		= "unknown option",
	[RPCRDMA_FAULT_OPTINFO]		= "option data too long",
	[RPCRDMA_FAULT_OPT_DIRECTION]	= "wrong rdma_direction",
	[RPCRDMA_FAULT_PAYLOAD]		= "octets behind the header",
};

/**
 * rpcrdma_fault_name - words for a fault
 * @fault: any value
 *
 * Context: Any context.
 * Return: a static string, never NULL.
 */
const char *rpcrdma_fault_name(enum rpcrdma_fault fault)
{
	if ((u32)fault >= ARRAY_SIZE(fault_names))
		return "unknown fault";
	return fault_names[fault];
}

/**
 * rpcrdma_hdr_direction - Call or Reply?
 * @hdr: a header from rpcrdma_decode()
 *
 * rdma_direction says it, where there is one, and then holds whatever fault
 * was found behind it.
 *
 * Context: Any context.
 * Return: the direction, as far as header and message can tell.
 */
enum rpcrdma_direction rpcrdma_hdr_direction(const struct rpcrdma_hdr *hdr)
{
	return hdr_direction(hdr);
}

/**
 * rpcrdma_read_iter_init - begin a walk over the Read list
 * @it: iterator; borrows @hdr
 * @hdr: accepted header
 *
 * Context: Any context.
 */
void rpcrdma_read_iter_init(struct rpcrdma_read_iter *it,
			    const struct rpcrdma_hdr *hdr)
{
	memset(it, 0, sizeof(*it));
	it->hdr = hdr;
	it->at = hdr->reads;
	it->left = hdr->read_segs;
}

/**
 * rpcrdma_read_iter_next - step to the next Read segment
 * @it: iterator; @position and @seg are set
 *
 * Segments come in the order of the list, and so of their positions; those of
 * length zero are returned too.
 *
 * Context: Any context.
 * Return: false when there is no other.
 */
bool rpcrdma_read_iter_next(struct rpcrdma_read_iter *it)
{
	const u8 *p = it->hdr->buf + it->at;

	if (!it->left)
		return false;
	it->left--;
	it->at += RPCRDMA_READ_ITEM_LEN;
	it->position = get_u32(p + RPCRDMA_WORD);
	get_segment(p + 2 * RPCRDMA_WORD, &it->seg);
	return true;
}

/* @at: where the segment count stands. Return: offset behind the chunk. */
static u32 view_chunk(const struct rpcrdma_hdr *hdr, u32 at,
		      struct rpcrdma_chunk *chunk)
{
	struct rpcrdma_segment seg;
	u32 i;

	chunk->hdr = hdr;
	chunk->segs = get_u32(hdr->buf + at);
	chunk->at = at + RPCRDMA_WORD;
	chunk->bytes = 0;
	for (i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		chunk->bytes += seg.length;
	}
	return chunk->at + chunk->segs * RPCRDMA_SEGMENT_LEN;
}

/**
 * rpcrdma_write_iter_init - begin a walk over the Write list
 * @it: iterator; borrows @hdr
 * @hdr: accepted header
 *
 * Context: Any context.
 */
void rpcrdma_write_iter_init(struct rpcrdma_write_iter *it,
			     const struct rpcrdma_hdr *hdr)
{
	memset(it, 0, sizeof(*it));
	it->hdr = hdr;
	it->at = hdr->writes;
	it->left = hdr->write_chunks;
}

/**
 * rpcrdma_write_iter_next - step to the next Write chunk
 * @it: iterator; @chunk is set, and borrows the header
 *
 * Context: Any context.
 * Return: false when there is no other.
 */
bool rpcrdma_write_iter_next(struct rpcrdma_write_iter *it)
{
	if (!it->left)
		return false;
	it->left--;
	it->at = view_chunk(it->hdr, it->at + RPCRDMA_WORD, &it->chunk);
	return true;
}

/**
 * rpcrdma_hdr_reply_chunk - the Reply chunk, if there is one
 * @hdr: accepted header
 * @chunk: set only if there is; borrows @hdr
 *
 * Context: Any context.
 * Return: whether there is a Reply chunk.
 */
bool rpcrdma_hdr_reply_chunk(const struct rpcrdma_hdr *hdr,
			     struct rpcrdma_chunk *chunk)
{
	if (!hdr->reply)
		return false;
	view_chunk(hdr, hdr->reply, chunk);
	return true;
}

/**
 * rpcrdma_hdr_one_segment - the segment that is all that the chunk lists have
 * @hdr: accepted header
 * @seg: set only if there is such a one: see @one of struct rpcrdma_hdr
 *
 * Context: Any context.
 * Return: whether there is one.
 */
bool rpcrdma_hdr_one_segment(const struct rpcrdma_hdr *hdr,
			     struct rpcrdma_segment *seg)
{
	return hdr_one_segment(hdr, seg);
}

/**
 * rpcrdma_chunk_segment - one segment of a Write or Reply chunk
 * @chunk: from an iterator or rpcrdma_hdr_reply_chunk()
 * @index: which; less than @chunk->segs
 * @seg: result
 *
 * Context: Any context.
 */
void rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, u32 index,
			   struct rpcrdma_segment *seg)
{
	get_segment(chunk->hdr->buf + chunk->at + index * RPCRDMA_SEGMENT_LEN,
		    seg);
}
