// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls: from a Receive to a complete RPC message in an nfsd thread's rq_arg.
 *
 * A message without Read chunks is processed where it was received. For one
 * with Read chunks the RDMA Reads are started and the nfsd thread goes back to
 * work; the last Read's completion makes the connection ready again, and
 * whichever thread comes next finds the Call complete.
 *
 * How long Sends take is the client's affair, and it has its credits back before: what
 * Replies are sent from is bounded for each connection. Beyond that nfsd gets no Call of it
 * until enough Sends are complete, which takes no thread. Messages are looked at all the
 * same: what answers a callback, or is refused, does not wait, and RDMA Reads begin.
 */

#include <linux/slab.h>
#include <linux/sunrpc/xdr.h>

#include "rpcrdma/layout.h"
#include "arg.h"
#include "read.h"
#include "send.h"

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

	conn->received = kmalloc_array(size, sizeof(*conn->received), GFP_NOIO);
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

static bool has_ready(const struct svc_rdma_conn *conn)
{
	return conn->ready && svc_rdma_may_reply(conn);
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
	svc_rdma_drop_waiting(conn);
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

/* It is none that can be given to the RPC service */
static int refuse_call(struct svc_rdma_call *call, const char *why)
{
	svc_rdma_refuse_call(call, why);
	svc_rdma_call_put(call);
	return 0;
}

/* It comes again on the next connection, when there may be memory: RFC 8166, section 4.5.4 */
static int give_up_call(struct svc_rdma_call *call, const char *why)
{
	rpcrdma_ep_fail_reason(call->conn->ep, -ENOMEM, why);
	svc_rdma_call_put(call);
	return 0;
}

static int make_gss_context(struct svc_rqst *rqstp,
				     struct svc_rdma_call *call)
{
	int rc = svc_rdma_arg_in_pages(rqstp, &call->recv->hdr);

	if (!rc)
		return deliver(rqstp, call);
	if (rc == -ENOMEM)
		return give_up_call(call, "no memory for a call's pages");
	return refuse_call(call, "longer than a call may be");
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
static int wait_for_replies(struct svc_rdma_call *call)
{
	svc_rdma_call_ready(call);
	return 0;
}

/* It waited, and no Reads of it are in flight or complete */
static int resume(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	return call->recv->hdr.read_chunks ?
	       svc_rdma_resume_reads(rqstp, call) : deliver_inline(rqstp, call);
}

static int finish_reads(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	struct svc_rdma_conn *conn = call->conn;
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;

	if (unlikely(!call->reads.last))
		return resume(rqstp, call);
	svc_rdma_rwset_release(conn, &call->reads);
	if (rpcrdma_ep_read_failed(conn->ep)) {
		rpcrdma_ep_fail_reason(conn->ep, -ECONNRESET,
				       "the device lost an RDMA Read");
		svc_rdma_call_put(call);
		return 0;
	}
	if (svc_rdma_arg_from_reads(rqstp, call))
		return give_up_call(call, "no memory for a call in one piece");
	if (unlikely(hdr->pzrc_bytes &&
		     !rpcrdma_is_call_of(rqstp->rq_arg.head[0].iov_base, hdr))) {
		conn->ep->count.bad_headers++;
		return refuse_call(call, "no RPC Call with its XID in it");
	}
	return deliver(rqstp, call);
}

static struct svc_rdma_call *more_calls(struct svc_rdma_conn *conn,
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
		return svc_rdma_begin_reads(rqstp, call);
	if (unlikely(!svc_rdma_may_reply(conn)))
		return wait_for_replies(call);
	return deliver_inline(rqstp, call);
}

static const char *why_refused(const struct rpcrdma_hdr *hdr)
{
	return hdr->fault ? rpcrdma_fault_name(hdr->fault) :
			    "no RPC Call in it";
}

/* A message that is no Call, or none that can be had */
static void process_other(struct svc_rdma_conn *conn,
				   struct rpcrdma_recv *recv,
				   enum rpcrdma_action action)
{
	struct rpcrdma_hdr *hdr = &recv->hdr;
	u32 xid = hdr->xid;

	switch (action) {
	case RPCRDMA_ACT_REPLY:
		svc_rdma_bc_reply(conn, recv);
		break;
	case RPCRDMA_ACT_FAIL:
		svc_rdma_bc_error(conn, xid);
		break;
	case RPCRDMA_ACT_DROP:
		break;
	case RPCRDMA_ACT_FAIL_OR_ERROR:
		if (svc_rdma_bc_error(conn, xid))
			break;
		fallthrough;
	case RPCRDMA_ACT_ERROR:
	case RPCRDMA_ACT_FAIL_AND_ERROR:
		conn->ep->count.bad_headers++;
		svc_rdma_refuse(conn, recv, rpcrdma_fault_errcode(hdr->fault),
				why_refused(hdr));
		if (action == RPCRDMA_ACT_FAIL_AND_ERROR)
			svc_rdma_bc_error(conn, xid);
		return;
	default:
		rpcrdma_ep_fail_reason(conn->ep, -EPROTO,
				       "a message that has no answer");
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
	enum rpcrdma_action action;

	rpcrdma_decode(&recv->hdr, recv->data, recv->len, &conn->limits);
	action = rpcrdma_dispatch(&recv->hdr, RPCRDMA_RESPONDER,
				  recv->invalidated);
	if (likely(action == RPCRDMA_ACT_CALL))
		return process_call(conn, rqstp, recv, call);
	if (call)
		svc_rdma_call_put(call);
	process_other(conn, recv, action);
	return 0;
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
		call = svc_rdma_take_waiting(conn);
	if (!call && likely(has_received(conn))) {
		*recv = take_received(conn);
		call = svc_rdma_call_get(conn);
	}
	if (!has_ready(conn) && !has_received(conn) && !svc_rdma_may_read(conn))
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	return call;
}

/*
 * Of a connection that has failed nothing is taken: no answer would reach the client, which
 * sends the Call again.
 */
static bool enter_unless_failed(struct svc_rdma_conn *conn)
{
	if (unlikely(!svc_rdma_enter(conn)))
		return false;
	if (likely(READ_ONCE(conn->ep->state) < RPCRDMA_EP_CLOSING))
		return true;
	svc_rdma_leave(conn);
	return false;
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

	if (unlikely(!enter_unless_failed(conn))) {
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
