/* SPDX-License-Identifier: ISC */
/* What can be held by one that ends. */
#include "mortals.h"

#include <errno.h>

#define MORTALS (sizeof mortals / sizeof *mortals)

/* ---- Mutex ------------------------------------------------------------- */

static int init_mutex(struct thing *t)
{
	return handoff_mutex_init(&t->mutex, NULL);
}

static int init_recursive(struct thing *t)
{
	const struct handoff_mutex_attr attr = { .size = sizeof attr,
		.flags = HANDOFF_RECURSIVE };

	return handoff_mutex_init(&t->mutex, &attr);
}

static int init_checking(struct thing *t)
{
	const struct handoff_mutex_attr attr = { .size = sizeof attr,
		.flags = HANDOFF_ERRORCHECK };

	return handoff_mutex_init(&t->mutex, &attr);
}

static int lock(struct thing *t)
{
	return handoff_mutex_lock(&t->mutex);
}

static int lock_thrice(struct thing *t)
{
	int e = 0;

	for (int i = 0; i < 3 && e == 0; i++)
		e = lock(t);
	return e;
}

static int lock_until(struct thing *t, unsigned who, uint64_t deadline)
{
	(void)who;
	return handoff_mutex_lock_until(&t->mutex, deadline);
}

static int trylock(struct thing *t, unsigned who)
{
	(void)who;
	return handoff_mutex_trylock(&t->mutex);
}

static int mend_mutex(struct thing *t)
{
	return handoff_mutex_consistent(&t->mutex);
}

static int unlock(struct thing *t)
{
	return handoff_mutex_unlock(&t->mutex);
}

static int unlock_thrice(struct thing *t)
{
	int e = 0;

	for (int i = 0; i < 3 && e == 0; i++)
		e = unlock(t);
	return e;
}

/* ---- Condition: one waits for it, and the mutex's holder ends ------------- */

static int init_waits(struct thing *t)
{
	int e = handoff_mutex_init(&t->waits.mutex, NULL);

	return e != 0 ? e : handoff_cond_init(&t->waits.cond, NULL);
}

static int hold_waits(struct thing *t)
{
	return handoff_mutex_lock(&t->waits.mutex);
}

static int drop_waits(struct thing *t)
{
	int e = handoff_cond_broadcast(&t->waits.cond);

	return e != 0 ? e : handoff_mutex_unlock(&t->waits.mutex);
}

/* Who comes later finds nothing to wait for: `next` is not 0 any more. */
static int take_waits(struct thing *t, unsigned who, uint64_t deadline)
{
	int e = handoff_mutex_lock_until(&t->waits.mutex, deadline);

	(void)who;
	while (e == 0 && t->next == 0) {
		e = handoff_cond_wait_until(&t->waits.cond, &t->waits.mutex,
		    deadline);
		if (e == ETIMEDOUT)
			handoff_mutex_unlock(&t->waits.mutex);
	}
	return e;
}

static int mend_waits(struct thing *t)
{
	int e = handoff_mutex_consistent(&t->waits.mutex);

	return e != 0 ? e : handoff_cond_broadcast(&t->waits.cond);
}

/* ---- Readers-writer lock ------------------------------------------------- */

static int init_rwlock(struct thing *t)
{
	return handoff_rwlock_init(&t->rwlock, NULL);
}

static int write_lock(struct thing *t)
{
	return handoff_rwlock_wrlock(&t->rwlock);
}

static int read_lock(struct thing *t)
{
	return handoff_rwlock_rdlock(&t->rwlock);
}

static int read_thrice(struct thing *t)
{
	int e = 0;

	for (int i = 0; i < 3 && e == 0; i++)
		e = read_lock(t);
	return e;
}

static int downgrade(struct thing *t)
{
	int e = write_lock(t);

	return e != 0 ? e : handoff_rwlock_downgrade(&t->rwlock);
}

static int write_until(struct thing *t, unsigned who, uint64_t deadline)
{
	(void)who;
	return handoff_rwlock_wrlock_until(&t->rwlock, deadline);
}

