/* SPDX-License-Identifier: ISC */
/*
 * Waits and clocks: the wall clock, which is set while they last, is none of
 * them (G30), and processes whose monotonic clocks differ, in time namespaces,
 * wait for each other.
 */
#define _GNU_SOURCE
#include "primitives.h"
#include "sanitized.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define HOUR 3600

static struct process start_with(const char *part, unsigned n)
{
	char arg[64];

	snprintf(arg, sizeof arg, "clocks:%u", n);
	return start(part, arg);
}

static struct room *make(unsigned policy)
{
	const struct made made = { policy, 0 };
	struct room *r = make_room("clocks", &made);

	assert_non_null(r);
	return r;
}

/* ---- The wall clock ------------------------------------------------------ */

#if defined(__linux__) && defined(__LP64__) && !defined(SANITIZED)
#define WALL_CLOCK 1
static _Atomic unsigned asked; /* how often for the wall clock's time */

/* The library's too: its wall clock goes an hour forth or back each time. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int e = (int)syscall(SYS_clock_gettime, clock, t);

	if (clock == CLOCK_REALTIME && e == 0)
		t->tv_sec += asked++ % 2 ? HOUR : -HOUR;
	return e;
}

/* "name:primitive" */
static int part_lasts(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	/* When it opened the segment is noted, for people. */
	CHECK(asked > 0);
	asked = 0;
	for (int n = 0; n < 3; n++) {
		double began = seconds_now();

		RESULT(primitives[i].wait(r, soon(0.02)), ETIMEDOUT);
		CHECK(seconds_now() - began >= 0.02);
		CHECK(seconds_now() - began < 10);
	}
	say("waits");
	OK(primitives[i].wait(r, soon(10)));
	CHECK(asked == 0);
	return 0;
}

static void the_wall_clock_is_not_asked(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make(i % 2 ? HANDOFF_WAIT_BLOCK : 0);
		struct process p;

		if (primitives[i].hold)
			GIVES(primitives[i].hold(r), 0);
		p = start_with("lasts", i);
		expect(&p, "waits");
		sleep_seconds(0.005);
		GIVES(primitives[i].let_go(r), 0);
		if (finish(&p) != 0)
			fail_msg("%s", primitives[i].name);
		close_room(r, "clocks");
	}
}
#else
static void the_wall_clock_is_not_asked(void **state)
{
	(void)state;
	SKIP("the clock of this program cannot be replaced");
}
#endif

/* ---- Time namespaces ----------------------------------------------------- */

/* By how much the other's clock differs, in seconds: what its difference to
 * ours is modulo any power of two; the last is a part of the uptime. */
#define OFFSETS 4u
static long offset(unsigned n)
{
	static const long fixed[OFFSETS - 1] = { 1, HOUR, 1000000000 };

	return n < OFFSETS - 1 ? fixed[n] : -(long)(seconds_now() / 2);
}

/* Children have another clock from now on: 77 if they cannot. */
static int differ(unsigned n)
{
	char text[64];
	int fd;
	int length = snprintf(text, sizeof text, "monotonic %ld 300000000\n",
	    offset(n));
	int e = 77;

	if (unshare(CLONE_NEWTIME) != 0)
		return 77;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return 77;
	if (write(fd, text, (size_t)length) == length)
		e = 0;
	close(fd);
	return e;
}

static int part_differs(const char *unused)
{
	int e = differ(1);
	pid_t child;

	(void)unused;
	if (e != 0)
		return e;
	child = fork();
	if (child == 0)
		_exit(0);
	join_child(child);
	return 0;
}

static int skipped(void)
{
	struct process p = start("differs", "");

	if (finish(&p) == 0)
		return 0;
	print_message("skipped: no right to a time namespace\n");
	return 1;
}

static void wait_elsewhere(struct room *r, unsigned i)
{
	double began = seconds_now();

	RESULT(primitives[i].wait(r, soon(0.02)), ETIMEDOUT);
	CHECK(seconds_now() - began >= 0.02);
	CHECK(seconds_now() - began < 10);
	RESULT(primitives[i].wait(r, handoff_now() - 1), ETIMEDOUT);
	for (int n = 0; n < 2 - primitives[i].meets; n++) {
		say("waits");
		OK(primitives[i].wait(r, soon(10)));
		say("done");
		await("again");
	}
}

/* "name:primitive + PRIMITIVES * offset": the child's clock differs; even the
 * one that its parent used, whose memory it has. */
static int part_elsewhere(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	uint64_t before;
	pid_t child;

	CHECK(handoff_sem_wait_until(&r->sem, soon(0.001)) == ETIMEDOUT);
	CHECK(differ(n / PRIMITIVES) == 0);
	before = handoff_now();
	child = fork();
	if (child == 0) {
		if (offset(n / PRIMITIVES) > 0)
			CHECK(handoff_now() > before + 500000000);
		else
			CHECK(handoff_now() < before);
		wait_elsewhere(r, n % PRIMITIVES);
		_exit(0);
	}
	join_child(child);
	return 0;
}

static void let_two_go(struct room *r, unsigned i, struct process *p)
{
	for (int n = 0; n < 2 - primitives[i].meets; n++) {
		expect(p, "waits");
		sleep_seconds(0.003);
		GIVES(primitives[i].let_go(r), 0);
		expect(p, "done");
		if (primitives[i].hold)
			GIVES(primitives[i].hold(r), 0);
		tell(p, "again");
	}
}

