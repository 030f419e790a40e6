/* SPDX-License-Identifier: ISC */
/*
 * What the library's operations cost: objects in one segment, robust where
 * that can be asked for, and a mutex in plain memory.
 */
#define _GNU_SOURCE 1
#include <stddef.h>
#include <string.h>

#include <handoff.h>

#include "costs.h"

#define KIND_COSTS 0x74736f63u

/* Objects with one policy of waiting.  Of those that can be held there are
 * COSTS_EACH. */
struct set {
	handoff_mutex mutexes[COSTS_EACH];
	handoff_mutex recursive[COSTS_EACH];
	handoff_mutex unfair[COSTS_EACH];
	handoff_rwlock rwlocks[COSTS_EACH];
	handoff_event events[COSTS_EACH];
	handoff_sem sem;
	handoff_cond cond;
	handoff_word32 word;
	handoff_baton alone; /* of one party, whose turn it is for ever */
	handoff_baton baton;
	HANDOFF_ALIGNED int told; /* what the condition is about */
};

struct shared {
	struct set set;
	struct set spinning;
};

static handoff_mutex plain[COSTS_EACH];

/* ---- making them ------------------------------------------------------- */

static int mutex_init(handoff_mutex *mutex, unsigned flags, unsigned policy)
{
	const struct handoff_mutex_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_ROBUST | flags,
		.policy = policy,
	};

	return handoff_mutex_init(mutex, &attr);
}

static int rwlock_init(handoff_rwlock *rwlock, unsigned policy)
{
	const struct handoff_rwlock_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_ROBUST,
		.policy = policy,
	};

	return handoff_rwlock_init(rwlock, &attr);
}

static int event_init(handoff_event *event, unsigned policy)
{
	const struct handoff_event_attr attr = {
		.size = sizeof(attr),
		.policy = policy,
	};

	return handoff_event_init(event, &attr);
}

static int baton_init(handoff_baton *baton, uint32_t parties, unsigned policy)
{
	const struct handoff_baton_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_ROBUST,
		.policy = policy,
	};

	return handoff_baton_init(baton, parties, &attr);
}

/* The objects of which there are many. */
static int many_init(struct set *s, unsigned policy)
{
	unsigned i;
	int e = 0;

	for (i = 0; i < COSTS_EACH && e == 0; i++) {
		e = mutex_init(&s->mutexes[i], 0, policy);
		if (e == 0)
			e = mutex_init(&s->recursive[i], HANDOFF_RECURSIVE,
			    policy);
		if (e == 0)
			e = mutex_init(&s->unfair[i], HANDOFF_UNFAIR, policy);
		if (e == 0)
			e = rwlock_init(&s->rwlocks[i], policy);
		if (e == 0)
			e = event_init(&s->events[i], policy);
	}
	return e;
}

static int set_init(struct set *s, unsigned policy)
{
	const struct handoff_sem_attr sem = {
		.size = sizeof(sem),
		.policy = policy,
	};
	const struct handoff_cond_attr cond = {
		.size = sizeof(cond),
		.policy = policy,
	};
	const struct handoff_word_attr word = {
		.size = sizeof(word),
		.policy = policy,
	};
	int e = many_init(s, policy);

	if (e == 0)
		e = handoff_sem_init(&s->sem, 0, &sem);
	if (e == 0)
		e = handoff_cond_init(&s->cond, &cond);
	if (e == 0)
		e = handoff_word32_init(&s->word, 0, &word);
	if (e == 0)
		e = baton_init(&s->alone, 1, policy);
	return e != 0 ? e : baton_init(&s->baton, 2, policy);
}

static int shared_init(void *memory, size_t bytes, void *arg)
{
	struct shared *s = memory;
	int e = set_init(&s->set, HANDOFF_WAIT_ADAPTIVE);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : set_init(&s->spinning, HANDOFF_WAIT_SPIN);
}

static int segment_open(void **objects, const char *name, unsigned flags)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct shared),
		.kind = KIND_COSTS,
		.init = shared_init,
	};
	handoff_segment *segment;
	unsigned i;
	int e;

	e = handoff_segment_open(&segment, name, flags, 0600, &options);
	if (e == 0)
		*objects = handoff_segment_memory(segment);
	for (i = 0; i < COSTS_EACH && e == 0; i++)
		e = handoff_mutex_init(&plain[i], NULL);
	return e;
}

static int ours_open(void **objects, const char *name)
{
	int e = segment_open(objects, name, HANDOFF_CREATE | HANDOFF_EXCLUSIVE);
	struct shared *s = *objects;

	return e != 0 ? e : handoff_baton_wait(&s->set.alone, 0);
}

