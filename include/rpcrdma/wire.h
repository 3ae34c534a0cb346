/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The protocol (RFC 8166, RFC 8797; version 2: draft-cel-nfsv4-rpcrdma-version-
 * two-00): constants, a checked view of a received Transport Header, a cursor
 * to write one, the action for a received message, CM Private Data.
 *
 * Pure: no allocation, no lock, no page, no clock. Only the pure files know the
 * byte order of the wire.
 */
#ifndef RPCRDMA_WIRE_H
#define RPCRDMA_WIRE_H

#include "wire_os.h"

/* rdma_vers */
#define RPCRDMA_V1		1U
#define RPCRDMA_V2		2U
#ifdef CONFIG_RPCRDMA_V2
#define RPCRDMA_VERS_MAX	RPCRDMA_V2
#define rpcrdma_is_v2(vers)	((vers) == RPCRDMA_V2)
#else
#define RPCRDMA_VERS_MAX	RPCRDMA_V1
#define rpcrdma_is_v2(vers)	((void)(vers), false)
#endif

/* rdma_proc, RFC 8166, section 4.2 */
enum rpcrdma_proc {
	RPCRDMA_MSG	= 0,
	RPCRDMA_NOMSG	= 1,
	RPCRDMA_MSGP	= 2,	/* reserved: rejected */
	RPCRDMA_DONE	= 3,	/* reserved: ignored; version 2: rejected */
	RPCRDMA_ERROR	= 4,
	RPCRDMA_OPTIONAL = 5,	/* version 2 */
};

/* rdma_err, RFC 8166, section 4.5; the last two are of version 2 */
enum rpcrdma_errcode {
	RPCRDMA_ERR_VERS	= 1,
	RPCRDMA_ERR_CHUNK	= 2,
	RPCRDMA_ERR_BAD_HEADER	= 2,
	RPCRDMA_ERR_INVAL_OPTION = 3,
};

/* Sizes in bytes */
#define RPCRDMA_WORD		4U
#define RPCRDMA_FIXED_LEN	16U	/* xid, vers, credits, proc */
#define RPCRDMA_HDR_MIN		28U	/* fixed part, three empty chunk lists */
#define RPCRDMA_SEGMENT_LEN	16U	/* handle, length, offset */
#define RPCRDMA_READ_ITEM_LEN	24U	/* discriminator, position, segment */
#define RPCRDMA_ERR_VERS_LEN	28U
#define RPCRDMA_ERR_CHUNK_LEN	20U	/* BAD_HEADER, INVAL_OPTION */
#define RPCRDMA_INV_LEN		16U	/* version 2: opttype, length, direction, handle */

/* A memory region as the wire names it */
struct rpcrdma_segment {
	u32	handle;		/* STag, rkey */
	u32	length;
	u64	offset;
};

/* Why the decoder does not accept a header; rpcrdma_fault_name() gives words */
enum rpcrdma_fault {
	RPCRDMA_FAULT_NONE,
	RPCRDMA_FAULT_SHORT,		/* shorter than its own fields say */
	RPCRDMA_FAULT_VERSION,
	RPCRDMA_FAULT_PROC,		/* unknown, or RDMA_MSGP */
	RPCRDMA_FAULT_RESERVED,		/* RDMA_DONE */
	RPCRDMA_FAULT_ERRCODE,		/* RDMA_ERROR of an unknown kind */
	RPCRDMA_FAULT_DISCRIMINATOR,	/* neither 0 nor 1 */
	RPCRDMA_FAULT_POSITION_ALIGN,
	RPCRDMA_FAULT_POSITION_OVERLAP,	/* within another Read chunk */
	RPCRDMA_FAULT_POSITION_RANGE,	/* past the end of the message */
	RPCRDMA_FAULT_POSITION_ZERO,	/* RDMA_MSG with, RDMA_NOMSG without */
	RPCRDMA_FAULT_SEGMENT_COUNT,	/* more than the header holds */
	RPCRDMA_FAULT_TOO_MANY,		/* segments or chunks, for the limits */
	RPCRDMA_FAULT_TOO_LONG,		/* message or chunk, for the limits */
	RPCRDMA_FAULT_EMPTY,		/* a chunk of length 0 in the Read list */
	RPCRDMA_FAULT_XID,		/* rdma_xid is not that of the message */
	RPCRDMA_FAULT_DIRECTION,	/* a Read list in a Reply */
	RPCRDMA_FAULT_OPTION,		/* RDMA_OPTIONAL of an unknown kind */
	RPCRDMA_FAULT_OPTINFO,		/* its data do not match its kind */
	RPCRDMA_FAULT_OPT_DIRECTION,	/* rdma_direction is wrong */
	RPCRDMA_FAULT_PAYLOAD,		/* bytes where no RPC message may follow */
	__RPCRDMA_FAULT_MAX
};

