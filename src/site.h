/* SPDX-License-Identifier: ISC */
/*
 * What is waited for, as the one loop of waiting sees it.  A primitive says how
 * to look, how to mark and, where somebody might die, how to ask after that;
 * the loop decides when: look - spin - mark - park - look again.
 */
#ifndef HANDOFF_SITE_H
#define HANDOFF_SITE_H

#include "wait.h"

struct handoff__site {
	/* 0: content, and what there was to take has been taken; EBUSY: not
	 * yet, and `seen` says what was seen; else what the wait ends with. */
	int (*look)(struct handoff__site *x);
	/* Leaves word that somebody parks on `expected`: true.  False: what
	 * was seen has changed.  Also called before giving up at a deadline,
	 * by one that has parked: whoever woke it took the mark away. */
	bool (*mark)(struct handoff__site *x);
	/* Has somebody died who was to end this?  EBUSY: no.  NULL: nobody
	 * could. */
	int (*dead)(struct handoff__site *x);
	/* Leaves without having been content, and passes on a wake that was
	 * not for it alone.  For handoff_wait_any. */
	void (*pass)(struct handoff__site *x);

	void *object;           /* begins with a struct handoff__head */
	_Atomic uint32_t *last; /* who << 16 | CPU + 1, of the partner */
	struct handoff__statistics *statistics;
	const volatile void *line; /* to be written to; NULL: only looked at */
	struct handoff__place place;
	uint32_t expected;

	/* The loop's. */
	struct handoff__self *self;
	struct handoff__wait w;
	bool waited; /* has parked */
	enum handoff__woken woken;

	/* The primitive's own. */
	uint32_t seen;
	uint32_t marked;
	bool is_marked; /* mutex: has asked for its turn */
	uint64_t value;
};

/* Waits: what look or dead answered, or ETIMEDOUT; ENOMEM or EAGAIN if this
 * thread could not be set up. */
int handoff__wait_for(struct handoff__site *x, uint64_t deadline);

/* Whether this thread may ask now after somebody's life without need; it costs a
 * microsecond, and may be done once a millisecond. */
bool handoff__may_ask(struct handoff__self *self);

/* The CPU on which another thread was last seen at an object, plus 1; 0: not
 * known.  `last` is what it left there, or what we did. */
unsigned handoff__partner(struct handoff__self *self, uint64_t id,
    uint32_t last);

/* Leaves our CPU there, and remembers whose was there before. */
void handoff__replace_stamp(_Atomic uint32_t *last, uint64_t id,
    struct handoff__self *self);

/* When one who parks is about to be woken, for it to see how long that took; now
 * and then, since the clock takes as long as a part of a wake.  Before the
 * step after which the object may be gone.  Relaxed: a hint. */
#define HANDOFF__TIMED 8u

/* Counts what may be a wake: true for one in so many. */
static inline bool handoff__may_time(void)
{
	struct handoff__self *self = handoff__self_known();

	return self && self->wakes++ % HANDOFF__TIMED == 0;
}

static inline void handoff__leave_time_now(struct handoff__head *head)
{
	atomic_store_explicit(&head->woken, (uint32_t)handoff__clock(),
	    memory_order_relaxed);
}

static inline void handoff__leave_time(struct handoff__head *head)
{
	if (handoff__may_time())
		handoff__leave_time_now(head);
}

/* What this thread leaves for the others. */
static inline uint32_t handoff__stamp(struct handoff__self *self)
{
	return (uint32_t)self->who << 16 |
	    (handoff__self_cpu_lately(self) & HANDOFF__CPU);
}

/* The same for one that may not be set up yet, as in a signal handler; and only
 * if something else stands there.  Relaxed: a hint. */
static inline void handoff__leave_stamp(_Atomic uint32_t *last)
{
	struct handoff__self *self = handoff__self_known();
	uint32_t stamp = self ? handoff__stamp(self) :
	                        handoff__cpu() & HANDOFF__CPU;

	if (atomic_load_explicit(last, memory_order_relaxed) != stamp)
		atomic_store_explicit(last, stamp, memory_order_relaxed);
}

#endif
