/* SPDX-License-Identifier: ISC */
/*
 * handoff(7), fork, for every kind of object: a process forks while its other
 * threads are in the middle of a call; the child has nothing of theirs, and can
 * use the library (G46).
 */
#define _GNU_SOURCE
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 0.25 /* for each kind */
#define LEAST 5u     /* forks of it */

static struct process start_with(const char *part, unsigned n)
{
	char arg[64];

	snprintf(arg, sizeof arg, "fork:%u", n);
	return start(part, arg);
}

/* ---- How a child is made ------------------------------------------------- */

enum { FORKED, FORKED_BARE, WAYS };

/* The second without the handlers, also the C library's own. */
static pid_t fork_so(unsigned way)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	return way == FORKED_BARE ? _Fork() : fork();
#else
	(void)way;
	return fork();
#endif
}

/* ---- While others are in the library ------------------------------------- */

static _Atomic int stop;

struct side {
	struct room *r;
	unsigned i;
	_Atomic unsigned rounds;
};

static void *give(void *arg)
{
	struct side *s = arg;
	const struct primitive *it = &primitives[s->i];

	while (!stop) {
		int e;

		if (it->hold)
			OK(it->hold(s->r));
		e = it->let_go(s->r);
		/* Others may be behind with taking; some meet only at the
		 * end. */
		CHECK(e == 0 || (it->meets && e == ETIMEDOUT));
		s->rounds++;
		/* A turn that has been passed comes back. */
		sched_yield();
	}
	return NULL;
}

static void *take(void *arg)
{
	struct side *s = arg;
	const struct primitive *it = &primitives[s->i];

	while (!stop) {
		int e = it->wait(s->r, soon(0.0002));

		CHECK(e == 0 || e == ETIMEDOUT);
		s->rounds++;
	}
	return NULL;
}

/* Until it has been had once more: so that who gives is not left alone. */
static void take_last(struct room *r, unsigned i, pthread_t giver)
{
	while (pthread_tryjoin_np(giver, NULL) == EBUSY) {
		int e = primitives[i].wait(r, soon(0.001));

		CHECK(e == 0 || e == ETIMEDOUT);
	}
}

/* In the child: all kinds, made anew, by one process. */
static void use_new(void)
{
	static struct room plain;

	OK(fill_room(&plain, sizeof plain, NULL));
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		if (primitives[i].meets)
			continue;
		if (primitives[i].hold)
			OK(primitives[i].hold(&plain));
		OK(primitives[i].let_go(&plain));
		OK(primitives[i].wait(&plain, soon(5)));
	}
}

/* The kind that the parent's threads are in the middle of.  A party's place is
 * its parent's, who lives. */
static void use_theirs(struct room *r, unsigned i)
{
	const struct primitive *it = &primitives[i];
	int e;

	if (it->told != 0 && !it->owned) {
		if (i == AT_BATON)
			RESULT(it->wait(r, soon(0.001)), EBUSY);
		return;
	}
	if (it->owned)
		RESULT(it->let_go(r), EPERM);
	e = it->wait(r, soon(it->owned ? 5 : 0.001));
	CHECK(e == 0 || (e == ETIMEDOUT && !it->owned));
	if (it->owned)
		OK(it->hold(r));
	OK(it->let_go(r));
}

static void run_child(struct room *r, unsigned i, unsigned way)
{
	pid_t pid = fork_so(way);

	CHECK(pid >= 0);
	if (pid == 0) {
		alarm(15);
		use_theirs(r, i);
		use_new();
		_exit(0);
	}
	join_child(pid);
}

/* "name:primitive" */
static int part_storm(const char *arg)
{
	struct side sides[2] = { { .r = NULL } };
	pthread_t threads[2];
	double end;
	unsigned forks = 0;

	sides[0].r = join_room(arg, &sides[0].i);
	sides[1].r = sides[0].r;
	sides[1].i = sides[0].i;
	CHECK(pthread_create(&threads[0], NULL, give, &sides[0]) == 0);
	CHECK(pthread_create(&threads[1], NULL, take, &sides[1]) == 0);
	/* Until a party's places are theirs. */
	while (sides[0].rounds == 0 || sides[1].rounds == 0)
		sched_yield();
	end = seconds_now() + SECONDS;
	for (; seconds_now() < end || forks < LEAST; forks++)
		run_child(sides[0].r, sides[0].i, forks % WAYS);
	stop = 1;
	CHECK(pthread_join(threads[1], NULL) == 0);
	take_last(sides[0].r, sides[0].i, threads[0]);
	return 0;
}

static void a_child_of_busy_threads_can_use_every_kind(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make_room("fork", NULL);
		struct process p;

		assert_non_null(r);
		p = start_with("storm", i);
		if (finish(&p) != 0)
			fail_msg("%s", primitives[i].name);
		close_room(r, "fork");
	}
}

/* ---- What the parent holds ----------------------------------------------- */

/* What a child does, and how it ends. */
enum { ENDS, IS_KILLED, LETS_GO, WAITS, ACTIONS };

/* To the parent a baton is its own; a child is no party of it. */
static void act(struct room *r, unsigned i, unsigned action)
{
	const struct primitive *it = &primitives[i];

	switch (action) {
	case IS_KILLED:
		RESULT(it->wait(r, 0), it->owned ? ETIMEDOUT : EBUSY);
		kill(getpid(), SIGKILL);
		break;
	case LETS_GO:
		RESULT(it->let_go(r), EPERM);
		break;
	case WAITS:
		if (it->owned)
			RESULT(it->wait(r, soon(0.02)), ETIMEDOUT);
		break;
	default:
		break;
	}
}

static int act_in_child(struct room *r, unsigned i, unsigned way,
    unsigned action)
{
	pid_t pid = fork_so(way);
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		act(r, i, action);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* "name:primitive" */
static int part_parent(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	OK(primitives[i].hold(r));
	if (i == AT_BATON) /* and the other party too */
		RESULT(handoff_baton_wait_until(&r->baton, 1, 0), ETIMEDOUT);
	say("holds");
	for (unsigned way = 0; way < WAYS; way++)
		for (unsigned action = 0; action < ACTIONS; action++) {
			CHECK(act_in_child(r, i, way, action) ==
			    (action == IS_KILLED ? -SIGKILL : 0));
			say("acted");
			await("go on");
		}
	OK(primitives[i].let_go(r));
	if (i == AT_BATON)
		OK(handoff_baton_wait_until(&r->baton, 1, soon(5)));
	return 0;
}

static void what_a_child_does_changes_nothing_for_its_parent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make_room("fork", NULL);
		struct process p;

		assert_non_null(r);
		if (!primitives[i].hold) {
			close_room(r, "fork");
			continue;
		}
		p = start_with("parent", i);
		expect(&p, "holds");
		for (unsigned n = 0; n < WAYS * ACTIONS; n++) {
			expect(&p, "acted");
			/* Also for who asks whether the owner lives. */
			GIVES(primitives[i].wait(r, soon(0.006)),
			    primitives[i].owned ? ETIMEDOUT : EBUSY);
			tell(&p, "go on");
		}
		GIVES(finish(&p), 0);
		if (primitives[i].owned)
			GIVES(primitives[i].wait(r, soon(10)), 0);
		close_room(r, "fork");
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "storm", part_storm },
		{ "parent", part_parent },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_child_of_busy_threads_can_use_every_kind),
		TEST(what_a_child_does_changes_nothing_for_its_parent),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(
	    cmocka_run_group_tests_name("fork_each", tests, NULL, NULL));
}
