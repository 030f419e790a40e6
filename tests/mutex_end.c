/* SPDX-License-Identifier: ISC */
/*
 * The ends of a mutex, of its owner, and of what it protects; a mutex in
 * memory that a child inherits; and what no call may do: change errno, or
 * enter the system when nobody is in the way.
 */
#define _GNU_SOURCE
#include "room.h"
#include "stay_out.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define SECOND 1000000000u
#define MANY 20u /* more than a thread has room for at first */
#define ROUNDS 500
#define SKIPPED 77

/* What the parts of one test share, in a segment of the test's name or in
 * memory that a child inherits. */
struct room {
	handoff_mutex lock;
	handoff_mutex more[MANY];
	handoff_cond changed;
	volatile uint64_t total; /* counted by who has the lock */
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

/* ---- Parts ------------------------------------------------------------------- */

static int part_hold(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	OK(handoff_mutex_lock(&r->lock));
	say("holds");
	await("let go");
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

/* Locks, says with what result, makes it consistent and unlocks. */
static int part_lock(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	int e;

	say("locks");
	e = handoff_mutex_lock(&r->lock);
	say(handoff_strerror(e));
	if (e == EOWNERDEAD)
		OK(handoff_mutex_consistent(&r->lock));
	if (e == 0 || e == EOWNERDEAD)
		OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

static void *lock_all_and_end(void *arg)
{
	struct room *r = arg;
	static int failed;

	failed = handoff_mutex_lock(&r->lock);
	for (unsigned i = 0; i < MANY; i++)
		failed |= handoff_mutex_lock(&r->more[i]);
	return &failed;
}

/* A thread ends holding all locks; its process lives on. */
static int part_drop(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	int *failed = NULL;
	pthread_t thread;

	say("ready");
	await("lock");
	CHECK(pthread_create(&thread, NULL, lock_all_and_end, r) == 0);
	CHECK(pthread_join(thread, (void **)&failed) == 0);
	CHECK(*failed == 0);
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	say("dropped");
	linger();
	return 1;
}

/* A process to whom the mutex is lost, in every way to lock it. */
static int part_lost(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	RESULT(handoff_mutex_lock(&r->lock), ENOTRECOVERABLE);
	RESULT(handoff_mutex_trylock(&r->lock), ENOTRECOVERABLE);
	RESULT(handoff_mutex_lock_until(&r->lock, 0), ENOTRECOVERABLE);
	RESULT(handoff_mutex_lock_until(&r->lock, HANDOFF_NEVER),
	    ENOTRECOVERABLE);
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	RESULT(handoff_mutex_consistent(&r->lock), EPERM);
	return 0;
}

/* Finds the mutex destroyed. */
static int part_stale(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	RESULT(handoff_mutex_lock(&r->lock), EINVAL);
	RESULT(handoff_mutex_trylock(&r->lock), EINVAL);
	OK(handoff_mutex_lock(&r->more[0]));
	OK(handoff_mutex_unlock(&r->more[0]));
	return 0;
}

static struct process drop(const char *name)
{
	struct process p = start("drop", name);

	expect(&p, "ready");
	tell(&p, "lock");
	expect(&p, "dropped");
	return p;
}

/* ---- The end of an owner -------------------------------------------------------- */

static void the_end_of_a_thread_is_told_to_the_next(void **state)
{
	struct room *r = open_room("thread");
	struct process p = drop("thread");

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), EOWNERDEAD);
	assert_int_equal(handoff_mutex_consistent(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	/* One that has died while it holds many, by each way to lock. */
	for (unsigned i = 0; i < MANY; i++) {
		handoff_mutex *m = &r->more[i];

		assert_int_equal(i % 3 == 0 ? handoff_mutex_lock(m) :
		        i % 3 == 1          ? handoff_mutex_trylock(m) :
		                              handoff_mutex_lock_until(m, 0),
		    EOWNERDEAD);
		assert_int_equal(handoff_mutex_trylock(m), EBUSY);
		assert_int_equal(handoff_mutex_lock(m), EDEADLK);
		assert_int_equal(handoff_mutex_consistent(m), 0);
		assert_int_equal(handoff_mutex_unlock(m), 0);
	}
	kill_hard(&p);
	close_room(r, "thread");
}

static void the_end_of_a_thread_wakes_one_that_waits(void **state)
{
	struct room *r = open_room("wakes");
	struct process owner = start("drop", "wakes");
	struct process p;

	(void)state;
	/* The thread parks on the way to the last of its locks, holding the
	 * first, on which the other waits. */
	assert_int_equal(handoff_mutex_lock(&r->more[MANY - 1]), 0);
	expect(&owner, "ready");
	tell(&owner, "lock");
	while (handoff_mutex_trylock(&r->more[MANY - 2]) == 0) {
		assert_int_equal(handoff_mutex_unlock(&r->more[MANY - 2]), 0);
		sleep_seconds(0.001);
	}
	p = start("lock", "wakes");
	expect(&p, "locks");
	assert_false(says_within(&p, 0.5));
	assert_int_equal(handoff_mutex_unlock(&r->more[MANY - 1]), 0);
	says(&p, EOWNERDEAD);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	kill_hard(&owner);
	close_room(r, "wakes");
}

static void the_death_of_a_process_is_told_to_one_that_waits(void **state)
{
	struct room *r = open_room("death");
	struct process owner = start("hold", "death");
	struct process p;

	(void)state;
	expect(&owner, "holds");
	p = start("lock", "death");
	expect(&p, "locks");
	assert_false(says_within(&p, 0.3));
	kill_hard(&owner);
	says(&p, EOWNERDEAD);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	close_room(r, "death");
}

static void consistent_is_for_one_that_was_told(void **state)
{
	struct room *r = open_room("consistent");
	struct process p;

	(void)state;
	assert_int_equal(handoff_mutex_consistent(&r->lock), EPERM);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_consistent(&r->lock), EINVAL);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_consistent(&r->lock), EPERM);
	p = drop("consistent");
	assert_int_equal(handoff_mutex_consistent(&r->lock), EPERM);
	assert_int_equal(handoff_mutex_trylock(&r->lock), EOWNERDEAD);
	assert_int_equal(handoff_mutex_consistent(&r->more[0]), EPERM);
	assert_int_equal(handoff_mutex_consistent(&r->lock), 0);
	assert_int_equal(handoff_mutex_consistent(&r->lock), EINVAL);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	kill_hard(&p);
	close_room(r, "consistent");
}

static void unlocked_without_consistent_it_is_lost_for_all(void **state)
{
	struct room *r = open_room("lost");
	struct process dropper = drop("lost");
	struct process waiters[3];
	struct process p;

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), EOWNERDEAD);
	for (size_t i = 0; i < 3; i++) {
		waiters[i] = start("lock", "lost");
		expect(&waiters[i], "locks");
	}
	assert_false(says_within(&waiters[2], 0.5));
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	for (size_t i = 0; i < 3; i++) {
		says(&waiters[i], ENOTRECOVERABLE);
		assert_int_equal(finish(&waiters[i]), 0);
	}
	assert_int_equal(handoff_mutex_lock(&r->lock), ENOTRECOVERABLE);
	assert_int_equal(handoff_mutex_trylock(&r->lock), ENOTRECOVERABLE);
	assert_int_equal(handoff_mutex_lock_until(&r->lock, 0),
	    ENOTRECOVERABLE);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	p = start("lost", "lost");
	assert_int_equal(finish(&p), 0);
	kill_hard(&dropper);
	p = start("lost", "lost");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_destroy(&r->lock), 0);
	close_room(r, "lost");
}

