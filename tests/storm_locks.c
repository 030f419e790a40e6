/* SPDX-License-Identifier: ISC */
/* The storm's locks: mutexes of all sorts, condition, readers-writer lock. */
#include "storm.h"

#include <errno.h>

#define SOON 2000000000u /* ns; no holder is left in the end */

WAYS(lock, handoff_mutex, handoff_mutex_lock, handoff_mutex_trylock,
    handoff_mutex_lock_until)
WAYS(rdlock, handoff_rwlock, handoff_rwlock_rdlock, handoff_rwlock_tryrdlock,
    handoff_rwlock_rdlock_until)
WAYS(wrlock, handoff_rwlock, handoff_rwlock_wrlock, handoff_rwlock_trywrlock,
    handoff_rwlock_wrlock_until)

static bool has_not(int e)
{
	return e == EBUSY || e == ETIMEDOUT;
}

/* ---- Mutex --------------------------------------------------------------- */

static void lock_again(unsigned kind, unsigned sort, handoff_mutex *m)
{
	int e = IN(kind, CALL_WAIT, handoff_mutex_lock(m));

	MUST(e == (sort == RECURSIVE ? 0 : EDEADLK));
	if (e == 0)
		GIVES0(IN(kind, CALL_GIVE, handoff_mutex_unlock(m)));
	else
		MUST(handoff_mutex_trylock(m) == EBUSY);
}

void act_mutex(unsigned kind)
{
	unsigned sort = (unsigned)storm_kinds[kind].object;
	handoff_mutex *m = &room->mutexes[sort];
	struct guarded *g = &room->guarded[sort];
	int e = get(kind, &lock, m);

	if (has_not(e)) {
		MUST(IN(kind, CALL_GIVE, handoff_mutex_unlock(m)) == EPERM);
		return;
	}
	if (come_in(kind, g, e))
		GIVES0(IN(kind, CALL_OTHER, handoff_mutex_consistent(m)));
	work(g);
	if (chance(4) == 0)
		lock_again(kind, sort, m);
	work(g);
	go_out(g);
	GIVES0(IN(kind, CALL_GIVE, handoff_mutex_unlock(m)));
}

static const char *settle_lock(handoff_mutex *m, struct guarded *g)
{
	int e = handoff_mutex_lock_until(m, handoff_after(SOON));

	if (e != 0 && e != EOWNERDEAD)
		return "the mutex cannot be had in the end";
	if (e == 0 && (g->inside != 0 || g->a != g->b))
		return "a torn pair of which nobody is told";
	if (e == EOWNERDEAD && handoff_mutex_consistent(m) != 0)
		return "not consistent";
	return handoff_mutex_unlock(m) == 0 ? NULL : "not unlocked";
}

const char *settle_mutex(unsigned kind)
{
	size_t sort = storm_kinds[kind].object;

	return settle_lock(&room->mutexes[sort], &room->guarded[sort]);
}

/* ---- A mutex that some give up: the next one has another name ------------ */

struct cell {
	handoff_mutex mutex;
	struct guarded guarded;
	_Atomic uint32_t given_up;
};

void act_mortal(unsigned kind)
{
	struct cell *c = epoch_open(0, kind);
	int e;

	if (!c)
		return;
	e = get(kind, &lock, &c->mutex);
	if (has_not(e))
		return;
	if (e == ENOTRECOVERABLE) {
		MUST(atomic_load(&c->given_up) != 0);
		atomic_fetch_add(&table->tallies[kind].lost, 1);
		epoch_over(0, kind);
		return;
	}
	if (come_in(kind, &c->guarded, e)) {
		if (chance(2) == 0) {
			atomic_store(&c->given_up, 1);
			GIVES0(IN(kind, CALL_GIVE,
			    handoff_mutex_unlock(&c->mutex)));
			return;
		}
		GIVES0(
		    IN(kind, CALL_OTHER, handoff_mutex_consistent(&c->mutex)));
	}
	work(&c->guarded);
	go_out(&c->guarded);
	GIVES0(IN(kind, CALL_GIVE, handoff_mutex_unlock(&c->mutex)));
}

/* ---- Condition: a stock of things ---------------------------------------- */

/* What is in stock follows from what was put and taken, so that nothing else
 * can be torn. */
static uint64_t in_stock(void)
{
	return room->puts - room->takes;
}

static void come_to_stock(unsigned kind, int e)
{
	if (!come_in(kind, &room->stock, e))
		return;
	GIVES0(IN(kind, CALL_GIVE, handoff_cond_broadcast(&room->cond)));
	GIVES0(IN(kind, CALL_OTHER, handoff_mutex_consistent(&room->beside)));
}

static int wait_for_change(unsigned kind, uint64_t deadline)
{
	int e;

	go_out(&room->stock);
	if (deadline == HANDOFF_NEVER)
		e = IN(kind, CALL_WAIT,
		    handoff_cond_wait(&room->cond, &room->beside));
	else
		e = IN(kind, CALL_UNTIL,
		    handoff_cond_wait_until(&room->cond, &room->beside,
		        deadline));
	MUST(e != ETIMEDOUT || handoff_now() >= deadline);
	come_to_stock(kind, e == ETIMEDOUT ? 0 : e);
	return e;
}

