/* SPDX-License-Identifier: ISC */
/* The event, between processes: what handoff_event(3) says beyond what
 * tests/waits.c tests. */
#define _GNU_SOURCE
#include "room.h"
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define TAKERS 3u
#define CREATE HANDOFF_CREATE

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	handoff_event event;
	handoff_mutex other;
	_Atomic unsigned stop;
	_Atomic unsigned taken;
	unsigned each[TAKERS];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = handoff_event_init(&r->event, arg);

	(void)bytes;
	return e != 0 ? e : handoff_mutex_init(&r->other, NULL);
}

static struct room *make(const char *name, unsigned flags, unsigned policy,
    uint64_t limit)
{
	struct handoff_event_attr attr = { sizeof attr, flags, policy, limit };
	struct room *r = make_room(name, &attr);

	assert_non_null(r);
	return r;
}

static void set(struct room *r)
{
	GIVES(handoff_event_set(&r->event), 0);
}

static void reset(struct room *r)
{
	GIVES(handoff_event_reset(&r->event), 0);
}

static int part_wait(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	say("waits");
	OK(handoff_event_wait(&r->event));
	say("done");
	return 0;
}

/* ---- Bad arguments ----------------------------------------------------- */

static const struct handoff_event_attr bad[] = {
	{ 0, 0, 0, 0 },
	{ sizeof bad[0] - 1, 0, 0, 0 },
	{ sizeof bad[0] + 8, 0, 0, 0 },
	{ sizeof bad[0], HANDOFF_ROBUST, 0, 0 },
	{ sizeof bad[0], HANDOFF_EVENT_MANUAL | 2, 0, 0 },
	{ sizeof bad[0], 0x40, 0, 0 },
	{ sizeof bad[0], 0x80000000u, 0, 0 },
	{ sizeof bad[0], 0, 4, 0 },
	{ sizeof bad[0], 0, UINT32_MAX, 0 },
	{ sizeof bad[0], 0, 0, UINT64_MAX },
	{ sizeof bad[0], 0, 0, (uint64_t)UINT32_MAX + 1 },
};

#define BAD (sizeof bad / sizeof *bad)

static void bad_arguments_of_open_are_refused_and_leave_nothing(void **state)
{
	handoff_event *v;

	(void)state;
	for (size_t i = 0; i < BAD; i++) {
		GIVES(handoff_event_open(&v, "bad", CREATE, 0600, &bad[i]),
		    EINVAL);
		assert_null(v);
	}
	GIVES(handoff_event_open(NULL, "bad", CREATE, 0600, NULL), EINVAL);
	GIVES(handoff_event_open(&v, NULL, CREATE, 0600, NULL), EINVAL);
	GIVES(handoff_event_open(&v, "", CREATE, 0600, NULL), EINVAL);
	GIVES(handoff_event_open(&v, "bad", HANDOFF_EXCLUSIVE, 0600, NULL),
	    EINVAL);
	GIVES(count_names(), 0);
}

static void init_refuses_bad_attributes_and_places(void **state)
{
	struct handoff_event_attr all = { sizeof all,
		HANDOFF_EVENT_MANUAL | HANDOFF_EVENT_SET, HANDOFF_WAIT_BLOCK,
		UINT32_MAX };
	handoff_event plain[2];
	char *at = (char *)plain;

	(void)state;
	for (size_t i = 0; i < BAD; i++)
		GIVES(handoff_event_init(plain, &bad[i]), EINVAL);
	for (size_t i = 1; i < 64; i++)
		GIVES(handoff_event_init((handoff_event *)(void *)(at + i),
		          NULL),
		    EINVAL);
	GIVES(handoff_event_init(NULL, NULL), EINVAL);
	GIVES(handoff_event_init(plain, &all), 0);
	GIVES(handoff_event_wait(plain), 0);
	GIVES(handoff_event_destroy(plain), 0);
}

static void refused(handoff_event *v)
{
	GIVES(handoff_event_wait(v), EINVAL);
	GIVES(handoff_event_trywait(v), EINVAL);
	GIVES(handoff_event_wait_until(v, 0), EINVAL);
	GIVES(handoff_event_wait_until(v, handoff_after(MS)), EINVAL);
	GIVES(handoff_event_set(v), EINVAL);
	GIVES(handoff_event_reset(v), EINVAL);
	GIVES(handoff_event_destroy(v), EINVAL);
}

