/* SPDX-License-Identifier: ISC */
/*
 * The processes of a trial, as the bench sees them: it starts this program
 * again as a part, writes to it, awaits what it writes, and ends it.
 */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process; /* the system's own */

struct child {
	struct process *process; /* NULL: not started */
	const char *doing;       /* what the next message is the result of */
	const int32_t *result;   /* begins the message: 0 or an errno value */
	char *into;              /* where the rest of it goes */
	size_t missing;
};

/* Before the first start, and after the last end: in between, a signal that
 * ends the bench is noted, and ends parts_await(). */
void parts_prepare(void);
void parts_finish(void);
bool parts_interrupted(void);
void parts_quit(void); /* does as the signal says, if there was one */

/* Starts a part.  Returns 0 or an errno value. */
int parts_start(struct child *child, int part);

/* Waits for its end at most `ms`; true if it has ended. */
bool parts_ended(struct child *child, unsigned ms);

/* In words what has killed it, as "by signal 9: Killed"; false if it has ended
 * by itself. */
bool parts_killed(const struct child *child, char *text, size_t bytes);

/* Kills it, if it has not ended, and forgets it. */
void parts_end(struct child *child);

/* Writes to it.  A part that is gone is found out when its answer is missing. */
void parts_tell(struct child *child, const void *data, size_t bytes);

/* Waits until one from which something is missing has written or ended, it is
 * `deadline`, or a signal came, and tells of which there is something. */
void parts_await(struct child children[2], uint64_t deadline, bool ready[2]);

/* Takes what a part has written, of what is missing.  False at its end. */
bool parts_take(struct child *child);

#endif