static void take_thing(unsigned kind)
{
	uint64_t deadline = chance(3) == 0 ? some_deadline() : HANDOFF_NEVER;

	come_to_stock(kind,
	    IN(kind, CALL_OTHER, handoff_mutex_lock(&room->beside)));
	while (in_stock() == 0)
		if (wait_for_change(kind, deadline) == ETIMEDOUT)
			break;
	if (in_stock() > 0)
		room->takes = room->takes + 1;
	work(&room->stock);
	go_out(&room->stock);
	GIVES0(IN(kind, CALL_OTHER, handoff_mutex_unlock(&room->beside)));
}

static void put_thing(unsigned kind)
{
	uint32_t how = chance(3);

	come_to_stock(kind,
	    IN(kind, CALL_OTHER, handoff_mutex_lock(&room->beside)));
	work(&room->stock);
	room->puts = room->puts + 1;
	if (how == 0)
		GIVES0(IN(kind, CALL_GIVE, handoff_cond_signal(&room->cond)));
	else if (how == 1)
		GIVES0(
		    IN(kind, CALL_GIVE, handoff_cond_broadcast(&room->cond)));
	go_out(&room->stock);
	GIVES0(IN(kind, CALL_OTHER, handoff_mutex_unlock(&room->beside)));
	if (how == 2)
		GIVES0(IN(kind, CALL_GIVE, handoff_cond_signal(&room->cond)));
}

void act_cond(unsigned kind)
{
	if (chance(3) > 0)
		take_thing(kind);
	else
		put_thing(kind);
}

/* Who was killed between its unlock and its signal has told nobody. */
void feed_cond(unsigned kind)
{
	if (!somebody_waits(kind))
		return;
	put_thing(kind);
	if (chance(50) == 0)
		GIVES0(
		    IN(kind, CALL_GIVE, handoff_cond_broadcast(&room->cond)));
}

const char *settle_cond(unsigned kind)
{
	(void)kind;
	if (room->puts < room->takes)
		return "more was taken than was put";
	return settle_lock(&room->beside, &room->stock);
}

/* ---- Readers-writer lock ------------------------------------------------- */

/* Nobody who lives reads. */
static bool nobody_reads(void)
{
	for (unsigned i = 0; i < VICTIMS; i++) {
		uint32_t reading = atomic_load(&table->places[i].reading);

		if (reading != 0 &&
		    atomic_load(&table->places[i].doomed) < reading)
			return false;
	}
	return true;
}

static void look_around(struct guarded *g)
{
	uint32_t a = g->a;

	atomic_store(&here->reading, me / 16);
	MUST(atomic_load(&g->inside) == 0);
	dawdle();
	MUST(atomic_load(&g->inside) == 0);
	MUST(g->a == a && g->b == a);
	atomic_store(&here->reading, 0);
}

static void read_once(unsigned kind)
{
	struct guarded *g = &room->written;
	int e = get(kind, &rdlock, &room->rwlock);

	if (has_not(e))
		return;
	MUST(e == 0 || e == EOWNERDEAD);
	if (e == EOWNERDEAD) {
		come_in(kind, g, e);
		MUST(nobody_reads());
		work(g);
		go_out(g);
		GIVES0(IN(kind, CALL_OTHER,
		    handoff_rwlock_consistent(&room->rwlock)));
	}
	look_around(g);
	if (chance(4) == 0) {
		GIVES0(
		    IN(kind, CALL_WAIT, handoff_rwlock_rdlock(&room->rwlock)));
		look_around(g);
		GIVES0(IN(kind, CALL_GIVE,
		    handoff_rwlock_rdunlock(&room->rwlock)));
	}
	look_around(g);
	GIVES0(IN(kind, CALL_GIVE, handoff_rwlock_rdunlock(&room->rwlock)));
}

static void write_once(unsigned kind)
{
	struct guarded *g = &room->written;
	int e = get(kind, &wrlock, &room->rwlock);

	if (has_not(e))
		return;
	if (come_in(kind, g, e))
		GIVES0(IN(kind, CALL_OTHER,
		    handoff_rwlock_consistent(&room->rwlock)));
	MUST(nobody_reads());
	work(g);
	MUST(nobody_reads());
	go_out(g);
	if (chance(4) == 0) {
		GIVES0(IN(kind, CALL_GIVE,
		    handoff_rwlock_downgrade(&room->rwlock)));
		look_around(g);
		GIVES0(IN(kind, CALL_GIVE,
		    handoff_rwlock_rdunlock(&room->rwlock)));
	} else {
		GIVES0(IN(kind, CALL_GIVE,
		    handoff_rwlock_wrunlock(&room->rwlock)));
	}
}

void act_rwlock(unsigned kind)
{
	if (chance(3) == 0)
		write_once(kind);
	else
		read_once(kind);
}

const char *settle_rwlock(unsigned kind)
{
	const struct guarded *g = &room->written;
	int e = handoff_rwlock_wrlock_until(&room->rwlock, handoff_after(SOON));

	(void)kind;
	if (e != 0 && e != EOWNERDEAD)
		return "it cannot be written in the end";
	if (e == 0 && (g->inside != 0 || g->a != g->b))
		return "a torn pair of which nobody is told";
	if (e == EOWNERDEAD && handoff_rwlock_consistent(&room->rwlock) != 0)
		return "not consistent";
	return handoff_rwlock_wrunlock(&room->rwlock) == 0 ? NULL :
	                                                     "not unlocked";
}
