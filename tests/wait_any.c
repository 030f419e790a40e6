/* SPDX-License-Identifier: ISC */
/* Waiting for any of several, between processes: handoff_wait_any(3). */
#define _GNU_SOURCE
#include "items.h"
#include "still.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u

/* ---- One of each kind ---------------------------------------------------- */

static void make_ready(struct room *r, unsigned kind)
{
	switch (kind) {
	case 0:
		assert_int_equal(handoff_sem_post(&r->sem[0], 1), 0);
		break;
	case 1:
		assert_int_equal(handoff_event_set(&r->automatic), 0);
		break;
	case 2:
		assert_int_equal(handoff_event_set(&r->manual), 0);
		break;
	case 3:
		handoff_word32_store(&r->word32, 8);
		assert_int_equal(handoff_word32_wake(&r->word32, 1), 0);
		break;
	default:
		/* The lower half stays as it is. */
		handoff_word64_store(&r->word64, UINT64_C(8) << 32);
		assert_int_equal(handoff_word64_wake(&r->word64, 1), 0);
		break;
	}
}

/* What was taken is gone, and what cannot be taken is as it was. */
static void assert_taken_once(struct room *r, unsigned kind)
{
	struct handoff_item items[KINDS];
	size_t which = 99;
	int again = kind >= 2;

	one_of_each(r, items);
	for (unsigned i = 0; i < 3; i++) {
		which = 99;
		assert_int_equal(handoff_wait_any_until(items, KINDS, &which,
		                     0),
		    again ? 0 : ETIMEDOUT);
		if (again)
			assert_int_equal(which, kind);
	}
	if (kind == 0)
		assert_int_equal(handoff_sem_trywait(&r->sem[0]), EBUSY);
	if (kind == 1)
		assert_int_equal(handoff_event_trywait(&r->automatic), EBUSY);
	if (kind == 2)
		assert_int_equal(handoff_event_trywait(&r->manual), 0);
	assert_int_equal(handoff_event_reset(&r->manual), 0);
	handoff_word32_store(&r->word32, 7);
	handoff_word64_store(&r->word64, UINT64_C(7) << 32);
	assert_int_equal(handoff_wait_any_until(items, KINDS, &which, 0),
	    ETIMEDOUT);
}

static void what_is_ready_is_taken_at_once(void **state)
{
	struct room *r = open_room("ready");
	struct handoff_item items[KINDS];

	(void)state;
	one_of_each(r, items);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		size_t which = 99;

		make_ready(r, kind);
		assert_int_equal(handoff_wait_any(items, KINDS, &which), 0);
		assert_int_equal(which, kind);
		assert_taken_once(r, kind);
		make_ready(r, kind);
		assert_int_equal(handoff_wait_any_until(items, KINDS, &which,
		                     0),
		    0);
		assert_int_equal(which, kind);
		assert_taken_once(r, kind);
	}
	close_room(r, "ready");
}

/* "name:number": so often, says which. */
static int part_any(const char *arg)
{
	struct handoff_item items[KINDS];
	unsigned n;
	struct room *r = join_room(arg, &n);
	char number[20];

	one_of_each(r, items);
	while (n-- > 0) {
		size_t which = 99;

		say("waits");
		OK(handoff_wait_any(items, KINDS, &which));
		snprintf(number, sizeof number, "%zu", which);
		say(number);
		await("next");
	}
	return 0;
}

static void run_blocked(const char *name, const char *how)
{
	struct room *r = open_room(name);
	struct process p;
	char text[20];

	snprintf(text, sizeof text, "%s:%u", name, KINDS);
	setenv("HANDOFF_WAIT", how, 1);
	p = start("any", text);
	unsetenv("HANDOFF_WAIT");
	for (unsigned kind = 0; kind < KINDS; kind++) {
		expect(&p, "waits");
		settle(p.pid);
		assert_false(says_within(&p, 0.05));
		make_ready(r, kind);
		snprintf(text, sizeof text, "%u", kind);
		expect_within(&p, text, SOON);
		assert_taken_once(r, kind);
		tell(&p, "next");
	}
	assert_int_equal(finish(&p), 0);
	close_room(r, name);
}

static void one_who_waits_is_let_go_by_each_kind(void **state)
{
	(void)state;
	run_blocked("blocked", "block");
	run_blocked("adapts", "adaptive");
	run_blocked("yields", "yield");
}

