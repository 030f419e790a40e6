/* SPDX-License-Identifier: ISC */
/*
 * Duels as a list of matches, which two processes play.
 */
#ifndef BENCH_COSTS_DUEL_H
#define BENCH_COSTS_DUEL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "costs.h"

/* A duel with a waiter that spins or blocks, at two CPUs. */
struct costs_match {
	const struct duel *duel;
	size_t group; /* of which costs_groups the duel is */
	bool spinning;
	int cpu[2];      /* of the giver and the waiter, or PLACE_ANY_CPU */
	unsigned rounds; /* of a trial */
	double *release; /* ns; `rounds` for each trial, */
	double *acquire;
	unsigned *counts; /* so many of which are valid */
};

struct costs_list {
	struct costs_match *matches;
	size_t count;
	unsigned trials;
};

/* ---- the two who play -------------------------------------------------- */

/* For a round, where nothing else ends a process. */
#define COSTS_ALARM_S 30u

enum { COSTS_GIVER, COSTS_WAITER };

/* What they share. */
struct costs_room {
	_Alignas(64) _Atomic uint32_t opened;
	_Alignas(64) _Atomic uint32_t round;
	_Alignas(64) _Atomic uint32_t begun;
	_Alignas(64) _Atomic uint32_t done;
	uint64_t got; /* when the wait ended; written before `done` */
	bool slept;   /* in that wait */
	pid_t waiter;
	int32_t errors[2];
	const char *_Atomic playing; /* for messages */
};

/* One process's side. */
struct costs_side {
	struct costs_list *list;
	struct costs_room *room;
	int part;
	int cpu; /* where it is pinned */
	pid_t bench;
	unsigned pauses; /* before yielding to the other */
	uint32_t round;
	int stat; /* what the system says of the waiter; -1: nothing */
	char names[COSTS_GROUPS][BENCH_NAME_MAX];
	void *objects[COSTS_GROUPS];
};

/* One trial of one match. */
int costs_trial(struct costs_side *s, const struct costs_match *m,
    unsigned trial);

/* Waits for the other process, without sleeping.  Ends with the bench. */
void costs_await(const struct costs_side *s, _Atomic uint32_t *word,
    uint32_t value);

/* ---- the bench --------------------------------------------------------- */

/* Plays them all.  What the matches point to must be memory that a child made
 * by fork() shares.  False, after a message, if it failed. */
bool costs_play(struct costs_list *list);

#endif
