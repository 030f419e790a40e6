/* SPDX-License-Identifier: ISC */
/*
 * Who says how a wait is done: the environment, the thread, the process, the
 * object; and what handoff_thread_statistics() tells of it.
 */
#include "primitives.h"
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_END UINT32_MAX /* 4 s, which no wait here takes */
#define MOMENT 0.005
#define TRIES 20u

/* All objects say this, so that every other way is somebody else's. */
static const struct made as_made = { HANDOFF_WAIT_YIELD, NO_END };

static struct room *make(void)
{
	struct room *r = make_room("policy", &as_made);

	assert_non_null(r);
	return r;
}

static void end(struct room *r)
{
	close_room(r, "policy");
}

/* ---- What a wait did --------------------------------------------------- */

static struct handoff_thread_statistics before;

static void begin(void)
{
	before = done_so_far();
	CHECK(before.size != 0);
}

/* Since begin(): whether there was waiting of no other kind than this. */
static int only(unsigned policy)
{
	struct handoff_thread_statistics s = done_so_far();
	int spins = s.spins > before.spins;
	int yields = s.yields > before.yields;
	int parks = s.parks > before.parks;

	if (spins == (policy == HANDOFF_WAIT_SPIN) &&
	    yields == (policy == HANDOFF_WAIT_YIELD) &&
	    parks == (policy == HANDOFF_WAIT_BLOCK))
		return 1;
	fprintf(stderr, "policy %u: %d %d %d\n", policy, spins, yields, parks);
	return 0;
}

/* Whether a wait that nobody ends is done in this way. */
static int waits_so(struct room *r, unsigned policy)
{
	begin();
	RESULT(handoff_sem_wait_until(&r->sem, soon(MOMENT)), ETIMEDOUT);
	return only(policy);
}

/* ---- Every primitive --------------------------------------------------- */

static const struct {
	unsigned whose;
	unsigned policy;
	uint64_t limit;
	unsigned done; /* how it waits then */
} ways[] = {
	{ HANDOFF_PROCESS, HANDOFF_WAIT_BLOCK, 0, HANDOFF_WAIT_BLOCK },
	{ HANDOFF_PROCESS, HANDOFF_WAIT_SPIN, NO_END, HANDOFF_WAIT_SPIN },
	{ HANDOFF_PROCESS, HANDOFF_WAIT_AS_MADE, 0, HANDOFF_WAIT_YIELD },
	{ HANDOFF_THREAD, HANDOFF_WAIT_BLOCK, NO_END, HANDOFF_WAIT_BLOCK },
	{ HANDOFF_THREAD, HANDOFF_WAIT_SPIN, NO_END, HANDOFF_WAIT_SPIN },
	{ HANDOFF_THREAD, HANDOFF_WAIT_AS_MADE, 0, HANDOFF_WAIT_YIELD },
};
#define WAYS (sizeof ways / sizeof *ways)

/* A wait: whether there was one. */
static int wait_once(struct room *r, const struct primitive *it,
    unsigned policy)
{
	struct handoff_thread_statistics s;

	await("wait");
	begin();
	say("waits");
	OK(it->wait(r, soon(20)));
	s = done_so_far();
	CHECK(s.waits - before.waits <= it->steps);
	if (s.spins == before.spins && s.yields == before.yields &&
	    s.parks == before.parks)
		return 0;
	CHECK(s.waits > before.waits);
	CHECK(only(policy));
	return 1;
}

/* "name:primitive + PRIMITIVES * way" */
static int part_wait(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	unsigned way = n / PRIMITIVES;

	OK(handoff_set_policy(ways[way].whose, ways[way].policy,
	    ways[way].limit));
	do {
		atomic_store(&r->late,
		    !wait_once(r, &primitives[n % PRIMITIVES], ways[way].done));
		say("over");
	} while (atomic_load(&r->late));
	return 0;
}

/* Lets it wait until it has not come late to it, as on a loaded machine. */
static void one_waits(unsigned primitive, unsigned way)
{
	const struct primitive *it = &primitives[primitive];
	struct room *r = make();
	struct process p;
	char arg[64];
	unsigned tries = 0;

	snprintf(arg, sizeof arg, "policy:%u", primitive + PRIMITIVES * way);
	p = start("wait", arg);
	do {
		assert_true(tries++ < TRIES);
		if (it->hold)
			GIVES(it->hold(r), 0);
		tell(&p, "wait");
		expect(&p, "waits");
		sleep_seconds(MOMENT * tries);
		GIVES(it->let_go(r), 0);
		expect(&p, "over");
	} while (atomic_load(&r->late));
	GIVES(finish(&p), 0);
	end(r);
}

