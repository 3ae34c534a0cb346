// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For tests: cuts free memory up.
 *
 * While the module parameter "fragment" is Y, no block of 64 KiB of free memory
 * has all of its pages: one page of each is held, which cannot be moved. What is
 * freed in the meantime is cut up within RPCRDMA_FRAGMENT_EVERY.
 */

#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/* Blocks that are cut up: 16 pages */
#define RPCRDMA_FRAGMENT_ORDER	4
#define RPCRDMA_FRAGMENT_EVERY	msecs_to_jiffies(10)

static LIST_HEAD(rpcrdma_fragment_held);
static bool rpcrdma_fragment;

static void rpcrdma_fragment_take(void)
{
	struct page *page;
	unsigned int i;

	while ((page = alloc_pages(__GFP_NOWARN, RPCRDMA_FRAGMENT_ORDER))) {
		split_page(page, RPCRDMA_FRAGMENT_ORDER);
		list_add(&page->lru, &rpcrdma_fragment_held);
		for (i = 1; i < 1U << RPCRDMA_FRAGMENT_ORDER; i++)
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

static void rpcrdma_fragment_again(struct work_struct *work)
{
	rpcrdma_fragment_take();
	schedule_delayed_work(to_delayed_work(work), RPCRDMA_FRAGMENT_EVERY);
}

static DECLARE_DELAYED_WORK(rpcrdma_fragment_work, rpcrdma_fragment_again);

/* One at a time: the lock of the module's parameters is held */
static int rpcrdma_fragment_set(const char *val, const struct kernel_param *kp)
{
	bool take;
	int rc = kstrtobool(val, &take);

	if (rc)
		return rc;
	cancel_delayed_work_sync(&rpcrdma_fragment_work);
	if (take)
		rpcrdma_fragment_again(&rpcrdma_fragment_work.work);
	else
		rpcrdma_fragment_give_back();
	rpcrdma_fragment = take;
	return 0;
}

static void rpcrdma_fragment_free(void *arg)
{
	cancel_delayed_work_sync(&rpcrdma_fragment_work);
	rpcrdma_fragment_give_back();
}

static const struct kernel_param_ops rpcrdma_fragment_ops = {
	.set	= rpcrdma_fragment_set,
	.get	= param_get_bool,
	.free	= rpcrdma_fragment_free,
};

module_param_cb(fragment, &rpcrdma_fragment_ops, &rpcrdma_fragment, 0600);
MODULE_PARM_DESC(fragment, "keep free memory in blocks of less than 64 KiB");
