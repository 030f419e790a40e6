/* SPDX-License-Identifier: ISC */
/* The readers-writer lock, between processes: what handoff_rwlock(3) says. */
#define _GNU_SOURCE
#include "readers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define SLOTS 16 /* processes that can be told apart */
#define EXTRA 4
#define DEEP 70000u

/* ---- Making it --------------------------------------------------------- */

/* The attributes that are not valid. */
static const struct handoff_rwlock_attr bad[] = {
	{ 0, 0, 0, 0 },
	{ sizeof bad[0] - 1, 0, 0, 0 },
	{ sizeof bad[0] + 8, 0, 0, 0 },
	{ sizeof bad[0], HANDOFF_RECURSIVE, 0, 0 },
	{ sizeof bad[0], HANDOFF_ERRORCHECK, 0, 0 },
	{ sizeof bad[0], HANDOFF_UNFAIR, 0, 0 },
	{ sizeof bad[0], HANDOFF_EVENT_MANUAL, 0, 0 },
	{ sizeof bad[0], 0x80000000u, 0, 0 },
	{ sizeof bad[0], 0, HANDOFF_WAIT_BLOCK + 1, 0 },
	{ sizeof bad[0], 0, UINT32_MAX, 0 },
	{ sizeof bad[0], 0, 0, (uint64_t)UINT32_MAX + 1 },
};

#define BAD (sizeof bad / sizeof *bad)

static int part_named(const char *name)
{
	handoff_rwlock *lock;

	OK(handoff_rwlock_open(&lock, name, 0, 0, NULL));
	OK(handoff_rwlock_rdlock(lock));
	say("reads");
	await("let go");
	OK(handoff_rwlock_rdunlock(lock));
	OK(handoff_close(lock));
	return 0;
}

static void a_name_leads_all_processes_to_one_lock(void **state)
{
	const unsigned make = HANDOFF_CREATE | HANDOFF_EXCLUSIVE;
	const struct handoff_rwlock_attr robust = { sizeof robust,
		HANDOFF_ROBUST, HANDOFF_WAIT_YIELD, UINT32_MAX };
	handoff_rwlock *lock;
	handoff_rwlock *again;
	handoff_mutex *m;
	struct process p;

	(void)state;
	assert_int_equal(handoff_rwlock_open(&lock, "named", 0, 0, NULL),
	    ENOENT);
	assert_null(lock);
	for (size_t i = 0; i < BAD; i++)
		assert_int_equal(handoff_rwlock_open(&lock, "named", make, 0600,
		                     &bad[i]),
		    EINVAL);
	assert_int_equal(count_names(), 0);
	assert_int_equal(handoff_rwlock_open(&lock, "named", make, 0600,
	                     &robust),
	    0);
	assert_int_equal(handoff_rwlock_open(&again, "named", make, 0600, NULL),
	    EEXIST);
	assert_int_equal(handoff_mutex_open(&m, "named", 0, 0, NULL), EPROTO);
	assert_int_equal(handoff_rwlock_open(&again, "named", 0, 0, NULL), 0);
	assert_ptr_equal(again, lock);
	p = start("named", "named");
	expect(&p, "reads");
	assert_int_equal(handoff_rwlock_trywrlock(lock), EBUSY);
	assert_int_equal(handoff_rwlock_tryrdlock(lock), 0);
	tell(&p, "let go");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_close(lock), 0);
	assert_int_equal(handoff_close(lock), EBUSY);
	assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
	assert_int_equal(handoff_close(lock), 0);
	assert_int_equal(unlink_name("named"), 0);
}

