/* SPDX-License-Identifier: ISC */
/*
 * Semaphore, event and word: what others do between two steps of a call, and
 * how many a wake wakes.  Built against the library with points, in which waits
 * may never look again by themselves, so that a lost wake is a hang.
 */
#define _GNU_SOURCE
#include "jostle.h"
#include "objects.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

/* ---- Parts ------------------------------------------------------------- */

/* One that never looks again by itself. */
static int part_patient(const char *arg)
{
	handoff__slices = 0;
	return part_wait(arg);
}

/* ---- As many as it says, at once and no more ----------------------------- */

/* Patient ones wait; each of these lets so many go, the last one all. */
static void exactly(unsigned kind, const uint32_t *wakes, size_t n, int fenced)
{
	struct room *r = open_room("points");
	union object *o = &r->objects[kind];
	struct process p[4];
	unsigned left = 4;

	start_all(p, left, "patient", argument(kind), 0);
	for (size_t i = 0; i < n; i++) {
		unsigned k = wakes[i] < left ? wakes[i] : left;

		GIVES(kind_let_go(o, kind, wakes[i], fenced), 0);
		GIVES(count_sayers(p, left, k), k);
		while (k-- > 0)
			finish_sayer(p, &left, "done");
	}
	GIVES(left, 0);
	close_room(r, "points");
}

static void each_wake_wakes_as_many_as_it_says(void **state)
{
	static const uint32_t ones[] = { 1, 1, 1, 1 };
	static const uint32_t some[] = { 1, 2, 1 };
	static const uint32_t many[] = { 3, 5 };
	static const uint32_t all[] = { HANDOFF_ALL };
	static const uint32_t four[] = { 4 };

	(void)state;
	exactly(SEM, ones, 4, 0);
	exactly(SEM, some, 3, 0);
	exactly(SEM, four, 1, 0);
	exactly(AUTOMATIC, ones, 4, 0);
	exactly(MANUAL, four, 1, 0);
	for (unsigned kind = WORD32; kind <= WORD64; kind++)
		for (int fenced = 0; fenced < 2; fenced++) {
			exactly(kind, ones, 4, fenced);
			exactly(kind, some, 3, fenced);
			exactly(kind, many, 2, fenced);
			exactly(kind, all, 1, fenced);
		}
}

/* As fast as can be; also where one of five who wait has died. */
static void k_wakes_of_one_wake_k(void **state)
{
	struct room *r = open_room("points");

	(void)state;
	for (unsigned kind = 0; kind < 2 * KINDS; kind++) {
		unsigned which = kind % KINDS;
		union object *o = &r->objects[which];
		struct process p[5];

		if (which == AUTOMATIC || which == MANUAL)
			continue;
		start_all(p, 5, "patient", argument(which), 0);
		if (kind >= KINDS)
			kill_hard(&p[2]);
		for (unsigned i = kind >= KINDS; i < 5; i++)
			give_one(o, which);
		for (unsigned i = 0; i < 5; i++)
			if (i != 2 || kind < KINDS) {
				expect(&p[i], "done");
				GIVES(finish(&p[i]), 0);
			}
		kind_empty(o, which);
	}
	close_room(r, "points");
}

/* ---- A waiter that is stopped ------------------------------------------- */

/* G05: what is given is had by the other one, also if a wake should have gone
 * to the first. */
static void a_stopped_waiter_holds_up_nobody(void **state)
{
	struct room *r = open_room("points");

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		union object *o = &r->objects[kind];
		struct process p[WAITERS];

		start_all(p, WAITERS, "wait", argument(kind), 0);
		stop_process(&p[0]);
		sleep_seconds(0.005);
		give_one(o, kind);
		expect_within(&p[1], "done", BOUND);
		GIVES(finish(&p[1]), 0);
		continue_process(&p[0]);
		give_one(o, kind);
		expect(&p[0], "done");
		GIVES(finish(&p[0]), 0);
		kind_empty(o, kind);
	}
	close_room(r, "points");
}

/* ---- One that is woken too late ------------------------------------------ */

static union object *stolen;
static unsigned stolen_kind;
static uint64_t deadline;

