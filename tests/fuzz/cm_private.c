// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fuzz target: CM private data. The decoder agrees with a search written the
 * obvious way, and what it found encodes to the octets it was found in.
 */
#include "fuzz.h"
#include "rpcrdma/wire.h"

static const u8 *search(const u8 *data, size_t size)
{
	static const u8 begin[] = { 0xf6, 0xab, 0x0e, 0x18, 1 };
	size_t at;

	for (at = 0; at + RPCRDMA_CMP_LEN <= size; at++)
		if (!memcmp(data + at, begin, sizeof(begin)))
			return data + at;
	return NULL;
}

static bool in_range(u32 threshold)
{
	return threshold >= RPCRDMA_INLINE_MIN &&
	       threshold <= RPCRDMA_INLINE_MAX &&
	       threshold % RPCRDMA_INLINE_UNIT == 0;
}

static void check_combine(const struct rpcrdma_cm_private *peer,
			  const u8 *data, size_t size)
{
	struct draw draw = { data, size };
	struct rpcrdma_cm_private local;
	struct rpcrdma_properties prop;

	local.remote_inv = draw_u8(&draw) & 1;
	local.send_size = draw_u32(&draw);
	local.recv_size = draw_u32(&draw);
	rpcrdma_cm_private_combine(&prop, &local, peer);
	PROPERTY(in_range(prop.inline_send) && in_range(prop.inline_recv));
	PROPERTY(prop.inline_send <= peer->recv_size);
	PROPERTY(prop.inline_recv <= peer->send_size);
	PROPERTY(prop.inline_send <= max(local.send_size, RPCRDMA_INLINE_MIN));
	PROPERTY(prop.inline_recv <= max(local.recv_size, RPCRDMA_INLINE_MIN));
	PROPERTY(prop.remote_inv == (local.remote_inv && peer->remote_inv));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const u8 *found = search(data, size);
	struct rpcrdma_cm_private peer;
	u8 again[RPCRDMA_CMP_LEN];

	rpcrdma_cm_private_decode(&peer, data, size);
	PROPERTY(peer.present == !!found);
	PROPERTY(in_range(peer.send_size) && in_range(peer.recv_size));
	if (found) {
		PROPERTY(rpcrdma_cm_private_encode(again, sizeof(again),
						   &peer) == sizeof(again));
		PROPERTY(!memcmp(again, found, 5));
		PROPERTY(again[5] == (found[5] & 1));
		PROPERTY(again[6] == found[6] && again[7] == found[7]);
	} else {
		PROPERTY(!peer.remote_inv && peer.send_size == 1024 &&
			 peer.recv_size == 1024);
	}
	check_combine(&peer, data, size);
	return 0;
}
