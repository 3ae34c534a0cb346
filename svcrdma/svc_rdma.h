/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The server's own structures. Files call each other downwards only:
 *
 *	listen -> xprt -> recvfrom -> backchannel, read -> sendto ->
 *	       ulb, rq_arg -> ctxt -> rw -> queue, layout, sysctl
 */
#ifndef SVCRDMA_SVC_RDMA_H
#define SVCRDMA_SVC_RDMA_H

#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/percpu-refcount.h>
#include <linux/percpu_counter.h>
#include <linux/sizes.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>
#include <linux/sunrpc/xprt.h>

#include "rpcrdma/endpoint.h"
#include "layout.h"

/* Results of one RPC that may go into Write chunks, and Write chunks */
#define SVC_RDMA_MAX_PAYLOADS	8

/* Segments in a Read list, or in a Write list and Reply chunk together */
#define SVC_RDMA_MAX_SEGMENTS	512

/* SGEs of an RDMA Read or Write, if the device has so many */
#define SVC_RDMA_RW_SGES	32

/* SGEs of a Send: the header and pages that follow it in place */
#define SVC_RDMA_SEND_SGES	16

/* RFC 8167: RPCs outstanding in the reverse direction */
#define SVC_RDMA_BC_CREDITS	2

/* A Send has these uncharged beside its buffer: the data of a READ of 4 KiB, and a tail */
#define SVC_RDMA_FEW_PAGES	2U

/* Receives beyond those that credits need, so that refills can be batched */
#define SVC_RDMA_RECV_BATCH	8

/**
 * struct svc_rdma_page_limit - pages in use by one kind of work of a connection
 * @max: the limit; one RPC alone may exceed it
 * @charged: pages in use
 * @peak: the highest @charged
 * @waits: counts Calls that had to wait
 */
struct svc_rdma_page_limit {
	u32 max;
	u32 charged;
	u32 peak;
	u64 waits;
};

/**
 * struct svc_rdma_queue - next jobs of a connection: private to queue.c
 * @lock: protects all of it; taken in softirqs, too
 * @detached: sunrpc has detached the svc_xprt: do not touch it any more
 * @ring: Receives that no thread has taken yet, with room for all
 * @mask: its size, less one
 * @first: counts Receives that left the ring
 * @end: counts Receives that entered it
 * @ready: Calls to be delivered: their RDMA Reads are complete, or they wait
 *	for pages of Replies
 * @waiting: Calls whose RDMA Reads wait for pages or MRs, in order
 * @reads: pages that RDMA Reads in flight go to
 * @replies: pages that Sends in flight hold
 * @max_mrs: MRs of the queue pair; 0 if rdma_rw uses none on this device
 * @mrs: MRs in use, or about to be
 */
struct svc_rdma_queue {
	spinlock_t lock;
	bool detached;
	struct rpcrdma_recv **ring;
	u32 mask;
	u32 first;
	u32 end;
	struct list_head ready;
	struct list_head waiting;
	struct svc_rdma_page_limit reads;
	struct svc_rdma_page_limit replies;
	u32 max_mrs;
	u32 mrs;
};

/**
 * struct svc_rdma_conn - one connection, as sunrpc sees it
 * @xprt: sunrpc's part
 * @ep: the endpoint; a reference is held until the memory is freed
 * @refs: one of sunrpc until xpo_free, one of the endpoint until DEAD. The
 *	endpoint holds no reference on @xprt, which ageing would count.
 * @listener: of the Connect Request, until sunrpc has the connection
 * @set_up: sets it up
 * @pending: in its listener's list of connections to accept
 * @limits: the headers that we accept
 * @credit_use: how fast the credits are used; with XPT_BUSY
 * @requested: credits that the last Call asked for
 * @granted: credits that the last Reply granted
 * @use: references of threads that use @ep's QP and device; dead: these are
 *	about to go
 * @unused: completed when @use has no references
 * @queue: next jobs, and limits of resources in flight
 * @bad_rkey_noted: svc_rdma_note_bad_rkey() knows which Call caused @ep->bad_rkey
 * @nr_calls: Call contexts in existence
 * @nr_sends: Send contexts in existence
 * @nr_rws: RDMA Read and Write contexts in existence
 * @lock: protects the members that follow
 * @free_rws: idle ones, by size class
 * @nr_free_rws: how many of each
 * @free_calls: idle Call contexts; @lock to take one, none to give one back
 * @free_sends: idle Send contexts; likewise
 */
