/* SPDX-License-Identifier: ISC */
/*
 * Prints what operations cost: a section for each thing they do, or JSON.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include "costs.h"
#include "report.h"

#define FEW 100u /* samples, that say nothing about the slowest hundredth */

void costs_sum_up(struct costs_row *row, double *samples,
    const unsigned *counts, unsigned trials)
{
	double medians[1000];
	size_t n = 0, kept = 0;
	unsigned i;

	for (i = 0; i < trials; i++) {
		if (counts[i] > 0 && kept < sizeof(medians) / sizeof(*medians))
			medians[kept++] = bench_median(samples + n, counts[i]);
		n += counts[i];
	}
	row->samples = n;
	row->p50 = bench_median(medians, kept);
	bench_median(samples, n); /* sorts them */
	row->min = samples[0];
	if (n < FEW)
		return;
	row->p99 = samples[(n * 99 + 99) / 100 - 1];
	if (row->p99 < row->p50)
		row->p99 = row->p50;
}

/* ---- table ------------------------------------------------------------- */

/* The rows that make up a section; `what` NULL: those that are not contended
 * and whole. */
static const struct section {
	const char *what;
	bool contended;
	const char *title;
} sections[] = {
	{ NULL, false, "not contended" },
	{ COSTS_ACQUIRE, false, "acquire alone, not contended" },
	{ COSTS_RELEASE, false, "release alone, not contended" },
	{ COSTS_RELEASE_BLOCKED, true,
	    "release while another process is blocked waiting: the call" },
	{ COSTS_ACQUIRE_SPINNING, true,
	    "acquire with contention, from release to running; waiter "
	    "spinning" },
	{ COSTS_ACQUIRE_BLOCKED, true,
	    "acquire with contention, from release to running; waiter "
	    "blocked" },
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static bool in_section(const struct costs_row *row, const struct section *s)
{
	if (row->matrix || row->contended != s->contended)
		return false;
	if (s->what)
		return strcmp(row->what, s->what) == 0;
	return strcmp(row->what, COSTS_ACQUIRE) != 0 &&
	    strcmp(row->what, COSTS_RELEASE) != 0;
}

/* The peer that a row is compared with; NULL if there is none. */
static const struct costs_row *base_of(const struct costs_rows *rows,
    const struct costs_row *row, const struct section *s)
{
	const struct costs_row *r;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		r = &rows->rows[i];
		if (r->ours || !in_section(r, s) ||
		    strcmp(r->what, row->what) != 0)
			continue;
		if (!s->what)
			return r;
		if (strcmp(r->name, row->peer ? row->peer : row->name) == 0)
			return r;
	}
	return NULL;
}

/* With a tenth of a ns where two such times are compared. */
static void print_time(double ns, bool rough)
{
	char text[REPORT_TIME_MAX];

	if (rough)
		printf("%10s", report_time(text, ns));
	else
		printf("%8.1fns", ns);
}

static void print_row(const struct costs_row *row, const struct costs_row *base,
    const struct section *s, double cycles_per_ns)
{
	printf("%-21s", row->name);
	if (base)
		printf("%6.2f", row->p50 / base->p50);
	else
		printf("%6s", "-");
	print_time(row->min, s->contended);
	print_time(row->p50, s->contended);
	if (s->contended && row->p99 > 0)
		print_time(row->p99, true);
	else if (s->contended)
		printf("%10s", "-");
	if (cycles_per_ns > 0)
		printf("%9.0f", row->p50 * cycles_per_ns);
	if (s->contended)
		printf("%9zu\n", row->samples);
	else if (!s->what)
		printf("  %s\n", row->what);
	else
		printf("\n");
}

