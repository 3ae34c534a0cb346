// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/queue_sizes.c.
 */
#include "suites.h"
#include "queue_sizes_cases.h"

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

static void rw_case_desc(const struct rw_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rw, rw_cases, rw_case_desc);

static void plan_rw_wrs(struct kunit *test)
{
	const struct rw_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want,
			rpcrdma_plan_rw_wrs(c->pages, c->sges, c->credits));
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

/* None may be in flight that would make it too many, unless it is alone */
static void plan_pages_fit(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, rpcrdma_plan_pages_fit(0, 1, 8));
	KUNIT_EXPECT_TRUE(test, rpcrdma_plan_pages_fit(0, 9, 8));
	KUNIT_EXPECT_TRUE(test, rpcrdma_plan_pages_fit(0, 1, 0));
	KUNIT_EXPECT_TRUE(test, rpcrdma_plan_pages_fit(1, 6, 8));
	KUNIT_EXPECT_TRUE(test, rpcrdma_plan_pages_fit(1, 7, 8));
	KUNIT_EXPECT_FALSE(test, rpcrdma_plan_pages_fit(1, 8, 8));
	KUNIT_EXPECT_TRUE(test, rpcrdma_plan_pages_fit(7, 1, 8));
	KUNIT_EXPECT_FALSE(test, rpcrdma_plan_pages_fit(8, 1, 8));
	KUNIT_EXPECT_FALSE(test, rpcrdma_plan_pages_fit(9, 1, 8));
	KUNIT_EXPECT_FALSE(test, rpcrdma_plan_pages_fit(1, 1, 0));
	KUNIT_EXPECT_FALSE(test, rpcrdma_plan_pages_fit(1, U32_MAX, 8));
	KUNIT_EXPECT_FALSE(test, rpcrdma_plan_pages_fit(U32_MAX, U32_MAX,
							U32_MAX));
}

/* What rdma_rw is asked for, and what it adds, is the Send Queue, or more of it */
static void plan_rw(struct kunit *test)
{
	static const struct {
		u32 credits, sq_depth, large_reads, ctxs[3], send_wrs[3];
	} c[] = {
		{ 64, 643, 16, { 256, 80, 214 }, { 387, 403, 1 } },
		{ 64, 643, 0, { 256, 64, 214 }, { 387, 451, 1 } },
		{ 1024, 10243, 16, { 4096, 1040, 3414 }, { 6147, 7123, 1 } },
		/* The defaults, where an RDMA Read has many SGEs, and few */
		{ 64, 127, 16, { 126, 48, 48 }, { 1, 1, 1 } },
		{ 64, 847, 16, { 256, 80, 256 }, { 591, 607, 79 } },
		/* Always two chunks of sixteen segments, and more for small payloads */
		{ 4, 55, 16, { 48, 48, 48 }, { 7, 1, 1 } },
		{ 8, 500, 16, { 48, 48, 48 }, { 452, 356, 356 } },
		{ 8, 145, 16, { 48, 48, 48 }, { 97, 1, 1 } },
		{ 8, 146, 16, { 48, 48, 48 }, { 98, 2, 2 } },
		{ 4, 49, 0, { 48, 48, 48 }, { 1, 1, 1 } },
		{ 1, 3, 16, { 48, 48, 48 }, { 1, 1, 1 } },
	};
	struct rpcrdma_queue_sizes sizes = {};
	struct rpcrdma_rw_sizes rw;
	u32 i, mrs;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		sizes.credits = c[i].credits;
		sizes.sq_depth = c[i].sq_depth;
		for (mrs = 0; mrs < 3; mrs++) {
			rw = rpcrdma_plan_rw(&sizes, c[i].large_reads, mrs);
			KUNIT_EXPECT_EQ_MSG(test, rw.ctxs, c[i].ctxs[mrs],
					    "case %u, %u", i, mrs);
			KUNIT_EXPECT_EQ_MSG(test, rw.send_wrs,
					    c[i].send_wrs[mrs], "case %u, %u",
					    i, mrs);
		}
	}
}

