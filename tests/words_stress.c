/* SPDX-License-Identifier: ISC */
/*
 * No wake of a semaphore, an event or a word is lost, and nothing is touched
 * that may be gone: processes that cannot go on without each other, on a build
 * in which no wait looks again by itself, so that a lost wake stops them for
 * good, and in which each step between two atomics may be held up at random
 * (G10).
 */
#define _GNU_SOURCE
#include "jostle.h"
#include "room.h"
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

#define MOST 6u     /* processes */
#define CAPACITY 2u /* tokens on the table */
#define SECONDS 0.3 /* of a test */
#define LEAST 200u  /* steps in that time */

struct wanted {
	unsigned policy;
	unsigned pinned;
	unsigned processes;
	unsigned wide; /* words of 64 bits */
};

struct room {
	struct wanted wanted;
	handoff_sem sems[2];
	handoff_event turns[MOST]; /* automatic */
	handoff_event gates[2];    /* manual */
	union object words[2];
	_Atomic unsigned stop;
	_Atomic unsigned progress;
	_Atomic unsigned each[MOST];
	_Atomic unsigned tokens;
	_Atomic unsigned taken;
	_Atomic unsigned arrived;
	_Atomic unsigned left;
	_Atomic unsigned told;
	_Atomic unsigned inside;
	_Atomic unsigned turn;
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *w = arg;
	const struct kind *word = &kinds[w->wide ? WORD64 : WORD32];
	struct room *r = memory;
	int e = 0;

	(void)bytes;
	r->wanted = *w;
	for (unsigned i = 0; e == 0 && i < MOST; i++)
		e = kinds[AUTOMATIC].init((union object *)&r->turns[i],
		    w->policy, 0);
	for (unsigned i = 0; e == 0 && i < 2; i++) {
		e = kinds[SEM].init((union object *)&r->sems[i], w->policy, 0);
		if (e == 0)
			e = kinds[MANUAL].init((union object *)&r->gates[i],
			    w->policy, 0);
		if (e == 0)
			e = word->init(&r->words[i], w->policy, 0);
	}
	if (e == 0) {
		word_exchange(&r->words[1], w->wide, CAPACITY);
		e = handoff_sem_post(&r->sems[1], CAPACITY);
	}
	return e;
}

/* What each part does first: the room, and who this is. */
static struct room *come_in(const char *arg, unsigned *me)
{
	struct room *r = join_room(arg, me);

	be_jostled(*me, r->wanted.pinned != 0);
	return r;
}

static bool stops(const struct room *r)
{
	return atomic_load(&r->stop) != 0;
}

/* The number of this step, of all. */
static unsigned step(struct room *r, unsigned me)
{
	atomic_fetch_add(&r->each[me], 1);
	return atomic_fetch_add(&r->progress, 1) + 1;
}

/* One whose deadline passed stays away; at times, so does one that has got on
 * and let another go. */
static void be_away(const struct room *r, unsigned before)
{
	stay_away(&r->progress, before, &r->stop);
}

static void be_away_at_times(const struct room *r, unsigned before)
{
	if (chance(4) == 0)
		be_away(r, before);
}

/* Of six, the last two wait for a short time only. */
static uint64_t patience(const struct room *r, unsigned me)
{
	return r->wanted.processes == MOST && me >= 4 ?
	    handoff_after(chance(300000)) :
	    HANDOFF_NEVER;
}

/* ---- Trade by semaphores: some make tokens, some take them --------------- */

/* Even ones make, odd ones take; at times two at once. */
static int part_trade(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	bool makes = me % 2 == 0;
	handoff_sem *mine = &r->sems[makes];
	handoff_sem *theirs = &r->sems[!makes];

	while (!stops(r)) {
		unsigned before = atomic_load(&r->progress);
		int e = handoff_sem_wait_until(mine, patience(r, me));
		unsigned n = 1;

		if (e == ETIMEDOUT) {
			be_away(r, before);
			continue;
		}
		OK(e);
		if (chance(4) == 0 && handoff_sem_trywait(mine) == 0)
			n = 2;
		if (stops(r))
			break;
		if (makes)
			CHECK(atomic_fetch_add(&r->tokens, n) + n <= CAPACITY);
		else
			CHECK(atomic_fetch_sub(&r->tokens, n) >= n);
		before = step(r, me);
		if (n == 2 && chance(2)) {
			OK(handoff_sem_post(theirs, 1));
			n = 1;
		}
		OK(handoff_sem_post(theirs, n));
		be_away_at_times(r, before);
	}
	return 0;
}