static void what_is_no_lock_is_refused(void **state)
{
	const struct handoff_rwlock_attr robust = { sizeof robust,
		HANDOFF_ROBUST, 0, 0 };
	handoff_rwlock lock[2];
	handoff_mutex m;

	(void)state;
	assert_refused(NULL);
	memset(lock, 0, sizeof lock);
	assert_refused(lock);
	memset(lock, 0xff, sizeof lock);
	assert_refused(lock);
	assert_int_equal(handoff_mutex_init(&m, NULL), 0);
	memcpy(lock, &m, sizeof m);
	assert_refused(lock);
	for (size_t i = 0; i < BAD; i++)
		assert_int_equal(handoff_rwlock_init(lock, &bad[i]), EINVAL);
	assert_int_equal(handoff_rwlock_init(NULL, NULL), EINVAL);
	for (size_t i = 1; i < 64; i++) {
		void *off = (char *)lock + i;

		assert_int_equal(handoff_rwlock_init(off, NULL), EINVAL);
	}
	assert_int_equal(handoff_rwlock_init(lock, &robust), ENOTSUP);
	assert_int_equal(handoff_rwlock_init(lock, NULL), 0);
	assert_int_equal(handoff_mutex_lock((handoff_mutex *)lock), EINVAL);
	assert_int_equal(handoff_rwlock_wrlock(lock), 0);
	assert_int_equal(handoff_rwlock_wrunlock(lock), 0);
	assert_int_equal(handoff_rwlock_destroy(lock), 0);
	assert_refused(lock);
}

/* ---- Who shares it with whom ------------------------------------------- */

static void readers_of_several_processes_share_it(void **state)
{
	static const char *const words[] = { "rdlock go rdunlock",
		"tryrdlock go rdunlock", "rdlock_until go rdunlock",
		"rdlock { rdlock rdunlock } go rdunlock" };
	struct room *r = make_rw(NULL);
	struct process p[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		p[i] = start_user(words[i]);
		says(&p[i], 0);
		assert_no_writer_comes_in(r);
		assert_int_equal(handoff_rwlock_rdlock_until(&r->lock, 0), 0);
		assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	}
	says(&p[3], 0); /* the thread */
	says(&p[3], 0);
	for (size_t i = 0; i < 4; i++) {
		assert_no_writer_comes_in(r);
		ends_with(&p[i], 0);
	}
	assert_int_equal(handoff_rwlock_wrlock_until(&r->lock, 0), 0);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), 0);
	assert_free(r);
	end_rw(r);
}

static void a_writer_is_alone(void **state)
{
	static const char *const words[] = { "wrlock go wrunlock",
		"trywrlock go wrunlock", "wrlock_until go wrunlock" };
	struct room *r = make_rw(NULL);

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct process p = start_user(words[i % 3]);

		says(&p, 0);
		assert_no_reader_comes_in(r);
		assert_no_writer_comes_in(r);
		ends_with(&p, 0);
		assert_free(r);
	}
	end_rw(r);
}

/* Those who wait get it, by each call, from a writer and from a reader. */
static void who_waits_comes_in_when_it_is_free(void **state)
{
	static const char *const words[] = { "asks rdlock go rdunlock",
		"asks rdlock_until go rdunlock", "asks wrlock go wrunlock",
		"asks wrlock_until go wrunlock" };
	struct room *r = make_rw(NULL);

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		int reads = i >= 4;
		struct process p;

		assert_int_equal(reads ? handoff_rwlock_rdlock(&r->lock) :
		                         handoff_rwlock_wrlock(&r->lock),
		    0);
		p = start_user(words[reads ? i - 2 : i]);
		expect(&p, "asks");
		waits(&p);
		assert_int_equal(reads ? handoff_rwlock_rdunlock(&r->lock) :
		                         handoff_rwlock_wrunlock(&r->lock),
		    0);
		says(&p, 0);
		ends_with(&p, 0);
	}
	assert_free(r);
	end_rw(r);
}

static void one_release_lets_all_readers_in(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p[5];

	(void)state;
	assert_int_equal(handoff_rwlock_wrlock(&r->lock), 0);
	for (size_t i = 0; i < 5; i++) {
		p[i] = start_user(i % 2 ? "asks rdlock go rdunlock" :
		                          "asks rdlock_until go rdunlock");
		expect(&p[i], "asks");
	}
	waits(&p[4]);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), 0);
	for (size_t i = 0; i < 5; i++)
		says(&p[i], 0); /* all at once: none has let go */
	for (size_t i = 0; i < 5; i++)
		ends_with(&p[i], 0);
	assert_free(r);
	end_rw(r);
}

/* ---- A writer that waits ----------------------------------------------- */

