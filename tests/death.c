/* SPDX-License-Identifier: ISC */
/*
 * handoff_mutex(3): an owner that ends, in whatever way and in whatever phase
 * of the wait of others.
 */
#define _GNU_SOURCE
#include "lockers.h"
#include "system.h"

#include <errno.h>
#include <stdlib.h>

#include "named.h"

#define CREATE HANDOFF_CREATE
#define MANY 40

/* ---- Helpers ----------------------------------------------------------- */

static void assert_recovered(handoff_mutex *m)
{
	assert_int_equal(handoff_mutex_lock_until(m, soon(5)), EOWNERDEAD);
	assert_int_equal(handoff_mutex_consistent(m), 0);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_free(m);
}

/* ---- One owner killed -------------------------------------------------- */

/* A waiter in each phase of its wait: the owner is killed after `delay`. */
static void kill_owner_of_waiter(const char *how, double delay,
    const char *what)
{
	struct process owner = start_holder();
	struct process waiter = start_locker(how);
	double since;

	sleep_seconds(delay);
	since = seconds_now();
	kill_hard(&owner);
	expect_lock(&waiter, "EOWNERDEAD", since, what);
	let_go(&waiter);
}

/* G01 */
static void a_spinning_waiter_learns_of_the_owners_death(void **state)
{
	handoff_mutex *m;

	(void)state;
	m = make_m(HANDOFF_WAIT_SPIN, 1000000);
	for (int i = 0; i < 20; i++)
		kill_owner_of_waiter("lock", i / 10e3,
		    i % 10 ? NULL : "spinning for 1 ms at the most");
	end_m(m);
	m = make_m(HANDOFF_WAIT_SPIN, 4000000000u);
	kill_owner_of_waiter("lock", 0.05, "spinning for 4 s at the most");
	end_m(m);
	m = make_m(HANDOFF_WAIT_YIELD, 4000000000u);
	kill_owner_of_waiter("lock", 0.05, "yielding for 4 s at the most");
	end_m(m);
	m = make_m(HANDOFF_WAIT_BLOCK, 0);
	kill_owner_of_waiter("lock", 0.05, "blocking at once");
	end_m(m);
}

/* G01: its slices have grown to their longest. */
static void a_waiter_parked_for_long_learns_of_the_owners_death(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);

	(void)state;
	kill_owner_of_waiter("lock", 5, "parked for 5 s");
	assert_free(m);
	end_m(m);
}

/* G01: by each call, from a process started before and after the death. */
static void every_way_to_lock_learns_of_the_owners_death(void **state)
{
	static const char *const ways[] = { "lock", "try", "until" };
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct process p;

		kill_owner_of_waiter(ways[i], 0.02, ways[i]);
		p = start_holder();
		kill_hard(&p);
		p = start("locker", ways[i]);
		expect(&p, "trying");
		expect_lock(&p, "EOWNERDEAD", seconds_now(), "came later");
		let_go(&p);
		p = start_holder();
		kill_hard(&p);
		assert_recovered(m);
	}
	/* One try, at any time: also when the deadline has passed. */
	for (int i = 0; i < 10; i++) {
		struct process p = start_holder();

		assert_int_equal(handoff_mutex_trylock(m), EBUSY);
		assert_int_equal(handoff_mutex_lock_until(m, 0), ETIMEDOUT);
		kill_hard(&p);
		sleep_seconds(0.002);
		assert_int_equal(i % 2 ? handoff_mutex_trylock(m) :
		                         handoff_mutex_lock_until(m, 0),
		    EOWNERDEAD);
		assert_int_equal(handoff_mutex_consistent(m), 0);
		assert_int_equal(handoff_mutex_unlock(m), 0);
	}
	end_m(m);
}

/* G01, G02: all processes gone, nothing to be removed by hand. */
static void a_death_is_told_when_nobody_had_it_open_meanwhile(void **state)
{
	handoff_mutex *m;
	struct process p = start_holder();

	(void)state;
	kill_hard(&p);
	assert_int_equal(handoff_mutex_open(&m, "m", 0, 0, NULL), 0);
	assert_recovered(m);
	end_m(m);
}