struct svc_rdma_conn {
	struct svc_xprt xprt;
	struct rpcrdma_ep *ep;
	refcount_t refs;
	struct svc_rdma_listener *listener;
	struct work_struct set_up;
	struct list_head pending;
	struct rpcrdma_limits limits;
	struct rpcrdma_credit_use credit_use;
	u32 requested;
	u32 granted;

	struct percpu_ref use;
	struct completion unused;

	/* On cache lines of their own: each RPC takes both locks */
	struct svc_rdma_queue queue ____cacheline_aligned_in_smp;

	bool bad_rkey_noted;
	atomic_t nr_calls;
	atomic_t nr_sends;
	atomic_t nr_rws;

	/* All that follows */
	spinlock_t lock ____cacheline_aligned_in_smp;
	struct svc_rdma_rw *free_rws[2];
	unsigned int nr_free_rws[2];
	struct llist_head free_calls;
	struct llist_head free_sends;
};

static inline struct svc_rdma_conn *svc_rdma_conn(struct svc_xprt *xprt)
{
	return container_of(xprt, struct svc_rdma_conn, xprt);
}

/*
 * Keeps the teardown from destroying QP and device. No thread waits for the
 * peer within, nor for a mount of this host by the same device, as reclaim may:
 * allocations are GFP_NOIO. No nesting. If it returns true svc_rdma_leave()
 * must follow.
 */
static inline bool svc_rdma_enter(struct svc_rdma_conn *conn)
{
	return percpu_ref_tryget_live(&conn->use);
}

static inline void svc_rdma_leave(struct svc_rdma_conn *conn)
{
	percpu_ref_put(&conn->use);
}

/**
 * struct svc_rdma_piece - bytes of an xdr_buf that lie within one page
 * @page: the page
 * @offset: where in it they begin
 * @len: how many
 * @next: if they are in the page part: the pages that follow
 * @left: bytes of these
 */
struct svc_rdma_piece {
	struct page *page;
	u32 offset;
	u32 len;
	struct page **next;
	u32 left;
};

/* The bytes at @at in one page and one part of @buf; false behind its end */
static inline bool svc_rdma_buf_piece(struct svc_rdma_piece *piece,
				      const struct xdr_buf *buf, u32 at)
{
	const struct kvec *vec = &buf->head[0];
	u32 left;

	if (at >= vec->iov_len && at - vec->iov_len < buf->page_len) {
		at -= vec->iov_len;
		left = buf->page_len - at;
		at += buf->page_base;
		piece->next = &buf->pages[at >> PAGE_SHIFT];
		piece->page = *piece->next++;
		piece->offset = offset_in_page(at);
		piece->len = min_t(u32, left, PAGE_SIZE - piece->offset);
		piece->left = left - piece->len;
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
		piece->len = min_t(u32, left, PAGE_SIZE - piece->offset);
		piece->left = 0;
	}
	return true;
}

/**
 * struct svc_rdma_rwset - RDMA Reads or Writes that go into one chain
 * @last: contexts, the last first; NULL: the set is empty
 * @slots: WRs they take
 * @memory: of the contexts, in eighths of a page: see svc_rdma_pages_charged()
 * @mrs: MRs of the queue pair that are charged to the set
 * @dir: DMA_FROM_DEVICE: Reads; DMA_TO_DEVICE: Writes
 */
struct svc_rdma_rwset {
	struct svc_rdma_rw *last;
	u32 slots;
	u32 memory;
	u32 mrs;
	enum dma_data_direction dir;
};

/* Of an RPC with 1 MiB at any alignment, as nfsd counts: head and tail, too */
#define SVC_RDMA_MIB_PAGES	(SZ_1M / PAGE_SIZE + 3)

/* Bytes that a small context moves at any alignment */
#define SVC_RDMA_RW_SMALL_LEN	(3 * PAGE_SIZE)
/*
 * The memory of a small context is the unit, at most an eighth of a page; and
 * of a large one
 */
#define SVC_RDMA_RW_PER_PAGE	8U
#define SVC_RDMA_RW_LARGE	32U

/*
 * With data in many segments contexts take more memory than the data. Memory
 * beyond one unit for each page, which any RPC may need, is charged as pages.
 */
