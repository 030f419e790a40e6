/* SPDX-License-Identifier: ISC */
/* The ways in which a waker lets others go: a table, on that of the
 * primitives. */
#ifndef TESTS_WAKERS_H
#define TESTS_WAKERS_H

#include "primitives.h"

struct waker {
	const char *name;
	unsigned at;      /* the primitive */
	unsigned waiters; /* whom it lets go */
	/* Where it does not do as the primitive says; or NULL. */
	int (*hold)(struct room *r);
	int (*wait)(struct room *r, uint64_t deadline);
	int (*let_go)(struct room *r);
	int owned; /* its death is told */
	/* Who waits can find it by itself; `before` is what this said before.
	 * NULL: cannot be seen. */
	uint64_t (*seen)(struct room *r);
};

extern const struct waker wakers[];
extern const unsigned wakers_count;

int waker_hold(const struct waker *w, struct room *r);
int waker_wait(const struct waker *w, struct room *r, uint64_t deadline);
int waker_let_go(const struct waker *w, struct room *r);

#endif
