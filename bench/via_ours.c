/* SPDX-License-Identifier: ISC */
/*
 * The library's mutex and condition, and a turn that they protect.
 *
 *	named-cond  each of the three is a named segment of its own
 *	cond        the three are one structure in one named segment
 *
 * Signals are given with the mutex held; the wait that follows lets go of it.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "via_ours.h"

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

/* ---- for all of the library's vias ------------------------------------- */

#define SEGMENT "all"

const char *ours_name(ours_name_buffer name, const char *base,
    const char *suffix)
{
	snprintf(name, sizeof(ours_name_buffer), "%s.%s", base, suffix);
	return name;
}

unsigned ours_flags(const struct via_side *side)
{
	return side->part == 0 ? HANDOFF_CREATE | HANDOFF_EXCLUSIVE : 0;
}

static int segment_open(void **memory, const struct via_side *side,
    const char *suffix, const struct handoff_segment_options *options)
{
	handoff_segment *segment;
	ours_name_buffer name;
	int e;

	e = handoff_segment_open(&segment, ours_name(name, side->base, suffix),
	    ours_flags(side), 0600, options);
	if (e == 0)
		*memory = handoff_segment_memory(segment);
	return e;
}

int ours_segment_open(void **memory, const struct via_side *side, size_t bytes,
    uint32_t kind, int (*init)(void *memory, size_t bytes, void *arg))
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = bytes,
		.kind = kind,
		.init = init,
	};

	return segment_open(memory, side, SEGMENT, &options);
}

void ours_segment_unlink(const char *base)
{
	ours_name_buffer name;

	handoff_unlink(ours_name(name, base, SEGMENT));
}

/* ---- opening ----------------------------------------------------------- */

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
	unsigned flags = ours_flags(side);
	ours_name_buffer name;
	void *memory;
	int e;

	if (!o)
		return ENOMEM;
	e = handoff_mutex_open(&o->lock, ours_name(name, side->base, "lock"),
	    flags, 0600, NULL);
	if (e == 0)
		e = handoff_cond_open(&o->changed,
		    ours_name(name, side->base, "changed"), flags, 0600, NULL);
	if (e == 0)
		e = segment_open(&memory, side, "turn", &options);
	if (e == 0)
		o->turn = memory;
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
	ours_name_buffer name;

	handoff_unlink(ours_name(name, base, "lock"));
	handoff_unlink(ours_name(name, base, "changed"));
	handoff_unlink(ours_name(name, base, "turn"));
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
	struct ours *o = ours_new(side);
	struct pair *pair;
	void *memory;
	int e;

	if (!o)
		return ENOMEM;
	e = ours_segment_open(&memory, side, sizeof(*pair), KIND_PAIR,
	    pair_init);
	if (e != 0)
		return e;
	pair = memory;
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

/* ---- taking turns ------------------------------------------------------ */

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
	    .unlink = ours_segment_unlink,
	},
};
const size_t via_ours_count = sizeof(via_ours) / sizeof(via_ours[0]);
