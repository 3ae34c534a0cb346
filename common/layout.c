// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a received message is put together: its tiling from inline and chunk ranges,
 * and its layout in memory. Pure.
 */
#include "rpcrdma/layout.h"
#include "rpcrdma/wire.h"

/**
 * rpcrdma_tiler_init - begin to assemble a received message
 * @tiler: state; borrows @hdr
 * @hdr: accepted header
 *
 * Context: Any context.
 */
void rpcrdma_tiler_init(struct rpcrdma_tiler *tiler,
			const struct rpcrdma_hdr *hdr)
{
	memset(tiler, 0, sizeof(*tiler));
	tiler->hdr = hdr;
	rpcrdma_read_iter_init(&tiler->base, hdr);
	rpcrdma_read_iter_init(&tiler->data, hdr);
	do {
		tiler->have_data = rpcrdma_read_iter_next(&tiler->data);
	} while (tiler->have_data && !tiler->data.position);
}

static void emit(struct rpcrdma_tiler *t, struct rpcrdma_extent *ext,
		 enum rpcrdma_extent_kind kind, u32 len)
{
	memset(ext, 0, sizeof(*ext));
	ext->kind = kind;
	ext->msg = t->msg;
	ext->len = len;
	t->msg += len;
}

/*
 * The next segment of a data chunk, unless it is empty; at the chunk's last segment the XDR
 * roundup falls due, which never crosses the wire (RFC 8166, section 3.4.5.2).
 */
static bool next_data(struct rpcrdma_tiler *t, struct rpcrdma_extent *ext)
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

