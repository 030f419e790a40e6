/* SPDX-License-Identifier: ISC */
/*
 * A readers-writer lock in the segment "rw", and the part "user", which does
 * with it what its argument says.
 */
#ifndef TESTS_READERS_H
#define TESTS_READERS_H

#include "room.h"
#include "still.h"

struct room {
	handoff_rwlock lock;
	_Atomic unsigned stop;
	_Atomic unsigned progress;
	_Atomic unsigned told;  /* how often EOWNERDEAD was answered */
	volatile unsigned a;    /* who writes changes both of them; else they */
	volatile unsigned b;    /* are equal */
	volatile unsigned owes; /* a writer would leave them unequal */
};

/* ---- For the parent ---------------------------------------------------- */

/* The room "rw", which is new; `attr` may be NULL. */
struct room *make_rw(const struct handoff_rwlock_attr *attr);
void end_rw(struct room *r);

/* Starts the part "user". */
struct process start_user(const char *words);

/* It says that result within so many seconds. */
void says_soon(struct process *p, int result, double seconds);

/* It is told to go on, says that result, and ends. */
void ends_with(struct process *p, int result);

/* It says nothing for a while. */
void waits(struct process *p);

#define BOUND 2.0 /* seconds for what a death holds up */

/* By the parent, within that time; unlocking is asserted. */
int write_soon(struct room *r);
int read_soon(struct room *r);
void unlock_read(struct room *r);
void unlock_write(struct room *r);

/* A user that has got `n` times 0, and holds it. */
struct process start_holder(const char *words, int n);

/* While somebody else holds it: no call to write, or to read, gets it. */
void assert_no_writer_comes_in(struct room *r);
void assert_no_reader_comes_in(struct room *r);

/* Every call is EINVAL. */
void assert_refused(handoff_rwlock *lock);

/* Nobody holds it, and no death is told. */
void assert_free(struct room *r);

/* ---- For a part -------------------------------------------------------- */

struct room *get_rw(void);

/* What a writer does. */
void write_both(struct room *r);

/*
 * The part.  Words, with one space between: a call on the lock, of which it
 * says the result; "go" awaits the word, "asks" says it, "linger" lingers;
 * what stands between "{" and "}" a thread does, which ends then.  Calls are
 * named as in handoff_rwlock(3); ..._until waits for 20 s at the most,
 * ..._late for 0.3 s.
 */
int user(const char *words);

/* A call by that name. */
int call_by_name(handoff_rwlock *lock, const char *name);

#endif
