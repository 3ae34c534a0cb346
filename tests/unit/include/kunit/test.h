/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * As much of KUnit as the suites of the pure files use, in user space. Test
 * files include <kunit/test.h> and do not know which one they got.
 */
#ifndef KUNIT_SHIM_TEST_H
#define KUNIT_SHIM_TEST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KUNIT_PARAM_DESC_SIZE	128
#define GFP_KERNEL		0

/* Copies what fits and always ends it */
static inline void strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
}

struct kunit_block {
	struct kunit_block *next;
	void *data;
};

struct kunit {
	const void *param_value;
	bool failed;
	jmp_buf abort;
	struct kunit_block *blocks;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char name[256];
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

extern struct kunit_suite *const kunit_shim_suites[];

void *kunit_kmalloc(struct kunit *test, size_t size, int gfp);
void *kunit_kzalloc(struct kunit *test, size_t size, int gfp);

#define kunit_test_suites(...) \
	struct kunit_suite *const kunit_shim_suites[] = { __VA_ARGS__, NULL }

#define KUNIT_CASE(fn)			{ .run_case = fn, .name = #fn }
#define KUNIT_CASE_PARAM(fn, gen) \
	{ .run_case = fn, .name = #fn, .generate_params = gen }

#define KUNIT_ARRAY_PARAM(tag, array, get_desc)				\
	static const void *tag##_gen_params(const void *prev, char *desc) \
	{								\
		__auto_type next = prev ? (__typeof__(&(array)[0]))prev + 1 : (array); \
									\
		if (next - (array) >= (long)(sizeof(array) / sizeof((array)[0]))) \
			return NULL;					\
		get_desc(next, desc);					\
		return next;						\
	}

#define SHIM_FAIL(test, ...)						\
	do {								\
		(test)->failed = true;					\
		printf("# %s:%d: ", __FILE__, __LINE__);		\
		printf(__VA_ARGS__);					\
		printf("\n");						\
	} while (0)

#define SHIM_BINARY(test, a, op, b, fatal, ...)				\
	do {								\
		__typeof__(a) _l = (a);					\
		__typeof__(b) _r = (b);					\
									\
		if (_l op _r)						\
			break;						\
		SHIM_FAIL(test, "%s %s %s: %lld, %lld", #a, #op, #b,	\
			  (long long)_l, (long long)_r);		\
		printf("#   " __VA_ARGS__);				\
		printf("\n");						\
		if (fatal)						\
			longjmp((test)->abort, 1);			\
	} while (0)

#define KUNIT_EXPECT_EQ(t, a, b)	SHIM_BINARY(t, a, ==, b, false, "expected")
#define KUNIT_EXPECT_NE(t, a, b)	SHIM_BINARY(t, a, !=, b, false, "expected")
#define KUNIT_EXPECT_LE(t, a, b)	SHIM_BINARY(t, a, <=, b, false, "expected")
#define KUNIT_EXPECT_LT(t, a, b)	SHIM_BINARY(t, a, <, b, false, "expected")
#define KUNIT_EXPECT_GE(t, a, b)	SHIM_BINARY(t, a, >=, b, false, "expected")
#define KUNIT_EXPECT_EQ_MSG(t, a, b, ...) \
	SHIM_BINARY(t, a, ==, b, false, __VA_ARGS__)
#define KUNIT_EXPECT_NE_MSG(t, a, b, ...) \
	SHIM_BINARY(t, a, !=, b, false, __VA_ARGS__)
#define KUNIT_ASSERT_EQ(t, a, b)	SHIM_BINARY(t, a, ==, b, true, "asserted")
#define KUNIT_ASSERT_LE(t, a, b)	SHIM_BINARY(t, a, <=, b, true, "asserted")
#define KUNIT_EXPECT_TRUE(t, c)		SHIM_BINARY(t, !!(c), ==, true, false, "expected")
#define KUNIT_EXPECT_FALSE(t, c)	SHIM_BINARY(t, !!(c), ==, false, false, "expected")
#define KUNIT_ASSERT_TRUE(t, c)		SHIM_BINARY(t, !!(c), ==, true, true, "asserted")
#define KUNIT_EXPECT_STREQ(t, a, b)	KUNIT_EXPECT_EQ(t, strcmp(a, b), 0)

#endif /* KUNIT_SHIM_TEST_H */
