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

struct result {
	_Alignas(64) uint64_t acquired;
	uint64_t changes; /* how often of them the other had it before */
	uint64_t longest; /* ns */
	int error;
};

/* What the two share. */
struct room {
	union {
		handoff_mutex mutex;
		pthread_mutex_t pthread_mutex;
	};
	_Alignas(64) uint32_t owner; /* the last one; under the lock */
	uint64_t since;              /* it has been so; under the lock */
	_Alignas(64) _Atomic uint32_t ready;
	_Alignas(64) _Atomic bool go;
	_Atomic bool stop;
	struct result results[2];
};

/* One lock and the two who contend for it. */
struct contest {
	enum fairness_via via;
	struct room *room;
	pid_t pids[2]; /* 0: none, or its end has been seen */
	uint64_t ns;   /* from go to stop */
	struct result results[2];
};

/* ---- the locks --------------------------------------------------------- */

static int mutex_init(struct room *room)
{
	return handoff_mutex_init(&room->mutex, NULL);
}

static int unfair_init(struct room *room)
{
	const struct handoff_mutex_attr attr = {
		.size = sizeof(attr),
		.flags = HANDOFF_UNFAIR,
	};

	return handoff_mutex_init(&room->mutex, &attr);
}

static int mutex_lock(struct room *room)
{
	return handoff_mutex_lock(&room->mutex);
}

static int mutex_unlock(struct room *room)
{
	return handoff_mutex_unlock(&room->mutex);
}

static int pthread_init(struct room *room)
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

static int pthread_lock(struct room *room)
{
	return pthread_mutex_lock(&room->pthread_mutex);
}

static int pthread_unlock(struct room *room)
{
	return pthread_mutex_unlock(&room->pthread_mutex);
}

static const struct {
	const char *name;
	int (*init)(struct room *room);
	int (*lock)(struct room *room);
	int (*unlock)(struct room *room);
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
static void note(struct room *room, uint32_t me, struct result *result)
{
	uint64_t now = bench_now();

	if (room->owner != NOBODY && now - room->since > result->longest)
		result->longest = now - room->since;
	result->changes++;
	room->owner = me;
	room->since = now;
}

static int contend(struct room *room, enum fairness_via via, uint32_t me)
{
	struct result result = { 0 };
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
static int child(struct room *room, enum fairness_via via, uint32_t me, int cpu)
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

static bool ended_well(const struct contest *c, int who, int status)
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
static bool all_well(struct contest *c)
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

static bool start(struct contest *c, const int cpu[2], uint64_t ns)
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

static bool watch(struct contest *c, uint64_t ns)
{
	struct room *room = c->room;
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

static void end(struct contest *c)
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
	struct room *room = memory;

	(void)bytes;
	room->owner = NOBODY;
	return vias[*(enum fairness_via *)arg].init(room);
}

/* Makes the room; signals wait while it has a name. */
static int open_room(struct contest *c, unsigned serial)
{
	const struct handoff_segment_options options = {
		.size = sizeof(options),
		.bytes = sizeof(struct room),
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

static bool run(struct contest *c, const int cpu[2], uint64_t ns,
    unsigned serial)
{
	bool ok;

	if (failed(c->via, "cannot open", open_room(c, serial)))
		return false;
	ok = start(c, cpu, ns) && watch(c, ns);
	end(c);
	return ok;
}

/* ---- printing ---------------------------------------------------------- */

static uint64_t total(const struct contest *c)
{
	return c->results[0].acquired + c->results[1].acquired;
}

/* 0 for nothing, as of a process that did not get the lock at all. */
static double ratio(uint64_t a, uint64_t b)
{
	return b > 0 ? (double)a / (double)b : 0;
}

static double share(const struct contest *c, int who)
{
	return ratio(c->results[who].acquired, total(c));
}

static void print_table(const struct contest *c, size_t count, const int cpu[2])
{
	size_t i;
	int who;

	if (cpu[0] == PLACE_ANY_CPU)
		printf("two processes, not pinned\n");
	else
		printf("two processes, pinned to CPUs %d and %d\n", cpu[0],
		    cpu[1]);
	printf("%-15s%8s%12s%8s%12s%14s%13s\n", "via", "process", "acquired",
	    "share", "changes", "longest wait", "per acquire");
	for (i = 0; i < count; i++) {
		for (who = 0; who < 2; who++)
			printf("%-15s%8d%12llu%8.3f%12llu%12.3fms%11.1fns\n",
			    fairness_name(c[i].via), who,
			    (unsigned long long)c[i].results[who].acquired,
			    share(&c[i], who),
			    (unsigned long long)c[i].results[who].changes,
			    (double)c[i].results[who].longest / 1e6,
			    ratio(c[i].ns, c[i].results[who].acquired));
	}
}

static void print_json(const struct contest *c, size_t count, const int cpu[2])
{
	const struct result *r;
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"fairness\":[");
	for (i = 0; i < count; i++) {
		r = c[i].results;
		printf(i == 0 ? "\n{\"via\":" : ",\n{\"via\":");
		report_json_string(stdout, fairness_name(c[i].via));
		if (cpu[0] != PLACE_ANY_CPU)
			printf(",\"pinned\":[%d,%d]", cpu[0], cpu[1]);
		printf(",\"acquired\":[%llu,%llu],\"total\":%llu",
		    (unsigned long long)r[0].acquired,
		    (unsigned long long)r[1].acquired,
		    (unsigned long long)total(&c[i]));
		printf(",\"changes\":%llu",
		    (unsigned long long)(r[0].changes + r[1].changes));
		printf(",\"share\":%.4f,\"longest_ns\":%llu"
		       ",\"ns_per_acquire\":%.3f}",
		    share(&c[i], r[0].acquired < r[1].acquired ? 0 : 1),
		    (unsigned long long)(r[0].longest > r[1].longest ?
		            r[0].longest :
		            r[1].longest),
		    ratio(c[i].ns, total(&c[i])));
	}
	printf("\n]}\n");
}

int fairness_main(int argc, char **argv)
{
	static struct contest contests[FAIRNESS_VIAS];
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
	if (o.format == FORMAT_JSON)
		print_json(contests, o.via_count, cpu);
	else
		print_table(contests, o.via_count, cpu);
	return report_end();
}
