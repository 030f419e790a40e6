/* SPDX-License-Identifier: ISC */
/*
 * Wakers that are killed or stopped between any two steps of what lets others
 * go, and waiters that are killed or stopped with the wake (G05, G06, G09): the
 * others come through, within 0.2 s where something is owned, else 1.5 s.
 * Built against the library with points.
 */
#define _GNU_SOURCE
#include "stay_out.h"
#include "still.h"
#include "wakers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "points.h"

#define NAME "wakers"
#define MOST 64u  /* points */
#define OWNED 2.0 /* s, with room for a machine that is loaded */
#define FREE 4.0
#define SKIPPED 77

/* ---- Parts ---------------------------------------------------------------- */

static unsigned fatal;
static int how; /* the signal */
static unsigned points;

static void count_point(void)
{
	if (++points == fatal)
		raise(how);
}

/* "wakers:waker point signal" */
static int part_waker(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	CHECK(sscanf(strchr(arg, ' '), "%u %d", &fatal, &how) == 2);
	OK(waker_hold(&wakers[i], r));
	/* A barrier's or a baton's waker must be known to be missed. */
	if (wakers[i].at == AT_BARRIER)
		RESULT(handoff_barrier_wait_until(&r->barrier, NULL, 0),
		    ETIMEDOUT);
	say("held");
	await("go");
	handoff__point_hook = count_point;
	OK(waker_let_go(&wakers[i], r));
	handoff__point_hook = NULL;
	say("over");
	await("end");
	return 0;
}

/* "wakers:waker": says how its wait went. */
static int part_waiter(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	say("waits");
	say(handoff_strerror(waker_wait(&wakers[i], r, soon(20))));
	return 0;
}

/* What was given is had by the waker itself. */
static void give_and_take(unsigned i, struct room *r)
{
	OK(waker_let_go(&wakers[i], r));
	if (!wakers[i].owned && wakers[i].at != AT_COND)
		OK(waker_wait(&wakers[i], r, 0));
}

/* "wakers:waker": after one wake it never enters the system again. */
static int part_idler(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	OK(waker_hold(&wakers[i], r));
	say("held");
	await("go");
	give_and_take(i, r);
	/* What the dead one had reserved for itself lapses. */
	sleep_seconds(0.01);
	if (!stay_out())
		return SKIPPED;
	for (int k = 0; k < 100; k++) {
		OK(waker_hold(&wakers[i], r));
		give_and_take(i, r);
	}
	_exit(0);
}

/* ---- The parent ----------------------------------------------------------- */

static double longest[2]; /* by `owned` */

static struct process start_on(const char *part, const char *word, unsigned i,
    const char *more)
{
	char arg[64];
	struct process p;

	snprintf(arg, sizeof arg, NAME ":%u %s", i, more);
	p = start(part, arg);
	expect(&p, word);
	return p;
}

static struct process start_waiter(unsigned i)
{
	struct process p = start_on("waiter", "waits", i, "");

	settle(p.pid);
	return p;
}

static struct room *open_primitives(void)
{
	const struct made made = { HANDOFF_WAIT_BLOCK, 0 };
	struct room *r = make_room(NAME, &made);

	assert_non_null(r);
	return r;
}

/* Says 0, or is told of a death if `deaths`; ends. */
static void comes_through(struct process *p, const struct waker *w, int deaths)
{
	char line[256] = "";
	size_t n = 0;

	if (!says_within(p, w->owned ? OWNED : FREE))
		fail_msg("%s: a waiter is stranded", w->name);
	do
		assert_int_equal(read(p->from, line + n, 1), 1);
	while (line[n] != '\n' && ++n < sizeof line - 1);
	line[n] = '\0';
	if (!deaths || strcmp(line, handoff_strerror(EOWNERDEAD)) != 0)
		assert_string_equal(line, handoff_strerror(0));
	assert_int_equal(finish(p), 0);
}

