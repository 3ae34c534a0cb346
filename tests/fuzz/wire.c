// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fuzz target: Transport Headers, in two ways. The input as a received frame:
 * nothing is read outside of it, it is accepted when a second decoder accepts
 * it, and what is accepted adds up, tiles exactly and can be written again. The input as a recipe for a header: what is
 * encoded decodes to the same.
 */
#include "reference.h"
#include "rpcrdma/wire.h"
#include "../../svcrdma/layout.h"

#define MAX_MESSAGE	(1U << 20)
#define MAX_SEGS	64

static const struct rpcrdma_limits wide = {
	.vers_min = RPCRDMA_V1, .vers_max = RPCRDMA_V1,
	.max_read_segs = 512, .max_write_segs = 512, .max_write_chunks = 64,
	.max_message = MAX_MESSAGE,
};

static const struct rpcrdma_limits both = {
	.vers_min = RPCRDMA_V1, .vers_max = RPCRDMA_V2,
	.max_read_segs = 512, .max_write_segs = 512, .max_write_chunks = 64,
	.max_message = MAX_MESSAGE,
};

static const struct rpcrdma_limits endless = {
	.vers_min = 0, .vers_max = U32_MAX,
	.max_read_segs = U32_MAX, .max_write_segs = U32_MAX,
	.max_write_chunks = U32_MAX, .max_message = U32_MAX,
};

static const struct rpcrdma_limits narrow = {
	.vers_min = RPCRDMA_V1, .vers_max = RPCRDMA_V1,
	.max_read_segs = 2, .max_write_segs = 2, .max_write_chunks = 1,
	.max_message = 4096,
};

/* The next data segment that has octets */
static bool next_data(struct rpcrdma_read_iter *it)
{
	while (rpcrdma_read_iter_next(it))
		if (it->position && it->seg.length)
			return true;
	return false;
}

static void check_data_extent(struct rpcrdma_read_iter *it, u32 *position,
			      const struct rpcrdma_extent *ext)
{
	PROPERTY(next_data(it));
	PROPERTY(it->seg.handle == ext->seg.handle);
	PROPERTY(it->seg.length == ext->len);
	PROPERTY(it->seg.offset == ext->seg.offset);
	PROPERTY(it->position == *position || it->position == ext->msg);
	*position = it->position;
}

static void check_tiling(const struct rpcrdma_hdr *hdr)
{
	u64 at = 0, inlined = 0, base = 0, data = 0;
	struct rpcrdma_read_iter it;
	struct rpcrdma_msg_iter msg_iter;
	struct rpcrdma_extent ext;
	u32 position = 0;

	rpcrdma_read_iter_init(&it, hdr);
	rpcrdma_msg_iter_init(&msg_iter, hdr);
	while (rpcrdma_msg_iter_next(&msg_iter, &ext)) {
		PROPERTY(ext.msg == at && ext.len);
		at += ext.len;
		switch (ext.kind) {
		case RPCRDMA_EXTENT_INLINE:
			PROPERTY(ext.src == hdr->body + inlined);
			inlined += ext.len;
			break;
		case RPCRDMA_EXTENT_READ:
			PROPERTY(ext.seg.length == ext.len);
			if (ext.chunk) {
				check_data_extent(&it, &position, &ext);
				data += ext.len;
			} else {
				base += ext.len;
			}
			break;
		case RPCRDMA_EXTENT_PAD:
			PROPERTY(ext.len < 4 && (ext.msg + ext.len) % 4 == 0);
			break;
		}
	}
	PROPERTY(!next_data(&it));
	PROPERTY(at == hdr->msg_len);
	PROPERTY(inlined == hdr->body_len);
	PROPERTY(base == hdr->pzrc_bytes);
	PROPERTY(data == hdr->read_bytes);
}

/* Read items, put in the order of their positions, those of one position as they are */
static u8 *sorted_reads(const struct rpcrdma_hdr *hdr)
{
	u32 n = hdr->read_segs, size = RPCRDMA_READ_ITEM_LEN, i, at;
	const u8 *items = hdr->buf + hdr->reads;
	u8 *sorted = malloc(n * size + 1);

	for (i = 0; i < n; i++) {
		/* Big-endian words compare as octets do */
		for (at = i; at && memcmp(sorted + (at - 1) * size + 4,
					  items + i * size + 4, 4) > 0; at--)
			;
		memmove(sorted + (at + 1) * size, sorted + at * size, (i - at) * size);
		memcpy(sorted + at * size, items + i * size, size);
	}
	return sorted;
}

