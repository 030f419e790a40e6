/* SPDX-License-Identifier: ISC */
/*
 * Everything that the library can do to an object of each kind without waiting
 * for long, one call after the other: for tests that do it to objects which
 * others have damaged.
 */
#ifndef TESTS_CALLS_H
#define TESTS_CALLS_H

#include "handoff.h"

#define CALLS_FIRST 1u /* kinds, as handoff_info() numbers them, below 0xff */
#define CALLS_LAST 9u
#define CALLS_KINDS (CALLS_LAST + 1)
#define CALLS_BYTES 320u /* of the largest object */

/* What is called upon. */
struct target {
	void *object;
	handoff_mutex *mutex; /* of a condition: a good one */
	uint64_t wait_ns;     /* how long calls with a deadline may wait */
};

struct call {
	const char *name;
	int (*run)(const struct target *t);
};

/* What can be done to objects of one kind; the last call destroys, the `ends`
 * before it give back what may be held. */
struct calls {
	const char *name;
	size_t bytes;
	int (*open)(void **object, const char *name, unsigned flags);
	int (*init)(void *object);
	const struct call *calls;
	unsigned n;
	unsigned ends;
};

extern const struct calls calls[CALLS_KINDS];

/* Gives back all that the calling thread holds of it. */
void give_back(const struct calls *kind, const struct target *t);

/* Whether a call may have that result. */
int may_result(int e);

#endif
