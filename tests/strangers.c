/* SPDX-License-Identifier: ISC */
/*
 * handoff_segment(3): what stands at a name and is no such segment, or belongs
 * to somebody else, is refused and left as it is.
 */
#define _GNU_SOURCE
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define EXCLUSIVE HANDOFF_EXCLUSIVE

#define NOBODY 65534 /* two users that are not root */
#define ANOTHER 65533

/* ---- Helpers ----------------------------------------------------------- */

static int open_as(const char *name, unsigned flags, unsigned mode,
    size_t bytes, uint32_t kind)
{
	const struct handoff_segment_options o = { sizeof o, bytes, kind, NULL,
		NULL };
	handoff_segment *s;
	int e = handoff_segment_open(&s, name, flags, mode, &o);

	/* Whatever the answer, nothing stays open. */
	return e != 0 ? e : handoff_close(s);
}

static const char *path_of(const char *name)
{
	static char path[300];

	snprintf(path, sizeof path, "%s/handoff.%s", run_directory(), name);
	return path;
}

/* What a file is and what it holds. */
struct picture {
	struct stat st;
	unsigned char bytes[16384];
	ssize_t n;
};

static void look(struct picture *p)
{
	int fd;

	memset(p, 0, sizeof *p);
	assert_int_equal(lstat(path_of("s"), &p->st), 0);
	if (!S_ISREG(p->st.st_mode))
		return;
	fd = open(path_of("s"), O_RDONLY);
	assert_true(fd >= 0);
	p->n = read(fd, p->bytes, sizeof p->bytes);
	close(fd);
}

static void assert_same(const struct picture *a)
{
	struct picture b;

	look(&b);
	assert_true(a->st.st_ino == b.st.st_ino);
	assert_true(a->st.st_mode == b.st.st_mode);
	assert_true(a->st.st_size == b.st.st_size);
	assert_true(a->st.st_mtim.tv_sec == b.st.st_mtim.tv_sec);
	assert_true(a->st.st_mtim.tv_nsec == b.st.st_mtim.tv_nsec);
	assert_true(a->n == b.n);
	assert_memory_equal(a->bytes, b.bytes, sizeof b.bytes);
}

static int unknown(const char *name, uint32_t kind, uint64_t bytes, void *ctx)
{
	(void)ctx;
	return strcmp(name, "s") == 0 && kind == HANDOFF_KIND_UNKNOWN &&
	    bytes == 0;
}

/* What stands at the name "s" is refused by all, and stays as it is. */
static void assert_refused(void)
{
	unsigned descriptors = count_descriptors();
	unsigned mappings = count_mappings();
	struct picture before;
	handoff_mutex *m = (void *)&before;
	handoff_cond *c = (void *)&before;

	look(&before);
	assert_int_equal(open_as("s", 0, 0, 0, 0), EPROTO);
	assert_int_equal(open_as("s", CREATE, 0600, 64, 0), EPROTO);
	assert_int_equal(open_as("s", CREATE, 0666, 64, 7), EPROTO);
	assert_int_equal(open_as("s", CREATE | EXCLUSIVE, 0600, 64, 0), EEXIST);
	assert_int_equal(handoff_mutex_open(&m, "s", CREATE, 0600, NULL),
	    EPROTO);
	assert_null(m);
	assert_int_equal(handoff_cond_open(&c, "s", CREATE, 0600, NULL),
	    EPROTO);
	assert_null(c);
	assert_int_equal(handoff_list(unknown, NULL), 1);
	assert_same(&before);
	assert_int_equal(count_names(), 1);
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_equal(count_mappings(), mappings);
}

