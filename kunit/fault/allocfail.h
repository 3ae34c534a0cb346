/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * CONFIG_RPCRDMA_FAULT alone: Kbuild includes this header before every file, so
 * that a test can fail each call of these functions once. A call site is named
 * by file, function and line: two of them on one line share a name.
 *
 * The headers come first, as a macro must not meet a prototype. A function that
 * some kernel has as a macro is called from a wrapper, defined before the name is
 * taken.
 */
#ifndef RPCRDMA_ALLOCFAIL_H
#define RPCRDMA_ALLOCFAIL_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu-refcount.h>
#include <linux/percpu_counter.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>
#include <linux/sysctl.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

/**
 * struct rpcrdma_alloc_site - a call that can be made to fail
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

/* @failure instead of @call, if this site was told to fail */
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

static inline void *__fail_kmalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp);
}

static inline void *__fail_kzalloc(size_t size, gfp_t gfp)
{
	return kzalloc(size, gfp);
}

static inline void *__fail_kmalloc_array_node(size_t n, size_t size, gfp_t gfp,
					      int node)
{
	return kmalloc_array_node(n, size, gfp, node);
}

static inline void *__fail_kvmalloc(size_t size, gfp_t gfp)
{
	return kvmalloc(size, gfp);
}

static inline void *__fail_kmalloc_node(size_t size, gfp_t gfp, int node)
{
	return kmalloc_node(size, gfp, node);
}

static inline void *__fail_kzalloc_node(size_t size, gfp_t gfp, int node)
{
	return kzalloc_node(size, gfp, node);
}

static inline void *__fail_kvmalloc_node(size_t size, gfp_t gfp, int node)
{
	return kvmalloc_node(size, gfp, node);
}

static inline struct page *__fail_alloc_pages_node(int node, gfp_t gfp,
						   unsigned int order)
{
	return alloc_pages_node(node, gfp, order);
}

static inline struct page *__fail_alloc_page(gfp_t gfp)
{
	return alloc_page(gfp);
}

static inline char *__fail_kstrdup(const char *s, gfp_t gfp)
{
	return kstrdup(s, gfp);
}

static inline int __fail_percpu_counter_init(struct percpu_counter *counter,
					     s64 amount, gfp_t gfp)
{
	return percpu_counter_init(counter, amount, gfp);
}

static inline struct ib_pd *__fail_ib_alloc_pd(struct ib_device *device,
					       unsigned int flags)
{
	return ib_alloc_pd(device, flags);
}

/* Firmware is slow: rpcrdma.slow_cq ms for each CQ, of which a connection has two */
extern unsigned int rpcrdma_slow_cq;

static inline struct ib_cq *__fail_ib_alloc_cq(struct ib_device *device,
					       void *private, int nr_cqe,
					       int vector,
					       enum ib_poll_context context)
{
	msleep(rpcrdma_slow_cq);
	return ib_alloc_cq(device, private, nr_cqe, vector, context);
}

static inline struct rdma_cm_id *
__fail_rdma_create_id(struct net *net, rdma_cm_event_handler handler,
		      void *context, enum rdma_ucm_port_space ps,
		      enum ib_qp_type type)
{
	return rdma_create_id(net, handler, context, ps, type);
}

static inline void *__fail_kvzalloc_node(size_t size, gfp_t gfp, int node)
{
	return kvzalloc_node(size, gfp, node);
}

static inline void *__fail_kcalloc(size_t n, size_t size, gfp_t gfp)
{
	return kcalloc(n, size, gfp);
}

static inline struct workqueue_struct *
__fail_alloc_workqueue(const char *name, unsigned int flags, int max_active)
{
	return alloc_workqueue("%s", flags, max_active, name);
}

