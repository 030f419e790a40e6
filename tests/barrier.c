/* SPDX-License-Identifier: ISC */
/* The barrier, between processes and threads: what handoff_barrier(3) says. */
#define _GNU_SOURCE
#include "parties.h"
#include "still.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u

/* ---- Meeting ------------------------------------------------------------- */

static struct room *here;

/* All orders but the barrier's are relaxed: it alone makes them see it. */
static void *meet(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	unsigned n = here->parties;

	for (unsigned g = 0; g < here->generations; g++) {
		int last = -1;
		unsigned come;

		atomic_store_explicit(&here->each[me], g + 1,
		    memory_order_relaxed);
		atomic_fetch_add_explicit(&here->come, 1, memory_order_relaxed);
		OK(handoff_barrier_wait(&here->barrier, &last));
		CHECK(last == 0 || last == 1);
		if (last)
			atomic_fetch_add(&here->told[g], 1);
		/* All of this generation, and not all of the next. */
		come = atomic_load_explicit(&here->come, memory_order_relaxed);
		CHECK(come >= (g + 1) * n && come < (g + 2) * n);
		for (unsigned i = 0; i < n; i++) {
			unsigned at = atomic_load_explicit(&here->each[i],
			    memory_order_relaxed);

			CHECK(at == g + 1 || at == g + 2);
		}
	}
	return NULL;
}

/* "name:process" */
static int part_meet(const char *arg)
{
	pthread_t threads[MOST];
	unsigned process;
	unsigned first;

	here = join_room(arg, &process);
	first = process * here->threads;
	for (unsigned i = 1; i < here->threads; i++)
		CHECK(pthread_create(&threads[i], NULL, meet,
		          (void *)(uintptr_t)(first + i)) == 0);
	meet((void *)(uintptr_t)first);
	for (unsigned i = 1; i < here->threads; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

static void run_meeting(const char *name, uint32_t processes, uint32_t threads,
    uint32_t generations, uint32_t policy)
{
	const struct wanted wanted = { processes * threads, policy, generations,
		threads };
	struct room *r = make_room(name, &wanted);
	struct process p[MOST];
	char arg[64];

	assert_non_null(r);
	for (unsigned i = 0; i < processes; i++) {
		snprintf(arg, sizeof arg, "%s:%u", name, i);
		p[i] = start("meet", arg);
	}
	/* A short sum of waits may take long on a loaded machine. */
	for (unsigned i = 0; i < processes; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_int_equal(r->come, wanted.parties * generations);
	for (unsigned g = 0; g < generations; g++)
		assert_int_equal(r->told[g], 1);
	assert_int_equal(handoff_barrier_destroy(&r->barrier), 0);
	close_room(r, name);
}

#define MEETING(test, processes, threads, generations, policy)       \
	static void test(void **state)                               \
	{                                                            \
		(void)state;                                         \
		run_meeting("meet", processes, threads, generations, \
		    HANDOFF_WAIT_##policy);                          \
	}

MEETING(two_processes_meet_and_one_is_told_last, 2, 1, 1000, ADAPTIVE)
MEETING(five_processes_that_block_meet, 5, 1, 1000, BLOCK)
MEETING(processes_and_threads_meet, 3, 3, 1000, ADAPTIVE)
MEETING(processes_and_threads_that_block_meet, 3, 3, 1000, BLOCK)
MEETING(threads_that_yield_meet, 1, 4, 500, YIELD)
MEETING(a_hundred_threads_of_two_processes_meet, 2, 50, 50, BLOCK)
MEETING(a_hundred_threads_of_one_process_meet, 1, 100, 50, ADAPTIVE)
/* More than it can know. */
MEETING(seventy_processes_meet, 70, 1, 20, BLOCK)

/* Parents and children. */
static int part_family(const char *arg)
{
	unsigned process;
	int status;
	pid_t child;

	here = join_room(arg, &process);
	/* The child is not what its parent was known as. */
	RESULT(handoff_barrier_wait_until(&here->barrier, NULL, 0), ETIMEDOUT);
	child = fork();
	CHECK(child >= 0);
	for (unsigned g = 0; g < here->generations; g++)
		OK(handoff_barrier_wait(&here->barrier, NULL));
	if (child == 0)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return 0;
}

static void children_of_fork_are_parties_of_their_own(void **state)
{
	const struct wanted wanted = { 4, HANDOFF_WAIT_ADAPTIVE, 100, 1 };
	struct room *r = make_room("family", &wanted);
	struct process p[2];

	(void)state;
	assert_non_null(r);
	for (unsigned i = 0; i < 2; i++)
		p[i] = start("family", "family");
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_int_equal(handoff_barrier_destroy(&r->barrier), 0);
	close_room(r, "family");
}

static void one_party_never_waits(void **state)
{
	struct room *r = make_barrier("one", 1);
	int last;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		last = -1;
		assert_int_equal(handoff_barrier_wait(&r->barrier, &last), 0);
		assert_int_equal(last, 1);
		last = -1;
		assert_int_equal(handoff_barrier_wait_until(&r->barrier, &last,
		                     0),
		    0);
		assert_int_equal(last, 1);
		assert_int_equal(handoff_barrier_wait(&r->barrier, NULL), 0);
	}
	assert_int_equal(handoff_barrier_destroy(&r->barrier), 0);
	close_room(r, "one");
}

/* ---- Deadlines ----------------------------------------------------------- */

static void who_is_late_has_not_come(void **state)
{
	struct room *r = make_barrier("late", 3);
	struct process p[2];
	uint64_t until;
	int last = -1;

	(void)state;
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, &last, 0),
	    ETIMEDOUT);
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, &last,
	                     handoff_now() - 1),
	    ETIMEDOUT);
	until = handoff_after(50 * MS);
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, &last, until),
	    ETIMEDOUT);
	assert_true(handoff_now() >= until);
	/* Nobody is counted: two do not get through, a third completes it. */
	for (unsigned i = 0; i < 2; i++)
		p[i] = start_party("late:2");
	settle_all(p, 2);
	assert_false(says_within(&p[0], 0.1) || says_within(&p[1], 0.1));
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, &last, 0), 0);
	assert_int_equal(last, 1);
	all_say(p, 2, 0);
	/* And once more, with one who is late beside some who wait. */
	all_come(p, 1);
	settle_all(p, 1);
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, &last,
	                     handoff_after(20 * MS)),
	    ETIMEDOUT);
	all_come(p + 1, 1);
	settle_all(p, 2);
	assert_false(says_within(&p[0], 0.1) || says_within(&p[1], 0.1));
	assert_int_equal(handoff_barrier_wait(&r->barrier, &last), 0);
	assert_int_equal(last, 1);
	all_say(p, 2, 0);
	all_end(p, 2);
	close_room(r, "late");
}

