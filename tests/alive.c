/* SPDX-License-Identifier: ISC */
/*
 * handoff_mutex(3), handoff_cond(3): owners that only look dead are not
 * robbed, and waiters that die hold up nobody.
 */
#define _GNU_SOURCE
#include "lockers.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "named.h"

#define CREATE HANDOFF_CREATE

/* ---- Waiters that die -------------------------------------------------- */

/* G05, G09: whichever of three is killed, before or after it was woken. */
static void the_others_go_on_when_a_waiter_is_killed(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		struct process w[3];
		double since;

		assert_int_equal(handoff_mutex_lock(m), 0);
		for (size_t k = 0; k < 3; k++) {
			w[k] = start_locker("lock");
			sleep_seconds(0.02);
		}
		/* Stopped, it gets the wake and does nothing with it. */
		stop_process(&w[i % 3]);
		if (i >= 6)
			kill_hard(&w[i % 3]);
		since = seconds_now();
		assert_int_equal(handoff_mutex_unlock(m), 0);
		if (i < 6)
			kill_hard(&w[i % 3]);
		for (size_t k = 0; k < 2; k++) {
			struct process *a = &w[(i + 1) % 3];
			struct process *b = &w[(i + 2) % 3];
			struct process *one = a->pid &&
			        (!b->pid || says_within(a, 0.2)) ?
			    a :
			    b;

			expect_lock(one, "0", since, NULL);
			let_go(one);
			since = seconds_now();
		}
		assert_free(m);
	}
	end_m(m);
}

/* G05: woken and stopped, it keeps nobody out. */
static void a_stopped_waiter_keeps_nobody_out(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);
	struct process w[2];

	(void)state;
	assert_int_equal(handoff_mutex_lock(m), 0);
	w[0] = start_locker("lock");
	sleep_seconds(0.05);
	w[1] = start_locker("lock");
	sleep_seconds(0.05);
	stop_process(&w[0]);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	expect_lock(&w[1], "0", seconds_now(), "beside a stopped one");
	let_go(&w[1]);
	assert_free(m);
	continue_process(&w[0]);
	expect_lock(&w[0], "0", seconds_now(), NULL);
	let_go(&w[0]);
	end_m(m);
}

/* G09: the mark survives a recovery. */
static void a_recovery_keeps_the_mark_of_other_waiters(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct process grabber;
		struct process w1;
		struct process w3;
		double since;
		int first;

		assert_int_equal(handoff_mutex_lock(m), 0);
		w1 = start_locker("lock");
		w3 = start_locker("lock");
		sleep_seconds(0.03);
		stop_process(&w1);
		stop_process(&w3);
		assert_int_equal(handoff_mutex_unlock(m), 0);
		grabber = start_holder();
		since = seconds_now();
		kill_hard(&grabber);
		continue_process(&w1);
		continue_process(&w3);
		first = says_within(&w1, 0.3);
		expect_lock(first ? &w1 : &w3, "EOWNERDEAD", since, NULL);
		let_go(first ? &w1 : &w3);
		expect_lock(first ? &w3 : &w1, "0", seconds_now(), NULL);
		let_go(first ? &w3 : &w1);
	}
	end_m(m);
}

/* ---- Owners that look dead --------------------------------------------- */

/* G45 */
static void a_stopped_owner_is_not_robbed(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process owner = start_holder();
	struct process waiter = start_locker("lock");

	(void)state;
	stop_process(&owner);
	assert_not_robbed(m, 2);
	assert_int_equal(says_within(&waiter, 0), 0);
	tell(&owner, "unlock");
	assert_int_equal(says_within(&waiter, 0.3), 0);
	continue_process(&owner);
	expect_lock(&waiter, "0", seconds_now(), "after SIGCONT");
	assert_int_equal(finish(&owner), 0);
	let_go(&waiter);
	assert_free(m);
	end_m(m);
}

/* ---- Conditions, and everything ---------------------------------------- */

static void lock_anyhow(handoff_mutex *m)
{
	int e = handoff_mutex_lock_until(m, soon(2));

	CHECK(e == 0 || e == EOWNERDEAD);
	if (e == EOWNERDEAD)
		OK(handoff_mutex_consistent(m));
}

/* Waits for a signal, again and again, until it is killed. */
static int wait_for_ever(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	(void)unused;
	say("begin");
	for (;;) {
		int e;

		lock_anyhow(m);
		e = handoff_cond_wait(c, m);
		CHECK(e == 0 || e == EOWNERDEAD);
		if (e == EOWNERDEAD)
			OK(handoff_mutex_consistent(m));
		OK(handoff_mutex_unlock(m));
	}
	return 0;
}

