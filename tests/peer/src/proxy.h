/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A server that stands between a client and the real nfsd: it speaks
 * RPC-over-RDMA with the one and TCP with the other, correctly, but for what
 * the rules of a case tell it to do wrong.
 */
#ifndef PROXY_H
#define PROXY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rpcrdma/cm_private.h"
#include "rpcrdma/wire.h"
#include "verbs.h"

#define MAX_MESSAGE	(2U << 20)
#define MAX_HEADER	4096U
#define MAX_THRESHOLD	65536U

/* Answers that a client may not have looked at: it has fewer Receives */
#define MAX_GRANTS	1024U

/* ---- what is known of RPC and NFS ----------------------------------------- */

#define RPC_CALL	0U
#define RPC_REPLY	1U

enum proc {
	PROC_ANY,
	PROC_NULL,
	PROC_GETATTR,
	PROC_LOOKUP,
	PROC_ACCESS,
	PROC_READLINK,
	PROC_READ,
	PROC_WRITE,
	PROC_CREATE,
	PROC_SYMLINK,
	PROC_REMOVE,
	PROC_READDIR,		/* READDIRPLUS too */
	PROC_COMMIT,
	PROC_READ4,		/* NFSv4.1: SEQUENCE, PUTFH, READ */
	PROC_DESTROY_SESSION,	/* NFSv4.1 */
	PROC_OTHER,
	PROC_MAX
};

/* A data item within an RPC message */
struct item {
	uint32_t at;
	uint32_t len;
};

uint32_t rpc_word(const uint8_t *msg, uint32_t at);
void rpc_set_word(uint8_t *msg, uint32_t at, uint32_t value);
enum proc rpc_call_proc(const uint8_t *msg, uint32_t len);
bool rpc_is_nfs3(const uint8_t *msg, uint32_t len);
#define SESSION_LEN	16U
const uint8_t *rpc_call_session(const uint8_t *msg, uint32_t len);
uint32_t rpc_long_callback(uint8_t *to, const uint8_t *session);
bool rpc_reply_item(enum proc proc, const uint8_t *msg, uint32_t len,
		    struct item *item);
const char *proc_name(enum proc proc);
enum proc proc_by_name(const char *name);

/* ---- rules ------------------------------------------------------------------ */

/* Moments at which a connection can be cut */
enum moment {
	MOMENT_NEVER,
	MOMENT_CALL,		/* the Call is here, nothing else happened */
	MOMENT_READ,		/* between RDMA Reads and nfsd */
	MOMENT_WRITE,		/* in the middle of the RDMA Writes */
	MOMENT_REPLY,		/* before the Send */
	MOMENT_SENT,		/* after the Send */
	MOMENT_CALLED,		/* behind Calls of our own; by no chance */
	MOMENT_MAX
};

/* What becomes of a Write or Reply chunk on its way back */
enum chunk_lie {
	CHUNK_TRUE,
	CHUNK_LONGER,		/* arg: octets more than were written */
	CHUNK_HUGE,		/* every length 2^32-1 */
	CHUNK_HANDLE,		/* other handles */
	CHUNK_SPLIT,		/* one segment more, of length zero */
	CHUNK_NONE,		/* not given back at all */
	CHUNK_NO_SEGMENTS,	/* given back with a count of zero */
	CHUNK_PAD,		/* with the XDR roundup counted and written */
	CHUNK_UNUSED,		/* unused, after garbage was written to it */
	CHUNK_IGNORED,		/* neither written to nor given back */
};

enum error_kind {
	ERROR_NONE,
	ERROR_VERS,
	ERROR_CHUNK,
	ERROR_UNKNOWN,		/* rdma_err 77 */
	ERROR_BARE,		/* nothing behind the fixed part */
	ERROR_VERS_CUT,		/* ERR_VERS without its range */
	ERROR_VERS_ONE,		/* in the Call's version, range 1 to 1 */
	ERROR_OPTION,		/* INVAL_OPTION */
	ERROR_HEADER,		/* BAD_HEADER */
};

enum inval {
	INVAL_HONEST,
	INVAL_NONE,
	INVAL_OWN,		/* whatever the private data said */
	INVAL_TWICE,		/* and again, with a copy of the Reply */
	INVAL_NEIGHBOUR,	/* an rkey of another RPC in flight */
	INVAL_UNKNOWN,		/* an rkey that nobody gave us */
};

