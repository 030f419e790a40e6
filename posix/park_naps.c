/* SPDX-License-Identifier: ISC */
/* Parking without the system's help. */
#define _GNU_SOURCE
#include <config.h>

#include "park.h"

#include <errno.h>
#include <time.h>

#define FIRST_NS 20000u
#define LAST_NS 1000000u

/* Sequentially consistent: it is the look that follows the mark. */
static int as_expected(const struct handoff__place *places,
    const uint32_t *expected, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (atomic_load(places[i].word) != expected[i])
			return 0;
	return 1;
}

int handoff__park_by_naps(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until)
{
	uint64_t nap = FIRST_NS;
	int cancel = handoff__cancel_off();
	int before = errno;
	int e = 0;

	while (as_expected(places, expected, n)) {
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
	handoff__cancel_restore(cancel);
	return e;
}
