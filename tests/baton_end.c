/* SPDX-License-Identifier: ISC */
/* The baton's parties that end, and its own beginning and end. */
#define _GNU_SOURCE
#include "still.h"
#include "turns.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- Deaths -------------------------------------------------------------- */

/* Which of them says anything first; all together within TOLD. */
static unsigned first_to_say(struct process *p, unsigned n)
{
	double until = seconds_now() + TOLD;

	while (seconds_now() < until)
		for (unsigned i = 0; i < n; i++)
			if (says_within(&p[i], 0.005))
				return i;
	fail_msg("nobody has the turn");
	return 0;
}

/* Party 0 is p[0] and has the turn; it goes, and of three who wait one is
 * told.  That one passes to a new party 0, and so the others come. */
static void go_with_the_turn(const char *name, int kills)
{
	struct room *r = make_baton(name, 4);
	struct process p[4];
	char arg[64];
	unsigned told;
	double from;

	for (unsigned i = 0; i < 4; i++) {
		snprintf(arg, sizeof arg, "%s:%u", name, i);
		p[i] = start_party(arg);
		settle(p[i].pid);
	}
	says(&p[0], 0);
	from = seconds_now();
	if (kills) {
		kill_hard(&p[0]);
	} else {
		tell(&p[0], "pass"); /* to itself */
		expect(&p[0], "passed");
		end(&p[0]);
	}
	told = 1 + first_to_say(p + 1, 3);
	says(&p[told], EOWNERDEAD);
	print_message("told after %.0f ms\n", (seconds_now() - from) * 1e3);
	assert_turn(r, told);
	/* We are party 0 now. */
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, 0), ETIMEDOUT);
	for (unsigned i = 1; i < 4; i++)
		assert_false(says_within(&p[i], 0.2));
	pass_and_end(&p[told]);
	for (unsigned i = 1; i < 4; i++) {
		if (i == told)
			continue;
		assert_int_equal(handoff_baton_wait_until(&r->baton, 0,
		                     soon(TOLD)),
		    0);
		assert_int_equal(handoff_baton_pass(&r->baton, i), 0);
		says(&p[i], 0);
		pass_and_end(&p[i]);
	}
	close_room(r, name);
}

static void one_waiter_is_told_of_a_dead_holder(void **state)
{
	(void)state;
	go_with_the_turn("killed", 1);
	go_with_the_turn("ended", 0);
}

/* Party 1 dies with the turn; each way to wait tells party 0. */
static void every_wait_tells_of_a_dead_holder(void **state)
{
	static const char *const ways[] = { "wait", "until", "try", "switch" };
	struct room *r = make_baton("ways", 2);
	struct process p;

	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		double until;
		int e = EBUSY;

		assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
		p = start_party("ways:1");
		settle(p.pid);
		if (way < 3) {
			assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
			says(&p, 0);
		}
		kill_hard(&p);
		until = seconds_now() + TOLD;
		if (way == 0)
			e = handoff_baton_wait(&r->baton, 0);
		else if (way == 1)
			e = handoff_baton_wait_until(&r->baton, 0, soon(TOLD));
		else if (way == 3) /* it is dead when it gets it */
			e = handoff_baton_switch_until(&r->baton, 0, 1,
			    soon(TOLD));
		while (e == EBUSY && seconds_now() < until)
			e = handoff_baton_trywait(&r->baton, 0);
		print_message("%s\n", ways[way]);
		assert_int_equal(e, EOWNERDEAD);
		assert_turn(r, 0);
		/* Told once. */
		assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	}
	close_room(r, "ways");
}

/* The turn was not the dead one's: nobody is told, another takes its place. */
static void a_dead_party_is_replaced(void **state)
{
	struct room *r = make_baton("replace", 3);
	struct process p;

	(void)state;
	assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	for (unsigned i = 0; i < 5; i++) {
		p = start_party("replace:1");
		settle(p.pid);
		kill_hard(&p);
		p = start_party("replace:1");
		settle(p.pid);
		assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
		says(&p, 0);
		pass_and_end(&p);
		assert_int_equal(handoff_baton_wait_until(&r->baton, 0,
		                     soon(TOLD)),
		    0);
	}
	close_room(r, "replace");
}

