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
 * runs on the first CPU that it may use. */
void be_jostled(unsigned who, int pinned);

/* ---- For the parent ---------------------------------------------------- */

/* Fails unless *progress always moves, for that time and to `least`. */
void watch_progress(const _Atomic unsigned *progress, double seconds,
    unsigned least);

#endif
