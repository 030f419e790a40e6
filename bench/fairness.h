/* SPDX-License-Identifier: ISC */
/*
 * The locks that two processes contend for, and the processes.
 */
#ifndef BENCH_FAIRNESS_H
#define BENCH_FAIRNESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench.h"

enum fairness_via {
	FAIRNESS_MUTEX,  /* the library's */
	FAIRNESS_UNFAIR, /* HANDOFF_UNFAIR */
	FAIRNESS_PTHREAD,
	FAIRNESS_VIAS
};

const char *fairness_name(enum fairness_via via);

/* The via with that name, FAIRNESS_VIAS if there is none. */
enum fairness_via fairness_find(const char *name);

struct fairness_room;

/* Of one process. */
struct fairness_result {
	_Alignas(64) uint64_t acquired;
	uint64_t changes; /* how often of them the other had it before */
	uint64_t longest; /* ns */
	int error;
};

/* One lock and the two who contend for it. */
struct fairness_contest {
	enum fairness_via via;
	struct fairness_room *room;
	pid_t pids[2]; /* 0: none, or its end has been seen */
	uint64_t ns;   /* from go to stop */
	struct fairness_result results[2];
};

/* Prints what `count` contests on two CPUs, or not pinned, have given. */
void fairness_print(enum bench_format format,
    const struct fairness_contest *contests, size_t count, const int cpu[2]);

#endif
