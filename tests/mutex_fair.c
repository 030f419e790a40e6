/* SPDX-License-Identifier: ISC */
/* A mutex that several processes want all the time: none of them starves. */
#define _GNU_SOURCE
#include "free.h"
#include "room.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#define MOST 3u     /* processes that compete */
#define TRIES 3     /* the machine may be loaded */
#define LONGEST 0.5 /* seconds of a wait */

struct room {
	handoff_mutex lock;
	_Atomic unsigned stop;
	_Atomic unsigned go;
	uint64_t busy;            /* ns for which rivals hold it */
	volatile unsigned turns;  /* protected by the lock, as what follows */
	volatile unsigned inside; /* who has it, plus 1 */
	volatile uint64_t each[MOST];
	volatile uint64_t longest[MOST]; /* ns */
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	return handoff_mutex_init(&((struct room *)memory)->lock, arg);
}

static struct room *make_kind(const char *name, unsigned flags, unsigned policy)
{
	struct handoff_mutex_attr attr = { sizeof attr, flags, policy, 0 };
	struct room *r = make_room(name, &attr);

	assert_non_null(r);
	return r;
}

/* ---- Fairness ---------------------------------------------------------- */

static void keep_busy(uint64_t ns)
{
	uint64_t end = handoff_after(ns);

	while (ns > 0 && handoff_now() < end)
		;
}

/* Locks and unlocks all the time; who dies may be one of the others. */
static int part_competes(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);

	say("ready");
	while (!atomic_load(&r->go))
		sched_yield();
	while (!atomic_load(&r->stop)) {
		uint64_t from = handoff_now();
		int e = handoff_mutex_lock(&r->lock);

		from = handoff_now() - from;
		if (e == EOWNERDEAD) {
			OK(handoff_mutex_consistent(&r->lock));
			r->inside = 0;
		} else {
			OK(e);
		}
		CHECK(r->inside == 0);
		r->inside = me + 1;
		r->each[me] = r->each[me] + 1;
		if (from > r->longest[me])
			r->longest[me] = from;
		keep_busy(r->busy);
		CHECK(r->inside == me + 1);
		r->inside = 0;
		OK(handoff_mutex_unlock(&r->lock));
	}
	return 0;
}

static struct process start_rival(const char *name, unsigned i)
{
	char arg[64];
	struct process p;

	snprintf(arg, sizeof arg, "%s:%u", name, i);
	p = start("competes", arg);
	expect(&p, "ready");
	return p;
}

/* Lets `n` processes compete; whether each had its share, of all that they
 * had, and nobody waited for too long. */
static int share(struct room *r, const char *name, unsigned n, double seconds,
    double least)
{
	struct process p[MOST];
	uint64_t sum = 0;
	int all = 1;

	atomic_store(&r->stop, 0);
	atomic_store(&r->go, 0);
	for (unsigned i = 0; i < n; i++) {
		r->each[i] = 0;
		r->longest[i] = 0;
		p[i] = start_rival(name, i);
	}
	atomic_store(&r->go, 1);
	sleep_seconds(seconds);
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(finish(&p[i]), 0);
		sum += r->each[i];
	}
	for (unsigned i = 0; i < n; i++) {
		double part = (double)r->each[i] / (double)(sum ? sum : 1);
		double longest = (double)r->longest[i] / 1e9;

		print_message("%s: %.0f %% of %llu, longest wait %.1f ms\n",
		    name, part * 100, (unsigned long long)sum, longest * 1e3);
		all = all && part >= least && longest < LONGEST;
	}
	return all;
}

/* Fails if that is not so in one of several tries. */
static void assert_shared(const char *name, unsigned flags, unsigned policy,
    uint64_t busy, unsigned n, double least)
{
	struct room *r = make_kind(name, flags, policy);
	int tries = 0;

	r->busy = busy;
	while (!share(r, name, n, 1, least))
		assert_true(++tries < TRIES);
	close_room(r, name);
}

static void two_in_tight_loops_share_it(void **state)
{
	(void)state;
	if (count_cpus() < 2)
		SKIP("there is one CPU, and who has it has the mutex");
	assert_shared("tight", 0, HANDOFF_WAIT_ADAPTIVE, 0, 2, 0.25);
}

/* Who has it has it nearly all the time. */
static void two_that_hold_it_for_long_share_it(void **state)
{
	(void)state;
	if (count_cpus() < 2)
		SKIP("there is one CPU, and who has it has the mutex");
	assert_shared("long", 0, HANDOFF_WAIT_ADAPTIVE, 300000, 2, 0.25);
	assert_shared("blocking", 0, HANDOFF_WAIT_BLOCK, 300000, 2, 0.25);
	assert_shared("recursive", HANDOFF_RECURSIVE, HANDOFF_WAIT_BLOCK, 20000,
	    2, 0.25);
}

