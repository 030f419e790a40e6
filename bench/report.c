/* SPDX-License-Identifier: ISC */
/*
 * Prints figures as a table, as comma-separated values and as JSON.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <handoff.h>

#include "report.h"

/* ---- numbers for people ------------------------------------------------ */

/* Three digits and a unit; the first unit is that of `value`. */
static const char *scaled(char text[REPORT_TIME_MAX], double value,
    const char *const *units, size_t count)
{
	size_t unit = 0;
	int digits;

	while (value >= 999.5 && unit + 1 < count) {
		value /= 1000;
		unit++;
	}
	digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	snprintf(text, REPORT_TIME_MAX, "%.*f%s", digits, value, units[unit]);
	return text;
}

const char *report_time(char text[REPORT_TIME_MAX], double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	return scaled(text, ns, units, sizeof(units) / sizeof(units[0]));
}

static const char *report_count(char text[REPORT_TIME_MAX], double value)
{
	static const char *const units[] = { "", "k", "M", "G" };

	return scaled(text, value, units, sizeof(units) / sizeof(units[0]));
}

/* Two handoffs make a round trip. */
static double switches(const struct figures *f)
{
	return f->mean > 0 ? 2e9 / f->mean : 0;
}

/* ---- table ------------------------------------------------------------- */

static void table_place(const struct figures *f)
{
	printf("%s: ", place_name(f->place));
	if (f->skipped) {
		printf("skipped: %s\n", f->skipped);
		return;
	}
	if (f->place == PLACE_CROSS)
		printf("pinned to CPUs %d and %d", f->cpu[0], f->cpu[1]);
	else if (f->place == PLACE_SAME)
		printf("both pinned to CPU %d", f->cpu[0]);
	else
		printf("not pinned");
	printf("; ratio: mean to that of %s\n", place_floor(f->place));
	printf("%-13s%6s%8s%8s%8s%8s%8s%8s%8s%6s%10s%10s\n", "via", "ratio",
	    "mean", "min", "p50", "p90", "p99", "p99.9", "max", "cpu",
	    "switch/s", "rounds");
}

static void table_row(const struct figures *f)
{
	const double times[] = {
		f->mean,
		(double)f->min,
		(double)f->p50,
		(double)f->p90,
		(double)f->p99,
		(double)f->p999,
		(double)f->max,
	};
	char text[REPORT_TIME_MAX];
	size_t i;

	printf("%-13s", f->via->name);
	if (f->ratio <= 0)
		printf("%6s", "-");
	else if (f->ratio < 0.005)
		printf("%6s", "<0.01");
	else
		printf("%6.*f", f->ratio < 99.5 ? 2 : 0, f->ratio);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		printf("%8s", report_time(text, times[i]));
	printf("%6.2f%10s%10llu%s\n", f->cpu_seconds,
	    report_count(text, switches(f)), (unsigned long long)f->round_trips,
	    f->cut ? " cut" : "");
}

static void table(const struct figures *f, size_t count)
{
	bool cut = false;
	size_t i;

	for (i = 0; i < count; i++) {
		if (i == 0 || f[i].place != f[i - 1].place) {
			if (i > 0)
				printf("\n");
			table_place(&f[i]);
		}
		if (!f[i].skipped)
			table_row(&f[i]);
		cut = cut || f[i].cut;
	}
	if (cut)
		printf("\ncut: the time was over before all rounds were "
		       "made\n");
}

/* ---- csv --------------------------------------------------------------- */

static void csv(const struct figures *f, size_t count)
{
	size_t i;

	printf(
	    "via,place,work_ns,gap_ns,trials,round_trips,"
	    "bare_round_trips,cut,min_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,"
	    "mean_ns,p50_low_ns,p50_high_ns,cpu,switches_per_s,ratio,"
	    "skipped\n");
	for (i = 0; i < count; i++, f++) {
		printf("%s,%s,0,0,", f->via->name, place_name(f->place));
		if (f->skipped) {
			printf(",,,,,,,,,,,,,,,,\"%s\"\n", f->skipped);
			continue;
		}
		printf("%u,%llu,%llu,%d,", f->trials,
		    (unsigned long long)f->round_trips,
		    (unsigned long long)f->bare_round_trips, f->cut);
		printf("%llu,%llu,%llu,%llu,%llu,%llu,%.1f,",
		    (unsigned long long)f->min, (unsigned long long)f->p50,
		    (unsigned long long)f->p90, (unsigned long long)f->p99,
		    (unsigned long long)f->p999, (unsigned long long)f->max,
		    f->mean);
		printf("%llu,%llu,%.4f,%.1f,", (unsigned long long)f->p50_low,
		    (unsigned long long)f->p50_high, f->cpu_seconds,
		    switches(f));
		if (f->ratio > 0)
			printf("%.4f", f->ratio);
		printf(",\n");
	}
}

