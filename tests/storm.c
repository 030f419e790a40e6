/* SPDX-License-Identifier: ISC */
/*
 * Whatever is killed, at any moment: every call ends that should, locks
 * exclude, nothing is lost but what a killed one had, no death that left
 * something torn is kept from the next (G03, G09, G43, G47, G48).
 *
 *   STRESS_SECONDS  how long (1.5)
 *   STRESS_SEED     what each process does follows from it, its place and how
 *                   many were in that place before
 */
#define _GNU_SOURCE
#include "storm_watch.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TABLE_FD 50      /* that all inherit */
#define INSIDE_LEAST 8.4 /* kills inside the library, a second */
#define CALLS_LEAST 2.0  /* of each sort, a second */

#define W (1u << CALL_WAIT)
#define T (1u << CALL_TRY)
#define U (1u << CALL_UNTIL)
#define G (1u << CALL_GIVE)
#define O (1u << CALL_OTHER)

const struct storm_kind storm_kinds[STORM_KINDS] = {
	{ "mutex", act_mutex, NULL, settle_mutex, W | T | U | G, PLAIN },
	{ "recursive", act_mutex, NULL, settle_mutex, W | T | U | G,
	    RECURSIVE },
	{ "errorcheck", act_mutex, NULL, settle_mutex, W | T | U | G,
	    ERRORCHECK },
	{ "unfair", act_mutex, NULL, settle_mutex, W | T | U | G, UNFAIR },
	{ "mortal", act_mortal, NULL, NULL, W | T | U | G | O, 0 },
	{ "cond", act_cond, feed_cond, settle_cond, W | U | G | O, 0 },
	{ "rwlock", act_rwlock, NULL, settle_rwlock, W | T | U | G, 0 },
	{ "sem", act_sem, feed_sem, settle_sem, W | T | U | G, 0 },
	{ "event", act_once, feed_once, settle_taken, W | T | U | G | O, 0 },
	{ "manual", act_all, feed_all, NULL, W | T | U | G | O, 0 },
	{ "word32", act_word32, feed_word32, settle_word32, W | U | G, 0 },
	{ "word64", act_word64, feed_word64, settle_word64, W | U | G, 0 },
	{ "any", act_any, feed_any, settle_taken, W | U | G, 0 },
	{ "barrier", act_barrier, feed_barrier, settle_barrier, W | U, 0 },
	{ "baton", act_baton, feed_baton, settle_baton, W | T | U | G, 0 },
	{ "names", act_names, NULL, NULL, T | U | G | O, 0 },
};

/* ---- What all share ------------------------------------------------------ */

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct handoff_sem_attr few = { .size = sizeof few,
		.maximum = 20 };
	const struct handoff_event_attr manual = { .size = sizeof manual,
		.flags = HANDOFF_EVENT_MANUAL };
	struct handoff_mutex_attr sort = { .size = sizeof sort };
	static const unsigned flags[MUTEXES] = { 0, HANDOFF_RECURSIVE,
		HANDOFF_ERRORCHECK, HANDOFF_UNFAIR };
	struct room *r = memory;
	int e = 0;

	(void)bytes;
	(void)arg;
	for (unsigned i = 0; i < MUTEXES && e == 0; i++) {
		sort.flags = flags[i];
		e = handoff_mutex_init(&r->mutexes[i], &sort);
	}
	return e                                                ? e :
	    (e = handoff_mutex_init(&r->beside, NULL)) != 0     ? e :
	    (e = handoff_cond_init(&r->cond, NULL)) != 0        ? e :
	    (e = handoff_rwlock_init(&r->rwlock, NULL)) != 0    ? e :
	    (e = handoff_sem_init(&r->sem, 0, &few)) != 0       ? e :
	    (e = handoff_event_init(&r->once, NULL)) != 0       ? e :
	    (e = handoff_event_init(&r->all, &manual)) != 0     ? e :
	    (e = handoff_word32_init(&r->word32, 0, NULL)) != 0 ? e :
	    (e = handoff_word64_init(&r->word64, 0, NULL)) != 0 ? e :
	    (e = handoff_sem_init(&r->any_sem, 0, NULL)) != 0   ? e :
	    (e = handoff_event_init(&r->any_event, NULL)) != 0 ?
	                                                        e :
	    (e = handoff_word32_init(&r->any_word, 0, NULL)) != 0 ?
	                                                        e :
	                                                        handoff_baton_init(
	                                                            &r->baton,
	                                                            PLACES,
	                                                            NULL);
}

static struct table *map_table(int fd)
{
	void *t = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);

	return t == MAP_FAILED ? NULL : t;
}

static void make_table(uint64_t seed)
{
	int fd = memfd_create("storm", 0);

	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, TABLE_FD), TABLE_FD);
	close(fd);
	assert_int_equal(ftruncate(TABLE_FD, sizeof *table), 0);
	table = map_table(TABLE_FD);
	assert_non_null(table);
	table->seed = seed;
}

