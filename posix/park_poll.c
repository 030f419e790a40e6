/* SPDX-License-Identifier: ISC */
/*
 * Parking for systems that offer nothing between processes: the word is looked
 * at again and again.
 */
#define _GNU_SOURCE
#include <config.h>

#include "park.h"

int handoff__park(const struct handoff__place *place, uint32_t expected,
    uint64_t until)
{
	return handoff__park_by_naps(place, &expected, 1, until);
}

int handoff__park_any(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until)
{
	return handoff__park_by_naps(places, expected, n, until);
}

void handoff__unpark(const struct handoff__place *place, uint32_t n)
{
	(void)place;
	(void)n;
}

/* Those who poll `from` see that it has changed. */
int handoff__requeue(const struct handoff__place *from,
    const struct handoff__place *to)
{
	(void)from;
	(void)to;
	return 0;
}
