/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * For the suites that speak version two as well.
 */
#ifndef RPCRDMA_KUNIT_FRAMES_V2_H
#define RPCRDMA_KUNIT_FRAMES_V2_H

#include "frames.h"

/* rdma_opttype of remote invalidation: "INV", and RDMA_MSG or RDMA_NOMSG */
#define OPT_INV_MSG	0x494e5600U
#define OPT_INV_NOMSG	0x494e5601U

/* Of a header that is in order */
#ifdef CONFIG_RPCRDMA_V2
#define FAULT_V2	RPCRDMA_FAULT_NONE
#else
#define FAULT_V2	RPCRDMA_FAULT_VERSION
#endif

/* As frame_limits */
static const struct rpcrdma_limits frame_limits_v2 = {
	.vers_min	= RPCRDMA_V1,
	.vers_max	= RPCRDMA_V2,
	.max_read_segs	= 4,
	.max_write_segs	= 4,
	.max_write_chunks = 2,
	.max_message	= 4096,
};

#endif /* RPCRDMA_KUNIT_FRAMES_V2_H */
