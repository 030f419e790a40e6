/* SPDX-License-Identifier: ISC */
/*
 * Tests whose parts are processes.  A test program executes itself again to
 * play a part, so that a part shares names with its parent and nothing else.
 * Only the parent asserts, in its main thread; a part reports by its exit
 * status and by what it says at checkpoints, which are built on pipes.
 *
 * Each run has names of its own (HANDOFF_DIR): a directory that must be empty
 * in the end, or a name space where names live only while they are held; and a
 * watchdog that kills all of its processes.
 */
#ifndef TESTS_PROCESSES_H
#define TESTS_PROCESSES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "handoff.h"
#include "system.h"

/* ---- The program ------------------------------------------------------- */

/* A part: its exit status is what `run` returns; 0 means that all was well. */
struct part {
	const char *name;
	int (*run)(const char *arg);
};

/*
 * Called first in main: plays a part if that was asked for (and does not
 * return), else makes the run's directory and starts the watchdog.
 */
void processes_begin(int argc, char **argv, const struct part *parts, size_t n,
    unsigned watchdog_seconds);

#define PROCESSES_BEGIN(argc, argv, parts, seconds)                         \
	processes_begin(argc, argv, parts, sizeof(parts) / sizeof *(parts), \
	    seconds)

/* Called last in main: the result of the program.  Fails if the run's
 * directory is not empty or a part is still there. */
int processes_end(int failed);

/* Kills what is left of parts; for teardown, so that one failed test does not
 * harm the next. */
int processes_teardown(void **state);

/* ---- For the parent ---------------------------------------------------- */

/* Leaves a test that cannot be made here. */
#define SKIP(reason)                                    \
	do {                                            \
		print_message("skipped: " reason "\n"); \
		skip();                                 \
	} while (0)

/* Tests, in a program's list of them; the others are skipped, and say so, on
 * systems without fork and exec, without signals, or where names are no files. */
#define FORK_TEST(name) TEST_IF(HAS_FORK, name, without_fork)
#define SIGNAL_TEST(name) TEST_IF(HAS_SIGNALS, name, without_signals)
#define FILE_TEST(name) TEST_IF(HAS_FILES, name, without_files)
#define TEST_IF(has, name, otherwise)                                          \
	{                                                                      \
#name, (has) ? (name) : (otherwise), NULL, processes_teardown, \
		    NULL                                                       \
	}
void without_fork(void **state);
void without_signals(void **state);
void without_files(void **state);

struct process {
	pid_t pid;
	int to;   /* what the parent tells it */
	int from; /* what it says */
};

/* Starts a part; asserts that it could be started. */
struct process start(const char *part, const char *arg);

/* The part has said `word`: asserted, within 10 s (or `seconds`). */
void expect(struct process *p, const char *word);
void expect_within(struct process *p, const char *word, double seconds);

/* It has said a result, by handoff_strerror. */
void says(struct process *p, int result);

/* Whether the part says anything within that time; what it says stays there
 * to be expected. */
int says_within(struct process *p, double seconds);

/* Lets a part that awaits `word` go on. */
void tell(struct process *p, const char *word);

/* Waits for the part to end, 20 s at the most: its exit status, KILLED, or
 * another number below 0 if the system ended it. */
int finish(struct process *p);
#define KILLED (-9)

/* Kills it at once, whatever it does, and reaps it. */
void kill_hard(struct process *p);

/* Whether it has ended; it is to be finished all the same. */
int has_ended(const struct process *p);

/* All its threads stop where they are, and go on. */
void stop_process(const struct process *p);
void continue_process(const struct process *p);

/* handoff_unlink for a name that nobody has open.  Where names go by themselves
 * it must have gone: EBUSY if not. */
int unlink_name(const char *name);

/* ---- For a part -------------------------------------------------------- */

/* Says `word` to the parent. */
void say(const char *word);

/* Waits until the parent tells `word`; exits if it tells anything else or is
 * gone. */
void await(const char *word);

/* Waits for any word; exits if the parent is gone. */
const char *await_any(void);

/* `await` for a part that cannot await: ends only by being killed. */
void linger(void);

/* Ends like one that is killed. */
void kill_myself(void);

/* In a part: exits with a status that names the line unless the condition
 * holds; what went wrong is said on stderr. */
#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)
void check(int holds, const char *what, const char *file, int line);

/* A part's CHECK(e == 0) that says which error it was. */
#define OK(call) check_result(call, 0, #call, __FILE__, __LINE__)
#define RESULT(call, expected) \
	check_result(call, expected, #call, __FILE__, __LINE__)
void check_result(int e, int expected, const char *what, const char *file,
    int line);

/* ---- For both ---------------------------------------------------------- */

double seconds_now(void);
void sleep_seconds(double seconds);

/* The deadline so many seconds from now. */
uint64_t soon(double seconds);

/* Where names are files: their directory. */
const char *run_directory(void);

/* Descriptors (or handles) and mappings of this process, and names of the run;
 * 0 where the system does not tell. */
unsigned count_descriptors(void);
unsigned count_mappings(void);
unsigned count_names(void);

/* CPU seconds that this process has used. */
double cpu_seconds(void);

#endif
