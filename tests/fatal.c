/* SPDX-License-Identifier: ISC */
/* Killed at the n-th point. */
#include "fatal.h"
#include "system.h"

#include <stdio.h>

#include "points.h"

/* ---- The victim ---------------------------------------------------------- */

unsigned fatal;
static unsigned points;

static void count_point(void)
{
	if (++points == fatal)
		kill_myself();
}

void count_points(void)
{
	handoff__point_hook = count_point;
}

void count_no_more(void)
{
	handoff__point_hook = NULL;
}

/* ---- The parent ---------------------------------------------------------- */

struct process start_fatal(const char *scenario, unsigned n)
{
	char arg[64];

	snprintf(arg, sizeof arg, "%s %u", scenario, n);
	return start("victim", arg);
}

int survived(struct process *v)
{
	int status = finish(v);

	if (status != 0)
		assert_int_equal(status, KILLED);
	return status == 0;
}

void assert_walked(const char *scenario, unsigned n, int alive, unsigned least)
{
	print_message("%s: %u points\n", scenario, n - 1);
	assert_true(alive);
	assert_true(n - 1 >= least);
}
