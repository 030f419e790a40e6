/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench lab: what the library's estimator makes of traces of waits.
 *
 * Who waits for T and would spin for at most the threshold S pays T if that is
 * not above S, else S and the price of a park.  The best fixed threshold is
 * found by trying all that could be it: none, and each duration of the trace.
 * The optimum knows T beforehand and pays the less of T and the price.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/estimator.h"

#include "lab.h"
#include "options.h"
#include "plot.h"
#include "report.h"

#define DEFAULT_WAITS 5000u
#define MOST_MADE_UP 1000000u
#define LONGEST_BLOCK 1000000000u
#define CPUS 2u
#define BLOCKS 8
#define FILES 16

#define GOAL_STATIONARY 1.1
#define GOAL_CHANGING 1.3
#define GOAL_ADVERSARY 1.1
#define HEAD_START 3u /* prices, before an adversary's ratio counts */

enum {
	OPTION_BLOCK = OPTION_OWN,
	OPTION_WAITS,
	OPTION_SEED,
	OPTION_TRACE,
	OPTION_CHECK
};

struct lab_options {
	struct handoff__machine machines[BLOCKS]; /* each with another price */
	size_t machine_count;
	uint64_t waits, seed;
	const char *files[FILES];
	size_t file_count;
	bool check;
	enum bench_format format;
	const char *plot; /* the directory for pictures, or NULL */
};

/* ---- one trace --------------------------------------------------------- */

/* The waits of a trace that have been made, and what they cost. */
struct run {
	const struct lab_trace *trace;
	struct handoff__machine machine;
	struct handoff__history history;
	uint32_t price;
	uint64_t now;
	uint64_t *ns; /* of each wait */
	size_t done;
	uint64_t cost, fixed; /* of all of them */
	double running;
};

static uint64_t cost(uint64_t ns, uint64_t threshold, uint32_t price)
{
	return ns <= threshold ? ns : threshold + price;
}

double lab_ratio(uint64_t a, uint64_t b)
{
	if (b == 0)
		return a == 0 ? 1 : INFINITY;
	return (double)a / (double)b;
}

