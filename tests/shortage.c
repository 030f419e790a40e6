/* SPDX-License-Identifier: ISC */
/*
 * When there is no room, in a file system, for descriptors or in memory: an
 * error that says so, nothing lost, and all works again later (G40); and what
 * comes and goes leaves nothing behind (G24).
 */
#define _GNU_SOURCE
#include "primitives.h"
#include "sanitized.h"
#include "segments.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define PAGE 4096u

/* ---- A full file system -------------------------------------------------- */

/* Replaces the run's directory for this process alone: 77 if it may not. */
static int small_directory(const char *options)
{
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", run_directory(), "tmpfs", 0, options) != 0)
		return 77;
	return 0;
}

/* There is room for two of the smallest. */
static void make_and_remove(unsigned me)
{
	unsigned made = 0;
	char name[16];

	alarm(20);
	snprintf(name, sizeof name, "n%u", me);
	for (int i = 0; i < 300 || made == 0; i++) {
		size_t bytes = (size_t)PAGE * (1 + (unsigned)i % 3);
		handoff_segment *s;
		int e = open_segment(&s, name, CREATE | HANDOFF_EXCLUSIVE,
		    bytes);

		if (e != 0) {
			RESULT(e, ENOSPC);
			CHECK(s == NULL);
			RESULT(open_bytes(name, 0, 0), ENOENT);
			continue;
		}
		/* Reserved: this does not end in SIGBUS. */
		memset(handoff_segment_memory(s), 1, bytes);
		OK(handoff_unlink(name));
		OK(handoff_close(s));
		made++;
	}
}

static int part_makers(const char *unused)
{
	handoff_segment *s;
	pid_t makers[6];
	int e = small_directory("size=16k");

	(void)unused;
	if (e != 0)
		return e;
	for (unsigned i = 0; i < 6; i++) {
		makers[i] = fork();
		if (makers[i] == 0) {
			make_and_remove(i);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < 6; i++)
		join_child(makers[i]);
	CHECK(count_names() == 0);
	/* All of it is there again. */
	OK(open_segment(&s, "all", CREATE, (size_t)3 * PAGE));
	memset(handoff_segment_memory(s), 1, (size_t)3 * PAGE);
	return 0;
}

static int part_inodes(const char *unused)
{
	handoff_segment *s;
	handoff_segment *t;
	int e = small_directory("size=1m,nr_inodes=3");

	(void)unused;
	if (e != 0)
		return e;
	/* One is the directory's. */
	for (int i = 0; i < 100; i++) {
		OK(open_segment(&s, "one", CREATE, PAGE));
		OK(open_segment(&t, "two", CREATE, PAGE));
		RESULT(open_bytes("three", CREATE, 1), ENOSPC);
		CHECK(count_names() == 2);
		OK(handoff_close(s));
		OK(handoff_close(t));
		RESULT(open_bytes("three", CREATE, 1), ENOSPC);
		OK(handoff_unlink("one"));
		OK(handoff_unlink("two"));
	}
	CHECK(umount2(run_directory(), MNT_DETACH) == 0);
	if (mount("none", run_directory(), "tmpfs", 0, "nr_inodes=1") != 0)
		return 77;
	RESULT(open_bytes("one", CREATE, 1), ENOSPC);
	RESULT(open_bytes("one", 0, 0), ENOENT);
	CHECK(count_names() == 0);
	return 0;
}

static void play_as_root(const char *part)
{
	struct process p = start(part, "");
	int status = finish(&p);

	if (status == 77)
		SKIP("mounting needs the rights of root");
	GIVES(status, 0);
}

static void several_makers_share_what_room_there_is(void **state)
{
	(void)state;
	play_as_root("makers");
}

static void without_inodes_making_is_enospc(void **state)
{
	(void)state;
	play_as_root("inodes");
}

/* A limit on the size of files is one more way for there to be no room. */
static volatile sig_atomic_t signals;

static void count_signal(int signal)
{
	(void)signal;
	signals++;
}

static void make_under_a_limit(void)
{
	handoff_segment *s;

	RESULT(open_bytes("limit", CREATE, (size_t)4 * PAGE), ENOSPC);
	RESULT(open_bytes("limit", 0, 0), ENOENT);
	CHECK(count_names() == 0);
	OK(open_segment(&s, "limit", CREATE, PAGE));
	OK(handoff_close(s));
	OK(handoff_unlink("limit"));
}

/* Whatever the program does about the signal, it is not told of. */
static int part_file_size(const char *unused)
{
	struct rlimit l = { (rlim_t)3 * PAGE, RLIM_INFINITY };
	sigset_t limit;
	sigset_t now;

	(void)unused;
	CHECK(setrlimit(RLIMIT_FSIZE, &l) == 0);
	make_under_a_limit();
	signal(SIGXFSZ, count_signal);
	make_under_a_limit();
	CHECK(signals == 0);
	signal(SIGXFSZ, SIG_IGN);
	make_under_a_limit();
	/* One that waits to be taken already still does. */
	signal(SIGXFSZ, count_signal);
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	CHECK(sigprocmask(SIG_BLOCK, &limit, NULL) == 0);
	CHECK(raise(SIGXFSZ) == 0);
	make_under_a_limit();
	CHECK(sigpending(&now) == 0 && sigismember(&now, SIGXFSZ) == 1);
	CHECK(signals == 0);
	CHECK(sigprocmask(SIG_UNBLOCK, &limit, NULL) == 0);
	CHECK(signals == 1);
	return 0;
}

/* ---- Joining ------------------------------------------------------------- */

static struct rlimit at_most(const struct rlimit *now, rlim_t to)
{
	return (struct rlimit){ to < now->rlim_max ? to : now->rlim_max,
		now->rlim_max };
}

static void limit_descriptors(rlim_t to)
{
	struct rlimit l;

	CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0);
	l = at_most(&l, to);
	CHECK(setrlimit(RLIMIT_NOFILE, &l) == 0);
}

