// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/wire_decode.c.
 */
#include "suites.h"
#include "frames_v2.h"
#include "rich_frame.h"
#include "wire_fixed_cases.h"
#include "wire_chunk_cases.h"
#ifdef CONFIG_RPCRDMA_V2
#include "wire_v2_cases.h"
#endif

static void decode_case_desc(const struct decode_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fixed, fixed_cases, decode_case_desc);
KUNIT_ARRAY_PARAM(chunk, chunk_cases, decode_case_desc);

static void expect_read_list(struct kunit *test, const struct rpcrdma_hdr *want,
			     const struct rpcrdma_hdr *hdr)
{
	KUNIT_EXPECT_EQ(test, hdr->read_segs, want->read_segs);
	KUNIT_EXPECT_EQ(test, hdr->read_chunks, want->read_chunks);
	KUNIT_EXPECT_EQ(test, hdr->pzrc_bytes, want->pzrc_bytes);
	KUNIT_EXPECT_EQ(test, hdr->read_bytes, want->read_bytes);
	KUNIT_EXPECT_EQ(test, hdr->reads_unordered, want->reads_unordered);
	if (!want->reads_unordered)
		return;
	KUNIT_EXPECT_EQ(test, hdr->ddp_first, want->ddp_first);
	KUNIT_EXPECT_EQ(test, hdr->ddp_position, want->ddp_position);
	KUNIT_EXPECT_EQ(test, hdr->ddp_end, want->ddp_end);
}

static void expect_write_lists(struct kunit *test,
			       const struct rpcrdma_hdr *want,
			       const struct rpcrdma_hdr *hdr)
{
	KUNIT_EXPECT_EQ(test, hdr->write_chunks, want->write_chunks);
	KUNIT_EXPECT_EQ(test, hdr->write_segs, want->write_segs);
	if (!want->write_chunks)
		KUNIT_EXPECT_EQ(test, hdr->write_bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, hdr->reply_segs, want->reply_segs);
	KUNIT_EXPECT_EQ(test, hdr->reply_bytes, want->reply_bytes);
	if (want->reply)
		KUNIT_EXPECT_EQ(test, hdr->reply, want->reply);
	else
		KUNIT_EXPECT_EQ(test, !hdr->reply, !want->reply_segs);
}

static void expect_message(struct kunit *test, const struct rpcrdma_hdr *want,
			   const struct rpcrdma_hdr *hdr)
{
	KUNIT_EXPECT_EQ(test, hdr->body, want->body);
	KUNIT_EXPECT_EQ(test, hdr->body_len, want->body_len);
	KUNIT_EXPECT_EQ(test, hdr->msg_len, want->msg_len);
	KUNIT_EXPECT_EQ(test, hdr->errcode, want->errcode);
	KUNIT_EXPECT_EQ(test, hdr->err_vers_low, want->err_vers_low);
	KUNIT_EXPECT_EQ(test, hdr->err_vers_high, want->err_vers_high);
}

static void expect_fixed(struct kunit *test, const struct decode_case *c,
			 const struct rpcrdma_hdr *hdr)
{
	KUNIT_EXPECT_EQ(test, hdr->len, c->len);
	KUNIT_EXPECT_EQ(test, hdr->xid, c->len >= 4 ? c->frame[0] : 0);
	KUNIT_EXPECT_EQ(test, hdr->vers, c->len >= 8 ? c->frame[1] : 0);
	KUNIT_EXPECT_EQ(test, hdr->credits, c->len >= 12 ? c->frame[2] : 0);
}

/* An option takes the place of the procedure that it stands for */
static void expect_proc(struct kunit *test, const struct decode_case *c,
			const struct rpcrdma_hdr *hdr)
{
	u32 proc = c->len >= 16 ? c->frame[3] : 0;

	KUNIT_EXPECT_EQ(test, hdr->option, c->view.option);
	KUNIT_EXPECT_EQ(test, (u32)hdr->proc,
			hdr->option ? (u32)c->view.proc : proc);
	if (!c->view.option)
		return;
	KUNIT_EXPECT_EQ(test, hdr->direction, c->view.direction);
	KUNIT_EXPECT_EQ(test, hdr->inv_handle, c->view.inv_handle);
}

