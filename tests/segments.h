/* SPDX-License-Identifier: ISC */
/* Segments that tests open: of bytes alone, and of a mutex and a condition. */
#ifndef TESTS_SEGMENTS_H
#define TESTS_SEGMENTS_H

#include "processes.h"

/* ---- Bytes ------------------------------------------------------------- */

/* One of kind 0, without an init. */
int open_segment(handoff_segment **s, const char *name, unsigned flags,
    size_t bytes);

/* The same for who wants the result alone: what was opened stays open. */
int open_bytes(const char *name, unsigned flags, size_t bytes);

/* ---- A pair ------------------------------------------------------------ */

struct pair {
	handoff_mutex mutex;
	handoff_cond cond;
};

/* NULL: see *e. */
struct pair *open_pair(const char *name, unsigned flags, int *e);

/* For the parent: "pair", opened or made. */
struct pair *make_pair(void);

/* A part: opens "pair", holds its mutex and says so, until the parent tells
 * "end". */
int hold_pair(const char *unused);

/* ---- The end ----------------------------------------------------------- */

/* For the parent: closes it and removes its name, which was the last one. */
void end_of(void *object, const char *name);

#endif
