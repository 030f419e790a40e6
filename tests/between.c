/* SPDX-License-Identifier: ISC */
/*
 * What others do between two steps of a call.  Built against the library with
 * points, at which they do it.
 */
#define _GNU_SOURCE
#include "takers.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

#define CREATE HANDOFF_CREATE
#define WORD 8 /* of a mutex, in words of 32 bits */
#define OWNER 0x3fffffffu

/* ---- One that unlocks -------------------------------------------------- */

static _Atomic uint32_t *word;
static uint32_t mine;
static unsigned hidden;

/* The mutex's page goes as soon as another can have it. */
static void hide(void)
{
	if (hidden || (atomic_load(word) & OWNER) == mine)
		return;
	hidden++;
	hide_page(word);
}

static void show(void)
{
	CHECK(hidden == 1);
	hidden = 0;
	show_page(word);
}

static int unlock_and_hide(const char *what)
{
	struct shared *s = get_shared();

	word = (_Atomic uint32_t *)(void *)&s->mutex + WORD;
	lock_and_repair(s);
	meet("held");
	mine = atomic_load(word) & OWNER;
	s->ready++;
	if (strcmp(what, "signal") == 0)
		OK(handoff_cond_signal(&s->cond));
	if (strcmp(what, "broadcast") == 0)
		OK(handoff_cond_broadcast(&s->cond));
	handoff__point_hook = hide;
	OK(handoff_mutex_unlock(&s->mutex));
	handoff__point_hook = NULL;
	show();
	return 0;
}

/* G04, G15: nothing, once it is given away; with a waiter or without. */
static void an_unlock_touches_nothing_that_it_has_given_away(void **state)
{
	static const char *const what[] = { "", "signal", "broadcast" };
	struct shared *s;

	(void)state;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	for (size_t i = 0; i < 6; i++) {
		struct process p = start("unlock_and_hide", what[i % 3]);
		struct process q;

		expect(&p, "held");
		q = start("locker", NULL);
		expect(&q, "locking");
		sleep_seconds(i < 3 ? 0.02 : 0);
		tell(&p, "go");
		assert_int_equal(finish(&p), 0);
		finish_within(&q, 2);
		/* The same with a waiter of the condition. */
		q = start_taker(s);
		sleep_seconds(0.01);
		lock_and_repair(s);
		s->ready = 0;
		assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
		p = start("unlock_and_hide", what[i % 2 + 1]);
		expect(&p, "held");
		tell(&p, "go");
		assert_int_equal(finish(&p), 0);
		finish_within(&q, 2);
	}
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("points"), 0);
}

/* ---- A recovery with others parked ---------------------------------------- */

/* Waits without ever looking again by itself. */
static int patient_locker(const char *unused)
{
	handoff__slices = 0;
	return locker(unused);
}

/* G09: the mark survives a recovery, and the wake that it stands for comes. */
static void a_recovery_keeps_the_mark_of_those_who_wait(void **state)
{
	struct shared *s;

	(void)state;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	for (int i = 0; i < 4; i++) {
		struct process owner = start("hold_for_ever", NULL);
		struct process q[2];

		expect(&owner, "held");
		for (int k = 0; k < 2; k++) {
			q[k] = start("patient_locker", NULL);
			expect(&q[k], "locking");
		}
		sleep_seconds(0.05);
		kill_hard(&owner);
		assert_int_equal(i % 2 ? handoff_mutex_trylock(&s->mutex) :
		                         handoff_mutex_lock(&s->mutex),
		    EOWNERDEAD);
		assert_int_equal(handoff_mutex_consistent(&s->mutex), 0);
		assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
		finish_within(&q[0], 2);
		finish_within(&q[1], 2);
	}
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("points"), 0);
}

static void *hold_for_a_while(void *arg)
{
	struct shared *s = arg;
	int e = handoff_mutex_lock(&s->mutex);

	sleep_seconds(0.2);
	return (void *)(intptr_t)e;
}

/* The thread ends, its process lives: the waiter is woken, and told. */
static void the_end_of_a_thread_wakes_one_who_waits(void **state)
{
	pthread_t thread;
	struct process q;
	struct shared *s;
	void *result;

	(void)state;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_for_a_while, s), 0);
	sleep_seconds(0.05);
	q = start("patient_locker", NULL);
	expect(&q, "locking");
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	finish_within(&q, 2);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("points"), 0);
}

