/* SPDX-License-Identifier: ISC */
/*
 * The barrier: parties of any processes wait for each other.
 *
 * THE WORDS
 *   state        arrived 32 | MARK | BROKEN | generation 30  (one atomic)
 *     generation moves when all have come; with MARK and BROKEN the half to
 *                park on
 *     arrived    how many have come in this generation
 *     MARK       somebody may be parked
 *     BROKEN     a party has died, for ever
 *   tokens[]     the processes that have used it in a segment, as far as there
 *                is room
 *
 *   arrive       arrived + 1; the last: generation + 1, arrived = 0, MARK
 *                cleared; if it was set all are woken
 *   wait         over when the generation has moved; broken when BROKEN
 *   mark         the generation being the same
 *   withdraw     arrived - 1, the generation being the same: at the deadline
 *   break        BROKEN, MARK cleared, all woken: by a waiter that finds a
 *                known process dead, the generation being the same
 *
 * INVARIANTS
 *   Nobody leaves a generation with 0 before all have come.  A generation that
 *   is complete stays so: who waits for it looks at that first.
 *
 * NO WAKE IS LOST
 *   A step that ends the wait of others changes the half, and so comes before a
 *   mark, which then fails, as the park does, or sees it; it wakes all.
 *
 * WHAT A DEATH LEAVES
 *   party, at work        a token: a waiter finds it dead and breaks the
 *                         barrier
 *   party, arrived        the same, and one that counts in this generation
 *   last, before the wake a generation that has moved: the others find it at
 *                         their slice's end
 *   breaker, likewise     BROKEN, found in the same way
 *
 * DESTROYED WHEN
 *   all waits of this generation are over.  Those of this process that were
 *   woken and still look are waited for.
 */
#include "making.h"
#include "parked.h"
#include "points.h"
#include "segment.h"
#include "site.h"

#include <errno.h>

#define MARK HANDOFF__MARK
#define BROKEN 0x40000000u
#define GENERATION 0x3fffffffu
#define ARRIVED_ONE ((uint64_t)1 << 32)

static struct handoff__barrier *barrier_of(handoff_barrier *barrier)
{
	return handoff__is(barrier, HANDOFF__BARRIER) ?
	    (struct handoff__barrier *)barrier :
	    NULL;
}

static uint32_t generation(uint64_t state)
{
	return (uint32_t)state & GENERATION;
}

static uint32_t arrived(uint64_t state)
{
	return (uint32_t)(state >> 32);
}

static struct handoff__place place_of(const struct handoff__barrier *b)
{
	return (struct handoff__place){ .segment = b->head.segment,
		.key = b->head.id,
		.word = handoff__low_half(&b->state) };
}

/* ---- Parties ----------------------------------------------------------- */

/*
 * This process is known from now on.  All threads of a process search in one
 * order, and slots never become free, so that it takes one only.
 */
static void join(struct handoff__barrier *b, uint32_t token)
{
	for (unsigned n = 0; n < HANDOFF__PARTIES; n++) {
		_Atomic uint32_t *at =
		    &b->tokens[(token + n) % HANDOFF__PARTIES];
		uint32_t v = atomic_load(at);

		HANDOFF__POINT();
		if (v == token ||
		    (v == 0 &&
		        (atomic_compare_exchange_strong(at, &v, token) ||
		            v == token)))
			return;
	}
}

/* ---- Waiting ----------------------------------------------------------- */

/* x->value is the generation that is waited for to end. */
static int look(struct handoff__site *x)
{
	struct handoff__barrier *b = x->object;
	/* Pairs with the arrival of the last. */
	uint64_t v = atomic_load(&b->state);

	x->seen = (uint32_t)v;
	if (generation(v) != x->value)
		return 0;
	return v & BROKEN ? EOWNERDEAD : EBUSY;
}

static bool mark(struct handoff__site *x)
{
	struct handoff__barrier *b = x->object;
	uint64_t v = atomic_load(&b->state);

	x->expected = x->seen | MARK;
	do {
		if (((uint32_t)v | MARK) != x->expected)
			return false;
		if (v & MARK)
			return true;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&b->state, &v, v | MARK));
	HANDOFF__POINT();
	return true;
}

/* A party has died, and we have its life byte. */
static int break_it(struct handoff__site *x)
{
	struct handoff__barrier *b = x->object;
	uint64_t v = atomic_load(&b->state);

	do {
		if (generation(v) != x->value || (v & BROKEN))
			return EBUSY; /* look says which */
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&b->state, &v,
	    (v & ~(uint64_t)MARK) | BROKEN));
	HANDOFF__POINT();
	if (v & MARK)
		handoff__unpark(&x->place, HANDOFF__ALL);
	return EOWNERDEAD;
}

