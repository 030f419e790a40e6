/* SPDX-License-Identifier: ISC */
/*
 * The waiting engine: look - spin or yield - mark - park - look again.
 *
 * PHASES
 *   spinning   handoff__wait_spin says true: the policy allows it, the limit
 *              has not passed and, with the adaptive policy, spinning can win
 *   parking    for the rest of the wait; a wait does not spin twice
 *
 * WHEN SPINNING CAN WIN (adaptive)
 *   More than one CPU is online, the thread is in no real-time class, and the
 *   partner did not last run on this CPU: there it could not run while we
 *   spin.  One's own affinity mask says nothing, since two processes pinned
 *   apart have one CPU each.  Yielding is never adaptive's choice: beside a
 *   stranger on the same CPU it costs a whole timeslice.
 *
 * SLICES
 *   Every park ends after a while, so that the waiter can look whether the one
 *   who owes it a wake has died: with an owner to watch after 4 ms, doubling
 *   to 128; else after 250 ms, doubling to 1.25 s.  Where more than four
 *   threads of this process are parked on one word the slices grow in
 *   proportion, to 2 s at the most.  Each slice is drawn between 7/8 and all
 *   of its length, so that many waiters do not look in step.  Slices are for
 *   deaths only, and cost an idle machine 50 to 500 us each.
 *
 * Nothing here is in shared memory, and nothing allocates.
 */
#include "wait.h"

#include "points.h"
#include "self.h"

#include <errno.h>
#include <string.h>

#define US 1000u
#define MS 1000000u

/* A park and its wake cost 5 to 70 us, by machine; spinning for about as long
 * is never far from the best that could have been done, and a budget below the
 * wake's latency could leave both sides parking for ever. */
#define SPIN_NS (100u * US)

/* The limit of the two policies that do not look at anything. */
#define FIXED_NS (500u * US)

#define FACTS_NS (10u * MS) /* how long what is known of the machine holds */
#define LOOKS 16u           /* between two questions to the clock */

/* How long to be quiet, in parts of a pause: more after a first look that
 * found nothing, slowly less after one that did. */
#define QUIET_PART 16u
#define QUIET_MORE 8u
#define QUIET_MOST (16u * QUIET_PART)

#define OWNED_FIRST (4u * MS)
#define OWNED_LONGEST (128u * MS)
#define FREE_FIRST (250u * MS)
#define FREE_LONGEST (1250u * MS)
#define MANY_LONGEST (2000u * MS)
#define MANY 4u

/* ---- The process's own policy ------------------------------------------ */

struct setting {
	_Atomic uint32_t state; /* 0 unread, 1 none, 2 set */
	_Atomic uint32_t policy;
	_Atomic uint32_t limit;
};

static struct setting setting;

/* "20us" in ns: 0 if it is no time between 1 ns and 1 s. */
static uint32_t parse_limit(const char *text)
{
	static const struct {
		const char *unit;
		uint32_t ns;
	} units[] = { { "ns", 1 }, { "us", US }, { "ms", MS } };
	uint64_t n = 0;

	for (; *text >= '0' && *text <= '9' && n <= 1000000000u; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(text, units[i].unit) == 0 &&
		    n * units[i].ns <= 1000000000u)
			return (uint32_t)(n * units[i].ns);
	return 0;
}

static bool parse(const char *text, uint32_t *policy, uint32_t *limit)
{
	static const char *const names[] = { "adaptive", "spin", "yield",
		"block" };

	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(text, names[i], n) != 0 ||
		    (text[n] != '\0' && text[n] != ':'))
			continue;
		*policy = i;
		*limit = text[n] ? parse_limit(text + n + 1) : 0;
		return text[n] == '\0' || *limit != 0;
	}
	return false;
}

/* Several threads may read the variable at once, and all read the same; the
 * first reports it. */
static void read_setting(void)
{
	const char *text = handoff__setting("HANDOFF_WAIT");
	uint32_t policy = 0;
	uint32_t limit = 0;
	uint32_t unread = 0;
	bool good = text && parse(text, &policy, &limit);

	atomic_store(&setting.policy, policy);
	atomic_store(&setting.limit, limit);
	if (atomic_compare_exchange_strong(&setting.state, &unread,
	        good ? 2 : 1) &&
	    text && *text && !good)
		handoff__warn("handoff: HANDOFF_WAIT is not adaptive, spin, "
		              "yield or block, nor one of these with a limit "
		              "as in spin:20us; ignored\n");
}

