/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench pingpong: runs trials of all vias at all places, with all
 * works and gaps, by turns (the first of each, then the second of each), so
 * that what disturbs the machine for a while disturbs all of them, and sums
 * them up.
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
#include "parts.h"
#include "plot.h"
#include "record.h"
#include "report.h"
#include "run.h"
#include "system.h"

/* The trials of one via at one place, with one work and gap. */
struct row {
	struct trial trial;
	const char *skipped;
	bool no_place;
	unsigned done; /* trials, and entries of the four arrays */
	double *p50s;
	double *wakes; /* their p50s */
	double *means;
	double *cpus;
	uint64_t bare_rounds, rounds, blocked, preempted, wake_ns, slept_ns;
	uint64_t spins, yields, parks;
	bool cut;
	struct histogram merged;
	struct histogram *wake; /* where there is a gap */
};

static bool row_init(struct row *row, const struct pingpong_options *o)
{
	struct trial *t = &row->trial;
	uint64_t ns = options_trial_ns(o, t->gap_ns);

	t->rounds = o->rounds;
	/* With a gap there is one stretch, without there are two. */
	t->limit_ns = t->gap_ns > 0 ? ns : ns / 2;
	row->skipped = place_cpus(t->place, t->cpu);
	row->no_place = row->skipped != NULL;
	if (!row->skipped)
		row->skipped = via_missing(t->via);
	row->p50s = calloc(4 * (size_t)o->trials, sizeof(*row->p50s));
	row->wake = calloc(t->gap_ns > 0 ? 1 : 0, sizeof(*row->wake));
	if (!row->p50s || (t->gap_ns > 0 && !row->wake))
		return false;
	row->wakes = row->p50s + o->trials;
	row->means = row->wakes + o->trials;
	row->cpus = row->means + o->trials;
	return true;
}

static void row_add(struct row *row, const struct report reports[2])
{
	const struct report *r = &reports[0];
	const struct usage *u[2] = { &r->usage, &reports[1].usage };
	const struct trial *t = &row->trial;
	unsigned i = row->done++;

	histogram_merge(&row->merged, &r->stamped);
	row->bare_rounds += r->bare_rounds;
	row->rounds += r->rounds;
	row->blocked += u[0]->blocked + u[1]->blocked;
	row->preempted += u[0]->preempted + u[1]->preempted;
	row->spins += u[0]->spins + u[1]->spins;
	row->yields += u[0]->yields + u[1]->yields;
	row->parks += u[0]->parks + u[1]->parks;
	row->p50s[i] = (double)histogram_quantile(&r->stamped, 0.5);
	row->cpus[i] = (double)(u[0]->cpu_ns + u[1]->cpu_ns) /
	    (double)r->wall_ns;
	if (t->rounds != UINT64_MAX &&
	    (r->stamped.count < t->rounds ||
	        (t->gap_ns == 0 && r->bare_rounds < t->rounds)))
		row->cut = true;
	if (t->gap_ns == 0) {
		row->means[i] = (double)r->bare_ns / (double)r->bare_rounds;
		return;
	}
	row->means[i] = (double)r->stamped_ns / (double)r->stamped.count;
	row->wakes[i] = (double)histogram_quantile(&r->wake, 0.5);
	row->wake_ns += r->wake_ns;
	row->slept_ns += r->slept_ns;
	histogram_merge(row->wake, &r->wake);
}

/* ---- progress ---------------------------------------------------------- */

struct progress {
	bool on;
	uint64_t start;
	uint64_t all_ns, done_ns; /* as trials should take */
};

static void progress_start(struct progress *p, const struct row *rows,
    size_t count, unsigned trials)
{
	size_t i;

	p->on = isatty(STDERR_FILENO);
	p->start = bench_now();
	p->all_ns = p->done_ns = 0;
	for (i = 0; i < count; i++)
		if (!rows[i].skipped)
			p->all_ns += trials * run_trial_ns(&rows[i].trial);
}

