/* SPDX-License-Identifier: ISC */
/*
 * handoff_segment(3): names, making, opening, and what is told of segments;
 * the version and results in words.
 */
#define _GNU_SOURCE
#include "segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define EXCLUSIVE HANDOFF_EXCLUSIVE

/* ---- Helpers ----------------------------------------------------------- */

static int open_init(handoff_segment **s, const char *name, size_t bytes,
    int (*init)(void *, size_t, void *), void *arg)
{
	const struct handoff_segment_options options = { sizeof options, bytes,
		7, init, arg };

	return handoff_segment_open(s, name, CREATE, 0600, &options);
}

static struct handoff_info info_of(const void *object)
{
	struct handoff_info info = { .size = sizeof info };

	assert_int_equal(handoff_info(object, &info), 0);
	return info;
}

static void name_of_length(char *name, size_t n, char last)
{
	memset(name, 'n', n);
	name[n - 1] = last;
	name[n] = '\0';
}

/* A part that has a segment open until it is told to end, or killed. */
static int keep(const char *name)
{
	handoff_segment *s;

	OK(open_segment(&s, name, 0, 0));
	say("open");
	await("end");
	OK(handoff_close(s));
	return 0;
}

/* ---- Making and opening ------------------------------------------------ */

static void a_name_is_created_opened_and_exclusive(void **state)
{
	handoff_segment *s;
	handoff_segment *same;
	struct handoff_info info;
	struct process p;

	(void)state;
	assert_int_equal(open_segment(&s, "a", 0, 64), ENOENT);
	assert_null(s);
	assert_int_equal(count_names(), 0);
	assert_int_equal(open_segment(&s, "a", CREATE | EXCLUSIVE, 64), 0);
	info = info_of(s);
	assert_int_equal(info.created, 1);
	assert_int_equal(info.detached, 0);
	assert_int_equal(info.opens, 1);
	assert_int_equal(info.users, 1);
	assert_int_equal(info.bytes, 64);
	assert_int_equal(info.kind, 0);
	assert_true(info.id != 0);
	assert_int_equal(open_segment(&same, "a", CREATE | EXCLUSIVE, 64),
	    EEXIST);
	assert_null(same);
	assert_int_equal(info_of(s).opens, 1);
	p = start("keep", "a");
	expect(&p, "open");
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	end_of(s, "a");
}

static void opening_again_gives_the_same_handle_and_counts(void **state)
{
	handoff_segment *s[5];
	unsigned descriptors = count_descriptors();
	unsigned mappings = count_mappings();

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(open_segment(&s[i], i % 2 ? "/b" : "b",
		                     i == 0 ? CREATE : 0, i < 2 ? 5000 : 0),
		    0);
		assert_ptr_equal(s[i], s[0]);
		assert_int_equal(info_of(s[0]).opens, i + 1);
	}
	assert_int_equal(handoff_segment_bytes(s[0]), 5000);
	assert_int_equal((uintptr_t)handoff_segment_memory(s[0]) % 64, 0);
	/* Anything in the segment names it; what lies behind it does not. */
	assert_int_equal(handoff_close(
	                     (char *)handoff_segment_memory(s[0]) + 4999),
	    0);
	assert_int_equal(handoff_close(
	                     (char *)handoff_segment_memory(s[0]) + 5000),
	    EINVAL);
	assert_int_equal(handoff_close(handoff_segment_memory(s[0])), 0);
	assert_int_equal(info_of(s[0]).opens, 3);
	assert_int_equal(handoff_close(s[0]), 0);
	assert_int_equal(handoff_close(s[0]), 0);
	end_of(s[0], "b");
	assert_int_equal(handoff_close(s[0]), EINVAL);
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_equal(count_mappings(), mappings);
}

/* G42: one rule, one error for each name. */
static void invalid_names_are_refused(void **state)
{
	static const char *const bad[] = { "", "/", "//a", ".", "..", ".x",
		"/.x", "a/b", "a/", "a b", "a:b", "a\\b", "a\n", "\xc3\xa4",
		"a*", "%s", NULL };
	handoff_segment *s;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(open_segment(&s, bad[i], CREATE, 64), EINVAL);
		assert_null(s);
		assert_int_equal(open_segment(&s, bad[i], 0, 0), EINVAL);
		assert_int_equal(handoff_unlink(bad[i]), EINVAL);
	}
	assert_int_equal(count_names(), 0);
}

