/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench: measures what it costs two processes to hand the turn to
 * each other through the library, beside the least that the machine allows
 * and beside what the system offers.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include <handoff.h>

#include "bench.h"
#include "options.h"
#include "report.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "pingpong", pingpong_main, "round trips between two processes" },
	{ "costs", costs_main, "single operations, alone and contended" },
	{ "fairness", fairness_main, "two processes contend for a lock" },
	{ "grid", grid_main, "regret: ours against each fixed policy" },
	{ "ladder", ladder_main, "all costs in one list, the least first" },
	{ "idle", idle_main, "what a process that waits costs" },
	{ "lab", lab_main, "guesses of how long to spin, on given waits" },
	{ "report", report_main, "all of them, as a page of HTML" },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(void)
{
	size_t i;

	printf("usage: " BENCH_TOOL " command [option ...]\n"
	       "       " BENCH_TOOL " command --help\n"
	       "       " BENCH_TOOL " --help | --version\n\n");
	for (i = 0; i < COMMANDS; i++)
		printf("  %-10s%s\n", commands[i].name, commands[i].what);
	return report_end();
}

int main(int argc, char **argv)
{
	size_t i;

	bench_path = argc > 0 ? argv[0] : BENCH_TOOL;
	if (argc < 2 || strcmp(argv[1], "--help") == 0)
		return usage();
	if (strcmp(argv[1], "--version") == 0) {
		printf(BENCH_TOOL " %s\n", handoff_version());
		return report_end();
	}
	if (strcmp(argv[1], "--part=0") == 0 ||
	    strcmp(argv[1], "--part=1") == 0)
		return part_main(argv[1][7] - '0');
	for (i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	return options_wrong("no such command", argv[1]);
}
