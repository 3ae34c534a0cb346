// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Runs the KUnit suites of the pure files in user space: one line per case,
 * a summary, and an exit status that says whether all passed.
 */
#include <kunit/test.h>

#ifdef RPCRDMA_WITHOUT_V2
static const bool without_v2 = true;
#else
static const bool without_v2;
#endif

static unsigned int passed, failed;

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	struct kunit_block *block = malloc(sizeof(*block));
	void *data;

	(void)gfp;
	if (!block)
		abort();
	/* A block of its own, so that ASan sees where the data end */
	data = calloc(1, size + !size);
	if (!data)
		abort();
	block->data = data;
	block->next = test->blocks;
	test->blocks = block;
	return data;
}

void *kunit_kmalloc(struct kunit *test, size_t size, int gfp)
{
	return kunit_kzalloc(test, size, gfp);
}

static void free_blocks(struct kunit *test)
{
	struct kunit_block *block;

	while (test->blocks) {
		block = test->blocks;
		test->blocks = block->next;
		free(block->data);
		free(block);
	}
}

static void run_once(const struct kunit_suite *suite,
		     const struct kunit_case *c, const void *param,
		     const char *desc)
{
	static struct kunit test;

	test = (struct kunit){ .param_value = param };

	if (!setjmp(test.abort))
		c->run_case(&test);
	free_blocks(&test);
	printf("%s %s.%s%s%s\n", test.failed ? "not ok" : "ok", suite->name,
	       c->name, *desc ? ": " : "", desc);
	if (test.failed)
		failed++;
	else
		passed++;
}

/* Cases that cannot pass without version 2 of the protocol */
static bool needs_v2(const char *name)
{
	static const char *const names[] = {
		"wire_decode_truncated_plain", "wire_version_limits",
		"wire_encode_option", "wire_encode_option_empty",
		"wire_encode_option_overflow", "plan_inv_handle_forbidden",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return strstr(name, "_v2") && !strstr(name, "_v1_");
}

static void run_case(const struct kunit_suite *suite,
		     const struct kunit_case *c)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *param;

	if (!c->generate_params) {
		run_once(suite, c, NULL, desc);
		return;
	}
	for (param = c->generate_params(NULL, desc); param;
	     param = c->generate_params(param, desc))
		run_once(suite, c, param, desc);
}

/* Does ONLY, "SUITE", "SUITE/CASE" or nothing, name this case? */
static bool is_wanted(const char *only, const char *suite, const char *name)
{
	size_t len = strcspn(only, "/");

	if (!*only)
		return true;
	if (!strncmp(suite, "rpcrdma-", 8) && strncmp(only, "rpcrdma-", 8))
		suite += 8;
	if (strlen(suite) != len || strncmp(suite, only, len))
		return false;
	return !only[len] || !strcmp(only + len + 1, name);
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	struct kunit_suite *const *suite;
	const struct kunit_case *c;

	/* What was said before a crash should be seen */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (suite = kunit_shim_suites; *suite; suite++)
		for (c = (*suite)->test_cases; c->run_case; c++)
			if (is_wanted(only, (*suite)->name, c->name) &&
			    (!without_v2 || !needs_v2(c->name)))
				run_case(*suite, c);
	if (!passed && !failed) {
		printf("not ok %s: there is no such test\n", only);
		failed++;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
