/* SPDX-License-Identifier: ISC */
/* What the parts of one test share: making, opening and closing it. */
#include "room.h"

#include <stdio.h>

struct room *make_room(const char *name, const void *arg)
{
	struct handoff_segment_options options = { sizeof options, room_bytes,
		1, fill_room, (void *)(uintptr_t)arg };
	handoff_segment *segment = NULL;

	if (handoff_segment_open(&segment, name, HANDOFF_CREATE, 0600,
	        &options) != 0)
		return NULL;
	return handoff_segment_memory(segment);
}

struct room *open_room(const char *name)
{
	struct room *r = make_room(name, NULL);

	assert_non_null(r);
	return r;
}

void close_room(struct room *r, const char *name)
{
	assert_int_equal(handoff_close(r), 0);
	assert_int_equal(unlink_name(name), 0);
}

struct room *join_room(const char *arg, unsigned *number)
{
	char name[64];
	unsigned n = 0;
	struct room *r;

	CHECK(sscanf(arg, "%63[^:]:%u", name, &n) >= 1);
	if (number)
		*number = n;
	r = make_room(name, NULL);
	CHECK(r != NULL);
	return r;
}
