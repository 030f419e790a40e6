/* SPDX-License-Identifier: ISC */
/*
 * What the library's operations cost: objects in one segment, robust where
 * that can be asked for, and a mutex in plain memory.
 */
#define _GNU_SOURCE 1
#include <stddef.h>

#include <handoff.h>

#include "costs.h"

#define KIND_COSTS 0x74736f63u

struct shared {
	handoff_mutex mutex;
	handoff_mutex recursive;
	handoff_mutex unfair;
	handoff_sem sem;
	handoff_event event;
	handoff_rwlock rwlock;
	handoff_cond cond;
	handoff_word32 word;
	handoff_baton baton;
};

static handoff_mutex plain;

static int mutex_init(handoff_mutex *mutex, unsigned flags)
{
	const struct handoff_mutex_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_ROBUST | flags,
	};

	return handoff_mutex_init(mutex, &attr);
}

static int rwlock_init(handoff_rwlock *rwlock)
{
	const struct handoff_rwlock_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_ROBUST,
	};

	return handoff_rwlock_init(rwlock, &attr);
}

static int baton_init(handoff_baton *baton)
{
	const struct handoff_baton_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_ROBUST,
	};

	return handoff_baton_init(baton, 1, &attr);
}

static int shared_init(void *memory, size_t bytes, void *arg)
{
	struct shared *s = memory;
	int e = mutex_init(&s->mutex, 0);

	(void)bytes;
	(void)arg;
	if (e == 0)
		e = mutex_init(&s->recursive, HANDOFF_RECURSIVE);
	if (e == 0)
		e = mutex_init(&s->unfair, HANDOFF_UNFAIR);
	if (e == 0)
		e = handoff_sem_init(&s->sem, 0, NULL);
	if (e == 0)
		e = handoff_event_init(&s->event, NULL);
	if (e == 0)
		e = rwlock_init(&s->rwlock);
	if (e == 0)
		e = handoff_cond_init(&s->cond, NULL);
	if (e == 0)
		e = handoff_word32_init(&s->word, 0, NULL);
	return e != 0 ? e : baton_init(&s->baton);
}

static int ours_open(void **objects, const char *name)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct shared),
		.kind = KIND_COSTS,
		.init = shared_init,
	};
	handoff_segment *segment;
	struct shared *s;
	int e;

	e = handoff_segment_open(&segment, name,
	    HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, &options);
	if (e != 0)
		return e;
	s = handoff_segment_memory(segment);
	*objects = s;
	e = handoff_unlink(name);
	if (e == 0)
		e = handoff_mutex_init(&plain, NULL);
	/* The turn is the one party's for ever. */
	return e != 0 ? e : handoff_baton_wait(&s->baton, 0);
}

static void ours_close(void *objects)
{
	handoff_mutex_destroy(&plain);
	handoff_close(objects);
}

static int plain_batch(void *objects, unsigned n)
{
	int e = 0;

	(void)objects;
	for (; n > 0 && e == 0; n--) {
		e = handoff_mutex_lock(&plain);
		if (e == 0)
			e = handoff_mutex_unlock(&plain);
	}
	return e;
}

COSTS_TWO(mutex, struct shared, handoff_mutex_lock(&o->mutex),
    handoff_mutex_unlock(&o->mutex))
COSTS_TWO(recursive, struct shared, handoff_mutex_lock(&o->recursive),
    handoff_mutex_unlock(&o->recursive))
COSTS_TWO(unfair, struct shared, handoff_mutex_lock(&o->unfair),
    handoff_mutex_unlock(&o->unfair))
COSTS_TWO(read, struct shared, handoff_rwlock_rdlock(&o->rwlock),
    handoff_rwlock_rdunlock(&o->rwlock))
COSTS_TWO(write, struct shared, handoff_rwlock_wrlock(&o->rwlock),
    handoff_rwlock_wrunlock(&o->rwlock))
COSTS_TWO(sem, struct shared, handoff_sem_post(&o->sem, 1),
    handoff_sem_wait(&o->sem))
COSTS_TWO(event, struct shared, handoff_event_set(&o->event),
    handoff_event_wait(&o->event))
COSTS_ONE(signal, struct shared, handoff_cond_signal(&o->cond))
COSTS_ONE(wake, struct shared, handoff_word32_wake(&o->word, 1))
COSTS_ONE(turn, struct shared, handoff_baton_switch(&o->baton, 0, 0))

static const struct cost costs[] = {
	{ "mutex", COSTS_LOCK, .batch = mutex_batch },
	{ "mutex-plain", COSTS_LOCK, .batch = plain_batch },
	{ "mutex-recursive", COSTS_LOCK, .batch = recursive_batch },
	{ "mutex-unfair", COSTS_LOCK, .batch = unfair_batch },
	{ "rwlock-read", COSTS_READ, .batch = read_batch },
	{ "rwlock-write", COSTS_WRITE, .batch = write_batch },
	{ "sem", COSTS_POST, .batch = sem_batch },
	{ "event", COSTS_SET, .batch = event_batch },
	{ "cond-signal", COSTS_SIGNAL, .batch = signal_batch },
	{ "word-wake", COSTS_WAKE, .batch = wake_batch },
	{ "baton-switch", COSTS_SWITCH, .batch = turn_batch },
};

const struct costs_group costs_ours = {
	.name = "the library's objects",
	.open = ours_open,
	.close = ours_close,
	.costs = costs,
	.count = sizeof(costs) / sizeof(costs[0]),
};
