/* SPDX-License-Identifier: ISC */
/*
 * Every primitive between threads of one process, in plain memory and in a
 * segment: what one thread writes before it gives, another reads after it has
 * taken, with plain accesses.  So ThreadSanitizer sees whether each of them
 * synchronises as its contract says.
 */
#include "processes.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define THREADS 4u
#define ROUNDS 2000u

struct all {
	handoff_mutex mutex;
	handoff_mutex recursive;
	handoff_cond cond;
	handoff_sem sem[THREADS];
	handoff_event event[THREADS];
	handoff_event gate;
	handoff_rwlock rwlock;
	handoff_barrier barrier;
	handoff_word32 word32;
	handoff_word64 word64;
	handoff_baton baton;
	unsigned count; /* not atomic: what is under test protects it */
	unsigned slots[THREADS];
};

static int fill(void *memory, size_t bytes, void *arg)
{
	struct handoff_mutex_attr recursive = { sizeof recursive,
		HANDOFF_RECURSIVE, 0, 0 };
	struct handoff_event_attr manual = { sizeof manual,
		HANDOFF_EVENT_MANUAL, 0, 0 };
	struct all *a = memory;
	int e = handoff_mutex_init(&a->mutex, NULL);

	(void)bytes;
	(void)arg;
	e |= handoff_mutex_init(&a->recursive, &recursive);
	e |= handoff_cond_init(&a->cond, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		e |= handoff_sem_init(&a->sem[i], 0, NULL);
		e |= handoff_event_init(&a->event[i], NULL);
	}
	e |= handoff_event_init(&a->gate, &manual);
	e |= handoff_rwlock_init(&a->rwlock, NULL);
	e |= handoff_barrier_init(&a->barrier, THREADS, NULL);
	e |= handoff_word32_init(&a->word32, 0, NULL);
	e |= handoff_word64_init(&a->word64, 0, NULL);
	e |= handoff_baton_init(&a->baton, THREADS, NULL);
	return e;
}

/* ---- What a thread does: 0, or the line that went wrong ---------------- */

struct worker {
	struct all *a;
	int (*run)(struct all *a, unsigned me);
	unsigned me;
	int line;
};

#define NEED(condition)                  \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static unsigned after(unsigned me)
{
	return (me + 1) % THREADS;
}

static int lock_mutexes(struct all *a, unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		handoff_mutex *m = i % 2 ? &a->mutex : &a->recursive;

		(void)me;
		NEED(handoff_mutex_lock(&a->recursive) == 0);
		NEED(handoff_mutex_lock(m) == 0);
		a->count++;
		NEED(handoff_mutex_unlock(m) == 0);
		NEED(handoff_mutex_unlock(&a->recursive) == 0);
	}
	return 0;
}

static int take_turns(struct all *a, unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(handoff_mutex_lock(&a->mutex) == 0);
		while (a->count % THREADS != me)
			NEED(handoff_cond_wait(&a->cond, &a->mutex) == 0);
		a->count++;
		NEED(handoff_cond_broadcast(&a->cond) == 0);
		NEED(handoff_mutex_unlock(&a->mutex) == 0);
	}
	return 0;
}

static int pass_semaphores(struct all *a, unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(handoff_sem_wait(&a->sem[me]) == 0);
		NEED(a->count++ % THREADS == me);
		NEED(handoff_sem_post(&a->sem[after(me)], 1) == 0);
	}
	return 0;
}

static int pass_events(struct all *a, unsigned me)
{
	NEED(handoff_event_wait(&a->gate) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(handoff_event_wait(&a->event[me]) == 0);
		NEED(a->count++ % THREADS == me);
		NEED(handoff_event_set(&a->event[after(me)]) == 0);
	}
	return 0;
}

static int pass_words(struct all *a, unsigned me)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t now;

		while ((now = handoff_word32_load(&a->word32)) % THREADS != me)
			NEED(handoff_word32_wait(&a->word32, now) == 0);
		a->count++;
		handoff_word32_store(&a->word32, now + 1);
		NEED(handoff_word32_wake(&a->word32, HANDOFF_ALL) == 0);
	}
	return 0;
}

/* Written by a weaker operation, and woken accordingly. */
static int pass_wide_words(struct all *a, unsigned me)
{
	_Atomic uint64_t *value = (_Atomic uint64_t *)&a->word64.value;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t now;

		while ((now = atomic_load(value)) % THREADS != me)
			NEED(handoff_word64_wait(&a->word64, now) == 0);
		a->count++;
		atomic_store_explicit(value, now + 1, memory_order_release);
		NEED(handoff_word64_wake_fenced(&a->word64, HANDOFF_ALL) == 0);
	}
	return 0;
}

