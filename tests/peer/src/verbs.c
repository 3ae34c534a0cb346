// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * See verbs.h. A wr_id has the kind of a work request in its upper half and the
 * caller's cookie, or the number of a Receive, in its lower one; that of a Send
 * also has the number of its buffer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "verbs.h"
#include "verbs_int.h"

enum { WR_RECV = 1, WR_SEND, WR_OTHER };

#define WR_ID(kind, slot, cookie) \
	((uint64_t)(kind) << 56 | (uint64_t)(slot) << 32 | (uint32_t)(cookie))
#define WR_KIND(id)	((id) >> 56)
#define WR_SLOT(id)	((uint32_t)((id) >> 32) & 0xffffff)

/*
 * rxe returns the kernel's value. User space reads it as IBV_WC_IP_CSUM_OK,
 * which no reliable connection has.
 */
#define KERNEL_WITH_INV	(1 << 2)

static char why[256];

const char *vb_why(void)
{
	return why;
}

int vb_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return -1;
}

int vb_fail_errno(const char *call)
{
	return vb_fail("%s: %s", call, strerror(errno));
}

int64_t vb_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

int vb_ms_left(int64_t end)
{
	int64_t left = end - vb_now_ms();

	return left > 0 ? left : 0;
}

/* NULL: no CM event within @ms. The caller acknowledges the event */
struct rdma_cm_event *vb_cm_wait(struct rdma_event_channel *ch, int ms)
{
	struct pollfd fd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&fd, 1, ms) <= 0) {
		vb_fail("no CM event in %d ms", ms);
		return NULL;
	}
	if (rdma_get_cm_event(ch, &event)) {
		vb_fail_errno("rdma_get_cm_event");
		return NULL;
	}
	return event;
}

/* ---- memory ---- */

struct ibv_pd *vb_pd(void)
{
	static struct ibv_pd *pd;
	struct ibv_context **devices;
	int n;

	if (pd)
		return pd;
	/* librdmacm's own contexts: a CM id's verbs is one of them */
	devices = rdma_get_devices(&n);
	if (!devices || !n) {
		vb_fail("no RDMA device");
		return NULL;
	}
	pd = ibv_alloc_pd(devices[0]);
	if (!pd)
		vb_fail_errno("ibv_alloc_pd");
	rdma_free_devices(devices);
	return pd;
}

/*
 * Memory does not begin at a page boundary: rxe of 6.1 reads one pointer past
 * its table when it copies the end of an MR of exactly 256 pages.
 */
#define SKEW	64

struct vb_mr *vb_alloc(size_t len, int access)
{
	struct vb_mr *m = calloc(1, sizeof(*m));

	if (!m || !vb_pd())
		goto out;
	m->len = len;
	m->addr = mmap(NULL, len + SKEW, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (m->addr == MAP_FAILED) {
		vb_fail_errno("mmap");
		goto out;
	}
	m->addr += SKEW;
	m->mr = ibv_reg_mr(vb_pd(), m->addr, len, access | IBV_ACCESS_LOCAL_WRITE);
	if (m->mr)
		return m;
	vb_fail_errno("ibv_reg_mr");
	munmap(m->addr - SKEW, len + SKEW);
out:
	free(m);
	return NULL;
}

void vb_dealloc(struct vb_mr *m)
{
	if (!m)
		return;
	ibv_dereg_mr(m->mr);
	munmap(m->addr - SKEW, m->len + SKEW);
	free(m);
}

/* ---- work requests ---- */

static int post(struct vb_conn *c, struct ibv_send_wr *wr, const char *name)
{
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(c->qp, wr, &bad);

	if (!rc)
		return 0;
	errno = rc;
	return vb_fail_errno(name);
}

static int free_slot(struct vb_conn *c)
{
	uint32_t i;

	for (i = 0; i < c->attr.sends; i++)
		if (!c->send_busy[i])
			return i;
	return vb_fail("all %u Sends are outstanding", c->attr.sends);
}

int vb_send(struct vb_conn *c, const void *data, uint32_t len, int with_inv,
	    uint32_t inv_rkey, uint32_t cookie)
{
	int slot = free_slot(c);
	struct ibv_sge sge = { .length = len };
	struct ibv_send_wr wr = {
		.opcode = with_inv ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	uint8_t *buf;

	if (slot < 0)
		return -1;
	if (len > c->attr.send_size)
		return vb_fail("a Send of %u bytes", len);
	buf = c->send_mem->addr + (size_t)slot * c->attr.send_size;
	memcpy(buf, data, len);
	sge.addr = (uintptr_t)buf;
	sge.lkey = c->send_mem->mr->lkey;
	wr.wr_id = WR_ID(WR_SEND, slot, cookie);
	wr.invalidate_rkey = inv_rkey;
	if (post(c, &wr, "Send"))
		return -1;
	c->send_busy[slot] = 1;
	return 0;
}

int vb_sending(const struct vb_conn *c)
{
	uint32_t i;
	int n = 0;

	for (i = 0; i < c->attr.sends; i++)
		n += c->send_busy[i];
	return n;
}

int vb_is_refused(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	       status == IBV_WC_RETRY_EXC_ERR;
}

int vb_rdma(struct vb_conn *c, enum ibv_wr_opcode opcode, struct vb_mr *m,
	    size_t offset, uint32_t len, uint32_t rkey, uint64_t raddr, uint32_t cookie)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)m->addr + offset,
		.length = len,
		.lkey = m->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = WR_ID(WR_OTHER, 0, cookie),
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = raddr, .rkey = rkey },
	};

	if (offset > m->len || len > m->len - offset)
		return vb_fail("%u bytes at %zu of a region of %zu", len, offset, m->len);
	return post(c, &wr, "RDMA operation");
}

