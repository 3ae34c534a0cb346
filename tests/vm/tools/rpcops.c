// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Repeats one file operation, each time with the same RPCs:
 *
 *   rpcops OPERATION DIRECTORY COUNT [DEPTH]
 *     getattr    statx, attributes forced from the server
 *     lookup     an absent name (mount with lookupcache=none)
 *     readN      O_DIRECT, N bytes (4k, 64k, 1m) of the file "bench"
 *     writeN     the same, written
 *     create     create a file and remove it
 *     readdir    all names of the directory "namesN" of the process N, from the server
 *     null       the NULL procedure (tests/bench/null)
 *     floor      the messages of an RPC without the RPC (tests/bench/floor); floor-readN and
 *                floor-writeN with an RDMA Read or Write of N bytes
 *   DEPTH processes (1) do COUNT operations together. If COUNT is "Ns", they run for N s,
 *   and the output is "OPERATIONS SECONDS".
 *   With LATENCY in the environment the last line has "MEDIAN P99 MOST" of an operation's
 *   time, in microseconds, and "MEDIAN P99 MOST" of the number of operations that ended
 *   during it, including itself. Median and P99 are exact to 3 %.
 *
 *   rpcops mark TAG            0 to 3, and
 *   rpcops loaded WHICH HEX    where .text of the module is:
 *                              for the instruction counter (tests/bench/insns.c)
 *
 * Exit 1 and one line on an error.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_SIZE	(16UL << 20)

static const char *dir;
static size_t size;
static void *buf;
static int fd = -1;
/* The number of this process, 0 to DEPTH - 1 */
static long me;

static char *path(const char *name, long i)
{
	static char text[4096];

	snprintf(text, sizeof(text), i < 0 ? "%s/%s" : "%s/%s%ld", dir, name, i);
	return text;
}

static void open_bench(int flags)
{
	fd = open(path("bench", -1), flags);
	if (fd < 0)
		err(1, "bench");
}

static void op_getattr(long i)
{
	struct statx stx;

	(void)i;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS,
		  &stx))
		err(1, "statx");
}

static void op_lookup(long i)
{
	struct stat st;

	if (!stat(path("absent", i), &st) || errno != ENOENT)
		err(1, "lookup");
}

static off_t place(long i)
{
	return i * size % FILE_SIZE;
}

static void op_read(long i)
{
	if (pread(fd, buf, size, place(i)) != (ssize_t)size)
		err(1, "read");
}

static void op_write(long i)
{
	if (pwrite(fd, buf, size, place(i)) != (ssize_t)size)
		err(1, "write");
}

static void op_create(long i)
{
	int new = open(path("new", i), O_CREAT | O_EXCL | O_WRONLY, 0644);

	if (new < 0 || close(new) || unlink(path("new", i)))
		err(1, "create");
}

static void op_readdir(long i)
{
	long names = 0;
	/* In a shared one, a process would read names that another has fetched */
	DIR *d = opendir(path("names", me));

	(void)i;
	if (!d)
		err(1, "names");
	/* Drop the client's cache of it */
	posix_fadvise(dirfd(d), 0, 0, POSIX_FADV_DONTNEED);
	while (readdir(d))
		names++;
	closedir(d);
	/* With fewer the Reply would be inline */
	if (names < 200) {
		errno = ENOENT;
		err(1, "readdir");
	}
}

static void op_null(long i)
{
	(void)i;
	if (pwrite(fd, dir, strlen(dir), 0) != (ssize_t)strlen(dir))
		err(1, "null");
}

static char exchange[32];

static void op_floor(long i)
{
	(void)i;
	if (pwrite(fd, exchange, strlen(exchange), 0) != (ssize_t)strlen(exchange))
		err(1, "floor");
}

static void prepare(int flags)
{
	open_bench(flags);
	if (posix_memalign(&buf, 4096, size ? size : 4096))
		err(1, "memory");
	memset(buf, 'b', size ? size : 4096);
}

static size_t bytes(const char *text)
{
	char *end;
	size_t n = strtoul(text, &end, 10);

	return *end == 'k' ? n << 10 : *end == 'm' ? n << 20 : n;
}

static void open_debug(const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "/sys/kernel/debug/%s", name);
	fd = open(file, O_WRONLY);
	if (fd < 0)
		err(1, "%s", name);
}

/* "floor", "floor-read64k", ... */
static void prepare_floor(const char *name)
{
	const char *kind = !*name ? "send" : !strncmp(name, "-read", 5) ? "read" : "write";

	snprintf(exchange, sizeof(exchange), "%s %zu", kind, *name ? bytes(name + 1 + strlen(kind)) : 0);
	open_debug("rpcfloor");
}