static inline u32 svc_rdma_pages_charged(u32 pages, u32 memory)
{
	return memory <= pages ? pages :
	       pages + (memory - pages) / SVC_RDMA_RW_PER_PAGE;
}

/**
 * struct svc_rdma_payload - a result that may go into a Write chunk
 * @offset: of its first byte in the Reply
 * @length: bytes, without XDR roundup
 */
struct svc_rdma_payload {
	u32 offset;
	u32 length;
};

/**
 * struct svc_rdma_call - one Call being processed: rqstp->rq_xprt_ctxt
 * @free: among the connection's idle ones
 * @list: among its ready or waiting ones
 * @conn: its connection
 * @recv: the message, until the Reply is encoded
 * @layout: where the message goes; set if it has Read chunks
 * @want_pages: pages that are to be charged for its RDMA Reads
 * @want_mrs: MRs that are to be charged for them
 * @pages_charged: pages that are charged for them
 * @chain: RDMA Reads
 * @reads: their contexts
 * @fence: a Read behind them, on devices with RPCRDMA_QUIRK_EARLY_READ_COMPLETION
 * @fence_sge: where it goes
 * @sink: where they go: @pages, with neither head nor tail
 * @pages: room for rpcrdma_serv_pages(), allocated at first need
 * @nr_pages: how many of @pages are owned
 * @head: several pages of the thread, mapped as one range for nfsd, or NULL
 * @nr_payloads: how many of @payload are set
 * @payload: results that the Upper Layer marked in the Reply, in order
 */
struct svc_rdma_call {
	struct llist_node free;
	struct list_head list;
	struct svc_rdma_conn *conn;
	struct rpcrdma_recv *recv;
	enum rpcrdma_layout layout;
	u32 want_pages;
	u32 want_mrs;
	u32 pages_charged;
	struct rpcrdma_chain chain;
	struct svc_rdma_rwset reads;
	struct ib_rdma_wr fence;
	struct ib_sge fence_sge;
	struct xdr_buf sink;
	struct page **pages;
	unsigned int nr_pages;
	void *head;
	unsigned int nr_payloads;
	struct svc_rdma_payload payload[SVC_RDMA_MAX_PAYLOADS];
};

/**
 * struct svc_rdma_result - a Write chunk and its contents
 * @chunk: as the Requester offered it
 * @payload: length 0: the chunk is not used
 */
struct svc_rdma_result {
	struct rpcrdma_chunk chunk;
	struct svc_rdma_payload payload;
};

/**
 * struct svc_rdma_reply - how a Reply travels
 * @call: the Call
 * @send: the message
 * @buf: the RPC Reply
 * @result: the Write list, in order
 * @nr_results: its chunks
 * @range: the rest of @buf without the Write chunks' payloads
 * @nr_ranges: how many
 * @rest: bytes of all ranges
 * @first_page: the device reads nfsd's first page, which has head and tail
 * @it: walks the Write list
 * @chunk: the Reply chunk
 *
 * Part of the Send context: on the stack the kernel would zero it each time.
 */
struct svc_rdma_reply {
	struct svc_rdma_call *call;
	struct svc_rdma_send *send;
	const struct xdr_buf *buf;
	struct svc_rdma_result result[SVC_RDMA_MAX_PAYLOADS];
	unsigned int nr_results;
	struct svc_rdma_payload range[SVC_RDMA_MAX_PAYLOADS + 1];
	unsigned int nr_ranges;
	u32 rest;
	bool first_page;
	struct rpcrdma_write_iter it;
	struct rpcrdma_chunk chunk;
};

/**
 * struct svc_rdma_send - one message to be sent, and all that it owns
 * @free: among the connection's idle ones
 * @conn: its connection
 * @chain: RDMA Writes and the Send
 * @wr: the Send; fields that are the same for all messages stay set
 * @sge: its SGEs; the first one is the header buffer, only its length changes
 * @nr_sge: how many are set
 * @buf: the Transport Header, and bytes that are copied behind it
 * @xid: of the RPC, if it is a Reply
 * @form: how the header is written
 * @enc: writes it
 * @writes: contexts of the RDMA Writes
 * @pages: @few, or room for rpcrdma_serv_pages(), allocated at first need
 * @few: pages of a small Reply
 * @nr_pages: how many are owned
 * @pages_charged: of the connection's limit for Replies
 * @reply: how a Reply is put together
 */
