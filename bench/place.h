/* SPDX-License-Identifier: ISC */
/*
 * Where the two processes of a trial run.
 */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

enum place {
	PLACE_CROSS, /* each pinned to a CPU of its own */
	PLACE_SAME,  /* both pinned to one CPU */
	PLACE_FREE,  /* not pinned */
	PLACE_BUSY2, /* not pinned; two endless loops run on the machine */
	PLACE_BUSY4, /* the same with four */
	PLACE_SAME1, /* both pinned to one CPU, with one endless loop */
	PLACES
};

#define PLACE_ANY_CPU (-1)

const char *place_name(enum place place);

/* The place with that name, PLACES if there is none. */
enum place place_find(const char *name);

/* How many endless loops run there, on the CPU of part 0. */
unsigned place_loops(enum place place);

/* The via that others are compared with at that place: no lower limit. */
const char *place_floor(enum place place);

/* Finds the CPUs of part 0 and part 1, PLACE_ANY_CPU for not pinned.  Returns
 * NULL, or in words why there is no such place here. */
const char *place_cpus(enum place place, int cpu[2]);

/* ---- what the system provides ------------------------------------------ */

/* Why there are no such places here, or NULL. */
extern const char *const place_no_loops, *const place_no_pins;

/* Finds up to two CPUs and returns how many. */
int place_pair(int cpu[2]);

/* Pins the calling process.  Returns 0 or an errno value. */
int place_pin(int cpu);

#endif
