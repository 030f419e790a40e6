/* SPDX-License-Identifier: ISC */
/* What tests need of the system: POSIX. */
#define _GNU_SOURCE
#include "system.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

static void need(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	abort();
}

/* ---- Memory ------------------------------------------------------------ */

static void *map(size_t bytes, int flags, int fd)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	need(memory != MAP_FAILED, "mmap");
	return memory;
}

void *new_page(void)
{
	return map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void drop_page(void *page)
{
	need(munmap(page, PAGE) == 0, "munmap");
}

static void protect(void *at, int how)
{
	void *page = (void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));

	need(mprotect(page, PAGE, how) == 0, "mprotect");
}

void hide_page(void *at)
{
	protect(at, PROT_NONE);
}

void show_page(void *at)
{
	protect(at, PROT_READ | PROT_WRITE);
}

void *shared_pages(size_t bytes)
{
	return map(bytes, MAP_SHARED | MAP_ANONYMOUS, -1);
}

void map_twice(void *at[2], size_t bytes)
{
	FILE *f = tmpfile();

	need(f && ftruncate(fileno(f), (off_t)bytes) == 0, "a file");
	for (int i = 0; i < 2; i++)
		at[i] = map(bytes, MAP_SHARED, fileno(f));
	fclose(f);
}

void keep_clear(void *there, size_t bytes)
{
	/* If there is something already, that is as good. */
	mmap(there, bytes, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* ---- CPUs, processes, signals ------------------------------------------ */

unsigned count_cpus(void)
{
	cpu_set_t cpus;

	need(sched_getaffinity(0, sizeof cpus, &cpus) == 0, "affinity");
	return (unsigned)CPU_COUNT(&cpus);
}

void pin_to_first_cpu(void)
{
	cpu_set_t may;
	cpu_set_t one;
	size_t cpu = 0;

	need(sched_getaffinity(0, sizeof may, &may) == 0, "affinity");
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	need(sched_setaffinity(0, sizeof one, &one) == 0, "affinity");
}

int is_still(pid_t pid)
{
	char path[64];
	char c = 'S';
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 1;
	if (fscanf(f, "%*d (%*[^)]) %c", &c) != 1)
		c = 'S';
	fclose(f);
	return c == 'S' || c == 'Z';
}

void program_name(char *name, size_t n)
{
	FILE *f = fopen("/proc/self/comm", "r");

	if (!f || !fgets(name, (int)n, f))
		snprintf(name, n, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
}

pid_t this_thread(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void begin_apart(int argc, char **argv)
{
	(void)argc;
	(void)argv;
}

int run_apart(void (*fn)(void))
{
	int status = -1;
	pid_t child = fork();

	need(child >= 0, "fork");
	if (child == 0) {
		alarm(20);
		fn();
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

double cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		return -1;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void catch_signal(int number, void (*fn)(int number), int restart)
{
	struct sigaction action = { .sa_handler = fn,
		.sa_flags = restart ? SA_RESTART : 0 };

	need(sigaction(number, &action, NULL) == 0, "sigaction");
}

void alarm_every(unsigned us)
{
	const struct itimerval each = { { 0, us }, { 0, us } };

	need(setitimer(ITIMER_REAL, &each, NULL) == 0, "setitimer");
}
