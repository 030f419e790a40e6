/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench ladder: all costs in one list, the least first.  Each trial
 * of a rung is made by a process of its own, or by two; trials of all rungs go
 * by turns.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "ladder.h"
#include "options.h"
#include "report.h"

#define DEFAULT_TRIAL_NS 100000000u
#define GRACE_NS 10000000000u
#define WARM_UP 10u /* that part of a trial */

/* What a process of a trial has to do. */
struct role {
	const struct rung *rung;
	struct stage *stage;
	int part; /* 0 measures, 1 is its partner */
	int cpu[2];
	uint64_t ns;
};

static bool failed(const char *name, const char *what)
{
	fprintf(stderr, BENCH_TOOL ": %s: %s\n", name, what);
	return false;
}

/* ---- the processes of a trial ------------------------------------------ */

static int take_samples(const struct rung *rung, struct stage *stage,
    uint64_t ns)
{
	uint64_t begin = bench_now(), start, end;
	unsigned left = rung->samples;
	int e;

	do {
		start = bench_now();
		e = rung->sample(stage, rung->n);
		end = bench_now();
		if (e != 0)
			return e;
		if (!rung->records)
			histogram_record(&stage->samples, end - start);
	} while (end - begin < ns && (rung->samples == 0 || --left > 0));
	return 0;
}

/* Where samples are few there is no warm-up. */
static int measure(const struct rung *rung, struct stage *stage, uint64_t ns)
{
	int e = 0;

	if (rung->samples == 0)
		e = take_samples(rung, stage, ns / WARM_UP);
	memset(&stage->samples, 0, sizeof(stage->samples));
	return e != 0 ? e : take_samples(rung, stage, ns);
}

/* In the child. */
static int play(void *arg)
{
	const struct role *role = arg;
	int e = place_pin(role->cpu[role->part]);

	if (e == 0 && role->part == 0)
		e = measure(role->rung, role->stage, role->ns);
	else if (e == 0)
		role->rung->partner(role->stage);
	role->stage->error = e;
	return e == 0 ? BENCH_OK : BENCH_FAILED;
}

/* ---- a trial ----------------------------------------------------------- */

/* Why there is no such place here; NULL: there is. */
static const char *find_cpus(const struct rung *rung, int cpu[2])
{
	const char *why;

	if (rung->place == RUNG_CROSS)
		return place_cpus(PLACE_CROSS, cpu);
	why = place_cpus(PLACE_SAME, cpu);
	return rung->place == RUNG_ALONE ? NULL : why;
}

/* What a process that ended means for the rung.  False if it failed. */
static bool look(struct result *r, const struct child *child,
    const struct stage *stage, bool partner)
{
	char text[CHILDREN_TEXT_MAX];
	uint64_t ns;

	children_text(text, child);
	if (WIFSIGNALED(child->status) && r->rung->may_die) {
		snprintf(r->skipped, sizeof(r->skipped), "%s", text);
		return true;
	}
	if (WIFSIGNALED(child->status))
		return failed(r->rung->name, text);
	if (stage->error != 0)
		return failed(r->rung->name, strerror(stage->error));
	if (partner || WEXITSTATUS(child->status) != BENCH_OK)
		return failed(r->rung->name, text);
	if (stage->samples.count > 0) {
		ns = histogram_quantile(&stage->samples, 0.5);
		r->ns[r->trials++] = (double)ns / r->rung->counts;
	}
	return true;
}

static bool run_on(struct result *r, struct stage *stage, uint64_t ns)
{
	const struct rung *rung = r->rung;
	struct role role = { .rung = rung, .stage = stage, .ns = ns };
	struct child children[2] = { { .pid = 0 }, { .pid = 0 } };
	uint64_t most = ns + ns / WARM_UP + GRACE_NS;
	int e, who;
	bool ok = true;

	find_cpus(rung, role.cpu);
	role.part = rung->partner ? 1 : 0;
	for (; role.part >= 0 && ok; role.part--) {
		e = children_start(&children[role.part], most, play, &role);
		ok = e == 0 || failed(rung->name, strerror(e));
	}
	if (ok) {
		who = children_wait(children, 2, bench_now() + most);
		if (who == CHILDREN_NONE)
			ok = failed(rung->name, "takes too long");
		else
			ok = look(r, &children[who], stage, who == 1);
	}
	children_end(children, 2);
	return ok;
}

