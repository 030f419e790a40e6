/* SPDX-License-Identifier: ISC */
/*
 * The signals that end the bench, which ends its processes first.  One that
 * was ignored when the bench began stays so, as nohup and a shell's background
 * jobs want it.
 */
#ifndef BENCH_SIGNALS_H
#define BENCH_SIGNALS_H

#include <signal.h>

/* From now on they call `handler`.  Adds those that do to `taken`. */
void signals_take(void (*handler)(int), sigset_t *taken);

/* Those that were taken do `action` from now on: SIG_DFL or SIG_IGN. */
void signals_leave(void (*action)(int));

#endif
