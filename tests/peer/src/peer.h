/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The scripted peer, from the bottom up: a file calls those above it in this
 * header only. tests/peer/README.rst explains the language.
 */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>
#include <stddef.h>

#include "verbs.h"

/* ---- peer_token.c: tokens ---- */

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

/* ---- peer_value.c: values ---- */

struct region {
	char *name;
	struct vb_mr *mr;
	size_t offset, len;	/* a memory window is a part of @mr */
	uint32_t rkey;
	uint64_t used;
	struct region *next;
};

struct region *region_find(const struct token *t);
void region_add(struct region *r);
/* Address of @len bytes at @offset, which are within the region */
uint8_t *region_at(const struct token *t, const struct region *r,
		   uint64_t offset, uint64_t len);
void var_set(const char *name, uint64_t value);
int var_get(const char *name, uint64_t *value);
/* A number, a name, or a sum of them; unknown names are 0 if @lenient */
uint64_t eval(const struct token *t, int lenient);
uint8_t pattern_at(uint64_t pos, uint64_t seed);

/* ---- peer_parse.c: statements, macros, procedures ---- */

#define MAX_ARGS	16

struct stmt {
	const struct command *command;
	const struct token *at;		/* the first word */
	struct tokens args;		/* the rest of its line */
	struct tokens items;
	struct stmt *body;
	struct stmt *next;
};

/* A kind of statement; a block of items or of statements may follow its line */
struct command {
	const char *name;
	void (*run)(const struct stmt *s);
	enum { NO_BLOCK, ITEMS, STATEMENTS } block;
};

struct macro {
	char *name;
	struct tokens params;
	struct tokens body;
	struct macro *next;
};

/* @list ends with an empty element */
struct stmt *parse_file(const char *path, const struct command *list);
const struct macro *macro_find(const char *name);
void macro_define(const char *name, const char *text);
/* Takes arguments in parentheses at @i, up to MAX_ARGS */
int macro_args(const struct tokens *list, int *i, struct tokens *args);

/* ---- peer_frame.c: messages ---- */

#define FRAME_MAX	(1 << 21)

/* Builds the bytes of a block of items; returns their number */
uint32_t frame_build(const struct tokens *items, uint8_t *buf, uint32_t max);
/* NULL, or the first difference (static) */
const char *frame_compare(const struct tokens *items, const uint8_t *data,
			  uint32_t len);

/* ---- peer_link.c: connections ---- */

struct message {
	struct message *next;
	uint32_t len;
	int invalidated;
	uint32_t inv_rkey;
	uint8_t data[];
};

/**
 * struct link - a connection of the script
 * @name: name for "use"
 * @conn: the connection, or NULL
 * @first: messages that the script has not looked at
 * @last: end of that list
 * @down: why it is down, or NULL
 * @done_cookie: the operation that completed last
 * @done_status: its status
 */
struct link {
	char *name;
	struct vb_conn *conn;
	struct message *first, **last;
	const char *down;
	uint32_t done_cookie;
	enum ibv_wc_status done_status;
	struct link *next;
};

/* The current connection; ends the program if there is none */
struct link *the_link(const struct stmt *s);
void link_use(const struct stmt *s, const char *name);
/* @conn becomes the current connection, with the name that @s has for it */
void link_open(const struct stmt *s, struct vb_conn *conn);
void link_close(struct link *l);
void links_end(void);

/* Takes one event within @ms; 0: there was none */
int pump(struct link *l, int ms);
int patience(void);
void wait_done(const struct stmt *s, struct link *l, uint32_t cookie);
/* The value behind @word among the arguments; 0: no such word */
int option(const struct stmt *s, const char *word, uint64_t *value);

struct message *next_message(const struct stmt *s, struct link *l);
void show_message(const struct message *m);
/* Ends the program if an unexpected message is there */
void no_message(const struct token *at, const struct link *l);
void drop_messages(struct link *l);

/* ---- peer_cmd.c: statements, executed ---- */

extern const struct command commands[];
void run_statements(const struct stmt *s);

#endif /* PEER_H */
