/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One RDMA connection, as client and server share it: connection manager id,
 * protection domain, completion queues, queue pair, Send Queue, Receive buffers,
 * DMA mappings, and the one teardown.
 *
 * Knows nothing of sunrpc: it calls up through struct rpcrdma_ep_ops only.
 */
#ifndef RPCRDMA_ENDPOINT_H
#define RPCRDMA_ENDPOINT_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "queues.h"
#include "wire.h"

struct rpc_rqst;
struct rpc_xprt;

/* "[fe80::1%eth0]:65535" and its end */
#define RPCRDMA_ADDRSTRLEN	80

/**
 * struct rpcrdma_dmabuf - linear memory that the device reads or writes
 * @data: the memory
 * @size: bytes
 * @dir: direction
 * @ep: the endpoint it is mapped for, or NULL
 * @addr: its DMA address while mapped
 * @sync: CPU and device see each other's bytes only after a sync, as without
 *	coherence or with bounce buffers; while mapped
 *
 * Survives endpoints: map it anew for the next one.
 */
struct rpcrdma_dmabuf {
	void *data;
	u32 size;
	enum dma_data_direction dir;
	struct rpcrdma_ep *ep;
	u64 addr;
	bool sync;
};

/**
 * struct rpcrdma_chain - WRs that are posted with one doorbell
 * @cqe: of the last WR when it is signalled
 * @list: in the Send Queue's wait list
 * @posted: among the posted chains that have a @done
 * @ep: set when posted
 * @first: first WR
 * @last: last WR
 * @slots: Send Queue slots, that is, number of WRs
 * @busy: with the Send Queue: it has a @done that was not called, or waits
 * @unsignalled_ok: @done may come late, with that of another chain posted after
 *	this one, or in the teardown, and with the status of that one. For a chain
 *	that owns only a header buffer that stays mapped, if no answer of the peer
 *	tells when it is free.
 * @signalled: has a completion of its own; private to sendq.c
 * @seq: where it ends in the Send Queue, see rpcrdma_sendq_completed()
 * @done: called exactly once for each successful rpcrdma_sendq_post() of a
 *	chain with a @done, with no lock held, in the context of the Send CQ
 *	or in that of the teardown; the chain is the owner's again. Its memory
 *	must not be freed before rpcrdma_ep_ops.dead by a Responder, or before
 *	rpcrdma_ep_ops.release by a Requester.
 *	NULL: the chain owns only header buffers that stay mapped. Its memory may be
 *	reused, not freed, once the peer's answer shows that it was received and
 *	rpcrdma_chain_waits() says no, or in rpcrdma_ep_ops.release. It may be freed
 *	once rpcrdma_sendq_completed() has passed it, too.
 */
struct rpcrdma_chain {
	struct ib_cqe cqe;
	struct list_head list;
	struct list_head posted;
	struct rpcrdma_ep *ep;
	struct ib_send_wr *first;
	struct ib_send_wr *last;
	u32 slots;
	bool busy;
	bool unsignalled_ok;
	bool signalled;
	u64 seq;
	void (*done)(struct rpcrdma_chain *chain, enum ib_wc_status status);
};

/**
 * struct rpcrdma_sendq - the Send Queue of an endpoint
 * @lock: protects all of it and keeps the order of posts
 * @open: chains may be posted
 * @slots: accounting
 * @cqe: completion of a WR that is signalled for the queue's own sake
 * @waiting: chains that do not fit, in order; and one that could not be posted
 * @posted: posted chains with a @done, in order
 * @probe: has one WR, an RDMA Write of no bytes
 * @probe_wr: that WR
 * @probing: @probe is with the queue
 */
struct rpcrdma_sendq {
	spinlock_t lock;
	bool open;
	struct rpcrdma_send_slots slots;
	struct ib_cqe cqe;
	struct list_head waiting;
	struct list_head posted;
	struct rpcrdma_chain probe;
	struct ib_rdma_wr probe_wr;
	bool probing;
};

