// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Statements about memory, values, time, repetition; and the table of all. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer_exec.h"

static const struct token *arg(const struct stmt *s, int i)
{
	if (i >= s->args.n)
		die_at(s->at, "%s wants more words", s->at->text);
	return &s->args.t[i];
}

static uint64_t number(const struct stmt *s, int i)
{
	return eval(arg(s, i), 0);
}

/* ---- values ---- */

static void cmd_set(const struct stmt *s)
{
	var_set(arg(s, 0)->text, number(s, 1));
}

/* Unless it was given on the command line */
static void cmd_default(const struct stmt *s)
{
	uint64_t value;

	if (!var_get(arg(s, 0)->text, &value))
		cmd_set(s);
}

/* random NAME LOW HIGH, the same ones in each run */
static void cmd_random(const struct stmt *s)
{
	uint64_t low = number(s, 1), high = number(s, 2);

	var_set(arg(s, 0)->text, low + random() % (high - low + 1));
}

/* ---- memory ---- */

static int access_words(const struct stmt *s)
{
	int access = 0;

	if (option(s, "remote-read", NULL))
		access |= IBV_ACCESS_REMOTE_READ;
	if (option(s, "remote-write", NULL))
		access |= IBV_ACCESS_REMOTE_WRITE;
	return access;
}

/* A name may be used again in a loop: the newer one is found first */
static void cmd_region(const struct stmt *s)
{
	struct region *r = calloc(1, sizeof(*r));
	int access = access_words(s);

	if (option(s, "windows", NULL))
		access |= IBV_ACCESS_MW_BIND;
	r->name = strdup(arg(s, 0)->text);
	r->len = number(s, 1);
	r->mr = vb_alloc(r->len, access);
	if (!r->mr)
		die_at(s->at, "%s", vb_why());
	r->rkey = r->mr->mr->rkey;
	region_add(r);
}

/* window NAME REGION OFFSET LENGTH ACCESS… */
static void cmd_window(const struct stmt *s)
{
	const struct region *of = region_find(arg(s, 1));
	struct region *w = calloc(1, sizeof(*w));

	w->name = strdup(arg(s, 0)->text);
	w->mr = of->mr;
	w->offset = number(s, 2);
	w->len = number(s, 3);
	if (w->offset > of->len || w->len > of->len - w->offset)
		die_at(s->at, "past the end of %s", of->name);
	bind_window(s, w, access_words(s));
	region_add(w);
}

static uint8_t *part_of(const struct stmt *s, const struct region *r,
			uint64_t offset, uint64_t len)
{
	if (offset > r->len || len > r->len - offset)
		die_at(s->at, "past the end of %s", r->name);
	return r->mr->addr + r->offset + offset;
}

/* fill REGION pattern|bytes VALUE [OFFSET [LENGTH]] */
static void cmd_fill(const struct stmt *s)
{
	const struct region *r = region_find(arg(s, 0));
	int pattern = !strcmp(arg(s, 1)->text, "pattern");
	uint64_t value = number(s, 2), offset = 0, len, i;
	uint8_t *p;

	if (s->args.n > 3)
		offset = number(s, 3);
	len = s->args.n > 4 ? number(s, 4) : r->len - offset;
	p = part_of(s, r, offset, len);
	for (i = 0; i < len; i++)
		p[i] = pattern ? pattern_at(i, value) : value;
}

static void cmd_put(const struct stmt *s)
{
	struct region *r = region_find(arg(s, 0));
	uint64_t offset = number(s, 1);

	r->used = frame_build(&s->items, part_of(s, r, offset, 0), r->len - offset);
}

static void cmd_compare(const struct stmt *s)
{
	const struct region *r = region_find(arg(s, 0));
	uint64_t offset = number(s, 1);
	const char *differs;

	differs = frame_compare(&s->items, part_of(s, r, offset, 0), r->len - offset);
	if (differs)
		die_at(s->at, "%s: %s", r->name, differs);
}

/*
 * wait-change REGION OFFSET OLD [refusals N]: until the other side has written there.
 * A message in its place says why it has not; N times in a row it will do.
 */
static void cmd_wait_change(const struct stmt *s)
{
	const struct region *r = region_find(arg(s, 0));
	volatile uint8_t *p = part_of(s, r, number(s, 1), 1);
	int64_t end = vb_now_ms() + patience();
	uint8_t old = number(s, 2);
	static uint64_t refused;
	uint64_t refusals = 0;
	const char *why;

	option(s, "refusals", &refusals);
	while (*p == old) {
		why = interrupted(s);
		if (*p == old && why && refused < refusals) {
			refused++;
			return;
		}
		if (*p == old && why) {
			show_first(s);
			die_at(s->at, "%s does not change: %s", r->name, why);
		}
		if (vb_now_ms() >= end)
			die_at(s->at, "%s does not change", r->name);
		usleep(20);
	}
	refused = 0;
}

/* ---- time, repetition ---- */

static void cmd_delay_us(const struct stmt *s)
{
	usleep(number(s, 0));
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
	int64_t end = vb_now_ms() + patience();
	uint64_t value;

	do {
		if (vb_now_ms() >= end)
			die_at(s->at, "%s does not become that", s->args.t[0].text);
		run_statements(s->body);
	} while (!var_get(s->args.t[0].text, &value) || value != number(s, 1));
}

/* main() has seen to it */
static void cmd_processes(const struct stmt *s)
{
	(void)s;
}

static const struct {
	const char *name;
	command_fn fn;
} commands[] = {
	{ "set", cmd_set },
	{ "default", cmd_default },
	{ "random", cmd_random },
	{ "region", cmd_region },
	{ "window", cmd_window },
	{ "fill", cmd_fill },
	{ "put", cmd_put },
	{ "compare", cmd_compare },
	{ "wait-change", cmd_wait_change },
	{ "delay-us", cmd_delay_us },
	{ "loop", cmd_loop },
	{ "until", cmd_until },
	{ "processes", cmd_processes },
	{ "connect", cmd_connect },
	{ "connect-refused", cmd_connect_refused },
	{ "connect-start", cmd_connect_start },
	{ "connect-finish", cmd_connect_finish },
	{ "listen", cmd_listen },
	{ "accept", cmd_accept },
	{ "reject", cmd_reject },
	{ "use", cmd_use },
	{ "kill", cmd_kill },
	{ "disconnect", cmd_disconnect },
	{ "close", cmd_close },
	{ "private", cmd_private },
	{ "receives", cmd_receives },
	{ "receive-size", cmd_receive_size },
	{ "send-size", cmd_send_size },
	{ "sends", cmd_sends },
	{ "read-depth", cmd_read_depth },
	{ "rnr-retry", cmd_rnr_retry },
	{ "ack-timeout", cmd_ack_timeout },
	{ "unestablished", cmd_unestablished },
	{ "post-receives", cmd_post_receives },
	{ "expect-private", cmd_expect_private },
	{ "expect-initiator-depth", cmd_expect_initiator_depth },
	{ "send", cmd_send },
	{ "wait-sent", cmd_wait_sent },
	{ "expect", cmd_expect },
	{ "take", cmd_take },
	{ "expect-nothing", cmd_expect_nothing },
	{ "expect-disconnect", cmd_expect_disconnect },
	{ "rdma-read", cmd_rdma_read },
	{ "rdma-write", cmd_rdma_write },
	{ "rdma-write-imm", cmd_rdma_write_imm },
};

command_fn command_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].fn;
	return NULL;
}

void run_statements(const struct stmt *s)
{
	for (; s; s = s->next)
		command_find(s->at->text)(s);
}
