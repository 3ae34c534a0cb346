/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RPC-over-RDMA Transport Header (RFC 8166, section 4; version two:
 * draft-cel-nfsv4-rpcrdma-version-two-00, section 4): what it looks like, a
 * checked view of a received one, and a cursor to write one.
 *
 * Pure: no allocation, no lock, no page, no clock. Nothing outside wire_get.h
 * and cm_private.c knows the byte order of the wire.
 */
#ifndef RPCRDMA_WIRE_H
#define RPCRDMA_WIRE_H

#include "wire_os.h"

/* rdma_vers */
#define RPCRDMA_V1		1U
#define RPCRDMA_V2		2U

/* rdma_proc, RFC 8166, section 4.2 */
enum rpcrdma_proc {
	RPCRDMA_MSG	= 0,
	RPCRDMA_NOMSG	= 1,
	RPCRDMA_MSGP	= 2,	/* reserved: refused */
	RPCRDMA_DONE	= 3,	/* reserved: ignored; version two: refused */
	RPCRDMA_ERROR	= 4,
	RPCRDMA_OPTIONAL = 5,	/* version two */
};

/* rdma_err, RFC 8166, section 4.5; what version two has in its place */
enum rpcrdma_errcode {
	RPCRDMA_ERR_VERS	= 1,
	RPCRDMA_ERR_CHUNK	= 2,
	RPCRDMA_ERR_BAD_HEADER	= 2,
	RPCRDMA_ERR_INVAL_OPTION = 3,
};

/*
 * rdma_opttype of remote invalidation (Documentation/version-two.rst): "INV",
 * and the rdma_proc that it stands for
 */
#define RPCRDMA_OPT_INV		0x494e5600U
#define RPCRDMA_OPT_INV_MSG	(RPCRDMA_OPT_INV | RPCRDMA_MSG)
#define RPCRDMA_OPT_INV_NOMSG	(RPCRDMA_OPT_INV | RPCRDMA_NOMSG)

/* Sizes in octets */
#define RPCRDMA_WORD		4U
#define RPCRDMA_FIXED_LEN	16U	/* xid, vers, credits, proc */
#define RPCRDMA_NO_CHUNKS_LEN	12U	/* three empty chunk lists */
#define RPCRDMA_HDR_MIN		28U	/* fixed part, three empty chunk lists */
#define RPCRDMA_SEGMENT_LEN	16U	/* handle, length, offset */
#define RPCRDMA_READ_ITEM_LEN	24U	/* discriminator, position, segment */
#define RPCRDMA_ONE_CHUNK_LEN	36U	/* chunk lists with one segment in all */
#define RPCRDMA_ERR_VERS_LEN	28U
#define RPCRDMA_ERR_CHUNK_LEN	20U	/* BAD_HEADER, INVAL_OPTION */
#define RPCRDMA_OPTIONAL_LEN	24U	/* fixed part, opttype, no optinfo */
#define RPCRDMA_INV_LEN		16U	/* opttype, length, direction, handle */

/**
 * struct rpcrdma_segment - a memory region as the wire names it
 * @handle: STag, rkey
 * @length: octets
 * @offset: address within the region
 */
struct rpcrdma_segment {
	u32	handle;
	u32	length;
	u64	offset;
};

/**
 * enum rpcrdma_fault - why the decoder does not accept a header
 * @RPCRDMA_FAULT_NONE: it does
 * @RPCRDMA_FAULT_SHORT: shorter than its own fields say
 * @RPCRDMA_FAULT_VERSION: a version we do not speak
 * @RPCRDMA_FAULT_PROC: a procedure that does not exist, or RDMA_MSGP
 * @RPCRDMA_FAULT_RESERVED: RDMA_DONE
 * @RPCRDMA_FAULT_ERRCODE: RDMA_ERROR of an unknown kind
 * @RPCRDMA_FAULT_DISCRIMINATOR: neither 0 nor 1
 * @RPCRDMA_FAULT_POSITION_ALIGN: a position that is no multiple of four
 * @RPCRDMA_FAULT_POSITION_ORDER: descending or overlapping
 * @RPCRDMA_FAULT_POSITION_RANGE: past the end of the message
 * @RPCRDMA_FAULT_POSITION_ZERO: RDMA_MSG with one, RDMA_NOMSG without
 * @RPCRDMA_FAULT_SEGMENT_COUNT: more than the header holds
 * @RPCRDMA_FAULT_TOO_MANY: more than the limits allow
 * @RPCRDMA_FAULT_TOO_LONG: more octets than the limits allow
 * @RPCRDMA_FAULT_EMPTY: a chunk of length zero in the Read list
 * @RPCRDMA_FAULT_XID: rdma_xid differs from the RPC message's
 * @RPCRDMA_FAULT_DIRECTION: a Read list in a Reply
 * @RPCRDMA_FAULT_OPTION: RDMA_OPTIONAL of a kind that we do not know
 * @RPCRDMA_FAULT_OPTINFO: its data are not what its kind says
 * @RPCRDMA_FAULT_OPT_DIRECTION: rdma_direction is wrong
 * @RPCRDMA_FAULT_PAYLOAD: octets where no RPC message may follow
 * @__RPCRDMA_FAULT_MAX: number of values
 *
 * For messages and counters; rpcrdma_fault_name() gives the words.
 */
