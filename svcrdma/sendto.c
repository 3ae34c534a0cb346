// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies: which part of the RPC message goes into which chunk, which stays
 * inline, and the one chain of RDMA Writes and a Send that carries all of it.
 *
 * Nobody waits for that chain. The pages it uses are taken out of the nfsd
 * thread and put when the Send completes; the Send Queue completes in order,
 * so the RDMA Writes are complete by then.
 */

#include <linux/sunrpc/msg_prot.h>
#include <linux/sunrpc/xdr.h>

#include "svc_rdma.h"

/*
 * A Reply that fits a page is copied behind its header: to give the device the
 * page would cost nfsd a new one, which the kernel may have to zero.
 */
#define SVC_RDMA_COPY_MAX	PAGE_SIZE

/**
 * struct svc_rdma_result - a Write chunk and what goes into it
 * @chunk: as the Requester offered it
 * @payload: length 0: the chunk is not used
 */
struct svc_rdma_result {
	struct rpcrdma_chunk chunk;
	struct svc_rdma_payload payload;
};

/**
 * struct svc_rdma_reply - how one Reply travels
 * @call: the Call
 * @send: the message
 * @buf: the RPC Reply
 * @result: the Write list, in order
 * @nr_results: its chunks
 * @range: what is left of @buf without the Write chunks' payloads
 * @nr_ranges: how many
 * @rest: octets of all ranges
 * @copied: @rest was copied: the device does not read nfsd's first page
 */
struct svc_rdma_reply {
	struct svc_rdma_call *call;
	struct svc_rdma_send *send;
	const struct xdr_buf *buf;
	struct svc_rdma_result result[SVC_RDMA_MAX_PAYLOADS];
	unsigned int nr_results;
	struct svc_rdma_payload range[SVC_RDMA_MAX_PAYLOADS + 1];
	unsigned int nr_ranges;
	u32 rest;
	bool copied;
};

/**
 * struct svc_rdma_target - a position in a Write or Reply chunk
 * @chunk: chunk
 * @index: segment
 * @used: octets of it that are taken
 */
struct svc_rdma_target {
	const struct rpcrdma_chunk *chunk;
	u32 index;
	u32 used;
};

/**
 * svc_rdma_result_payload - the Upper Layer encoded a DDP-eligible result
 * @rqstp: RPC
 * @offset: of its first octet in the Reply
 * @length: octets, without XDR roundup
 *
 * Takes note only: sizes are compared with the Write chunks when the Reply is
 * complete, and the answer to a chunk that is too small is the transport's.
 *
 * Context: process.
 *
 * Return: 0.
 */
int svc_rdma_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			    unsigned int length)
{
	struct svc_rdma_call *call = rqstp->rq_xprt_ctxt;
	struct svc_rdma_payload *payload;

	if (call && call->nr_payloads < SVC_RDMA_MAX_PAYLOADS) {
		payload = &call->payload[call->nr_payloads++];
		payload->offset = offset;
		payload->length = length;
	}
	return 0;
}

/* With integrity or privacy the message is not what the Upper Layer encoded */
static bool may_reduce(const struct svc_rqst *rqstp)
{
	switch (rqstp->rq_cred.cr_flavor) {
	case RPC_AUTH_GSS_KRB5I:
	case RPC_AUTH_GSS_KRB5P:
		return false;
	default:
		return true;
	}
}

/*
 * An opaque's length stands before its first octet. nfsd names the length's
 * offset, not the data's, for NFSv4 READLINK.
 */
static u32 payload_offset(const struct xdr_buf *buf,
			  const struct svc_rdma_payload *payload)
{
	u32 word;

	if (payload->offset >= XDR_UNIT &&
	    !xdr_decode_word(buf, payload->offset - XDR_UNIT, &word) &&
	    word == payload->length)
		return payload->offset;
	if (!xdr_decode_word(buf, payload->offset, &word) &&
	    word == payload->length)
		return payload->offset + XDR_UNIT;
	return payload->offset;
}

static void leave_range(struct svc_rdma_reply *reply, u32 from, u32 to)
{
	struct svc_rdma_payload *range;

	if (from == to)
		return;
	range = &reply->range[reply->nr_ranges++];
	range->offset = from;
	range->length = to - from;
	reply->rest += to - from;
}

/*
 * Results go into Write chunks in their order (RFC 8166, section 4.3.2.1; RFC
 * 8267, section 6.4.1); what remains is sent without their XDR roundup (RFC
 * 8166, section 3.4.4.4). A chunk without room asks for the result inline
 * (section 4.3.2.3).
 */
