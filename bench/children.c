/* SPDX-License-Identifier: ISC */
/*
 * Forks processes, waits for them and ends them.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "bench.h"
#include "children.h"
#include "signals.h"

#define SECOND 1000000000u
#define GRACE_S 15u /* beyond what a child may take */

static sigset_t usual;    /* the signals that wait, as the bench found it */
static sigset_t sleeping; /* the same, but for those that it awaits */
static volatile sig_atomic_t caught;

static void on_child(int number)
{
	(void)number;
}

static void on_signal(int number)
{
	caught = number;
}

/* They come while children_wait() sleeps, and at no other time. */
void children_prepare(void)
{
	struct sigaction action;
	sigset_t awaited;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_child;
	action.sa_flags = SA_NOCLDSTOP;
	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	signals_take(on_signal, &awaited);
	sigprocmask(SIG_UNBLOCK, &awaited, &usual);
	sigprocmask(SIG_BLOCK, &awaited, &sleeping);
}

/* The signals wait no longer than they did before. */
static void leave(void (*action)(int))
{
	signals_leave(action);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &usual, NULL);
}

void children_finish(void)
{
	leave(SIG_DFL);
}

/* In the child. */
static void begin(pid_t bench, uint64_t ns)
{
	/* They reach all processes of a terminal; the bench sees to it. */
	leave(SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	alarm((unsigned)(ns / SECOND) + GRACE_S);
#ifdef __linux__
	prctl(PR_SET_NAME, BENCH_TOOL); /* as ps and pgrep show it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	if (getppid() != bench)
		_exit(BENCH_FAILED);
}

int children_start(struct child *child, uint64_t ns, int (*run)(void *arg),
    void *arg)
{
	pid_t bench = getpid();

	fflush(stdout);
	child->pid = fork();
	if (child->pid == 0) {
		begin(bench, ns);
		_exit(run(arg));
	}
	if (child->pid > 0)
		return 0;
	child->pid = 0;
	return errno;
}

/* Looks whether it has ended, or with options 0 waits for that. */
static bool ended(struct child *child, int options)
{
	pid_t pid;

	if (child->pid <= 0)
		return false;
	do {
		pid = wait4(child->pid, &child->status, options, &child->usage);
	} while (pid < 0 && errno == EINTR);
	if (pid != child->pid)
		return false;
	child->pid = 0;
	return true;
}

void children_end(struct child *children, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (children[i].pid > 0)
			kill(children[i].pid, SIGKILL);
	for (i = 0; i < count; i++)
		ended(&children[i], 0);
}

/* Ends all of it as the signal says. */
static void quit(struct child *children, size_t count)
{
	children_end(children, count);
	leave(SIG_DFL);
	raise(caught);
	_exit(BENCH_FAILED);
}

int children_look(struct child *children, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (ended(&children[i], WNOHANG))
			return (int)i;
	return CHILDREN_NONE;
}

int children_wait(struct child *children, size_t count, uint64_t deadline)
{
	struct timespec left = { .tv_sec = 0 };
	uint64_t now;
	int who;

	for (;;) {
		pselect(0, NULL, NULL, NULL, &left, &sleeping);
		if (caught != 0)
			quit(children, count);
		who = children_look(children, count);
		if (who != CHILDREN_NONE)
			return who;
		now = bench_now();
		if (now >= deadline)
			return CHILDREN_NONE;
		left.tv_sec = (time_t)((deadline - now) / SECOND);
		left.tv_nsec = (long)((deadline - now) % SECOND);
	}
}

const char *children_text(char text[CHILDREN_TEXT_MAX],
    const struct child *child)
{
	if (WIFSIGNALED(child->status))
		snprintf(text, CHILDREN_TEXT_MAX, "killed by signal %d: %s",
		    WTERMSIG(child->status),
		    strsignal(WTERMSIG(child->status)));
	else
		snprintf(text, CHILDREN_TEXT_MAX, "ended with exit status %d",
		    WEXITSTATUS(child->status));
	return text;
}
