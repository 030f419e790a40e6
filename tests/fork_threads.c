/* SPDX-License-Identifier: ISC */
/*
 * handoff(7), fork: while other threads of the process are in the library
 * (G46).
 */
#define _GNU_SOURCE
#include "named.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define CHILDREN 300

/* ---- Forks while other threads are in the library ---------------------- */

static _Atomic int stop;

/* What threads do in each part of the library: the index picks. */
static void *use_library(void *arg)
{
	intptr_t what = (intptr_t)arg;
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	while (!stop) {
		handoff_mutex *other;
		int e;

		switch (what) {
		case 0: /* opens and closes an existing one */
			OK(handoff_mutex_open(&other, "n", CREATE, 0600, NULL));
			OK(handoff_close(other));
			break;
		case 1: /* makes and removes one */
			OK(handoff_mutex_open(&other, "o", CREATE, 0600, NULL));
			OK(handoff_close(other));
			OK(handoff_unlink("o"));
			break;
		case 2:
			OK(handoff_mutex_lock(m));
			e = handoff_cond_wait_until(c, m, soon(0.0001));
			CHECK(e == 0 || e == ETIMEDOUT);
			OK(handoff_mutex_unlock(m));
			break;
		default:
			OK(handoff_mutex_lock(m));
			OK(handoff_cond_broadcast(c));
			OK(handoff_mutex_unlock(m));
			OK(handoff_cond_signal(c));
		}
	}
	return NULL;
}

/* In a child of the storm. */
static void use_all(handoff_mutex *m, handoff_cond *c)
{
	handoff_mutex *other;

	RESULT(handoff_mutex_unlock(m), EPERM);
	OK(handoff_mutex_lock_until(m, soon(10)));
	OK(handoff_cond_signal(c));
	OK(handoff_mutex_unlock(m));
	OK(handoff_cond_broadcast(c));
	OK(handoff_mutex_open(&other, "p", CREATE, 0600, NULL));
	OK(handoff_mutex_lock(other));
	OK(handoff_mutex_unlock(other));
	OK(handoff_close(other));
	OK(handoff_close(c));
	OK(handoff_close(m));
}

/* One child at a time, which does a bit of everything. */
static int fork_storm(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();
	double end = seconds_now() + 2;
	pthread_t threads[4];
	unsigned forks = 0;

	(void)unused;
	for (intptr_t i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, use_library,
		          (void *)i) == 0);
	for (; seconds_now() < end; forks++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (pid == 0) {
			use_all(m, c);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(status == 0);
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	fprintf(stderr, "%u forks\n", forks);
	CHECK(forks >= 40);
	return 0;
}

/* Opens and closes "n" while children are made; none of them is waited for. */
static void *open_n(void *arg)
{
	unsigned *opens = arg;

	while (!stop) {
		double before = seconds_now();
		handoff_mutex *n;

		OK(handoff_mutex_open(&n, "n", CREATE, 0600, NULL));
		CHECK(seconds_now() - before < 2);
		OK(handoff_close(n));
		++*opens;
	}
	return NULL;
}

/* Children that stay to the end, whatever they inherited; then the process
 * dies while it holds a mutex that it has opened among the forks. */
static int fork_and_stay(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_mutex *n;
	pthread_t thread;
	unsigned opens = 0;

	(void)unused;
	OK(handoff_mutex_lock(m));
	CHECK(pthread_create(&thread, NULL, open_n, &opens) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			linger();
		sleep_seconds(0.001);
	}
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	OK(handoff_mutex_open(&n, "n", CREATE, 0600, NULL));
	OK(handoff_mutex_lock(n));
	fprintf(stderr, "%u opens beside %d forks\n", opens, CHILDREN);
	CHECK(opens >= 100);
	say("held");
	pause();
	return 1;
}

/* ---- The tests --------------------------------------------------------- */

static void remove_names(void)
{
	static const char *const names[] = { "m", "c", "n", "o", "p" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		handoff_unlink(names[i]);
	assert_int_equal(count_names(), 0);
}

static void forks_while_threads_are_in_the_library_are_harmless(void **state)
{
	struct process p = start("fork_storm", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
	remove_names();
}

static void children_that_stay_do_not_keep_their_parent_alive(void **state)
{
	struct process p = start("fork_and_stay", NULL);
	handoff_mutex *m;
	handoff_mutex *n;

	(void)state;
	expect_within(&p, "held", 20);
	assert_int_equal(handoff_mutex_open(&m, "m", 0, 0, NULL), 0);
	assert_int_equal(handoff_mutex_open(&n, "n", 0, 0, NULL), 0);
	assert_int_equal(handoff_mutex_trylock(m), EBUSY);
	assert_int_equal(handoff_mutex_trylock(n), EBUSY);
	kill(p.pid, SIGKILL);
	assert_int_equal(handoff_mutex_lock_until(m, soon(1)), EOWNERDEAD);
	assert_int_equal(handoff_mutex_lock_until(n, soon(1)), EOWNERDEAD);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_int_equal(handoff_mutex_unlock(n), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_close(n), 0);
	assert_int_equal(finish(&p), -SIGKILL);
	remove_names();
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "fork_storm", fork_storm },
		{ "fork_and_stay", fork_and_stay },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(forks_while_threads_are_in_the_library_are_harmless),
		TEST(children_that_stay_do_not_keep_their_parent_alive),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