/**
 * enum rpcrdma_recv_owner - owner of a Receive buffer
 * @RPCRDMA_RECV_FREE: none; it is in the free list
 * @RPCRDMA_RECV_POSTED: the device
 * @RPCRDMA_RECV_HELD: a side, until it calls rpcrdma_recv_put()
 */
enum rpcrdma_recv_owner {
	RPCRDMA_RECV_FREE,
	RPCRDMA_RECV_POSTED,
	RPCRDMA_RECV_HELD,
};

/**
 * struct rpcrdma_recv - a Receive buffer and the message in it
 * @cqe: its completion
 * @wr: its work request
 * @sge: its only SGE
 * @block: the memory that it is a part of
 * @offset: where it begins there
 * @data: its first byte
 * @recvq: where it belongs
 * @ep: endpoint of the completion
 * @free: in the free list
 * @owner: its owner
 * @len: bytes received
 * @invalidated: the peer used Send With Invalidate
 * @inv_rkey: of this rkey
 * @hdr: for its owner's use: the decoded header
 */
struct rpcrdma_recv {
	struct ib_cqe cqe;
	struct ib_recv_wr wr;
	struct ib_sge sge;
	struct rpcrdma_dmabuf *block;
	u32 offset;
	void *data;
	struct rpcrdma_recvq *recvq;
	struct rpcrdma_ep *ep;
	struct llist_node free;
	enum rpcrdma_recv_owner owner;
	u32 len;
	bool invalidated;
	u32 inv_rkey;
	struct rpcrdma_hdr hdr;
};

/**
 * enum rpcrdma_ep_state - where a connection stands
 * @RPCRDMA_EP_NEW: nothing has happened
 * @RPCRDMA_EP_RESOLVING: address and route
 * @RPCRDMA_EP_CONNECTING: a Connect Request is out, or being answered
 * @RPCRDMA_EP_LIVE: established
 * @RPCRDMA_EP_CLOSING: the teardown is queued or runs
 * @RPCRDMA_EP_DEAD: every resource is released
 */
enum rpcrdma_ep_state {
	RPCRDMA_EP_NEW,
	RPCRDMA_EP_RESOLVING,
	RPCRDMA_EP_CONNECTING,
	RPCRDMA_EP_LIVE,
	RPCRDMA_EP_CLOSING,
	RPCRDMA_EP_DEAD,
};

/**
 * struct rpcrdma_ep_ops - a side's callbacks
 * @side: "client" or "server", for messages and /proc
 * @setup: (optional) the QP exists, nothing is connected yet; the side may
 *	allocate resources that depend on it. Process context, may sleep. An error
 *	fails the connection.
 * @received: a message arrived; the side owns @recv until it calls
 *	rpcrdma_recv_put(). Context: that of the Receive CQ
 * @queued: (optional) a chain has to wait for the Send Queue. Context: that of
 *	rpcrdma_sendq_post(), under a lock
 * @unwanted: (optional) does the owner want no attempt to connect? Asked each
 *	second of one that is under way: sunrpc's xprt_destroy() waits for the
 *	connect worker before it tells the transport. Process context, with
 *	ep->setup_lock.
 * @closing: the first failure, or rpcrdma_ep_close(). Nothing can be posted
 *	any more; wake the waiters of this connection. Process context, our
 *	workqueue, may sleep, must not wait for the teardown.
 * @release: both queues are drained, or the device is abandoned; @received is
 *	not running and will not be called again. A Responder's QP still exists.
 *	Release MRs, undo DMA mappings, put Receives still held elsewhere out
 *	of use. Process context, may sleep.
 * @dead: (optional) all is released; the last call for this endpoint. The side usually
 *	drops its reference here.
 * @show: (optional) append " key=value" pairs to the line in
 *	/proc/net/rpcrdma/connections. Process context.
 */
struct rpcrdma_ep_ops {
	const char *side;
	int (*setup)(struct rpcrdma_ep *ep);
	void (*received)(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv);
	void (*queued)(struct rpcrdma_ep *ep);
	bool (*unwanted)(const void *owner);
	void (*closing)(struct rpcrdma_ep *ep);
	void (*release)(struct rpcrdma_ep *ep);
	void (*dead)(struct rpcrdma_ep *ep);
	void (*show)(struct rpcrdma_ep *ep, struct seq_file *seq);
};

