/* SPDX-License-Identifier: ISC */
/*
 * What is so on Windows, between processes: they pass turns by each primitive,
 * an owner that is terminated is told of, a waiter that is terminated harms
 * nobody, who makes a segment and is terminated leaves nothing, and a name lives
 * as long as somebody has it open.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#include "handoff.h"

#define ROUNDS 1000u
#define SECOND 1000000000u
#define LONG_TIME (20 * (uint64_t)SECOND)

/* ---- Checks ------------------------------------------------------------ */

static int failures;

static void check(int good, const char *what, int line)
{
	if (good)
		return;
	failures++;
	printf("tests/windows.c:%d: %s\n", line, what);
	fflush(stdout);
}

#define CHECK(what) check((what), #what, __LINE__)

/* ---- Parts ------------------------------------------------------------- */

struct table {
	handoff_mutex lock;
	handoff_cond changed;
	handoff_sem sems[2];
	handoff_event events[2];
	handoff_word32 word;
	handoff_baton baton;
	handoff_event ready;
	uint32_t turn;
};

static int lay(void *memory, size_t bytes, void *arg)
{
	struct table *t = memory;
	int e = handoff_mutex_init(&t->lock, NULL);

	(void)bytes;
	(void)arg;
	if (e == 0)
		e = handoff_cond_init(&t->changed, NULL);
	for (int i = 0; i < 2 && e == 0; i++) {
		e = handoff_sem_init(&t->sems[i], 0, NULL);
		if (e == 0)
			e = handoff_event_init(&t->events[i], NULL);
	}
	if (e == 0)
		e = handoff_word32_init(&t->word, 0, NULL);
	if (e == 0)
		e = handoff_baton_init(&t->baton, 2, NULL);
	return e != 0 ? e : handoff_event_init(&t->ready, NULL);
}

static int open_table(struct table **t, unsigned flags,
    int (*init)(void *, size_t, void *))
{
	struct handoff_segment_options options = { .size = sizeof options,
		.bytes = sizeof(struct table),
		.kind = 7,
		.init = init };
	handoff_segment *segment;
	int e = handoff_segment_open(&segment, "table", flags, 0600, &options);

	if (e == 0)
		*t = handoff_segment_memory(segment);
	return e;
}

/* Each of these is what process `me`, 0 or 1, does; 0 begins. */

static int by_cond(struct table *t, uint32_t me)
{
	int e = handoff_mutex_lock(&t->lock);

	for (unsigned i = 0; i < ROUNDS && e == 0; i++) {
		while (t->turn != me && e == 0)
			e = handoff_cond_wait(&t->changed, &t->lock);
		t->turn = !me;
		handoff_cond_signal(&t->changed);
	}
	return e == 0 ? handoff_mutex_unlock(&t->lock) : e;
}

static int by_sems(struct table *t, uint32_t me)
{
	int e = 0;

	for (unsigned i = 0; i < ROUNDS && e == 0; i++) {
		if (i > 0 || me == 1)
			e = handoff_sem_wait(&t->sems[me]);
		if (e == 0)
			e = handoff_sem_post(&t->sems[!me], 1);
	}
	return e;
}

static int by_events(struct table *t, uint32_t me)
{
	int e = 0;

	for (unsigned i = 0; i < ROUNDS && e == 0; i++) {
		if (i > 0 || me == 1)
			e = handoff_event_wait(&t->events[me]);
		if (e == 0)
			e = handoff_event_set(&t->events[!me]);
	}
	return e;
}

static int by_word(struct table *t, uint32_t me)
{
	int e = 0;

	for (unsigned i = 0; i < ROUNDS && e == 0; i++) {
		uint32_t v = handoff_word32_load(&t->word);

		for (; v % 2 != me && e == 0; v = handoff_word32_load(&t->word))
			e = handoff_word32_wait(&t->word, v);
		handoff_word32_store(&t->word, v + 1);
		handoff_word32_wake(&t->word, 1);
	}
	return e;
}

static int by_baton(struct table *t, uint32_t me)
{
	int e = handoff_baton_wait(&t->baton, me);

	for (unsigned i = 1; i < ROUNDS && e == 0; i++)
		e = handoff_baton_switch(&t->baton, me, !me);
	return e == 0 && me == 0 ? handoff_baton_pass(&t->baton, 1) : e;
}

