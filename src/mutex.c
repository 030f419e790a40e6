/* SPDX-License-Identifier: ISC */
/*
 * The mutex: owner and lock are one word, so that nothing can be torn.
 *
 * THE WORD (32 bits; OWNER is the lower 30, DEAD and WAITERS stand beside)
 *
 *   0                 free
 *   T                 held by a thread of process T (a token, 16 or above)
 *   T|DEAD            the same; it was told EOWNERDEAD and has not called
 *                     consistent yet
 *   GONE              free, but its owner's thread ended while it held it
 *   RESERVED          free, for one that has waited or asked
 *   DEAD              not recoverable, for ever
 *   ...|WAITERS       somebody may be parked; stands beside any of these
 *
 *   lock        0 -> T             RESERVED -> T, by one that may
 *               GONE -> T|DEAD     dead T' -> T|DEAD (by who holds life T')
 *   mark        x -> x|WAITERS     the result is the value parked on
 *   unlock      T -> 0             T|DEAD -> DEAD
 *               T -> RESERVED, if somebody has asked
 *   consistent  T|DEAD -> T
 *   thread end  T -> GONE          T|DEAD -> GONE
 *
 * Every lock keeps WAITERS, and one that has parked sets it.  Unlock and the
 * end of a thread clear it in the exchange that frees the word and, if it was
 * set, wake one; on the way to DEAD all are woken, set or not.
 *
 * FAIRNESS
 *   starved   0, ASKED, or since when in ms the word has been RESERVED
 *   A waiter that finds the mutex held asks for its turn when it has spun for
 *   half of the time that it spins, and when it comes back from a park, a
 *   millisecond after its first park or later.  The next unlock finds that and
 *   reserves the mutex for those who have asked or parked.  Whoever of them
 *   gets it, or gives up, takes the asking back, and others ask again.  Who
 *   comes anew and finds RESERVED spins, and then parks for a millisecond at
 *   the most; and anybody may take what has been reserved for longer.  So one
 *   that asked and died costs a millisecond or two, once.
 *
 * INVARIANTS
 *   Only an owner frees; only a recoverer's own compare-and-swap sets DEAD.
 *   WAITERS may wrongly say "somebody", never for long "nobody": between the
 *   exchange that cleared it and the next operation of the one that was woken.
 *   "Mine" means: my token in the word and the mutex in my thread's list, which
 *   also counts how often a recursive one is locked.
 *
 * NO WAKE IS LOST
 *   A waiter parks on the value that its own mark produced; any unlock in
 *   between has changed the word, so the park returns.  An unlock that comes
 *   after the mark sees it and wakes one.  The one woken takes the lock with
 *   WAITERS set, or sets WAITERS again before it parks again; it gives up only
 *   after a park at whose end the deadline had passed, which used up no wake,
 *   and with a last try.  So those still parked keep somebody who will wake
 *   them.
 *
 * WHAT A DEATH LEAVES
 *   waiter, at any point          at the most a false WAITERS: one idle wake
 *   waiter, woken, not yet back   others parked without a mark; they look
 *                                 again within 128 ms and find it free or
 *                                 mark it
 *   owner, before the exchange    T, whose life byte is free: the next to ask
 *                                 takes that byte, compares the word, swaps
 *   unlocker, exchange to wake    a free word and parked waiters: as above
 *   recoverer, before its swap    T still; the kernel frees the life byte
 *   recoverer, after its swap     its own token: it is an owner that died
 *
 * DESTROYED WHEN
 *   The exchange in unlock is the last touch: whoever locks after it may
 *   destroy the mutex.  The wake that may follow uses only its address.
 */
#include "mutex.h"

#include "cond.h"
#include "making.h"
#include "points.h"
#include "rwlock.h"
#include "segment.h"
#include "site.h"

#include <errno.h>

/* How long one waits before it asks for its turn, and how long those who have
 * not waited leave a mutex alone that is reserved. */
#define STARVED_NS 1000000u
#define RESERVED_NS 1000000u

/* What `starved` says; else when the mutex was reserved, in ms. */
#define NOBODY 0u
#define ASKED 1u

struct handoff__place handoff__mutex_place(const struct handoff__mutex *mutex)
{
	return (struct handoff__place){ .segment = mutex->head.segment,
		.key = mutex->head.id,
		.word = &mutex->word };
}

/* ---- Taking ------------------------------------------------------------ */

/* The CPU on which another thread last had the mutex, plus 1; 0: unknown. */
static unsigned other_cpu(const struct handoff__mutex *m,
    const struct handoff__self *self)
{
	/* Relaxed: a hint, right or stale. */
	uint32_t last = atomic_load_explicit(&m->last, memory_order_relaxed);

	return last >> 16 == self->who ? 0 : last & HANDOFF__CPU;
}

