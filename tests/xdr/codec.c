// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The codec beside encoders and decoders that rpcgen made from the XDR. Random headers are
 * built both ways and must have the same bytes; each side reads what the other one wrote.
 * A header that was changed and that our decoder still accepts is valid XDR of the same
 * length.
 *
 * usage: codec-vN HEADERS
 *
 * Built once for each version of the protocol: VERS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <rpc/rpc.h>

#include "rpcrdma/wire.h"

#if VERS == 1
#include "rpcrdma1.h"
#define T(name)	rpcrdma1_##name
#define X(name)	xdr_rpcrdma1_##name
#define U(name)	rpcrdma1_##name##_u
#else
#include "rpcrdma2.h"
#define T(name)	rpcrdma2_##name
#define X(name)	xdr_rpcrdma2_##name
#define U(name)	rpcrdma2_##name##_u
#endif

#define MAX_SEGS	12
#define MAX_CHUNKS	3
#define MAX_FRAME	4096

static const struct rpcrdma_limits limits = {
	.vers_min = VERS, .vers_max = VERS,
	.max_read_segs = U32_MAX, .max_write_segs = U32_MAX,
	.max_write_chunks = U32_MAX, .max_message = U32_MAX,
};

#define EXPECT(cond)							\
	do {								\
		if (cond)						\
			break;						\
		printf("not ok xdr-v%u: header %u: %s:%d: %s\n", VERS,	\
		       number, __FILE__, __LINE__, #cond);		\
		exit(1);						\
	} while (0)

static u32 number;

/* The same numbers in each run */
static u32 draw(u32 below)
{
	static u64 state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state >> 20) % below : state >> 20;
}

struct chunk {
	u32 segs;
	struct rpcrdma_segment seg[MAX_SEGS];
};

/* A header in words of neither side */
struct header {
	u32 xid, credits, proc, errcode, low, high;
	bool option;
	u32 direction, handle;
	u32 reads;
	u32 position[MAX_SEGS];
	struct rpcrdma_segment read[MAX_SEGS];
	u32 writes;
	struct chunk write[MAX_CHUNKS], reply;
	bool has_reply;
	u32 body;	/* bytes of the RPC message behind it */
};

static struct rpcrdma_segment draw_segment(u32 least)
{
	struct rpcrdma_segment seg = {
		.handle = draw(0), .length = least + draw(5000),
		.offset = (u64)draw(0) << 32 | draw(0),
	};

	return seg;
}

static void draw_chunk(struct chunk *chunk)
{
	u32 i;

	chunk->segs = draw(MAX_SEGS / 2);
	for (i = 0; i < chunk->segs; i++)
		chunk->seg[i] = draw_segment(0);
}

/* Positions that a message can have, in order */
static void draw_reads(struct header *h)
{
	u32 base = h->body, position = 8, used = 8, segs, len;

	if (h->proc == RPCRDMA_NOMSG) {
		h->read[h->reads++] = draw_segment(40);
		base = h->read[0].length;
	}
	while (draw(3) && h->reads + 3 < MAX_SEGS && used + 4 < base) {
		for (segs = 1 + draw(3), len = 0; segs; segs--) {
			h->position[h->reads] = position;
			h->read[h->reads] = draw_segment(1);
			len += h->read[h->reads++].length;
		}
		position += (len + 3) / 4 * 4 + 4;
		used += 4;
	}
}

static void draw_header(struct header *h)
{
	u32 i;

	memset(h, 0, sizeof(*h));
	h->xid = draw(0);
	h->credits = draw(0);
	if (!draw(8)) {
		h->proc = RPCRDMA_ERROR;
		h->errcode = 1 + draw(VERS + 1);
		h->low = h->errcode == RPCRDMA_ERR_VERS ? draw(0) : 0;
		h->high = h->errcode == RPCRDMA_ERR_VERS ? draw(0) : 0;
		return;
	}
	h->proc = draw(2) ? RPCRDMA_MSG : RPCRDMA_NOMSG;
	h->direction = draw(2);
	h->option = VERS == 2 && draw(2);
	h->handle = h->option ? draw(0) : 0;
	if (h->proc == RPCRDMA_MSG)
		h->body = 8 + draw(50) * 4;
	if (h->direction == RPCRDMA_DIR_CALL)
		draw_reads(h);
	h->writes = draw(MAX_CHUNKS + 1);
	for (i = 0; i < h->writes; i++)
		draw_chunk(&h->write[i]);
	h->has_reply = draw(2) || (h->proc == RPCRDMA_NOMSG && !h->reads);
	if (h->has_reply)
		draw_chunk(&h->reply);
}

