/* SPDX-License-Identifier: ISC */
/*
 * The event, with automatic or manual reset.
 *
 * THE WORD (32 bits)    MARK|SET|generation
 *   MARK        somebody may be parked
 *   generation  with manual reset: moves with each set that found it not set
 *
 *   automatic   set    any -> SET; wakes one if MARK was there
 *               wait   SET -> 0; one that has parked leaves MARK
 *               reset  clears SET
 *   manual      set    g -> SET|g + 1, clears MARK and then wakes all;
 *                      SET|g -> the same
 *               wait   over when SET, or the generation is not the one that it
 *                      found when it began
 *               reset  clears SET
 *   mark        x -> x|MARK where x has no SET, the value parked on
 *
 *   A set that finds SET writes all the same, so that the wait that takes it
 *   sees what was done before either set.
 *
 * NO WAKE IS LOST
 *   A set that comes before the mark changes the word, so that the mark or the
 *   park fails; one that comes after it sees it.  Automatic: until the one
 *   woken is back others may be parked without a mark; it sets it in the step
 *   by which it takes, or before it parks or gives up.  Meanwhile further sets
 *   find SET and are one with it.  Manual: a set wakes all, and a reset in
 *   between does not bring the generation back.
 *
 * WHAT A DEATH LEAVES
 *   waiter, at any point         a false mark: one idle wake
 *   waiter, woken, not yet back  SET, and others parked without a mark: one
 *                                finds it at its slice's end
 *   setter, before its step      nothing
 *   setter, then                 as above; manual: all find it so
 *
 * DESTROYED WHEN
 *   The step of a set is its last touch.  With manual reset those it wakes look
 *   at the word once more.
 */
#include "making.h"
#include "points.h"
#include "sites.h"

#include <errno.h>

#define MARK HANDOFF__MARK
#define SET 0x40000000u
#define GENERATION 0x3fffffffu

static inline struct handoff__event *event_of(const handoff_event *event)
{
	return handoff__is(event, HANDOFF__EVENT) ?
	    (struct handoff__event *)(uintptr_t)event :
	    NULL;
}

static bool manual(const struct handoff__event *v)
{
	return (v->head.attr & HANDOFF__ATTR_MANUAL) != 0;
}

static struct handoff__place place_of(const struct handoff__event *v)
{
	return (struct handoff__place){ .segment = v->head.segment,
		.key = v->head.id,
		.word = &v->word };
}

/* ---- Waiting ----------------------------------------------------------- */

/* With automatic reset: takes it.  EBUSY, with the word in *seen: not set. */
static inline int take(struct handoff__event *v, uint32_t mark, uint32_t *seen)
{
	uint32_t w = atomic_load(&v->word);

	do {
		*seen = w;
		if (!(w & SET))
			return EBUSY;
		HANDOFF__POINT();
		/* Pairs with the sets that it takes. */
	} while (
	    !atomic_compare_exchange_weak(&v->word, &w, (w & ~SET) | mark));
	HANDOFF__POINT();
	return 0;
}

static int look_automatic(struct handoff__site *x)
{
	return take(x->object, x->waited ? MARK : 0, &x->seen);
}

/* Begun when the generation was x->value. */
static int look_manual(struct handoff__site *x)
{
	struct handoff__event *v = x->object;

	x->seen = atomic_load(&v->word);
	return (x->seen & SET) || (x->seen & GENERATION) != x->value ? 0 :
	                                                               EBUSY;
}

static bool mark(struct handoff__site *x)
{
	struct handoff__event *v = x->object;

	x->expected = x->seen | MARK;
	HANDOFF__POINT();
	/* Pairs with the step of a set, which comes before it, so that this
	 * fails, or sees the mark. */
	return (x->seen & MARK) ||
	    atomic_compare_exchange_strong(&v->word, &x->seen, x->expected);
}

/* Leaves with something else: as one that has parked and takes nothing. */
static void pass(struct handoff__site *x)
{
	struct handoff__event *v = x->object;

	if (!manual(v) && (atomic_fetch_or(&v->word, MARK) & SET))
		handoff__unpark(&x->place, 1);
}

static struct handoff__site site_of(struct handoff__event *v)
{
	struct handoff__site x = { .look = look_automatic,
		.mark = mark,
		.pass = pass,
		.object = v,
		.last = &v->last,
		.statistics = &v->statistics,
		.line = &v->word,
		.place = place_of(v) };

	if (manual(v)) {
		x.look = look_manual;
		x.line = NULL;
		x.value = atomic_load(&v->word) & GENERATION;
	}
	return x;
}

