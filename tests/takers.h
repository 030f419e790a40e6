/* SPDX-License-Identifier: ISC */
/*
 * The segment "points" and the parts that use it: lockers of its mutex, and
 * takers, which wait for its condition until something is ready and take one.
 */
#ifndef TESTS_TAKERS_H
#define TESTS_TAKERS_H

#include "processes.h"

struct shared {
	handoff_mutex mutex;
	handoff_cond cond;
	unsigned ready; /* under the mutex; takers wait for it, take one each */
	unsigned whole; /* 4711 */
};

/* Opens a segment that holds such a struct, or makes it. */
int open_shared(struct shared **s, const char *name, unsigned flags);

/* Locks; repairs and broadcasts if somebody died: whether so. */
int lock_and_repair(struct shared *s);

/* ---- For a part -------------------------------------------------------- */

/* "points". */
struct shared *get_shared(void);

/* From here to the parent's word "go". */
void meet(const char *word);

/* Parts: says "held" and waits to be killed; says "locking", locks, repairs,
 * unlocks; says "waiting" and takes one.  The last two say "done". */
int hold_for_ever(const char *unused);
int locker(const char *unused);
int taker(const char *unused);

/* ---- For the parent ---------------------------------------------------- */

/* Starts the part "taker": it waits, but may still be on its way to park. */
struct process start_taker(struct shared *s);

/* The part is done within that time, and ends well. */
void finish_within(struct process *p, double seconds);

#endif
