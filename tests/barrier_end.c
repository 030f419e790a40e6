/* SPDX-License-Identifier: ISC */
/* The barrier's parties that end, and its own end (G16). */
#define _GNU_SOURCE
#include "parties.h"
#include "still.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Comes once and closes the segment. */
static int part_closer(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	say("comes");
	OK(handoff_barrier_wait(&r->barrier, NULL));
	await("close");
	OK(handoff_close(r));
	say("closed");
	await("end");
	return 0;
}

static void all_hear_of_a_death(struct process *p, size_t n, double from)
{
	for (size_t i = 0; i < n; i++)
		expect_within(&p[i], handoff_strerror(EOWNERDEAD), TOLD);
	print_message("told after %.0f ms\n", (seconds_now() - from) * 1e3);
}

/* ---- Deaths -------------------------------------------------------------- */

/* Now, later, for everybody; until it is made anew. */
static void assert_broken(struct room *r, const char *name)
{
	struct process p;
	char arg[64];

	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(handoff_barrier_wait(&r->barrier, NULL),
		    EOWNERDEAD);
		assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
		                     0),
		    EOWNERDEAD);
	}
	snprintf(arg, sizeof arg, "%s:1", name);
	p = start_party(arg);
	says(&p, EOWNERDEAD);
	all_end(&p, 1);
	assert_int_equal(handoff_barrier_destroy(&r->barrier), 0);
	assert_int_equal(handoff_barrier_wait(&r->barrier, NULL), EINVAL);
	assert_int_equal(handoff_barrier_init(&r->barrier, 1, NULL), 0);
	assert_int_equal(handoff_barrier_wait(&r->barrier, NULL), 0);
}

static void a_waiter_that_is_killed_breaks_it_for_good(void **state)
{
	struct room *r = make_barrier("killed", 3);
	struct process p[2];
	double from;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		p[i] = start_party("killed:1");
	settle_all(p, 2);
	from = seconds_now();
	kill_hard(&p[1]);
	all_hear_of_a_death(p, 1, from);
	all_end(p, 1);
	assert_broken(r, "killed");
	close_room(r, "killed");
}

/* Its arrival may count still; then the next time breaks it. */
static void a_death_is_told_this_time_or_the_next(void **state)
{
	struct room *r = make_barrier("next", 3);
	struct process p[2];
	double from;
	int e;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		p[i] = start_party("next:2");
	settle_all(p, 2);
	kill_hard(&p[1]);
	from = seconds_now();
	e = handoff_barrier_wait_until(&r->barrier, NULL, soon(TOLD));
	assert_true(e == 0 || e == EOWNERDEAD);
	says(&p[0], e);
	all_come(p, 1);
	if (e == 0)
		assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
		                     soon(TOLD)),
		    EOWNERDEAD);
	all_hear_of_a_death(p, 1, from);
	all_end(p, 1);
	assert_broken(r, "next");
	close_room(r, "next");
}

/* One who is slow to leave is not told of what happened since. */
static void what_was_complete_stays_so(void **state)
{
	struct room *r = make_barrier("slow", 3);
	struct process p[2];

	(void)state;
	p[0] = start_party("slow:1");
	settle(p[0].pid);
	stop_process(&p[0]);
	p[1] = start_party("slow:1");
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
	                     soon(TOLD)),
	    0);
	says(&p[1], 0);
	kill_hard(&p[1]);
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
	                     soon(TOLD)),
	    EOWNERDEAD);
	continue_process(&p[0]);
	says(&p[0], 0);
	all_end(p, 1);
	assert_broken(r, "slow");
	close_room(r, "slow");
}

/* All have met once, one goes while it computes: `how` it goes, and whether
 * the others wait already. */
static void go_while_computing(const char *name, unsigned wait_first, int kills)
{
	struct room *r = make_barrier(name, 3);
	struct process p[3];
	char arg[64];
	double from;

	snprintf(arg, sizeof arg, "%s:2", name);
	for (unsigned i = 0; i < 2; i++)
		p[i] = start_party(arg);
	snprintf(arg, sizeof arg, "%s:1", name);
	p[2] = start_party(arg);
	all_say(p, 3, 0);
	if (wait_first) {
		all_come(p, 2);
		settle_all(p, 2);
	}
	from = seconds_now();
	if (kills)
		kill_hard(&p[2]);
	else
		all_end(&p[2], 1);
	if (!wait_first)
		all_come(p, 2);
	all_hear_of_a_death(p, 2, from);
	all_end(p, 2);
	assert_broken(r, name);
	close_room(r, name);
}

static void a_party_killed_while_it_computes_breaks_it(void **state)
{
	(void)state;
	go_while_computing("before", 0, 1);
	go_while_computing("meanwhile", 1, 1);
}

