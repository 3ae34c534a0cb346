/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The client transport: what its files share.
 */
#ifndef XPRT_RDMA_H
#define XPRT_RDMA_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xdr.h>
#include <linux/sunrpc/xprt.h>

#include "rpcrdma/endpoint.h"
#include "rpcrdma/negotiate.h"
#include "rpcrdma/plan.h"

/* Limits and defaults of the sysctls */
#define XPRT_RDMA_SLOTS_MIN	4U
#define XPRT_RDMA_SLOTS_DEF	128U
#define XPRT_RDMA_SLOTS_MAX	16384U
#define XPRT_RDMA_INLINE_MIN	1024U
#define XPRT_RDMA_INLINE_MAX	65536U
/* In seconds: for a Connect Request */
#define XPRT_RDMA_CONNECT_TIMEOUT	20U
/* In seconds: for a connection that nobody uses */
#define XPRT_RDMA_IDLE_TIMEOUT	300U
/* In seconds: for the first answer in version two; for servers without it */
#define XPRT_RDMA_VERSION_TIMEOUT	10U
#define XPRT_RDMA_VERSION_MEMORY	600U

/* Largest payload of one RPC; unaligned it touches one page more */
#define XPRT_RDMA_PAYLOAD	SZ_1M
#define XPRT_RDMA_PAYLOAD_PAGES	((XPRT_RDMA_PAYLOAD >> PAGE_SHIFT) + 1)

/*
 * Callbacks the server may have outstanding (RFC 8167, section 4.1). It may
 * send the next one when it has our Reply, before we have recycled the slot.
 */
#define XPRT_RDMA_BC_CREDITS	8U
#define XPRT_RDMA_BC_REQS	(2 * XPRT_RDMA_BC_CREDITS)

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

struct rpcrdma_req;
struct rpcrdma_xprt;

/**
 * struct rpcrdma_mr - one memory region and what is registered with it
 * @list: idle in the pool, or with the request that uses it
 * @all: in the pool's list of all
 * @mr: the verbs object; its rkey's low byte changes at each registration
 * @ep: endpoint whose PD it belongs to
 * @sgl: what is mapped
 * @nents: entries of @sgl in use; 0 when nothing is mapped
 * @xid: of the Call that offers it, host order
 * @dir: direction of the mapping
 * @reg: the REG_MR
 * @inv: the LOCAL_INV
 */
struct rpcrdma_mr {
	struct list_head list;
	struct list_head all;
	struct ib_mr *mr;
	struct rpcrdma_ep *ep;
	struct scatterlist *sgl;
	unsigned int nents;
	u32 xid;
	enum dma_data_direction dir;
	struct ib_reg_wr reg;
	struct ib_send_wr inv;
};

/**
 * struct rpcrdma_mr_pool - MRs of the current connection
 * @lock: protects the lists and counts
 * @idle: MRs nobody uses
 * @all: every MR
 * @count: MRs in @all
 * @limit: most MRs this connection may have
 * @told_short: it was said that no MR could be added
 * @ep: their endpoint; NULL when none may be taken (rpcrdma_xprt.lock)
 * @grow: allocates more
 */
struct rpcrdma_mr_pool {
	spinlock_t lock;
	struct list_head idle;
	struct list_head all;
	unsigned int count;
	unsigned int limit;
	bool told_short;
	struct rpcrdma_ep *ep;
	struct delayed_work grow;
};

/**
 * enum rpcrdma_wire - is a request on the wire?
 * @RPCRDMA_WIRE_OFF: it was not sent, or it was answered, or the connection is
 *	gone
 * @RPCRDMA_WIRE_POSTING: rpcrdma_req_post() is sending it, and nobody else may
 *	change this; rpcrdma_xprt.lock is held
 * @RPCRDMA_WIRE_ON: it was sent, and the wire has its reference
 * @RPCRDMA_WIRE_ABANDONED: the same, but no RPC waits for the Reply
 */
enum rpcrdma_wire {
	RPCRDMA_WIRE_OFF,
	RPCRDMA_WIRE_POSTING,
	RPCRDMA_WIRE_ON,
	RPCRDMA_WIRE_ABANDONED,
};

