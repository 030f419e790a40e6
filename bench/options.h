/* SPDX-License-Identifier: ISC */
/*
 * The command lines of the program's parts.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "fairness.h"
#include "place.h"
#include "via.h"

#define OPTIONS_VIAS 128
#define OPTIONS_TIMES 16
#define OPTIONS_MAX_WORK_NS 1000000000u
#define OPTIONS_MAX_GAP_NS 10000000000u

struct options_times { /* none of them twice */
	uint64_t ns[OPTIONS_TIMES];
	size_t count;
};

struct pingpong_options {
	const struct via *vias[OPTIONS_VIAS]; /* none of them twice */
	size_t via_count;
	enum place places[PLACES];
	size_t place_count;
	struct options_times works, gaps;
	uint64_t rounds;   /* of a stretch; UINT64_MAX: as time allows */
	uint64_t trial_ns; /* both stretches together; 0: the default */
	unsigned trials;
	enum bench_format format;
	const char *plot;   /* the directory for pictures, or NULL */
	const char *record; /* the file for single round trips, or NULL */
};

struct fairness_options {
	enum fairness_via vias[FAIRNESS_VIAS]; /* none of them twice */
	size_t via_count;
	uint64_t ns; /* of each */
	enum bench_format format;
};

struct timed_options {
	uint64_t ns; /* of each */
	unsigned trials;
	enum bench_format format;
};

/* ---- for commands that have their options in a file of their own ------- */

/* What a command's table of options has at the most in common with others;
 * its own start with OPTION_OWN. */
enum {
	OPTION_VIA = 1,
	OPTION_PLACE,
	OPTION_ROUNDS,
	OPTION_TIME,
	OPTION_TRIALS,
	OPTION_FORMAT,
	OPTION_PLOT,
	OPTION_HELP,
	OPTION_OWN
};

struct option; /* of getopt_long() */

struct options_command {
	const struct option *longs; /* --help must be OPTION_HELP */
	void (*help)(void);         /* prints it */
	/* Takes an option; returns 0, or BENCH_USAGE after a message. */
	int (*take)(void *options, int option, char *value);
};

/* Reads a command line.  True to go on; else the program is to end with
 * *status. */
bool options_parse(const struct options_command *command, void *options,
    int argc, char **argv, int *status);

/* These read a value; false if it is none. */
bool options_number(uint64_t *number, uint64_t max, const char *text);
bool options_seconds(uint64_t *ns, const char *text);
bool options_trials(unsigned *trials, const char *text);
bool options_format(enum bench_format *format, const char *text);

/* Where the values go that several commands take in the same way; NULL for what
 * a command does not. */
struct options_common {
	uint64_t *ns;
	unsigned *trials;
	const char **plot;
	enum bench_format *format;
};

/* Takes one of them: what a command's own function does not know.  Returns 0, or
 * BENCH_USAGE after a message. */
int options_take(const struct options_common *into, int option,
    const char *value);

/* These add what a word of a list means; false if it means nothing. */
bool options_add_place(enum place places[PLACES], size_t *count,
    const char *word);
bool options_add_time(struct options_times *times, const char *word,
    uint64_t max);

/* Hands each word of a comma list to `add`.  Returns 0, or BENCH_USAGE after
 * it has said that the first word refused is `wrong`. */
int options_list(void *options, char *text, const char *wrong,
    bool (*add)(void *options, const char *word));

/* Says on stderr what is wrong and returns BENCH_USAGE. */
int options_wrong(const char *what, const char *value);

/* ---- command lines ----------------------------------------------------- */

/* These return true to go on; else the program is to end with *status. */
bool options_pingpong(struct pingpong_options *o, int argc, char **argv,
    int *status);
uint64_t options_trial_ns(const struct pingpong_options *o, uint64_t gap_ns);
bool options_fairness(struct fairness_options *o, int argc, char **argv,
    int *status);
/* Of commands that take no more than a time, trials and a format. */
bool options_timed(struct timed_options *o, void (*help)(void), int argc,
    char **argv, int *status);

#endif
