/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The seam between the pure files and the world they are built in: types,
 * byte order, error numbers. In the kernel it is the kernel's own headers; in
 * user space (unit tests, fuzzers) it supplies the same names from libc.
 */
#ifndef RPCRDMA_WIRE_OS_H
#define RPCRDMA_WIRE_OS_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/stddef.h>
#include <asm/byteorder.h>

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <endian.h>
/* __be32, __be64: <infiniband/verbs.h> brings the same */
#include <linux/types.h>

#ifndef RPCRDMA_WITHOUT_V2
#define CONFIG_RPCRDMA_V2	1
#endif

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define cpu_to_be32(x)	htobe32(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#define min(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
			   _a < _b ? _a : _b; })
#define max(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); \
			   _a > _b ? _a : _b; })
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#endif /* __KERNEL__ */

/**
 * rpcrdma_xdr_roundup - length of an opaque XDR item with its padding
 * @len: bytes of data
 *
 * RFC 4506, section 4.9. 64 bits, so that a length the peer chose cannot wrap.
 *
 * Return: @len rounded up to a multiple of four.
 */
static inline u64 rpcrdma_xdr_roundup(u64 len)
{
	return (len + 3) & ~(u64)3;
}

/**
 * rpcrdma_div_up - divide, and round up
 * @n: any number
 * @by: at least one
 *
 * Unlike with the kernel's DIV_ROUND_UP(), nothing wraps.
 *
 * Return: the least that, multiplied by @by, gives @n or more.
 */
static inline u32 rpcrdma_div_up(u32 n, u32 by)
{
	return n / by + !!(n % by);
}

#endif /* RPCRDMA_WIRE_OS_H */
