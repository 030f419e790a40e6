/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench grid: is there a place, a work or a gap for which a number of
 * pauses chosen beforehand would do better than the library, which does not
 * know them?  Each of them together is a cell.  In each cell the trials of
 * ours and of all fixed policies take turns; cells come one after another.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grid.h"
#include "parts.h"
#include "plot.h"
#include "report.h"

/* ---- progress ---------------------------------------------------------- */

struct progress {
	struct grid_watch watch; /* first */
	bool on;
	unsigned trials;
	size_t cell, cells;
	uint64_t start;
	uint64_t all_ns, done_ns; /* as trials should take */
};

static double seconds_left(const struct progress *p)
{
	double left = (double)(p->all_ns - p->done_ns) * 1e-9;

	if (p->done_ns == 0)
		return left;
	return left * (double)(bench_now() - p->start) / (double)p->done_ns;
}

static void begins(struct grid_watch *watch, const struct trial *trial,
    unsigned number)
{
	const struct progress *p = (const struct progress *)watch;

	if (!p->on)
		return;
	fprintf(stderr,
	    "\rcell %zu of %zu, trial %u of %u: %s, %s; %.0f s left\033[K",
	    p->cell + 1, p->cells, number + 1, p->trials, trial->via->name,
	    place_name(trial->place), seconds_left(p));
}

static void ends(struct grid_watch *watch, const struct trial *trial)
{
	((struct progress *)watch)->done_ns += run_trial_ns(trial);
}

/* What all trials of a cell should take. */
static uint64_t cell_ns(const struct grid_cell *cell,
    const struct grid_options *o)
{
	struct trial trial;
	uint64_t sum = 0;
	size_t i;

	if (cell->skipped)
		return 0;
	for (i = 0; i < o->via_count; i++) {
		grid_trial(&trial, cell, o, o->vias[i]);
		if (!cell->rows[i].skipped)
			sum += o->trials * run_trial_ns(&trial);
	}
	return sum;
}

static void progress_start(struct progress *p, const struct grid *grid)
{
	size_t i;

	memset(p, 0, sizeof(*p));
	p->watch.begins = begins;
	p->watch.ends = ends;
	p->on = isatty(STDERR_FILENO);
	p->trials = grid->options->trials;
	p->cells = grid->count;
	p->start = bench_now();
	for (i = 0; i < grid->count; i++)
		p->all_ns += cell_ns(&grid->cells[i], grid->options);
}

static void progress_end(const struct progress *p)
{
	if (p->on)
		fprintf(stderr, "\r\033[K");
}

/* ---- running ----------------------------------------------------------- */

static int no_memory(void)
{
	fprintf(stderr, BENCH_TOOL ": %s\n", strerror(ENOMEM));
	return BENCH_FAILED;
}

static int run_cells(struct grid *grid)
{
	struct progress p;
	int e = 0;

	parts_prepare();
	progress_start(&p, grid);
	for (; p.cell < grid->count && e == 0; p.cell++)
		if (!grid->cells[p.cell].skipped)
			e = grid_cell_run(&grid->cells[p.cell], grid->options,
			    &p.watch);
	progress_end(&p);
	parts_finish();
	parts_quit();
	if (e == ENOMEM)
		return no_memory();
	return e == 0 ? BENCH_OK : BENCH_FAILED;
}

/* The points vary first, then the places. */
static void init_cells(struct grid *grid, struct grid_row *rows)
{
	const struct grid_options *o = grid->options;
	struct grid_cell *cell;
	size_t i, k;

	for (i = 0; i < grid->count; i++) {
		cell = &grid->cells[i];
		cell->place = o->places[i / o->point_count];
		cell->point = o->points[i % o->point_count];
		cell->skipped = place_cpus(cell->place, cell->cpu);
		cell->rows = rows + i * o->via_count;
		for (k = 0; k < o->via_count; k++) {
			cell->rows[k].via = o->vias[k];
			cell->rows[k].skipped = cell->skipped;
			if (!cell->skipped)
				cell->rows[k].skipped = via_missing(o->vias[k]);
		}
	}
}

/* Whether a via that there is could not be measured. */
static bool any_failed(const struct grid *grid)
{
	const struct grid_cell *cell;
	size_t i, k;

	for (i = 0; i < grid->count; i++) {
		cell = &grid->cells[i];
		for (k = 0; k < grid->options->via_count && !cell->skipped; k++)
			if (cell->rows[k].skipped &&
			    !via_missing(cell->rows[k].via))
				return true;
	}
	return false;
}

static int run(struct grid *grid, struct grid_row *rows)
{
	struct grid_summary summary;
	int status;

	init_cells(grid, rows);
	status = run_cells(grid);
	if (status != BENCH_OK)
		return status;
	if (!grid_sum_up(&summary, grid))
		return no_memory();
	grid_print(grid, &summary);
	if (report_end() != BENCH_OK)
		return BENCH_FAILED;
	if (grid->options->plot && !grid_plot(grid))
		return BENCH_FAILED;
	return any_failed(grid) ? BENCH_FAILED : BENCH_OK;
}

int grid_main(int argc, char **argv)
{
	struct grid_options o;
	struct grid grid = { .options = &o };
	struct grid_row *rows;
	int status;

	if (!options_grid(&o, argc, argv, &status))
		return status;
	if (o.plot && !plot_prepare(o.plot))
		return BENCH_FAILED;
	grid.count = o.place_count * o.point_count;
	grid.cells = calloc(grid.count, sizeof(*grid.cells));
	rows = calloc(grid.count * o.via_count, sizeof(*rows));
	if (grid.cells && rows)
		status = run(&grid, rows);
	else
		status = no_memory();
	free(rows);
	free(grid.cells);
	return status;
}