/* ---- ours ---- */

static void put_chunk(struct rpcrdma_enc *enc, const struct chunk *chunk)
{
	u32 i;

	rpcrdma_enc_write_chunk(enc, chunk->segs);
	for (i = 0; i < chunk->segs; i++)
		rpcrdma_enc_segment(enc, &chunk->seg[i]);
}

static u32 encode_ours(const struct header *h, u8 *buf)
{
	struct rpcrdma_form form = {
		.vers = VERS, .option = h->option, .direction = h->direction,
		.inv_handle = h->handle,
	};
	struct rpcrdma_limits range = { .vers_min = h->low, .vers_max = h->high };
	struct rpcrdma_enc enc;
	u32 i;

	rpcrdma_enc_init(&enc, buf, MAX_FRAME);
	if (h->proc == RPCRDMA_ERROR) {
		rpcrdma_enc_error(&enc, h->xid, VERS, h->credits, h->errcode, &range);
	} else {
		rpcrdma_enc_begin(&enc, h->xid, h->credits, h->proc, &form);
		for (i = 0; i < h->reads; i++)
			rpcrdma_enc_read_segment(&enc, h->position[i], &h->read[i]);
		rpcrdma_enc_list_end(&enc);
		for (i = 0; i < h->writes; i++)
			put_chunk(&enc, &h->write[i]);
		rpcrdma_enc_list_end(&enc);
		if (h->has_reply)
			put_chunk(&enc, &h->reply);
		else
			rpcrdma_enc_list_end(&enc);
		rpcrdma_enc_end(&enc);
	}
	EXPECT(!enc.overflow);
	return enc.len;
}

static bool same_segment(const struct rpcrdma_segment *a, const struct rpcrdma_segment *b)
{
	return a->handle == b->handle && a->length == b->length && a->offset == b->offset;
}

static void expect_chunk(const struct rpcrdma_chunk *found, const struct chunk *chunk)
{
	struct rpcrdma_segment seg;
	u32 i;

	EXPECT(found->segs == chunk->segs);
	for (i = 0; i < chunk->segs; i++) {
		rpcrdma_chunk_segment(found, i, &seg);
		EXPECT(same_segment(&seg, &chunk->seg[i]));
	}
}

static void expect_lists(const struct header *h, const struct rpcrdma_hdr *hdr)
{
	struct rpcrdma_write_iter writes;
	struct rpcrdma_read_iter reads;
	struct rpcrdma_chunk reply;
	u32 i;

	rpcrdma_read_iter_init(&reads, hdr);
	for (i = 0; i < h->reads; i++) {
		EXPECT(rpcrdma_read_iter_next(&reads));
		EXPECT(reads.position == h->position[i]);
		EXPECT(same_segment(&reads.seg, &h->read[i]));
	}
	EXPECT(!rpcrdma_read_iter_next(&reads));
	rpcrdma_write_iter_init(&writes, hdr);
	for (i = 0; i < h->writes; i++) {
		EXPECT(rpcrdma_write_iter_next(&writes));
		expect_chunk(&writes.chunk, &h->write[i]);
	}
	EXPECT(!rpcrdma_write_iter_next(&writes));
	EXPECT(rpcrdma_hdr_reply_chunk(hdr, &reply) == h->has_reply);
	if (h->has_reply)
		expect_chunk(&reply, &h->reply);
}

/* @len bytes of header, and the message behind it */
static void expect_decoded(const struct header *h, const u8 *buf, u32 len)
{
	struct rpcrdma_hdr hdr;

	EXPECT(rpcrdma_decode(&hdr, buf, len + h->body, &limits) == RPCRDMA_FAULT_NONE);
	EXPECT(hdr.xid == h->xid && hdr.vers == VERS && hdr.credits == h->credits);
	EXPECT(hdr.proc == h->proc);
	EXPECT(hdr.errcode == h->errcode);
	EXPECT(hdr.err_vers_low == h->low && hdr.err_vers_high == h->high);
	if (h->proc == RPCRDMA_ERROR)
		return;
	EXPECT(hdr.option == h->option && hdr.inv_handle == h->handle);
	EXPECT(hdr.body == len && hdr.body_len == h->body);
	if (h->option || h->body)
		EXPECT(hdr.direction == h->direction);
	expect_lists(h, &hdr);
}

