/* SPDX-License-Identifier: ISC */
/*
 * The readers-writer lock and those who die: a reader's lock is given back, a
 * writer's death is told once (G01, G48).
 */
#define _GNU_SOURCE
#include "readers.h"

#include <errno.h>

#define SLOTS 16

/* ---- Readers ----------------------------------------------------------- */

/* A reader dies `delay` after a writer began to wait; `words` are its own. */
static void kill_reader(struct room *r, const char *words, int n, double delay)
{
	struct process reader = start_holder(words, n);
	struct process writer = start_user("asks wrlock go wrunlock");

	expect(&writer, "asks");
	sleep_seconds(delay);
	assert_false(says_within(&writer, 0));
	kill_hard(&reader);
	says_soon(&writer, 0, BOUND);
	assert_int_equal(handoff_rwlock_tryrdlock(&r->lock), EBUSY);
	ends_with(&writer, 0);
	assert_free(r);
}

static void a_dead_reader_holds_no_waiting_writer_up(void **state)
{
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 10; i++)
		kill_reader(r, "rdlock linger", 1, i / 200.0);
	kill_reader(r, "rdlock linger", 1, 1);
	kill_reader(r, "rdlock rdlock linger", 2, 0.05);
	kill_reader(r, "rdlock rdunlock rdlock tryrdlock linger", 4, 0.05);
	kill_reader(r, "wrlock downgrade linger", 2, 0.05);
	kill_reader(r, "rdlock { rdlock rdlock linger }", 3, 0.05);
	end_rw(r);
}

/* Who comes after the death gets it, by each call. */
static void a_dead_reader_holds_nobody_up_who_comes_later(void **state)
{
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 9; i++) {
		struct process p = start_holder(i < 3 ? "rdlock linger" :
		                                        "rdlock rdlock linger",
		    i < 3 ? 1 : 2);
		double end = seconds_now() + BOUND;
		int e;

		kill_hard(&p);
		if (i % 3 == 0) {
			assert_int_equal(write_soon(r), 0);
		} else if (i % 3 == 1) {
			assert_int_equal(read_soon(r), 0);
			unlock_read(r);
			assert_int_equal(handoff_rwlock_wrlock(&r->lock), 0);
		} else {
			while (
			    (e = handoff_rwlock_trywrlock(&r->lock)) == EBUSY &&
			    seconds_now() < end)
				sleep_seconds(0.0005);
			assert_int_equal(e, 0);
		}
		unlock_write(r);
		assert_free(r);
	}
	end_rw(r);
}

/* G48: one of three readers, and then the writer; nested, and again. */
static void the_others_go_on_reading(void **state)
{
	struct room *r = make_rw(NULL);

	(void)state;
	for (int nested = 0; nested < 2; nested++) {
		const char *words = nested ?
		    "rdlock rdlock rdunlock go rdunlock" :
		    "rdlock go rdunlock";
		int n = nested ? 3 : 1;
		struct process a = start_holder(words, n);
		struct process b = start_holder(words, n);
		struct process c = start_holder(words, n);
		struct process writer = start_user("asks wrlock linger");

		expect(&writer, "asks");
		settle(writer.pid);
		kill_hard(&b);
		assert_false(says_within(&writer, 0.5));
		ends_with(&a, 0);
		waits(&writer);
		ends_with(&c, 0);
		says_soon(&writer, 0, BOUND);
		kill_hard(&writer);
		assert_int_equal(write_soon(r), EOWNERDEAD);
		assert_int_equal(handoff_rwlock_consistent(&r->lock), 0);
		unlock_write(r);
		assert_free(r);
	}
	end_rw(r);
}

