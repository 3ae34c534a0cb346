// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * For the bench: the messages of an RPC without the RPC, the least that it can cost. A
 * connection of this module to itself over an RDMA device. A write of "KIND BYTES" to
 * /sys/kernel/debug/rpcfloor does one exchange and waits for its end:
 *
 *	send	Send; Send back
 *	write	Send; RDMA Write of BYTES, Send back
 *	read	Send; RDMA Read of BYTES; Send back
 *
 * Memory is registered once, with the protection domain. Both sides complete in
 * softirqs, or in a workqueue with workqueue=1. One Send in FLOOR_SIGNAL is signalled.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define FLOOR_PORT	20099
#define FLOOR_BYTES	(1U << 20)
/* As a GETATTR and its Reply */
#define FLOOR_MESSAGE	256U
#define FLOOR_RECVS	8
#define FLOOR_SENDS	64
#define FLOOR_SIGNAL	16
#define FLOOR_LIMIT	(10 * HZ)

static char *address = "10.0.0.1";
module_param(address, charp, 0400);
static bool workqueue;
module_param(workqueue, bool, 0400);

enum floor_kind { FLOOR_SEND, FLOOR_WRITE, FLOOR_READ, FLOOR_KINDS };
static const char *const floor_names[] = { "send", "write", "read" };

/* What the client's Send says */
struct floor_request {
	u32 kind;
	u32 bytes;
	u32 rkey;
	u64 addr;
};

struct floor_recv {
	struct ib_cqe cqe;
	struct ib_sge sge;
	struct ib_recv_wr wr;
	void *data;
};

struct floor_side {
	bool server;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	struct floor_recv recvs[FLOOR_RECVS];
	void *message;
	u64 message_dma;
	void *data;
	u64 data_dma;
	struct ib_cqe send_cqe;
	struct ib_cqe read_cqe;
	unsigned int sends;
	struct completion event;
	int status;
};

static struct floor_side client, server = { .server = true };
static struct rdma_cm_id *listener;
static struct dentry *file;
static DEFINE_MUTEX(floor_lock);

static int floor_post_recv(struct floor_side *side, struct floor_recv *recv)
{
	return ib_post_recv(side->qp, &recv->wr, NULL);
}

/* @first: an RDMA Write to precede it, or NULL */
static int floor_post_send(struct floor_side *side, struct ib_send_wr *first)
{
	struct ib_sge sge = {
		.addr = side->message_dma,
		.length = FLOOR_MESSAGE,
		.lkey = side->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &side->send_cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};

	if (!(++side->sends % FLOOR_SIGNAL))
		wr.send_flags = IB_SEND_SIGNALED;
	if (first)
		first->next = &wr;
	return ib_post_send(side->qp, first ? : &wr, NULL);
}

static int floor_rdma(struct floor_side *side, const struct floor_request *req)
{
	struct ib_sge sge = {
		.addr = side->data_dma,
		.length = min(req->bytes, FLOOR_BYTES),
		.lkey = side->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &side->read_cqe,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = req->addr,
		.rkey = req->rkey,
	};

	if (req->kind == FLOOR_WRITE) {
		wr.wr.opcode = IB_WR_RDMA_WRITE;
		return floor_post_send(side, &wr.wr);
	}
	wr.wr.opcode = IB_WR_RDMA_READ;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	return ib_post_send(side->qp, &wr.wr, NULL);
}

static void floor_failed(const char *what, int status)
{
	if (status && status != IB_WC_WR_FLUSH_ERR)
		pr_err("rpcfloor: %s failed: %d\n", what, status);
}

static void floor_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	floor_failed("Send", wc->status);
}

static void floor_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	floor_failed("RDMA Read", wc->status);
	if (wc->status == IB_WC_SUCCESS)
		floor_failed("answer", floor_post_send(&server, NULL));
}