/* ---- Plain memory -------------------------------------------------------- */

static void come_often(handoff_barrier *b, _Atomic unsigned *last_ones)
{
	for (unsigned g = 0; g < 300; g++) {
		int last;

		OK(handoff_barrier_wait(b, &last));
		atomic_fetch_add(last_ones, (unsigned)last);
	}
}

/* Three processes by fork; nobody is told of deaths. */
static int part_plain(const char *unused)
{
	struct handoff_barrier_attr robust = { sizeof robust, HANDOFF_ROBUST, 0,
		0 };
	struct {
		handoff_barrier b;
		_Atomic unsigned lasts;
	} *s = shared_pages(sizeof *s);
	pid_t child[2];
	int status;

	(void)unused;
	RESULT(handoff_barrier_init(&s->b, 3, &robust), ENOTSUP);
	OK(handoff_barrier_init(&s->b, 3, NULL));
	for (unsigned i = 0; i < 2; i++) {
		child[i] = fork();
		CHECK(child[i] >= 0);
		if (child[i] == 0) {
			come_often(&s->b, &s->lasts);
			_exit(0);
		}
	}
	come_often(&s->b, &s->lasts);
	for (unsigned i = 0; i < 2; i++)
		CHECK(waitpid(child[i], &status, 0) == child[i] && status == 0);
	CHECK(s->lasts == 300);
	RESULT(handoff_barrier_wait_until(&s->b, NULL, soon(0.4)), ETIMEDOUT);
	OK(handoff_barrier_destroy(&s->b));
	return 0;
}

