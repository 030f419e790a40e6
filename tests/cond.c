/* SPDX-License-Identifier: ISC */
/* The condition, between processes: what handoff_cond(3) says. */
#define _GNU_SOURCE
#include "room.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define MS 1000000u
#define SECOND 1000000000u

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	handoff_mutex lock;
	handoff_cond changed[2];
	/* Protected by `lock`, but looked at without it too. */
	_Atomic unsigned waiting; /* wait, or are about to and hold the lock */
	_Atomic unsigned tokens[2];
	_Atomic unsigned returned;
	_Atomic unsigned turn;
	_Atomic unsigned stop;
	_Atomic unsigned rounds;
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct handoff_cond_attr *attr = arg;
	struct room *r = memory;
	int e = handoff_mutex_init(&r->lock, NULL);

	(void)bytes;
	if (e == 0)
		e = handoff_cond_init(&r->changed[0], attr);
	return e != 0 ? e : handoff_cond_init(&r->changed[1], attr);
}

/* open_room, for waiters that wait in that way. */
static struct room *open_with(const char *name, unsigned policy)
{
	struct handoff_cond_attr attr = { sizeof attr, 0, policy,
		policy == HANDOFF_WAIT_SPIN ? SECOND : 0 };
	struct room *r = make_room(name, &attr);

	assert_non_null(r);
	return r;
}

static struct process start_at(const char *part, const char *name,
    unsigned number)
{
	char arg[80];

	snprintf(arg, sizeof arg, "%s:%u", name, number);
	return start(part, arg);
}

/* Until `n` wait, of which the last may still be on its way to its sleep. */
static void until_waiting(struct room *r, unsigned n)
{
	double end = seconds_now() + 10;

	while (atomic_load(&r->waiting) != n) {
		assert_true(seconds_now() < end);
		sleep_seconds(0.001);
	}
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
}

/* ---- Waiters -------------------------------------------------------------------- */

/* Waits, with the lock held, until it can take a token of that kind. */
static void take(struct room *r, unsigned kind)
{
	atomic_fetch_add(&r->waiting, 1);
	while (atomic_load(&r->tokens[kind]) == 0)
		OK(handoff_cond_wait(&r->changed[kind], &r->lock));
	atomic_fetch_sub(&r->tokens[kind], 1);
	atomic_fetch_sub(&r->waiting, 1);
}

static int part_waiter(const char *arg)
{
	unsigned kind;
	struct room *r = join_room(arg, &kind);

	OK(handoff_mutex_lock(&r->lock));
	take(r, kind);
	OK(handoff_mutex_unlock(&r->lock));
	say("woke");
	return 0;
}

/* Waits a single time, whatever it is that ends the wait. */
static int part_once(const char *arg)
{
	unsigned kind;
	struct room *r = join_room(arg, &kind);

	OK(handoff_mutex_lock(&r->lock));
	atomic_fetch_add(&r->waiting, 1);
	OK(handoff_cond_wait(&r->changed[kind], &r->lock));
	atomic_fetch_add(&r->returned, 1);
	atomic_fetch_sub(&r->waiting, 1);
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

/* ---- Ping-pong --------------------------------------------------------------------- */

static void play(handoff_mutex *m, handoff_cond *c, struct room *r, unsigned me)
{
	say("ready");
	await("go");
	OK(handoff_mutex_lock(m));
	while (!atomic_load(&r->stop)) {
		if (atomic_load(&r->turn) != me) {
			OK(handoff_cond_wait(c, m));
			continue;
		}
		atomic_store(&r->turn, !me);
		atomic_fetch_add(&r->rounds, 1);
		OK(handoff_cond_signal(c));
	}
	OK(handoff_cond_signal(c));
	OK(handoff_mutex_unlock(m));
}

static int part_together(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);

	play(&r->lock, &r->changed[0], r, me);
	return 0;
}

