/* SPDX-License-Identifier: ISC */
/* The semaphore, between processes: what handoff_sem(3) says beyond what
 * tests/waits.c tests. */
#define _GNU_SOURCE
#include "room.h"
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define PROCESSES 4u
#define MAX HANDOFF_SEM_MAX

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	handoff_sem sem; /* 0 in the beginning */
	handoff_sem back;
	handoff_mutex other;
	_Atomic unsigned stop;
	uint64_t posted[PROCESSES];
	uint64_t taken[PROCESSES];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = handoff_sem_init(&r->sem, 0, arg);

	(void)bytes;
	if (e == 0)
		e = handoff_sem_init(&r->back, 0, NULL);
	return e != 0 ? e : handoff_mutex_init(&r->other, NULL);
}

static uint32_t value(const handoff_sem *sem)
{
	uint32_t n = 4711;

	GIVES(handoff_sem_value(sem, &n), 0);
	return n;
}

static void post(handoff_sem *sem)
{
	GIVES(handoff_sem_post(sem, 1), 0);
}

/* ---- Parts that wait --------------------------------------------------- */

static int part_wait(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	say("waits");
	OK(handoff_sem_wait(&r->sem));
	say("done");
	return 0;
}

/* ---- Names --------------------------------------------------------------- */

static int part_named(const char *arg)
{
	handoff_sem *sem;
	uint32_t n;

	OK(handoff_sem_open(&sem, arg, 0, 0, 99, NULL));
	OK(handoff_sem_value(sem, &n));
	CHECK(n == 3);
	for (int i = 0; i < 3; i++)
		OK(handoff_sem_trywait(sem));
	say("waits");
	OK(handoff_sem_wait(sem));
	OK(handoff_sem_post(sem, 5));
	RESULT(handoff_sem_post(sem, 1), EOVERFLOW);
	OK(handoff_close(sem));
	return 0;
}

static void a_name_leads_all_processes_to_one_semaphore(void **state)
{
	struct handoff_sem_attr five = { sizeof five, 0, 0, 0, 5 };
	struct handoff_info info = { .size = sizeof info };
	handoff_sem *sem;
	handoff_sem *again;
	handoff_event *event;
	struct process p;

	(void)state;
	GIVES(handoff_sem_open(&sem, "named", 0, 0, 0, NULL), ENOENT);
	assert_null(sem);
	GIVES(handoff_sem_open(&sem, "named",
	          HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, 3, &five),
	    0);
	GIVES(handoff_sem_open(&again, "named",
	          HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, 3, &five),
	    EEXIST);
	GIVES(handoff_sem_open(&again, "/named", HANDOFF_CREATE, 0600, 1, NULL),
	    0);
	assert_ptr_equal(again, sem);
	GIVES(handoff_event_open(&event, "named", 0, 0, NULL), EPROTO);
	GIVES(handoff_info(sem, &info), 0);
	GIVES(info.kind, HANDOFF_KIND_SEM);
	p = start_parked("named", "named");
	GIVES(value(sem), 0);
	GIVES(handoff_sem_trywait(sem), EBUSY);
	post(sem);
	GIVES(finish(&p), 0);
	GIVES(value(sem), 5);
	GIVES(handoff_close(sem), 0);
	GIVES(value(sem), 5);
	GIVES(handoff_close(sem), 0);
	GIVES(handoff_close(sem), EINVAL);
	GIVES(unlink_name("named"), 0);
}

/* ---- Bad arguments ------------------------------------------------------- */

static const struct handoff_sem_attr bad[] = {
	{ 0, 0, 0, 0, 0 },
	{ sizeof bad[0] - 1, 0, 0, 0, 0 },
	{ sizeof bad[0] + 8, 0, 0, 0, 0 },
	{ sizeof bad[0], HANDOFF_ROBUST, 0, 0, 0 },
	{ sizeof bad[0], 0x80000000u, 0, 0, 0 },
	{ sizeof bad[0], 0, 4, 0, 0 },
	{ sizeof bad[0], 0, UINT32_MAX, 0, 0 },
	{ sizeof bad[0], 0, 0, UINT64_MAX, 0 },
	{ sizeof bad[0], 0, 0, (uint64_t)UINT32_MAX + 1, 0 },
	{ sizeof bad[0], 0, 0, 0, MAX + 1 },
	{ sizeof bad[0], 0, 0, 0, UINT32_MAX },
};

