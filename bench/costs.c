/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench costs: what single operations cost, the library's beside
 * those of the system.
 *
 * Alone: each trial is a batch of operations in a loop, or of one half of
 * them, on several objects.  With a waiter: costs_duel.c.  Trials of all go
 * by turns.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "bench.h"
#include "costs.h"
#include "options.h"
#include "report.h"
#include "system.h"
#include "work.h"

#define BATCH 1000000u
#define HALVES 10000u /* times COSTS_EACH operations */
#define CALLS 10u     /* that part of them where each calls the kernel */
#define WARM_UP 10u   /* that part of them before */

const struct costs_group *const costs_groups[COSTS_GROUPS] = { &costs_ours,
	&costs_peers, &costs_boost };

struct costs_options {
	unsigned trials;
	enum bench_format format;
	bool contended;
	bool matrix;
};

/* The trials of one operation. */
struct alone {
	const struct cost *cost;
	void *objects;
	double *ns; /* of each trial, for one operation */
	double *acquire;
	double *release;
};

bool costs_failed(const char *name, int e)
{
	if (e != 0)
		fprintf(stderr, BENCH_TOOL ": %s: %s\n", name, strerror(e));
	return e != 0;
}

uint64_t costs_cycles(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned a, b, c, d;

	if (__get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8) != 0)
		return __builtin_ia32_rdtsc();
#endif
	return 0;
}

/* ---- rows -------------------------------------------------------------- */

struct costs_row *costs_add(struct costs_rows *rows)
{
	size_t room = rows->room > 0 ? 2 * rows->room : 64;
	struct costs_row *more;

	if (rows->count == rows->room) {
		more = realloc(rows->rows, room * sizeof(*more));
		if (!more)
			return NULL;
		rows->rows = more;
		rows->room = room;
	}
	more = &rows->rows[rows->count++];
	memset(more, 0, sizeof(*more));
	more->cpu[0] = more->cpu[1] = PLACE_ANY_CPU;
	return more;
}

static struct costs_row *add_alone(struct costs_rows *rows,
    const struct alone *alone, const char *what, double *ns, unsigned trials)
{
	struct costs_row *row = costs_add(rows);

	if (!row)
		return NULL;
	row->name = alone->cost->name;
	row->what = what;
	row->trials = trials;
	row->p50 = bench_median(ns, trials); /* sorts them */
	row->min = ns[0];
	return row;
}

/* ---- alone ------------------------------------------------------------- */

static bool measure_pairs(struct alone *a, unsigned trial)
{
	unsigned n = a->cost->calls ? BATCH / CALLS : BATCH;
	uint64_t start;
	int e;

	e = a->cost->batch(a->objects, n / WARM_UP);
	start = bench_now();
	if (e == 0)
		e = a->cost->batch(a->objects, n);
	a->ns[trial] = (double)(bench_now() - start) / n;
	return !costs_failed(a->cost->name, e);
}

static bool measure_halves(struct alone *a, unsigned trial)
{
	const struct cost *cost = a->cost;
	bool turned = cost->release_first;
	int (*first)(void *) = turned ? cost->release : cost->acquire;
	int (*second)(void *) = turned ? cost->acquire : cost->release;
	unsigned n = cost->calls ? HALVES / CALLS : HALVES, i;
	double stamps = n * work_timer_ns(), each = (double)n * COSTS_EACH;
	uint64_t sum[2] = { 0, 0 }, before, between, after;
	int e = 0;

	for (i = 0; i < n + n / WARM_UP && e == 0; i++) {
		before = bench_now();
		e = first(a->objects);
		between = bench_now();
		if (e == 0)
			e = second(a->objects);
		after = bench_now();
		if (i < n / WARM_UP)
			continue;
		sum[turned] += between - before;
		sum[!turned] += after - between;
	}
	a->acquire[trial] = ((double)sum[0] - stamps) / each;
	a->release[trial] = ((double)sum[1] - stamps) / each;
	return !costs_failed(cost->name, e);
}

static bool measure(struct alone *alones, size_t count, unsigned trials)
{
	unsigned trial;
	size_t i;

	for (trial = 0; trial < trials; trial++)
		for (i = 0; i < count; i++)
			if (!measure_pairs(&alones[i], trial) ||
			    (alones[i].cost->acquire &&
			        !measure_halves(&alones[i], trial)))
				return false;
	return true;
}

static bool add_group(struct costs_rows *rows, const struct costs_group *group,
    const struct alone *alones, unsigned trials)
{
	struct costs_row *row;
	const struct cost *c;
	size_t i, half;

	for (i = 0; i < group->count; i++) {
		c = alones[i].cost;
		row = add_alone(rows, &alones[i], c->what, alones[i].ns,
		    trials);
		if (!row)
			return false;
		row->ours = group == &costs_ours;
		for (half = 0; half < 2 && c->acquire; half++) {
			row = add_alone(rows, &alones[i],
			    half == 0 ? COSTS_ACQUIRE : COSTS_RELEASE,
			    half == 0 ? alones[i].acquire : alones[i].release,
			    trials);
			if (!row)
				return false;
			row->ours = group == &costs_ours;
			row->peer = c->peer;
		}
	}
	return true;
}

