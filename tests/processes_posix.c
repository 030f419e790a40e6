/* SPDX-License-Identifier: ISC */
/* Processes of tests, for POSIX: a group, pipes, a directory, an alarm. */
#define _GNU_SOURCE
#include "processes_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char program[4096];
static char directory[64];

/* ---- Both -------------------------------------------------------------- */

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void sleep_seconds(double seconds)
{
	struct timespec t = { (time_t)seconds,
		(long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

const char *run_directory(void)
{
	return getenv("HANDOFF_DIR");
}

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		n += strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}

unsigned count_descriptors(void)
{
	return count_entries("/proc/self/fd");
}

unsigned count_names(void)
{
	return count_entries(run_directory());
}

unsigned count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned n = 0;
	int c;

	if (!f)
		return 0;
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

void kill_myself(void)
{
	raise(SIGKILL);
}

/* ---- The parent -------------------------------------------------------- */

struct process system_start(const char *part, const char *arg)
{
	struct process p;
	int to[2];
	int from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	fflush(NULL);
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		/* Out of the way first: the ends may be numbered 3 and 4. */
		int in = fcntl(to[0], F_DUPFD, 10);
		int out = fcntl(from[1], F_DUPFD, 10);

		dup2(in, PART_TO);
		dup2(out, PART_FROM);
		close(in);
		close(out);
		execl(program, program, "--part", part, arg, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	p.to = to[1];
	p.from = from[0];
	return p;
}

int says_within(struct process *p, double seconds)
{
	struct pollfd f = { .fd = p->from, .events = POLLIN };
	double end = seconds_now() + seconds;
	int n;

	do {
		double left = end - seconds_now();

		n = poll(&f, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0 && (f.revents & POLLIN);
}

int system_reap(const struct process *p, double seconds)
{
	double end = seconds_now() + seconds;
	int status;
	pid_t got;

	while ((got = waitpid(p->pid, &status, WNOHANG)) == 0 &&
	    seconds_now() < end)
		sleep_seconds(0.001);
	if (got != p->pid)
		return STILL_THERE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int has_ended(const struct process *p)
{
	siginfo_t info = { 0 };

	assert_int_equal(waitid(P_PID, (id_t)p->pid, &info,
	                     WEXITED | WNOHANG | WNOWAIT),
	    0);
	return info.si_pid != 0;
}

void system_kill(const struct process *p)
{
	kill(p->pid, SIGKILL);
}

void stop_process(const struct process *p)
{
	assert_int_equal(kill(p->pid, SIGSTOP), 0);
}

void continue_process(const struct process *p)
{
	assert_int_equal(kill(p->pid, SIGCONT), 0);
}

int unlink_name(const char *name)
{
	return handoff_unlink(name);
}

/* ---- The program ------------------------------------------------------- */

void system_begin(const char *self)
{
	ssize_t length = readlink("/proc/self/exe", program,
	    sizeof program - 1);

	if (length > 0)
		program[length] = '\0';
	else
		snprintf(program, sizeof program, "%s", self);
}

void system_begin_part(void)
{
}

static void bark(int signal)
{
	static const char text[] = "watchdog: the test hangs\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
	char path[sizeof directory + 300];
	DIR *dir = opendir(directory);
	const struct dirent *entry;

	(void)ignored;
	(void)signal;
	/* Not meant for a handler, but the program is lost anyway. */
	while (dir && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
		unlink(path);
	}
	rmdir(directory);
	kill(0, SIGKILL);
}

void system_begin_run(unsigned watchdog_seconds)
{
	setpgid(0, 0);
	signal(SIGALRM, bark);
	signal(SIGPIPE, SIG_IGN);
	alarm(watchdog_seconds);
	snprintf(directory, sizeof directory, "%s/handoff-test.XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(directory) || setenv("HANDOFF_DIR", directory, 1) != 0) {
		perror("the run's directory");
		exit(99);
	}
}

int system_remove_names(void)
{
	char command[256];

	snprintf(command, sizeof command, "rm -rf '%s'/* '%s'/.[!.]*",
	    directory, directory);
	return system(command) == 0 ? 0 : -1;
}

int system_end_run(void)
{
	return rmdir(directory);
}