bool handoff__event_site(struct handoff__site *x, void *object)
{
	struct handoff__event *v = event_of(object);

	if (v)
		*x = site_of(v);
	return v != NULL;
}

static inline int try_once(struct handoff__event *v)
{
	uint32_t seen;

	if (!manual(v))
		return take(v, 0, &seen);
	return atomic_load(&v->word) & SET ? 0 : EBUSY;
}

static HANDOFF__SLOW int wait_slowly(struct handoff__event *v,
    uint64_t deadline)
{
	struct handoff__site x = site_of(v);

	return handoff__wait_for(&x, deadline);
}

static inline int wait_until(handoff_event *event, uint64_t deadline)
{
	struct handoff__event *v = event_of(event);

	if (!v)
		return EINVAL;
	return try_once(v) == 0 ? 0 : wait_slowly(v, deadline);
}

int handoff_event_wait(handoff_event *event)
{
	return wait_until(event, HANDOFF_NEVER);
}

int handoff_event_wait_until(handoff_event *event, uint64_t deadline)
{
	return wait_until(event, deadline);
}

int handoff_event_trywait(handoff_event *event)
{
	struct handoff__event *v = event_of(event);

	return v ? try_once(v) : EINVAL;
}

/* ---- Setting ----------------------------------------------------------- */

static uint32_t set_manual(struct handoff__event *v)
{
	uint32_t w = atomic_load(&v->word);
	uint32_t next;

	do {
		next = w & SET ? w : SET | ((w + 1) & GENERATION);
		HANDOFF__POINT();
		/* Pairs with the look of a wait, and with a waiter's mark. */
	} while (!atomic_compare_exchange_weak(&v->word, &w, next));
	return w;
}

/* By address and name alone: the event may be gone. */
static HANDOFF__SLOW void wake(uint64_t segment, uint64_t id,
    const _Atomic uint32_t *word, uint32_t n)
{
	struct handoff__place place = { .segment = segment,
		.key = id,
		.word = word };

	handoff__unpark(&place, n);
}

int handoff_event_set(handoff_event *event)
{
	struct handoff__event *v = event_of(event);
	uint64_t segment;
	uint64_t id;
	uint32_t n;
	uint32_t before;

	if (!v)
		return EINVAL;
	/* Read before the step: afterwards the event may be gone. */
	segment = v->head.segment;
	id = v->head.id;
	n = manual(v) ? HANDOFF__ALL : 1;
	handoff__leave_stamp(&v->last);
	/* A hint, like the stamp. */
	if (handoff__may_time() && (atomic_load(&v->word) & MARK))
		handoff__leave_time_now(&v->head);
	HANDOFF__POINT();
	/* Pairs with the step by which a wait takes it, and with the mark. */
	before = n == 1 ? atomic_exchange(&v->word, SET) : set_manual(v);
	HANDOFF__POINT();
	if (before & MARK)
		wake(segment, id, &v->word, n);
	return 0;
}

int handoff_event_reset(handoff_event *event)
{
	struct handoff__event *v = event_of(event);

	if (!v)
		return EINVAL;
	atomic_fetch_and(&v->word, ~SET);
	return 0;
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__EVENT,
	sizeof(handoff_event), sizeof(struct handoff_event_attr),
	HANDOFF_EVENT_MANUAL | HANDOFF_EVENT_SET };

int handoff_event_init(handoff_event *event,
    const struct handoff_event_attr *attr)
{
	struct handoff__event *v = (struct handoff__event *)event;
	unsigned flags;
	int e = handoff__make(v, &making, attr, &flags);

	if (e != 0)
		return e;
	if (flags & HANDOFF_EVENT_MANUAL)
		v->head.attr |= HANDOFF__ATTR_MANUAL;
	if (flags & HANDOFF_EVENT_SET)
		atomic_store(&v->word, SET);
	handoff__made(v, &making);
	return 0;
}

int handoff_event_destroy(handoff_event *event)
{
	struct handoff__event *v = event_of(event);
	int e;

	if (!v)
		return EINVAL;
	e = handoff__unused(v, &making);
	if (e == 0)
		v->head.tag = 0;
	return e;
}

static int init_named(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	return handoff_event_init(memory, arg);
}

int handoff_event_open(handoff_event **event, const char *name, unsigned flags,
    unsigned mode, const struct handoff_event_attr *attr)
{
	void *object;
	int e;

	if (!event)
		return EINVAL;
	*event = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    (void *)(uintptr_t)attr);
	if (e == 0)
		*event = object;
	return e;
}
