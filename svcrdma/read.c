// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The RDMA Reads of a Call with Read chunks: where they go to, how they begin, and when.
 *
 * How long they take is the client's affair, so that what they go to is bounded for each
 * connection. A Call that has to wait for others' Reads has no pages meanwhile, and
 * holds up only those that have something to read themselves.
 */

#include <linux/sunrpc/xdr.h>

#include "rpcrdma/layout.h"
#include "arg.h"
#include "read.h"
#include "send.h"

/* Whoever calls these holds conn->lock */

static void wait_last(struct svc_rdma_conn *conn, struct svc_rdma_call *call)
{
	call->next = NULL;
	*conn->waiting_end = call;
	conn->waiting_end = &call->next;
}

static void wait_first(struct svc_rdma_conn *conn, struct svc_rdma_call *call)
{
	call->next = conn->waiting;
	if (!call->next)
		conn->waiting_end = &call->next;
	conn->waiting = call;
}

static struct svc_rdma_call *cease_to_wait(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call = conn->waiting;

	conn->waiting = call->next;
	if (!conn->waiting)
		conn->waiting_end = &conn->waiting;
	/* One that lacked MRs tries alone: two could take them from each other for ever */
	conn->starved = call->lacked_mrs;
	call->rws_returned = conn->rws_returned;
	return call;
}

static void reads_done(struct rpcrdma_chain *chain, enum ib_wc_status status)
{
	struct svc_rdma_call *call =
		container_of(chain, struct svc_rdma_call, chain);
	struct svc_rdma_conn *conn = call->conn;

	if (status != IB_WC_SUCCESS) {
		svc_rdma_rwset_release(conn, &call->reads);
		svc_rdma_call_put(call);
		return;
	}
	svc_rdma_call_ready(call);
}

/* Octets that go into pages, XDR roundup included */
static u32 pages_len(const struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;

	return call->layout == RPCRDMA_LAYOUT_CHUNK ?
	       xdr_align_size(hdr->read_bytes) + svc_rdma_tail_len(hdr) :
	       hdr->msg_len;
}

static u32 pages_of(const struct svc_rdma_call *call)
{
	return DIV_ROUND_UP(pages_len(call), PAGE_SIZE);
}

/* What its Reads count as before there are contexts: no more of them than this are large */
static u32 share_of(const struct svc_rdma_call *call, u32 pages)
{
	u32 segs = call->recv->hdr.read_segs;
	u32 large = min_t(u32, segs, pages / (SVC_RDMA_RW_SMALL_LEN / PAGE_SIZE));

	return svc_rdma_share(pages, segs + large * (SVC_RDMA_RW_LARGE - 1));
}

/*
 * Each chunk to its place: in the message, or, where only one chunk goes into pages, behind
 * its beginning.
 */
static int read_chunks(struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	u32 base = call->layout == RPCRDMA_LAYOUT_CHUNK ? hdr->ddp_position : 0;
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;
	int rc = 0;

	rpcrdma_tiler_init(&tiler, hdr);
	while (!rc && rpcrdma_tiler_next(&tiler, &ext)) {
		if (ext.kind == RPCRDMA_EXTENT_READ)
			rc = svc_rdma_rwset_add(call->conn, &call->reads,
						&call->sink, ext.msg - base,
						&ext.seg);
	}
	return rc;
}

static bool take_share(struct svc_rdma_conn *conn, struct svc_rdma_call *call,
		       u32 share)
{
	if (!svc_rdma_budget_try(&conn->reads, share))
		return false;
	call->reads.pages = share;
	return true;
}

/* On error nothing is in progress, and what there is stays the call's */
static int start_reads(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
		       struct svc_rdma_call *call)
{
	int rc = svc_rdma_call_own_pages(call, rqstp, pages_of(call));

	if (!rc)
		rc = read_chunks(call);
	if (!rc) {
		rpcrdma_chain_init(&call->chain, reads_done);
		rpcrdma_chain_append(conn->ep, &call->chain,
				     svc_rdma_rwset_wrs(conn, &call->reads,
							&call->chain, NULL));
		rc = rpcrdma_sendq_post(conn->ep, &call->chain);
	}
	return rc;
}

/* What is in flight already has the pages that this one would go to */
static void wait_for_pages(struct svc_rdma_conn *conn,
				    struct svc_rdma_call *call, u32 share)
{
	call->wanted = share;
	spin_lock(&conn->lock);
	conn->reads.waits++;
	/* Left behind by one that lacked MRs and was alone here */
	if (!conn->waiting)
		conn->starved = false;
	wait_last(conn, call);
	/* All that was in flight may have come to its end just now */
	svc_rdma_serve_waiting(conn);
	spin_unlock(&conn->lock);
}

/*
 * The device reads into MRs, and others have them: it is the first one's turn when some
 * are back.
 */