/*
 * The word has just become ours.  The partner is who had it before, unless
 * that was us.
 */
static inline struct handoff__held *hold(struct handoff__mutex *m,
    struct handoff__self *self, bool dead)
{
	struct handoff__held *held = handoff__self_hold(self, m, m->head.id);

	held->partner = (uint16_t)other_cpu(m, self);
	held->dead = dead;
	held->unstamped = true;
	return held;
}

/* Leaves our CPU for those who wait for us and who will have the mutex next.
 * Done beside an exchange on the same line, before a spinning waiter can take
 * the line away. */
static void stamp(struct handoff__mutex *m, struct handoff__self *self,
    struct handoff__held *held)
{
	/* Relaxed: a hint. */
	atomic_store_explicit(&m->last, handoff__stamp(self),
	    memory_order_relaxed);
	held->unstamped = false;
}

/* Neither of NOBODY and ASKED; goes round in 49 days. */
static uint32_t now_ms(void)
{
	uint32_t ms = (uint32_t)(handoff__clock() / 1000000u);

	return ms > ASKED ? ms : ms + 2;
}

/* Whether it has been reserved for longer than a reservation holds.  Relaxed:
 * stored before the exchange whose result we have seen. */
static bool lapsed(const struct handoff__mutex *m)
{
	uint32_t since = atomic_load_explicit(&m->starved,
	    memory_order_relaxed);

	return since <= ASKED || now_ms() - since >= 2;
}

/*
 * One look, and the taking of what is free.  0, EOWNERDEAD: it is ours;
 * ENOTRECOVERABLE; EBUSY: *seen is the word, held by somebody.  `waited` is
 * WAITERS for one that has parked, else 0; `asked`: for its turn.
 */
static int take(struct handoff__mutex *m, struct handoff__self *self,
    uint32_t waited, bool asked, uint32_t *seen)
{
	uint32_t v = atomic_load(&m->word);

	for (;;) {
		uint32_t owner = v & HANDOFF__OWNER;
		uint32_t mine = self->token | (v & HANDOFF__WAITERS) | waited;

		if (owner == HANDOFF__FREE && (v & HANDOFF__DEAD))
			return ENOTRECOVERABLE;
		if (owner == HANDOFF__GONE && handoff__mutex_suspect(m))
			mine |= HANDOFF__DEAD;
		else if (owner >= HANDOFF__TOKENS ||
		    (owner == HANDOFF__RESERVED && !waited && !asked &&
		        !lapsed(m)))
			break;
		HANDOFF__POINT();
		if (atomic_compare_exchange_weak(&m->word, &v, mine)) {
			HANDOFF__POINT();
			hold(m, self, (mine & HANDOFF__DEAD) != 0);
			return mine & HANDOFF__DEAD ? EOWNERDEAD : 0;
		}
	}
	*seen = v;
	return EBUSY;
}

/*
 * Takes the mutex from an owner that has died: EOWNERDEAD, or 0 if it was a
 * readers-writer lock's and nobody wrote; else EBUSY.  While we have the
 * owner's life byte nobody can live as that owner; the word is compared after
 * that, since the owner may have unlocked and left meanwhile, and somebody else
 * may now live under its token.
 */
static int recover(struct handoff__mutex *m, struct handoff__self *self,
    uint32_t waited, uint32_t seen)
{
	uint32_t owner = seen & HANDOFF__OWNER;
	uint32_t dead = HANDOFF__DEAD;
	uint32_t v;
	bool taken = false;

	if (m->head.segment == 0 || owner == self->token ||
	    handoff__dead_begin(m->head.segment, owner) != 0)
		return EBUSY;
	HANDOFF__POINT();
	v = atomic_load(&m->word);
	if (!(v & HANDOFF__DEAD) && !handoff__mutex_suspect(m))
		dead = 0;
	while (!taken && (v & HANDOFF__OWNER) == owner)
		taken = atomic_compare_exchange_weak(&m->word, &v,
		    self->token | dead | (v & HANDOFF__WAITERS) | waited);
	HANDOFF__POINT();
	if (taken)
		hold(m, self, dead != 0);
	handoff__dead_end();
	if (!taken)
		return EBUSY;
	return dead ? EOWNERDEAD : 0;
}

/* ---- Waiting ----------------------------------------------------------- */

static uint32_t waited(const struct handoff__site *x)
{
	return x->waited ? HANDOFF__WAITERS : 0;
}