/* Any of those that are left. */
static struct process *one_of(struct process *p, unsigned n, double seconds)
{
	double end = seconds_now() + seconds;

	do
		for (unsigned k = 0; k < n; k++)
			if (p[k].pid != 0 && says_within(&p[k], 0.001))
				return &p[k];
	while (seconds_now() < end);
	return NULL;
}

static void all_come_through(struct process *p, unsigned n,
    const struct waker *w, int deaths)
{
	double since = seconds_now();

	for (unsigned k = 0; k < n; k++) {
		struct process *one = one_of(p, n, w->owned ? OWNED : FREE);
		double took = seconds_now() - since;

		if (took > longest[w->owned != 0])
			longest[w->owned != 0] = took;
		if (!one)
			fail_msg("%s: a waiter is stranded", w->name);
		comes_through(one, w, deaths);
	}
}

/* Until it is over, has stopped or has died: the status; it stays to be
 * reaped. */
static int outcome(struct process *p)
{
	siginfo_t info = { 0 };
	double end = seconds_now() + 10;

	while (!says_within(p, 0) && seconds_now() < end) {
		assert_int_equal(waitid(P_PID, (id_t)p->pid, &info,
		                     WEXITED | WSTOPPED | WNOHANG | WNOWAIT),
		    0);
		if (info.si_pid != 0)
			return info.si_code;
	}
	return 0;
}

/* Whether what the waker gives was there when it stopped. */
static int was_given(const struct waker *w, struct room *r, uint64_t before,
    struct process *p)
{
	return w->seen(r) != before || one_of(p, w->waiters, 0.1) != NULL;
}

/* For a waker that died before it gave anything that is nobody's: the parent
 * does it all again. */
static void give_again(const struct waker *w, struct room *r)
{
	int e = 0;

	if (w->at == AT_COND) {
		e = handoff_mutex_lock_until(&r->beside, soon(5));
		if (e == EOWNERDEAD)
			e = handoff_mutex_consistent(&r->beside);
		assert_int_equal(e, 0);
		r->ready = w->waiters;
		assert_int_equal(handoff_cond_broadcast(&r->cond), 0);
		e = handoff_mutex_unlock(&r->beside);
	} else if (!w->owned) {
		e = waker_let_go(w, r);
	}
	assert_int_equal(e, 0);
}

/* At the n-th point: whether the waker got over it. */
static int run(unsigned i, unsigned n, int signal, unsigned *given)
{
	const struct waker *w = &wakers[i];
	struct room *r = open_primitives();
	struct process p[2];
	struct process v;
	char more[32];
	uint64_t before;
	int code;
	int there;

	snprintf(more, sizeof more, "%u %d", n, signal);
	v = start_on("waker", "held", i, more);
	for (unsigned k = 0; k < w->waiters; k++)
		p[k] = start_waiter(i);
	before = w->seen ? w->seen(r) : 0;
	tell(&v, "go");
	code = outcome(&v);
	there = code == 0 || (w->seen && was_given(w, r, before, p));
	if (!there && code == CLD_KILLED)
		give_again(w, r);
	if (!there && code == CLD_STOPPED) {
		if (w->seen)
			assert_null(one_of(p, w->waiters, 0.02));
		kill(v.pid, SIGCONT);
	}
	*given += there && code != 0;
	all_come_through(p, w->waiters, w, code == CLD_KILLED);
	if (code == CLD_KILLED) {
		assert_int_equal(finish(&v), -SIGKILL);
	} else {
		kill(v.pid, SIGCONT);
		expect(&v, "over");
		tell(&v, "end");
		assert_int_equal(finish(&v), 0);
	}
	close_room(r, NAME);
	return code == 0;
}

static void walk_all(int signal)
{
	longest[0] = longest[1] = 0;
	for (unsigned i = 0; i < wakers_count; i++) {
		unsigned given = 0;
		unsigned n = 1;

		while (!run(i, n, signal, &given) && n < MOST)
			n++;
		print_message("%s: %u points, %u of them after\n",
		    wakers[i].name, n - 1, given);
		assert_true(n > 1 && n < MOST);
		/* Between the step and the wake there is one. */
		assert_true(given > 0 || !wakers[i].seen);
	}
	print_message("within %.0f ms where owned, else %.0f ms\n",
	    longest[1] * 1e3, longest[0] * 1e3);
}

