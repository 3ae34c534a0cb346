// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * KUnit suite of xprtrdma/negotiate.c: what happens, event by event.
 */
#include "suites.h"
#include "../xprtrdma/plan.h"

#define MEMORY		600000U
#define PATIENCE	10000U
#define ASKED		7U

enum event_kind {
	END,
	BEGIN,		/* a connection, version up to @vers */
	SENT,
	REPLY,		/* of version @vers */
	FAULTY,		/* a Reply of version @vers that cannot be read */
	ERR_VERS,	/* under version @vers, range @low to @high */
	BAD_HEADER,
	INVAL_OPTION,
	OTHER_REPLY,	/* the same with an XID that was not sent */
	OTHER_ERR_VERS,
	LOST,
	REFUSED,
};

/**
 * struct nego_event - what happens, and how things are after it
 * @kind: what
 * @now: the time
 * @vers: see enum event_kind
 * @low: of ERR_VERS
 * @high: of ERR_VERS
 * @state: afterwards
 * @next: version of the next Call
 * @option: by the option
 * @resend: a Call that went as the one before this event would is sent again
 */
struct nego_event {
	enum event_kind		kind;
	u64			now;
	u32			vers, low, high;
	enum xprt_rdma_nego_state	state;
	u32			next;
	bool			option;
	bool			resend;
};

/**
 * struct nego_case - the life of a transport
 * @name: of the case
 * @events: in order
 */
struct nego_case {
	const char		*name;
	struct nego_event	events[8];
};

static const struct nego_case nego_cases[] = {
	{ "version one only", {
		{ BEGIN, 0, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ REPLY, 2, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "version zero is no version", {
		{ BEGIN, 0, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "another maximum, no end in between", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ BEGIN, 1, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "more than we know", {
		{ BEGIN, 0, 3, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "a server of version two", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ REPLY, 2, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true },
		{ SENT, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true },
		{ LOST, 4, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 5, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "a server of version one", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ ERR_VERS, 2, 1, 1, 1, XPRT_RDMA_NEGO_SETTLED, 1, false, true },
		{ SENT, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ REPLY, 4, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ LOST, 5, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 6, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "ERR_VERS echoes the Call's version", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ ERR_VERS, 2, 2, 1, 1, XPRT_RDMA_NEGO_SETTLED, 1, false, true },
		} },
	{ "ERR_VERS of a third version, wide range", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ ERR_VERS, 2, 99, 0, 99, XPRT_RDMA_NEGO_SETTLED, 1, false,
		  true } } },
	{ "ERR_VERS without a version for us", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ ERR_VERS, 2, 1, 2, 2, XPRT_RDMA_NEGO_HEARD, 2, true },
		{ ERR_VERS, 3, 1, 0, 0, XPRT_RDMA_NEGO_HEARD, 2, true },
		{ ERR_VERS, 4, 1, 2, 0, XPRT_RDMA_NEGO_HEARD, 2, true },
		{ LOST, 5, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 6, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "answers with another XID", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ OTHER_REPLY, 2, 1, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ OTHER_ERR_VERS, 3, 2, 1, 1, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ REPLY, 4, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true } } },
	{ "lost right after ERR_VERS", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ ERR_VERS, 2, 2, 1, 1, XPRT_RDMA_NEGO_SETTLED, 1, false, true },
		{ LOST, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 4, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "lost after the first message", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ LOST, 2, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 3, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ SENT, 4, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "lost before it", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ LOST, 2, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 3, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "lost twice in a row is lost once", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ LOST, 2, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ REFUSED, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ LOST, 4, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 5, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "forgotten in time", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ LOST, 1000, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 1000 + MEMORY - 1, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ LOST, 1000 + MEMORY - 1, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 1000 + MEMORY, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		} },
	{ "forgotten when the server is gone", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ ERR_VERS, 2, 2, 1, 1, XPRT_RDMA_NEGO_SETTLED, 1, false, true },
		{ LOST, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ REFUSED, 4, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 5, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "a server without the option", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ INVAL_OPTION, 2, 2, 0, 0, XPRT_RDMA_NEGO_HEARD, 2, false,
		  true },
		{ SENT, 3, 0, 0, 0, XPRT_RDMA_NEGO_HEARD, 2 },
		{ REPLY, 4, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2 },
		{ LOST, 5, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 6, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "lost right after INVAL_OPTION", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ INVAL_OPTION, 2, 2, 0, 0, XPRT_RDMA_NEGO_HEARD, 2, false,
		  true },
		{ LOST, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 4, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "INVAL_OPTION, then ERR_VERS", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ INVAL_OPTION, 2, 2, 0, 0, XPRT_RDMA_NEGO_HEARD, 2, false,
		  true },
		{ ERR_VERS, 3, 2, 1, 1, XPRT_RDMA_NEGO_SETTLED, 1, false, true },
		} },
	{ "INVAL_OPTION for a Call without one", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ INVAL_OPTION, 2, 2, 0, 0, XPRT_RDMA_NEGO_HEARD, 2, false,
		  true },
		{ INVAL_OPTION, 3, 2, 0, 0, XPRT_RDMA_NEGO_HEARD, 2 } } },
	{ "BAD_HEADER for the first message", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ BAD_HEADER, 2, 2, 0, 0, XPRT_RDMA_NEGO_HEARD, 2, true },
		{ LOST, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 4, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true } } },
	{ "ERR_CHUNK of version one for the first message", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ BAD_HEADER, 2, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1, false, true },
		{ SENT, 2, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BAD_HEADER, 2, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ LOST, 3, 0, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ BEGIN, 4, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "a Reply of version one to a Call of version two", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ REPLY, 2, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 } } },
	{ "what is at fault says nothing", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ FAULTY, 2, 2, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true } } },
	{ "what is settled stays settled", {
		{ BEGIN, 0, 2, 0, 0, XPRT_RDMA_NEGO_FIRST, 2, true },
		{ SENT, 1, 0, 0, 0, XPRT_RDMA_NEGO_WAITING, 2, true },
		{ REPLY, 2, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true },
		{ ERR_VERS, 3, 2, 1, 1, XPRT_RDMA_NEGO_SETTLED, 2, true },
		{ INVAL_OPTION, 4, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true },
		{ BAD_HEADER, 5, 2, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true },
		{ REPLY, 6, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 2, true } } },
	{ "ERR_VERS in version one", {
		{ BEGIN, 0, 1, 0, 0, XPRT_RDMA_NEGO_SETTLED, 1 },
		{ ERR_VERS, 1, 1, 1, 1, XPRT_RDMA_NEGO_SETTLED, 1 } } },
};

