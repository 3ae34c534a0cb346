// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Budgets: what is not done for each Call.
 */

#include <linux/seq_file.h>

#include "budget.h"

/**
 * svc_rdma_budget_note_most - more are in use than ever before
 * @budget: budget
 * @now: how many
 *
 * Context: any.
 */
void svc_rdma_budget_note_most(struct svc_rdma_budget *budget, int now)
{
	int before = atomic_read(&budget->most);

	while (before < now &&
	       !atomic_try_cmpxchg(&budget->most, &before, now))
		;
}

/**
 * svc_rdma_budget_show - for /proc/net/rpcrdma/connections
 * @budget: budget
 * @seq: where to; fields are appended
 * @of: whose pages they are, as in the names of the fields
 *
 * Context: process.
 */
void svc_rdma_budget_show(const struct svc_rdma_budget *budget,
			  struct seq_file *seq, const char *of)
{
	seq_printf(seq, " %s_pages=%u max_%s_pages=%u most_%s_pages=%u %s_waits=%llu",
		   of, atomic_read(&budget->used), of, budget->max,
		   of, atomic_read(&budget->most), of, READ_ONCE(budget->waits));
}