/* G05 */
static void a_waker_killed_at_any_point_strands_nobody(void **state)
{
	(void)state;
	walk_all(SIGKILL);
}

/* G05, G45 */
static void a_waker_stopped_at_any_point_holds_up_nobody(void **state)
{
	(void)state;
	walk_all(SIGSTOP);
}

/* ---- Waiters -------------------------------------------------------------- */

enum fate { KILLED_FIRST, KILLED_LATER, STOPPED, FATES };

#define WAITERS 3u

/* Of three the one is stopped, and gets the wake, or has been killed. */
static void lose_one(unsigned i, unsigned which, enum fate fate)
{
	const struct waker *w = &wakers[i];
	struct room *r = open_primitives();
	struct process p[WAITERS];
	struct process lost;

	assert_int_equal(waker_hold(w, r), 0);
	for (unsigned k = 0; k < WAITERS; k++)
		p[k] = start_waiter(i);
	lost = p[which];
	p[which].pid = 0;
	kill(lost.pid, SIGSTOP);
	if (fate == KILLED_FIRST)
		kill_hard(&lost);
	for (unsigned k = 1; k < WAITERS; k++) {
		double since = seconds_now();
		struct process *one;

		if (k == 1 || !w->owned)
			assert_int_equal(waker_let_go(w, r), 0);
		assert_true(seconds_now() - since < 1);
		if (fate == KILLED_LATER && k == 1)
			kill_hard(&lost);
		one = one_of(p, WAITERS, w->owned ? OWNED : FREE);
		if (!one)
			fail_msg("%s: a waiter is stranded (%u, %d)", w->name,
			    which, fate);
		comes_through(one, w, 0);
	}
	if (fate == STOPPED) {
		kill(lost.pid, SIGCONT);
		if (!w->owned)
			assert_int_equal(waker_let_go(w, r), 0);
		comes_through(&lost, w, 0);
	}
	close_room(r, NAME);
}

/* Lets one go, or all in turn, and could do so again. */
static int is_plain(const struct waker *w)
{
	return !w->let_go && w->at != AT_BARRIER && w->at != AT_BATON;
}

/* G05, G06 */
static void a_lost_waiter_costs_the_others_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < wakers_count; i++) {
		if (!is_plain(&wakers[i]))
			continue;
		for (unsigned which = 0; which < WAITERS; which++)
			for (enum fate f = 0; f < FATES; f++)
				lose_one(i, which, f);
	}
}

/* G05: its mark costs one wake, once. */
static void a_killed_waiter_costs_one_needless_wake(void **state)
{
	(void)state;
	for (unsigned i = 0; i < wakers_count; i++) {
		struct room *r;
		struct process v;
		struct process dead;
		int status;

		if (!is_plain(&wakers[i]))
			continue;
		r = open_primitives();
		v = start_on("idler", "held", i, "");
		dead = start_waiter(i);
		kill_hard(&dead);
		tell(&v, "go");
		status = finish(&v);
		close_room(r, NAME);
		if (status == SKIPPED)
			SKIP("no filter of system calls here");
		if (status != 0)
			fail_msg("%s: %d", wakers[i].name, status);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "waker", part_waker },
		{ "waiter", part_waiter },
		{ "idler", part_idler },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_waker_killed_at_any_point_strands_nobody),
		TEST(a_waker_stopped_at_any_point_holds_up_nobody),
		TEST(a_lost_waiter_costs_the_others_nothing),
		TEST(a_killed_waiter_costs_one_needless_wake),
	};

	/* Each object says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 240);
	return processes_end(
	    cmocka_run_group_tests_name("waker", tests, NULL, NULL));
}
