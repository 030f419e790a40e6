/* SPDX-License-Identifier: ISC */
/*
 * Placements.  CPUs are taken from those that the process may use, the first
 * one first; the second of a pair is on another core than the first if there
 * is such a one, since two threads of one core are neither "cross" nor "same".
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "place.h"

static const struct {
	const char *name;
	const char *floor; /* to compare with */
	enum { ONE_CPU, TWO_CPUS, ANY_CPUS } cpus;
	unsigned loops;
} places[PLACES] = {
	[PLACE_CROSS] = { "cross", "line2", TWO_CPUS, 0 },
	[PLACE_SAME] = { "same", "line2-yield", ONE_CPU, 0 },
	[PLACE_FREE] = { "free", "line2", ANY_CPUS, 0 },
	[PLACE_BUSY2] = { "busy2", "line2", ANY_CPUS, 2 },
	[PLACE_BUSY4] = { "busy4", "line2", ANY_CPUS, 4 },
	/* What yields gives whole timeslices to the loop. */
	[PLACE_SAME1] = { "same1", "futex", ONE_CPU, 1 },
};

const char *place_name(enum place place)
{
	return places[place].name;
}

enum place place_find(const char *name)
{
	int i;

	for (i = 0; i < PLACES; i++)
		if (strcmp(places[i].name, name) == 0)
			break;
	return (enum place)i;
}

const char *place_floor(enum place place)
{
	return places[place].floor;
}

unsigned place_loops(enum place place)
{
	return places[place].loops;
}

#ifdef __linux__
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

/* Finds up to two CPUs and returns how many. */
static int find_pair(int cpu[2])
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

const char *place_cpus(enum place place, int cpu[2])
{
	int pair[2], n;

	cpu[0] = cpu[1] = PLACE_ANY_CPU;
	if (places[place].cpus == ANY_CPUS)
		return NULL;
	n = find_pair(pair);
	if (n == 0)
		return "the CPUs that may be used are not known";
	if (places[place].cpus == TWO_CPUS && n < 2)
		return "only one CPU may be used";
	cpu[0] = pair[0];
	cpu[1] = places[place].cpus == TWO_CPUS ? pair[1] : pair[0];
	return NULL;
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

const char *place_cpus(enum place place, int cpu[2])
{
	cpu[0] = cpu[1] = PLACE_ANY_CPU;
	if (places[place].cpus == ANY_CPUS)
		return NULL;
	return "this system cannot pin a process";
}

int place_pin(int cpu)
{
	return cpu == PLACE_ANY_CPU ? 0 : ENOTSUP;
}
#endif
