/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a received Call is put together from inline and chunk ranges, and how it
 * is laid out in memory. Pure.
 */
#ifndef SVC_RDMA_LAYOUT_H
#define SVC_RDMA_LAYOUT_H

#include "rpcrdma/wire.h"

/* Source of a range of a received message */
enum rpcrdma_extent_kind {
	RPCRDMA_EXTENT_INLINE,	/* the Receive buffer */
	RPCRDMA_EXTENT_READ,	/* the peer's memory, by RDMA Read */
	RPCRDMA_EXTENT_PAD,	/* XDR roundup that the peer did not send */
};

/* A range of a received message */
struct rpcrdma_extent {
	enum rpcrdma_extent_kind kind;
	bool			chunk;	/* READ: not of the Position-Zero chunk */
	u32			msg;	/* offset in the assembled message */
	u32			len;	/* never 0 */
	u32			src;	/* INLINE: offset in the Receive buffer */
	struct rpcrdma_segment	seg;	/* READ: the source, @len bytes */
};

/* Yields the extents of a message, which tile [0, hdr->msg_len), in order */
struct rpcrdma_msg_iter {
	/* private: */
	const struct rpcrdma_hdr	*hdr;
	struct rpcrdma_read_iter	base;	/* Position-Zero segments */
	struct rpcrdma_read_iter	data;	/* all other segments */
	bool				have_data;
	u32				base_used; /* of inline body or base.seg */
	u32				msg;
	u32				pad;
};

void rpcrdma_msg_iter_init(struct rpcrdma_msg_iter *it,
			   const struct rpcrdma_hdr *hdr);
bool rpcrdma_msg_iter_next(struct rpcrdma_msg_iter *it,
			   struct rpcrdma_extent *ext);

/* How a Call is laid out in memory */
enum rpcrdma_layout {
	RPCRDMA_LAYOUT_INLINE,	/* as it was received */
	/*
	 * The one data item that left it (an NFS WRITE) in pages of its own, with
	 * the few bytes behind it; the part before it as it was received
	 */
	RPCRDMA_LAYOUT_CHUNK,
	RPCRDMA_LAYOUT_PAGES,	/* the whole message in pages */
};

bool rpcrdma_call_makes_gss_context(const u8 *msg, u32 len);
enum rpcrdma_layout rpcrdma_plan_layout(const struct rpcrdma_hdr *hdr,
					u32 page_size);
u32 rpcrdma_plan_head(const struct rpcrdma_hdr *hdr,
		      const u8 *(*page)(const void *ctx, u32 nr),
		      const void *ctx, u32 page_size);

#endif /* SVC_RDMA_LAYOUT_H */
