// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/send_slots.c.
 */
#include "suites.h"
#include "rpcrdma/queues.h"

static void slots_init(struct kunit *test)
{
	static const struct {
		u32 sq_depth, depth, batch, max_part;
	} c[] = {
		{ 2, 1, 1, 1 },
		{ 3, 2, 1, 1 },
		{ 8, 7, 1, 6 },
		{ 9, 8, 2, 6 },
		{ 33, 32, 8, 24 },
		{ 1025, 1024, 256, 768 },
	};
	struct rpcrdma_send_slots s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		memset(&s, 0xff, sizeof(s));
		rpcrdma_slots_init(&s, c[i].sq_depth);
		KUNIT_EXPECT_EQ(test, s.depth, c[i].depth);
		KUNIT_EXPECT_EQ(test, s.batch, c[i].batch);
		KUNIT_EXPECT_EQ(test, s.max_part, c[i].max_part);
		KUNIT_EXPECT_EQ(test, s.posted, 0);
		KUNIT_EXPECT_EQ(test, s.completed, 0);
		KUNIT_EXPECT_EQ(test, s.nr_marks, 0);
	}
}

static void slots_fit(struct kunit *test)
{
	struct rpcrdma_send_slots s;

	rpcrdma_slots_init(&s, 9);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_fit(&s, 8));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_fit(&s, 9));
	rpcrdma_slots_post(&s, 5, RPCRDMA_NOTIFY_NOW);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_fit(&s, 3));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_fit(&s, 4));
	rpcrdma_slots_complete(&s, 2);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_fit(&s, 5));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_fit(&s, 6));
	/* A completion that comes late frees nothing again */
	rpcrdma_slots_complete(&s, 1);
	KUNIT_EXPECT_EQ(test, s.completed, 2);
	rpcrdma_slots_complete(&s, 5);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_fit(&s, 8));
}

/* Every chain whose owner waits for it is signalled, and covers those before */
static void slots_notify_now(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 41);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 2, RPCRDMA_NOTIFY_NEVER),
				RPCRDMA_SIGNAL_NONE);
		KUNIT_EXPECT_EQ(test, s.unsignalled, 2);
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW),
				RPCRDMA_SIGNAL_CHAIN);
		KUNIT_EXPECT_EQ(test, s.unsignalled, 0);
		KUNIT_EXPECT_EQ(test, s.posted, 3 * (i + 1));
	}
	KUNIT_EXPECT_EQ(test, s.nr_marks, 0);
}

/* Who asks hears with the next post what was complete when it asked, and once */
static void slots_ask(struct kunit *test)
{
	struct rpcrdma_send_slots s;

	rpcrdma_slots_init(&s, 41);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_ask(&s), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_NONE);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 2, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_NONE);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_ask(&s), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_QUEUE);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_NONE);
	rpcrdma_slots_complete(&s, rpcrdma_slots_mark(&s));
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_ask(&s), 4);
}

/* One Send in eight */
static void slots_notify_later(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 41);
	for (i = 1; i <= 24; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER),
				i % 8 ? RPCRDMA_SIGNAL_NONE : RPCRDMA_SIGNAL_CHAIN);
	/* What is signalled otherwise counts */
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER);
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER);
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	for (i = 1; i <= 8; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER),
				i % 8 ? RPCRDMA_SIGNAL_NONE : RPCRDMA_SIGNAL_CHAIN);
	/* So does what is not */
	rpcrdma_slots_post(&s, 7, RPCRDMA_NOTIFY_NEVER);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER),
			RPCRDMA_SIGNAL_CHAIN);
	/* In a queue of few slots the queue's own completion tells the owner */
	rpcrdma_slots_init(&s, 9);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER),
			RPCRDMA_SIGNAL_NONE);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER),
			RPCRDMA_SIGNAL_QUEUE);
}

