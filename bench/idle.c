/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench idle: what a process that waits costs.  Each waiter is a
 * process; all wait at the same time, and then, alone, each that needs a CPU
 * for it.  What they used is known when they have ended; what one used that
 * waited for nothing but its end, at the same time, is subtracted.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "idle.h"
#include "options.h"
#include "report.h"

#define DEFAULT_NS 5000000000u

static const struct idle_group *const groups[] = { &idle_ours, &idle_peers };
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* What waiting used in a second: of each trial, and the median. */
struct figure {
	double *trials;
	double p50;
};

enum { CPU, WAKES, SWITCHES, FIGURES };

struct row {
	const struct idle_via *via;
	const char *group;
	struct figure figures[FIGURES];
};

/* Rows, and a child for each of them. */
struct idle {
	struct row *rows; /* the first waits for nothing */
	struct child *children;
	uint64_t *starts;
	double *values;
	size_t count;
	unsigned trials;
	unsigned serial;
};

static bool failed(const char *name, const char *what)
{
	fprintf(stderr, BENCH_TOOL ": %s: %s\n", name, what);
	return false;
}

static int nothing_wait(void)
{
	return pause();
}

static const struct idle_via nothing = {
	.name = "nothing",
	.what = "subtracted from the others",
	.wait = nothing_wait,
};

/* ---- measuring --------------------------------------------------------- */

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* What a child used; less that of the one that waits for nothing. */
static void note(struct idle *idle, size_t i, unsigned trial, uint64_t end)
{
	const struct rusage *base = &idle->children[0].usage;
	const struct rusage *used = &idle->children[i].usage;
	double s = (double)(end - idle->starts[i]) / 1e9;
	double values[FIGURES];
	int k;

	values[CPU] = (seconds(used->ru_utime) + seconds(used->ru_stime)) * 1e3;
	values[WAKES] = (double)used->ru_nvcsw;
	values[SWITCHES] = (double)(used->ru_nvcsw + used->ru_nivcsw);
	if (i > 0) {
		values[CPU] -= 1e3 *
		    (seconds(base->ru_utime) + seconds(base->ru_stime));
		values[WAKES] -= (double)base->ru_nvcsw;
		values[SWITCHES] -= (double)(base->ru_nvcsw + base->ru_nivcsw);
	}
	for (k = 0; k < FIGURES; k++)
		idle->rows[i].figures[k].trials[trial] = values[k] > 0 ?
		    values[k] / s :
		    0;
}

/* In the child. */
static int wait_in(void *row)
{
	int e = ((const struct row *)row)->via->wait();

	return e > 0 && e < 256 ? e : 255;
}

static bool start(struct idle *idle, size_t i, uint64_t ns)
{
	int e;

	idle->starts[i] = bench_now();
	e = children_start(&idle->children[i], ns, wait_in, &idle->rows[i]);
	return e == 0 || failed(idle->rows[i].via->name, strerror(e));
}

/* Nobody is meant to end in that time. */
static bool watch(struct idle *idle, uint64_t ns)
{
	char text[CHILDREN_TEXT_MAX];
	int who;

	who = children_wait(idle->children, idle->count, bench_now() + ns);
	if (who == CHILDREN_NONE)
		return true;
	children_text(text, &idle->children[who]);
	return failed(idle->rows[who].via->name, text);
}

/* Starts those from `first` to `last` that are busy, or are not, and the one
 * that waits for nothing. */
static bool wait_for(struct idle *idle, size_t first, size_t last, bool busy,
    unsigned trial, uint64_t ns)
{
	const struct row *rows = idle->rows;
	uint64_t end;
	size_t i;
	bool ok = start(idle, 0, ns);

	for (i = first; i <= last && ok; i++)
		if (rows[i].via->busy == busy)
			ok = start(idle, i, ns);
	ok = ok && watch(idle, ns);
	end = bench_now();
	children_end(idle->children, idle->count);
	if (!ok)
		return false;
	note(idle, 0, trial, end);
	for (i = first; i <= last; i++)
		if (rows[i].via->busy == busy)
			note(idle, i, trial, end);
	return true;
}

/* The objects are new for each trial: death has marked those of the last. */
static bool open_all(struct idle *idle, size_t *opened)
{
	char name[BENCH_NAME_MAX];
	int e;

	for (*opened = 0; *opened < GROUPS; ++*opened) {
		bench_name(name, idle->serial++);
		e = groups[*opened]->open(name);
		if (e != 0)
			return failed(groups[*opened]->name, strerror(e));
	}
	return true;
}

static bool run(struct idle *idle, unsigned trial, uint64_t ns)
{
	size_t opened, i;
	bool ok = open_all(idle, &opened);

	ok = ok && wait_for(idle, 1, idle->count - 1, false, trial, ns);
	for (i = 1; i < idle->count && ok; i++)
		if (idle->rows[i].via->busy)
			ok = wait_for(idle, i, i, true, trial, ns);
	while (opened-- > 0)
		groups[opened]->close();
	return ok;
}

/* ---- printing ---------------------------------------------------------- */

