/* SPDX-License-Identifier: ISC */
/*
 * The segments that this process has joined, as parking knows them: by their
 * ids.  And what stands for one where there is none: a section of this user's,
 * for all plain memory.
 */
#include "map.h"

static SRWLOCK lock = SRWLOCK_INIT;
static struct handoff__map *joined;

static INIT_ONCE plain_once = INIT_ONCE_STATIC_INIT;
static struct handoff__front *plain;

/* It stays open until the process ends. */
static BOOL CALLBACK open_plain(INIT_ONCE *once, void *arg, void **context)
{
	wchar_t name[HANDOFF__OBJECT_NAME];
	struct handoff__access access;
	HANDLE section;

	(void)once;
	(void)arg;
	(void)context;
	handoff__put_hex(handoff__put(name, "Local\\handoff!plain."),
	    handoff__user(), 16);
	section = CreateFileMappingW(INVALID_HANDLE_VALUE,
	    handoff__access(&access, false), PAGE_READWRITE, 0,
	    sizeof(struct handoff__front), name);
	if (section)
		plain = MapViewOfFile(section, FILE_MAP_READ | FILE_MAP_WRITE,
		    0, 0, sizeof(struct handoff__front));
	return TRUE;
}

void handoff__map_joined(struct handoff__map *map)
{
	AcquireSRWLockExclusive(&lock);
	map->next = joined;
	joined = map;
	ReleaseSRWLockExclusive(&lock);
}

void handoff__map_left(struct handoff__map *map)
{
	struct handoff__map **at = &joined;

	AcquireSRWLockExclusive(&lock);
	while (*at && *at != map)
		at = &(*at)->next;
	if (*at)
		*at = map->next;
	ReleaseSRWLockExclusive(&lock);
}

/* With the lock, unless the segment is 0. */
static struct handoff__front *front_of(uint64_t segment)
{
	if (segment == 0) {
		InitOnceExecuteOnce(&plain_once, open_plain, NULL, NULL);
		return plain;
	}
	for (struct handoff__map *m = joined; m; m = m->next)
		if (m->segment == segment)
			return m->front;
	return NULL;
}

bool handoff__generation(const struct handoff__bucket *bucket, uint32_t *value,
    bool *shared)
{
	struct handoff__front *front;

	AcquireSRWLockShared(&lock);
	front = front_of(bucket->segment);
	if (front) {
		/* Sequentially consistent, here and below: see park.c. */
		*value = atomic_load(&front->generations[bucket->index]);
		*shared = front->shared != 0;
	}
	ReleaseSRWLockShared(&lock);
	return front != NULL;
}

void handoff__generation_move(const struct handoff__bucket *bucket,
    uint32_t from)
{
	struct handoff__front *front;

	AcquireSRWLockShared(&lock);
	front = front_of(bucket->segment);
	if (front)
		atomic_compare_exchange_strong(&front->generations[bucket
		                                                       ->index],
		    &from, from + 1);
	ReleaseSRWLockShared(&lock);
}
