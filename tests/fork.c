/* SPDX-License-Identifier: ISC */
/*
 * handoff(7), fork: a child owns nothing and is somebody else, however it was
 * made (G46).  Each test is a part that forks; a child's exit status is 0 if
 * all was well.
 */
#define _GNU_SOURCE
#include "named.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE

extern char **environ;

/* ---- Helpers ----------------------------------------------------------- */

static unsigned users(const void *object)
{
	struct handoff_info info = { .size = sizeof info };

	OK(handoff_info(object, &info));
	return info.users;
}

static int wait_status(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void wait_child(pid_t pid)
{
	CHECK(wait_status(pid) == 0);
}

/* `run` in a child, to its end. */
static void in_child(void (*run)(handoff_mutex *m), handoff_mutex *m)
{
	pid_t pid = fork();

	if (pid == 0) {
		run(m);
		_exit(0);
	}
	wait_child(pid);
}

static void finds_it_held(handoff_mutex *m)
{
	RESULT(handoff_mutex_trylock(m), EBUSY);
	RESULT(handoff_mutex_lock_until(m, soon(0.1)), ETIMEDOUT);
}

static void owns_nothing(handoff_mutex *m)
{
	handoff_cond *c = open_c();

	RESULT(handoff_mutex_unlock(m), EPERM);
	RESULT(handoff_mutex_consistent(m), EPERM);
	RESULT(handoff_cond_wait(c, m), EPERM);
	RESULT(handoff_mutex_trylock(m), EBUSY);
	RESULT(handoff_mutex_lock_until(m, soon(0.2)), ETIMEDOUT);
	RESULT(handoff_mutex_unlock(m), EPERM);
	CHECK(users(m) == 2);
}

static void recovers(handoff_mutex *m)
{
	RESULT(handoff_mutex_lock_until(m, soon(5)), EOWNERDEAD);
	OK(handoff_mutex_consistent(m));
	OK(handoff_mutex_unlock(m));
	OK(handoff_mutex_lock(m));
	OK(handoff_mutex_unlock(m));
}

/* ---- What a child is --------------------------------------------------- */

static int child_owns_nothing(const char *unused)
{
	handoff_mutex *m = open_m();

	(void)unused;
	OK(handoff_mutex_lock(m));
	in_child(owns_nothing, m);
	in_child(finds_it_held, m);
	OK(handoff_mutex_unlock(m));
	RESULT(handoff_mutex_unlock(m), EPERM);
	return 0;
}

/* More than fit into what a thread has at first. */
static int child_of_many_locks(const char *unused)
{
	static handoff_mutex *m[40];

	(void)unused;
	for (int i = 0; i < 40; i++) {
		char name[8];

		snprintf(name, sizeof name, "m%d", i);
		OK(handoff_mutex_open(&m[i], name, CREATE, 0600, NULL));
		OK(handoff_mutex_lock(m[i]));
		OK(handoff_unlink(name));
	}
	for (int k = 0; k < 3; k++) {
		pid_t pid = fork();

		if (pid == 0) {
			handoff_mutex *own;

			for (int i = 0; i < 40; i++) {
				RESULT(handoff_mutex_unlock(m[i]), EPERM);
				RESULT(handoff_mutex_trylock(m[i]), EBUSY);
			}
			OK(handoff_mutex_open(&own, "m", CREATE, 0600, NULL));
			OK(handoff_mutex_lock(own));
			OK(handoff_mutex_unlock(own));
			_exit(0);
		}
		wait_child(pid);
	}
	for (int i = 0; i < 40; i++)
		OK(handoff_mutex_unlock(m[i]));
	return 0;
}

static int child_has_its_own_identity(const char *unused)
{
	handoff_mutex *m = open_m();
	int to[2];
	int from[2];
	char c;
	pid_t pid;

	(void)unused;
	CHECK(pipe(to) == 0 && pipe(from) == 0);
	CHECK(users(m) == 1);
	pid = fork();
	if (pid == 0) {
		CHECK(write(from[1], "a", 1) == 1);
		CHECK(read(to[0], &c, 1) == 1);
		CHECK(users(m) == 2);
		CHECK(write(from[1], "b", 1) == 1);
		CHECK(read(to[0], &c, 1) == 1);
		_exit(0);
	}
	CHECK(pid > 0 && read(from[0], &c, 1) == 1);
	CHECK(users(m) == 1); /* it has not used the library yet */
	CHECK(write(to[1], "a", 1) == 1);
	CHECK(read(from[0], &c, 1) == 1);
	CHECK(users(m) == 2);
	CHECK(write(to[1], "b", 1) == 1);
	wait_child(pid);
	CHECK(users(m) == 1);
	return 0;
}

static void exits(handoff_mutex *m)
{
	(void)m;
	exit(0);
}

static void uses_and_exits(handoff_mutex *m)
{
	RESULT(handoff_mutex_trylock(m), EBUSY);
	exit(0);
}

/* A thread's end in the child is nobody's in the parent. */
static void ends_its_thread(handoff_mutex *m)
{
	RESULT(handoff_mutex_trylock(m), EBUSY);
	pthread_exit(NULL);
}

static int exit_of_child_releases_nothing(const char *unused)
{
	handoff_mutex *m = open_m();
	pid_t pid;

	(void)unused;
	OK(handoff_mutex_lock(m));
	in_child(exits, m);
	in_child(uses_and_exits, m);
	in_child(ends_its_thread, m);
	pid = fork();
	if (pid == 0) {
		RESULT(handoff_mutex_trylock(m), EBUSY);
		raise(SIGKILL);
	}
	CHECK(wait_status(pid) == -SIGKILL);
	in_child(finds_it_held, m);
	OK(handoff_mutex_unlock(m));
	OK(handoff_mutex_lock(m));
	OK(handoff_mutex_unlock(m));
	return 0;
}

static int child_that_dies_as_owner(const char *unused)
{
	handoff_mutex *m = open_m();

	(void)unused;
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			OK(handoff_mutex_lock(m));
			if (i % 2)
				raise(SIGKILL);
			_exit(0);
		}
		CHECK(wait_status(pid) == (i % 2 ? -SIGKILL : 0));
		recovers(m);
	}
	return 0;
}

