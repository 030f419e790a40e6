/* SPDX-License-Identifier: ISC */
/* The storm's names: segments opened, closed and removed at any time, and
 * objects that end and are made anew under the next name. */
#include "storm.h"

#include <errno.h>
#include <stdio.h>

#define FILLED 256u

static const struct handoff_mutex_attr robust = { .size = sizeof robust,
	.flags = HANDOFF_ROBUST };

/* ---- The object of now --------------------------------------------------- */

/* What storm_locks.c and storm_parties.c have in such a segment begins with
 * the object and has nothing else to be made. */
static int make_mortal(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	return *(unsigned *)arg == 0 ? handoff_mutex_init(memory, &robust) :
	                               handoff_barrier_init(memory, 2, NULL);
}

static struct {
	uint32_t epoch;
	void *memory;
} now[EPOCHS];

static void name_epoch(char name[32], unsigned which, uint32_t epoch)
{
	snprintf(name, 32, "epoch.%u.%u", which, epoch);
}

static void remove_name(unsigned kind, const char *name)
{
	int e = IN(kind, CALL_OTHER, handoff_unlink(name));

	MUST(e == 0 || e == ENOENT);
}

void *epoch_open(unsigned which, unsigned kind)
{
	const struct handoff_segment_options o = { sizeof o, 1024, which + 10,
		make_mortal, &which };
	uint32_t epoch = atomic_load(&table->epochs[which]);
	handoff_segment *s = NULL;
	char name[32];

	if (now[which].memory && now[which].epoch == epoch)
		return now[which].memory;
	if (now[which].memory)
		GIVES0(IN(kind, CALL_OTHER, handoff_close(now[which].memory)));
	now[which].memory = NULL;
	name_epoch(name, which, epoch);
	GIVES0(IN(kind, CALL_OTHER,
	    handoff_segment_open(&s, name, HANDOFF_CREATE, 0600, &o)));
	/* The name may have been removed before: then this is another's. */
	if (atomic_load(&table->epochs[which]) != epoch) {
		remove_name(kind, name);
		GIVES0(IN(kind, CALL_OTHER, handoff_close(s)));
		return NULL;
	}
	now[which].epoch = epoch;
	now[which].memory = handoff_segment_memory(s);
	return now[which].memory;
}

void epoch_over(unsigned which, unsigned kind)
{
	uint32_t epoch = now[which].epoch;
	char name[32];

	if (!atomic_compare_exchange_strong(&table->epochs[which], &epoch,
	        epoch + 1))
		return;
	name_epoch(name, which, epoch);
	remove_name(kind, name);
}

/* ---- Segments that come and go ------------------------------------------- */

struct shared {
	handoff_mutex mutex;
	struct guarded guarded;
	uint32_t filled[FILLED];
};

static int fill_shared(void *memory, size_t bytes, void *arg)
{
	struct shared *s = memory;

	(void)bytes;
	(void)arg;
	for (uint32_t i = 0; i < FILLED; i++)
		s->filled[i] = i;
	return handoff_mutex_init(&s->mutex, &robust);
}

static void use_shared(unsigned kind, struct shared *s)
{
	uint64_t deadline = some_deadline();
	int e;

	for (uint32_t i = 0; i < FILLED; i++)
		MUST(s->filled[i] == i);
	e = IN(kind, CALL_UNTIL, handoff_mutex_lock_until(&s->mutex, deadline));
	if (e == ETIMEDOUT)
		return;
	if (come_in(kind, &s->guarded, e))
		GIVES0(
		    IN(kind, CALL_OTHER, handoff_mutex_consistent(&s->mutex)));
	work(&s->guarded);
	go_out(&s->guarded);
	GIVES0(IN(kind, CALL_GIVE, handoff_mutex_unlock(&s->mutex)));
}

static void act_segment(unsigned kind, const char *name)
{
	const struct handoff_segment_options o = { sizeof o,
		sizeof(struct shared), 3, fill_shared, NULL };
	unsigned flags = chance(4) == 0 ? 0 : HANDOFF_CREATE;
	struct handoff_info info = { .size = sizeof info };
	handoff_segment *s = NULL;
	int e = IN(kind, CALL_OTHER,
	    handoff_segment_open(&s, name, flags, 0600, &o));

	MUST(e == 0 || (e == ENOENT && flags == 0));
	if (e != 0)
		return;
	use_shared(kind, handoff_segment_memory(s));
	if (chance(4) == 0) {
		GIVES0(IN(kind, CALL_OTHER, handoff_info(s, &info)));
		MUST(info.users >= 1 && info.opens == 1);
	}
	if (chance(4) == 0)
		remove_name(kind, name);
	GIVES0(IN(kind, CALL_OTHER, handoff_close(s)));
}

static void act_named_sem(unsigned kind, const char *name)
{
	handoff_sem *s = NULL;
	int e;

	GIVES0(IN(kind, CALL_OTHER,
	    handoff_sem_open(&s, name, HANDOFF_CREATE, 0600, 2, NULL)));
	e = IN(kind, CALL_TRY, handoff_sem_trywait(s));
	MUST(e == 0 || e == EBUSY);
	GIVES0(IN(kind, CALL_GIVE, handoff_sem_post(s, 1)));
	if (chance(4) == 0)
		remove_name(kind, name);
	GIVES0(IN(kind, CALL_OTHER, handoff_close(s)));
}

static int count_one(const char *name, uint32_t kind, uint64_t bytes,
    void *count)
{
	(void)name;
	(void)kind;
	(void)bytes;
	++*(unsigned *)count;
	return 0;
}

void act_names(unsigned kind)
{
	unsigned names = 0;
	char name[32];
	uint32_t n = chance(4);

	snprintf(name, sizeof name, "%s.%u", n < 2 ? "segment" : "sem", n);
	if (n < 2)
		act_segment(kind, name);
	else
		act_named_sem(kind, name);
	if (chance(16) == 0) {
		GIVES0(IN(kind, CALL_OTHER, handoff_list(count_one, &names)));
		MUST(names > 0);
	}
}
