/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A server between a client and the real nfsd: RPC-over-RDMA with the one, TCP
 * with the other. It deviates from the protocol as the rules of a case say.
 *
 * From the bottom up: a file calls those above it in this header only.
 */
#ifndef PROXY_H
#define PROXY_H

#include <err.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpcrdma/wire.h"
#include "verbs.h"

#define MAX_MESSAGE	(2U << 20)
#define MAX_HEADER	4096U
#define MAX_THRESHOLD	65536U

/* ---- proxy_rpc.c: RPC and NFS ------------------------------------------- */

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
/* (RFC 5531, section 8.2) */
#define MAX_VERIFIER	400U
uint32_t rpc_set_verifier(uint8_t *msg, uint32_t len, uint32_t bytes);
bool rpc_reply_item(enum proc proc, const uint8_t *msg, uint32_t len,
		    struct item *item);
const char *proc_name(enum proc proc);
/* PROC_MAX: there is none */
enum proc proc_by_name(const char *name);

/* ---- proxy_report.c: log and counts ------------------------------------- */

#define REPORT_COUNTS(X)						\
	X(calls)							\
	X(connections)							\
	X(deviations)							\
	X(kills)							\
	X(lost)			/* connections that went down otherwise */ \
	X(sends_inv)							\
	X(repeated)		/* Calls with an XID seen before */	\
	X(bad_calls)		/* malformed headers */			\
	X(bad_chunks)		/* NFSv3 Calls, unexpected chunks */	\
	X(read_chunks)		/* Calls with such, position > 0 */	\
	X(write_chunks)							\
	X(reply_chunks)							\
	X(exceeded)		/* Calls beyond the credits */		\
	X(most)			/* peak of Calls in flight */		\
	X(refused)		/* RDMA that the device refused */	\
	X(trespassed)		/* trespasses that it did not refuse */	\
	X(late)			/* Replies that were held */		\
	X(reverse_answers)						\
	X(reverse_grant)						\
	X(reverse_options)	/* answers with version 2's option */	\
	X(reverse_errors)	/* RDMA_ERROR instead */		\
	X(reverse_invals)	/* of them, INVAL_OPTION */		\
	X(reverse_wrong)	/* unexpected answers */

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

/* ---- proxy_rules.c: deviations ------------------------------------------ */

/* Lists of the words in rules: X(VALUE, "word") */
#define RULE_VALUE(value, word) value,
#define RULE_WORD(value, word) { word, value },

/* Moments at which a connection can be cut; MOMENT_CALLED never at random */
#define MOMENTS(X)							\
	X(MOMENT_CALL, "call")		/* the Call has arrived */	\
	X(MOMENT_READ, "read")		/* between RDMA Reads and nfsd */ \
	X(MOMENT_WRITE, "write")	/* amid the RDMA Writes */	\
	X(MOMENT_REPLY, "reply")	/* before the Send */		\
	X(MOMENT_SENT, "sent")		/* after the Send */		\
	X(MOMENT_CALLED, "called")	/* after reverse-direction Calls */
enum moment {
	MOMENT_NEVER,
	MOMENTS(RULE_VALUE)
	MOMENT_MAX,
};

/* How a Write or Reply chunk is returned */
#define CHUNK_LIES(X)							\
	X(CHUNK_LONGER, "longer")	/* with a number of bytes more */ \
	X(CHUNK_HUGE, "huge")		/* every length 2^32-1 */	\
	X(CHUNK_HANDLE, "handle")	/* other handles */		\
	X(CHUNK_SPLIT, "split")		/* and a segment of length 0 */	\
	X(CHUNK_NONE, "none")		/* not returned */		\
	X(CHUNK_NO_SEGMENTS, "no-segments") /* with a count of zero */	\
	X(CHUNK_PAD, "pad")		/* with XDR roundup, written */	\
	X(CHUNK_ROUNDUP, "roundup")	/* which is written, too */	\
	X(CHUNK_UNUSED, "unused")	/* but garbage was written */	\
	X(CHUNK_IGNORED, "ignored")	/* neither written nor returned */
enum chunk_lie {
	CHUNK_TRUE,
	CHUNK_LIES(RULE_VALUE)
};

#define ERROR_KINDS(X)							\
	X(ERROR_VERS, "version")					\
	X(ERROR_CHUNK, "chunk")						\
	X(ERROR_UNKNOWN, "unknown")	/* rdma_err 77 */		\
	X(ERROR_BARE, "bare")		/* the fixed part only */	\
	X(ERROR_VERS_CUT, "version-cut") /* without its range */	\
	X(ERROR_VERS_ONE, "version-one") /* in the Call's, range 1 to 1 */ \
	X(ERROR_VERS_NONE, "version-none") /* the same, 3 to 4 */	\
	X(ERROR_OPTION, "option")	/* INVAL_OPTION */		\
	X(ERROR_HEADER, "header")	/* BAD_HEADER */
enum error_kind {
	ERROR_NONE,
	ERROR_KINDS(RULE_VALUE)
};

