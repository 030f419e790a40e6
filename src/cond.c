/* SPDX-License-Identifier: ISC */
/*
 * The condition: waiters that spin watch the mutex's line, waiters that park
 * are counted in the condition's state.
 *
 * IN THE MUTEX    signals = who | number   (64 bits, written by the holder)
 *   number   moves with each release that carries signals; who: of which
 *            condition (32 bits of its id)
 *
 * IN THE CONDITION    state   (64 bits, one atomic; parked.h has its fields)
 *   epoch    moves with each broadcast
 *   number   moves with each signal that found someone unwoken parked, and with
 *            each that is given without the mutex
 *   parked   marks of waiters that park or are about to, in this epoch
 *   due      wakes issued to them and not yet taken; due <= parked
 *   WAITED   somebody has waited since the last broadcast that woke
 *
 * WAIT (the caller holds the mutex)
 *   w1  its own signals take effect as in r1 to r3
 *   w2  set WAITED if it is clear; remember the state that this shows, and
 *       signals
 *   w3  release the mutex (r4, r5)
 *   w4  spin or yield: leave when signals moved for this condition, or epoch
 *       or number
 *   w5  mark: parked + 1, unless epoch or number moved: then leave
 *   w6  look whether the mutex is held.  If it is: lock it, look at signals,
 *       and if they have not moved for this condition unlock it (r4, r5);
 *       else look at signals.  Moved: leave
 *   w7  park on (epoch, number).  Then, by what is found:
 *         epoch moved                     leave; the mark is gone
 *         woken, or number moved while
 *         about to park                   leave
 *         slice's end, number moved since
 *         the mark and due > 0            leave
 *         slice's end, the mutex's owner
 *         is dead                         leave
 *         deadline passed                 leave, with ETIMEDOUT if w9 does
 *                                         not find a wake to take
 *         else                            take the number as seen, w7
 *   w8  lock the mutex; as one that has parked on it if the epoch moved
 *   w9  holding it (unless it is not recoverable) unmark, if there is a mark
 *       and the epoch is the same: parked - 1, and due - 1 if due > 0 and
 *       either number moved since the mark or a wake brought us here (also if
 *       due would exceed parked).  ETIMEDOUT becomes 0 if that took a due, or
 *       if the epoch moved
 *
 *   Signals moved for this condition: the number did, and either "who" says
 *   so or it moved by more than one.  One that moved it by one for another
 *   condition is taken as seen.
 *
 * SIGNAL, the caller holds the mutex whose id the condition carries
 *   WAITED clear: nothing.  Else it is noted in the thread's list of locks
 *   (a second one for another condition sends the first off early) and takes
 *   effect at the release:
 *   r1  look at state; parked > due: due + n, number + 1, where n is how many
 *       signals were noted, or as many as parked - due
 *   r2  broadcast, instead: if parked > 0: epoch + 1, the rest of state = 0;
 *       move all who are parked to the mutex's word, and set WAITERS in that
 *   r3  signals: number + 1, who; seen by others at any time up to r4
 *   r4  exchange the mutex's word: released
 *   r5  wake one parked on the mutex if WAITERS was set; if r1 issued wakes,
 *       wake n parked on the condition.  Uses addresses only.
 *
 * SIGNAL, without the mutex
 *   WAITED clear: nothing.  Else number + 1, and if parked > due also due + 1
 *   and wake one.  Broadcast: epoch + 1, the rest of state = 0; wake all if
 *   anyone was parked.
 *
 * NO WAKE IS LOST
 *   The holder's lock comes before r1, w5 before w6, all sequentially
 *   consistent.  So a holder whose r1 does not find the mark has locked before
 *   w6, which therefore finds the mutex held, or r4 done, and with it r3.  In
 *   the first case w6 locks, after r4; and later holders find the mark.  One
 *   that does find it either issues a wake (number moves: who is between mark
 *   and park does not park; else the kernel wakes one) or finds that every
 *   mark has a wake issued already.  A kernel wake always makes its waiter
 *   leave, and takes one from due, whomever it reached; wakes reach those
 *   first who have been parked longest (port.h), so that none is used up by
 *   one that came after the signal, unless the slice of the one it was meant
 *   for ended between r1 and r5.  Then the later one leaves in its place, by a
 *   wake that it did not need: no change of what is waited for is missed, but
 *   who waits for different things on one condition should broadcast.
 *   due serves those whose slice ended: a wake given to one that was killed,
 *   or never given by one that was killed, is found, and a slice's end does
 *   not turn each signal into a slow broadcast.  Without the mutex w2's state
 *   stands for signals: number has moved.
 *
 * WHAT A DEATH LEAVES
 *   waiter, w1 to w3     an owner that died: the mutex's business
 *   waiter, w4           nothing
 *   waiter, w5 to w8     a mark too many: one idle wake, after which
 *                        parked = due hides it; a broadcast clears it
 *   waiter, woken, to w8 due too many: found by another at its slice's end
 *   waiter, w6 or w9, holding the mutex: an owner that died
 *   signaller, to r4     an owner that died; waiters look at the mutex's
 *                        owner at the end of each slice, and get EOWNERDEAD
 *   signaller, r4 to r5  due too many, as above
 *   broadcaster, r2      sleepers of the old epoch, who find it at their
 *                        slice's end, and may use up a wake meant for a later
 *                        one, which finds it through due
 *   Too many marks of the dead (parked at its limit): the next mark
 *   broadcasts first.
 *
 * DESTROYED WHEN
 *   A release touches the condition before it lets the next one in, so a
 *   holder may destroy it after its own signal or broadcast.  Threads of this
 *   process that are on their way out of a wait are dealt with by destroy:
 *   those before w8 are waited for, those in w8 are told to skip w9.
 */
