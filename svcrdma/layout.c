// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a received Call is put together from inline and chunk ranges, and how it
 * is laid out in memory. Pure.
 */
#include "layout.h"

/* Begin to assemble the message of an accepted header, which @it borrows */
void rpcrdma_msg_iter_init(struct rpcrdma_msg_iter *it,
			   const struct rpcrdma_hdr *hdr)
{
	memset(it, 0, sizeof(*it));
	it->hdr = hdr;
	rpcrdma_read_iter_init(&it->base, hdr);
	rpcrdma_read_iter_init(&it->data, hdr);
	do {
		it->have_data = rpcrdma_read_iter_next(&it->data);
	} while (it->have_data && !it->data.position);
}

static void emit(struct rpcrdma_msg_iter *t, struct rpcrdma_extent *ext,
		 enum rpcrdma_extent_kind kind, u32 len)
{
	memset(ext, 0, sizeof(*ext));
	ext->kind = kind;
	ext->msg = t->msg;
	ext->len = len;
	t->msg += len;
}

/*
 * The next segment of a data chunk, unless it is empty. XDR roundup follows the
 * chunk's last segment: it does not cross the wire (RFC 8166, section 3.4.5.2).
 */
static bool next_data(struct rpcrdma_msg_iter *t, struct rpcrdma_extent *ext)
{
	const struct rpcrdma_segment seg = t->data.seg;
	u32 position = t->data.position;

	emit(t, ext, RPCRDMA_EXTENT_READ, seg.length);
	ext->chunk = true;
	ext->seg = seg;
	t->have_data = rpcrdma_read_iter_next(&t->data);
	if (!t->have_data || t->data.position != position)
		t->pad = rpcrdma_xdr_roundup(t->msg) - t->msg;
	return seg.length;
}

/* The next part of the inline body, up to @limit bytes */
static bool next_inline(struct rpcrdma_msg_iter *t, struct rpcrdma_extent *ext,
			u32 limit)
{
	u32 len = min(t->hdr->body_len - t->base_used, limit);

	if (!len)
		return false;
	emit(t, ext, RPCRDMA_EXTENT_INLINE, len);
	ext->src = t->hdr->body + t->base_used;
	t->base_used += len;
	return true;
}

/* The next part of the Position-Zero Read chunk, up to @limit bytes */
static bool next_base(struct rpcrdma_msg_iter *t, struct rpcrdma_extent *ext,
		      u32 limit)
{
	u32 len;

	while (t->base_used == t->base.seg.length) {
		if (!rpcrdma_read_iter_next(&t->base))
			return false;
		t->base_used = 0;
	}
	len = min(t->base.seg.length - t->base_used, limit);
	emit(t, ext, RPCRDMA_EXTENT_READ, len);
	ext->seg.handle = t->base.seg.handle;
	ext->seg.length = len;
	ext->seg.offset = t->base.seg.offset + t->base_used;
	t->base_used += len;
	return true;
}

/*
 * The next extent. Extents come in the order of the message, without gap or
 * overlap, and end at @msg_len of the header: at most one for each Read segment,
 * two for each Read chunk and one more.
 */
bool rpcrdma_msg_iter_next(struct rpcrdma_msg_iter *it,
			   struct rpcrdma_extent *ext)
{
	u32 limit;

	for (;;) {
		if (it->msg == it->hdr->msg_len)
			return false;
		if (it->pad) {
			emit(it, ext, RPCRDMA_EXTENT_PAD, it->pad);
			it->pad = 0;
			return true;
		}
		if (!it->have_data || it->data.position > it->msg)
			break;
		if (next_data(it, ext))
			return true;
	}

	limit = it->have_data ? it->data.position - it->msg : U32_MAX;
	if (it->hdr->pzrc_bytes)
		return next_base(it, ext, limit);
	return next_inline(it, ext, limit);
}

/* Where a Call has the flavor of its credential, RFC 5531, sections 8.2 and 9 */
#define AT_CRED_FLAVOR	24U
#define FLAVOR_GSS	6U
/* ... what it is for, RFC 2203, section 5: behind flavor, length and version */
#define AT_GSS_PROC	36U
#define GSS_INIT	1U
#define GSS_CONTINUE	2U
/* ... and how the arguments are protected: behind a sequence number */
#define AT_GSS_SERVICE	44U
#define GSS_SERVICE_NONE	1U

/* Does a Call set up a security context (RFC 2203, section 5.2.2)? */
bool rpcrdma_call_makes_gss_context(const u8 *msg, u32 len)
{
	u32 proc;

	if (len < AT_GSS_PROC + RPCRDMA_WORD ||
	    get_u32(msg + AT_CRED_FLAVOR) != FLAVOR_GSS)
		return false;
	proc = get_u32(msg + AT_GSS_PROC);
	return proc == GSS_INIT || proc == GSS_CONTINUE;
}

/* Credential and verifier, each a flavor and an opaque, end within @len bytes */
static bool has_verifier(const u8 *msg, u32 len)
{
	u32 i, size, at = AT_CRED_FLAVOR;

	for (i = 0; i < 2; i++) {
		at += 2 * RPCRDMA_WORD;
		if (at > len)
			return false;
		size = get_u32(msg + at - RPCRDMA_WORD);
		if (size > len - at)
			return false;
		at += rpcrdma_xdr_roundup(size);
	}
	return at <= len;
}

