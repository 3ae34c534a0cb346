// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls: from a Receive to a complete RPC message in an nfsd thread's rq_arg.
 *
 * A message without Read chunks is processed where it was received. For one
 * with Read chunks the RDMA Reads are started and the nfsd thread goes back to
 * work; the last Read's completion makes the connection ready again, and
 * whichever thread comes next finds the Call complete.
 *
 * How long Reads take is the client's affair, so that what they go to is bounded for
 * each connection. A Call that has to wait for others' Reads has no pages meanwhile, and
 * holds up only those that have something to read themselves.
 *
 * So is how long Sends take, and a client has its credits back before: what Replies are sent
 * from is bounded, too. Beyond that nfsd gets no Call of the connection until enough Sends
 * are complete, which takes no thread. Messages are looked at all the same: what answers a
 * callback, or is refused, does not wait, and RDMA Reads begin.
 */

#include <linux/slab.h>
#include <linux/sunrpc/xdr.h>

#include "rpcrdma/layout.h"
#include "arg.h"

/**
 * svc_rdma_received_alloc - a place for each message that can arrive
 * @conn: connection whose Receives are not posted yet
 *
 * Context: process, may sleep. Freed with @conn.
 *
 * Return: 0 or -ENOMEM.
 */
int svc_rdma_received_alloc(struct svc_rdma_conn *conn)
{
	u32 size = roundup_pow_of_two(conn->ep->sizes.recvs);

	conn->received = RPCRDMA_ALLOC(NULL, kmalloc_array(size,
							   sizeof(*conn->received),
							   GFP_KERNEL));
	if (!conn->received)
		return -ENOMEM;
	conn->received_mask = size - 1;
	return 0;
}

/* Whoever calls these holds conn->lock */

static bool has_received(const struct svc_rdma_conn *conn)
{
	return conn->received_first != conn->received_end;
}

static struct rpcrdma_recv *take_received(struct svc_rdma_conn *conn)
{
	return conn->received[conn->received_first++ & conn->received_mask];
}

static struct svc_rdma_call *take_ready(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call = conn->ready;

	conn->ready = call->next;
	if (!conn->ready)
		conn->ready_end = &conn->ready;
	return call;
}

/* If it has to wait for others' Replies, return_share() tells a thread of it */
static void ready_last(struct svc_rdma_conn *conn, struct svc_rdma_call *call)
{
	call->next = NULL;
	*conn->ready_end = call;
	conn->ready_end = &call->next;
	if (svc_rdma_may_reply(conn))
		svc_rdma_make_ready(conn);
	else
		conn->reply_waits++;
}

static bool has_ready(const struct svc_rdma_conn *conn)
{
	return conn->ready && svc_rdma_may_reply(conn);
}

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

/**
 * svc_rdma_received - a message arrived
 * @ep: endpoint
 * @recv: message
 *
 * Only queues it: what can be done about it needs a thread that may sleep.
 *
 * Context: process.
 */
void svc_rdma_received(struct rpcrdma_ep *ep, struct rpcrdma_recv *recv)
{
	struct svc_rdma_conn *conn = ep->owner;

	percpu_counter_inc(&svc_rdma_stat_recv);
	spin_lock(&conn->lock);
	conn->received[conn->received_end++ & conn->received_mask] = recv;
	svc_rdma_make_ready(conn);
	spin_unlock(&conn->lock);
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
	spin_lock(&conn->lock);
	ready_last(conn, call);
	spin_unlock(&conn->lock);
}

/**
 * svc_rdma_drop_received - forget what no thread has taken yet
 * @conn: connection whose queues are drained
 *
 * Context: process, with no thread within svc_rdma_enter().
 */