/* Relaxed, here and below: an unlock that misses it leaves it to the next. */
static void starves(struct handoff__site *x)
{
	struct handoff__mutex *m = x->object;

	if (m->head.attr & HANDOFF__ATTR_UNFAIR)
		return;
	x->is_marked = true;
	atomic_store_explicit(&m->starved, ASKED, memory_order_relaxed);
}

static int look(struct handoff__site *x)
{
	struct handoff__mutex *m = x->object;
	int e = take(m, x->self, waited(x), x->is_marked, &x->seen);

	if (e == EBUSY && (x->seen & HANDOFF__OWNER) == x->self->token &&
	    handoff__self_find(x->self, m->head.id) >= 0)
		return EDEADLK;
	/* Not what is reserved for others. */
	if (e == EBUSY && !x->is_marked && !x->waited &&
	    (x->seen & HANDOFF__OWNER) >= HANDOFF__TOKENS &&
	    handoff__wait_long(&x->w))
		starves(x);
	/* Who else starves asks again. */
	if ((e == 0 || e == EOWNERDEAD) && (x->waited || x->is_marked))
		atomic_store_explicit(&m->starved, NOBODY,
		    memory_order_relaxed);
	return e;
}

static int dead(struct handoff__site *x)
{
	return recover(x->object, x->self, waited(x), x->seen);
}

static bool mark(struct handoff__site *x)
{
	struct handoff__mutex *m = x->object;

	x->w.brief = (x->seen & HANDOFF__OWNER) == HANDOFF__RESERVED;
	if (x->w.brief)
		x->w.slice = RESERVED_NS;
	else if (x->w.parked && handoff__clock() - x->w.since > STARVED_NS)
		starves(x);
	x->expected = x->seen | HANDOFF__WAITERS;
	HANDOFF__POINT();
	/* Its result is the value that we park on; pairs with the exchange in
	 * the release, which either comes first, so that this fails, or sees
	 * the mark. */
	return (x->seen & HANDOFF__WAITERS) ||
	    atomic_compare_exchange_strong(&m->word, &x->seen, x->expected);
}

int handoff__mutex_lock(struct handoff__mutex *mutex, bool parked,
    uint64_t deadline)
{
	struct handoff__site x = { .look = look,
		.mark = mark,
		.dead = mutex->head.segment != 0 ? dead : NULL,
		.object = mutex,
		.last = &mutex->last,
		.statistics = &mutex->statistics,
		.place = handoff__mutex_place(mutex),
		.waited = parked };
	int e = handoff__self_begin();

	if (e == 0)
		e = handoff__self_grow(handoff__self_pointer);
	if (e != 0)
		return e;
	/* Most often it is free, and there is no wait to begin. */
	if (!parked &&
	    (e = take(mutex, handoff__self_pointer, 0, false, &x.seen)) !=
	        EBUSY)
		return e;
	e = handoff__wait_for(&x, deadline);
	/* Relaxed: if it was another's asking, that one asks again. */
	if (e == ETIMEDOUT && (x.w.parked || x.is_marked))
		atomic_store_explicit(&mutex->starved, NOBODY,
		    memory_order_relaxed);
	return e;
}

/* Locks a recursive mutex once more: EDEADLK if this thread does not hold it,
 * or it is none. */
static int again(const struct handoff__mutex *m, struct handoff__self *self)
{
	int i = handoff__self_find(self, m->head.id);

	if (i < 0 || !(m->head.attr & HANDOFF__ATTR_RECURSIVE))
		return EDEADLK;
	if (self->held[i].depth == HANDOFF__DEEPEST)
		return EAGAIN;
	self->held[i].depth++;
	return 0;
}

static int lock_slowly(struct handoff__mutex *m, uint64_t deadline)
{
	int e = handoff__mutex_lock(m, false, deadline);

	return e == EDEADLK ? again(m, handoff__self_pointer) : e;
}

int handoff__mutex_relock(struct handoff__mutex *mutex,
    struct handoff__self *self, bool requeued)
{
	uint32_t v = atomic_load(&mutex->word);

	/* There is room for it, where the lock was before the wait. */
	if (!requeued && v == HANDOFF__FREE &&
	    atomic_compare_exchange_strong(&mutex->word, &v, self->token)) {
		HANDOFF__POINT();
		hold(mutex, self, false);
		return 0;
	}
	return handoff__mutex_lock(mutex, requeued, HANDOFF_NEVER);
}

