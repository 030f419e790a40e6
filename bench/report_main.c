/* SPDX-License-Identifier: ISC */
/*
 * handoff-bench report: runs the parts of the program one after another and
 * writes what they print into a page.  Nothing is left of a run that a signal
 * ends: it comes only while a part runs, and ends that first.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "options.h"
#include "plot.h"
#include "report.h"
#include "report_page.h"

#define ARGUMENTS (PAGE_ARGUMENTS + 5) /* and those that are added */

enum { OPTION_OUTPUT = OPTION_OWN };

struct report_options {
	const char *output;
	const char *time; /* as text, checked */
};

struct report_run {
	const struct report_options *options;
	sigset_t usual;
	bool plots;
	bool failed; /* some part has */
	char directory[PATH_MAX];
};

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t caught;

static bool failed(const char *what, const char *name)
{
	fprintf(stderr, BENCH_TOOL ": cannot %s %s: %s\n", what, name,
	    strerror(errno));
	return false;
}

/* ---- signals ----------------------------------------------------------- */

static void on_signal(int number)
{
	caught = number;
}

static void hold_signals(sigset_t *usual)
{
	struct sigaction action, old;
	sigset_t held;
	size_t i;

	sigemptyset(&held);
	memset(&action, 0, sizeof(action));
	sigemptyset(&action.sa_mask);
	action.sa_handler = on_signal;
	for (i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &old);
		if (old.sa_handler == SIG_IGN)
			continue; /* nohup */
		sigaction(signals[i], &action, NULL);
		sigaddset(&held, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &held, usual);
}

static void end_by_signal(const sigset_t *usual)
{
	signal(caught, SIG_DFL);
	sigprocmask(SIG_SETMASK, usual, NULL);
	raise(caught);
}

/* ---- one part ---------------------------------------------------------- */

static void become_part(const struct report_run *run, char **argv, int out)
{
	size_t i;
	struct sigaction action;

	for (i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &action);
		if (action.sa_handler == on_signal)
			signal(signals[i], SIG_DFL);
	}
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
	sigprocmask(SIG_SETMASK, &run->usual, NULL);
	dup2(out, STDOUT_FILENO);
#ifdef __linux__
	execv("/proc/self/exe", argv);
#endif
	execvp(bench_path, argv);
	_exit(127);
}

/* Reads all that a part prints, until it ends or a signal comes.  NULL
 * without memory, or if it could not be read. */
static char *read_all(int in, const sigset_t *usual)
{
	size_t size = 0, room = 0;
	char *text = NULL, *more;
	ssize_t n = 1;
	fd_set set;

	while (n > 0 && !caught) {
		if (size + 1 >= room) {
			room = 2 * room + 65536;
			more = realloc(text, room);
			if (!more)
				break;
			text = more;
		}
		text[size] = '\0';
		FD_ZERO(&set);
		FD_SET(in, &set);
		if (pselect(in + 1, &set, NULL, NULL, NULL, usual) < 0) {
			n = errno == EINTR ? 1 : -1;
			continue;
		}
		n = read(in, text + size, room - size - 1);
		size += n > 0 ? (size_t)n : 0;
	}
	if (n == 0)
		return text;
	free(text);
	return NULL;
}

/* What the part prints, or NULL if it fails. */
static char *run_part(const struct report_run *run, char **argv)
{
	int ends[2], status = -1;
	char *text;
	pid_t pid;

	if (pipe(ends) != 0)
		return NULL;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become_part(run, argv, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return NULL;
	}
	text = read_all(ends[0], &run->usual);
	close(ends[0]);
	if (!text)
		kill(pid, SIGTERM);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (text && WIFEXITED(status) && WEXITSTATUS(status) == BENCH_OK)
		return text;
	free(text);
	return NULL;
}

/* ---- the directory of pictures ----------------------------------------- */

static bool make_directory(struct report_run *run)
{
	const char *parent = getenv("TMPDIR");
	int n;

	if (!parent || *parent == '\0')
		parent = "/tmp";
	n = snprintf(run->directory, sizeof(run->directory),
	    "%s/" BENCH_TOOL "-report-XXXXXX", parent);
	errno = ENAMETOOLONG;
	if (n > 0 && (size_t)n < sizeof(run->directory) &&
	    mkdtemp(run->directory))
		return true;
	return failed("make a directory in", parent);
}

static void empty_directory(const struct report_run *run)
{
	DIR *directory = opendir(run->directory);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)) != NULL)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
}

/* ---- the page ---------------------------------------------------------- */

