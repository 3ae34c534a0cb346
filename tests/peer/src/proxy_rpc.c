// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The proxy's knowledge of RPC (RFC 5531), NFSv3 (RFC 1813) and NFSv4.1: the
 * procedure of a Call, and the DDP-eligible data item of a Reply (RFC 8267, 4).
 */
#include <string.h>

#include "proxy.h"

#define NFS_PROGRAM	100003U
#define AUTH_SHORT	2U

/* NFSv4 (RFC 8881, section 18) */
#define OP_PUTFH	22U
#define OP_READ		25U
#define OP_DESTROY_SESSION	44U
#define OP_SEQUENCE	53U
#define OP_CB_RECALL_ANY	8U
#define OP_CB_SEQUENCE	11U

/* The limit of Linux' client in a callback */
#define TAG_LEN		512U

static const struct {
	const char *name;
	enum proc proc;
	int nfs3;
} procs[] = {
	{ "any", PROC_ANY, -1 },
	{ "NULL", PROC_NULL, 0 },
	{ "GETATTR", PROC_GETATTR, 1 },
	{ "LOOKUP", PROC_LOOKUP, 3 },
	{ "ACCESS", PROC_ACCESS, 4 },
	{ "READLINK", PROC_READLINK, 5 },
	{ "READ", PROC_READ, 6 },
	{ "WRITE", PROC_WRITE, 7 },
	{ "CREATE", PROC_CREATE, 8 },
	{ "SYMLINK", PROC_SYMLINK, 10 },
	{ "REMOVE", PROC_REMOVE, 12 },
	{ "READDIR", PROC_READDIR, 16 },
	{ "READDIR", PROC_READDIR, 17 },
	{ "COMMIT", PROC_COMMIT, 21 },
	{ "READ4", PROC_READ4, -1 },
	{ "DESTROY_SESSION", PROC_DESTROY_SESSION, -1 },
	{ "OTHER", PROC_OTHER, -1 },
};

#define NPROCS (sizeof(procs) / sizeof(procs[0]))

const char *proc_name(enum proc proc)
{
	for (size_t i = 0; i < NPROCS; i++)
		if (procs[i].proc == proc)
			return procs[i].name;
	return "?";
}

enum proc proc_by_name(const char *name)
{
	for (size_t i = 0; i < NPROCS; i++)
		if (!strcmp(procs[i].name, name))
			return procs[i].proc;
	return PROC_MAX;
}

uint32_t rpc_word(const uint8_t *msg, uint32_t at)
{
	uint32_t v;

	memcpy(&v, msg + at, sizeof(v));
	return be32toh(v);
}

void rpc_set_word(uint8_t *msg, uint32_t at, uint32_t value)
{
	uint32_t v = htobe32(value);

	memcpy(msg + at, &v, sizeof(v));
}

bool rpc_is_nfs3(const uint8_t *msg, uint32_t len)
{
	return len >= 24 && rpc_word(msg, 12) == NFS_PROGRAM && rpc_word(msg, 16) == 3;
}

/* A cursor that does not leave the message */
struct walk {
	const uint8_t *msg;
	uint32_t len;
	uint32_t at;
	bool bad;
};

static void walk_skip(struct walk *w, uint32_t bytes)
{
	if (w->bad || bytes > w->len - w->at)
		w->bad = true;
	else
		w->at += bytes;
}

static uint32_t walk_word(struct walk *w)
{
	uint32_t at = w->at;

	walk_skip(w, 4);
	return w->bad ? 0 : rpc_word(w->msg, at);
}

static void walk_opaque(struct walk *w)
{
	walk_skip(w, rpcrdma_xdr_roundup(walk_word(w)));
}

/* Returns the first operation of a COMPOUND */
static uint32_t walk_to_first(struct walk *w)
{
	w->at = 24;
	for (int auth = 0; auth < 2; auth++) {
		walk_skip(w, 4);
		walk_opaque(w);
	}
	walk_opaque(w);			/* tag */
	walk_skip(w, 8);		/* minorversion, operations */
	return walk_word(w);
}

/* The session of an NFSv4.1 Call, SESSION_LEN bytes, or NULL */
const uint8_t *rpc_call_session(const uint8_t *msg, uint32_t len)
{
	struct walk w = { .msg = msg, .len = len };
	uint32_t at;

	if (walk_to_first(&w) != OP_SEQUENCE)
		return NULL;
	at = w.at;
	walk_skip(&w, SESSION_LEN);
	return w.bad ? NULL : msg + at;
}

static bool is_read4(const uint8_t *msg, uint32_t len)
{
	struct walk w = { .msg = msg, .len = len };

	if (walk_to_first(&w) != OP_SEQUENCE)
		return false;
	walk_skip(&w, 32);
	if (walk_word(&w) != OP_PUTFH)
		return false;
	walk_opaque(&w);
	return walk_word(&w) == OP_READ;
}

static enum proc call_proc4(const uint8_t *msg, uint32_t len)
{
	struct walk w = { .msg = msg, .len = len };

	if (is_read4(msg, len))
		return PROC_READ4;
	return walk_to_first(&w) == OP_DESTROY_SESSION ?
		PROC_DESTROY_SESSION : PROC_OTHER;
}