/**
 * struct rpcrdma_ep_attr - parameters of a new endpoint
 * @ops: the side's callbacks
 * @owner: for the side's own use: ep->attr.owner
 * @net: network namespace
 * @node: of the device, if it is known by now, or NUMA_NO_NODE
 * @responder: accepts connections, initiates RDMA Reads and Writes; else a
 *	Requester
 * @want: queue depths asked for
 * @inline_send: most bytes it will send in one Send
 * @inline_recv: most bytes it will take in one Receive: size of each buffer
 * @max_version: highest version of the protocol it may come to speak; buffers
 *	are large enough for it from the start
 * @connect_timeout: jiffies that a Connect Request may go unanswered; of no
 *	use to a Responder
 * @keepalive: seconds without a message after which the peer is probed; 0: never.
 *	NULL if the side closes idle connections by itself
 * @swapper: counts swap files that are reached by way of this connection, or of
 *	the next one: if there are any, the teardown may use the kernel's
 *	reserves. Valid until DEAD. NULL: never any
 * @recv_poll: context of Receive completions; no softirq for a side that sends or
 *	frees in rpcrdma_ep_ops.received
 * @last_error: how the previous attempt to reach this peer ended; the same
 *	error for the same reason is not logged again
 * @last_reason: that reason; only compared
 */
struct rpcrdma_ep_attr {
	const struct rpcrdma_ep_ops *ops;
	void *owner;
	struct net *net;
	int node;
	bool responder;
	struct rpcrdma_queue_want want;
	u32 inline_send;
	u32 inline_recv;
	u32 max_version;
	unsigned long connect_timeout;
	const unsigned int *keepalive;
	const atomic_t *swapper;
	enum ib_poll_context recv_poll;
	int last_error;
	const char *last_reason;
};

/* WRs of the Send Queue, as /proc counts them */
enum rpcrdma_wr_kind {
	RPCRDMA_WR_OTHER,
	RPCRDMA_WR_SEND,
	RPCRDMA_WR_SEND_INV,
	RPCRDMA_WR_READ,
	RPCRDMA_WR_WRITE,
	RPCRDMA_WR_REG_MR,
	RPCRDMA_WR_LOCAL_INV,
	__RPCRDMA_WR_KINDS
};

/**
 * struct rpcrdma_ep_counters - for people; not exact under concurrency
 * @recvs: messages received
 * @recv_octets: and their bytes
 * @doorbells: calls of ib_post_send
 * @wrs: WRs posted, by kind
 * @remote_invs: messages received with invalidation
 * @sendq_waits: chains that had to wait for Send Queue slots
 * @bad_headers: messages rejected by the decoder
 */
struct rpcrdma_ep_counters {
	u64 recvs;
	u64 recv_octets;
	u64 doorbells;
	u64 wrs[__RPCRDMA_WR_KINDS];
	u64 remote_invs;
	u64 sendq_waits;
	u64 bad_headers;
};

/* A failed RDMA Read may complete with success if it is the last WR of its chain */
#define RPCRDMA_QUIRK_EARLY_READ_COMPLETION	BIT(0)
/* The repetition of an old Read whose rkey is invalid by now fails another WR */
#define RPCRDMA_QUIRK_STRAY_ACCESS_ERROR	BIT(1)

