/* SPDX-License-Identifier: ISC */
/*
 * The table of sites that a thread waits at, and the facts about its machine.
 * Nothing here is shared: two sides of one object wait differently, and nobody
 * else can spoil what a thread knows.
 */
#include "learnt.h"

#include "port.h"

#include <string.h>

#define FACTS_NS 500000000u    /* how long what the machine is holds */
#define STRANGERS_NS 50000000u /* and what others do */
#define PAIR 2u                /* this thread and its partner */
#define CLEAR 4u /* looks that find no stranger, after one that did */

struct handoff__history *handoff__learnt_of(struct handoff__learnt *learnt,
    uint64_t id)
{
	/* Ids are random. */
	unsigned i = (unsigned)((id ^ id >> 32) % HANDOFF__SITES);

	if (learnt->ids[i] != id) {
		learnt->ids[i] = id;
		memset(&learnt->sites[i], 0, sizeof learnt->sites[i]);
	}
	return &learnt->sites[i];
}

/* On other CPUs everything may take another time. */
static void forget(struct handoff__learnt *learnt)
{
	memset(&learnt->machine, 0, sizeof learnt->machine);
	memset(learnt->ids, 0, sizeof learnt->ids);
	learnt->strangers_asked = 0;
}

void handoff__learn_machine(struct handoff__learnt *learnt, uint64_t now)
{
	uint64_t affinity;

	if (learnt->asked != 0 && now - learnt->asked < FACTS_NS)
		return;
	affinity = handoff__affinity();
	if (affinity != learnt->affinity && learnt->asked != 0)
		forget(learnt);
	learnt->asked = now;
	learnt->affinity = affinity;
	learnt->machine.cpus = handoff__cpus();
	learnt->machine.quota = handoff__quota();
	learnt->machine.realtime = handoff__realtime();
}

void handoff__learn_strangers(struct handoff__learnt *learnt, uint64_t now)
{
	if (learnt->strangers_asked != 0 &&
	    now - learnt->strangers_asked < STRANGERS_NS)
		return;
	learnt->strangers_asked = now;
	/* While the partner sleeps, a stranger in its place is not seen. */
	if (handoff__runnable() > PAIR)
		learnt->clear = CLEAR;
	else if (learnt->clear > 0)
		learnt->clear--;
	learnt->machine.strangers = learnt->clear > 0;
}
