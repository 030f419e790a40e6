/* SPDX-License-Identifier: ISC */
/*
 * The library's primitives that hand the turn over without a mutex.
 *
 *	named-sem  two semaphores, each a named segment of its own
 *	sem        the two in one named segment
 *	event      two events with automatic reset, in one segment
 *	word       a word for each direction, in one segment; its change is
 *	           the turn
 *	baton      a baton of two parties, in a segment
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdlib.h>

#include "via_ours.h"

#define KIND_SEMS 0x736d6573u
#define KIND_EVENTS 0x746e7665u
#define KIND_WORDS 0x64726f77u
#define KIND_BATON 0x6e746162u

/* Where the memory of the segment is all that a side has. */
static void segment_close(struct via_side *side)
{
	handoff_close(side->own);
}

/* ---- semaphores -------------------------------------------------------- */

struct sem_pair {
	handoff_sem there;
	handoff_sem back;
};

struct sems {
	handoff_sem *there;
	handoff_sem *back;
};

static struct sems *sems_new(struct via_side *side)
{
	side->own = calloc(1, sizeof(struct sems));
	return side->own;
}

static int named_open(struct via_side *side)
{
	struct sems *s = sems_new(side);
	unsigned flags = ours_flags(side);
	ours_name_buffer name;
	int e;

	if (!s)
		return ENOMEM;
	e = handoff_sem_open(&s->there, ours_name(name, side->base, "there"),
	    flags, 0600, 0, NULL);
	if (e != 0)
		return e;
	return handoff_sem_open(&s->back, ours_name(name, side->base, "back"),
	    flags, 0600, 0, NULL);
}

static void named_close(struct via_side *side)
{
	struct sems *s = side->own;

	handoff_close(s->there);
	handoff_close(s->back);
	free(s);
}

static void named_unlink(const char *base)
{
	ours_name_buffer name;

	handoff_unlink(ours_name(name, base, "there"));
	handoff_unlink(ours_name(name, base, "back"));
}

static int sems_init(void *memory, size_t bytes, void *arg)
{
	struct sem_pair *pair = memory;
	int e = handoff_sem_init(&pair->there, 0, NULL);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : handoff_sem_init(&pair->back, 0, NULL);
}

static int sems_open(struct via_side *side)
{
	struct sems *s = sems_new(side);
	struct sem_pair *pair;
	void *memory;
	int e;

	if (!s)
		return ENOMEM;
	e = ours_segment_open(&memory, side, sizeof(*pair), KIND_SEMS,
	    sems_init);
	if (e != 0)
		return e;
	pair = memory;
	s->there = &pair->there;
	s->back = &pair->back;
	return 0;
}

static void sems_close(struct via_side *side)
{
	struct sems *s = side->own;

	handoff_close(s->there);
	free(s);
}

static int sems_call(struct via_side *side, uint64_t rounds)
{
	const struct sems s = *(struct sems *)side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = handoff_sem_post(s.there, 1);
		if (e == 0)
			e = handoff_sem_wait(s.back);
	}
	return e;
}

static int sems_serve(struct via_side *side)
{
	const struct sems s = *(struct sems *)side->own;
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		e = handoff_sem_wait(s.there);
		last = via_last(side);
		if (e == 0)
			e = handoff_sem_post(s.back, 1);
	}
	return e;
}

/* ---- events ------------------------------------------------------------ */

struct events {
	handoff_event there;
	handoff_event back;
};

static int events_init(void *memory, size_t bytes, void *arg)
{
	struct events *events = memory;
	int e = handoff_event_init(&events->there, NULL);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : handoff_event_init(&events->back, NULL);
}

static int events_open(struct via_side *side)
{
	return ours_segment_open(&side->own, side, sizeof(struct events),
	    KIND_EVENTS, events_init);
}

static int events_call(struct via_side *side, uint64_t rounds)
{
	struct events *events = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = handoff_event_set(&events->there);
		if (e == 0)
			e = handoff_event_wait(&events->back);
	}
	return e;
}

static int events_serve(struct via_side *side)
{
	struct events *events = side->own;
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		e = handoff_event_wait(&events->there);
		last = via_last(side);
		if (e == 0)
			e = handoff_event_set(&events->back);
	}
	return e;
}

/* ---- words ------------------------------------------------------------- */

/* They are equal while part 0 has the turn. */
struct words {
	handoff_word32 there;
	handoff_word32 back;
};

static int words_init(void *memory, size_t bytes, void *arg)
{
	struct words *words = memory;
	int e = handoff_word32_init(&words->there, 0, NULL);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : handoff_word32_init(&words->back, 0, NULL);
}

static int words_open(struct via_side *side)
{
	return ours_segment_open(&side->own, side, sizeof(struct words),
	    KIND_WORDS, words_init);
}

static int words_call(struct via_side *side, uint64_t rounds)
{
	struct words *words = side->own;
	uint32_t n = handoff_word32_load(&words->there);
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--, n++) {
		handoff_word32_store(&words->there, n + 1);
		e = handoff_word32_wake(&words->there, 1);
		if (e == 0)
			e = handoff_word32_wait(&words->back, n);
	}
	return e;
}

static int words_serve(struct via_side *side)
{
	struct words *words = side->own;
	uint32_t n = handoff_word32_load(&words->back);
	bool last = false;
	int e;

	for (; !last; n++) {
		e = handoff_word32_wait(&words->there, n);
		if (e != 0)
			return e;
		last = via_last(side);
		handoff_word32_store(&words->back, n + 1);
		e = handoff_word32_wake(&words->back, 1);
		if (e != 0)
			return e;
	}
	return 0;
}

/* ---- baton ------------------------------------------------------------- */

static int baton_init(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	return handoff_baton_init(memory, 2, NULL);
}

static int baton_open(struct via_side *side)
{
	return ours_segment_open(&side->own, side, sizeof(handoff_baton),
	    KIND_BATON, baton_init);
}

static int baton_begin(struct via_side *side)
{
	return handoff_baton_wait(side->own, 0);
}

static int baton_call(struct via_side *side, uint64_t rounds)
{
	handoff_baton *baton = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--)
		e = handoff_baton_switch(baton, 0, 1);
	return e;
}

static int baton_serve(struct via_side *side)
{
	handoff_baton *baton = side->own;
	int e = handoff_baton_wait(baton, 1);

	while (e == 0 && !via_last(side))
		e = handoff_baton_switch(baton, 1, 0);
	return e != 0 ? e : handoff_baton_pass(baton, 0);
}

#define SEGMENT_VIA(n, way)                                                   \
	.name = n, .group = VIA_OURS, .open = way##_open, .call = way##_call, \
	.serve = way##_serve, .close = segment_close,                         \
	.unlink = ours_segment_unlink

const struct via via_direct[] = {
	{
	    .name = "named-sem",
	    .group = VIA_OURS,
	    .open = named_open,
	    .call = sems_call,
	    .serve = sems_serve,
	    .close = named_close,
	    .unlink = named_unlink,
	},
	{
	    .name = "sem",
	    .group = VIA_OURS,
	    .open = sems_open,
	    .call = sems_call,
	    .serve = sems_serve,
	    .close = sems_close,
	    .unlink = ours_segment_unlink,
	},
	{ SEGMENT_VIA("event", events) },
	{ SEGMENT_VIA("word", words) },
	{ SEGMENT_VIA("baton", baton), .begin = baton_begin },
};
const size_t via_direct_count = sizeof(via_direct) / sizeof(via_direct[0]);