static inline int lock_until(handoff_mutex *mutex, uint64_t deadline)
{
	struct handoff__mutex *m = (struct handoff__mutex *)mutex;
	struct handoff__self *self = handoff__self_known();
	uint32_t free = 0;

	if (!handoff__mutex_valid(m))
		return EINVAL;
	if (!self ||
	    atomic_load_explicit(&self->count, memory_order_relaxed) ==
	        self->capacity ||
	    !atomic_compare_exchange_strong(&m->word, &free, self->token))
		return lock_slowly(m, deadline);
	HANDOFF__POINT();
	stamp(m, self, hold(m, self, false));
	return 0;
}

int handoff_mutex_lock(handoff_mutex *mutex)
{
	return lock_until(mutex, HANDOFF_NEVER);
}

int handoff_mutex_lock_until(handoff_mutex *mutex, uint64_t deadline)
{
	return lock_until(mutex, deadline);
}

/* A try that fails asks after the owner once a millisecond at the most. */
static int try_harder(struct handoff__mutex *m, struct handoff__self *self,
    uint32_t seen)
{
	if (m->head.segment == 0 || !handoff__may_ask(self))
		return EBUSY;
	return recover(m, self, 0, seen);
}

int handoff__mutex_try(struct handoff__mutex *mutex)
{
	struct handoff__self *self;
	uint32_t seen = 0;
	int e = handoff__self_begin();

	if (e != 0)
		return e;
	self = handoff__self_pointer;
	e = handoff__self_grow(self);
	if (e == 0)
		e = take(mutex, self, 0, false, &seen);
	return e == EBUSY ? try_harder(mutex, self, seen) : e;
}

int handoff_mutex_trylock(handoff_mutex *mutex)
{
	struct handoff__mutex *m = (struct handoff__mutex *)mutex;
	int e;

	if (!handoff__mutex_valid(m))
		return EINVAL;
	e = handoff__mutex_try(m);
	if (e != EBUSY)
		return e;
	e = again(m, handoff__self_pointer);
	return e == EDEADLK ? EBUSY : e;
}

/* ---- Giving back ------------------------------------------------------- */

void handoff__mutex_publish(struct handoff__mutex *mutex,
    struct handoff__held *held)
{
	/* Relaxed, both: only holders write it; a waiter that must not miss it
	 * looks at the word first, which we exchange later (cond.c, w6). */
	uint64_t signals = atomic_load_explicit(&mutex->signals,
	    memory_order_relaxed);

	atomic_store_explicit(&mutex->signals,
	    (uint64_t)held->publish << 32 | (uint32_t)(signals + 1),
	    memory_order_relaxed);
	held->publish = 0;
}

/* By address and name alone: the mutex may be gone. */
static void wake(uint64_t segment, uint64_t id, const _Atomic uint32_t *word,
    uint32_t n)
{
	struct handoff__place place = { .segment = segment,
		.key = id,
		.word = word };

	handoff__unpark(&place, n);
}

/*
 * Somebody has waited for long and asked for its turn: those who have waited or
 * asked get the mutex next.  Who asked may have died since; hence the time,
 * after which anybody may have it.
 */
static uint32_t reserve(struct handoff__mutex *m, uint32_t left)
{
	if (left != HANDOFF__FREE)
		return left;
	/* Relaxed: the exchange that follows makes it seen. */
	atomic_store_explicit(&m->starved, now_ms(), memory_order_relaxed);
	return HANDOFF__RESERVED;
}

void handoff__mutex_release(struct handoff__mutex *mutex,
    struct handoff__self *self, int i)
{
	/* Read before the exchange: afterwards the mutex may be gone. */
	uint64_t segment = mutex->head.segment;
	uint64_t id = mutex->head.id;
	struct handoff__held *held = &self->held[i];
	uint32_t left = held->dead ? HANDOFF__DEAD : HANDOFF__FREE;
	uint32_t v;

	/* Relaxed: one that is missed leaves it to the next unlock. */
	if (atomic_load_explicit(&mutex->starved, memory_order_relaxed) ==
	    ASKED)
		left = reserve(mutex, left);
	if (held->unstamped)
		stamp(mutex, self, held);
	if (held->publish != 0)
		handoff__mutex_publish(mutex, held);
	handoff__self_drop(self, i);
	HANDOFF__POINT();
	/* Pairs with the compare-and-swap of the next owner, which sees all
	 * that was done under the lock, and with a waiter's mark. */
	v = atomic_exchange(&mutex->word, left);
	HANDOFF__POINT();
	/* Those who have lost their mark to one that is on its way must learn
	 * too that the mutex is lost: it will not pass the wake on. */
	if (left == HANDOFF__DEAD)
		wake(segment, id, &mutex->word, HANDOFF__ALL);
	else if (v & HANDOFF__WAITERS)
		wake(segment, id, &mutex->word, 1);
}

