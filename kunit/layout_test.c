// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of svcrdma/layout.c.
 */
#include "suites.h"
#include "frames.h"
#include "layout_cases.h"

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
	struct rpcrdma_msg_iter msg_iter;
	struct rpcrdma_extent ext;
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	buf = frame_octets(test, c->frame, c->len);
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, c->len, &frame_limits),
			RPCRDMA_FAULT_NONE);

	rpcrdma_msg_iter_init(&msg_iter, &hdr);

	for (i = 0; i < c->extents; i++) {
		KUNIT_ASSERT_TRUE(test, rpcrdma_msg_iter_next(&msg_iter, &ext));
		expect_extent(test, &c->want[i], &ext);
	}
	KUNIT_EXPECT_FALSE(test, rpcrdma_msg_iter_next(&msg_iter, &ext));
	KUNIT_EXPECT_FALSE(test, rpcrdma_msg_iter_next(&msg_iter, &ext));
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
	struct rpcrdma_msg_iter msg_iter;
	struct rpcrdma_extent ext;
	struct rpcrdma_hdr hdr;

	lim.max_message = U32_MAX;
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_NONE);
	rpcrdma_msg_iter_init(&msg_iter, &hdr);

	KUNIT_ASSERT_TRUE(test, rpcrdma_msg_iter_next(&msg_iter, &ext));
	KUNIT_EXPECT_EQ(test, ext.len, U32_MAX);
	KUNIT_EXPECT_FALSE(test, rpcrdma_msg_iter_next(&msg_iter, &ext));
}

static void expect_tiled(struct kunit *test, const struct rpcrdma_hdr *hdr)
{
	u32 at = 0, count = 0, most = hdr->read_segs + 2 * hdr->read_chunks + 1;
	struct rpcrdma_msg_iter msg_iter;
	struct rpcrdma_extent ext;

	rpcrdma_msg_iter_init(&msg_iter, hdr);
	while (rpcrdma_msg_iter_next(&msg_iter, &ext)) {
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
		    RPCRDMA_FAULT_NONE)
			continue;
		accepted++;
		expect_tiled(test, &hdr);
	}
	KUNIT_EXPECT_TRUE(test, accepted > 100);
}

/* CLOSE and GETATTR, as a client may send them behind the data of a WRITE */
#define CLOSE_GETATTR_WORDS	11
static const u32 close_getattr[CLOSE_GETATTR_WORDS] = {
	4, 0, 1, 0x11111111, 0x22222222, 0x33333333, 9, 2, 0x10, 0, 0
};

static void plan_layout(struct kunit *test)
{
	static const struct {
		u32 proc, position[2], len[2], tail, want;
	} cases[] = {
		/* one chunk, and what follows it: see below for WRITEs */
		{ RPCRDMA_MSG, { 32, 32 }, { 64, 36 }, 0, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 32, 32 }, { 64, 35 }, 36, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 32, 32 }, { 64, 36 }, 39, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 32, 32 }, { 64, 36 }, 44, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 32, 32 }, { 64, 33 }, 44, RPCRDMA_LAYOUT_CHUNK },
		/* ... behind the flavor of the credential, and before its end */
		{ RPCRDMA_MSG, { 28, 28 }, { 64, 36 }, 32, RPCRDMA_LAYOUT_CHUNK },
		{ RPCRDMA_MSG, { 24, 24 }, { 64, 36 }, 28, RPCRDMA_LAYOUT_PAGES },
		/* two */
		{ RPCRDMA_MSG, { 32, 80 }, { 48, 64 }, 8, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_MSG, { 32, 36 }, { 4, 1 }, 44, RPCRDMA_LAYOUT_PAGES },
		/* Position Zero: alone, and with a data item */
		{ RPCRDMA_NOMSG, { 0, 0 }, { 64, 64 }, 0, RPCRDMA_LAYOUT_PAGES },
		{ RPCRDMA_NOMSG, { 0, 32 }, { 56, 64 }, 0, RPCRDMA_LAYOUT_PAGES },
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
			len += 32 + cases[i].tail;
		memset(frame + 21, 0, sizeof(frame) - 21 * sizeof(u32));
		if (cases[i].proc == RPCRDMA_MSG)
			memcpy(frame + 19 + 8, close_getattr,
			       sizeof(close_getattr));
		/* The length of the opaque whose data the only chunk has */
		if (cases[i].proc == RPCRDMA_MSG &&
		    cases[i].position[0] == cases[i].position[1])
			frame[18 + cases[i].position[0] / 4] =
				cases[i].len[0] + cases[i].len[1];
		buf = frame_octets(test, frame, len);
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, len, &frame_limits),
				RPCRDMA_FAULT_NONE);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_plan_layout(&hdr, 84),
				    cases[i].want, "case %u", i);
	}
}

