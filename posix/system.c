/* SPDX-License-Identifier: ISC */
/* The machine, this thread, and memory that a child of fork does not have. */
#define _GNU_SOURCE
#include <config.h>

#include "port.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_GETRANDOM
#include <sys/random.h>
#endif
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef HAVE_SYS_RSEQ_H
#include <sys/rseq.h>
#endif

uint64_t handoff__clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void handoff__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ __volatile__("yield" ::: "memory");
#elif defined(__powerpc__)
	__asm__ __volatile__("or 27,27,27" ::: "memory");
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

void handoff__yield(void)
{
	sched_yield();
}

/* Enough to tell processes apart where the system gives no random bits. */
static void mix(unsigned char *to, size_t n)
{
	static _Atomic uint64_t calls;
	uint64_t x = handoff__clock() ^ (uint64_t)getpid() << 32 ^
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
#ifdef HAVE_GETRANDOM
	int cancel = handoff__cancel_off();
	ssize_t got;

	do
		got = getrandom(bytes, n, 0);
	while (got < 0 && errno == EINTR);
	handoff__cancel_restore(cancel);
	if (got == (ssize_t)n)
		return;
#endif
	mix(bytes, n);
}

void handoff__describe(uint32_t *pid, char *name, size_t n, uint64_t *time)
{
	char buffer[16] = "";
	struct timespec t;

#ifdef __linux__
	int before = errno;

	prctl(PR_GET_NAME, buffer);
	errno = before;
#endif
	clock_gettime(CLOCK_REALTIME, &t);
	*pid = (uint32_t)getpid();
	*time = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (n > 0) {
		strncpy(name, buffer, n - 1);
		name[n - 1] = '\0';
	}
}

unsigned handoff__cpu(void)
{
#ifdef HAVE_SCHED_GETCPU
	return (unsigned)(sched_getcpu() + 1);
#else
	return 0;
#endif
}

const volatile uint32_t *handoff__cpu_word(void)
{
#if defined(HAVE_SYS_RSEQ_H) && defined(__x86_64__)
	/* The C library has registered it for every thread, unless it was
	 * told not to. */
	if (__rseq_size != 0) {
		const unsigned char *thread;

		__asm__("mov %%fs:0, %0" : "=r"(thread));
		return &(
		    (const struct rseq *)(const void *)(thread + __rseq_offset))
		            ->cpu_id_start;
	}
#endif
	return NULL;
}

const char *handoff__setting(const char *name)
{
#ifdef HAVE_SECURE_GETENV
	return secure_getenv(name);
#else
	if (getuid() != geteuid() || getgid() != getegid())
		return NULL;
	return getenv(name);
#endif
}

void handoff__warn(const char *line)
{
	int cancel = handoff__cancel_off();
	int before = errno;
	ssize_t ignored = write(STDERR_FILENO, line, strlen(line));

	(void)ignored;
	errno = before;
	handoff__cancel_restore(cancel);
}

/* ---- Memory that reads as zero in a child ------------------------------ */

#ifndef MADV_WIPEONFORK
/* A child's handler wipes what the kernel does not: all blocks, in a list
 * whose links stand in front of them. */
struct block {
	struct block *next;
	size_t bytes;
	_Alignas(64) unsigned char memory[];
};

static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static pthread_once_t blocks_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&blocks_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&blocks_lock);
}

static void wipe(void)
{
	for (struct block *b = blocks; b; b = b->next)
		memset(b->memory, 0, b->bytes);
	pthread_mutex_unlock(&blocks_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, wipe);
}

void *handoff__private_get(size_t bytes)
{
	struct block *b;

	pthread_once(&blocks_once, watch_forks);
	b = aligned_alloc(64, (sizeof *b + bytes + 63) / 64 * 64);
	if (!b)
		return NULL;
	memset(b, 0, sizeof *b + bytes);
	b->bytes = bytes;
	pthread_mutex_lock(&blocks_lock);
	b->next = blocks;
	blocks = b;
	pthread_mutex_unlock(&blocks_lock);
	return b->memory;
}

void handoff__private_free(void *memory, size_t bytes)
{
	struct block *b = (struct block *)((unsigned char *)memory -
	    offsetof(struct block, memory));
	struct block **at = &blocks;

	(void)bytes;
	pthread_mutex_lock(&blocks_lock);
	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	pthread_mutex_unlock(&blocks_lock);
	free(b);
}
#else
void *handoff__private_get(size_t bytes)
{
	int before = errno;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		memory = NULL;
	} else if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
		munmap(memory, bytes);
		memory = NULL;
	}
	errno = before;
	return memory;
}

void handoff__private_free(void *memory, size_t bytes)
{
	munmap(memory, bytes);
}
#endif

/* ---- The end of a thread ----------------------------------------------- */

static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static _Atomic(void (*)(void *)) end_fn;
static int end_error;

static void at_end(void *arg)
{
	atomic_load (&end_fn)(arg);
}

static void make_key(void)
{
	end_error = pthread_key_create(&end_key, at_end);
}

int handoff__at_thread_end(void (*fn)(void *arg), void *arg)
{
	atomic_store(&end_fn, fn);
	pthread_once(&end_once, make_key);
	return end_error != 0 ? end_error : pthread_setspecific(end_key, arg);
}

int handoff__cancel_off(void)
{
	int before = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

void handoff__cancel_restore(int before)
{
	pthread_setcancelstate(before, &before);
}

int handoff__at_fork(void (*before)(void), void (*after)(void))
{
	return pthread_atfork(before, after, after);
}
