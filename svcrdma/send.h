/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Contexts of Sends: one message of the server, and all that it owns.
 */
#ifndef SVCRDMA_SEND_H
#define SVCRDMA_SEND_H

#include "svc_rdma.h"

/* SGEs of a Send: the header and what follows it in place */
#define SVC_RDMA_SEND_SGES	16

/**
 * struct svc_rdma_result - a Write chunk and what goes into it
 * @chunk: as the Requester offered it
 * @payload: length 0: the chunk is not used
 */
struct svc_rdma_result {
	struct rpcrdma_chunk chunk;
	struct svc_rdma_payload payload;
};

/**
 * struct svc_rdma_reply - how a Reply travels that may use chunks
 * @call: the Call
 * @send: the message
 * @buf: the RPC Reply
 * @result: the Write list, in order
 * @nr_results: its chunks
 * @range: what is left of @buf without the Write chunks' payloads
 * @nr_ranges: how many
 * @rest: octets of all ranges
 * @rws_returned: the connection's, when the Reply was begun
 * @first_page: the device reads nfsd's first page, which has head and tail
 * @it: walks the Write list
 * @chunk: the Reply chunk
 *
 * Part of the Send context: on the stack the kernel would zero it each time.
 */
struct svc_rdma_reply {
	struct svc_rdma_call *call;
	struct svc_rdma_send *send;
	const struct xdr_buf *buf;
	struct svc_rdma_result result[SVC_RDMA_MAX_PAYLOADS];
	unsigned int nr_results;
	struct svc_rdma_payload range[SVC_RDMA_MAX_PAYLOADS + 1];
	unsigned int nr_ranges;
	u32 rest;
	u32 rws_returned;
	bool first_page;
	struct rpcrdma_write_iter it;
	struct rpcrdma_chunk chunk;
};

/**
 * struct svc_rdma_send - one message to be sent, and all that it owns
 * @free: among the connection's idle ones
 * @conn: its connection
 * @chain: RDMA Writes and the Send
 * @wr: the Send; what is the same for all messages stays in it
 * @sge: its SGEs; the first is the header's, whose length alone changes
 * @nr_sge: how many are set
 * @buf: the Transport Header, and what is copied behind it
 * @form: how the header is written
 * @enc: writes it
 * @writes: contexts of the RDMA Writes
 * @pages: pages they use; room for RPCSVC_MAXPAGES, allocated at first need
 * @nr_pages: how many are owned
 * @reply: how a Reply with chunks is put together
 */
struct svc_rdma_send {
	struct llist_node free;
	struct svc_rdma_conn *conn;
	struct rpcrdma_chain chain;
	struct ib_send_wr wr;
	struct ib_sge sge[SVC_RDMA_SEND_SGES];
	unsigned int nr_sge;
	struct rpcrdma_dmabuf buf;
	struct rpcrdma_form form;
	struct rpcrdma_enc enc;
	struct svc_rdma_rwset writes;
	struct page **pages;
	unsigned int nr_pages;
	struct svc_rdma_reply reply;
};

struct svc_rdma_send *svc_rdma_send_add(struct svc_rdma_conn *conn, gfp_t gfp);
void svc_rdma_send_failed(struct svc_rdma_conn *conn, int rc, const char *what);
void svc_rdma_send_put(struct svc_rdma_send *send);
void svc_rdma_send_reset(struct svc_rdma_send *send, u32 vers);
int svc_rdma_send_map(struct svc_rdma_send *send, const struct xdr_buf *buf,
		      u32 offset, u32 len);
int svc_rdma_send_take_pages(struct svc_rdma_send *send,
			     struct svc_rqst *rqstp, unsigned int skip);
int svc_rdma_send_post(struct svc_rdma_send *send, u32 inv_handle);
int svc_rdma_send_error(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv,
			enum rpcrdma_errcode errcode);
void svc_rdma_refuse(struct svc_rdma_conn *conn, struct rpcrdma_recv *recv,
		     enum rpcrdma_errcode errcode, const char *why);
void svc_rdma_refuse_call(struct svc_rdma_call *call, const char *why);
int svc_rdma_sends_alloc(struct svc_rdma_conn *conn);
void svc_rdma_sends_free(struct svc_rdma_conn *conn);

/**
 * svc_rdma_send_begin - an empty header
 * @send: context that owns nothing but its header buffer
 * @vers: version of the protocol that the message will have
 *
 * Context: any.
 */
static inline void svc_rdma_send_begin(struct svc_rdma_send *send, u32 vers)
{
	rpcrdma_enc_init(&send->enc, send->buf.data,
			 rpcrdma_ep_inline_send(send->conn->ep, vers));
}

/**
 * svc_rdma_send_get - begin a message
 * @conn: connection
 * @vers: version of the protocol that it will have
 * @gfp: how to allocate, should there be no idle context
 *
 * Context: process, within svc_rdma_enter(); sleeps as @gfp says.
 *
 * Return: a context with an empty header, or an error: see svc_rdma_send_add().
 */
static inline struct svc_rdma_send *
svc_rdma_send_get(struct svc_rdma_conn *conn, u32 vers, gfp_t gfp)
{
	struct svc_rdma_send *send;
	struct llist_node *node;

	spin_lock(&conn->lock);
	node = llist_del_first(&conn->free_sends);
	spin_unlock(&conn->lock);
	if (likely(node)) {
		send = llist_entry(node, struct svc_rdma_send, free);
	} else {
		send = svc_rdma_send_add(conn, gfp);
		if (IS_ERR(send))
			return send;
	}
	svc_rdma_send_begin(send, vers);
	return send;
}

/**
 * svc_rdma_send_copy - put octets behind the header
 * @send: context with a complete header
 * @buf: where from
 * @offset: first octet
 * @len: octets; they fit the header buffer
 *
 * Context: any.
 */
static inline void svc_rdma_send_copy(struct svc_rdma_send *send,
				      const struct xdr_buf *buf, u32 offset,
				      u32 len)
{
	void *dst = send->buf.data + send->enc.len;

	/* Small Replies are all head */
	if (likely(offset + len <= buf->head[0].iov_len))
		memcpy(dst, buf->head[0].iov_base + offset, len);
	else
		read_bytes_from_xdr_buf(buf, offset, dst, len);
	send->enc.len += len;
}

/**
 * svc_rdma_send_is_plain - does the device read the header buffer alone?
 * @send: context that is not posted
 *
 * Context: any.
 *
 * Return: false when nfsd's pages are in use.
 */
static inline bool svc_rdma_send_is_plain(const struct svc_rdma_send *send)
{
	return send->nr_sge == 1 && !send->writes.last;
}

#endif /* SVCRDMA_SEND_H */