struct svc_rdma_send {
	struct llist_node free;
	struct svc_rdma_conn *conn;
	struct rpcrdma_chain chain;
	struct ib_send_wr wr;
	struct ib_sge sge[SVC_RDMA_SEND_SGES];
	unsigned int nr_sge;
	struct rpcrdma_dmabuf buf;
	u32 xid;
	struct rpcrdma_form form;
	struct rpcrdma_enc enc;
	struct svc_rdma_rwset writes;
	struct page **pages;
	struct page *few[SVC_RDMA_FEW_PAGES];
	unsigned int nr_pages;
	u32 pages_charged;
	struct svc_rdma_reply reply;
};

/* sysctl.c */

/**
 * enum svc_rdma_counter - of all connections
 * @SVC_RDMA_READ: segments read
 * @SVC_RDMA_RECV: messages received
 * @SVC_RDMA_WRITE: segments, or parts of them, written
 * @SVC_RDMA_SQ_STARVE: times that a Send Queue was full
 * @SVC_RDMA_PINNED: pages of RDMA Reads and Replies in flight
 * @SVC_RDMA_COUNTERS: how many there are
 */
enum svc_rdma_counter {
	SVC_RDMA_READ,
	SVC_RDMA_RECV,
	SVC_RDMA_WRITE,
	SVC_RDMA_SQ_STARVE,
	SVC_RDMA_PINNED,
	SVC_RDMA_COUNTERS
};

extern unsigned int svc_rdma_max_requests;
extern unsigned int svc_rdma_first_requests;
extern unsigned int svc_rdma_max_req_size;
extern unsigned int svc_rdma_max_outbound_reads;
extern unsigned int svc_rdma_max_outbound_size;
extern unsigned int svc_rdma_max_reply_size;
extern unsigned long svc_rdma_max_total_size;
extern unsigned int svc_rdma_keepalive;
extern unsigned int svc_rdma_max_version;
extern struct percpu_counter svc_rdma_counters[];
int svc_rdma_sysctl_init(void);
void svc_rdma_sysctl_exit(void);

/* queue.c */
void svc_rdma_queue_init(struct svc_rdma_conn *conn);
int svc_rdma_queue_setup(struct rpcrdma_ep *ep);
u32 svc_rdma_grant(struct svc_rdma_conn *conn);
void svc_rdma_queue_detach(struct svc_rdma_conn *conn);
void svc_rdma_queue_close(struct rpcrdma_ep *ep);
void svc_rdma_queue_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv);
void svc_rdma_queue_ready(struct svc_rdma_call *call);
bool svc_rdma_queue_reads(struct svc_rdma_call *call);
void svc_rdma_queue_next(struct svc_rdma_conn *conn,
			 struct svc_rdma_call **call,
			 struct rpcrdma_recv **recv);
bool svc_rdma_queue_drop(struct svc_rdma_conn *conn,
			 struct svc_rdma_call **call,
			 struct rpcrdma_recv **recv);
void svc_rdma_charge_reply(struct svc_rdma_conn *conn, u32 pages);
bool svc_rdma_charge_mrs(struct svc_rdma_conn *conn, u32 mrs);
void svc_rdma_uncharge(struct svc_rdma_conn *conn, u32 read_pages,
		       u32 reply_pages, u32 mrs);
void svc_rdma_queue_show(struct rpcrdma_ep *ep, struct seq_file *seq);

bool svc_rdma_may_reply(const struct svc_rdma_conn *conn);

/* rw.c */
u32 svc_rdma_rw_mrs(const struct svc_rdma_conn *conn, u32 pages,
		    enum dma_data_direction dir);
int svc_rdma_rwset_add(struct svc_rdma_conn *conn, struct svc_rdma_rwset *set,
		       const struct xdr_buf *buf, u32 at,
		       const struct rpcrdma_segment *seg);
void svc_rdma_rwset_append(struct svc_rdma_conn *conn,
			   struct svc_rdma_rwset *set,
			   struct rpcrdma_chain *chain, struct ib_send_wr *send);
void svc_rdma_rwset_release(struct svc_rdma_conn *conn,
			    struct svc_rdma_rwset *set);