static int read_until(struct thing *t, unsigned who, uint64_t deadline)
{
	(void)who;
	return handoff_rwlock_rdlock_until(&t->rwlock, deadline);
}

static int try_write(struct thing *t, unsigned who)
{
	(void)who;
	return handoff_rwlock_trywrlock(&t->rwlock);
}

static int try_read(struct thing *t, unsigned who)
{
	(void)who;
	return handoff_rwlock_tryrdlock(&t->rwlock);
}

static int mend_rwlock(struct thing *t)
{
	return handoff_rwlock_consistent(&t->rwlock);
}

static int write_unlock(struct thing *t)
{
	return handoff_rwlock_wrunlock(&t->rwlock);
}

static int read_unlock(struct thing *t)
{
	return handoff_rwlock_rdunlock(&t->rwlock);
}

static int read_unlock_thrice(struct thing *t)
{
	int e = 0;

	for (int i = 0; i < 3 && e == 0; i++)
		e = read_unlock(t);
	return e;
}

/* ---- Several at once ----------------------------------------------------- */

static int init_several(struct thing *t)
{
	int e = handoff_rwlock_init(&t->several.written, NULL);

	if (e == 0)
		e = handoff_rwlock_init(&t->several.read, NULL);
	for (unsigned i = 0; i < SEVERAL && e == 0; i++)
		e = handoff_mutex_init(&t->several.mutex[i], NULL);
	return e;
}

static int hold_several(struct thing *t)
{
	int e = 0;

	for (unsigned i = 0; i < SEVERAL && e == 0; i++)
		e = handoff_mutex_lock(&t->several.mutex[i]);
	if (e == 0)
		e = handoff_rwlock_wrlock(&t->several.written);
	return e != 0 ? e : handoff_rwlock_rdlock(&t->several.read);
}

/* Each is told alike, but of the one that was read. */
static int take_several(struct thing *t, unsigned who, uint64_t deadline)
{
	int e = handoff_mutex_lock_until(&t->several.mutex[0], deadline);

	(void)who;
	if (e != 0 && e != EOWNERDEAD)
		return e;
	for (unsigned i = 1; i < SEVERAL; i++)
		if (handoff_mutex_lock_until(&t->several.mutex[i], deadline) !=
		    e)
			return EINVAL;
	if (handoff_rwlock_wrlock_until(&t->several.written, deadline) != e)
		return EINVAL;
	/* It was written by one that has it in good order. */
	if (handoff_rwlock_wrlock_until(&t->several.read, deadline) %
	    EOWNERDEAD)
		return EINVAL;
	return e;
}

static int mend_several(struct thing *t)
{
	int e = handoff_rwlock_consistent(&t->several.written);

	for (unsigned i = 0; i < SEVERAL && e == 0; i++)
		e = handoff_mutex_consistent(&t->several.mutex[i]);
	if (e == 0)
		handoff_rwlock_consistent(&t->several.read);
	return e;
}

static int drop_several(struct thing *t)
{
	int e = handoff_rwlock_rdunlock(&t->several.read);

	if (e == EPERM)
		e = handoff_rwlock_wrunlock(&t->several.read);
	if (e == 0)
		e = handoff_rwlock_wrunlock(&t->several.written);
	for (unsigned i = SEVERAL; i-- > 0 && e == 0;)
		e = handoff_mutex_unlock(&t->several.mutex[i]);
	return e;
}

/* ---- Parties ------------------------------------------------------------- */

static int init_baton(struct thing *t)
{
	return handoff_baton_init(&t->baton, LAST + 1, NULL);
}

static int first_turn(struct thing *t)
{
	return handoff_baton_wait(&t->baton, 0);
}

static int take_turn(struct thing *t, unsigned who, uint64_t deadline)
{
	return handoff_baton_wait_until(&t->baton, who, deadline);
}

static int try_turn(struct thing *t, unsigned who)
{
	return handoff_baton_trywait(&t->baton, who);
}

