/* SPDX-License-Identifier: ISC */
/*
 * Parking: named semaphores, since what else waits on an address on Windows
 * does not cross processes.
 *
 * The places of a segment share 3,072 buckets, by their keys, and plain memory
 * has as many.  A bucket has a generation, a number in the port's part of the
 * segment, and for each generation a semaphore, the door: its name says segment,
 * bucket and generation.  It has no tokens when it is made.
 *
 * STATES OF A DOOR
 *   closed   its generation is the bucket's
 *   open     the bucket's generation has moved on: everyone passes it, and
 *            nobody comes any more.  It holds a token, or one of those who
 *            pass does, or the one who opens it is about to put it there
 *
 * PARK (the word was seen to be `expected` when the mark was set)
 *   p1  read the generation g; have the door g open, or make it; read the
 *       generation again, and if it is not g return 0, for no reason
 *   p2  look at the word; if it differs return 0
 *   p3  wait at the door, to the deadline: ETIMEDOUT, and no token was taken
 *   p4  a token was taken.  If the generation is not g: give it back, return 0.
 *       If the word differs: return 0; the token was ours.
 *   p5  else it was left by a wake that found nobody, or is meant for one who
 *       is between p2 and p3.  Move the generation on, give the token back, and
 *       return 0, for no reason
 *
 * UNPARK (the word has been changed)
 *   u1  all: move the generation on; some: read it: g
 *   u2  find the door g.  If there is none, nobody is behind p1
 *   u3  all: put one token there; some: put n
 *
 * NO WAKE IS LOST
 *   All steps on the word and on generations are sequentially consistent.  A
 *   waiter that does not see the change at p2 had its door before the change.
 *   Its generation is the one that u1 reads, and u2 finds the door; or an older
 *   one.  But whoever has moved that on has done so after p1, which has seen
 *   it twice, and so has found the door too, and opens it.
 *   Wake of all: who is at the door g, or comes to it later, finds the token
 *   and gives it back, since the generation has moved before it was put there.
 *   Wake of n: a token is used up only by one whose word has changed since it
 *   looked (p4), which might have been woken; anybody else puts it back and
 *   opens the door (p5), and all who are there return.  So a wake reaches one
 *   who was parked before it, however late he comes to p3.
 *   Tokens left behind cost the next one that parks a return for no reason and
 *   a new door; they do not add up.
 *   Those at one door are served in the order in which they came, as far as the
 *   system does so; places that share a bucket wake each other for no reason.
 *
 * WHAT A DEATH LEAVES
 *   waiter, before p3 or in it   nothing
 *   waiter, p4, its token used   a wake that was used up
 *   waiter, p4 or p5, with a token to give back, or waker between u1 and u3
 *                                sleepers without a token: they find what has
 *                                changed when their slice ends
 *   A door goes with the last handle.
 *
 * Where a door cannot be had (no memory, or somebody else's object of that
 * name) one sleeps for 10 ms at the most and returns for no reason.
 */
#include "doors.h"

#include <errno.h>

#define MS 1000000u
#define NAP_MS 10u
#define MOST 0x3fffffff /* tokens of a wake */

static struct handoff__bucket bucket_of(const struct handoff__place *place)
{
	/* Keys are random, or addresses, or follow one another. */
	uint64_t key = place->key * 0x9e3779b97f4a7c15u;

	return (struct handoff__bucket){ place->segment,
		(unsigned)((key >> 32) % HANDOFF__BUCKETS) };
}

/* Until `until`, rounded up: never early. */
static DWORD ms_until(uint64_t until, uint64_t now)
{
	uint64_t ms = (until - now) / MS + ((until - now) % MS != 0);

	if (until == UINT64_MAX)
		return INFINITE;
	return ms < INT32_MAX ? (DWORD)ms : INT32_MAX;
}

/* Waits at doors: which one's token was taken; -1: the deadline has passed; -2:
 * it cannot be waited there. */
static int wait_at(const HANDLE *doors, unsigned n, uint64_t until)
{
	for (;;) {
		uint64_t now = handoff__clock();
		DWORD got;

		if (now >= until)
			return -1;
		got = WaitForMultipleObjectsEx(n, doors, FALSE,
		    ms_until(until, now), FALSE);
		if (got < WAIT_OBJECT_0 + n)
			return (int)(got - WAIT_OBJECT_0);
		if (got != WAIT_TIMEOUT)
			return -2;
	}
}

