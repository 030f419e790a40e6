/* SPDX-License-Identifier: ISC */
/*
 * The readers-writer lock: a mutex for those who write, and for each process a
 * count of its threads that read.
 *
 * THE WORDS
 *   lock         a mutex, see mutex.c: token|DEAD|WAITERS, GONE, RESERVED
 *   writer       0, PENDING or WRITING; written by who holds the mutex
 *   tokens[i]    the process that slot i belongs to; changed by who holds the
 *                mutex
 *   readers[i]   WANT|count: its threads that read; WANT: look at the mutex
 *                first
 *   others       the same, of all processes that found no slot
 *   used         bits: which slots have ever been somebody's; the last one is
 *                for others; changed by who holds the mutex
 *
 *   read, fast   readers[i]: c -> c + 1, of my slot, without WANT
 *   read, slow   lock the mutex; take a slot if I have none, a free one or one
 *                of a dead process; WANT|c -> c + 1; unlock the mutex
 *   leave        c -> c - 1; WANT|1 -> WANT|0 wakes the writer
 *   write        lock the mutex; PENDING; in each slot set WANT, then wait for
 *                WANT|0; WRITING
 *   leave        writer = 0; unlock the mutex
 *   downgrade    as read, slow, with the mutex held already; writer = 0
 *   thread end   reading: as leave; writing: the mutex becomes GONE
 *
 * A thread that reads and reads again counts that by itself, so that a writer
 * who waits for it never keeps it out.
 *
 * INVARIANTS
 *   WANT is cleared only by who holds the mutex.  So a slot that a writer has
 *   seen as WANT|0 stays so until it unlocks, and no reader is in.
 *   A reader's step from c to c + 1 comes before the writer's setting of WANT,
 *   which then sees it, or fails.
 *
 * NO WAKE IS LOST
 *   Who must wait for the mutex waits as for any mutex, readers and writers
 *   in the order in which they came; readers who have waited so take turns with
 *   writers, and the mutex's fairness holds for both.  A writer parks on the
 *   WANT|c that it saw; the reader that makes it WANT|0 wakes it.  Nobody else
 *   parks there.
 *
 * WHAT A DEATH LEAVES
 *   reader, in        its process's count, until the process is dead: the next
 *                     writer asks after the slot's token and clears the count
 *                     while it has that life byte
 *   reader, slow      an owner of the mutex that died; writer is not WRITING,
 *                     so that the next to lock is not told; perhaps a slot in
 *                     use without a token, and a count as of a reader, in
 *   writer, PENDING   the same; WANT in slots, which costs each process one
 *                     slow way
 *   writer, WRITING   EOWNERDEAD for the next, who holds the lock alone, also
 *                     if it asked to read; then consistent makes it a reader
 *   downgrading       the same, and a count
 *   told, unlocking   T|DEAD with writer 0: DEAD is kept, the next is told
 *   one of others     a count for ever: writers time out
 *
 * DESTROYED WHEN
 *   The last touch of a leaving reader is its subtraction, of a writer the
 *   mutex's exchange.  Wakes that follow use addresses only.
 */
#include "rwlock.h"

#include "making.h"
#include "mutex.h"
#include "points.h"
#include "segment.h"
#include "site.h"

#include <errno.h>

#define WANT HANDOFF__MARK
#define COUNT (~HANDOFF__MARK)
#define MOST 0x3fffffffu
#define OTHERS HANDOFF__READERS /* the slot of those without one */

/* How often a try looks again while a reader is on its way in. */
#define PASSING 1000

static struct handoff__rwlock *rwlock(handoff_rwlock *lock)
{
	return handoff__is(lock, HANDOFF__RWLOCK) ?
	    (struct handoff__rwlock *)lock :
	    NULL;
}

/* Relaxed: written by who holds the mutex; read by who takes the mutex from one
 * that has died, to whom the system has given that one's life byte, and by
 * those who only guess. */
static void writer_is(struct handoff__rwlock *rw, uint32_t state)
{
	atomic_store_explicit(&rw->lock.writer, state, memory_order_relaxed);
}

/* ---- Slots ------------------------------------------------------------- */

static _Atomic uint32_t *readers_of(struct handoff__rwlock *rw, unsigned slot)
{
	return slot < HANDOFF__READERS ? &rw->readers[slot] : &rw->lock.others;
}