static enum rpcrdma_fault decode(struct kunit *test, struct rpcrdma_hdr *hdr,
				 const u8 *buf, u32 len,
				 const struct rpcrdma_limits *lim)
{
	enum rpcrdma_fault fault;

	/* What was there before must not matter */
	memset(hdr, 0xee, sizeof(*hdr));
	fault = rpcrdma_decode(hdr, buf, len, lim);
	KUNIT_EXPECT_EQ(test, fault, hdr->fault);
	return fault;
}

static void expect_case(struct kunit *test, const struct decode_case *c,
			const struct rpcrdma_limits *lim)
{
	enum rpcrdma_fault fault;
	struct rpcrdma_hdr hdr;
	u8 *buf;

	buf = frame_octets(test, c->frame, c->len);

	fault = decode(test, &hdr, buf, c->len, lim);

	KUNIT_EXPECT_EQ(test, fault, c->fault);
	expect_fixed(test, c, &hdr);
	expect_proc(test, c, &hdr);
	if (fault)
		return;
	expect_read_list(test, &c->view, &hdr);
	expect_write_lists(test, &c->view, &hdr);
	expect_message(test, &c->view, &hdr);
}

static void wire_decode_fixed(struct kunit *test)
{
	expect_case(test, test->param_value, &frame_limits);
}

static void wire_decode_chunks(struct kunit *test)
{
	expect_case(test, test->param_value, &frame_limits);
}

#ifdef CONFIG_RPCRDMA_V2
KUNIT_ARRAY_PARAM(v2, v2_cases, decode_case_desc);

static void wire_decode_v2(struct kunit *test)
{
	expect_case(test, test->param_value, &frame_limits_v2);
}
#endif /* CONFIG_RPCRDMA_V2 */

/* Whatever is cut off: never accepted, never a look behind the end */
static void wire_decode_truncated(struct kunit *test)
{
	struct rpcrdma_hdr hdr;
	u32 len;
	u8 *buf;

	for (len = 0; len < RICH_BODY + 4; len++) {
		buf = frame_octets(test, rich_frame, len);

		KUNIT_EXPECT_NE_MSG(test, decode(test, &hdr, buf, len,
						 &frame_limits),
				    RPCRDMA_FAULT_NONE, "length %u", len);
	}
}

static void walk(const struct rpcrdma_hdr *hdr, u64 *read, u64 *written)
{
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_chunk reply;

	*read = 0;
	*written = 0;
	rpcrdma_read_iter_init(&reads, hdr);
	while (rpcrdma_read_iter_next(&reads))
		*read += reads.seg.length;
	rpcrdma_write_iter_init(&writes, hdr);
	while (rpcrdma_write_iter_next(&writes))
		*written += writes.chunk.segs;
	if (rpcrdma_hdr_reply_chunk(hdr, &reply))
		*written += reply.segs;
}

/* One octet wrong, anywhere: what is accepted can be walked, and adds up */
static void wire_decode_mutated(struct kunit *test)
{
	static const u8 values[] = { 0, 1, 2, 4, 0x7f, 0x80, 0xff };
	u8 *buf = frame_octets(test, rich_frame, sizeof(rich_frame));
	struct rpcrdma_hdr hdr;
	u64 read, written;
	u32 at, i;
	u8 was;

	for (at = 0; at < sizeof(rich_frame); at++) {
		was = buf[at];
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			buf[at] = values[i];
			if (decode(test, &hdr, buf, sizeof(rich_frame),
				   &frame_limits) != RPCRDMA_FAULT_NONE)
				continue;
			walk(&hdr, &read, &written);
			KUNIT_EXPECT_EQ(test, read,
					hdr.pzrc_bytes + hdr.read_bytes);
			KUNIT_EXPECT_EQ(test, written,
					hdr.write_segs + hdr.reply_segs);
		}
		buf[at] = was;
	}
}

static void expect_segment(struct kunit *test,
			   const struct rpcrdma_segment *seg,
			   u32 handle, u32 length, u64 offset)
{
	KUNIT_EXPECT_EQ(test, seg->handle, handle);
	KUNIT_EXPECT_EQ(test, seg->length, length);
	KUNIT_EXPECT_EQ(test, seg->offset, offset);
}

