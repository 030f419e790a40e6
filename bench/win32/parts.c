/* SPDX-License-Identifier: ISC */
/*
 * The processes of a trial, on Windows: children with pipes, in a job which ends
 * with the bench and ends them.
 */
#include "api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "../parts.h"
#include "../system.h"

#define MS 1000000u
#define ROOM 65536u /* of a pipe */

struct process {
	HANDLE process;
	HANDLE to;          /* what the bench tells it */
	HANDLE from;        /* what it says */
	OVERLAPPED reading; /* with an event of its own */
	bool pending;
	bool broken;
	char buffer[4096]; /* what has been read, and `got` of it, from `at` */
	DWORD got, at;
};

static HANDLE job, interrupted;
static volatile LONG caught;

static BOOL WINAPI on_event(DWORD event)
{
	(void)event;
	InterlockedExchange(&caught, 1);
	SetEvent(interrupted);
	return TRUE;
}

void parts_prepare(void)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;

	memset(&limits, 0, sizeof(limits));
	limits.BasicLimitInformation.LimitFlags =
	    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
	job = CreateJobObjectA(NULL, NULL);
	if (job)
		SetInformationJobObject(job, JobObjectExtendedLimitInformation,
		    &limits, sizeof(limits));
	interrupted = CreateEventA(NULL, TRUE, FALSE, NULL);
	SetConsoleCtrlHandler(on_event, TRUE);
}

void parts_finish(void)
{
	SetConsoleCtrlHandler(on_event, FALSE);
	CloseHandle(interrupted);
	CloseHandle(job);
}

bool parts_interrupted(void)
{
	return caught != 0;
}

void parts_quit(void)
{
	if (caught != 0)
		ExitProcess(STATUS_CONTROL_C_EXIT);
}

/* ---- starting and ending ----------------------------------------------- */

/* A pipe whose end `ours` can be read from without waiting, to write to which a
 * child inherits `its`. */
static bool open_from(HANDLE *ours, HANDLE *its)
{
	SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };
	char name[BENCH_NAME_MAX + 16];
	static unsigned serial;
	char random[BENCH_NAME_MAX];

	bench_name(random, serial++);
	snprintf(name, sizeof(name), "\\\\.\\pipe\\%s", random);
	*ours = CreateNamedPipeA(name,
	    PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED |
	        FILE_FLAG_FIRST_PIPE_INSTANCE,
	    PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, ROOM,
	    ROOM, 0, NULL);
	if (*ours == INVALID_HANDLE_VALUE)
		return false;
	*its = CreateFileA(name, GENERIC_WRITE, 0, &inherited, OPEN_EXISTING, 0,
	    NULL);
	return *its != INVALID_HANDLE_VALUE;
}

/* The same to write to the child. */
static bool open_to(HANDLE *ours, HANDLE *its)
{
	SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };

	return CreatePipe(its, ours, &inherited, ROOM) &&
	    SetHandleInformation(*ours, HANDLE_FLAG_INHERIT, 0);
}

/* Starts this program again, in the job before it runs. */
static bool run(struct process *p, int part, HANDLE in, HANDLE out)
{
	STARTUPINFOA info = { .cb = sizeof(info),
		.dwFlags = STARTF_USESTDHANDLES };
	PROCESS_INFORMATION made;
	char path[MAX_PATH], command[64];
	DWORD length = GetModuleFileNameA(NULL, path, sizeof(path));

	if (length == 0 || length >= sizeof(path))
		return false;
	snprintf(command, sizeof(command), BENCH_TOOL " --part=%d", part);
	info.hStdInput = in;
	info.hStdOutput = out;
	info.hStdError = GetStdHandle(STD_ERROR_HANDLE);
	if (!CreateProcessA(path, command, NULL, NULL, TRUE,
	        CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP, NULL, NULL, &info,
	        &made))
		return false;
	p->process = made.hProcess;
	if (!AssignProcessToJobObject(job, p->process)) {
		TerminateProcess(p->process, BENCH_FAILED);
		CloseHandle(made.hThread);
		return false;
	}
	ResumeThread(made.hThread);
	CloseHandle(made.hThread);
	return true;
}

