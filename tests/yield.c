/* SPDX-License-Identifier: ISC */
/* Loops of the caller's own: handoff_yield() between two looks. */
#define _GNU_SOURCE
#include "room.h"
#include "system.h"

#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 300u
#define NAP_MOST 0.05 /* s; of 10 ms, the shortest of many */

struct room {
	_Atomic unsigned go;
	_Atomic unsigned turn;
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	(void)memory;
	(void)bytes;
	(void)arg;
	return 0;
}

/* ---- How long it takes, and what that costs ------------------------------ */

/* "name:ms": uses no more than that of CPU time, unless it is 0. */
static int part_wait(const char *arg)
{
	unsigned most;
	struct room *r = join_room(arg, &most);
	double shortest = 1000;
	double from;
	double cpu;
	unsigned i;

	say("waits");
	from = seconds_now();
	cpu = cpu_seconds();
	for (i = 0; !atomic_load(&r->go); i++) {
		double before = seconds_now();

		handoff_yield(i);
		if (before - from > 0.5 && seconds_now() - before < shortest)
			shortest = seconds_now() - before;
	}
	cpu = cpu_seconds() - cpu;
	say("goes");
	if (most > 0) {
		CHECK(cpu < most / 1000.0);
		CHECK(shortest < NAP_MOST);
		CHECK(i >= 10);
	}
	return 0;
}

static void loop_for(double seconds, unsigned most)
{
	struct room *r = open_room("yield");
	struct process p;
	char arg[32];

	snprintf(arg, sizeof arg, "yield:%u", most);
	p = start("wait", arg);
	expect(&p, "waits");
	sleep_seconds(seconds);
	assert_false(says_within(&p, 0));
	atomic_store(&r->go, 1);
	expect(&p, "goes");
	assert_int_equal(finish(&p), 0);
	close_room(r, "yield");
}

static void a_loop_ends_soon_after_its_condition(void **state)
{
	(void)state;
	loop_for(0, 0);
	loop_for(0.001, 0);
	loop_for(0.1, 0);
}

static void a_long_loop_costs_little_and_naps_are_short(void **state)
{
	(void)state;
	loop_for(1, 100);
}

/* ---- Two that take turns ------------------------------------------------- */

/* "name:me", me 0 or 1, or 2 more for both on one CPU. */
static int part_play(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	unsigned me = n % 2;

	if (n >= 2)
		pin_to_first_cpu();
	say("plays");
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; atomic_load(&r->turn) % 2 != me; i++)
			handoff_yield(i);
		CHECK(atomic_fetch_add(&r->turn, 1) == 2 * round + me);
	}
	return 0;
}

static void play(unsigned offset)
{
	struct room *r = open_room("yield");
	struct process p[2];
	char arg[32];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(arg, sizeof arg, "yield:%u", offset + i);
		p[i] = start("play", arg);
		expect(&p[i], "plays");
	}
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_int_equal(atomic_load(&r->turn), 2 * ROUNDS);
	close_room(r, "yield");
}

static void two_processes_take_turns(void **state)
{
	(void)state;
	play(0);
}

static void two_on_one_cpu_take_turns(void **state)
{
	(void)state;
	play(2);
}

/* ---- A loop's beginning ------------------------------------------------- */

static double time_of(unsigned iteration)
{
	double before = seconds_now();

	handoff_yield(iteration);
	return seconds_now() - before;
}

/* The shortest of many short loops, since any may be interrupted. */
static double shortest_of_new(void)
{
	double shortest = 1000;

	for (int i = 0; i < 100; i++) {
		double t = time_of(0) + time_of(1);

		if (t < shortest)
			shortest = t;
	}
	return shortest;
}

static void iteration_0_begins_anew(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(shortest_of_new() < 0.002);
		handoff_yield(0);
		sleep_seconds(0.1);
		/* An old loop, whatever the number. */
		assert_true(time_of(1) > 0.005);
		assert_true(time_of(4711) > 0.005);
		assert_true(time_of(UINT32_MAX) > 0.005);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "play", part_play },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_loop_ends_soon_after_its_condition),
		TEST(a_long_loop_costs_little_and_naps_are_short),
		TEST(two_processes_take_turns),
		TEST(two_on_one_cpu_take_turns),
		TEST(iteration_0_begins_anew),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("yield", tests, NULL, NULL));
}
