/* SPDX-License-Identifier: ISC */
/*
 * handoff_mutex(3), handoff_cond(3): owners that only look dead are not
 * robbed, and waiters that die hold up nobody.
 */
#define _GNU_SOURCE
#include "lockers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named.h"

#define CREATE HANDOFF_CREATE

/* ---- Waiters that die -------------------------------------------------- */

/* G05, G09: whichever of three is killed, before or after it was woken. */
static void the_others_go_on_when_a_waiter_is_killed(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		struct process w[3];
		double since;

		assert_int_equal(handoff_mutex_lock(m), 0);
		for (size_t k = 0; k < 3; k++) {
			w[k] = start_locker("lock");
			sleep_seconds(0.02);
		}
		/* Stopped, it gets the wake and does nothing with it. */
		kill(w[i % 3].pid, SIGSTOP);
		if (i >= 6)
			kill_hard(&w[i % 3]);
		since = seconds_now();
		assert_int_equal(handoff_mutex_unlock(m), 0);
		if (i < 6)
			kill_hard(&w[i % 3]);
		for (size_t k = 0; k < 2; k++) {
			struct process *a = &w[(i + 1) % 3];
			struct process *b = &w[(i + 2) % 3];
			struct process *one = a->pid &&
			        (!b->pid || says_within(a, 0.2)) ?
			    a :
			    b;

			expect_lock(one, "0", since, NULL);
			let_go(one);
			since = seconds_now();
		}
		assert_free(m);
	}
	end_m(m);
}

/* G05: woken and stopped, it keeps nobody out. */
static void a_stopped_waiter_keeps_nobody_out(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);
	struct process w[2];

	(void)state;
	assert_int_equal(handoff_mutex_lock(m), 0);
	w[0] = start_locker("lock");
	sleep_seconds(0.05);
	w[1] = start_locker("lock");
	sleep_seconds(0.05);
	kill(w[0].pid, SIGSTOP);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	expect_lock(&w[1], "0", seconds_now(), "beside a stopped one");
	let_go(&w[1]);
	assert_free(m);
	kill(w[0].pid, SIGCONT);
	expect_lock(&w[0], "0", seconds_now(), NULL);
	let_go(&w[0]);
	end_m(m);
}

/* G09: the mark survives a recovery. */
static void a_recovery_keeps_the_mark_of_other_waiters(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_BLOCK, 0);

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct process grabber;
		struct process w1;
		struct process w3;
		double since;
		int first;

		assert_int_equal(handoff_mutex_lock(m), 0);
		w1 = start_locker("lock");
		w3 = start_locker("lock");
		sleep_seconds(0.03);
		kill(w1.pid, SIGSTOP);
		kill(w3.pid, SIGSTOP);
		assert_int_equal(handoff_mutex_unlock(m), 0);
		grabber = start_holder();
		since = seconds_now();
		kill_hard(&grabber);
		kill(w1.pid, SIGCONT);
		kill(w3.pid, SIGCONT);
		first = says_within(&w1, 0.3);
		expect_lock(first ? &w1 : &w3, "EOWNERDEAD", since, NULL);
		let_go(first ? &w1 : &w3);
		expect_lock(first ? &w3 : &w1, "0", seconds_now(), NULL);
		let_go(first ? &w3 : &w1);
	}
	end_m(m);
}

/* ---- Owners that look dead --------------------------------------------- */

/* Nobody robs the owner: asserted for a while, by each call. */
static void assert_not_robbed(handoff_mutex *m, double seconds)
{
	double end = seconds_now() + seconds;

	do {
		double before = seconds_now();

		assert_int_equal(handoff_mutex_trylock(m), EBUSY);
		assert_int_equal(handoff_mutex_lock_until(m, soon(0.2)),
		    ETIMEDOUT);
		assert_true(seconds_now() - before >= 0.19);
		assert_true(seconds_now() - before < 1.2);
		assert_int_equal(handoff_mutex_unlock(m), EPERM);
	} while (seconds_now() < end);
}

/* G45 */
static void a_stopped_owner_is_not_robbed(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process owner = start_holder();
	struct process waiter = start_locker("lock");

	(void)state;
	kill(owner.pid, SIGSTOP);
	assert_not_robbed(m, 2);
	assert_int_equal(says_within(&waiter, 0), 0);
	tell(&owner, "unlock");
	assert_int_equal(says_within(&waiter, 0.3), 0);
	kill(owner.pid, SIGCONT);
	expect_lock(&waiter, "0", seconds_now(), "after SIGCONT");
	assert_int_equal(finish(&owner), 0);
	let_go(&waiter);
	assert_free(m);
	end_m(m);
}

/* Closes all descriptors but the test's own, and gives their numbers to
 * another file. */
