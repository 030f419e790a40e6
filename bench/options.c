/* SPDX-License-Identifier: ISC */
/*
 * Reads command lines: long options only, each with one clear line about what
 * is wrong with it.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define DEFAULT_TRIAL_NS 100000000u
#define DEFAULT_FAIRNESS_NS 1000000000u
#define ROUNDS_TRIAL_NS 2000000000u /* at most, where rounds are counted */
#define MAX_ROUNDS 1000000000000u
#define MAX_TRIALS 1000u
#define MAX_SECONDS 3600.0

enum {
	OPTION_VIA = 1,
	OPTION_PLACE,
	OPTION_ROUNDS,
	OPTION_TIME,
	OPTION_TRIALS,
	OPTION_FORMAT,
	OPTION_HELP
};

int options_wrong(const char *what, const char *value)
{
	fprintf(stderr, BENCH_TOOL ": %s: \"%s\" (see " BENCH_TOOL " --help)\n",
	    what, value);
	return BENCH_USAGE;
}

static bool number(uint64_t *number, uint64_t max, const char *text)
{
	char *end;
	unsigned long long value;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || value < 1 || value > max)
		return false;
	*number = value;
	return true;
}

static bool seconds(uint64_t *ns, const char *text)
{
	char *end;
	double value;

	if ((text[0] < '0' || text[0] > '9') && text[0] != '.')
		return false;
	value = strtod(text, &end);
	if (end == text || *end != '\0' ||
	    !(value >= 0.001 && value <= MAX_SECONDS))
		return false;
	*ns = (uint64_t)(value * 1e9);
	return true;
}

static bool format(enum bench_format *format, const char *text, bool csv)
{
	if (strcmp(text, "table") == 0)
		*format = FORMAT_TABLE;
	else if (strcmp(text, "json") == 0)
		*format = FORMAT_JSON;
	else if (csv && strcmp(text, "csv") == 0)
		*format = FORMAT_CSV;
	else
		return false;
	return true;
}

static bool trials(unsigned *trials, const char *text)
{
	uint64_t value;

	if (!number(&value, MAX_TRIALS, text))
		return false;
	*trials = (unsigned)value;
	return true;
}

/* Hands each word of a comma list to `add`; reports the first wrong one. */
static int list(void *options, char *text, const char *wrong,
    bool (*add)(void *options, const char *word))
{
	char *word;

	while ((word = strsep(&text, ",")) != NULL)
		if (!add(options, word))
			return options_wrong(wrong, word);
	return 0;
}

/* An option that getopt_long() did not take. */
static int refused(int argc, char **argv, int c)
{
	const char *what = "not an option, or not one with a value";

	if (c == ':')
		what = "this option needs a value";
	return options_wrong(what, optind <= argc ? argv[optind - 1] : "");
}

struct command {
	const struct option *longs;
	void (*help)(void);
	/* Takes an option; returns 0, or BENCH_USAGE after a message. */
	int (*take)(void *options, int c, char *value);
};

static bool parse(const struct command *command, void *options, int argc,
    char **argv, int *status)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", command->longs, NULL)) != -1) {
		if (c == OPTION_HELP) {
			command->help();
			*status = BENCH_OK;
			return false;
		}
		if (c == '?' || c == ':')
			*status = refused(argc, argv, c);
		else
			*status = command->take(options, c, optarg);
		if (*status != 0)
			return false;
	}
	if (optind < argc) {
		*status = options_wrong("not an option", argv[optind]);
		return false;
	}
	return true;
}

/* ---- pingpong ---------------------------------------------------------- */

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
	enum place place = place_find(word);
	size_t i;

	if (place == PLACES)
		return false;
	for (i = 0; i < o->place_count; i++)
		if (o->places[i] == place)
			return true;
	o->places[o->place_count++] = place;
	return true;
}

static const struct option pingpong_longs[] = {
	{ "via", required_argument, NULL, OPTION_VIA },
	{ "place", required_argument, NULL, OPTION_PLACE },
	{ "rounds", required_argument, NULL, OPTION_ROUNDS },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "trials", required_argument, NULL, OPTION_TRIALS },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help_vias(void)
{
	const struct via *via;
	int group = -1;
	size_t i;

	for (i = 0; (via = via_at(i)) != NULL; i++) {
		if ((int)via->group != group)
			printf("%s  %-7s", group < 0 ? "" : "\n",
			    via_group_name(via->group));
		group = (int)via->group;
		printf(" %s", via->name);
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
	    "  --place=LIST    cross (two CPUs), same (one), free (not "
	    "pinned); default all\n"
	    "  --rounds=N      round trips of a trial, as far as the time "
	    "allows\n"
	    "  --time=SECONDS  of a trial; default 0.1, or 2 with --rounds\n"
	    "  --trials=K      of each, by turns; default 5\n"
	    "  --format=WORD   table (default), csv, json\n"
	    "  --help\n\n"
	    "Ways, by group:\n");
	help_vias();
}