/* ---- Many, twice, from several segments ---------------------------------- */

static void one_of_many_is_found(void **state)
{
	struct room *r = open_room("many");
	struct handoff_item items[MANY];

	(void)state;
	all_semaphores(r, items);
	for (unsigned i = 0; i < MANY; i++) {
		size_t which = 99;

		assert_int_equal(handoff_sem_post(&r->sem[i], 1), 0);
		assert_int_equal(handoff_wait_any(items, MANY, &which), 0);
		assert_int_equal(which, i);
		/* Of a part of the list, by its place in that. */
		assert_int_equal(handoff_sem_post(&r->sem[i], 1), 0);
		assert_int_equal(handoff_wait_any(items + i, 1, &which), 0);
		assert_int_equal(which, 0);
		assert_int_equal(handoff_wait_any_until(items, MANY, &which, 0),
		    ETIMEDOUT);
	}
	close_room(r, "many");
}

/* "name:n" times one of all. */
static int part_many(const char *arg)
{
	struct handoff_item items[MANY];
	unsigned n;
	struct room *r = join_room(arg, &n);

	all_semaphores(r, items);
	say("begins");
	while (n-- > 0) {
		size_t which = 99;

		OK(handoff_wait_any(items, MANY, &which));
		CHECK(which < MANY);
		atomic_fetch_add(&r->of_each[which], 1);
		OK(handoff_sem_post(&r->sem[which], 1)); /* an answer */
		say("took");
		await("next");
	}
	return 0;
}

static void one_who_waits_for_many_is_let_go_by_each(void **state)
{
	struct room *r = open_room("each");
	struct process p;

	(void)state;
	setenv("HANDOFF_WAIT", "block", 1);
	p = start("many", "each:64");
	unsetenv("HANDOFF_WAIT");
	expect(&p, "begins");
	for (unsigned i = 0; i < MANY; i++) {
		if (i % 8 == 0)
			settle(p.pid);
		assert_int_equal(handoff_sem_post(&r->sem[i], 1), 0);
		expect_within(&p, "took", SOON);
		assert_int_equal(r->of_each[i], 1);
		assert_int_equal(handoff_sem_trywait(&r->sem[i]), 0);
		tell(&p, "next");
	}
	assert_int_equal(finish(&p), 0);
	close_room(r, "each");
}

/* An object may stand in the list more than once: it is taken once. */
static void twice_the_same_is_taken_once(void **state)
{
	struct room *r = open_room("twice");
	struct handoff_item items[6];
	size_t which = 99;
	uint32_t left;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		items[i] = (struct handoff_item){ &r->sem[i % 2], 0 };
	assert_int_equal(handoff_wait_any_until(items, 6, &which, soon(0.02)),
	    ETIMEDOUT);
	assert_int_equal(handoff_sem_post(&r->sem[1], 3), 0);
	for (unsigned i = 3; i-- > 0;) {
		assert_int_equal(handoff_wait_any(items, 6, &which), 0);
		assert_int_equal(which % 2, 1);
		assert_int_equal(handoff_sem_value(&r->sem[1], &left), 0);
		assert_int_equal(left, i);
	}
	assert_int_equal(handoff_wait_any_until(items, 6, &which, 0),
	    ETIMEDOUT);
	close_room(r, "twice");
}

static int part_twice(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	struct handoff_item items[5] = { { &r->sem[0], 0 },
		{ &r->automatic, 0 }, { &r->sem[0], 0 }, { &r->automatic, 0 },
		{ &r->sem[0], 0 } };

	for (unsigned i = 0; i < 20; i++) {
		size_t which = 99;

		say("waits");
		OK(handoff_wait_any(items, 5, &which));
		CHECK(which % 2 == i % 2);
		await("next");
	}
	return 0;
}

static void one_who_waits_twice_takes_once(void **state)
{
	struct room *r = open_room("double");
	struct process p;

	(void)state;
	setenv("HANDOFF_WAIT", "block", 1);
	p = start("twice", "double");
	unsetenv("HANDOFF_WAIT");
	for (unsigned i = 0; i < 20; i++) {
		expect_within(&p, "waits", SOON);
		settle(p.pid);
		if (i % 2)
			assert_int_equal(handoff_event_set(&r->automatic), 0);
		else
			assert_int_equal(handoff_sem_post(&r->sem[0], 1), 0);
		tell(&p, "next");
	}
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_sem_trywait(&r->sem[0]), EBUSY);
	assert_int_equal(handoff_event_trywait(&r->automatic), EBUSY);
	close_room(r, "double");
}

