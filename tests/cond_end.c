/* SPDX-License-Identifier: ISC */
/*
 * The ends of a condition, of those who wait for it and of who holds their
 * mutex; and what a wait must stand: signals of the system, and a long time.
 */
#define _GNU_SOURCE
#include "room.h"
#include "system.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MS 1000000u
#define SECOND 1000000000u

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	handoff_mutex lock;
	handoff_cond changed;
	/* Protected by `lock`, but looked at without it too. */
	_Atomic unsigned waiting; /* wait, or are about to and hold the lock */
	_Atomic unsigned tokens;
	_Atomic unsigned told;    /* that the holder has died */
	_Atomic unsigned lost;    /* told that the mutex is */
	_Atomic unsigned signals; /* of the system */
	_Atomic double cpu[2];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = handoff_mutex_init(&r->lock, NULL);

	(void)bytes;
	return e != 0 ? e : handoff_cond_init(&r->changed, arg);
}

/* Until `n` wait, of which the last may still be on its way to its sleep. */
static void until_waiting(struct room *r, unsigned n)
{
	double end = seconds_now() + 10;

	while (atomic_load(&r->waiting) != n) {
		assert_true(seconds_now() < end);
		sleep_seconds(0.001);
	}
}

/* Locks after whatever has happened to the holder before. */
static int lock_anyway(struct room *r)
{
	int e = handoff_mutex_lock(&r->lock);

	return e == EOWNERDEAD ? handoff_mutex_consistent(&r->lock) : e;
}

/* ---- Waiters that are killed ------------------------------------------------- */

static int part_victim(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	OK(lock_anyway(r));
	say("waits");
	do
		OK(handoff_cond_wait(&r->changed, &r->lock));
	while (atomic_load(&r->tokens) != UINT_MAX); /* until it is killed */
	return 1;
}

/* Waits for a token when it is told, again and again. */
static int part_survivor(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	while (atomic_load(&r->tokens) != UINT_MAX) { /* until it is killed */
		await("wait");
		OK(lock_anyway(r));
		atomic_store(&r->waiting, 1);
		while (atomic_load(&r->tokens) == 0) {
			int e = handoff_cond_wait(&r->changed, &r->lock);

			if (e == EOWNERDEAD)
				OK(handoff_mutex_consistent(&r->lock));
			else
				OK(e);
		}
		atomic_fetch_sub(&r->tokens, 1);
		atomic_store(&r->waiting, 0);
		OK(handoff_mutex_unlock(&r->lock));
		say("woke");
	}
	return 1;
}

/* The call is over within a second. */
static void at_once(int (*call)(handoff_cond *c), struct room *r)
{
	double from = seconds_now();

	assert_int_equal(call(&r->changed), 0);
	assert_true(seconds_now() - from < 1);
}

/* A victim dies at some point of its wait; signals are as before. */
static void kill_one(struct room *r, struct process *survivor, unsigned round)
{
	struct process victim = start("victim", "killed");

	if (round % 4 == 3)
		tell(survivor, "wait");
	expect(&victim, "waits");
	sleep_seconds(rand() % 2000 / 1e6);
	if (round % 4 == 1) /* one that it may or may not take */
		at_once(handoff_cond_signal, r);
	kill_hard(&victim);
	at_once(handoff_cond_signal, r);
	if (round % 4 != 2)
		at_once(handoff_cond_broadcast, r);
	if (round % 4 != 3)
		tell(survivor, "wait");
	until_waiting(r, 1);
	assert_int_equal(lock_anyway(r), 0);
	atomic_fetch_add(&r->tokens, 1);
	if (round % 2)
		at_once(handoff_cond_signal, r);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	if (round % 2 == 0)
		at_once(handoff_cond_signal, r);
	expect(survivor, "woke");
}

static void a_killed_waiter_harms_nobody(void **state)
{
	struct room *r = open_room("killed");
	struct process survivor = start("survivor", "killed");

	(void)state;
	srand((unsigned)handoff_now());
	for (unsigned round = 0; round < 200; round++)
		kill_one(r, &survivor, round);
	kill_hard(&survivor);
	close_room(r, "killed");
}

/* ---- The holder of the mutex dies, or loses it ---------------------------------- */

static int part_hold(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	OK(handoff_mutex_lock(&r->lock));
	say("holds");
	linger();
	return 1;
}