void svc_rdma_drop_received(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call;

	/* Nobody is left who would add to them */
	while (has_received(conn))
		rpcrdma_recv_put(take_received(conn));
	while (conn->waiting)
		svc_rdma_call_put(cease_to_wait(conn));
	while (conn->ready) {
		call = take_ready(conn);
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

/* Octets that go into pages, XDR roundup included */
static u32 pages_len(const struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;

	return call->layout == RPCRDMA_LAYOUT_CHUNK ?
	       xdr_align_size(hdr->read_bytes) + svc_rdma_tail_len(hdr) :
	       hdr->msg_len;
}

/* The chunk's octets, which go into pages of their own */
static int read_chunk(struct svc_rdma_call *call)
{
	struct rpcrdma_read_iter *it = &call->it;
	u32 at = 0;
	int rc = 0;

	if (rpcrdma_hdr_one_segment(&call->recv->hdr, &it->seg))
		return svc_rdma_rwset_add(call->conn, &call->reads, &call->sink,
					  0, &it->seg);
	rpcrdma_read_iter_init(it, &call->recv->hdr);
	while (!rc && rpcrdma_read_iter_next(it)) {
		if (it->seg.length)
			rc = svc_rdma_rwset_add(call->conn, &call->reads,
						&call->sink, at, &it->seg);
		at += it->seg.length;
	}
	return rc;
}

/* Whatever of the message is in chunks, each to its place */
static noinline int read_message(struct svc_rdma_call *call)
{
	struct rpcrdma_tiler tiler;
	struct rpcrdma_extent ext;
	int rc = 0;

	rpcrdma_tiler_init(&tiler, &call->recv->hdr);
	while (!rc && rpcrdma_tiler_next(&tiler, &ext)) {
		if (ext.kind == RPCRDMA_EXTENT_READ)
			rc = svc_rdma_rwset_add(call->conn, &call->reads,
						&call->sink, ext.msg, &ext.seg);
	}
	return rc;
}

/*
 * Takes a share of the connection's pages, which goes back with the Reads. No lock: what
 * is given back under it makes room, and nobody is told of room that was taken.
 */
static bool take_share(struct svc_rdma_conn *conn, struct svc_rdma_call *call,
		       u32 pages)
{
	int others = atomic_read(&conn->read_pages);

	do {
		if (!rpcrdma_plan_pages_fit(others, pages,
					    conn->max_read_pages))
			return false;
	} while (!atomic_try_cmpxchg(&conn->read_pages, &others,
				     others + (int)pages));
	call->reads.pages = pages;
	if (unlikely(others + (int)pages >
		     atomic_read(&conn->most_read_pages)))
		svc_rdma_pages_note_most(&conn->most_read_pages, others + pages);
	return true;
}

/* On error nothing is in progress, and what there is stays the call's */
static int start_reads(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
		       struct svc_rdma_call *call)
{
	int rc = svc_rdma_call_own_pages(call, rqstp, call->reads.pages);

	if (!rc)
		rc = likely(call->layout == RPCRDMA_LAYOUT_CHUNK) ?
		     read_chunk(call) : read_message(call);
	if (!rc) {
		rpcrdma_chain_init(&call->chain, reads_done);
		rpcrdma_chain_append(conn->ep, &call->chain,
				     svc_rdma_rwset_wrs(conn, &call->reads,
							&call->chain, NULL));
		rc = rpcrdma_sendq_post(conn->ep, &call->chain);
	}
	return rc;
}

/*
 * 6.1's gss_read_proxy_verf() copies what is left of the head into one page. So the
 * head of a Call that has it called is a page at most, as with other transports.
 */
static bool head_is_too_long(const struct rpcrdma_hdr *hdr)
{
	return hdr->body_len > PAGE_SIZE &&
	       rpcrdma_call_makes_gss_context(hdr->buf + hdr->body,
					      hdr->body_len);
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

static noinline void refuse(struct svc_rdma_conn *conn,
			    struct rpcrdma_recv *recv,
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

/* What is in flight already has the pages that this one would go to */
static noinline void wait_for_pages(struct svc_rdma_conn *conn,
				    struct svc_rdma_call *call, u32 pages)
{
	call->wanted = pages;
	spin_lock(&conn->lock);
	conn->read_waits++;
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
			 u32 pages)
{
	svc_rdma_call_put_pages(call);
	call->wanted = pages;
	call->lacked_mrs = true;
	spin_lock(&conn->lock);
	conn->read_waits++;
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

static noinline void refuse_reads(struct svc_rdma_call *call)
{
	struct rpcrdma_recv *recv = call->recv;

	call->recv = NULL;
	refuse(call->conn, recv, RPCRDMA_DO_ERR_CHUNK,
	       "more to read than a call may have");
}

static noinline void reads_not_started(struct svc_rdma_conn *conn,
				       struct svc_rdma_call *call, int rc)
{
	u32 pages = call->reads.pages;
	/* Only what others have, or had, can be what it lacks: see cease_to_wait() */
	bool wait = rc == -EAGAIN &&
		    !(call->lacked_mrs &&
		      svc_rdma_rwset_alone(conn, &call->reads,
					   call->rws_returned));

	if (wait) {
		svc_rdma_rwset_undo(conn, &call->reads);
		wait_for_mrs(conn, call, pages);
		return;
	}
	svc_rdma_rwset_release(conn, &call->reads);
	if (call->lacked_mrs) {
		call->lacked_mrs = false;
		mrs_suffice(conn);
	}
	if (rc == -EMSGSIZE || rc == -EAGAIN)
		refuse_reads(call);
	else if (rc != -ENOTCONN)
		rpcrdma_ep_fail_reason(conn->ep, rc,
				       "RDMA Reads could not be started");
	svc_rdma_call_put(call);
}

/* Always 0: the Call is complete when its RDMA Reads are */
static noinline int begin_reads(struct svc_rqst *rqstp,
				struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	u32 pages;
	int rc;

	call->layout = rpcrdma_plan_layout(&call->recv->hdr, PAGE_SIZE);
	pages = DIV_ROUND_UP(pages_len(call), PAGE_SIZE);
	/* A client that lets us read nothing would never see it begin */
	if (unlikely(!svc_rdma_has_pages(rqstp, pages) ||
		     !conn->ep->initiator_depth)) {
		refuse_reads(call);
		svc_rdma_call_put(call);
		return 0;
	}
	/* In order with those that wait */
	if (unlikely(READ_ONCE(conn->waiting) ||
		     !take_share(conn, call, pages))) {
		wait_for_pages(conn, call, pages);
		return 0;
	}
	rc = start_reads(conn, rqstp, call);
	if (unlikely(rc))
		reads_not_started(conn, call, rc);
	return 0;
}

/* It has its share now. The thread has as many pages as all others */
static int resume_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
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

static noinline int make_gss_context(struct svc_rqst *rqstp,
				     struct svc_rdma_call *call)
{
	struct rpcrdma_recv *recv = call->recv;

	if (svc_rdma_arg_in_pages(rqstp, &recv->hdr))
		return deliver(rqstp, call);
	call->recv = NULL;
	refuse(call->conn, recv, RPCRDMA_DO_ERR_CHUNK,
	       "longer than a call may be");
	svc_rdma_call_put(call);
	return 0;
}

/* All of it is where it was received */
static int deliver_inline(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;

	if (unlikely(head_is_too_long(hdr)))
		return make_gss_context(rqstp, call);
	svc_rdma_arg_inline(rqstp, hdr, hdr->body_len, 0);
	return deliver(rqstp, call);
}

/* Others' Replies have too many pages: like one whose Reads are complete */
static noinline int wait_for_replies(struct svc_rdma_conn *conn,
				     struct svc_rdma_call *call)
{
	spin_lock(&conn->lock);
	ready_last(conn, call);
	spin_unlock(&conn->lock);
	return 0;
}

/* It waited, and no Reads of it are in flight or complete */
static noinline int resume(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	return call->recv->hdr.read_chunks ? resume_reads(rqstp, call) :
					     deliver_inline(rqstp, call);
}

static noinline int finish_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	struct rpcrdma_recv *recv = call->recv;

	if (unlikely(!call->reads.last))
		return resume(rqstp, call);
	svc_rdma_rwset_release(conn, &call->reads);
	if (svc_rdma_arg_from_reads(rqstp, call)) {
		call->recv = NULL;
		svc_rdma_call_put(call);
		refuse(conn, recv, RPCRDMA_DO_ERR_CHUNK,
		       "no memory for it in one piece");
		return 0;
	}
	return deliver(rqstp, call);
}

static noinline struct svc_rdma_call *more_calls(struct svc_rdma_conn *conn,
						 struct rpcrdma_recv *recv)
{
	struct svc_rdma_call *call = svc_rdma_call_alloc(conn);

	if (!call) {
		rpcrdma_recv_put(recv);
		rpcrdma_ep_fail_reason(conn->ep, -ENOMEM, "no memory for a call");
	}
	return call;
}

/* @call: an idle context, or NULL */
static int process_call(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
			struct rpcrdma_recv *recv, struct svc_rdma_call *call)
{
	if (unlikely(!call)) {
		call = more_calls(conn, recv);
		if (!call)
			return 0;
	}
	call->recv = recv;
	call->nr_payloads = 0;
	if (recv->hdr.read_chunks)
		return begin_reads(rqstp, call);
	if (unlikely(!svc_rdma_may_reply(conn)))
		return wait_for_replies(conn, call);
	return deliver_inline(rqstp, call);
}

static const char *why_refused(const struct rpcrdma_hdr *hdr)
{
	return hdr->fault ? rpcrdma_fault_name(hdr->fault) :
			    "no RPC message in it";
}

/* A message that is no Call, or none that can be had */
static noinline void process_other(struct svc_rdma_conn *conn,
				   struct rpcrdma_recv *recv,
				   enum rpcrdma_answer answer)
{
	struct rpcrdma_hdr *hdr = &recv->hdr;

	switch (answer) {
	case RPCRDMA_DO_ERR_VERS:
	case RPCRDMA_DO_ERR_CHUNK:
	case RPCRDMA_DO_BAD_HEADER:
	case RPCRDMA_DO_INVAL_OPTION:
		refuse(conn, recv, answer, why_refused(hdr));
		return;
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
}

/* @call: an idle context, or NULL */
static int process_recv(struct svc_rdma_conn *conn, struct svc_rqst *rqstp,
			struct rpcrdma_recv *recv, struct svc_rdma_call *call)
{
	enum rpcrdma_disposition disposition;
	enum rpcrdma_answer answer;

	disposition = rpcrdma_decode(&recv->hdr, recv->data, recv->len,
				     &conn->limits);
	answer = rpcrdma_answer(&recv->hdr, disposition, RPCRDMA_RESPONDER,
				recv->invalidated);
	if (likely(answer == RPCRDMA_DO_CALL))
		return process_call(conn, rqstp, recv, call);
	if (call)
		svc_rdma_call_put(call);
	process_other(conn, recv, answer);
	return 0;
}

static noinline struct svc_rdma_call *take_waiting(struct svc_rdma_conn *conn)
{
	struct svc_rdma_call *call = conn->waiting;

	if (!svc_rdma_may_read(conn) || !take_share(conn, call, call->wanted))
		return NULL;
	return cease_to_wait(conn);
}

/*
 * Either a Call of which nothing is missing, or one whose Reads may begin at last, or a
 * message, which is most often a Call, and an idle context for it: one lock for all.
 *
 * XPT_DATA is cleared with the last thing taken, not by a thread that finds
 * nothing: that would cost a wake-up for each Call. Calls that wait for others' Replies
 * are not there to be taken: return_share() sets it again, under this lock.
 */
static struct svc_rdma_call *take_next(struct svc_rdma_conn *conn,
				       struct rpcrdma_recv **recv)
{
	struct svc_rdma_call *call = NULL;

	*recv = NULL;
	spin_lock(&conn->lock);
	if (has_ready(conn))
		call = take_ready(conn);
	else if (unlikely(conn->waiting))
		call = take_waiting(conn);
	if (!call && likely(has_received(conn))) {
		*recv = take_received(conn);
		call = svc_rdma_call_get(conn);
	}
	if (!has_ready(conn) && !has_received(conn) && !svc_rdma_may_read(conn))
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	return call;
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

	if (unlikely(!svc_rdma_enter(conn))) {
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
		svc_xprt_received(&conn->xprt);
		return 0;
	}
	call = take_next(conn, &recv);
	/* Other threads may take what follows while this one works */
	svc_xprt_received(&conn->xprt);
	if (recv)
		len = process_recv(conn, rqstp, recv, call);
	else if (call)
		len = finish_reads(rqstp, call);
	svc_rdma_leave(conn);
	return len;
}
