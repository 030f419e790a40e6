/* SPDX-License-Identifier: ISC */
/*
 * The semaphore: a count and a mark in one word.
 *
 * THE WORD (32 bits)    MARK|count
 *   MARK   somebody may be parked
 *
 *   wait   c -> c - 1, keeps MARK; one that has parked sets it
 *   mark   0 -> MARK|0, the value parked on
 *   post   c -> c + n, clears MARK; if it was set, n are woken
 *
 * NO WAKE IS LOST
 *   A post that comes before the mark changes the word, so that the mark or the
 *   park fails; one that comes after it sees it, clears it and wakes.  Until
 *   the one woken is back others may be parked without a mark, and further
 *   posts wake nobody; so one that has parked sets the mark in the step by
 *   which it takes, or before it parks or gives up, and if it leaves a count it
 *   wakes one more.  A park that ended at its deadline used up no wake.
 *
 * WHAT A DEATH LEAVES
 *   waiter, at any point         a false mark: one idle wake
 *   waiter, woken, not yet back  a count, and others parked without a mark:
 *                                they find it at their slice's end
 *   waiter, after its step       one is taken; as above if it left a count
 *   poster, before its step      nothing
 *   poster, then                 a count, as above
 *
 * DESTROYED WHEN
 *   The step of a post is its last touch.
 */
#include "making.h"
#include "points.h"
#include "sites.h"

#include <errno.h>

#define MARK HANDOFF__MARK
#define COUNT (~HANDOFF__MARK)

static inline struct handoff__sem *semaphore(const handoff_sem *sem)
{
	return handoff__is(sem, HANDOFF__SEM) ?
	    (struct handoff__sem *)(uintptr_t)sem :
	    NULL;
}

static struct handoff__place place_of(const struct handoff__sem *s)
{
	return (struct handoff__place){ .segment = s->head.segment,
		.key = s->head.id,
		.word = &s->word };
}

/* ---- Waiting ----------------------------------------------------------- */

/* Takes one: 0, with the word before in *seen; EBUSY, with the word in *seen:
 * there is none. */
static inline int take(struct handoff__sem *s, uint32_t mark, uint32_t *seen)
{
	uint32_t v = atomic_load(&s->word);

	do {
		*seen = v;
		if ((v & COUNT) == 0)
			return EBUSY;
		HANDOFF__POINT();
		/* Pairs with the posts whose sum it takes from. */
	} while (!atomic_compare_exchange_weak(&s->word, &v, (v - 1) | mark));
	HANDOFF__POINT();
	return 0;
}

static int look(struct handoff__site *x)
{
	struct handoff__sem *s = x->object;
	int e = take(s, x->waited ? MARK : 0, &x->seen);

	/* A post found no mark while we were on our way. */
	if (e == 0 && x->waited && (x->seen & COUNT) > 1)
		handoff__unpark(&x->place, 1);
	return e;
}

static bool mark(struct handoff__site *x)
{
	struct handoff__sem *s = x->object;

	x->expected = x->seen | MARK;
	HANDOFF__POINT();
	/* Pairs with the step of a post, which comes before it, so that this
	 * fails, or sees the mark. */
	return (x->seen & MARK) ||
	    atomic_compare_exchange_strong(&s->word, &x->seen, x->expected);
}

/* Leaves with something else: as one that has parked and takes nothing. */
static void pass(struct handoff__site *x)
{
	struct handoff__sem *s = x->object;

	if (atomic_fetch_or(&s->word, MARK) & COUNT)
		handoff__unpark(&x->place, 1);
}

bool handoff__sem_site(struct handoff__site *x, void *object)
{
	struct handoff__sem *s = semaphore(object);

	if (!s)
		return false;
	*x = (struct handoff__site){ .look = look,
		.mark = mark,
		.pass = pass,
		.object = s,
		.last = &s->last,
		.statistics = &s->statistics,
		.line = &s->word,
		.place = place_of(s) };
	return true;
}

int handoff_sem_wait_until(handoff_sem *sem, uint64_t deadline)
{
	struct handoff__sem *s = semaphore(sem);
	struct handoff__site x;
	uint32_t seen;

	if (!s)
		return EINVAL;
	if (take(s, 0, &seen) == 0)
		return 0;
	handoff__sem_site(&x, s);
	return handoff__wait_for(&x, deadline);
}

int handoff_sem_wait(handoff_sem *sem)
{
	return handoff_sem_wait_until(sem, HANDOFF_NEVER);
}

int handoff_sem_trywait(handoff_sem *sem)
{
	struct handoff__sem *s = semaphore(sem);
	uint32_t seen;

	return s ? take(s, 0, &seen) : EINVAL;
}

/* ---- Posting ----------------------------------------------------------- */

int handoff_sem_post(handoff_sem *sem, uint32_t n)
{
	struct handoff__sem *s = semaphore(sem);
	struct handoff__place place;
	uint32_t maximum;
	uint32_t v;

	if (!s || n == 0)
		return EINVAL;
	/* Read before the step: afterwards the semaphore may be gone. */
	place = place_of(s);
	maximum = s->maximum;
	v = atomic_load(&s->word);
	/* Relaxed: a hint. */
	atomic_store_explicit(&s->last,
	    handoff__stamp_of(handoff__self_known()), memory_order_relaxed);
	do {
		if (n > maximum || (v & COUNT) > maximum - n)
			return EOVERFLOW;
		HANDOFF__POINT();
		/* Pairs with the step by which a wait takes it, and with a
		 * waiter's mark. */
	} while (!atomic_compare_exchange_weak(&s->word, &v, (v & COUNT) + n));
	HANDOFF__POINT();
	if (v & MARK)
		handoff__unpark(&place, n);
	return 0;
}

int handoff_sem_value(const handoff_sem *sem, uint32_t *value)
{
	const struct handoff__sem *s = semaphore(sem);

	if (!s || !value)
		return EINVAL;
	*value = atomic_load(&s->word) & COUNT;
	return 0;
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__SEM,
	sizeof(handoff_sem), sizeof(struct handoff_sem_attr), 0 };

int handoff_sem_init(handoff_sem *sem, uint32_t initial,
    const struct handoff_sem_attr *attr)
{
	struct handoff__sem *s = (struct handoff__sem *)sem;
	uint32_t maximum = HANDOFF_SEM_MAX;
	unsigned flags;
	int e;

	if (attr && attr->size == sizeof *attr && attr->maximum != 0)
		maximum = attr->maximum;
	if (maximum > HANDOFF_SEM_MAX || initial > maximum)
		return EINVAL;
	e = handoff__make(s, &making, attr, &flags);
	if (e != 0)
		return e;
	s->maximum = maximum;
	atomic_store(&s->word, initial);
	handoff__made(s, &making);
	return 0;
}

int handoff_sem_destroy(handoff_sem *sem)
{
	struct handoff__sem *s = semaphore(sem);
	int e;

	if (!s)
		return EINVAL;
	e = handoff__unused(s, &making);
	if (e == 0)
		s->head.tag = 0;
	return e;
}

struct wanted {
	uint32_t initial;
	const struct handoff_sem_attr *attr;
};

static int init_named(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;

	(void)bytes;
	return handoff_sem_init(memory, wanted->initial, wanted->attr);
}

int handoff_sem_open(handoff_sem **sem, const char *name, unsigned flags,
    unsigned mode, uint32_t initial, const struct handoff_sem_attr *attr)
{
	struct wanted wanted = { initial, attr };
	void *object;
	int e;

	if (!sem)
		return EINVAL;
	*sem = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    &wanted);
	if (e == 0)
		*sem = object;
	return e;
}
