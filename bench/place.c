/* SPDX-License-Identifier: ISC */
/*
 * Placements.
 */
#include <stddef.h>
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

const char *place_cpus(enum place place, int cpu[2])
{
	int pair[2], n;

	cpu[0] = cpu[1] = PLACE_ANY_CPU;
	if (places[place].loops > 0 && place_no_loops)
		return place_no_loops;
	if (places[place].cpus == ANY_CPUS)
		return NULL;
	if (place_no_pins)
		return place_no_pins;
	n = place_pair(pair);
	if (n == 0)
		return "the CPUs that may be used are not known";
	if (places[place].cpus == TWO_CPUS && n < 2)
		return "only one CPU may be used";
	cpu[0] = pair[0];
	cpu[1] = places[place].cpus == TWO_CPUS ? pair[1] : pair[0];
	return NULL;
}
