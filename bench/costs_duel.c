/* SPDX-License-Identifier: ISC */
/*
 * What operations cost with a waiter: two processes, the giver and the waiter.
 * A round:
 *
 *	giver           waiter
 *	own
 *	round = n  -->
 *	                enter
 *	           <--  begun = n
 *	                wait                } from the beginning of give() to
 *	ready, give                         } the end of wait(): acquire; give()
 *	                                    } alone: release
 *	                leave
 *	           <--  done = n
 *
 * The giver gives a few us after the waiter has begun, while that spins, or
 * when it is blocked: the system says that it sleeps, and some time has
 * passed.  A round in which it did otherwise does not count.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "costs_duel.h"

const bool costs_has_duels = true;

#define WARM_UP 3u      /* rounds of a trial that do not count */
#define PAUSES 2000u    /* before yielding, on two CPUs */
#define SPIN_NS 2000u   /* from the beginning of a wait that spins */
#define JITTER_NS 1000u /* and up to that more */
#define SETTLE_NS 100000u
#define BLOCK_NS 2000000u /* where the system does not tell */

static int step(int (*function)(void *objects), void *objects)
{
	return function ? function(objects) : 0;
}

static void nap(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

static void pass_time(uint64_t ns)
{
	uint64_t end = bench_now() + ns;

	while (bench_now() < end)
		bench_pause();
}

void costs_await(const struct costs_side *s, _Atomic uint32_t *word,
    uint32_t value)
{
	unsigned n = 0;

	while (atomic_load(word) < value) {
		if (n++ < s->pauses) {
			bench_pause();
			continue;
		}
		if (getppid() != s->bench)
			_exit(BENCH_FAILED);
		sched_yield();
	}
}

/* ---- the waiter -------------------------------------------------------- */

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

static int wait_once(struct costs_side *s, const struct duel *duel,
    void *objects)
{
	struct costs_room *room = s->room;
	uint64_t got;
	long before;
	int e;

	costs_await(s, &room->round, s->round);
	e = step(duel->enter, objects);
	if (e != 0)
		return e;
	before = sleeps();
	atomic_store(&room->begun, s->round);
	e = duel->wait(objects);
	got = bench_now();
	room->got = got;
	room->slept = sleeps() != before;
	if (e == 0)
		e = step(duel->leave, objects);
	if (e == 0)
		atomic_store(&room->done, s->round);
	return e;
}

/* ---- the giver --------------------------------------------------------- */

/* The state of the waiter, as "S"; '?' if it cannot be told. */
static char state(const struct costs_side *s)
{
	char text[256], *end;
	ssize_t n = -1;

	if (s->stat >= 0)
		n = pread(s->stat, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return '?';
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : '?';
}

static void await_block(const struct costs_side *s)
{
	char c;

	while ((c = state(s)) != 'S') {
		if (c == '?') {
			nap(BLOCK_NS);
			return;
		}
		sched_yield();
	}
	pass_time(SETTLE_NS);
}

static int give_once(struct costs_side *s, const struct duel *duel,
    void *objects, bool spinning, double times[2])
{
	struct costs_room *room = s->room;
	uint64_t start, end;
	int e = step(duel->own, objects);

	if (e != 0)
		return e;
	atomic_store(&room->round, s->round);
	costs_await(s, &room->begun, s->round);
	if (spinning)
		pass_time(SPIN_NS + s->round * 37u % JITTER_NS);
	else
		await_block(s);
	e = step(duel->ready, objects);
	if (e != 0)
		return e;
	start = bench_now();
	e = duel->give(objects);
	end = bench_now();
	if (e == 0)
		costs_await(s, &room->done, s->round);
	times[0] = (double)(end - start);
	times[1] = (double)room->got - (double)start;
	return e;
}

/* ---- both -------------------------------------------------------------- */

static int pin(struct costs_side *s, int cpu)
{
	if (cpu == s->cpu)
		return 0;
	s->cpu = cpu;
	return place_pin(cpu);
}

int costs_trial(struct costs_side *s, const struct costs_match *m,
    unsigned trial)
{
	void *objects = s->objects[m->group];
	size_t at = (size_t)trial * m->rounds;
	unsigned i, n = 0;
	double times[2];
	int e = pin(s, m->cpu[s->part]);

	s->pauses = m->cpu[0] != m->cpu[1] ? PAUSES : 0;
	if (m->spinning)
		objects = costs_groups[m->group]->spinning(objects);
	for (i = 0; i < m->rounds + WARM_UP && e == 0; i++) {
		s->round++;
		alarm(COSTS_ALARM_S);
		if (s->part == COSTS_WAITER) {
			e = wait_once(s, m->duel, objects);
			continue;
		}
		atomic_store(&s->room->playing, m->duel->name);
		e = give_once(s, m->duel, objects, m->spinning, times);
		if (e != 0 || i < WARM_UP || s->room->slept == m->spinning)
			continue;
		m->release[at + n] = times[0];
		m->acquire[at + n++] = times[1];
	}
	if (s->part == COSTS_GIVER)
		m->counts[trial] = n;
	return e;
}
