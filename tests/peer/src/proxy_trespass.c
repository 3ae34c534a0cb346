// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RDMA operations that the client's device must refuse. */
#include "proxy.h"

/* The chunks of this Call, an earlier one, or another connection's */
static const struct {
	enum chunks chunks;
	enum { THIS, LATE, ELSEWHERE } whose;
	bool read;
} kinds[] = {
	[TRESPASS_WRITE_LATE]	= { CHUNKS_WRITE, LATE, false },
	[TRESPASS_READ_LATE]	= { CHUNKS_READ, LATE, true },
	[TRESPASS_ZERO_LATE]	= { CHUNKS_ZERO, LATE, true },
	[TRESPASS_REPLY_LATE]	= { CHUNKS_REPLY, LATE, false },
	[TRESPASS_WRITE_KEY]	= { CHUNKS_WRITE, THIS, false },
	[TRESPASS_READ_WRITE]	= { CHUNKS_WRITE, THIS, true },
	[TRESPASS_WRITE_READ]	= { CHUNKS_READ, THIS, false },
	[TRESPASS_PAST_END]	= { CHUNKS_WRITE, THIS, false },
	[TRESPASS_WRITE_ELSEWHERE] = { CHUNKS_WRITE, ELSEWHERE, false },
	[TRESPASS_READ_ELSEWHERE] = { CHUNKS_READ, ELSEWHERE, true },
};

static struct rpcrdma_segment elsewhere(const struct call *call, enum chunks chunks)
{
	struct rpcrdma_segment seg = { 0 };

	for (struct call *other = calls; other && !seg.length; other = other->next)
		if (other->conn && other->conn != call->conn && !other->conn->dead)
			seg = call_segment(other, chunks);
	return seg;
}

static struct rpcrdma_segment target(const struct call *call)
{
	enum chunks chunks = kinds[call->dev.trespass].chunks;
	struct rpcrdma_segment seg;

	switch (kinds[call->dev.trespass].whose) {
	case LATE:
		return call->conn->old[chunks];
	case ELSEWHERE:
		return elsewhere(call, chunks);
	default:
		seg = call_segment(call, chunks);
	}
	if (call->dev.trespass == TRESPASS_WRITE_KEY)
		seg.handle = (seg.handle & ~0xffU) | ((seg.handle - 1) & 0xff);
	if (call->dev.trespass == TRESPASS_PAST_END)
		seg.offset += seg.length;
	return seg;
}

/* Elsewhere once, if another connection has a Call. The connection ends */
bool trespass(struct call *call)
{
	static const uint8_t data[64] = { [0 ... 63] = 0xee };
	enum trespass kind = call->dev.trespass;
	struct rpcrdma_segment seg;
	enum ibv_wc_status status;
	uint8_t stolen[64];

	if (!kind)
		return false;
	seg = target(call);
	if (kinds[kind].whose == ELSEWHERE &&
	    (report.refused || report.trespassed || !seg.length))
		return false;
	if (!seg.length)
		errx(1, "nothing to trespass upon in a %s", proc_name(call->proc));
	seg.length = sizeof(data);
	if (kinds[kind].read)
		status = conn_read(call->conn, &seg, stolen);
	else
		status = conn_write(call->conn, &seg, data, sizeof(data));
	say("trespass with rkey 0x%08x: %s", seg.handle, ibv_wc_status_str(status));
	report.trespassed += status == IBV_WC_SUCCESS;
	return true;
}