static uint8_t *put_word(uint8_t *to, uint32_t value)
{
	rpc_set_word(to, 0, value);
	return to + 4;
}

/*
 * Writes a CB_COMPOUND, from its credentials on, whose Reply is longer than
 * 1024 bytes: it has the tag, and two words for each operation. It is the first
 * callback of @session.
 */
uint32_t rpc_long_callback(uint8_t *to, const uint8_t *session)
{
	static const uint32_t before[] = {
		1, 20, 0, 0, 0, 0, 0,	/* AUTH_SYS, user 0 */
		0, 0, TAG_LEN
	};
	const uint32_t ops = 80;
	uint8_t *p = to;

	for (unsigned int i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		p = put_word(p, before[i]);
	memset(p, 'x', TAG_LEN);
	p = put_word(p + TAG_LEN, 1);	/* minorversion */
	p = put_word(p, 0);		/* callback_ident */
	p = put_word(p, 1 + ops);
	p = put_word(p, OP_CB_SEQUENCE);
	memcpy(p, session, SESSION_LEN);
	p = put_word(p + SESSION_LEN, 1);
	for (int i = 0; i < 4; i++)	/* slots, cachethis, referring calls */
		p = put_word(p, 0);
	for (uint32_t i = 0; i < ops; i++) {
		p = put_word(p, OP_CB_RECALL_ANY);
		p = put_word(p, 0);	/* objects to keep, */
		p = put_word(p, 1);	/* of no type */
		p = put_word(p, 0);
	}
	return p - to;
}

/* xid, CALL, rpcvers, prog, vers, proc */
enum proc rpc_call_proc(const uint8_t *msg, uint32_t len)
{
	if (len < 24 || rpc_word(msg, 4) != RPC_CALL)
		return PROC_OTHER;
	if (rpc_word(msg, 20) == 0)
		return PROC_NULL;
	if (rpc_word(msg, 12) == NFS_PROGRAM && rpc_word(msg, 16) == 4)
		return call_proc4(msg, len);
	if (!rpc_is_nfs3(msg, len))
		return PROC_OTHER;
	for (size_t i = 0; i < NPROCS; i++)
		if (procs[i].nfs3 == (int)rpc_word(msg, 20))
			return procs[i].proc;
	return PROC_OTHER;
}

/* xid, REPLY, MSG_ACCEPTED, verifier, SUCCESS, NFS3_OK */
static bool walk_to_results(struct walk *w)
{
	walk_skip(w, 4);
	if (walk_word(w) != RPC_REPLY || walk_word(w) != 0)
		return false;
	walk_skip(w, 4);
	walk_opaque(w);
	return walk_word(w) == 0 && walk_word(w) == 0 && !w->bad;
}

/*
 * Gives a Reply a verifier of AUTH_SHORT, @bytes long, in place of the empty one
 * that nfsd sends with AUTH_SYS. Returns the length of the Reply, for which @msg
 * has room.
 */
uint32_t rpc_set_verifier(uint8_t *msg, uint32_t len, uint32_t bytes)
{
	bytes = rpcrdma_xdr_roundup(bytes);
	if (!bytes || bytes > MAX_VERIFIER || len < 20 ||
	    rpc_word(msg, 4) != RPC_REPLY || rpc_word(msg, 8) != 0 ||
	    rpc_word(msg, 16) != 0)
		return len;
	rpc_set_word(msg, 12, AUTH_SHORT);
	rpc_set_word(msg, 16, bytes);
	memmove(msg + 20 + bytes, msg + 20, len - 20);
	memset(msg + 20, 0x5a, bytes);
	return len + bytes;
}

/* SEQUENCE, PUTFH, READ: up to the data */
static bool walk_to_read4(struct walk *w)
{
	walk_opaque(w);			/* tag */
	walk_skip(w, 4);
	if (walk_word(w) != OP_SEQUENCE || walk_word(w) != 0)
		return false;
	walk_skip(w, SESSION_LEN + 20);
	if (walk_word(w) != OP_PUTFH || walk_word(w) != 0)
		return false;
	if (walk_word(w) != OP_READ || walk_word(w) != 0)
		return false;
	walk_skip(w, 4);		/* eof */
	return !w->bad;
}

/* Finds the bytes of the DDP-eligible opaque, if it ends the message */
bool rpc_reply_item(enum proc proc, const uint8_t *msg, uint32_t len,
		    struct item *item)
{
	struct walk w = { .msg = msg, .len = len };

	if (proc != PROC_READ && proc != PROC_READLINK && proc != PROC_READ4)
		return false;
	if (!walk_to_results(&w))
		return false;
	if (proc == PROC_READ4 && !walk_to_read4(&w))
		return false;
	/* post_op_attr: fattr3 has 84 bytes */
	if (proc != PROC_READ4 && walk_word(&w))
		walk_skip(&w, 84);
	if (proc == PROC_READ)
		walk_skip(&w, 8);	/* count, eof */
	item->len = walk_word(&w);
	item->at = w.at;
	walk_skip(&w, rpcrdma_xdr_roundup(item->len));
	return !w.bad && w.at == len;
}