/* Waits once; 1: repairs, 0: leaves the mutex lost. */
static int part_told(const char *arg)
{
	unsigned repairs;
	struct room *r = join_room(arg, &repairs);
	int e;

	OK(handoff_mutex_lock(&r->lock));
	atomic_fetch_add(&r->waiting, 1);
	e = handoff_cond_wait(&r->changed, &r->lock);
	if (e == ENOTRECOVERABLE) {
		atomic_fetch_add(&r->lost, 1);
		RESULT(handoff_mutex_unlock(&r->lock), EPERM);
		return 0;
	}
	if (e == EOWNERDEAD) {
		atomic_fetch_add(&r->told, 1);
		if (repairs) {
			OK(handoff_mutex_consistent(&r->lock));
			OK(handoff_cond_broadcast(&r->changed));
		}
	} else {
		OK(e);
		CHECK(atomic_load(&r->told) == 1);
	}
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

/* Three wait when the holder dies: one is told so, within 1.5 s. */
static void holder_dies(const char *arg, unsigned lost)
{
	struct room *r = open_room("dies");
	struct process p[3];
	struct process holder;
	double from;

	for (unsigned i = 0; i < 3; i++)
		p[i] = start("told", arg);
	until_waiting(r, 3);
	sleep_seconds(2); /* until they look about as seldom as they ever do */
	holder = start("hold", "dies");
	expect(&holder, "holds");
	assert_int_equal(atomic_load(&r->told), 0);
	kill_hard(&holder);
	from = seconds_now();
	while (atomic_load(&r->told) == 0) {
		assert_true(seconds_now() - from < 1.5);
		sleep_seconds(0.002);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_true(seconds_now() - from < 5);
	assert_int_equal(atomic_load(&r->told), 1);
	assert_int_equal(atomic_load(&r->lost), lost);
	close_room(r, "dies");
}

static void waiters_learn_that_the_holder_has_died(void **state)
{
	(void)state;
	holder_dies("dies:1", 0);
}

static void waiters_learn_that_the_mutex_is_lost(void **state)
{
	(void)state;
	holder_dies("dies:0", 2);
}

/* ---- Destroyed while some wait or are on their way out ------------------------------ */

/* One thread waits, for good and for a time; destroy says so. */
static void *wait_for_token(void *arg)
{
	struct room *r = arg;

	OK(handoff_mutex_lock(&r->lock));
	atomic_fetch_add(&r->waiting, 1);
	while (atomic_load(&r->tokens) == 0)
		OK(handoff_cond_wait(&r->changed, &r->lock));
	atomic_fetch_sub(&r->waiting, 1);
	OK(handoff_mutex_unlock(&r->lock));
	return NULL;
}

static void what_a_thread_waits_for_is_not_destroyed(void **state)
{
	struct room *r = open_room("busy");
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_token, r), 0);
	until_waiting(r, 1);
	assert_int_equal(handoff_cond_destroy(&r->changed), EBUSY);
	sleep_seconds(0.2);
	assert_int_equal(handoff_cond_destroy(&r->changed), EBUSY);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_cond_destroy(&r->changed), EBUSY);
	assert_int_equal(atomic_load(&r->waiting), 1);
	atomic_store(&r->tokens, 1);
	assert_int_equal(handoff_cond_signal(&r->changed), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(handoff_cond_destroy(&r->changed), 0);
	assert_int_equal(handoff_cond_signal(&r->changed), EINVAL);
	close_room(r, "busy");
}

#define WAITERS 3
#define ROUNDS 500

/* Threads of one process, in plain memory.  The condition has a page of its
 * own, which is gone as soon as it is destroyed. */
static struct {
	handoff_mutex lock;
	_Atomic(handoff_cond *) cond; /* of this round */
	_Atomic(void *) page;         /* to be unmapped */
	_Atomic unsigned waiting;
	_Atomic unsigned left;
	volatile unsigned round; /* protected by `lock` */
	unsigned policy;
} vanishing;

static void *wait_in_vain(void *arg)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		handoff_cond *c;

		while (!(c = atomic_load(&vanishing.cond)))
			sched_yield();
		OK(handoff_mutex_lock(&vanishing.lock));
		atomic_fetch_add(&vanishing.waiting, 1);
		while (vanishing.round == round)
			OK(handoff_cond_wait(c, &vanishing.lock));
		OK(handoff_mutex_unlock(&vanishing.lock));
		atomic_fetch_add(&vanishing.left, 1);
		while (atomic_load(&vanishing.left) != 0)
			sched_yield();
	}
	return arg;
}

static void *unmap_each(void *arg)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		void *page;

		while (!(page = atomic_load(&vanishing.page)))
			sched_yield();
		drop_page(page);
		atomic_store(&vanishing.page, NULL);
	}
	return arg;
}

static void vanish(unsigned round)
{
	struct handoff_cond_attr attr = { sizeof attr, 0, vanishing.policy, 0 };
	handoff_cond *c = new_page();

	OK(handoff_cond_init(c, &attr));
	atomic_store(&vanishing.waiting, 0);
	atomic_store(&vanishing.cond, c);
	while (atomic_load(&vanishing.waiting) != WAITERS)
		sched_yield();
	if (round % 3 == 0)
		sleep_seconds(0.0003); /* they are parked by now */
	OK(handoff_mutex_lock(&vanishing.lock));
	vanishing.round = round + 1;
	atomic_store(&vanishing.cond, NULL);
	if (round % 4 == 3) { /* without the mutex */
		OK(handoff_mutex_unlock(&vanishing.lock));
		OK(handoff_cond_broadcast(c));
		OK(handoff_cond_destroy(c));
		atomic_store(&vanishing.page, c);
	} else {
		OK(handoff_cond_broadcast(c));
		OK(handoff_cond_destroy(c));
		atomic_store(&vanishing.page, c);
		if (round % 4 == 2)
			while (atomic_load(&vanishing.page))
				sched_yield();
		OK(handoff_mutex_unlock(&vanishing.lock));
	}
	while (atomic_load(&vanishing.left) != WAITERS ||
	    atomic_load(&vanishing.page))
		sched_yield();
	atomic_store(&vanishing.left, 0);
}

