/* SPDX-License-Identifier: ISC */
/*
 * What a thread has learnt about waiting: of each site, which is an object,
 * whatever it is waited for, and of the machine.  All zero, as in a child of
 * fork, means nothing.
 */
#ifndef HANDOFF_LEARNT_H
#define HANDOFF_LEARNT_H

#include "estimator.h"

#define HANDOFF__SITES 16u /* beyond them the one that was there is forgotten */

struct handoff__learnt {
	struct handoff__machine machine;
	uint64_t asked;           /* when the machine was looked at; 0: never */
	uint64_t affinity;        /* then */
	uint64_t strangers_asked; /* when others were looked for */
	uint64_t timed_at;        /* when a wait here was last timed */
	uint32_t timed;           /* so many in close succession */
	uint32_t trusted;         /* waits that may begin with a yield */
	uint32_t clear;           /* looks until strangers are forgotten */
	uint64_t ids[HANDOFF__SITES];
	struct handoff__history sites[HANDOFF__SITES];
};

/* What has been learnt of the site with this id, an object's and not 0. */
struct handoff__history *handoff__learnt_of(struct handoff__learnt *learnt,
    uint64_t id);

/* Looks at the machine, every 50 ms at the most. */
void handoff__learn_machine(struct handoff__learnt *learnt, uint64_t now);

/* Looks, every 50 ms at the most, whether more want to run than two. */
void handoff__learn_strangers(struct handoff__learnt *learnt, uint64_t now);

#endif