int parts_start(struct child *child, int part)
{
	struct process *p = calloc(1, sizeof(*p));
	HANDLE in = NULL, out = NULL;
	int e = 0;

	if (!p)
		return ENOMEM;
	child->process = p;
	p->reading.hEvent = CreateEventA(NULL, TRUE, FALSE, NULL);
	if (!p->reading.hEvent || !open_to(&p->to, &in) ||
	    !open_from(&p->from, &out) || !run(p, part, in, out))
		e = api_error();
	if (in)
		CloseHandle(in);
	if (out && out != INVALID_HANDLE_VALUE)
		CloseHandle(out);
	return e;
}

bool parts_ended(struct child *child, unsigned ms)
{
	return WaitForSingleObject(child->process->process, ms) ==
	    WAIT_OBJECT_0;
}

/* Exceptions, and what others say that end processes. */
bool parts_killed(const struct child *child, char *text, size_t bytes)
{
	DWORD status;

	if (!GetExitCodeProcess(child->process->process, &status) ||
	    status <= BENCH_USAGE)
		return false;
	snprintf(text, bytes, "with status 0x%lx", (unsigned long)status);
	return true;
}

static void close_handle(HANDLE handle)
{
	if (handle && handle != INVALID_HANDLE_VALUE)
		CloseHandle(handle);
}

void parts_end(struct child *child)
{
	struct process *p = child->process;
	DWORD n;

	if (!p)
		return;
	if (p->process) {
		TerminateProcess(p->process, BENCH_FAILED);
		WaitForSingleObject(p->process, INFINITE);
	}
	if (p->pending && CancelIo(p->from))
		GetOverlappedResult(p->from, &p->reading, &n, TRUE);
	close_handle(p->process);
	close_handle(p->to);
	close_handle(p->from);
	close_handle(p->reading.hEvent);
	free(p);
	child->process = NULL;
}

/* ---- messages ---------------------------------------------------------- */

void parts_tell(struct child *child, const void *data, size_t bytes)
{
	DWORD n;

	WriteFile(child->process->to, data, (DWORD)bytes, &n, NULL);
}

/* Begins to read, unless that has begun. */
static void begin(struct process *p)
{
	if (p->pending || p->broken || p->at < p->got)
		return;
	p->at = p->got = 0;
	if (!ReadFile(p->from, p->buffer, sizeof(p->buffer), NULL,
	        &p->reading) &&
	    GetLastError() != ERROR_IO_PENDING) {
		p->broken = true;
		SetEvent(p->reading.hEvent);
		return;
	}
	p->pending = true;
}

void parts_await(struct child children[2], uint64_t deadline, bool ready[2])
{
	uint64_t now = bench_now();
	HANDLE handles[3];
	DWORD n = 0, ms = 0;
	int i;

	handles[n++] = interrupted;
	for (i = 0; i < 2; i++) {
		if (children[i].missing == 0)
			continue;
		begin(children[i].process);
		handles[n++] = children[i].process->reading.hEvent;
	}
	if (now < deadline)
		ms = (DWORD)((deadline - now) / MS + 1);
	WaitForMultipleObjects(n, handles, FALSE, ms);
	for (i = 0; i < 2; i++)
		ready[i] = children[i].missing > 0 &&
		    WaitForSingleObject(children[i].process->reading.hEvent,
		        0) == WAIT_OBJECT_0;
}

bool parts_take(struct child *child)
{
	struct process *p = child->process;
	size_t n;

	if (p->pending) {
		p->pending = false;
		p->broken = !GetOverlappedResult(p->from, &p->reading, &p->got,
		    TRUE);
	}
	if (p->broken)
		return false;
	n = p->got - p->at;
	if (n > child->missing)
		n = child->missing;
	memcpy(child->into, p->buffer + p->at, n);
	p->at += (DWORD)n;
	child->into += n;
	child->missing -= n;
	return true;
}
