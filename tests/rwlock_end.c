/* SPDX-License-Identifier: ISC */
/*
 * The readers-writer lock: more readers than can be told apart, children,
 * memory that they inherit, its end, and errno.
 */
#define _GNU_SOURCE
#include "readers.h"
#include "system.h"

#include <errno.h>
#include <string.h>

#define SLOTS 16 /* processes that can be told apart */
#define EXTRA 4
#define TURNS 2000u

/* ---- More readers than can be told apart ------------------------------- */

static void twenty_processes_read_at_once(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p[SLOTS + EXTRA];

	(void)state;
	for (size_t i = 0; i < SLOTS + EXTRA; i++) {
		p[i] = start_user("rdlock rdlock rdunlock go rdunlock");
		says(&p[i], 0);
		says(&p[i], 0);
		says(&p[i], 0);
	}
	for (size_t i = 0; i < SLOTS + EXTRA; i++) {
		assert_no_writer_comes_in(r);
		ends_with(&p[i], 0);
	}
	assert_free(r);
	/* A writer waits for the last one of those beyond. */
	for (size_t i = 0; i < SLOTS + EXTRA; i++) {
		p[i] = start_user(i < SLOTS + 1 ? "rdlock go rdunlock" :
		                                  "asks wrlock go wrunlock");
		if (i < SLOTS + 1)
			says(&p[i], 0);
		else
			expect(&p[i], "asks");
	}
	for (size_t i = 0; i < SLOTS + 1; i++) {
		assert_false(says_within(&p[SLOTS + 1], 0));
		if (i == SLOTS)
			waits(&p[SLOTS + 1]);
		ends_with(&p[i], 0);
	}
	for (size_t i = SLOTS + 1; i < SLOTS + EXTRA; i++)
		tell(&p[i], "go");
	for (size_t i = SLOTS + 1; i < SLOTS + EXTRA; i++) {
		says(&p[i], 0);
		says(&p[i], 0);
		assert_int_equal(finish(&p[i]), 0);
	}
	assert_free(r);
	end_rw(r);
}

/* ---- A child ----------------------------------------------------------- */

static void own_nothing(handoff_rwlock *lock, int parent_reads)
{
	RESULT(handoff_rwlock_rdunlock(lock), EPERM);
	RESULT(handoff_rwlock_wrunlock(lock), EPERM);
	RESULT(handoff_rwlock_downgrade(lock), EPERM);
	RESULT(handoff_rwlock_consistent(lock), EPERM);
	RESULT(handoff_rwlock_trywrlock(lock), EBUSY);
	RESULT(handoff_rwlock_wrlock_until(lock, soon(0.02)), ETIMEDOUT);
	RESULT(handoff_rwlock_rdlock_until(lock, soon(0.02)),
	    parent_reads ? 0 : ETIMEDOUT);
	RESULT(handoff_rwlock_tryrdlock(lock), parent_reads ? 0 : EBUSY);
	if (parent_reads) {
		OK(handoff_rwlock_rdunlock(lock));
		OK(handoff_rwlock_rdunlock(lock));
	}
	RESULT(handoff_rwlock_rdunlock(lock), EPERM);
}

/* "rdlock" or "wrlock". */
static int part_fork(const char *how)
{
	struct room *r = get_rw();
	int reads = strcmp(how, "rdlock") == 0;
	int status = -1;
	pid_t child;

	OK(call_by_name(&r->lock, how));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		own_nothing(&r->lock, reads);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
	say("forked");
	await("go");
	OK(reads ? handoff_rwlock_rdunlock(&r->lock) :
	           handoff_rwlock_wrunlock(&r->lock));
	return 0;
}

static void a_child_owns_nothing(void **state)
{
	static const char *const ways[] = { "rdlock", "wrlock" };
	struct room *r = make_rw(NULL);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct process p = start("fork", ways[i]);

		expect(&p, "forked");
		assert_no_writer_comes_in(r);
		assert_int_equal(handoff_rwlock_tryrdlock(&r->lock),
		    i == 0 ? 0 : EBUSY);
		if (i == 0)
			assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
		tell(&p, "go");
		assert_int_equal(finish(&p), 0);
		assert_free(r);
	}
	end_rw(r);
}

/* ---- In memory that a child inherits ----------------------------------- */

#define CHILDREN 18 /* more than can be told apart */

static void take_turns(struct room *r, unsigned me)
{
	for (unsigned i = 0; i < TURNS; i++) {
		unsigned a;

		if (i % 4 == me % 4) {
			OK(handoff_rwlock_wrlock(&r->lock));
			CHECK(r->a == r->b);
			write_both(r);
			OK(handoff_rwlock_wrunlock(&r->lock));
			continue;
		}
		OK(handoff_rwlock_rdlock(&r->lock));
		a = r->a;
		CHECK(r->b == a && r->a == a);
		OK(handoff_rwlock_rdunlock(&r->lock));
	}
}

/* Number 0 finds that it owns nothing, the others take turns. */
static pid_t start_child(struct room *r, unsigned me)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child != 0)
		return child;
	alarm(40); /* should the parent end before */
	if (me == 0)
		own_nothing(&r->lock, 1);
	else
		take_turns(r, me);
	_exit(0);
}

