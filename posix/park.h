/* SPDX-License-Identifier: ISC */
/* What the ways to park have in common. */
#ifndef HANDOFF_PARK_H
#define HANDOFF_PARK_H

#include "port.h"

/* Places at which a thread parks at once. */
#define HANDOFF__PARK_MOST 64u

/* Parks without the system's help: looks again and again, with sleeps that grow
 * to 1 ms.  A wake is what is seen. */
int handoff__park_by_naps(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until);

#endif
