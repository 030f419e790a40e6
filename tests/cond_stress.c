/* SPDX-License-Identifier: ISC */
/*
 * No wake is lost, and nothing is touched that may be gone: processes that
 * cannot go on without each other, on a build in which no wait looks again by
 * itself, so that a lost wake stops them for good, and in which each step
 * between two atomics may be held up at random (G10).
 */
#define _GNU_SOURCE
#include "jostle.h"
#include "room.h"
#include "system.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "points.h"

#define MOST 6u     /* processes */
#define CAPACITY 2u /* tokens on the table */
#define RUNS 3u     /* of a test: much goes wrong in the beginning alone */
#define SECONDS 0.6 /* of all of them */
#define LEAST 300u  /* steps in that time */

struct room {
	handoff_mutex lock;
	handoff_cond changed[MOST];
	_Atomic unsigned stop;
	_Atomic unsigned progress; /* counted with the lock held */
	unsigned policy;
	unsigned pinned;
	unsigned processes;

	/* Protected by the lock. */
	volatile unsigned inside;
	volatile unsigned tokens;
	volatile unsigned made;
	volatile unsigned taken;
	volatile unsigned arrived;
	volatile unsigned round;
	volatile unsigned turn;
};

const size_t room_bytes = sizeof(struct room);

struct wanted {
	unsigned policy;
	unsigned pinned;
	unsigned processes;
};

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;
	struct handoff_mutex_attr of_mutex = { sizeof of_mutex, 0,
		wanted->policy, 0 };
	struct handoff_cond_attr of_cond = { sizeof of_cond, 0, wanted->policy,
		0 };
	struct room *r = memory;
	int e = handoff_mutex_init(&r->lock, &of_mutex);

	(void)bytes;
	for (unsigned i = 0; e == 0 && i < MOST; i++)
		e = handoff_cond_init(&r->changed[i], &of_cond);
	r->policy = wanted->policy;
	r->pinned = wanted->pinned;
	r->processes = wanted->processes;
	return e;
}

/* What each part does first: the room, and who this is. */
static struct room *come_in(const char *arg, unsigned *me)
{
	struct room *r = join_room(arg, me);

	be_jostled(*me, r->pinned != 0);
	return r;
}

/* ---- Trade: some make tokens, some take them ------------------------------------ */

/* Unlocks; one is told of it, in one of all ways. */
static void unlock_and_tell(struct room *r, handoff_cond *c)
{
	switch (chance(8)) {
	case 0:
		OK(handoff_mutex_unlock(&r->lock));
		OK(handoff_cond_signal(c));
		break;
	case 1:
		OK(handoff_mutex_unlock(&r->lock));
		OK(handoff_cond_broadcast(c));
		break;
	case 2:
		OK(handoff_cond_broadcast(c));
		OK(handoff_mutex_unlock(&r->lock));
		break;
	case 3: /* a second one, for nobody */
		OK(handoff_cond_signal(c));
		OK(handoff_cond_signal(&r->changed[2]));
		OK(handoff_mutex_unlock(&r->lock));
		break;
	default:
		OK(handoff_cond_signal(c));
		OK(handoff_mutex_unlock(&r->lock));
		break;
	}
}

/*
 * Waits until `*what` differs from `not`, with the lock held; false: it did
 * not come to that.  A `visitor` waits for a short time only, and when that is
 * over it goes away without a look, until others have got on without it: had
 * it taken a wake along, nobody would.
 */
static bool wait_while(struct room *r, handoff_cond *c,
    const volatile unsigned *what, unsigned not, bool visitor)
{
	while (*what == not &&!atomic_load(&r->stop)) {
		unsigned before = atomic_load(&r->progress);
		int e;

		if (!visitor) {
			OK(handoff_cond_wait(c, &r->lock));
			continue;
		}
		e = handoff_cond_wait_until(c, &r->lock,
		    handoff_after(chance(300000)));
		if (e == ETIMEDOUT) {
			OK(handoff_mutex_unlock(&r->lock));
			stay_away(&r->progress, before, &r->stop);
			return false;
		}
		CHECK(e == 0);
	}
	return true;
}

