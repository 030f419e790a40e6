/* SPDX-License-Identifier: ISC */
/*
 * The kinds of mutex, between processes: recursive and error-checking; and a
 * condition that is used with a recursive one.
 */
#define _GNU_SOURCE
#include "free.h"
#include "room.h"
#include "system.h"

#include <errno.h>

#define DEEPEST 65536u /* locks of one thread */

struct room {
	handoff_mutex lock;
	handoff_cond changed;
	volatile unsigned ready; /* protected by the lock */
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = handoff_mutex_init(&r->lock, arg);

	(void)bytes;
	return e != 0 ? e : handoff_cond_init(&r->changed, NULL);
}

static struct room *make_kind(const char *name, unsigned flags)
{
	struct handoff_mutex_attr attr = { sizeof attr, flags, 0, 0 };
	struct room *r = make_room(name, &attr);

	assert_non_null(r);
	return r;
}

/* ---- Making them ------------------------------------------------------- */

static void each_kind_can_be_made(void **state)
{
	static const struct {
		unsigned flags;
		int e;
	} kinds[] = {
		{ 0, 0 },
		{ HANDOFF_RECURSIVE, 0 },
		{ HANDOFF_ERRORCHECK, 0 },
		{ HANDOFF_UNFAIR, 0 },
		{ HANDOFF_RECURSIVE | HANDOFF_UNFAIR | HANDOFF_ROBUST, 0 },
		{ HANDOFF_ERRORCHECK | HANDOFF_UNFAIR | HANDOFF_ROBUST, 0 },
		{ HANDOFF_RECURSIVE | HANDOFF_ERRORCHECK, EINVAL },
		{ HANDOFF_RECURSIVE | HANDOFF_ERRORCHECK | HANDOFF_UNFAIR,
		    EINVAL },
		{ HANDOFF_EVENT_MANUAL, EINVAL },
		{ HANDOFF_RECURSIVE | 0x40u, EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct handoff_mutex_attr attr = { sizeof attr, kinds[i].flags,
			0, 0 };
		handoff_mutex *m;
		handoff_mutex plain;

		assert_int_equal(handoff_mutex_open(&m, "kind", HANDOFF_CREATE,
		                     0600, &attr),
		    kinds[i].e);
		assert_int_equal(count_names(), kinds[i].e == 0);
		attr.flags &= ~HANDOFF_ROBUST;
		assert_int_equal(handoff_mutex_init(&plain, &attr), kinds[i].e);
		if (kinds[i].e != 0)
			continue;
		for (int k = 0; k < 2; k++) {
			handoff_mutex *one = k == 0 ? m : &plain;
			int again = attr.flags & HANDOFF_RECURSIVE ? 0 :
			                                             EDEADLK;

			assert_int_equal(handoff_mutex_lock(one), 0);
			assert_int_equal(handoff_mutex_lock(one), again);
			if (again == 0)
				assert_int_equal(handoff_mutex_unlock(one), 0);
			assert_int_equal(handoff_mutex_unlock(one), 0);
			assert_int_equal(handoff_mutex_unlock(one), EPERM);
		}
		assert_int_equal(handoff_mutex_destroy(&plain), 0);
		assert_int_equal(handoff_close(m), 0);
		assert_int_equal(unlink_name("kind"), 0);
	}
}

/* ---- Recursive --------------------------------------------------------- */

/* Locks once, by each of the calls in turn. */
static int lock_by(handoff_mutex *m, unsigned i)
{
	return i % 3 == 0 ? handoff_mutex_lock(m) :
	    i % 3 == 1    ? handoff_mutex_trylock(m) :
	                    handoff_mutex_lock_until(m, i % 2 ? 0 : soon(5));
}

/* Somebody else holds it; what another process may not do. */
static int part_stranger(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	RESULT(handoff_mutex_trylock(&r->lock), EBUSY);
	RESULT(handoff_mutex_lock_until(&r->lock, soon(0.02)), ETIMEDOUT);
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	RESULT(handoff_mutex_consistent(&r->lock), EPERM);
	RESULT(handoff_mutex_destroy(&r->lock), EBUSY);
	return 0;
}

static void assert_held(const char *name)
{
	struct process p = start("stranger", name);

	assert_int_equal(finish(&p), 0);
}

static void it_is_unlocked_as_often_as_it_was_locked(void **state)
{
	struct room *r = make_kind("depth", HANDOFF_RECURSIVE);

	(void)state;
	for (unsigned depth = 1; depth <= 5; depth++) {
		for (unsigned i = 0; i < depth; i++)
			assert_int_equal(lock_by(&r->lock, depth + i), 0);
		for (unsigned i = 0; i < depth; i++) {
			assert_held("depth");
			assert_int_equal(handoff_close(r), EBUSY);
			assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		}
		assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
		assert_free("depth");
	}
	close_room(r, "depth");
}

static void it_can_be_locked_so_often_and_no_more(void **state)
{
	struct room *r = make_kind("deepest", HANDOFF_RECURSIVE);

	(void)state;
	for (unsigned i = 0; i < DEEPEST; i++)
		assert_int_equal(lock_by(&r->lock, i), 0);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(lock_by(&r->lock, i), EAGAIN);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), EAGAIN);
	for (unsigned i = 1; i < DEEPEST; i++)
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_held("deepest");
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	assert_free("deepest");
	close_room(r, "deepest");
}

