// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies: which part of the RPC message goes into which chunk, which stays
 * inline, and the one chain of RDMA Writes and a Send that carries all of it.
 * No thread waits for that chain: the Send context owns the pages until it is
 * complete. And RDMA_ERROR.
 */

#include "rpcrdma/trace.h"
#include "svc_rdma.h"

/*
 * A Reply that fits a page is copied behind its header: a page that the device
 * reads costs nfsd a new one, which the kernel may have to zero.
 */
#define SVC_RDMA_COPY_MAX	PAGE_SIZE

/**
 * struct svc_rdma_target - a position in a Write or Reply chunk
 * @chunk: chunk
 * @index: segment
 * @used: bytes of it that are taken
 */
struct svc_rdma_target {
	const struct rpcrdma_chunk *chunk;
	u32 index;
	u32 used;
};

static void leave_range(struct svc_rdma_reply *reply, u32 from, u32 to)
{
	if (from == to)
		return;
	reply->range[reply->nr_ranges++] = (struct svc_rdma_payload) {
		.offset = from, .length = to - from,
	};
	reply->rest += to - from;
}

/*
 * Results go into Write chunks in their order (RFC 8166, section 4.3.2.1; RFC
 * 8267, section 6.4.1); the rest is sent without their XDR roundup (RFC
 * 8166, section 3.4.4.4). A chunk without room asks for the result inline
 * (section 4.3.2.3).
 */
static int match_payloads(struct svc_rdma_reply *reply)
{
	const struct svc_rdma_call *call = reply->call;
	struct rpcrdma_write_iter *it = &reply->it;
	u32 at = 0, len = reply->buf->len;

	rpcrdma_write_iter_init(it, &call->recv->hdr);
	while (rpcrdma_write_iter_next(it)) {
		unsigned int nr = reply->nr_results++;
		const struct svc_rdma_payload *marked = &call->payload[nr];
		struct svc_rdma_result *res = &reply->result[nr];
		struct svc_rdma_payload *payload = &res->payload;

		res->chunk = it->chunk;
		payload->length = 0;
		if (nr >= call->nr_payloads || !marked->length ||
		    !it->chunk.bytes)
			continue;
		*payload = *marked;
		if (payload->length > it->chunk.bytes)
			return -EMSGSIZE;
		if (payload->offset < at || payload->offset > len ||
		    payload->length > len - payload->offset) {
			/* The encoder went back behind it: it stays inline */
			payload->length = 0;
			continue;
		}
		leave_range(reply, at, payload->offset);
		at = min_t(u32, len, payload->offset +
			   xdr_align_size(payload->length));
	}
	leave_range(reply, at, len);
	return 0;
}

/*
 * Every chunk that was offered goes back, with the lengths that were used
 * (RFC 8166, section 3.4.6), the Reply chunk of an RDMA_MSG too, with none
 * (section 4.3.3).
 */
static void encode_header(struct svc_rdma_reply *reply, enum rpcrdma_proc proc)
{
	const struct rpcrdma_hdr *hdr = &reply->call->recv->hdr;
	struct svc_rdma_send *send = reply->send;
	struct rpcrdma_enc *enc = &send->enc;
	unsigned int i;

	rpcrdma_form_of_reply(&send->form, hdr);
	rpcrdma_enc_begin(enc, hdr->xid, svc_rdma_grant(send->conn), proc,
			  &send->form);
	rpcrdma_enc_list_end(enc);
	for (i = 0; i < reply->nr_results; i++)
		rpcrdma_enc_chunk_return(enc, &reply->result[i].chunk,
					 reply->result[i].payload.length);
	rpcrdma_enc_list_end(enc);
	if (rpcrdma_hdr_reply_chunk(hdr, &reply->chunk))
		rpcrdma_enc_chunk_return(enc, &reply->chunk,
					 proc == RPCRDMA_NOMSG ?
					 reply->rest : 0);
	else
		rpcrdma_enc_list_end(enc);
	rpcrdma_enc_end(enc);
}

/* Head and tail are in nfsd's first page */
static void note_first_page(struct svc_rdma_reply *reply, u32 at, u32 len)
{
	u32 head = reply->buf->head[0].iov_len;

	if (len && (at < head || at + len > head + reply->buf->page_len))
		reply->first_page = true;
}