/* Even ones make, odd ones take; of six the last two are visitors. */
static int part_trade(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	bool makes = me % 2 == 0;
	bool visitor = r->processes == 6 && me >= 4;
	handoff_cond *waits = &r->changed[makes];
	handoff_cond *tells = &r->changed[!makes];

	while (!atomic_load(&r->stop)) {
		OK(handoff_mutex_lock(&r->lock));
		if (!wait_while(r, waits, &r->tokens, makes ? CAPACITY : 0,
		        visitor))
			continue;
		if (!atomic_load(&r->stop)) {
			CHECK(r->inside == 0);
			r->inside = me + 1;
			if (makes) {
				r->tokens = r->tokens + 1;
				r->made = r->made + 1;
			} else {
				r->tokens = r->tokens - 1;
				r->taken = r->taken + 1;
			}
			CHECK(r->tokens <= CAPACITY);
			atomic_fetch_add(&r->progress, 1);
			CHECK(r->inside == me + 1);
			r->inside = 0;
		}
		unlock_and_tell(r, tells);
	}
	return 0;
}

/* ---- Meeting: all wait for the last ----------------------------------------------- */

static int part_meet(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	bool told = false;

	while (!told) {
		unsigned round;

		OK(handoff_mutex_lock(&r->lock));
		round = r->round;
		r->arrived = r->arrived + 1;
		if (r->arrived == r->processes) {
			r->arrived = 0;
			r->round = round + 1;
			atomic_fetch_add(&r->progress, 1);
			/* The last one says for all whether they go on. */
			r->turn = atomic_load(&r->stop);
			told = r->turn;
			if (chance(2)) {
				OK(handoff_cond_broadcast(&r->changed[0]));
				OK(handoff_mutex_unlock(&r->lock));
			} else {
				OK(handoff_mutex_unlock(&r->lock));
				OK(handoff_cond_broadcast(&r->changed[0]));
			}
			continue;
		}
		while (r->round == round)
			OK(handoff_cond_wait(&r->changed[0], &r->lock));
		CHECK(r->round == round + 1);
		told = r->turn;
		OK(handoff_mutex_unlock(&r->lock));
	}
	return 0;
}

/* ---- A ring: each has a condition, all have one mutex -------------------------------- */

static int part_ring(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	handoff_cond *next = &r->changed[(me + 1) % r->processes];
	bool naked = false;

	OK(handoff_mutex_lock(&r->lock));
	while (!atomic_load(&r->stop)) {
		if (r->turn != me) {
			OK(handoff_cond_wait(&r->changed[me], &r->lock));
			continue;
		}
		r->turn = (me + 1) % r->processes;
		atomic_fetch_add(&r->progress, 1);
		naked = chance(4) == 0;
		if (chance(8) == 0) /* and one that finds nothing to do */
			OK(handoff_cond_signal(
			    &r->changed[chance(r->processes)]));
		if (naked)
			OK(handoff_mutex_unlock(&r->lock));
		OK(handoff_cond_signal(next));
		if (naked)
			OK(handoff_mutex_lock(&r->lock));
	}
	OK(handoff_cond_signal(next));
	OK(handoff_mutex_unlock(&r->lock));
	return 0;
}

/* ---- The mutex alone ----------------------------------------------------------------- */

static int part_lock(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	while (!atomic_load(&r->stop)) {
		bool visitor = chance(4) == 0;
		unsigned before = atomic_load(&r->progress);
		int e = handoff_mutex_lock_until(&r->lock,
		    visitor ? handoff_after(chance(100000)) : HANDOFF_NEVER);

		if (e == ETIMEDOUT && visitor) {
			stay_away(&r->progress, before, &r->stop);
			continue;
		}
		CHECK(e == 0);
		CHECK(r->inside == 0);
		r->inside = me + 1;
		jostle();
		CHECK(r->inside == me + 1);
		atomic_fetch_add(&r->progress, 1);
		r->inside = 0;
		OK(handoff_mutex_unlock(&r->lock));
	}
	return 0;
}

/* ---- Gone at once: objects in pages that are unmapped ------------------------------ */

#define WAITERS 3u

/* Threads of one process.  In each round all wait for it to end, and the page
 * of what they wait at goes as soon as that is allowed. */
static struct {
	handoff_mutex lock;
	_Atomic(handoff_cond *) cond;
	_Atomic(handoff_mutex *) mutex;
	_Atomic unsigned waiting;
	_Atomic unsigned left;
	_Atomic bool over;
	volatile unsigned round; /* protected by `lock` */
} gone;

