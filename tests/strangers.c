/* SPDX-License-Identifier: ISC */
/*
 * handoff_segment(3): what stands at a name and is no such segment is refused
 * and left as it is.
 */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE
#define EXCLUSIVE HANDOFF_EXCLUSIVE

/* ---- Helpers ----------------------------------------------------------- */

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

/* G29: nor is it opened with rights that its file system takes from it. */
static void a_device_is_refused_and_stays(void **state)
{
	(void)state;
	if (mknod(path_of("s"), S_IFCHR | 0666, makedev(1, 3)) != 0)
		SKIP("making a device needs the rights of root");
	assert_refused();
	assert_int_equal(handoff_unlink("s"), EPROTO);
	assert_refused();
	assert_int_equal(unlink(path_of("s")), 0);
}

/* ---- Odd plain files ---------------------------------------------------- */

/* One file, one segment: the same handle, whichever name it goes by. */
static void a_hard_link_is_the_same_segment(void **state)
{
	struct handoff_info info = { .size = sizeof info };
	handoff_mutex *m;
	handoff_mutex *link_of;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "s", CREATE, 0600, NULL), 0);
	assert_int_equal(link(path_of("s"), path_of("link")), 0);
	assert_int_equal(handoff_mutex_open(&link_of, "link", 0, 0, NULL), 0);
	assert_ptr_equal(link_of, m);
	assert_int_equal(handoff_unlink("s"), 0);
	assert_int_equal(handoff_info(m, &info), 0);
	assert_int_equal(info.detached, 1);
	assert_int_equal(info.opens, 2);
	assert_int_equal(handoff_close(link_of), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_mutex_open(&m, "link", CREATE, 0600, NULL), 0);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(handoff_unlink("link"), 0);
}

/* G19: what it would take to map it is not asked for. */
static void a_sparse_file_of_the_largest_size_is_refused(void **state)
{
	unsigned char file[16384];
	size_t n;

	(void)state;
	n = make_segment(file, sizeof file);
	for (int bits = 32; bits < 63; bits++) {
		write_file(file, n);
		if (truncate(path_of("s"), (off_t)1 << bits) != 0)
			break;
		assert_int_equal(open_as("s", 0, 0, 0, 0), EPROTO);
		assert_int_equal(open_as("s", CREATE | EXCLUSIVE, 0600, 64, 0),
		    EEXIST);
	}
	assert_int_equal(handoff_unlink("s"), 0);
}

/* ---- Nothing ------------------------------------------------------------ */

static int see_nobody(const struct handoff_peer *peer, void *ctx)
{
	(void)peer;
	(void)ctx;
	return 1;
}

#define REFUSED(call) assert_int_equal(handoff_##call, EINVAL)

/* What every call makes of what a failed open has given. */
static void refuse_locks(handoff_mutex *m, handoff_cond *c, handoff_rwlock *rw)
{
	handoff_mutex good;

	REFUSED(mutex_lock(m));
	REFUSED(mutex_trylock(m));
	REFUSED(mutex_lock_until(m, 0));
	REFUSED(mutex_unlock(m));
	REFUSED(mutex_consistent(m));
	REFUSED(mutex_destroy(m));
	REFUSED(cond_wait(c, m));
	REFUSED(cond_signal(c));
	REFUSED(cond_broadcast(c));
	REFUSED(cond_destroy(c));
	assert_int_equal(handoff_mutex_init(&good, NULL), 0);
	assert_int_equal(handoff_mutex_lock(&good), 0);
	REFUSED(cond_wait(c, &good));
	REFUSED(cond_wait_until(c, &good, 0));
	assert_int_equal(handoff_mutex_unlock(&good), 0);
	REFUSED(rwlock_rdlock(rw));
	REFUSED(rwlock_tryrdlock(rw));
	REFUSED(rwlock_rdlock_until(rw, 0));
	REFUSED(rwlock_wrlock(rw));
	REFUSED(rwlock_trywrlock(rw));
	REFUSED(rwlock_wrlock_until(rw, 0));
	REFUSED(rwlock_rdunlock(rw));
	REFUSED(rwlock_wrunlock(rw));
	REFUSED(rwlock_downgrade(rw));
	REFUSED(rwlock_consistent(rw));
	REFUSED(rwlock_destroy(rw));
}

