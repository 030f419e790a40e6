/* SPDX-License-Identifier: ISC */
/* A barrier in a room, and parties that come to it when they are told. */
#ifndef TESTS_PARTIES_H
#define TESTS_PARTIES_H

#include "room.h"

#include <stdatomic.h>

#define GENERATIONS 1000u
#define MOST 100u /* parties */
#define TOLD 5.0  /* s until a death is told, at the most */
#define PAGE 4096u

struct room {
	handoff_barrier barrier;
	handoff_mutex mutex; /* not a barrier */
	uint32_t parties;
	uint32_t generations;
	uint32_t threads; /* of each process */
	_Atomic unsigned come;
	_Atomic unsigned told[GENERATIONS]; /* that they came last */
	_Atomic unsigned each[MOST];        /* how often they have come */
};

struct wanted {
	uint32_t parties;
	uint32_t policy;
	uint32_t generations;
	uint32_t threads;
};

/* The room of a barrier for so many. */
struct room *make_barrier(const char *name, uint32_t parties);

/* ---- A part -------------------------------------------------------------- */

/* "name:n": comes n times, says each time how it went, and goes on when told;
 * then it ends. */
int part_party(const char *arg);

/* ---- For the parent ------------------------------------------------------ */

/* The part "party", on its way to the barrier. */
struct process start_party(const char *arg);

/* Gives them time to park. */
void settle_all(struct process *p, size_t n);

void all_say(struct process *p, size_t n, int result);

/* They come again; they end. */
void all_come(struct process *p, size_t n);
void all_end(struct process *p, size_t n);

#endif
