/* SPDX-License-Identifier: ISC */
/*
 * Which duels are played where, and what comes of them.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "costs_duel.h"

#define SPINNING_ROUNDS 200u /* of a trial */
#define BLOCKED_ROUNDS 40u
#define MATRIX_SPINNING_ROUNDS 50u
#define MATRIX_BLOCKED_ROUNDS 10u
#define MATRIX_CPUS 16
#define ENOUGH 4u /* a row has that part of its samples at the least */

/* Memory that processes share, for the matches' samples. */
static int share(void **memory, size_t bytes)
{
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return *memory == MAP_FAILED ? errno : 0;
}

static size_t samples_of(const struct costs_list *list)
{
	size_t i, n = 0;

	for (i = 0; i < list->count; i++)
		n += (size_t)list->trials * list->matches[i].rounds;
	return n;
}

static void place_samples(struct costs_list *list, double *samples,
    unsigned *counts)
{
	size_t i, n;

	for (i = 0; i < list->count; i++) {
		n = (size_t)list->trials * list->matches[i].rounds;
		list->matches[i].release = samples;
		list->matches[i].acquire = samples + n;
		list->matches[i].counts = counts;
		samples += 2 * n;
		counts += list->trials;
	}
}

/* ---- results ----------------------------------------------------------- */

/* Adds what one kind of times says.  Sorts them. */
static bool add(struct costs_rows *rows, const struct costs_list *list,
    const struct costs_match *m, const char *what, double *times, bool matrix)
{
	struct costs_row *row;
	size_t n = 0, from;
	unsigned i;

	for (i = 0; i < list->trials; i++) {
		from = (size_t)i * m->rounds;
		memmove(times + n, times + from, m->counts[i] * sizeof(*times));
		n += m->counts[i];
	}
	if (n < (size_t)list->trials * m->rounds / ENOUGH)
		return true; /* the waiter does not do that */
	row = costs_add(rows);
	if (!row)
		return !costs_failed("costs", ENOMEM);
	row->name = m->duel->name;
	row->what = what;
	row->peer = m->duel->peer;
	row->ours = costs_groups[m->group] == &costs_ours;
	row->contended = true;
	row->trials = list->trials;
	row->cpu[0] = m->cpu[0];
	row->cpu[1] = m->cpu[1];
	row->matrix = matrix;
	costs_sum_up(row, times, m->counts, list->trials);
	return true;
}

static bool add_all(struct costs_rows *rows, const struct costs_list *list,
    bool matrix)
{
	const struct costs_match *m;
	bool ok = true;
	size_t i;

	for (i = 0; i < list->count && ok; i++) {
		m = &list->matches[i];
		if (!m->spinning && !matrix)
			ok = add(rows, list, m, COSTS_RELEASE_BLOCKED,
			    m->release, matrix);
		ok = ok &&
		    add(rows, list, m,
		        m->spinning ? COSTS_ACQUIRE_SPINNING :
		                      COSTS_ACQUIRE_BLOCKED,
		        m->acquire, matrix);
	}
	return ok;
}

static bool play(struct costs_rows *rows, struct costs_list *list, bool matrix)
{
	size_t samples = samples_of(list);
	size_t bytes = 2 * samples * sizeof(double) +
	    list->count * list->trials * sizeof(unsigned);
	void *memory;
	bool ok;

	if (list->count == 0)
		return true;
	if (costs_failed("costs", share(&memory, bytes)))
		return false;
	place_samples(list, memory,
	    (unsigned *)((double *)memory + 2 * samples));
	ok = costs_play(list) && add_all(rows, list, matrix);
	munmap(memory, bytes);
	return ok;
}

/* ---- lists ------------------------------------------------------------- */

/* With one CPU a waiter that spins keeps the giver from giving. */
static bool may_spin(const struct costs_group *group, const int cpu[2])
{
	if (!group->spinning)
		return false;
#ifdef __linux__
	return cpu[0] != PLACE_ANY_CPU;
#else
	(void)cpu;
	return sysconf(_SC_NPROCESSORS_ONLN) > 1;
#endif
}

/* Adds the matches of a group's duels at two CPUs. */
static void add_group(struct costs_list *list, size_t g, const int cpu[2],
    bool matrix)
{
	const struct costs_group *group = costs_groups[g];
	struct costs_match *m;
	bool spinning;
	size_t i;

	for (i = 0; i < 2 * group->duel_count; i++) {
		spinning = i % 2 != 0;
		if ((spinning && !may_spin(group, cpu)) ||
		    (matrix && !group->duels[i / 2].matrix))
			continue;
		m = &list->matches[list->count++];
		m->duel = &group->duels[i / 2];
		m->group = g;
		m->spinning = spinning;
		m->cpu[0] = cpu[0];
		m->cpu[1] = cpu[1];
		if (matrix)
			m->rounds = spinning ? MATRIX_SPINNING_ROUNDS :
			                       MATRIX_BLOCKED_ROUNDS;
		else
			m->rounds = spinning ? SPINNING_ROUNDS : BLOCKED_ROUNDS;
	}
}

static void add_pair(struct costs_list *list, const int cpu[2], bool matrix)
{
	size_t g;

	for (g = 0; g < COSTS_GROUPS; g++)
		add_group(list, g, cpu, matrix);
}

static bool allocate(struct costs_list *list, size_t pairs)
{
	size_t g, n = 0;

	for (g = 0; g < COSTS_GROUPS; g++)
		n += 2 * costs_groups[g]->duel_count * pairs;
	list->matches = calloc(n, sizeof(*list->matches));
	return !costs_failed("costs", list->matches ? 0 : ENOMEM);
}

bool costs_duels(struct costs_rows *rows, unsigned trials)
{
	struct costs_list list = { .trials = trials };
	int cpu[2];
	bool ok;

	if (!allocate(&list, 1))
		return false;
	place_cpus(PLACE_CROSS, cpu); /* where there are two */
	add_pair(&list, cpu, false);
	ok = play(rows, &list, false);
	free(list.matches);
	return ok;
}

/* The first CPUs that may be used; returns how many. */
static int first_cpus(int cpus[MATRIX_CPUS])
{
	int n = 0;
#ifdef __linux__
	enum { SETS = 8 };
	cpu_set_t sets[SETS];
	int i;

	memset(sets, 0, sizeof(sets));
	if (sched_getaffinity(0, sizeof(sets), sets) != 0)
		return 0;
	for (i = 0; i < SETS * CPU_SETSIZE && n < MATRIX_CPUS; i++)
		if (CPU_ISSET_S((size_t)i, sizeof(sets), sets))
			cpus[n++] = i;
#else
	(void)cpus;
#endif
	return n;
}

bool costs_matrix(struct costs_rows *rows, unsigned trials)
{
	struct costs_list list = { .trials = trials };
	int cpus[MATRIX_CPUS], cpu[2], n = first_cpus(cpus), i;
	bool ok;

	if (n < 2)
		return true; /* there are no pairs */
	if (!allocate(&list, (size_t)n * (size_t)n))
		return false;
	for (i = 0; i < n * n; i++) {
		cpu[0] = cpus[i / n];
		cpu[1] = cpus[i % n];
		if (cpu[0] != cpu[1])
			add_pair(&list, cpu, true);
	}
	ok = play(rows, &list, true);
	free(list.matches);
	return ok;
}
