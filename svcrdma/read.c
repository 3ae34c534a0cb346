// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The RDMA Reads of a Call with Read chunks: into which pages they go, what
 * they need, and how they begin. When they may begin is decided in queue.c.
 */

#include "rpcrdma/trace.h"
#include "svc_rdma.h"

static void reads_done(struct rpcrdma_chain *chain, enum ib_wc_status status)
{
	struct svc_rdma_call *call =
		container_of(chain, struct svc_rdma_call, chain);

	trace_svcrdma_read_finished(call->conn->ep, call->recv->hdr.xid, status);
	if (status == IB_WC_SUCCESS) {
		svc_rdma_queue_ready(call);
	} else {
		svc_rdma_note_bad_rkey(call->conn, call->recv->hdr.xid);
		svc_rdma_call_put(call);
	}
}

/* Where the bytes that go into pages begin in the message */
static u32 pages_begin(const struct svc_rdma_call *call)
{
	return call->layout == RPCRDMA_LAYOUT_CHUNK ?
	       call->recv->hdr.ddp_position : 0;
}

/* Pages for the message, or for its only chunk and the bytes behind it */
static u32 pages_of(const struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;

	return DIV_ROUND_UP(hdr->msg_len - pages_begin(call), PAGE_SIZE);
}

/* The charges for @pages; contexts are not made yet: no more of them than this are large */
static void plan_charges(struct svc_rdma_call *call, u32 pages)
{
	u32 segs = call->recv->hdr.read_segs;
	u32 large = pages / (SVC_RDMA_RW_SMALL_LEN / PAGE_SIZE);
	u32 memory = segs + min(segs, large) * (SVC_RDMA_RW_LARGE - 1);
	struct rpcrdma_msg_iter it;
	struct rpcrdma_extent ext;

	call->want_pages = svc_rdma_pages_charged(pages, memory);
	call->want_mrs = 0;
	if (!call->conn->queue.max_mrs)
		return;
	rpcrdma_msg_iter_init(&it, &call->recv->hdr);
	while (rpcrdma_msg_iter_next(&it, &ext)) {
		u32 at = offset_in_page(ext.msg - pages_begin(call));
		u32 span = DIV_ROUND_UP(at + ext.len, PAGE_SIZE);

		if (ext.kind == RPCRDMA_EXTENT_READ)
			call->want_mrs += svc_rdma_rw_mrs(call->conn, span,
							  DMA_FROM_DEVICE);
	}
}

/*
 * rxe may complete a failed Read with success, and have its queue pair fail after that: what
 * follows the Read is flushed then, and tells. An octet of @seg goes again where the XID was.
 * It is not a Read of nothing, since rxe refuses to repeat the Read before such a one.
 */
static struct ib_send_wr *build_fence(struct svc_rdma_call *call,
				      const struct rpcrdma_segment *seg)
{
	if (!(call->conn->ep->quirks & RPCRDMA_QUIRK_EARLY_READ_COMPLETION))
		return NULL;
	call->fence_sge = call->recv->sge;
	call->fence_sge.length = 1;
	call->fence = (struct ib_rdma_wr) {
		.wr = {
			.opcode		= IB_WR_RDMA_READ,
			.sg_list	= &call->fence_sge,
			.num_sge	= 1,
		},
		.remote_addr	= seg->offset,
		.rkey		= seg->handle,
	};
	return &call->fence.wr;
}

static int build_reads(struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	struct rpcrdma_segment last = {};
	struct rpcrdma_msg_iter it;
	struct rpcrdma_extent ext;
	int rc = 0;

	rpcrdma_msg_iter_init(&it, &call->recv->hdr);
	while (!rc && rpcrdma_msg_iter_next(&it, &ext)) {
		if (ext.kind != RPCRDMA_EXTENT_READ)
			continue;
		rc = svc_rdma_rwset_add(conn, &call->reads, &call->sink,
					ext.msg - pages_begin(call), &ext.seg);
		last = ext.seg;
	}
	if (rc)
		return rc;
	rpcrdma_chain_init(&call->chain, reads_done);
	svc_rdma_rwset_append(conn, &call->reads, &call->chain,
			      build_fence(call, &last));
	return 0;
}

/**
 * svc_rdma_start_reads - read the chunks of a Call
 * @rqstp: nfsd thread; it has as many pages as any other
 * @call: Call whose Reads are charged; not the caller's any more
 *
 * Context: process, within svc_rdma_enter(); sleeps for memory, never for the
 * peer.
 *
 * Return: 0: the Call is complete when its RDMA Reads are.
 */
int svc_rdma_start_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	int rc;

	rc = svc_rdma_call_own_pages(call, rqstp, pages_of(call));
	if (!rc)
		rc = build_reads(call);
	if (!rc) {
		trace_svcrdma_post_reads(conn->ep, call->recv->hdr.xid,
					 call->chain.slots);
		rc = rpcrdma_sendq_post(conn->ep, &call->chain, false);
	}
	switch (rc) {
	case 0:
		return 0;
	case -EINVAL: /* Bounce buffers may have moved it within its pages */
		svc_rdma_reject_call(call,
				     "the device cannot register the pages of its RDMA Reads");
		return 0;
	case -ENOTCONN:
		break;
	default:
		rpcrdma_ep_fail(conn->ep, rc,
				"RDMA Reads could not be started");
	}
	svc_rdma_call_put(call);
	return 0;
}

/**
 * svc_rdma_begin_reads - read the chunks of a Call, or let it wait for that
 * @rqstp: nfsd thread
 * @call: Call with Read chunks; not the caller's any more
 *
 * Context: process, within svc_rdma_enter(); sleeps for memory, never for the
 * peer.
 *
 * Return: 0, as svc_rdma_start_reads().
 */
int svc_rdma_begin_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	const char *why = NULL;
	u32 pages, xid;

	call->layout = rpcrdma_plan_layout(&call->recv->hdr, PAGE_SIZE);
	pages = pages_of(call);
	plan_charges(call, pages);
	/* A client that lets us read nothing would never see it begin */
	if (!conn->ep->initiator_depth)
		why = "to be read, and the connection is without RDMA Reads";
	else if (!svc_rdma_has_pages(rqstp, pages))
		why = "more to read than a call may have";
	else if (call->want_mrs > conn->queue.max_mrs)
		why = "more RDMA Reads than MRs";
	if (why) {
		svc_rdma_reject_call(call, why);
		return 0;
	}
	xid = call->recv->hdr.xid;
	if (!svc_rdma_queue_reads(call)) {
		trace_svcrdma_read_wait(conn->ep, xid, pages);
		return 0;
	}
	return svc_rdma_start_reads(rqstp, call);
}
