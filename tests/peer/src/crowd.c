// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * crowd N: N clients that connect to the server at once, send a NULL each, and are idle
 * until the standard input ends. Then all of them disconnect at once.
 *
 * Prints "connected COUNT MS", from the first Connect Request to the last Reply, and
 * "closed COUNT MS". Exits with 1 if a client was not served.
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "verbs.h"

#define PATIENCE	60000

/* RDMA_MSG without chunks, asking for a credit; NULL of NFSv3, AUTH_NONE */
static const uint8_t call[] = {
	0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3,
	0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static struct vb_conn **conns;

static void start(int i, const char *server)
{
	static const uint8_t private[] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 };
	const struct vb_attr attr = {
		.priv = private, .priv_len = sizeof(private),
		.recvs = 2, .recv_size = 4096, .sends = 2, .send_size = 4096,
		.responder_resources = 1, .retry = 7, .rnr_retry = 6,
	};

	conns[i] = vb_connect_start(server, 20049, &attr, PATIENCE);
	if (!conns[i])
		errx(1, "client %d: %s", i, vb_why());
}

static void ask(int i)
{
	if (vb_connect_finish(conns[i], PATIENCE) ||
	    vb_send(conns[i], call, sizeof(call), 0, 0, 0))
		errx(1, "client %d: %s", i, vb_why());
}

/* The rest of it is for the peers to look at */
static void hear(int i)
{
	struct vb_event ev;

	while (vb_next(conns[i], PATIENCE, &ev)) {
		if (ev.type == VB_RECV) {
			if (ev.len < 28 || memcmp(ev.data, call, 4))
				errx(1, "client %d: not the Reply", i);
			return;
		}
		if (ev.type == VB_DOWN || ev.status != IBV_WC_SUCCESS)
			errx(1, "client %d: %s", i, ev.type == VB_DOWN ? ev.why :
			     ibv_wc_status_str(ev.status));
	}
	errx(1, "client %d: no Reply", i);
}

/*
 * A Disconnect Request that is lost is sent again as long as the connection is there: its queue
 * pair is dead before the server has answered.
 */
static void wait_down(int i)
{
	struct vb_conn *c = conns[i];
	struct pollfd fd = { .fd = c->events->fd, .events = POLLIN };
	int64_t end = vb_now_ms() + PATIENCE;
	struct vb_event ev;

	while (!c->told && vb_now_ms() < end) {
		poll(&fd, 1, 1000);
		vb_next(c, 0, &ev);
	}
	if (!c->told)
		errx(1, "client %d: does not disconnect", i);
}

int main(int argc, char **argv)
{
	const char *server = getenv("PEER_SERVER");
	struct rlimit files = { 65536, 65536 };
	int i, nr = argc == 2 ? atoi(argv[1]) : 0;
	int64_t begin;

	if (nr < 1)
		errx(2, "usage: crowd N");
	if (!server)
		server = "10.0.0.1";
	if (setrlimit(RLIMIT_NOFILE, &files))
		err(1, "file descriptors");
	conns = calloc(nr, sizeof(*conns));
	if (!conns)
		err(1, "memory");
	begin = vb_now_ms();
	for (i = 0; i < nr; i++)
		start(i, server);
	for (i = 0; i < nr; i++)
		ask(i);
	for (i = 0; i < nr; i++)
		hear(i);
	printf("connected %d %lld\n", nr, (long long)(vb_now_ms() - begin));
	fflush(stdout);
	while (getchar() != EOF)
		;
	begin = vb_now_ms();
	for (i = 0; i < nr; i++)
		if (vb_disconnect(conns[i]))
			errx(1, "client %d: %s", i, vb_why());
	for (i = 0; i < nr; i++)
		wait_down(i);
	for (i = 0; i < nr; i++)
		vb_free(conns[i]);
	printf("closed %d %lld\n", nr, (long long)(vb_now_ms() - begin));
	return 0;
}
