// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * relay PORT LOG: an RPC-over-RDMA client without knowledge of the RPCs it
 * sends.
 *
 * It takes RPCs over TCP, from a mount at PORT, and sends each with a Write
 * list and a Reply chunk. Our client offers no Write list if GSS signs or seals
 * the message; this one does, and needs no keys.
 *
 * LOG gets a line for each Reply: gss=SERVICE (0: no RPCSEC_GSS) proc=PROCEDURE
 * inline=BYTES write=BYTES (in the Write chunk) reply=BYTES (in the Reply
 * chunk). The Write chunk's bytes go behind the others: READ and READLINK end
 * their COMPOUND.
 *
 * One RPC at a time; a process for each TCP connection.
 */
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs.h"

#define LAST_FRAGMENT	0x80000000U
#define MAX_MESSAGE	(2U << 20)
#define THRESHOLD	4096U
#define PATIENCE	30000

enum { RDMA_MSG, RDMA_NOMSG };
#define RPCSEC_GSS	6

static const uint8_t private[] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 };

static struct vb_conn *rdma;
static struct vb_mr *call, *data, *rest;
static FILE *out;

static uint32_t word(const uint8_t *p, uint32_t i)
{
	p += 4 * i;
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static uint8_t *put(uint8_t *p, uint32_t v)
{
	*p++ = v >> 24;
	*p++ = v >> 16;
	*p++ = v >> 8;
	*p++ = v;
	return p;
}

static uint8_t *put_segment(uint8_t *p, const struct vb_mr *mr, uint32_t len)
{
	uint64_t at = (uintptr_t)mr->addr;

	p = put(p, mr->mr->rkey);
	p = put(p, len);
	p = put(p, at >> 32);
	return put(p, at);
}

/* ---- TCP ---- */

static int receive_all(int sock, uint8_t *p, uint32_t len)
{
	while (len) {
		ssize_t n = recv(sock, p, len, 0);

		if (n <= 0)
			return 0;
		p += n;
		len -= n;
	}
	return 1;
}

/* Returns the length of the next Call; 0: end */
static uint32_t receive_call(int sock)
{
	uint32_t mark, len = 0;
	uint8_t raw[4];

	do {
		if (!receive_all(sock, raw, 4))
			return 0;
		mark = word(raw, 0);
		if ((mark & ~LAST_FRAGMENT) > MAX_MESSAGE - len)
			errx(1, "a Call of more than %u bytes", MAX_MESSAGE);
		if (!receive_all(sock, call->addr + len, mark & ~LAST_FRAGMENT))
			return 0;
		len += mark & ~LAST_FRAGMENT;
	} while (!(mark & LAST_FRAGMENT));
	if (len < 32)
		errx(1, "a Call of %u bytes", len);
	return len;
}

static void send_part(int sock, const void *p, uint32_t len, int flags)
{
	if (len && send(sock, p, len, MSG_NOSIGNAL | flags) != (ssize_t)len)
		err(1, "to the client");
}

/* ---- RDMA ---- */

static void send_call(uint32_t len)
{
	uint8_t frame[THRESHOLD], *p = frame;
	/* Fixed part, Write list, Reply chunk, and an empty Read list */
	int fits = 16 + 4 + 28 + 24 + len <= THRESHOLD;

	p = put(p, word(call->addr, 0));
	p = put(p, 1);
	p = put(p, 8);
	p = put(p, fits ? RDMA_MSG : RDMA_NOMSG);
	if (!fits) {
		p = put(p, 1);
		p = put(p, 0);
		p = put_segment(p, call, len);
	}
	p = put(p, 0);
	p = put(p, 1);
	p = put(p, 1);
	p = put_segment(p, data, data->len);
	p = put(p, 0);
	p = put(p, 1);
	p = put(p, 1);
	p = put_segment(p, rest, rest->len);
	if (fits) {
		memcpy(p, call->addr, len);
		p += len;
	}
	if (vb_send(rdma, frame, p - frame, 0, 0, 0))
		errx(1, "%s", vb_why());
}

/* 0: no RPCSEC_GSS; the service is the fourth word of the credential */
static uint32_t gss_service(void)
{
	return word(call->addr, 6) == RPCSEC_GSS ? word(call->addr, 11) : 0;
}

static void pass_reply(int sock, const uint8_t *p, uint32_t len)
{
	static const uint8_t zeroes[4];
	uint32_t write, reply, head = 18 * 4, pad;
	uint8_t mark[4];

	/* The Reply returns all chunks, used or not */
	if (len < head || word(p, 3) > RDMA_NOMSG || word(p, 4) || word(p, 5) != 1 ||
	    word(p, 6) != 1 || word(p, 11) || word(p, 12) != 1 || word(p, 13) != 1)
		errx(1, "unexpected Reply: %u bytes, procedure %u", len, word(p, 3));
	write = word(p, 8);
	reply = word(p, 15);
	if (word(p, 3) == RDMA_MSG ? reply : len > head)
		errx(1, "bytes both inline and in the Reply chunk");
	fprintf(out, "gss=%u proc=%u inline=%u write=%u reply=%u\n", gss_service(),
		word(call->addr, 5), len - head, write, reply);
	fflush(out);

	pad = -write & 3;
	put(mark, LAST_FRAGMENT | (len - head + reply + write + pad));
	send_part(sock, mark, 4, MSG_MORE);
	send_part(sock, p + head, len - head, MSG_MORE);
	send_part(sock, rest->addr, reply, MSG_MORE);
	send_part(sock, data->addr, write, MSG_MORE);
	send_part(sock, zeroes, pad, 0);
}

static void relay_reply(int sock)
{
	struct vb_event ev;
	int done = 0;

	while (!done) {
		if (!vb_next(rdma, PATIENCE, &ev))
			errx(1, "no Reply");
		if (ev.type == VB_DOWN)
			errx(1, "the connection is down: %s", ev.why);
		if (ev.type != VB_RECV)
			continue;
		done = ev.len >= 16 && word(ev.data, 0) == word(call->addr, 0);
		if (done)
			pass_reply(sock, ev.data, ev.len);
		vb_recv_done(rdma, &ev);
	}
}

static void relay(int sock)
{
	struct vb_attr attr = VB_ATTR;
	const char *server = getenv("PEER_SERVER");
	uint32_t len;

	attr.priv = private;
	attr.priv_len = sizeof(private);
	call = vb_alloc(MAX_MESSAGE, IBV_ACCESS_REMOTE_READ);
	data = vb_alloc(MAX_MESSAGE, IBV_ACCESS_REMOTE_WRITE);
	rest = vb_alloc(MAX_MESSAGE, IBV_ACCESS_REMOTE_WRITE);
	if (!call || !data || !rest)
		errx(1, "%s", vb_why());
	rdma = vb_connect(server ? server : "10.0.0.1", 20049, &attr, PATIENCE);
	if (!rdma)
		errx(1, "%s", vb_why());
	while ((len = receive_call(sock))) {
		send_call(len);
		relay_reply(sock);
	}
	vb_free(rdma);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int one = 1, sock, from;

	if (argc != 3)
		errx(2, "usage: relay PORT LOG");
	signal(SIGCHLD, SIG_IGN);
	out = fopen(argv[2], "a");
	sock = socket(AF_INET, SOCK_STREAM, 0);
	addr.sin_port = htons(atoi(argv[1]));
	if (!out || setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(sock, (void *)&addr, sizeof(addr)) || listen(sock, 8))
		err(1, "cannot listen at %s", argv[1]);
	while ((from = accept(sock, NULL, NULL)) >= 0) {
		if (!fork()) {
			relay(from);
			return 0;
		}
		close(from);
	}
	err(1, "accept");
}
