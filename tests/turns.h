/* SPDX-License-Identifier: ISC */
/* A baton in a room, and parties that do with it what they are told. */
#ifndef TESTS_TURNS_H
#define TESTS_TURNS_H

#include "room.h"

#define TOLD 5.0 /* s until a death is told, at the most */
#define PAGE 4096u

struct room {
	handoff_baton baton;
	handoff_mutex mutex; /* not a baton */
	uint32_t parties;
	uint32_t rounds;
	/* Only whose turn it is touches these. */
	uint32_t inside;
	uint64_t turns;
};

struct wanted {
	uint32_t parties;
	uint32_t policy;
	uint32_t rounds;
};

/* The room of a baton for so many. */
struct room *make_baton(const char *name, uint32_t parties);

/* ---- A part -------------------------------------------------------------- */

/* "name:party": waits, says how it went, and passes the turn to 0 when told
 * "pass"; then it lives until it is told "end". */
int part_party(const char *arg);

/* ---- For the parent ------------------------------------------------------ */

void assert_turn(struct room *r, uint32_t expected);

/* The part "party", about to wait. */
struct process start_party(const char *arg);

void end(struct process *p);
void pass_and_end(struct process *p);

#endif
