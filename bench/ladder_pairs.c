/* SPDX-License-Identifier: ISC */
/*
 * Rungs that two processes make: one takes samples, the other, its partner,
 * answers for ever.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "ladder.h"

static uint32_t load(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* ---- a cache line ------------------------------------------------------ */

static int line_sample(struct stage *stage, unsigned n)
{
	uint32_t turn = load(&stage->there);

	for (; n > 0; n--) {
		store(&stage->there, ++turn);
		while (load(&stage->back) != turn)
			bench_pause();
	}
	return 0;
}

static void line_partner(struct stage *stage)
{
	uint32_t turn = 0;

	for (;;) {
		turn++;
		while (load(&stage->there) != turn)
			bench_pause();
		store(&stage->back, turn);
	}
}

/* ---- yields ------------------------------------------------------------ */

static int yield_sample(struct stage *stage, unsigned n)
{
	uint32_t turn = load(&stage->there);

	for (; n > 0; n--) {
		store(&stage->there, ++turn);
		while (load(&stage->back) != turn)
			sched_yield();
	}
	return 0;
}

static void yield_partner(struct stage *stage)
{
	uint32_t turn = 0;

	for (;;) {
		turn++;
		while (load(&stage->there) != turn)
			sched_yield();
		store(&stage->back, turn);
	}
}

/* A yield in which the partner got the CPU, and kept it. */
static int stall_sample(struct stage *stage, unsigned n)
{
	uint64_t before, start;

	for (; n > 0; n--) {
		before = atomic_load(&stage->stamp);
		start = bench_now();
		sched_yield();
		if (atomic_load(&stage->stamp) != before)
			histogram_record(&stage->samples, bench_now() - start);
	}
	return 0;
}

static void stall_partner(struct stage *stage)
{
	uint64_t n;

	for (n = 1;; n++)
		atomic_store_explicit(&stage->stamp, n, memory_order_relaxed);
}

/* ---- the kernel's queue ------------------------------------------------ */

#ifdef __linux__
static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void block(_Atomic uint32_t *word, uint32_t while_equal)
{
	syscall(SYS_futex, word, FUTEX_WAIT, while_equal, NULL, NULL, 0);
}

/* Gives the turn away and waits for it to come back. */
static void futex_pass(struct stage *stage, uint32_t to)
{
	store(&stage->there, to);
	wake(&stage->there);
	while (load(&stage->there) == to)
		block(&stage->there, to);
}

static int futex_sample(struct stage *stage, unsigned n)
{
	for (; n > 0; n--)
		futex_pass(stage, 1);
	return 0;
}

static void futex_partner(struct stage *stage)
{
	while (load(&stage->there) == 0)
		block(&stage->there, 0);
	for (;;)
		futex_pass(stage, 0);
}

/* From the partner's stamp, just before it wakes this one, to now. */
static int idle_sample(struct stage *stage, unsigned n)
{
	uint32_t turn;
	uint64_t now;

	for (; n > 0; n--) {
		turn = load(&stage->there);
		while (load(&stage->there) == turn)
			block(&stage->there, turn);
		now = bench_now();
		histogram_record(&stage->samples,
		    now - atomic_load(&stage->stamp));
	}
	return 0;
}

static void idle_partner(struct stage *stage)
{
	const struct timespec idle = { .tv_nsec = 10000000 };
	uint32_t turn = 0;

	for (;;) {
		nanosleep(&idle, NULL);
		atomic_store(&stage->stamp, bench_now());
		store(&stage->there, ++turn);
		wake(&stage->there);
	}
}

#define FUTEX(way) .sample = way##_sample, .partner = way##_partner
#else
#define FUTEX(way) .skipped = "no futex here"
#endif

const struct rung ladder_pairs[] = {
	{ "line", "a cache line to another CPU and seen there", RUNG_CROSS,
	    .n = 100, .counts = 200, .sample = line_sample,
	    .partner = line_partner },
	{ "yield", "sched_yield() to a partner on the same CPU", RUNG_SAME,
	    .n = 10, .counts = 20, .sample = yield_sample,
	    .partner = yield_partner },
	{ "futex-same", "handoff by futex on one CPU", RUNG_SAME, .n = 10,
	    .counts = 20, FUTEX(futex) },
	{ "futex-cross", "handoff by futex to another CPU", RUNG_CROSS, .n = 1,
	    .counts = 2, FUTEX(futex) },
	{ "wake-idle", "wake on another CPU, idle for 10 ms", RUNG_CROSS,
	    .n = 1, .counts = 1, .records = true, FUTEX(idle) },
	{ "stall", "sched_yield() that an endless loop took up", RUNG_SAME,
	    .n = 1, .counts = 1, .records = true, .sample = stall_sample,
	    .partner = stall_partner },
};
const size_t ladder_pairs_count = sizeof(ladder_pairs) /
    sizeof(ladder_pairs[0]);
