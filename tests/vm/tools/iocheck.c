// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verified file I/O: every byte is a function of its position in the file and of
 * a seed, so that a misplaced or stale byte is noticed.
 *
 *   iocheck write|read|verify [options] FILE
 *   iocheck memory [-l LENGTH] [-s SEED] [-r N]
 *     -o OFFSET  -l LENGTH  -b BLOCK (one system call each)  -s SEED
 *     -d   O_DIRECT          -m N  memory N bytes off a page boundary
 *     -M   through mmap      -t    truncate before writing
 *     -y   fsync at the end  -r N  repeat N times
 *     -v   from or to scattered pieces of memory, of odd lengths
 *   "verify" is "read", and the file must end at OFFSET + LENGTH. "memory" uses no file:
 *   it fills LENGTH of the process's own memory and compares it, N times.
 * Numbers take k and m. Exit 1 and one line on a mismatch or error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* With -v: pieces that neither begin nor end with a page, with room between them */
#define PIECES	512

static uint64_t seed = 1;
static int vectored;

static uint8_t byte_at(uint64_t pos)
{
	uint64_t x = (pos >> 3) * 0x9e3779b97f4a7c15ull + seed;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	return x >> ((pos & 7) * 8);
}

static void fill(uint8_t *p, uint64_t pos, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(pos + i);
}

static void die(const char *what, uint64_t pos)
{
	fprintf(stderr, "iocheck: %s at %llu: %s\n", what,
		(unsigned long long)pos, strerror(errno));
	exit(1);
}

static void compare(const uint8_t *p, uint64_t pos, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == byte_at(pos + i))
			continue;
		fprintf(stderr, "iocheck: byte %llu is %02x, not %02x (%zu of this block of %zu)\n",
			(unsigned long long)(pos + i), p[i], byte_at(pos + i), i, n);
		exit(1);
	}
}

static uint64_t number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 0);

	if (*end == 'k' || *end == 'K')
		n <<= 10;
	else if (*end == 'm' || *end == 'M')
		n <<= 20;
	return n;
}

/* Cuts BUF into pieces with 13 bytes between them */
static int cut(struct iovec *vec, uint8_t *buf, size_t n)
{
	static const size_t lens[] = { 1, 4095, 3, 511, 4097, 2048, 8191, 7 };
	int nr = 0;

	for (; n; nr++) {
		size_t len = lens[nr % 8];

		if (len > n || nr == PIECES - 1)
			len = n;
		vec[nr].iov_base = buf;
		vec[nr].iov_len = len;
		buf += len + 13;
		n -= len;
	}
	return nr;
}

/* One block, all at once */
static void transfer_pieces(int fd, int writing, uint8_t *buf, uint64_t pos, size_t n)
{
	struct iovec vec[PIECES];
	int nr = cut(vec, buf, n);
	uint64_t at = pos;
	ssize_t r;

	memset(buf, 0xa5, n + nr * 13);
	for (int i = 0; writing && i < nr; at += vec[i++].iov_len)
		fill(vec[i].iov_base, at, vec[i].iov_len);
	r = writing ? pwritev(fd, vec, nr, pos) : preadv(fd, vec, nr, pos);
	if (r < 0)
		die(writing ? "write" : "read", pos);
	if ((size_t)r != n) {
		errno = 0;
		die("not all of it", pos + r);
	}
	at = pos;
	for (int i = 0; !writing && i < nr; at += vec[i++].iov_len)
		compare(vec[i].iov_base, at, vec[i].iov_len);
	/* The bytes between the pieces must be unchanged */
	for (int i = 0; i < nr; i++)
		for (int j = 0; j < 13; j++)
			if (((uint8_t *)vec[i].iov_base)[vec[i].iov_len + j] != 0xa5) {
				errno = 0;
				die("bytes behind a piece of memory are changed", pos);
			}
}