/* What is left goes on as fast as what is done. */
static double seconds_left(const struct progress *p)
{
	double left = (double)(p->all_ns - p->done_ns) * 1e-9;

	if (p->done_ns == 0)
		return left;
	return left * (double)(bench_now() - p->start) / (double)p->done_ns;
}

static void progress(const struct progress *p, const struct row *row,
    unsigned trial, unsigned trials)
{
	if (p->on)
		fprintf(stderr, "\rtrial %u of %u: %s, %s; %.0f s left\033[K",
		    trial + 1, trials, row->trial.via->name,
		    place_name(row->trial.place), seconds_left(p));
}

static void progress_end(const struct progress *p)
{
	if (p->on)
		fprintf(stderr, "\r\033[K");
}

/* ---- running ----------------------------------------------------------- */

static bool run_row(struct row *row, unsigned serial)
{
	static struct report reports[2];

	row->trial.serial = serial;
	if (!run_trial(&row->trial, reports))
		return false;
	row_add(row, reports);
	return true;
}

static bool run_rows(struct row *rows, size_t count,
    const struct pingpong_options *o)
{
	unsigned trial, serial = 0;
	struct progress p;
	bool ok = true;
	size_t i;

	parts_prepare();
	progress_start(&p, rows, count, o->trials);
	for (trial = 0; trial < o->trials && ok; trial++) {
		for (i = 0; i < count && ok; i++) {
			if (rows[i].skipped)
				continue;
			progress(&p, &rows[i], trial, o->trials);
			ok = run_row(&rows[i], serial++) &&
			    !parts_interrupted();
			p.done_ns += run_trial_ns(&rows[i].trial);
		}
	}
	progress_end(&p);
	parts_finish();
	parts_quit();
	return ok;
}

/* ---- summing up -------------------------------------------------------- */

/* A quantile of all trials together, not below one of those before it: the
 * median of the trials can be slow where most round trips were fast. */
static uint64_t quantile(const struct histogram *h, double q, uint64_t least)
{
	uint64_t value = histogram_quantile(h, q);

	return value > least ? value : least;
}

static void set_quantiles(struct quantiles *q, const struct histogram *h,
    double *p50s, unsigned n)
{
	q->min = h->min;
	q->p50 = (uint64_t)bench_median(p50s, n); /* sorts them */
	q->p90 = quantile(h, 0.9, q->p50);
	q->p99 = quantile(h, 0.99, q->p90);
	q->p999 = quantile(h, 0.999, q->p99);
	q->max = h->max;
}

/* From the sorted medians of the trials. */
static void set_spread(struct figures *f, const double *p50s, uint64_t p50)
{
	f->p50_low = (uint64_t)p50s[0];
	f->p50_high = (uint64_t)p50s[f->trials - 1];
	f->wide = (double)(f->p50_high - f->p50_low) >
	    FIGURES_WIDE * (double)p50;
}

static void sum_up_figures(struct figures *f, struct row *row)
{
	double stamped = (double)row->merged.count;
	unsigned n = row->done;

	f->trials = n;
	f->cut = row->cut;
	f->round_trips = row->merged.count;
	f->bare_round_trips = row->bare_rounds;
	f->mean = bench_median(row->means, n);
	f->cpu_seconds = bench_median(row->cpus, n);
	if (system_counts_switches) {
		f->blocked = (double)row->blocked / (double)row->rounds;
		f->preempted = (double)row->preempted / (double)row->rounds;
	}
	f->spins = (double)row->spins / (double)row->rounds;
	f->yields = (double)row->yields / (double)row->rounds;
	f->parks = (double)row->parks / (double)row->rounds;
	set_quantiles(&f->rtt, &row->merged, row->p50s, n);
	if (f->gap_ns == 0) {
		set_spread(f, row->p50s, f->rtt.p50);
		return;
	}
	set_quantiles(&f->wake, row->wake, row->wakes, n);
	set_spread(f, row->wakes, f->wake.p50);
	f->wake_mean = (double)row->wake_ns / stamped;
	f->slept = (double)row->slept_ns / stamped;
}

