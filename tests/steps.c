/* SPDX-License-Identifier: ISC */
/*
 * Killed at every instruction (G03, G05, G09): a victim is led through one
 * call, step by step, and killed after the n-th, for n = 1, 2, ... until the
 * call is over.  After each death who waits gets on, the next one is told at
 * most once, and everything works.
 *
 * STEPS=1 takes every n, STEPS=3 every third; else some 12 of each call, others
 * each time.  An argument selects tests by a pattern.
 */
#define _GNU_SOURCE
#include "sanitized.h"
#include "stepping.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A sanitizer makes each call ten times as many steps. */
#ifdef SANITIZED
#define RUNS 2u
#else
#define RUNS 12u
#endif

/* ---- What is called ------------------------------------------------------ */

static int known_at_barrier(struct room *r)
{
	return handoff_barrier_wait_until(&r->barrier, NULL, 0) % ETIMEDOUT;
}

static int known_as_party(struct room *r)
{
	return handoff_baton_trywait(&r->baton, 1) % EBUSY;
}

/* So that what follows is not its first call. */
static int known(struct room *r)
{
	int e = handoff_mutex_lock(&r->beside);

	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int with_mutex(struct room *r)
{
	return handoff_mutex_lock(&r->mutex);
}

static int with_beside(struct room *r)
{
	return handoff_mutex_lock(&r->beside);
}

static int with_item(struct room *r)
{
	int e = with_beside(r);

	r->ready = 1;
	return e;
}

static int with_item_unlocked(struct room *r)
{
	int e = with_item(r);

	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int with_write(struct room *r)
{
	return handoff_rwlock_wrlock(&r->rwlock);
}

static int with_read(struct room *r)
{
	return handoff_rwlock_rdlock(&r->rwlock);
}

static int with_turn(struct room *r)
{
	return handoff_baton_wait(&r->baton, 0);
}

static int with_post(struct room *r)
{
	int e = known(r);

	return e != 0 ? e : handoff_sem_post(&r->sem, 1);
}

static int with_set(struct room *r)
{
	int e = known(r);

	return e != 0 ? e : handoff_event_set(&r->event);
}

static int unlock(struct room *r)
{
	return handoff_mutex_unlock(&r->mutex);
}

/* An owner has died. */
static int recover(struct room *r)
{
	return handoff_mutex_lock(&r->mutex) == EOWNERDEAD ? 0 : -1;
}

static int was_told(struct room *r)
{
	return recover(r);
}

static int mend(struct room *r)
{
	return handoff_mutex_consistent(&r->mutex);
}

static int recover_to_read(struct room *r)
{
	return handoff_rwlock_rdlock(&r->rwlock) == EOWNERDEAD ? 0 : -1;
}

static int was_told_to_read(struct room *r)
{
	return recover_to_read(r);
}

static int mend_to_read(struct room *r)
{
	return handoff_rwlock_consistent(&r->rwlock);
}

static int write_unlock(struct room *r)
{
	return handoff_rwlock_wrunlock(&r->rwlock);
}

static int read_unlock(struct room *r)
{
	return handoff_rwlock_rdunlock(&r->rwlock);
}

static int downgrade(struct room *r)
{
	return handoff_rwlock_downgrade(&r->rwlock);
}

static int post(struct room *r)
{
	return handoff_sem_post(&r->sem, 1);
}

static int wait_sem(struct room *r)
{
	return handoff_sem_wait(&r->sem);
}

static int set(struct room *r)
{
	return handoff_event_set(&r->event);
}

static int wait_event(struct room *r)
{
	return handoff_event_wait(&r->event);
}

static int wake(struct room *r)
{
	handoff_word32_store(&r->word32, 1);
	return handoff_word32_wake(&r->word32, 1);
}

static int wait_word(struct room *r)
{
	return handoff_word32_wait(&r->word32, 0);
}

static int signal_naked(struct room *r)
{
	return handoff_cond_signal(&r->cond);
}

static int signal_and_unlock(struct room *r)
{
	int e = handoff_cond_signal(&r->cond);

	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int broadcast_and_unlock(struct room *r)
{
	int e = handoff_cond_broadcast(&r->cond);

	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int wait_cond(struct room *r)
{
	return handoff_cond_wait(&r->cond, &r->beside);
}

static int pass(struct room *r)
{
	return handoff_baton_pass(&r->baton, 1);
}

static int pass_and_wait(struct room *r)
{
	return handoff_baton_switch(&r->baton, 0, 1);
}

static int wait_turn(struct room *r)
{
	return handoff_baton_wait(&r->baton, 1);
}

static int meet(struct room *r)
{
	return handoff_barrier_wait(&r->barrier, NULL);
}

static int wait_any(struct room *r)
{
	struct handoff_item items[] = { { &r->sem, 0 }, { &r->event, 0 },
		{ &r->word32, 0 } };

	return handoff_wait_any(items, 3, NULL);
}

/* ---- Nobody else, then others -------------------------------------------- */

static const struct call calls[] = {
	{ "lock", known, with_mutex, ALONE, AT_MUTEX },
	{ "unlock", with_mutex, unlock, ALONE, AT_MUTEX },
	{ "wrlock", known, with_write, ALONE, AT_WRITE },
	{ "wrunlock", with_write, write_unlock, ALONE, AT_WRITE },
	{ "rdlock", known, with_read, ALONE, AT_WRITE },
	{ "rdunlock", with_read, read_unlock, ALONE, AT_WRITE },
	{ "downgrade", with_write, downgrade, ALONE, AT_WRITE },
	{ "post", known, post, ALONE, AT_SEM },
	{ "sem_wait", with_post, wait_sem, ALONE, AT_SEM },
	{ "set", known, set, ALONE, AT_EVENT },
	{ "event_wait", with_set, wait_event, ALONE, AT_EVENT },
	{ "wake", known, wake, ALONE, AT_WORD32 },
	{ "signal, unlock", with_item, signal_and_unlock, ALONE, AT_COND },
	{ "pass", with_turn, pass, ALONE, AT_BATON },
	{ "baton_wait", known, with_turn, ALONE, AT_BATON },

	{ "recover", known, recover, DEAD, AT_MUTEX },
	{ "consistent", was_told, mend, DEAD, AT_MUTEX },
	{ "recover to read", known, recover_to_read, DEAD, AT_WRITE },
	{ "consistent to read", was_told_to_read, mend_to_read, DEAD,
	    AT_WRITE },

	{ "lock, held", known, with_mutex, HELD, AT_MUTEX },
	{ "wrlock, held", known, with_write, HELD, AT_WRITE },
	{ "wrlock, read", known, with_write, READ, AT_WRITE },
	{ "rdlock, held", known, with_read, HELD, AT_READ },
	{ "sem_wait, empty", known, wait_sem, HELD, AT_SEM },
	{ "event_wait, not set", known, wait_event, HELD, AT_EVENT },
	{ "word_wait", known, wait_word, HELD, AT_WORD32 },
	{ "cond_wait", with_beside, wait_cond, HELD, AT_COND },
	{ "baton_wait, not in turn", known_as_party, wait_turn, HELD,
	    AT_BATON },
	{ "barrier_wait, first", known_at_barrier, meet, HELD, AT_BARRIER },
	{ "wait_any", known, wait_any, HELD, AT_ANY },

	{ "unlock, waited for", with_mutex, unlock, WAITED, AT_MUTEX },
	{ "wrunlock, writer", with_write, write_unlock, WAITED, AT_WRITE },
	{ "wrunlock, reader", with_write, write_unlock, WAITED, AT_READ },
	{ "rdunlock, writer", with_read, read_unlock, WAITED, AT_WRITE },
	{ "downgrade, reader", with_write, downgrade, WAITED, AT_READ },
	{ "post, waited for", known, post, WAITED, AT_SEM },
	{ "set, waited for", known, set, WAITED, AT_EVENT },
	{ "set, of any", known, set, WAITED, AT_ANY },
	{ "wake, waited for", known, wake, WAITED, AT_WORD32 },
	{ "signal", with_item_unlocked, signal_naked, WAITED, AT_COND },
	{ "signal, unlock, waited for", with_item, signal_and_unlock, WAITED,
	    AT_COND },
	{ "broadcast, unlock", with_item, broadcast_and_unlock, WAITED,
	    AT_COND },
	{ "pass, waited for", with_turn, pass, WAITED, AT_BATON },
	{ "switch", with_turn, pass_and_wait, WAITED, AT_BATON },
	{ "barrier_wait, last", known_at_barrier, meet, WAITED, AT_BARRIER },
};

/* ---- The walk ------------------------------------------------------------ */

static unsigned total;

static void walk(const struct call *x)
{
	const char *steps = getenv("STEPS");
	int alive;
	unsigned first = step_through(x, UINT32_MAX, &alive);
	unsigned length = step_through(x, UINT32_MAX, &alive);
	unsigned stride = steps ? (unsigned)atoi(steps) :
	    length > RUNS       ? length / RUNS :
	                          1;
	unsigned n;
	unsigned runs = 0;

	assert_true(alive && first > 0);
	if (stride == 0)
		stride = 1;
	n = 1 + (unsigned)rand() % stride;
	for (alive = 0; !alive; n += stride, runs++)
		step_through(x, n, &alive);
	print_message("%s: %u steps, %u deaths\n", x->name, length, runs - 1);
	total += runs - 1;
	/* They are as many each time, but for what is asked of the system. */
	assert_true(n > length / 3);
}

static void walk_all(enum setting setting)
{
	if (!may_step())
		SKIP("nobody may trace another process here, or not by steps");
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].setting == setting ||
		    (calls[i].setting == READ && setting == HELD))
			walk(&calls[i]);
}

static void a_death_with_nobody_there_is_told_at_most_once(void **state)
{
	(void)state;
	walk_all(ALONE);
}

static void a_death_while_repairing_is_told_to_the_next(void **state)
{
	(void)state;
	walk_all(DEAD);
}

static void a_death_while_waiting_costs_nobody_anything(void **state)
{
	(void)state;
	walk_all(HELD);
}

static void a_death_while_letting_others_go_strands_nobody(void **state)
{
	(void)state;
	walk_all(WAITED);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = { { "none", NULL } };
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_death_with_nobody_there_is_told_at_most_once),
		TEST(a_death_while_repairing_is_told_to_the_next),
		TEST(a_death_while_waiting_costs_nobody_anything),
		TEST(a_death_while_letting_others_go_strands_nobody),
	};
	unsigned seed = (unsigned)getpid();
	int failed;

	PROCESSES_BEGIN(argc, argv, parts, getenv("STEPS") ? 1500 : 120);
	/* Parked as soon as can be, so that the slow paths are walked. */
	setenv("HANDOFF_WAIT", "block", 1);
	srand(seed);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	failed = cmocka_run_group_tests_name("steps", tests, NULL, NULL);
	print_message("%u deaths, seed %u\n", total, seed);
	return processes_end(failed);
}
