// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rate of this machine's time stamp counter in kHz, against the system's
 * clock: the median of three measurements of 100 ms. Exit status 1 where there is
 * none that a guest could keep time by.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __x86_64__
#include <x86intrin.h>

static int tsc_is_constant(void)
{
	char line[8192];
	FILE *f = fopen("/proc/cpuinfo", "r");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "flags", 5) && strstr(line, " constant_tsc");
	if (f)
		fclose(f);
	return found;
}

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static unsigned long long measure(void)
{
	unsigned long long ns = now_ns(), ticks = __rdtsc(), end;

	while (now_ns() - ns < 100000000)
		;
	end = now_ns();
	return (__rdtsc() - ticks) * 1000000 / (end - ns);
}

int main(void)
{
	unsigned long long a, b, c, lo, hi;

	if (!tsc_is_constant())
		return 1;
	a = measure();
	b = measure();
	c = measure();
	lo = a < b ? a : b;
	hi = a < b ? b : a;
	printf("%llu\n", c < lo ? lo : c > hi ? hi : c);
	return 0;
}
#else
int main(void)
{
	return 1;
}
#endif