static void clocks_may_differ(void **state)
{
	(void)state;
	if (skipped())
		skip();
	for (unsigned n = 0; n < OFFSETS; n++)
		for (unsigned i = 0; i < PRIMITIVES; i++) {
			struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
			struct process p;

			if (primitives[i].hold)
				GIVES(primitives[i].hold(r), 0);
			p = start_with("elsewhere", i + PRIMITIVES * n);
			let_two_go(r, i, &p);
			if (finish(&p) != 0)
				fail_msg("%s", primitives[i].name);
			if (primitives[i].hold)
				GIVES(primitives[i].let_go(r), 0);
			close_room(r, "clocks");
		}
}

#define ROUNDS 300

static void go_round(struct room *r, unsigned me)
{
	int e = handoff_baton_wait_until(&r->baton, me, soon(10));

	for (int n = 0; n < ROUNDS && e == 0; n++) {
		/* Some blocked, which leave each other the time of a wake. */
		OK(handoff_mutex_lock(&r->mutex));
		r->ready++;
		OK(handoff_mutex_unlock(&r->mutex));
		e = handoff_baton_switch_until(&r->baton, me, 1 - me,
		    soon(me == 1 && n == ROUNDS - 1 ? 0.001 : 10));
	}
	CHECK(e == 0 || (me == 1 && e == ETIMEDOUT));
}

/* "name:offset" */
static int part_round(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	pid_t child;

	CHECK(differ(n) == 0);
	child = fork();
	if (child == 0) {
		go_round(r, 1);
		_exit(0);
	}
	join_child(child);
	return 0;
}

/* What those who wake leave for those who are woken means nothing to them, and
 * harms nobody. */
static void they_take_turns(void **state)
{
	(void)state;
	if (skipped())
		skip();
	for (unsigned n = 0; n < OFFSETS; n++)
		for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK;
		     policy += HANDOFF_WAIT_BLOCK) {
			struct room *r = make(policy);
			struct process p = start_with("round", n);

			go_round(r, 0);
			GIVES(finish(&p), 0);
			assert_int_equal(r->ready, 2 * ROUNDS);
			close_room(r, "clocks");
		}
}

#define LOCKS 60

/* For as long as others may wait before they ask for their turn. */
static void contend(struct room *r)
{
	for (int n = 0; n < LOCKS; n++) {
		double end;

		OK(handoff_mutex_lock_until(&r->mutex, soon(10)));
		end = seconds_now() + 0.0015;
		r->ready++;
		while (seconds_now() < end)
			;
		OK(handoff_mutex_unlock(&r->mutex));
	}
}

/* "name:offset" */
static int part_contends(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	pid_t child;

	CHECK(differ(n) == 0);
	child = fork();
	if (child == 0) {
		contend(r);
		_exit(0);
	}
	join_child(child);
	return 0;
}

/* What an unlock leaves there of its clock keeps nobody out for long. */
static void they_contend(void **state)
{
	(void)state;
	if (skipped())
		skip();
	for (unsigned n = 0; n < OFFSETS; n++) {
		struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
		struct process p = start_with("contends", n);

		contend(r);
		GIVES(finish(&p), 0);
		assert_int_equal(r->ready, 2 * LOCKS);
		close_room(r, "clocks");
	}
}

/* "name:offset": enters the other namespace itself, between two waits. */
static int part_enters(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	int fd;

	for (int i = 0; i < 20; i++)
		RESULT(handoff_sem_wait_until(&r->sem, soon(0.001)), ETIMEDOUT);
	CHECK(differ(n) == 0);
	fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && setns(fd, CLONE_NEWTIME) == 0);
	close(fd);
	for (int i = 0; i < 20; i++) {
		double began = seconds_now();

		RESULT(handoff_sem_wait_until(&r->sem, soon(0.001)), ETIMEDOUT);
		CHECK(seconds_now() - began >= 0.001);
		CHECK(seconds_now() - began < 10);
	}
	for (unsigned i = 0; i < 20; i++)
		handoff_yield(i);
	say("waits");
	OK(handoff_mutex_lock_until(&r->mutex, soon(10)));
	OK(handoff_mutex_unlock(&r->mutex));
	return 0;
}

static void a_clock_that_jumps_does_no_harm(void **state)
{
	(void)state;
	if (skipped())
		skip();
	for (unsigned n = 0; n < OFFSETS; n++) {
		struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
		struct process p;

		GIVES(handoff_mutex_lock(&r->mutex), 0);
		p = start_with("enters", n);
		expect(&p, "waits");
		sleep_seconds(0.005);
		GIVES(handoff_mutex_unlock(&r->mutex), 0);
		GIVES(finish(&p), 0);
		close_room(r, "clocks");
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
#ifdef WALL_CLOCK
		{ "lasts", part_lasts },
#endif
		{ "differs", part_differs },
		{ "elsewhere", part_elsewhere },
		{ "round", part_round },
		{ "contends", part_contends },
		{ "enters", part_enters },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_wall_clock_is_not_asked),
		TEST(clocks_may_differ),
		TEST(they_take_turns),
		TEST(they_contend),
		TEST(a_clock_that_jumps_does_no_harm),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("clocks", tests, NULL, NULL));
}
