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

/* The figures of one via at one place; times in ns. */
struct figures {
	const struct via *via;
	enum place place;
	int cpu[2];          /* or PLACE_ANY_CPU */
	const char *skipped; /* why, or NULL */
	unsigned trials;
	bool cut; /* the time was over before the rounds */
	uint64_t round_trips, bare_round_trips;
	uint64_t min, p50, p90, p99, p999, max;
	uint64_t p50_low, p50_high; /* of the trials */
	double mean;
	double cpu_seconds; /* per second, of both processes */
	double ratio;       /* of means, to the place's floor; 0: unknown */
};

void report_pingpong(enum bench_format format, const struct figures *figures,
    size_t count);

/* A time in at most 6 characters, as "72.1us". */
#define REPORT_TIME_MAX 32
const char *report_time(char text[REPORT_TIME_MAX], double ns);

/* "tool", "version" and "machine": the first members of an object. */
void report_json_head(FILE *out);
void report_json_string(FILE *out, const char *text);

/* Flushes stdout; BENCH_FAILED, after a message, if not all could be
 * written. */
int report_end(void);

#endif