static void nego_case_desc(const struct nego_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(nego, nego_cases, nego_case_desc);

/* What comes from the server, as the decoder leaves it */
static bool received(const struct nego_event *ev, struct rpcrdma_hdr *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->xid = ev->kind == OTHER_REPLY || ev->kind == OTHER_ERR_VERS ? ASKED + 1 : ASKED;
	hdr->vers = ev->vers;
	hdr->proc = RPCRDMA_ERROR;
	switch (ev->kind) {
	case REPLY:
	case OTHER_REPLY:
		hdr->proc = RPCRDMA_MSG;
		return true;
	case FAULTY:
		hdr->fault = RPCRDMA_FAULT_SHORT;
		hdr->errcode = RPCRDMA_ERR_INVAL_OPTION;
		return true;
	case ERR_VERS:
	case OTHER_ERR_VERS:
		hdr->errcode = RPCRDMA_ERR_VERS;
		hdr->err_vers_low = ev->low;
		hdr->err_vers_high = ev->high;
		return true;
	case BAD_HEADER:
		hdr->errcode = RPCRDMA_ERR_BAD_HEADER;
		return true;
	case INVAL_OPTION:
		hdr->errcode = RPCRDMA_ERR_INVAL_OPTION;
		return true;
	default:
		return false;
	}
}

static void happen(struct xprt_rdma_nego *nego, const struct nego_event *ev)
{
	switch (ev->kind) {
	case BEGIN:
		xprt_rdma_nego_begin(nego, ev->vers, ev->now, MEMORY, PATIENCE);
		break;
	case SENT:
		xprt_rdma_nego_sent(nego, ASKED, ev->now);
		break;
	case LOST:
		xprt_rdma_nego_lost(nego, ev->now);
		break;
	case REFUSED:
		xprt_rdma_nego_refused(nego);
		break;
	default:
		break;
	}
}

static void nego_events(struct kunit *test)
{
	const struct nego_case *c = test->param_value;
	const struct nego_event *ev;
	struct rpcrdma_form before, form, plain;
	struct xprt_rdma_nego nego;
	struct rpcrdma_hdr hdr;
	bool resend;

	xprt_rdma_nego_init(&nego);
	for (ev = c->events; ev->kind != END; ev++) {
		xprt_rdma_nego_form(&nego, &before);
		resend = false;
		if (received(ev, &hdr)) {
			xprt_rdma_nego_heard(&nego, &hdr, ev->now);
			resend = xprt_rdma_nego_resend(&nego, &hdr, &before);
		} else {
			happen(&nego, ev);
		}
		xprt_rdma_nego_form(&nego, &form);

		KUNIT_EXPECT_EQ_MSG(test, nego.state, ev->state, "event %d",
				    (int)(ev - c->events));
		KUNIT_EXPECT_EQ_MSG(test, form.vers, ev->next, "event %d",
				    (int)(ev - c->events));
		KUNIT_EXPECT_EQ_MSG(test, form.option, ev->option, "event %d",
				    (int)(ev - c->events));
		KUNIT_EXPECT_EQ_MSG(test, resend, ev->resend, "event %d",
				    (int)(ev - c->events));
		KUNIT_EXPECT_EQ(test, form.direction, RPCRDMA_DIR_CALL);
		KUNIT_EXPECT_EQ(test, form.inv_handle, 0U);
		/* Without chunks it is the same, but asks once */
		xprt_rdma_nego_plain_form(&nego, &plain);
		KUNIT_EXPECT_EQ(test, plain.vers, ev->next);
		KUNIT_EXPECT_EQ(test, plain.option,
				ev->option && ev->state != XPRT_RDMA_NEGO_SETTLED);
		KUNIT_EXPECT_EQ(test, plain.direction, RPCRDMA_DIR_CALL);
		KUNIT_EXPECT_EQ(test, plain.inv_handle, 0U);
	}
}

/* Whatever version it is under, as long as it can be read */
static void nego_no_common_version(struct kunit *test)
{
	static const struct {
		u32 fault, proc, errcode, low, high;
		bool none;
	} cases[] = {
		{ 0, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 1, 1, false },
		{ 0, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 0, 9, false },
		{ 0, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 2, 9, true },
		{ 0, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 0, 0, true },
		{ 0, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 2, 1, true },
		{ RPCRDMA_FAULT_SHORT, RPCRDMA_ERROR, RPCRDMA_ERR_VERS, 2, 2, false },
		{ 0, RPCRDMA_ERROR, RPCRDMA_ERR_CHUNK, 2, 2, false },
		{ 0, RPCRDMA_MSG, RPCRDMA_ERR_VERS, 2, 2, false },
	};
	struct rpcrdma_hdr hdr = { 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		hdr.fault = cases[i].fault;
		hdr.proc = cases[i].proc;
		hdr.errcode = cases[i].errcode;
		hdr.err_vers_low = cases[i].low;
		hdr.err_vers_high = cases[i].high;
		KUNIT_EXPECT_EQ_MSG(test, xprt_rdma_no_common_version(&hdr),
				    cases[i].none, "case %u", i);
	}
}

/* Of two Calls that were sent in version two both go again in version one */
static void nego_resend_second(struct kunit *test)
{
	const struct rpcrdma_hdr refused = {
		.vers = 2, .proc = RPCRDMA_ERROR, .errcode = RPCRDMA_ERR_VERS,
		.err_vers_low = 1, .err_vers_high = 1,
	};
	struct rpcrdma_hdr other = refused;
	struct rpcrdma_form first, again;
	struct xprt_rdma_nego nego;

	xprt_rdma_nego_init(&nego);
	xprt_rdma_nego_begin(&nego, 2, 0, MEMORY, PATIENCE);
	xprt_rdma_nego_form(&nego, &first);
	xprt_rdma_nego_sent(&nego, 0, 1);
	xprt_rdma_nego_heard(&nego, &refused, 2);
	KUNIT_EXPECT_TRUE(test, xprt_rdma_nego_resend(&nego, &refused, &first));
	xprt_rdma_nego_heard(&nego, &refused, 3);
	KUNIT_EXPECT_TRUE(test, xprt_rdma_nego_resend(&nego, &refused, &first));
	/* but not what went in version one, nor after anything else */
	xprt_rdma_nego_form(&nego, &again);
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_resend(&nego, &refused, &again));
	other.err_vers_low = 2;
	other.err_vers_high = 2;
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_resend(&nego, &other, &first));
	other = refused;
	other.proc = RPCRDMA_MSG;
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_resend(&nego, &other, &first));
	other = refused;
	other.fault = RPCRDMA_FAULT_SHORT;
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_resend(&nego, &other, &first));
}

