/* SPDX-License-Identifier: ISC */
/*
 * The locks that two processes contend for, and the processes.
 */
#ifndef BENCH_FAIRNESS_H
#define BENCH_FAIRNESS_H

#include <stdint.h>

enum fairness_via {
	FAIRNESS_MUTEX,  /* the library's */
	FAIRNESS_UNFAIR, /* HANDOFF_UNFAIR */
	FAIRNESS_PTHREAD,
	FAIRNESS_VIAS
};

const char *fairness_name(enum fairness_via via);

/* The via with that name, FAIRNESS_VIAS if there is none. */
enum fairness_via fairness_find(const char *name);

#endif