enum rpcrdma_fault {
	RPCRDMA_FAULT_NONE,
	RPCRDMA_FAULT_SHORT,
	RPCRDMA_FAULT_VERSION,
	RPCRDMA_FAULT_PROC,
	RPCRDMA_FAULT_RESERVED,
	RPCRDMA_FAULT_ERRCODE,
	RPCRDMA_FAULT_DISCRIMINATOR,
	RPCRDMA_FAULT_POSITION_ALIGN,
	RPCRDMA_FAULT_POSITION_ORDER,
	RPCRDMA_FAULT_POSITION_RANGE,
	RPCRDMA_FAULT_POSITION_ZERO,
	RPCRDMA_FAULT_SEGMENT_COUNT,
	RPCRDMA_FAULT_TOO_MANY,
	RPCRDMA_FAULT_TOO_LONG,
	RPCRDMA_FAULT_EMPTY,
	RPCRDMA_FAULT_XID,
	RPCRDMA_FAULT_DIRECTION,
	RPCRDMA_FAULT_OPTION,
	RPCRDMA_FAULT_OPTINFO,
	RPCRDMA_FAULT_OPT_DIRECTION,
	RPCRDMA_FAULT_PAYLOAD,
	__RPCRDMA_FAULT_MAX
};

/**
 * struct rpcrdma_limits - what the receiver is willing to take
 * @vers_min: lowest version spoken
 * @vers_max: highest version spoken
 * @max_read_segs: most segments in a Read list
 * @max_write_segs: most segments in a Write list and a Reply chunk together
 * @max_write_chunks: most chunks in a Write list
 * @max_message: most octets of the assembled RPC message, and of any
 *	one Write or Reply chunk's total
 */
struct rpcrdma_limits {
	u32	vers_min;
	u32	vers_max;
	u32	max_read_segs;
	u32	max_write_segs;
	u32	max_write_chunks;
	u64	max_message;
};

/**
 * enum rpcrdma_direction - who started the RPC whose message this is
 * @RPCRDMA_DIR_CALL: the message is an RPC Call
 * @RPCRDMA_DIR_REPLY: the message is an RPC Reply
 * @RPCRDMA_DIR_UNKNOWN: the header cannot tell (RDMA_NOMSG, RDMA_ERROR, or
 *	fewer than eight octets of RPC message, or neither value)
 *
 * The first two are also the values of rdma_direction.
 */
enum rpcrdma_direction {
	RPCRDMA_DIR_CALL = 0,
	RPCRDMA_DIR_REPLY = 1,
	RPCRDMA_DIR_UNKNOWN,
};

/**
 * enum rpcrdma_plain_msg - is there more to a message than most have?
 * @RPCRDMA_PLAIN_NONE: a chunk, a fault, or no RPC message whose direction is known
 * @RPCRDMA_PLAIN_CALL: an RPC Call, all of it inline, and as long as one can be
 * @RPCRDMA_PLAIN_REPLY: an RPC Reply, all of it inline
 */
enum rpcrdma_plain_msg {
	RPCRDMA_PLAIN_NONE,
	RPCRDMA_PLAIN_CALL,
	RPCRDMA_PLAIN_REPLY,
};

