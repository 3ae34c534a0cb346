// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which version of the protocol a connection speaks: the Requester's state
 * machine (draft-cel-nfsv4-rpcrdma-version-two-00, section 5), and its inline
 * thresholds (section 2.3). Pure.
 */
#include "rpcrdma/negotiate.h"

/**
 * rpcrdma_nego_init - a new transport: nothing is known of its server
 * @nego: negotiation
 *
 * Until rpcrdma_nego_begin() version one is spoken.
 *
 * Context: Any context.
 */
void rpcrdma_nego_init(struct rpcrdma_nego *nego)
{
	memset(nego, 0, sizeof(*nego));
	nego->state = RPCRDMA_NEGO_SETTLED;
	nego->vers = RPCRDMA_V1;
}

static void settle(struct rpcrdma_nego *nego, u32 vers)
{
	nego->state = RPCRDMA_NEGO_SETTLED;
	nego->vers = vers;
	if (vers == RPCRDMA_V1)
		nego->option = false;
}

static void remember_v1(struct rpcrdma_nego *nego, u64 now)
{
	nego->v1_known = true;
	nego->v1_since = now;
}

/**
 * rpcrdma_nego_begin - a connection begins
 * @nego: negotiation
 * @max: highest version that may be spoken
 * @now: the time
 * @memory: for how long a server is taken as one of version one
 * @patience: for how long an answer to the first message is waited for
 *
 * Context: Any context.
 */
void rpcrdma_nego_begin(struct rpcrdma_nego *nego, u32 max, u64 now,
			u64 memory, u64 patience)
{
	nego->patience = patience;
	if (now - nego->v1_since >= memory)
		nego->v1_known = false;
	if (max < RPCRDMA_V2 || nego->v1_known) {
		settle(nego, RPCRDMA_V1);
		return;
	}
	nego->state = RPCRDMA_NEGO_FIRST;
	nego->vers = RPCRDMA_V2;
	nego->option = true;
}

/**
 * rpcrdma_nego_sent - a Call was sent
 * @nego: negotiation
 * @now: the time
 *
 * Context: Any context.
 */
void rpcrdma_nego_sent(struct rpcrdma_nego *nego, u64 now)
{
	if (nego->state != RPCRDMA_NEGO_FIRST)
		return;
	nego->state = RPCRDMA_NEGO_WAITING;
	nego->sent_at = now;
}

/**
 * rpcrdma_nego_expired - is the first message lost?
 * @nego: negotiation
 * @now: the time
 *
 * If so, the connection is to be given up: rpcrdma_nego_lost() draws the
 * conclusion.
 *
 * Context: Any context.
 * Return: whether it was sent, nothing was heard, and the time is over.
 */
bool rpcrdma_nego_expired(const struct rpcrdma_nego *nego, u64 now)
{
	return nego->state == RPCRDMA_NEGO_WAITING &&
	       now - nego->sent_at >= nego->patience;
}

/* Version one is all that we can go back to */
static bool v1_in_range(const struct rpcrdma_hdr *hdr)
{
	return hdr->err_vers_low <= RPCRDMA_V1 &&
	       hdr->err_vers_high >= RPCRDMA_V1;
}

static void heard_error(struct rpcrdma_nego *nego,
			const struct rpcrdma_hdr *hdr, u64 now)
{
	bool range = hdr->errcode == RPCRDMA_ERR_VERS;

	if (range && !v1_in_range(hdr))
		return;
	/* Other errors have the version of what they refuse, if the server speaks that */
	if (range || hdr->vers == RPCRDMA_V1) {
		/* At once: the connection may be lost now (section 5.2) */
		remember_v1(nego, now);
		settle(nego, RPCRDMA_V1);
		return;
	}
	if (hdr->errcode == RPCRDMA_ERR_INVAL_OPTION)
		nego->option = false;
	nego->state = RPCRDMA_NEGO_HEARD;
}

/**
 * rpcrdma_nego_heard - a Reply or an RDMA_ERROR came
 * @nego: negotiation
 * @hdr: as rpcrdma_decode() left it; one at fault says nothing
 * @now: the time
 *
 * A Reply settles the version that it has: a server should answer in the
 * version of the Call, and one that does not is believed in what it does. What
 * is settled stays so until the connection ends.
 *
 * Context: Any context.
 */
