/* SPDX-License-Identifier: ISC */
/*
 * handoff(7): what others change in the midst of one call, or between two: a
 * header, an object's ids, the file itself.  Built against the library with
 * points, at which the change is made.
 */
#define _GNU_SOURCE
#include "object.h"
#include "points.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define PAGE 4096u
#define POINTS 200 /* no call here has as many */

/* ---- Helpers ----------------------------------------------------------- */

static int open_bytes(handoff_segment **s, const char *name, size_t bytes,
    uint32_t kind)
{
	const struct handoff_segment_options o = { sizeof o, bytes, kind, NULL,
		NULL };

	return handoff_segment_open(s, name, CREATE, 0600, &o);
}

static const char *path_of(const char *name)
{
	static char path[300];

	snprintf(path, sizeof path, "%s/handoff.%s", run_directory(), name);
	return path;
}

static struct handoff__segment_header *header_of(handoff_segment *s)
{
	return (struct handoff__segment_header *)(void *)s;
}

/* ---- A segment that becomes another one -------------------------------- */

/* Says that it holds so many bytes, and does. */
static void grow(handoff_segment *s, const char *name, uint64_t bytes)
{
	assert_int_equal(truncate(path_of(name), (off_t)(4096 + bytes)), 0);
	header_of(s)->bytes = bytes;
	header_of(s)->total = 4096 + bytes;
}

static void a_segment_that_has_grown_is_not_taken_for_what_is_mapped(
    void **state)
{
	handoff_segment *s;
	handoff_segment *t;

	(void)state;
	assert_int_equal(open_bytes(&s, "grown", 64, 7), 0);
	grow(s, "grown", 1u << 20);
	assert_int_equal(open_bytes(&t, "grown", 1u << 20, 7), EPROTO);
	assert_null(t);
	assert_int_equal(open_bytes(&t, "grown", 64, 7), EPROTO);
	/* Whatever it has: what this process has of it. */
	assert_int_equal(open_bytes(&t, "grown", 0, 0), 0);
	assert_ptr_equal(t, s);
	assert_int_equal(handoff_segment_bytes(t), 64);
	assert_int_equal(handoff_close(t), 0);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(open_bytes(&s, "grown", 1u << 20, 7), 0);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(handoff_unlink("grown"), 0);
}

static void a_segment_of_a_new_kind_is_not_taken_for_it(void **state)
{
	handoff_segment *s;
	handoff_baton *b;

	(void)state;
	assert_int_equal(open_bytes(&s, "kind", 64, 7), 0);
	grow(s, "kind", sizeof *b);
	header_of(s)->kind = HANDOFF_KIND_BATON;
	((struct handoff__head *)handoff_segment_memory(s))->tag = HANDOFF__TAG(
	    (uint32_t)HANDOFF__BATON);
	((struct handoff__head *)handoff_segment_memory(s))->segment =
	    header_of(s)->id;
	assert_int_equal(handoff_baton_open(&b, "kind", 0, 0, 2, NULL), EPROTO);
	assert_null(b);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(handoff_unlink("kind"), 0);
}

/* ---- A copy of a segment ----------------------------------------------- */

static int hold(const char *name)
{
	handoff_mutex *m;

	OK(handoff_mutex_open(&m, name, 0, 0, NULL));
	OK(handoff_mutex_lock(m));
	say("held");
	await("end");
	OK(handoff_mutex_unlock(m));
	return 0;
}

static void copy_file(const char *from, const char *to)
{
	unsigned char bytes[8192];
	ssize_t n;
	int fd = open(path_of(from), O_RDONLY);

	assert_true(fd >= 0);
	n = read(fd, bytes, sizeof bytes);
	close(fd);
	fd = open(path_of(to), O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0 && write(fd, bytes, (size_t)n) == n);
	close(fd);
}

/* It has the other's id, by which owners are looked for: nobody may look in
 * the copy for one that lives in the original. */
static void a_copy_beside_its_original_is_refused(void **state)
{
	handoff_mutex *m;
	handoff_mutex *copy;
	struct process p;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "one", CREATE, 0600, NULL), 0);
	p = start("hold", "one");
	expect(&p, "held");
	copy_file("one", "two");
	assert_int_equal(handoff_mutex_open(&copy, "two", 0, 0, NULL), EPROTO);
	assert_null(copy);
	assert_int_equal(handoff_mutex_lock_until(m, soon(0.05)), ETIMEDOUT);
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_lock(m), 0);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_int_equal(handoff_close(m), 0);
	/* Alone it is one like any other. */
	assert_int_equal(handoff_mutex_open(&copy, "two", 0, 0, NULL), 0);
	assert_int_equal(handoff_mutex_open(&m, "one", 0, 0, NULL), EPROTO);
	assert_int_equal(handoff_unlink("one"), 0);
	assert_int_equal(handoff_close(copy), 0);
	assert_int_equal(handoff_unlink("two"), 0);
}