struct ibv_mw *vb_window(struct vb_conn *c, struct vb_mr *m, size_t offset,
			 size_t len, int access, uint32_t cookie)
{
	struct ibv_mw *mw = ibv_alloc_mw(vb_pd(), IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {
		.wr_id = WR_ID(WR_OTHER, 0, cookie),
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.bind_info = {
				.mr = m->mr,
				.addr = (uintptr_t)m->addr + offset,
				.length = len,
				.mw_access_flags = access,
			},
		},
	};

	if (!mw || c->nr_windows == VB_MAX_WINDOWS) {
		vb_fail_errno("ibv_alloc_mw");
		return NULL;
	}
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	if (post(c, &wr, "Bind")) {
		ibv_dealloc_mw(mw);
		return NULL;
	}
	mw->rkey = wr.bind_mw.rkey;
	c->windows[c->nr_windows++] = mw;
	return mw;
}

static int post_recv(struct vb_conn *c, uint32_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->recv_mem->addr + (size_t)slot * c->attr.recv_size,
		.length = c->attr.recv_size,
		.lkey = c->recv_mem->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = WR_ID(WR_RECV, slot, 0),
		.sg_list = &sge,
		.num_sge = 1,
	};
	int rc = ibv_post_recv(c->qp, &wr, &bad);

	if (rc) {
		errno = rc;
		return vb_fail_errno("ibv_post_recv");
	}
	c->recv_busy[slot] = 1;
	return 0;
}

int vb_post_recvs(struct vb_conn *c, uint32_t n)
{
	uint32_t i;

	for (i = 0; n && i < c->attr.recvs; i++) {
		if (c->recv_busy[i])
			continue;
		if (post_recv(c, i))
			return -1;
		n--;
	}
	return n ? vb_fail("%u Receive buffers too few", n) : 0;
}

void vb_recv_done(struct vb_conn *c, const struct vb_event *ev)
{
	c->recv_busy[ev->slot] = 0;
	/* A dead queue pair accepts no Receives */
	if (c->attr.repost && !c->cm_down)
		post_recv(c, ev->slot);
}

/* ---- events ---- */

void vb_fds(struct vb_conn *c, struct pollfd fds[2])
{
	fds[0] = (struct pollfd){ .fd = c->comps->fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = c->events->fd, .events = POLLIN };
}

static void went_down(struct vb_conn *c, const char *how)
{
	if (!c->cm_down)
		snprintf(c->why, sizeof(c->why), "%s", how);
	c->cm_down = 1;
}

static int take_wc(struct vb_conn *c, const struct ibv_wc *wc,
		   struct vb_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	if (wc->status != IBV_WC_SUCCESS)
		went_down(c, ibv_wc_status_str(wc->status));
	switch (WR_KIND(wc->wr_id)) {
	case WR_RECV:
		if (wc->status != IBV_WC_SUCCESS) {
			c->recv_busy[WR_SLOT(wc->wr_id)] = 0;
			return 0;
		}
		ev->type = VB_RECV;
		ev->slot = WR_SLOT(wc->wr_id);
		ev->data = c->recv_mem->addr + (size_t)ev->slot * c->attr.recv_size;
		ev->len = wc->byte_len;
		ev->invalidated = !!(wc->wc_flags & (IBV_WC_WITH_INV | KERNEL_WITH_INV));
		ev->inv_rkey = ev->invalidated ? wc->invalidated_rkey : 0;
		return 1;
	case WR_SEND:
		c->send_busy[WR_SLOT(wc->wr_id)] = 0;
		break;
	}
	ev->type = VB_DONE;
	ev->cookie = wc->wr_id;
	ev->status = wc->status;
	return 1;
}

static int next_wc(struct vb_conn *c, struct vb_event *ev)
{
	struct ibv_wc wc;

	while (c->cq && ibv_poll_cq(c->cq, 1, &wc) == 1)
		if (take_wc(c, &wc, ev))
			return 1;
	return 0;
}

static void take_cm(struct vb_conn *c)
{
	struct rdma_cm_event *event = vb_cm_wait(c->events, 0);

	if (!event)
		return;
	if (event->event != RDMA_CM_EVENT_ESTABLISHED &&
	    event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
		/* Also a reject, of a connection that was not established */
		c->told = 1;
		went_down(c, rdma_event_str(event->event));
	}
	rdma_ack_cm_event(event);
}

static int next_down(struct vb_conn *c, struct vb_event *ev)
{
	if (!c->cm_down || c->down_told)
		return 0;
	c->down_told = 1;
	memset(ev, 0, sizeof(*ev));
	ev->type = VB_DOWN;
	ev->why = c->why;
	return 1;
}

/* The next poll finds completions that arrive before the CQ is armed */
static void rearm(struct vb_conn *c)
{
	struct ibv_cq *cq;
	void *context;

	if (!ibv_get_cq_event(c->comps, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		ibv_req_notify_cq(cq, 0);
	}
}

int vb_next(struct vb_conn *c, int ms, struct vb_event *ev)
{
	int64_t end = vb_now_ms() + ms;
	struct pollfd fds[2];
	int n;

	for (;;) {
		/* The CM first: earlier completions then precede VB_DOWN */
		take_cm(c);
		if (next_wc(c, ev) || next_down(c, ev))
			return 1;
		vb_fds(c, fds);
		n = poll(fds, 2, vb_ms_left(end));
		if (n <= 0)
			return 0;
		if (fds[0].revents)
			rearm(c);
	}
}
