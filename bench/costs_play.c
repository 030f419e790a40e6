/* SPDX-License-Identifier: ISC */
/*
 * The two processes that play matches, by turns.  Both go through the same
 * list, in memory that they inherit; they find named objects by their names.
 * However it ends, no process and no name outlives it, and it does end: when a
 * round takes too long, or all of them.
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
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "children.h"
#include "costs_duel.h"

#define ROUND_NS 10000000000u /* at the most; and for opening */
#define TRIAL_NS 1000000000u  /* of a match, in the mean at the most */
#define GRACE_NS 60000000000u /* beyond that */

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
		if (!costs_groups[i]->missing)
			costs_groups[i]->unlink(s->names[i]);
}

/* Whether this process is killed when the bench ends. */
static void follow_bench(bool follow)
{
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, follow ? SIGKILL : 0);
#else
	(void)follow;
#endif
}

/* Until the names are gone nothing kills the giver if the bench has died: it
 * removes them. */
static int open_giver(struct costs_side *s)
{
	struct costs_room *room = s->room;
	int e;

	follow_bench(false);
	e = open_all(s);
	if (e == 0)
		atomic_store(&room->opened, OPENED);
	while (e == 0 && atomic_load(&room->opened) == OPENED &&
	    getppid() == s->bench)
		sched_yield();
	unlink_all(s);
	follow_bench(true);
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
	if (getppid() != s->bench)
		return ECANCELED;
	stat_open(s);
	for (trial = 0; trial < list->trials && e == 0; trial++)
		for (i = 0; i < list->count && e == 0; i++)
			e = costs_trial(s, &list->matches[i], trial);
	return e;
}

/* In the child. */
static int play(void *side)
{
	struct costs_side *s = side;
	int e = play_all(s);

	s->room->errors[s->part] = e;
	return e == 0 ? BENCH_OK : BENCH_FAILED;
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

/* What they are at, for messages. */
static const char *playing(const struct costs_room *room)
{
	const char *name = atomic_load(&room->playing);

	return name ? name : "opening";
}

static bool took_too_long(const struct costs_room *room)
{
	fprintf(stderr, BENCH_TOOL ": %s: takes too long\n", playing(room));
	return false;
}

/* True, without a message, if that one ended as it should; so did
 * CHILDREN_NONE. */
static bool ended_well(const struct costs_room *room,
    const struct child children[2], int who)
{
	const struct child *child = &children[who < 0 ? 0 : who];
	char text[CHILDREN_TEXT_MAX];
	const char *how;

	if (who == CHILDREN_NONE ||
	    (WIFEXITED(child->status) &&
	        WEXITSTATUS(child->status) == BENCH_OK))
		return true;
	how = children_text(text, child);
	if (WIFEXITED(child->status) && room->errors[who] != 0)
		how = strerror(room->errors[who]);
	fprintf(stderr, BENCH_TOOL ": %s: %s: %s\n", playing(room),
	    part_name(who), how);
	return false;
}

/* The giver last: it must know the waiter. */
static bool start(struct costs_side *s, struct child children[2], uint64_t ns)
{
	static const int order[] = { COSTS_WAITER, COSTS_GIVER };
	int i, e;

	for (i = 0; i < 2; i++) {
		s->part = order[i];
		e = children_start(&children[s->part], ns, play, s);
		if (costs_failed("cannot start a process", e))
			return false;
		s->room->waiter = children[COSTS_WAITER].pid;
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
		if (g->join || g->missing)
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
static bool start_opened(struct costs_side *s, struct child children[2],
    uint64_t ns)
{
	uint64_t deadline = bench_now() + ROUND_NS;
	bool ok = open_inherited(s) && start(s, children, ns);

	while (ok && atomic_load(&s->room->opened) != UNLINKED) {
		ok = ended_well(s->room, children, children_look(children, 2));
		if (ok && bench_now() > deadline)
			ok = took_too_long(s->room);
		nap(1000000);
	}
	if (!ok) {
		children_end(children, 2);
		unlink_all(s);
	}
	return ok;
}

/* Until both have ended. */
static bool watch(const struct costs_room *room, struct child children[2],
    uint64_t deadline)
{
	uint32_t round = 0, before;
	uint64_t until;
	int who;

	while (children[0].pid != 0 || children[1].pid != 0) {
		until = bench_now() + ROUND_NS;
		who = children_wait(children, 2,
		    until < deadline ? until : deadline);
		if (!ended_well(room, children, who))
			return false;
		if (who != CHILDREN_NONE)
			continue;
		before = round;
		round = atomic_load(&room->round);
		if (round == before || bench_now() >= deadline)
			return took_too_long(room);
	}
	return true;
}

static bool run(struct costs_side *s)
{
	const struct costs_list *list = s->list;
	struct child children[2] = { { .pid = 0 }, { .pid = 0 } };
	uint64_t ns = list->trials * list->count * TRIAL_NS + GRACE_NS;
	uint64_t deadline = bench_now() + ns;
	bool ok;

	children_prepare();
	ok = start_opened(s, children, ns) &&
	    watch(s->room, children, deadline);
	children_end(children, 2);
	children_finish();
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