/* Its process lives on, and may use the lock. */
static void a_thread_that_ends_while_it_reads_gives_it_back(void **state)
{
	static const char *const words[] = {
		"{ rdlock go } go trywrlock wrunlock",
		"{ rdlock rdlock go } go trywrlock wrunlock",
		"{ wrlock downgrade go } go trywrlock wrunlock",
	};
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct process p = start_holder(words[i / 2], i < 2 ? 1 : 2);
		struct process writer = start_user("asks wrlock go wrunlock");

		expect(&writer, "asks");
		if (i % 2)
			settle(writer.pid);
		waits(&writer);
		tell(&p, "go");
		says_soon(&writer, 0, BOUND);
		ends_with(&writer, 0);
		tell(&p, "go");
		says(&p, 0);
		says(&p, 0);
		assert_int_equal(finish(&p), 0);
		assert_free(r);
	}
	end_rw(r);
}

/* Only the thread's own share, of the process's. */
static void a_thread_that_ends_gives_back_its_own_alone(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p = start_holder(
	    "rdlock rdlock { rdlock rdlock } go rdunlock go rdunlock", 4);

	(void)state;
	assert_int_equal(handoff_rwlock_wrlock_until(&r->lock, soon(0.2)),
	    ETIMEDOUT);
	tell(&p, "go");
	says(&p, 0);
	assert_int_equal(handoff_rwlock_wrlock_until(&r->lock, soon(0.2)),
	    ETIMEDOUT);
	ends_with(&p, 0);
	assert_free(r);
	end_rw(r);
}

/* ---- Slots ------------------------------------------------------------- */

/*
 * Forty, of which half die while they read: no slot is lost to them, since a
 * reader without one could not be told to be dead.  And nothing of what the
 * dead have left there is counted for the living.
 */
static void the_slots_of_the_dead_are_used_again(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p[SLOTS];

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct process q = start_holder("rdlock go rdunlock", 1);

		if (i % 2)
			kill_hard(&q);
		else
			ends_with(&q, 0);
	}
	assert_int_equal(write_soon(r), 0);
	unlock_write(r);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < SLOTS; i++)
			p[i] =
			    start_holder("rdlock go rdunlock go rdlock linger",
			        1);
		assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
		for (int i = 0; i < SLOTS; i++) {
			tell(&p[i], "go");
			says(&p[i], 0);
		}
		assert_int_equal(write_soon(r), 0);
		unlock_write(r);
		for (int i = 0; i < SLOTS; i++) {
			tell(&p[i], "go");
			says(&p[i], 0);
		}
		for (int i = 0; i < SLOTS; i++)
			kill_hard(&p[i]);
	}
	assert_int_equal(write_soon(r), 0);
	unlock_write(r);
	assert_free(r);
	end_rw(r);
}

/* One of those that cannot be told apart: as documented. */
static void a_dead_reader_beyond_the_slots_is_waited_for(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p[SLOTS + 4];
	uint64_t until;

	(void)state;
	for (int i = 0; i < SLOTS + 4; i++)
		p[i] = start_holder("rdlock go rdunlock", 1);
	for (int i = 0; i < SLOTS; i++)
		kill_hard(&p[i]);
	until = soon(0.2);
	assert_int_equal(handoff_rwlock_wrlock_until(&r->lock, until),
	    ETIMEDOUT);
	assert_true(handoff_now() >= until);
	for (int i = SLOTS; i < SLOTS + 3; i++)
		ends_with(&p[i], 0);
	kill_hard(&p[SLOTS + 3]);
	until = soon(0.5);
	assert_int_equal(handoff_rwlock_wrlock_until(&r->lock, until),
	    ETIMEDOUT);
	assert_true(handoff_now() >= until);
	assert_true(handoff_now() < until + 5000000000u);
	/* Readers are not harmed. */
	assert_int_equal(read_soon(r), 0);
	unlock_read(r);
	end_rw(r);
}

/* ---- Writers ----------------------------------------------------------- */

static struct process kill_writer(const char *waiter, double delay)
{
	struct process writer = start_holder("wrlock linger", 1);
	struct process p;

	if (delay < 0) {
		kill_hard(&writer);
		return start_user(waiter);
	}
	p = start_user(waiter);
	sleep_seconds(delay);
	kill_hard(&writer);
	return p;
}