static int part_vanish(const char *arg)
{
	pthread_t threads[WAITERS + 1];

	vanishing.policy = (unsigned)atoi(arg);
	OK(handoff_mutex_init(&vanishing.lock, NULL));
	CHECK(pthread_create(&threads[WAITERS], NULL, unmap_each, NULL) == 0);
	for (int i = 0; i < WAITERS; i++)
		CHECK(
		    pthread_create(&threads[i], NULL, wait_in_vain, NULL) == 0);
	for (unsigned round = 0; round < ROUNDS; round++)
		vanish(round);
	for (int i = 0; i <= WAITERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

static void vanish_with(const char *policy)
{
	struct process p = start("vanish", policy);

	assert_int_equal(finish(&p), 0);
}

static void it_may_be_destroyed_and_unmapped_right_after_a_broadcast(
    void **state)
{
	(void)state;
	vanish_with("0");
	vanish_with("3");
}

/* ---- Long waits ------------------------------------------------------------------------ */

static int part_idle(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	double before;

	OK(handoff_mutex_lock(&r->lock));
	atomic_fetch_add(&r->waiting, 1);
	before = cpu_seconds();
	while (atomic_load(&r->tokens) == 0)
		OK(handoff_cond_wait(&r->changed, &r->lock));
	atomic_store(&r->cpu[me], cpu_seconds() - before);
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

/* CPU seconds of two that wait for 5 s. */
static double idle(void)
{
	struct room *r = open_room("idle");
	struct process p[2] = { start("idle", "idle:0"),
		start("idle", "idle:1") };
	double used;

	until_waiting(r, 2);
	sleep_seconds(5);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	atomic_store(&r->tokens, 2);
	assert_int_equal(handoff_cond_broadcast(&r->changed), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(finish(&p[i]), 0);
	used = atomic_load(&r->cpu[0]) + atomic_load(&r->cpu[1]);
	close_room(r, "idle");
	return used;
}

static void idle_waiters_use_next_to_no_cpu(void **state)
{
	double used = 1;

	(void)state;
	/* 1 to 3 ms as a rule, more where others are busy; and 100 where they
	 * look every 4 ms. */
	for (int i = 0; i < 3 && used > 0.012; i++) {
		used = idle();
		print_message("%.2f ms in 5 s\n", used * 1e3);
	}
	assert_true(used <= 0.012);
}

static struct room *counting;

static void count_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&counting->signals, 1);
}

/* 1: interrupted calls of the system begin again, 0: they fail. */
static int part_bombarded(const char *arg)
{
	unsigned restart;
	struct room *r = join_room(arg, &restart);
	uint64_t from;
	double waited;

	counting = r;
	OK(handoff_mutex_lock(&r->lock));
	catch_signal(SIGALRM, count_signal, restart != 0);
	alarm_every(100);
	from = handoff_now();
	RESULT(handoff_cond_wait_until(&r->changed, &r->lock,
	           from + 2ull * SECOND),
	    ETIMEDOUT);
	waited = (double)(handoff_now() - from) / SECOND;
	alarm_every(0);
	CHECK(waited >= 2 && waited <= 2.2);
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

static void signals_of_the_system_neither_end_nor_lengthen_a_wait(void **state)
{
	struct room *r = open_room("alarms");
	struct process p[2] = { start("bombarded", "alarms:0"),
		start("bombarded", "alarms:1") };

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(finish(&p[i]), 0);
	print_message("%u signals\n", atomic_load(&r->signals));
	assert_true(atomic_load(&r->signals) > 1000);
	close_room(r, "alarms");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "victim", part_victim },
		{ "survivor", part_survivor },
		{ "hold", part_hold },
		{ "told", part_told },
		{ "vanish", part_vanish },
		{ "idle", part_idle },
		{ "bombarded", part_bombarded },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_killed_waiter_harms_nobody),
		TEST(waiters_learn_that_the_holder_has_died),
		TEST(waiters_learn_that_the_mutex_is_lost),
		TEST(what_a_thread_waits_for_is_not_destroyed),
		TEST(it_may_be_destroyed_and_unmapped_right_after_a_broadcast),
		TEST(idle_waiters_use_next_to_no_cpu),
		SIGNAL_TEST(
		    signals_of_the_system_neither_end_nor_lengthen_a_wait),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("cond_end", tests, NULL, NULL));
}