/* A chunk of eight octets at 32; behind it stands something like a WRITE */
static void plan_layout_write_behind(struct kunit *test)
{
	static const struct {
		u32 op, at, stable, length, behind, want;
	} cases[] = {
		{ 38, 0, 2, 4, 40, RPCRDMA_LAYOUT_PAGES },
		{ 38, 0, 0, 1, 40, RPCRDMA_LAYOUT_PAGES },
		{ 38, 0, 0, 1, 39, RPCRDMA_LAYOUT_CHUNK },
		{ 38, 4, 0, 4, 44, RPCRDMA_LAYOUT_PAGES },
		{ 38, 4, 0, 4, 43, RPCRDMA_LAYOUT_CHUNK },
		{ 38, 4, 0, 8, 48, RPCRDMA_LAYOUT_PAGES },
		{ 38, 4, 0, 5, 44, RPCRDMA_LAYOUT_CHUNK },
		/* No data, or more than there are; no stability; no WRITE */
		{ 38, 0, 0, 0, 40, RPCRDMA_LAYOUT_CHUNK },
		{ 38, 0, 0, 5, 40, RPCRDMA_LAYOUT_CHUNK },
		{ 38, 0, 0, ~0U, 40, RPCRDMA_LAYOUT_CHUNK },
		{ 38, 0, 3, 4, 40, RPCRDMA_LAYOUT_CHUNK },
		{ 37, 0, 0, 4, 40, RPCRDMA_LAYOUT_CHUNK },
	};
	u32 frame[13 + 8 + 13] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 32, 1, 8, 0, 0,
		0, 0, 0,
		XID, 0, 0, 0, 0, 0, 0, 8,
	};
	struct rpcrdma_hdr hdr;
	u32 i, len, *op;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(frame + 21, 0, sizeof(frame) - 21 * sizeof(u32));
		op = &frame[21 + cases[i].at / 4];
		op[0] = cases[i].op;
		op[7] = cases[i].stable;
		op[8] = cases[i].length;
		len = 21 * sizeof(u32) + cases[i].behind;
		buf = frame_octets(test, frame, len);
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, len, &frame_limits),
				RPCRDMA_FAULT_NONE);
		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_plan_layout(&hdr, 4096),
				    cases[i].want, "case %u", i);
	}
}

/* A chunk of eight octets at 32, and what precedes and follows it */
static void plan_layout_length(struct kunit *test)
{
	static const struct {
		u32 len, behind, want;
	} cases[] = {
		{ 8, 0, RPCRDMA_LAYOUT_CHUNK },
		/* The chunk has the roundup as well, and more than that */
		{ 5, 0, RPCRDMA_LAYOUT_CHUNK },
		{ 4, 0, RPCRDMA_LAYOUT_PAGES },
		{ 0, 0, RPCRDMA_LAYOUT_PAGES },
		/* The data go on behind it, and the message ends before they do */
		{ 12, 4, RPCRDMA_LAYOUT_CHUNK },
		{ 13, 4, RPCRDMA_LAYOUT_PAGES },
		{ 9, 0, RPCRDMA_LAYOUT_PAGES },
		{ ~0U, 36, RPCRDMA_LAYOUT_PAGES },
	};
	u32 frame[13 + 8 + 9] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 32, 1, 8, 0, 0,
		0, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;
	u32 i, len;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[20] = cases[i].len;
		len = 21 * sizeof(u32) + cases[i].behind;
		buf = frame_octets(test, frame, len);
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, len, &frame_limits),
				RPCRDMA_FAULT_NONE);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_plan_layout(&hdr, 4096),
				    cases[i].want, "case %u", i);
	}
}

