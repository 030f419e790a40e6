/* SPDX-License-Identifier: ISC */
/*
 * Fixed policies: what loops make of waiting that look at a word and let go of
 * the CPU in one way or another.  Their words are those of `line2`.
 *
 *	line2-sleep0  Sleep(0): to any thread of the same priority that is ready
 *	line2-sleep1  Sleep(1): to any thread, until the next tick of the timer
 *	              at the least
 */
#include "api.h"

#include "../bench.h"
#include "../via_lines.h"

static inline void sleep0(void)
{
	Sleep(0);
}

static inline void sleep1(void)
{
	Sleep(1);
}

VIA_LINE2(sleep0, sleep0)
VIA_LINE2(sleep1, sleep1)

#define FIXED(way)                                              \
	{                                                       \
		.name = "line2-" #way, .group = VIA_FIXED,      \
		.open = via_lines_open, .call = way##_call,     \
		.serve = way##_serve, .close = via_lines_close, \
		.unlink = via_lines_unlink,                     \
	}

const struct via via_fixed[] = {
	FIXED(sleep0),
	FIXED(sleep1),
};
const size_t via_fixed_count = sizeof(via_fixed) / sizeof(via_fixed[0]);
