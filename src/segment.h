/* SPDX-License-Identifier: ISC */
/*
 * Segments as the rest of the library sees them, and the list of those that
 * this process has open.
 */
#ifndef HANDOFF_SEGMENT_H
#define HANDOFF_SEGMENT_H

#include "object.h"

#include <stdbool.h>

#define HANDOFF__NAME 200u

/* A segment that this process has open, once however often it was opened. */
struct handoff__open {
	struct handoff__open *next;
	struct handoff__map *map;
	struct handoff__segment_header *header; /* where it is mapped */
	uint64_t id;
	uint64_t bytes; /* of the memory; the header's may be damaged later */
	uint32_t kind;
	uint32_t token; /* as which this process has joined; 0: not yet */
	unsigned opens;
	bool created;
	char name[HANDOFF__NAME + 1];
};

/* What an opener wants. */
struct handoff__wanted {
	const char *name;
	unsigned flags;
	unsigned mode;
	uint32_t kind; /* 0: any */
	size_t bytes;  /* 0: any */
	int (*init)(void *memory, size_t bytes, void *arg);
	void *arg;
};

/* The name without its slash: 0, EINVAL or ENAMETOOLONG. */
int handoff__name(const char **name);

/* Opens or makes a segment; on success *found is in the list, opened once
 * more.  Errors: as handoff_segment_open. */
int handoff__segment_get(struct handoff__open **found,
    const struct handoff__wanted *asked);

/* Opens or makes a segment that holds one object, `bytes` of `kind`, and sees
 * that it holds one. */
int handoff__object_open(void **object, struct handoff__wanted *wanted,
    enum handoff__kind kind);

/* Whether a header, and a file of that size, is a segment of this version. */
bool handoff__header_valid(const struct handoff__segment_header *header,
    uint64_t file);

/* The id of the segment of this process in which `object` lies; 0: none. */
uint64_t handoff__segment_of(const void *object);

/* The following want the process locked. */
struct handoff__open *handoff__segment_at(const void *object);
struct handoff__open *handoff__segment_same(const struct handoff__map *map);
struct handoff__open *handoff__segment_by_id(uint64_t id);
void handoff__segment_add(struct handoff__open *open);
void handoff__segment_remove(struct handoff__open *open);
/* Leaves, unmaps and frees one that is in the list no more. */
void handoff__segment_discard(struct handoff__open *open);
/* Joins as `token`; waits 10 ms for one who asks about it.  EAGAIN. */
int handoff__segment_join(struct handoff__open *open, uint32_t token);
/* Joins all that are open; EAGAIN: draw another token. */
int handoff__segments_join(uint32_t token);

/*
 * Is the process that was `token` in that segment dead?  0: yes, the process
 * is locked, and nobody can live as `token` until handoff__dead_end().  Else
 * no, or unknown.
 */
int handoff__dead_begin(uint64_t segment, uint32_t token);
void handoff__dead_end(void);

#endif
