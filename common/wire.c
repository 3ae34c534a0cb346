// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading an RPC-over-RDMA Transport Header (RFC 8166, section 4; version two:
 * draft-cel-nfsv4-rpcrdma-version-two-00, section 4): one decoder that checks
 * everything once. What most messages are like wire_short.c knows. Pure.
 */
#include "rpcrdma/wire.h"
#include "rpcrdma/wire_get.h"

/**
 * struct decoder - state of one rpcrdma_decode()
 * @hdr: the view that is being filled
 * @lim: what the receiver takes
 * @at: offset of the next octet to look at, never past @end
 * @end: where the octets end: those of the message, or of rdma_optinfo
 */
struct decoder {
	struct rpcrdma_hdr		*hdr;
	const struct rpcrdma_limits	*lim;
	u32				at;
	u32				end;
};

/**
 * struct option - a kind of RDMA_OPTIONAL that we know
 * @opttype: rdma_opttype
 * @proc: the procedure that it stands for
 * @decode: reads what its data have before the chunk lists
 */
struct option {
	u32			opttype;
	enum rpcrdma_proc	proc;
	enum rpcrdma_fault	(*decode)(struct decoder *dec);
};

static u32 room(const struct decoder *dec)
{
	return dec->end - dec->at;
}

static enum rpcrdma_fault dec_u32(struct decoder *dec, u32 *value)
{
	if (room(dec) < RPCRDMA_WORD)
		return RPCRDMA_FAULT_SHORT;
	*value = get_u32(dec->hdr->buf + dec->at);
	dec->at += RPCRDMA_WORD;
	return RPCRDMA_FAULT_NONE;
}

/* The word that says whether an optional item follows (RFC 4506, 4.19) */
static enum rpcrdma_fault dec_more(struct decoder *dec, u32 *more)
{
	enum rpcrdma_fault fault = dec_u32(dec, more);

	if (!fault && *more > 1)
		fault = RPCRDMA_FAULT_DISCRIMINATOR;
	return fault;
}

/*
 * A Read segment's position must be that of the chunk before it, or behind
 * it: segments of one position belong together (RFC 8166, section 3.4.5), and
 * data items follow each other in the XDR stream.
 */
static enum rpcrdma_fault dec_read_segment(struct decoder *dec, u32 *previous)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	u32 position;

	if (room(dec) < RPCRDMA_WORD + RPCRDMA_SEGMENT_LEN)
		return RPCRDMA_FAULT_SHORT;
	position = get_u32(hdr->buf + dec->at);
	dec->at += RPCRDMA_WORD + RPCRDMA_SEGMENT_LEN;

	if (++hdr->read_segs > dec->lim->max_read_segs)
		return RPCRDMA_FAULT_TOO_MANY;
	if (position % RPCRDMA_WORD)
		return RPCRDMA_FAULT_POSITION_ALIGN;
	if (position < *previous)
		return RPCRDMA_FAULT_POSITION_ORDER;
	if (hdr->read_segs == 1 || position != *previous)
		hdr->read_chunks++;
	*previous = position;
	return RPCRDMA_FAULT_NONE;
}

static enum rpcrdma_fault dec_read_list(struct decoder *dec)
{
	enum rpcrdma_fault fault;
	u32 more, previous = 0;

	for (;;) {
		fault = dec_more(dec, &more);
		if (fault || !more)
			return fault;
		fault = dec_read_segment(dec, &previous);
		if (fault)
			return fault;
	}
}

/* The segments of one Write or Reply chunk, from their count on */
static enum rpcrdma_fault dec_segments(struct decoder *dec, u32 *segs,
				       u64 *bytes)
{
	struct rpcrdma_segment seg;
	enum rpcrdma_fault fault = dec_u32(dec, segs);
	u32 i;

	if (fault)
		return fault;
	if (*segs > room(dec) / RPCRDMA_SEGMENT_LEN)
		return RPCRDMA_FAULT_SEGMENT_COUNT;
	if (dec->hdr->write_segs + *segs > dec->lim->max_write_segs)
		return RPCRDMA_FAULT_TOO_MANY;

	*bytes = 0;
	for (i = 0; i < *segs; i++) {
		get_segment(dec->hdr->buf + dec->at, &seg);
		*bytes += seg.length;
		dec->at += RPCRDMA_SEGMENT_LEN;
	}
	return *bytes > dec->lim->max_message ? RPCRDMA_FAULT_TOO_LONG :
						RPCRDMA_FAULT_NONE;
}

