// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/plan.c.
 */
#include "suites.h"
#include "frames_v2.h"
#include "frames.h"
#include "plan_call_cases.h"
#include "plan_cases.h"

static void call_case_desc(const struct call_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(call, call_cases, call_case_desc);

static void plan_call(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	struct rpcrdma_call_plan plan;

	rpcrdma_plan_call(&plan, &c->shape);

	KUNIT_EXPECT_EQ(test, plan.mode, c->want.mode);
	KUNIT_EXPECT_EQ(test, plan.write_list, c->want.write_list);
	KUNIT_EXPECT_EQ(test, plan.reply_chunk, c->want.reply_chunk);
	KUNIT_EXPECT_EQ(test, plan.reply_chunk_bytes,
			c->want.reply_chunk_bytes);
}

/* No plan is needed where @want says so, and there it would be this one */
static void expect_plain(struct kunit *test, const struct rpcrdma_call_shape *s,
			 bool want)
{
	const struct rpcrdma_form form = { .option = s->option };
	struct rpcrdma_call_plan plan;
	struct rpcrdma_plain plain;

	rpcrdma_plan_plain(&plain, &form, s->inline_send, s->inline_recv);
	rpcrdma_plan_call(&plan, s);

	KUNIT_EXPECT_EQ(test, want,
			rpcrdma_plan_is_plain(&plain, s->pages, s->reply_max,
					      (u64)s->head + s->tail));
	if (!want)
		return;
	KUNIT_EXPECT_EQ(test, plan.mode, RPCRDMA_CALL_INLINE);
	KUNIT_EXPECT_FALSE(test, plan.write_list);
	KUNIT_EXPECT_FALSE(test, plan.reply_chunk);
}

/* As it is, and with what just fits, one octet less and one more, both ways */
static void plan_plain(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	struct rpcrdma_call_shape s = c->shape;
	u64 less = (s.option ? 44 : 28) + 1;
	u64 call, reply;
	u32 i;

	expect_plain(test, &s, !s.pages &&
		     c->want.mode == RPCRDMA_CALL_INLINE &&
		     !c->want.write_list && !c->want.reply_chunk);
	s.pages = 0;
	for (i = 0; i < 9; i++) {
		call = (u64)s.inline_send + i % 3;
		reply = (u64)s.inline_recv + i / 3;
		if (call < less || reply < less)
			continue;
		s.head = (call - less) / 2;
		s.tail = call - less - s.head;
		s.reply_max = reply - less;
		expect_plain(test, &s, i % 3 < 2 && i / 3 < 2);
	}
}

/* Thresholds as large as any, and shorter than a header */
static void plan_plain_extremes(struct kunit *test)
{
	struct rpcrdma_call_shape s = {
		.head = U32_MAX - 28, .reply_max = U32_MAX - 28,
		.inline_send = U32_MAX, .inline_recv = U32_MAX,
	};

	expect_plain(test, &s, true);
	s.tail = 1;
	expect_plain(test, &s, false);
	/* More than 32 bits count */
	s.tail = 29;
	expect_plain(test, &s, false);
	s.tail = 0;
	s.reply_max++;
	expect_plain(test, &s, false);
	s.reply_max = 0;
	s.inline_recv = 20;
	expect_plain(test, &s, false);
	s.inline_recv = U32_MAX;
	s.head = 0;
	s.inline_send = 20;
	expect_plain(test, &s, false);
}

static void tile_case_desc(const struct tile_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(tile, tile_cases, tile_case_desc);

static void expect_extent(struct kunit *test, const struct rpcrdma_extent *want,
			  const struct rpcrdma_extent *ext)
{
	KUNIT_EXPECT_EQ(test, ext->kind, want->kind);
	KUNIT_EXPECT_EQ(test, ext->chunk, want->chunk);
	KUNIT_EXPECT_EQ(test, ext->msg, want->msg);
	KUNIT_EXPECT_EQ(test, ext->len, want->len);
	KUNIT_EXPECT_EQ(test, ext->src, want->src);
	KUNIT_EXPECT_EQ(test, ext->seg.handle, want->seg.handle);
	KUNIT_EXPECT_EQ(test, ext->seg.length, want->seg.length);
	KUNIT_EXPECT_EQ(test, ext->seg.offset, want->seg.offset);
}

static void plan_tile(struct kunit *test)
{
	const struct tile_case *c = test->param_value;
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	buf = frame_octets(test, c->frame, c->len);
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, c->len, &frame_limits),
			RPCRDMA_ACCEPT);

	rpcrdma_tiler_init(&tiler, &hdr);

	for (i = 0; i < c->extents; i++) {
		KUNIT_ASSERT_TRUE(test, rpcrdma_tiler_next(&tiler, &ext));
		expect_extent(test, &c->want[i], &ext);
	}
	KUNIT_EXPECT_FALSE(test, rpcrdma_tiler_next(&tiler, &ext));
	KUNIT_EXPECT_FALSE(test, rpcrdma_tiler_next(&tiler, &ext));
}

