/* SPDX-License-Identifier: ISC */
/* The table of those who have a segment open, for people to read. */
#ifndef HANDOFF_PEERS_H
#define HANDOFF_PEERS_H

#include "segment.h"

/* With the process locked: enters this process, which has just joined as
 * `token`, where there is room; takes it out again. */
void handoff__peers_enter(struct handoff__open *open, uint32_t token);
void handoff__peers_leave(struct handoff__open *open);

#endif
