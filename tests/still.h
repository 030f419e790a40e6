/* SPDX-License-Identifier: ISC */
/* Whether a part sleeps, as far as the system tells. */
#ifndef TESTS_STILL_H
#define TESTS_STILL_H

#include "processes.h"

#include <stdio.h>

/* Whether that process sleeps, or is dead; true where the system does not
 * tell. */
static inline int is_still(pid_t pid)
{
	char path[64];
	char c = 'S';
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 1;
	if (fscanf(f, "%*d (%*[^)]) %c", &c) != 1)
		c = 'S';
	fclose(f);
	return c == 'S' || c == 'Z';
}

/* Gives it time to park, or to die; a loaded machine may need more. */
static inline void settle(pid_t pid)
{
	double end = seconds_now() + 2;

	do
		sleep_seconds(0.01);
	while (!is_still(pid) && seconds_now() < end);
}

#endif
