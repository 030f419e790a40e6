/* SPDX-License-Identifier: ISC */
/*
 * The waiting engine: look - spin or yield - mark - park - look again.
 *
 * PHASES
 *   spinning   pauses between two looks
 *   yielding   offers of the CPU between two looks
 *   idling     the user's function between two looks, to the end of the wait
 *   parking    to the end of the wait; a wait does not spin twice
 *
 * THE PLAN
 *   The policy says how long each of the first two may take.  The adaptive one
 *   asks the estimator when it first reads the clock, with what it knows of
 *   the partner's CPU, of the machine and of this site, and tells it at the end
 *   how long the wait took.  A wait that ends at one of the first looks reads
 *   no clock again: it only counts as brief.
 *   One's own affinity mask says nothing, since two processes pinned apart have
 *   one CPU each.
 *
 * TRUST
 *   Where each yield is as long as a handoff two looks at the clock cost a
 *   tenth of it.  After enough yields in close succession that were short, most
 *   are not timed.  One of those may give the CPU away for a slice: then the
 *   next that is timed comes late, and all are timed again for a while; else
 *   a scheduler that is generous after each slice would have the long ones
 *   hide among those that nobody times.
 *
 * WHAT A PARK COSTS
 *   Who wakes leaves the time in the object now and then (site.h); who finds
 *   another time there than before it parked knows how long its wake took.
 *
 * SLICES
 *   Every park ends after a while, so that the waiter can look whether the one
 *   who owes it a wake has died: with an owner to watch after 16 ms, doubling
 *   to 128; else after 250 ms, doubling to 1.25 s.  Where more than four
 *   threads of this process are parked on one word the slices grow in
 *   proportion, to 2 s at the most.  Each slice is drawn between 7/8 and all
 *   of its length, so that many waiters do not look in step.  Slices are for
 *   deaths only, and cost an idle machine 50 to 500 us each.  None is shorter
 *   than the tick of a usual system: a timer that is due before the next tick
 *   has to be set in the hardware, which takes 15 us on a virtual machine.
 *
 * Nothing here is in shared memory but what others left there, and nothing
 * allocates.
 */
#include "wait.h"

#include "points.h"
#include "policy.h"

#include <errno.h>

#define US 1000u
#define MS 1000000u

/* The limit of the two policies that do not look at anything. */
#define FIXED_NS (500u * US)

#define LOOKS 16u           /* between two questions to the clock */
#define FREE_LOOKS 4u       /* before the first one */
#define TRUSTED 3u          /* yields that are not timed, after one */
#define TIMED 16u           /* that are, before the first of them */
#define TIMED_NS (50u * US) /* from one that is to the next, at the most */
#define WAKE_MOST (1u * MS) /* one that took longer had other reasons */

/* How long to be quiet, in parts of a pause: more after a first look that
 * found nothing, slowly less after one that did. */
#define QUIET_PART 16u
#define QUIET_MORE 8u
#define QUIET_MOST (16u * QUIET_PART)

#define OWNED_FIRST (16u * MS)
#define OWNED_LONGEST (128u * MS)
#define FREE_FIRST (250u * MS)
#define FREE_LONGEST (1250u * MS)
#define MANY_LONGEST (2000u * MS)
#define MANY 4u

/* ---- The plan ---------------------------------------------------------- */

static enum handoff__where where(unsigned partner,
    const struct handoff__self *self)
{
	if (partner == 0)
		return HANDOFF__SOMEWHERE;
	return partner == handoff__self_cpu(self) ? HANDOFF__HERE :
	                                            HANDOFF__ELSEWHERE;
}

static enum handoff__phase adapt(struct handoff__wait *w, unsigned partner)
{
	struct handoff__learnt *learnt = &w->self->learnt;
	enum handoff__where at = where(partner, w->self);
	struct handoff__budget budget;

	handoff__learn_machine(learnt, w->now);
	w->here = at == HANDOFF__HERE || learnt->machine.cpus == 1;
	budget = handoff__plan(w->history, &learnt->machine, at, w->limit,
	    w->now);
	/* Only where it matters: to ask takes as long as a handoff. */
	if (budget.yields != 0 || (w->here && learnt->machine.strangers))
		handoff__learn_strangers(learnt, w->now);
	if (learnt->machine.strangers)
		budget.yield = budget.yields = 0;
	w->limit = budget.spin + budget.yield;
	w->until = w->now + w->limit;
	w->yields_left = budget.yields;
	if (budget.spin != 0)
		return HANDOFF__SPINNING;
	return budget.yields != 0 ? HANDOFF__YIELDING : HANDOFF__PARKING;
}