/* `before` are those who have read before. */
static void keep_readers_out(void)
{
	struct room *r = make_rw(NULL);
	struct process reader = start_user("rdlock go rdunlock");
	struct process before[6];
	struct process writer;

	says(&reader, 0);
	assert_int_equal(handoff_rwlock_rdlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	for (int i = 0; i < 6; i++) {
		before[i] = start_user(
		    "rdlock rdunlock go tryrdlock rdlock_late");
		says(&before[i], 0);
		says(&before[i], 0);
	}
	writer = start_user("asks wrlock go wrunlock");
	expect(&writer, "asks");
	settle(writer.pid);
	waits(&writer);
	assert_no_reader_comes_in(r);
	assert_no_writer_comes_in(r);
	for (int i = 0; i < 6; i++)
		tell(&before[i], "go");
	for (int i = 0; i < 6; i++) {
		says(&before[i], EBUSY);
		says(&before[i], ETIMEDOUT);
		assert_int_equal(finish(&before[i]), 0);
	}
	ends_with(&reader, 0);
	says(&writer, 0);
	assert_no_reader_comes_in(r);
	ends_with(&writer, 0);
	assert_free(r);
	end_rw(r);
}

/* Whichever slots they have. */
static void a_waiting_writer_keeps_new_readers_out(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		keep_readers_out();
}

static void who_reads_may_read_again_while_a_writer_waits(void **state)
{
	struct room *r = make_rw(NULL);
	struct process reader = start_user(
	    "rdlock go rdlock tryrdlock rdlock_until "
	    "go rdunlock rdunlock rdunlock go rdunlock");
	struct process writer;

	(void)state;
	says(&reader, 0);
	writer = start_user("asks wrlock go wrunlock");
	expect(&writer, "asks");
	settle(writer.pid);
	waits(&writer);
	tell(&reader, "go");
	for (int i = 0; i < 3; i++)
		says_soon(&reader, 0, BOUND);
	waits(&writer);
	tell(&reader, "go");
	for (int i = 0; i < 3; i++)
		says(&reader, 0);
	waits(&writer);
	ends_with(&reader, 0);
	says(&writer, 0);
	ends_with(&writer, 0);
	assert_free(r);
	end_rw(r);
}

/* Readers that it kept out come in, those that wait and those that come. */
static void a_writer_that_gives_up_lets_readers_in(void **state)
{
	struct room *r = make_rw(NULL);
	struct process first = start_user(
	    "rdlock go rdunlock rdlock go rdunlock");
	struct process writer;
	struct process second;

	(void)state;
	says(&first, 0);
	writer = start_user("asks wrlock_late");
	expect(&writer, "asks");
	settle(writer.pid);
	second = start_user("asks rdlock go rdunlock");
	expect(&second, "asks");
	says(&writer, ETIMEDOUT);
	assert_int_equal(finish(&writer), 0);
	says(&second, 0);
	assert_int_equal(handoff_rwlock_tryrdlock(&r->lock), 0);
	tell(&first, "go");
	says(&first, 0);
	says(&first, 0);
	assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	ends_with(&first, 0);
	ends_with(&second, 0);
	assert_free(r);
	end_rw(r);
}

/* ---- What a thread may not do ------------------------------------------ */

static void waiting_for_oneself_is_told_at_once(void **state)
{
	struct room *r = make_rw(NULL);
	handoff_rwlock *lock = &r->lock;
	double from = seconds_now();

	(void)state;
	for (unsigned depth = 1; depth <= 2; depth++) {
		assert_int_equal(handoff_rwlock_rdlock(lock), 0);
		assert_int_equal(handoff_rwlock_wrlock(lock), EDEADLK);
		assert_int_equal(handoff_rwlock_wrlock_until(lock, soon(30)),
		    EDEADLK);
		assert_int_equal(handoff_rwlock_wrlock_until(lock,
		                     HANDOFF_NEVER),
		    EDEADLK);
		assert_int_equal(handoff_rwlock_trywrlock(lock), EBUSY);
	}
	assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
	assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
	assert_int_equal(handoff_rwlock_wrlock(lock), 0);
	assert_int_equal(handoff_rwlock_wrlock(lock), EDEADLK);
	assert_int_equal(handoff_rwlock_wrlock_until(lock, soon(30)), EDEADLK);
	assert_int_equal(handoff_rwlock_rdlock(lock), EDEADLK);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, soon(30)), EDEADLK);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, HANDOFF_NEVER),
	    EDEADLK);
	assert_int_equal(handoff_rwlock_trywrlock(lock), EBUSY);
	assert_int_equal(handoff_rwlock_tryrdlock(lock), EBUSY);
	assert_true(seconds_now() - from < 10);
	assert_int_equal(handoff_rwlock_wrunlock(lock), 0);
	assert_free(r);
	end_rw(r);
}