static void end_child(pid_t child)
{
	int status = -1;

	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
}

static int part_in_place(const char *unused)
{
	struct room *r = shared_pages(sizeof *r);
	pid_t child[CHILDREN];

	(void)unused;
	OK(fill_room(r, sizeof *r, NULL));
	OK(handoff_rwlock_rdlock(&r->lock));
	end_child(start_child(r, 0));
	for (unsigned i = 1; i < CHILDREN; i++)
		child[i] = start_child(r, i);
	sleep_seconds(0.1);
	CHECK(r->a == 0);
	OK(handoff_rwlock_rdunlock(&r->lock));
	take_turns(r, 0);
	for (unsigned i = 1; i < CHILDREN; i++)
		end_child(child[i]);
	CHECK(r->a == r->b && r->a == CHILDREN * (TURNS / 4));
	OK(handoff_rwlock_destroy(&r->lock));
	return 0;
}

static void children_share_it_in_plain_memory(void **state)
{
	struct process p = start("in place", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

/* ---- Its end ----------------------------------------------------------- */

static void *write_once(void *lock)
{
	int e = handoff_rwlock_wrlock_until(lock, soon(20));

	if (e == 0)
		e = handoff_rwlock_wrunlock(lock);
	return (void *)(intptr_t)e;
}

static void assert_busy(struct room *r)
{
	assert_int_equal(handoff_close(r), EBUSY);
	assert_int_equal(handoff_rwlock_destroy(&r->lock), EBUSY);
}

static void what_is_held_or_waited_for_stays(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p = start_user(
	    "rdlock destroy go rdunlock wrlock destroy go wrunlock "
	    "go rdlock wrlock rdunlock wrunlock destroy");
	void *result = &p;
	pthread_t thread;

	(void)state;
	says(&p, 0);
	says(&p, EBUSY);
	assert_int_equal(handoff_rwlock_destroy(&r->lock), EBUSY);
	assert_int_equal(pthread_create(&thread, NULL, write_once, &r->lock),
	    0);
	sleep_seconds(0.1);
	assert_busy(r);
	tell(&p, "go");
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	says(&p, 0);
	says(&p, 0);
	says(&p, EBUSY);
	assert_int_equal(handoff_rwlock_destroy(&r->lock), EBUSY);
	tell(&p, "go");
	says(&p, 0);
	assert_int_equal(handoff_rwlock_rdlock(&r->lock), 0);
	assert_busy(r);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_wrlock(&r->lock), 0);
	assert_busy(r);
	assert_int_equal(handoff_rwlock_downgrade(&r->lock), 0);
	assert_busy(r);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_destroy(&r->lock), 0);
	assert_refused(&r->lock);
	tell(&p, "go");
	for (int i = 0; i < 5; i++)
		says(&p, EINVAL);
	assert_int_equal(finish(&p), 0);
	end_rw(r);
}

/* ---- errno ------------------------------------------------------------- */

#define MARK 4711
#define KEPT(call, expected)            \
	do {                            \
		errno = MARK;           \
		RESULT(call, expected); \
		CHECK(errno == MARK);   \
	} while (0)

/* Somebody reads. */
static int part_errno(const char *unused)
{
	handoff_rwlock *lock = &get_rw()->lock;

	(void)unused;
	KEPT(handoff_rwlock_rdunlock(lock), EPERM);
	KEPT(handoff_rwlock_rdlock(lock), 0);
	KEPT(handoff_rwlock_wrlock(lock), EDEADLK);
	KEPT(handoff_rwlock_rdunlock(lock), 0);
	KEPT(handoff_rwlock_trywrlock(lock), EBUSY);
	KEPT(handoff_rwlock_wrlock_until(lock, soon(0.05)), ETIMEDOUT);
	say("let go");
	KEPT(handoff_rwlock_wrlock(lock), 0);
	KEPT(handoff_rwlock_rdlock(lock), EDEADLK);
	KEPT(handoff_rwlock_destroy(lock), EBUSY);
	KEPT(handoff_rwlock_downgrade(lock), 0);
	KEPT(handoff_rwlock_rdunlock(lock), 0);
	KEPT(handoff_rwlock_rdlock_until(lock, soon(1)), 0);
	KEPT(handoff_rwlock_rdunlock(lock), 0);
	KEPT(handoff_rwlock_wrlock(lock), 0);
	KEPT(handoff_rwlock_wrunlock(lock), 0);
	return 0;
}

static void errno_is_never_changed(void **state)
{
	struct room *r = make_rw(NULL);
	struct process reader = start_user("rdlock go rdunlock");
	struct process p;

	(void)state;
	says(&reader, 0);
	p = start("errno", NULL);
	expect(&p, "let go");
	waits(&p);
	ends_with(&reader, 0);
	assert_int_equal(finish(&p), 0);
	end_rw(r);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "user", user },
		{ "fork", part_fork },
		{ "in place", part_in_place },
		{ "errno", part_errno },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(twenty_processes_read_at_once),
		FORK_TEST(a_child_owns_nothing),
		FORK_TEST(children_share_it_in_plain_memory),
		TEST(what_is_held_or_waited_for_stays),
		TEST(errno_is_never_changed),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("rwlock_end", tests, NULL, NULL));
}