static void a_party_that_ends_breaks_it(void **state)
{
	(void)state;
	go_while_computing("before", 0, 0);
	go_while_computing("meanwhile", 1, 0);
}

static void a_party_that_closes_the_segment_breaks_it(void **state)
{
	struct room *r = make_barrier("close", 2);
	struct process closer = start("closer", "close");
	struct process p;
	double from;

	(void)state;
	expect(&closer, "comes");
	p = start_party("close:2");
	says(&p, 0);
	all_come(&p, 1);
	settle(p.pid);
	from = seconds_now();
	tell(&closer, "close");
	expect(&closer, "closed");
	all_hear_of_a_death(&p, 1, from);
	all_end(&p, 1);
	assert_broken(r, "close");
	tell(&closer, "end");
	assert_int_equal(finish(&closer), 0);
	close_room(r, "close");
}

/* Nobody waits when it dies: who comes next is told, new or not. */
static void nobody_takes_the_place_of_a_dead_party(void **state)
{
	struct room *r = make_barrier("place", 2);
	struct process p[2];
	double from;

	(void)state;
	p[0] = start_party("place:1");
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
	                     soon(TOLD)),
	    0);
	says(&p[0], 0);
	from = seconds_now();
	kill_hard(&p[0]);
	p[1] = start_party("place:1");
	all_hear_of_a_death(&p[1], 1, from);
	all_end(&p[1], 1);
	assert_broken(r, "place");
	close_room(r, "place");
}

/* Uses what is beside the barrier. */
static int part_stranger(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	OK(handoff_mutex_lock(&r->mutex));
	OK(handoff_mutex_unlock(&r->mutex));
	say("is here");
	linger();
	return 0;
}

/* A process that has never waited is no party. */
static void the_death_of_a_stranger_is_nothing(void **state)
{
	struct room *r = make_barrier("stranger", 2);
	struct process stranger = start("stranger", "stranger");
	struct process p;

	(void)state;
	expect(&stranger, "is here");
	kill_hard(&stranger);
	p = start_party("stranger:1");
	settle_all(&p, 1);
	assert_int_equal(handoff_barrier_wait_until(&r->barrier, NULL,
	                     soon(TOLD)),
	    0);
	says(&p, 0);
	all_end(&p, 1);
	close_room(r, "stranger");
}

/* ---- Gone at once -------------------------------------------------------- */

#define THREADS 4u
#define ROUNDS 500u

static struct {
	handoff_barrier permanent;
	handoff_barrier *passing; /* in a page that vanishes */
	_Atomic unsigned destroyed;
} gone;

static void make_passing(void)
{
	gone.passing = new_page();
	OK(handoff_barrier_init(gone.passing, THREADS, NULL));
}

/* Who comes out first, more or less, has it vanish. */
static void *vanish(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (unsigned round = 0; round < ROUNDS; round++) {
		handoff_barrier *b;
		int last;

		if (me == 0)
			make_passing();
		OK(handoff_barrier_wait(&gone.permanent, NULL));
		b = gone.passing;
		OK(handoff_barrier_wait(b, &last));
		if (round % 2 ? last : round / 2 % THREADS == me) {
			OK(handoff_barrier_destroy(b));
			drop_page(b);
			atomic_fetch_add(&gone.destroyed, 1);
		}
		OK(handoff_barrier_wait(&gone.permanent, NULL));
	}
	return NULL;
}

static int part_vanish(const char *unused)
{
	pthread_t threads[THREADS];

	(void)unused;
	OK(handoff_barrier_init(&gone.permanent, THREADS, NULL));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(
		    pthread_create(&threads[i], NULL, vanish, (void *)i) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(gone.destroyed == ROUNDS);
	return 0;
}

static void the_end_of_a_wait_may_be_the_end_of_it(void **state)
{
	struct process p;

	(void)state;
	for (unsigned block = 0; block < 2; block++) {
		setenv("HANDOFF_WAIT", block ? "block" : "adaptive", 1);
		p = start("vanish", NULL);
		unsetenv("HANDOFF_WAIT");
		assert_int_equal(finish(&p), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "party", part_party },
		{ "closer", part_closer },
		{ "stranger", part_stranger },
		{ "vanish", part_vanish },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_waiter_that_is_killed_breaks_it_for_good),
		TEST(a_death_is_told_this_time_or_the_next),
		TEST(what_was_complete_stays_so),
		TEST(a_party_killed_while_it_computes_breaks_it),
		TEST(a_party_that_ends_breaks_it),
		TEST(a_party_that_closes_the_segment_breaks_it),
		TEST(nobody_takes_the_place_of_a_dead_party),
		TEST(the_death_of_a_stranger_is_nothing),
		TEST(the_end_of_a_wait_may_be_the_end_of_it),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
