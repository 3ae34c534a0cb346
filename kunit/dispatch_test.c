// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/dispatch.c: the table of actions.
 */
#include "suites.h"
#include "frames_v2.h"
#include "answers_v2_cases.h"

static void answer_case_desc(const struct answer_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u.%u, %s", c->frame[1],
		 c->frame[3], c->what);
}

KUNIT_ARRAY_PARAM(answer, answer_cases, answer_case_desc);

static void expect_action(struct kunit *test, const struct answer_case *c,
			  enum rpcrdma_role role,
			  const struct rpcrdma_limits *lim)
{
	u8 *buf = frame_octets(test, c->frame, c->len);
	struct rpcrdma_hdr hdr;

	KUNIT_EXPECT_EQ(test, rpcrdma_decode(&hdr, buf, c->len, lim),
			c->at[role].fault);
	KUNIT_EXPECT_EQ(test, hdr.fault, c->at[role].fault);
	KUNIT_EXPECT_EQ(test, rpcrdma_dispatch(&hdr, role, c->invalidated),
			c->at[role].want.action);
	if (c->at[role].want.errcode)
		KUNIT_EXPECT_EQ(test, rpcrdma_fault_errcode(hdr.fault),
				c->at[role].want.errcode);
}

static void answers_responder(struct kunit *test)
{
	expect_action(test, test->param_value, RPCRDMA_RESPONDER,
		      &frame_limits);
}

static void answers_requester(struct kunit *test)
{
	expect_action(test, test->param_value, RPCRDMA_REQUESTER,
		      &requester_limits);
}

#ifdef CONFIG_RPCRDMA_V2
KUNIT_ARRAY_PARAM(answer_v2, answer_v2_cases, answer_case_desc);

static void answers_v2_responder(struct kunit *test)
{
	expect_action(test, test->param_value, RPCRDMA_RESPONDER,
		      &frame_limits_v2);
}

static void answers_v2_requester(struct kunit *test)
{
	expect_action(test, test->param_value, RPCRDMA_REQUESTER,
		      &requester_limits_v2);
}
#endif /* CONFIG_RPCRDMA_V2 */

/* Who speaks version two as well does with the others what he did before */
static void answers_v1_beside_v2(struct kunit *test)
{
	u32 i, seen = 0;

	for (i = 0; i < ARRAY_SIZE(answer_cases); i++) {
		if (answer_cases[i].frame[1] == RPCRDMA_V2)
			continue;
		expect_action(test, &answer_cases[i], RPCRDMA_RESPONDER,
			      &frame_limits_v2);
		expect_action(test, &answer_cases[i], RPCRDMA_REQUESTER,
			      &requester_limits_v2);
		seen++;
	}
	KUNIT_EXPECT_TRUE(test, seen > 80);
}

/* Every fault that the decoder knows, and every action, is in the table */
static void answers_complete(struct kunit *test)
{
	bool faults[__RPCRDMA_FAULT_MAX] = { false };
	bool actions[__RPCRDMA_ACTIONS] = { false };
	const struct answer_case *c;
	u32 i, role, count = ARRAY_SIZE(answer_cases);

	for (i = 0; i < count + ARRAY_SIZE(answer_v2_cases); i++) {
		c = i < count ? &answer_cases[i] : &answer_v2_cases[i - count];
		for (role = 0; role < __RPCRDMA_ROLES; role++) {
			faults[c->at[role].fault] = true;
			actions[c->at[role].want.action] = true;
		}
	}
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		KUNIT_EXPECT_EQ_MSG(test, faults[i], true, "fault %s",
				    rpcrdma_fault_name(i));
	for (i = 0; i < ARRAY_SIZE(actions); i++)
		KUNIT_EXPECT_EQ_MSG(test, actions[i], true, "action %u", i);
}

