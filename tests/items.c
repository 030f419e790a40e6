/* SPDX-License-Identifier: ISC */
/* What one can wait for, and what not. */
#include "items.h"

#include <string.h>

const size_t room_bytes = sizeof(struct room);

static int fill_others(struct room *r)
{
	int e = handoff_mutex_init(&r->mutex, NULL);

	if (e == 0)
		e = handoff_cond_init(&r->cond, NULL);
	if (e == 0)
		e = handoff_rwlock_init(&r->rwlock, NULL);
	if (e == 0)
		e = handoff_barrier_init(&r->barrier, 2, NULL);
	return e != 0 ? e : handoff_baton_init(&r->baton, 2, NULL);
}

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct handoff_event_attr manual = { sizeof manual,
		HANDOFF_EVENT_MANUAL, 0, 0 };
	struct room *r = memory;
	int e = 0;

	(void)bytes;
	(void)arg;
	for (unsigned i = 0; e == 0 && i < MANY; i++)
		e = handoff_sem_init(&r->sem[i], 0, NULL);
	if (e == 0)
		e = handoff_event_init(&r->automatic, NULL);
	if (e == 0)
		e = handoff_event_init(&r->manual, &manual);
	if (e == 0)
		e = handoff_word32_init(&r->word32, 7, NULL);
	if (e == 0)
		e = handoff_word64_init(&r->word64, UINT64_C(7) << 32, NULL);
	return e != 0 ? e : fill_others(r);
}

void one_of_each(struct room *r, struct handoff_item items[KINDS])
{
	const struct handoff_item of_each[KINDS] = {
		{ &r->sem[0], 0 },
		{ &r->automatic, 0 },
		{ &r->manual, 0 },
		{ &r->word32, 7 },
		{ &r->word64, UINT64_C(7) << 32 },
	};

	memcpy(items, of_each, sizeof of_each);
}

void all_semaphores(struct room *r, struct handoff_item items[MANY])
{
	for (unsigned i = 0; i < MANY; i++)
		items[i] = (struct handoff_item){ &r->sem[i], 0 };
}
