/* SPDX-License-Identifier: ISC */
/*
 * The segments that this process has open, and what can be asked of them.
 *
 * The list is changed with the process locked, and by single stores, so that
 * a child of fork finds it whole.  In the child its segments stay mapped; they
 * are joined anew when the child draws its token.
 *
 * Nothing in shared memory belongs to this file but a segment's header, which
 * is written before the name appears and only read afterwards.
 */
#include "segment.h"

#include "peers.h"
#include "self.h"
#include "wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_NS 10000000u /* how long to wait for one who asks about us */
#define JOIN_STEP_NS 100000u

static struct handoff__open *the_list;

/* ---- The list ---------------------------------------------------------- */

struct handoff__open *handoff__segment_at(const void *object)
{
	for (struct handoff__open *o = the_list; o; o = o->next)
		if ((uintptr_t)object - (uintptr_t)o->header <
		    HANDOFF__HEADER + o->bytes)
			return o;
	return NULL;
}

struct handoff__open *handoff__segment_same(const struct handoff__map *map)
{
	for (struct handoff__open *o = the_list; o; o = o->next)
		if (handoff__map_same(o->map, map))
			return o;
	return NULL;
}

struct handoff__open *handoff__segment_by_id(uint64_t id)
{
	for (struct handoff__open *o = the_list; o; o = o->next)
		if (o->id == id)
			return o;
	return NULL;
}

void handoff__segment_add(struct handoff__open *open)
{
	open->next = the_list;
	the_list = open;
}

void handoff__segment_remove(struct handoff__open *open)
{
	struct handoff__open **at = &the_list;

	while (*at && *at != open)
		at = &(*at)->next;
	if (*at)
		*at = open->next;
}

void handoff__segment_discard(struct handoff__open *open)
{
	/* What a parent joined before a fork is not ours to leave. */
	if (open->token != 0 && open->token == handoff__process_token()) {
		handoff__peers_leave(open);
		handoff__life_leave(open->map);
	}
	handoff__map_close(open->map);
	free(open);
}

uint64_t handoff__segment_of(const void *object)
{
	const struct handoff__open *open;
	uint64_t id = 0;

	if (handoff__process_lock() != 0)
		return 0;
	open = handoff__segment_at(object);
	if (open)
		id = open->id;
	handoff__process_unlock();
	return id;
}

/* ---- Life -------------------------------------------------------------- */

int handoff__segment_join(struct handoff__open *open, uint32_t token)
{
	uint64_t end = handoff_after(JOIN_NS);
	int e;

	for (;;) {
		e = handoff__life_join(open->map, open->id, token);
		if (e == 0) {
			open->token = token;
			handoff__peers_enter(open, token);
		}
		if (e != EBUSY)
			return e;
		if (handoff__clock() >= end)
			return EAGAIN;
		handoff__nap(JOIN_STEP_NS);
	}
}

int handoff__segments_join(uint32_t token)
{
	for (struct handoff__open *o = the_list; o; o = o->next) {
		int e = handoff__segment_join(o, token);

		if (e == 0)
			continue;
		for (struct handoff__open *p = the_list; p != o; p = p->next) {
			handoff__peers_leave(p);
			handoff__life_leave(p->map);
			p->token = 0;
		}
		return e;
	}
	return 0;
}

/* Who is asked about, and where: the object may say something else by the time
 * we are done.  With the process locked. */
static struct {
	struct handoff__map *map;
	uint32_t token;
} asked;

int handoff__dead_begin(uint64_t segment, uint32_t token)
{
	struct handoff__open *open;
	int e = handoff__process_lock();

	if (e != 0)
		return e;
	open = handoff__segment_by_id(segment);
	/* A lock of ours would not stand in our way: we would look dead. */
	if (!open || token == open->token || token < HANDOFF__TOKENS)
		e = EINVAL;
	else
		e = handoff__life_take(open->map, token);
	if (e != 0) {
		handoff__process_unlock();
		return e;
	}
	asked.map = open->map;
	asked.token = token;
	return 0;
}

void handoff__dead_end(void)
{
	handoff__life_give(asked.map, asked.token);
	handoff__process_unlock();
}

/* ---- The public part --------------------------------------------------- */

void *handoff_segment_memory(handoff_segment *segment)
{
	return segment ? (unsigned char *)segment + HANDOFF__HEADER : NULL;
}

size_t handoff_segment_bytes(const handoff_segment *segment)
{
	const struct handoff__open *open;
	size_t bytes = 0;

	if (!segment || handoff__process_lock() != 0)
		return 0;
	open = handoff__segment_at(segment);
	if (open)
		bytes = (size_t)open->bytes;
	handoff__process_unlock();
	return bytes;
}

int handoff_close(void *object)
{
	struct handoff__open *open;
	int e;

	if (!object)
		return EINVAL;
	e = handoff__process_lock();
	if (e != 0)
		return e;
	open = handoff__segment_at(object);
	if (!open) {
		e = EINVAL;
	} else if (open->opens > 1) {
		open->opens--;
	} else if (handoff__threads_in(open->header,
	               HANDOFF__HEADER + (size_t)open->bytes)) {
		e = EBUSY;
	} else {
		handoff__segment_remove(open);
		handoff__segment_discard(open);
	}
	handoff__process_unlock();
	return e;
}

int handoff_info(const void *object, struct handoff_info *info)
{
	const struct handoff__open *open;
	int e;

	if (!object || !info || info->size != sizeof *info)
		return EINVAL;
	/* In a child of fork: so that it is counted among the users. */
	e = handoff__self_begin();
	if (e == 0)
		e = handoff__process_lock();
	if (e != 0)
		return e;
	open = handoff__segment_at(object);
	if (open) {
		info->kind = open->kind;
		info->users = handoff__life_count(open->map);
		info->bytes = open->bytes;
		info->id = open->id;
		info->created = open->created;
		info->detached = !handoff__map_leads(open->map, open->name);
		info->opens = open->opens;
	} else {
		e = EINVAL;
	}
	handoff__process_unlock();
	return e;
}

int handoff_unlink(const char *name)
{
	int e = handoff__name(&name);

	return e != 0 ? e : handoff__map_unlink(name);
}

/* ---- Listing ----------------------------------------------------------- */

struct listing {
	int (*fn)(const char *name, uint32_t kind, uint64_t bytes, void *ctx);
	void *ctx;
};

static int list_one(const char *name, void *ctx)
{
	const struct listing *l = ctx;
	struct handoff__segment_header header;
	const char *checked = name;
	uint32_t kind = HANDOFF_KIND_UNKNOWN;
	uint64_t bytes = 0;
	uint64_t file;
	int e;

	if (handoff__name(&checked) != 0)
		return 0;
	e = handoff__map_peek(name, &header, sizeof header, &file);
	if (e == ENOENT)
		return 0;
	if (e == 0 && handoff__header_valid(&header, file)) {
		kind = header.kind;
		bytes = header.bytes;
	}
	return l->fn(name, kind, bytes, l->ctx);
}

int handoff_list(int (*fn)(const char *name, uint32_t kind, uint64_t bytes,
                     void *ctx),
    void *ctx)
{
	struct listing l = { fn, ctx };
	int cancel;
	int e;

	if (!fn)
		return EINVAL;
	cancel = handoff__cancel_off();
	e = handoff__map_list(list_one, &l);
	handoff__cancel_restore(cancel);
	return e;
}