/* One segment as long as any is one extent */
static void plan_tile_longest(struct kunit *test)
{
	static const u32 frame[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_NOMSG,
		1, 0, 0xa1, 0xffffffff, 0, 0x1000,
		0, 0, 0,
	};
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;
	struct rpcrdma_hdr hdr;

	lim.max_message = U32_MAX;
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(frame), &lim),
			RPCRDMA_ACCEPT);
	rpcrdma_tiler_init(&tiler, &hdr);

	KUNIT_ASSERT_TRUE(test, rpcrdma_tiler_next(&tiler, &ext));
	KUNIT_EXPECT_EQ(test, ext.len, U32_MAX);
	KUNIT_EXPECT_FALSE(test, rpcrdma_tiler_next(&tiler, &ext));
}

static void expect_tiled(struct kunit *test, const struct rpcrdma_hdr *hdr)
{
	u32 at = 0, count = 0, most = hdr->read_segs + 2 * hdr->read_chunks + 1;
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;

	rpcrdma_tiler_init(&tiler, hdr);
	while (rpcrdma_tiler_next(&tiler, &ext)) {
		KUNIT_ASSERT_LE(test, ++count, most);
		KUNIT_ASSERT_EQ(test, ext.msg, at);
		KUNIT_ASSERT_TRUE(test, ext.len);
		at += ext.len;
	}
	KUNIT_EXPECT_EQ(test, (u64)at, hdr->msg_len);
}

/* Positions and lengths in all small combinations: always tiled exactly */
static void plan_tile_all(struct kunit *test)
{
	u32 frame[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 4, 0xa1, 1, 0, 0x1000,
		1, 4, 0xa2, 1, 0, 0x2000,
		1, 8, 0xa3, 1, 0, 0x3000,
		0, 0, 0,
		XID, 0, 5, 6,
	};
	u8 *buf = kunit_kmalloc(test, sizeof(frame), GFP_KERNEL);
	__be32 *words = (__be32 *)buf;
	u32 i, n, accepted = 0;
	struct rpcrdma_hdr hdr;

	KUNIT_ASSERT_TRUE(test, buf);
	for (i = 0; i < ARRAY_SIZE(frame); i++)
		words[i] = cpu_to_be32(frame[i]);
	for (n = 0; n < 2 * 4 * 7 * 4 * 4 * 4; n++) {
		i = n;
		words[3] = cpu_to_be32(i % 2);
		words[5] = cpu_to_be32(i / 2 % 4 * 4);
		words[17] = cpu_to_be32(i / 8 % 7 * 4);
		words[7] = cpu_to_be32(i / 56 % 4 * 3);
		words[13] = cpu_to_be32(i / 224 % 4 * 5);
		words[19] = cpu_to_be32(i / 896 % 4);
		words[11] = words[n % 3 ? 5 : 17];
		if (rpcrdma_decode(&hdr, buf, sizeof(frame), &frame_limits) !=
		    RPCRDMA_ACCEPT)
			continue;
		accepted++;
		expect_tiled(test, &hdr);
	}
	KUNIT_EXPECT_TRUE(test, accepted > 100);
}