/**
 * struct rpcrdma_ep - one connection
 * @kref: references; the last put frees the memory, nothing else
 * @lock: protects @state and @error; taken with irqsave
 * @state: connection state
 * @error: the first error, negative errno; 0 after an orderly close
 * @reason: that error in words, NULL if it is not logged
 * @presumed: reason if no completion gives one
 * @qp_ended: the queue pair is in the error state, which counts once it is LIVE
 * @failed_wr: the first WR that failed, for the log; NULL if none did
 * @failed_status: of its completion
 * @vendor_err: likewise
 * @setup_lock: held during connect and accept; the teardown takes it
 * @attr: its parameters; a reference on @attr.net is held until DEAD
 * @sizes: the part of it that the device supports
 * @limits: the device's limits
 * @local: private data we send
 * @peer: private data the peer sent, defaulted and clamped
 * @prop: thresholds and remote invalidation as agreed; valid once LIVE
 *	(for a Responder from rpcrdma_ep_adopt() on)
 * @version: version of the protocol that the connection is known to speak
 * @device: the IB device, valid from RESOLVING to the end of the teardown
 * @rdev: our own record of that device
 * @quirks: of that device, RPCRDMA_QUIRK_*
 * @id: CM id
 * @pd: protection domain
 * @send_cq: Send completions
 * @recv_cq: Receive completions
 * @qp: queue pair
 * @rw_ctxs: of a Responder: rdma_rw's contexts, and its MRs if it needs them
 * @sg_gaps: the device registers memory with gaps
 * @sendq: Send Queue
 * @recvq: Receive buffers it uses
 * @receivable: credits that there are Receives for; only grows
 * @crowded: since the last check messages have waited behind others of this peer
 * @error_cqe: completion entry of every unsignalled WR
 * @bad_rkey: the peer's device refused an RDMA Read or Write
 * @teardown: the one teardown
 * @free: frees the memory
 * @cm_done: completed at each step of connecting
 * @initiator_depth: RDMA Reads the peer lets us have in flight
 * @gone: completed when DEAD. Bounded: a device has 30 s to flush its queues
 * @maps: DMA mappings made
 * @unmaps: and undone; equal at the end
 * @count: counters
 * @created: jiffies when it became LIVE
 * @number: names it in /proc and in traces, never reused
 * @all: in the list of all endpoints
 * @on_device: in the device's list
 * @local_name: local address and port
 * @peer_name: the peer's address and port
 * @dev_name: name of the device, "no device" before it is known
 */
struct rpcrdma_ep {
	struct kref kref;
	spinlock_t lock;
	enum rpcrdma_ep_state state;
	int error;
	const char *reason;
	const char *presumed;
	bool qp_ended;
	const char *failed_wr;
	enum ib_wc_status failed_status;
	u32 vendor_err;
	struct mutex setup_lock;
	struct rpcrdma_ep_attr attr;
	struct rpcrdma_queue_sizes sizes;
	struct rpcrdma_device_limits limits;
	struct rpcrdma_cm_private local;
	struct rpcrdma_cm_private peer;
	struct rpcrdma_properties prop;
	u32 version;

	struct ib_device *device;
	struct rpcrdma_device *rdev;
	u32 quirks;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	u32 rw_ctxs;
	bool sg_gaps;

	struct rpcrdma_sendq sendq;
	struct rpcrdma_recvq *recvq;
	u32 receivable;
	bool crowded;
	struct ib_cqe error_cqe;
	bool bad_rkey;

	struct work_struct teardown;
	struct work_struct free;
	struct completion cm_done;
	u8 initiator_depth;
	struct completion gone;

	atomic_t maps;
	atomic_t unmaps;
	struct rpcrdma_ep_counters count;
	unsigned long created;
	u32 number;

	struct list_head all;
	struct list_head on_device;

	char local_name[RPCRDMA_ADDRSTRLEN];
	char peer_name[RPCRDMA_ADDRSTRLEN];
	char dev_name[IB_DEVICE_NAME_MAX];
};

/**
 * struct rpcrdma_listener - the public part of a listener
 * @list: in the list of all listeners
 * @net: its namespace
 * @name: address and port
 * @dev_name: device it is bound to, "*" for any, "-" while that is away
 * @accepted: connections accepted
 * @refused: Connect Requests rejected
 */
struct rpcrdma_listener {
	struct list_head list;
	struct net *net;
	char name[RPCRDMA_ADDRSTRLEN];
	char dev_name[IB_DEVICE_NAME_MAX];
	atomic_t accepted;
	atomic_t refused;
};

/* state.c */
void rpcrdma_ep_fail(struct rpcrdma_ep *ep, int err, const char *reason);
void rpcrdma_ep_qp_ended(struct rpcrdma_ep *ep, const char *presumed);
void rpcrdma_ep_fail_wc(struct rpcrdma_ep *ep, const struct ib_wc *wc,
			const char *wr);