/**
 * struct rpcrdma_hdr - a checked view of one received Transport Header
 * @buf: the received octets, which the view borrows
 * @len: how many
 * @xid: rdma_xid, host order
 * @vers: rdma_vers
 * @credits: rdma_credit, unclamped
 * @proc: procedure; with @option the one that it stands for
 * @option: came as RDMA_OPTIONAL, remote invalidation, and what follows holds
 * @direction: rdma_direction, if @option
 * @inv_handle: rdma_inv_handle, if @option; 0 for none
 * @fault: why it was not accepted
 * @plain: RDMA_MSG without chunk or fault: spares a look at each of them. Version two
 *	by the option alone
 * @one: where the segment stands in @buf that is all there is in the chunk lists of an
 *	RDMA_MSG, a Read chunk's or a Write chunk's: spares walks. 0 if there are others,
 *	or none. Version two by the option alone
 * @errcode: of an RDMA_ERROR message, else 0
 * @err_vers_low: of ERR_VERS
 * @err_vers_high: of ERR_VERS
 * @reads: where the Read list starts in @buf
 * @read_segs: its segments
 * @read_chunks: its chunks, that is, distinct positions
 * @pz_bytes: octets of the Position-Zero Read chunk, 0 if there is none
 * @read_bytes: octets of all other Read chunks, without roundup
 * @item: position of the last of them, 0 if there is none
 * @item_end: where in the message it ends, roundup included
 * @writes: where the Write list starts, when the lists are not all empty
 * @write_chunks: chunks in the Write list
 * @write_segs: segments in the Write list
 * @write_bytes: octets of the first of its chunks
 * @reply: where the Reply chunk's segment count stands; 0 if there is none
 * @reply_segs: its segments
 * @reply_bytes: its octets
 * @body: where the RPC message starts in @buf
 * @body_len: its octets; 0 for RDMA_NOMSG and RDMA_ERROR
 * @msg_len: octets of the assembled RPC message, XDR roundup of each Read
 *	chunk included
 *
 * Filled by rpcrdma_decode(). Fixed fields are valid as far as @len reaches
 * even when the header was not accepted; the rest only without a fault.
 */
struct rpcrdma_hdr {
	const u8		*buf;
	u32			len;
	u32			xid;
	u32			vers;
	u32			credits;
	enum rpcrdma_proc	proc;
	bool			option;
	enum rpcrdma_direction	direction;
	u32			inv_handle;
	enum rpcrdma_fault	fault;
	enum rpcrdma_plain_msg	plain;
	u32			one;
	u32			errcode;
	u32			err_vers_low;
	u32			err_vers_high;
	u32			reads;
	u32			read_segs;
	u32			read_chunks;
	u64			pz_bytes;
	u64			read_bytes;
	u32			item;
	u64			item_end;
	u32			writes;
	u32			write_chunks;
	u32			write_segs;
	u64			write_bytes;
	u32			reply;
	u32			reply_segs;
	u64			reply_bytes;
	u32			body;
	u32			body_len;
	u64			msg_len;
};

enum rpcrdma_fault rpcrdma_decode(struct rpcrdma_hdr *hdr, const void *buf,
				  u32 len, const struct rpcrdma_limits *lim);
const char *rpcrdma_fault_name(enum rpcrdma_fault fault);

enum rpcrdma_direction rpcrdma_hdr_direction(const struct rpcrdma_hdr *hdr);

/**
 * rpcrdma_hdr_has_chunks - is there anything in its chunk lists?
 * @hdr: accepted header
 *
 * Context: Any context.
 * Return: false if all three are empty.
 */
static inline bool rpcrdma_hdr_has_chunks(const struct rpcrdma_hdr *hdr)
{
	return hdr->read_segs || hdr->write_chunks || hdr->reply;
}

/**
 * struct rpcrdma_read_iter - walks a Read list, segment by segment
 * @hdr: accepted header
 * @at: offset of the next item
 * @left: segments not yet returned
 * @position: of the segment last returned
 * @seg: segment last returned
 */
struct rpcrdma_read_iter {
	const struct rpcrdma_hdr *hdr;
	u32			at;
	u32			left;
	u32			position;
	struct rpcrdma_segment	seg;
};

void rpcrdma_read_iter_init(struct rpcrdma_read_iter *it,
			    const struct rpcrdma_hdr *hdr);
bool rpcrdma_read_iter_next(struct rpcrdma_read_iter *it);

/**
 * struct rpcrdma_chunk - one Write chunk or a Reply chunk of a received header
 * @hdr: accepted header
 * @at: offset of the first segment
 * @segs: number of segments
 * @bytes: octets of all segments
 */
struct rpcrdma_chunk {
	const struct rpcrdma_hdr *hdr;
	u32			at;
	u32			segs;
	u64			bytes;
};

/**
 * struct rpcrdma_write_iter - walks a Write list, chunk by chunk
 * @hdr: accepted header
 * @at: offset of the next chunk
 * @left: chunks not yet returned
 * @chunk: chunk last returned
 */
struct rpcrdma_write_iter {
	const struct rpcrdma_hdr *hdr;
	u32			at;
	u32			left;
	struct rpcrdma_chunk	chunk;
};

void rpcrdma_write_iter_init(struct rpcrdma_write_iter *it,
			     const struct rpcrdma_hdr *hdr);
