// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Writing a Transport Header (RFC 8166, section 4): a cursor with a sticky
 * overflow. Pure.
 */
#include "rpcrdma/wire.h"

/**
 * rpcrdma_form_of_reply - how the Reply to a Call is written
 * @form: result
 * @call: accepted header of the Call
 *
 * In the version of the Call (draft-cel-nfsv4-rpcrdma-version-two-00, section
 * 5.3), and by the option if the Call came by it, with the handle that it named.
 */
void rpcrdma_form_of_reply(struct rpcrdma_form *form,
			   const struct rpcrdma_hdr *call)
{
	form->vers = call->vers;
	form->option = call->option;
	form->direction = RPCRDMA_DIR_REPLY;
	form->inv_handle = call->inv_handle;
}

/**
 * rpcrdma_enc_init - prepare to write a Transport Header
 * @enc: cursor; borrows @buf
 * @buf: buffer
 * @max: bytes of @buf
 */
void rpcrdma_enc_init(struct rpcrdma_enc *enc, void *buf, u32 max)
{
	memset(enc, 0, sizeof(*enc));
	enc->buf = buf;
	enc->max = max;
}

static void enc_fixed(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		      enum rpcrdma_proc proc)
{
	u8 *p = enc_take(enc, RPCRDMA_FIXED_LEN);

	if (!p)
		return;
	put_u32(p, xid);
	put_u32(p + 4, vers);
	put_u32(p + 8, credits);
	put_u32(p + 12, proc);
}

/**
 * rpcrdma_enc_begin - write the part before the chunk lists
 * @enc: cursor, fresh
 * @xid: of the RPC, host order
 * @credits: requested or granted
 * @proc: RPCRDMA_MSG or RPCRDMA_NOMSG
 * @form: version, and whether by the option that stands for @proc
 */
void rpcrdma_enc_begin(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		       enum rpcrdma_proc proc, const struct rpcrdma_form *form)
{
	bool option = rpcrdma_is_v2(form->vers) && form->option;

	enc_fixed(enc, xid, form->vers, credits,
		  option ? RPCRDMA_OPTIONAL : proc);
	if (option)
		rpcrdma_v2_enc_option(enc, proc, form);
}

/**
 * rpcrdma_enc_end - end the Transport Header
 * @enc: cursor behind the chunk lists; an RPC message may follow
 */
void rpcrdma_enc_end(struct rpcrdma_enc *enc)
{
	if (rpcrdma_is_v2(RPCRDMA_VERS_MAX) && enc->option)
		rpcrdma_v2_enc_end(enc);
}

/**
 * rpcrdma_enc_msg - write the whole header of a message without chunks
 * @enc: cursor, fresh; the RPC message follows
 * @xid: of the RPC, host order
 * @credits: requested or granted
 * @form: version, and whether by the option
 */
void rpcrdma_enc_msg(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		     const struct rpcrdma_form *form)
{
	rpcrdma_enc_begin(enc, xid, credits, RPCRDMA_MSG, form);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_list_end(enc);
	rpcrdma_enc_end(enc);
}

/**
 * rpcrdma_enc_segment - write one segment of a Write or Reply chunk
 * @enc: cursor
 * @seg: the segment
 */
void rpcrdma_enc_segment(struct rpcrdma_enc *enc,
			 const struct rpcrdma_segment *seg)
{
	u8 *p = enc_take(enc, RPCRDMA_SEGMENT_LEN);

	if (!p)
		return;
	put_u32(p, seg->handle);
	put_u32(p + 4, seg->length);
	put_u32(p + 8, seg->offset >> 32);
	put_u32(p + 12, seg->offset);
}

/**
 * rpcrdma_enc_read_segment - write one item of the Read list
 * @enc: cursor
 * @position: bytes of the RPC message before the data item; segments of one
 *	chunk have the same
 * @seg: the segment
 */
void rpcrdma_enc_read_segment(struct rpcrdma_enc *enc, u32 position,
			      const struct rpcrdma_segment *seg)
{
	enc_u32(enc, 1);
	enc_u32(enc, position);
	rpcrdma_enc_segment(enc, seg);
}

/**
 * rpcrdma_enc_write_chunk - begin an item of the Write list, or the Reply chunk
 * @enc: cursor
 * @segs: how many calls of rpcrdma_enc_segment() follow
 *
 * The Reply chunk takes the place of the last rpcrdma_enc_list_end().
 */
void rpcrdma_enc_write_chunk(struct rpcrdma_enc *enc, u32 segs)
{
	enc_u32(enc, 1);
	enc_u32(enc, segs);
}

/**
 * rpcrdma_enc_chunk_return - return a Write chunk or the Reply chunk
 * @enc: cursor
 * @chunk: as it was received
 * @written: bytes that were written into it, in order from its first segment
 *
 * Each segment goes back with the length that was used, which is zero for those
 * not reached (RFC 8166, section 3.4.6). If @chunk has less room than @written
 * the cursor overflows, so that the Reply is not sent.
 */
void rpcrdma_enc_chunk_return(struct rpcrdma_enc *enc,
			      const struct rpcrdma_chunk *chunk, u64 written)
{
	struct rpcrdma_segment seg;
	u32 i;

	if (written > chunk->bytes)
		enc->overflow = true;
	rpcrdma_enc_write_chunk(enc, chunk->segs);
	for (i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(chunk, i, &seg);
		seg.length = min_t(u64, seg.length, written);
		written -= seg.length;
		rpcrdma_enc_segment(enc, &seg);
	}
}

/**
 * rpcrdma_enc_error - write a whole RDMA_ERROR (RFC 8166, section 4.5)
 * @enc: cursor, fresh
 * @xid: rdma_xid of the message that is answered, host order
 * @vers: its version
 * @credits: granted
 * @errcode: which error
 * @lim: for ERR_VERS: the versions spoken
 */
void rpcrdma_enc_error(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		       enum rpcrdma_errcode errcode,
		       const struct rpcrdma_limits *lim)
{
	enc_fixed(enc, xid, vers, credits, RPCRDMA_ERROR);
	enc_u32(enc, errcode);
	if (errcode != RPCRDMA_ERR_VERS)
		return;
	enc_u32(enc, lim->vers_min);
	enc_u32(enc, lim->vers_max);
}
