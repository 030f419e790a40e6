/* SPDX-License-Identifier: ISC */
/*
 * Parking by Linux's futex.  The words are in memory that processes share,
 * hence never the private form; the name of a place is not needed.
 */
#define _GNU_SOURCE
#include <config.h>

#include "park.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where a long has 32 bits and a time 64, the call has a number of its own. */
#if defined(SYS_futex_time64) && !defined(SYS_futex)
#define FUTEX_CALL SYS_futex_time64
#elif defined(SYS_futex_time64) && defined(_TIME_BITS) && _TIME_BITS == 64 && \
    LONG_MAX == INT32_MAX
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

static uint32_t bits(const struct handoff__place *place)
{
	return place->lanes == HANDOFF__EVERY_LANE ? FUTEX_BITSET_MATCH_ANY :
	                                             place->lanes;
}

/* FUTEX_WAIT_BITSET takes an absolute time on the monotonic clock, so that a
 * signal handler in between costs no time. */
int handoff__park(const struct handoff__place *place, uint32_t expected,
    uint64_t until)
{
	struct timespec t = { (time_t)(until / 1000000000u),
		(long)(until % 1000000000u) };
	struct timespec *limit = &t;
	int before = errno;
	int e;

	/* More than 68 years of uptime: longer than a 32-bit time can say. */
	if (until / 1000000000u > INT32_MAX)
		limit = NULL;
	do
		e = syscall(FUTEX_CALL, place->word, FUTEX_WAIT_BITSET,
		        expected, limit, NULL, bits(place)) == 0 ?
		    0 :
		    errno;
	while (e == EINTR);
	errno = before;
	return e == ETIMEDOUT ? ETIMEDOUT : 0;
}

#ifdef SYS_futex_waitv
/* Whether the kernel has it, and a sandbox lets us use it. */
static _Atomic int no_waitv;

static int park_by_waitv(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until)
{
	struct futex_waitv waiters[HANDOFF__PARK_MOST];
	/* The call takes a time of 64 bits everywhere. */
	struct {
		int64_t seconds;
		int64_t ns;
	} t = { (int64_t)(until / 1000000000u),
		(int64_t)(until % 1000000000u) };
	int before = errno;
	int e;

	for (unsigned i = 0; i < n; i++)
		waiters[i] = (struct futex_waitv){ .val = expected[i],
			.uaddr = (uintptr_t)places[i].word,
			.flags = FUTEX_32 };
	do
		e = syscall(SYS_futex_waitv, waiters, n, 0, &t,
		        CLOCK_MONOTONIC) >= 0 ?
		    0 :
		    errno;
	while (e == EINTR);
	errno = before;
	return e;
}
#endif

int handoff__park_any(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until)
{
#ifdef SYS_futex_waitv
	/* Relaxed: it is found out again. */
	if (n <= HANDOFF__PARK_MOST &&
	    !atomic_load_explicit(&no_waitv, memory_order_relaxed)) {
		int e = park_by_waitv(places, expected, n, until);

		if (e != ENOSYS && e != EPERM && e != EINVAL)
			return e == ETIMEDOUT ? ETIMEDOUT : 0;
		if (e != EINVAL)
			atomic_store_explicit(&no_waitv, 1,
			    memory_order_relaxed);
	}
#endif
	return handoff__park_by_naps(places, expected, n, until);
}

void handoff__unpark(const struct handoff__place *place, uint32_t n)
{
	int before = errno;

	syscall(FUTEX_CALL, place->word, FUTEX_WAKE_BITSET,
	    n > INT_MAX ? INT_MAX : (int)n, NULL, NULL, bits(place));
	errno = before;
}

int handoff__requeue(const struct handoff__place *from,
    const struct handoff__place *to)
{
	int before = errno;
	/* Wakes none and moves all; the plain form, since the word has been
	 * changed by the caller and nobody is waiting for a value. */
	long moved = syscall(FUTEX_CALL, from->word, FUTEX_REQUEUE, 0,
	    (void *)(intptr_t)INT_MAX, to->word, 0);

	if (moved < 0)
		handoff__unpark(from, HANDOFF__ALL);
	errno = before;
	return moved > 0;
}
