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
	return it->hdr->pzrc_bytes ? next_base(it, ext, limit) :
				     next_inline(it, ext, limit);
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
 * An NFSv4 WRITE (RFC 8881, 18.32): operation, stateid, offset, stability, and
 * an opaque. Its length precedes the data.
 */
#define OP_WRITE	38U
#define AT_STABLE	28U
#define AT_LENGTH	32U
#define AT_DATA		36U
#define STABLE_MAX	2U
/* One of a byte. Fewer bytes hold no data that nfsd takes by reference */
#define WRITE_MIN	40U

/* A message, or the end of one, in pages of @size bytes */
struct msg_pages {
	const u8	*(*page)(const void *ctx, u32 nr);
	const void	*ctx;
	u32		size;
	u32		len;
};

/* For bytes that are not in pages: @nr is 0 */
static const u8 *tail_page(const void *ctx, u32 nr)
{
	return (const u8 *)ctx + nr;
}

static u32 word_at(const struct msg_pages *msg, u32 at)
{
	return get_u32(msg->page(msg->ctx, at / msg->size) + at % msg->size);
}

/* Do the bytes from @at on look like a WRITE with data? @at is its operation */
static bool is_write(const struct msg_pages *msg, u32 at)
{
	u32 len;

	if (msg->len - at < WRITE_MIN ||
	    word_at(msg, at + AT_STABLE) > STABLE_MAX)
		return false;
	len = word_at(msg, at + AT_LENGTH);
	return len && len <= msg->len - at - AT_DATA;
}

/*
 * Where the data of the last WRITE begin, if this is within a page and not
 * before @from; 0 if there is none.
 */
static u32 writes_within_page(const struct msg_pages *msg, u32 from)
{
	u32 at = max(from, AT_DATA) - AT_DATA, end, data, last = 0;
	const u8 *word;

	for (; msg->len - at >= WRITE_MIN; at = end) {
		end = min(msg->len, at - at % msg->size + msg->size);
		word = msg->page(msg->ctx, at / msg->size) + at % msg->size;
		for (; end - at >= RPCRDMA_WORD; at += RPCRDMA_WORD) {
			data = at + AT_DATA;
			if (get_u32(word) == OP_WRITE && is_write(msg, at) &&
			    data % msg->size)
				last = data;
			word += RPCRDMA_WORD;
		}
	}
	return last;
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
 * The layout of a Call.
 *
 * A chunk gets pages of its own only if it begins with the data, behind all
 * that sunrpc wants to find in the head, and if no WRITE follows: nfsd does not
 * find data in the tail.
 */
enum rpcrdma_layout rpcrdma_plan_layout(const struct rpcrdma_hdr *hdr,
					u32 page_size)
{
	const u8 *msg = hdr->buf + hdr->body;
	u32 position = hdr->ddp_position;
	struct msg_pages tail = {
		.page	= tail_page,
		.ctx	= msg + position,
		.size	= U32_MAX,
		.len	= hdr->body_len - position,
	};

	if (!hdr->read_chunks)
		return RPCRDMA_LAYOUT_INLINE;
	/* Position 0: a Position-Zero Read chunk, and nothing else */
	if (position && hdr->read_chunks == 1 && begins_with_data(hdr) &&
	    fits_head(msg, position, page_size) &&
	    !writes_within_page(&tail, 0))
		return RPCRDMA_LAYOUT_CHUNK;
	return RPCRDMA_LAYOUT_PAGES;
}

/*
 * The head of a Call in pages: a page at most, unless nfsd needs more bytes in
 * one range of virtual memory. 0: no memory serves both sunrpc and nfsd.
 * @page gives one page of the message after the other.
 *
 * nfsd's svc_fill_write_vector() takes the data of a WRITE from the head, and
 * then from the beginning of a page. So data that begin within a page behind
 * the first one, as those of a second WRITE do, have to begin in the head.
 *
 * sunrpc cannot compute the checksums of RPCSEC_GSS over virtual memory. If it
 * protects the arguments, they may be encrypted. They are not DDP-eligible then
 * (RFC 8166, 8.2.2.3), so they come as one chunk, and the data of its WRITE
 * begin in the first page.
 */
u32 rpcrdma_plan_head(const struct rpcrdma_hdr *hdr,
		      const u8 *(*page)(const void *ctx, u32 nr),
		      const void *ctx, u32 page_size)
{
	const struct msg_pages msg = {
		.page	= page,
		.ctx	= ctx,
		.size	= page_size,
		.len	= hdr->msg_len,
	};
	u32 len = hdr->msg_len, head = min(len, page_size);
	const u8 *first = page(ctx, 0);
	u32 last;

	if (len <= page_size || rpcrdma_call_makes_gss_context(first, len))
		return head;
	if (get_u32(first + AT_CRED_FLAVOR) != FLAVOR_GSS) {
		last = writes_within_page(&msg, page_size);
		return last ? min(len, last - last % page_size + page_size) :
			      head;
	}
	if (get_u32(first + AT_GSS_SERVICE) == GSS_SERVICE_NONE)
		return writes_within_page(&msg, page_size) ? 0 : head;
	if (hdr->ddp_position >= page_size ||
	    (hdr->ddp_position && hdr->ddp_end + WRITE_MIN <= len))
		return 0;
	return head;
}