static void sum_up(struct figures *f, struct row *row)
{
	const struct trial *t = &row->trial;

	f->via = t->via;
	f->place = t->place;
	f->work_ns = t->work_ns;
	f->gap_ns = t->gap_ns;
	f->cpu[0] = t->cpu[0];
	f->cpu[1] = t->cpu[1];
	f->skipped = row->skipped;
	f->no_place = row->no_place;
	if (!row->skipped)
		sum_up_figures(f, row);
}

/* Measured as `of`, and to compare it with. */
static bool comparable(const struct figures *f, const struct figures *of)
{
	return f->place == of->place && f->work_ns == of->work_ns &&
	    f->gap_ns == of->gap_ns && !f->skipped && figures_cost(f) > 0;
}

static bool is_floor(const struct figures *f, const struct figures *of)
{
	return comparable(f, of) &&
	    strcmp(f->via->name, place_floor(of->place)) == 0;
}

/* Sets the ratios to the floors, where they were measured. */
static void compare_to_floors(struct figures *f, size_t count)
{
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < count; j++)
			if (!f[i].skipped && is_floor(&f[j], &f[i]))
				f[i].ratio = figures_cost(&f[i]) /
				    figures_cost(&f[j]);
}

/* Sets the ratios to the fastest peers, where some were measured. */
static void compare_to_peers(struct figures *f, size_t count)
{
	const struct figures *best;
	size_t i, j;

	for (i = 0; i < count; i++) {
		best = NULL;
		for (j = 0; j < count; j++)
			if (f[j].via->group == VIA_PEERS &&
			    comparable(&f[j], &f[i]) &&
			    (!best || figures_cost(&f[j]) < figures_cost(best)))
				best = &f[j];
		if (!best || f[i].skipped)
			continue;
		f[i].peer = best->via->name;
		f[i].peer_ratio = figures_cost(&f[i]) / figures_cost(best);
	}
}

static size_t count_rows(const struct pingpong_options *o)
{
	return o->place_count * o->works.count * o->gaps.count * o->via_count;
}

/* The vias vary first, then gap, work and place. */
static bool init_rows(struct row *rows, const struct pingpong_options *o)
{
	size_t i, n, count = count_rows(o);
	struct trial *t;

	for (i = 0; i < count; i++) {
		t = &rows[i].trial;
		n = i;
		t->via = o->vias[n % o->via_count];
		n /= o->via_count;
		t->gap_ns = o->gaps.ns[n % o->gaps.count];
		n /= o->gaps.count;
		t->work_ns = o->works.ns[n % o->works.count];
		n /= o->works.count;
		t->place = o->places[n];
		if (!row_init(&rows[i], o))
			return false;
	}
	return true;
}

static bool save_record(const struct row *row, const char *path)
{
	const char *via = row->trial.via->name;
	const char *place = place_name(row->trial.place);

	if (!row->skipped)
		return record_save(path, via, place);
	fprintf(stderr, BENCH_TOOL ": %s, %s: nothing to record: %s\n", via,
	    place, row->skipped);
	return false;
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
	if (o->record && !save_record(&rows[0], o->record))
		return BENCH_FAILED;
	for (i = 0; i < count; i++)
		sum_up(&figures[i], &rows[i]);
	compare_to_floors(figures, count);
	compare_to_peers(figures, count);
	report_pingpong(o->format, figures, count);
	if (report_end() != BENCH_OK)
		return BENCH_FAILED;
	if (o->plot && !plot_pingpong(o->plot, figures, count))
		return BENCH_FAILED;
	return BENCH_OK;
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
	if (o.plot && !plot_prepare(o.plot))
		return BENCH_FAILED;
	if (o.record && !record_begin())
		return BENCH_FAILED;
	count = count_rows(&o);
	rows = calloc(count, sizeof(*rows));
	figures = calloc(count, sizeof(*figures));
	status = BENCH_FAILED;
	if (rows && figures)
		status = run(rows, figures, count, &o);
	else
		fprintf(stderr, BENCH_TOOL ": %s\n", strerror(ENOMEM));
	for (i = 0; rows && i < count; i++) {
		free(rows[i].p50s);
		free(rows[i].wake);
	}
	free(figures);
	free(rows);
	return status;
}