#include "cond.h"

#include "making.h"
#include "mutex.h"
#include "parked.h"
#include "points.h"
#include "site.h"

#include <errno.h>

/* How long destroy lets those who are inside be without a wake. */
#define UNWOKEN_NS 200000000u
#define LEAVE_NS 2000000000u
#define LEAVE_STEP_NS 50000u

static struct handoff__place place_of(const struct handoff__cond *c)
{
	return (struct handoff__place){ .segment = c->head.segment,
		.key = c->head.id,
		.word = handoff__low_half(&c->state) };
}

/* ---- What travels in the mutex's line ---------------------------------- */

/* Which condition a signal is for, as far as it can be said in 32 bits. */
static uint32_t who(const struct handoff__cond *c)
{
	return (uint32_t)c->head.id | 1;
}

/*
 * Whether a signal for this condition has been released since *seen.  A single
 * one for another condition of the same mutex is passed over; of several only
 * the last is known, so that they count as ours.
 */
static bool signalled(const struct handoff__cond *c,
    const struct handoff__mutex *m, uint64_t *seen)
{
	/* Acquire: nothing that follows is looked at earlier; what must not be
	 * missed has been ordered by the mutex's word (w6). */
	uint64_t now = atomic_load_explicit(&m->signals, memory_order_acquire);

	if ((uint32_t)now == (uint32_t)*seen)
		return false;
	if ((uint32_t)now - (uint32_t)*seen == 1 && now >> 32 != who(c)) {
		*seen = now;
		return false;
	}
	return true;
}

/* ---- Waiting ----------------------------------------------------------- */

struct waiter {
	struct handoff__cond *c;
	struct handoff__mutex *m;
	struct handoff__wait w;
	uint64_t signals; /* of the mutex, as last seen */
	uint32_t seen;    /* epoch and number, as last seen */
	uint32_t marked;  /* the same at the mark */
	unsigned partner; /* CPU + 1 of who had the mutex before us */
	bool is_marked;   /* w9 has something to do */
	bool is_locked;   /* w8 has been done */
	int locked;       /* its result */
	bool woken;       /* a wake brought us here */
	bool requeued;    /* may have been parked on the mutex instead */
	uint16_t depth;   /* of a recursive mutex */
};

/* w2 */
static void remember(struct waiter *x, const struct handoff__held *held)
{
	uint64_t state = atomic_load(&x->c->state);
	/* Relaxed: written under the mutex that all waiters use. */
	uint64_t id = atomic_load_explicit(&x->c->mutex, memory_order_relaxed);

	if (id != x->m->head.id)
		atomic_store_explicit(&x->c->mutex, x->m->head.id,
		    memory_order_relaxed);
	if (!(state & HANDOFF__WAITED))
		state = atomic_fetch_or(&x->c->state, HANDOFF__WAITED);
	x->seen = handoff__parked_half(state);
	x->signals = atomic_load_explicit(&x->m->signals, memory_order_relaxed);
	if (held->publish != 0)
		x->signals++; /* our own, which the release will move */
}

/* Whether there is something to leave for. */
static bool moved(struct waiter *x)
{
	return signalled(x->c, x->m, &x->signals) ||
	    handoff__parked_half(atomic_load(&x->c->state)) != x->seen;
}

