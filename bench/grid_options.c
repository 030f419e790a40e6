/* SPDX-License-Identifier: ISC */
/*
 * The command line of handoff-bench grid, and the cells that it has without.
 */
#define _GNU_SOURCE 1
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "grid.h"

#define DEFAULT_TRIALS 9u
#define DEFAULT_TRIAL_NS 100000000u
#define QUICK_TRIALS 3u
#define QUICK_TRIAL_NS 50000000u
#define ROUNDS 20u /* of a trial without --time, as far as possible */
#define MOST_TRIAL_NS 2000000000u

enum { OPTION_WORK = OPTION_OWN, OPTION_GAP, OPTION_PEERS, OPTION_QUICK };

static const struct grid_point all_points[] = {
	{ 0, 0 },
	{ 1000, 0 },
	{ 3000, 0 },
	{ 10000, 0 },
	{ 20000, 0 },
	{ 50000, 0 },
	{ 100000, 0 },
	{ 300000, 0 },
	{ 1000000, 0 },
	{ 10000000, 0 },
	{ 0, 10000 },
	{ 0, 100000 },
	{ 0, 1000000 },
	{ 0, 10000000 },
};

static const struct grid_point quick_points[] = {
	{ 0, 0 },
	{ 10000, 0 },
	{ 100000, 0 },
	{ 1000000, 0 },
	{ 0, 1000000 },
};

static const enum place quick_places[] = {
	PLACE_CROSS,
	PLACE_SAME,
	PLACE_BUSY2,
	PLACE_SAME1,
};

static const struct option grid_longs[] = {
	{ "via", required_argument, NULL, OPTION_VIA },
	{ "place", required_argument, NULL, OPTION_PLACE },
	{ "work", required_argument, NULL, OPTION_WORK },
	{ "gap", required_argument, NULL, OPTION_GAP },
	{ "peers", no_argument, NULL, OPTION_PEERS },
	{ "quick", no_argument, NULL, OPTION_QUICK },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "trials", required_argument, NULL, OPTION_TRIALS },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help_grid(void)
{
	printf(
	    "usage: " BENCH_TOOL " grid [option ...]\n"
	    "What the library's way to wait costs in relation to the best of "
	    "the fixed\n"
	    "policies, for each place, work and gap.\n\n"
	    "  --via=LIST      of the library's ways of pingpong, or ours (all "
	    "of them);\n"
	    "                  default sem\n"
	    "  --place=LIST    as of pingpong; default all\n"
	    "  --work=LIST     in ns; with --gap, all combinations; default: "
	    "see the manual\n"
	    "  --gap=LIST      in ns; the same\n"
	    "  --peers         measure the system's ways too\n"
	    "  --quick         a few cells, in less than two minutes\n"
	    "  --time=SECONDS  of a trial; default 0.1, with --quick 0.05, or "
	    "20 rounds\n"
	    "  --trials=K      of each; default 9, with --quick 3\n"
	    "  --format=WORD   table (default), csv, json\n"
	    "  --plot=DIR      draw pictures (SVG) into it, through gnuplot\n"
	    "  --help\n");
}

static void add_via(struct grid_options *o, const struct via *via)
{
	size_t i;

	for (i = 0; i < o->via_count; i++)
		if (o->vias[i] == via)
			return;
	if (o->via_count < OPTIONS_VIAS)
		o->vias[o->via_count++] = via;
}

/* Of peers, those that there are here. */
static bool add_group(struct grid_options *o, enum via_group group)
{
	const struct via *via;
	size_t i;

	for (i = 0; (via = via_at(i)) != NULL; i++)
		if (via->group == group &&
		    (group != VIA_PEERS || !via_missing(via)))
			add_via(o, via);
	return true;
}

static bool add_ours(void *options, const char *word)
{
	struct grid_options *o = options;
	const struct via *via = via_find(word);

	if (strcmp(word, via_group_name(VIA_OURS)) == 0)
		return add_group(o, VIA_OURS);
	if (!via || via->group != VIA_OURS)
		return false;
	add_via(o, via);
	return true;
}

