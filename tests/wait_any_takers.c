/* SPDX-License-Identifier: ISC */
/* Several processes that wait for any of the same: each item is taken once, no
 * wake is used up by one who does not need it. */
#define _GNU_SOURCE
#include "items.h"
#include "still.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TAKERS 4u

/* ---- Several who wait for the same --------------------------------------- */

/* Takes from three semaphores and an event, until the manual event is set. */
static int part_taker(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	struct handoff_item items[5];

	for (unsigned i = 0; i < 3; i++)
		items[(i + me) % 3] = (struct handoff_item){ &r->sem[i], 0 };
	items[3] = (struct handoff_item){ &r->automatic, 0 };
	items[4] = (struct handoff_item){ &r->manual, 0 };
	say("begins");
	for (;;) {
		size_t which = 99;

		OK(handoff_wait_any(items, 5, &which));
		CHECK(which < 5);
		if (which == 4)
			return 0;
		atomic_fetch_add(&r->of_each[which < 3 ?
		                         (which + 3 - me % 3) % 3 :
		                         which],
		    1);
		atomic_fetch_add(&r->taken, 1);
	}
}

static void wait_for_taken(struct room *r, unsigned n)
{
	double end = seconds_now() + SOON;

	while (atomic_load(&r->taken) < n && seconds_now() < end)
		sleep_seconds(0.0001);
	assert_int_equal(atomic_load(&r->taken), n);
}

/* Posts in bursts; each burst is taken as a whole, and nothing twice. */
static void run_conservation(const char *name, const char *how)
{
	struct room *r = open_room(name);
	struct process p[TAKERS];
	unsigned posted[4] = { 0 };
	unsigned total = 0;
	char arg[32];

	setenv("HANDOFF_WAIT", how, 1);
	for (unsigned i = 0; i < TAKERS; i++) {
		snprintf(arg, sizeof arg, "%s:%u", name, i);
		p[i] = start("taker", arg);
		expect(&p[i], "begins");
	}
	unsetenv("HANDOFF_WAIT");
	for (unsigned burst = 0; burst < 400; burst++) {
		for (unsigned i = 0; i < 3; i++) {
			unsigned n = (burst * 7 + i * 5) % 4;

			posted[i] += n;
			total += n;
			if (n != 0)
				assert_int_equal(handoff_sem_post(&r->sem[i],
				                     n),
				    0);
		}
		assert_int_equal(handoff_event_set(&r->automatic), 0);
		posted[3]++;
		total++;
		wait_for_taken(r, total);
	}
	assert_int_equal(handoff_event_set(&r->manual), 0);
	for (unsigned i = 0; i < TAKERS; i++)
		assert_int_equal(finish(&p[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(r->of_each[i], posted[i]);
	assert_int_equal(r->taken, total);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(handoff_sem_trywait(&r->sem[i]), EBUSY);
	close_room(r, name);
}

static void nothing_is_lost_or_taken_twice(void **state)
{
	(void)state;
	run_conservation("adapt", "adaptive");
	run_conservation("block", "block");
}

/* "name:kind": one who waits for one object alone. */
static int part_plain_taker(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	say("waits");
	OK(handoff_sem_wait(&r->sem[i]));
	say("took");
	return 0;
}

/* "name:n": one who waits for the first n. */
static int part_any_taker(const char *arg)
{
	struct handoff_item items[MANY];
	unsigned n;
	struct room *r = join_room(arg, &n);
	size_t which = 99;
	char number[20];

	all_semaphores(r, items);
	say("waits");
	OK(handoff_wait_any(items, n, &which));
	snprintf(number, sizeof number, "%zu", which);
	say(number);
	return 0;
}

static struct process start_waiting(const char *part, const char *arg)
{
	struct process p;

	setenv("HANDOFF_WAIT", "block", 1);
	p = start(part, arg);
	unsetenv("HANDOFF_WAIT");
	expect(&p, "waits");
	settle(p.pid);
	return p;
}

/* The wake of what it does not take goes to the other one. */
static void a_wake_that_is_not_used_is_passed_on(void **state)
{
	struct room *r = open_room("pass");

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct process any = start_waiting("any taker", "pass:2");
		struct process plain = start_waiting("plain taker", "pass:0");
		uint32_t other;

		assert_int_equal(handoff_sem_post(&r->sem[round % 2], 1), 0);
		assert_int_equal(handoff_sem_post(&r->sem[1 - round % 2], 1),
		    0);
		assert_true(says_within(&any, SOON));
		assert_int_equal(handoff_sem_value(&r->sem[1], &other), 0);
		if (other == 1) { /* it has taken the plain one's */
			expect(&any, "0");
			assert_int_equal(handoff_sem_post(&r->sem[0], 1), 0);
			assert_int_equal(handoff_sem_trywait(&r->sem[1]), 0);
		} else {
			expect(&any, "1");
		}
		expect_within(&plain, "took", SOON);
		assert_int_equal(finish(&any), 0);
		assert_int_equal(finish(&plain), 0);
		assert_int_equal(handoff_sem_trywait(&r->sem[0]), EBUSY);
		assert_int_equal(handoff_sem_trywait(&r->sem[1]), EBUSY);
	}
	close_room(r, "pass");
}

static void a_killed_waiter_takes_nothing_along(void **state)
{
	struct room *r = open_room("killed");

	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		struct process victim = start_waiting("any taker", "killed:3");
		struct process any = start_waiting("any taker", "killed:2");
		struct process plain = start_waiting("plain taker", "killed:2");

		kill_hard(&victim);
		assert_int_equal(handoff_sem_post(&r->sem[1], 1), 0);
		expect_within(&any, "1", SOON);
		assert_int_equal(handoff_sem_post(&r->sem[2], 1), 0);
		expect_within(&plain, "took", SOON);
		assert_int_equal(finish(&any), 0);
		assert_int_equal(finish(&plain), 0);
	}
	close_room(r, "killed");
}

/* ---- Plain memory -------------------------------------------------------- */

static int part_fork(const char *unused)
{
	struct {
		handoff_sem a, b, answer;
	} *s = shared_pages(sizeof *s);
	pid_t child;
	int status;

	(void)unused;
	OK(handoff_sem_init(&s->a, 0, NULL));
	OK(handoff_sem_init(&s->b, 0, NULL));
	OK(handoff_sem_init(&s->answer, 0, NULL));
	child = fork();
	CHECK(child >= 0);
	for (unsigned i = 0; i < 2000; i++) {
		struct handoff_item items[2] = { { &s->a, 0 }, { &s->b, 0 } };
		unsigned b = i / 3 % 2;
		size_t which = 99;

		if (child == 0) {
			OK(handoff_wait_any(items, 2, &which));
			CHECK(which == b);
			OK(handoff_sem_post(&s->answer, 1));
		} else {
			OK(handoff_sem_post(b ? &s->b : &s->a, 1));
			OK(handoff_sem_wait(&s->answer));
		}
	}
	if (child == 0)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return 0;
}

static void plain_memory_will_do(void **state)
{
	struct process p = start("fork", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "taker", part_taker },
		{ "plain taker", part_plain_taker },
		{ "any taker", part_any_taker },
		{ "fork", part_fork },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_lost_or_taken_twice),
		TEST(a_wake_that_is_not_used_is_passed_on),
		TEST(a_killed_waiter_takes_nothing_along),
		FORK_TEST(plain_memory_will_do),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