/* ---- The parent ---------------------------------------------------------- */

static void report(double seconds)
{
	print_message("%-10s %8s %8s %8s %8s %8s %6s %5s %5s %9s\n", "", "wait",
	    "try", "until", "give", "other", "killed", "told", "lost",
	    "longest");
	for (unsigned i = 0; i < STORM_KINDS; i++) {
		const struct tally *t = &table->tallies[i];
		unsigned long long killed = 0;

		print_message("%-10s", storm_kinds[i].name);
		for (unsigned k = 0; k < CALLS; k++) {
			killed += t->kills[k];
			print_message(" %8llu",
			    (unsigned long long)t->calls[k]);
		}
		print_message(" %6llu %5llu %5llu %7.1f ms\n", killed,
		    (unsigned long long)t->told, (unsigned long long)t->lost,
		    (double)t->longest / 1e6);
	}
	print_message("%.0f s, seed %llu: %u kills, %u of them inside calls "
	              "of the library (%u at points), %u stops\n",
	    seconds, (unsigned long long)table->seed, storm_count.kills,
	    storm_count.inside, storm_count.at_points, storm_count.stops);
}

/* The first sort of call of which there were too few. */
static const char *too_few(double seconds, const char **kind)
{
	for (unsigned i = 0; i < STORM_KINDS; i++)
		for (unsigned k = 0; k < CALLS; k++) {
			*kind = storm_kinds[i].name;
			if ((storm_kinds[i].calls & 1u << k) != 0 &&
			    (double)table->tallies[i].calls[k] <
			        CALLS_LEAST * seconds)
				return storm_calls[k];
		}
	*kind = "all";
	return storm_count.inside < INSIDE_LEAST * seconds ?
	    "killed in the library" :
	    NULL;
}

static int did_enough(double seconds)
{
	const char *kind;

	return too_few(seconds, &kind) == NULL;
}

static void assert_did_enough(double seconds)
{
	const char *kind;
	const char *call = too_few(seconds, &kind);

	if (call)
		fail_msg("too few: %s %s", kind, call);
}

static void settle_all(void)
{
	for (unsigned i = 0; i < STORM_KINDS; i++) {
		const char *wrong = storm_kinds[i].settle ?
		    storm_kinds[i].settle(i) :
		    NULL;

		if (wrong)
			fail_msg("seed %llu, %s: %s",
			    (unsigned long long)table->seed,
			    storm_kinds[i].name, wrong);
	}
}

/* Names of which a killed one had no time to remove. */
static int remove_one(const char *name, uint32_t kind, uint64_t bytes,
    void *left)
{
	(void)kind;
	(void)bytes;
	*(unsigned *)left += strcmp(name, "storm") != 0;
	return strcmp(name, "storm") != 0 ? handoff_unlink(name) : 0;
}

/* G03, G09, G43, G47, G48 */
static void whoever_is_killed_the_others_get_on(void **state)
{
	const char *text = getenv("STRESS_SECONDS");
	double seconds = text && strtod(text, NULL) > 0 ? strtod(text, NULL) :
	                                                  1.5;
	const struct handoff_segment_options o = { sizeof o,
		sizeof(struct room), 1, fill_room, NULL };
	unsigned descriptors = count_descriptors();
	handoff_segment *s = NULL;
	unsigned left = 0;

	(void)state;
	text = getenv("STRESS_SEED");
	make_table(text && *text ? strtoull(text, NULL, 0) : handoff_now());
	assert_int_equal(handoff_segment_open(&s, "storm", HANDOFF_CREATE, 0600,
	                     &o),
	    0);
	room = handoff_segment_memory(s);
	storm_blow(seconds, did_enough);
	report(seconds);
	settle_all();
	assert_did_enough(seconds);
	assert_int_equal(handoff_list(remove_one, &left), 0);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(handoff_unlink("storm"), 0);
	assert_int_equal(count_names(), 0);
	close(TABLE_FD);
	assert_int_equal(count_descriptors(), descriptors);
}

static int end_all(void **state)
{
	storm_end_all();
	return processes_teardown(state);
}

/* A process that came by exec. */
static int live(const char *arg)
{
	unsigned place;
	unsigned generation;

	table = map_table(TABLE_FD);
	if (!table || sscanf(arg, "%u:%u", &place, &generation) != 2 ||
	    place >= PLACES)
		return 1;
	storm_live(place, generation);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct part parts[] = { { "live", live } };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(whoever_is_killed_the_others_get_on,
		    end_all),
	};
	const char *text = getenv("STRESS_SECONDS");

	PROCESSES_BEGIN(argc, argv, parts,
	    120 + (unsigned)(text ? strtod(text, NULL) : 0));
	return processes_end(
	    cmocka_run_group_tests_name("storm", tests, NULL, NULL));
}
