// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Items: the words and bytes of a message. One walk over the items either
 * builds a message or compares one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/**
 * struct walk - a walk over items
 * @buf: bytes that are built or compared
 * @len: size of @buf
 * @at: position in @buf
 * @msg: position of the label "msg:"
 * @skipped: bytes that labels count but the frame does not have
 * @compare: compare, do not build
 * @lenient: the first pass of two, in which labels may be unknown
 * @open_end: "..." was there
 * @differs: the first difference
 */
struct walk {
	uint8_t *buf;
	uint32_t len;
	uint32_t at;
	uint32_t msg;
	uint32_t skipped;
	int compare;
	int lenient;
	int open_end;
	char differs[512];
};

static void walk_items(struct walk *w, const struct tokens *items);

static void differ(struct walk *w, const struct token *t, const char *want)
{
	uint32_t have = w->len - w->at, n = 0, i;
	char *p = w->differs;

	n = snprintf(p, sizeof(w->differs), "line %d, byte %u: wanted %s (%s), got",
		     t->line, w->at, want, t->text);
	for (i = 0; i < 8 && i < have && w->at <= w->len; i++)
		n += snprintf(p + n, sizeof(w->differs) - n, " %02x", w->buf[w->at + i]);
	if (w->at >= w->len)
		snprintf(p + n, sizeof(w->differs) - n, " the end");
}

static int stopped(const struct walk *w)
{
	return w->differs[0] || w->open_end;
}

static int has_room(struct walk *w, const struct token *t, uint32_t n)
{
	if (stopped(w))
		return 0;
	if (n <= w->len - w->at)
		return 1;
	if (!w->compare)
		die_at(t, "the frame is too long");
	differ(w, t, "more");
	return 0;
}

static void bytes(struct walk *w, const struct token *t, const uint8_t *p,
		   uint32_t n)
{
	char want[32] = "";
	uint32_t i;

	if (!has_room(w, t, n))
		return;
	if (!w->compare) {
		memcpy(w->buf + w->at, p, n);
		w->at += n;
		return;
	}
	for (i = 0; i < n && p[i] == w->buf[w->at + i]; i++)
		;
	if (i < n) {
		i -= i % 4;
		for (uint32_t j = 0; j < 4 && i + j < n; j++)
			sprintf(want + 2 * j, "%02x", p[i + j]);
		w->at += i;
		differ(w, t, want);
		return;
	}
	w->at += n;
}

static void word(struct walk *w, const struct token *t, uint32_t v)
{
	const uint8_t p[4] = { v >> 24, v >> 16, v >> 8, v };

	bytes(w, t, p, 4);
}

static void word64(struct walk *w, const struct token *t, uint64_t v)
{
	word(w, t, v >> 32);
	word(w, t, v);
}

