/* SPDX-License-Identifier: ISC */
/*
 * What waiting for a semaphore, an event or a word has in common: deadlines,
 * signals of the system, wherever the object lies, its end, and what is noted
 * of it.  Each test is made for each kind.
 */
#define _GNU_SOURCE
#include "room.h"
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define ROUNDS 2000

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	union object there; /* the parent gives */
	union object back;  /* the part gives */
	unsigned kind;
	uint64_t written[2];
};

const size_t room_bytes = sizeof(struct room);

struct wanted {
	unsigned kind;
	unsigned policy;
	uint64_t limit;
};

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;
	const struct kind *kind = &kinds[wanted->kind];
	struct room *r = memory;
	int e = kind->init(&r->there, wanted->policy, wanted->limit);

	(void)bytes;
	r->kind = wanted->kind;
	return e != 0 ? e : kind->init(&r->back, HANDOFF_WAIT_ADAPTIVE, 0);
}

static struct room *make(unsigned kind, unsigned policy, uint64_t limit)
{
	struct wanted wanted = { kind, policy, limit };
	struct room *r = make_room("waits", &wanted);

	assert_non_null(r);
	return r;
}

static void end(struct room *r)
{
	close_room(r, "waits");
}

static const struct kind *kind_of(const struct room *r)
{
	return &kinds[r->kind];
}

static void give(struct room *r)
{
	GIVES(kind_of(r)->give(&r->there), 0);
}

/* There is nothing to be had any more. */
static void assert_empty(struct room *r)
{
	GIVES(kind_of(r)->wait_until(&r->there, 0), ETIMEDOUT);
	GIVES(kind_of(r)->wait_until(&r->back, 0), ETIMEDOUT);
}

/* Waits once, in one of several ways. */
static int part_wait(const char *arg)
{
	static const uint64_t far[] = { HANDOFF_NEVER, HANDOFF_NEVER - 1,
		HANDOFF_NEVER / 2, HANDOFF_NEVER / 2 + 1 };
	unsigned n;
	struct room *r = join_room(arg, &n);

	say("waits");
	OK(n == 0 ? kind_of(r)->wait(&r->there) :
	            kind_of(r)->wait_until(&r->there, far[n - 1]));
	say("done");
	return 0;
}

static void done(struct process *p)
{
	expect(p, "done");
	GIVES(finish(p), 0);
}

/* ---- Deadlines --------------------------------------------------------- */

static void late(struct room *r, uint64_t deadline)
{
	RESULT(kind_of(r)->wait_until(&r->there, deadline), ETIMEDOUT);
	CHECK(handoff_now() >= deadline);
}

static int part_late(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	late(r, 0);
	late(r, 1);
	late(r, handoff_now() - 1);
	late(r, handoff_now());
	late(r, handoff_after(1));
	late(r, handoff_after(10000));
	late(r, handoff_after(30 * MS));
	say("late");
	return 0;
}

static void a_wait_is_over_at_its_deadline_and_not_before(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned i = 0; i <= HANDOFF_WAIT_BLOCK; i++) {
			struct room *r = make(kind, i, 0);
			struct process p = start("late", "waits");

			expect(&p, "late");
			GIVES(finish(&p), 0);
			/* Who is late takes what there is. */
			give(r);
			GIVES(kind_of(r)->wait_until(&r->there, 0), 0);
			give(r);
			GIVES(kind_of(r)->wait_until(&r->there,
			          handoff_now() - 1),
			    0);
			assert_empty(r);
			end(r);
		}
}

/* Longer than a slice. */
static void a_slices_end_does_not_end_a_wait(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct room *r = make(kind, HANDOFF_WAIT_BLOCK, 0);
		uint64_t deadline = handoff_after(300 * MS);

		GIVES(kind_of(r)->wait_until(&r->there, deadline), ETIMEDOUT);
		assert_true(handoff_now() >= deadline);
		end(r);
	}
}

static void waiters_with_any_far_deadline_are_let_go(void **state)
{
	static const char *const args[] = { "waits:0", "waits:1", "waits:2",
		"waits:3", "waits:4" };

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct room *r = make(kind, 0, 0);

		for (size_t i = 0; i < 5; i++) {
			struct process p = start_parked("wait", args[i]);

			assert_false(says_within(&p, 0.01));
			give(r);
			done(&p);
		}
		assert_empty(r);
		end(r);
	}
}

/* ---- To and fro -------------------------------------------------------- */

/* What was written before it was given is seen by who has got it. */
static int part_echo(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		OK(kind_of(r)->wait(&r->there));
		CHECK(r->written[0] == i);
		r->written[1] = i;
		OK(kind_of(r)->give(&r->back));
	}
	return 0;
}

