/* SPDX-License-Identifier: ISC */
/*
 * Processes of tests, for Windows.  All parts are in a job that ends with the
 * parent, however that ends.  They inherit two ends of pipes, whose numbers are
 * in their environment, and make the descriptors of them.
 */
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#include "processes_system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#include <tlhelp32.h>

#include "system.h"

#define MOST 256
#define PIPES "HANDOFF_TEST_PIPES"
#define BEGIN_MS 10000
#define TRIES 3 /* Wine fails at times, when many processes are busy */
#define KILLED_STATUS 0x40000009u /* is no exit status of ours */

static char program[MAX_PATH];
static HANDLE job;
static unsigned bound; /* s, for the watchdog */

/* Numbers are not used again while there is a handle. */
static struct {
	pid_t pid;
	HANDLE process;
} handles[MOST];

/* ---- Both -------------------------------------------------------------- */

double seconds_now(void)
{
	LARGE_INTEGER n;
	LARGE_INTEGER each;

	QueryPerformanceFrequency(&each);
	QueryPerformanceCounter(&n);
	return (double)n.QuadPart / (double)each.QuadPart;
}

void sleep_seconds(double seconds)
{
	Sleep((DWORD)(seconds * 1000 + 0.999));
}

double cpu_seconds(void)
{
	return cpu_of(getpid());
}

const char *run_directory(void)
{
	return "";
}

unsigned count_descriptors(void)
{
	DWORD n;

	return GetProcessHandleCount(GetCurrentProcess(), &n) ? n : 0;
}

unsigned count_mappings(void)
{
	return 0;
}

void kill_myself(void)
{
	TerminateProcess(GetCurrentProcess(), KILLED_STATUS);
}

/* ---- The parent -------------------------------------------------------- */

static HANDLE handle_of(const struct process *p)
{
	for (size_t i = 0; i < MOST; i++)
		if (handles[i].process && handles[i].pid == p->pid)
			return handles[i].process;
	fail_msg("there is no such process");
	return NULL;
}

static void keep(pid_t pid, HANDLE process)
{
	for (size_t i = 0; i < MOST; i++)
		if (!handles[i].process) {
			handles[i].pid = pid;
			handles[i].process = process;
			return;
		}
	fail_msg("too many processes");
}

/* The part's end is inherited by it alone, the other is a descriptor. */
static int make_pipe(HANDLE *inherited, int part_reads)
{
	HANDLE reads;
	HANDLE writes;

	assert_true(CreatePipe(&reads, &writes, NULL, 0));
	*inherited = part_reads ? reads : writes;
	SetHandleInformation(*inherited, HANDLE_FLAG_INHERIT,
	    HANDLE_FLAG_INHERIT);
	return _open_osfhandle((intptr_t)(part_reads ? writes : reads),
	    _O_BINARY | _O_NOINHERIT);
}

/* The part sets it when it begins. */
static HANDLE make_begun(void)
{
	SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited,
		.bInheritHandle = TRUE };
	HANDLE begun = CreateEventW(&inherited, TRUE, FALSE, NULL);

	assert_non_null(begun);
	return begun;
}

/* What is passed on beside the pipes: what a part says on its own. */
static size_t inherit(HANDLE *list, const HANDLE *ends, size_t n)
{
	static const DWORD standard[] = { STD_OUTPUT_HANDLE, STD_ERROR_HANDLE };

	memcpy(list, ends, n * sizeof *list);
	for (size_t i = 0; i < 2; i++) {
		HANDLE h = GetStdHandle(standard[i]);
		DWORD flags;

		if (GetHandleInformation(h, &flags) &&
		    SetHandleInformation(h, HANDLE_FLAG_INHERIT,
		        HANDLE_FLAG_INHERIT) &&
		    list[n - 1] != h)
			list[n++] = h;
	}
	return n;
}

static BOOL create(char *line, HANDLE *list, size_t n,
    PROCESS_INFORMATION *made)
{
	char space[256];
	SIZE_T size = sizeof space;
	STARTUPINFOEXA startup = {
		.StartupInfo = { .cb = sizeof startup,
		    .dwFlags = STARTF_USESTDHANDLES,
		    .hStdInput = GetStdHandle(STD_INPUT_HANDLE),
		    .hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE),
		    .hStdError = GetStdHandle(STD_ERROR_HANDLE) },
		.lpAttributeList = (LPPROC_THREAD_ATTRIBUTE_LIST)(void *)space
	};
	BOOL done;

	assert_true(InitializeProcThreadAttributeList(startup.lpAttributeList,
	    1, 0, &size));
	assert_true(UpdateProcThreadAttribute(startup.lpAttributeList, 0,
	    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, list, n * sizeof *list, NULL,
	    NULL));
	done = CreateProcessA(program, line, NULL, NULL, TRUE,
	    CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
	    &startup.StartupInfo, made);
	DeleteProcThreadAttributeList(startup.lpAttributeList);
	return done;
}

/* In quotes, as the C library takes it apart. */
static char *put_quoted(char *at, const char *text)
{
	assert_null(strpbrk(text, "\"\\"));
	return at + sprintf(at, " \"%s\"", text);
}

struct process system_start(const char *part, const char *arg)
{
	PROCESS_INFORMATION made;
	HANDLE list[5];
	HANDLE ends[3];
	struct process p;
	char line[2048] = "test --part";
	char numbers[96];

