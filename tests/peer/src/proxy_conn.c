// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The client's side of the proxy: connections, their credits, and operations.
 * Each operation completes before the next one, so that its outcome is known.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy.h"

/* More than any client may have Calls in flight */
#define RECVS		1024U
/* A burst of Replies and reverse-direction Calls */
#define SENDS		160U
#define STASH		(2 * RECVS)
#define OPERATION_MS	60000

const struct rpcrdma_limits limits = {
	.vers_min = RPCRDMA_V1,
	.vers_max = RPCRDMA_V2,
	.max_read_segs = 1024,
	.max_write_segs = 1024,
	.max_write_chunks = 16,
	.max_message = MAX_MESSAGE,
};

/* Source of RDMA Writes and target of RDMA Reads */
static struct vb_mr *memory(void)
{
	static struct vb_mr *mr;

	if (!mr)
		mr = vb_alloc(MAX_MESSAGE, 0);
	if (!mr)
		errx(1, "memory: %s", vb_why());
	return mr;
}

static void negotiate(struct conn *conn, uint8_t priv[RPCRDMA_CMP_LEN])
{
	struct rpcrdma_cm_private peer, local = {
		.present = true,
		.remote_inv = conn->terms.remote_inv,
		.send_size = conn->terms.send_size,
		.recv_size = conn->terms.recv_size,
	};

	rpcrdma_cm_private_encode(priv, RPCRDMA_CMP_LEN, &local);
	rpcrdma_cm_private_decode(&peer, conn->vb->peer_priv,
				  conn->vb->peer_priv_len);
	rpcrdma_cm_private_combine(&conn->prop, &local, &peer);
	conn->client_recv = peer.recv_size;
	say("connection %u: client sends %u takes %u%s; threshold of Replies %u",
	    conn->number, peer.send_size, peer.recv_size,
	    peer.remote_inv ? " R" : "", conn->prop.inline_send);
}

struct conn *conn_accept(struct vb_listener *listener, unsigned int number)
{
	uint8_t priv[RPCRDMA_CMP_LEN];
	struct vb_attr attr = VB_ATTR;
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		errx(1, "no memory");
	conn->vb = vb_next_request(listener, 1000);
	conn->stash = calloc(STASH, sizeof(*conn->stash));
	conn->number = number;
	if (!conn->vb || !conn->stash) {
		say("Connect Request: %s", vb_why());
		conn_free(conn);
		return NULL;
	}
	report.last_killed = false;
	rules_terms(number, &conn->terms);
	negotiate(conn, priv);
	attr.recvs = RECVS;
	attr.recv_size = conn->terms.recv_size;
	attr.sends = SENDS;
	attr.send_size = MAX_THRESHOLD;
	attr.priv = priv;
	attr.priv_len = conn->terms.private_data ? sizeof(priv) : 0;
	if (!vb_accept(conn->vb, &attr))
		return conn;
	say("connection %u: %s", number, vb_why());
	conn_free(conn);
	return NULL;
}

void conn_free(struct conn *conn)
{
	vb_free(conn->vb);
	free(conn->stash);
	free(conn);
}

/* Stops the queue pair. The main loop frees the connection */
void conn_kill(struct conn *conn, const char *why)
{
	if (conn->dead)
		return;
	say("connection %u: killed %s", conn->number, why);
	report.kills++;
	if (conn->number == report.connections)
		report.last_killed = true;
	vb_kill(conn->vb);
	conn->dead = true;
}

static void conn_down(struct conn *conn, const char *why)
{
	if (!conn->dead)
		say("connection %u: down: %s", conn->number, why);
	conn->dead = true;
}

bool is_answer(const struct rpcrdma_hdr *hdr)
{
	return hdr->proc == RPCRDMA_ERROR || hdr->direction == RPCRDMA_DIR_REPLY;
}

/* ---- credits ------------------------------------------------------------ */

/* The client's slots: its limit of Calls in flight, whatever was granted */
#define MOST_CREDITS	128U

/* A Requester treats a grant of zero as one, and has a number of slots */
void conn_grant(struct conn *conn, uint32_t credits)
{
	credits = min(credits ? credits : 1, MOST_CREDITS);
	conn->grants[++conn->answered % MAX_GRANTS] = credits;
}

/* Before the first Reply there is one credit */
static uint32_t grant_after(const struct conn *conn, uint32_t answers)
{
	return answers ? conn->grants[answers % MAX_GRANTS] : 1;
}

/*
 * When the client sent this Call it knew of a number of answers: at least
 * @known, as it knew of those before, and at most all that were sent. The Calls
 * that arrived since, including this one, were in flight, and the last of those
 * answers had to grant them. The least number that explains the Call leaves
 * most to later ones.
 */
