// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of common/wire_encode.c.
 */
#include "suites.h"
#include "rich_frame.h"

static const struct rpcrdma_form v1_form = { .vers = RPCRDMA_V1 };

static void expect_octets(struct kunit *test, const struct rpcrdma_enc *enc,
			  const u8 *want, u32 len)
{
	u32 i;

	KUNIT_EXPECT_FALSE(test, enc->overflow);
	KUNIT_ASSERT_EQ(test, enc->len, len);
	for (i = 0; i < len; i++)
		KUNIT_EXPECT_EQ_MSG(test, enc->buf[i], want[i], "octet %u", i);
}

static void encode_all(struct rpcrdma_enc *enc)
{
	static const struct rpcrdma_segment seg = {
		.handle = 0xa1a2a3a4,
		.length = 0xb1b2b3b4,
		.offset = 0xc1c2c3c4c5c6c7c8ULL,
	};

	rpcrdma_enc_begin(enc, XID, 0x01020304, RPCRDMA_NOMSG, &v1_form);
	rpcrdma_enc_read_segment(enc, 0x05060708, &seg);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_write_chunk(enc, 1);
	rpcrdma_enc_segment(enc, &seg);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_write_chunk(enc, 1);
	rpcrdma_enc_segment(enc, &seg);
}

static const u8 encoded_all[] = {
	/* fixed part */
	0x11, 0x22, 0x33, 0x44, 0, 0, 0, 1,
	0x01, 0x02, 0x03, 0x04, 0, 0, 0, 1,
	/* Read list */
	0, 0, 0, 1, 0x05, 0x06, 0x07, 0x08,
	0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4,
	0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
	0, 0, 0, 0,
	/* Write list */
	0, 0, 0, 1, 0, 0, 0, 1,
	0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4,
	0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
	0, 0, 0, 0,
	/* Reply chunk */
	0, 0, 0, 1, 0, 0, 0, 1,
	0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4,
	0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
};

static void wire_encode_lists(struct kunit *test)
{
	struct rpcrdma_enc enc;
	u8 buf[128];

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	encode_all(&enc);

	expect_octets(test, &enc, encoded_all, sizeof(encoded_all));
}

static void wire_encode_empty(struct kunit *test)
{
	static const u8 want[RPCRDMA_HDR_MIN] = {
		0x11, 0x22, 0x33, 0x44, 0, 0, 0, 1, 0, 0, 0, 32,
	};
	u8 buf[RPCRDMA_HDR_MIN];
	struct rpcrdma_enc enc;

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	rpcrdma_enc_begin(&enc, XID, 32, RPCRDMA_MSG, &v1_form);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);

	expect_octets(test, &enc, want, sizeof(want));

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	rpcrdma_enc_msg(&enc, XID, 32, &v1_form);
	expect_octets(test, &enc, want, sizeof(want));
}

static void wire_encode_errors(struct kunit *test)
{
	static const u8 vers[RPCRDMA_ERR_VERS_LEN] = {
		0x11, 0x22, 0x33, 0x44, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 4,
		0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2,
	};
	static const u8 chunk[RPCRDMA_ERR_CHUNK_LEN] = {
		0x11, 0x22, 0x33, 0x44, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 4,
		0, 0, 0, 2,
	};
	static const u8 option[RPCRDMA_ERR_CHUNK_LEN] = {
		0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 4,
		0, 0, 0, 3,
	};
	static const struct rpcrdma_limits lim = {
		.vers_min = 1, .vers_max = 2,
	};
	u8 buf[RPCRDMA_ERR_VERS_LEN];
	struct rpcrdma_enc enc;

	rpcrdma_enc_init(&enc, buf, sizeof(vers));
	rpcrdma_enc_error(&enc, XID, RPCRDMA_V1, 32, RPCRDMA_ERR_VERS, &lim);
	expect_octets(test, &enc, vers, sizeof(vers));

	rpcrdma_enc_init(&enc, buf, sizeof(chunk));
	rpcrdma_enc_error(&enc, XID, RPCRDMA_V1, 32, RPCRDMA_ERR_CHUNK, &lim);
	expect_octets(test, &enc, chunk, sizeof(chunk));

	rpcrdma_enc_init(&enc, buf, sizeof(option));
	rpcrdma_enc_error(&enc, XID, RPCRDMA_V2, 32, RPCRDMA_ERR_INVAL_OPTION,
			  &lim);
	expect_octets(test, &enc, option, sizeof(option));
}

