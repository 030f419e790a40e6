/* SPDX-License-Identifier: ISC */
/*
 * What a process can wait for that does not come, in two groups: the
 * library's (idle_ours.c) and those of the system (idle_peers.c).
 *
 * To add one: make its object in ..._open(), take what is to be waited for,
 * and put its wait into the table at that file's end.
 */
#ifndef BENCH_IDLE_H
#define BENCH_IDLE_H

#include <stdbool.h>
#include <stddef.h>

struct idle_via {
	const char *name;
	const char *what;
	int (*wait)(void); /* in a child; a return is a failure */
	bool busy;         /* needs a CPU all the time */
};

struct idle_group {
	const char *name;
	/* In the bench, before the fork: makes all objects and takes what
	 * waiters want.  `name` is for a segment and is left behind by
	 * nobody.  Returns 0 or an errno value. */
	int (*open)(const char *name);
	void (*close)(void);
	const struct idle_via *vias;
	size_t count;
};

extern const struct idle_group idle_ours, idle_peers;

#endif
