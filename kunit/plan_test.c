// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of xprtrdma/plan.c.
 */
#include "suites.h"
#include "frames_v2.h"
#include "frames.h"
#include "plan_cases.h"

static void call_case_desc(const struct call_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(call, call_cases, call_case_desc);

static void plan_call(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	struct xprt_rdma_call_plan plan;

	xprt_rdma_plan_call(&plan, &c->shape);

	KUNIT_EXPECT_EQ(test, plan.mode, c->want.mode);
	KUNIT_EXPECT_EQ(test, plan.write_list, c->want.write_list);
	KUNIT_EXPECT_EQ(test, plan.write_pad, c->want.write_pad);
	KUNIT_EXPECT_EQ(test, plan.reply_chunk, c->want.reply_chunk);
	KUNIT_EXPECT_EQ(test, plan.reply_chunk_bytes,
			c->want.reply_chunk_bytes);
}

static void mr_case_desc(const struct mr_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mr, mr_cases, mr_case_desc);

static void plan_mr(struct kunit *test)
{
	const struct mr_case *c = test->param_value;
	struct xprt_rdma_mr_plan plan = c->chunk;
	u32 n, i, pages;

	plan.page_size = 4096;
	plan.gaps = c->device_gaps && xprt_rdma_plan_gaps(&plan);
	KUNIT_EXPECT_EQ(test, plan.gaps, c->want_gaps);
	for (n = 0; n < ARRAY_SIZE(c->want); n++) {
		pages = xprt_rdma_plan_mr(&plan);
		KUNIT_EXPECT_EQ_MSG(test, pages, c->want[n].pages, "MR %u", n);
		for (i = 0; i < XPRT_RDMA_RANGES; i++)
			KUNIT_EXPECT_EQ_MSG(test, plan.take[i],
					    c->want[n].take[i],
					    "MR %u, range %u", n, i);
		if (!pages)
			break;
	}
	for (i = 0; i < XPRT_RDMA_RANGES; i++)
		KUNIT_EXPECT_EQ(test, plan.range[i].len, 0U);
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
					       &frame_limits), RPCRDMA_FAULT_NONE);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_inv_handle(&hdr, true, true),
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
					     &frame_limits), RPCRDMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true, true), 2U);

	for (one[8] = 0; one[8] <= 5; one[8]++) {
		buf = frame_octets(test, one, sizeof(one));
		KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(one),
						     &frame_limits),
				RPCRDMA_FAULT_NONE);
		/* Below four octets it is a pad */
		KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true, true),
				one[8] < 4 ? 0U : 7U);
	}
}

static void plan_inv_handle_none(struct kunit *test)
{
	static const u32 frame[] = { XID, 1, 1, 0, 0, 0, 0, XID, 0 };
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_hdr hdr;

	rpcrdma_decode(&hdr, buf, sizeof(frame), &frame_limits);

	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true, true), 0U);
}

#ifdef CONFIG_RPCRDMA_V2
static void accept_v2(struct kunit *test, struct rpcrdma_hdr *hdr,
		      const u32 *frame, u32 len)
{
	KUNIT_ASSERT_EQ(test,
			rpcrdma_decode(hdr, frame_octets(test, frame, len), len,
				       &frame_limits_v2),
			RPCRDMA_FAULT_NONE);
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
		XID, 2, 32, RPCRDMA_OPTIONAL, OPT_INV_MSG, 128, 0, 0,
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

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		frame[7] = cases[i].handle;
		accept_v2(test, &hdr, frame, sizeof(frame));

		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_hdr_inv_handle(&hdr,
							   cases[i].announced,
							   true),
				    cases[i].want, "case %u", i);
	}
}

static void plan_inv_handle_v2_one(struct kunit *test)
{
	u32 frame[] = {
		XID, 2, 32, RPCRDMA_OPTIONAL, OPT_INV_MSG, 44, 0, 0,
		1, 8, 3, 4, 0, 0, 0, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;

	for (frame[7] = 0; frame[7] <= 4; frame[7]++) {
		accept_v2(test, &hdr, frame, sizeof(frame));
		/* Four is its length, not its handle */
		KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, false, true),
				frame[7] == 3 ? 3U : 0U);
		/* The Requester cannot know what our device can do */
		KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, false, false),
				0U);
	}
}

/* Two segments, and no Reply chunk to look at */
static void plan_inv_handle_v2_few(struct kunit *test)
{
	u32 frame[] = {
		XID, 2, 32, RPCRDMA_OPTIONAL, OPT_INV_MSG, 68, 0, 0,
		1, 8, 1, 4, 0, 0,
		1, 8, 2, 4, 0, 0,
		0, 0, 0,
		XID, 0,
	};
	struct rpcrdma_hdr hdr;

	for (frame[7] = 0; frame[7] <= 4; frame[7]++) {
		accept_v2(test, &hdr, frame, sizeof(frame));
		KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, false, true),
				frame[7] == 1 || frame[7] == 2 ? frame[7] : 0U);
	}
}
#endif /* CONFIG_RPCRDMA_V2 */

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
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true, true), 1U);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, false, true), 0U);

	frame[1] = RPCRDMA_V2;
	buf = frame_octets(test, frame, sizeof(frame));
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(frame),
					     &frame_limits_v2), FAULT_V2);
	KUNIT_EXPECT_EQ(test, rpcrdma_hdr_inv_handle(&hdr, true, true), 0U);
}

static struct kunit_case plan_test_cases[] = {
	KUNIT_CASE_PARAM(plan_call, call_gen_params),
	KUNIT_CASE_PARAM(plan_mr, mr_gen_params),
	KUNIT_CASE(plan_inv_handle),
	KUNIT_CASE(plan_inv_handle_few),
	KUNIT_CASE(plan_inv_handle_none),
#ifdef CONFIG_RPCRDMA_V2
	KUNIT_CASE(plan_inv_handle_v2),
	KUNIT_CASE(plan_inv_handle_v2_one),
	KUNIT_CASE(plan_inv_handle_v2_few),
#endif
	KUNIT_CASE(plan_inv_handle_forbidden),
	{}
};

struct kunit_suite rpcrdma_plan_suite = {
	.name = "rpcrdma-plan",
	.test_cases = plan_test_cases,
};
