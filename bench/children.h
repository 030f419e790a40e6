/* SPDX-License-Identifier: ISC */
/*
 * Processes that a command forks, measures and ends.  None outlives the
 * bench.
 */
#ifndef BENCH_CHILDREN_H
#define BENCH_CHILDREN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define CHILDREN_NONE (-1)

struct child {
	pid_t pid; /* 0: none, or its end has been seen */
	int status;
	struct rusage usage; /* when its end has been seen */
};

/* Before the first fork, and after the last end: in between, a signal that
 * ends the bench comes when it waits, and ends its children first. */
void children_prepare(void);
void children_finish(void);

/* Forks a child that ends with what run() returns, when the bench does, and
 * after `ns` and a few seconds in any case.  Returns 0 or an errno value. */
int children_start(struct child *child, uint64_t ns, int (*run)(void *arg),
    void *arg);

/* Waits until one of the children ends and returns its index, or
 * CHILDREN_NONE when it is `deadline` on the clock of bench_now(). */
int children_wait(struct child *children, size_t count, uint64_t deadline);

/* The same at once; signals go on waiting. */
int children_look(struct child *children, size_t count);

/* Kills those that are left and sees their ends. */
void children_end(struct child *children, size_t count);

/* In words how a child ended that was not told to. */
#define CHILDREN_TEXT_MAX 96
const char *children_text(char text[CHILDREN_TEXT_MAX],
    const struct child *child);

#endif
