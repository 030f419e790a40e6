/* SPDX-License-Identifier: ISC */
/* The mutex, between processes: what handoff_mutex(3) says. */
#define _GNU_SOURCE
#include "room.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define SECOND 1000000000u
#define MANY 20u /* more than a thread has room for at first */
#define PROCESSES 4u

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	handoff_mutex lock;
	handoff_mutex more[MANY];
	handoff_cond changed;
	_Atomic unsigned stop;
	_Atomic unsigned waiting;
	volatile unsigned inside; /* who has the lock, plus 1 */
	volatile uint64_t total;  /* counted by who has it */
	uint64_t each[PROCESSES];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = handoff_mutex_init(&r->lock, arg);

	(void)bytes;
	for (unsigned i = 0; e == 0 && i < MANY; i++)
		e = handoff_mutex_init(&r->more[i], NULL);
	return e != 0 ? e : handoff_cond_init(&r->changed, NULL);
}

static double since(double from)
{
	return seconds_now() - from;
}

/* ---- Parts that hold and lock ------------------------------------------------ */

/* Locks, in one of several ways, and says with what result. */
static int part_lock(const char *arg)
{
	static const uint64_t far[] = { HANDOFF_NEVER, HANDOFF_NEVER - 1,
		HANDOFF_NEVER / 2, HANDOFF_NEVER / 2 + 1 };
	unsigned n;
	struct room *r = join_room(arg, &n);
	int e;

	atomic_fetch_add(&r->waiting, 1);
	say("locks");
	e = n == 0 ? handoff_mutex_lock(&r->lock) :
	             handoff_mutex_lock_until(&r->lock, far[n - 1]);
	say(handoff_strerror(e));
	if (e == EOWNERDEAD)
		OK(handoff_mutex_consistent(&r->lock));
	if (e == 0 || e == EOWNERDEAD)
		OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

/* All that a process other than the holder may not do. */
static int part_stranger(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	uint64_t until;

	RESULT(handoff_mutex_unlock(&r->lock), EPERM); /* not even known yet */
	RESULT(handoff_mutex_trylock(&r->lock), EBUSY);
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	RESULT(handoff_mutex_consistent(&r->lock), EPERM);
	RESULT(handoff_mutex_destroy(&r->lock), EBUSY);
	RESULT(handoff_mutex_lock_until(&r->lock, 0), ETIMEDOUT);
	RESULT(handoff_mutex_lock_until(&r->lock, 1), ETIMEDOUT);
	RESULT(handoff_mutex_lock_until(&r->lock, handoff_now() - 1),
	    ETIMEDOUT);
	RESULT(handoff_mutex_lock_until(&r->lock, handoff_after(1)), ETIMEDOUT);
	until = handoff_after(50 * MS);
	RESULT(handoff_mutex_lock_until(&r->lock, until), ETIMEDOUT);
	CHECK(handoff_now() >= until && handoff_now() < until + 5ull * SECOND);
	return 0;
}

/* ---- Names --------------------------------------------------------------------- */

static int part_named(const char *arg)
{
	handoff_mutex *m;

	OK(handoff_mutex_open(&m, arg, 0, 0, NULL));
	OK(handoff_mutex_lock(m));
	say("holds");
	await("let go");
	OK(handoff_mutex_unlock(m));
	OK(handoff_close(m));
	return 0;
}

static void a_name_leads_all_processes_to_one_mutex(void **state)
{
	handoff_mutex *m;
	handoff_mutex *again;
	handoff_cond *c;
	struct process p;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "named", 0, 0, NULL), ENOENT);
	assert_null(m);
	assert_int_equal(handoff_mutex_open(&m, "named",
	                     HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, NULL),
	    0);
	assert_int_equal(handoff_mutex_open(&again, "named",
	                     HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, NULL),
	    EEXIST);
	assert_int_equal(handoff_mutex_open(&again, "/named", HANDOFF_CREATE,
	                     0600, NULL),
	    0);
	assert_ptr_equal(again, m);
	assert_int_equal(handoff_cond_open(&c, "named", 0, 0, NULL), EPROTO);
	p = start("named", "named");
	expect(&p, "holds");
	assert_int_equal(handoff_mutex_trylock(m), EBUSY);
	tell(&p, "let go");
	assert_int_equal(handoff_mutex_lock(m), 0);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_close(m), EBUSY);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_close(m), EINVAL);
	assert_int_equal(unlink_name("named"), 0);
}

