/* SPDX-License-Identifier: ISC */
/*
 * Prints what handoff-bench fairness has found, as a table, as comma-separated
 * values and as JSON.
 */
#define _GNU_SOURCE 1
#include <stdio.h>

#include "fairness.h"
#include "place.h"
#include "report.h"

static uint64_t total(const struct fairness_contest *c)
{
	return c->results[0].acquired + c->results[1].acquired;
}

/* 0 for nothing, as of a process that did not get the lock at all. */
static double ratio(uint64_t a, uint64_t b)
{
	return b > 0 ? (double)a / (double)b : 0;
}

static double share(const struct fairness_contest *c, int who)
{
	return ratio(c->results[who].acquired, total(c));
}

static void print_table(const struct fairness_contest *c, size_t count,
    const int cpu[2])
{
	size_t i;
	int who;

	if (cpu[0] == PLACE_ANY_CPU)
		printf("two processes, not pinned\n");
	else
		printf("two processes, pinned to CPUs %d and %d\n", cpu[0],
		    cpu[1]);
	printf("%-15s%8s%12s%8s%12s%14s%13s\n", "via", "process", "acquired",
	    "share", "changes", "longest wait", "per acquire");
	for (i = 0; i < count; i++) {
		for (who = 0; who < 2; who++)
			printf("%-15s%8d%12llu%8.3f%12llu%12.3fms%11.1fns\n",
			    fairness_name(c[i].via), who,
			    (unsigned long long)c[i].results[who].acquired,
			    share(&c[i], who),
			    (unsigned long long)c[i].results[who].changes,
			    (double)c[i].results[who].longest / 1e6,
			    ratio(c[i].ns, c[i].results[who].acquired));
	}
}

static void print_json(const struct fairness_contest *c, size_t count,
    const int cpu[2])
{
	const struct fairness_result *r;
	size_t i;

	printf("{");
	report_json_head(stdout);
	printf(",\"fairness\":[");
	for (i = 0; i < count; i++) {
		r = c[i].results;
		printf(i == 0 ? "\n{\"via\":" : ",\n{\"via\":");
		report_json_string(stdout, fairness_name(c[i].via));
		if (cpu[0] != PLACE_ANY_CPU)
			printf(",\"pinned\":[%d,%d]", cpu[0], cpu[1]);
		printf(",\"acquired\":[%llu,%llu],\"total\":%llu",
		    (unsigned long long)r[0].acquired,
		    (unsigned long long)r[1].acquired,
		    (unsigned long long)total(&c[i]));
		printf(",\"changes\":%llu",
		    (unsigned long long)(r[0].changes + r[1].changes));
		printf(",\"share\":%.4f,\"longest_ns\":%llu"
		       ",\"ns_per_acquire\":%.3f}",
		    share(&c[i], r[0].acquired < r[1].acquired ? 0 : 1),
		    (unsigned long long)(r[0].longest > r[1].longest ?
		            r[0].longest :
		            r[1].longest),
		    ratio(c[i].ns, total(&c[i])));
	}
	printf("\n]}\n");
}

static void print_csv(const struct fairness_contest *c, size_t count,
    const int cpu[2])
{
	size_t i;
	int who;

	printf("via,process,cpu,acquired,share,changes,longest_ns,"
	       "ns_per_acquire\n");
	for (i = 0; i < 2 * count; i++) {
		who = (int)(i % 2);
		printf("%s,%d,", fairness_name(c[i / 2].via), who);
		if (cpu[0] != PLACE_ANY_CPU)
			printf("%d", cpu[who]);
		printf(",%llu,%.4f,%llu,%llu,%.3f\n",
		    (unsigned long long)c[i / 2].results[who].acquired,
		    share(&c[i / 2], who),
		    (unsigned long long)c[i / 2].results[who].changes,
		    (unsigned long long)c[i / 2].results[who].longest,
		    ratio(c[i / 2].ns, c[i / 2].results[who].acquired));
	}
}

void fairness_print(enum bench_format format,
    const struct fairness_contest *contests, size_t count, const int cpu[2])
{
	if (format == FORMAT_CSV)
		print_csv(contests, count, cpu);
	else if (format == FORMAT_JSON)
		print_json(contests, count, cpu);
	else
		print_table(contests, count, cpu);
}
