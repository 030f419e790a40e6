/* SPDX-License-Identifier: ISC */
/*
 * What the bench asks of the system, beside clock.h, place.h, parts.h, part.h
 * and the vias.
 */
#ifndef BENCH_SYSTEM_H
#define BENCH_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it tells how often a process let go of its CPU, or lost it. */
extern const bool system_counts_switches;

/* Random bits. */
uint64_t system_bits(void);

/* Sleeps until it is `until` on the clock of bench_now(). */
void system_sleep(uint64_t until);

/* How many CPUs there are. */
unsigned system_cpus(void);

/* In between, no signal ends this process. */
void system_hold_signals(void);
void system_release_signals(void);

#endif