#define BAD (sizeof bad / sizeof *bad)

static void bad_arguments_of_open_are_refused_and_leave_nothing(void **state)
{
	struct handoff_sem_attr two = { sizeof two, 0, 0, 0, 2 };
	handoff_sem *sem;

	(void)state;
	for (size_t i = 0; i < BAD; i++) {
		GIVES(handoff_sem_open(&sem, "bad", HANDOFF_CREATE, 0600, 0,
		          &bad[i]),
		    EINVAL);
		assert_null(sem);
	}
	GIVES(handoff_sem_open(&sem, "bad", HANDOFF_CREATE, 0600, 3, &two),
	    EINVAL);
	GIVES(handoff_sem_open(&sem, "bad", HANDOFF_CREATE, 0600, MAX + 1,
	          NULL),
	    EINVAL);
	GIVES(handoff_sem_open(NULL, "bad", HANDOFF_CREATE, 0600, 0, NULL),
	    EINVAL);
	GIVES(handoff_sem_open(&sem, NULL, HANDOFF_CREATE, 0600, 0, NULL),
	    EINVAL);
	GIVES(handoff_sem_open(&sem, "bad", HANDOFF_EXCLUSIVE, 0600, 0, NULL),
	    EINVAL);
	GIVES(count_names(), 0);
}

static void init_refuses_bad_attributes_counts_and_places(void **state)
{
	struct handoff_sem_attr two = { sizeof two, 0, HANDOFF_WAIT_BLOCK,
		UINT32_MAX, 2 };
	struct handoff_sem_attr most = { sizeof most, 0, 0, 0, MAX };
	handoff_sem plain[2];

	(void)state;
	for (size_t i = 0; i < BAD; i++)
		GIVES(handoff_sem_init(plain, 0, &bad[i]), EINVAL);
	for (size_t i = 1; i < 64; i++)
		GIVES(handoff_sem_init((handoff_sem *)(void *)((char *)plain +
		                           i),
		          0, NULL),
		    EINVAL);
	GIVES(handoff_sem_init(NULL, 0, NULL), EINVAL);
	GIVES(handoff_sem_init(plain, 3, &two), EINVAL);
	GIVES(handoff_sem_init(plain, MAX + 1, NULL), EINVAL);
	GIVES(handoff_sem_init(plain, UINT32_MAX, NULL), EINVAL);
	GIVES(handoff_sem_init(plain, MAX, NULL), 0);
	GIVES(value(plain), MAX);
	GIVES(handoff_sem_init(plain, MAX, &most), 0);
	GIVES(value(plain), MAX);
	GIVES(handoff_sem_init(plain, 2, &two), 0);
	GIVES(value(plain), 2);
	GIVES(handoff_sem_destroy(plain), 0);
}

static void refused(handoff_sem *sem)
{
	uint32_t n = 4711;

	GIVES(handoff_sem_wait(sem), EINVAL);
	GIVES(handoff_sem_trywait(sem), EINVAL);
	GIVES(handoff_sem_wait_until(sem, 0), EINVAL);
	GIVES(handoff_sem_wait_until(sem, handoff_after(MS)), EINVAL);
	GIVES(handoff_sem_post(sem, 1), EINVAL);
	GIVES(handoff_sem_post(sem, 0), EINVAL);
	GIVES(handoff_sem_value(sem, &n), EINVAL);
	GIVES(n, 4711);
	GIVES(handoff_sem_destroy(sem), EINVAL);
}

