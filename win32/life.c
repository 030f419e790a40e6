/* SPDX-License-Identifier: ISC */
/*
 * Life: an event whose name is made of the segment's id and the process's
 * token, and which nobody ever sets or waits for: that it exists is what it
 * says.  The system closes its handle however the process ends, and with the
 * last one the name goes.  Children inherit none.
 *
 * Who asks makes another event, which others who ask may have at the same time,
 * so that one that is stopped then stands in nobody's way, and only then looks
 * for the first.  Who joins makes the first and only then looks for the other,
 * and if there is one does not join.  So of one that asks and one that joins at
 * least one sees the other, and while somebody who found nobody has the second
 * nobody can come to live there.  To look is to have a handle for a moment, so
 * that another may ask or join in vain.  Where an event cannot be made or seen
 * the answer is "unknown".
 *
 * The port's part of the segment has a table of tokens, so that they can be
 * counted: entered after joining, with 0 for none.  Entries of the dead are
 * given to those that come when there is no free one; what finds none is not
 * counted.
 */
#include "map.h"

#include <errno.h>

#define LIFE "!life."
#define ASKED "!ask."

static void name_of(wchar_t *to, const char *what, uint64_t id, uint32_t token)
{
	to = handoff__put_hex(handoff__put_space(to, what), id, 16);
	handoff__put_hex(handoff__put(to, "."), token, 8);
}

/* Makes an event of a token, or gets it: EBUSY, if it was there and is to be
 * new. */
static int make(struct handoff__map *map, const wchar_t *name, bool is_new,
    HANDLE *made)
{
	struct handoff__access access;
	HANDLE event;

	event = CreateEventExW(handoff__access(&access,
	                           map->front->shared != 0),
	    name, CREATE_EVENT_MANUAL_RESET, SYNCHRONIZE);
	if (!event)
		return handoff__error();
	if (is_new && GetLastError() == ERROR_ALREADY_EXISTS) {
		CloseHandle(event);
		return EBUSY;
	}
	*made = event;
	return 0;
}

/* 0: there is no such event; EBUSY: there is; else unknown. */
static int look(const wchar_t *name)
{
	HANDLE event = OpenEventW(SYNCHRONIZE, FALSE, name);
	int e;

	if (event) {
		CloseHandle(event);
		return EBUSY;
	}
	if (GetLastError() == ERROR_FILE_NOT_FOUND)
		return 0;
	e = handoff__error();
	return e == ENOENT ? EACCES : e;
}

static void drop(HANDLE *event)
{
	if (*event)
		CloseHandle(*event);
	*event = NULL;
}

/* Whether somebody lives as `token`, as far as can be seen. */
static bool lives(const struct handoff__map *map, uint32_t token)
{
	wchar_t name[HANDOFF__OBJECT_NAME];

	if (token == map->token)
		return true;
	name_of(name, LIFE, map->segment, token);
	return look(name) != 0;
}

/* ---- The table --------------------------------------------------------- */

static void enter(struct handoff__map *map)
{
	_Atomic uint32_t *living = map->front->living;

	for (unsigned i = 0; i < HANDOFF__LIVING; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong(&living[i], &none,
		        map->token))
			return;
	}
	for (unsigned i = 0; i < HANDOFF__LIVING; i++) {
		uint32_t before = atomic_load(&living[i]);

		if (!lives(map, before) &&
		    atomic_compare_exchange_strong(&living[i], &before,
		        map->token))
			return;
	}
}

static void leave(struct handoff__map *map)
{
	_Atomic uint32_t *living = map->front->living;

	for (unsigned i = 0; i < HANDOFF__LIVING; i++) {
		uint32_t ours = map->token;

		if (atomic_compare_exchange_strong(&living[i], &ours, 0))
			return;
	}
}

/* ---- For src/ ---------------------------------------------------------- */

int handoff__life_join(struct handoff__map *map, uint64_t id, uint32_t token)
{
	wchar_t name[HANDOFF__OBJECT_NAME];
	int e;

	name_of(name, LIFE, id, token);
	e = make(map, name, true, &map->life);
	if (e == 0) {
		name_of(name, ASKED, id, token);
		e = look(name);
	}
	if (e != 0) {
		drop(&map->life);
		return e == ENOENT || e == EPROTO ? EACCES : e;
	}
	map->segment = id;
	map->token = token;
	enter(map);
	handoff__map_joined(map);
	return 0;
}

void handoff__life_leave(struct handoff__map *map)
{
	if (!map->life)
		return;
	handoff__map_left(map);
	leave(map);
	drop(&map->life);
	map->token = 0;
}

int handoff__life_take(struct handoff__map *map, uint32_t token)
{
	wchar_t name[HANDOFF__OBJECT_NAME];
	int e;

	name_of(name, ASKED, map->segment, token);
	e = make(map, name, false, &map->asker);
	if (e == 0) {
		name_of(name, LIFE, map->segment, token);
		e = look(name);
	}
	if (e != 0)
		drop(&map->asker);
	return e;
}

void handoff__life_give(struct handoff__map *map, uint32_t token)
{
	(void)token;
	drop(&map->asker);
}

unsigned handoff__life_count(struct handoff__map *map)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HANDOFF__LIVING; i++) {
		uint32_t token = atomic_load(&map->front->living[i]);

		if (token != 0)
			n += lives(map, token);
	}
	return n;
}
