/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Verbs for programs that misbehave: one RC connection at a time in a hand that
 * chooses everything (private data, number of Receives, access rights, when the
 * queue pair dies). On librdmacm and libibverbs, in user space.
 *
 *	struct vb_attr attr = VB_ATTR;
 *	conn = vb_connect("10.0.0.1", 20049, &attr, 5000);
 *	vb_send(conn, frame, len, 0, 0, cookie);
 *	while (vb_next(conn, 1000, &ev))
 *		switch (ev.what) { case VB_RECV: … vb_recv_done(conn, &ev); }
 *	vb_free(conn);
 *
 * A Responder: vb_listen(), vb_next_request(), vb_accept(). A program with many
 * connections polls the descriptors of vb_fds() and calls vb_next() with a
 * timeout of 0 until it returns 0.
 *
 * One device and one protection domain per process. Functions that return a
 * pointer or an int return NULL or -1 on failure, and vb_why() says why. No
 * function waits longer than the milliseconds that it is given. Not for threads.
 */
#ifndef PEER_VERBS_H
#define PEER_VERBS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/**
 * struct vb_attr - what a connection is made with
 * @priv: CM private data of the Connect Request or Reply
 * @priv_len: octets of it; at most 56 in a Request (the CM's header takes 36 of
 *	92), 196 in a Reply
 * @recvs: Receive buffers, posted before the handshake
 * @hold: so many of them are not: vb_post_recvs() posts them
 * @recv_size: octets of each
 * @repost: vb_recv_done() posts the Receive again
 * @sends: most Sends and other operations outstanding
 * @send_size: most octets of a Send
 * @responder_resources: RDMA Reads that we respond to at a time
 * @initiator_depth: RDMA Reads that we start at a time
 * @retry: transport retries, 0..7
 * @rnr_retry: the same for Receiver Not Ready; 7 means for ever
 * @ack_timeout: how long the device waits for an acknowledgement, 4.096 us to the power of
 *	two of it, 1..31; 0: the connection manager's own. The passive side's device is told
 * @unestablished: as the active side, never complete the handshake; the queue pair is
 *	ready to send all the same
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
 * enum vb_what - what happened
 * @VB_RECV: a message: @data, @len, @invalidated, @inv_rkey; give it back with
 *	vb_recv_done()
 * @VB_DONE: an operation of ours completed: @cookie, @status
 * @VB_UP: the connection is established (an accepted one only)
 * @VB_DOWN: it is no more; @why says how it was noticed. Comes once
 */
enum vb_what { VB_RECV = 1, VB_DONE, VB_UP, VB_DOWN };

struct vb_event {
	enum vb_what what;
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
 * struct vb_mr - memory that the peer may be given access to
 * @addr: where it is; also the address that the wire names
 * @len: octets
 * @mr: registration; @mr->rkey is the handle for the wire
 */
struct vb_mr {
	uint8_t *addr;
	size_t len;
	struct ibv_mr *mr;
};

#define VB_MAX_WINDOWS	64

/**
 * struct vb_conn - a connection
 * @peer_priv: private data that the other side sent, the CM's padding included
 * @peer_priv_len: octets of it
 * @peer_reads: RDMA Reads that the other side responds to at a time
 * @up: established and not yet down
 * @posted: Receives posted and not yet consumed
 * @owner: the caller's
 *
 * The rest is verbs.c's own business.
 */
struct vb_conn {
	uint8_t peer_priv[256];
	uint32_t peer_priv_len;
	uint32_t peer_reads;
	int up;
	uint32_t posted;
	void *owner;

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
	int told;		/* the other side has disconnected */
	char why[128];
};

/* What the last failed call of any function complains about */
const char *vb_why(void);

/* The protection domain of this process, on the first RDMA device */
struct ibv_pd *vb_pd(void);

/* @access: IBV_ACCESS_…; local write is always granted. Zeroed, page-aligned */
struct vb_mr *vb_alloc(size_t len, int access);
void vb_dealloc(struct vb_mr *mr);

/* ---- making and ending a connection ---- */

/* All of it, until established. On refusal NULL, and vb_why() has the status */
struct vb_conn *vb_connect(const char *addr, int port,
			   const struct vb_attr *attr, int ms);
/* Only as far as the Connect Request: nothing that comes back is answered
 * until vb_connect_finish(), which waits for it
 */
struct vb_conn *vb_connect_start(const char *addr, int port,
				 const struct vb_attr *attr, int ms);
int vb_connect_finish(struct vb_conn *conn, int ms);

struct vb_listener {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
};

/* @addr: "0.0.0.0" for any */
struct vb_listener *vb_listen(const char *addr, int port);
void vb_unlisten(struct vb_listener *listener);
/* The next Connect Request, its private data in @peer_priv; NULL when none came */
struct vb_conn *vb_next_request(struct vb_listener *listener, int ms);
/* VB_UP follows; messages may come before it */
int vb_accept(struct vb_conn *conn, const struct vb_attr *attr);
int vb_reject(struct vb_conn *conn, const void *priv, uint8_t len);

/* The queue pair stops at once and answers nothing; the other side is not told */
int vb_kill(struct vb_conn *conn);
/* A disconnect as it should be; VB_DOWN follows */
int vb_disconnect(struct vb_conn *conn);
/* Everything goes; a connection that still stands is ended by the CM */
void vb_free(struct vb_conn *conn);

/* ---- what a connection does ---- */

/* The octets are copied. @with_inv: Send With Invalidate of @inv_rkey */
int vb_send(struct vb_conn *conn, const void *data, uint32_t len, int with_inv,
	    uint32_t inv_rkey, uint32_t cookie);
/* Sends that are not complete yet: vb_next() sees to that */
int vb_sending(const struct vb_conn *conn);
/* RDMA Write from, RDMA Read to @mr; the other side is named by @rkey, @raddr */
int vb_write(struct vb_conn *conn, struct vb_mr *mr, size_t offset,
	     uint32_t len, uint32_t rkey, uint64_t raddr, uint32_t cookie);
/* The same, and it uses up a Receive of the other side's */
int vb_write_imm(struct vb_conn *conn, struct vb_mr *mr, size_t offset,
		 uint32_t len, uint32_t rkey, uint64_t raddr, uint32_t cookie);
int vb_read(struct vb_conn *conn, struct vb_mr *mr, size_t offset,
	    uint32_t len, uint32_t rkey, uint64_t raddr, uint32_t cookie);
/* A memory window (type 2) on part of @mr, which has IBV_ACCESS_MW_BIND: unlike
 * an MR's, its rkey can be invalidated by the other side's Send. Posts the Bind,
 * which completes as VB_DONE. It lives as long as the connection.
 */
struct ibv_mw *vb_window(struct vb_conn *conn, struct vb_mr *mr, size_t offset,
			 size_t len, int access, uint32_t cookie);
/* @n more Receives, of the buffers that are free */
int vb_post_recvs(struct vb_conn *conn, uint32_t n);
void vb_recv_done(struct vb_conn *conn, const struct vb_event *ev);

/* The next event, or 0 when there is none within @ms. Events that came before
 * the connection went down come before VB_DOWN.
 */
int vb_next(struct vb_conn *conn, int ms, struct vb_event *ev);
/* Where poll(2) sees that vb_next() may have something */
void vb_fds(struct vb_conn *conn, struct pollfd fds[2]);

#endif /* PEER_VERBS_H */
