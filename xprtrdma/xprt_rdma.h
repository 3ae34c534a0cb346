/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The client transport: declarations that its files share.
 */
#ifndef XPRT_RDMA_H
#define XPRT_RDMA_H

#include <linux/sched/mm.h>
#include <linux/wait.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xdr.h>
#include <linux/sunrpc/xprt.h>

#include "rpcrdma/endpoint.h"
#include "plan.h"

/*
 * Largest payload of one RPC. Unaligned it touches one page more; an MR with
 * gaps covers the head and the tail, too.
 */
#define XPRT_RDMA_PAYLOAD	SZ_1M
#define XPRT_RDMA_PAYLOAD_PAGES	((XPRT_RDMA_PAYLOAD >> PAGE_SHIFT) + 3)

/*
 * Callbacks the server may have outstanding (RFC 8167, 4.1). It may send the
 * next one when it has our Reply, before we have recycled the slot.
 */
#define XPRT_RDMA_BC_CREDITS	16U
#define XPRT_RDMA_BC_REQS	(2 * XPRT_RDMA_BC_CREDITS)

/* A transport begins with so many slots, which is the fewest that it may have */
#define XPRT_RDMA_FIRST_SLOTS	4

/* A connection begins with Receives for so many credits */
#define XPRT_RDMA_FIRST_CREDITS	8U

/* Receives beyond the credits, so that they can be posted in batches */
#define XPRT_RDMA_RECV_BATCH	8U

/*
 * The buffer from which a request is sent, and thereby the largest inline
 * threshold of Calls. An inline Call is copied into it behind its header, and
 * the buffer stays mapped: the Send is not signalled, and nothing is to be
 * unmapped. Beyond this size a Read chunk costs less than the copy. The buffer
 * takes two pages, for each slot that was ever used.
 */
#define XPRT_RDMA_SEND_BUF	8192U

/**
 * struct xprt_rdma_mr - one memory region and its registration
 * @list: idle in the pool, or with the request that uses it
 * @all: in the pool's list of all
 * @mr: the verbs object; its rkey's low byte changes at each registration
 * @ep: endpoint whose PD it belongs to
 * @gaps: its kind
 * @sgl: the memory that is mapped
 * @nents: entries of @sgl in use; 0 if nothing is mapped
 * @xid: of the Call that offers it, host order
 * @dir: direction of the mapping
 * @seq: how far the Send Queue must be complete before it is freed
 * @reg: the REG_MR
 * @inv: the LOCAL_INV
 */
struct xprt_rdma_mr {
	struct list_head list;
	struct list_head all;
	struct ib_mr *mr;
	struct rpcrdma_ep *ep;
	bool gaps;
	struct scatterlist *sgl;
	unsigned int nents;
	u32 xid;
	enum dma_data_direction dir;
	u64 seq;
	struct ib_reg_wr reg;
	struct ib_send_wr inv;
};

/**
 * struct xprt_rdma_mr_kind - MRs of one type, in a pool
 * @idle: MRs without a request
 * @nr_idle: how many they are
 * @spare: the fewest they were since xprt_rdma_mrs_shrink()
 * @count: MRs with and without
 * @limit: of @count; 0 if the device has none
 */
struct xprt_rdma_mr_kind {
	struct list_head idle;
	unsigned int nr_idle;
	unsigned int spare;
	unsigned int count;
	unsigned int limit;
};

/**
 * struct xprt_rdma_mr_pool - MRs of the current connection
 * @lock: protects the lists and counts
 * @kinds: MRs without gaps, and with
 * @all: every MR
 * @least: as many of a kind stay when memory is short
 * @max_segment: bytes of the longest scatterlist entry
 * @logged_short: a failed allocation was logged
 * @ep: their endpoint; NULL if none may be taken (xprt_rdma.lock)
 * @grow: allocates more
 */
struct xprt_rdma_mr_pool {
	spinlock_t lock;
	struct xprt_rdma_mr_kind kinds[2];
	struct list_head all;
	unsigned int least;
	u32 max_segment;
	bool logged_short;
	struct rpcrdma_ep *ep;
	struct delayed_work grow;
};

/**
 * enum xprt_rdma_req_state - is a request on the wire?
 * @XPRT_RDMA_REQ_IDLE: it was not sent, or was answered, or the connection is
 *	gone
 * @XPRT_RDMA_REQ_POSTING: xprt_rdma_req_post() is sending it, and alone may
 *	change this; xprt_rdma.lock is held
 * @XPRT_RDMA_REQ_SENT: it was sent, and the wire has its reference
 * @XPRT_RDMA_REQ_ABANDONED: the same, but its RPC was aborted
 */
enum xprt_rdma_req_state {
	XPRT_RDMA_REQ_IDLE,
	XPRT_RDMA_REQ_POSTING,
	XPRT_RDMA_REQ_SENT,
	XPRT_RDMA_REQ_ABANDONED,
};

