// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RPC-over-RDMA version 1 CM Private Data (RFC 8797): encode, find, decode,
 * and combine those of both sides. Pure.
 */
#include "rpcrdma/wire.h"

/* Where the fields of the message stand, RFC 8797, section 4 */
#define CMP_AT_MAGIC	0
#define CMP_AT_VERSION	4
#define CMP_AT_FLAGS	5
#define CMP_AT_SEND	6
#define CMP_AT_RECV	7

#define CMP_FLAG_R	0x01

static u32 clamp_size(u32 bytes)
{
	bytes = clamp_t(u32, bytes, RPCRDMA_INLINE_MIN, RPCRDMA_INLINE_MAX);
	return bytes - bytes % RPCRDMA_INLINE_UNIT;
}

/**
 * rpcrdma_cm_private_encode - write the message of RFC 8797
 * @buf: buffer
 * @size: bytes of @buf
 * @local: our properties; @present is ignored
 *
 * Sizes round down to a multiple of 1024 bytes, so that we never promise more
 * than we have, and stay within what the format can express.
 *
 * Return: bytes written, or 0 if the message does not fit.
 */
u32 rpcrdma_cm_private_encode(void *buf, u32 size,
			      const struct rpcrdma_cm_private *local)
{
	u8 *p = buf;

	if (size < RPCRDMA_CMP_LEN)
		return 0;
	put_u32(p + CMP_AT_MAGIC, RPCRDMA_CMP_MAGIC);
	p[CMP_AT_VERSION] = RPCRDMA_CMP_VERSION;
	p[CMP_AT_FLAGS] = local->remote_inv ? CMP_FLAG_R : 0;
	p[CMP_AT_SEND] = clamp_size(local->send_size) / RPCRDMA_INLINE_UNIT - 1;
	p[CMP_AT_RECV] = clamp_size(local->recv_size) / RPCRDMA_INLINE_UNIT - 1;
	return RPCRDMA_CMP_LEN;
}

/**
 * rpcrdma_cm_private_decode - find and read the peer's message
 * @peer: result
 * @buf: private data as the CM delivered them; may be NULL if @len is 0
 * @len: bytes of @buf, the CM's zero padding included
 *
 * Other software puts data there too, of any length, so the Format Identifier
 * may stand at any offset (RFC 8797, section 5.2). One with a version other than
 * 1 or fewer than eight bytes left is a coincidence or a later format: the
 * search goes on behind it. If there is no message the defaults hold: 1024
 * bytes each way, no remote invalidation (section 5.1).
 */
void rpcrdma_cm_private_decode(struct rpcrdma_cm_private *peer,
			       const void *buf, u32 len)
{
	const u8 *p = buf;

	memset(peer, 0, sizeof(*peer));
	peer->send_size = RPCRDMA_INLINE_MIN;
	peer->recv_size = RPCRDMA_INLINE_MIN;

	for (; len >= RPCRDMA_CMP_LEN; p++, len--) {
		if (get_u32(p + CMP_AT_MAGIC) != RPCRDMA_CMP_MAGIC ||
		    p[CMP_AT_VERSION] != RPCRDMA_CMP_VERSION)
			continue;
		peer->present = true;
		peer->remote_inv = p[CMP_AT_FLAGS] & CMP_FLAG_R;
		peer->send_size = (p[CMP_AT_SEND] + 1) * RPCRDMA_INLINE_UNIT;
		peer->recv_size = (p[CMP_AT_RECV] + 1) * RPCRDMA_INLINE_UNIT;
		return;
	}
}

/**
 * rpcrdma_cm_private_combine - the properties of this connection
 * @prop: result
 * @local: our properties, as given to rpcrdma_cm_private_encode()
 * @peer: the peer's, from rpcrdma_cm_private_decode()
 *
 * Each direction takes the smaller size of its sender and its receiver (RFC
 * 8797, section 4.2). Our own sizes count as the peer read them, rounded down.
 * Remote invalidation needs R of both sides (section 4.1).
 */
void rpcrdma_cm_private_combine(struct rpcrdma_properties *prop,
				const struct rpcrdma_cm_private *local,
				const struct rpcrdma_cm_private *peer)
{
	prop->inline_send = min(clamp_size(local->send_size),
				clamp_size(peer->recv_size));
	prop->inline_recv = min(clamp_size(local->recv_size),
				clamp_size(peer->send_size));
	prop->remote_inv = local->remote_inv && peer->remote_inv;
}