static void limit_memory(rlim_t to)
{
	struct rlimit l;

	CHECK(getrlimit(RLIMIT_AS, &l) == 0);
	l = at_most(&l, to);
	CHECK(setrlimit(RLIMIT_AS, &l) == 0);
}

static size_t address_space(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	return n > 0 ? (size_t)strtoul(text, NULL, 10) * PAGE : 0;
}

/* Every first call of a child needs what there is not. */
static void first_calls_fail(struct room *r, int most)
{
	struct handoff_info info = { .size = sizeof info };

	for (int i = 0; i < 3; i++) {
		int e[] = { handoff_mutex_lock(&r->mutex),
			handoff_mutex_trylock(&r->mutex),
			handoff_rwlock_rdlock(&r->rwlock),
			handoff_rwlock_wrlock(&r->rwlock),
			handoff_sem_wait_until(&r->sem, soon(5)),
			handoff_barrier_wait_until(&r->barrier, NULL, soon(5)),
			handoff_baton_wait_until(&r->baton, 0, soon(5)),
			handoff_info(r, &info) };

		for (size_t n = 0; n < sizeof e / sizeof *e; n++) {
			CHECK(e[n] == EAGAIN || e[n] == most);
		}
		RESULT(handoff_mutex_unlock(&r->mutex), EPERM);
	}
}

/* But for those of which the next child would hear that this one has ended. */
static void all_works(struct room *r)
{
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		if (primitives[i].told && !primitives[i].owned)
			continue;
		if (primitives[i].hold)
			OK(primitives[i].hold(r));
		OK(primitives[i].let_go(r));
		OK(primitives[i].wait(r, soon(5)));
	}
}

static void join_without_descriptors(struct room *r)
{
	struct rlimit before;

	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	limit_descriptors(0);
	first_calls_fail(r, EAGAIN);
	limit_descriptors(before.rlim_cur);
	all_works(r);
}

static void join_without_memory(struct room *r)
{
	limit_memory(address_space());
	first_calls_fail(r, ENOMEM);
	limit_memory(RLIM_INFINITY);
	all_works(r);
}

/* "name": children of one that has used it. */
static int part_join(const char *arg)
{
	static void (*const ways[])(struct room *
	    r) = { join_without_descriptors, join_without_memory };
	struct room *r = join_room(arg, NULL);

	OK(handoff_mutex_lock(&r->mutex));
	OK(handoff_mutex_unlock(&r->mutex));
	for (size_t i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0) {
			ways[i](r);
			_exit(0);
		}
		join_child(child);
	}
	return 0;
}

static void a_child_that_cannot_join_can_later(void **state)
{
	struct room *r = make_room("shortage", NULL);
	struct process p = start("join", "shortage");

	(void)state;
	GIVES(finish(&p), 0);
	/* What could not be had was neither taken nor counted. */
	for (unsigned i = 0; i < PRIMITIVES; i++)
		if (primitives[i].owned)
			GIVES(primitives[i].wait(r, 0), 0);
	close_room(r, "shortage");
}

/* ---- Locking ------------------------------------------------------------- */

#define LOCKS 64

static handoff_mutex locks[LOCKS];

