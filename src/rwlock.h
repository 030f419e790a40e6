/* SPDX-License-Identifier: ISC */
/* The readers-writer lock as the end of a thread sees it. */
#ifndef HANDOFF_RWLOCK_H
#define HANDOFF_RWLOCK_H

#include "object.h"

/* A thread that was counted as a reader in that slot ends. */
void handoff__rwlock_gone(struct handoff__rwlock *rw, unsigned slot);

#endif
