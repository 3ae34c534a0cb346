// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The real nfsd, over TCP, with record marking (RFC 5531, 11). All clients
 * share one connection, so that nfsd's duplicate request cache recognizes a
 * Call that the client repeats over another RDMA connection.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy.h"

#define LAST_FRAGMENT	0x80000000U

static int sock = -1;

/* The message that is being received */
static struct {
	uint8_t mark[4];
	uint32_t marked;	/* bytes of the mark that have arrived */
	uint32_t left;		/* bytes of the fragment that have not */
	bool last;
	uint8_t *msg;
	uint32_t len;
} in;

int nfsd_connect(void)
{
	struct sockaddr_in nfsd = {
		.sin_family = AF_INET,
		.sin_port = htons(2049),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	int one = 1;

	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (sock < 0 || connect(sock, (void *)&nfsd, sizeof(nfsd)))
		err(1, "nfsd");
	if (setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err(1, "TCP_NODELAY");
	in.msg = malloc(MAX_MESSAGE);
	if (!in.msg)
		errx(1, "no memory");
	return sock;
}

static void send_all(const uint8_t *p, uint32_t len, int flags)
{
	while (len) {
		ssize_t n = send(sock, p, len, MSG_NOSIGNAL | flags);

		if (n < 0)
			err(1, "to nfsd");
		p += n;
		len -= n;
	}
}

void nfsd_send(const uint8_t *msg, uint32_t len)
{
	uint8_t mark[4];

	rpc_set_word(mark, 0, LAST_FRAGMENT | len);
	/* One segment, as a second one would wait for an acknowledgement */
	send_all(mark, sizeof(mark), MSG_MORE);
	send_all(msg, len, 0);
}

static uint32_t take(uint8_t *to, uint32_t want)
{
	ssize_t n = recv(sock, to, want, MSG_DONTWAIT);

	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	errx(1, "from nfsd: %s", n ? strerror(errno) : "end");
}

static bool take_mark(void)
{
	uint32_t mark;

	in.marked += take(in.mark + in.marked, 4 - in.marked);
	if (in.marked < 4)
		return false;
	mark = rpc_word(in.mark, 0);
	in.last = mark & LAST_FRAGMENT;
	in.left = mark & ~LAST_FRAGMENT;
	if (in.left > MAX_MESSAGE - in.len)
		errx(1, "from nfsd: a record of more than %u bytes", MAX_MESSAGE);
	return true;
}

uint32_t nfsd_receive(uint8_t **msg)
{
	uint32_t n, len;

	for (;;) {
		if (in.marked < 4 && !take_mark())
			return 0;
		while (in.left) {
			n = take(in.msg + in.len, in.left);
			if (!n)
				return 0;
			in.len += n;
			in.left -= n;
		}
		in.marked = 0;
		if (!in.last)
			continue;
		len = in.len;
		in.len = 0;
		*msg = in.msg;
		return len;
	}
}
