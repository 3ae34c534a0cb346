/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the fuzz targets share: properties that abort, and numbers drawn from
 * the input.
 */
#ifndef RPCRDMA_FUZZ_H
#define RPCRDMA_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "rpcrdma/wire_os.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* A property of the code under test: false is a finding */
#define PROPERTY(cond)							\
	do {								\
		if (cond)						\
			break;						\
		fprintf(stderr, "%s:%d: property does not hold: %s\n",	\
			__FILE__, __LINE__, #cond);			\
		abort();						\
	} while (0)

/* The input as a source of numbers; zeroes when it is used up */
struct draw {
	const u8 *p;
	size_t left;
};

static inline void draw_octets(struct draw *draw, void *to, size_t len)
{
	size_t n = min(len, draw->left);

	memset(to, 0, len);
	if (n)
		memcpy(to, draw->p, n);
	draw->p += n;
	draw->left -= n;
}

static inline u8 draw_u8(struct draw *draw)
{
	u8 v;

	draw_octets(draw, &v, sizeof(v));
	return v;
}

static inline u32 draw_u32(struct draw *draw)
{
	u32 v;

	draw_octets(draw, &v, sizeof(v));
	return v;
}

#endif /* RPCRDMA_FUZZ_H */