/* It is alone until it says consistent, and shares with readers then. */
static void a_reader_is_told_of_a_dead_writer_and_is_alone(void **state)
{
	static const char *const words[] = {
		"rdlock go consistent consistent go rdunlock",
		"rdlock_until go consistent consistent go rdunlock",
	};
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct process p = kill_writer(words[i % 2], i / 10.0 - 0.2);
		struct process q;

		says_soon(&p, EOWNERDEAD, BOUND);
		assert_int_equal(handoff_rwlock_tryrdlock(&r->lock), EBUSY);
		assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
		q = start_user("asks rdlock go rdunlock");
		expect(&q, "asks");
		assert_false(says_within(&q, 0.3));
		tell(&p, "go");
		says(&p, 0);
		says(&p, EINVAL);
		says(&q, 0);
		assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
		assert_int_equal(handoff_rwlock_tryrdlock(&r->lock), 0);
		unlock_read(r);
		ends_with(&p, 0);
		assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
		ends_with(&q, 0);
		assert_free(r);
	}
	end_rw(r);
}

static void a_writer_is_told_of_a_dead_writer(void **state)
{
	static const char *const words[] = {
		"wrlock downgrade go consistent consistent go wrunlock",
		"wrlock_until rdunlock go consistent consistent go wrunlock",
	};
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct process p = kill_writer(words[i % 2], i / 10.0 - 0.2);

		says_soon(&p, EOWNERDEAD, BOUND);
		says(&p, i % 2 ? EPERM : EINVAL);
		assert_int_equal(handoff_rwlock_tryrdlock(&r->lock), EBUSY);
		assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
		tell(&p, "go");
		says(&p, 0);
		says(&p, EINVAL);
		/* Still the writer. */
		assert_int_equal(handoff_rwlock_tryrdlock(&r->lock), EBUSY);
		assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
		ends_with(&p, 0);
		assert_free(r);
	}
	end_rw(r);
}

/* The trying calls may have to try again: death is asked for now and then. */
static void a_try_is_told_of_a_dead_writer(void **state)
{
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct process p = start_holder("wrlock linger", 1);
		double end = seconds_now() + BOUND;
		int e;

		kill_hard(&p);
		do {
			sleep_seconds(0.002);
			e = i % 4 == 0 ?
			    handoff_rwlock_tryrdlock(&r->lock) :
			    i % 4 == 1 ?
			    handoff_rwlock_trywrlock(&r->lock) :
			    i % 4 == 2 ?
			    handoff_rwlock_rdlock_until(&r->lock, 0) :
			    handoff_rwlock_wrlock_until(&r->lock, 0);
		} while ((e == EBUSY || e == ETIMEDOUT) && seconds_now() < end);
		assert_int_equal(e, EOWNERDEAD);
		assert_int_equal(handoff_rwlock_consistent(&r->lock), 0);
		if (i % 2)
			unlock_write(r);
		else
			unlock_read(r);
		assert_free(r);
	}
	end_rw(r);
}

static void after_a_repair_a_writer_may_downgrade(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p =
	    kill_writer("wrlock downgrade consistent downgrade go rdunlock",
	        0.05);

	(void)state;
	says_soon(&p, EOWNERDEAD, BOUND);
	says(&p, EINVAL);
	says(&p, 0);
	says(&p, 0);
	assert_int_equal(read_soon(r), 0);
	unlock_read(r);
	assert_int_equal(handoff_rwlock_trywrlock(&r->lock), EBUSY);
	ends_with(&p, 0);
	assert_free(r);
	end_rw(r);
}

/* Readers may be inside when a writer that was let in dies later. */
static void a_writer_that_has_become_a_reader_is_told_of_no_more(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p;

	(void)state;
	p = start_holder("wrlock downgrade linger", 2);
	kill_hard(&p);
	assert_int_equal(write_soon(r), 0);
	unlock_write(r);
	/* And one that was told as a reader. */
	p = kill_writer("rdlock consistent linger", 0.02);
	says_soon(&p, EOWNERDEAD, BOUND);
	says(&p, 0);
	kill_hard(&p);
	assert_int_equal(write_soon(r), 0);
	unlock_write(r);
	assert_free(r);
	end_rw(r);
}