static int write_range(struct svc_rdma_reply *reply,
		       struct svc_rdma_target *target,
		       const struct svc_rdma_payload *range)
{
	u32 at = range->offset, end = at + range->length;
	struct svc_rdma_send *send = reply->send;
	struct rpcrdma_segment seg;
	int rc;

	note_first_page(reply, at, range->length);
	while (at < end) {
		if (target->index == target->chunk->segs)
			return -EMSGSIZE;
		rpcrdma_chunk_segment(target->chunk, target->index, &seg);
		if (target->used == seg.length) {
			target->index++;
			target->used = 0;
			continue;
		}
		seg.offset += target->used;
		seg.length = min(seg.length - target->used, end - at);
		rc = svc_rdma_rwset_add(send->conn, &send->writes, reply->buf,
					at, &seg);
		if (rc)
			return rc;
		target->used += seg.length;
		at += seg.length;
	}
	return 0;
}

static int write_results(struct svc_rdma_reply *reply)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < reply->nr_results && !rc; i++) {
		struct svc_rdma_target target = { .chunk = &reply->result[i].chunk };

		rc = write_range(reply, &target, &reply->result[i].payload);
	}
	return rc;
}

/*
 * A READ of some KiB most often: the device gathers the data from the pages of
 * nfsd. The head, which precedes them, is copied, so that nfsd keeps its first
 * page.
 */
static int gather_ranges(struct svc_rdma_reply *reply)
{
	u32 head = reply->buf->head[0].iov_len;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < reply->nr_ranges && !rc; i++) {
		u32 at = reply->range[i].offset, len = reply->range[i].length;
		u32 copied = i || at >= head ? 0 : min(len, head - at);

		if (copied)
			svc_rdma_send_copy(reply->send, reply->buf, at, copied);
		note_first_page(reply, at + copied, len - copied);
		rc = svc_rdma_send_map(reply->send, reply->buf, at + copied,
				       len - copied);
	}
	return rc;
}

static int put_inline(struct svc_rdma_reply *reply)
{
	unsigned int i;
	int rc;

	if (reply->rest > SVC_RDMA_COPY_MAX) {
		rc = gather_ranges(reply);
		if (rc != -E2BIG)
			return rc;
		/* More pieces than a Send has SGEs */
		svc_rdma_send_reset(reply->send, reply->call->recv->hdr.vers);
		reply->first_page = false;
		encode_header(reply, RPCRDMA_MSG);
	}
	for (i = 0; i < reply->nr_ranges; i++)
		svc_rdma_send_copy(reply->send, reply->buf,
				   reply->range[i].offset,
				   reply->range[i].length);
	return 0;
}

/* RFC 8166, section 3.5.3: a Reply that does not fit inline */
static int build_long_reply(struct svc_rdma_reply *reply)
{
	const struct rpcrdma_hdr *hdr = &reply->call->recv->hdr;
	struct svc_rdma_target target = { .chunk = &reply->chunk };
	struct svc_rdma_send *send = reply->send;
	unsigned int i;
	int rc = 0;

	if (!rpcrdma_hdr_reply_chunk(hdr, &reply->chunk) ||
	    reply->rest > reply->chunk.bytes)
		return -EMSGSIZE;
	svc_rdma_send_reset(send, hdr->vers);
	encode_header(reply, RPCRDMA_NOMSG);
	if (send->enc.overflow)
		return -EMSGSIZE;
	for (i = 0; i < reply->nr_ranges && !rc; i++)
		rc = write_range(reply, &target, &reply->range[i]);
	return rc;
}

static int build_reply(struct svc_rdma_reply *reply)
{
	const struct rpcrdma_enc *enc = &reply->send->enc;
	int rc;

	rc = match_payloads(reply);
	if (rc)
		return rc;
	encode_header(reply, RPCRDMA_MSG);
	if (!enc->overflow && reply->rest <= enc->max - enc->len)
		rc = put_inline(reply);
	else
		rc = build_long_reply(reply);
	return rc ? : write_results(reply);
}

/*
 * nfsd reuses the pages that it still finds: pages that the device will not
 * read had better stay, and the others must go. A Send that has many is
 * signalled, so that they are uncharged though nothing else is sent.
 */
