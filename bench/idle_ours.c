/* SPDX-License-Identifier: ISC */
/*
 * Waits of the library: objects in one segment, robust where that can be,
 * which the bench holds.
 */
#define _GNU_SOURCE 1
#include <signal.h>

#include <handoff.h>

#include "bench.h"
#include "idle.h"

#define KIND_IDLE 0x656c6469u

static struct shared {
	handoff_mutex held;
	handoff_mutex mutex; /* of the condition */
	handoff_cond cond;
	handoff_sem sem;
	handoff_event event;
	handoff_rwlock written;
	handoff_rwlock read;
	handoff_word32 word;
	handoff_barrier barrier;
	handoff_baton baton;
	handoff_sem any_sem;
	handoff_event any_event;
	handoff_word32 any_word;
} * shared;

static int init(void *memory, size_t bytes, void *arg)
{
	struct shared *s = memory;
	int e = handoff_mutex_init(&s->held, NULL);

	(void)bytes;
	(void)arg;
	if (e == 0)
		e = handoff_mutex_init(&s->mutex, NULL);
	if (e == 0)
		e = handoff_cond_init(&s->cond, NULL);
	if (e == 0)
		e = handoff_sem_init(&s->sem, 0, NULL);
	if (e == 0)
		e = handoff_event_init(&s->event, NULL);
	if (e == 0)
		e = handoff_rwlock_init(&s->written, NULL);
	if (e == 0)
		e = handoff_rwlock_init(&s->read, NULL);
	if (e == 0)
		e = handoff_word32_init(&s->word, 0, NULL);
	if (e == 0)
		e = handoff_barrier_init(&s->barrier, 2, NULL);
	if (e == 0)
		e = handoff_baton_init(&s->baton, 2, NULL);
	if (e == 0)
		e = handoff_sem_init(&s->any_sem, 0, NULL);
	if (e == 0)
		e = handoff_event_init(&s->any_event, NULL);
	return e != 0 ? e : handoff_word32_init(&s->any_word, 0, NULL);
}

/* Signals wait while there is a name. */
static int open_segment(const char *name)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct shared),
		.kind = KIND_IDLE,
		.init = init,
	};
	handoff_segment *segment;
	sigset_t all, old;
	int e;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	e = handoff_segment_open(&segment, name,
	    HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, &options);
	if (e == 0) {
		shared = handoff_segment_memory(segment);
		e = handoff_unlink(name);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return e;
}

static int ours_open(const char *name)
{
	int e = open_segment(name);

	if (e == 0)
		e = handoff_mutex_lock(&shared->held);
	if (e == 0)
		e = handoff_rwlock_wrlock(&shared->written);
	if (e == 0)
		e = handoff_rwlock_rdlock(&shared->read);
	return e != 0 ? e : handoff_baton_wait(&shared->baton, 0);
}

static void ours_close(void)
{
	handoff_rwlock_rdunlock(&shared->read);
	handoff_rwlock_wrunlock(&shared->written);
	handoff_mutex_unlock(&shared->held);
	handoff_close(shared);
}

/* ---- the waits --------------------------------------------------------- */

static int mutex_wait(void)
{
	return handoff_mutex_lock(&shared->held);
}

static int cond_wait(void)
{
	int e = handoff_mutex_lock(&shared->mutex);

	while (e == 0)
		e = handoff_cond_wait(&shared->cond, &shared->mutex);
	return e;
}

static int sem_wait_one(void)
{
	return handoff_sem_wait(&shared->sem);
}

static int event_wait(void)
{
	return handoff_event_wait(&shared->event);
}

static int read_wait(void)
{
	return handoff_rwlock_rdlock(&shared->written);
}

static int write_wait(void)
{
	return handoff_rwlock_wrlock(&shared->read);
}

static int word_wait(void)
{
	return handoff_word32_wait(&shared->word, 0);
}

static int barrier_wait(void)
{
	return handoff_barrier_wait(&shared->barrier, NULL);
}

static int baton_wait(void)
{
	return handoff_baton_wait(&shared->baton, 1);
}

static int any_wait(void)
{
	const struct handoff_item items[] = {
		{ .object = &shared->any_sem },
		{ .object = &shared->any_event },
		{ .object = &shared->any_word, .while_equal = 0 },
	};

	return handoff_wait_any(items, sizeof(items) / sizeof(items[0]), NULL);
}

static const struct idle_via vias[] = {
	{ "mutex", "held by another", .wait = mutex_wait },
	{ "cond", "not signalled", .wait = cond_wait },
	{ "sem", "count 0", .wait = sem_wait_one },
	{ "event", "not set", .wait = event_wait },
	{ "rwlock-read", "another writes", .wait = read_wait },
	{ "rwlock-write", "another reads", .wait = write_wait },
	{ "word", "does not change", .wait = word_wait },
	{ "barrier", "one of two has come", .wait = barrier_wait },
	{ "baton", "another's turn", .wait = baton_wait },
	{ "wait-any", "a semaphore, an event, a word", .wait = any_wait },
};

const struct idle_group idle_ours = {
	.name = "ours",
	.open = ours_open,
	.close = ours_close,
	.vias = vias,
	.count = sizeof(vias) / sizeof(vias[0]),
};
