/* SPDX-License-Identifier: ISC */
/* The ways in which a waker lets others go. */
#include "wakers.h"

#include "object.h"
#include "parked.h"

/* ---- What can be seen of it ----------------------------------------------- */

static uint64_t owner(const void *mutex)
{
	const struct handoff__mutex *m = mutex;
	uint32_t v = atomic_load(&m->word) & HANDOFF__OWNER;

	return v < HANDOFF__TOKENS ? 0 : v;
}

static uint64_t see_mutex(struct room *r)
{
	return owner(&r->mutex);
}

static uint64_t see_rwlock(struct room *r)
{
	return owner(&r->rwlock);
}

static uint64_t see_readers(struct room *r)
{
	const struct handoff__rwlock *rw = (const void *)&r->rwlock;
	uint64_t n = 0;

	for (unsigned i = 0; i < HANDOFF__READERS; i++)
		n += atomic_load(&rw->readers[i]) & ~HANDOFF__MARK;
	return n;
}

static uint64_t see_item(struct room *r)
{
	return r->ready != 0 && owner(&r->beside) == 0;
}

/* A wake on its way. */
static uint64_t see_due(struct room *r)
{
	const struct handoff__cond *c = (const void *)&r->cond;

	return handoff__due(atomic_load(&c->state));
}

static uint64_t see_sem(struct room *r)
{
	uint32_t value = 0;

	handoff_sem_value(&r->sem, &value);
	return value;
}

static uint64_t see_event(struct room *r)
{
	const struct handoff__event *e = (const void *)&r->event;

	return atomic_load(&e->word) & ~HANDOFF__MARK;
}

static uint64_t see_word32(struct room *r)
{
	return handoff_word32_load(&r->word32);
}

static uint64_t see_word64(struct room *r)
{
	return handoff_word64_load(&r->word64);
}

static uint64_t see_generation(struct room *r)
{
	const struct handoff__barrier *b = (const void *)&r->barrier;

	return atomic_load(&b->state) & 0x3fffffffu;
}

static uint64_t see_turn(struct room *r)
{
	uint32_t turn = 0;

	handoff_baton_turn(&r->baton, &turn);
	return turn;
}

/* ---- Other ways ----------------------------------------------------------- */

static int signal_naked(struct room *r)
{
	int e = handoff_mutex_lock(&r->beside);

	r->ready = 1;
	if (e == 0)
		e = handoff_mutex_unlock(&r->beside);
	return e != 0 ? e : handoff_cond_signal(&r->cond);
}

static int give_two(struct room *r, int (*notify)(handoff_cond *cond))
{
	int e = handoff_mutex_lock(&r->beside);

	r->ready = 2;
	if (e == 0)
		e = notify(&r->cond);
	if (e == 0)
		e = notify(&r->cond);
	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

static int broadcast(struct room *r)
{
	return give_two(r, handoff_cond_broadcast);
}

static int signal_two(struct room *r)
{
	return give_two(r, handoff_cond_signal);
}

static int post_two(struct room *r)
{
	return handoff_sem_post(&r->sem, 2);
}

static int post_twice(struct room *r)
{
	int e = handoff_sem_post(&r->sem, 1);

	return e != 0 ? e : handoff_sem_post(&r->sem, 1);
}

static int wait_word(struct room *r, uint64_t deadline)
{
	return handoff_word32_wait_until(&r->word32, 0, deadline);
}

static int wake_all(struct room *r)
{
	handoff_word32_store(&r->word32, 1);
	return handoff_word32_wake(&r->word32, HANDOFF_ALL);
}

static int wake_fenced(struct room *r)
{
	handoff_word32_store(&r->word32, 1);
	return handoff_word32_wake_fenced(&r->word32, 2);
}

static int wake_twice(struct room *r)
{
	int e;

	handoff_word32_store(&r->word32, 1);
	e = handoff_word32_wake(&r->word32, 1);
	return e != 0 ? e : handoff_word32_wake(&r->word32, 1);
}

static int hold_read(struct room *r)
{
	return handoff_rwlock_rdlock(&r->rwlock);
}

static int read_unlock(struct room *r)
{
	return handoff_rwlock_rdunlock(&r->rwlock);
}

static int downgrade(struct room *r)
{
	return handoff_rwlock_downgrade(&r->rwlock);
}

static int switch_over(struct room *r)
{
	return handoff_baton_switch_until(&r->baton, 0, 1, soon(10));
}

/* ---- All ------------------------------------------------------------------ */

const struct waker wakers[] = {
	{ "unlock", AT_MUTEX, 2, NULL, NULL, NULL, 1, see_mutex },
	{ "wrunlock, readers", AT_READ, 2, NULL, NULL, NULL, 1, see_rwlock },
	{ "wrunlock, writers", AT_WRITE, 2, NULL, NULL, NULL, 1, see_rwlock },
	{ "rdunlock, writers", AT_WRITE, 2, hold_read, NULL, read_unlock, 1,
	    see_readers },
	{ "downgrade, readers", AT_READ, 2, NULL, NULL, downgrade, 1,
	    see_rwlock },
	{ "signal, unlock", AT_COND, 1, NULL, NULL, NULL, 0, see_item },
	{ "unlock, signal", AT_COND, 1, NULL, NULL, signal_naked, 0, see_due },
	{ "two signals", AT_COND, 2, NULL, NULL, signal_two, 0, see_item },
	{ "broadcast, unlock", AT_COND, 2, NULL, NULL, broadcast, 0, see_item },
	{ "post", AT_SEM, 1, NULL, NULL, NULL, 0, see_sem },
	{ "post of two", AT_SEM, 2, NULL, NULL, post_two, 0, see_sem },
	{ "two posts", AT_SEM, 2, NULL, NULL, post_twice, 0, NULL },
	{ "set", AT_EVENT, 1, NULL, NULL, NULL, 0, see_event },
	{ "set of any", AT_ANY, 1, NULL, NULL, NULL, 0, see_event },
	{ "wake", AT_WORD32, 1, NULL, NULL, NULL, 0, see_word32 },
	{ "wake, 64 bits", AT_WORD64, 1, NULL, NULL, NULL, 0, see_word64 },
	{ "wake of all", AT_WORD32, 2, NULL, wait_word, wake_all, 0,
	    see_word32 },
	{ "two wakes", AT_WORD32, 2, NULL, wait_word, wake_twice, 0,
	    see_word32 },
	{ "fenced wake", AT_WORD32, 2, NULL, wait_word, wake_fenced, 0,
	    see_word32 },
	{ "arrival", AT_BARRIER, 1, NULL, NULL, NULL, 1, see_generation },
	{ "pass", AT_BATON, 1, NULL, NULL, NULL, 1, see_turn },
	{ "switch", AT_BATON, 1, NULL, NULL, switch_over, 1, see_turn },
};

const unsigned wakers_count = sizeof wakers / sizeof *wakers;

int waker_hold(const struct waker *w, struct room *r)
{
	int (*hold)(struct room * r) = w->hold ? w->hold :
	                                         primitives[w->at].hold;

	return hold ? hold(r) : 0;
}

int waker_wait(const struct waker *w, struct room *r, uint64_t deadline)
{
	return w->wait ? w->wait(r, deadline) :
	                 primitives[w->at].wait(r, deadline);
}

int waker_let_go(const struct waker *w, struct room *r)
{
	return w->let_go ? w->let_go(r) : primitives[w->at].let_go(r);
}
