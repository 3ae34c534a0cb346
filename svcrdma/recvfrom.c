// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls: from a Receive to a complete RPC message in an nfsd thread's rq_arg.
 *
 * A message without Read chunks is processed where it was received. For one
 * with Read chunks the RDMA Reads are started and the nfsd thread goes back to
 * work; the last Read's completion makes the connection ready again, and
 * whichever thread comes next finds the Call complete.
 */

#include <linux/highmem.h>
#include <linux/sunrpc/xdr.h>

#include "rpcrdma/plan.h"
#include "svc_rdma.h"

/* A Call's message may leave so many of an nfsd thread's pages for the Reply */
#define SVC_RDMA_REPLY_PAGES	1

/**
 * svc_rdma_received - a message arrived
 * @ep: endpoint
 * @recv: message
 *
 * Only queues it: what can be done about it needs a thread that may sleep.
 *
 * Context: process or softirq.
 */
void svc_rdma_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv)
{
	struct svc_rdma_conn *conn = ep->owner;

	percpu_counter_inc(&svc_rdma_stat_recv);
	spin_lock_bh(&conn->lock);
	list_add_tail(&recv->list, &conn->received);
	svc_rdma_make_ready(conn);
	spin_unlock_bh(&conn->lock);
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
	spin_lock_bh(&conn->lock);
	list_add_tail(&call->list, &conn->ready);
	svc_rdma_make_ready(conn);
	spin_unlock_bh(&conn->lock);
}

/**
 * svc_rdma_drop_received - forget what no thread has taken yet
 * @conn: connection whose queues are drained
 *
 * Context: process, with no thread within svc_rdma_enter().
 */
void svc_rdma_drop_received(struct svc_rdma_conn *conn)
{
	struct rpcrdma_recv *recv, *next_recv;
	struct svc_rdma_call *call, *next_call;
	LIST_HEAD(received);
	LIST_HEAD(ready);

	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->received, &received);
	list_splice_init(&conn->ready, &ready);
	spin_unlock_bh(&conn->lock);

	list_for_each_entry_safe(recv, next_recv, &received, list)
		rpcrdma_recv_put(recv);
	list_for_each_entry_safe(call, next_call, &ready, list) {
		svc_rdma_rwset_release(conn, &call->reads);
		svc_rdma_call_put(call);
	}
}

/**
 * svc_rdma_release_ctxt - an RPC is done, or dropped
 * @xprt: connection
 * @ctxt: its Call context, or NULL
 *
 * Context: process.
 */
void svc_rdma_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		svc_rdma_call_put(ctxt);
}

static enum rpcrdma_layout layout(const struct rpcrdma_hdr *hdr)
{
	return rpcrdma_plan_layout(hdr, PAGE_SIZE);
}

/* Where in the message that begins which goes into pages */
static u32 pages_start(const struct rpcrdma_hdr *hdr)
{
	return layout(hdr) == RPCRDMA_LAYOUT_CHUNK ? hdr->item : 0;
}

/* Octets that go into pages, XDR roundup included */
static u32 pages_len(const struct rpcrdma_hdr *hdr)
{
	return layout(hdr) == RPCRDMA_LAYOUT_CHUNK ?
	       xdr_align_size(hdr->read_bytes) : hdr->msg_len;
}

static int build_reads(struct svc_rdma_conn *conn, struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	struct xdr_buf sink = {
		.pages		= call->pages,
		.page_len	= call->nr_pages << PAGE_SHIFT,
	};
	u32 start = pages_start(hdr);
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;
	int rc;

	rpcrdma_tiler_init(&tiler, hdr);
	while (rpcrdma_tiler_next(&tiler, &ext)) {
		struct svc_rdma_cursor cur = {
			.buf	= &sink,
			.at	= ext.msg - start,
		};

		if (ext.kind != RPCRDMA_EXTENT_READ)
			continue;
		rc = svc_rdma_rwset_add(conn, &call->reads, &cur, &ext.seg);
		if (rc)
			return rc;
	}
	return 0;
}

