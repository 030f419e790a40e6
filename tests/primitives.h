/* SPDX-License-Identifier: ISC */
/* One object of each kind in a room, and how two processes meet there: one
 * waits, the other ends that. */
#ifndef TESTS_PRIMITIVES_H
#define TESTS_PRIMITIVES_H

#include "room.h"

#include <stdatomic.h>

struct room {
	handoff_mutex mutex;
	handoff_mutex recursive;
	handoff_mutex beside; /* of the condition */
	handoff_cond cond;
	handoff_rwlock rwlock;
	handoff_sem sem;
	handoff_event event;
	handoff_event manual;
	handoff_word32 word32;
	handoff_word64 word64;
	handoff_barrier barrier; /* of two */
	handoff_baton baton;     /* the partner is party 0, the waiter 1 */
	handoff_baton turns;     /* the other way round */
	volatile unsigned ready; /* for the condition, under its mutex */
	_Atomic unsigned late;   /* the waiter came late, and did not wait */

	/* For the test's own use. */
	_Atomic unsigned given;
	_Atomic unsigned inside;
	volatile unsigned count;
};

/* The attributes of all of them; the room's `arg`. */
struct made {
	unsigned policy;
	uint64_t limit;
};

struct primitive {
	const char *name;
	/* By the partner, so that there is something to wait for; or NULL. */
	int (*hold)(struct room *r);
	/* Waits; what was got is given back or used up. */
	int (*wait)(struct room *r, uint64_t deadline);
	/* By the partner: the wait, begun or not, ends. */
	int (*let_go)(struct room *r);
	unsigned steps; /* of which a wait may consist */
	int meets;      /* let_go waits for the waiter */
	size_t object;  /* where it lies in the room */
	int (*destroy)(void *object);
	int owned; /* who holds it keeps it from being destroyed */
	int told;  /* what a waiter gets when the partner that held it, or had
	            * waited at it, has ended; 0: nothing */
};

enum {
	AT_MUTEX,
	AT_RECURSIVE,
	AT_READ,
	AT_WRITE,
	AT_COND,
	AT_SEM,
	AT_EVENT,
	AT_MANUAL,
	AT_WORD32,
	AT_WORD64,
	AT_BARRIER,
	AT_BATON,
	AT_SWITCH,
	AT_ANY,
	PRIMITIVES
};
extern const struct primitive primitives[PRIMITIVES];

/* What the calling thread's waits have done so far. */
struct handoff_thread_statistics done_so_far(void);

#endif