/* Once there is something, which has woken this one: another takes it, and the
 * deadline passes. */
static void steal(void)
{
	handoff__point_hook = NULL;
	if (is_word(stolen_kind) ?
	        word_load(stolen, stolen_kind == WORD64) == 0 :
	        kind_wait(stolen, stolen_kind, 0) != 0) {
		handoff__point_hook = steal;
		return;
	}
	if (is_word(stolen_kind))
		word_exchange(stolen, stolen_kind == WORD64, 0);
	say("stolen");
	while (handoff_now() <= deadline)
		sleep_seconds(0.001);
}

static int part_robbed(const char *arg)
{
	struct room *r = join_room(arg, &stolen_kind);

	handoff__slices = 0;
	stolen = &r->objects[stolen_kind];
	deadline = soon(0.6);
	handoff__point_hook = steal;
	say("waits");
	RESULT(kind_wait(stolen, stolen_kind, deadline), ETIMEDOUT);
	handoff__point_hook = NULL;
	say("late");
	return 0;
}

/* The next wake is for the others. */
static void who_gives_up_leaves_word_for_the_others(void **state)
{
	static const unsigned which[] = { SEM, AUTOMATIC, WORD32, WORD64 };
	struct room *r = open_room("points");

	(void)state;
	for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
		union object *o = &r->objects[which[i]];
		struct process v = start_parked("robbed", argument(which[i]));
		struct process p = start_parked("patient", argument(which[i]));

		give_one(o, which[i]);
		expect(&v, "stolen");
		expect(&v, "late");
		GIVES(finish(&v), 0);
		give_one(o, which[i]);
		expect_within(&p, "done", BOUND);
		GIVES(finish(&p), 0);
		kind_empty(o, which[i]);
	}
	close_room(r, "points");
}

/* ---- A wake that comes at a slice's end ---------------------------------- */

static union object *undone;
static double since;

/* Once, when the first park has ended by itself, and from then on never again:
 * a change, its wake and another change before this one looks. */
static void change_and_undo(void)
{
	if (seconds_now() < since + 0.15)
		return;
	handoff__point_hook = NULL;
	handoff__slices = 0;
	OK(handoff_word32_exchange(&undone->word32, 1) == 0 ? 0 : EINVAL);
	OK(handoff_word32_wake(&undone->word32, 1));
	handoff_word32_store(&undone->word32, 0);
	say("undone");
}

static int part_undone(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	undone = &r->objects[WORD32];
	since = seconds_now();
	handoff__point_hook = change_and_undo;
	say("waits");
	OK(handoff_word32_wait(&undone->word32, 0));
	say("done");
	return 0;
}

/* It was for nobody; the next one is given all the same. */
static void a_wake_at_a_slices_end_does_not_hide_the_next(void **state)
{
	struct room *r = open_room("points");
	struct process p = start_parked("undone", "points:3");

	(void)state;
	expect(&p, "undone");
	until_asleep(p.pid);
	give_one(&r->objects[WORD32], WORD32);
	expect_within(&p, "done", BOUND);
	GIVES(finish(&p), 0);
	close_room(r, "points");
}

/* ---- Nothing is touched that has been given away ------------------------- */

static union object *given;
static uint32_t was;
static unsigned hidden;

/* Its page goes as soon as another can have taken what was given. */
static void hide(void)
{
	if (hidden || (word_of(given) & ~MARK) == was)
		return;
	hidden++;
	hide_page(given);
}

static int part_hide(const char *arg)
{
	unsigned kind;
	struct room *r = join_room(arg, &kind);

	given = &r->objects[kind];
	was = word_of(given) & ~MARK;
	handoff__point_hook = hide;
	OK(kind_let_go(given, kind, 1, 0));
	handoff__point_hook = NULL;
	CHECK(hidden == 1);
	return 0;
}

/* G15: by one who still has somebody to wake; no system wakes by what is hidden,
 * so that the waiter finds it by itself. */
