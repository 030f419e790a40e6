/* SPDX-License-Identifier: ISC */
/*
 * A port that a test sets up and looks into: a clock that moves when it is
 * told to, a park that does what it is told.  It stands in for all that the
 * waiting engine needs; one thread uses it.
 */
#ifndef TESTS_FAKE_PORT_H
#define TESTS_FAKE_PORT_H

#include "port.h"

#include <stdbool.h>

#define FAKE_PARKS 256u

/* What a park does. */
enum fake_park {
	FAKE_EXPIRES, /* returns ETIMEDOUT at the time it was given */
	FAKE_LATE,    /* the same, `late` after that time */
	FAKE_EARLY,   /* returns 0 after `early`: woken, or for no reason */
	FAKE_DIFFERS  /* returns 0 at once, as for a word that has changed */
};

struct fake {
	uint64_t now;
	uint64_t clock_ns; /* what each call costs */
	uint64_t pause_ns;
	uint64_t yield_ns;
	uint64_t jump_at; /* the clock jumps once it has come to this: */
	uint64_t jump_ns;

	unsigned cpu;
	unsigned cpus;
	int realtime;
	unsigned quota;
	unsigned runnable;
	uint64_t affinity;
	const char *setting;

	unsigned clocks; /* how often each was called */
	unsigned pauses;
	unsigned yields;
	unsigned fetches;
	unsigned warnings;
	unsigned settings;
	const volatile void *fetched;
	char warned[256];

	enum fake_park park;
	uint64_t early;
	uint64_t late;
	_Atomic uint32_t *woken; /* who wakes leaves the time there, if it is */
	uint64_t wake_ns;        /* and that is what the wake takes */
	unsigned parks;
	bool forever; /* a park has been given no time */
	struct {
		uint64_t from; /* when it began */
		uint64_t until;
		uint32_t expected;
		struct handoff__place place;
	} parked[FAKE_PARKS];

	bool uncounted; /* nobody counts who is parked */
	_Atomic uint32_t parkers;
};

extern struct fake fake;

/* Two CPUs, this thread on the first; 1 s after the beginning of time; a
 * question to the clock costs 25 ns, a pause 40 ns, a yield 400 ns. */
void fake_begin(void);

#endif