static void what_is_no_event_is_refused(void **state)
{
	struct room *r = make("none", 0, 0, 0);
	handoff_event v;
	handoff_sem sem;

	(void)state;
	refused(NULL);
	memset(&v, 0, sizeof v);
	refused(&v);
	memset(&v, 0xff, sizeof v);
	refused(&v);
	refused((handoff_event *)&r->other);
	GIVES(handoff_sem_init(&sem, 1, NULL), 0);
	refused((handoff_event *)&sem);
	GIVES(handoff_sem_wait(&sem), 0);
	GIVES(handoff_event_init(&v, NULL), 0);
	GIVES(handoff_event_set(&v), 0);
	GIVES(handoff_event_destroy(&v), 0);
	refused(&v);
	close_room(r, "none");
}

/* ---- Set and reset ----------------------------------------------------- */

static void with_automatic_reset_one_wait_takes_it(void **state)
{
	struct room *r = make("taken", HANDOFF_EVENT_SET, 0, 0);
	handoff_event *v = &r->event;

	(void)state;
	GIVES(handoff_event_trywait(v), 0);
	GIVES(handoff_event_trywait(v), EBUSY);
	set(r);
	GIVES(handoff_event_wait(v), 0);
	GIVES(handoff_event_wait_until(v, 0), ETIMEDOUT);
	/* Several sets are one. */
	for (int i = 0; i < 5; i++)
		set(r);
	GIVES(handoff_event_wait_until(v, 0), 0);
	GIVES(handoff_event_trywait(v), EBUSY);
	set(r);
	reset(r);
	GIVES(handoff_event_trywait(v), EBUSY);
	reset(r);
	GIVES(handoff_event_wait_until(v, handoff_now()), ETIMEDOUT);
	set(r);
	GIVES(handoff_event_trywait(v), 0);
	close_room(r, "taken");
}

static void with_manual_reset_it_stays_set(void **state)
{
	struct room *r = make("stays", HANDOFF_EVENT_MANUAL, 0, 0);
	handoff_event *v = &r->event;
	struct process p;

	(void)state;
	GIVES(handoff_event_trywait(v), EBUSY);
	reset(r);
	GIVES(handoff_event_trywait(v), EBUSY);
	for (int i = 0; i < 4; i++) {
		set(r);
		set(r);
		GIVES(handoff_event_trywait(v), 0);
		GIVES(handoff_event_wait(v), 0);
		GIVES(handoff_event_wait_until(v, 0), 0);
		GIVES(handoff_event_wait_until(v, HANDOFF_NEVER), 0);
		p = start("wait", "stays");
		expect(&p, "waits");
		expect(&p, "done");
		GIVES(finish(&p), 0);
		GIVES(handoff_event_trywait(v), 0);
		reset(r);
		GIVES(handoff_event_trywait(v), EBUSY);
		GIVES(handoff_event_wait_until(v, 0), ETIMEDOUT);
	}
	close_room(r, "stays");
	r = make("stays", HANDOFF_EVENT_MANUAL | HANDOFF_EVENT_SET, 0, 0);
	GIVES(handoff_event_trywait(&r->event), 0);
	GIVES(handoff_event_trywait(&r->event), 0);
	reset(r);
	GIVES(handoff_event_trywait(&r->event), EBUSY);
	close_room(r, "stays");
}

/* The attributes count for who makes it. */
static void an_event_is_what_its_maker_said(void **state)
{
	struct handoff_event_attr attr = { sizeof attr,
		HANDOFF_EVENT_MANUAL | HANDOFF_EVENT_SET, 0, 0 };
	handoff_event *v;
	handoff_event *again;

	(void)state;
	GIVES(handoff_event_open(&v, "made", CREATE, 0600, &attr), 0);
	GIVES(handoff_event_open(&again, "made", CREATE, 0600, NULL), 0);
	assert_ptr_equal(again, v);
	GIVES(handoff_event_wait(v), 0);
	GIVES(handoff_event_wait(v), 0);
	GIVES(handoff_close(v), 0);
	GIVES(handoff_close(v), 0);
	GIVES(unlink_name("made"), 0);
}

/* ---- Waiters of other processes ---------------------------------------- */

/* A set lets exactly one of them go. */
static void one_by_one(unsigned policy, int spinning)
{
	struct room *r = make("one", 0, policy, spinning ? UINT32_MAX : 0);
	struct process p[5];
	unsigned left = spinning ? 3 : 5;

	start_all(p, left, "wait", "one", spinning);
	while (left > 0) {
		set(r);
		GIVES(count_sayers(p, left, 1), 1);
		finish_sayer(p, &left, "done");
		GIVES(handoff_event_trywait(&r->event), EBUSY);
	}
	close_room(r, "one");
}

