/* SPDX-License-Identifier: ISC */
/* The semaphores that one parks on: those that this process has open. */
#ifndef HANDOFF_DOORS_H
#define HANDOFF_DOORS_H

#include "map.h"

/* A semaphore of one generation of a bucket. */
struct handoff__door {
	struct handoff__bucket bucket;
	uint32_t generation;
	HANDLE semaphore;
	unsigned users; /* threads; it stays open for them */
	uint32_t used;  /* when last, by the count of uses */
};

/* Opens the door of the generation that it is now, or makes it; NULL: that is
 * not possible.  `own` serves where all that are kept are in use. */
struct handoff__door *handoff__door_get(const struct handoff__bucket *bucket,
    struct handoff__door *own);

/* The same for one generation, or NULL: there is none, and so nobody there. */
struct handoff__door *handoff__door_find(const struct handoff__bucket *bucket,
    uint32_t generation, struct handoff__door *own);

void handoff__door_put(struct handoff__door *door);

#endif
