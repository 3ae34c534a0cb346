// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Statements about connections and messages. A connection has a name; one is
 * the current one, which statements without a name are about.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "peer_exec.h"

#define COOKIE_SEND	0

static struct link *links;
static struct link *current;
static uint8_t private[256] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 };
/* Small: a script may connect thousands of times */
static struct vb_attr attr = {
	.recvs = 32, .recv_size = 4096, .repost = 1,
	.sends = 32, .send_size = 8192,
	.responder_resources = 16, .initiator_depth = 16,
	.retry = 6, .rnr_retry = 6,
	.priv = private, .priv_len = 8,
};

static struct vb_listener *listener;
static uint8_t frame[FRAME_MAX];
static uint32_t next_cookie = COOKIE_SEND + 1;

/* ---- connections ---- */

static struct link *find_link(const char *name)
{
	struct link *l;

	for (l = links; l; l = l->next)
		if (!strcmp(l->name, name))
			return l;
	return NULL;
}

static struct link *named_link(const struct stmt *s)
{
	const char *name = s->args.n ? s->args.t[0].text : "main";
	struct link *l = find_link(name);

	if (!l) {
		l = calloc(1, sizeof(*l));
		l->name = strdup(name);
		l->next = links;
		links = l;
	}
	return l;
}

struct link *the_link(const struct stmt *s)
{
	if (!current || !current->conn)
		die_at(s->at, "there is no connection");
	return current;
}

static void drop_messages(struct link *l)
{
	struct message *m;

	while ((m = l->first)) {
		l->first = m->next;
		free(m);
	}
	l->last = &l->first;
}

static void open_link(struct link *l, struct vb_conn *conn)
{
	if (l->conn)
		vb_free(l->conn);
	drop_messages(l);
	l->conn = conn;
	l->down = NULL;
	current = l;
}

static void take_message(struct link *l, const struct vb_event *ev)
{
	struct message *m = malloc(sizeof(*m) + ev->len);

	m->next = NULL;
	m->len = ev->len;
	m->invalidated = ev->invalidated;
	m->inv_rkey = ev->inv_rkey;
	memcpy(m->data, ev->data, ev->len);
	*l->last = m;
	l->last = &m->next;
	vb_recv_done(l->conn, ev);
}

/* One event within @ms; 0: there was none */
int pump(struct link *l, int ms)
{
	struct vb_event ev;

	if (!vb_next(l->conn, ms, &ev))
		return 0;
	switch (ev.type) {
	case VB_RECV:
		take_message(l, &ev);
		break;
	case VB_DONE:
		l->done_cookie = ev.cookie;
		l->done_status = ev.status;
		break;
	case VB_UP:
		l->up = 1;
		break;
	case VB_DOWN:
		l->down = ev.why;
		break;
	}
	return 1;
}

int patience(void)
{
	uint64_t ms = 20000;

	var_get("patience", &ms);
	return ms;
}

/* Of a word among the arguments, the value behind it */
int option(const struct stmt *s, const char *word, uint64_t *value)
{
	int i;

	for (i = 0; i < s->args.n; i++) {
		if (strcmp(s->args.t[i].text, word))
			continue;
		if (value && i + 1 >= s->args.n)
			die_at(s->at, "%s what?", word);
		if (value)
			*value = eval(&s->args.t[i + 1], 0);
		return 1;
	}
	return 0;
}

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

void cmd_connect(const struct stmt *s)
{
	struct link *l = named_link(s);
	struct vb_conn *c = vb_connect(server(), port(), &attr, patience());

	if (!c)
		die_at(s->at, "no connection: %s", vb_why());
	open_link(l, c);
}

void cmd_connect_refused(const struct stmt *s)
{
	struct vb_conn *c = vb_connect(server(), port(), &attr, patience());

	if (c)
		die_at(s->at, "connected, of all things");
	if (s->args.n && !strstr(vb_why(), s->args.t[0].text + 1))
		die_at(s->at, "failed, but: %s", vb_why());
}

void cmd_connect_start(const struct stmt *s)
{
	struct link *l = named_link(s);
	struct vb_conn *c = vb_connect_start(server(), port(), &attr, patience());

	if (!c)
		die_at(s->at, "no Connect Request: %s", vb_why());
	open_link(l, c);
}

void cmd_connect_finish(const struct stmt *s)
{
	if (vb_connect_finish(the_link(s)->conn, patience()))
		die_at(s->at, "no connection: %s", vb_why());
}

