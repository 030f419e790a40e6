/* SPDX-License-Identifier: ISC */
/*
 * What is there for people to read: who has a segment open, and how long was
 * waited, handoff_peers() and handoff_statistics() in handoff_segment(3).
 */
#define _GNU_SOURCE
#include "room.h"
#include "still.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 120u   /* that are told of */
#define BEYOND 125u /* more than that */
#define COME_AND_GO 130u

enum kind {
	MUTEX,
	COND,
	SEM,
	EVENT,
	RWLOCK,
	BARRIER,
	WORD32,
	WORD64,
	BATON,
	KINDS
};

struct room {
	handoff_mutex mutex;
	handoff_mutex beside; /* of the condition */
	handoff_cond cond;
	handoff_sem sem;
	handoff_event event;
	handoff_rwlock rwlock;
	handoff_barrier barrier;
	handoff_word32 word32;
	handoff_word64 word64;
	handoff_baton baton;
	volatile unsigned ready; /* for the condition, under its mutex */
	_Alignas(64) unsigned char more[1024];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *unused)
{
	struct room *r = memory;
	int e[10] = { handoff_mutex_init(&r->mutex, NULL),
		handoff_mutex_init(&r->beside, NULL),
		handoff_cond_init(&r->cond, NULL),
		handoff_sem_init(&r->sem, 0, NULL),
		handoff_event_init(&r->event, NULL),
		handoff_rwlock_init(&r->rwlock, NULL),
		handoff_barrier_init(&r->barrier, 2, NULL),
		handoff_word32_init(&r->word32, 0, NULL),
		handoff_word64_init(&r->word64, 0, NULL),
		handoff_baton_init(&r->baton, 2, NULL) };

	(void)bytes;
	(void)unused;
	for (unsigned i = 0; i < 10; i++)
		if (e[i] != 0)
			return e[i];
	return 0;
}

/* ---- Parts that have it open --------------------------------------------- */

/* Has it open until it is told to close it, and lives until it is told to
 * end. */
static int part_member(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	char name[64];

	program_name(name, sizeof name);
	say(name);
	await("close");
	OK(handoff_close(r));
	say("closed");
	await("end");
	return 0;
}

/* Has it open, quietly, until it is told to end. */
static int part_guest(const char *arg)
{
	CHECK(join_room(arg, NULL) != NULL);
	say("in");
	await("end");
	return 0;
}

static unsigned of_child;

static int find_child(const struct handoff_peer *peer, void *ctx)
{
	pid_t *pid = ctx;

	of_child += peer->pid == (uint32_t)*pid;
	return 0;
}

/* A child of fork has open what its parent has. */
static int part_parent(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		child = getpid();
		OK(handoff_mutex_lock(&r->mutex));
		OK(handoff_mutex_unlock(&r->mutex));
		OK(handoff_peers(r, find_child, &child));
		CHECK(of_child == 1);
		child = getppid();
		OK(handoff_peers(r, find_child, &child));
		CHECK(of_child == 2);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	OK(handoff_peers(r, find_child, &child));
	CHECK(of_child == 0);
	return 0;
}

/* ---- What is told -------------------------------------------------------- */

struct heard {
	unsigned n;
	uint32_t pid[256];
	uint64_t opened[256];
	char name[256][64];
	unsigned stop_at;
};

static int note(const struct handoff_peer *peer, void *ctx)
{
	struct heard *heard = ctx;

	assert_int_equal(peer->size, sizeof *peer);
	assert_non_null(peer->name);
	assert_true(heard->n < 256);
	heard->pid[heard->n] = peer->pid;
	heard->opened[heard->n] = peer->opened;
	snprintf(heard->name[heard->n], sizeof heard->name[0], "%s",
	    peer->name);
	heard->n++;
	return heard->n == heard->stop_at ? 4711 : 0;
}

static struct heard heard;

static unsigned ask(const void *object)
{
	memset(&heard, 0, sizeof heard);
	assert_int_equal(handoff_peers(object, note, &heard), 0);
	return heard.n;
}