static const struct {
	const char *name;
	int (*play)(struct table *t, uint32_t me);
} ways[] = { { "cond", by_cond }, { "sems", by_sems }, { "events", by_events },
	{ "word", by_word }, { "baton", by_baton } };

#define WAYS (sizeof ways / sizeof *ways)

static int play(struct table *t, uint32_t me)
{
	for (size_t i = 0; i < WAYS; i++) {
		int e = ways[i].play(t, me);

		if (e != 0) {
			printf("%s: %s\n", ways[i].name, handoff_strerror(e));
			return e;
		}
	}
	return 0;
}

static int part_play(void)
{
	struct table *t;
	int e = open_table(&t, 0, NULL);

	return e == 0 ? play(t, 1) : e;
}

/* Says that it is ready, and waits to be terminated. */
static int stay(struct table *t)
{
	int e = handoff_event_set(&t->ready);

	Sleep(60000);
	return e;
}

static int part_hold(void)
{
	struct table *t;
	int e = open_table(&t, 0, NULL);

	if (e == 0)
		e = handoff_mutex_lock(&t->lock);
	return e == 0 ? stay(t) : e;
}

static int part_wait(void)
{
	struct table *t;
	int e = open_table(&t, 0, NULL);

	if (e == 0)
		e = handoff_event_set(&t->ready);
	return e == 0 ? handoff_sem_wait(&t->sems[0]) : e;
}

/* Says so in a file's place: nobody can see the segment yet. */
static int lay_and_stay(void *memory, size_t bytes, void *arg)
{
	HANDLE half = OpenEventA(EVENT_MODIFY_STATE, FALSE, "Local\\half-made");

	memset(memory, 0xff, bytes);
	(void)arg;
	SetEvent(half);
	Sleep(60000);
	return 0;
}

static int part_make(void)
{
	struct table *t;

	return open_table(&t, HANDOFF_CREATE, lay_and_stay);
}

/* Opens and closes, so that it holds the process's own lock now and then. */
static DWORD WINAPI be_busy(void *arg)
{
	struct table *t;
	int e = 0;

	(void)arg;
	while (e == 0)
		if ((e = open_table(&t, 0, NULL)) == 0)
			e = handoff_close(t);
	return 1;
}

/* Ends its process while its other threads are in the midst of the library. */
static int part_exit(void)
{
	struct table *t;
	int e = open_table(&t, 0, NULL);

	if (e == 0)
		e = handoff_mutex_lock(&t->lock);
	for (int i = 0; i < 3 && e == 0; i++)
		if (!CreateThread(NULL, 0, be_busy, NULL, 0, NULL))
			e = EAGAIN;
	Sleep(20);
	return e;
}

/* Looks whether there is one in its own space. */
static int part_elsewhere(void)
{
	struct table *t;

	return open_table(&t, 0, NULL);
}

static DWORD WINAPI lock_and_end(void *arg)
{
	return (DWORD)handoff_mutex_lock(arg);
}

static const struct {
	const char *name;
	int (*run)(void);
} parts[] = { { "play", part_play }, { "hold", part_hold },
	{ "wait", part_wait }, { "make", part_make }, { "exit", part_exit },
	{ "elsewhere", part_elsewhere } };

static HANDLE start(const char *part)
{
	char self[MAX_PATH];
	char line[MAX_PATH + 40];
	STARTUPINFOA startup = { .cb = sizeof startup };
	PROCESS_INFORMATION made;

	GetModuleFileNameA(NULL, self, sizeof self);
	snprintf(line, sizeof line, "\"%s\" --part %s", self, part);
	if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL,
	        &startup, &made)) {
		printf("no process: %lu\n", GetLastError());
		exit(99);
	}
	CloseHandle(made.hThread);
	return made.hProcess;
}

/* Waits for it to end: its result. */
static int end(HANDLE process)
{
	DWORD result = 98;

	if (WaitForSingleObject(process, 60000) != WAIT_OBJECT_0)
		TerminateProcess(process, 97);
	GetExitCodeProcess(process, &result);
	CloseHandle(process);
	return (int)result;
}

static void terminate(HANDLE process)
{
	TerminateProcess(process, 1);
	end(process);
}

