/* SPDX-License-Identifier: ISC */
/*
 * Who sleeps is woken from another process, in which the object lies at another
 * address, by everything that ends a wait (G11, G39), also when it has slept
 * for long (G33).  Slices never end here: a lost wake is a hang.
 */
#include "points.h"
#include "primitives.h"
#include "still.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 25
#define LONG_EVERY 5
#define LONG 0.06 /* s, after which a CPU and its caches have other things */

static void by_address(const void *at)
{
	char text[32];

	snprintf(text, sizeof text, "%p", at);
	setenv("ROOM_AT", text, 1);
}

/* "name:primitive" */
static int part_sleep(const char *arg)
{
	const char *at = getenv("ROOM_AT");
	struct room *r;
	unsigned i;

	CHECK(at != NULL);
	keep_clear_of(at, sizeof(struct room));
	r = join_room(arg, &i);
	CHECK((uintptr_t)r != (uintptr_t)strtoull(at, NULL, 16));
	handoff__slices = 0;
	for (int n = 0; n < ROUNDS; n++) {
		await("sleep");
		say("sleeps");
		OK(primitives[i].wait(r, HANDOFF_NEVER));
		say("awake");
	}
	return 0;
}

static double by_time(const struct primitive *x, struct room *r,
    struct process *p, int n)
{
	double began;

	if (x->hold)
		GIVES(x->hold(r), 0);
	tell(p, "sleep");
	expect(p, "sleeps");
	until_asleep(p->pid);
	if (n % LONG_EVERY == 0)
		sleep_seconds(LONG);
	began = seconds_now();
	GIVES(x->let_go(r), 0);
	expect(p, "awake");
	return seconds_now() - began;
}

static void whoever_sleeps_is_woken_at_another_address(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		const struct made made = { HANDOFF_WAIT_BLOCK, 0 };
		struct room *r = make_room("asleep", &made);
		struct process p;
		char arg[32];
		double longest = 0;

		assert_non_null(r);
		by_address(r);
		snprintf(arg, sizeof arg, "asleep:%u", i);
		p = start("sleep", arg);
		handoff__slices = 0;
		for (int n = 0; n < ROUNDS; n++) {
			double took = by_time(&primitives[i], r, &p, n);

			longest = took > longest ? took : longest;
		}
		GIVES(finish(&p), 0);
		print_message("%s: %.3f ms at the most\n", primitives[i].name,
		    longest * 1e3);
		assert_true(longest < 2);
		close_room(r, "asleep");
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "sleep", part_sleep },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
		    whoever_sleeps_is_woken_at_another_address,
		    processes_teardown),
	};

	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("asleep", tests, NULL, NULL));
}