/* w4: true if it may be over, false if it is time to park. */
static bool spin(struct waiter *x, struct handoff__self *self)
{
	bool at_once = true;

	handoff__wait_quiet(&x->w, x->partner, &x->m->word);
	for (;; at_once = false) {
		if (moved(x)) {
			handoff__wait_learn(self, at_once);
			return true;
		}
		if (!handoff__wait_spin(&x->w, x->partner))
			return false;
		if (x->w.look && handoff__mutex_orphaned(x->m))
			return true;
	}
}

static void wake_all_of(struct handoff__cond *c);

/* w5: false if there is nothing to park for. */
static bool mark(struct waiter *x)
{
	int e = handoff__parked_mark(&x->c->state, x->seen);

	if (e == EOVERFLOW)
		wake_all_of(x->c);
	if (e != 0)
		return false;
	x->marked = x->seen;
	x->is_marked = true;
	return true;
}

/*
 * w7, after the park: true if the wait is over, false: park again on what has
 * been seen.
 */
static bool over(struct waiter *x, enum handoff__woken woken)
{
	uint64_t state = atomic_load(&x->c->state);
	uint32_t now = handoff__parked_half(state);

	if ((now ^ x->marked) & HANDOFF__PARKED_EPOCH) {
		x->is_marked = false;
		x->requeued = true;
		return true;
	}
	switch (woken) {
	case HANDOFF__WOKEN:
		x->woken = true;
		return true;
	case HANDOFF__DEADLINE:
		return true;
	default:
		if ((now != x->marked && handoff__due(state) > 0) ||
		    handoff__mutex_orphaned(x->m))
			return true;
		x->seen = now;
		return false;
	}
}

/*
 * Locks the mutex again, outside of the condition: meanwhile a destroy may tell
 * us not to touch it any more; then the mark is as good as gone.
 */
static void lock_outside(struct waiter *x, struct handoff__self *self)
{
	atomic_store(&self->leaving, x->c);
	handoff__self_is_at(&self->waiting, NULL);
	x->locked = handoff__mutex_relock(x->m, self, x->requeued);
	x->is_locked = true;
	/* In this order, seen by a destroy: it finds us inside, or has told
	 * us; pairs with handoff__threads_evict and holds in self.c. */
	atomic_store(&self->waiting, x->c);
	if (!atomic_exchange(&self->leaving, NULL))
		x->is_marked = false;
}

/*
 * w6: true if the wait is over.  A holder may have looked at the state before
 * we marked and not have moved signals yet; so while somebody holds the mutex
 * we lock it before we look.
 */
static bool signalled_before_mark(struct waiter *x, struct handoff__self *self)
{
	/* Sequentially consistent: after our mark; pairs with the lock and the
	 * look at the state of a holder that did not see the mark. */
	if (!handoff__mutex_held(x->m))
		return signalled(x->c, x->m, &x->signals);
	lock_outside(x, self);
	if (x->locked != 0 || !x->is_marked ||
	    signalled(x->c, x->m, &x->signals))
		return true;
	x->is_locked = false;
	handoff__mutex_release(x->m, self, handoff__self_last(self));
	return false;
}

/* w4 to w7: true if the deadline ended it. */
static bool wait_for(struct waiter *x, struct handoff__self *self)
{
	struct handoff__place place = place_of(x->c);
	enum handoff__woken woken;

	if (spin(x, self) || !mark(x) || signalled_before_mark(x, self))
		return false;
	do {
		if (!handoff__wait_late(&x->w))
			handoff__note_park(&x->c->statistics, !x->w.parked);
		woken = handoff__wait_park(&x->w, &place, x->seen);
	} while (!over(x, woken));
	return woken == HANDOFF__DEADLINE && !x->requeued;
}

/* w8 and w9. */
static int leave(struct waiter *x, struct handoff__self *self, bool late)
{
	bool taken = false;

	if (x->is_marked && !x->is_locked)
		lock_outside(x, self);
	if (x->is_marked) {
		handoff__note_longest(&x->c->statistics, &x->w);
		taken = handoff__parked_unmark(&x->c->state, x->marked,
		    x->woken);
	}
	handoff__self_is_at(&self->waiting, NULL);
	if (!x->is_locked)
		x->locked = handoff__mutex_relock(x->m, self, x->requeued);
	if (x->locked == 0 || x->locked == EOWNERDEAD)
		self->held[handoff__self_last(self)].depth = x->depth;
	if (x->locked != 0)
		return x->locked;
	return late && !taken ? ETIMEDOUT : 0;
}