static void echo(unsigned kind, unsigned policy)
{
	struct room *r = make(kind, policy, 0);
	struct process p = start("echo", "waits");

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		r->written[0] = i;
		give(r);
		GIVES(kind_of(r)->wait_until(&r->back, soon(10)), 0);
		assert_int_equal(r->written[1], i);
	}
	GIVES(finish(&p), 0);
	assert_empty(r);
	end(r);
}

static void two_processes_hand_over_to_and_fro(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned i = 0; i <= HANDOFF_WAIT_BLOCK; i++)
			echo(kind, i);
}

/* ---- Signals of the system --------------------------------------------- */

static struct room *signalled;
static volatile sig_atomic_t signals;

static void give_it(int signal)
{
	(void)signal;
	if (kind_of(signalled)->give(&signalled->there) != 0)
		_exit(99);
}

static void count_it(int signal)
{
	(void)signal;
	signals++;
}

/* Its own handler ends the wait that it interrupts; 1: also the first call
 * that this process makes. */
static int part_handler(const char *arg)
{
	unsigned first;
	struct room *r = join_room(arg, &first);

	signalled = r;
	catch_usr1(give_it);
	if (first) {
		CHECK(raise(SIGUSR1) == 0);
		OK(kind_of(r)->wait_until(&r->there, 0));
	}
	say("waits");
	for (int i = 0; i < 10; i++) {
		OK(kind_of(r)->wait(&r->there));
		say("took");
	}
	return 0;
}

static void handle(unsigned kind, unsigned policy, uint64_t limit)
{
	int block = policy == HANDOFF_WAIT_BLOCK;
	struct room *r = make(kind, policy, limit);
	struct process p = start("handler", block ? "waits:0" : "waits:1");

	expect(&p, "waits");
	for (int i = 0; i < 10; i++) {
		if (block)
			until_asleep(p.pid);
		GIVES(kill(p.pid, SIGUSR1), 0);
		expect(&p, "took");
	}
	GIVES(finish(&p), 0);
	assert_empty(r);
	end(r);
}

static void a_signal_handler_may_give(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		handle(kind, HANDOFF_WAIT_BLOCK, 0);
		handle(kind, HANDOFF_WAIT_SPIN, UINT32_MAX);
	}
}

static int part_bombed(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	catch_usr1(count_it);
	say("waits");
	OK(kind_of(r)->wait(&r->there));
	CHECK(signals > 0);
	say("done");
	return 0;
}

/* G44: an interrupted wait goes on. */
static void a_signal_does_not_end_a_wait(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct room *r = make(kind, HANDOFF_WAIT_BLOCK, 0);
		struct process p = start_parked("bombed", "waits");

		for (int i = 0; i < 100; i++) {
			GIVES(kill(p.pid, SIGUSR1), 0);
			sleep_seconds(0.0002);
		}
		assert_false(says_within(&p, 0.01));
		give(r);
		done(&p);
		assert_empty(r);
		end(r);
	}
}

/* ---- Where it lies ----------------------------------------------------- */

/* A name leads all processes to one object, and to that kind alone. */
static int part_named(const char *arg)
{
	const struct kind *kind = &kinds[atoi(arg)];
	union object *o;

	OK(kind->open(&o, "named", 0));
	say("waits");
	OK(kind->wait(o));
	OK(handoff_close(o));
	say("done");
	return 0;
}

static void named(unsigned n)
{
	static const uint32_t tags[KINDS] = { HANDOFF_KIND_SEM,
		HANDOFF_KIND_EVENT, HANDOFF_KIND_EVENT, HANDOFF_KIND_WORD32,
		HANDOFF_KIND_WORD64 };
	struct handoff_info info = { .size = sizeof info };
	const unsigned new = HANDOFF_CREATE | HANDOFF_EXCLUSIVE;
	const char arg[] = { (char)('0' + n), '\0' };
	const struct kind *kind = &kinds[n];
	union object *o;
	union object *again;
	struct process p;

	GIVES(kind->open(&o, "named", 0), ENOENT);
	assert_null(o);
	GIVES(kind->open(&o, "named", new), 0);
	GIVES(kind->open(&again, "named", new), EEXIST);
	assert_null(again);
	GIVES(kind->open(&again, "/named", HANDOFF_CREATE), 0);
	assert_ptr_equal(again, o);
	GIVES(handoff_info(o, &info), 0);
	GIVES(info.kind, tags[n]);
	for (unsigned i = 0; i < KINDS; i++)
		if (tags[i] != tags[n])
			GIVES(kinds[i].open(&again, "named", HANDOFF_CREATE),
			    EPROTO);
	p = start_parked("named", arg);
	GIVES(handoff_info(o, &info), 0);
	GIVES(info.users, 2);
	GIVES(kind->give(o), 0);
	done(&p);
	GIVES(handoff_close(o), 0);
	GIVES(kind->wait_until(o, 0), ETIMEDOUT);
	GIVES(handoff_close(o), 0);
	GIVES(handoff_close(o), EINVAL);
	GIVES(unlink_name("named"), 0);
}

