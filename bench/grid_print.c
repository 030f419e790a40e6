/* SPDX-License-Identifier: ISC */
/*
 * Prints the cells of the grid as a table, as comma-separated values and as
 * JSON.
 */
#define _GNU_SOURCE 1
#include <stdio.h>

#include "grid.h"
#include "report.h"

/* ---- table ------------------------------------------------------------- */

static const char *time_or_0(char text[REPORT_TIME_MAX], uint64_t ns)
{
	return ns > 0 ? report_time(text, (double)ns) : "0";
}

static void table_head(void)
{
	printf("cost: latency of a round trip beyond the work, and CPU time of "
	       "both processes\nbeyond it; regret: cost to that of the best "
	       "fixed policy; p99: beyond the work\n\n"
	       "%-6s%8s%8s  %-12s%9s  %-15s%9s%8s%9s%10s\n",
	    "place", "work", "gap", "via", "cost", "best fixed", "cost",
	    "regret", "p99", "best's");
}

static void table_best(const struct grid_row *ours,
    const struct grid_verdict *v)
{
	char text[REPORT_TIME_MAX];

	if (!v->best) {
		printf("  %-15s%9s%8s%9s\n", "-", "-", "-",
		    report_time(text, ours->p99));
		return;
	}
	printf("  %-15s%9s", v->best->via->name,
	    report_time(text, v->best->cost));
	printf("%8.2f%9s", v->regret, report_time(text, ours->p99));
	printf("%10s%s\n", report_time(text, v->best->p99),
	    v->worse ? " worse" : "");
}

static void table_row(const struct grid *grid, const struct grid_cell *cell,
    const struct grid_row *ours)
{
	struct grid_verdict v = grid_judge(cell, grid->options, ours);
	char text[REPORT_TIME_MAX];

	printf("%-6s%8s", place_name(cell->place),
	    time_or_0(text, cell->point.work_ns));
	printf("%8s  %-12s", time_or_0(text, cell->point.gap_ns),
	    ours->via->name);
	if (ours->skipped) {
		printf(" skipped: %s\n", ours->skipped);
		return;
	}
	printf("%9s", report_time(text, ours->cost));
	table_best(ours, &v);
}

static void table_where(const struct grid_cell *cell,
    const struct grid_row *ours)
{
	char text[REPORT_TIME_MAX];

	printf("%s, work %s", place_name(cell->place),
	    time_or_0(text, cell->point.work_ns));
	printf(", gap %s, %s", time_or_0(text, cell->point.gap_ns),
	    ours->via->name);
}

static void table_beaten(const struct grid *grid, const struct grid_cell *cell,
    const struct grid_row *ours)
{
	const struct grid_row *row;
	char text[REPORT_TIME_MAX];
	size_t i;

	for (i = 0; i < grid->options->via_count; i++) {
		row = &cell->rows[i];
		if (!grid_beaten(ours, row))
			continue;
		table_where(cell, ours);
		printf(": %s is better: latency %s", row->via->name,
		    report_time(text, row->latency));
		printf(", not %s;", report_time(text, ours->latency));
		printf(" CPU time %s", report_time(text, row->cpu));
		printf(", not %s\n", report_time(text, ours->cpu));
	}
}

static void table_summary(const struct grid_summary *s)
{
	if (!s->worst_cell) {
		printf("\nno cell has both a figure of ours and one of a fixed "
		       "policy\n");
		return;
	}
	printf("\ncells %zu; regret: median %.2f, worst %.2f at ", s->judged,
	    s->median, s->worst);
	table_where(s->worst_cell, s->worst_row);
	printf("\nworse, beyond the spread of the trials and %.0f %%: %zu\n",
	    (GRID_MARGIN - 1) * 100, s->worse);
}

/* Fixed policies and peers that were to be measured and were not. */
static void table_skipped(const struct grid *grid)
{
	const struct grid_options *o = grid->options;
	const struct grid_cell *cell;
	size_t i, k;

	for (i = 0; i < grid->count; i++) {
		cell = &grid->cells[i];
		for (k = o->ours; k < o->via_count && !cell->skipped; k++) {
			if (!cell->rows[k].skipped)
				continue;
			table_where(cell, &cell->rows[k]);
			printf(" skipped: %s\n", cell->rows[k].skipped);
		}
	}
}

static void table(const struct grid *grid, const struct grid_summary *summary)
{
	const struct grid_options *o = grid->options;
	const struct grid_cell *cell;
	size_t i, k;

	table_head();
	for (i = 0; i < grid->count; i++) {
		cell = &grid->cells[i];
		if (!cell->skipped)
			for (k = 0; k < o->ours; k++)
				table_row(grid, cell, &cell->rows[k]);
		else if (i % o->point_count == 0)
			printf("%s: skipped: %s\n", place_name(cell->place),
			    cell->skipped);
	}
	table_summary(summary);
	table_skipped(grid);
	for (i = 0; i < grid->count; i++)
		for (k = 0; k < o->ours; k++)
			table_beaten(grid, &grid->cells[i],
			    &grid->cells[i].rows[k]);
}

/* ---- csv --------------------------------------------------------------- */

static void csv_verdict(const struct grid_verdict *v)
{
	if (v->best)
		printf(",%s,%.1f,%.1f,%.4f,%d", v->best->via->name,
		    v->best->cost, v->best->p99, v->regret, v->worse);
	else
		printf(",,,,,");
}

