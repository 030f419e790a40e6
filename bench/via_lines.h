/* SPDX-License-Identifier: ISC */
/*
 * What the floors and the fixed policies share: a word for each direction,
 * each in a cache line of its own.
 */
#ifndef BENCH_VIA_LINES_H
#define BENCH_VIA_LINES_H

#include "via.h"

struct via_lines {
	_Alignas(64) _Atomic uint32_t there; /* alone: whose turn it is */
	_Alignas(64) _Atomic uint32_t back;
	char rest[60];
};

int via_lines_open(struct via_side *side);
void via_lines_close(struct via_side *side);
void via_lines_unlink(const char *base);

static inline uint32_t via_load(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

#endif