static enum rpcrdma_fault dec_write_list(struct decoder *dec)
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
		fault = dec_segments(dec, &segs, &bytes);
		if (fault)
			return fault;
		hdr->write_segs += segs;
		if (hdr->write_chunks == 1)
			hdr->write_bytes = bytes;
	}
}

static enum rpcrdma_fault dec_reply_chunk(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;
	u32 more;

	fault = dec_more(dec, &more);
	if (fault || !more)
		return fault;
	hdr->reply = dec->at;
	return dec_segments(dec, &hdr->reply_segs, &hdr->reply_bytes);
}

static enum rpcrdma_fault dec_chunk_lists(struct decoder *dec)
{
	enum rpcrdma_fault fault;

	dec->hdr->reads = dec->at;
	fault = dec_read_list(dec);
	if (!fault)
		fault = dec_write_list(dec);
	if (!fault)
		fault = dec_reply_chunk(dec);
	return fault;
}

/*
 * Enter one whole Read chunk into the account of the message. All that was
 * entered so far, and all of the base (the inline body, or the Position-Zero
 * Read chunk), can stand before it; nothing can be further back.
 */
static enum rpcrdma_fault add_read_chunk(struct rpcrdma_hdr *hdr, u32 position,
					 u64 bytes)
{
	if (!bytes)
		return RPCRDMA_FAULT_EMPTY;
	if (!position) {
		if (hdr->proc != RPCRDMA_NOMSG)
			return RPCRDMA_FAULT_POSITION_ZERO;
		hdr->pz_bytes = bytes;
		hdr->msg_len = bytes;
		return RPCRDMA_FAULT_NONE;
	}
	if (position < hdr->item_end)
		return RPCRDMA_FAULT_POSITION_ORDER;
	/* XID and message type are never part of a data item */
	if (position < RPC_MIN_LEN)
		return RPCRDMA_FAULT_POSITION_RANGE;
	if (position > hdr->msg_len)
		return RPCRDMA_FAULT_POSITION_RANGE;
	hdr->item = position;
	hdr->item_end = position + rpcrdma_xdr_roundup(bytes);
	hdr->read_bytes += bytes;
	hdr->msg_len += rpcrdma_xdr_roundup(bytes);
	return RPCRDMA_FAULT_NONE;
}

/* Sums cannot wrap: fewer than 2^28 segments of less than 2^32 octets fit */
static noinline enum rpcrdma_fault check_read_chunks(struct rpcrdma_hdr *hdr)
{
	enum rpcrdma_fault fault = RPCRDMA_FAULT_NONE;
	struct rpcrdma_read_iter it;
	u64 bytes = 0;
	u32 position = 0;

	rpcrdma_read_iter_init(&it, hdr);
	while (!fault && rpcrdma_read_iter_next(&it)) {
		if (it.left + 1 < hdr->read_segs && it.position != position) {
			fault = add_read_chunk(hdr, position, bytes);
			bytes = 0;
		}
		position = it.position;
		bytes += it.seg.length;
	}
	if (!fault)
		fault = add_read_chunk(hdr, position, bytes);
	return fault;
}

