/* SPDX-License-Identifier: ISC */
/* The parts that play the table of mortals, and what the parent does with
 * them. */
#ifndef TESTS_PLAYERS_H
#define TESTS_PLAYERS_H

#include "mortals.h"

#define BOUND 2.0 /* s until a death is told; 0.2 where nothing else runs */

/* ---- Parts --------------------------------------------------------------- */

/* "room:line way": holds it, says "held", and ends in that way when told. */
int part_holder(const char *arg);

/* "room:line way who": says "takes", takes it, says how that went, and does
 * what it is told: "mend", "give", "end". */
int part_taker(const char *arg);

/* After an exec. */
int part_after(const char *unused);

/* "room:line who": one of a process and its child holds it and dies, the other
 * takes it as the part "taker" does; who: "parent" or "child" dies. */
int part_family(const char *arg);

/* "room:line part arg": the same in a PID namespace of its own; 77: none to be
 * had here. */
int part_in_namespace(const char *arg);

/* ---- For the parent ------------------------------------------------------ */

struct play {
	struct room *r;
	struct process holder[32];
	struct process taker[32];
	double since[32]; /* its end */
};

/* The part, with the room and that line. */
struct process start_on(const char *part, unsigned line, const char *words);

/* "held" has been said. */
struct process start_holding(unsigned line, const char *way);
/* "takes" has been said. */
struct process start_taking(unsigned line, const char *way, unsigned who);

/* It is told that within the bound; how long it took. */
double is_told(struct process *p, unsigned line, int result, double since);

/* It says nothing. */
void is_not_told(struct process *p, unsigned line, double seconds);

/* It mends if it was told of a death, gives back to `next`, and ends. */
void mend_and_give(struct room *r, struct process *p, unsigned line, int result,
    unsigned next);

/* The parent gets it and gives it back, and is told nothing; unless it is
 * broken. */
void assert_in_order(struct room *r, unsigned line);

#endif