/* G02: told apart from "lost for good", by every call, for all that follow. */
static void unlocking_without_consistent_loses_it_for_all(void **state)
{
	static const char *const ways[] = { "lock", "try", "until" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
		struct process owner = start_holder();
		struct process first = start("holder", NULL);
		struct process waiter[3];
		double since;

		sleep_seconds(0.02);
		kill_hard(&owner);
		expect(&first, "held"); /* told EOWNERDEAD */
		for (size_t k = 0; k < 3; k++)
			waiter[k] = start_locker(ways[i]);
		assert_int_equal(says_within(&waiter[0], 0.05), 0);
		since = seconds_now();
		tell(&first, "unlock");
		for (size_t k = 0; k < 3; k++) {
			expect_lock(&waiter[k], "ENOTRECOVERABLE", since, NULL);
			assert_int_equal(finish(&waiter[k]), 0);
		}
		assert_int_equal(finish(&first), 0);
		assert_int_equal(handoff_mutex_lock(m), ENOTRECOVERABLE);
		assert_int_equal(handoff_mutex_trylock(m), ENOTRECOVERABLE);
		assert_int_equal(handoff_mutex_lock_until(m, 0),
		    ENOTRECOVERABLE);
		assert_int_equal(handoff_mutex_unlock(m), EPERM);
		assert_int_equal(handoff_mutex_consistent(m), EPERM);
		end_m(m);
	}
}

static void exactly_one_of_two_waiters_is_told(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct process owner = start_holder();
		struct process a = start_locker("lock");
		struct process b = start_locker("until");
		double end = seconds_now() + 5;
		int first;

		sleep_seconds(i / 500.0);
		kill_hard(&owner);
		while (!(first = says_within(&a, 0)) && !says_within(&b, 0))
			assert_true(seconds_now() < end);
		expect(first ? &a : &b, "EOWNERDEAD");
		assert_int_equal(says_within(first ? &b : &a, 0.3), 0);
		end = seconds_now();
		tell(first ? &a : &b, "unlock");
		expect_lock(first ? &b : &a, "0", end, NULL);
		tell(first ? &b : &a, "unlock");
		assert_int_equal(finish(&a), 0);
		assert_int_equal(finish(&b), 0);
		assert_free(m);
	}
	end_m(m);
}

/* ---- More than one lock, and more than one death ----------------------- */

struct many {
	handoff_mutex mutex[MANY];
};

static int init_many(void *memory, size_t bytes, void *arg)
{
	struct many *many = memory;
	int e = 0;

	(void)bytes;
	(void)arg;
	for (int i = 0; i < MANY && e == 0; i++)
		e = handoff_mutex_init(&many->mutex[i], NULL);
	return e;
}

static struct many *open_many(void)
{
	const struct handoff_segment_options o = { sizeof o,
		sizeof(struct many), 1, init_many, NULL };
	handoff_segment *s;

	if (handoff_segment_open(&s, "many", CREATE, 0600, &o) != 0)
		return NULL;
	return handoff_segment_memory(s);
}

static int hold_many(const char *unused)
{
	struct many *many = open_many();

	(void)unused;
	CHECK(many != NULL);
	for (int i = 0; i < MANY; i++)
		OK(handoff_mutex_lock(&many->mutex[i]));
	for (int i = 0; i < MANY; i += 3)
		OK(handoff_mutex_unlock(&many->mutex[i]));
	say("held");
	linger();
	return 0;
}

static void all_locks_of_one_that_died_are_told(void **state)
{
	struct many *many = open_many();
	struct process p = start("hold_many", NULL);

	(void)state;
	assert_non_null(many);
	expect(&p, "held");
	for (int i = 0; i < MANY; i++)
		if (i % 3 != 0)
			assert_int_equal(handoff_mutex_trylock(&many->mutex[i]),
			    EBUSY);
	kill_hard(&p);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(handoff_mutex_lock_until(&many->mutex[i],
		                     soon(5)),
		    i % 3 ? EOWNERDEAD : 0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(handoff_mutex_consistent(&many->mutex[i]),
		    i % 3 ? 0 : EINVAL);
		assert_int_equal(handoff_mutex_unlock(&many->mutex[i]), 0);
		assert_free(&many->mutex[i]);
	}
	assert_int_equal(handoff_close(many), 0);
	assert_int_equal(unlink_name("many"), 0);
}

/* Each recovers from the one before, and dies before it says consistent. */
static void death_during_recovery_is_told_to_the_next(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct process p = start_holder();
		struct process waiter = start_locker("lock");
		double since;

		if (i % 2)
			sleep_seconds(0.01);
		since = seconds_now();
		kill_hard(&p);
		expect_lock(&waiter, "EOWNERDEAD", since, NULL);
		kill_hard(&waiter);
	}
	assert_recovered(m);
	end_m(m);
}

/* ---- Ends that are no kill --------------------------------------------- */

static int exec_holding(const char *unused)
{
	handoff_mutex *m = open_m();

	(void)unused;
	OK(handoff_mutex_lock(m));
	say("held");
	await("exec");
	execl("/proc/self/exe", "death", "--part", "after_exec", (char *)NULL);
	return 1;
}

