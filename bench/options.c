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

#define MAX_TRIALS 1000u
#define MAX_SECONDS 3600.0

int options_wrong(const char *what, const char *value)
{
	fprintf(stderr, BENCH_TOOL ": %s: \"%s\" (see " BENCH_TOOL " --help)\n",
	    what, value);
	return BENCH_USAGE;
}

bool options_number(uint64_t *number, uint64_t max, const char *text)
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

bool options_seconds(uint64_t *ns, const char *text)
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

bool options_format(enum bench_format *format, const char *text)
{
	if (strcmp(text, "table") == 0)
		*format = FORMAT_TABLE;
	else if (strcmp(text, "json") == 0)
		*format = FORMAT_JSON;
	else if (strcmp(text, "csv") == 0)
		*format = FORMAT_CSV;
	else
		return false;
	return true;
}

bool options_trials(unsigned *trials, const char *text)
{
	uint64_t value;

	if (!options_number(&value, MAX_TRIALS, text))
		return false;
	*trials = (unsigned)value;
	return true;
}

bool options_add_place(enum place places[PLACES], size_t *count,
    const char *word)
{
	bool all = strcmp(word, "all") == 0, found = false;
	int place;
	size_t i;

	for (place = 0; place < PLACES; place++) {
		if (!all && strcmp(word, place_name((enum place)place)) != 0)
			continue;
		found = true;
		for (i = 0; i < *count; i++)
			if ((int)places[i] == place)
				break;
		if (i == *count)
			places[(*count)++] = (enum place)place;
	}
	return found;
}

bool options_add_time(struct options_times *times, const char *word,
    uint64_t max)
{
	uint64_t ns = 0;
	size_t i;

	if (strcmp(word, "0") != 0 && !options_number(&ns, max, word))
		return false;
	for (i = 0; i < times->count; i++)
		if (times->ns[i] == ns)
			return true;
	if (times->count == OPTIONS_TIMES)
		return false;
	times->ns[times->count++] = ns;
	return true;
}

int options_list(void *options, char *text, const char *wrong,
    bool (*add)(void *options, const char *word))
{
	bool last = false;
	char *word;

	while (!last) {
		word = text;
		text += strcspn(text, ",");
		last = *text == '\0';
		*text++ = '\0';
		if (!add(options, word))
			return options_wrong(wrong, word);
	}
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

bool options_parse(const struct options_command *command, void *options,
    int argc, char **argv, int *status)
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

/* ---- a time, trials and a format --------------------------------------- */

static const struct option timed_longs[] = {
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "trials", required_argument, NULL, OPTION_TRIALS },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

int options_take(const struct options_common *into, int option,
    const char *value)
{
	switch (option) {
	case OPTION_TIME:
		if (!options_seconds(into->ns, value))
			return options_wrong("not a time in seconds", value);
		return 0;
	case OPTION_TRIALS:
		if (!options_trials(into->trials, value))
			return options_wrong("not a number of trials", value);
		return 0;
	case OPTION_PLOT:
		if (value[0] == '\0')
			return options_wrong("not a directory", value);
		*into->plot = value;
		return 0;
	default:
		if (!options_format(into->format, value))
			return options_wrong("not a format", value);
		return 0;
	}
}

static int timed_option(void *options, int c, char *value)
{
	struct timed_options *o = options;
	const struct options_common common = {
		.ns = &o->ns,
		.trials = &o->trials,
		.format = &o->format,
	};

	return options_take(&common, c, value);
}

bool options_timed(struct timed_options *o, void (*help)(void), int argc,
    char **argv, int *status)
{
	const struct options_command command = {
		.longs = timed_longs,
		.help = help,
		.take = timed_option,
	};

	return options_parse(&command, o, argc, argv, status);
}
