/* SPDX-License-Identifier: ISC */
/* For a part: the mutex "m" and the condition "c", made by who comes first. */
#ifndef TESTS_NAMED_H
#define TESTS_NAMED_H

#include "processes.h"

static inline handoff_mutex *open_m(void)
{
	handoff_mutex *m;

	OK(handoff_mutex_open(&m, "m", HANDOFF_CREATE, 0600, NULL));
	return m;
}

static inline handoff_cond *open_c(void)
{
	handoff_cond *c;

	OK(handoff_cond_open(&c, "c", HANDOFF_CREATE, 0600, NULL));
	return c;
}

#endif