#ifdef CONFIG_RPCRDMA_V2
static void encode_option(struct rpcrdma_enc *enc)
{
	static const struct rpcrdma_form form = {
		.vers = RPCRDMA_V2,
		.option = true,
		.direction = RPCRDMA_DIR_REPLY,
		.inv_handle = 0x01020304,
	};
	static const struct rpcrdma_segment seg = {
		.handle = 0xa1a2a3a4,
		.length = 0xb1b2b3b4,
		.offset = 0xc1c2c3c4c5c6c7c8ULL,
	};

	rpcrdma_enc_begin(enc, XID, 32, RPCRDMA_NOMSG, &form);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_write_chunk(enc, 1);
	rpcrdma_enc_segment(enc, &seg);
	rpcrdma_enc_end(enc);
}

static const u8 encoded_option[] = {
	/* fixed part, RDMA_OPTIONAL */
	0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 5,
	/* kind, length of the data, direction, handle */
	'I', 'N', 'V', 1, 0, 0, 0, 40, 0, 0, 0, 1, 1, 2, 3, 4,
	/* lists */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
	0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4,
	0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
};

static void wire_encode_option(struct kunit *test)
{
	struct rpcrdma_enc enc;
	u8 buf[128];

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	encode_option(&enc);

	expect_octets(test, &enc, encoded_option, sizeof(encoded_option));
}

static void wire_encode_option_empty(struct kunit *test)
{
	static const u8 want[RPCRDMA_HDR_MIN + RPCRDMA_INV_LEN] = {
		0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 5,
		'I', 'N', 'V', 0, 0, 0, 0, 20,
	};
	static const struct rpcrdma_form form = {
		.vers = RPCRDMA_V2,
		.option = true,
	};
	struct rpcrdma_enc enc;
	u8 buf[sizeof(want)];

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	rpcrdma_enc_begin(&enc, XID, 32, RPCRDMA_MSG, &form);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_end(&enc);

	expect_octets(test, &enc, want, sizeof(want));

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	rpcrdma_enc_msg(&enc, XID, 32, &form);
	expect_octets(test, &enc, want, sizeof(want));
}
#endif /* CONFIG_RPCRDMA_V2 */

/* Without the option there is neither length nor handle to write */
static void wire_encode_form(struct kunit *test)
{
	static const u8 want[RPCRDMA_HDR_MIN] = {
		0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 1,
	};
	static const struct rpcrdma_form form = {
		.vers = RPCRDMA_V2,
		.direction = RPCRDMA_DIR_REPLY,
		.inv_handle = 0x01020304,
	};
	static const struct rpcrdma_form option = { .option = true };
	u8 buf[RPCRDMA_HDR_MIN];
	struct rpcrdma_enc enc;

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	rpcrdma_enc_begin(&enc, XID, 32, RPCRDMA_NOMSG, &form);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_enc_end(&enc);

	expect_octets(test, &enc, want, sizeof(want));
	KUNIT_EXPECT_EQ(test, rpcrdma_form_len(&form), 28U);
	KUNIT_EXPECT_EQ(test, rpcrdma_form_len(&option), 44U);
}

/* As much of @whole as there was room for, but for one item, and nothing behind */
static void expect_overflow(struct kunit *test, const struct rpcrdma_enc *enc,
			    u32 max, const u8 *whole)
{
	KUNIT_EXPECT_TRUE(test, enc->overflow);
	KUNIT_EXPECT_LE(test, enc->len, max);
	KUNIT_EXPECT_LT(test, max - enc->len, RPCRDMA_FIXED_LEN);
	KUNIT_EXPECT_EQ(test, memcmp(enc->buf, whole, enc->len), 0);
}

