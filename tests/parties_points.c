/* SPDX-License-Identifier: ISC */
/*
 * A party of a barrier or a baton killed at every point: the others are told
 * or get on, and are never left waiting.
 */
#define _GNU_SOURCE
#include "still.h"
#include "victims.h"
#include "system.h"

#include <errno.h>
#include <stdlib.h>

#include "object.h"
#include "points.h"
#include "segment.h"

struct room {
	handoff_barrier two;
	handoff_barrier three;
	handoff_baton baton;
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *unused)
{
	struct room *r = memory;
	int e[] = { handoff_barrier_init(&r->two, 2, NULL),
		handoff_barrier_init(&r->three, 3, NULL),
		handoff_baton_init(&r->baton, 64, NULL) };

	(void)bytes;
	(void)unused;
	for (size_t i = 0; i < sizeof e / sizeof *e; i++)
		if (e[i] != 0)
			return e[i];
	return 0;
}

/* ---- The victim ---------------------------------------------------------- */

static void meet_new(struct room *r)
{
	arm();
	OK(handoff_barrier_wait(&r->two, NULL));
}

static void meet_known(struct room *r)
{
	OK(handoff_barrier_wait(&r->two, NULL));
	meet_new(r);
}

static void meet_late(struct room *r)
{
	OK(handoff_barrier_wait(&r->two, NULL));
	arm();
	RESULT(handoff_barrier_wait_until(&r->two, NULL, soon(0.01)),
	    ETIMEDOUT);
}

static void break_three(struct room *r)
{
	OK(handoff_barrier_wait(&r->three, NULL));
	arm();
	RESULT(handoff_barrier_wait(&r->three, NULL), EOWNERDEAD);
}

static void turn_new(struct room *r)
{
	arm();
	OK(handoff_baton_wait(&r->baton, 1));
	OK(handoff_baton_pass(&r->baton, 0));
}

static void turn_known(struct room *r)
{
	OK(handoff_baton_wait(&r->baton, 1));
	OK(handoff_baton_pass(&r->baton, 0));
	turn_new(r);
}

/* Two others wait. */
static void turn_pass(struct room *r)
{
	OK(handoff_baton_wait(&r->baton, 1));
	arm();
	OK(handoff_baton_pass(&r->baton, 2));
}

static void turn_switch(struct room *r)
{
	OK(handoff_baton_wait(&r->baton, 1));
	arm();
	OK(handoff_baton_switch(&r->baton, 1, 2));
	OK(handoff_baton_pass(&r->baton, 0));
}

/* Party 2 has died with the turn. */
static void turn_dead(struct room *r)
{
	arm();
	RESULT(handoff_baton_wait(&r->baton, 1), EOWNERDEAD);
	OK(handoff_baton_pass(&r->baton, 0));
}

static void turn_dead_try(struct room *r)
{
	arm();
	sleep_seconds(0.003);
	RESULT(handoff_baton_trywait(&r->baton, 1), EOWNERDEAD);
	OK(handoff_baton_pass(&r->baton, 0));
}

static void turn_late(struct room *r)
{
	arm();
	RESULT(handoff_baton_wait_until(&r->baton, 1, soon(0.01)), ETIMEDOUT);
}

/* ---- The others ---------------------------------------------------------- */

/* "points:parties": comes to the barrier for so many, says how it went, and
 * again when told, until it is killed. */
static int part_partner(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	for (;;) {
		say(handoff_strerror(
		    handoff_barrier_wait_until(n == 2 ? &r->two : &r->three,
		        NULL, soon(2 * BOUND))));
		await("next");
	}
	return 0;
}

/* The same, but it never looks by itself. */
static int part_deaf(const char *arg)
{
	handoff__slices = 0;
	return part_partner(arg);
}

/* "points:party": waits for its turn, says how it went, passes it to 0 when
 * told, lives until it is killed. */
static int part_heir(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);

	say("waits");
	say(handoff_strerror(
	    handoff_baton_wait_until(&r->baton, me, soon(2 * BOUND))));
	await("pass");
	OK(handoff_baton_pass(&r->baton, 0));
	linger();
	return 0;
}

