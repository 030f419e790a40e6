/* SPDX-License-Identifier: ISC */
/* What the machine offers this process: CPUs, a quota of their time, a class of
 * scheduling; and who else wants it. */
#define _GNU_SOURCE
#include <config.h>

#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000u
/* Threads may have stacks of 16 KiB, and this is at the bottom of a wait. */
#define TEXT 2048u /* of the list of groups */
#define PATH 512u
#define VALUE 64u

/* ---- Answers that hold for a while ------------------------------------- */

struct answer {
	_Atomic uint64_t asked;
	_Atomic unsigned value;
};

/* Relaxed, all: threads may ask at the same time, and either answer is
 * right. */
static unsigned every(struct answer *answer, uint64_t ns, unsigned (*ask)(void))
{
	uint64_t now = handoff__clock();
	uint64_t asked = atomic_load_explicit(&answer->asked,
	    memory_order_relaxed);
	unsigned value;
	int before;

	if (asked != 0 && now - asked <= ns)
		return atomic_load_explicit(&answer->value,
		    memory_order_relaxed);
	before = errno;
	value = ask();
	errno = before;
	atomic_store_explicit(&answer->value, value, memory_order_relaxed);
	atomic_store_explicit(&answer->asked, now, memory_order_relaxed);
	return value;
}

static unsigned online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (unsigned)n : 1;
}

unsigned handoff__cpus(void)
{
	static struct answer answer;
	unsigned n = every(&answer, 10 * (uint64_t)SECOND, online);

	/* Another thread may have asked first and not have written it yet. */
	return n > 0 ? n : online();
}

/* ---- This thread ------------------------------------------------------- */

int handoff__realtime(void)
{
	int class = sched_getscheduler(0);

	return class == SCHED_FIFO || class == SCHED_RR;
}

uint64_t handoff__affinity(void)
{
#ifdef CPU_SETSIZE
	uint64_t words[CPU_SETSIZE / 64] = { 0 };
	uint64_t sum = 0;
	int before = errno;

	if (sched_getaffinity(0, sizeof words, (cpu_set_t *)words) != 0)
		words[0] = 0; /* more CPUs than these: all alike */
	errno = before;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15u;
	return sum;
#else
	return 0;
#endif
}

/* ---- What the kernel tells in files ------------------------------------ */

#ifdef __linux__
/* Reads the beginning of a file: false if there is none. */
static bool read_text(const char *path, char *text, size_t size)
{
	int cancel = handoff__cancel_off();
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (file >= 0) {
		n = read(file, text, size - 1);
		close(file);
	}
	handoff__cancel_restore(cancel);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* "max 100000", "150000 100000": in thousandths of a CPU, 0 for no limit. */
static unsigned share(const char *quota, const char *period)
{
	unsigned long long q = strtoull(quota, NULL, 10);
	unsigned long long p = strtoull(period, NULL, 10);

	if (*quota < '1' || *quota > '9' || p == 0 || q > ULLONG_MAX / 1000)
		return 0;
	q = q * 1000 / p;
	return q < UINT_MAX ? (unsigned)q : 0;
}

static unsigned share_new(const char *directory)
{
	char path[PATH + 32];
	char text[VALUE];
	const char *period;

	snprintf(path, sizeof path, "%s/cpu.max", directory);
	if (!read_text(path, text, sizeof text))
		return 0;
	period = strchr(text, ' ');
	return period ? share(text, period + 1) : 0;
}

static unsigned share_old(const char *directory)
{
	char path[PATH + 32];
	char quota[VALUE];
	char period[VALUE];

	snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
	if (!read_text(path, quota, sizeof quota))
		return 0;
	snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
	return read_text(path, period, sizeof period) ? share(quota, period) :
	                                                0;
}

/* The least of a group and all that it is in. */
static unsigned least(const char *root, const char *group,
    unsigned (*share_of)(const char *directory))
{
	char path[PATH];
	char *end;
	unsigned found = 0;

	if (snprintf(path, sizeof path, "%s%s", root, group) >= (int)PATH)
		return 0;
	while ((end = strrchr(path, '/')) != NULL &&
	    (size_t)(end - path) >= strlen(root)) {
		unsigned n;

		*end = '\0';
		n = share_of(path);
		if (n != 0 && (found == 0 || n < found))
			found = n;
	}
	return found;
}

/* Whether `name` is in a list with commas. */
static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, name, n) == 0 &&
		    (list[n] == '\0' || list[n] == ','))
			return true;
	}
	return false;
}

/* A line of /proc/self/cgroup is NUMBER:CONTROLLERS:GROUP. */
static unsigned quota(void)
{
	char text[TEXT];
	char *next = text;
	char *line;
	unsigned found = 0;

	if (!read_text("/proc/self/cgroup", text, sizeof text))
		return 0;
	while ((line = strsep(&next, "\n")) != NULL && found == 0) {
		char group[PATH];
		char *list;

		strsep(&line, ":");
		list = strsep(&line, ":");
		if (!list || !line)
			continue;
		/* Ends with a slash, so that the group itself counts. */
		if (snprintf(group, sizeof group, "%s/", line) >= (int)PATH)
			continue;
		if (*list == '\0')
			found = least("/sys/fs/cgroup", group, share_new);
		else if (listed(list, "cpu"))
			found = least("/sys/fs/cgroup/cpu", group, share_old);
	}
	return found;
}

/* "0.12 0.05 0.01 RUNNABLE/ALL LAST" */
unsigned handoff__runnable(void)
{
	char text[VALUE];
	int before = errno;
	const char *at;
	unsigned long n = 0;

	if (read_text("/proc/loadavg", text, sizeof text)) {
		at = text;
		for (int i = 0; i < 3 && at; i++)
			at = strchr(at + (i > 0), ' ');
		if (at)
			n = strtoul(at + 1, NULL, 10);
	}
	errno = before;
	return n < UINT_MAX ? (unsigned)n : 0;
}
#else
static unsigned quota(void)
{
	return 0;
}

unsigned handoff__runnable(void)
{
	return 0;
}
#endif

unsigned handoff__quota(void)
{
	static struct answer answer;

	return every(&answer, 60 * (uint64_t)SECOND, quota);
}