static void plan_layout(struct kunit *test)
{
	static const struct {
		u32 proc, position[2], len[2], tail, want;
	} cases[] = {
		/* one chunk, in front of as much as no WRITE fits into */
		{ RPCRDMA_MSG, { 8, 8 }, { 64, 36 }, 36, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 8, 8 }, { 64, 35 }, 36, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 8, 8 }, { 64, 36 }, 39, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 8, 8 }, { 64, 36 }, 40, RPCRDMA_LAYOUT_ONE_PIECE },
		{ RPCRDMA_MSG, { 8, 8 }, { 64, 33 }, 40, RPCRDMA_LAYOUT_ONE_PIECE },
		/* ... the whole in a page: 8 + 12 + 40 */
		{ RPCRDMA_MSG, { 8, 8 }, { 8, 3 }, 40, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_MSG, { 8, 8 }, { 8, 5 }, 40, RPCRDMA_LAYOUT_ONE_PIECE },
		/* the second of two in the first page, and behind it */
		{ RPCRDMA_MSG, { 8, 56 }, { 48, 64 }, 8, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_MSG, { 8, 60 }, { 52, 64 }, 8, RPCRDMA_LAYOUT_ONE_PIECE },
		{ RPCRDMA_MSG, { 8, 12 }, { 4, 1 }, 48, RPCRDMA_LAYOUT_ONE_PIECE },
		/* Position Zero: alone, and with a data item */
		{ RPCRDMA_NOMSG, { 0, 0 }, { 64, 64 }, 0, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_NOMSG, { 0, 8 }, { 32, 64 }, 0, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_NOMSG, { 0, 8 }, { 44, 64 }, 0, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_NOMSG, { 0, 8 }, { 48, 64 }, 0, RPCRDMA_LAYOUT_ONE_PIECE },
		{ RPCRDMA_NOMSG, { 0, 60 }, { 64, 64 }, 0, RPCRDMA_LAYOUT_ONE_PIECE },
	};
	u32 frame[FRAME_WORDS] = {
		XID, RPCRDMA_V1, 32, 0,
		1, 0, 0xa1, 0, 0, 0,
		1, 0, 0xa2, 0, 0, 0,
		0, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u32 i, len;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[3] = cases[i].proc;
		frame[5] = cases[i].position[0];
		frame[7] = cases[i].len[0];
		frame[11] = cases[i].position[1];
		frame[13] = cases[i].len[1];
		len = 19 * sizeof(u32);
		if (cases[i].proc == RPCRDMA_MSG)
			len += 8 + cases[i].tail;
		buf = frame_octets(test, frame, len);
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, len, &frame_limits),
				RPCRDMA_ACCEPT);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_plan_layout(&hdr, 60),
				    cases[i].want, "case %u", i);
	}
}

static void plan_layout_inline(struct kunit *test)
{
	static const u32 frame[] = { XID, 1, 1, RPCRDMA_MSG, 0, 0, 0, XID, 0 };
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_hdr hdr;

	rpcrdma_decode(&hdr, buf, sizeof(frame), &frame_limits);

	KUNIT_EXPECT_EQ(test, rpcrdma_plan_layout(&hdr, 4),
			RPCRDMA_LAYOUT_INLINE);
}

/* XID, type, RPC and program, procedure; flavor, length, version, what for */
enum { GSS_FLAVOR = 6, GSS_PROC = 9, GSS_WORDS = 10 };
static const u32 gss_call[GSS_WORDS] = { XID, 0, 2, 100003, 3, 0, 6, 20, 1, 1 };

static void plan_gss_context(struct kunit *test)
{
	static const struct {
		u32 flavor, proc;
		bool want;
	} cases[] = {
		{ 6, 0, false },	/* data */
		{ 6, 1, true },		/* INIT */
		{ 6, 2, true },		/* CONTINUE_INIT */
		{ 6, 3, false },	/* DESTROY */
		{ 6, 0x01000001, false },
		{ 1, 1, false },
		{ 7, 2, false },
		{ 0x06000000, 1, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 call[GSS_WORDS];
		u8 *msg;

		memcpy(call, gss_call, sizeof(call));
		call[GSS_FLAVOR] = cases[i].flavor;
		call[GSS_PROC] = cases[i].proc;
		msg = frame_octets(test, call, sizeof(call));
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_call_makes_gss_context(msg, 40),
				    cases[i].want, "case %u", i);
		KUNIT_EXPECT_FALSE(test,
				   rpcrdma_call_makes_gss_context(msg, 39));
	}
}

