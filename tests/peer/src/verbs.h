/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Verbs for programs that misbehave, on librdmacm and libibverbs. The caller
 * chooses private data, number of Receives, access rights, and when the queue
 * pair dies.
 *
 *	struct vb_attr attr = VB_ATTR;
 *	conn = vb_connect("10.0.0.1", 20049, &attr, 5000);
 *	vb_send(conn, frame, len, 0, 0, cookie);
 *	while (vb_next(conn, 1000, &ev))
 *		switch (ev.type) { case VB_RECV: … vb_recv_done(conn, &ev); }
 *	vb_free(conn);
 *
 * A passive side uses vb_listen(), vb_next_request() and vb_accept(). A program
 * with many connections polls the descriptors of vb_fds() and calls vb_next()
 * with a timeout of 0 until it returns 0.
 *
 * One device and one protection domain per process. On failure, functions
 * return NULL or -1, and vb_why() returns the cause. A function waits up to the
 * milliseconds that it is given. Not thread-safe.
 */
#ifndef PEER_VERBS_H
#define PEER_VERBS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/**
 * struct vb_attr - parameters of a connection
 * @priv: CM private data of the Connect Request or Reply
 * @priv_len: its bytes; up to 56 in a Request (the CM's header takes 36 of 92),
 *	196 in a Reply
 * @recvs: Receive buffers, posted before the handshake
 * @hold: number of them that are left for vb_post_recvs()
 * @recv_size: bytes of each
 * @repost: vb_recv_done() posts the Receive again
 * @sends: limit of outstanding Sends and other operations
 * @send_size: limit of a Send, bytes
 * @responder_resources: RDMA Reads that this side responds to at a time
 * @initiator_depth: RDMA Reads that this side starts at a time
 * @retry: transport retries, 0..7
 * @rnr_retry: retries after Receiver Not Ready; 7: without limit
 * @ack_timeout: N, 1..31: the devices of both sides wait 4.096 us * 2^N for an
 *	acknowledgement; 0: the connection manager's choice
 * @unestablished: the active side never completes the handshake, but its queue
 *	pair is ready to send
 */
struct vb_attr {
	const void *priv;
	uint8_t priv_len;
	uint32_t recvs;
	uint32_t hold;
	uint32_t recv_size;
	int repost;
	uint32_t sends;
	uint32_t send_size;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry;
	uint8_t rnr_retry;
	uint8_t ack_timeout;
	int unestablished;
};

#define VB_ATTR {				\
	.recvs = 64, .recv_size = 65536,	\
	.repost = 1,				\
	.sends = 128, .send_size = 65536,	\
	.responder_resources = 16,		\
	.initiator_depth = 16,			\
	.retry = 6, .rnr_retry = 6,		\
}

/**
 * enum vb_type - kinds of events
 * @VB_RECV: a message: @data, @len, @invalidated, @inv_rkey; return its buffer
 *	with vb_recv_done()
 * @VB_DONE: an operation completed: @cookie, @status
 * @VB_DOWN: the connection is down, for the reason @why; returned once
 */
enum vb_type { VB_RECV = 1, VB_DONE, VB_DOWN };

struct vb_event {
	enum vb_type type;
	const uint8_t *data;
	uint32_t len;
	int invalidated;
	uint32_t inv_rkey;
	uint32_t slot;
	uint32_t cookie;
	enum ibv_wc_status status;
	const char *why;
};

/**
 * struct vb_mr - registered memory
 * @addr: address, here and on the wire
 * @len: bytes
 * @mr: registration; @mr->rkey is the handle on the wire
 */
struct vb_mr {
	uint8_t *addr;
	size_t len;
	struct ibv_mr *mr;
};

#define VB_MAX_WINDOWS	64

/**
 * struct vb_conn - a connection
 * @peer_priv: the other side's private data, with the CM's padding
 * @peer_priv_len: bytes of it
 * @peer_reads: RDMA Reads that the other side responds to at a time
 * @told: the other side has disconnected
 *
 * The other members are private to verbs*.c.
 */
