// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * peer [-n] [-D NAME=NUMBER]… [-M NAME=ITEMS]… SCRIPT
 *
 * Runs one script. tests/peer/README.rst explains options, environment and exit
 * status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

static void usage(void)
{
	fprintf(stderr, "peer [-n] [-D NAME=NUMBER]... [-M NAME=ITEMS]... SCRIPT\n");
	exit(2);
}

static char *split(char *text)
{
	char *value = strchr(text, '=');

	if (!value)
		usage();
	*value = '\0';
	return value + 1;
}

/* "processes N" at the top level; a variable of that name overrides it */
static int count_processes(const struct stmt *s)
{
	uint64_t n;

	if (var_get("processes", &n))
		return n;
	for (; s; s = s->next)
		if (!strcmp(s->at->text, "processes") && s->args.n)
			return eval(&s->args.t[0], 0);
	return 1;
}

static void play(const struct stmt *script, int number)
{
	var_set("process", number);
	srandom(1 + number);
	run_statements(script);
	links_end();
}

static int play_many(const struct stmt *script, int n)
{
	int i, status, failed = 0;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid) {
			play(script, i);
			exit(0);
		}
	}
	while (wait(&status) > 0)
		failed += status != 0;
	if (failed)
		fprintf(stderr, "%d of %d processes failed\n", failed, n);
	return failed != 0;
}

int main(int argc, char **argv)
{
	struct stmt *script;
	int c, parse_only = 0, n;
	char *value;

	while ((c = getopt(argc, argv, "nD:M:")) != -1) {
		switch (c) {
		case 'n':
			parse_only = 1;
			break;
		case 'D':
			value = split(optarg);
			var_set(optarg, strtoull(value, NULL, 0));
			break;
		case 'M':
			value = split(optarg);
			macro_define(optarg, value);
			break;
		default:
			usage();
		}
	}
	if (optind + 1 != argc)
		usage();
	script = parse_file(argv[optind], commands);
	if (parse_only)
		return 0;
	n = count_processes(script);
	if (n > 1)
		return play_many(script, n);
	play(script, 0);
	return 0;
}