/* ---- Tests ------------------------------------------------------------- */

static void processes_pass_turns(void)
{
	struct table *t;
	HANDLE other;

	CHECK(open_table(&t, HANDOFF_CREATE | HANDOFF_EXCLUSIVE, lay) == 0);
	other = start("play");
	CHECK(play(t, 0) == 0);
	CHECK(end(other) == 0);
	CHECK(handoff_close(t) == 0);
}

static void a_terminated_owner_is_told_of(void)
{
	struct table *t;
	uint64_t before;
	HANDLE owner;

	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	owner = start("hold");
	CHECK(
	    handoff_event_wait_until(&t->ready, handoff_after(LONG_TIME)) == 0);
	CHECK(handoff_mutex_lock_until(&t->lock, handoff_after(SECOND / 10)) ==
	    ETIMEDOUT);
	terminate(owner);
	before = handoff_now();
	CHECK(handoff_mutex_lock_until(&t->lock, handoff_after(LONG_TIME)) ==
	    EOWNERDEAD);
	printf("an owner's end was told after %u us\n",
	    (unsigned)((handoff_now() - before) / 1000));
	CHECK(handoff_mutex_consistent(&t->lock) == 0);
	CHECK(handoff_mutex_unlock(&t->lock) == 0);
	CHECK(handoff_close(t) == 0);
}

static void a_thread_that_ends_is_told_of(void)
{
	struct table *t;
	HANDLE thread;
	DWORD result = 1;

	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	thread = CreateThread(NULL, 0, lock_and_end, &t->lock, 0, NULL);
	WaitForSingleObject(thread, INFINITE);
	GetExitCodeThread(thread, &result);
	CloseHandle(thread);
	CHECK(result == 0);
	CHECK(handoff_mutex_trylock(&t->lock) == EOWNERDEAD);
	CHECK(handoff_mutex_consistent(&t->lock) == 0);
	CHECK(handoff_mutex_unlock(&t->lock) == 0);
	CHECK(handoff_close(t) == 0);
}

static void a_process_ends_whatever_its_threads_do(void)
{
	struct table *t;

	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	for (int i = 0; i < 20; i++) {
		CHECK(end(start("exit")) == 0);
		CHECK(handoff_mutex_lock_until(&t->lock,
		          handoff_after(LONG_TIME)) == EOWNERDEAD);
		CHECK(handoff_mutex_consistent(&t->lock) == 0);
		CHECK(handoff_mutex_unlock(&t->lock) == 0);
	}
	CHECK(handoff_close(t) == 0);
}

static void a_terminated_waiter_harms_nobody(void)
{
	struct table *t;
	struct handoff_info info = { .size = sizeof info };
	HANDLE victim;
	HANDLE other;

	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	victim = start("wait");
	CHECK(
	    handoff_event_wait_until(&t->ready, handoff_after(LONG_TIME)) == 0);
	Sleep(100);
	CHECK(handoff_info(t, &info) == 0 && info.users == 2);
	terminate(victim);
	CHECK(handoff_info(t, &info) == 0 && info.users == 1);
	other = start("wait");
	CHECK(
	    handoff_event_wait_until(&t->ready, handoff_after(LONG_TIME)) == 0);
	Sleep(100);
	CHECK(handoff_sem_post(&t->sems[0], 1) == 0);
	CHECK(end(other) == 0);
	CHECK(handoff_close(t) == 0);
}

static void a_terminated_maker_leaves_nothing(void)
{
	HANDLE half = CreateEventA(NULL, FALSE, FALSE, "Local\\half-made");
	HANDLE maker = start("make");
	struct table *t = NULL;

	CHECK(WaitForSingleObject(half, 20000) == WAIT_OBJECT_0);
	CHECK(open_table(&t, 0, NULL) == ENOENT);
	terminate(maker);
	CHECK(open_table(&t, 0, NULL) == ENOENT);
	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	CHECK(handoff_mutex_lock(&t->lock) == 0);
	CHECK(handoff_mutex_unlock(&t->lock) == 0);
	CHECK(handoff_close(t) == 0);
	CloseHandle(half);
}

static int count(const char *name, uint32_t kind, uint64_t bytes, void *ctx)
{
	(void)name;
	(void)kind;
	(void)bytes;
	(void)ctx;
	return 0;
}

