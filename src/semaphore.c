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

/*
 * To load a word that this CPU has just swapped takes as long as half a swap.
 * So waits and posts begin by swapping what is most often there, a count of 1
 * or 0, unless that was not so when this thread last came.
 */
static _Thread_local bool other_counts;

static inline uint32_t guess(const struct handoff__sem *s, uint32_t count)
{
	return other_counts ? atomic_load(&s->word) : count;
}

static inline void learn(bool right)
{
	if (other_counts == right)
		other_counts = !right;
}

/* Takes one: 0, with the word before in *seen, which comes with a guess; EBUSY,
 * with the word in *seen: there is none. */
static inline int take(struct handoff__sem *s, uint32_t mark, uint32_t *seen)
{
	uint32_t v = *seen;

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
	int e;

	x->seen = atomic_load(&s->word);
	e = take(s, x->waited ? MARK : 0, &x->seen);
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

static struct handoff__site site_of(struct handoff__sem *s)
{
	return (struct handoff__site){ .look = look,
		.mark = mark,
		.pass = pass,
		.object = s,
		.last = &s->last,
		.statistics = &s->statistics,
		.line = &s->word,
		.place = place_of(s) };
}

bool handoff__sem_site(struct handoff__site *x, void *object)
{
	struct handoff__sem *s = semaphore(object);

	if (s)
		*x = site_of(s);
	return s != NULL;
}

static HANDOFF__SLOW int wait_slowly(struct handoff__sem *s, uint64_t deadline)
{
	struct handoff__site x = site_of(s);

	return handoff__wait_for(&x, deadline);
}

static inline int wait_until(handoff_sem *sem, uint64_t deadline)
{
	struct handoff__sem *s = semaphore(sem);
	uint32_t seen;

	if (!s)
		return EINVAL;
	seen = guess(s, 1);
	if (take(s, 0, &seen) != 0)
		return wait_slowly(s, deadline);
	learn(seen == 1);
	return 0;
}

int handoff_sem_wait(handoff_sem *sem)
{
	return wait_until(sem, HANDOFF_NEVER);
}

int handoff_sem_wait_until(handoff_sem *sem, uint64_t deadline)
{
	return wait_until(sem, deadline);
}

int handoff_sem_trywait(handoff_sem *sem)
{
	struct handoff__sem *s = semaphore(sem);
	uint32_t seen;

	if (!s)
		return EINVAL;
	seen = atomic_load(&s->word);
	return take(s, 0, &seen);
}

/* ---- Posting ----------------------------------------------------------- */

static inline bool fits(uint32_t v, uint32_t n, uint32_t maximum)
{
	return n <= maximum && (v & COUNT) <= maximum - n;
}

/* The step of a post; `v` is the word as it was.  Pairs with the step by which a
 * wait takes it, and with a waiter's mark. */
static inline bool add(struct handoff__sem *s, uint32_t *v, uint32_t n)
{
	HANDOFF__POINT();
	return atomic_compare_exchange_weak(&s->word, v, (*v & COUNT) + n);
}

static HANDOFF__SLOW int post_slowly(struct handoff__sem *s, uint32_t n)
{
	/* Read before the step: afterwards the semaphore may be gone. */
	struct handoff__place place = place_of(s);
	uint32_t maximum = s->maximum;
	uint32_t v = atomic_load(&s->word);

	/* For those who park; while all who wait spin, spinning is right. */
	handoff__leave_stamp(&s->last);
	if (v & MARK)
		handoff__leave_time(&s->head);
	do {
		if (!fits(v, n, maximum))
			return EOVERFLOW;
	} while (!add(s, &v, n));
	HANDOFF__POINT();
	learn((v & COUNT) == 0);
	if (v & MARK)
		handoff__unpark(&place, n);
	return 0;
}

int handoff_sem_post(handoff_sem *sem, uint32_t n)
{
	struct handoff__sem *s = semaphore(sem);
	uint32_t v;

	if (!s || n == 0)
		return EINVAL;
	v = guess(s, 0);
	if (!(v & MARK) && fits(v, n, s->maximum) && add(s, &v, n))
		return 0;
	return post_slowly(s, n);
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