/* One block by system calls; short transfers are continued. */
static void transfer(int fd, int writing, uint8_t *buf, uint64_t pos, size_t n)
{
	size_t done = 0;

	if (vectored) {
		transfer_pieces(fd, writing, buf, pos, n);
		return;
	}
	if (writing)
		fill(buf, pos, n);
	else
		memset(buf, 0xa5, n);
	while (done < n) {
		ssize_t r = writing ? pwrite(fd, buf + done, n - done, pos + done)
				    : pread(fd, buf + done, n - done, pos + done);
		if (r < 0)
			die(writing ? "write" : "read", pos + done);
		if (!r) {
			errno = 0;
			die("file ends", pos + done);
		}
		done += r;
	}
	if (!writing)
		compare(buf, pos, n);
}

static void by_mmap(int fd, int writing, uint64_t off, uint64_t len)
{
	uint64_t start = off & ~4095ull;
	uint8_t *p;

	if (writing && ftruncate(fd, off + len))
		die("ftruncate", off + len);
	p = mmap(NULL, off + len - start, writing ? PROT_READ | PROT_WRITE : PROT_READ,
		 MAP_SHARED, fd, start);
	if (p == MAP_FAILED)
		die("mmap", off);
	if (writing) {
		fill(p + (off - start), off, len);
		if (msync(p, off + len - start, MS_SYNC))
			die("msync", off);
	} else {
		compare(p + (off - start), off, len);
	}
	munmap(p, off + len - start);
}

/*
 * A pass writes and reads each page once, so that pages that do not fit go to swap
 * and come back. Words are fast enough that the swap limits the speed.
 */
static int in_memory(uint64_t len, uint64_t repeat)
{
	uint64_t i, n = len / sizeof(i), *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("memory", 0);
	for (; repeat--; seed++) {
		for (i = 0; i < n; i++)
			p[i] = (i + seed) * 0x9e3779b97f4a7c15ull;
		for (i = 0; i < n; i++) {
			if (p[i] == (i + seed) * 0x9e3779b97f4a7c15ull)
				continue;
			fprintf(stderr, "iocheck: word %llu of memory is %016llx\n",
				(unsigned long long)i, (unsigned long long)p[i]);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t off = 0, len = 65536, block = 65536, repeat = 1;
	int c, fd, flags, map = 0, sync = 0, trunc = 0, direct = 0, writing, skew = 0;
	struct stat st;
	uint8_t *buf;
	char *mode;

	if (argc < 2)
		return 2;
	mode = argv[1];
	writing = !strcmp(mode, "write");
	optind = 2;
	while ((c = getopt(argc, argv, "o:l:b:s:dm:Mtyr:v")) != -1) {
		switch (c) {
		case 'o': off = number(optarg); break;
		case 'l': len = number(optarg); break;
		case 'b': block = number(optarg); break;
		case 's': seed = number(optarg); break;
		case 'd': direct = O_DIRECT; break;
		case 'm': skew = number(optarg); break;
		case 'M': map = 1; break;
		case 't': trunc = O_TRUNC; break;
		case 'y': sync = 1; break;
		case 'r': repeat = number(optarg); break;
		case 'v': vectored = 1; break;
		default: return 2;
		}
	}
	if (!strcmp(mode, "memory"))
		return in_memory(len, repeat);
	if (optind + 1 != argc)
		return 2;
	flags = writing ? O_RDWR | O_CREAT | trunc : O_RDONLY;
	fd = open(argv[optind], flags | direct, 0644);
	if (fd < 0)
		die("open", 0);
	buf = aligned_alloc(4096, ((block + skew + (vectored ? PIECES * 13 : 0)) | 4095) + 1);
	if (!buf)
		die("memory", 0);
	while (repeat--) {
		if (map)
			by_mmap(fd, writing, off, len);
		else
			for (uint64_t done = 0, n; done < len; done += n) {
				n = len - done < block ? len - done : block;
				transfer(fd, writing, buf + skew, off + done, n);
			}
	}
	if (sync && fsync(fd))
		die("fsync", off + len);
	if (!strcmp(mode, "verify")) {
		if (fstat(fd, &st))
			die("fstat", 0);
		if ((uint64_t)st.st_size != off + len) {
			fprintf(stderr, "iocheck: file has %lld bytes, not %llu\n",
				(long long)st.st_size, (unsigned long long)(off + len));
			return 1;
		}
	}
	if (close(fd))
		die("close", off + len);
	return 0;
}
