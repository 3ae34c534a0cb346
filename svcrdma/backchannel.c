// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The reverse direction (RFC 8167): an rpc_xprt through which nfsd's NFSv4.1
 * callbacks go to a client over the connection that the client made.
 *
 * Reverse-direction messages are always inline and short: a Call is copied
 * behind its header, and its Reply is copied out of the Receive buffer.
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/sched.h>

#include "svc_rdma.h"

/* How long aborted callbacks may have all credits while others wait */
#define BC_TIMEOUT	(30 * HZ)

/**
 * struct bc_call - a callback that the client has not answered
 * @xid: its XID
 * @aborted: sunrpc does not wait for its Reply any more
 * @when: since then, in jiffies
 */
struct bc_call {
	u32 xid;
	bool aborted;
	unsigned long when;
};

/**
 * struct svc_rdma_bc - the reverse direction of a connection
 * @xprt: sunrpc's part
 * @nr_unanswered: how many callbacks the client has not answered
 * @unanswered: these, at most as many as it may have granted
 *
 * An aborted callback keeps its credit until its Reply arrives after all: the
 * client has posted no other Receive (RFC 8166, 3.3.1; RFC 8167, 4.1). When
 * aborted callbacks have all credits the connection ends, or no callback would
 * ever reach the client again.
 */
struct svc_rdma_bc {
	struct rpc_xprt xprt;
	/* Both below @xprt's transport_lock */
	unsigned int nr_unanswered;
	struct bc_call unanswered[];
};

static struct svc_rdma_bc *svc_rdma_bc(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct svc_rdma_bc, xprt);
}

static const struct rpc_timeout bc_timeout = {
	.to_initval	= 60 * HZ,
	.to_maxval	= 60 * HZ,
};

/* NULL until nfsd wants to call back over this connection */
static struct rpc_xprt *bc_xprt_of(struct svc_rdma_conn *conn)
{
	/* Pairs with the cmpxchg of bc_setup() */
	return smp_load_acquire(&conn->xprt.xpt_bc_xprt);
}

/* Called with transport_lock */
static struct bc_call *bc_unanswered(struct svc_rdma_bc *bc, u32 xid)
{
	unsigned int i;

	for (i = 0; i < bc->nr_unanswered; i++)
		if (bc->unanswered[i].xid == xid)
			return &bc->unanswered[i];
	return NULL;
}

/* Before the post: the Reply may be here before the post returns */
static void bc_note_sent(struct rpc_xprt *xprt, u32 xid)
{
	struct svc_rdma_bc *bc = svc_rdma_bc(xprt);

	spin_lock(&xprt->transport_lock);
	if (!bc_unanswered(bc, xid) &&
	    !WARN_ON_ONCE(bc->nr_unanswered >= xprt->max_reqs))
		bc->unanswered[bc->nr_unanswered++] =
			(struct bc_call){ .xid = xid };
	spin_unlock(&xprt->transport_lock);
}

/* Answered, or not sent. An aborted callback returns its credit */
static bool bc_note_answered(struct rpc_xprt *xprt, u32 xid)
{
	struct svc_rdma_bc *bc = svc_rdma_bc(xprt);
	struct bc_call *call;
	bool aborted;

	spin_lock(&xprt->transport_lock);
	call = bc_unanswered(bc, xid);
	aborted = call && call->aborted;
	if (call)
		*call = bc->unanswered[--bc->nr_unanswered];
	if (aborted)
		xprt->cong -= RPC_CWNDSCALE;
	spin_unlock(&xprt->transport_lock);
	if (aborted)
		rpcrdma_rpc_wake_sender(xprt);
	return call;
}

/*
 * The first message that answers a Call ends it, under the lock under which it
 * was found: a second one must not write into a Reply that is being decoded.
 *
 * @hdr: of its Reply, or NULL after an error
 */
static bool bc_complete(struct rpc_xprt *xprt, u32 xid,
			const struct rpcrdma_hdr *hdr)
{
	struct rpc_rqst *rqst;
	struct xdr_buf *buf;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(xid));
	if (!rqst)
		goto out_unlock;
	buf = &rqst->rq_private_buf;
	*buf = rqst->rq_rcv_buf;
	if (hdr && hdr->body_len <= buf->head[0].iov_len) {
		memcpy(buf->head[0].iov_base, hdr->buf + hdr->body,
		       hdr->body_len);
		xprt_complete_rqst(rqst->rq_task, hdr->body_len);
	} else {
		rpcrdma_rpc_fail(rqst, -EIO);
	}
out_unlock:
	spin_unlock(&xprt->queue_lock);
	return rqst;
}