/* "{" is another thread; none of this changes who holds it. */
static void only_who_holds_it_so_may_give_it_back(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p = start_user(
	    "rdunlock wrunlock downgrade consistent " /* EPERM */
	    "rdlock "
	    "wrunlock downgrade { rdunlock wrunlock consistent } " /* EPERM */
	    "consistent "                                          /* EINVAL */
	    "go rdunlock rdunlock wrlock "
	    "rdunlock { wrunlock rdunlock downgrade consistent } " /* EPERM */
	    "consistent "                                          /* EINVAL */
	    "go wrunlock wrunlock");
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		says(&p, EPERM);
	says(&p, 0);
	for (i = 0; i < 5; i++)
		says(&p, EPERM);
	says(&p, EINVAL);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), EPERM);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), EPERM);
	assert_no_writer_comes_in(r);
	tell(&p, "go");
	says(&p, 0);
	says(&p, EPERM);
	says(&p, 0);
	for (i = 0; i < 5; i++)
		says(&p, EPERM);
	says(&p, EINVAL);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), EPERM);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), EPERM);
	assert_int_equal(handoff_rwlock_downgrade(&r->lock), EPERM);
	assert_int_equal(handoff_rwlock_consistent(&r->lock), EPERM);
	assert_no_reader_comes_in(r);
	tell(&p, "go");
	says(&p, 0);
	says(&p, EPERM);
	assert_int_equal(finish(&p), 0);
	assert_free(r);
	end_rw(r);
}

static void it_is_given_back_as_often_as_it_was_locked(void **state)
{
	struct room *r = make_rw(NULL);
	handoff_rwlock *lock = &r->lock;
	struct process p;
	unsigned n = 0;
	int e = 0;

	(void)state;
	while (n < DEEP && (e = handoff_rwlock_rdlock(lock)) == 0)
		n++;
	assert_true(e == 0 || e == EAGAIN);
	assert_true(n > 1000);
	if (e == EAGAIN) {
		print_message("%u read locks of a thread\n", n);
		assert_int_equal(handoff_rwlock_tryrdlock(lock), EAGAIN);
		assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
		assert_int_equal(handoff_rwlock_tryrdlock(lock), 0);
	}
	p = start_user("wrlock_late wrlock_until go wrunlock");
	says(&p, ETIMEDOUT);
	while (n-- > 1)
		assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
	waits(&p);
	assert_int_equal(handoff_rwlock_rdunlock(lock), 0);
	assert_int_equal(handoff_rwlock_rdunlock(lock), EPERM);
	says(&p, 0);
	ends_with(&p, 0);
	assert_free(r);
	end_rw(r);
}

/* ---- Downgrade --------------------------------------------------------- */

static void a_downgrade_lets_readers_in(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p[3];

	(void)state;
	assert_int_equal(handoff_rwlock_wrlock(&r->lock), 0);
	for (size_t i = 0; i < 2; i++) {
		p[i] = start_user("asks rdlock go rdunlock");
		expect(&p[i], "asks");
		waits(&p[i]);
	}
	assert_int_equal(handoff_rwlock_downgrade(&r->lock), 0);
	says(&p[0], 0);
	says(&p[1], 0);
	p[2] = start_user("trywrlock tryrdlock go rdunlock");
	says(&p[2], EBUSY);
	says(&p[2], 0);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), EPERM);
	assert_int_equal(handoff_rwlock_downgrade(&r->lock), EPERM);
	/* It reads as any reader: again, too. */
	assert_int_equal(handoff_rwlock_rdlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	for (size_t i = 0; i < 3; i++)
		ends_with(&p[i], 0);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), EPERM);
	assert_free(r);
	end_rw(r);
}

