/* SPDX-License-Identifier: ISC */
/*
 * handoff(7), names: one rule for all kinds (G42), and one place for all
 * processes of a user (G21).
 */
#define _GNU_SOURCE
#include "segments.h"
#include "words.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define NEW (HANDOFF_CREATE | HANDOFF_EXCLUSIVE)
#define LONGEST 200u

/* ---- Every way to open --------------------------------------------------- */

static int as_segment(void **o, const char *name, unsigned flags)
{
	const struct handoff_segment_options options = { sizeof options, 64, 0,
		NULL, NULL };
	handoff_segment *s = NULL;
	int e = handoff_segment_open(&s, name, flags, 0600, &options);

	*o = s;
	return e;
}

#define OPENS(kind, ...)                                                 \
	static int as_##kind(void **o, const char *name, unsigned flags) \
	{                                                                \
		handoff_##kind *it = NULL;                               \
		int e = handoff_##kind##_open(&it, name, flags, 0600,    \
		    __VA_ARGS__);                                        \
                                                                         \
		*o = it;                                                 \
		return e;                                                \
	}
OPENS(mutex, NULL)
OPENS(cond, NULL)
OPENS(sem, 0, NULL)
OPENS(event, NULL)
OPENS(rwlock, NULL)
OPENS(barrier, 2, NULL)
OPENS(word32, 0, NULL)
OPENS(word64, 0, NULL)
OPENS(baton, 2, NULL)

static int (*const opens[])(void **o, const char *name,
    unsigned flags) = { as_segment, as_mutex, as_cond, as_sem, as_event,
	as_rwlock, as_barrier, as_word32, as_word64, as_baton };
#define OPEN_WAYS (sizeof opens / sizeof *opens)

static void all_refuse(const char *name, int expected)
{
	for (size_t i = 0; i < OPEN_WAYS; i++) {
		void *o = &o;

		GIVES(opens[i](&o, name, 0), expected);
		assert_null(o);
		o = &o;
		GIVES(opens[i](&o, name, CREATE), expected);
		assert_null(o);
	}
	GIVES(handoff_unlink(name), expected);
}

/* `n` characters, the last of which is `last`. */
static const char *of_length(char *name, size_t n, char last)
{
	memset(name, 'x', n);
	if (n > 0)
		name[n - 1] = last;
	name[n] = '\0';
	return name;
}

static void what_is_no_name_is_refused_by_all(void **state)
{
	static const char *const bad[] = { NULL, "", "/", "//", "//x", ".",
		"..", ".x", "/.x", "/..", "a/b", "a/", "../x", "/x/", "a\\b",
		"\\x", "a:b", "a b", " ", "a\tb", "a\n", "a*", "a?", "~", "%s",
		"$x", "a+b", "a,b", "a@b", "a\x7f", "\xc3\xa4", "\xff",
		"Local\\x", "Global\\x" };
	static const size_t over[] = { 201, 202, 249, 250, 251, 252, 253, 254,
		255, 256, 1000, 5000 };
	static char name[5002];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		all_refuse(bad[i], EINVAL);
	for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
		all_refuse(of_length(name, over[i], 'x'), ENAMETOOLONG);
		*name = '/';
		/* A slash does not count. */
		all_refuse(of_length(name + 1, over[i], 'x') - 1, ENAMETOOLONG);
	}
	assert_int_equal(count_names(), 0);
}

/* One file stands there, called so and nothing else. */
static int is_file(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof path, "%s/handoff.%s", run_directory(),
	    name + (*name == '/'));
	return count_names() == 1 && lstat(path, &st) == 0 &&
	    S_ISREG(st.st_mode);
}