/* The turn was the dead one's: who takes its place is told. */
static void who_replaces_a_dead_holder_is_told(void **state)
{
	struct room *r = make_baton("heir", 2);
	struct process p;

	(void)state;
	assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	p = start_party("heir:1");
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	says(&p, 0);
	kill_hard(&p);
	p = start_party("heir:1");
	says(&p, EOWNERDEAD);
	pass_and_end(&p);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, soon(TOLD)), 0);
	close_room(r, "heir");
}

/* A waiter's death harms nobody, also not one with whom it shared a mark. */
static void a_killed_waiter_harms_nobody(void **state)
{
	struct room *r = make_baton("waiter", 64);
	struct process p[3];

	(void)state;
	assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	for (unsigned i = 0; i < 10; i++) {
		p[0] = start_party("waiter:7");
		p[1] = start_party("waiter:39");
		p[2] = start_party("waiter:8");
		for (unsigned k = 0; k < 3; k++)
			settle(p[k].pid);
		kill_hard(&p[i % 3]);
		for (unsigned k = 0; k < 3; k++) {
			static const uint32_t number[] = { 7, 39, 8 };

			if (k == i % 3)
				continue;
			assert_int_equal(handoff_baton_pass(&r->baton,
			                     number[k]),
			    0);
			expect_within(&p[k], handoff_strerror(0), TOLD);
			pass_and_end(&p[k]);
			assert_int_equal(handoff_baton_wait_until(&r->baton, 0,
			                     soon(TOLD)),
			    0);
		}
	}
	close_room(r, "waiter");
}

/* ---- Making and ending --------------------------------------------------- */

static void the_number_of_parties_is_bounded(void **state)
{
	static const uint32_t bad[] = { 0, HANDOFF_BATON_MAX + 1, UINT32_MAX };
	handoff_baton b;
	handoff_baton *named;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(handoff_baton_init(&b, bad[i], NULL), EINVAL);
		assert_int_equal(handoff_baton_open(&named, "bad",
		                     HANDOFF_CREATE, 0600, bad[i], NULL),
		    EINVAL);
		assert_null(named);
	}
	assert_int_equal(count_names(), 0);
	for (uint32_t n = 1; n <= HANDOFF_BATON_MAX; n++) {
		assert_int_equal(handoff_baton_init(&b, n, NULL), 0);
		assert_int_equal(handoff_baton_wait(&b, n), EINVAL);
		assert_int_equal(handoff_baton_wait(&b, UINT32_MAX), EINVAL);
		assert_int_equal(handoff_baton_trywait(&b, n), EINVAL);
		assert_int_equal(handoff_baton_wait_until(&b, n, 0), EINVAL);
		assert_int_equal(handoff_baton_wait(&b, 0), 0);
		assert_int_equal(handoff_baton_pass(&b, n), EINVAL);
		assert_int_equal(handoff_baton_pass(&b, UINT32_MAX), EINVAL);
		assert_int_equal(handoff_baton_switch(&b, 0, n), EINVAL);
		assert_int_equal(handoff_baton_switch(&b, n, 0), EINVAL);
		assert_int_equal(handoff_baton_pass(&b, n - 1), 0);
		assert_int_equal(handoff_baton_wait(&b, n - 1), 0);
	}
}

static void bad_attributes_and_places_are_refused(void **state)
{
	static const struct handoff_baton_attr bad[] = {
		{ 0, 0, 0, 0 },
		{ sizeof bad[0] + 8, 0, 0, 0 },
		{ sizeof bad[0], 2, 0, 0 },
		{ sizeof bad[0], 0x80000000u, 0, 0 },
		{ sizeof bad[0], 0, 4, 0 },
		{ sizeof bad[0], 0, 0, UINT64_MAX },
	};
	handoff_baton b[2];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(handoff_baton_init(b, 2, &bad[i]), EINVAL);
	assert_int_equal(handoff_baton_init(NULL, 2, NULL), EINVAL);
	for (size_t i = 1; i < 64; i++)
		assert_int_equal(handoff_baton_init((void *)((char *)b + i), 2,
		                     NULL),
		    EINVAL);
}

