/* SPDX-License-Identifier: ISC */
/*
 * The loop of waiting, the same for all primitives.
 *
 *   0  where the last waits were ended by yields, yield; content: done
 *   1  look; content: done
 *   2  spin or yield as long as wait.c says, and look again; at the end of a
 *      slice ask whether somebody died
 *   3  before the first park ask the same, once a millisecond at the most
 *   4  mark; if what was seen has changed, look again
 *   5  park until woken, until a slice ends or until the deadline
 *   6  at a slice's end ask again, at the deadline look a last time; else 1
 *
 * The mark comes before the deadline is looked at: so one that was woken and
 * finds nothing has put the mark back for the others when it gives up.
 *
 * Nothing here is in shared memory but what the statistics count.
 */
#include "site.h"

#include <errno.h>

unsigned handoff__partner(struct handoff__self *self, uint64_t id,
    uint32_t last)
{
	if (last >> 16 != self->who) {
		self->met_at = id;
		self->met = last & HANDOFF__CPU;
	}
	return self->met_at == id ? self->met : 0;
}

/* Relaxed, here and below: a hint. */
void handoff__replace_stamp(_Atomic uint32_t *last, uint64_t id,
    struct handoff__self *self)
{
	handoff__partner(self, id,
	    atomic_load_explicit(last, memory_order_relaxed));
	atomic_store_explicit(last, handoff__stamp(self), memory_order_relaxed);
}

static unsigned partner(struct handoff__site *x)
{
	const struct handoff__head *head = x->object;

	return handoff__partner(x->self, head->id,
	    atomic_load_explicit(x->last, memory_order_relaxed));
}

static bool may_ask_at(struct handoff__self *self, uint64_t now)
{
	uint32_t ms = (uint32_t)(now / 1000000u);

	if (ms == self->asked)
		return false;
	self->asked = ms;
	return true;
}

bool handoff__may_ask(struct handoff__self *self)
{
	return may_ask_at(self, handoff__clock());
}

/* Steps 3 to 6. */
static int park(struct handoff__site *x)
{
	int e;

	if (x->dead && !x->w.parked &&
	    may_ask_at(x->self, handoff__wait_clock(&x->w)) &&
	    (e = x->dead(x)) != EBUSY)
		return e;
	if (!x->mark(x))
		return EBUSY;
	if (!handoff__wait_late(&x->w))
		handoff__note_park(x->statistics, !x->w.parked);
	x->woken = handoff__wait_park(&x->w, &x->place, x->expected);
	x->waited |= x->w.parked;
	switch (x->woken) {
	case HANDOFF__DEADLINE:
		return ETIMEDOUT;
	case HANDOFF__SLICE:
		return x->dead ? x->dead(x) : EBUSY;
	default:
		return EBUSY;
	}
}

int handoff__wait_for(struct handoff__site *x, uint64_t deadline)
{
	bool at_once = true;
	const void *before;
	int e = handoff__self_begin();

	if (e != 0)
		return e;
	x->self = handoff__self_pointer;
	/* Relaxed: this thread's own. */
	before = atomic_load_explicit(&x->self->locking, memory_order_relaxed);
	handoff__self_is_at(&x->self->locking, x->object);
	if (handoff__wait_trust(x->self, x->object, partner(x), deadline) &&
	    (e = x->look(x)) != EBUSY) {
		handoff__self_is_at(&x->self->locking, before);
		return e;
	}
	handoff__wait_begin(&x->w, x->self, x->object, deadline,
	    x->dead != NULL);
	if (x->line)
		handoff__wait_quiet(&x->w, partner(x), x->line);
	while ((e = x->look(x)) == EBUSY) {
		at_once = false;
		if (handoff__wait_spin(&x->w, partner(x)))
			e = x->w.look && x->dead ? x->dead(x) : EBUSY;
		else
			e = park(x);
		if (e == ETIMEDOUT && (e = x->look(x)) == EBUSY)
			e = ETIMEDOUT;
		if (e != EBUSY)
			break;
	}
	if (x->waited)
		handoff__note_longest(x->statistics, &x->w);
	else if (x->line)
		handoff__wait_learn(x->self, at_once);
	handoff__wait_end(&x->w);
	handoff__self_is_at(&x->self->locking, before);
	return e;
}
