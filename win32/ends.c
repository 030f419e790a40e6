/* SPDX-License-Identifier: ISC */
/*
 * The end of a thread: a value in fibre-local storage, whose destructor the
 * system calls.
 *
 * It also calls that of the thread that ends the process, after it has stopped
 * all others where they were, perhaps in the midst of this library.  What such
 * a thread had locked stays locked, so nothing may be done then; the process's
 * end says all there is to say.  It is known by this: threads that have not come
 * here are over, and none is left but this one.
 */
#include "system.h"

#include "port.h"

#include <errno.h>
#include <stdbool.h>

#define TRIES 1000u /* for a lock that is held for less than a microsecond */

struct ending {
	struct ending *next;
	HANDLE thread;
	void *arg;
};

static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
static DWORD slot = FLS_OUT_OF_INDEXES;
static _Atomic(void (*)(void *)) the_fn;

static SRWLOCK lock = SRWLOCK_INIT;
static struct ending *endings;

/* With the lock: whether there are other threads, and all have been stopped. */
static bool all_stopped(void)
{
	for (const struct ending *e = endings; e; e = e->next)
		if (WaitForSingleObject(e->thread, 0) != WAIT_OBJECT_0)
			return false;
	return endings != NULL;
}

/* Whether the process goes on; takes the thread out of the list. */
static bool goes_on(const struct ending *ending)
{
	struct ending **at = &endings;
	bool stopped;

	for (unsigned i = 0; !TryAcquireSRWLockExclusive(&lock); i++) {
		if (i == TRIES)
			return false;
		if (i > TRIES / 2)
			Sleep(1);
		else
			SwitchToThread();
	}
	while (*at && *at != ending)
		at = &(*at)->next;
	if (*at)
		*at = ending->next;
	stopped = all_stopped();
	ReleaseSRWLockExclusive(&lock);
	return !stopped;
}

static void WINAPI at_end(void *value)
{
	struct ending *ending = value;

	if (!ending || !goes_on(ending))
		return;
	atomic_load (&the_fn)(ending->arg);
	CloseHandle(ending->thread);
	HeapFree(GetProcessHeap(), 0, ending);
}

/* A thread that ends calls into this module, which therefore stays. */
static BOOL CALLBACK make_slot(INIT_ONCE *o, void *arg, void **context)
{
	HMODULE module;

	(void)o;
	(void)arg;
	(void)context;
	GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN |
	        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
	    (const wchar_t *)(const void *)&slot, &module);
	slot = FlsAlloc(at_end);
	return TRUE;
}

static struct ending *new_ending(void)
{
	struct ending *ending = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY,
	    sizeof *ending);

	if (!ending)
		return NULL;
	if (!DuplicateHandle(GetCurrentProcess(), GetCurrentThread(),
	        GetCurrentProcess(), &ending->thread, SYNCHRONIZE, FALSE, 0) ||
	    !FlsSetValue(slot, ending)) {
		if (ending->thread)
			CloseHandle(ending->thread);
		HeapFree(GetProcessHeap(), 0, ending);
		return NULL;
	}
	AcquireSRWLockExclusive(&lock);
	ending->next = endings;
	endings = ending;
	ReleaseSRWLockExclusive(&lock);
	return ending;
}

int handoff__at_thread_end(void (*fn)(void *arg), void *arg)
{
	struct ending *ending;

	atomic_store(&the_fn, fn);
	InitOnceExecuteOnce(&once, make_slot, NULL, NULL);
	if (slot == FLS_OUT_OF_INDEXES)
		return ENOMEM;
	ending = FlsGetValue(slot);
	if (!ending)
		ending = new_ending();
	if (!ending)
		return ENOMEM;
	ending->arg = arg;
	return 0;
}
