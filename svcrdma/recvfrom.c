// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages: from a Receive to a complete RPC Call in an nfsd thread's rq_arg.
 *
 * An nfsd thread decodes a message. A Call without Read chunks is processed in
 * the Receive buffer. For one with Read chunks the thread starts the RDMA Reads
 * and goes back to work; the last Read's completion makes the connection ready
 * again, and the next thread finds the Call complete.
 */

#include "rpcrdma/trace.h"
#include "svc_rdma.h"

/**
 * svc_rdma_release_ctxt - ->xpo_release_ctxt: an RPC is done, or dropped
 * @xprt: connection, or a listener, which has none
 * @ctxt: its Call context, or NULL
 */
void svc_rdma_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		svc_rdma_call_put(ctxt);
}

/* Nothing of the Call is missing */
static int svc_rdma_deliver(struct svc_rqst *rqstp, struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	struct svc_rdma_conn *conn = call->conn;
	int rc;

	if (hdr->read_chunks)
		rc = svc_rdma_arg_from_reads(rqstp, call);
	else
		rc = svc_rdma_arg_inline(rqstp, hdr);
	if (rc == -ENOMEM) {
		/* The client retries on its next connection: RFC 8166, 4.5.4 */
		rpcrdma_ep_fail(conn->ep, rc, "no memory for a call");
		svc_rdma_call_put(call);
		return 0;
	}
	if (rc) {
		svc_rdma_reject_call(call, rc == -EMSGSIZE ?
				     "longer than a call may be" :
				     "data of a WRITE within a page, with RPCSEC_GSS");
		return 0;
	}
	if (hdr->pzrc_bytes &&
	    !rpcrdma_is_msg_of(rqstp->rq_arg.head[0].iov_base, hdr, RPCRDMA_DIR_CALL)) {
		conn->ep->count.bad_headers++;
		svc_rdma_reject_call(call, "no RPC Call with its XID in it");
		return 0;
	}

	rqstp->rq_xprt_ctxt = call;
	rqstp->rq_prot = IPPROTO_MAX;
	svc_xprt_copy_addrs(rqstp, rqstp->rq_xprt);
	/* RDMA has no privileged ports, which an export may ask for */
	set_bit(RQ_SECURE, &rqstp->rq_flags);
	/* PF_LOCAL_THROTTLE: this host's own client must not wait for itself */
	assign_bit(RQ_LOCAL, &rqstp->rq_flags,
		   test_bit(XPT_LOCAL, &conn->xprt.xpt_flags));
	return rqstp->rq_arg.len;
}

/* A Call from the ready list or the wait list */
static int svc_rdma_resume_call(struct svc_rqst *rqstp,
				struct svc_rdma_call *call)
{
	if (call->recv->hdr.read_chunks) {
		if (!call->reads.last)
			return svc_rdma_start_reads(rqstp, call);
		svc_rdma_call_put_reads(call);
	}
	return svc_rdma_deliver(rqstp, call);
}

static int svc_rdma_process_call(struct svc_rdma_conn *conn,
				 struct svc_rqst *rqstp,
				 struct rpcrdma_recv *recv)
{
	struct svc_rdma_call *call = svc_rdma_call_get(conn);

	if (!call) {
		rpcrdma_recv_put(recv);
		rpcrdma_ep_fail(conn->ep, -ENOMEM, "no memory for a call");
		return 0;
	}
	call->recv = recv;
	if (rpcrdma_hdr_has_chunks(&recv->hdr) &&
	    svc_rdma_had_bad_rkey(conn, recv->hdr.xid)) {
		svc_rdma_reject_call(call, "an rkey of it was invalid before");
		return 0;
	}
	if (recv->hdr.read_chunks)
		return svc_rdma_begin_reads(rqstp, call);
	if (!svc_rdma_may_reply(conn)) {
		trace_svcrdma_reply_wait(conn->ep, recv->hdr.xid,
					 READ_ONCE(conn->queue.replies.charged));
		svc_rdma_queue_ready(call);
		return 0;
	}
	return svc_rdma_deliver(rqstp, call);
}

