/* SPDX-License-Identifier: ISC */
/*
 * Points at which a test may kill, stop or delay the caller, between any two
 * steps that another process could see.  The product has none of them.
 */
#ifndef HANDOFF_POINTS_H
#define HANDOFF_POINTS_H

#ifdef HANDOFF__TEST
/* Called at each point, when set. */
extern void (*handoff__point_hook)(void);

/* 0: no wait looks again by itself, so that a lost wake is a hang. */
extern int handoff__slices;

#define HANDOFF__POINT()                       \
	do {                                   \
		if (handoff__point_hook)       \
			handoff__point_hook(); \
	} while (0)
#else
#define HANDOFF__POINT() ((void)0)
#endif

#endif
