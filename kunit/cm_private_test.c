// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/cm_private.c.
 */
#include "suites.h"
#include "rpcrdma/wire.h"

static void cm_encode(struct kunit *test)
{
	static const struct {
		struct rpcrdma_cm_private local;
		u8 want[RPCRDMA_CMP_LEN];
	} cases[] = {
		{ { .send_size = 4096, .recv_size = 4096 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 } },
		{ { .remote_inv = true, .send_size = 4096, .recv_size = 8192 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7 } },
		{ { .send_size = 0, .recv_size = 1 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0 } },
		{ { .send_size = 1023, .recv_size = 1024 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0 } },
		{ { .send_size = 1025, .recv_size = 2047 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0 } },
		{ { .send_size = 2048, .recv_size = 2049 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 1, 1 } },
		{ { .send_size = 262143, .recv_size = 262144 },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 254, 255 } },
		{ { .send_size = 262145, .recv_size = U32_MAX },
		  { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 255, 255 } },
	};
	u8 buf[RPCRDMA_CMP_LEN];
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(buf, 0xee, sizeof(buf));

		KUNIT_EXPECT_EQ(test,
				rpcrdma_cm_private_encode(buf, sizeof(buf),
							  &cases[i].local),
				RPCRDMA_CMP_LEN);

		for (at = 0; at < sizeof(buf); at++)
			KUNIT_EXPECT_EQ_MSG(test, buf[at], cases[i].want[at],
					    "case %u octet %u", i, at);
	}
}

static void cm_encode_room(struct kunit *test)
{
	const struct rpcrdma_cm_private local = { .send_size = 4096 };
	u8 buf[RPCRDMA_CMP_LEN + 1] = { 0 };
	u32 size;

	for (size = 0; size < RPCRDMA_CMP_LEN; size++) {
		KUNIT_EXPECT_EQ(test,
				rpcrdma_cm_private_encode(buf, size, &local),
				0U);
		KUNIT_EXPECT_EQ(test, buf[0], 0);
	}
	KUNIT_EXPECT_EQ(test,
			rpcrdma_cm_private_encode(buf, sizeof(buf), &local),
			RPCRDMA_CMP_LEN);
}

/**
 * struct find_case - private data and what is found in them
 * @name: of the case
 * @len: octets
 * @data: the octets
 * @want: decoded
 */
struct find_case {
	const char			*name;
	u32				len;
	u8				data[32];
	struct rpcrdma_cm_private	want;
};

static const struct find_case find_cases[] = {
	{ "absent", 0, {}, { false, false, 1024, 1024 } },
	{ "zeroes", 32, {}, { false, false, 1024, 1024 } },
	{ "at the start", 8, { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7 },
	  { true, true, 4096, 8192 } },
	{ "padded", 32, { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7 },
	  { true, true, 4096, 8192 } },
	{ "R clear", 8, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 },
	  { true, false, 4096, 4096 } },
	{ "reserved bits set, R clear", 8,
	  { 0xf6, 0xab, 0x0e, 0x18, 1, 0xfe, 3, 3 },
	  { true, false, 4096, 4096 } },
	{ "reserved bits and R set", 8,
	  { 0xf6, 0xab, 0x0e, 0x18, 1, 0xff, 3, 3 },
	  { true, true, 4096, 4096 } },
	{ "sizes 0 and 255", 8, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 255 },
	  { true, false, 1024, 262144 } },
	{ "sizes 255 and 0", 8, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 255, 0 },
	  { true, false, 262144, 1024 } },
	{ "at offset 1", 9, { 9, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7 },
	  { true, true, 4096, 8192 } },
	{ "at offset 4, as behind an iWARP header", 12,
	  { 0, 1, 0, 1, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7 },
	  { true, true, 4096, 8192 } },
	{ "at offset 24, the last", 32,
	  { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
	    20, 21, 22, 23, 24, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7 },
	  { true, true, 4096, 8192 } },
	{ "cut after 7 octets", 7, { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3 },
	  { false, false, 1024, 1024 } },
	{ "cut after 7 octets, behind others", 10,
	  { 1, 2, 3, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3 },
	  { false, false, 1024, 1024 } },
	{ "identifier only", 4, { 0xf6, 0xab, 0x0e, 0x18 },
	  { false, false, 1024, 1024 } },
	{ "identifier wrong", 8, { 0xf6, 0xab, 0x0e, 0x19, 1, 1, 3, 7 },
	  { false, false, 1024, 1024 } },
	{ "identifier in host order", 8, { 0x18, 0x0e, 0xab, 0xf6, 1, 1, 3, 7 },
	  { false, false, 1024, 1024 } },
	{ "version 0", 8, { 0xf6, 0xab, 0x0e, 0x18, 0, 1, 3, 7 },
	  { false, false, 1024, 1024 } },
	{ "version 2", 8, { 0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 7 },
	  { false, false, 1024, 1024 } },
	{ "version 2, then version 1", 16,
	  { 0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 7,
	    0xf6, 0xab, 0x0e, 0x18, 1, 0, 1, 2 },
	  { true, false, 2048, 3072 } },
	{ "version 2, and version 1 within it", 13,
	  { 0xf6, 0xab, 0x0e, 0x18, 2,
	    0xf6, 0xab, 0x0e, 0x18, 1, 1, 1, 2 },
	  { true, true, 2048, 3072 } },
	{ "identifier begun twice", 10,
	  { 0xf6, 0xab, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 1, 2 },
	  { true, true, 2048, 3072 } },
	{ "the first of two counts", 16,
	  { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7,
	    0xf6, 0xab, 0x0e, 0x18, 1, 0, 1, 2 },
	  { true, true, 4096, 8192 } },
};