/* G42, G26: what fails gives NULL, and every call takes NULL calmly. */
static void invalid_arguments_are_refused(void **state)
{
	static const struct {
		unsigned flags;
		unsigned mode;
	} bad[] = { { 4, 0600 }, { EXCLUSIVE, 0600 }, { CREATE, 01600 },
		{ CREATE, 0 }, { CREATE, 0400 }, { ~0u, 0600 } };
	struct handoff_segment_options o = { sizeof o, 64, 0, NULL, NULL };
	struct handoff_info info = { .size = sizeof info - 1 };
	handoff_segment *s = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(handoff_segment_open(&s, "i", bad[i].flags,
		                     bad[i].mode, &o),
		    EINVAL);
	assert_int_equal(handoff_segment_open(NULL, "i", CREATE, 0600, &o),
	    EINVAL);
	assert_int_equal(handoff_segment_open(&s, "i", CREATE, 0600, NULL),
	    EINVAL);
	o.size--;
	assert_int_equal(handoff_segment_open(&s, "i", CREATE, 0600, &o),
	    EINVAL);
	o.size++;
	o.kind = HANDOFF_KIND_MUTEX;
	assert_int_equal(handoff_segment_open(&s, "i", CREATE, 0600, &o),
	    EINVAL);
	o.kind = 0xfeffffff;
	o.bytes = 0;
	assert_int_equal(handoff_segment_open(&s, "i", CREATE, 0600, &o),
	    EINVAL);
	assert_int_equal(open_segment(&s, "i", CREATE, SIZE_MAX), ENOMEM);
	assert_null(s);
	assert_int_equal(count_names(), 0);
	assert_int_equal(handoff_close(NULL), EINVAL);
	assert_null(handoff_segment_memory(NULL));
	assert_int_equal(handoff_segment_bytes(NULL), 0);
	assert_int_equal(handoff_info(NULL, &info), EINVAL);
	assert_int_equal(open_segment(&s, "i", CREATE, 64), 0);
	assert_int_equal(handoff_info(s, &info), EINVAL);
	assert_int_equal(handoff_info(s, NULL), EINVAL);
	end_of(s, "i");
}

/* G42 */
static void long_names_stay_different(void **state)
{
	static const size_t over[] = { 201, 249, 255, 256, 1000, 5000 };
	static char name[5001];
	char other[202];
	handoff_segment *s;
	handoff_segment *t;

	(void)state;
	for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
		name_of_length(name, over[i], 'n');
		assert_int_equal(open_segment(&s, name, CREATE, 64),
		    ENAMETOOLONG);
		assert_int_equal(handoff_unlink(name), ENAMETOOLONG);
	}
	name_of_length(name, 200, 'a');
	other[0] = '/';
	name_of_length(other + 1, 200, 'b');
	assert_int_equal(open_segment(&s, name, CREATE | EXCLUSIVE, 64), 0);
	assert_int_equal(open_segment(&t, other, CREATE | EXCLUSIVE, 64), 0);
	assert_true(info_of(s).id != info_of(t).id);
	assert_int_equal(count_names(), 2);
	assert_int_equal(handoff_close(t), 0);
	assert_int_equal(handoff_unlink(other), 0);
	end_of(s, name);
}

/* G26 */
static void the_mode_is_exact_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	static const unsigned modes[] = { 0600, 0640, 0644, 0660, 0666, 0777 };
	const struct handoff_segment_options o = { sizeof o, 64, 0, NULL,
		NULL };
	mode_t before = umask(0);

	(void)state;
	for (size_t i = 0; i < 4 * 6; i++) {
		handoff_segment *s;
		char path[300];
		struct stat st;

		umask(masks[i / 6]);
		assert_int_equal(handoff_segment_open(&s, "mode", CREATE,
		                     modes[i % 6], &o),
		    0);
		snprintf(path, sizeof path, "%s/handoff.mode", run_directory());
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i % 6]);
		assert_int_equal(st.st_nlink, 1);
		end_of(s, "mode");
	}
	umask(before);
}

