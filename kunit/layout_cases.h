/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tables for the suite of svcrdma/layout.c: extents of messages.
 */
#ifndef RPCRDMA_KUNIT_LAYOUT_CASES_H
#define RPCRDMA_KUNIT_LAYOUT_CASES_H

#include "frames.h"
#include "../svcrdma/layout.h"

/**
 * struct tile_case - a frame and the extents of its message
 * @name: of the case
 * @len: octets of @frame
 * @frame: words in host order
 * @extents: how many
 * @want: the extents
 */
struct tile_case {
	const char		*name;
	u32			len;
	u32			frame[FRAME_WORDS];
	u32			extents;
	struct rpcrdma_extent	want[8];
};

static const struct tile_case tile_cases[] = {
	{ "inline only", 44,
	  { XID, 1, 32, RPCRDMA_MSG,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  1, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 16, 28, {} }, } },
	{ "inline only, odd length", 41,
	  { XID, 1, 32, RPCRDMA_MSG,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  1, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 13, 28, {} }, } },
	{ "chunk in the middle", 68,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 8, 0xa1, 100, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  3, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 52, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 100, 0, { 0xa1, 100, 0x1000 } },
	    { RPCRDMA_EXTENT_INLINE, false, 108, 8, 60, {} }, } },
	{ "chunk at the end", 68,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 16, 0xa1, 100, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  2, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 16, 52, {} },
	    { RPCRDMA_EXTENT_READ, true, 16, 100, 0, { 0xa1, 100, 0x1000 } }, } },
	{ "chunk with a pad of 3", 68,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 8, 0xa1, 97, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  4, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 52, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 97, 0, { 0xa1, 97, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 105, 3, 0, {} },
	    { RPCRDMA_EXTENT_INLINE, false, 108, 8, 60, {} }, } },
	{ "chunk with a pad of 1, at the end", 68,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 16, 0xa1, 3, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  3, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 16, 52, {} },
	    { RPCRDMA_EXTENT_READ, true, 16, 3, 0, { 0xa1, 3, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 19, 1, 0, {} }, } },
	{ "chunk of two segments, pad after the second", 92,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 8, 0xa1, 5, 0, 0x1000,
	    1, 8, 0xa2, 6, 0, 0x2000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  5, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 76, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 5, 0, { 0xa1, 5, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, true, 13, 6, 0, { 0xa2, 6, 0x2000 } },
	    { RPCRDMA_EXTENT_PAD, false, 19, 1, 0, {} },
	    { RPCRDMA_EXTENT_INLINE, false, 20, 8, 84, {} }, } },
	{ "empty segments first, between and last", 116,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 8, 0xa1, 0, 0, 0x1000,
	    1, 8, 0xa2, 5, 0, 0x1000,
	    1, 8, 0xa3, 0, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  4, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 100, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 5, 0, { 0xa2, 5, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 13, 3, 0, {} },
	    { RPCRDMA_EXTENT_INLINE, false, 16, 8, 108, {} }, } },
	{ "two chunks, octets between", 92,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 8, 0xa1, 5, 0, 0x1000,
	    1, 20, 0xa2, 4, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  6, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 76, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 5, 0, { 0xa1, 5, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 13, 3, 0, {} },
	    { RPCRDMA_EXTENT_INLINE, false, 16, 4, 84, {} },
	    { RPCRDMA_EXTENT_READ, true, 20, 4, 0, { 0xa2, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_INLINE, false, 24, 4, 88, {} }, } },
	{ "two chunks, adjacent", 92,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 8, 0xa1, 5, 0, 0x1000,
	    1, 16, 0xa2, 4, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  5, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 76, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 5, 0, { 0xa1, 5, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 13, 3, 0, {} },
	    { RPCRDMA_EXTENT_READ, true, 16, 4, 0, { 0xa2, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_INLINE, false, 20, 8, 84, {} }, } },
	{ "two chunks, the last first", 92,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 20, 0xa2, 4, 0, 0x1000,
	    1, 8, 0xa1, 5, 0, 0x1000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  6, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 76, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 5, 0, { 0xa1, 5, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 13, 3, 0, {} },
	    { RPCRDMA_EXTENT_INLINE, false, 16, 4, 84, {} },
	    { RPCRDMA_EXTENT_READ, true, 20, 4, 0, { 0xa2, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_INLINE, false, 24, 4, 88, {} }, } },
	{ "two chunks, segments in turn", 140,
	  { XID, 1, 32, RPCRDMA_MSG,
	    1, 16, 0xb1, 4, 0, 0x1000,
	    1, 8, 0xa1, 3, 0, 0x1000,
	    1, 16, 0xb2, 4, 0, 0x2000,
	    1, 8, 0xa2, 4, 0, 0x2000,
	    0, 0, 0,
	    XID, 0, 3, 4 },
	  7, {
	    { RPCRDMA_EXTENT_INLINE, false, 0, 8, 124, {} },
	    { RPCRDMA_EXTENT_READ, true, 8, 3, 0, { 0xa1, 3, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, true, 11, 4, 0, { 0xa2, 4, 0x2000 } },
	    { RPCRDMA_EXTENT_PAD, false, 15, 1, 0, {} },
	    { RPCRDMA_EXTENT_READ, true, 16, 4, 0, { 0xb1, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, true, 20, 4, 0, { 0xb2, 4, 0x2000 } },
	    { RPCRDMA_EXTENT_INLINE, false, 24, 8, 132, {} }, } },
	{ "Position Zero behind a chunk and around one", 124,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 64, 0xb1, 4, 0, 0x1000,
	    1, 0, 0xa1, 30, 0, 0x1000,
	    1, 40, 0xb2, 4, 0, 0x2000,
	    1, 0, 0xa2, 70, 0, 0x3000,
	    0, 0, 0 },
	  6, {
	    { RPCRDMA_EXTENT_READ, false, 0, 30, 0, { 0xa1, 30, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, false, 30, 10, 0, { 0xa2, 10, 0x3000 } },
	    { RPCRDMA_EXTENT_READ, true, 40, 4, 0, { 0xb2, 4, 0x2000 } },
	    { RPCRDMA_EXTENT_READ, false, 44, 20, 0, { 0xa2, 20, 0x300a } },
	    { RPCRDMA_EXTENT_READ, true, 64, 4, 0, { 0xb1, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, false, 68, 40, 0, { 0xa2, 40, 0x301e } }, } },
	{ "Position Zero", 52,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 0, 0xa1, 101, 0, 0x1000,
	    0, 0, 0 },
	  1, {
	    { RPCRDMA_EXTENT_READ, false, 0, 101, 0, { 0xa1, 101, 0x1000 } }, } },
	{ "Position Zero, two segments, an empty one", 100,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 0, 0xa1, 3, 0, 0x1000,
	    1, 0, 0xa2, 0, 0, 0x1000,
	    1, 0, 0xa3, 98, 0, 0x1000,
	    0, 0, 0 },
	  2, {
	    { RPCRDMA_EXTENT_READ, false, 0, 3, 0, { 0xa1, 3, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, false, 3, 98, 0, { 0xa3, 98, 0x1000 } }, } },
	{ "Position Zero split by a chunk", 76,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 0, 0xa1, 100, 0, 0x1000,
	    1, 40, 0xa2, 5, 0, 0x2000,
	    0, 0, 0 },
	  4, {
	    { RPCRDMA_EXTENT_READ, false, 0, 40, 0, { 0xa1, 40, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, true, 40, 5, 0, { 0xa2, 5, 0x2000 } },
	    { RPCRDMA_EXTENT_PAD, false, 45, 3, 0, {} },
	    { RPCRDMA_EXTENT_READ, false, 48, 60, 0, { 0xa1, 60, 0x1028 } }, } },
	{ "Position Zero, chunk between its segments", 100,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 0, 0xa1, 40, 0, 0x1000,
	    1, 0, 0xa3, 60, 0, 0x3000,
	    1, 40, 0xa2, 4, 0, 0x1000,
	    0, 0, 0 },
	  3, {
	    { RPCRDMA_EXTENT_READ, false, 0, 40, 0, { 0xa1, 40, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, true, 40, 4, 0, { 0xa2, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, false, 44, 60, 0, { 0xa3, 60, 0x3000 } }, } },
	{ "Position Zero, chunk within its second segment", 100,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 0, 0xa1, 30, 0, 0x1000,
	    1, 0, 0xa3, 70, 0, 0x3000,
	    1, 40, 0xa2, 4, 0, 0x1000,
	    0, 0, 0 },
	  4, {
	    { RPCRDMA_EXTENT_READ, false, 0, 30, 0, { 0xa1, 30, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, false, 30, 10, 0, { 0xa3, 10, 0x3000 } },
	    { RPCRDMA_EXTENT_READ, true, 40, 4, 0, { 0xa2, 4, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, false, 44, 60, 0, { 0xa3, 60, 0x300a } }, } },
	{ "Position Zero, chunk at the end", 76,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    1, 0, 0xa1, 100, 0, 0x1000,
	    1, 100, 0xa2, 2, 0, 0x1000,
	    0, 0, 0 },
	  3, {
	    { RPCRDMA_EXTENT_READ, false, 0, 100, 0, { 0xa1, 100, 0x1000 } },
	    { RPCRDMA_EXTENT_READ, true, 100, 2, 0, { 0xa2, 2, 0x1000 } },
	    { RPCRDMA_EXTENT_PAD, false, 102, 2, 0, {} }, } },
	{ "no message, a Reply", 48,
	  { XID, 1, 32, RPCRDMA_NOMSG,
	    0, 0,
	    1, 1, 0xb1, 8, 0, 0 },
	  0, { } },
};

#endif /* RPCRDMA_KUNIT_LAYOUT_CASES_H */