/* A reverse-direction Reply arrived; @recv stays the caller's */
void svc_rdma_bc_reply(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv)
{
	struct rpc_xprt *xprt = bc_xprt_of(conn);
	u32 credits;

	if (!xprt)
		return;
	credits = rpcrdma_hdr_grant(&recv->hdr, xprt->max_reqs, xprt->max_reqs,
				    false);
	if (credits) {
		spin_lock(&xprt->transport_lock);
		xprt->cwnd = credits << RPC_CWNDSHIFT;
		spin_unlock(&xprt->transport_lock);
	}
	bc_note_answered(xprt, recv->hdr.xid);
	bc_complete(xprt, recv->hdr.xid, &recv->hdr);
}

/*
 * The client rejected a reverse-direction Call, or its Reply is malformed.
 * Returns whether there was a Call with that XID, aborted or not: then the
 * message is its answer, and is not answered with RDMA_ERROR (RFC 8166, 4.5).
 */
bool svc_rdma_bc_error(struct svc_rdma_conn *conn, u32 xid)
{
	struct rpc_xprt *xprt = bc_xprt_of(conn);

	if (!xprt)
		return false;
	return bc_note_answered(xprt, xid) | bc_complete(xprt, xid, NULL);
}

static int bc_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	size_t callsize = ALIGN(rqst->rq_callsize, sizeof(long));
	void *buf;

	buf = kmalloc(callsize + rqst->rq_rcvsize, rpc_task_gfp_mask());
	if (!buf)
		return -ENOMEM;
	rqst->rq_buffer = buf;
	rqst->rq_rbuffer = buf + callsize;
	return 0;
}

static void bc_buf_free(struct rpc_task *task)
{
	kfree(task->tk_rqstp->rq_buffer);
}

static int bc_send(struct svc_rdma_conn *conn, struct rpc_rqst *rqst)
{
	/* The client's Calls settle the version */
	const struct rpcrdma_form form = {
		.vers = READ_ONCE(conn->ep->version),
	};
	const struct xdr_buf *buf = &rqst->rq_snd_buf;
	u32 xid = be32_to_cpu(rqst->rq_xid);
	struct svc_rdma_send *send;
	struct rpcrdma_enc *enc;
	int rc;

	send = svc_rdma_send_get(conn, form.vers,
				 rpc_task_gfp_mask() & ~(__GFP_IO | __GFP_FS));
	if (IS_ERR(send))
		return -ENOBUFS;
	send->xid = xid;
	enc = &send->enc;
	rpcrdma_enc_msg(enc, xid, rqst->rq_xprt->max_reqs, &form);
	if (enc->overflow || buf->len > enc->max - enc->len) {
		svc_rdma_send_put(send);
		return -EMSGSIZE;
	}
	svc_rdma_send_copy(send, buf, 0, buf->len);
	rqst->rq_xtime = ktime_get();
	bc_note_sent(rqst->rq_xprt, xid);
	rc = svc_rdma_send_post(send, 0);
	if (rc)
		bc_note_answered(rqst->rq_xprt, xid);
	return rc;
}

/*
 * 0: it is on its way, or longer than the inline threshold, which ends the RPC.
 * -EBADSLT: the client has granted no more, and sunrpc waits for a Reply.
 * -ENOBUFS: sunrpc retries soon. -ENOTCONN: the connection is gone for good;
 * the transport must be disconnected, or sunrpc would retry at once.
 */
static int bc_send_request(struct rpc_rqst *rqst)
{
	struct svc_xprt *sxprt = rqst->rq_xprt->bc_xprt;
	struct svc_rdma_conn *conn = svc_rdma_conn(sxprt);
	int rc = -ENOTCONN;

	if (!test_bit(XPT_DEAD, &sxprt->xpt_flags) && svc_rdma_enter(conn)) {
		rc = -EBADSLT;
		/* bc_release_request() gives it back */
		if (xprt_request_get_cong(rqst->rq_xprt, rqst))
			rc = bc_send(conn, rqst);
		if (rc == -EMSGSIZE)
			rc = rpcrdma_rpc_unsendable(rqst, rc);
		svc_rdma_leave(conn);
	}
	if (rc == -ENOTCONN)
		xprt_disconnect_done(rqst->rq_xprt);
	return rc;
}

/* With transport_lock: have aborted callbacks all credits for too long? */
static bool bc_is_stuck(const struct svc_rdma_bc *bc)
{
	const struct bc_call *call = bc->unanswered;
	unsigned int i;

	if (!bc->nr_unanswered || bc->xprt.cong < bc->xprt.cwnd)
		return false;
	for (i = 0; i < bc->nr_unanswered; i++, call++)
		if (!call->aborted ||
		    time_before(jiffies, call->when + BC_TIMEOUT))
			return false;
	return true;
}

/*
 * Called with transport_lock when an RPC has ended. If the client has not
 * answered it, and still can, it keeps its credit.
 */