/* What the Transport Header announces must give one RPC message */
static __always_inline enum rpcrdma_fault check_message(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;

	hdr->body = dec->at;
	if (hdr->proc == RPCRDMA_MSG)
		hdr->body_len = room(dec);
	else if (hdr->vers != RPCRDMA_V1 && room(dec))
		return RPCRDMA_FAULT_PAYLOAD;
	hdr->msg_len = hdr->body_len;
	if (hdr->read_segs) {
		fault = check_read_chunks(hdr);
		if (fault)
			return fault;
	}

	/* Extents count in 32 bits, whatever the limit says */
	if (hdr->msg_len > min_t(u64, dec->lim->max_message, U32_MAX))
		return RPCRDMA_FAULT_TOO_LONG;
	if (hdr->proc == RPCRDMA_NOMSG && !hdr->pz_bytes)
		return hdr->reply ? RPCRDMA_FAULT_NONE :
				    RPCRDMA_FAULT_POSITION_ZERO;
	if ((hdr->pz_bytes ? hdr->pz_bytes : hdr->body_len) < RPC_MIN_LEN)
		return RPCRDMA_FAULT_SHORT;
	if (hdr->body_len && get_u32(hdr->buf + hdr->body) != hdr->xid)
		return RPCRDMA_FAULT_XID;
	if (hdr->option && hdr->body_len &&
	    hdr_msg_direction(hdr) != hdr->direction)
		return RPCRDMA_FAULT_OPT_DIRECTION;
	if (hdr->read_segs &&
	    hdr_direction(hdr) == RPCRDMA_DIR_REPLY)
		return RPCRDMA_FAULT_DIRECTION;
	return RPCRDMA_FAULT_NONE;
}

/* The codec itself knows two versions; the limits may exclude them too */
static bool version_spoken(const struct decoder *dec)
{
	u32 vers = dec->hdr->vers;

	return (vers == RPCRDMA_V1 || vers == RPCRDMA_V2) &&
	       vers >= dec->lim->vers_min && vers <= dec->lim->vers_max;
}

/* BAD_HEADER of version two has the code of ERR_CHUNK */
static bool errcode_known(const struct rpcrdma_hdr *hdr)
{
	return hdr->errcode == RPCRDMA_ERR_CHUNK ||
	       (hdr->errcode == RPCRDMA_ERR_INVAL_OPTION &&
		hdr->vers == RPCRDMA_V2);
}

static noinline enum rpcrdma_fault dec_error(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault = dec_u32(dec, &hdr->errcode);

	if (hdr->errcode != RPCRDMA_ERR_VERS && !version_spoken(dec))
		return RPCRDMA_FAULT_VERSION;
	if (fault || errcode_known(hdr))
		return fault;
	if (hdr->errcode != RPCRDMA_ERR_VERS)
		return RPCRDMA_FAULT_ERRCODE;
	/* What is too short for the one is for the other */
	dec_u32(dec, &hdr->err_vers_low);
	return dec_u32(dec, &hdr->err_vers_high);
}

/* Fixed fields, as far as the octets reach; the others stay zero */
static noinline enum rpcrdma_fault dec_part_of_fixed(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	u32 words = hdr->len / RPCRDMA_WORD;

	if (words > 0)
		hdr->xid = get_u32(hdr->buf);
	if (words > 1)
		hdr->vers = get_u32(hdr->buf + 4);
	if (words > 2)
		hdr->credits = get_u32(hdr->buf + 8);
	return RPCRDMA_FAULT_SHORT;
}

static enum rpcrdma_fault dec_fixed(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;

	if (unlikely(hdr->len < RPCRDMA_FIXED_LEN))
		return dec_part_of_fixed(dec);
	hdr->xid = get_u32(hdr->buf);
	hdr->vers = get_u32(hdr->buf + 4);
	hdr->credits = get_u32(hdr->buf + 8);
	hdr->proc = get_u32(hdr->buf + 12);
	dec->at = RPCRDMA_FIXED_LEN;
	return RPCRDMA_FAULT_NONE;
}

static enum rpcrdma_fault dec_message(struct decoder *dec)
{
	enum rpcrdma_fault fault = dec_chunk_lists(dec);

	return fault ? fault : check_message(dec);
}

