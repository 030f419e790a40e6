/* SPDX-License-Identifier: ISC */
/*
 * CPUs are taken from those of the process's group that it may use, the first
 * one first; the second of a pair is on another core than the first if there
 * is such a one.
 */
#include "api.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../place.h"

const char *const place_no_loops = "there are no endless loops on this system";
const char *const place_no_pins = NULL;

/* The CPUs that share a core with one; none if the system does not tell. */
static ULONG_PTR core_of(int cpu)
{
	SYSTEM_LOGICAL_PROCESSOR_INFORMATION *cores = NULL;
	ULONG_PTR mask = 0;
	DWORD bytes = 0, i;

	GetLogicalProcessorInformation(NULL, &bytes);
	cores = malloc(bytes);
	if (cores && GetLogicalProcessorInformation(cores, &bytes))
		for (i = 0; i < bytes / sizeof(*cores); i++)
			if (cores[i].Relationship == RelationProcessorCore &&
			    (cores[i].ProcessorMask >> cpu & 1))
				mask = cores[i].ProcessorMask;
	free(cores);
	return mask;
}

int place_pair(int cpu[2])
{
	ULONG_PTR mine, all, core = 0;
	int i, n = 0;

	if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all))
		return 0;
	for (i = 0; i < (int)(8 * sizeof(mine)); i++) {
		if ((mine >> i & 1) == 0)
			continue;
		if (n < 2)
			cpu[n++] = i;
		if (n == 1)
			core = core_of(i);
		else if ((core >> i & 1) == 0) {
			cpu[1] = i;
			break;
		}
	}
	return n;
}

int place_pin(int cpu)
{
	if (cpu == PLACE_ANY_CPU)
		return 0;
	if (cpu < 0 || cpu >= (int)(8 * sizeof(ULONG_PTR)))
		return EINVAL;
	return SetProcessAffinityMask(GetCurrentProcess(),
	           (ULONG_PTR)1 << cpu) ?
	    0 :
	    api_error();
}