/* Signals wait while there is a name that they would leave behind. */
static bool open_quietly(const struct costs_group *group, void **objects,
    unsigned serial)
{
	char name[BENCH_NAME_MAX];
	int e;

	if (group->missing)
		return true;
	bench_name(name, serial);
	system_hold_signals();
	e = group->open(objects, name);
	group->unlink(name);
	system_release_signals();
	return !costs_failed(group->name, e);
}

static bool measure_alone(struct costs_rows *rows, struct alone *alones,
    size_t count, unsigned trials)
{
	void *objects[COSTS_GROUPS] = { NULL };
	struct alone *a = alones;
	unsigned opened;
	size_t i;
	bool ok = true;

	for (opened = 0; opened < COSTS_GROUPS; opened++) {
		ok = open_quietly(costs_groups[opened], &objects[opened],
		    opened);
		if (!ok)
			break;
		for (i = 0; i < costs_groups[opened]->count; i++, a++) {
			a->cost = &costs_groups[opened]->costs[i];
			a->objects = objects[opened];
		}
	}
	ok = ok && measure(alones, count, trials);
	while (opened-- > 0)
		if (!costs_groups[opened]->missing)
			costs_groups[opened]->close(objects[opened]);
	for (i = 0, a = alones; i < COSTS_GROUPS && ok;
	     a += costs_groups[i++]->count)
		if (!add_group(rows, costs_groups[i], a, trials))
			return !costs_failed("costs", ENOMEM);
	return ok;
}

static bool run_alone(struct costs_rows *rows, unsigned trials)
{
	struct alone *alones;
	size_t count = 0, i;
	double *ns;
	bool ok;

	for (i = 0; i < COSTS_GROUPS; i++)
		count += costs_groups[i]->count;
	alones = calloc(count, sizeof(*alones));
	ns = calloc(3 * count * trials, sizeof(*ns));
	ok = alones && ns;
	for (i = 0; i < count && ok; i++) {
		alones[i].ns = ns + 3 * i * trials;
		alones[i].acquire = alones[i].ns + trials;
		alones[i].release = alones[i].acquire + trials;
	}
	if (!ok)
		costs_failed("costs", ENOMEM);
	ok = ok && measure_alone(rows, alones, count, trials);
	free(ns);
	free(alones);
	return ok;
}

/* ---- options ----------------------------------------------------------- */

enum { OPTION_CONTENDED = OPTION_OWN, OPTION_MATRIX };

static const struct option longs[] = {
	{ "contended", required_argument, NULL, OPTION_CONTENDED },
	{ "matrix", no_argument, NULL, OPTION_MATRIX },
	{ "trials", required_argument, NULL, OPTION_TRIALS },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help(void)
{
	printf("usage: " BENCH_TOOL " costs [option ...]\n"
	       "What operations cost, alone and with a waiter.\n\n"
	       "  --contended=WORD  with a waiter too: yes (default), no\n"
	       "  --matrix          that for all pairs of CPUs\n"
	       "  --trials=K        of each, by turns; default 9\n"
	       "  --format=WORD     table (default), csv, json\n"
	       "  --help\n");
}

static int take_contended(struct costs_options *o, const char *value)
{
	o->contended = strcmp(value, "yes") == 0;
	if (!o->contended && strcmp(value, "no") != 0)
		return options_wrong("neither yes nor no", value);
	return 0;
}

static int take(void *options, int option, char *value)
{
	struct costs_options *o = options;
	const struct options_common common = {
		.trials = &o->trials,
		.format = &o->format,
	};

	switch (option) {
	case OPTION_CONTENDED:
		return take_contended(o, value);
	case OPTION_MATRIX:
		o->matrix = true;
		return 0;
	default:
		return options_take(&common, option, value);
	}
}

/* ---- all of it --------------------------------------------------------- */

/* Duels first: their processes begin before this one uses the library. */
static bool run_all(struct costs_rows *rows, const struct costs_options *o)
{
	return (!o->contended || costs_duels(rows, o->trials)) &&
	    (!o->matrix || costs_matrix(rows, o->trials)) &&
	    run_alone(rows, o->trials);
}

static int run(struct costs_rows *rows, const struct costs_options *o)
{
	uint64_t start = bench_now(), cycles = costs_cycles();
	double cycles_per_ns;

	if (!run_all(rows, o))
		return BENCH_FAILED;
	cycles_per_ns = (double)(costs_cycles() - cycles) /
	    (double)(bench_now() - start);
	if (o->format == FORMAT_JSON)
		costs_print_json(rows, cycles_per_ns);
	else if (o->format == FORMAT_CSV)
		costs_print_csv(rows, cycles_per_ns);
	else
		costs_print_table(rows, cycles_per_ns);
	return report_end();
}

int costs_main(int argc, char **argv)
{
	static const struct options_command command = {
		.longs = longs,
		.help = help,
		.take = take,
	};
	struct costs_options o = { .trials = 9, .contended = costs_has_duels };
	struct costs_rows rows = { 0 };
	int status;

	if (!options_parse(&command, &o, argc, argv, &status))
		return status;
	if (!costs_has_duels && (o.contended || o.matrix))
		return options_wrong("not on this system",
		    o.matrix ? "--matrix" : "--contended=yes");
	status = run(&rows, &o);
	free(rows.rows);
	return status;
}
