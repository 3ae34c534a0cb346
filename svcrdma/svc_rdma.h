/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The server's own structures. Files call each other downwards only:
 *
 *	listen -> xprt -> recvfrom, sendto -> backchannel, read, result -> send,
 *	       call -> arg, rw -> pages, budget, sysctl
 */
#ifndef SVCRDMA_SVC_RDMA_H
#define SVCRDMA_SVC_RDMA_H

#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/percpu_counter.h>
#include <linux/rwsem.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>
#include <linux/sunrpc/xprt.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/layout.h"
#include "budget.h"

struct svc_rdma_call;
struct svc_rdma_rw;

/* Results of one RPC that may go into Write chunks, and Write chunks */
#define SVC_RDMA_MAX_PAYLOADS	8

/* Most segments in a Read list, or in a Write list and Reply chunk together */
#define SVC_RDMA_MAX_SEGMENTS	512

/* SGEs of an RDMA Read or Write, where the device has so many */
#define SVC_RDMA_RW_SGES	32

/* RFC 8167: RPCs outstanding in the reverse direction */
#define SVC_RDMA_BC_CREDITS	2

/* Receives beyond those that credits need, so that refills can be batched */
#define SVC_RDMA_RECV_BATCH	8

/**
 * struct svc_rdma_conn - one connection, as sunrpc sees it
 * @xprt: sunrpc's part
 * @ep: the endpoint; a reference is held until the memory is freed
 * @refs: who needs this memory: sunrpc until xpo_free, the endpoint until DEAD.
 *	The endpoint holds no reference on @xprt, which ageing would count.
 * @pending: in its listener's list of connections to accept
 * @limits: what headers we take
 * @use: read: within, @ep's QP and device are there. Write: ops.release
 * @released: protected by @use: they are no longer
 * @lock: protects what follows; a plain one, as nothing comes in a softirq
 * @detached: sunrpc forgot @xprt: do not touch it any more
 * @received: Receives that nobody looked at yet: a ring with room for all
 * @received_mask: its size, less one
 * @received_first: counts what left it
 * @received_end: counts what entered it
 * @ready: Calls of which nothing is missing, the first of them: their RDMA Reads are
 *	complete, or others' Replies had too many pages when their turn came
 * @ready_end: where the next of them goes
 * @replies: pages that Sends have; without room no more are begun
 * @nr_calls: Call contexts in existence
 * @nr_sends: Send contexts in existence
 * @free_rws: idle RDMA Read and Write contexts, by size class
 * @nr_free_rws: how many of each
 * @rws_taken: counts contexts that were taken
 * @rws_returned: and those that became idle again; the others are in use
 * @waiting: Calls that have no pages to read into yet, in order, the first of them
 * @waiting_end: where the next of them goes
 * @starved: the first of them waits until a context, and the MRs it holds, is idle
 * @reads: pages that RDMA Reads in flight go to
 * @free_calls: idle Call contexts; @lock to take one, none to give one back
 * @free_sends: idle Send contexts; likewise
 */
struct svc_rdma_conn {
	struct svc_xprt xprt;
	struct rpcrdma_ep *ep;
	refcount_t refs;
	struct list_head pending;
	struct rpcrdma_limits limits;

	struct rw_semaphore use;
	bool released;

	spinlock_t lock; /* all that follows */
	bool detached;
	struct rpcrdma_recv **received;
	u32 received_mask;
	u32 received_first;
	u32 received_end;
	struct svc_rdma_call *ready;
	struct svc_rdma_call **ready_end;
	struct svc_rdma_budget replies;
	unsigned int nr_calls;
	unsigned int nr_sends;
	struct svc_rdma_rw *free_rws[2];
	unsigned int nr_free_rws[2];
	u32 rws_taken;
	u32 rws_returned;
	struct svc_rdma_call *waiting;
	struct svc_rdma_call **waiting_end;
	bool starved;
	struct svc_rdma_budget reads;

	struct llist_head free_calls;
	struct llist_head free_sends;
};

static inline struct svc_rdma_conn *svc_rdma_conn(struct svc_xprt *xprt)
{
	return container_of(xprt, struct svc_rdma_conn, xprt);
}

/**
 * svc_rdma_make_ready - let an nfsd thread look at the connection
 * @conn: connection
 *
 * sunrpc may be told only while it knows of the svc_xprt.
 *
 * Context: process; the caller holds conn->lock.
 */
static inline void svc_rdma_make_ready(struct svc_rdma_conn *conn)
{
	if (conn->detached)
		return;
	set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	svc_xprt_enqueue(&conn->xprt);
}

/**
 * svc_rdma_enter - use the connection's QP and device
 * @conn: connection
 *
 * Keeps the teardown from destroying them. Nobody waits for the peer within, nor for a
 * mount of this host by the same device, as reclaim may: memory is asked for with GFP_NOIO.
 *
 * Context: process, may sleep while the teardown releases. No nesting.
 *
 * Return: true, to be followed by svc_rdma_leave(); false when they are gone.
 */
static inline bool svc_rdma_enter(struct svc_rdma_conn *conn)
{
	down_read(&conn->use);
	if (likely(!conn->released))
		return true;
	up_read(&conn->use);
	return false;
}

