/* SPDX-License-Identifier: ISC */
/* What making, opening and ending an object is like for every kind. */
#ifndef HANDOFF_MAKING_H
#define HANDOFF_MAKING_H

#include "object.h"

#include <stdbool.h>

/* What the attributes of every kind begin with. */
struct handoff__attr {
	size_t size;
	unsigned flags;
	unsigned policy;
	uint64_t wait_limit;
};

struct handoff__making {
	enum handoff__kind kind;
	size_t bytes;      /* of an object */
	size_t attributes; /* the size of their structure */
	unsigned flags;    /* that there are */
};

/* Whether it is an object of that kind. */
static inline bool handoff__is(const void *object, enum handoff__kind kind)
{
	const struct handoff__head *head = object;

	return head && head->tag == HANDOFF__TAG((uint32_t)kind);
}

/* Checks the arguments, zeroes the object and fills its head but for the tag:
 * 0, EINVAL or ENOTSUP.  *flags are those of the attributes. */
int handoff__make(void *object, const struct handoff__making *how,
    const void *attr, unsigned *flags);

/* The last step. */
void handoff__made(void *object, const struct handoff__making *how);

/* Opens the object `name`, or makes it by `init` as a segment does. */
int handoff__open(void **object, const struct handoff__making *how,
    const char *name, unsigned flags, unsigned mode,
    int (*init)(void *memory, size_t bytes, void *arg), void *arg);

/* EBUSY if a thread of this process holds the object or waits for it. */
int handoff__unused(const void *object, const struct handoff__making *how);

/* The same, but waits, 2 s at the most, for those who are on their way out. */
int handoff__wait_for_leavers(const void *object,
    const struct handoff__making *how);

#endif