static int part_far(const char *unused)
{
	struct handoff_item items[2];
	handoff_sem *s;
	handoff_event *e;
	size_t which = 99;

	(void)unused;
	OK(handoff_sem_open(&s, "far.sem", 0, 0, 0, NULL));
	OK(handoff_event_open(&e, "far.event", 0, 0, NULL));
	items[0] = (struct handoff_item){ s, 0 };
	items[1] = (struct handoff_item){ e, 0 };
	say("waits");
	OK(handoff_wait_any(items, 2, &which));
	CHECK(which == 1);
	say("first");
	OK(handoff_wait_any(items, 2, &which));
	CHECK(which == 0);
	OK(handoff_close(s));
	OK(handoff_close(e));
	return 0;
}

static void the_items_may_lie_in_several_segments(void **state)
{
	handoff_sem *s;
	handoff_event *e;
	struct process p;

	(void)state;
	assert_int_equal(handoff_sem_open(&s, "far.sem", HANDOFF_CREATE, 0600,
	                     0, NULL),
	    0);
	assert_int_equal(handoff_event_open(&e, "far.event", HANDOFF_CREATE,
	                     0600, NULL),
	    0);
	p = start("far", NULL);
	expect(&p, "waits");
	settle(p.pid);
	assert_int_equal(handoff_event_set(e), 0);
	expect_within(&p, "first", SOON);
	settle(p.pid);
	assert_int_equal(handoff_sem_post(s, 1), 0);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(handoff_close(e), 0);
	assert_int_equal(unlink_name("far.sem"), 0);
	assert_int_equal(unlink_name("far.event"), 0);
}

static void of_all_that_are_ready_each_comes_up(void **state)
{
	struct room *r = open_room("fair");
	struct handoff_item items[MANY];
	unsigned times[MANY] = { 0 };
	const unsigned draws = MANY * 40;

	(void)state;
	all_semaphores(r, items);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(handoff_sem_post(&r->sem[i], draws), 0);
	for (unsigned n = 2; n <= MANY; n += MANY - 2) {
		memset(times, 0, sizeof times);
		for (unsigned i = 0; i < n * 40; i++) {
			size_t which = 99;

			assert_int_equal(handoff_wait_any(items, n, &which), 0);
			assert_true(which < n);
			times[which]++;
		}
		for (unsigned i = 0; i < n; i++)
			assert_true(times[i] > 0);
	}
	close_room(r, "fair");
}

/* ---- Bad lists ----------------------------------------------------------- */

static void bad_lists_are_refused_and_take_nothing(void **state)
{
	struct room *r = open_room("bad");
	void *const bad[] = { NULL, &r->mutex, &r->cond, &r->rwlock,
		&r->barrier, &r->baton, &r->taken };
	struct handoff_item items[MANY + 1];
	size_t which = 99;
	uint32_t left;

	(void)state;
	assert_int_equal(handoff_sem_post(&r->sem[0], 1), 0);
	for (unsigned i = 0; i <= MANY; i++)
		items[i] = (struct handoff_item){ &r->sem[0], 0 };
	assert_int_equal(handoff_wait_any(items, 0, &which), EINVAL);
	assert_int_equal(handoff_wait_any(items, MANY + 1, &which), EINVAL);
	assert_int_equal(handoff_wait_any(items, SIZE_MAX, &which), EINVAL);
	assert_int_equal(handoff_wait_any(NULL, 1, &which), EINVAL);
	assert_int_equal(handoff_wait_any_until(items, 0, &which, 0), EINVAL);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		for (unsigned at = 0; at < 3; at++) {
			items[at].object = bad[i];
			assert_int_equal(handoff_wait_any(items, 3, &which),
			    EINVAL);
			assert_int_equal(handoff_wait_any_until(items, 3,
			                     &which, 0),
			    EINVAL);
			items[at].object = &r->sem[0];
		}
	assert_int_equal(handoff_sem_value(&r->sem[0], &left), 0);
	assert_int_equal(left, 1);
	assert_int_equal(handoff_sem_destroy(&r->sem[1]), 0);
	items[1].object = &r->sem[1];
	assert_int_equal(handoff_wait_any(items, 3, &which), EINVAL);
	close_room(r, "bad");
}

