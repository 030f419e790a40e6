/* SPDX-License-Identifier: ISC */
/*
 * When to spin, when to yield, when to park: durations and events in, budgets
 * out.  Pure: it asks no clock and no system and sees no shared memory.  What
 * it knows is the calling thread's alone, and all zero means that nothing is
 * known.
 */
#ifndef HANDOFF_ESTIMATOR_H
#define HANDOFF_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#define HANDOFF__BUCKETS 13u /* below 256 ns, 512 ns, ... 524 us; longer */

/* What is known of the waits at one site. */
struct handoff__history {
	float count[HANDOFF__BUCKETS]; /* of waits, by how long they took */
	float sum[HANDOFF__BUCKETS];   /* ns; of these together */
	float worth;     /* what the last wait counted; grows, so that old ones
	                  * count less and less */
	float balance;   /* ns; paid beyond what it would have cost to spin for
	                  * the price of a park each time */
	uint32_t price;  /* of a park, when `spin` was computed; 0: never */
	uint32_t spin;   /* ns: the budget that would have been best */
	uint16_t brief;  /* waits too short to be measured, not yet counted */
	uint16_t learnt; /* waits counted since `spin` was computed */
	uint16_t unspun; /* waits in a row without a budget that suffices to
	                  * learn anything */
	uint16_t barren; /* waits in a row in which yielding found nothing */
	uint16_t here;   /* counts waits for one on this CPU */
};

/* What is known of the machine. */
struct handoff__machine {
	uint64_t no_yield_until; /* on the caller's clock */
	uint64_t no_yield_ns;    /* how long that was, the last time */
	uint32_t short_yields;   /* in a row */
	uint32_t wake_ns;        /* from a wake to the one woken; 0: unknown */
	uint32_t cpus;           /* online; 0: unknown */
	uint32_t quota;          /* thousandths of a CPU; 0: no limit */
	bool realtime;  /* in a class in which a yield reaches none of lower
	                 * priority */
	bool strangers; /* more want to run than this thread and its partner */
};

/* Where the one that we wait for last ran. */
enum handoff__where {
	HANDOFF__SOMEWHERE, /* not known */
	HANDOFF__ELSEWHERE, /* on another CPU */
	HANDOFF__HERE       /* on this CPU: it cannot run while we spin */
};

/* What to do before it is time to park: spin, then yield, ns each. */
struct handoff__budget {
	uint32_t spin;
	uint32_t yield;
	uint32_t yields; /* no more than so many */
};

/* A wait that is not worth measuring, since it ended at one of the first
 * looks. */
static inline void handoff__learn_brief(struct handoff__history *h)
{
	if (h->brief < UINT16_MAX)
		h->brief++;
}

/* The price of a park and of the wake that ends it: ns of delay and of CPU
 * time of both sides together. */
uint32_t handoff__price(const struct handoff__machine *m);

/* What to do in the wait that begins now.  `most`: the bound on spinning and
 * yielding together, ns; 0: twice the price of a park. */
struct handoff__budget handoff__plan(struct handoff__history *h,
    const struct handoff__machine *m, enum handoff__where where, uint32_t most,
    uint64_t now);

/* A wait for one that was not here has ended after `ns`, without the time that
 * a wake took.  `spun`: for how long it spun before it parked; UINT32_MAX: it
 * never parked. */
void handoff__learn(struct handoff__history *h,
    const struct handoff__machine *m, uint64_t ns, uint32_t spun);

/* A wait for one that was here yielded, and that ended it, or did not. */
void handoff__learn_yields(struct handoff__history *h, bool ended);

/* A yield has returned at `now`, after `ns`: whether another one may be made in
 * this wait. */
bool handoff__yielded(struct handoff__machine *m, uint64_t now, uint64_t ns);

/* It took `ns` from a wake until the one woken ran. */
void handoff__woken_after(struct handoff__machine *m, uint64_t ns);

#endif
