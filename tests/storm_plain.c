/* SPDX-License-Identifier: ISC */
/* The storm with the library as it is. */
#include "storm.h"

const bool storm_has_points = false;

void storm_use_points(void)
{
}