static bool is_granted(struct conn *conn)
{
	uint32_t answers = conn->known;

	if (conn->answered >= MAX_GRANTS && answers <= conn->answered - MAX_GRANTS)
		answers = conn->answered - MAX_GRANTS + 1;
	for (; answers <= conn->answered; answers++) {
		if (conn->arrived - answers > grant_after(conn, answers))
			continue;
		conn->known = answers;
		return true;
	}
	return false;
}

static void count_credits(struct conn *conn, const struct vb_event *ev)
{
	struct rpcrdma_hdr hdr;
	uint32_t n;

	rpcrdma_decode(&hdr, ev->data, ev->len, &limits);
	if (hdr.fault || is_answer(&hdr))
		return;
	n = ++conn->arrived - conn->answered;
	report.most = max(report.most, n);
	if (is_granted(conn))
		return;
	say("connection %u: %u Calls in flight, %u granted", conn->number, n,
	    grant_after(conn, conn->answered));
	report.exceeded++;
}

/* ---- operations --------------------------------------------------------- */

/* poll(2) does not see stashed messages */
bool conn_waiting(const struct conn *conn)
{
	return !conn->dead && conn->stash_head != conn->stash_tail;
}

/* The next message; false when there is none now */
bool conn_next(struct conn *conn, struct vb_event *ev)
{
	if (conn->dead)
		return false;
	if (conn->stash_head != conn->stash_tail) {
		*ev = conn->stash[conn->stash_head++ % STASH];
		return true;
	}
	while (vb_next(conn->vb, 0, ev)) {
		if (ev->type == VB_RECV) {
			count_credits(conn, ev);
			return true;
		}
		if (ev->type == VB_DOWN) {
			conn_down(conn, ev->why);
			return false;
		}
	}
	return false;
}

/* Waits for the last posted operation */
static enum ibv_wc_status finish(struct conn *conn)
{
	struct vb_event ev;

	while (vb_next(conn->vb, OPERATION_MS, &ev)) {
		if (ev.type == VB_RECV) {
			count_credits(conn, &ev);
			conn->stash[conn->stash_tail++ % STASH] = ev;
		} else if (ev.type == VB_DOWN) {
			conn_down(conn, ev.why);
		} else if (ev.type == VB_DONE && ev.cookie == conn->cookie) {
			if (ev.status != IBV_WC_SUCCESS)
				conn_down(conn, ibv_wc_status_str(ev.status));
			return ev.status;
		}
	}
	conn_down(conn, "an operation does not complete");
	return IBV_WC_GENERAL_ERR;
}

static enum ibv_wc_status posted(struct conn *conn, int rc)
{
	if (!rc)
		return finish(conn);
	conn_down(conn, vb_why());
	return IBV_WC_GENERAL_ERR;
}

static enum ibv_wc_status rdma(struct conn *conn, int rc)
{
	enum ibv_wc_status status = posted(conn, rc);

	report.refused += vb_is_refused(status);
	return status;
}

/* Send With Invalidate if there is an @inv_rkey */
enum ibv_wc_status conn_send(struct conn *conn, const uint8_t *msg,
			     uint32_t len, const uint32_t *inv_rkey)
{
	int rc;

	if (conn->dead)
		return IBV_WC_WR_FLUSH_ERR;
	report.sends_inv += !!inv_rkey;
	rc = vb_send(conn->vb, msg, len, !!inv_rkey, inv_rkey ? *inv_rkey : 0,
		     ++conn->cookie);
	return conn->burst && !rc ? IBV_WC_SUCCESS : posted(conn, rc);
}

enum ibv_wc_status conn_write(struct conn *conn,
			      const struct rpcrdma_segment *seg,
			      const uint8_t *data, uint32_t len)
{
	struct vb_mr *mr = memory();

	if (conn->dead)
		return IBV_WC_WR_FLUSH_ERR;
	if (!len)
		return IBV_WC_SUCCESS;
	memcpy(mr->addr, data, len);
	return rdma(conn, vb_rdma(conn->vb, conn->immediate ?
				  IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
				  mr, 0, len, seg->handle, seg->offset, ++conn->cookie));
}

enum ibv_wc_status conn_read(struct conn *conn,
			     const struct rpcrdma_segment *seg, uint8_t *to)
{
	struct vb_mr *mr = memory();
	enum ibv_wc_status status;

	if (conn->dead)
		return IBV_WC_WR_FLUSH_ERR;
	if (seg->length > MAX_MESSAGE)
		errx(1, "a Read segment of %u bytes", seg->length);
	if (!seg->length)
		return IBV_WC_SUCCESS;
	status = rdma(conn, vb_rdma(conn->vb, IBV_WR_RDMA_READ, mr, 0, seg->length,
				    seg->handle, seg->offset, ++conn->cookie));
	memcpy(to, mr->addr, seg->length);
	return status;
}
