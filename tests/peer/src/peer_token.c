// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tokens of a script, and arguments of macros. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

void die_at(const struct token *t, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	if (t)
		fprintf(stderr, "%s:%d: ", t->file, t->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

void tokens_add(struct tokens *list, const struct token *t)
{
	if (list->n == list->max) {
		list->max = list->max ? 2 * list->max : 16;
		list->t = realloc(list->t, list->max * sizeof(*t));
		if (!list->t)
			die_at(t, "no memory");
	}
	list->t[list->n++] = *t;
}

static int is_single(char c)
{
	return c == '\n' || c == '(' || c == ')' || c == ',';
}

/* 0: a string without end */
static size_t token_len(const char *p)
{
	size_t n = 0;

	if (is_single(*p))
		return 1;
	if (*p == '"') {
		const char *end = strpbrk(p + 1, "\"\n");

		return end && *end == '"' ? end - p : 0;
	}
	while (p[n] && !isspace(p[n]) && !is_single(p[n]) && p[n] != '#')
		n++;
	return n;
}

void tokens_text(struct tokens *list, const char *p, const char *file)
{
	struct token t = { .file = file, .line = 1 };
	size_t n;

	while (*p) {
		if (*p == '#') {
			p += strcspn(p, "\n");
			continue;
		}
		if (*p != '\n' && isspace(*p)) {
			p++;
			continue;
		}
		n = token_len(p);
		t.text = strndup(p, n);
		if (!n)
			die_at(&t, "a string without end");
		tokens_add(list, &t);
		t.line += *p == '\n';
		/* The closing quote is not part of a string's token */
		p += n + (*p == '"');
	}
}

void tokens_read(struct tokens *list, const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!in || !text || !fread(text, 1, (1 << 20) - 1, in)) {
		struct token t = { .file = path };

		die_at(&t, "cannot be read");
	}
	fclose(in);
	tokens_text(list, text, strdup(path));
	free(text);
}

/* A '-' belongs to a name if a letter follows, as in a sum */
static int name_goes_on(const char *p)
{
	return isalnum(*p) || *p == '_' || (*p == '-' && isalpha(p[1]));
}

/* The first $NAME in @text, as a whole name */
static char *find_param(char *text, const char *name)
{
	size_t n = strlen(name);
	char *p = text;

	while ((p = strchr(p, '$'))) {
		if (!strncmp(p + 1, name, n) && !name_goes_on(p + 1 + n))
			return p;
		p++;
	}
	return NULL;
}

static char *replace(const char *text, const char *at, size_t skip,
		     const char *with)
{
	char *out;

	if (asprintf(&out, "%.*s%s%s", (int)(at - text), text, with, at + skip) < 0)
		abort();
	return out;
}

static void subst_one(struct tokens *to, const struct token *t,
		      const struct tokens *params, const struct tokens *args)
{
	struct token copy = *t;
	char *at;
	int i, j;

	for (i = 0; i < params->n; i++) {
		const char *name = params->t[i].text;

		while ((at = find_param(copy.text, name))) {
			if (args[i].n == 1) {
				copy.text = replace(copy.text, at,
						    strlen(name) + 1, args[i].t[0].text);
				continue;
			}
			if (at != copy.text || at[strlen(name) + 1])
				die_at(t, "$%s is more than a word here", name);
			for (j = 0; j < args[i].n; j++)
				tokens_add(to, &args[i].t[j]);
			return;
		}
	}
	tokens_add(to, &copy);
}

void tokens_subst(struct tokens *to, const struct tokens *from,
		  const struct tokens *params, const struct tokens *args)
{
	int i;

	for (i = 0; i < from->n; i++)
		subst_one(to, &from->t[i], params, args);
}