	assert_true(strlen(part) + strlen(arg) < sizeof line - 64);
	put_quoted(put_quoted(line + strlen(line), part), arg);
	p.to = make_pipe(&ends[0], 1);
	p.from = make_pipe(&ends[1], 0);
	ends[2] = make_begun();
	snprintf(numbers, sizeof numbers, "%llu %llu %llu",
	    (unsigned long long)(uintptr_t)ends[0],
	    (unsigned long long)(uintptr_t)ends[1],
	    (unsigned long long)(uintptr_t)ends[2]);
	assert_true(SetEnvironmentVariableA(PIPES, numbers));
	fflush(NULL);
	for (int tries = 0; !create(line, list, inherit(list, ends, 3), &made);)
		if (tries++ == TRIES)
			fail_msg("no process: error %lu", GetLastError());
	CloseHandle(ends[0]);
	CloseHandle(ends[1]);
	assert_true(AssignProcessToJobObject(job, made.hProcess));
	p.pid = (pid_t)made.dwProcessId;
	keep(p.pid, made.hProcess);
	ResumeThread(made.hThread);
	CloseHandle(made.hThread);
	/* Not begun, it would look as if it slept already. */
	WaitForMultipleObjects(2, (HANDLE[]){ ends[2], made.hProcess }, FALSE,
	    BEGIN_MS);
	CloseHandle(ends[2]);
	return p;
}

int says_within(struct process *p, double seconds)
{
	HANDLE pipe = (HANDLE)_get_osfhandle(p->from);
	double end = seconds_now() + seconds;
	DWORD there = 0;

	while (PeekNamedPipe(pipe, NULL, 0, NULL, &there, NULL) && there == 0 &&
	    seconds_now() < end)
		Sleep(1);
	return there != 0;
}

int system_reap(const struct process *p, double seconds)
{
	HANDLE process = handle_of(p);
	DWORD status;

	if (WaitForSingleObject(process, (DWORD)(seconds * 1000)) !=
	        WAIT_OBJECT_0 ||
	    !GetExitCodeProcess(process, &status))
		return STILL_THERE;
	for (size_t i = 0; i < MOST; i++)
		if (handles[i].process == process)
			handles[i].process = NULL;
	CloseHandle(process);
	return status == KILLED_STATUS ? KILLED : (int)status;
}

int has_ended(const struct process *p)
{
	return WaitForSingleObject(handle_of(p), 0) == WAIT_OBJECT_0;
}

void system_kill(const struct process *p)
{
	TerminateProcess(handle_of(p), KILLED_STATUS);
}

/* Calls `each` for the threads of a process: for how many. */
static unsigned with_threads(const struct process *p, DWORD (*each)(HANDLE))
{
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
	THREADENTRY32 entry = { .dwSize = sizeof entry };
	unsigned n = 0;

	assert_true(all != INVALID_HANDLE_VALUE);
	for (BOOL more = Thread32First(all, &entry); more;
	     more = Thread32Next(all, &entry)) {
		HANDLE thread;

		if (entry.th32OwnerProcessID != (DWORD)p->pid)
			continue;
		thread = OpenThread(THREAD_SUSPEND_RESUME, FALSE,
		    entry.th32ThreadID);
		if (!thread)
			continue;
		n += each(thread) != (DWORD)-1;
		CloseHandle(thread);
	}
	CloseHandle(all);
	return n;
}

void stop_process(const struct process *p)
{
	assert_true(with_threads(p, SuspendThread) > 0);
}

void continue_process(const struct process *p)
{
	assert_true(with_threads(p, ResumeThread) > 0);
}

/* ---- The program ------------------------------------------------------- */

static void quiet(void)
{
	SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
}

void system_begin(const char *self)
{
	(void)self;
	quiet();
	GetModuleFileNameA(NULL, program, sizeof program);
}

void system_begin_part(void)
{
	static const int flags[] = { _O_RDONLY, 0 };
	unsigned long long ends[3];
	const char *numbers = getenv(PIPES);

	if (!numbers ||
	    sscanf(numbers, "%llu %llu %llu", &ends[0], &ends[1], &ends[2]) !=
	        3)
		exit(121);
	for (int i = 0; i < 2; i++) {
		int fd = _open_osfhandle((intptr_t)ends[i],
		    flags[i] | _O_BINARY | _O_NOINHERIT);

		if (fd != PART_TO + i)
			exit(121);
	}
	SetEvent((HANDLE)(uintptr_t)ends[2]);
	CloseHandle((HANDLE)(uintptr_t)ends[2]);
}

static DWORD WINAPI bark(void *unused)
{
	static const char text[] = "watchdog: the test hangs\n";
	DWORD n;

	(void)unused;
	Sleep(bound * 1000);
	WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, sizeof text - 1, &n,
	    NULL);
	TerminateProcess(GetCurrentProcess(), 99);
	return 0;
}

void system_begin_run(unsigned watchdog_seconds)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits = { .BasicLimitInformation = {
		       .LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE } };
	char space[64];
	HANDLE dog;

	bound = watchdog_seconds;
	job = CreateJobObjectW(NULL, NULL);
	dog = CreateThread(NULL, 0, bark, NULL, 0, NULL);
	snprintf(space, sizeof space, "test-%lu-%llx", GetCurrentProcessId(),
	    (unsigned long long)handoff_now());
	if (!job || !dog ||
	    !SetInformationJobObject(job, JobObjectExtendedLimitInformation,
	        &limits, sizeof limits) ||
	    setenv("HANDOFF_DIR", space, 1) != 0) {
		fprintf(stderr, "the run: error %lu\n", GetLastError());
		exit(99);
	}
	CloseHandle(dog);
}

int system_remove_names(void)
{
	return 0;
}

int system_end_run(void)
{
	return 0;
}
