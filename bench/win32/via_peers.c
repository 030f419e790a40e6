/* SPDX-License-Identifier: ISC */
/*
 * Peers: named objects of the kernel.
 *
 *	win32-event  two events with automatic reset
 *	win32-sem    two semaphores
 *	win32-mutex  three mutexes
 *
 * Who gives the turn t away with mutexes lets go of number t modulo 3, which
 * the other one waits for and keeps until it gives that number back.  With two
 * of them, who lets go of one would next wait for that one, and could take it
 * again.
 */
#include "api.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "../bench.h"
#include "../via.h"

#define MOST 3

struct objects {
	HANDLE handles[MOST];
	unsigned turn; /* of mutexes: the next one, modulo 3 */
};

static int wait(HANDLE handle)
{
	DWORD got = WaitForSingleObject(handle, INFINITE);

	if (got == WAIT_ABANDONED)
		return EPIPE;
	return got == WAIT_OBJECT_0 ? 0 : api_error();
}

/* Makes or opens `n` objects whose names end with their numbers. */
static int objects_open(struct via_side *side, unsigned n,
    HANDLE (*make)(const char *name, unsigned i),
    HANDLE (*find)(const char *name))
{
	struct objects *o = calloc(1, sizeof(*o));
	char name[BENCH_NAME_MAX + 32];
	unsigned i;

	side->own = o;
	if (!o)
		return ENOMEM;
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "Local\\%s.%u", side->base, i);
		o->handles[i] = side->part == 0 ? make(name, i) : find(name);
		if (!o->handles[i])
			return api_error();
	}
	return 0;
}

static void objects_close(struct via_side *side)
{
	struct objects *o = side->own;
	unsigned i;

	for (i = 0; i < MOST; i++)
		if (o->handles[i])
			CloseHandle(o->handles[i]);
	free(o);
}

/* Their names go with them. */
static void objects_unlink(const char *base)
{
	(void)base;
}

/* ---- events and semaphores --------------------------------------------- */

static HANDLE event_make(const char *name, unsigned i)
{
	(void)i;
	return CreateEventA(NULL, FALSE, FALSE, name);
}

static HANDLE event_find(const char *name)
{
	return OpenEventA(SYNCHRONIZE | EVENT_MODIFY_STATE, FALSE, name);
}

static int event_open(struct via_side *side)
{
	return objects_open(side, 2, event_make, event_find);
}

static int event_give(HANDLE handle)
{
	return SetEvent(handle) ? 0 : api_error();
}

static HANDLE sem_make(const char *name, unsigned i)
{
	(void)i;
	return CreateSemaphoreA(NULL, 0, LONG_MAX, name);
}

static HANDLE sem_find(const char *name)
{
	return OpenSemaphoreA(SYNCHRONIZE | SEMAPHORE_MODIFY_STATE, FALSE,
	    name);
}

static int sem_open(struct via_side *side)
{
	return objects_open(side, 2, sem_make, sem_find);
}

static int sem_give(HANDLE handle)
{
	return ReleaseSemaphore(handle, 1, NULL) ? 0 : api_error();
}

/* Number 0 is there, 1 is back. */
#define PAIR(way)                                                      \
	static int way##_call(struct via_side *side, uint64_t rounds)  \
	{                                                              \
		const struct objects o = *(struct objects *)side->own; \
		int e = 0;                                             \
                                                                       \
		for (; rounds > 0 && e == 0; rounds--) {               \
			e = way##_give(o.handles[0]);                  \
			if (e == 0)                                    \
				e = wait(o.handles[1]);                \
		}                                                      \
		return e;                                              \
	}                                                              \
	static int way##_serve(struct via_side *side)                  \
	{                                                              \
		const struct objects o = *(struct objects *)side->own; \
		bool last = false;                                     \
		int e = 0;                                             \
                                                                       \
		while (e == 0 && !last) {                              \
			e = wait(o.handles[0]);                        \
			last = via_last(side);                         \
			if (e == 0)                                    \
				e = way##_give(o.handles[1]);          \
		}                                                      \
		return e;                                              \
	}

PAIR(event)
PAIR(sem)

/* ---- mutexes ----------------------------------------------------------- */

/* The turn 1 is the first that part 1 gives. */
static HANDLE mutex_make(const char *name, unsigned i)
{
	return CreateMutexA(NULL, i != 1, name);
}

static HANDLE mutex_find(const char *name)
{
	return OpenMutexA(SYNCHRONIZE, FALSE, name);
}

static int mutex_open(struct via_side *side)
{
	int e = objects_open(side, 3, mutex_make, mutex_find);
	struct objects *o = side->own;

	return e != 0 || side->part == 0 ? e : wait(o->handles[1]);
}

static HANDLE next(struct objects *o)
{
	HANDLE handle = o->handles[o->turn];

	o->turn = (o->turn + 1) % 3;
	return handle;
}

static int mutex_give(struct objects *o)
{
	return ReleaseMutex(next(o)) ? 0 : api_error();
}

static int mutex_call(struct via_side *side, uint64_t rounds)
{
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = mutex_give(side->own);
		if (e == 0)
			e = wait(next(side->own));
	}
	return e;
}

static int mutex_serve(struct via_side *side)
{
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		e = wait(next(side->own));
		last = via_last(side);
		if (e == 0)
			e = mutex_give(side->own);
	}
	return e;
}

#define PEER(way)                                                              \
	{                                                                      \
		.name = "win32-" #way, .group = VIA_PEERS, .open = way##_open, \
		.call = way##_call, .serve = way##_serve,                      \
		.close = objects_close, .unlink = objects_unlink,              \
	}

const struct via via_peers[] = {
	PEER(event),
	PEER(sem),
	PEER(mutex),
};
const size_t via_peers_count = sizeof(via_peers) / sizeof(via_peers[0]);