static int settle_pages(struct svc_rdma_reply *reply, struct svc_rqst *rqstp)
{
	struct svc_rdma_send *send = reply->send;
	struct page **page = rqstp->rq_respages, **end;
	int rc;

	if (send->nr_sge == 1 && !send->writes.last) {
		rpcrdma_rqst_keep_first(rqstp);
		return 0;
	}
	end = min(svc_rdma_reply_end(rqstp),
		  page + rpcrdma_serv_pages(rqstp->rq_server));
	rc = svc_rdma_send_own_pages(send, page + !reply->first_page, end);
	if (!rc)
		rpcrdma_rqst_reply_gone(rqstp, end, !reply->first_page);
	return rc;
}

static void send_done(struct rpcrdma_chain *chain, enum ib_wc_status status)
{
	struct svc_rdma_send *send =
		container_of(chain, struct svc_rdma_send, chain);

	trace_svcrdma_wc_send(send->conn->ep, send->xid, status);
	if (status != IB_WC_SUCCESS && send->writes.last)
		svc_rdma_note_bad_rkey(send->conn, send->xid);
	svc_rdma_send_put(send);
}

/*
 * Posts RDMA Writes and the Send with one doorbell; does not wait for slots.
 * The context belongs to the Send Queue afterwards, or is put. @inv_handle:
 * rkey for the peer's device to invalidate, or 0. Returns 0 or -ENOTCONN.
 */
int svc_rdma_send_post(struct svc_rdma_send *send, u32 inv_handle)
{
	struct svc_rdma_conn *conn = send->conn;
	struct ib_send_wr *wr = &send->wr;
	bool lone = atomic_read(&conn->xprt.xpt_nr_rqsts) <= 1;
	int rc;

	send->sge[0].length = send->enc.len;
	rpcrdma_dmabuf_sync_for_device(&send->buf, 0, send->enc.len);
	wr->num_sge = send->nr_sge;
	wr->opcode = inv_handle ? IB_WR_SEND_WITH_INV : IB_WR_SEND;
	wr->ex.invalidate_rkey = inv_handle;

	rpcrdma_chain_init(&send->chain, send_done);
	svc_rdma_rwset_append(conn, &send->writes, &send->chain, wr);
	trace_svcrdma_post_send(conn->ep, send->xid, send->enc.len,
				send->nr_sge, send->writes.slots, inv_handle);
	send->chain.unsignalled_ok = !send->pages_charged && !send->writes.last;
	rc = rpcrdma_sendq_post(conn->ep, &send->chain, lone);
	if (rc)
		svc_rdma_send_put(send);
	return rc;
}

/* Ends a connection on which a message could not be sent */
static void send_failed(struct svc_rdma_conn *conn, int rc, const char *why)
{
	if (rc == -ENOBUFS)
		why = "client exceeds its credits, or acknowledges no Sends";
	if (rc != -ENOTCONN)
		rpcrdma_ep_fail(conn->ep, rc, why);
}

/*
 * Answers a message with RDMA_ERROR (RFC 8166, 4.5) and gives its Receive back.
 * @why: for the log, or NULL if it has been logged. Called within
 * svc_rdma_enter(); sleeps for memory.
 */
void svc_rdma_send_rdma_error(struct svc_rdma_conn *conn,
			      struct rpcrdma_recv *recv,
			      enum rpcrdma_errcode errcode, const char *why)
{
	u32 xid = recv->hdr.xid, vers = recv->hdr.vers;
	struct svc_rdma_send *send;
	int rc;

	trace_svcrdma_reject(conn->ep, xid, why ? : "Reply cannot be sent");
	if (why)
		rpcrdma_ep_warn(conn->ep, "rejected XID 0x%08x: %s",
				xid, why);
	rpcrdma_recv_put(recv);
	send = svc_rdma_send_get(conn, vers, GFP_NOIO);
	if (IS_ERR(send)) {
		send_failed(conn, PTR_ERR(send), "an error could not be sent");
		return;
	}
	send->xid = xid;
	rpcrdma_enc_error(&send->enc, xid, vers, svc_rdma_grant(conn),
			  errcode, &conn->limits);
	rc = svc_rdma_send_post(send, 0);
	if (rc)
		send_failed(conn, rc, "an error could not be sent");
}