/* Nobody waits: one WR in a batch is signalled, for the slots */
static void slots_notify_never(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 41);
	for (i = 1; i <= 30; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NEVER),
				i % 10 ? RPCRDMA_SIGNAL_NONE : RPCRDMA_SIGNAL_QUEUE);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 10, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_QUEUE);
	KUNIT_EXPECT_EQ(test, s.nr_marks, 4);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 10);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 20);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 30);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 40);
	/* One more than was asked for tells nothing */
	rpcrdma_slots_complete(&s, 40);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 40);
	KUNIT_EXPECT_EQ(test, s.nr_marks, 0);
	/* Positions have 64 bits */
	s.posted = 1ULL << 32;
	s.completed = 1ULL << 32;
	rpcrdma_slots_post(&s, 10, RPCRDMA_NOTIFY_NEVER);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), (1ULL << 32) + 10);
}

/* More marks than there can be: the chain stays unsignalled, and the next is tried */
static void slots_no_mark(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 41);
	for (i = 0; i < RPCRDMA_SEND_MARKS; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 10, RPCRDMA_NOTIFY_NEVER),
				RPCRDMA_SIGNAL_QUEUE);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 10, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_NONE);
	KUNIT_EXPECT_EQ(test, s.unsignalled, 10);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 10);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NEVER),
			RPCRDMA_SIGNAL_QUEUE);
	for (i = 2; i <= RPCRDMA_SEND_MARKS; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 10 * i);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_mark(&s), 91);
}

/* All of a chain if it fits; else no more than are sure to be free some time */
static void slots_part(struct kunit *test)
{
	struct rpcrdma_send_slots s;

	rpcrdma_slots_init(&s, 33);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_part(&s, 32), 32);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_part(&s, 33), 24);
	rpcrdma_slots_post(&s, 10, RPCRDMA_NOTIFY_NOW);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_part(&s, 22), 22);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_part(&s, 23), 23);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_part(&s, 25), 24);
	KUNIT_EXPECT_EQ(test, rpcrdma_slots_part(&s, 1000), 24);
}

/*
 * Whatever the depth: a chain of any length is posted in the end, in parts if it
 * must, as completions come for what is signalled; and the marks suffice.
 */
static void slots_progress(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 sq_depth, n, part, posts;

	for (sq_depth = 3; sq_depth < 200; sq_depth++) {
		rpcrdma_slots_init(&s, sq_depth);
		for (posts = 0; posts < 500; posts++) {
			for (n = 1 + posts * 7 % (3 * sq_depth); n; n -= part) {
				part = rpcrdma_slots_part(&s, n);
				while (!rpcrdma_slots_fit(&s, part)) {
					KUNIT_ASSERT_TRUE(test, s.nr_marks > 0);
					rpcrdma_slots_complete(&s, rpcrdma_slots_mark(&s));
					part = rpcrdma_slots_part(&s, n);
				}
				KUNIT_ASSERT_TRUE(test, part);
				rpcrdma_slots_post(&s, part, RPCRDMA_NOTIFY_NEVER);
				KUNIT_ASSERT_LE(test, s.unsignalled + 1, s.batch);
				KUNIT_ASSERT_LE(test, s.posted - s.completed, s.depth);
			}
		}
	}
}

/* expect_checks: the queue has stalled at the fifth check from now on */
static void expect_checks(struct kunit *test, struct rpcrdma_send_slots *s,
			  u64 oldest)
{
	u32 i;

	for (i = 1; i < RPCRDMA_STALL_CHECKS; i++)
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(s, oldest));
	for (i = 0; i < 300; i++)
		KUNIT_EXPECT_TRUE(test, rpcrdma_slots_stalled(s, oldest));
}

static void slots_stalled(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	/* Nothing is due */
	rpcrdma_slots_init(&s, 41);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 0));
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NEVER);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 0));

	/* A completion is due, and none has ever come */
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	expect_checks(test, &s, 0);

	/* It comes; then the next is due */
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	rpcrdma_slots_complete(&s, 2);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 0));
	expect_checks(test, &s, 0);

	/* Each time there is some progress */
	for (i = 3; i < 20; i++) {
		rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
		rpcrdma_slots_complete(&s, i);
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, i + 1));
	}
}