bool rpcrdma_write_iter_next(struct rpcrdma_write_iter *it);
bool rpcrdma_hdr_reply_chunk(const struct rpcrdma_hdr *hdr,
			     struct rpcrdma_chunk *chunk);
bool rpcrdma_hdr_one_segment(const struct rpcrdma_hdr *hdr,
			     struct rpcrdma_segment *seg);
void rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, u32 index,
			   struct rpcrdma_segment *seg);

/**
 * struct rpcrdma_form - how a Transport Header is written
 * @vers: version of the protocol
 * @option: by the option of remote invalidation (version two)
 * @direction: Call or Reply, for the option
 * @inv_handle: rdma_inv_handle, for the option
 */
struct rpcrdma_form {
	u32			vers;
	bool			option;
	enum rpcrdma_direction	direction;
	u32			inv_handle;
};

void rpcrdma_form_of_reply(struct rpcrdma_form *form,
			   const struct rpcrdma_hdr *call);

/**
 * rpcrdma_form_len - octets of a Transport Header without chunks
 * @form: how it is written
 *
 * Context: Any context.
 * Return: their number.
 */
static inline u32 rpcrdma_form_len(const struct rpcrdma_form *form)
{
	return RPCRDMA_HDR_MIN + (form->option ? RPCRDMA_INV_LEN : 0);
}

/**
 * struct rpcrdma_enc - cursor that writes a Transport Header
 * @buf: where to
 * @max: room
 * @len: octets written so far
 * @option: where rdma_opttype stands; 0 if there is none
 * @overflow: something did not fit; sticky, check once at the end
 */
struct rpcrdma_enc {
	u8	*buf;
	u32	max;
	u32	len;
	u32	option;
	bool	overflow;
};

/**
 * rpcrdma_enc_init - begin to write a Transport Header
 * @enc: cursor; borrows @buf
 * @buf: where to
 * @max: octets of room at @buf
 *
 * Context: Any context.
 */
static inline void rpcrdma_enc_init(struct rpcrdma_enc *enc, void *buf, u32 max)
{
	enc->buf = buf;
	enc->max = max;
	enc->len = 0;
	enc->option = 0;
	enc->overflow = false;
}

void rpcrdma_enc_fixed(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		       enum rpcrdma_proc proc);
void rpcrdma_enc_begin(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		       enum rpcrdma_proc proc, const struct rpcrdma_form *form);
void rpcrdma_enc_plain(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		       const struct rpcrdma_form *form);
void rpcrdma_enc_one_read(struct rpcrdma_enc *enc, u32 xid, u32 credits,
			  const struct rpcrdma_form *form, u32 position,
			  const struct rpcrdma_segment *seg);
void rpcrdma_enc_one_write(struct rpcrdma_enc *enc, u32 xid, u32 credits,
			   const struct rpcrdma_form *form,
			   const struct rpcrdma_segment *seg);
void rpcrdma_enc_end(struct rpcrdma_enc *enc);
void rpcrdma_enc_read_segment(struct rpcrdma_enc *enc, u32 position,
			      const struct rpcrdma_segment *seg);
void rpcrdma_enc_write_chunk(struct rpcrdma_enc *enc, u32 segs);
void rpcrdma_enc_reply_chunk(struct rpcrdma_enc *enc, u32 segs);
void rpcrdma_enc_segment(struct rpcrdma_enc *enc,
			 const struct rpcrdma_segment *seg);
void rpcrdma_enc_err_vers(struct rpcrdma_enc *enc, u32 xid, u32 vers,
			  u32 credits, u32 low, u32 high);
void rpcrdma_enc_error(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		       enum rpcrdma_errcode errcode);
void rpcrdma_enc_chunk_result(struct rpcrdma_enc *enc,
			      const struct rpcrdma_chunk *chunk, u64 written);

/**
 * rpcrdma_enc_list_end - end the Read or Write list, or say "no Reply chunk"
 * @enc: cursor
 *
 * RFC 8166, section 4.3. Context: Any context.
 */
static inline void rpcrdma_enc_list_end(struct rpcrdma_enc *enc)
{
	if (enc->overflow || enc->max - enc->len < RPCRDMA_WORD) {
		enc->overflow = true;
		return;
	}
	memset(enc->buf + enc->len, 0, RPCRDMA_WORD);
	enc->len += RPCRDMA_WORD;
}

/*
 * Order of the calls for a header with chunk lists:
 *
 *	begin { read_segment }* list_end
 *	      { write_chunk { segment }* }* list_end
 *	      ( reply_chunk { segment }* | list_end )
 *	      end
 */

#endif /* RPCRDMA_WIRE_H */
