/* SPDX-License-Identifier: ISC */
/*
 * What the parts of the program print: tables for people, csv and json for
 * programs.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench.h"
#include "place.h"
#include "via.h"

struct quantiles {
	uint64_t min, p50, p90, p99, p999, max;
};

/* The figures of one via at one place with one work and gap; times in ns. */
struct figures {
	const struct via *via;
	enum place place;
	int cpu[2]; /* or PLACE_ANY_CPU */
	uint64_t work_ns, gap_ns;
	const char *skipped; /* why, or NULL */
	bool no_place;       /* that is why: skipped with all vias */
	unsigned trials;
	bool cut; /* the time was over before the rounds */
	uint64_t round_trips, bare_round_trips;
	struct quantiles rtt;
	struct quantiles wake; /* with a gap, as the next two */
	double wake_mean;
	double slept;                /* the gap as it was */
	uint64_t p50_low, p50_high;  /* of the trials; with a gap, of wake */
	bool wide;                   /* these differ more than they should */
	double mean;                 /* of round trips */
	double cpu_seconds;          /* per second, of both processes */
	double blocked, preempted;   /* times a round trip, both processes */
	double spins, yields, parks; /* the same, of the library's waits */
	double ratio; /* of figures_cost(), to the place's floor; 0: unknown */
	double peer_ratio; /* of the same, to the fastest peer's; 0: none */
	const char *peer;  /* which that is */
};

#define FIGURES_WIDE 0.25 /* (p50_high - p50_low) / p50 from which on */

/* What the handoffs cost: the mean round trip; with work, what the median
 * round trip takes beyond it; with a gap, the median wake. */
double figures_cost(const struct figures *f);

/* The median round trip without the work. */
double figures_excess(const struct figures *f);

void report_pingpong(enum bench_format format, const struct figures *figures,
    size_t count);

/* A time in at most 6 characters, as "72.1us". */
#define REPORT_TIME_MAX 32
const char *report_time(char text[REPORT_TIME_MAX], double ns);

const char *report_count(char text[REPORT_TIME_MAX], double value);

/* The machine: the processor's model as the system tells it, else its
 * architecture; the system and its release. */
void report_cpu(char *model, size_t bytes);
void report_kernel(char *kernel, size_t bytes);

/* "tool", "version", "machine" and "timer_ns": the first members of an object. */
void report_json_head(FILE *out);
void report_json_string(FILE *out, const char *text);

/* Flushes stdout; BENCH_FAILED, after a message, if not all could be
 * written. */
int report_end(void);

#endif