static uint32_t next_word(struct walk *w, const struct token *t)
{
	const uint8_t *p = w->buf + w->at;

	if (!has_room(w, t, 4))
		return 0;
	w->at += 4;
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static void anything(struct walk *w, const struct token *t, uint32_t n)
{
	if (!w->compare)
		die_at(t, "only where something is expected");
	if (has_room(w, t, n))
		w->at += n;
}

static void pad(struct walk *w, const struct token *t, uint32_t n)
{
	static const uint8_t zeros[4];

	bytes(w, t, zeros, -n & 3);
}

static void opaque(struct walk *w, const struct token *t, const uint8_t *p,
		   uint32_t n)
{
	word(w, t, n);
	bytes(w, t, p, n);
	pad(w, t, n);
}

static uint32_t unhex(const struct token *t, const char *hex, uint8_t *out,
		      uint32_t max)
{
	uint32_t n = strlen(hex) / 2, i;
	unsigned int v;

	if (strlen(hex) % 2 || n > max)
		die_at(t, "%s: not an even number of digits", t->text);
	for (i = 0; i < n; i++) {
		if (sscanf(hex + 2 * i, "%2x", &v) != 1)
			die_at(t, "%s is not hexadecimal", t->text);
		out[i] = v;
	}
	return n;
}

/* ---- functions: NAME(ARGUMENTS) ---- */

struct args {
	const struct token *at;
	struct tokens a[MAX_ARGS];
	int n;
};

static uint64_t arg(struct walk *w, const struct args *args, int i,
		    uint64_t otherwise)
{
	if (i >= args->n)
		return otherwise;
	if (args->a[i].n != 1)
		die_at(args->at, "argument %d of %s is not one word", i + 1, args->at->text);
	return eval(&args->a[i].t[0], w->lenient);
}

static void fn_u64(struct walk *w, const struct args *args)
{
	word64(w, args->at, arg(w, args, 0, 0));
}

/* seg(REGION[, OFFSET[, LENGTH]]) */
static void fn_seg(struct walk *w, const struct args *args)
{
	const struct region *r = region_find(&args->a[0].t[0]);
	uint64_t offset = arg(w, args, 1, 0);

	word(w, args->at, r->rkey);
	word(w, args->at, arg(w, args, 2, r->len - offset));
	word64(w, args->at, (uintptr_t)r->mr->addr + r->offset + offset);
}

/* pattern(LENGTH, SEED[, POSITION]) */
static void fn_pattern(struct walk *w, const struct args *args)
{
	uint64_t n = arg(w, args, 0, 0), seed = arg(w, args, 1, 1);
	uint64_t pos = arg(w, args, 2, 0), i;
	uint8_t *p = malloc(n + 1);

	for (i = 0; i < n; i++)
		p[i] = pattern_at(pos + i, seed);
	bytes(w, args->at, p, n);
	free(p);
}

/* bytes(LENGTH, VALUE) */
static void fn_bytes(struct walk *w, const struct args *args)
{
	uint64_t n = arg(w, args, 0, 0);
	uint8_t *p = malloc(n + 1);

	memset(p, arg(w, args, 1, 0), n + 1);
	bytes(w, args->at, p, n);
	free(p);
}

static void fn_pad(struct walk *w, const struct args *args)
{
	pad(w, args->at, arg(w, args, 0, 0));
}

/* skip(LENGTH): bytes of the message that are in a chunk, with roundup */
static void fn_skip(struct walk *w, const struct args *args)
{
	w->skipped += (arg(w, args, 0, 0) + 3) & ~3ull;
}

static void fn_memory(struct walk *w, const struct args *args)
{
	const struct region *r = region_find(&args->a[0].t[0]);
	uint64_t offset = arg(w, args, 1, 0), n = arg(w, args, 2, r->len - offset);

	bytes(w, args->at, region_at(args->at, r, offset, n), n);
}

/* optional(N): a word of 1 and N bytes, or a word of 0 */
static void fn_optional(struct walk *w, const struct args *args)
{
	uint32_t follows = next_word(w, args->at);

	if (follows > 1) {
		w->at -= 4;
		differ(w, args->at, "0 or 1");
	} else if (follows) {
		anything(w, args->at, arg(w, args, 0, 0));
	}
}

static void fn_any(struct walk *w, const struct args *args)
{
	anything(w, args->at, arg(w, args, 0, 4));
}

/* range(LOW, HIGH): a word from LOW to HIGH */
static void fn_range(struct walk *w, const struct args *args)
{
	uint64_t low = arg(w, args, 0, 0), high = arg(w, args, 1, ~0ull);
	uint32_t v = next_word(w, args->at);
	char want[64];

	if (stopped(w) || (v >= low && v <= high))
		return;
	w->at -= 4;
	snprintf(want, sizeof(want), "%llu to %llu", (unsigned long long)low,
		 (unsigned long long)high);
	differ(w, args->at, want);
}

/* repeat(COUNT, ITEMS): $n counts from 0 */
static void fn_repeat(struct walk *w, const struct args *args)
{
	uint64_t count = arg(w, args, 0, 0), n;

	for (n = 0; n < count; n++) {
		var_set("n", n);
		walk_items(w, &args->a[1]);
	}
}

static const struct {
	const char *name;
	void (*fn)(struct walk *w, const struct args *args);
	int min;
} functions[] = {
	{ "u64", fn_u64, 1 },
	{ "seg", fn_seg, 1 },
	{ "pattern", fn_pattern, 2 },
	{ "bytes", fn_bytes, 2 },
	{ "pad", fn_pad, 1 },
	{ "skip", fn_skip, 1 },
	{ "memory", fn_memory, 1 },
	{ "any", fn_any, 1 },
	{ "optional", fn_optional, 1 },
	{ "range", fn_range, 2 },
	{ "repeat", fn_repeat, 2 },
};

static int call_function(struct walk *w, const struct args *args)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].name, args->at->text))
			continue;
		if (args->n < functions[i].min)
			die_at(args->at, "%s needs %d arguments",
			       args->at->text, functions[i].min);
		functions[i].fn(w, args);
		return 1;
	}
	return 0;
}