int handoff_cond_wait_until(handoff_cond *cond, handoff_mutex *mutex,
    uint64_t deadline)
{
	struct handoff__self *self = handoff__self_known();
	struct waiter x = { .c = (struct handoff__cond *)cond,
		.m = (struct handoff__mutex *)mutex };
	struct handoff__place place;
	uint32_t wakes = 0;
	bool late = false;
	int i;

	if (!handoff__is(x.c, HANDOFF__COND) || !handoff__mutex_valid(x.m))
		return EINVAL;
	i = self ? handoff__self_find(self, x.m->head.id) : -1;
	if (i < 0)
		return EPERM;
	x.partner = self->held[i].partner;
	x.depth = self->held[i].depth;
	handoff__self_is_at(&self->waiting, x.c);
	if (handoff__held_cond(&self->held[i])) /* w1 */
		wakes = handoff__cond_deliver(self, i, &place);
	remember(&x, &self->held[i]);
	handoff__mutex_release(x.m, self, i); /* w3 */
	if (wakes != 0)
		handoff__unpark(&place, wakes);
	/* Who was woken here may have run and signalled meanwhile.  The rest
	 * only now, so that the mutex is held for as short as can be. */
	if (!(wakes != 0 && moved(&x)) &&
	    !(handoff__wait_trust(self, &x.c->head, x.partner, deadline) &&
	        moved(&x))) {
		handoff__wait_begin(&x.w, self, &x.c->head, deadline, false);
		late = wait_for(&x, self);
		handoff__wait_end(&x.w);
	}
	return leave(&x, self, late);
}

int handoff_cond_wait(handoff_cond *cond, handoff_mutex *mutex)
{
	return handoff_cond_wait_until(cond, mutex, HANDOFF_NEVER);
}

/* ---- Signalling without the mutex -------------------------------------- */

static void wake_one_of(struct handoff__cond *c)
{
	struct handoff__place place = place_of(c);
	uint64_t state = atomic_load(&c->state);
	uint64_t next;

	do {
		next = handoff__parked_next(state);
		if (handoff__parked(state) > handoff__due(state))
			next += HANDOFF__DUE_ONE;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&c->state, &state, next));
	HANDOFF__POINT();
	if (handoff__parked(state) > handoff__due(state))
		handoff__unpark(&place, 1);
}

static void wake_all_of(struct handoff__cond *c)
{
	struct handoff__place place = place_of(c);
	uint64_t state = atomic_load(&c->state);

	HANDOFF__POINT();
	while (!atomic_compare_exchange_weak(&c->state, &state,
	    handoff__parked_empty(state)))
		;
	HANDOFF__POINT();
	if (handoff__parked(state) > 0)
		handoff__unpark(&place, HANDOFF__ALL);
}

/* ---- Signalling by a holder of the mutex ------------------------------- */

/* r2: those who were parked are left to the mutex, whose release wakes one,
 * which wakes the next, and so on: they do not stampede. */
static void move_all(struct handoff__cond *c, struct handoff__mutex *m)
{
	struct handoff__place from = place_of(c);
	struct handoff__place to = handoff__mutex_place(m);

	if (!handoff__parked_all(&c->state))
		return;
	if (handoff__requeue(&from, &to))
		atomic_fetch_or(&m->word, HANDOFF__WAITERS);
	HANDOFF__POINT();
}

uint32_t handoff__cond_deliver(struct handoff__self *self, int i,
    struct handoff__place *place)
{
	struct handoff__held *held = &self->held[i];
	struct handoff__cond *c = handoff__held_cond(held);
	uint32_t count = held->signals;
	uint32_t wakes = 0;

	handoff__held_signal(held, NULL, 0);
	held->publish = who(c);
	HANDOFF__POINT();
	*place = place_of(c);
	if (count == HANDOFF__ALL)
		/* Relaxed: our own thread wrote it. */
		move_all(c,
		    atomic_load_explicit(&held->mutex, memory_order_relaxed));
	else
		/* r1; sequentially consistent: after our lock; pairs with w5
		 * and w6. */
		wakes = handoff__parked_issue(&c->state, count);
	if (wakes != 0)
		handoff__leave_time(&c->head);
	HANDOFF__POINT();
	return wakes;
}

/* The same before the release, which is still some way off. */
static void deliver_early(struct handoff__self *self, int i)
{
	struct handoff__place place;
	uint32_t wakes = handoff__cond_deliver(self, i, &place);

	handoff__mutex_publish(atomic_load(&self->held[i].mutex),
	    &self->held[i]);
	if (wakes != 0)
		handoff__unpark(&place, wakes);
}

/*
 * Notes the signal with the lock, if this thread holds the mutex that the
 * condition's waiters use: true.
 */
