/* SPDX-License-Identifier: ISC */
/*
 * The operations whose costs are measured, in two groups: the library's and
 * those of the system.
 *
 * To add one: put its object into the structure of its file, make it in
 * ..._open(), and put its batch into the table at that file's end.
 */
#ifndef BENCH_COSTS_H
#define BENCH_COSTS_H

#include <stdbool.h>
#include <stddef.h>

/* What an operation does; those are compared that do the same. */
#define COSTS_LOCK "acquire+release"
#define COSTS_READ "acquire+release to read"
#define COSTS_WRITE "acquire+release to write"
#define COSTS_POST "post+wait"
#define COSTS_SET "set+wait"
#define COSTS_SIGNAL "signal without waiters"
#define COSTS_WAKE "wake without waiters"
#define COSTS_SWITCH "switch to oneself"

struct cost {
	const char *name;
	const char *what;
	bool contended;
	bool calls; /* the kernel each time: a tenth of the operations */
	/* Does the operation `n` times with the objects of its group.
	 * Returns 0 or an errno value. */
	int (*batch)(void *objects, unsigned n);
};

struct costs_group {
	const char *name;
	/* Makes all objects; no name is left behind.  Returns 0 or an errno
	 * value. */
	int (*open)(void **objects, const char *name);
	void (*close)(void *objects);
	const struct cost *costs;
	size_t count;
};

extern const struct costs_group costs_ours, costs_peers;

/* Defines a batch of an operation, which is one call or two. */
#define COSTS_ONE(way, type, call)                        \
	static int way##_batch(void *objects, unsigned n) \
	{                                                 \
		type *o = objects;                        \
		int e = 0;                                \
                                                          \
		for (; n > 0 && e == 0; n--)              \
			e = call;                         \
		return e;                                 \
	}
#define COSTS_TWO(way, type, first, second)               \
	static int way##_batch(void *objects, unsigned n) \
	{                                                 \
		type *o = objects;                        \
		int e = 0;                                \
                                                          \
		for (; n > 0 && e == 0; n--) {            \
			e = first;                        \
			if (e == 0)                       \
				e = second;               \
		}                                         \
		return e;                                 \
	}

#endif