static void csv_row(const struct grid *grid, const struct grid_cell *cell,
    size_t k)
{
	const struct grid_verdict none = { NULL, 0, false };
	const struct grid_row *row = &cell->rows[k];
	struct grid_verdict v = none;

	if (k < grid->options->ours)
		v = grid_judge(cell, grid->options, row);
	printf("%s,%llu,%llu,%s,%s,%u", place_name(cell->place),
	    (unsigned long long)cell->point.work_ns,
	    (unsigned long long)cell->point.gap_ns, row->via->name,
	    via_group_name(row->via->group), grid->options->trials);
	if (row->skipped) {
		printf(",,,,,,,,,,,,\"%s\"\n", row->skipped);
		return;
	}
	printf(",%.1f,%.1f,%.1f,%.1f,%.1f,%.1f", row->cost, row->low, row->high,
	    row->latency, row->cpu, row->p99);
	csv_verdict(&v);
	printf(",\n");
}

static void csv(const struct grid *grid)
{
	size_t i, k;

	printf("place,work_ns,gap_ns,via,group,trials,cost_ns,low_ns,high_ns,"
	       "latency_ns,cpu_ns,p99_ns,best,best_cost_ns,best_p99_ns,regret,"
	       "worse,skipped\n");
	for (i = 0; i < grid->count; i++)
		for (k = 0; k < grid->options->via_count; k++)
			csv_row(grid, &grid->cells[i], k);
}

/* ---- json -------------------------------------------------------------- */

static void json_row(const struct grid_row *row)
{
	printf("{\"via\":");
	report_json_string(stdout, row->via->name);
	printf(",\"group\":\"%s\"", via_group_name(row->via->group));
	if (row->skipped) {
		printf(",\"skipped\":");
		report_json_string(stdout, row->skipped);
	} else {
		printf(",\"cost_ns\":%.1f,\"low_ns\":%.1f,\"high_ns\":%.1f"
		       ",\"latency_ns\":%.1f,\"cpu_ns\":%.1f,\"p99_ns\":%.1f",
		    row->cost, row->low, row->high, row->latency, row->cpu,
		    row->p99);
	}
	printf("}");
}

/* Ours that is judged, then all that it is compared to. */
static void json_rows(const struct grid *grid, const struct grid_cell *cell,
    const struct grid_row *ours)
{
	size_t i;

	printf(",\"rows\":[\n ");
	json_row(ours);
	for (i = grid->options->ours; i < grid->options->via_count; i++) {
		printf(",\n ");
		json_row(&cell->rows[i]);
	}
	printf("]");
}

static void json_beaten(const struct grid *grid, const struct grid_cell *cell,
    const struct grid_row *ours)
{
	const char *comma = "";
	size_t i;

	printf(",\"better_peers\":[");
	for (i = 0; i < grid->options->via_count; i++) {
		if (!grid_beaten(ours, &cell->rows[i]))
			continue;
		printf("%s", comma);
		report_json_string(stdout, cell->rows[i].via->name);
		comma = ",";
	}
	printf("]");
}

static void json_figures(const struct grid_row *ours,
    const struct grid_verdict *v)
{
	if (v->best) {
		printf(",\"best\":");
		report_json_string(stdout, v->best->via->name);
		printf(",\"regret\":%.4f,\"best_cost_ns\":%.1f"
		       ",\"best_p99_ns\":%.1f",
		    v->regret, v->best->cost, v->best->p99);
	} else {
		printf(",\"best\":null,\"regret\":null");
	}
	printf(",\"cost_ns\":%.1f,\"p99_ns\":%.1f,\"latency_ns\":%.1f"
	       ",\"cpu_ns\":%.1f,\"worse\":%s",
	    ours->cost, ours->p99, ours->latency, ours->cpu,
	    v->worse ? "true" : "false");
}

static void json_cell(const struct grid *grid, const struct grid_cell *cell,
    const struct grid_row *ours)
{
	struct grid_verdict v = grid_judge(cell, grid->options, ours);

	printf("{\"place\":\"%s\",\"work_ns\":%llu,\"gap_ns\":%llu,\"via\":",
	    place_name(cell->place), (unsigned long long)cell->point.work_ns,
	    (unsigned long long)cell->point.gap_ns);
	report_json_string(stdout, ours->via->name);
	if (ours->skipped) {
		printf(",\"skipped\":");
		report_json_string(stdout, ours->skipped);
	} else {
		if (cell->cpu[0] != PLACE_ANY_CPU)
			printf(",\"pinned\":[%d,%d]", cell->cpu[0],
			    cell->cpu[1]);
		json_figures(ours, &v);
		if (grid->options->peers)
			json_beaten(grid, cell, ours);
	}
	if (!cell->skipped)
		json_rows(grid, cell, ours);
	printf("}");
}

static void json_summary(const struct grid_summary *s)
{
	if (s->judged > 0)
		printf(",\"median_regret\":%.4f,\"worst_regret\":%.4f",
		    s->median, s->worst);
	else
		printf(",\"median_regret\":null,\"worst_regret\":null");
	printf(",\"worse\":%zu", s->worse);
}

static void json(const struct grid *grid, const struct grid_summary *summary)
{
	const struct grid_options *o = grid->options;
	size_t i, k;

	printf("{");
	report_json_head(stdout);
	printf(",\"trials\":%u", o->trials);
	json_summary(summary);
	printf(",\"cells\":[");
	for (i = 0; i < grid->count; i++) {
		for (k = 0; k < o->ours; k++) {
			printf(i + k == 0 ? "\n" : ",\n");
			json_cell(grid, &grid->cells[i],
			    &grid->cells[i].rows[k]);
		}
	}
	printf("\n]}\n");
}

void grid_print(const struct grid *grid, const struct grid_summary *summary)
{
	if (grid->options->format == FORMAT_CSV)
		csv(grid);
	else if (grid->options->format == FORMAT_JSON)
		json(grid, summary);
	else
		table(grid, summary);
}