static void print_heads(const struct costs_row *row, const struct section *s,
    double cycles_per_ns)
{
	printf("%s", s->title);
	if (row->cpu[0] != PLACE_ANY_CPU)
		printf("; CPU %d to CPU %d", row->cpu[0], row->cpu[1]);
	printf("\n%-21s%6s%10s%10s", "via", "ratio", "min", "p50");
	if (s->contended)
		printf("%10s", "p99");
	if (cycles_per_ns > 0)
		printf("%9s", "cycles");
	printf("%s\n", s->contended ? "  samples" : s->what ? "" : "  what");
}

static void print_section(const struct costs_rows *rows,
    const struct section *s, double cycles_per_ns)
{
	const struct costs_row *row;
	bool any = false;
	size_t i;

	for (i = 0; i < rows->count; i++) {
		row = &rows->rows[i];
		if (!in_section(row, s))
			continue;
		if (!any)
			print_heads(row, s, cycles_per_ns);
		any = true;
		print_row(row, base_of(rows, row, s), s, cycles_per_ns);
	}
	if (any)
		printf("\n");
}

/* ---- matrix ------------------------------------------------------------ */

static bool same_grid(const struct costs_row *a, const struct costs_row *b)
{
	return b->matrix && strcmp(a->name, b->name) == 0 &&
	    strcmp(a->what, b->what) == 0;
}

/* The row of a grid for two CPUs; rows of a grid are in order. */
static const struct costs_row *find(const struct costs_rows *rows,
    const struct costs_row *grid, int from, int to)
{
	const struct costs_row *row;

	for (row = grid; row < rows->rows + rows->count; row++)
		if (same_grid(grid, row) && row->cpu[0] == from &&
		    row->cpu[1] == to)
			return row;
	return NULL;
}

static bool has_cpu(const struct costs_rows *rows, const struct costs_row *grid,
    int cpu)
{
	const struct costs_row *row;

	for (row = grid; row < rows->rows + rows->count; row++)
		if (same_grid(grid, row) &&
		    (row->cpu[0] == cpu || row->cpu[1] == cpu))
			return true;
	return false;
}

static void print_grid(const struct costs_rows *rows,
    const struct costs_row *grid, int most)
{
	const struct costs_row *row;
	char text[REPORT_TIME_MAX];
	int from, to;

	printf("%s: %s; p50, from the CPU at the left to that at the top\n",
	    grid->name, grid->what);
	printf("%5s", "");
	for (to = 0; to <= most; to++)
		if (has_cpu(rows, grid, to))
			printf("%8d", to);
	for (from = 0; from <= most; from++) {
		if (!has_cpu(rows, grid, from))
			continue;
		printf("\n%5d", from);
		for (to = 0; to <= most; to++) {
			if (!has_cpu(rows, grid, to))
				continue;
			row = find(rows, grid, from, to);
			printf("%8s", row ? report_time(text, row->p50) : "-");
		}
	}
	printf("\n\n");
}

/* Each grid where its first row is. */
static void print_matrix(const struct costs_rows *rows)
{
	const struct costs_row *row, *end = rows->rows + rows->count, *r;
	int most = 0;

	for (row = rows->rows; row < end; row++) {
		if (row->cpu[0] > most)
			most = row->cpu[0];
		if (row->cpu[1] > most)
			most = row->cpu[1];
	}
	for (row = rows->rows; row < end; row++) {
		if (!row->matrix)
			continue;
		for (r = rows->rows; r < row && !same_grid(row, r); r++)
			;
		if (r == row)
			print_grid(rows, row, most);
	}
}

void costs_print_table(const struct costs_rows *rows, double cycles_per_ns)
{
	size_t i;

	for (i = 0; i < SECTIONS; i++)
		print_section(rows, &sections[i], cycles_per_ns);
	print_matrix(rows);
	for (i = 0; i < COSTS_GROUPS; i++)
		if (costs_groups[i]->missing)
			printf("%s: skipped: %s\n", costs_groups[i]->name,
			    costs_groups[i]->missing);
	printf("ratio: p50 to that of the peer that does the same");
	if (cycles_per_ns > 0)
		printf("; cycles: p50, of the time stamp counter, %.3f GHz",
		    cycles_per_ns);
	printf("\n");
}