/* Accepted chunk lists, written again, are what was received, but for the order of Reads */
static void check_rewrite(const struct rpcrdma_hdr *hdr)
{
	u32 reads_len = hdr->read_segs * RPCRDMA_READ_ITEM_LEN;
	u8 *sorted = sorted_reads(hdr);
	u32 len = hdr->body - hdr->reads;
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	u64 read = 0, written = 0;
	struct rpcrdma_chunk reply;
	struct rpcrdma_enc enc;
	u8 *copy = malloc(len);

	rpcrdma_enc_init(&enc, copy, len);
	rpcrdma_read_iter_init(&reads, hdr);
	while (rpcrdma_read_iter_next(&reads)) {
		rpcrdma_enc_read_segment(&enc, reads.position, &reads.seg);
		read += reads.seg.length;
	}
	rpcrdma_enc_list_end(&enc);
	rpcrdma_write_iter_init(&writes, hdr);
	while (rpcrdma_write_iter_next(&writes)) {
		rpcrdma_enc_chunk_return(&enc, &writes.chunk,
					 writes.chunk.bytes);
		written += writes.chunk.segs;
	}
	rpcrdma_enc_list_end(&enc);
	if (rpcrdma_hdr_reply_chunk(hdr, &reply)) {
		rpcrdma_enc_chunk_return(&enc, &reply, reply.bytes);
		PROPERTY(reply.segs == hdr->reply_segs);
		PROPERTY(reply.bytes == hdr->reply_bytes);
	} else {
		rpcrdma_enc_list_end(&enc);
	}
	PROPERTY(!enc.overflow && enc.len == len);
	PROPERTY(!memcmp(copy, sorted, reads_len));
	PROPERTY(!memcmp(copy + reads_len, hdr->buf + hdr->reads + reads_len, len - reads_len));
	PROPERTY(hdr->reads_unordered == !!memcmp(sorted, hdr->buf + hdr->reads, reads_len));
	PROPERTY(read == hdr->pzrc_bytes + hdr->read_bytes);
	PROPERTY(written == hdr->write_segs);
	free(sorted);
	free(copy);
}

static bool offers(const struct rpcrdma_hdr *hdr, u32 handle)
{
	const u8 *end = hdr->buf + hdr->body, *p;
	u32 word = cpu_to_be32(handle);

	for (p = hdr->buf + hdr->reads; p < end; p += 4)
		if (!memcmp(p, &word, sizeof(word)))
			return true;
	return false;
}

/* What is invalidated is the Call's own, and with the option what it named */
static void check_handle(const struct rpcrdma_hdr *hdr)
{
	u32 handle = rpcrdma_hdr_inv_handle(hdr, true, true);

	PROPERTY(!handle || offers(hdr, handle));
	PROPERTY(!rpcrdma_hdr_inv_handle(hdr, false, false));
	if (hdr->vers == RPCRDMA_V2)
		PROPERTY(!handle || (hdr->option && handle == hdr->inv_handle));
	else
		PROPERTY(!rpcrdma_hdr_inv_handle(hdr, false, true));
}

/* Read chunks, Position Zero's too, and where the last one begins */
struct read_list {
	u32 chunks;
	u32 item;
};

static struct read_list read_list(const struct rpcrdma_hdr *hdr)
{
	struct read_list list = { 0 };
	struct rpcrdma_read_iter it;

	rpcrdma_read_iter_init(&it, hdr);
	while (rpcrdma_read_iter_next(&it)) {
		if (!list.chunks || it.position != list.item)
			list.chunks++;
		list.item = it.position;
	}
	return list;
}

/*
 * A chunk has pages of its own only where it is the only one, and what precedes it, which
 * is the head, came inline and is an RPC Call's.
 */
