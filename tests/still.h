/* SPDX-License-Identifier: ISC */
/* Until a part sleeps, as far as the system tells. */
#ifndef TESTS_STILL_H
#define TESTS_STILL_H

#include "processes.h"
#include "system.h"

/* Gives it time to park, or to die; a loaded machine may need more. */
static inline void settle(pid_t pid)
{
	double end = seconds_now() + 2;

	do
		sleep_seconds(0.01);
	while (!is_still(pid) && seconds_now() < end);
}

#endif
