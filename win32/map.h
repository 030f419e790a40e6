/* SPDX-License-Identifier: ISC */
/* A mapped section, as the files of this port know it. */
#ifndef HANDOFF_MAP_H
#define HANDOFF_MAP_H

#include "names.h"

#include <assert.h>

#define HANDOFF__LIVING 1008u
#define HANDOFF__BUCKETS 3072u

/* What the port keeps in a section in front of the segment. */
struct handoff__front {
	uint64_t magic;
	uint64_t bytes;  /* of the segment */
	uint32_t shared; /* 1: everybody may open it */
	_Alignas(64) _Atomic uint32_t living[HANDOFF__LIVING]; /* see life.c */
	_Atomic uint32_t generations[HANDOFF__BUCKETS];        /* see park.c */
};

static_assert(sizeof(struct handoff__front) == 16384, "handoff__front");

struct handoff__page;

struct handoff__map {
	struct handoff__map *next; /* of those that are joined */
	struct handoff__front *front;
	uint64_t bytes;   /* of the segment */
	uint64_t number;  /* of the section: random */
	uint64_t segment; /* the id under which it is joined */
	uint32_t token;
	HANDLE section;
	HANDLE named; /* the section that leads here; NULL: none yet */
	const struct handoff__page *page; /* its view */
	HANDLE maker; /* held while the segment is being made; NULL */
	HANDLE life;  /* says that we live; NULL */
	HANDLE asker; /* in the place of one that is asked about; NULL */
	char name[201];
};

/* Has parking find what is joined; and no longer. */
void handoff__map_joined(struct handoff__map *map);
void handoff__map_left(struct handoff__map *map);

/* Reads and moves on the generation of a bucket, for those who park in that
 * segment.  `number`: what the segment is called in names of objects.  False:
 * this process has not joined it. */
struct handoff__bucket {
	uint64_t segment; /* 0: plain memory */
	unsigned index;
};
bool handoff__generation(const struct handoff__bucket *bucket, uint32_t *value,
    bool *shared);
/* From `from`, unless another has done so: the value before. */
void handoff__generation_move(const struct handoff__bucket *bucket,
    uint32_t from);

#endif
