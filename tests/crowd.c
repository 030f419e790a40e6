/* SPDX-License-Identifier: ISC */
/*
 * Thousands that wait for one object: all come through, and cost little until
 * then.  And more processes than there are slots: those of the dead are used
 * again, those of the living stay theirs (G43).
 */
#define _GNU_SOURCE
#include "room.h"
#include "sanitized.h"
#include "words.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef SANITIZED
#define THREADS 100u /* each needs much memory */
#else
#define THREADS 1250u
#endif
#define PROCESSES 4u
#define CROWD (THREADS * PROCESSES)
#define STACK 65536u
#define BOUND 20.0
#define IDLE 0.5      /* s */
#define IDLE_MOST 0.5 /* s of CPU time of all of them in a second */
#define SLOTS 16u     /* processes that a readers-writer lock tells apart */
#define LISTED 120u   /* processes that handoff_peers() tells of */
#define USERS 3u      /* that live on */

struct room {
	handoff_mutex mutex;
	handoff_mutex lock;
	handoff_cond cond;
	handoff_cond each;
	handoff_rwlock reading;
	handoff_rwlock writing;
	handoff_sem sem;
	handoff_sem ones;
	handoff_event event;
	handoff_event manual;
	handoff_word32 word32;
	handoff_word64 word64;
	handoff_barrier barrier; /* of all and the parent */
	handoff_baton baton;     /* the parent is party 0, the rest 1 to 4 */
	unsigned go;             /* under the lock, for cond */
	unsigned left;           /* the same for each */
	unsigned count;          /* under mutex */
	_Atomic unsigned through;
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct handoff_event_attr manual = { sizeof manual,
		HANDOFF_EVENT_MANUAL, 0, 0 };
	struct room *r = memory;
	int e[] = { handoff_mutex_init(&r->mutex, NULL),
		handoff_mutex_init(&r->lock, NULL),
		handoff_cond_init(&r->cond, NULL),
		handoff_cond_init(&r->each, NULL),
		handoff_rwlock_init(&r->reading, NULL),
		handoff_rwlock_init(&r->writing, NULL),
		handoff_sem_init(&r->sem, 0, NULL),
		handoff_sem_init(&r->ones, 0, NULL),
		handoff_event_init(&r->event, NULL),
		handoff_event_init(&r->manual, &manual),
		handoff_word32_init(&r->word32, 0, NULL),
		handoff_word64_init(&r->word64, 0, NULL),
		handoff_barrier_init(&r->barrier, CROWD + 1, NULL),
		handoff_baton_init(&r->baton, PROCESSES + 1, NULL) };

	(void)bytes;
	(void)arg;
	for (size_t i = 0; i < sizeof e / sizeof *e; i++)
		if (e[i] != 0)
			return e[i];
	return 0;
}

/* ---- Who waits, and who lets all of them go ------------------------------ */

static int wait_mutex(struct room *r, uint32_t me)
{
	int e = handoff_mutex_lock(&r->mutex);

	(void)me;
	r->count++;
	return e != 0 ? e : handoff_mutex_unlock(&r->mutex);
}

static int hold_mutex(struct room *r)
{
	return handoff_mutex_lock(&r->mutex);
}

static int let_go_mutex(struct room *r)
{
	return handoff_mutex_unlock(&r->mutex);
}

static int wait_cond(struct room *r, uint32_t me)
{
	int e = handoff_mutex_lock(&r->lock);

	(void)me;
	while (e == 0 && !r->go)
		e = handoff_cond_wait(&r->cond, &r->lock);
	return e != 0 ? e : handoff_mutex_unlock(&r->lock);
}

static int let_go_cond(struct room *r)
{
	int e = handoff_mutex_lock(&r->lock);

	r->go = 1;
	if (e == 0)
		e = handoff_cond_broadcast(&r->cond);
	return e != 0 ? e : handoff_mutex_unlock(&r->lock);
}

static int wait_each(struct room *r, uint32_t me)
{
	int e = handoff_mutex_lock(&r->lock);

	(void)me;
	while (e == 0 && r->left == 0)
		e = handoff_cond_wait(&r->each, &r->lock);
	r->left--;
	return e != 0 ? e : handoff_mutex_unlock(&r->lock);
}