/* ---- rpcgen's ---- */

/* A header of rpcgen's, and all that it points to */
struct theirs {
	T(xprt_hdr) hdr;
	T(chunk_lists) lists;
	T(read_list) reads[MAX_SEGS];
	T(write_list) writes[MAX_CHUNKS];
	T(segment) segs[MAX_CHUNKS + 1][MAX_SEGS];
	T(write_chunk) reply;
	char optinfo[MAX_FRAME];
};

static T(segment) their_segment(const struct rpcrdma_segment *seg)
{
	return (T(segment)){ seg->handle, seg->length, seg->offset };
}

static void their_chunk(T(write_chunk) *to, T(segment) *segs, const struct chunk *chunk)
{
	u32 i;

	for (i = 0; i < chunk->segs; i++)
		segs[i] = their_segment(&chunk->seg[i]);
	to->rdma_target.rdma_target_len = chunk->segs;
	to->rdma_target.rdma_target_val = segs;
}

static void build_lists(const struct header *h, struct theirs *t)
{
	u32 i;

	for (i = 0; i < h->reads; i++) {
		t->reads[i].rdma_entry.rdma_position = h->position[i];
		t->reads[i].rdma_entry.rdma_target = their_segment(&h->read[i]);
		t->reads[i].rdma_next = i + 1 < h->reads ? &t->reads[i + 1] : NULL;
	}
	for (i = 0; i < h->writes; i++) {
		their_chunk(&t->writes[i].rdma_entry, t->segs[i], &h->write[i]);
		t->writes[i].rdma_next = i + 1 < h->writes ? &t->writes[i + 1] : NULL;
	}
	their_chunk(&t->reply, t->segs[MAX_CHUNKS], &h->reply);
	t->lists.rdma_reads = h->reads ? t->reads : NULL;
	t->lists.rdma_writes = h->writes ? t->writes : NULL;
	t->lists.rdma_reply = h->has_reply ? &t->reply : NULL;
}

#if VERS == 2
static void build_option(const struct header *h, struct theirs *t)
{
	rpcrdma2_inv_optinfo info = {
		.rdma_direction = h->direction, .rdma_inv_handle = h->handle,
		.rdma_reads = t->lists.rdma_reads, .rdma_writes = t->lists.rdma_writes,
		.rdma_reply = t->lists.rdma_reply,
	};
	rpcrdma2_optional *optional = &t->hdr.rdma_body.rpcrdma2_body_u.rdma_optional;
	XDR xdrs;

	xdrmem_create(&xdrs, t->optinfo, sizeof(t->optinfo), XDR_ENCODE);
	EXPECT(xdr_rpcrdma2_inv_optinfo(&xdrs, &info));
	t->hdr.rdma_body.rdma_proc = RDMA_OPTIONAL;
	optional->rdma_opttype = h->proc == RPCRDMA_MSG ? RDMA_OPT_INV_MSG : RDMA_OPT_INV_NOMSG;
	optional->rdma_optinfo.rdma_optinfo_val = t->optinfo;
	optional->rdma_optinfo.rdma_optinfo_len = xdr_getpos(&xdrs);
}

/* The data of an option are one struct, and nothing behind it */
static bool option_is_valid(const rpcrdma2_optional *optional)
{
	rpcrdma2_inv_optinfo info = { 0 };
	bool valid;
	XDR xdrs;

	xdrmem_create(&xdrs, optional->rdma_optinfo.rdma_optinfo_val,
		      optional->rdma_optinfo.rdma_optinfo_len, XDR_DECODE);
	valid = xdr_rpcrdma2_inv_optinfo(&xdrs, &info) &&
		xdr_getpos(&xdrs) == optional->rdma_optinfo.rdma_optinfo_len &&
		(optional->rdma_opttype == RDMA_OPT_INV_MSG ||
		 optional->rdma_opttype == RDMA_OPT_INV_NOMSG);
	xdr_free((xdrproc_t)xdr_rpcrdma2_inv_optinfo, (char *)&info);
	return valid;
}
#endif

