/* SPDX-License-Identifier: ISC */
/*
 * The durations of round trips one by one, for handoff-bench lab --trace.
 * Part 0 notes them and writes them, when it is done, to a file without a name
 * that it has from the bench; the bench copies that.
 */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define RECORD_MOST 1000000u /* what comes after these is left out */

/* In the bench.  These are false after a message. */
bool record_begin(void);
bool record_save(const char *path, const char *via, const char *place);

/* The file's descriptor, which no program that is started gets; -1: none. */
int record_file(void);

/* In the child that becomes part 0: it gets it. */
void record_pass(void);

/* In part 0: from now on all are noted.  Returns 0 or an errno value. */
int record_start(void);
void record_add(uint64_t ns); /* nothing before the start */
int record_write(int file);

#endif