#ifdef CONFIG_RPCRDMA_V2
static void wire_encode_option_overflow(struct kunit *test)
{
	u8 *buf, whole[sizeof(encoded_option)];
	struct rpcrdma_enc enc;
	u32 max;

	/* The length of the option's data is written last, if all has room */
	memcpy(whole, encoded_option, sizeof(whole));
	memset(whole + RPCRDMA_FIXED_LEN + RPCRDMA_WORD, 0, RPCRDMA_WORD);
	for (max = 0; max < sizeof(whole); max++) {
		buf = kunit_kmalloc(test, max, GFP_KERNEL);
		KUNIT_ASSERT_TRUE(test, buf);
		rpcrdma_enc_init(&enc, buf, max);

		encode_option(&enc);

		expect_overflow(test, &enc, max, whole);
	}
}
#endif /* CONFIG_RPCRDMA_V2 */

static void wire_form_of_reply(struct kunit *test)
{
	static const struct rpcrdma_hdr calls[] = {
		{ .vers = RPCRDMA_V1 },
		{ .vers = RPCRDMA_V2 },
		{ .vers = RPCRDMA_V2, .option = true, .inv_handle = 7 },
	};
	struct rpcrdma_form form;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		rpcrdma_form_of_reply(&form, &calls[i]);

		KUNIT_EXPECT_EQ(test, form.vers, calls[i].vers);
		KUNIT_EXPECT_EQ(test, form.option, calls[i].option);
		KUNIT_EXPECT_EQ(test, form.direction, RPCRDMA_DIR_REPLY);
		KUNIT_EXPECT_EQ(test, form.inv_handle, calls[i].inv_handle);
	}
}

/* Room one octet short, and every other shortage: sticky, nothing behind */
static void wire_encode_overflow(struct kunit *test)
{
	struct rpcrdma_enc enc;
	u32 max;
	u8 *buf;

	for (max = 0; max < sizeof(encoded_all); max++) {
		buf = kunit_kmalloc(test, max, GFP_KERNEL);
		KUNIT_ASSERT_TRUE(test, buf);
		rpcrdma_enc_init(&enc, buf, max);

		encode_all(&enc);

		expect_overflow(test, &enc, max, encoded_all);
	}
}

/* The end of a list alone finds no room, and nothing comes after it */
static void wire_encode_no_list_end(struct kunit *test)
{
	struct rpcrdma_enc enc;
	u8 buf[RPCRDMA_WORD];

	rpcrdma_enc_init(&enc, buf, sizeof(buf));
	rpcrdma_enc_list_end(&enc);
	KUNIT_EXPECT_FALSE(test, enc.overflow);
	rpcrdma_enc_list_end(&enc);
	KUNIT_EXPECT_TRUE(test, enc.overflow);
	KUNIT_EXPECT_EQ(test, enc.len, sizeof(buf));
}

/* What was decoded and given back in full is, octet for octet, what came */
static void wire_encode_decoded(struct kunit *test)
{
	u8 *buf = frame_octets(test, rich_frame, sizeof(rich_frame));
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	u8 copy[sizeof(rich_frame)];
	struct rpcrdma_chunk reply;
	struct rpcrdma_enc enc;
	struct rpcrdma_hdr hdr;

	rpcrdma_decode(&hdr, buf, sizeof(rich_frame), &frame_limits);
	rpcrdma_enc_init(&enc, copy, sizeof(copy));
	rpcrdma_enc_begin(&enc, hdr.xid, hdr.credits, hdr.proc, &v1_form);
	rpcrdma_read_iter_init(&reads, &hdr);
	while (rpcrdma_read_iter_next(&reads))
		rpcrdma_enc_read_segment(&enc, reads.position, &reads.seg);
	rpcrdma_enc_list_end(&enc);
	rpcrdma_write_iter_init(&writes, &hdr);
	while (rpcrdma_write_iter_next(&writes))
		rpcrdma_enc_chunk_return(&enc, &writes.chunk,
					 writes.chunk.bytes);
	rpcrdma_enc_list_end(&enc);
	KUNIT_ASSERT_TRUE(test, rpcrdma_hdr_reply_chunk(&hdr, &reply));
	rpcrdma_enc_chunk_return(&enc, &reply, reply.bytes);

	expect_octets(test, &enc, buf, RICH_BODY);
}

