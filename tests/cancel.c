/* SPDX-License-Identifier: ISC */
/*
 * handoff(7), no call is a cancellation point: a thread that is cancelled ends
 * after the call that it is in, and what that call was to do has been done.
 */
#define _GNU_SOURCE
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CREATE HANDOFF_CREATE

static struct room *make(unsigned policy)
{
	const struct made made = { policy, 0 };
	struct room *r = make_room("cancel", &made);

	assert_non_null(r);
	return r;
}

/* ---- While it waits ------------------------------------------------------ */

struct waiter {
	struct room *r;
	const struct primitive *it;
	_Atomic int waits;
	int result;
	int after; /* the wait has returned */
};

static void *wait_in_thread(void *arg)
{
	struct waiter *w = arg;

	w->result = -1;
	w->waits = 1;
	w->result = w->it->wait(w->r, soon(20));
	w->after = 1;
	pthread_testcancel();
	w->after = 2;
	return NULL;
}

/* "name:primitive" */
static int part_cancel(const char *arg)
{
	unsigned i;
	struct waiter w = { .r = join_room(arg, &i) };
	pthread_t thread;
	void *result;

	w.it = &primitives[i];
	CHECK(pthread_create(&thread, NULL, wait_in_thread, &w) == 0);
	while (!w.waits)
		sched_yield();
	sleep_seconds(0.005);
	CHECK(pthread_cancel(thread) == 0);
	say("cancelled");
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	OK(w.result);
	CHECK(w.after == 1);
	return 0;
}

static void one_that_waits(unsigned i, unsigned policy)
{
	const struct primitive *it = &primitives[i];
	struct room *r = make(policy);
	struct process p;
	char arg[64];

	if (it->hold)
		GIVES(it->hold(r), 0);
	snprintf(arg, sizeof arg, "cancel:%u", i);
	p = start("cancel", arg);
	expect(&p, "cancelled");
	sleep_seconds(0.005);
	GIVES(it->let_go(r), 0);
	GIVES(finish(&p), 0);
	/* Nothing is held, nobody waits. */
	if (it->told == 0 || it->owned) {
		GIVES(it->wait(r, 0), it->owned ? 0 : ETIMEDOUT);
		GIVES(it->destroy((unsigned char *)r + it->object), 0);
	}
	close_room(r, "cancel");
}

static void one_that_waits_gets_what_it_waits_for(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		one_that_waits(i, HANDOFF_WAIT_ADAPTIVE);
		one_that_waits(i, HANDOFF_WAIT_BLOCK);
	}
}

/* ---- Before the call ----------------------------------------------------- */

/* What one thread does, which has been cancelled already; in a process of its
 * own, so that all that is done once is done here. */
static void init_all(struct room *r)
{
	static struct room plain;

	(void)r;
	OK(fill_room(&plain, sizeof plain, NULL));
}

static void open_and_close(struct room *r)
{
	struct handoff_info info = { .size = sizeof info };
	handoff_sem *sem;

	(void)r;
	OK(handoff_sem_open(&sem, "pending", CREATE, 0600, 1, NULL));
	OK(handoff_sem_open(&sem, "pending", 0, 0, 1, NULL));
	OK(handoff_info(sem, &info));
	OK(handoff_close(sem));
	OK(handoff_close(sem));
	OK(handoff_unlink("pending"));
	RESULT(handoff_sem_open(&sem, "pending", 0, 0, 1, NULL), ENOENT);
}

static int ignore_peer(const struct handoff_peer *peer, void *ctx)
{
	(void)peer;
	(void)ctx;
	return 0;
}

static int ignore_name(const char *name, uint32_t kind, uint64_t bytes,
    void *ctx)
{
	(void)name;
	(void)kind;
	(void)bytes;
	(void)ctx;
	return 0;
}

static void list(struct room *r)
{
	OK(handoff_list(ignore_name, NULL));
	OK(handoff_peers(r, ignore_peer, NULL));
}

static void yield_for_a_while(struct room *r)
{
	uint64_t end = soon(0.02);

	(void)r;
	for (unsigned i = 0; handoff_now() < end; i++)
		handoff_yield(i);
}

static void set_policy(struct room *r)
{
	(void)r;
	OK(handoff_set_policy(HANDOFF_THREAD, HANDOFF_WAIT_SPIN, 0));
	OK(handoff_set_policy(HANDOFF_PROCESS, HANDOFF_WAIT_SPIN, 0));
}

static void (*const calls[])(struct room *r) = { init_all, open_and_close, list,
	yield_for_a_while, set_policy };
#define CALLS (sizeof calls / sizeof *calls)

struct pending {
	struct room *r;
	unsigned call;
	int done;
};

/* The parent holds it on this very CPU: so it also looks who else would run. */
static void *call_cancelled(void *arg)
{
	struct pending *p = arg;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
	if (p->call < CALLS)
		calls[p->call](p->r);
	else
		for (int i = 0; i < 3; i++)
			RESULT(primitives[p->call - CALLS].wait(p->r,
			           soon(0.01)),
			    ETIMEDOUT);
	p->done = 1;
	pthread_testcancel();
	p->done = 2;
	return NULL;
}

/* "name:call" */
static int part_pending(const char *arg)
{
	struct pending p = { .done = 0 };
	pthread_t thread;
	void *result;

	p.r = join_room(arg, &p.call);
	CHECK(pthread_create(&thread, NULL, call_cancelled, &p) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK(p.done == 1);
	return 0;
}

static void pending(unsigned call)
{
	const struct primitive *it = call < CALLS ? NULL :
	                                            &primitives[call - CALLS];
	struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
	struct process p;
	char arg[64];

	if (it && it->hold)
		GIVES(it->hold(r), 0);
	snprintf(arg, sizeof arg, "cancel:%u", call);
	p = start("pending", arg);
	if (finish(&p) != 0)
		fail_msg("%s %u", it ? it->name : "call", call);
	if (it && it->hold)
		GIVES(it->let_go(r), 0);
	close_room(r, "cancel");
}

static void one_that_was_cancelled_before_does_what_it_is_told(void **state)
{
	cpu_set_t before;
	cpu_set_t one;

	(void)state;
	GIVES(sched_getaffinity(0, sizeof before, &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	GIVES(sched_setaffinity(0, sizeof one, &one), 0);
	for (unsigned i = 0; i < CALLS + PRIMITIVES; i++)
		pending(i);
	GIVES(sched_setaffinity(0, sizeof before, &before), 0);
}

/* A setting that is no policy is told of at the first wait. */
static void nor_does_a_warning_end_it(void **state)
{
	(void)state;
	setenv("HANDOFF_WAIT", "nonsense", 1);
	pending(CALLS + AT_SEM);
	unsetenv("HANDOFF_WAIT");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "cancel", part_cancel },
		{ "pending", part_pending },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_that_waits_gets_what_it_waits_for),
		TEST(one_that_was_cancelled_before_does_what_it_is_told),
		TEST(nor_does_a_warning_end_it),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("cancel", tests, NULL, NULL));
}
