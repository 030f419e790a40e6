/* SPDX-License-Identifier: ISC */
/*
 * handoff_segment(3): where names are, what happens when there is no room, in
 * files or on a stack, and errno.
 */
#define _GNU_SOURCE
#include "sanitized.h"
#include "segments.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE

/* ---- Places ------------------------------------------------------------ */

static int relative(const char *how)
{
	int later = strcmp(how, "later") == 0;

	CHECK(chdir(run_directory()) == 0);
	CHECK(setenv("HANDOFF_DIR", later ? "later" : ".", 1) == 0);
	if (later) {
		RESULT(open_bytes("place", CREATE, 64), ENOENT);
		CHECK(mkdir("later", 0700) == 0);
	}
	OK(open_bytes("place", CREATE | HANDOFF_EXCLUSIVE, 64));
	CHECK(chdir("/") == 0);
	OK(open_bytes("place", 0, 64));
	OK(open_bytes("other", CREATE | HANDOFF_EXCLUSIVE, 64));
	OK(handoff_unlink("place"));
	OK(handoff_unlink("other"));
	return 0;
}

/* G21 */
static void a_relative_directory_stays_the_same_place(void **state)
{
	struct process p = start("relative", "now");

	(void)state;
	assert_int_equal(finish(&p), 0);
	assert_int_equal(count_names(), 0);
}

/* G21 */
static void a_relative_directory_may_be_made_later(void **state)
{
	char path[300];
	struct process p = start("relative", "later");

	(void)state;
	assert_int_equal(finish(&p), 0);
	snprintf(path, sizeof path, "%s/later", run_directory());
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(count_names(), 0);
}

static int elsewhere(const char *unused)
{
	(void)unused;
	CHECK(setenv("TZ", "Pacific/Auckland", 1) == 0 &&
	    setenv("LC_ALL", "tr_TR.UTF-8", 1) == 0 &&
	    setenv("TMPDIR", "/nowhere", 1) == 0 &&
	    setenv("HOME", "/nowhere", 1) == 0 && chdir("/") == 0);
	umask(0777);
	OK(open_bytes("pair", 0, sizeof(struct pair)));
	return 0;
}

/* G21 */
static void the_place_depends_on_nothing_but_the_directory(void **state)
{
	struct pair *pair = make_pair();
	struct process p = start("elsewhere", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
	end_of(pair, "pair");
}

/* ---- No room ----------------------------------------------------------- */

/* Replaces the run's directory by a file system of 16 KiB, for this process
 * alone; 77 if it may not. */
static int fill_up(const char *unused)
{
	handoff_segment *s;
	handoff_segment *t;

	(void)unused;
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", run_directory(), "tmpfs", 0, "size=16k") != 0)
		return 77;
	RESULT(open_bytes("full", CREATE, 3 * 4096 + 1), ENOSPC);
	RESULT(open_bytes("full", CREATE, 64u << 20), ENOSPC);
	RESULT(open_bytes("full", CREATE, (size_t)1 << 50), ENOSPC);
	CHECK(count_names() == 0);
	OK(open_segment(&s, "full", CREATE, 3 * 4096));
	/* Reserved: this does not end in SIGBUS. */
	memset(handoff_segment_memory(s), 1, 3 * 4096);
	RESULT(open_bytes("more", CREATE, 1), ENOSPC);
	RESULT(open_bytes("more", 0, 0), ENOENT);
	CHECK(count_names() == 1);
	OK(handoff_close(s));
	OK(handoff_unlink("full"));
	for (int i = 0; i < 100; i++) {
		OK(open_segment(&s, "one", CREATE, 4096));
		OK(open_segment(&t, "two", CREATE, 1));
		RESULT(open_bytes("three", CREATE, 1), ENOSPC);
		CHECK(count_names() == 2);
		OK(handoff_close(s));
		OK(handoff_close(t));
		OK(handoff_unlink("one"));
		OK(handoff_unlink("two"));
	}
	return 0;
}

/* G40 */
static void a_full_file_system_is_enospc_and_leaves_no_name(void **state)
{
	struct process p = start("fill_up", NULL);
	int status = finish(&p);

	(void)state;
	if (status == 77)
		SKIP("mounting needs the rights of root");
	assert_int_equal(status, 0);
}

/* In a part: the result is one of two, and errno is as it was. */
static int either(int e, int other)
{
	CHECK(errno == 4711);
	if (e != 0)
		RESULT(e, other);
	return e;
}

static int close_and_remove(handoff_segment *s, const char *name)
{
	int e = handoff_close(s);

	return e != 0 ? e : handoff_unlink(name);
}

/* Lets `left` more descriptors be opened. */
static void limit_descriptors(unsigned left)
{
	struct rlimit limit = { 60, 60 };

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 0;
	for (int fd = 0; left + 1 > 0 && fd < 60; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && left-- == 0)
			break;
		limit.rlim_cur++;
	}
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Opens and makes segments while `left` descriptors can be had. */
static int few_descriptors(const char *left)
{
	unsigned n = (unsigned)atoi(left);
	unsigned before = count_descriptors();
	handoff_segment *made;
	handoff_segment *found;
	int e;

	limit_descriptors(n);
	errno = 4711;
	e = either(open_segment(&made, "made", CREATE, 64), EMFILE);
	CHECK((e == 0) == (made != NULL));
	CHECK(e == 0 ? n >= 1 : n < 5);
	limit_descriptors(n);
	errno = 4711;
	e = either(open_segment(&found, "pair", 0, 0), EMFILE);
	CHECK(e == 0 ? n >= 1 : n < 5);
	limit_descriptors(20);
	/* Now there are some: all works, and nothing is left of before. */
	CHECK(count_names() == 1u + (made != NULL));
	if (found)
		OK(handoff_close(found));
	if (made)
		OK(close_and_remove(made, "made"));
	for (int i = 0; i < 3; i++) {
		OK(open_segment(&made, "made", CREATE | HANDOFF_EXCLUSIVE, 64));
		OK(open_segment(&found, "pair", 0, 0));
		OK(handoff_close(found));
		OK(close_and_remove(made, "made"));
	}
	CHECK(count_descriptors() == before);
	return 0;
}

static void without_descriptors_opening_is_emfile(void **state)
{
	static const char *const left[] = { "0", "1", "2", "3", "4", "5" };
	struct pair *pair = make_pair();

	(void)state;
	for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
		struct process p = start("few_descriptors", left[i]);

		assert_int_equal(finish(&p), 0);
	}
	end_of(pair, "pair");
}