static int results[6];

static void *other_thread(void *mutex)
{
	results[0] = handoff_mutex_unlock(mutex);
	results[1] = handoff_mutex_trylock(mutex);
	results[2] = handoff_mutex_lock_until(mutex, soon(0.02));
	results[3] = handoff_mutex_unlock(mutex);
	results[4] = handoff_mutex_consistent(mutex);
	results[5] = handoff_mutex_destroy(mutex);
	return NULL;
}

static void assert_not_another_threads(handoff_mutex *m)
{
	static const int expected[] = { EPERM, EBUSY, ETIMEDOUT, EPERM, EPERM,
		EBUSY };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, other_thread, m), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		assert_int_equal(results[i], expected[i]);
}

static void another_thread_is_not_its_owner(void **state)
{
	struct room *r = make_kind("threads", HANDOFF_RECURSIVE);

	(void)state;
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_not_another_threads(&r->lock);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_not_another_threads(&r->lock);
	assert_int_equal(handoff_mutex_consistent(&r->lock), EINVAL);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	close_room(r, "threads");
}

static void *hold_three(void *room)
{
	struct room *r = room;

	for (unsigned i = 0; i < 3; i++)
		OK(lock_by(&r->lock, i));
	return NULL;
}

/* Number 0: the process is killed; 1: the thread ends. */
static int part_deep(const char *arg)
{
	unsigned thread_ends;
	struct room *r = join_room(arg, &thread_ends);
	pthread_t thread;

	if (thread_ends) {
		CHECK(pthread_create(&thread, NULL, hold_three, r) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	} else {
		hold_three(r);
	}
	say("holds");
	linger();
	return 0;
}

/* Told once; the next one has it at depth 1. */
static void a_death_at_depth_three_is_told_once(void **state)
{
	struct room *r = make_kind("deep", HANDOFF_RECURSIVE);

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct process p = start("deep", i % 2 ? "deep:1" : "deep:0");

		expect(&p, "holds");
		if (i % 2 == 0)
			kill_hard(&p);
		assert_int_equal(i < 4 ?
		        handoff_mutex_lock_until(&r->lock, soon(2)) :
		        handoff_mutex_lock(&r->lock),
		    EOWNERDEAD);
		if (i >= 2) { /* deeper, before the repair and after */
			assert_int_equal(handoff_mutex_lock(&r->lock), 0);
			assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
			assert_held("deep");
		}
		assert_int_equal(handoff_mutex_consistent(&r->lock), 0);
		assert_int_equal(handoff_mutex_consistent(&r->lock), EINVAL);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
		assert_free("deep");
		if (i % 2)
			kill_hard(&p);
		assert_free("deep");
	}
	close_room(r, "deep");
}