/* ---- csv --------------------------------------------------------------- */

static void csv_row(const struct costs_row *row, const struct costs_row *base,
    double cycles_per_ns)
{
	printf("%s,%s,\"%s\",%d,%d,", row->name, row->ours ? "ours" : "peers",
	    row->what, row->contended, row->matrix);
	if (row->cpu[0] != PLACE_ANY_CPU)
		printf("%d,%d,", row->cpu[0], row->cpu[1]);
	else
		printf(",,");
	printf("%u,", row->trials);
	if (row->samples > 0)
		printf("%zu", row->samples);
	printf(",%.3f,%.3f,", row->min, row->p50);
	if (row->p99 > 0)
		printf("%.3f", row->p99);
	putchar(',');
	if (cycles_per_ns > 0)
		printf("%.3f", row->p50 * cycles_per_ns);
	if (base)
		printf(",%s,%.4f,\n", base->name, row->p50 / base->p50);
	else
		printf(",,,\n");
}

void costs_print_csv(const struct costs_rows *rows, double cycles_per_ns)
{
	const struct costs_row *row;
	size_t i, k;

	printf("via,group,what,contended,matrix,from_cpu,to_cpu,trials,samples,"
	       "min_ns,p50_ns,p99_ns,p50_cycles,peer,ratio,skipped\n");
	for (i = 0; i < SECTIONS; i++)
		for (k = 0; k < rows->count; k++) {
			row = &rows->rows[k];
			if (in_section(row, &sections[i]))
				csv_row(row, base_of(rows, row, &sections[i]),
				    cycles_per_ns);
		}
	for (k = 0; k < rows->count; k++)
		if (rows->rows[k].matrix)
			csv_row(&rows->rows[k], NULL, cycles_per_ns);
	for (i = 0; i < COSTS_GROUPS; i++)
		if (costs_groups[i]->missing)
			printf("%s,peers,,,,,,,,,,,,,,\"%s\"\n",
			    costs_groups[i]->name, costs_groups[i]->missing);
}

/* ---- json -------------------------------------------------------------- */

static void json_times(const char *name, const struct costs_row *row,
    double scale)
{
	printf(",\"%s\":{\"min\":%.3f,\"p50\":%.3f", name, row->min * scale,
	    row->p50 * scale);
	if (row->p99 > 0)
		printf(",\"p99\":%.3f", row->p99 * scale);
	printf("}");
}

static void json_row(const struct costs_row *row, double cycles_per_ns)
{
	printf("{\"via\":");
	report_json_string(stdout, row->name);
	printf(",\"what\":");
	report_json_string(stdout, row->what);
	printf(",\"contended\":%s,\"trials\":%u",
	    row->contended ? "true" : "false", row->trials);
	json_times("ns", row, 1);
	if (cycles_per_ns > 0)
		json_times("cycles", row, cycles_per_ns);
	if (row->samples > 0)
		printf(",\"samples\":%zu", row->samples);
	if (row->cpu[0] != PLACE_ANY_CPU)
		printf(",\"cpus\":[%d,%d]", row->cpu[0], row->cpu[1]);
	if (row->matrix)
		printf(",\"matrix\":true");
	printf("}");
}

static void json_missing(const struct costs_group *group)
{
	printf(",\n{\"via\":");
	report_json_string(stdout, group->name);
	printf(",\"skipped\":");
	report_json_string(stdout, group->missing);
	printf("}");
}

void costs_print_json(const struct costs_rows *rows, double cycles_per_ns)
{
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"costs\":[");
	for (i = 0; i < rows->count; i++) {
		printf(i == 0 ? "\n" : ",\n");
		json_row(&rows->rows[i], cycles_per_ns);
	}
	for (i = 0; i < COSTS_GROUPS; i++)
		if (costs_groups[i]->missing)
			json_missing(costs_groups[i]);
	printf("\n]}\n");
}