static bool add_place(void *options, const char *word)
{
	struct grid_options *o = options;

	return options_add_place(o->places, &o->place_count, word);
}

static bool add_work(void *options, const char *word)
{
	struct grid_options *o = options;

	return options_add_time(&o->works, word, OPTIONS_MAX_WORK_NS);
}

static bool add_gap(void *options, const char *word)
{
	struct grid_options *o = options;

	return options_add_time(&o->gaps, word, OPTIONS_MAX_GAP_NS);
}

static int grid_option(void *options, int c, char *value)
{
	struct grid_options *o = options;
	const struct options_common common = {
		.ns = &o->trial_ns,
		.trials = &o->trials,
		.plot = &o->plot,
		.format = &o->format,
	};

	switch (c) {
	case OPTION_VIA:
		return options_list(o, value, "not a via of the library",
		    add_ours);
	case OPTION_PLACE:
		return options_list(o, value, "no such place", add_place);
	case OPTION_WORK:
		return options_list(o, value, "not a work in ns", add_work);
	case OPTION_GAP:
		return options_list(o, value, "not a gap in ns", add_gap);
	case OPTION_PEERS:
		o->peers = true;
		return 0;
	case OPTION_QUICK:
		o->quick = true;
		return 0;
	default:
		return options_take(&common, c, value);
	}
}

/* ---- defaults ---------------------------------------------------------- */

/* Ours come first, then what they are compared to. */
static void set_vias(struct grid_options *o)
{
	if (o->via_count == 0)
		add_ours(o, "sem");
	o->ours = o->via_count;
	add_via(o, via_find("futex"));
	add_group(o, VIA_FIXED);
	if (o->peers)
		add_group(o, VIA_PEERS);
}

static void set_places(struct grid_options *o)
{
	if (o->place_count > 0)
		return;
	if (!o->quick) {
		add_place(o, "all");
		return;
	}
	memcpy(o->places, quick_places, sizeof(quick_places));
	o->place_count = sizeof(quick_places) / sizeof(quick_places[0]);
}

static void copy_points(struct grid_options *o, const struct grid_point *from,
    size_t count)
{
	memcpy(o->points, from, count * sizeof(*from));
	o->point_count = count;
}

static void set_points(struct grid_options *o)
{
	size_t i, k;

	if (o->works.count == 0 && o->gaps.count == 0) {
		if (o->quick)
			copy_points(o, quick_points,
			    sizeof(quick_points) / sizeof(quick_points[0]));
		else
			copy_points(o, all_points,
			    sizeof(all_points) / sizeof(all_points[0]));
		return;
	}
	if (o->works.count == 0)
		o->works.count = 1;
	if (o->gaps.count == 0)
		o->gaps.count = 1;
	for (i = 0; i < o->works.count; i++)
		for (k = 0; k < o->gaps.count; k++)
			o->points[o->point_count++] = (struct grid_point){
				o->works.ns[i],
				o->gaps.ns[k],
			};
}

uint64_t grid_trial_ns(const struct grid_options *o,
    const struct grid_point *point)
{
	uint64_t least = o->quick ? QUICK_TRIAL_NS : DEFAULT_TRIAL_NS;
	uint64_t ns = ROUNDS * (point->work_ns + point->gap_ns);

	if (o->trial_ns != 0)
		return o->trial_ns;
	if (ns > MOST_TRIAL_NS)
		return MOST_TRIAL_NS;
	return ns > least ? ns : least;
}

bool options_grid(struct grid_options *o, int argc, char **argv, int *status)
{
	static const struct options_command command = {
		.longs = grid_longs,
		.help = help_grid,
		.take = grid_option,
	};

	memset(o, 0, sizeof(*o));
	if (!options_parse(&command, o, argc, argv, status))
		return false;
	if (o->trials == 0)
		o->trials = o->quick ? QUICK_TRIALS : DEFAULT_TRIALS;
	set_vias(o);
	set_places(o);
	set_points(o);
	return true;
}
