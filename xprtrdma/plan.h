/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Pure decisions of the client: the transfer mode of a Call and the MRs of its
 * chunks (plan.c), and the version of a connection (negotiate.c).
 */
#ifndef XPRT_RDMA_PLAN_H
#define XPRT_RDMA_PLAN_H

#include "rpcrdma/wire.h"

/* ---- transfer modes and MRs ---- */

/* One RPC as its Requester knows it; sizes in bytes */
struct xprt_rdma_call_shape {
	u32	head;		/* the Call before the page data */
	u32	pages;		/* page data */
	u32	tail;		/* behind it, its XDR pad included */
	u32	tail_pad;	/* how much of @tail is that pad */
	bool	call_ddp;	/* the page data are DDP-eligible */
	u32	reply_max;	/* longest Reply */
	u32	reply_pages;	/* most page data of the Reply */
	bool	reply_ddp;	/* they are DDP-eligible */
	bool	no_ddp;		/* krb5i, krb5p: no DDP in either direction */
	bool	option;		/* Call and Reply go by the option of version 2 */
	u32	inline_send;	/* inline threshold for the Call */
	u32	inline_recv;	/* inline threshold for the Reply */
	bool	write_pad;	/* a Write chunk has room for XDR roundup */
	u32	mr_bytes;	/* one MR at worst alignment; 0: any range fits */
};

/* How the Call's bytes travel */
enum xprt_rdma_call_mode {
	XPRT_RDMA_CALL_INLINE,	/* RDMA_MSG, all of it behind the header */
	XPRT_RDMA_CALL_READ_CHUNK, /* RDMA_MSG, page data as a Read chunk */
	XPRT_RDMA_CALL_POSITION_ZERO, /* RDMA_NOMSG, all of it as a chunk */
};

/* Result of xprt_rdma_plan_call() */
struct xprt_rdma_call_plan {
	enum xprt_rdma_call_mode mode;
	bool write_list;	/* a Write chunk for page data */
	u32 write_pad;		/* bytes of its last segment, for their roundup */
	bool reply_chunk;	/* the rest may be too long inline */
	u32 reply_chunk_bytes;
};

void xprt_rdma_plan_call(struct xprt_rdma_call_plan *plan,
			 const struct xprt_rdma_call_shape *shape);

/* Ranges of memory that a chunk may cover: parts of an xdr_buf, in order */
enum xprt_rdma_range {
	XPRT_RDMA_HEAD,
	XPRT_RDMA_PAGES,
	XPRT_RDMA_TAIL,
	XPRT_RDMA_RANGES
};

/* A chunk, and the next of the MRs that cover it */
struct xprt_rdma_mr_plan {
	struct {
		u32	offset;	/* where it begins in its page */
		u32	len;	/* bytes that no MR covers yet; 0: not in it */
	} range[XPRT_RDMA_RANGES];
	u32	page_size;
	u32	mr_pages;	/* most pages of one MR */
	bool	gaps;		/* ranges of an MR may begin and end anywhere */
	u32	take[XPRT_RDMA_RANGES];	/* bytes that the next MR covers */
};

bool xprt_rdma_plan_gaps(const struct xprt_rdma_mr_plan *plan);
u32 xprt_rdma_plan_mr(struct xprt_rdma_mr_plan *plan);

/* ---- versions ---- */

/* Most bytes of a first message, which every receiver takes */
#define XPRT_RDMA_FIRST_MAX	RPCRDMA_INLINE_MIN

/* Zero, as all of struct xprt_rdma_nego, speaks version 1 */
enum xprt_rdma_nego_state {
	XPRT_RDMA_NEGO_SETTLED,
	XPRT_RDMA_NEGO_FIRST,	/* version 2 is to be tried, nothing was sent */
	XPRT_RDMA_NEGO_WAITING,	/* the first message was sent */
	XPRT_RDMA_NEGO_HEARD,	/* errors so far, none of which means version 1 */
};

/* Versions of a transport; times in ms of a clock that never goes back */
struct xprt_rdma_nego {
	bool			v1_known;	/* outlives connections */
	u64			v1_since;
	enum xprt_rdma_nego_state	state;		/* of this connection */
	u32			vers;		/* of the next Call */
	bool			option;		/* of the next, if it has chunks */
	u32			xid;		/* of the last Call, until settled */
	u64			sent_at;	/* the first message */
	u64			patience;	/* for its answer */
};

void xprt_rdma_nego_init(struct xprt_rdma_nego *nego);
void xprt_rdma_nego_begin(struct xprt_rdma_nego *nego, u32 max, u64 now,
			  u64 memory, u64 patience);
void xprt_rdma_nego_sent(struct xprt_rdma_nego *nego, u32 xid, u64 now);
bool xprt_rdma_nego_expired(const struct xprt_rdma_nego *nego, u64 now);
void xprt_rdma_nego_heard(struct xprt_rdma_nego *nego,
			  const struct rpcrdma_hdr *hdr, u64 now);
bool xprt_rdma_nego_resend(const struct xprt_rdma_nego *nego,
			   const struct rpcrdma_hdr *hdr,
			   const struct rpcrdma_form *sent);
void xprt_rdma_nego_lost(struct xprt_rdma_nego *nego, u64 now);
void xprt_rdma_nego_refused(struct xprt_rdma_nego *nego);
void xprt_rdma_nego_form(const struct xprt_rdma_nego *nego,
			 struct rpcrdma_form *form);
void xprt_rdma_nego_plain_form(const struct xprt_rdma_nego *nego,
			       struct rpcrdma_form *form);
bool xprt_rdma_no_common_version(const struct rpcrdma_hdr *hdr);
bool xprt_rdma_nego_invalidates(const struct xprt_rdma_nego *nego);
void xprt_rdma_nego_thresholds(const struct xprt_rdma_nego *nego,
			       struct rpcrdma_properties *prop,
			       const struct rpcrdma_properties *v1);

#endif /* XPRT_RDMA_PLAN_H */
