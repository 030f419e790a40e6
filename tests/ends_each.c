/* SPDX-License-Identifier: ISC */
/*
 * A thread that ends, and a process that executes another program, while they
 * hold an object of any kind or wait for one.
 */
#define _GNU_SOURCE
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOUND 5.0 /* s; a slice is 1.25 at the most */

static struct room *make(void)
{
	struct room *r = make_room("ends", NULL);

	assert_non_null(r);
	return r;
}

static struct process start_with(const char *part, unsigned n)
{
	char arg[64];

	snprintf(arg, sizeof arg, "ends:%u", n);
	return start(part, arg);
}

/* "name:primitive": says what the wait ended with. */
static int part_wait(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	say("waits");
	say(handoff_strerror(primitives[i].wait(r, soon(BOUND))));
	return 0;
}

static void gets(struct process *p, unsigned i, int result)
{
	if (!says_within(p, 2 * BOUND))
		fail_msg("%s: no result", primitives[i].name);
	says(p, result);
	GIVES(finish(p), 0);
}

/* ---- The end of a thread ------------------------------------------------- */

struct holder {
	struct room *r;
	unsigned i;
	unsigned how;
	_Atomic int holds;
	_Atomic int ends;
	int result;
};

enum { RETURNS, EXITS, CANCELLED, HOWS };

static void *hold(void *arg)
{
	struct holder *h = arg;

	h->result = primitives[h->i].hold(h->r);
	h->holds = 1;
	while (!h->ends || h->how == CANCELLED)
		sleep_seconds(0.001);
	if (h->how == EXITS)
		pthread_exit(NULL);
	return NULL;
}

/* "name:primitive + PRIMITIVES * how": its thread ends, it lives on. */
static int part_thread(const char *arg)
{
	struct holder h = { .holds = 0 };
	pthread_t thread;

	h.r = join_room(arg, &h.i);
	h.how = h.i / PRIMITIVES;
	h.i %= PRIMITIVES;
	CHECK(pthread_create(&thread, NULL, hold, &h) == 0);
	while (!h.holds)
		sleep_seconds(0.001);
	say("holds");
	await("end");
	h.ends = 1;
	if (h.how == CANCELLED)
		CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	OK(h.result);
	say("ended");
	await("let go");
	/* What the thread held was not ours; a turn is the process's. */
	RESULT(primitives[h.i].let_go(h.r), primitives[h.i].owned ? EPERM : 0);
	return 0;
}

/* What a thread owned is told of; a turn is its process's, and stays so. */
static void a_thread_ends(unsigned i, unsigned how, int parked)
{
	struct room *r = make();
	struct process p = start_with("thread", i + PRIMITIVES * how);
	struct process w = { 0 };

	expect(&p, "holds");
	if (parked) {
		w = start_with("wait", i);
		expect(&w, "waits");
		until_asleep(w.pid);
	}
	tell(&p, "end");
	expect(&p, "ended");
	if (!parked) {
		w = start_with("wait", i);
		expect(&w, "waits");
	}
	if (primitives[i].owned) {
		gets(&w, i, EOWNERDEAD);
		tell(&p, "let go");
	} else {
		assert_false(says_within(&w, 0.02));
		tell(&p, "let go");
		gets(&w, i, 0);
	}
	GIVES(finish(&p), 0);
	close_room(r, "ends");
}

static void a_thread_that_ends_gives_back_what_it_owned(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		if (!primitives[i].hold)
			continue;
		for (unsigned how = 0; how < HOWS; how++)
			a_thread_ends(i, how, 0);
	}
}

/* Who is parked when it ends is woken. */
static void its_end_wakes_who_waits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		if (primitives[i].hold)
			a_thread_ends(i, RETURNS, 1);
}

/* In plain memory it stays held, and may be gone before the thread is. */
static void *hold_plain(void *arg)
{
	struct room *r = arg;

	for (unsigned i = 0; i < PRIMITIVES; i++)
		if (primitives[i].hold && i != AT_READ)
			OK(primitives[i].hold(r));
	return NULL;
}

static void *hold_and_unmap(void *arg)
{
	hold_plain(arg);
	CHECK(munmap(arg, sizeof(struct room)) == 0);
	return NULL;
}

static int part_plain(const char *arg)
{
	struct room *kept = shared_pages(sizeof *kept);
	struct room *gone = shared_pages(sizeof *gone);
	pthread_t thread;

	(void)arg;
	OK(fill_room(kept, sizeof *kept, NULL));
	OK(fill_room(gone, sizeof *gone, NULL));
	CHECK(pthread_create(&thread, NULL, hold_plain, kept) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, hold_and_unmap, gone) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	for (unsigned i = 0; i < PRIMITIVES; i++)
		if (primitives[i].owned)
			RESULT(primitives[i].wait(kept, soon(0.02)), ETIMEDOUT);
	return 0;
}