static void check_layout(const struct rpcrdma_hdr *hdr, u32 page_size)
{
	enum rpcrdma_layout layout = rpcrdma_plan_layout(hdr, page_size);
	struct read_list list = read_list(hdr);

	PROPERTY((layout == RPCRDMA_LAYOUT_INLINE) == !list.chunks);
	switch (layout) {
	case RPCRDMA_LAYOUT_INLINE:
		break;
	case RPCRDMA_LAYOUT_CHUNK:
		PROPERTY(list.chunks == 1 && list.item && !hdr->pzrc_bytes);
		PROPERTY(list.item >= 28 && list.item <= hdr->body_len);
		break;
	case RPCRDMA_LAYOUT_PAGES:
		break;
	}
}

static u64 chunk_octets(const struct rpcrdma_chunk *chunk)
{
	struct rpcrdma_segment seg;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		sum += seg.length;
	}
	return sum;
}

/* As a Reply, to a Call that offered so much: the same from the segments, one by one */
static void check_within(const struct rpcrdma_hdr *hdr, u64 write_offered,
			 u64 reply_offered)
{
	u64 written = 0, replied = 0, chunks = 0;
	struct rpcrdma_write_iter writes;
	struct rpcrdma_chunk reply;
	bool within;

	rpcrdma_write_iter_init(&writes, hdr);
	while (rpcrdma_write_iter_next(&writes)) {
		written += chunk_octets(&writes.chunk);
		chunks++;
	}
	if (rpcrdma_hdr_reply_chunk(hdr, &reply))
		replied = chunk_octets(&reply);
	within = chunks <= 1 && written <= write_offered &&
		 replied <= reply_offered &&
		 (replied != 0) == (hdr->proc == RPCRDMA_NOMSG);
	PROPERTY(rpcrdma_reply_within(hdr, write_offered, reply_offered) == within);
}

static void check_accepted(const struct rpcrdma_hdr *hdr,
			   const struct rpcrdma_limits *lim)
{
	u64 written = hdr->write_bytes, replied = hdr->reply_bytes;

	PROPERTY(hdr->fault == RPCRDMA_FAULT_NONE);
	if (hdr->proc == RPCRDMA_ERROR)
		return;
	PROPERTY(hdr->proc == RPCRDMA_MSG || hdr->proc == RPCRDMA_NOMSG);
	PROPERTY(hdr->vers == RPCRDMA_V1 || hdr->vers == RPCRDMA_V2);
	PROPERTY(hdr->vers >= lim->vers_min && hdr->vers <= lim->vers_max);
	PROPERTY(!hdr->option || hdr->vers == RPCRDMA_V2);
	PROPERTY(hdr->body >= RPCRDMA_HDR_MIN +
			      (hdr->option ? RPCRDMA_INV_LEN : 0) && hdr->body <= hdr->len);
	PROPERTY(hdr->body_len <= hdr->len - hdr->body);
	PROPERTY(hdr->msg_len <= lim->max_message);
	PROPERTY(hdr->read_segs <= lim->max_read_segs);
	PROPERTY(hdr->read_chunks <= hdr->read_segs);
	PROPERTY(hdr->write_chunks <= lim->max_write_chunks);
	PROPERTY(hdr->write_segs + hdr->reply_segs <= lim->max_write_segs);
	PROPERTY(hdr->msg_len || hdr->reply);
	check_tiling(hdr);
	check_rewrite(hdr);
	check_handle(hdr);
	check_layout(hdr, 4096);
	check_layout(hdr, 128);
	check_within(hdr, 0, 0);
	check_within(hdr, written, replied);
	check_within(hdr, written ? written - 1 : 0, replied);
	check_within(hdr, written, replied ? replied - 1 : 0);
	check_within(hdr, U64_MAX, U64_MAX);
}

static void check_reference(const struct rpcrdma_hdr *hdr, bool accepted,
			    const struct rpcrdma_limits *lim)
{
	static struct ref_header ref;

	PROPERTY(ref_accepts(&ref, hdr->buf, hdr->len, lim) == accepted);
	if (!accepted || hdr->proc == RPCRDMA_ERROR)
		return;
	PROPERTY(hdr->xid == ref.xid && hdr->vers == ref.vers);
	PROPERTY(hdr->proc == ref.proc && hdr->option == ref.option);
	if (ref.option)
		PROPERTY(hdr->direction == ref.direction &&
			 hdr->inv_handle == ref.handle);
	PROPERTY(hdr->read_segs == ref.n_reads);
	PROPERTY(hdr->write_chunks == ref.n_chunks);
	PROPERTY(hdr->write_segs == ref.n_writes);
	PROPERTY(hdr->reply_segs == ref.n_reply);
	PROPERTY(hdr->buf + hdr->body == ref.rest);
	PROPERTY(hdr->msg_len == ref.msg_len);
}

