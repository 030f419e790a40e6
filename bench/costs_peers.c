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
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#endif

#include "bench.h"
#include "costs.h"

struct mutex {
	_Alignas(64) pthread_mutex_t mutex;
};

struct rwlock {
	_Alignas(64) pthread_rwlock_t rwlock;
};

struct peers {
	struct mutex mutexes[COSTS_EACH];
	struct mutex robust[COSTS_EACH];
	struct mutex recursive[COSTS_EACH];
	struct rwlock rwlocks[COSTS_EACH];
	_Alignas(64) pthread_cond_t cond;
	_Alignas(64) int told; /* what the condition is about */
	_Alignas(64) _Atomic uint32_t word;
	_Alignas(64) sem_t *sem; /* of a page of its own */
	int event;               /* an eventfd */
	int pipe[2];
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
	return *sem == SEM_FAILED ? errno : 0;
}

static int many_init(struct peers *p)
{
	unsigned i;
	int e = 0;

	for (i = 0; i < COSTS_EACH && e == 0; i++) {
		e = mutex_init(&p->mutexes[i].mutex, PTHREAD_MUTEX_DEFAULT,
		    false);
		if (e == 0)
			e = mutex_init(&p->robust[i].mutex,
			    PTHREAD_MUTEX_DEFAULT, true);
		if (e == 0)
			e = mutex_init(&p->recursive[i].mutex,
			    PTHREAD_MUTEX_RECURSIVE, false);
		if (e == 0)
			e = rwlock_init(&p->rwlocks[i].rwlock);
	}
	return e;
}

static int descriptors_open(struct peers *p)
{
	p->event = -1;
#ifdef __linux__
	p->event = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (p->event < 0)
		return errno;
#endif
	if (pipe(p->pipe) != 0)
		return errno;
	fcntl(p->pipe[0], F_SETFD, FD_CLOEXEC);
	fcntl(p->pipe[1], F_SETFD, FD_CLOEXEC);
	return 0;
}

static int peers_open(void **objects, const char *name)
{
	struct peers *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int e;

	if (p == MAP_FAILED)
		return errno;
	*objects = p;
	e = many_init(p);
	if (e == 0)
		e = cond_init(&p->cond);
	if (e == 0)
		e = descriptors_open(p);
	return e != 0 ? e : sem_make(&p->sem, name);
}

/* Nothing is destroyed: that could wait for ever for who was killed in it. */
static void peers_close(void *objects)
{
	struct peers *p = objects;

	close(p->pipe[0]);
	close(p->pipe[1]);
	if (p->event >= 0)
		close(p->event);
	sem_close(p->sem);
	munmap(p, sizeof(*p));
}

/* Of functions that return -1 and set errno. */
static int result(long returned)
{
	return returned >= 0 ? 0 : errno;
}

/* ---- alone ------------------------------------------------------------- */

#ifdef __linux__
static int event_put(struct peers *p)
{
	const uint64_t one = 1;

	return result(write(p->event, &one, sizeof(one)));
}

static int event_get(struct peers *p)
{
	uint64_t value;

	return result(read(p->event, &value, sizeof(value)));
}
#endif

static int pipe_put(struct peers *p)
{
	return result(write(p->pipe[1], "", 1));
}

static int pipe_get(struct peers *p)
{
	char byte;

	return result(read(p->pipe[0], &byte, 1));
}

COSTS_TWO(mutex, struct peers, pthread_mutex_lock(&o->mutexes->mutex),
    pthread_mutex_unlock(&o->mutexes->mutex))
COSTS_HALVES(mutex, struct peers, pthread_mutex_lock(&o->mutexes[i].mutex),
    pthread_mutex_unlock(&o->mutexes[i].mutex))
COSTS_TWO(robust, struct peers, pthread_mutex_lock(&o->robust->mutex),
    pthread_mutex_unlock(&o->robust->mutex))
COSTS_HALVES(robust, struct peers, pthread_mutex_lock(&o->robust[i].mutex),
    pthread_mutex_unlock(&o->robust[i].mutex))
