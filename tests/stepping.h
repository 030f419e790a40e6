/* SPDX-License-Identifier: ISC */
/* One call, led through by single steps and cut off after the n-th. */
#ifndef TESTS_STEPPING_H
#define TESTS_STEPPING_H

#include "primitives.h"

enum setting {
	ALONE,
	DEAD,  /* its owner has died */
	HELD,  /* the parent lets the victim go once that sleeps, or is dead */
	READ,  /* the same, by a reader */
	WAITED /* somebody waits for what the victim does */
};

struct call {
	const char *name;
	int (*before)(struct room *r); /* by the victim */
	int (*step)(struct room *r);   /* the call */
	enum setting setting;
	unsigned at; /* the primitive that is waited for, and looked at then */
};

/* Whether that can be done here. */
int may_step(void);

/* In a new room: kills the victim after so many steps, unless the call is over
 * then, which *alive says; asserts that the others get on.  Returns how many
 * steps were made. */
unsigned step_through(const struct call *x, unsigned n, int *alive);

#endif
