// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Numbers, variables, regions. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

struct var {
	char *name;
	uint64_t value;
	struct var *next;
};

static struct var *vars;
static struct region *regions;

void var_set(const char *name, uint64_t value)
{
	struct var *v;

	for (v = vars; v; v = v->next) {
		if (!strcmp(v->name, name)) {
			v->value = value;
			return;
		}
	}
	v = malloc(sizeof(*v));
	v->name = strdup(name);
	v->value = value;
	v->next = vars;
	vars = v;
}

static struct region *find_region(const char *name, size_t n)
{
	struct region *r;

	for (r = regions; r; r = r->next)
		if (strlen(r->name) == n && !strncmp(r->name, name, n))
			return r;
	return NULL;
}

struct region *region_find(const struct token *t)
{
	struct region *r = find_region(t->text, strlen(t->text));

	if (!r)
		die_at(t, "no region %s", t->text);
	return r;
}

void region_add(struct region *r)
{
	r->next = regions;
	regions = r;
}

static int region_field(const char *name, uint64_t *value)
{
	const char *dot = strrchr(name, '.');
	struct region *r = dot ? find_region(name, dot - name) : NULL;

	if (!r)
		return 0;
	if (!strcmp(dot, ".rkey"))
		*value = r->rkey;
	else if (!strcmp(dot, ".addr"))
		*value = (uintptr_t)r->mr->addr + r->offset;
	else if (!strcmp(dot, ".len"))
		*value = r->len;
	else if (!strcmp(dot, ".used"))
		*value = r->used;
	else
		return 0;
	return 1;
}

int var_get(const char *name, uint64_t *value)
{
	struct var *v;

	for (v = vars; v; v = v->next) {
		if (!strcmp(v->name, name)) {
			*value = v->value;
			return 1;
		}
	}
	return region_field(name, value);
}

/* A '-' belongs to a name when a letter follows: x-y is a name, x-1 a sum */
static size_t term_len(const char *p)
{
	size_t n = 0;

	if (*p == '$')
		n++;
	while (isalnum(p[n]) || p[n] == '_' || p[n] == '.' ||
	       (p[n] == '-' && n && isalpha(p[n + 1])))
		n++;
	return n;
}

static uint64_t term(const struct token *t, const char *text, int lenient)
{
	const char *name = text + (*text == '$');
	uint64_t value = 0;
	char *end;

	if (isdigit(*name)) {
		value = strtoull(name, &end, 0);
		if (*end == 'k')
			value <<= 10, end++;
		if (*end)
			die_at(t, "%s is no number", text);
	} else if (!var_get(name, &value) && !lenient) {
		die_at(t, "nothing is called %s", text);
	}
	return value;
}

uint64_t eval(const struct token *t, int lenient)
{
	const char *p = t->text;
	uint64_t sum = 0, value;
	char sign = '+', *one;
	size_t n;

	do {
		n = term_len(p);
		if (!n)
			die_at(t, "%s is no value", t->text);
		one = strndup(p, n);
		value = term(t, one, lenient);
		free(one);
		sum += sign == '-' ? -value : value;
		p += n;
		sign = *p;
	} while (*p == '+' || *p == '-' ? *++p : 0);
	if (*p)
		die_at(t, "%s is no value", t->text);
	return sum;
}

/* The contents of the files that tools/iocheck.c writes */
uint8_t pattern_at(uint64_t pos, uint64_t seed)
{
	uint64_t x = (pos >> 3) * 0x9e3779b97f4a7c15ull + seed;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	return x >> ((pos & 7) * 8);
}
