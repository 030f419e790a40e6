/* SPDX-License-Identifier: ISC */
/*
 * One trial: two processes, started afresh, that hand the turn to each other
 * for a while.  The bench starts them and watches them (run.c); they do what
 * a job says and report (part.c).  Bench and part talk over a socket:
 *
 *	bench to part   struct job
 *	part to bench   int32_t: the result of opening
 *	bench to part   one byte: both have opened, go
 *	part to bench   struct report
 *
 * A part that reads the end of the socket has lost the bench and ends.
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench.h"
#include "histogram.h"
#include "place.h"
#include "via.h"

#define RUN_SOCKET 3 /* the part's descriptor */

struct job {
	char base[BENCH_NAME_MAX]; /* what all names begin with */
	char via[32];
	int32_t cpu;       /* or PLACE_ANY_CPU */
	pid_t bench;       /* the parent */
	uint64_t rounds;   /* of each stretch; UINT64_MAX: as time allows */
	uint64_t limit_ns; /* of each stretch */
	uint64_t warm_ns;
	uint32_t alarm_s; /* the part ends itself after that */
};

/* What a part reports; the second part only error and cpu_ns. */
struct report {
	int32_t error;            /* first, as in every message of a part */
	uint64_t cpu_ns;          /* of this process in both stretches */
	uint64_t wall_ns;         /* of both stretches */
	struct histogram stamped; /* round trips, each with time stamps */
	uint64_t bare_rounds;     /* round trips without stamps between them */
	uint64_t bare_ns;
};

struct trial {
	const struct via *via;
	enum place place;
	int cpu[2];
	uint64_t rounds;
	uint64_t limit_ns;
	unsigned serial; /* no two trials of a run have the same */
};

/* From now on a signal that ends the bench ends its parts first. */
void run_prepare(void);
void run_finish(void);

/* Runs a trial.  False if it failed, after a message on stderr. */
bool run_trial(const struct trial *trial, struct report reports[2]);

/* True after a signal that should end the bench; run_quit() obeys it. */
bool run_interrupted(void);
void run_quit(void);

#endif