/* A process is never done before it ends. */
static int nap(uint64_t until)
{
	uint64_t now = handoff__clock();
	DWORD ms;

	if (now >= until)
		return ETIMEDOUT;
	ms = ms_until(until, now);
	WaitForSingleObjectEx(GetCurrentProcess(), ms < NAP_MS ? ms : NAP_MS,
	    FALSE);
	return 0;
}

/* ---- Parking ----------------------------------------------------------- */

/* The places that a thread parks at, and their doors, each once. */
struct parked {
	const struct handoff__place *places;
	const uint32_t *expected;
	unsigned n;
	unsigned doors_n;
	struct handoff__door *doors[MAXIMUM_WAIT_OBJECTS];
	HANDLE handles[MAXIMUM_WAIT_OBJECTS];
	struct handoff__door own[MAXIMUM_WAIT_OBJECTS];
};

static bool same(const struct handoff__bucket *a,
    const struct handoff__bucket *b)
{
	return a->segment == b->segment && a->index == b->index;
}

/* p1 for one place. */
static bool add_door(struct parked *p, const struct handoff__place *place)
{
	struct handoff__bucket bucket = bucket_of(place);
	struct handoff__door *door;

	for (unsigned i = 0; i < p->doors_n; i++)
		if (same(&p->doors[i]->bucket, &bucket))
			return true;
	door = handoff__door_get(&bucket, &p->own[p->doors_n]);
	if (!door)
		return false;
	p->doors[p->doors_n] = door;
	p->handles[p->doors_n++] = door->semaphore;
	return true;
}

/* p1, the second look: whether it is still the generation of that door. */
static bool current(const struct handoff__door *door)
{
	uint32_t generation;
	bool shared;

	return handoff__generation(&door->bucket, &generation, &shared) &&
	    generation == door->generation;
}

/* p2, and the same at p4: whether a word differs, of those with that bucket;
 * NULL: of all. */
static bool differs(const struct parked *p, const struct handoff__bucket *at)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct handoff__bucket bucket = bucket_of(&p->places[i]);

		if ((!at || same(&bucket, at)) &&
		    atomic_load(p->places[i].word) != p->expected[i])
			return true;
	}
	return false;
}

/* p4 and p5. */
static void took(const struct parked *p, const struct handoff__door *door)
{
	if (current(door)) {
		if (differs(p, &door->bucket))
			return;
		handoff__generation_move(&door->bucket, door->generation);
	}
	ReleaseSemaphore(door->semaphore, 1, NULL);
}

static int park(struct parked *p, uint64_t until)
{
	int at;

	for (unsigned i = 0; i < p->n; i++)
		if (!add_door(p, &p->places[i]))
			return nap(until);
	for (unsigned i = 0; i < p->doors_n; i++)
		if (!current(p->doors[i]))
			return 0;
	if (differs(p, NULL))
		return 0;
	at = wait_at(p->handles, p->doors_n, until);
	if (at == -2)
		return nap(until);
	if (at < 0)
		return ETIMEDOUT;
	took(p, p->doors[at]);
	return 0;
}

int handoff__park_any(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until)
{
	struct parked p;
	int e;

	if (n > MAXIMUM_WAIT_OBJECTS)
		return nap(until);
	p.places = places;
	p.expected = expected;
	p.n = n;
	p.doors_n = 0;
	e = park(&p, until);
	for (unsigned i = 0; i < p.doors_n; i++)
		handoff__door_put(p.doors[i]);
	return e;
}

int handoff__park(const struct handoff__place *place, uint32_t expected,
    uint64_t until)
{
	return handoff__park_any(place, &expected, 1, until);
}

/* ---- Waking ------------------------------------------------------------ */

void handoff__unpark(const struct handoff__place *place, uint32_t n)
{
	struct handoff__bucket bucket = bucket_of(place);
	struct handoff__door own;
	struct handoff__door *door;
	uint32_t generation;
	bool shared;

	if (n == 0 || !handoff__generation(&bucket, &generation, &shared))
		return;
	if (n == HANDOFF__ALL)
		handoff__generation_move(&bucket, generation);
	door = handoff__door_find(&bucket, generation, &own);
	if (!door)
		return;
	if (n == HANDOFF__ALL)
		n = 1;
	/* More than one wakes at once find too many there: enough for all. */
	ReleaseSemaphore(door->semaphore, n < MOST ? (LONG)n : MOST, NULL);
	handoff__door_put(door);
}

/* Whoever is woken looks again. */
int handoff__requeue(const struct handoff__place *from,
    const struct handoff__place *to)
{
	(void)to;
	handoff__unpark(from, HANDOFF__ALL);
	return 0;
}
