// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Random operations on one file, compared with a model in memory, as the old "fsx"
 * does: write, read, truncate, extend, write and read through mmap, fsync, reopen.
 *
 *   fsops [-s SEED] [-n OPERATIONS] [-l LENGTH] [-p PAUSE] [-fcd] FILE
 *     -l  size limit of the file in bytes (256k)
 *     -p  pause while this file exists
 *     -f  fallocate(2) as well: allocate, and punch holes
 *     -c  clone ranges of the file as well (FICLONERANGE)
 *     -d  one of two reads and writes is direct
 *
 * Exit 1 and one line upon a mismatch or an error, with seed and operation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path, *rest;
static unsigned int seed = 1;
static unsigned long nr;
static size_t most = 256 << 10, length;
static uint8_t *model, *io;
static uint64_t state;
static int fd = -1, direct = -1;
static int allocates, clones, directs;

static void die(const char *what)
{
	fprintf(stderr, "fsops: seed %u, operation %lu, %zu bytes: %s: %s\n",
		seed, nr, length, what, strerror(errno));
	exit(1);
}

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? state % below : 0;
}

static void mismatch(size_t at, uint8_t is, const char *how)
{
	fprintf(stderr, "fsops: seed %u, operation %lu: byte %zu of %zu is %02x, not %02x (%s)\n",
		seed, nr, at, length, is, model[at], how);
	exit(1);
}

static void compare(const uint8_t *p, size_t at, size_t n, const char *how)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != model[at + i])
			mismatch(at + i, p[i], how);
}

static void reopen(void)
{
	struct stat st;

	if (fd >= 0 && close(fd))
		die("close");
	fd = open(path, O_RDWR);
	if (fd < 0)
		die("open");
	if (directs) {
		if (direct >= 0 && close(direct))
			die("close");
		direct = open(path, O_RDWR | O_DIRECT);
		if (direct < 0)
			die("open, direct");
	}
	if (fstat(fd, &st))
		die("fstat");
	if ((size_t)st.st_size != length) {
		fprintf(stderr, "fsops: seed %u, operation %lu: %lld bytes, not %zu\n",
			seed, nr, (long long)st.st_size, length);
		exit(1);
	}
}

/* A range within @limit bytes; most are small */
static size_t range(size_t limit, size_t *at)
{
	size_t n;

	if (!limit)
		return 0;
	*at = rnd(limit);
	n = 1 + rnd(limit - *at);
	if (rnd(4) && n > 16384)
		n = 1 + rnd(16384);
	return n;
}

static void scribble(uint8_t *p, size_t n)
{
	uint64_t x = rnd(0) ^ state;

	for (size_t i = 0; i < n; i++)
		p[i] = (x >> (i & 31)) + i;
}

/* Which descriptor a read or write takes */
static int any_fd(void)
{
	return directs && rnd(2) ? direct : fd;
}

static void do_write(void)
{
	size_t at, n = range(most, &at);

	scribble(io, n);
	if (pwrite(any_fd(), io, n, at) != (ssize_t)n)
		die("write");
	memcpy(model + at, io, n);
	if (at + n > length)
		length = at + n;
}

static void do_read(void)
{
	size_t at, n = range(length, &at);

	if (!n)
		return;
	memset(io, 0xee, n);
	if (pread(any_fd(), io, n, at) != (ssize_t)n)
		die("read");
	compare(io, at, n, "read");
}

static void do_truncate(void)
{
	size_t to = rnd(most + 1);

	if (ftruncate(fd, to))
		die("truncate");
	/* Extending the file again reads as zeroes */
	if (to < length)
		memset(model + to, 0, length - to);
	length = to;
}

static void do_mmap(void)
{
	size_t at, n = range(length, &at);
	int write = rnd(2);
	uint8_t *map;

	if (!n)
		return;
	map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	if (write) {
		scribble(model + at, n);
		memcpy(map + at, model + at, n);
		if (msync(map, length, MS_SYNC))
			die("msync");
	} else {
		compare(map + at, at, n, "mmap");
	}
	if (munmap(map, length))
		die("munmap");
}

static void do_allocate(void)
{
	size_t at, n = range(most, &at);

	if (fallocate(fd, 0, at, n))
		die("fallocate");
	if (at + n > length)
		length = at + n;
}

static void do_punch(void)
{
	size_t at, n = range(length, &at);

	if (!n)
		return;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n))
		die("fallocate, punch a hole");
	memset(model + at, 0, n);
}

/* Whole blocks within the file; the two ranges do not overlap */
static void do_clone(void)
{
	size_t blocks = length >> 12, half = blocks / 2, n, from, to;
	struct file_clone_range range = { .src_fd = fd };

	if (!half)
		return;
	n = 1 + rnd(half);
	from = rnd(half - n + 1);
	to = half + rnd(blocks - half - n + 1);
	range.src_offset = from << 12;
	range.src_length = n << 12;
	range.dest_offset = to << 12;
	if (ioctl(fd, FICLONERANGE, &range))
		die("FICLONERANGE");
	memcpy(model + (to << 12), model + (from << 12), n << 12);
}

/* Beside what every file system can */
static void step_more(void)
{
	if (allocates && rnd(2)) {
		if (rnd(2))
			do_allocate();
		else
			do_punch();
	} else if (clones) {
		do_clone();
	}
}

static void step(void)
{
	if ((allocates || clones) && !rnd(5))
		step_more();

	while (rest && !access(rest, F_OK))
		usleep(100000);
	switch (rnd(16)) {
	case 0:
		do_truncate();
		break;
	case 1:
		if (fsync(fd))
			die("fsync");
		break;
	case 2:
		reopen();
		break;
	case 3:
	case 4:
		do_mmap();
		break;
	case 5 ... 9:
		do_write();
		break;
	default:
		do_read();
		break;
	}
}

int main(int argc, char **argv)
{
	unsigned long operations = 1000;
	int opt;

	while ((opt = getopt(argc, argv, "s:n:l:p:fcd")) != -1) {
		switch (opt) {
		case 's': seed = strtoul(optarg, NULL, 0); break;
		case 'n': operations = strtoul(optarg, NULL, 0); break;
		case 'l': most = strtoul(optarg, NULL, 0); break;
		case 'p': rest = optarg; break;
		case 'f': allocates = 1; break;
		case 'c': clones = 1; break;
		case 'd': directs = 1; break;
		default: return 2;
		}
	}
	if (optind != argc - 1 || !most)
		return 2;
	path = argv[optind];
	state = seed * 0x9e3779b97f4a7c15ull + 1;
	model = calloc(1, most);
	io = malloc(most);
	if (!model || !io)
		die("memory");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die("create");
	reopen();
	for (nr = 1; nr <= operations; nr++)
		step();
	reopen();
	if (pread(fd, io, most, 0) != (ssize_t)length)
		die("last read");
	compare(io, 0, length, "last read");
	if (close(fd))
		die("close");
	return 0;
}
