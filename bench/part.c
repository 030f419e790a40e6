/* SPDX-License-Identifier: ISC */
/*
 * What one of the two processes of a trial does: opens its side, waits for
 * the other, calls or serves, reports.
 *
 * A trial has three stretches: a warm-up, round trips with a time stamp
 * before and after each, and round trips without.  Stamps show how round
 * trips are spread but hide a part of what they measure; so the mean comes
 * from the stretch without.  Where there are gaps before the round trips there
 * is no such stretch.  Part 0 ends a stretch by moving the control line and
 * one more round trip, in which part 1 sees it.
 */
#define _GNU_SOURCE 1
#include <string.h>

#include <handoff.h>

#include "part.h"
#include "record.h"
#include "run.h"
#include "work.h"

#define BATCH_NS 100000u /* of bare round trips between looks at the clock */
/* Each may come to take a timeslice, if somebody else wants the CPU. */
#define BATCH_MOST 64u

/* What the process has used up since it was `before`. */
static struct usage used(struct usage before)
{
	struct handoff_thread_statistics waits = { .size = sizeof(waits) };
	struct usage now = { .cpu_ns = 0 };

	part_usage(&now);
	handoff_thread_statistics(&waits);
	return (struct usage){
		.cpu_ns = now.cpu_ns - before.cpu_ns,
		.blocked = now.blocked - before.blocked,
		.preempted = now.preempted - before.preempted,
		.spins = waits.spins - before.spins,
		.yields = waits.yields - before.yields,
		.parks = waits.parks - before.parks,
	};
}

/* The gap, and what sleeping costs of the CPU. */
static uint64_t sleep_gap(const struct job *job, struct report *r)
{
	uint64_t before = bench_cpu_now(), slept = work_sleep(job->gap_ns);

	r->slept_cpu_ns += bench_cpu_now() - before;
	return slept;
}

/* How many round trips to make next, after `done` of them took `ns`. */
static uint64_t next_batch(uint64_t done, uint64_t ns)
{
	uint64_t fit = BATCH_NS / (ns / done + 1);

	if (fit > 2 * done)
		fit = 2 * done;
	if (fit > BATCH_MOST)
		fit = BATCH_MOST;
	return fit > 0 ? fit : 1;
}

/* Round trips without stamps, until one of the limits is reached. */
static int call_bare(const struct via *via, struct via_side *side,
    uint64_t rounds, uint64_t limit_ns, struct report *r)
{
	uint64_t start = bench_now(), before = start, now, batch = 1;
	int e;

	do {
		if (batch > rounds - r->bare_rounds)
			batch = rounds - r->bare_rounds;
		e = via->call(side, batch);
		if (e != 0)
			return e;
		now = bench_now();
		r->bare_rounds += batch;
		batch = next_batch(batch, now - before);
		before = now;
	} while (r->bare_rounds < rounds && now - start < limit_ns);
	r->bare_ns = now - start;
	return 0;
}

/* How long part 1 took to have the turn that was given at `before`. */
static void record_wake(const struct via_side *side, uint64_t before,
    struct report *r)
{
	uint64_t at = atomic_load_explicit(&side->control->turn_at,
	    memory_order_acquire);
	uint64_t ns = at > before ? at - before : 0;

	histogram_record(&r->wake, ns);
	r->wake_ns += ns;
}

static int call_stamped(const struct via *via, struct via_side *side,
    const struct job *job, uint64_t limit_ns, struct report *r)
{
	uint64_t start = bench_now(), before, after;
	int e;

	do {
		if (job->gap_ns > 0)
			r->slept_ns += sleep_gap(job, r);
		before = bench_now();
		e = via->call(side, 1);
		if (e != 0)
			return e;
		after = bench_now();
		histogram_record(&r->stamped, after - before);
		r->stamped_ns += after - before;
		record_add(after - before);
		if (job->gap_ns > 0)
			record_wake(side, before, r);
	} while (r->stamped.count < job->rounds && after - start < limit_ns);
	return 0;
}

/* What a way to wait learns from calls in a row does not hold after gaps: the
 * warm-up has them too, where there are any. */