static u32 encode_theirs(const struct header *h, u8 *buf)
{
	static struct theirs t;
	T(body) *body = &t.hdr.rdma_body;
	XDR xdrs;

	memset(&t, 0, sizeof(t));
	t.hdr.rdma_xid = h->xid;
	t.hdr.rdma_vers = VERS;
	t.hdr.rdma_credit = h->credits;
	build_lists(h, &t);
	body->rdma_proc = h->proc;
	if (h->proc == RPCRDMA_ERROR) {
		body->U(body).rdma_error.rdma_err = h->errcode;
		if (h->errcode == RPCRDMA_ERR_VERS) {
			body->U(body).rdma_error.U(error).rdma_vrange.rdma_vers_low = h->low;
			body->U(body).rdma_error.U(error).rdma_vrange.rdma_vers_high = h->high;
		}
	} else if (h->proc == RPCRDMA_MSG) {
		body->U(body).rdma_chunks = t.lists;
	} else {
		body->U(body).rdma_nomsg = t.lists;
	}
#if VERS == 2
	if (h->option)
		build_option(h, &t);
#endif
	xdrmem_create(&xdrs, (char *)buf, MAX_FRAME, XDR_ENCODE);
	EXPECT(X(xprt_hdr)(&xdrs, &t.hdr));
	return xdr_getpos(&xdrs);
}

/* Bytes of the header at the start of @buf, 0 if it is none. @again: encoded once more */
static u32 decode_theirs(const u8 *buf, u32 len, u8 *again)
{
	T(xprt_hdr) hdr = { 0 };
	u32 end = 0;
	XDR xdrs;

	xdrmem_create(&xdrs, (char *)buf, len, XDR_DECODE);
	if (X(xprt_hdr)(&xdrs, &hdr)) {
		end = xdr_getpos(&xdrs);
#if VERS == 2
		if (hdr.rdma_body.rdma_proc == RDMA_OPTIONAL &&
		    !option_is_valid(&hdr.rdma_body.rpcrdma2_body_u.rdma_optional))
			end = 0;
#endif
		if (again) {
			xdrmem_create(&xdrs, (char *)again, MAX_FRAME, XDR_ENCODE);
			EXPECT(X(xprt_hdr)(&xdrs, &hdr) && xdr_getpos(&xdrs) == end);
		}
	}
	xdr_free((xdrproc_t)X(xprt_hdr), (char *)&hdr);
	return end;
}

/* ---- both ---- */

static void put_message(const struct header *h, u8 *p)
{
	u32 i;

	for (i = 0; i < h->body; i += 4)
		put_u32(p + i, i == 0 ? h->xid : i == 4 ? h->direction : draw(0));
}

/* @buf has @len bytes; a few change, or the end is missing. Return: accepted */
static bool try_mutant(u8 *buf, u32 len)
{
	struct rpcrdma_hdr hdr;
	u32 i, end;

	for (i = draw(3); i; i--) {
		if (draw(2))
			put_u32(buf + draw(len / 4) * 4, draw(4));
		else
			buf[draw(len)] ^= 1U << draw(8);
	}
	if (!draw(3))
		len = draw(len);
	if (rpcrdma_decode(&hdr, buf, len, &limits))
		return false;
	end = decode_theirs(buf, len, NULL);
	EXPECT(end);
	if (hdr.proc != RPCRDMA_ERROR)
		EXPECT(end == hdr.body);
	return true;
}

int main(int argc, char **argv)
{
	u32 count = argc > 1 ? atoi(argv[1]) : 20000, accepted = 0, options = 0, len;
	static u8 ours[MAX_FRAME], theirs[MAX_FRAME], again[MAX_FRAME];
	struct header h;

	for (number = 0; number < count; number++) {
		draw_header(&h);
		options += h.option;
		len = encode_ours(&h, ours);
		EXPECT(encode_theirs(&h, theirs) == len);
		EXPECT(!memcmp(ours, theirs, len));
		EXPECT(len + h.body <= MAX_FRAME);
		put_message(&h, theirs + len);
		expect_decoded(&h, theirs, len);
		EXPECT(decode_theirs(ours, len, again) == len);
		EXPECT(!memcmp(ours, again, len));
		accepted += try_mutant(theirs, len + h.body);
	}
	/* Neither half of the comparison with changed headers may be empty */
	EXPECT(accepted > count / 20 && accepted < count - count / 20);
	EXPECT(VERS == 1 || options > count / 10);
	printf("ok xdr-v%u: %u headers, %u with the option; of as many changed ones %u accepted\n",
	       VERS, count, options, accepted);
	return 0;
}
