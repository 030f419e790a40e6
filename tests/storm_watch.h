/* SPDX-License-Identifier: ISC */
/* The storm's parent: it kills, stops, replaces and watches. */
#ifndef TESTS_STORM_WATCH_H
#define TESTS_STORM_WATCH_H

#include "storm.h"

struct storm_count {
	unsigned kills;
	unsigned inside;    /* of them in calls of the library */
	unsigned at_points; /* of them at points */
	unsigned stops;
};
extern struct storm_count storm_count;

/* Kills and stops for so many seconds, and for some more until `enough` says
 * that it was; fails unless every call ends.  Then all have ended. */
void storm_blow(double seconds, int (*enough)(double seconds));

/* Whatever has happened: nobody lives. */
void storm_end_all(void);

#endif
