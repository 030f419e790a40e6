/* SPDX-License-Identifier: ISC */
/*
 * handoff_segment(3): who may open, make and remove what, whatever stands in
 * the directory and whichever directory it is.
 */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define EXCLUSIVE HANDOFF_EXCLUSIVE

#define NOBODY 65534 /* two users that are not root */
#define ANOTHER 65533

/* ---- Other users ------------------------------------------------------- */

static void become(unsigned uid)
{
	CHECK(setgid(uid) == 0 && setuid(uid) == 0);
}

/* "uid flags mode result": what opening "s" so answers. */
static int open_as_user(const char *arg)
{
	unsigned uid;
	unsigned flags;
	unsigned mode;
	int result;

	CHECK(sscanf(arg, "%u %u %o %d", &uid, &flags, &mode, &result) == 4);
	become(uid);
	RESULT(open_as("s", flags, mode, 64, 7), result);
	return 0;
}

/* "uid mode mask": makes "s" as that user. */
static int make_as_user(const char *arg)
{
	unsigned uid;
	unsigned mode;
	unsigned mask;

	CHECK(sscanf(arg, "%u %o %o", &uid, &mode, &mask) == 3);
	become(uid);
	umask(mask);
	OK(open_as("s", CREATE | EXCLUSIVE, mode, 64, 7));
	return 0;
}

static int unlink_as_user(const char *arg)
{
	unsigned uid;
	int result;

	CHECK(sscanf(arg, "%u %d", &uid, &result) == 2);
	become(uid);
	RESULT(handoff_unlink("s"), result);
	return 0;
}

static void run(const char *part, const char *arg)
{
	struct process p = start(part, arg);

	if (finish(&p) != 0)
		fail_msg("%s %s", part, arg);
}

static void expect_open(unsigned uid, unsigned flags, unsigned mode, int result)
{
	char arg[64];

	snprintf(arg, sizeof arg, "%u %u %o %d", uid, flags, mode, result);
	run("open_as_user", arg);
}

/* A directory for all, as that of shared memory is; root alone may do this. */
static void share_directory(void)
{
	if (geteuid() != 0)
		SKIP("being somebody else needs the rights of root");
	assert_int_equal(chmod(run_directory(), 01777), 0);
}

static void without_the_right_to_it_opening_is_eacces(void **state)
{
	struct picture before;

	(void)state;
	share_directory();
	run("make_as_user", "65534 600 0");
	assert_int_equal(chmod(path_of("s"), 0), 0);
	look(&before);
	expect_open(ANOTHER, 0, 0, EACCES);
	expect_open(ANOTHER, CREATE, 0600, EACCES);
	expect_open(ANOTHER, CREATE, 0666, EACCES);
	expect_open(ANOTHER, CREATE | EXCLUSIVE, 0666, EEXIST);
	expect_open(NOBODY, 0, 0, EACCES);
	assert_int_equal(chmod(path_of("s"), 0444), 0);
	expect_open(ANOTHER, 0, 0, EACCES);
	assert_int_equal(chmod(path_of("s"), 0), 0);
	look(&before);
	run("unlink_as_user", "65533 13"); /* EACCES: a sticky directory */
	assert_same(&before);
	run("unlink_as_user", "65534 0");
	assert_int_equal(count_names(), 0);
}

/* G29: a private name is not shared with who put a file there first. */
static void a_private_name_is_not_taken_from_others(void **state)
{
	struct picture before;

	(void)state;
	share_directory();
	run("make_as_user", "65534 666 77");
	look(&before);
	expect_open(ANOTHER, CREATE, 0600, EACCES);
	expect_open(0, CREATE, 0600, EACCES);
	expect_open(0, CREATE, 0700, EACCES);
	expect_open(NOBODY, CREATE, 0600, 0);
	/* Who shares it, or does not make it, accepts it. */
	expect_open(ANOTHER, CREATE, 0660, 0);
	expect_open(ANOTHER, CREATE, 0606, 0);
	expect_open(ANOTHER, 0, 0, 0);
	expect_open(0, 0, 0, 0);
	assert_same(&before);
	assert_int_equal(handoff_unlink("s"), 0);
	/* What is root's is nobody else's trap. */
	run("make_as_user", "0 666 77");
	expect_open(ANOTHER, CREATE, 0600, 0);
	assert_int_equal(handoff_unlink("s"), 0);
	assert_int_equal(count_names(), 0);
}

/* ---- What the kernel forbids -------------------------------------------- */

/* A setting of the kernel's, which is as before when the writing end of its
 * keeper is closed, be it because everything else was killed. */
struct setting {
	int fd;
	pid_t keeper;
};

