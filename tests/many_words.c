/* SPDX-License-Identifier: ISC */
/*
 * handoff_word(3): a wake reaches the one who waits for that word, of many that
 * sleep side by side, and no other; the others cost nothing meanwhile (G12).
 */
#include "room.h"
#include "still.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 64
#define EACH 32 /* threads of a process */

/* One after the other in a segment: only the places differ. */
struct room {
	handoff_word32 words[WORDS];
	_Atomic unsigned asleep; /* have come to wait */
	_Atomic unsigned woken[WORDS];
};

const size_t room_bytes = sizeof(struct room);

int fill_room(void *memory, size_t bytes, void *arg)
{
	struct room *r = memory;
	int e = 0;

	(void)bytes;
	(void)arg;
	for (unsigned i = 0; i < WORDS && e == 0; i++)
		e = handoff_word32_init(&r->words[i], 0, NULL);
	return e;
}

static struct room *here;

static void *sleeper(void *number)
{
	unsigned i = (unsigned)(uintptr_t)number;

	atomic_fetch_add(&here->asleep, 1);
	OK(handoff_word32_wait(&here->words[i], 0));
	atomic_fetch_add(&here->woken[i], 1);
	return NULL;
}

/* "name:first": a thread for each of so many words. */
static int part_sleepers(const char *arg)
{
	pthread_t threads[EACH];
	unsigned first;

	here = join_room(arg, &first);
	for (unsigned i = 0; i < EACH; i++)
		CHECK(pthread_create(&threads[i], NULL, sleeper,
		          (void *)(uintptr_t)(first + i)) == 0);
	for (unsigned i = 0; i < EACH; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static unsigned count_woken(struct room *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WORDS; i++)
		n += atomic_load(&r->woken[i]);
	return n;
}

static void wake(struct room *r, unsigned i, unsigned before)
{
	double end = seconds_now() + 5;

	handoff_word32_store(&r->words[i], 1);
	assert_int_equal(handoff_word32_wake(&r->words[i], 1), 0);
	while (atomic_load(&r->woken[i]) == 0 && seconds_now() < end)
		sleep_seconds(0.0002);
	assert_int_equal(atomic_load(&r->woken[i]), 1);
	assert_int_equal(count_woken(r), before + 1);
}

static void a_wake_reaches_the_one_who_waits_for_that_word(void **state)
{
	struct room *r = open_room("many");
	struct process p[WORDS / EACH];
	double used = 0;

	(void)state;
	for (unsigned i = 0; i < WORDS / EACH; i++) {
		char arg[32];

		snprintf(arg, sizeof arg, "many:%u", i * EACH);
		p[i] = start("sleepers", arg);
	}
	while (atomic_load(&r->asleep) < WORDS)
		sleep_seconds(0.001);
	sleep_seconds(0.2);
	for (unsigned i = 0; i < WORDS / EACH; i++)
		used -= cpu_of(p[i].pid);
	sleep_seconds(0.5);
	for (unsigned i = 0; i < WORDS / EACH; i++)
		used += cpu_of(p[i].pid);
	assert_true(used < 0.1);
	/* 37 and 64 have no common divisor: each once, in no order. */
	for (unsigned i = 0; i < WORDS; i++)
		wake(r, i * 37 % WORDS, i);
	for (unsigned i = 0; i < WORDS / EACH; i++)
		assert_int_equal(finish(&p[i]), 0);
	close_room(r, "many");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "sleepers", part_sleepers },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
		    a_wake_reaches_the_one_who_waits_for_that_word,
		    processes_teardown),
	};

	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("many_words", tests, NULL, NULL));
}