#define READ_PAGE	128U
#define READ_PAGES	3U

struct read_pages {
	u8 *pages[READ_PAGES];
	u32 *most;
};

static const u8 *read_page(const void *ctx, u32 nr)
{
	const struct read_pages *read = ctx;

	*read->most = max(*read->most, nr + 1);
	return read->pages[min(nr, READ_PAGES - 1)];
}

/* A message of pages, and in it something like a WRITE of one octet */
static void plan_head(struct kunit *test)
{
	static const struct {
		u32 flavor, proc, service, write, len, want;
	} cases[] = {
		/* Its data begin 36 octets behind it: in the first page, and not */
		{ 1, 0, 0, 88, 384, 128 },
		{ 1, 0, 0, 92, 384, 128 },
		{ 1, 0, 0, 96, 384, 256 },
		{ 1, 0, 0, 124, 384, 256 },
		{ 1, 0, 0, 128, 384, 256 },
		{ 1, 0, 0, 216, 384, 256 },
		/* At the beginning of a page */
		{ 1, 0, 0, 220, 384, 128 },
		{ 1, 0, 0, 224, 384, 384 },
		{ 1, 0, 0, 224, 380, 380 },
		{ 1, 0, 0, 224, 264, 264 },
		{ 1, 0, 0, 224, 263, 128 },
		{ 1, 0, 0, 344, 384, 384 },
		{ 1, 0, 0, 348, 384, 128 },
		/* Two: the last one counts */
		{ 1, 0, 0, 96 | 256 << 16, 384, 384 },
		{ 1, 0, 0, 96 | 220 << 16, 384, 256 },
		/* Behind the message, and a part of it */
		{ 1, 0, 0, 132, 171, 128 },
		{ 1, 0, 0, 132, 172, 172 },
		{ 1, 0, 0, 130, 384, 128 },
		/* A page, or no WRITE at all */
		{ 1, 0, 0, 96, 128, 128 },
		{ 1, 0, 0, 0, 100, 100 },
		{ 1, 0, 0, 0, 384, 128 },
		/* RPCSEC_GSS: none, integrity, privacy; INIT, CONTINUE_INIT */
		{ 6, 0, 1, 64, 384, 128 },
		{ 6, 0, 1, 92, 384, 128 },
		{ 6, 0, 1, 256, 384, 0 },
		{ 6, 0, 2, 256, 384, 128 },
		{ 6, 0, 3, 256, 384, 128 },
		{ 6, 1, 1, 256, 384, 128 },
		{ 6, 2, 1, 256, 384, 128 },
		{ 6, 2, 1, 0, 40, 40 },
		{ 1, 1, 1, 256, 384, 384 },
	};
	u8 octets[READ_PAGES * READ_PAGE];
	u32 i, n, most, write;
	struct read_pages read = { .most = &most };
	struct rpcrdma_hdr hdr = {};

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(octets, 0, sizeof(octets));
		octets[27] = cases[i].flavor;
		octets[39] = cases[i].proc;
		octets[47] = cases[i].service;
		for (write = cases[i].write; write; write >>= 16) {
			octets[(write & 0xffff) + 3] = 38;
			octets[(write & 0xffff) + 35] = 1;
		}
		/* Each is by itself, lest what is read beyond one be the next */
		for (n = 0; n < READ_PAGES; n++) {
			read.pages[n] = kunit_kmalloc(test, READ_PAGE, GFP_KERNEL);
			KUNIT_ASSERT_TRUE(test, read.pages[n]);
			memcpy(read.pages[n], octets + n * READ_PAGE, READ_PAGE);
		}
		hdr.msg_len = cases[i].len;
		most = 0;
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_plan_head(&hdr, read_page, &read,
						      READ_PAGE),
				    cases[i].want, "case %u", i);
		KUNIT_EXPECT_TRUE(test, most * READ_PAGE <
				  cases[i].len + READ_PAGE);
	}
}

