/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only file that knows a kernel version. Written for 6.12; fills in
 * names and functions that 6.1 lacks. Force-included before every file.
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

/* rxe of 6.1 completes work requests in softirqs, later ones in a workqueue */
#define RPCRDMA_RXE_COMPLETES_IN_THREAD \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0))

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

#endif /* RPCRDMA_COMPAT_H */
