/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A second decoder of Transport Headers, written from RFC 8166, the draft of
 * version 2 and the table of answers and not from wire_decode.c: it takes the
 * whole XDR apart first, into arrays, and looks at what that means afterwards.
 * Slow, and shares no code with the first. The wire target wants them to agree.
 */
#ifndef RPCRDMA_FUZZ_REFERENCE_H
#define RPCRDMA_FUZZ_REFERENCE_H

#include "fuzz.h"
#include "rpcrdma/wire.h"

#define REF_MAX		2048	/* items in 8192 octets, and more */

struct ref_segment {
	u32 position;
	u32 chunk;
	u64 length;
};

struct ref_header {
	u32 xid, vers, proc, code;
	bool option;
	u32 direction, handle;
	struct ref_segment reads[REF_MAX], writes[REF_MAX], reply[REF_MAX];
	u32 n_reads, n_writes, n_chunks, n_reply;
	bool has_reply;
	const u8 *rest;
	size_t n_rest;
	u64 msg_len;
};

/* XDR, an octet at a time */
struct ref_xdr {
	const u8 *p;
	size_t left;
	bool bad;
};

static u32 ref_word(struct ref_xdr *xdr)
{
	u32 i, word = 0;

	if (xdr->left < 4)
		xdr->bad = true;
	if (xdr->bad)
		return 0;
	for (i = 0; i < 4; i++)
		word = word * 256 + *xdr->p++;
	xdr->left -= 4;
	return word;
}

/* Is there another item? */
static bool ref_more(struct ref_xdr *xdr)
{
	u32 word = ref_word(xdr);

	if (word > 1)
		xdr->bad = true;
	return !xdr->bad && word == 1;
}

static struct ref_segment ref_segment(struct ref_xdr *xdr, u32 position,
				      u32 chunk)
{
	struct ref_segment seg = { .position = position, .chunk = chunk };

	ref_word(xdr);
	seg.length = ref_word(xdr);
	ref_word(xdr);
	ref_word(xdr);
	return seg;
}

static u32 ref_chunk(struct ref_xdr *xdr, struct ref_segment *segs, u32 n,
		     u32 chunk)
{
	u32 count = ref_word(xdr);

	while (count-- && !xdr->bad)
		segs[n++] = ref_segment(xdr, 0, chunk);
	return n;
}

static void ref_lists(struct ref_xdr *xdr, struct ref_header *h)
{
	u32 position;

	while (ref_more(xdr)) {
		position = ref_word(xdr);
		h->reads[h->n_reads++] = ref_segment(xdr, position, 0);
	}
	while (ref_more(xdr))
		h->n_writes = ref_chunk(xdr, h->writes, h->n_writes,
					h->n_chunks++);
	h->has_reply = ref_more(xdr);
	if (h->has_reply)
		h->n_reply = ref_chunk(xdr, h->reply, 0, 0);
}

static u64 ref_octets(const struct ref_segment *segs, u32 n, u32 position,
		      u32 chunk)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < n; i++)
		if (segs[i].position == position && segs[i].chunk == chunk)
			sum += segs[i].length;
	return sum;
}

static bool ref_within(const struct ref_header *h,
		       const struct rpcrdma_limits *lim)
{
	u32 i;

	if (h->n_reads > lim->max_read_segs ||
	    h->n_chunks > lim->max_write_chunks ||
	    h->n_writes + h->n_reply > lim->max_write_segs)
		return false;
	for (i = 0; i < h->n_chunks; i++)
		if (ref_octets(h->writes, h->n_writes, 0, i) > lim->max_message)
			return false;
	return ref_octets(h->reply, h->n_reply, 0, 0) <= lim->max_message;
}

/* The lowest position of at least @least, or all bits: these may be in any order */
static u64 ref_position(const struct ref_header *h, u64 least)
{
	u64 position = ~0ULL;
	u32 i;

	for (i = 0; i < h->n_reads; i++)
		if (h->reads[i].position >= least && h->reads[i].position < position)
			position = h->reads[i].position;
	return position;
}

/*
 * Put the message together: so many octets of the base up to each position,
 * then the data item and its roundup.
 */
