// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* From tokens to statements; macros and procedures. */
#define _GNU_SOURCE
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define MAX_ARGS	16

static struct macro *macros, *procedures;

static const char *const item_blocks[] = {
	"send", "expect", "put", "compare", "private", "expect-private",
	"reject", NULL
};

static const char *const statement_blocks[] = { "loop", "until", NULL };

static int listed(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (!strcmp(*list, word))
			return 1;
	return 0;
}

static int is(const struct token *t, const char *text)
{
	return !strcmp(t->text, text);
}

static int opens_block(const struct token *t)
{
	return listed(item_blocks, t->text) || listed(statement_blocks, t->text) ||
	       is(t, "define") || is(t, "procedure");
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

int macro_args(const struct tokens *list, int *i, struct tokens *args, int max)
{
	int depth = 0, n = 0;

	if (*i >= list->n || !is(&list->t[*i], "("))
		return 0;
	memset(args, 0, max * sizeof(*args));
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
			if (++n == max)
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

/* Up to the "end" that belongs to a block; nested blocks are part of it */
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
		die_at(at, "it has no name");
	m->name = m->params.t[0].text;
	m->params.t++;
	m->params.n--;
	take_block(in, i, at, &m->body);
	m->next = *list;
	*list = m;
}

static struct stmt *parse(const struct tokens *in);

/* Beside the file that wants it, or in the directory above */
static struct stmt *parse_include(const struct token *at, const struct token *name)
{
	char *copy = strdup(at->file), *dir = dirname(copy), *path;

	if (asprintf(&path, "%s/%s", dir, name->text) < 0)
		abort();
	if (access(path, R_OK) && asprintf(&path, "%s/../%s", dir, name->text) < 0)
		abort();
	return parse_file(path);
}

static struct stmt *parse_call(const struct macro *m, const struct token *at,
			       const struct tokens *line)
{
	struct tokens args[MAX_ARGS], body = {0};
	int i;

	if (line->n != m->params.n)
		die_at(at, "%s wants %d words", m->name, m->params.n);
	memset(args, 0, sizeof(args));
	for (i = 0; i < line->n && i < MAX_ARGS; i++)
		tokens_add(&args[i], &line->t[i]);
	tokens_subst(&body, &m->body, &m->params, args);
	return parse(&body);
}

static struct stmt *parse_statement(const struct tokens *in, int *i)
{
	const struct token *at = &in->t[(*i)++];
	struct stmt *s = calloc(1, sizeof(*s));
	const struct macro *m;
	struct tokens body = {0};

	s->at = at;
	take_line(in, i, &s->args);
	m = find_in(procedures, at->text);
	if (m)
		return parse_call(m, at, &s->args);
	if (is(at, "include") && s->args.n == 1)
		return parse_include(at, &s->args.t[0]);
	if (listed(item_blocks, at->text)) {
		take_block(in, i, at, &s->items);
	} else if (listed(statement_blocks, at->text)) {
		take_block(in, i, at, &body);
		s->body = parse(&body);
	}
	if (!command_find(at->text))
		die_at(at, "no such statement: %s", at->text);
	return s;
}

static struct stmt *parse(const struct tokens *list)
{
	/* Statements point into it */
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

struct stmt *parse_file(const char *path)
{
	struct tokens list = {0};

	tokens_read(&list, path);
	return parse(&list);
}