void cmd_listen(const struct stmt *s)
{
	uint64_t n = port();

	if (s->args.n)
		n = eval(&s->args.t[0], 0);
	listener = vb_listen("0.0.0.0", n);
	if (!listener)
		die_at(s->at, "cannot listen: %s", vb_why());
}

static struct vb_conn *next_request(const struct stmt *s)
{
	struct vb_conn *c;

	if (!listener)
		die_at(s->at, "nobody listens");
	c = vb_next_request(listener, patience());
	if (!c)
		die_at(s->at, "no Connect Request: %s", vb_why());
	return c;
}

void cmd_accept(const struct stmt *s)
{
	struct link *l = named_link(s);
	struct vb_conn *c = next_request(s);

	open_link(l, c);
	if (vb_accept(c, &attr))
		die_at(s->at, "cannot accept: %s", vb_why());
}

void cmd_reject(const struct stmt *s)
{
	struct vb_conn *c = next_request(s);
	uint32_t n = frame_build(&s->items, frame, 148);

	if (vb_reject(c, frame, n))
		die_at(s->at, "cannot refuse: %s", vb_why());
	vb_free(c);
}

void cmd_use(const struct stmt *s)
{
	current = s->args.n ? find_link(s->args.t[0].text) : NULL;
	the_link(s);
}

void cmd_kill(const struct stmt *s)
{
	if (vb_kill(the_link(s)->conn))
		die_at(s->at, "%s", vb_why());
}

void cmd_disconnect(const struct stmt *s)
{
	if (vb_disconnect(the_link(s)->conn))
		die_at(s->at, "%s", vb_why());
}

void cmd_close(const struct stmt *s)
{
	struct link *l = the_link(s);

	vb_free(l->conn);
	l->conn = NULL;
	drop_messages(l);
}

/* ---- what the next connection is made with ---- */

void cmd_private(const struct stmt *s)
{
	attr.priv_len = frame_build(&s->items, private, sizeof(private) - 1);
	attr.priv = private;
}

void cmd_receives(const struct stmt *s)
{
	uint64_t hold = 0;

	attr.recvs = eval(&s->args.t[0], 0);
	option(s, "hold", &hold);
	attr.hold = hold;
	attr.repost = !option(s, "once", NULL);
}

void cmd_receive_size(const struct stmt *s)
{
	attr.recv_size = eval(&s->args.t[0], 0);
}

void cmd_send_size(const struct stmt *s)
{
	attr.send_size = eval(&s->args.t[0], 0);
}

void cmd_sends(const struct stmt *s)
{
	attr.sends = eval(&s->args.t[0], 0);
}

void cmd_read_depth(const struct stmt *s)
{
	attr.responder_resources = eval(&s->args.t[0], 0);
}

void cmd_rnr_retry(const struct stmt *s)
{
	attr.rnr_retry = eval(&s->args.t[0], 0);
}

void cmd_unestablished(const struct stmt *s)
{
	(void)s;
	attr.unestablished = 1;
}

void cmd_ack_timeout(const struct stmt *s)
{
	attr.ack_timeout = eval(&s->args.t[0], 0);
}

void cmd_post_receives(const struct stmt *s)
{
	if (vb_post_recvs(the_link(s)->conn, eval(&s->args.t[0], 0)))
		die_at(s->at, "%s", vb_why());
}

void cmd_expect_private(const struct stmt *s)
{
	struct vb_conn *c = the_link(s)->conn;
	const char *differs;

	differs = frame_compare(&s->items, c->peer_priv, c->peer_priv_len);
	if (differs)
		die_at(s->at, "private data: %s", differs);
}

void cmd_expect_initiator_depth(const struct stmt *s)
{
	struct vb_conn *c = the_link(s)->conn;

	if (c->peer_reads != eval(&s->args.t[0], 0))
		die_at(s->at, "the other side allows %u RDMA Reads", c->peer_reads);
}

/* ---- messages ---- */

void cmd_send(const struct stmt *s)
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

/* They are with the other side, which may have answered them already */
void cmd_wait_sent(const struct stmt *s)
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

static void show_message(const struct message *m)
{
	uint32_t i;

	fprintf(stderr, "%u octets%s", m->len, m->invalidated ? ", invalidating" : "");
	if (m->invalidated)
		fprintf(stderr, " %08x", m->inv_rkey);
	for (i = 0; i < m->len && i < 256; i++)
		fprintf(stderr, "%s%02x", i % 32 ? i % 4 ? "" : " " : "\n  ", m->data[i]);
	fprintf(stderr, "\n");
}

static struct message *next_message(const struct stmt *s, struct link *l)
{
	uint64_t ms = patience();
	struct message *m;
	int64_t end;

