/* SPDX-License-Identifier: ISC */
/*
 * Checks that no object of the library straddles a cache line: each kind is
 * a number of whole lines, begins one wherever it is made, and is refused
 * elsewhere.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <handoff.h>

#include "ladder.h"

#define KIND_LADDER 0x6464616cu
#define LINE 64u
#define MADE \
	8u /* objects of a kind, each further from the last multiple of
                 * its size */

static int mutex_init(void *object)
{
	return handoff_mutex_init(object, NULL);
}

static int cond_init(void *object)
{
	return handoff_cond_init(object, NULL);
}

static int sem_init_0(void *object)
{
	return handoff_sem_init(object, 0, NULL);
}

static int event_init(void *object)
{
	return handoff_event_init(object, NULL);
}

static int rwlock_init(void *object)
{
	return handoff_rwlock_init(object, NULL);
}

static int barrier_init(void *object)
{
	return handoff_barrier_init(object, 2, NULL);
}

static int word32_init(void *object)
{
	return handoff_word32_init(object, 0, NULL);
}

static int word64_init(void *object)
{
	return handoff_word64_init(object, 0, NULL);
}

static int baton_init(void *object)
{
	return handoff_baton_init(object, 2, NULL);
}

struct kind {
	const char *name;
	size_t bytes;
	size_t alignment;
	int (*init)(void *object);
};

#define KIND(type, way)                                                      \
	{                                                                    \
#type, sizeof(handoff_##type), _Alignof(handoff_##type), way \
	}

static const struct kind kinds[LADDER_OBJECTS] = {
	KIND(mutex, mutex_init),
	KIND(cond, cond_init),
	KIND(sem, sem_init_0),
	KIND(event, event_init),
	KIND(rwlock, rwlock_init),
	KIND(barrier, barrier_init),
	KIND(word32, word32_init),
	KIND(word64, word64_init),
	KIND(baton, baton_init),
};

static size_t stride(const struct kind *kind)
{
	return kind->bytes + LINE;
}

/* One object, and that it cannot be a little further on. */
static bool whole(const struct kind *kind, unsigned char *at)
{
	size_t off;

	if (kind->init(at) != 0 || (uintptr_t)at % LINE != 0)
		return false;
	for (off = 4; off < LINE; off += 4)
		if (kind->init(at + off) != EINVAL)
			return false;
	return true;
}

static int check_all(void *memory, size_t bytes, void *arg)
{
	struct ladder_object *objects = arg;
	unsigned char *at = memory;
	const struct kind *kind;
	size_t i;
	unsigned n;

	(void)bytes;
	for (i = 0; i < LADDER_OBJECTS; i++) {
		kind = &kinds[i];
		objects[i].kind = kind->name;
		objects[i].bytes = kind->bytes;
		objects[i].ok = kind->bytes % LINE == 0 &&
		    kind->alignment % LINE == 0;
		objects[i].made = 0;
		for (n = 0; n < MADE && objects[i].ok; n++) {
			objects[i].ok = whole(kind, at);
			objects[i].made += objects[i].ok;
			at += stride(kind);
		}
	}
	return 0;
}

int ladder_check(struct ladder_object objects[LADDER_OBJECTS])
{
	struct handoff_segment_options options = {
		.size = sizeof(options),
		.kind = KIND_LADDER,
		.init = check_all,
		.arg = objects,
	};
	char name[BENCH_NAME_MAX];
	handoff_segment *segment;
	sigset_t all, old;
	size_t i;
	int e;

	for (i = 0; i < LADDER_OBJECTS; i++)
		options.bytes += MADE * stride(&kinds[i]);
	bench_name(name, 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	e = handoff_segment_open(&segment, name,
	    HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, &options);
	if (e == 0) {
		e = handoff_unlink(name);
		handoff_close(handoff_segment_memory(segment));
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return e;
}
