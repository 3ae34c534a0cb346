/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The scripted peer: tokens, statements, values, frames. The language is
 * explained in README beside this file.
 */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>
#include <stddef.h>

#include "verbs.h"

/* ---- tokens (peer_token.c) ---- */

struct token {
	char *text;		/* "\n" ends a line; a string begins with '"' */
	const char *file;
	int line;
};

struct tokens {
	struct token *t;
	int n, max;
};

void tokens_add(struct tokens *list, const struct token *t);
void tokens_read(struct tokens *list, const char *path);
void tokens_text(struct tokens *list, const char *text, const char *file);
/* Copies @from with $PARAM replaced by the tokens of its argument */
void tokens_subst(struct tokens *to, const struct tokens *from,
		  const struct tokens *params, const struct tokens *args);

/* Ends the program with FILE:LINE and a reason */
void __attribute__((noreturn, format(printf, 2, 3)))
die_at(const struct token *t, const char *fmt, ...);

/* ---- statements (peer_parse.c) ---- */

struct stmt {
	const struct token *at;		/* the first word */
	struct tokens args;		/* the rest of its line */
	struct tokens items;		/* of a block of items */
	struct stmt *body;		/* of a block of statements */
	struct stmt *next;
};

struct macro {
	char *name;
	struct tokens params;
	struct tokens body;
	struct macro *next;
};

struct stmt *parse_file(const char *path);
const struct macro *macro_find(const char *name);
void macro_define(const char *name, const char *text);
/* Arguments in parentheses at @i, which moves behind them */
int macro_args(const struct tokens *list, int *i, struct tokens *args, int max);

/* ---- values (peer_value.c) ---- */

struct region {
	char *name;
	struct vb_mr *mr;	/* its memory */
	size_t offset, len;	/* part of it (a window), or all */
	uint32_t rkey;
	uint64_t used;
	struct region *next;
};

struct region *region_find(const struct token *t);
void region_add(struct region *r);
void var_set(const char *name, uint64_t value);
int var_get(const char *name, uint64_t *value);
/* A number, a name, or a sum of them; unknown names are 0 if @lenient */
uint64_t eval(const struct token *t, int lenient);
uint8_t pattern_at(uint64_t pos, uint64_t seed);

/* ---- frames (peer_frame.c) ---- */

#define FRAME_MAX	(1 << 21)

/* Octets of a block of items; returns how many */
uint32_t frame_build(const struct tokens *items, uint8_t *buf, uint32_t max);
/* NULL if they agree, else what differs (static) */
const char *frame_compare(const struct tokens *items, const uint8_t *data,
			  uint32_t len);

/* ---- doing it (peer_exec.c, peer_cmd.c) ---- */

typedef void (*command_fn)(const struct stmt *s);
command_fn command_find(const char *name);
void run_statements(const struct stmt *s);
void run_end(void);

#endif /* PEER_H */