/* Protected arguments: where their last chunk lies. They are not looked at */
static void plan_head_protected(struct kunit *test)
{
	static const struct {
		u32 position, end, len, want;
	} cases[] = {
		{ 0, 384, 384, 128 },
		{ 0, 128, 384, 128 },
		{ 100, 384, 384, 128 },
		{ 124, 384, 384, 128 },
		{ 128, 384, 384, 0 },
		{ 100, 348, 384, 128 },
		{ 100, 344, 384, 0 },
		{ 100, 60, 100, 100 },
		{ 20, 88, 128, 128 },
	};
	u8 octets[READ_PAGE] = { [27] = 6, [47] = 2 };
	u32 i, most = 0;
	struct read_pages read = { { octets, octets, octets }, &most };
	struct rpcrdma_hdr hdr = {};

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		hdr.msg_len = cases[i].len;
		hdr.ddp_position = cases[i].position;
		hdr.ddp_end = cases[i].end;
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_plan_head(&hdr, read_page, &read,
						      READ_PAGE),
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

/* As above, whole: sequence number, service, no handle; verifier; no arguments */
enum { CRED_LEN = 7, GSS_SERVICE = 11, VERF_LEN = 14, GSS_CALL_WORDS = 16 };
static const u32 gss_whole_call[GSS_CALL_WORDS] = {
	XID, 0, 2, 100003, 3, 0, 6, 20, 1, 0, 7, 1, 0, 6, 4, 0
};

/* What there is inline is the head, if the chunk is to have pages of its own */
static void plan_layout_gss(struct kunit *test)
{
	static const struct {
		u32 word, value, before, page_size, want;
	} cases[] = {
		/* The verifier ends where the chunk begins, and does not */
		{ 0, XID, 64, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ 0, XID, 64, 64, RPCRDMA_LAYOUT_CHUNK },
		{ 0, XID, 64, 63, RPCRDMA_LAYOUT_CHUNK },
		{ 0, XID, 60, 4096, RPCRDMA_LAYOUT_PAGES },
		{ 0, XID, 56, 4096, RPCRDMA_LAYOUT_PAGES },
		{ 0, XID, 52, 4096, RPCRDMA_LAYOUT_PAGES },
		{ 0, XID, 48, 4096, RPCRDMA_LAYOUT_PAGES },
		{ 0, XID, 44, 4096, RPCRDMA_LAYOUT_PAGES },
		{ 0, XID, 28, 4096, RPCRDMA_LAYOUT_PAGES },
		{ CRED_LEN, 17, 64, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ CRED_LEN, 21, 68, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ CRED_LEN, 21, 60, 4096, RPCRDMA_LAYOUT_PAGES },
		{ CRED_LEN, 24, 68, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ CRED_LEN, 25, 68, 4096, RPCRDMA_LAYOUT_PAGES },
		{ CRED_LEN, 25, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ CRED_LEN, 33, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ CRED_LEN, ~0U, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ VERF_LEN, 0, 64, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ VERF_LEN, 0, 60, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ VERF_LEN, 1, 64, 4096, RPCRDMA_LAYOUT_CHUNK },
		{ VERF_LEN, 5, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ VERF_LEN, ~0U, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		/* Integrity, privacy, and what nobody knows */
		{ GSS_SERVICE, 2, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ GSS_SERVICE, 3, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ GSS_SERVICE, 0, 64, 4096, RPCRDMA_LAYOUT_PAGES },
		{ GSS_SERVICE, 2, 64, 64, RPCRDMA_LAYOUT_PAGES },
		/* A context is set up: INIT, CONTINUE_INIT; svcrdma/rq_arg.c uses pages */
		{ GSS_PROC, 1, 64, 64, RPCRDMA_LAYOUT_CHUNK },
		{ GSS_PROC, 1, 64, 63, RPCRDMA_LAYOUT_PAGES },
		{ GSS_PROC, 2, 64, 63, RPCRDMA_LAYOUT_PAGES },
		/* No matter to other flavors */
		{ GSS_FLAVOR, 1, 32, 4096, RPCRDMA_LAYOUT_CHUNK },
	};
	u32 frame[13 + GSS_CALL_WORDS + 1] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 0, 1, 8, 0, 0,
		0, 0, 0,
	};
	struct rpcrdma_hdr hdr;
	u32 i, len, *word;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[5] = cases[i].before;
		memcpy(frame + 13, gss_whole_call, sizeof(gss_whole_call));
		frame[13 + cases[i].word] = cases[i].value;
		/*
		 * What precedes the chunk is its length: 8 behind the verifier, else what
		 * stands there already
		 */
		frame[13 + GSS_CALL_WORDS] = 0;
		word = &frame[12 + cases[i].before / 4];
		if (cases[i].before >= 64 || cases[i].before == 32)
			*word = 8;
		frame[7] = *word ? : 1;
		len = 13 * sizeof(u32) + cases[i].before;
		buf = frame_octets(test, frame, len);
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, len, &frame_limits),
				RPCRDMA_FAULT_NONE);

		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_plan_layout(&hdr, cases[i].page_size),
				    cases[i].want, "case %u", i);
	}
}

