/* SPDX-License-Identifier: ISC */
/*
 * The command line of handoff-bench fairness.
 */
#define _GNU_SOURCE 1
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

#define DEFAULT_FAIRNESS_NS 1000000000u

static const struct option fairness_longs[] = {
	{ "via", required_argument, NULL, OPTION_VIA },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help_fairness(void)
{
	int via;

	printf("usage: " BENCH_TOOL " fairness [option ...]\n"
	       "Two processes lock and unlock one lock in tight loops.\n\n"
	       "  --via=LIST      of locks; default all of these:\n"
	       "                 ");
	for (via = 0; via < FAIRNESS_VIAS; via++)
		printf(" %s", fairness_name((enum fairness_via)via));
	printf("\n"
	       "  --time=SECONDS  for each lock; default 1\n"
	       "  --format=WORD   table (default), csv, json\n"
	       "  --help\n");
}

static bool add_lock(void *options, const char *word)
{
	struct fairness_options *o = options;
	enum fairness_via via = fairness_find(word);
	size_t i;

	if (via == FAIRNESS_VIAS)
		return false;
	for (i = 0; i < o->via_count; i++)
		if (o->vias[i] == via)
			return true;
	o->vias[o->via_count++] = via;
	return true;
}

static int fairness_option(void *options, int c, char *value)
{
	struct fairness_options *o = options;

	switch (c) {
	case OPTION_VIA:
		return options_list(o, value, "no such via", add_lock);
	case OPTION_TIME:
		if (!options_seconds(&o->ns, value))
			return options_wrong("not a time in seconds", value);
		return 0;
	default:
		if (!options_format(&o->format, value))
			return options_wrong("not a format", value);
		return 0;
	}
}

bool options_fairness(struct fairness_options *o, int argc, char **argv,
    int *status)
{
	static const struct options_command command = {
		.longs = fairness_longs,
		.help = help_fairness,
		.take = fairness_option,
	};
	int via;

	memset(o, 0, sizeof(*o));
	o->ns = DEFAULT_FAIRNESS_NS;
	if (!options_parse(&command, o, argc, argv, status))
		return false;
	if (o->via_count > 0)
		return true;
	for (via = 0; via < FAIRNESS_VIAS; via++)
		o->vias[o->via_count++] = (enum fairness_via)via;
	return true;
}
