// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Rule files: deviations of the server, and their times. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy.h"

#define MAX_VALUES	8

/* Every @every-th from @first to @last */
struct when {
	unsigned int first;
	unsigned int last;
	unsigned int every;
};

struct rule {
	enum proc proc;
	struct when when;
	const struct action *action;
	int word;			/* meaning of its argument */
	uint32_t values[MAX_VALUES];	/* its numbers, used in turn */
	unsigned int nvalues;
	struct frame frame;
	unsigned int seen;		/* Calls of this procedure */
	unsigned int used;
};

struct connection_rule {
	struct when when;
	struct terms terms;
};

struct word {
	const char *name;
	int value;
};

/* Takes one of @words, if there are any, and sets a member of a deviation */
struct action {
	const char *name;
	const struct word *words;
	void (*apply)(struct deviation *dev, const struct rule *rule, uint32_t value);
	size_t member;
};

static struct rule rules[MAX_RULES];
static unsigned int nrules;
static struct connection_rule conns[MAX_RULES];
static unsigned int nconns;
static const char *file_name;
static unsigned int line_number;

static const struct word chunk_words[] = { CHUNK_LIES(RULE_WORD) { } };
static const struct word error_words[] = { ERROR_KINDS(RULE_WORD) { } };
static const struct word inval_words[] = { INVALS(RULE_WORD) { } };
static const struct word reverse_words[] = { REVERSES(RULE_WORD) { } };
static const struct word trespass_words[] = { TRESPASSES(RULE_WORD) { } };
static const struct word moment_words[] = { MOMENTS(RULE_WORD) { "random", MOMENT_MAX }, { } };
static const struct word frame_words[] = {
	{ "before", FRAME_BEFORE },
	{ "instead", FRAME_INSTEAD },
	{ "refused", FRAME_REFUSED },
	{ }
};

#define APPLY(name) static void name(struct deviation *dev, const struct rule *rule, \
				     uint32_t value)
#define MEMBER(type) (*(type *)((char *)dev + rule->action->member))

APPLY(set_flag)
{
	(void)value;
	MEMBER(bool) = true;
}

APPLY(set_number)
{
	MEMBER(uint32_t) = value;
}

APPLY(set_given)
{
	MEMBER(struct given) = (struct given){ true, value };
}

APPLY(set_word)
{
	(void)value;
	MEMBER(int) = rule->word;
}

APPLY(set_chunk)
{
	MEMBER(enum chunk_lie) = rule->word;
	dev->longer = value;
}

APPLY(set_reverse)
{
	dev->reverse = rule->word;
	dev->reverse_count = value ? value : 1;
}

APPLY(set_ask)
{
	set_reverse(dev, rule, value);
	dev->ask = true;
}

APPLY(set_frame)
{
	(void)value;
	dev->frames[dev->nframes++] = &rule->frame;
}

/* "random N": one of N Calls, at any moment */
APPLY(set_kill)
{
	if (rule->word != MOMENT_MAX)
		dev->kill = rule->word;
	else if (random() % (value ? value : 1) == 0)
		dev->kill = MOMENT_CALL + random() % (MOMENT_CALLED - MOMENT_CALL);
}

#define ACTION(name, words, apply, member) \
	{ name, words, apply, offsetof(struct deviation, member) }

static const struct action actions[] = {
	ACTION("version", NULL, set_given, version),
	ACTION("procedure", NULL, set_given, proc),
	ACTION("credits", NULL, set_given, credits),
	ACTION("truncate", NULL, set_given, truncate),
	ACTION("write-chunk", chunk_words, set_chunk, write_lie),
	ACTION("reply-chunk", chunk_words, set_chunk, reply_lie),
	ACTION("read-list", NULL, set_flag, read_list),
	ACTION("write-list", NULL, set_flag, write_list),
	ACTION("nomsg", NULL, set_flag, nomsg),
	ACTION("body-xid", NULL, set_flag, body_xid),
	ACTION("oversize", NULL, set_flag, oversize),
	ACTION("inline-pad", NULL, set_flag, inline_pad),
	ACTION("verifier", NULL, set_number, verifier),
	ACTION("trailer", NULL, set_number, trailer),
	ACTION("msgp", NULL, set_flag, msgp),
	ACTION("done", NULL, set_flag, done),
	ACTION("other-xid", NULL, set_flag, other_first),
	ACTION("again", NULL, set_number, copies),
	ACTION("error", error_words, set_word, error),
	ACTION("other-error", error_words, set_word, error_other),
	ACTION("invalidate", inval_words, set_word, inval),
	ACTION("reverse", reverse_words, set_reverse, reverse),
	ACTION("ask", reverse_words, set_ask, ask),
	ACTION("trespass", trespass_words, set_word, trespass),
	ACTION("kill", moment_words, set_kill, kill),
	ACTION("disconnect", NULL, set_flag, disconnect),
	ACTION("leave", NULL, set_flag, ask_leave),
	ACTION("hold", NULL, set_flag, hold),
	ACTION("gather", NULL, set_number, gather),
	ACTION("burst", NULL, set_flag, burst),
	ACTION("immediate", NULL, set_flag, immediate),
	ACTION("frame", frame_words, set_frame, frames),
};

static void bad(const char *error, const char *word)
{
	errx(1, "%s:%u: %s: %s", file_name, line_number, error, word ? word : "missing");
}

static char *next_word(void)
{
	return strtok(NULL, " \t\n");
}

static char *need_word(const char *name)
{
	char *word = next_word();

	if (!word)
		bad(name, NULL);
	return word;
}