/* Where it is among them; -1: nowhere; it is there once. */
static int find(pid_t pid)
{
	int at = -1;

	for (unsigned i = 0; i < heard.n; i++)
		if (heard.pid[i] == (uint32_t)pid) {
			assert_int_equal(at, -1);
			at = (int)i;
		}
	return at;
}

static uint64_t users(const void *object)
{
	struct handoff_info info = { .size = sizeof info };

	assert_int_equal(handoff_info(object, &info), 0);
	return info.users;
}

static uint64_t since_1970(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Peers --------------------------------------------------------------- */

static void all_who_have_it_open_are_told_of(void **state)
{
	uint64_t before = since_1970();
	struct room *r = open_room("two");
	struct process p[2];
	char name[64];

	(void)state;
	assert_int_equal(ask(r), 1);
	assert_int_equal(heard.pid[0], getpid());
	for (unsigned i = 0; i < 2; i++) {
		ssize_t n;
		int at;

		p[i] = start("member", "two");
		assert_true(says_within(&p[i], 10));
		n = read(p[i].from, name, sizeof name - 1);
		assert_true(n > 1);
		name[n - 1] = '\0';
		assert_int_equal(ask(&r->mutex), i + 2);
		at = find(p[i].pid);
		assert_true(at >= 0);
		if (strcmp(name, "?") != 0)
			assert_string_equal(heard.name[at], name);
	}
	assert_true(find(getpid()) >= 0 && find(p[0].pid) >= 0);
	/* To the second, since clocks may be coarse. */
	for (unsigned i = 0; i < heard.n; i++)
		assert_true(heard.opened[i] + 1000000000u >= before &&
		    heard.opened[i] <= since_1970() + 1000000000u);
	assert_int_equal(users(r), 3);
	/* One closes it, one is killed. */
	tell(&p[0], "close");
	expect(&p[0], "closed");
	assert_int_equal(ask(r->more + 1023), 2);
	assert_int_equal(find(p[0].pid), -1);
	assert_true(find(p[1].pid) >= 0);
	kill_hard(&p[1]);
	assert_int_equal(ask(r), 1);
	assert_int_equal(heard.pid[0], getpid());
	tell(&p[0], "end");
	assert_int_equal(finish(&p[0]), 0);
	close_room(r, "two");
}

static void a_process_is_told_of_once(void **state)
{
	struct room *r = open_room("once");

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(open_room("once"), r);
	assert_int_equal(ask(r), 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(handoff_close(r), 0);
		assert_int_equal(ask(r), 1);
	}
	/* Gone and come back. */
	assert_int_equal(handoff_close(r), 0);
	r = open_room("once");
	assert_int_equal(ask(r), 1);
	assert_int_equal(heard.pid[0], getpid());
	close_room(r, "once");
}

static void a_child_of_fork_has_it_open_too(void **state)
{
	struct process p = start("parent", "children");
	struct room *r;

	(void)state;
	assert_int_equal(finish(&p), 0);
	r = open_room("children");
	assert_int_equal(ask(r), 1);
	close_room(r, "children");
}

static void who_asks_may_stop(void **state)
{
	struct room *r = open_room("stop");
	struct process p[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		p[i] = start("guest", "stop");
		expect(&p[i], "in");
	}
	assert_int_equal(ask(r), 4);
	for (unsigned stop_at = 1; stop_at <= 4; stop_at++) {
		memset(&heard, 0, sizeof heard);
		heard.stop_at = stop_at;
		assert_int_equal(handoff_peers(r, note, &heard), 4711);
		assert_int_equal(heard.n, stop_at);
	}
	for (unsigned i = 0; i < 3; i++) {
		tell(&p[i], "end");
		assert_int_equal(finish(&p[i]), 0);
	}
	close_room(r, "stop");
}

static int ask_within(const struct handoff_peer *peer, void *ctx)
{
	(void)peer;
	assert_int_equal(users(ctx), 1);
	return 0;
}

static void who_is_told_may_use_the_library(void **state)
{
	struct room *r = open_room("within");

	(void)state;
	assert_int_equal(handoff_peers(r, ask_within, r), 0);
	close_room(r, "within");
}

/* There is room for 120 at a time; the dead take none. */
static void the_places_of_the_dead_are_used_again(void **state)
{
	struct room *r = open_room("dead");
	struct process p;

	(void)state;
	for (unsigned i = 0; i < COME_AND_GO; i++) {
		p = start("guest", "dead");
		expect(&p, "in");
		if (i % 16 == 0) {
			assert_int_equal(ask(r), 2);
			assert_true(find(p.pid) >= 0);
		}
		kill_hard(&p);
	}
	assert_int_equal(ask(r), 1);
	p = start("guest", "dead");
	expect(&p, "in");
	assert_int_equal(ask(r), 2);
	assert_true(find(p.pid) >= 0);
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	close_room(r, "dead");
}

static void more_than_there_is_room_for_do_no_harm(void **state)
{
	struct room *r = open_room("crowd");
	struct process p[BEYOND];

	(void)state;
	for (unsigned i = 0; i < BEYOND; i++)
		p[i] = start("guest", "crowd");
	for (unsigned i = 0; i < BEYOND; i++)
		expect(&p[i], "in");
	assert_int_equal(ask(r), MOST);
	for (unsigned i = 0; i < BEYOND; i++)
		find(p[i].pid); /* nobody twice */
	assert_int_equal(users(r), BEYOND + 1);
	for (unsigned i = 0; i < BEYOND; i++) {
		tell(&p[i], "end");
		assert_int_equal(finish(&p[i]), 0);
	}
	assert_int_equal(ask(r), 1);
	close_room(r, "crowd");
}

static void bad_arguments_are_refused(void **state)
{
	struct room *r = open_room("bad");
	handoff_mutex plain;

	(void)state;
	assert_int_equal(handoff_mutex_init(&plain, NULL), 0);
	memset(&heard, 0, sizeof heard);
	assert_int_equal(handoff_peers(NULL, note, &heard), EINVAL);
	assert_int_equal(handoff_peers(&plain, note, &heard), EINVAL);
	assert_int_equal(handoff_peers(&heard, note, &heard), EINVAL);
	assert_int_equal(handoff_peers(r, NULL, &heard), EINVAL);
	assert_int_equal(heard.n, 0);
	close_room(r, "bad");
	assert_int_equal(handoff_peers(r, note, &heard), EINVAL);
}

/* ---- Statistics ---------------------------------------------------------- */

static const void *object_of(const struct room *r, enum kind kind)
{
	const void *const objects[KINDS] = {
		[MUTEX] = &r->mutex,
		[COND] = &r->cond,
		[SEM] = &r->sem,
		[EVENT] = &r->event,
		[RWLOCK] = &r->rwlock,
		[BARRIER] = &r->barrier,
		[WORD32] = &r->word32,
		[WORD64] = &r->word64,
		[BATON] = &r->baton,
	};

	return objects[kind];
}

static int wait_for_cond(struct room *r)
{
	int e = handoff_mutex_lock(&r->beside);

	while (e == 0 && !r->ready)
		e = handoff_cond_wait(&r->cond, &r->beside);
	r->ready = 0;
	return e != 0 ? e : handoff_mutex_unlock(&r->beside);
}

/* Waits once, as party 1. */
static int wait_for(struct room *r, unsigned kind)
{
	switch (kind) {
	case MUTEX:
		return handoff_mutex_lock(&r->mutex) +
		    handoff_mutex_unlock(&r->mutex);
	case COND:
		return wait_for_cond(r);
	case SEM:
		return handoff_sem_wait(&r->sem);
	case EVENT:
		return handoff_event_wait(&r->event);
	case RWLOCK:
		return handoff_rwlock_rdlock(&r->rwlock) +
		    handoff_rwlock_rdunlock(&r->rwlock);
	case BARRIER:
		return handoff_barrier_wait(&r->barrier, NULL);
	case WORD32:
		return handoff_word32_wait(&r->word32, 0);
	case WORD64:
		return handoff_word64_wait(&r->word64, 0);
	default:
		return handoff_baton_wait(&r->baton, 1) +
		    handoff_baton_pass(&r->baton, 0);
	}
}

/* Makes the wait that follows block. */
static int begin(struct room *r, unsigned kind)
{
	switch (kind) {
	case MUTEX:
		return handoff_mutex_lock(&r->mutex);
	case RWLOCK:
		return handoff_rwlock_wrlock(&r->rwlock);
	case BATON:
		return handoff_baton_wait(&r->baton, 0);
	default:
		return 0;
	}
}

/* Has it end. */
static int end(struct room *r, unsigned kind)
{
	switch (kind) {
	case MUTEX:
		return handoff_mutex_unlock(&r->mutex);
	case COND:
		if (handoff_mutex_lock(&r->beside) != 0)
			return -1;
		r->ready = 1;
		return handoff_cond_signal(&r->cond) +
		    handoff_mutex_unlock(&r->beside);
	case SEM:
		return handoff_sem_post(&r->sem, 1);
	case EVENT:
		return handoff_event_set(&r->event);
	case RWLOCK:
		return handoff_rwlock_wrunlock(&r->rwlock);
	case BARRIER:
		return handoff_barrier_wait(&r->barrier, NULL);
	case WORD32:
		handoff_word32_store(&r->word32, 1);
		return handoff_word32_wake(&r->word32, 1);
	case WORD64:
		handoff_word64_store(&r->word64, 1);
		return handoff_word64_wake(&r->word64, 1);
	default:
		return handoff_baton_pass(&r->baton, 1);
	}
}

/* "name:kind": waits twice. */
static int part_waiter(const char *arg)
{
	unsigned kind;
	struct room *r = join_room(arg, &kind);

	for (unsigned i = 0; i < 2; i++) {
		say("waits");
		OK(wait_for(r, kind));
		say("done");
		await("next");
	}
	return 0;
}

static struct handoff_statistics read_statistics(const void *object)
{
	struct handoff_statistics s = { .size = sizeof s,
		.contended = 99,
		.parks = 99,
		.longest = 99 };

	assert_int_equal(handoff_statistics(object, &s), 0);
	assert_int_equal(s.size, sizeof s);
	return s;
}

static void assert_nothing_noted(const void *object)
{
	struct handoff_statistics s = read_statistics(object);

	assert_int_equal(s.contended, 0);
	assert_int_equal(s.parks, 0);
	assert_int_equal(s.longest, 0);
}

/* One wait that blocks for longer than `least` seconds, at the end of which
 * there have been `n`. */
static void block_once(struct room *r, unsigned kind, struct process *p,
    double least, unsigned n)
{
	const void *object = object_of(r, kind);
	uint64_t longest = read_statistics(object).longest;
	struct handoff_statistics s;
	double from;

	assert_int_equal(begin(r, kind), 0);
	from = seconds_now();
	if (n == 1) {
		char arg[32];

		snprintf(arg, sizeof arg, "statistics:%u", kind);
		*p = start("waiter", arg);
	} else {
		tell(p, "next");
	}
	expect(p, "waits");
	settle(p->pid);
	sleep_seconds(least);
	assert_int_equal(end(r, kind), 0);
	expect(p, "done");
	s = read_statistics(object);
	assert_int_equal(s.contended, n);
	assert_true(s.parks >= n);
	assert_true((double)s.longest <= (seconds_now() - from) * 1e9 ||
	    s.longest == longest);
	assert_true((double)s.longest >= least * 1e9 / 2);
	assert_true(s.longest >= longest);
	assert_int_equal(s.longest % 1000, 0);
	/* Ready for the next. */
	handoff_word32_store(&r->word32, 0);
	handoff_word64_store(&r->word64, 0);
}

static void waits_that_block_are_counted(void **state)
{
	struct room *r = open_room("statistics");

	(void)state;
	setenv("HANDOFF_WAIT", "block", 1);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct process p;

		assert_nothing_noted(object_of(r, kind));
		block_once(r, kind, &p, 0.04, 1);
		block_once(r, kind, &p, 0.01, 2);
		tell(&p, "next");
		assert_int_equal(finish(&p), 0);
	}
	unsetenv("HANDOFF_WAIT");
	close_room(r, "statistics");
}

