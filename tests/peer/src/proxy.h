/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A server between a client and the real nfsd: RPC-over-RDMA with the one, TCP
 * with the other. It deviates from the protocol only as the rules of a case say.
 *
 * From the bottom up: a file calls those above it in this header only.
 */
#ifndef PROXY_H
#define PROXY_H

#include <err.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpcrdma/cm_private.h"
#include "rpcrdma/wire.h"
#include "verbs.h"

#define MAX_MESSAGE	(2U << 20)
#define MAX_HEADER	4096U
#define MAX_THRESHOLD	65536U

/* ---- proxy_rpc.c: RPC and NFS ----------------------------------------------- */

#define RPC_CALL	0U
#define RPC_REPLY	1U
#define SESSION_LEN	16U

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
	PROC_READDIR,		/* and READDIRPLUS */
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
const uint8_t *rpc_call_session(const uint8_t *msg, uint32_t len);
uint32_t rpc_long_callback(uint8_t *to, const uint8_t *session);
bool rpc_reply_item(enum proc proc, const uint8_t *msg, uint32_t len,
		    struct item *item);
const char *proc_name(enum proc proc);
/* PROC_MAX: there is none */
enum proc proc_by_name(const char *name);

/* ---- proxy_report.c: log and counts ----------------------------------------- */

#define REPORT_COUNTS(X)							\
	X(calls)								\
	X(connections)								\
	X(deviations)								\
	X(kills)								\
	X(lost)			/* connections that went down otherwise */	\
	X(sends_inv)								\
	X(repeated)		/* Calls with an XID seen before */		\
	X(bad_calls)		/* malformed headers */				\
	X(bad_chunks)		/* Calls of NFSv3 with unexpected chunks */	\
	X(read_chunks)		/* Calls with a Read chunk at a position > 0 */	\
	X(write_chunks)		/* Calls with a Write chunk */			\
	X(reply_chunks)		/* Calls with a Reply chunk */			\
	X(exceeded)		/* Calls beyond the credits */			\
	X(most)			/* peak of Calls in flight */			\
	X(refused)		/* RDMA that the client's device refused */	\
	X(trespassed)		/* trespasses that it did not refuse */		\
	X(late)			/* Replies that were held */			\
	X(reverse_answers)							\
	X(reverse_grant)							\
	X(reverse_options)	/* answers with the option of version 2 */	\
	X(reverse_errors)	/* RDMA_ERROR instead */			\
	X(reverse_invals)	/* of them, INVAL_OPTION */			\
	X(reverse_wrong)	/* not the answer to a Call of this server */

struct report {
#define X(name) unsigned int name;
	REPORT_COUNTS(X)
#undef X
	unsigned int by_proc[PROC_MAX];
	bool last_killed;	/* the last connection was */
};

extern struct report report;

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Writes the counts as key=value, and resets them */
void report_write(const char *file);

/* ---- proxy_rules.c: deviations ---------------------------------------------- */

/* Moments at which a connection can be cut */
enum moment {
	MOMENT_NEVER,
	MOMENT_CALL,		/* the Call has arrived */
	MOMENT_READ,		/* between RDMA Reads and nfsd */
	MOMENT_WRITE,		/* in the middle of the RDMA Writes */
	MOMENT_REPLY,		/* before the Send */
	MOMENT_SENT,		/* after the Send */
	MOMENT_CALLED,		/* after reverse-direction Calls; never at random */
	MOMENT_MAX
};

/* How a Write or Reply chunk is returned */
enum chunk_lie {
	CHUNK_TRUE,
	CHUNK_LONGER,		/* arg: bytes more than were written */
	CHUNK_HUGE,		/* every length 2^32-1 */
	CHUNK_HANDLE,		/* other handles */
	CHUNK_SPLIT,		/* one segment more, of length zero */
	CHUNK_NONE,		/* not returned */
	CHUNK_NO_SEGMENTS,	/* returned with a count of zero */
	CHUNK_PAD,		/* with the XDR roundup counted and written */
	CHUNK_UNUSED,		/* unused, after garbage was written to it */
	CHUNK_IGNORED,		/* neither written to nor returned */
};