static int pingpong_option(void *options, int c, char *value)
{
	struct pingpong_options *o = options;
	uint64_t n;

	switch (c) {
	case OPTION_VIA:
		return list(o, value, "no such via", add_vias);
	case OPTION_PLACE:
		return list(o, value, "no such place", add_place);
	case OPTION_ROUNDS:
		if (!number(&n, MAX_ROUNDS, value))
			return options_wrong("not a number of rounds", value);
		o->rounds = n;
		return 0;
	case OPTION_TIME:
		if (!seconds(&n, value))
			return options_wrong("not a time in seconds", value);
		o->trial_ns = n;
		return 0;
	case OPTION_TRIALS:
		if (!trials(&o->trials, value))
			return options_wrong("not a number of trials", value);
		return 0;
	default:
		if (!format(&o->format, value, true))
			return options_wrong("not a format", value);
		return 0;
	}
}

static void pingpong_defaults(struct pingpong_options *o)
{
	int place;

	if (o->via_count == 0)
		add_vias(o, "all");
	for (place = 0; o->place_count == 0 && place < PLACES; place++)
		o->places[place] = (enum place)place;
	if (o->place_count == 0)
		o->place_count = PLACES;
	if (o->trial_ns != 0)
		return;
	o->trial_ns = DEFAULT_TRIAL_NS;
	if (o->rounds != UINT64_MAX)
		o->trial_ns = ROUNDS_TRIAL_NS;
}

bool options_pingpong(struct pingpong_options *o, int argc, char **argv,
    int *status)
{
	static const struct command command = {
		.longs = pingpong_longs,
		.help = help_pingpong,
		.take = pingpong_option,
	};

	memset(o, 0, sizeof(*o));
	o->rounds = UINT64_MAX;
	o->trials = 5;
	if (!parse(&command, o, argc, argv, status))
		return false;
	pingpong_defaults(o);
	return true;
}

/* ---- costs ------------------------------------------------------------- */

static const struct option costs_longs[] = {
	{ "trials", required_argument, NULL, OPTION_TRIALS },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help_costs(void)
{
	printf("usage: " BENCH_TOOL " costs [option ...]\n"
	       "What operations cost that nobody contends.\n\n"
	       "  --trials=K     of each, by turns; default 9\n"
	       "  --format=WORD  table (default), json\n"
	       "  --help\n");
}

static int costs_option(void *options, int c, char *value)
{
	struct costs_options *o = options;

	if (c == OPTION_TRIALS) {
		if (!trials(&o->trials, value))
			return options_wrong("not a number of trials", value);
	} else if (!format(&o->format, value, false)) {
		return options_wrong("not a format", value);
	}
	return 0;
}

bool options_costs(struct costs_options *o, int argc, char **argv, int *status)
{
	static const struct command command = {
		.longs = costs_longs,
		.help = help_costs,
		.take = costs_option,
	};

	memset(o, 0, sizeof(*o));
	o->trials = 9;
	return parse(&command, o, argc, argv, status);
}

/* ---- fairness ---------------------------------------------------------- */

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
	       "  --format=WORD   table (default), json\n"
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
		return list(o, value, "no such via", add_lock);
	case OPTION_TIME:
		if (!seconds(&o->ns, value))
			return options_wrong("not a time in seconds", value);
		return 0;
	default:
		if (!format(&o->format, value, false))
			return options_wrong("not a format", value);
		return 0;
	}
}

bool options_fairness(struct fairness_options *o, int argc, char **argv,
    int *status)
{
	static const struct command command = {
		.longs = fairness_longs,
		.help = help_fairness,
		.take = fairness_option,
	};
	int via;

	memset(o, 0, sizeof(*o));
	o->ns = DEFAULT_FAIRNESS_NS;
	if (!parse(&command, o, argc, argv, status))
		return false;
	if (o->via_count > 0)
		return true;
	for (via = 0; via < FAIRNESS_VIAS; via++)
		o->vias[o->via_count++] = (enum fairness_via)via;
	return true;
}