static void a_set_lets_exactly_one_go_that_is_parked(void **state)
{
	(void)state;
	one_by_one(HANDOFF_WAIT_BLOCK, 0);
	one_by_one(HANDOFF_WAIT_ADAPTIVE, 0);
}

static void a_set_lets_exactly_one_go_that_spins(void **state)
{
	(void)state;
	one_by_one(HANDOFF_WAIT_SPIN, 1);
	one_by_one(HANDOFF_WAIT_YIELD, 1);
}

/* With automatic reset: it may be reset before anyone has taken it, but what
 * has been taken has been. */
static void a_reset_loses_no_waiter(void **state)
{
	struct room *r = make("lost", 0, HANDOFF_WAIT_BLOCK, 0);
	struct process p = start_parked("wait", "lost");

	(void)state;
	reset(r);
	assert_false(says_within(&p, 0.02));
	set(r);
	reset(r);
	if (!says_within(&p, 0.02))
		set(r);
	expect(&p, "done");
	GIVES(finish(&p), 0);
	close_room(r, "lost");
}

/* G14: whoever waited is let go, however short it was set. */
static void pulse(unsigned policy, int spinning)
{
	struct room *r = make("pulse", HANDOFF_EVENT_MANUAL, policy,
	    spinning ? UINT32_MAX : 0);
	unsigned n = spinning ? 3 : 5;

	for (int i = 0; i < 4; i++) {
		struct process p[5];

		start_all(p, n, "wait", "pulse", spinning);
		set(r);
		reset(r);
		for (unsigned k = 0; k < n; k++) {
			expect(&p[k], "done");
			GIVES(finish(&p[k]), 0);
		}
		GIVES(handoff_event_trywait(&r->event), EBUSY);
	}
	close_room(r, "pulse");
}

static void set_and_reset_at_once_let_all_go_that_are_parked(void **state)
{
	(void)state;
	pulse(HANDOFF_WAIT_BLOCK, 0);
	pulse(HANDOFF_WAIT_ADAPTIVE, 0);
}

static void set_and_reset_at_once_let_all_go_that_spin(void **state)
{
	(void)state;
	pulse(HANDOFF_WAIT_SPIN, 1);
	pulse(HANDOFF_WAIT_YIELD, 1);
}

/* Who comes after the reset waits. */
static void a_set_that_was_reset_lets_nobody_go_who_comes_later(void **state)
{
	struct room *r = make("later", HANDOFF_EVENT_MANUAL, HANDOFF_WAIT_BLOCK,
	    0);
	struct process early = start_parked("wait", "later");
	struct process p;

	(void)state;
	set(r);
	reset(r);
	p = start_parked("wait", "later");
	expect(&early, "done");
	GIVES(finish(&early), 0);
	assert_false(says_within(&p, 0.4)); /* also at its slice's end */
	set(r);
	expect(&p, "done");
	GIVES(finish(&p), 0);
	close_room(r, "later");
}

/* One that is woken, stopped and late has been let go all the same. */
static void a_stopped_waiter_has_been_let_go(void **state)
{
	struct room *r = make("stopped", HANDOFF_EVENT_MANUAL,
	    HANDOFF_WAIT_BLOCK, 0);
	struct process p = start_parked("wait", "stopped");

	(void)state;
	stop_process(&p);
	sleep_seconds(0.01);
	for (int i = 0; i < 3; i++) {
		set(r);
		reset(r);
	}
	GIVES(handoff_event_trywait(&r->event), EBUSY);
	continue_process(&p);
	expect(&p, "done");
	GIVES(finish(&p), 0);
	close_room(r, "stopped");
}

/* ---- Exactly one takes each set ---------------------------------------- */

/* Takes sets, with deadlines that often collide with them (G13). */
static int part_take(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	uint32_t x = me * 2654435761u + 1;

	say("ready");
	while (!atomic_load(&r->stop)) {
		int e;

		x = x * 1664525u + 1013904223u;
		e = x >> 30 == 0 ? handoff_event_trywait(&r->event) :
		                   handoff_event_wait_until(&r->event,
		                       handoff_after(x >> 12 & 0x1ffff));
		CHECK(e == 0 || e == EBUSY || e == ETIMEDOUT);
		if (e != 0)
			continue;
		r->each[me]++;
		atomic_fetch_add(&r->taken, 1);
	}
	return 0;
}

static void until_taken(struct room *r, unsigned n)
{
	double end = seconds_now() + 10;

	while (atomic_load(&r->taken) < n) {
		sleep_seconds(10e-6);
		assert_true(seconds_now() < end);
	}
}