static void each_of_three_gets_on(void **state)
{
	(void)state;
	if (count_cpus() < 2)
		SKIP("there is one CPU, and who has it has the mutex");
	assert_shared("three", 0, HANDOFF_WAIT_ADAPTIVE, 0, 3, 0.02);
	assert_shared("three_blocking", 0, HANDOFF_WAIT_BLOCK, 100000, 3, 0.1);
}

/* The third is killed again and again, wherever it is. */
static void two_get_on_while_a_third_is_killed(void **state)
{
	struct room *r = make_kind("killed", 0, 0);
	struct process p[2];

	(void)state;
	r->busy = 20000;
	for (unsigned i = 0; i < 2; i++)
		p[i] = start_rival("killed", i);
	atomic_store(&r->go, 1);
	for (int i = 0; i < 40; i++) {
		struct process q = start_rival("killed", 2);
		uint64_t before[2] = { r->each[0], r->each[1] };
		double end = seconds_now() + 5;

		sleep_seconds(0.004 + i % 5 / 2000.0);
		kill_hard(&q);
		while (r->each[0] == before[0] || r->each[1] == before[1]) {
			assert_true(seconds_now() < end);
			sleep_seconds(0.001);
		}
	}
	atomic_store(&r->stop, 1);
	assert_int_equal(finish(&p[0]), 0);
	assert_int_equal(finish(&p[1]), 0);
	print_message("%llu, %llu and %llu times\n",
	    (unsigned long long)r->each[0], (unsigned long long)r->each[1],
	    (unsigned long long)r->each[2]);
	close_room(r, "killed");
}

/* ---- A waiter that has waited for long --------------------------------- */

/* Counts how often it has had it. */
static int part_locker(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	say("locks");
	OK(handoff_mutex_lock(&r->lock));
	r->turns = r->turns + 1;
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

static struct process start_waiting_locker(const char *name)
{
	struct process p = start("locker", name);

	expect(&p, "locks");
	sleep_seconds(0.06);
	return p;
}

/* How often of ten the waiter had it before the owner had it again. */
static int count_turns(struct room *r, const char *name)
{
	int n = 0;

	for (int i = 0; i < 10; i++) {
		struct process p;

		assert_int_equal(handoff_mutex_lock(&r->lock), 0);
		r->turns = 0;
		p = start_waiting_locker(name);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		assert_int_equal(handoff_mutex_lock_until(&r->lock, soon(5)),
		    0);
		n += r->turns == 1;
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		assert_int_equal(finish(&p), 0);
		assert_int_equal(r->turns, 1);
	}
	return n;
}

static void an_owner_cannot_have_it_again_at_once(void **state)
{
	struct room *r = make_kind("turn", 0, 0);
	int n = 0;

	(void)state;
	for (int tries = 0; tries < TRIES && n < 5; tries++) {
		n = count_turns(r, "turn");
		print_message("%d of 10 times the waiter came next\n", n);
	}
	assert_true(n >= 5);
	close_room(r, "turn");
}

static void what_a_killed_waiter_had_reserved_lapses(void **state)
{
	struct room *r = make_kind("lapse", 0, 0);

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct process p;
		double end;
		int e = EBUSY;

		assert_int_equal(handoff_mutex_lock(&r->lock), 0);
		p = start_waiting_locker("lapse");
		kill_hard(&p);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		end = seconds_now() + 1;
		if (i % 3 == 0) {
			while ((e = handoff_mutex_trylock(&r->lock)) == EBUSY &&
			    seconds_now() < end)
				sleep_seconds(0.0002);
		} else if (i % 3 == 1) {
			e = handoff_mutex_lock_until(&r->lock, soon(1));
		} else {
			assert_free("lapse");
			e = handoff_mutex_lock(&r->lock);
		}
		assert_int_equal(e, 0);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	}
	assert_int_equal(r->turns, 0);
	/* Nothing is left of it for those who come later. */
	assert_int_equal(handoff_mutex_trylock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	close_room(r, "lapse");
}

static void an_unfair_one_excludes_all_the_same(void **state)
{
	struct room *r = make_kind("unfair", HANDOFF_UNFAIR, 0);

	(void)state;
	r->busy = 0;
	(void)share(r, "unfair", 3, 0.5, 0);
	assert_true(r->each[0] + r->each[1] + r->each[2] > 100);
	assert_free("unfair");
	close_room(r, "unfair");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "taker", part_taker },
		{ "competes", part_competes },
		{ "locker", part_locker },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_in_tight_loops_share_it),
		TEST(two_that_hold_it_for_long_share_it),
		TEST(each_of_three_gets_on),
		TEST(two_get_on_while_a_third_is_killed),
		TEST(an_owner_cannot_have_it_again_at_once),
		TEST(what_a_killed_waiter_had_reserved_lapses),
		TEST(an_unfair_one_excludes_all_the_same),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(
	    cmocka_run_group_tests_name("mutex_fair", tests, NULL, NULL));
}
