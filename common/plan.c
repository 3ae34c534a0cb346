// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decisions that need no kernel: the transfer mode of a Call, the handle to
 * invalidate with its Reply, the tiling and the layout of a received message, the
 * depth of the queues. Pure.
 */
#include "rpcrdma/plan.h"
#include "rpcrdma/wire_get.h"

/*
 * MRs a Call may take beside those of its largest payload: the head of a
 * Position-Zero Read chunk, or a Reply chunk beside a Write list.
 */
#define EXTRA_MRS	1U

/* A drained queue needs room for the WR that tells so */
#define DRAIN_WRS	1U

static u32 div_up(u32 n, u32 by)
{
	return n / by + !!(n % by);
}

/* Octets of a Transport Header without chunks, of Call and Reply */
static u32 header_len(const struct rpcrdma_call_shape *shape)
{
	const struct rpcrdma_form form = { .option = shape->option };

	return rpcrdma_form_len(&form);
}

/* Segments for one registered range */
static u64 segments(const struct rpcrdma_call_shape *shape, u32 bytes)
{
	return shape->mr_bytes ? div_up(bytes, shape->mr_bytes) : 1;
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
	if (s->pages <= s->pullup_max || s->page_count > s->page_sges)
		return RPCRDMA_CALL_PULLUP;
	return RPCRDMA_CALL_INLINE;
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
 * octets of chunks are counted from @mr_bytes; those of the Reply chunk are an upper
 * bound, as its buffer may have one segment less. A @mr_bytes of 0 counts as
 * "any range fits one MR".
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
static u32 longest_handle(const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_segment best = { .length = RPCRDMA_WORD - 1 };
	u32 i, at = hdr->writes, read = hdr->reads;
	struct rpcrdma_segment seg;

	if (hdr_one_segment(hdr, &seg)) {
		rpcrdma_longer_segment(&best, &seg);
		return best.handle;
	}
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

static bool has_handle(const struct rpcrdma_hdr *hdr, u32 handle)
{
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_segment seg;
	struct rpcrdma_chunk reply;

	if (hdr_one_segment(hdr, &seg))
		return seg.handle == handle;
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

/**
 * rpcrdma_hdr_inv_handle - which handle to invalidate with the Reply
 * @hdr: accepted header of a Call
 * @announced: both sides announced remote invalidation in their private data,
 *	which binds version one (RFC 8797, section 4.1)
 *
 * Version one leaves the choice to the Responder: the longest segment, and of
 * equals the first. Version two leaves it to the Requester, and only the
 * option lets it choose; what it names must be of the Call's own chunks, or it
 * might be another RPC's (draft-cel-nfsv4-reminv-design-03, section 5.3).
 *
 * Context: Any context.
 * Return: a handle, or 0 when there is none to invalidate.
 */
u32 rpcrdma_hdr_inv_handle(const struct rpcrdma_hdr *hdr, bool announced)
{
	if (hdr->vers == RPCRDMA_V1)
		return announced ? longest_handle(hdr) : 0;
	/* Without the option it is zero, and nobody's */
	return has_handle(hdr, hdr->inv_handle) ? hdr->inv_handle : 0;
}

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
	if (tiler->hdr->pz_bytes)
		return next_base(tiler, ext, limit);
	return next_inline(tiler, ext, limit);
}

/* Where a Call has the flavor of its credential, RFC 5531, sections 8.2 and 9 */
#define AT_CRED_FLAVOR	24U
#define FLAVOR_GSS	6U
/* ... and what it is for, RFC 2203, section 5: behind flavor, length and version */
#define AT_GSS_PROC	36U
#define GSS_INIT	1U
#define GSS_CONTINUE	2U

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

/* More than a page before the chunk, of a Call that sunrpc wants no such head of */
static bool head_is_too_long(const struct rpcrdma_hdr *hdr, u32 page_size)
{
	return hdr->item > page_size &&
	       rpcrdma_call_makes_gss_context(hdr->buf + hdr->body,
					      hdr->body_len);
}

/*
 * An NFSv4 WRITE of one octet: operation, stateid, offset, stability, and an
 * opaque. Fewer octets hold no data that an Upper Layer takes by reference.
 */
#define WRITE_MIN	40U

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
 * Where a security context is set up, sunrpc of 6.1 copies the rest of the head into
 * one page: no head of such a Call may be longer.
 *
 * Context: any.
 *
 * Return: the layout.
 */
enum rpcrdma_layout rpcrdma_plan_layout(const struct rpcrdma_hdr *hdr,
					u32 page_size)
{
	bool data_behind = hdr->item_end + WRITE_MIN <= hdr->msg_len;

	if (!hdr->read_chunks)
		return RPCRDMA_LAYOUT_INLINE;
	/* A Position-Zero Read chunk, and nothing else */
	if (!hdr->item)
		return RPCRDMA_LAYOUT_PAGES;
	if (hdr->read_chunks == 1 && !data_behind)
		return head_is_too_long(hdr, page_size) ?
		       RPCRDMA_LAYOUT_PAGES : RPCRDMA_LAYOUT_CHUNK;
	if (hdr->msg_len > page_size && (hdr->item >= page_size || data_behind))
		return RPCRDMA_LAYOUT_ONE_PIECE;
	return RPCRDMA_LAYOUT_PAGES;
}

/* Most WRs, less the drain's, that fit a queue and the CQ that reports them */
static u32 queue_room(const struct rpcrdma_device_limits *dev)
{
	u32 depth = min(dev->max_qp_wr, dev->max_cqe);

	return depth > DRAIN_WRS ? depth - DRAIN_WRS : 0;
}

static bool plan_mrs(struct rpcrdma_queue_sizes *sizes,
		     const struct rpcrdma_queue_want *want,
		     const struct rpcrdma_device_limits *dev)
{
	u32 pages = max(want->payload_pages, 1U);

	if (!want->use_frwr)
		return true;
	sizes->mr_pages = min(dev->max_frwr_pages, pages);
	if (!sizes->mr_pages)
		return false;
	sizes->mrs_per_payload = div_up(pages, sizes->mr_pages);
	return true;
}

/* Send Queue WRs that one forward credit may have outstanding */
static u64 credit_cost(const struct rpcrdma_queue_sizes *sizes,
		       const struct rpcrdma_queue_want *want)
{
	u64 mrs = 0;

	if (want->use_frwr)
		mrs = (u64)sizes->mrs_per_payload + EXTRA_MRS;
	return 1 + 2 * mrs + want->rw_wrs;
}

/* Forward credits that fit beside @bc reverse ones; 0 if none */
static u32 fit_credits(const struct rpcrdma_queue_sizes *sizes,
		       const struct rpcrdma_queue_want *want,
		       const struct rpcrdma_device_limits *dev, u32 bc)
{
	u64 cost = credit_cost(sizes, want);
	u32 room = queue_room(dev);
	u32 credits;

	if (room <= bc || room - bc < cost)
		return 0;
	credits = min((room - bc) / (u32)cost, want->credits);
	if (want->use_frwr)
		credits = min(credits, dev->max_mr / sizes->mrs_per_payload);
	return credits;
}

static bool plan_credits(struct rpcrdma_queue_sizes *sizes,
			 const struct rpcrdma_queue_want *want,
			 const struct rpcrdma_device_limits *dev)
{
	u32 bc = want->bc_credits;

	sizes->credits = fit_credits(sizes, want, dev, bc);
	if (!sizes->credits && bc > 1) {
		bc = 1;
		sizes->credits = fit_credits(sizes, want, dev, bc);
	}
	sizes->bc_credits = bc;
	return sizes->credits;
}

/**
 * rpcrdma_plan_queues - how deep the queues of a connection must be
 * @sizes: result; meaningless after an error
 * @want: what the side would like to have
 * @dev: what the device can do
 *
 * Each queue has a CQ of its own and one WR for its drain. On the Send Queue
 * a Requester's credit costs its Send, and REG_MR and LOCAL_INV for each MR of
 * the largest payload and for one more; a Responder's costs its Send and
 * @rw_wrs. A reverse credit costs one Send, since such messages have no
 * chunks (RFC 8167). A Call that needs still more waits for Send Queue room.
 *
 * Where the device has less, forward credits go down until they fit; then
 * reverse credits fall to one; batching of Receives takes what is left.
 *
 * Context: Any context.
 * Return: 0, or -EINVAL when the device cannot carry one forward credit (and
 * one reverse, if wanted), has no SGE, or cannot register memory that must be.
 */
int rpcrdma_plan_queues(struct rpcrdma_queue_sizes *sizes,
			const struct rpcrdma_queue_want *want,
			const struct rpcrdma_device_limits *dev)
{
	u32 msgs;

	memset(sizes, 0, sizeof(*sizes));
	sizes->send_sge = min(max(want->send_sge, 1U), dev->max_send_sge);
	if (!sizes->send_sge || !dev->max_recv_sge)
		return -EINVAL;
	if (!plan_mrs(sizes, want, dev) || !plan_credits(sizes, want, dev))
		return -EINVAL;

	sizes->sq_depth = sizes->credits * credit_cost(sizes, want) +
			  sizes->bc_credits + DRAIN_WRS;
	msgs = sizes->credits + sizes->bc_credits;
	sizes->recvs = msgs + min(want->recv_batch, queue_room(dev) - msgs);
	sizes->rq_depth = sizes->recvs + DRAIN_WRS;
	return 0;
}

/* With fewer a connection is hardly of use: rather fail, and have it tried again */
#define FEWEST_CREDITS	4U

/* So many of the largest payloads a Responder moves at a time, whatever the credits */
#define RW_PAYLOADS	3U

/* WRs that RDMA Reads or Writes of so many payloads take */
static u32 payload_wrs(const struct rpcrdma_queue_want *want,
		       const struct rpcrdma_device_limits *dev)
{
	u32 sges = min(min(dev->max_send_sge, dev->max_sge_rd), want->send_sge);

	return RW_PAYLOADS * div_up(want->payload_pages, max(sges, 1U));
}

/**
 * rpcrdma_plan_fewer - what to try when the device could not make the queues
 * @want: what led to @tried; lowered to half of its credits
 * @tried: queues that could not be made
 * @dev: what the device says it can do
 *
 * What a device says it can do is said of the smallest WRs, or in other units; what it
 * can do depends on the SGEs. Called again and again it comes to an end, as credits are
 * half of what they were each time, or fewer.
 *
 * Context: Any context.
 * Return: whether there is something to try.
 */
bool rpcrdma_plan_fewer(struct rpcrdma_queue_want *want,
			const struct rpcrdma_queue_sizes *tried,
			const struct rpcrdma_device_limits *dev)
{
	u32 credits = tried->credits / 2;

	if (credits < FEWEST_CREDITS)
		return false;
	want->credits = credits;
	if (want->rw_wrs)
		want->rw_wrs = max(want->rw_wrs,
				   div_up(payload_wrs(want, dev), credits));
	return true;
}

/* More would need high orders of pages, which a machine that runs for long lacks */
#define RECV_BLOCK_MAX	32768U

/**
 * rpcrdma_plan_recv_block - how many Receive buffers to cut from one block
 * @size: octets of a buffer, at least one
 * @page_size: octets of a page
 *
 * A block is made of whole pages. The fewest buffers that leave nothing of them over,
 * if such a block is not too large.
 *
 * Context: any.
 *
 * Return: buffers in a block, at least one.
 */
u32 rpcrdma_plan_recv_block(u32 size, u32 page_size)
{
	u32 n;

	for (n = 1; n <= RECV_BLOCK_MAX / size; n++)
		if (n * size % page_size == 0)
			return n;
	return 1;
}