static int svc_rdma_process_recv(struct svc_rdma_conn *conn,
				 struct svc_rqst *rqstp,
				 struct rpcrdma_recv *recv)
{
	const char *why = "no RPC Call in it";
	struct rpcrdma_hdr *hdr = &recv->hdr;
	enum rpcrdma_action action;
	u32 xid;

	rpcrdma_decode(hdr, recv->data, recv->len, &conn->limits);
	trace_svcrdma_decode_rqst(conn->ep, recv);
	action = rpcrdma_dispatch(hdr, RPCRDMA_RESPONDER, recv->invalidated);
	if (action == RPCRDMA_ACT_CALL) {
		/* It shares a cache line that each RPC reads */
		if (unlikely(READ_ONCE(conn->requested) != hdr->credits))
			WRITE_ONCE(conn->requested, hdr->credits);
		return svc_rdma_process_call(conn, rqstp, recv);
	}

	xid = hdr->xid;
	if (hdr->fault) {
		why = rpcrdma_fault_name(hdr->fault);
		conn->ep->count.bad_headers++;
		trace_svcrdma_decode_err(conn->ep, xid, why);
	}
	switch (action) {
	case RPCRDMA_ACT_REPLY:
		svc_rdma_bc_reply(conn, recv);
		break;
	case RPCRDMA_ACT_FAIL_OR_ERROR:
		if (svc_rdma_bc_error(conn, xid))
			break;
		fallthrough;
	case RPCRDMA_ACT_ERROR:
	case RPCRDMA_ACT_FAIL_AND_ERROR:
		if (!hdr->fault)
			conn->ep->count.bad_headers++;
		svc_rdma_send_rdma_error(conn, recv,
					 rpcrdma_fault_errcode(hdr->fault), why);
		if (action == RPCRDMA_ACT_FAIL_AND_ERROR)
			svc_rdma_bc_error(conn, xid);
		return 0;
	case RPCRDMA_ACT_FAIL:
		svc_rdma_bc_error(conn, xid);
		break;
	case RPCRDMA_ACT_CLOSE:
		rpcrdma_ep_fail(conn->ep, -EPROTO,
				"client invalidated an rkey of the server");
		break;
	default: /* RPCRDMA_ACT_DROP */
		break;
	}
	rpcrdma_recv_put(recv);
	return 0;
}

/**
 * svc_rdma_recvfrom - ->xpo_recvfrom: take the next message of a connection
 * @rqstp: nfsd thread, which holds XPT_BUSY
 *
 * Sleeps for memory, never for the peer.
 *
 * Return: bytes of a complete Call in rq_arg, or 0 when there is none (yet).
 */
int svc_rdma_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_rdma_conn *conn = svc_rdma_conn(rqstp->rq_xprt);
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_call *call;
	struct rpcrdma_recv *recv;
	bool entered = svc_rdma_enter(conn);
	int len = 0;

	/* No page is released should there be no Call */
	rpcrdma_rqst_begin(rqstp);
	rqstp->rq_xprt_ctxt = NULL;

	/*
	 * A connection that has failed cannot carry a Reply: the client retries
	 * each Call that is not taken.
	 */
	if (!entered || READ_ONCE(ep->state) >= RPCRDMA_EP_CLOSING) {
		clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
		svc_xprt_received(&conn->xprt);
		if (entered)
			svc_rdma_leave(conn);
		return 0;
	}
	/* If memory is short the client goes on with the credits it has */
	if (ep->receivable < min(ep->sizes.credits, READ_ONCE(conn->requested)) &&
	    rpcrdma_plan_more_credits(&conn->credit_use, ep->receivable,
				      atomic_read(&conn->xprt.xpt_nr_rqsts),
				      READ_ONCE(ep->count.recvs), jiffies, HZ))
		rpcrdma_recvq_grow(ep, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	svc_rdma_queue_next(conn, &call, &recv);
	/* Other threads may take the next ones while this one works */
	svc_xprt_received(&conn->xprt);
	if (call)
		len = svc_rdma_resume_call(rqstp, call);
	else if (recv)
		len = svc_rdma_process_recv(conn, rqstp, recv);
	svc_rdma_leave(conn);
	return len;
}