/* Limits of a receiver */
struct rpcrdma_limits {
	u32	vers_min;
	u32	vers_max;
	u32	max_read_segs;		/* in a Read list */
	u32	max_write_segs;		/* in Write list and Reply chunk */
	u32	max_write_chunks;	/* in a Write list */
	u32	max_message;		/* bytes: assembled message, or one chunk */
};

/* The first two are also the values of rdma_direction, and of msg_type */
enum rpcrdma_direction {
	RPCRDMA_DIR_CALL = 0,
	RPCRDMA_DIR_REPLY = 1,
	RPCRDMA_DIR_UNKNOWN,	/* RDMA_NOMSG, RDMA_ERROR, a malformed message */
};

/*
 * A checked view of a received Transport Header, filled by rpcrdma_decode().
 * If the header has a fault, only the fixed fields are valid, as far as @len
 * reaches. Offsets count from @buf.
 */
struct rpcrdma_hdr {
	const u8		*buf;		/* borrowed */
	u32			len;
	u32			xid;		/* host order */
	u32			vers;
	u32			credits;	/* as received */
	enum rpcrdma_proc	proc;		/* that @option stands for */
	enum rpcrdma_fault	fault;
	u32			errcode;	/* of an RDMA_ERROR, else 0 */
	u32			err_vers_low;
	u32			err_vers_high;

	/* msg_type if the lists before it are well-formed, or rdma_direction */
	enum rpcrdma_direction	direction;
	bool			option;		/* version 2, remote invalidation: */
	u32			inv_handle;	/* rdma_inv_handle, or 0 */
	bool			inv_offered;	/* @inv_handle is in a chunk */
	u32			longest_handle;	/* of the longest segment */

	u32			reads;		/* offset of the Read list */
	u32			read_segs;
	bool			reads_unordered; /* their positions do not ascend */
	u32			read_chunks;	/* distinct positions */
	u64			pzrc_bytes;	/* Position-Zero Read chunk */
	u64			read_bytes;	/* other Read chunks, no roundup */
	u32			ddp_first;	/* lowest position of those, or 0 */
	u32			ddp_position;	/* the highest, or 0 */
	u64			ddp_end;	/* its end, with roundup */

	u32			writes;		/* offset of the Write list */
	u32			write_chunks;
	u32			write_segs;
	u64			write_bytes;	/* of the first chunk */
	u32			reply;		/* offset of Reply chunk, or 0 */
	u32			reply_segs;
	u64			reply_bytes;

	u32			body;		/* offset of the inline message */
	u32			body_len;	/* 0: RDMA_NOMSG, RDMA_ERROR */
	u64			msg_len;	/* assembled, with roundup */
};

enum rpcrdma_fault rpcrdma_decode(struct rpcrdma_hdr *hdr, const void *buf,
				  u32 len, const struct rpcrdma_limits *lim);
const char *rpcrdma_fault_name(enum rpcrdma_fault fault);

/* Is there anything in its chunk lists? */
static inline bool rpcrdma_hdr_has_chunks(const struct rpcrdma_hdr *hdr)
{
	return hdr->read_segs || hdr->write_chunks || hdr->reply;
}

/* Walks the Read list of an accepted header, segment by segment, by position */
struct rpcrdma_read_iter {
	const struct rpcrdma_hdr *hdr;
	u32			at;		/* offset of the next item */
	u32			left;		/* items behind @at */
	u32			position;	/* of the segment last returned */
	u32			above;		/* the next position, if unordered */
	struct rpcrdma_segment	seg;		/* last returned */
};