/* A process that has what it needs open goes on without descriptors, and
 * learns of deaths. */
static int no_descriptors(const char *unused)
{
	struct pair *pair;
	struct handoff_info info = { .size = sizeof info };
	int e;

	(void)unused;
	pair = open_pair("pair", 0, &e);
	OK(e);
	say("open");
	await("go");
	limit_descriptors(0);
	errno = 4711;
	RESULT(handoff_mutex_lock(&pair->mutex), EOWNERDEAD);
	OK(handoff_mutex_consistent(&pair->mutex));
	RESULT(handoff_cond_wait_until(&pair->cond, &pair->mutex,
	           handoff_after(1000000)),
	    ETIMEDOUT);
	OK(handoff_mutex_unlock(&pair->mutex));
	OK(handoff_info(pair, &info));
	CHECK(info.users == 2);
	OK(handoff_close(pair));
	CHECK(errno == 4711);
	return 0;
}

static void without_descriptors_deaths_are_seen(void **state)
{
	struct pair *pair = make_pair();
	struct process holder = start("hold_pair", NULL);
	struct process p = start("no_descriptors", NULL);

	(void)state;
	expect(&holder, "held");
	expect(&p, "open");
	kill_hard(&holder);
	tell(&p, "go");
	assert_int_equal(finish(&p), 0);
	end_of(pair, "pair");
}

/* A program without standard descriptors, which writes to them all the same. */
static int no_standard(const char *unused)
{
	struct pair *pair;
	handoff_segment *made;
	int e;

	(void)unused;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	pair = open_pair("pair", 0, &e);
	OK(e);
	OK(open_segment(&made, "made", CREATE, 64));
	RESULT(handoff_mutex_lock_until(&pair->mutex, soon(0.02)), ETIMEDOUT);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		CHECK(write(fd, "written", 7) == -1 && errno == EBADF);
	OK(close_and_remove(made, "made"));
	OK(handoff_close(pair));
	pair = open_pair("pair", 0, &e);
	OK(e);
	say("open");
	await("go");
	RESULT(handoff_mutex_lock(&pair->mutex), EOWNERDEAD);
	return 0;
}

static void the_standard_descriptors_are_left_alone(void **state)
{
	struct pair *pair = make_pair();
	struct process holder = start("hold_pair", NULL);
	struct process p;

	(void)state;
	expect(&holder, "held");
	p = start("no_standard", NULL);
	expect(&p, "open");
	kill_hard(&holder);
	tell(&p, "go");
	assert_int_equal(finish(&p), 0);
	end_of(pair, "pair");
}

static size_t address_space(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	return n > 0 ? (size_t)strtoul(text, NULL, 10) * 4096 : 0;
}

/* `pages` more pages of memory for the first use of the library. */
static int little_memory(const char *pages)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	handoff_segment *s;
	struct pair *pair;
	int e = 0;

	limit.rlim_cur = address_space() + 4096 * (size_t)atoi(pages);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	errno = 4711;
	RESULT(open_segment(&s, "big", CREATE, 64u << 20), ENOMEM);
	CHECK(errno == 4711 && s == NULL);
	pair = open_pair("pair", 0, &e);
	either(e, ENOMEM);
	if (pair) {
		e = either(handoff_mutex_lock(&pair->mutex), ENOMEM);
		if (e == 0)
			OK(handoff_mutex_unlock(&pair->mutex));
		OK(handoff_close(pair));
	}
	either(open_segment(&s, "small", CREATE, 64), ENOMEM);
	if (s)
		OK(close_and_remove(s, "small"));
	limit.rlim_cur = RLIM_INFINITY;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	CHECK(count_names() == 1);
	pair = open_pair("pair", 0, &e);
	OK(e);
	OK(handoff_mutex_lock(&pair->mutex));
	OK(handoff_mutex_unlock(&pair->mutex));
	OK(handoff_close(pair));
	return 0;
}