COSTS_TWO(recursive, struct peers, pthread_mutex_lock(&o->recursive->mutex),
    pthread_mutex_unlock(&o->recursive->mutex))
COSTS_HALVES(recursive, struct peers,
    pthread_mutex_lock(&o->recursive[i].mutex),
    pthread_mutex_unlock(&o->recursive[i].mutex))
COSTS_TWO(read, struct peers, pthread_rwlock_rdlock(&o->rwlocks->rwlock),
    pthread_rwlock_unlock(&o->rwlocks->rwlock))
COSTS_HALVES(read, struct peers, pthread_rwlock_rdlock(&o->rwlocks[i].rwlock),
    pthread_rwlock_unlock(&o->rwlocks[i].rwlock))
COSTS_TWO(write, struct peers, pthread_rwlock_wrlock(&o->rwlocks->rwlock),
    pthread_rwlock_unlock(&o->rwlocks->rwlock))
COSTS_HALVES(write, struct peers, pthread_rwlock_wrlock(&o->rwlocks[i].rwlock),
    pthread_rwlock_unlock(&o->rwlocks[i].rwlock))
COSTS_TWO(sem, struct peers, result(sem_post(o->sem)), result(sem_wait(o->sem)))
COSTS_HALVES(sem, struct peers, result(sem_wait(o->sem)),
    result(sem_post(o->sem)))
COSTS_ONE(signal, struct peers, pthread_cond_signal(&o->cond))
COSTS_TWO(pipe, struct peers, pipe_put(o), pipe_get(o))
COSTS_HALVES(pipe, struct peers, pipe_get(o), pipe_put(o))
#ifdef __linux__
COSTS_TWO(event, struct peers, event_put(o), event_get(o))
COSTS_HALVES(event, struct peers, event_get(o), event_put(o))
COSTS_ONE(wake, struct peers,
    result(syscall(SYS_futex, &o->word, FUTEX_WAKE, 1, NULL, NULL, 0)))
#endif

static const struct cost costs[] = {
	{ "pthread-mutex", COSTS_LOCK, .batch = mutex_batch,
	    .acquire = mutex_acquire_each, .release = mutex_release_each },
	{ "pthread-robust", COSTS_LOCK, .batch = robust_batch,
	    .acquire = robust_acquire_each, .release = robust_release_each },
	{ "pthread-recursive", COSTS_LOCK, .batch = recursive_batch,
	    .acquire = recursive_acquire_each,
	    .release = recursive_release_each },
	{ "pthread-rwlock-read", COSTS_READ, .batch = read_batch,
	    .acquire = read_acquire_each, .release = read_release_each },
	{ "pthread-rwlock-write", COSTS_WRITE, .batch = write_batch,
	    .acquire = write_acquire_each, .release = write_release_each },
	{ "posix-sem", COSTS_POST, .batch = sem_batch,
	    .acquire = sem_acquire_each, .release = sem_release_each,
	    .release_first = true },
	{ "pthread-cond-signal", COSTS_SIGNAL, .batch = signal_batch },
#ifdef __linux__
	{ "futex-wake", COSTS_WAKE, .calls = true, .batch = wake_batch },
	{ "eventfd", COSTS_SET, .calls = true, .batch = event_batch,
	    .acquire = event_acquire_each, .release = event_release_each,
	    .release_first = true },
#endif
	{ "pipe", COSTS_POST, .calls = true, .batch = pipe_batch,
	    .acquire = pipe_acquire_each, .release = pipe_release_each,
	    .release_first = true },
};

/* ---- duels ------------------------------------------------------------- */

COSTS_STEP(mutex_lock, struct peers, pthread_mutex_lock(&o->mutexes->mutex))
COSTS_STEP(mutex_unlock, struct peers, pthread_mutex_unlock(&o->mutexes->mutex))
COSTS_STEP(robust_lock, struct peers, pthread_mutex_lock(&o->robust->mutex))
COSTS_STEP(robust_unlock, struct peers, pthread_mutex_unlock(&o->robust->mutex))
COSTS_STEP(recursive_lock, struct peers,
    pthread_mutex_lock(&o->recursive->mutex))
