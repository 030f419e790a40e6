/* SPDX-License-Identifier: ISC */
/*
 * A readers-writer lock never lets a writer in beside anybody, loses no wake,
 * and is not touched when it may be gone: on a build in which no wait looks
 * again by itself, so that a lost wake stops a process for good, and in which
 * each step between two atomics may be held up at random (G47).
 */
#define _GNU_SOURCE
#include "jostle.h"
#include "room.h"
#include "system.h"

#include <errno.h>
#include <stdbool.h>

#define MOST 20u    /* processes */
#define SECONDS 0.5 /* of a test */
#define LEAST 50u   /* steps in that time */

struct room {
	handoff_rwlock lock;
	_Atomic unsigned stop;
	_Atomic unsigned progress;
	unsigned pinned;
	unsigned processes;
	unsigned policy;

	/* Where all meet between two rounds. */
	_Atomic unsigned arrived;
	_Atomic unsigned round;
	_Atomic unsigned over;

	/* Who is inside, and what the lock protects: two equal numbers. */
	_Atomic unsigned readers;
	_Atomic unsigned writer;
	volatile unsigned a;
	volatile unsigned b;
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
	struct handoff_rwlock_attr attr = { sizeof attr, 0, wanted->policy, 0 };
	struct room *r = memory;

	(void)bytes;
	r->policy = wanted->policy;
	r->pinned = wanted->pinned;
	r->processes = wanted->processes;
	return handoff_rwlock_init(&r->lock, &attr);
}

/* ---- Inside ------------------------------------------------------------ */

/* What each part does first: the room, and who this is. */
static struct room *come_in(const char *arg, unsigned *me)
{
	struct room *r = join_room(arg, me);

	be_jostled(*me, r->pinned != 0);
	return r;
}

static void look_around(struct room *r)
{
	unsigned a = r->a;

	atomic_fetch_add(&r->readers, 1);
	CHECK(atomic_load(&r->writer) == 0);
	CHECK(r->b == a);
	jostle();
	CHECK(r->a == a && r->b == a);
	CHECK(atomic_load(&r->writer) == 0);
	atomic_fetch_sub(&r->readers, 1);
}

static void change(struct room *r, unsigned me)
{
	CHECK(atomic_exchange(&r->writer, me + 1) == 0);
	CHECK(atomic_load(&r->readers) == 0);
	CHECK(r->a == r->b);
	r->a = r->a + 1;
	jostle();
	r->b = r->b + 1;
	CHECK(r->a == r->b);
	CHECK(atomic_load(&r->readers) == 0);
	CHECK(atomic_exchange(&r->writer, 0) == me + 1);
}

/* Reads, also again and again; true: it came in. */
static bool read_once(struct room *r, uint64_t deadline)
{
	int e = deadline == 0 ? handoff_rwlock_tryrdlock(&r->lock) :
	                        handoff_rwlock_rdlock_until(&r->lock, deadline);

	if (e == (deadline == 0 ? EBUSY : ETIMEDOUT) &&
	    deadline != HANDOFF_NEVER)
		return false;
	OK(e);
	look_around(r);
	if (chance(4) == 0) {
		OK(handoff_rwlock_rdlock(&r->lock));
		look_around(r);
		OK(handoff_rwlock_rdunlock(&r->lock));
	}
	look_around(r);
	OK(handoff_rwlock_rdunlock(&r->lock));
	return true;
}

static bool write_once(struct room *r, unsigned me, uint64_t deadline)
{
	int e = deadline == 0 ? handoff_rwlock_trywrlock(&r->lock) :
	                        handoff_rwlock_wrlock_until(&r->lock, deadline);

	if (e == (deadline == 0 ? EBUSY : ETIMEDOUT) &&
	    deadline != HANDOFF_NEVER)
		return false;
	OK(e);
	change(r, me);
	if (chance(4) == 0) {
		unsigned a = r->a;

		OK(handoff_rwlock_downgrade(&r->lock));
		CHECK(r->a == a); /* no writer in between */
		look_around(r);
		OK(handoff_rwlock_rdunlock(&r->lock));
	} else {
		OK(handoff_rwlock_wrunlock(&r->lock));
	}
	return true;
}

/* One of all ways to use it. */
static bool use(struct room *r, unsigned me)
{
	uint64_t deadline = HANDOFF_NEVER;

	switch (chance(6)) {
	case 0:
		deadline = 0;
		break;
	case 1:
		deadline = handoff_after(chance(100000));
		break;
	default:
		break;
	}
	return chance(2) ? read_once(r, deadline) : write_once(r, me, deadline);
}

/* ---- Rounds: all wait for the last, and nobody comes to help ----------- */

static void meet(struct room *r)
{
	unsigned round = atomic_load(&r->round);

	if (atomic_fetch_add(&r->arrived, 1) + 1 == r->processes) {
		atomic_store(&r->arrived, 0);
		atomic_store(&r->over, atomic_load(&r->stop));
		atomic_fetch_add(&r->progress, 1);
		atomic_fetch_add(&r->round, 1);
		return;
	}
	for (unsigned i = 0; atomic_load(&r->round) == round; i++)
		if (i < 20)
			sched_yield();
		else
			sleep_seconds(50e-6);
}

static int part_rounds(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	while (!atomic_load(&r->over)) {
		for (uint32_t i = chance(3); i > 0; i--)
			use(r, me);
		use(r, me);
		meet(r);
	}
	return 0;
}

