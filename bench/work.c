/* SPDX-License-Identifier: ISC */
/*
 * Work, sleep and the clock.  Work is a loop that looks at the clock: it takes
 * as long as it should also where a processor changes its speed, and touches
 * no memory that others write.
 */
#define _GNU_SOURCE 1
#include "bench.h"
#include "system.h"
#include "work.h"

#define BATCHES 20
#define STAMPS 500u    /* in a batch */
#define WORKS 50u      /* the same */
#define TRIAL_NS 1000u /* of one of these works */

static uint64_t too_long; /* so much longer than asked for a work would be */

static void compute(uint64_t ns)
{
	uint64_t start = bench_now();

	if (ns <= too_long)
		return;
	ns -= too_long;
	while (bench_now() - start < ns)
		;
}

/* Measures how much longer than asked for a work takes, undisturbed. */
static void calibrate(void)
{
	uint64_t start, ns, least = UINT64_MAX;
	unsigned i, batch;

	for (batch = 0; batch < BATCHES; batch++) {
		start = bench_now();
		for (i = 0; i < WORKS; i++)
			compute(TRIAL_NS);
		ns = (bench_now() - start) / WORKS;
		if (ns < least)
			least = ns;
	}
	if (least > TRIAL_NS)
		too_long = least - TRIAL_NS;
}

static void turn(const struct via_side *side)
{
	if (side->stamp)
		atomic_store_explicit(&side->control->turn_at, bench_now(),
		    memory_order_release);
	if (side->work_ns > 0)
		compute(side->work_ns);
}

void work_set(struct via_side *side, uint64_t ns, bool stamp)
{
	if (ns == 0 && !stamp)
		return;
	if (ns > 0)
		calibrate();
	side->work_ns = ns;
	side->stamp = stamp;
	side->turn = turn;
}

uint64_t work_sleep(uint64_t ns)
{
	uint64_t start = bench_now();

	system_sleep(start + ns);
	return bench_now() - start;
}

double work_timer_ns(void)
{
	static double cost;
	uint64_t start, end = 0, ns, least = UINT64_MAX;
	unsigned i, batch;

	if (cost > 0)
		return cost;
	for (batch = 0; batch < BATCHES; batch++) {
		start = bench_now();
		for (i = 0; i < STAMPS; i++)
			end = bench_now();
		ns = end - start;
		if (ns < least)
			least = ns;
	}
	cost = (double)least / STAMPS;
	return cost;
}
