/* SPDX-License-Identifier: ISC */
/*
 * Parking by Linux's futex.  The words are in memory that processes share,
 * hence never the private form; the name of a place is not needed.
 */
#define _GNU_SOURCE
#include <config.h>

#include "port.h"

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
		        expected, limit, NULL, FUTEX_BITSET_MATCH_ANY) == 0 ?
		    0 :
		    errno;
	while (e == EINTR);
	errno = before;
	return e == ETIMEDOUT ? ETIMEDOUT : 0;
}

void handoff__unpark(const struct handoff__place *place, uint32_t n)
{
	int before = errno;

	syscall(FUTEX_CALL, place->word, FUTEX_WAKE,
	    n > INT_MAX ? INT_MAX : (int)n, NULL, NULL, 0);
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
