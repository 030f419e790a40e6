/* SPDX-License-Identifier: ISC */
/*
 * Life: an event whose name is made of the segment's id and the process's
 * token, and which nobody ever sets or waits for: that it exists is what it
 * says.  The system closes its handle however the process ends, and with the
 * last one the name goes.  Children inherit none.
 *
 * Who asks tries to make it.  If it exists, somebody lives; the handle that
 * this gave keeps it for a moment longer, so that another may ask in vain.  If
 * not, the one who asks has it now, and nobody can join under that token until
 * he gives it back.  Where it cannot be made or seen the answer is "unknown".
 *
 * The port's part of the segment has a table of tokens, so that they can be
 * counted: entered after joining, with 0 for none.  Entries of the dead are
 * given to those that come when there is no free one; what finds none is not
 * counted.
 */
#include "map.h"

#include <errno.h>

static void life_name(wchar_t *to, uint64_t id, uint32_t token)
{
	to = handoff__put_hex(handoff__put_space(to, "!life."), id, 16);
	handoff__put_hex(handoff__put(to, "."), token, 8);
}

/* Makes the event of a token: EBUSY if there is one. */
static int make(struct handoff__map *map, uint64_t id, uint32_t token,
    HANDLE *made)
{
	wchar_t name[HANDOFF__OBJECT_NAME];
	struct handoff__access access;
	HANDLE event;

	life_name(name, id, token);
	event = CreateEventExW(handoff__access(&access,
	                           map->front->shared != 0),
	    name, CREATE_EVENT_MANUAL_RESET, SYNCHRONIZE);
	if (!event)
		return handoff__error();
	if (GetLastError() == ERROR_ALREADY_EXISTS) {
		CloseHandle(event);
		return EBUSY;
	}
	*made = event;
	return 0;
}

/* Whether somebody lives as `token`, as far as can be seen. */
static bool lives(const struct handoff__map *map, uint32_t token)
{
	wchar_t name[HANDOFF__OBJECT_NAME];
	HANDLE event;

	if (token == map->token)
		return true;
	life_name(name, map->segment, token);
	event = OpenEventW(SYNCHRONIZE, FALSE, name);
	if (!event)
		return GetLastError() != ERROR_FILE_NOT_FOUND;
	CloseHandle(event);
	return true;
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
	int e = make(map, id, token, &map->life);

	if (e != 0)
		return e == ENOENT || e == EPROTO ? EACCES : e;
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
	CloseHandle(map->life);
	map->life = NULL;
	map->token = 0;
}

int handoff__life_take(struct handoff__map *map, uint32_t token)
{
	return make(map, map->segment, token, &map->asker);
}

void handoff__life_give(struct handoff__map *map, uint32_t token)
{
	(void)token;
	if (map->asker)
		CloseHandle(map->asker);
	map->asker = NULL;
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
