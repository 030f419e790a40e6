/* SPDX-License-Identifier: ISC */
/*
 * Floors: the least that two processes can do to hand a turn to each other,
 * without names, deaths, deadlines or anything else.
 *
 *	line1        one cache line that both write, spinning
 *	line2        a cache line for each direction, spinning
 *	line2-yield  the same, offering the CPU instead of spinning
 *	futex        one word, blocking at once (Linux)
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
#include "via.h"

#define LINES ".lines"

struct lines {
	_Alignas(64) _Atomic uint32_t there; /* alone: whose turn it is */
	_Alignas(64) _Atomic uint32_t back;
	char rest[60];
};

static int lines_open(struct via_side *side)
{
	return via_memory_open(&side->own, side, LINES, sizeof(struct lines));
}

static void lines_close(struct via_side *side)
{
	via_memory_close(side->own, sizeof(struct lines));
}

static void lines_unlink(const char *base)
{
	via_memory_unlink(base, LINES);
}

static uint32_t load(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static int line1_call(struct via_side *side, uint64_t rounds)
{
	_Atomic uint32_t *turn = &((struct lines *)side->own)->there;

	for (; rounds > 0; rounds--) {
		store(turn, 1);
		while (load(turn) != 0)
			bench_pause();
	}
	return 0;
}

static int line1_serve(struct via_side *side)
{
	_Atomic uint32_t *turn = &((struct lines *)side->own)->there;
	bool last;

	do {
		while (load(turn) != 1)
			bench_pause();
		last = via_last(side);
		store(turn, 0);
	} while (!last);
	return 0;
}

static int line2_call(struct via_side *side, uint64_t rounds)
{
	struct lines *l = side->own;
	uint32_t n = load(&l->there);

	for (; rounds > 0; rounds--) {
		store(&l->there, ++n);
		while (load(&l->back) != n)
			bench_pause();
	}
	return 0;
}

static int line2_serve(struct via_side *side)
{
	struct lines *l = side->own;
	uint32_t n = load(&l->back);
	bool last;

	do {
		n++;
		while (load(&l->there) != n)
			bench_pause();
		last = via_last(side);
		store(&l->back, n);
	} while (!last);
	return 0;
}

static int yield_call(struct via_side *side, uint64_t rounds)
{
	struct lines *l = side->own;
	uint32_t n = load(&l->there);

	for (; rounds > 0; rounds--) {
		store(&l->there, ++n);
		while (load(&l->back) != n)
			sched_yield();
	}
	return 0;
}

static int yield_serve(struct via_side *side)
{
	struct lines *l = side->own;
	uint32_t n = load(&l->back);
	bool last;

	do {
		n++;
		while (load(&l->there) != n)
			sched_yield();
		last = via_last(side);
		store(&l->back, n);
	} while (!last);
	return 0;
}

#ifdef __linux__
static void futex_pass(_Atomic uint32_t *turn, uint32_t to)
{
	store(turn, to);
	syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int futex_await(_Atomic uint32_t *turn, uint32_t me)
{
	uint32_t now;

	while ((now = load(turn)) != me)
		if (syscall(SYS_futex, turn, FUTEX_WAIT, now, NULL, NULL, 0) &&
		    errno != EAGAIN && errno != EINTR)
			return errno;
	return 0;
}

static int futex_call(struct via_side *side, uint64_t rounds)
{
	_Atomic uint32_t *turn = &((struct lines *)side->own)->there;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		futex_pass(turn, 1);
		e = futex_await(turn, 0);
	}
	return e;
}

static int futex_serve(struct via_side *side)
{
	_Atomic uint32_t *turn = &((struct lines *)side->own)->there;
	bool last;
	int e;

	do {
		e = futex_await(turn, 1);
		last = via_last(side);
		futex_pass(turn, 0);
	} while (e == 0 && !last);
	return e;
}
#endif

#define FLOOR(n, way)                                               \
	{                                                           \
		.name = n, .group = VIA_FLOORS, .open = lines_open, \
		.call = way##_call, .serve = way##_serve,           \
		.close = lines_close, .unlink = lines_unlink,       \
	}

const struct via via_floors[] = {
	FLOOR("line1", line1),
	FLOOR("line2", line2),
	FLOOR("line2-yield", yield),
#ifdef __linux__
	FLOOR("futex", futex),
#endif
};
const size_t via_floors_count = sizeof(via_floors) / sizeof(via_floors[0]);