enum reverse {
	REVERSE_NONE,
	REVERSE_PLAIN,
	REVERSE_UNSERVED,	/* the same, of a client that has no service for it */
	REVERSE_CHUNKS,
	REVERSE_LARGE,		/* as large as the threshold allows */
	REVERSE_HUGE,		/* larger than the client's Receives */
	REVERSE_SAME,		/* with the XID of the Call in flight */
	REVERSE_LONG,		/* CB_COMPOUND whose Reply exceeds 1024 octets */
	REVERSE_XID,		/* and a Reply with the XID of that Call */
	REVERSE_OPTION,		/* by remote invalidation, of version two */
	REVERSE_UNKNOWN,	/* by an option that nobody knows */
	REVERSE_FRAME,		/* word by word, to be refused */
};

/* RDMA that the Requester's device has to refuse */
enum trespass {
	TRESPASS_NONE,
	TRESPASS_WRITE_LATE,	/* to the Write chunk of the Call before */
	TRESPASS_READ_LATE,	/* from the Read chunk of the Call before */
	TRESPASS_ZERO_LATE,	/* from its Position-Zero Read chunk */
	TRESPASS_REPLY_LATE,	/* to its Reply chunk */
	TRESPASS_WRITE_KEY,	/* with the previous key byte */
	TRESPASS_READ_WRITE,	/* an RDMA Read of a Write chunk */
	TRESPASS_WRITE_READ,	/* an RDMA Write to a Read chunk */
	TRESPASS_PAST_END,	/* an RDMA Write behind the end of a segment */
	TRESPASS_WRITE_ELSEWHERE, /* to another connection's Write chunk */
	TRESPASS_READ_ELSEWHERE, /* from another connection's Read chunk */
};

/* A message word by word: numbers, or what stands for an XID */
#define MAX_FRAME	48U

enum frame_how {
	FRAME_BEFORE,		/* the Reply */
	FRAME_INSTEAD,		/* of the Reply */
	FRAME_REFUSED,		/* before the Reply, and answered with ERR_CHUNK */
};

enum frame_word {
	WORD_NUMBER,
	WORD_XID,		/* the Call's */
	WORD_OTHER,		/* nobody's, and no other frame's */
};

struct frame {
	enum frame_how how;
	unsigned int len;	/* words */
	enum frame_word kinds[MAX_FRAME];
	uint32_t numbers[MAX_FRAME];
};

#define MAX_RULES	64

/* All that is done differently for one Call */
struct deviation {
	bool		has_version;
	uint32_t	version;
	bool		has_proc;
	uint32_t	proc;
	bool		has_credits;
	uint32_t	credits;
	bool		has_truncate;
	uint32_t	truncate;
	enum chunk_lie	write_lie;
	enum chunk_lie	reply_lie;
	uint32_t	longer;
	bool		read_list;
	bool		write_list;	/* though none was offered */
	bool		nomsg;		/* the Reply chunk, needed or not */
	bool		body_xid;	/* the RPC message has another one than the header */
	bool		oversize;	/* RDMA_MSG, whatever its length */
	bool		inline_pad;	/* XDR roundup inline, behind the length */
	bool		msgp;
	bool		done;		/* RDMA_DONE before the Reply */
	bool		other_first;	/* a copy with an unknown XID before it */
	uint32_t	copies;		/* more of the same Reply behind it */
	enum error_kind	error;		/* instead of the Reply */
	enum error_kind	error_other;	/* before it, with an unknown XID */
	enum inval	inval;
	enum reverse	reverse;	/* before the Reply */
	uint32_t	reverse_count;
	bool		ask;		/* hold until they are answered */
	bool		ask_leave;	/* disconnect behind them */
	enum trespass	trespass;	/* before the Reply */
	enum moment	kill;
	bool		disconnect;
	bool		hold;		/* until SIGUSR1 */
	uint32_t	gather;		/* hold until so many are held */
	bool		burst;		/* not behind the arrival of what was sent before */
	bool		immediate;	/* RDMA Writes with immediate data */
	const struct frame *frames[MAX_RULES];
	unsigned int	nframes;
};

/* What a connection is accepted with */
struct terms {
	bool		private_data;
	bool		remote_inv;
	uint32_t	send_size;
	uint32_t	recv_size;
};

void rules_read(const char *file);
void rules_terms(unsigned int connection, struct terms *terms);
void rules_call(enum proc proc, struct deviation *dev);
void rules_seed(unsigned int seed);

/* ---- connections and Calls ---------------------------------------------- */

/* A Call of our own */
struct own {
	uint32_t xid;
	enum reverse kind;
	bool waits;		/* for its answer */
};

#define MAX_OWN		256U