static void what_is_no_semaphore_is_refused(void **state)
{
	struct handoff_statistics s = { .size = sizeof s };
	struct room *r = open_room("none");
	handoff_event event;
	handoff_sem sem;

	(void)state;
	refused(NULL);
	memset(&sem, 0, sizeof sem);
	refused(&sem);
	GIVES(handoff_statistics(&sem, &s), EINVAL);
	memset(&sem, 0xff, sizeof sem);
	refused(&sem);
	refused((handoff_sem *)&r->other);
	GIVES(handoff_event_init(&event, NULL), 0);
	refused((handoff_sem *)&event);
	GIVES(handoff_event_destroy((handoff_event *)&r->sem), EINVAL);
	GIVES(handoff_sem_init(&sem, 1, NULL), 0);
	GIVES(handoff_sem_wait(&sem), 0);
	GIVES(handoff_sem_destroy(&sem), 0);
	refused(&sem);
	close_room(r, "none");
}

/* ---- The count ----------------------------------------------------------- */

/* G41: full is an error, and nothing changes. */
static void full(handoff_sem *sem, uint32_t maximum)
{
	static const uint32_t too_many[] = { 1, 2, MAX - 1, MAX, MAX + 1,
		UINT32_MAX - 1, UINT32_MAX };

	GIVES(value(sem), maximum);
	for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
		GIVES(handoff_sem_post(sem, too_many[i]), EOVERFLOW);
		GIVES(value(sem), maximum);
	}
	GIVES(handoff_sem_post(sem, 0), EINVAL);
	GIVES(handoff_sem_wait(sem), 0);
	GIVES(handoff_sem_post(sem, 2), EOVERFLOW);
	GIVES(value(sem), maximum - 1);
	GIVES(handoff_sem_post(sem, 1), 0);
	GIVES(value(sem), maximum);
}

static void a_count_goes_no_further_than_its_maximum(void **state)
{
	struct handoff_sem_attr attr = { sizeof attr, 0, 0, 0, 1 };
	handoff_sem sem;

	(void)state;
	GIVES(handoff_sem_init(&sem, 1, &attr), 0);
	full(&sem, 1);
	attr.maximum = 7;
	GIVES(handoff_sem_init(&sem, 0, &attr), 0);
	GIVES(handoff_sem_post(&sem, 8), EOVERFLOW);
	GIVES(value(&sem), 0);
	GIVES(handoff_sem_post(&sem, 6), 0);
	GIVES(handoff_sem_post(&sem, 1), 0);
	full(&sem, 7);
	for (unsigned i = 7; i > 0; i--) {
		GIVES(value(&sem), i);
		GIVES(handoff_sem_wait(&sem), 0);
	}
	GIVES(handoff_sem_trywait(&sem), EBUSY);
	GIVES(handoff_sem_init(&sem, MAX - 1, NULL), 0);
	GIVES(handoff_sem_post(&sem, 1), 0);
	full(&sem, MAX);
	GIVES(handoff_sem_init(&sem, 0, NULL), 0);
	GIVES(handoff_sem_post(&sem, MAX), 0);
	full(&sem, MAX);
}

/* A post that is too much wakes nobody, and one that is not does. */
static void a_post_beyond_the_maximum_lets_nobody_go(void **state)
{
	struct handoff_sem_attr two = { sizeof two, 0, 0, 0, 2 };
	struct room *r = make_room("over", &two);
	struct process p = start_parked("wait", "over");

	(void)state;
	GIVES(handoff_sem_post(&r->sem, 3), EOVERFLOW);
	GIVES(handoff_sem_post(&r->sem, UINT32_MAX), EOVERFLOW);
	GIVES(handoff_sem_post(&r->sem, MAX), EOVERFLOW);
	assert_false(says_within(&p, 0.05));
	GIVES(value(&r->sem), 0);
	GIVES(handoff_sem_post(&r->sem, 2), 0);
	expect(&p, "done");
	GIVES(finish(&p), 0);
	GIVES(value(&r->sem), 1);
	close_room(r, "over");
}