/* Without memory for more than what a thread has at first. */
static void *lock_many(void *arg)
{
	int n;
	int e = 0;

	(void)arg;
	OK(handoff_mutex_lock(&locks[0]));
	limit_memory(address_space());
	for (n = 1; n < LOCKS; n++)
		if ((e = handoff_mutex_lock(&locks[n])) != 0)
			break;
	CHECK(n > 1 && n < LOCKS);
	RESULT(e, ENOMEM);
	RESULT(handoff_mutex_trylock(&locks[n]), ENOMEM);
	RESULT(handoff_mutex_unlock(&locks[n]), EPERM);
	limit_memory(RLIM_INFINITY);
	for (; n < LOCKS; n++)
		OK(handoff_mutex_lock(&locks[n]));
	while (n-- > 0)
		OK(handoff_mutex_unlock(&locks[n]));
	return NULL;
}

/* The thread's first lock of all. */
static void *lock_first(void *arg)
{
	struct room *r = arg;

	limit_memory(address_space());
	first_calls_fail(r, ENOMEM);
	limit_memory(RLIM_INFINITY);
	all_works(r);
	return NULL;
}

/* "name": the owner has died; there is memory neither for stack nor heap. */
static void recover(struct room *r)
{
	limit_memory(address_space());
	RESULT(handoff_mutex_lock_until(&r->mutex, soon(5)), EOWNERDEAD);
	OK(handoff_mutex_consistent(&r->mutex));
	OK(handoff_mutex_unlock(&r->mutex));
	limit_memory(RLIM_INFINITY);
}

