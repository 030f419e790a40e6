/* SPDX-License-Identifier: ISC */
/* What processes.c has a system do. */
#ifndef TESTS_PROCESSES_SYSTEM_H
#define TESTS_PROCESSES_SYSTEM_H

#include "processes.h"

#define PART_TO 3 /* the descriptors that a part finds */
#define PART_FROM 4

/* Once, in the parent or in a part, which then has its descriptors. */
void system_begin(const char *program);
void system_begin_part(void);

/* Names for the run, and an end to all of it in so many seconds. */
void system_begin_run(unsigned watchdog_seconds);

/* Removes the names that are left; and what they were in: 0 if that went. */
int system_remove_names(void);
int system_end_run(void);

/* Executes this program with "--part part arg". */
struct process system_start(const char *part, const char *arg);

/* Waits for it, so long at the most: as finish says, or STILL_THERE.  Its
 * number then means nothing any more. */
#define STILL_THERE (-1000)
int system_reap(const struct process *p, double seconds);

void system_kill(const struct process *p);

#endif
