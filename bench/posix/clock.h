/* SPDX-License-Identifier: ISC */
/*
 * Clocks, and offering the CPU.
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The CPU time that this process has used. */
static inline uint64_t bench_cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Offers the CPU to whoever wants it. */
static inline void bench_yield(void)
{
	sched_yield();
}

#endif