static void write_file(const void *bytes, size_t n)
{
	int fd = open(path_of("s"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_true(write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

/* A segment of 64 bytes and kind 7 at "s", its file's bytes. */
static size_t make_segment(unsigned char *file, size_t most)
{
	struct picture p;

	assert_int_equal(open_as("s", CREATE | EXCLUSIVE, 0600, 64, 7), 0);
	look(&p);
	assert_true(p.n == 4096 + 64 && (size_t)p.n <= most);
	memcpy(file, p.bytes, (size_t)p.n);
	return (size_t)p.n;
}

/* ---- Files that are no segments ---------------------------------------- */

static void a_file_of_random_bytes_is_refused(void **state)
{
	static const size_t sizes[] = { 0, 1, 16, 4095, 4096, 4097, 4160,
		16384 };
	static unsigned char bytes[16384];

	(void)state;
	srand(1);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)rand();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		write_file(bytes, sizes[i]);
		assert_refused();
		assert_int_equal(handoff_unlink("s"), 0);
	}
	memset(bytes, 0, sizeof bytes);
	write_file(bytes, sizeof bytes);
	assert_refused();
	assert_int_equal(handoff_unlink("s"), 0);
	assert_int_equal(count_names(), 0);
}

static void a_segment_cut_short_or_made_longer_is_refused(void **state)
{
	static const size_t sizes[] = { 0, 1, 48, 4095, 4096, 4097, 4159, 4161,
		8192, 8256 };
	unsigned char file[16384] = { 0 };

	(void)state;
	make_segment(file, sizeof file);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		write_file(file, sizes[i]);
		assert_refused();
	}
	/* The file itself is what it takes. */
	write_file(file, 4160);
	assert_int_equal(open_as("s", 0, 0, 64, 7), 0);
	assert_int_equal(handoff_unlink("s"), 0);
}

/* G37: each field of the header, changed by one bit or turned round. */
static void a_header_of_another_version_is_refused(void **state)
{
	/* Not: kind, which another's segment may have; spare; peers. */
	static const struct {
		size_t at;
		size_t n;
	} fields[] = { { 0, 8 }, { 8, 4 }, { 12, 4 }, { 20, 4 }, { 24, 8 },
		{ 32, 8 } };
	unsigned char good[16384] = { 0 };
	unsigned char file[16384];
	size_t n;

	(void)state;
	n = make_segment(good, sizeof good);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		size_t at = fields[i].at;

		for (size_t bit = 0; bit < fields[i].n * 8; bit++) {
			memcpy(file, good, n);
			file[at + bit / 8] ^= (unsigned char)(1u << bit % 8);
			write_file(file, n);
			assert_refused();
		}
		memcpy(file, good, n);
		for (size_t k = 0; k < fields[i].n; k++)
			file[at + k] = good[at + fields[i].n - 1 - k];
		write_file(file, n);
		assert_refused();
	}
	memcpy(file, good, n);
	memset(file + 40, 0, 8); /* no id */
	write_file(file, n);
	assert_refused();
	write_file(good, n);
	assert_int_equal(open_as("s", 0, 0, 64, 7), 0);
	assert_int_equal(handoff_unlink("s"), 0);
}

static void another_kind_or_size_is_refused(void **state)
{
	unsigned char file[16384];
	struct picture before;
	handoff_mutex *m;
	handoff_cond *c;

	(void)state;
	make_segment(file, sizeof file);
	look(&before);
	assert_int_equal(open_as("s", 0, 0, 64, 8), EPROTO);
	assert_int_equal(open_as("s", 0, 0, 63, 7), EPROTO);
	assert_int_equal(open_as("s", 0, 0, 65, 0), EPROTO);
	assert_int_equal(open_as("s", CREATE, 0600, 4096, 7), EPROTO);
	assert_int_equal(handoff_mutex_open(&m, "s", 0, 0, NULL), EPROTO);
	assert_int_equal(handoff_cond_open(&c, "s", CREATE, 0600, NULL),
	    EPROTO);
	assert_same(&before);
	assert_int_equal(open_as("s", 0, 0, 0, 0), 0);
	assert_int_equal(open_as("s", CREATE, 0600, 64, 7), 0);
	assert_int_equal(handoff_unlink("s"), 0);
	assert_int_equal(handoff_mutex_open(&m, "s", CREATE, 0600, NULL), 0);
	assert_int_equal(handoff_cond_open(&c, "s", CREATE, 0600, NULL),
	    EPROTO);
	assert_int_equal(open_as("s", CREATE, 0600, 64, 7), EPROTO);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_unlink("s"), 0);
}

/* A segment that says it holds a mutex, and does not. */
static void a_damaged_object_in_a_good_segment_is_refused(void **state)
{
	static const size_t at[] = { 0, 1, 2, 3, 16, 23 };
	handoff_mutex *m;
	struct picture good;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "s", CREATE, 0600, NULL), 0);
	assert_int_equal(handoff_close(m), 0);
	look(&good);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		struct picture bad = good;

		bad.bytes[4096 + at[i]] ^= 0x10;
		write_file(bad.bytes, (size_t)bad.n);
		look(&bad);
		assert_int_equal(handoff_mutex_open(&m, "s", CREATE, 0600,
		                     NULL),
		    EPROTO);
		assert_null(m);
		assert_same(&bad);
	}
	assert_int_equal(handoff_unlink("s"), 0);
}

