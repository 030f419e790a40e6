/* SPDX-License-Identifier: ISC */
/*
 * Who this process and this thread are.
 *
 * Two kinds of memory, both zero in a child of fork: one block for the
 * process, one for each thread.  The pointers to them are ordinary memory and
 * so stay valid in the child, where they lead to zeroes: "not set up yet".
 * Blocks of threads that a child does not have are lost to it, one page each
 * of address space.
 *
 * The process's lock is a futex word in the process's block, free in a child
 * even if another thread of the parent held it.  What it guards outside that
 * block (the list of open segments) is therefore changed by single stores.
 *
 * The token is drawn by the first thread that needs it, with the process
 * locked; it is known in all segments that the process has open before any
 * thread can see it.
 */
#include "self.h"

#include "mutex.h"
#include "rwlock.h"
#include "segment.h"

#include <errno.h>
#include <string.h>

#define BUCKETS 256u
#define DRAWS 16

struct process {
	_Atomic uint32_t lock; /* 0 free, 1 held, 2 held and waited for */
	uint32_t token;
	struct handoff__self *threads;
	_Atomic uint32_t parked[BUCKETS];
};

static _Atomic(struct process *) the_process;

_Thread_local struct handoff__self *handoff__self_pointer;

/* Of the thread that holds the process's lock. */
static _Thread_local bool holds_lock;
static _Thread_local int cancel_before;

/* ---- The process ------------------------------------------------------- */

static void before_fork(void);
static void after_fork(void);

static struct process *process(void)
{
	/* Acquire pairs with the exchange below: the block is mapped. */
	struct process *p = atomic_load_explicit(&the_process,
	    memory_order_acquire);
	struct process *none = NULL;

	if (p)
		return p;
	p = handoff__private_get(sizeof *p);
	if (!p)
		return NULL;
	if (!atomic_compare_exchange_strong(&the_process, &none, p)) {
		handoff__private_free(p, sizeof *p);
		return none;
	}
	/* Without them all is well but for a fork at the wrong moment. */
	(void)handoff__at_fork(before_fork, after_fork);
	return p;
}

static struct handoff__place lock_place(struct process *p)
{
	return (struct handoff__place){ .key = (uint64_t)(uintptr_t)&p->lock,
		.word = &p->lock };
}

int handoff__process_lock(void)
{
	struct process *p = process();
	uint32_t free = 0;
	int cancel;

	if (!p)
		return ENOMEM;
	cancel = handoff__cancel_off();
	if (!atomic_compare_exchange_strong(&p->lock, &free, 1)) {
		struct handoff__place place = lock_place(p);

		while (atomic_exchange(&p->lock, 2) != 0)
			handoff__park(&place, 2, HANDOFF_NEVER);
	}
	cancel_before = cancel;
	holds_lock = true;
	return 0;
}

void handoff__process_unlock(void)
{
	struct process *p = process();

	holds_lock = false;
	if (atomic_exchange(&p->lock, 0) == 2) {
		struct handoff__place place = lock_place(p);

		handoff__unpark(&place, 1);
	}
	handoff__cancel_restore(cancel_before);
}

/*
 * Nobody forks while another thread joins or asks: for a moment that thread has
 * a descriptor by which the child would keep a life byte locked.  A thread that
 * forks in a signal handler, in the midst of this itself, must not wait.
 */
static _Thread_local bool forks;

static void before_fork(void)
{
	forks = !holds_lock && handoff__process_lock() == 0;
}

static void after_fork(void)
{
	if (forks)
		handoff__process_unlock();
	forks = false;
}

uint32_t handoff__process_token(void)
{
	return process()->token;
}

_Atomic uint32_t *handoff__process_parked(const void *word)
{
	struct process *p = process();
	uintptr_t at = (uintptr_t)word;

	return p ? &p->parked[(at >> 6 ^ at >> 14) % BUCKETS] : NULL;
}

