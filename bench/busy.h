/* SPDX-License-Identifier: ISC */
/*
 * Endless loops: processes that take the CPUs from those that are measured.
 * They end with the bench, whatever ends it.
 */
#ifndef BENCH_BUSY_H
#define BENCH_BUSY_H

#include <stdbool.h>
#include <sys/types.h>

#define BUSY_MAX 4

struct busy {
	unsigned count;
	pid_t loops[BUSY_MAX];
};

/* Starts `count` loops, pinned to `cpu` or not at all, which end themselves
 * after `alarm_s`.  Returns 0 or an errno value; then there are none. */
int busy_start(struct busy *busy, unsigned count, int cpu, unsigned alarm_s);

/* Ends them.  False if one had ended before. */
bool busy_stop(struct busy *busy);

#endif