static void *wait_there(void *arg)
{
	seed_chance((uint32_t)(uintptr_t)arg);
	for (unsigned round = 0;; round++) {
		handoff_cond *c;

		while (
		    !(c = atomic_load(&gone.cond)) && !atomic_load(&gone.over))
			sched_yield();
		if (!c)
			return NULL;
		OK(handoff_mutex_lock(&gone.lock));
		atomic_fetch_add(&gone.waiting, 1);
		while (gone.round == round)
			OK(handoff_cond_wait(c, &gone.lock));
		OK(handoff_mutex_unlock(&gone.lock));
		atomic_fetch_add(&gone.left, 1);
		while (atomic_load(&gone.left) != 0)
			sched_yield();
	}
}

/* Tells all who wait, and has the condition vanish. */
static void end_cond(handoff_cond *c)
{
	bool naked = chance(3) == 0;
	unsigned times = chance(2) ? 1 : WAITERS;

	OK(handoff_mutex_lock(&gone.lock));
	gone.round = gone.round + 1;
	atomic_store(&gone.cond, NULL);
	if (naked)
		OK(handoff_mutex_unlock(&gone.lock));
	for (unsigned i = 0; i < times; i++)
		OK(times == 1 ? handoff_cond_broadcast(c) :
		                handoff_cond_signal(c));
	OK(handoff_cond_destroy(c));
	drop_page(c);
	if (!naked)
		OK(handoff_mutex_unlock(&gone.lock));
}

/* The end of a condition may follow what ends the waits at once. */
static int part_cond_goes(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	struct handoff_cond_attr attr = { sizeof attr, 0, r->policy, 0 };
	pthread_t threads[WAITERS];

	handoff__slices = 1; /* not about lost wakes */
	OK(handoff_mutex_init(&gone.lock, NULL));
	for (uintptr_t i = 0; i < WAITERS; i++)
		CHECK(pthread_create(&threads[i], NULL, wait_there,
		          (void *)(i + 1)) == 0);
	while (!atomic_load(&r->stop)) {
		handoff_cond *c = new_page();

		OK(handoff_cond_init(c, &attr));
		atomic_store(&gone.waiting, 0);
		atomic_store(&gone.cond, c);
		while (atomic_load(&gone.waiting) != WAITERS)
			sched_yield();
		if (chance(2))
			sleep_seconds(chance(300) / 1e6);
		end_cond(c);
		while (atomic_load(&gone.left) != WAITERS)
			sched_yield();
		atomic_store(&gone.left, 0);
		atomic_fetch_add(&r->progress, 1);
	}
	atomic_store(&gone.over, true);
	for (unsigned i = 0; i < WAITERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

static void *lock_and_end(void *arg)
{
	handoff_mutex *m;

	seed_chance(4711);
	while (!atomic_load(&gone.over)) {
		m = atomic_load(&gone.mutex);
		if (!m) {
			sched_yield();
			continue;
		}
		OK(handoff_mutex_lock(m));
		OK(handoff_mutex_unlock(m));
		OK(handoff_mutex_destroy(m));
		drop_page(m);
		atomic_store(&gone.mutex, NULL);
	}
	return arg;
}

/* Who locks next may have the mutex vanish while its unlock goes on. */
static int part_mutex_goes(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	struct handoff_mutex_attr attr = { sizeof attr, 0, r->policy, 0 };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, lock_and_end, NULL) == 0);
	while (!atomic_load(&r->stop)) {
		handoff_mutex *m = new_page();

		OK(handoff_mutex_init(m, &attr));
		OK(handoff_mutex_lock(m));
		atomic_store(&gone.mutex, m);
		sleep_seconds(chance(200) / 1e6);
		OK(handoff_mutex_unlock(m));
		while (atomic_load(&gone.mutex))
			sched_yield();
		atomic_fetch_add(&r->progress, 1);
	}
	atomic_store(&gone.over, true);
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

/* ---- The parent ------------------------------------------------------------------------ */

static void end_all(struct room *r)
{
	assert_int_equal(handoff_mutex_lock(&r->lock), 0);
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < MOST; i++)
		assert_int_equal(handoff_cond_broadcast(&r->changed[i]), 0);
	assert_int_equal(handoff_mutex_unlock(&r->lock), 0);
}

