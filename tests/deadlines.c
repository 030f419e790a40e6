/* SPDX-License-Identifier: ISC */
/*
 * handoff_wait(3), deadlines: each one there can be, for every call that takes
 * one (G32); and what a wait costs until it is over (G31, G35).
 */
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define MS ((uint64_t)1000000)

static struct room *make(unsigned policy, uint64_t limit)
{
	const struct made made = { policy, limit };
	struct room *r = make_room("deadlines", &made);

	assert_non_null(r);
	return r;
}

static void end(struct room *r)
{
	close_room(r, "deadlines");
}

static struct process start_with(const char *part, unsigned i)
{
	char arg[64];

	snprintf(arg, sizeof arg, "deadlines:%u", i);
	return start(part, arg);
}

/* ---- The past ------------------------------------------------------------ */

#define PAST 5u

/* The n-th of the deadlines that have passed, or pass at once. */
static uint64_t past(unsigned n)
{
	switch (n) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return handoff_now() - 1;
	case 3:
		return handoff_now();
	default:
		return handoff_after(1);
	}
}

/* "name:primitive": the parent keeps it from being had. */
static int part_late(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	for (unsigned n = 0; n < PAST; n++) {
		uint64_t deadline = past(n);

		RESULT(primitives[i].wait(r, deadline), ETIMEDOUT);
		CHECK(handoff_now() >= deadline);
		CHECK(done_so_far().parks == 0);
	}
	return 0;
}

static void the_past_is_one_try_that_fails(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK;
		     policy++) {
			struct room *r = make(policy, 0);
			struct process p;

			if (primitives[i].hold)
				GIVES(primitives[i].hold(r), 0);
			p = start_with("late", i);
			if (finish(&p) != 0)
				fail_msg("%s, policy %u", primitives[i].name,
				    policy);
			if (primitives[i].hold)
				GIVES(primitives[i].let_go(r), 0);
			end(r);
		}
}

/* "name:primitive": it can be had. */
static int part_in_time(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	for (unsigned n = 0; n < PAST; n++) {
		await("try");
		OK(primitives[i].wait(r, past(n)));
		say("had");
	}
	return 0;
}

static void the_past_is_one_try_that_succeeds_if_it_can(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make(0, 0);
		struct process p;

		if (primitives[i].meets) {
			end(r);
			continue;
		}
		p = start_with("in time", i);
		for (unsigned n = 0; n < PAST; n++) {
			if (primitives[i].hold)
				GIVES(primitives[i].hold(r), 0);
			GIVES(primitives[i].let_go(r), 0);
			tell(&p, "try");
			expect(&p, "had");
		}
		GIVES(finish(&p), 0);
		end(r);
	}
}

static void *come(void *arg)
{
	struct room *r = arg;

	return (void *)(intptr_t)handoff_barrier_wait_until(&r->barrier, NULL,
	    soon(10));
}

/* The last party completes the barrier, however late it is. */
static void the_last_to_come_is_never_late(void **state)
{
	struct room *r = make(HANDOFF_WAIT_BLOCK, 0);

	(void)state;
	for (unsigned n = 0; n < PAST; n++) {
		unsigned before = statistics_of(&r->barrier).contended;
		pthread_t thread;
		void *result;

		GIVES(pthread_create(&thread, NULL, come, r), 0);
		while (statistics_of(&r->barrier).contended == before)
			sleep_seconds(0.001);
		GIVES(handoff_barrier_wait_until(&r->barrier, NULL, past(n)),
		    0);
		GIVES(pthread_join(thread, &result), 0);
		assert_null(result);
	}
	end(r);
}

/* ---- Far ahead ----------------------------------------------------------- */

#define FAR 7u

static uint64_t far_ahead(unsigned n)
{
	switch (n) {
	case 0:
		return handoff_after((uint64_t)INT32_MAX * MS);
	case 1:
		return handoff_after((uint64_t)INT32_MAX * MS + MS);
	case 2:
		return handoff_after((uint64_t)UINT32_MAX * MS);
	case 3:
		return INT64_MAX;
	case 4:
		return (uint64_t)INT64_MAX + 1;
	case 5:
		return HANDOFF_NEVER - 1;
	default:
		return HANDOFF_NEVER;
	}
}

/* "name:primitive + PRIMITIVES * deadline" */
static int part_far(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	say("waits");
	OK(primitives[n % PRIMITIVES].wait(r, far_ahead(n / PRIMITIVES)));
	say("done");
	return 0;
}

