/* SPDX-License-Identifier: ISC */
/*
 * What all reports have in common: numbers for people, the head of JSON.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>

#include <handoff.h>

#include "report.h"
#include "system.h"
#include "work.h"

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

const char *report_count(char text[REPORT_TIME_MAX], double value)
{
	static const char *const units[] = { "", "k", "M", "G" };

	return scaled(text, value, units, sizeof(units) / sizeof(units[0]));
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

void report_json_head(FILE *out)
{
	char text[512];

	fprintf(out, "\"tool\":\"" BENCH_TOOL "\",\"version\":");
	report_json_string(out, handoff_version());
	fprintf(out, ",\"machine\":{\"cpus\":%u,\"kernel\":", system_cpus());
	report_kernel(text, sizeof(text));
	report_json_string(out, text);
	fprintf(out, ",\"cpu\":");
	report_cpu(text, sizeof(text));
	report_json_string(out, text);
	fprintf(out, "},\"timer_ns\":%.1f", work_timer_ns());
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