/* A message that may be the Reply to a callback, or may not */
static void answers_may_be_reply(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 len;
		u32 frame[16];
		enum rpcrdma_action want;
	} cases[] = {
		{ "no XID", 3, { XID },
		  RPCRDMA_ACT_DROP },
		{ "XID alone", 4, { XID },
		  RPCRDMA_ACT_FAIL },
		{ "lists cut off", 27, { XID, 1, 32, RPCRDMA_MSG },
		  RPCRDMA_ACT_FAIL },
		{ "no message", 28, { XID, 1, 32, RPCRDMA_MSG },
		  RPCRDMA_ACT_FAIL_OR_ERROR },
		{ "short Call", 36,
		  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 0 },
		  RPCRDMA_ACT_ERROR },
		{ "Reply", 36,
		  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 1 },
		  RPCRDMA_ACT_REPLY },
		{ "Reply, XIDs differ", 36,
		  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID + 1, 1 },
		  RPCRDMA_ACT_FAIL },
		{ "Call, XIDs differ", 36,
		  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID + 1, 0 },
		  RPCRDMA_ACT_ERROR },
		{ "neither", 36,
		  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 2 },
		  RPCRDMA_ACT_FAIL_OR_ERROR },
		{ "lists unreadable, a Call behind", 36,
		  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 2, XID, 0 },
		  RPCRDMA_ACT_FAIL_OR_ERROR },
		{ "in the Reply chunk", 48,
		  { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 7, 64, 0, 0 },
		  RPCRDMA_ACT_FAIL_OR_ERROR },
		{ "short, in a Position-Zero Read chunk", 52,
		  { XID, 1, 32, RPCRDMA_NOMSG, 1, 0, 7, 39, 0, 0, 0, 0, 0 },
		  RPCRDMA_ACT_ERROR },
		{ "another version", 36,
		  { XID, 9, 32, RPCRDMA_MSG, 0, 0, 0, XID, 1 },
		  RPCRDMA_ACT_FAIL_OR_ERROR },
		{ "RDMA_DONE", 28, { XID, 1, 32, RPCRDMA_DONE },
		  RPCRDMA_ACT_DROP },
		{ "RDMA_ERROR", 20,
		  { XID, 1, 32, RPCRDMA_ERROR, RPCRDMA_ERR_CHUNK },
		  RPCRDMA_ACT_FAIL },
	};
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		buf = frame_octets(test, cases[i].frame, cases[i].len);
		rpcrdma_decode(&hdr, buf, cases[i].len, &frame_limits);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_dispatch(&hdr, RPCRDMA_RESPONDER,
							   false),
				    cases[i].want, "%s", cases[i].what);
	}
}

/* Of a message in a chunk: what the decoder sees of one that is inline */
static void answers_verifier(struct kunit *test)
{
	static const struct {
		u32 msg[5];
		u32 len;
		u64 want;
	} cases[] = {
		{ { XID, 1, 0, 0, 0 }, 20, 0 },
		{ { XID, 1, 0, 2, 8 }, 20, 8 },
		{ { XID, 1, 0, 2, 8 }, 28, 8 },
		{ { XID, 1, 0, 6, 37 }, 60, 40 },
		{ { XID, 1, 0, 0xff000006, 37 }, 60, 40 },
		{ { XID, 1, 0, 6, 0xffffffff }, 60, 0x100000000ULL },
		{ { XID, 1, 0, 2, 8 }, 19, 0 },
		{ { XID, 1, 1, 2, 8 }, 20, 0 },
		{ { XID, 0, 0, 2, 8 }, 20, 0 },
		{ { XID, 2, 0, 2, 8 }, 20, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_reply_verf_len(frame_octets(test, cases[i].msg, 20),
							   cases[i].len),
				    cases[i].want, "case %u", i);
}

static void answers_is_message_of(struct kunit *test)
{
	static const struct {
		u32 msg[2];
		bool call;
		bool reply;
	} cases[] = {
		{ { XID, 0 }, true, false },
		{ { XID, 1 }, false, true },
		{ { XID, 2 }, false, false },
		{ { XID, 0x01000000 }, false, false },
		{ { XID + 1, 0 }, false, false },
		{ { XID + 1, 1 }, false, false },
		{ { XID ^ 0x80000000, 0 }, false, false },
		{ { XID ^ 0x80000000, 1 }, false, false },
		{ { 0, XID }, false, false },
		{ { 1, XID }, false, false },
	};
	struct rpcrdma_hdr hdr = { .xid = XID, .reply_bytes = 8 };
	const void *msg;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		msg = frame_octets(test, cases[i].msg, 8);
		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_is_msg_of(msg, &hdr, RPCRDMA_DIR_CALL),
				    cases[i].call, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_is_msg_of(msg, &hdr, RPCRDMA_DIR_REPLY),
				    cases[i].reply, "case %u", i);
	}
	/* What is there was not written by this Reply */
	hdr.reply_bytes = 7;
	KUNIT_EXPECT_FALSE(test, rpcrdma_is_msg_of(frame_octets(test, cases[1].msg, 8),
						   &hdr, RPCRDMA_DIR_REPLY));
}

