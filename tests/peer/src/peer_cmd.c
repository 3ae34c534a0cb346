// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The statements: a function for each, and the table of all. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

/* Of Sends. Other operations count up from here */
#define COOKIE_SEND	0
/* There while a script waits for the suite: see "Held" in README.rst */
#define HELD		"/run/peer.held"

static uint8_t private[256] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 };
/* Small buffers: a script may connect thousands of times */
static struct vb_attr attr = {
	.recvs = 32, .recv_size = 4096, .repost = 1,
	.sends = 32, .send_size = 8192,
	.responder_resources = 16, .initiator_depth = 16,
	.retry = 6, .rnr_retry = 6,
	.priv = private, .priv_len = 8,
};

static uint8_t frame[FRAME_MAX];
static uint32_t last_cookie = COOKIE_SEND;

static const struct token *arg(const struct stmt *s, int i)
{
	if (i >= s->args.n)
		die_at(s->at, "%s needs more words", s->at->text);
	return &s->args.t[i];
}

static uint64_t number(const struct stmt *s, int i)
{
	return eval(arg(s, i), 0);
}

static uint64_t number_or(const struct stmt *s, int i, uint64_t otherwise)
{
	return i < s->args.n ? number(s, i) : otherwise;
}

/* ---- values ---- */

static void cmd_set(const struct stmt *s)
{
	var_set(arg(s, 0)->text, number(s, 1));
}

static void cmd_default(const struct stmt *s)
{
	uint64_t value;

	if (!var_get(arg(s, 0)->text, &value))
		cmd_set(s);
}

static void cmd_random(const struct stmt *s)
{
	uint64_t low = number(s, 1), high = number(s, 2);

	var_set(arg(s, 0)->text, low + random() % (high - low + 1));
}

/* ---- memory ---- */

