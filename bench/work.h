/* SPDX-License-Identifier: ISC */
/*
 * What parts do beside handing over: part 1 works before it answers, part 0
 * stays idle before it calls.  And what it costs to look at the clock.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdint.h>

#include "via.h"

/* Makes part 1 note the time at which it has the turn, if `stamp`, and then
 * compute for so long, in each round trip from now on. */
void work_set(struct via_side *side, uint64_t ns, bool stamp);

/* Sleeps at least so long and returns how long it was. */
uint64_t work_sleep(uint64_t ns);

/* What a time stamp costs, in ns; measured at the first call. */
double work_timer_ns(void);

#endif