/**
 * struct xprt_rdma_req - one slot: an RPC, its buffers and its Send
 * @rqst: sunrpc's part
 * @rx: transport
 * @kref: one for the RPC layer, one while on the wire, one for the Send of a
 *	Reply to a callback
 * @next: in the list of free slots
 * @all: in the list of all slots
 * @state: enum xprt_rdma_req_state
 * @xid: XID of the Call that was sent, host order; valid on the wire
 * @form: how it was sent; of a callback, how its Reply will be
 * @conn_id: of a callback, the number of the connection that it came by
 * @reply_pending: of a callback, that connection has no Reply to it yet
 * @hdr: Transport Header, and behind it the inline part of the Call
 * @sbuf: the Call, as XDR encodes it
 * @sbuf_size: its size; unused for a callback
 * @rbuf: the Reply's head and tail
 * @rbuf_size: its size; unused for a callback
 * @starved: no other Call is sent before it has MRs
 * @credits_spent: it was aborted, and too few credits are left to go on
 * @spent_cookie: of the connection that this happened to
 * @chain: REG_MRs and Send
 * @send_wr: the Send
 * @sge: of @hdr
 * @mrs: MRs the peer may use
 * @inv_chain: LOCAL_INVs
 * @recv: the Reply, while @inv_chain is in progress
 * @write_offered: bytes of the Write chunk
 * @reply_offered: bytes of the Reply chunk
 */
struct xprt_rdma_req {
	struct rpc_rqst rqst;
	struct xprt_rdma *rx;
	struct kref kref;
	struct xprt_rdma_req *next;
	struct list_head all;
	atomic_t state;
	u32 xid;
	struct rpcrdma_form form;
	u32 conn_id;
	bool reply_pending;

	struct rpcrdma_dmabuf hdr;
	void *sbuf;
	size_t sbuf_size;
	void *rbuf;
	size_t rbuf_size;

	bool starved;
	bool credits_spent;
	u32 spent_cookie;
	struct rpcrdma_chain chain;
	struct ib_send_wr send_wr;
	struct ib_sge sge;

	struct list_head mrs;
	struct rpcrdma_chain inv_chain;
	struct rpcrdma_recv *recv;
	u32 write_offered;
	u32 reply_offered;
};

/*
 * The columns of /proc/self/mountstats, named as the tools name them, and
 * @bcall_count: callbacks. Not exact under concurrency.
 */
struct xprt_rdma_stats {
	unsigned long read_chunk_count;
	unsigned long write_chunk_count;
	unsigned long reply_chunk_count;
	unsigned long long total_rdma_request;
	unsigned long long total_rdma_reply;
	unsigned long long pullup_copy_count;
	unsigned long long fixup_copy_count;
	unsigned long hardway_register_count;
	unsigned long failed_marshal_count;
	unsigned long bad_reply_count;
	unsigned long nomsg_call_count;
	unsigned long mrs_orphaned;
	unsigned long mrs_allocated;
	unsigned long local_inv_needed;
	unsigned long bcall_count;
};

/**
 * struct xprt_rdma_version - version 2; protected by xprt_rdma.lock
 * @nego: the negotiation
 * @form: how the next Call is written if it has chunks
 * @plain_form: the same if it has none
 * @worker: runs if the first message in a version is not answered
 */
struct xprt_rdma_version {
	struct xprt_rdma_nego nego;
	struct rpcrdma_form form;
	struct rpcrdma_form plain_form;
	struct delayed_work worker;
};

/**
 * struct xprt_rdma - a client transport
 * @xprt: sunrpc's part
 * @list: all transports
 * @shrink: gives back MRs and slots when memory is short
 * @connect_worker: connects, or polls each second whether it is still to
 * @connect_at: when the back-off is over, in jiffies
 * @timeout: timeouts if they are not the default
 * @lock: taken to post and to take or abort MRs, and by the release of a
 *	connection, which thereby knows that no task does so
 * @ep: the connection, or NULL. Changes with @lock, the send lock and the
 *	transport_lock of @xprt held.
 * @last_error: how the last attempt to connect ended
 * @last_reason: in words, if it failed
 * @mounting: the attempt is the first, of an RPC that is to fail if it does
 * @inline_send: inline thresholds of the last connection for the next Call,
 *	written with @lock held
 * @inline_recv: see @inline_send
 * @version: says version 1 without CONFIG_RPCRDMA_V2
 * @limits: of the decoder on the connection
 * @pool: MRs
 * @abort_wait: tasks that wait for the memory of an aborted RPC
 * @req_lock: protects @free and @all; may be taken within transport_lock, and
 *	the Send Queue's lock within it
 * @nr_slots: slots in existence, at most xprt.max_reqs
 * @free: free slots, the one last used first
 * @all: all slots, those of the reverse direction included
 * @cold: where the Send Queue was complete at the last xprt_rdma_shrink(); 0
 *	if that was on another connection
 * @granted: credits the server granted
 * @receivable: credits that there are Receives for, or more than the device can have
 * @abandoned: sent, aborted, not answered: each keeps its credit
 *	(transport_lock)
 * @bc_count: slots of the reverse direction (bc_pa_lock)
 * @stats: counters
 */