static void a_name_leads_all_processes_to_one_object(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++)
		named(i);
}

/* To and fro between a child, by `there`, and its parent, by `here`. */
static void with_a_child(const struct kind *kind, struct room *here,
    struct room *there)
{
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			OK(kind->wait_until(&there->there, soon(10)));
			OK(kind->give(&there->back));
		}
		RESULT(kind->wait_until(&there->there, soon(0.01)), ETIMEDOUT);
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 500 == 0) /* the child is parked at times */
			sleep_seconds(0.002);
		OK(kind->give(&here->there));
		OK(kind->wait_until(&here->back, soon(10)));
	}
	join_child(child);
	OK(kind->destroy(&here->there));
	RESULT(kind->give(&there->there), EINVAL);
}

static int part_in_place(const char *unused)
{
	(void)unused;
	for (unsigned i = 0; i < KINDS; i++) {
		struct wanted wanted = { i, HANDOFF_WAIT_ADAPTIVE, 0 };
		struct room *r = shared_pages(sizeof *r);
		void *at[2];

		OK(fill_room(r, sizeof *r, &wanted));
		with_a_child(&kinds[i], r, r);
		map_twice(at, sizeof *r);
		OK(fill_room(at[0], sizeof *r, &wanted));
		with_a_child(&kinds[i], at[0], at[1]);
	}
	return 0;
}

static void it_works_in_plain_memory_and_by_two_addresses(void **state)
{
	struct process p = start("in place", "");

	(void)state;
	GIVES(finish(&p), 0);
}

/* `address`: the room is somewhere else here. */
static int part_elsewhere(const char *address)
{
	struct room *r;
	char here[32];

	keep_clear_of(address, sizeof *r);
	r = join_room("waits", NULL);
	snprintf(here, sizeof here, "%p", (void *)r);
	CHECK(strcmp(here, address) != 0);
	say("waits");
	OK(kind_of(r)->wait(&r->there));
	OK(kind_of(r)->give(&r->back));
	say("done");
	return 0;
}

static void a_segment_may_lie_elsewhere_in_each_process(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++) {
		struct room *r = make(i, 0, 0);
		struct process p;
		char here[32];

		snprintf(here, sizeof here, "%p", (void *)r);
		p = start_parked("elsewhere", here);
		give(r);
		GIVES(kind_of(r)->wait_until(&r->back, soon(10)), 0);
		done(&p);
		end(r);
	}
}

/* ---- Threads and children ---------------------------------------------- */

static void *wait_in_thread(void *arg)
{
	struct room *r = arg;

	return (void *)(intptr_t)kind_of(r)->wait(&r->there);
}

/* Its other thread waits when it forks. */
static int part_forks(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;
	void *result;
	pid_t child;

	CHECK(pthread_create(&thread, NULL, wait_in_thread, r) == 0);
	sleep_seconds(0.02);
	child = fork();
	if (child == 0) {
		OK(kind_of(r)->give(&r->there));
		OK(kind_of(r)->wait_until(&r->back, soon(10)));
		_exit(0);
	}
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == NULL);
	OK(kind_of(r)->give(&r->back));
	join_child(child);
	return 0;
}

static void a_child_of_fork_gives_and_waits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++) {
		struct room *r = make(i, 0, 0);
		struct process p = start("forks", "waits");

		GIVES(finish(&p), 0);
		assert_empty(r);
		end(r);
	}
}

static void busy(struct room *r)
{
	double by = seconds_now() + 10;
	pthread_t thread;
	void *result;

	GIVES(pthread_create(&thread, NULL, wait_in_thread, r), 0);
	while (statistics_of(&r->there).parks == 0) {
		assert_true(seconds_now() < by);
		sleep_seconds(0.001);
	}
	GIVES(kind_of(r)->destroy(&r->there), EBUSY);
	GIVES(handoff_close(r), EBUSY);
	sleep_seconds(0.02);
	GIVES(kind_of(r)->destroy(&r->there), EBUSY);
	GIVES(kind_of(r)->destroy(&r->back), 0);
	give(r);
	GIVES(pthread_join(thread, &result), 0);
	assert_null(result);
	GIVES(kind_of(r)->destroy(&r->there), 0);
	GIVES(kind_of(r)->destroy(&r->there), EINVAL);
	GIVES(kind_of(r)->wait_until(&r->there, 0), EINVAL);
}

static void what_a_thread_waits_for_is_not_destroyed_or_closed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++) {
		struct room *r = make(i, 0, 0);

		busy(r);
		end(r);
	}
}

/* ---- What is noted ----------------------------------------------------- */

