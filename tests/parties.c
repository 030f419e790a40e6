/* SPDX-License-Identifier: ISC */
/* The room of a barrier, and its parties. */
#include "parties.h"

#include "still.h"

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;
	struct handoff_barrier_attr attr = { sizeof attr, HANDOFF_ROBUST,
		wanted->policy, 0 };
	struct room *r = memory;
	int e = handoff_mutex_init(&r->mutex, NULL);

	(void)bytes;
	r->parties = wanted->parties;
	r->generations = wanted->generations;
	r->threads = wanted->threads;
	return e != 0 ?
	    e :
	    handoff_barrier_init(&r->barrier, wanted->parties, &attr);
}

struct room *make_barrier(const char *name, uint32_t parties)
{
	const struct wanted wanted = { parties, HANDOFF_WAIT_ADAPTIVE, 0, 0 };
	struct room *r = make_room(name, &wanted);

	assert_non_null(r);
	return r;
}

/* ---- Parties ------------------------------------------------------------- */

int part_party(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	while (n-- > 0) {
		say("comes");
		say(handoff_strerror(
		    handoff_barrier_wait_until(&r->barrier, NULL, soon(20))));
		await("next");
	}
	return 0;
}

struct process start_party(const char *arg)
{
	struct process p = start("party", arg);

	expect(&p, "comes");
	return p;
}

void settle_all(struct process *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		settle(p[i].pid);
}

void all_say(struct process *p, size_t n, int result)
{
	for (size_t i = 0; i < n; i++)
		says(&p[i], result);
}

void all_come(struct process *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		tell(&p[i], "next");
		expect(&p[i], "comes");
	}
}

void all_end(struct process *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		tell(&p[i], "next");
		assert_int_equal(finish(&p[i]), 0);
	}
}