/**
 * svc_rdma_leave - end what svc_rdma_enter() began
 * @conn: connection
 *
 * Context: process.
 */
static inline void svc_rdma_leave(struct svc_rdma_conn *conn)
{
	up_read(&conn->use);
}

/**
 * struct svc_rdma_piece - bytes of an xdr_buf that lie within one page
 * @page: the page
 * @offset: where in it they begin
 * @len: how many
 */
struct svc_rdma_piece {
	struct page *page;
	u32 offset;
	u32 len;
};

/* As many bytes at @at as lie in one page and one part of @buf; false behind its end */
static inline bool svc_rdma_buf_piece(struct svc_rdma_piece *piece,
				      const struct xdr_buf *buf, u32 at)
{
	const struct kvec *vec = &buf->head[0];
	u32 left;

	if (at >= vec->iov_len && at - vec->iov_len < buf->page_len) {
		at -= vec->iov_len;
		left = buf->page_len - at;
		at += buf->page_base;
		piece->page = buf->pages[at >> PAGE_SHIFT];
		piece->offset = offset_in_page(at);
	} else {
		if (at >= vec->iov_len) {
			at -= vec->iov_len + buf->page_len;
			vec = &buf->tail[0];
			if (at >= vec->iov_len)
				return false;
		}
		left = vec->iov_len - at;
		piece->page = virt_to_page(vec->iov_base + at);
		piece->offset = offset_in_page(vec->iov_base + at);
	}
	piece->len = min_t(u32, left, PAGE_SIZE - piece->offset);
	return true;
}

/**
 * struct svc_rdma_rwset - RDMA Reads or Writes that go into one chain
 * @last: contexts, the last first; NULL: the set is empty
 * @slots: WRs they take
 * @memory: what they themselves take, see svc_rdma_share()
 * @pages: the share of the connection's @reads that Reads have, or of its @replies that
 *	a Send has, with Writes or without
 * @dir: DMA_FROM_DEVICE: Reads; DMA_TO_DEVICE: Writes
 */
struct svc_rdma_rwset {
	struct svc_rdma_rw *last;
	u32 slots;
	u32 memory;
	u32 pages;
	enum dma_data_direction dir;
};

/* Octets that a small context moves at any alignment */
#define SVC_RDMA_RW_SMALL_LEN	(3 * PAGE_SIZE)
/* What a small context takes is the unit, an eighth of a page at most; and a large one */
#define SVC_RDMA_RW_PER_PAGE	8U
#define SVC_RDMA_RW_LARGE	32U

/**
 * svc_rdma_share - what an RPC's RDMA Reads or Writes count as, in pages
 * @pages: those that they move
 * @memory: of their contexts, in the unit above
 *
 * A client that has its data in many segments has us keep more in contexts than in pages.
 * As much as the pages of one RPC need in whatever way does not count.
 *
 * Context: any.
 *
 * Return: the share of the connection's budget.
 */
static inline u32 svc_rdma_share(u32 pages, u32 memory)
{
	return likely(memory <= pages) ? pages :
	       pages + (memory - pages) / SVC_RDMA_RW_PER_PAGE;
}

/**
 * struct svc_rdma_payload - a result that may go into a Write chunk
 * @offset: of its first octet in the Reply
 * @length: octets, without XDR roundup
 */
struct svc_rdma_payload {
	u32 offset;
	u32 length;
};

/**
 * struct svc_rdma_call - one Call being processed: rqstp->rq_xprt_ctxt
 * @free: among the connection's idle ones
 * @next: among its ready or waiting ones
 * @conn: its connection
 * @recv: the message, until the Reply is encoded
 * @layout: where the message goes; set if it has Read chunks
 * @wanted: share of the pages that it waits for
 * @lacked_mrs: it waits for MRs, too, or did
 * @rws_returned: the connection's, when it ceased to wait
 * @chain: RDMA Reads
 * @reads: their contexts
 * @sink: where they go: @pages, with neither head nor tail
 * @pages: room for RPCSVC_MAXPAGES, allocated at first need
 * @nr_pages: how many of @pages are owned
 * @copy: the message in one piece, where nfsd needs that, or NULL
 * @nr_payloads: how many of @payload are set
 * @payload: what the Upper Layer marked in the Reply, in order
 */
struct svc_rdma_call {
	struct llist_node free;
	struct svc_rdma_call *next;
	struct svc_rdma_conn *conn;
	struct rpcrdma_recv *recv;
	enum rpcrdma_layout layout;
	u32 wanted;
	bool lacked_mrs;
	u32 rws_returned;
	struct rpcrdma_chain chain;
	struct svc_rdma_rwset reads;
	struct xdr_buf sink;
	struct page **pages;
	unsigned int nr_pages;
	u8 *copy;
	unsigned int nr_payloads;
	struct svc_rdma_payload payload[SVC_RDMA_MAX_PAYLOADS];
};

/**
 * svc_rdma_may_reply - may nfsd have a Call, whose Reply may need pages?
 * @conn: connection
 *
 * How many is not known before. Each thread may find that it may, and make it as many more
 * as the largest Reply has.
 *
 * Context: process. It becomes false at any time, and true only within conn->lock.
 *
 * Return: false when Sends have to be complete before.
 */
