// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Version 2 of the protocol, as far as we speak it (Documentation/version-two.rst):
 * the header of version 1, other errors, and RDMA_OPTIONAL for remote invalidation.
 * Pure.
 */
#include "rpcrdma/wire.h"

/* rdma_opttype: "INV", and the rdma_proc that it stands for */
#define OPT_INV		0x494e5600U
#define OPT_INV_MSG	(OPT_INV | RPCRDMA_MSG)
#define OPT_INV_NOMSG	(OPT_INV | RPCRDMA_NOMSG)

/* Fixed part and opttype: the shortest RDMA_OPTIONAL, without optinfo */
#define OPTIONAL_LEN	24U

/*
 * The procedure, or the option that stands for it: its data begin with
 * rdma_direction and rdma_inv_handle, and the chunk lists follow.
 */
enum rpcrdma_fault rpcrdma_v2_dec_proc(struct rpcrdma_decoder *dec)
{
	struct rpcrdma_hdr *hdr = dec->hdr;
	u32 opttype, len, direction;

	if (hdr->proc == RPCRDMA_MSG || hdr->proc == RPCRDMA_NOMSG)
		return RPCRDMA_FAULT_NONE;
	if (hdr->proc != RPCRDMA_OPTIONAL)
		return RPCRDMA_FAULT_PROC;
	if (dec_u32(dec, &opttype))
		return RPCRDMA_FAULT_SHORT;
	if (opttype != OPT_INV_MSG && opttype != OPT_INV_NOMSG)
		return RPCRDMA_FAULT_OPTION;
	if (dec_u32(dec, &len) || len > dec->end - dec->at)
		return RPCRDMA_FAULT_SHORT;
	dec->end = dec->at + len;
	if (dec_u32(dec, &direction) || dec_u32(dec, &hdr->inv_handle))
		return RPCRDMA_FAULT_SHORT;
	if (direction > RPCRDMA_DIR_REPLY)
		return RPCRDMA_FAULT_OPT_DIRECTION;
	hdr->direction = direction;
	hdr->option = true;
	hdr->proc = opttype - OPT_INV;
	return RPCRDMA_FAULT_NONE;
}

/* Behind the chunk lists: no other data of the option, not even roundup */
enum rpcrdma_fault rpcrdma_v2_check_message(const struct rpcrdma_decoder *dec)
{
	const struct rpcrdma_hdr *hdr = dec->hdr;

	if (hdr->option && dec->at < dec->end)
		return RPCRDMA_FAULT_OPTINFO;
	if (hdr->proc == RPCRDMA_NOMSG && hdr->body < hdr->len)
		return RPCRDMA_FAULT_PAYLOAD;
	if (hdr->option && hdr->body_len >= RPC_MIN_LEN &&
	    msg_direction(hdr) != hdr->direction)
		return RPCRDMA_FAULT_OPT_DIRECTION;
	return RPCRDMA_FAULT_NONE;
}

/* Bytes of the shortest message of this kind that is answered */
u32 rpcrdma_v2_smallest(const struct rpcrdma_hdr *hdr)
{
	switch (hdr->proc) {
	case RPCRDMA_MSG:
	case RPCRDMA_NOMSG:
		return RPCRDMA_HDR_MIN;
	case RPCRDMA_OPTIONAL:
		return OPTIONAL_LEN;
	default:
		return RPCRDMA_FIXED_LEN;
	}
}

/* RDMA_OPTIONAL up to the chunk lists; rpcrdma_v2_enc_end() sets the length */
void rpcrdma_v2_enc_option(struct rpcrdma_enc *enc, enum rpcrdma_proc proc,
			   const struct rpcrdma_form *form)
{
	enc->option = enc->len;
	enc_u32(enc, OPT_INV | proc);
	enc_u32(enc, 0);
	enc_u32(enc, form->direction);
	enc_u32(enc, form->inv_handle);
}

void rpcrdma_v2_enc_end(struct rpcrdma_enc *enc)
{
	u32 at = enc->option + RPCRDMA_WORD;

	if (!enc->overflow)
		put_u32(enc->buf + at, enc->len - at - RPCRDMA_WORD);
}
