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

static inline void via_store(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* A cache line for each direction: `pause` is called until the turn is there. */
#define VIA_LINE2(way, pause)                                         \
	static int way##_call(struct via_side *side, uint64_t rounds) \
	{                                                             \
		struct via_lines *l = side->own;                      \
		uint32_t n = via_load(&l->there);                     \
                                                                      \
		for (; rounds > 0; rounds--) {                        \
			via_store(&l->there, ++n);                    \
			while (via_load(&l->back) != n)               \
				pause();                              \
		}                                                     \
		return 0;                                             \
	}                                                             \
	static int way##_serve(struct via_side *side)                 \
	{                                                             \
		struct via_lines *l = side->own;                      \
		uint32_t n = via_load(&l->back);                      \
		bool last;                                            \
                                                                      \
		do {                                                  \
			n++;                                          \
			while (via_load(&l->there) != n)              \
				pause();                              \
			last = via_last(side);                        \
			via_store(&l->back, n);                       \
		} while (!last);                                      \
		return 0;                                             \
	}

#endif