/* The clock has been read for the first time. */
static void plan(struct handoff__wait *w, unsigned partner)
{
	if (w->policy == HANDOFF_WAIT_ADAPTIVE) {
		w->phase = adapt(w, partner);
		return;
	}
	if (w->limit == 0)
		w->limit = FIXED_NS;
	w->until = w->now + w->limit;
	if (w->policy == HANDOFF_WAIT_YIELD)
		w->phase = handoff__realtime() ? HANDOFF__PARKING :
		                                 HANDOFF__YIELDING;
}

/* Reads the clock: false if the deadline has passed. */
static bool tick(struct handoff__wait *w)
{
	w->now = handoff__clock();
	if (w->now >= w->deadline) {
		w->late = true;
		w->phase = HANDOFF__PARKING;
		return false;
	}
	if (w->start == 0)
		w->start = w->now;
	else if (w->now < w->look_at)
		return true;
	else
		w->look = true;
	w->look_at = w->now + w->slice;
	return true;
}

/* Reads the clock; where that ends a phase, the next one is parking. */
static void ask_clock(struct handoff__wait *w, unsigned partner)
{
	bool first = w->start == 0;

	if (!tick(w))
		return;
	if (first)
		plan(w, partner);
	else if (w->now >= w->until ||
	    (w->policy == HANDOFF_WAIT_ADAPTIVE &&
	        w->phase == HANDOFF__SPINNING &&
	        where(partner, w->self) == HANDOFF__HERE))
		w->phase = HANDOFF__PARKING;
}

/* ---- A yield on trust --------------------------------------------------- */

bool handoff__wait_trust(struct handoff__self *self,
    const struct handoff__head *head, unsigned partner, uint64_t deadline)
{
	if (self->learnt.trusted == 0 || deadline != HANDOFF_NEVER ||
	    (head->attr & HANDOFF__POLICY) != HANDOFF_WAIT_ADAPTIVE ||
	    where(partner, self) != HANDOFF__HERE)
		return false;
	self->learnt.trusted--;
	self->counts.waits++;
	self->counts.yields++;
	handoff__yield();
	self->cpu_uses = 0;
	return true;
}

/* ---- Spinning, yielding, idling ---------------------------------------- */

/* Whether to ask the clock before this look.  What ends at one of the first
 * does so without, unless it cannot. */
static bool asks(const struct handoff__wait *w, unsigned partner)
{
	if (w->start != 0 || w->looks >= FREE_LOOKS)
		return w->looks % LOOKS == FREE_LOOKS;
	return w->deadline != HANDOFF_NEVER || w->late || w->hopeless ||
	    (w->history && where(partner, w->self) == HANDOFF__HERE);
}

/* One yield may take a timeslice, so each is timed. */
static bool yield(struct handoff__wait *w, unsigned partner)
{
	uint64_t before;

	if (w->start == 0)
		ask_clock(w, partner);
	if (w->phase == HANDOFF__PARKING)
		return false;
	before = w->now;
	handoff__yield();
	w->self->cpu_uses = 0;
	w->yields++;
	ask_clock(w, partner);
	if (w->policy == HANDOFF_WAIT_ADAPTIVE &&
	    (!handoff__yielded(&w->self->learnt.machine, w->now,
	         w->now - before) ||
	        --w->yields_left == 0))
		w->phase = HANDOFF__PARKING;
	return true;
}

static bool spin(struct handoff__wait *w, unsigned partner)
{
	if (asks(w, partner))
		ask_clock(w, partner);
	if (w->phase == HANDOFF__SPINNING) {
		w->looks++;
		handoff__pause();
		return true;
	}
	return w->phase == HANDOFF__YIELDING && yield(w, partner);
}

/* The thread may come to wait for other things meanwhile, in other fibres. */
static bool idle(struct handoff__wait *w)
{
	struct handoff__self *self = w->self;
	struct handoff__at at;

	if (!tick(w))
		return false;
	handoff__self_leaves(self, &at);
	if (self->idle)
		self->idle(w->idles++, w->now - w->start, self->idle_ctx);
	if (!self->idle) {
		w->phase = HANDOFF__PARKING;
		w->now = handoff__clock();
	}
	handoff__self_returns(self, &at);
	return true;
}