static int ours_join(void **objects, const char *name)
{
	return segment_open(objects, name, 0);
}

static void ours_unlink(const char *name)
{
	handoff_unlink(name);
}

static void ours_close(void *objects)
{
	unsigned i;

	for (i = 0; i < COSTS_EACH; i++)
		handoff_mutex_destroy(&plain[i]);
	handoff_close(objects);
}

/* The first set is where the segment begins. */
static void *ours_spinning(void *objects)
{
	struct shared *s = objects;

	return &s->spinning;
}

/* ---- alone ------------------------------------------------------------- */

COSTS_TWO(mutex, struct set, handoff_mutex_lock(o->mutexes),
    handoff_mutex_unlock(o->mutexes))
COSTS_HALVES(mutex, struct set, handoff_mutex_lock(&o->mutexes[i]),
    handoff_mutex_unlock(&o->mutexes[i]))
COSTS_TWO(recursive, struct set, handoff_mutex_lock(o->recursive),
    handoff_mutex_unlock(o->recursive))
COSTS_HALVES(recursive, struct set, handoff_mutex_lock(&o->recursive[i]),
    handoff_mutex_unlock(&o->recursive[i]))
COSTS_TWO(unfair, struct set, handoff_mutex_lock(o->unfair),
    handoff_mutex_unlock(o->unfair))
COSTS_HALVES(unfair, struct set, handoff_mutex_lock(&o->unfair[i]),
    handoff_mutex_unlock(&o->unfair[i]))
COSTS_TWO(read, struct set, handoff_rwlock_rdlock(o->rwlocks),
    handoff_rwlock_rdunlock(o->rwlocks))
COSTS_HALVES(read, struct set, handoff_rwlock_rdlock(&o->rwlocks[i]),
    handoff_rwlock_rdunlock(&o->rwlocks[i]))
COSTS_TWO(write, struct set, handoff_rwlock_wrlock(o->rwlocks),
    handoff_rwlock_wrunlock(o->rwlocks))
COSTS_HALVES(write, struct set, handoff_rwlock_wrlock(&o->rwlocks[i]),
    handoff_rwlock_wrunlock(&o->rwlocks[i]))
COSTS_TWO(sem, struct set, handoff_sem_post(&o->sem, 1),
    handoff_sem_wait(&o->sem))
COSTS_HALVES(sem, struct set, handoff_sem_wait(&o->sem),
    handoff_sem_post(&o->sem, 1))
COSTS_TWO(event, struct set, handoff_event_set(o->events),
    handoff_event_wait(o->events))
COSTS_HALVES(event, struct set, handoff_event_wait(&o->events[i]),
    handoff_event_set(&o->events[i]))
COSTS_ONE(signal, struct set, handoff_cond_signal(&o->cond))
COSTS_ONE(wake, struct set, handoff_word32_wake(&o->word, 1))
COSTS_ONE(turn, struct set, handoff_baton_switch(&o->alone, 0, 0))

static int plain_batch(void *objects, unsigned n)
{
	int e = 0;

	(void)objects;
	for (; n > 0 && e == 0; n--) {
		e = handoff_mutex_lock(plain);
		if (e == 0)
			e = handoff_mutex_unlock(plain);
	}
	return e;
}

static const struct cost costs[] = {
	{ "mutex", COSTS_LOCK, false, mutex_batch, mutex_acquire_each,
	    mutex_release_each, false, "pthread-mutex" },
	{ "mutex-plain", COSTS_LOCK, .batch = plain_batch },
	{ "mutex-recursive", COSTS_LOCK, false, recursive_batch,
	    recursive_acquire_each, recursive_release_each, false,
	    "pthread-recursive" },
	{ "mutex-unfair", COSTS_LOCK, false, unfair_batch, unfair_acquire_each,
	    unfair_release_each, false, "pthread-mutex" },
	{ "rwlock-read", COSTS_READ, false, read_batch, read_acquire_each,
	    read_release_each, false, "pthread-rwlock-read" },
	{ "rwlock-write", COSTS_WRITE, false, write_batch, write_acquire_each,
	    write_release_each, false, "pthread-rwlock-write" },
	{ "sem", COSTS_POST, false, sem_batch, sem_acquire_each,
	    sem_release_each, true, "posix-sem" },
	{ "event", COSTS_SET, false, event_batch, event_acquire_each,
	    event_release_each, true, "eventfd" },
	{ "cond-signal", COSTS_SIGNAL, .batch = signal_batch },
	{ "word-wake", COSTS_WAKE, .batch = wake_batch },
	{ "baton-switch", COSTS_SWITCH, .batch = turn_batch },
};

/* ---- duels ------------------------------------------------------------- */