static void nego_patience(struct kunit *test)
{
	const struct rpcrdma_hdr reply = { .vers = 2, .proc = RPCRDMA_MSG };
	struct xprt_rdma_nego nego;

	xprt_rdma_nego_init(&nego);
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_expired(&nego, 1ULL << 40));
	xprt_rdma_nego_begin(&nego, 2, 500, MEMORY, PATIENCE);
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_expired(&nego, 1ULL << 40));
	xprt_rdma_nego_sent(&nego, 0, 1000);
	/* a second one does not begin the wait anew */
	xprt_rdma_nego_sent(&nego, 0, 2000);
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_expired(&nego, 1000 + PATIENCE - 1));
	KUNIT_EXPECT_TRUE(test, xprt_rdma_nego_expired(&nego, 1000 + PATIENCE));
	xprt_rdma_nego_heard(&nego, &reply, 3000);
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_expired(&nego, 1ULL << 40));
}

/* A new transport speaks version one until a connection begins */
static void nego_new(struct kunit *test)
{
	struct xprt_rdma_nego nego;
	struct rpcrdma_form form;

	memset(&nego, 0xff, sizeof(nego));
	xprt_rdma_nego_init(&nego);
	xprt_rdma_nego_form(&nego, &form);
	KUNIT_EXPECT_EQ(test, nego.state, XPRT_RDMA_NEGO_SETTLED);
	KUNIT_EXPECT_EQ(test, form.vers, 1U);
	KUNIT_EXPECT_FALSE(test, form.option);
	KUNIT_EXPECT_FALSE(test, xprt_rdma_nego_invalidates(&nego));
	/* and remembers nothing: not even at the beginning of time */
	xprt_rdma_nego_begin(&nego, 2, 0, MEMORY, PATIENCE);
	KUNIT_EXPECT_EQ(test, nego.state, XPRT_RDMA_NEGO_FIRST);
}