static int read_and_write(struct all *a, unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(handoff_rwlock_rdlock(&a->rwlock) == 0);
		NEED(a->slots[0] == a->slots[1]);
		NEED(handoff_rwlock_rdunlock(&a->rwlock) == 0);
		if (i % THREADS != me)
			continue;
		NEED(handoff_rwlock_wrlock(&a->rwlock) == 0);
		a->slots[0]++;
		a->count++;
		a->slots[1]++;
		if (i % 2 == 0)
			NEED(handoff_rwlock_wrunlock(&a->rwlock) == 0);
		else
			NEED(handoff_rwlock_downgrade(&a->rwlock) == 0 &&
			    a->slots[0] == a->slots[1] &&
			    handoff_rwlock_rdunlock(&a->rwlock) == 0);
	}
	return 0;
}

static int meet_others(struct all *a, unsigned me)
{
	for (unsigned i = 1; i <= ROUNDS; i++) {
		int last;

		a->slots[me] = i;
		NEED(handoff_barrier_wait(&a->barrier, &last) == 0);
		for (unsigned k = 0; k < THREADS; k++)
			NEED(a->slots[k] == i);
		if (last)
			a->count += THREADS;
		NEED(handoff_barrier_wait(&a->barrier, NULL) == 0);
	}
	return 0;
}

static int pass_baton(struct all *a, unsigned me)
{
	NEED(handoff_baton_wait(&a->baton, me) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(a->count++ % THREADS == me);
		if (i < ROUNDS - 1)
			NEED(handoff_baton_switch(&a->baton, me, after(me)) ==
			    0);
	}
	NEED(handoff_baton_pass(&a->baton, after(me)) == 0);
	return 0;
}

/* The turn comes by a semaphore, or else by an event. */
static int wait_for_any(struct all *a, unsigned me)
{
	const struct handoff_item items[] = { { &a->sem[me], 0 },
		{ &a->event[me], 0 }, { &a->word32, 0 } };

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t which;
		unsigned next = after(me);

		NEED(handoff_wait_any(items, 3, &which) == 0);
		NEED(which < 2);
		NEED(a->count++ % THREADS == me);
		NEED(i % 3 == 0 ? handoff_event_set(&a->event[next]) == 0 :
		                  handoff_sem_post(&a->sem[next], 1) == 0);
	}
	return 0;
}

/* ---- The tests --------------------------------------------------------- */

static void *work(void *arg)
{
	struct worker *w = arg;

	w->line = w->run(w->a, w->me);
	return NULL;
}

static void run(struct all *a, int (*fn)(struct all *a, unsigned me),
    unsigned expected)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	a->count = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ a, fn, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, work,
		                     &workers[i]),
		    0);
	}
	if (fn == pass_semaphores || fn == wait_for_any)
		assert_int_equal(handoff_sem_post(&a->sem[0], 1), 0);
	if (fn == pass_events) {
		assert_int_equal(handoff_event_set(&a->gate), 0);
		assert_int_equal(handoff_event_set(&a->event[0]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(workers[i].line, 0);
	assert_int_equal(a->count, expected);
}

static void run_all(struct all *a)
{
	run(a, lock_mutexes, THREADS * ROUNDS);
	run(a, take_turns, THREADS * ROUNDS);
	run(a, pass_semaphores, THREADS * ROUNDS);
	assert_int_equal(handoff_sem_trywait(&a->sem[0]), 0);
	run(a, pass_events, THREADS * ROUNDS);
	assert_int_equal(handoff_event_trywait(&a->event[0]), 0);
	run(a, wait_for_any, THREADS * ROUNDS);
	run(a, pass_words, THREADS * ROUNDS);
	run(a, pass_wide_words, THREADS * ROUNDS);
	memset(a->slots, 0, sizeof a->slots);
	run(a, read_and_write, ROUNDS);
	run(a, meet_others, THREADS * ROUNDS);
	run(a, pass_baton, THREADS * ROUNDS);
}

static void in_plain_memory(void **state)
{
	static struct all a;

	(void)state;
	assert_int_equal(fill(&a, sizeof a, NULL), 0);
	run_all(&a);
}

static void in_a_segment(void **state)
{
	struct handoff_segment_options options = { sizeof options,
		sizeof(struct all), 0, fill, NULL };
	handoff_segment *segment;

	(void)state;
	assert_int_equal(handoff_segment_open(&segment, "threads",
	                     HANDOFF_CREATE, 0600, &options),
	    0);
	run_all(handoff_segment_memory(segment));
	assert_int_equal(handoff_close(segment), 0);
	assert_int_equal(unlink_name("threads"), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = { { NULL, NULL } };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_plain_memory),
		cmocka_unit_test(in_a_segment),
	};

	processes_begin(argc, argv, parts, 0, 120);
	return processes_end(
	    cmocka_run_group_tests_name("threads", tests, NULL, NULL));
}
