/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Decisions that need no kernel: which transfer mode a Call uses, how a
 * received message is tiled from inline and chunk ranges, how deep the queues
 * must be. Pure.
 */
#ifndef RPCRDMA_PLAN_H
#define RPCRDMA_PLAN_H

#include "wire.h"

/**
 * struct rpcrdma_call_shape - what a Requester knows about one RPC
 * @head: octets of the Call before the page data
 * @pages: octets of page data
 * @tail: octets after it, XDR pad of the page data included
 * @tail_pad: how many of @tail are that pad
 * @page_count: pages the page data touches (SGEs it would cost)
 * @call_ddp: the Upper Layer says the page data are DDP-eligible
 * @reply_max: most octets of the Reply
 * @reply_pages: most octets of the Reply's page data
 * @reply_ddp: the Upper Layer says the Reply's page data are DDP-eligible
 * @no_ddp: krb5i, krb5p: data-touched, no DDP in either direction
 * @option: Call and Reply travel by the option of remote invalidation
 * @inline_send: inline threshold for the Call
 * @inline_recv: inline threshold for the Reply
 * @pullup_max: largest page data that is copied rather than mapped
 * @page_sges: SGEs left for page data in a Send
 * @mr_bytes: octets one MR holds at worst alignment
 */
struct rpcrdma_call_shape {
	u32	head;
	u32	pages;
	u32	tail;
	u32	tail_pad;
	u32	page_count;
	bool	call_ddp;
	u32	reply_max;
	u32	reply_pages;
	bool	reply_ddp;
	bool	no_ddp;
	bool	option;
	u32	inline_send;
	u32	inline_recv;
	u32	pullup_max;
	u32	page_sges;
	u32	mr_bytes;
};

/**
 * enum rpcrdma_call_mode - how the Call's octets travel
 * @RPCRDMA_CALL_INLINE: RDMA_MSG, page data (if any) as SGEs of the Send
 * @RPCRDMA_CALL_PULLUP: RDMA_MSG, page data copied behind the head
 * @RPCRDMA_CALL_READ_CHUNK: RDMA_MSG, page data as a Read chunk
 * @RPCRDMA_CALL_POSITION_ZERO: RDMA_NOMSG, all of it as a Position-Zero
 *	Read chunk
 */
enum rpcrdma_call_mode {
	RPCRDMA_CALL_INLINE,
	RPCRDMA_CALL_PULLUP,
	RPCRDMA_CALL_READ_CHUNK,
	RPCRDMA_CALL_POSITION_ZERO,
};

/**
 * struct rpcrdma_call_plan - result of rpcrdma_plan_call()
 * @mode: how the Call travels
 * @write_list: offer one Write chunk for the Reply's page data
 * @reply_chunk: offer a Reply chunk, because what is left of the Reply may
 *	exceed the inline threshold
 * @reply_chunk_bytes: its size
 */
struct rpcrdma_call_plan {
	enum rpcrdma_call_mode	mode;
	bool			write_list;
	bool			reply_chunk;
	u32			reply_chunk_bytes;
};

void rpcrdma_plan_call(struct rpcrdma_call_plan *plan,
		       const struct rpcrdma_call_shape *shape);

/**
 * struct rpcrdma_plain - which Calls need no plan, on one connection
 * @call: one more than the most octets of such a Call; 0: there is none
 * @reply: one more than the most octets of its Reply; 0: there is none
 */
struct rpcrdma_plain {
	u32	call;
	u32	reply;
};

void rpcrdma_plan_plain(struct rpcrdma_plain *plain,
			const struct rpcrdma_form *form, u32 inline_send,
			u32 inline_recv);

/**
 * rpcrdma_plan_is_plain - is the plan of a Call known?
 * @plain: made by rpcrdma_plan_plain()
 * @pages: octets of the Call's page data
 * @reply_max: most octets of the Reply
 * @body: octets of the Call before and after the page data
 *
 * Most Calls: no page data, and inline in both directions. For them
 * rpcrdma_plan_call() says RPCRDMA_CALL_INLINE and offers nothing, whatever
 * else the shape is.
 *
 * Context: Any context.
 * Return: true if that is the plan; false: ask rpcrdma_plan_call().
 */
static inline bool rpcrdma_plan_is_plain(const struct rpcrdma_plain *plain,
					 u32 pages, u32 reply_max, u64 body)
{
	return !pages && reply_max < plain->reply && body < plain->call;
}

void rpcrdma_longer_segment(struct rpcrdma_segment *best,
			    const struct rpcrdma_segment *seg);
u32 rpcrdma_hdr_inv_handle(const struct rpcrdma_hdr *hdr, bool announced);

/**
 * enum rpcrdma_extent_kind - where a range of a received message comes from
 * @RPCRDMA_EXTENT_INLINE: the Receive buffer
 * @RPCRDMA_EXTENT_READ: the peer's memory, by RDMA Read
 * @RPCRDMA_EXTENT_PAD: zeroes: XDR roundup the peer did not send
 */
enum rpcrdma_extent_kind {
	RPCRDMA_EXTENT_INLINE,
	RPCRDMA_EXTENT_READ,
	RPCRDMA_EXTENT_PAD,
};