static void find_case_desc(const struct find_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(find, find_cases, find_case_desc);

static void cm_decode(struct kunit *test)
{
	const struct find_case *c = test->param_value;
	struct rpcrdma_cm_private peer;
	u8 *buf;

	buf = kunit_kmalloc(test, c->len, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, buf);
	memcpy(buf, c->data, c->len);

	rpcrdma_cm_private_decode(&peer, buf, c->len);

	KUNIT_EXPECT_EQ(test, peer.present, c->want.present);
	KUNIT_EXPECT_EQ(test, peer.remote_inv, c->want.remote_inv);
	KUNIT_EXPECT_EQ(test, peer.send_size, c->want.send_size);
	KUNIT_EXPECT_EQ(test, peer.recv_size, c->want.recv_size);
}

static void cm_decode_null(struct kunit *test)
{
	struct rpcrdma_cm_private peer;

	rpcrdma_cm_private_decode(&peer, NULL, 0);

	KUNIT_EXPECT_FALSE(test, peer.present);
	KUNIT_EXPECT_EQ(test, peer.recv_size, 1024U);
}

/* All sizes the format knows survive the way out and back */
static void cm_round_trip(struct kunit *test)
{
	struct rpcrdma_cm_private local, peer;
	u8 buf[RPCRDMA_CMP_LEN];
	u32 n;

	for (n = 1; n <= 256; n++) {
		local.remote_inv = n % 2;
		local.send_size = n * 1024;
		local.recv_size = (257 - n) * 1024;

		rpcrdma_cm_private_encode(buf, sizeof(buf), &local);
		rpcrdma_cm_private_decode(&peer, buf, sizeof(buf));

		KUNIT_EXPECT_TRUE(test, peer.present);
		KUNIT_EXPECT_EQ(test, peer.remote_inv, local.remote_inv);
		KUNIT_EXPECT_EQ(test, peer.send_size, local.send_size);
		KUNIT_EXPECT_EQ(test, peer.recv_size, local.recv_size);
	}
}

static void cm_combine(struct kunit *test)
{
	static const struct {
		struct rpcrdma_cm_private local, peer;
		struct rpcrdma_properties want;
	} cases[] = {
		{ { true, true, 4096, 4096 }, { true, true, 4096, 4096 },
		  { 4096, 4096, true } },
		{ { true, true, 4096, 8192 }, { true, false, 16384, 2048 },
		  { 2048, 8192, false } },
		{ { true, false, 1024, 65536 }, { true, true, 4096, 4096 },
		  { 1024, 4096, false } },
		{ { true, false, 4096, 4096 }, { true, false, 4096, 4096 },
		  { 4096, 4096, false } },
		/* the peer said nothing */
		{ { true, true, 4096, 4096 }, { false, false, 1024, 1024 },
		  { 1024, 1024, false } },
		/* ours count as the peer reads them */
		{ { true, true, 5000, 3071 }, { true, true, 262144, 262144 },
		  { 4096, 2048, true } },
		{ { true, true, U32_MAX, 1 }, { true, true, 262144, 262144 },
		  { 262144, 1024, true } },
	};
	struct rpcrdma_properties prop;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rpcrdma_cm_private_combine(&prop, &cases[i].local,
					   &cases[i].peer);

		KUNIT_EXPECT_EQ_MSG(test, prop.inline_send,
				    cases[i].want.inline_send, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, prop.inline_recv,
				    cases[i].want.inline_recv, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, prop.remote_inv,
				    cases[i].want.remote_inv, "case %u", i);
	}
}

/* Version two can count on 4096 octets, version one on what was agreed */
static void cm_threshold(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rpcrdma_threshold(1024, 1), 1024U);
	KUNIT_EXPECT_EQ(test, rpcrdma_threshold(8192, 1), 8192U);
	KUNIT_EXPECT_EQ(test, rpcrdma_threshold(1024, 2), 4096U);
	KUNIT_EXPECT_EQ(test, rpcrdma_threshold(4096, 2), 4096U);
	KUNIT_EXPECT_EQ(test, rpcrdma_threshold(5120, 2), 5120U);
}

static struct kunit_case cm_private_cases[] = {
	KUNIT_CASE(cm_encode),
	KUNIT_CASE(cm_encode_room),
	KUNIT_CASE_PARAM(cm_decode, find_gen_params),
	KUNIT_CASE(cm_decode_null),
	KUNIT_CASE(cm_round_trip),
	KUNIT_CASE(cm_combine),
	KUNIT_CASE(cm_threshold),
	{}
};

struct kunit_suite rpcrdma_cm_private_suite = {
	.name = "rpcrdma-cm-private",
	.test_cases = cm_private_cases,
};
