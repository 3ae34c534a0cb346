// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send contexts: a header buffer that stays mapped, and what a message owns
 * until its completion. Allocated at need and kept for the next message.
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include "send.h"

static void send_free(struct svc_rdma_send *send)
{
	rpcrdma_dmabuf_unmap(&send->buf);
	rpcrdma_dmabuf_free(&send->buf);
	kfree(send->pages);
	kfree(send);
}

static struct svc_rdma_send *send_alloc(struct svc_rdma_conn *conn, gfp_t gfp)
{
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_send *send;

	send = kzalloc(sizeof(*send), gfp);
	if (!send)
		return NULL;
	send->conn = conn;
	send->writes.dir = DMA_TO_DEVICE;
	if (rpcrdma_dmabuf_alloc(&send->buf,
				 rpcrdma_threshold(ep->prop.inline_send,
						   ep->max_version),
				 DMA_TO_DEVICE, gfp))
		goto out_free;
	if (rpcrdma_dmabuf_map(ep, &send->buf))
		goto out_free;
	rpcrdma_dmabuf_sge(&send->buf, &send->sge[0], 0, 0);
	send->nr_sge = 1;
	send->wr.sg_list = send->sge;
	return send;

out_free:
	rpcrdma_dmabuf_free(&send->buf);
	kfree(send);
	return NULL;
}

/*
 * A client may have its Reply, and send its next Call, before the Send's completion is
 * seen here. So the Send Queue may be full of Sends to a client that has no Call
 * outstanding, and on top of them wait the Replies to all that its credits allow.
 * One that takes Calls further without taking Replies is cut off.
 */
static unsigned int sends_max(const struct rpcrdma_ep *ep)
{
	return ep->sizes.sq_depth + ep->sizes.credits + ep->sizes.bc_credits +
	       RPCRDMA_SEND_LAZY;
}

/**
 * svc_rdma_send_add - one context more
 * @conn: connection that has no idle one
 * @gfp: how to allocate
 *
 * Context: process, within svc_rdma_enter(); sleeps as @gfp says.
 *
 * Return: the context; ERR_PTR(-ENOMEM), or ERR_PTR(-ENOBUFS) when the peer does not take
 * what is sent.
 */
struct svc_rdma_send *svc_rdma_send_add(struct svc_rdma_conn *conn, gfp_t gfp)
{
	struct svc_rdma_send *send;
	bool may_alloc;

	spin_lock(&conn->lock);
	may_alloc = conn->nr_sends < sends_max(conn->ep);
	conn->nr_sends += may_alloc;
	spin_unlock(&conn->lock);
	if (!may_alloc)
		return ERR_PTR(-ENOBUFS);

	send = send_alloc(conn, gfp);
	if (!send) {
		spin_lock(&conn->lock);
		conn->nr_sends--;
		spin_unlock(&conn->lock);
		return ERR_PTR(-ENOMEM);
	}
	return send;
}

/**
 * svc_rdma_send_failed - end a connection on which something could not be sent
 * @conn: connection
 * @rc: negative errno; -ENOTCONN: it has ended
 * @what: literal for the log, unless there is more to say
 *
 * Context: process.
 */
void svc_rdma_send_failed(struct svc_rdma_conn *conn, int rc, const char *what)
{
	if (rc == -ENOBUFS)
		what = "the client does not take what is sent";
	if (rc != -ENOTCONN)
		rpcrdma_ep_fail_reason(conn->ep, rc, what);
}

/* Gives back all but the context and its header buffer */
static void send_release(struct svc_rdma_send *send)
{
	unsigned int i;

	for (i = 1; i < send->nr_sge; i++)
		rpcrdma_unmap_page(send->conn->ep, &send->sge[i],
				   DMA_TO_DEVICE);
	send->nr_sge = 1;
	svc_rdma_rwset_release(send->conn, &send->writes);
	if (send->nr_pages)
		release_pages(send->pages, send->nr_pages);
	send->nr_pages = 0;
}

/**
 * svc_rdma_send_reset - start the message over
 * @send: context that was not posted
 * @vers: version of the protocol that it will have
 *
 * Context: process, within svc_rdma_enter().
 */
void svc_rdma_send_reset(struct svc_rdma_send *send, u32 vers)
{
	send_release(send);
	svc_rdma_send_begin(send, vers);
}

/**
 * svc_rdma_send_put - end a message
 * @send: context that was not posted, or is complete
 *
 * Context: process within svc_rdma_enter(), or a completion.
 */
void svc_rdma_send_put(struct svc_rdma_send *send)
{
	/* Most own a header and what was copied behind it */
	if (unlikely(!svc_rdma_send_is_plain(send) || send->nr_pages))
		send_release(send);
	/* Taken under conn->lock alone, it can be given back without */
	llist_add(&send->free, &send->conn->free_sends);
}