/**
 * struct rpcrdma_req - one slot: an RPC, its buffers and its Send
 * @rqst: sunrpc's part
 * @rx: transport
 * @kref: one for the RPC layer, one while on the wire, one for the Send of a
 *	Reply to a callback
 * @next: the next one in the list of free slots
 * @all: in the list of all slots
 * @wire: enum rpcrdma_wire
 * @xid: XID of what was sent, host order; valid on the wire
 * @form: how it was sent; of a callback, how its Reply will be
 * @came_by: of a callback, the number of the connection that it came by
 * @owed: of a callback, that connection has no Reply to it yet
 * @hdr: Transport Header, and behind it the inline part of the Call
 * @sbuf: the Call, as XDR encodes it
 * @sbuf_size: its size
 * @rbuf: the Reply's head and tail
 * @rbuf_size: its size
 * @credits_spent: it was given up, and too few credits are left to go on
 * @spent_cookie: of the connection that this happened to
 * @chain: REG_MRs and Send
 * @send_wr: the Send
 * @sge: of @hdr
 * @mrs: MRs the peer may use
 * @inv_chain: LOCAL_INVs
 * @recv: the Reply, while @inv_chain is in progress
 * @write_offered: octets of the Write chunk
 * @reply_offered: octets of the Reply chunk
 */
struct rpcrdma_req {
	struct rpc_rqst rqst;
	struct rpcrdma_xprt *rx;
	struct kref kref;
	struct rpcrdma_req *next;
	struct list_head all;
	atomic_t wire;
	u32 xid;
	struct rpcrdma_form form;
	u32 came_by;
	bool owed;

	struct rpcrdma_dmabuf hdr;
	void *sbuf;
	size_t sbuf_size;
	void *rbuf;
	size_t rbuf_size;

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

/**
 * struct rpcrdma_xprt_stats - the columns of /proc/self/mountstats
 * @read_chunk_count: Calls with a Read chunk
 * @write_chunk_count: Calls with a Write chunk
 * @reply_chunk_count: Calls with a Reply chunk
 * @total_rdma_request: octets of Read chunks
 * @total_rdma_reply: octets the server wrote
 * @pullup_copy_count: octets of page data copied into Sends
 * @fixup_copy_count: octets of inline Replies copied behind the head
 * @hardway_register_count: octets of buffers that replaced smaller ones
 * @failed_marshal_count: Calls that could not be prepared
 * @bad_reply_count: messages that were no use
 * @nomsg_call_count: Calls that travelled as a Position-Zero Read chunk
 * @mrs_recycled: always 0: no MR is replaced during a connection
 * @mrs_orphaned: MRs still in use when their connection went down
 * @mrs_allocated: MRs allocated
 * @local_inv_needed: LOCAL_INVs posted
 * @empty_sendctx_q: always 0: a Call waits for the Send Queue in its order
 * @bcall_count: callbacks; not a column
 *
 * Named as the tools name them. Not exact under concurrency.
 */
struct rpcrdma_xprt_stats {
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
	unsigned long mrs_recycled;
	unsigned long mrs_orphaned;
	unsigned long mrs_allocated;
	unsigned long local_inv_needed;
	unsigned long empty_sendctx_q;
	unsigned long bcall_count;
};

/**
 * struct rpcrdma_xprt - a client transport
 * @xprt: sunrpc's part
 * @connect_worker: connects, or looks every second whether it is still to
 * @connect_at: when the back-off is over, in jiffies
 * @timeout: timeouts when they are not the default
 * @lock: taken to post and to take or fence MRs, and by the release of a
 *	connection, which thereby knows that nobody is at it
 * @ep: the connection, or NULL. Changes with both @lock and the send lock
 *	of @xprt held.
 * @last_error: how the last attempt to connect ended
 * @last_reason: in words, if it failed
 * @mounting: the attempt is the first, of an RPC that is to fail if it does
 * @inline_send: inline thresholds of the last connection for the next Call,
 *	written with @lock held
 * @inline_recv: see @inline_send
 * @nego: version of the protocol (@lock)
 * @form: how the next Call is written if it has chunks, by @nego (@lock)
 * @plain_form: the same if it has none (@lock)
 * @version_worker: when the first message in a version is not answered
 * @limits: what the decoder takes on the connection
 * @pool: MRs
 * @abort_wait: tasks that wait for the memory of an aborted RPC
 * @req_lock: protects what follows; may be taken within transport_lock, and the Send
 *	Queue's lock within it
 * @free: free slots, the one last used first
 * @all: all slots, those of the reverse direction included
 * @granted: credits the server granted
 * @abandoned: sent, given up by the RPC layer, not answered: each keeps its
 *	credit (transport_lock)
 * @bc_count: slots of the reverse direction
 * @stats: counters
 */
struct rpcrdma_xprt {
	struct rpc_xprt xprt;
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
	struct rpcrdma_nego nego;
	struct rpcrdma_form form;
	struct rpcrdma_form plain_form;
	struct delayed_work version_worker;
	struct rpcrdma_limits limits;