/*
 * One to @most, what was granted where that is between; nothing from who cannot be believed,
 * and no more than before by an error
 */
static void check_grant(const struct rpcrdma_hdr *hdr, u32 most, bool matched)
{
	u32 grant = rpcrdma_hdr_grant(hdr, most, most, matched);

	PROPERTY(rpcrdma_hdr_grant(hdr, most, 1, matched) ==
		 (hdr->proc == RPCRDMA_ERROR ? min(grant, 1U) : grant));

	PROPERTY(!grant == (hdr->fault != RPCRDMA_FAULT_NONE ||
			    (!matched && hdr->direction != RPCRDMA_DIR_REPLY)));
	PROPERTY(grant <= most);
	PROPERTY(!grant || grant == hdr->credits ||
		 (grant == most && hdr->credits > most) ||
		 (grant == 1 && !hdr->credits));
}

/*
 * What came by Send With Invalidate is a Reply, or costs the connection. A Responder has
 * nothing that a peer may invalidate
 */
static void check_invalidated(const struct rpcrdma_hdr *hdr)
{
	enum rpcrdma_action plain, invalidated;

	plain = rpcrdma_dispatch(hdr, RPCRDMA_REQUESTER, false);
	invalidated = rpcrdma_dispatch(hdr, RPCRDMA_REQUESTER, true);
	if (plain == RPCRDMA_ACT_REPLY || plain == RPCRDMA_ACT_FAIL)
		PROPERTY(invalidated == plain);
	else
		PROPERTY(invalidated == RPCRDMA_ACT_CLOSE);
	PROPERTY(rpcrdma_dispatch(hdr, RPCRDMA_RESPONDER, true) == RPCRDMA_ACT_CLOSE);
}

/* An RDMA_ERROR answers no RDMA_ERROR, and nothing that is too short */
static void check_error(const struct rpcrdma_hdr *hdr)
{
	enum rpcrdma_errcode errcode = rpcrdma_fault_errcode(hdr->fault);

	PROPERTY(hdr->proc != RPCRDMA_ERROR);
	PROPERTY(hdr->len >= (hdr->vers == RPCRDMA_V2 ? RPCRDMA_FIXED_LEN :
							RPCRDMA_HDR_MIN));
	if (errcode == RPCRDMA_ERR_INVAL_OPTION)
		PROPERTY(hdr->vers == RPCRDMA_V2);
}

/* Whatever comes: who never answers does not, and no Call is made up */
static void check_actions(const struct rpcrdma_hdr *hdr)
{
	enum rpcrdma_direction direction = hdr->direction;
	bool callback = direction == RPCRDMA_DIR_CALL || hdr->pzrc_bytes;
	enum rpcrdma_action action;

	action = rpcrdma_dispatch(hdr, RPCRDMA_REQUESTER, false);
	PROPERTY(action != RPCRDMA_ACT_CLOSE &&
		 action != RPCRDMA_ACT_FAIL_OR_ERROR);
	if (action == RPCRDMA_ACT_ERROR)
		PROPERTY(callback && hdr->fault != RPCRDMA_FAULT_VERSION);
	if (action == RPCRDMA_ACT_ERROR || action == RPCRDMA_ACT_FAIL_AND_ERROR)
		check_error(hdr);
	PROPERTY(action != RPCRDMA_ACT_CALL || direction == RPCRDMA_DIR_CALL);
	PROPERTY(action != RPCRDMA_ACT_REPLY || !hdr->fault);
	action = rpcrdma_dispatch(hdr, RPCRDMA_RESPONDER, false);
	PROPERTY(action != RPCRDMA_ACT_CLOSE);
	PROPERTY(action != RPCRDMA_ACT_CALL || (!hdr->fault && hdr->msg_len));
	if (action == RPCRDMA_ACT_ERROR)
		PROPERTY(callback);
	if (action == RPCRDMA_ACT_ERROR || action == RPCRDMA_ACT_FAIL_OR_ERROR ||
	    action == RPCRDMA_ACT_FAIL_AND_ERROR)
		check_error(hdr);
	if (action == RPCRDMA_ACT_FAIL_OR_ERROR)
		PROPERTY(direction == RPCRDMA_DIR_UNKNOWN);
	if (hdr->proc == RPCRDMA_ERROR || direction == RPCRDMA_DIR_REPLY)
		PROPERTY(action == RPCRDMA_ACT_REPLY ||
			 action == RPCRDMA_ACT_FAIL);
}