static int write_setting(const char *path, char value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int wrote = fd >= 0 && write(fd, &value, 1) == 1;

	if (fd >= 0)
		close(fd);
	return wrote;
}

static char read_setting(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char value = '?';

	if (fd >= 0 && read(fd, &value, 1) != 1)
		value = '?';
	if (fd >= 0)
		close(fd);
	return value;
}

static struct setting keep(const char *path)
{
	char value = read_setting(path);
	struct setting s;
	int ends[2];
	char c;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	s.fd = ends[1];
	s.keeper = fork();
	assert_true(s.keeper >= 0);
	if (s.keeper == 0) {
		setsid();
		close(ends[1]);
		while (read(ends[0], &c, 1) < 0 && errno == EINTR)
			;
		_exit(!write_setting(path, value));
	}
	close(ends[0]);
	return s;
}

static void restore(struct setting s)
{
	int status;

	close(s.fd);
	assert_int_equal(waitpid(s.keeper, &status, 0), s.keeper);
	assert_int_equal(status, 0);
}

#define REGULAR "/proc/sys/fs/protected_regular"

/* Calls `test` with fs.protected_regular as it is, then with 0, 1 and 2. */
static void under_all_protection(void (*test)(void))
{
	struct setting s;
	char before;

	share_directory();
	test();
	before = read_setting(REGULAR);
	if (before == '?')
		SKIP("there is no fs.protected_regular");
	if (!write_setting(REGULAR, before)) {
		print_message("fs.protected_regular is %c\n", before);
		SKIP("fs.protected_regular cannot be set here");
	}
	s = keep(REGULAR);
	for (char level = '0'; level <= '2'; level++) {
		assert_true(write_setting(REGULAR, level));
		test();
	}
	restore(s);
	assert_true(read_setting(REGULAR) == before);
}

static void share_a_name(void)
{
	run("make_as_user", "65534 666 777");
	expect_open(NOBODY, CREATE, 0666, 0);
	expect_open(ANOTHER, CREATE, 0666, 0);
	expect_open(0, CREATE, 0666, 0);
	expect_open(ANOTHER, 0, 0, 0);
	expect_open(ANOTHER, CREATE | EXCLUSIVE, 0666, EEXIST);
	assert_int_equal(handoff_unlink("s"), 0);
	run("make_as_user", "65534 640 0");
	expect_open(ANOTHER, CREATE, 0666, EACCES);
	assert_int_equal(handoff_unlink("s"), 0);
	assert_int_equal(count_names(), 0);
}

/* G26, G27 */
static void a_shared_name_opens_for_all_whatever_the_umask(void **state)
{
	(void)state;
	under_all_protection(share_a_name);
}

/* ---- What others have planted ------------------------------------------- */

/* "uid kind": something of that user's at "s". */
static int plant(const char *arg)
{
	char kind[16];
	unsigned uid;
	int fd;

	CHECK(sscanf(arg, "%u %15s", &uid, kind) == 2);
	become(uid);
	umask(0);
	if (strcmp(kind, "link") == 0) {
		OK(open_as("target", CREATE, 0666, 64, 7));
		CHECK(symlink(path_of("target"), path_of("s")) == 0);
	} else if (strcmp(kind, "nowhere") == 0) {
		CHECK(symlink(path_of("made"), path_of("s")) == 0);
	} else if (strcmp(kind, "directory") == 0) {
		CHECK(mkdir(path_of("s"), 0700) == 0);
	} else if (strcmp(kind, "fifo") == 0) {
		CHECK(mkfifo(path_of("s"), 0600) == 0);
	} else {
		fd = open(path_of("s"), O_CREAT | O_EXCL | O_RDWR,
		    strcmp(kind, "secret") == 0 ? 0 : 0666);
		CHECK(fd >= 0 && write(fd, kind, 4) == 4);
	}
	return 0;
}

static void plant_all(void)
{
	/* What opening to make a private name, a shared one, and opening
	 * alone answer another user. */
	static const struct {
		const char *kind;
		int private;
		int shared;
	} planted[] = { { "link", EPROTO, EPROTO },
		{ "nowhere", EPROTO, EPROTO }, { "directory", EPROTO, EPROTO },
		{ "fifo", EPROTO, EPROTO }, { "secret", EACCES, EACCES },
		{ "file", EPROTO, EPROTO } };
	char arg[64];

	for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
		struct picture before;
		double began = seconds_now();

		snprintf(arg, sizeof arg, "%u %s", NOBODY, planted[i].kind);
		run("plant", arg);
		look(&before);
		expect_open(ANOTHER, CREATE, 0600, planted[i].private);
		expect_open(ANOTHER, CREATE, 0666, planted[i].shared);
		expect_open(ANOTHER, 0, 0, planted[i].shared);
		expect_open(ANOTHER, CREATE | EXCLUSIVE, 0600, EEXIST);
		snprintf(arg, sizeof arg, "%u %d", ANOTHER,
		    S_ISREG(before.st.st_mode) ? EACCES : EPROTO);
		run("unlink_as_user", arg);
		assert_same(&before);
		assert_true(seconds_now() - began < 20);
		assert_int_equal(remove(path_of("s")), 0);
		if (i == 0)
			assert_int_equal(handoff_unlink("target"), 0);
		assert_int_equal(count_names(), 0);
	}
}