static const struct {
	enum xprt_rdma_nego_state	state;
	u32			vers;
	bool			option;
	struct rpcrdma_properties v1, want;
	bool			invalidates;
} threshold_cases[] = {
	{ XPRT_RDMA_NEGO_SETTLED, 1, false, { 1024, 2048 }, { 1024, 2048 } },
	{ XPRT_RDMA_NEGO_SETTLED, 1, false, { 8192, 4096, true },
	  { 8192, 4096, true } },
	{ XPRT_RDMA_NEGO_FIRST, 2, true, { 1024, 2048 }, { 1024, 2048 } },
	{ XPRT_RDMA_NEGO_FIRST, 2, true, { 8192, 4096, true },
	  { 1024, 4096, true } },
	{ XPRT_RDMA_NEGO_WAITING, 2, true, { 8192, 4096 }, { 1024, 4096 } },
	{ XPRT_RDMA_NEGO_HEARD, 2, false, { 8192, 1024 }, { 8192, 1024 } },
	{ XPRT_RDMA_NEGO_HEARD, 2, true, { 2048, 1024 }, { 2048, 1024 } },
	{ XPRT_RDMA_NEGO_SETTLED, 2, true, { 1024, 2048 }, { 4096, 4096 }, true },
	{ XPRT_RDMA_NEGO_SETTLED, 2, false, { 4096, 8192, true },
	  { 4096, 8192, true } },
	{ XPRT_RDMA_NEGO_SETTLED, 2, true, { 8192, 4096 }, { 8192, 4096 }, true },
};

static void nego_thresholds(struct kunit *test)
{
	struct rpcrdma_properties prop;
	struct xprt_rdma_nego nego;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(threshold_cases); i++) {
		xprt_rdma_nego_init(&nego);
		nego.state = threshold_cases[i].state;
		nego.vers = threshold_cases[i].vers;
		nego.option = threshold_cases[i].option;

		xprt_rdma_nego_thresholds(&nego, &prop, &threshold_cases[i].v1);

		KUNIT_EXPECT_EQ_MSG(test, prop.inline_send,
				    threshold_cases[i].want.inline_send,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, prop.inline_recv,
				    threshold_cases[i].want.inline_recv,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, prop.remote_inv,
				    threshold_cases[i].want.remote_inv,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, xprt_rdma_nego_invalidates(&nego),
				    threshold_cases[i].invalidates, "case %u",
				    i);
	}
}

static struct kunit_case negotiate_test_cases[] = {
	KUNIT_CASE_PARAM(nego_events, nego_gen_params),
	KUNIT_CASE(nego_no_common_version),
	KUNIT_CASE(nego_resend_second),
	KUNIT_CASE(nego_patience),
	KUNIT_CASE(nego_new),
	KUNIT_CASE(nego_thresholds),
	{}
};

struct kunit_suite rpcrdma_negotiate_suite = {
	.name = "rpcrdma-negotiate",
	.test_cases = negotiate_test_cases,
};