	option(s, "within", &ms);
	end = vb_now_ms() + ms;
	while (!l->first && !l->down && vb_now_ms() < end)
		pump(l, end - vb_now_ms());
	m = l->first;
	if (!m && l->down)
		die_at(s->at, "no message: the connection is down (%s)", l->down);
	if (!m)
		die_at(s->at, "no message in %d ms", (int)ms);
	l->first = m->next;
	if (!l->first)
		l->last = &l->first;
	return m;
}

void cmd_expect(const struct stmt *s)
{
	struct link *l = the_link(s);
	struct message *m = next_message(s, l);
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

/* Takes whatever comes, without a look at it */
void cmd_take(const struct stmt *s)
{
	free(next_message(s, the_link(s)));
}

static void no_message(const struct stmt *s, struct link *l)
{
	if (!l->first)
		return;
	show_message(l->first);
	die_at(s ? s->at : NULL, "a message that nobody expects");
}

/* Looks what came; not NULL: why nothing else will */
const char *interrupted(const struct stmt *s)
{
	struct link *l = the_link(s);

	while (pump(l, 0))
		;
	return l->first ? "a message came" : l->down;
}

void show_first(const struct stmt *s)
{
	struct link *l = the_link(s);

	if (l->first)
		show_message(l->first);
}

void cmd_expect_nothing(const struct stmt *s)
{
	struct link *l = the_link(s);
	int64_t end = vb_now_ms() + eval(&s->args.t[0], 0);

	do {
		pump(l, end - vb_now_ms());
		no_message(s, l);
		if (l->down)
			die_at(s->at, "the connection is down (%s)", l->down);
	} while (vb_now_ms() < end);
}

void cmd_expect_disconnect(const struct stmt *s)
{
	struct link *l = the_link(s);
	/* That it was told may come behind that it is down, and without an event */
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
	no_message(s, l);
}

/* ---- verbs other than Send ---- */

static void wait_done(const struct stmt *s, uint32_t cookie)
{
	struct link *l = the_link(s);
	int64_t end = vb_now_ms() + patience();

	while (l->done_cookie != cookie && vb_now_ms() < end)
		pump(l, end - vb_now_ms());
	if (l->done_cookie != cookie)
		die_at(s->at, "it does not complete");
}

/* rdma-read|rdma-write|rdma-write-imm REGION OFFSET LENGTH RKEY ADDRESS done|refused */
static void rdma(const struct stmt *s, enum ibv_wr_opcode opcode)
{
	struct link *l = the_link(s);
	uint32_t cookie = next_cookie++;
	const struct token *t = s->args.t;
	int refused;

	if (s->args.n != 6)
		die_at(s->at, "REGION OFFSET LENGTH RKEY ADDRESS done|refused, please");
	refused = !strcmp(t[5].text, "refused");
	if (vb_rdma(l->conn, opcode, region_find(&t[0])->mr, eval(&t[1], 0), eval(&t[2], 0),
	       eval(&t[3], 0), eval(&t[4], 0), cookie))
		die_at(s->at, "%s", vb_why());
	wait_done(s, cookie);
	if (refused != (l->done_status == IBV_WC_REM_ACCESS_ERR ||
			l->done_status == IBV_WC_REM_INV_REQ_ERR))
		die_at(s->at, "it ended with: %s", ibv_wc_status_str(l->done_status));
}

void cmd_rdma_read(const struct stmt *s)
{
	rdma(s, IBV_WR_RDMA_READ);
}

void cmd_rdma_write(const struct stmt *s)
{
	rdma(s, IBV_WR_RDMA_WRITE);
}

void cmd_rdma_write_imm(const struct stmt *s)
{
	rdma(s, IBV_WR_RDMA_WRITE_WITH_IMM);
}

void bind_window(const struct stmt *s, struct region *w, int access)
{
	struct link *l = the_link(s);
	uint32_t cookie = next_cookie++;
	struct ibv_mw *mw = vb_window(l->conn, w->mr, w->offset, w->len, access, cookie);

	if (!mw)
		die_at(s->at, "%s", vb_why());
	wait_done(s, cookie);
	if (l->done_status != IBV_WC_SUCCESS)
		die_at(s->at, "bind: %s", ibv_wc_status_str(l->done_status));
	w->rkey = mw->rkey;
}

void run_end(void)
{
	struct link *l;

	for (l = links; l; l = l->next) {
		if (!l->conn)
			continue;
		while (pump(l, 0))
			;
		no_message(NULL, l);
		vb_free(l->conn);
	}
	vb_unlisten(listener);
}
