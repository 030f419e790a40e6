/* SPDX-License-Identifier: ISC */
/* Time, results in words, and the version. */
#include "object.h"

#include <errno.h>

uint64_t handoff_now(void)
{
	return handoff__clock();
}

uint64_t handoff_after(uint64_t ns)
{
	uint64_t now = handoff__clock();

	return ns < HANDOFF_NEVER - now ? now + ns : HANDOFF_NEVER;
}

const char *handoff_version(void)
{
	return HANDOFF_VERSION;
}

const char *handoff_strerror(int result)
{
	static const struct {
		int result;
		const char *text;
	} texts[] = {
		{ 0, "success" },
		{ EBUSY, "held by somebody, or in use" },
		{ ETIMEDOUT, "the deadline passed first" },
		{ EOWNERDEAD,
		    "locked, but the owner before ended while it "
		    "held it: what it protects is suspect" },
		{ ENOTRECOVERABLE, "given up for good after its owner ended" },
		{ EPERM, "not held by this thread" },
		{ EDEADLK, "held by this thread already" },
		{ EOVERFLOW, "the count would exceed its maximum" },
		{ EINVAL, "not a valid argument or object" },
		{ EPROTO,
		    "not such an object: another kind, size, layout or "
		    "machine, or a damaged or foreign file" },
		{ ENOENT, "no such name" },
		{ EEXIST, "the name exists" },
		{ EACCES, "no right to it" },
		{ ENAMETOOLONG, "the name is too long" },
		{ ENOSPC, "no space for shared memory" },
		{ ENOMEM, "no memory" },
		{ EMFILE, "too many open files in this process" },
		{ ENFILE, "too many open files" },
		{ EAGAIN, "not now: it changed again and again" },
		{ EMSGSIZE, "the message is too long" },
		{ EPIPE, "shut" },
		{ ENOTSUP, "not possible on this system or in this memory" },
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].result == result)
			return texts[i].text;
	return "an error of the system";
}
