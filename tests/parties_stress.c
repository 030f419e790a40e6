/* SPDX-License-Identifier: ISC */
/*
 * Barrier, baton and waiting for any: no wake is lost.  As in cond_stress.c:
 * processes that cannot go on without each other, on a build in which no wait
 * looks again by itself, so that a lost wake stops them for good, and in which
 * each step between two atomics may be held up at random.
 */
#include "jostle.h"
#include "room.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MOST 6u     /* processes */
#define SECONDS 0.4 /* of a test */
#define LEAST 200u  /* steps in that time */
#define ENOUGH 10u  /* posts that let everybody go in the end */

struct wanted {
	unsigned policy;
	unsigned pinned;
	unsigned processes;
	unsigned variant; /* of the part */
};

struct room {
	struct wanted wanted;
	_Atomic unsigned stop;
	_Atomic unsigned progress;

	handoff_barrier barrier;
	_Atomic unsigned each[MOST];
	_Atomic unsigned end_at; /* generations */

	handoff_baton baton;
	/* Of whose turn it is. */
	volatile unsigned inside;
	volatile unsigned gone;

	handoff_sem sem[2];
	handoff_sem space;
	handoff_event event;
	handoff_event end;
	handoff_word64 word;
	handoff_sem go[2];
	handoff_sem done[2];
	_Atomic unsigned posted[2];
	_Atomic unsigned taken[2];
	_Atomic unsigned late;
	volatile unsigned which;
	volatile unsigned round;
};

const size_t room_bytes = sizeof(struct room);

static int fill_waits(struct room *r)
{
	struct handoff_sem_attr sem = { sizeof sem, 0, r->wanted.policy, 0, 0 };
	struct handoff_event_attr event = { sizeof event, 0, r->wanted.policy,
		0 };
	struct handoff_event_attr manual = { sizeof manual,
		HANDOFF_EVENT_MANUAL, r->wanted.policy, 0 };
	struct handoff_word_attr word = { sizeof word, 0, r->wanted.policy, 0 };
	int e = handoff_sem_init(&r->space, r->wanted.variant, &sem);

	for (unsigned i = 0; e == 0 && i < 2; i++) {
		e = handoff_sem_init(&r->sem[i], 0, &sem);
		if (e == 0)
			e = handoff_sem_init(&r->go[i], 0, &sem);
		if (e == 0)
			e = handoff_sem_init(&r->done[i], 0, &sem);
	}
	if (e == 0)
		e = handoff_event_init(&r->event, &event);
	if (e == 0)
		e = handoff_event_init(&r->end, &manual);
	return e != 0 ? e : handoff_word64_init(&r->word, 0, &word);
}

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;
	struct handoff_barrier_attr of_barrier = { sizeof of_barrier, 0,
		wanted->policy, 0 };
	struct handoff_baton_attr of_baton = { sizeof of_baton, 0,
		wanted->policy, 0 };
	struct room *r = memory;
	int e = handoff_barrier_init(&r->barrier, wanted->processes,
	    &of_barrier);

	(void)bytes;
	r->wanted = *wanted;
	if (e == 0)
		e = handoff_baton_init(&r->baton, HANDOFF_BATON_MAX, &of_baton);
	return e != 0 ? e : fill_waits(r);
}

/* ---- Parts ------------------------------------------------------------- */

/* What each part does first: the room, and who this is. */
static struct room *come_in(const char *arg, unsigned *me)
{
	struct room *r = join_room(arg, me);

	be_jostled(*me, r->wanted.pinned != 0);
	return r;
}

/* Mostly for ever, at times for a moment. */
static uint64_t some_deadline(void)
{
	return chance(4) == 0 ? handoff_after(chance(300000)) : HANDOFF_NEVER;
}

/* ---- Barrier ----------------------------------------------------------- */

/* Comes until all have: at times it is late, and comes again. */
static int meet_once(struct room *r)
{
	int last = -1;
	int e;

	while ((e = handoff_barrier_wait_until(&r->barrier, &last,
	            some_deadline())) == ETIMEDOUT)
		atomic_fetch_add(&r->late, 1);
	OK(e);
	return last;
}