/* A message of @len octets, of which the Read segment brings those that are missing */
static void expect_long_read(struct kunit *test, u64 len)
{
	const u32 body = 11;
	u32 frame[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 8, 0xa1, len - body, 0x1, 0x1000, 0, 0, 0, XID, 0, 5,
	};
	u32 size = RPCRDMA_HDR_MIN + RPCRDMA_READ_ITEM_LEN + body;
	u8 *buf = frame_octets(test, frame, size);
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_hdr hdr;

	lim.max_message = U32_MAX;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, size, &lim) == RPCRDMA_FAULT_NONE,
			len <= U32_MAX);
}

/* Octets of a message are counted in 32 bits, whatever the limit */
static void wire_decode_longest(struct kunit *test)
{
	expect_long_read(test, U32_MAX - 4);
	expect_long_read(test, U32_MAX);
	expect_long_read(test, U32_MAX + 4ULL);
}

static void wire_read_iter(struct kunit *test)
{
	struct rpcrdma_read_iter it;
	struct rpcrdma_hdr hdr;

	decode_rich(test, &hdr);
	rpcrdma_read_iter_init(&it, &hdr);

	KUNIT_ASSERT_TRUE(test, rpcrdma_read_iter_next(&it));
	KUNIT_EXPECT_EQ(test, it.position, 8U);
	expect_segment(test, &it.seg, 0xa1, 6, 0x100001000);
	KUNIT_ASSERT_TRUE(test, rpcrdma_read_iter_next(&it));
	KUNIT_EXPECT_EQ(test, it.position, 8U);
	expect_segment(test, &it.seg, 0xa2, 1, 0x200002000);
	KUNIT_ASSERT_TRUE(test, rpcrdma_read_iter_next(&it));
	KUNIT_EXPECT_EQ(test, it.position, 16U);
	expect_segment(test, &it.seg, 0xa3, 3, 0x300003000);
	KUNIT_EXPECT_FALSE(test, rpcrdma_read_iter_next(&it));
	KUNIT_EXPECT_FALSE(test, rpcrdma_read_iter_next(&it));
}

/* A Call with @segs Read segments of one word each, without a gap, at 8 and behind */
static u8 *frame_of_reads(struct kunit *test, u32 segs, bool descend, u32 *len)
{
	struct rpcrdma_form form = { .vers = RPCRDMA_V1 };
	struct rpcrdma_segment seg = { .length = 4 };
	struct rpcrdma_enc enc;
	u32 i;
	u8 *buf;

	*len = RPCRDMA_HDR_MIN + segs * RPCRDMA_READ_ITEM_LEN + 8;
	buf = kunit_kzalloc(test, *len, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, buf);
	rpcrdma_enc_init(&enc, buf, *len);
	rpcrdma_enc_begin(&enc, XID, 1, RPCRDMA_MSG, &form);
	for (i = 0; i < segs; i++) {
		seg.handle = descend ? segs - i : i + 1;
		rpcrdma_enc_read_segment(&enc, 4 + 4 * seg.handle, &seg);
	}
	for (i = 0; i < 3; i++)
		rpcrdma_enc_list_end(&enc);
	enc_u32(&enc, XID);
	enc_u32(&enc, RPCRDMA_DIR_CALL);
	KUNIT_ASSERT_TRUE(test, !enc.overflow);
	return buf;
}

static void expect_ascending(struct kunit *test, const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_read_iter it;
	u32 i = 0;

	rpcrdma_read_iter_init(&it, hdr);
	while (rpcrdma_read_iter_next(&it)) {
		KUNIT_ASSERT_EQ(test, it.seg.handle, ++i);
		KUNIT_ASSERT_EQ(test, it.position, 4 + 4 * i);
	}
	KUNIT_EXPECT_EQ(test, i, hdr->read_segs);
	KUNIT_EXPECT_FALSE(test, rpcrdma_read_iter_next(&it));
}

/*
 * The cost of another order grows with the square of the segments: up to 512 of them.
 * In their own order there may be any number.
 */
