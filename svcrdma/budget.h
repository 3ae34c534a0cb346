/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How many pages the work of one connection may have at a time, so that none makes the
 * server hold as much as it likes.
 */
#ifndef SVCRDMA_BUDGET_H
#define SVCRDMA_BUDGET_H

#include <linux/atomic.h>

#include "rpcrdma/plan_queues.h"

struct seq_file;

/**
 * struct svc_rdma_budget - pages in use, and how many they may be
 * @max: as many as they may be, unless it is one RPC that needs more; does not change
 * @used: those in use; taken without a lock, given back with the connection's
 * @most: the most they were
 * @waits: counts Calls that had to wait for others'; under the connection's lock
 */
struct svc_rdma_budget {
	u32 max;
	atomic_t used;
	atomic_t most;
	u64 waits;
};

void svc_rdma_budget_note_most(struct svc_rdma_budget *budget, int now);
void svc_rdma_budget_show(const struct svc_rdma_budget *budget,
			  struct seq_file *seq, const char *of);

/**
 * svc_rdma_budget_fits - is there room for more?
 * @budget: budget
 * @pages: how many more
 *
 * Context: any. It may become false at any time, and true only within the connection's
 * lock.
 *
 * Return: true if so, or if none is in use.
 */
static inline bool svc_rdma_budget_fits(const struct svc_rdma_budget *budget,
					u32 pages)
{
	return rpcrdma_plan_pages_fit(atomic_read(&budget->used), pages,
				      budget->max);
}

/**
 * svc_rdma_budget_try - take pages if there is room
 * @budget: budget
 * @pages: how many
 *
 * No lock: what is given back under it makes room, and nobody is told of room that was
 * taken.
 *
 * Context: any.
 *
 * Return: true if the caller has them, to be given back by svc_rdma_budget_return().
 */
static inline bool svc_rdma_budget_try(struct svc_rdma_budget *budget, u32 pages)
{
	int others = atomic_read(&budget->used);

	do {
		if (!rpcrdma_plan_pages_fit(others, pages, budget->max))
			return false;
	} while (!atomic_try_cmpxchg(&budget->used, &others,
				     others + (int)pages));
	if (unlikely(others + (int)pages > atomic_read(&budget->most)))
		svc_rdma_budget_note_most(budget, others + (int)pages);
	return true;
}

/**
 * svc_rdma_budget_take - take pages whether there is room or not
 * @budget: budget
 * @pages: how many; the caller has them, as by svc_rdma_budget_try()
 *
 * Context: any.
 */
static inline void svc_rdma_budget_take(struct svc_rdma_budget *budget, u32 pages)
{
	int now = atomic_add_return(pages, &budget->used);

	if (unlikely(now > atomic_read(&budget->most)))
		svc_rdma_budget_note_most(budget, now);
}

/**
 * svc_rdma_budget_return - give pages back
 * @budget: budget
 * @pages: how many
 *
 * Whom to tell is the caller's to know.
 *
 * Context: any; the caller holds the connection's lock.
 */
static inline void svc_rdma_budget_return(struct svc_rdma_budget *budget, u32 pages)
{
	atomic_sub(pages, &budget->used);
}

#endif /* SVCRDMA_BUDGET_H */
