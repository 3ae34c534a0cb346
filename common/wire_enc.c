// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Writing an RPC-over-RDMA Transport Header (RFC 8166, section 4): a cursor
 * with a sticky overflow. Pure.
 */
#include "rpcrdma/wire_get.h"

/* Room for the next @len octets, or NULL */
static u8 *enc_take(struct rpcrdma_enc *enc, u32 len)
{
	u8 *p = enc->buf + enc->len;

	if (enc->overflow || enc->max - enc->len < len) {
		enc->overflow = true;
		return NULL;
	}
	enc->len += len;
	return p;
}

static void enc_u32(struct rpcrdma_enc *enc, u32 value)
{
	u8 *p = enc_take(enc, RPCRDMA_WORD);

	if (p)
		put_u32(p, value);
}

static void put_fixed(u8 *p, u32 xid, u32 vers, u32 credits, u32 proc)
{
	put_u32(p, xid);
	put_u32(p + 4, vers);
	put_u32(p + 8, credits);
	put_u32(p + 12, proc);
}

/**
 * rpcrdma_enc_fixed - write the four words every header begins with
 * @enc: cursor
 * @xid: of the RPC, host order
 * @vers: protocol version
 * @credits: requested or granted
 * @proc: procedure
 *
 * RFC 8166, section 4.2. Context: Any context.
 */
void rpcrdma_enc_fixed(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		       enum rpcrdma_proc proc)
{
	u8 *p = enc_take(enc, RPCRDMA_FIXED_LEN);

	if (p)
		put_fixed(p, xid, vers, credits, proc);
}

/**
 * rpcrdma_form_of_reply - how the Reply to a Call is written
 * @form: result
 * @call: accepted header of the Call
 *
 * In the version of the Call (draft-cel-nfsv4-rpcrdma-version-two-00, section
 * 5.3), and by the option if it came so, with the handle that it named.
 *
 * Context: Any context.
 */
void rpcrdma_form_of_reply(struct rpcrdma_form *form,
			   const struct rpcrdma_hdr *call)
{
	form->vers = call->vers;
	form->option = call->option;
	form->direction = RPCRDMA_DIR_REPLY;
	form->inv_handle = call->inv_handle;
}

/* What stands before the chunk lists with the option, whose data have @len octets */
static void put_option(u8 *p, u32 xid, u32 credits, enum rpcrdma_proc proc,
		       u32 len, const struct rpcrdma_form *form)
{
	put_fixed(p, xid, form->vers, credits, RPCRDMA_OPTIONAL);
	p += RPCRDMA_FIXED_LEN;
	put_fixed(p, RPCRDMA_OPT_INV | proc, len, form->direction,
		  form->inv_handle);
}

/**
 * rpcrdma_enc_begin - write what stands before the chunk lists
 * @enc: cursor, fresh
 * @xid: of the RPC, host order
 * @credits: requested or granted
 * @proc: RPCRDMA_MSG or RPCRDMA_NOMSG, or the option that stands for it
 * @form: version, and whether by the option
 *
 * Context: Any context.
 */
void rpcrdma_enc_begin(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		       enum rpcrdma_proc proc, const struct rpcrdma_form *form)
{
	u8 *p = enc_take(enc, form->option ? RPCRDMA_FIXED_LEN + RPCRDMA_INV_LEN :
					     RPCRDMA_FIXED_LEN);

	if (!p)
		return;
	if (!form->option) {
		put_fixed(p, xid, form->vers, credits, proc);
		return;
	}
	enc->option = enc->len - RPCRDMA_INV_LEN;
	/* The length of the option's data is known to rpcrdma_enc_end() */
	put_option(p, xid, credits, proc, 0, form);
}

/* What stands before @lists_len octets of chunk lists that are all of it */
static __always_inline void put_msg(u8 *p, u32 xid, u32 credits,
				    const struct rpcrdma_form *form,
				    u32 lists_len)
{
	if (form->option)
		put_option(p, xid, credits, RPCRDMA_MSG,
			   2 * RPCRDMA_WORD + lists_len, form);
	else
		put_fixed(p, xid, form->vers, credits, RPCRDMA_MSG);
}

