/* SPDX-License-Identifier: ISC */
/*
 * Killed at every point (G03, G20): a victim plays a scenario and kills itself
 * at its n-th point, for n = 1, 2, ... until it survives.  After each death the
 * next one gets the mutex, is told of the death at most once, and the condition
 * and the name work.  Built against the library with points.
 */
#define _GNU_SOURCE
#include "fatal.h"
#include "still.h"
#include "takers.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREATE HANDOFF_CREATE

/* ---- The victim -------------------------------------------------------- */

static void play_create(void)
{
	struct shared *s;

	count_points();
	OK(open_shared(&s, "new", CREATE));
}

static void play_open(void)
{
	struct shared *s;

	count_points();
	OK(open_shared(&s, "points", 0));
}

static void play_lock(void)
{
	struct shared *s = get_shared();

	count_points();
	OK(handoff_mutex_lock(&s->mutex));
	OK(handoff_mutex_unlock(&s->mutex));
}

static void play_try(void)
{
	struct shared *s = get_shared();

	count_points();
	OK(handoff_mutex_trylock(&s->mutex));
	OK(handoff_mutex_unlock(&s->mutex));
}

/* The parent holds it. */
static void play_contended(void)
{
	struct shared *s = get_shared();

	say("begin");
	count_points();
	OK(handoff_mutex_lock(&s->mutex));
	OK(handoff_mutex_unlock(&s->mutex));
}

static void play_spinning(void)
{
	CHECK(setenv("HANDOFF_WAIT", "spin:900ms", 1) == 0);
	play_contended();
}

static void play_late(void)
{
	struct shared *s = get_shared();

	say("begin");
	count_points();
	RESULT(handoff_mutex_lock_until(&s->mutex, soon(0.01)), ETIMEDOUT);
}

/* Somebody has died while he held it. */
static void recover(int (*lock)(handoff_mutex *mutex))
{
	struct shared *s = get_shared();

	count_points();
	RESULT(lock(&s->mutex), EOWNERDEAD);
	OK(handoff_mutex_consistent(&s->mutex));
	OK(handoff_mutex_unlock(&s->mutex));
}

static void play_recovery(void)
{
	recover(handoff_mutex_lock);
}

static void play_try_recovery(void)
{
	recover(handoff_mutex_trylock);
}

static void play_consistent(void)
{
	struct shared *s = get_shared();

	RESULT(handoff_mutex_lock(&s->mutex), EOWNERDEAD);
	count_points();
	OK(handoff_mutex_consistent(&s->mutex));
	OK(handoff_mutex_unlock(&s->mutex));
}

/* Others wait for the mutex. */
static void play_unlock(void)
{
	struct shared *s = get_shared();

	OK(handoff_mutex_lock(&s->mutex));
	meet("held");
	count_points();
	OK(handoff_mutex_unlock(&s->mutex));
}

static struct shared *for_thread;

static void *lock_and_end(void *unused)
{
	(void)unused;
	OK(handoff_mutex_lock(&for_thread->mutex));
	meet("held");
	count_points();
	return NULL;
}