/**
 * svc_rdma_send_map - let the device gather octets in place
 * @send: context
 * @buf: where from
 * @offset: first octet
 * @len: octets
 *
 * Context: process, within svc_rdma_enter(). The pages must stay until the
 * completion: see svc_rdma_send_take_pages().
 *
 * Return: 0; -E2BIG when the SGEs do not suffice; -EIO.
 */
int svc_rdma_send_map(struct svc_rdma_send *send, const struct xdr_buf *buf,
		      u32 offset, u32 len)
{
	struct rpcrdma_ep *ep = send->conn->ep;
	u32 max = min_t(u32, ep->sizes.send_sge, SVC_RDMA_SEND_SGES);
	struct svc_rdma_piece piece;
	int rc;

	for (; len && svc_rdma_buf_piece(&piece, buf, offset);
	     offset += piece.len, len -= piece.len) {
		if (send->nr_sge >= max)
			return -E2BIG;
		piece.len = min(piece.len, len);
		rc = rpcrdma_map_page(ep, &send->sge[send->nr_sge], piece.page,
				      piece.offset, piece.len, DMA_TO_DEVICE);
		if (rc)
			return rc;
		send->nr_sge++;
	}
	return 0;
}

/* Goes back with the Writes, where there are any: svc_rdma_rwset_release() */
static void take_share(struct svc_rdma_send *send, u32 pages)
{
	pages = svc_rdma_share(pages, send->writes.memory);
	svc_rdma_budget_take(&send->conn->replies, pages);
	send->writes.pages = pages;
}

/*
 * Behind the last page of the Reply. Encoders that nfsd does not look after (NFSACL's) go on
 * into the next page without counting it in rq_next_page. That of NFSv2's READLINK counts
 * its page, and names it by a pointer of its own.
 */
static struct page **reply_end(const struct svc_rqst *rqstp)
{
	const struct xdr_buf *buf = &rqstp->rq_res;
	struct page **end = rqstp->rq_next_page, **used;

	if (buf->page_len && buf->pages >= rqstp->rq_respages &&
	    buf->pages <= rqstp->rq_page_end) {
		used = buf->pages + DIV_ROUND_UP(buf->page_base + buf->page_len,
						 PAGE_SIZE);
		end = clamp(used, end, rqstp->rq_page_end + 1);
	}
	return end;
}

/**
 * svc_rdma_send_take_pages - keep the Reply's pages until the completion
 * @send: context; has no pages yet
 * @rqstp: nfsd thread, which finds none of them afterwards
 * @skip: how many of the first ones it may keep
 *
 * sunrpc allocates new ones in their place before it receives again. A Send that has pages
 * is not lazy: the connection gets its share of them back though nothing else is sent.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM, when @rqstp keeps all.
 */
int svc_rdma_send_take_pages(struct svc_rdma_send *send,
			     struct svc_rqst *rqstp, unsigned int skip)
{
	struct page **page = rqstp->rq_respages + skip;
	unsigned int i, nr = clamp_t(long, reply_end(rqstp) - page, 0,
				     RPCSVC_MAXPAGES);

	WARN_ON_ONCE(send->nr_pages); /* I9 */
	if (unlikely(!send->pages)) {
		send->pages = kmalloc_array(RPCSVC_MAXPAGES,
					    sizeof(*send->pages), GFP_NOIO);
		if (!send->pages)
			return -ENOMEM;
	}
	/* nfsd may have left gaps among them */
	for (i = 0; i < nr; i++)
		if (page[i])
			send->pages[send->nr_pages++] = page[i];
	memset(page, 0, nr * sizeof(*page));
	if (send->nr_pages)
		take_share(send, send->nr_pages);
	rqstp->rq_next_page = rqstp->rq_respages;
	return 0;
}

static void send_done(struct rpcrdma_chain *chain, enum ib_wc_status status)
{
	svc_rdma_send_put(container_of(chain, struct svc_rdma_send, chain));
}

/**
 * svc_rdma_send_post - post RDMA Writes and the Send with one doorbell
 * @send: context; belongs to the Send Queue afterwards, or is put
 * @inv_handle: rkey for the peer's device to invalidate, or 0
 *
 * Context: process, within svc_rdma_enter(). Does not wait for slots.
 *
 * Return: 0 or -ENOTCONN.
 */
