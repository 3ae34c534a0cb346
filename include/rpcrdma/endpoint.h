/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One RDMA connection, as client and server share it: connection manager id,
 * protection domain, completion queues, queue pair, Send Queue accounting,
 * Receive buffers, DMA mappings, and the one teardown.
 *
 * Knows nothing of sunrpc: it calls up through struct rpcrdma_ep_ops only.
 */
#ifndef RPCRDMA_ENDPOINT_H
#define RPCRDMA_ENDPOINT_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
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

#include "dmabuf.h"
#include "plan_queues.h"
#include "recvq.h"
#include "sendq.h"
#include "wire.h"

struct rpcrdma_device;
struct rpcrdma_ep;

/* "[fe80::1%eth0]:65535" and its end */
#define RPCRDMA_ADDRSTRLEN	80

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
 * struct rpcrdma_ep_ops - what a side does when something happens
 * @side: "client" or "server", for messages and status
 * @setup: (optional) the QP exists, nothing is connected yet; the side may
 *	allocate what hangs on it. Process context, may sleep. An error fails
 *	the connection.
 * @received: a message arrived; the side owns @recv until it calls
 *	rpcrdma_recv_put(). Context: that of the Receive CQ
 *	(rpcrdma_ep_attr.recv_poll)
 * @queued: (optional) a chain has to wait for the Send Queue. Context: that of
 *	rpcrdma_sendq_post(), under a lock
 * @unwanted: (optional) shall an attempt to connect be given up, as nobody waits for it
 *	any more? Asked each second of one that is under way. Process context, with
 *	ep->setup_lock.
 * @closing: the first failure, or rpcrdma_ep_close(). Nothing can be posted
 *	any more; wake whoever waits for this connection. Process context, our
 *	workqueue, may sleep, must not wait for the teardown.
 * @release: both queues are drained, or the device will not be heard of; no
 *	completion will come, @received is not running and will not be called
 *	again. A Responder's QP still exists. Release MRs, unmap what is mapped,
 *	put Receives still held elsewhere out of use. Process context, may sleep.
 * @swaps: (optional) memory is swapped out by way of this connection, or of the next one:
 *	the teardown may use the kernel's reserves. Process context.
 * @dead: all is released; the last call for this endpoint. The side usually
 *	drops its reference here.
 * @show: (optional) append " key=value" pairs to the line in
 *	/proc/net/rpcrdma/connections. Process context.
 */
struct rpcrdma_ep_ops {
	const char *side;
	int (*setup)(struct rpcrdma_ep *ep);
	void (*received)(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv);
	void (*queued)(struct rpcrdma_ep *ep);
	bool (*unwanted)(struct rpcrdma_ep *ep);
	void (*closing)(struct rpcrdma_ep *ep);
	void (*release)(struct rpcrdma_ep *ep);
	bool (*swaps)(struct rpcrdma_ep *ep);
	void (*dead)(struct rpcrdma_ep *ep);
	void (*show)(struct rpcrdma_ep *ep, struct seq_file *seq);
};

/**
 * struct rpcrdma_ep_attr - what a side wants of a new endpoint
 * @ops: its callbacks
 * @owner: for the side's own use: ep->owner
 * @net: network namespace
 * @responder: accepts connections, initiates RDMA Reads and Writes; else a
 *	Requester
 * @want: queue depths asked for
 * @inline_send: most octets it will send in one Send
 * @inline_recv: most octets it will take in one Receive: size of each buffer
 * @max_version: highest version of the protocol it may come to speak; buffers
 *	are large enough for it from the start
 * @connect_timeout: jiffies that a Connect Request may go unanswered; of no
 *	use to a Responder
 * @send_poll: context of Send completions; no softirq, they take the Send Queue's lock
 * @recv_poll: context of Receive completions; likewise, for what answers them
 * @last_error: how the previous attempt to reach this peer ended; the same
 *	error for the same reason is not logged again
 * @last_reason: that reason; only compared
 */
