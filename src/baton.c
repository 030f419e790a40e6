/* SPDX-License-Identifier: ISC */
/*
 * The baton: whose turn it is, in one word.
 *
 * THE WORDS
 *   state       marks 32 | number 26 | turn 6   (64 bits, one atomic)
 *     turn      the party whose turn it is
 *     number    moves with each pass; with the turn the half to park on
 *     marks     of lanes in which somebody may be parked; a party's lane is its
 *               number modulo 32, so that two parties may share one
 *   tokens[p]   the process that party p is; 0: none has come yet
 *
 *   pass to p   turn = p, number + 1, the mark of p's lane cleared; if it was
 *               set, all parked in that lane are woken
 *   wait of p   over when turn = p; nothing is written
 *   mark        the lane's bit, if turn and number are as seen
 *   claim       tokens[p]: 0 -> mine; a dead one's -> mine, then, if turn = p,
 *               number + 1
 *   dead        turn of a dead party -> p, number + 1, by p that waits
 *
 *   Only the process that tokens[turn] names passes.  Across CPUs a pass is one
 *   cache line, once: the waiter reads what the passer swapped.
 *
 * NO WAKE IS LOST
 *   A pass that comes before the mark changes the number, so that the mark or
 *   the park fails; one that comes after it sees it.  A pass clears the mark of
 *   one lane only, and wakes all who are parked in it; of these, who does not
 *   find its turn marks again before it parks again.
 *
 * WHAT A DEATH LEAVES
 *   waiter                 a false mark: one idle wake; its slot, which another
 *                          process may take over
 *   passer, before its step, or any party whose turn it is: a turn that nobody
 *                          passes on; who waits asks after tokens[turn] and
 *                          takes the turn while it has that life byte
 *   passer, then           the party in turn parked without a mark: it finds
 *                          its turn at its slice's end
 *   claimer                a slot of a dead process, in turn or not
 *   A party that has not come yet is not dead.
 *
 * DESTROYED WHEN
 *   The step of a pass is its last touch.
 */
#include "making.h"
#include "parked.h"
#include "points.h"
#include "segment.h"
#include "site.h"

#include <errno.h>

#define TURN 0x3fu
#define NUMBER_ONE 0x40u
#define LANES 32u
#define FIRST_LANE ((uint64_t)1 << 32)

/* How long somebody else may ask after a party. */
#define ASKED_NS 2000000u
#define ASKED_STEP_NS 100000u

static inline struct handoff__baton *baton_of(const handoff_baton *baton)
{
	return handoff__is(baton, HANDOFF__BATON) ?
	    (struct handoff__baton *)(uintptr_t)baton :
	    NULL;
}

static uint32_t turn(uint64_t state)
{
	return (uint32_t)state & TURN;
}

/* The mark of a party's lane. */
static uint64_t lane(uint32_t party)
{
	return FIRST_LANE << party % LANES;
}

/* It is the turn of `to`, whose lane's mark goes. */
static uint64_t next(uint64_t state, uint32_t to)
{
	uint32_t half = ((uint32_t)state & ~TURN) + NUMBER_ONE;

	return ((state & ~lane(to)) & ~(FIRST_LANE - 1)) | half | to;
}

/* It is the same party's turn; all marks stay, since nobody is woken. */
static uint64_t renewed(uint64_t state)
{
	return (state & ~(FIRST_LANE - 1)) | ((uint32_t)state + NUMBER_ONE);
}

static struct handoff__place place_of(const struct handoff__baton *b,
    uint32_t party)
{
	return (struct handoff__place){ .segment = b->head.segment,
		.key = b->head.id + party % LANES,
		.word = handoff__low_half(&b->state),
		.lanes = (uint32_t)1 << party % LANES };
}

/* ---- Parties ----------------------------------------------------------- */

static bool is_party(const struct handoff__baton *b, uint32_t party)
{
	return party < b->parties && party < HANDOFF__PARTIES;
}

/*
 * The slot belonged to a dead process; it is ours if nobody else was first.
 * Whether it is in turn is looked at before the slot is ours: a turn that
 * is passed later is passed to a living party.  Another may be about to take
 * the turn from the dead one, so the number has to move, for us or for it.
 */
static int take_over(struct handoff__baton *b, uint32_t me, uint32_t before,
    uint32_t token)
{
	uint32_t seen;
	uint64_t v;

	HANDOFF__POINT();
	seen = (uint32_t)atomic_load(&b->state);
	if (!atomic_compare_exchange_strong(&b->tokens[me], &before, token))
		return EBUSY;
	HANDOFF__POINT();
	v = atomic_load(&b->state);
	while (turn(v) == me)
		if (atomic_compare_exchange_weak(&b->state, &v, renewed(v)))
			return (uint32_t)v == seen ? EOWNERDEAD : 0;
	return 0;
}