static void wire_chunk_return(struct kunit *test)
{
	static const struct {
		u64 written;
		u32 lengths[2];
		bool overflow;
	} cases[] = {
		{ 0, { 0, 0 } },
		{ 1, { 1, 0 } },
		{ 99, { 99, 0 } },
		{ 100, { 100, 0 } },
		{ 101, { 100, 1 } },
		{ 119, { 100, 19 } },
		{ 120, { 100, 20 } },
		{ 121, { 100, 20 }, true },
		{ 1ULL << 32, { 100, 20 }, true },
	};
	struct rpcrdma_write_iter it;
	struct rpcrdma_enc enc;
	struct rpcrdma_hdr hdr;
	__be32 words[10];
	u32 i;

	decode_rich(test, &hdr);
	rpcrdma_write_iter_init(&it, &hdr);
	KUNIT_ASSERT_TRUE(test, rpcrdma_write_iter_next(&it));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rpcrdma_enc_init(&enc, words, sizeof(words));

		rpcrdma_enc_chunk_return(&enc, &it.chunk, cases[i].written);

		KUNIT_EXPECT_EQ(test, enc.overflow, cases[i].overflow);
		if (cases[i].overflow)
			continue;
		KUNIT_EXPECT_EQ(test, enc.len, (u32)sizeof(words));
		KUNIT_EXPECT_EQ(test, be32_to_cpu(words[0]), 1U);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(words[1]), 2U);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(words[2]), 0xb1U);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(words[3]),
				cases[i].lengths[0]);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(words[7]),
				cases[i].lengths[1]);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(words[9]), 0x5000U);
	}
}

/* The longest chunk that a limit lets through */
static void wire_chunk_return_large(struct kunit *test)
{
	static const u32 frame[] = {
		XID, RPCRDMA_V1, 32, RPCRDMA_MSG, 0,
		1, 2, 0xb1, 0x80000000, 0, 0, 0xb2, 0x7fffffff, 0, 0,
		0, 0, XID, 0,
	};
	u8 *buf = frame_octets(test, frame, sizeof(frame));
	struct rpcrdma_limits lim = frame_limits;
	struct rpcrdma_write_iter it;
	struct rpcrdma_enc enc;
	struct rpcrdma_hdr hdr;
	__be32 words[10];

	lim.max_message = U32_MAX;
	KUNIT_ASSERT_EQ(test, rpcrdma_decode(&hdr, buf, sizeof(frame), &lim),
			RPCRDMA_FAULT_NONE);
	rpcrdma_write_iter_init(&it, &hdr);
	KUNIT_ASSERT_TRUE(test, rpcrdma_write_iter_next(&it));
	rpcrdma_enc_init(&enc, words, sizeof(words));

	rpcrdma_enc_chunk_return(&enc, &it.chunk, 0x80000001);

	KUNIT_EXPECT_FALSE(test, enc.overflow);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(words[3]), 0x80000000U);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(words[7]), 1U);
}

static struct kunit_case wire_enc_cases[] = {
	KUNIT_CASE(wire_encode_lists),
	KUNIT_CASE(wire_encode_empty),
	KUNIT_CASE(wire_encode_errors),
#ifdef CONFIG_RPCRDMA_V2
	KUNIT_CASE(wire_encode_option),
	KUNIT_CASE(wire_encode_option_empty),
#endif
	KUNIT_CASE(wire_encode_form),
#ifdef CONFIG_RPCRDMA_V2
	KUNIT_CASE(wire_encode_option_overflow),
#endif
	KUNIT_CASE(wire_form_of_reply),
	KUNIT_CASE(wire_encode_overflow),
	KUNIT_CASE(wire_encode_no_list_end),
	KUNIT_CASE(wire_encode_decoded),
	KUNIT_CASE(wire_chunk_return),
	KUNIT_CASE(wire_chunk_return_large),
	{}
};

struct kunit_suite rpcrdma_wire_enc_suite = {
	.name = "rpcrdma-wire-enc",
	.test_cases = wire_enc_cases,
};