static bool defer(struct handoff__cond *c, uint32_t signals)
{
	struct handoff__self *self = handoff__self_known();
	/* Relaxed: if we hold that mutex, it was written before we locked. */
	uint64_t id = atomic_load_explicit(&c->mutex, memory_order_relaxed);
	int i = self ? handoff__self_find(self, id) : -1;
	struct handoff__held *held;
	struct handoff__cond *before;

	if (i < 0)
		return false;
	held = &self->held[i];
	before = handoff__held_cond(held);
	if (before && before != c) {
		deliver_early(self, i);
		before = NULL;
	}
	if (before && signals != HANDOFF__ALL)
		signals = held->signals == HANDOFF__ALL ? HANDOFF__ALL :
		                                          held->signals + 1;
	handoff__held_signal(held, c, signals);
	return true;
}

static int signal(handoff_cond *cond, uint32_t signals)
{
	struct handoff__cond *c = (struct handoff__cond *)cond;

	if (!handoff__is(c, HANDOFF__COND))
		return EINVAL;
	if (!(atomic_load(&c->state) & HANDOFF__WAITED) || defer(c, signals))
		return 0;
	if (signals == HANDOFF__ALL)
		wake_all_of(c);
	else
		wake_one_of(c);
	return 0;
}

int handoff_cond_signal(handoff_cond *cond)
{
	return signal(cond, 1);
}

int handoff_cond_broadcast(handoff_cond *cond)
{
	return signal(cond, HANDOFF__ALL);
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__COND,
	sizeof(handoff_cond), sizeof(struct handoff_cond_attr), 0 };

int handoff_cond_init(handoff_cond *cond, const struct handoff_cond_attr *attr)
{
	unsigned flags;
	int e = handoff__make(cond, &making, attr, &flags);

	if (e == 0)
		handoff__made(cond, &making);
	return e;
}

/*
 * A holder's broadcast leaves waiters parked on its mutex, and they look at
 * the condition once more when they wake; so before destroy waits for them
 * signals that are still pending are given, and those waiters are woken.
 */
static void let_go(struct handoff__cond *c)
{
	struct handoff__self *self = handoff__self_known();
	/* Relaxed: if we hold that mutex, it was written before we locked. */
	uint64_t id = atomic_load_explicit(&c->mutex, memory_order_relaxed);
	int i = self ? handoff__self_find(self, id) : -1;
	struct handoff__place place;

	if (i < 0)
		return;
	if (handoff__held_cond(&self->held[i]) == c)
		deliver_early(self, i);
	place = handoff__mutex_place(atomic_load(&self->held[i].mutex));
	handoff__unpark(&place, HANDOFF__ALL);
}

/* Threads of this process that may still touch the condition; those that only
 * wait for the mutex are told not to. */
static int inside(const struct handoff__cond *c, unsigned *n)
{
	int e = handoff__process_lock();

	if (e != 0)
		return e;
	handoff__threads_evict(c);
	*n = handoff__threads_in(c, sizeof *c);
	handoff__process_unlock();
	return 0;
}

/* Waits until nobody of this process is inside.  EBUSY: somebody stays, and
 * seems to have been given no wake. */
static int wait_for_leavers(struct handoff__cond *c)
{
	uint64_t now = handoff_now();
	uint64_t unwoken = now + UNWOKEN_NS;
	uint64_t end = now + LEAVE_NS;

	for (;; now = handoff_now()) {
		uint64_t state = atomic_load(&c->state);
		unsigned n;
		int e = inside(c, &n);

		if (e != 0 || n == 0)
			return e;
		if (handoff__parked(state) <= handoff__due(state))
			unwoken = now + UNWOKEN_NS;
		if (now >= unwoken || now >= end)
			return EBUSY;
		handoff__nap(LEAVE_STEP_NS);
	}
}

int handoff_cond_destroy(handoff_cond *cond)
{
	struct handoff__cond *c = (struct handoff__cond *)cond;
	int e;

	if (!handoff__is(c, HANDOFF__COND))
		return EINVAL;
	let_go(c);
	e = wait_for_leavers(c);
	if (e == 0)
		c->head.tag = 0;
	return e;
}

static int init_named(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	return handoff_cond_init(memory, arg);
}

int handoff_cond_open(handoff_cond **cond, const char *name, unsigned flags,
    unsigned mode, const struct handoff_cond_attr *attr)
{
	void *object;
	int e;

	if (!cond)
		return EINVAL;
	*cond = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    (void *)(uintptr_t)attr);
	if (e == 0)
		*cond = object;
	return e;
}