static void without_memory_opening_is_enomem(void **state)
{
	struct pair *pair = make_pair();
	char pages[8];

	(void)state;
	if (count_mappings() == 0)
		SKIP("the size of the address space is not known");
	for (int i = 0; i < 16; i++) {
		struct process p;

		snprintf(pages, sizeof pages, "%d", i);
		p = start("little_memory", pages);
		assert_int_equal(finish(&p), 0);
	}
	end_of(pair, "pair");
}

/* ---- errno ------------------------------------------------------------- */

static int ignore_name(const char *name, uint32_t kind, uint64_t bytes,
    void *ctx)
{
	(void)name;
	(void)kind;
	(void)bytes;
	(void)ctx;
	return 0;
}

#define KEEPS(call, expected)                     \
	do {                                      \
		errno = 4711;                     \
		assert_int_equal(call, expected); \
		assert_int_equal(errno, 4711);    \
	} while (0)

static void errno_is_never_touched(void **state)
{
	struct handoff_info info = { .size = sizeof info };
	struct pair *pair;
	int e;

	(void)state;
	KEEPS(open_bytes("pair", 0, 0), ENOENT);
	KEEPS((open_pair("pair", CREATE, &e), e), 0);
	pair = make_pair();
	KEEPS(open_bytes("pair", 0, 5), EPROTO);
	KEEPS(open_bytes("pair", CREATE | HANDOFF_EXCLUSIVE, 5), EEXIST);
	KEEPS(open_bytes("new", CREATE, (size_t)1 << 60), ENOSPC);
	KEEPS(handoff_info(pair, &info), 0);
	KEEPS(handoff_list(ignore_name, NULL), 0);
	KEEPS(handoff_mutex_lock(&pair->mutex), 0);
	KEEPS(handoff_mutex_lock(&pair->mutex), EDEADLK);
	KEEPS(handoff_mutex_trylock(&pair->mutex), EBUSY);
	KEEPS(handoff_close(pair), 0);
	KEEPS(handoff_close(pair), EBUSY);
	KEEPS(handoff_cond_wait_until(&pair->cond, &pair->mutex,
	          handoff_after(5000000)),
	    ETIMEDOUT);
	KEEPS(handoff_cond_broadcast(&pair->cond), 0);
	KEEPS(handoff_mutex_unlock(&pair->mutex), 0);
	KEEPS(handoff_mutex_unlock(&pair->mutex), EPERM);
	KEEPS(handoff_unlink("pair"), 0);
	KEEPS(handoff_unlink("pair"), ENOENT);
	KEEPS(handoff_info(pair, &info), 0);
	KEEPS(handoff_close(pair), 0);
	KEEPS(handoff_close(pair), EINVAL);
	assert_int_equal(count_names(), 0);
}

/* ---- The least stack --------------------------------------------------- */

#ifndef SANITIZED
#define SHORTLY handoff_after(5000000)

static struct pair small;
static handoff_sem small_sem;

/* The first waits of the process: whatever is asked once is asked here. */
static void *wait_for_all(void *arg)
{
	(void)arg;
	RESULT(handoff_sem_wait_until(&small_sem, SHORTLY), ETIMEDOUT);
	RESULT(handoff_mutex_lock_until(&small.mutex, SHORTLY), ETIMEDOUT);
	return NULL;
}

static int small_stack(const char *how)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)how;
	OK(handoff_sem_init(&small_sem, 0, NULL));
	OK(handoff_mutex_init(&small.mutex, NULL));
	OK(handoff_mutex_lock(&small.mutex));
	OK(pthread_attr_init(&attr));
	OK(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
	OK(pthread_create(&thread, &attr, wait_for_all, NULL));
	OK(pthread_join(thread, NULL));
	return 0;
}
#endif

static void a_thread_with_the_least_stack_can_wait(void **state)
{
	(void)state;
#ifdef SANITIZED
	puts("skipped: a sanitizer needs more stack than the least");
	skip();
#else
	struct process p = start("small_stack", "");

	assert_int_equal(finish(&p), 0);
#endif
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "relative", relative },
#ifndef SANITIZED
		{ "small_stack", small_stack },
#endif
		{ "elsewhere", elsewhere },
		{ "fill_up", fill_up },
		{ "few_descriptors", few_descriptors },
		{ "hold_pair", hold_pair },
		{ "no_descriptors", no_descriptors },
		{ "no_standard", no_standard },
		{ "little_memory", little_memory },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_relative_directory_stays_the_same_place),
		TEST(a_relative_directory_may_be_made_later),
		TEST(the_place_depends_on_nothing_but_the_directory),
		TEST(a_full_file_system_is_enospc_and_leaves_no_name),
		TEST(without_descriptors_opening_is_emfile),
		TEST(without_descriptors_deaths_are_seen),
		TEST(the_standard_descriptors_are_left_alone),
		TEST(without_memory_opening_is_enomem),
		TEST(a_thread_with_the_least_stack_can_wait),
		TEST(errno_is_never_touched),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