static int access_words(const struct stmt *s)
{
	return (option(s, "remote-read", NULL) ? IBV_ACCESS_REMOTE_READ : 0) |
	       (option(s, "remote-write", NULL) ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (option(s, "windows", NULL) ? IBV_ACCESS_MW_BIND : 0);
}

/* A loop may use a name again: region_find() returns the newest */
static void cmd_region(const struct stmt *s)
{
	struct region *r = calloc(1, sizeof(*r));

	r->name = strdup(arg(s, 0)->text);
	r->len = number(s, 1);
	r->mr = vb_alloc(r->len, access_words(s));
	if (!r->mr)
		die_at(s->at, "%s", vb_why());
	r->rkey = r->mr->mr->rkey;
	region_add(r);
}

static void cmd_window(const struct stmt *s)
{
	const struct region *of = region_find(arg(s, 1));
	struct region *w = calloc(1, sizeof(*w));
	struct link *l = the_link(s);
	struct ibv_mw *mw;

	w->name = strdup(arg(s, 0)->text);
	w->mr = of->mr;
	w->offset = number(s, 2);
	w->len = number(s, 3);
	region_at(s->at, of, w->offset, w->len);
	mw = vb_window(l->conn, w->mr, w->offset, w->len, access_words(s), ++last_cookie);
	if (!mw)
		die_at(s->at, "%s", vb_why());
	wait_done(s, l, last_cookie);
	if (l->done_status != IBV_WC_SUCCESS)
		die_at(s->at, "bind: %s", ibv_wc_status_str(l->done_status));
	w->rkey = mw->rkey;
	region_add(w);
}

static void cmd_fill(const struct stmt *s)
{
	const struct region *r = region_find(arg(s, 0));
	int pattern = !strcmp(arg(s, 1)->text, "pattern");
	uint64_t value = number(s, 2), offset = number_or(s, 3, 0), i;
	uint64_t len = number_or(s, 4, r->len - offset);
	uint8_t *p = region_at(s->at, r, offset, len);

	for (i = 0; i < len; i++)
		p[i] = pattern ? pattern_at(i, value) : value;
}

static void cmd_put(const struct stmt *s)
{
	struct region *r = region_find(arg(s, 0));
	uint64_t offset = number(s, 1);

	r->used = frame_build(&s->items, region_at(s->at, r, offset, 0), r->len - offset);
}

static void cmd_compare(const struct stmt *s)
{
	const struct region *r = region_find(arg(s, 0));
	uint64_t offset = number(s, 1);
	const char *differs = frame_compare(&s->items, region_at(s->at, r, offset, 0),
					    r->len - offset);

	if (differs)
		die_at(s->at, "%s: %s", r->name, differs);
}

/*
 * A message before the change is a failure, unless it is one of N refusals in a
 * row. The script then tries again, so the count is kept until a change.
 */
static void cmd_wait_change(const struct stmt *s)
{
	const struct region *r = region_find(arg(s, 0));
	volatile uint8_t *p = region_at(s->at, r, number(s, 1), 1);
	int64_t end = vb_now_ms() + patience();
	uint8_t old = number(s, 2);
	struct link *l = the_link(s);
	static uint64_t refused;
	uint64_t refusals = 0;

	option(s, "refusals", &refusals);
	while (*p == old) {
		while (pump(l, 0))
			;
		if (*p == old && (l->first || l->down)) {
			if (refused++ < refusals)
				return;
			if (l->first)
				show_message(l->first);
			die_at(s->at, "%s does not change: %s", r->name,
			       l->first ? "a message came" : l->down);
		}
		if (vb_now_ms() >= end)
			die_at(s->at, "%s does not change", r->name);
		usleep(20);
	}
	refused = 0;
}

/* ---- parameters of the next connection ---- */

static void cmd_private(const struct stmt *s)
{
	attr.priv_len = frame_build(&s->items, private, sizeof(private) - 1);
}

static void cmd_receives(const struct stmt *s)
{
	uint64_t hold = 0;

	attr.recvs = number(s, 0);
	option(s, "hold", &hold);
	attr.hold = hold;
	attr.repost = !option(s, "once", NULL);
}

static void cmd_unestablished(const struct stmt *s)
{
	(void)s;
	attr.unestablished = 1;
}

#define ATTRIBUTE(member) \
static void cmd_##member(const struct stmt *s) { attr.member = number(s, 0); }

ATTRIBUTE(recv_size)
ATTRIBUTE(send_size)
ATTRIBUTE(sends)
ATTRIBUTE(responder_resources)
ATTRIBUTE(rnr_retry)
ATTRIBUTE(ack_timeout)

/* ---- connections ---- */

static const char *server(void)
{
	const char *addr = getenv("PEER_SERVER");

	return addr ? addr : "10.0.0.1";
}

static int port(void)
{
	uint64_t n = 20049;

	var_get("port", &n);
	return n;
}

static void cmd_connect(const struct stmt *s)
{
	struct vb_conn *c = vb_connect(server(), port(), &attr, patience());

	if (!c)
		die_at(s->at, "no connection: %s", vb_why());
	link_open(s, c);
}

static void cmd_connect_start(const struct stmt *s)
{
	struct vb_conn *c = vb_connect_start(server(), port(), &attr, patience());

	if (!c)
		die_at(s->at, "no Connect Request: %s", vb_why());
	link_open(s, c);
}

static void cmd_connect_finish(const struct stmt *s)
{
	if (vb_connect_finish(the_link(s)->conn, patience()))
		die_at(s->at, "no connection: %s", vb_why());
}

static void cmd_use(const struct stmt *s)
{
	link_use(s, arg(s, 0)->text);
}

static void cmd_expect_private(const struct stmt *s)
{
	struct vb_conn *c = the_link(s)->conn;
	const char *differs = frame_compare(&s->items, c->peer_priv, c->peer_priv_len);

	if (differs)
		die_at(s->at, "private data: %s", differs);
}

static void cmd_expect_initiator_depth(const struct stmt *s)
{
	struct vb_conn *c = the_link(s)->conn;

	if (c->peer_reads != number(s, 0))
		die_at(s->at, "the other side allows %u RDMA Reads", c->peer_reads);
}

static void cmd_post_receives(const struct stmt *s)
{
	if (vb_post_recvs(the_link(s)->conn, number(s, 0)))
		die_at(s->at, "%s", vb_why());
}

static void cmd_disconnect(const struct stmt *s)
{
	if (vb_disconnect(the_link(s)->conn))
		die_at(s->at, "%s", vb_why());
}

static void cmd_kill(const struct stmt *s)
{
	if (vb_kill(the_link(s)->conn))
		die_at(s->at, "%s", vb_why());
}

static void cmd_close(const struct stmt *s)
{
	link_close(the_link(s));
}

static void cmd_expect_disconnect(const struct stmt *s)
{
	struct link *l = the_link(s);
	/* The CM's event may follow the failed completion. It wakes no pump() */
	int told = option(s, "told", NULL), slice = told ? 20 : INT_MAX;
	uint64_t ms = patience();
	int64_t end, now;

	option(s, "within", &ms);
	end = vb_now_ms() + ms;
	while (!(l->down && (!told || l->conn->told)) && (now = vb_now_ms()) < end)
		pump(l, end - now < slice ? end - now : slice);
	if (!l->down)
		die_at(s->at, "still connected after %d ms", (int)ms);
	if (told && !l->conn->told)
		die_at(s->at, "down (%s), but the other side does not disconnect", l->down);
	if (option(s, "messages", NULL))
		drop_messages(l);
	no_message(s->at, l);
}

/* ---- messages ---- */

static void cmd_send(const struct stmt *s)
{
	uint32_t n = frame_build(&s->items, frame, sizeof(frame));
	struct link *l = the_link(s);
	uint64_t rkey = 0;
	int inv = option(s, "inv", &rkey);

	/* Completions free the buffers */
	while (pump(l, 0))
		;
	if (vb_send(l->conn, frame, n, inv, rkey, COOKIE_SEND))
		die_at(s->at, "cannot send: %s", vb_why());
}

static void cmd_wait_sent(const struct stmt *s)
{
	struct link *l = the_link(s);
	int64_t end = vb_now_ms() + patience();

	while (!l->down && vb_sending(l->conn) && vb_now_ms() < end)
		pump(l, end - vb_now_ms());
	if (l->down)
		die_at(s->at, "the connection is down (%s)", l->down);
	if (vb_sending(l->conn))
		die_at(s->at, "%d Sends do not complete", vb_sending(l->conn));
}

static void cmd_expect(const struct stmt *s)
{
	struct message *m = next_message(s, the_link(s));
	const char *differs = frame_compare(&s->items, m->data, m->len);
	uint64_t rkey;

	if (differs) {
		show_message(m);
		die_at(s->at, "%s", differs);
	}
	if (option(s, "plain", NULL) && m->invalidated)
		die_at(s->at, "it invalidates %08x", m->inv_rkey);
	if (option(s, "inv", &rkey) && (!m->invalidated || m->inv_rkey != rkey)) {
		show_message(m);
		die_at(s->at, "it does not invalidate %08x", (uint32_t)rkey);
	}
	free(m);
}

static void cmd_expect_nothing(const struct stmt *s)
{
	struct link *l = the_link(s);
	int64_t end = vb_now_ms() + number(s, 0);

	do {
		pump(l, end - vb_now_ms());
		no_message(s->at, l);
		if (l->down)
			die_at(s->at, "the connection is down (%s)", l->down);
	} while (vb_now_ms() < end);
}

/* ---- RDMA ---- */

static void rdma(const struct stmt *s, enum ibv_wr_opcode opcode)
{
	struct link *l = the_link(s);
	struct vb_mr *mr = region_find(arg(s, 0))->mr;
	const char *how = arg(s, 5)->text;

	if (vb_rdma(l->conn, opcode, mr, number(s, 1), number(s, 2), number(s, 3),
		    number(s, 4), ++last_cookie))
		die_at(s->at, "%s", vb_why());
	wait_done(s, l, last_cookie);
	if (!strcmp(how, "any"))
		return;
	if (strcmp(how, "done") ? !vb_is_refused(l->done_status) :
				  l->done_status != IBV_WC_SUCCESS)
		die_at(s->at, "completion status: %s", ibv_wc_status_str(l->done_status));
}

static void cmd_rdma_write(const struct stmt *s)
{
	rdma(s, IBV_WR_RDMA_WRITE);
}

static void cmd_rdma_write_imm(const struct stmt *s)
{
	rdma(s, IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* ---- time, repetition ---- */

static void cmd_delay_us(const struct stmt *s)
{
	usleep(number(s, 0));
}

static void cmd_hold(const struct stmt *s)
{
	int64_t end = vb_now_ms() + number_or(s, 0, 60000);
	struct link *l = the_link(s);
	int fd = open(HELD, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		die_at(s->at, "cannot create " HELD);
	close(fd);
	while (!access(HELD, F_OK)) {
		pump(l, 20);
		if (l->down)
			die_at(s->at, "the connection is down (%s)", l->down);
		if (vb_now_ms() >= end)
			die_at(s->at, "nobody removes " HELD);
	}
}

static void cmd_loop(const struct stmt *s)
{
	uint64_t n = number(s, 0), i;

	for (i = 0; i < n; i++) {
		var_set("i", i);
		run_statements(s->body);
	}
}

static void cmd_until(const struct stmt *s)
{
	const char *name = arg(s, 0)->text;
	int64_t end = vb_now_ms() + patience();
	uint64_t value;

	do {
		if (vb_now_ms() >= end)
			die_at(s->at, "%s does not get that value", name);
		run_statements(s->body);
	} while (!var_get(name, &value) || value != number(s, 1));
}

/* main() looks for it before the script runs */
static void cmd_processes(const struct stmt *s)
{
	(void)s;
}

const struct command commands[] = {
	{ "set", cmd_set, NO_BLOCK },
	{ "default", cmd_default, NO_BLOCK },
	{ "random", cmd_random, NO_BLOCK },
	{ "region", cmd_region, NO_BLOCK },
	{ "window", cmd_window, NO_BLOCK },
	{ "fill", cmd_fill, NO_BLOCK },
	{ "put", cmd_put, ITEMS },
	{ "compare", cmd_compare, ITEMS },
	{ "wait-change", cmd_wait_change, NO_BLOCK },
	{ "private", cmd_private, ITEMS },
	{ "receives", cmd_receives, NO_BLOCK },
	{ "receive-size", cmd_recv_size, NO_BLOCK },
	{ "send-size", cmd_send_size, NO_BLOCK },
	{ "sends", cmd_sends, NO_BLOCK },
	{ "read-depth", cmd_responder_resources, NO_BLOCK },
	{ "rnr-retry", cmd_rnr_retry, NO_BLOCK },
	{ "ack-timeout", cmd_ack_timeout, NO_BLOCK },
	{ "unestablished", cmd_unestablished, NO_BLOCK },
	{ "connect", cmd_connect, NO_BLOCK },
	{ "connect-start", cmd_connect_start, NO_BLOCK },
	{ "connect-finish", cmd_connect_finish, NO_BLOCK },
	{ "use", cmd_use, NO_BLOCK },
	{ "expect-private", cmd_expect_private, ITEMS },
	{ "expect-initiator-depth", cmd_expect_initiator_depth, NO_BLOCK },
	{ "post-receives", cmd_post_receives, NO_BLOCK },
	{ "disconnect", cmd_disconnect, NO_BLOCK },
	{ "kill", cmd_kill, NO_BLOCK },
	{ "close", cmd_close, NO_BLOCK },
	{ "expect-disconnect", cmd_expect_disconnect, NO_BLOCK },
	{ "send", cmd_send, ITEMS },
	{ "wait-sent", cmd_wait_sent, NO_BLOCK },
	{ "expect", cmd_expect, ITEMS },
	{ "expect-nothing", cmd_expect_nothing, NO_BLOCK },
	{ "rdma-write", cmd_rdma_write, NO_BLOCK },
	{ "rdma-write-imm", cmd_rdma_write_imm, NO_BLOCK },
	{ "delay-us", cmd_delay_us, NO_BLOCK },
	{ "hold", cmd_hold, NO_BLOCK },
	{ "loop", cmd_loop, STATEMENTS },
	{ "until", cmd_until, STATEMENTS },
	{ "processes", cmd_processes, NO_BLOCK },
	{ }
};

void run_statements(const struct stmt *s)
{
	for (; s; s = s->next)
		s->command->run(s);
}
