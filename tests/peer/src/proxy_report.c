// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Log and counts of the proxy. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proxy.h"

struct report report;

void say(const char *fmt, ...)
{
	va_list ap;

	printf("proxy %lld: ", (long long)vb_now_ms());
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void report_write(const char *file)
{
	FILE *out = fopen(file, "w");

	if (!out)
		errx(1, "cannot write %s", file);
	/* The last connection ends when the client unmounts */
	if (report.connections)
		report.lost = report.connections - 1 - (report.kills - report.last_killed);
	for (int i = PROC_NULL; i < PROC_MAX; i++)
		fprintf(out, "%s=%u ", proc_name(i), report.by_proc[i]);
#define X(name) fprintf(out, #name "=%u ", report.name);
	REPORT_COUNTS(X)
#undef X
	fputc('\n', out);
	fclose(out);
	memset(&report, 0, sizeof(report));
}
