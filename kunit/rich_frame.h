/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A frame with everything in it.
 */
#ifndef RPCRDMA_KUNIT_RICH_FRAME_H
#define RPCRDMA_KUNIT_RICH_FRAME_H

#include "frames.h"

/* Every list, two chunks in two of them, segments and octets unalike */
static const u32 rich_frame[] = {
	XID, RPCRDMA_V1, 32, RPCRDMA_MSG,
	1, 8, 0xa1, 6, 0x1, 0x1000,
	1, 8, 0xa2, 1, 0x2, 0x2000,
	1, 16, 0xa3, 3, 0x3, 0x3000,
	0,
	1, 2, 0xb1, 100, 0x4, 0x4000, 0xb2, 20, 0x5, 0x5000,
	1, 1, 0xb3, 7, 0x6, 0x6000,
	0,
	1, 1, 0xc1, 90, 0x7, 0x7000,
	XID, 0,
};

#define RICH_BODY	(sizeof(rich_frame) - 8)

static inline void decode_rich(struct kunit *test, struct rpcrdma_hdr *hdr)
{
	u8 *buf = frame_octets(test, rich_frame, sizeof(rich_frame));

	KUNIT_ASSERT_EQ(test,
			rpcrdma_decode(hdr, buf, sizeof(rich_frame),
				       &frame_limits), RPCRDMA_FAULT_NONE);
}

#endif /* RPCRDMA_KUNIT_RICH_FRAME_H */