static int part_meet(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	for (unsigned n = 1;; n++) {
		int last;

		/* Relaxed, all: the barrier makes the others see it. */
		atomic_store_explicit(&r->each[me], n, memory_order_relaxed);
		last = meet_once(r);
		for (unsigned i = 0; i < r->wanted.processes; i++) {
			unsigned at = atomic_load_explicit(&r->each[i],
			    memory_order_relaxed);

			CHECK(at == n || at == n + 1);
		}
		/* Who came last says for all whether they go on: all know
		 * when they have met once more. */
		if (last) {
			CHECK(atomic_fetch_add(&r->progress, 1) == n - 1);
			if (atomic_load(&r->stop) && !atomic_load(&r->end_at))
				atomic_store(&r->end_at, n + 1);
		}
		if (atomic_load(&r->end_at) == n)
			return 0;
	}
}

/* ---- Baton ------------------------------------------------------------- */

/* Two of them each share a mark. */
static uint32_t number(unsigned i)
{
	return i / 2 + i % 2 * 32;
}

/* Waits for its turn, in one of all ways. */
static void wait_for_turn(struct room *r, uint32_t me)
{
	int e;

	do {
		e = chance(8) == 0 ?
		    handoff_baton_trywait(&r->baton, me) :
		    handoff_baton_wait_until(&r->baton, me, some_deadline());
		if (e == ETIMEDOUT)
			atomic_fetch_add(&r->late, 1);
	} while (e == ETIMEDOUT || e == EBUSY);
	OK(e);
}

static void hand_over(struct room *r, uint32_t me, uint32_t to)
{
	int e = ETIMEDOUT;

	switch (chance(4)) {
	case 0:
		OK(handoff_baton_pass(&r->baton, to));
		break;
	case 1:
		e = handoff_baton_switch_until(&r->baton, me, to,
		    some_deadline());
		break;
	default:
		e = handoff_baton_switch(&r->baton, me, to);
		break;
	}
	if (e == ETIMEDOUT)
		wait_for_turn(r, me);
	else
		OK(e);
}

static int part_turns(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	unsigned n = r->wanted.processes;

	wait_for_turn(r, number(me));
	while (!atomic_load(&r->stop)) {
		CHECK(r->inside == 0);
		r->inside = me + 1;
		jostle();
		atomic_fetch_add(&r->progress, 1);
		CHECK(r->inside == me + 1);
		r->inside = 0;
		/* At times to itself. */
		hand_over(r, number(me), number(chance(n)));
	}
	r->gone = r->gone | 1u << me;
	for (unsigned i = 0; i < n; i++)
		if (!(r->gone & 1u << i)) {
			OK(handoff_baton_pass(&r->baton, number(i)));
			break;
		}
	return 0;
}

/* ---- Trade: some wait for any, some for one alone ---------------------- */

static void post(struct room *r)
{
	unsigned i = chance(2);

	OK(handoff_sem_wait(&r->space));
	atomic_fetch_add(&r->posted[i], 1);
	OK(handoff_sem_post(&r->sem[i], 1));
}

static void take(struct room *r, unsigned me)
{
	struct handoff_item items[4] = { { &r->sem[0], 0 }, { &r->sem[1], 0 },
		{ &r->end, 0 }, { &r->sem[0], 0 } };
	size_t which = me % 2;
	int e;

	if (me < 4)
		e = handoff_wait_any_until(items + me % 2, 3, &which,
		    some_deadline());
	else
		e = handoff_sem_wait(&r->sem[which]);
	if (e == ETIMEDOUT) {
		atomic_fetch_add(&r->late, 1);
		return;
	}
	OK(e);
	if (me < 4)
		which = which + me % 2 == 1;
	if (me < 4 && atomic_load(&r->stop))
		return; /* by the event, or the posts of the parent */
	atomic_fetch_add(&r->taken[which], 1);
	atomic_fetch_add(&r->progress, 1);
	OK(handoff_sem_post(&r->space, 1));
}

/* 0 and 1 post, 2 and 3 wait for any, 4 and 5 for one. */
static int part_trade(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	while (!atomic_load(&r->stop)) {
		if (me < 2)
			post(r);
		else
			take(r, me);
	}
	return 0;
}

/* ---- A pair: X waits for A or B, Y for A alone ------------------------- */

enum { OF_SEM, OF_EVENT, OF_WORD };