/* Nobody will ever hold it: all who are parked learn so, not one alone. */
static void a_lost_mutex_wakes_all_who_wait(void **state)
{
	struct process owner = start("hold_for_ever", NULL);
	struct process q[3];
	struct shared *s;

	(void)state;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	expect(&owner, "held");
	for (int k = 0; k < 3; k++) {
		q[k] = start("patient_loser", NULL);
		expect(&q[k], "locking");
	}
	sleep_seconds(0.05);
	kill_hard(&owner);
	assert_int_equal(handoff_mutex_lock(&s->mutex), EOWNERDEAD);
	assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	for (int k = 0; k < 3; k++)
		finish_within(&q[k], 2);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("points"), 0);
}

static int patient_loser(const char *unused)
{
	struct shared *s = get_shared();

	(void)unused;
	handoff__slices = 0;
	say("locking");
	RESULT(handoff_mutex_lock(&s->mutex), ENOTRECOVERABLE);
	say("done");
	return 0;
}

/* ---- Opening while the name is removed -------------------------------------- */

static char path[300];
static unsigned removals;

/* Once, between finding the file and joining it. */
static void remove_name(void)
{
	if (removals++ == 0)
		unlink(path);
}

/* Who finds a file whose name goes meanwhile starts over. */
static void an_opener_does_not_get_what_has_lost_its_name(void **state)
{
	struct handoff_info info = { .size = sizeof info };
	struct handoff_info first = { .size = sizeof first };
	struct process keeper = start("keeper", NULL);
	struct shared *s;

	(void)state;
	expect(&keeper, "open");
	snprintf(path, sizeof path, "%s/handoff.points", run_directory());
	handoff__point_hook = remove_name;
	removals = 0;
	assert_int_equal(open_shared(&s, "points", 0), ENOENT);
	assert_int_equal(removals, 1);
	handoff__point_hook = NULL;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	assert_int_equal(handoff_info(s, &first), 0);
	assert_int_equal(handoff_close(s), 0);
	handoff__point_hook = remove_name;
	removals = 0;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	assert_true(removals >= 1);
	handoff__point_hook = NULL;
	assert_int_equal(handoff_info(s, &info), 0);
	assert_int_equal(info.detached, 0);
	assert_int_equal(info.created, 1);
	assert_int_equal(info.users, 1);
	assert_true(info.id != first.id);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("points"), 0);
	tell(&keeper, "end");
	assert_int_equal(finish(&keeper), 0);
}

static int keeper(const char *unused)
{
	(void)unused;
	get_shared();
	say("open");
	await("end");
	return 0;
}

static struct process winner;

/* Once, between init and giving the name: another one gets it. */
static void take_name(void)
{
	if (removals++ != 1)
		return;
	winner = start("keeper", NULL);
	expect(&winner, "open");
}

static void end_winner(void)
{
	tell(&winner, "end");
	assert_int_equal(finish(&winner), 0);
}

/* G18: who loses the race for the name gets the winner's. */
static void the_loser_of_the_race_opens_the_winners(void **state)
{
	struct handoff_info info = { .size = sizeof info };
	unsigned descriptors = count_descriptors();
	struct shared *s;

	(void)state;
	handoff__point_hook = take_name;
	removals = 0;
	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	handoff__point_hook = NULL;
	assert_true(removals > 1);
	assert_int_equal(handoff_info(s, &info), 0);
	assert_int_equal(info.created, 0);
	assert_int_equal(info.detached, 0);
	assert_int_equal(handoff_close(s), 0);
	unlink_name("points");
	end_winner();
	handoff__point_hook = take_name;
	removals = 0;
	assert_int_equal(open_shared(&s, "points", CREATE | HANDOFF_EXCLUSIVE),
	    EEXIST);
	handoff__point_hook = NULL;
	assert_null(s);
	end_winner();
	assert_int_equal(unlink_name("points"), 0);
	assert_int_equal(count_names(), 0);
	assert_int_equal(count_descriptors(), descriptors);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "locker", locker },
		{ "taker", taker },
		{ "unlock_and_hide", unlock_and_hide },
		{ "patient_locker", patient_locker },
		{ "patient_loser", patient_loser },
		{ "hold_for_ever", hold_for_ever },
		{ "keeper", keeper },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_unlock_touches_nothing_that_it_has_given_away),
		TEST(a_recovery_keeps_the_mark_of_those_who_wait),
		TEST(the_end_of_a_thread_wakes_one_who_waits),
		TEST(a_lost_mutex_wakes_all_who_wait),
		FILE_TEST(an_opener_does_not_get_what_has_lost_its_name),
		TEST(the_loser_of_the_race_opens_the_winners),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	/* Parked as soon as can be: an unlock that has somebody to wake. */
	setenv("HANDOFF_WAIT", "block", 1);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