/* The attributes that are not valid. */
static const struct handoff_mutex_attr bad[] = {
	{ 0, 0, 0, 0 },
	{ sizeof bad[0] - 1, 0, 0, 0 },
	{ sizeof bad[0] + 8, 0, 0, 0 },
	{ sizeof bad[0], 0x10, 0, 0 },
	{ sizeof bad[0], HANDOFF_RECURSIVE | HANDOFF_ERRORCHECK, 0, 0 },
	{ sizeof bad[0], 0x80000000u, 0, 0 },
	{ sizeof bad[0], 0, 4, 0 },
	{ sizeof bad[0], 0, UINT32_MAX, 0 },
	{ sizeof bad[0], 0, 0, UINT64_MAX },
};

static void bad_arguments_of_open_are_refused_and_leave_nothing(void **state)
{
	handoff_mutex *m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(handoff_mutex_open(&m, "bad", HANDOFF_CREATE,
		                     0600, &bad[i]),
		    EINVAL);
		assert_null(m);
	}
	assert_int_equal(handoff_mutex_open(NULL, "bad", HANDOFF_CREATE, 0600,
	                     NULL),
	    EINVAL);
	assert_int_equal(handoff_mutex_open(&m, NULL, HANDOFF_CREATE, 0600,
	                     NULL),
	    EINVAL);
	assert_int_equal(handoff_mutex_open(&m, "bad", HANDOFF_EXCLUSIVE, 0600,
	                     NULL),
	    EINVAL);
	assert_int_equal(handoff_mutex_open(&m, "bad", 0x80, 0600, NULL),
	    EINVAL);
	assert_int_equal(count_names(), 0);
}

static void init_refuses_bad_attributes_and_places(void **state)
{
	struct handoff_mutex_attr robust = { sizeof robust, HANDOFF_ROBUST, 0,
		0 };
	struct handoff_mutex_attr all = { sizeof all, HANDOFF_ROBUST,
		HANDOFF_WAIT_BLOCK, UINT32_MAX };
	struct room *r = open_room("init");
	handoff_mutex plain[2];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(handoff_mutex_init(plain, &bad[i]), EINVAL);
	assert_int_equal(handoff_mutex_init(NULL, NULL), EINVAL);
	for (size_t i = 1; i < 64; i++)
		assert_int_equal(handoff_mutex_init((handoff_mutex *)(void
		                                            *)((char *)plain +
		                                        i),
		                     NULL),
		    EINVAL);
	assert_int_equal(handoff_mutex_init(plain, &robust), ENOTSUP);
	assert_int_equal(handoff_mutex_init(plain, NULL), 0);
	assert_int_equal(handoff_mutex_destroy(plain), 0);
	assert_int_equal(handoff_mutex_init(&r->more[0], &robust), 0);
	assert_int_equal(handoff_mutex_init(&r->more[0], &all), 0);
	assert_int_equal(handoff_mutex_lock(&r->more[0]), 0);
	assert_int_equal(handoff_mutex_unlock(&r->more[0]), 0);
	close_room(r, "init");
}

static void refused(handoff_mutex *m)
{
	assert_int_equal(handoff_mutex_lock(m), EINVAL);
	assert_int_equal(handoff_mutex_trylock(m), EINVAL);
	assert_int_equal(handoff_mutex_lock_until(m, handoff_after(MS)),
	    EINVAL);
	assert_int_equal(handoff_mutex_unlock(m), EINVAL);
	assert_int_equal(handoff_mutex_consistent(m), EINVAL);
	assert_int_equal(handoff_mutex_destroy(m), EINVAL);
}

static void what_is_no_mutex_is_refused(void **state)
{
	struct room *r = open_room("none");
	handoff_mutex m;

	(void)state;
	refused(NULL);
	memset(&m, 0, sizeof m);
	refused(&m);
	memset(&m, 0xff, sizeof m);
	refused(&m);
	refused((handoff_mutex *)&r->changed);
	assert_int_equal(handoff_mutex_init(&m, NULL), 0);
	assert_int_equal(handoff_mutex_lock(&m), 0);
	assert_int_equal(handoff_mutex_unlock(&m), 0);
	assert_int_equal(handoff_mutex_destroy(&m), 0);
	refused(&m);
	close_room(r, "none");
}

