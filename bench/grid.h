/* SPDX-License-Identifier: ISC */
/*
 * The cells of handoff-bench grid, and what came out of them.
 */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "options.h"
#include "place.h"
#include "run.h"
#include "via.h"

#define GRID_POINTS (OPTIONS_TIMES * OPTIONS_TIMES)
#define GRID_MARGIN 1.1 /* what differs by less does not count as worse */

struct grid_point {
	uint64_t work_ns, gap_ns;
};

struct grid_options {
	/* In all cells; the first `ours` are judged, the others are fixed
	 * policies and peers.  None of them twice. */
	const struct via *vias[OPTIONS_VIAS];
	size_t via_count, ours;
	enum place places[PLACES];
	size_t place_count;
	struct options_times works, gaps; /* as asked for */
	struct grid_point points[GRID_POINTS];
	size_t point_count;
	uint64_t trial_ns; /* 0: the default */
	unsigned trials;   /* 0: the default */
	bool peers, quick;
	enum bench_format format;
	const char *plot; /* the directory for a picture, or NULL */
};

/* One via in one cell: medians of the trials, quartiles of the cost; times in
 * ns, each of a round trip. */
struct grid_row {
	const struct via *via;
	const char *skipped; /* why, or NULL */
	double cost, low, high;
	double latency; /* beyond the work */
	double cpu;     /* of both processes, without work and sleep */
	double p99;     /* of all trials together, beyond the work */
};

struct grid_cell {
	enum place place;
	struct grid_point point;
	int cpu[2];
	const char *skipped;   /* why there is no such place, or NULL */
	struct grid_row *rows; /* one for each of the vias */
};

/* How a row of ours compares to the best fixed policy of its cell. */
struct grid_verdict {
	const struct grid_row *best; /* NULL: there is none */
	double regret;               /* 0: unknown */
	bool worse;
};

struct grid {
	const struct grid_options *options;
	struct grid_cell *cells;
	size_t count;
};

/* Over all cells and all of ours. */
struct grid_summary {
	size_t judged, worse;
	double median, worst;
	const struct grid_cell *worst_cell; /* NULL: nothing was judged */
	const struct grid_row *worst_row;
};

bool options_grid(struct grid_options *o, int argc, char **argv, int *status);
uint64_t grid_trial_ns(const struct grid_options *o,
    const struct grid_point *point);

/* What is told of the trials of a cell as they begin and end. */
struct grid_watch {
	void (*begins)(struct grid_watch *watch, const struct trial *trial,
	    unsigned number);
	void (*ends)(struct grid_watch *watch, const struct trial *trial);
	unsigned serial;
};

/* The trial of a via in a cell, but for its serial. */
void grid_trial(struct trial *trial, const struct grid_cell *cell,
    const struct grid_options *o, const struct via *via);

/* Runs all trials of a cell and sums them up.  A row of which one failed is
 * skipped from then on, after a message.  Returns 0, ENOMEM or EINTR. */
int grid_cell_run(struct grid_cell *cell, const struct grid_options *o,
    struct grid_watch *watch);

struct grid_verdict grid_judge(const struct grid_cell *cell,
    const struct grid_options *o, const struct grid_row *ours);

/* Whether `row` is a peer that is better than `ours`, in latency and in CPU
 * time, by more than the margin. */
bool grid_beaten(const struct grid_row *ours, const struct grid_row *row);

/* False without memory. */
bool grid_sum_up(struct grid_summary *summary, const struct grid *grid);

void grid_print(const struct grid *grid, const struct grid_summary *summary);

/* False, after a message, if that failed. */
bool grid_plot(const struct grid *grid);

#endif
