/* SPDX-License-Identifier: ISC */
/*
 * Making, opening and removing one name at once, by processes and by threads
 * (G18), and makers that are killed on the way (G19, G20).
 */
#define _GNU_SOURCE
#include "processes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N 8
#define ROUNDS 1000
#define STORM 2000
#define KILLS 300
#define CREATE HANDOFF_CREATE

/* ---- Where all meet: nothing of the library ---------------------------- */

struct meeting {
	pthread_barrier_t barrier;
	_Atomic unsigned created; /* in all rounds so far, as the rest */
	_Atomic unsigned removed;
	_Atomic unsigned opened;
	_Atomic uint64_t id; /* in this round */
};

static struct meeting *map_meeting(int fd)
{
	struct meeting *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);

	return m == MAP_FAILED ? NULL : m;
}

static struct meeting *make_meeting(int fd)
{
	pthread_barrierattr_t shared;
	struct meeting *m;

	assert_int_equal(ftruncate(fd, 4096), 0);
	m = map_meeting(fd);
	assert_non_null(m);
	assert_int_equal(pthread_barrierattr_init(&shared), 0);
	assert_int_equal(pthread_barrierattr_setpshared(&shared,
	                     PTHREAD_PROCESS_SHARED),
	    0);
	assert_int_equal(pthread_barrier_init(&m->barrier, &shared, N), 0);
	pthread_barrierattr_destroy(&shared);
	return m;
}

static void meet(struct meeting *m)
{
	pthread_barrier_wait(&m->barrier);
}

/* ---- What all open ----------------------------------------------------- */

struct shared {
	handoff_mutex mutex;
	unsigned counter;
	unsigned inside;
	unsigned filled[1000];
};

static int init(void *memory, size_t bytes, void *arg)
{
	struct shared *s = memory;

	(void)bytes;
	(void)arg;
	for (unsigned i = 0; i < 1000; i++)
		s->filled[i] = i;
	return handoff_mutex_init(&s->mutex, NULL);
}

static int open_shared(struct shared **shared, unsigned flags)
{
	const struct handoff_segment_options o = { sizeof o,
		sizeof(struct shared), 1, init, NULL };
	handoff_segment *s;
	int e = handoff_segment_open(&s, "race", flags, 0600, &o);

	*shared = handoff_segment_memory(s);
	return e;
}

/* Never seen half made (G19). */
static int is_whole(const struct shared *s)
{
	for (unsigned i = 0; i < 1000; i++)
		if (s->filled[i] != i)
			return 0;
	return 1;
}

/* One more in the counter, alone. */
static int count(struct shared *s)
{
	int e = handoff_mutex_lock(&s->mutex);
	int alone;

	if (e != 0)
		return e;
	alone = s->inside++ == 0;
	s->counter++;
	s->inside--;
	e = handoff_mutex_unlock(&s->mutex);
	return e != 0 ? e : !alone;
}

/* ---- Processes --------------------------------------------------------- */

/* All open or make it and count, meet, and find N; all close and remove. */
static int rounds(const char *fd)
{
	struct meeting *m = map_meeting(atoi(fd));

	CHECK(m != NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct handoff_info info = { .size = sizeof info };
		struct shared *s;
		int e;

		meet(m);
		OK(open_shared(&s, CREATE));
		CHECK(is_whole(s));
		OK(handoff_info(s, &info));
		CHECK(info.opens == 1 && info.detached == 0);
		atomic_fetch_add(&m->created, info.created);
		atomic_store(&m->id, info.id);
		OK(count(s));
		meet(m);
		CHECK(atomic_load(&m->id) == info.id);
		CHECK(atomic_load(&m->created) == i + 1);
		CHECK(s->counter == N);
		OK(handoff_info(s, &info));
		CHECK(info.users >= N);
		meet(m);
		e = handoff_unlink("race");
		CHECK(e == 0 || e == ENOENT);
		atomic_fetch_add(&m->removed, e == 0);
		OK(handoff_close(s));
		meet(m);
		CHECK(atomic_load(&m->removed) == i + 1);
	}
	return 0;
}