static int call_macro(struct walk *w, const struct args *args)
{
	const struct macro *m = macro_find(args->at->text);
	struct tokens body = {0};

	if (!m)
		return 0;
	if (m->params.n != args->n)
		die_at(args->at, "%s needs %d arguments", m->name, m->params.n);
	tokens_subst(&body, &m->body, &m->params, args->a);
	walk_items(w, &body);
	free(body.t);
	return 1;
}

/* ---- items ---- */

static void label(struct walk *w, const struct token *t)
{
	char *name = strndup(t->text, strlen(t->text) - 1);

	if (!strcmp(name, "msg")) {
		w->msg = w->at;
		w->skipped = 0;
	}
	var_set(name, w->at - w->msg + w->skipped);
	free(name);
}

static void any_opaque(struct walk *w, const struct token *t)
{
	uint32_t n = next_word(w, t);

	if (!stopped(w))
		anything(w, t, n < 0xfffffffc ? (n + 3) & ~3u : n);
}

/* Items that are one word of the script */
static int simple_item(struct walk *w, const struct token *t)
{
	const char *text = t->text;
	uint8_t hex[512];

	if (*text == '"')
		opaque(w, t, (const uint8_t *)text + 1, strlen(text) - 1);
	else if (!strncmp(text, "x:", 2))
		bytes(w, t, hex, unhex(t, text + 2, hex, sizeof(hex)));
	else if (!strncmp(text, "X:", 2))
		opaque(w, t, hex, unhex(t, text + 2, hex, sizeof(hex)));
	else if (!strcmp(text, "*"))
		anything(w, t, 4);
	else if (!strcmp(text, "any-opaque"))
		any_opaque(w, t);
	else if (!strcmp(text, "..."))
		w->open_end = 1;
	else if (*text == '=')
		var_set(text + 1, next_word(w, t));
	else if (text[strlen(text) - 1] == ':')
		label(w, t);
	else
		return 0;
	return 1;
}

static void walk_items(struct walk *w, const struct tokens *items)
{
	struct args args;
	int i = 0;

	while (i < items->n && !stopped(w)) {
		const struct token *t = &items->t[i++];

		if (!strcmp(t->text, "\n") || simple_item(w, t))
			continue;
		args.at = t;
		args.n = macro_args(items, &i, args.a);
		if (call_function(w, &args) || call_macro(w, &args))
			continue;
		if (args.n)
			die_at(t, "no such function or macro: %s", t->text);
		word(w, t, eval(t, w->lenient));
	}
}

uint32_t frame_build(const struct tokens *items, uint8_t *buf, uint32_t max)
{
	struct walk w = { .buf = buf, .len = max, .lenient = 1 };

	walk_items(&w, items);
	w = (struct walk){ .buf = buf, .len = max };
	walk_items(&w, items);
	return w.at;
}

const char *frame_compare(const struct tokens *items, const uint8_t *data,
			  uint32_t len)
{
	static struct walk w;
	static const struct token end = { .text = "end" };

	w = (struct walk){ .buf = (uint8_t *)data, .len = len, .compare = 1 };
	walk_items(&w, items);
	if (!stopped(&w) && w.at != len)
		differ(&w, items->n ? &items->t[items->n - 1] : &end, "the end after this");
	return w.differs[0] ? w.differs : NULL;
}
