/* SPDX-License-Identifier: ISC */
/*
 * One trial: two processes, started afresh, that hand the turn to each other
 * for a while.  The bench starts them and watches them (run.c); they do what
 * a job says and report (part.c).  Bench and part talk over a socket or pipes:
 *
 *	bench to part   struct job
 *	part to bench   int32_t: the result of opening
 *	bench to part   one byte: both have opened, go
 *	part to bench   struct report
 *
 * A part that reads the end of that has lost the bench and ends.
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

struct job {
	char base[BENCH_NAME_MAX]; /* what all names begin with */
	char via[32];
	int32_t cpu;       /* or PLACE_ANY_CPU */
	pid_t bench;       /* the parent */
	uint64_t rounds;   /* of each stretch; UINT64_MAX: as time allows */
	uint64_t limit_ns; /* of each stretch */
	uint64_t warm_ns;
	uint64_t work_ns; /* part 1 computes so long before it answers */
	uint64_t gap_ns;  /* part 0 is idle so long before it calls */
	uint32_t alarm_s; /* the part ends itself after that */
	int32_t record;   /* part 0's descriptor to record to, or -1 */
};

/* What a process used up in both stretches. */
struct usage {
	uint64_t cpu_ns;
	uint64_t blocked;   /* times it let go of its CPU to wait */
	uint64_t preempted; /* times it lost it, or yielded */
	uint64_t spins;     /* by the library's waits, as the next two */
	uint64_t yields;
	uint64_t parks;
};

/* What a part reports; the second part only error and usage. */
struct report {
	int32_t error; /* first, as in every message of a part */
	struct usage usage;
	uint64_t wall_ns;         /* of both stretches */
	uint64_t rounds;          /* in this time, all of them */
	struct histogram stamped; /* round trips, each with time stamps */
	uint64_t stamped_ns;      /* all of these together */
	uint64_t bare_rounds;     /* round trips without stamps between them */
	uint64_t bare_ns;
	/* With a gap; then there are no round trips without stamps. */
	struct histogram wake; /* from giving the turn until the other has it */
	uint64_t wake_ns;      /* all of these together */
	uint64_t slept_ns;
	uint64_t slept_cpu_ns; /* of sleeps between all of the rounds */
};

struct trial {
	const struct via *via;
	enum place place;
	int cpu[2];
	uint64_t rounds;
	uint64_t limit_ns;
	uint64_t work_ns;
	uint64_t gap_ns;
	unsigned serial; /* no two trials of a run have the same */
};

/* The longest that a trial should take. */
uint64_t run_trial_ns(const struct trial *trial);

/* Runs a trial.  False if it failed, after a message on stderr. */
bool run_trial(const struct trial *trial, struct report reports[2]);

#endif
