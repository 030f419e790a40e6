/* SPDX-License-Identifier: ISC */
/*
 * A signal every 100 us, with a handler that has calls of the system restarted
 * or not, ends no wait, makes none much longer, and lets nobody in where
 * somebody is (G44).  Each of them for all that one can wait for and in each
 * policy.
 *
 *   STRESS_SECONDS  about how long (8)
 */
#define _GNU_SOURCE
#include "primitives.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define EVERY_US 100
#define SPAN 0.02    /* s, of a wait that ends by its deadline */
#define LATE 1.0     /* s, too late on any machine */
#define PAUSE 0.004  /* s, before a wait is ended */
#define CROWD 3u     /* processes that exclude each other */
#define CROWDED 0.06 /* s of that */
#define POLICIES 4u
#define NOMINAL 8.0 /* s for all of it, each once */

/* ---- Being bombed -------------------------------------------------------- */

static volatile sig_atomic_t bombs;

static void count_bomb(int signal)
{
	(void)signal;
	bombs++;
}

static void be_bombed(int restart)
{
	struct itimerval every = { { 0, EVERY_US }, { 0, EVERY_US } };
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = count_bomb;
	action.sa_flags = restart ? SA_RESTART : 0;
	sigemptyset(&action.sa_mask);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static double longer(double otherwise)
{
	const char *text = getenv("STRESS_SECONDS");
	double seconds = text ? strtod(text, NULL) : 0;

	return seconds > 0 ? otherwise * seconds / NOMINAL : otherwise;
}

static unsigned rounds(void)
{
	return (unsigned)longer(1) + 1;
}

/* ---- Waiting ------------------------------------------------------------- */

/* Nobody ends it but the deadline. */
static void wait_in_vain(const struct primitive *p, struct room *r)
{
	uint64_t deadline = soon(SPAN);
	int before = bombs;

	RESULT(p->wait(r, deadline), ETIMEDOUT);
	CHECK(handoff_now() >= deadline);
	CHECK(handoff_now() < deadline + (uint64_t)(LATE * 1e9));
	CHECK(bombs > before);
}

/* Each thing in its turn, as the parent makes it. */
static int part_waits(const char *arg)
{
	unsigned restart;
	struct room *r = join_room(arg, &restart);

	be_bombed(restart != 0);
	for (unsigned i = 0; i < PRIMITIVES; i++)
		for (unsigned k = rounds(); k > 0; k--) {
			unsigned given = atomic_load(&r->given);

			await("held");
			wait_in_vain(&primitives[i], r);
			say("waits");
			OK(primitives[i].wait(r, HANDOFF_NEVER));
			CHECK(atomic_load(&r->given) == given + 1);
			say("had");
		}
	return 0;
}

static void lead(struct room *r, struct process *p)
{
	for (unsigned i = 0; i < PRIMITIVES; i++)
		for (unsigned k = rounds(); k > 0; k--) {
			if (primitives[i].hold)
				assert_int_equal(primitives[i].hold(r), 0);
			tell(p, "held");
			expect(p, "waits");
			sleep_seconds(PAUSE);
			atomic_fetch_add(&r->given, 1);
			assert_int_equal(primitives[i].let_go(r), 0);
			expect(p, "had");
		}
}

/* Spinning and yielding do not end in blocking. */
static struct room *make(unsigned policy)
{
	const struct made made = { policy,
		policy == HANDOFF_WAIT_SPIN || policy == HANDOFF_WAIT_YIELD ?
		    UINT32_MAX :
		    0 };
	struct room *r = make_room("bombed", &made);

	assert_non_null(r);
	return r;
}

/* G44 */
static void no_wait_is_ended_or_stretched_by_signals(void **state)
{
	(void)state;
	for (unsigned policy = 0; policy < POLICIES; policy++)
		for (unsigned restart = 0; restart < 2; restart++) {
			struct room *r = make(policy);
			struct process p = start("waits",
			    restart ? "bombed:1" : "bombed:0");

			lead(r, &p);
			assert_int_equal(finish(&p), 0);
			close_room(r, "bombed");
		}
}

/* ---- Exclusion ----------------------------------------------------------- */

struct lock {
	int (*lock)(struct room *r);
	int (*unlock)(struct room *r);
	int (*ready)(struct room *r); /* so that the first can come in */
};

static int no_more(struct room *r)
{
	(void)r;
	return 0;
}

static int lock_mutex(struct room *r)
{
	return handoff_mutex_lock(&r->mutex);
}

static int unlock_mutex(struct room *r)
{
	return handoff_mutex_unlock(&r->mutex);
}

static int lock_rwlock(struct room *r)
{
	return handoff_rwlock_wrlock(&r->rwlock);
}

static int unlock_rwlock(struct room *r)
{
	return handoff_rwlock_wrunlock(&r->rwlock);
}

static int lock_sem(struct room *r)
{
	return handoff_sem_wait(&r->sem);
}

static int unlock_sem(struct room *r)
{
	return handoff_sem_post(&r->sem, 1);
}

static int lock_event(struct room *r)
{
	return handoff_event_wait(&r->event);
}

static int unlock_event(struct room *r)
{
	return handoff_event_set(&r->event);
}

static int lock_any(struct room *r)
{
	struct handoff_item items[] = { { &r->sem, 0 }, { &r->event, 0 } };

	return handoff_wait_any(items, 2, NULL);
}

static int lock_by_cond(struct room *r)
{
	int e = handoff_mutex_lock(&r->beside);

	while (e == 0 && !r->ready)
		e = handoff_cond_wait(&r->cond, &r->beside);
	r->ready = 0;
	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int unlock_by_cond(struct room *r)
{
	int e = handoff_mutex_lock(&r->beside);

	r->ready = 1;
	if (e == 0)
		e = handoff_cond_signal(&r->cond);
	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int lock_word(struct room *r)
{
	uint32_t free = 1;
	int e = 0;

	while (
	    e == 0 && !handoff_word32_compare_exchange(&r->word32, &free, 0)) {
		e = handoff_word32_wait(&r->word32, 0);
		free = 1;
	}
	return e;
}

static int unlock_word(struct room *r)
{
	handoff_word32_store(&r->word32, 1);
	return handoff_word32_wake(&r->word32, 1);
}

static const struct lock locks[] = {
	{ lock_mutex, unlock_mutex, no_more },
	{ lock_rwlock, unlock_rwlock, no_more },
	{ lock_sem, unlock_sem, unlock_sem },
	{ lock_event, unlock_event, unlock_event },
	{ lock_any, unlock_event, unlock_event },
	{ lock_by_cond, unlock_by_cond, unlock_by_cond },
	{ lock_word, unlock_word, unlock_word },
};
#define LOCKS (sizeof locks / sizeof *locks)

static void go_in(const struct lock *l, struct room *r)
{
	OK(l->lock(r));
	CHECK(atomic_fetch_add(&r->inside, 1) == 0);
	r->count = r->count + 1;
	if (r->count % 64 == 0)
		sched_yield();
	CHECK(atomic_fetch_sub(&r->inside, 1) == 1);
	OK(l->unlock(r));
}

/* `number`: which lock, and whether to restart. */
static int part_crowd(const char *arg)
{
	unsigned number;
	struct room *r = join_room(arg, &number);
	const struct lock *l = &locks[number / 2];
	double since;
	unsigned times = 0;
	char said[16];

	say("ready");
	await("go");
	since = seconds_now();
	be_bombed(number % 2 != 0);
	while (seconds_now() < since + longer(CROWDED)) {
		go_in(l, r);
		times++;
	}
	CHECK(bombs > 0);
	snprintf(said, sizeof said, "%u", times);
	say(said);
	await("end");
	return 0;
}

static unsigned times_of(struct process *p)
{
	FILE *f = fdopen(dup(p->from), "r");
	unsigned n = 0;

	assert_non_null(f);
	assert_true(says_within(p, 10 + longer(CROWDED)));
	assert_int_equal(fscanf(f, "%u", &n), 1);
	fclose(f);
	return n;
}

static unsigned crowd(unsigned policy, unsigned number)
{
	struct room *r = make(policy);
	struct process p[CROWD];
	unsigned times = 0;
	char arg[32];

	snprintf(arg, sizeof arg, "bombed:%u", number);
	for (unsigned i = 0; i < CROWD; i++) {
		p[i] = start("crowd", arg);
		expect(&p[i], "ready");
	}
	assert_int_equal(locks[number / 2].ready(r), 0);
	for (unsigned i = 0; i < CROWD; i++)
		tell(&p[i], "go");
	for (unsigned i = 0; i < CROWD; i++)
		times += times_of(&p[i]);
	for (unsigned i = 0; i < CROWD; i++) {
		tell(&p[i], "end");
		assert_int_equal(finish(&p[i]), 0);
	}
	assert_int_equal(r->count, times);
	close_room(r, "bombed");
	return times;
}

/* G44 */
static void signals_let_nobody_in_where_somebody_is(void **state)
{
	unsigned times = 0;

	(void)state;
	for (unsigned policy = 0; policy < POLICIES; policy++)
		for (unsigned i = 0; i < 2 * LOCKS; i++) {
			unsigned now = crowd(policy, i);

			assert_true(now >= 10);
			times += now;
		}
	print_message("%u times inside\n", times);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "waits", part_waits },
		{ "crowd", part_crowd },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(no_wait_is_ended_or_stretched_by_signals),
		TEST(signals_let_nobody_in_where_somebody_is),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120 + (unsigned)(4 * longer(15)));
	return processes_end(
	    cmocka_run_group_tests_name("bombed", tests, NULL, NULL));
}