static struct handoff__place place_of(struct handoff__rwlock *rw, unsigned slot)
{
	return (struct handoff__place){ .segment = rw->lock.head.segment,
		.key = rw->lock.head.id + 1 + slot,
		.word = readers_of(rw, slot) };
}

/* The slot of `token`, searched from where it would rather be; OTHERS: it has
 * none. */
static inline unsigned slot_of(const struct handoff__rwlock *rw,
    uint32_t rather, uint32_t token)
{
	for (unsigned n = 0; n < HANDOFF__READERS; n++) {
		unsigned i = (rather + n) % HANDOFF__READERS;

		/* Acquire pairs with the release in claim: the count that
		 * belongs to it is there. */
		if (atomic_load_explicit(&rw->tokens[i],
		        memory_order_acquire) == token)
			return i;
	}
	return OTHERS;
}

/* With the mutex held: writers look at that slot from now on. */
static void use(struct handoff__rwlock *rw, unsigned slot)
{
	/* Relaxed: the mutex orders it. */
	uint32_t used = atomic_load_explicit(&rw->lock.head.used,
	    memory_order_relaxed);

	atomic_store_explicit(&rw->lock.head.used, used | 1u << slot,
	    memory_order_relaxed);
}

/* With the mutex held. */
static void claim(struct handoff__rwlock *rw, unsigned slot, uint32_t token)
{
	use(rw, slot);
	HANDOFF__POINT();
	atomic_store(&rw->readers[slot], 0);
	HANDOFF__POINT();
	/* Release pairs with slot_of in other threads of this process. */
	atomic_store_explicit(&rw->tokens[slot], token, memory_order_release);
	HANDOFF__POINT();
}

/* A slot of a process that has died, for ours.  Asking after 16 costs some 10
 * us; but for one among others who could have had a slot, and died, writers
 * would wait for ever. */
static unsigned inherit(struct handoff__rwlock *rw,
    const struct handoff__self *self)
{
	if (rw->lock.head.segment == 0)
		return OTHERS;
	for (unsigned i = 0; i < HANDOFF__READERS; i++) {
		uint32_t token = atomic_load(&rw->tokens[i]);

		if (handoff__dead_begin(rw->lock.head.segment, token) != 0)
			continue;
		claim(rw, i, self->token);
		handoff__dead_end();
		return i;
	}
	return OTHERS;
}

/* This process's slot, taken now if it had none.  With the mutex held. */
static unsigned find_slot(struct handoff__rwlock *rw,
    struct handoff__self *self)
{
	unsigned slot = slot_of(rw, self->token, self->token);

	if (slot != OTHERS)
		return slot;
	slot = slot_of(rw, self->token, 0);
	if (slot == OTHERS)
		return inherit(rw, self);
	claim(rw, slot, self->token);
	return slot;
}

/* ---- Reading ----------------------------------------------------------- */

static void note_reader(struct handoff__rwlock *rw, struct handoff__self *self,
    unsigned slot)
{
	struct handoff__held *held = handoff__self_hold(self, &rw->lock,
	    handoff__reading(rw->lock.head.id));

	held->slot = (uint8_t)slot;
	held->dead = false;
}

/* The i-th lock that this thread holds is this one's mutex: it becomes a
 * reader, and the mutex is released.  EAGAIN: there are too many. */
static int let_in(struct handoff__rwlock *rw, struct handoff__self *self, int i)
{
	unsigned slot = find_slot(rw, self);
	_Atomic uint32_t *readers = readers_of(rw, slot);
	uint32_t v = atomic_load(readers);

	if (slot == OTHERS)
		use(rw, slot);
	do {
		if ((v & COUNT) >= MOST)
			return EAGAIN;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(readers, &v, (v & COUNT) + 1));
	HANDOFF__POINT();
	/* Seen by this process's close and destroy meanwhile. */
	handoff__self_is_at(&self->locking, rw);
	writer_is(rw, 0);
	handoff__mutex_release(&rw->lock, self, i);
	note_reader(rw, self, slot);
	handoff__self_is_at(&self->locking, NULL);
	return 0;
}

static int exclude(struct handoff__rwlock *rw, struct handoff__self *self,
    uint64_t deadline);