static void only_its_last_unlock_loses_it(void **state)
{
	struct room *r = make_kind("lost", HANDOFF_RECURSIVE);
	struct process p = start("deep", "lost:0");

	(void)state;
	expect(&p, "holds");
	kill_hard(&p);
	assert_int_equal(handoff_mutex_lock_until(&r->lock, soon(2)),
	    EOWNERDEAD);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_held("lost");
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), ENOTRECOVERABLE);
	assert_int_equal(handoff_mutex_trylock(&r->lock), ENOTRECOVERABLE);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	close_room(r, "lost");
}

/* ---- A condition with a recursive mutex -------------------------------- */

/* Waits at depth 3, and has it at depth 3 again.  Number 0: until it is told,
 * with EOWNERDEAD or not; 1: until then at the latest; 2: for 0.1 s. */
static int part_waiter(const char *arg)
{
	unsigned how;
	struct room *r = join_room(arg, &how);
	int e = 0;

	hold_three(r);
	say("waits");
	while (r->ready == 0 && e == 0)
		e = how == 0 ? handoff_cond_wait(&r->changed, &r->lock) :
		               handoff_cond_wait_until(&r->changed, &r->lock,
		                   soon(how == 1 ? 20 : 0.1));
	if (e == EOWNERDEAD)
		OK(handoff_mutex_consistent(&r->lock));
	say(handoff_strerror(e));
	for (int i = 0; i < 3; i++) {
		await("unlock");
		OK(handoff_mutex_unlock(&r->lock));
		say("unlocked");
	}
	RESULT(handoff_mutex_unlock(&r->lock), EPERM);
	return 0;
}

static struct process start_waiter(const char *arg)
{
	struct process p = start("waiter", arg);

	expect(&p, "waits");
	return p;
}

/* It has woken, holds it thrice, and gives it back. */
static void assert_holds_thrice(struct room *r, struct process *p, int result)
{
	says(p, result);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(handoff_mutex_trylock(&r->lock), EBUSY);
		tell(p, "unlock");
		expect(p, "unlocked");
	}
	assert_int_equal(finish(p), 0);
	assert_int_equal(handoff_mutex_lock_until(&r->lock, soon(5)), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
}

/* Gets it, since who waits has released it fully; at depth 2. */
static void lock_twice(struct room *r)
{
	assert_int_equal(handoff_mutex_lock_until(&r->lock, soon(5)), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
}

static void a_wait_releases_it_and_restores_its_depth(void **state)
{
	static const char *const waiters[] = { "waits:0", "waits:1" };
	struct room *r = make_kind("waits", HANDOFF_RECURSIVE);

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct process p = start_waiter(waiters[i % 2]);

		lock_twice(r);
		if (i >= 4)
			assert_false(says_within(&p, 0.1));
		r->ready = 1;
		assert_int_equal(i / 2 % 2 ?
		        handoff_cond_broadcast(&r->changed) :
		        handoff_cond_signal(&r->changed),
		    0);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		/* A signal takes effect with the last unlock. */
		assert_false(says_within(&p, 0.05));
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
		assert_holds_thrice(r, &p, 0);
		r->ready = 0;
	}
	close_room(r, "waits");
}

static void a_wait_that_ends_by_its_deadline_restores_its_depth(void **state)
{
	struct room *r = make_kind("waits", HANDOFF_RECURSIVE);
	struct process p;

	(void)state;
	for (int i = 0; i < 3; i++) {
		p = start_waiter("waits:2");
		lock_twice(r);
		/* Past the deadline: it waits for the mutex. */
		if (i == 1)
			assert_false(says_within(&p, 0.2));
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
		assert_holds_thrice(r, &p, ETIMEDOUT);
	}
	/* Our own, alone. */
	lock_twice(r);
	assert_int_equal(handoff_cond_wait_until(&r->changed, &r->lock, 0),
	    ETIMEDOUT);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_cond_wait_until(&r->changed, &r->lock,
	                     soon(0.02)),
	    ETIMEDOUT);
	assert_held("waits");
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	assert_int_equal(handoff_cond_wait_until(&r->changed, &r->lock, 0),
	    EPERM);
	close_room(r, "waits");
}

