/* SPDX-License-Identifier: ISC */
/*
 * What tests need of the system they run on beside processes.h: threads, pages,
 * the environment, CPUs, signals and children, by the names of POSIX where it
 * has one.  What a system does not have fails there; tests that need it are
 * skipped: see processes.h.
 */
#ifndef TESTS_SYSTEM_H
#define TESTS_SYSTEM_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- POSIX ------------------------------------------------------------- */

#ifdef _WIN32
#define HAS_FORK 0
#define HAS_SIGNALS 0
#define HAS_FILES 0
#define STARTS 100 /* of processes, where one test starts many */
#define SIGKILL 9
#define SIGUSR1 10
#define SIGSYS 12
#define SIGALRM 14

/* They fail. */
int fork(void);
pid_t getppid(void);
pid_t waitpid(pid_t pid, int *status, int flags);
int kill(pid_t pid, int number);
unsigned alarm(unsigned seconds);

int setenv(const char *name, const char *value, int replace);
int unsetenv(const char *name);
char *strsep(char **rest, const char *ends);

/* <io.h> has another function of that name. */
#define tell tell_part
#else
#include <sys/wait.h>
#define HAS_FORK 1
#define HAS_SIGNALS 1
#define HAS_FILES 1 /* names are files in a directory, and stay */
#define STARTS 500
#endif

/* ---- Memory ------------------------------------------------------------ */

#define PAGE 4096u

/* A page of zeroes for what vanishes at once, and its end. */
void *new_page(void);
void drop_page(void *page);

/* The page of `at`, also of a segment: from now on who touches it crashes, or
 * may do so again. */
void hide_page(void *at);
void show_page(void *at);

/* Zeroes that this process shares with its children; NULL: it cannot. */
void *shared_pages(size_t bytes);

/* The same, at two addresses. */
void map_twice(void *at[2], size_t bytes);

/* Nothing will be mapped there. */
void keep_clear(void *there, size_t bytes);

/* ---- CPUs, processes, signals ------------------------------------------ */

/* How many CPUs this process may use, and that it uses only one of them. */
unsigned count_cpus(void);
void pin_to_first_cpu(void);

/* Whether that process sleeps, or is dead; true where the system does not
 * tell. */
int is_still(pid_t pid);

/* What the system calls this process; "?" where it does not tell. */
void program_name(char *name, size_t n);

/* This thread, for is_still. */
pid_t this_thread(void);

/* Runs `fn` in a new process: its exit status.  main calls the first of these,
 * which in that process does not return. */
void begin_apart(int argc, char **argv);
int run_apart(void (*fn)(void));

/* CPU seconds that it has used; -1 where the system does not tell. */
double cpu_of(pid_t pid);

/* Calls `fn` for that signal; calls that it interrupts fail, or begin again. */
void catch_signal(int number, void (*fn)(int number), int restart);

/* SIGALRM comes to this process every so many microseconds; 0: no more. */
void alarm_every(unsigned us);

#endif