static void in_plain_memory_it_stays_held(void **state)
{
	struct process p = start("plain", "");

	(void)state;
	GIVES(finish(&p), 0);
}

static void *hold_and_overwrite(void *arg)
{
	struct room *r = arg;

	OK(handoff_mutex_lock(&r->mutex));
	OK(handoff_rwlock_rdlock(&r->rwlock));
	memset(&r->mutex, 0x55, sizeof r->mutex);
	memset(&r->rwlock, 0x55, sizeof r->rwlock);
	return NULL;
}

static int is_overwritten(const void *object, size_t bytes)
{
	const unsigned char *at = object;

	for (size_t i = 0; i < bytes; i++)
		if (at[i] != 0x55)
			return 0;
	return 1;
}

/* "name" */
static int part_overwrites(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, hold_and_overwrite, r) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(is_overwritten(&r->mutex, sizeof r->mutex));
	CHECK(is_overwritten(&r->rwlock, sizeof r->rwlock));
	return 0;
}

static void what_is_there_no_more_is_not_written_to(void **state)
{
	struct room *r = make();
	struct process p = start("overwrites", "ends");

	(void)state;
	GIVES(finish(&p), 0);
	close_room(r, "ends");
}

/* ---- Another program ----------------------------------------------------- */

static void execute(void)
{
	execl("/proc/self/exe", "ends_each", "--part", "stays", (char *)NULL);
	_exit(120);
}

/* The other program: it lives as long as it may. */
static int part_stays(const char *arg)
{
	(void)arg;
	say("executed");
	linger();
	return 0;
}

/* "name:primitive" */
static int part_hold_and_execute(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	OK(primitives[i].hold(r));
	say("holds");
	await("execute");
	execute();
	return 1;
}

static void what_it_held_is_told_of(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make();
		struct process p;
		struct process w;

		if (!primitives[i].hold) {
			close_room(r, "ends");
			continue;
		}
		p = start_with("hold and execute", i);
		expect(&p, "holds");
		w = start_with("wait", i);
		expect(&w, "waits");
		until_asleep(w.pid);
		assert_false(says_within(&w, 0.01));
		tell(&p, "execute");
		expect(&p, "executed");
		gets(&w, i, primitives[i].told);
		kill_hard(&p);
		close_room(r, "ends");
	}
}

static void *wait_in_thread(void *arg)
{
	struct holder *h = arg;

	h->holds = 1;
	h->result = primitives[h->i].wait(h->r, soon(20));
	return NULL;
}

/* "name:primitive": one of its threads waits. */
static int part_wait_and_execute(const char *arg)
{
	struct holder h = { .holds = 0 };
	pthread_t thread;

	h.r = join_room(arg, &h.i);
	CHECK(pthread_create(&thread, NULL, wait_in_thread, &h) == 0);
	while (!h.holds)
		sleep_seconds(0.001);
	say("waits");
	await("execute");
	execute();
	return 1;
}

/* What the waiter left behind takes nothing from the next one. */
static void waits_and_executes(unsigned i)
{
	const struct primitive *it = &primitives[i];
	int party = it->told != 0 && !it->owned;
	struct room *r = make();
	struct process p;
	struct process w = { 0 };

	if (it->hold)
		GIVES(it->hold(r), 0);
	p = start_with("wait and execute", i);
	expect(&p, "waits");
	until_asleep(p.pid);
	if (!party) {
		w = start_with("wait", i);
		expect(&w, "waits");
		until_asleep(w.pid);
	}
	tell(&p, "execute");
	expect(&p, "executed");
	GIVES(it->let_go(r), 0);
	if (i == AT_BARRIER) /* it had come this time */
		GIVES(it->let_go(r), it->told);
	if (!party)
		gets(&w, i, 0);
	kill_hard(&p);
	close_room(r, "ends");
}

static void what_it_waited_for_is_had_by_others(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		waits_and_executes(i);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "thread", part_thread },
		{ "plain", part_plain },
		{ "overwrites", part_overwrites },
		{ "stays", part_stays },
		{ "hold and execute", part_hold_and_execute },
		{ "wait and execute", part_wait_and_execute },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_thread_that_ends_gives_back_what_it_owned),
		TEST(its_end_wakes_who_waits),
		TEST(in_plain_memory_it_stays_held),
		TEST(what_is_there_no_more_is_not_written_to),
		TEST(what_it_held_is_told_of),
		TEST(what_it_waited_for_is_had_by_others),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(
	    cmocka_run_group_tests_name("ends_each", tests, NULL, NULL));
}