static int warm_up(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	if (job->gap_ns == 0)
		return call_bare(via, side, UINT64_MAX, job->warm_ns, r);
	return call_stamped(via, side, job, job->warm_ns, r);
}

/* A round trip that counts among all rounds, but not among those of a
 * stretch. */
static int call_between(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	if (job->gap_ns > 0)
		sleep_gap(job, r);
	r->rounds++;
	return via->call(side, 1);
}

/* Part 1 serves one more round trip and leaves its loop. */
static int end_stretch(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	atomic_store(&side->control->stretch, ++side->stretch);
	return call_between(via, side, job, r);
}

/* The stretches behind the warm-up.  The first round trip of each waits for
 * part 1 to be back in its loop. */
static int call_measured(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	int e = call_between(via, side, job, r);

	if (e == 0)
		e = call_stamped(via, side, job, job->limit_ns, r);
	if (e == 0)
		e = end_stretch(via, side, job, r);
	if (job->gap_ns > 0 || e != 0)
		return e;
	e = call_between(via, side, job, r);
	if (e == 0)
		e = call_bare(via, side, job->rounds, job->limit_ns, r);
	if (e == 0)
		e = end_stretch(via, side, job, r);
	return e;
}

static int call_stretches(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	struct usage before;
	uint64_t wall;
	int e;

	e = warm_up(via, side, job, r);
	if (e == 0)
		e = end_stretch(via, side, job, r);
	memset(r, 0, sizeof(*r));
	if (e == 0 && job->record >= 0)
		e = record_start();
	wall = bench_now();
	before = used((struct usage){ .cpu_ns = 0 });
	if (e == 0)
		e = call_measured(via, side, job, r);
	r->usage = used(before);
	r->wall_ns = bench_now() - wall;
	r->rounds += r->stamped.count + r->bare_rounds;
	return e;
}

static int call(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	int e = via->begin ? via->begin(side) : 0;

	if (e == 0)
		e = call_stretches(via, side, job, r);
	if (e == 0 && via->end)
		e = via->end(side);
	return e;
}

static int serve(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	const uint32_t stretches = job->gap_ns > 0 ? 2 : 3;
	struct usage before = { .cpu_ns = 0 };
	int e = 0;

	for (; side->stretch < stretches && e == 0; side->stretch++) {
		e = via->serve(side);
		if (side->stretch == 0)
			before = used(before);
	}
	r->usage = used(before);
	return e;
}

/* Part 0 goes on before part 1 is in its loop: to wait is what it does. */
static void work(const struct via *via, struct via_side *side,
    const struct job *job, struct report *r)
{
	if (side->part == 1)
		work_set(side, job->work_ns, job->gap_ns > 0);
	if (side->part == 0) {
		r->error = call(via, side, job, r);
		if (r->error == 0 && job->record >= 0)
			r->error = record_write(job->record);
	} else
		r->error = serve(via, side, job, r);
	if (r->error == 0)
		via->close(side);
}

/*
 * The names go as soon as both parts have opened them.  Until then nothing
 * kills a part whose bench has died: it reads the end of the socket instead,
 * and removes them.
 */
int part_main(int part)
{
	static struct report report;
	struct via_side side = { .part = part };
	const struct via *via;
	struct job job;
	int32_t opened;
	bool go;
	char byte;

	part_begin();
	if (!part_receive(&job, sizeof(job)))
		return BENCH_FAILED;
	via = via_find(job.via);
	if (!via)
		return BENCH_USAGE;
	part_limit(&job);
	side.base = job.base;
	opened = place_pin(job.cpu);
	if (opened == 0)
		opened = via_open(via, &side);
	go = part_transmit(&opened, sizeof(opened)) && part_receive(&byte, 1);
	if (part == 0)
		via_unlink(via, job.base);
	if (!go || opened != 0 || !part_follow(&job))
		return BENCH_FAILED;
	work(via, &side, &job, &report);
	return part_transmit(&report, sizeof(report)) ? BENCH_OK : BENCH_FAILED;
}