static int pass(struct thing *t)
{
	return handoff_baton_pass(&t->baton, t->next);
}

static int init_barrier(struct thing *t)
{
	return handoff_barrier_init(&t->barrier, 2, NULL);
}

/* Known there, and gone again. */
static int come_and_go(struct thing *t)
{
	int e = handoff_barrier_wait_until(&t->barrier, NULL, soon(0.01));

	return e == ETIMEDOUT ? 0 : EINVAL;
}

static int arrive(struct thing *t)
{
	return handoff_barrier_wait_until(&t->barrier, NULL, soon(20));
}

static int meet(struct thing *t, unsigned who, uint64_t deadline)
{
	(void)who;
	return handoff_barrier_wait_until(&t->barrier, NULL, deadline);
}

static int nothing(struct thing *t)
{
	(void)t;
	return 0;
}

/* ---- All ----------------------------------------------------------------- */

const struct mortal mortals[] = {
	{ "mutex", init_mutex, lock, unlock, lock_until, trylock, mend_mutex,
	    unlock, EOWNERDEAD, EOWNERDEAD, 1, EBUSY, 0, 0 },
	{ "recursive mutex", init_recursive, lock_thrice, unlock_thrice,
	    lock_until, trylock, mend_mutex, unlock, EOWNERDEAD, EOWNERDEAD, 1,
	    EBUSY, 0, 0 },
	{ "checking mutex", init_checking, lock, unlock, lock_until, trylock,
	    mend_mutex, unlock, EOWNERDEAD, EOWNERDEAD, 1, EBUSY, 0, 0 },
	{ "condition's mutex", init_waits, hold_waits, drop_waits, take_waits,
	    NULL, mend_waits, drop_waits, EOWNERDEAD, EOWNERDEAD, 1, EBUSY, 1,
	    0 },
	{ "write, write", init_rwlock, write_lock, write_unlock, write_until,
	    try_write, mend_rwlock, write_unlock, EOWNERDEAD, EOWNERDEAD, 1,
	    EBUSY, 0, 0 },
	{ "write, read", init_rwlock, write_lock, write_unlock, read_until,
	    try_read, mend_rwlock, read_unlock, EOWNERDEAD, 0, 1, EBUSY, 0, 0 },
	{ "read, write", init_rwlock, read_lock, read_unlock, write_until,
	    try_write, mend_rwlock, write_unlock, 0, EOWNERDEAD, 1, EBUSY, 0,
	    0 },
	{ "read thrice, write", init_rwlock, read_thrice, read_unlock_thrice,
	    write_until, try_write, mend_rwlock, write_unlock, 0, EOWNERDEAD, 1,
	    EBUSY, 0, 0 },
	{ "downgrade, write", init_rwlock, downgrade, read_unlock, write_until,
	    try_write, mend_rwlock, write_unlock, 0, EOWNERDEAD, 1, EBUSY, 0,
	    0 },
	{ "several", init_several, hold_several, drop_several, take_several,
	    NULL, mend_several, drop_several, EOWNERDEAD, EOWNERDEAD, 1, EBUSY,
	    0, 0 },
	{ "baton", init_baton, first_turn, pass, take_turn, try_turn, NULL,
	    pass, EOWNERDEAD, EOWNERDEAD, 0, 0, 0, 0 },
	{ "barrier", init_barrier, come_and_go, arrive, meet, NULL, NULL,
	    nothing, EOWNERDEAD, EOWNERDEAD, 0, 0, 0, 1 },
};

const unsigned mortals_count = MORTALS;

struct room {
	struct thing things[MORTALS];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *unused)
{
	struct room *r = memory;
	int e = 0;

	(void)bytes;
	(void)unused;
	for (unsigned i = 0; i < MORTALS && e == 0; i++)
		e = mortals[i].init(&r->things[i]);
	return e;
}

struct thing *thing_at(struct room *r, unsigned line)
{
	return &r->things[line];
}