static void add_section(struct report_run *run, FILE *out,
    const struct page_section *s)
{
	char time[64], plot[PATH_MAX + 16], format[] = "--format=csv";
	char *argv[ARGUMENTS], *text;
	size_t n = 1, i;

	/* Neither exec nor the part changes them. */
	argv[0] = (char *)(uintptr_t)bench_path;
	for (i = 0; i < PAGE_ARGUMENTS && s->arguments[i]; i++)
		argv[n++] = (char *)(uintptr_t)s->arguments[i];
	argv[n++] = format;
	snprintf(time, sizeof(time), "--time=%s", run->options->time);
	if (s->timed)
		argv[n++] = time;
	snprintf(plot, sizeof(plot), "--plot=%s", run->directory);
	if (run->plots && s->pictures[0])
		argv[n++] = plot;
	argv[n] = NULL;
	text = run_part(run, argv);
	if (caught)
		return;
	run->failed = run->failed || !text;
	page_section(out, s, text, run->plots ? run->directory : NULL);
	free(text);
	empty_directory(run);
}

static void add_all(struct report_run *run, FILE *out)
{
	bool progress = isatty(STDERR_FILENO);
	size_t i;

	page_begin(out);
	for (i = 0; i < page_section_count && !caught; i++) {
		if (progress)
			fprintf(stderr, "%zu of %zu: %s\n", i + 1,
			    page_section_count, page_sections[i].title);
		add_section(run, out, &page_sections[i]);
	}
	page_end(out);
}

/* Writes the page beside where it is to be, then puts it there. */
static bool save(const char *page, size_t size, const char *output)
{
	char name[PATH_MAX];
	int n = snprintf(name, sizeof(name), "%s.%ld.tmp", output,
	    (long)getpid());
	FILE *file;
	bool ok;

	if (n < 0 || (size_t)n >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return failed("write", output);
	}
	file = fopen(name, "wxe");
	if (!file)
		return failed("write", name);
	ok = fwrite(page, 1, size, file) == size;
	ok = fclose(file) == 0 && ok;
	ok = ok && rename(name, output) == 0;
	if (ok)
		return true;
	failed("write", output);
	unlink(name);
	return false;
}

/* So that not all is measured in vain. */
static bool can_save(const char *output)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(output, '/');
	int n = slash ? (int)(slash - output) + 1 : 1;

	snprintf(parent, sizeof(parent), "%.*s", n, slash ? output : ".");
	return access(parent, W_OK | X_OK) == 0 || failed("write into", parent);
}

static bool run_report(struct report_run *run)
{
	char *page = NULL;
	size_t size = 0;
	FILE *out;
	bool ok;

	run->plots = plot_possible();
	if (!make_directory(run))
		return false;
	out = open_memstream(&page, &size);
	if (out)
		add_all(run, out);
	empty_directory(run);
	rmdir(run->directory);
	ok = out && !ferror(out);
	if (!out || fclose(out) != 0 || !ok) {
		errno = ENOMEM;
		ok = failed("write", run->options->output);
	}
	ok = ok && !caught && save(page, size, run->options->output);
	free(page);
	return ok;
}

/* ---- the command line -------------------------------------------------- */

static const struct option longs[] = {
	{ "output", required_argument, NULL, OPTION_OUTPUT },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static void help(void)
{
	printf("usage: " BENCH_TOOL " report --output=FILE [option ...]\n"
	       "Measures everything, in about two minutes, and writes a page "
	       "of HTML.\n\n"
	       "  --output=FILE   the page\n"
	       "  --time=SECONDS  of a trial of pingpong; default 0.1\n"
	       "  --help\n");
}

static int take(void *options, int option, char *value)
{
	struct report_options *o = options;
	uint64_t ns;

	if (option == OPTION_OUTPUT) {
		if (*value == '\0')
			return options_wrong("not a file", value);
		o->output = value;
		return 0;
	}
	if (strlen(value) > 32 || !options_seconds(&ns, value))
		return options_wrong("not a time in seconds", value);
	o->time = value;
	return 0;
}

int report_main(int argc, char **argv)
{
	static const struct options_command command = {
		.longs = longs,
		.help = help,
		.take = take,
	};
	struct report_options o = { .time = "0.1" };
	static struct report_run run;
	int status;
	bool ok;

	if (!options_parse(&command, &o, argc, argv, &status))
		return status;
	if (!o.output)
		return options_wrong("where to? this option is needed",
		    "--output");
	if (!can_save(o.output))
		return BENCH_FAILED;
	run.options = &o;
	hold_signals(&run.usual);
	ok = run_report(&run);
	if (caught)
		end_by_signal(&run.usual);
	return ok && !run.failed ? BENCH_OK : BENCH_FAILED;
}
