/* SPDX-License-Identifier: ISC */
/* Processes that hold each other up, and whether they get on. */
#define _GNU_SOURCE
#include "jostle.h"

#include <sched.h>

#include "points.h"

#define STILL 8.0 /* seconds without progress: they hang */

/* ---- A part ------------------------------------------------------------ */

static _Thread_local uint32_t seed;

void seed_chance(uint32_t n)
{
	seed = n * 2654435761u + (uint32_t)handoff_now();
}

uint32_t chance(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)n * (seed >> 8) >> 24);
}

void jostle(void)
{
	uint32_t x = chance(256);

	if (x < 12) {
		sched_yield();
	} else if (x < 20) {
		for (volatile uint32_t i = chance(3000); i > 0;)
			i = i - 1;
	} else if (x == 20 && chance(4) == 0) {
		sleep_seconds(chance(200) / 1e6);
	}
}

static void pin(void)
{
	cpu_set_t may;
	cpu_set_t one;
	size_t cpu = 0;

	CHECK(sched_getaffinity(0, sizeof may, &may) == 0);
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

void be_jostled(unsigned who, int pinned)
{
	seed_chance(who);
	if (pinned)
		pin();
	handoff__slices = 0;
	handoff__point_hook = jostle;
}

/* ---- The parent -------------------------------------------------------- */

void watch_progress(const _Atomic unsigned *progress, double seconds,
    unsigned least)
{
	double end = seconds_now() + seconds;
	double moved = seconds_now();
	unsigned before = 0;

	while (seconds_now() < end || before < least) {
		unsigned now = atomic_load(progress);

		if (now != before)
			moved = seconds_now();
		else if (seconds_now() - moved > STILL)
			fail_msg("a wake is lost: nothing moves after %u", now);
		before = now;
		sleep_seconds(0.02);
	}
	print_message("%u steps\n", before);
}