static void check_frame(const u8 *data, u32 size,
			const struct rpcrdma_limits *lim)
{
	struct rpcrdma_hdr hdr;
	bool accepted = !rpcrdma_decode(&hdr, data, size, lim);

	PROPERTY(accepted == !hdr.fault);
	check_reference(&hdr, accepted, lim);
	check_actions(&hdr);
	check_invalidated(&hdr);
	check_grant(&hdr, 1, false);
	check_grant(&hdr, 64, false);
	check_grant(&hdr, 64, true);
	check_grant(&hdr, U32_MAX, true);
	PROPERTY(rpcrdma_fault_name(hdr.fault));
	if (accepted)
		check_accepted(&hdr, lim);
}

/* XID and message type: what every RPC message has */
#define RPC_LEAST	8

/* A header as drawn from the input */
struct recipe {
	struct rpcrdma_form form;
	u32 xid;
	u32 credits;
	u32 base;
	u32 read_segs;
	u32 position[MAX_SEGS];
	struct rpcrdma_segment read[MAX_SEGS];
	u32 write_chunks;
	u32 write_segs[4];
	struct rpcrdma_segment write[4][4];
	u32 reply_segs;
	struct rpcrdma_segment reply[4];
};

static void draw_segment(struct draw *draw, struct rpcrdma_segment *seg,
			 u32 least)
{
	seg->handle = draw_u32(draw);
	seg->length = least + draw_u32(draw) % 5000;
	seg->offset = (u64)draw_u32(draw) << 32 | draw_u32(draw);
}

/* Chunks at positions that leave no octet of the base twice or unreached */
static void draw_reads(struct draw *draw, struct recipe *r, bool nomsg)
{
	u32 chunks = draw_u8(draw) % 4, segs, position = 0, used = 0, gap, len;

	if (nomsg) {
		draw_segment(draw, &r->read[0], RPC_LEAST);
		r->position[0] = 0;
		r->read_segs = 1;
		r->base = r->read[0].length;
	}
	while (chunks--) {
		gap = draw_u8(draw) % 16 * 4;
		if (!position && gap < RPC_LEAST)
			gap = RPC_LEAST;
		if (used + gap > r->base)
			return;
		used += gap;
		position += gap;
		for (segs = 1 + draw_u8(draw) % 4, len = 0; segs; segs--) {
			r->position[r->read_segs] = position;
			draw_segment(draw, &r->read[r->read_segs], 1);
			len += r->read[r->read_segs++].length;
		}
		position += rpcrdma_xdr_roundup(len);
	}
}

static void draw_recipe(struct draw *draw, struct recipe *r, bool nomsg)
{
	u32 i, j;

	memset(r, 0, sizeof(*r));
	r->form.vers = RPCRDMA_V1 + draw_u8(draw) % 2;
	r->form.option = r->form.vers == RPCRDMA_V2 && draw_u8(draw) & 1;
	if (r->form.option)
		r->form.inv_handle = draw_u32(draw);
	r->xid = draw_u32(draw);
	r->credits = draw_u32(draw);
	r->base = RPC_LEAST + draw_u8(draw);
	draw_reads(draw, r, nomsg);
	r->write_chunks = draw_u8(draw) % 5;
	for (i = 0; i < r->write_chunks; i++) {
		r->write_segs[i] = 1 + draw_u8(draw) % 4;
		for (j = 0; j < r->write_segs[i]; j++)
			draw_segment(draw, &r->write[i][j], 0);
	}
	r->reply_segs = draw_u8(draw) % 5;
	for (i = 0; i < r->reply_segs; i++)
		draw_segment(draw, &r->reply[i], 0);
}

