/* SPDX-License-Identifier: ISC */
/*
 * Floors: two processes hand a turn to each other with nothing around it, no
 * names, deaths, deadlines, and nothing learnt.  They are to compare with, and
 * no limits: who leaves the line alone for a moment before it looks may be
 * faster than who looks all the time.
 *
 *	line1        one cache line that both write, spinning
 *	line2        a cache line for each direction, spinning
 *	line2-yield  the same, offering the CPU instead of spinning
 *	futex        a word for each direction, blocking at once (Linux)
 */
#define _GNU_SOURCE 1
#include <errno.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "bench.h"
#include "via_lines.h"

#define LINES ".lines"

int via_lines_open(struct via_side *side)
{
	return via_memory_open(&side->own, side, LINES,
	    sizeof(struct via_lines));
}

void via_lines_close(struct via_side *side)
{
	via_memory_close(side->own, sizeof(struct via_lines));
}

void via_lines_unlink(const char *base)
{
	via_memory_unlink(base, LINES);
}

static int line1_call(struct via_side *side, uint64_t rounds)
{
	_Atomic uint32_t *turn = &((struct via_lines *)side->own)->there;

	for (; rounds > 0; rounds--) {
		via_store(turn, 1);
		while (via_load(turn) != 0)
			bench_pause();
	}
	return 0;
}

static int line1_serve(struct via_side *side)
{
	_Atomic uint32_t *turn = &((struct via_lines *)side->own)->there;
	bool last;

	do {
		while (via_load(turn) != 1)
			bench_pause();
		last = via_last(side);
		via_store(turn, 0);
	} while (!last);
	return 0;
}

VIA_LINE2(line2, bench_pause)
VIA_LINE2(yield, bench_yield)

#ifdef __linux__
static void futex_pass(_Atomic uint32_t *word, uint32_t n)
{
	via_store(word, n);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int futex_await(_Atomic uint32_t *word, uint32_t n)
{
	uint32_t now;

	while ((now = via_load(word)) != n)
		if (syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0) &&
		    errno != EAGAIN && errno != EINTR)
			return errno;
	return 0;
}

static int futex_call(struct via_side *side, uint64_t rounds)
{
	struct via_lines *l = side->own;
	uint32_t n = via_load(&l->there);
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		futex_pass(&l->there, ++n);
		e = futex_await(&l->back, n);
	}
	return e;
}

static int futex_serve(struct via_side *side)
{
	struct via_lines *l = side->own;
	uint32_t n = via_load(&l->back);
	bool last;
	int e;

	do {
		e = futex_await(&l->there, ++n);
		last = via_last(side);
		futex_pass(&l->back, n);
	} while (e == 0 && !last);
	return e;
}
#endif

#define FLOOR(n, way)                                                   \
	{                                                               \
		.name = n, .group = VIA_FLOORS, .open = via_lines_open, \
		.call = way##_call, .serve = way##_serve,               \
		.close = via_lines_close, .unlink = via_lines_unlink,   \
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
