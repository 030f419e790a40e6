/* SPDX-License-Identifier: ISC */
/* What a mutex's release must do for a condition that was signalled. */
#ifndef HANDOFF_COND_H
#define HANDOFF_COND_H

#include "self.h"

/* The i-th lock that this thread holds is about to be released: its signals
 * take effect on the condition, and are to be published with the release (r1
 * and r2 in cond.c).  The result, when it is not 0, is how many to wake at
 * *place after the release. */
uint32_t handoff__cond_deliver(struct handoff__self *self, int i,
    struct handoff__place *place);

#endif