/* With signals to give. */
static int unlock_and_signal(struct handoff__mutex *m,
    struct handoff__self *self, int i)
{
	struct handoff__place place;
	uint32_t wakes = handoff__cond_deliver(self, i, &place);

	handoff__mutex_release(m, self, i);
	if (wakes != 0)
		handoff__unpark(&place, wakes);
	return 0;
}

int handoff_mutex_unlock(handoff_mutex *mutex)
{
	struct handoff__mutex *m = (struct handoff__mutex *)mutex;
	struct handoff__self *self = handoff__self_known();
	int i;

	if (!handoff__mutex_valid(m))
		return EINVAL;
	i = self ? handoff__self_find(self, m->head.id) : -1;
	if (i < 0)
		return EPERM;
	if (self->held[i].depth > 0) {
		self->held[i].depth--;
		return 0;
	}
	if (handoff__held_cond(&self->held[i]))
		return unlock_and_signal(m, self, i);
	handoff__mutex_release(m, self, i);
	return 0;
}

int handoff_mutex_consistent(handoff_mutex *mutex)
{
	struct handoff__mutex *m = (struct handoff__mutex *)mutex;
	struct handoff__self *self = handoff__self_known();
	int i;

	if (!handoff__mutex_valid(m))
		return EINVAL;
	i = self ? handoff__self_find(self, m->head.id) : -1;
	if (i < 0)
		return EPERM;
	if (!self->held[i].dead)
		return EINVAL;
	atomic_fetch_and(&m->word, ~HANDOFF__DEAD);
	self->held[i].dead = false;
	return 0;
}

bool handoff__mutex_orphaned(struct handoff__mutex *mutex)
{
	uint32_t v = atomic_load(&mutex->word);
	uint32_t owner = v & HANDOFF__OWNER;

	if (owner == HANDOFF__GONE ||
	    (owner == HANDOFF__FREE && (v & HANDOFF__DEAD)))
		return true;
	if (owner == HANDOFF__FREE || mutex->head.segment == 0 ||
	    handoff__dead_begin(mutex->head.segment, owner) != 0)
		return false;
	handoff__dead_end();
	return true;
}

void handoff__mutex_gone(struct handoff__mutex *mutex)
{
	struct handoff__place place;

	place = handoff__mutex_place(mutex);
	HANDOFF__POINT();
	if (atomic_exchange(&mutex->word, HANDOFF__GONE) & HANDOFF__WAITERS)
		handoff__unpark(&place, 1);
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__MUTEX,
	sizeof(handoff_mutex), sizeof(struct handoff_mutex_attr),
	HANDOFF_ROBUST | HANDOFF_RECURSIVE | HANDOFF_ERRORCHECK |
	    HANDOFF_UNFAIR };

int handoff_mutex_init(handoff_mutex *mutex,
    const struct handoff_mutex_attr *attr)
{
	struct handoff__mutex *m = (struct handoff__mutex *)mutex;
	const unsigned both = HANDOFF_RECURSIVE | HANDOFF_ERRORCHECK;
	unsigned flags;
	int e;

	if (attr && attr->size == sizeof *attr && (attr->flags & both) == both)
		return EINVAL;
	e = handoff__make(m, &making, attr, &flags);
	if (e != 0)
		return e;
	if (flags & HANDOFF_RECURSIVE)
		m->head.attr |= HANDOFF__ATTR_RECURSIVE;
	if (flags & HANDOFF_UNFAIR)
		m->head.attr |= HANDOFF__ATTR_UNFAIR;
	handoff__made(m, &making);
	return 0;
}

int handoff_mutex_destroy(handoff_mutex *mutex)
{
	struct handoff__mutex *m = (struct handoff__mutex *)mutex;
	int e;

	if (!handoff__mutex_valid(m))
		return EINVAL;
	e = handoff__unused(m, &making);
	if (e == 0 &&
	    (atomic_load(&m->word) & HANDOFF__OWNER) >= HANDOFF__TOKENS)
		e = EBUSY;
	if (e == 0)
		m->head.tag = 0;
	return e;
}

static int init_named(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	return handoff_mutex_init(memory, arg);
}

int handoff_mutex_open(handoff_mutex **mutex, const char *name, unsigned flags,
    unsigned mode, const struct handoff_mutex_attr *attr)
{
	void *object;
	int e;

	if (!mutex)
		return EINVAL;
	*mutex = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    (void *)(uintptr_t)attr);
	if (e == 0)
		*mutex = object;
	return e;
}
