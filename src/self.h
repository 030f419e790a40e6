/* SPDX-License-Identifier: ISC */
/*
 * Who this process and this thread are: the process's token, the process's
 * own lock, and for each thread what it holds and what it waits for.  All of
 * it is zero in a child of fork, which so owns nothing and draws a token of
 * its own at its first call.
 */
#ifndef HANDOFF_SELF_H
#define HANDOFF_SELF_H

#include "learnt.h"
#include "object.h"

#include <stdbool.h>

/* One lock that a thread holds. */
struct handoff__held {
	/* Atomic, since other threads' close and destroy read these two. */
	_Atomic(struct handoff__mutex *) mutex;
	_Atomic(struct handoff__cond *) cond; /* to be signalled at release */
	uint64_t id;
	uint32_t signals; /* how many; HANDOFF__ALL: a broadcast */
	uint32_t
	    publish; /* moves the mutex's signals at release; 0: does not */
	uint16_t partner; /* CPU + 1 of the thread that had it */
	uint16_t depth;   /* locked so often beyond once */
	bool dead;        /* EOWNERDEAD was told */
	bool unstamped;   /* the mutex does not say yet where we run */
	bool reads;       /* of a readers-writer lock: it asked to read */
	uint8_t slot;     /* where it is counted as a reader, or NO_SLOT */
};

#define HANDOFF__NO_SLOT UINT8_MAX

/* A lock held to read is in the list under this; to write under its id. */
static inline uint64_t handoff__reading(uint64_t id)
{
	return ~id;
}

#define HANDOFF__DEEPEST UINT16_MAX

/* Relaxed, both: a thread's own; others only compare the address. */
static inline struct handoff__cond *handoff__held_cond(
    const struct handoff__held *held)
{
	return atomic_load_explicit(&held->cond, memory_order_relaxed);
}

static inline void handoff__held_signal(struct handoff__held *held,
    struct handoff__cond *cond, uint32_t signals)
{
	held->signals = signals;
	atomic_store_explicit(&held->cond, cond, memory_order_relaxed);
}

#define HANDOFF__HELD 16u

/* What a thread's waits have done so far. */
struct handoff__counts {
	uint64_t waits;
	uint64_t spins;
	uint64_t yields;
	uint64_t parks;
};

struct handoff__self {
	uint32_t token; /* the process's; 0: not set up in this process */
	uint16_t who;   /* random, not 0: tells threads apart in hints */
	_Atomic uint32_t count;
	uint32_t capacity;
	struct handoff__held *held;
	/* Where this thread is; read by other threads' close and destroy. */
	_Atomic(const void *) waiting; /* for a condition */
	_Atomic(const void *) leaving; /* one that it will touch once more */
	_Atomic(const void *) locking; /* for anything else */
	/* What it waits for if that is several; with the process locked. */
	const struct handoff_item *items;
	size_t items_count;
	struct handoff__self *next;
	const volatile uint32_t *cpu; /* handoff__cpu_word() */
	uint32_t cpu_was;             /* see handoff__self_cpu_lately */
	uint32_t cpu_uses;            /* of that, until it is asked for again */
	uint32_t wakes;               /* see handoff__leave_time */
	uint32_t turns;  /* of handoff_wait_any: where to begin to look */
	uint32_t asked;  /* ms: when a try last asked after an owner */
	uint32_t quiet;  /* see handoff__wait_quiet */
	uint32_t met;    /* CPU + 1 of whom we last met at ... */
	uint64_t met_at; /* ... the object with this id */
	uint64_t policy; /* see policy.c */
	/* The user's own way to wait, or NULL. */
	void (*idle)(unsigned iteration, uint64_t waited_ns, void *ctx);
	void *idle_ctx;
	struct handoff__counts counts;
	struct handoff__learnt learnt;
	struct handoff__held first[HANDOFF__HELD];
};

extern _Thread_local struct handoff__self *handoff__self_pointer;

/* Sets up this thread, and this process if it is the first: 0, ENOMEM, EAGAIN
 * or what joining a segment answers. */
int handoff__self_begin(void);

/* This thread as it is known already, or NULL. */
static inline struct handoff__self *handoff__self_known(void)
{
	struct handoff__self *self = handoff__self_pointer;

	return self && self->token ? self : NULL;
}

/* Room for one more held lock: 0 or ENOMEM. */
int handoff__self_grow(struct handoff__self *self);

/* The index of what this thread holds with that id, or -1. */
static inline int handoff__self_find(const struct handoff__self *self,
    uint64_t id)
{
	/* Relaxed: this thread's own. */
	uint32_t i = atomic_load_explicit(&self->count, memory_order_relaxed);

	while (i-- > 0)
		if (self->held[i].id == id)
			return (int)i;
	return -1;
}

