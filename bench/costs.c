/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench costs: what single operations cost that nobody contends, the
 * library's beside those of the system.  Each trial is a batch of them in a
 * loop; trials of all go by turns.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <handoff.h>

#include "bench.h"
#include "options.h"
#include "report.h"

#define BATCH 1000000u
#define WARM_UP 100000u

/* The object that an operation works on. */
union object {
	handoff_mutex *mutex;
	handoff_cond *cond;
	sem_t *sem;
	handoff_mutex plain_mutex;
	pthread_mutex_t pthread_mutex;
	pthread_cond_t pthread_cond;
};

/* Functions return 0 or an errno value. */
struct cost {
	const char *name;
	const char *what;
	bool contended;
	/* Makes the object; no name is left behind. */
	int (*open)(union object *object, const char *name);
	int (*batch)(union object *object, unsigned n);
	void (*close)(union object *object);
};

static const char acquire_release[] = "acquire+release";
static const char signal_no_waiters[] = "signal without waiters";

/* ---- the library ------------------------------------------------------- */

static int mutex_open(union object *object, const char *name)
{
	int e = handoff_mutex_open(&object->mutex, name,
	    HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, NULL);

	return e != 0 ? e : handoff_unlink(name);
}

static int lock_unlock(handoff_mutex *mutex, unsigned n)
{
	int e = 0;

	for (; n > 0 && e == 0; n--) {
		e = handoff_mutex_lock(mutex);
		if (e == 0)
			e = handoff_mutex_unlock(mutex);
	}
	return e;
}

static int mutex_batch(union object *object, unsigned n)
{
	return lock_unlock(object->mutex, n);
}

static void mutex_close(union object *object)
{
	handoff_close(object->mutex);
}

static int plain_open(union object *object, const char *name)
{
	(void)name;
	return handoff_mutex_init(&object->plain_mutex, NULL);
}

static int plain_batch(union object *object, unsigned n)
{
	return lock_unlock(&object->plain_mutex, n);
}

static void plain_close(union object *object)
{
	handoff_mutex_destroy(&object->plain_mutex);
}

static int cond_open(union object *object, const char *name)
{
	int e = handoff_cond_open(&object->cond, name,
	    HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, NULL);

	return e != 0 ? e : handoff_unlink(name);
}

static int cond_batch(union object *object, unsigned n)
{
	int e = 0;

	for (; n > 0 && e == 0; n--)
		e = handoff_cond_signal(object->cond);
	return e;
}

static void cond_close(union object *object)
{
	handoff_close(object->cond);
}

/* ---- the system -------------------------------------------------------- */

static int pthread_mutex_open(union object *object, int robust)
{
	pthread_mutexattr_t attr;
	int e = pthread_mutexattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0 && robust)
		e = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (e == 0)
		e = pthread_mutex_init(&object->pthread_mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return e;
}

static int shared_open(union object *object, const char *name)
{
	(void)name;
	return pthread_mutex_open(object, 0);
}

static int robust_open(union object *object, const char *name)
{
	(void)name;
	return pthread_mutex_open(object, 1);
}

static int shared_batch(union object *object, unsigned n)
{
	int e = 0;

	for (; n > 0 && e == 0; n--) {
		e = pthread_mutex_lock(&object->pthread_mutex);
		if (e == 0)
			e = pthread_mutex_unlock(&object->pthread_mutex);
	}
	return e;
}

static void shared_close(union object *object)
{
	pthread_mutex_destroy(&object->pthread_mutex);
}

static int pcond_open(union object *object, const char *name)
{
	pthread_condattr_t attr;
	int e = pthread_condattr_init(&attr);

	(void)name;
	if (e != 0)
		return e;
	e = pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (e == 0)
		e = pthread_cond_init(&object->pthread_cond, &attr);
	pthread_condattr_destroy(&attr);
	return e;
}

static int pcond_batch(union object *object, unsigned n)
{
	int e = 0;

	for (; n > 0 && e == 0; n--)
		e = pthread_cond_signal(&object->pthread_cond);
	return e;
}

static void pcond_close(union object *object)
{
	pthread_cond_destroy(&object->pthread_cond);
}

static int sem_open_one(union object *object, const char *name)
{
	char slashed[BENCH_NAME_MAX + 1];

	snprintf(slashed, sizeof(slashed), "/%s", name);
	object->sem = sem_open(slashed, O_CREAT | O_EXCL, 0600, 1);
	if (object->sem == SEM_FAILED)
		return errno;
	return sem_unlink(slashed) == 0 ? 0 : errno;
}

static int sem_batch(union object *object, unsigned n)
{
	for (; n > 0; n--)
		if (sem_wait(object->sem) != 0 || sem_post(object->sem) != 0)
			return errno;
	return 0;
}

static void sem_close_one(union object *object)
{
	sem_close(object->sem);
}

