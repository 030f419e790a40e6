/* SPDX-License-Identifier: ISC */
/*
 * The two processes that play matches, by turns.  Both go through the same
 * list, in memory that they inherit; they find the library's objects by name.
 * However it ends, no process and no name outlives it.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "costs_duel.h"

enum { OPENED = 1, JOINED, UNLINKED };

/* ---- in the two -------------------------------------------------------- */

/* Of the groups whose objects are found by name. */
static int open_all(struct costs_side *s)
{
	const struct costs_group *g;
	int i, e = 0;

	for (i = 0; i < COSTS_GROUPS && e == 0; i++) {
		g = costs_groups[i];
		if (!g->join)
			continue;
		e = (s->part == COSTS_GIVER ? g->open : g->join)(&s->objects[i],
		    s->names[i]);
	}
	return e;
}

static void unlink_all(const struct costs_side *s)
{
	int i;

	for (i = 0; i < COSTS_GROUPS; i++)
		costs_groups[i]->unlink(s->names[i]);
}

/* Until the names are gone nothing kills the giver if the bench has died: it
 * removes them. */
static int open_giver(struct costs_side *s)
{
	struct costs_room *room = s->room;
	int e = open_all(s);

	if (e == 0)
		atomic_store(&room->opened, OPENED);
	while (e == 0 && atomic_load(&room->opened) == OPENED &&
	    getppid() == s->bench)
		sched_yield();
	unlink_all(s);
	if (e == 0 && atomic_load(&room->opened) == OPENED)
		return ECANCELED;
	if (e == 0)
		atomic_store(&room->opened, UNLINKED);
	return e;
}

static int open_waiter(struct costs_side *s)
{
	int e;

	costs_await(s, &s->room->opened, OPENED);
	e = open_all(s);
	if (e == 0)
		atomic_store(&s->room->opened, JOINED);
	return e;
}

static void stat_open(struct costs_side *s)
{
	char path[64];

	s->stat = -1;
#ifdef __linux__
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)s->room->waiter);
	s->stat = open(path, O_RDONLY | O_CLOEXEC);
#else
	(void)path;
#endif
}

static int play_all(struct costs_side *s)
{
	struct costs_list *list = s->list;
	unsigned trial;
	size_t i;
	int e;

	e = s->part == COSTS_GIVER ? open_giver(s) : open_waiter(s);
	if (e != 0)
		return e;
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	if (getppid() != s->bench)
		return ECANCELED;
	stat_open(s);
	for (trial = 0; trial < list->trials && e == 0; trial++)
		for (i = 0; i < list->count && e == 0; i++)
			e = costs_trial(s, &list->matches[i], trial);
	return e;
}

/* In the child.  Signals that end the bench reach all of a terminal; the bench
 * sees to it. */
static void child(struct costs_side *s)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	sigset_t none;
	size_t i;
	int e;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(COSTS_ALARM_S);
#ifdef __linux__
	prctl(PR_SET_NAME, BENCH_TOOL); /* as ps and pgrep show it */
#endif
	e = play_all(s);
	s->room->errors[s->part] = e;
	_exit(e == 0 ? BENCH_OK : BENCH_FAILED);
}

static void nap(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

/* ---- the bench --------------------------------------------------------- */

static const char *part_name(int part)
{
	return part == COSTS_GIVER ? "the giver" : "the waiter";
}

static bool ended_well(const struct costs_room *room, int part, int status)
{
	const char *playing = atomic_load(&room->playing);

	if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_OK)
		return true;
	if (!playing)
		playing = "opening";
	if (WIFSIGNALED(status))
		fprintf(stderr, BENCH_TOOL ": %s: %s was killed by signal %d\n",
		    playing, part_name(part), WTERMSIG(status));
	else
		fprintf(stderr, BENCH_TOOL ": %s: %s: %s\n", playing,
		    part_name(part), strerror(room->errors[part]));
	return false;
}

/* Sees who has ended, of two; false, after a message, if one did not end
 * well. */
static bool reap(const struct costs_room *room, pid_t pids[2], int flags)
{
	int part, status;
	pid_t pid = waitpid(-1, &status, flags);

	if (pid < 0)
		return errno == EINTR;
	for (part = 0; part < 2; part++) {
		if (pid == 0 || pids[part] != pid)
			continue;
		pids[part] = 0;
		return ended_well(room, part, status);
	}
	return true;
}

static void finish(pid_t pids[2])
{
	int part;

	for (part = 0; part < 2; part++) {
		if (pids[part] == 0)
			continue;
		kill(pids[part], SIGKILL);
		while (waitpid(pids[part], NULL, 0) < 0 && errno == EINTR)
			;
		pids[part] = 0;
	}
}

/* The giver last: it must know the waiter. */
static bool start(struct costs_side *s, pid_t pids[2])
{
	static const int order[] = { COSTS_WAITER, COSTS_GIVER };
	int i;

	for (i = 0; i < 2; i++) {
		s->part = order[i];
		pids[s->part] = fork();
		if (pids[s->part] == 0)
			child(s);
		if (pids[s->part] < 0) {
			pids[s->part] = 0;
			return !costs_failed("cannot start a process", errno);
		}
		s->room->waiter = pids[COSTS_WAITER];
	}
	return true;
}

/* Opens what the two will inherit. */
static bool open_inherited(struct costs_side *s)
{
	const struct costs_group *g;
	int i, e = 0;

	for (i = 0; i < COSTS_GROUPS && e == 0; i++) {
		g = costs_groups[i];
		if (g->join)
			continue;
		e = g->open(&s->objects[i], s->names[i]);
		g->unlink(s->names[i]);
		costs_failed(g->name, e);
	}
	return e == 0;
}

static void close_inherited(struct costs_side *s)
{
	int i;

	for (i = 0; i < COSTS_GROUPS; i++)
		if (s->objects[i])
			costs_groups[i]->close(s->objects[i]);
}

/* Signals wait while there are names. */
static bool start_opened(struct costs_side *s, pid_t pids[2])
{
	sigset_t all, old;
	bool ok;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	ok = open_inherited(s) && start(s, pids);
	while (ok && atomic_load(&s->room->opened) != UNLINKED) {
		ok = reap(s->room, pids, WNOHANG);
		nap(1000000);
	}
	if (!ok) {
		finish(pids);
		unlink_all(s);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ok;
}

static bool run(struct costs_side *s)
{
	pid_t pids[2] = { 0, 0 };
	bool ok;

	signal(SIGCHLD, SIG_DFL); /* ignored, it would hide how one ended */
	ok = start_opened(s, pids);
	while (ok && (pids[0] != 0 || pids[1] != 0))
		ok = reap(s->room, pids, 0);
	finish(pids);
	close_inherited(s);
	return ok;
}

bool costs_play(struct costs_list *list)
{
	struct costs_side side = {
		.list = list,
		.cpu = PLACE_ANY_CPU,
		.bench = getpid(),
		.stat = -1,
	};
	unsigned i;
	bool ok;

	side.room = mmap(NULL, sizeof(*side.room), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (side.room == MAP_FAILED)
		return !costs_failed("costs", errno);
	for (i = 0; i < COSTS_GROUPS; i++)
		bench_name(side.names[i], i);
	ok = run(&side);
	munmap(side.room, sizeof(*side.room));
	return ok;
}