/* On error nothing is in progress, and the pages stay the call's */
static int start_reads(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
		       struct svc_rdma_call *call)
{
	unsigned int nr = DIV_ROUND_UP(pages_len(&call->recv->hdr), PAGE_SIZE);
	int rc = 0;

	if (nr + SVC_RDMA_REPLY_PAGES > rqstp->rq_page_end - rqstp->rq_pages)
		return -EMSGSIZE;
	/* A client that lets us read nothing would never see it begin */
	if (!conn->ep->initiator_depth)
		return -EMSGSIZE;
	if (!call->nr_pages)
		rc = svc_rdma_call_own_pages(call, rqstp, nr);
	if (!rc)
		rc = build_reads(conn, call);
	if (!rc) {
		rpcrdma_chain_init(&call->chain, reads_done);
		rpcrdma_chain_append(conn->ep, &call->chain,
				     svc_rdma_rwset_wrs(conn, &call->reads,
							&call->chain, NULL));
		rc = rpcrdma_sendq_post(conn->ep, &call->chain);
	}
	if (rc)
		svc_rdma_rwset_release(conn, &call->reads);
	return rc;
}

/* One for one: the displaced pages serve the next Reads */
static void exchange_pages(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	unsigned int i, nr = call->nr_pages;

	for (i = 0; i < nr; i++) {
		RPCRDMA_INVARIANT(9, rqstp->rq_pages[i] && call->pages[i]);
		swap(rqstp->rq_pages[i], call->pages[i]);
	}
	call->nr_pages = 0;
	svc_rdma_pages_put(call->pages, nr);
	rqstp->rq_respages = &rqstp->rq_pages[nr];
	rqstp->rq_next_page = rqstp->rq_respages;
}

/* @src NULL: zeroes */
static void fill_pages(struct page **pages, u32 at, const u8 *src, u32 len)
{
	while (len) {
		struct page *page = pages[at >> PAGE_SHIFT];
		u32 offset = offset_in_page(at);
		u32 n = min_t(u32, len, PAGE_SIZE - offset);

		if (src)
			memcpy_to_page(page, offset, src, n);
		else
			memzero_page(page, offset, n);
		src = src ? src + n : NULL;
		at += n;
		len -= n;
	}
}

/*
 * What the RDMA Reads left out. After them and not before: the device may own
 * the cache lines next to what it writes.
 */
static void fill_gaps(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr)
{
	bool all = layout(hdr) != RPCRDMA_LAYOUT_CHUNK;
	u32 start = pages_start(hdr);
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;

	rpcrdma_tiler_init(&tiler, hdr);
	while (rpcrdma_tiler_next(&tiler, &ext)) {
		if (ext.kind == RPCRDMA_EXTENT_PAD)
			fill_pages(rqstp->rq_pages, ext.msg - start, NULL,
				   ext.len);
		else if (ext.kind == RPCRDMA_EXTENT_INLINE && all)
			fill_pages(rqstp->rq_pages, ext.msg, hdr->buf + ext.src,
				   ext.len);
	}
}

/* The message as it was received, around @page_len octets at @position */
static void arg_inline(struct svc_rqst *rqstp, const struct rpcrdma_hdr *hdr,
		       u32 position, u32 page_len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;
	void *body = (void *)hdr->buf + hdr->body;

	arg->head[0].iov_base = body;
	arg->head[0].iov_len = position;
	arg->pages = rqstp->rq_pages;
	arg->page_base = 0;
	arg->page_len = page_len;
	arg->tail[0].iov_base = body + position;
	arg->tail[0].iov_len = hdr->body_len - position;
	arg->len = hdr->body_len + page_len;
	arg->buflen = arg->len;
}

/* The message in pages, from its first octet */
static void arg_in_pages(struct svc_rqst *rqstp, u32 len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = page_address(rqstp->rq_pages[0]);
	arg->head[0].iov_len = min_t(u32, len, PAGE_SIZE);
	arg->pages = &rqstp->rq_pages[1];
	arg->page_base = 0;
	arg->page_len = len - arg->head[0].iov_len;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;
	arg->len = len;
	arg->buflen = len;
}