void rpcrdma_read_iter_init(struct rpcrdma_read_iter *it,
			    const struct rpcrdma_hdr *hdr);
bool rpcrdma_read_iter_next(struct rpcrdma_read_iter *it);

/* A Write chunk or the Reply chunk of an accepted header */
struct rpcrdma_chunk {
	const struct rpcrdma_hdr *hdr;
	u32			at;		/* offset of the first segment */
	u32			segs;
	u64			bytes;
};

/* Walks the Write list of an accepted header, chunk by chunk */
struct rpcrdma_write_iter {
	const struct rpcrdma_hdr *hdr;
	u32			at;		/* offset of the next chunk */
	u32			left;		/* chunks to come */
	struct rpcrdma_chunk	chunk;		/* last returned */
};

void rpcrdma_write_iter_init(struct rpcrdma_write_iter *it,
			     const struct rpcrdma_hdr *hdr);
bool rpcrdma_write_iter_next(struct rpcrdma_write_iter *it);
bool rpcrdma_hdr_reply_chunk(const struct rpcrdma_hdr *hdr,
			     struct rpcrdma_chunk *chunk);
void rpcrdma_chunk_segment(const struct rpcrdma_chunk *chunk, u32 index,
			   struct rpcrdma_segment *seg);

/* ---- dispatch ---- */

/* The side of a connection that received a message */
enum rpcrdma_role {
	RPCRDMA_RESPONDER,	/* accepted the connection */
	RPCRDMA_REQUESTER,	/* made it */
	__RPCRDMA_ROLES
};

/*
 * The action for a received message. "The RPC" is the Requester's own,
 * or a callback of the Responder's (RFC 8167).
 */
enum rpcrdma_action {
	RPCRDMA_ACT_CALL,	/* give the Call in it to the RPC service */
	RPCRDMA_ACT_REPLY,	/* complete the RPC that has its XID, or drop it */
	RPCRDMA_ACT_FAIL,	/* fail the RPC that has its XID, or drop it */
	RPCRDMA_ACT_DROP,	/* repost the Receive */
	RPCRDMA_ACT_ERROR,	/* send RDMA_ERROR: rpcrdma_fault_errcode() */
	RPCRDMA_ACT_FAIL_OR_ERROR, /* fail the RPC; if there is none, ERROR */
	RPCRDMA_ACT_FAIL_AND_ERROR,
	RPCRDMA_ACT_CLOSE,	/* break the connection */
	__RPCRDMA_ACTIONS
};

enum rpcrdma_action rpcrdma_dispatch(const struct rpcrdma_hdr *hdr,
				     enum rpcrdma_role role, bool invalidated);

/* rdma_err for an answer to a message, RFC 8166, section 4.5 */
static inline enum rpcrdma_errcode
rpcrdma_fault_errcode(enum rpcrdma_fault fault)
{
	switch (fault) {
	case RPCRDMA_FAULT_VERSION:
		return RPCRDMA_ERR_VERS;
	case RPCRDMA_FAULT_OPTION:
		return RPCRDMA_ERR_INVAL_OPTION;
	default:
		/* Or BAD_HEADER of version 2, which has the same code */
		return RPCRDMA_ERR_CHUNK;
	}
}

bool rpcrdma_is_msg_of(const void *msg, const struct rpcrdma_hdr *hdr,
		       enum rpcrdma_direction type);
u64 rpcrdma_reply_verf_len(const void *msg, u32 len);
u32 rpcrdma_hdr_grant(const struct rpcrdma_hdr *hdr, u32 most, u32 granted,
		      bool matched);
bool rpcrdma_reply_within(const struct rpcrdma_hdr *hdr, u64 write_offered,
			  u64 reply_offered);
u32 rpcrdma_hdr_inv_handle(const struct rpcrdma_hdr *hdr, bool announced,
			   bool able);

/* ---- encoding ---- */

/* How a Transport Header is written */
struct rpcrdma_form {
	u32			vers;
	bool			option;		/* version 2, remote invalidation: */
	enum rpcrdma_direction	direction;
	u32			inv_handle;
};