/* Who comes too late to wait takes what there is. */
static void one_try_takes_what_there_is(void **state)
{
	handoff_sem sem;

	(void)state;
	GIVES(handoff_sem_init(&sem, 4, NULL), 0);
	GIVES(handoff_sem_trywait(&sem), 0);
	GIVES(handoff_sem_wait_until(&sem, 0), 0);
	GIVES(handoff_sem_wait_until(&sem, handoff_now() - 1), 0);
	GIVES(handoff_sem_wait(&sem), 0);
	GIVES(handoff_sem_trywait(&sem), EBUSY);
	GIVES(handoff_sem_wait_until(&sem, 0), ETIMEDOUT);
	GIVES(handoff_sem_wait_until(&sem, handoff_now()), ETIMEDOUT);
	GIVES(value(&sem), 0);
	GIVES(handoff_sem_value(&sem, NULL), EINVAL);
}

/* ---- Posts and waiters --------------------------------------------------- */

/* Posts let as many go as they say, of 5 that wait. */
static void let_go(unsigned policy, int spinning)
{
	static const unsigned posts[] = { 1, 3, 1 };
	struct handoff_sem_attr attr = { sizeof attr, 0, policy,
		spinning ? UINT32_MAX : 0, 0 };
	struct room *r = make_room("go", &attr);
	struct process p[5];
	unsigned n = spinning ? 3 : 5;
	unsigned left = n;

	assert_non_null(r);
	start_all(p, n, "wait", "go", spinning);
	for (unsigned i = 0; left > 0; i++) {
		unsigned k = posts[i] < left ? posts[i] : left;

		GIVES(handoff_sem_post(&r->sem, k), 0);
		GIVES(count_sayers(p, left, k), k);
		while (k-- > 0)
			finish_sayer(p, &left, "done");
		GIVES(value(&r->sem), 0);
	}
	close_room(r, "go");
}

static void a_post_of_n_lets_n_go_that_are_parked(void **state)
{
	(void)state;
	let_go(HANDOFF_WAIT_BLOCK, 0);
	let_go(HANDOFF_WAIT_ADAPTIVE, 0);
}

static void a_post_of_n_lets_n_go_that_spin(void **state)
{
	(void)state;
	let_go(HANDOFF_WAIT_SPIN, 1);
	let_go(HANDOFF_WAIT_YIELD, 1);
}

static void posts_one_by_one_let_as_many_go(void **state)
{
	struct room *r = open_room("one");
	struct process p[5];

	(void)state;
	start_all(p, 5, "wait", "one", 0);
	for (unsigned i = 0; i < 5; i++)
		post(&r->sem);
	for (unsigned i = 0; i < 5; i++) {
		expect(&p[i], "done");
		GIVES(finish(&p[i]), 0);
	}
	GIVES(value(&r->sem), 0);
	close_room(r, "one");
}

/* ---- The count is conserved ---------------------------------------------- */

static int part_trade(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	uint32_t x = me * 2654435761u + 1;

	say("ready");
	await("go");
	while (!atomic_load(&r->stop)) {
		int e;

		x = x * 1664525u + 1013904223u;
		if (x >> 30 == 0) {
			uint32_t n = 1 + (x >> 20 & 3);

			e = handoff_sem_post(&r->sem, n);
			if (e == 0)
				r->posted[me] += n;
			CHECK(e == 0 || e == EOVERFLOW);
			continue;
		}
		e = x >> 28 & 1 ? handoff_sem_trywait(&r->sem) :
		                  handoff_sem_wait_until(&r->sem,
		                      handoff_after(x >> 10 & 0x3ffff));
		if (e == 0)
			r->taken[me]++;
		CHECK(e == 0 || e == EBUSY || e == ETIMEDOUT);
	}
	return 0;
}

static int enough(struct room *r)
{
	const volatile uint64_t *taken = r->taken;
	uint64_t sum = 0;

	for (unsigned i = 0; i < PROCESSES; i++) {
		if (taken[i] == 0)
			return 0;
		sum += taken[i];
	}
	return sum > 1000;
}

