// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Statements, macros and procedures. */
#define _GNU_SOURCE
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

static struct macro *macros, *procedures;
static const struct command *known;

static int is(const struct token *t, const char *text)
{
	return !strcmp(t->text, text);
}

static const struct command *command_find(const struct token *t)
{
	const struct command *c = known;

	while (c->name && !is(t, c->name))
		c++;
	return c->name ? c : NULL;
}

static int opens_block(const struct token *t)
{
	const struct command *c = command_find(t);

	return (c && c->block) || is(t, "define") || is(t, "procedure");
}

static const struct macro *find_in(const struct macro *m, const char *name)
{
	while (m && strcmp(m->name, name))
		m = m->next;
	return m;
}

const struct macro *macro_find(const char *name)
{
	return find_in(macros, name);
}

void macro_define(const char *name, const char *text)
{
	struct macro *m = calloc(1, sizeof(*m));

	m->name = strdup(name);
	tokens_text(&m->body, text, "command line");
	m->next = macros;
	macros = m;
}

int macro_args(const struct tokens *list, int *i, struct tokens *args)
{
	int depth = 0, n = 0;

	if (*i >= list->n || !is(&list->t[*i], "("))
		return 0;
	memset(args, 0, MAX_ARGS * sizeof(*args));
	for (; *i < list->n; ++*i) {
		const struct token *t = &list->t[*i];

		depth += is(t, "(") - is(t, ")");
		if (!depth) {
			++*i;
			return n + 1;
		}
		if (depth == 1 && is(t, "("))
			continue;
		if (depth == 1 && is(t, ",")) {
			if (++n == MAX_ARGS)
				die_at(t, "too many arguments");
			continue;
		}
		if (!is(t, "\n"))
			tokens_add(&args[n], t);
	}
	die_at(&list->t[list->n - 1], "a parenthesis is not closed");
}

/* The rest of a line */
static void take_line(const struct tokens *in, int *i, struct tokens *out)
{
	for (; *i < in->n && !is(&in->t[*i], "\n"); ++*i)
		tokens_add(out, &in->t[*i]);
}

/* Up to the "end" of a block, including the blocks within it */
static void take_block(const struct tokens *in, int *i, const struct token *at,
		       struct tokens *out)
{
	int depth = 1, first = 1;

	for (; *i < in->n; ++*i) {
		const struct token *t = &in->t[*i];

		if (first && is(t, "end") && !--depth) {
			++*i;
			return;
		}
		depth += first && opens_block(t);
		first = is(t, "\n");
		tokens_add(out, t);
	}
	die_at(at, "%s has no end", at->text);
}

static void parse_macro(const struct tokens *in, int *i, struct macro **list)
{
	const struct token *at = &in->t[*i - 1];
	struct macro *m = calloc(1, sizeof(*m));

	take_line(in, i, &m->params);
	if (!m->params.n)
		die_at(at, "a macro without a name");
	m->name = m->params.t[0].text;
	m->params.t++;
	m->params.n--;
	take_block(in, i, at, &m->body);
	m->next = *list;
	*list = m;
}

static struct stmt *parse(const struct tokens *in);

/* Found beside the file that includes it, or in the directory above */
static struct stmt *parse_include(const struct token *at, const struct token *name)
{
	char *copy = strdup(at->file), *dir = dirname(copy), *path;

	if (asprintf(&path, "%s/%s", dir, name->text) < 0)
		abort();
	if (access(path, R_OK) && asprintf(&path, "%s/../%s", dir, name->text) < 0)
		abort();
	return parse_file(path, known);
}

static struct stmt *parse_call(const struct macro *m, const struct token *at,
			       const struct tokens *line)
{
	struct tokens args[MAX_ARGS] = {0}, body = {0};
	int i;

	if (line->n != m->params.n || line->n > MAX_ARGS)
		die_at(at, "%s needs %d words", m->name, m->params.n);
	for (i = 0; i < line->n; i++)
		tokens_add(&args[i], &line->t[i]);
	tokens_subst(&body, &m->body, &m->params, args);
	return parse(&body);
}

static struct stmt *parse_statement(const struct tokens *in, int *i)
{
	const struct token *at = &in->t[(*i)++];
	struct tokens line = {0}, body = {0};
	const struct macro *m = find_in(procedures, at->text);
	const struct command *c = command_find(at);
	struct stmt *s;

	take_line(in, i, &line);
	if (m)
		return parse_call(m, at, &line);
	if (is(at, "include") && line.n == 1)
		return parse_include(at, &line.t[0]);
	if (!c)
		die_at(at, "no such statement: %s", at->text);
	s = calloc(1, sizeof(*s));
	s->command = c;
	s->at = at;
	s->args = line;
	if (c->block == ITEMS) {
		take_block(in, i, at, &s->items);
	} else if (c->block == STATEMENTS) {
		take_block(in, i, at, &body);
		s->body = parse(&body);
	}
	return s;
}

static struct stmt *parse(const struct tokens *list)
{
	/* Statements keep pointers to its tokens */
	struct tokens *in = memcpy(malloc(sizeof(*in)), list, sizeof(*in));
	struct stmt *first = NULL, **end = &first;
	int i = 0;

	while (i < in->n) {
		if (is(&in->t[i], "\n")) {
			i++;
		} else if (is(&in->t[i], "define")) {
			i++;
			parse_macro(in, &i, &macros);
		} else if (is(&in->t[i], "procedure")) {
			i++;
			parse_macro(in, &i, &procedures);
		} else {
			*end = parse_statement(in, &i);
			while (*end)
				end = &(*end)->next;
		}
	}
	return first;
}

struct stmt *parse_file(const char *path, const struct command *list)
{
	struct tokens in = {0};

	known = list;
	tokens_read(&in, path);
	return parse(&in);
}
