// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A bad server: RPC-over-RDMA to the client, TCP to the real nfsd, and rules
 * that say where it deviates. Without rules it is a good one.
 *
 *   proxy [-p PORT] [-n NFSD_PORT] [-s SEED] [-o REPORT] RULES
 *
 * SIGUSR1 lets go of the Replies that are held, SIGUSR2 of the oldest. SIGHUP writes the counts to
 * REPORT, key=value in one line, begins to count anew, and reads RULES again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "proxy.h"

#define MAX_CONNS	64

/* So long without another Call, and those that were gathered are answered */
#define GATHER_MS	1500

struct report report;

static struct conn *conns;
static struct vb_listener *listener;
static int nfsd_fd, signal_fd;
static const char *report_file = "/dev/stdout", *rules_file;
static int64_t last_call;

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void say(const char *fmt, ...)
{
	va_list ap;

	printf("proxy %lld: ", (long long)now_ms());
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("proxy: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* All but the last one, which ends when the client unmounts, and those killed before it */
static unsigned int connections_lost(void)
{
	if (!report.connections)
		return 0;
	return report.connections - 1 - (report.kills - report.last_killed);
}

static void write_report(void)
{
	FILE *out = fopen(report_file, "w");

	if (!out)
		die("cannot write %s", report_file);
	for (int i = PROC_NULL; i < PROC_MAX; i++)
		fprintf(out, "%s=%u ", proc_name(i), report.by_proc[i]);
	fprintf(out, "calls=%u connections=%u deviations=%u kills=%u lost=%u sends_inv=%u repeated=%u bad_calls=%u bad_chunks=%u read_chunks=%u write_chunks=%u reply_chunks=%u exceeded=%u most=%u refused=%u trespassed=%u late=%u reverse_answers=%u reverse_grant=%u reverse_options=%u reverse_errors=%u reverse_invals=%u reverse_wrong=%u\n",
		report.calls, report.connections, report.deviations,
		report.kills, connections_lost(), report.sends_inv, report.repeated,
		report.bad_calls, report.bad_chunks, report.read_chunks,
		report.write_chunks, report.reply_chunks, report.exceeded, report.most, report.refused,
		report.trespassed, report.late, report.reverse_answers, report.reverse_grant,
		report.reverse_options, report.reverse_errors,
		report.reverse_invals, report.reverse_wrong);
	fclose(out);
}

/* ---- Replies from nfsd -------------------------------------------------------- */

static void answer(struct call *call)
{
	if (call->conn && !call->conn->dead)
		reply_send(call);
	call_free(call);
}

/* Whether a Reply that is held may go now */
typedef bool (*may_go)(const struct call *call);

static bool any(const struct call *call)
{
	return true;
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

static bool let_go_oldest(may_go may)
{
	struct call *call, *oldest = NULL;

	for (call = calls; call; call = call->next)
		if (call->state == CALL_HELD && may(call))
			oldest = call;
	if (!oldest)
		return false;
	report.late++;
	answer(oldest);
	return true;
}

/* Oldest first */
static void let_go(may_go may)
{
	while (let_go_oldest(may))
		;
}

static unsigned int gathered(uint32_t *want)
{
	unsigned int n = 0;

	*want = 0;
	for (struct call *call = calls; call; call = call->next) {
		if (call->state != CALL_HELD || !call->dev.gather)
			continue;
		n++;
		*want = call->dev.gather;
	}
	return n;
}

/* Trespassing elsewhere takes a Call of another connection */
static bool lacks_elsewhere(void)
{
	const struct conn *first = NULL;

	if (report.refused || report.trespassed)
		return false;
	for (struct call *call = calls; call; call = call->next) {
		if (call->state != CALL_HELD || !call->dev.gather)
			continue;
		if (call->dev.trespass != TRESPASS_WRITE_ELSEWHERE &&
		    call->dev.trespass != TRESPASS_READ_ELSEWHERE)
			return false;
		if (first && call->conn != first)
			return false;
		first = call->conn;
	}
	return true;
}

static void check_gathered(void)
{
	uint32_t want;
	unsigned int n = gathered(&want);

	if (n && ((n >= want && !lacks_elsewhere()) ||
		  now_ms() - last_call > GATHER_MS))
		let_go(was_gathered);
}

/* A Reply that waits does so for a signal, for others, or for the client */
static bool wait_with(struct call *call)
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
		call->reply = malloc(len);
		if (!call->reply)
			die("no memory");
		memcpy(call->reply, msg, len);
		call->reply_len = len;
		call->state = CALL_HELD;
		if (!call->conn || !wait_with(call))
			answer(call);
	}
}

/* ---- the loop ----------------------------------------------------------------- */

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
	struct vb_event ev;

	while (conn_next(conn, &ev)) {
		last_call = now_ms();
		call_received(conn, &ev);
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
		let_go(any);
		return;
	}
	if (info.ssi_signo == SIGUSR2) {
		let_go_oldest(any);
		return;
	}
	write_report();
	memset(&report, 0, sizeof(report));
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
		die("poll: %s", strerror(errno));
	for (conn = conns; conn; conn = conn->next)
		receive(conn);
	calls_forward();
	if (fds[1].revents)
		nfsd_answers();
	check_gathered();
	let_go(was_asked);
	if (fds[2].revents)
		take_signal();
	bury();
	if (fds[0].revents)
		accept_one();
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
	const char *nfsd_port = "2049";
	int c, port = 20050;

	while ((c = getopt(argc, argv, "p:n:s:o:")) != -1) {
		switch (c) {
		case 'p': port = atoi(optarg); break;
		case 'n': nfsd_port = optarg; break;
		case 's': rules_seed(atoi(optarg)); break;
		case 'o': report_file = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc - 1)
		return 2;
	rules_file = argv[optind];
	rules_read(rules_file);
	signal_fd = watch_signals();
	nfsd_fd = nfsd_connect(nfsd_port);
	listener = vb_listen("0.0.0.0", port);
	if (!listener)
		die("listen: %s", vb_why());
	say("listening on port %d", port);
	for (;;)
		loop_once();
}
