/* SPDX-License-Identifier: ISC */
/*
 * Semaphore, event and word, killed at every point: a victim plays a scenario
 * and kills itself at its n-th point, for n = 1, 2, ... until it survives.
 * After each death whoever waits is let go by what there is, without any help,
 * and the object works.  Built against the library with points.
 */
#define _GNU_SOURCE
#include "fatal.h"
#include "objects.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET 0x40000000u /* of an event */

/* ---- The victim -------------------------------------------------------- */

enum play { WAIT, SPIN, LATE, TRY, GIVE, GIVE_ALL, FENCED, PULSE };

static void play_give(union object *o, unsigned kind, unsigned play)
{
	switch (play) {
	case GIVE:
		OK(kind_let_go(o, kind, 1, 0));
		break;
	case GIVE_ALL:
		OK(kind_let_go(o, kind, is_word(kind) ? HANDOFF_ALL : WAITERS,
		    0));
		break;
	case FENCED:
		OK(kind_let_go(o, kind, WAITERS, 1));
		break;
	default:
		OK(handoff_event_set(&o->event));
		OK(handoff_event_reset(&o->event));
		break;
	}
}

/* "points:kind play n" */
static int part_victim(const char *arg)
{
	unsigned play;
	unsigned kind;
	struct room *r = join_room(arg, &kind);
	union object *o = &r->objects[kind];

	CHECK(sscanf(strchr(arg, ' '), "%u %u", &play, &fatal) == 2);
	if (play == SPIN)
		CHECK(setenv("HANDOFF_WAIT", "spin:900ms", 1) == 0);
	say("waits");
	count_points();
	if (play == WAIT || play == SPIN)
		OK(kind_wait(o, kind, HANDOFF_NEVER));
	else if (play == LATE)
		RESULT(kind_wait(o, kind, soon(0.005)), ETIMEDOUT);
	else if (play == TRY)
		OK(kind_wait(o, kind, 0));
	else
		play_give(o, kind, play);
	count_no_more();
	return 0;
}

static struct process start_victim(unsigned kind, unsigned play, unsigned n)
{
	char arg[64];
	struct process p;

	snprintf(arg, sizeof arg, "points:%u %u %u", kind, play, n);
	p = start("victim", arg);
	expect(&p, "waits");
	return p;
}

/* ---- What there is ----------------------------------------------------- */

/* How many waits would end now; MOST: all. */
static unsigned there_is(const union object *o, unsigned kind)
{
	uint32_t n;

	if (kind == SEM) {
		GIVES(handoff_sem_value(&o->sem, &n), 0);
		return n;
	}
	if (is_word(kind))
		return word_load(o, kind == WORD64) != 0 ? MOST : 0;
	if (!(word_of(o) & SET))
		return 0;
	return kind == MANUAL ? MOST : 1;
}

static unsigned count_done(struct process *p, unsigned n)
{
	unsigned done = 0;

	for (unsigned i = 0; i < n; i++)
		done += says_within(&p[i], 0) != 0;
	return done;
}

/* Somebody takes it, within the time that a slice may last. */
static void until_taken(const union object *o, unsigned kind)
{
	double end = seconds_now() + BOUND;

	while (there_is(o, kind) > 0) {
		if (seconds_now() > end)
			fail_msg("%s: nobody takes what there is",
			    kinds[kind].name);
		sleep_seconds(0.0005);
	}
}

/* Whether one of them has been let go, within that time. */
static int one_is_done(struct process *p, unsigned n, double seconds)
{
	double end = seconds_now() + seconds;

	while (count_done(p, n) == 0) {
		if (seconds_now() > end)
			return 0;
		sleep_seconds(0.001);
	}
	return 1;
}

/*
 * Without any help all of the `n` are let go, or there is nothing left for
 * them to have.  Then they get what they need, and all are let go.
 */
static void assert_progress(union object *o, unsigned kind, struct process *p,
    unsigned n)
{
	double end = seconds_now() + BOUND;

	while (there_is(o, kind) > 0 && count_done(p, n) < n) {
		if (seconds_now() > end)
			fail_msg("%s: nobody takes what there is",
			    kinds[kind].name);
		sleep_seconds(0.001);
	}
	while (n > 0) {
		if (!one_is_done(p, n, 0.02))
			give_one(o, kind);
		assert_true(one_is_done(p, n, BOUND));
		finish_sayer(p, &n, "done");
	}
	kind_empty(o, kind);
}

/* Whatever happened before. */
static void assert_usable(union object *o, unsigned kind)
{
	struct process p[WAITERS];

	start_all(p, WAITERS, "wait", argument(kind), 0);
	GIVES(kind_let_go(o, kind, WAITERS, 0), 0);
	if (kind == AUTOMATIC) {
		until_taken(o, kind);
		give_one(o, kind);
	}
	for (unsigned i = 0; i < WAITERS; i++) {
		expect_within(&p[i], "done", BOUND);
		GIVES(finish(&p[i]), 0);
	}
	kind_empty(o, kind);
}

/* ---- Scenarios --------------------------------------------------------- */

struct scenario {
	unsigned kind;
	unsigned play;
	unsigned least; /* so many points at the least */
};

/* A victim that waits, beside others: the first wake is for who came first, the
 * second for the victim, as far as it still is there. */
