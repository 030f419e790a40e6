/* SPDX-License-Identifier: ISC */
/*
 * The ladder: what things cost, from a nanosecond to a timeslice.  Its rungs
 * are in ladder_alone.c and ladder_pairs.c, what others have published about
 * them in ladder_published.c.
 */
#ifndef BENCH_LADDER_H
#define BENCH_LADDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "histogram.h"
#include "place.h"

/* What the processes of a trial share with the bench. */
struct stage {
	_Alignas(64) _Atomic uint32_t there;
	_Alignas(64) _Atomic uint32_t back;
	_Alignas(64) _Atomic uint64_t stamp; /* a time, or a count */
	_Alignas(64) int error;
	struct histogram samples;
};

enum rung_place {
	RUNG_ALONE, /* one process, pinned where that is possible */
	RUNG_SAME,  /* with a partner on the same CPU */
	RUNG_CROSS  /* with a partner on another CPU */
};

struct rung {
	const char *name;
	const char *what;
	enum rung_place place;
	unsigned n;       /* the argument of sample() */
	unsigned counts;  /* operations in a sample; a sample's time is divided
	                   * by that */
	unsigned samples; /* at the most in a trial; 0: as time allows */
	bool records;     /* sample() records, else its time is recorded */
	bool may_die;     /* by a signal; then it is skipped */
	const char *skipped; /* why there is no such rung here */
	/* Returns 0 or an errno value. */
	int (*sample)(struct stage *stage, unsigned n);
	void (*partner)(struct stage *stage); /* never ends */
};

extern const struct rung ladder_alone[], ladder_pairs[];
extern const size_t ladder_alone_count, ladder_pairs_count;

/* Where others measured. */
struct elsewhere {
	const char *name; /* short */
	const char *machine;
};

/* A figure of others: never from this machine. */
struct published {
	const char *rung;
	double ns;
	const struct elsewhere *where;
	const char *what;
};

extern const struct elsewhere ladder_elsewhere[];
extern const size_t ladder_elsewhere_count;
extern const struct published ladder_published[];
extern const size_t ladder_published_count;

/* Whether a kind of object of the library never straddles a cache line. */
struct ladder_object {
	const char *kind;
	size_t bytes;
	unsigned made;
	bool ok;
};

#define LADDER_OBJECTS 9

/* Returns 0 or an errno value, when nothing could be checked. */
int ladder_check(struct ladder_object objects[LADDER_OBJECTS]);

/* A rung and its figures: the median of a trial, and of these the median, the
 * least and the greatest. */
struct result {
	const struct rung *rung;
	double *ns; /* of each trial */
	unsigned trials;
	double min, p50, max;
	char skipped[128]; /* why; empty: it was measured */
};

struct ladder {
	struct result *results;
	size_t count;
	struct ladder_object objects[LADDER_OBJECTS];
	bool whole; /* no object straddles a cache line */
};

void ladder_print(enum bench_format format, const struct ladder *ladder);

#endif