/* ---- What is waited for stays ------------------------------------------ */

static _Atomic pid_t waiter;

static void *wait_for_all(void *arg)
{
	struct handoff_item items[KINDS];
	size_t which = 99;

	atomic_store(&waiter, this_thread());
	one_of_each(arg, items);
	OK(handoff_wait_any(items, KINDS, &which));
	CHECK(which == 2);
	return NULL;
}

/* Whatever a thread waits for cannot go. */
static int part_busy(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, wait_for_all, r) == 0);
	while (atomic_load(&waiter) == 0)
		sleep_seconds(0.001);
	settle(waiter);
	RESULT(handoff_close(r), EBUSY);
	RESULT(handoff_sem_destroy(&r->sem[0]), EBUSY);
	RESULT(handoff_event_destroy(&r->automatic), EBUSY);
	RESULT(handoff_event_destroy(&r->manual), EBUSY);
	RESULT(handoff_word32_destroy(&r->word32), EBUSY);
	RESULT(handoff_word64_destroy(&r->word64), EBUSY);
	OK(handoff_sem_destroy(&r->sem[1]));
	OK(handoff_event_set(&r->manual));
	CHECK(pthread_join(thread, NULL) == 0);
	OK(handoff_sem_destroy(&r->sem[0]));
	OK(handoff_event_destroy(&r->manual));
	OK(handoff_close(r));
	return 0;
}

static void what_is_waited_for_is_busy(void **state)
{
	struct room *r = open_room("busy");
	struct process p = start("busy", "busy");

	(void)state;
	assert_int_equal(finish(&p), 0);
	close_room(r, "busy");
}

/* ---- Deadlines and signals ----------------------------------------------- */

static void a_deadline_ends_it(void **state)
{
	struct room *r = open_room("late");
	struct handoff_item items[MANY];
	size_t which = 99;

	(void)state;
	all_semaphores(r, items);
	for (unsigned n = 1; n <= MANY; n *= 4) {
		uint64_t until = handoff_after(20 * MS);

		assert_int_equal(handoff_wait_any_until(items, n, &which,
		                     until),
		    ETIMEDOUT);
		assert_true(handoff_now() >= until);
		assert_int_equal(handoff_wait_any_until(items, n, &which, 1),
		    ETIMEDOUT);
	}
	/* One who was late has taken nothing. */
	assert_int_equal(handoff_sem_post(&r->sem[0], 1), 0);
	assert_int_equal(handoff_sem_trywait(&r->sem[0]), 0);
	close_room(r, "late");
}

static void nothing(int number)
{
	(void)number;
}

/* Beneath a hail of signals. */
static int part_hail(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	struct handoff_item items[KINDS];
	size_t which = 99;

	catch_signal(SIGALRM, nothing, 0);
	alarm_every(300);
	one_of_each(r, items);
	RESULT(handoff_wait_any_until(items, KINDS, &which, soon(0.1)),
	    ETIMEDOUT);
	say("waits");
	OK(handoff_wait_any(items, KINDS, &which));
	CHECK(which == 1);
	return 0;
}

static void signal_handlers_end_nothing(void **state)
{
	struct room *r = open_room("hail");
	struct process p;

	(void)state;
	p = start("hail", "hail");
	expect(&p, "waits");
	sleep_seconds(0.2);
	make_ready(r, 1);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_event_trywait(&r->automatic), EBUSY);
	close_room(r, "hail");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "any", part_any },
		{ "many", part_many },
		{ "twice", part_twice },
		{ "far", part_far },
		{ "busy", part_busy },
		{ "hail", part_hail },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_ready_is_taken_at_once),
		TEST(one_who_waits_is_let_go_by_each_kind),
		TEST(one_of_many_is_found),
		TEST(one_who_waits_for_many_is_let_go_by_each),
		TEST(twice_the_same_is_taken_once),
		TEST(one_who_waits_twice_takes_once),
		TEST(the_items_may_lie_in_several_segments),
		TEST(of_all_that_are_ready_each_comes_up),
		TEST(bad_lists_are_refused_and_take_nothing),
		TEST(what_is_waited_for_is_busy),
		TEST(a_deadline_ends_it),
		SIGNAL_TEST(signal_handlers_end_nothing),
	};

	PROCESSES_BEGIN(argc, argv, parts, 200);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
