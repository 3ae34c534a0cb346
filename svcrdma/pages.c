// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A pool of pages that RDMA Reads go to. They are exchanged one for one with
 * those of the nfsd thread that processes the Call, and the displaced pages
 * serve the next Reads: so a WRITE of 1 MiB does not cost the allocation, and
 * zeroing, of 256 pages.
 *
 * The pool has only pages without other references. An nfsd thread may have
 * others among its buffers: a READ that was spliced and then truncated, or
 * failed half way, leaves pages of the page cache there.
 */

#include <linux/mm.h>

#include "svc_rdma.h"

/* 4 MiB with pages of 4 KiB: a few megabyte WRITEs in flight */
#define SVC_RDMA_POOL_PAGES	1024

static DEFINE_SPINLOCK(pool_lock);
static struct page *pool[SVC_RDMA_POOL_PAGES];
static unsigned int pool_nr;

/* Takes up to @nr pages from the pool. Returns how many there were */
unsigned int svc_rdma_pages_get(struct page **pages, unsigned int nr)
{
	spin_lock(&pool_lock);
	nr = min(nr, pool_nr);
	pool_nr -= nr;
	memcpy(pages, &pool[pool_nr], nr * sizeof(*pages));
	spin_unlock(&pool_lock);
	return nr;
}

/*
 * Gives pages to the pool; the array has others on return. Pages that the pool
 * cannot hold, or that have other references, are put.
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

/* Replaces and puts a page that others refer to; NULL: out of memory */
struct page *svc_rdma_page_replace(struct page *page)
{
	struct page *fresh = alloc_page(GFP_NOIO);

	if (fresh)
		put_page(page);
	return fresh;
}

/* When no connection is left; atomic context */
void svc_rdma_pages_drain(void)
{
	spin_lock(&pool_lock);
	while (pool_nr)
		put_page(pool[--pool_nr]);
	spin_unlock(&pool_lock);
}