void svc_rdma_rws_free(struct svc_rdma_conn *conn);
void svc_rdma_note_bad_rkey(struct svc_rdma_conn *conn, u32 xid);
bool svc_rdma_had_bad_rkey(struct svc_rdma_conn *conn, u32 xid);

/* ctxt.c */

/* A page of an nfsd thread has other references: do not write to it */
static inline bool svc_rdma_page_is_shared(struct page *page)
{
	return page_ref_count(page) != 1;
}

int svc_rdma_pools_alloc(gfp_t gfp);
void svc_rdma_pools_free(void);
void svc_rdma_pages_put(struct page **pages, unsigned int nr);
struct page *svc_rdma_page_replace(struct page *page);
void svc_rdma_pages_drain(void);
struct svc_rdma_call *svc_rdma_call_get(struct svc_rdma_conn *conn);
void svc_rdma_call_put(struct svc_rdma_call *call);
void svc_rdma_call_put_reads(struct svc_rdma_call *call);
int svc_rdma_call_own_pages(struct svc_rdma_call *call, struct svc_rqst *rqstp,
			    unsigned int nr);
void svc_rdma_calls_free(struct svc_rdma_conn *conn);
struct svc_rdma_send *svc_rdma_send_get(struct svc_rdma_conn *conn, u32 vers,
					gfp_t gfp);
void svc_rdma_send_reset(struct svc_rdma_send *send, u32 vers);
void svc_rdma_send_put(struct svc_rdma_send *send);
void svc_rdma_send_copy(struct svc_rdma_send *send, const struct xdr_buf *buf,
			u32 offset, u32 len);
int svc_rdma_send_map(struct svc_rdma_send *send, const struct xdr_buf *buf,
		      u32 offset, u32 len);
int svc_rdma_send_own_pages(struct svc_rdma_send *send, struct page **page,
			    struct page **end);
int svc_rdma_sends_alloc(struct svc_rdma_conn *conn);
void svc_rdma_sends_unmap(struct svc_rdma_conn *conn);
void svc_rdma_sends_free(struct svc_rdma_conn *conn);

/* The header is not needed any more: the next Call may have the buffer */
static inline void svc_rdma_call_put_recv(struct svc_rdma_call *call)
{
	struct rpcrdma_recv *recv = call->recv;

	call->recv = NULL;
	if (recv)
		rpcrdma_recv_put(recv);
}

/* ulb.c */
int svc_rdma_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			    unsigned int length);
void svc_rdma_filter_payloads(const struct svc_rqst *rqstp,
			      struct svc_rdma_call *call);
struct page **svc_rdma_reply_end(const struct svc_rqst *rqstp);
void svc_rdma_drop_forgotten_pages(struct svc_rqst *rqstp);

/* rq_arg.c */
bool svc_rdma_has_pages(const struct svc_rqst *rqstp, unsigned int nr);
int svc_rdma_arg_inline(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr);
int svc_rdma_arg_from_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call);

/* sendto.c */
int svc_rdma_sendto(struct svc_rqst *rqstp);
int svc_rdma_send_post(struct svc_rdma_send *send, u32 inv_handle);
void svc_rdma_send_rdma_error(struct svc_rdma_conn *conn,
			      struct rpcrdma_recv *recv,
			      enum rpcrdma_errcode errcode, const char *why);
void svc_rdma_reject_call(struct svc_rdma_call *call, const char *why);

/* read.c */
int svc_rdma_begin_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call);
int svc_rdma_start_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call);

/* backchannel.c */
void svc_rdma_bc_reply(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv);
bool svc_rdma_bc_error(struct svc_rdma_conn *conn, u32 xid);
extern struct xprt_class svc_rdma_bc_class;

/* recvfrom.c */
int svc_rdma_recvfrom(struct svc_rqst *rqstp);
void svc_rdma_release_ctxt(struct svc_xprt *xprt, void *ctxt);

/* xprt.c */
struct svc_rdma_conn *svc_rdma_conn_create(struct svc_xprt *listener,
					   struct rdma_cm_id *id,
					   const struct rdma_cm_event *event);
void svc_rdma_conn_abandon(struct svc_rdma_conn *conn);
int svc_rdma_has_wspace(struct svc_xprt *xprt);
void svc_rdma_kill_temp_xprt(struct svc_xprt *xprt);
void svc_rdma_conns_wait(void);

#endif /* SVCRDMA_SVC_RDMA_H */
