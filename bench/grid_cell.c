/* SPDX-License-Identifier: ISC */
/*
 * One cell of the grid: the trials of all vias, by turns, what each cost, and
 * how ours compare.
 *
 * The cost of a round trip is what it takes beyond the work, and the CPU time
 * that both processes use for it beyond the work and the sleep of the gap.
 * The round trip begins after the gap.  Work ends by the clock and may have
 * had the CPU for less: so what part 0 uses counts in full, and what is left
 * of part 1's time is not below 0.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "parts.h"

#define LEAST_COST 1.0

/* The trials of one via. */
struct samples {
	unsigned done;
	double *costs; /* one for each trial, as the next two */
	double *latencies;
	double *cpus;
	struct histogram merged;
};

void grid_trial(struct trial *trial, const struct grid_cell *cell,
    const struct grid_options *o, const struct via *via)
{
	uint64_t ns = grid_trial_ns(o, &cell->point);

	memset(trial, 0, sizeof(*trial));
	trial->via = via;
	trial->place = cell->place;
	trial->cpu[0] = cell->cpu[0];
	trial->cpu[1] = cell->cpu[1];
	trial->rounds = UINT64_MAX;
	trial->work_ns = cell->point.work_ns;
	trial->gap_ns = cell->point.gap_ns;
	/* With a gap there is one stretch, without there are two. */
	trial->limit_ns = trial->gap_ns > 0 ? ns : ns / 2;
}

/* ---- samples ----------------------------------------------------------- */

/* The mean round trip beyond the work. */
static double latency(const struct trial *t, const struct report *r)
{
	double mean;

	if (t->gap_ns > 0)
		mean = (double)r->stamped_ns / (double)r->stamped.count;
	else
		mean = (double)r->bare_ns / (double)r->bare_rounds;
	return fmax(mean - (double)t->work_ns, 0);
}

/* The CPU time of a round trip beyond work and sleep. */
static double cpu(const struct trial *t, const struct report reports[2])
{
	const struct report *r = &reports[0];
	double rounds = (double)r->rounds;
	double calling, serving;

	calling = (double)r->usage.cpu_ns - (double)r->slept_cpu_ns;
	serving = (double)reports[1].usage.cpu_ns - rounds * (double)t->work_ns;
	return (fmax(calling, 0) + fmax(serving, 0)) / rounds;
}

static void add(struct samples *s, const struct trial *t,
    const struct report reports[2])
{
	unsigned i = s->done++;

	s->latencies[i] = latency(t, &reports[0]);
	s->cpus[i] = cpu(t, reports);
	s->costs[i] = fmax(s->latencies[i] + s->cpus[i], LEAST_COST);
	histogram_merge(&s->merged, &reports[0].stamped);
}

/* Of sorted values; between two of them on the line that joins them. */
static double quantile(const double *values, unsigned n, double q)
{
	double at = q * (n - 1);
	unsigned i = (unsigned)at;

	if (i + 1 >= n)
		return values[n - 1];
	return values[i] + (at - i) * (values[i + 1] - values[i]);
}

static void sum_up(struct grid_row *row, struct samples *s, uint64_t work_ns)
{
	unsigned n = s->done;

	row->cost = bench_median(s->costs, n); /* sorts them */
	row->low = quantile(s->costs, n, 0.25);
	row->high = quantile(s->costs, n, 0.75);
	row->latency = bench_median(s->latencies, n);
	row->cpu = bench_median(s->cpus, n);
	row->p99 = fmax((double)histogram_quantile(&s->merged, 0.99) -
	        (double)work_ns,
	    0);
}

/* ---- running ----------------------------------------------------------- */

/* False if the run is to end. */
static bool run_row(struct grid_cell *cell, const struct grid_options *o,
    struct grid_watch *watch, struct samples *s, size_t i, unsigned number)
{
	static struct report reports[2];
	struct trial trial;

