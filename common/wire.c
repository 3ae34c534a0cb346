// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reading an RPC-over-RDMA Transport Header (RFC 8166, section 4): one decoder
 * that checks everything once, and iterators that cannot fail after it. Pure.
 */
#include "rpcrdma/wire.h"

/* msg_type of an RPC message, RFC 5531, section 9 */
#define AT_RPC_TYPE	4U
/* XID and type: Linux 6.1's server takes both without a look at the length */
#define RPC_MIN_LEN	(AT_RPC_TYPE + RPCRDMA_WORD)
#define RPC_TYPE_CALL	0U
#define RPC_TYPE_REPLY	1U

/**
 * struct decoder - state of one rpcrdma_decode()
 * @hdr: the view that is being filled
 * @lim: what the receiver takes
 * @at: offset of the next octet to look at, never past @hdr->len
 */
struct decoder {
	struct rpcrdma_hdr		*hdr;
	const struct rpcrdma_limits	*lim;
	u32				at;
};

static u32 get_u32(const u8 *p)
{
	__be32 v;

	memcpy(&v, p, sizeof(v));
	return be32_to_cpu(v);
}

static void get_segment(const u8 *p, struct rpcrdma_segment *seg)
{
	__be64 offset;

	memcpy(&offset, p + 8, sizeof(offset));
	seg->handle = get_u32(p);
	seg->length = get_u32(p + 4);
	seg->offset = be64_to_cpu(offset);
}

static u32 room(const struct decoder *dec)
{
	return dec->hdr->len - dec->at;
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

	dec->hdr->reads = dec->at;
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
	enum rpcrdma_fault fault = dec_read_list(dec);

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
static enum rpcrdma_fault check_read_chunks(struct rpcrdma_hdr *hdr)
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
	if (!fault && hdr->read_segs)
		fault = add_read_chunk(hdr, position, bytes);
	return fault;
}

/* What the Transport Header announces must give one RPC message */
static enum rpcrdma_fault check_message(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;

	hdr->body = dec->at;
	if (hdr->proc == RPCRDMA_MSG)
		hdr->body_len = room(dec);
	hdr->msg_len = hdr->body_len;
	fault = check_read_chunks(hdr);
	if (fault)
		return fault;

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
	if (hdr->read_segs &&
	    rpcrdma_hdr_direction(hdr) == RPCRDMA_DIR_REPLY)
		return RPCRDMA_FAULT_DIRECTION;
	return RPCRDMA_FAULT_NONE;
}

/* The codec itself knows one version; the limits may exclude that one too */
static bool version_spoken(const struct decoder *dec)
{
	u32 vers = dec->hdr->vers;

	return vers == RPCRDMA_V1 && vers >= dec->lim->vers_min &&
	       vers <= dec->lim->vers_max;
}

static enum rpcrdma_fault dec_error(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault = dec_u32(dec, &hdr->errcode);

	if (hdr->errcode != RPCRDMA_ERR_VERS && !version_spoken(dec))
		return RPCRDMA_FAULT_VERSION;
	if (fault || hdr->errcode == RPCRDMA_ERR_CHUNK)
		return fault;
	if (hdr->errcode != RPCRDMA_ERR_VERS)
		return RPCRDMA_FAULT_ERRCODE;
	fault = dec_u32(dec, &hdr->err_vers_low);
	if (!fault)
		fault = dec_u32(dec, &hdr->err_vers_high);
	return fault;
}

/* Fixed fields, as far as the octets reach; the others stay zero */
static enum rpcrdma_fault dec_fixed(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault = dec_u32(dec, &hdr->xid);
	u32 proc;

	if (!fault)
		fault = dec_u32(dec, &hdr->vers);
	if (!fault)
		fault = dec_u32(dec, &hdr->credits);
	if (!fault)
		fault = dec_u32(dec, &proc);
	if (!fault)
		hdr->proc = proc;
	return fault;
}

static enum rpcrdma_fault dec_by_proc(struct decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	enum rpcrdma_fault fault;

	if (hdr->proc == RPCRDMA_ERROR)
		return dec_error(dec);
	if (!version_spoken(dec))
		return RPCRDMA_FAULT_VERSION;

	switch (hdr->proc) {
	case RPCRDMA_MSG:
	case RPCRDMA_NOMSG:
		break;
	case RPCRDMA_DONE:
		return RPCRDMA_FAULT_RESERVED;
	default:
		return RPCRDMA_FAULT_PROC;
	}
	fault = dec_chunk_lists(dec);
	return fault ? fault : check_message(dec);
}

