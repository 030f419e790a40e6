/* SPDX-License-Identifier: ISC */
/*
 * Draws the regret against the work: a curve for each place and each of ours,
 * of the cells without a gap.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include "grid.h"
#include "plot.h"
#include "report.h"

#define DATA "regret.dat"
#define SCRIPT "regret.gp"
#define ZERO_X 100 /* where no work is put: a logarithm has no zero */

static uint64_t along(uint64_t work_ns)
{
	return work_ns > ZERO_X ? work_ns : ZERO_X;
}

static void script_head(FILE *script, const struct grid_options *o)
{
	char text[REPORT_TIME_MAX];
	size_t i;

	fprintf(script,
	    "set encoding utf8\n"
	    "set terminal svg size 900,600 fixed noenhanced \\\n"
	    "  font \"sans-serif,13\" background \"white\" name \"regret\"\n"
	    "set output 'regret.svg'\n"
	    "set grid lc rgb \"#dddddd\" dt 1\n"
	    "set border lc rgb \"#444444\"\n"
	    "set key outside right top Left reverse noenhanced\n"
	    "set title \"Cost in relation to the best fixed policy's\"\n"
	    "set xlabel \"work, time asked for\"\nset ylabel \"regret\"\n"
	    "set logscale xy\nset autoscale xfix\nset yrange [*<0.5:2<*]\n"
	    "set offsets graph 0.04, graph 0.04, 0, 0\n"
	    "set ytics (0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8, 16, 32)\n"
	    "set xtics rotate by -40 (");
	for (i = 0; i < o->point_count; i++)
		if (o->points[i].gap_ns == 0)
			fprintf(script, "\"%s\" %llu, ",
			    o->points[i].work_ns > 0 ?
			        report_time(text,
			            (double)o->points[i].work_ns) :
			        "0",
			    (unsigned long long)along(o->points[i].work_ns));
	fprintf(script, "\"\" %d 1)\n", ZERO_X);
}

/* Writes a block of points; false if there are none. */
static bool points(FILE *data, const struct grid *grid, size_t first, size_t k)
{
	const struct grid_options *o = grid->options;
	const struct grid_cell *cell = &grid->cells[first];
	struct grid_verdict v;
	bool any = false;
	size_t i;

	for (i = 0; i < o->point_count; i++, cell++) {
		v = grid_judge(cell, o, &cell->rows[k]);
		if (cell->point.gap_ns > 0 || !(v.regret > 0))
			continue;
		fprintf(data, "%llu %.4f\n",
		    (unsigned long long)along(cell->point.work_ns), v.regret);
		any = true;
	}
	if (any)
		fprintf(data, "\n\n");
	return any;
}

/* Returns how many curves there are. */
static size_t curves(FILE *script, FILE *data, const struct grid *grid)
{
	const struct grid_options *o = grid->options;
	size_t i, k, n = 0;

	for (i = 0; i < grid->count; i += o->point_count) {
		for (k = 0; k < o->ours; k++) {
			if (!points(data, grid, i, k))
				continue;
			fprintf(script,
			    "%s'" DATA "' index %zu smooth unique with "
			    "linespoints lw 2 title \"%s, %s\"",
			    n > 0 ? ", \\\n  " : "plot ", n,
			    place_name(grid->cells[i].place), o->vias[k]->name);
			n++;
		}
	}
	fprintf(script, "\nset output\n");
	return n;
}

static bool draw(const char *directory)
{
	if (plot_run(directory, SCRIPT) == 0)
		return true;
	fprintf(stderr, BENCH_TOOL ": gnuplot failed at %s/" SCRIPT "\n",
	    directory);
	return false;
}

bool grid_plot(const struct grid *grid)
{
	const char *directory = grid->options->plot;
	FILE *script = plot_create(directory, SCRIPT), *data;
	size_t count = 0;
	bool ok;

	if (!script)
		return false;
	data = plot_create(directory, DATA);
	if (data) {
		script_head(script, grid->options);
		count = curves(script, data, grid);
	}
	ok = data && plot_finish(data, DATA);
	ok = plot_finish(script, SCRIPT) && ok;
	return ok && (count == 0 || draw(directory));
}
