/* SPDX-License-Identifier: ISC */
/*
 * The mutex "m", and parts that hold it and lock it.  The tests of owners and
 * waiters that die, or only look so, are about who of them gets it and what he
 * is told.
 */
#ifndef TESTS_LOCKERS_H
#define TESTS_LOCKERS_H

#include "processes.h"

/* ---- The mutex --------------------------------------------------------- */

/* Made with a way to wait, and removed with its name. */
handoff_mutex *make_m(unsigned policy, uint64_t limit);
void end_m(handoff_mutex *m);

/* It can be had without a word about anybody's death. */
void assert_free(handoff_mutex *m);

/* Nobody robs the owner: asserted for a while, by each call. */
void assert_not_robbed(handoff_mutex *m, double seconds);

/* ---- Parts ------------------------------------------------------------- */

/* Holds "m" until it is told to let go, or killed. */
int holder(const char *unused);

/* Locks "m" by lock, try or until; says how it went ("0" or a name as in
 * errno.h); makes it consistent if it has to; unlocks when told. */
int locker(const char *how);

/* ---- For the parent ---------------------------------------------------- */

/* The parts "holder", once it holds it, and "locker", about to lock. */
struct process start_holder(void);
struct process start_locker(const char *how);

/* The locker gets what is expected within a second of `since`; `what`, if it
 * is not NULL, is said with the time that it took. */
void expect_lock(struct process *p, const char *word, double since,
    const char *what);

/* It unlocks and ends. */
void let_go(struct process *p);

#endif