static void death_during_a_repair_is_told_to_the_next(void **state)
{
	struct room *r = make_rw(NULL);
	struct process p = start_holder("wrlock linger", 1);

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct process next = start_user(
		    i % 2 ? "rdlock linger" : "wrlock linger");

		if (i % 3)
			waits(&next);
		kill_hard(&p);
		says_soon(&next, EOWNERDEAD, BOUND);
		p = next;
	}
	kill_hard(&p);
	assert_int_equal(read_soon(r), EOWNERDEAD);
	assert_int_equal(handoff_rwlock_consistent(&r->lock), 0);
	unlock_read(r);
	assert_free(r);
	end_rw(r);
}

static void a_thread_that_ends_while_it_writes_is_told_of(void **state)
{
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct process p = start_holder("{ wrlock go } go wrunlock", 1);
		struct process q = start_user(i % 2 ?
		        "asks wrlock consistent go wrunlock" :
		        "asks rdlock consistent go rdunlock");

		expect(&q, "asks");
		if (i < 2)
			settle(q.pid);
		waits(&q);
		tell(&p, "go");
		says_soon(&q, EOWNERDEAD, BOUND);
		says(&q, 0);
		ends_with(&q, 0);
		ends_with(&p, EPERM);
		assert_free(r);
	}
	end_rw(r);
}

/* Those that wait and those that come, by each call. */
static void unlocking_without_consistent_loses_it_for_all(void **state)
{
	static const char *const waiters[] = { "asks rdlock", "asks wrlock",
		"asks rdlock_until", "asks wrlock_until" };

	(void)state;
	for (int reads = 0; reads < 2; reads++) {
		struct room *r = make_rw(NULL);
		struct process p = kill_writer(reads ? "rdlock go rdunlock" :
		                                       "wrlock go wrunlock",
		    0.02);
		struct process q[4];

		says_soon(&p, EOWNERDEAD, BOUND);
		for (int i = 0; i < 4; i++) {
			q[i] = start_user(waiters[i]);
			expect(&q[i], "asks");
		}
		waits(&q[3]);
		ends_with(&p, 0);
		for (int i = 0; i < 4; i++) {
			says_soon(&q[i], ENOTRECOVERABLE, BOUND);
			assert_int_equal(finish(&q[i]), 0);
		}
		p = start_user("rdlock tryrdlock rdlock_until rdlock_late "
		               "wrlock trywrlock wrlock_until wrlock_late "
		               "rdunlock wrunlock downgrade consistent");
		for (int i = 0; i < 8; i++)
			says(&p, ENOTRECOVERABLE);
		for (int i = 0; i < 4; i++)
			says(&p, EPERM);
		assert_int_equal(finish(&p), 0);
		end_rw(r);
	}
}

/* Of four that wait one is told; the others come in after its repair. */
static void exactly_one_is_told(void **state)
{
	static const char *const words[] = {
		"asks wrlock go consistent wrunlock",
		"asks rdlock go consistent rdunlock",
		"asks wrlock_until go consistent wrunlock",
		"asks rdlock_until go consistent rdunlock",
	};
	struct room *r = make_rw(NULL);

	(void)state;
	for (int round = 0; round < 8; round++) {
		struct process writer = start_holder("wrlock linger", 1);
		struct process p[4];
		double end = seconds_now() + 5;
		int first = -1;

		for (int i = 0; i < 4; i++) {
			p[i] = start_user(words[(i + round) % 4]);
			expect(&p[i], "asks");
		}
		sleep_seconds(round / 100.0);
		kill_hard(&writer);
		for (int i = 0; first < 0 && seconds_now() < end;
		     i = (i + 1) % 4)
			if (says_within(&p[i], 0.001))
				first = i;
		assert_true(first >= 0);
		says(&p[first], EOWNERDEAD);
		for (int i = 0; i < 4; i++)
			assert_false(says_within(&p[i], 0.02));
		/* They can all be told at once: who is in lets go at once. */
		for (int i = 0; i < 4; i++)
			tell(&p[i], "go");
		for (int i = 0; i < 4; i++) {
			if (i != first)
				says(&p[i], 0);
			says(&p[i], i == first ? 0 : EINVAL);
			says(&p[i], 0);
			assert_int_equal(finish(&p[i]), 0);
		}
		assert_free(r);
	}
	end_rw(r);
}