static void play_thread_end(void)
{
	pthread_t thread;

	for_thread = get_shared();
	CHECK(pthread_create(&thread, NULL, lock_and_end, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* The parent signals, or broadcasts, until this one is done. */
static void play_wait(void)
{
	struct shared *s = get_shared();

	OK(handoff_mutex_lock(&s->mutex));
	say("begin");
	count_points();
	OK(handoff_cond_wait_until(&s->cond, &s->mutex, soon(10)));
	OK(handoff_mutex_unlock(&s->mutex));
}

static void play_spinning_wait(void)
{
	CHECK(setenv("HANDOFF_WAIT", "spin:900ms", 1) == 0);
	play_wait();
}

static void play_late_wait(void)
{
	struct shared *s = get_shared();

	OK(handoff_mutex_lock(&s->mutex));
	count_points();
	RESULT(handoff_cond_wait_until(&s->cond, &s->mutex, soon(0.01)),
	    ETIMEDOUT);
	OK(handoff_mutex_unlock(&s->mutex));
}

/* Takers wait: lets one or two of them go. */
static void give(unsigned n, int naked)
{
	struct shared *s = get_shared();

	OK(handoff_mutex_lock(&s->mutex));
	s->ready += n;
	if (naked)
		OK(handoff_mutex_unlock(&s->mutex));
	count_points();
	OK(n == 1 ? handoff_cond_signal(&s->cond) :
	            handoff_cond_broadcast(&s->cond));
	if (!naked)
		OK(handoff_mutex_unlock(&s->mutex));
}

static void play_signal(void)
{
	give(1, 0);
}

static void play_broadcast(void)
{
	give(2, 0);
}

static void play_naked_signal(void)
{
	give(1, 1);
}

static void play_naked_broadcast(void)
{
	give(2, 1);
}

/* ---- Scenarios --------------------------------------------------------- */

enum setting {
	ALONE,
	HELD,    /* the parent has the mutex when the victim begins */
	DEAD,    /* its owner has died */
	LOCKERS, /* two wait for the mutex, the victim holds it */
	TAKERS,  /* two wait for the condition */
	SIGNALS, /* the parent signals until the victim is done */
	BROADCASTS
};

static const struct scenario {
	const char *name;
	void (*play)(void);
	enum setting setting;
	unsigned least; /* so many points at the least */
} scenarios[] = {
	{ "create", play_create, ALONE, 3 },
	{ "open", play_open, ALONE, 1 },
	{ "lock", play_lock, ALONE, 3 },
	{ "try", play_try, ALONE, 4 },
	{ "contended", play_contended, HELD, 7 },
	{ "spinning", play_spinning, HELD, 4 },
	{ "late", play_late, HELD, 3 },
	{ "recovery", play_recovery, DEAD, 4 },
	{ "try_recovery", play_try_recovery, DEAD, 4 },
	{ "consistent", play_consistent, DEAD, 2 },
	{ "unlock", play_unlock, LOCKERS, 2 },
	{ "thread_end", play_thread_end, LOCKERS, 1 },
	{ "wait", play_wait, SIGNALS, 11 },
	{ "wait_broadcast", play_wait, BROADCASTS, 9 },
	{ "spinning_wait", play_spinning_wait, SIGNALS, 5 },
	{ "late_wait", play_late_wait, ALONE, 11 },
	{ "signal", play_signal, TAKERS, 5 },
	{ "broadcast", play_broadcast, TAKERS, 6 },
	{ "naked_signal", play_naked_signal, TAKERS, 2 },
	{ "naked_broadcast", play_naked_broadcast, TAKERS, 2 },
};

#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* "scenario n" */
static int victim(const char *arg)
{
	char name[32];

	CHECK(sscanf(arg, "%31s %u", name, &fatal) == 2);
	for (size_t i = 0; i < SCENARIOS; i++)
		if (strcmp(scenarios[i].name, name) == 0) {
			scenarios[i].play();
			count_no_more();
			return 0;
		}
	return 1;
}

/* ---- The others -------------------------------------------------------- */

/* One that is parked, as far as can be told. */
static struct process start_parked_taker(struct shared *s)
{
	struct process p = start_taker(s);

	settle(p.pid);
	return p;
}

static void notify(struct shared *s, int all, int naked, unsigned ready)
{
	lock_and_repair(s);
	s->ready += ready;
	if (naked)
		assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	assert_int_equal(all ? handoff_cond_broadcast(&s->cond) :
	                       handoff_cond_signal(&s->cond),
	    0);
	if (!naked)
		assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
}

/* ---- One death --------------------------------------------------------- */

static int run_held(const struct scenario *x, struct shared *s, unsigned n)
{
	struct process v;
	int alive = 0;

	assert_int_equal(handoff_mutex_lock(&s->mutex), 0);
	v = start_fatal(x->name, n);
	expect(&v, "begin");
	if (x->play == play_spinning)
		sleep_seconds(0.03);
	else
		settle(v.pid);
	/* Who is to be late is so even where the deadline comes late. */
	if (x->play == play_late)
		alive = survived(&v);
	assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	return x->play == play_late ? alive : survived(&v);
}

static int run_dead(const struct scenario *x, unsigned n)
{
	struct process p = start("hold_for_ever", NULL);
	struct process v;

	expect(&p, "held");
	kill_hard(&p);
	v = start_fatal(x->name, n);
	return survived(&v);
}

static int run_lockers(const struct scenario *x, unsigned n)
{
	struct process v = start_fatal(x->name, n);
	struct process p[2];
	int alive;

	expect(&v, "held");
	for (int i = 0; i < 2; i++) {
		p[i] = start("locker", NULL);
		expect(&p[i], "locking");
		settle(p[i].pid);
	}
	tell(&v, "go");
	alive = survived(&v);
	finish_within(&p[0], 2);
	finish_within(&p[1], 2);
	return alive;
}

/*
 * Two takers, and a victim that lets one or both go.  If it was not told of as
 * dead, what it gave under the mutex has effect without any help; else who is
 * told broadcasts.  Without the mutex it may have died before it gave anything.
 */
static int run_takers(const struct scenario *x, struct shared *s, unsigned n)
{
	struct process p[2] = { start_parked_taker(s), start_parked_taker(s) };
	struct process v = start_fatal(x->name, n);
	int alive = survived(&v);
	int naked = strncmp(x->name, "naked", 5) == 0;
	unsigned more;

	if (naked && !alive)
		notify(s, 1, 1, 0);
	else
		assert_int_equal(says_within(&p[0], 2) || says_within(&p[1], 2),
		    1);
	lock_and_repair(s);
	assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	more = strstr(x->name, "signal") != NULL;
	notify(s, 1, 0, more);
	finish_within(&p[0], 2);
	finish_within(&p[1], 2);
	assert_int_equal(s->ready, 0);
	return alive;
}

static int run_signals(const struct scenario *x, struct shared *s, unsigned n)
{
	struct process v = start_fatal(x->name, n);
	double end = seconds_now() + 10;

	expect(&v, "begin");
	if (x->play == play_spinning_wait)
		sleep_seconds(0.02);
	else
		settle(v.pid);
	do {
		notify(s, x->setting == BROADCASTS, 0, 0);
		sleep_seconds(0.002);
	} while (!has_ended(&v) && seconds_now() < end);
	return survived(&v);
}

static int run(const struct scenario *x, struct shared *s, unsigned n)
{
	struct process v;

	switch (x->setting) {
	case HELD:
		return run_held(x, s, n);
	case DEAD:
		return run_dead(x, n);
	case LOCKERS:
		return run_lockers(x, n);
	case TAKERS:
		return run_takers(x, s, n);
	case SIGNALS:
	case BROADCASTS:
		return run_signals(x, s, n);
	default:
		v = start_fatal(x->name, n);
		return survived(&v);
	}
}

/* The next one gets all that there is. */
static void assert_usable(struct shared *s, unsigned n)
{
	struct shared *fresh;
	struct process p;

	lock_and_repair(s);
	assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	/* Told once. */
	assert_int_equal(handoff_mutex_lock_until(&s->mutex, soon(5)), 0);
	assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	p = start_parked_taker(s);
	notify(s, n / 2 % 2, n % 2, 1);
	finish_within(&p, 2);
	assert_int_equal(open_shared(&fresh, "new", CREATE), 0);
	assert_int_equal(fresh->whole, 4711);
	assert_int_equal(handoff_close(fresh), 0);
	assert_int_equal(unlink_name("new"), 0);
	assert_int_equal(count_names(), 1);
}

static void walk(const struct scenario *x)
{
	struct shared *s;
	unsigned n = 0;
	int alive;

	assert_int_equal(open_shared(&s, "points", CREATE), 0);
	do {
		alive = run(x, s, ++n);
		assert_usable(s, n);
	} while (!alive && n < MOST);
	assert_walked(x->name, n, alive, x->least);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("points"), 0);
	assert_int_equal(count_names(), 0);
}

#define WALKS(test, from, to)                      \
	static void test(void **state)             \
	{                                          \
		(void)state;                       \
		for (size_t i = from; i < to; i++) \
			walk(&scenarios[i]);       \
	}

WALKS(a_death_while_opening_leaves_the_name_usable, 0, 2)
WALKS(a_death_while_locking_is_told_once, 2, 7)
WALKS(a_death_while_recovering_is_told_to_the_next, 7, 10)
WALKS(a_death_while_unlocking_strands_no_waiter, 10, 12)
WALKS(a_death_while_waiting_harms_no_condition, 12, 16)
WALKS(a_death_while_signalling_strands_no_waiter, 16, SCENARIOS)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "victim", victim },
		{ "hold_for_ever", hold_for_ever },
		{ "locker", locker },
		{ "taker", taker },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_death_while_opening_leaves_the_name_usable),
		TEST(a_death_while_locking_is_told_once),
		TEST(a_death_while_recovering_is_told_to_the_next),
		TEST(a_death_while_unlocking_strands_no_waiter),
		TEST(a_death_while_waiting_harms_no_condition),
		TEST(a_death_while_signalling_strands_no_waiter),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	/* Parked as soon as can be, so that the slow paths are walked. */
	setenv("HANDOFF_WAIT", "block", 1);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
