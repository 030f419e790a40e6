/* SPDX-License-Identifier: ISC */
/*
 * handoff_mutex(3): owners that look dead by what a system of POSIX allows them
 * are not robbed: without descriptors, in another PID namespace; and who is dead
 * does not look alive by his child.
 */
#define _GNU_SOURCE
#include "lockers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "named.h"

/* ---- Descriptors ------------------------------------------------------- */

/* Closes all descriptors but the test's own, and gives their numbers to
 * another file. */
static int close_all(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_mutex *other;

	(void)unused;
	OK(handoff_mutex_open(&other, "other", HANDOFF_CREATE, 0600, NULL));
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

/* ---- Children and namespaces ------------------------------------------- */

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
	assert_int_equal(finish(&p), KILLED);
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

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "holder", holder },
		{ "locker", locker },
		{ "close_all", close_all },
		{ "parent_of_child", parent_of_child },
		{ "in_namespace", in_namespace },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_owner_without_descriptors_is_not_robbed),
		TEST(a_living_child_does_not_keep_its_parent_alive),
		TEST(an_owner_in_another_pid_namespace_is_not_robbed),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
