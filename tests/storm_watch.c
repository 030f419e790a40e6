/* SPDX-License-Identifier: ISC */
/* The storm's parent: it kills, stops, replaces and watches. */
#define _GNU_SOURCE
#include "storm_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 60.0                   /* s longer, where little gets done */
#define LIMIT (2000u * (uint64_t)NS_MS) /* of any call */
#define TICK_MOST (20u * NS_MS)         /* the rest, the machine stood still */
#define POINT_MOST (5u * NS_MS)         /* until it comes to a point */

/* What the parent knows of each place. */
static struct {
	pid_t pid;
	uint32_t serial;    /* of the call that it was seen in */
	uint64_t waited;    /* in that call */
	uint64_t stopped;   /* until then; 0: it runs */
	uint64_t die_until; /* at a point, until then; 0: it need not */
} watched[PLACES];

static uint64_t dice;
static uint64_t last_tick;
static uint64_t next_blow;
static unsigned struck[STORM_KINDS]; /* how often, busy with that */
struct storm_count storm_count;

static uint32_t throw(uint32_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((dice >> 33) % n);
}

/* ---- Births and deaths --------------------------------------------------- */

static void live_anew(unsigned n, uint32_t generation)
{
	char arg[32];

	snprintf(arg, sizeof arg, "%u:%u", n, generation);
	execl("/proc/self/exe", "storm", "--part", "live", arg, (char *)NULL);
	_exit(127);
}

/* By fork alone, which leaves it nothing of its parent's, or as a program. */
static void bear(unsigned n)
{
	struct place *p = &table->places[n];
	uint32_t generation = atomic_fetch_add(&p->generation, 1) + 1;
	bool anew = throw(4) == 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == 1)
			_exit(1);
		if (anew)
			live_anew(n, generation);
		storm_live(n, generation);
	}
	watched[n].pid = pid;
	watched[n].stopped = 0;
	watched[n].die_until = 0;
	watched[n].waited = 0;
}

/* What a dead one was in. */
static void bury(unsigned n)
{
	struct place *p = &table->places[n];
	struct tally *t = &table->tallies[atomic_load(&p->kind)];
	uint32_t call = atomic_load(&p->call);

	storm_count.kills++;
	watched[n].pid = 0;
	if ((atomic_load(&p->serial) & 1) != 0) {
		storm_count.inside++;
		atomic_fetch_add(&t->kills[call], 1);
		atomic_fetch_add(call == CALL_GIVE ? &t->maybe_gave :
		                                     &t->maybe_took,
		    atomic_load(&p->amount));
		atomic_fetch_add(&p->serial, 1);
	}
	atomic_store(&p->reading, 0);
	atomic_store(&p->at_point, 0);
}

static void fail_of(unsigned n, const char *what)
{
	const struct place *p = &table->places[n];
	uint32_t kind = atomic_load(&p->kind);

	for (unsigned i = 0; i < PLACES; i++) {
		const struct place *q = &table->places[i];

		print_error("  place %u.%u: %s %s%s, %.3f s%s\n", i,
		    q->generation, storm_kinds[q->kind].name,
		    storm_calls[q->call], q->serial & 1 ? "" : " (over)",
		    (double)watched[i].waited / 1e9,
		    watched[i].stopped ? ", stopped" : "");
	}
	if (getenv("STORM_HOLD"))
		pause();
	fail_msg("seed %llu, process %u of place %u (pid %d), %s %s: %s",
	    (unsigned long long)table->seed, p->generation, n,
	    (int)watched[n].pid, storm_kinds[kind].name,
	    storm_calls[atomic_load(&p->call)], what);
}

/* It has ended by itself: at a point, as it was told to, or it fails. */
static void ended(unsigned n, int status)
{
	char text[250];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
	    is_doomed(atomic_load(&table->places[n].generation) * 16 + n)) {
		storm_count.at_points++;
		bury(n);
		bear(n);
		return;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
	    atomic_load(&table->stop) != 0) {
		watched[n].pid = 0;
		return;
	}
	snprintf(text, sizeof text, "ended with %x: %s", (unsigned)status,
	    table->places[n].said);
	fail_of(n, text);
}

static void kill_now(unsigned n)
{
	struct place *p = &table->places[n];
	int status;

	atomic_store(&p->doomed, atomic_load(&p->generation));
	kill(watched[n].pid, SIGKILL);
	assert_int_equal(waitpid(watched[n].pid, &status, 0), watched[n].pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		ended(n, status);
		return;
	}
	bury(n);
	bear(n);
}

