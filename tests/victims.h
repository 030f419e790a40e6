/* SPDX-License-Identifier: ISC */
/*
 * A victim in a room plays a scenario and kills itself at its n-th point, for
 * n = 1, 2, ... until it survives; what the others make of it, the scenario's
 * run tells.  Built against the library with points.
 */
#ifndef TESTS_VICTIMS_H
#define TESTS_VICTIMS_H

#include "fatal.h"
#include "room.h"

#define BOUND 5.0 /* s until those who live get on */
#define NAME "points"

struct scenario {
	const char *name;
	void (*play)(struct room *r);
	int (*run)(const struct scenario *x, struct room *r, unsigned n);
	int last;       /* the victim comes after the others */
	unsigned least; /* so many points at the least */
};

/* ---- For the victim ------------------------------------------------------ */

/* The part "victim": "scenario n". */
int play_victim(const char *arg, const struct scenario *scenarios, size_t n);

/* From here on, once the parent knows, points are counted. */
void arm(void);

/* ---- For the parent ------------------------------------------------------ */

struct process start_victim(const struct scenario *x, unsigned n);

/* From "begin" on: it has parked or is dead, as far as can be told. */
void go(struct process *v);

/* Starts a part with "points:n"; it is parked as far as can be told.  Unless
 * it is `silent` it says "waits" first. */
struct process start_other(const char *part, unsigned n, int silent);

/* What it says next: 0, EOWNERDEAD; -1: nothing in time. */
int hear(struct process *p, double seconds);

/* Runs a scenario, in a new room each time, until the victim survives. */
void walk(const struct scenario *x);

#define WALKS(test, from, to)                      \
	static void test(void **state)             \
	{                                          \
		(void)state;                       \
		for (size_t i = from; i < to; i++) \
			walk(&scenarios[i]);       \
	}

#endif
