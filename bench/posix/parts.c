/* SPDX-License-Identifier: ISC */
/*
 * The processes of a trial, on a POSIX system.
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
#include <time.h>
#include <unistd.h>

#include "../bench.h"
#include "../parts.h"
#include "../record.h"
#include "../signals.h"
#include "socket.h"

struct process {
	pid_t pid; /* 0: none, or its end has been seen */
	int socket;
	int status; /* how it ended */
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

void parts_prepare(void)
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

void parts_finish(void)
{
	signals_leave(SIG_DFL);
	if (wakeup[0] >= 0) {
		close(wakeup[0]);
		close(wakeup[1]);
	}
}

bool parts_interrupted(void)
{
	return caught != 0;
}

void parts_quit(void)
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

static int start(struct process *process, int part)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return errno;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	process->pid = fork();
	if (process->pid == 0)
		become_part(part, ends[1]);
	close(ends[1]);
	process->socket = ends[0];
	if (process->pid < 0) {
		process->pid = 0;
		return errno;
	}
	return 0;
}

int parts_start(struct child *child, int part)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return ENOMEM;
	process->socket = -1;
	child->process = process;
	return start(process, part);
}

bool parts_ended(struct child *child, unsigned ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct process *p = child->process;
	int status;

	while (p->pid > 0) {
		if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
			p->pid = 0;
			p->status = status;
			break;
		}
		if (ms-- == 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

bool parts_killed(const struct child *child, char *text, size_t bytes)
{
	int status = child->process->status;

	if (!WIFSIGNALED(status))
		return false;
	snprintf(text, bytes, "by signal %d: %s", WTERMSIG(status),
	    strsignal(WTERMSIG(status)));
	return true;
}

void parts_end(struct child *child)
{
	struct process *p = child->process;

	if (!p)
		return;
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (p->socket >= 0)
		close(p->socket);
	free(p);
	child->process = NULL;
}

/* ---- messages ---------------------------------------------------------- */

void parts_tell(struct child *child, const void *data, size_t bytes)
{
	if (send(child->process->socket, data, bytes, MSG_NOSIGNAL) < 0)
		return;
}

void parts_await(struct child children[2], uint64_t deadline, bool ready[2])
{
	uint64_t now = bench_now();
	struct pollfd polls[3];
	int i, ms = 0;

	for (i = 0; i < 2; i++) {
		polls[i].fd = -1;
		if (children[i].missing > 0)
			polls[i].fd = children[i].process->socket;
		polls[i].events = POLLIN;
		polls[i].revents = 0;
	}
	polls[2].fd = wakeup[0];
	polls[2].events = POLLIN;
	if (now < deadline)
		ms = (int)((deadline - now) / 1000000u + 1);
	if (poll(polls, 3, ms) < 0)
		polls[0].revents = polls[1].revents = 0;
	for (i = 0; i < 2; i++)
		ready[i] = polls[i].revents != 0;
}

bool parts_take(struct child *child)
{
	ssize_t n = recv(child->process->socket, child->into, child->missing,
	    MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	child->into += n;
	child->missing -= (size_t)n;
	return n > 0;
}