static void fresh_memory_is_zero_and_reserved(void **state)
{
	handoff_segment *s;
	char path[300];
	struct stat st;
	const unsigned char *memory;

	(void)state;
	assert_int_equal(open_segment(&s, "zero", CREATE, 100001), 0);
	memory = handoff_segment_memory(s);
	for (size_t i = 0; i < 100001; i++)
		if (memory[i] != 0)
			fail_msg("byte %zu is not zero", i);
	snprintf(path, sizeof path, "%s/handoff.zero", run_directory());
	assert_int_equal(stat(path, &st), 0);
	/* G40: not a sparse file. */
	assert_true(st.st_blocks * 512 >= 100001);
	assert_int_equal(handoff_segment_bytes(s), 100001);
	end_of(s, "zero");
}

/* ---- Users ------------------------------------------------------------- */

static void users_are_the_living_processes_that_have_it_open(void **state)
{
	struct process p[5];
	handoff_segment *s;

	(void)state;
	assert_int_equal(open_segment(&s, "users", CREATE, 64), 0);
	for (unsigned i = 0; i < 5; i++) {
		p[i] = start("keep", "users");
		expect(&p[i], "open");
		assert_int_equal(info_of(s).users, i + 2);
	}
	for (unsigned i = 0; i < 3; i++) {
		kill_hard(&p[i]);
		assert_int_equal(info_of(s).users, 5 - i);
	}
	tell(&p[3], "end");
	assert_int_equal(finish(&p[3]), 0);
	assert_int_equal(info_of(s).users, 2);
	/* Removing the name changes nothing for them. */
	assert_int_equal(handoff_unlink("users"), 0);
	assert_int_equal(info_of(s).users, 2);
	tell(&p[4], "end");
	assert_int_equal(finish(&p[4]), 0);
	assert_int_equal(info_of(s).users, 1);
	assert_int_equal(handoff_close(s), 0);
}

static int make_and_leave(const char *how)
{
	handoff_mutex *m;

	OK(handoff_mutex_open(&m, "left", CREATE | EXCLUSIVE, 0600, NULL));
	OK(handoff_mutex_lock(m));
	OK(handoff_mutex_unlock(m));
	say("made");
	await("end");
	if (strcmp(how, "close") == 0)
		OK(handoff_close(m));
	return 0;
}

/* G23, G25: the end of its maker, in whatever way, is not the object's. */
static void an_object_outlives_its_creator(void **state)
{
	static const char *const how[] = { "close", "exit", "kill" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct process p = start("make_and_leave", how[i]);
		handoff_mutex *early;
		handoff_mutex *late;
		uint64_t id;

		expect(&p, "made");
		assert_int_equal(handoff_mutex_open(&early, "left", 0, 0, NULL),
		    0);
		id = info_of(early).id;
		if (i == 2) {
			kill_hard(&p);
		} else {
			tell(&p, "end");
			assert_int_equal(finish(&p), 0);
		}
		assert_int_equal(handoff_mutex_lock(early), 0);
		assert_int_equal(handoff_mutex_unlock(early), 0);
		assert_int_equal(info_of(early).created, 0);
		/* ... nor is the end of its last user. */
		assert_int_equal(handoff_close(early), 0);
		assert_int_equal(handoff_mutex_open(&late, "left", CREATE, 0600,
		                     NULL),
		    0);
		assert_true(info_of(late).id == id);
		assert_int_equal(handoff_mutex_lock(late), 0);
		assert_int_equal(handoff_mutex_unlock(late), 0);
		end_of(late, "left");
	}
}

/* ---- Init -------------------------------------------------------------- */

static int init_looks(void *memory, size_t bytes, void *arg)
{
	unsigned *names = arg;
	handoff_segment *s;

	*names = count_names();
	if (bytes != 128 || open_segment(&s, "init", 0, 0) != ENOENT)
		return 1;
	memcpy(memory, "filled", 7);
	return 0;
}

static int init_fails(void *memory, size_t bytes, void *arg)
{
	memset(memory, 1, bytes);
	return *(int *)arg;
}