struct conn {
	struct conn *next;
	struct vb_conn *vb;
	unsigned int number;
	struct terms terms;
	struct rpcrdma_properties prop;
	uint32_t client_recv;		/* octets that the client's Receives have */
	bool dead;
	/* Messages that came while an operation was waited for */
	struct vb_event *stash;
	unsigned int stash_head;
	unsigned int stash_tail;
	uint32_t cookie;
	/* Sends are not waited for */
	bool burst;
	/* RDMA Writes use up Receives */
	bool immediate;
	/* Calls that came, and that were answered, in the Sends' order */
	uint32_t arrived;
	uint32_t answered;
	/* What each of the last answers granted; so many of them the client knew surely */
	uint32_t grants[MAX_GRANTS];
	uint32_t known;
	/* Segments of the Call that was answered last */
	struct rpcrdma_segment old_write;
	struct rpcrdma_segment old_read;
	struct rpcrdma_segment old_zero;
	struct rpcrdma_segment old_reply;
	/* The last Calls of our own, in a ring */
	struct own own[MAX_OWN];
	unsigned int owns;
};

enum call_state {
	CALL_WAITS,		/* for nfsd to be free */
	CALL_AT_NFSD,
	CALL_HELD,		/* its Reply is here and not sent */
};

struct call {
	struct call *next;
	struct conn *conn;
	enum call_state state;
	enum proc proc;
	struct deviation dev;
	uint32_t answers;	/* of the client's, to our own Calls */
	struct rpcrdma_hdr hdr;	/* borrows @raw */
	uint8_t raw[MAX_HEADER];
	uint8_t *msg;
	uint32_t len;
	uint8_t *reply;
	uint32_t reply_len;
};

/* Counts; each has a name in the report, see proxy.c */
struct report {
	unsigned int calls;
	unsigned int by_proc[PROC_MAX];
	unsigned int connections;
	unsigned int deviations;
	unsigned int kills;
	bool last_killed;		/* the last connection was */
	unsigned int sends_inv;
	unsigned int repeated;		/* Calls with an XID seen before */
	unsigned int bad_calls;		/* headers that deserve no accept */
	unsigned int bad_chunks;	/* Calls of NFSv3 with other chunks than theirs */
	unsigned int read_chunks;	/* Calls with a Read chunk, not of Position Zero */
	unsigned int write_chunks;	/* Calls with a Write chunk */
	unsigned int reply_chunks;	/* Calls with a Reply chunk */
	unsigned int exceeded;		/* Calls that no grant allowed */
	unsigned int most;		/* most Calls in flight */
	unsigned int refused;		/* RDMA that the device refused */
	unsigned int trespassed;	/* trespasses that it did not */
	unsigned int late;		/* Replies that were held */
	unsigned int reverse_answers;
	unsigned int reverse_grant;
	unsigned int reverse_options;	/* of them, by the option */
	unsigned int reverse_errors;	/* RDMA_ERROR instead */
	unsigned int reverse_invals;	/* of them, INVAL_OPTION */
	unsigned int reverse_wrong;	/* not what our Call of that XID gets */
};

extern struct report report;

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
int64_t now_ms(void);

/* proxy_nfsd.c: nfsd's side */
int nfsd_connect(const char *port);
void nfsd_send(const uint8_t *msg, uint32_t len);
/* Return: octets of a whole message in *msg, or 0 when there is none yet */
uint32_t nfsd_receive(uint8_t **msg);

/* proxy_conn.c: the client's side, one operation after the other */
struct conn *conn_accept(struct vb_listener *listener, unsigned int number);
void conn_free(struct conn *conn);
void conn_kill(struct conn *conn, const char *why);
bool conn_waiting(const struct conn *conn);
bool conn_next(struct conn *conn, struct vb_event *ev);
enum ibv_wc_status conn_send(struct conn *conn, const uint8_t *msg,
			     uint32_t len, const uint32_t *inv_rkey);
enum ibv_wc_status conn_write(struct conn *conn,
			      const struct rpcrdma_segment *seg,
			      const uint8_t *data, uint32_t len);
enum ibv_wc_status conn_read(struct conn *conn,
			     const struct rpcrdma_segment *seg, uint8_t *to);

/* proxy_call.c: Calls on their way to nfsd */
extern struct call *calls;
void call_arrived(struct conn *conn, const struct vb_event *ev);
void call_received(struct conn *conn, const struct vb_event *ev);
void calls_forward(void);
struct call *call_answered(uint32_t xid);
void call_free(struct call *call);
void calls_drop(struct conn *conn);
unsigned int calls_count(enum call_state state);

/* proxy_reply.c: Replies on their way to the client */
void reply_send(struct call *call);
void reply_ask(struct call *call);
/* The client answered a Call of ours, or nobody's: Reply or RDMA_ERROR */
void reply_own_answered(struct conn *conn, const struct rpcrdma_hdr *hdr);

#endif /* PROXY_H */
