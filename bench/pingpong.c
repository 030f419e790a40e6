/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench pingpong: runs trials of all vias at all places by turns (the
 * first of each, then the second of each), so that what disturbs the machine
 * for a while disturbs all of them, and sums them up.
 *
 * Mean, p50 and CPU time are medians over the trials; the other quantiles are
 * those of the round trips of all trials together.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"
#include "report.h"
#include "run.h"

/* The trials of one via at one place. */
struct row {
	const struct via *via;
	enum place place;
	int cpu[2];
	const char *skipped;
	unsigned done; /* trials, and entries of the three arrays */
	double *p50s;
	double *means;
	double *cpus;
	uint64_t bare_rounds;
	bool cut;
	struct histogram merged;
};

static bool row_init(struct row *row, const struct via *via, enum place place,
    unsigned trials)
{
	row->via = via;
	row->place = place;
	row->skipped = place_cpus(place, row->cpu);
	row->p50s = calloc(3 * (size_t)trials, sizeof(*row->p50s));
	if (!row->p50s)
		return false;
	row->means = row->p50s + trials;
	row->cpus = row->means + trials;
	return true;
}

static void row_add(struct row *row, const struct report reports[2],
    uint64_t rounds)
{
	const struct report *r = &reports[0];
	unsigned i = row->done++;

	histogram_merge(&row->merged, &r->stamped);
	row->bare_rounds += r->bare_rounds;
	row->p50s[i] = (double)histogram_quantile(&r->stamped, 0.5);
	row->means[i] = (double)r->bare_ns / (double)r->bare_rounds;
	row->cpus[i] = (double)(r->cpu_ns + reports[1].cpu_ns) /
	    (double)r->wall_ns;
	if (rounds != UINT64_MAX &&
	    (r->stamped.count < rounds || r->bare_rounds < rounds))
		row->cut = true;
}

static void progress(const struct row *row, unsigned trial, unsigned trials)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rtrial %u of %u: %s, %s\033[K", trial + 1,
		    trials, row->via->name, place_name(row->place));
}

static void progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static bool run_row(struct row *row, const struct pingpong_options *o,
    unsigned serial)
{
	static struct report reports[2];
	const struct trial trial = {
		.via = row->via,
		.place = row->place,
		.cpu = { row->cpu[0], row->cpu[1] },
		.rounds = o->rounds,
		.limit_ns = o->trial_ns / 2,
		.serial = serial,
	};

	if (!run_trial(&trial, reports))
		return false;
	row_add(row, reports, o->rounds);
	return true;
}

static bool run_rows(struct row *rows, size_t count,
    const struct pingpong_options *o)
{
	unsigned trial, serial = 0;
	bool ok = true;
	size_t i;

	run_prepare();
	for (trial = 0; trial < o->trials && ok; trial++) {
		for (i = 0; i < count && ok; i++) {
			if (rows[i].skipped)
				continue;
			progress(&rows[i], trial, o->trials);
			ok = run_row(&rows[i], o, serial++) &&
			    !run_interrupted();
		}
	}
	progress_end();
	run_finish();
	run_quit();
	return ok;
}

/* A quantile of all trials together, not below one of those before it: the
 * median of the trials can be slow where most round trips were fast. */
static uint64_t quantile(const struct row *row, double q, uint64_t least)
{
	uint64_t value = histogram_quantile(&row->merged, q);

	return value > least ? value : least;
}

static void sum_up(struct figures *f, struct row *row)
{
	unsigned n = row->done;

	f->via = row->via;
	f->place = row->place;
	f->cpu[0] = row->cpu[0];
	f->cpu[1] = row->cpu[1];
	f->skipped = row->skipped;
	if (row->skipped)
		return;
	f->trials = n;
	f->cut = row->cut;
	f->round_trips = row->merged.count;
	f->bare_round_trips = row->bare_rounds;
	f->p50 = (uint64_t)bench_median(row->p50s, n); /* sorts them */
	f->p50_low = (uint64_t)row->p50s[0];
	f->p50_high = (uint64_t)row->p50s[n - 1];
	f->mean = bench_median(row->means, n);
	f->cpu_seconds = bench_median(row->cpus, n);
	f->min = row->merged.min;
	f->p90 = quantile(row, 0.9, f->p50);
	f->p99 = quantile(row, 0.99, f->p90);
	f->p999 = quantile(row, 0.999, f->p99);
	f->max = row->merged.max;
}

static bool is_floor(const struct figures *f, enum place place)
{
	return f->place == place && f->mean > 0 &&
	    strcmp(f->via->name, place_floor(place)) == 0;
}

/* Sets the ratios to the floor of each place, where it was measured. */
static void compare_to_floors(struct figures *f, size_t count)
{
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < count; j++)
			if (!f[i].skipped && is_floor(&f[j], f[i].place))
				f[i].ratio = f[i].mean / f[j].mean;
}

static bool init_rows(struct row *rows, const struct pingpong_options *o)
{
	size_t place, via;

	for (place = 0; place < o->place_count; place++)
		for (via = 0; via < o->via_count; via++)
			if (!row_init(rows++, o->vias[via], o->places[place],
			        o->trials))
				return false;
	return true;
}

static int run(struct row *rows, struct figures *figures, size_t count,
    const struct pingpong_options *o)
{
	size_t i;

	if (!init_rows(rows, o)) {
		fprintf(stderr, BENCH_TOOL ": %s\n", strerror(ENOMEM));
		return BENCH_FAILED;
	}
	if (!run_rows(rows, count, o))
		return BENCH_FAILED;
	for (i = 0; i < count; i++)
		sum_up(&figures[i], &rows[i]);
	compare_to_floors(figures, count);
	report_pingpong(o->format, figures, count);
	return report_end();
}

int pingpong_main(int argc, char **argv)
{
	struct pingpong_options o;
	struct figures *figures;
	struct row *rows;
	size_t i, count;
	int status;

	if (!options_pingpong(&o, argc, argv, &status))
		return status;
	count = o.via_count * o.place_count;
	rows = calloc(count, sizeof(*rows));
	figures = calloc(count, sizeof(*figures));
	status = BENCH_FAILED;
	if (rows && figures)
		status = run(rows, figures, count, &o);
	else
		fprintf(stderr, BENCH_TOOL ": %s\n", strerror(ENOMEM));
	for (i = 0; rows && i < count; i++)
		free(rows[i].p50s);
	free(figures);
	free(rows);
	return status;
}