static void choose_policy(struct handoff__wait *w,
    const struct handoff__head *head)
{
	if (atomic_load(&setting.state) == 0)
		read_setting();
	if (atomic_load(&setting.state) == 2) {
		w->policy = atomic_load(&setting.policy);
		w->limit = atomic_load(&setting.limit);
	} else {
		w->policy = head->attr & HANDOFF__POLICY;
		w->limit = head->limit;
	}
	if (w->limit == 0)
		w->limit = w->policy == HANDOFF_WAIT_ADAPTIVE ? SPIN_NS :
		                                                FIXED_NS;
}

/* ---- Spinning ---------------------------------------------------------- */

/* What is known of the machine, for this thread. */
static _Thread_local struct {
	uint64_t asked;
	bool hopeless; /* one CPU, or a real-time class */
} facts;

static void ask_facts(uint64_t now)
{
	if (facts.asked != 0 && now - facts.asked < FACTS_NS)
		return;
	facts.asked = now;
	facts.hopeless = handoff__cpus() < 2 || handoff__realtime();
}

/* Whether it is still worth while, now that the clock is read. */
static bool go_on(struct handoff__wait *w, uint64_t now, unsigned partner)
{
	w->now = now;
	if (now >= w->deadline) {
		w->late = true;
		return false;
	}
	if (w->spin_until == 0) {
		w->spin_until = now + w->limit;
		w->look_at = now + w->slice;
		if (w->policy != HANDOFF_WAIT_SPIN)
			ask_facts(now);
	}
	if (now >= w->spin_until)
		return false;
	if (now >= w->look_at) {
		w->look = true;
		w->look_at = now + w->slice;
	}
	switch (w->policy) {
	case HANDOFF_WAIT_ADAPTIVE:
		return !facts.hopeless &&
		    (partner == 0 || partner != handoff__cpu());
	case HANDOFF_WAIT_YIELD:
		return !handoff__realtime();
	default:
		return true;
	}
}

bool handoff__wait_spin(struct handoff__wait *w, unsigned partner)
{
	w->look = false;
	if (!w->spinning)
		return false;
	/* One yield may take a timeslice. */
	if ((w->looks++ % LOOKS == 0 || w->policy == HANDOFF_WAIT_YIELD) &&
	    !go_on(w, handoff__clock(), partner)) {
		w->spinning = false;
		return false;
	}
	if (w->policy == HANDOFF_WAIT_YIELD)
		handoff__yield();
	else
		handoff__pause();
	return true;
}

void handoff__wait_quiet(struct handoff__wait *w, unsigned partner,
    struct handoff__self *self, const volatile void *line)
{
	if (!w->spinning || w->policy == HANDOFF_WAIT_YIELD)
		return;
	w->spinning = go_on(w, handoff__clock(), partner);
	if (!w->spinning)
		return;
	w->looks = 1; /* the clock has just been asked */
	for (uint32_t i = self->quiet / QUIET_PART; i > 0; i--)
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
	w->late |= handoff__clock() >= w->deadline;
	return w->late;
}

enum handoff__woken handoff__wait_park_any(struct handoff__wait *w,
    const struct handoff__place *places, const uint32_t *expected, unsigned n)
{
	uint64_t now = handoff__clock();
	uint64_t until;
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
	HANDOFF__POINT();
	e = n == 1 ? handoff__park(places, *expected, until) :
	             handoff__park_any(places, expected, n, until);
	HANDOFF__POINT();
	if (e != ETIMEDOUT)
		return HANDOFF__WOKEN;
	return until == w->deadline ? HANDOFF__DEADLINE : HANDOFF__SLICE;
}

enum handoff__woken handoff__wait_park(struct handoff__wait *w,
    const struct handoff__place *place, uint32_t expected)
{
	return handoff__wait_park_any(w, place, &expected, 1);
}

/* ---- Beginning and end ------------------------------------------------- */

void handoff__wait_begin(struct handoff__wait *w,
    const struct handoff__head *head, uint64_t deadline, bool owned)
{
	w->deadline = deadline;
	w->spin_until = 0;
	w->slice = owned ? OWNED_FIRST : FREE_FIRST;
	w->longest = owned ? OWNED_LONGEST : FREE_LONGEST;
	w->looks = 0;
	w->since = 0;
	w->now = 0;
	w->parked = false;
	w->brief = false;
	w->late = false;
	w->look = false;
	w->parkers = NULL;
	choose_policy(w, head);
	w->spinning = w->policy != HANDOFF_WAIT_BLOCK;
}

void handoff__wait_end(struct handoff__wait *w)
{
	/* Relaxed, here and where it is counted in: a count for a guess. */
	if (w->parkers)
		atomic_fetch_sub_explicit(w->parkers, 1, memory_order_relaxed);
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