static void wire_read_unordered(struct kunit *test)
{
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_hdr hdr;
	u32 len;
	u8 *buf;

	lim.max_read_segs = U32_MAX;
	buf = frame_of_reads(test, 512, true, &len);
	KUNIT_ASSERT_EQ(test, decode(test, &hdr, buf, len, &lim), RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, hdr.read_chunks, 512U);
	expect_ascending(test, &hdr);

	buf = frame_of_reads(test, 513, true, &len);
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, len, &lim), RPCRDMA_FAULT_TOO_MANY);

	buf = frame_of_reads(test, 513, false, &len);
	KUNIT_ASSERT_EQ(test, decode(test, &hdr, buf, len, &lim), RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_FALSE(test, hdr.reads_unordered);
	expect_ascending(test, &hdr);
}

static void wire_write_iter(struct kunit *test)
{
	struct rpcrdma_write_iter it;
	struct rpcrdma_segment seg;
	struct rpcrdma_hdr hdr;

	decode_rich(test, &hdr);
	rpcrdma_write_iter_init(&it, &hdr);

	KUNIT_ASSERT_TRUE(test, rpcrdma_write_iter_next(&it));
	KUNIT_EXPECT_EQ(test, it.chunk.segs, 2U);
	KUNIT_EXPECT_EQ(test, it.chunk.bytes, 120ULL);
	rpcrdma_chunk_segment(&it.chunk, 0, &seg);
	expect_segment(test, &seg, 0xb1, 100, 0x400004000);
	rpcrdma_chunk_segment(&it.chunk, 1, &seg);
	expect_segment(test, &seg, 0xb2, 20, 0x500005000);
	KUNIT_ASSERT_TRUE(test, rpcrdma_write_iter_next(&it));
	KUNIT_EXPECT_EQ(test, it.chunk.segs, 1U);
	KUNIT_EXPECT_EQ(test, it.chunk.bytes, 7ULL);
	KUNIT_EXPECT_FALSE(test, rpcrdma_write_iter_next(&it));
}

/* Before the first step an iterator is at nothing, whatever was there */
static void wire_iter_init(struct kunit *test)
{
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_hdr hdr;

	decode_rich(test, &hdr);
	memset(&reads, 0xee, sizeof(reads));
	memset(&writes, 0xee, sizeof(writes));

	rpcrdma_read_iter_init(&reads, &hdr);
	rpcrdma_write_iter_init(&writes, &hdr);

	KUNIT_EXPECT_EQ(test, reads.position, 0U);
	expect_segment(test, &reads.seg, 0, 0, 0);
	KUNIT_EXPECT_FALSE(test, writes.chunk.hdr);
	KUNIT_EXPECT_EQ(test, writes.chunk.at, 0U);
	KUNIT_EXPECT_EQ(test, writes.chunk.segs, 0U);
	KUNIT_EXPECT_EQ(test, writes.chunk.bytes, 0ULL);
}

static void wire_reply_chunk(struct kunit *test)
{
	struct rpcrdma_segment seg;
	struct rpcrdma_chunk chunk;
	struct rpcrdma_hdr hdr;

	decode_rich(test, &hdr);

	KUNIT_ASSERT_TRUE(test, rpcrdma_hdr_reply_chunk(&hdr, &chunk));
	KUNIT_EXPECT_EQ(test, chunk.segs, 1U);
	KUNIT_EXPECT_EQ(test, chunk.bytes, 90ULL);
	rpcrdma_chunk_segment(&chunk, 0, &seg);
	expect_segment(test, &seg, 0xc1, 90, 0x700007000);
}

static void wire_no_lists(struct kunit *test)
{
	static const u32 frame[] = { XID, 1, 1, 0, 0, 0, 0, XID, 0 };
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_chunk chunk;
	struct rpcrdma_hdr hdr;

	decode(test, &hdr, buf, sizeof(frame), &frame_limits);
	rpcrdma_read_iter_init(&reads, &hdr);
	rpcrdma_write_iter_init(&writes, &hdr);

	KUNIT_EXPECT_FALSE(test, rpcrdma_read_iter_next(&reads));
	KUNIT_EXPECT_FALSE(test, rpcrdma_write_iter_next(&writes));
	KUNIT_EXPECT_FALSE(test, rpcrdma_hdr_reply_chunk(&hdr, &chunk));
}