/* ---- json -------------------------------------------------------------- */

void report_json_string(FILE *out, const char *text)
{
	const unsigned char *c;

	putc('"', out);
	for (c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			fprintf(out, "\\u%04x", *c);
		else
			putc(*c, out);
	}
	putc('"', out);
}

/* The processor's model as the system tells it, else its architecture. */
static void cpu_model(char *model, size_t bytes, const char *architecture)
{
	char line[256], *value;
	FILE *file = fopen("/proc/cpuinfo", "re");

	snprintf(model, bytes, "%s", architecture);
	while (file && fgets(line, sizeof(line), file)) {
		value = strchr(line, ':');
		if (!value || strncmp(line, "model name", 10) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		value += strspn(value, ": \t");
		snprintf(model, bytes, "%s", value);
		break;
	}
	if (file)
		fclose(file);
}

void report_json_head(FILE *out)
{
	struct utsname system;
	char text[512];

	if (uname(&system) < 0)
		memset(&system, 0, sizeof(system));
	fprintf(out, "\"tool\":\"" BENCH_TOOL "\",\"version\":");
	report_json_string(out, handoff_version());
	fprintf(out, ",\"machine\":{\"cpus\":%ld,\"kernel\":",
	    sysconf(_SC_NPROCESSORS_ONLN));
	snprintf(text, sizeof(text), "%s %s", system.sysname, system.release);
	report_json_string(out, text);
	fprintf(out, ",\"cpu\":");
	cpu_model(text, sizeof(text), system.machine);
	report_json_string(out, text);
	fprintf(out, "}");
}

static void json_run(const struct figures *f)
{
	printf("{\"via\":");
	report_json_string(stdout, f->via->name);
	printf(",\"place\":\"%s\"", place_name(f->place));
	if (f->skipped) {
		printf(",\"skipped\":");
		report_json_string(stdout, f->skipped);
		printf("}");
		return;
	}
	printf(",\"group\":\"%s\"", via_group_name(f->via->group));
	if (f->cpu[0] != PLACE_ANY_CPU)
		printf(",\"pinned\":[%d,%d]", f->cpu[0], f->cpu[1]);
	printf(",\"work_ns\":0,\"gap_ns\":0,\"trials\":%u,"
	       "\"round_trips\":%llu,\"bare_round_trips\":%llu,\"cut\":%s",
	    f->trials, (unsigned long long)f->round_trips,
	    (unsigned long long)f->bare_round_trips, f->cut ? "true" : "false");
	printf(",\"rtt_ns\":{\"min\":%llu,\"p50\":%llu,\"p90\":%llu,"
	       "\"p99\":%llu,\"p999\":%llu,\"max\":%llu,\"mean\":%.1f}",
	    (unsigned long long)f->min, (unsigned long long)f->p50,
	    (unsigned long long)f->p90, (unsigned long long)f->p99,
	    (unsigned long long)f->p999, (unsigned long long)f->max, f->mean);
	printf(",\"spread\":{\"p50_low\":%llu,\"p50_high\":%llu}"
	       ",\"cpu\":%.4f,\"switches_per_s\":%.1f,\"floor\":\"%s\"",
	    (unsigned long long)f->p50_low, (unsigned long long)f->p50_high,
	    f->cpu_seconds, switches(f), place_floor(f->place));
	if (f->ratio > 0)
		printf(",\"ratio\":%.4f}", f->ratio);
	else
		printf(",\"ratio\":null}");
}

static void json(const struct figures *f, size_t count)
{
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"runs\":[");
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

int report_end(void)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, BENCH_TOOL ": cannot write the results: %s\n",
		    strerror(errno));
		return BENCH_FAILED;
	}
	return BENCH_OK;
}