/* The index of what this thread has just locked: not to be found by its id,
 * which others may have changed since. */
static inline int handoff__self_last(const struct handoff__self *self)
{
	/* Relaxed: this thread's own. */
	return (int)atomic_load_explicit(&self->count, memory_order_relaxed) -
	    1;
}

/* The CPU that this thread runs on, plus 1; 0: unknown. */
static inline uint32_t handoff__self_cpu(const struct handoff__self *self)
{
	return self->cpu ? *self->cpu + 1 : handoff__cpu();
}

#define HANDOFF__CPU_USES 256u

/* The same, perhaps as it was some calls ago but after the last park or
 * yield: for others, who may come to see it even later.  A call of the system
 * for each would cost several times as much as the rest of an operation. */
static inline uint32_t handoff__self_cpu_lately(struct handoff__self *self)
{
	if (self->cpu)
		return *self->cpu + 1;
	if (self->cpu_uses == 0) {
		self->cpu_was = handoff__cpu();
		self->cpu_uses = HANDOFF__CPU_USES;
	}
	self->cpu_uses--;
	return self->cpu_was;
}

/* Notes a lock that has just been taken; there is room. */
static inline struct handoff__held *handoff__self_hold(struct handoff__self
                                                           *self,
    struct handoff__mutex *mutex, uint64_t id)
{
	/* Relaxed: this thread's own. */
	uint32_t n = atomic_load_explicit(&self->count, memory_order_relaxed);
	struct handoff__held *held = &self->held[n];

	held->id = id;
	held->publish = 0;
	held->depth = 0;
	held->reads = false;
	held->slot = HANDOFF__NO_SLOT;
	handoff__held_signal(held, NULL, 0);
	/* Relaxed: published by the count. */
	atomic_store_explicit(&held->mutex, mutex, memory_order_relaxed);
	/* Release: who counts this lock sees which it is (self.c, holds). */
	atomic_store_explicit(&self->count, n + 1, memory_order_release);
	return held;
}

/* Moves the last one to where the i-th was. */
void handoff__self_fill(struct handoff__self *self, uint32_t i, uint32_t last);

/* Notes that the i-th lock is about to be given back. */
static inline void handoff__self_drop(struct handoff__self *self, int i)
{
	/* Relaxed: this thread's own. */
	uint32_t n = atomic_load_explicit(&self->count, memory_order_relaxed) -
	    1;

	if ((uint32_t)i != n)
		handoff__self_fill(self, (uint32_t)i, n);
	/* Release, as above. */
	atomic_store_explicit(&self->count, n, memory_order_release);
}

/* Drops all that this thread holds in memory that is about to go. */
void handoff__self_forget(const void *from, size_t bytes);

/* Says that this thread is done with what `where` named, or sets it. */
static inline void handoff__self_is_at(_Atomic(const void *) *where,
    const void *object)
{
	/* Release: a close or destroy that reads NULL finds this thread done
	 * with the object (self.c, holds). */
	atomic_store_explicit(where, object, memory_order_release);
}

/* Where a thread is. */
struct handoff__at {
	const void *waiting;
	const void *locking;
	const struct handoff_item *items;
	size_t items_count;
};

/* Around a function of the user's that may switch to another fibre of this
 * thread, which waits for other things: it is nowhere meanwhile. */
void handoff__self_leaves(struct handoff__self *self, struct handoff__at *at);
void handoff__self_returns(struct handoff__self *self,
    const struct handoff__at *at);

/* Notes what this thread waits for, or that it does not: 0 or ENOMEM. */
int handoff__self_items(struct handoff__self *self,
    const struct handoff_item *items, size_t n);

/* The process's own lock, for everything that is not in shared memory.  No
 * function of the user's runs while it is held. */
int handoff__process_lock(void); /* 0 or ENOMEM */
void handoff__process_unlock(void);

/* The process's token; 0: none yet.  With the process locked. */
uint32_t handoff__process_token(void);

/* How many threads of this process hold or wait for something that begins in
 * [from, from + bytes).  With the process locked. */
unsigned handoff__threads_in(const void *from, size_t bytes);

/* Tells those who are leaving an object not to touch it any more.  With the
 * process locked. */
void handoff__threads_evict(const void *object);

/* How many threads of this process are parked on words like this one; each
 * counts itself in and out.  Two words may share a count. */
_Atomic uint32_t *handoff__process_parked(const void *word);

#endif
