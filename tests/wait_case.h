/* SPDX-License-Identifier: ISC */
/*
 * What the tests of the waiting engine share.  What the engine knows of its
 * process and of its thread it asks once; so each case runs in a child of its
 * own, whose exit status says which line did not hold.
 */
#ifndef TESTS_WAIT_CASE_H
#define TESTS_WAIT_CASE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_port.h"
#include "points.h"
#include "system.h"
#include "wait.h"

#define US 1000u
#define MS 1000000u
#define SECOND 1000000000u
#define HOUR (3600u * (uint64_t)SECOND)

#define SPIN_DEFAULT (50u * US) /* the price of a park, as it is guessed */
#define FIXED_DEFAULT (500u * US)

/* ---- A case in a child ------------------------------------------------------- */

#define CHECK(condition) check(condition, #condition, __LINE__)

static inline void check(int holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, line, what);
	fflush(NULL);
	_exit(1);
}

static inline void in_child(void (*run)(void))
{
	fflush(NULL);
	assert_int_equal(run_apart(run), 0);
}

/* ---- Waits --------------------------------------------------------------------- */

static _Atomic uint32_t word = 7;
static const struct handoff__place place = { .segment = 11,
	.key = 12,
	.word = &word };

static inline struct handoff__head head(unsigned policy, uint32_t limit)
{
	return (
	    struct handoff__head){ .attr = policy, .id = 13, .limit = limit };
}

static inline void begin(struct handoff__wait *w, unsigned policy,
    uint32_t limit, uint64_t deadline, bool owned)
{
	static struct handoff__head h;

	h = head(policy, limit);
	handoff__wait_begin(w, handoff__self_pointer, &h, deadline, owned);
}

/* Spins to the end of it: how long that took, in ns. */
static inline uint64_t spin(struct handoff__wait *w, unsigned partner)
{
	uint64_t from = fake.now;
	unsigned steps = 0;

	while (handoff__wait_spin(w, partner))
		CHECK(++steps < 100000000);
	CHECK(!handoff__wait_spin(w, partner)); /* for the rest of the wait */
	return fake.now - from;
}

static inline uint64_t spin_for(unsigned policy, uint32_t limit,
    unsigned partner)
{
	struct handoff__wait w;
	uint64_t ns;

	begin(&w, policy, limit, HANDOFF_NEVER, false);
	ns = spin(&w, partner);
	handoff__wait_end(&w);
	return ns;
}

/* Within a factor of two. */
static inline bool about(uint64_t ns, uint64_t expected)
{
	return ns >= expected / 2 && ns <= expected * 2;
}

#endif
