/* SPDX-License-Identifier: ISC */
/*
 * Prints the figures of pingpong as a table, as comma-separated values and as
 * JSON.
 */
#define _GNU_SOURCE 1
#include "histogram.h"
#include "report.h"
#include "system.h"
#include "work.h"

#define TIMES 7

/* Two handoffs make a round trip. */
static double switches(const struct figures *f)
{
	return f->mean > 0 ? 2e9 / f->mean : 0;
}

double figures_excess(const struct figures *f)
{
	return (double)f->rtt.p50 - (double)f->work_ns;
}

double figures_cost(const struct figures *f)
{
	if (f->gap_ns > 0)
		return (double)f->wake.p50;
	return f->work_ns > 0 ? figures_excess(f) : f->mean;
}

/* ---- table ------------------------------------------------------------- */

static void table_head(void)
{
	char text[REPORT_TIME_MAX];

	printf("a time stamp costs %s; quantiles are exact to %g %%\n\n",
	    report_time(text, work_timer_ns()), HISTOGRAM_ERROR * 100);
}

/* Where, and with what work and gap. */
static void table_conditions(const struct figures *f)
{
	char text[REPORT_TIME_MAX];

	if (f->cpu[0] == PLACE_ANY_CPU)
		printf("not pinned");
	else if (f->cpu[0] == f->cpu[1])
		printf("both pinned to CPU %d", f->cpu[0]);
	else
		printf("pinned to CPUs %d and %d", f->cpu[0], f->cpu[1]);
	if (place_loops(f->place) > 0)
		printf(", %u endless loop%s", place_loops(f->place),
		    place_loops(f->place) > 1 ? "s" : "");
	if (f->work_ns > 0)
		printf("; work %s", report_time(text, (double)f->work_ns));
	if (f->gap_ns > 0)
		printf("; gap %s", report_time(text, (double)f->gap_ns));
}

static void table_block(const struct figures *f)
{
	const char *last = "switch/s", *of = "mean";

	printf("%s: ", place_name(f->place));
	if (f->no_place) {
		printf("skipped: %s\n", f->skipped);
		return;
	}
	table_conditions(f);
	if (f->work_ns > 0)
		of = last = "excess";
	if (f->gap_ns > 0) {
		of = "p50";
		last = "rtt";
		printf("; times: from call to turn");
	}
	printf("; ratio: %s to that of %s", of, place_floor(f->place));
	printf(f->peer ? "; peer: to that of %s\n" : "\n", f->peer);
	printf("%-22s%6s%6s%8s%8s%8s%8s%8s%8s%8s%6s%7s%10s%10s\n", "via",
	    "ratio", "peer", "mean", "min", "p50", "p90", "p99", "p99.9", "max",
	    "cpu", "blocks", last, "rounds");
}

static void table_last(const struct figures *f)
{
	char text[REPORT_TIME_MAX];

	if (f->gap_ns > 0)
		report_time(text, (double)f->rtt.p50);
	else if (f->work_ns > 0)
		report_time(text, figures_excess(f));
	else
		report_count(text, switches(f));
	printf("%10s%10llu%s%s\n", text, (unsigned long long)f->round_trips,
	    f->wide ? " spread" : "", f->cut ? " cut" : "");
}

static void table_ratio(double ratio)
{
	if (ratio <= 0)
		printf("%6s", "-");
	else if (ratio < 0.005)
		printf("%6s", "<0.01");
	else
		printf("%6.*f", ratio < 99.5 ? 2 : 0, ratio);
}

static void table_row(const struct figures *f)
{
	const struct quantiles *q = f->gap_ns > 0 ? &f->wake : &f->rtt;
	const double times[TIMES] = {
		f->gap_ns > 0 ? f->wake_mean : f->mean,
		(double)q->min,
		(double)q->p50,
		(double)q->p90,
		(double)q->p99,
		(double)q->p999,
		(double)q->max,
	};
	char text[REPORT_TIME_MAX];
	size_t i;

	printf("%-22s", f->via->name);
	if (f->skipped) {
		printf(" skipped: %s\n", f->skipped);
		return;
	}
	table_ratio(f->ratio);
	table_ratio(f->peer_ratio);
	for (i = 0; i < TIMES; i++)
		printf("%8s", report_time(text, times[i]));
	printf("%6.2f", f->cpu_seconds);
	if (system_counts_switches)
		printf("%7.2f", f->blocked);
	else
		printf("%7s", "-");
	table_last(f);
}