static void a_wait_that_ends_by_its_deadline_is_counted_too(void **state)
{
	struct room *r = open_room("late");
	struct handoff_statistics s;

	(void)state;
	assert_int_equal(handoff_sem_wait_until(&r->sem, 0), ETIMEDOUT);
	assert_int_equal(handoff_sem_wait_until(&r->sem, soon(0.03)),
	    ETIMEDOUT);
	s = read_statistics(&r->sem);
	assert_int_equal(s.contended, 1);
	assert_true(s.longest >= 10000000);
	close_room(r, "late");
}

static void what_does_not_block_is_not_counted(void **state)
{
	struct room *r = open_room("quiet");

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(handoff_mutex_lock(&r->mutex), 0);
		assert_int_equal(handoff_mutex_trylock(&r->mutex), EBUSY);
		assert_int_equal(handoff_mutex_unlock(&r->mutex), 0);
		assert_int_equal(handoff_cond_broadcast(&r->cond), 0);
		assert_int_equal(handoff_sem_post(&r->sem, 1), 0);
		assert_int_equal(handoff_sem_wait(&r->sem), 0);
		assert_int_equal(handoff_sem_trywait(&r->sem), EBUSY);
		assert_int_equal(handoff_event_set(&r->event), 0);
		assert_int_equal(handoff_event_wait(&r->event), 0);
		assert_int_equal(handoff_rwlock_rdlock(&r->rwlock), 0);
		assert_int_equal(handoff_rwlock_rdunlock(&r->rwlock), 0);
		assert_int_equal(handoff_word32_wait(&r->word32, 1), 0);
		assert_int_equal(handoff_word64_wait(&r->word64, 1), 0);
		assert_int_equal(handoff_baton_wait(&r->baton, 0), 0);
		assert_int_equal(handoff_baton_pass(&r->baton, 0), 0);
	}
	for (unsigned kind = 0; kind < KINDS; kind++)
		assert_nothing_noted(object_of(r, kind));
	close_room(r, "quiet");
}