static int run_waiter(const struct scenario *x, union object *o, unsigned n)
{
	struct process p[WAITERS];
	struct process v;
	int alive;

	p[0] = start_parked("wait", argument(x->kind));
	v = start_victim(x->kind, x->play, n);
	if (x->play == SPIN)
		sleep_seconds(0.005);
	else
		until_asleep(v.pid);
	p[1] = start_parked("wait", argument(x->kind));
	give_one(o, x->kind);
	if (x->kind == SEM || x->kind == AUTOMATIC)
		until_taken(o, x->kind);
	give_one(o, x->kind);
	assert_progress(o, x->kind, p, WAITERS);
	give_one(o, x->kind); /* if the victim still waits */
	alive = survived(&v);
	kind_empty(o, x->kind);
	return alive;
}

/* A victim that takes what there is. */
static int run_alone(const struct scenario *x, union object *o, unsigned n)
{
	struct process v;
	int alive;

	give_one(o, x->kind);
	v = start_victim(x->kind, x->play, n);
	alive = survived(&v);
	kind_empty(o, x->kind);
	return alive;
}

/* A victim that gives up at its deadline, beside others that wait. */
static int run_late(const struct scenario *x, union object *o, unsigned n)
{
	struct process p[WAITERS];
	struct process v;
	int alive;

	p[0] = start_parked("wait", argument(x->kind));
	v = start_victim(x->kind, x->play, n);
	p[1] = start_parked("wait", argument(x->kind));
	alive = survived(&v);
	give_one(o, x->kind);
	assert_progress(o, x->kind, p, WAITERS);
	return alive;
}

/* A victim that lets others go. */
static int run_giver(const struct scenario *x, union object *o, unsigned n)
{
	uint32_t before = word_of(o) & ~MARK;
	struct process p[WAITERS];
	struct process v;
	int alive;

	start_all(p, WAITERS, "wait", argument(x->kind), 0);
	v = start_victim(x->kind, x->play, n);
	alive = survived(&v);
	/* Once there was enough for all, all have it, also after a reset. */
	if (x->play == PULSE ? (word_of(o) & ~MARK) != before :
	                       alive && x->play != GIVE)
		for (unsigned i = 0; i < WAITERS; i++)
			assert_true(says_within(&p[i], BOUND));
	assert_progress(o, x->kind, p, WAITERS);
	return alive;
}

static int run(const struct scenario *x, union object *o, unsigned n)
{
	switch (x->play) {
	case WAIT:
	case SPIN:
		return run_waiter(x, o, n);
	case LATE:
		return run_late(x, o, n);
	case TRY:
		return run_alone(x, o, n);
	default:
		return run_giver(x, o, n);
	}
}

static void walk(const struct scenario *x)
{
	struct room *r = open_room("points");
	union object *o = &r->objects[x->kind];
	unsigned n = 0;
	int alive;

	do {
		alive = run(x, o, ++n);
		assert_usable(o, x->kind);
	} while (!alive && n < MOST);
	print_message("%s, %u: %u points\n", kinds[x->kind].name, x->play,
	    n - 1);
	assert_true(alive);
	assert_true(n - 1 >= x->least);
	close_room(r, "points");
	GIVES(count_names(), 0);
}

static const struct scenario scenarios[] = {
	{ SEM, WAIT, 5 },
	{ SEM, SPIN, 2 },
	{ SEM, LATE, 3 },
	{ SEM, TRY, 2 },
	{ SEM, GIVE, 2 },
	{ SEM, GIVE_ALL, 2 },
	{ AUTOMATIC, WAIT, 5 },
	{ AUTOMATIC, SPIN, 2 },
	{ AUTOMATIC, LATE, 3 },
	{ AUTOMATIC, TRY, 2 },
	{ AUTOMATIC, GIVE, 2 },
	{ MANUAL, WAIT, 3 },
	{ MANUAL, LATE, 3 },
	{ MANUAL, GIVE_ALL, 2 },
	{ MANUAL, PULSE, 2 },
	{ WORD32, WAIT, 6 },
	{ WORD32, LATE, 6 },
	{ WORD32, GIVE, 2 },
	{ WORD32, GIVE_ALL, 2 },
	{ WORD32, FENCED, 2 },
	{ WORD64, WAIT, 6 },
	{ WORD64, GIVE_ALL, 2 },
};

#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

static void walk_all(unsigned kind)
{
	for (size_t i = 0; i < SCENARIOS; i++)
		if (scenarios[i].kind == kind)
			walk(&scenarios[i]);
}

#define WALKS(test, kind)              \
	static void test(void **state) \
	{                              \
		(void)state;           \
		walk_all(kind);        \
	}

WALKS(a_death_at_a_semaphore_costs_nobody_anything, SEM)
WALKS(a_death_at_an_event_costs_nobody_anything, AUTOMATIC)
WALKS(a_death_at_an_event_with_manual_reset_costs_nobody_anything, MANUAL)
WALKS(a_death_at_a_word_costs_nobody_anything, WORD32)
WALKS(a_death_at_a_word_of_64_bits_costs_nobody_anything, WORD64)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "victim", part_victim },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_death_at_a_semaphore_costs_nobody_anything),
		TEST(a_death_at_an_event_costs_nobody_anything),
		TEST(
		    a_death_at_an_event_with_manual_reset_costs_nobody_anything),
		TEST(a_death_at_a_word_costs_nobody_anything),
		TEST(a_death_at_a_word_of_64_bits_costs_nobody_anything),
	};

	/* Each object says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("words_points", tests, NULL, NULL));
}
