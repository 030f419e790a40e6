/* SPDX-License-Identifier: ISC */
/*
 * What all files of handoff-bench share: its parts, exit codes, the clock and
 * names that no other run has.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h" /* the system's */

#define BENCH_TOOL "handoff-bench"

enum bench_exit {
	BENCH_OK = 0,
	BENCH_FAILED = 1, /* the run failed */
	BENCH_USAGE = 2   /* wrong arguments */
};

enum bench_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

extern const char *bench_path; /* argv[0] of the program */

/* The parts of the program; argv[0] is the name of the part. */
int pingpong_main(int argc, char **argv);
int costs_main(int argc, char **argv);
int fairness_main(int argc, char **argv);
int grid_main(int argc, char **argv);
int ladder_main(int argc, char **argv);
int idle_main(int argc, char **argv);
int lab_main(int argc, char **argv);
int report_main(int argc, char **argv);

/* One of the two processes of a trial: 0 calls, 1 is its partner. */
int part_main(int part);

#define BENCH_NAME_MAX 64

/* Makes a name of pid, random bits and `serial`: good as a segment's name, a
 * semaphore's and a file's. */
void bench_name(char name[BENCH_NAME_MAX], unsigned serial);

/* Tells the processor that this is a loop that waits. */
static inline void bench_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/* The middle of `n` numbers, which it sorts. */
double bench_median(double *values, size_t n);

#endif