static void no_writer_comes_in_between(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(handoff_rwlock_wrlock(&r->lock), 0);
		p = start_user("asks wrlock go wrunlock");
		expect(&p, "asks");
		if (i < 4)
			settle(p.pid);
		assert_int_equal(handoff_rwlock_downgrade(&r->lock), 0);
		waits(&p);
		assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
		says(&p, 0);
		ends_with(&p, 0);
	}
	assert_free(r);
	end_rw(r);
}

/* ---- Nobody starves ---------------------------------------------------- */

static int part_reads(const char *unused)
{
	struct room *r = get_rw();

	(void)unused;
	say("ready");
	while (!atomic_load(&r->stop)) {
		unsigned a;

		OK(handoff_rwlock_rdlock(&r->lock));
		a = r->a;
		for (int i = 0; i < 20; i++)
			CHECK(r->a == a && r->b == a);
		OK(handoff_rwlock_rdunlock(&r->lock));
		atomic_fetch_add(&r->progress, 1);
	}
	return 0;
}

static int part_writes(const char *unused)
{
	struct room *r = get_rw();

	(void)unused;
	say("ready");
	while (!atomic_load(&r->stop)) {
		OK(handoff_rwlock_wrlock(&r->lock));
		CHECK(r->a == r->b);
		write_both(r);
		OK(handoff_rwlock_wrunlock(&r->lock));
		atomic_fetch_add(&r->progress, 1);
	}
	return 0;
}

/* Beside `n` parts that use it all the time we come in, again and again. */
static void come_in_beside(const char *part, size_t n,
    int (*lock)(handoff_rwlock *lock, uint64_t deadline),
    int (*unlock)(handoff_rwlock *lock), int writes)
{
	struct room *r = make_rw(NULL);
	struct process p[8];
	double longest = 0;

	for (size_t i = 0; i < n; i++) {
		p[i] = start(part, NULL);
		expect(&p[i], "ready");
	}
	for (int i = 0; i < 20; i++) {
		double from = seconds_now();

		assert_int_equal(lock(&r->lock, soon(5)), 0);
		if (seconds_now() - from > longest)
			longest = seconds_now() - from;
		assert_int_equal(r->a, r->b);
		if (writes)
			write_both(r);
		assert_int_equal(unlock(&r->lock), 0);
		sleep_seconds(0.01);
	}
	atomic_store(&r->stop, 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(finish(&p[i]), 0);
	assert_true(r->progress > 100);
	print_message("longest wait: %.1f ms beside %u turns\n", longest * 1e3,
	    r->progress);
	assert_free(r);
	end_rw(r);
}

/* G49 */
static void a_writer_comes_in_beside_steady_readers(void **state)
{
	(void)state;
	come_in_beside("reads", 8, handoff_rwlock_wrlock_until,
	    handoff_rwlock_wrunlock, 1);
}

static void a_reader_comes_in_beside_steady_writers(void **state)
{
	(void)state;
	come_in_beside("writes", 2, handoff_rwlock_rdlock_until,
	    handoff_rwlock_rdunlock, 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "user", user },
		{ "named", part_named },
		{ "reads", part_reads },
		{ "writes", part_writes },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_name_leads_all_processes_to_one_lock),
		TEST(what_is_no_lock_is_refused),
		TEST(readers_of_several_processes_share_it),
		TEST(a_writer_is_alone),
		TEST(who_waits_comes_in_when_it_is_free),
		TEST(one_release_lets_all_readers_in),
		TEST(a_waiting_writer_keeps_new_readers_out),
		TEST(who_reads_may_read_again_while_a_writer_waits),
		TEST(a_writer_that_gives_up_lets_readers_in),
		TEST(waiting_for_oneself_is_told_at_once),
		TEST(only_who_holds_it_so_may_give_it_back),
		TEST(it_is_given_back_as_often_as_it_was_locked),
		TEST(a_downgrade_lets_readers_in),
		TEST(no_writer_comes_in_between),
		TEST(a_writer_comes_in_beside_steady_readers),
		TEST(a_reader_comes_in_beside_steady_writers),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(
	    cmocka_run_group_tests_name("rwlock", tests, NULL, NULL));
}