void rpcrdma_form_of_reply(struct rpcrdma_form *form,
			   const struct rpcrdma_hdr *call);

/* Bytes of a Transport Header without chunks */
static inline u32 rpcrdma_form_len(const struct rpcrdma_form *form)
{
	return RPCRDMA_HDR_MIN + (form->option ? RPCRDMA_INV_LEN : 0);
}

/* Cursor that writes a Transport Header; @overflow is sticky: check it last */
struct rpcrdma_enc {
	u8	*buf;
	u32	max;
	u32	len;		/* written so far */
	u32	option;		/* offset of rdma_opttype, or 0 */
	bool	overflow;
};

/*
 * Order of the calls for a header:
 *
 *	init begin { read_segment }* list_end
 *	     { write_chunk { segment }* }* list_end
 *	     ( write_chunk { segment }* | list_end ) end
 *
 * The last write_chunk is the Reply chunk, which looks the same.
 */
void rpcrdma_enc_init(struct rpcrdma_enc *enc, void *buf, u32 max);
void rpcrdma_enc_begin(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		       enum rpcrdma_proc proc, const struct rpcrdma_form *form);
void rpcrdma_enc_read_segment(struct rpcrdma_enc *enc, u32 position,
			      const struct rpcrdma_segment *seg);
void rpcrdma_enc_write_chunk(struct rpcrdma_enc *enc, u32 segs);
void rpcrdma_enc_segment(struct rpcrdma_enc *enc,
			 const struct rpcrdma_segment *seg);
void rpcrdma_enc_chunk_return(struct rpcrdma_enc *enc,
			      const struct rpcrdma_chunk *chunk, u64 written);
void rpcrdma_enc_end(struct rpcrdma_enc *enc);
void rpcrdma_enc_msg(struct rpcrdma_enc *enc, u32 xid, u32 credits,
		     const struct rpcrdma_form *form);
void rpcrdma_enc_error(struct rpcrdma_enc *enc, u32 xid, u32 vers, u32 credits,
		       enum rpcrdma_errcode errcode,
		       const struct rpcrdma_limits *lim);

/* ---- CM Private Data, RFC 8797 ---- */

#define RPCRDMA_CMP_MAGIC	0xf6ab0e18U
#define RPCRDMA_CMP_VERSION	1U
#define RPCRDMA_CMP_LEN		8U

/* Inline thresholds that the format can express, and the default */
#define RPCRDMA_INLINE_UNIT	1024U
#define RPCRDMA_INLINE_MIN	1024U
#define RPCRDMA_INLINE_MAX	262144U
/* The least of version 2, draft-cel-nfsv4-rpcrdma-version-two-00, section 5.1 */
#define RPCRDMA_INLINE_V2	4096U
/* Defaults, see Documentation/performance.rst: a payload of 4 KiB; attributes twice */
#define RPCRDMA_INLINE_WANTED	5120U
#define RPCRDMA_INLINE_TWICE	8192U

/* Transport properties of one side */
struct rpcrdma_cm_private {
	bool	present;	/* decoded: a valid message was found */
	bool	remote_inv;	/* R: supports remote invalidation */
	u32	send_size;	/* most bytes in one Send */
	u32	recv_size;	/* most bytes in one Receive */
};

/* The properties that both sides agreed upon */
struct rpcrdma_properties {
	u32	inline_send;	/* threshold from us to the peer */
	u32	inline_recv;	/* threshold from the peer to us */
	bool	remote_inv;	/* a Responder may Send With Invalidate */
};

u32 rpcrdma_cm_private_encode(void *buf, u32 size,
			      const struct rpcrdma_cm_private *local);
void rpcrdma_cm_private_decode(struct rpcrdma_cm_private *peer,
			       const void *buf, u32 len);
void rpcrdma_cm_private_combine(struct rpcrdma_properties *prop,
				const struct rpcrdma_cm_private *local,
				const struct rpcrdma_cm_private *peer);