/* Mutex and condition under names of their own. */
static int part_apart(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	handoff_mutex *m;
	handoff_cond *c;

	OK(handoff_mutex_open(&m, "the.mutex", HANDOFF_CREATE, 0600, NULL));
	OK(handoff_cond_open(&c, "the.cond", HANDOFF_CREATE, 0600, NULL));
	play(m, c, r, me);
	OK(handoff_close(m));
	OK(handoff_close(c));
	return 0;
}

/* The mutex of another segment than the condition. */
static int part_across(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	unsigned n;
	struct room *other = join_room("other", &n);

	play(&other->lock, &r->changed[0], r, me);
	return 0;
}

static void ping_pong(const char *part)
{
	struct room *r = open_with("ping", HANDOFF_WAIT_ADAPTIVE);
	struct process p[2];

	for (unsigned i = 0; i < 2; i++) {
		p[i] = start_at(part, "ping", i);
		expect(&p[i], "ready");
	}
	tell(&p[0], "go");
	tell(&p[1], "go");
	sleep_seconds(1);
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(finish(&p[i]), 0);
	print_message("%u turns\n", atomic_load(&r->rounds));
	assert_true(atomic_load(&r->rounds) > 50);
	close_room(r, "ping");
}

static void two_processes_take_turns_in_one_segment(void **state)
{
	(void)state;
	ping_pong("together");
}

static void two_processes_take_turns_by_names(void **state)
{
	(void)state;
	ping_pong("apart");
	assert_int_equal(unlink_name("the.mutex"), 0);
	assert_int_equal(unlink_name("the.cond"), 0);
}

static void the_mutex_may_lie_in_another_segment(void **state)
{
	(void)state;
	ping_pong("across");
	assert_int_equal(unlink_name("other"), 0);
}

/* ---- Signal and broadcast -------------------------------------------------------------- */

enum how { HELD, NAKED };

/* Gives `n` tokens, and the signals or the broadcast for them. */
static void give(struct room *r, unsigned kind, unsigned n, bool all,
    enum how how)
{
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	atomic_fetch_add(&r->tokens[kind], n);
	if (how == NAKED)
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	if (all)
		assert_int_equal(handoff_cond_broadcast(&r->changed[kind]), 0);
	for (unsigned i = 0; i < n && !all; i++)
		assert_int_equal(handoff_cond_signal(&r->changed[kind]), 0);
	if (how == HELD)
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
}

/* `n` waiters are woken one after the other, then again all at once. */
static void signal_them(unsigned policy, enum how how)
{
	struct room *r = open_with("them", policy);
	struct process p[3];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 3; i++)
			p[i] = start("waiter", "them");
		until_waiting(r, 3);
		/* Parked by now, or in the middle of spinning. */
		sleep_seconds(0.1);
		if (round == 0)
			for (unsigned i = 3; i-- > 0;) {
				give(r, 0, 1, false, how);
				until_waiting(r, i);
			}
		else
			give(r, 0, 3, round == 1, how);
		for (unsigned i = 0; i < 3; i++) {
			expect(&p[i], "woke");
			assert_int_equal(finish(&p[i]), 0);
		}
	}
	close_room(r, "them");
}

static void signals_of_a_holder_wake_the_parked(void **state)
{
	(void)state;
	signal_them(HANDOFF_WAIT_BLOCK, HELD);
}

static void signals_without_the_mutex_wake_the_parked(void **state)
{
	(void)state;
	signal_them(HANDOFF_WAIT_BLOCK, NAKED);
}

static void signals_of_a_holder_wake_those_who_spin(void **state)
{
	(void)state;
	signal_them(HANDOFF_WAIT_SPIN, HELD);
}

static void signals_without_the_mutex_wake_those_who_spin(void **state)
{
	(void)state;
	signal_them(HANDOFF_WAIT_SPIN, NAKED);
}

