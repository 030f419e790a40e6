/* SPDX-License-Identifier: ISC */
/*
 * Waits that a system has, and loops that some use instead.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#endif

#include "bench.h"
#include "idle.h"

static struct shared {
	_Alignas(64) pthread_mutex_t held;
	_Alignas(64) pthread_mutex_t mutex; /* of the condition */
	_Alignas(64) pthread_cond_t cond;
	_Alignas(64) sem_t sem;
	_Alignas(64) _Atomic uint32_t word;
} * shared;

static int ends[2]; /* of the pipe */
#ifdef __linux__
static int event;
#endif

static int mutexes_init(struct shared *s)
{
	pthread_mutexattr_t attr;
	int e = pthread_mutexattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_mutex_init(&s->held, &attr);
	if (e == 0)
		e = pthread_mutex_init(&s->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return e;
}

static int cond_init(struct shared *s)
{
	pthread_condattr_t attr;
	int e = pthread_condattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_cond_init(&s->cond, &attr);
	pthread_condattr_destroy(&attr);
	return e;
}

static int peers_open(const char *name)
{
	void *memory;
	int e;

	(void)name;
	memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || pipe(ends) != 0)
		return errno;
	shared = memory;
#ifdef __linux__
	event = eventfd(0, EFD_CLOEXEC);
	if (event < 0)
		return errno;
#endif
#ifndef __APPLE__
	if (sem_init(&shared->sem, 1, 0) != 0)
		return errno;
#endif
	e = mutexes_init(shared);
	if (e == 0)
		e = cond_init(shared);
	return e != 0 ? e : pthread_mutex_lock(&shared->held);
}

/* The condition is not destroyed: who waited for it did not leave it. */
static void peers_close(void)
{
	pthread_mutex_unlock(&shared->held);
	close(ends[0]);
	close(ends[1]);
#ifdef __linux__
	close(event);
#endif
	munmap(shared, sizeof(*shared));
}

/* ---- the waits --------------------------------------------------------- */

static int cond_wait(void)
{
	int e = pthread_mutex_lock(&shared->mutex);

	while (e == 0)
		e = pthread_cond_wait(&shared->cond, &shared->mutex);
	return e;
}

static int mutex_wait(void)
{
	return pthread_mutex_lock(&shared->held);
}

#ifndef __APPLE__
static int sem_wait_one(void)
{
	return sem_wait(&shared->sem) == 0 ? 0 : errno;
}
#endif

static int read_one(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) >= 0 ? 0 : errno;
}

static int pipe_wait(void)
{
	return read_one(ends[0]);
}

#ifdef __linux__
static int eventfd_wait(void)
{
	return read_one(event);
}

static int futex_wait(void)
{
	while (atomic_load(&shared->word) == 0)
		if (syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, NULL, NULL,
		        0) != 0 &&
		    errno != EAGAIN && errno != EINTR)
			return errno;
	return 0;
}
#endif

static int yield_wait(void)
{
	while (atomic_load_explicit(&shared->word, memory_order_acquire) == 0)
		sched_yield();
	return 0;
}

static int nap_wait(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	while (atomic_load_explicit(&shared->word, memory_order_acquire) == 0)
		nanosleep(&nap, NULL);
	return 0;
}

static const struct idle_via vias[] = {
	{ "pthread-cond", "not signalled", .wait = cond_wait },
	{ "pthread-mutex", "held by another", .wait = mutex_wait },
#ifndef __APPLE__
	{ "posix-sem", "count 0", .wait = sem_wait_one },
#endif
	{ "pipe", "empty", .wait = pipe_wait },
#ifdef __linux__
	{ "eventfd", "count 0", .wait = eventfd_wait },
	{ "futex", "does not change", .wait = futex_wait },
#endif
	{ "nap-loop", "looks, and sleeps 1 ms", .wait = nap_wait },
	{ "yield-loop", "looks, and yields", .wait = yield_wait, .busy = true },
};

const struct idle_group idle_peers = {
	.name = "peers",
	.open = peers_open,
	.close = peers_close,
	.vias = vias,
	.count = sizeof(vias) / sizeof(vias[0]),
};