static void plain_memory_does_without_deaths(void **state)
{
	struct process p = start("plain", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

/* ---- Making and ending --------------------------------------------------- */

static void the_number_of_parties_is_bounded(void **state)
{
	static const uint32_t bad[] = { 0, HANDOFF_BARRIER_MAX + 1, 0x10001,
		UINT32_MAX };
	handoff_barrier b;
	handoff_barrier *named;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(handoff_barrier_init(&b, bad[i], NULL),
		    EINVAL);
		assert_int_equal(handoff_barrier_open(&named, "bad",
		                     HANDOFF_CREATE, 0600, bad[i], NULL),
		    EINVAL);
		assert_null(named);
	}
	assert_int_equal(count_names(), 0);
	assert_int_equal(handoff_barrier_init(&b, HANDOFF_BARRIER_MAX, NULL),
	    0);
	assert_int_equal(handoff_barrier_wait_until(&b, NULL, 0), ETIMEDOUT);
	assert_int_equal(handoff_barrier_destroy(&b), 0);
}

static void bad_attributes_and_places_are_refused(void **state)
{
	static const struct handoff_barrier_attr bad[] = {
		{ 0, 0, 0, 0 },
		{ sizeof bad[0] + 8, 0, 0, 0 },
		{ sizeof bad[0], 2, 0, 0 },
		{ sizeof bad[0], 0x80000000u, 0, 0 },
		{ sizeof bad[0], 0, 4, 0 },
		{ sizeof bad[0], 0, 0, UINT64_MAX },
	};
	handoff_barrier b[2];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(handoff_barrier_init(b, 2, &bad[i]), EINVAL);
	assert_int_equal(handoff_barrier_init(NULL, 2, NULL), EINVAL);
	for (size_t i = 1; i < 64; i++)
		assert_int_equal(handoff_barrier_init((void *)((char *)b + i),
		                     2, NULL),
		    EINVAL);
}

static void refused(handoff_barrier *b)
{
	int last;

	assert_int_equal(handoff_barrier_wait(b, &last), EINVAL);
	assert_int_equal(handoff_barrier_wait_until(b, &last, 0), EINVAL);
	assert_int_equal(handoff_barrier_destroy(b), EINVAL);
}

static void what_is_no_barrier_is_refused(void **state)
{
	struct room *r = make_barrier("none", 2);
	handoff_barrier b;

	(void)state;
	refused(NULL);
	memset(&b, 0, sizeof b);
	refused(&b);
	memset(&b, 0xff, sizeof b);
	refused(&b);
	refused((handoff_barrier *)(void *)&r->mutex);
	assert_int_equal(handoff_barrier_init(&b, 1, NULL), 0);
	assert_int_equal(handoff_barrier_wait(&b, NULL), 0);
	assert_int_equal(handoff_barrier_destroy(&b), 0);
	refused(&b);
	close_room(r, "none");
}

static int part_named(const char *arg)
{
	handoff_barrier *b;

	/* How many is what the one who makes it says. */
	OK(handoff_barrier_open(&b, arg, HANDOFF_CREATE, 0600, 7, NULL));
	OK(handoff_barrier_wait(b, NULL));
	OK(handoff_close(b));
	return 0;
}

static void a_name_leads_all_processes_to_one_barrier(void **state)
{
	handoff_barrier *b;
	handoff_mutex *m;
	struct process p;

	(void)state;
	assert_int_equal(handoff_barrier_open(&b, "named", 0, 0, 2, NULL),
	    ENOENT);
	assert_null(b);
	assert_int_equal(handoff_barrier_open(&b, "named",
	                     HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, 2, NULL),
	    0);
	assert_int_equal(handoff_mutex_open(&m, "named", 0, 0, NULL), EPROTO);
	p = start("named", "named");
	assert_int_equal(handoff_barrier_wait_until(b, NULL, soon(10)), 0);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_close(b), 0);
	assert_int_equal(unlink_name("named"), 0);
}

static _Atomic pid_t waiter;

static void *come_alone(void *arg)
{
	struct room *r = arg;

	atomic_store(&waiter, this_thread());
	OK(handoff_barrier_wait(&r->barrier, NULL));
	return NULL;
}

static int part_busy(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, come_alone, r) == 0);
	while (atomic_load(&waiter) == 0)
		sleep_seconds(0.001);
	settle(waiter);
	RESULT(handoff_close(r), EBUSY);
	RESULT(handoff_barrier_destroy(&r->barrier), EBUSY);
	OK(handoff_barrier_wait(&r->barrier, NULL));
	CHECK(pthread_join(thread, NULL) == 0);
	OK(handoff_close(r));
	return 0;
}

static void its_segment_is_busy_while_a_thread_waits(void **state)
{
	struct room *r = make_barrier("thread", 2);
	struct process p = start("busy", "thread");

	(void)state;
	assert_int_equal(finish(&p), 0);
	close_room(r, "thread");
}

static void it_is_busy_while_somebody_waits(void **state)
{
	struct room *r = make_barrier("busy", 2);
	struct process p = start_party("busy:1");

	(void)state;
	settle(p.pid);
	assert_int_equal(handoff_barrier_destroy(&r->barrier), EBUSY);
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
	                     soon(TOLD)),
	    0);
	says(&p, 0);
	assert_int_equal(handoff_barrier_destroy(&r->barrier), 0);
	all_end(&p, 1);
	close_room(r, "busy");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "party", part_party },
		{ "meet", part_meet },
		{ "family", part_family },
		{ "plain", part_plain },
		{ "named", part_named },
		{ "busy", part_busy },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_processes_meet_and_one_is_told_last),
		TEST(five_processes_that_block_meet),
		TEST(processes_and_threads_meet),
		TEST(processes_and_threads_that_block_meet),
		TEST(threads_that_yield_meet),
		TEST(a_hundred_threads_of_two_processes_meet),
		TEST(a_hundred_threads_of_one_process_meet),
		TEST(seventy_processes_meet),
		FORK_TEST(children_of_fork_are_parties_of_their_own),
		TEST(one_party_never_waits),
		TEST(who_is_late_has_not_come),
		FORK_TEST(plain_memory_does_without_deaths),
		TEST(the_number_of_parties_is_bounded),
		TEST(bad_attributes_and_places_are_refused),
		TEST(what_is_no_barrier_is_refused),
		TEST(a_name_leads_all_processes_to_one_barrier),
		TEST(its_segment_is_busy_while_a_thread_waits),
		TEST(it_is_busy_while_somebody_waits),
	};

	PROCESSES_BEGIN(argc, argv, parts, 200);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