COSTS_STEP(mutex_lock, struct set, handoff_mutex_lock(o->mutexes))
COSTS_STEP(mutex_unlock, struct set, handoff_mutex_unlock(o->mutexes))
COSTS_STEP(recursive_lock, struct set, handoff_mutex_lock(o->recursive))
COSTS_STEP(recursive_unlock, struct set, handoff_mutex_unlock(o->recursive))
COSTS_STEP(unfair_lock, struct set, handoff_mutex_lock(o->unfair))
COSTS_STEP(unfair_unlock, struct set, handoff_mutex_unlock(o->unfair))
COSTS_STEP(read_lock, struct set, handoff_rwlock_rdlock(o->rwlocks))
COSTS_STEP(read_unlock, struct set, handoff_rwlock_rdunlock(o->rwlocks))
COSTS_STEP(write_lock, struct set, handoff_rwlock_wrlock(o->rwlocks))
COSTS_STEP(write_unlock, struct set, handoff_rwlock_wrunlock(o->rwlocks))
COSTS_STEP(sem_wait_, struct set, handoff_sem_wait(&o->sem))
COSTS_STEP(sem_post_, struct set, handoff_sem_post(&o->sem, 1))
COSTS_STEP(event_wait, struct set, handoff_event_wait(o->events))
COSTS_STEP(event_set, struct set, handoff_event_set(o->events))
COSTS_STEP(baton_mine, struct set, handoff_baton_wait(&o->baton, 0))
COSTS_STEP(baton_wait, struct set, handoff_baton_wait(&o->baton, 1))
COSTS_STEP(baton_pass, struct set, handoff_baton_pass(&o->baton, 1))
COSTS_STEP(baton_back, struct set, handoff_baton_pass(&o->baton, 0))

static int cond_wait(void *objects)
{
	struct set *s = objects;
	int e = 0;

	while (e == 0 && !s->told)
		e = handoff_cond_wait(&s->cond, s->mutexes);
	s->told = 0;
	return e;
}

static int cond_tell(void *objects)
{
	struct set *s = objects;
	int e;

	s->told = 1;
	e = handoff_cond_signal(&s->cond);
	return e != 0 ? e : handoff_mutex_unlock(s->mutexes);
}

static int word_clear(void *objects)
{
	struct set *s = objects;

	handoff_word32_store(&s->word, 0);
	return 0;
}

static int word_wait(void *objects)
{
	struct set *s = objects;
	int e = 0;

	while (e == 0 && handoff_word32_load(&s->word) == 0)
		e = handoff_word32_wait(&s->word, 0);
	return e;
}

static int word_wake(void *objects)
{
	struct set *s = objects;

	handoff_word32_store(&s->word, 1);
	return handoff_word32_wake(&s->word, 1);
}

static const struct duel duels[] = {
	{ "mutex", "pthread-mutex", true, .own = mutex_lock, .wait = mutex_lock,
	    .give = mutex_unlock, .leave = mutex_unlock },
	{ "mutex-recursive", "pthread-recursive", false, .own = recursive_lock,
	    .wait = recursive_lock, .give = recursive_unlock,
	    .leave = recursive_unlock },
	{ "mutex-unfair", "pthread-mutex", false, .own = unfair_lock,
	    .wait = unfair_lock, .give = unfair_unlock,
	    .leave = unfair_unlock },
	{ "rwlock-read", "pthread-rwlock-read", false, .own = write_lock,
	    .wait = read_lock, .give = write_unlock, .leave = read_unlock },
	{ "rwlock-write", "pthread-rwlock-write", false, .own = write_lock,
	    .wait = write_lock, .give = write_unlock, .leave = write_unlock },
	{ "sem", "posix-sem", true, .wait = sem_wait_, .give = sem_post_ },
	{ "event", "eventfd", false, .wait = event_wait, .give = event_set },
	{ "cond", "pthread-cond", true, .enter = mutex_lock, .wait = cond_wait,
	    .ready = mutex_lock, .give = cond_tell, .leave = mutex_unlock },
	{ "word", "futex", false, .own = word_clear, .wait = word_wait,
	    .give = word_wake },
	{ "baton", NULL, false, .own = baton_mine, .wait = baton_wait,
	    .give = baton_pass, .leave = baton_back },
};

const struct costs_group costs_ours = {
	.name = "the library's objects",
	.open = ours_open,
	.join = ours_join,
	.unlink = ours_unlink,
	.close = ours_close,
	.spinning = ours_spinning,
	.costs = costs,
	.count = sizeof(costs) / sizeof(costs[0]),
	.duels = duels,
	.duel_count = sizeof(duels) / sizeof(duels[0]),
};
