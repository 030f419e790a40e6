/* SPDX-License-Identifier: ISC */
/* One object of each kind, and a part that waits for it. */
#include "objects.h"

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = 0;

	(void)bytes;
	(void)arg;
	/* Parked as soon as can be, so that the slow paths are walked. */
	for (int i = 0; e == 0 && i < KINDS; i++)
		e = kinds[i].init(&r->objects[i], HANDOFF_WAIT_BLOCK, 0);
	return e;
}

const char *argument(unsigned kind)
{
	static const char *const names[KINDS] = { "points:0", "points:1",
		"points:2", "points:3", "points:4" };

	return names[kind];
}

int part_wait(const char *arg)
{
	unsigned kind;
	struct room *r = join_room(arg, &kind);

	say("waits");
	OK(kind_wait(&r->objects[kind], kind, HANDOFF_NEVER));
	say("done");
	return 0;
}

void give_one(union object *o, unsigned kind)
{
	GIVES(kind_let_go(o, kind, 1, 0), 0);
}