/* The same, if that process is dead.  For a moment it may look alive, while
 * somebody else asks after it. */
static int succeed(struct handoff__baton *b, uint32_t me, uint32_t before,
    uint64_t patience)
{
	uint32_t token = handoff__self_pointer->token;
	uint64_t end = handoff_after(patience);
	int e;

	if (b->head.segment == 0)
		return EBUSY;
	while (handoff__dead_begin(b->head.segment, before) != 0) {
		if (handoff__clock() >= end)
			return EBUSY;
		handoff__nap(ASKED_STEP_NS);
	}
	e = take_over(b, me, before, token);
	handoff__dead_end();
	return e;
}

/* This process becomes party `me`: 0; EBUSY: another is; EOWNERDEAD: another
 * was, has died, and it is its turn. */
static int claim(struct handoff__baton *b, uint32_t me, uint64_t patience)
{
	uint32_t before = 0;
	uint32_t token;
	int e;

	if (!is_party(b, me))
		return EINVAL;
	e = handoff__self_begin();
	if (e != 0)
		return e;
	token = handoff__self_pointer->token;
	if (atomic_load(&b->tokens[me]) == token)
		return 0;
	HANDOFF__POINT();
	if (atomic_compare_exchange_strong(&b->tokens[me], &before, token) ||
	    before == token)
		return 0;
	return succeed(b, me, before, patience);
}

/* ---- Waiting ----------------------------------------------------------- */

/* x->value is the party. */
static int look(struct handoff__site *x)
{
	struct handoff__baton *b = x->object;
	/* Pairs with the step of the pass. */
	uint64_t v = atomic_load(&b->state);

	x->seen = (uint32_t)v;
	return turn(v) == x->value ? 0 : EBUSY;
}

static bool mark(struct handoff__site *x)
{
	struct handoff__baton *b = x->object;
	uint64_t bit = lane((uint32_t)x->value);
	uint64_t v = atomic_load(&b->state);

	x->expected = x->seen;
	do {
		if ((uint32_t)v != x->seen)
			return false;
		if (v & bit)
			return true;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(&b->state, &v, v | bit));
	HANDOFF__POINT();
	/* Who passes to one that does not park leaves none; so it is told where
	 * we are, and may wait for us next. */
	handoff__replace_stamp(&b->last, b->head.id, x->self);
	return true;
}

/* Takes the turn of a party that has died.  Of the one in turn now: a pass in
 * another lane wakes nobody here, so that what was seen may be old. */
static int dead(struct handoff__site *x)
{
	struct handoff__baton *b = x->object;
	uint32_t me = (uint32_t)x->value;
	uint32_t party = turn(atomic_load(&b->state));
	uint32_t token = atomic_load(&b->tokens[party]);
	uint64_t v;
	bool taken = false;

	if (handoff__dead_begin(b->head.segment, token) != 0)
		return EBUSY;
	HANDOFF__POINT();
	v = atomic_load(&b->state);
	while (!taken && turn(v) == party &&
	    atomic_load(&b->tokens[party]) == token)
		taken = atomic_compare_exchange_weak(&b->state, &v,
		    next(v, me));
	HANDOFF__POINT();
	handoff__dead_end();
	if (!taken)
		return EBUSY;
	/* Another thread of this party, or one in its lane, had marked it. */
	if (v & lane(me))
		handoff__unpark(&x->place, HANDOFF__ALL);
	return EOWNERDEAD;
}

static struct handoff__site site_of(struct handoff__baton *b, uint32_t me)
{
	return (struct handoff__site){ .look = look,
		.mark = mark,
		.dead = b->head.segment != 0 ? dead : NULL,
		.object = b,
		.last = &b->last,
		.statistics = &b->statistics,
		.place = place_of(b, me),
		.value = me };
}

static int wait_until(struct handoff__baton *b, uint32_t me, uint64_t deadline)
{
	struct handoff__site x = site_of(b, me);

	return look(&x) == 0 ? 0 : handoff__wait_for(&x, deadline);
}

int handoff_baton_wait_until(handoff_baton *baton, uint32_t me,
    uint64_t deadline)
{
	struct handoff__baton *b = baton_of(baton);
	int e = b ? claim(b, me, ASKED_NS) : EINVAL;

	return e == 0 ? wait_until(b, me, deadline) : e;
}