/* The chunk is at the end of what there is of it inline */
static void plan_layout_gss(struct kunit *test)
{
	u32 frame[13 + GSS_WORDS] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 40, 1, 8, 0, 0,
		0, 0, 0,
	};
	static const struct {
		u32 proc, before, page_size, want;
	} cases[] = {
		{ 1, 40, 40, RPCRDMA_LAYOUT_CHUNK },
		{ 1, 40, 39, RPCRDMA_LAYOUT_PAGES },
		{ 2, 40, 39, RPCRDMA_LAYOUT_PAGES },
		{ 0, 40, 39, RPCRDMA_LAYOUT_CHUNK },
		/* What it is for is not in the message, but behind it */
		{ 1, 36, 35, RPCRDMA_LAYOUT_CHUNK },
	};
	struct rpcrdma_hdr hdr;
	u32 i, len;
	u8 *buf;

	memcpy(frame + 13, gss_call, sizeof(gss_call));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[5] = cases[i].before;
		frame[13 + GSS_PROC] = cases[i].proc;
		buf = frame_octets(test, frame, sizeof(frame));
		len = 13 * sizeof(u32) + cases[i].before;
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, len, &frame_limits),
				RPCRDMA_ACCEPT);

		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_plan_layout(&hdr, cases[i].page_size),
				    cases[i].want, "case %u", i);
	}
}

static void plan_inv_handle(struct kunit *test)
{
	static const struct {
		u32 len[6];
		u32 want;
	} cases[] = {
		{ { 4, 4, 4, 4, 4, 4 }, 1 },	/* the first of equals */
		{ { 4, 5, 4, 4, 4, 4 }, 2 },
		{ { 4, 5, 6, 4, 4, 4 }, 3 },
		{ { 4, 5, 6, 7, 4, 4 }, 4 },
		{ { 4, 5, 6, 7, 8, 4 }, 5 },
		{ { 4, 5, 6, 7, 8, 9 }, 6 },
		{ { 9, 5, 6, 7, 8, 8 }, 1 },
		{ { 1, 2, 3, 4, 1, 1 }, 4 },
		{ { 1, 2, 3, 3, 4, 3 }, 5 },
		{ { 1, 2, 3, 3, 3, 3 }, 0 },	/* pads only */
		{ { 1, 0, 0, 0, 0, 0 }, 0 },
	};
	u32 frame[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 8, 1, 0, 0, 0,
		1, 8, 2, 0, 0, 0,
		0,
		1, 2, 3, 0, 0, 0, 4, 0, 0, 0,
		1, 1, 5, 0, 0, 0,
		0,
		1, 1, 6, 0, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[7] = cases[i].len[0];
		frame[13] = cases[i].len[1];
		frame[20] = cases[i].len[2];
		frame[24] = cases[i].len[3];
		frame[30] = cases[i].len[4];
		frame[37] = cases[i].len[5];
		buf = frame_octets(test, frame, sizeof(frame));
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, sizeof(frame),
					       &frame_limits), RPCRDMA_ACCEPT);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_inv_handle(&hdr, true),
				    cases[i].want, "case %u", i);
	}
}

/* Read chunks alone, then what has one segment and no other */
static void plan_inv_handle_few(struct kunit *test)
{
	static const u32 two[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 8, 1, 4, 0, 0,
		1, 8, 2, 5, 0, 0,
		0, 0, 0, XID, 0,
	};
	u32 one[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		0, 1, 1, 7, 4, 0, 0, 0, 0, XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u8 *buf;

	buf = frame_octets(test, two, sizeof(two));
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(two),
					     &frame_limits), RPCRDMA_ACCEPT);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true), 2U);

	for (one[8] = 0; one[8] <= 5; one[8]++) {
		buf = frame_octets(test, one, sizeof(one));
		KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(one),
						     &frame_limits),
				RPCRDMA_ACCEPT);
		/* Below four octets it is a pad */
		KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true),
				one[8] < 4 ? 0U : 7U);
	}
}

static void plan_inv_handle_none(struct kunit *test)
{
	static const u32 frame[] = { XID, 1, 1, 0, 0, 0, 0, XID, 0 };
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_hdr hdr;

	rpcrdma_decode(&hdr, buf, sizeof(frame), &frame_limits);

	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true), 0U);
}

/* Each place a handle may stand in; every version and announcement */
static void plan_inv_handle_v2(struct kunit *test)
{
	static const struct {
		u32 handle;
		bool announced;
		u32 want;
	} cases[] = {
		{ 1, false, 1 },
		{ 1, true, 1 },
		{ 2, false, 2 },
		{ 3, false, 3 },
		{ 4, false, 4 },
		{ 5, false, 5 },
		{ 0, true, 0 },
		{ 6, true, 0 },	/* not of this Call */
	};
	u32 frame[] = {
		XID, 2, 32, RPCRDMA_OPTIONAL, RPCRDMA_OPT_INV_MSG, 128, 0, 0,
		1, 8, 1, 4, 0, 0,
		1, 8, 2, 4, 0, 0,
		0,
		1, 2, 3, 4, 0, 0, 4, 4, 0, 0,
		0,
		1, 1, 5, 4, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[7] = cases[i].handle;
		buf = frame_octets(test, frame, sizeof(frame));
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, sizeof(frame),
					       &frame_limits_v2),
				RPCRDMA_ACCEPT);

		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_hdr_inv_handle(&hdr,
							   cases[i].announced),
				    cases[i].want, "case %u", i);
	}
}

