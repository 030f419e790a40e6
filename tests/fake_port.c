/* SPDX-License-Identifier: ISC */
/* What the waiting engine needs of a port and of its own library, faked. */
#include "fake_port.h"

#include "handoff.h"
#include "self.h"

#include <errno.h>
#include <string.h>

struct fake fake;

void fake_begin(void)
{
	memset(&fake, 0, sizeof fake);
	fake.now = 1000000000u;
	fake.clock_ns = 25;
	fake.pause_ns = 40;
	fake.yield_ns = 400;
	fake.cpu = 1;
	fake.cpus = 2;
}

static void pass(uint64_t ns)
{
	fake.now += ns;
	if (fake.jump_at != 0 && fake.now >= fake.jump_at) {
		fake.now += fake.jump_ns;
		fake.jump_at = 0;
	}
}

uint64_t handoff__clock(void)
{
	fake.clocks++;
	pass(fake.clock_ns);
	return fake.now;
}

uint64_t handoff_after(uint64_t ns)
{
	return handoff__clock() + ns;
}

void handoff__pause(void)
{
	fake.pauses++;
	pass(fake.pause_ns);
}

void handoff__yield(void)
{
	fake.yields++;
	pass(fake.yield_ns);
}

void handoff__fetch(const volatile void *at)
{
	fake.fetches++;
	fake.fetched = at;
}

unsigned handoff__cpu(void)
{
	return fake.cpu;
}

unsigned handoff__cpus(void)
{
	return fake.cpus;
}

int handoff__realtime(void)
{
	return fake.realtime;
}

unsigned handoff__quota(void)
{
	return fake.quota;
}

unsigned handoff__runnable(void)
{
	return fake.runnable;
}

uint64_t handoff__affinity(void)
{
	return fake.affinity;
}

const char *handoff__setting(const char *name)
{
	fake.settings++;
	return strcmp(name, "HANDOFF_WAIT") == 0 ? fake.setting : NULL;
}

void handoff__warn(const char *line)
{
	fake.warnings++;
	strncpy(fake.warned, line, sizeof fake.warned - 1);
}

_Atomic uint32_t *handoff__process_parked(const void *word)
{
	(void)word;
	return fake.uncounted ? NULL : &fake.parkers;
}

int handoff__park(const struct handoff__place *place, uint32_t expected,
    uint64_t until)
{
	unsigned i = fake.parks++ % FAKE_PARKS;

	fake.parked[i].from = fake.now;
	fake.parked[i].until = until;
	fake.parked[i].expected = expected;
	fake.parked[i].place = *place;
	fake.forever |= until == HANDOFF_NEVER;
	if (fake.park == FAKE_DIFFERS || until == HANDOFF_NEVER)
		return 0;
	if (fake.park == FAKE_EARLY && fake.now + fake.early < until) {
		pass(fake.early);
		if (fake.woken)
			atomic_store(fake.woken, (uint32_t)fake.now);
		pass(fake.wake_ns);
		return 0;
	}
	if (until > fake.now)
		pass(until - fake.now);
	if (fake.park == FAKE_LATE)
		pass(fake.late);
	return ETIMEDOUT;
}

/* ---- This thread ------------------------------------------------------- */

static struct handoff__self self;

_Thread_local struct handoff__self *handoff__self_pointer = &self;

int handoff__self_begin(void)
{
	return 0;
}

void handoff__self_leaves(struct handoff__self *thread, struct handoff__at *at)
{
	(void)thread;
	memset(at, 0, sizeof *at);
}

void handoff__self_returns(struct handoff__self *thread,
    const struct handoff__at *at)
{
	(void)thread;
	(void)at;
}

/* Nobody waits for several things here: it is as at the first place. */
int handoff__park_any(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until)
{
	(void)n;
	return handoff__park(places, *expected, until);
}