static void print_table(const struct idle *idle, const struct timed_options *o)
{
	const struct row *row = idle->rows;
	size_t i;

	printf("a process waits %g s for what does not come; each second of "
	       "that it uses\n",
	    (double)o->ns / 1e9);
	printf("%-15s%12s%11s%12s  %s\n", "via", "cpu ms", "wakes", "switches",
	    "what");
	for (i = 0; i < idle->count; i++, row++)
		printf("%-15s%12.4f%11.1f%12.1f  %s\n", row->via->name,
		    row->figures[CPU].p50, row->figures[WAKES].p50,
		    row->figures[SWITCHES].p50, row->via->what);
}

static void print_csv(const struct idle *idle, const struct timed_options *o)
{
	const struct row *row = idle->rows;
	size_t i;

	printf("via,group,what,trials,seconds,cpu_ms_per_s,wakes_per_s,"
	       "switches_per_s\n");
	for (i = 0; i < idle->count; i++, row++)
		printf("%s,%s,\"%s\",%u,%g,%.6f,%.3f,%.3f\n", row->via->name,
		    row->group, row->via->what, idle->trials,
		    (double)o->ns / 1e9, row->figures[CPU].p50,
		    row->figures[WAKES].p50, row->figures[SWITCHES].p50);
}

static void print_json(const struct idle *idle, const struct timed_options *o)
{
	const struct row *row = idle->rows;
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"idle\":[");
	for (i = 0; i < idle->count; i++, row++) {
		printf(i == 0 ? "\n{\"via\":" : ",\n{\"via\":");
		report_json_string(stdout, row->via->name);
		printf(",\"group\":\"%s\",\"what\":", row->group);
		report_json_string(stdout, row->via->what);
		printf(",\"trials\":%u,\"seconds\":%g,\"cpu_ms_per_s\":%.6f"
		       ",\"wakes_per_s\":%.3f,\"switches_per_s\":%.3f}",
		    idle->trials, (double)o->ns / 1e9, row->figures[CPU].p50,
		    row->figures[WAKES].p50, row->figures[SWITCHES].p50);
	}
	printf("\n]}\n");
}

static int print(const struct idle *idle, const struct timed_options *o)
{
	if (o->format == FORMAT_TABLE)
		print_table(idle, o);
	else if (o->format == FORMAT_CSV)
		print_csv(idle, o);
	else
		print_json(idle, o);
	return report_end();
}

/* ---- all of it --------------------------------------------------------- */

static void add_row(struct idle *idle, const struct idle_via *via,
    const char *group)
{
	struct row *row = &idle->rows[idle->count];
	double *values = idle->values + idle->count * FIGURES * idle->trials;
	int k;

	row->via = via;
	row->group = group;
	for (k = 0; k < FIGURES; k++, values += idle->trials)
		row->figures[k].trials = values;
	idle->count++;
}

static int run_all(struct idle *idle, const struct timed_options *o)
{
	struct figure *figure;
	unsigned trial;
	size_t i, k;

	add_row(idle, &nothing, "base");
	for (i = 0; i < GROUPS; i++)
		for (k = 0; k < groups[i]->count; k++)
			add_row(idle, &groups[i]->vias[k], groups[i]->name);
	children_prepare();
	for (trial = 0; trial < o->trials; trial++)
		if (!run(idle, trial, o->ns))
			return BENCH_FAILED;
	children_finish();
	for (i = 0; i < idle->count; i++)
		for (k = 0; k < FIGURES; k++) {
			figure = &idle->rows[i].figures[k];
			figure->p50 = bench_median(figure->trials, o->trials);
		}
	return print(idle, o);
}

static int with_memory(const struct timed_options *o)
{
	struct idle idle = { .trials = o->trials };
	size_t most = 1, i;
	int status = BENCH_FAILED;

	for (i = 0; i < GROUPS; i++)
		most += groups[i]->count;
	idle.rows = calloc(most, sizeof(*idle.rows));
	idle.children = calloc(most, sizeof(*idle.children));
	idle.starts = calloc(most, sizeof(*idle.starts));
	idle.values = calloc(most * FIGURES * o->trials, sizeof(*idle.values));
	if (idle.rows && idle.children && idle.starts && idle.values)
		status = run_all(&idle, o);
	else
		failed("idle", strerror(ENOMEM));
	free(idle.values);
	free(idle.starts);
	free(idle.children);
	free(idle.rows);
	return status;
}

static void help(void)
{
	printf("usage: " BENCH_TOOL " idle [option ...]\n"
	       "What a process costs that waits for something that does not "
	       "come.\n\n"
	       "  --time=SECONDS  of each wait; default 5\n"
	       "  --trials=K      of all; default 1\n"
	       "  --format=WORD   table (default), csv, json\n"
	       "  --help\n");
}

int idle_main(int argc, char **argv)
{
	struct timed_options o = { .ns = DEFAULT_NS, .trials = 1 };
	int status;

	if (!options_timed(&o, help, argc, argv, &status))
		return status;
	return with_memory(&o);
}