struct xprt_rdma {
	struct rpc_xprt xprt;
	struct list_head list;
	struct delayed_work shrink;
	struct delayed_work connect_worker;
	unsigned long connect_at;
	struct rpc_timeout timeout;

	struct mutex lock;
	struct rpcrdma_ep *ep;
	int last_error;
	const char *last_reason;
	bool mounting;
	u32 inline_send;
	u32 inline_recv;
	struct xprt_rdma_version version;
	struct rpcrdma_limits limits;

	struct xprt_rdma_mr_pool pool;
	wait_queue_head_t abort_wait;

	spinlock_t req_lock;
	atomic_t nr_slots;
	struct xprt_rdma_req *free;
	struct list_head all;
	u64 cold;
	u32 granted;
	u32 receivable;
	u32 abandoned;
	unsigned int bc_count;

	struct xprt_rdma_stats stats;
};

static inline struct xprt_rdma *to_xprt_rdma(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct xprt_rdma, xprt);
}

static inline struct xprt_rdma_req *to_xprt_rdma_req(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct xprt_rdma_req, rqst);
}

/*
 * If there is a swap file on one of its mounts. Undone by
 * memalloc_noreclaim_restore()
 */
static inline unsigned int xprt_rdma_use_reserves(struct xprt_rdma *rx)
{
	return atomic_read(&rx->xprt.swapper) ? memalloc_noreclaim_save() : 0;
}

static inline bool xprt_rdma_req_on_wire(const struct xprt_rdma_req *req)
{
	return atomic_read(&req->state) != XPRT_RDMA_REQ_IDLE;
}

/* sysctl.c */
extern unsigned int xprt_rdma_slots;
extern unsigned int xprt_rdma_inline_read;
extern unsigned int xprt_rdma_inline_write;
extern unsigned int xprt_rdma_max_version;
extern unsigned int xprt_rdma_connect_timeout;
extern unsigned int xprt_rdma_idle_timeout;
extern unsigned int xprt_rdma_version_timeout;
extern unsigned int xprt_rdma_version_memory;
extern int xprt_rdma_pad_optimize;
int xprt_rdma_sysctl_init(void);
void xprt_rdma_sysctl_exit(void);

/* connect.c */
void xprt_rdma_connect_init(struct xprt_rdma *rx);
void xprt_rdma_disconnect(struct xprt_rdma *rx);
void xprt_rdma_timer(struct rpc_xprt *xprt, struct rpc_task *task);
void xprt_rdma_connect(struct rpc_xprt *xprt, struct rpc_task *task);
void xprt_rdma_close(struct rpc_xprt *xprt);
void xprt_rdma_inject_disconnect(struct rpc_xprt *xprt);

/* A settled version stays so as long as anything is received */
static inline bool xprt_rdma_version_settled(const struct xprt_rdma *rx)
{
	return READ_ONCE(rx->version.nego.state) == XPRT_RDMA_NEGO_SETTLED;
}

/* version.c; in a build without it rx->version speaks version 1 */
#ifdef CONFIG_RPCRDMA_V2
void xprt_rdma_version_init(struct xprt_rdma *rx);
void xprt_rdma_version_begin(struct xprt_rdma *rx, struct rpcrdma_ep *ep);
void xprt_rdma_version_end(struct xprt_rdma *rx);
void xprt_rdma_version_refused(struct xprt_rdma *rx, int err);
void xprt_rdma_version_form(const struct xprt_rdma *rx,
			    struct xprt_rdma_req *req);
void xprt_rdma_version_sent(struct xprt_rdma *rx, u32 xid);
bool xprt_rdma_version_heard(struct xprt_rdma *rx, struct rpcrdma_ep *ep,
			     const struct rpcrdma_hdr *hdr);
bool xprt_rdma_version_resend(struct xprt_rdma_req *req,
			      const struct rpcrdma_hdr *hdr);
void xprt_rdma_version_show(const struct xprt_rdma *rx, struct seq_file *seq);
#else
static inline void xprt_rdma_version_init(struct xprt_rdma *rx) { }
static inline void xprt_rdma_version_end(struct xprt_rdma *rx) { }
static inline void xprt_rdma_version_refused(struct xprt_rdma *rx, int err) { }
static inline void xprt_rdma_version_sent(struct xprt_rdma *rx, u32 xid) { }
static inline void xprt_rdma_version_show(const struct xprt_rdma *rx,
					  struct seq_file *seq) { }

