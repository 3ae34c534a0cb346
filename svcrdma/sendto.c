// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies: which part of the RPC message goes into which chunk, which stays
 * inline, and the one chain of RDMA Writes and a Send that carries all of it.
 *
 * Nobody waits for that chain. The pages it uses are taken out of the nfsd
 * thread and put when the Send completes; the Send Queue completes in order,
 * so the RDMA Writes are complete by then.
 */

#include <linux/sunrpc/xdr.h>

#include "rpcrdma/plan.h"
#include "send.h"

/*
 * A Reply that fits a page is copied behind its header: to give the device the
 * page would cost nfsd a new one, which the kernel may have to zero.
 */
#define SVC_RDMA_COPY_MAX	PAGE_SIZE

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
static int pair_results(struct svc_rdma_reply *reply)
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
	rpcrdma_enc_begin(enc, hdr->xid, send->conn->ep->sizes.credits, proc,
			  &send->form);
	rpcrdma_enc_list_end(enc);
	for (i = 0; i < reply->nr_results; i++)
		rpcrdma_enc_chunk_result(enc, &reply->result[i].chunk,
					 reply->result[i].payload.length);
	rpcrdma_enc_list_end(enc);
	if (rpcrdma_hdr_reply_chunk(hdr, &reply->chunk))
		rpcrdma_enc_chunk_result(enc, &reply->chunk,
					 proc == RPCRDMA_NOMSG ? reply->rest : 0);
	else
		rpcrdma_enc_list_end(enc);
	rpcrdma_enc_end(enc);
}

static int write_range(struct svc_rdma_reply *reply,
		       struct svc_rdma_target *target,
		       const struct svc_rdma_payload *range)
{
	u32 at = range->offset, end = at + range->length;
	struct svc_rdma_send *send = reply->send;
	struct rpcrdma_segment seg;
	int rc;

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
		struct svc_rdma_target target = {
			.chunk = &reply->result[i].chunk,
		};

		rc = write_range(reply, &target, &reply->result[i].payload);
	}
	return rc;
}