static int close_all(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_mutex *other;

	(void)unused;
	OK(handoff_mutex_open(&other, "other", CREATE, 0600, NULL));
	OK(handoff_mutex_lock(m));
	for (int fd = 5; fd < 256; fd++)
		close(fd);
	for (int i = 0; i < 32; i++)
		CHECK(open("/proc/self/exe", O_RDONLY) >= 0);
	say("held");
	await("unlock");
	OK(handoff_mutex_unlock(m));
	/* It works on, learns of deaths, and closes what is not its own no
	 * more than before. */
	say("waiting");
	await("lock");
	RESULT(handoff_mutex_lock_until(m, soon(5)), EOWNERDEAD);
	OK(handoff_mutex_consistent(m));
	OK(handoff_mutex_unlock(m));
	OK(handoff_close(m));
	OK(handoff_close(other));
	for (int fd = 5; fd < 37; fd++)
		CHECK(fcntl(fd, F_GETFD) >= 0);
	return 0;
}

static void an_owner_without_descriptors_is_not_robbed(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process owner = start("close_all", NULL);
	struct process p;

	(void)state;
	expect(&owner, "held");
	assert_not_robbed(m, 0.5);
	tell(&owner, "unlock");
	expect(&owner, "waiting");
	assert_free(m);
	p = start_holder();
	kill_hard(&p);
	tell(&owner, "lock");
	assert_int_equal(finish(&owner), 0);
	assert_free(m);
	assert_int_equal(handoff_unlink("other"), 0);
	end_m(m);
}

static int parent_of_child(const char *unused)
{
	handoff_mutex *m = open_m();
	pid_t pid;

	(void)unused;
	OK(handoff_mutex_lock(m));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		say("held");
		await("speak");
		say("alive");
		_exit(0);
	}
	for (;;)
		pause();
}

static void a_living_child_does_not_keep_its_parent_alive(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	struct process p = start("parent_of_child", NULL);
	struct process waiter;
	double since;

	(void)state;
	expect(&p, "held");
	waiter = start_locker("lock");
	assert_not_robbed(m, 0.1);
	since = seconds_now();
	kill(p.pid, SIGKILL);
	expect_lock(&waiter, "EOWNERDEAD", since, "beside a living child");
	tell(&p, "speak");
	expect(&p, "alive");
	let_go(&waiter);
	assert_int_equal(finish(&p), -SIGKILL);
	end_m(m);
}