static bool is_ours(const struct figures *f)
{
	return f->via->group == VIA_OURS && !f->skipped;
}

/* What the library's waits did, under the rows of a block. */
static void table_waits(const struct figures *f, size_t count)
{
	bool any = false;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!is_ours(&f[i]))
			continue;
		if (!any)
			printf("\nwaits, each round trip%9s%10s%10s\n", "spins",
			    "yields", "parks");
		any = true;
		printf("%-22s%9.2f%10.2f%10.2f\n", f[i].via->name, f[i].spins,
		    f[i].yields, f[i].parks);
	}
}

static bool same_block(const struct figures *a, const struct figures *b)
{
	return a->place == b->place && a->work_ns == b->work_ns &&
	    a->gap_ns == b->gap_ns;
}

/* Returns how many rows there are in the first block. */
static size_t block_rows(const struct figures *f, size_t count)
{
	size_t i;

	for (i = 1; i < count && same_block(f, &f[i]); i++)
		;
	return i;
}

static void table(const struct figures *f, size_t count)
{
	bool cut = false, wide = false;
	size_t i, k, end;

	table_head();
	for (i = 0; i < count; i = end) {
		if (i > 0)
			printf("\n");
		table_block(&f[i]);
		end = i + block_rows(&f[i], count - i);
		for (k = i; k < end; k++) {
			if (!f[k].no_place)
				table_row(&f[k]);
			cut = cut || f[k].cut;
			wide = wide || f[k].wide;
		}
		table_waits(&f[i], end - i);
	}
	if (wide)
		printf("\nspread: the p50 of the trials are further apart than "
		       "%g %% of the row's\n",
		    FIGURES_WIDE * 100);
	if (cut)
		printf("\ncut: the time was over before all rounds were "
		       "made\n");
}

/* ---- csv --------------------------------------------------------------- */

#define CSV_FIGURES 33 /* columns from "trials" to the last before "skipped" */

static void csv_quantiles(const struct quantiles *q)
{
	printf("%llu,%llu,%llu,%llu,%llu,%llu,", (unsigned long long)q->min,
	    (unsigned long long)q->p50, (unsigned long long)q->p90,
	    (unsigned long long)q->p99, (unsigned long long)q->p999,
	    (unsigned long long)q->max);
}

static void csv_row(const struct figures *f)
{
	printf("%u,%llu,%llu,%d,", f->trials,
	    (unsigned long long)f->round_trips,
	    (unsigned long long)f->bare_round_trips, f->cut);
	csv_quantiles(&f->rtt);
	printf("%.1f,%llu,%llu,%.4f,%.1f,", f->mean,
	    (unsigned long long)f->p50_low, (unsigned long long)f->p50_high,
	    f->cpu_seconds, switches(f));
	if (f->ratio > 0)
		printf("%.4f", f->ratio);
	printf(",%s,", f->peer ? f->peer : "");
	if (f->peer_ratio > 0)
		printf("%.4f", f->peer_ratio);
	printf(",%.1f,%d,", figures_excess(f), f->wide);
	if (system_counts_switches)
		printf("%.4f,%.4f,", f->blocked, f->preempted);
	else
		printf(",,");
	if (is_ours(f))
		printf("%.4f,%.4f,%.4f,", f->spins, f->yields, f->parks);
	else
		printf(",,,");
	if (f->gap_ns == 0) {
		printf(",,,,,,,,");
		return;
	}
	csv_quantiles(&f->wake);
	printf("%.1f,%.1f,", f->wake_mean, f->slept);
}

static void csv(const struct figures *f, size_t count)
{
	size_t i;
	int n;

	printf("via,group,place,work_ns,gap_ns,trials,round_trips,"
	       "bare_round_trips,cut,min_ns,p50_ns,p90_ns,p99_ns,p999_ns,"
	       "max_ns,mean_ns,p50_low_ns,p50_high_ns,cpu,switches_per_s,"
	       "ratio,peer,peer_ratio,excess_ns,wide,blocked,preempted,"
	       "spins_per_round,yields_per_round,parks_per_round,wake_min_ns,"
	       "wake_p50_ns,wake_p90_ns,wake_p99_ns,wake_p999_ns,"
	       "wake_max_ns,wake_mean_ns,slept_ns,skipped\n");
	for (i = 0; i < count; i++, f++) {
		printf("%s,%s,%s,%llu,%llu,", f->via->name,
		    via_group_name(f->via->group), place_name(f->place),
		    (unsigned long long)f->work_ns,
		    (unsigned long long)f->gap_ns);
		for (n = 0; f->skipped && n < CSV_FIGURES; n++)
			putchar(',');
		if (f->skipped)
			printf("\"%s\"", f->skipped);
		else
			csv_row(f);
		putchar('\n');
	}
}