static int pair_results(struct svc_rdma_reply *reply, bool reduce)
{
	struct svc_rdma_call *call = reply->call;
	u32 at = 0, len = reply->buf->len;
	struct rpcrdma_write_iter it;

	rpcrdma_write_iter_init(&it, &call->recv->hdr);
	while (rpcrdma_write_iter_next(&it)) {
		struct svc_rdma_result *res =
			&reply->result[reply->nr_results];
		struct svc_rdma_payload *payload = &res->payload;

		res->chunk = it.chunk;
		memset(payload, 0, sizeof(*payload));
		if (reply->nr_results < call->nr_payloads && it.chunk.bytes &&
		    reduce) {
			*payload = call->payload[reply->nr_results];
			payload->offset = payload_offset(reply->buf, payload);
		}
		reply->nr_results++;

		if (!payload->length)
			continue;
		if (payload->length > it.chunk.bytes)
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
	struct rpcrdma_recv *recv = reply->call->recv;
	struct rpcrdma_enc *enc = &reply->send->enc;
	struct rpcrdma_chunk chunk;
	struct rpcrdma_form form;
	unsigned int i;

	rpcrdma_form_of_reply(&form, &recv->hdr);
	rpcrdma_enc_begin(enc, recv->hdr.xid,
			  reply->send->conn->ep->sizes.credits, proc, &form);
	if (!rpcrdma_hdr_has_chunks(&recv->hdr)) {
		rpcrdma_enc_no_chunks(enc);
		rpcrdma_enc_end(enc);
		return;
	}
	rpcrdma_enc_list_end(enc);
	for (i = 0; i < reply->nr_results; i++)
		rpcrdma_enc_chunk_result(enc, &reply->result[i].chunk,
					 reply->result[i].payload.length);
	rpcrdma_enc_list_end(enc);
	if (rpcrdma_hdr_reply_chunk(&recv->hdr, &chunk))
		rpcrdma_enc_chunk_result(enc, &chunk, proc == RPCRDMA_NOMSG ?
					 reply->rest : 0);
	else
		rpcrdma_enc_list_end(enc);
	rpcrdma_enc_end(enc);
}

static int write_range(struct svc_rdma_reply *reply,
		       struct svc_rdma_target *target,
		       const struct svc_rdma_payload *range)
{
	struct svc_rdma_cursor cur = {
		.buf	= reply->buf,
		.at	= range->offset,
	};
	struct svc_rdma_send *send = reply->send;
	struct rpcrdma_segment seg;
	u32 left = range->length;
	int rc;

	while (left) {
		if (target->index == target->chunk->segs)
			return -EMSGSIZE;
		rpcrdma_chunk_segment(target->chunk, target->index, &seg);
		if (target->used == seg.length) {
			target->index++;
			target->used = 0;
			continue;
		}
		seg.offset += target->used;
		seg.length = min(seg.length - target->used, left);
		rc = svc_rdma_rwset_add(send->conn, &send->writes, &cur, &seg);
		if (rc)
			return rc;
		target->used += seg.length;
		left -= seg.length;
	}
	return 0;
}

static int write_results(struct svc_rdma_reply *reply)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < reply->nr_results && !rc; i++) {
		struct svc_rdma_target target = {
			.chunk = &reply->result[i].chunk,
		};

		rc = write_range(reply, &target, &reply->result[i].payload);
	}
	return rc;
}

static int write_reply_chunk(struct svc_rdma_reply *reply,
			     const struct rpcrdma_chunk *chunk)
{
	struct svc_rdma_target target = { .chunk = chunk };
	unsigned int i;
	int rc = 0;

	for (i = 0; i < reply->nr_ranges && !rc; i++)
		rc = write_range(reply, &target, &reply->range[i]);
	return rc;
}

static int put_inline(struct svc_rdma_reply *reply)
{
	struct svc_rdma_send *send = reply->send;
	unsigned int i;
	int rc = -E2BIG;

	if (reply->rest > SVC_RDMA_COPY_MAX) {
		rc = 0;
		for (i = 0; i < reply->nr_ranges && !rc; i++)
			rc = svc_rdma_send_map(send, reply->buf,
					       reply->range[i].offset,
					       reply->range[i].length);
		if (rc != -E2BIG)
			return rc;
		svc_rdma_send_reset(send, reply->call->recv->hdr.vers);
		encode_header(reply, RPCRDMA_MSG);
	}
	for (i = 0; i < reply->nr_ranges; i++)
		svc_rdma_send_copy(send, reply->buf, reply->range[i].offset,
				   reply->range[i].length);
	reply->copied = true;
	return 0;
}

