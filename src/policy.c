/* SPDX-License-Identifier: ISC */
/*
 * Who says how a wait is done: the environment, else the thread, else the
 * process, else the object.  The environment comes first so that whoever runs
 * a program can have the last word.
 */
#include "policy.h"

#include <errno.h>
#include <string.h>

#define US 1000u
#define MS 1000000u

/* ---- The environment --------------------------------------------------- */

static struct {
	_Atomic uint32_t state; /* 0 unread, 1 none, 2 set */
	_Atomic uint32_t policy;
	_Atomic uint32_t limit;
} environment;

/* "20us" in ns: 0 if it is no time between 1 ns and 1 s. */
static uint32_t parse_limit(const char *text)
{
	static const struct {
		const char *unit;
		uint32_t ns;
	} units[] = { { "ns", 1 }, { "us", US }, { "ms", MS } };
	uint64_t n = 0;

	for (; *text >= '0' && *text <= '9' && n <= 1000000000u; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(text, units[i].unit) == 0 &&
		    n * units[i].ns <= 1000000000u)
			return (uint32_t)(n * units[i].ns);
	return 0;
}

static bool parse(const char *text, uint32_t *policy, uint32_t *limit)
{
	static const char *const names[] = { "adaptive", "spin", "yield",
		"block" };

	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(text, names[i], n) != 0 ||
		    (text[n] != '\0' && text[n] != ':'))
			continue;
		*policy = i;
		*limit = text[n] ? parse_limit(text + n + 1) : 0;
		return text[n] == '\0' || *limit != 0;
	}
	return false;
}

/* Several threads may read the variable at once, and all read the same; the
 * first reports it. */
static void read_environment(void)
{
	const char *text = handoff__setting("HANDOFF_WAIT");
	uint32_t policy = 0;
	uint32_t limit = 0;
	uint32_t unread = 0;
	bool good = text && parse(text, &policy, &limit);

	atomic_store(&environment.policy, policy);
	atomic_store(&environment.limit, limit);
	if (atomic_compare_exchange_strong(&environment.state, &unread,
	        good ? 2 : 1) &&
	    text && *text && !good)
		handoff__warn("handoff: HANDOFF_WAIT is not adaptive, spin, "
		              "yield or block, nor one of these with a limit "
		              "as in spin:20us; ignored\n");
}

/* ---- The program ------------------------------------------------------- */

/* One word, so that policy and limit belong together: SET | policy << 32 |
 * limit; 0: as the object says. */
#define SET ((uint64_t)1 << 63)

static _Atomic uint64_t process;

int handoff_set_policy(unsigned whose, unsigned policy, uint64_t limit)
{
	uint64_t set = policy == HANDOFF_WAIT_AS_MADE ?
	    0 :
	    SET | (uint64_t)policy << 32 | limit;
	int e;

	if (policy > HANDOFF_WAIT_AS_MADE || limit > UINT32_MAX)
		return EINVAL;
	switch (whose) {
	case HANDOFF_PROCESS:
		atomic_store(&process, set);
		return 0;
	case HANDOFF_THREAD:
		e = handoff__self_begin();
		if (e != 0)
			return e;
		handoff__self_pointer->learnt.trusted = 0;
		handoff__self_pointer->policy = set;
		return 0;
	default:
		return EINVAL;
	}
}

unsigned handoff__policy(const struct handoff__head *head,
    const struct handoff__self *self, uint32_t *limit)
{
	uint32_t state = atomic_load(&environment.state);
	uint64_t set = self->policy;

	if (state == 0) {
		read_environment();
		state = atomic_load(&environment.state);
	}
	if (state == 2) {
		*limit = atomic_load(&environment.limit);
		return atomic_load(&environment.policy);
	}
	if (!set)
		set = atomic_load(&process);
	*limit = set ? (uint32_t)set : head->limit;
	return set ? (uint32_t)(set >> 32) & HANDOFF__POLICY :
	             head->attr & HANDOFF__POLICY;
}
