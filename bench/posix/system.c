/* SPDX-License-Identifier: ISC */
/*
 * What the bench asks of a POSIX system.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

#include "../bench.h"
#include "../report.h"
#include "../system.h"

const bool system_counts_switches = true;

uint64_t system_bits(void)
{
	uint64_t bits;

	if (getentropy(&bits, sizeof(bits)) != 0)
		bits = bench_now();
	return bits;
}

void system_sleep(uint64_t until)
{
	struct timespec t;

#ifdef __APPLE__
	uint64_t now;

	for (now = bench_now(); now < until; now = bench_now()) {
		t.tv_sec = (time_t)((until - now) / 1000000000u);
		t.tv_nsec = (long)((until - now) % 1000000000u);
		nanosleep(&t, NULL);
	}
#else
	t.tv_sec = (time_t)(until / 1000000000u);
	t.tv_nsec = (long)(until % 1000000000u);
	while (
	    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
#endif
}

unsigned system_cpus(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

static sigset_t held;

void system_hold_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &held);
}

void system_release_signals(void)
{
	sigprocmask(SIG_SETMASK, &held, NULL);
}

void report_cpu(char *model, size_t bytes)
{
	char line[256], *value;
	struct utsname system;
	FILE *file = fopen("/proc/cpuinfo", "re");

	if (uname(&system) < 0)
		memset(&system, 0, sizeof(system));
	snprintf(model, bytes, "%s", system.machine);
	while (file && fgets(line, sizeof(line), file)) {
		value = strchr(line, ':');
		if (!value || strncmp(line, "model name", 10) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		value += strspn(value, ": \t");
		snprintf(model, bytes, "%s", value);
		break;
	}
	if (file)
		fclose(file);
}

void report_kernel(char *kernel, size_t bytes)
{
	struct utsname system;

	if (uname(&system) < 0)
		memset(&system, 0, sizeof(system));
	snprintf(kernel, bytes, "%s %s", system.sysname, system.release);
}