static int write_reply_chunk(struct svc_rdma_reply *reply)
{
	struct svc_rdma_target target = { .chunk = &reply->chunk };
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

/* RFC 8166, section 3.5.3: what does not fit inline */
static noinline int build_long_reply(struct svc_rdma_reply *reply)
{
	const struct rpcrdma_hdr *hdr = &reply->call->recv->hdr;
	struct svc_rdma_send *send = reply->send;

	if (!rpcrdma_hdr_reply_chunk(hdr, &reply->chunk) ||
	    reply->rest > reply->chunk.bytes)
		return -EMSGSIZE;
	svc_rdma_send_reset(send, hdr->vers);
	encode_header(reply, RPCRDMA_NOMSG);
	if (send->enc.overflow)
		return -EMSGSIZE;
	return write_reply_chunk(reply);
}

static int build_reply(struct svc_rdma_reply *reply)
{
	const struct rpcrdma_enc *enc = &reply->send->enc;
	int rc;

	encode_header(reply, RPCRDMA_MSG);
	if (!enc->overflow && reply->rest <= enc->max - enc->len)
		rc = put_inline(reply);
	else
		rc = build_long_reply(reply);
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
 * nfsd reuses what it still finds: a page that the device will not read had
 * better stay.
 */
static void keep_pages(struct svc_rqst *rqstp)
{
	if (rqstp->rq_next_page > rqstp->rq_respages)
		rqstp->rq_respages++;
}

/* And those that it will read must go */
static int settle_pages(struct svc_rdma_reply *reply, struct svc_rqst *rqstp)
{
	if (!svc_rdma_send_is_plain(reply->send))
		return svc_rdma_send_take_pages(reply->send, rqstp,
						!uses_first_page(reply));
	keep_pages(rqstp);
	return 0;
}

/* The Reply cannot travel, on this connection or on another like it */
static int refuse(struct svc_rdma_reply *reply, const char *why)
{
	struct rpcrdma_hdr *hdr = &reply->call->recv->hdr;
	struct svc_rdma_send *send = reply->send;

	rpcrdma_ep_warn(send->conn->ep, "a reply of %u octets, XID 0x%08x, %s",
			reply->buf->len, hdr->xid, why);
	svc_rdma_send_reset(send, hdr->vers);
	rpcrdma_enc_error(&send->enc, hdr->xid, hdr->vers,
			  send->conn->ep->sizes.credits, RPCRDMA_ERR_CHUNK);
	svc_rdma_call_put_recv(reply->call);
	return svc_rdma_send_post(send, 0);
}

/*
 * -EAGAIN: this device writes from MRs, and none is left. Others have them, so that the
 * client's next connection may carry the Reply. An error would say that the RPC failed,
 * which was executed: that is left for where no connection helps.
 */
static noinline int not_built(struct svc_rdma_reply *reply, int rc)
{
	struct svc_rdma_send *send = reply->send;

	if (rc == -EMSGSIZE)
		return refuse(reply, "fits neither inline nor the chunks offered");
	if (rc == -ENOSPC)
		return refuse(reply, "takes more RDMA Writes than the Send Queue has room for");
	if (rc == -EAGAIN) {
		if (svc_rdma_rwset_alone(send->conn, &send->writes,
					 reply->rws_returned))
			return refuse(reply, "takes more RDMA Writes than there are MRs for");
		rpcrdma_ep_fail_reason(send->conn->ep, rc,
				       "no MR is left to write a reply from");
	}
	svc_rdma_send_put(send);
	return rc;
}

/* The message is built */
static __always_inline int post_reply(struct svc_rdma_call *call,
				      struct svc_rdma_send *send)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	struct rpcrdma_ep *ep = send->conn->ep;
	u32 inv_handle = 0, vers = hdr->vers;

	if (!hdr->plain)
		inv_handle = rpcrdma_hdr_inv_handle(hdr, ep->prop.remote_inv,
						    ep->local.remote_inv);
	/* From its first Reply on the version is settled, and the client's next
	 * Call may overtake what comes behind the post.
	 */
	if (unlikely(READ_ONCE(ep->version) != vers))
		WRITE_ONCE(ep->version, vers);
	/* The Receive is posted before the client can know of the Reply */
	svc_rdma_call_put_recv(call);
	return svc_rdma_send_post(send, inv_handle);
}

/* A Reply that may use chunks, or many SGEs */
static noinline int send_pieces(struct svc_rqst *rqstp,
				struct svc_rdma_call *call,
				struct svc_rdma_send *send)
{
	struct svc_rdma_reply *reply = &send->reply;
	int rc;

	reply->call = call;
	reply->send = send;
	reply->buf = &rqstp->rq_res;
	reply->nr_results = 0;
	reply->nr_ranges = 0;
	reply->rest = 0;
	reply->copied = false;
	reply->rws_returned = READ_ONCE(send->conn->rws_returned);

	rc = pair_results(reply);
	if (!rc)
		rc = build_reply(reply);
	if (!rc)
		rc = settle_pages(reply, rqstp);
	if (unlikely(rc))
		return not_built(reply, rc);
	return post_reply(call, send);
}

/* A result that lies in whole in the pages of its Reply, and the room for it */
struct one_result {
	u32 at;
	u32 end;	/* roundup included */
	struct rpcrdma_segment seg;
};

/* Is that all that there is for chunks, and its room all that was offered? */
static bool has_one_result(const struct svc_rqst *rqstp,
			   const struct svc_rdma_call *call,
			   struct one_result *res)
{
	const struct xdr_buf *buf = &rqstp->rq_res;
	u32 len = call->payload[0].length;
	u32 at;

	if (!call->recv->hdr.write_chunks || call->nr_payloads != 1 ||
	    !rpcrdma_hdr_one_segment(&call->recv->hdr, &res->seg) ||
	    !len || len > res->seg.length)
		return false;
	res->seg.length = len;
	res->at = call->payload[0].offset;
	res->end = min_t(u32, buf->len, res->at + xdr_align_size(len));
	at = res->at - buf->head[0].iov_len;
	return res->at >= buf->head[0].iov_len && at <= buf->page_len &&
	       len <= buf->page_len - at && res->at + len <= buf->len;
}

/*
 * What send_pieces() comes to then, without its walks. Whatever is in the way, that
 * one finds it again, and knows what becomes of the Reply.
 */
static bool put_one_result(struct svc_rqst *rqstp, struct svc_rdma_send *send,
			   const struct svc_rdma_call *call)
{
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	const struct xdr_buf *buf = &rqstp->rq_res;
	struct rpcrdma_enc *enc = &send->enc;
	struct one_result res;
	u32 rest;

	if (!has_one_result(rqstp, call, &res))
		return false;
	rest = buf->len - (res.end - res.at);
	rpcrdma_form_of_reply(&send->form, hdr);
	rpcrdma_enc_one_write(enc, hdr->xid, send->conn->ep->sizes.credits,
			      &send->form, &res.seg);
	if (rest > SVC_RDMA_COPY_MAX || enc->overflow ||
	    rest > enc->max - enc->len)
		goto out_reset;
	svc_rdma_send_copy(send, buf, 0, res.at);
	if (res.end < buf->len)
		svc_rdma_send_copy(send, buf, res.end, buf->len - res.end);
	/* The head is copied: nfsd keeps its first page */
	if (!svc_rdma_rwset_add(send->conn, &send->writes, buf, res.at,
				&res.seg) &&
	    !svc_rdma_send_take_pages(send, rqstp, 1))
		return true;
out_reset:
	svc_rdma_send_reset(send, hdr->vers);
	return false;
}

static noinline int send_chunks(struct svc_rqst *rqstp,
				struct svc_rdma_call *call,
				struct svc_rdma_send *send)
{
	svc_rdma_settle_results(rqstp, call);
	if (put_one_result(rqstp, send, call))
		return post_reply(call, send);
	return send_pieces(rqstp, call, send);
}

/*
 * Longer than what is copied, a READ of some KiB most often: the device gathers the data from
 * the pages of nfsd. Where nothing comes behind them what stands before them is copied, so
 * that nfsd keeps its first page.
 */
static noinline bool put_gathered(struct svc_rdma_send *send, struct svc_rqst *rqstp)
{
	const struct xdr_buf *buf = &rqstp->rq_res;
	u32 head = buf->head[0].iov_len;

	if (buf->tail[0].iov_len || head + buf->page_len != buf->len)
		head = 0;
	else
		svc_rdma_send_copy(send, buf, 0, head);
	return !svc_rdma_send_map(send, buf, head, buf->len - head) &&
	       !svc_rdma_send_take_pages(send, rqstp, !!head);
}

/*
 * Most Replies: no chunk comes back, and all of it fits behind the header. Whatever is in the
 * way, send_chunks() finds it again.
 */
static bool put_plain(struct svc_rdma_send *send, const struct rpcrdma_hdr *hdr,
		      struct svc_rqst *rqstp)
{
	const struct xdr_buf *buf = &rqstp->rq_res;
	struct rpcrdma_enc *enc = &send->enc;

	if (!hdr->plain && (hdr->write_chunks || hdr->reply))
		return false;
	rpcrdma_form_of_reply(&send->form, hdr);
	rpcrdma_enc_plain(enc, hdr->xid, send->conn->ep->sizes.credits,
			  &send->form);
	if (unlikely(enc->overflow || buf->len > enc->max - enc->len))
		goto out_reset;
	if (likely(buf->len <= SVC_RDMA_COPY_MAX)) {
		svc_rdma_send_copy(send, buf, 0, buf->len);
		keep_pages(rqstp);
		return true;
	}
	if (put_gathered(send, rqstp))
		return true;
out_reset:
	svc_rdma_send_reset(send, hdr->vers);
	return false;
}

static int send_reply(struct svc_rdma_conn *conn, struct svc_rqst *rqstp)
{
	struct svc_rdma_call *call = rqstp->rq_xprt_ctxt;
	const struct rpcrdma_hdr *hdr = &call->recv->hdr;
	struct svc_rdma_send *send;

	send = svc_rdma_send_get(conn, hdr->vers, GFP_NOIO);
	if (IS_ERR(send))
		return PTR_ERR(send);
	if (put_plain(send, hdr, rqstp))
		return post_reply(call, send);
	return send_chunks(rqstp, call, send);
}

static noinline void drop_shared_pages(struct page **page, struct page **end)
{
	for (; page < end; page++) {
		if (!*page || !svc_rdma_page_is_shared(*page))
			continue;
		put_page(*page);
		*page = NULL;
	}
}

/*
 * Where nfsd has spliced a READ and then finds no room for its result, or fails half way,
 * it forgets the pages: they stay where the next Reply, or Call, would be written to. The
 * first of them tells; others, that the page cache has dropped meanwhile, may be among them.
 * It may have dropped the first: so a result that was marked and is not there tells as well.
 * A READ that begins within a page may take the place behind the last one of the thread, too,
 * which sunrpc clears without a look before the next Call.
 */
static void drop_forgotten_pages(struct svc_rqst *rqstp)
{
	const struct svc_rdma_call *call = rqstp->rq_xprt_ctxt;
	struct page **page = rqstp->rq_next_page;
	bool gone = call->nr_payloads && !rqstp->rq_res.page_len &&
		    call->payload[0].length;

	if (page <= rqstp->rq_page_end && *page &&
	    unlikely(gone || svc_rdma_page_is_shared(*page)))
		drop_shared_pages(page, rqstp->rq_page_end + 1);
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

	/* The thread goes on, whatever becomes of the connection */
	drop_forgotten_pages(rqstp);
	if (unlikely(!svc_rdma_enter(conn)))
		return -ENOTCONN;
	rc = send_reply(conn, rqstp);
	if (unlikely(rc))
		svc_rdma_send_failed(conn, rc, "a reply could not be sent");
	svc_rdma_leave(conn);
	return rc;
}