/* Nobody waits for anybody: opening never fails, whatever others remove. */
static int storm(const char *fd)
{
	struct meeting *m = map_meeting(atoi(fd));

	CHECK(m != NULL);
	meet(m);
	for (unsigned i = 0; i < STORM; i++) {
		struct handoff_info info = { .size = sizeof info };
		struct shared *s;
		int e;

		OK(open_shared(&s, CREATE));
		CHECK(is_whole(s));
		OK(handoff_info(s, &info));
		atomic_fetch_add(&m->created, info.created);
		atomic_fetch_add(&m->opened, 1);
		OK(count(s));
		OK(handoff_close(s));
		if (i % 2 == 0)
			continue;
		e = handoff_unlink("race");
		CHECK(e == 0 || e == ENOENT);
		atomic_fetch_add(&m->removed, e == 0);
	}
	return 0;
}

static struct meeting *play(const char *part)
{
	int fd = memfd_create("meeting", 0); /* inherited by the parts */
	struct process p[N];
	struct meeting *m;
	char arg[16];

	assert_true(fd >= 0);
	m = make_meeting(fd);
	/* Not one that a part's own pipes would take the place of. */
	fd = dup2(fd, 50);
	snprintf(arg, sizeof arg, "%d", fd);
	for (unsigned i = 0; i < N; i++)
		p[i] = start(part, arg);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(finish(&p[i]), 0);
	close(fd);
	assert_int_equal(count_names(), 0);
	return m;
}

/* G18 */
static void eight_processes_get_one_segment_in_each_of_1000_rounds(void **state)
{
	struct meeting *m = play("rounds");

	(void)state;
	assert_int_equal(m->created, ROUNDS);
	assert_int_equal(m->removed, ROUNDS);
	munmap(m, 4096);
}

/* G18 */
static void opening_never_fails_while_others_remove_the_name(void **state)
{
	struct meeting *m = play("storm");

	(void)state;
	assert_int_equal(m->opened, N * STORM);
	/* What was made was removed, once each; and the race did happen. */
	assert_int_equal(m->created, m->removed);
	print_message("%u opened, %u made\n", m->opened, m->created);
	assert_true(m->created < m->opened);
	munmap(m, 4096);
}

/* ---- Threads of one process -------------------------------------------- */

struct racer {
	pthread_t thread;
	pthread_barrier_t *barrier;
	struct meeting *m;
	struct shared *got[ROUNDS];
	unsigned line; /* where it failed */
};

#define WANT(condition)                           \
	do {                                      \
		if (!(condition) && r->line == 0) \
			r->line = __LINE__;       \
	} while (0)

static void *race(void *arg)
{
	struct racer *r = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct handoff_info info = { .size = sizeof info };
		struct shared *s;
		int e;

		pthread_barrier_wait(r->barrier);
		WANT(open_shared(&s, CREATE) == 0);
		r->got[i] = s;
		if (s) {
			WANT(is_whole(s));
			WANT(count(s) == 0);
		}
		pthread_barrier_wait(r->barrier);
		if (s) {
			WANT(s->counter == N);
			WANT(handoff_info(s, &info) == 0);
			WANT(info.opens == N && info.created == 1);
		}
		pthread_barrier_wait(r->barrier);
		e = handoff_unlink("race");
		WANT(e == 0 || e == ENOENT);
		atomic_fetch_add(&r->m->removed, e == 0);
		WANT(handoff_close(s) == 0);
		pthread_barrier_wait(r->barrier);
		WANT(handoff_close(s) == EINVAL);
	}
	return NULL;
}

static void *race_storm(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->barrier);
	for (unsigned i = 0; i < STORM; i++) {
		struct shared *s;
		int e = open_shared(&s, CREATE);

		WANT(e == 0);
		if (e != 0)
			continue;
		WANT(is_whole(s));
		WANT(count(s) == 0);
		WANT(handoff_close(s) == 0);
		e = handoff_unlink("race");
		WANT(e == 0 || e == ENOENT);
	}
	return NULL;
}

static void run_threads(struct racer *r, void *(*run)(void *))
{
	static struct meeting m;
	pthread_barrier_t barrier;

	memset(&m, 0, sizeof m);
	memset(r, 0, N * sizeof *r);
	assert_int_equal(pthread_barrier_init(&barrier, NULL, N), 0);
	for (unsigned i = 0; i < N; i++) {
		r[i].barrier = &barrier;
		r[i].m = &m;
		assert_int_equal(pthread_create(&r[i].thread, NULL, run, &r[i]),
		    0);
	}
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(pthread_join(r[i].thread, NULL), 0);
	pthread_barrier_destroy(&barrier);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(r[i].line, 0);
	assert_int_equal(count_names(), 0);
}

