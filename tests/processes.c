/* SPDX-License-Identifier: ISC */
/* Parts, checkpoints and the run. */
#include "processes_system.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST 256

static struct process running[MOST];

uint64_t soon(double seconds)
{
	return handoff_after((uint64_t)(seconds * 1e9));
}

/* ---- A part ------------------------------------------------------------ */

static void write_line(int fd, const char *word)
{
	char line[256];
	int n = snprintf(line, sizeof line, "%s\n", word);

	if (write(fd, line, (unsigned)n) != n)
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
	struct process p = system_start(part, arg ? arg : "");

	for (size_t i = 0; i < MOST; i++)
		if (running[i].pid == 0) {
			running[i] = p;
			return p;
		}
	fail_msg("too many parts");
	return p;
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
	int status = system_reap(p, seconds);

	if (status != STILL_THERE)
		forget(p);
	return status;
}

int finish(struct process *p)
{
	int status = reap(p, 20);

	if (status == STILL_THERE)
		fail_msg("the part does not end");
	return status;
}

void kill_hard(struct process *p)
{
	system_kill(p);
	assert_int_equal(finish(p), KILLED);
}

int processes_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < MOST; i++)
		if (running[i].pid != 0) {
			struct process p = running[i];

			system_kill(&p);
			reap(&p, 10);
		}
	return system_remove_names();
}

void without_fork(void **state)
{
	(void)state;
	SKIP("there is neither fork nor exec here");
}

void without_signals(void **state)
{
	(void)state;
	SKIP("there are no signals here");
}

void without_files(void **state)
{
	(void)state;
	SKIP("names are no files here");
}

/* ---- The program ------------------------------------------------------- */

static int play(int argc, char **argv, const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(parts[i].name, argv[2]) == 0)
			return parts[i].run(argc > 3 ? argv[3] : "");
	fprintf(stderr, "no such part: %s\n", argv[2]);
	return 126;
}

void processes_begin(int argc, char **argv, const struct part *parts, size_t n,
    unsigned watchdog_seconds)
{
	system_begin(argv[0]);
	if (argc >= 3 && strcmp(argv[1], "--part") == 0) {
		system_begin_part();
		_exit(play(argc, argv, parts, n));
	}
	system_begin_run(watchdog_seconds);
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
	if (system_end_run() != 0)
		failed++;
	return failed != 0;
}