void rpcrdma_nego_heard(struct rpcrdma_nego *nego,
			const struct rpcrdma_hdr *hdr, u64 now)
{
	if (hdr->fault || nego->state == RPCRDMA_NEGO_SETTLED)
		return;
	if (hdr->proc == RPCRDMA_ERROR)
		heard_error(nego, hdr, now);
	else
		settle(nego, hdr->vers);
}

/**
 * rpcrdma_nego_resend - is a Call to be sent again?
 * @nego: negotiation, which has heard @hdr
 * @hdr: what came for it
 * @sent: how it was sent
 *
 * Only after an error that it would not meet again, so that there is no loop.
 *
 * Context: Any context.
 * Return: true if @hdr refuses the version or the option of @sent, and the
 * next Call would go without it.
 */
bool rpcrdma_nego_resend(const struct rpcrdma_nego *nego,
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

/**
 * rpcrdma_nego_lost - the connection ended
 * @nego: negotiation
 * @now: the time
 *
 * With the first message out and nothing heard the next connection shall not
 * fare the same (section 5.2).
 *
 * Context: Any context.
 */
void rpcrdma_nego_lost(struct rpcrdma_nego *nego, u64 now)
{
	if (nego->state == RPCRDMA_NEGO_WAITING)
		remember_v1(nego, now);
	settle(nego, RPCRDMA_V1);
}

/**
 * rpcrdma_nego_refused - an attempt to connect was refused or timed out
 * @nego: negotiation
 *
 * The server is gone, and may be another when it comes back.
 *
 * Context: Any context.
 */
void rpcrdma_nego_refused(struct rpcrdma_nego *nego)
{
	nego->v1_known = false;
}

/**
 * rpcrdma_nego_form - how the next Call is written, if it has chunks
 * @nego: negotiation
 * @form: result; no handle is named
 *
 * Context: Any context.
 */
void rpcrdma_nego_form(const struct rpcrdma_nego *nego,
		       struct rpcrdma_form *form)
{
	form->vers = nego->vers;
	form->option = nego->option;
	form->direction = RPCRDMA_DIR_CALL;
	form->inv_handle = 0;
}

/**
 * rpcrdma_nego_plain_form - how the next Call is written, if it has no chunk
 * @nego: negotiation
 * @form: result
 *
 * There is no handle to invalidate, and the option has nothing to say, but to ask whether the
 * server knows it.
 *
 * Context: Any context.
 */
void rpcrdma_nego_plain_form(const struct rpcrdma_nego *nego,
			     struct rpcrdma_form *form)
{
	rpcrdma_nego_form(nego, form);
	if (nego->state == RPCRDMA_NEGO_SETTLED)
		form->option = false;
}

/**
 * rpcrdma_nego_invalidates - may the next Call name a handle to invalidate?
 * @nego: negotiation
 *
 * Not the first message: who does not know the option shall not have chosen.
 *
 * Context: Any context.
 * Return: whether it may.
 */
bool rpcrdma_nego_invalidates(const struct rpcrdma_nego *nego)
{
	return nego->option && nego->state == RPCRDMA_NEGO_SETTLED;
}

/**
 * rpcrdma_nego_thresholds - inline thresholds for the next Call
 * @nego: negotiation
 * @prop: result; remote invalidation is copied
 * @v1: as private data say
 *
 * Those of version one until version two is settled. The server may not speak
 * version two, so that a first message is one that everybody can receive
 * (section 5).
 *
 * Context: Any context.
 */
void rpcrdma_nego_thresholds(const struct rpcrdma_nego *nego,
			     struct rpcrdma_properties *prop,
			     const struct rpcrdma_properties *v1)
{
	*prop = *v1;
	if (nego->state == RPCRDMA_NEGO_SETTLED) {
		prop->inline_send = rpcrdma_threshold(v1->inline_send,
						      nego->vers);
		prop->inline_recv = rpcrdma_threshold(v1->inline_recv,
						      nego->vers);
	} else if (nego->state != RPCRDMA_NEGO_HEARD) {
		prop->inline_send = RPCRDMA_FIRST_MAX;
	}
}
