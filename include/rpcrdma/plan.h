/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which transfer mode a Call uses. Pure.
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
 * @option: with chunks, Call and Reply travel by the option of remote invalidation
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

#endif /* RPCRDMA_PLAN_H */