/* G19: never seen half made. */
static void init_runs_before_anyone_can_see_the_name(void **state)
{
	unsigned names = 99;
	unsigned not_called = 99;
	handoff_segment *s;
	handoff_segment *same;

	(void)state;
	assert_int_equal(open_init(&s, "init", 128, init_looks, &names), 0);
	assert_int_equal(names, 0);
	assert_string_equal(handoff_segment_memory(s), "filled");
	assert_int_equal(open_init(&same, "init", 128, init_looks, &not_called),
	    0);
	assert_int_equal(not_called, 99);
	assert_int_equal(handoff_close(same), 0);
	end_of(s, "init");
}

static void an_error_of_init_is_returned_and_nothing_is_left(void **state)
{
	static int errors[] = { ECANCELED, -5, 123456, EEXIST, EAGAIN, ENOENT };
	unsigned descriptors = count_descriptors();
	unsigned mappings = count_mappings();
	handoff_segment *s;

	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		assert_int_equal(open_init(&s, "init", 64, init_fails,
		                     &errors[i]),
		    errors[i]);
		assert_null(s);
		assert_int_equal(open_segment(&s, "init", 0, 0), ENOENT);
	}
	assert_int_equal(count_names(), 0);
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_equal(count_mappings(), mappings);
}

/* Uses the library freely: objects in it, another segment, a lock held. */
static int init_uses_library(void *memory, size_t bytes, void *arg)
{
	const struct handoff_mutex_attr robust = { sizeof robust,
		HANDOFF_ROBUST, 0, 0 };
	struct pair *pair = memory;
	handoff_mutex *named;
	int e;

	(void)bytes;
	if ((e = handoff_mutex_init(&pair->mutex, &robust)) != 0 ||
	    (e = handoff_cond_init(&pair->cond, NULL)) != 0 ||
	    (e = handoff_mutex_open(&named, "inner", CREATE, 0600, NULL)) != 0)
		return e;
	if ((e = handoff_mutex_lock(named)) == 0)
		e = handoff_mutex_unlock(named);
	if (e == 0 && (e = handoff_mutex_lock(&pair->mutex)) == 0)
		e = handoff_mutex_unlock(&pair->mutex);
	if (e == 0)
		e = handoff_close(named);
	if (e == 0)
		e = handoff_unlink("inner");
	if (e == 0 && *(int *)arg != 0) {
		/* Still locked when it fails. */
		handoff_mutex_lock(&pair->mutex);
		e = *(int *)arg;
	}
	return e;
}

static void init_may_use_the_library(void **state)
{
	int failure = ECANCELED;
	handoff_segment *s;
	struct pair *pair;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(open_init(&s, "outer", sizeof *pair,
		                     init_uses_library, &failure),
		    ECANCELED);
	failure = 0;
	assert_int_equal(open_init(&s, "outer", sizeof *pair, init_uses_library,
	                     &failure),
	    0);
	pair = handoff_segment_memory(s);
	assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
	end_of(s, "outer");
}

/* ---- Names ------------------------------------------------------------- */

static int lock_name(const char *name)
{
	handoff_mutex *m;

	OK(handoff_mutex_open(&m, name, CREATE, 0600, NULL));
	OK(handoff_mutex_lock(m));
	say("locked");
	await("end");
	OK(handoff_mutex_unlock(m));
	return 0;
}

/* G22 */
static void removing_a_name_detaches_those_who_have_it_open(void **state)
{
	handoff_mutex *old;
	handoff_mutex *new;
	struct process p;

	(void)state;
	assert_int_equal(handoff_unlink("gone"), ENOENT);
	assert_int_equal(handoff_mutex_open(&old, "gone", CREATE, 0600, NULL),
	    0);
	assert_int_equal(handoff_mutex_lock(old), 0);
	assert_int_equal(info_of(old).detached, 0);
	assert_int_equal(handoff_unlink("/gone"), 0);
	assert_int_equal(info_of(old).detached, 1);
	assert_int_equal(handoff_mutex_open(&new, "gone", 0, 0, NULL), ENOENT);
	/* The next one gets another mutex, and is alone with it. */
	p = start("lock_name", "gone");
	expect(&p, "locked");
	assert_int_equal(info_of(old).detached, 1);
	assert_int_equal(info_of(old).users, 1);
	assert_int_equal(handoff_mutex_open(&new, "gone", 0, 0, NULL), 0);
	assert_ptr_not_equal(new, old);
	assert_true(info_of(new).id != info_of(old).id);
	assert_int_equal(info_of(new).detached, 0);
	assert_int_equal(info_of(new).users, 2);
	assert_int_equal(handoff_mutex_trylock(new), EBUSY);
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_unlock(old), 0);
	assert_int_equal(handoff_close(old), 0);
	end_of(new, "gone");
}

