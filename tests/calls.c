/* SPDX-License-Identifier: ISC */
/* What can be called upon objects of each kind. */
#include "calls.h"

#include <errno.h>

#define MODE 0600

static uint64_t deadline(const struct target *t)
{
	return handoff_after(t->wait_ns);
}

/* A call that takes the object alone. */
#define PLAIN(type, call)                                  \
	static int type##_##call(const struct target *t)   \
	{                                                  \
		return handoff_##type##_##call(t->object); \
	}

/* One that waits until a deadline. */
#define UNTIL(type, call)                                         \
	static int type##_##call##_until(const struct target *t)  \
	{                                                         \
		return handoff_##type##_##call##_until(t->object, \
		    deadline(t));                                 \
	}

#define OPEN(type, ...)                                              \
	static int type##_open(void **object, const char *name,      \
	    unsigned flags)                                          \
	{                                                            \
		handoff_##type *o;                                   \
		int e = handoff_##type##_open(&o, name, flags, MODE, \
		    __VA_ARGS__);                                    \
                                                                     \
		*object = o;                                         \
		return e;                                            \
	}                                                            \
	static int type##_init(void *object)                         \
	{                                                            \
		return handoff_##type##_init(object, __VA_ARGS__);   \
	}

static int statistics(const struct target *t)
{
	struct handoff_statistics s = { .size = sizeof s };

	return handoff_statistics(t->object, &s);
}

/* For any of two, of which one is this. */
static int any(const struct target *t)
{
	struct handoff_item items[2] = { { t->object, 0 }, { t->object, 1 } };
	size_t which = 2;
	int e = handoff_wait_any_until(items, 2, &which, deadline(t));

	return e == 0 && which > 1 ? -1 : e;
}

/* ---- Mutex, condition -------------------------------------------------- */

OPEN(mutex, NULL)
PLAIN(mutex, trylock)
UNTIL(mutex, lock)
PLAIN(mutex, consistent)
PLAIN(mutex, unlock)
PLAIN(mutex, destroy)

static const struct call mutex_calls[] = {
	{ "unlock", mutex_unlock },
	{ "consistent", mutex_consistent },
	{ "trylock", mutex_trylock },
	{ "consistent", mutex_consistent },
	{ "trylock, again", mutex_trylock },
	{ "lock_until, again", mutex_lock_until },
	{ "unlock", mutex_unlock },
	{ "unlock", mutex_unlock },
	{ "lock_until", mutex_lock_until },
	{ "statistics", statistics },
	{ "unlock", mutex_unlock },
	{ "destroy", mutex_destroy },
};

OPEN(cond, NULL)
PLAIN(cond, signal)
PLAIN(cond, broadcast)
PLAIN(cond, destroy)

/* With the mutex held, having done `before`. */
static int cond_held(const struct target *t, int (*before)(handoff_cond *))
{
	int e = handoff_mutex_lock_until(t->mutex, deadline(t));

	if (e == EOWNERDEAD)
		handoff_mutex_consistent(t->mutex);
	else if (e != 0)
		return e;
	if (before)
		e = before(t->object);
	if (before != handoff_cond_signal)
		e = handoff_cond_wait_until(t->object, t->mutex, deadline(t));
	handoff_mutex_consistent(t->mutex);
	handoff_mutex_unlock(t->mutex);
	return e;
}

static int cond_wait_until(const struct target *t)
{
	return cond_held(t, NULL);
}

static int cond_signal_held(const struct target *t)
{
	return cond_held(t, handoff_cond_signal);
}

static int cond_broadcast_held(const struct target *t)
{
	return cond_held(t, handoff_cond_broadcast);
}

static int signal_twice(handoff_cond *c)
{
	handoff_cond_signal(c);
	return handoff_cond_signal(c);
}

static int cond_signals_held(const struct target *t)
{
	return cond_held(t, signal_twice);
}

/* One for another condition of the mutex, and one for this. */
static int cond_signal_two(const struct target *t)
{
	handoff_cond other;
	int e = handoff_cond_init(&other, NULL);

	if (e == 0)
		e = handoff_mutex_lock_until(t->mutex, deadline(t));
	if (e != 0)
		return e;
	handoff_cond_wait_until(&other, t->mutex, 0);
	handoff_cond_signal(&other);
	e = handoff_cond_signal(t->object);
	handoff_cond_signal(&other);
	handoff_mutex_unlock(t->mutex);
	handoff_cond_destroy(&other);
	return e;
}