static void a_broadcast_restores_the_depth_of_each(void **state)
{
	struct room *r = make_kind("waits", HANDOFF_RECURSIVE);
	struct process p[3];
	unsigned left = 3;

	(void)state;
	for (int i = 0; i < 3; i++)
		p[i] = start_waiter(i ? "waits:0" : "waits:1");
	lock_twice(r);
	r->ready = 1;
	assert_int_equal(handoff_cond_broadcast(&r->changed), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	/* In any order, each alone. */
	for (double end = seconds_now() + 10; left > 0;) {
		assert_true(seconds_now() < end);
		for (int i = 0; i < 3; i++) {
			if (p[i].pid == 0 || !says_within(&p[i], 0.01))
				continue;
			says(&p[i], 0);
			for (int k = 0; k < 3; k++) {
				tell(&p[i], "unlock");
				expect(&p[i], "unlocked");
			}
			assert_int_equal(finish(&p[i]), 0);
			left--;
		}
	}
	assert_free("waits");
	close_room(r, "waits");
}

/* The mutex's owner dies, at depth 3, while another waits at the condition. */
static void a_wait_that_is_told_of_a_death_restores_its_depth(void **state)
{
	struct room *r = make_kind("waits", HANDOFF_RECURSIVE);
	struct process p = start_waiter("waits:0");
	struct process owner;

	(void)state;
	lock_twice(r);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	owner = start("deep", "waits:0");
	expect(&owner, "holds");
	kill_hard(&owner);
	assert_holds_thrice(r, &p, EOWNERDEAD);
	close_room(r, "waits");
}

/* ---- Error-checking ---------------------------------------------------- */

static void check_errors(const char *name, unsigned flags)
{
	struct room *r = make_kind(name, flags);

	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	assert_int_equal(handoff_mutex_lock(&r->lock), EDEADLK);
	assert_int_equal(handoff_mutex_lock_until(&r->lock, HANDOFF_NEVER),
	    EDEADLK);
	assert_int_equal(handoff_mutex_lock_until(&r->lock, soon(30)), EDEADLK);
	assert_int_equal(handoff_mutex_trylock(&r->lock), EBUSY);
	assert_not_another_threads(&r->lock);
	assert_held(name);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	assert_free(name);
	assert_int_equal(handoff_mutex_unlock(&r->lock), EPERM);
	close_room(r, name);
}

static void mistakes_are_told(void **state)
{
	(void)state;
	check_errors("check", HANDOFF_ERRORCHECK);
	check_errors("plain", 0);
	check_errors("unfair", HANDOFF_UNFAIR);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "stranger", part_stranger },
		{ "taker", part_taker },
		{ "deep", part_deep },
		{ "waiter", part_waiter },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_kind_can_be_made),
		TEST(it_is_unlocked_as_often_as_it_was_locked),
		TEST(it_can_be_locked_so_often_and_no_more),
		TEST(another_thread_is_not_its_owner),
		TEST(a_death_at_depth_three_is_told_once),
		TEST(only_its_last_unlock_loses_it),
		TEST(a_wait_releases_it_and_restores_its_depth),
		TEST(a_wait_that_ends_by_its_deadline_restores_its_depth),
		TEST(a_broadcast_restores_the_depth_of_each),
		TEST(a_wait_that_is_told_of_a_death_restores_its_depth),
		TEST(mistakes_are_told),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(
	    cmocka_run_group_tests_name("mutex_kinds", tests, NULL, NULL));
}