/* What remote invalidation has before the chunk lists */
static enum rpcrdma_fault dec_inv(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	const u8 *p = hdr->buf + dec->at;
	u32 direction;

	if (room(dec) < 2 * RPCRDMA_WORD)
		return RPCRDMA_FAULT_SHORT;
	dec->at += 2 * RPCRDMA_WORD;
	direction = get_u32(p);
	hdr->inv_handle = get_u32(p + RPCRDMA_WORD);
	if (direction > RPCRDMA_DIR_REPLY)
		return RPCRDMA_FAULT_OPT_DIRECTION;
	hdr->direction = direction;
	hdr->option = true;
	return RPCRDMA_FAULT_NONE;
}

/* Where an option is registered */
static const struct option options[] = {
	{ RPCRDMA_OPT_INV_MSG, RPCRDMA_MSG, dec_inv },
	{ RPCRDMA_OPT_INV_NOMSG, RPCRDMA_NOMSG, dec_inv },
};

static const struct option *find_option(u32 opttype)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].opttype == opttype)
			return &options[i];
	return NULL;
}

/*
 * The data of an option that stands for RDMA_MSG or RDMA_NOMSG: what it adds,
 * then the chunk lists, and nothing else (RFC 4506, section 4.10: its roundup
 * would be octets too many as well).
 */
static enum rpcrdma_fault dec_optinfo(struct decoder *dec,
				      const struct option *option)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault = option->decode(dec);

	if (fault)
		return fault;
	hdr->proc = option->proc;
	fault = dec_chunk_lists(dec);
	if (!fault && room(dec))
		fault = RPCRDMA_FAULT_OPTINFO;
	dec->end = hdr->len;
	return fault;
}

static noinline enum rpcrdma_fault dec_optional(struct decoder *dec)
{
	const u8 *p = dec->hdr->buf + dec->at;
	const struct option *option;
	enum rpcrdma_fault fault;
	u32 len;

	if (room(dec) < RPCRDMA_WORD)
		return RPCRDMA_FAULT_SHORT;
	option = find_option(get_u32(p));
	if (!option)
		return RPCRDMA_FAULT_OPTION;
	if (room(dec) < 2 * RPCRDMA_WORD)
		return RPCRDMA_FAULT_SHORT;
	dec->at += 2 * RPCRDMA_WORD;
	len = get_u32(p + RPCRDMA_WORD);
	if (len > room(dec))
		return RPCRDMA_FAULT_SHORT;
	dec->end = dec->at + len;
	fault = dec_optinfo(dec, option);
	return fault ? fault : check_message(dec);
}

/* What a version reserves */
static enum rpcrdma_fault reserved(const struct rpcrdma_hdr *hdr)
{
	return hdr->vers == RPCRDMA_V1 && hdr->proc == RPCRDMA_DONE ?
	       RPCRDMA_FAULT_RESERVED : RPCRDMA_FAULT_PROC;
}

static enum rpcrdma_fault dec_by_proc(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;

	if (hdr->proc == RPCRDMA_ERROR)
		return dec_error(dec);
	if (!version_spoken(dec))
		return RPCRDMA_FAULT_VERSION;

	switch (hdr->proc) {
	case RPCRDMA_MSG:
	case RPCRDMA_NOMSG:
		return dec_message(dec);
	default:
		if (hdr->proc == RPCRDMA_OPTIONAL && hdr->vers == RPCRDMA_V2)
			return dec_optional(dec);
		return reserved(hdr);
	}
}

/**
 * hdr_decode_long - check a received Transport Header, whatever is in it
 * @hdr: all zero but for @buf and @len, or as hdr_decode_short() left it that did not
 *	accept; the view to fill
 * @lim: what the receiver is willing to take
 *
 * Context: Any context.
 * Return: what rpcrdma_decode() says of it.
 */
enum rpcrdma_fault hdr_decode_long(struct rpcrdma_hdr *hdr,
				   const struct rpcrdma_limits *lim)
{
	struct decoder dec = { .hdr = hdr, .lim = lim, .end = hdr->len };

	hdr->fault = dec_fixed(&dec);
	if (!hdr->fault)
		hdr->fault = dec_by_proc(&dec);
	return hdr->fault;
}
