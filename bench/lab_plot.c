/* SPDX-License-Identifier: ISC */
/*
 * A picture of the lab: a bar for each trace and each price of a park, as high
 * as the ratio to the best fixed threshold.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include "lab.h"
#include "plot.h"
#include "report.h"

#define SCRIPT "lab.gp"
#define DATA "lab.dat"

/* A name in the quotation marks of gnuplot, which says something else by what
 * is left out. */
static void put_name(FILE *out, const char *name)
{
	putc('"', out);
	for (; *name; name++)
		if (*name != '"' && *name != '\\' && *name != '\n')
			putc(*name, out);
	putc('"', out);
}

/* A block for each price; all of them have the same traces. */
static bool write_data(const char *directory, const struct lab_row *rows,
    size_t count)
{
	FILE *out = plot_create(directory, DATA);
	size_t i;

	if (!out)
		return false;
	for (i = 0; i < count; i++) {
		if (i > 0 && rows[i].price != rows[i - 1].price)
			fprintf(out, "\n\n");
		put_name(out, rows[i].trace->name);
		fprintf(out, " %.4f\n", lab_ratio(rows[i].cost, rows[i].best));
	}
	return plot_finish(out, DATA);
}

static bool write_script(const char *directory, const struct lab_row *rows,
    size_t count)
{
	FILE *out = plot_create(directory, SCRIPT);
	char price[REPORT_TIME_MAX];
	size_t i, block = 0;

	if (!out)
		return false;
	fprintf(out,
	    "set encoding utf8\n"
	    "set terminal svg size 900,600 fixed noenhanced \\\n"
	    "  font \"sans-serif,13\" background \"white\" name \"lab\"\n"
	    "set output 'lab.svg'\n"
	    "set title \"What the estimator pays, to the best fixed "
	    "threshold\"\n"
	    "set grid ytics lc rgb \"#dddddd\" dt 1\n"
	    "set border lc rgb \"#444444\"\n"
	    "set style data histogram\nset style fill solid 0.8 noborder\n"
	    "set ylabel \"ratio\"\nset yrange [0:*]\n"
	    "set rmargin 9\nset xtics rotate by -45 scale 0.6\nset key top left\nplot ");
	for (i = 0; i < count; i++) {
		if (i > 0 && rows[i].price == rows[i - 1].price)
			continue;
		fprintf(out,
		    "'" DATA "' index %zu using 2:xtic(1) title "
		    "\"park %s\", \\\n  ",
		    block++, report_time(price, rows[i].price));
	}
	fprintf(out, "1 with lines lc rgb \"#444444\" notitle\n");
	fprintf(out, "set output\n");
	return plot_finish(out, SCRIPT);
}

bool lab_plot(const char *directory, const struct lab_row *rows, size_t count)
{
	bool ok = write_data(directory, rows, count) &&
	    write_script(directory, rows, count);

	if (ok && plot_run(directory, SCRIPT) != 0) {
		fprintf(stderr,
		    BENCH_TOOL ": gnuplot failed at %s/" SCRIPT "\n",
		    directory);
		return false;
	}
	return ok;
}