/* ---- Locking --------------------------------------------------------------------- */

static void a_holder_keeps_other_processes_out(void **state)
{
	struct room *r = open_room("out");
	struct process p;

	(void)state;
	/* One try, and the lock is free. */
	assert_int_equal(handoff_mutex_lock_until(&r->lock, 0), 0);
	p = start("stranger", "out");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_trylock(&r->lock), 0);
	p = start("stranger", "out");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	close_room(r, "out");
}

static void waiters_with_any_far_deadline_get_the_lock(void **state)
{
	static const char *const args[] = { "far:0", "far:1", "far:2", "far:3",
		"far:4" };
	struct room *r = open_room("far");
	struct process p[5];

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	for (size_t i = 0; i < 5; i++) {
		p[i] = start("lock", args[i]);
		expect(&p[i], "locks");
	}
	for (size_t i = 0; i < 5; i++)
		assert_false(says_within(&p[i], 0.05));
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	for (size_t i = 0; i < 5; i++) {
		says(&p[i], 0);
		assert_int_equal(finish(&p[i]), 0);
	}
	close_room(r, "far");
}

static void *other_thread(void *arg)
{
	handoff_mutex *m = arg;
	int *result = malloc(4 * sizeof *result);

	if (!result)
		return NULL;
	result[0] = handoff_mutex_unlock(m);
	result[1] = handoff_mutex_trylock(m);
	result[2] = handoff_mutex_unlock(m);
	result[3] = handoff_mutex_consistent(m);
	return result;
}

static void only_the_thread_that_locked_may_unlock(void **state)
{
	struct room *r = open_room("mine");
	int *result = NULL;
	pthread_t thread;

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &r->lock),
	    0);
	assert_int_equal(pthread_join(thread, (void **)&result), 0);
	assert_non_null(result);
	assert_int_equal(result[0], EPERM);
	assert_int_equal(result[1], EBUSY);
	assert_int_equal(result[2], EPERM);
	assert_int_equal(result[3], EPERM);
	free(result);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	close_room(r, "mine");
}

static void locking_twice_is_told_at_once(void **state)
{
	struct room *r = open_room("twice");
	double from = seconds_now();

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), EDEADLK);
	assert_int_equal(handoff_mutex_lock_until(&r->lock, HANDOFF_NEVER),
	    EDEADLK);
	assert_int_equal(handoff_mutex_lock_until(&r->lock,
	                     handoff_after(SECOND)),
	    EDEADLK);
	assert_int_equal(handoff_mutex_trylock(&r->lock), EBUSY);
	assert_true(since(from) < 5);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	close_room(r, "twice");
}

/* ---- Mutual exclusion --------------------------------------------------------------- */

static int part_stress(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	unsigned x = me * 2654435761u + 1;

	say("ready");
	await("go");
	while (!atomic_load(&r->stop)) {
		int e;

		x = x * 1664525u + 1013904223u;
		e = (x >> 28) == 0 ? handoff_mutex_trylock(&r->lock) :
		    (x >> 28) == 1 ? handoff_mutex_lock_until(&r->lock,
		                         handoff_after(x >> 12 & 0x3ffff)) :
		                     handoff_mutex_lock(&r->lock);
		if ((e == EBUSY && (x >> 28) == 0) ||
		    (e == ETIMEDOUT && (x >> 28) == 1))
			continue;
		CHECK(e == 0);
		CHECK(r->inside == 0);
		r->inside = me + 1;
		if ((x >> 20 & 0x3f) == 0)
			sched_yield();
		for (unsigned i = x >> 12 & 0xff; i > 0; i--)
			CHECK(r->inside == me + 1);
		r->total = r->total + 1;
		r->each[me]++;
		r->inside = 0;
		OK(handoff_mutex_unlock(&r->lock));
	}
	return 0;
}

