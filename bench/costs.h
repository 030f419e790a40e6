/* SPDX-License-Identifier: ISC */
/*
 * The operations whose costs are measured, in groups: the library's, those of
 * the system and Boost's.
 *
 *	struct cost  what one process does alone
 *	struct duel  what two do, one of which waits for the other
 *
 * To add one: put its object into the structure of its file, make it in
 * ..._open(), and put its functions into the tables at that file's end.
 */
#ifndef BENCH_COSTS_H
#define BENCH_COSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench.h"
#include "place.h"

/* What an operation does; those are compared that do the same. */
#define COSTS_LOCK "acquire+release"
#define COSTS_READ "acquire+release to read"
#define COSTS_WRITE "acquire+release to write"
#define COSTS_POST "post+wait"
#define COSTS_SET "set+wait"
#define COSTS_SIGNAL "signal without waiters"
#define COSTS_WAKE "wake without waiters"
#define COSTS_SWITCH "switch to oneself"
#define COSTS_ACQUIRE "acquire"
#define COSTS_RELEASE "release"
#define COSTS_RELEASE_BLOCKED "release, waiter blocked"
#define COSTS_ACQUIRE_SPINNING "acquire, waiter spinning"
#define COSTS_ACQUIRE_BLOCKED "acquire, waiter blocked"

#define COSTS_EACH 16u /* objects of a kind, to acquire one after another */

/* All functions take the objects of their group and return 0 or an errno
 * value. */
struct cost {
	const char *name;
	const char *what;
	bool calls; /* the kernel each time: a tenth of the operations */
	/* Does the operation `n` times. */
	int (*batch)(void *objects, unsigned n);
	/* One half of it, COSTS_EACH times; or both NULL. */
	int (*acquire)(void *objects);
	int (*release)(void *objects);
	bool release_first; /* there is nothing to acquire before */
	const char *peer;   /* what the halves are compared with, or NULL */
};

/*
 * One round of a duel: the giver calls own(), the waiter enter() and then
 * wait(), the giver ready() and then give(), the waiter leave().  Only give()
 * and wait() are timed; the others may be NULL.
 */
struct duel {
	const char *name;
	const char *peer; /* what it is compared with, or NULL */
	bool matrix;      /* measured for all pairs of CPUs too */
	int (*own)(void *objects);
	int (*enter)(void *objects);
	int (*wait)(void *objects);
	int (*ready)(void *objects);
	int (*give)(void *objects);
	int (*leave)(void *objects);
};

struct costs_group {
	const char *name;
	/* Why this build does not have it; then there is nothing else.  NULL:
	 * it does. */
	const char *missing;
	/* Makes all objects, which other processes find by `name` or inherit
	 * by fork(), if there is no join(). */
	int (*open)(void **objects, const char *name);
	int (*join)(void **objects, const char *name);
	void (*unlink)(const char *name);
	void (*close)(void *objects);
	/* Objects for whose duels a waiter spins; NULL: none does. */
	void *(*spinning)(void *objects);
	const struct cost *costs;
	size_t count;
	const struct duel *duels;
	size_t duel_count;
};

extern const struct costs_group costs_ours, costs_peers, costs_boost;

#define COSTS_GROUPS 3
extern const struct costs_group *const costs_groups[COSTS_GROUPS];

/* ---- results ----------------------------------------------------------- */

struct costs_row {
	const char *name;
	const char *what;
	const char *peer; /* NULL: the first peer with the same `what` */
	bool ours;
	bool contended;
	unsigned trials;
	size_t samples; /* of all trials; 0: one for each */
	int cpu[2];     /* of the giver and the waiter, or PLACE_ANY_CPU */
	bool matrix;    /* the row is of the matrix */
	double min;     /* ns */
	double p50;     /* the median of the trials' medians */
	double p99;     /* of all trials; 0: too few samples */
};

struct costs_rows {
	struct costs_row *rows;
	size_t count;
	size_t room;
};

/* Adds an empty row; NULL without memory. */
struct costs_row *costs_add(struct costs_rows *rows);

/* Puts quantiles into a row.  `samples`, which it sorts, are those of `trials`
 * one after another, `counts[i]` of the trial i. */
void costs_sum_up(struct costs_row *row, double *samples,
    const unsigned *counts, unsigned trials);

void costs_print_table(const struct costs_rows *rows, double cycles_per_ns);
void costs_print_csv(const struct costs_rows *rows, double cycles_per_ns);
void costs_print_json(const struct costs_rows *rows, double cycles_per_ns);

/* True, after a message, if `e` is not 0. */
bool costs_failed(const char *name, int e);

/* ---- measuring --------------------------------------------------------- */

/* Whether there are duels on this system. */
extern const bool costs_has_duels;

/* All duels, on the two CPUs of PLACE_CROSS where there are two,
 * or on all pairs of the first CPUs that may be used.  False, after a message,
 * if that failed. */
bool costs_duels(struct costs_rows *rows, unsigned trials);
bool costs_matrix(struct costs_rows *rows, unsigned trials);

/* The time stamp counter where it counts at one rate always, else 0. */
uint64_t costs_cycles(void);

/* ---- defining ---------------------------------------------------------- */

/* A batch of an operation, which is one call or two. */
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
/* A call for each `i` of COSTS_EACH. */
#define COSTS_HALF(way, type, call)                        \
	static int way##_each(void *objects)               \
	{                                                  \
		type *o = objects;                         \
		unsigned i;                                \
		int e = 0;                                 \
                                                           \
		for (i = 0; i < COSTS_EACH && e == 0; i++) \
			e = call;                          \
		return e;                                  \
	}
#define COSTS_HALVES(way, type, get, put)    \
	COSTS_HALF(way##_acquire, type, get) \
	COSTS_HALF(way##_release, type, put)
/* A step of a duel: one call. */
#define COSTS_STEP(way, type, call)   \
	static int way(void *objects) \
	{                             \
		type *o = objects;    \
                                      \
		return call;          \
	}

#endif
