/* SPDX-License-Identifier: ISC */
/*
 * Peers: what a system has for two processes that take turns.
 *
 *	pthread-cond         process-shared mutex and condition in shared
 *	                     memory, in the same loop as the library's
 *	pthread-late-cond    the same, but it unlocks before it signals
 *	pthread-robust-cond  as pthread-cond, with a robust mutex
 *	posix-sem            two named semaphores
 *
 * More of them are in via_kernel.c and via_boost_list.c.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "via.h"

/* ---- pthread-cond ------------------------------------------------------ */

#define PTHREAD ".pthread"

struct pcond_pair {
	_Alignas(64) pthread_mutex_t lock;
	_Alignas(64) int turn; /* under the lock */
	_Alignas(64) pthread_cond_t changed;
};

static int pcond_init(struct pcond_pair *p, bool robust)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	int e;

	e = pthread_mutexattr_init(&ma);
	if (e != 0)
		return e;
	e = pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	if (e == 0 && robust)
		e = pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
	if (e == 0)
		e = pthread_mutex_init(&p->lock, &ma);
	pthread_mutexattr_destroy(&ma);
	if (e == 0)
		e = pthread_condattr_init(&ca);
	if (e != 0)
		return e;
	e = pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_cond_init(&p->changed, &ca);
	pthread_condattr_destroy(&ca);
	return e;
}

static int pcond_open_either(struct via_side *side, bool robust)
{
	int e = via_memory_open(&side->own, side, PTHREAD,
	    sizeof(struct pcond_pair));

	return e != 0 || side->part != 0 ? e : pcond_init(side->own, robust);
}

static int pcond_open(struct via_side *side)
{
	return pcond_open_either(side, false);
}

static int robust_open(struct via_side *side)
{
	return pcond_open_either(side, true);
}

static void pcond_close(struct via_side *side)
{
	via_memory_close(side->own, sizeof(struct pcond_pair));
}

static void pcond_unlink(const char *base)
{
	via_memory_unlink(base, PTHREAD);
}

static int pcond_begin(struct via_side *side)
{
	struct pcond_pair *p = side->own;

	return pthread_mutex_lock(&p->lock);
}

static int pcond_end(struct via_side *side)
{
	struct pcond_pair *p = side->own;

	return pthread_mutex_unlock(&p->lock);
}

/*
 * Gives the turn away.  `late`: unlocks first, then signals; the manual allows
 * both.  On one CPU the one woken then does not find the mutex taken; but each
 * turn locks once more.
 */
static inline int pcond_give(struct pcond_pair *p, int turn, bool late)
{
	int e;

	p->turn = turn;
	if (!late)
		return pthread_cond_signal(&p->changed);
	e = pthread_mutex_unlock(&p->lock);
	if (e == 0)
		e = pthread_cond_signal(&p->changed);
	return e == 0 ? pthread_mutex_lock(&p->lock) : e;
}

static inline int pcond_call_either(struct via_side *side, uint64_t rounds,
    bool late)
{
	struct pcond_pair *p = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = pcond_give(p, 1, late);
		while (e == 0 && p->turn != 0)
			e = pthread_cond_wait(&p->changed, &p->lock);
	}
	return e;
}

static inline int pcond_serve_either(struct via_side *side, bool late)
{
	struct pcond_pair *p = side->own;
	bool last = false;
	int e = pthread_mutex_lock(&p->lock);

	while (e == 0 && !last) {
		while (e == 0 && p->turn != 1)
			e = pthread_cond_wait(&p->changed, &p->lock);
		if (e != 0)
			break;
		last = via_last(side);
		e = pcond_give(p, 0, late);
	}
	return e != 0 ? e : pthread_mutex_unlock(&p->lock);
}

static int pcond_call(struct via_side *side, uint64_t rounds)
{
	return pcond_call_either(side, rounds, false);
}

static int pcond_serve(struct via_side *side)
{
	return pcond_serve_either(side, false);
}

static int late_call(struct via_side *side, uint64_t rounds)
{
	return pcond_call_either(side, rounds, true);
}

static int late_serve(struct via_side *side)
{
	return pcond_serve_either(side, true);
}

/* ---- posix-sem --------------------------------------------------------- */

struct sems {
	sem_t *there;
	sem_t *back;
};

typedef char name_buffer[BENCH_NAME_MAX + 16];

static int sem_open_one(sem_t **sem, const struct via_side *side,
    const char *suffix)
{
	name_buffer name;

	snprintf(name, sizeof(name), "/%s.%s", side->base, suffix);
	*sem = sem_open(name, side->part == 0 ? O_CREAT | O_EXCL : 0, 0600, 0);
	return *sem == SEM_FAILED ? errno : 0;
}

static int sems_open(struct via_side *side)
{
	struct sems *s = calloc(1, sizeof(*s));
	int e;

	if (!s)
		return ENOMEM;
	side->own = s;
	e = sem_open_one(&s->there, side, "there");
	return e != 0 ? e : sem_open_one(&s->back, side, "back");
}

static void sems_close(struct via_side *side)
{
	struct sems *s = side->own;

	sem_close(s->there);
	sem_close(s->back);
	free(s);
}

static void sems_unlink(const char *base)
{
	name_buffer name;

	snprintf(name, sizeof(name), "/%s.there", base);
	sem_unlink(name);
	snprintf(name, sizeof(name), "/%s.back", base);
	sem_unlink(name);
}

static int take(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

static int give(sem_t *sem)
{
	return sem_post(sem) == 0 ? 0 : errno;
}

static int sems_call(struct via_side *side, uint64_t rounds)
{
	struct sems *s = side->own;
	int e = 0;

	for (; rounds > 0 && e == 0; rounds--) {
		e = give(s->there);
		if (e == 0)
			e = take(s->back);
	}
	return e;
}

static int sems_serve(struct via_side *side)
{
	struct sems *s = side->own;
	bool last = false;
	int e = 0;

	while (e == 0 && !last) {
		e = take(s->there);
		last = via_last(side);
		if (e == 0)
			e = give(s->back);
	}
	return e;
}

const struct via via_peers[] = {
	{
	    .name = "pthread-cond",
	    .group = VIA_PEERS,
	    .open = pcond_open,
	    .begin = pcond_begin,
	    .end = pcond_end,
	    .call = pcond_call,
	    .serve = pcond_serve,
	    .close = pcond_close,
	    .unlink = pcond_unlink,
	},
	{
	    .name = "pthread-late-cond",
	    .group = VIA_PEERS,
	    .open = pcond_open,
	    .begin = pcond_begin,
	    .end = pcond_end,
	    .call = late_call,
	    .serve = late_serve,
	    .close = pcond_close,
	    .unlink = pcond_unlink,
	},
	{
	    .name = "pthread-robust-cond",
	    .group = VIA_PEERS,
	    .open = robust_open,
	    .begin = pcond_begin,
	    .end = pcond_end,
	    .call = pcond_call,
	    .serve = pcond_serve,
	    .close = pcond_close,
	    .unlink = pcond_unlink,
	},
	{
	    .name = "posix-sem",
	    .group = VIA_PEERS,
	    .open = sems_open,
	    .call = sems_call,
	    .serve = sems_serve,
	    .close = sems_close,
	    .unlink = sems_unlink,
	},
};
const size_t via_peers_count = sizeof(via_peers) / sizeof(via_peers[0]);