#undef kcalloc
#define kcalloc(...) RPCRDMA_ALLOC(NULL, __fail_kcalloc(__VA_ARGS__))
#undef kzalloc_node
#define kzalloc_node(...) RPCRDMA_ALLOC(NULL, __fail_kzalloc_node(__VA_ARGS__))
#undef kvzalloc_node
#define kvzalloc_node(...) RPCRDMA_ALLOC(NULL, __fail_kvzalloc_node(__VA_ARGS__))
#undef kmalloc
#define kmalloc(...) RPCRDMA_ALLOC(NULL, __fail_kmalloc(__VA_ARGS__))
#undef kzalloc
#define kzalloc(...) RPCRDMA_ALLOC(NULL, __fail_kzalloc(__VA_ARGS__))
#undef kmalloc_array_node
#define kmalloc_array_node(...) RPCRDMA_ALLOC(NULL, __fail_kmalloc_array_node(__VA_ARGS__))
#undef kvmalloc
#define kvmalloc(...) RPCRDMA_ALLOC(NULL, __fail_kvmalloc(__VA_ARGS__))
#undef kmalloc_node
#define kmalloc_node(...) RPCRDMA_ALLOC(NULL, __fail_kmalloc_node(__VA_ARGS__))
#undef kvmalloc_node
#define kvmalloc_node(...) RPCRDMA_ALLOC(NULL, __fail_kvmalloc_node(__VA_ARGS__))
#undef alloc_pages_node
#define alloc_pages_node(...) RPCRDMA_ALLOC(NULL, __fail_alloc_pages_node(__VA_ARGS__))
#undef alloc_page
#define alloc_page(...) RPCRDMA_ALLOC(NULL, __fail_alloc_page(__VA_ARGS__))
#undef kstrdup
#define kstrdup(...) RPCRDMA_ALLOC(NULL, __fail_kstrdup(__VA_ARGS__))
#define kasprintf(...) RPCRDMA_ALLOC(NULL, kasprintf(__VA_ARGS__))
#define kvasprintf(...) RPCRDMA_ALLOC(NULL, kvasprintf(__VA_ARGS__))

#define vmap(...) RPCRDMA_ALLOC(NULL, vmap(__VA_ARGS__))

#undef percpu_counter_init
#define percpu_counter_init(...) RPCRDMA_ALLOC(-ENOMEM, __fail_percpu_counter_init(__VA_ARGS__))
#define percpu_ref_init(...) RPCRDMA_ALLOC(-ENOMEM, percpu_ref_init(__VA_ARGS__))
#undef alloc_workqueue
#define alloc_workqueue(...) RPCRDMA_ALLOC(NULL, __fail_alloc_workqueue(__VA_ARGS__))
#define proc_net_mkdir(...) RPCRDMA_ALLOC(NULL, proc_net_mkdir(__VA_ARGS__))
#define proc_create_net_single(...) RPCRDMA_ALLOC(NULL, proc_create_net_single(__VA_ARGS__))
#define register_pernet_subsys(...) RPCRDMA_ALLOC(-ENOMEM, register_pernet_subsys(__VA_ARGS__))
#ifdef register_sysctl /* as a call of this */
#define register_sysctl_sz(...) RPCRDMA_ALLOC(NULL, register_sysctl_sz(__VA_ARGS__))
#else
#define register_sysctl(...) RPCRDMA_ALLOC(NULL, register_sysctl(__VA_ARGS__))
#endif
#define xprt_alloc(...) RPCRDMA_ALLOC(NULL, xprt_alloc(__VA_ARGS__))