/* Draws a token that no living process has in any segment that is open. */
static int draw(struct process *p)
{
	int e = EAGAIN;

	for (int i = 0; i < DRAWS && e == EAGAIN; i++) {
		uint32_t token;

		handoff__random(&token, sizeof token);
		token &= HANDOFF__OWNER;
		if (token < HANDOFF__TOKENS)
			continue;
		e = handoff__segments_join(token);
		if (e == 0)
			p->token = token;
	}
	return e;
}

/* ---- The thread -------------------------------------------------------- */

static void give_up(const struct handoff__held *held)
{
	struct handoff__mutex *m = atomic_load(&held->mutex);

	/* Plain memory may be gone itself, and promises nothing; a segment may
	 * have come to lie where it was. */
	if (handoff__segment_of(m) == 0)
		return;
	if (held->slot == HANDOFF__NO_SLOT && held->id == m->head.id)
		handoff__mutex_gone(m);
	else if (held->slot != HANDOFF__NO_SLOT &&
	    held->id == handoff__reading(m->head.id))
		handoff__rwlock_gone((struct handoff__rwlock *)m, held->slot);
}

/* This thread ends: what it still holds is GONE, and its block goes. */
static void end(void *arg)
{
	struct handoff__self *self = arg;
	struct handoff__self **at;

	handoff__self_pointer = NULL;
	if (self->token != 0) {
		for (uint32_t i = atomic_load(&self->count); i-- > 0;)
			give_up(&self->held[i]);
		handoff__process_lock();
		for (at = &process()->threads; *at; at = &(*at)->next)
			if (*at == self) {
				*at = self->next;
				break;
			}
		handoff__process_unlock();
		if (self->held != self->first)
			handoff__private_free(self->held,
			    self->capacity * sizeof *self->held);
	}
	handoff__private_free(self, sizeof *self);
}

int handoff__self_begin(void)
{
	struct handoff__self *self = handoff__self_pointer;
	struct process *p;
	int e;

	if (handoff__self_known())
		return 0;
	if (!self) {
		self = handoff__private_get(sizeof *self);
		if (!self)
			return ENOMEM;
		e = handoff__at_thread_end(end, self);
		if (e != 0) {
			handoff__private_free(self, sizeof *self);
			return e;
		}
		handoff__self_pointer = self;
	}
	self->held = self->first;
	self->capacity = HANDOFF__HELD;
	handoff__random(&self->who, sizeof self->who);
	self->who |= 1;
	self->cpu = handoff__cpu_word();
	e = handoff__process_lock();
	if (e != 0)
		return e;
	p = process();
	if (p->token == 0)
		e = draw(p);
	if (e == 0) {
		self->next = p->threads;
		p->threads = self;
		self->token = p->token;
	}
	handoff__process_unlock();
	return e == 0 || e == ENOMEM ? e : EAGAIN;
}

/* ---- What a thread holds ----------------------------------------------- */

int handoff__self_grow(struct handoff__self *self)
{
	/* Relaxed: this thread's own. */
	uint32_t n = atomic_load_explicit(&self->count, memory_order_relaxed);
	size_t bytes = self->capacity * sizeof *self->held;
	struct handoff__held *more;
	struct handoff__held *old = self->held;
	int e;

	if (n < self->capacity)
		return 0;
	more = handoff__private_get(2 * bytes);
	if (!more)
		return ENOMEM;
	memcpy(more, old, bytes);
	/* Locked: another thread's close may be reading the old one. */
	e = handoff__process_lock();
	if (e != 0) {
		handoff__private_free(more, 2 * bytes);
		return e;
	}
	self->held = more;
	self->capacity *= 2;
	handoff__process_unlock();
	if (old != self->first)
		handoff__private_free(old, bytes);
	return 0;
}