/*
 * The part before a chunk becomes the head. sunrpc computes a checksum over the
 * head up to the verifier, and takes the verifier's place for a distance within
 * the head: both have to be in it. If sunrpc verifies or decrypts the arguments,
 * they are not DDP-eligible (RFC 8166, section 8.2.2.3). Linux 6.1 copies the
 * rest of a head that sets up a context into one page.
 */
static bool fits_head(const u8 *msg, u32 len, u32 page_size)
{
	if (len < AT_CRED_FLAVOR + RPCRDMA_WORD)
		return false;
	if (get_u32(msg + AT_CRED_FLAVOR) != FLAVOR_GSS)
		return true;
	if (len < AT_GSS_SERVICE + RPCRDMA_WORD || !has_verifier(msg, len))
		return false;
	if (rpcrdma_call_makes_gss_context(msg, len))
		return len <= page_size;
	return get_u32(msg + AT_GSS_SERVICE) == GSS_SERVICE_NONE;
}

/*
 * The data of a WRITE are an opaque, preceded by their length, which counts the
 * part that goes on behind the chunk, and may leave out roundup that the chunk
 * has. A chunk that begins elsewhere, such as at the operation, has the data
 * somewhere within. (A length that wraps the sum is more than there is.)
 */
static bool begins_with_data(const struct rpcrdma_hdr *hdr)
{
	u32 len = get_u32(hdr->buf + hdr->body + hdr->ddp_position - RPCRDMA_WORD);

	return len + RPCRDMA_WORD > hdr->read_bytes &&
	       len <= hdr->read_bytes + hdr->msg_len - hdr->ddp_end;
}

/*
 * An NFSv4 WRITE of one byte: operation, stateid, offset, stability, and an
 * opaque. Fewer bytes hold no data that nfsd takes by reference.
 */
#define WRITE_MIN	40U
/* RFC 8881, section 16.2 */
#define OP_WRITE	38U

/*
 * The layout of a Call, before its Read chunks are read.
 *
 * nfsd's svc_fill_write_vector() takes the data of a WRITE from the head or from
 * the beginning of a page, never from the tail. So data behind the single chunk,
 * and data that begin within a page, as the second of two Read chunks does, have
 * to be in one piece with the part before them.
 *
 * A chunk gets pages of its own only if it begins with the data, and behind all
 * that sunrpc wants to find in the head. Whether data begin within a page shows
 * when the chunk was read: rpcrdma_plan_layout_read().
 */
enum rpcrdma_layout rpcrdma_plan_layout(const struct rpcrdma_hdr *hdr,
					u32 page_size)
{
	bool data_behind = hdr->ddp_end + WRITE_MIN <= hdr->msg_len;

	if (!hdr->read_chunks)
		return RPCRDMA_LAYOUT_INLINE;
	/* A Position-Zero Read chunk, and nothing else */
	if (!hdr->ddp_position)
		return RPCRDMA_LAYOUT_PAGES;
	if (hdr->read_chunks == 1 && !data_behind && begins_with_data(hdr) &&
	    fits_head(hdr->buf + hdr->body, hdr->ddp_position, page_size))
		return RPCRDMA_LAYOUT_CHUNK;
	if (hdr->msg_len > page_size && (hdr->ddp_position >= page_size || data_behind))
		return RPCRDMA_LAYOUT_ONE_PIECE;
	return RPCRDMA_LAYOUT_PAGES;
}

static bool has_write(const u8 *msg, u32 len)
{
	u32 at;

	for (at = 0; at + RPCRDMA_WORD <= len; at += RPCRDMA_WORD)
		if (get_u32(msg + at) == OP_WRITE)
			return true;
	return false;
}

/*
 * The layout of a Call of @len bytes, now that its chunks are read: @layout,
 * which is PAGES or ONE_PIECE, or a better one. @page gives one page of the
 * message after the other.
 *
 * A message that came as one chunk may have data anywhere. Those of an NFSv4
 * WRITE that begin behind the first page begin within one. The last WRITE_MIN
 * bytes of the first page count for the second. The word that looks like an
 * operation may be something else too, which costs a copy. Protected arguments
 * stay as they are: they may be encrypted, and each WRITE of such a client
 * would be copied. A Call that sets up a security context has to be in pages.
 */
enum rpcrdma_layout
rpcrdma_plan_layout_read(enum rpcrdma_layout layout,
			 const u8 *(*page)(const void *ctx, u32 nr),
			 const void *ctx, u32 len, u32 page_size)
{
	const u8 *first = page(ctx, 0);
	u32 from = page_size - WRITE_MIN;
	u32 at;

	if (rpcrdma_call_makes_gss_context(first, len))
		return RPCRDMA_LAYOUT_PAGES;
	if (len <= page_size ||
	    (get_u32(first + AT_CRED_FLAVOR) == FLAVOR_GSS &&
	     get_u32(first + AT_GSS_SERVICE) != GSS_SERVICE_NONE))
		return layout;
	for (at = 0; at < len; at += page_size, from = 0)
		if (has_write(page(ctx, at / page_size) + from,
			      min(len - at, page_size) - from))
			return RPCRDMA_LAYOUT_ONE_PIECE;
	return layout;
}
