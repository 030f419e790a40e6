/* SPDX-License-Identifier: ISC */
/* A room of all that one can wait for, and of what one cannot. */
#ifndef TESTS_ITEMS_H
#define TESTS_ITEMS_H

#include "room.h"

#include <stdatomic.h>

#define MANY HANDOFF_ANY_MAX
#define KINDS 5u
#define SOON 5.0 /* s until one who waits has been let go, at the most */

struct room {
	handoff_sem sem[MANY];
	handoff_event automatic;
	handoff_event manual;
	handoff_word32 word32;
	handoff_word64 word64;
	/* Not to be waited for. */
	handoff_mutex mutex;
	handoff_cond cond;
	handoff_rwlock rwlock;
	handoff_barrier barrier;
	handoff_baton baton;
	_Atomic unsigned taken;
	_Atomic unsigned of_each[MANY];
	_Atomic unsigned stop;
};

/* One of each kind; all semaphores. */
void one_of_each(struct room *r, struct handoff_item items[KINDS]);
void all_semaphores(struct room *r, struct handoff_item items[MANY]);

#endif
