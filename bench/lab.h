/* SPDX-License-Identifier: ISC */
/*
 * The lab: the library's own estimator of how long to spin (src/estimator.c),
 * driven by durations of waits, beside every fixed threshold.  No time passes
 * in it and nobody waits, so that what it prints is the same everywhere.
 */
#ifndef BENCH_LAB_H
#define BENCH_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"

#define LAB_SETTLE 200u /* waits of a stationary trace that do not count */
#define LAB_LONGEST 1000000000000u /* ns, of one wait */
#define LAB_WAITS 10000000u /* at most; all of them fit into 64 bits of ns */
#define LAB_NO_LIMIT UINT64_MAX

/* What is expected of the estimator: so many times what the best fixed
 * threshold costs; of adversaries, what the price of a park as a threshold
 * costs, at any time. */
enum lab_kind {
	LAB_STATIONARY,
	LAB_CHANGING,
	LAB_ADVERSARY, /* its waits depend on the threshold */
	LAB_RECORDED
};

/* ---- traces ------------------------------------------------------------ */

struct lab_source;

/* Where durations come from. */
struct lab_trace {
	const char *name;
	enum lab_kind kind;
	/* The next duration, ns, of the one who would spin for `budget`. */
	uint64_t (*next)(struct lab_source *source, uint32_t budget);
	double a, b, c;     /* what they are is said at `next` */
	uint64_t *recorded; /* else NULL; of these `count` */
	size_t count;
};

/* A trace that is being read. */
struct lab_source {
	const struct lab_trace *trace;
	uint32_t price; /* of a park, ns: the unit of made-up durations */
	uint64_t random;
	size_t done; /* durations */
};

/* The traces that are made up. */
extern const struct lab_trace lab_traces[];
extern const size_t lab_trace_count;

/* Reads a file of durations.  Returns 0, or BENCH_USAGE after a message. */
int lab_load(struct lab_trace *trace, const char *path);

/* The same seed gives the same durations, in units of the price. */
void lab_source_begin(struct lab_source *source, const struct lab_trace *trace,
    uint32_t price, uint64_t seed);
uint64_t lab_source_next(struct lab_source *source, uint32_t budget);

/* ---- results ----------------------------------------------------------- */

/* One trace at one price.  Costs are sums over the waits that count, ns. */
struct lab_row {
	const struct lab_trace *trace;
	uint32_t price;
	size_t waits;     /* that count */
	uint64_t cost;    /* of the estimator */
	uint64_t best;    /* of the best fixed threshold */
	uint64_t best_at; /* which that is, ns; LAB_NO_LIMIT: always spin */
	uint64_t fixed;   /* of the price as threshold */
	uint64_t optimum; /* of who knows each duration beforehand */
	double running;   /* from the first wait on, the greatest of (cost so
	                   * far less three prices) / (fixed so far) */
	double goal;      /* 0: none */
	bool missed;
};

/* a / b; infinite for something by nothing. */
double lab_ratio(uint64_t a, uint64_t b);

void lab_print(enum bench_format format, const struct lab_row *rows,
    size_t count);

/* Draws the ratios to the best fixed threshold, as bars, through gnuplot.
 * False, after a message, if that failed. */
bool lab_plot(const char *directory, const struct lab_row *rows, size_t count);

#endif