#define INVALS(X)							\
	X(INVAL_NONE, "none")						\
	X(INVAL_OWN, "own")		/* even if the client cannot */	\
	X(INVAL_TWICE, "twice")		/* in two copies of the Reply */ \
	X(INVAL_NEIGHBOUR, "neighbour")	/* an rkey of another RPC */	\
	X(INVAL_UNKNOWN, "unknown")	/* an rkey of no RPC */
enum inval {
	INVAL_HONEST,
	INVALS(RULE_VALUE)
};

#define REVERSES(X)							\
	X(REVERSE_PLAIN, "plain")					\
	X(REVERSE_UNSERVED, "unserved")	/* the client has no service */	\
	X(REVERSE_CHUNKS, "chunks")					\
	X(REVERSE_LARGE, "large")	/* as the threshold allows */	\
	X(REVERSE_HUGE, "huge")		/* exceeds client's Receives */	\
	X(REVERSE_SAME, "same")		/* XID of the Call in flight */	\
	X(REVERSE_LONG, "long")		/* Reply exceeds 1024 bytes */	\
	X(REVERSE_XID, "xid")		/* and a Reply with that XID */	\
	X(REVERSE_OPTION, "option")	/* version 2: invalidation */	\
	X(REVERSE_UNKNOWN, "unknown")	/* version 2: unknown option */
enum reverse {
	REVERSE_NONE,
	REVERSES(RULE_VALUE)
	REVERSE_FRAME,		/* word by word, to be rejected */
};

/*
 * RDMA that the client's device has to refuse. LATE: a chunk of an earlier
 * Call; ELSEWHERE: of another connection's Call; KEY: the previous key byte
 */
#define TRESPASSES(X)							\
	X(TRESPASS_WRITE_LATE, "write-late")				\
	X(TRESPASS_READ_LATE, "read-late")				\
	X(TRESPASS_ZERO_LATE, "zero-late")				\
	X(TRESPASS_REPLY_LATE, "reply-late")				\
	X(TRESPASS_WRITE_KEY, "write-previous-key")			\
	X(TRESPASS_READ_WRITE, "read-of-write-chunk")			\
	X(TRESPASS_WRITE_READ, "write-to-read-chunk")			\
	X(TRESPASS_PAST_END, "write-past-end")				\
	X(TRESPASS_WRITE_ELSEWHERE, "write-elsewhere")			\
	X(TRESPASS_READ_ELSEWHERE, "read-elsewhere")
enum trespass {
	TRESPASS_NONE,
	TRESPASSES(RULE_VALUE)
};

#define MAX_FRAME	48U

enum frame_how {
	FRAME_BEFORE,		/* the Reply */
	FRAME_INSTEAD,		/* of the Reply */
	FRAME_REFUSED,		/* before it; the client answers ERR_CHUNK */
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
	bool		body_xid;	/* an XID that differs from the header's */
	bool		oversize;	/* RDMA_MSG of any length */
	bool		inline_pad;	/* XDR roundup, behind the length */
	uint32_t	verifier;	/* bytes of an AUTH_SHORT verifier */
	uint32_t	trailer;	/* bytes behind the data, inline */
	bool		msgp;
	bool		done;		/* RDMA_DONE before the Reply */
	bool		other_first;	/* a copy with an unused XID */
	uint32_t	copies;		/* copies of the Reply behind it */
	enum error_kind	error;		/* instead of the Reply */
	enum error_kind	error_other;	/* before it, with an unknown XID */
	enum inval	inval;
	enum reverse	reverse;	/* before the Reply */
	uint32_t	reverse_count;
	bool		ask;		/* hold it until they are answered */
	bool		ask_leave;	/* disconnect after them */
	enum trespass	trespass;	/* before the Reply */
	enum moment	kill;
	bool		disconnect;
	bool		hold;		/* until SIGUSR1 */
	uint32_t	gather;		/* until that many Replies are held */
	bool		burst;		/* do not wait for Sends */
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

/* ---- proxy_nfsd.c: nfsd's side ------------------------------------------ */

int nfsd_connect(void);
void nfsd_send(const uint8_t *msg, uint32_t len);
/* Length of the next whole message, or 0 if there is none yet */
uint32_t nfsd_receive(uint8_t **msg);

/* ---- proxy_conn.c: the client's side, one operation after the other ----- */

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
	bool burst;			/* do not wait for Sends */
	bool immediate;			/* RDMA Writes consume Receives */
	/* Calls that arrived and that were answered, in the Sends' order */
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

/* ---- proxy_call.c: Calls on their way to nfsd --------------------------- */

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

/* ---- proxy_reverse.c: the reverse direction ----------------------------- */

void reverse_send(struct call *call);
/* Before the Reply, or the one instead of it; false: there is none */
bool frames_send(struct call *call, bool instead);
void reverse_answered(struct conn *conn, const struct rpcrdma_hdr *hdr);

/* ---- proxy_trespass.c: RDMA that the client's device must refuse -------- */

/* Returns false if the Reply is to be sent */
bool trespass(struct call *call);

/* ---- proxy_reply.c: Replies on their way to the client ------------------ */

void reply_send(struct call *call);
void reply_ask(struct call *call);

#endif /* PROXY_H */
