// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For tests: fails one call of an allocator, once.
 *
 * A call site is named FILE:FUNCTION:LINE. Debugfs lists those that were
 * reached, in rpcrdma/sites. Write a name to the module parameter fail_site, or
 * give it when the module is loaded: that site fails the next time it is
 * reached, and that time only.
 *
 * slow_cq lets each ib_alloc_cq() take that many milliseconds more, slow_dereg
 * each ib_dereg_mr(), slow_reject each event of a rejection, slow_last each
 * atomic_dec_and_test() that reaches zero.
 */

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "allocfail.h"

#define RPCRDMA_ALLOC_NAMELEN	128

/* Protects the list, its sites and the name */
static DEFINE_SPINLOCK(rpcrdma_alloc_lock);
static LIST_HEAD(rpcrdma_alloc_sites);
static char rpcrdma_alloc_armed[RPCRDMA_ALLOC_NAMELEN];

static struct dentry *rpcrdma_alloc_dir;

static int rpcrdma_sites_show(struct seq_file *seq, void *unused)
{
	struct rpcrdma_alloc_site *site;

	spin_lock_irq(&rpcrdma_alloc_lock);
	list_for_each_entry(site, &rpcrdma_alloc_sites, list)
		seq_printf(seq, "%s:%s:%u hits=%u failed=%u\n", site->file,
			   site->func, site->line, site->hits, site->failed);
	spin_unlock_irq(&rpcrdma_alloc_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rpcrdma_sites);

/**
 * rpcrdma_alloc_fails - a call site was reached
 * @site: call site
 *
 * Context: any; the first call of all is that of module init.
 *
 * Return: true if the call is to fail.
 */
bool rpcrdma_alloc_fails(struct rpcrdma_alloc_site *site)
{
	char name[RPCRDMA_ALLOC_NAMELEN];
	unsigned long flags;
	bool fail;

	if (!rpcrdma_alloc_dir) {
		rpcrdma_alloc_dir = debugfs_create_dir("rpcrdma", NULL);
		debugfs_create_file("sites", 0400, rpcrdma_alloc_dir, NULL,
				    &rpcrdma_sites_fops);
	}
	snprintf(name, sizeof(name), "%s:%s:%u", site->file, site->func,
		 site->line);
	spin_lock_irqsave(&rpcrdma_alloc_lock, flags);
	if (!site->hits++)
		list_add_tail(&site->list, &rpcrdma_alloc_sites);
	fail = !strcmp(name, rpcrdma_alloc_armed);
	if (fail) {
		site->failed++;
		rpcrdma_alloc_armed[0] = '\0';
	}
	spin_unlock_irqrestore(&rpcrdma_alloc_lock, flags);
	return fail;
}

static int rpcrdma_alloc_set(const char *val, const struct kernel_param *kp)
{
	char name[RPCRDMA_ALLOC_NAMELEN];

	if (strscpy(name, val, sizeof(name)) < 0)
		return -EINVAL;
	spin_lock_irq(&rpcrdma_alloc_lock);
	strscpy(rpcrdma_alloc_armed, strim(name), sizeof(rpcrdma_alloc_armed));
	spin_unlock_irq(&rpcrdma_alloc_lock);
	return 0;
}

static int rpcrdma_alloc_get(char *buffer, const struct kernel_param *kp)
{
	int len;

	spin_lock_irq(&rpcrdma_alloc_lock);
	len = sysfs_emit(buffer, "%s\n", rpcrdma_alloc_armed);
	spin_unlock_irq(&rpcrdma_alloc_lock);
	return len;
}

/* Called when the module is unloaded, or when its init has failed */
static void rpcrdma_alloc_free(void *arg)
{
	debugfs_remove(rpcrdma_alloc_dir);
}

static const struct kernel_param_ops rpcrdma_alloc_ops = {
	.set	= rpcrdma_alloc_set,
	.get	= rpcrdma_alloc_get,
	.free	= rpcrdma_alloc_free,
};

unsigned int rpcrdma_slow_cq;
module_param_named(slow_cq, rpcrdma_slow_cq, uint, 0600);
MODULE_PARM_DESC(slow_cq, "milliseconds that the creation of a CQ takes");

unsigned int rpcrdma_slow_dereg;
module_param_named(slow_dereg, rpcrdma_slow_dereg, uint, 0600);
MODULE_PARM_DESC(slow_dereg, "milliseconds that each deregistration takes");

unsigned int rpcrdma_slow_reject;
module_param_named(slow_reject, rpcrdma_slow_reject, uint, 0600);
MODULE_PARM_DESC(slow_reject, "milliseconds until the event of a rejection");

unsigned int rpcrdma_slow_last;
module_param_named(slow_last, rpcrdma_slow_last, uint, 0600);
MODULE_PARM_DESC(slow_last, "milliseconds that the last of a count takes");

module_param_cb(fail_site, &rpcrdma_alloc_ops, NULL, 0600);
MODULE_PARM_DESC(fail_site, "place of an allocation to fail once");