	grid_trial(&trial, cell, o, o->vias[i]);
	trial.serial = watch->serial++;
	watch->begins(watch, &trial, number);
	if (run_trial(&trial, reports))
		add(s, &trial, reports);
	else
		cell->rows[i].skipped = "a trial failed";
	watch->ends(watch, &trial);
	return !parts_interrupted();
}

static bool run_all(struct grid_cell *cell, const struct grid_options *o,
    struct grid_watch *watch, struct samples *samples)
{
	unsigned number;
	size_t i;

	for (number = 0; number < o->trials; number++)
		for (i = 0; i < o->via_count; i++)
			if (!cell->rows[i].skipped &&
			    !run_row(cell, o, watch, &samples[i], i, number))
				return false;
	return true;
}

static int run_and_sum_up(struct grid_cell *cell, const struct grid_options *o,
    struct grid_watch *watch, struct samples *samples, double *values)
{
	size_t i;

	for (i = 0; i < o->via_count; i++) {
		samples[i].costs = values + 3 * o->trials * i;
		samples[i].latencies = samples[i].costs + o->trials;
		samples[i].cpus = samples[i].latencies + o->trials;
	}
	if (!run_all(cell, o, watch, samples))
		return EINTR;
	for (i = 0; i < o->via_count; i++)
		if (!cell->rows[i].skipped)
			sum_up(&cell->rows[i], &samples[i],
			    cell->point.work_ns);
	return 0;
}

int grid_cell_run(struct grid_cell *cell, const struct grid_options *o,
    struct grid_watch *watch)
{
	struct samples *samples = calloc(o->via_count, sizeof(*samples));
	double *values = calloc(3 * o->trials * o->via_count, sizeof(*values));
	int e = ENOMEM;

	if (samples && values)
		e = run_and_sum_up(cell, o, watch, samples, values);
	free(values);
	free(samples);
	return e;
}

/* ---- judging ----------------------------------------------------------- */

struct grid_verdict grid_judge(const struct grid_cell *cell,
    const struct grid_options *o, const struct grid_row *ours)
{
	struct grid_verdict v = { NULL, 0, false };
	const struct grid_row *row;
	size_t i;

	if (cell->skipped)
		return v;
	for (i = o->ours; i < o->via_count; i++) {
		row = &cell->rows[i];
		if (row->via->group == VIA_PEERS || row->skipped)
			continue;
		if (!v.best || row->cost < v.best->cost)
			v.best = row;
	}
	if (!v.best || ours->skipped)
		return v;
	v.regret = ours->cost / v.best->cost;
	v.worse = ours->low > v.best->high * GRID_MARGIN;
	return v;
}

bool grid_beaten(const struct grid_row *ours, const struct grid_row *row)
{
	return row->via->group == VIA_PEERS && !row->skipped &&
	    !ours->skipped && ours->latency > row->latency * GRID_MARGIN &&
	    ours->cpu > row->cpu * GRID_MARGIN;
}

static void note(struct grid_summary *s, double *regrets,
    const struct grid_cell *cell, const struct grid_row *ours,
    const struct grid_verdict *v)
{
	regrets[s->judged++] = v->regret;
	s->worse += v->worse;
	if (s->worst_cell && v->regret <= s->worst)
		return;
	s->worst = v->regret;
	s->worst_cell = cell;
	s->worst_row = ours;
}

bool grid_sum_up(struct grid_summary *summary, const struct grid *grid)
{
	const struct grid_options *o = grid->options;
	double *regrets = calloc(grid->count * o->ours, sizeof(*regrets));
	const struct grid_cell *cell;
	struct grid_verdict v;
	size_t i, k;

	memset(summary, 0, sizeof(*summary));
	if (!regrets)
		return false;
	for (i = 0; i < grid->count; i++) {
		cell = &grid->cells[i];
		for (k = 0; k < o->ours; k++) {
			v = grid_judge(cell, o, &cell->rows[k]);
			if (v.regret > 0)
				note(summary, regrets, cell, &cell->rows[k],
				    &v);
		}
	}
	if (summary->judged > 0)
		summary->median = bench_median(regrets, summary->judged);
	free(regrets);
	return true;
}