/* ---- Crowd: all use it all the time ------------------------------------ */

/* Who gives up stays away until others have got on without it: had it taken a
 * wake along, nobody would. */
static int part_crowd(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);

	while (!atomic_load(&r->stop)) {
		unsigned before = atomic_load(&r->progress);

		/* One that never gives up, so that there always is one. */
		if (me == 0 ? read_once(r, HANDOFF_NEVER) : use(r, me)) {
			atomic_fetch_add(&r->progress, 1);
			continue;
		}
		stay_away(&r->progress, before, &r->stop);
	}
	return 0;
}

/* ---- Gone at once: a lock in a page that is unmapped ------------------- */

static _Atomic(handoff_rwlock *) going;
static _Atomic bool over;

static void *write_and_end(void *arg)
{
	seed_chance(4711);
	while (!atomic_load(&over)) {
		handoff_rwlock *lock = atomic_load(&going);

		if (!lock) {
			sched_yield();
			continue;
		}
		OK(handoff_rwlock_wrlock(lock));
		OK(handoff_rwlock_wrunlock(lock));
		OK(handoff_rwlock_destroy(lock));
		drop_page(lock);
		atomic_store(&going, NULL);
	}
	return arg;
}

/* Who locks it alone may have it vanish while its last unlock goes on. */
static int part_goes(const char *arg)
{
	unsigned me;
	struct room *r = come_in(arg, &me);
	struct handoff_rwlock_attr attr = { sizeof attr, 0, r->policy, 0 };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, write_and_end, NULL) == 0);
	while (!atomic_load(&r->stop)) {
		handoff_rwlock *lock = new_page();
		bool reads = chance(2);

		OK(handoff_rwlock_init(lock, &attr));
		OK(reads ? handoff_rwlock_rdlock(lock) :
		           handoff_rwlock_wrlock(lock));
		atomic_store(&going, lock);
		sleep_seconds(chance(200) / 1e6);
		OK(reads ? handoff_rwlock_rdunlock(lock) :
		           handoff_rwlock_wrunlock(lock));
		while (atomic_load(&going))
			sched_yield();
		atomic_fetch_add(&r->progress, 1);
	}
	atomic_store(&over, true);
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

/* ---- The parent -------------------------------------------------------- */

static void run(const char *part, unsigned processes, unsigned policy,
    unsigned pinned)
{
	const struct wanted wanted = { policy, pinned, processes };
	struct room *r = make_room("stress", &wanted);
	struct process p[MOST];

	assert_non_null(r);
	start_jostled(p, processes, part);
	watch_stress(&r->progress, 1, SECONDS, LEAST);
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < processes; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_int_equal(r->a, r->b);
	assert_int_equal(r->readers, 0);
	assert_int_equal(handoff_rwlock_trywrlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), 0);
	close_room(r, "stress");
}

/* One test: part, processes, policy, pinned to one CPU or not. */
#define STRESS(test, part, processes, policy, pinned)                \
	static void test(void **state)                               \
	{                                                            \
		(void)state;                                         \
		run(part, processes, HANDOFF_WAIT_##policy, pinned); \
	}

STRESS(two_that_adapt_meet, "rounds", 2, ADAPTIVE, 0)
STRESS(two_that_block_meet, "rounds", 2, BLOCK, 0)
STRESS(three_that_block_meet, "rounds", 3, BLOCK, 0)
STRESS(four_that_adapt_meet, "rounds", 4, ADAPTIVE, 0)
STRESS(four_that_block_meet, "rounds", 4, BLOCK, 0)
STRESS(three_that_adapt_meet_on_one_cpu, "rounds", 3, ADAPTIVE, 1)
STRESS(four_that_block_meet_on_one_cpu, "rounds", 4, BLOCK, 1)
STRESS(twenty_that_block_meet, "rounds", 20, BLOCK, 0)
STRESS(five_that_adapt_use_it, "crowd", 5, ADAPTIVE, 0)
STRESS(five_that_block_use_it, "crowd", 5, BLOCK, 0)
STRESS(five_that_block_use_it_on_one_cpu, "crowd", 5, BLOCK, 1)
STRESS(twenty_that_adapt_use_it, "crowd", 20, ADAPTIVE, 0)
STRESS(one_that_adapts_goes_at_once, "goes", 1, ADAPTIVE, 0)
STRESS(one_that_blocks_goes_at_once, "goes", 1, BLOCK, 0)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "rounds", part_rounds },
		{ "crowd", part_crowd },
		{ "goes", part_goes },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(two_that_adapt_meet),
		TEST(two_that_block_meet),
		TEST(three_that_block_meet),
		TEST(four_that_adapt_meet),
		TEST(four_that_block_meet),
		TEST(three_that_adapt_meet_on_one_cpu),
		TEST(four_that_block_meet_on_one_cpu),
		TEST(twenty_that_block_meet),
		TEST(five_that_adapt_use_it),
		TEST(five_that_block_use_it),
		TEST(five_that_block_use_it_on_one_cpu),
		TEST(twenty_that_adapt_use_it),
		TEST(one_that_adapts_goes_at_once),
		TEST(one_that_blocks_goes_at_once),
	};

	PROCESSES_BEGIN(argc, argv, parts,
	    stress_watchdog(sizeof tests / sizeof *tests));
	return processes_end(
	    cmocka_run_group_tests_name("rwlock_stress", tests, NULL, NULL));
}