static int part_lock(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	pthread_t thread;

	for (int i = 0; i < LOCKS; i++)
		OK(handoff_mutex_init(&locks[i], NULL));
	CHECK(pthread_create(&thread, NULL, lock_many, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, lock_first, r) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	say("recover");
	await("dead");
	recover(r);
	return 0;
}

static int part_hold(const char *arg)
{
	struct room *r = join_room(arg, NULL);

	OK(handoff_mutex_lock(&r->mutex));
	say("holds");
	linger();
	return 0;
}

static void without_memory_a_lock_is_not_taken(void **state)
{
	struct room *r = make_room("shortage", NULL);
	struct process p = start("lock", "shortage");
	struct process h;

	(void)state;
	if (address_space() == 0)
		SKIP("the size of the address space is not known");
	expect(&p, "recover");
	h = start("hold", "shortage");
	expect(&h, "holds");
	kill_hard(&h);
	tell(&p, "dead");
	GIVES(finish(&p), 0);
	close_room(r, "shortage");
}

/* ---- Coming and going ---------------------------------------------------- */

#define CYCLES 1500
#define THREADS 10000
#define FEW (64 * (size_t)PAGE)

struct left {
	unsigned descriptors;
	unsigned mappings;
	unsigned names;
	size_t bytes;
};

static struct left left_now(void)
{
	return (struct left){ count_descriptors(), count_mappings(),
		count_names(), address_space() };
}

/* Nothing is; what the C library keeps of memory is bounded, what a sanitizer
 * keeps is not. */
static void check_left(const struct left *before)
{
	struct left now = left_now();

	CHECK(now.descriptors == before->descriptors);
	CHECK(now.names == before->names);
#ifndef SANITIZED
	CHECK(now.mappings <= before->mappings + 4);
	CHECK(now.bytes <= before->bytes + FEW);
#endif
}

static int fails(void *memory, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	/* What it had locked goes with the memory. */
	OK(handoff_mutex_init(memory, NULL));
	OK(handoff_mutex_lock(memory));
	return 4711;
}

static void *open_by_kind(unsigned kind)
{
	union {
		handoff_mutex *mutex;
		handoff_cond *cond;
		handoff_sem *sem;
		handoff_event *event;
		handoff_rwlock *rwlock;
		handoff_barrier *barrier;
		handoff_word32 *word32;
		handoff_word64 *word64;
		handoff_baton *baton;
		void *any;
	} o = { .any = NULL };

	switch (kind) {
	case 0:
		OK(handoff_mutex_open(&o.mutex, "k", CREATE, 0600, NULL));
		OK(handoff_mutex_lock(o.mutex));
		OK(handoff_mutex_unlock(o.mutex));
		break;
	case 1:
		OK(handoff_cond_open(&o.cond, "k", CREATE, 0600, NULL));
		OK(handoff_cond_signal(o.cond));
		break;
	case 2:
		OK(handoff_sem_open(&o.sem, "k", CREATE, 0600, 1, NULL));
		OK(handoff_sem_wait(o.sem));
		break;
	case 3:
		OK(handoff_event_open(&o.event, "k", CREATE, 0600, NULL));
		OK(handoff_event_set(o.event));
		break;
	case 4:
		OK(handoff_rwlock_open(&o.rwlock, "k", CREATE, 0600, NULL));
		OK(handoff_rwlock_rdlock(o.rwlock));
		OK(handoff_rwlock_rdunlock(o.rwlock));
		break;
	case 5:
		OK(handoff_barrier_open(&o.barrier, "k", CREATE, 0600, 1,
		    NULL));
		OK(handoff_barrier_wait(o.barrier, NULL));
		break;
	case 6:
		OK(handoff_word32_open(&o.word32, "k", CREATE, 0600, 0, NULL));
		OK(handoff_word32_wake(o.word32, 1));
		break;
	case 7:
		OK(handoff_word64_open(&o.word64, "k", CREATE, 0600, 0, NULL));
		OK(handoff_word64_wake(o.word64, 1));
		break;
	default:
		OK(handoff_baton_open(&o.baton, "k", CREATE, 0600, 2, NULL));
		OK(handoff_baton_wait(o.baton, 0));
	}
	return o.any;
}

/* Each kind of object, and each way to fail. */
static int part_cycles(const char *unused)
{
	struct handoff_segment_options bad = { sizeof bad, 64, 1, fails, NULL };
	handoff_segment *s;
	handoff_mutex *m;
	struct left before;

	(void)unused;
	OK(open_segment(&s, "taken", CREATE, 64));
	OK(handoff_close(open_by_kind(0)));
	OK(handoff_unlink("k"));
	before = left_now();
	for (unsigned i = 0; i < CYCLES; i++) {
		void *object = open_by_kind(i % 9);

		if (i % 2)
			OK(handoff_close(object));
		OK(handoff_unlink("k"));
		if (i % 2 == 0)
			OK(handoff_close(object));
		RESULT(handoff_segment_open(&s, "bad", CREATE, 0600, &bad),
		    4711);
		RESULT(open_bytes("taken", CREATE | HANDOFF_EXCLUSIVE, 64),
		    EEXIST);
		RESULT(open_bytes("taken", CREATE, 128), EPROTO);
		RESULT(handoff_mutex_open(&m, "taken", 0, 0, NULL), EPROTO);
		RESULT(open_bytes("huge", CREATE, (size_t)1 << 60), ENOSPC);
		RESULT(open_bytes("none", 0, 0), ENOENT);
	}
	check_left(&before);
	OK(handoff_unlink("taken"));
	return 0;
}

static void *come_and_go(void *arg)
{
	handoff_mutex *m = arg;

	/* More than a thread has room for at first. */
	for (int i = 0; i < 20; i++)
		OK(handoff_mutex_lock(&m[i]));
	for (int i = 0; i < 20; i++)
		OK(handoff_mutex_unlock(&m[i]));
	return NULL;
}

static int part_threads(const char *unused)
{
	struct left before = { 0, 0, 0, 0 };
	handoff_segment *s;
	handoff_mutex *m;

	(void)unused;
	OK(open_segment(&s, "threads", CREATE, 20 * sizeof *m));
	m = handoff_segment_memory(s);
	for (int i = 0; i < 20; i++)
		OK(handoff_mutex_init(&m[i], NULL));
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (i == 100)
			before = left_now();
		CHECK(pthread_create(&thread, NULL, come_and_go, m) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	check_left(&before);
	OK(handoff_close(s));
	OK(handoff_unlink("threads"));
	return 0;
}

static void play(const char *part)
{
	struct process p = start(part, "");

	GIVES(finish(&p), 0);
}

static void a_limit_of_file_sizes_is_enospc(void **state)
{
	(void)state;
	play("file size");
}

static void every_kind_comes_and_goes(void **state)
{
	(void)state;
	play("cycles");
}

static void threads_come_and_go(void **state)
{
	(void)state;
	play("threads");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "makers", part_makers },
		{ "inodes", part_inodes },
		{ "file size", part_file_size },
		{ "join", part_join },
		{ "lock", part_lock },
		{ "hold", part_hold },
		{ "cycles", part_cycles },
		{ "threads", part_threads },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(several_makers_share_what_room_there_is),
		TEST(without_inodes_making_is_enospc),
		TEST(a_limit_of_file_sizes_is_enospc),
		TEST(a_child_that_cannot_join_can_later),
		TEST(without_memory_a_lock_is_not_taken),
		TEST(every_kind_comes_and_goes),
		TEST(threads_come_and_go),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("shortage", tests, NULL, NULL));
}
