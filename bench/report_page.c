/* SPDX-License-Identifier: ISC */
/*
 * Writes the page of handoff-bench report.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <handoff.h>

#include "csv.h"
#include "report.h"
#include "report_page.h"
#include "work.h"

#define CANVAS "<g id=\"gnuplot_canvas\">"

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>" BENCH_TOOL "</title>\n"
    "<style>\n"
    ":root { --text: #1c1e21; --back: #fff; --soft: #5c6470;\n"
    "  --line: #d9dde3; --band: #f4f6f8; --ours: #0b5cad }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e4e6ea; --back: #16181c; --soft: #9aa3b0;\n"
    "    --line: #343a43; --band: #1f2329; --ours: #7db8f5 }\n"
    "  svg { filter: invert(0.91) hue-rotate(180deg) }\n"
    "}\n"
    "body { font: 15px/1.5 sans-serif; color: var(--text);\n"
    "  background: var(--back); max-width: 72rem; margin: 0 auto;\n"
    "  padding: 1rem }\n"
    "h1 { font-size: 1.7rem; margin: 0.5rem 0 }\n"
    "h2 { font-size: 1.25rem; margin: 2.5rem 0 0.3rem;\n"
    "  border-top: 1px solid var(--line); padding-top: 1rem }\n"
    "p { margin: 0.4rem 0; max-width: 48rem }\n"
    "a { color: var(--ours) }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr;\n"
    "  gap: 0.1rem 1rem; margin: 0.8rem 0 }\n"
    "dt, caption, .base, .published { color: var(--soft) }\n"
    "dd { margin: 0 }\n"
    "nav ul { columns: 2; padding-left: 1.2rem; max-width: 56rem }\n"
    ".wide { overflow-x: auto; margin: 0.8rem 0 }\n"
    "table { border-collapse: collapse; font-size: 0.87rem;\n"
    "  font-variant-numeric: tabular-nums }\n"
    "caption { text-align: left; font-weight: bold; padding: 0.2rem 0 }\n"
    "th, td { text-align: right; padding: 0.15rem 0.6rem;\n"
    "  white-space: nowrap; border-bottom: 1px solid var(--line) }\n"
    ".t { text-align: left }\n"
    "td.t:last-child { white-space: normal; min-width: 12rem }\n"
    "thead th { background: var(--band) }\n"
    "tbody th { font-weight: normal; text-align: left }\n"
    "tr.ours th { font-weight: bold; color: var(--ours) }\n"
    "figure { margin: 1rem 0 }\n"
    "svg { max-width: 100%; height: auto; color: #000 }\n"
    ".failed { color: #c62828; font-weight: bold }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n"
    "<h1>" BENCH_TOOL "</h1>\n"
    "<p>What it costs processes to hand work to each other: "
    "<b class=\"ours\">ours</b> is the library, <i>floors</i> are plain "
    "loops with nothing around them, <i>fixed</i> are waits of a fixed length, "
    "<i>peers</i> are what the system and others offer.</p>\n";

static const char foot[] = "</body>\n</html>\n";

/* ---- text -------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '"')
			fputs("&quot;", out);
		else
			putc(*text, out);
	}
}

static void put_time(FILE *out, double ns)
{
	char text[REPORT_TIME_MAX];
	const char *unit;

	if (ns == 0) {
		fprintf(out, "0");
		return;
	}
	unit = report_time(text, ns) + strspn(text, "0123456789.");
	fprintf(out, "%.*s&#8239;%s", (int)(unit - text), text,
	    strcmp(unit, "us") == 0 ? "&micro;s" : unit);
}

static void put_pair(FILE *out, const char *name, const char *value)
{
	fprintf(out, "<dt>%s</dt><dd>", name);
	put_text(out, value);
	fprintf(out, "</dd>\n");
}

/* ---- tables ------------------------------------------------------------ */

static void put_cell(FILE *out, enum page_kind kind, const char *cell)
{
	char text[REPORT_TIME_MAX];
	double value;

	if (kind == PAGE_TEXT) {
		put_text(out, cell);
		return;
	}
	if (*cell == '\0') {
		fputs("&ndash;", out);
		return;
	}
	value = strtod(cell, NULL);
	if (kind == PAGE_TIME)
		put_time(out, value);
	else if (kind == PAGE_COUNT)
		fputs(report_count(text, value), out);
	else if (kind == PAGE_NUMBER)
		fprintf(out, "%.0f", value);
	else if (kind == PAGE_FINE)
		fprintf(out, "%.4f", value);
	else
		fprintf(out, "%.*f", value < 99.5 ? 2 : 0, value);
}

