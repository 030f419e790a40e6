/* SPDX-License-Identifier: ISC */
/*
 * Durations of waits for the lab: made up, or read from a file.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define DRIFT_WAITS 5000u /* there and back */

/* ---- numbers ----------------------------------------------------------- */

/* splitmix64 */
static uint64_t random_bits(struct lab_source *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Above 0, up to 1. */
static double random_part(struct lab_source *s)
{
	return ((double)(random_bits(s) >> 11) + 1) * 0x1p-53;
}

static uint64_t in_ns(const struct lab_source *s, double prices)
{
	double ns = prices * s->price;

	return ns < LAB_LONGEST ? (uint64_t)(ns + 0.5) : LAB_LONGEST;
}

/* ---- made up ----------------------------------------------------------- */

/* a: the mean. */
static uint64_t exponential(struct lab_source *s, uint32_t budget)
{
	(void)budget;
	return in_ns(s, -log(random_part(s)) * s->trace->a);
}

/* Up to a. */
static uint64_t uniform(struct lab_source *s, uint32_t budget)
{
	(void)budget;
	return in_ns(s, random_part(s) * s->trace->a);
}

static uint64_t constant(struct lab_source *s, uint32_t budget)
{
	(void)budget;
	return in_ns(s, s->trace->a);
}

/* a, or with the probability c b. */
static uint64_t bimodal(struct lab_source *s, uint32_t budget)
{
	const struct lab_trace *t = s->trace;

	(void)budget;
	return in_ns(s, random_part(s) <= t->c ? t->b : t->a);
}

/* a: the least; b: the exponent. */
static uint64_t pareto(struct lab_source *s, uint32_t budget)
{
	const struct lab_trace *t = s->trace;

	(void)budget;
	return in_ns(s, t->a * pow(random_part(s), -1 / t->b));
}

/* From a to b, by the same factor each time, and back; 20 % off. */
static uint64_t drift(struct lab_source *s, uint32_t budget)
{
	const struct lab_trace *t = s->trace;
	double way = (double)(s->done % DRIFT_WAITS) / (DRIFT_WAITS / 2);

	(void)budget;
	if (way > 1)
		way = 2 - way;
	return in_ns(s,
	    t->a * pow(t->b / t->a, way) * (0.8 + 0.4 * random_part(s)));
}

/* a for c waits, then b for as many. */
static uint64_t regimes(struct lab_source *s, uint32_t budget)
{
	const struct lab_trace *t = s->trace;

	(void)budget;
	return in_ns(s, s->done / (size_t)t->c % 2 == 0 ? t->a : t->b);
}

/* Just too long for the one who spins; at most a. */
static uint64_t adversary(struct lab_source *s, uint32_t budget)
{
	uint64_t most = in_ns(s, s->trace->a);

	return budget + 1ull < most ? budget + 1ull : most;
}

/* The same, but b for one who would spin for the price of a park. */
static uint64_t bait(struct lab_source *s, uint32_t budget)
{
	if (budget >= s->price)
		return in_ns(s, s->trace->b);
	return adversary(s, budget);
}

#define STATIONARY(name, next, ...)                              \
	{                                                        \
		name, LAB_STATIONARY, next, __VA_ARGS__, NULL, 0 \
	}
#define CHANGING(name, next, ...)                              \
	{                                                      \
		name, LAB_CHANGING, next, __VA_ARGS__, NULL, 0 \
	}
#define ADVERSARY(name, next, ...)                              \
	{                                                       \
		name, LAB_ADVERSARY, next, __VA_ARGS__, NULL, 0 \
	}

const struct lab_trace lab_traces[] = {
	STATIONARY("exponential-0.1", exponential, 0.1, 0, 0),
	STATIONARY("exponential-0.5", exponential, 0.5, 0, 0),
	STATIONARY("exponential-1", exponential, 1, 0, 0),
	STATIONARY("exponential-2", exponential, 2, 0, 0),
	STATIONARY("exponential-10", exponential, 10, 0, 0),
	STATIONARY("uniform-0.5", uniform, 0.5, 0, 0),
	STATIONARY("uniform-2", uniform, 2, 0, 0),
	STATIONARY("uniform-10", uniform, 10, 0, 0),
	STATIONARY("constant-0.05", constant, 0.05, 0, 0),
	STATIONARY("constant-0.5", constant, 0.5, 0, 0),
	STATIONARY("constant-0.9", constant, 0.9, 0, 0),
	STATIONARY("constant-1.1", constant, 1.1, 0, 0),
	STATIONARY("constant-1.5", constant, 1.5, 0, 0),
	STATIONARY("constant-5", constant, 5, 0, 0),
	STATIONARY("bimodal-1", bimodal, 0.02, 10, 0.01),
	STATIONARY("bimodal-10", bimodal, 0.02, 10, 0.1),
	STATIONARY("bimodal-50", bimodal, 0.02, 10, 0.5),
	STATIONARY("bimodal-90", bimodal, 0.02, 10, 0.9),
	STATIONARY("pareto-1.1", pareto, 0.1, 1.1, 0),
	STATIONARY("pareto-1.5", pareto, 0.1, 1.5, 0),
	STATIONARY("pareto-2.5", pareto, 0.1, 2.5, 0),
	CHANGING("drift", drift, 0.05, 5, 0),
	CHANGING("regimes-500", regimes, 0.02, 10, 500),
	CHANGING("regimes-100", regimes, 0.02, 10, 100),
	CHANGING("regimes-20", regimes, 0.02, 10, 20),
	ADVERSARY("adversary", adversary, 20, 0, 0),
	ADVERSARY("adversary-bait", bait, 20, 0.01, 0),
};
const size_t lab_trace_count = sizeof(lab_traces) / sizeof(lab_traces[0]);

/* ---- recorded ---------------------------------------------------------- */

static uint64_t recorded(struct lab_source *s, uint32_t budget)
{
	(void)budget;
	return s->trace->recorded[s->done];
}

/* False without memory, or if there are too many. */
static bool append(struct lab_trace *t, uint64_t ns)
{
	uint64_t *more;

	if (t->count == LAB_WAITS)
		return false;
	/* Room for a power of two, doubled when that is full. */
	if ((t->count & (t->count - 1)) == 0) {
		more = realloc(t->recorded,
		    (t->count > 0 ? 2 * t->count : 1) * sizeof(*more));
		if (!more)
			return false;
		t->recorded = more;
	}
	t->recorded[t->count++] = ns;
	return true;
}

/* Takes a line of `length` bytes; false if it is neither a duration nor empty
 * but for a comment. */
static bool take(struct lab_trace *t, const char *line, size_t length,
    bool *full)
{
	const char *blank = " \t\r\n", *from = line + strspn(line, blank);
	unsigned long long ns;
	char *end;

	if (strlen(line) != length)
		return false;
	if (*from == '\0' || *from == '#')
		return true;
	if (*from < '0' || *from > '9')
		return false;
	errno = 0;
	ns = strtoull(from, &end, 10);
	if (errno != 0 || ns > LAB_LONGEST)
		return false;
	end += strspn(end, blank);
	if (*end != '\0' && *end != '#')
		return false;
	*full = !append(t, ns);
	return true;
}

static int wrong(const char *path, const char *what)
{
	fprintf(stderr, BENCH_TOOL ": %s: %s\n", path, what);
	return BENCH_USAGE;
}

static int read_all(struct lab_trace *trace, FILE *file, const char *path)
{
	char *line = NULL, what[96];
	size_t size = 0, number = 0;
	bool full = false, good = true;
	ssize_t length;

	while (good && !full && (length = getline(&line, &size, file)) >= 0) {
		number++;
		good = take(trace, line, (size_t)length, &full);
	}
	free(line);
	snprintf(what, sizeof(what),
	    "line %zu: not a duration in ns (from 0 to %llu)", number,
	    (unsigned long long)LAB_LONGEST);
	if (!good)
		return wrong(path, what);
	if (full)
		return wrong(path, "too many durations");
	if (ferror(file))
		return wrong(path, strerror(errno));
	if (trace->count == 0)
		return wrong(path, "no durations");
	return 0;
}

int lab_load(struct lab_trace *trace, const char *path)
{
	const char *slash = strrchr(path, '/');
	FILE *file = fopen(path, "re");
	int status;

	if (!file)
		return wrong(path, strerror(errno));
	memset(trace, 0, sizeof(*trace));
	trace->name = slash && slash[1] ? slash + 1 : path;
	trace->kind = LAB_RECORDED;
	trace->next = recorded;
	status = read_all(trace, file, path);
	fclose(file);
	return status;
}

/* ---- any --------------------------------------------------------------- */

void lab_source_begin(struct lab_source *source, const struct lab_trace *trace,
    uint32_t price, uint64_t seed)
{
	const char *c;

	source->trace = trace;
	source->price = price;
	source->done = 0;
	source->random = seed;
	for (c = trace->name; *c; c++) {
		source->random ^= (unsigned char)*c;
		random_bits(source);
	}
}

uint64_t lab_source_next(struct lab_source *source, uint32_t budget)
{
	uint64_t ns = source->trace->next(source, budget);

	source->done++;
	return ns;
}
