/* SPDX-License-Identifier: ISC */
/*
 * Endless loops.  The system kills them when the bench dies, where it can;
 * besides, each looks for its parent now and then and has an alarm.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "bench.h"
#include "busy.h"
#include "place.h"

#define LOOK_NS 10000000u /* for the parent */

/* In the child.  The bench's output is closed, for who waits for its end. */
static void loop(pid_t bench, int cpu, unsigned alarm_s)
{
	uint64_t next;

#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	/* They reach all processes of a terminal; the bench sees to it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	alarm(alarm_s);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	if (place_pin(cpu) != 0)
		_exit(BENCH_FAILED);
	while (getppid() == bench) {
		next = bench_now() + LOOK_NS;
		while (bench_now() < next)
			;
	}
	_exit(BENCH_OK);
}

int busy_start(struct busy *busy, unsigned count, int cpu, unsigned alarm_s)
{
	pid_t bench = getpid(), pid;
	int e;

	busy->count = 0;
	while (busy->count < count) {
		pid = fork();
		if (pid == 0)
			loop(bench, cpu, alarm_s);
		if (pid < 0) {
			e = errno;
			busy_stop(busy);
			return e;
		}
		busy->loops[busy->count++] = pid;
	}
	return 0;
}

static pid_t wait_for(pid_t pid, int options)
{
	pid_t ended;

	do {
		ended = waitpid(pid, NULL, options);
	} while (ended < 0 && errno == EINTR);
	return ended;
}

bool busy_stop(struct busy *busy)
{
	bool ran = true;
	unsigned i;

	for (i = 0; i < busy->count; i++) {
		if (wait_for(busy->loops[i], WNOHANG) != 0) {
			ran = false;
			continue;
		}
		kill(busy->loops[i], SIGKILL);
		wait_for(busy->loops[i], 0);
	}
	busy->count = 0;
	return ran;
}