/* Rows that belong into one table. */
static bool same_table(const struct page_section *s, const struct csv *csv,
    size_t a, size_t b)
{
	size_t i;

	for (i = 0; i < PAGE_KEYS && s->keys[i]; i++)
		if (strcmp(csv_cell(csv, a, s->keys[i]),
		        csv_cell(csv, b, s->keys[i])) != 0)
			return false;
	return true;
}

static bool shown(const struct page_section *s, const struct csv *csv,
    size_t row)
{
	if (s->drop[0] &&
	    strcmp(csv_cell(csv, row, s->drop[0]), s->drop[1]) == 0)
		return false;
	return *csv_cell(csv, row, "skipped") == '\0';
}

/* Whether some row of a table has something in that column. */
static bool used(const struct page_section *s, const struct csv *csv,
    size_t first, const struct page_column *column)
{
	size_t row;

	for (row = first; row < csv->rows; row++)
		if (shown(s, csv, row) && same_table(s, csv, first, row) &&
		    *csv_cell(csv, row, column->csv))
			return true;
	return false;
}

static void put_head(FILE *out, const struct page_section *s,
    const struct csv *csv, size_t first)
{
	const struct page_column *c;

	fprintf(out, "<thead><tr>");
	for (c = s->columns; c->title; c++)
		if (used(s, csv, first, c))
			fprintf(out, "<th scope=\"col\"%s>%s</th>",
			    c->kind == PAGE_TEXT ? " class=\"t\"" : "",
			    c->title);
	fprintf(out, "</tr></thead>\n<tbody>\n");
}

/* `first` is the first row of the table. */
static void put_row(FILE *out, const struct page_section *s,
    const struct csv *csv, size_t first, size_t row)
{
	const char *group = csv_cell(csv, row, "group");
	const struct page_column *c;

	if (*group == '\0')
		group = csv_cell(csv, row, "row");
	fprintf(out, "<tr class=\"%s\"><th scope=\"row\">", group);
	put_text(out, csv_cell(csv, row, s->columns->csv));
	fprintf(out, "</th>");
	for (c = s->columns + 1; c->title; c++) {
		if (!used(s, csv, first, c))
			continue;
		fprintf(out, "<td%s>",
		    c->kind == PAGE_TEXT ? " class=\"t\"" : "");
		put_cell(out, c->kind, csv_cell(csv, row, c->csv));
		fprintf(out, "</td>");
	}
	fprintf(out, "</tr>\n");
}

static void put_caption(FILE *out, const struct page_section *s,
    const struct csv *csv, size_t row)
{
	const char *key, *cell, *end;
	size_t i;

	if (!s->keys[0])
		return;
	fprintf(out, "<caption>");
	for (i = 0; i < PAGE_KEYS && (key = s->keys[i]) != NULL; i++) {
		cell = csv_cell(csv, row, key);
		if (i > 0)
			fprintf(out, ", ");
		end = strstr(key, "_ns");
		if (!end) {
			put_text(out, cell);
			continue;
		}
		fprintf(out, "%.*s ", (int)(end - key), key);
		put_time(out, strtod(cell, NULL));
	}
	fprintf(out, "</caption>\n");
}

static void put_table(FILE *out, const struct page_section *s,
    const struct csv *csv, size_t first)
{
	size_t row;

	fprintf(out, "<div class=\"wide\"><table>\n");
	put_caption(out, s, csv, first);
	put_head(out, s, csv, first);
	for (row = first; row < csv->rows; row++)
		if (shown(s, csv, row) && same_table(s, csv, first, row))
			put_row(out, s, csv, first, row);
	fprintf(out, "</tbody></table></div>\n");
}

/* Whether an earlier row that is skipped as `row` is has the same reason. */
static bool reason_known(const struct csv *csv, size_t row)
{
	size_t i;

	for (i = 1; i < row; i++)
		if (strcmp(csv_cell(csv, i, "skipped"),
		        csv_cell(csv, row, "skipped")) == 0)
			return true;
	return false;
}

