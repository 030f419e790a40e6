/* SPDX-License-Identifier: ISC */
/*
 * Parking for systems that offer nothing between processes: the word is looked
 * at again and again, with sleeps that grow to 1 ms.  A wake is what is seen.
 */
#define _GNU_SOURCE
#include <config.h>

#include "port.h"

#include <errno.h>
#include <time.h>

#define FIRST_NS 20000u
#define LAST_NS 1000000u

int handoff__park(const struct handoff__place *place, uint32_t expected,
    uint64_t until)
{
	uint64_t nap = FIRST_NS;
	int before = errno;
	int e = 0;

	/* Sequentially consistent: it is the look that follows the mark. */
	while (atomic_load(place->word) == expected) {
		uint64_t now = handoff__clock();
		struct timespec t;

		if (now >= until) {
			e = ETIMEDOUT;
			break;
		}
		if (nap > until - now)
			nap = until - now;
		t.tv_sec = 0;
		t.tv_nsec = (long)nap;
		nanosleep(&t, NULL);
		nap = nap * 2 > LAST_NS ? LAST_NS : nap * 2;
	}
	errno = before;
	return e;
}

void handoff__unpark(const struct handoff__place *place, uint32_t n)
{
	(void)place;
	(void)n;
}

/* Those who poll `from` see that it has changed. */
int handoff__requeue(const struct handoff__place *from,
    const struct handoff__place *to)
{
	(void)from;
	(void)to;
	return 0;
}