/* G29 */
static void what_others_have_planted_is_refused_and_stays(void **state)
{
	(void)state;
	under_all_protection(plant_all);
}

/* ---- Modes -------------------------------------------------------------- */

static _Atomic int over;

/* Makes files as any program does: with the mask that this one has. */
static void *make_files(void *wrong)
{
	struct stat st;

	while (!atomic_load(&over)) {
		int fd = open(path_of("beside"), O_CREAT | O_EXCL | O_RDWR,
		    0666);

		if (fd < 0 || fstat(fd, &st) != 0 ||
		    (st.st_mode & 0777) != 0624)
			*(int *)wrong = 1;
		if (fd >= 0)
			close(fd);
		unlink(path_of("beside"));
	}
	return NULL;
}

/* G26: the mask is not changed, not even for a moment. */
static void other_threads_keep_their_umask(void **state)
{
	mode_t before = umask(042);
	pthread_t thread;
	struct stat st;
	int wrong = 0;

	(void)state;
	atomic_store(&over, 0);
	assert_int_equal(pthread_create(&thread, NULL, make_files, &wrong), 0);
	for (int i = 0; i < 2000; i++) {
		unsigned mode = i % 2 ? 0666 : 0600;

		assert_int_equal(open_as("s", CREATE | EXCLUSIVE, mode, 64, 7),
		    0);
		assert_int_equal(stat(path_of("s"), &st), 0);
		assert_int_equal(st.st_mode & 07777, mode);
		assert_int_equal(handoff_unlink("s"), 0);
	}
	atomic_store(&over, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(umask(before), 042);
	assert_int_equal(wrong, 0);
}

/* ---- Directories -------------------------------------------------------- */

static int no_name(const char *name, uint32_t kind, uint64_t bytes, void *ctx)
{
	(void)name;
	(void)kind;
	(void)bytes;
	(void)ctx;
	return 0;
}

/* "uid make open list directory": what all that uses it answers. */
static int use_directory(const char *arg)
{
	static char directory[2 * PATH_MAX];
	unsigned uid;
	int make;
	int open;
	int list;

	CHECK(sscanf(arg, "%u %d %d %d %8191s", &uid, &make, &open, &list,
	          directory) == 5);
	CHECK(setenv("HANDOFF_DIR", directory, 1) == 0);
	if (uid != 0)
		become(uid);
	RESULT(open_as("mine", CREATE | EXCLUSIVE, 0600, 64, 7), make);
	RESULT(handoff_list(no_name, NULL), list);
	RESULT(open_as("theirs", 0, 0, 64, 7), open);
	if (make == 0)
		OK(handoff_unlink("mine"));
	else if (make != EACCES)
		RESULT(handoff_unlink("mine"), make);
	return 0;
}

static void expect_directory(unsigned uid, const char *directory, int make,
    int open, int list)
{
	static char arg[2 * PATH_MAX + 100];

	snprintf(arg, sizeof arg, "%u %d %d %d %s", uid, make, open, list,
	    directory);
	run("use_directory", arg);
}

/* A directory below the run's, or what stands in its place. */
static const char *below(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", run_directory(), name);
	return path;
}

static void a_directory_that_is_none_is_enoent(void **state)
{
	int fd;

	(void)state;
	expect_directory(0, below("none"), ENOENT, ENOENT, ENOENT);
	expect_directory(0, "none", ENOENT, ENOENT, ENOENT);
	fd = open(below("file"), O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	expect_directory(0, below("file"), ENOENT, ENOENT, ENOENT);
	expect_directory(0, below("file/below"), ENOENT, ENOENT, ENOENT);
	assert_int_equal(unlink(below("file")), 0);
	/* A link to one is one; so is one with slashes behind it. */
	assert_int_equal(symlink(run_directory(), below("link")), 0);
	expect_directory(0, below("link"), 0, ENOENT, 0);
	expect_directory(0, below("link///"), 0, ENOENT, 0);
	assert_int_equal(unlink(below("link")), 0);
}

/* G42 */
static void a_directory_with_a_long_name_is_enametoolong(void **state)
{
	static const size_t sizes[] = { 300, PATH_MAX - 200, PATH_MAX - 1,
		PATH_MAX, PATH_MAX + 1, 2 * PATH_MAX - 100 };
	static char path[2 * PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int parts = 0; parts < 2; parts++) {
			/* Of one part each, or of many short ones. */
			int fits = parts && sizes[i] < PATH_MAX - 100;
			int e = fits ? ENOENT : ENAMETOOLONG;

			memset(path, 'x', sizes[i]);
			for (size_t k = 0; k < sizes[i]; k++)
				if (k == 0 || (parts && k % 50 == 0))
					path[k] = '/';
			path[sizes[i]] = '\0';
			/* To list it takes no name. */
			expect_directory(0, path, e, e,
			    parts && sizes[i] < PATH_MAX ? ENOENT :
			                                   ENAMETOOLONG);
		}
}

static void a_directory_without_rights_is_eacces(void **state)
{
	(void)state;
	share_directory();
	assert_int_equal(mkdir(below("closed"), 0700), 0);
	expect_directory(NOBODY, below("closed"), EACCES, EACCES, EACCES);
	/* One that one may look into, and open what is there, but not make. */
	run("make_below", below("closed"));
	assert_int_equal(chmod(below("closed"), 0755), 0);
	expect_directory(NOBODY, below("closed"), EACCES, 0, 0);
	assert_int_equal(unlink(below("closed/handoff.theirs")), 0);
	expect_directory(NOBODY, below("closed"), EACCES, ENOENT, 0);
	/* One that one may not list, but use. */
	assert_int_equal(chmod(below("closed"), 0733), 0);
	expect_directory(NOBODY, below("closed"), 0, ENOENT, EACCES);
	assert_int_equal(rmdir(below("closed")), 0);
}

static int make_below(const char *directory)
{
	CHECK(setenv("HANDOFF_DIR", directory, 1) == 0);
	OK(open_as("theirs", CREATE, 0666, 64, 7));
	return 0;
}

/* ---- More rights than who started it ------------------------------------ */

static int started_by_another(const char *name)
{
	struct stat st;
	char path[300];

	if (getauxval(AT_SECURE) == 0)
		return 77;
	OK(open_as(name, CREATE | EXCLUSIVE, 0600, 64, 7));
	CHECK(lstat(path_of(name), &st) != 0);
	snprintf(path, sizeof path, "/dev/shm/handoff.%s", name);
	CHECK(lstat(path, &st) == 0);
	CHECK((st.st_mode & 07777) == 0600 && st.st_uid == geteuid());
	OK(handoff_unlink(name));
	return 0;
}

/* Executes this program as one user that another has started: as one that is
 * set-user-ID. */
static int execute_as(const char *name)
{
	char program[] = "rights";
	char option[] = "--part";
	char part[] = "started_by_another";
	char *argv[] = { program, option, part, (char *)(uintptr_t)name, NULL };
	int fd = open("/proc/self/exe", O_PATH);

	CHECK(fd >= 0);
	CHECK(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0);
	CHECK(setresuid(NOBODY, ANOTHER, ANOTHER) == 0);
	fexecve(fd, argv, environ);
	return 77;
}

/* G29: who starts it could have the name anywhere. */
static void more_rights_than_its_starter_ignore_the_directory(void **state)
{
	struct process p;
	char name[64];
	int status;

	(void)state;
	share_directory();
	if (access("/dev/shm", W_OK) != 0)
		SKIP("there is no /dev/shm");
	snprintf(name, sizeof name, "rights-test.%d", getpid());
	p = start("execute_as", name);
	status = finish(&p);
	if (status == 77 || status == 127)
		SKIP("this program cannot be executed so");
	assert_int_equal(status, 0);
	assert_int_equal(count_names(), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "open_as_user", open_as_user },
		{ "make_as_user", make_as_user },
		{ "unlink_as_user", unlink_as_user },
		{ "plant", plant },
		{ "use_directory", use_directory },
		{ "make_below", make_below },
		{ "execute_as", execute_as },
		{ "started_by_another", started_by_another },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(without_the_right_to_it_opening_is_eacces),
		TEST(a_private_name_is_not_taken_from_others),
		TEST(a_shared_name_opens_for_all_whatever_the_umask),
		TEST(what_others_have_planted_is_refused_and_stays),
		TEST(other_threads_keep_their_umask),
		TEST(a_directory_that_is_none_is_enoent),
		TEST(a_directory_with_a_long_name_is_enametoolong),
		TEST(a_directory_without_rights_is_eacces),
		TEST(more_rights_than_its_starter_ignore_the_directory),
	};

	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
