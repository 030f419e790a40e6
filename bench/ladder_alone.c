/* SPDX-License-Identifier: ISC */
/*
 * Rungs that one process makes.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ladder.h"

#if defined(__GLIBC__) || defined(__FreeBSD__)
#define SWAPCONTEXT 1
#include <ucontext.h>
#endif

static int atomic_sample(struct stage *stage, unsigned n)
{
	static _Alignas(64) _Atomic uint64_t line[8];
	uint64_t sum = 0;

	(void)stage;
	for (; n > 0; n--)
		sum += atomic_fetch_add(&line[0], 1);
	atomic_store_explicit(&line[1], sum, memory_order_relaxed);
	return 0;
}

static int pause_sample(struct stage *stage, unsigned n)
{
	(void)stage;
	for (; n > 0; n--)
		bench_pause();
	return 0;
}

static int sleep_sample(struct stage *stage, unsigned n)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	(void)stage;
	for (; n > 0; n--)
		nanosleep(&ms, NULL);
	return 0;
}

static int call_sample(struct stage *stage, unsigned n)
{
	(void)stage;
	for (; n > 0; n--)
		getppid();
	return 0;
}

/* ---- user-level switches ----------------------------------------------- */

/* There and back on one stack, the signal mask left alone. */
static void jump(void)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0) == 0)
		siglongjmp(here, 1);
}

static int jump_sample(struct stage *stage, unsigned n)
{
	(void)stage;
	for (; n > 0; n--)
		jump();
	return 0;
}

#ifdef SWAPCONTEXT
static ucontext_t caller, other;

static void other_main(void)
{
	for (;;)
		swapcontext(&other, &caller);
}

static int other_make(void)
{
	static _Alignas(64) unsigned char stack[65536];

	if (getcontext(&other) != 0)
		return errno;
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	other.uc_link = NULL;
	makecontext(&other, other_main, 0);
	return 0;
}

/* Switches there and back. */
static int context_sample(struct stage *stage, unsigned n)
{
	static bool made;
	int e = made ? 0 : other_make();

	(void)stage;
	made = true;
	for (; n > 0 && e == 0; n--)
		if (swapcontext(&caller, &other) != 0)
			e = errno;
	return e;
}
#endif

/* ---- an atomic that straddles a cache line ----------------------------- */

#if defined(__x86_64__) || defined(__i386__)
/* On a page of its own; the compiler would not make such an access. */
static int add_at(size_t offset, unsigned n)
{
	static unsigned char *page;
	void *memory;

	if (!page) {
		memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return errno;
		page = memory;
	}
	for (; n > 0; n--)
#ifdef __x86_64__
		__asm__ volatile("lock; addq $1, (%0)" ::"r"(page + offset)
		                 : "memory", "cc");
#else
		__asm__ volatile("lock; addl $1, (%0)" ::"r"(page + offset)
		                 : "memory", "cc");
#endif
	return 0;
}

static int whole_sample(struct stage *stage, unsigned n)
{
	(void)stage;
	return add_at(64, n);
}

static int split_sample(struct stage *stage, unsigned n)
{
	(void)stage;
	return add_at(62, n);
}

#define X86(way) .sample = way
#else
#define X86(way) .skipped = "an unaligned atomic is for x86 alone"
#endif

const struct rung ladder_alone[] = {
	{ "atomic", "atomic add on a private cache line", .n = 10000,
	    .counts = 10000, .sample = atomic_sample },
	{ "pause", "the pause of a spin loop", .n = 10000, .counts = 10000,
	    .sample = pause_sample },
	{ "setjmp", "setjmp and longjmp, on one stack", .n = 1000,
	    .counts = 1000, .sample = jump_sample },
#ifdef SWAPCONTEXT
	{ "swapcontext", "user-level switch to another stack", .n = 100,
	    .counts = 200, .sample = context_sample },
#else
	{ "swapcontext", "user-level switch to another stack",
	    .skipped = "no swapcontext() here" },
#endif
	{ "syscall", "plain system call, getppid()", .n = 1000, .counts = 1000,
	    .sample = call_sample },
	{ "sleep", "sleep of 1 ms", .n = 1, .counts = 1,
	    .sample = sleep_sample },
	{ "atomic-whole", "locked add within a cache line", .n = 10,
	    .counts = 10, .samples = 10, X86(whole_sample) },
	{ "atomic-split", "locked add across two cache lines", .n = 10,
	    .counts = 10, .samples = 10, .may_die = true, X86(split_sample) },
};
const size_t ladder_alone_count = sizeof(ladder_alone) /
    sizeof(ladder_alone[0]);
