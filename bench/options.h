/* SPDX-License-Identifier: ISC */
/*
 * The command lines of the program's parts.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "fairness.h"
#include "place.h"
#include "via.h"

#define OPTIONS_VIAS 64

struct pingpong_options {
	const struct via *vias[OPTIONS_VIAS]; /* none of them twice */
	size_t via_count;
	enum place places[PLACES];
	size_t place_count;
	uint64_t rounds;   /* of a stretch; UINT64_MAX: as time allows */
	uint64_t trial_ns; /* both stretches together */
	unsigned trials;
	enum bench_format format;
};

struct costs_options {
	unsigned trials;
	enum bench_format format;
};

struct fairness_options {
	enum fairness_via vias[FAIRNESS_VIAS]; /* none of them twice */
	size_t via_count;
	uint64_t ns; /* of each */
	enum bench_format format;
};

/* These return true to go on; else the program is to end with *status. */
bool options_pingpong(struct pingpong_options *o, int argc, char **argv,
    int *status);
bool options_costs(struct costs_options *o, int argc, char **argv, int *status);
bool options_fairness(struct fairness_options *o, int argc, char **argv,
    int *status);

/* Says on stderr what is wrong and returns BENCH_USAGE. */
int options_wrong(const char *what, const char *value);

#endif