bool handoff__wait_spin(struct handoff__wait *w, unsigned partner)
{
	w->look = false;
	w->waits = true;
	switch (w->phase) {
	case HANDOFF__SPINNING:
		return spin(w, partner);
	case HANDOFF__YIELDING:
		return yield(w, partner);
	case HANDOFF__IDLING:
		return idle(w);
	default:
		return false;
	}
}

void handoff__wait_quiet(struct handoff__wait *w, unsigned partner,
    const volatile void *line)
{
	if (w->phase != HANDOFF__SPINNING)
		return;
	if (asks(w, partner))
		ask_clock(w, partner);
	if (w->phase != HANDOFF__SPINNING)
		return;
	w->waits = true;
	for (uint32_t i = w->self->quiet / QUIET_PART; i > 0; i--)
		handoff__pause();
	handoff__fetch(line);
}

void handoff__wait_learn(struct handoff__self *self, bool at_once)
{
	if (!at_once)
		self->quiet = self->quiet + QUIET_MORE < QUIET_MOST ?
		    self->quiet + QUIET_MORE :
		    QUIET_MOST;
	else if (self->quiet > 0)
		self->quiet--;
}

bool handoff__wait_long(const struct handoff__wait *w)
{
	return w->start != 0 && w->now - w->start > w->limit / 2;
}

/* ---- Parking ----------------------------------------------------------- */

/* Between 7/8 and all of it: any spread will do. */
static uint64_t jitter(uint64_t ns)
{
	static _Thread_local uint32_t x;

	x = x * 1664525u + 1013904223u + (uint32_t)(uintptr_t)&x;
	return ns - (ns / 8) / 1024 * (x >> 22);
}

static uint64_t slice_end(struct handoff__wait *w, uint64_t now)
{
	uint64_t ns = w->slice;
	uint32_t n = 0;

	if (w->slice < w->longest)
		w->slice = w->slice * 2 < w->longest ? w->slice * 2 :
		                                       w->longest;
	if (w->parkers)
		/* Relaxed: a count for a guess. */
		n = atomic_load_explicit(w->parkers, memory_order_relaxed);
	if (n > MANY)
		ns = ns * n / MANY < MANY_LONGEST ? ns * n / MANY :
		                                    MANY_LONGEST;
	return now + jitter(ns);
}

bool handoff__wait_late(struct handoff__wait *w)
{
	if (w->deadline != HANDOFF_NEVER)
		w->late |= handoff__clock() >= w->deadline;
	return w->late;
}

/* A park has ended by a wake; `before`: what the object said of wakes before
 * it.  Relaxed, there and here: a hint; what a readers-writer lock keeps in its
 * place is no time of late. */
static void time_wake(struct handoff__wait *w, uint32_t before)
{
	uint32_t woken;

	if (!w->history || w->here)
		return;
	w->now = handoff__clock();
	woken = atomic_load_explicit(&w->head->woken, memory_order_relaxed);
	w->wake_ns = (uint32_t)w->now - woken;
	if (woken == before || w->wake_ns > WAKE_MOST)
		w->wake_ns = w->self->learnt.machine.wake_ns;
	else
		handoff__woken_after(&w->self->learnt.machine, w->wake_ns);
}

enum handoff__woken handoff__wait_park_any(struct handoff__wait *w,
    const struct handoff__place *places, const uint32_t *expected, unsigned n)
{
	uint64_t now = handoff__wait_clock(w);
	uint64_t until;
	uint32_t woken;
	int e;

	if (w->late || now >= w->deadline)
		return HANDOFF__DEADLINE;
	if (!w->parked) {
		w->parked = true;
		w->since = now;
		w->parkers = handoff__process_parked(places->word);
		if (w->parkers)
			atomic_fetch_add_explicit(w->parkers, 1,
			    memory_order_relaxed);
	}
	until = slice_end(w, now);
#ifdef HANDOFF__TEST
	if (!handoff__slices && !w->brief)
		until = HANDOFF_NEVER;
#endif
	if (until > w->deadline)
		until = w->deadline;
	w->parks++;
	woken = atomic_load_explicit(&w->head->woken, memory_order_relaxed);
	HANDOFF__POINT();
	e = n == 1 ? handoff__park(places, *expected, until) :
	             handoff__park_any(places, expected, n, until);
	w->self->cpu_uses = 0;
	HANDOFF__POINT();
	if (e != ETIMEDOUT) {
		time_wake(w, woken);
		return HANDOFF__WOKEN;
	}
	w->now = until;
	return until == w->deadline ? HANDOFF__DEADLINE : HANDOFF__SLICE;
}

