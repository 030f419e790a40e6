/* SPDX-License-Identifier: ISC */
/*
 * The semaphores that one parks on, kept open: to make or find one takes some
 * microseconds.  64 at the most; the one that was used least lately goes when
 * another is needed, unless a thread uses it.
 */
#include "doors.h"

#include <limits.h>

#define KEPT 64u

static SRWLOCK lock = SRWLOCK_INIT;
static struct handoff__door kept[KEPT];
static uint32_t uses;

static void door_name(wchar_t *to, const struct handoff__door *door)
{
	const struct handoff__bucket *b = &door->bucket;

	if (b->segment == 0)
		to = handoff__put_hex(handoff__put(to,
		                          "Local\\handoff!park.plain."),
		    handoff__user(), 16);
	else
		to = handoff__put_hex(handoff__put_space(to, "!park."),
		    b->segment, 16);
	to = handoff__put_hex(handoff__put(to, "."), b->index, 4);
	handoff__put_hex(handoff__put(to, "."), door->generation, 8);
}

static HANDLE make(const struct handoff__door *door, bool shared)
{
	wchar_t name[HANDOFF__OBJECT_NAME];
	struct handoff__access access;

	door_name(name, door);
	return CreateSemaphoreExW(handoff__access(&access, shared), 0, LONG_MAX,
	    name, 0, SYNCHRONIZE | SEMAPHORE_MODIFY_STATE);
}

static HANDLE find(const struct handoff__door *door)
{
	wchar_t name[HANDOFF__OBJECT_NAME];

	door_name(name, door);
	return OpenSemaphoreW(SYNCHRONIZE | SEMAPHORE_MODIFY_STATE, FALSE,
	    name);
}

static bool is(const struct handoff__door *a, const struct handoff__door *b)
{
	return a->bucket.segment == b->bucket.segment &&
	    a->bucket.index == b->bucket.index &&
	    a->generation == b->generation;
}

/* The place of one that is kept, or the best one for it; NULL: all are in
 * use. */
static struct handoff__door *place_for(const struct handoff__door *door)
{
	struct handoff__door *best = NULL;

	for (unsigned i = 0; i < KEPT; i++) {
		struct handoff__door *d = &kept[i];

		if (d->semaphore && is(d, door))
			return d;
		if (d->users > 0 || (best && !best->semaphore))
			continue;
		if (!best || !d->semaphore ||
		    uses - d->used > uses - best->used)
			best = d;
	}
	return best;
}

/* `opened` is called for what is not kept yet. */
static struct handoff__door *get(struct handoff__door *own, bool made,
    bool shared)
{
	struct handoff__door *d;

	AcquireSRWLockExclusive(&lock);
	d = place_for(own);
	if (!d || !d->semaphore || !is(d, own)) {
		HANDLE semaphore = made ? make(own, shared) : find(own);

		if (!semaphore) {
			ReleaseSRWLockExclusive(&lock);
			return NULL;
		}
		if (!d)
			d = own;
		else if (d->semaphore)
			CloseHandle(d->semaphore);
		*d = *own;
		d->semaphore = semaphore;
	}
	d->users++;
	d->used = ++uses;
	ReleaseSRWLockExclusive(&lock);
	return d;
}

struct handoff__door *handoff__door_get(const struct handoff__bucket *bucket,
    struct handoff__door *own)
{
	bool shared;

	*own = (struct handoff__door){ .bucket = *bucket };
	if (!handoff__generation(bucket, &own->generation, &shared))
		return NULL;
	return get(own, true, shared);
}

struct handoff__door *handoff__door_find(const struct handoff__bucket *bucket,
    uint32_t generation, struct handoff__door *own)
{
	*own = (struct handoff__door){ .bucket = *bucket,
		.generation = generation };
	return get(own, false, false);
}

void handoff__door_put(struct handoff__door *door)
{
	HANDLE semaphore = NULL;

	AcquireSRWLockExclusive(&lock);
	if (--door->users == 0 && (door < kept || door >= kept + KEPT))
		semaphore = door->semaphore;
	ReleaseSRWLockExclusive(&lock);
	if (semaphore)
		CloseHandle(semaphore);
}
