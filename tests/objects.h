/* SPDX-License-Identifier: ISC */
/*
 * The room "points", with one object of each kind, and a part that waits for
 * one of them.  For tests built against the library with points.
 */
#ifndef TESTS_OBJECTS_H
#define TESTS_OBJECTS_H

#include "room.h"
#include "words.h"

#define BOUND 5.0 /* s; a slice is 1.25 at the most */
#define MARK 0x80000000u
#define WAITERS 2u

struct room {
	union object objects[KINDS];
	/* For parts that go on round by round. */
	_Atomic uint32_t begins; /* the round in which the waiter begins */
	_Atomic uint32_t ends;
	_Atomic unsigned stop;
};

/* What a part is told of the kind. */
const char *argument(unsigned kind);

/* The part "wait": says "waits", waits, and says "done". */
int part_wait(const char *arg);

/* For the parent. */
void give_one(union object *o, unsigned kind);

#endif