/* What was skipped, by the reasons. */
static void put_skipped(FILE *out, const struct csv *csv)
{
	const char *reason;
	size_t row, i;

	for (row = 1; row < csv->rows; row++) {
		reason = csv_cell(csv, row, "skipped");
		if (*reason == '\0' || reason_known(csv, row))
			continue;
		fprintf(out, "<p>Skipped");
		for (i = row; i < csv->rows; i++) {
			if (strcmp(csv_cell(csv, i, "skipped"), reason) != 0)
				continue;
			fprintf(out, i == row ? " " : ", ");
			put_text(out, csv_cell(csv, i, "via"));
		}
		fprintf(out, ": ");
		put_text(out, reason);
		fprintf(out, ".</p>\n");
	}
}

static void put_tables(FILE *out, const struct page_section *s,
    const struct csv *csv)
{
	size_t row, k;

	for (row = 1; row < csv->rows; row++) {
		if (!shown(s, csv, row))
			continue;
		for (k = 1; k < row; k++)
			if (shown(s, csv, k) && same_table(s, csv, k, row))
				break;
		if (k == row)
			put_table(out, s, csv, row);
	}
	put_skipped(out, csv);
}

/* ---- pictures ---------------------------------------------------------- */

/* The element of an SVG file, without what stands before it. */
static bool put_picture(FILE *out, const char *directory, const char *name)
{
	char path[PATH_MAX], line[4096];
	bool begun = false;
	FILE *file;
	int n = snprintf(path, sizeof(path), "%s/%s.svg", directory, name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!begun && strncmp(line, "<svg", 4) == 0) {
			fprintf(out, "<figure>\n");
			begun = true;
		}
		/* It would be there in each picture. */
		if (strncmp(line, CANVAS, strlen(CANVAS)) == 0)
			fprintf(out, "<g>\n");
		else if (begun)
			fputs(line, out);
	}
	if (begun)
		fprintf(out, "</figure>\n");
	if (file)
		fclose(file);
	return begun;
}

static void put_pictures(FILE *out, const struct page_section *s,
    const char *directory)
{
	size_t i;

	if (!s->pictures[0])
		return;
	if (!directory) {
		fprintf(out,
		    "<p>There are no pictures, because gnuplot was "
		    "not there to draw them.</p>\n");
		return;
	}
	fprintf(out, "<p>%s</p>\n", s->plots);
	for (i = 0; i < PAGE_PICTURES && s->pictures[i]; i++)
		put_picture(out, directory, s->pictures[i]);
}

/* ---- all --------------------------------------------------------------- */

static void put_machine(FILE *out)
{
	const char *waits = getenv("HANDOFF_WAIT");
	time_t now = time(NULL);
	struct tm local;
	char text[256];

	fprintf(out, "<dl>\n");
	put_pair(out, "library", handoff_version());
	report_cpu(text, sizeof(text));
	put_pair(out, "processor", text);
	snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	put_pair(out, "CPUs", text);
	report_kernel(text, sizeof(text));
	put_pair(out, "kernel", text);
	if (localtime_r(&now, &local) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M %Z", &local) > 0)
		put_pair(out, "date", text);
	if (waits)
		put_pair(out, "HANDOFF_WAIT", waits);
	fprintf(out, "<dt>a time stamp costs</dt><dd>");
	put_time(out, work_timer_ns());
	fprintf(out, "</dd>\n</dl>\n");
}

void page_begin(FILE *out)
{
	size_t i;

	fputs(head, out);
	put_machine(out);
	fprintf(out, "<nav><ul>\n");
	for (i = 0; i < page_section_count; i++)
		fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n",
		    page_sections[i].id, page_sections[i].title);
	fprintf(out, "</ul></nav>\n");
}

void page_section(FILE *out, const struct page_section *s, char *text,
    const char *directory)
{
	struct csv csv;

	fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", s->id, s->title);
	if (!text) {
		fprintf(out, "<p class=\"failed\">This part failed.</p>\n");
	} else {
		fprintf(out, "<p>%s</p>\n", s->how);
		if (csv_parse(&csv, text))
			put_tables(out, s, &csv);
		csv_free(&csv);
		put_pictures(out, s, directory);
	}
	fprintf(out, "</section>\n");
}

void page_end(FILE *out)
{
	fputs(foot, out);
}