/* "points:party": asks after that party, which is dead, and stays so until told
 * to end. */
static int part_asker(const char *arg)
{
	unsigned party;
	struct room *r = join_room(arg, &party);
	const struct handoff__baton *b = (const void *)&r->baton;

	OK(handoff__dead_begin(b->head.segment,
	    atomic_load(&b->tokens[party])));
	say("waits");
	await("end");
	handoff__dead_end();
	return 0;
}

/* ---- Barrier ------------------------------------------------------------- */

/* How many processes it has seen. */
static unsigned count_tokens(const handoff_barrier *barrier)
{
	const struct handoff__barrier *b = (const void *)barrier;
	unsigned n = 0;

	for (unsigned i = 0; i < HANDOFF__PARTIES; i++)
		n += atomic_load(&b->tokens[i]) != 0;
	return n;
}

/* What the partner is told first; if the barrier has never seen the victim
 * another one comes instead, and goes. */
static int hear_first(struct room *r, struct process *p)
{
	struct process q;
	int first = hear(p, 0.1);

	if (first == -1 && count_tokens(&r->two) == 1) {
		q = start_other("partner", 2, 1);
		assert_int_equal(hear(&q, BOUND), 0);
		assert_int_equal(hear(p, BOUND), 0);
		kill_hard(&q);
		return 0;
	}
	if (first == -1)
		first = hear(p, BOUND);
	assert_true(first == 0 || first == EOWNERDEAD);
	return first;
}

static int run_meeting(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	struct process p;
	int known = x->play != meet_new;
	int late = x->play == meet_late;
	int alive = 0;
	int first;

	if (known) {
		p = start_other("partner", 2, 1);
		assert_int_equal(hear(&p, BOUND), 0);
		if (x->last) {
			tell(&p, "next");
			settle(p.pid);
		}
	} else if (x->last) {
		p = start_other("partner", 2, 1);
	}
	go(&v);
	if (late)
		alive = survived(&v);
	if (known && !x->last)
		tell(&p, "next");
	else if (!x->last)
		p = start_other("partner", 2, 1);
	first = hear_first(r, &p);
	if (!late)
		alive = survived(&v);
	if (alive) /* who was late has not come */
		assert_int_equal(first, late ? EOWNERDEAD : 0);
	if (first == 0) {
		tell(&p, "next");
		assert_int_equal(hear(&p, BOUND), EOWNERDEAD);
	}
	assert_int_equal(handoff_barrier_wait(&r->two, NULL), EOWNERDEAD);
	kill_hard(&p);
	return alive;
}

/* Of three one has died; the victim is about to notice. */
static int run_breaking(const struct scenario *x, struct room *r, unsigned n)
{
	struct process dead = start_other("partner", 3, 1);
	struct process p = start_other("partner", 3, 1);
	struct process v = start_victim(x, n);
	int alive;

	assert_int_equal(hear(&dead, BOUND), 0);
	assert_int_equal(hear(&p, BOUND), 0);
	expect(&v, "begin");
	kill_hard(&dead);
	tell(&v, "go");
	alive = survived(&v);
	tell(&p, "next");
	assert_int_equal(hear(&p, BOUND), EOWNERDEAD);
	assert_int_equal(handoff_barrier_wait(&r->three, NULL), EOWNERDEAD);
	kill_hard(&p);
	return alive;
}

/* Who is told breaks it for all. */
static void who_notices_a_death_wakes_all_who_wait(void **state)
{
	struct room *r = open_room(NAME);
	struct process dead = start_other("partner", 3, 1);
	struct process deaf = start_other("deaf", 3, 1);
	struct process p = start_other("partner", 3, 1);

	(void)state;
	assert_int_equal(hear(&dead, BOUND), 0);
	assert_int_equal(hear(&deaf, BOUND), 0);
	assert_int_equal(hear(&p, BOUND), 0);
	tell(&deaf, "next");
	settle(deaf.pid);
	kill_hard(&dead);
	assert_int_equal(hear(&deaf, 0.3), -1);
	tell(&p, "next");
	assert_int_equal(hear(&p, BOUND), EOWNERDEAD);
	assert_int_equal(hear(&deaf, BOUND), EOWNERDEAD);
	kill_hard(&deaf);
	kill_hard(&p);
	close_room(r, NAME);
}

