/* SPDX-License-Identifier: ISC */
/*
 * CPUs are taken from those that the process may use, the first one first; the
 * second of a pair is on another core than the first if there is such a one,
 * since two threads of one core are neither "cross" nor "same".
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../place.h"

const char *const place_no_loops = NULL;

#ifdef __linux__
const char *const place_no_pins = NULL;

#define SETS 8 /* of CPU_SETSIZE CPUs each */

static bool allowed(const cpu_set_t *sets, int cpu)
{
	return CPU_ISSET_S((size_t)cpu, SETS * sizeof(*sets), sets);
}

/* Reads a number that the kernel tells about a CPU; -1 if it does not. */
static int topology(int cpu, const char *what)
{
	char path[128];
	FILE *file;
	int value = -1;

	snprintf(path, sizeof(path),
	    "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static bool same_core(int a, int b)
{
	int core = topology(a, "core_id");

	return core >= 0 && core == topology(b, "core_id") &&
	    topology(a, "physical_package_id") ==
	    topology(b, "physical_package_id");
}

int place_pair(int cpu[2])
{
	cpu_set_t sets[SETS];
	int i, n = 0;

	memset(sets, 0, sizeof(sets));
	if (sched_getaffinity(0, sizeof(sets), sets) != 0)
		return 0;
	for (i = 0; i < SETS * CPU_SETSIZE; i++) {
		if (!allowed(sets, i))
			continue;
		if (n < 2)
			cpu[n++] = i;
		if (n == 2 && !same_core(cpu[0], i)) {
			cpu[1] = i;
			break;
		}
	}
	return n;
}

int place_pin(int cpu)
{
	cpu_set_t sets[SETS];

	if (cpu == PLACE_ANY_CPU)
		return 0;
	if (cpu < 0 || cpu >= SETS * CPU_SETSIZE)
		return EINVAL;
	memset(sets, 0, sizeof(sets));
	CPU_SET_S((size_t)cpu, sizeof(sets), sets);
	return sched_setaffinity(0, sizeof(sets), sets) == 0 ? 0 : errno;
}

#else /* a system where processes cannot be pinned */

const char *const place_no_pins = "this system cannot pin a process";

int place_pair(int cpu[2])
{
	(void)cpu;
	return 0;
}

int place_pin(int cpu)
{
	return cpu == PLACE_ANY_CPU ? 0 : ENOTSUP;
}
#endif