static void take(unsigned policy)
{
	struct room *r = make("take", 0, policy, 0);
	struct process p[TAKERS];
	double end = seconds_now() + 0.5;
	unsigned sets = 0;
	unsigned sum = 0;
	char arg[64];

	for (unsigned i = 0; i < TAKERS; i++) {
		snprintf(arg, sizeof arg, "take:%u", i);
		p[i] = start("take", arg);
		expect(&p[i], "ready");
	}
	while (seconds_now() < end) {
		set(r);
		until_taken(r, ++sets);
		assert_int_equal(atomic_load(&r->taken), sets);
	}
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < TAKERS; i++)
		GIVES(finish(&p[i]), 0);
	for (unsigned i = 0; i < TAKERS; i++) {
		assert_true(r->each[i] > 0);
		sum += r->each[i];
	}
	assert_int_equal(sum, sets);
	assert_int_equal(atomic_load(&r->taken), sets);
	GIVES(handoff_event_trywait(&r->event), EBUSY);
	assert_true(sets > 50);
	print_message("%u sets\n", sets);
	close_room(r, "take");
}

static void each_set_is_taken_by_exactly_one(void **state)
{
	(void)state;
	for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK; policy++)
		take(policy);
}

/* Sets that nobody has taken yet are one, and a wait sees what was written
 * before any of them. */
static int part_follow(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	unsigned seen = 0;

	say("ready");
	while (seen < 100000) {
		unsigned now;

		OK(handoff_event_wait(&r->event));
		now = ((volatile unsigned *)r->each)[0];
		CHECK(now >= seen);
		seen = now;
		atomic_store(&r->taken, seen);
	}
	return 0;
}

static void a_wait_sees_all_that_was_written_before_the_sets(void **state)
{
	struct room *r = make("follow", 0, 0, 0);
	struct process p = start("follow", "follow");

	(void)state;
	expect(&p, "ready");
	for (unsigned i = 1; i <= 100000; i++) {
		((volatile unsigned *)r->each)[0] = i;
		set(r);
		if (i % 1000 == 0) /* nothing is lost at the end of a burst */
			until_taken(r, i);
	}
	GIVES(finish(&p), 0);
	close_room(r, "follow");
}

/* ---- A signal handler resets ------------------------------------------- */

static struct room *signalled;

static void reset_it(int signal)
{
	(void)signal;
	if (handoff_event_reset(&signalled->event) != 0)
		_exit(99);
}

static int part_resets(const char *arg)
{
	signalled = join_room(arg, NULL);
	catch_usr1(reset_it);
	OK(handoff_event_wait(&signalled->event));
	CHECK(raise(SIGUSR1) == 0);
	RESULT(handoff_event_trywait(&signalled->event), EBUSY);
	say("waits");
	OK(handoff_event_wait(&signalled->event));
	say("done");
	return 0;
}

static void a_signal_handler_may_reset(void **state)
{
	struct room *r = make("resets",
	    HANDOFF_EVENT_MANUAL | HANDOFF_EVENT_SET, 0, 0);
	struct process p = start_parked("resets", "resets");

	(void)state;
	GIVES(kill(p.pid, SIGUSR1), 0);
	assert_false(says_within(&p, 0.02));
	set(r);
	expect(&p, "done");
	GIVES(finish(&p), 0);
	close_room(r, "resets");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "take", part_take },
		{ "follow", part_follow },
		{ "resets", part_resets },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(bad_arguments_of_open_are_refused_and_leave_nothing),
		TEST(init_refuses_bad_attributes_and_places),
		TEST(what_is_no_event_is_refused),
		TEST(with_automatic_reset_one_wait_takes_it),
		TEST(with_manual_reset_it_stays_set),
		TEST(an_event_is_what_its_maker_said),
		TEST(a_set_lets_exactly_one_go_that_is_parked),
		TEST(a_set_lets_exactly_one_go_that_spins),
		TEST(a_reset_loses_no_waiter),
		TEST(set_and_reset_at_once_let_all_go_that_are_parked),
		TEST(set_and_reset_at_once_let_all_go_that_spin),
		TEST(a_set_that_was_reset_lets_nobody_go_who_comes_later),
		TEST(a_stopped_waiter_has_been_let_go),
		TEST(each_set_is_taken_by_exactly_one),
		TEST(a_wait_sees_all_that_was_written_before_the_sets),
		SIGNAL_TEST(a_signal_handler_may_reset),
	};

	/* Each event says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("event", tests, NULL, NULL));
}