static void expect_only_whole(struct kunit *test, const u32 *frame, u32 size)
{
	struct rpcrdma_hdr hdr;
	u32 len;
	u8 *buf;

	for (len = 0; len <= size; len++) {
		buf = frame_octets(test, frame, len);
		KUNIT_EXPECT_EQ_MSG(test, len == size,
				    decode(test, &hdr, buf, len,
					   &frame_limits_v2) == RPCRDMA_FAULT_NONE,
				    "length %u", len);
	}
}

/* Whatever a plain message lacks: never accepted, never a look behind the end */
static void wire_decode_truncated_plain(struct kunit *test)
{
	static const u32 frame[] = { XID, 1, 1, RPCRDMA_MSG, 0, 0, 0, XID, 1 };

	expect_only_whole(test, frame, sizeof(frame));
}

#ifdef CONFIG_RPCRDMA_V2
static void wire_decode_truncated_v2(struct kunit *test)
{
	static const u32 frame[] = {
		XID, 2, 1, RPCRDMA_OPTIONAL, OPT_INV_MSG, 20, 1, 0,
		0, 0, 0, XID, 1
	};

	expect_only_whole(test, frame, sizeof(frame));
}
#endif /* CONFIG_RPCRDMA_V2 */

/* An inline message of so many octets as may be, and of one more */
static void wire_message_limit(struct kunit *test)
{
	static const u32 frame[] = { XID, 1, 1, 0, 0, 0, 0, XID, 0, 0 };
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_hdr hdr;

	lim.max_message = 12;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_NONE);
	lim.max_message = 11;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_TOO_LONG);
}

/* The limits decide too, not only what the codec knows */
static void wire_version_limits(struct kunit *test)
{
	static const u32 frame0[] = { XID, 0, 1, 0, 0, 0, 0, XID, 0 };
	static const u32 frame[] = { XID, 1, 1, 0, 0, 0, 0, XID, 0 };
	static const u32 frame2[] = { XID, 2, 1, 0, 0, 0, 0, XID, 0 };
	static const u32 frame3[] = { XID, 3, 1, 0, 0, 0, 0, XID, 0 };
	u8 *buf0 = frame_octets(test, frame0, sizeof(frame0));
	u8 *buf2 = frame_octets(test, frame2, sizeof(frame2));
	u8 *buf3 = frame_octets(test, frame3, sizeof(frame3));
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_hdr hdr;

	lim.vers_min = 0;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf0, sizeof(frame0), &lim),
			RPCRDMA_FAULT_VERSION);
	lim.vers_max = 2;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf2, sizeof(frame2), &lim),
			FAULT_V2);
	lim.vers_min = 2;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_VERSION);
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf2, sizeof(frame2), &lim),
			FAULT_V2);
	lim.vers_min = 3;
	lim.vers_max = 3;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf2, sizeof(frame2), &lim),
			RPCRDMA_FAULT_VERSION);
	/* What the limits allow and the codec does not know */
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf3, sizeof(frame3), &lim),
			RPCRDMA_FAULT_VERSION);
	lim.vers_min = 0;
	lim.vers_max = 0;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_VERSION);
}

/* Segments of a Read list count apart from those of a Write list */
static void wire_segment_limits(struct kunit *test)
{
	static const u32 read[] = {
		XID, 1, 32, RPCRDMA_MSG, 1, 8, 0xa1, 4, 0, 0x1000, 0, 0, 0,
		XID, 0,
	};
	static const u32 write[] = {
		XID, 1, 32, RPCRDMA_MSG, 0, 1, 1, 0xb1, 4, 7, 0x1000, 0, 0,
		XID, 0,
	};
	u8 *reads = frame_octets(test, read, sizeof(read));
	u8 *writes = frame_octets(test, write, sizeof(write));
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_hdr hdr;

	lim.max_read_segs = 0;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, reads, sizeof(read), &lim),
			RPCRDMA_FAULT_TOO_MANY);
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, writes, sizeof(write), &lim),
			RPCRDMA_FAULT_NONE);
	lim.max_read_segs = 1;
	lim.max_write_segs = 0;
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, reads, sizeof(read), &lim),
			RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, writes, sizeof(write), &lim),
			RPCRDMA_FAULT_TOO_MANY);
}