/* Rejects a Call that no connection like this one can carry */
void svc_rdma_reject_call(struct svc_rdma_call *call, const char *why)
{
	struct rpcrdma_recv *recv = call->recv;

	call->recv = NULL;
	svc_rdma_send_rdma_error(call->conn, recv, RPCRDMA_ERR_CHUNK, why);
	svc_rdma_call_put(call);
}

/*
 * -EAGAIN: this device writes from MRs, and other RPCs have them, so that the
 * client's next connection may carry the Reply. An RDMA_ERROR would say that
 * the RPC failed, which was executed: it is for Replies that no connection can
 * carry.
 */
static int not_built(struct svc_rdma_reply *reply, int rc)
{
	struct svc_rdma_call *call = reply->call;
	struct svc_rdma_conn *conn = call->conn;
	struct rpcrdma_recv *recv = call->recv;
	const char *why = NULL;

	if (rc == -EMSGSIZE)
		why = "neither inline threshold nor chunks suffice";
	else if (rc == -EDQUOT)
		why = "more RDMA Writes than MRs";
	else if (rc == -EAGAIN)
		rpcrdma_ep_fail(conn->ep, rc,
				"MR pool exhausted while sending a Reply");
	if (why)
		rpcrdma_ep_warn(conn->ep,
				"cannot send Reply, XID 0x%08x (%u bytes): %s",
				recv->hdr.xid, reply->buf->len, why);
	svc_rdma_send_put(reply->send);
	if (!why)
		return rc;
	call->recv = NULL;
	svc_rdma_send_rdma_error(conn, recv, RPCRDMA_ERR_CHUNK, NULL);
	return 0;
}

static int send_reply(struct svc_rdma_conn *conn, struct svc_rqst *rqstp)
{
	struct svc_rdma_call *call = rqstp->rq_xprt_ctxt;
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	u32 inv_handle, vers = hdr->vers;
	struct rpcrdma_ep *ep = conn->ep;
	struct svc_rdma_reply *reply;
	struct svc_rdma_send *send;
	int rc;

	send = svc_rdma_send_get(conn, vers, GFP_NOIO);
	if (IS_ERR(send))
		return PTR_ERR(send);
	send->xid = hdr->xid;
	reply = &send->reply;
	reply->call = call;
	reply->send = send;
	reply->buf = &rqstp->rq_res;
	reply->nr_results = 0;
	reply->nr_ranges = 0;
	reply->rest = 0;
	reply->first_page = false;

	if (hdr->write_chunks)
		svc_rdma_filter_payloads(rqstp, call);
	rc = build_reply(reply);
	if (!rc)
		rc = settle_pages(reply, rqstp);
	if (rc)
		return not_built(reply, rc);

	inv_handle = rpcrdma_hdr_inv_handle(hdr, ep->prop.remote_inv,
					    ep->local.remote_inv);
	/* From its first Reply on the version is settled, and the client's next
	 * Call may overtake anything behind the post.
	 */
	if (READ_ONCE(ep->version) != vers)
		WRITE_ONCE(ep->version, vers);
	/* The Receive is posted before the client can know of the Reply */
	svc_rdma_call_put_recv(call);
	return svc_rdma_send_post(send, inv_handle);
}

/**
 * svc_rdma_sendto - ->xpo_sendto: send a Reply
 * @rqstp: RPC; the Reply is in rq_res
 *
 * Sleeps for memory, never for the peer.
 *
 * Return: 0, or a negative errno: the connection is closed.
 */
int svc_rdma_sendto(struct svc_rqst *rqstp)
{
	struct svc_rdma_conn *conn = svc_rdma_conn(rqstp->rq_xprt);
	int rc;

	/* The thread goes on, even if the connection does not */
	svc_rdma_drop_forgotten_pages(rqstp);
	if (!svc_rdma_enter(conn))
		return -ENOTCONN;
	rc = send_reply(conn, rqstp);
	if (rc)
		send_failed(conn, rc, "a reply could not be sent");
	svc_rdma_leave(conn);
	return rc;
}
