/* SPDX-License-Identifier: ISC */
/* What can be waited for among others: semaphore, event and word as sites. */
#ifndef HANDOFF_SITES_H
#define HANDOFF_SITES_H

#include "site.h"

/* Each returns false if the object is not of that kind.  `while_equal` is for
 * words. */
bool handoff__sem_site(struct handoff__site *x, void *object);
bool handoff__event_site(struct handoff__site *x, void *object);
bool handoff__word_site(struct handoff__site *x, void *object,
    uint64_t while_equal);

#endif