static void one_signal_ends_one_wait(enum how how)
{
	int attempts = 0;
	unsigned returned;

	/* One whose slice ends between a wake and its taking may return too:
	 * so one more is borne with, but not always. */
	do {
		struct room *r = open_with("one", HANDOFF_WAIT_BLOCK);
		struct process p[6];

		for (unsigned i = 0; i < 6; i++)
			p[i] = start("once", "one");
		until_waiting(r, 6);
		sleep_seconds(0.4);
		assert_int_equal(atomic_load(&r->returned), 0);
		give(r, 0, 1, false, how);
		sleep_seconds(3);
		returned = atomic_load(&r->returned);
		assert_true(returned >= 1 && returned <= 2);
		assert_int_equal(handoff_cond_broadcast(&r->changed[0]), 0);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(finish(&p[i]), 0);
		close_room(r, "one");
	} while (returned != 1 && ++attempts < 3);
	assert_int_equal(returned, 1);
}

static void a_signal_of_a_holder_ends_one_wait_of_six(void **state)
{
	(void)state;
	one_signal_ends_one_wait(HELD);
}

static void a_signal_without_the_mutex_ends_one_wait_of_six(void **state)
{
	(void)state;
	one_signal_ends_one_wait(NAKED);
}

#define THREADS 25
#define CROWDS 4

static void *one_of_a_crowd(void *arg)
{
	struct room *r = arg;

	OK(handoff_mutex_lock(&r->lock));
	take(r, 0);
	atomic_fetch_add(&r->returned, 1);
	OK(handoff_mutex_unlock(&r->lock));
	return NULL;
}

