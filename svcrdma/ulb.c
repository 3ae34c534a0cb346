// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Knowledge of NFS, of nfsd and of RPCSEC_GSS: which results of a Reply may go
 * into Write chunks, and which pages nfsd has left behind.
 */

#include <linux/nfs4.h>
#include <linux/nfs.h>
#include <linux/sunrpc/msg_prot.h>

#include "svc_rdma.h"

/*
 * ->xpo_result_payload: nfsd encoded a DDP-eligible result. It is compared with
 * the Write chunks when the Reply is complete.
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

static bool word_is(const struct xdr_buf *buf, u32 at, u32 value)
{
	u32 word;

	return !xdr_decode_word(buf, at, &word) && word == value;
}

/*
 * An opaque's length precedes its first byte. For NFSv4 READLINK nfsd passes
 * the offset of the length, not of the data.
 */
static u32 payload_offset(const struct xdr_buf *buf,
			  const struct svc_rdma_payload *payload)
{
	if (payload->offset >= XDR_UNIT &&
	    word_is(buf, payload->offset - XDR_UNIT, payload->length))
		return payload->offset;
	if (word_is(buf, payload->offset, payload->length))
		return payload->offset + XDR_UNIT;
	return payload->offset;
}

/*
 * nfsd marks the data of READ_PLUS like those of READ, but they are one arm of
 * a union in an array, which is not DDP-eligible (RFC 8267, 6.1). READ_PLUS is
 * known by the words that precede the data (RFC 7862, 15.10): operation,
 * status, end of file, number of contents, and type, offset and length of the
 * only one that nfsd returns. READ has its operation where READ_PLUS has the
 * type, which is compared first.
 */
static bool is_read_plus(const struct xdr_buf *buf, u32 at)
{
	return at >= 8 * XDR_UNIT &&
	       word_is(buf, at - 4 * XDR_UNIT, NFS4_CONTENT_DATA) &&
	       word_is(buf, at - 8 * XDR_UNIT, OP_READ_PLUS) &&
	       word_is(buf, at - 7 * XDR_UNIT, NFS4_OK) &&
	       word_is(buf, at - 5 * XDR_UNIT, 1);
}

/*
 * Keeps the marked results that may be reduced, each by its first byte. With
 * integrity or privacy the message differs from the one that nfsd encoded.
 */
void svc_rdma_filter_payloads(const struct svc_rqst *rqstp,
			      struct svc_rdma_call *call)
{
	bool nfs4 = rqstp->rq_prog == NFS_PROGRAM && rqstp->rq_vers == 4;
	u32 flavor = rqstp->rq_cred.cr_flavor;
	unsigned int i, nr = call->nr_payloads;
	struct svc_rdma_payload *payload;

	call->nr_payloads = 0;
	if (flavor == RPC_AUTH_GSS_KRB5I || flavor == RPC_AUTH_GSS_KRB5P)
		return;
	for (i = 0; i < nr; i++) {
		payload = &call->payload[i];
		payload->offset = payload_offset(&rqstp->rq_res, payload);
		if (!nfs4 || !is_read_plus(&rqstp->rq_res, payload->offset))
			call->payload[call->nr_payloads++] = *payload;
	}
}

/*
 * Behind the last page of the Reply. Encoders that nfsd does not look after
 * (NFSACL's) go on into the next page without counting it in rq_next_page. That
 * of NFSv2's READLINK counts its page, and refers to it by a pointer of its
 * own.
 */
struct page **svc_rdma_reply_end(const struct svc_rqst *rqstp)
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

/*
 * If nfsd has spliced a READ and then finds no room for its result, or fails
 * half way, it forgets the pages of the page cache: they stay where the next
 * Reply, or Call, would be written to. The first page tells, because it is
 * shared. If the page cache has dropped it, a result that was marked and is not
 * in the Reply tells as well. A READ that begins within a page may take the
 * place behind the thread's last page, too, which sunrpc clears without a look
 * before the next Call.
 */
void svc_rdma_drop_forgotten_pages(struct svc_rqst *rqstp)
{
	const struct svc_rdma_call *call = rqstp->rq_xprt_ctxt;
	struct page **page = rqstp->rq_next_page;
	bool gone = call->nr_payloads && !rqstp->rq_res.page_len &&
		    call->payload[0].length;

	if (page > rqstp->rq_page_end || !*page ||
	    (!gone && !svc_rdma_page_is_shared(*page)))
		return;
	for (; page <= rqstp->rq_page_end; page++) {
		if (!*page || !svc_rdma_page_is_shared(*page))
			continue;
		put_page(*page);
		*page = NULL;
		rpcrdma_rqst_reply_gap(rqstp, page);
	}
}