enum error_kind {
	ERROR_NONE,
	ERROR_VERS,
	ERROR_CHUNK,
	ERROR_UNKNOWN,		/* rdma_err 77 */
	ERROR_BARE,		/* the fixed part only */
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
	INVAL_UNKNOWN,		/* an rkey that the client never sent */
};

enum reverse {
	REVERSE_NONE,
	REVERSE_PLAIN,
	REVERSE_UNSERVED,	/* to a client without a callback service */
	REVERSE_CHUNKS,
	REVERSE_LARGE,		/* as large as the threshold allows */
	REVERSE_HUGE,		/* larger than the client's Receives */
	REVERSE_SAME,		/* with the XID of the Call in flight */
	REVERSE_LONG,		/* CB_COMPOUND whose Reply exceeds 1024 bytes */
	REVERSE_XID,		/* and a Reply with the XID of that Call */
	REVERSE_OPTION,		/* version 2, with remote invalidation */
	REVERSE_UNKNOWN,	/* version 2, with an unknown option */
	REVERSE_FRAME,		/* word by word, to be rejected */
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

#define MAX_FRAME	48U

enum frame_how {
	FRAME_BEFORE,		/* the Reply */
	FRAME_INSTEAD,		/* of the Reply */
	FRAME_REFUSED,		/* before the Reply; the client answers ERR_CHUNK */
};

enum frame_word {
	WORD_NUMBER,
	WORD_XID,		/* the Call's */
	WORD_OTHER,		/* an unused XID, different in each frame */
};

/* A message word by word */
struct frame {
	enum frame_how how;
	unsigned int len;	/* words */
	enum frame_word kinds[MAX_FRAME];
	uint32_t numbers[MAX_FRAME];
};

#define MAX_RULES	64

/* A number that a rule may give */
struct given {
	bool is;
	uint32_t value;
};

/* The deviations of one Call; members without a rule are zero */
struct deviation {
	struct given	version;
	struct given	proc;
	struct given	credits;
	struct given	truncate;
	enum chunk_lie	write_lie;
	enum chunk_lie	reply_lie;
	uint32_t	longer;
	bool		read_list;
	bool		write_list;	/* though none was offered */
	bool		nomsg;		/* the Reply chunk, needed or not */
	bool		body_xid;	/* the RPC message has another than the header */
	bool		oversize;	/* RDMA_MSG of any length */
	bool		inline_pad;	/* XDR roundup inline, behind the length */
	bool		msgp;
	bool		done;		/* RDMA_DONE before the Reply */
	bool		other_first;	/* a copy with an unknown XID before it */
	uint32_t	copies;		/* copies of the Reply behind it */
	enum error_kind	error;		/* instead of the Reply */
	enum error_kind	error_other;	/* before it, with an unknown XID */
	enum inval	inval;
	enum reverse	reverse;	/* before the Reply */
	uint32_t	reverse_count;
	bool		ask;		/* hold the Reply until they are answered */
	bool		ask_leave;	/* disconnect after them */
	enum trespass	trespass;	/* before the Reply */
	enum moment	kill;
	bool		disconnect;
	bool		hold;		/* until SIGUSR1 */
	uint32_t	gather;		/* until that many Replies are held */
	bool		burst;		/* do not wait for completions of Sends */
	bool		immediate;	/* RDMA Writes with immediate data */
	const struct frame *frames[MAX_RULES];
	unsigned int	nframes;
};

/* Parameters with which a connection is accepted */
struct terms {
	bool		private_data;
	bool		remote_inv;
	uint32_t	send_size;
	uint32_t	recv_size;
};

void rules_read(const char *file);
void rules_terms(unsigned int connection, struct terms *terms);
void rules_call(enum proc proc, struct deviation *dev);

/* ---- proxy_nfsd.c: nfsd's side ---------------------------------------------- */

int nfsd_connect(const char *port);
void nfsd_send(const uint8_t *msg, uint32_t len);
/* Length of the next whole message, or 0 if there is none yet */
uint32_t nfsd_receive(uint8_t **msg);

/* ---- proxy_conn.c: the client's side, one operation after the other --------- */

/* A reverse-direction Call */
struct own {
	uint32_t xid;
	enum reverse kind;
	bool waits;		/* for its answer */
};

#define MAX_OWN		256U
/* Limit of answers that a client has not seen: it has fewer Receives */
#define MAX_GRANTS	1024U

/* Chunks that an RPC can have */
enum chunks {
	CHUNKS_WRITE,
	CHUNKS_ZERO,		/* Position-Zero Read chunk */
	CHUNKS_READ,		/* other Read chunks */
	CHUNKS_REPLY,
	CHUNKS_MAX
};

struct conn {
	struct conn *next;
	struct vb_conn *vb;
	unsigned int number;
	struct terms terms;
	struct rpcrdma_properties prop;
	uint32_t client_recv;		/* size of the client's Receives */
	bool dead;
	/* Messages that arrived while an operation was waited for */
	struct vb_event *stash;
	unsigned int stash_head;
	unsigned int stash_tail;
	uint32_t cookie;
	bool burst;			/* do not wait for completions of Sends */
	bool immediate;			/* RDMA Writes consume Receives */
	/* Calls that arrived, and that were answered, in the order of the Sends */
	uint32_t arrived;
	uint32_t answered;
	/* The grants of the last answers; the client surely knew of @known */
	uint32_t grants[MAX_GRANTS];
	uint32_t known;
	/* Segments of the Calls that were answered last */
	struct rpcrdma_segment old[CHUNKS_MAX];
	/* The last reverse-direction Calls, in a ring */
	struct own own[MAX_OWN];
	unsigned int owns;
};

extern const struct rpcrdma_limits limits;

struct conn *conn_accept(struct vb_listener *listener, unsigned int number);
void conn_free(struct conn *conn);
void conn_kill(struct conn *conn, const char *why);
bool conn_waiting(const struct conn *conn);
bool conn_next(struct conn *conn, struct vb_event *ev);
/* A Reply or RDMA_ERROR of the client's, to a reverse-direction Call */
bool is_answer(const struct rpcrdma_hdr *hdr);
/* The client may answer at once, so call it before the Send */
void conn_grant(struct conn *conn, uint32_t credits);
enum ibv_wc_status conn_send(struct conn *conn, const uint8_t *msg,
			     uint32_t len, const uint32_t *inv_rkey);
enum ibv_wc_status conn_write(struct conn *conn,
			      const struct rpcrdma_segment *seg,
			      const uint8_t *data, uint32_t len);
enum ibv_wc_status conn_read(struct conn *conn,
			     const struct rpcrdma_segment *seg, uint8_t *to);

/* ---- proxy_call.c: Calls on their way to nfsd ------------------------------- */

#define HONEST_CREDITS	64U

/* An XID that the client does not use: its own count up from a random one */
#define OTHER_XID(xid)	((xid) ^ 0x40000000U)
/* Distinguishes messages of this server that belong to the same Call */
#define OWN_XID(n)	((n) << 20)

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
	uint32_t answers;	/* to reverse-direction Calls */
	struct rpcrdma_hdr hdr;	/* borrows @raw */
	uint8_t raw[MAX_HEADER];
	uint8_t *msg;
	uint32_t len;
	uint8_t *reply;
	uint32_t reply_len;
};

extern struct call *calls;

/* Returns the message if it is an answer; the caller frees it */
struct call *call_received(struct conn *conn, const struct vb_event *ev);
void calls_forward(void);
struct call *call_answered(uint32_t xid);
void call_free(struct call *call);
void calls_drop(struct conn *conn);
/* The longest segment of these chunks; its length is 0 if there is none */
struct rpcrdma_segment call_segment(const struct call *call, enum chunks chunks);
/* Any rkey of a Call may be invalidated (RFC 8797, 4.1) */
bool call_rkey(const struct call *call, uint32_t *rkey);

/* ---- proxy_reverse.c: the reverse direction --------------------------------- */

void reverse_send(struct call *call);
/* Before the Reply, or the one instead of it; false: there is none */
bool frames_send(struct call *call, bool instead);
void reverse_answered(struct conn *conn, const struct rpcrdma_hdr *hdr);

/* ---- proxy_trespass.c: RDMA that the client's device must refuse ------------ */

/* Returns false if the Reply is to be sent */
bool trespass(struct call *call);

/* ---- proxy_reply.c: Replies on their way to the client ---------------------- */

void reply_send(struct call *call);
void reply_ask(struct call *call);

#endif /* PROXY_H */
