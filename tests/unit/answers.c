// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Prints the table of answers, both halves, as it stands in
 * Documentation/answers.rst.
 */
#include <stdio.h>
#include <stdlib.h>

#include "answers_v2_cases.h"

#define COLUMNS	6

static const char *const titles[COLUMNS] = {
	"version", "procedure", "what arrives", "fault", "Responder",
	"Requester",
};

static const char *const actions[__RPCRDMA_ACTIONS] = {
	[RPCRDMA_ACT_CALL]	= "Call",
	[RPCRDMA_ACT_REPLY]	= "Reply",
	[RPCRDMA_ACT_FAIL]	= "fail",
	[RPCRDMA_ACT_DROP]	= "drop",
	[RPCRDMA_ACT_ERROR]	= "",
	[RPCRDMA_ACT_FAIL_OR_ERROR] = "fail, or ",
	[RPCRDMA_ACT_FAIL_AND_ERROR] = "",
	[RPCRDMA_ACT_CLOSE]	= "close",
};

static const char *error_name(enum rpcrdma_errcode errcode, u32 vers)
{
	switch (errcode) {
	case RPCRDMA_ERR_VERS:
		return "ERR_VERS";
	case RPCRDMA_ERR_CHUNK:
		return vers == RPCRDMA_V2 ? "BAD_HEADER" : "ERR_CHUNK";
	case RPCRDMA_ERR_INVAL_OPTION:
		return "INVAL_OPTION";
	default:
		return "";
	}
}

static const char *const procs[] = {
	"RDMA_MSG", "RDMA_NOMSG", "RDMA_MSGP", "RDMA_DONE", "RDMA_ERROR",
	"RDMA_OPTIONAL",
};

/* What @vers has; the other numbers have no name */
static u32 procs_of(u32 vers)
{
	return ARRAY_SIZE(procs) - (vers == RPCRDMA_V2 ? 0 : 1);
}

struct line {
	char cell[COLUMNS][128];
};

static void fill_line(struct line *l, const struct answer_case *c)
{
	const char *responder = rpcrdma_fault_name(c->at[0].fault);
	const char *requester = rpcrdma_fault_name(c->at[1].fault);
	bool same = c->at[0].fault == c->at[1].fault;
	u32 proc = c->frame[3], i;

	snprintf(l->cell[0], sizeof(l->cell[0]), c->len < 8 ? "any" : "%u",
		 c->frame[1]);
	if (c->len < RPCRDMA_FIXED_LEN)
		strcpy(l->cell[1], "any");
	else if (proc < procs_of(c->frame[1]))
		strcpy(l->cell[1], procs[proc]);
	else
		snprintf(l->cell[1], sizeof(l->cell[1]), "%u", proc);
	snprintf(l->cell[2], sizeof(l->cell[2]), "%s", c->what);
	snprintf(l->cell[3], sizeof(l->cell[3]), "%s%s%s", responder,
		 same ? "" : "; ", same ? "" : requester);
	for (i = 0; i < __RPCRDMA_ROLES; i++)
		snprintf(l->cell[4 + i], sizeof(l->cell[4]), "%s%s",
			 actions[c->at[i].want.action],
			 error_name(c->at[i].want.errcode, c->frame[1]));
}

static void print_rule(const int *width)
{
	int i, n;

	for (i = 0; i < COLUMNS; i++) {
		for (n = 0; n < width[i]; n++)
			putchar('=');
		putchar(i < COLUMNS - 1 ? ' ' : '\n');
	}
}

static void print_line(const struct line *l, const int *width)
{
	int i;

	for (i = 0; i < COLUMNS - 1; i++)
		printf("%-*s ", width[i], l->cell[i]);
	printf("%s\n", l->cell[i]);
}

static void print_table(const struct answer_case *cases, u32 count)
{
	static struct line lines[256], title;
	int width[COLUMNS] = { 0 };
	u32 i, n;

	if (count > ARRAY_SIZE(lines))
		abort();
	for (n = 0; n < COLUMNS; n++) {
		strcpy(title.cell[n], titles[n]);
		width[n] = strlen(titles[n]);
	}
	for (i = 0; i < count; i++) {
		fill_line(&lines[i], &cases[i]);
		for (n = 0; n < COLUMNS; n++)
			width[n] = max(width[n], (int)strlen(lines[i].cell[n]));
	}
	print_rule(width);
	print_line(&title, width);
	print_rule(width);
	for (i = 0; i < count; i++)
		print_line(&lines[i], width);
	print_rule(width);
}

int main(void)
{
	print_table(answer_cases, ARRAY_SIZE(answer_cases));
	printf("\nWhere version two is spoken as well, the rows of version 2 above do not hold,\n"
	       "and these do:\n\n");
	print_table(answer_v2_cases, ARRAY_SIZE(answer_v2_cases));
	return 0;
}