/* G18 */
static void eight_threads_get_one_handle_in_each_of_1000_rounds(void **state)
{
	static struct racer r[N];
	unsigned descriptors = count_descriptors();

	(void)state;
	run_threads(r, race);
	assert_int_equal(r[0].m->removed, ROUNDS);
	for (unsigned i = 0; i < ROUNDS; i++)
		for (unsigned k = 1; k < N; k++)
			assert_ptr_equal(r[k].got[i], r[0].got[i]);
	assert_int_equal(count_descriptors(), descriptors);
}

/* G18 */
static void opening_never_fails_while_threads_remove_the_name(void **state)
{
	static struct racer r[N];
	unsigned descriptors = count_descriptors();

	(void)state;
	run_threads(r, race_storm);
	assert_int_equal(count_descriptors(), descriptors);
}

/* ---- Makers that are killed -------------------------------------------- */

static int make_for_ever(const char *unused)
{
	(void)unused;
	say("begin");
	for (;;) {
		struct shared *s;
		int e;

		OK(open_shared(&s, CREATE));
		OK(handoff_close(s));
		e = handoff_unlink("race");
		CHECK(e == 0 || e == ENOENT);
	}
	return 0;
}

static int open_once(const char *unused)
{
	struct shared *s;

	(void)unused;
	say("ready");
	await("go");
	OK(open_shared(&s, CREATE));
	CHECK(is_whole(s));
	OK(count(s));
	return 0;
}

/* G19, G20, G03: the name opens, whole, or can be made at once. */
static void a_maker_killed_anywhere_leaves_the_name_usable(void **state)
{
	unsigned left = 0;

	(void)state;
	srand(2);
	for (unsigned i = 0; i < KILLS; i++) {
		struct process p = start("make_for_ever", NULL);
		struct shared *s;
		double before;
		int e;

		expect(&p, "begin");
		sleep_seconds(rand() % 3000 / 1e6);
		kill_hard(&p);
		before = seconds_now();
		e = open_shared(&s, 0);
		assert_true(e == 0 || e == ENOENT);
		if (e == 0) {
			left++;
			assert_true(is_whole(s));
			assert_int_equal(handoff_close(s), 0);
		}
		assert_int_equal(open_shared(&s, CREATE), 0);
		assert_true(is_whole(s));
		assert_int_equal(count(s), 0);
		assert_true(seconds_now() - before < 1);
		assert_int_equal(handoff_close(s), 0);
		assert_int_equal(handoff_unlink("race"), 0);
		assert_int_equal(count_names(), 0);
	}
	print_message("%u of %u left the name\n", left, KILLS);
	assert_true(left > 0);
}

/* G20: from two processes at once. */
static void two_that_follow_a_killed_maker_get_one_segment(void **state)
{
	(void)state;
	srand(3);
	for (unsigned i = 0; i < KILLS / 10; i++) {
		struct process p = start("make_for_ever", NULL);
		struct process a = start("open_once", NULL);
		struct process b = start("open_once", NULL);
		struct shared *s;

		expect(&a, "ready");
		expect(&b, "ready");
		expect(&p, "begin");
		sleep_seconds(rand() % 3000 / 1e6);
		kill_hard(&p);
		tell(&a, "go");
		tell(&b, "go");
		assert_int_equal(finish(&a), 0);
		assert_int_equal(finish(&b), 0);
		assert_int_equal(open_shared(&s, 0), 0);
		assert_int_equal(s->counter, 2);
		assert_int_equal(handoff_close(s), 0);
		assert_int_equal(handoff_unlink("race"), 0);
	}
	assert_int_equal(count_names(), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "rounds", rounds },
		{ "storm", storm },
		{ "make_for_ever", make_for_ever },
		{ "open_once", open_once },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(eight_processes_get_one_segment_in_each_of_1000_rounds),
		TEST(opening_never_fails_while_others_remove_the_name),
		TEST(eight_threads_get_one_handle_in_each_of_1000_rounds),
		TEST(opening_never_fails_while_threads_remove_the_name),
		TEST(a_maker_killed_anywhere_leaves_the_name_usable),
		TEST(two_that_follow_a_killed_maker_get_one_segment),
	};

	PROCESSES_BEGIN(argc, argv, parts, 90);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