int rpcrdma_ep_failure(struct rpcrdma_ep *ep);
void rpcrdma_ep_log_failure(struct rpcrdma_ep *ep);
bool rpcrdma_ep_change_state(struct rpcrdma_ep *ep,
			     enum rpcrdma_ep_state next);
extern struct workqueue_struct *rpcrdma_wq;
extern const char *const rpcrdma_ep_state_names[];

/* endpoint.c */
struct rpcrdma_ep *rpcrdma_ep_create(const struct rpcrdma_ep_attr *attr);
struct rpcrdma_ep *rpcrdma_ep_get(struct rpcrdma_ep *ep);
void rpcrdma_ep_put(struct rpcrdma_ep *ep);
void rpcrdma_ep_read_limits(struct rpcrdma_ep *ep);
int rpcrdma_ep_set_up(struct rpcrdma_ep *ep);

/* cm.c */
int rpcrdma_ep_connect(struct rpcrdma_ep *ep, const struct sockaddr *src,
		       const struct sockaddr *dst);
int rpcrdma_ep_adopt(struct rpcrdma_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_cm_event *event);
int rpcrdma_ep_accept(struct rpcrdma_ep *ep);

/* sendq.c */
void rpcrdma_sendq_init(struct rpcrdma_sendq *sq);
void rpcrdma_sendq_open(struct rpcrdma_ep *ep, bool open);
bool rpcrdma_sendq_drained(struct rpcrdma_ep *ep);
void rpcrdma_sendq_flush(struct rpcrdma_ep *ep);
void rpcrdma_chain_init(struct rpcrdma_chain *chain,
			void (*done)(struct rpcrdma_chain *chain,
				     enum ib_wc_status status));
void rpcrdma_chain_append(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
			  struct ib_send_wr *first);
bool rpcrdma_chain_waits(const struct rpcrdma_chain *chain);
u64 rpcrdma_sendq_completed(struct rpcrdma_ep *ep);
int rpcrdma_sendq_post(struct rpcrdma_ep *ep, struct rpcrdma_chain *chain,
		       bool alone);
void rpcrdma_stall_start(void);
extern struct delayed_work rpcrdma_stall_work;
extern u32 rpcrdma_crowded;

/* recvq.c */
int rpcrdma_recvq_create(struct rpcrdma_ep *ep);
int rpcrdma_recvq_grow(struct rpcrdma_ep *ep, gfp_t gfp);
int rpcrdma_recvq_start(struct rpcrdma_ep *ep);
void rpcrdma_recvq_stop(struct rpcrdma_ep *ep);
bool rpcrdma_recvq_drained(const struct rpcrdma_ep *ep);
void rpcrdma_recvq_settle(struct rpcrdma_ep *ep);
void rpcrdma_recvq_abandon(struct rpcrdma_ep *ep);
void rpcrdma_recvq_unmap(struct rpcrdma_ep *ep);
void rpcrdma_recvq_destroy(struct rpcrdma_ep *ep);
void rpcrdma_recv_put(struct rpcrdma_recv *recv);

/* dmabuf.c */
void *rpcrdma_alloc_exact(size_t size, int node, gfp_t gfp);
int rpcrdma_dmabuf_alloc(struct rpcrdma_dmabuf *buf, u32 size,
			 enum dma_data_direction dir, int node, gfp_t gfp);
void rpcrdma_dmabuf_free(struct rpcrdma_dmabuf *buf);
int rpcrdma_dmabuf_map(struct rpcrdma_ep *ep, struct rpcrdma_dmabuf *buf);
void rpcrdma_dmabuf_unmap(struct rpcrdma_dmabuf *buf);
void rpcrdma_dmabuf_sync_for_device(struct rpcrdma_dmabuf *buf, u32 offset,
				    u32 len);
void rpcrdma_dmabuf_sync_for_cpu(struct rpcrdma_dmabuf *buf, u32 offset,
				 u32 len);
void rpcrdma_dmabuf_sge(const struct rpcrdma_dmabuf *buf, struct ib_sge *sge,
			u32 offset, u32 len);