static void plan_inv_handle_v2_one(struct kunit *test)
{
	u32 frame[] = {
		XID, 2, 32, RPCRDMA_OPTIONAL, RPCRDMA_OPT_INV_MSG, 44, 0, 0,
		1, 8, 3, 4, 0, 0, 0, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u8 *buf;

	for (frame[7] = 0; frame[7] <= 4; frame[7]++) {
		buf = frame_octets(test, frame, sizeof(frame));
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, sizeof(frame),
					       &frame_limits_v2),
				RPCRDMA_ACCEPT);
		/* Four is its length, not its handle */
		KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, false),
				frame[7] == 3 ? 3U : 0U);
	}
}

/* Version one does not without announcement, version two without the option */
static void plan_inv_handle_forbidden(struct kunit *test)
{
	u32 frame[] = {
		XID, 1, 32, RPCRDMA_MSG,
		1, 8, 1, 4, 0, 0,
		0, 0, 0, XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u8 *buf;

	buf = frame_octets(test, frame, sizeof(frame));
	rpcrdma_decode(&hdr, buf, sizeof(frame), &frame_limits_v2);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true), 1U);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, false), 0U);

	frame[1] = RPCRDMA_V2;
	buf = frame_octets(test, frame, sizeof(frame));
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(frame),
					     &frame_limits_v2), RPCRDMA_ACCEPT);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true), 0U);
}

static void queue_case_desc(const struct queue_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(queue, queue_cases, queue_case_desc);

static void expect_sizes(struct kunit *test,
			 const struct rpcrdma_queue_sizes *want,
			 const struct rpcrdma_queue_sizes *sizes)
{
	KUNIT_EXPECT_EQ(test, sizes->credits, want->credits);
	KUNIT_EXPECT_EQ(test, sizes->bc_credits, want->bc_credits);
	KUNIT_EXPECT_EQ(test, sizes->sq_depth, want->sq_depth);
	KUNIT_EXPECT_EQ(test, sizes->rq_depth, want->rq_depth);
	KUNIT_EXPECT_EQ(test, sizes->recvs, want->recvs);
	KUNIT_EXPECT_EQ(test, sizes->send_sge, want->send_sge);
	KUNIT_EXPECT_EQ(test, sizes->mr_pages, want->mr_pages);
	KUNIT_EXPECT_EQ(test, sizes->mrs_per_payload, want->mrs_per_payload);
}

static void plan_queues(struct kunit *test)
{
	const struct queue_case *c = test->param_value;
	struct rpcrdma_queue_sizes sizes;
	int ret;

	ret = rpcrdma_plan_queues(&sizes, &c->want, &c->dev);

	KUNIT_EXPECT_EQ(test, ret, c->ret);
	if (!ret && !c->ret)
		expect_sizes(test, &c->sizes, &sizes);
}

/* Whatever the queues of a device hold, the answer fits them */
static void plan_queues_fit(struct kunit *test)
{
	struct rpcrdma_queue_sizes sizes;
	struct rpcrdma_device_limits dev;
	u32 i, depth;

	for (i = 0; i < ARRAY_SIZE(queue_cases); i++) {
		dev = queue_cases[i].dev;
		for (depth = 0; depth < 600; depth++) {
			dev.max_qp_wr = depth;
			if (rpcrdma_plan_queues(&sizes, &queue_cases[i].want,
						&dev))
				continue;
			KUNIT_EXPECT_LE(test, sizes.sq_depth, depth);
			KUNIT_EXPECT_LE(test, sizes.rq_depth, depth);
			KUNIT_EXPECT_LE(test, sizes.rq_depth, dev.max_cqe);
			KUNIT_EXPECT_LE(test, sizes.sq_depth, dev.max_cqe);
			KUNIT_EXPECT_GE(test, sizes.recvs,
					sizes.credits + sizes.bc_credits);
			KUNIT_EXPECT_GE(test, sizes.credits, 1U);
		}
	}
}

static void fewer_case_desc(const struct fewer_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fewer, fewer_cases, fewer_case_desc);

static void plan_fewer(struct kunit *test)
{
	const struct fewer_case *c = test->param_value;
	const struct rpcrdma_device_limits dev = {
		.max_send_sge = c->send_sge,
		.max_sge_rd = c->sge_rd,
	};
	const struct rpcrdma_queue_sizes tried = { .credits = c->tried };
	struct rpcrdma_queue_want want = c->want;

	KUNIT_EXPECT_EQ(test, rpcrdma_plan_fewer(&want, &tried, &dev), c->ret);
	KUNIT_EXPECT_EQ(test, want.credits, c->credits);
	KUNIT_EXPECT_EQ(test, want.rw_wrs, c->rw_wrs);
	KUNIT_EXPECT_EQ(test, want.bc_credits, c->want.bc_credits);
}

/* On a device that refuses whatever it is asked for */
static void plan_fewer_ends(struct kunit *test)
{
	struct rpcrdma_queue_sizes sizes, tried;
	struct rpcrdma_queue_want want;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(queue_cases); i++) {
		const struct queue_case *c = &queue_cases[i];

		want = c->want;
		if (rpcrdma_plan_queues(&sizes, &want, &c->dev))
			continue;
		for (n = 0; n < 32; n++) {
			tried = sizes;
			if (!rpcrdma_plan_fewer(&want, &tried, &c->dev) ||
			    rpcrdma_plan_queues(&sizes, &want, &c->dev))
				break;
			KUNIT_EXPECT_LE(test, sizes.credits, tried.credits / 2);
			KUNIT_EXPECT_TRUE(test, c->want.rw_wrs ||
					  sizes.sq_depth < tried.sq_depth);
			KUNIT_EXPECT_LE(test, sizes.rq_depth, tried.rq_depth);
		}
		KUNIT_EXPECT_LT(test, n, 32U);
	}
}