void handoff__self_fill(struct handoff__self *self, uint32_t i, uint32_t last)
{
	struct handoff__held *hole = &self->held[i];
	const struct handoff__held *top = &self->held[last];

	hole->id = top->id;
	handoff__held_signal(hole, handoff__held_cond(top), top->signals);
	hole->publish = top->publish;
	hole->partner = top->partner;
	hole->depth = top->depth;
	hole->dead = top->dead;
	hole->unstamped = top->unstamped;
	hole->reads = top->reads;
	hole->slot = top->slot;
	/* Relaxed: published by the count that drop stores next. */
	atomic_store_explicit(&hole->mutex,
	    atomic_load_explicit(&top->mutex, memory_order_relaxed),
	    memory_order_relaxed);
}

static bool within(const void *object, const void *from, size_t bytes)
{
	return object && (uintptr_t)object - (uintptr_t)from < bytes;
}

void handoff__self_forget(const void *from, size_t bytes)
{
	struct handoff__self *self = handoff__self_known();

	for (uint32_t i = self ? atomic_load(&self->count) : 0; i-- > 0;)
		if (within(atomic_load(&self->held[i].mutex), from, bytes))
			handoff__self_drop(self, (int)i);
}

/* Whether a thread waits for several things, and for one in that range. */
static bool waits_for_any(const struct handoff__self *self, const void *from,
    size_t bytes)
{
	for (size_t i = 0; i < self->items_count; i++)
		if (within(self->items[i].object, from, bytes))
			return true;
	return false;
}

int handoff__self_items(struct handoff__self *self,
    const struct handoff_item *items, size_t n)
{
	int e = handoff__process_lock();

	if (e != 0)
		return e;
	self->items = items;
	self->items_count = n;
	handoff__process_unlock();
	return 0;
}

/* Relaxed: a thread's own. */
void handoff__self_leaves(struct handoff__self *self, struct handoff__at *at)
{
	at->waiting = atomic_load_explicit(&self->waiting,
	    memory_order_relaxed);
	at->locking = atomic_load_explicit(&self->locking,
	    memory_order_relaxed);
	at->items = self->items;
	at->items_count = self->items_count;
	handoff__self_is_at(&self->waiting, NULL);
	handoff__self_is_at(&self->locking, NULL);
	if (at->items)
		handoff__self_items(self, NULL, 0);
}

void handoff__self_returns(struct handoff__self *self,
    const struct handoff__at *at)
{
	handoff__self_is_at(&self->waiting, at->waiting);
	handoff__self_is_at(&self->locking, at->locking);
	if (at->items)
		handoff__self_items(self, at->items, at->items_count);
}

/* Whether a thread holds or waits for something in that range. */
static bool holds(struct handoff__self *self, const void *from, size_t bytes)
{
	/* A thread that leaves a condition goes from waiting to leaving and
	 * back to waiting (cond.c, lock_outside), and names it in the new
	 * place before it takes it from the old.  So one look at leaving
	 * between two at waiting cannot miss it on the way. */
	if (within(atomic_load(&self->waiting), from, bytes) ||
	    within(atomic_load(&self->leaving), from, bytes) ||
	    within(atomic_load(&self->waiting), from, bytes) ||
	    within(atomic_load(&self->locking), from, bytes) ||
	    waits_for_any(self, from, bytes))
		return true;
	/* Acquire pairs with hold and drop. */
	for (uint32_t n =
	         atomic_load_explicit(&self->count, memory_order_acquire);
	     n-- > 0;) {
		const struct handoff__held *held = &self->held[n];

		if (within(atomic_load_explicit(&held->mutex,
		               memory_order_relaxed),
		        from, bytes) ||
		    within(handoff__held_cond(held), from, bytes))
			return true;
	}
	return false;
}

unsigned handoff__threads_in(const void *from, size_t bytes)
{
	unsigned n = 0;

	for (struct handoff__self *t = process()->threads; t; t = t->next)
		n += holds(t, from, bytes);
	return n;
}

void handoff__threads_evict(const void *object)
{
	for (struct handoff__self *t = process()->threads; t; t = t->next) {
		const void *leaving = object;

		atomic_compare_exchange_strong(&t->leaving, &leaving, NULL);
	}
}
