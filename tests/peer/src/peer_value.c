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

static struct var *find_var(const char *name)
{
	struct var *v = vars;

	while (v && strcmp(v->name, name))
		v = v->next;
	return v;
}

void var_set(const char *name, uint64_t value)
{
	struct var *v = find_var(name);

	if (!v) {
		v = malloc(sizeof(*v));
		v->name = strdup(name);
		v->next = vars;
		vars = v;
	}
	v->value = value;
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

uint8_t *region_at(const struct token *t, const struct region *r, uint64_t offset,
		   uint64_t len)
{
	if (offset > r->len || len > r->len - offset)
		die_at(t, "past the end of %s", r->name);
	return r->mr->addr + r->offset + offset;
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
	struct var *v = find_var(name);

	if (!v)
		return region_field(name, value);
	*value = v->value;
	return 1;
}

/* A '-' belongs to a name if a letter follows: x-y is a name, x-1 a sum */
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

/* The contents of files that iocheck writes */
uint8_t pattern_at(uint64_t pos, uint64_t seed)
{
	uint64_t x = (pos >> 3) * 0x9e3779b97f4a7c15ull + seed;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	return x >> ((pos & 7) * 8);
}