/* ---- The end of a mutex ------------------------------------------------------------ */

static void *lock_and_unlock(void *arg)
{
	static int e;

	e = handoff_mutex_lock(arg);
	if (e == 0)
		e = handoff_mutex_unlock(arg);
	return &e;
}

static void what_is_held_or_waited_for_is_not_destroyed(void **state)
{
	struct room *r = open_room("busy");
	struct process p = start("hold", "busy");
	pthread_t thread;
	int *result = NULL;

	(void)state;
	expect(&p, "holds");
	assert_int_equal(handoff_mutex_destroy(&r->lock), EBUSY);
	assert_int_equal(pthread_create(&thread, NULL, lock_and_unlock,
	                     &r->lock),
	    0);
	sleep_seconds(0.1);
	assert_int_equal(handoff_mutex_destroy(&r->lock), EBUSY);
	tell(&p, "let go");
	assert_int_equal(pthread_join(thread, (void **)&result), 0);
	assert_int_equal(*result, 0);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_destroy(&r->lock), EBUSY);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_destroy(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), EINVAL);
	p = start("stale", "busy");
	assert_int_equal(finish(&p), 0);
	close_room(r, "busy");
}

static _Atomic(handoff_mutex *) to_end;

/* Locks after the other thread, and has the mutex and its memory vanish. */
static void *end_each(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		handoff_mutex *m;

		while (!(m = atomic_load(&to_end)))
			sched_yield();
		OK(handoff_mutex_lock(m));
		OK(handoff_mutex_unlock(m));
		OK(handoff_mutex_destroy(m));
		drop_page(m);
		atomic_store(&to_end, NULL);
	}
	return arg;
}

