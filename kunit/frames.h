/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Received frames as data: words in host order, and how many octets of them
 * arrive. The suites turn them into wire order.
 */
#ifndef RPCRDMA_KUNIT_FRAMES_H
#define RPCRDMA_KUNIT_FRAMES_H

#include <kunit/test.h>
#include "rpcrdma/wire.h"

#define FRAME_WORDS	64
#define XID		0x11223344U

/**
 * struct decode_case - a frame and its verdict
 * @name: of the case
 * @fault: expected
 * @len: octets that arrive of @frame
 * @frame: words in host order
 * @view: what an accepted frame says, as far as not zero; the fixed part and
 *	the offsets of the lists are not compared, save that of a Reply chunk
 *	without segments
 */
struct decode_case {
	const char		*name;
	enum rpcrdma_fault	fault;
	u32			len;
	u32			frame[FRAME_WORDS];
	struct rpcrdma_hdr	view;
};

/* Small, so that every limit can be reached by a frame in a table */
static const struct rpcrdma_limits frame_limits = {
	.vers_min	= RPCRDMA_V1,
	.vers_max	= RPCRDMA_V1,
	.max_read_segs	= 4,
	.max_write_segs	= 4,
	.max_write_chunks = 2,
	.max_message	= 4096,
};

/*
 * A copy in wire order of exactly @len octets, so that KASAN or ASan sees any
 * look behind it. The test frees it.
 */
static inline u8 *frame_octets(struct kunit *test, const u32 *words, u32 len)
{
	u8 *buf = kunit_kmalloc(test, len, GFP_KERNEL);
	__be32 word;
	u32 at;

	KUNIT_ASSERT_TRUE(test, buf);
	for (at = 0; at < len; at += sizeof(word)) {
		word = cpu_to_be32(words[at / sizeof(word)]);
		memcpy(buf + at, &word, min_t(u32, sizeof(word), len - at));
	}
	return buf;
}

#endif /* RPCRDMA_KUNIT_FRAMES_H */