/* ---- No plain files ---------------------------------------------------- */

/* G29: to a good segment, to nothing, to a file of others. */
static void a_symbolic_link_is_refused_and_not_followed(void **state)
{
	static const char *const targets[] = { "handoff.real", "nothing",
		"/etc/passwd", "/dev/null", ".", "handoff.s" };

	(void)state;
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		if (i == 0)
			assert_int_equal(open_as("real", CREATE, 0600, 64, 7),
			    0);
		assert_int_equal(symlink(targets[i], path_of("s")), 0);
		if (i == 0) {
			assert_int_equal(open_as("s", 0, 0, 64, 7), EPROTO);
			assert_int_equal(handoff_unlink("s"), EPROTO);
			assert_int_equal(handoff_unlink("real"), 0);
		}
		assert_refused();
		assert_int_equal(handoff_unlink("s"), EPROTO);
		assert_refused();
		assert_int_equal(unlink(path_of("s")), 0);
	}
}

static void a_directory_is_refused_and_stays(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path_of("s"), 0700), 0);
	assert_refused();
	assert_int_equal(handoff_unlink("s"), EPROTO);
	assert_refused();
	assert_int_equal(rmdir(path_of("s")), 0);
}

/* Nor does it make anybody wait for the other end. */
static void a_fifo_is_refused_and_stays(void **state)
{
	double before = seconds_now();

	(void)state;
	assert_int_equal(mkfifo(path_of("s"), 0600), 0);
	assert_refused();
	assert_int_equal(handoff_unlink("s"), EPROTO);
	assert_refused();
	assert_int_equal(unlink(path_of("s")), 0);
	assert_true(seconds_now() - before < 5);
}

static void a_socket_is_refused_and_stays(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	if (fd < 0)
		SKIP("no sockets here");
	snprintf(address.sun_path, sizeof address.sun_path, "%.100s",
	    path_of("s"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address),
	    0);
	assert_refused();
	assert_int_equal(handoff_unlink("s"), EPROTO);
	assert_int_equal(unlink(path_of("s")), 0);
	close(fd);
}

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

static int protected_regular(void)
{
	FILE *f = fopen("/proc/sys/fs/protected_regular", "r");
	int c = f ? getc(f) : '?';

	if (f)
		fclose(f);
	return c;
}

/* G26, G27 */
static void a_shared_name_opens_for_all_whatever_the_umask(void **state)
{
	(void)state;
	share_directory();
	print_message("fs.protected_regular is %c\n", protected_regular());
	run("make_as_user", "65534 666 777");
	expect_open(NOBODY, CREATE, 0666, 0);
	expect_open(ANOTHER, CREATE, 0666, 0);
	expect_open(0, CREATE, 0666, 0);
	assert_int_equal(handoff_unlink("s"), 0);
	run("make_as_user", "65534 640 0");
	expect_open(ANOTHER, CREATE, 0666, EACCES);
	assert_int_equal(handoff_unlink("s"), 0);
	assert_int_equal(count_names(), 0);
}

/* What the first use of the library takes for good. */
static int warm_up(void **state)
{
	(void)state;
	if (open_as("s", CREATE, 0600, 64, 0) != 0)
		return -1;
	return handoff_unlink("s");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "open_as_user", open_as_user },
		{ "make_as_user", make_as_user },
		{ "unlink_as_user", unlink_as_user },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_of_random_bytes_is_refused),
		TEST(a_segment_cut_short_or_made_longer_is_refused),
		TEST(a_header_of_another_version_is_refused),
		TEST(another_kind_or_size_is_refused),
		TEST(a_damaged_object_in_a_good_segment_is_refused),
		TEST(a_symbolic_link_is_refused_and_not_followed),
		TEST(a_directory_is_refused_and_stays),
		TEST(a_fifo_is_refused_and_stays),
		TEST(a_socket_is_refused_and_stays),
		TEST(without_the_right_to_it_opening_is_eacces),
		TEST(a_private_name_is_not_taken_from_others),
		TEST(a_shared_name_opens_for_all_whatever_the_umask),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(cmocka_run_group_tests(tests, warm_up, NULL));
}
