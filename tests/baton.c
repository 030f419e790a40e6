/* SPDX-License-Identifier: ISC */
/* The baton, between processes: what handoff_baton(3) says. */
#define _GNU_SOURCE
#include "still.h"
#include "turns.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000u
#define MOST 40u /* processes in a ring */

/* ---- Rings --------------------------------------------------------------- */

/* The work of a turn: nobody else is at it. */
static void work(struct room *r, uint32_t me)
{
	CHECK(r->inside == 0);
	r->inside = me + 1;
	/* In order, so that everybody's turn comes. */
	CHECK(r->turns % r->parties == me);
	r->turns++;
	CHECK(r->inside == me + 1);
	r->inside = 0;
}

static void go_round(struct room *r, uint32_t me)
{
	uint32_t next = (me + 1) % r->parties;

	OK(handoff_baton_wait(&r->baton, me));
	for (unsigned i = 0; i < r->rounds; i++) {
		work(r, me);
		if (i + 1 < r->rounds)
			OK(handoff_baton_switch(&r->baton, me, next));
	}
	/* The last one keeps it. */
	if (next != 0)
		OK(handoff_baton_pass(&r->baton, next));
}

static int part_ring(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);

	go_round(r, me);
	return 0;
}

static void run_ring(uint32_t parties, uint32_t rounds, uint32_t policy)
{
	const struct wanted wanted = { parties, policy, rounds };
	struct room *r = make_room("ring", &wanted);
	struct process p[MOST];
	char arg[64];

	assert_non_null(r);
	/* The last one first, so that they wait for those who come. */
	for (unsigned i = parties; i-- > 0;) {
		snprintf(arg, sizeof arg, "ring:%u", i);
		p[i] = start("ring", arg);
	}
	for (unsigned i = 0; i < parties; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_int_equal(r->turns, (uint64_t)parties * rounds);
	assert_turn(r, parties - 1);
	close_room(r, "ring");
}

#define RING(test, parties, rounds, policy)                       \
	static void test(void **state)                            \
	{                                                         \
		(void)state;                                      \
		run_ring(parties, rounds, HANDOFF_WAIT_##policy); \
	}

RING(two_processes_switch_often, 2, 20000, ADAPTIVE)
RING(two_processes_that_block_switch_often, 2, 10000, BLOCK)
RING(two_processes_that_yield_switch_often, 2, 5000, YIELD)
RING(five_processes_go_round, 5, 2000, ADAPTIVE)
RING(five_processes_that_block_go_round, 5, 2000, BLOCK)
/* More than there are marks. */
RING(forty_processes_go_round, 40, 40, ADAPTIVE)
RING(forty_processes_that_block_go_round, 40, 40, BLOCK)

/* Threads are parties too, each under a number of its own. */
static void *go_round_as(void *arg)
{
	struct room *r = arg;

	go_round(r, 1);
	return NULL;
}

static int part_threads(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, go_round_as, r) == 0);
	go_round(r, 0);
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

static void a_process_may_be_two_parties(void **state)
{
	const struct wanted wanted = { 2, HANDOFF_WAIT_BLOCK, 2000 };
	struct room *r = make_room("threads", &wanted);
	struct process p;

	(void)state;
	assert_non_null(r);
	p = start("threads", "threads");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(r->turns, 4000);
	close_room(r, "threads");
}

/* ---- Whose turn ---------------------------------------------------------- */

static void the_first_turn_is_of_party_0(void **state)
{
	struct room *r = make_baton("first", 3);
	struct process p;

	(void)state;
	assert_turn(r, 0);
	p = start_party("first:1");
	settle(p.pid);
	assert_false(says_within(&p, 0.1));
	assert_int_equal(handoff_baton_trywait(&r->baton, 0), 0);
	assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, 0), 0);
	assert_turn(r, 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	says(&p, 0);
	assert_turn(r, 1);
	pass_and_end(&p);
	assert_turn(r, 0);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, soon(TOLD)), 0);
	close_room(r, "first");
}

static void a_turn_waits_for_a_party_that_has_not_come(void **state)
{
	struct room *r = make_baton("later", 64);
	struct process p;
	char arg[64];

	(void)state;
	for (unsigned i = 1; i < 64; i += 31) {
		assert_int_equal(handoff_baton_wait_until(&r->baton, 0,
		                     soon(TOLD)),
		    0);
		assert_int_equal(handoff_baton_pass(&r->baton, i), 0);
		assert_turn(r, i);
		/* Who has not come has not died. */
		assert_int_equal(handoff_baton_wait_until(&r->baton, 0,
		                     soon(0.3)),
		    ETIMEDOUT);
		snprintf(arg, sizeof arg, "later:%u", i);
		p = start_party(arg);
		says(&p, 0);
		pass_and_end(&p);
	}
	close_room(r, "later");
}