/* ---- json -------------------------------------------------------------- */

static void json_quantiles(const char *name, const struct quantiles *q,
    double mean)
{
	printf(",\"%s\":{\"min\":%llu,\"p50\":%llu,\"p90\":%llu,"
	       "\"p99\":%llu,\"p999\":%llu,\"max\":%llu,\"mean\":%.1f}",
	    name, (unsigned long long)q->min, (unsigned long long)q->p50,
	    (unsigned long long)q->p90, (unsigned long long)q->p99,
	    (unsigned long long)q->p999, (unsigned long long)q->max, mean);
}

static void json_figures(const struct figures *f)
{
	if (f->cpu[0] != PLACE_ANY_CPU)
		printf(",\"pinned\":[%d,%d]", f->cpu[0], f->cpu[1]);
	printf(",\"loops\":%u,\"trials\":%u,"
	       "\"round_trips\":%llu,\"bare_round_trips\":%llu,\"cut\":%s",
	    place_loops(f->place), f->trials,
	    (unsigned long long)f->round_trips,
	    (unsigned long long)f->bare_round_trips, f->cut ? "true" : "false");
	json_quantiles("rtt_ns", &f->rtt, f->mean);
	printf(",\"excess_ns\":%.1f", figures_excess(f));
	if (f->gap_ns > 0) {
		json_quantiles("wake_ns", &f->wake, f->wake_mean);
		printf(",\"slept_ns\":%.1f", f->slept);
	}
	printf(",\"spread\":{\"p50_low\":%llu,\"p50_high\":%llu,\"wide\":%s}"
	       ",\"cpu\":%.4f,\"switches_per_s\":%.1f",
	    (unsigned long long)f->p50_low, (unsigned long long)f->p50_high,
	    f->wide ? "true" : "false", f->cpu_seconds, switches(f));
	if (system_counts_switches)
		printf(",\"switches\":{\"blocked\":%.4f,\"preempted\":%.4f}",
		    f->blocked, f->preempted);
	printf(",\"floor\":\"%s\"", place_floor(f->place));
	if (is_ours(f))
		printf(",\"spins_per_round\":%.4f,\"yields_per_round\":%.4f"
		       ",\"parks_per_round\":%.4f",
		    f->spins, f->yields, f->parks);
	if (f->ratio > 0)
		printf(",\"ratio\":%.4f", f->ratio);
	else
		printf(",\"ratio\":null");
	if (f->peer)
		printf(",\"peer\":\"%s\",\"peer_ratio\":%.4f", f->peer,
		    f->peer_ratio);
}

static void json_run(const struct figures *f)
{
	printf("{\"via\":");
	report_json_string(stdout, f->via->name);
	printf(",\"place\":\"%s\",\"group\":\"%s\"", place_name(f->place),
	    via_group_name(f->via->group));
	printf(",\"work_ns\":%llu,\"gap_ns\":%llu",
	    (unsigned long long)f->work_ns, (unsigned long long)f->gap_ns);
	if (f->skipped) {
		printf(",\"skipped\":");
		report_json_string(stdout, f->skipped);
	} else {
		json_figures(f);
	}
	printf("}");
}

static void json(const struct figures *f, size_t count)
{
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"quantile_error\":%g,\"runs\":[", HISTOGRAM_ERROR);
	for (i = 0; i < count; i++) {
		printf(i == 0 ? "\n" : ",\n");
		json_run(&f[i]);
	}
	printf("\n]}\n");
}

void report_pingpong(enum bench_format format, const struct figures *figures,
    size_t count)
{
	if (format == FORMAT_TABLE)
		table(figures, count);
	else if (format == FORMAT_CSV)
		csv(figures, count);
	else
		json(figures, count);
}