static void every_primitive_waits_as_was_set(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		for (unsigned way = 0; way < WAYS; way++)
			one_waits(i, way);
}

/* "name:primitive": what it wants is there, and then no more. */
static int part_find(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	OK(primitives[i].wait(r, soon(20)));
	CHECK(done_so_far().waits == 0);
	say("found");
	await("again");
	RESULT(primitives[i].wait(r, 0), ETIMEDOUT);
	CHECK(done_so_far().waits >= 1);
	CHECK(done_so_far().waits <= primitives[i].steps);
	CHECK(done_so_far().parks == 0);
	return 0;
}

static void one_finds(unsigned primitive)
{
	const struct primitive *it = &primitives[primitive];
	struct room *r = make();
	struct process p;
	char arg[64];

	snprintf(arg, sizeof arg, "policy:%u", primitive);
	if (it->hold)
		GIVES(it->hold(r), 0);
	GIVES(it->let_go(r), 0);
	p = start("find", arg);
	expect(&p, "found");
	if (it->hold)
		GIVES(it->hold(r), 0);
	tell(&p, "again");
	GIVES(finish(&p), 0);
	if (it->hold)
		GIVES(it->let_go(r), 0);
	end(r);
}

static void what_is_there_is_not_waited_for(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		if (!primitives[i].meets)
			one_finds(i);
}

/* ---- Precedence -------------------------------------------------------- */

static int part_precedence(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	CHECK(waits_so(r, HANDOFF_WAIT_YIELD));
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_SPIN, NO_END));
	CHECK(waits_so(r, HANDOFF_WAIT_SPIN));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_BLOCK, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_YIELD, NO_END));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_AS_MADE, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_YIELD));
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_BLOCK, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_AS_MADE, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_YIELD));
	return 0;
}

/* The environment says that all block. */
static int part_overruled(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_SPIN, NO_END));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_YIELD, NO_END));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_AS_MADE, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	return 0;
}

static void play(const char *part)
{
	struct room *r = make();
	struct process p = start(part, "policy");

	GIVES(finish(&p), 0);
	end(r);
}

static void the_thread_comes_before_the_process_and_the_object(void **state)
{
	(void)state;
	play("precedence");
}

static void the_environment_comes_first(void **state)
{
	(void)state;
	setenv("HANDOFF_WAIT", "block", 1);
	play("overruled");
	unsetenv("HANDOFF_WAIT");
}

/* ---- Limits ------------------------------------------------------------ */

static int part_limits(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	for (unsigned whose = HANDOFF_THREAD; whose <= HANDOFF_PROCESS;
	     whose++) {
		/* Over soon: it blocks for the rest. */
		OK(handoff_set_policy(whose, HANDOFF_WAIT_SPIN, 1000));
		begin();
		RESULT(handoff_sem_wait_until(&r->sem, soon(0.02)), ETIMEDOUT);
		CHECK(done_so_far().spins > before.spins);
		CHECK(done_so_far().parks > before.parks);
		/* 0: the default. */
		OK(handoff_set_policy(whose, HANDOFF_WAIT_YIELD, 0));
		begin();
		RESULT(handoff_sem_wait_until(&r->sem, soon(0.2)), ETIMEDOUT);
		CHECK(done_so_far().yields > before.yields);
		CHECK(done_so_far().parks > before.parks);
		OK(handoff_set_policy(whose, HANDOFF_WAIT_ADAPTIVE, 0));
		begin();
		RESULT(handoff_sem_wait_until(&r->sem, soon(0.02)), ETIMEDOUT);
		CHECK(done_so_far().parks > before.parks);
		OK(handoff_set_policy(whose, HANDOFF_WAIT_AS_MADE, 0));
		CHECK(waits_so(r, HANDOFF_WAIT_YIELD));
	}
	return 0;
}

static void a_limit_is_the_policys(void **state)
{
	(void)state;
	play("limits");
}

static int part_refuses(const char *arg)
{
	static const unsigned whose[] = { HANDOFF_THREAD, HANDOFF_PROCESS };
	struct room *r = join_room(arg, NULL);

	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_BLOCK, 0));
	for (int i = 0; i < 2; i++) {
		RESULT(handoff_set_policy(whose[i], HANDOFF_WAIT_AS_MADE + 1,
		           0),
		    EINVAL);
		RESULT(handoff_set_policy(whose[i], UINT32_MAX, 0), EINVAL);
		RESULT(handoff_set_policy(whose[i], HANDOFF_WAIT_SPIN,
		           (uint64_t)UINT32_MAX + 1),
		    EINVAL);
		RESULT(handoff_set_policy(whose[i], HANDOFF_WAIT_AS_MADE,
		           UINT64_MAX),
		    EINVAL);
	}
	RESULT(handoff_set_policy(2, HANDOFF_WAIT_SPIN, 0), EINVAL);
	RESULT(handoff_set_policy(UINT32_MAX, HANDOFF_WAIT_SPIN, 0), EINVAL);
	/* Nothing has changed. */
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	return 0;
}