static void statistics_begin_anew_and_refuse_what_is_no_object(void **state)
{
	struct room *r = open_room("none");
	struct handoff_statistics s = { .size = sizeof s };

	(void)state;
	assert_int_equal(handoff_sem_wait_until(&r->sem, soon(0.01)),
	    ETIMEDOUT);
	assert_int_equal(read_statistics(&r->sem).contended, 1);
	assert_int_equal(handoff_sem_destroy(&r->sem), 0);
	assert_int_equal(handoff_statistics(&r->sem, &s), EINVAL);
	assert_int_equal(handoff_sem_init(&r->sem, 0, NULL), 0);
	assert_nothing_noted(&r->sem);
	assert_int_equal(handoff_statistics(NULL, &s), EINVAL);
	assert_int_equal(handoff_statistics(r->more, &s), EINVAL);
	memset(r->more, 0xff, sizeof r->more);
	assert_int_equal(handoff_statistics(r->more, &s), EINVAL);
	for (size_t size = 0; size <= sizeof s + 8; size++) {
		s.size = size;
		assert_int_equal(handoff_statistics(&r->sem, &s),
		    size == sizeof s ? 0 : EINVAL);
	}
	close_room(r, "none");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "member", part_member },
		{ "guest", part_guest },
		{ "parent", part_parent },
		{ "waiter", part_waiter },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_who_have_it_open_are_told_of),
		TEST(a_process_is_told_of_once),
		FORK_TEST(a_child_of_fork_has_it_open_too),
		TEST(who_asks_may_stop),
		TEST(who_is_told_may_use_the_library),
		TEST(the_places_of_the_dead_are_used_again),
		TEST(more_than_there_is_room_for_do_no_harm),
		TEST(bad_arguments_are_refused),
		TEST(waits_that_block_are_counted),
		TEST(a_wait_that_ends_by_its_deadline_is_counted_too),
		TEST(what_does_not_block_is_not_counted),
		TEST(statistics_begin_anew_and_refuse_what_is_no_object),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
