/* SPDX-License-Identifier: ISC */
/*
 * Makes the seeds of the fuzz target: good objects of each kind, fresh and in
 * use, in each place, with all the calls there are.
 *
 *	make_seeds DIRECTORY
 */
#include "calls.h"
#include "input.h"
#include "object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID UINT64_C(0x1122334455667788)

static const char *directory;

struct seed {
	uint8_t bytes[1024];
	size_t n;
};

static void add(struct seed *s, const void *bytes, size_t n)
{
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
}

static void add_byte(struct seed *s, unsigned v)
{
	uint8_t byte = (uint8_t)v;

	add(s, &byte, 1);
}

static void write_seed(const struct seed *s, const char *kind,
    const char *variant)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s-%s", directory, kind, variant);
	f = fopen(path, "wb");
	if (!f || fwrite(s->bytes, 1, s->n, f) != s->n || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

/* All calls in turn, those but the last twice, with a few writes between. */
static void add_steps(struct seed *s, unsigned kind, int writes)
{
	struct seed steps = { .n = 0 };

	for (unsigned i = 0; i < 2 * calls[kind].n; i++) {
		add_byte(&steps, i % calls[kind].n);
		if (i % calls[kind].n == calls[kind].n - 2)
			i++;
		if (writes && i % 5 == 0) {
			add_byte(&steps, STEP_WRITE);
			add_byte(&steps, 8 + i % 8);
			add_byte(&steps, 0);
			for (unsigned k = 0; k < 4; k++)
				add_byte(&steps, k == 0 ? i : 0);
		}
	}
	add_byte(&steps, calls[kind].n - 1);
	add_byte(s, (unsigned)steps.n);
	add(s, steps.bytes, steps.n);
}

/* Of a version that is open: a header and its size. */
static void add_header(struct seed *s, unsigned kind)
{
	struct handoff__segment_header h = { .magic = HANDOFF__MAGIC,
		.order = HANDOFF__ORDER,
		.layout = HANDOFF__LAYOUT,
		.kind = HANDOFF__KIND_OURS | kind,
		.header = HANDOFF__HEADER,
		.bytes = calls[kind].bytes,
		.total = HANDOFF__HEADER + calls[kind].bytes,
		.id = ID };
	struct handoff__peer peer = { .token = WORD_OTHER,
		.pid = 1,
		.name = "init" };
	uint32_t size = (uint32_t)h.total;

	add(s, &size, sizeof size);
	add_byte(s, 1);
	add(s, &h, INPUT_FIELDS);
	add(s, &peer, sizeof peer);
}

/* What an object in use looks like, by its owner. */
static void use(void *object, unsigned kind, uint32_t owner)
{
	struct handoff__mutex *mutex = object;
	struct handoff__rwlock *rwlock = object;
	struct handoff__barrier *barrier = object;
	struct handoff__baton *baton = object;

	switch (kind) {
	case HANDOFF__MUTEX:
		mutex->word = owner | HANDOFF__WAITERS;
		mutex->starved = 1;
		break;
	case HANDOFF__RWLOCK:
		rwlock->lock.head.used = 1u << owner % HANDOFF__READERS;
		rwlock->tokens[owner % HANDOFF__READERS] = owner;
		rwlock->readers[owner % HANDOFF__READERS] = 1;
		break;
	case HANDOFF__BARRIER:
		barrier->state += (uint64_t)1 << 32;
		barrier->tokens[owner % HANDOFF__PARTIES] = owner;
		break;
	case HANDOFF__BATON:
		baton->tokens[0] = owner;
		baton->state = (uint64_t)2 << 32;
		break;
	case HANDOFF__COND:
		((struct handoff__cond *)object)->state = (uint64_t)1 << 62 |
		    (uint64_t)1 << 32;
		break;
	default:
		((struct handoff__sem *)object)->word |= HANDOFF__MARK;
		break;
	}
}

static void make_seed(unsigned kind, unsigned place, uint32_t owner,
    const char *variant)
{
	struct seed s = { .n = 0 };
	_Alignas(64) unsigned char object[CALLS_BYTES];
	struct handoff__head *head = (void *)object;

	if (calls[kind].init(object) != 0)
		exit(1);
	head->id = ID + 1;
	if (kind == HANDOFF__BARRIER)
		((struct handoff__barrier *)(void *)object)->state = 7;
	if ((place & ~PLACE_THREADS) == PLACE_SEGMENT)
		head->segment = WORD_SEGMENT;
	else if (place == PLACE_FILE)
		head->segment = ID;
	if (owner)
		use(object, kind, owner);
	add_byte(&s, place);
	add_byte(&s, kind - CALLS_FIRST);
	add_steps(&s, kind, owner == WORD_OTHER);
	if (place == PLACE_FILE)
		add_header(&s, kind);
	add(&s, object, calls[kind].bytes);
	write_seed(&s, calls[kind].name, variant);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	directory = argv[1];
	for (unsigned kind = CALLS_FIRST; kind <= CALLS_LAST; kind++) {
		make_seed(kind, PLACE_PLAIN, 0, "plain");
		make_seed(kind, PLACE_PLAIN, WORD_ME, "plain-mine");
		make_seed(kind, PLACE_SEGMENT, 0, "segment");
		make_seed(kind, PLACE_SEGMENT, 77, "segment-dead");
		make_seed(kind, PLACE_SEGMENT, WORD_OTHER, "segment-other");
		make_seed(kind, PLACE_THREADS | PLACE_SEGMENT, 0,
		    "segment-threads");
		make_seed(kind, PLACE_FILE, 0, "file");
	}
	return 0;
}
