// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections of a script, and the messages that arrive on them. A connection
 * has a name. Statements that name none use the current connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static struct link *links;
static struct link *current;

static struct link *find_link(const char *name)
{
	struct link *l = links;

	while (l && strcmp(l->name, name))
		l = l->next;
	return l;
}

struct link *the_link(const struct stmt *s)
{
	if (!current || !current->conn)
		die_at(s->at, "there is no connection");
	return current;
}

void link_use(const struct stmt *s, const char *name)
{
	current = find_link(name);
	the_link(s);
}

void link_open(const struct stmt *s, struct vb_conn *conn)
{
	const char *name = s->args.n ? s->args.t[0].text : "main";
	struct link *l = find_link(name);

	if (!l) {
		l = calloc(1, sizeof(*l));
		l->name = strdup(name);
		l->next = links;
		links = l;
	}
	link_close(l);
	l->conn = conn;
	l->down = NULL;
	current = l;
}

void link_close(struct link *l)
{
	vb_free(l->conn);
	l->conn = NULL;
	drop_messages(l);
}

/* At the end of a script no message may be left */
void links_end(void)
{
	struct link *l;

	for (l = links; l; l = l->next) {
		while (l->conn && pump(l, 0))
			;
		no_message(NULL, l);
		link_close(l);
	}
}

/* ---- events ---- */

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

int pump(struct link *l, int ms)
{
	struct vb_event ev;

	if (!vb_next(l->conn, ms, &ev))
		return 0;
	if (ev.type == VB_RECV) {
		take_message(l, &ev);
	} else if (ev.type == VB_DONE) {
		l->done_cookie = ev.cookie;
		l->done_status = ev.status;
	} else if (ev.type == VB_DOWN) {
		l->down = ev.why;
	}
	return 1;
}

int patience(void)
{
	uint64_t ms = 20000;

	var_get("patience", &ms);
	return ms;
}

void wait_done(const struct stmt *s, struct link *l, uint32_t cookie)
{
	int64_t end = vb_now_ms() + patience();

	while (l->done_cookie != cookie && vb_now_ms() < end)
		pump(l, end - vb_now_ms());
	if (l->done_cookie != cookie)
		die_at(s->at, "it does not complete");
}

int option(const struct stmt *s, const char *word, uint64_t *value)
{
	int i = 0;

	while (i < s->args.n && strcmp(s->args.t[i].text, word))
		i++;
	if (i >= s->args.n)
		return 0;
	if (value && i + 1 >= s->args.n)
		die_at(s->at, "%s has no value", word);
	if (value)
		*value = eval(&s->args.t[i + 1], 0);
	return 1;
}

/* ---- messages ---- */

void show_message(const struct message *m)
{
	uint32_t i;

	fprintf(stderr, "%u bytes%s", m->len, m->invalidated ? ", invalidating" : "");
	if (m->invalidated)
		fprintf(stderr, " %08x", m->inv_rkey);
	for (i = 0; i < m->len && i < 256; i++)
		fprintf(stderr, "%s%02x", i % 32 ? i % 4 ? "" : " " : "\n  ", m->data[i]);
	fprintf(stderr, "\n");
}

struct message *next_message(const struct stmt *s, struct link *l)
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

void no_message(const struct token *at, const struct link *l)
{
	if (!l->first)
		return;
	show_message(l->first);
	die_at(at, "an unexpected message");
}

void drop_messages(struct link *l)
{
	struct message *m;

	while ((m = l->first)) {
		l->first = m->next;
		free(m);
	}
	l->last = &l->first;
}
