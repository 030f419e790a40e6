/* SPDX-License-Identifier: ISC */
/*
 * Prints the ladder as a table, as comma-separated values and as JSON.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ladder.h"
#include "report.h"

#define WHOLE "an object of this library never straddles a cache line"

/* The next figure of others about a rung, after `p` or from the first. */
static const struct published *next(const struct published *p, const char *rung)
{
	const struct published *end = ladder_published + ladder_published_count;

	for (p = p ? p + 1 : ladder_published; p < end; p++)
		if (strcmp(p->rung, rung) == 0)
			return p;
	return NULL;
}

/* ---- table ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	/* What was skipped comes last, in its order. */
	if (x->skipped[0] || y->skipped[0])
		return (x->skipped[0] != 0) - (y->skipped[0] != 0);
	return (x->p50 > y->p50) - (x->p50 < y->p50);
}

static void table_rung(const struct result *r)
{
	const struct published *p = NULL;
	char text[REPORT_TIME_MAX];

	printf("%-13s", r->rung->name);
	if (r->skipped[0]) {
		printf("%-26s  skipped: %s\n", "", r->skipped);
	} else {
		printf("%8s", report_time(text, r->p50));
		printf("%9s", report_time(text, r->min));
		printf("%9s", report_time(text, r->max));
		printf("  %s\n", r->rung->what);
	}
	while ((p = next(p, r->rung->name)) != NULL)
		printf("  %-11s%8s  %s: %s\n", "published",
		    report_time(text, p->ns), p->where->name, p->what);
}

static const struct result *find(const struct ladder *ladder, const char *rung)
{
	size_t i;

	for (i = 0; i < ladder->count; i++)
		if (strcmp(ladder->results[i].rung->name, rung) == 0)
			break;
	return &ladder->results[i];
}

/* Why objects should not straddle. */
static void table_split(const struct ladder *ladder)
{
	const struct result *whole = find(ladder, "atomic-whole");
	const struct result *split = find(ladder, "atomic-split");

	if (!whole->skipped[0] && !split->skipped[0])
		printf("\na locked add across two cache lines costs %.0f times "
		       "one within a line;",
		    split->p50 / whole->p50);
}

static void table_objects(const struct ladder *ladder)
{
	const struct ladder_object *o = ladder->objects;
	size_t i;

	printf("\n" WHOLE ": %s; bytes:\n",
	    ladder->whole ? "checked" : "failed");
	for (i = 0; i < LADDER_OBJECTS; i++, o++)
		printf("%s%s %zu%s",
		    i == 0                      ? "  " :
		        i == LADDER_OBJECTS / 2 ? ",\n  " :
		                                  ", ",
		    o->kind, o->bytes, o->ok ? "" : " FAILED");
	printf("\n");
}

static void table_elsewhere(void)
{
	size_t i;

	printf("\nMachines of what is published; the years are not known:\n");
	for (i = 0; i < ladder_elsewhere_count; i++)
		printf("  %-9s %s\n", ladder_elsewhere[i].name,
		    ladder_elsewhere[i].machine);
}

static void table(const struct ladder *ladder)
{
	size_t i;

	printf("p50: the median of the trials' medians; min, max: the least "
	       "and the greatest\n"
	       "of them.  published: by others, on other machines, not "
	       "measured here.\n\n");
	printf("%-13s%8s%9s%9s  %s\n", "rung", "p50", "min", "max", "what");
	for (i = 0; i < ladder->count; i++)
		table_rung(&ladder->results[i]);
	table_elsewhere();
	table_split(ladder);
	table_objects(ladder);
}

/* ---- csv --------------------------------------------------------------- */

static void csv_rung(const struct result *r)
{
	const struct published *p = NULL;
	const struct rung *rung = r->rung;

	if (r->skipped[0])
		printf("skipped,%s,\"%s\",0,,,,,\"%s\"\n", rung->name,
		    rung->what, r->skipped);
	else
		printf("measured,%s,\"%s\",%u,%.2f,%.2f,%.2f,,\n", rung->name,
		    rung->what, r->trials, r->min, r->p50, r->max);
	while ((p = next(p, rung->name)) != NULL)
		printf("published,%s,\"%s\",,,,,%.0f,\"%s: %s\"\n", rung->name,
		    rung->what, p->ns, p->where->machine, p->what);
}

static void csv(const struct ladder *ladder)
{
	const struct ladder_object *o = ladder->objects;
	size_t i;

	printf("row,rung,what,trials,min_ns,p50_ns,max_ns,published_ns,"
	       "source\n");
	for (i = 0; i < ladder->count; i++)
		csv_rung(&ladder->results[i]);
	for (i = 0; i < LADDER_OBJECTS; i++, o++)
		printf("%s,%s,\"" WHOLE "\",,,,,,\n",
		    o->ok ? "checked" : "failed", o->kind);
}

/* ---- json -------------------------------------------------------------- */

static void json_rung(const struct result *r)
{
	const struct published *p = NULL;
	const char *before = "";
	char source[160];

	printf("{\"rung\":\"%s\",\"what\":", r->rung->name);
	report_json_string(stdout, r->rung->what);
	if (r->skipped[0]) {
		printf(",\"skipped\":");
		report_json_string(stdout, r->skipped);
	} else {
		printf(",\"trials\":%u,\"ns\":{\"min\":%.2f,\"p50\":%.2f,"
		       "\"max\":%.2f}",
		    r->trials, r->min, r->p50, r->max);
	}
	printf(",\"published\":[");
	while ((p = next(p, r->rung->name)) != NULL) {
		printf("%s{\"value\":%.0f,\"source\":", before, p->ns);
		snprintf(source, sizeof(source), "%s: %s", p->where->machine,
		    p->what);
		report_json_string(stdout, source);
		printf("}");
		before = ",";
	}
	printf("]}");
}

static void json(const struct ladder *ladder)
{
	const struct ladder_object *o = ladder->objects;
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"ladder\":[");
	for (i = 0; i < ladder->count; i++) {
		printf(i == 0 ? "\n" : ",\n");
		json_rung(&ladder->results[i]);
	}
	printf("\n],\"objects\":[");
	for (i = 0; i < LADDER_OBJECTS; i++, o++)
		printf("%s{\"kind\":\"%s\",\"bytes\":%zu,\"made\":%u,"
		       "\"straddles\":%s}",
		    i == 0 ? "\n" : ",\n", o->kind, o->bytes, o->made,
		    o->ok ? "false" : "true");
	printf("\n]}\n");
}

void ladder_print(enum bench_format format, const struct ladder *ladder)
{
	qsort(ladder->results, ladder->count, sizeof(*ladder->results),
	    compare);
	if (format == FORMAT_TABLE)
		table(ladder);
	else if (format == FORMAT_CSV)
		csv(ladder);
	else
		json(ladder);
}
