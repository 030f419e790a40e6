/* SPDX-License-Identifier: ISC */
/* handoff_segment(3), handoff_close: what it refuses and what it leaves. */
#define _GNU_SOURCE
#include "segments.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CREATE HANDOFF_CREATE

/* ---- Two addresses ----------------------------------------------------- */

/* Waits for one signal, at whatever address. */
static int wait_elsewhere(const char *pages)
{
	struct pair *pair;
	int e;

	/* G38: other addresses than the parent's. */
	CHECK(mmap(NULL, (size_t)atoi(pages) * 4096, PROT_READ,
	          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	pair = open_pair("pair", 0, &e);
	OK(e);
	OK(handoff_mutex_lock(&pair->mutex));
	say("locked");
	OK(handoff_cond_wait_until(&pair->cond, &pair->mutex,
	    handoff_after(10000000000u)));
	OK(handoff_mutex_unlock(&pair->mutex));
	OK(handoff_close(pair));
	return 0;
}

static void objects_in_a_segment_work_between_processes(void **state)
{
	static const char *const pages[] = { "1", "100", "100000" };
	struct pair *pair = make_pair();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct process p = start("wait_elsewhere", pages[i]);

		expect(&p, "locked");
		assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
		assert_int_equal(handoff_cond_signal(&pair->cond), 0);
		assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
		assert_int_equal(finish(&p), 0);
	}
	end_of(pair, "pair");
}

/* G38: the same object at two addresses of one process. */
static void an_object_works_through_a_second_mapping(void **state)
{
	struct pair *one = make_pair();
	struct pair *two;
	char path[300];
	char *other;
	int fd;

	(void)state;
	snprintf(path, sizeof path, "%s/handoff.pair", run_directory());
	fd = open(path, O_RDWR);
	other = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	close(fd);
	two = (struct pair *)(void *)(other + 4096);
	assert_int_equal(handoff_mutex_lock(&one->mutex), 0);
	assert_int_equal(handoff_mutex_trylock(&two->mutex), EBUSY);
	assert_int_equal(handoff_mutex_lock(&two->mutex), EDEADLK);
	assert_int_equal(handoff_cond_signal(&two->cond), 0);
	assert_int_equal(handoff_mutex_unlock(&two->mutex), 0);
	assert_int_equal(handoff_mutex_unlock(&one->mutex), EPERM);
	assert_int_equal(handoff_mutex_lock(&two->mutex), 0);
	assert_int_equal(handoff_cond_wait_until(&one->cond, &two->mutex, 0),
	    ETIMEDOUT);
	assert_int_equal(handoff_mutex_unlock(&one->mutex), 0);
	munmap(other, 8192);
	end_of(one, "pair");
}

/* ---- Closing ----------------------------------------------------------- */

static void closing_what_is_not_open_is_einval(void **state)
{
	static int datum;
	char *heap = malloc(64);
	int local;

	(void)state;
	assert_int_equal(handoff_close(&datum), EINVAL);
	assert_int_equal(handoff_close(&local), EINVAL);
	assert_int_equal(handoff_close(heap), EINVAL);
	assert_int_equal(handoff_close((void *)(uintptr_t)-1), EINVAL);
	free(heap);
}

/* A thread of this process that does something with a pair. */
struct helper {
	pthread_t thread;
	struct pair *pair;
	_Atomic int stage; /* 1: about to wait, or holds; 2: let go */
	int result;
};

static void *hold(void *arg)
{
	struct helper *h = arg;

	h->result = handoff_mutex_lock(&h->pair->mutex);
	h->stage = 1;
	while (h->stage != 2)
		sleep_seconds(0.001);
	h->result |= handoff_mutex_unlock(&h->pair->mutex);
	return NULL;
}

static void *wait_lock(void *arg)
{
	struct helper *h = arg;

	h->stage = 1;
	h->result = handoff_mutex_lock(&h->pair->mutex);
	h->result |= handoff_mutex_unlock(&h->pair->mutex);
	return NULL;
}

static void *wait_cond(void *arg)
{
	struct helper *h = arg;

	h->result = handoff_mutex_lock(&h->pair->mutex);
	h->stage = 1;
	while (h->result == 0 && h->stage != 2)
		h->result = handoff_cond_wait(&h->pair->cond, &h->pair->mutex);
	h->result |= handoff_mutex_unlock(&h->pair->mutex);
	return NULL;
}

static void begin(struct helper *h, struct pair *pair, void *(*run)(void *))
{
	h->pair = pair;
	h->stage = 0;
	assert_int_equal(pthread_create(&h->thread, NULL, run, h), 0);
	while (h->stage == 0)
		sleep_seconds(0.001);
	sleep_seconds(0.03);
}

static void finish_helper(struct helper *h)
{
	assert_int_equal(pthread_join(h->thread, NULL), 0);
	assert_int_equal(h->result, 0);
}

/* G17 */
static void the_last_close_is_ebusy_while_a_thread_is_inside(void **state)
{
	struct pair *pair = make_pair();
	struct helper h;

	(void)state;
	assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
	assert_int_equal(handoff_close(pair), EBUSY);
	begin(&h, pair, wait_lock);
	assert_int_equal(handoff_close(pair), EBUSY);
	assert_ptr_equal(make_pair(), pair);
	assert_int_equal(handoff_close(pair), 0); /* not the last */
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
	finish_helper(&h);
	begin(&h, pair, hold);
	assert_int_equal(handoff_close(pair), EBUSY);
	h.stage = 2;
	finish_helper(&h);
	begin(&h, pair, wait_cond);
	assert_int_equal(handoff_close(pair), EBUSY);
	assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
	h.stage = 2;
	assert_int_equal(handoff_cond_signal(&pair->cond), 0);
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
	finish_helper(&h);
	end_of(pair, "pair");
}

/* G17 */
static void destroying_is_ebusy_until_nobody_is_inside(void **state)
{
	struct pair *pair = make_pair();
	struct process p = start("hold_pair", NULL);
	struct helper h;

	(void)state;
	expect(&p, "held");
	assert_int_equal(handoff_mutex_destroy(&pair->mutex), EBUSY);
	begin(&h, pair, wait_lock);
	assert_int_equal(handoff_mutex_destroy(&pair->mutex), EBUSY);
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	finish_helper(&h);
	begin(&h, pair, hold);
	assert_int_equal(handoff_mutex_destroy(&pair->mutex), EBUSY);
	h.stage = 2;
	finish_helper(&h);
	begin(&h, pair, wait_cond);
	assert_int_equal(handoff_cond_destroy(&pair->cond), EBUSY);
	assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
	assert_int_equal(handoff_mutex_destroy(&pair->mutex), EBUSY);
	h.stage = 2;
	assert_int_equal(handoff_cond_broadcast(&pair->cond), 0);
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
	finish_helper(&h);
	assert_int_equal(handoff_cond_destroy(&pair->cond), 0);
	assert_int_equal(handoff_cond_signal(&pair->cond), EINVAL);
	assert_int_equal(handoff_mutex_destroy(&pair->mutex), 0);
	assert_int_equal(handoff_mutex_lock(&pair->mutex), EINVAL);
	assert_int_equal(handoff_mutex_trylock(&pair->mutex), EINVAL);
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), EINVAL);
	assert_int_equal(handoff_mutex_destroy(&pair->mutex), EINVAL);
	end_of(pair, "pair");
}