static void plan_page_share(struct kunit *test)
{
	u64 all, all_most = 1 << 15, share = 0;
	u32 i;

	/* The connection's own limit, then an eighth of the rest */
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 0, 512), 64U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 8, 512), 63U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 504, 512), 1U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 505, 512), 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 512, 512), 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 513, 512), 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, U64_MAX, 512), 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(U32_MAX, 0, U64_MAX),
			U32_MAX);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(0, 0, U64_MAX), 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_plan_page_share(64, 0, 1ULL << 36), 64U);

	/* However many connections take what they may, all have no more */
	for (i = 0, all = 0; i < 1000; i++, all += share) {
		share = rpcrdma_plan_page_share(4096, all, all_most);
		KUNIT_ASSERT_LE(test, all + share, all_most);
	}
}

/*
 * Four Calls for each credit within a second, each time from the last look on; or
 * more than half of the credits in use, for each number of credits or once a second
 */
static void plan_more_credits(struct kunit *test)
{
	static const struct {
		u32 credits, calls;
		u64 recvs, now;
		bool more;
	} c[] = {
		{ 8, 1, 1, 500, false },
		{ 8, 3, 31, 1099, false },
		/* Many in use */
		{ 8, 4, 31, 1099, false },
		{ 8, 5, 31, 1099, true },
		{ 16, 8, 32, 1100, false },
		{ 16, 9, 33, 1100, true },
		{ 17, 8, 34, 1101, false },
		{ 17, 9, 35, 1101, true },
		{ U32_MAX, 1U << 31, 36, 1102, true },
		/* There was no memory for more */
		{ U32_MAX, U32_MAX, 37, 2101, false },
		{ U32_MAX, U32_MAX, 38, 2102, true },
		{ U32_MAX, U32_MAX, 39, 2103, false },
		/* Often in use */
		{ 8, 1, 69, 2200, false },
		{ 8, 1, 70, 3101, true },
		{ 8, 8, 102, 4100, true },
		{ 16, 1, 165, 4101, false },
		{ 16, 1, 166, 5099, true },
		{ 16, 1, 230, 6099, false },
		{ 16, 1, 293, 6100, false },
		{ 16, 1, 294, 7098, true },
		/* The connection was idle, and is busy again */
		{ 32, 1, 295, 1000000, false },
		{ 32, 1, 422, 1000001, false },
		{ 32, 1, 550, 1000002, true },
		{ U32_MAX, 1, 4ULL * U32_MAX + 549, 1000003, false },
		{ U32_MAX, 1, 4ULL * U32_MAX + 550, 1000003, true },
	};
	struct rpcrdma_credit_use use = { .since = 100 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_plan_more_credits(&use, c[i].credits,
							      c[i].calls,
							      c[i].recvs,
							      c[i].now, 1000),
				    c[i].more, "case %u", i);
}

/* A share of the useful Calls, at least the least, at most what can be received */
static void plan_grant(struct kunit *test)
{
	static const struct {
		u32 receivable, least, useful, crowded, grant;
	} c[] = {
		{ 64, 4, 64, 0, 64 },
		{ 64, 4, 64, 1, 64 },
		{ 64, 4, 64, 2, 32 },
		{ 64, 4, 64, 10, 6 },
		{ 64, 4, 64, 16, 4 },
		{ 64, 4, 64, 17, 4 },
		{ 64, 4, 64, U32_MAX, 4 },
		{ 64, 4, 512, 10, 51 },
		{ 8, 4, 512, 10, 8 },
		{ 4, 4, 64, 17, 4 },
		{ 2, 4, 64, 64, 2 },
		{ 1, 4, 0, 1, 1 },
		{ U32_MAX, 1, U32_MAX, 1, U32_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_plan_grant(c[i].receivable,
						       c[i].least, c[i].useful,
						       c[i].crowded),
				    c[i].grant, "case %u", i);
}

static struct kunit_case plan_queues_test_cases[] = {
	KUNIT_CASE_PARAM(plan_queues, queue_gen_params),
	KUNIT_CASE(plan_queues_fit),
	KUNIT_CASE(plan_pages_fit),
	KUNIT_CASE(plan_page_share),
	KUNIT_CASE(plan_rw),
	KUNIT_CASE_PARAM(plan_fewer, fewer_gen_params),
	KUNIT_CASE_PARAM(plan_rw_wrs, rw_gen_params),
	KUNIT_CASE(plan_fewer_ends),
	KUNIT_CASE(plan_recv_block),
	KUNIT_CASE(plan_more_credits),
	KUNIT_CASE(plan_grant),
	{}
};

struct kunit_suite rpcrdma_plan_queues_suite = {
	.name = "rpcrdma-plan-queues",
	.test_cases = plan_queues_test_cases,
};