static void (*operation(const char *name))(long)
{
	if (!strcmp(name, "lookup"))
		return op_lookup;
	if (!strcmp(name, "create"))
		return op_create;
	if (!strcmp(name, "readdir"))
		return op_readdir;
	if (!strncmp(name, "read", 4)) {
		size = bytes(name + 4);
		prepare(O_RDONLY | O_DIRECT);
		return op_read;
	}
	if (!strncmp(name, "write", 5)) {
		size = bytes(name + 5);
		prepare(O_WRONLY | O_DIRECT);
		return op_write;
	}
	if (!strcmp(name, "null")) {
		open_debug("rpcnull");
		return op_null;
	}
	if (!strncmp(name, "floor", 5)) {
		prepare_floor(name + 5);
		return op_floor;
	}
	if (strcmp(name, "getattr"))
		exit(2);
	prepare(O_RDONLY);
	return op_getattr;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* A histogram with so many classes for each power of two */
#define EACH	32
#define CLASSES	(48 * EACH)

struct amounts {
	long class[CLASSES];
	double most;
};

static double class_amount(int class)
{
	return (EACH + class % EACH) / (double)EACH * (1UL << class / EACH);
}

static void note(struct amounts *a, double amount)
{
	unsigned long whole = amount < 1 ? 1 : amount;
	int power = 63 - __builtin_clzl(whole), class = power * EACH;

	if (amount > 1)
		class += (amount / (1UL << power) - 1) * EACH;
	a->class[class < CLASSES ? class : CLASSES - 1]++;
	if (amount > a->most)
		a->most = amount;
}

/* The amount that @part of all operations did not exceed */
static double within(const struct amounts *a, long total, double part)
{
	long seen = 0;
	int class;

	for (class = 0; class < CLASSES; class++) {
		seen += a->class[class];
		if (seen >= total * part)
			break;
	}
	return class_amount(class);
}

static void print_amounts(const struct amounts *each, long depth, long total,
			  const char *after)
{
	struct amounts all = { .most = 0 };
	int class;
	long p;

	for (p = 0; p < depth; p++) {
		for (class = 0; class < CLASSES; class++)
			all.class[class] += each[p].class[class];
		if (each[p].most > all.most)
			all.most = each[p].most;
	}
	printf("%.0f %.0f %.0f%s", within(&all, total, 0.5),
	       within(&all, total, 0.99), all.most, after);
}

/* Memory that all processes share */
static void *shared(size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

/* Of each process, with LATENCY */
static struct amounts *times, *turns;
/* Operations of all processes that have ended */
static long *ended;

static void timed(void (*op)(long), long i, long p)
{
	long before = __atomic_load_n(ended, __ATOMIC_SEQ_CST);
	double start = now();

	op(i);
	note(&times[p], (now() - start) * 1e6);
	note(&turns[p], __atomic_add_fetch(ended, 1, __ATOMIC_SEQ_CST) - before);
}

/* The operations of process @p, until @end if there is one; @done counts them */
static void one_process(void (*op)(long), long p, long depth, long count,
			double end, long *done)
{
	long i;

	me = p;
	for (i = p; end ? now() < end : i < count; i += depth) {
		if (times)
			timed(op, i, p);
		else
			op(i);
		++*done;
	}
}

/* With LATENCY, processes begin when all of them exist */
static void wait_at(const int gate[2])
{
	char c;

	close(gate[1]);
	if (read(gate[0], &c, 1) != 0)
		err(1, "gate");
}

static void run(void (*op)(long), long count, long depth, double seconds)
{
	long p, total = 0, *done = shared(depth * sizeof(*done));
	double start = now(), end = seconds ? start + seconds : 0;
	int status, gate[2] = { -1, -1 };

	if (getenv("LATENCY")) {
		times = shared(depth * sizeof(*times));
		turns = shared(depth * sizeof(*turns));
		ended = shared(sizeof(*ended));
		if (pipe(gate))
			err(1, "pipe");
	}
	for (p = 0; p < depth; p++) {
		pid_t pid = depth > 1 ? fork() : 0;

		if (pid < 0)
			err(1, "fork");
		if (pid)
			continue;
		if (times && depth > 1)
			wait_at(gate);
		one_process(op, p, depth, count, end, &done[p]);
		if (depth > 1)
			_exit(0);
	}
	if (times)
		close(gate[1]);
	for (p = 1; depth > 1 && p <= depth; p++)
		if (wait(&status) < 0 || status)
			exit(1);
	for (p = 0; p < depth; p++)
		total += done[p];
	if (seconds)
		printf("%ld %.3f\n", total, now() - start);
	if (times) {
		print_amounts(times, depth, total, " ");
		print_amounts(turns, depth, total, "\n");
	}
}

#define SAY(tag) \
	case tag: __asm__ volatile("nopl 0x42450000+" #tag "(%%rax,%%rax,1)" ::: "memory"); break
#define SAY16(tags) \
	SAY(tags##0); SAY(tags##1); SAY(tags##2); SAY(tags##3); \
	SAY(tags##4); SAY(tags##5); SAY(tags##6); SAY(tags##7); \
	SAY(tags##8); SAY(tags##9); SAY(tags##a); SAY(tags##b); \
	SAY(tags##c); SAY(tags##d); SAY(tags##e); SAY(tags##f)

static int say(unsigned long tag)
{
	switch (tag) {
	SAY(0x000);
	SAY(0x001);
	SAY(0x002);
	SAY(0x003);
	SAY16(0x10);
	SAY(0x200);
	SAY(0x201);
	default:
		return 2;
	}
	return 0;
}

static int loaded(unsigned long which, unsigned long text)
{
	int shift;

	for (shift = 60; shift >= 0; shift -= 4)
		say(0x100 | (text >> shift & 0xf));
	return say(0x200 + which);
}

int main(int argc, char **argv)
{
	long count, depth;
	char *end;

	if (argc == 3 && !strcmp(argv[1], "mark"))
		return say(atol(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "loaded"))
		return loaded(atol(argv[2]), strtoul(argv[3], NULL, 16));
	if (argc < 4)
		return 2;
	dir = argv[2];
	count = strtol(argv[3], &end, 10);
	depth = argc > 4 ? atol(argv[4]) : 1;
	if (count < 1 || depth < 1)
		return 2;
	run(operation(argv[1]), count, depth, *end == 's' ? count : 0);
	return 0;
}
