/* SPDX-License-Identifier: ISC */
/*
 * All vias, and what they have in common: the line that tells two processes of
 * the end of a stretch.
 */
#define _GNU_SOURCE 1
#include <string.h>

#include "bench.h"
#include "via.h"

#define CONTROL ".control"

const struct via *via_at(size_t index)
{
	size_t i;

	for (i = 0; i < via_tables_count; i++) {
		if (index < *via_tables[i].count)
			return &via_tables[i].vias[index];
		index -= *via_tables[i].count;
	}
	return NULL;
}

const struct via *via_find(const char *name)
{
	const struct via *via;
	size_t i;

	for (i = 0; (via = via_at(i)) != NULL; i++)
		if (strcmp(via->name, name) == 0)
			break;
	return via;
}

const char *via_group_name(enum via_group group)
{
	static const char *const names[] = {
		[VIA_OURS] = "ours",
		[VIA_FLOORS] = "floors",
		[VIA_FIXED] = "fixed",
		[VIA_PEERS] = "peers",
	};

	return names[group];
}

const char *via_missing(const struct via *via)
{
	return via->missing ? via->missing() : NULL;
}

bool via_is_last(const struct via_side *side)
{
	return via_last(side);
}

int via_open(const struct via *via, struct via_side *side)
{
	void *memory;
	int e;

	e = via_memory_open(&memory, side, CONTROL, sizeof(*side->control));
	if (e != 0)
		return e;
	side->control = memory;
	return via->open(side);
}

void via_unlink(const struct via *via, const char *base)
{
	via_memory_unlink(base, CONTROL);
	via->unlink(base);
}