/*
 * Only a Call is answered. What cannot be told from a Call is taken for one;
 * a receiver that expects no Calls drops whatever is not accepted.
 */
static enum rpcrdma_disposition disposition(const struct rpcrdma_hdr *hdr)
{
	if (!hdr->fault)
		return RPCRDMA_ACCEPT;
	if (hdr->len < RPCRDMA_HDR_MIN || hdr->proc == RPCRDMA_ERROR)
		return RPCRDMA_DROP;
	switch (hdr->fault) {
	case RPCRDMA_FAULT_VERSION:
		return RPCRDMA_ANSWER_VERS;
	case RPCRDMA_FAULT_RESERVED:
		return RPCRDMA_DROP;
	default:
		if (rpcrdma_hdr_direction(hdr) == RPCRDMA_DIR_REPLY)
			return RPCRDMA_DROP;
		return RPCRDMA_ANSWER_CHUNK;
	}
}

/**
 * rpcrdma_decode - check a received Transport Header, all of it, once
 * @hdr: the view to fill; it borrows @buf
 * @buf: received octets
 * @len: how many
 * @lim: what the receiver is willing to take
 *
 * Nothing after this can fail: the iterators walk only what was checked here.
 *
 * Decisions where RFC 8166 leaves room:
 *
 * - Fewer than 28 octets are dropped, as section 4.5 demands. An ERR_CHUNK has
 *   20, so RDMA_ERROR is excepted.
 * - ERR_VERS is accepted under any version, since its sender may speak none of
 *   ours. No other RDMA_ERROR of a foreign version is, and none is answered.
 *   An RDMA_ERROR that is truncated or of an unknown kind is dropped, with
 *   @xid, @proc and, if it was there, @errcode set: a Requester can end the
 *   Call it belongs to.
 * - An unknown procedure is answered with ERR_CHUNK, the one error of version
 *   one that says "could not decode this" (section 4.5.2). So is RDMA_MSGP
 *   (section 4.6.1); RDMA_DONE is dropped (section 4.6.2).
 * - A Write chunk of zero segments asks for its result inline (section
 *   4.3.2.3). A Reply chunk of zero segments is one without room.
 * - A Read chunk of zero octets in all is rejected; a zero-length segment in
 *   one that has other octets is accepted and carries nothing.
 * - The Read list must ascend.
 * - RDMA_NOMSG needs a Position-Zero Read chunk (a Call) or a Reply chunk (a
 *   Reply). One without message octets is accepted, and rpcrdma_answer() makes
 *   the difference. Octets behind its chunk lists are ignored.
 * - An RPC message shorter than its XID and type, or with an XID that is not rdma_xid
 *   (section 4.2.1), is answered with ERR_CHUNK: the XID the Requester put in
 *   the Transport Header is the one it waits for.
 * - An RPC Reply must have no Read list, and is never answered but dropped.
 *
 * Context: Any context.
 * Return: what the message deserves; @hdr->fault says why.
 */
enum rpcrdma_disposition rpcrdma_decode(struct rpcrdma_hdr *hdr,
					const void *buf, u32 len,
					const struct rpcrdma_limits *lim)
{
	struct decoder dec = { .hdr = hdr, .lim = lim };

	memset(hdr, 0, sizeof(*hdr));
	hdr->buf = buf;
	hdr->len = len;
	hdr->fault = dec_fixed(&dec);
	if (!hdr->fault)
		hdr->fault = dec_by_proc(&dec);
	return disposition(hdr);
}

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
 * @hdr: a header from rpcrdma_decode(); on a fault in its chunk lists the
 *	answer is "unknown"
 *
 * Looks at msg_type of the inline RPC message (RFC 5531, section 9).
 *
 * Context: Any context.
 * Return: the direction, as far as the header can tell.
 */
enum rpcrdma_direction rpcrdma_hdr_direction(const struct rpcrdma_hdr *hdr)
{
	if (hdr->body_len < AT_RPC_TYPE + RPCRDMA_WORD)
		return RPCRDMA_DIR_UNKNOWN;
	switch (get_u32(hdr->buf + hdr->body + AT_RPC_TYPE)) {
	case RPC_TYPE_CALL:
		return RPCRDMA_DIR_CALL;
	case RPC_TYPE_REPLY:
		return RPCRDMA_DIR_REPLY;
	default:
		return RPCRDMA_DIR_UNKNOWN;
	}
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