static int let_go_each(struct room *r)
{
	for (unsigned i = 0; i < CROWD; i++) {
		int e = handoff_mutex_lock(&r->lock);

		if (e != 0)
			return e;
		r->left++;
		e = handoff_cond_signal(&r->each);
		if (e == 0)
			e = handoff_mutex_unlock(&r->lock);
		if (e != 0)
			return e;
	}
	return 0;
}

static int wait_read(struct room *r, uint32_t me)
{
	int e = handoff_rwlock_rdlock(&r->reading);

	(void)me;
	return e != 0 ? e : handoff_rwlock_rdunlock(&r->reading);
}

static int hold_read(struct room *r)
{
	return handoff_rwlock_wrlock(&r->reading);
}

static int let_go_read(struct room *r)
{
	return handoff_rwlock_wrunlock(&r->reading);
}

static int wait_write(struct room *r, uint32_t me)
{
	int e = handoff_rwlock_wrlock(&r->writing);

	(void)me;
	return e != 0 ? e : handoff_rwlock_wrunlock(&r->writing);
}

static int hold_write(struct room *r)
{
	return handoff_rwlock_wrlock(&r->writing);
}

static int let_go_write(struct room *r)
{
	return handoff_rwlock_wrunlock(&r->writing);
}

static int wait_sem(struct room *r, uint32_t me)
{
	(void)me;
	return handoff_sem_wait(&r->sem);
}

static int let_go_sem(struct room *r)
{
	return handoff_sem_post(&r->sem, CROWD);
}

static int wait_ones(struct room *r, uint32_t me)
{
	(void)me;
	return handoff_sem_wait(&r->ones);
}

static int let_go_ones(struct room *r)
{
	int e = 0;

	for (unsigned i = 0; i < CROWD && e == 0; i++)
		e = handoff_sem_post(&r->ones, 1);
	return e;
}

/* Each sets it for the next. */
static int wait_event(struct room *r, uint32_t me)
{
	int e = handoff_event_wait(&r->event);

	(void)me;
	return e != 0 ? e : handoff_event_set(&r->event);
}

static int let_go_event(struct room *r)
{
	return handoff_event_set(&r->event);
}

static int wait_manual(struct room *r, uint32_t me)
{
	(void)me;
	return handoff_event_wait(&r->manual);
}

/* Whoever waited has been let go. */
static int let_go_manual(struct room *r)
{
	int e = handoff_event_set(&r->manual);

	return e != 0 ? e : handoff_event_reset(&r->manual);
}

static int wait_word32(struct room *r, uint32_t me)
{
	(void)me;
	return handoff_word32_wait(&r->word32, 0);
}

static int let_go_word32(struct room *r)
{
	handoff_word32_store(&r->word32, 1);
	return handoff_word32_wake(&r->word32, HANDOFF_ALL);
}

static int wait_word64(struct room *r, uint32_t me)
{
	(void)me;
	return handoff_word64_wait(&r->word64, 0);
}

/* One by one. */
static int let_go_word64(struct room *r)
{
	int e = 0;

	handoff_word64_store(&r->word64, 1);
	for (unsigned i = 0; i < CROWD && e == 0; i++)
		e = handoff_word64_wake(&r->word64, 1);
	return e;
}

static int wait_barrier(struct room *r, uint32_t me)
{
	(void)me;
	return handoff_barrier_wait(&r->barrier, NULL);
}

static int let_go_barrier(struct room *r)
{
	return handoff_barrier_wait_until(&r->barrier, NULL, soon(BOUND));
}

/* All threads of a party at once. */
static int wait_baton(struct room *r, uint32_t me)
{
	return handoff_baton_wait(&r->baton, me + 1);
}

static int let_go_baton(struct room *r)
{
	int e = handoff_baton_wait(&r->baton, 0);

	for (uint32_t to = 1; to <= PROCESSES && e == 0; to++) {
		unsigned end = THREADS * to;

		e = handoff_baton_pass(&r->baton, to);
		while (atomic_load(&r->through) < end)
			sleep_seconds(0.001);
		if (e == 0) /* the last one of them has passed it back */
			e = handoff_baton_wait_until(&r->baton, 0, soon(BOUND));
	}
	return e;
}

#define AT(field) offsetof(struct room, field)

