/* SPDX-License-Identifier: ISC */
/* Processes that hold each other up, and whether they get on. */
#define _GNU_SOURCE
#include "jostle.h"
#include "system.h"

#include <stdio.h>
#include <stdlib.h>

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

void be_jostled(unsigned who, int pinned)
{
	seed_chance(who);
	if (pinned)
		pin_to_first_cpu();
	handoff__slices = 0;
	handoff__point_hook = jostle;
	say("ready");
	await("go");
}

void stay_away(const _Atomic unsigned *progress, unsigned before,
    const _Atomic unsigned *stop)
{
	while (atomic_load(progress) == before && !atomic_load(stop))
		sleep_seconds(50e-6);
}

/* ---- The parent -------------------------------------------------------- */

void start_jostled(struct process *p, unsigned n, const char *part)
{
	char arg[20];

	for (unsigned i = 0; i < n; i++) {
		snprintf(arg, sizeof arg, "stress:%u", i);
		p[i] = start(part, arg);
		expect(&p[i], "ready");
	}
	for (unsigned i = 0; i < n; i++)
		tell(&p[i], "go");
}

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

/* What STRESS_SECONDS says, or `otherwise`. */
static double stress_seconds(double otherwise)
{
	const char *text = getenv("STRESS_SECONDS");
	double seconds = text ? strtod(text, NULL) : 0;

	return seconds > 0 ? seconds : otherwise;
}

unsigned watch_stress(const _Atomic unsigned *progress, unsigned runs,
    double seconds, unsigned least)
{
	double takes = stress_seconds(seconds) / runs;

	least = (unsigned)(least * takes / seconds);
	watch_progress(progress, takes, least);
	return least;
}

unsigned stress_watchdog(size_t scenarios)
{
	return (unsigned)(240 + (double)scenarios * stress_seconds(0));
}
