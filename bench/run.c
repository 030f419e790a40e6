/* SPDX-License-Identifier: ISC */
/*
 * Starts the two parts of a trial, watches them and collects their reports.
 * However a trial ends, no part and no name outlives it.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "busy.h"
#include "parts.h"
#include "record.h"
#include "run.h"

#define SECOND 1000000000u
#define GRACE_NS (10u * (uint64_t)SECOND) /* beyond what a trial may take */

struct watch {
	const struct trial *trial;
	uint64_t deadline;
	char base[BENCH_NAME_MAX];
	struct child children[2];
	struct busy busy;
};

/* ---- what went wrong --------------------------------------------------- */

static void complain(const struct watch *w, const char *what,
    const char *detail)
{
	fprintf(stderr, BENCH_TOOL ": %s, %s: %s%s%s\n", w->trial->via->name,
	    place_name(w->trial->place), what, detail[0] ? ": " : "", detail);
}

static bool killed(struct watch *w, int part, unsigned ms)
{
	struct child *child = &w->children[part];
	char what[128], how[96];

	if (!parts_ended(child, ms) || !parts_killed(child, how, sizeof(how)))
		return false;
	snprintf(what, sizeof(what), "part %d was killed %s", part, how);
	complain(w, what, "");
	return true;
}

/* A part ended without a report. */
static void complain_ended(struct watch *w, int part)
{
	char what[64];

	if (killed(w, part, 1000))
		return;
	snprintf(what, sizeof(what), "part %d ended early", part);
	complain(w, what, "");
}

/* A part reported an error, perhaps since the other was killed. */
static void complain_error(struct watch *w, int part)
{
	const struct child *child = &w->children[part];
	char what[64];

	if (killed(w, 1 - part, 100))
		return;
	snprintf(what, sizeof(what), "part %d failed %s", part, child->doing);
	complain(w, what, strerror(*child->result));
}

/* ---- messages ---------------------------------------------------------- */

static void expect(struct child *child, const char *doing, int32_t *result,
    size_t bytes)
{
	child->doing = doing;
	child->result = result;
	child->into = (char *)result;
	child->missing = bytes;
}

/* Waits until a part has written or the trial's time is over. */
static bool await(struct watch *w, bool ready[2])
{
	parts_await(w->children, w->deadline, ready);
	if (parts_interrupted())
		return false;
	if (bench_now() >= w->deadline) {
		complain(w, "takes too long", "");
		return false;
	}
	return true;
}

/* Collects all that is expected; false, after a message, if something went
 * wrong, also with only one of the parts. */
static bool collect(struct watch *w)
{
	struct child *c = w->children;
	bool ready[2];
	int i;

	while (c[0].missing > 0 || c[1].missing > 0) {
		if (!await(w, ready))
			return false;
		for (i = 0; i < 2; i++) {
			if (!ready[i])
				continue;
			if (!parts_take(&c[i])) {
				complain_ended(w, i);
				return false;
			}
			if (c[i].missing == 0 && *c[i].result != 0) {
				complain_error(w, i);
				return false;
			}
		}
	}
	return true;
}

/* ---- a trial ----------------------------------------------------------- */

static bool open_both(struct watch *w, struct job *job)
{
	struct child *child;
	int32_t opened[2];
	int part;

	for (part = 0; part < 2; part++) {
		child = &w->children[part];
		job->cpu = w->trial->cpu[part];
		parts_tell(child, job, sizeof(*job));
		expect(child, "to open", &opened[part], sizeof(opened[part]));
		if (!collect(w))
			return false;
	}
	return true;
}

static bool work_both(struct watch *w, struct report reports[2])
{
	struct child *child;
	int part;

	for (part = 0; part < 2; part++) {
		child = &w->children[part];
		parts_tell(child, "", 1);
		expect(child, "in a round trip", &reports[part].error,
		    sizeof(reports[part]));
	}
	return collect(w);
}

static bool start_all(struct watch *w, unsigned alarm_s)
{
	const struct trial *trial = w->trial;
	int part, e;

	e = busy_start(&w->busy, place_loops(trial->place), trial->cpu[0],
	    alarm_s);
	for (part = 0; part < 2 && e == 0; part++)
		e = parts_start(&w->children[part], part);
	if (e != 0)
		complain(w, "cannot start a process", strerror(e));
	return e == 0;
}

/* The warm-up is a tenth of both stretches, 10 ms at the least unless they
 * are shorter. */
static uint64_t warm_up(uint64_t limit_ns)
{
	uint64_t warm = limit_ns / 5;

	if (warm < 10000000u)
		warm = 10000000u;
	return warm < limit_ns ? warm : limit_ns;
}

uint64_t run_trial_ns(const struct trial *trial)
{
	/* The round trips between stretches, and one in each at the least. */
	uint64_t round = 5 * (trial->work_ns + trial->gap_ns);
	unsigned stretches = trial->gap_ns > 0 ? 1 : 2;

	return warm_up(trial->limit_ns) + stretches * trial->limit_ns + round;
}

/* Both parts are about to end by themselves, unless something failed. */
static bool end_all(struct watch *w, bool ok)
{
	if (ok) {
		parts_ended(&w->children[0], 1000);
		parts_ended(&w->children[1], 1000);
	}
	parts_end(&w->children[0]);
	parts_end(&w->children[1]);
	if (!busy_stop(&w->busy) && ok && !parts_interrupted()) {
		complain(w, "an endless loop ended early", "");
		ok = false;
	}
	return ok;
}

bool run_trial(const struct trial *trial, struct report reports[2])
{
	struct watch w = {
		.trial = trial,
	};
	struct job job = {
		.bench = getpid(),
		.rounds = trial->rounds,
		.limit_ns = trial->limit_ns,
		.warm_ns = warm_up(trial->limit_ns),
		.work_ns = trial->work_ns,
		.gap_ns = trial->gap_ns,
		.record = record_file(),
	};
	uint64_t most = run_trial_ns(trial) + GRACE_NS;
	bool ok;

	bench_name(w.base, trial->serial);
	memcpy(job.base, w.base, sizeof(job.base));
	snprintf(job.via, sizeof(job.via), "%s", trial->via->name);
	job.alarm_s = (uint32_t)(most / SECOND) + 2;
	w.deadline = bench_now() + most;

	ok = start_all(&w, job.alarm_s) && open_both(&w, &job) &&
	    work_both(&w, reports);
	ok = end_all(&w, ok);
	if (!ok)
		via_unlink(trial->via, w.base);
	return ok;
}
