/* SPDX-License-Identifier: ISC */
/*
 * One who waits for any of several killed at every point: nothing is lost but
 * what it took.
 */
#define _GNU_SOURCE
#include "victims.h"
#include "system.h"

#include <errno.h>
#include <stdlib.h>

struct room {
	handoff_sem sem[2];
	handoff_event event;
	handoff_word32 word;
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *unused)
{
	struct room *r = memory;
	int e[] = { handoff_sem_init(&r->sem[0], 0, NULL),
		handoff_sem_init(&r->sem[1], 0, NULL),
		handoff_event_init(&r->event, NULL),
		handoff_word32_init(&r->word, 0, NULL) };

	(void)bytes;
	(void)unused;
	for (size_t i = 0; i < sizeof e / sizeof *e; i++)
		if (e[i] != 0)
			return e[i];
	return 0;
}

/* ---- Parts --------------------------------------------------------------- */

static void any_sem(struct room *r)
{
	struct handoff_item items[2] = { { &r->sem[0], 0 }, { &r->sem[1], 0 } };
	size_t which;

	arm();
	OK(handoff_wait_any(items, 2, &which));
}

static void any_late(struct room *r)
{
	struct handoff_item items[3] = { { &r->sem[0], 0 }, { &r->sem[1], 0 },
		{ &r->event, 0 } };
	size_t which;

	arm();
	RESULT(handoff_wait_any_until(items, 3, &which, soon(0.01)), ETIMEDOUT);
}

static void any_event(struct room *r)
{
	struct handoff_item items[2] = { { &r->event, 0 }, { &r->word, 0 } };
	size_t which;

	arm();
	OK(handoff_wait_any(items, 2, &which));
}

/* "points:i": takes one of a semaphore, or, as 2, waits for the event. */
static int part_taker(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	say("waits");
	OK(i == 2 ? handoff_event_wait(&r->event) :
	            handoff_sem_wait(&r->sem[i]));
	say("took");
	return 0;
}

/* ---- Scenarios ----------------------------------------------------------- */

static uint32_t value(struct room *r, unsigned i)
{
	uint32_t is;

	assert_int_equal(handoff_sem_value(&r->sem[i], &is), 0);
	return is;
}

/* One who waits for this alone comes through: with what there is, or if the
 * victim has taken that, with one more.  How many more. */
static unsigned come_through(struct room *r, struct process *p, unsigned i)
{
	double until = seconds_now() + BOUND;
	unsigned more = 0;

	while (!says_within(p, 0.02)) {
		assert_true(seconds_now() < until);
		if (value(r, i) == 0 && more == 0) {
			assert_int_equal(handoff_sem_post(&r->sem[i], 1), 0);
			more = 1;
		}
	}
	expect(p, "took");
	assert_int_equal(finish(p), 0);
	return more;
}

/* Two others wait for one each; one of each is posted.  All that is posted is
 * taken or still there, but for what the victim took along. */
static int run_any(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	struct process p[2];
	unsigned posted = 2;
	unsigned left;
	int late = x->play == any_late;
	int alive = 0;

	if (x->last)
		for (unsigned i = 0; i < 2; i++)
			p[i] = start_other("taker", i, 0);
	go(&v);
	if (late)
		alive = survived(&v);
	if (!x->last)
		for (unsigned i = 0; i < 2; i++)
			p[i] = start_other("taker", i, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(handoff_sem_post(&r->sem[(i + n) % 2], 1), 0);
	for (unsigned i = 0; i < 2; i++)
		posted += come_through(r, &p[i], i);
	if (!late) {
		/* Both may have been taken from under its nose. */
		assert_int_equal(handoff_sem_post(&r->sem[n % 2], 1), 0);
		posted++;
		alive = survived(&v);
	}
	left = value(r, 0) + value(r, 1);
	assert_true(left == posted - 2 || (!late && left == posted - 3));
	if (alive && !late)
		assert_int_equal(left, posted - 3);
	return alive;
}

static int run_any_ready(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	int alive;

	assert_int_equal(handoff_sem_post(&r->sem[1], 1), 0);
	go(&v);
	alive = survived(&v);
	assert_true(value(r, 1) == 0 || !alive);
	assert_true(value(r, 1) <= 1);
	return alive;
}

/* Event and word: one other waits for the event. */
static int run_any_event(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	struct process p;
	int alive;

	go(&v);
	p = start_other("taker", 2, 0);
	if (n % 2)
		handoff_word32_store(&r->word, 1);
	assert_int_equal(handoff_event_set(&r->event), 0);
	handoff_word32_store(&r->word, 1);
	assert_int_equal(handoff_word32_wake(&r->word, HANDOFF_ALL), 0);
	alive = survived(&v);
	if (!says_within(&p, 0.1) &&
	    handoff_event_trywait(&r->event) == EBUSY) {
		/* The victim has taken it. */
		assert_int_equal(handoff_event_set(&r->event), 0);
	} else if (!says_within(&p, 0)) {
		/* It is still set: back with it. */
		assert_int_equal(handoff_event_set(&r->event), 0);
	}
	expect_within(&p, "took", BOUND);
	assert_int_equal(finish(&p), 0);
	return alive;
}

static const struct scenario scenarios[] = {
	{ "any_first", any_sem, run_any, 0, 5 },
	{ "any_last", any_sem, run_any, 1, 5 },
	{ "any_late", any_late, run_any, 0, 4 },
	{ "any_ready", any_sem, run_any_ready, 0, 1 },
	{ "any_event", any_event, run_any_event, 0, 6 },
};

#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

static int part_victim(const char *arg)
{
	return play_victim(arg, scenarios, SCENARIOS);
}

WALKS(a_death_while_waiting_for_any_loses_nothing_else, 0, SCENARIOS)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "victim", part_victim },
		{ "taker", part_taker },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_death_while_waiting_for_any_loses_nothing_else),
	};

	PROCESSES_BEGIN(argc, argv, parts, 150);
	/* Parked as soon as can be, so that the slow paths are walked. */
	setenv("HANDOFF_WAIT", "block", 1);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
