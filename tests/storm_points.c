/* SPDX-License-Identifier: ISC */
/* The storm with points: there a process pauses, yields or dies. */
#define _GNU_SOURCE
#include "storm.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "points.h"

const bool storm_has_points = true;

static uint32_t dice; /* not those of what it does */

static void at_point(void)
{
	uint32_t to_go = atomic_load(&here->at_point);

	if (to_go > 0) {
		atomic_store(&here->at_point, to_go - 1);
		if (to_go == 1) {
			atomic_store(&here->doomed, me / 16);
			kill(getpid(), SIGKILL);
		}
	}
	dice = dice * 1664525u + 1013904223u;
	if (dice >> 24 < 12)
		sched_yield();
	else if (dice >> 24 < 20)
		for (volatile uint32_t i = dice >> 8 & 0xfff; i > 0;)
			i = i - 1;
	else if (dice >> 22 == 80)
		sleep_seconds(100e-6);
}

void storm_use_points(void)
{
	dice = me * 2654435761u + (uint32_t)table->seed;
	handoff__point_hook = at_point;
}
