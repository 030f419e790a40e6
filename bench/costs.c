/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench costs: what single operations cost that nobody contends, the
 * library's beside those of the system.  Each trial is a batch of them in a
 * loop; trials of all go by turns.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "costs.h"
#include "options.h"
#include "report.h"

#define BATCH 1000000u
#define WARM_UP 100000u
#define CALLS 10u /* that part of them where each calls the kernel */

static const struct costs_group *const groups[] = { &costs_ours, &costs_peers };
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* The trials of one operation. */
struct row {
	const struct cost *cost;
	void *objects;
	double *ns; /* of each trial, for one operation */
	double min;
	double p50;
};

static bool failed(const char *name, int e)
{
	if (e != 0)
		fprintf(stderr, BENCH_TOOL ": %s: %s\n", name, strerror(e));
	return e != 0;
}

/* ---- measuring --------------------------------------------------------- */

static bool measure_one(struct row *row, unsigned trial)
{
	unsigned n = row->cost->calls ? BATCH / CALLS : BATCH;
	unsigned warm_up = row->cost->calls ? WARM_UP / CALLS : WARM_UP;
	uint64_t start;
	int e;

	e = row->cost->batch(row->objects, warm_up);
	start = bench_now();
	if (e == 0)
		e = row->cost->batch(row->objects, n);
	row->ns[trial] = (double)(bench_now() - start) / n;
	return !failed(row->cost->name, e);
}

static bool measure(struct row *rows, size_t count, unsigned trials)
{
	unsigned trial;
	size_t i;

	for (trial = 0; trial < trials; trial++)
		for (i = 0; i < count; i++)
			if (!measure_one(&rows[i], trial))
				return false;
	for (i = 0; i < count; i++) {
		rows[i].p50 = bench_median(rows[i].ns, trials); /* sorts them */
		rows[i].min = rows[i].ns[0];
	}
	return true;
}

/* ---- printing ---------------------------------------------------------- */

/* The first peer that does the same; NULL if there is none. */
static const struct row *base_of(const struct row *row, const struct row *rows,
    size_t count)
{
	size_t i;

	for (i = costs_ours.count; i < count; i++)
		if (strcmp(rows[i].cost->what, row->cost->what) == 0)
			return &rows[i];
	return NULL;
}

static void print_table(const struct row *rows, size_t count)
{
	const struct row *base;
	size_t i;

	printf("not contended; ratio: p50 to that of the first peer that does "
	       "the same\n");
	printf("%-21s%6s%10s%10s  %s\n", "via", "ratio", "min", "p50", "what");
	for (i = 0; i < count; i++) {
		base = base_of(&rows[i], rows, count);
		printf("%-21s", rows[i].cost->name);
		if (base)
			printf("%6.2f", rows[i].p50 / base->p50);
		else
			printf("%6s", "-");
		printf("%8.2fns%8.2fns  %s\n", rows[i].min, rows[i].p50,
		    rows[i].cost->what);
	}
}

static void print_json(const struct row *rows, size_t count, unsigned trials)
{
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"costs\":[");
	for (i = 0; i < count; i++) {
		printf(i == 0 ? "\n{\"via\":" : ",\n{\"via\":");
		report_json_string(stdout, rows[i].cost->name);
		printf(",\"what\":");
		report_json_string(stdout, rows[i].cost->what);
		printf(",\"contended\":%s,\"trials\":%u,"
		       "\"ns\":{\"min\":%.3f,\"p50\":%.3f}}",
		    rows[i].cost->contended ? "true" : "false", trials,
		    rows[i].min, rows[i].p50);
	}
	printf("\n]}\n");
}

/* ---- all of it --------------------------------------------------------- */

/* Signals wait while there is a name that they would leave behind. */
static bool open_quietly(const struct costs_group *group, void **objects,
    unsigned serial)
{
	char name[BENCH_NAME_MAX];
	sigset_t all, old;
	int e;

	bench_name(name, serial);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	e = group->open(objects, name);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return !failed(group->name, e);
}

/* Makes the rows of a group; their times follow those of the rows before. */
static struct row *add_rows(struct row *rows, const struct costs_group *group,
    void *objects)
{
	size_t i;

	for (i = 0; i < group->count; i++, rows++) {
		rows->cost = &group->costs[i];
		rows->objects = objects;
	}
	return rows;
}

static int run(struct row *rows, double *ns, size_t count,
    const struct costs_options *o)
{
	void *objects[GROUPS];
	struct row *end = rows;
	unsigned opened;
	size_t i;
	bool ok = true;

	for (opened = 0; opened < GROUPS; opened++) {
		ok = open_quietly(groups[opened], &objects[opened], opened);
		if (!ok)
			break;
		end = add_rows(end, groups[opened], objects[opened]);
	}
	for (i = 0; i < count; i++)
		rows[i].ns = ns + i * o->trials;
	ok = ok && measure(rows, count, o->trials);
	while (opened-- > 0)
		groups[opened]->close(objects[opened]);
	if (!ok)
		return BENCH_FAILED;
	if (o->format == FORMAT_JSON)
		print_json(rows, count, o->trials);
	else
		print_table(rows, count);
	return report_end();
}

int costs_main(int argc, char **argv)
{
	struct costs_options o;
	struct row *rows;
	double *ns;
	size_t count = 0, i;
	int status;

	if (!options_costs(&o, argc, argv, &status))
		return status;
	for (i = 0; i < GROUPS; i++)
		count += groups[i]->count;
	rows = calloc(count, sizeof(*rows));
	ns = calloc(count * o.trials, sizeof(*ns));
	status = BENCH_FAILED;
	if (!failed("costs", rows && ns ? 0 : ENOMEM))
		status = run(rows, ns, count, &o);
	free(ns);
	free(rows);
	return status;
}
