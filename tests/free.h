/* SPDX-License-Identifier: ISC */
/* Whether a mutex that stands first in a room is free. */
#ifndef TESTS_FREE_H
#define TESTS_FREE_H

#include "room.h"

/* The part "taker": gets it, is told nothing, and gives it back. */
static inline int part_taker(const char *arg)
{
	handoff_mutex *lock = (void *)join_room(arg, NULL);

	OK(handoff_mutex_lock_until(lock, soon(10)));
	OK(handoff_mutex_unlock(lock));
	return 0;
}

/* For the parent: another process gets it. */
static inline void assert_free(const char *name)
{
	struct process p = start("taker", name);

	assert_int_equal(finish(&p), 0);
}

#endif
