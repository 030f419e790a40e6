/* SPDX-License-Identifier: ISC */
/* What tests need of the system: Windows. */
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#include "system.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define APART_MS 20000
#define STILL_MS 100 /* without work: it sleeps */

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s: error %lu\n", what, GetLastError());
	abort();
}

/* ---- Memory ------------------------------------------------------------ */

void *new_page(void)
{
	void *page = VirtualAlloc(NULL, PAGE, MEM_RESERVE | MEM_COMMIT,
	    PAGE_READWRITE);

	need(page != NULL, "VirtualAlloc");
	return page;
}

void drop_page(void *page)
{
	need(VirtualFree(page, 0, MEM_RELEASE), "VirtualFree");
}

static void protect(void *at, DWORD how)
{
	void *page = (void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));
	DWORD before;

	need(VirtualProtect(page, PAGE, how, &before), "VirtualProtect");
}

void hide_page(void *at)
{
	protect(at, PAGE_NOACCESS);
}

void show_page(void *at)
{
	protect(at, PAGE_READWRITE);
}

void *shared_pages(size_t bytes)
{
	(void)bytes;
	return NULL;
}

void map_twice(void *at[2], size_t bytes)
{
	HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL,
	    PAGE_READWRITE, 0, (DWORD)bytes, NULL);

	need(section != NULL, "CreateFileMapping");
	for (int i = 0; i < 2; i++) {
		at[i] = MapViewOfFile(section, FILE_MAP_READ | FILE_MAP_WRITE,
		    0, 0, bytes);
		need(at[i] != NULL, "MapViewOfFile");
	}
	CloseHandle(section);
}

/* If there is something already, that is as good. */
void keep_clear(void *there, size_t bytes)
{
	VirtualAlloc(there, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

/* ---- CPUs and processes ------------------------------------------------ */

static DWORD_PTR cpus(void)
{
	DWORD_PTR may;
	DWORD_PTR all;

	need(GetProcessAffinityMask(GetCurrentProcess(), &may, &all), "CPUs");
	return may;
}

unsigned count_cpus(void)
{
	unsigned n = 0;

	for (DWORD_PTR left = cpus(); left != 0; left &= left - 1)
		n++;
	return n;
}

void pin_to_first_cpu(void)
{
	DWORD_PTR all = cpus();

	need(SetProcessAffinityMask(GetCurrentProcess(), all & ~(all - 1)),
	    "CPUs");
}

static double seconds_of(const FILETIME *t)
{
	return ((double)t->dwHighDateTime * 4294967296.0 +
	           (double)t->dwLowDateTime) /
	    1e7;
}

double cpu_of(pid_t pid)
{
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE,
	    (DWORD)pid);
	FILETIME begun;
	FILETIME ended;
	FILETIME system;
	FILETIME user;
	BOOL told;

	if (!process)
		return -1;
	told = GetProcessTimes(process, &begun, &ended, &system, &user);
	CloseHandle(process);
	return told ? seconds_of(&system) + seconds_of(&user) : -1;
}

/* The system does not say what its threads do, but whether they work. */
int is_still(pid_t pid)
{
	double before = cpu_of(pid);

	Sleep(STILL_MS);
	return cpu_of(pid) <= before;
}

void program_name(char *name, size_t n)
{
	char path[MAX_PATH];
	const char *base;

	GetModuleFileNameA(NULL, path, sizeof path);
	base = strrchr(path, '\\');
	snprintf(name, n, "%s", base ? base + 1 : path);
}

pid_t this_thread(void)
{
	return (pid_t)GetCurrentThreadId();
}

/* Where the function is, from where the program is. */
static uintptr_t base(void)
{
	return (uintptr_t)GetModuleHandleA(NULL);
}

void begin_apart(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "--apart") != 0)
		return;
	((void (*)(void))(base() + strtoull(argv[2], NULL, 16)))();
	_exit(0);
}

int run_apart(void (*fn)(void))
{
	char program[MAX_PATH];
	char line[64];
	STARTUPINFOA startup = { .cb = sizeof startup };
	PROCESS_INFORMATION made;
	DWORD status = 1;

	GetModuleFileNameA(NULL, program, sizeof program);
	snprintf(line, sizeof line, "test --apart %llx",
	    (unsigned long long)((uintptr_t)fn - base()));
	need(CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL,
	         &startup, &made),
	    "CreateProcess");
	if (WaitForSingleObject(made.hProcess, APART_MS) != WAIT_OBJECT_0)
		TerminateProcess(made.hProcess, 1);
	GetExitCodeProcess(made.hProcess, &status);
	CloseHandle(made.hThread);
	CloseHandle(made.hProcess);
	return (int)status;
}

/* ---- Strings and the environment --------------------------------------------------- */

int setenv(const char *name, const char *value, int replace)
{
	if (!replace && getenv(name))
		return 0;
	return _putenv_s(name, value);
}

int unsetenv(const char *name)
{
	return _putenv_s(name, "");
}

char *strsep(char **rest, const char *ends)
{
	char *word = *rest;

	if (!word)
		return NULL;
	*rest = strpbrk(word, ends);
	if (*rest)
		*(*rest)++ = '\0';
	return word;
}

/* ---- What Windows does not have ---------------------------------------- */

int fork(void)
{
	errno = ENOSYS;
	return -1;
}

pid_t getppid(void)
{
	return -1;
}

pid_t waitpid(pid_t pid, int *status, int flags)
{
	(void)pid;
	(void)status;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

int kill(pid_t pid, int number)
{
	(void)pid;
	(void)number;
	errno = ENOSYS;
	return -1;
}

unsigned alarm(unsigned seconds)
{
	(void)seconds;
	abort();
}

void catch_signal(int number, void (*fn)(int number), int restart)
{
	(void)number;
	(void)fn;
	(void)restart;
	need(0, "a signal");
}

void alarm_every(unsigned us)
{
	(void)us;
	need(0, "signals");
}