static void refuse_counts(handoff_sem *sem, handoff_event *event,
    handoff_word32 *w32, handoff_word64 *w64)
{
	uint32_t value;

	REFUSED(sem_wait(sem));
	REFUSED(sem_trywait(sem));
	REFUSED(sem_wait_until(sem, 0));
	REFUSED(sem_post(sem, 1));
	REFUSED(sem_value(sem, &value));
	REFUSED(sem_destroy(sem));
	REFUSED(event_wait(event));
	REFUSED(event_trywait(event));
	REFUSED(event_wait_until(event, 0));
	REFUSED(event_set(event));
	REFUSED(event_reset(event));
	REFUSED(event_destroy(event));
	REFUSED(word32_wait(w32, 0));
	REFUSED(word32_wait_until(w32, 0, 0));
	REFUSED(word32_wake(w32, 1));
	REFUSED(word32_wake_fenced(w32, 1));
	REFUSED(word32_destroy(w32));
	REFUSED(word64_wait(w64, 0));
	REFUSED(word64_wait_until(w64, 0, 0));
	REFUSED(word64_wake(w64, 1));
	REFUSED(word64_wake_fenced(w64, 1));
	REFUSED(word64_destroy(w64));
}

static void refuse_parties(handoff_barrier *barrier, handoff_baton *baton)
{
	uint32_t party;
	int last;

	REFUSED(barrier_wait(barrier, &last));
	REFUSED(barrier_wait_until(barrier, &last, 0));
	REFUSED(barrier_destroy(barrier));
	REFUSED(baton_pass(baton, 0));
	REFUSED(baton_wait(baton, 0));
	REFUSED(baton_trywait(baton, 0));
	REFUSED(baton_wait_until(baton, 0, 0));
	REFUSED(baton_switch(baton, 0, 1));
	REFUSED(baton_switch_until(baton, 0, 1, 0));
	REFUSED(baton_turn(baton, &party));
	REFUSED(baton_destroy(baton));
}

static void refuse_all(void *object)
{
	struct handoff_statistics statistics = { .size = sizeof statistics };
	struct handoff_info info = { .size = sizeof info };
	struct handoff_item item = { object, 0 };
	size_t which;

	refuse_locks(object, object, object);
	refuse_counts(object, object, object, object);
	refuse_parties(object, object);
	REFUSED(wait_any(&item, 1, &which));
	REFUSED(wait_any_until(&item, 1, NULL, 0));
	REFUSED(close(object));
	REFUSED(info(object, &info));
	REFUSED(peers(object, see_nobody, NULL));
	REFUSED(statistics(object, &statistics));
}

/* G26; the same for memory in which there is no object. */
static void a_handle_that_failed_is_refused_by_every_call(void **state)
{
	static _Alignas(64) unsigned char zero[320];
	static _Alignas(64) unsigned char other[320];
	handoff_baton *baton = (void *)zero;
	handoff_mutex *m = (void *)zero;

	(void)state;
	assert_int_equal(handoff_mutex_open(&m, "nothing", 0, 0, NULL), ENOENT);
	assert_null(m);
	assert_int_equal(handoff_baton_open(&baton, "..", CREATE, 0600, 2,
	                     NULL),
	    EINVAL);
	assert_null(baton);
	refuse_all(m);
	refuse_all(zero);
	memset(other, 0xff, sizeof other);
	refuse_all(other);
	assert_null(handoff_segment_memory(NULL));
	assert_int_equal(handoff_segment_bytes(NULL), 0);
	assert_int_equal(handoff_segment_bytes((void *)zero), 0);
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
	static const struct part parts[] = { { NULL, NULL } };
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
		TEST(a_device_is_refused_and_stays),
		TEST(a_hard_link_is_the_same_segment),
		TEST(a_sparse_file_of_the_largest_size_is_refused),
		TEST(a_handle_that_failed_is_refused_by_every_call),
	};

	processes_begin(argc, argv, parts, 0, 60);
	return processes_end(cmocka_run_group_tests(tests, warm_up, NULL));
}
