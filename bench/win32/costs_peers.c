/* SPDX-License-Identifier: ISC */
/*
 * What the system's operations cost: named objects of the kernel, and the locks
 * of one process.
 */
#include "api.h"

#include <limits.h>
#include <stdio.h>

#include "../costs.h"

struct section {
	_Alignas(64) CRITICAL_SECTION section;
};

struct lock {
	_Alignas(64) SRWLOCK lock;
};

struct peers {
	struct section sections[COSTS_EACH];
	struct lock locks[COSTS_EACH];
	_Alignas(64) CONDITION_VARIABLE cond;
	HANDLE mutexes[COSTS_EACH];
	HANDLE events[COSTS_EACH];
	HANDLE sem;
};

static struct peers peers;

static int kernel_open(struct peers *p, const char *name)
{
	char text[BENCH_NAME_MAX + 32];
	unsigned i;

	for (i = 0; i < COSTS_EACH; i++) {
		snprintf(text, sizeof(text), "Local\\%s.mutex%u", name, i);
		p->mutexes[i] = CreateMutexA(NULL, FALSE, text);
		if (!p->mutexes[i])
			return api_error();
		snprintf(text, sizeof(text), "Local\\%s.event%u", name, i);
		p->events[i] = CreateEventA(NULL, FALSE, FALSE, text);
		if (!p->events[i])
			return api_error();
	}
	snprintf(text, sizeof(text), "Local\\%s.sem", name);
	p->sem = CreateSemaphoreA(NULL, 0, LONG_MAX, text);
	return p->sem ? 0 : api_error();
}

static int peers_open(void **objects, const char *name)
{
	unsigned i;

	*objects = &peers;
	for (i = 0; i < COSTS_EACH; i++) {
		InitializeCriticalSection(&peers.sections[i].section);
		InitializeSRWLock(&peers.locks[i].lock);
	}
	InitializeConditionVariable(&peers.cond);
	return kernel_open(&peers, name);
}

/* Names go with their objects. */
static void peers_unlink(const char *name)
{
	(void)name;
}

static void peers_close(void *objects)
{
	struct peers *p = objects;
	unsigned i;

	for (i = 0; i < COSTS_EACH; i++) {
		DeleteCriticalSection(&p->sections[i].section);
		CloseHandle(p->mutexes[i]);
		CloseHandle(p->events[i]);
	}
	CloseHandle(p->sem);
}

/* Of functions that return whether they could. */
static int result(BOOL good)
{
	return good ? 0 : api_error();
}

static int wait(HANDLE handle)
{
	return result(WaitForSingleObject(handle, INFINITE) == WAIT_OBJECT_0);
}

/* For functions that cannot fail. */
#define DONE(call) ((call), 0)

COSTS_TWO(section, struct peers,
    DONE(EnterCriticalSection(&o->sections->section)),
    DONE(LeaveCriticalSection(&o->sections->section)))
COSTS_HALVES(section, struct peers,
    DONE(EnterCriticalSection(&o->sections[i].section)),
    DONE(LeaveCriticalSection(&o->sections[i].section)))
COSTS_TWO(srw, struct peers, DONE(AcquireSRWLockExclusive(&o->locks->lock)),
    DONE(ReleaseSRWLockExclusive(&o->locks->lock)))
COSTS_HALVES(srw, struct peers,
    DONE(AcquireSRWLockExclusive(&o->locks[i].lock)),
    DONE(ReleaseSRWLockExclusive(&o->locks[i].lock)))
COSTS_TWO(read, struct peers, DONE(AcquireSRWLockShared(&o->locks->lock)),
    DONE(ReleaseSRWLockShared(&o->locks->lock)))
COSTS_HALVES(read, struct peers, DONE(AcquireSRWLockShared(&o->locks[i].lock)),
    DONE(ReleaseSRWLockShared(&o->locks[i].lock)))
COSTS_TWO(mutex, struct peers, wait(o->mutexes[0]),
    result(ReleaseMutex(o->mutexes[0])))
COSTS_HALVES(mutex, struct peers, wait(o->mutexes[i]),
    result(ReleaseMutex(o->mutexes[i])))
COSTS_TWO(event, struct peers, result(SetEvent(o->events[0])),
    wait(o->events[0]))
COSTS_HALVES(event, struct peers, wait(o->events[i]),
    result(SetEvent(o->events[i])))
COSTS_TWO(sem, struct peers, result(ReleaseSemaphore(o->sem, 1, NULL)),
    wait(o->sem))
COSTS_HALVES(sem, struct peers, wait(o->sem),
    result(ReleaseSemaphore(o->sem, 1, NULL)))
COSTS_ONE(signal, struct peers, DONE(WakeConditionVariable(&o->cond)))

#define HALVES(way) .acquire = way##_acquire_each, .release = way##_release_each

/* The first one that does the same is what the library's are compared with. */
static const struct cost costs[] = {
	{ "critical-section", COSTS_LOCK, .batch = section_batch,
	    HALVES(section) },
	{ "srw-lock", COSTS_LOCK, .batch = srw_batch, HALVES(srw) },
	{ "srw-lock-read", COSTS_READ, .batch = read_batch, HALVES(read) },
	{ "srw-lock-write", COSTS_WRITE, .batch = srw_batch },
	{ "win32-mutex", COSTS_LOCK, .calls = true, .batch = mutex_batch,
	    HALVES(mutex) },
	{ "win32-event", COSTS_SET, .calls = true, .batch = event_batch,
	    HALVES(event), .release_first = true },
	{ "win32-sem", COSTS_POST, .calls = true, .batch = sem_batch,
	    HALVES(sem), .release_first = true },
	{ "condition-variable", COSTS_SIGNAL, .batch = signal_batch },
};

const struct costs_group costs_peers = {
	.name = "the system's objects",
	.open = peers_open,
	.unlink = peers_unlink,
	.close = peers_close,
	.costs = costs,
	.count = sizeof(costs) / sizeof(costs[0]),
};