int handoff_baton_wait(handoff_baton *baton, uint32_t me)
{
	return handoff_baton_wait_until(baton, me, HANDOFF_NEVER);
}

int handoff_baton_trywait(handoff_baton *baton, uint32_t me)
{
	struct handoff__baton *b = baton_of(baton);
	struct handoff__site x;
	int e = b ? claim(b, me, 0) : EINVAL;

	if (e != 0)
		return e;
	x = site_of(b, me);
	x.self = handoff__self_pointer;
	if (look(&x) == 0)
		return 0;
	return x.dead && handoff__may_ask(x.self) ? dead(&x) : EBUSY;
}

/* ---- Passing ----------------------------------------------------------- */

/* EPERM: it is not the turn of this process; `from`: of this party of it. */
static int pass(struct handoff__baton *b, const uint32_t *from, uint32_t to)
{
	struct handoff__self *self = handoff__self_known();
	struct handoff__place place;
	uint64_t v;

	if (!is_party(b, to) || (from && !is_party(b, *from)))
		return EINVAL;
	if (!self)
		return EPERM;
	/* Before the step: afterwards the baton may be gone. */
	place = place_of(b, to);
	v = atomic_load(&b->state);
	do {
		/* Relaxed: a process's own slot. */
		if (atomic_load_explicit(&b->tokens[turn(v)],
		        memory_order_relaxed) != self->token ||
		    (from && turn(v) != *from))
			return EPERM;
		/* For those who park; for who spins, spinning is right. */
		if (v & lane(to)) {
			handoff__replace_stamp(&b->last, b->head.id, self);
			handoff__leave_time(&b->head);
		}
		HANDOFF__POINT();
		/* Pairs with the look of the party whose turn comes, and with
		 * its mark. */
	} while (!atomic_compare_exchange_weak(&b->state, &v, next(v, to)));
	HANDOFF__POINT();
	if (v & lane(to))
		handoff__unpark(&place, HANDOFF__ALL);
	return 0;
}

int handoff_baton_pass(handoff_baton *baton, uint32_t to)
{
	struct handoff__baton *b = baton_of(baton);

	return b ? pass(b, NULL, to) : EINVAL;
}

int handoff_baton_switch_until(handoff_baton *baton, uint32_t me, uint32_t to,
    uint64_t deadline)
{
	struct handoff__baton *b = baton_of(baton);
	int e = b ? pass(b, &me, to) : EINVAL;

	return e == 0 ? wait_until(b, me, deadline) : e;
}

int handoff_baton_switch(handoff_baton *baton, uint32_t me, uint32_t to)
{
	return handoff_baton_switch_until(baton, me, to, HANDOFF_NEVER);
}

int handoff_baton_turn(const handoff_baton *baton, uint32_t *party)
{
	const struct handoff__baton *b = baton_of(baton);

	if (!b || !party)
		return EINVAL;
	*party = turn(atomic_load(&b->state));
	return 0;
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making = { HANDOFF__BATON,
	sizeof(handoff_baton), sizeof(struct handoff_baton_attr),
	HANDOFF_ROBUST };

int handoff_baton_init(handoff_baton *baton, uint32_t parties,
    const struct handoff_baton_attr *attr)
{
	struct handoff__baton *b = (struct handoff__baton *)baton;
	unsigned flags;
	int e;

	if (parties == 0 || parties > HANDOFF_BATON_MAX)
		return EINVAL;
	e = handoff__make(b, &making, attr, &flags);
	if (e != 0)
		return e;
	b->parties = parties;
	handoff__made(b, &making);
	return 0;
}

int handoff_baton_destroy(handoff_baton *baton)
{
	struct handoff__baton *b = baton_of(baton);
	int e;

	if (!b)
		return EINVAL;
	e = handoff__unused(b, &making);
	if (e == 0)
		b->head.tag = 0;
	return e;
}

struct wanted {
	uint32_t parties;
	const struct handoff_baton_attr *attr;
};

static int init_named(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;

	(void)bytes;
	return handoff_baton_init(memory, wanted->parties, wanted->attr);
}

int handoff_baton_open(handoff_baton **baton, const char *name, unsigned flags,
    unsigned mode, uint32_t parties, const struct handoff_baton_attr *attr)
{
	struct wanted wanted = { parties, attr };
	void *object;
	int e;

	if (!baton)
		return EINVAL;
	*baton = NULL;
	e = handoff__open(&object, &making, name, flags, mode, init_named,
	    &wanted);
	if (e == 0)
		*baton = object;
	return e;
}
