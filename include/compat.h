/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only file that knows a kernel version. Written for 6.12 and 7.2; fills
 * in names and functions that 6.1 lacks. Force-included before every file.
 *
 * An older kernel's difference is named by the feature it lacks, so that a reader of
 * the code that uses it sees the newer kernel's form only.
 */
#ifndef RPCRDMA_COMPAT_H
#define RPCRDMA_COMPAT_H

#ifndef pr_fmt
#define pr_fmt(fmt) "rpcrdma: " fmt
#endif

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/*
 * sysctl: 6.1 ends a table with an empty entry and hands it to the handler
 * writable; a later kernel takes an empty entry for an error.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define RPCRDMA_CTL_CONST const
#define RPCRDMA_CTL_END
#else
#define RPCRDMA_CTL_CONST
#define RPCRDMA_CTL_END { }
#endif

/*
 * 6.1 calls xpo_secure_port of every transport without asking whether there is
 * one; later kernels leave RQ_SECURE to xpo_recvfrom alone.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define RPCRDMA_XPO_SECURE_PORT(fn)
#else
#define RPCRDMA_XPO_SECURE_PORT(fn) .xpo_secure_port = (fn),
#endif

/* 6.1 registers a shrinker that its owner allocated. If it fails, nothing is given back. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define shrinker_alloc(flags, name)	kzalloc(sizeof(struct shrinker), GFP_KERNEL)
#define shrinker_register(shrinker)	((void)register_shrinker(shrinker, "rpcrdma"))
#define shrinker_free(shrinker)						\
do {									\
	unregister_shrinker(shrinker);					\
	kfree(shrinker);						\
} while (0)
#endif

/* rxe of 6.1 completes work requests in softirqs, later ones in a workqueue */
#define RPCRDMA_RXE_COMPLETES_IN_THREAD (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0))

/* nfsd of 7.2 takes the data of a WRITE from any bytes of pages, not from virtual memory */
#define RPCRDMA_NFSD_WANTS_RANGE (LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0))

/*
 * 6.1 queues a callback for the service's threads in a list with a lock of its
 * own. Those of one transport leave the queue for a list (by rq_bc_pa_list), and
 * the others keep their order. Macros, so that not every file needs the sunrpc headers.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define rpcrdma_bc_enqueue(serv, rqst)					\
do {									\
	lwq_enqueue(&(rqst)->rq_bc_list, &(serv)->sv_cb_list);		\
	svc_pool_wake_idle_thread(&(serv)->sv_pools[0]);		\
} while (0)
#define rpcrdma_bc_dequeue(serv, of_xprt, list)				\
do {									\
	struct llist_node *_all = lwq_dequeue_all(&(serv)->sv_cb_list);	\
	struct llist_node **_at, *_behind;				\
	struct rpc_rqst *_rqst;						\
									\
	lwq_for_each_safe(_rqst, _at, _behind, &_all, rq_bc_list) {	\
		if (_rqst->rq_xprt == (of_xprt)) {			\
			list_add_tail(&_rqst->rq_bc_pa_list, list);	\
			_rqst = NULL;					\
		}							\
	}								\
	if (_all) {							\
		lwq_enqueue_batch(_all, &(serv)->sv_cb_list);		\
		svc_pool_wake_idle_thread(&(serv)->sv_pools[0]);	\
	}								\
} while (0)
#else
#define rpcrdma_bc_enqueue(serv, rqst)					\
do {									\
	spin_lock(&(serv)->sv_cb_lock);					\
	list_add_tail(&(rqst)->rq_bc_list, &(serv)->sv_cb_list);	\
	wake_up(&(serv)->sv_cb_waitq);					\
	spin_unlock(&(serv)->sv_cb_lock);				\
} while (0)
#define rpcrdma_bc_dequeue(serv, of_xprt, list)				\
do {									\
	struct rpc_rqst *_rqst, *_next;					\
									\
	spin_lock(&(serv)->sv_cb_lock);					\
	list_for_each_entry_safe(_rqst, _next, &(serv)->sv_cb_list,	\
				 rq_bc_list) {				\
		if (_rqst->rq_xprt == (of_xprt)) {			\
			list_del(&_rqst->rq_bc_list);			\
			list_add_tail(&_rqst->rq_bc_pa_list, list);	\
		}							\
	}								\
	spin_unlock(&(serv)->sv_cb_lock);				\
} while (0)
#endif

/*
 * An NFSv4.1 client that can ask for a directory delegation with a GETATTR provides for
 * two sets of attributes in each Reply to one: 7,774 bytes. The result of the GETATTR has
 * a member more then. For files that include <linux/nfs_fs.h>.
 */
