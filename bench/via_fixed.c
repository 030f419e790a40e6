/* SPDX-License-Identifier: ISC */
/*
 * Fixed policies: what a number chosen beforehand makes of waiting, between
 * the floors that only spin and the one that only blocks.  All of them wait on
 * the words of `futex`, look at the word between pauses, then park.
 *
 *	futex-spinN    N pauses, then futex
 *	futex-yield10  100 pauses, 10 times sched_yield, then futex
 *
 * A word is the number of its turn and, in bit 0, whether somebody is parked:
 * who gives a turn away wakes nobody otherwise.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "bench.h"
#include "via_lines.h"

#ifdef __linux__

#define PARKED 1u
#define TURN 2u /* a step from a turn to the next */

static inline int pass(_Atomic uint32_t *word, uint32_t turn)
{
	uint32_t old = atomic_exchange_explicit(word, turn,
	    memory_order_acq_rel);

	if ((old & PARKED) &&
	    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
		return errno;
	return 0;
}

static inline bool come(const _Atomic uint32_t *word, uint32_t turn)
{
	return (via_load(word) & ~PARKED) == turn;
}

/* Parks until the word is not what it was before the turn. */
static int park(_Atomic uint32_t *word, uint32_t turn)
{
	uint32_t before = turn - TURN;

	/* If it fails, the turn has come or the word says parked already. */
	atomic_compare_exchange_strong_explicit(word, &before, before | PARKED,
	    memory_order_acq_rel, memory_order_acquire);
	if (come(word, turn))
		return 0;
	if (syscall(SYS_futex, word, FUTEX_WAIT, (turn - TURN) | PARKED, NULL,
	        NULL, 0) != 0 &&
	    errno != EAGAIN && errno != EINTR)
		return errno;
	return 0;
}

static inline int await(_Atomic uint32_t *word, uint32_t turn, unsigned pauses,
    unsigned yields)
{
	unsigned i;
	int e;

	for (;;) {
		for (i = 0; i < pauses; i++) {
			if (come(word, turn))
				return 0;
			bench_pause();
		}
		for (i = 0; i < yields; i++) {
			if (come(word, turn))
				return 0;
			sched_yield();
		}
		if (come(word, turn))
			return 0;
		e = park(word, turn);
		if (e != 0)
			return e;
	}
}

static inline int call(struct via_side *side, uint64_t rounds, unsigned pauses,
    unsigned yields)
{
	struct via_lines *l = side->own;
	uint32_t turn = via_load(&l->back) & ~PARKED;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		turn += TURN;
		e = pass(&l->there, turn);
		if (e == 0)
			e = await(&l->back, turn, pauses, yields);
	}
	return e;
}

static inline int serve(struct via_side *side, unsigned pauses, unsigned yields)
{
	struct via_lines *l = side->own;
	uint32_t turn = via_load(&l->back) & ~PARKED;
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		turn += TURN;
		e = await(&l->there, turn, pauses, yields);
		last = via_last(side);
		if (e == 0)
			e = pass(&l->back, turn);
	}
	return e;
}

#define POLICY(name, pauses, yields)                                   \
	static int name##_call(struct via_side *side, uint64_t rounds) \
	{                                                              \
		return call(side, rounds, pauses, yields);             \
	}                                                              \
	static int name##_serve(struct via_side *side)                 \
	{                                                              \
		return serve(side, pauses, yields);                    \
	}

POLICY(spin100, 100, 0)
POLICY(spin1000, 1000, 0)
POLICY(spin3000, 3000, 0)
POLICY(spin10000, 10000, 0)
POLICY(yield10, 100, 10)

#define FIXED(way)                                              \
	{                                                       \
		.name = "futex-" #way, .group = VIA_FIXED,      \
		.open = via_lines_open, .call = way##_call,     \
		.serve = way##_serve, .close = via_lines_close, \
		.unlink = via_lines_unlink,                     \
	}

#else

static const char *missing(void)
{
	return "this system has no futex()";
}

#define FIXED(way)                                                            \
	{                                                                     \
		.name = "futex-" #way, .group = VIA_FIXED, .missing = missing \
	}

#endif

const struct via via_fixed[] = {
	FIXED(spin100),
	FIXED(spin1000),
	FIXED(spin3000),
	FIXED(spin10000),
	FIXED(yield10),
};
const size_t via_fixed_count = sizeof(via_fixed) / sizeof(via_fixed[0]);
