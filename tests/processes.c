/* SPDX-License-Identifier: ISC */
/* Parts, checkpoints, the watchdog and the run's directory, for POSIX. */
#define _GNU_SOURCE
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PART_TO 3 /* the descriptors that a part finds */
#define PART_FROM 4
#define MOST 256

static char program[4096];
static char directory[64];
static struct process running[MOST];

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

uint64_t soon(double seconds)
{
	return handoff_after((uint64_t)(seconds * 1e9));
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

/* ---- A part ------------------------------------------------------------ */

static void write_line(int fd, const char *word)
{
	char line[256];
	int n = snprintf(line, sizeof line, "%s\n", word);

	if (write(fd, line, (size_t)n) != n)
		_exit(125);
}

/* One line, without its end: false at the end of the stream. */
static int read_line(int fd, char *line, size_t most)
{
	size_t n = 0;

	while (n + 1 < most) {
		ssize_t got = read(fd, line + n, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
	return 1;
}

void say(const char *word)
{
	write_line(PART_FROM, word);
}

const char *await_any(void)
{
	static char line[256];

	if (!read_line(PART_TO, line, sizeof line))
		_exit(124);
	return line;
}

void await(const char *word)
{
	const char *line = await_any();

	if (strcmp(line, word) != 0) {
		fprintf(stderr, "awaited %s, was told %s\n", word, line);
		_exit(123);
	}
}

void linger(void)
{
	char c;

	while (read(PART_TO, &c, 1) > 0 || errno == EINTR)
		;
	_exit(122);
}

void check(int holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	_exit(line % 100 + 1);
}

void check_result(int e, int expected, const char *what, const char *file,
    int line)
{
	if (e == expected)
		return;
	fprintf(stderr, "%s:%d: %s: %s (%d), expected %s\n", file, line, what,
	    handoff_strerror(e), e, handoff_strerror(expected));
	_exit(line % 100 + 1);
}

/* ---- The parent -------------------------------------------------------- */

static void forget(struct process *p)
{
	for (size_t i = 0; i < MOST; i++)
		if (running[i].pid == p->pid)
			running[i].pid = 0;
	close(p->to);
	close(p->from);
	p->pid = 0;
}

struct process start(const char *part, const char *arg)
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
		execl(program, program, "--part", part, arg ? arg : "",
		    (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	p.to = to[1];
	p.from = from[0];
	for (size_t i = 0; i < MOST; i++)
		if (running[i].pid == 0) {
			running[i] = p;
			return p;
		}
	fail_msg("too many parts");
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

void expect_within(struct process *p, const char *word, double seconds)
{
	char line[256] = "";

	if (!says_within(p, seconds))
		fail_msg("no \"%s\" within %.1f s", word, seconds);
	if (!read_line(p->from, line, sizeof line))
		fail_msg("the part ended before it said \"%s\"", word);
	assert_string_equal(line, word);
}

void expect(struct process *p, const char *word)
{
	expect_within(p, word, 10);
}

void says(struct process *p, int result)
{
	expect(p, handoff_strerror(result));
}

void tell(struct process *p, const char *word)
{
	write_line(p->to, word);
}

static int reap(struct process *p, double seconds)
{
	double end = seconds_now() + seconds;
	int status;
	pid_t got;

	while ((got = waitpid(p->pid, &status, WNOHANG)) == 0 &&
	    seconds_now() < end)
		sleep_seconds(0.001);
	if (got != p->pid)
		return -1000;
	forget(p);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int finish(struct process *p)
{
	int status = reap(p, 20);

	if (status == -1000)
		fail_msg("the part does not end");
	return status;
}

void kill_hard(struct process *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(finish(p), -SIGKILL);
}

int processes_teardown(void **state)
{
	char command[256];

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		if (running[i].pid != 0) {
			struct process p = running[i];

			kill(p.pid, SIGKILL);
			reap(&p, 10);
		}
	snprintf(command, sizeof command, "rm -rf '%s'/* '%s'/.[!.]*",
	    directory, directory);
	return system(command) == 0 ? 0 : -1;
}

/* ---- The program ------------------------------------------------------- */

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

void processes_begin(int argc, char **argv, const struct part *parts, size_t n,
    unsigned watchdog_seconds)
{
	ssize_t length = readlink("/proc/self/exe", program,
	    sizeof program - 1);

	if (length > 0)
		program[length] = '\0';
	else
		snprintf(program, sizeof program, "%s", argv[0]);
	if (argc >= 3 && strcmp(argv[1], "--part") == 0) {
		for (size_t i = 0; i < n; i++)
			if (strcmp(parts[i].name, argv[2]) == 0)
				_exit(parts[i].run(argc > 3 ? argv[3] : ""));
		fprintf(stderr, "no such part: %s\n", argv[2]);
		_exit(126);
	}
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

int processes_end(int failed)
{
	unsigned names = count_names();

	processes_teardown(NULL);
	if (names != 0) {
		fprintf(stderr, "%u names are left in the run's directory\n",
		    names);
		failed++;
	}
	if (rmdir(directory) != 0)
		failed++;
	return failed != 0;
}
