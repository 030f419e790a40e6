/* SPDX-License-Identifier: ISC */
/*
 * A readers-writer lock whose users are killed, at every point and at random
 * (G03, G20, G48).  A victim plays a scenario and kills itself at its n-th
 * point, for n = 1, 2, ... until it survives.  A death is told once if it left
 * something undone, at the most once if it was a writer's, else never; and the
 * next ones get the lock.  Built against the library with points.
 */
#define _GNU_SOURCE
#include "fatal.h"
#include "jostle.h"
#include "readers.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

/* ---- The victim -------------------------------------------------------- */

/* It writes, between these two: who comes next must be told if it dies. */
static void begins(struct room *r)
{
	r->owes = 1;
}

static void ends(struct room *r)
{
	r->owes = 0;
}

static void play_read(struct room *r)
{
	count_points();
	OK(handoff_rwlock_rdlock(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
}

/* It has a slot; and reads at some depth. */
static void play_read_again(struct room *r)
{
	OK(handoff_rwlock_rdlock(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
	count_points();
	OK(handoff_rwlock_rdlock(&r->lock));
	OK(handoff_rwlock_rdlock(&r->lock));
	OK(handoff_rwlock_tryrdlock(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
}

static void play_try_read(struct room *r)
{
	count_points();
	OK(handoff_rwlock_tryrdlock(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
}

/* The parent writes. */
static void play_read_behind(struct room *r)
{
	say("begin");
	play_read(r);
}

static void play_read_late(struct room *r)
{
	say("begin");
	count_points();
	RESULT(handoff_rwlock_rdlock_until(&r->lock, soon(0.04)), ETIMEDOUT);
}

static void write_and_unlock(struct room *r)
{
	begins(r);
	if (handoff__point_hook)
		handoff__point_hook();
	ends(r);
	OK(handoff_rwlock_wrunlock(&r->lock));
}

static void play_write(struct room *r)
{
	count_points();
	OK(handoff_rwlock_wrlock(&r->lock));
	write_and_unlock(r);
}

static void play_try_write(struct room *r)
{
	count_points();
	OK(handoff_rwlock_trywrlock(&r->lock));
	write_and_unlock(r);
}

/* The parent reads, or writes. */
static void play_write_behind(struct room *r)
{
	say("begin");
	play_write(r);
}

static void play_write_late(struct room *r)
{
	say("begin");
	count_points();
	RESULT(handoff_rwlock_wrlock_until(&r->lock, soon(0.04)), ETIMEDOUT);
}

static void play_try_write_behind(struct room *r)
{
	say("begin");
	count_points();
	RESULT(handoff_rwlock_trywrlock(&r->lock), EBUSY);
}

/* Others wait. */
static void meet(void)
{
	say("held");
	await("go");
}

static void play_rdunlock(struct room *r)
{
	OK(handoff_rwlock_rdlock(&r->lock));
	meet();
	count_points();
	OK(handoff_rwlock_rdunlock(&r->lock));
}

static void play_wrunlock(struct room *r)
{
	OK(handoff_rwlock_wrlock(&r->lock));
	meet();
	count_points();
	OK(handoff_rwlock_wrunlock(&r->lock));
}

static void play_downgrade(struct room *r)
{
	OK(handoff_rwlock_wrlock(&r->lock));
	meet();
	count_points();
	OK(handoff_rwlock_downgrade(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
}

static void *end_reading(void *room)
{
	struct room *r = room;

	OK(handoff_rwlock_rdlock(&r->lock));
	OK(handoff_rwlock_rdlock(&r->lock));
	meet();
	count_points();
	return NULL;
}

static void *end_writing(void *room)
{
	struct room *r = room;

	OK(handoff_rwlock_wrlock(&r->lock));
	begins(r);
	meet();
	count_points();
	return NULL;
}

static void end_thread(struct room *r, void *(*run)(void *room))
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, r) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void play_thread_reads(struct room *r)
{
	end_thread(r, end_reading);
}

static void play_thread_writes(struct room *r)
{
	end_thread(r, end_writing);
}

/* A writer has died; it is owed for until consistent begins. */
static void play_repair_reading(struct room *r)
{
	count_points();
	RESULT(handoff_rwlock_rdlock(&r->lock), EOWNERDEAD);
	ends(r);
	OK(handoff_rwlock_consistent(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
}

static void play_repair_writing(struct room *r)
{
	count_points();
	RESULT(handoff_rwlock_wrlock(&r->lock), EOWNERDEAD);
	OK(handoff_rwlock_consistent(&r->lock));
	ends(r);
	OK(handoff_rwlock_wrunlock(&r->lock));
}

static void play_try_repair(struct room *r)
{
	count_points();
	RESULT(handoff_rwlock_tryrdlock(&r->lock), EOWNERDEAD);
	ends(r);
	OK(handoff_rwlock_consistent(&r->lock));
	OK(handoff_rwlock_rdunlock(&r->lock));
}

/* ---- Scenarios --------------------------------------------------------- */

enum setting {
	ALONE,
	READ,     /* the parent reads when the victim begins */
	WRITTEN,  /* the parent writes */
	LOWERED,  /* the parent has written, and reads */
	DEAD,     /* a writer has died */
	OUTLIVED, /* two wait, the victim holds it */
};

static const struct scenario {
	const char *name;
	void (*play)(struct room *r);
	enum setting setting;
	int writes;     /* else its death is never told */
	unsigned least; /* so many points at the least */
} scenarios[] = {
	{ "read", play_read, ALONE, 0, 8 },
	{ "read_again", play_read_again, ALONE, 0, 3 },
	{ "try_read", play_try_read, ALONE, 0, 8 },
	{ "read_behind", play_read_behind, WRITTEN, 0, 12 },
	{ "read_late", play_read_late, WRITTEN, 0, 4 },
	{ "read_beside", play_read_behind, LOWERED, 0, 8 },
	{ "write", play_write, ALONE, 1, 5 },
	{ "try_write", play_try_write, ALONE, 1, 5 },
	{ "write_behind_reader", play_write_behind, READ, 1, 9 },
	{ "write_behind_writer", play_write_behind, WRITTEN, 1, 8 },
	{ "write_late", play_write_late, READ, 0, 8 },
	{ "write_late_behind_writer", play_write_late, WRITTEN, 0, 4 },
	{ "try_write_behind", play_try_write_behind, READ, 0, 5 },
	{ "rdunlock", play_rdunlock, OUTLIVED, 0, 2 },
	{ "wrunlock", play_wrunlock, OUTLIVED, 1, 2 },
	{ "downgrade", play_downgrade, OUTLIVED, 1, 6 },
	{ "thread_reads", play_thread_reads, OUTLIVED, 0, 2 },
	{ "thread_writes", play_thread_writes, OUTLIVED, 1, 1 },
	{ "repair_reading", play_repair_reading, DEAD, 1, 8 },
	{ "repair_writing", play_repair_writing, DEAD, 1, 4 },
	{ "try_repair", play_try_repair, DEAD, 1, 8 },
};

#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* "scenario n" */
static int victim(const char *arg)
{
	struct room *r = get_rw();
	char name[32];

	CHECK(sscanf(arg, "%31s %u", name, &fatal) == 2);
	for (size_t i = 0; i < SCENARIOS; i++)
		if (strcmp(scenarios[i].name, name) == 0) {
			scenarios[i].play(r);
			count_no_more();
			return 0;
		}
	return 1;
}

/* "rdlock" or "wrlock": gets it, repairs, counts whether it was told. */
static int getter(const char *how)
{
	struct room *r = get_rw();
	int e;

	say("asks");
	e = call_by_name(&r->lock, how);
	if (e == EOWNERDEAD) {
		atomic_fetch_add(&r->told, 1);
		OK(handoff_rwlock_consistent(&r->lock));
	} else {
		OK(e);
	}
	OK(how[0] == 'r' ? handoff_rwlock_rdunlock(&r->lock) :
	                   handoff_rwlock_wrunlock(&r->lock));
	say("done");
	return 0;
}

/* ---- One death --------------------------------------------------------- */

/* *waited: it died while the parent had the lock. */
static int run_behind(const struct scenario *x, struct room *r, unsigned n,
    int *waited)
{
	struct process v;
	int alive = -1;

	assert_int_equal(x->setting == READ ? read_soon(r) : write_soon(r), 0);
	if (x->setting == LOWERED)
		assert_int_equal(handoff_rwlock_downgrade(&r->lock), 0);
	v = start_fatal(x->name, n);
	expect(&v, "begin");
	settle(v.pid);
	/* Who is to be late is so even where the deadline comes late. */
	if (strstr(x->name, "late") || x->setting == LOWERED ||
	    x->play == play_try_write_behind)
		alive = survived(&v);
	else
		*waited = has_ended(&v);
	if (x->setting == WRITTEN)
		unlock_write(r);
	else
		unlock_read(r);
	return alive >= 0 ? alive : survived(&v);
}

static int run_dead(const struct scenario *x, struct room *r, unsigned n)
{
	struct process p = start_holder("wrlock linger", 1);
	struct process v;

	begins(r);
	kill_hard(&p);
	if (x->play == play_try_repair)
		sleep_seconds(0.002);
	v = start_fatal(x->name, n);
	return survived(&v);
}

/* A reader and a writer wait, and get it. */
static int run_outlived(const struct scenario *x, unsigned n)
{
	struct process v = start_fatal(x->name, n);
	struct process p[2];
	int alive;

	expect(&v, "held");
	for (int i = 0; i < 2; i++) {
		p[i] = start("getter", i == (int)(n % 2) ? "wrlock" : "rdlock");
		expect(&p[i], "asks");
		settle(p[i].pid);
	}
	tell(&v, "go");
	alive = survived(&v);
	for (int i = 0; i < 2; i++) {
		expect_within(&p[i], "done", BOUND);
		assert_int_equal(finish(&p[i]), 0);
	}
	return alive;
}

static int run(const struct scenario *x, struct room *r, unsigned n,
    int *waited)
{
	struct process v;

	switch (x->setting) {
	case READ:
	case WRITTEN:
	case LOWERED:
		return run_behind(x, r, n, waited);
	case DEAD:
		return run_dead(x, r, n);
	case OUTLIVED:
		return run_outlived(x, n);
	default:
		v = start_fatal(x->name, n);
		return survived(&v);
	}
}

/* The next ones get it, by turns a reader and a writer first. */
static void assert_usable(struct room *r, unsigned n)
{
	int reads = n % 2;
	int e = reads ? read_soon(r) : write_soon(r);
	struct process p;

	if (e == EOWNERDEAD) {
		atomic_fetch_add(&r->told, 1);
		assert_int_equal(handoff_rwlock_consistent(&r->lock), 0);
	} else {
		assert_int_equal(e, 0);
	}
	if (!reads)
		assert_int_equal(handoff_rwlock_downgrade(&r->lock), 0);
	p = start_holder("rdlock go rdunlock", 1);
	unlock_read(r);
	assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
	ends_with(&p, 0);
	assert_free(r);
}

static void walk(const struct scenario *x, struct room *r)
{
	unsigned n = 0;
	int alive;

	do {
		int waited = 0;

		r->owes = 0;
		atomic_store(&r->told, 0);
		alive = run(x, r, ++n, &waited);
		assert_usable(r, n);
		if (r->owes)
			assert_int_equal(r->told, 1);
		else if (!x->writes || waited)
			assert_int_equal(r->told, 0);
		else
			assert_true(r->told <= 1);
		if (alive && x->play != play_thread_writes)
			assert_int_equal(r->told, 0);
	} while (!alive && n < MOST);
	assert_walked(x->name, n, alive, x->least);
}

/* In one room, so that the slots of the dead run out and are used again. */
#define WALKS(test, from, to)                      \
	static void test(void **state)             \
	{                                          \
		struct room *r = make_rw(NULL);    \
                                                   \
		(void)state;                       \
		for (size_t i = from; i < to; i++) \
			walk(&scenarios[i], r);    \
		end_rw(r);                         \
	}

WALKS(a_death_while_locking_to_read_is_never_told, 0, 6)
WALKS(a_death_while_locking_to_write_is_told_once, 6, 10)
WALKS(a_death_while_giving_up_is_never_told, 10, 13)
WALKS(a_death_while_unlocking_strands_nobody, 13, 18)
WALKS(a_death_while_repairing_is_told_to_the_next, 18, SCENARIOS)

/* ---- Killed at random -------------------------------------------------- */

#define CROWD 5
#define KILLS 60

static void linger_at_points(void)
{
	if (chance(40) == 0)
		for (volatile uint32_t i = chance(20000); i > 0;)
			i = i - 1;
}

/* Who is told is alone, also if it asked to read. */
static void repair(struct room *r)
{
	r->b = r->a;
	CHECK(r->b == r->a);
	atomic_fetch_add(&r->told, 1);
	OK(handoff_rwlock_consistent(&r->lock));
}

static void read_once(struct room *r)
{
	int e = chance(3) ? handoff_rwlock_rdlock(&r->lock) :
	                    handoff_rwlock_tryrdlock(&r->lock);

	if (e == EBUSY)
		return;
	if (e == EOWNERDEAD)
		repair(r);
	else
		OK(e);
	if (chance(2)) {
		OK(handoff_rwlock_rdlock(&r->lock));
		OK(handoff_rwlock_rdunlock(&r->lock));
	}
	for (unsigned a = r->a, i = chance(300); i > 0; i--)
		CHECK(r->a == a && r->b == a);
	OK(handoff_rwlock_rdunlock(&r->lock));
	atomic_fetch_add(&r->progress, 1);
}

static void write_once(struct room *r)
{
	int e = chance(3) ? handoff_rwlock_wrlock(&r->lock) :
	                    handoff_rwlock_wrlock_until(&r->lock, soon(0.001));

	if (e == ETIMEDOUT)
		return;
	if (e == EOWNERDEAD)
		repair(r);
	else
		OK(e);
	CHECK(r->a == r->b);
	r->a = r->a + 1;
	sleep_seconds(chance(2000) / 1e6); /* likely to be killed here */
	r->b = r->b + 1;
	CHECK(r->a == r->b);
	if (chance(2)) {
		OK(handoff_rwlock_downgrade(&r->lock));
		CHECK(r->a == r->b);
		OK(handoff_rwlock_rdunlock(&r->lock));
	} else {
		OK(handoff_rwlock_wrunlock(&r->lock));
	}
	atomic_fetch_add(&r->progress, 1);
}

static int part_crowd(const char *arg)
{
	struct room *r = get_rw();

	seed_chance((uint32_t)atoi(arg));
	handoff__point_hook = linger_at_points;
	while (!atomic_load(&r->stop)) {
		if (chance(2))
			read_once(r);
		else
			write_once(r);
	}
	return 0;
}

static struct process join_crowd(unsigned n)
{
	char arg[20];

	snprintf(arg, sizeof arg, "%u", n);
	return start("crowd", arg);
}

/* After each death the others get on, and find what is protected whole. */
static void a_crowd_outlives_random_deaths(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p[CROWD];

	(void)state;
	for (unsigned i = 0; i < CROWD; i++)
		p[i] = join_crowd(i);
	for (unsigned i = 0; i < KILLS; i++) {
		unsigned before = atomic_load(&r->progress);
		double end = seconds_now() + 10;

		while (atomic_load(&r->progress) < before + 20) {
			assert_true(seconds_now() < end);
			sleep_seconds(0.001);
		}
		sleep_seconds(i % 7 / 1000.0);
		kill_hard(&p[i % CROWD]);
		p[i % CROWD] = join_crowd(CROWD + i);
	}
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(finish(&p[i]), 0);
	print_message("%u deaths, %u told of, beside %u turns\n", KILLS,
	    r->told, r->progress);
	/* The last one may have left it to us. */
	if (write_soon(r) == EOWNERDEAD) {
		r->b = r->a;
		assert_int_equal(handoff_rwlock_consistent(&r->lock), 0);
	}
	assert_int_equal(r->a, r->b);
	assert_true(r->told > 0 && r->told <= KILLS);
	unlock_write(r);
	assert_free(r);
	end_rw(r);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "user", user },
		{ "victim", victim },
		{ "getter", getter },
		{ "crowd", part_crowd },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_death_while_locking_to_read_is_never_told),
		TEST(a_death_while_locking_to_write_is_told_once),
		TEST(a_death_while_giving_up_is_never_told),
		TEST(a_death_while_unlocking_strands_nobody),
		TEST(a_death_while_repairing_is_told_to_the_next),
		TEST(a_crowd_outlives_random_deaths),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	/* Parked as soon as can be, so that the slow paths are walked. */
	setenv("HANDOFF_WAIT", "block", 1);
	return processes_end(
	    cmocka_run_group_tests_name("rwlock_points", tests, NULL, NULL));
}
