/* SPDX-License-Identifier: ISC */
/*
 * What can be held by one that ends: a table, one line for each thing and for
 * each way to hold it and to come after.  Each line has a thing of its own in
 * the room, so that all of them can be played at once.
 */
#ifndef TESTS_MORTALS_H
#define TESTS_MORTALS_H

#include "room.h"

#include <stdatomic.h>

#define SEVERAL 17u /* more than a thread has room for at first */

struct thing {
	union {
		handoff_mutex mutex;
		handoff_rwlock rwlock;
		handoff_baton baton;
		handoff_barrier barrier; /* of two */
		struct {
			handoff_mutex mutex;
			handoff_cond cond;
		} waits;
		struct {
			handoff_mutex mutex[SEVERAL];
			handoff_rwlock written;
			handoff_rwlock read;
		} several;
	};
	_Atomic unsigned next; /* to whom a baton is passed */
};

/* Who comes next is numbered from 1 on; 0 is the one that ends. */
#define LAST 7u

struct mortal {
	const char *name;
	int (*init)(struct thing *t);
	/* By the one that ends, or, alive, gives it back. */
	int (*hold)(struct thing *t);
	int (*drop)(struct thing *t);
	/* By who comes next; `try` may be NULL. */
	int (*take)(struct thing *t, unsigned who, uint64_t deadline);
	int (*try)(struct thing *t, unsigned who);
	int (*mend)(struct thing *t); /* after EOWNERDEAD; or NULL */
	int (*give)(struct thing *t);
	int told;       /* the next one, of the holder's death */
	int told_again; /* of the death of who has it in good order */
	int by_thread;  /* the end of a thread is a death too */
	int close;      /* the result of closing it while one holds it */
	int first;      /* who comes next waits before it is held */
	int broken;     /* for ever, for all */
};

extern const struct mortal mortals[];
extern const unsigned mortals_count;

/* The room: a thing for each line. */
struct thing *thing_at(struct room *r, unsigned line);

#endif