COSTS_STEP(recursive_unlock, struct peers,
    pthread_mutex_unlock(&o->recursive->mutex))
COSTS_STEP(read_lock, struct peers, pthread_rwlock_rdlock(&o->rwlocks->rwlock))
COSTS_STEP(write_lock, struct peers, pthread_rwlock_wrlock(&o->rwlocks->rwlock))
COSTS_STEP(rw_unlock, struct peers, pthread_rwlock_unlock(&o->rwlocks->rwlock))
COSTS_STEP(take_sem, struct peers, result(sem_wait(o->sem)))
COSTS_STEP(post_sem, struct peers, result(sem_post(o->sem)))
COSTS_STEP(pipe_wait, struct peers, pipe_get(o))
COSTS_STEP(pipe_give, struct peers, pipe_put(o))

static int cond_wait(void *objects)
{
	struct peers *p = objects;
	int e = 0;

	while (e == 0 && !p->told)
		e = pthread_cond_wait(&p->cond, &p->mutexes->mutex);
	p->told = 0;
	return e;
}

static int cond_tell(void *objects)
{
	struct peers *p = objects;
	int e;

	p->told = 1;
	e = pthread_cond_signal(&p->cond);
	return e != 0 ? e : pthread_mutex_unlock(&p->mutexes->mutex);
}

#ifdef __linux__
COSTS_STEP(event_wait, struct peers, event_get(o))
COSTS_STEP(event_give, struct peers, event_put(o))

static int futex_clear(void *objects)
{
	struct peers *p = objects;

	atomic_store(&p->word, 0);
	return 0;
}

static int futex_wait(void *objects)
{
	struct peers *p = objects;

	while (atomic_load(&p->word) == 0)
		if (syscall(SYS_futex, &p->word, FUTEX_WAIT, 0, NULL, NULL,
		        0) != 0 &&
		    errno != EAGAIN && errno != EINTR)
			return errno;
	return 0;
}

static int futex_give(void *objects)
{
	struct peers *p = objects;

	atomic_store(&p->word, 1);
	return result(
	    syscall(SYS_futex, &p->word, FUTEX_WAKE, 1, NULL, NULL, 0));
}
#endif

static const struct duel duels[] = {
	{ "pthread-mutex", .matrix = true, .own = mutex_lock,
	    .wait = mutex_lock, .give = mutex_unlock, .leave = mutex_unlock },
	{ "pthread-robust", .own = robust_lock, .wait = robust_lock,
	    .give = robust_unlock, .leave = robust_unlock },
	{ "pthread-recursive", .own = recursive_lock, .wait = recursive_lock,
	    .give = recursive_unlock, .leave = recursive_unlock },
	{ "pthread-rwlock-read", .own = write_lock, .wait = read_lock,
	    .give = rw_unlock, .leave = rw_unlock },
	{ "pthread-rwlock-write", .own = write_lock, .wait = write_lock,
	    .give = rw_unlock, .leave = rw_unlock },
	{ "posix-sem", .matrix = true, .wait = take_sem, .give = post_sem },
	{ "pthread-cond", .matrix = true, .enter = mutex_lock,
	    .wait = cond_wait, .ready = mutex_lock, .give = cond_tell,
	    .leave = mutex_unlock },
#ifdef __linux__
	{ "futex", .own = futex_clear, .wait = futex_wait, .give = futex_give },
	{ "eventfd", .wait = event_wait, .give = event_give },
#endif
	{ "pipe", .wait = pipe_wait, .give = pipe_give },
};

static void peers_unlink(const char *name)
{
	char slashed[BENCH_NAME_MAX + 1];

	snprintf(slashed, sizeof(slashed), "/%s", name);
	sem_unlink(slashed);
}

const struct costs_group costs_peers = {
	.name = "the system's objects",
	.open = peers_open,
	.unlink = peers_unlink,
	.close = peers_close,
	.costs = costs,
	.count = sizeof(costs) / sizeof(costs[0]),
	.duels = duels,
	.duel_count = sizeof(duels) / sizeof(duels[0]),
};