static void what_is_a_name_is_taken_by_all(void **state)
{
	static const char *const good[] = { "x", "/x", "0", "-", "_", "--help",
		"-rf", "a.b", "a..b", "a.", "x.tmp", "handoff.x", "con", "NUL",
		"lpt1", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"abcdefghijklmnopqrstuvwxyz", "0123456789._-" };
	static const size_t lengths[] = { 1, 2, 14, 30, 31, 32, 63, 64, 127,
		128, 199, 200 };
	char name[LONGEST + 2];

	(void)state;
	for (size_t i = 0; i < OPEN_WAYS; i++) {
		void *o;

		for (size_t n = 0; n < sizeof good / sizeof *good; n++) {
			GIVES(opens[i](&o, good[n], NEW), 0);
			assert_true(is_file(good[n]));
			GIVES(handoff_unlink(good[n]), 0);
			GIVES(handoff_close(o), 0);
		}
		for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
			of_length(name, lengths[n], 'x');
			GIVES(opens[i](&o, name, NEW), 0);
			assert_true(is_file(name));
			GIVES(handoff_unlink(name), 0);
			GIVES(handoff_close(o), 0);
		}
	}
	assert_int_equal(count_names(), 0);
}

/* Nothing is cut off, nothing is folded. */
static void names_that_differ_are_different(void **state)
{
	static const char *const pairs[][2] = { { "lock", "Lock" },
		{ "lock", "LOCK" }, { "a.b", "a_b" }, { "a-b", "a_b" },
		{ "x", "x." }, { "x", "handoff.x" }, { "1", "01" } };
	static const size_t lengths[] = { 8, 9, 14, 15, 30, 31, 32, 33, 64, 100,
		199, 200 };
	char name[LONGEST + 1];
	char other[LONGEST + 1];
	void *a;
	void *b;

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		GIVES(as_sem(&a, pairs[i][0], NEW), 0);
		GIVES(as_sem(&b, pairs[i][1], NEW), 0);
		assert_ptr_not_equal(a, b);
		GIVES(handoff_unlink(pairs[i][0]), 0);
		GIVES(as_sem(&b, pairs[i][1], 0), 0);
		GIVES(handoff_unlink(pairs[i][1]), 0);
		GIVES(handoff_close(a), 0);
		GIVES(handoff_close(b), 0);
		GIVES(handoff_close(b), 0);
	}
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		of_length(name, lengths[i], 'a');
		of_length(other, lengths[i], 'b');
		GIVES(as_mutex(&a, name, NEW), 0);
		GIVES(as_mutex(&b, other, NEW), 0);
		assert_int_equal(count_names(), 2);
		GIVES(handoff_unlink(name), 0);
		GIVES(handoff_unlink(other), 0);
		GIVES(handoff_close(a), 0);
		GIVES(handoff_close(b), 0);
	}
}

/* ---- The place ----------------------------------------------------------- */

/* Where names are if nothing says where; made by this parent alone. */
static char usual[64];
static char directory[PATH_MAX]; /* the run's, meanwhile */

static void set_or_not(const char *name, const char *value)
{
	CHECK((value ? setenv(name, value, 1) : unsetenv(name)) == 0);
}

/* What differs between processes that must meet. */
static const struct {
	const char *name;
	const char *value;
} differences[] = {
	{ "TZ", "Pacific/Auckland" },
	{ "TZ", NULL },
	{ "LC_ALL", "tr_TR.UTF-8" },
	{ "LANG", "C.UTF-8" },
	{ "TMPDIR", "/nowhere" },
	{ "TMP", "/nowhere" },
	{ "HOME", "/nowhere" },
	{ "XDG_RUNTIME_DIR", "/nowhere" },
	{ "USER", "nobody" },
	{ "PATH", "" },
	{ "HANDOFF_WAIT", "spin" },
	{ "HANDOFF_DIR", NULL },
	{ "HANDOFF_DIR", "" },
};
#define DIFFERENCES (sizeof differences / sizeof *differences)

/* "difference:name" */
static int part_meets(const char *arg)
{
	char name[64];
	unsigned i;
	void *o;

	CHECK(sscanf(arg, "%u:%63s", &i, name) == 2);
	if (i < DIFFERENCES)
		set_or_not(differences[i].name, differences[i].value);
	else if (i == DIFFERENCES)
		CHECK(chdir("/") == 0);
	else if (i == DIFFERENCES + 1)
		umask(0777);
	setlocale(LC_ALL, "");
	tzset();
	OK(as_sem(&o, name, 0));
	OK(handoff_sem_post(o, 1));
	/* It goes on to be there. */
	CHECK(chdir("/proc") == 0);
	OK(handoff_close(o));
	OK(as_sem(&o, name, 0));
	return 0;
}

