/* SPDX-License-Identifier: ISC */
/*
 * What the parts of one test share, in a segment of the test's name.  What is
 * in it, each test program defines for itself.
 */
#ifndef TESTS_ROOM_H
#define TESTS_ROOM_H

#include "processes.h"

/* ---- By the test program ----------------------------------------------- */

struct room;
extern const size_t room_bytes; /* its size */

/* The init of the segment: `arg` is what make_room was given, or NULL. */
int fill_room(void *memory, size_t bytes, void *arg);

/* ---- For all ----------------------------------------------------------- */

/* Opens the room, or makes it; NULL if that fails. */
struct room *make_room(const char *name, const void *arg);

/* For the parent, in the beginning of a test and in its end. */
struct room *open_room(const char *name);
void close_room(struct room *r, const char *name);

/* For a part: "name" or "name:number"; `number` may be NULL. */
struct room *join_room(const char *arg, unsigned *number);

#endif
