// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * nfsd-listen TRANSPORT ADDRESS PORT [TRANSPORT ADDRESS PORT]...
 *
 * Sets the addresses that nfsd of 6.10 and later listens on, through its netlink
 * family (Documentation/netlink/specs/nfsd.yaml: listener-set), before its threads
 * start. /proc/fs/nfsd/portlist takes no addresses.
 * Exit status 0, or 1 and one line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* <linux/nfsd_netlink.h>, which older headers do not have */
#define NFSD_CMD_LISTENER_SET	6
#define NFSD_A_SERVER_SOCK_ADDR	1
#define NFSD_A_SOCK_ADDR	1
#define NFSD_A_SOCK_TRANSPORT	2

static char msg[8192];
static struct nlmsghdr *const nlh = (struct nlmsghdr *)msg;

static void die(const char *what, int err)
{
	fprintf(stderr, "nfsd-listen: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct nlattr *put(uint16_t type, const void *data, size_t len)
{
	struct nlattr *nla = (void *)(msg + NLMSG_ALIGN(nlh->nlmsg_len));

	nla->nla_type = type;
	nla->nla_len = NLA_HDRLEN + len;
	memcpy((char *)nla + NLA_HDRLEN, data, len);
	nlh->nlmsg_len = NLMSG_ALIGN(nlh->nlmsg_len) + NLA_ALIGN(nla->nla_len);
	return nla;
}

static void begin(uint16_t type, uint8_t cmd)
{
	struct genlmsghdr *genl = NLMSG_DATA(nlh);

	memset(msg, 0, sizeof(msg));
	nlh->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	genl->cmd = cmd;
	genl->version = 1;
}

/* Leaves the first answer in msg, and returns its errno */
static int ask(int fd)
{
	ssize_t n;

	if (send(fd, msg, nlh->nlmsg_len, 0) < 0)
		die("send", errno);
	n = recv(fd, msg, sizeof(msg), 0);
	if (n < (ssize_t)NLMSG_LENGTH(0))
		die("recv", n < 0 ? errno : EPROTO);
	if (nlh->nlmsg_type != NLMSG_ERROR)
		return 0;
	return -((struct nlmsgerr *)NLMSG_DATA(nlh))->error;
}

static uint16_t family(int fd)
{
	uint16_t id = 0;
	char *p, *end;
	int err;

	begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	nlh->nlmsg_flags = NLM_F_REQUEST;
	put(CTRL_ATTR_FAMILY_NAME, "nfsd", sizeof("nfsd"));
	err = ask(fd);
	if (err)
		die("nfsd has no netlink family", err);
	end = msg + nlh->nlmsg_len;
	for (p = msg + NLMSG_LENGTH(GENL_HDRLEN); p < end;
	     p += NLA_ALIGN(((struct nlattr *)p)->nla_len))
		if (((struct nlattr *)p)->nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(&id, p + NLA_HDRLEN, sizeof(id));
	return id;
}

static void put_listener(const char *transport, const char *address, int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct nlattr *nest = put(NFSD_A_SERVER_SOCK_ADDR | NLA_F_NESTED, "", 0);

	if (inet_pton(AF_INET, address, &sin.sin_addr) == 1)
		put(NFSD_A_SOCK_ADDR, &sin, sizeof(sin));
	else if (inet_pton(AF_INET6, address, &sin6.sin6_addr) == 1)
		put(NFSD_A_SOCK_ADDR, &sin6, sizeof(sin6));
	else
		die(address, EINVAL);
	put(NFSD_A_SOCK_TRANSPORT, transport, strlen(transport) + 1);
	nest->nla_len = msg + nlh->nlmsg_len - (char *)nest;
}

int main(int argc, char **argv)
{
	uint16_t id;
	int fd, i, err;

	if (argc < 4 || (argc - 1) % 3 || argc > 3 * 20)
		return 2;
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	if (fd < 0)
		die("socket", errno);
	id = family(fd);
	begin(id, NFSD_CMD_LISTENER_SET);
	for (i = 1; i < argc; i += 3)
		put_listener(argv[i], argv[i + 1], atoi(argv[i + 2]));
	err = ask(fd);
	if (err)
		die("listener-set", err);
	return 0;
}