/*
 * A credential without content: its verifier may end as early as the service would. What
 * stands where the service does is the length of the data, of one octet.
 */
static void plan_layout_gss_short(struct kunit *test)
{
	u32 frame[13 + GSS_CALL_WORDS] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 48, 1, 1, 0, 0,
		0, 0, 0,
	};
	struct rpcrdma_hdr hdr;
	u8 *buf;

	memcpy(frame + 13, gss_whole_call, sizeof(gss_whole_call));
	frame[13 + CRED_LEN] = 0;
	/* Of the verifier */
	frame[13 + GSS_PROC] = 8;
	buf = frame_octets(test, frame, sizeof(frame));
	KUNIT_ASSERT_EQ(test,
			rpcrdma_decode(&hdr, buf, 25 * sizeof(u32),
				       &frame_limits),
			RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_layout(&hdr, 4096),
			RPCRDMA_LAYOUT_CHUNK);

	/* One that ends before it */
	frame[5] = 44;
	frame[7] = frame[13 + 10];
	frame[13 + GSS_PROC] = 4;
	buf = frame_octets(test, frame, sizeof(frame));
	KUNIT_ASSERT_EQ(test,
			rpcrdma_decode(&hdr, buf, 24 * sizeof(u32),
				       &frame_limits),
			RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_layout(&hdr, 4096),
			RPCRDMA_LAYOUT_PAGES);
}

static struct kunit_case layout_test_cases[] = {
	KUNIT_CASE_PARAM(plan_tile, tile_gen_params),
	KUNIT_CASE(plan_tile_longest),
	KUNIT_CASE(plan_tile_all),
	KUNIT_CASE(plan_layout),
	KUNIT_CASE(plan_layout_write_behind),
	KUNIT_CASE(plan_layout_length),
	KUNIT_CASE(plan_head),
	KUNIT_CASE(plan_head_protected),
	KUNIT_CASE(plan_layout_inline),
	KUNIT_CASE(plan_gss_context),
	KUNIT_CASE(plan_layout_gss),
	KUNIT_CASE(plan_layout_gss_short),
	{}
};

struct kunit_suite rpcrdma_layout_suite = {
	.name = "rpcrdma-layout",
	.test_cases = layout_test_cases,
};