enum handoff__woken handoff__wait_park(struct handoff__wait *w,
    const struct handoff__place *place, uint32_t expected)
{
	return handoff__wait_park_any(w, place, &expected, 1);
}

/* ---- Beginning and end ------------------------------------------------- */

void handoff__wait_begin(struct handoff__wait *w, struct handoff__self *self,
    const struct handoff__head *head, uint64_t deadline, bool owned)
{
	*w = (struct handoff__wait){ .self = self,
		.head = head,
		.deadline = deadline,
		.slice = owned ? OWNED_FIRST : FREE_FIRST,
		.longest = owned ? OWNED_LONGEST : FREE_LONGEST };
	self->learnt.trusted = 0; /* until this one has ended well */
	w->policy = handoff__policy(head, self, &w->limit);
	/* What the user's function takes is nothing to learn from, and it may
	 * wait for other things meanwhile. */
	if (w->policy == HANDOFF_WAIT_ADAPTIVE && !self->idle) {
		w->history = handoff__learnt_of(&self->learnt, head->id);
		w->hopeless = self->learnt.machine.cpus == 1;
	}
	if (self->idle)
		w->phase = HANDOFF__IDLING;
	else if (w->policy == HANDOFF_WAIT_YIELD)
		w->phase = HANDOFF__YIELDING;
	else if (w->policy == HANDOFF_WAIT_BLOCK)
		w->phase = HANDOFF__PARKING;
}

/* A wait on one's partner's CPU has been timed. */
static void trust(struct handoff__learnt *learnt, const struct handoff__wait *w)
{
	/* A yield that took long has ended the phase. */
	bool brief = w->phase == HANDOFF__YIELDING &&
	    w->now - learnt->timed_at < TIMED_NS;

	learnt->timed = brief ? learnt->timed + 1 : 0;
	learnt->timed_at = w->now;
	learnt->trusted = learnt->timed >= TIMED ? TRUSTED : 0;
}

/* Tells the estimator how the wait went. */
static void learn(struct handoff__wait *w)
{
	const struct handoff__machine *m = &w->self->learnt.machine;
	uint64_t ns = w->now - w->start;

	/* How long it would have lasted is not known. */
	if (w->late && !w->parked)
		return;
	if (w->start == 0) {
		handoff__learn_brief(w->history);
	} else if (w->here) {
		if (w->yields > 0)
			handoff__learn_yields(w->history, !w->parked);
		trust(&w->self->learnt, w);
	} else if (w->parked) {
		handoff__learn(w->history, m,
		    ns > w->wake_ns ? ns - w->wake_ns : 0,
		    (uint32_t)(w->since - w->start));
	} else if (w->looks <= LOOKS) {
		handoff__learn_brief(w->history);
	} else {
		handoff__learn(w->history, m, ns, UINT32_MAX);
	}
}

void handoff__wait_end(struct handoff__wait *w)
{
	struct handoff__counts *counts = &w->self->counts;

	/* Relaxed, here and where it is counted in: a count for a guess. */
	if (w->parkers)
		atomic_fetch_sub_explicit(w->parkers, 1, memory_order_relaxed);
	if (w->history)
		learn(w);
	counts->waits += w->waits;
	counts->spins += w->looks;
	counts->yields += w->yields;
	counts->parks += w->parks;
}

/* Relaxed, all: counts for people; of two that note at once one may be lost. */
void handoff__note_park(struct handoff__statistics *statistics, bool first)
{
	if (first)
		atomic_fetch_add_explicit(&statistics->contended, 1,
		    memory_order_relaxed);
	atomic_fetch_add_explicit(&statistics->parks, 1, memory_order_relaxed);
}

void handoff__note_longest(struct handoff__statistics *statistics,
    const struct handoff__wait *w)
{
	uint64_t us = w->since ? (handoff__clock() - w->since) / US : 0;
	uint32_t noted = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;

	if (atomic_load_explicit(&statistics->longest, memory_order_relaxed) <
	    noted)
		atomic_store_explicit(&statistics->longest, noted,
		    memory_order_relaxed);
}

void handoff__nap(uint64_t ns)
{
	static _Atomic uint32_t nothing;
	struct handoff__place place = { .key = (uint64_t)(uintptr_t)&nothing,
		.word = &nothing };

	handoff__park(&place, 0, handoff_after(ns));
}