#define ib_register_client(...) RPCRDMA_ALLOC(-ENOMEM, ib_register_client(__VA_ARGS__))
#undef ib_alloc_pd
#define ib_alloc_pd(...) RPCRDMA_ALLOC(ERR_PTR(-ENOMEM), __fail_ib_alloc_pd(__VA_ARGS__))
#undef ib_alloc_cq
#define ib_alloc_cq(...) RPCRDMA_ALLOC(ERR_PTR(-ENOMEM), __fail_ib_alloc_cq(__VA_ARGS__))
#define ib_alloc_mr(...) RPCRDMA_ALLOC(ERR_PTR(-ENOMEM), ib_alloc_mr(__VA_ARGS__))
#define ib_map_mr_sg(...) RPCRDMA_ALLOC(0, ib_map_mr_sg(__VA_ARGS__))
#define ib_modify_qp(...) RPCRDMA_ALLOC(-EIO, ib_modify_qp(__VA_ARGS__))
#define rdma_rw_ctx_init(...) RPCRDMA_ALLOC(-ENOMEM, rdma_rw_ctx_init(__VA_ARGS__))
#undef rdma_create_id
#define rdma_create_id(...) RPCRDMA_ALLOC(ERR_PTR(-ENOMEM), __fail_rdma_create_id(__VA_ARGS__))
#define rdma_create_qp(...) RPCRDMA_ALLOC(-ENOMEM, rdma_create_qp(__VA_ARGS__))
#define rdma_bind_addr(...) RPCRDMA_ALLOC(-ENOMEM, rdma_bind_addr(__VA_ARGS__))
#define rdma_listen(...) RPCRDMA_ALLOC(-ENOMEM, rdma_listen(__VA_ARGS__))
#define rdma_resolve_addr(...) RPCRDMA_ALLOC(-ENOMEM, rdma_resolve_addr(__VA_ARGS__))
#define rdma_resolve_route(...) RPCRDMA_ALLOC(-ENOMEM, rdma_resolve_route(__VA_ARGS__))
#define rdma_connect(...) RPCRDMA_ALLOC(-ENOMEM, rdma_connect(__VA_ARGS__))
#define rdma_accept(...) RPCRDMA_ALLOC(-ENOMEM, rdma_accept(__VA_ARGS__))

/* rxe and siw do not know a mapping that failed */
static inline bool __fail_mapping_error(struct ib_device *device, u64 addr)
{
	return addr == DMA_MAPPING_ERROR || ib_dma_mapping_error(device, addr);
}

#define ib_dma_mapping_error(...) __fail_mapping_error(__VA_ARGS__)
#define ib_dma_map_single(...) RPCRDMA_ALLOC(DMA_MAPPING_ERROR, ib_dma_map_single(__VA_ARGS__))
#define ib_dma_map_page(...) RPCRDMA_ALLOC(DMA_MAPPING_ERROR, ib_dma_map_page(__VA_ARGS__))
#define ib_dma_map_sg(...) RPCRDMA_ALLOC(0, ib_dma_map_sg(__VA_ARGS__))

/* Firmware is slow: rpcrdma.slow_dereg ms for each MR */
extern unsigned int rpcrdma_slow_dereg;

static inline int __slow_ib_dereg_mr(struct ib_mr *mr)
{
	msleep(rpcrdma_slow_dereg);
	return ib_dereg_mr(mr);
}

#define ib_dereg_mr(mr) __slow_ib_dereg_mr(mr)

/* rpcrdma.slow_reject ms from the error state of a rejected queue pair to the CM event */
extern unsigned int rpcrdma_slow_reject;

static inline const char *__slow_rdma_reject_msg(struct rdma_cm_id *id, int reason)
{
	msleep(rpcrdma_slow_reject);
	return rdma_reject_msg(id, reason);
}

#define rdma_reject_msg(id, reason) __slow_rdma_reject_msg(id, reason)

/* rpcrdma.slow_last ms between a count of zero and the code that depends on it */
extern unsigned int rpcrdma_slow_last;

static inline bool __slow_atomic_dec_and_test(atomic_t *v)
{
	bool last = atomic_dec_and_test(v);

	if (last)
		mdelay(rpcrdma_slow_last);
	return last;
}

#undef atomic_dec_and_test
#define atomic_dec_and_test(v) __slow_atomic_dec_and_test(v)

/* The device did not flush its queues in time */
#undef time_is_before_jiffies
#define time_is_before_jiffies(end) RPCRDMA_ALLOC(true, time_after(jiffies, end))

#endif /* RPCRDMA_ALLOCFAIL_H */
