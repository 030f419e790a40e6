/* SPDX-License-Identifier: ISC */
/*
 * What the lab prints: a block for each price of a park, a line for each
 * trace.
 */
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>

#include "lab.h"
#include "report.h"

static double per_wait(uint64_t ns, const struct lab_row *row)
{
	return (double)ns / (double)row->waits;
}

/* ---- table ------------------------------------------------------------- */

static void print_head(const struct lab_row *row)
{
	char price[REPORT_TIME_MAX];

	printf("price of a park %s\n", report_time(price, row->price));
	printf("%-16s%9s%9s%8s%8s%8s%8s%8s\n", "trace", "per wait", "optimum",
	    "best at", "best", "fixed", "optimum", "running");
}

static void print_line(const struct lab_row *row)
{
	char cost[REPORT_TIME_MAX], least[REPORT_TIME_MAX];
	char at[REPORT_TIME_MAX];

	report_time(cost, per_wait(row->cost, row));
	report_time(least, per_wait(row->optimum, row));
	if (row->best_at == LAB_NO_LIMIT)
		snprintf(at, sizeof(at), "spin");
	else if (row->best_at == 0)
		snprintf(at, sizeof(at), "park");
	else
		report_time(at, (double)row->best_at);
	printf("%-16s%9s%9s%8s%8.3f%8.3f%8.3f%8.3f", row->trace->name, cost,
	    least, at, lab_ratio(row->cost, row->best),
	    lab_ratio(row->cost, row->fixed),
	    lab_ratio(row->cost, row->optimum), row->running);
	if (row->missed)
		printf("  > %.2f", row->goal);
	printf("\n");
}

static void print_table(const struct lab_row *rows, size_t count)
{
	size_t i, goals = 0, missed = 0;

	for (i = 0; i < count; i++) {
		if (i > 0 && rows[i].price != rows[i - 1].price)
			printf("\n");
		if (i == 0 || rows[i].price != rows[i - 1].price)
			print_head(&rows[i]);
		print_line(&rows[i]);
		goals += rows[i].goal > 0;
		missed += rows[i].missed;
	}
	printf("\n%zu of %zu goals missed\n", missed, goals);
}

/* ---- csv --------------------------------------------------------------- */

static void csv_name(const char *name)
{
	putchar('"');
	for (; *name; name++) {
		if (*name == '"')
			putchar('"');
		putchar(*name);
	}
	putchar('"');
}

static void print_csv(const struct lab_row *rows, size_t count)
{
	const struct lab_row *row;
	size_t i;

	printf("trace,price_ns,waits,ns_per_wait,best_ns_per_wait,best_at_ns,"
	       "fixed_ns_per_wait,optimum_ns_per_wait,ratio_best,ratio_fixed,"
	       "ratio_optimum,running,goal,missed\n");
	for (i = 0; i < count; i++) {
		row = &rows[i];
		csv_name(row->trace->name);
		printf(",%u,%zu,%.3f,%.3f,", row->price, row->waits,
		    per_wait(row->cost, row), per_wait(row->best, row));
		if (row->best_at != LAB_NO_LIMIT)
			printf("%llu", (unsigned long long)row->best_at);
		printf(",%.3f,%.3f,%.4f,%.4f,%.4f,%.4f,%.2f,%d\n",
		    per_wait(row->fixed, row), per_wait(row->optimum, row),
		    lab_ratio(row->cost, row->best),
		    lab_ratio(row->cost, row->fixed),
		    lab_ratio(row->cost, row->optimum), row->running, row->goal,
		    row->missed);
	}
}

/* ---- json -------------------------------------------------------------- */

/* There is no infinity in JSON. */
static void json_ratio(const char *name, double ratio)
{
	if (isfinite(ratio))
		printf(",\"%s\":%.4f", name, ratio);
	else
		printf(",\"%s\":null", name);
}

static void json_row(const struct lab_row *row)
{
	printf("{\"trace\":");
	report_json_string(stdout, row->trace->name);
	printf(",\"price_ns\":%u,\"waits\":%zu,\"ns_per_wait\":%.3f"
	       ",\"best_ns_per_wait\":%.3f",
	    row->price, row->waits, per_wait(row->cost, row),
	    per_wait(row->best, row));
	if (row->best_at == LAB_NO_LIMIT)
		printf(",\"best_at_ns\":null");
	else
		printf(",\"best_at_ns\":%llu",
		    (unsigned long long)row->best_at);
	printf(",\"fixed_ns_per_wait\":%.3f,\"optimum_ns_per_wait\":%.3f",
	    per_wait(row->fixed, row), per_wait(row->optimum, row));
	json_ratio("ratio_best", lab_ratio(row->cost, row->best));
	json_ratio("ratio_fixed", lab_ratio(row->cost, row->fixed));
	json_ratio("ratio_optimum", lab_ratio(row->cost, row->optimum));
	json_ratio("running", row->running);
	if (row->goal > 0)
		printf(",\"goal\":%.2f,\"missed\":%s", row->goal,
		    row->missed ? "true" : "false");
	printf("}");
}

static void print_json(const struct lab_row *rows, size_t count)
{
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"lab\":[");
	for (i = 0; i < count; i++) {
		printf(i == 0 ? "\n" : ",\n");
		json_row(&rows[i]);
	}
	printf("\n]}\n");
}

void lab_print(enum bench_format format, const struct lab_row *rows,
    size_t count)
{
	if (format == FORMAT_CSV)
		print_csv(rows, count);
	else if (format == FORMAT_JSON)
		print_json(rows, count);
	else
		print_table(rows, count);
}