/* G17: what another process holds stays held. */
static void closing_leaves_the_locks_of_others_alone(void **state)
{
	struct pair *pair = make_pair();
	struct process p = start("hold_pair", NULL);

	(void)state;
	expect(&p, "held");
	assert_int_equal(handoff_close(pair), 0);
	pair = make_pair();
	assert_int_equal(handoff_mutex_trylock(&pair->mutex), EBUSY);
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), EPERM);
	tell(&p, "end");
	assert_int_equal(finish(&p), 0);
	assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
	assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
	end_of(pair, "pair");
}

/* G24 */
static void many_cycles_leave_nothing_behind(void **state)
{
	unsigned descriptors = count_descriptors();
	unsigned mappings = count_mappings();
	struct pair *kept = make_pair();

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct pair *pair;
		int e;

		pair = open_pair("cycle", CREATE | HANDOFF_EXCLUSIVE, &e);
		assert_int_equal(e, 0);
		assert_int_equal(handoff_mutex_lock(&pair->mutex), 0);
		assert_int_equal(handoff_mutex_unlock(&pair->mutex), 0);
		assert_int_equal(handoff_close(pair), 0);
		if (i % 2)
			assert_int_equal(open_bytes("cycle", CREATE, 1),
			    EPROTO);
		assert_int_equal(handoff_unlink("cycle"), 0);
		assert_int_equal(open_bytes("cycle", 0, 0), ENOENT);
	}
	end_of(kept, "pair");
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_equal(count_mappings(), mappings);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait_elsewhere", wait_elsewhere },
		{ "hold_pair", hold_pair },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(objects_in_a_segment_work_between_processes),
		TEST(an_object_works_through_a_second_mapping),
		TEST(closing_what_is_not_open_is_einval),
		TEST(the_last_close_is_ebusy_while_a_thread_is_inside),
		TEST(destroying_is_ebusy_until_nobody_is_inside),
		TEST(closing_leaves_the_locks_of_others_alone),
		TEST(many_cycles_leave_nothing_behind),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