/* ---- A crowd: one posts, and goes on when all have taken ----------------- */

/* In one piece or in several. */
static void post_in_pieces(handoff_sem *sem, unsigned n)
{
	while (n > 0) {
		unsigned k = 1 + chance(chance(2) ? n : 1);

		OK(handoff_sem_post(sem, k));
		n -= k;
	}
}

static void post_to_crowd(struct room *r, unsigned me, unsigned n)
{
	do {
		post_in_pieces(&r->sems[0], n);
		for (unsigned i = 0; i < n; i++)
			OK(handoff_sem_wait(&r->sems[1]));
		step(r, me);
		CHECK(atomic_exchange(&r->taken, 0) == n);
		atomic_store(&r->told, stops(r));
		atomic_fetch_add(&r->turn, 1);
	} while (!atomic_load(&r->told));
}

/* Each takes one, and no more before all have. */
static int part_crowd(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	unsigned n = r->wanted.processes - 1;

	if (me == 0) {
		for (unsigned i = 0; i < CAPACITY; i++)
			OK(handoff_sem_wait(&r->sems[1]));
		post_to_crowd(r, me, n);
		return 0;
	}
	while (!atomic_load(&r->told)) {
		unsigned round = atomic_load(&r->turn);

		OK(handoff_sem_wait(&r->sems[0]));
		atomic_fetch_add(&r->each[me], 1);
		CHECK(atomic_fetch_add(&r->taken, 1) < n);
		OK(handoff_sem_post(&r->sems[1], 1));
		while (atomic_load(&r->turn) == round)
			sched_yield();
	}
	return 0;
}

/* ---- An event with automatic reset as a lock ------------------------------ */

static int part_event_lock(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	handoff_event *lock = &r->turns[0];

	if (me == 0)
		OK(handoff_event_set(lock));
	while (!stops(r)) {
		unsigned before = atomic_load(&r->progress);
		int e = handoff_event_wait_until(lock, patience(r, me));

		if (e == ETIMEDOUT) {
			be_away(r, before);
			continue;
		}
		OK(e);
		CHECK(atomic_fetch_add(&r->inside, 1) == 0);
		jostle();
		before = step(r, me);
		if (chance(8) == 0)
			OK(handoff_event_reset(lock));
		CHECK(atomic_fetch_sub(&r->inside, 1) == 1);
		OK(handoff_event_set(lock));
		be_away_at_times(r, before);
	}
	return 0;
}

/* ---- A ring: each has an event ------------------------------------------- */

static int part_ring(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	unsigned n = r->wanted.processes;
	unsigned next = (me + 1) % n;

	while (!stops(r)) {
		if (atomic_load(&r->turn) != me) {
			OK(handoff_event_wait(&r->turns[me]));
			continue;
		}
		step(r, me);
		if (chance(4) == 0) /* one that finds nothing to do */
			OK(handoff_event_set(&r->turns[chance(n)]));
		atomic_store(&r->turn, next);
		OK(handoff_event_set(&r->turns[next]));
		if (chance(4) == 0) /* most often one with that before */
			OK(handoff_event_set(&r->turns[next]));
	}
	return 0;
}

/* ---- Meeting: all wait for the last -------------------------------------- */

/* Whether this one is the last, who says for all whether they go on. */
static bool is_last(struct room *r, unsigned me)
{
	if (atomic_fetch_add(&r->arrived, 1) + 1 < r->wanted.processes)
		return false;
	atomic_store(&r->arrived, 0);
	atomic_store(&r->told, stops(r));
	step(r, me);
	return true;
}

/* Two events with manual reset, in turn. */
static int part_meet_at_events(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	bool told = false;

	for (unsigned round = 0; !told; round++) {
		handoff_event *gate = &r->gates[round % 2];

		if (is_last(r, me)) {
			OK(handoff_event_reset(&r->gates[(round + 1) % 2]));
			OK(handoff_event_set(gate));
		} else {
			OK(handoff_event_wait(gate));
			atomic_fetch_add(&r->each[me], 1);
		}
		told = atomic_load(&r->told) != 0;
	}
	return 0;
}