static void wait_for_mrs(struct svc_rdma_conn *conn, struct svc_rdma_call *call,
			 u32 share)
{
	svc_rdma_call_put_pages(call);
	call->wanted = share;
	call->lacked_mrs = true;
	spin_lock(&conn->lock);
	conn->reads.waits++;
	wait_first(conn, call);
	conn->starved = conn->rws_taken != conn->rws_returned;
	svc_rdma_serve_waiting(conn);
	spin_unlock(&conn->lock);
}

/* Those that waited behind one that lacked MRs need not wait for its end */
static void mrs_suffice(struct svc_rdma_conn *conn)
{
	spin_lock(&conn->lock);
	conn->starved = false;
	svc_rdma_serve_waiting(conn);
	spin_unlock(&conn->lock);
}

static void reads_not_started(struct svc_rdma_conn *conn,
				       struct svc_rdma_call *call, int rc)
{
	u32 share = call->reads.pages;
	/* Only what others have, or had, can be what it lacks: see cease_to_wait() */
	bool wait = rc == -EAGAIN &&
		    !(call->lacked_mrs &&
		      svc_rdma_rwset_alone(conn, &call->reads,
					   call->rws_returned));

	if (wait) {
		svc_rdma_rwset_undo(conn, &call->reads);
		wait_for_mrs(conn, call, share);
		return;
	}
	svc_rdma_rwset_release(conn, &call->reads);
	if (call->lacked_mrs) {
		call->lacked_mrs = false;
		mrs_suffice(conn);
	}
	if (rc == -ENOSPC)
		svc_rdma_refuse_call(call, "more RDMA Reads than the Send Queue has room for");
	else if (rc == -EAGAIN)
		svc_rdma_refuse_call(call, "more RDMA Reads than there are MRs for");
	else if (rc == -EINVAL) /* Bounce buffers may have moved it within its pages */
		svc_rdma_refuse_call(call, "the device cannot register what they go to");
	else if (rc != -ENOTCONN)
		rpcrdma_ep_fail_reason(conn->ep, rc,
				       "RDMA Reads could not be started");
	svc_rdma_call_put(call);
}

/**
 * svc_rdma_begin_reads - read what a Call has in chunks, or let it wait for that
 * @rqstp: nfsd thread
 * @call: Call with Read chunks; not the caller's any more
 *
 * Context: process, within svc_rdma_enter(); sleeps for memory, never for the peer.
 *
 * Return: 0: the Call is complete when its RDMA Reads are.
 */
int svc_rdma_begin_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	u32 pages, share;
	int rc;

	call->layout = rpcrdma_plan_layout(&call->recv->hdr, PAGE_SIZE);
	pages = pages_of(call);
	/* A client that lets us read nothing would never see it begin */
	if (unlikely(!svc_rdma_has_pages(rqstp, pages) ||
		     !conn->ep->initiator_depth)) {
		svc_rdma_refuse_call(call, conn->ep->initiator_depth ?
			     "more to read than a call may have" :
			     "to be read, and the connection is without RDMA Reads");
		svc_rdma_call_put(call);
		return 0;
	}
	share = share_of(call, pages);
	/* In order with those that wait */
	if (unlikely(READ_ONCE(conn->waiting) ||
		     !take_share(conn, call, share))) {
		wait_for_pages(conn, call, share);
		return 0;
	}
	rc = start_reads(conn, rqstp, call);
	if (unlikely(rc))
		reads_not_started(conn, call, rc);
	return 0;
}

/**
 * svc_rdma_resume_reads - read what a Call that waited has in chunks
 * @rqstp: nfsd thread; it has as many pages as all others
 * @call: what svc_rdma_take_waiting() gave; not the caller's any more
 *
 * Context: process, within svc_rdma_enter(); sleeps for memory, never for the peer.
 *
 * Return: 0, as svc_rdma_begin_reads().
 */
int svc_rdma_resume_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	bool lacked_mrs = call->lacked_mrs;
	int rc;

	/* When its Reads are posted it is not ours any more */
	call->lacked_mrs = false;
	rc = start_reads(conn, rqstp, call);
	if (rc) {
		call->lacked_mrs = lacked_mrs;
		reads_not_started(conn, call, rc);
	} else if (lacked_mrs) {
		mrs_suffice(conn);
	}
	return 0;
}

/**
 * svc_rdma_take_waiting - the first Call that waits, if it may begin to read
 * @conn: connection on which a Call waits
 *
 * Context: process; the caller holds conn->lock.
 *
 * Return: it, with its share of the connection's pages, or NULL.
 */
struct svc_rdma_call *svc_rdma_take_waiting(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call = conn->waiting;

	if (!svc_rdma_may_read(conn) || !take_share(conn, call, call->wanted))
		return NULL;
	return cease_to_wait(conn);
}

/**
 * svc_rdma_drop_waiting - forget the Calls that wait to read
 * @conn: connection whose queues are drained
 *
 * Context: process, with no thread within svc_rdma_enter().
 */
void svc_rdma_drop_waiting(struct svc_rdma_conn *conn)
{
	while (conn->waiting)
		svc_rdma_call_put(cease_to_wait(conn));
}
