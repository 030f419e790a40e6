/* SPDX-License-Identifier: ISC */
/* What making, opening and ending an object is like for every kind. */
#include "making.h"

#include "segment.h"
#include "self.h"
#include "wait.h"

#include <errno.h>
#include <string.h>

#define LEAVE_NS 2000000000u
#define LEAVE_STEP_NS 50000u

int handoff__make(void *object, const struct handoff__making *how,
    const void *attr, unsigned *flags)
{
	struct handoff__head *head = object;
	struct handoff__attr common = { how->attributes, 0, 0, 0 };
	uint64_t segment;

	if (attr)
		memcpy(&common, attr, sizeof common);
	if (!head || (uintptr_t)head % 64 != 0 ||
	    common.size != how->attributes || (common.flags & ~how->flags) ||
	    common.policy > HANDOFF_WAIT_BLOCK ||
	    common.wait_limit > UINT32_MAX)
		return EINVAL;
	segment = handoff__segment_of(object);
	if (segment == 0 && (common.flags & how->flags & HANDOFF_ROBUST))
		return ENOTSUP;
	memset(object, 0, how->bytes);
	head->attr = common.policy;
	head->segment = segment;
	head->limit = (uint32_t)common.wait_limit;
	handoff__random(&head->id, sizeof head->id);
	*flags = common.flags;
	return 0;
}

void handoff__made(void *object, const struct handoff__making *how)
{
	struct handoff__head *head = object;

	head->tag = HANDOFF__TAG((uint32_t)how->kind);
}

int handoff__open(void **object, const struct handoff__making *how,
    const char *name, unsigned flags, unsigned mode,
    int (*init)(void *memory, size_t bytes, void *arg), void *arg)
{
	struct handoff__wanted wanted = { .name = name,
		.flags = flags,
		.mode = mode,
		.bytes = how->bytes,
		.init = init,
		.arg = arg };

	return handoff__object_open(object, &wanted, how->kind);
}

int handoff__unused(const void *object, const struct handoff__making *how)
{
	unsigned threads;
	int e = handoff__process_lock();

	if (e != 0)
		return e;
	threads = handoff__threads_in(object, how->bytes);
	handoff__process_unlock();
	return threads == 0 ? 0 : EBUSY;
}

int handoff__wait_for_leavers(const void *object,
    const struct handoff__making *how)
{
	uint64_t end = handoff_after(LEAVE_NS);
	int e;

	while ((e = handoff__unused(object, how)) == EBUSY &&
	    handoff__clock() < end)
		handoff__nap(LEAVE_STEP_NS);
	return e;
}