/* What follows when a reader has just got the mutex, with 0 or EOWNERDEAD. */
static int enter(struct handoff__rwlock *rw, int e, uint64_t deadline)
{
	struct handoff__self *self = handoff__self_pointer;
	int i = handoff__self_last(self);

	if (e == EOWNERDEAD) {
		self->held[i].reads = true;
		e = exclude(rw, self, deadline);
		return e == 0 ? EOWNERDEAD : e;
	}
	e = let_in(rw, self, i);
	if (e != 0)
		handoff__mutex_release(&rw->lock, self, i);
	return e;
}

/* The fast way.  EBUSY: go the slow one; EDEADLK: this thread writes. */
static inline int read_fast(struct handoff__rwlock *rw)
{
	struct handoff__self *self = handoff__self_known();
	uint64_t id = rw->lock.head.id;
	unsigned slot;
	uint32_t v;
	int i;

	if (!self)
		return EBUSY;
	i = handoff__self_find(self, handoff__reading(id));
	if (i >= 0) {
		if (self->held[i].depth == HANDOFF__DEEPEST)
			return EAGAIN;
		self->held[i].depth++;
		return 0;
	}
	if (handoff__self_find(self, id) >= 0)
		return EDEADLK;
	slot = slot_of(rw, self->token, self->token);
	/* Relaxed: this thread's own. */
	if (slot == OTHERS ||
	    atomic_load_explicit(&self->count, memory_order_relaxed) ==
	        self->capacity)
		return EBUSY;
	v = atomic_load(&rw->readers[slot]);
	do {
		if ((v & WANT) || v >= MOST)
			return EBUSY;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&rw->readers[slot], &v, v + 1));
	HANDOFF__POINT();
	note_reader(rw, self, slot);
	return 0;
}

static inline int rdlock_until(handoff_rwlock *lock, uint64_t deadline)
{
	struct handoff__rwlock *rw = rwlock(lock);
	int e;

	if (!rw)
		return EINVAL;
	e = read_fast(rw);
	if (e != EBUSY)
		return e;
	e = handoff__mutex_lock(&rw->lock, false, deadline);
	return e == 0 || e == EOWNERDEAD ? enter(rw, e, deadline) : e;
}

int handoff_rwlock_rdlock(handoff_rwlock *lock)
{
	return rdlock_until(lock, HANDOFF_NEVER);
}

int handoff_rwlock_rdlock_until(handoff_rwlock *lock, uint64_t deadline)
{
	return rdlock_until(lock, deadline);
}

int handoff_rwlock_tryrdlock(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	int e;

	if (!rw)
		return EINVAL;
	e = read_fast(rw);
	if (e != EBUSY)
		return e == EDEADLK ? EBUSY : e;
	/* Another reader on its way in holds the mutex for a moment. */
	for (int n = 0; n < PASSING; n++) {
		e = handoff__mutex_try(&rw->lock);
		if (e != EBUSY || atomic_load(&rw->lock.writer) != 0)
			break;
		handoff__pause();
	}
	if (e != 0 && e != EOWNERDEAD)
		return e;
	e = enter(rw, e, 0);
	return e == ETIMEDOUT ? EBUSY : e;
}

/* A reader leaves the slot.  Read before: afterwards the lock may be gone. */
static void leave(struct handoff__rwlock *rw, unsigned slot)
{
	struct handoff__place place = place_of(rw, slot);

	HANDOFF__POINT();
	/* Pairs with the writer's look at the slot: it sees all that was read
	 * under the lock as done. */
	if (atomic_fetch_sub(readers_of(rw, slot), 1) == (WANT | 1)) {
		HANDOFF__POINT();
		handoff__unpark(&place, 1);
	}
	HANDOFF__POINT();
}

int handoff_rwlock_rdunlock(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	struct handoff__self *self = handoff__self_known();
	unsigned slot;
	int i;

	if (!rw)
		return EINVAL;
	if (!self)
		return EPERM;
	i = handoff__self_find(self, handoff__reading(rw->lock.head.id));
	if (i < 0) {
		/* It asked to read, was told EOWNERDEAD and gives up. */
		i = handoff__self_find(self, rw->lock.head.id);
		if (i < 0 || !self->held[i].reads)
			return EPERM;
		handoff__mutex_release(&rw->lock, self, i);
		return 0;
	}
	if (self->held[i].depth > 0) {
		self->held[i].depth--;
		return 0;
	}
	slot = self->held[i].slot;
	handoff__self_drop(self, i);
	leave(rw, slot);
	return 0;
}