/* In a PID namespace of its own, as its first process: what `run` does. */
static int in_namespace(const char *arg)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) != 0)
		return 77;
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(getpid() == 1);
		if (strcmp(arg, "hold") == 0)
			_exit(holder(NULL));
		if (strcmp(arg, "lock") == 0)
			_exit(locker("lock"));
		if (strcmp(arg, "ask") == 0) {
			handoff_mutex *m = open_m();

			RESULT(handoff_mutex_trylock(m), EBUSY);
			RESULT(handoff_mutex_unlock(m), EPERM);
			RESULT(handoff_mutex_lock_until(m, soon(1)), ETIMEDOUT);
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* G53: nor taken for the asker, although both are process 1. */
static void an_owner_in_another_pid_namespace_is_not_robbed(void **state)
{
	handoff_mutex *m;
	struct process owner = start("in_namespace", "probe");
	struct process p;

	(void)state;
	if (finish(&owner) == 77)
		SKIP("another PID namespace needs the rights of root");
	m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	owner = start("in_namespace", "hold");
	expect(&owner, "held");
	p = start("in_namespace", "ask");
	assert_not_robbed(m, 1);
	assert_int_equal(finish(&p), 0);
	p = start("in_namespace", "lock");
	expect(&p, "trying");
	assert_int_equal(says_within(&p, 0.2), 0);
	tell(&owner, "end"); /* not what it awaits: it exits, holding */
	assert_int_not_equal(finish(&owner), 0);
	expect_lock(&p, "EOWNERDEAD", seconds_now(), "another namespace");
	let_go(&p);
	end_m(m);
}

/* ---- Conditions, and everything ---------------------------------------- */

static void lock_anyhow(handoff_mutex *m)
{
	int e = handoff_mutex_lock_until(m, soon(2));

	CHECK(e == 0 || e == EOWNERDEAD);
	if (e == EOWNERDEAD)
		OK(handoff_mutex_consistent(m));
}

/* Waits for a signal, again and again, until it is killed. */
static int wait_for_ever(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	(void)unused;
	say("begin");
	for (;;) {
		int e;

		lock_anyhow(m);
		e = handoff_cond_wait(c, m);
		CHECK(e == 0 || e == EOWNERDEAD);
		if (e == EOWNERDEAD)
			OK(handoff_mutex_consistent(m));
		OK(handoff_mutex_unlock(m));
	}
	return 0;
}

/* Waits once each time it is told to. */
static int wait_when_told(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	(void)unused;
	for (;;) {
		say("ready");
		await("wait");
		lock_anyhow(m);
		say("waiting");
		OK(handoff_cond_wait_until(c, m, soon(10)));
		OK(handoff_mutex_unlock(m));
	}
	return 0;
}

/* What one who signals does, under or without the mutex; within a second. */
static void notify(handoff_mutex *m, handoff_cond *c, unsigned how)
{
	double before = seconds_now();

	if (how & 1)
		lock_anyhow(m);
	assert_int_equal(how & 2 ? handoff_cond_broadcast(c) :
	                           handoff_cond_signal(c),
	    0);
	if (how & 1)
		assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_true(seconds_now() - before < 1);
}

/* G06 */
static void a_killed_waiter_of_a_condition_harms_nobody(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	handoff_cond *c = open_c();
	struct process other = start("wait_when_told", NULL);

	(void)state;
	srand(4);
	for (unsigned i = 0; i < 200; i++) {
		struct process p = start("wait_for_ever", NULL);

		expect(&p, "begin");
		sleep_seconds(rand() % 2000 / 1e6);
		if (i % 3 == 0)
			notify(m, c, i);
		kill_hard(&p);
		for (unsigned k = 0; k < 3; k++)
			notify(m, c, i);
		expect(&other, "ready");
		tell(&other, "wait");
		expect(&other, "waiting");
		lock_anyhow(m); /* now it waits */
		assert_int_equal(handoff_mutex_unlock(m), 0);
		notify(m, c, i);
		assert_int_equal(says_within(&other, 2), 1);
	}
	kill_hard(&other);
	assert_int_equal(handoff_close(c), 0);
	assert_int_equal(handoff_unlink("c"), 0);
	end_m(m);
}

/* A bit of everything; no call takes longer than 2 s. */
static int busy(const char *seed)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();

	srand((unsigned)atoi(seed));
	say("begin");
	for (;;) {
		double before = seconds_now();
		int what = rand();

		lock_anyhow(m);
		if (what % 4 == 0) {
			int e = handoff_cond_wait_until(c, m, soon(0.001));

			CHECK(e == 0 || e == ETIMEDOUT || e == EOWNERDEAD);
			if (e == EOWNERDEAD)
				OK(handoff_mutex_consistent(m));
		}
		if (what % 3)
			OK(handoff_cond_signal(c));
		OK(handoff_mutex_unlock(m));
		if (what % 5 == 0)
			OK(handoff_cond_broadcast(c));
		if (what % 16 == 0) {
			handoff_mutex *extra;

			OK(handoff_close(m));
			OK(handoff_close(c));
			OK(handoff_mutex_open(&extra, "extra", CREATE, 0600,
			    NULL));
			OK(handoff_close(extra));
			if (what % 64 == 0)
				handoff_unlink("extra");
			m = open_m();
			c = open_c();
		}
		CHECK(seconds_now() - before < 4);
	}
	return 0;
}

/* G03: nothing of the library's own is left locked or torn. */
static void a_storm_of_kills_stops_nobody(void **state)
{
	handoff_mutex *m = make_m(HANDOFF_WAIT_ADAPTIVE, 0);
	handoff_cond *c = open_c();
	struct process p[4];

	(void)state;
	for (unsigned i = 0; i < 504; i++) {
		char seed[16];
		double before;

		if (i >= 4)
			kill_hard(&p[i % 4]);
		snprintf(seed, sizeof seed, "%u", i);
		p[i % 4] = start("busy", seed);
		expect(&p[i % 4], "begin");
		sleep_seconds(rand() % 4000 / 1e6);
		before = seconds_now();
		lock_anyhow(m);
		assert_int_equal(handoff_cond_signal(c), 0);
		assert_int_equal(handoff_mutex_unlock(m), 0);
		assert_true(seconds_now() - before < 2);
	}
	for (unsigned i = 0; i < 4; i++)
		kill_hard(&p[i]);
	lock_anyhow(m);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_free(m);
	handoff_unlink("extra");
	assert_int_equal(handoff_close(c), 0);
	assert_int_equal(handoff_unlink("c"), 0);
	end_m(m);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "holder", holder },
		{ "locker", locker },
		{ "close_all", close_all },
		{ "parent_of_child", parent_of_child },
		{ "in_namespace", in_namespace },
		{ "wait_for_ever", wait_for_ever },
		{ "wait_when_told", wait_when_told },
		{ "busy", busy },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_others_go_on_when_a_waiter_is_killed),
		TEST(a_stopped_waiter_keeps_nobody_out),
		TEST(a_recovery_keeps_the_mark_of_other_waiters),
		TEST(a_stopped_owner_is_not_robbed),
		TEST(an_owner_without_descriptors_is_not_robbed),
		TEST(a_living_child_does_not_keep_its_parent_alive),
		TEST(an_owner_in_another_pid_namespace_is_not_robbed),
		TEST(a_killed_waiter_of_a_condition_harms_nobody),
		TEST(a_storm_of_kills_stops_nobody),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
