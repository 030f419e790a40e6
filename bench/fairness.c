/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench fairness: two processes lock and unlock one lock in tight
 * loops; who gets it how often, and how long does the other one wait?
 *
 * Nothing is timed but changes of the owner: whoever gets the lock and finds
 * that the other had it before notes the time, under the lock.  From one note
 * to the next one process has had the lock, again and again, and the other
 * has waited.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <handoff.h>

#include "bench.h"
#include "fairness.h"
#include "options.h"
#include "place.h"
#include "report.h"

#define KIND_FAIRNESS 0x72696166u
#define NOBODY 2u
#define SECOND 1000000000u
#define TICK 1000000u
#define GRACE_S 10u /* for a process to start and to end by itself */

/* What the two share. */
struct fairness_room {
	union {
		handoff_mutex mutex;
		pthread_mutex_t pthread_mutex;
	};
	_Alignas(64) uint32_t owner; /* the last one; under the lock */
	uint64_t since;              /* it has been so; under the lock */
	_Alignas(64) _Atomic uint32_t ready;
	_Alignas(64) _Atomic bool go;
	_Atomic bool stop;
	struct fairness_result results[2];
};

/* ---- the locks --------------------------------------------------------- */

static int mutex_init(struct fairness_room *room)
{
	return handoff_mutex_init(&room->mutex, NULL);
}

static int unfair_init(struct fairness_room *room)
{
	const struct handoff_mutex_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_UNFAIR,
	};

	return handoff_mutex_init(&room->mutex, &attr);
}

static int mutex_lock(struct fairness_room *room)
{
	return handoff_mutex_lock(&room->mutex);
}

static int mutex_unlock(struct fairness_room *room)
{
	return handoff_mutex_unlock(&room->mutex);
}

static int pthread_init(struct fairness_room *room)
{
	pthread_mutexattr_t attr;
	int e = pthread_mutexattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_mutex_init(&room->pthread_mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return e;
}

static int pthread_lock(struct fairness_room *room)
{
	return pthread_mutex_lock(&room->pthread_mutex);
}

static int pthread_unlock(struct fairness_room *room)
{
	return pthread_mutex_unlock(&room->pthread_mutex);
}

static const struct {
	const char *name;
	int (*init)(struct fairness_room *room);
	int (*lock)(struct fairness_room *room);
	int (*unlock)(struct fairness_room *room);
} vias[FAIRNESS_VIAS] = {
	[FAIRNESS_MUTEX] = { "mutex", mutex_init, mutex_lock, mutex_unlock },
	[FAIRNESS_UNFAIR] = { "mutex-unfair", unfair_init, mutex_lock,
	    mutex_unlock },
	[FAIRNESS_PTHREAD] = { "pthread-mutex", pthread_init, pthread_lock,
	    pthread_unlock },
};

const char *fairness_name(enum fairness_via via)
{
	return vias[via].name;
}

enum fairness_via fairness_find(const char *name)
{
	int i;

	for (i = 0; i < FAIRNESS_VIAS; i++)
		if (strcmp(vias[i].name, name) == 0)
			break;
	return (enum fairness_via)i;
}

/* ---- the two processes ------------------------------------------------- */

/* Called with the lock held, if the other had it before. */
static void note(struct fairness_room *room, uint32_t me,
    struct fairness_result *result)
{
	uint64_t now = bench_now();

	if (room->owner != NOBODY && now - room->since > result->longest)
		result->longest = now - room->since;
	result->changes++;
	room->owner = me;
	room->since = now;
}

static int contend(struct fairness_room *room, enum fairness_via via,
    uint32_t me)
{
	struct fairness_result result = { 0 };
	int e = 0;

	while (e == 0 &&
	    !atomic_load_explicit(&room->stop, memory_order_relaxed)) {
		e = vias[via].lock(room);
		if (e != 0)
			break;
		result.acquired++;
		if (room->owner != me)
			note(room, me, &result);
		e = vias[via].unlock(room);
	}
	room->results[me] = result;
	return e;
}

/* Ends when the bench does, and after a while in any case. */
static bool follow_bench(pid_t bench, uint64_t ns)
{
	signal(SIGALRM, SIG_DFL);
	alarm((unsigned)(ns / SECOND) + GRACE_S);
#ifdef __linux__
	prctl(PR_SET_NAME, BENCH_TOOL); /* as ps and pgrep show it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	return getppid() == bench;
}

/* In the child: sets up what the first lock needs, waits for the other. */
static int child(struct fairness_room *room, enum fairness_via via, uint32_t me,
    int cpu)
{
	int e = place_pin(cpu);

	if (e == 0)
		e = vias[via].lock(room);
	if (e == 0)
		e = vias[via].unlock(room);
	if (e != 0)
		return e;
	atomic_fetch_add(&room->ready, 1);
	while (!atomic_load(&room->go))
		bench_pause();
	return contend(room, via, me);
}

/* ---- the bench --------------------------------------------------------- */

static bool failed(enum fairness_via via, const char *what, int e)
{
	if (e != 0)
		fprintf(stderr, BENCH_TOOL ": %s: %s: %s\n", fairness_name(via),
		    what, strerror(e));
	return e != 0;
}

static bool ended_well(const struct fairness_contest *c, int who, int status)
{
	char what[64];

	if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_OK)
		return true;
	if (WIFSIGNALED(status)) {
		fprintf(stderr,
		    BENCH_TOOL ": %s: process %d was killed by signal %d\n",
		    fairness_name(c->via), who, WTERMSIG(status));
		return false;
	}
	snprintf(what, sizeof(what), "process %d", who);
	failed(c->via, what, c->room->results[who].error);
	return false;
}

/* Sees who has ended; false, after a message, if one did not end well. */
static bool all_well(struct fairness_contest *c)
{
	int i, status;

	for (i = 0; i < 2; i++) {
		if (c->pids[i] == 0 ||
		    waitpid(c->pids[i], &status, WNOHANG) != c->pids[i])
			continue;
		c->pids[i] = 0;
		if (!ended_well(c, i, status))
			return false;
	}
	return true;
}

static void on_child(int number)
{
	(void)number;
}

/* The end of a child cuts a sleep short. */
static void follow_children(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_child;
	action.sa_flags = SA_NOCLDSTOP;
	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, NULL);
}

