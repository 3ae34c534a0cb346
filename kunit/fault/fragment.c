// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For tests: cuts free memory up.
 *
 * While the module parameter "fragment" is Y, no block of 64 KiB of free memory
 * has all of its pages: one page of each is held, which cannot be moved.
 */

#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>

/* Blocks that are cut up: 16 pages */
#define FRAGMENT_ORDER	4

static DEFINE_MUTEX(rpcrdma_fragment_lock);
static LIST_HEAD(rpcrdma_fragment_held);
static bool rpcrdma_fragment;

static void rpcrdma_fragment_take(void)
{
	struct page *page;
	unsigned int i;

	while ((page = alloc_pages(__GFP_NOWARN, FRAGMENT_ORDER))) {
		split_page(page, FRAGMENT_ORDER);
		list_add(&page->lru, &rpcrdma_fragment_held);
		for (i = 1; i < 1U << FRAGMENT_ORDER; i++)
			__free_page(page + i);
		cond_resched();
	}
}

static void rpcrdma_fragment_give_back(void)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &rpcrdma_fragment_held, lru) {
		list_del(&page->lru);
		__free_page(page);
		cond_resched();
	}
}

static int rpcrdma_fragment_set(const char *val, const struct kernel_param *kp)
{
	bool take;
	int rc = kstrtobool(val, &take);

	if (rc)
		return rc;
	mutex_lock(&rpcrdma_fragment_lock);
	if (take)
		rpcrdma_fragment_take();
	else
		rpcrdma_fragment_give_back();
	rpcrdma_fragment = take;
	mutex_unlock(&rpcrdma_fragment_lock);
	return 0;
}

static void rpcrdma_fragment_free(void *arg)
{
	rpcrdma_fragment_give_back();
}

static const struct kernel_param_ops rpcrdma_fragment_ops = {
	.set	= rpcrdma_fragment_set,
	.get	= param_get_bool,
	.free	= rpcrdma_fragment_free,
};

module_param_cb(fragment, &rpcrdma_fragment_ops, &rpcrdma_fragment, 0600);
MODULE_PARM_DESC(fragment, "keep free memory in blocks of less than 64 KiB");
