/* SPDX-License-Identifier: ISC */
/*
 * Who is parked, and which wakes are on their way to them: counts in one
 * atomic of 64 bits, for objects whose wakes are not remembered by anything
 * else, the condition and the word.
 *
 *   number   16  moves with each wake that   \ these two are the 32 bits
 *                found someone unwoken        | that waiters park on
 *   epoch    16  moves with each wake of all /
 *   parked   15  marks of waiters that park or are about to, in this epoch
 *   due      15  wakes issued to them and not yet taken; due <= parked
 *   WAITED    1  the condition's
 *
 * INVARIANT
 *   parked - due is at least the number of living waiters asleep to whom no
 *   wake has been issued.
 *
 * A waiter marks (parked + 1) if number and epoch are as it has seen them, and
 * parks on these.  A wake that finds parked > due issues: number + 1, due + 1,
 * and wakes one.  One that leaves unmarks: parked - 1, and it takes one from
 * due if a wake brought it here or the number has moved since its mark.  So a
 * mark that a killed waiter left costs one idle wake, after which due hides
 * it; a wake that was given to one that died, or was issued and never given,
 * stands in due until another's slice ends.  In a new epoch nobody is parked.
 */
#ifndef HANDOFF_PARKED_H
#define HANDOFF_PARKED_H

#include "object.h"
#include "points.h"

#include <stdbool.h>

#define HANDOFF__PARKED_NUMBER 0xffffu
#define HANDOFF__PARKED_EPOCH 0xffff0000u
#define HANDOFF__EPOCH_ONE 0x10000u
#define HANDOFF__PARKED_ONE ((uint64_t)1 << 32)
#define HANDOFF__PARKED_MOST 0x7fffu
#define HANDOFF__DUE_ONE ((uint64_t)1 << 47)
#define HANDOFF__WAITED ((uint64_t)1 << 62)

/* The half that waiters park on, by value and by address. */
static inline uint32_t handoff__parked_half(uint64_t state)
{
	return (uint32_t)state;
}

static inline const _Atomic uint32_t *handoff__low_half(
    const _Atomic uint64_t *state)
{
	static const union {
		uint32_t word;
		unsigned char first;
	} order = { 1 };
	const _Atomic uint32_t *half = (const _Atomic uint32_t *)state;

	return order.first ? half : half + 1;
}

static inline uint32_t handoff__parked(uint64_t state)
{
	return (uint32_t)(state >> 32) & HANDOFF__PARKED_MOST;
}

static inline uint32_t handoff__due(uint64_t state)
{
	return (uint32_t)(state >> 47) & HANDOFF__PARKED_MOST;
}

/* The number moves within its 16 bits, without touching the epoch. */
static inline uint64_t handoff__parked_next(uint64_t state)
{
	return (state & ~(uint64_t)HANDOFF__PARKED_NUMBER) |
	    ((state + 1) & HANDOFF__PARKED_NUMBER);
}

/* A new epoch, in which nobody is parked. */
static inline uint64_t handoff__parked_empty(uint64_t state)
{
	return ((state & HANDOFF__PARKED_EPOCH) + HANDOFF__EPOCH_ONE) &
	    HANDOFF__PARKED_EPOCH;
}

/* Marks, if the half is `seen`: 0; EAGAIN: it is not; EOVERFLOW: there are too
 * many marks, of the dead for the most part: wake all first. */
int handoff__parked_mark(_Atomic uint64_t *state, uint32_t seen);

/* Takes back a mark that was made when the half was `marked`; `woken`: a wake
 * has brought us here.  Whether a wake was taken with it, or the mark had gone
 * with its epoch. */
bool handoff__parked_unmark(_Atomic uint64_t *state, uint32_t marked,
    bool woken);

/* Issues up to `n` wakes: how many are to be woken. */
uint32_t handoff__parked_issue(_Atomic uint64_t *state, uint32_t n);

/* Begins a new epoch, if anybody is parked: whether so. */
bool handoff__parked_all(_Atomic uint64_t *state);

#endif
