/* SPDX-License-Identifier: ISC */
/*
 * A process that kills itself at its n-th point, so that it may be killed at
 * every one.  For tests built against the library with points.
 */
#ifndef TESTS_FATAL_H
#define TESTS_FATAL_H

#include "processes.h"

#define MOST 64 /* points; no scenario has as many */

/* ---- For the victim ------------------------------------------------------ */

/* The number of the point at which it dies. */
extern unsigned fatal;

/* From here on points are counted, or no more. */
void count_points(void);
void count_no_more(void);

/* ---- For the parent ------------------------------------------------------ */

/* Starts the part "victim" with "scenario n". */
struct process start_fatal(const char *scenario, unsigned n);

/* Whether it survived. */
int survived(struct process *v);

/* The n-th was the first to survive, and there were so many points. */
void assert_walked(const char *scenario, unsigned n, int alive, unsigned least);

#endif
