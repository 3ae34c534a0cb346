/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tables for the suite of common/queue_sizes.c: queue sizes.
 */
#ifndef RPCRDMA_KUNIT_PLAN_QUEUES_CASES_H
#define RPCRDMA_KUNIT_PLAN_QUEUES_CASES_H

#include "rpcrdma/queues.h"

/**
 * struct queue_case - a device, a wish and the queues to get
 * @name: of the case
 * @want: what the side would like
 * @dev: limits; those of real devices are close, not exact
 * @ret: expected
 * @sizes: expected when @ret is 0
 */
struct queue_case {
	const char			*name;
	struct rpcrdma_queue_want	want;
	struct rpcrdma_device_limits	dev;
	int				ret;
	struct rpcrdma_queue_sizes	sizes;
};

/* credits, bc_credits, recv_batch, payload_pages, rw_wrs, send_sge, use_frwr */
#define CLIENT	{ 128, 4, 32, 257, 0, 18, true }
#define SERVER	{ 64, 2, 16, 257, 9, 8, false }

static const struct queue_case queue_cases[] = {
	{ "mlx5, Requester", CLIENT,
	  { 32768, 4194303, 30, 32, 30, 65536, 16777216, 16, 16 },
	  0, { 128, 4, 99, 165, 164, 18, 257, 1 } },
	{ "mlx5, Responder", SERVER,
	  { 32768, 4194303, 30, 32, 30, 65536, 16777216, 16, 16 },
	  0, { 64, 2, 106, 83, 82, 8, 0, 0 } },
	{ "mlx4, Requester", CLIENT,
	  { 16351, 4194303, 32, 32, 32, 511, 524032, 16, 128 },
	  0, { 128, 4, 99, 165, 164, 18, 257, 1 } },
	{ "mlx4, Responder", SERVER,
	  { 16351, 4194303, 32, 32, 32, 511, 524032, 16, 128 },
	  0, { 64, 2, 106, 83, 82, 8, 0, 0 } },
	{ "cxgb4, Requester", CLIENT,
	  { 1023, 4095, 4, 4, 1, 128, 32768, 32, 32 },
	  0, { 128, 4, 131, 165, 164, 4, 128, 3 } },
	{ "cxgb4, Responder", SERVER,
	  { 1023, 4095, 4, 4, 1, 128, 32768, 32, 32 },
	  0, { 64, 2, 106, 83, 82, 4, 0, 0 } },
	{ "qedr, Requester", CLIENT,
	  { 32767, 16777215, 4, 4, 4, 65535, 131071, 32, 32 },
	  0, { 128, 4, 99, 165, 164, 4, 257, 1 } },
	{ "hfi1, Requester", CLIENT,
	  { 16384, 3145727, 96, 96, 96, 256, 1048576, 16, 255 },
	  0, { 128, 4, 115, 165, 164, 18, 256, 2 } },
	{ "rxe, Requester", CLIENT,
	  { 16384, 32767, 32, 32, 32, 512, 16384, 128, 128 },
	  0, { 128, 4, 99, 165, 164, 18, 257, 1 } },
	{ "rxe, Responder", SERVER,
	  { 16384, 32767, 32, 32, 32, 512, 16384, 128, 128 },
	  0, { 64, 2, 106, 83, 82, 8, 0, 0 } },
	{ "siw, Requester", CLIENT,
	  { 32768, 131072, 6, 6, 1, 256, 524288, 128, 128 },
	  0, { 128, 4, 115, 165, 164, 6, 256, 2 } },
	{ "siw, Responder", SERVER,
	  { 32768, 131072, 6, 6, 1, 256, 524288, 128, 128 },
	  0, { 64, 2, 106, 83, 82, 6, 0, 0 } },
	{ "irdma, Requester", CLIENT,
	  { 4096, 1048574, 13, 13, 13, 512, 4194303, 127, 127 },
	  0, { 128, 4, 99, 165, 164, 13, 257, 1 } },
	{ "queues just fit", CLIENT,
	  { 165, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 128, 4, 99, 165, 164, 16, 257, 1 } },
	{ "queues one short", CLIENT,
	  { 164, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 127, 4, 99, 164, 163, 16, 257, 1 } },
	{ "CQ one short", CLIENT,
	  { 32768, 164, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 127, 4, 99, 164, 163, 16, 257, 1 } },
	{ "room for the MRs of 8 Calls, exactly", CLIENT,
	  { 45, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 8, 4, 39, 45, 44, 16, 257, 1 } },
	{ "room for the MRs of 8 Calls, one short", CLIENT,
	  { 44, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 7, 4, 35, 44, 43, 16, 257, 1 } },
	{ "room for the MRs of 8 Calls, one more", CLIENT,
	  { 46, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 9, 4, 40, 46, 45, 16, 257, 1 } },
	{ "room for one credit", CLIENT,
	  { 10, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 4, 8, 10, 9, 16, 257, 1 } },
	{ "room for one credit, one reverse", CLIENT,
	  { 9, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 1, 6, 9, 8, 16, 257, 1 } },
	{ "room for one of each, exactly", CLIENT,
	  { 7, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 1, 6, 7, 6, 16, 257, 1 } },
	{ "no room for one of each", CLIENT,
	  { 6, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no reverse direction", { 128, 0, 32, 257, 0, 18, true },
	  { 6, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 0, 6, 6, 5, 16, 257, 1 } },
	{ "no reverse direction, one short", { 128, 0, 32, 257, 0, 18, true },
	  { 5, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no queue", CLIENT,
	  { 0, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "a queue for the drain only", CLIENT,
	  { 1, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no CQ", CLIENT,
	  { 32768, 0, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no batch", { 128, 4, 0, 257, 0, 18, true },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 128, 4, 99, 133, 132, 16, 257, 1 } },
	{ "Receives take what is left", { 64, 0, U32_MAX, 1, 0, 1, false },
	  { 100, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 64, 0, 33, 100, 99, 1, 0, 0 } },
	{ "more WRs for an RPC than count in 32 bits", { 8, 0, 0, 257, U32_MAX, 1, false },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no SGE", CLIENT,
	  { 32768, 65536, 0, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no Receive SGE", CLIENT,
	  { 32768, 65536, 16, 0, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "no SGE wanted is one", { 1, 0, 0, 1, 0, 0, false },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 0, 2, 2, 1, 1, 0, 0 } },
	{ "no fast registration", CLIENT,
	  { 32768, 65536, 16, 16, 16, 0, 65536, 16, 16 },
	  -EINVAL },
	{ "no fast registration, not needed", SERVER,
	  { 32768, 65536, 16, 16, 16, 0, 65536, 16, 16 },
	  0, { 64, 2, 106, 83, 82, 8, 0, 0 } },
	{ "payload of one MR exactly", { 8, 0, 0, 512, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 8, 0, 37, 9, 8, 1, 512, 1 } },
	{ "payload of one MR and a page", { 8, 0, 0, 513, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 8, 0, 53, 9, 8, 1, 512, 2 } },
	{ "MRs of one page", { 8, 0, 0, 257, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 1, 65536, 16, 16 },
	  -EINVAL },
	{ "MRs of two pages", { 8, 0, 0, 32, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 2, 65536, 16, 16 },
	  0, { 8, 0, 277, 9, 8, 1, 2, 16 } },
	{ "MRs of two pages, one page more", { 8, 0, 0, 33, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 2, 65536, 16, 16 },
	  -EINVAL },
	{ "sixteen MRs for a payload", CLIENT,
	  { 32768, 65536, 16, 16, 16, 17, 65536, 16, 16 },
	  0, { 128, 4, 339, 165, 164, 16, 17, 16 } },
	{ "seventeen MRs for a payload", CLIENT,
	  { 32768, 65536, 16, 16, 16, 16, 65536, 16, 16 },
	  -EINVAL },
	{ "no payload counts as a page", { 8, 0, 0, 0, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 8, 0, 37, 9, 8, 1, 2, 1 } },
	{ "few MRs", CLIENT,
	  { 32768, 65536, 16, 16, 16, 512, 100, 16, 16 },
	  0, { 100, 4, 85, 137, 136, 16, 257, 1 } },
	{ "fewer MRs than a payload takes", { 8, 0, 0, 1024, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 512, 1, 16, 16 },
	  -EINVAL },
	{ "MRs that wrap 32 bits", { 1, 0, 0, U32_MAX, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 2, U32_MAX, 16, 16 },
	  -EINVAL },
	{ "the smallest queue there is", { 1, 0, 0, 1, 0, 1, false },
	  { 2, 2, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 0, 2, 2, 1, 1, 0, 0 } },
	{ "two reverse credits, room for one", { 1, 2, 0, 1, 0, 1, false },
	  { 3, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  0, { 1, 1, 2, 3, 2, 1, 0, 0 } },
	{ "no credit wanted", { 0, 4, 0, 1, 0, 1, true },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "most of everything", { U32_MAX, U32_MAX, U32_MAX, U32_MAX,
	  U32_MAX, U32_MAX, true },
	  { 32768, 65536, 16, 16, 16, 512, 65536, 16, 16 },
	  -EINVAL },
	{ "most of everything, on the largest device", { U32_MAX, 16, U32_MAX, U32_MAX,
	  0, U32_MAX, true },
	  { U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX },
	  0, { U32_MAX - 49, 16, 2147483664, U32_MAX, U32_MAX - 1, U32_MAX, U32_MAX, 1 } },
};

/**
 * struct fewer_case - credits that could not be had, and what to try next
 * @name: of the case
 * @want: what was wanted
 * @tried: credits that were tried
 * @send_sge: SGEs of the device, for Send Queue WRs
 * @sge_rd: and for RDMA Reads
 * @ret: expected
 * @credits: expected in @want
 * @rw_wrs: expected in @want
 */
struct fewer_case {
	const char			*name;
	struct rpcrdma_queue_want	want;
	u32				tried;
	u32				send_sge;
	u32				sge_rd;
	bool				ret;
	u32				credits;
	u32				rw_wrs;
};

static const struct fewer_case fewer_cases[] = {
	{ "half", CLIENT, 128, 30, 30, true, 64, 0 },
	{ "half of what was tried", CLIENT, 100, 30, 30, true, 50, 0 },
	{ "half of an odd number", CLIENT, 101, 30, 30, true, 50, 0 },
	{ "the fewest", CLIENT, 8, 30, 30, true, 4, 0 },
	{ "none below the fewest", CLIENT, 7, 30, 30, false, 128, 0 },
	{ "none of none", CLIENT, 0, 30, 30, false, 128, 0 },
	{ "nothing changes where nothing is left", SERVER, 7, 1, 1, false, 64, 9 },
	{ "many SGEs: a chunk needs its WRs", { 64, 2, 16, 257, 9, 32, false },
	  64, 30, 30, true, 32, 3 },
	/* Twice 33, of 8 SGEs each */
	{ "few credits: a payload needs its WRs", SERVER, 8, 30, 30, true, 4, 17 },
	{ "one SGE for Reads", SERVER, 64, 30, 1, true, 32, 65 },
	{ "one SGE for Writes", SERVER, 64, 1, 30, true, 32, 65 },
	{ "no SGE counts as one", SERVER, 64, 0, 0, true, 32, 65 },
	/* The smallest payload: a chunk of sixteen segments */
	{ "few credits: a chunk needs its WRs", { 64, 2, 16, 2, 1, 8, false },
	  8, 30, 30, true, 4, 4 },
};

/**
 * struct rw_case - a payload, and the WRs for what moves it
 * @name: of the case
 * @pages: of the payload
 * @sges: of a WR
 * @credits: of the connection
 * @want: expected
 */
struct rw_case {
	const char	*name;
	u32		pages;
	u32		sges;
	u32		credits;
	u32		want;
};

static const struct rw_case rw_cases[] = {
	{ "two payloads of nine WRs", 257, 32, 64, 3 },
	{ "two payloads", 257, 8, 16, 9 },
	{ "SGEs that divide them", 256, 8, 16, 8 },
	{ "one SGE", 257, 1, 64, 65 },
	{ "two payloads for few credits", 257, 8, 4, 17 },
	{ "two payloads for one", 257, 32, 1, 18 },
	{ "no SGE counts as one", 257, 0, 32, 65 },
	/* 7, 8 and 9 WRs a payload: where two of them are more than a chunk takes */
	{ "as many as a chunk takes", 256, 32, 1, 16 },
	{ "one more", 257, 32, 1, 18 },
	{ "one less: a chunk of sixteen segments", 224, 32, 1, 16 },
	{ "four credits: a chunk of sixteen segments", 2, 32, 4, 4 },
	{ "five credits: a chunk, rounded up", 2, 32, 5, 4 },
	{ "a page", 1, 32, 64, 2 },
	{ "a page, 7 credits", 1, 32, 7, 3 },
	{ "a page, 8 credits", 1, 32, 8, 2 },
};

#endif /* RPCRDMA_KUNIT_PLAN_QUEUES_CASES_H */