	struct rpcrdma_mr_pool pool;
	wait_queue_head_t abort_wait;

	spinlock_t req_lock;
	struct rpcrdma_req *free;
	struct list_head all;
	u32 granted;
	u32 abandoned;
	unsigned int bc_count;

	struct rpcrdma_xprt_stats stats;
};

static inline struct rpcrdma_xprt *to_rpcrdma_xprt(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_xprt, xprt);
}

/**
 * xprt_rdma_swaps - is there a swap file on one of its mounts?
 * @rx: transport
 *
 * Context: any.
 *
 * Return: true if so.
 */
static inline bool xprt_rdma_swaps(struct rpcrdma_xprt *rx)
{
	return atomic_read(&rx->xprt.swapper);
}

/* Pages wait for a transport with a swap file. Undo: memalloc_noreclaim_restore() */
static inline unsigned int xprt_rdma_use_reserves(struct rpcrdma_xprt *rx)
{
	return xprt_rdma_swaps(rx) ? memalloc_noreclaim_save() : 0;
}

static inline struct rpcrdma_req *to_rpcrdma_req(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct rpcrdma_req, rqst);
}

/**
 * rpcrdma_req_on_wire - was this request sent and not answered?
 * @req: slot
 *
 * Context: any.
 *
 * Return: true if so.
 */
static inline bool rpcrdma_req_on_wire(const struct rpcrdma_req *req)
{
	return atomic_read(&req->wire) != RPCRDMA_WIRE_OFF;
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
int xprt_rdma_sysctl_init(void);
void xprt_rdma_sysctl_exit(void);

/* connect.c */
void rpcrdma_connect_init(struct rpcrdma_xprt *rx);
void rpcrdma_disconnect(struct rpcrdma_xprt *rx);
void rpcrdma_disconnect_late(struct rpcrdma_xprt *rx, unsigned int cookie);
void xprt_rdma_connect(struct rpc_xprt *xprt, struct rpc_task *task);
void xprt_rdma_close(struct rpc_xprt *xprt);
void xprt_rdma_inject_disconnect(struct rpc_xprt *xprt);

/* version.c */
void rpcrdma_version_init(struct rpcrdma_xprt *rx);
void rpcrdma_version_begin(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep);
void rpcrdma_version_end(struct rpcrdma_xprt *rx);
void rpcrdma_version_refused(struct rpcrdma_xprt *rx, int err);
void rpcrdma_version_first_sent(struct rpcrdma_xprt *rx);
void rpcrdma_version_form(const struct rpcrdma_xprt *rx,
			  struct rpcrdma_req *req);
bool rpcrdma_version_heard(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep,
			   const struct rpcrdma_hdr *hdr);
bool rpcrdma_version_resend(struct rpcrdma_req *req,
			    const struct rpcrdma_hdr *hdr);

/**
 * rpcrdma_version_sent - a Call was posted
 * @rx: transport
 *
 * Context: process, under rpcrdma_xprt.lock.
 */
static inline void rpcrdma_version_sent(struct rpcrdma_xprt *rx)
{
	if (unlikely(rx->nego.state == RPCRDMA_NEGO_FIRST))
		rpcrdma_version_first_sent(rx);
}

/**
 * rpcrdma_version_settled - is the version of the connection known?
 * @rx: transport
 *
 * What is settled stays so as long as anything is received.
 *
 * Context: any.
 *
 * Return: true if so.
 */
static inline bool rpcrdma_version_settled(const struct rpcrdma_xprt *rx)
{
	return likely(READ_ONCE(rx->nego.state) == RPCRDMA_NEGO_SETTLED);
}

/* credits.c */
void rpcrdma_credits_update(struct rpcrdma_xprt *rx, u32 credits);
void rpcrdma_credits_spent(struct rpcrdma_xprt *rx, u32 cookie);
void rpcrdma_credits_late(struct rpcrdma_xprt *rx);
void rpcrdma_credits_lacking(struct rpcrdma_xprt *rx);
bool rpcrdma_credits_abandon(struct rpcrdma_xprt *rx, int by);
void rpcrdma_credits_reset(struct rpcrdma_xprt *rx);

/* req.c */
struct rpcrdma_req *rpcrdma_req_create(struct rpcrdma_xprt *rx, gfp_t gfp);
void rpcrdma_req_destroy(struct rpcrdma_req *req);
void rpcrdma_req_put(struct rpcrdma_req *req);
int rpcrdma_reqs_create(struct rpcrdma_xprt *rx, unsigned int count);
void rpcrdma_reqs_destroy(struct rpcrdma_xprt *rx);
int rpcrdma_req_map_anew(struct rpcrdma_ep *ep, struct rpcrdma_req *req);
int rpcrdma_req_post(struct rpcrdma_ep *ep, struct rpcrdma_req *req);
bool rpcrdma_req_answered(struct rpcrdma_req *req);
bool rpcrdma_reqs_answer_abandoned(struct rpcrdma_xprt *rx, u32 xid);
void rpcrdma_reqs_release(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep);
void xprt_rdma_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task);
void xprt_rdma_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst);
int xprt_rdma_buf_alloc(struct rpc_task *task);
void xprt_rdma_buf_free(struct rpc_task *task);
void xprt_rdma_release_request(struct rpc_task *task);