static void bc_release_request(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct svc_rdma_bc *bc = svc_rdma_bc(xprt);
	struct bc_call *call = NULL;

	if (xprt_connected(xprt)) {
		if (rqst->rq_cong)
			call = bc_unanswered(bc, be32_to_cpu(rqst->rq_xid));
		else if (bc_is_stuck(bc))
			rpcrdma_ep_fail(svc_rdma_conn(xprt->bc_xprt)->ep,
					-ETIMEDOUT,
					"the client answers no callbacks");
	}
	if (!call) {
		xprt_release_rqst_cong(task);
		return;
	}
	call->aborted = true;
	call->when = jiffies;
	rqst->rq_cong = 0;
}

/* Only the client can connect */
static void bc_connect(struct rpc_xprt *xprt, struct rpc_task *task)
{
	xprt_clear_connecting(xprt);
	xprt_wake_pending_tasks(xprt, -ENOTCONN);
}

static void bc_close(struct rpc_xprt *xprt)
{
	xprt_disconnect_done(xprt);
	xprt->cwnd = RPC_CWNDSHIFT;
}

static void bc_destroy(struct rpc_xprt *xprt)
{
	rpcrdma_rpc_free_addresses(xprt);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static void bc_print_stats(struct rpc_xprt *xprt, struct seq_file *seq)
{
	seq_printf(seq, "\txprt:\trdma-bc %lu %lu %lu\n", xprt->stat.sends,
		   xprt->stat.recvs, xprt->stat.bad_xids);
}

static const struct rpc_xprt_ops bc_ops = {
	.reserve_xprt		= xprt_reserve_xprt_cong,
	.release_xprt		= xprt_release_xprt_cong,
	.alloc_slot		= xprt_alloc_slot,
	.free_slot		= xprt_free_slot,
	.connect		= bc_connect,
	.buf_alloc		= bc_buf_alloc,
	.buf_free		= bc_buf_free,
	.send_request		= bc_send_request,
	.wait_for_reply_request	= xprt_wait_for_reply_request_def,
	.release_request	= bc_release_request,
	.close			= bc_close,
	.destroy		= bc_destroy,
	.print_stats		= bc_print_stats,
};

/*
 * Clients that share a connection may all find that it has no transport yet,
 * but only one transport is the svc_xprt's: no other would see a Reply, or be
 * put with the svc_xprt. A second caller fails, because sunrpc would initialize
 * the transport again. Its client retries and finds the first one's. sunrpc has
 * a race of that kind left, about the switch that it makes of the transport.
 */
static struct rpc_xprt *bc_setup(struct xprt_create *args)
{
	struct svc_rdma_conn *conn = svc_rdma_conn(args->bc_xprt);
	/* A small device has fewer Receives than we want */
	u32 credits = conn->ep->sizes.bc_credits;
	struct svc_rdma_bc *bc;
	struct rpc_xprt *xprt;
	int rc;

	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	if (!svc_rdma_enter(conn))
		return ERR_PTR(-ENOTCONN);
	rc = svc_rdma_sends_alloc(conn);
	svc_rdma_leave(conn);
	if (rc)
		return ERR_PTR(rc);
	/* All zero; it begins with the rpc_xprt */
	xprt = xprt_alloc(args->net, struct_size(bc, unanswered, credits),
			  credits, credits);
	if (!xprt)
		return ERR_PTR(-ENOMEM);
	__module_get(THIS_MODULE);

	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	xprt->addrlen = args->addrlen;
	rpcrdma_rpc_set_addresses(xprt);
	xprt->xprt_class = &svc_rdma_bc_class;
	xprt->ops = &bc_ops;
	xprt->prot = XPRT_TRANSPORT_BC_RDMA;
	xprt->timeout = &bc_timeout;
	xprt->max_payload =
		rpcrdma_ep_inline_send(conn->ep, conn->ep->attr.max_version) -
		RPCRDMA_HDR_MIN;
	xprt_set_bound(xprt);
	xprt_set_connected(xprt);

	xprt->bc_xprt = args->bc_xprt;
	xprt_get(xprt);
	/* A Reply may come at once: @xprt is complete */
	if (!cmpxchg_release(&args->bc_xprt->xpt_bc_xprt, NULL, xprt))
		return xprt;
	xprt_put(xprt);
	bc_destroy(xprt);
	return ERR_PTR(-EAGAIN);
}

struct xprt_class svc_rdma_bc_class = {
	.list		= LIST_HEAD_INIT(svc_rdma_bc_class.list),
	.name		= "rdma backchannel",
	.owner		= THIS_MODULE,
	.ident		= XPRT_TRANSPORT_BC_RDMA,
	.setup		= bc_setup,
	.netid		= { "" },
};