/* ---- Set and reset at once ----------------------------------------------- */

static struct room *pulsed;
static bool announced;

/* At the first point of a wait: it has begun. */
static void announce(void)
{
	if (!announced) {
		announced = true;
		atomic_fetch_add(&pulsed->arrived, 1);
	}
	jostle();
}

static void until_all(_Atomic unsigned *count, unsigned n)
{
	while (atomic_load(count) != n)
		sched_yield();
	atomic_store(count, 0);
}

static int part_pulse(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	unsigned n = r->wanted.processes - 1;
	unsigned round;

	pulsed = r;
	while (!atomic_load(&r->told)) {
		if (me == 0) {
			until_all(&r->arrived, n);
			atomic_store(&r->told, stops(r));
			OK(handoff_event_set(&r->gates[0]));
			OK(handoff_event_reset(&r->gates[0]));
			until_all(&r->left, n);
			step(r, me);
			atomic_fetch_add(&r->turn, 1);
			continue;
		}
		announced = false;
		round = atomic_load(&r->turn);
		handoff__point_hook = announce;
		OK(handoff_event_wait(&r->gates[0]));
		handoff__point_hook = jostle;
		atomic_fetch_add(&r->each[me], 1);
		atomic_fetch_add(&r->left, 1);
		while (atomic_load(&r->turn) == round)
			sched_yield();
	}
	return 0;
}

/* ---- Words ---------------------------------------------------------------- */

/* In the upper half when it has 64 bits. */
static uint64_t shifted(const struct room *r, uint64_t n)
{
	return r->wanted.wide ? n << 32 : n;
}

static void wake(struct room *r, unsigned i, uint32_t n, bool fenced)
{
	OK(word_wake(&r->words[i], r->wanted.wide, n, fenced));
}

/* 0: free, 1: held, 2: held and somebody may wait. */
static bool word_lock(struct room *r, uint64_t deadline)
{
	if (word_swap(&r->words[0], r->wanted.wide, 0, shifted(r, 1)))
		return true;
	while (
	    word_exchange(&r->words[0], r->wanted.wide, shifted(r, 2)) != 0) {
		int e = word_wait(&r->words[0], r->wanted.wide, shifted(r, 2),
		    deadline);

		if (e == ETIMEDOUT)
			return false;
		OK(e);
	}
	return true;
}

static void word_unlock(struct room *r)
{
	if (chance(2)) {
		if (word_exchange(&r->words[0], r->wanted.wide, 0) !=
		    shifted(r, 1))
			wake(r, 0, 1, false);
	} else {
		word_release(&r->words[0], r->wanted.wide, 0);
		wake(r, 0, 1, true);
	}
}

static int part_word_lock(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	while (!stops(r)) {
		unsigned before = atomic_load(&r->progress);

		if (!word_lock(r, patience(r, me))) {
			be_away(r, before);
			continue;
		}
		CHECK(atomic_fetch_add(&r->inside, 1) == 0);
		jostle();
		before = step(r, me);
		CHECK(atomic_fetch_sub(&r->inside, 1) == 1);
		word_unlock(r);
		be_away_at_times(r, before);
	}
	return 0;
}

/* The value is the round. */
static int part_meet_at_word(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	unsigned n = r->wanted.processes;
	bool told = false;

	for (unsigned round = 0; !told; round++) {
		if (is_last(r, me)) {
			bool fenced = chance(2);
			uint32_t all = chance(2) ? HANDOFF_ALL : n - 1;

			if (fenced)
				word_release(&r->words[0], r->wanted.wide,
				    shifted(r, round + 1));
			else
				word_exchange(&r->words[0], r->wanted.wide,
				    shifted(r, round + 1));
			if (chance(4)) {
				wake(r, 0, all, fenced);
			} else { /* k wakes of one wake k */
				for (unsigned i = 1; i < n; i++)
					wake(r, 0, 1, fenced);
			}
		} else {
			OK(word_wait(&r->words[0], r->wanted.wide,
			    shifted(r, round), HANDOFF_NEVER));
			CHECK(word_load(&r->words[0], r->wanted.wide) ==
			    shifted(r, round + 1));
			atomic_fetch_add(&r->each[me], 1);
		}
		told = atomic_load(&r->told) != 0;
	}
	return 0;
}