static void meets(unsigned i, const char *name)
{
	struct process p;
	char arg[128];

	snprintf(arg, sizeof arg, "%u:%s", i, name);
	p = start("meets", arg);
	if (finish(&p) != 0)
		fail_msg("difference %u", i);
}

/* In the parent's place the library has read HANDOFF_DIR already, so a part
 * makes what the others are to find. */
static int part_makes(const char *name)
{
	uint32_t posts = 0;
	void *o;

	CHECK(unsetenv("HANDOFF_DIR") == 0);
	OK(as_sem(&o, name, NEW));
	say("made");
	await("end");
	OK(handoff_sem_value(o, &posts));
	OK(handoff_unlink(name));
	CHECK(posts == DIFFERENCES + 2);
	return 0;
}

static void all_meet_where_nothing_says_where(void **state)
{
	struct process p;

	(void)state;
	snprintf(usual, sizeof usual, "test.names.%ld.%llx", (long)getpid(),
	    (unsigned long long)handoff_now());
	p = start("makes", usual);
	expect(&p, "made");
	snprintf(directory, sizeof directory, "%s", run_directory());
	unsetenv("HANDOFF_DIR");
	for (unsigned i = 0; i < DIFFERENCES + 2; i++)
		meets(i, usual);
	setenv("HANDOFF_DIR", directory, 1);
	tell(&p, "end");
	GIVES(finish(&p), 0);
}

/* Whatever happened, nothing stays in the directory of all. */
static int remove_usual(void **state)
{
	char path[128];

	if (*usual) {
		snprintf(path, sizeof path, "/dev/shm/handoff.%s", usual);
		unlink(path);
		snprintf(path, sizeof path, "/tmp/handoff.%s", usual);
		unlink(path);
	}
	if (*directory)
		setenv("HANDOFF_DIR", directory, 1);
	return processes_teardown(state);
}

static void all_meet_in_one_directory(void **state)
{
	void *o;
	uint32_t posts = 0;

	(void)state;
	GIVES(as_sem(&o, "meet", NEW), 0);
	for (unsigned i = 0; i < DIFFERENCES + 2; i++)
		if (i >= DIFFERENCES ||
		    strcmp(differences[i].name, "HANDOFF_DIR") != 0)
			meets(i, "meet");
	GIVES(handoff_sem_value(o, &posts), 0);
	assert_int_equal(posts, DIFFERENCES);
	end_of(o, "meet");
}

/* "directory result": none of them is a directory to make names in. */
static int part_nowhere(const char *result)
{
	static char path[2 * PATH_MAX];
	int e = atoi(result);
	void *o;

	if (e == ENAMETOOLONG) {
		memset(path, '/', PATH_MAX);
		CHECK(setenv("HANDOFF_DIR", path, 1) == 0);
	} else {
		CHECK(setenv("HANDOFF_DIR", "/proc/self/exe", 1) == 0);
	}
	for (size_t i = 0; i < OPEN_WAYS; i++) {
		RESULT(opens[i](&o, "x", 0), e);
		RESULT(opens[i](&o, "x", CREATE), e);
	}
	RESULT(handoff_unlink("x"), e);
	return 0;
}

static void a_bad_directory_is_told_of(void **state)
{
	static const int results[] = { ENOENT, ENAMETOOLONG };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct process p;
		char arg[16];

		snprintf(arg, sizeof arg, "%d", results[i]);
		p = start("nowhere", arg);
		GIVES(finish(&p), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "meets", part_meets },
		{ "makes", part_makes },
		{ "nowhere", part_nowhere },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_name_is_refused_by_all),
		TEST(what_is_a_name_is_taken_by_all),
		TEST(names_that_differ_are_different),
		cmocka_unit_test_teardown(all_meet_where_nothing_says_where,
		    remove_usual),
		TEST(all_meet_in_one_directory),
		TEST(a_bad_directory_is_told_of),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("names", tests, NULL, NULL));
}