static void floor_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct floor_recv *recv = container_of(wc->wr_cqe, struct floor_recv, cqe);
	struct floor_side *side = cq->cq_context;
	struct floor_request req;
	int rc;

	floor_failed("Receive", wc->status);
	if (wc->status != IB_WC_SUCCESS)
		return;
	memcpy(&req, recv->data, sizeof(req));
	rc = floor_post_recv(side, recv);
	if (!side->server)
		complete(&side->event);
	else if (!rc)
		rc = req.kind == FLOOR_SEND ? floor_post_send(side, NULL) : floor_rdma(side, &req);
	floor_failed("post", rc);
}

static void *floor_map(struct floor_side *side, size_t len, u64 *dma)
{
	void *data = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(len));

	if (!data)
		return NULL;
	*dma = ib_dma_map_single(side->pd->device, data, len, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(side->pd->device, *dma))
		return data;
	free_pages((unsigned long)data, get_order(len));
	return NULL;
}

static void floor_unmap(struct floor_side *side, void *data, u64 dma, size_t len)
{
	if (!data)
		return;
	ib_dma_unmap_single(side->pd->device, dma, len, DMA_BIDIRECTIONAL);
	free_pages((unsigned long)data, get_order(len));
}

static int floor_recvs(struct floor_side *side)
{
	int i, rc = 0;

	for (i = 0; i < FLOOR_RECVS && !rc; i++) {
		struct floor_recv *recv = &side->recvs[i];

		recv->data = floor_map(side, FLOOR_MESSAGE, &recv->sge.addr);
		if (!recv->data)
			return -ENOMEM;
		recv->cqe.done = floor_recv_done;
		recv->sge.length = FLOOR_MESSAGE;
		recv->sge.lkey = side->pd->local_dma_lkey;
		recv->wr.wr_cqe = &recv->cqe;
		recv->wr.sg_list = &recv->sge;
		recv->wr.num_sge = 1;
		rc = floor_post_recv(side, recv);
	}
	return rc;
}

static struct ib_cq *floor_cq(struct floor_side *side, int entries)
{
	struct ib_cq *cq = ib_alloc_cq_any(side->id->device, side, entries,
					   workqueue ? IB_POLL_WORKQUEUE : IB_POLL_SOFTIRQ);

	return IS_ERR(cq) ? NULL : cq;
}

static int floor_setup(struct floor_side *side)
{
	struct ib_qp_init_attr attr = {
		.cap.max_send_wr = FLOOR_SENDS,
		.cap.max_recv_wr = FLOOR_RECVS,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_pd *pd;
	int rc;

	pd = ib_alloc_pd(side->id->device, side->server ? 0 : IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	side->pd = pd;
	side->send_cqe.done = floor_send_done;
	side->read_cqe.done = floor_read_done;
	side->send_cq = floor_cq(side, FLOOR_SENDS);
	side->recv_cq = floor_cq(side, FLOOR_RECVS);
	side->message = floor_map(side, FLOOR_MESSAGE, &side->message_dma);
	side->data = floor_map(side, FLOOR_BYTES, &side->data_dma);
	if (!side->send_cq || !side->recv_cq || !side->message || !side->data)
		return -ENOMEM;
	attr.send_cq = side->send_cq;
	attr.recv_cq = side->recv_cq;
	rc = rdma_create_qp(side->id, pd, &attr);
	if (rc)
		return rc;
	side->qp = side->id->qp;
	return floor_recvs(side);
}

static void floor_teardown(struct floor_side *side)
{
	int i;

	if (!side->id)
		return;
	if (side->qp) {
		rdma_disconnect(side->id);
		ib_drain_qp(side->qp);
		rdma_destroy_qp(side->id);
	}
	if (side->pd) {
		for (i = 0; i < FLOOR_RECVS; i++)
			floor_unmap(side, side->recvs[i].data, side->recvs[i].sge.addr, FLOOR_MESSAGE);
		floor_unmap(side, side->message, side->message_dma, FLOOR_MESSAGE);
		floor_unmap(side, side->data, side->data_dma, FLOOR_BYTES);
		if (side->recv_cq)
			ib_free_cq(side->recv_cq);
		if (side->send_cq)
			ib_free_cq(side->send_cq);
		ib_dealloc_pd(side->pd);
	}
	rdma_destroy_id(side->id);
}

static int floor_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4, .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct floor_side *side = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		/* One only: what comes later is refused */
		if (server.id)
			return -EBUSY;
		server.id = id;
		id->context = &server;
		side = &server;
		side->status = floor_setup(side) ? : rdma_accept(id, &param);
		return 0;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		side->status = 0;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		side->status = event->status ? : -ECONNREFUSED;
	}
	complete(&side->event);
	return 0;
}