static uint32_t number(const char *word)
{
	char *end;
	unsigned long n = strtoul(word, &end, 0);

	if (end == word || *end || n > UINT32_MAX)
		bad("not a number", word);
	return n;
}

/* "3", "3..5", "3..", "every", "every/4" */
static struct when parse_when(char *word)
{
	struct when when = { .first = 1, .last = UINT32_MAX, .every = 1 };
	char *dots = strstr(word, "..");

	if (!strncmp(word, "every", 5)) {
		if (word[5] == '/')
			when.every = number(word + 6);
		else if (word[5])
			bad("not a time", word);
		when.first = when.every;
	} else if (dots) {
		*dots = '\0';
		when.first = number(word);
		if (dots[2])
			when.last = number(dots + 2);
	} else {
		when.first = number(word);
		when.last = when.first;
	}
	return when;
}

static bool is_time(const struct when *when, unsigned int n)
{
	return n >= when->first && n <= when->last &&
	       (n - when->first) % when->every == 0;
}

static int parse_words(const struct word *words, const char *word)
{
	for (; words->name; words++)
		if (!strcmp(words->name, word))
			return words->value;
	bad("unknown word", word);
	return 0;
}

static const struct action *parse_action(const char *word)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, word))
			return &actions[i];
	bad("unknown action", word);
	return NULL;
}

static void parse_frame(struct rule *rule)
{
	struct frame *frame = &rule->frame;
	char *word;

	frame->how = rule->word;
	while ((word = next_word())) {
		if (frame->len == MAX_FRAME)
			bad("too many words", word);
		if (!strcmp(word, "xid"))
			frame->kinds[frame->len] = WORD_XID;
		else if (!strcmp(word, "other"))
			frame->kinds[frame->len] = WORD_OTHER;
		else
			frame->numbers[frame->len] = number(word);
		frame->len++;
	}
}

/* on PROC WHEN ACTION [WORD] [NUMBER…] */
static void parse_on(void)
{
	struct rule *rule = &rules[nrules++];
	char *word;

	if (nrules == MAX_RULES)
		bad("too many rules", NULL);
	word = need_word("procedure");
	rule->proc = proc_by_name(word);
	if (rule->proc == PROC_MAX)
		bad("no such procedure", word);
	rule->when = parse_when(need_word("when"));
	rule->action = parse_action(need_word("action"));
	if (rule->action->words)
		rule->word = parse_words(rule->action->words, need_word("which"));
	if (rule->action->apply == set_frame)
		parse_frame(rule);
	while ((word = next_word())) {
		if (rule->nvalues == MAX_VALUES)
			bad("too many numbers", word);
		rule->values[rule->nvalues++] = number(word);
	}
}

/* connection WHEN [no-private-data] [no-remote-inv] [inline SEND RECV] */
static void parse_connection(const struct terms *standard)
{
	struct connection_rule *rule = &conns[nconns++];
	char *word;

	if (nconns == MAX_RULES)
		bad("too many connections", NULL);
	rule->when = parse_when(need_word("when"));
	rule->terms = *standard;
	while ((word = next_word())) {
		if (!strcmp(word, "no-private-data")) {
			rule->terms.private_data = false;
		} else if (!strcmp(word, "no-remote-inv")) {
			rule->terms.remote_inv = false;
		} else if (!strcmp(word, "inline")) {
			rule->terms.send_size = number(need_word("size"));
			rule->terms.recv_size = number(need_word("size"));
		} else {
			bad("unknown word", word);
		}
	}
}

static const struct terms honest = {
	.private_data = true,
	.remote_inv = true,
	.send_size = 4096,
	.recv_size = 4096,
};

/* Other words at the begin of a line are for the suite */
void rules_read(const char *file)
{
	FILE *in = fopen(file, "r");
	char line[1024], *word;

	if (!in)
		errx(1, "cannot read %s", file);
	memset(rules, 0, sizeof(rules));
	nrules = 0;
	nconns = 0;
	line_number = 0;
	file_name = file;
	while (fgets(line, sizeof(line), in)) {
		line_number++;
		word = strtok(line, " \t\n");
		if (!word || *word == '#')
			continue;
		if (!strcmp(word, "on"))
			parse_on();
		else if (!strcmp(word, "connection"))
			parse_connection(&honest);
		else if (strcmp(word, "load") && strcmp(word, "expect") &&
			 strcmp(word, "mount") && strcmp(word, "version") &&
			 strcmp(word, "slots") && strcmp(word, "inline") &&
			 strcmp(word, "pad-optimize") && strcmp(word, "needs"))
			bad("unknown word", word);
	}
	fclose(in);
}

/* @connection: counted from 1 */
void rules_terms(unsigned int connection, struct terms *terms)
{
	*terms = honest;
	for (unsigned int i = 0; i < nconns; i++)
		if (is_time(&conns[i].when, connection))
			*terms = conns[i].terms;
}

/* Counts the Call for each rule of its procedure */
void rules_call(enum proc proc, struct deviation *dev)
{
	memset(dev, 0, sizeof(*dev));
	for (unsigned int i = 0; i < nrules; i++) {
		struct rule *rule = &rules[i];
		uint32_t value = 0;

		if (rule->proc != PROC_ANY && rule->proc != proc)
			continue;
		if (!is_time(&rule->when, ++rule->seen))
			continue;
		if (rule->nvalues)
			value = rule->values[rule->used++ % rule->nvalues];
		rule->action->apply(dev, rule, value);
		report.deviations++;
	}
}
