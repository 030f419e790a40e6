/* SPDX-License-Identifier: ISC */
/* Segments that tests open. */
#include "segments.h"

int open_segment(handoff_segment **s, const char *name, unsigned flags,
    size_t bytes)
{
	const struct handoff_segment_options o = { sizeof o, bytes, 0, NULL,
		NULL };

	return handoff_segment_open(s, name, flags, 0600, &o);
}

int open_bytes(const char *name, unsigned flags, size_t bytes)
{
	handoff_segment *s;

	return open_segment(&s, name, flags, bytes);
}

static int init_pair(void *memory, size_t bytes, void *arg)
{
	struct pair *pair = memory;
	int e = handoff_mutex_init(&pair->mutex, NULL);

	(void)bytes;
	(void)arg;
	return e != 0 ? e : handoff_cond_init(&pair->cond, NULL);
}

struct pair *open_pair(const char *name, unsigned flags, int *e)
{
	const struct handoff_segment_options o = { sizeof o,
		sizeof(struct pair), 1, init_pair, NULL };
	handoff_segment *s;

	*e = handoff_segment_open(&s, name, flags, 0600, &o);
	return handoff_segment_memory(s);
}

struct pair *make_pair(void)
{
	int e;
	struct pair *pair = open_pair("pair", HANDOFF_CREATE, &e);

	assert_int_equal(e, 0);
	return pair;
}

int hold_pair(const char *unused)
{
	struct pair *pair;
	int e;

	(void)unused;
	pair = open_pair("pair", 0, &e);
	OK(e);
	OK(handoff_mutex_lock(&pair->mutex));
	say("held");
	await("end");
	OK(handoff_mutex_unlock(&pair->mutex));
	return 0;
}

void end_of(void *object, const char *name)
{
	assert_int_equal(handoff_close(object), 0);
	assert_int_equal(unlink_name(name), 0);
	assert_int_equal(count_names(), 0);
}