/**
 * rpcrdma_enc_plain - write a whole Transport Header without chunks
 * @enc: cursor, fresh
 * @xid: of the RPC, host order
 * @credits: requested or granted
 * @form: version, and whether by the option
 *
 * The same as rpcrdma_enc_begin() for RDMA_MSG, three times rpcrdma_enc_list_end(),
 * and rpcrdma_enc_end().
 *
 * Context: Any context.
 */
void rpcrdma_enc_plain(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		       const struct rpcrdma_form *form)
{
	u32 len = rpcrdma_form_len(form);
	u8 *p = enc_take(enc, len);

	if (!p)
		return;
	put_msg(p, xid, credits, form, RPCRDMA_NO_CHUNKS_LEN);
	memset(p + len - RPCRDMA_NO_CHUNKS_LEN, 0, RPCRDMA_NO_CHUNKS_LEN);
}

/* All of a header with one segment, but for the chunk lists. Return: where those go */
static __always_inline u8 *put_one(struct rpcrdma_enc *enc, u32 xid, u32 credits,
				   const struct rpcrdma_form *form)
{
	u32 before = form->option ? RPCRDMA_FIXED_LEN + RPCRDMA_INV_LEN :
				    RPCRDMA_FIXED_LEN;
	u8 *p = enc_take(enc, before + RPCRDMA_ONE_CHUNK_LEN);

	if (!p)
		return NULL;
	put_msg(p, xid, credits, form, RPCRDMA_ONE_CHUNK_LEN);
	return p + before;
}

/**
 * rpcrdma_enc_one_read - write a whole Transport Header with one Read segment
 * @enc: cursor, fresh
 * @xid: of the RPC, host order
 * @credits: requested
 * @form: version, and whether by the option
 * @position: octets of the RPC message before the data item
 * @seg: the only segment of the only chunk
 *
 * The same as rpcrdma_enc_begin() for RDMA_MSG, the chunk lists, and rpcrdma_enc_end().
 *
 * Context: Any context.
 */
void rpcrdma_enc_one_read(struct rpcrdma_enc *enc, u32 xid, u32 credits,
			  const struct rpcrdma_form *form, u32 position,
			  const struct rpcrdma_segment *seg)
{
	u8 *p = put_one(enc, xid, credits, form);

	if (!p)
		return;
	put_u32(p, 1);
	put_u32(p + 4, position);
	put_segment(p + 8, seg);
	/* The end of the Read list; no Write list, and no Reply chunk */
	memset(p + 24, 0, 3 * RPCRDMA_WORD);
}

/**
 * rpcrdma_enc_one_write - write a whole Transport Header with one Write segment
 * @enc: cursor, fresh
 * @xid: of the RPC, host order
 * @credits: requested or granted
 * @form: version, and whether by the option
 * @seg: the only segment of the only chunk: offered, or given back with what was written
 *
 * The same as rpcrdma_enc_begin() for RDMA_MSG, the chunk lists, and rpcrdma_enc_end().
 *
 * Context: Any context.
 */
void rpcrdma_enc_one_write(struct rpcrdma_enc *enc, u32 xid, u32 credits,
			   const struct rpcrdma_form *form,
			   const struct rpcrdma_segment *seg)
{
	u8 *p = put_one(enc, xid, credits, form);

	if (!p)
		return;
	/* No Read list; a chunk, of one segment; no other, and no Reply chunk */
	put_u32(p, 0);
	put_u32(p + 4, 1);
	put_u32(p + 8, 1);
	put_segment(p + 12, seg);
	memset(p + 28, 0, 2 * RPCRDMA_WORD);
}

/**
 * rpcrdma_enc_end - end the Transport Header
 * @enc: cursor behind the chunk lists; an RPC message may follow
 *
 * Context: Any context.
 */
void rpcrdma_enc_end(struct rpcrdma_enc *enc)
{
	u32 at = enc->option + RPCRDMA_WORD;

	if (enc->option && !enc->overflow)
		put_u32(enc->buf + at, enc->len - at - RPCRDMA_WORD);
}