int rpcrdma_map_page(struct rpcrdma_ep *ep, struct ib_sge *sge,
		     struct page *page, u32 offset, u32 len,
		     enum dma_data_direction dir);
void rpcrdma_unmap_page(struct rpcrdma_ep *ep, const struct ib_sge *sge,
			enum dma_data_direction dir);
u32 rpcrdma_max_segment(const struct rpcrdma_ep *ep);
int rpcrdma_map_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		   unsigned int nents, enum dma_data_direction dir);
void rpcrdma_unmap_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		      unsigned int nents, enum dma_data_direction dir);

/* registry.c */
void rpcrdma_ep_register(struct rpcrdma_ep *ep);
void rpcrdma_ep_unregister(struct rpcrdma_ep *ep);
void rpcrdma_ep_walk(void (*fn)(struct rpcrdma_ep *ep, void *arg), void *arg);
int rpcrdma_device_attach(struct rpcrdma_ep *ep, struct ib_device *device);
void rpcrdma_device_detach(struct rpcrdma_ep *ep);
int rpcrdma_device_vector(struct rpcrdma_ep *ep);
bool rpcrdma_device_credits_changed(struct rpcrdma_ep *ep, u32 credits);
extern struct ib_client rpcrdma_ib_client;

void rpcrdma_proc_add_listener(struct rpcrdma_listener *listener);
void rpcrdma_proc_del_listener(struct rpcrdma_listener *listener);
void rpcrdma_proc_set_device(struct rpcrdma_listener *listener,
			     const char *name);
extern struct pernet_operations rpcrdma_proc_ops;

/* sunrpc.c, for the sides alone */
void rpcrdma_rpc_fail(struct rpc_rqst *rqst, int err);
int rpcrdma_rpc_unsendable(struct rpc_rqst *rqst, int err);
void rpcrdma_rpc_write_space(struct rpc_xprt *xprt);
void rpcrdma_rpc_wake_sender(struct rpc_xprt *xprt);
int rpcrdma_rpc_set_addresses(struct rpc_xprt *xprt);
void rpcrdma_rpc_set_port(struct rpc_xprt *xprt, unsigned short port);
void rpcrdma_rpc_free_addresses(struct rpc_xprt *xprt);

/* The sides, for module.c alone */
int xprt_rdma_init(void);
void xprt_rdma_exit(void);
int svc_rdma_init(void);
void svc_rdma_exit(void);

/* Where the memory of a connection belongs, once its device is known */
static inline int rpcrdma_ep_node(const struct rpcrdma_ep *ep)
{
	return ibdev_to_node(ep->device);
}

/* May messages be exchanged? */
static inline bool rpcrdma_ep_live(const struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->state) == RPCRDMA_EP_LIVE;
}

/*
 * Inline threshold from us to the peer, once @prop is valid. Until the peer is
 * known to speak version @vers, that of version 1 holds.
 */
static inline u32 rpcrdma_ep_inline_send(const struct rpcrdma_ep *ep, u32 vers)
{
	return rpcrdma_threshold(ep->prop.inline_send,
				 min(vers, READ_ONCE(ep->version)));
}

/* One line per event: side, peer, device, and the event */
#define rpcrdma_ep_warn(ep, fmt, ...)					\
do {									\
	const struct rpcrdma_ep *__ep = (ep);				\
									\
	pr_warn_ratelimited("%s %s on %s: " fmt "\n", __ep->attr.ops->side,	\
			    __ep->peer_name, __ep->dev_name,		\
			    ##__VA_ARGS__);				\
} while (0)

/* A setting of either side, in its table of sysctls */
#define RPCRDMA_TUNABLE(name, var, min, max) {		\
	.procname	= name,				\
	.data		= &(var),			\
	.maxlen		= sizeof(unsigned int),		\
	.mode		= 0644,				\
	.proc_handler	= proc_douintvec_minmax,	\
	.extra1		= &(unsigned int){ min },	\
	.extra2		= &(unsigned int){ max },	\
}

#endif /* RPCRDMA_ENDPOINT_H */
