/* SPDX-License-Identifier: ISC */
/* The storm's barrier and baton. */
#include "storm.h"

#include <errno.h>

/* ---- Barrier: broken by a death, and made anew --------------------------- */

/* In a segment of its own. */
struct hall {
	handoff_barrier barrier;
	_Atomic uint32_t came;
	_Atomic uint32_t left;
};

static void meet(unsigned kind, bool waits, uint64_t deadline)
{
	struct hall *h = epoch_open(1, kind);
	int last = 0;
	int e;

	if (!h)
		return;
	atomic_fetch_add(&h->came, 1);
	enter(kind, waits ? CALL_WAIT : CALL_UNTIL, 1);
	e = waits ? handoff_barrier_wait(&h->barrier, &last) :
	            handoff_barrier_wait_until(&h->barrier, &last, deadline);
	if (e == 0 && last)
		atomic_fetch_add(&table->tallies[kind].last, 1);
	if (e == EOWNERDEAD)
		atomic_store(&here->amount, 0);
	leave(e);
	if (e == EOWNERDEAD) {
		atomic_fetch_add(&table->tallies[kind].lost, 1);
		epoch_over(1, kind);
		return;
	}
	MUST(e == 0 || (!waits && e == ETIMEDOUT));
	MUST(e == 0 || handoff_now() >= deadline);
	if (e == 0)
		MUST(
		    atomic_fetch_add(&h->left, 1) + 1 <= atomic_load(&h->came));
	MUST(e != 0 || atomic_load(&h->came) >= 2);
}

void act_barrier(unsigned kind)
{
	meet(kind, chance(2) == 0, some_deadline());
}

void feed_barrier(unsigned kind)
{
	if (somebody_waits(kind))
		meet(kind, false, handoff_after(2 * NS_MS));
}

/* One of two comes last. */
const char *settle_barrier(unsigned kind)
{
	const struct tally *t = &table->tallies[kind];
	uint64_t maybe = 2 * t->maybe_took;

	return t->took <= 2 * t->last + maybe &&
	        2 * t->last <= t->took + maybe ?
	    NULL :
	    "more or fewer than one in two came last";
}

/* ---- Baton --------------------------------------------------------------- */

/* Each place is a party, the feeder as well. */
static uint32_t my_party(void)
{
	return me % 16;
}

/* Mostly one that waits; else the feeder, or, at times, one that does not. */
static uint32_t next_party(unsigned kind)
{
	uint32_t first = chance(VICTIMS);

	if (chance(8) == 0 && first != my_party())
		return first;
	for (uint32_t i = 0; i < VICTIMS; i++) {
		uint32_t n = (first + i) % VICTIMS;
		const struct place *p = &table->places[n];

		if (n != my_party() && (atomic_load(&p->serial) & 1) != 0 &&
		    atomic_load(&p->kind) == kind &&
		    atomic_load(&p->call) != CALL_GIVE)
			return n;
	}
	return my_party() == FEEDER ? first : FEEDER;
}

static void have_turn(unsigned kind, int e)
{
	come_in(kind, &room->turn, e);
	work(&room->turn);
	go_out(&room->turn);
}

static bool has_turn(int e)
{
	return e == 0 || e == EOWNERDEAD;
}

/* Passes it on; at times it waits for it to come back. */
static void pass_on(unsigned kind)
{
	handoff_baton *b = &room->baton;
	uint64_t deadline = some_deadline();
	uint32_t to = next_party(kind);
	int e;

	switch (my_party() == FEEDER ? 2 : chance(4)) {
	case 0:
		e = IN(kind, CALL_WAIT,
		    handoff_baton_switch(b, my_party(), to));
		MUST(has_turn(e));
		break;
	case 1:
		e = IN(kind, CALL_UNTIL,
		    handoff_baton_switch_until(b, my_party(), to, deadline));
		MUST(has_turn(e) ||
		    (e == ETIMEDOUT && handoff_now() >= deadline));
		break;
	default:
		e = ETIMEDOUT;
		GIVES0(IN(kind, CALL_GIVE, handoff_baton_pass(b, to)));
	}
	if (!has_turn(e))
		return;
	have_turn(kind, e);
	GIVES0(IN(kind, CALL_GIVE, handoff_baton_pass(b, next_party(kind))));
}

static int party_wait(void *b)
{
	return handoff_baton_wait(b, my_party());
}

static int party_attempt(void *b)
{
	return handoff_baton_trywait(b, my_party());
}

static int party_until(void *b, uint64_t deadline)
{
	return handoff_baton_wait_until(b, my_party(), deadline);
}

void act_baton(unsigned kind)
{
	static const struct ways party = { party_wait, party_attempt,
		party_until };
	int e = get(kind, &party, &room->baton);

	MUST(has_turn(e) || e == EBUSY || e == ETIMEDOUT);
	if (!has_turn(e))
		return;
	have_turn(kind, e);
	pass_on(kind);
}

/* True: the turn has come here meanwhile, and been taken. */
static bool took_turn(unsigned kind)
{
	uint32_t party;
	int e;

	GIVES0(IN(kind, CALL_OTHER, handoff_baton_turn(&room->baton, &party)));
	if (party != my_party())
		return false;
	e = IN(kind, CALL_TRY, handoff_baton_trywait(&room->baton, party));
	MUST(has_turn(e) || e == EBUSY);
	if (has_turn(e))
		have_turn(kind, e);
	return has_turn(e);
}

void feed_baton(unsigned kind)
{
	if (took_turn(kind) && somebody_waits(kind))
		pass_on(kind);
}

void take_turn_that_came(void)
{
	unsigned kind = 0;

	while (storm_kinds[kind].act != act_baton)
		kind++;
	if (took_turn(kind))
		pass_on(kind);
}

const char *settle_baton(unsigned kind)
{
	uint64_t deadline = handoff_after(2000u * NS_MS);
	int e = handoff_baton_wait_until(&room->baton, FEEDER, deadline);
	uint32_t party;

	(void)kind;
	if (has_turn(e))
		return NULL;
	if (handoff_baton_turn(&room->baton, &party) != 0)
		return "no turn";
	e = handoff_baton_wait_until(&room->baton, party, deadline);
	return has_turn(e) ? NULL : "a turn that nobody can have";
}