/**
 * rpcrdma_enc_segment - write one segment of a Write or Reply chunk
 * @enc: cursor
 * @seg: the segment
 *
 * RFC 8166, section 4.3. Context: Any context.
 */
void rpcrdma_enc_segment(struct rpcrdma_enc *enc,
			 const struct rpcrdma_segment *seg)
{
	u8 *p = enc_take(enc, RPCRDMA_SEGMENT_LEN);

	if (p)
		put_segment(p, seg);
}

/**
 * rpcrdma_enc_read_segment - write one item of the Read list
 * @enc: cursor
 * @position: octets of the RPC message before the data item; segments of one
 *	chunk have the same
 * @seg: the segment
 *
 * RFC 8166, section 4.3. Context: Any context.
 */
void rpcrdma_enc_read_segment(struct rpcrdma_enc *enc, u32 position,
			      const struct rpcrdma_segment *seg)
{
	enc_u32(enc, 1);
	enc_u32(enc, position);
	rpcrdma_enc_segment(enc, seg);
}

/**
 * rpcrdma_enc_write_chunk - begin an item of the Write list
 * @enc: cursor
 * @segs: how many calls of rpcrdma_enc_segment() follow
 *
 * RFC 8166, section 4.3. Context: Any context.
 */
void rpcrdma_enc_write_chunk(struct rpcrdma_enc *enc, u32 segs)
{
	enc_u32(enc, 1);
	enc_u32(enc, segs);
}

/**
 * rpcrdma_enc_reply_chunk - begin the Reply chunk
 * @enc: cursor
 * @segs: how many calls of rpcrdma_enc_segment() follow
 *
 * Takes the place of the last rpcrdma_enc_list_end().
 *
 * RFC 8166, section 4.3. Context: Any context.
 */
void rpcrdma_enc_reply_chunk(struct rpcrdma_enc *enc, u32 segs)
{
	rpcrdma_enc_write_chunk(enc, segs);
}

/**
 * rpcrdma_enc_err_vers - write a whole RDMA_ERROR, ERR_VERS
 * @enc: cursor, fresh
 * @xid: rdma_xid of the message that is answered, host order
 * @vers: version of the answer
 * @credits: granted
 * @low: lowest version spoken
 * @high: highest version spoken
 *
 * RFC 8166, section 4.5.1. Context: Any context.
 */
void rpcrdma_enc_err_vers(struct rpcrdma_enc *enc, u32 xid, u32 vers,
			  u32 credits, u32 low, u32 high)
{
	rpcrdma_enc_fixed(enc, xid, vers, credits, RPCRDMA_ERROR);
	enc_u32(enc, RPCRDMA_ERR_VERS);
	enc_u32(enc, low);
	enc_u32(enc, high);
}

/**
 * rpcrdma_enc_error - write a whole RDMA_ERROR of a kind that has no data
 * @enc: cursor, fresh
 * @xid: rdma_xid of the message that is answered, host order
 * @vers: version of the answer
 * @credits: granted
 * @errcode: any but ERR_VERS
 *
 * RFC 8166, section 4.5.2. Context: Any context.
 */
void rpcrdma_enc_error(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		       enum rpcrdma_errcode errcode)
{
	rpcrdma_enc_fixed(enc, xid, vers, credits, RPCRDMA_ERROR);
	enc_u32(enc, errcode);
}

/**
 * rpcrdma_enc_chunk_result - give a Write chunk or the Reply chunk back
 * @enc: cursor
 * @chunk: as it was received
 * @written: octets that were written into it, in order from its first segment
 *
 * Writes the whole item: the word 1, the count and every segment with handle
 * and offset unchanged and the length that was used, which is zero for those
 * not reached (RFC 8166, section 3.4.6). A Write list item and a Reply chunk
 * look the same, so this serves both.
 *
 * More octets than the chunk has room for count as an overflow of the cursor:
 * such a Reply must not leave.
 *
 * Context: Any context.
 */
void rpcrdma_enc_chunk_result(struct rpcrdma_enc *enc,
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