static void plan_recv_block(struct kunit *test)
{
	static const struct {
		u32 size;
		u32 page_size;
		u32 want;
	} c[] = {
		{ 1024, 4096, 4 },
		{ 4096, 4096, 1 },
		{ 5120, 4096, 4 },
		{ 6144, 4096, 2 },
		{ 8192, 4096, 1 },
		/* Nothing is left over of 9 pages, but they are too many */
		{ 9216, 4096, 1 },
		/* The largest block */
		{ 32768, 4096, 1 },
		{ 4681, 4096, 1 },
		{ 32769, 4096, 1 },
		{ 65536, 4096, 1 },
		{ U32_MAX, 4096, 1 },
		{ 1, 4096, 4096 },
		{ 5120, 16384, 1 },
		{ 4096, 65536, 1 },
		{ 4096, 32768, 8 },
		{ 4096, 16384, 4 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_EXPECT_EQ(test, c[i].want,
				rpcrdma_plan_recv_block(c[i].size,
							c[i].page_size));
}

static struct kunit_case plan_test_cases[] = {
	KUNIT_CASE_PARAM(plan_call, call_gen_params),
	KUNIT_CASE_PARAM(plan_plain, call_gen_params),
	KUNIT_CASE(plan_plain_extremes),
	KUNIT_CASE_PARAM(plan_tile, tile_gen_params),
	KUNIT_CASE(plan_tile_longest),
	KUNIT_CASE(plan_tile_all),
	KUNIT_CASE(plan_layout),
	KUNIT_CASE(plan_layout_inline),
	KUNIT_CASE(plan_gss_context),
	KUNIT_CASE(plan_layout_gss),
	KUNIT_CASE(plan_inv_handle),
	KUNIT_CASE(plan_inv_handle_few),
	KUNIT_CASE(plan_inv_handle_none),
	KUNIT_CASE(plan_inv_handle_v2),
	KUNIT_CASE(plan_inv_handle_v2_one),
	KUNIT_CASE(plan_inv_handle_forbidden),
	KUNIT_CASE_PARAM(plan_queues, queue_gen_params),
	KUNIT_CASE(plan_queues_fit),
	KUNIT_CASE_PARAM(plan_fewer, fewer_gen_params),
	KUNIT_CASE(plan_fewer_ends),
	KUNIT_CASE(plan_recv_block),
	{}
};

struct kunit_suite rpcrdma_plan_suite = {
	.name = "rpcrdma-plan",
	.test_cases = plan_test_cases,
};
