// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A bad server: RPC-over-RDMA to the client, TCP to the real nfsd. The rules
 * say where it deviates; without rules it follows the protocol.
 *
 *   proxy [-p PORT] [-s SEED] [-o REPORT] RULES
 *
 * SIGUSR1 sends the Replies that are held, SIGUSR2 the oldest of them. SIGHUP
 * writes the counts to REPORT, key=value in one line, resets them, and reads
 * RULES again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "proxy.h"

#define MAX_CONNS	64

/* Without another Call for this time, gathered Replies are sent */
#define GATHER_MS	1500

static struct conn *conns;
static struct vb_listener *listener;
static int nfsd_fd, signal_fd;
static const char *report_file = "/dev/stdout", *rules_file;
static int64_t last_call;

/* ---- Replies from nfsd -------------------------------------------------- */

static void answer(struct call *call)
{
	if (call->conn && !call->conn->dead)
		reply_send(call);
	call_free(call);
}

static bool was_gathered(const struct call *call)
{
	return call->dev.gather && !call->dev.hold;
}

static bool was_asked(const struct call *call)
{
	return call->dev.ask && call->answers >= call->dev.reverse_count &&
	       !call->dev.hold;
}

/* Sends the oldest Reply that is held and that @may be sent; NULL: any */
static bool release_oldest(bool (*may)(const struct call *call))
{
	struct call *call, *oldest = NULL;

	for (call = calls; call; call = call->next)
		if (call->state == CALL_HELD && (!may || may(call)))
			oldest = call;
	if (!oldest)
		return false;
	report.late++;
	answer(oldest);
	return true;
}

static void release(bool (*may)(const struct call *call))
{
	while (release_oldest(may))
		;
}

/*
 * Gathered Replies are sent when there are as many as the rule wants, and, if
 * they trespass elsewhere, from two connections.
 */
static void check_gathered(void)
{
	bool elsewhere = !report.refused && !report.trespassed, two = false;
	const struct conn *first = NULL;
	uint32_t n = 0, want = 0;

	for (struct call *call = calls; call; call = call->next) {
		if (call->state != CALL_HELD || !call->dev.gather)
			continue;
		n++;
		want = call->dev.gather;
		elsewhere &= call->dev.trespass >= TRESPASS_WRITE_ELSEWHERE;
		two |= first && call->conn != first;
		first = call->conn;
	}
	if (n && ((n >= want && (two || !elsewhere)) ||
		  vb_now_ms() - last_call > GATHER_MS))
		release(was_gathered);
}

/* Whether a Reply waits for a signal, for others, or for the client */
static bool is_held(struct call *call)
{
	if (call->dev.ask)
		reply_ask(call);
	if (call->dev.hold)
		say("held: %s, XID 0x%08x", proc_name(call->proc), call->hdr.xid);
	return call->dev.hold || call->dev.gather || call->dev.ask;
}

static void nfsd_answers(void)
{
	struct call *call;
	uint32_t len;
	uint8_t *msg;

	while ((len = nfsd_receive(&msg))) {
		call = len >= 8 ? call_answered(rpc_word(msg, 0)) : NULL;
		if (!call)
			continue;
		call->reply = malloc(len + MAX_VERIFIER);
		if (!call->reply)
			errx(1, "no memory");
		memcpy(call->reply, msg, len);
		call->reply_len = len;
		call->state = CALL_HELD;
		if (!call->conn || !is_held(call))
			answer(call);
	}
}

/* ---- the loop ----------------------------------------------------------- */

static void accept_one(void)
{
	struct conn *conn = conn_accept(listener, ++report.connections);

	if (!conn)
		return;
	conn->next = conns;
	conns = conn;
}

static void receive(struct conn *conn)
{
	struct call *answer;
	struct vb_event ev;

	while (conn_next(conn, &ev)) {
		last_call = vb_now_ms();
		answer = call_received(conn, &ev);
		if (!answer)
			continue;
		reverse_answered(conn, &answer->hdr);
		call_free(answer);
	}
}

static void bury(void)
{
	struct conn **p = &conns, *conn;

	while ((conn = *p)) {
		if (!conn->dead) {
			p = &conn->next;
			continue;
		}
		*p = conn->next;
		calls_drop(conn);
		conn_free(conn);
	}
}

static void take_signal(void)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1) {
		release(NULL);
		return;
	}
	if (info.ssi_signo == SIGUSR2) {
		release_oldest(NULL);
		return;
	}
	report_write(report_file);
	rules_read(rules_file);
	say("rules read");
}

static void loop_once(void)
{
	struct pollfd fds[3 + 2 * MAX_CONNS] = {
		{ .fd = listener->events->fd, .events = POLLIN },
		{ .fd = nfsd_fd, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
	};
	struct conn *conn;
	int n = 3, ms = 100;

	for (conn = conns; conn && n < 3 + 2 * MAX_CONNS; conn = conn->next) {
		vb_fds(conn->vb, &fds[n]);
		if (conn_waiting(conn))
			ms = 0;
		n += 2;
	}
	if (poll(fds, n, ms) < 0 && errno != EINTR)
		err(1, "poll");
	for (conn = conns; conn; conn = conn->next)
		receive(conn);
	calls_forward();
	if (fds[1].revents)
		nfsd_answers();
	check_gathered();
	release(was_asked);
	if (fds[2].revents)
		take_signal();
	bury();
	if (fds[0].revents)
		accept_one();
}

int main(int argc, char **argv)
{
	int c, port = 20050;
	sigset_t set;

	while ((c = getopt(argc, argv, "p:s:o:")) != -1) {
		switch (c) {
		case 'p': port = atoi(optarg); break;
		case 's': srandom(atoi(optarg)); break;
		case 'o': report_file = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc - 1)
		return 2;
	rules_file = argv[optind];
	rules_read(rules_file);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal_fd = signalfd(-1, &set, SFD_NONBLOCK);
	nfsd_fd = nfsd_connect();
	listener = vb_listen("0.0.0.0", port);
	if (!listener)
		errx(1, "listen: %s", vb_why());
	say("listening on port %d", port);
	for (;;)
		loop_once();
}