static const struct cost costs[] = {
	{ "mutex", acquire_release, false, mutex_open, mutex_batch,
	    mutex_close },
	{ "mutex-plain", acquire_release, false, plain_open, plain_batch,
	    plain_close },
	{ "cond-signal", signal_no_waiters, false, cond_open, cond_batch,
	    cond_close },
	{ "pthread-mutex", acquire_release, false, shared_open, shared_batch,
	    shared_close },
	{ "pthread-robust", acquire_release, false, robust_open, shared_batch,
	    shared_close },
	{ "pthread-cond-signal", signal_no_waiters, false, pcond_open,
	    pcond_batch, pcond_close },
	{ "posix-sem", acquire_release, false, sem_open_one, sem_batch,
	    sem_close_one },
};
#define COSTS (sizeof(costs) / sizeof(costs[0]))

/* ---- measuring --------------------------------------------------------- */

struct measured {
	union object object;
	double *ns; /* of each trial, for one operation */
	double min;
	double p50;
};

static bool failed(const struct cost *cost, int e)
{
	if (e != 0)
		fprintf(stderr, BENCH_TOOL ": %s: %s\n", cost->name,
		    strerror(e));
	return e != 0;
}

/* Signals wait while there is a name that they would leave behind. */
static int open_quietly(const struct cost *cost, union object *object,
    unsigned serial)
{
	char name[BENCH_NAME_MAX];
	sigset_t all, old;
	int e;

	bench_name(name, serial);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	e = cost->open(object, name);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return e;
}

static bool measure(struct measured *m, unsigned trials)
{
	uint64_t start;
	unsigned trial;
	size_t i;
	int e;

	for (trial = 0; trial < trials; trial++) {
		for (i = 0; i < COSTS; i++) {
			e = costs[i].batch(&m[i].object, WARM_UP);
			start = bench_now();
			if (e == 0)
				e = costs[i].batch(&m[i].object, BATCH);
			if (failed(&costs[i], e))
				return false;
			m[i].ns[trial] = (double)(bench_now() - start) / BATCH;
		}
	}
	for (i = 0; i < COSTS; i++) {
		m[i].p50 = bench_median(m[i].ns, trials); /* sorts them */
		m[i].min = m[i].ns[0];
	}
	return true;
}

/* What is compared to: the peer, named first, that does the same. */
static size_t base_of(size_t i)
{
	size_t k;

	for (k = 0; k < COSTS; k++)
		if (costs[k].what == costs[i].what &&
		    strncmp(costs[k].name, "pthread-", 8) == 0)
			break;
	return k < COSTS ? k : i;
}

static void print_table(const struct measured *m)
{
	size_t i;

	printf("not contended; ratio: p50 to that of the first pthread- that "
	       "does the same\n");
	printf("%-21s%6s%10s%10s  %s\n", "via", "ratio", "min", "p50", "what");
	for (i = 0; i < COSTS; i++)
		printf("%-21s%6.2f%8.2fns%8.2fns  %s\n", costs[i].name,
		    m[i].p50 / m[base_of(i)].p50, m[i].min, m[i].p50,
		    costs[i].what);
}

static void print_json(const struct measured *m, unsigned trials)
{
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"costs\":[");
	for (i = 0; i < COSTS; i++) {
		printf(i == 0 ? "\n{\"via\":" : ",\n{\"via\":");
		report_json_string(stdout, costs[i].name);
		printf(",\"what\":");
		report_json_string(stdout, costs[i].what);
		printf(",\"contended\":%s,\"trials\":%u,"
		       "\"ns\":{\"min\":%.3f,\"p50\":%.3f}}",
		    costs[i].contended ? "true" : "false", trials, m[i].min,
		    m[i].p50);
	}
	printf("\n]}\n");
}

/* Opens all of them; the ones before *opened are to be closed. */
static bool open_all(struct measured *m, unsigned trials, size_t *opened)
{
	size_t i;
	int e;

	for (i = 0; i < COSTS; i++) {
		m[i].ns = calloc(trials, sizeof(*m[i].ns));
		e = ENOMEM;
		if (m[i].ns)
			e = open_quietly(&costs[i], &m[i].object, (unsigned)i);
		if (failed(&costs[i], e))
			return false;
		*opened = i + 1;
	}
	return true;
}

int costs_main(int argc, char **argv)
{
	static struct measured m[COSTS];
	struct costs_options o;
	size_t i, opened = 0;
	bool ok;
	int status;

	if (!options_costs(&o, argc, argv, &status))
		return status;
	ok = open_all(m, o.trials, &opened) && measure(m, o.trials);
	for (i = 0; i < opened; i++)
		costs[i].close(&m[i].object);
	if (ok && o.format == FORMAT_JSON)
		print_json(m, o.trials);
	else if (ok)
		print_table(m);
	for (i = 0; i < COSTS; i++)
		free(m[i].ns);
	return ok ? report_end() : BENCH_FAILED;
}