/* Not vmalloc(): GSS computes checksums over the head by its struct pages */
static int arg_in_one_piece(struct svc_rqst *rqstp, struct svc_rdma_call *call,
			    u32 len)
{
	struct xdr_buf *arg = &rqstp->rq_arg;
	u32 at, n;

	call->copy = RPCRDMA_ALLOC(NULL, kmalloc(len, GFP_KERNEL |
						      __GFP_NOWARN));
	if (!call->copy)
		return -ENOMEM;
	for (at = 0; at < len; at += n) {
		n = min_t(u32, len - at, PAGE_SIZE);
		memcpy_from_page(call->copy + at,
				 rqstp->rq_pages[at >> PAGE_SHIFT], 0, n);
	}
	arg_in_pages(rqstp, len);
	arg->head[0].iov_base = call->copy;
	arg->head[0].iov_len = len;
	arg->page_len = 0;
	return 0;
}

static int deliver(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	rqstp->rq_xprt_ctxt = call;
	rqstp->rq_prot = IPPROTO_MAX;
	svc_xprt_copy_addrs(rqstp, rqstp->rq_xprt);
	/* The privileged port that an export may ask for means nothing here */
	set_bit(RQ_SECURE, &rqstp->rq_flags);
	return rqstp->rq_arg.len;
}

static void refuse(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv,
		   enum rpcrdma_answer answer, const char *why)
{
	int rc;

	conn->ep->count.bad_headers++;
	rpcrdma_ep_warn(conn->ep, "message refused: %s", why);
	rc = svc_rdma_send_error(conn, recv, answer);
	if (rc == -ENOMEM)
		rpcrdma_ep_fail_reason(conn->ep, rc,
				       "an error could not be sent");
}

static int finish_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct rpcrdma_recv *recv = call->recv;
	const struct rpcrdma_hdr *hdr = &recv->hdr;
	struct svc_rdma_conn *conn = call->conn;

	svc_rdma_rwset_release(conn, &call->reads);
	exchange_pages(rqstp, call);
	fill_gaps(rqstp, hdr);
	switch (layout(hdr)) {
	case RPCRDMA_LAYOUT_ONE_PIECE:
		if (!arg_in_one_piece(rqstp, call, hdr->msg_len))
			break;
		call->recv = NULL;
		svc_rdma_call_put(call);
		refuse(conn, recv, RPCRDMA_DO_ERR_CHUNK,
		       "no memory for it in one piece");
		return 0;
	case RPCRDMA_LAYOUT_PAGES:
		arg_in_pages(rqstp, hdr->msg_len);
		break;
	default:
		arg_inline(rqstp, hdr, pages_start(hdr), pages_len(hdr));
		break;
	}
	return deliver(rqstp, call);
}

/*
 * The device reads into MRs, and those are all in use: the message is the next
 * one again when some are back.
 */
static bool wait_for_mrs(struct svc_rdma_conn *conn, struct svc_rdma_call *call)
{
	bool wait;

	spin_lock_bh(&conn->lock);
	wait = conn->nr_busy_rws;
	if (wait) {
		list_add(&call->recv->list, &conn->received);
		call->recv = NULL;
		conn->starved = true;
	}
	spin_unlock_bh(&conn->lock);
	if (wait)
		svc_rdma_call_put(call);
	return wait;
}

static int process_call(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
			struct rpcrdma_recv *recv)
{
	struct rpcrdma_hdr *hdr = &recv->hdr;
	struct svc_rdma_call *call;
	int rc;

	call = svc_rdma_call_get(conn, recv);
	if (!call) {
		rpcrdma_recv_put(recv);
		rpcrdma_ep_fail_reason(conn->ep, -ENOMEM, "no memory for a call");
		return 0;
	}
	if (!hdr->read_chunks) {
		arg_inline(rqstp, hdr, hdr->body_len, 0);
		return deliver(rqstp, call);
	}