static void assert_nothing_noted(struct room *r)
{
	struct handoff_statistics s = statistics_of(&r->there);

	assert_int_equal(s.contended, 0);
	assert_int_equal(s.parks, 0);
	assert_int_equal(s.longest, 0);
}

static void count_blocked(struct room *r)
{
	struct handoff_statistics before;
	struct handoff_statistics s;

	for (int i = 0; i < 100; i++) {
		give(r);
		GIVES(kind_of(r)->wait(&r->there), 0);
		GIVES(kind_of(r)->wait_until(&r->there, 0), ETIMEDOUT);
	}
	assert_nothing_noted(r);
	for (int i = 0; i < 3; i++) {
		struct process p = start_parked("wait", "waits");

		before = statistics_of(&r->there);
		assert_int_equal(before.contended, i + 1);
		sleep_seconds(0.02);
		give(r);
		done(&p);
		s = statistics_of(&r->there);
		assert_int_equal(s.contended, i + 1);
		assert_true(s.parks >= s.contended);
		assert_true(s.longest >= 10 * MS);
		assert_true(s.longest % 1000 == 0);
	}
	before.size = sizeof before - 1;
	GIVES(handoff_statistics(&r->there, &before), EINVAL);
	before.size = 0;
	GIVES(handoff_statistics(&r->there, &before), EINVAL);
}

static void waits_that_block_are_counted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++) {
		struct room *r = make(i, HANDOFF_WAIT_BLOCK, 0);

		count_blocked(r);
		end(r);
	}
}

/* They do not block: so the policies do what they say. */
static void waits_that_spin_or_yield_are_not_counted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++)
		for (unsigned policy = HANDOFF_WAIT_SPIN;
		     policy <= HANDOFF_WAIT_YIELD; policy++) {
			struct room *r = make(i, policy, UINT32_MAX);
			double began = seconds_now();
			struct process p = start_spinning("wait", "waits");

			give(r);
			done(&p);
			/* On a loaded machine the limit may be over. */
			if (seconds_now() - began < UINT32_MAX / 1e9)
				assert_nothing_noted(r);
			end(r);
		}
}

/* The limit is over: they block. */
static void waits_that_spin_or_yield_block_in_the_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++)
		for (unsigned policy = HANDOFF_WAIT_ADAPTIVE;
		     policy <= HANDOFF_WAIT_YIELD; policy++) {
			struct room *r = make(i, policy, 1000);
			struct process p = start_parked("wait", "waits");

			assert_int_equal(statistics_of(&r->there).contended, 1);
			give(r);
			done(&p);
			end(r);
		}
}

static void errno_is_never_changed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KINDS; i++) {
		const struct kind *kind = &kinds[i];
		union object plain;
		union object *o;

		KEPT(kind->open(&o, "errno", 0), ENOENT);
		KEPT(kind->open(&o, "errno", HANDOFF_CREATE), 0);
		KEPT(kind->give(o), 0);
		KEPT(kind->wait(o), 0);
		KEPT(kind->wait_until(o, handoff_after(2 * MS)), ETIMEDOUT);
		KEPT(handoff_close(o), 0);
		KEPT(handoff_unlink("errno"), HAS_FILES ? 0 : ENOTSUP);
		KEPT(kind->init(&plain, UINT32_MAX, 0), EINVAL);
		KEPT(kind->init(&plain, 0, 0), 0);
		KEPT(kind->destroy(&plain), 0);
		KEPT(kind->wait(&plain), EINVAL);
		KEPT(kind->give(&plain), EINVAL);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "late", part_late },
		{ "echo", part_echo },
		{ "handler", part_handler },
		{ "bombed", part_bombed },
		{ "named", part_named },
		{ "in place", part_in_place },
		{ "elsewhere", part_elsewhere },
		{ "forks", part_forks },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_wait_is_over_at_its_deadline_and_not_before),
		TEST(a_slices_end_does_not_end_a_wait),
		TEST(waiters_with_any_far_deadline_are_let_go),
		TEST(two_processes_hand_over_to_and_fro),
		SIGNAL_TEST(a_signal_handler_may_give),
		SIGNAL_TEST(a_signal_does_not_end_a_wait),
		TEST(a_name_leads_all_processes_to_one_object),
		FORK_TEST(it_works_in_plain_memory_and_by_two_addresses),
		TEST(a_segment_may_lie_elsewhere_in_each_process),
		FORK_TEST(a_child_of_fork_gives_and_waits),
		TEST(what_a_thread_waits_for_is_not_destroyed_or_closed),
		TEST(waits_that_block_are_counted),
		TEST(waits_that_spin_or_yield_are_not_counted),
		TEST(waits_that_spin_or_yield_block_in_the_end),
		TEST(errno_is_never_changed),
	};

	/* Each object says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("waits", tests, NULL, NULL));
}