/* An inline threshold of struct rpcrdma_properties, in a version */
static inline u32 rpcrdma_threshold(u32 agreed, u32 vers)
{
	return vers < RPCRDMA_V2 ? agreed : max_t(u32, agreed, RPCRDMA_INLINE_V2);
}

/* ---- for the pure files alone ---- */

/* msg_type of an RPC message, RFC 5531, section 9 */
#define AT_RPC_TYPE	4U
/* XID and type: Linux 6.1's server reads both without checking the length */
#define RPC_MIN_LEN	(AT_RPC_TYPE + RPCRDMA_WORD)
/*
 * The shortest Call: up to an empty credential and an empty verifier (RFC 5531,
 * section 9). For a shorter one sunrpc closes the connection, or reads past it.
 */
#define RPC_CALL_MIN_LEN (10 * RPCRDMA_WORD)

static inline u32 get_u32(const u8 *p)
{
	__be32 v;

	memcpy(&v, p, sizeof(v));
	return be32_to_cpu(v);
}

static inline void put_u32(u8 *p, u32 value)
{
	const __be32 v = cpu_to_be32(value);

	memcpy(p, &v, sizeof(v));
}

static inline void get_segment(const u8 *p, struct rpcrdma_segment *seg)
{
	__be64 offset;

	memcpy(&offset, p + 8, sizeof(offset));
	seg->handle = get_u32(p);
	seg->length = get_u32(p + 4);
	seg->offset = be64_to_cpu(offset);
}

/* msg_type of the inline RPC message */
static inline enum rpcrdma_direction
msg_direction(const struct rpcrdma_hdr *hdr)
{
	u32 type;

	if (hdr->body_len < RPC_MIN_LEN)
		return RPCRDMA_DIR_UNKNOWN;
	type = get_u32(hdr->buf + hdr->body + AT_RPC_TYPE);
	return type < RPCRDMA_DIR_UNKNOWN ? type : RPCRDMA_DIR_UNKNOWN;
}

/* State of one rpcrdma_decode() */
struct rpcrdma_decoder {
	struct rpcrdma_hdr		*hdr;
	const struct rpcrdma_limits	*lim;
	u32				at;	/* next byte, never past @end */
	u32				end;	/* of the message, or of rdma_optinfo */
	u32				longest; /* bytes of the longest segment */
	enum rpcrdma_fault		read_fault; /* of the Read chunks */
};

static inline enum rpcrdma_fault dec_u32(struct rpcrdma_decoder *dec, u32 *value)
{
	if (dec->end - dec->at < RPCRDMA_WORD)
		return RPCRDMA_FAULT_SHORT;
	*value = get_u32(dec->hdr->buf + dec->at);
	dec->at += RPCRDMA_WORD;
	return RPCRDMA_FAULT_NONE;
}

/* Room for the next @len bytes, or NULL; after an overflow there is none */
static inline u8 *enc_take(struct rpcrdma_enc *enc, u32 len)
{
	u8 *p = enc->buf + enc->len;

	if (enc->max - enc->len < len) {
		enc->overflow = true;
		enc->max = enc->len;
		return NULL;
	}
	enc->len += len;
	return p;
}

static inline void enc_u32(struct rpcrdma_enc *enc, u32 value)
{
	u8 *p = enc_take(enc, RPCRDMA_WORD);

	if (p)
		put_u32(p, value);
}

/* wire_v2.c: called only if rpcrdma_is_v2(), which the compiler can tell without it */
enum rpcrdma_fault rpcrdma_v2_dec_proc(struct rpcrdma_decoder *dec);
enum rpcrdma_fault rpcrdma_v2_check_message(const struct rpcrdma_decoder *dec);
u32 rpcrdma_v2_smallest(const struct rpcrdma_hdr *hdr);
void rpcrdma_v2_enc_option(struct rpcrdma_enc *enc, enum rpcrdma_proc proc,
			   const struct rpcrdma_form *form);
void rpcrdma_v2_enc_end(struct rpcrdma_enc *enc);

/* End the Read or Write list, or write no Reply chunk */
static inline void rpcrdma_enc_list_end(struct rpcrdma_enc *enc)
{
	enc_u32(enc, 0);
}

#endif /* RPCRDMA_WIRE_H */