static void answers_grant(struct kunit *test)
{
	static const struct {
		u32 len;
		enum rpcrdma_fault fault;
		u32 credits, want;
	} cases[] = {
		{ 36, RPCRDMA_FAULT_NONE, 0, 1 },
		{ 36, RPCRDMA_FAULT_NONE, 1, 1 },
		{ 36, RPCRDMA_FAULT_NONE, 2, 2 },
		{ 36, RPCRDMA_FAULT_NONE, 63, 63 },
		{ 36, RPCRDMA_FAULT_NONE, 64, 64 },
		{ 36, RPCRDMA_FAULT_NONE, 65, 64 },
		{ 36, RPCRDMA_FAULT_NONE, U32_MAX, 64 },
		{ 16, RPCRDMA_FAULT_SHORT, 32, 0 },
		{ 36, RPCRDMA_FAULT_XID, 32, 0 },
		{ 36, RPCRDMA_FAULT_VERSION, 32, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct rpcrdma_hdr hdr = {
			.len = cases[i].len,
			.fault = cases[i].fault,
			.credits = cases[i].credits,
		};

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_grant(&hdr, 64, 64, true),
				    cases[i].want, "case %u", i);
	}
}

/* Credits of what has no RPC message that tells its direction */
static void answers_grant_direction(struct kunit *test)
{
	static const struct {
		u32 len;
		u32 frame[16];
		u32 unmatched;
		u32 most;	/* when one was granted before */
	} cases[] = {
		{ 36, { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 1 }, 32, 32 },
		{ 36, { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 0 }, 0, 32 },
		{ 20, { XID, 1, 32, RPCRDMA_ERROR, RPCRDMA_ERR_CHUNK }, 0, 1 },
		{ 28, { XID, 1, 32, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 1, 1 }, 0, 1 },
		{ 48, { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 7, 64, 0, 0 }, 0, 32 },
	};
	struct rpcrdma_hdr hdr;
	u32 i;
	u8 *buf;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		buf = frame_octets(test, cases[i].frame, cases[i].len);
		KUNIT_ASSERT_EQ(test,
				rpcrdma_decode(&hdr, buf, cases[i].len,
					       &frame_limits), RPCRDMA_FAULT_NONE);

		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_grant(&hdr, 64, 64, false),
				    cases[i].unmatched, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_grant(&hdr, 64, 64, true),
				    32, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_grant(&hdr, 64, 1, false),
				    min(cases[i].unmatched, cases[i].most), "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rpcrdma_hdr_grant(&hdr, 64, 1, true),
				    cases[i].most, "case %u", i);
	}
}

/**
 * struct within_case - a Reply, and what the Call offered
 * @name: of the case
 * @len: octets of @frame
 * @frame: words in host order
 * @written: what the Write chunk says
 * @write_offered: octets of the Write chunk in the Call
 * @reply_offered: octets of the Reply chunk in the Call
 * @want: can it be taken?
 */
struct within_case {
	const char	*name;
	u32		len;
	u32		frame[FRAME_WORDS];
	u64		written;
	u32		write_offered;
	u32		reply_offered;
	bool		want;
};