struct vb_conn {
	uint8_t peer_priv[256];
	uint32_t peer_priv_len;
	uint32_t peer_reads;
	int told;

	struct vb_attr attr;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *comps;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct vb_mr *recv_mem;
	struct vb_mr *send_mem;
	struct ibv_mw *windows[VB_MAX_WINDOWS];
	int nr_windows;
	uint8_t *send_busy;
	uint8_t *recv_busy;
	int down_told;
	int cm_down;
	char why[128];
};

/* The cause of the last failure */
const char *vb_why(void);

/* The protection domain of this process, on the first RDMA device */
struct ibv_pd *vb_pd(void);

int64_t vb_now_ms(void);

/* @access: IBV_ACCESS_…, beside local write. The memory is zeroed */
struct vb_mr *vb_alloc(size_t len, int access);
void vb_dealloc(struct vb_mr *mr);

/* ---- connection setup and teardown ---- */

/* Until established. If it is rejected, vb_why() has the status */
struct vb_conn *vb_connect(const char *addr, int port,
			   const struct vb_attr *attr, int ms);
/* Sends the Connect Request. vb_connect_finish() waits for the answer */
struct vb_conn *vb_connect_start(const char *addr, int port,
				 const struct vb_attr *attr, int ms);
int vb_connect_finish(struct vb_conn *conn, int ms);

struct vb_listener {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
};

/* @addr: "0.0.0.0" for any. After a failure the caller ends the program */
struct vb_listener *vb_listen(const char *addr, int port);
/* The next Connect Request, its private data in @peer_priv */
struct vb_conn *vb_next_request(struct vb_listener *listener, int ms);
int vb_accept(struct vb_conn *conn, const struct vb_attr *attr);

/* Moves the queue pair to the error state. The CM sends nothing */
int vb_kill(struct vb_conn *conn);
/* VB_DOWN follows */
int vb_disconnect(struct vb_conn *conn);
/* The CM ends a connection that is still up */
void vb_free(struct vb_conn *conn);

/* ---- messages and RDMA ---- */

/* Copies the data. @with_inv: Send With Invalidate of @inv_rkey */
int vb_send(struct vb_conn *conn, const void *data, uint32_t len, int with_inv,
	    uint32_t inv_rkey, uint32_t cookie);
/* Number of Sends that have not completed; vb_next() polls the completions */
int vb_sending(const struct vb_conn *conn);
/*
 * Whether the other side refused RDMA. An executed operation is acknowledged, at the latest when
 * it is repeated. rxe sends no NAK if the Responder's queue pair is in the error state by then, so
 * no answer at all is a refusal too.
 */
int vb_is_refused(enum ibv_wc_status status);
/*
 * RDMA Write from @mr or RDMA Read to it; @rkey and @raddr name the other
 * side's memory. IBV_WR_RDMA_WRITE_WITH_IMM consumes a Receive of the other
 * side.
 */
int vb_rdma(struct vb_conn *conn, enum ibv_wr_opcode opcode, struct vb_mr *mr,
	    size_t offset, uint32_t len, uint32_t rkey, uint64_t raddr, uint32_t cookie);
/*
 * A memory window (type 2) on part of @mr, which has IBV_ACCESS_MW_BIND. A Send
 * of the other side can invalidate its rkey, unlike an MR's. Posts the Bind,
 * which completes as VB_DONE. vb_free() frees the window.
 */
struct ibv_mw *vb_window(struct vb_conn *conn, struct vb_mr *mr, size_t offset,
			 size_t len, int access, uint32_t cookie);
/* Posts @n Receives, of the buffers that are free */
int vb_post_recvs(struct vb_conn *conn, uint32_t n);
void vb_recv_done(struct vb_conn *conn, const struct vb_event *ev);

/* Returns 0 if there is no event within @ms. VB_DOWN comes last */
int vb_next(struct vb_conn *conn, int ms, struct vb_event *ev);
/* Descriptors that are readable when vb_next() may have an event */
void vb_fds(struct vb_conn *conn, struct pollfd fds[2]);

#endif /* PEER_VERBS_H */