/* On iWARP Sends complete behind an RDMA Read that does not */
static void slots_stalled_behind(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 41);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 0));
	for (i = 0; i < RPCRDMA_STALL_CHECKS; i++) {
		rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
		rpcrdma_slots_complete(&s, i + 1);
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 7));
	}
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	rpcrdma_slots_complete(&s, i + 1);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_stalled(&s, 7));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 8));
}

/* A chain completes at each check, but the oldest one is older each time */
static void expect_old(struct kunit *test, u64 start)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 41);
	s.posted = start;
	s.completed = start;
	for (i = 0; i < 20; i++)
		rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	for (i = 1; i <= RPCRDMA_STALL_AGE; i++) {
		rpcrdma_slots_complete(&s, start + i);
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, start + i + 1));
	}
	/* Posted before the first check, as all the others */
	rpcrdma_slots_complete(&s, start + 19);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_stalled(&s, start + 20));
	rpcrdma_slots_complete(&s, start + 20);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_stalled(&s, 0));

	/* Always full, and no chain lasts that long */
	for (i = 21; i < 600; i++) {
		rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
		if (i < 20 + RPCRDMA_STALL_AGE)
			continue;
		rpcrdma_slots_complete(&s, start + i - RPCRDMA_STALL_AGE);
		KUNIT_EXPECT_FALSE(test,
				   rpcrdma_slots_stalled(&s, start + i + 1 -
							 RPCRDMA_STALL_AGE));
	}
}

static void slots_stalled_old(struct kunit *test)
{
	expect_old(test, 0);
	/* Positions have 64 bits */
	expect_old(test, 1ULL << 32);
}

/* Nothing between so many checks; a post or a message begins anew */
static void slots_idle(struct kunit *test)
{
	struct rpcrdma_send_slots s;
	u32 i;

	rpcrdma_slots_init(&s, 33);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 0, 3));
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 0, 3));
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 0, 3));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 0, 6));
	/* A message */
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 1, 1));
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 1, 1));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 1, 3));
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 1, 3));
	/* A post, complete or not */
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 1, 1));
	rpcrdma_slots_complete(&s, 1);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 1, 1));
	/* Never, unless there is what no completion will tell of */
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 1, 0));
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 1, 0));
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 2, 9));
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 9));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 9));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 0));
	/* What is signalled is not complete, in front of what is not */
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_LATER);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 0));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 1));
	rpcrdma_slots_complete(&s, 3);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 2, 0));
	/* Nothing is received either, but that completion is awaited */
	rpcrdma_slots_post(&s, 1, RPCRDMA_NOTIFY_NOW);
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 1));
	KUNIT_EXPECT_FALSE(test, rpcrdma_slots_probe(&s, 2, 1));
	rpcrdma_slots_complete(&s, 5);
	KUNIT_EXPECT_TRUE(test, rpcrdma_slots_probe(&s, 2, 1));
}

static struct kunit_case send_slots_test_cases[] = {
	KUNIT_CASE(slots_init),
	KUNIT_CASE(slots_fit),
	KUNIT_CASE(slots_notify_now),
	KUNIT_CASE(slots_ask),
	KUNIT_CASE(slots_notify_later),
	KUNIT_CASE(slots_notify_never),
	KUNIT_CASE(slots_no_mark),
	KUNIT_CASE(slots_part),
	KUNIT_CASE(slots_progress),
	KUNIT_CASE(slots_stalled),
	KUNIT_CASE(slots_stalled_behind),
	KUNIT_CASE(slots_stalled_old),
	KUNIT_CASE(slots_idle),
	{}
};

struct kunit_suite rpcrdma_send_slots_suite = {
	.name = "rpcrdma-send-slots",
	.test_cases = send_slots_test_cases,
};
