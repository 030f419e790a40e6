/* SPDX-License-Identifier: ISC */
/*
 * Waiting for any of several semaphores, events and words.
 *
 *   1  look at each, from another one on each time; the first that is content
 *      has been taken, alone
 *   2  spin and look again; then mark each, and park at all marks at once
 *   3  leave: every other object of those marked is left as by one that has
 *      parked and takes nothing
 *
 * NO WAKE IS LOST
 *   Each mark is the object's own, by a step on what was looked at, or with a
 *   look after it; a park ends if any of the words has changed.  A wake of one
 *   object may have been used up by a thread that then takes another: so on
 *   leaving it puts the mark back, and wakes one more where there is something
 *   to take (pass in semaphore.c, event.c, word.c).
 *
 * WHAT A DEATH LEAVES
 *   what a waiter of each of the objects leaves.
 */
#include "points.h"
#include "sites.h"

#include <errno.h>

struct any {
	struct handoff__site sites[HANDOFF_ANY_MAX];
	unsigned n;
	unsigned first; /* where to begin to look */
	struct handoff__self *self;
	struct handoff__wait w;
};

static int look(struct any *a, size_t *which)
{
	for (unsigned k = 0; k < a->n; k++) {
		unsigned i = (a->first + k) % a->n;

		if (a->sites[i].look(&a->sites[i]) == 0) {
			*which = i;
			return 0;
		}
	}
	return EBUSY;
}

/* False: something has changed meanwhile. */
static bool mark(struct any *a)
{
	for (unsigned i = 0; i < a->n; i++)
		if (!a->sites[i].mark(&a->sites[i]))
			return false;
	return true;
}

/* EBUSY: look again; ETIMEDOUT: a last time. */
static int park(struct any *a)
{
	struct handoff__place places[HANDOFF_ANY_MAX];
	uint32_t expected[HANDOFF_ANY_MAX];
	enum handoff__woken woken;
	bool late;

	if (!mark(a)) {
		/* Some marks may be there already: as after a park in which
		 * nothing happened. */
		for (unsigned i = 0; i < a->n; i++) {
			a->sites[i].waited = true;
			a->sites[i].woken = HANDOFF__SLICE;
		}
		return EBUSY;
	}
	late = handoff__wait_late(&a->w);
	for (unsigned i = 0; i < a->n; i++) {
		places[i] = a->sites[i].place;
		expected[i] = a->sites[i].expected;
		if (!late)
			handoff__note_park(a->sites[i].statistics,
			    !a->w.parked);
	}
	woken = handoff__wait_park_any(&a->w, places, expected, a->n);
	for (unsigned i = 0; i < a->n; i++) {
		/* If only because its mark is there. */
		a->sites[i].waited = true;
		a->sites[i].woken = woken;
	}
	return woken == HANDOFF__DEADLINE ? ETIMEDOUT : EBUSY;
}

static int wait_for(struct any *a, size_t *which, uint64_t deadline)
{
	int e;

	handoff__wait_begin(&a->w, a->self, a->sites[0].object, deadline,
	    false);
	while ((e = look(a, which)) == EBUSY) {
		if (handoff__wait_spin(&a->w, 0))
			continue;
		e = park(a);
		if (e == ETIMEDOUT && (e = look(a, which)) == EBUSY)
			e = ETIMEDOUT;
		if (e != EBUSY)
			break;
	}
	handoff__wait_end(&a->w);
	HANDOFF__POINT();
	for (unsigned i = 0; i < a->n; i++)
		if (a->sites[i].waited && (e != 0 || i != *which))
			a->sites[i].pass(&a->sites[i]);
	if (e == 0 && a->w.parked)
		handoff__note_longest(a->sites[*which].statistics, &a->w);
	return e;
}

static int make_sites(struct any *a, const struct handoff_item *items, size_t n)
{
	if (!items || n == 0 || n > HANDOFF_ANY_MAX)
		return EINVAL;
	a->n = (unsigned)n;
	for (unsigned i = 0; i < a->n; i++) {
		struct handoff__site *x = &a->sites[i];
		void *object = items[i].object;

		if (!handoff__sem_site(x, object) &&
		    !handoff__event_site(x, object) &&
		    !handoff__word_site(x, object, items[i].while_equal))
			return EINVAL;
	}
	return 0;
}

int handoff_wait_any_until(const struct handoff_item *items, size_t n,
    size_t *which, uint64_t deadline)
{
	struct any a;
	size_t found = 0;
	int e = make_sites(&a, items, n);

	if (e == 0)
		e = handoff__self_begin();
	if (e != 0)
		return e;
	a.self = handoff__self_pointer;
	a.first = a.self->turns++ % a.n;
	e = look(&a, &found);
	if (e == EBUSY) {
		e = handoff__self_items(a.self, items, n);
		if (e != 0)
			return e;
		e = wait_for(&a, &found, deadline);
		/* There is a process's block by now. */
		handoff__self_items(a.self, NULL, 0);
	}
	if (e == 0 && which)
		*which = found;
	return e;
}

int handoff_wait_any(const struct handoff_item *items, size_t n, size_t *which)
{
	return handoff_wait_any_until(items, n, which, HANDOFF_NEVER);
}