/* Takes one from the number in a word; false: the deadline passed. */
static bool word_take(struct room *r, unsigned i, uint64_t deadline)
{
	for (;;) {
		uint64_t v = word_load(&r->words[i], r->wanted.wide);

		if (v != 0 && word_swap(&r->words[i], r->wanted.wide, v, v - 1))
			return true;
		if (v == 0) {
			int e = word_wait(&r->words[i], r->wanted.wide, 0,
			    deadline);

			if (e == ETIMEDOUT)
				return false;
			OK(e);
		}
		if (stops(r))
			return false;
	}
}

/* As by semaphores; each wake is for one. */
static int part_word_trade(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	bool makes = me % 2 == 0;

	while (!stops(r)) {
		unsigned before = atomic_load(&r->progress);

		if (!word_take(r, makes, patience(r, me))) {
			be_away(r, before);
			continue;
		}
		if (stops(r))
			break;
		if (makes)
			CHECK(atomic_fetch_add(&r->tokens, 1) < CAPACITY);
		else
			CHECK(atomic_fetch_sub(&r->tokens, 1) > 0);
		before = step(r, me);
		word_add(&r->words[!makes], r->wanted.wide, 1);
		wake(r, !makes, 1, chance(4) == 0);
		if (chance(16) == 0) /* one that finds nothing changed */
			wake(r, !makes, chance(2) ? 1 : HANDOFF_ALL, false);
		be_away_at_times(r, before);
	}
	return 0;
}

/* ---- Gone at once: objects in pages that are unmapped -------------------- */

static struct {
	_Atomic(union object *) object;
	_Atomic bool over;
	unsigned kind;
} gone;

static void *take_and_end(void *arg)
{
	const struct kind *kind = &kinds[gone.kind];
	union object *o;

	seed_chance(4711);
	while (!atomic_load(&gone.over)) {
		o = atomic_load(&gone.object);
		if (!o) {
			sched_yield();
			continue;
		}
		OK(kind->wait(o));
		OK(kind->destroy(o));
		drop_page(o);
		atomic_store(&gone.object, NULL);
	}
	return arg;
}

/* Who takes what was given may have the object vanish while the give goes on;
 * even ones give by a semaphore, odd ones by an event. */
static int part_goes(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	pthread_t thread;

	gone.kind = me % 2 ? AUTOMATIC : SEM;
	CHECK(pthread_create(&thread, NULL, take_and_end, NULL) == 0);
	while (!stops(r)) {
		union object *o = new_page();

		OK(kinds[gone.kind].init(o, r->wanted.policy, 0));
		atomic_store(&gone.object, o);
		if (chance(2))
			sleep_seconds(chance(200) / 1e6);
		OK(kinds[gone.kind].give(o));
		while (atomic_load(&gone.object))
			sched_yield();
		step(r, me);
	}
	atomic_store(&gone.over, true);
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

/* ---- The parent ---------------------------------------------------------- */

/* They stop, and whoever waits for another is let go. */
static void end_all(struct room *r, const char *part)
{
	atomic_store(&r->stop, 1);
	if (strcmp(part, "trade") == 0)
		for (unsigned i = 0; i < 2; i++)
			GIVES(handoff_sem_post(&r->sems[i], 2 * MOST), 0);
	if (strcmp(part, "ring") == 0)
		for (unsigned i = 0; i < MOST; i++)
			GIVES(handoff_event_set(&r->turns[i]), 0);
	if (strcmp(part, "word trade") == 0)
		for (unsigned i = 0; i < 2; i++) {
			word_add(&r->words[i], r->wanted.wide, 2 * MOST);
			wake(r, i, HANDOFF_ALL, false);
		}
}

/* How often somebody blocked at any of the objects. */
static uint64_t count_parks(const struct room *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < 2; i++) {
		n += statistics_of(&r->sems[i]).parks;
		n += statistics_of(&r->gates[i]).parks;
		n += statistics_of(&r->words[i]).parks;
	}
	for (unsigned i = 0; i < MOST; i++)
		n += statistics_of(&r->turns[i]).parks;
	return n;
}