void handoff__rwlock_gone(struct handoff__rwlock *rw, unsigned slot)
{
	leave(rw, slot);
}

/* ---- Writing ----------------------------------------------------------- */

/* Sets WANT in a slot: WANT|0: nobody reads there. */
static uint32_t want(_Atomic uint32_t *readers)
{
	uint32_t v = atomic_load(readers);

	/* Pairs with the reader's step, which comes before it and is seen, or
	 * fails. */
	while (!(v & WANT)) {
		HANDOFF__POINT();
		if (atomic_compare_exchange_weak(readers, &v, v | WANT))
			v |= WANT;
	}
	return v;
}

/* In slot x->marked. */
static int look(struct handoff__site *x)
{
	x->expected = want(readers_of(x->object, x->marked));
	return x->expected == WANT ? 0 : EBUSY;
}

/* WANT is there already. */
static bool mark(struct handoff__site *x)
{
	(void)x;
	HANDOFF__POINT();
	return true;
}

/* We hold the mutex, so that the slot stays whose it is. */
static int dead(struct handoff__site *x)
{
	struct handoff__rwlock *rw = x->object;
	uint32_t token = atomic_load(&rw->tokens[x->marked]);

	if (handoff__dead_begin(rw->lock.head.segment, token) != 0)
		return EBUSY;
	HANDOFF__POINT();
	atomic_store(&rw->readers[x->marked], WANT);
	HANDOFF__POINT();
	handoff__dead_end();
	return 0;
}

/* Readers are as welcome as before. */
static void readmit(struct handoff__rwlock *rw)
{
	for (unsigned i = 0; i <= OTHERS; i++)
		atomic_fetch_and(readers_of(rw, i), ~WANT);
}

/* With the mutex held: waits until nobody reads in that slot. */
static int empty(struct handoff__rwlock *rw, unsigned slot, uint64_t deadline)
{
	struct handoff__site x = { .look = look,
		.mark = mark,
		.object = rw,
		.last = &rw->lock.last,
		.statistics = &rw->lock.statistics,
		.place = place_of(rw, slot),
		.marked = slot };

	if (slot < OTHERS && rw->lock.head.segment != 0)
		x.dead = dead;
	return handoff__wait_for(&x, deadline);
}

/* With the mutex held: sets WANT in all slots in use: which have readers, as
 * bits.  No slot comes into use while we hold the mutex. */
static uint32_t want_all(struct handoff__rwlock *rw)
{
	/* Relaxed: the mutex orders it. */
	uint32_t used = atomic_load_explicit(&rw->lock.head.used,
	    memory_order_relaxed);
	uint32_t busy = 0;

	for (unsigned i = 0; used >> i != 0 && i <= OTHERS; i++)
		if ((used >> i & 1) && want(readers_of(rw, i)) != WANT)
			busy |= 1u << i;
	return busy;
}

/*
 * With the mutex just locked: waits until nobody reads, and nobody can.  0, or
 * what the wait ended with; then the mutex has been released, as it was.
 */
static int exclude(struct handoff__rwlock *rw, struct handoff__self *self,
    uint64_t deadline)
{
	int h = handoff__self_last(self);
	bool suspect = self->held[h].dead;
	uint32_t busy;
	int e = 0;

	if (!suspect)
		writer_is(rw, HANDOFF__PENDING);
	busy = want_all(rw);
	for (unsigned i = 0; busy >> i != 0 && e == 0; i++)
		if (busy >> i & 1)
			e = empty(rw, i, deadline);
	HANDOFF__POINT();
	if (e == 0) {
		writer_is(rw, HANDOFF__WRITING);
		return 0;
	}
	if (suspect) {
		handoff__self_drop(self, h);
		handoff__mutex_gone(&rw->lock);
		return e;
	}
	readmit(rw);
	writer_is(rw, 0);
	handoff__mutex_release(&rw->lock, self, h);
	return e;
}

/* Whether this thread holds it in one way or the other. */
static bool held_by(const struct handoff__rwlock *rw,
    const struct handoff__self *self)
{
	return self &&
	    (handoff__self_find(self, rw->lock.head.id) >= 0 ||
	        handoff__self_find(self, handoff__reading(rw->lock.head.id)) >=
	            0);
}