static int child_outlives_parent(const char *how)
{
	handoff_mutex *m = open_m();
	pid_t pid;

	OK(handoff_mutex_lock(m));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int e;

		say("waiting");
		if (strcmp(how, "late") == 0)
			await("go");
		e = handoff_mutex_lock_until(m, soon(10));
		say(e == EOWNERDEAD ? "EOWNERDEAD" : handoff_strerror(e));
		OK(handoff_mutex_consistent(m));
		OK(handoff_mutex_unlock(m));
		await("end");
		_exit(0);
	}
	for (;;)
		pause();
}

static void waits_and_is_woken(handoff_mutex *m)
{
	handoff_cond *c = open_c();

	OK(handoff_mutex_lock(m));
	RESULT(handoff_cond_wait_until(c, m, soon(10)), 0);
	OK(handoff_mutex_unlock(m));
}

/* Signals that the parent has noted but not given are not the child's. */
static int signals_of_parent_are_not_the_childs(const char *unused)
{
	handoff_mutex *m = open_m();
	handoff_cond *c = open_c();
	pid_t pid;

	(void)unused;
	pid = fork();
	if (pid == 0) {
		alarm(30);
		waits_and_is_woken(m);
		_exit(0);
	}
	sleep_seconds(0.1);
	OK(handoff_mutex_lock(m));
	OK(handoff_cond_signal(c));
	in_child(finds_it_held, m);
	CHECK(waitpid(pid, NULL, WNOHANG) == 0);
	OK(handoff_mutex_unlock(m));
	wait_child(pid);
	return 0;
}

static void closes(handoff_mutex *m)
{
	OK(handoff_close(m));
	RESULT(handoff_close(m), EINVAL);
	m = open_m();
	RESULT(handoff_mutex_trylock(m), EBUSY);
	OK(handoff_close(m));
}

static void uses_and_closes(handoff_mutex *m)
{
	RESULT(handoff_mutex_trylock(m), EBUSY);
	closes(m);
}