/* ---- Baton: the parent is party 0, the victim 1 -------------------------- */

static int wait_for_turn(struct room *r)
{
	return handoff_baton_wait_until(&r->baton, 0, soon(BOUND));
}

/* The turn comes back, and nobody is told unless the victim has died. */
static void assert_turn_comes(struct room *r, struct process *v, int *alive)
{
	int e = wait_for_turn(r);

	assert_true(e == 0 || e == EOWNERDEAD);
	*alive = survived(v);
	if (*alive)
		assert_int_equal(e, 0);
}

/* A new party 1 has its turn, and gives it back. */
static void assert_replaced(struct room *r)
{
	struct process heir = start_other("heir", 1, 0);

	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	assert_int_equal(hear(&heir, BOUND), 0);
	tell(&heir, "pass");
	assert_int_equal(wait_for_turn(r), 0);
	kill_hard(&heir);
}

/* The turn is that of party 1 already, which nobody has been yet. */
static int run_first_turn(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	struct process heir;
	const struct handoff__baton *b = (const void *)&r->baton;
	int alive = 0;

	assert_int_equal(wait_for_turn(r), 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	go(&v);
	alive = survived(&v);
	if (atomic_load(&b->tokens[1]) == 0) {
		assert_false(alive);
		heir = start_other("heir", 1, 0);
		assert_int_equal(hear(&heir, BOUND), 0);
		tell(&heir, "pass");
		assert_int_equal(wait_for_turn(r), 0);
		kill_hard(&heir);
	} else {
		int e = wait_for_turn(r);

		assert_true(e == 0 || (e == EOWNERDEAD && !alive));
	}
	assert_replaced(r);
	return alive;
}

/* The victim has had a turn before, or comes in the place of a dead one. */
static int run_turn(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v;
	struct process dead;
	int alive;

	assert_int_equal(wait_for_turn(r), 0);
	if (x->play == turn_known) {
		v = start_victim(x, n);
		assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
		assert_int_equal(wait_for_turn(r), 0);
	} else {
		dead = start_other("heir", 1, 0);
		kill_hard(&dead);
		v = start_victim(x, n);
	}
	go(&v);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	assert_turn_comes(r, &v, &alive);
	assert_replaced(r);
	return alive;
}

/* Gets the turn from one of two who wait, and lets the other have it. */
static void go_round_two(struct room *r, struct process p[2], int alive)
{
	static const uint32_t numbers[] = { 2, 34 }; /* of one lane */
	double until = seconds_now() + BOUND;
	unsigned first;
	int e;

	while (!says_within(&p[0], 0.01) && !says_within(&p[1], 0.01))
		assert_true(seconds_now() < until);
	first = says_within(&p[0], 0) ? 0 : 1;
	e = hear(&p[first], 0);
	/* What was passed came to whom it was passed. */
	assert_true(e == EOWNERDEAD || first == 0);
	assert_true(e == 0 || !alive);
	assert_false(says_within(&p[1 - first], 0.05));
	tell(&p[first], "pass");
	assert_int_equal(wait_for_turn(r), 0);
	assert_int_equal(handoff_baton_pass(&r->baton, numbers[1 - first]), 0);
	assert_int_equal(hear(&p[1 - first], BOUND), 0);
	tell(&p[1 - first], "pass");
	assert_int_equal(wait_for_turn(r), 0);
}

static int run_pass(const struct scenario *x, struct room *r, unsigned n)
{
	struct process p[2];
	struct process v = start_victim(x, n);
	int switches = x->play == turn_switch;
	int alive = 0;

	assert_int_equal(wait_for_turn(r), 0);
	p[0] = start_other("heir", 2, 0);
	p[1] = start_other("heir", 34, 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	go(&v);
	if (!switches)
		alive = survived(&v);
	go_round_two(r, p, alive);
	if (switches) {
		assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
		assert_turn_comes(r, &v, &alive);
	}
	assert_replaced(r);
	for (unsigned i = 0; i < 2; i++)
		kill_hard(&p[i]);
	return alive;
}

/* Party 2 has died with the turn; the victim is about to notice. */
static int run_inheriting(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	struct process dead = start_other("heir", 2, 0);
	int alive;

	assert_int_equal(wait_for_turn(r), 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 2), 0);
	assert_int_equal(hear(&dead, BOUND), 0);
	kill_hard(&dead);
	go(&v);
	alive = survived(&v);
	assert_true(
	    alive ? wait_for_turn(r) == 0 : wait_for_turn(r) % EOWNERDEAD == 0);
	assert_replaced(r);
	return alive;
}

static int run_late_turn(const struct scenario *x, struct room *r, unsigned n)
{
	struct process v = start_victim(x, n);
	int alive;

	assert_int_equal(wait_for_turn(r), 0);
	go(&v);
	alive = survived(&v);
	assert_int_equal(wait_for_turn(r), 0);
	assert_replaced(r);
	return alive;
}

/* ---- All of them --------------------------------------------------------- */

/* Somebody else asks after a dead party, and has been stopped there: it is not
 * taken for that party, nor for one more that lives. */
static void one_that_asks_keeps_nobody_from_succeeding(void **state)
{
	struct handoff_info info = { .size = sizeof info };
	struct room *r = open_room(NAME);
	struct process first;
	struct process asker;
	struct process heir;

	(void)state;
	assert_int_equal(wait_for_turn(r), 0);
	first = start_other("heir", 1, 0);
	assert_int_equal(handoff_baton_pass(&r->baton, 1), 0);
	assert_int_equal(hear(&first, BOUND), 0);
	kill_hard(&first);
	asker = start_other("asker", 1, 0);
	assert_int_equal(handoff_info(r, &info), 0);
	assert_int_equal(info.users, 2);
	heir = start_other("heir", 1, 0);
	assert_int_equal(hear(&heir, BOUND), EOWNERDEAD);
	tell(&asker, "end");
	assert_int_equal(finish(&asker), 0);
	tell(&heir, "pass");
	assert_int_equal(wait_for_turn(r), 0);
	kill_hard(&heir);
	close_room(r, NAME);
}

static const struct scenario scenarios[] = {
	{ "meet_first", meet_new, run_meeting, 0, 7 },
	{ "meet_last", meet_new, run_meeting, 1, 2 },
	{ "known_first", meet_known, run_meeting, 0, 6 },
	{ "known_last", meet_known, run_meeting, 1, 2 },
	{ "meet_late", meet_late, run_meeting, 0, 7 },
	{ "break", break_three, run_breaking, 0, 4 },
	{ "turn_new", turn_new, run_first_turn, 0, 2 },
	{ "turn_known", turn_known, run_turn, 0, 6 },
	{ "turn_replaced", turn_new, run_turn, 0, 7 },
	{ "turn_pass", turn_pass, run_pass, 0, 2 },
	{ "turn_switch", turn_switch, run_pass, 0, 10 },
	{ "turn_dead", turn_dead, run_inheriting, 0, 4 },
	{ "turn_dead_try", turn_dead_try, run_inheriting, 0, 4 },
	{ "turn_late", turn_late, run_late_turn, 0, 5 },
};

#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

static int part_victim(const char *arg)
{
	return play_victim(arg, scenarios, SCENARIOS);
}

WALKS(a_death_at_a_barrier_is_told_to_the_others, 0, 6)
WALKS(a_death_with_the_turn_or_without_it_loses_no_turn, 6, SCENARIOS)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "victim", part_victim },
		{ "partner", part_partner },
		{ "deaf", part_deaf },
		{ "heir", part_heir },
		{ "asker", part_asker },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_death_at_a_barrier_is_told_to_the_others),
		TEST(who_notices_a_death_wakes_all_who_wait),
		TEST(a_death_with_the_turn_or_without_it_loses_no_turn),
		TEST(one_that_asks_keeps_nobody_from_succeeding),
	};

	PROCESSES_BEGIN(argc, argv, parts, 150);
	/* Parked as soon as can be, so that the slow paths are walked. */
	setenv("HANDOFF_WAIT", "block", 1);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