static void what_is_no_policy_is_refused(void **state)
{
	struct handoff_sem_attr attr = { sizeof attr, 0, HANDOFF_WAIT_AS_MADE,
		0, 0 };
	handoff_sem sem;

	(void)state;
	play("refuses");
	/* It is no attribute. */
	GIVES(handoff_sem_init(&sem, 0, &attr), EINVAL);
}

/* ---- Threads ----------------------------------------------------------- */

struct other {
	struct room *r;
	unsigned policy; /* how it is to wait at first */
};

/* Another thread's own policy is none of its business, nor its own theirs. */
static void *other_thread(void *arg)
{
	const struct other *o = arg;
	struct handoff_thread_statistics s = done_so_far();

	CHECK(s.size != 0 && s.waits == 0 && s.spins == 0 && s.yields == 0 &&
	    s.parks == 0);
	RESULT(handoff_sem_wait_until(&o->r->sem, soon(MOMENT)), ETIMEDOUT);
	s = done_so_far();
	CHECK(s.waits == 1);
	CHECK((s.spins > 0) == (o->policy == HANDOFF_WAIT_SPIN));
	CHECK((s.yields > 0) == (o->policy == HANDOFF_WAIT_YIELD));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_SPIN, NO_END));
	return NULL;
}

static void run_other(struct room *r, unsigned policy)
{
	struct other o = { r, policy };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, other_thread, &o) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static int part_threads(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_BLOCK, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	run_other(r, HANDOFF_WAIT_YIELD);
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	CHECK(done_so_far().waits == 2);
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_SPIN, NO_END));
	run_other(r, HANDOFF_WAIT_SPIN);
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	return 0;
}

static void a_threads_policy_and_statistics_are_its_own(void **state)
{
	(void)state;
	play("threads");
}

/* ---- Children ---------------------------------------------------------- */

/* The process's policy goes on in the child, what was the thread's does not. */
static int part_forks(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	struct handoff_thread_statistics s;
	pid_t child;

	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_SPIN, NO_END));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_BLOCK, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	child = fork();
	if (child == 0) {
		s = done_so_far();
		CHECK(s.size != 0 && s.waits == 0 && s.spins == 0 &&
		    s.yields == 0 && s.parks == 0);
		CHECK(waits_so(r, HANDOFF_WAIT_SPIN));
		OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_AS_MADE,
		    0));
		CHECK(waits_so(r, HANDOFF_WAIT_YIELD));
		CHECK(done_so_far().waits == 2);
		_exit(0);
	}
	join_child(child);
	CHECK(done_so_far().waits == 1);
	CHECK(waits_so(r, HANDOFF_WAIT_BLOCK));
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_AS_MADE, 0));
	CHECK(waits_so(r, HANDOFF_WAIT_SPIN));
	return 0;
}

static void a_child_has_the_policy_of_its_parents_process(void **state)
{
	(void)state;
	play("forks");
}

static void statistics_of_another_size_are_refused(void **state)
{
	struct handoff_thread_statistics s = { .size = sizeof s - 1,
		.waits = 4711 };

	(void)state;
	GIVES(handoff_thread_statistics(NULL), EINVAL);
	GIVES(handoff_thread_statistics(&s), EINVAL);
	s.size = 0;
	GIVES(handoff_thread_statistics(&s), EINVAL);
	s.size = sizeof s + 1;
	GIVES(handoff_thread_statistics(&s), EINVAL);
	assert_int_equal(s.waits, 4711);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "find", part_find },
		{ "precedence", part_precedence },
		{ "overruled", part_overruled },
		{ "limits", part_limits },
		{ "refuses", part_refuses },
		{ "threads", part_threads },
		{ "forks", part_forks },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_primitive_waits_as_was_set),
		TEST(what_is_there_is_not_waited_for),
		TEST(the_thread_comes_before_the_process_and_the_object),
		TEST(the_environment_comes_first),
		TEST(a_limit_is_the_policys),
		TEST(what_is_no_policy_is_refused),
		TEST(a_threads_policy_and_statistics_are_its_own),
		FORK_TEST(a_child_has_the_policy_of_its_parents_process),
		TEST(statistics_of_another_size_are_refused),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	/* Not before: a part may have been given it. */
	unsetenv("HANDOFF_WAIT");
	return processes_end(
	    cmocka_run_group_tests_name("policy", tests, NULL, NULL));
}
