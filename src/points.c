/* SPDX-License-Identifier: ISC */
/* What tests may set; built for them alone. */
#include "points.h"

void (*handoff__point_hook)(void);
int handoff__slices = 1;
