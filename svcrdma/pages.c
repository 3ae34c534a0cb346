// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pages that RDMA Reads go to. They are exchanged one for one with those of
 * the nfsd thread that processes the Call, and the displaced ones serve the
 * next Reads: nobody allocates, and zeroes, 256 pages for each MiB.
 *
 * The pool has only pages that nobody else refers to. An nfsd thread's buffers are not
 * all of that kind: a READ that was spliced and then truncated, or failed half way, has
 * left pages of the page cache among them, and nfsd does not know of them any more.
 */

#include <linux/mm.h>

#include "svc_rdma.h"

/* 4 MiB with pages of 4 KiB: a few megabyte WRITEs in flight */
#define SVC_RDMA_POOL_PAGES	1024

static DEFINE_SPINLOCK(pool_lock);
static struct page *pool[SVC_RDMA_POOL_PAGES];
static unsigned int pool_nr;

/**
 * svc_rdma_pages_get - take pages from the pool
 * @pages: to be filled in
 * @nr: how many are wanted
 *
 * Context: process. The caller owns the pages.
 *
 * Return: how many there were.
 */
unsigned int svc_rdma_pages_get(struct page **pages, unsigned int nr)
{
	spin_lock(&pool_lock);
	nr = min(nr, pool_nr);
	pool_nr -= nr;
	memcpy(pages, &pool[pool_nr], nr * sizeof(*pages));
	spin_unlock(&pool_lock);
	return nr;
}

/**
 * svc_rdma_pages_put - give pages to the pool
 * @pages: pages; the array has others on return
 * @nr: how many; none is NULL
 *
 * What the pool cannot hold is freed, and what somebody else refers to let go.
 *
 * Context: process.
 */
void svc_rdma_pages_put(struct page **pages, unsigned int nr)
{
	unsigned int i, own = 0, keep;

	for (i = 0; i < nr; i++) {
		if (WARN_ON_ONCE(!pages[i])) /* I9 */
			continue;
		if (svc_rdma_page_is_shared(pages[i]))
			put_page(pages[i]);
		else
			pages[own++] = pages[i];
	}
	spin_lock(&pool_lock);
	keep = min(own, SVC_RDMA_POOL_PAGES - pool_nr);
	memcpy(&pool[pool_nr], pages, keep * sizeof(*pages));
	pool_nr += keep;
	spin_unlock(&pool_lock);
	if (keep < own)
		release_pages(pages + keep, own - keep);
}

/**
 * svc_rdma_page_renew - a page of our own for one that others refer to
 * @page: page of an nfsd thread, which may be in the page cache, too
 *
 * Context: process, may sleep.
 *
 * Return: a page in its place, which is put; or NULL, when it is not.
 */
struct page *svc_rdma_page_renew(struct page *page)
{
	struct page *fresh = alloc_page(GFP_NOIO);

	if (fresh)
		put_page(page);
	return fresh;
}

/**
 * svc_rdma_pages_drain - free what the pool holds
 *
 * Context: process, within a spinlock too; called when no connection is left, so that
 * an idle module holds no memory.
 */
void svc_rdma_pages_drain(void)
{
	spin_lock(&pool_lock);
	while (pool_nr)
		put_page(pool[--pool_nr]);
	spin_unlock(&pool_lock);
}
