/* SPDX-License-Identifier: ISC */
/*
 * handoff_wait(3), real-time classes: one that waits above all others on a CPU
 * leaves it to the one that it waits for (G34).  The parent is on another CPU.
 */
#define _GNU_SOURCE
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define HELD 0.005 /* s; the partner sleeps meanwhile */

/* CPU time of the waiter, s: a limit of 500 us, and what it takes to block.
 * Where the waiter keeps the CPU, the system takes it away after most of a
 * second at the earliest. */
#define LITTLE 0.2

static cpu_set_t allowed;

/* The n-th CPU that there is for us. */
static int cpu_number(int n)
{
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &allowed) && n-- == 0)
			return i;
	return -1;
}

static int pin(int n)
{
	cpu_set_t one;
	int i = cpu_number(n);

	if (i < 0)
		return -1;
	CPU_ZERO(&one);
	CPU_SET((size_t)i, &one);
	return sched_setaffinity(0, sizeof one, &one);
}

static int be_realtime(int class)
{
	struct sched_param param = { .sched_priority = 10 };

	return sched_setscheduler(0, class, &param);
}

static int part_probe(const char *unused)
{
	(void)unused;
	return be_realtime(SCHED_FIFO) == 0 ? 0 : 77;
}

/* The parent has pinned itself, and so all parts, before it starts them. */
static int skipped(void)
{
	struct process p;

	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
	    cpu_number(1) < 0) {
		print_message("skipped: there is one CPU\n");
		return 1;
	}
	p = start("probe", "");
	if (finish(&p) == 0)
		return 0;
	print_message("skipped: no right to a real-time class\n");
	return 1;
}

/* The partner, in the ordinary class, lets go by itself. */
static int part_partner(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	if (primitives[i].hold)
		OK(primitives[i].hold(r));
	say("holds");
	await("go on");
	sleep_seconds(HELD);
	OK(primitives[i].let_go(r));
	return 0;
}

/* "name:primitive + PRIMITIVES * class" */
static int part_waiter(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	double cpu;

	CHECK(be_realtime(n / PRIMITIVES ? SCHED_RR : SCHED_FIFO) == 0);
	say("waits");
	cpu = cpu_seconds();
	OK(primitives[n % PRIMITIVES].wait(r, soon(8)));
	CHECK(cpu_seconds() - cpu < LITTLE);
	return 0;
}

static void one_waits(unsigned i, unsigned class, const struct made *made)
{
	struct room *r = make_room("realtime", made);
	struct process partner;
	struct process waiter;
	char arg[64];

	assert_non_null(r);
	GIVES(pin(0), 0);
	snprintf(arg, sizeof arg, "realtime:%u", i);
	partner = start("partner", arg);
	snprintf(arg, sizeof arg, "realtime:%u", i + PRIMITIVES * class);
	expect(&partner, "holds");
	waiter = start("waiter", arg);
	GIVES(pin(1), 0);
	expect(&waiter, "waits");
	tell(&partner, "go on");
	if (finish(&waiter) != 0)
		fail_msg("%s, policy %u", primitives[i].name, made->policy);
	GIVES(finish(&partner), 0);
	close_room(r, "realtime");
	GIVES(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

static void one_waits_by_each_policy(unsigned class)
{
	if (skipped())
		skip();
	for (unsigned i = 0; i < PRIMITIVES; i++)
		for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK;
		     policy++) {
			const struct made made = { policy, 0 };

			one_waits(i, class, &made);
		}
}

static void one_in_fifo_lets_the_other_work(void **state)
{
	(void)state;
	one_waits_by_each_policy(0);
}

static void one_in_round_robin_lets_the_other_work(void **state)
{
	(void)state;
	one_waits_by_each_policy(1);
}

/* Who asks for long spinning gets it, and blocks then; who asks for yielding
 * blocks at once, since nobody below would be reached. */
static void long_limits_end_too(void **state)
{
	static const struct made spins = { HANDOFF_WAIT_SPIN, 50000000 };
	static const struct made yields = { HANDOFF_WAIT_YIELD, UINT32_MAX };

	(void)state;
	if (skipped())
		skip();
	one_waits(AT_MUTEX, 0, &spins);
	one_waits(AT_SEM, 0, &spins);
	one_waits(AT_MUTEX, 0, &yields);
	one_waits(AT_COND, 0, &yields);
}

/* "name": a loop of the user's own. */
static int part_loops(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	double cpu;

	CHECK(be_realtime(SCHED_FIFO) == 0);
	say("waits");
	cpu = cpu_seconds();
	for (unsigned i = 0; handoff_word32_load(&r->word32) == 0; i++)
		handoff_yield(i);
	CHECK(cpu_seconds() - cpu < LITTLE);
	return 0;
}

static void a_loop_of_handoff_yield_lets_the_other_work(void **state)
{
	struct process partner;
	struct process p;
	struct room *r;
	char arg[64];

	(void)state;
	if (skipped())
		skip();
	r = make_room("realtime", NULL);
	assert_non_null(r);
	GIVES(pin(0), 0);
	snprintf(arg, sizeof arg, "realtime:%u", AT_WORD32);
	partner = start("partner", arg);
	expect(&partner, "holds");
	p = start("loops", "realtime");
	GIVES(pin(1), 0);
	expect(&p, "waits");
	tell(&partner, "go on");
	GIVES(finish(&p), 0);
	GIVES(finish(&partner), 0);
	close_room(r, "realtime");
	GIVES(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "probe", part_probe },
		{ "partner", part_partner },
		{ "waiter", part_waiter },
		{ "loops", part_loops },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_in_fifo_lets_the_other_work),
		TEST(one_in_round_robin_lets_the_other_work),
		TEST(long_limits_end_too),
		TEST(a_loop_of_handoff_yield_lets_the_other_work),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("realtime", tests, NULL, NULL));
}
