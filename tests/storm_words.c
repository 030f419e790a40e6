/* SPDX-License-Identifier: ISC */
/* The storm's semaphores, events and words, and any of several. */
#include "storm.h"

#include <errno.h>
#include <stddef.h>

WAYS(sem, handoff_sem, handoff_sem_wait, handoff_sem_trywait,
    handoff_sem_wait_until)
WAYS(event, handoff_event, handoff_event_wait, handoff_event_trywait,
    handoff_event_wait_until)

/* Gets one; true if it had it. */
static bool got(unsigned kind, const struct ways *ways, void *o)
{
	int e = get(kind, ways, o);

	MUST(e == 0 || e == EBUSY || e == ETIMEDOUT);
	return e == 0;
}

/* ---- Semaphore ----------------------------------------------------------- */

static void post(unsigned kind, handoff_sem *s, uint32_t n)
{
	int e;

	enter(kind, CALL_GIVE, n);
	e = leave(handoff_sem_post(s, n));
	MUST(e == 0 || e == EOVERFLOW);
}

void act_sem(unsigned kind)
{
	if (chance(3) == 0)
		post(kind, &room->sem, 1 + chance(2));
	else
		got(kind, &sem, &room->sem);
}

void feed_sem(unsigned kind)
{
	uint32_t value;

	GIVES0(IN(kind, CALL_OTHER, handoff_sem_value(&room->sem, &value)));
	if (value == 0)
		post(kind, &room->sem, 1);
}

/* What is there lies between what was certainly given and certainly taken. */
static bool adds_up(unsigned kind, uint64_t value)
{
	const struct tally *t = &table->tallies[kind];

	return value + t->took + t->maybe_took >= t->gave &&
	    value + t->took <= t->gave + t->maybe_gave;
}

const char *settle_sem(unsigned kind)
{
	uint32_t value;

	if (handoff_sem_value(&room->sem, &value) != 0)
		return "no value";
	return adds_up(kind, value) ? NULL : "tokens were lost or made";
}

/* ---- Event with automatic reset ------------------------------------------ */

void act_once(unsigned kind)
{
	uint32_t how = chance(16);

	if (how == 0)
		GIVES0(IN(kind, CALL_OTHER, handoff_event_reset(&room->once)));
	else if (how < 8)
		GIVES0(IN(kind, CALL_GIVE, handoff_event_set(&room->once)));
	else
		got(kind, &event, &room->once);
}

void feed_once(unsigned kind)
{
	if (somebody_waits(kind))
		GIVES0(IN(kind, CALL_GIVE, handoff_event_set(&room->once)));
}

const char *settle_taken(unsigned kind)
{
	const struct tally *t = &table->tallies[kind];

	return t->took <= t->gave + t->maybe_gave ?
	    NULL :
	    "more was taken than was given";
}

/* ---- Event with manual reset --------------------------------------------- */

void act_all(unsigned kind)
{
	switch (chance(4)) {
	case 0:
		GIVES0(IN(kind, CALL_GIVE, handoff_event_set(&room->all)));
		break;
	case 1:
		GIVES0(IN(kind, CALL_OTHER, handoff_event_reset(&room->all)));
		break;
	default:
		got(kind, &event, &room->all);
	}
}

/* A reset at once takes nothing from those who wait. */
void feed_all(unsigned kind)
{
	if (!somebody_waits(kind))
		return;
	GIVES0(IN(kind, CALL_GIVE, handoff_event_set(&room->all)));
	GIVES0(IN(kind, CALL_OTHER, handoff_event_reset(&room->all)));
}

/* ---- Words that only grow ------------------------------------------------ */

#define WORD(bits)                                                             \
	static void grow##bits(unsigned kind, handoff_word##bits *w)           \
	{                                                                      \
		enter(kind, CALL_OTHER, 1);                                    \
		atomic_store(&here->call, CALL_GIVE);                          \
		handoff_word##bits##_add(w, 1);                                \
		leave(0);                                                      \
		GIVES0(IN(kind, CALL_OTHER,                                    \
		    handoff_word##bits##_wake(w, HANDOFF_ALL)));               \
	}                                                                      \
                                                                               \
	void act_word##bits(unsigned kind)                                     \
	{                                                                      \
		handoff_word##bits *w = &room->word##bits;                     \
		uint##bits##_t seen = handoff_word##bits##_load(w);            \
		uint64_t deadline = some_deadline();                           \
		int e;                                                         \
                                                                               \
		switch (chance(3)) {                                           \
		case 0:                                                        \
			grow##bits(kind, w);                                   \
			return;                                                \
		case 1:                                                        \
			e = IN(kind, CALL_UNTIL,                               \
			    handoff_word##bits##_wait_until(w, seen,           \
			        deadline));                                    \
			MUST(e == 0 ||                                         \
			    (e == ETIMEDOUT && handoff_now() >= deadline));    \
			break;                                                 \
		default:                                                       \
			e = IN(kind, CALL_WAIT,                                \
			    handoff_word##bits##_wait(w, seen));               \
			MUST(e == 0);                                          \
		}                                                              \
		MUST(e != 0 || handoff_word##bits##_load(w) > seen);           \
	}                                                                      \
                                                                               \
	void feed_word##bits(unsigned kind)                                    \
	{                                                                      \
		if (somebody_waits(kind))                                      \
			grow##bits(kind, &room->word##bits);                   \
	}                                                                      \
                                                                               \
	const char *settle_word##bits(unsigned kind)                           \
	{                                                                      \
		const struct tally *t = &table->tallies[kind];                 \
		uint64_t value = handoff_word##bits##_load(&room->word##bits); \
                                                                               \
		return value >= t->gave && value <= t->gave + t->maybe_gave ?  \
		    NULL :                                                     \
		    "the word is not what was added";                          \
	}

WORD(32)
WORD(64)

/* ---- Any of several ------------------------------------------------------ */

static void give_any(unsigned kind)
{
	switch (chance(3)) {
	case 0:
		post(kind, &room->any_sem, 1);
		break;
	case 1:
		GIVES0(
		    IN(kind, CALL_GIVE, handoff_event_set(&room->any_event)));
		break;
	default:
		handoff_word32_add(&room->any_word, 1);
		GIVES0(IN(kind, CALL_OTHER,
		    handoff_word32_wake(&room->any_word, HANDOFF_ALL)));
	}
}

void act_any(unsigned kind)
{
	uint32_t seen = handoff_word32_load(&room->any_word);
	struct handoff_item items[] = { { &room->any_sem, 0 },
		{ &room->any_event, 0 }, { &room->any_word, seen } };
	uint64_t deadline = some_deadline();
	bool waits = chance(2) == 0;
	size_t which = 9;
	int e;

	if (chance(2) == 0) {
		give_any(kind);
		return;
	}
	enter(kind, waits ? CALL_WAIT : CALL_UNTIL, 1);
	e = waits ? handoff_wait_any(items, 3, &which) :
	            handoff_wait_any_until(items, 3, &which, deadline);
	/* A word is not taken. */
	if (which == 2)
		atomic_store(&here->amount, 0);
	leave(e);
	MUST(e == 0 || (!waits && e == ETIMEDOUT));
	MUST(e == 0 ? which < 3 : handoff_now() >= deadline);
	MUST(e != 0 || which != 2 ||
	    handoff_word32_load(&room->any_word) != seen);
}

void feed_any(unsigned kind)
{
	if (somebody_waits(kind))
		give_any(kind);
}
