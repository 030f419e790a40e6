/* SPDX-License-Identifier: ISC */
/* Clock, CPU, random bits and memory. */
#include "system.h"

#include "port.h"

#include <bcrypt.h>
#include <string.h>

#define SECOND 1000000000u

/* From 1601, where its times begin, to 1970: in 100 ns. */
#define EPOCH 116444736000000000u

uint64_t handoff__clock(void)
{
	static _Atomic uint64_t frequency;
	/* Relaxed: it never changes. */
	uint64_t f = atomic_load_explicit(&frequency, memory_order_relaxed);
	LARGE_INTEGER n;
	uint64_t t;

	if (f == 0) {
		QueryPerformanceFrequency(&n);
		f = (uint64_t)n.QuadPart;
		atomic_store_explicit(&frequency, f, memory_order_relaxed);
	}
	QueryPerformanceCounter(&n);
	t = (uint64_t)n.QuadPart;
	return t / f * SECOND + t % f * SECOND / f;
}

void handoff__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ __volatile__("yield" ::: "memory");
#else
	__asm__ __volatile__("" ::: "memory");
#endif
}

void handoff__fetch(const volatile void *at)
{
#if defined(__x86_64__)
	__asm__ __volatile__("prefetchw %0" ::"m"(*(const volatile char *)at));
#else
	__builtin_prefetch((const void *)(uintptr_t)at, 1);
#endif
}

/* To one that is ready on this CPU: what is ready elsewhere has a CPU. */
void handoff__yield(void)
{
	SwitchToThread();
}

/* Enough to tell processes apart where the system gives no random bits. */
static void mix(unsigned char *to, size_t n)
{
	static _Atomic uint64_t calls;
	uint64_t x = handoff__clock() ^ (uint64_t)GetCurrentProcessId() << 32 ^
	    (uint64_t)(uintptr_t)&x ^
	    atomic_fetch_add(&calls, 1) * 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < n; i++) {
		x ^= x >> 33;
		x *= 0xff51afd7ed558ccdu;
		x ^= x >> 29;
		to[i] = (unsigned char)(x >> 56);
	}
}

void handoff__random(void *bytes, size_t n)
{
	if (BCryptGenRandom(NULL, bytes, (ULONG)n,
	        BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
		mix(bytes, n);
}

unsigned handoff__cpu(void)
{
	PROCESSOR_NUMBER at;

	GetCurrentProcessorNumberEx(&at);
	return at.Group * 64u + at.Number + 1;
}

const volatile uint32_t *handoff__cpu_word(void)
{
	return NULL;
}

/* The name of the program's file. */
static void program(char *name, size_t n)
{
	char path[MAX_PATH];
	DWORD length = GetModuleFileNameA(NULL, path, sizeof path);
	DWORD from = length < sizeof path ? length : 0;

	path[from] = '\0';
	while (from > 0 && path[from - 1] != '\\' && path[from - 1] != '/')
		from--;
	strncpy(name, path + from, n - 1);
	name[n - 1] = '\0';
}

void handoff__describe(uint32_t *pid, char *name, size_t n, uint64_t *time)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	*pid = GetCurrentProcessId();
	*time = (((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) -
	            EPOCH) *
	    100;
	if (n > 0)
		program(name, n);
}

/* Each is asked for once. */
const char *handoff__setting(const char *name)
{
	DWORD n = GetEnvironmentVariableA(name, NULL, 0);
	char *value = n > 0 ? HeapAlloc(GetProcessHeap(), 0, n) : NULL;

	if (value && GetEnvironmentVariableA(name, value, n) >= n)
		*value = '\0'; /* it has changed meanwhile */
	return value;
}

void handoff__warn(const char *line)
{
	HANDLE to = GetStdHandle(STD_ERROR_HANDLE);
	DWORD n;

	if (to && to != INVALID_HANDLE_VALUE)
		WriteFile(to, line, (DWORD)strlen(line), &n, NULL);
}

/* ---- Memory ------------------------------------------------------------ */

void *handoff__private_get(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT,
	    PAGE_READWRITE);
}

void handoff__private_free(void *memory, size_t bytes)
{
	(void)bytes;
	VirtualFree(memory, 0, MEM_RELEASE);
}

/* ---- What Windows does not have ---------------------------------------- */

int handoff__at_fork(void (*before)(void), void (*after)(void))
{
	(void)before;
	(void)after;
	return 0;
}

int handoff__cancel_off(void)
{
	return 0;
}

void handoff__cancel_restore(int before)
{
	(void)before;
}
