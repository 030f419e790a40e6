/* SPDX-License-Identifier: ISC */
/* Which policy and which limit a wait has. */
#ifndef HANDOFF_POLICY_H
#define HANDOFF_POLICY_H

#include "self.h"

/* The policy of a wait of this thread for this object, and its limit in *limit;
 * 0: the policy's default. */
unsigned handoff__policy(const struct handoff__head *head,
    const struct handoff__self *self, uint32_t *limit);

#endif