static int part_vanish(const char *arg)
{
	struct handoff_mutex_attr attr = { sizeof attr, 0, 0, 0 };
	pthread_t thread;

	attr.policy = (unsigned)atoi(arg);
	CHECK(pthread_create(&thread, NULL, end_each, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		handoff_mutex *m = new_page();

		OK(handoff_mutex_init(m, &attr));
		OK(handoff_mutex_lock(m));
		atomic_store(&to_end, m);
		if (i % 4 == 0)
			sleep_seconds(0.0002); /* it is parked by now */
		OK(handoff_mutex_unlock(m));
		while (atomic_load(&to_end))
			sched_yield();
	}
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

static void who_locks_next_may_destroy_it_and_unmap_its_memory(void **state)
{
	static const char *const policies[] = { "0", "1", "2", "3" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct process p = start("vanish", policies[i]);

		assert_int_equal(finish(&p), 0);
	}
}

/* ---- In memory that a child inherits -------------------------------------------------- */

static void count(struct room *r, unsigned times)
{
	while (times-- > 0) {
		OK(handoff_mutex_lock(&r->lock));
		r->total = r->total + 1;
		OK(handoff_mutex_unlock(&r->lock));
	}
}

static int inherited(struct room *r)
{
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	RESULT(handoff_mutex_trylock(&r->lock), EBUSY);
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	RESULT(handoff_mutex_consistent(&r->lock), EPERM);
	RESULT(handoff_mutex_lock_until(&r->lock, handoff_after(10 * MS)),
	    ETIMEDOUT);
	say("refused");
	OK(handoff_mutex_lock(&r->lock));
	CHECK(r->total > 0); /* not before the parent's unlock */
	OK(handoff_mutex_unlock(&r->lock));
	count(r, 20000);
	return 0;
}

static int part_in_place(const char *arg)
{
	struct room *r = shared_pages(sizeof *r);
	int status = -1;
	pid_t child;

	(void)arg;
	OK(fill_room(r, sizeof *r, NULL));
	OK(handoff_mutex_lock(&r->lock));
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		_exit(inherited(r));
	await("unlock");
	r->total = 1;
	OK(handoff_mutex_unlock(&r->lock));
	count(r, 20000);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
	CHECK(r->total == 40001);
	OK(handoff_mutex_destroy(&r->lock));
	return 0;
}

static void a_child_shares_a_mutex_in_memory_but_not_its_hold(void **state)
{
	struct process p = start("in place", "");

	(void)state;
	expect(&p, "refused");
	assert_false(says_within(&p, 0.2));
	tell(&p, "unlock");
	assert_int_equal(finish(&p), 0);
}

/* ---- What no call does ----------------------------------------------------------------- */

#define MARK 4711
#define KEPT(call, expected)            \
	do {                            \
		errno = MARK;           \
		RESULT(call, expected); \
		CHECK(errno == MARK);   \
	} while (0)

static void *lock_and_end(void *arg)
{
	KEPT(handoff_mutex_lock(arg), 0);
	return NULL;
}

static void errno_and_names(void)
{
	struct handoff_mutex_attr robust = { sizeof robust, HANDOFF_ROBUST, 0,
		0 };
	handoff_mutex *m;
	handoff_mutex *none;
	handoff_mutex plain;

	KEPT(handoff_mutex_open(&m, "other", 0, 0, NULL), ENOENT);
	KEPT(handoff_mutex_open(&m, "", 0, 0, NULL), EINVAL);
	KEPT(handoff_mutex_open(&m, "other", HANDOFF_CREATE, 0600, NULL), 0);
	KEPT(handoff_mutex_open(&m, "other", 0, 0, NULL), 0);
	KEPT(handoff_mutex_open(&none, "other",
	         HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, NULL),
	    EEXIST);
	KEPT(handoff_close(m), 0);
	KEPT(handoff_close(m), 0);
	KEPT(handoff_close(m), EINVAL);
	KEPT(handoff_unlink("other"), HAS_FILES ? 0 : ENOTSUP);
	KEPT(handoff_unlink("other"), HAS_FILES ? ENOENT : ENOTSUP);
	KEPT(handoff_mutex_init(&plain, &robust), ENOTSUP);
	KEPT(handoff_mutex_init(&plain, NULL), 0);
	KEPT(handoff_mutex_destroy(&plain), 0);
	KEPT(handoff_mutex_lock(&plain), EINVAL);
}

/* "hold" has the lock and is killed when this says so. */
static int part_errno(const char *arg)
{
	struct room *r;
	pthread_t thread;

	errno = MARK;
	r = join_room(arg, NULL);
	CHECK(errno == MARK);
	KEPT(handoff_mutex_trylock(&r->lock), EBUSY);
	KEPT(handoff_mutex_lock_until(&r->lock, 0), ETIMEDOUT);
	KEPT(handoff_mutex_lock_until(&r->lock, handoff_after(30 * MS)),
	    ETIMEDOUT);
	KEPT(handoff_mutex_unlock(&r->lock), EPERM);
	KEPT(handoff_mutex_destroy(&r->lock), EBUSY);
	say("kill");
	KEPT(handoff_mutex_lock(&r->lock), EOWNERDEAD);
	KEPT(handoff_mutex_lock(&r->lock), EDEADLK);
	KEPT(handoff_mutex_consistent(&r->lock), 0);
	KEPT(handoff_mutex_consistent(&r->lock), EINVAL);
	KEPT(handoff_cond_wait_until(&r->changed, &r->lock,
	         handoff_after(30 * MS)),
	    ETIMEDOUT);
	KEPT(handoff_cond_signal(&r->changed), 0);
	KEPT(handoff_cond_broadcast(&r->changed), 0);
	KEPT(handoff_mutex_unlock(&r->lock), 0);
	KEPT(handoff_cond_wait(&r->changed, &r->lock), EPERM);
	KEPT(handoff_cond_destroy(&r->changed), 0);
	CHECK(pthread_create(&thread, NULL, lock_and_end, &r->lock) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	KEPT(handoff_mutex_trylock(&r->lock), EOWNERDEAD);
	KEPT(handoff_mutex_unlock(&r->lock), 0);
	KEPT(handoff_mutex_lock(&r->lock), ENOTRECOVERABLE);
	for (unsigned i = 0; i < MANY; i++)
		KEPT(handoff_mutex_lock(&r->more[i]), 0);
	for (unsigned i = 0; i < MANY; i++)
		KEPT(handoff_mutex_unlock(&r->more[i]), 0);
	errno_and_names();
	return 0;
}

static void errno_is_never_changed(void **state)
{
	struct room *r = open_room("errno");
	struct process owner = start("hold", "errno");
	struct process p;

	(void)state;
	expect(&owner, "holds");
	p = start("errno", "errno");
	expect(&p, "kill");
	sleep_seconds(0.05);
	kill_hard(&owner);
	assert_int_equal(finish(&p), 0);
	close_room(r, "errno");
}

static void easy_calls(struct room *r, handoff_mutex *plain)
{
	OK(handoff_mutex_lock(&r->lock));
	OK(handoff_cond_signal(&r->changed));
	OK(handoff_mutex_unlock(&r->lock));
	OK(handoff_mutex_lock_until(&r->lock, HANDOFF_NEVER));
	OK(handoff_cond_broadcast(&r->changed));
	OK(handoff_mutex_lock(&r->more[0]));
	RESULT(handoff_mutex_unlock(&r->more[1]), EPERM);
	OK(handoff_mutex_unlock(&r->lock));
	OK(handoff_mutex_unlock(&r->more[0]));
	OK(handoff_mutex_trylock(&r->more[1]));
	OK(handoff_mutex_unlock(&r->more[1]));
	OK(handoff_cond_signal(&r->changed));
	OK(handoff_cond_broadcast(&r->changed));
	OK(handoff_mutex_lock(plain));
	OK(handoff_mutex_unlock(plain));
}

/* "" or, to see that the filter is one, "enter". */
static int part_stay_out(const char *arg)
{
	struct room *r = join_room("out", NULL);
	handoff_mutex plain;

	OK(handoff_mutex_init(&plain, NULL));
	/* The condition is one that somebody has waited for. */
	OK(handoff_mutex_lock(&r->lock));
	RESULT(handoff_cond_wait_until(&r->changed, &r->lock, 0), ETIMEDOUT);
	OK(handoff_mutex_unlock(&r->lock));
	easy_calls(r, &plain);
	if (!stay_out())
		return SKIPPED;
	for (int i = 0; i < 1000; i++)
		easy_calls(r, &plain);
	if (strcmp(arg, "enter") == 0)
		sched_yield();
	say("out");
	_exit(0);
}

/* A sanitizer makes system calls of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static void nobody_in_the_way_means_no_system_call(void **state)
{
#ifdef SANITIZED
	(void)state;
	print_message("skipped: a sanitizer makes system calls\n");
	skip();
#else
	struct room *r = open_room("out");
	struct process p = start("stay out", "enter");
	int status = finish(&p);

	(void)state;
	if (status == SKIPPED) {
		print_message("skipped: no filter of system calls here\n");
		close_room(r, "out");
		skip();
	}
	assert_int_equal(status, -SIGSYS);
	p = start("stay out", "");
	assert_int_equal(finish(&p), 0);
	close_room(r, "out");
#endif
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "hold", part_hold },
		{ "lock", part_lock },
		{ "drop", part_drop },
		{ "lost", part_lost },
		{ "stale", part_stale },
		{ "vanish", part_vanish },
		{ "in place", part_in_place },
		{ "errno", part_errno },
		{ "stay out", part_stay_out },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_end_of_a_thread_is_told_to_the_next),
		TEST(the_end_of_a_thread_wakes_one_that_waits),
		TEST(the_death_of_a_process_is_told_to_one_that_waits),
		TEST(consistent_is_for_one_that_was_told),
		TEST(unlocked_without_consistent_it_is_lost_for_all),
		TEST(what_is_held_or_waited_for_is_not_destroyed),
		TEST(who_locks_next_may_destroy_it_and_unmap_its_memory),
		FORK_TEST(a_child_shares_a_mutex_in_memory_but_not_its_hold),
		TEST(errno_is_never_changed),
		TEST(nobody_in_the_way_means_no_system_call),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("mutex_end", tests, NULL, NULL));
}