	rc = start_reads(conn, rqstp, call);
	if (rc == -EAGAIN) {
		if (wait_for_mrs(conn, call))
			return 0;
		/* None is in use any more: now or never */
		rc = start_reads(conn, rqstp, call);
	}
	if (!rc)
		return 0;
	if (rc == -EMSGSIZE || rc == -EAGAIN) {
		call->recv = NULL;
		refuse(conn, recv, RPCRDMA_DO_ERR_CHUNK,
		       "more to read than a call may have");
	} else if (rc != -ENOTCONN) {
		rpcrdma_ep_fail_reason(conn->ep, rc,
				       "RDMA Reads could not be started");
	}
	svc_rdma_call_put(call);
	return 0;
}

static const char *why_refused(const struct rpcrdma_hdr *hdr)
{
	return hdr->fault ? rpcrdma_fault_name(hdr->fault) :
			    "no RPC message in it";
}

static int process_recv(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
			struct rpcrdma_recv *recv)
{
	struct rpcrdma_hdr *hdr = &recv->hdr;
	enum rpcrdma_disposition disposition;
	enum rpcrdma_answer answer;

	disposition = rpcrdma_decode(hdr, recv->buf.data, recv->len,
				     &conn->limits);
	answer = rpcrdma_answer(hdr, disposition, RPCRDMA_RESPONDER,
				recv->invalidated);
	switch (answer) {
	case RPCRDMA_DO_CALL:
		return process_call(conn, rqstp, recv);
	case RPCRDMA_DO_ERR_VERS:
	case RPCRDMA_DO_ERR_CHUNK:
	case RPCRDMA_DO_BAD_HEADER:
	case RPCRDMA_DO_INVAL_OPTION:
		refuse(conn, recv, answer, why_refused(hdr));
		return 0;
	case RPCRDMA_DO_REPLY:
		svc_rdma_bc_reply(conn, recv);
		break;
	case RPCRDMA_DO_FAIL:
		svc_rdma_bc_error(conn, recv);
		break;
	case RPCRDMA_DO_DROP:
		break;
	default:
		rpcrdma_ep_fail_reason(conn->ep, -EPROTO,
				       rpcrdma_fault_name(hdr->fault));
		break;
	}
	if (hdr->fault)
		conn->ep->count.bad_headers++;
	rpcrdma_recv_put(recv);
	return 0;
}

/*
 * XPT_DATA is cleared with the last thing taken, not by a thread that finds
 * nothing: that would cost a wake-up for each Call.
 */
static void take_next(struct svc_rdma_conn *conn, struct svc_rdma_call **call,
		      struct rpcrdma_recv **recv)
{
	spin_lock_bh(&conn->lock);
	*recv = NULL;
	*call = list_first_entry_or_null(&conn->ready, struct svc_rdma_call,
					 list);
	if (*call) {
		list_del(&(*call)->list);
	} else {
		/* A starved one is at the head, and nothing overtakes it */
		if (!conn->starved)
			*recv = list_first_entry_or_null(&conn->received,
							 struct rpcrdma_recv,
							 list);
		if (*recv)
			list_del(&(*recv)->list);
	}
	if (list_empty(&conn->ready) &&
	    (conn->starved || list_empty(&conn->received)))
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock_bh(&conn->lock);
}

/**
 * svc_rdma_recvfrom - take the next message of a connection
 * @rqstp: nfsd thread, which holds XPT_BUSY
 *
 * Context: process; sleeps for memory, never for the peer.
 *
 * Return: octets of a complete Call in rq_arg, or 0 when there is none (yet).
 */
int svc_rdma_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_rdma_conn *conn = svc_rdma_conn(rqstp->rq_xprt);
	struct svc_rdma_call *call;
	struct rpcrdma_recv *recv;
	int len = 0;

	/* No page is released should there be no Call */
	rqstp->rq_respages = rqstp->rq_pages;
	rqstp->rq_next_page = rqstp->rq_pages;
	rqstp->rq_xprt_ctxt = NULL;

	if (!svc_rdma_enter(conn)) {
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
		svc_xprt_received(&conn->xprt);
		return 0;
	}
	take_next(conn, &call, &recv);
	/* Other threads may take what follows while this one works */
	svc_xprt_received(&conn->xprt);
	if (call)
		len = finish_reads(rqstp, call);
	else if (recv)
		len = process_recv(conn, rqstp, recv);
	svc_rdma_leave(conn);
	return len;
}