static bool ref_assemble(struct ref_header *h, u64 base)
{
	u64 at = 0, used = 0, bytes, position;

	for (position = ref_position(h, 0); position != ~0ULL;
	     position = ref_position(h, position + 1)) {
		if (position % 4)
			return false;
		bytes = ref_octets(h->reads, h->n_reads, position, 0);
		if (!bytes)
			return false;
		if (!position)
			continue;
		if (position < 8 || position < at ||
		    used + (position - at) > base)
			return false;
		used += position - at;
		at = position + (bytes + 3) / 4 * 4;
	}
	h->msg_len = at + (base - used);
	return true;
}

static u32 ref_peek(const struct ref_header *h, size_t at)
{
	struct ref_xdr xdr = { h->rest + at, h->n_rest - at, false };

	return ref_word(&xdr);
}

static bool ref_message(struct ref_header *h, const struct rpcrdma_limits *lim)
{
	u64 zero = ref_octets(h->reads, h->n_reads, 0, 0);
	bool nomsg = h->proc == 1;

	if (nomsg && h->vers == 2 && h->n_rest)
		return false;
	if (!nomsg && !ref_position(h, 0))
		return false;
	if (!ref_assemble(h, nomsg ? zero : h->n_rest))
		return false;
	if (h->msg_len > lim->max_message || h->msg_len > 0xffffffff)
		return false;
	if (h->option && h->direction == 1 && h->n_reads)
		return false;
	if (nomsg)
		return zero ? zero >= 8 : !h->n_reads && h->has_reply;
	if (h->n_rest < 8 || ref_peek(h, 0) != h->xid)
		return false;
	if (h->option && ref_peek(h, 4) != h->direction)
		return false;
	return !h->n_reads || ref_peek(h, 4) != 1;
}

/* An option's data, and in them the lists; the rest is the message */
static bool ref_option(struct ref_xdr *xdr, struct ref_header *h)
{
	u32 type = ref_word(xdr), len = ref_word(xdr);
	struct ref_xdr info = { xdr->p, len, false };

	if (xdr->bad || len > xdr->left)
		return false;
	if (type != 0x494e5600 && type != 0x494e5601)
		return false;
	h->option = true;
	h->proc = type & 1;
	h->direction = ref_word(&info);
	h->handle = ref_word(&info);
	ref_lists(&info, h);
	xdr->p += len;
	xdr->left -= len;
	return !info.bad && !info.left && h->direction <= 1;
}

static bool ref_error(struct ref_xdr *xdr, struct ref_header *h, bool spoken)
{
	h->code = ref_word(xdr);
	if (h->code == 1) {
		ref_word(xdr);
		ref_word(xdr);
		return !xdr->bad;
	}
	if (!spoken || xdr->bad)
		return false;
	return h->code == 2 || (h->code == 3 && h->vers == 2);
}

/* Is this header acceptable? What it says goes to @h. */
static bool ref_accepts(struct ref_header *h, const u8 *data, size_t size,
			const struct rpcrdma_limits *lim)
{
	struct ref_xdr xdr = { data, size, false };
	bool spoken;

	h->n_reads = 0;
	h->n_writes = 0;
	h->n_chunks = 0;
	h->n_reply = 0;
	h->option = false;
	h->xid = ref_word(&xdr);
	h->vers = ref_word(&xdr);
	ref_word(&xdr);
	h->proc = ref_word(&xdr);
	if (xdr.bad)
		return false;
	spoken = (h->vers == 1 || h->vers == 2) && lim->vers_min <= h->vers &&
		 lim->vers_max >= h->vers;
	if (h->proc == 4)
		return ref_error(&xdr, h, spoken);
	if (!spoken)
		return false;
	if (h->vers == 2 && h->proc == 5) {
		if (!ref_option(&xdr, h))
			return false;
	} else if (h->proc > 1) {
		return false;
	} else {
		ref_lists(&xdr, h);
	}
	if (xdr.bad || !ref_within(h, lim))
		return false;
	h->rest = xdr.p;
	h->n_rest = xdr.left;
	return ref_message(h, lim);
}

#endif /* RPCRDMA_FUZZ_REFERENCE_H */