/* ---- Ids --------------------------------------------------------------- */

/* At the n-th point the id becomes another. */
static struct handoff__head *victim;
static uint64_t new_id;
static unsigned long points;
static unsigned long change_at;

static void change_id(void)
{
	if (points++ == change_at)
		victim->id = new_id;
}

static void change_segment(void)
{
	if (points++ == change_at)
		victim->segment = new_id;
}

static void at_point(unsigned long n, void (*hook)(void))
{
	points = 0;
	change_at = n;
	handoff__point_hook = hook;
}

/* The mutex of a condition, locked twice: it is so after the wait, whenever
 * its id changed. */
static void a_mutex_whose_id_changes_is_as_deep_after_a_wait(void **state)
{
	const struct handoff_mutex_attr recursive = { sizeof recursive,
		HANDOFF_RECURSIVE, 0, 0 };
	handoff_mutex m;
	handoff_cond c;
	unsigned long n;

	(void)state;
	for (n = 0; n < POINTS; n++) {
		uint64_t id;
		int e;

		assert_int_equal(handoff_mutex_init(&m, &recursive), 0);
		assert_int_equal(handoff_cond_init(&c, NULL), 0);
		victim = (struct handoff__head *)(void *)&m;
		id = victim->id;
		new_id = id ^ 0x10;
		assert_int_equal(handoff_mutex_lock(&m), 0);
		assert_int_equal(handoff_mutex_lock(&m), 0);
		at_point(n, change_id);
		assert_int_equal(handoff_cond_wait_until(&c, &m, soon(0.001)),
		    ETIMEDOUT);
		handoff__point_hook = NULL;
		/* It is held by the one id or the other. */
		e = handoff_mutex_unlock(&m);
		if (e != 0) {
			assert_int_equal(e, EPERM);
			victim->id = id;
			assert_int_equal(handoff_mutex_unlock(&m), 0);
		}
		assert_int_equal(handoff_mutex_unlock(&m), 0);
		assert_int_equal(handoff_mutex_unlock(&m), EPERM);
		assert_int_equal(handoff_cond_destroy(&c), 0);
		assert_int_equal(handoff_mutex_destroy(&m), 0);
		if (points <= n)
			break;
	}
	assert_in_range(n, 5, POINTS - 1);
}

static int die_holding(const char *name)
{
	handoff_mutex *m;

	OK(handoff_mutex_open(&m, name, 0, 0, NULL));
	OK(handoff_mutex_lock(m));
	say("held");
	linger();
	return 0;
}

/* Who asks after an owner gives back what it took in order to ask, whatever
 * segment the mutex says it is in by then. */
static void a_mutex_whose_segment_changes_keeps_nothing_taken(void **state)
{
	unsigned descriptors;
	handoff_mutex *m;
	uint64_t segment;
	unsigned long n;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "ask", CREATE, 0600, NULL), 0);
	victim = (struct handoff__head *)(void *)m;
	segment = victim->segment;
	new_id = segment ^ 1;
	descriptors = count_descriptors();
	for (n = 0; n < POINTS; n++) {
		struct process p = start("die_holding", "ask");
		int e;

		expect(&p, "held");
		kill_hard(&p);
		at_point(n, change_segment);
		e = handoff_mutex_lock_until(m, soon(0.02));
		handoff__point_hook = NULL;
		victim->segment = segment;
		if (e == ETIMEDOUT)
			e = handoff_mutex_lock(m);
		assert_int_equal(e, EOWNERDEAD);
		assert_int_equal(handoff_mutex_consistent(m), 0);
		assert_int_equal(handoff_mutex_unlock(m), 0);
		assert_int_equal(count_descriptors(), descriptors);
		if (points <= n)
			break;
	}
	assert_in_range(n, 2, POINTS - 1);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_unlink("ask"), 0);
}

/* ---- The end of a thread ------------------------------------------------ */

static int touchable(const void *at)
{
	int fd[2];
	int is;

	CHECK(pipe(fd) == 0);
	is = write(fd[1], at, 1) == 1;
	close(fd[0]);
	close(fd[1]);
	return is;
}

/* A segment of a page with nothing behind it. */
static unsigned char *last_page(void)
{
	handoff_segment *s;
	unsigned char *memory;

	for (int i = 0; i < 200; i++) {
		OK(open_bytes(&s, "edge", PAGE, 0));
		memory = handoff_segment_memory(s);
		if (!touchable(memory + PAGE))
			return memory;
		OK(handoff_close(s));
		CHECK(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		          -1, 0) != MAP_FAILED);
	}
	fprintf(stderr, "no segment has nothing behind it\n");
	_exit(99);
}