/**
 * struct rpcrdma_extent - one range of a received message
 * @kind: source
 * @chunk: READ: the data item does not belong to a Position-Zero chunk
 * @msg: offset in the assembled RPC message
 * @len: octets, never 0
 * @src: INLINE: offset in the Receive buffer (not in the body)
 * @seg: READ: handle, offset and length (== @len) to read
 */
struct rpcrdma_extent {
	enum rpcrdma_extent_kind kind;
	bool			chunk;
	u32			msg;
	u32			len;
	u32			src;
	struct rpcrdma_segment	seg;
};

/**
 * struct rpcrdma_tiler - yields the extents of a message in order
 *
 * The extents tile [0, hdr->msg_len) exactly: no gap, no overlap, ascending.
 * Fields are private to plan.c.
 */
struct rpcrdma_tiler {
	/* private: */
	const struct rpcrdma_hdr	*hdr;
	struct rpcrdma_read_iter	base;	/* Position-Zero segments */
	struct rpcrdma_read_iter	data;	/* all other segments */
	bool				have_data;
	u32				base_used; /* of the inline body, or of base.seg */
	u32				msg;
	u32				pad;
};

void rpcrdma_tiler_init(struct rpcrdma_tiler *tiler,
			const struct rpcrdma_hdr *hdr);
bool rpcrdma_tiler_next(struct rpcrdma_tiler *tiler,
			struct rpcrdma_extent *ext);

/**
 * enum rpcrdma_layout - how a Responder lays a Call out in memory
 * @RPCRDMA_LAYOUT_INLINE: as it was received
 * @RPCRDMA_LAYOUT_CHUNK: the one data item that left it (an NFS WRITE) in pages
 *	of its own, the octets around it as they were received; the few behind it are
 *	in the pages as well
 * @RPCRDMA_LAYOUT_PAGES: the whole message in pages
 * @RPCRDMA_LAYOUT_ONE_PIECE: the whole message without a gap between its octets
 */
enum rpcrdma_layout {
	RPCRDMA_LAYOUT_INLINE,
	RPCRDMA_LAYOUT_CHUNK,
	RPCRDMA_LAYOUT_PAGES,
	RPCRDMA_LAYOUT_ONE_PIECE,
};

bool rpcrdma_call_makes_gss_context(const u8 *msg, u32 len);
enum rpcrdma_layout rpcrdma_plan_layout(const struct rpcrdma_hdr *hdr,
					u32 page_size);

/**
 * struct rpcrdma_device_limits - a device's limits that bear upon the queues
 * @max_qp_wr: WRs per queue
 * @max_cqe: entries per CQ
 * @max_send_sge: SGEs per Send Queue WR
 * @max_recv_sge: SGEs per Receive
 * @max_sge_rd: SGEs per RDMA Read
 * @max_frwr_pages: pages per fast-registered MR, 0 if it has none
 * @max_mr: MRs of the device
 * @max_rd_atom: RDMA Reads a QP may have in flight as their target
 * @max_init_rd_atom: RDMA Reads a QP may have in flight as their initiator
 */
struct rpcrdma_device_limits {
	u32	max_qp_wr;
	u32	max_cqe;
	u32	max_send_sge;
	u32	max_recv_sge;
	u32	max_sge_rd;
	u32	max_frwr_pages;
	u32	max_mr;
	u32	max_rd_atom;
	u32	max_init_rd_atom;
};

/**
 * struct rpcrdma_queue_want - what a side would like to have
 * @credits: RPCs outstanding, forward direction
 * @bc_credits: RPCs outstanding, reverse direction
 * @recv_batch: extra Receives, so that they can be posted in batches
 * @payload_pages: pages of the largest payload, worst alignment
 * @rw_wrs: Send Queue WRs one RPC's RDMA Reads or Writes may take (a
 *	Responder), 0 for a Requester
 * @send_sge: SGEs a Send would like to have
 * @use_frwr: registers memory (a Requester): REG_MR and LOCAL_INV count
 */
struct rpcrdma_queue_want {
	u32	credits;
	u32	bc_credits;
	u32	recv_batch;
	u32	payload_pages;
	u32	rw_wrs;
	u32	send_sge;
	bool	use_frwr;
};

/**
 * struct rpcrdma_queue_sizes - result of rpcrdma_plan_queues()
 * @credits: forward credits that the device can carry
 * @bc_credits: reverse credits
 * @sq_depth: Send Queue WRs, one for the drain included
 * @rq_depth: Receive Queue WRs, one for the drain included
 * @recvs: Receives to keep posted (@rq_depth less the drain's)
 * @send_sge: SGEs per Send
 * @mr_pages: pages per MR
 * @mrs_per_payload: MRs the largest payload takes
 */
struct rpcrdma_queue_sizes {
	u32	credits;
	u32	bc_credits;
	u32	sq_depth;
	u32	rq_depth;
	u32	recvs;
	u32	send_sge;
	u32	mr_pages;
	u32	mrs_per_payload;
};

u32 rpcrdma_plan_recv_block(u32 size, u32 page_size);
int rpcrdma_plan_queues(struct rpcrdma_queue_sizes *sizes,
			const struct rpcrdma_queue_want *want,
			const struct rpcrdma_device_limits *dev);
bool rpcrdma_plan_fewer(struct rpcrdma_queue_want *want,
			const struct rpcrdma_queue_sizes *tried,
			const struct rpcrdma_device_limits *dev);

#endif /* RPCRDMA_PLAN_H */