static void run(const char *part, unsigned processes, unsigned policy,
    unsigned pinned)
{
	const struct wanted wanted = { policy, pinned, processes };
	struct room *r = make_room("stress", &wanted);
	struct process p[MOST];

	assert_non_null(r);
	start_jostled(p, processes, part);
	watch_stress(&r->progress, RUNS, SECONDS, LEAST);
	if (strcmp(part, "meet") == 0)
		atomic_store(&r->stop, 1);
	else
		end_all(r);
	for (unsigned i = 0; i < processes; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_int_equal(r->made, r->taken + r->tokens);
	close_room(r, "stress");
}

/* One test: part, processes, policy, pinned to one CPU or not. */
#define STRESS(test, part, processes, policy, pinned)                        \
	static void test(void **state)                                       \
	{                                                                    \
		(void)state;                                                 \
		for (unsigned i = 0; i < RUNS; i++)                          \
			run(part, processes, HANDOFF_WAIT_##policy, pinned); \
	}

STRESS(six_that_adapt_trade_tokens, "trade", 6, ADAPTIVE, 0)
STRESS(six_that_block_trade_tokens, "trade", 6, BLOCK, 0)
STRESS(four_that_adapt_trade_tokens, "trade", 4, ADAPTIVE, 0)
STRESS(four_that_block_trade_tokens, "trade", 4, BLOCK, 0)
STRESS(four_that_adapt_trade_tokens_on_one_cpu, "trade", 4, ADAPTIVE, 1)
STRESS(four_that_block_trade_tokens_on_one_cpu, "trade", 4, BLOCK, 1)
STRESS(five_that_adapt_meet, "meet", 5, ADAPTIVE, 0)
STRESS(five_that_block_meet, "meet", 5, BLOCK, 0)
STRESS(five_that_adapt_meet_on_one_cpu, "meet", 5, ADAPTIVE, 1)
STRESS(four_that_block_meet_on_one_cpu, "meet", 4, BLOCK, 1)
STRESS(two_that_adapt_go_round, "ring", 2, ADAPTIVE, 0)
STRESS(two_that_block_go_round, "ring", 2, BLOCK, 0)
STRESS(four_that_adapt_go_round, "ring", 4, ADAPTIVE, 0)
STRESS(four_that_block_go_round, "ring", 4, BLOCK, 0)
STRESS(four_that_adapt_go_round_on_one_cpu, "ring", 4, ADAPTIVE, 1)
STRESS(six_that_block_go_round_on_one_cpu, "ring", 6, BLOCK, 1)
STRESS(five_that_adapt_lock, "lock", 5, ADAPTIVE, 0)
STRESS(five_that_block_lock, "lock", 5, BLOCK, 0)
STRESS(five_that_block_lock_on_one_cpu, "lock", 5, BLOCK, 1)
STRESS(a_condition_that_adapts_goes_at_once, "cond goes", 1, ADAPTIVE, 0)
STRESS(a_condition_that_blocks_goes_at_once, "cond goes", 1, BLOCK, 0)
STRESS(a_mutex_that_adapts_goes_at_once, "mutex goes", 1, ADAPTIVE, 0)
STRESS(a_mutex_that_blocks_goes_at_once, "mutex goes", 1, BLOCK, 0)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "trade", part_trade },
		{ "meet", part_meet },
		{ "ring", part_ring },
		{ "lock", part_lock },
		{ "cond goes", part_cond_goes },
		{ "mutex goes", part_mutex_goes },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(six_that_adapt_trade_tokens),
		TEST(six_that_block_trade_tokens),
		TEST(four_that_adapt_trade_tokens),
		TEST(four_that_block_trade_tokens),
		TEST(four_that_adapt_trade_tokens_on_one_cpu),
		TEST(four_that_block_trade_tokens_on_one_cpu),
		TEST(five_that_adapt_meet),
		TEST(five_that_block_meet),
		TEST(five_that_adapt_meet_on_one_cpu),
		TEST(four_that_block_meet_on_one_cpu),
		TEST(two_that_adapt_go_round),
		TEST(two_that_block_go_round),
		TEST(four_that_adapt_go_round),
		TEST(four_that_block_go_round),
		TEST(four_that_adapt_go_round_on_one_cpu),
		TEST(six_that_block_go_round_on_one_cpu),
		TEST(five_that_adapt_lock),
		TEST(five_that_block_lock),
		TEST(five_that_block_lock_on_one_cpu),
		TEST(a_condition_that_adapts_goes_at_once),
		TEST(a_condition_that_blocks_goes_at_once),
		TEST(a_mutex_that_adapts_goes_at_once),
		TEST(a_mutex_that_blocks_goes_at_once),
	};

	PROCESSES_BEGIN(argc, argv, parts,
	    stress_watchdog(sizeof tests / sizeof *tests));
	return processes_end(
	    cmocka_run_group_tests_name("cond_stress", tests, NULL, NULL));
}