struct listed {
	unsigned n;
	unsigned stop_at;
	unsigned mutexes;
	unsigned conds;
	unsigned mine;
	unsigned unknown;
};

static int note_name(const char *name, uint32_t kind, uint64_t bytes, void *ctx)
{
	struct listed *l = ctx;

	l->n++;
	l->mutexes += kind == HANDOFF_KIND_MUTEX && bytes == 64 &&
	    strcmp(name, "list.mutex") == 0;
	l->conds += kind == HANDOFF_KIND_COND && bytes == 64 &&
	    strcmp(name, "list-cond") == 0;
	l->mine += kind == 0xcafe && bytes == 777 &&
	    strcmp(name, "list_mine") == 0;
	l->unknown += kind == HANDOFF_KIND_UNKNOWN && bytes == 0 &&
	    strcmp(name, "stranger") == 0;
	return l->n == l->stop_at ? 4711 : 0;
}

static void make_file(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof path, "%s/%s", run_directory(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void listing_tells_names_kinds_and_sizes(void **state)
{
	const struct handoff_segment_options o = { sizeof o, 777, 0xcafe, NULL,
		NULL };
	struct listed l = { 0 };
	handoff_mutex *m;
	handoff_cond *c;
	handoff_segment *s;
	char path[300];

	(void)state;
	assert_int_equal(handoff_list(note_name, &l), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(handoff_list(NULL, NULL), EINVAL);
	assert_int_equal(handoff_mutex_open(&m, "list.mutex", CREATE, 0600,
	                     NULL),
	    0);
	assert_int_equal(handoff_cond_open(&c, "list-cond", CREATE, 0600, NULL),
	    0);
	assert_int_equal(handoff_segment_open(&s, "list_mine", CREATE, 0600,
	                     &o),
	    0);
	make_file("handoff.stranger");
	make_file("handoff..hidden"); /* these two are no names */
	make_file("other");
	assert_int_equal(handoff_list(note_name, &l), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.mutexes, 1);
	assert_int_equal(l.conds, 1);
	assert_int_equal(l.mine, 1);
	assert_int_equal(l.unknown, 1);
	l = (struct listed){ .stop_at = 2 };
	assert_int_equal(handoff_list(note_name, &l), 4711);
	assert_int_equal(l.n, 2);
	assert_int_equal(handoff_unlink("stranger"), 0);
	snprintf(path, sizeof path, "%s/handoff..hidden", run_directory());
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof path, "%s/other", run_directory());
	assert_int_equal(unlink(path), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_unlink("list.mutex"), 0);
	assert_int_equal(handoff_close(c), 0);
	assert_int_equal(handoff_unlink("list-cond"), 0);
	end_of(s, "list_mine");
}

/* ---- Words ------------------------------------------------------------- */

static void the_version_and_every_result_have_words(void **state)
{
	static const int results[] = { 0, EOWNERDEAD, 99999 };

	(void)state;
	assert_string_equal(handoff_version(), HANDOFF_VERSION);
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		const char *words = handoff_strerror(results[i]);

		assert_non_null(words);
		assert_true(words[0] != '\0');
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "keep", keep },
		{ "make_and_leave", make_and_leave },
		{ "lock_name", lock_name },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_created_opened_and_exclusive),
		TEST(opening_again_gives_the_same_handle_and_counts),
		TEST(invalid_names_are_refused),
		TEST(invalid_arguments_are_refused),
		TEST(long_names_stay_different),
		TEST(the_mode_is_exact_whatever_the_umask),
		TEST(fresh_memory_is_zero_and_reserved),
		TEST(users_are_the_living_processes_that_have_it_open),
		TEST(an_object_outlives_its_creator),
		TEST(init_runs_before_anyone_can_see_the_name),
		TEST(an_error_of_init_is_returned_and_nothing_is_left),
		TEST(init_may_use_the_library),
		TEST(removing_a_name_detaches_those_who_have_it_open),
		TEST(listing_tells_names_kinds_and_sizes),
		TEST(the_version_and_every_result_have_words),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