static void refused(handoff_baton *b)
{
	uint32_t party;

	assert_int_equal(handoff_baton_wait(b, 0), EINVAL);
	assert_int_equal(handoff_baton_trywait(b, 0), EINVAL);
	assert_int_equal(handoff_baton_wait_until(b, 0, 0), EINVAL);
	assert_int_equal(handoff_baton_pass(b, 0), EINVAL);
	assert_int_equal(handoff_baton_switch(b, 0, 0), EINVAL);
	assert_int_equal(handoff_baton_switch_until(b, 0, 0, 0), EINVAL);
	assert_int_equal(handoff_baton_turn(b, &party), EINVAL);
	assert_int_equal(handoff_baton_destroy(b), EINVAL);
}

static void what_is_no_baton_is_refused(void **state)
{
	struct room *r = make_baton("none", 2);
	handoff_baton b;

	(void)state;
	refused(NULL);
	memset(&b, 0, sizeof b);
	refused(&b);
	memset(&b, 0xff, sizeof b);
	refused(&b);
	refused((handoff_baton *)(void *)&r->mutex);
	assert_int_equal(handoff_baton_init(&b, 1, NULL), 0);
	assert_int_equal(handoff_baton_destroy(&b), 0);
	refused(&b);
	close_room(r, "none");
}

static _Atomic pid_t waiter;

static void *wait_as_1(void *arg)
{
	struct room *r = arg;

	atomic_store(&waiter, this_thread());
	OK(handoff_baton_wait(&r->baton, 1));
	return NULL;
}

static int part_busy(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;

	OK(handoff_baton_wait(&r->baton, 0));
	CHECK(pthread_create(&thread, NULL, wait_as_1, r) == 0);
	while (atomic_load(&waiter) == 0)
		sleep_seconds(0.001);
	settle(waiter);
	RESULT(handoff_close(r), EBUSY);
	RESULT(handoff_baton_destroy(&r->baton), EBUSY);
	OK(handoff_baton_pass(&r->baton, 1));
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

static void it_is_busy_while_a_thread_waits(void **state)
{
	struct room *r = make_baton("waits", 2);
	struct process p = start("busy", "waits");

	(void)state;
	assert_int_equal(finish(&p), 0);
	close_room(r, "waits");
}

static int part_named(const char *arg)
{
	handoff_baton *b;

	OK(handoff_baton_open(&b, arg, HANDOFF_CREATE, 0600, 7, NULL));
	OK(handoff_baton_wait(b, 1));
	RESULT(handoff_baton_pass(b, 2), EINVAL); /* as it was made */
	OK(handoff_baton_pass(b, 0));
	OK(handoff_close(b));
	return 0;
}

static void a_name_leads_all_processes_to_one_baton(void **state)
{
	handoff_baton *b;
	handoff_barrier *other;
	struct process p;

	(void)state;
	assert_int_equal(handoff_baton_open(&b, "named", 0, 0, 2, NULL),
	    ENOENT);
	assert_null(b);
	assert_int_equal(handoff_baton_open(&b, "named",
	                     HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, 2, NULL),
	    0);
	assert_int_equal(handoff_barrier_open(&other, "named", 0, 0, 2, NULL),
	    EPROTO);
	assert_int_equal(handoff_baton_wait(b, 0), 0);
	p = start("named", "named");
	assert_int_equal(handoff_baton_switch_until(b, 0, 1, soon(10)), 0);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_close(b), 0);
	assert_int_equal(unlink_name("named"), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "party", part_party },
		{ "busy", part_busy },
		{ "named", part_named },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_waiter_is_told_of_a_dead_holder),
		TEST(every_wait_tells_of_a_dead_holder),
		TEST(a_dead_party_is_replaced),
		TEST(who_replaces_a_dead_holder_is_told),
		TEST(a_killed_waiter_harms_nobody),
		TEST(the_number_of_parties_is_bounded),
		TEST(bad_attributes_and_places_are_refused),
		TEST(what_is_no_baton_is_refused),
		TEST(it_is_busy_while_a_thread_waits),
		TEST(a_name_leads_all_processes_to_one_baton),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