/* Waits once each time it is told to. */
static int wait_when_told(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	(void)unused;
	for (;;) {
		say("ready");
		await("wait");
		lock_anyhow(m);
		say("waiting");
		OK(handoff_cond_wait_until(c, m, soon(10)));
		OK(handoff_mutex_unlock(m));
	}
	return 0;
}

/* What one who signals does, under or without the mutex; within a second. */
static void notify(handoff_mutex *m, handoff_cond *c, unsigned how)
{
	double before = seconds_now();

	if (how & 1)
		lock_anyhow(m);
	assert_int_equal(how & 2 ? handoff_cond_broadcast(c) :
	                           handoff_cond_signal(c),
	    0);
	if (how & 1)
		assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_true(seconds_now() - before < 1);
}

/* G06 */
static void a_killed_waiter_of_a_condition_harms_nobody(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	handoff_cond *c = open_c();
	struct process other = start("wait_when_told", NULL);

	(void)state;
	srand(4);
	for (unsigned i = 0; i < 200; i++) {
		struct process p = start("wait_for_ever", NULL);

		expect(&p, "begin");
		sleep_seconds(rand() % 2000 / 1e6);
		if (i % 3 == 0)
			notify(m, c, i);
		kill_hard(&p);
		for (unsigned k = 0; k < 3; k++)
			notify(m, c, i);
		expect(&other, "ready");
		tell(&other, "wait");
		expect(&other, "waiting");
		lock_anyhow(m); /* now it waits */
		assert_int_equal(handoff_mutex_unlock(m), 0);
		notify(m, c, i);
		assert_int_equal(says_within(&other, 2), 1);
	}
	kill_hard(&other);
	assert_int_equal(handoff_close(c), 0);
	assert_int_equal(unlink_name("c"), 0);
	end_m(m);
}

/* A bit of everything; no call takes longer than 2 s. */
static int busy(const char *seed)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	srand((unsigned)atoi(seed));
	say("begin");
	for (;;) {
		double before = seconds_now();
		int what = rand();

		lock_anyhow(m);
		if (what % 4 == 0) {
			int e = handoff_cond_wait_until(c, m, soon(0.001));

			CHECK(e == 0 || e == ETIMEDOUT || e == EOWNERDEAD);
			if (e == EOWNERDEAD)
				OK(handoff_mutex_consistent(m));
		}
		if (what % 3)
			OK(handoff_cond_signal(c));
		OK(handoff_mutex_unlock(m));
		if (what % 5 == 0)
			OK(handoff_cond_broadcast(c));
		if (what % 16 == 0) {
			handoff_mutex *extra;

			OK(handoff_close(m));
			OK(handoff_close(c));
			OK(handoff_mutex_open(&extra, "extra", CREATE, 0600,
			    NULL));
			OK(handoff_close(extra));
			if (what % 64 == 0)
				unlink_name("extra");
			m = open_m();
			c = open_c();
		}
		CHECK(seconds_now() - before < 4);
	}
	return 0;
}

/* G03: nothing of the library's own is left locked or torn. */
static void a_storm_of_kills_stops_nobody(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	handoff_cond *c = open_c();
	struct process p[4];

	(void)state;
	for (unsigned i = 0; i < 4 + STARTS; i++) {
		char seed[16];
		double before;

		if (i >= 4)
			kill_hard(&p[i % 4]);
		snprintf(seed, sizeof seed, "%u", i);
		p[i % 4] = start("busy", seed);
		expect(&p[i % 4], "begin");
		sleep_seconds(rand() % 4000 / 1e6);
		before = seconds_now();
		lock_anyhow(m);
		assert_int_equal(handoff_cond_signal(c), 0);
		assert_int_equal(handoff_mutex_unlock(m), 0);
		assert_true(seconds_now() - before < 2);
	}
	for (unsigned i = 0; i < 4; i++)
		kill_hard(&p[i]);
	lock_anyhow(m);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_free(m);
	unlink_name("extra");
	assert_int_equal(handoff_close(c), 0);
	assert_int_equal(unlink_name("c"), 0);
	end_m(m);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "holder", holder },
		{ "locker", locker },
		{ "wait_for_ever", wait_for_ever },
		{ "wait_when_told", wait_when_told },
		{ "busy", busy },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_others_go_on_when_a_waiter_is_killed),
		TEST(a_stopped_waiter_keeps_nobody_out),
		TEST(a_recovery_keeps_the_mark_of_other_waiters),
		TEST(a_stopped_owner_is_not_robbed),
		TEST(a_killed_waiter_of_a_condition_harms_nobody),
		TEST(a_storm_of_kills_stops_nobody),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
