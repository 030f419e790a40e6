/* SPDX-License-Identifier: ISC */
/*
 * The library under test: a mutex, a condition and a turn that they protect.
 *
 *	named-cond  each of the three is a named segment of its own
 *	cond        the three are one structure in one named segment
 *
 * Signals are given with the mutex held; the wait that follows lets go of it.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>

#include <handoff.h>

#include "bench.h"
#include "via.h"

#define KIND_TURN 0x6e727574u
#define KIND_PAIR 0x72696170u

struct pair {
	handoff_mutex lock;
	HANDOFF_ALIGNED int turn;
	handoff_cond changed;
};

struct ours {
	handoff_mutex *lock;
	handoff_cond *changed;
	int *turn; /* under the lock */
};

typedef char name_buffer[BENCH_NAME_MAX + 16];

static const char *name_of(name_buffer name, const char *base,
    const char *suffix)
{
	snprintf(name, sizeof(name_buffer), "%s.%s", base, suffix);
	return name;
}

static unsigned open_flags(const struct via_side *side)
{
	return side->part == 0 ? HANDOFF_CREATE | HANDOFF_EXCLUSIVE : 0;
}

static struct ours *ours_new(struct via_side *side)
{
	side->own = calloc(1, sizeof(struct ours));
	return side->own;
}

static int named_open(struct via_side *side)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(int),
		.kind = KIND_TURN,
	};
	struct ours *o = ours_new(side);
	unsigned flags = open_flags(side);
	handoff_segment *segment;
	name_buffer name;
	int e;

	if (!o)
		return ENOMEM;
	e = handoff_mutex_open(&o->lock, name_of(name, side->base, "lock"),
	    flags, 0600, NULL);
	if (e == 0)
		e = handoff_cond_open(&o->changed,
		    name_of(name, side->base, "changed"), flags, 0600, NULL);
	if (e == 0)
		e = handoff_segment_open(&segment,
		    name_of(name, side->base, "turn"), flags, 0600, &options);
	if (e == 0)
		o->turn = handoff_segment_memory(segment);
	return e;
}

static void named_close(struct via_side *side)
{
	struct ours *o = side->own;

	handoff_close(o->turn);
	handoff_close(o->changed);
	handoff_close(o->lock);
	free(o);
}

static void named_unlink(const char *base)
{
	name_buffer name;

	handoff_unlink(name_of(name, base, "lock"));
	handoff_unlink(name_of(name, base, "changed"));
	handoff_unlink(name_of(name, base, "turn"));
}

static int pair_init(void *memory, size_t bytes, void *arg)
{
	struct pair *pair = memory;
	int e = handoff_mutex_init(&pair->lock, NULL);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : handoff_cond_init(&pair->changed, NULL);
}

static int pair_open(struct via_side *side)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct pair),
		.kind = KIND_PAIR,
		.init = pair_init,
	};
	struct ours *o = ours_new(side);
	handoff_segment *segment;
	struct pair *pair;
	name_buffer name;
	int e;

	if (!o)
		return ENOMEM;
	e = handoff_segment_open(&segment, name_of(name, side->base, "pair"),
	    open_flags(side), 0600, &options);
	if (e != 0)
		return e;
	pair = handoff_segment_memory(segment);
	o->lock = &pair->lock;
	o->changed = &pair->changed;
	o->turn = &pair->turn;
	return 0;
}

static void pair_close(struct via_side *side)
{
	struct ours *o = side->own;

	handoff_close(o->lock);
	free(o);
}

static void pair_unlink(const char *base)
{
	name_buffer name;

	handoff_unlink(name_of(name, base, "pair"));
}

static int ours_begin(struct via_side *side)
{
	struct ours *o = side->own;

	return handoff_mutex_lock(o->lock);
}

static int ours_end(struct via_side *side)
{
	struct ours *o = side->own;

	return handoff_mutex_unlock(o->lock);
}

static int ours_call(struct via_side *side, uint64_t rounds)
{
	const struct ours o = *(struct ours *)side->own;
	int e;

	for (; rounds > 0; rounds--) {
		*o.turn = 1;
		e = handoff_cond_signal(o.changed);
		if (e != 0)
			return e;
		while (*o.turn != 0) {
			e = handoff_cond_wait(o.changed, o.lock);
			if (e != 0)
				return e;
		}
	}
	return 0;
}

static int ours_serve(struct via_side *side)
{
	const struct ours o = *(struct ours *)side->own;
	bool last;
	int e;

	e = handoff_mutex_lock(o.lock);
	if (e != 0)
		return e;
	do {
		while (*o.turn != 1) {
			e = handoff_cond_wait(o.changed, o.lock);
			if (e != 0)
				return e;
		}
		last = via_last(side);
		*o.turn = 0;
		e = handoff_cond_signal(o.changed);
		if (e != 0)
			return e;
	} while (!last);
	return handoff_mutex_unlock(o.lock);
}

const struct via via_ours[] = {
	{
	    .name = "named-cond",
	    .group = VIA_OURS,
	    .open = named_open,
	    .begin = ours_begin,
	    .end = ours_end,
	    .call = ours_call,
	    .serve = ours_serve,
	    .close = named_close,
	    .unlink = named_unlink,
	},
	{
	    .name = "cond",
	    .group = VIA_OURS,
	    .open = pair_open,
	    .begin = ours_begin,
	    .end = ours_end,
	    .call = ours_call,
	    .serve = ours_serve,
	    .close = pair_close,
	    .unlink = pair_unlink,
	},
};
const size_t via_ours_count = sizeof(via_ours) / sizeof(via_ours[0]);
