// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What NFSv4.2 has operations for, and the small shell none.
 *
 *   fileops copy FROM TO            all of it, by copy_file_range(2)
 *   fileops clone FROM TO           by ioctl FICLONE
 *   fileops setxattrs FILE N LEN    N extended attributes of LEN octets each
 *   fileops checkxattrs FILE N LEN  they, and no others, are there and have their values
 *
 * Exit 1 and one line if it does not succeed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "fileops: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void wrong(const char *what, long nr)
{
	fprintf(stderr, "fileops: %s (%ld)\n", what, nr);
	exit(1);
}

static int open_both(const char *from, const char *to, int *in)
{
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	*in = open(from, O_RDONLY);
	if (*in < 0 || out < 0)
		die("open");
	return out;
}

static void copy(const char *from, const char *to)
{
	int in, out = open_both(from, to, &in);
	struct stat st;
	off_t left;

	if (fstat(in, &st))
		die("fstat");
	for (left = st.st_size; left;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, left, 0);

		if (n < 0)
			die("copy_file_range");
		if (!n)
			wrong("the copy ends early", left);
		left -= n;
	}
	if (close(out))
		die("close");
}

static void clone(const char *from, const char *to)
{
	int in, out = open_both(from, to, &in);

	if (ioctl(out, FICLONE, in))
		die("FICLONE");
}

/* Long names, so that a list of them is long, too */
static void name_of(char *name, size_t size, long nr)
{
	snprintf(name, size, "user.%0100ld", nr);
}

static void value_of(char *value, size_t len, long nr)
{
	for (size_t i = 0; i < len; i++)
		value[i] = nr * 31 + i + (i >> 8);
}

static void set_xattrs(const char *file, long n, size_t len)
{
	char name[XATTR_NAME_MAX + 1], *value = malloc(len + 1);

	for (long i = 0; i < n; i++) {
		name_of(name, sizeof(name), i);
		value_of(value, len, i);
		if (setxattr(file, name, value, len, 0))
			die("setxattr");
	}
}

static void check_xattrs(const char *file, long n, size_t len)
{
	static char list[XATTR_LIST_MAX], got[XATTR_SIZE_MAX];
	char name[XATTR_NAME_MAX + 1], *value = malloc(len + 1);
	ssize_t size = listxattr(file, list, sizeof(list));
	long listed = 0;

	if (size < 0)
		die("listxattr");
	for (char *p = list; p < list + size; p += strlen(p) + 1)
		listed += !strncmp(p, "user.", 5);
	if (listed != n)
		wrong("not as many names are listed", listed);
	for (long i = 0; i < n; i++) {
		int found = 0;

		name_of(name, sizeof(name), i);
		for (char *p = list; p < list + size; p += strlen(p) + 1)
			found += !strcmp(p, name);
		if (found != 1)
			wrong("a name is not listed once", i);
		value_of(value, len, i);
		size_t have = getxattr(file, name, got, sizeof(got));
		if (have == (size_t)-1)
			die("getxattr");
		if (have != len || memcmp(got, value, len))
			wrong("a value is not what was set", i);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "copy") && argc == 4)
		copy(argv[2], argv[3]);
	else if (!strcmp(mode, "clone") && argc == 4)
		clone(argv[2], argv[3]);
	else if (!strcmp(mode, "setxattrs") && argc == 5)
		set_xattrs(argv[2], atol(argv[3]), atol(argv[4]));
	else if (!strcmp(mode, "checkxattrs") && argc == 5)
		check_xattrs(argv[2], atol(argv[3]), atol(argv[4]));
	else
		return 2;
	return 0;
}