/* The next part of the inline body, @limit octets at most */
static bool next_inline(struct rpcrdma_tiler *t, struct rpcrdma_extent *ext,
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

/* The next part of the Position-Zero Read chunk, @limit octets at most */
static bool next_base(struct rpcrdma_tiler *t, struct rpcrdma_extent *ext,
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

/**
 * rpcrdma_tiler_next - the next extent of the message
 * @tiler: state
 * @ext: result
 *
 * Extents come in the order of the message, without gap or overlap, and end
 * at @msg_len of the header. At most one for each Read segment, two for each
 * Read chunk and one more.
 *
 * Context: Any context.
 * Return: false when the message is complete.
 */
bool rpcrdma_tiler_next(struct rpcrdma_tiler *tiler,
			struct rpcrdma_extent *ext)
{
	u32 limit;

	for (;;) {
		if (tiler->msg == tiler->hdr->msg_len)
			return false;
		if (tiler->pad) {
			emit(tiler, ext, RPCRDMA_EXTENT_PAD, tiler->pad);
			tiler->pad = 0;
			return true;
		}
		if (!tiler->have_data || tiler->data.position > tiler->msg)
			break;
		if (next_data(tiler, ext))
			return true;
	}

	limit = tiler->have_data ? tiler->data.position - tiler->msg : U32_MAX;
	if (tiler->hdr->pzrc_bytes)
		return next_base(tiler, ext, limit);
	return next_inline(tiler, ext, limit);
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

/**
 * rpcrdma_call_makes_gss_context - does a Call set up a security context?
 * @msg: its first octets
 * @len: how many
 *
 * Context: any.
 *
 * Return: true if it does, RFC 2203, section 5.2.2.
 */
bool rpcrdma_call_makes_gss_context(const u8 *msg, u32 len)
{
	u32 proc;

	if (len < AT_GSS_PROC + RPCRDMA_WORD ||
	    get_u32(msg + AT_CRED_FLAVOR) != FLAVOR_GSS)
		return false;
	proc = get_u32(msg + AT_GSS_PROC);
	return proc == GSS_INIT || proc == GSS_CONTINUE;
}

/* Credential and verifier, each a flavor and an opaque, end within @len octets */
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
 * What precedes a chunk becomes the head. sunrpc computes a checksum over the head up
 * to the verifier, whose place it takes for a distance within the head: both have to be
 * in it. Where it has the checksum of the arguments, or has to decrypt them, nothing is
 * DDP-eligible (RFC 8166, section 8.2.2.3). And 6.1 copies what is left of a head that
 * sets up a context into one page.
 */
static bool gss_fits_head(const u8 *msg, u32 len, u32 page_size)
{
	if (len < AT_GSS_SERVICE + RPCRDMA_WORD || !has_verifier(msg, len))
		return false;
	if (rpcrdma_call_makes_gss_context(msg, len))
		return len <= page_size;
	return get_u32(msg + AT_GSS_SERVICE) == GSS_SERVICE_NONE;
}

static bool fits_head(const u8 *msg, u32 len, u32 page_size)
{
	if (len < AT_CRED_FLAVOR + RPCRDMA_WORD)
		return false;
	return get_u32(msg + AT_CRED_FLAVOR) != FLAVOR_GSS ||
	       gss_fits_head(msg, len, page_size);
}

/* @msg: more than a page */
static bool args_are_plain(const u8 *msg)
{
	return get_u32(msg + AT_CRED_FLAVOR) != FLAVOR_GSS ||
	       get_u32(msg + AT_GSS_SERVICE) == GSS_SERVICE_NONE;
}

/*
 * The data of a WRITE are an opaque, whose length precedes them. It counts what goes on
 * behind the chunk, and may leave out XDR roundup that the chunk has. A chunk that begins
 * somewhere else, such as at the operation, has the data somewhere within. (A length with
 * which the sum wraps is more than there is.)
 */
static bool begins_with_data(const struct rpcrdma_hdr *hdr)
{
	u32 len = get_u32(hdr->buf + hdr->body + hdr->ddp_position - RPCRDMA_WORD);

	return len + RPCRDMA_WORD > hdr->read_bytes &&
	       len <= hdr->read_bytes + hdr->msg_len - hdr->ddp_end;
}

/*
 * An NFSv4 WRITE of one octet: operation, stateid, offset, stability, and an
 * opaque. Fewer octets hold no data that an Upper Layer takes by reference.
 */
#define WRITE_MIN	40U
/* RFC 8881, section 16.2 */
#define OP_WRITE	38U

/**
 * rpcrdma_plan_layout - how a Responder lays a Call out in memory
 * @hdr: accepted header of a Call
 * @page_size: octets of a page
 *
 * nfsd's svc_fill_write_vector() takes the data of a WRITE from the head or from
 * the beginning of a page, never from the tail. So data behind the single chunk,
 * and data that begin within a page, as the second of two Read chunks does, have
 * to be in one piece with what precedes them.
 *
 * A chunk that begins where sunrpc wants to find something in the head does not get
 * pages of its own, and none that does not begin with the data does. Whether data begin
 * within a page is known when it was read: rpcrdma_plan_layout_read().
 *
 * Context: any.
 *
 * Return: the layout.
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

/* As much in front of its end as a WRITE has in front of its data is the next page's */
static bool write_behind(const u8 *page, u32 at, u32 len, u32 page_size)
{
	u32 from = at ? 0 : page_size - WRITE_MIN;

	return has_write(page + from, min(len - at, page_size) - from);
}

/**
 * rpcrdma_plan_layout_read - how a Call is laid out, now that one knows what it is
 * @layout: PAGES or ONE_PIECE
 * @page: gives one page of the message after the other
 * @ctx: for @page
 * @len: octets of the message
 * @page_size: octets of a page
 *
 * A message that came as one chunk may have data anywhere: those of an NFSv4 WRITE that
 * begin behind the first page begin within one, and the operation is a word of the message.
 * (So may be what is no operation, which costs a copy.) Where the arguments are protected
 * they are left as they are: they may be encrypted, and each WRITE of such a client would be
 * copied. A Call that sets up a security context has to be in pages.
 *
 * Context: that of @page.
 *
 * Return: the layout.
 */
enum rpcrdma_layout
rpcrdma_plan_layout_read(enum rpcrdma_layout layout,
			 const u8 *(*page)(const void *ctx, u32 nr),
			 const void *ctx, u32 len, u32 page_size)
{
	const u8 *first = page(ctx, 0);
	u32 at;

	if (rpcrdma_call_makes_gss_context(first, len))
		return RPCRDMA_LAYOUT_PAGES;
	if (len <= page_size || !args_are_plain(first))
		return layout;
	for (at = 0; at < len; at += page_size)
		if (write_behind(page(ctx, at / page_size), at, len, page_size))
			return RPCRDMA_LAYOUT_ONE_PIECE;
	return layout;
}