/* All of one primitive at once, each in a room of its own. */
static void far_for(unsigned i, unsigned policy)
{
	const struct made made = { policy, 0 };
	struct room *r[FAR];
	struct process p[FAR];
	char arg[64];

	for (unsigned n = 0; n < FAR; n++) {
		snprintf(arg, sizeof arg, "far%u", n);
		r[n] = make_room(arg, &made);
		assert_non_null(r[n]);
		if (primitives[i].hold)
			GIVES(primitives[i].hold(r[n]), 0);
		snprintf(arg, sizeof arg, "far%u:%u", n, i + PRIMITIVES * n);
		p[n] = start("far", arg);
		expect(&p[n], "waits");
	}
	sleep_seconds(0.1);
	for (unsigned n = 0; n < FAR; n++)
		if (says_within(&p[n], 0))
			fail_msg("%s, deadline %u", primitives[i].name, n);
	for (unsigned n = 0; n < FAR; n++) {
		GIVES(primitives[i].let_go(r[n]), 0);
		expect(&p[n], "done");
		GIVES(finish(&p[n]), 0);
		snprintf(arg, sizeof arg, "far%u", n);
		close_room(r[n], arg);
	}
}

static void what_is_far_ahead_is_waited_for(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		far_for(i, i % 2 ? HANDOFF_WAIT_ADAPTIVE : HANDOFF_WAIT_BLOCK);
}

static void sums_do_not_overflow(void **state)
{
	static const uint64_t huge[] = { UINT64_MAX, UINT64_MAX - 1,
		UINT64_MAX - 1000 };
	uint64_t now = handoff_now();

	(void)state;
	for (size_t i = 0; i < sizeof huge / sizeof *huge; i++)
		assert_true(handoff_after(huge[i]) == HANDOFF_NEVER);
	assert_true(handoff_after(0) >= now);
	assert_true(handoff_after(INT64_MAX) > (uint64_t)INT64_MAX);
	assert_true(handoff_after(INT64_MAX) < HANDOFF_NEVER);
}

/* ---- What a wait costs --------------------------------------------------- */

/* "name:primitive": G31: waits until a deadline last so long, and sleep. */
static int part_idle(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);
	double cpu = cpu_seconds();

	for (int n = 0; n < 5; n++) {
		uint64_t deadline = soon(0.02);

		RESULT(primitives[i].wait(r, deadline), ETIMEDOUT);
		CHECK(handoff_now() >= deadline);
	}
	CHECK(done_so_far().parks >= 5);
	CHECK(cpu_seconds() - cpu < 0.05);
	return 0;
}

static void a_loop_of_timed_waits_sleeps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make(0, 0);
		struct process p;

		if (primitives[i].hold)
			GIVES(primitives[i].hold(r), 0);
		p = start_with("idle", i);
		if (finish(&p) != 0)
			fail_msg("%s", primitives[i].name);
		if (primitives[i].hold)
			GIVES(primitives[i].let_go(r), 0);
		end(r);
	}
}

/*
 * ns of the spinning or yielding of one wait: all of it but the time parked,
 * which is noted in us.  Of several tries the least: others may run meanwhile,
 * or all of the time, so that one does not come to park.
 */
static uint64_t spun(unsigned policy, uint64_t limit, uint64_t wait_ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0, parked = 0; parked < 5; i++) {
		struct room *r = make(policy, limit);
		uint64_t began = handoff_now();
		uint64_t ns;

		assert_true(i < 50);
		GIVES(handoff_sem_wait_until(&r->sem, began + wait_ns),
		    ETIMEDOUT);
		ns = handoff_now() - began;
		if (statistics_of(&r->sem).contended == 1) {
			ns -= statistics_of(&r->sem).longest;
			least = ns < least ? ns : least;
			parked++;
		}
		end(r);
	}
	return least;
}

/* G35: a budget is a time, whatever a pause takes on this CPU. */
static void spinning_takes_as_long_as_its_limit(void **state)
{
	static const uint64_t limits[] = { 100000, 1000000, 5000000 };

	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		for (unsigned policy = HANDOFF_WAIT_SPIN;
		     policy <= HANDOFF_WAIT_YIELD; policy++) {
			uint64_t ns = spun(policy, limits[i], 30 * MS);

			assert_true(ns + 1000 >= limits[i]);
			assert_true(ns <= 2 * limits[i] + 2 * MS);
		}
	/* The default of both is 500 us, as the most of the adaptive one. */
	assert_true(spun(HANDOFF_WAIT_SPIN, 0, 30 * MS) >= 499000);
	assert_true(spun(HANDOFF_WAIT_SPIN, 0, 30 * MS) <= 3 * MS);
	assert_true(spun(HANDOFF_WAIT_ADAPTIVE, 0, 30 * MS) <= 3 * MS);
	assert_true(spun(HANDOFF_WAIT_BLOCK, 0, 30 * MS) <= 2 * MS);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "late", part_late },
		{ "in time", part_in_time },
		{ "far", part_far },
		{ "idle", part_idle },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_past_is_one_try_that_fails),
		TEST(the_past_is_one_try_that_succeeds_if_it_can),
		TEST(the_last_to_come_is_never_late),
		TEST(what_is_far_ahead_is_waited_for),
		TEST(sums_do_not_overflow),
		TEST(a_loop_of_timed_waits_sleeps),
		TEST(spinning_takes_as_long_as_its_limit),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("deadlines", tests, NULL, NULL));
}