static int after_exec(const char *unused)
{
	(void)unused;
	say("again");
	await("end");
	return 0;
}

static void an_owner_that_executes_another_program_is_dead(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process p = start("exec_holding", NULL);
	struct process waiter;

	(void)state;
	expect(&p, "held");
	waiter = start_locker("lock");
	assert_int_equal(says_within(&waiter, 0.1), 0);
	tell(&p, "exec");
	expect(&p, "again");
	expect_lock(&waiter, "EOWNERDEAD", seconds_now(), "exec");
	let_go(&waiter);
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	end_m(m);
}

static int exit_holding(const char *unused)
{
	handoff_mutex *m = open_m();

	(void)unused;
	OK(handoff_mutex_lock(m));
	say("held");
	await("exit");
	exit(0);
}

static void an_owner_that_exits_is_dead(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process p = start("exit_holding", NULL);
	struct process waiter;

	(void)state;
	expect(&p, "held");
	waiter = start_locker("lock");
	assert_int_equal(says_within(&waiter, 0.1), 0);
	tell(&p, "exit");
	expect_lock(&waiter, "EOWNERDEAD", seconds_now(), "exit");
	let_go(&waiter);
	assert_int_equal(finish(&p), 0);
	end_m(m);
}

static void *lock_and_end(void *m)
{
	return (void *)(intptr_t)handoff_mutex_lock(m);
}

static int end_thread(const char *unused)
{
	handoff_mutex *m = open_m();
	pthread_t thread;
	void *result;

	(void)unused;
	await("end");
	CHECK(pthread_create(&thread, NULL, lock_and_end, m) == 0);
	CHECK(pthread_join(thread, &result) == 0 && result == NULL);
	say("ended");
	await("lock");
	/* The process lives, and is no owner. */
	RESULT(handoff_mutex_unlock(m), EPERM);
	RESULT(handoff_mutex_trylock(m), EOWNERDEAD);
	OK(handoff_mutex_consistent(m));
	OK(handoff_mutex_unlock(m));
	return 0;
}

static void a_thread_that_ends_while_it_holds_it_is_dead(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process p = start("end_thread", NULL);
	struct process q = start("end_thread", NULL);

	(void)state;
	assert_int_equal(handoff_mutex_lock(m), 0);
	tell(&p, "end");
	assert_int_equal(says_within(&p, 0.1), 0);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	expect(&p, "ended");
	assert_recovered(m);
	kill_hard(&p);
	tell(&q, "end");
	expect(&q, "ended");
	tell(&q, "lock");
	assert_int_equal(finish(&q), 0);
	assert_free(m);
	end_m(m);
}

static _Atomic int may_end;

static void *hold_and_end(void *m)
{
	int e = handoff_mutex_lock(m);

	may_end = 1;
	while (may_end != 2)
		sleep_seconds(0.001);
	return (void *)(intptr_t)e;
}

/* A waiter that is parked is woken by the end of the thread. */
static void the_end_of_a_thread_wakes_a_waiter(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);
	pthread_t thread;
	struct process waiter;
	double since;
	void *result;

	(void)state;
	may_end = 0;
	assert_int_equal(pthread_create(&thread, NULL, hold_and_end, m), 0);
	while (may_end != 1)
		sleep_seconds(0.001);
	waiter = start_locker("lock");
	assert_int_equal(says_within(&waiter, 0.5), 0);
	since = seconds_now();
	may_end = 2;
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	expect_lock(&waiter, "EOWNERDEAD", since, "thread's end");
	let_go(&waiter);
	end_m(m);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "holder", holder },
		{ "locker", locker },
		{ "hold_many", hold_many },
		{ "exec_holding", exec_holding },
		{ "after_exec", after_exec },
		{ "exit_holding", exit_holding },
		{ "end_thread", end_thread },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_spinning_waiter_learns_of_the_owners_death),
		TEST(a_waiter_parked_for_long_learns_of_the_owners_death),
		TEST(every_way_to_lock_learns_of_the_owners_death),
		FILE_TEST(a_death_is_told_when_nobody_had_it_open_meanwhile),
		TEST(unlocking_without_consistent_loses_it_for_all),
		TEST(exactly_one_of_two_waiters_is_told),
		TEST(all_locks_of_one_that_died_are_told),
		TEST(death_during_recovery_is_told_to_the_next),
		FORK_TEST(an_owner_that_executes_another_program_is_dead),
		TEST(an_owner_that_exits_is_dead),
		TEST(a_thread_that_ends_while_it_holds_it_is_dead),
		TEST(the_end_of_a_thread_wakes_a_waiter),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