static inline void xprt_rdma_version_begin(struct xprt_rdma *rx,
					   struct rpcrdma_ep *ep)
{
	mutex_lock(&rx->lock);
	WRITE_ONCE(ep->version, RPCRDMA_V1);
	WRITE_ONCE(rx->inline_send, ep->prop.inline_send);
	WRITE_ONCE(rx->inline_recv, ep->prop.inline_recv);
	mutex_unlock(&rx->lock);
}

static inline void xprt_rdma_version_form(const struct xprt_rdma *rx,
					  struct xprt_rdma_req *req)
{
	req->form = (struct rpcrdma_form){ .vers = RPCRDMA_V1 };
}

static inline bool xprt_rdma_version_heard(struct xprt_rdma *rx,
					   struct rpcrdma_ep *ep,
					   const struct rpcrdma_hdr *hdr)
{
	return true;
}

static inline bool xprt_rdma_version_resend(struct xprt_rdma_req *req,
					    const struct rpcrdma_hdr *hdr)
{
	return false;
}
#endif

/* req.c */
bool xprt_rdma_credits_grow(struct xprt_rdma *rx);
void xprt_rdma_credits_update(struct xprt_rdma *rx, struct rpcrdma_ep *ep,
			      u32 credits);
void xprt_rdma_credits_reset(struct xprt_rdma *rx);
struct xprt_rdma_req *xprt_rdma_req_create(struct xprt_rdma *rx, gfp_t gfp);
void xprt_rdma_req_destroy(struct xprt_rdma_req *req);
void xprt_rdma_req_put(struct xprt_rdma_req *req);
int xprt_rdma_reqs_create(struct xprt_rdma *rx);
int xprt_rdma_req_prepare(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			  u32 len);
int xprt_rdma_req_post(struct rpcrdma_ep *ep, struct xprt_rdma_req *req);
bool xprt_rdma_req_answered(struct xprt_rdma_req *req);
bool xprt_rdma_reqs_answer_abandoned(struct xprt_rdma *rx, u32 xid);
void xprt_rdma_reqs_release(struct xprt_rdma *rx, struct rpcrdma_ep *ep);
void xprt_rdma_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task);
void xprt_rdma_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst);
int xprt_rdma_buf_alloc(struct rpc_task *task);
void xprt_rdma_buf_free(struct rpc_task *task);
void xprt_rdma_release_request(struct rpc_task *task);

/* send.c */
int xprt_rdma_send_request(struct rpc_rqst *rqst);

/* reply.c */
void xprt_rdma_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv);

/* mr.c */
void xprt_rdma_mrs_init(struct xprt_rdma *rx);
int xprt_rdma_mrs_setup(struct rpcrdma_ep *ep);
void xprt_rdma_mrs_release(struct xprt_rdma *rx);
void xprt_rdma_mrs_free(struct list_head *mrs);
void xprt_rdma_mrs_shrink(struct xprt_rdma *rx, struct list_head *dead);
bool xprt_rdma_mrs_in_use(struct xprt_rdma *rx, u32 rkey, u32 xid);
int xprt_rdma_mrs_map(struct xprt_rdma_req *req, const struct xdr_buf *buf,
		      unsigned int parts, bool remote_write);
void xprt_rdma_mrs_put(struct xprt_rdma *rx, struct list_head *mrs, bool wake);
bool xprt_rdma_mrs_put_rkey(struct xprt_rdma_req *req, u32 rkey);
int xprt_rdma_mrs_invalidate(struct rpcrdma_ep *ep, struct xprt_rdma_req *req,
			     void (*done)(struct rpcrdma_chain *chain,
					  enum ib_wc_status status));

/* backchannel.c: not to be called without CONFIG_SUNRPC_BACKCHANNEL */
int xprt_rdma_bc_setup(struct rpc_xprt *xprt, unsigned int reqs);
size_t xprt_rdma_bc_maxpayload(struct rpc_xprt *xprt);
unsigned int xprt_rdma_bc_num_slots(struct rpc_xprt *xprt);
void xprt_rdma_bc_free_rqst(struct rpc_rqst *rqst);
void xprt_rdma_bc_destroy(struct rpc_xprt *xprt, unsigned int reqs);
int xprt_rdma_bc_send_reply(struct rpc_rqst *rqst);
void xprt_rdma_bc_received(struct xprt_rdma *rx, struct rpcrdma_recv *recv);
void xprt_rdma_bc_send_rdma_error(struct xprt_rdma *rx,
				  struct rpcrdma_recv *recv,
				  enum rpcrdma_errcode errcode,
				  const char *why);

#endif /* XPRT_RDMA_H */