static bool run(struct result *r, uint64_t ns)
{
	struct stage *stage;
	bool ok;

	if (r->skipped[0])
		return true;
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED)
		return failed(r->rung->name, strerror(errno));
	ok = run_on(r, stage, ns);
	munmap(stage, sizeof(*stage));
	return ok;
}

/* ---- all of it --------------------------------------------------------- */

static void begin(struct result *r, const struct rung *rung, double *ns)
{
	const char *why = rung->skipped;
	int cpu[2];

	if (!why)
		why = find_cpus(rung, cpu);
	r->rung = rung;
	r->ns = ns;
	if (why)
		snprintf(r->skipped, sizeof(r->skipped), "%s", why);
}

static void finish(struct result *r)
{
	if (r->trials == 0) {
		if (!r->skipped[0])
			snprintf(r->skipped, sizeof(r->skipped),
			    "did not happen in the time");
		return;
	}
	r->p50 = bench_median(r->ns, r->trials); /* sorts them */
	r->min = r->ns[0];
	r->max = r->ns[r->trials - 1];
}

static bool check(struct ladder *ladder)
{
	int e = ladder_check(ladder->objects);
	size_t i;

	if (e != 0)
		return failed("objects", strerror(e));
	ladder->whole = true;
	for (i = 0; i < LADDER_OBJECTS; i++)
		ladder->whole = ladder->whole && ladder->objects[i].ok;
	return true;
}

static int climb(struct ladder *ladder, double *ns,
    const struct timed_options *o)
{
	const struct rung *rung;
	unsigned trial;
	size_t i, k;

	for (i = 0; i < ladder->count; i++) {
		k = i - ladder_alone_count;
		rung = i < ladder_alone_count ? &ladder_alone[i] :
		                                &ladder_pairs[k];
		begin(&ladder->results[i], rung, ns + i * o->trials);
	}
	if (!check(ladder))
		return BENCH_FAILED;
	children_prepare();
	for (trial = 0; trial < o->trials; trial++)
		for (i = 0; i < ladder->count; i++)
			if (!run(&ladder->results[i], o->ns))
				return BENCH_FAILED;
	children_finish();
	for (i = 0; i < ladder->count; i++)
		finish(&ladder->results[i]);
	ladder_print(o->format, ladder);
	if (report_end() != BENCH_OK || !ladder->whole)
		return BENCH_FAILED;
	return BENCH_OK;
}

/* ---- options ----------------------------------------------------------- */

static void help(void)
{
	printf("usage: " BENCH_TOOL " ladder [option ...]\n"
	       "All costs in one list, from an atomic operation to a timeslice,"
	       "\nbeside what others have published.\n\n"
	       "  --time=SECONDS  of a trial; default 0.1\n"
	       "  --trials=K      of each, by turns; default 5\n"
	       "  --format=WORD   table (default), csv, json\n"
	       "  --help\n");
}

int ladder_main(int argc, char **argv)
{
	struct timed_options o = { .ns = DEFAULT_TRIAL_NS, .trials = 5 };
	struct ladder ladder = { .count = 0 };
	double *ns;
	int status;

	if (!options_timed(&o, help, argc, argv, &status))
		return status;
	ladder.count = ladder_alone_count + ladder_pairs_count;
	ladder.results = calloc(ladder.count, sizeof(*ladder.results));
	ns = calloc(ladder.count * o.trials, sizeof(*ns));
	status = BENCH_FAILED;
	if (ladder.results && ns)
		status = climb(&ladder, ns, &o);
	else
		failed("ladder", strerror(ENOMEM));
	free(ns);
	free(ladder.results);
	return status;
}