static const struct within_case within_cases[] = {
	{ "inline, nothing offered", 36,
	  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 1 },
	  0, 0, 0, true },
	{ "inline, both offered", 36,
	  { XID, 1, 32, RPCRDMA_MSG, 0, 0, 0, XID, 1 },
	  0, 9, 9, true },
	{ "as much written as offered", 76,
	  { XID, 1, 32, RPCRDMA_MSG, 0,
	    1, 2, 0xb1, 4, 7, 0, 0xb2, 5, 7, 0,
	    0, 0, XID, 1 },
	  9, 9, 0, true },
	{ "less written than offered", 76,
	  { XID, 1, 32, RPCRDMA_MSG, 0,
	    1, 2, 0xb1, 4, 7, 0, 0xb2, 5, 7, 0,
	    0, 0, XID, 1 },
	  9, 10, 0, true },
	{ "more written than offered", 76,
	  { XID, 1, 32, RPCRDMA_MSG, 0,
	    1, 2, 0xb1, 4, 7, 0, 0xb2, 5, 7, 0,
	    0, 0, XID, 1 },
	  9, 8, 0, false },
	{ "written, nothing offered", 76,
	  { XID, 1, 32, RPCRDMA_MSG, 0,
	    1, 2, 0xb1, 4, 7, 0, 0xb2, 5, 7, 0,
	    0, 0, XID, 1 },
	  9, 0, 16, false },
	{ "two Write chunks, one offered", 84,
	  { XID, 1, 32, RPCRDMA_MSG, 0,
	    1, 1, 0xb1, 4, 7, 0,
	    1, 1, 0xb2, 5, 7, 0,
	    0, 0, XID, 1 },
	  4, 9, 0, false },
	{ "two Write chunks without segments", 52,
	  { XID, 1, 32, RPCRDMA_MSG, 0, 1, 0, 1, 0, 0, 0, XID, 1 },
	  0, 4, 0, false },
	{ "inline, Reply chunk given back empty",
	  56, { XID, 1, 32, RPCRDMA_MSG, 0, 0, 1, 1, 0xb1, 0, 7, 0, XID, 1 },
	  0, 0, 8, true },
	{ "inline and in the Reply chunk",
	  56, { XID, 1, 32, RPCRDMA_MSG, 0, 0, 1, 1, 0xb1, 1, 7, 0, XID, 1 },
	  0, 0, 8, false },
	{ "Reply chunk as long as offered", 48,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 0xb1, 8, 7, 0 },
	  0, 0, 8, true },
	{ "Reply chunk shorter than offered", 48,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 0xb1, 8, 7, 0 },
	  0, 0, 9, true },
	{ "Reply chunk longer than offered", 48,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 0xb1, 8, 7, 0 },
	  0, 0, 7, false },
	{ "Reply chunk, none offered", 48,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 0xb1, 8, 7, 0 },
	  0, 8, 0, false },
	{ "Reply chunk of no octets",
	  48, { XID, 1, 32, RPCRDMA_NOMSG, 0, 0, 1, 1, 0xb1, 0, 7, 0 },
	  0, 0, 8, false },
	{ "both as offered", 72,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0,
	    1, 1, 0xb1, 4, 7, 0,
	    0,
	    1, 1, 0xb2, 8, 7, 0 },
	  4, 4, 8, true },
	{ "both, more written than offered", 72,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0,
	    1, 1, 0xb1, 4, 7, 0,
	    0,
	    1, 1, 0xb2, 8, 7, 0 },
	  4, 3, 8, false },
	{ "both, Reply chunk longer than offered", 72,
	  { XID, 1, 32, RPCRDMA_NOMSG, 0,
	    1, 1, 0xb1, 4, 7, 0,
	    0,
	    1, 1, 0xb2, 8, 7, 0 },
	  4, 4, 7, false },
};

static void within_case_desc(const struct within_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(within, within_cases, within_case_desc);

static void answers_within(struct kunit *test)
{
	const struct within_case *c = test->param_value;
	u8 *buf = frame_octets(test, c->frame, c->len);
	struct rpcrdma_hdr hdr;

	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, c->len,
					     &requester_limits),
			RPCRDMA_FAULT_NONE);

	KUNIT_EXPECT_EQ(test, hdr.write_bytes, c->written);
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_within(&hdr, c->write_offered,
						   c->reply_offered),
			c->want);
}

static struct kunit_case answers_test_cases[] = {
	KUNIT_CASE_PARAM(answers_responder, answer_gen_params),
	KUNIT_CASE_PARAM(answers_requester, answer_gen_params),
#ifdef CONFIG_RPCRDMA_V2
	KUNIT_CASE_PARAM(answers_v2_responder, answer_v2_gen_params),
	KUNIT_CASE_PARAM(answers_v2_requester, answer_v2_gen_params),
#endif
	KUNIT_CASE(answers_v1_beside_v2),
	KUNIT_CASE(answers_complete),
	KUNIT_CASE(answers_may_be_reply),
	KUNIT_CASE(answers_is_message_of),
	KUNIT_CASE(answers_verifier),
	KUNIT_CASE(answers_grant),
	KUNIT_CASE(answers_grant_direction),
	KUNIT_CASE_PARAM(answers_within, within_gen_params),
	{}
};

struct kunit_suite rpcrdma_answers_suite = {
	.name = "rpcrdma-answers",
	.test_cases = answers_test_cases,
};
