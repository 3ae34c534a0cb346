/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Words and segments as the wire has them: for the decoder, for what looks at
 * what it has checked, and for the encoder.
 */
#ifndef RPCRDMA_WIRE_GET_H
#define RPCRDMA_WIRE_GET_H

#include "wire.h"

/* msg_type of an RPC message, RFC 5531, section 9 */
#define AT_RPC_TYPE	4U
/* XID and type: Linux 6.1's server takes both without a look at the length */
#define RPC_MIN_LEN	(AT_RPC_TYPE + RPCRDMA_WORD)
/*
 * The shortest Call: up to credentials and verifier of no octets (RFC 5531, section 9).
 * sunrpc closes the connection on one that has fewer, or takes what is behind it in memory
 */
#define RPC_CALL_MIN_LEN (10 * RPCRDMA_WORD)
#define RPC_TYPE_CALL	0U
#define RPC_TYPE_REPLY	1U

static inline u32 get_u32(const u8 *p)
{
	__be32 v;

	memcpy(&v, p, sizeof(v));
	return be32_to_cpu(v);
}

static inline void put_u32(u8 *p, u32 value)
{
	const __be32 v = cpu_to_be32(value);

	memcpy(p, &v, sizeof(v));
}

static inline void get_segment(const u8 *p, struct rpcrdma_segment *seg)
{
	__be64 offset;

	memcpy(&offset, p + 8, sizeof(offset));
	seg->handle = get_u32(p);
	seg->length = get_u32(p + 4);
	seg->offset = be64_to_cpu(offset);
}

static inline void put_segment(u8 *p, const struct rpcrdma_segment *seg)
{
	const __be64 offset = cpu_to_be64(seg->offset);

	put_u32(p, seg->handle);
	put_u32(p + 4, seg->length);
	memcpy(p + 8, &offset, sizeof(offset));
}

/*
 * As msg_type of the inline RPC message says (RFC 5531, section 9); a header with a
 * fault in its chunk lists has none.
 */
static inline enum rpcrdma_direction
hdr_msg_direction(const struct rpcrdma_hdr *hdr)
{
	u32 type;

	if (hdr->body_len < AT_RPC_TYPE + RPCRDMA_WORD)
		return RPCRDMA_DIR_UNKNOWN;
	type = get_u32(hdr->buf + hdr->body + AT_RPC_TYPE);
	/* RPC_TYPE_CALL and RPC_TYPE_REPLY have the values of the direction */
	return type <= RPC_TYPE_REPLY ? type : RPCRDMA_DIR_UNKNOWN;
}

/* What rpcrdma_hdr_one_segment() does, for the pure files themselves */
static inline bool hdr_one_segment(const struct rpcrdma_hdr *hdr,
				   struct rpcrdma_segment *seg)
{
	if (!hdr->one)
		return false;
	get_segment(hdr->buf + hdr->one, seg);
	return true;
}

/* What rpcrdma_hdr_direction() says, for the pure files themselves */
static inline enum rpcrdma_direction
hdr_direction(const struct rpcrdma_hdr *hdr)
{
	return hdr->option ? hdr->direction : hdr_msg_direction(hdr);
}

/* wire_short.c, for its test */
bool hdr_decode_short(struct rpcrdma_hdr *hdr,
		      const struct rpcrdma_limits *lim);
/* wire.c, for wire_short.c */
enum rpcrdma_fault hdr_decode_long(struct rpcrdma_hdr *hdr,
				   const struct rpcrdma_limits *lim);

#endif /* RPCRDMA_WIRE_GET_H */
