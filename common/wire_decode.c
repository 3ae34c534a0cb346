// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading a Transport Header (RFC 8166, section 4): one pass that checks
 * everything, and iterators over the checked header. Pure.
 */
#include "rpcrdma/wire.h"

static const char *const fault_names[__RPCRDMA_FAULT_MAX] = {
	[RPCRDMA_FAULT_NONE]		= "none",
	[RPCRDMA_FAULT_SHORT]		= "message too short",
	[RPCRDMA_FAULT_VERSION]		= "version not supported",
	[RPCRDMA_FAULT_PROC]		= "unknown procedure",
	[RPCRDMA_FAULT_RESERVED]	= "reserved procedure",
	[RPCRDMA_FAULT_ERRCODE]		= "unknown error code",
	[RPCRDMA_FAULT_DISCRIMINATOR]	= "bad list discriminator",
	[RPCRDMA_FAULT_POSITION_ALIGN]	= "Read position unaligned",
	[RPCRDMA_FAULT_POSITION_OVERLAP] = "Read chunks overlap",
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
 * rpcrdma_fault_name - words for a fault, for the log
 * @fault: any value
 *
 * Return: a static string.
 */
const char *rpcrdma_fault_name(enum rpcrdma_fault fault)
{
	return (u32)fault < ARRAY_SIZE(fault_names) ? fault_names[fault] :
						      "unknown fault";
}

/* The word that says whether an optional item follows (RFC 4506, 4.19) */
static enum rpcrdma_fault dec_more(struct rpcrdma_decoder *dec, u32 *more)
{
	enum rpcrdma_fault fault = dec_u32(dec, more);

	if (!fault && *more > 1)
		fault = RPCRDMA_FAULT_DISCRIMINATOR;
	return fault;
}

/*
 * One segment, which is there. A Reply may invalidate the longest one, as it
 * costs the Requester most; of equals the first. A segment of fewer than four
 * bytes may be for padding, and registered for good: never that.
 */
static u32 dec_segment(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	u32 handle = get_u32(hdr->buf + dec->at);
	u32 length = get_u32(hdr->buf + dec->at + 4);

	dec->at += RPCRDMA_SEGMENT_LEN;
	if (length > dec->longest) {
		dec->longest = length;
		hdr->longest_handle = handle;
	}
	if (handle == hdr->inv_handle)
		hdr->inv_offered = true;
	return length;
}

/* Chunks come by their positions, as data items follow each other in the XDR stream */
static enum rpcrdma_fault add_read_chunk(struct rpcrdma_hdr *hdr, u32 position,
					 u64 bytes)
{
	if (!bytes)
		return RPCRDMA_FAULT_EMPTY;
	hdr->read_chunks++;
	if (!position) {
		if (hdr->proc != RPCRDMA_NOMSG)
			return RPCRDMA_FAULT_POSITION_ZERO;
		hdr->pzrc_bytes = bytes;
		hdr->msg_len = bytes;
		return RPCRDMA_FAULT_NONE;
	}
	if (position < hdr->ddp_end)
		return RPCRDMA_FAULT_POSITION_OVERLAP;
	/* XID and message type are never part of a data item */
	if (position < RPC_MIN_LEN)
		return RPCRDMA_FAULT_POSITION_RANGE;
	if (!hdr->ddp_first)
		hdr->ddp_first = position;
	hdr->ddp_position = position;
	hdr->ddp_end = position + rpcrdma_xdr_roundup(bytes);
	hdr->read_bytes += bytes;
	hdr->msg_len += rpcrdma_xdr_roundup(bytes);
	return RPCRDMA_FAULT_NONE;
}

/*
 * A pass over an unordered list for each of its positions: segments of which it
 * may have so many, whatever the receiver's limit is
 */
#define UNORDERED_SEGS	512U

/*
 * Segments of one position form a chunk (RFC 8166, section 3.4.5), wherever they
 * are in the list. Sums cannot wrap: fewer than 2^28 segments of less than 2^32
 * bytes fit.
 */
static enum rpcrdma_fault add_read_chunks(struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_read_iter it;
	enum rpcrdma_fault fault;
	u32 position;
	u64 bytes;
	bool more;

	if (hdr->reads_unordered && hdr->read_segs > UNORDERED_SEGS)
		return RPCRDMA_FAULT_TOO_MANY;
	rpcrdma_read_iter_init(&it, hdr);
	more = rpcrdma_read_iter_next(&it);
	do {
		position = it.position;
		bytes = 0;
		do {
			bytes += it.seg.length;
			more = rpcrdma_read_iter_next(&it);
		} while (more && it.position == position);
		fault = add_read_chunk(hdr, position, bytes);
	} while (more && !fault);
	return fault;
}

/*
 * Positions come in any order: no section of RFC 8166 restricts it. If a chunk is
 * malformed the rest of the header may be so in a way that matters more:
 * check_message() reports this fault.
 */
static enum rpcrdma_fault dec_read_list(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	u32 more, next, position = 0;
	enum rpcrdma_fault fault;

	hdr->reads = dec->at;
	for (;;) {
		fault = dec_more(dec, &more);
		if (fault)
			return fault;
		if (!more)
			break;
		if (dec->end - dec->at < RPCRDMA_WORD + RPCRDMA_SEGMENT_LEN)
			return RPCRDMA_FAULT_SHORT;
		dec_u32(dec, &next);
		if (++hdr->read_segs > dec->lim->max_read_segs)
			return RPCRDMA_FAULT_TOO_MANY;
		if (next % RPCRDMA_WORD)
			return RPCRDMA_FAULT_POSITION_ALIGN;
		hdr->reads_unordered |= next < position;
		position = next;
		dec_segment(dec);
	}
	if (hdr->read_segs)
		dec->read_fault = add_read_chunks(hdr);
	return RPCRDMA_FAULT_NONE;
}

/* The segments of one Write or Reply chunk, from their count on */
static enum rpcrdma_fault dec_chunk(struct rpcrdma_decoder *dec, u32 *segs,
				    u64 *bytes)
{
	enum rpcrdma_fault fault = dec_u32(dec, segs);
	u32 i;

	if (fault)
		return fault;
	if (*segs > (dec->end - dec->at) / RPCRDMA_SEGMENT_LEN)
		return RPCRDMA_FAULT_SEGMENT_COUNT;
	if (dec->hdr->write_segs + *segs > dec->lim->max_write_segs)
		return RPCRDMA_FAULT_TOO_MANY;
	*bytes = 0;
	for (i = 0; i < *segs; i++)
		*bytes += dec_segment(dec);
	return *bytes > dec->lim->max_message ? RPCRDMA_FAULT_TOO_LONG :
						RPCRDMA_FAULT_NONE;
}

static enum rpcrdma_fault dec_write_list(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;
	u32 more, segs;
	u64 bytes;

	hdr->writes = dec->at;
	for (;;) {
		fault = dec_more(dec, &more);
		if (fault || !more)
			return fault;
		if (++hdr->write_chunks > dec->lim->max_write_chunks)
			return RPCRDMA_FAULT_TOO_MANY;
		fault = dec_chunk(dec, &segs, &bytes);
		if (fault)
			return fault;
		hdr->write_segs += segs;
		if (hdr->write_chunks == 1)
			hdr->write_bytes = bytes;
	}
}

/* Inline part and Read chunks must give one RPC message */
static enum rpcrdma_fault check_message(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;

	hdr->body = dec->at;
	if (hdr->proc == RPCRDMA_MSG)
		hdr->body_len = hdr->len - dec->at;
	if (!hdr->option)
		hdr->direction = msg_direction(hdr);
	if (rpcrdma_is_v2(hdr->vers)) {
		fault = rpcrdma_v2_check_message(dec);
		if (fault)
			return fault;
	}
	if (dec->read_fault)
		return dec->read_fault;
	hdr->msg_len += hdr->body_len;
	if (hdr->ddp_end > hdr->msg_len)
		return RPCRDMA_FAULT_POSITION_RANGE;
	if (hdr->msg_len > dec->lim->max_message)
		return RPCRDMA_FAULT_TOO_LONG;
	if (hdr->proc == RPCRDMA_NOMSG && !hdr->pzrc_bytes)
		return hdr->reply ? RPCRDMA_FAULT_NONE :
				    RPCRDMA_FAULT_POSITION_ZERO;
	if ((hdr->pzrc_bytes ? hdr->pzrc_bytes : hdr->body_len) < RPC_MIN_LEN)
		return RPCRDMA_FAULT_SHORT;
	/* RFC 8166, section 4.2.1 */
	if (hdr->body_len && get_u32(hdr->buf + hdr->body) != hdr->xid)
		return RPCRDMA_FAULT_XID;
	/* RFC 8166, section 4.3.1 */
	if (hdr->read_segs && hdr->direction == RPCRDMA_DIR_REPLY)
		return RPCRDMA_FAULT_DIRECTION;
	return RPCRDMA_FAULT_NONE;
}

static enum rpcrdma_fault dec_message(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;
	u32 more = 0;

	fault = dec_read_list(dec);
	if (!fault)
		fault = dec_write_list(dec);
	if (!fault)
		fault = dec_more(dec, &more);
	if (!fault && more) {
		hdr->reply = dec->at;
		fault = dec_chunk(dec, &hdr->reply_segs, &hdr->reply_bytes);
	}
	return fault ? fault : check_message(dec);
}

static bool version_spoken(const struct rpcrdma_decoder *dec)
{
	u32 vers = dec->hdr->vers;

	return vers >= RPCRDMA_V1 && vers <= RPCRDMA_VERS_MAX &&
	       vers >= dec->lim->vers_min && vers <= dec->lim->vers_max;
}

static enum rpcrdma_fault dec_error(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault = dec_u32(dec, &hdr->errcode);

	if (hdr->errcode == RPCRDMA_ERR_VERS) {
		/* If there is no room for the first, there is none for both */
		dec_u32(dec, &hdr->err_vers_low);
		return dec_u32(dec, &hdr->err_vers_high);
	}
	if (!version_spoken(dec))
		return RPCRDMA_FAULT_VERSION;
	if (fault || hdr->errcode == RPCRDMA_ERR_CHUNK ||
	    (rpcrdma_is_v2(hdr->vers) && hdr->errcode == RPCRDMA_ERR_INVAL_OPTION))
		return fault;
	return RPCRDMA_FAULT_ERRCODE;
}

static enum rpcrdma_fault dec_header(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	const u8 *p = hdr->buf;
	enum rpcrdma_fault fault;

	if (hdr->len < RPCRDMA_FIXED_LEN) {
		/* As many of them as there are */
		dec_u32(dec, &hdr->xid);
		dec_u32(dec, &hdr->vers);
		dec_u32(dec, &hdr->credits);
		return RPCRDMA_FAULT_SHORT;
	}
	hdr->xid = get_u32(p);
	hdr->vers = get_u32(p + 4);
	hdr->credits = get_u32(p + 8);
	hdr->proc = get_u32(p + 12);
	dec->at = RPCRDMA_FIXED_LEN;
	if (hdr->proc == RPCRDMA_ERROR)
		return dec_error(dec);
	if (!version_spoken(dec))
		return RPCRDMA_FAULT_VERSION;
	if (rpcrdma_is_v2(hdr->vers)) {
		fault = rpcrdma_v2_dec_proc(dec);
		if (fault)
			return fault;
	}
	switch (hdr->proc) {
	case RPCRDMA_MSG:
	case RPCRDMA_NOMSG:
		return dec_message(dec);
	case RPCRDMA_DONE:
		return RPCRDMA_FAULT_RESERVED;
	default:
		return RPCRDMA_FAULT_PROC;
	}
}

/**
 * rpcrdma_decode - check a received Transport Header, all of it, once
 * @hdr: the view to fill; it borrows @buf
 * @buf: received bytes
 * @len: how many
 * @lim: limits of the receiver
 *
 * Nothing after this can fail: the iterators walk only checked bytes.
 *
 * Decisions where RFC 8166 leaves room:
 *
 * - ERR_VERS is accepted under any version, since its sender may speak none of
 *   ours. No other RDMA_ERROR of a foreign version is. Of an RDMA_ERROR that is
 *   truncated or of an unknown kind @xid, @proc and, if it is there, @errcode
 *   are set: a Requester can fail the Call it belongs to.
 * - A Write chunk of zero segments asks for its result inline (section
 *   4.3.2.3). A Reply chunk of zero segments is one without room.
 * - A Read chunk of zero bytes is rejected. A zero-length segment in a chunk
 *   that has other bytes is accepted and carries nothing.
 * - The Read list may have any order, but chunks must not overlap.
 * - RDMA_NOMSG needs a Position-Zero Read chunk (a Call) or a Reply chunk (a
 *   Reply), which may be empty. Bytes behind its chunk lists are ignored.
 * - An RPC message needs its XID and type, and the XID of the header (section
 *   4.2.1): the Requester waits for the XID in the header.
 *
 * Documentation/version-two.rst lists the additions of version 2.
 *
 * Return: @hdr->fault, which is zero for a header that is accepted.
 */
enum rpcrdma_fault rpcrdma_decode(struct rpcrdma_hdr *hdr, const void *buf,
				  u32 len, const struct rpcrdma_limits *lim)
{
	struct rpcrdma_decoder dec = {
		.hdr = hdr, .lim = lim, .end = len, .longest = RPCRDMA_WORD - 1,
	};

	memset(hdr, 0, sizeof(*hdr));
	hdr->buf = buf;
	hdr->len = len;
	hdr->direction = RPCRDMA_DIR_UNKNOWN;
	hdr->fault = dec_header(&dec);
	return hdr->fault;
}

/**
 * rpcrdma_read_iter_init - begin a walk over the Read list
 * @it: iterator; borrows @hdr
 * @hdr: accepted header
 */
void rpcrdma_read_iter_init(struct rpcrdma_read_iter *it,
			    const struct rpcrdma_hdr *hdr)
{
	memset(it, 0, sizeof(*it));
	it->hdr = hdr;
	it->at = hdr->reads;
	it->left = hdr->read_segs;
	it->above = U32_MAX;
}

/**
 * rpcrdma_read_iter_next - step to the next Read segment
 * @it: iterator; @position and @seg are set
 *
 * Segments come in the order of their positions, and those of one position in
 * the order of the list, those of length zero included. If the list has another
 * order, it is searched once for each position.
 *
 * Return: false when there is no other.
 */
bool rpcrdma_read_iter_next(struct rpcrdma_read_iter *it)
{
	const struct rpcrdma_hdr *hdr = it->hdr;
	u32 position;
	const u8 *p;

	for (;;) {
		while (it->left) {
			p = hdr->buf + it->at;
			it->left--;
			it->at += RPCRDMA_READ_ITEM_LEN;
			position = get_u32(p + RPCRDMA_WORD);
			if (position == it->position || !hdr->reads_unordered) {
				it->position = position;
				get_segment(p + 2 * RPCRDMA_WORD, &it->seg);
				return true;
			}
			if (position > it->position)
				it->above = min(it->above, position);
		}
		/* No position: it is not a multiple of four */
		if (it->above == U32_MAX)
			return false;
		it->position = it->above;
		it->above = U32_MAX;
		it->at = hdr->reads;
		it->left = hdr->read_segs;
	}
}

/* @at: offset of the segment count. Return: offset behind the chunk. */
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
 * Return: false if there is none.
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
 * rpcrdma_chunk_segment - one segment of a Write or Reply chunk
 * @chunk: from an iterator or rpcrdma_hdr_reply_chunk()
 * @index: less than @chunk->segs
 * @seg: result
 */
void rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, u32 index,
			   struct rpcrdma_segment *seg)
{
	get_segment(chunk->hdr->buf + chunk->at + index * RPCRDMA_SEGMENT_LEN,
		    seg);
}
