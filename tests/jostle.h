/* SPDX-License-Identifier: ISC */
/*
 * For stress against the library with points: processes that hold each other up
 * at random between two steps, and a parent that sees whether they get on.
 */
#ifndef TESTS_JOSTLE_H
#define TESTS_JOSTLE_H

#include "processes.h"

#include <stdatomic.h>

/* ---- For a part -------------------------------------------------------- */

/* Below n; each thread that is to differ from others seeds it. */
uint32_t chance(uint32_t n);
void seed_chance(uint32_t n);

/* At each point: often nothing, sometimes others run first. */
void jostle(void);

/* From now on it is jostled, and no wait looks again by itself; `pinned`: it
 * runs on the first CPU that it may use.  Returns when all are let go. */
void be_jostled(unsigned who, int pinned);

/* Until *progress is no longer `before`, or they stop: for one that may have
 * taken a wake along, so that nobody would get on. */
void stay_away(const _Atomic unsigned *progress, unsigned before,
    const _Atomic unsigned *stop);

/* ---- For the parent ---------------------------------------------------- */

/* Starts the part `n` times, with "stress:0", "stress:1", ..., and lets them go
 * when all are jostled. */
void start_jostled(struct process *p, unsigned n, const char *part);

/* Fails unless *progress always moves, for that time and to `least`. */
void watch_progress(const _Atomic unsigned *progress, double seconds,
    unsigned least);

/* The same in one of all runs of a scenario, which together take `seconds`, or
 * STRESS_SECONDS where that is set, and do `least` steps, or as many more or
 * fewer: what this one has to do is returned. */
unsigned watch_stress(const _Atomic unsigned *progress, unsigned runs,
    double seconds, unsigned least);

/* For so many scenarios: the watchdog's seconds. */
unsigned stress_watchdog(size_t scenarios);

#endif
