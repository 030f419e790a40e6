/* SPDX-License-Identifier: ISC */
/* The room of a baton, and its parties. */
#include "turns.h"

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;
	struct handoff_baton_attr attr = { sizeof attr, HANDOFF_ROBUST,
		wanted->policy, 0 };
	struct room *r = memory;
	int e = handoff_mutex_init(&r->mutex, NULL);

	(void)bytes;
	r->parties = wanted->parties;
	r->rounds = wanted->rounds;
	return e != 0 ? e :
	                handoff_baton_init(&r->baton, wanted->parties, &attr);
}

struct room *make_baton(const char *name, uint32_t parties)
{
	const struct wanted wanted = { parties, HANDOFF_WAIT_ADAPTIVE, 0 };
	struct room *r = make_room(name, &wanted);

	assert_non_null(r);
	return r;
}

/* ---- Parties ------------------------------------------------------------- */

void assert_turn(struct room *r, uint32_t expected)
{
	uint32_t is = UINT32_MAX;

	assert_int_equal(handoff_baton_turn(&r->baton, &is), 0);
	assert_int_equal(is, expected);
}

int part_party(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	int e;

	say("waits");
	e = handoff_baton_wait_until(&r->baton, me, soon(20));
	say(handoff_strerror(e));
	await("pass");
	OK(handoff_baton_pass(&r->baton, 0));
	say("passed");
	await("end");
	return 0;
}

struct process start_party(const char *arg)
{
	struct process p = start("party", arg);

	expect(&p, "waits");
	return p;
}

void end(struct process *p)
{
	tell(p, "end");
	assert_int_equal(finish(p), 0);
}

void pass_and_end(struct process *p)
{
	tell(p, "pass");
	expect(p, "passed");
	end(p);
}
