/* SPDX-License-Identifier: ISC */
/*
 * The command line of handoff-bench pingpong.
 */
#define _GNU_SOURCE 1
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

#define DEFAULT_TRIAL_NS 100000000u
#define ROUNDS_TRIAL_NS 2000000000u /* at most, where rounds are counted */
#define GAP_TRIAL_NS 2000000000u    /* the same where there are gaps */
#define DEFAULT_TRIALS 5u
#define GAP_ROUNDS 20u /* of a trial with gaps, as far as possible */
#define MAX_ROUNDS 1000000000000u

enum { OPTION_WORK = OPTION_OWN, OPTION_GAP, OPTION_RECORD };

static void add_via(struct pingpong_options *o, const struct via *via)
{
	size_t i;

	for (i = 0; i < o->via_count; i++)
		if (o->vias[i] == via)
			return;
	if (o->via_count < OPTIONS_VIAS)
		o->vias[o->via_count++] = via;
}

/* Adds the vias that a word of the list means: one, a group, or all. */
static bool add_vias(void *options, const char *word)
{
	struct pingpong_options *o = options;
	const struct via *via;
	bool found = false;
	size_t i;

	for (i = 0; (via = via_at(i)) != NULL; i++) {
		if (strcmp(word, via->name) != 0 &&
		    strcmp(word, via_group_name(via->group)) != 0 &&
		    strcmp(word, "all") != 0)
			continue;
		add_via(o, via);
		found = true;
	}
	return found;
}

static bool add_place(void *options, const char *word)
{
	struct pingpong_options *o = options;

	return options_add_place(o->places, &o->place_count, word);
}

static bool add_work(void *options, const char *word)
{
	struct pingpong_options *o = options;

	return options_add_time(&o->works, word, OPTIONS_MAX_WORK_NS);
}

static bool add_gap(void *options, const char *word)
{
	struct pingpong_options *o = options;

	return options_add_time(&o->gaps, word, OPTIONS_MAX_GAP_NS);
}

static const struct option pingpong_longs[] = {
	{ "via", required_argument, NULL, OPTION_VIA },
	{ "place", required_argument, NULL, OPTION_PLACE },
	{ "work", required_argument, NULL, OPTION_WORK },
	{ "gap", required_argument, NULL, OPTION_GAP },
	{ "rounds", required_argument, NULL, OPTION_ROUNDS },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "trials", required_argument, NULL, OPTION_TRIALS },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "record", required_argument, NULL, OPTION_RECORD },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help_vias(void)
{
	const struct via *via;
	int group = -1, column = 0;
	size_t i;

	for (i = 0; (via = via_at(i)) != NULL; i++) {
		if ((int)via->group != group) {
			printf("%s  %-7s", group < 0 ? "" : "\n",
			    via_group_name(via->group));
			column = 9;
		} else if (column + 1 + (int)strlen(via->name) > 79) {
			printf("\n%9s", "");
			column = 9;
		}
		group = (int)via->group;
		column += printf(" %s", via->name);
	}
	printf("\n");
}

static void help_pingpong(void)
{
	printf(
	    "usage: " BENCH_TOOL " pingpong [option ...]\n"
	    "Two processes hand the turn to each other; a round trip is two "
	    "handoffs.\n\n"
	    "  --via=LIST      of ways to do it, or of groups of them, or all "
	    "(default)\n"
	    "  --place=LIST    cross (two CPUs), same (one), free (not pinned); "
	    "default these;\n"
	    "                  busy2, busy4 (not pinned, beside 2 or 4 endless "
	    "loops),\n"
	    "                  same1 (one CPU, shared with one); or all\n"
	    "  --work=LIST     the partner computes for so many ns before it "
	    "answers; default 0\n"
	    "  --gap=LIST      the caller is idle for so many ns before it "
	    "calls; default 0\n"
	    "  --rounds=N      round trips of a trial, as far as the time "
	    "allows\n"
	    "  --time=SECONDS  of a trial; default 0.1, or 2 with --rounds, or "
	    "20 gaps\n"
	    "  --trials=K      of each, by turns; default 5\n"
	    "  --format=WORD   table (default), csv, json\n"
	    "  --plot=DIR      draw pictures (SVG) into it, through gnuplot\n"
	    "  --record=FILE   write each round trip into it, of one way at one "
	    "place,\n"
	    "                  in one trial\n"
	    "  --help\n\n"
	    "Ways, by group:\n");
	help_vias();
}

static int pingpong_option(void *options, int c, char *value)
{
	struct pingpong_options *o = options;
	const struct options_common common = {
		.ns = &o->trial_ns,
		.trials = &o->trials,
		.plot = &o->plot,
		.format = &o->format,
	};
	uint64_t n;

	switch (c) {
	case OPTION_VIA:
		return options_list(o, value, "no such via", add_vias);
	case OPTION_PLACE:
		return options_list(o, value, "no such place", add_place);
	case OPTION_WORK:
		return options_list(o, value, "not a work in ns", add_work);
	case OPTION_GAP:
		return options_list(o, value, "not a gap in ns", add_gap);
	case OPTION_ROUNDS:
		if (!options_number(&n, MAX_ROUNDS, value))
			return options_wrong("not a number of rounds", value);
		o->rounds = n;
		return 0;
	case OPTION_RECORD:
		if (value[0] == '\0')
			return options_wrong("not a file", value);
		o->record = value;
		return 0;
	default:
		return options_take(&common, c, value);
	}
}

static void pingpong_defaults(struct pingpong_options *o)
{
	if (o->via_count == 0)
		add_vias(o, "all");
	if (o->place_count == 0) {
		add_place(o, "cross");
		add_place(o, "same");
		add_place(o, "free");
	}
	if (o->works.count == 0)
		o->works.count = 1;
	if (o->gaps.count == 0)
		o->gaps.count = 1;
	if (o->trials == 0)
		o->trials = o->record ? 1 : DEFAULT_TRIALS;
}

static bool is_one_trial(const struct pingpong_options *o)
{
	return o->via_count == 1 && o->place_count == 1 &&
	    o->works.count == 1 && o->gaps.count == 1 && o->trials == 1;
}

uint64_t options_trial_ns(const struct pingpong_options *o, uint64_t gap_ns)
{
	uint64_t ns = GAP_ROUNDS * gap_ns;

	if (o->trial_ns != 0)
		return o->trial_ns;
	if (o->rounds != UINT64_MAX)
		return ROUNDS_TRIAL_NS;
	if (ns > GAP_TRIAL_NS)
		return GAP_TRIAL_NS;
	return ns > DEFAULT_TRIAL_NS ? ns : DEFAULT_TRIAL_NS;
}

bool options_pingpong(struct pingpong_options *o, int argc, char **argv,
    int *status)
{
	static const struct options_command command = {
		.longs = pingpong_longs,
		.help = help_pingpong,
		.take = pingpong_option,
	};

	memset(o, 0, sizeof(*o));
	o->rounds = UINT64_MAX;
	if (!options_parse(&command, o, argc, argv, status))
		return false;
	pingpong_defaults(o);
	if (!o->record || is_one_trial(o))
		return true;
	*status = options_wrong("--record is for one trial of one way at one "
	                        "place, with one work and gap",
	    o->record);
	return false;
}