struct rpcrdma_ep_attr {
	const struct rpcrdma_ep_ops *ops;
	void *owner;
	struct net *net;
	bool responder;
	struct rpcrdma_queue_want want;
	u32 inline_send;
	u32 inline_recv;
	u32 max_version;
	unsigned long connect_timeout;
	enum ib_poll_context send_poll;
	enum ib_poll_context recv_poll;
	int last_error;
	const char *last_reason;
};

/**
 * enum rpcrdma_wr_kind - WRs of the Send Queue, as the status counts them
 * @RPCRDMA_WR_OTHER: none of the following
 * @RPCRDMA_WR_SEND: Send
 * @RPCRDMA_WR_SEND_INV: Send With Invalidate
 * @RPCRDMA_WR_READ: RDMA Read
 * @RPCRDMA_WR_WRITE: RDMA Write
 * @RPCRDMA_WR_REG_MR: REG_MR
 * @RPCRDMA_WR_LOCAL_INV: LOCAL_INV
 * @__RPCRDMA_WR_KINDS: number of values
 */
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
 * @recv_octets: and their octets
 * @doorbells: calls of ib_post_send
 * @wrs: WRs posted, by kind
 * @remote_invs: messages received with invalidation
 * @sendq_waits: chains that had to wait for Send Queue slots
 * @bad_headers: messages refused by the decoder
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

/**
 * struct rpcrdma_ep - one connection
 * @kref: references; the last put frees the memory, nothing else
 * @lock: protects @state and @error; taken with irqsave
 * @state: connection state
 * @error: the first error, negative errno; 0 after an orderly close
 * @reason: the first error in words, NULL if it is nothing to log
 * @last_error: see struct rpcrdma_ep_attr
 * @last_reason: see struct rpcrdma_ep_attr
 * @setup_lock: held while somebody connects or accepts; the teardown takes it
 * @ops: the side's callbacks
 * @owner: the side's own
 * @responder: see struct rpcrdma_ep_attr
 * @net: namespace; a reference is held until DEAD
 * @want: see struct rpcrdma_ep_attr
 * @sizes: what the device can carry of it, as it says, and as it turned out
 * @limits: the device's limits
 * @local: private data we send
 * @peer: private data the peer sent, defaulted and clamped
 * @prop: thresholds and remote invalidation as agreed; valid once LIVE
 *	(for a Responder from rpcrdma_ep_adopt() on)
 * @max_version: see struct rpcrdma_ep_attr
 * @version: version of the protocol that the connection speaks, as far as that
 *	is known
 * @device: the IB device, valid from RESOLVING to the end of the teardown
 * @rdev: our own record of that device
 * @id: CM id
 * @pd: protection domain
 * @send_cq: Send completions
 * @recv_cq: Receive completions
 * @qp: queue pair
 * @rw_ctxs: of a Responder: rdma_rw's contexts, and its MRs where it needs them
 * @doubtful_reads: RDMA Reads that fail may complete with success: see
 *	rpcrdma_ep_read_failed()
 * @mr_type: MR type to allocate
 * @connect_timeout: see struct rpcrdma_ep_attr
 * @send_poll: see struct rpcrdma_ep_attr
 * @recv_poll: see struct rpcrdma_ep_attr
 * @sendq: Send Queue accounting
 * @recvq: Receive buffers it uses
 * @error_cqe: completion entry of every unsignalled WR
 * @teardown: the one teardown
 * @free: the end of the memory
 * @cm_done: completed at each step of connecting
 * @initiator_depth: RDMA Reads the peer lets us have in flight
 * @gone: completed when DEAD
 * @maps: DMA mappings made
 * @unmaps: and undone; equal at the end
 * @count: counters
 * @created: jiffies when it became LIVE
 * @number: names it in the status and in messages, never reused
 * @all: in the status list
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
	int last_error;
	const char *last_reason;
	struct mutex setup_lock;
	const struct rpcrdma_ep_ops *ops;
	void *owner;
	bool responder;
	struct net *net;

	struct rpcrdma_queue_want want;
	struct rpcrdma_queue_sizes sizes;
	struct rpcrdma_device_limits limits;
	struct rpcrdma_cm_private local;
	struct rpcrdma_cm_private peer;
	struct rpcrdma_properties prop;
	u32 max_version;
	u32 version;

	struct ib_device *device;
	struct rpcrdma_device *rdev;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	u32 rw_ctxs;
	bool doubtful_reads;
	enum ib_mr_type mr_type;
	unsigned long connect_timeout;
	enum ib_poll_context send_poll;
	enum ib_poll_context recv_poll;

	struct rpcrdma_sendq sendq;
	struct rpcrdma_recvq *recvq;
	struct ib_cqe error_cqe;

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

/* state.c: the state of a connection, and where every failure goes */
void rpcrdma_ep_fail(struct rpcrdma_ep *ep, int err);
void rpcrdma_ep_fail_reason(struct rpcrdma_ep *ep, int err,
			    const char *reason);
