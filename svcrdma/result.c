// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which results of a Reply may go into Write chunks, and where they are: what the Upper
 * Layer has marked, less what its binding does not let travel so.
 */

#include <linux/nfs4.h>
#include <linux/nfs.h>
#include <linux/sunrpc/msg_prot.h>
#include <linux/sunrpc/xdr.h>

#include "svc_rdma.h"

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

static bool word_is(const struct xdr_buf *buf, u32 at, u32 value)
{
	u32 word;

	return !xdr_decode_word(buf, at, &word) && word == value;
}

/*
 * An opaque's length stands before its first octet. nfsd names the length's
 * offset, not the data's, for NFSv4 READLINK.
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
 * nfsd marks the data of READ_PLUS as it does those of READ, but they are one arm of a
 * union in an array, which is not DDP-eligible: RFC 8267, section 6.1. What stands before
 * them tells (RFC 7862, section 15.10): operation, status, end of file, how many contents,
 * type, offset and length of the one that nfsd returns. READ has its operation where that
 * has its type, which is looked at first.
 */
static bool is_read_plus(const struct xdr_buf *buf, u32 at)
{
	return at >= 8 * XDR_UNIT &&
	       word_is(buf, at - 4 * XDR_UNIT, NFS4_CONTENT_DATA) &&
	       word_is(buf, at - 8 * XDR_UNIT, OP_READ_PLUS) &&
	       word_is(buf, at - 7 * XDR_UNIT, NFS4_OK) &&
	       word_is(buf, at - 5 * XDR_UNIT, 1);
}

/**
 * svc_rdma_settle_results - which results of a Reply may be in Write chunks, and where
 * @rqstp: RPC; the Reply is in rq_res
 * @call: its Call; of what is marked that is left which may, each by its first octet
 *
 * Context: process; once for each Reply.
 */
void svc_rdma_settle_results(const struct svc_rqst *rqstp,
			     struct svc_rdma_call *call)
{
	bool nfs4 = rqstp->rq_prog == NFS_PROGRAM && rqstp->rq_vers == 4;
	unsigned int i, nr = may_reduce(rqstp) ? call->nr_payloads : 0;
	struct svc_rdma_payload *payload;

	call->nr_payloads = 0;
	for (i = 0; i < nr; i++) {
		payload = &call->payload[i];
		payload->offset = payload_offset(&rqstp->rq_res, payload);
		if (!nfs4 || !is_read_plus(&rqstp->rq_res, payload->offset))
			call->payload[call->nr_payloads++] = *payload;
	}
}