/* One wait by the estimator; returns what it cost. */
static uint64_t wait_once(struct run *r, struct lab_source *source)
{
	struct handoff__budget budget = handoff__plan(&r->history, &r->machine,
	    HANDOFF__ELSEWHERE, 0, r->now);
	uint64_t ns = lab_source_next(source, budget.spin);
	uint64_t paid = cost(ns, budget.spin, r->price);

	r->now += ns;
	handoff__learn(&r->history, &r->machine, ns,
	    ns <= budget.spin ? UINT32_MAX : budget.spin);
	r->ns[r->done++] = ns;
	r->cost += paid;
	r->fixed += cost(ns, r->price, r->price);
	if (r->cost > HEAD_START * (uint64_t)r->price)
		r->running = fmax(r->running,
		    lab_ratio(r->cost - HEAD_START * (uint64_t)r->price,
		        r->fixed));
	return paid;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sets what the best fixed threshold, the price as threshold and the optimum
 * cost for `count` durations, which it sorts. */
static void compare_with(struct lab_row *row, uint64_t *ns, size_t count)
{
	uint64_t spun = 0, total;
	size_t i;

	qsort(ns, count, sizeof(*ns), compare);
	row->best = count * (uint64_t)row->price;
	row->best_at = 0;
	for (i = 0; i < count; i++) {
		spun += ns[i];
		total = spun + (count - i - 1) * (ns[i] + row->price);
		if (total < row->best) {
			row->best = total;
			row->best_at = ns[i];
		}
		row->fixed += cost(ns[i], row->price, row->price);
		row->optimum += ns[i] < row->price ? ns[i] : row->price;
	}
	if (row->best_at == ns[count - 1])
		row->best_at = LAB_NO_LIMIT;
}

/* Sets what is expected, and whether it was missed. */
static void judge(struct lab_row *row)
{
	double ratio = lab_ratio(row->cost, row->best);

	switch (row->trace->kind) {
	case LAB_STATIONARY:
		row->goal = GOAL_STATIONARY;
		break;
	case LAB_ADVERSARY:
		row->goal = GOAL_ADVERSARY;
		ratio = row->running;
		break;
	case LAB_CHANGING:
		row->goal = GOAL_CHANGING;
		break;
	case LAB_RECORDED:
		/* Of few waits most go into learning. */
		row->goal = row->waits > LAB_SETTLE ? GOAL_CHANGING : 0;
		break;
	}
	row->missed = row->goal > 0 && ratio > row->goal;
}

static size_t waits_of(const struct lab_trace *trace,
    const struct lab_options *o)
{
	return trace->recorded ? trace->count : (size_t)o->waits;
}

/* `ns` has room for all waits of the trace. */
static void run_trace(struct lab_row *row, const struct lab_trace *trace,
    const struct handoff__machine *machine, const struct lab_options *o,
    uint64_t *ns)
{
	struct run r = { .trace = trace, .machine = *machine, .ns = ns };
	size_t waits = waits_of(trace, o), skip = 0;
	struct lab_source source;
	uint64_t paid;

	memset(row, 0, sizeof(*row));
	r.price = handoff__price(machine);
	if (trace->kind == LAB_STATIONARY)
		skip = LAB_SETTLE;
	lab_source_begin(&source, trace, r.price, o->seed);
	while (r.done < waits) {
		paid = wait_once(&r, &source);
		if (r.done > skip)
			row->cost += paid;
	}
	row->trace = trace;
	row->price = r.price;
	row->waits = waits - skip;
	row->running = r.running;
	compare_with(row, ns + skip, waits - skip);
	judge(row);
}

/* ---- all traces -------------------------------------------------------- */

/* What a run of the lab holds. */
struct lab {
	struct lab_trace files[FILES];
	const struct lab_trace *traces;
	size_t trace_count;
	uint64_t *ns;
	struct lab_row *rows;
	size_t row_count;
};

static void run_all(struct lab *lab, const struct lab_options *o)
{
	size_t i, k;

	for (i = 0; i < o->machine_count; i++)
		for (k = 0; k < lab->trace_count; k++)
			run_trace(&lab->rows[lab->row_count++], &lab->traces[k],
			    &o->machines[i], o, lab->ns);
}

static int finish(const struct lab *lab, const struct lab_options *o)
{
	size_t i;

	lab_print(o->format, lab->rows, lab->row_count);
	if (report_end() != BENCH_OK)
		return BENCH_FAILED;
	if (o->plot && !lab_plot(o->plot, lab->rows, lab->row_count))
		return BENCH_FAILED;
	for (i = 0; i < lab->row_count; i++)
		if (o->check && lab->rows[i].missed)
			return BENCH_FAILED;
	return BENCH_OK;
}

static int with_traces(struct lab *lab, const struct lab_options *o)
{
	size_t most = 0, waits, i;

	for (i = 0; i < lab->trace_count; i++) {
		waits = waits_of(&lab->traces[i], o);
		most = waits > most ? waits : most;
	}
	lab->ns = malloc(most * sizeof(*lab->ns));
	lab->rows = calloc(lab->trace_count * o->machine_count,
	    sizeof(*lab->rows));
	if (!lab->ns || !lab->rows) {
		fprintf(stderr, BENCH_TOOL ": %s\n", strerror(ENOMEM));
		return BENCH_FAILED;
	}
	run_all(lab, o);
	return finish(lab, o);
}

static int load_files(struct lab *lab, const struct lab_options *o)
{
	size_t i;
	int status;

	lab->traces = lab_traces;
	lab->trace_count = lab_trace_count;
	if (o->file_count == 0)
		return 0;
	for (i = 0; i < o->file_count; i++) {
		status = lab_load(&lab->files[i], o->files[i]);
		if (status != 0)
			return status;
	}
	lab->traces = lab->files;
	lab->trace_count = o->file_count;
	return 0;
}

/* ---- command line ------------------------------------------------------ */

/* The machine on which a park has the price, or one as near as there is. */
static struct handoff__machine machine_of(uint64_t price)
{
	struct handoff__machine m = { .cpus = CPUS };
	uint32_t low = 1, high = LONGEST_BLOCK;

	while (low < high) {
		m.wake_ns = low + (high - low) / 2;
		if (handoff__price(&m) < price)
			low = m.wake_ns + 1;
		else
			high = m.wake_ns;
	}
	m.wake_ns = low;
	return m;
}

static bool add_block(void *options, const char *word)
{
	struct lab_options *o = options;
	struct handoff__machine m;
	uint64_t price;
	size_t i;

	if (!options_number(&price, LONGEST_BLOCK, word))
		return false;
	m = machine_of(price);
	for (i = 0; i < o->machine_count; i++)
		if (handoff__price(&o->machines[i]) == handoff__price(&m))
			return true;
	if (o->machine_count == BLOCKS)
		return false;
	o->machines[o->machine_count++] = m;
	return true;
}

static const struct option longs[] = {
	{ "block", required_argument, NULL, OPTION_BLOCK },
	{ "waits", required_argument, NULL, OPTION_WAITS },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "trace", required_argument, NULL, OPTION_TRACE },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "plot", required_argument, NULL, OPTION_PLOT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help(void)
{
	size_t i, column = 80;

	printf(
	    "usage: " BENCH_TOOL " lab [option ...]\n"
	    "How well the library guesses how long to spin, beside every "
	    "fixed threshold.\n\n"
	    "  --block=LIST    the price of a park, ns; default 10000,70000\n"
	    "  --waits=N       of each trace, more than %u; default %u\n"
	    "  --seed=N        of the traces that are made up; default 1\n"
	    "  --trace=FILE    durations in ns, one in a line, in place of "
	    "those made up;\n"
	    "                  may be given again\n"
	    "  --check         fail if a goal is missed\n"
	    "  --format=WORD   table (default), csv, json\n"
	    "  --plot=DIR      draw a picture (SVG) into it, through "
	    "gnuplot\n"
	    "  --help\n\n"
	    "Traces that are made up; numbers in prices of a park, or in "
	    "percent or waits:",
	    LAB_SETTLE, DEFAULT_WAITS);
	for (i = 0; i < lab_trace_count; i++) {
		column += 1 + strlen(lab_traces[i].name);
		if (column > 79) {
			printf("\n ");
			column = 2 + strlen(lab_traces[i].name);
		}
		printf(" %s", lab_traces[i].name);
	}
	printf("\n");
}

static int take_file(struct lab_options *o, const char *path)
{
	if (path[0] == '\0' || o->file_count == FILES)
		return options_wrong("not a file, or one too many", path);
	o->files[o->file_count++] = path;
	return 0;
}

static int take(void *options, int option, char *value)
{
	struct lab_options *o = options;
	const struct options_common common = {
		.plot = &o->plot,
		.format = &o->format,
	};

	switch (option) {
	case OPTION_BLOCK:
		return options_list(o, value, "not a price in ns", add_block);
	case OPTION_WAITS:
		if (!options_number(&o->waits, MOST_MADE_UP, value) ||
		    o->waits <= LAB_SETTLE)
			return options_wrong("not a number of waits", value);
		return 0;
	case OPTION_SEED:
		if (!options_number(&o->seed, UINT64_MAX, value))
			return options_wrong("not a seed", value);
		return 0;
	case OPTION_TRACE:
		return take_file(o, value);
	case OPTION_CHECK:
		o->check = true;
		return 0;
	default:
		return options_take(&common, option, value);
	}
}

int lab_main(int argc, char **argv)
{
	static const struct options_command command = {
		.longs = longs,
		.help = help,
		.take = take,
	};
	struct lab_options o = { .waits = DEFAULT_WAITS, .seed = 1 };
	struct lab lab = { .row_count = 0 };
	int status;
	size_t i;

	if (!options_parse(&command, &o, argc, argv, &status))
		return status;
	if (o.machine_count == 0) {
		add_block(&o, "10000");
		add_block(&o, "70000");
	}
	if (o.plot && !plot_prepare(o.plot))
		return BENCH_FAILED;
	status = load_files(&lab, &o);
	if (status == 0)
		status = with_traces(&lab, &o);
	for (i = 0; i < FILES; i++)
		free(lab.files[i].recorded);
	free(lab.rows);
	free(lab.ns);
	return status;
}