/* A, as the variant says; B is sem[1]. */
static void give_a(struct room *r)
{
	switch (r->wanted.variant) {
	case OF_SEM:
		OK(handoff_sem_post(&r->sem[0], 1));
		break;
	case OF_EVENT:
		OK(handoff_event_set(&r->event));
		break;
	default:
		handoff_word64_store(&r->word, r->round);
		OK(handoff_word64_wake(&r->word, 1));
		break;
	}
}

static void *what_a_is(struct room *r)
{
	switch (r->wanted.variant) {
	case OF_SEM:
		return &r->sem[0];
	case OF_EVENT:
		return &r->event;
	default:
		return &r->word;
	}
}

static int wait_for_a(struct room *r)
{
	switch (r->wanted.variant) {
	case OF_SEM:
		return handoff_sem_wait(&r->sem[0]);
	case OF_EVENT:
		return handoff_event_wait(&r->event);
	default:
		return handoff_word64_wait(&r->word, r->round - 1);
	}
}

/* Nothing of A is left. */
static void check_none_left(struct room *r)
{
	if (r->wanted.variant == OF_SEM)
		RESULT(handoff_sem_trywait(&r->sem[0]), EBUSY);
	else if (r->wanted.variant == OF_EVENT)
		RESULT(handoff_event_trywait(&r->event), EBUSY);
	RESULT(handoff_sem_trywait(&r->sem[1]), EBUSY);
}

/* Gives one A and one B.  Unless X takes the A, Y comes through by that. */
static void play_driver(struct room *r)
{
	while (!atomic_load(&r->stop)) {
		bool a_first = chance(2);

		r->round = r->round + 1;
		OK(handoff_sem_post(&r->go[0], 1));
		OK(handoff_sem_post(&r->go[1], 1));
		if (chance(2))
			sleep_seconds(chance(200) / 1e6);
		if (a_first)
			give_a(r);
		OK(handoff_sem_post(&r->sem[1], 1));
		if (!a_first)
			give_a(r);
		OK(handoff_sem_wait(&r->done[0]));
		if (r->which == 0)
			give_a(r);
		if (r->which != 1)
			OK(handoff_sem_trywait(&r->sem[1]));
		OK(handoff_sem_wait(&r->done[1]));
		check_none_left(r);
		atomic_fetch_add(&r->progress, 1);
	}
	r->round = 0;
	OK(handoff_sem_post(&r->go[0], 1));
	OK(handoff_sem_post(&r->go[1], 1));
}

static void play_x(struct room *r)
{
	for (;;) {
		struct handoff_item items[2] = { { what_a_is(r), 0 },
			{ &r->sem[1], 0 } };
		size_t which = 2;
		int e;

		OK(handoff_sem_wait(&r->go[0]));
		if (r->round == 0)
			return;
		items[0].while_equal = r->round - 1;
		e = handoff_wait_any_until(items, 2, &which, some_deadline());
		CHECK(e == 0 ? which < 2 : e == ETIMEDOUT);
		if (e == ETIMEDOUT) {
			atomic_fetch_add(&r->late, 1);
			which = 2;
		} else {
			atomic_fetch_add(&r->taken[which], 1);
		}
		r->which = (unsigned)which;
		OK(handoff_sem_post(&r->done[0], 1));
	}
}

static int part_pair(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	if (me == 0)
		play_driver(r);
	else if (me == 1)
		play_x(r);
	else
		for (;;) {
			OK(handoff_sem_wait(&r->go[1]));
			if (r->round == 0)
				return 0;
			OK(wait_for_a(r));
			OK(handoff_sem_post(&r->done[1], 1));
		}
	return 0;
}

/* ---- The parent -------------------------------------------------------- */

static void let_traders_go(struct room *r)
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(handoff_sem_post(&r->sem[i], ENOUGH), 0);
	assert_int_equal(handoff_sem_post(&r->space, ENOUGH), 0);
	assert_int_equal(handoff_event_set(&r->end), 0);
}

static void assert_conserved(struct room *r)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t left;

		assert_true(r->taken[i] > 0);
		assert_int_equal(handoff_sem_value(&r->sem[i], &left), 0);
		/* Each taker may have taken one more in the end. */
		assert_true(left + r->taken[i] <= r->posted[i] + ENOUGH);
		assert_true(left + r->taken[i] + 4 >= r->posted[i] + ENOUGH);
	}
}