static void a_name_lives_while_it_is_open(void)
{
	struct table *t;
	struct table *again;

	CHECK(open_table(&t, 0, NULL) == ENOENT);
	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	CHECK(open_table(&again, HANDOFF_CREATE | HANDOFF_EXCLUSIVE, lay) ==
	    EEXIST);
	CHECK(open_table(&again, 0, NULL) == 0 && again == t);
	CHECK(handoff_unlink("table") == ENOTSUP);
	CHECK(handoff_list(count, NULL) == ENOTSUP);
	CHECK(handoff_close(again) == 0);
	CHECK(handoff_close(t) == 0);
	CHECK(open_table(&t, 0, NULL) == ENOENT);
}

static void deadlines_are_never_early(void)
{
	struct table *t;

	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	for (uint64_t ns = 1; ns < SECOND / 10; ns = ns * 3 + 1) {
		uint64_t deadline = handoff_after(ns);

		CHECK(
		    handoff_sem_wait_until(&t->sems[0], deadline) == ETIMEDOUT);
		CHECK(handoff_now() >= deadline);
	}
	CHECK(handoff_close(t) == 0);
}

/* G28: whether the list of those who may open an object has everybody. */
static int lets_in_everybody(HANDLE object)
{
	_Alignas(8) unsigned char descriptor[1024];
	_Alignas(8) unsigned char everybody[SECURITY_MAX_SID_SIZE];
	DWORD n = sizeof everybody;
	BOOL present = FALSE;
	BOOL defaulted;
	ACL *list = NULL;

	CHECK(CreateWellKnownSid(WinWorldSid, NULL, everybody, &n));
	CHECK(GetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION,
	    descriptor, sizeof descriptor, &n));
	CHECK(GetSecurityDescriptorDacl(descriptor, &present, &list,
	          &defaulted) &&
	    present && list);
	for (DWORD i = 0; list && i < list->AceCount; i++) {
		ACCESS_ALLOWED_ACE *ace;

		if (GetAce(list, i, (void **)&ace) &&
		    EqualSid(&ace->SidStart, everybody))
			return 1;
	}
	return 0;
}

static void the_mode_says_who_is_let_in(void)
{
	static const struct {
		unsigned mode;
		int everybody;
	} modes[] = { { 0600, 0 }, { 0700, 0 }, { 0660, 1 }, { 0604, 1 } };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		handoff_mutex *m;
		HANDLE section;

		CHECK(handoff_mutex_open(&m, "mode", HANDOFF_CREATE,
		          modes[i].mode, NULL) == 0);
		section = OpenFileMappingA(READ_CONTROL, FALSE,
		    "Local\\handoff.mode");
		CHECK(section != NULL);
		if (section) {
			CHECK(lets_in_everybody(section) == modes[i].everybody);
			CloseHandle(section);
		}
		CHECK(handoff_close(m) == 0);
	}
}

static void spaces_have_nothing_to_do_with_each_other(void)
{
	static const struct {
		const char *text;
		int result;
	} spaces[] = { { "Local", 0 }, { "Global", ENOENT },
		{ "other", ENOENT }, { "Local\\other", ENOENT }, { "", 0 } };
	struct table *t;

	CHECK(open_table(&t, HANDOFF_CREATE, lay) == 0);
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		SetEnvironmentVariableA("HANDOFF_DIR", spaces[i].text);
		CHECK(end(start("elsewhere")) == spaces[i].result);
	}
	SetEnvironmentVariableA("HANDOFF_DIR", NULL);
	CHECK(handoff_close(t) == 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--part") == 0)
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (strcmp(argv[2], parts[i].name) == 0)
				return parts[i].run();
	SetEnvironmentVariableA("HANDOFF_DIR", NULL);
	processes_pass_turns();
	a_terminated_owner_is_told_of();
	a_thread_that_ends_is_told_of();
	a_process_ends_whatever_its_threads_do();
	a_terminated_waiter_harms_nobody();
	a_terminated_maker_leaves_nothing();
	a_name_lives_while_it_is_open();
	deadlines_are_never_early();
	the_mode_says_who_is_let_in();
	spaces_have_nothing_to_do_with_each_other();
	printf("%d failures\n", failures);
	return failures != 0;
}
