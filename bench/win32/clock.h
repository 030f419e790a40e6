/* SPDX-License-Identifier: ISC */
/*
 * Clocks, and offering the CPU.
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>

uint64_t bench_now(void);

/* The CPU time that this process has used. */
uint64_t bench_cpu_now(void);

/* Offers the CPU to whoever is ready on it. */
void bench_yield(void);

#endif