static int cond_wait_unheld(const struct target *t)
{
	return handoff_cond_wait_until(t->object, t->mutex, deadline(t));
}

static const struct call cond_calls[] = {
	{ "signal", cond_signal },
	{ "wait_until", cond_wait_until },
	{ "signal, held", cond_signal_held },
	{ "broadcast", cond_broadcast },
	{ "broadcast and wait_until", cond_broadcast_held },
	{ "wait_until, not held", cond_wait_unheld },
	{ "signals and wait_until", cond_signals_held },
	{ "signal of two", cond_signal_two },
	{ "statistics", statistics },
	{ "destroy", cond_destroy },
};

/* ---- Semaphore, event -------------------------------------------------- */

OPEN(sem, 1, NULL)
PLAIN(sem, trywait)
UNTIL(sem, wait)
PLAIN(sem, destroy)

static int sem_post(const struct target *t)
{
	return handoff_sem_post(t->object, 1);
}

static int sem_post_most(const struct target *t)
{
	return handoff_sem_post(t->object, UINT32_MAX);
}

static int sem_value(const struct target *t)
{
	uint32_t value;

	return handoff_sem_value(t->object, &value);
}

static const struct call sem_calls[] = {
	{ "trywait", sem_trywait },
	{ "wait_until", sem_wait_until },
	{ "post", sem_post },
	{ "post, the most", sem_post_most },
	{ "value", sem_value },
	{ "wait_any_until", any },
	{ "wait_until", sem_wait_until },
	{ "statistics", statistics },
	{ "destroy", sem_destroy },
};

OPEN(event, NULL)
PLAIN(event, trywait)
UNTIL(event, wait)
PLAIN(event, set)
PLAIN(event, reset)
PLAIN(event, destroy)

static const struct call event_calls[] = {
	{ "trywait", event_trywait },
	{ "wait_until", event_wait_until },
	{ "set", event_set },
	{ "wait_any_until", any },
	{ "wait_until", event_wait_until },
	{ "reset", event_reset },
	{ "wait_any_until", any },
	{ "statistics", statistics },
	{ "destroy", event_destroy },
};

/* ---- Readers-writer lock ----------------------------------------------- */

OPEN(rwlock, NULL)
PLAIN(rwlock, tryrdlock)
UNTIL(rwlock, rdlock)
PLAIN(rwlock, trywrlock)
UNTIL(rwlock, wrlock)
PLAIN(rwlock, downgrade)
PLAIN(rwlock, consistent)
PLAIN(rwlock, rdunlock)
PLAIN(rwlock, wrunlock)
PLAIN(rwlock, destroy)

static const struct call rwlock_calls[] = {
	{ "rdunlock", rwlock_rdunlock },
	{ "tryrdlock", rwlock_tryrdlock },
	{ "rdlock_until, again", rwlock_rdlock_until },
	{ "consistent", rwlock_consistent },
	{ "trywrlock, reading", rwlock_trywrlock },
	{ "rdunlock", rwlock_rdunlock },
	{ "rdunlock", rwlock_rdunlock },
	{ "trywrlock", rwlock_trywrlock },
	{ "consistent", rwlock_consistent },
	{ "downgrade", rwlock_downgrade },
	{ "rdunlock", rwlock_rdunlock },
	{ "wrunlock", rwlock_wrunlock },
	{ "wrlock_until", rwlock_wrlock_until },
	{ "rdlock_until, writing", rwlock_rdlock_until },
	{ "wrunlock", rwlock_wrunlock },
	{ "rdlock_until", rwlock_rdlock_until },
	{ "statistics", statistics },
	{ "rdunlock", rwlock_rdunlock },
	{ "wrunlock", rwlock_wrunlock },
	{ "destroy", rwlock_destroy },
};

/* ---- Barrier, words, baton --------------------------------------------- */

OPEN(barrier, 2, NULL)
PLAIN(barrier, destroy)

static int barrier_wait_until(const struct target *t)
{
	int last;

	return handoff_barrier_wait_until(t->object, &last, deadline(t));
}

static const struct call barrier_calls[] = {
	{ "wait_until", barrier_wait_until },
	{ "wait_until", barrier_wait_until },
	{ "statistics", statistics },
	{ "destroy", barrier_destroy },
};