static void run(const char *part, unsigned processes, unsigned variant,
    unsigned policy, unsigned pinned)
{
	const struct wanted wanted = { policy, pinned, processes, variant };
	struct room *r = make_room("stress", &wanted);
	struct process p[MOST];

	assert_non_null(r);
	start_jostled(p, processes, part);
	watch_stress(&r->progress, 1, SECONDS, LEAST);
	print_message("%u times late\n", atomic_load(&r->late));
	atomic_store(&r->stop, 1);
	if (strcmp(part, "trade") == 0)
		let_traders_go(r);
	for (unsigned i = 0; i < processes; i++)
		assert_int_equal(finish(&p[i]), 0);
	if (strcmp(part, "trade") == 0)
		assert_conserved(r);
	/* X has been let go by both. */
	if (strcmp(part, "pair") == 0)
		assert_true(r->taken[0] > 0 && r->taken[1] > 0);
	/* Deadlines have ended waits. */
	if (policy == HANDOFF_WAIT_BLOCK)
		assert_true(r->late > 0);
	close_room(r, "stress");
}

/* One test: part, processes, variant, policy, pinned to one CPU or not. */
#define STRESS(test, part, processes, variant, policy, pinned)                \
	static void test(void **state)                                        \
	{                                                                     \
		(void)state;                                                  \
		run(part, processes, variant, HANDOFF_WAIT_##policy, pinned); \
	}

STRESS(two_that_block_meet, "meet", 2, 0, BLOCK, 0)
STRESS(five_that_adapt_meet, "meet", 5, 0, ADAPTIVE, 0)
STRESS(five_that_block_meet, "meet", 5, 0, BLOCK, 0)
STRESS(four_that_block_meet_on_one_cpu, "meet", 4, 0, BLOCK, 1)
STRESS(two_that_block_take_turns, "turns", 2, 0, BLOCK, 0)
STRESS(six_that_adapt_take_turns, "turns", 6, 0, ADAPTIVE, 0)
STRESS(six_that_block_take_turns, "turns", 6, 0, BLOCK, 0)
STRESS(six_that_block_take_turns_on_one_cpu, "turns", 6, 0, BLOCK, 1)
STRESS(traders_of_one_token_adapt, "trade", 6, 1, ADAPTIVE, 0)
STRESS(traders_of_one_token_block, "trade", 6, 1, BLOCK, 0)
STRESS(traders_of_two_tokens_block, "trade", 6, 2, BLOCK, 0)
STRESS(traders_of_two_tokens_block_on_one_cpu, "trade", 6, 2, BLOCK, 1)
STRESS(a_semaphore_beside_a_semaphore_adapts, "pair", 3, OF_SEM, ADAPTIVE, 0)
STRESS(a_semaphore_beside_a_semaphore, "pair", 3, OF_SEM, BLOCK, 0)
STRESS(an_event_beside_a_semaphore, "pair", 3, OF_EVENT, BLOCK, 0)
STRESS(a_word_beside_a_semaphore, "pair", 3, OF_WORD, BLOCK, 0)
STRESS(a_semaphore_beside_a_semaphore_on_one_cpu, "pair", 3, OF_SEM, BLOCK, 1)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "meet", part_meet },
		{ "turns", part_turns },
		{ "trade", part_trade },
		{ "pair", part_pair },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_that_block_meet),
		TEST(five_that_adapt_meet),
		TEST(five_that_block_meet),
		TEST(four_that_block_meet_on_one_cpu),
		TEST(two_that_block_take_turns),
		TEST(six_that_adapt_take_turns),
		TEST(six_that_block_take_turns),
		TEST(six_that_block_take_turns_on_one_cpu),
		TEST(traders_of_one_token_adapt),
		TEST(traders_of_one_token_block),
		TEST(traders_of_two_tokens_block),
		TEST(traders_of_two_tokens_block_on_one_cpu),
		TEST(a_semaphore_beside_a_semaphore_adapts),
		TEST(a_semaphore_beside_a_semaphore),
		TEST(an_event_beside_a_semaphore),
		TEST(a_word_beside_a_semaphore),
		TEST(a_semaphore_beside_a_semaphore_on_one_cpu),
	};

	PROCESSES_BEGIN(argc, argv, parts,
	    stress_watchdog(sizeof tests / sizeof *tests));
	return processes_end(
	    cmocka_run_group_tests_name("parties_stress", tests, NULL, NULL));
}