static void exclude(const char *name, unsigned policy)
{
	struct handoff_mutex_attr attr = { sizeof attr, HANDOFF_ROBUST, policy,
		0 };
	struct room *r = make_room(name, &attr);
	struct process p[PROCESSES];
	uint64_t sum = 0;
	char arg[64];

	assert_non_null(r);
	for (unsigned i = 0; i < PROCESSES; i++) {
		snprintf(arg, sizeof arg, "%s:%u", name, i);
		p[i] = start("stress", arg);
		expect(&p[i], "ready");
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		tell(&p[i], "go");
	sleep_seconds(1.5);
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < PROCESSES; i++)
		assert_int_equal(finish(&p[i]), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		assert_true(r->each[i] > 0);
		sum += r->each[i];
	}
	assert_int_equal(sum, r->total);
	assert_true(sum > 1000);
	print_message("%s: %llu times\n", name, (unsigned long long)sum);
	close_room(r, name);
}

static void four_processes_that_adapt_exclude_each_other(void **state)
{
	(void)state;
	exclude("adaptive", HANDOFF_WAIT_ADAPTIVE);
}

static void four_processes_that_spin_exclude_each_other(void **state)
{
	(void)state;
	exclude("spin", HANDOFF_WAIT_SPIN);
}

static void four_processes_that_yield_exclude_each_other(void **state)
{
	(void)state;
	exclude("yield", HANDOFF_WAIT_YIELD);
}

static void four_processes_that_block_exclude_each_other(void **state)
{
	(void)state;
	exclude("block", HANDOFF_WAIT_BLOCK);
}

/* ---- Many at once ---------------------------------------------------------------------- */

/* Those of `more` whose bit is set are held by somebody else. */
static int part_tries(const char *arg)
{
	unsigned held;
	struct room *r = join_room(arg, &held);

	for (unsigned i = 0; i < MANY; i++) {
		int e = handoff_mutex_trylock(&r->more[i]);

		CHECK(e == (held >> i & 1 ? EBUSY : 0));
		if (e == 0)
			OK(handoff_mutex_unlock(&r->more[i]));
	}
	return 0;
}

static void held_by_us(unsigned which)
{
	char arg[64];
	struct process p;

	snprintf(arg, sizeof arg, "many:%u", which);
	p = start("tries", arg);
	assert_int_equal(finish(&p), 0);
}

static void a_thread_holds_twenty_locks_at_once(void **state)
{
	struct room *r = open_room("many");
	const unsigned all = (1u << MANY) - 1;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(handoff_mutex_lock(&r->more[i]), 0);
	held_by_us(all);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(handoff_mutex_lock(&r->more[i]), EDEADLK);
	for (unsigned i = 0; i < MANY; i += 2)
		assert_int_equal(handoff_mutex_unlock(&r->more[i]), 0);
	held_by_us(all / 3 * 2);
	for (unsigned i = 0; i < MANY; i += 2)
		assert_int_equal(handoff_mutex_unlock(&r->more[i]), EPERM);
	assert_int_equal(handoff_close(r), EBUSY);
	for (unsigned i = 1; i < MANY; i += 2)
		assert_int_equal(handoff_mutex_unlock(&r->more[i]), 0);
	held_by_us(0);
	close_room(r, "many");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "lock", part_lock },
		{ "stranger", part_stranger },
		{ "named", part_named },
		{ "stress", part_stress },
		{ "tries", part_tries },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_name_leads_all_processes_to_one_mutex),
		TEST(bad_arguments_of_open_are_refused_and_leave_nothing),
		TEST(init_refuses_bad_attributes_and_places),
		TEST(what_is_no_mutex_is_refused),
		TEST(a_holder_keeps_other_processes_out),
		TEST(waiters_with_any_far_deadline_get_the_lock),
		TEST(only_the_thread_that_locked_may_unlock),
		TEST(locking_twice_is_told_at_once),
		TEST(four_processes_that_adapt_exclude_each_other),
		TEST(four_processes_that_spin_exclude_each_other),
		TEST(four_processes_that_yield_exclude_each_other),
		TEST(four_processes_that_block_exclude_each_other),
		TEST(a_thread_holds_twenty_locks_at_once),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("mutex", tests, NULL, NULL));
}