static void nap(uint64_t ns)
{
	const struct timespec time = {
		.tv_sec = (time_t)(ns / SECOND),
		.tv_nsec = (long)(ns % SECOND),
	};

	nanosleep(&time, NULL);
}

static bool start(struct fairness_contest *c, const int cpu[2], uint64_t ns)
{
	pid_t bench = getpid();
	uint32_t i;
	int e;

	for (i = 0; i < 2; i++) {
		c->pids[i] = fork();
		if (c->pids[i] == 0) {
			if (!follow_bench(bench, ns))
				_exit(BENCH_FAILED);
			e = child(c->room, c->via, i, cpu[i]);
			c->room->results[i].error = e;
			_exit(e == 0 ? BENCH_OK : BENCH_FAILED);
		}
		if (c->pids[i] < 0) {
			c->pids[i] = 0;
			return !failed(c->via, "cannot start a process", errno);
		}
	}
	return true;
}

static bool watch(struct fairness_contest *c, uint64_t ns)
{
	struct fairness_room *room = c->room;
	uint64_t begin, now;

	while (atomic_load(&room->ready) < 2) {
		if (!all_well(c))
			return false;
		nap(TICK);
	}
	begin = bench_now();
	atomic_store(&room->go, true);
	while ((now = bench_now()) - begin < ns) {
		if (!all_well(c))
			return false;
		nap(ns - (now - begin));
	}
	atomic_store(&room->stop, true);
	c->ns = now - begin;
	while (c->pids[0] > 0 || c->pids[1] > 0) {
		if (!all_well(c))
			return false;
		nap(TICK);
	}
	memcpy(c->results, room->results, sizeof(c->results));
	return true;
}

static void end(struct fairness_contest *c)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (c->pids[i] == 0)
			continue;
		kill(c->pids[i], SIGKILL);
		while (waitpid(c->pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	handoff_close(c->room);
}

static int room_init(void *memory, size_t bytes, void *arg)
{
	struct fairness_room *room = memory;

	(void)bytes;
	room->owner = NOBODY;
	return vias[*(enum fairness_via *)arg].init(room);
}

/* Makes the room; signals wait while it has a name. */
static int open_room(struct fairness_contest *c, unsigned serial)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct fairness_room),
		.kind = KIND_FAIRNESS,
		.init = room_init,
		.arg = &c->via,
	};
	char name[BENCH_NAME_MAX];
	handoff_segment *segment;
	sigset_t all, old;
	int e;

	bench_name(name, serial);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	e = handoff_segment_open(&segment, name,
	    HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, &options);
	if (e == 0) {
		c->room = handoff_segment_memory(segment);
		e = handoff_unlink(name);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return e;
}

static bool run(struct fairness_contest *c, const int cpu[2], uint64_t ns,
    unsigned serial)
{
	bool ok;

	if (failed(c->via, "cannot open", open_room(c, serial)))
		return false;
	ok = start(c, cpu, ns) && watch(c, ns);
	end(c);
	return ok;
}

int fairness_main(int argc, char **argv)
{
	static struct fairness_contest contests[FAIRNESS_VIAS];
	struct fairness_options o;
	int cpu[2], status;
	size_t i;

	if (!options_fairness(&o, argc, argv, &status))
		return status;
	follow_children();
	place_cpus(PLACE_CROSS, cpu); /* where there are two */
	for (i = 0; i < o.via_count; i++) {
		contests[i].via = o.vias[i];
		if (!run(&contests[i], cpu, o.ns, (unsigned)i))
			return BENCH_FAILED;
	}
	fairness_print(o.format, contests, o.via_count, cpu);
	return report_end();
}
