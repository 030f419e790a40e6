/* SPDX-License-Identifier: ISC */
/*
 * How long to spin, and how to park: what the loop of waiting (site.c, and the
 * condition's own) asks between two looks.
 *
 *	handoff__wait_begin(&w, self, &object->head, deadline, owned);
 *	while (!(content = look(object))) {
 *		if (handoff__wait_spin(&w, partner))
 *			continue;
 *		... set the mark, look again ...
 *		switch (handoff__wait_park(&w, &place, marked)) ...
 *	}
 *	handoff__wait_end(&w);
 */
#ifndef HANDOFF_WAIT_H
#define HANDOFF_WAIT_H

#include "object.h"
#include "self.h"

#include <stdbool.h>

enum handoff__phase {
	HANDOFF__SPINNING,
	HANDOFF__YIELDING,
	HANDOFF__IDLING, /* in the user's own function */
	HANDOFF__PARKING
};

struct handoff__wait {
	struct handoff__self *self;
	const struct handoff__head *head;
	uint64_t deadline;
	uint64_t start;   /* when the clock was first asked; 0: not yet */
	uint64_t now;     /* when it was last asked */
	uint64_t until;   /* the end of spinning or yielding */
	uint64_t slice;   /* ns; of the next park */
	uint64_t longest; /* ns; what slices grow to */
	uint64_t since;   /* when it first parked */
	uint64_t look_at; /* the end of a slice, not parked */
	uint32_t limit;   /* ns of spinning or yielding; 0: no limit given */
	uint32_t looks;   /* that found nothing, and a pause after each */
	uint32_t idles;
	uint32_t yields;
	uint32_t yields_left; /* adaptive */
	uint32_t parks;
	uint32_t wake_ns; /* what the last wake took; 0: unknown */
	unsigned policy;
	enum handoff__phase phase;
	bool hopeless; /* adaptive: there is one CPU */
	bool here;     /* adaptive: the partner was on this CPU */
	bool waits;    /* has not found at once what it waits for */
	bool parked;   /* has parked */
	bool brief;    /* the next park ends with its slice in any case */
	bool late;     /* the deadline has been seen to have passed */
	bool look;     /* a slice has ended, not parked */
	struct handoff__history *history; /* adaptive */
	_Atomic uint32_t *parkers;        /* where this thread is counted */
};

enum handoff__woken {
	HANDOFF__WOKEN,   /* woken, or for no reason */
	HANDOFF__SLICE,   /* nobody woke us; look whether somebody died */
	HANDOFF__DEADLINE /* the deadline has passed; look once more */
};

/*
 * Where the last waits were ended by yields: one more, before a wait is begun,
 * without a look at the clock.  Two processes that use a CPU in turns find the
 * memory of each cold, the clock's too.  True: look, and begin the wait if that
 * finds nothing.
 */
bool handoff__wait_trust(struct handoff__self *self,
    const struct handoff__head *head, unsigned partner, uint64_t deadline);

/* `owned`: somebody holds what is waited for and might die. */
void handoff__wait_begin(struct handoff__wait *w, struct handoff__self *self,
    const struct handoff__head *head, uint64_t deadline, bool owned);

/* One step of spinning or yielding: true: look again, and, if w->look says so,
 * whether somebody died.  False: it is time to park, now and for the rest of
 * this wait.  `partner`: the CPU on which the one that we wait for last ran,
 * plus 1; 0 if unknown. */
bool handoff__wait_spin(struct handoff__wait *w, unsigned partner);

/* Before the first look, where one may spin: lets the partner work for as long
 * as it will need at the least, undisturbed by looks that take the cache line
 * away from it, then asks for that line.  The time is learnt, and short. */
void handoff__wait_quiet(struct handoff__wait *w, unsigned partner,
    const volatile void *line);

/* Whether the first look after that found what was waited for. */
void handoff__wait_learn(struct handoff__self *self, bool at_once);

/* Whether it has spun for half of its time. */
bool handoff__wait_long(const struct handoff__wait *w);

/* About now: who has not parked yet has just asked. */
static inline uint64_t handoff__wait_clock(const struct handoff__wait *w)
{
	return w->start != 0 && !w->parked ? w->now : handoff__clock();
}

/* Whether the deadline has passed. */
bool handoff__wait_late(struct handoff__wait *w);

/* Parks until woken, until it is time to look for deaths, or until the
 * deadline. */
enum handoff__woken handoff__wait_park(struct handoff__wait *w,
    const struct handoff__place *place, uint32_t expected);

/* The same at several places. */
enum handoff__woken handoff__wait_park_any(struct handoff__wait *w,
    const struct handoff__place *places, const uint32_t *expected, unsigned n);

/* The wait is over, however it ended. */
void handoff__wait_end(struct handoff__wait *w);

/* For people to read, in the object: that one parks, for the first time in its
 * wait or again; and in the end how long it was parked in all. */
void handoff__note_park(struct handoff__statistics *statistics, bool first);
void handoff__note_longest(struct handoff__statistics *statistics,
    const struct handoff__wait *w);

/* Sleeps for about that long. */
void handoff__nap(uint64_t ns);

#endif
