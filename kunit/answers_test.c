// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/answer.c: the table of answers.
 */
#include "suites.h"
#include "answers_cases.h"

static const struct rpcrdma_limits *const limits_of[__RPCRDMA_ROLES] = {
	[RPCRDMA_RESPONDER] = &frame_limits,
	[RPCRDMA_REQUESTER] = &requester_limits,
};

static void answer_case_desc(const struct answer_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u.%u, %s", c->frame[1],
		 c->frame[3], c->what);
}

KUNIT_ARRAY_PARAM(answer, answer_cases, answer_case_desc);

static void expect_answer(struct kunit *test, enum rpcrdma_role role)
{
	const struct answer_case *c = test->param_value;
	u8 *buf = frame_octets(test, c->frame, c->len);
	enum rpcrdma_disposition disposition;
	struct rpcrdma_hdr hdr;

	disposition = rpcrdma_decode(&hdr, buf, c->len, limits_of[role]);

	KUNIT_EXPECT_EQ(test, hdr.fault, c->at[role].fault);
	KUNIT_EXPECT_EQ(test, disposition == RPCRDMA_ACCEPT, !hdr.fault);
	KUNIT_EXPECT_EQ(test, rpcrdma_answer(&hdr, disposition, role,
					     c->invalidated),
			c->at[role].answer);
}

static void answers_responder(struct kunit *test)
{
	expect_answer(test, RPCRDMA_RESPONDER);
}

static void answers_requester(struct kunit *test)
{
	expect_answer(test, RPCRDMA_REQUESTER);
}

/* A disposition that has no answer yet, such as a later version may have */
static void answers_unknown_disposition(struct kunit *test)
{
	const struct rpcrdma_hdr hdr = { .fault = RPCRDMA_FAULT_SHORT };
	const enum rpcrdma_disposition unknown = RPCRDMA_ANSWER_CHUNK + 1;

	KUNIT_EXPECT_EQ(test, rpcrdma_answer(&hdr, unknown, RPCRDMA_RESPONDER,
					     false), RPCRDMA_DO_CLOSE);
}

/* Whatever a Requester's limits are: a callback has no chunks */
static void answers_callback_chunks(struct kunit *test)
{
	static const u32 frame[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
		1, 8, 0xa1, 4, 0, 0x1000,
		0, 0, 0, XID, 0,
	};
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	enum rpcrdma_disposition disposition;
	struct rpcrdma_hdr hdr;

	disposition = rpcrdma_decode(&hdr, buf, sizeof(frame), &frame_limits);

	KUNIT_EXPECT_EQ(test, disposition, RPCRDMA_ACCEPT);
	KUNIT_EXPECT_EQ(test, rpcrdma_answer(&hdr, disposition,
					     RPCRDMA_REQUESTER, false),
			RPCRDMA_DO_DROP);
}

/* Every fault that the decoder knows, and every answer, is in the table */
static void answers_complete(struct kunit *test)
{
	bool faults[__RPCRDMA_FAULT_MAX] = { false };
	bool answers[__RPCRDMA_ANSWERS] = { false };
	u32 i, role;

	for (i = 0; i < ARRAY_SIZE(answer_cases); i++) {
		for (role = 0; role < __RPCRDMA_ROLES; role++) {
			faults[answer_cases[i].at[role].fault] = true;
			answers[answer_cases[i].at[role].answer] = true;
		}
	}
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		KUNIT_EXPECT_EQ_MSG(test, faults[i], true, "fault %s",
				    rpcrdma_fault_name(i));
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		KUNIT_EXPECT_EQ_MSG(test, answers[i], true, "answer %u", i);
}

static struct kunit_case answers_test_cases[] = {
	KUNIT_CASE_PARAM(answers_responder, answer_gen_params),
	KUNIT_CASE_PARAM(answers_requester, answer_gen_params),
	KUNIT_CASE(answers_callback_chunks),
	KUNIT_CASE(answers_unknown_disposition),
	KUNIT_CASE(answers_complete),
	{}
};

struct kunit_suite rpcrdma_answers_suite = {
	.name = "rpcrdma-answers",
	.test_cases = answers_test_cases,
};
