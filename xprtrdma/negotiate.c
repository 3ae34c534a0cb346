// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which version of the protocol a connection speaks: the Requester's state
 * machine (draft-cel-nfsv4-rpcrdma-version-two-00, section 5), and its inline
 * thresholds (section 2.3). Pure: time is a parameter.
 */
#include "plan.h"

/* A new transport speaks version 1 until xprt_rdma_nego_begin() */
void xprt_rdma_nego_init(struct xprt_rdma_nego *nego)
{
	memset(nego, 0, sizeof(*nego));
	nego->state = XPRT_RDMA_NEGO_SETTLED;
	nego->vers = RPCRDMA_V1;
}

static void settle(struct xprt_rdma_nego *nego, u32 vers)
{
	nego->state = XPRT_RDMA_NEGO_SETTLED;
	nego->vers = vers;
	if (vers == RPCRDMA_V1)
		nego->option = false;
}

static void remember_v1(struct xprt_rdma_nego *nego, u64 now)
{
	nego->v1_known = true;
	nego->v1_since = now;
}

/*
 * A connection begins, which may speak versions up to @max. A server that spoke
 * version 1 is not asked again for @memory; an answer to the first message may
 * take @patience.
 */
void xprt_rdma_nego_begin(struct xprt_rdma_nego *nego, u32 max, u64 now,
			  u64 memory, u64 patience)
{
	nego->patience = patience;
	if (now - nego->v1_since >= memory)
		nego->v1_known = false;
	if (max < RPCRDMA_V2 || nego->v1_known) {
		settle(nego, RPCRDMA_V1);
		return;
	}
	nego->state = XPRT_RDMA_NEGO_FIRST;
	nego->vers = RPCRDMA_V2;
	nego->option = true;
}

/* A Call was sent. There is one credit, so no other is out until the version is settled */
void xprt_rdma_nego_sent(struct xprt_rdma_nego *nego, u32 xid, u64 now)
{
	nego->xid = xid;
	if (nego->state != XPRT_RDMA_NEGO_FIRST)
		return;
	nego->state = XPRT_RDMA_NEGO_WAITING;
	nego->sent_at = now;
}

/*
 * Was the first message sent, and the time for an answer is over? Then the
 * connection is to be closed, and xprt_rdma_nego_lost() draws the conclusion.
 */
bool xprt_rdma_nego_expired(const struct xprt_rdma_nego *nego, u64 now)
{
	return nego->state == XPRT_RDMA_NEGO_WAITING &&
	       now - nego->sent_at >= nego->patience;
}

/* Version 1 is all that we can go back to */
static bool v1_in_range(const struct rpcrdma_hdr *hdr)
{
	return hdr->err_vers_low <= RPCRDMA_V1 &&
	       hdr->err_vers_high >= RPCRDMA_V1;
}

/* A version is rejected, and the server does not speak the one that is left */
bool xprt_rdma_no_common_version(const struct rpcrdma_hdr *hdr)
{
	return !hdr->fault && hdr->proc == RPCRDMA_ERROR &&
	       hdr->errcode == RPCRDMA_ERR_VERS && !v1_in_range(hdr);
}

static void heard_error(struct xprt_rdma_nego *nego,
			const struct rpcrdma_hdr *hdr, u64 now)
{
	bool range = hdr->errcode == RPCRDMA_ERR_VERS && v1_in_range(hdr);

	/* Other errors have the version of the Call, if the server speaks it */
	if (range || (hdr->vers == RPCRDMA_V1 && hdr->errcode != RPCRDMA_ERR_VERS)) {
		/* At once: the connection may be lost now (section 5.2) */
		remember_v1(nego, now);
		settle(nego, RPCRDMA_V1);
		return;
	}
	if (hdr->errcode == RPCRDMA_ERR_INVAL_OPTION)
		nego->option = false;
	nego->state = XPRT_RDMA_NEGO_HEARD;
}