static const struct {
	const char *name;
	int (*hold)(struct room *r);
	int (*wait)(struct room *r, uint32_t me);
	int (*let_go)(struct room *r);
	size_t object;
} ways[] = {
	{ "mutex", hold_mutex, wait_mutex, let_go_mutex, AT(mutex) },
	{ "cond", NULL, wait_cond, let_go_cond, AT(cond) },
	{ "cond, each", NULL, wait_each, let_go_each, AT(each) },
	{ "read", hold_read, wait_read, let_go_read, AT(reading) },
	{ "write", hold_write, wait_write, let_go_write, AT(writing) },
	{ "sem", NULL, wait_sem, let_go_sem, AT(sem) },
	{ "sem, ones", NULL, wait_ones, let_go_ones, AT(ones) },
	{ "event", NULL, wait_event, let_go_event, AT(event) },
	{ "manual", NULL, wait_manual, let_go_manual, AT(manual) },
	{ "word32", NULL, wait_word32, let_go_word32, AT(word32) },
	{ "word64", NULL, wait_word64, let_go_word64, AT(word64) },
	{ "barrier", NULL, wait_barrier, let_go_barrier, AT(barrier) },
	{ "baton", NULL, wait_baton, let_go_baton, AT(baton) },
};
#define WAYS (sizeof ways / sizeof *ways)

/* ---- The crowd ----------------------------------------------------------- */

struct member {
	struct room *r;
	unsigned process;
	unsigned way;
};

static void *be_one(void *arg)
{
	const struct member *m = arg;

	OK(ways[m->way].wait(m->r, m->process));
	if (atomic_fetch_add(&m->r->through, 1) % THREADS == THREADS - 1 &&
	    ways[m->way].wait == wait_baton)
		OK(handoff_baton_pass(&m->r->baton, 0));
	return NULL;
}

/* "name:process + PROCESSES * way" */
static int part_crowd(const char *arg)
{
	static pthread_t threads[THREADS];
	struct member m;
	pthread_attr_t attr;

	m.r = join_room(arg, &m.way);
	m.process = m.way % PROCESSES;
	m.way /= PROCESSES;
	CHECK(pthread_attr_init(&attr) == 0);
#ifndef SANITIZED
	CHECK(pthread_attr_setstacksize(&attr, STACK) == 0);
#endif
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], &attr, be_one, &m) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

