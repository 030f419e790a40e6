/* SPDX-License-Identifier: ISC */
/*
 * Starts the two parts of a trial, watches them and collects their reports.
 * However a trial ends, no part and no name outlives it.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "record.h"
#include "run.h"
#include "signals.h"

#define SECOND 1000000000u
#define GRACE_NS (10u * (uint64_t)SECOND) /* beyond what a trial may take */

struct child {
	pid_t pid; /* 0: none, or its end has been seen */
	int socket;
	int status;            /* how it ended */
	const char *doing;     /* what the next message is the result of */
	const int32_t *result; /* begins the message: 0 or an errno value */
	char *into;            /* where the rest of it goes */
	size_t missing;
};

struct watch {
	const struct trial *trial;
	uint64_t deadline;
	char base[BENCH_NAME_MAX];
	struct child children[2];
	struct busy busy;
};

static volatile sig_atomic_t caught;
static int wakeup[2] = { -1, -1 }; /* a pipe: a byte for each signal */

static void on_signal(int number)
{
	int saved = errno;

	caught = number;
	if (write(wakeup[1], "", 1) < 0)
		caught = number; /* it is full: it will wake all the same */
	errno = saved;
}

void run_prepare(void)
{
	sigset_t taken;
	size_t i;

	if (pipe(wakeup) != 0)
		wakeup[0] = wakeup[1] = -1;
	for (i = 0; i < 2 && wakeup[0] >= 0; i++) {
		fcntl(wakeup[i], F_SETFD, FD_CLOEXEC);
		fcntl(wakeup[i], F_SETFL, O_NONBLOCK);
	}
	signal(SIGCHLD, SIG_DFL); /* ignored, it would hide how a part ended */
	sigemptyset(&taken);
	signals_take(on_signal, &taken);
}

void run_finish(void)
{
	signals_leave(SIG_DFL);
	if (wakeup[0] >= 0) {
		close(wakeup[0]);
		close(wakeup[1]);
	}
}

bool run_interrupted(void)
{
	return caught != 0;
}

void run_quit(void)
{
	if (caught == 0)
		return;
	signal(caught, SIG_DFL);
	raise(caught);
}

/* ---- starting and ending ----------------------------------------------- */

/* In the child: becomes the part. */
static void become_part(int part, int socket)
{
	char name[] = BENCH_TOOL;
	char option[] = "--part=0";
	char *argv[] = { name, option, NULL };

	option[sizeof(option) - 2] = (char)('0' + part);
	/* They reach all processes of a terminal; the bench sees to it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	if (socket == RUN_SOCKET)
		fcntl(socket, F_SETFD, 0);
	else if (dup2(socket, RUN_SOCKET) < 0)
		_exit(127);
	if (part == 0)
		record_pass();
#ifdef __linux__
	execv("/proc/self/exe", argv);
#endif
	execvp(bench_path, argv);
	_exit(127);
}

static int start(struct child *child, int part)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return errno;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	child->pid = fork();
	if (child->pid == 0)
		become_part(part, ends[1]);
	close(ends[1]);
	child->socket = ends[0];
	if (child->pid < 0) {
		child->pid = 0;
		return errno;
	}
	return 0;
}

/* Waits for its end at most `ms`; true if it has ended. */
static bool reap(struct child *child, unsigned ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status;

	while (child->pid > 0) {
		if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
			child->pid = 0;
			child->status = status;
			break;
		}
		if (ms-- == 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void finish(struct child *child)
{
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		child->pid = 0;
	}
	if (child->socket >= 0)
		close(child->socket);
	child->socket = -1;
}

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
	char what[64];

	if (!reap(child, ms) || !WIFSIGNALED(child->status))
		return false;
	snprintf(what, sizeof(what), "part %d was killed by signal %d", part,
	    WTERMSIG(child->status));
	complain(w, what, strsignal(WTERMSIG(child->status)));
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

/* A part that is gone is found out when its answer is missing. */
static void tell(struct child *child, const void *data, size_t bytes)
{
	if (send(child->socket, data, bytes, MSG_NOSIGNAL) < 0)
		return;
}

/* Takes what a part has written.  False at its end. */
static bool take(struct child *child)
{
	ssize_t n = recv(child->socket, child->into, child->missing,
	    MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	child->into += n;
	child->missing -= (size_t)n;
	return n > 0;
}

/* Waits until a part has written or the trial's time is over. */
static bool await(struct watch *w, struct pollfd polls[3])
{
	const struct child *c = w->children;
	uint64_t now = bench_now();
	int i, ms = 0;

	for (i = 0; i < 2; i++) {
		polls[i].fd = c[i].missing > 0 ? c[i].socket : -1;
		polls[i].events = POLLIN;
		polls[i].revents = 0;
	}
	polls[2].fd = wakeup[0];
	polls[2].events = POLLIN;
	if (now < w->deadline)
		ms = (int)((w->deadline - now) / 1000000u + 1);
	if (poll(polls, 3, ms) < 0)
		polls[0].revents = polls[1].revents = 0;
	if (caught != 0)
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
	struct pollfd polls[3];
	int i;

	while (c[0].missing > 0 || c[1].missing > 0) {
		if (!await(w, polls))
			return false;
		for (i = 0; i < 2; i++) {
			if (polls[i].revents == 0)
				continue;
			if (!take(&c[i])) {
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
		tell(child, job, sizeof(*job));
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
		tell(child, "", 1);
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
		e = start(&w->children[part], part);
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
		reap(&w->children[0], 1000);
		reap(&w->children[1], 1000);
	}
	finish(&w->children[0]);
	finish(&w->children[1]);
	if (!busy_stop(&w->busy) && ok && caught == 0) {
		complain(w, "an endless loop ended early", "");
		ok = false;
	}
	return ok;
}

bool run_trial(const struct trial *trial, struct report reports[2])
{
	struct watch w = {
		.trial = trial,
		.children = { { .socket = -1 }, { .socket = -1 } },
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