static inline bool svc_rdma_may_reply(const struct svc_rdma_conn *conn)
{
	return likely(svc_rdma_budget_fits(&conn->replies, 1));
}

/* sysctl.c */
extern unsigned int svc_rdma_max_requests;
extern unsigned int svc_rdma_max_req_size;
extern unsigned int svc_rdma_max_outbound_reads;
extern unsigned int svc_rdma_max_outbound_size;
extern unsigned int svc_rdma_max_reply_size;
extern unsigned int svc_rdma_max_version;
extern struct percpu_counter svc_rdma_stat_read;
extern struct percpu_counter svc_rdma_stat_recv;
extern struct percpu_counter svc_rdma_stat_write;
extern struct percpu_counter svc_rdma_stat_sq_starve;
int svc_rdma_sysctl_init(void);
void svc_rdma_sysctl_exit(void);

/* pages.c */
/**
 * svc_rdma_page_is_shared - does anybody else refer to a page?
 * @page: page of an nfsd thread, or one that was
 *
 * Context: any.
 *
 * Return: true if so: nobody may write to it.
 */
static inline bool svc_rdma_page_is_shared(struct page *page)
{
	return page_ref_count(page) != 1;
}

unsigned int svc_rdma_pages_get(struct page **pages, unsigned int nr);
void svc_rdma_pages_put(struct page **pages, unsigned int nr);
struct page *svc_rdma_page_renew(struct page *page);
void svc_rdma_pages_drain(void);

/* rw.c */
int svc_rdma_rwset_add(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		       const struct xdr_buf *buf, u32 at,
		       const struct rpcrdma_segment *seg);
struct ib_send_wr *svc_rdma_rwset_wrs(struct svc_rdma_conn *conn,
				      struct svc_rdma_rwset *set,
				      struct rpcrdma_chain *chain,
				      struct ib_send_wr *send);
void svc_rdma_rwset_release(struct svc_rdma_conn *conn,
			    struct svc_rdma_rwset *set);
void svc_rdma_rwset_undo(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set);
bool svc_rdma_rwset_alone(struct svc_rdma_conn *conn,
			  const struct svc_rdma_rwset *set, u32 returned);
void svc_rdma_rws_free(struct svc_rdma_conn *conn);

/* call.c */
struct svc_rdma_call *svc_rdma_call_alloc(struct svc_rdma_conn *conn);
void svc_rdma_call_put(struct svc_rdma_call *call);
void svc_rdma_call_put_pages(struct svc_rdma_call *call);
int svc_rdma_call_own_pages(struct svc_rdma_call *call, struct svc_rqst *rqstp,
			    unsigned int nr);
void svc_rdma_call_ready(struct svc_rdma_call *call);
void svc_rdma_calls_free(struct svc_rdma_conn *conn);

/**
 * svc_rdma_call_get - begin to process a message
 * @conn: connection
 *
 * Context: any; the caller holds conn->lock.
 *
 * Return: an idle context, or NULL: svc_rdma_call_alloc() may have one.
 */
static inline struct svc_rdma_call *
svc_rdma_call_get(struct svc_rdma_conn *conn)
{
	struct llist_node *node = llist_del_first(&conn->free_calls);

	return node ? llist_entry(node, struct svc_rdma_call, free) : NULL;
}

/**
 * svc_rdma_call_put_recv - let the next Call have the Receive buffer
 * @call: Call whose message and header are not needed any more
 *
 * Context: process.
 */
static inline void svc_rdma_call_put_recv(struct svc_rdma_call *call)
{
	struct rpcrdma_recv *recv = call->recv;

	call->recv = NULL;
	if (recv)
		rpcrdma_recv_put(recv);
}

/* backchannel.c */
void svc_rdma_bc_reply(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv);
bool svc_rdma_bc_error(struct svc_rdma_conn *conn, u32 xid);
int svc_rdma_bc_init(void);
void svc_rdma_bc_exit(void);

/* result.c */
int svc_rdma_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			    unsigned int length);
void svc_rdma_settle_results(const struct svc_rqst *rqstp,
			     struct svc_rdma_call *call);

/* sendto.c */
int svc_rdma_sendto(struct svc_rqst *rqstp);

/* recvfrom.c */
void svc_rdma_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv);
int svc_rdma_recvfrom(struct svc_rqst *rqstp);
int svc_rdma_received_alloc(struct svc_rdma_conn *conn);
void svc_rdma_release_ctxt(struct svc_xprt *xprt, void *ctxt);
void svc_rdma_drop_received(struct svc_rdma_conn *conn);

/* xprt.c */
struct svc_rdma_conn *svc_rdma_conn_create(struct svc_xprt *listener,
					   struct svc_xprt_class *class,
					   struct rdma_cm_id *id,
					   const struct rdma_cm_event *event);
void svc_rdma_conn_abandon(struct svc_rdma_conn *conn);
void svc_rdma_conns_wait(void);

#endif /* SVCRDMA_SVC_RDMA_H */
