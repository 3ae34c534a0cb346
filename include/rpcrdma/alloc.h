/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whatever can fail for lack of memory goes through RPCRDMA_ALLOC(), so that a
 * test can let each of these places fail once. Without CONFIG_RPCRDMA_FAULT
 * nothing is left of it.
 */
#ifndef RPCRDMA_ALLOC_H
#define RPCRDMA_ALLOC_H

#ifdef CONFIG_RPCRDMA_FAULT

#include <linux/list.h>

/**
 * struct rpcrdma_alloc_site - a place that can be made to fail
 * @list: in the list of those that were reached
 * @file: source file
 * @func: function
 * @line: line
 * @hits: how often it was reached
 * @failed: how often it was made to fail
 */
struct rpcrdma_alloc_site {
	struct list_head list;
	const char *file;
	const char *func;
	unsigned int line;
	unsigned int hits;
	unsigned int failed;
};

bool rpcrdma_alloc_fails(struct rpcrdma_alloc_site *site);
void rpcrdma_alloc_init(void);
void rpcrdma_alloc_exit(void);

/**
 * RPCRDMA_ALLOC - do what may fail for lack of memory
 * @failure: what stands for the failure: NULL, an ERR_PTR(), a negative errno
 * @call: the call
 *
 * Return: that of @call, or @failure when this place was told to fail.
 */
#define RPCRDMA_ALLOC(failure, call)					\
({									\
	static struct rpcrdma_alloc_site __alloc_site = {		\
		.file = __FILE__,					\
		.func = __func__,					\
		.line = __LINE__,					\
	};								\
									\
	rpcrdma_alloc_fails(&__alloc_site) ? (failure) : (call);	\
})

#else

#define RPCRDMA_ALLOC(failure, call) (false ? (failure) : (call))

static inline void rpcrdma_alloc_init(void)
{
}

static inline void rpcrdma_alloc_exit(void)
{
}

#endif

/**
 * RPCRDMA_ALLOC_FAILS - was this place told to fail?
 *
 * For what is not one call, such as a DMA mapping.
 *
 * Return: false, but for tests.
 */
#define RPCRDMA_ALLOC_FAILS() RPCRDMA_ALLOC(true, false)

#endif /* RPCRDMA_ALLOC_H */
