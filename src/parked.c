/* SPDX-License-Identifier: ISC */
/* The counts of the parked; parked.h says what they mean. */
#include "parked.h"

#include <errno.h>

int handoff__parked_mark(_Atomic uint64_t *state, uint32_t seen)
{
	uint64_t v = atomic_load(state);

	do {
		if (handoff__parked(v) == HANDOFF__PARKED_MOST)
			return EOVERFLOW;
		if (handoff__parked_half(v) != seen)
			return EAGAIN;
		HANDOFF__POINT();
	} while (
	    !atomic_compare_exchange_weak(state, &v, v + HANDOFF__PARKED_ONE));
	HANDOFF__POINT();
	return 0;
}

bool handoff__parked_unmark(_Atomic uint64_t *state, uint32_t marked,
    bool woken)
{
	uint64_t v = atomic_load(state);
	uint64_t left;
	bool taken;

	do {
		if ((handoff__parked_half(v) ^ marked) &
		        HANDOFF__PARKED_EPOCH ||
		    handoff__parked(v) == 0)
			return true;
		taken = handoff__due(v) > 0 &&
		    (woken || handoff__parked_half(v) != marked);
		left = v - HANDOFF__PARKED_ONE;
		if (taken || handoff__due(v) > handoff__parked(left))
			left -= HANDOFF__DUE_ONE;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(state, &v, left));
	HANDOFF__POINT();
	return taken;
}

uint32_t handoff__parked_issue(_Atomic uint64_t *state, uint32_t n)
{
	uint64_t v = atomic_load(state);
	uint32_t wakes;

	do {
		if (handoff__parked(v) <= handoff__due(v) || n == 0)
			return 0;
		wakes = handoff__parked(v) - handoff__due(v);
		wakes = n < wakes ? n : wakes;
		HANDOFF__POINT();
	} while (!atomic_compare_exchange_weak(state, &v,
	    handoff__parked_next(v) + wakes * HANDOFF__DUE_ONE));
	HANDOFF__POINT();
	return wakes;
}

bool handoff__parked_all(_Atomic uint64_t *state)
{
	uint64_t v = atomic_load(state);

	do {
		if (handoff__parked(v) == 0)
			return false;
		HANDOFF__POINT();
	} while (
	    !atomic_compare_exchange_weak(state, &v, handoff__parked_empty(v)));
	HANDOFF__POINT();
	return true;
}