static void *lock_and_end(void *mutex)
{
	OK(handoff_mutex_lock(mutex));
	/* As if it was held to read, as part of a readers-writer lock. */
	((struct handoff__head *)mutex)->id =
	    ~((struct handoff__head *)mutex)->id;
	return NULL;
}

static int end_of_thread(const char *unused)
{
	unsigned char *memory = last_page();
	handoff_mutex *m = (void *)(memory + PAGE - sizeof *m);
	pthread_t thread;

	(void)unused;
	OK(handoff_mutex_init(m, NULL));
	CHECK(pthread_create(&thread, NULL, lock_and_end, m) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	/* It is another one by its id, so that nobody may give it back. */
	RESULT(handoff_mutex_trylock(m), EBUSY);
	OK(handoff_close(m));
	OK(handoff_unlink("edge"));
	return 0;
}

static void a_mutex_is_no_readers_writer_lock_when_its_thread_ends(void **state)
{
	struct process p = start("end_of_thread", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

/* ---- The file ----------------------------------------------------------- */

/* A stranger that has locked the bytes of all who could live. */
static int lock_all_life(const char *name)
{
	struct flock lock = { .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)1 << 40,
		.l_len = (off_t)1 << 32 };
	int fd = open(path_of(name), O_RDWR);

	CHECK(fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0);
	say("locked");
	await("end");
	return 0;
}

static void nobody_is_dead_while_all_lives_are_locked(void **state)
{
	handoff_mutex *m;
	handoff_mutex *again;
	struct process p[2];
	double began;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "life", CREATE, 0600, NULL), 0);
	p[0] = start("die_holding", "life");
	expect(&p[0], "held");
	kill_hard(&p[0]);
	assert_int_equal(handoff_close(m), 0);
	p[1] = start("lock_all_life", "life");
	expect(&p[1], "locked");
	began = seconds_now();
	assert_int_equal(handoff_mutex_open(&m, "life", 0, 0, NULL), EAGAIN);
	assert_int_equal(handoff_mutex_open(&again, "life", CREATE, 0600, NULL),
	    EAGAIN);
	assert_true(seconds_now() - began < 5);
	tell(&p[1], "end");
	assert_int_equal(finish(&p[1]), 0);
	assert_int_equal(handoff_mutex_open(&m, "life", 0, 0, NULL), 0);
	assert_int_equal(handoff_mutex_lock(m), EOWNERDEAD);
	assert_int_equal(handoff_mutex_unlock(m), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_unlink("life"), 0);
}

/* A descriptor of the file with a lease on it, or -1. */
static int lease_file(const char *name)
{
	int fd = open(path_of(name), O_RDWR | O_CLOEXEC);

	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
		return fd;
	close(fd);
	return -1;
}

static int lease(const char *name)
{
	CHECK(lease_file(name) >= 0);
	say("leased");
	await("end");
	return 0;
}

/* Opening it must not wait until the lease is given up. */
static void a_file_under_a_lease_is_eagain_at_once(void **state)
{
	struct process p;
	handoff_mutex *m;
	double began;
	int fd;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "lease", CREATE, 0600, NULL),
	    0);
	assert_int_equal(handoff_close(m), 0);
	fd = lease_file("lease");
	if (fd >= 0) {
		close(fd);
		p = start("lease", "lease");
		expect(&p, "leased");
		began = seconds_now();
		assert_int_equal(handoff_mutex_open(&m, "lease", 0, 0, NULL),
		    EAGAIN);
		assert_null(m);
		assert_true(seconds_now() - began < 5);
		tell(&p, "end");
		assert_int_equal(finish(&p), 0);
	}
	assert_int_equal(handoff_unlink("lease"), 0);
	if (fd < 0)
		SKIP("this file system has no leases");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "hold", hold },
		{ "die_holding", die_holding },
		{ "end_of_thread", end_of_thread },
		{ "lock_all_life", lock_all_life },
		{ "lease", lease },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_segment_that_has_grown_is_not_taken_for_what_is_mapped),
		TEST(a_segment_of_a_new_kind_is_not_taken_for_it),
		TEST(a_copy_beside_its_original_is_refused),
		TEST(a_mutex_whose_id_changes_is_as_deep_after_a_wait),
		TEST(a_mutex_whose_segment_changes_keeps_nothing_taken),
		TEST(a_mutex_is_no_readers_writer_lock_when_its_thread_ends),
		TEST(nobody_is_dead_while_all_lives_are_locked),
		TEST(a_file_under_a_lease_is_eagain_at_once),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