static int closing_in_child(const char *unused)
{
	handoff_mutex *m = open_m();

	(void)unused;
	OK(handoff_mutex_lock(m));
	for (int i = 0; i < 5; i++) {
		in_child(closes, m);
		in_child(uses_and_closes, m);
		RESULT(handoff_close(m), EBUSY);
		CHECK(users(m) == 1);
	}
	in_child(finds_it_held, m);
	OK(handoff_mutex_unlock(m));
	OK(handoff_close(m));
	return 0;
}

static int grandchildren(const char *unused)
{
	handoff_mutex *m = open_m();
	pid_t pid;

	(void)unused;
	OK(handoff_mutex_lock(m));
	pid = fork();
	if (pid == 0) {
		handoff_mutex *own;

		owns_nothing(m);
		OK(handoff_mutex_open(&own, "own", CREATE, 0600, NULL));
		OK(handoff_mutex_lock(own));
		pid = fork();
		if (pid == 0) {
			RESULT(handoff_mutex_unlock(m), EPERM);
			RESULT(handoff_mutex_unlock(own), EPERM);
			RESULT(handoff_mutex_trylock(own), EBUSY);
			CHECK(users(m) == 3 && users(own) == 2);
			in_child(finds_it_held, own);
			_exit(0);
		}
		wait_child(pid);
		OK(handoff_mutex_unlock(own));
		pid = fork();
		if (pid == 0) {
			OK(handoff_mutex_lock(own));
			raise(SIGKILL);
		}
		CHECK(wait_status(pid) == -SIGKILL);
		recovers(own);
		OK(handoff_unlink("own"));
		_exit(0);
	}
	wait_child(pid);
	in_child(finds_it_held, m);
	OK(handoff_mutex_unlock(m));
	return 0;
}

/* ---- Other ways to make a process -------------------------------------- */

/* In another program: "m" is held by somebody else. */
static int finds_m_held(const char *unused)
{
	(void)unused;
	finds_it_held(open_m());
	return 0;
}

static char held_0[] = "fork";
static char held_1[] = "--part";
static char held_2[] = "finds_m_held";
static char *const held_argv[] = { held_0, held_1, held_2, NULL };

static int spawning(const char *unused)
{
	handoff_mutex *m = open_m();
	pid_t pid;

	(void)unused;
	OK(handoff_mutex_lock(m));
	for (int i = 0; i < 5; i++) {
		CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, held_argv,
		          environ) == 0);
		wait_child(pid);
		pid = vfork();
		if (pid == 0) {
			execv("/proc/self/exe", held_argv);
			_exit(1);
		}
		wait_child(pid);
		CHECK(users(m) == 1);
	}
	OK(handoff_mutex_unlock(m));
	return 0;
}

static pid_t bare_fork(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	return _Fork();
#else
	return fork();
#endif
}

static pid_t bare_clone(void)
{
#if defined(SYS_clone) && !defined(__s390__)
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
	return fork();
#endif
}

static int children_without_handlers(const char *unused)
{
	static pid_t (*const ways[])(void) = { bare_fork, bare_clone };
	handoff_mutex *m = open_m();

	(void)unused;
	for (int i = 0; i < 6; i++) {
		pid_t pid;

		OK(handoff_mutex_lock(m));
		pid = ways[i % 2]();
		if (pid == 0) {
			owns_nothing(m);
			_exit(0);
		}
		wait_child(pid);
		OK(handoff_mutex_unlock(m));
		pid = ways[i % 2]();
		if (pid == 0) {
			OK(handoff_mutex_lock(m));
			raise(SIGKILL);
		}
		CHECK(wait_status(pid) == -SIGKILL);
		recovers(m);
	}
	return 0;
}

static int child_that_executes(const char *unused)
{
	handoff_mutex *m = open_m();
	pid_t pid = fork();

	(void)unused;
	if (pid == 0) {
		OK(handoff_mutex_lock(m));
		execl("/proc/self/exe", "fork", "--part", "idle", (char *)NULL);
		_exit(1);
	}
	await("idle"); /* the parent passes on what the child says */
	recovers(m);
	CHECK(kill(pid, 0) == 0 && waitpid(pid, NULL, WNOHANG) == 0);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(wait_status(pid) == -SIGKILL);
	return 0;
}