void rpcrdma_ep_fail_wc(struct rpcrdma_ep *ep, const struct ib_wc *wc);
void rpcrdma_ep_close(struct rpcrdma_ep *ep);
bool rpcrdma_ep_change_state(struct rpcrdma_ep *ep,
			     enum rpcrdma_ep_state next);
const char *rpcrdma_ep_state_name(enum rpcrdma_ep_state state);
void rpcrdma_queue_work(struct work_struct *work);
int rpcrdma_state_init(void);
void rpcrdma_state_exit(void);

/* endpoint.c: the resources of a connection */
struct rpcrdma_ep *rpcrdma_ep_create(const struct rpcrdma_ep_attr *attr);
struct rpcrdma_ep *rpcrdma_ep_get(struct rpcrdma_ep *ep);
void rpcrdma_ep_put(struct rpcrdma_ep *ep);
void rpcrdma_ep_read_limits(struct rpcrdma_ep *ep);
bool rpcrdma_ep_qp_failed(struct rpcrdma_ep *ep);
int rpcrdma_ep_set_up(struct rpcrdma_ep *ep);
void rpcrdma_ep_wait_dead(struct rpcrdma_ep *ep);

/* cm.c: the handshake */
int rpcrdma_ep_connect(struct rpcrdma_ep *ep, const struct sockaddr *src,
		       const struct sockaddr *dst);
int rpcrdma_ep_adopt(struct rpcrdma_ep *ep, struct rdma_cm_id *id,
		     const struct rdma_cm_event *event);
int rpcrdma_ep_accept(struct rpcrdma_ep *ep);

/**
 * rpcrdma_ep_live - may messages be exchanged?
 * @ep: endpoint
 *
 * Context: any. The answer may be out of date at once; posting checks again.
 *
 * Return: true while the connection is established.
 */
static inline bool rpcrdma_ep_live(const struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->state) == RPCRDMA_EP_LIVE;
}

/**
 * rpcrdma_ep_read_failed - did an RDMA Read fail that completed with success?
 * @ep: endpoint
 *
 * When responses to RDMA Reads overtake each other rxe completes a Read with success that
 * lacks octets, and only then has its queue pair fail.
 *
 * Context: process, may sleep; the queue pair must not go meanwhile.
 *
 * Return: true if whatever was read must not be used.
 */
static inline bool rpcrdma_ep_read_failed(struct rpcrdma_ep *ep)
{
	return unlikely(ep->doubtful_reads) && rpcrdma_ep_qp_failed(ep);
}

/**
 * rpcrdma_ep_inline_send - inline threshold from us to the peer
 * @ep: endpoint
 * @vers: version of the message
 *
 * Until it is known that the peer speaks a version, version one's holds.
 *
 * Context: any, once @prop of @ep is valid.
 *
 * Return: octets.
 */
static inline u32 rpcrdma_ep_inline_send(const struct rpcrdma_ep *ep, u32 vers)
{
	return rpcrdma_threshold(ep->prop.inline_send,
				 min(vers, READ_ONCE(ep->version)));
}

