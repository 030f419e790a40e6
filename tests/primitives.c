/* SPDX-License-Identifier: ISC */
/* One object of each kind, and what waiting for it is. */
#include "primitives.h"

#include <errno.h>

const size_t room_bytes = sizeof(struct room);

/* The attributes of all kinds begin alike. */
#define WITH(kind, its_flags)                                            \
	&(struct handoff_##kind##_attr)                                  \
	{                                                                \
		.size = sizeof(struct handoff_##kind##_attr),            \
		.flags = (its_flags), .policy = made ? made->policy : 0, \
		.wait_limit = made ? made->limit : 0                     \
	}
#define ATTR(kind) WITH(kind, 0)

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct made *made = arg;
	struct room *r = memory;
	int e[] = { handoff_mutex_init(&r->mutex, ATTR(mutex)),
		handoff_mutex_init(&r->recursive,
		    WITH(mutex, HANDOFF_RECURSIVE)),
		handoff_mutex_init(&r->beside, ATTR(mutex)),
		handoff_cond_init(&r->cond, ATTR(cond)),
		handoff_rwlock_init(&r->rwlock, ATTR(rwlock)),
		handoff_sem_init(&r->sem, 0, ATTR(sem)),
		handoff_event_init(&r->event, ATTR(event)),
		handoff_event_init(&r->manual,
		    WITH(event, HANDOFF_EVENT_MANUAL)),
		handoff_word32_init(&r->word32, 0, ATTR(word)),
		handoff_word64_init(&r->word64, 0, ATTR(word)),
		handoff_barrier_init(&r->barrier, 2, ATTR(barrier)),
		handoff_baton_init(&r->baton, 2, ATTR(baton)),
		handoff_baton_init(&r->turns, 2, ATTR(baton)) };

	(void)bytes;
	for (size_t i = 0; i < sizeof e / sizeof *e; i++)
		if (e[i] != 0)
			return e[i];
	return 0;
}

struct handoff_thread_statistics done_so_far(void)
{
	struct handoff_thread_statistics s = { .size = sizeof s };

	/* Zero with a wrong size, which no test expects. */
	if (handoff_thread_statistics(&s) != 0)
		s.size = 0;
	return s;
}

/* ---- Locks ------------------------------------------------------------- */

static int hold_mutex(struct room *r)
{
	return handoff_mutex_lock(&r->mutex);
}

static int wait_mutex(struct room *r, uint64_t deadline)
{
	int e = handoff_mutex_lock_until(&r->mutex, deadline);

	return e != 0 ? e : handoff_mutex_unlock(&r->mutex);
}

static int let_go_mutex(struct room *r)
{
	return handoff_mutex_unlock(&r->mutex);
}

static int hold_recursive(struct room *r)
{
	int e = handoff_mutex_lock(&r->recursive);

	return e != 0 ? e : handoff_mutex_lock(&r->recursive);
}

static int let_go_recursive(struct room *r)
{
	int e = handoff_mutex_unlock(&r->recursive);

	return e != 0 ? e : handoff_mutex_unlock(&r->recursive);
}

static int wait_recursive(struct room *r, uint64_t deadline)
{
	int e = handoff_mutex_lock_until(&r->recursive, deadline);

	if (e != 0)
		return e;
	e = handoff_mutex_lock_until(&r->recursive, deadline);
	return e != 0 ? e : let_go_recursive(r);
}

static int hold_rwlock(struct room *r)
{
	return handoff_rwlock_wrlock(&r->rwlock);
}

static int wait_read(struct room *r, uint64_t deadline)
{
	int e = handoff_rwlock_rdlock_until(&r->rwlock, deadline);

	return e != 0 ? e : handoff_rwlock_rdunlock(&r->rwlock);
}

static int wait_write(struct room *r, uint64_t deadline)
{
	int e = handoff_rwlock_wrlock_until(&r->rwlock, deadline);

	return e != 0 ? e : handoff_rwlock_wrunlock(&r->rwlock);
}

static int let_go_rwlock(struct room *r)
{
	return handoff_rwlock_wrunlock(&r->rwlock);
}

/* ---- Condition --------------------------------------------------------- */

static int wait_cond(struct room *r, uint64_t deadline)
{
	int e = handoff_mutex_lock(&r->beside);
	int unlocked;

	if (e != 0)
		return e;
	while (!r->ready && e == 0)
		e = handoff_cond_wait_until(&r->cond, &r->beside, deadline);
	if (e == EOWNERDEAD) /* as for the others: it is held */
		return e;
	if (e == 0)
		r->ready--;
	unlocked = handoff_mutex_unlock(&r->beside);
	return e != 0 ? e : unlocked;
}

static int let_go_cond(struct room *r)
{
	int e = handoff_mutex_lock(&r->beside);

	if (e != 0)
		return e;
	r->ready = 1;
	e = handoff_cond_signal(&r->cond);
	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

/* ---- Semaphore, event, word, any of several ------------------------------- */

static int wait_sem(struct room *r, uint64_t deadline)
{
	return handoff_sem_wait_until(&r->sem, deadline);
}

static int let_go_sem(struct room *r)
{
	return handoff_sem_post(&r->sem, 1);
}

static int wait_event(struct room *r, uint64_t deadline)
{
	return handoff_event_wait_until(&r->event, deadline);
}

static int let_go_event(struct room *r)
{
	return handoff_event_set(&r->event);
}

static int wait_manual(struct room *r, uint64_t deadline)
{
	int e = handoff_event_wait_until(&r->manual, deadline);

	return e != 0 ? e : handoff_event_reset(&r->manual);
}

static int let_go_manual(struct room *r)
{
	return handoff_event_set(&r->manual);
}

static int wait_word32(struct room *r, uint64_t deadline)
{
	int e = handoff_word32_wait_until(&r->word32, 0, deadline);

	if (e == 0)
		handoff_word32_store(&r->word32, 0);
	return e;
}

static int let_go_word32(struct room *r)
{
	handoff_word32_store(&r->word32, 1);
	return handoff_word32_wake(&r->word32, 1);
}

static int wait_word64(struct room *r, uint64_t deadline)
{
	int e = handoff_word64_wait_until(&r->word64, 0, deadline);

	if (e == 0)
		handoff_word64_store(&r->word64, 0);
	return e;
}

static int let_go_word64(struct room *r)
{
	handoff_word64_store(&r->word64, 1);
	return handoff_word64_wake(&r->word64, 1);
}

static int wait_any(struct room *r, uint64_t deadline)
{
	struct handoff_item items[] = { { &r->sem, 0 }, { &r->event, 0 },
		{ &r->word32, 0 } };
	size_t which = 0;
	int e = handoff_wait_any_until(items, 3, &which, deadline);

	return e == 0 && which != 1 ? -1 : e;
}

/* ---- Parties ----------------------------------------------------------- */

static int wait_barrier(struct room *r, uint64_t deadline)
{
	return handoff_barrier_wait_until(&r->barrier, NULL, deadline);
}

static int let_go_barrier(struct room *r)
{
	return handoff_barrier_wait_until(&r->barrier, NULL, soon(10));
}

static int hold_baton(struct room *r)
{
	return handoff_baton_wait(&r->baton, 0);
}

static int wait_baton(struct room *r, uint64_t deadline)
{
	int e = handoff_baton_wait_until(&r->baton, 1, deadline);

	return e != 0 ? e : handoff_baton_pass(&r->baton, 0);
}

static int let_go_baton(struct room *r)
{
	return handoff_baton_pass(&r->baton, 1);
}

/* The first time the turn is passed to the partner. */
static int wait_switch(struct room *r, uint64_t deadline)
{
	uint32_t turn;
	int e = handoff_baton_turn(&r->turns, &turn);

	if (e != 0 || turn == 1)
		return e != 0 ?
		    e :
		    handoff_baton_wait_until(&r->turns, 0, deadline);
	e = handoff_baton_wait(&r->turns, 0);
	return e != 0 ? e :
	                handoff_baton_switch_until(&r->turns, 0, 1, deadline);
}

static int let_go_switch(struct room *r)
{
	int e = handoff_baton_wait_until(&r->turns, 1, soon(10));

	return e != 0 ? e : handoff_baton_pass(&r->turns, 0);
}

/* ---- All --------------------------------------------------------------- */

#define DESTROYS(kind)                                   \
	static int destroy_##kind(void *object)          \
	{                                                \
		return handoff_##kind##_destroy(object); \
	}
DESTROYS(mutex)
DESTROYS(rwlock)
DESTROYS(cond)
DESTROYS(sem)
DESTROYS(event)
DESTROYS(word32)
DESTROYS(word64)
DESTROYS(barrier)
DESTROYS(baton)

#define ITS(kind, field) offsetof(struct room, field), destroy_##kind

/* A reader that finds a writer locks its mutex first; a condition's waiter
 * locks the mutex last. */
const struct primitive primitives[PRIMITIVES] = {
	[AT_MUTEX] = { "mutex", hold_mutex, wait_mutex, let_go_mutex, 1, 0,
	    ITS(mutex, mutex), 1, EOWNERDEAD },
	[AT_RECURSIVE] = { "recursive", hold_recursive, wait_recursive,
	    let_go_recursive, 1, 0, ITS(mutex, recursive), 1, EOWNERDEAD },
	[AT_READ] = { "read", hold_rwlock, wait_read, let_go_rwlock, 2, 0,
	    ITS(rwlock, rwlock), 1, EOWNERDEAD },
	[AT_WRITE] = { "write", hold_rwlock, wait_write, let_go_rwlock, 2, 0,
	    ITS(rwlock, rwlock), 1, EOWNERDEAD },
	[AT_COND] = { "cond", NULL, wait_cond, let_go_cond, 2, 0,
	    ITS(cond, cond), 0, 0 },
	[AT_SEM] = { "sem", NULL, wait_sem, let_go_sem, 1, 0, ITS(sem, sem), 0,
	    0 },
	[AT_EVENT] = { "event", NULL, wait_event, let_go_event, 1, 0,
	    ITS(event, event), 0, 0 },
	[AT_MANUAL] = { "manual", NULL, wait_manual, let_go_manual, 1, 0,
	    ITS(event, manual), 0, 0 },
	[AT_WORD32] = { "word32", NULL, wait_word32, let_go_word32, 1, 0,
	    ITS(word32, word32), 0, 0 },
	[AT_WORD64] = { "word64", NULL, wait_word64, let_go_word64, 1, 0,
	    ITS(word64, word64), 0, 0 },
	[AT_BARRIER] = { "barrier", NULL, wait_barrier, let_go_barrier, 1, 1,
	    ITS(barrier, barrier), 0, EOWNERDEAD },
	[AT_BATON] = { "baton", hold_baton, wait_baton, let_go_baton, 1, 0,
	    ITS(baton, baton), 0, EOWNERDEAD },
	[AT_SWITCH] = { "switch", NULL, wait_switch, let_go_switch, 1, 1,
	    ITS(baton, turns), 0, EOWNERDEAD },
	[AT_ANY] = { "any", NULL, wait_any, let_go_event, 1, 0,
	    ITS(event, event), 0, 0 },
};