static int idle(const char *unused)
{
	(void)unused;
	alarm(30); /* should nobody be left to kill it */
	say("idle");
	pause();
	return 0;
}

/* ---- The tests --------------------------------------------------------- */

static void remove_names(void)
{
	static const char *const names[] = { "m", "c" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		handoff_unlink(names[i]);
	assert_int_equal(count_names(), 0);
}

static void play(const char *part, const char *arg)
{
	struct process p = start(part, arg);

	assert_int_equal(finish(&p), 0);
	remove_names();
}

#define PLAY(test, part, arg)          \
	static void test(void **state) \
	{                              \
		(void)state;           \
		play(part, arg);       \
	}

PLAY(a_child_owns_nothing, "child_owns_nothing", NULL)
PLAY(a_child_owns_none_of_many_locks, "child_of_many_locks", NULL)
PLAY(a_child_is_somebody_else, "child_has_its_own_identity", NULL)
PLAY(the_end_of_a_child_releases_nothing, "exit_of_child_releases_nothing",
    NULL)
PLAY(a_child_that_dies_as_owner_is_dead, "child_that_dies_as_owner", NULL)
PLAY(signals_of_the_parent_stay_with_it, "signals_of_parent_are_not_the_childs",
    NULL)
PLAY(closing_in_a_child_leaves_the_parent_alone, "closing_in_child", NULL)
PLAY(grandchildren_are_children, "grandchildren", NULL)
PLAY(spawned_programs_leave_the_parent_alone, "spawning", NULL)
PLAY(children_made_without_handlers_own_nothing, "children_without_handlers",
    NULL)

static void a_child_learns_of_its_parents_death(void **state)
{
	static const char *const how[] = { "waiting", "late" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct process p = start("child_outlives_parent", how[i]);

		expect(&p, "waiting");
		assert_int_equal(says_within(&p, 0.1), 0);
		kill(p.pid, SIGKILL);
		if (i == 1)
			tell(&p, "go");
		expect_within(&p, "EOWNERDEAD", 1);
		tell(&p, "end");
		assert_int_equal(finish(&p), -SIGKILL);
		remove_names();
	}
}

static void a_child_that_executes_as_owner_is_dead(void **state)
{
	struct process p = start("child_that_executes", NULL);

	(void)state;
	expect(&p, "idle");
	tell(&p, "idle");
	assert_int_equal(finish(&p), 0);
	remove_names();
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "child_owns_nothing", child_owns_nothing },
		{ "child_of_many_locks", child_of_many_locks },
		{ "child_has_its_own_identity", child_has_its_own_identity },
		{ "exit_of_child_releases_nothing",
		    exit_of_child_releases_nothing },
		{ "child_that_dies_as_owner", child_that_dies_as_owner },
		{ "child_outlives_parent", child_outlives_parent },
		{ "signals_of_parent_are_not_the_childs",
		    signals_of_parent_are_not_the_childs },
		{ "closing_in_child", closing_in_child },
		{ "grandchildren", grandchildren },
		{ "finds_m_held", finds_m_held },
		{ "spawning", spawning },
		{ "children_without_handlers", children_without_handlers },
		{ "child_that_executes", child_that_executes },
		{ "idle", idle },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_child_owns_nothing),
		TEST(a_child_owns_none_of_many_locks),
		TEST(a_child_is_somebody_else),
		TEST(the_end_of_a_child_releases_nothing),
		TEST(a_child_that_dies_as_owner_is_dead),
		TEST(a_child_learns_of_its_parents_death),
		TEST(signals_of_the_parent_stay_with_it),
		TEST(closing_in_a_child_leaves_the_parent_alone),
		TEST(grandchildren_are_children),
		TEST(spawned_programs_leave_the_parent_alone),
		TEST(children_made_without_handlers_own_nothing),
		TEST(a_child_that_executes_as_owner_is_dead),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
