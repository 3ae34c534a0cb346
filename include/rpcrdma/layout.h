/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a received message is tiled from inline and chunk ranges, and laid out in
 * memory. Pure.
 */
#ifndef RPCRDMA_LAYOUT_H
#define RPCRDMA_LAYOUT_H

#include "wire.h"

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
 * Fields are private to layout.c.
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
enum rpcrdma_layout
rpcrdma_plan_layout_read(enum rpcrdma_layout layout,
			 const u8 *(*page)(const void *ctx, u32 nr),
			 const void *ctx, u32 len, u32 page_size);

#endif /* RPCRDMA_LAYOUT_H */