#if IS_ENABLED(CONFIG_NFS_V4)
#define RPCRDMA_NFS_ATTRS_TWICE						\
	(sizeof(struct nfs4_getattr_res) >				\
	 offsetofend(struct nfs4_getattr_res, fattr))
#else
#define RPCRDMA_NFS_ATTRS_TWICE		false
#endif

/*
 * 7.2 takes the callback service from a transport before it stops the service,
 * and drops the queued callbacks itself. Older kernels leave the pointer.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define rpcrdma_bc_service_gone(xprt)	(!READ_ONCE((xprt)->bc_serv))
#else
#define rpcrdma_bc_service_gone(xprt)	false
#endif

/*
 * The pages of an nfsd thread. Older kernels have one array: the Call's pages,
 * then the Reply's. After an RPC sunrpc releases the pages from rq_respages to
 * rq_next_page, and then fills every gap in the array.
 *
 * 7.2 has two arrays. rq_respages owns the Reply's: it must not move. sunrpc
 * releases and refills the Reply's pages before rq_next_page only, and refills
 * the first rq_pages_nfree of the Call's. A gap elsewhere stays a NULL pointer.
 * sunrpc forgets a page at rq_page_end, so rq_next_page must not exceed that.
 *
 * rpcrdma_serv_pages(): the pages that one RPC may have
 * rpcrdma_rqst_pages(): the pages that a Call, and where they share an array
 *	its Reply, may have
 * rpcrdma_rqst_begin(): there is no Call yet; sunrpc shall release no page
 * rpcrdma_rqst_call_has(): the Call has the first @nr pages
 * rpcrdma_rqst_call_gap(): the Call's page @nr is gone; call it in order
 * rpcrdma_rqst_keep_first(): sunrpc shall keep the first of the Reply's pages
 *	and release the others
 * rpcrdma_rqst_reply_gone(): all pages of the Reply before @end are gone, but
 *	for the first one if @keep is true
 * rpcrdma_rqst_reply_gap(): @page, at or behind rq_next_page, is gone
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define rpcrdma_serv_pages(serv)	svc_serv_maxpages(serv)
/* One more than a thread of older kernels has, and than a Call needs */
#define rpcrdma_rqst_pages(rqstp)	((rqstp)->rq_maxpages - 1)
#define rpcrdma_rqst_begin(rqstp) ((rqstp)->rq_next_page = (rqstp)->rq_respages)
#define rpcrdma_rqst_call_has(rqstp, nr)	do { } while (0)
#define rpcrdma_rqst_call_gap(rqstp, nr) ((rqstp)->rq_pages_nfree = (nr) + 1)
/* The first page changes places with the last one that is released */
#define rpcrdma_rqst_keep_first(rqstp)					\
do {									\
	struct page **_first = (rqstp)->rq_respages, *_page = *_first;	\
									\
	if ((rqstp)->rq_next_page > _first) {				\
		(rqstp)->rq_next_page--;				\
		*_first = *(rqstp)->rq_next_page;			\
		*(rqstp)->rq_next_page = _page;				\
	}								\
} while (0)
#define rpcrdma_rqst_reply_gone(rqstp, end, keep)			\
do {									\
	(rqstp)->rq_next_page = min(end, (rqstp)->rq_page_end);		\
	if (keep)							\
		rpcrdma_rqst_keep_first(rqstp);				\
} while (0)
#define rpcrdma_rqst_reply_gap(rqstp, page)				\
	((rqstp)->rq_next_page = min((page) + 1, (rqstp)->rq_page_end))
#else
#define rpcrdma_serv_pages(serv)	RPCSVC_MAXPAGES
#define rpcrdma_rqst_pages(rqstp) ((rqstp)->rq_page_end - (rqstp)->rq_pages)
#define rpcrdma_rqst_begin(rqstp)	rpcrdma_rqst_call_has(rqstp, 0)
#define rpcrdma_rqst_call_has(rqstp, nr)				\
do {									\
	(rqstp)->rq_respages = &(rqstp)->rq_pages[nr];			\
	(rqstp)->rq_next_page = (rqstp)->rq_respages;			\
} while (0)
#define rpcrdma_rqst_call_gap(rqstp, nr)	do { } while (0)
#define rpcrdma_rqst_keep_first(rqstp)					\
do {									\
	if ((rqstp)->rq_next_page > (rqstp)->rq_respages)		\
		(rqstp)->rq_respages++;					\
} while (0)
#define rpcrdma_rqst_reply_gone(rqstp, end, keep)			\
	((rqstp)->rq_next_page = (rqstp)->rq_respages)
#define rpcrdma_rqst_reply_gap(rqstp, page)	do { } while (0)
#endif

#endif /* RPCRDMA_COMPAT_H */
