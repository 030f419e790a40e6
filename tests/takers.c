/* SPDX-License-Identifier: ISC */
/* The segment "points", its lockers and its takers. */
#include "takers.h"

#include <errno.h>

/* ---- The segment ------------------------------------------------------- */

static int init(void *memory, size_t bytes, void *arg)
{
	struct shared *s = memory;
	int e = handoff_mutex_init(&s->mutex, NULL);

	(void)bytes;
	(void)arg;
	s->whole = 4711;
	return e != 0 ? e : handoff_cond_init(&s->cond, NULL);
}

int open_shared(struct shared **s, const char *name, unsigned flags)
{
	const struct handoff_segment_options o = { sizeof o,
		sizeof(struct shared), 1, init, NULL };
	handoff_segment *segment;
	int e = handoff_segment_open(&segment, name, flags, 0600, &o);

	*s = handoff_segment_memory(segment);
	return e;
}

int lock_and_repair(struct shared *s)
{
	int e = handoff_mutex_lock_until(&s->mutex, soon(5));

	if (e != EOWNERDEAD) {
		OK(e);
		return 0;
	}
	OK(handoff_mutex_consistent(&s->mutex));
	OK(handoff_cond_broadcast(&s->cond));
	return 1;
}

/* ---- Parts ------------------------------------------------------------- */

struct shared *get_shared(void)
{
	struct shared *s;

	OK(open_shared(&s, "points", HANDOFF_CREATE));
	return s;
}

void meet(const char *word)
{
	say(word);
	await("go");
}

int hold_for_ever(const char *unused)
{
	struct shared *s = get_shared();

	(void)unused;
	OK(handoff_mutex_lock(&s->mutex));
	say("held");
	linger();
	return 0;
}

int locker(const char *unused)
{
	struct shared *s = get_shared();

	(void)unused;
	say("locking");
	lock_and_repair(s);
	OK(handoff_mutex_unlock(&s->mutex));
	say("done");
	return 0;
}

int taker(const char *unused)
{
	struct shared *s = get_shared();

	(void)unused;
	lock_and_repair(s);
	say("waiting");
	while (s->ready == 0) {
		int e = handoff_cond_wait(&s->cond, &s->mutex);

		CHECK(e == 0 || e == EOWNERDEAD);
		if (e == EOWNERDEAD) {
			OK(handoff_mutex_consistent(&s->mutex));
			OK(handoff_cond_broadcast(&s->cond));
		}
	}
	s->ready--;
	OK(handoff_mutex_unlock(&s->mutex));
	say("done");
	return 0;
}

/* ---- The parent -------------------------------------------------------- */

struct process start_taker(struct shared *s)
{
	struct process p = start("taker", NULL);

	expect(&p, "waiting");
	/* Once we have had the mutex it waits. */
	lock_and_repair(s);
	assert_int_equal(handoff_mutex_unlock(&s->mutex), 0);
	return p;
}

void finish_within(struct process *p, double seconds)
{
	expect_within(p, "done", seconds);
	assert_int_equal(finish(p), 0);
}