static int wrlock_until(handoff_rwlock *lock, uint64_t deadline)
{
	struct handoff__rwlock *rw = rwlock(lock);
	int told;
	int e;

	if (!rw)
		return EINVAL;
	if (held_by(rw, handoff__self_known()))
		return EDEADLK;
	told = handoff__mutex_lock(&rw->lock, false, deadline);
	if (told != 0 && told != EOWNERDEAD)
		return told;
	e = exclude(rw, handoff__self_pointer, deadline);
	return e == 0 ? told : e;
}

int handoff_rwlock_wrlock(handoff_rwlock *lock)
{
	return wrlock_until(lock, HANDOFF_NEVER);
}

int handoff_rwlock_wrlock_until(handoff_rwlock *lock, uint64_t deadline)
{
	return wrlock_until(lock, deadline);
}

int handoff_rwlock_trywrlock(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	int told;
	int e;

	if (!rw)
		return EINVAL;
	if (held_by(rw, handoff__self_known()))
		return EBUSY;
	told = handoff__mutex_try(&rw->lock);
	if (told != 0 && told != EOWNERDEAD)
		return told;
	e = exclude(rw, handoff__self_pointer, 0);
	if (e == ETIMEDOUT)
		return EBUSY;
	return e == 0 ? told : e;
}

/* The index of this thread's hold to write; -1: EPERM. */
static int writes(const struct handoff__rwlock *rw,
    const struct handoff__self *self)
{
	return self ? handoff__self_find(self, rw->lock.head.id) : -1;
}

int handoff_rwlock_wrunlock(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	struct handoff__self *self = handoff__self_known();
	int i;

	if (!rw)
		return EINVAL;
	i = writes(rw, self);
	if (i < 0 || self->held[i].reads)
		return EPERM;
	writer_is(rw, 0);
	handoff__mutex_release(&rw->lock, self, i);
	return 0;
}

int handoff_rwlock_downgrade(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	struct handoff__self *self = handoff__self_known();
	int i;

	if (!rw)
		return EINVAL;
	i = writes(rw, self);
	if (i < 0)
		return EPERM;
	return self->held[i].dead ? EINVAL : let_in(rw, self, i);
}

int handoff_rwlock_consistent(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	struct handoff__self *self = handoff__self_known();
	int i;

	if (!rw)
		return EINVAL;
	i = writes(rw, self);
	if (i < 0)
		return held_by(rw, self) ? EINVAL : EPERM;
	if (!self->held[i].dead)
		return EINVAL;
	atomic_fetch_and(&rw->lock.word, ~HANDOFF__DEAD);
	self->held[i].dead = false;
	return self->held[i].reads ? let_in(rw, self, i) : 0;
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__RWLOCK,
	sizeof(handoff_rwlock), sizeof(struct handoff_rwlock_attr),
	HANDOFF_ROBUST };

int handoff_rwlock_init(handoff_rwlock *lock,
    const struct handoff_rwlock_attr *attr)
{
	unsigned flags;
	int e = handoff__make(lock, &making, attr, &flags);

	if (e == 0)
		handoff__made(lock, &making);
	return e;
}

int handoff_rwlock_destroy(handoff_rwlock *lock)
{
	struct handoff__rwlock *rw = rwlock(lock);
	int e;

	if (!rw)
		return EINVAL;
	e = handoff__unused(rw, &making);
	if ((atomic_load(&rw->lock.word) & HANDOFF__OWNER) >= HANDOFF__TOKENS)
		e = e == 0 ? EBUSY : e;
	for (unsigned i = 0; i <= OTHERS && e == 0; i++)
		if (atomic_load(readers_of(rw, i)) & COUNT)
			e = EBUSY;
	if (e == 0)
		rw->lock.head.tag = 0;
	return e;
}

static int init_named(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	return handoff_rwlock_init(memory, arg);
}

int handoff_rwlock_open(handoff_rwlock **lock, const char *name, unsigned flags,
    unsigned mode, const struct handoff_rwlock_attr *attr)
{
	void *object;
	int e;

	if (!lock)
		return EINVAL;
	*lock = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    (void *)(uintptr_t)attr);
	if (e == 0)
		*lock = object;
	return e;
}