/**
 * rpcrdma_req_map - map the buffer a request is sent from
 * @ep: endpoint
 * @req: request; not sent
 *
 * Context: as rpcrdma_dmabuf_map().
 *
 * Return: 0, at once when it is mapped for @ep already; or -EIO.
 */
static inline int rpcrdma_req_map(struct rpcrdma_ep *ep,
				  struct rpcrdma_req *req)
{
	return likely(req->hdr.ep == ep) ? 0 : rpcrdma_req_map_anew(ep, req);
}

/**
 * rpcrdma_req_fill - so much of the buffer is to be sent
 * @req: request; its buffer is mapped and written
 * @len: octets
 *
 * Context: any.
 */
static inline void rpcrdma_req_fill(struct rpcrdma_req *req, u32 len)
{
	rpcrdma_dmabuf_sync_for_device(&req->hdr, 0, len);
	req->sge.length = len;
}

/* marshal.c */
int rpcrdma_marshal_req(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep,
			struct rpcrdma_req *req);

/* send.c */
int xprt_rdma_send_request(struct rpc_rqst *rqst);

/* reply.c */
void rpcrdma_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv);

/* mr.c */
void rpcrdma_mrs_init(struct rpcrdma_xprt *rx);
int rpcrdma_mrs_setup(struct rpcrdma_xprt *rx, struct rpcrdma_ep *ep);
void rpcrdma_mrs_release(struct rpcrdma_xprt *rx);
bool rpcrdma_mrs_in_use(struct rpcrdma_xprt *rx, u32 rkey, u32 xid);
int rpcrdma_mrs_map(struct rpcrdma_xprt *rx, struct list_head *mrs,
		    const struct xdr_buf *buf, unsigned int parts,
		    bool remote_write);
void rpcrdma_mrs_put(struct rpcrdma_xprt *rx, struct list_head *mrs);
void rpcrdma_mrs_return(struct rpcrdma_xprt *rx, struct list_head *mrs);
bool rpcrdma_mrs_put_rkey(struct rpcrdma_xprt *rx, struct list_head *mrs,
			  u32 rkey);
int rpcrdma_mrs_invalidate(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			   void (*done)(struct rpcrdma_chain *chain,
					enum ib_wc_status status));

/* Parts of an xdr_buf, in their order */
#define RPCRDMA_PART_HEAD	1U
#define RPCRDMA_PART_PAGES	2U
#define RPCRDMA_PART_TAIL	4U
#define RPCRDMA_PART_ALL	7U

/* backchannel.c */
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
int xprt_rdma_bc_setup(struct rpc_xprt *xprt, unsigned int reqs);
size_t xprt_rdma_bc_maxpayload(struct rpc_xprt *xprt);
unsigned int xprt_rdma_bc_num_slots(struct rpc_xprt *xprt);
void xprt_rdma_bc_free_rqst(struct rpc_rqst *rqst);
void xprt_rdma_bc_destroy(struct rpc_xprt *xprt, unsigned int reqs);
int rpcrdma_bc_send_reply(struct rpc_rqst *rqst);
void rpcrdma_bc_received(struct rpcrdma_xprt *rx, struct rpcrdma_recv *recv);
void rpcrdma_bc_refuse(struct rpcrdma_xprt *rx, struct rpcrdma_recv *recv,
		       enum rpcrdma_errcode errcode);
#else
static inline void rpcrdma_bc_received(struct rpcrdma_xprt *rx,
				       struct rpcrdma_recv *recv)
{
}

static inline void rpcrdma_bc_refuse(struct rpcrdma_xprt *rx,
				     struct rpcrdma_recv *recv,
				     enum rpcrdma_errcode errcode)
{
}
#endif

#endif /* XPRT_RDMA_H */