/* RFC 8166, section 3.5.3: inline when it fits, else in the Reply chunk */
static int build_reply(struct svc_rdma_reply *reply)
{
	struct rpcrdma_enc *enc = &reply->send->enc;
	struct rpcrdma_chunk chunk;
	int rc;

	encode_header(reply, RPCRDMA_MSG);
	if (!enc->overflow && reply->rest <= enc->max - enc->len) {
		rc = put_inline(reply);
		return rc ? : write_results(reply);
	}
	if (!rpcrdma_hdr_reply_chunk(&reply->call->recv->hdr, &chunk))
		return -EMSGSIZE;
	if (reply->rest > chunk.bytes)
		return -EMSGSIZE;
	svc_rdma_send_reset(reply->send, reply->call->recv->hdr.vers);
	encode_header(reply, RPCRDMA_NOMSG);
	if (enc->overflow)
		return -EMSGSIZE;
	rc = write_reply_chunk(reply, &chunk);
	return rc ? : write_results(reply);
}

/* Does the device read nfsd's first page, where the Reply's head is? */
static bool uses_first_page(const struct svc_rdma_reply *reply)
{
	const struct xdr_buf *buf = reply->buf;
	u32 pages_end = buf->head[0].iov_len + buf->page_len;
	const struct svc_rdma_payload *payload;
	unsigned int i;

	if (!reply->copied)
		return true;
	for (i = 0; i < reply->nr_results; i++) {
		payload = &reply->result[i].payload;
		if (payload->length &&
		    (payload->offset < buf->head[0].iov_len ||
		     payload->offset + payload->length > pages_end))
			return true;
	}
	return false;
}

/*
 * nfsd reuses what it still finds: the pages that the device will read must
 * go, and those that it will not had better stay.
 */
static int settle_pages(struct svc_rdma_reply *reply, struct svc_rqst *rqstp)
{
	struct svc_rdma_send *send = reply->send;

	if (send->nr_sge == 1 && list_empty(&send->writes.list)) {
		if (rqstp->rq_next_page > rqstp->rq_respages)
			rqstp->rq_respages++;
		return 0;
	}
	return svc_rdma_send_take_pages(send, rqstp, !uses_first_page(reply));
}

/* The Reply cannot travel in what the Requester offered */
static int refuse(struct svc_rdma_reply *reply)
{
	struct rpcrdma_hdr *hdr = &reply->call->recv->hdr;
	struct svc_rdma_send *send = reply->send;

	rpcrdma_ep_warn(send->conn->ep,
			"a reply of %u octets fits neither inline nor the chunks offered",
			reply->buf->len);
	svc_rdma_send_reset(send, hdr->vers);
	rpcrdma_enc_error(&send->enc, hdr->xid, hdr->vers,
			  send->conn->ep->sizes.credits, RPCRDMA_ERR_CHUNK);
	svc_rdma_call_put_recv(reply->call);
	return svc_rdma_send_post(send, 0);
}

static int send_reply(struct svc_rdma_conn *conn, struct svc_rqst *rqstp)
{
	struct svc_rdma_reply reply = {
		.call	= rqstp->rq_xprt_ctxt,
		.buf	= &rqstp->rq_res,
	};
	u32 vers = reply.call->recv->hdr.vers;
	u32 inv_handle = 0;
	int rc;

	reply.send = svc_rdma_send_get(conn, vers, GFP_KERNEL);
	if (!reply.send)
		return -ENOMEM;
	rc = pair_results(&reply, may_reduce(rqstp));
	if (!rc)
		rc = build_reply(&reply);
	/* -EAGAIN: this device writes from MRs, and none is left */
	if (rc == -EMSGSIZE || rc == -EAGAIN)
		return refuse(&reply);
	if (!rc)
		rc = settle_pages(&reply, rqstp);
	if (rc) {
		svc_rdma_send_put(reply.send);
		return rc;
	}

	if (rpcrdma_hdr_has_chunks(&reply.call->recv->hdr))
		inv_handle = rpcrdma_hdr_inv_handle(&reply.call->recv->hdr,
						    conn->ep->prop.remote_inv);
	/* From its first Reply on the version is settled, and the client's next
	 * Call may overtake what comes behind the post.
	 */
	if (READ_ONCE(conn->ep->version) != vers)
		WRITE_ONCE(conn->ep->version, vers);
	/* The Receive is posted before the client can know of the Reply */
	svc_rdma_call_put_recv(reply.call);
	return svc_rdma_send_post(reply.send, inv_handle);
}

/**
 * svc_rdma_sendto - send a Reply
 * @rqstp: RPC; the Reply is in rq_res
 *
 * Context: nfsd thread; sleeps for memory, never for the peer.
 *
 * Return: 0, or a negative errno: the connection is closed.
 */
int svc_rdma_sendto(struct svc_rqst *rqstp)
{
	struct svc_rdma_conn *conn = svc_rdma_conn(rqstp->rq_xprt);
	int rc;

	if (!svc_rdma_enter(conn))
		return -ENOTCONN;
	rc = send_reply(conn, rqstp);
	if (rc && rc != -ENOTCONN)
		rpcrdma_ep_fail_reason(conn->ep, rc, "a reply could not be sent");
	svc_rdma_leave(conn);
	return rc;
}