static double cpu_of_all(const struct process *p)
{
	double sum = 0;

	for (unsigned i = 0; i < PROCESSES; i++) {
		struct timespec t;
		clockid_t clock;

		if (clock_getcpuclockid(p[i].pid, &clock) == 0 &&
		    clock_gettime(clock, &t) == 0)
			sum += (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	}
	return sum;
}

/* Starts all, until they are parked. */
static struct room *gather(unsigned way, struct process *p)
{
	struct room *r = open_room("crowd");
	double by = seconds_now() + BOUND;
	char arg[64];

	if (ways[way].hold)
		GIVES(ways[way].hold(r), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		snprintf(arg, sizeof arg, "crowd:%u", i + PROCESSES * way);
		p[i] = start("crowd", arg);
	}
	while (statistics_of((unsigned char *)r + ways[way].object).contended <
	    CROWD) {
		if (seconds_now() > by)
			fail_msg("%s: they do not wait", ways[way].name);
		sleep_seconds(0.005);
	}
	return r;
}

static void disperse(unsigned way, struct process *p, struct room *r)
{
	double by = seconds_now() + BOUND;

	GIVES(ways[way].let_go(r), 0);
	while (atomic_load(&r->through) < CROWD) {
		if (seconds_now() > by)
			fail_msg("%s: %u of %u came through", ways[way].name,
			    atomic_load(&r->through), CROWD);
		sleep_seconds(0.005);
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		GIVES(finish(&p[i]), 0);
	if (ways[way].wait == wait_mutex)
		assert_int_equal(r->count, CROWD);
	close_room(r, "crowd");
}

static void all_come_through(void **state)
{
	(void)state;
	for (unsigned way = 0; way < WAYS; way++) {
		struct process p[PROCESSES];
		struct room *r = gather(way, p);

		disperse(way, p, r);
	}
}

/* Those who watch an owner, and those who have none. */
static void they_cost_little_while_they_wait(void **state)
{
	(void)state;
	for (unsigned way = 0; way < WAYS; way++) {
		struct process p[PROCESSES];
		struct room *r;
		double cpu;

		if (ways[way].wait != wait_mutex && ways[way].wait != wait_sem)
			continue;
		r = gather(way, p);
		sleep_seconds(0.2);
		cpu = cpu_of_all(p);
		sleep_seconds(IDLE);
		cpu = cpu_of_all(p) - cpu;
		print_message("%s: %.3f s of CPU\n", ways[way].name, cpu);
		assert_true(cpu < IDLE_MOST * IDLE);
		disperse(way, p, r);
	}
}

/* ---- Slots --------------------------------------------------------------- */

/* "name": has the lock to read, again and again. */
static int part_reader(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	for (;;) {
		OK(handoff_rwlock_rdlock(&r->reading));
		say("reads");
		await("leave");
		OK(handoff_rwlock_rdunlock(&r->reading));
		say("left");
		await("read");
	}
	return 0;
}

/* "name:count": children, one after the other, that die while they read. */
static int part_dying(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	for (unsigned i = 0; i < n; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			struct handoff_info info = { .size = sizeof info };

			OK(handoff_info(r, &info));
			OK(handoff_rwlock_rdlock(&r->reading));
			kill(getpid(), SIGKILL);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	return 0;
}

static void die(unsigned n)
{
	char arg[64];
	struct process p;

	snprintf(arg, sizeof arg, "slots:%u", n);
	p = start("dying", arg);
	GIVES(finish(&p), 0);
}

/* Beside the living, who hold it all the time. */
static void ten_times_as_many_readers_as_slots_may_die(void **state)
{
	struct room *r = open_room("slots");
	struct process users[USERS];

	(void)state;
	for (unsigned i = 0; i < USERS; i++) {
		users[i] = start("reader", "slots");
		expect(&users[i], "reads");
	}
	die(10 * SLOTS);
	/* Nobody's place has been taken: each of them keeps a writer out. */
	for (unsigned i = 0; i < USERS; i++) {
		GIVES(handoff_rwlock_wrlock_until(&r->reading, soon(0.2)),
		    ETIMEDOUT);
		tell(&users[i], "leave");
		expect(&users[i], "left");
	}
	GIVES(handoff_rwlock_wrlock_until(&r->reading, soon(BOUND)), 0);
	GIVES(handoff_rwlock_wrunlock(&r->reading), 0);
	die(10 * SLOTS);
	/* And each of them has one of its own: its death is noticed. */
	for (unsigned i = 0; i < USERS; i++) {
		tell(&users[i], "read");
		expect(&users[i], "reads");
	}
	for (unsigned i = 0; i < USERS; i++) {
		GIVES(handoff_rwlock_trywrlock(&r->reading), EBUSY);
		kill_hard(&users[i]);
	}
	GIVES(handoff_rwlock_wrlock_until(&r->reading, soon(BOUND)), 0);
	GIVES(handoff_rwlock_wrunlock(&r->reading), 0);
	close_room(r, "slots");
}

/* ---- The table of those who have it open --------------------------------- */

struct listed {
	pid_t pids[LISTED];
	unsigned n;
};

static int list_one(const struct handoff_peer *peer, void *ctx)
{
	struct listed *l = ctx;

	assert_true(l->n < LISTED);
	l->pids[l->n++] = (pid_t)peer->pid;
	return 0;
}

static unsigned times_listed(const struct room *r, pid_t pid)
{
	struct listed l = { .n = 0 };
	unsigned n = 0;

	GIVES(handoff_peers(r, list_one, &l), 0);
	for (unsigned i = 0; i < l.n; i++)
		n += l.pids[i] == pid;
	return n;
}

static void ten_times_as_many_as_are_listed_may_die(void **state)
{
	struct room *r = open_room("slots");
	struct process users[USERS + 1];

	(void)state;
	for (unsigned i = 0; i < USERS; i++) {
		users[i] = start("reader", "slots");
		expect(&users[i], "reads");
	}
	for (int round = 0; round < 10; round++) {
		die(LISTED);
		for (unsigned i = 0; i < USERS; i++)
			assert_int_equal(times_listed(r, users[i].pid), 1);
		assert_int_equal(times_listed(r, getpid()), 1);
	}
	users[USERS] = start("reader", "slots");
	expect(&users[USERS], "reads");
	assert_int_equal(times_listed(r, users[USERS].pid), 1);
	for (unsigned i = 0; i <= USERS; i++)
		kill_hard(&users[i]);
	close_room(r, "slots");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "crowd", part_crowd },
		{ "reader", part_reader },
		{ "dying", part_dying },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_come_through),
		TEST(they_cost_little_while_they_wait),
		TEST(ten_times_as_many_readers_as_slots_may_die),
		TEST(ten_times_as_many_as_are_listed_may_die),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("crowd", tests, NULL, NULL));
}
