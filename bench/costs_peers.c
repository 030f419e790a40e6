/* SPDX-License-Identifier: ISC */
/*
 * What the system's operations cost: objects that processes can share, in
 * memory that they can share.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "bench.h"
#include "costs.h"

struct peers {
	_Alignas(64) pthread_mutex_t mutex;
	_Alignas(64) pthread_mutex_t robust;
	_Alignas(64) pthread_mutex_t recursive;
	_Alignas(64) pthread_rwlock_t rwlock;
	_Alignas(64) pthread_cond_t cond;
	_Alignas(64) uint32_t word;
	_Alignas(64) sem_t *sem; /* of a page of its own */
};

static int mutex_init(pthread_mutex_t *mutex, int type, bool robust)
{
	pthread_mutexattr_t attr;
	int e = pthread_mutexattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_mutexattr_settype(&attr, type);
	if (e == 0 && robust)
		e = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (e == 0)
		e = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return e;
}

static int rwlock_init(pthread_rwlock_t *rwlock)
{
	pthread_rwlockattr_t attr;
	int e = pthread_rwlockattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_rwlock_init(rwlock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return e;
}

static int cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int e = pthread_condattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return e;
}

static int sem_make(sem_t **sem, const char *name)
{
	char slashed[BENCH_NAME_MAX + 1];

	snprintf(slashed, sizeof(slashed), "/%s", name);
	*sem = sem_open(slashed, O_CREAT | O_EXCL, 0600, 0);
	if (*sem == SEM_FAILED)
		return errno;
	return sem_unlink(slashed) == 0 ? 0 : errno;
}

static int peers_open(void **objects, const char *name)
{
	struct peers *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int e;

	if (p == MAP_FAILED)
		return errno;
	*objects = p;
	e = mutex_init(&p->mutex, PTHREAD_MUTEX_DEFAULT, false);
	if (e == 0)
		e = mutex_init(&p->robust, PTHREAD_MUTEX_DEFAULT, true);
	if (e == 0)
		e = mutex_init(&p->recursive, PTHREAD_MUTEX_RECURSIVE, false);
	if (e == 0)
		e = rwlock_init(&p->rwlock);
	if (e == 0)
		e = cond_init(&p->cond);
	return e != 0 ? e : sem_make(&p->sem, name);
}

static void peers_close(void *objects)
{
	struct peers *p = objects;

	sem_close(p->sem);
	pthread_cond_destroy(&p->cond);
	pthread_rwlock_destroy(&p->rwlock);
	pthread_mutex_destroy(&p->recursive);
	pthread_mutex_destroy(&p->robust);
	pthread_mutex_destroy(&p->mutex);
	munmap(p, sizeof(*p));
}

/* Of functions that return -1 and set errno. */
static int result(long returned)
{
	return returned >= 0 ? 0 : errno;
}

COSTS_TWO(mutex, struct peers, pthread_mutex_lock(&o->mutex),
    pthread_mutex_unlock(&o->mutex))
COSTS_TWO(robust, struct peers, pthread_mutex_lock(&o->robust),
    pthread_mutex_unlock(&o->robust))
COSTS_TWO(recursive, struct peers, pthread_mutex_lock(&o->recursive),
    pthread_mutex_unlock(&o->recursive))
COSTS_TWO(read, struct peers, pthread_rwlock_rdlock(&o->rwlock),
    pthread_rwlock_unlock(&o->rwlock))
COSTS_TWO(write, struct peers, pthread_rwlock_wrlock(&o->rwlock),
    pthread_rwlock_unlock(&o->rwlock))
COSTS_TWO(sem, struct peers, result(sem_post(o->sem)), result(sem_wait(o->sem)))
COSTS_ONE(signal, struct peers, pthread_cond_signal(&o->cond))
#ifdef __linux__
COSTS_ONE(wake, struct peers,
    result(syscall(SYS_futex, &o->word, FUTEX_WAKE, 1, NULL, NULL, 0)))
#endif

static const struct cost costs[] = {
	{ "pthread-mutex", COSTS_LOCK, .batch = mutex_batch },
	{ "pthread-robust", COSTS_LOCK, .batch = robust_batch },
	{ "pthread-recursive", COSTS_LOCK, .batch = recursive_batch },
	{ "pthread-rwlock-read", COSTS_READ, .batch = read_batch },
	{ "pthread-rwlock-write", COSTS_WRITE, .batch = write_batch },
	{ "posix-sem", COSTS_POST, .batch = sem_batch },
	{ "pthread-cond-signal", COSTS_SIGNAL, .batch = signal_batch },
#ifdef __linux__
	{ "futex-wake", COSTS_WAKE, .calls = true, .batch = wake_batch },
#endif
};

const struct costs_group costs_peers = {
	.name = "the system's objects",
	.open = peers_open,
	.close = peers_close,
	.costs = costs,
	.count = sizeof(costs) / sizeof(costs[0]),
};