static void trade(unsigned policy)
{
	struct handoff_sem_attr attr = { sizeof attr, 0, policy, 0, 6 };
	struct room *r = make_room("trade", &attr);
	struct process p[PROCESSES];
	uint64_t posted = 0;
	uint64_t taken = 0;
	char arg[64];

	assert_non_null(r);
	for (unsigned i = 0; i < PROCESSES; i++) {
		snprintf(arg, sizeof arg, "trade:%u", i);
		p[i] = start("trade", arg);
		expect(&p[i], "ready");
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		tell(&p[i], "go");
	/* On a loaded machine it takes longer. */
	for (double end = seconds_now() + 10;
	     sleep_seconds(0.5), seconds_now() < end && !enough(r);)
		;
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < PROCESSES; i++)
		GIVES(finish(&p[i]), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		assert_true(r->taken[i] > 0);
		posted += r->posted[i];
		taken += r->taken[i];
	}
	assert_true(taken > 1000);
	GIVES(posted, taken + value(&r->sem));
	print_message("%llu taken\n", (unsigned long long)taken);
	close_room(r, "trade");
}

static void processes_conserve_the_count(void **state)
{
	(void)state;
	for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK; policy++)
		trade(policy);
}

/* What was written before a post is seen after the wait: one slot, to and
 * fro. */
static int part_echo(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	for (uint64_t i = 1; i <= 20000; i++) {
		OK(handoff_sem_wait(&r->sem));
		CHECK(r->posted[0] == i);
		r->taken[0] = i;
		OK(handoff_sem_post(&r->back, 1));
	}
	return 0;
}

static void two_processes_hand_over_to_and_fro(void **state)
{
	struct room *r = open_room("echo");
	struct process p = start("echo", "echo");

	(void)state;
	for (uint64_t i = 1; i <= 20000; i++) {
		r->posted[0] = i;
		GIVES(handoff_sem_post(&r->sem, 1), 0);
		GIVES(handoff_sem_wait_until(&r->back, soon(20)), 0);
		GIVES(r->taken[0], i);
	}
	GIVES(finish(&p), 0);
	close_room(r, "echo");
}

/* Takes one and keeps it. */
static int part_keep(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	OK(handoff_sem_wait(&r->sem));
	say("kept");
	linger();
	return 0;
}

/* G07: as the manual says, and whoever else has the semaphore open. */
static void what_a_killed_process_took_is_gone(void **state)
{
	struct room *r = open_room("gone");
	uint32_t had = value(&r->sem);

	(void)state;
	GIVES(handoff_sem_post(&r->sem, 5), 0);
	for (uint32_t taken = 1; taken <= 5; taken++) {
		struct process p = start("keep", "gone");

		expect(&p, "kept");
		kill_hard(&p);
		GIVES(value(&r->sem), had + 5 - taken);
	}
	GIVES(handoff_sem_post(&r->sem, 1), 0);
	GIVES(handoff_sem_trywait(&r->sem), 0);
	close_room(r, "gone");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "keep", part_keep },
		{ "named", part_named },
		{ "trade", part_trade },
		{ "echo", part_echo },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_name_leads_all_processes_to_one_semaphore),
		TEST(bad_arguments_of_open_are_refused_and_leave_nothing),
		TEST(init_refuses_bad_attributes_counts_and_places),
		TEST(what_is_no_semaphore_is_refused),
		TEST(a_count_goes_no_further_than_its_maximum),
		TEST(a_post_beyond_the_maximum_lets_nobody_go),
		TEST(one_try_takes_what_there_is),
		TEST(a_post_of_n_lets_n_go_that_are_parked),
		TEST(a_post_of_n_lets_n_go_that_spin),
		TEST(posts_one_by_one_let_as_many_go),
		TEST(processes_conserve_the_count),
		TEST(two_processes_hand_over_to_and_fro),
		TEST(what_a_killed_process_took_is_gone),
	};

	/* Each semaphore says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("sem", tests, NULL, NULL));
}