static void run(const char *part, const struct wanted *wanted)
{
	struct room *r = make_room("stress", wanted);
	unsigned n = wanted->processes;
	struct process p[MOST];
	unsigned least;

	assert_non_null(r);
	start_jostled(p, n, part);
	least = watch_stress(&r->progress, 1, SECONDS, LEAST);
	end_all(r, part);
	for (unsigned i = 0; i < n; i++)
		GIVES(finish(&p[i]), 0);
	for (unsigned i = 0; i < n; i++)
		assert_true(atomic_load(&r->each[i]) > 0);
	if (wanted->policy == HANDOFF_WAIT_BLOCK && strcmp(part, "goes") != 0)
		assert_true(count_parks(r) >= least / 4);
	close_room(r, "stress");
}

/* Each test: part, processes, policy, pinned to one CPU or not, wide words or
 * not. */
#define TESTS(X)                                                          \
	X(six_that_adapt_trade, "trade", 6, ADAPTIVE, 0, 0)               \
	X(six_that_block_trade, "trade", 6, BLOCK, 0, 0)                  \
	X(four_that_block_trade_on_one_cpu, "trade", 4, BLOCK, 1, 0)      \
	X(a_crowd_that_adapts_takes, "crowd", 4, ADAPTIVE, 0, 0)          \
	X(a_crowd_that_blocks_takes, "crowd", 5, BLOCK, 0, 0)             \
	X(a_crowd_that_blocks_takes_on_one_cpu, "crowd", 4, BLOCK, 1, 0)  \
	X(six_that_adapt_lock_by_event, "event lock", 6, ADAPTIVE, 0, 0)  \
	X(six_that_block_lock_by_event, "event lock", 6, BLOCK, 0, 0)     \
	X(two_that_adapt_go_round, "ring", 2, ADAPTIVE, 0, 0)             \
	X(four_that_block_go_round, "ring", 4, BLOCK, 0, 0)               \
	X(four_that_adapt_meet_at_events, "events", 4, ADAPTIVE, 0, 0)    \
	X(five_that_block_meet_at_events, "events", 5, BLOCK, 0, 0)       \
	X(pulses_let_all_go_that_adapt, "pulse", 4, ADAPTIVE, 0, 0)       \
	X(pulses_let_all_go_that_block, "pulse", 5, BLOCK, 0, 0)          \
	X(six_that_adapt_lock_by_word, "word lock", 6, ADAPTIVE, 0, 1)    \
	X(six_that_block_lock_by_word, "word lock", 6, BLOCK, 0, 0)       \
	X(four_that_adapt_meet_at_word, "word", 4, ADAPTIVE, 0, 0)        \
	X(five_that_block_meet_at_word, "word", 5, BLOCK, 0, 1)           \
	X(six_that_adapt_trade_by_words, "word trade", 6, ADAPTIVE, 0, 1) \
	X(six_that_block_trade_by_words, "word trade", 6, BLOCK, 0, 0)    \
	X(four_pinned_trade_by_words, "word trade", 4, BLOCK, 1, 1)       \
	X(what_adapts_goes_at_once, "goes", 2, ADAPTIVE, 0, 0)            \
	X(what_blocks_goes_at_once, "goes", 2, BLOCK, 0, 0)

#define STRESS(test, part, processes, policy, pinned, wide)                   \
	static void test(void **state)                                        \
	{                                                                     \
		const struct wanted wanted = { HANDOFF_WAIT_##policy, pinned, \
			processes, wide };                                    \
                                                                              \
		(void)state;                                                  \
		run(part, &wanted);                                           \
	}

TESTS(STRESS)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "trade", part_trade },
		{ "crowd", part_crowd },
		{ "event lock", part_event_lock },
		{ "ring", part_ring },
		{ "events", part_meet_at_events },
		{ "pulse", part_pulse },
		{ "word lock", part_word_lock },
		{ "word", part_meet_at_word },
		{ "word trade", part_word_trade },
		{ "goes", part_goes },
	};
#define TEST(name, ...) cmocka_unit_test_teardown(name, processes_teardown),
	const struct CMUnitTest tests[] = { TESTS(TEST) };

	/* Each object says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts,
	    stress_watchdog(sizeof tests / sizeof *tests));
	return processes_end(
	    cmocka_run_group_tests_name("words_stress", tests, NULL, NULL));
}