static int part_crowd(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(
		    pthread_create(&threads[i], NULL, one_of_a_crowd, r) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

static void one_broadcast_ends_a_hundred_waits(void **state)
{
	struct room *r = open_with("crowd", HANDOFF_WAIT_ADAPTIVE);
	struct process p[CROWDS];

	(void)state;
	for (int how = HELD; how <= NAKED; how++) {
		for (unsigned i = 0; i < CROWDS; i++)
			p[i] = start("crowd", "crowd");
		until_waiting(r, THREADS * CROWDS);
		sleep_seconds(0.2);
		give(r, 0, THREADS * CROWDS, true, (enum how)how);
		for (unsigned i = 0; i < CROWDS; i++)
			assert_int_equal(finish(&p[i]), 0);
		assert_int_equal(atomic_exchange(&r->returned, 0),
		    THREADS * CROWDS);
	}
	close_room(r, "crowd");
}

/* ---- Two conditions of one mutex ---------------------------------------------------------- */

/* Signals for the other condition do not end the wait, nor do they use up the
 * one that does. */
static void two_conditions(unsigned policy)
{
	struct room *r = open_with("two", policy);
	struct process p[2];

	for (int how = HELD; how <= NAKED; how++)
		for (unsigned others = 0; others < 4; others++) {
			p[0] = start_at("waiter", "two", 0);
			p[1] = start_at("waiter", "two", 1);
			until_waiting(r, 2);
			give(r, 1, 1, false, (enum how)how);
			expect(&p[1], "woke");
			assert_int_equal(finish(&p[1]), 0);
			for (unsigned i = 0; i < others; i++)
				assert_int_equal(handoff_cond_signal(
				                     &r->changed[1]),
				    0);
			assert_false(says_within(&p[0], 0.05));
			give(r, 0, 1, false, (enum how)how);
			expect(&p[0], "woke");
			assert_int_equal(finish(&p[0]), 0);
		}
	close_room(r, "two");
}

static void two_conditions_of_a_mutex_do_not_mix_while_parked(void **state)
{
	(void)state;
	two_conditions(HANDOFF_WAIT_BLOCK);
}

static void two_conditions_of_a_mutex_do_not_mix_while_spinning(void **state)
{
	(void)state;
	two_conditions(HANDOFF_WAIT_SPIN);
}

/* Both signalled by one holder, in both orders, with more of either kind. */
static void a_holder_signals_two_conditions_at_once(void **state)
{
	struct room *r = open_with("both", HANDOFF_WAIT_ADAPTIVE);

	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		unsigned first = round & 1;
		struct process p[4];

		for (unsigned i = 0; i < 4; i++)
			p[i] = start_at("waiter", "both", i & 1);
		until_waiting(r, 4);
		if (round & 2)
			sleep_seconds(0.05);
		assert_int_equal(handoff_mutex_lock(&r->lock), 0);
		atomic_store(&r->tokens[0], 2);
		atomic_store(&r->tokens[1], 2);
		handoff_cond_signal(&r->changed[first]);
		handoff_cond_signal(&r->changed[!first]);
		if (round & 4) {
			handoff_cond_broadcast(&r->changed[first]);
			handoff_cond_broadcast(&r->changed[!first]);
		} else {
			handoff_cond_signal(&r->changed[first]);
			handoff_cond_signal(&r->changed[!first]);
		}
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		for (unsigned i = 0; i < 4; i++) {
			expect(&p[i], "woke");
			assert_int_equal(finish(&p[i]), 0);
		}
	}
	close_room(r, "both");
}

/* ---- Deadlines, and what is refused ---------------------------------------------------------- */

/* Holds the lock for a while, again and again. */
static int part_hinder(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	say("ready");
	while (!atomic_load(&r->stop)) {
		OK(handoff_mutex_lock(&r->lock));
		sleep_seconds(0.005);
		OK(handoff_mutex_unlock(&r->lock));
		sleep_seconds(0.001);
	}
	return 0;
}

static int part_finds_it_held(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	RESULT(handoff_mutex_trylock(&r->lock), EBUSY);
	return 0;
}

/* Deadlines in the past, a moment ahead, and some time ahead. */
static void time_out(struct room *r)
{
	static const uint64_t past[] = { 0, 1, SECOND };
	static const uint64_t ahead[] = { 0, 1, 1000, 50 * MS };

	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(handoff_cond_wait_until(&r->changed[0],
		                     &r->lock, past[i]),
		    ETIMEDOUT);
	for (size_t i = 0; i < 4; i++) {
		uint64_t until = handoff_after(ahead[i]);

		assert_int_equal(handoff_cond_wait_until(&r->changed[0],
		                     &r->lock, until),
		    ETIMEDOUT);
		assert_true(handoff_now() >= until);
		assert_true(handoff_now() < until + 5ull * SECOND);
		assert_int_equal(handoff_mutex_trylock(&r->lock), EBUSY);
	}
}

static void a_wait_that_times_out_returns_with_the_mutex_held(void **state)
{
	(void)state;
	for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK; policy++) {
		struct room *r = open_with("late", policy);
		struct process p;

		time_out(r);
		p = start("finds it held", "late");
		assert_int_equal(finish(&p), 0);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		p = start("hinder", "late");
		expect(&p, "ready");
		time_out(r);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		atomic_store(&r->stop, 1);
		assert_int_equal(finish(&p), 0);
		close_room(r, "late");
	}
}

static void waiting_without_the_mutex_is_refused(void **state)
{
	struct room *r = open_with("without", HANDOFF_WAIT_ADAPTIVE);
	struct room *other = open_with("without.other", HANDOFF_WAIT_ADAPTIVE);
	double from = seconds_now();

	(void)state;
	assert_int_equal(handoff_cond_wait(&r->changed[0], &r->lock), EPERM);
	assert_int_equal(handoff_cond_wait_until(&r->changed[0], &r->lock, 0),
	    EPERM);
	assert_int_equal(handoff_mutex_lock(&other->lock), 0);
	assert_int_equal(handoff_cond_wait(&r->changed[0], &r->lock), EPERM);
	assert_int_equal(handoff_mutex_unlock(&other->lock), 0);
	assert_true(seconds_now() - from < 5);
	close_room(other, "without.other");
	close_room(r, "without");
}