/* Killed while they wait for a reader, or for a writer: nobody is told. */
static void a_death_while_waiting_is_no_matter(void **state)
{
	static const char *const words[] = { "asks wrlock linger",
		"asks rdlock linger", "asks wrlock_until linger",
		"asks rdlock_until linger" };
	struct room *r = make_rw(NULL);

	(void)state;
	for (int i = 0; i < 12; i++) {
		int reads = i % 3 == 0;
		struct process p = start_holder(reads ? "rdlock go rdunlock" :
		                                        "wrlock go wrunlock",
		    1);
		struct process dead = start_user(
		    words[reads ? i % 2 * 2 : i % 4]);
		struct process next;

		expect(&dead, "asks");
		settle(dead.pid);
		next = start_user(i & 4 ? "asks rdlock go rdunlock" :
		                          "asks wrlock go wrunlock");
		expect(&next, "asks");
		settle(next.pid);
		kill_hard(&dead);
		if (i & 8)
			sleep_seconds(0.3);
		ends_with(&p, 0);
		says_soon(&next, 0, BOUND);
		ends_with(&next, 0);
		assert_free(r);
	}
	end_rw(r);
}

/* A writer that is killed while it waits lets readers in. */
static void a_dead_writer_keeps_no_reader_out(void **state)
{
	struct room *r = make_rw(NULL);
	struct process reader = start_holder("rdlock go rdunlock", 1);
	struct process writer = start_user("asks wrlock linger");
	struct process next;

	(void)state;
	expect(&writer, "asks");
	settle(writer.pid);
	next = start_user("asks rdlock go rdunlock");
	expect(&next, "asks");
	waits(&next);
	kill_hard(&writer);
	says_soon(&next, 0, BOUND);
	assert_int_equal(read_soon(r), 0);
	unlock_read(r);
	ends_with(&reader, 0);
	ends_with(&next, 0);
	assert_free(r);
	end_rw(r);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "user", user },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_dead_reader_holds_no_waiting_writer_up),
		TEST(a_dead_reader_holds_nobody_up_who_comes_later),
		TEST(the_others_go_on_reading),
		TEST(a_thread_that_ends_while_it_reads_gives_it_back),
		TEST(a_thread_that_ends_gives_back_its_own_alone),
		TEST(the_slots_of_the_dead_are_used_again),
		TEST(a_dead_reader_beyond_the_slots_is_waited_for),
		TEST(a_reader_is_told_of_a_dead_writer_and_is_alone),
		TEST(a_writer_is_told_of_a_dead_writer),
		TEST(a_try_is_told_of_a_dead_writer),
		TEST(after_a_repair_a_writer_may_downgrade),
		TEST(a_writer_that_has_become_a_reader_is_told_of_no_more),
		TEST(death_during_a_repair_is_told_to_the_next),
		TEST(a_thread_that_ends_while_it_writes_is_told_of),
		TEST(unlocking_without_consistent_loses_it_for_all),
		TEST(exactly_one_is_told),
		TEST(a_death_while_waiting_is_no_matter),
		TEST(a_dead_writer_keeps_no_reader_out),
	};

	PROCESSES_BEGIN(argc, argv, parts, 100);
	return processes_end(
	    cmocka_run_group_tests_name("rwlock_death", tests, NULL, NULL));
}
