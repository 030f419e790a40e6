/* SPDX-License-Identifier: ISC */
/*
 * The program gnuplot.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "plot.h"

int plot_run(const char *directory, const char *argument)
{
	int null, status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
#ifdef __linux__
		prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
		if (chdir(directory) == 0)
			execlp("gnuplot", "gnuplot", argument, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		return 127;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

bool plot_possible(void)
{
	return plot_run("/", "--version") == 0;
}

static bool failed(const char *what, const char *name)
{
	fprintf(stderr, BENCH_TOOL ": cannot %s %s: %s\n", what, name,
	    strerror(errno));
	return false;
}

bool plot_prepare(const char *directory)
{
	if (!plot_possible()) {
		fprintf(stderr,
		    BENCH_TOOL ": gnuplot is needed to draw, and "
		               "is not here\n");
		return false;
	}
	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return failed("make", directory);
	if (access(directory, W_OK | X_OK) != 0)
		return failed("write into", directory);
	return true;
}

FILE *plot_create(const char *directory, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = NULL;

	errno = ENAMETOOLONG;
	if (n > 0 && (size_t)n < sizeof(path))
		file = fopen(path, "we");
	if (!file)
		failed("write", name);
	return file;
}

bool plot_finish(FILE *file, const char *name)
{
	bool bad = ferror(file) != 0;

	errno = EIO;
	return (fclose(file) == 0 && !bad) || failed("write", name);
}
