/* SPDX-License-Identifier: ISC */
/*
 * Waiting that is the user's own: one step of a loop of the user's, and a
 * function of the user's in the place of our steps; and what the thread's waits
 * have done so far.
 */
#include "self.h"
#include "wait.h"

#include <errno.h>

#define US 1000u

/* With nothing known of a wait it will last as long again as it has lasted, so
 * each step may take a part of that. */
#define PAUSE_UNTIL (20u * US) /* about what a blocking handoff costs */
#define YIELD_UNTIL (200u * US)
#define NAP_PART 8u
#define NAP_LEAST (50u * US)
#define NAP_MOST (10000u * US)

void handoff_yield(unsigned iteration)
{
	static _Thread_local struct {
		uint64_t since;
		struct handoff__machine machine;
	} loop;
	uint64_t now = handoff__clock();
	uint64_t waited;

	if (iteration == 0 || loop.since == 0)
		loop.since = now;
	waited = now - loop.since;
	if (waited < PAUSE_UNTIL && handoff__cpus() > 1) {
		handoff__pause();
		return;
	}
	if (waited < YIELD_UNTIL && now >= loop.machine.no_yield_until &&
	    !handoff__realtime()) {
		handoff__yield();
		waited = handoff__clock();
		handoff__yielded(&loop.machine, waited, waited - now);
		return;
	}
	waited /= NAP_PART;
	if (waited < NAP_LEAST)
		waited = NAP_LEAST;
	handoff__nap(waited < NAP_MOST ? waited : NAP_MOST);
}

int handoff_idle(void (*fn)(unsigned iteration, uint64_t waited_ns, void *ctx),
    void *ctx)
{
	int e = handoff__self_begin();

	if (e != 0)
		return e;
	handoff__self_pointer->learnt.trusted = 0;
	handoff__self_pointer->idle = fn;
	handoff__self_pointer->idle_ctx = ctx;
	return 0;
}

int handoff_thread_statistics(struct handoff_thread_statistics *statistics)
{
	const struct handoff__self *self = handoff__self_known();
	struct handoff__counts counts = { 0, 0, 0, 0 };

	if (!statistics || statistics->size != sizeof *statistics)
		return EINVAL;
	if (self)
		counts = self->counts;
	statistics->waits = counts.waits;
	statistics->spins = counts.spins;
	statistics->yields = counts.yields;
	statistics->parks = counts.parks;
	return 0;
}
