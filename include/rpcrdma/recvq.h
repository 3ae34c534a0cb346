/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Receive Queue of an endpoint: buffers, whose they are, and who refills it.
 */
#ifndef RPCRDMA_RECVQ_H
#define RPCRDMA_RECVQ_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "dmabuf.h"
#include "wire.h"

struct rpcrdma_ep;

/**
 * enum rpcrdma_recv_owner - who may touch a Receive buffer
 * @RPCRDMA_RECV_NONE: not made, or not mapped
 * @RPCRDMA_RECV_FREE: in the free list
 * @RPCRDMA_RECV_POSTED: the device
 * @RPCRDMA_RECV_HELD: a side
 */
enum rpcrdma_recv_owner {
	RPCRDMA_RECV_NONE,
	RPCRDMA_RECV_FREE,
	RPCRDMA_RECV_POSTED,
	RPCRDMA_RECV_HELD,
};

/**
 * struct rpcrdma_recv - one Receive buffer
 * @cqe: completion entry
 * @wr: the Receive
 * @sge: its only SGE
 * @block: the memory that it is a part of
 * @offset: where it begins there
 * @data: its first octet
 * @recvq: where it belongs
 * @ep: endpoint of the completion
 * @free: in the free list
 * @owner: who may touch it
 * @len: octets received
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
 * struct rpcrdma_recvq - Receive buffers and who refills them
 * @ep: endpoint it serves
 * @recvs: all buffers
 * @count: how many
 * @blocks: their memory, several in each
 * @nr_blocks: how many blocks
 * @free: those not posted and not held by a side
 * @nr_free: how many are in @free
 * @batch: post when so many are free
 * @lock: held while Receives are posted, so that none is after @open is false
 * @open: Receives may be posted
 * @abandoned: completions are ignored
 *
 * The memory lives as long as the endpoint, because a side may still read a
 * message when the connection is down; the mappings end with the connection.
 */
struct rpcrdma_recvq {
	struct rpcrdma_ep *ep;
	struct rpcrdma_recv *recvs;
	u32 count;
	struct rpcrdma_dmabuf *blocks;
	u32 nr_blocks;
	struct llist_head free;
	atomic_t nr_free;
	u32 batch;
	spinlock_t lock;
	bool open;
	bool abandoned;
};

int rpcrdma_recvq_create(struct rpcrdma_ep *ep);
int rpcrdma_recvq_start(struct rpcrdma_ep *ep);
void rpcrdma_recvq_stop(struct rpcrdma_ep *ep);
bool rpcrdma_recvq_drained(const struct rpcrdma_ep *ep);
void rpcrdma_recvq_abandon(struct rpcrdma_ep *ep);
void rpcrdma_recvq_flush(struct rpcrdma_ep *ep);
void rpcrdma_recvq_unmap(struct rpcrdma_ep *ep);
void rpcrdma_recvq_destroy(struct rpcrdma_ep *ep);
void rpcrdma_recv_put(struct rpcrdma_recv *recv);

#endif /* RPCRDMA_RECVQ_H */