static void encode_recipe(struct rpcrdma_enc *enc, const struct recipe *r,
			  bool nomsg)
{
	u32 i, j;

	rpcrdma_enc_begin(enc, r->xid, r->credits,
			  nomsg ? RPCRDMA_NOMSG : RPCRDMA_MSG, &r->form);
	for (i = 0; i < r->read_segs; i++)
		rpcrdma_enc_read_segment(enc, r->position[i], &r->read[i]);
	rpcrdma_enc_list_end(enc);
	for (i = 0; i < r->write_chunks; i++) {
		rpcrdma_enc_write_chunk(enc, r->write_segs[i]);
		for (j = 0; j < r->write_segs[i]; j++)
			rpcrdma_enc_segment(enc, &r->write[i][j]);
	}
	rpcrdma_enc_list_end(enc);
	if (r->reply_segs)
		rpcrdma_enc_write_chunk(enc, r->reply_segs);
	else
		rpcrdma_enc_list_end(enc);
	for (i = 0; i < r->reply_segs; i++)
		rpcrdma_enc_segment(enc, &r->reply[i]);
	rpcrdma_enc_end(enc);
}

static bool same_segment(const struct rpcrdma_segment *a,
			 const struct rpcrdma_segment *b)
{
	return a->handle == b->handle && a->length == b->length &&
	       a->offset == b->offset;
}

static void compare_chunk(const struct rpcrdma_chunk *chunk, u32 segs,
			  const struct rpcrdma_segment *want)
{
	struct rpcrdma_segment seg;
	u32 i;

	PROPERTY(chunk->segs == segs);
	for (i = 0; i < segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		PROPERTY(same_segment(&seg, &want[i]));
	}
}

static void compare_recipe(const struct rpcrdma_hdr *hdr,
			   const struct recipe *r)
{
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_chunk reply;
	u32 i;

	PROPERTY(hdr->xid == r->xid && hdr->credits == r->credits);
	PROPERTY(hdr->vers == r->form.vers && hdr->option == r->form.option);
	PROPERTY(hdr->inv_handle == r->form.inv_handle);
	rpcrdma_read_iter_init(&reads, hdr);
	for (i = 0; i < r->read_segs; i++) {
		PROPERTY(rpcrdma_read_iter_next(&reads));
		PROPERTY(reads.position == r->position[i]);
		PROPERTY(same_segment(&reads.seg, &r->read[i]));
	}
	PROPERTY(!rpcrdma_read_iter_next(&reads));
	rpcrdma_write_iter_init(&writes, hdr);
	for (i = 0; i < r->write_chunks; i++) {
		PROPERTY(rpcrdma_write_iter_next(&writes));
		compare_chunk(&writes.chunk, r->write_segs[i], r->write[i]);
	}
	PROPERTY(!rpcrdma_write_iter_next(&writes));
	PROPERTY(rpcrdma_hdr_reply_chunk(hdr, &reply) == !!r->reply_segs);
	if (r->reply_segs)
		compare_chunk(&reply, r->reply_segs, r->reply);
}

static void check_recipe(const u8 *data, size_t size)
{
	struct draw draw = { data, size };
	bool nomsg = draw_u8(&draw) & 1;
	struct rpcrdma_enc enc;
	struct rpcrdma_hdr hdr;
	struct recipe r;
	u8 buf[4096];
	u32 xid;

	draw_recipe(&draw, &r, nomsg);
	memset(buf, 0, sizeof(buf));
	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	encode_recipe(&enc, &r, nomsg);
	PROPERTY(!enc.overflow);
	if (!nomsg) {
		xid = cpu_to_be32(r.xid);
		memcpy(buf + enc.len, &xid, sizeof(xid));
		enc.len += r.base;
	}
	PROPERTY(!rpcrdma_decode(&hdr, buf, enc.len, &both));
	compare_recipe(&hdr, &r);
	check_accepted(&hdr, &both);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	check_frame(data, size, &wide);
	check_frame(data, size, &both);
	check_frame(data, size, &endless);
	check_frame(data, size, &narrow);
	check_recipe(data, size);
	return 0;
}