/**
 * rpcrdma_chain_init - start an empty chain
 * @chain: to be filled in; zeroes, or one that the Send Queue does not have
 * @done: see struct rpcrdma_chain
 *
 * Context: any.
 */
static inline void rpcrdma_chain_init(struct rpcrdma_chain *chain,
				      void (*done)(struct rpcrdma_chain *chain,
						   enum ib_wc_status status))
{
	WARN_ON_ONCE(chain->busy); /* I4 */
	chain->cqe.done = rpcrdma_chain_wc;
	INIT_LIST_HEAD(&chain->list);
	chain->first = NULL;
	chain->last = NULL;
	chain->slots = 0;
	chain->unsignalled_ok = false;
	chain->done = done;
}

/**
 * rpcrdma_sendq_max_chain - longest chain that may be posted
 * @ep: endpoint
 *
 * Context: any, once the QP exists.
 *
 * Return: number of WRs.
 */
static inline u32 rpcrdma_sendq_max_chain(const struct rpcrdma_ep *ep)
{
	return ep->sendq.slots.max_chain;
}

/* dmabuf.c */
int rpcrdma_map_page(struct rpcrdma_ep *ep, struct ib_sge *sge,
		     struct page *page, u32 offset, u32 len,
		     enum dma_data_direction dir);
void rpcrdma_unmap_page(struct rpcrdma_ep *ep, const struct ib_sge *sge,
			enum dma_data_direction dir);
struct scatterlist *rpcrdma_sg_set_pages(struct scatterlist *sg,
					 struct page **page, unsigned int nr);
int rpcrdma_map_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		   unsigned int nents, enum dma_data_direction dir);
void rpcrdma_unmap_sg(struct rpcrdma_ep *ep, struct scatterlist *sgl,
		      unsigned int nents, enum dma_data_direction dir);

/**
 * rpcrdma_dmabuf_sge - describe a range of a mapped buffer
 * @buf: mapped buffer
 * @sge: to be filled in
 * @offset: first octet
 * @len: octets
 *
 * Context: any.
 */
static inline void rpcrdma_dmabuf_sge(const struct rpcrdma_dmabuf *buf,
				      struct ib_sge *sge, u32 offset, u32 len)
{
	sge->addr = buf->addr + offset;
	sge->length = len;
	sge->lkey = buf->ep->pd->local_dma_lkey;
}

/**
 * rpcrdma_sg_set - describe a range of memory, whatever the entry was before
 * @sg: entry; not the last of its list any more
 * @page: page
 * @len: octets
 * @offset: first octet in it
 *
 * Context: any.
 */
static inline void rpcrdma_sg_set(struct scatterlist *sg, struct page *page,
				  unsigned int len, unsigned int offset)
{
	/* No end, no chain. DMA address and length come when it is mapped */
	sg->page_link = 0;
	sg_set_page(sg, page, len, offset);
	rpcrdma_sg_clear_flags(sg);
}

/* device.c */
int rpcrdma_device_attach(struct rpcrdma_ep *ep, struct ib_device *device);
void rpcrdma_device_detach(struct rpcrdma_ep *ep);
bool rpcrdma_device_is_news(struct rpcrdma_ep *ep, u32 credits);
int rpcrdma_device_pd_get(struct rpcrdma_ep *ep);
void rpcrdma_device_pd_put(struct rpcrdma_ep *ep);
int rpcrdma_device_init(void);
void rpcrdma_device_exit(void);

/* One line per event: side, peer, device, and what happened */
#define rpcrdma_ep_warn(ep, fmt, ...)					\
do {									\
	const struct rpcrdma_ep *__ep = (ep);				\
									\
	pr_warn_ratelimited("%s %s on %s: " fmt "\n", __ep->ops->side,	\
			    __ep->peer_name, __ep->dev_name,		\
			    ##__VA_ARGS__);				\
} while (0)

#endif /* RPCRDMA_ENDPOINT_H */