static void refused(handoff_cond *c, handoff_mutex *m)
{
	assert_int_equal(handoff_cond_wait(c, m), EINVAL);
	assert_int_equal(handoff_cond_wait_until(c, m, 0), EINVAL);
	assert_int_equal(handoff_cond_signal(c), EINVAL);
	assert_int_equal(handoff_cond_broadcast(c), EINVAL);
	assert_int_equal(handoff_cond_destroy(c), EINVAL);
}

static void what_is_no_condition_is_refused(void **state)
{
	struct room *r = open_with("none", HANDOFF_WAIT_ADAPTIVE);
	handoff_mutex zero = { { 0 } };
	handoff_cond c = { { 0 } };

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	refused(NULL, &r->lock);
	refused(&c, &r->lock);
	refused((handoff_cond *)&r->lock, &r->lock);
	assert_int_equal(handoff_cond_init(&c, NULL), 0);
	assert_int_equal(handoff_cond_wait(&c, NULL), EINVAL);
	assert_int_equal(handoff_cond_wait(&c, &zero), EINVAL);
	assert_int_equal(handoff_cond_wait(&c, (handoff_mutex *)&c), EINVAL);
	assert_int_equal(handoff_cond_destroy(&c), 0);
	refused(&c, &r->lock);
	assert_int_equal(handoff_mutex_trylock(&r->lock), EBUSY);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	close_room(r, "none");
}

static void bad_attributes_are_refused_and_leave_nothing(void **state)
{
	static const struct handoff_cond_attr bad[] = {
		{ 0, 0, 0, 0 },
		{ sizeof bad[0] + 8, 0, 0, 0 },
		{ sizeof bad[0], 1, 0, 0 },
		{ sizeof bad[0], 0, 4, 0 },
		{ sizeof bad[0], 0, 0, UINT64_MAX },
	};
	handoff_cond c[2];
	handoff_cond *named;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(handoff_cond_init(c, &bad[i]), EINVAL);
		assert_int_equal(handoff_cond_open(&named, "bad",
		                     HANDOFF_CREATE, 0600, &bad[i]),
		    EINVAL);
		assert_null(named);
	}
	assert_int_equal(handoff_cond_init(NULL, NULL), EINVAL);
	assert_int_equal(handoff_cond_init((handoff_cond *)(void *)(c->opaque +
	                                       8),
	                     NULL),
	    EINVAL);
	assert_int_equal(handoff_cond_open(NULL, "bad", HANDOFF_CREATE, 0600,
	                     NULL),
	    EINVAL);
	assert_int_equal(handoff_cond_open(&named, "bad", 0, 0, NULL), ENOENT);
	assert_int_equal(count_names(), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "waiter", part_waiter },
		{ "once", part_once },
		{ "together", part_together },
		{ "apart", part_apart },
		{ "across", part_across },
		{ "crowd", part_crowd },
		{ "hinder", part_hinder },
		{ "finds it held", part_finds_it_held },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_processes_take_turns_in_one_segment),
		TEST(two_processes_take_turns_by_names),
		TEST(the_mutex_may_lie_in_another_segment),
		TEST(signals_of_a_holder_wake_the_parked),
		TEST(signals_without_the_mutex_wake_the_parked),
		TEST(signals_of_a_holder_wake_those_who_spin),
		TEST(signals_without_the_mutex_wake_those_who_spin),
		TEST(a_signal_of_a_holder_ends_one_wait_of_six),
		TEST(a_signal_without_the_mutex_ends_one_wait_of_six),
		TEST(one_broadcast_ends_a_hundred_waits),
		TEST(two_conditions_of_a_mutex_do_not_mix_while_parked),
		TEST(two_conditions_of_a_mutex_do_not_mix_while_spinning),
		TEST(a_holder_signals_two_conditions_at_once),
		TEST(a_wait_that_times_out_returns_with_the_mutex_held),
		TEST(waiting_without_the_mutex_is_refused),
		TEST(what_is_no_condition_is_refused),
		TEST(bad_attributes_are_refused_and_leave_nothing),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("cond", tests, NULL, NULL));
}
