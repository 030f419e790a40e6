/* SPDX-License-Identifier: ISC */
/* The readers-writer lock of a test, and those who use it. */
#define _GNU_SOURCE
#include "readers.h"
#include "system.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME "rw"

/* ---- The room ---------------------------------------------------------- */

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;

	(void)bytes;
	return handoff_rwlock_init(&r->lock, arg);
}

struct room *make_rw(const struct handoff_rwlock_attr *attr)
{
	struct room *r = make_room(NAME, attr);

	assert_non_null(r);
	return r;
}

void end_rw(struct room *r)
{
	close_room(r, NAME);
	assert_int_equal(count_names(), 0);
}

struct room *get_rw(void)
{
	return join_room(NAME, NULL);
}

/* ---- The part ---------------------------------------------------------- */

static int rdlock_until(handoff_rwlock *lock)
{
	return handoff_rwlock_rdlock_until(lock, soon(20));
}

static int rdlock_late(handoff_rwlock *lock)
{
	return handoff_rwlock_rdlock_until(lock, soon(0.3));
}

static int wrlock_until(handoff_rwlock *lock)
{
	return handoff_rwlock_wrlock_until(lock, soon(20));
}

static int wrlock_late(handoff_rwlock *lock)
{
	return handoff_rwlock_wrlock_until(lock, soon(0.3));
}

int call_by_name(handoff_rwlock *lock, const char *name)
{
	static const struct {
		const char *name;
		int (*call)(handoff_rwlock *lock);
	} calls[] = {
		{ "rdlock", handoff_rwlock_rdlock },
		{ "tryrdlock", handoff_rwlock_tryrdlock },
		{ "rdlock_until", rdlock_until },
		{ "rdlock_late", rdlock_late },
		{ "rdunlock", handoff_rwlock_rdunlock },
		{ "wrlock", handoff_rwlock_wrlock },
		{ "trywrlock", handoff_rwlock_trywrlock },
		{ "wrlock_until", wrlock_until },
		{ "wrlock_late", wrlock_late },
		{ "wrunlock", handoff_rwlock_wrunlock },
		{ "downgrade", handoff_rwlock_downgrade },
		{ "consistent", handoff_rwlock_consistent },
		{ "destroy", handoff_rwlock_destroy },
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].call(lock);
	fprintf(stderr, "no such call: %s\n", name);
	CHECK(0);
	return -1;
}

void write_both(struct room *r)
{
	r->a = r->a + 1;
	for (volatile int i = 0; i < 20; i = i + 1)
		;
	r->b = r->b + 1;
}

struct script {
	handoff_rwlock *lock;
	char *rest;
};

static void *follow(void *arg)
{
	struct script *s = arg;
	const char *word;
	pthread_t thread;

	while ((word = strsep(&s->rest, " ")) != NULL) {
		if (strcmp(word, "}") == 0) {
			break;
		} else if (strcmp(word, "{") == 0) {
			CHECK(pthread_create(&thread, NULL, follow, s) == 0);
			CHECK(pthread_join(thread, NULL) == 0);
		} else if (strcmp(word, "go") == 0) {
			await(word);
		} else if (strcmp(word, "asks") == 0) {
			say(word);
		} else if (strcmp(word, "linger") == 0) {
			linger();
		} else {
			say(handoff_strerror(call_by_name(s->lock, word)));
		}
	}
	return NULL;
}

int user(const char *words)
{
	char copy[256];
	struct script s = { &get_rw()->lock, copy };

	CHECK(strlen(words) < sizeof copy);
	strcpy(copy, words);
	follow(&s);
	return 0;
}

/* ---- The parent -------------------------------------------------------- */

struct process start_user(const char *words)
{
	return start("user", words);
}

void says_soon(struct process *p, int result, double seconds)
{
	expect_within(p, handoff_strerror(result), seconds);
}

void ends_with(struct process *p, int result)
{
	tell(p, "go");
	says(p, result);
	assert_int_equal(finish(p), 0);
}

void waits(struct process *p)
{
	assert_false(says_within(p, 0.1));
}

int write_soon(struct room *r)
{
	return handoff_rwlock_wrlock_until(&r->lock, soon(BOUND));
}

int read_soon(struct room *r)
{
	return handoff_rwlock_rdlock_until(&r->lock, soon(BOUND));
}

void unlock_read(struct room *r)
{
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
}

void unlock_write(struct room *r)
{
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), 0);
}

struct process start_holder(const char *words, int n)
{
	struct process p = start_user(words);

	while (n-- > 0)
		says(&p, 0);
	return p;
}

void assert_no_writer_comes_in(struct room *r)
{
	uint64_t until = handoff_after(20000000);
	handoff_rwlock *lock = &r->lock;

	assert_int_equal(handoff_rwlock_trywrlock(lock), EBUSY);
	assert_int_equal(handoff_rwlock_wrlock_until(lock, 0), ETIMEDOUT);
	assert_int_equal(handoff_rwlock_wrlock_until(lock, handoff_now() - 1),
	    ETIMEDOUT);
	assert_int_equal(handoff_rwlock_wrlock_until(lock, until), ETIMEDOUT);
	assert_true(handoff_now() >= until);
	assert_true(handoff_now() < until + 5000000000u);
	assert_int_equal(handoff_rwlock_wrunlock(lock), EPERM);
}

void assert_no_reader_comes_in(struct room *r)
{
	uint64_t until = handoff_after(20000000);
	handoff_rwlock *lock = &r->lock;

	assert_int_equal(handoff_rwlock_tryrdlock(lock), EBUSY);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, 0), ETIMEDOUT);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, handoff_now() - 1),
	    ETIMEDOUT);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, until), ETIMEDOUT);
	assert_true(handoff_now() >= until);
	assert_true(handoff_now() < until + 5000000000u);
	assert_int_equal(handoff_rwlock_rdunlock(lock), EPERM);
}

void assert_refused(handoff_rwlock *lock)
{
	uint64_t far = soon(1);

	assert_int_equal(handoff_rwlock_rdlock(lock), EINVAL);
	assert_int_equal(handoff_rwlock_tryrdlock(lock), EINVAL);
	assert_int_equal(handoff_rwlock_rdlock_until(lock, far), EINVAL);
	assert_int_equal(handoff_rwlock_wrlock(lock), EINVAL);
	assert_int_equal(handoff_rwlock_trywrlock(lock), EINVAL);
	assert_int_equal(handoff_rwlock_wrlock_until(lock, far), EINVAL);
	assert_int_equal(handoff_rwlock_rdunlock(lock), EINVAL);
	assert_int_equal(handoff_rwlock_wrunlock(lock), EINVAL);
	assert_int_equal(handoff_rwlock_downgrade(lock), EINVAL);
	assert_int_equal(handoff_rwlock_consistent(lock), EINVAL);
	assert_int_equal(handoff_rwlock_destroy(lock), EINVAL);
}

void assert_free(struct room *r)
{
	assert_int_equal(handoff_rwlock_wrlock_until(&r->lock, soon(5)), 0);
	assert_int_equal(handoff_rwlock_wrunlock(&r->lock), 0);
	assert_int_equal(handoff_rwlock_rdlock_until(&r->lock, soon(5)), 0);
	assert_int_equal(handoff_rwlock_rdunlock(&r->lock), 0);
}
