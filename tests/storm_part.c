/* SPDX-License-Identifier: ISC */
/* A process of the storm: what it says of itself, and what it does next. */
#define _GNU_SOURCE
#include "storm.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct table *table;
struct place *here;
struct room *room;
uint32_t me;

const char *const storm_calls[CALLS] = { "wait", "try", "until", "give",
	"other" };

/* ---- Chance and failure -------------------------------------------------- */

static uint64_t dice;

static void seed_dice(unsigned place, uint32_t generation)
{
	dice = table->seed * 0x9e3779b97f4a7c15u + place * 1000003u +
	    generation;
	for (int i = 0; i < 4; i++)
		chance(2);
}

uint32_t chance(uint32_t n)
{
	uint64_t x;

	dice += 0x9e3779b97f4a7c15u;
	x = dice;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((x >> 33) % n);
}

void storm_fail(const char *file, int line, const char *what, int e)
{
	snprintf(here->said, sizeof here->said, "%s:%d: %s%s%s", file, line,
	    what, e != 0 ? ": " : "", e != 0 ? handoff_strerror(e) : "");
	_exit(1);
}

void storm_gives0(int e, const char *file, int line, const char *what)
{
	if (e != 0)
		storm_fail(file, line, what, e);
}

/* ---- Calls --------------------------------------------------------------- */

static int is_taking(uint32_t call)
{
	return call == CALL_WAIT || call == CALL_TRY || call == CALL_UNTIL;
}

void enter(unsigned kind, enum storm_call call, uint32_t amount)
{
	atomic_store(&here->kind, kind);
	atomic_store(&here->call, call);
	atomic_store(&here->amount, amount);
	atomic_fetch_add(&here->serial, 1);
}

/* Whoever is killed before the end of this counts as killed in the call. */
int leave(int e)
{
	struct tally *t = &table->tallies[atomic_load(&here->kind)];
	uint32_t call = atomic_load(&here->call);
	uint32_t amount = atomic_load(&here->amount);

	if (e == 0 || e == EOWNERDEAD) {
		if (call == CALL_GIVE)
			atomic_fetch_add(&t->gave, amount);
		else if (is_taking(call))
			atomic_fetch_add(&t->took, amount);
	}
	atomic_fetch_add(&t->calls[call], 1);
	atomic_fetch_add(&here->serial, 1);
	return e;
}

uint64_t some_deadline(void)
{
	static const uint32_t spans[] = { 1, 20000, 200000, 3 * NS_MS };

	return handoff_now() + chance(spans[chance(4)]);
}

int get(unsigned kind, const struct ways *ways, void *object)
{
	uint64_t deadline;
	int e;

	switch (chance(4)) {
	case 0:
		return IN(kind, CALL_TRY, ways->attempt(object));
	case 1:
		deadline = some_deadline();
		e = IN(kind, CALL_UNTIL, ways->until(object, deadline));
		MUST(e != ETIMEDOUT || handoff_now() >= deadline);
		return e;
	default:
		e = IN(kind, CALL_WAIT, ways->wait(object));
		MUST(e != EBUSY && e != ETIMEDOUT);
		return e;
	}
}

bool somebody_waits(unsigned kind)
{
	for (unsigned i = 0; i < VICTIMS; i++) {
		const struct place *p = &table->places[i];

		if ((atomic_load(&p->serial) & 1) != 0 &&
		    atomic_load(&p->kind) == kind &&
		    is_taking(atomic_load(&p->call)))
			return true;
	}
	return false;
}

/* ---- Inside -------------------------------------------------------------- */

bool is_doomed(uint32_t who)
{
	return atomic_load(&table->places[who % 16].doomed) >= who / 16;
}

void dawdle(void)
{
	uint32_t x = chance(64);

	if (x < 4)
		sched_yield();
	else if (x < 24)
		for (volatile uint32_t i = chance(4000); i > 0;)
			i = i - 1;
	else if (x == 24)
		sleep_seconds(500e-6);
}

bool come_in(unsigned kind, struct guarded *g, int e)
{
	uint32_t was = atomic_load(&g->inside);

	MUST(e == 0 || e == EOWNERDEAD);
	if (e == EOWNERDEAD) {
		atomic_fetch_add(&table->tallies[kind].told, 1);
		/* It is dead, and not only stopped or slow. */
		MUST(was == 0 || is_doomed(was));
		g->b = g->a;
	} else {
		MUST(was == 0); /* else nobody was told of a torn pair */
	}
	MUST(atomic_exchange(&g->inside, me) == was);
	MUST(g->a == g->b);
	return e == EOWNERDEAD;
}

void work(struct guarded *g)
{
	uint32_t a = g->a;

	MUST(atomic_load(&g->inside) == me && g->b == a);
	g->a = a + 1;
	dawdle();
	MUST(atomic_load(&g->inside) == me && g->a == a + 1 && g->b == a);
	g->b = a + 1;
}

void go_out(struct guarded *g)
{
	MUST(g->a == g->b);
	MUST(atomic_exchange(&g->inside, 0) == me);
}

/* ---- A life -------------------------------------------------------------- */

static void open_room_again(void)
{
	struct handoff_segment_options o = { sizeof o, 0, 1, NULL, NULL };
	handoff_segment *s = NULL;

	GIVES0(handoff_segment_open(&s, "storm", 0, 0600, &o));
	room = handoff_segment_memory(s);
}

static void feed_all_kinds(void)
{
	while (atomic_load(&table->stop) < 2) {
		for (unsigned i = 0; i < STORM_KINDS; i++)
			if (storm_kinds[i].feed)
				storm_kinds[i].feed(i);
		sleep_seconds(300e-6);
	}
}

void storm_live(unsigned place, uint32_t generation)
{
	here = &table->places[place];
	me = generation * 16 + place;
	seed_dice(place, generation);
	if (!room)
		open_room_again();
	if (place == FEEDER) {
		feed_all_kinds();
		_exit(0);
	}
	storm_use_points();
	if (chance(2) == 0)
		GIVES0(handoff_set_policy(HANDOFF_PROCESS, chance(4), 0));
	while (atomic_load(&table->stop) == 0) {
		unsigned kind = chance(STORM_KINDS);

		storm_kinds[kind].act(kind);
		take_turn_that_came();
	}
	_exit(0);
}