/* No limit lets a message through whose extents do not count in 32 bits */
static void wire_message_32_bits(struct kunit *test)
{
	u32 frame[] = {
		XID, 1, 1, RPCRDMA_NOMSG,
		1, 0, 0xa1, 0xffffffff, 0, 0,
		1, 0, 0xa2, 0, 0, 0,
		0, 0, 0,
	};
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_hdr hdr;
	u8 *buf;

	lim.max_message = U32_MAX;
	buf = frame_octets(test, frame, sizeof(frame));
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, hdr.msg_len, 0xffffffffULL);

	frame[13] = 1;
	buf = frame_octets(test, frame, sizeof(frame));
	KUNIT_EXPECT_EQ(test, decode(test, &hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_TOO_LONG);
}

static void wire_direction(struct kunit *test)
{
	static const struct {
		u32 len;
		u32 frame[9];
		enum rpcrdma_direction direction;
	} cases[] = {
		{ 36, { XID, 1, 1, 0, 0, 0, 0, XID, 0 }, RPCRDMA_DIR_CALL },
		{ 36, { XID, 1, 1, 0, 0, 0, 0, XID, 1 }, RPCRDMA_DIR_REPLY },
		{ 36, { XID, 1, 1, 0, 0, 0, 0, XID, 2 }, RPCRDMA_DIR_UNKNOWN },
		{ 36, { XID, 1, 1, 0, 0, 0, 0, XID, 3 }, RPCRDMA_DIR_UNKNOWN },
		{ 35, { XID, 1, 1, 0, 0, 0, 0, XID, 0 }, RPCRDMA_DIR_UNKNOWN },
		{ 28, { XID, 1, 1, 0, 0, 0, 0 }, RPCRDMA_DIR_UNKNOWN },
		{ 36, { XID, 1, 1, 1, 0, 0, 0, XID, 1 }, RPCRDMA_DIR_UNKNOWN },
		{ 20, { XID, 1, 1, 4, 2 }, RPCRDMA_DIR_UNKNOWN },
	};
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		buf = frame_octets(test, cases[i].frame, cases[i].len);
		decode(test, &hdr, buf, cases[i].len, &frame_limits);
		KUNIT_EXPECT_EQ_MSG(test, hdr.direction,
				    cases[i].direction, "case %u", i);
	}
}

static void wire_fault_names(struct kunit *test)
{
	u32 a, b;

	for (a = 0; a < __RPCRDMA_FAULT_MAX; a++) {
		KUNIT_ASSERT_TRUE(test, rpcrdma_fault_name(a));
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_NE_MSG(test,
					    strcmp(rpcrdma_fault_name(a),
						   rpcrdma_fault_name(b)), 0,
					    "faults %u and %u", a, b);
	}
	KUNIT_EXPECT_STREQ(test, rpcrdma_fault_name(__RPCRDMA_FAULT_MAX),
			   "unknown fault");
	KUNIT_EXPECT_STREQ(test, rpcrdma_fault_name(-1), "unknown fault");
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE_PARAM(wire_decode_fixed, fixed_gen_params),
	KUNIT_CASE_PARAM(wire_decode_chunks, chunk_gen_params),
#ifdef CONFIG_RPCRDMA_V2
	KUNIT_CASE_PARAM(wire_decode_v2, v2_gen_params),
	KUNIT_CASE(wire_decode_truncated_v2),
#endif
	KUNIT_CASE(wire_decode_truncated),
	KUNIT_CASE(wire_decode_truncated_plain),
	KUNIT_CASE(wire_decode_mutated),
	KUNIT_CASE(wire_decode_longest),
	KUNIT_CASE(wire_version_limits),
	KUNIT_CASE(wire_segment_limits),
	KUNIT_CASE(wire_message_limit),
	KUNIT_CASE(wire_message_32_bits),
	KUNIT_CASE(wire_direction),
	KUNIT_CASE(wire_fault_names),
	KUNIT_CASE(wire_read_iter),
	KUNIT_CASE(wire_read_unordered),
	KUNIT_CASE(wire_write_iter),
	KUNIT_CASE(wire_iter_init),
	KUNIT_CASE(wire_reply_chunk),
	KUNIT_CASE(wire_no_lists),
	{}
};

struct kunit_suite rpcrdma_wire_suite = {
	.name = "rpcrdma-wire",
	.test_cases = wire_cases,
};