#define WORD(type, value_type)                                           \
	OPEN(type, 1, NULL)                                              \
	PLAIN(type, destroy)                                             \
	static int type##_wait_until(const struct target *t)             \
	{                                                                \
		return handoff_##type##_wait_until(t->object,            \
		    handoff_##type##_load(t->object), deadline(t));      \
	}                                                                \
	static int type##_change(const struct target *t)                 \
	{                                                                \
		value_type value = handoff_##type##_load(t->object);     \
                                                                         \
		handoff_##type##_compare_exchange(t->object, &value, 7); \
		handoff_##type##_exchange(t->object, value);             \
		handoff_##type##_add(t->object, 1);                      \
		handoff_##type##_store(t->object, value);                \
		return 0;                                                \
	}                                                                \
	static int type##_wake(const struct target *t)                   \
	{                                                                \
		return handoff_##type##_wake(t->object, 1);              \
	}                                                                \
	static int type##_wake_all(const struct target *t)               \
	{                                                                \
		return handoff_##type##_wake(t->object, HANDOFF_ALL);    \
	}                                                                \
	static int type##_wake_fenced(const struct target *t)            \
	{                                                                \
		return handoff_##type##_wake_fenced(t->object, 1000000); \
	}                                                                \
	static const struct call type##_calls[] = {                      \
		{ "wait_until", type##_wait_until },                     \
		{ "change", type##_change },                             \
		{ "wake", type##_wake },                                 \
		{ "wait_any_until", any },                               \
		{ "wake_fenced", type##_wake_fenced },                   \
		{ "wait_until", type##_wait_until },                     \
		{ "wake all", type##_wake_all },                         \
		{ "statistics", statistics },                            \
		{ "destroy", type##_destroy },                           \
	};

WORD(word32, uint32_t)
WORD(word64, uint64_t)

OPEN(baton, 3, NULL)
PLAIN(baton, destroy)

#define BATON(name, call)                               \
	static int baton_##name(const struct target *t) \
	{                                               \
		return handoff_baton_##call;            \
	}
BATON(turn, turn(t->object, &(uint32_t){ 0 }))
BATON(try0, trywait(t->object, 0))
BATON(wait1, wait_until(t->object, 1, deadline(t)))
BATON(wait63, wait_until(t->object, 63, deadline(t)))
BATON(wait64, wait_until(t->object, 64, deadline(t)))
BATON(waits, wait_until(t->object, UINT32_MAX, deadline(t)))
BATON(pass1, pass(t->object, 1))
BATON(pass63, pass(t->object, 63))
BATON(passes, pass(t->object, UINT32_MAX))
BATON(switch0, switch_until(t->object, 0, 1, deadline(t)))
BATON(switch1, switch_until(t->object, 1, 0, deadline(t)))

static const struct call baton_calls[] = {
	{ "turn", baton_turn },
	{ "trywait of 0", baton_try0 },
	{ "wait_until of 1", baton_wait1 },
	{ "wait_until of 63", baton_wait63 },
	{ "wait_until of 64", baton_wait64 },
	{ "wait_until of the most", baton_waits },
	{ "switch_until of 0", baton_switch0 },
	{ "pass to 1", baton_pass1 },
	{ "switch_until of 1", baton_switch1 },
	{ "pass to 63", baton_pass63 },
	{ "pass to the most", baton_passes },
	{ "trywait of 0", baton_try0 },
	{ "statistics", statistics },
	{ "destroy", baton_destroy },
};

/* ---- All --------------------------------------------------------------- */

#define KIND(type, ends)                                                      \
	{                                                                     \
#type, sizeof(handoff_##type), type##_open, type##_init,      \
		    type##_calls, sizeof type##_calls / sizeof *type##_calls, \
		    ends                                                      \
	}

const struct calls calls[CALLS_KINDS] = {
	[1] = KIND(mutex, 1),
	[2] = KIND(cond, 0),
	[3] = KIND(sem, 0),
	[4] = KIND(event, 0),
	[5] = KIND(rwlock, 2),
	[6] = KIND(barrier, 0),
	[7] = KIND(word32, 0),
	[8] = KIND(word64, 0),
	[9] = KIND(baton, 0),
};

void give_back(const struct calls *kind, const struct target *t)
{
	for (unsigned i = 0; i < kind->ends; i++)
		for (int n = 0; n < 100; n++)
			if (kind->calls[kind->n - 2 - i].run(t) != 0)
				break;
}

int may_result(int e)
{
	static const int results[] = { 0, EINVAL, EPERM, EBUSY, EDEADLK, EAGAIN,
		ETIMEDOUT, EOVERFLOW, EOWNERDEAD, ENOTRECOVERABLE };

	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		if (e == results[i])
			return 1;
	return 0;
}