int svc_rdma_send_post(struct svc_rdma_send *send, u32 inv_handle)
{
	struct rpcrdma_ep *ep = send->conn->ep;
	struct ib_send_wr *wr = &send->wr;
	int rc;

	send->sge[0].length = send->enc.len;
	rpcrdma_dmabuf_sync_for_device(&send->buf, 0, send->enc.len);
	wr->num_sge = send->nr_sge;
	wr->opcode = inv_handle ? IB_WR_SEND_WITH_INV : IB_WR_SEND;
	wr->ex.invalidate_rkey = inv_handle;

	if (likely(!send->writes.last)) {
		rpcrdma_chain_init_one(ep, &send->chain, wr, send_done);
		send->chain.lazy = send->nr_sge == 1;
	} else {
		rpcrdma_chain_init(&send->chain, send_done);
		rpcrdma_chain_append(ep, &send->chain,
				     svc_rdma_rwset_wrs(send->conn,
							&send->writes,
							&send->chain, wr));
	}
	rc = rpcrdma_sendq_post_lone(ep, &send->chain,
				     atomic_read(&send->conn->xprt.xpt_nr_rqsts) <= 1);
	if (unlikely(rc))
		svc_rdma_send_put(send);
	return rc;
}

/**
 * svc_rdma_send_error - refuse a message (RFC 8166, section 4.5)
 * @conn: connection
 * @recv: message; given back
 * @errcode: which error
 *
 * Context: process, may sleep; within svc_rdma_enter().
 *
 * Return: 0, -ENOMEM or -ENOBUFS as svc_rdma_send_add(), or -ENOTCONN.
 */
int svc_rdma_send_error(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv,
			enum rpcrdma_errcode errcode)
{
	u32 credits = conn->ep->sizes.credits;
	u32 version = recv->hdr.vers;
	struct svc_rdma_send *send;
	u32 xid = recv->hdr.xid;

	rpcrdma_recv_put(recv);
	send = svc_rdma_send_get(conn, version, GFP_NOIO);
	if (IS_ERR(send))
		return PTR_ERR(send);
	rpcrdma_enc_error(&send->enc, xid, version, credits, errcode,
			  &conn->limits);
	return svc_rdma_send_post(send, 0);
}

/**
 * svc_rdma_refuse - answer a message with an RDMA_ERROR, and say so
 * @conn: connection
 * @recv: message; not the caller's any more
 * @errcode: which error
 * @why: for the log
 *
 * Context: process, within svc_rdma_enter(); sleeps for memory.
 */
void svc_rdma_refuse(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv,
		     enum rpcrdma_errcode errcode, const char *why)
{
	int rc;

	rpcrdma_ep_warn(conn->ep, "message refused, XID 0x%08x: %s",
			recv->hdr.xid, why);
	rc = svc_rdma_send_error(conn, recv, errcode);
	if (rc)
		svc_rdma_send_failed(conn, rc, "an error could not be sent");
}

/**
 * svc_rdma_refuse_call - answer a Call with ERR_CHUNK, and say so
 * @call: Call; stays the caller's, but its Receive does not
 * @why: for the log
 *
 * Context: process, within svc_rdma_enter(); sleeps for memory.
 */
void svc_rdma_refuse_call(struct svc_rdma_call *call, const char *why)
{
	struct rpcrdma_recv *recv = call->recv;

	call->recv = NULL;
	svc_rdma_refuse(call->conn, recv, RPCRDMA_ERR_CHUNK, why);
}

/**
 * svc_rdma_sends_alloc - the first contexts
 * @conn: connection whose QP exists
 *
 * Callbacks are sent on behalf of others' memory reclaim: where a client has no Calls
 * outstanding, its first ones depend neither on an allocation nor on when a Reply's Send is
 * heard of. Replies take from the same list: where they have all, and there is no memory
 * for one more, a callback is tried again until one of them is complete.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int svc_rdma_sends_alloc(struct svc_rdma_conn *conn)
{
	struct svc_rdma_send *send;
	int i;

	for (i = 0; i < SVC_RDMA_BC_CREDITS + RPCRDMA_SEND_LAZY; i++) {
		send = send_alloc(conn, GFP_NOIO);
		if (!send)
			return -ENOMEM;
		conn->nr_sends++;
		llist_add(&send->free, &conn->free_sends);
	}
	return 0;
}

/**
 * svc_rdma_sends_free - free all contexts
 * @conn: connection whose Send Queue is drained
 *
 * Context: process.
 */
void svc_rdma_sends_free(struct svc_rdma_conn *conn)
{
	struct svc_rdma_send *send, *next;

	llist_for_each_entry_safe(send, next, llist_del_all(&conn->free_sends),
				  free) {
		send_free(send);
		conn->nr_sends--;
	}
	WARN_ON_ONCE(conn->nr_sends); /* I11 */
}