static void what_was_given_is_not_touched_any_more(void **state)
{
	struct room *r = open_room("points");

	(void)state;
	for (unsigned kind = SEM; kind <= AUTOMATIC; kind++) {
		union object *o = &r->objects[kind];
		struct process q = start_parked("wait", argument(kind));
		struct process p = start("hide", argument(kind));

		GIVES(finish(&p), 0);
		expect(&q, "done");
		GIVES(finish(&q), 0);
		GIVES(kind_wait(o, kind, 0), ETIMEDOUT);
	}
	close_room(r, "points");
}

/* ---- A write and its wake, against a mark and its look ------------------- */

static struct room *fence_room(const char *arg, unsigned *kind)
{
	struct room *r = join_room(arg, kind);

	handoff__slices = 0;
	seed_chance(*kind);
	say("ready");
	await("go");
	return r;
}

/* Each round is a wait that begins at any moment of the other's write. */
static int part_waits_for_fenced(const char *arg)
{
	unsigned kind;
	struct room *r = fence_room(arg, &kind);

	for (uint32_t i = 0; !atomic_load(&r->stop); i++) {
		atomic_store(&r->begins, i + 1);
		OK(word_wait(&r->objects[kind], kind == WORD64, i,
		    HANDOFF_NEVER));
		atomic_store(&r->ends, i + 1);
	}
	return 0;
}

/* `fenced`: by a write that the wake must put in order. */
static int wake_each(const char *arg, int fenced)
{
	unsigned kind;
	struct room *r = fence_room(arg, &kind);
	union object *o = &r->objects[kind];

	for (uint32_t i = 1; !atomic_load(&r->stop); i++) {
		while (atomic_load(&r->begins) != i)
			if (atomic_load(&r->stop))
				return 0;
		for (volatile uint32_t n = chance(150); n > 0;)
			n = n - 1;
		if (fenced)
			word_release(o, kind == WORD64, i);
		else
			word_exchange(o, kind == WORD64, i);
		OK(word_wake(o, kind == WORD64, 1, fenced));
		while (atomic_load(&r->ends) != i)
			sched_yield();
	}
	return 0;
}

static int part_wakes(const char *arg)
{
	return wake_each(arg, 0);
}

static int part_wakes_fenced(const char *arg)
{
	return wake_each(arg, 1);
}

static void collide(const char *waker, unsigned kind)
{
	struct room *r = open_room("points");
	struct process p[2] = { start("waits for fenced", argument(kind)),
		start(waker, argument(kind)) };

	for (int i = 0; i < 2; i++)
		expect(&p[i], "ready");
	for (int i = 0; i < 2; i++)
		tell(&p[i], "go");
	watch_progress(&r->ends, 0.5, 1000);
	/* The waiter ends by itself once it is let go. */
	atomic_store(&r->stop, 1);
	GIVES(finish(&p[1]), 0);
	word_exchange(&r->objects[kind], kind == WORD64, 0xffffffffu);
	GIVES(word_wake(&r->objects[kind], kind == WORD64, HANDOFF_ALL, 0), 0);
	GIVES(finish(&p[0]), 0);
	close_room(r, "points");
}

static void a_wake_finds_who_did_not_see_the_write(void **state)
{
	(void)state;
	collide("wakes", WORD32);
	collide("wakes", WORD64);
}

static void a_fenced_wake_finds_who_did_not_see_a_weak_write(void **state)
{
	(void)state;
	collide("wakes fenced", WORD32);
	collide("wakes fenced", WORD64);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "patient", part_patient },
		{ "robbed", part_robbed },
		{ "undone", part_undone },
		{ "hide", part_hide },
		{ "waits for fenced", part_waits_for_fenced },
		{ "wakes", part_wakes },
		{ "wakes fenced", part_wakes_fenced },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_wake_wakes_as_many_as_it_says),
		TEST(k_wakes_of_one_wake_k),
		TEST(a_stopped_waiter_holds_up_nobody),
		TEST(who_gives_up_leaves_word_for_the_others),
		TEST(a_wake_at_a_slices_end_does_not_hide_the_next),
		TEST(what_was_given_is_not_touched_any_more),
		TEST(a_wake_finds_who_did_not_see_the_write),
		TEST(a_fenced_wake_finds_who_did_not_see_a_weak_write),
	};

	/* Each object says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("words_between", tests, NULL, NULL));
}
