// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * File operations of NFSv4.2 for which the guest's shell has no command.
 *
 *   fileops copy FROM TO            all of it, by copy_file_range(2)
 *   fileops clone FROM TO           by ioctl FICLONE
 *   fileops setxattrs FILE N LEN    N extended attributes of LEN bytes each
 *   fileops checkxattrs FILE N LEN  these attributes, and no others, have their values
 *
 * Exit 1 and one line if it does not succeed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_both(const char *from, const char *to, int *in)
{
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	*in = open(from, O_RDONLY);
	if (*in < 0 || out < 0)
		err(1, "open");
	return out;
}

static void copy(const char *from, const char *to)
{
	int in, out = open_both(from, to, &in);
	struct stat st;
	off_t left;

	if (fstat(in, &st))
		err(1, "fstat");
	for (left = st.st_size; left;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, left, 0);

		if (n < 0)
			err(1, "copy_file_range");
		if (!n)
			errx(1, "the copy ends early (%ld)", (long)left);
		left -= n;
	}
	if (close(out))
		err(1, "close");
}

static void clone(const char *from, const char *to)
{
	int in, out = open_both(from, to, &in);

	if (ioctl(out, FICLONE, in))
		err(1, "FICLONE");
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
			err(1, "setxattr");
	}
}

static void check_xattrs(const char *file, long n, size_t len)
{
	static char list[XATTR_LIST_MAX], got[XATTR_SIZE_MAX];
	char name[XATTR_NAME_MAX + 1], *value = malloc(len + 1);
	ssize_t size = listxattr(file, list, sizeof(list));
	long listed = 0;

	if (size < 0)
		err(1, "listxattr");
	for (char *p = list; p < list + size; p += strlen(p) + 1)
		listed += !strncmp(p, "user.", 5);
	if (listed != n)
		errx(1, "wrong number of names listed (%ld)", listed);
	for (long i = 0; i < n; i++) {
		int found = 0;

		name_of(name, sizeof(name), i);
		for (char *p = list; p < list + size; p += strlen(p) + 1)
			found += !strcmp(p, name);
		if (found != 1)
			errx(1, "a name is not listed once (%ld)", i);
		value_of(value, len, i);
		size_t have = getxattr(file, name, got, sizeof(got));
		if (have == (size_t)-1)
			err(1, "getxattr");
		if (have != len || memcmp(got, value, len))
			errx(1, "a value is not what was set (%ld)", i);
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