/*
 * A Reply or an RDMA_ERROR came. A malformed one says nothing, nor does one with
 * another XID than the Call has (sections 5.1 and 5.2). A Reply settles its
 * version: a server should answer in the version of the Call, and one that does
 * not shows which version it speaks. The version is then settled until the
 * connection ends.
 */
void xprt_rdma_nego_heard(struct xprt_rdma_nego *nego,
			  const struct rpcrdma_hdr *hdr, u64 now)
{
	if (hdr->fault || hdr->xid != nego->xid ||
	    nego->state == XPRT_RDMA_NEGO_SETTLED)
		return;
	if (hdr->proc == RPCRDMA_ERROR)
		heard_error(nego, hdr, now);
	else
		settle(nego, hdr->vers);
}

/*
 * Is a Call that went as @sent to be sent again? Yes if @hdr rejects its version
 * or option, and the next Call would go without it, so that there is no loop.
 */
bool xprt_rdma_nego_resend(const struct xprt_rdma_nego *nego,
			   const struct rpcrdma_hdr *hdr,
			   const struct rpcrdma_form *sent)
{
	if (hdr->fault || hdr->proc != RPCRDMA_ERROR)
		return false;
	switch (hdr->errcode) {
	case RPCRDMA_ERR_VERS:
		return nego->vers < sent->vers && v1_in_range(hdr);
	case RPCRDMA_ERR_INVAL_OPTION:
		return sent->option && !nego->option;
	default:
		return hdr->vers == RPCRDMA_V1 && nego->vers < sent->vers;
	}
}

/*
 * The connection ended. If the first message got no answer the next connection
 * speaks version 1 (section 5.2).
 */
void xprt_rdma_nego_lost(struct xprt_rdma_nego *nego, u64 now)
{
	if (nego->state == XPRT_RDMA_NEGO_WAITING)
		remember_v1(nego, now);
	settle(nego, RPCRDMA_V1);
}

/*
 * An attempt to connect was refused or timed out: the server is gone, and may be
 * another when it comes back.
 */
void xprt_rdma_nego_refused(struct xprt_rdma_nego *nego)
{
	nego->v1_known = false;
}

/* How the next Call is written if it has chunks; no handle is named */
void xprt_rdma_nego_form(const struct xprt_rdma_nego *nego,
			 struct rpcrdma_form *form)
{
	form->vers = nego->vers;
	form->option = nego->option;
	form->direction = RPCRDMA_DIR_CALL;
	form->inv_handle = 0;
}

/*
 * How the next Call is written if it has no chunk. There is no handle to
 * invalidate, so the option only asks whether the server knows it.
 */
void xprt_rdma_nego_plain_form(const struct xprt_rdma_nego *nego,
			       struct rpcrdma_form *form)
{
	xprt_rdma_nego_form(nego, form);
	if (nego->state == XPRT_RDMA_NEGO_SETTLED)
		form->option = false;
}

/*
 * May the next Call name a handle to invalidate? Not the first message: a server
 * that does not know the option must not act on it.
 */
bool xprt_rdma_nego_invalidates(const struct xprt_rdma_nego *nego)
{
	return nego->option && nego->state == XPRT_RDMA_NEGO_SETTLED;
}

/*
 * Inline thresholds for the next Call, from those of the private data: version
 * 1's until version 2 is settled. The server may not speak version 2, so every
 * receiver must be able to take a first message (section 5).
 */
void xprt_rdma_nego_thresholds(const struct xprt_rdma_nego *nego,
			       struct rpcrdma_properties *prop,
			       const struct rpcrdma_properties *v1)
{
	*prop = *v1;
	if (nego->state == XPRT_RDMA_NEGO_SETTLED) {
		prop->inline_send = rpcrdma_threshold(v1->inline_send,
						      nego->vers);
		prop->inline_recv = rpcrdma_threshold(v1->inline_recv,
						      nego->vers);
	} else if (nego->state != XPRT_RDMA_NEGO_HEARD) {
		prop->inline_send = XPRT_RDMA_FIRST_MAX;
	}
}