static int floor_wait(struct floor_side *side, int rc)
{
	if (!rc && !wait_for_completion_timeout(&side->event, FLOOR_LIMIT))
		rc = -ETIMEDOUT;
	return rc ? : side->status;
}

static int floor_connect(void)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4, .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(FLOOR_PORT),
				   .sin_addr.s_addr = in_aton(address) };
	int rc;

	init_completion(&client.event);
	init_completion(&server.event);
	listener = rdma_create_id(&init_net, floor_event, &server, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	rc = rdma_bind_addr(listener, (struct sockaddr *)&sin) ? : rdma_listen(listener, 1);
	if (rc)
		return rc;
	client.id = rdma_create_id(&init_net, floor_event, &client, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(client.id)) {
		rc = PTR_ERR(client.id);
		client.id = NULL;
		return rc;
	}
	rc = floor_wait(&client, rdma_resolve_addr(client.id, NULL, (struct sockaddr *)&sin, 5000));
	rc = rc ? : floor_wait(&client, rdma_resolve_route(client.id, 5000));
	rc = rc ? : floor_setup(&client);
	rc = rc ? : floor_wait(&client, rdma_connect(client.id, &param));
	return rc ? : floor_wait(&server, 0);
}

static int floor_exchange(enum floor_kind kind, u32 bytes)
{
	struct floor_request req = {
		.kind = kind,
		.bytes = bytes,
		.rkey = client.pd->unsafe_global_rkey,
		.addr = client.data_dma,
	};

	memcpy(client.message, &req, sizeof(req));
	return floor_wait(&client, floor_post_send(&client, NULL));
}

static ssize_t floor_write(struct file *filp, const char __user *from, size_t len, loff_t *pos)
{
	char text[32], name[8];
	u32 bytes;
	int rc;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';
	if (sscanf(text, "%7s %u", name, &bytes) != 2 || bytes > FLOOR_BYTES)
		return -EINVAL;
	rc = match_string(floor_names, FLOOR_KINDS, name);
	if (rc < 0)
		return rc;
	mutex_lock(&floor_lock);
	rc = floor_exchange(rc, bytes);
	mutex_unlock(&floor_lock);
	return rc ? : len;
}

static const struct file_operations floor_fops = {
	.owner = THIS_MODULE,
	.write = floor_write,
};

static void floor_end(void)
{
	if (!IS_ERR_OR_NULL(listener))
		rdma_destroy_id(listener);
	floor_teardown(&client);
	floor_teardown(&server);
}

static int __init floor_init(void)
{
	int rc = floor_connect();

	if (!rc) {
		file = debugfs_create_file("rpcfloor", 0200, NULL, NULL, &floor_fops);
		rc = PTR_ERR_OR_ZERO(file);
	}
	if (rc)
		floor_end();
	return rc;
}

static void __exit floor_exit(void)
{
	debugfs_remove(file);
	floor_end();
}

module_init(floor_init);
module_exit(floor_exit);
MODULE_DESCRIPTION("The messages of an RPC without the RPC, for measurements");
MODULE_LICENSE("Dual BSD/GPL");