/* ---- Blows --------------------------------------------------------------- */

/* Of all it is one that is busy with what has been struck least, so that kinds
 * that take little time are not spared. */
static unsigned choose(void)
{
	unsigned n = throw(VICTIMS);
	unsigned best = n;
	unsigned kind;

	for (unsigned i = 0; i < VICTIMS; i++) {
		unsigned k = (n + i) % VICTIMS;

		kind = atomic_load(&table->places[k].kind);
		if (struck[kind] <
		    struck[atomic_load(&table->places[best].kind)])
			best = k;
	}
	kind = atomic_load(&table->places[best].kind);
	struck[kind]++;
	return best;
}

static void strike(uint64_t now)
{
	unsigned n = choose();

	next_blow = now + (2 + throw(6)) * (uint64_t)NS_MS + throw(NS_MS);
	if (watched[n].die_until)
		return;
	if (throw(5) == 0 && !watched[n].stopped) {
		storm_count.stops++;
		kill(watched[n].pid, SIGSTOP);
		watched[n].stopped = now + (1 + throw(20)) * (uint64_t)NS_MS;
	} else if (storm_has_points && !watched[n].stopped && throw(2) == 0) {
		watched[n].die_until = now + POINT_MOST;
		atomic_store(&table->places[n].at_point, 1 + throw(8));
	} else {
		kill_now(n);
	}
}

/* What was begun earlier. */
static void follow_up(unsigned n, uint64_t now)
{
	if (watched[n].stopped && now > watched[n].stopped) {
		watched[n].stopped = 0;
		kill(watched[n].pid, SIGCONT);
	}
	if (watched[n].die_until && now > watched[n].die_until)
		kill_now(n);
}

/* ---- Watching ------------------------------------------------------------ */

static void watch(unsigned n, uint64_t passed)
{
	const struct place *p = &table->places[n];
	uint32_t serial = atomic_load(&p->serial);
	struct tally *t = &table->tallies[atomic_load(&p->kind)];

	if ((serial & 1) == 0 || serial != watched[n].serial) {
		watched[n].serial = serial;
		watched[n].waited = 0;
		return;
	}
	if (!watched[n].stopped)
		watched[n].waited += passed;
	if (watched[n].waited > atomic_load(&t->longest))
		atomic_store(&t->longest, watched[n].waited);
	if (watched[n].waited > LIMIT)
		fail_of(n, "the call does not end");
}

static void tick(void)
{
	uint64_t now = handoff_now();
	uint64_t passed = now - last_tick;

	last_tick = now;
	if (passed > TICK_MOST)
		passed = TICK_MOST;
	for (unsigned i = 0; i < PLACES; i++) {
		int status;

		if (watched[i].pid == 0)
			continue;
		if (waitpid(watched[i].pid, &status, WNOHANG) != 0) {
			ended(i, status);
			continue;
		}
		watch(i, passed);
		follow_up(i, now);
	}
}

static bool any_lives(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		if (watched[i].pid != 0)
			return true;
	return false;
}

/* Each ends what it is doing. */
static void let_end(unsigned from, unsigned to, uint32_t stop)
{
	double end = seconds_now() + 20;

	atomic_store(&table->stop, stop);
	for (unsigned i = from; i < to; i++)
		if (watched[i].stopped)
			watched[i].stopped = 1; /* continued at the next tick */
	while (any_lives(from, to)) {
		tick();
		sleep_seconds(0.001);
		assert_true(seconds_now() < end);
	}
}

void storm_end_all(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (watched[i].pid != 0) {
			kill(watched[i].pid, SIGKILL);
			waitpid(watched[i].pid, NULL, 0);
			watched[i].pid = 0;
		}
}

void storm_blow(double seconds, int (*enough)(double seconds))
{
	double end = seconds_now() + seconds;
	double last = end + PATIENCE;

	dice = table->seed;
	last_tick = handoff_now();
	for (unsigned i = 0; i < PLACES; i++)
		bear(i);
	next_blow = handoff_now();
	while (
	    seconds_now() < end || (seconds_now() < last && !enough(seconds))) {
		uint64_t now;

		tick();
		now = handoff_now();
		if (now >= next_blow)
			strike(now);
		sleep_seconds(0.0005);
	}
	let_end(0, VICTIMS, 1);
	let_end(FEEDER, PLACES, 2);
}