static int dead(struct handoff__site *x)
{
	struct handoff__barrier *b = x->object;
	int e = EBUSY;

	for (unsigned n = 0; n < HANDOFF__PARTIES && e == EBUSY; n++) {
		uint32_t token = atomic_load(&b->tokens[n]);

		if (token == 0 || token == x->self->token ||
		    handoff__dead_begin(b->head.segment, token) != 0)
			continue;
		if (atomic_load(&b->tokens[n]) == token)
			e = break_it(x);
		handoff__dead_end();
	}
	return e;
}

/* Comes: 0: all have; EBUSY: wait; EOWNERDEAD. */
static int arrive(struct handoff__barrier *b, struct handoff__self *self,
    uint64_t *began)
{
	struct handoff__place place = place_of(b);
	uint64_t v = atomic_load(&b->state);
	uint64_t next;

	handoff__replace_stamp(&b->last, b->head.id, self);
	do {
		if (v & BROKEN)
			return EOWNERDEAD;
		next = v + ARRIVED_ONE;
		if (arrived(next) >= b->parties)
			next = (generation(v) + 1) & GENERATION;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&b->state, &v, next));
	HANDOFF__POINT();
	*began = generation(v);
	if (arrived(next) != 0)
		return EBUSY;
	if (v & MARK)
		handoff__unpark(&place, HANDOFF__ALL);
	return 0;
}

/* At the deadline: ETIMEDOUT, or how it ended meanwhile. */
static int withdraw(struct handoff__site *x)
{
	struct handoff__barrier *b = x->object;
	uint64_t v = atomic_load(&b->state);

	do {
		if (generation(v) != x->value)
			return 0;
		if (v & BROKEN)
			return EOWNERDEAD;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&b->state, &v, v - ARRIVED_ONE));
	return ETIMEDOUT;
}

int handoff_barrier_wait_until(handoff_barrier *barrier, int *last,
    uint64_t deadline)
{
	struct handoff__barrier *b = barrier_of(barrier);
	struct handoff__self *self;
	struct handoff__site x;
	uint64_t began;
	int e = b ? handoff__self_begin() : EINVAL;

	if (last)
		*last = 0;
	if (e != 0)
		return e;
	self = handoff__self_pointer;
	handoff__self_is_at(&self->locking, b);
	if (b->head.segment != 0)
		join(b, self->token);
	e = arrive(b, self, &began);
	if (e == 0 && last)
		*last = 1;
	if (e == EBUSY) {
		x = (struct handoff__site){ .look = look,
			.mark = mark,
			.dead = b->head.segment != 0 ? dead : NULL,
			.object = b,
			.last = &b->last,
			.statistics = &b->statistics,
			.place = place_of(b),
			.value = began };
		e = handoff__wait_for(&x, deadline);
		if (e == ETIMEDOUT)
			e = withdraw(&x);
	}
	handoff__self_is_at(&self->locking, NULL);
	return e;
}

int handoff_barrier_wait(handoff_barrier *barrier, int *last)
{
	return handoff_barrier_wait_until(barrier, last, HANDOFF_NEVER);
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__BARRIER,
	sizeof(handoff_barrier), sizeof(struct handoff_barrier_attr),
	HANDOFF_ROBUST };

int handoff_barrier_init(handoff_barrier *barrier, uint32_t parties,
    const struct handoff_barrier_attr *attr)
{
	struct handoff__barrier *b = (struct handoff__barrier *)barrier;
	unsigned flags;
	int e;

	if (parties == 0 || parties > HANDOFF_BARRIER_MAX)
		return EINVAL;
	e = handoff__make(b, &making, attr, &flags);
	if (e != 0)
		return e;
	b->parties = parties;
	/* Not that of a barrier that was here before. */
	atomic_store(&b->state, b->head.id & GENERATION);
	handoff__made(b, &making);
	return 0;
}

int handoff_barrier_destroy(handoff_barrier *barrier)
{
	struct handoff__barrier *b = barrier_of(barrier);
	uint64_t v;
	int e;

	if (!b)
		return EINVAL;
	v = atomic_load(&b->state);
	if (arrived(v) != 0 && !(v & BROKEN))
		return EBUSY;
	e = handoff__wait_for_leavers(b, &making);
	if (e == 0)
		b->head.tag = 0;
	return e;
}

struct wanted {
	uint32_t parties;
	const struct handoff_barrier_attr *attr;
};

static int init_named(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;

	(void)bytes;
	return handoff_barrier_init(memory, wanted->parties, wanted->attr);
}

int handoff_barrier_open(handoff_barrier **barrier, const char *name,
    unsigned flags, unsigned mode, uint32_t parties,
    const struct handoff_barrier_attr *attr)
{
	struct wanted wanted = { parties, attr };
	void *object;
	int e;

	if (!barrier)
		return EINVAL;
	*barrier = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    &wanted);
	if (e == 0)
		*barrier = object;
	return e;
}