static void only_who_has_the_turn_may_pass_it(void **state)
{
	struct room *r = make_baton("perm", 3);
	struct process p;

	(void)state;
	/* Not even party 0, before it has waited for it. */
	assert_int_equal(handoff_baton_pass(&r->baton, 1), EPERM);
	assert_int_equal(handoff_baton_switch_until(&r->baton, 0, 1, soon(1)),
	    EPERM);
	assert_turn(r, 0);
	assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	p = start_party("perm:1");
	/* Not as another party, either. */
	assert_int_equal(handoff_baton_switch_until(&r->baton, 2, 1, soon(1)),
	    EPERM);
	assert_turn(r, 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	says(&p, 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 2), EPERM);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), EPERM);
	assert_int_equal(handoff_baton_switch_until(&r->baton, 0, 2, soon(1)),
	    EPERM);
	assert_turn(r, 1);
	pass_and_end(&p);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, soon(TOLD)), 0);
	/* To itself: it keeps it. */
	assert_int_equal(handoff_baton_pass(&r->baton, 0), 0);
	assert_int_equal(handoff_baton_switch(&r->baton, 0, 0), 0);
	assert_turn(r, 0);
	close_room(r, "perm");
}

/* All that a process may not do as party 1, whose turn it is or not. */
static int part_impostor(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	int e;

	RESULT(handoff_baton_wait(&r->baton, 1), EBUSY);
	RESULT(handoff_baton_trywait(&r->baton, 1), EBUSY);
	RESULT(handoff_baton_wait_until(&r->baton, 1, soon(10)), EBUSY);
	RESULT(handoff_baton_pass(&r->baton, 0), EPERM);
	e = handoff_baton_switch(&r->baton, 1, 0);
	CHECK(e == EBUSY || e == EPERM);
	return 0;
}

static void a_party_is_one_process(void **state)
{
	struct room *r = make_baton("busy", 2);
	struct process p = start_party("busy:1");
	struct process impostor;

	(void)state;
	settle(p.pid);
	for (unsigned i = 0; i < 2; i++) {
		impostor = start("impostor", "busy");
		assert_int_equal(finish(&impostor), 0);
		if (i == 0) {
			assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
			assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
			says(&p, 0);
		}
	}
	assert_int_equal(handoff_baton_trywait(&r->baton, 1), EBUSY);
	pass_and_end(&p);
	close_room(r, "busy");
}

/* ---- Tries and deadlines ------------------------------------------------- */

static void tries_and_deadlines(void **state)
{
	struct room *r = make_baton("late", 2);
	struct process p = start_party("late:1");
	uint64_t until;

	(void)state;
	assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
	settle(p.pid);
	/* After a timeout the turn has been passed. */
	until = handoff_after(30 * MS);
	assert_int_equal(handoff_baton_switch_until(&r->baton, 0, 1, until),
	    ETIMEDOUT);
	assert_true(handoff_now() >= until);
	assert_turn(r, 1);
	says(&p, 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 0), EPERM);
	assert_int_equal(handoff_baton_trywait(&r->baton, 0), EBUSY);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, 0), ETIMEDOUT);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0,
	                     handoff_now() - 1),
	    ETIMEDOUT);
	until = handoff_after(30 * MS);
	assert_int_equal(handoff_baton_wait_until(&r->baton, 0, until),
	    ETIMEDOUT);
	assert_true(handoff_now() >= until);
	tell(&p, "pass");
	expect(&p, "passed");
	assert_int_equal(handoff_baton_trywait(&r->baton, 0), 0);
	/* One whose time is over passes it still. */
	assert_int_equal(handoff_baton_switch_until(&r->baton, 0, 1, 0),
	    ETIMEDOUT);
	assert_turn(r, 1);
	end(&p);
	close_room(r, "late");
}

/* ---- Plain memory -------------------------------------------------------- */

static int part_plain(const char *unused)
{
	struct handoff_baton_attr robust = { sizeof robust, HANDOFF_ROBUST, 0,
		0 };
	struct room *r = shared_pages(sizeof *r);
	pid_t child;
	int status;

	(void)unused;
	r->parties = 2;
	r->rounds = 2000;
	RESULT(handoff_baton_init(&r->baton, 2, &robust), ENOTSUP);
	OK(handoff_baton_init(&r->baton, 2, NULL));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		go_round(r, 1);
		_exit(0);
	}
	go_round(r, 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(r->turns == 4000);
	/* It ended with the turn, and nobody is told. */
	RESULT(handoff_baton_wait_until(&r->baton, 0, soon(0.4)), ETIMEDOUT);
	return 0;
}

static void plain_memory_does_without_deaths(void **state)
{
	struct process p = start("plain", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "ring", part_ring },
		{ "threads", part_threads },
		{ "party", part_party },
		{ "impostor", part_impostor },
		{ "plain", part_plain },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_processes_switch_often),
		TEST(two_processes_that_block_switch_often),
		TEST(two_processes_that_yield_switch_often),
		TEST(five_processes_go_round),
		TEST(five_processes_that_block_go_round),
		TEST(forty_processes_go_round),
		TEST(forty_processes_that_block_go_round),
		TEST(a_process_may_be_two_parties),
		TEST(the_first_turn_is_of_party_0),
		TEST(a_turn_waits_for_a_party_that_has_not_come),
		TEST(only_who_has_the_turn_may_pass_it),
		TEST(a_party_is_one_process),
		TEST(tries_and_deadlines),
		FORK_TEST(plain_memory_does_without_deaths),
	};

	PROCESSES_BEGIN(argc, argv, parts, 200);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
