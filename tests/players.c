/* SPDX-License-Identifier: ISC */
/* The parts that play the table of mortals. */
#define _GNU_SOURCE
#include "players.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM "mortals"

static const struct mortal *mortal;
static struct thing *thing;

/* ---- One that ends ------------------------------------------------------- */

static void hold_it(void)
{
	OK(mortal->hold(thing));
	say("held");
	await("end");
}

static void *hold_and_return(void *unused)
{
	hold_it();
	return unused;
}

static void *hold_and_exit(void *unused)
{
	hold_it();
	pthread_exit(unused);
}

static void *hold_and_pause(void *unused)
{
	OK(mortal->hold(thing));
	say("held");
	for (;;)
		pause();
	return unused;
}

static void *exit_when_told(void *unused)
{
	await("end");
	exit(0);
	return unused;
}

static pthread_t begin(void *(*run)(void *))
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	return thread;
}

/* The process lives on. */
static void *go_on(void *unused)
{
	say("ended");
	await("go");
	_exit(0);
	return unused;
}

static void end_thread(const char *way)
{
	pthread_t thread = begin(strcmp(way, "return") == 0 ? hold_and_return :
	        strcmp(way, "pthread_exit") == 0            ? hold_and_exit :
	                                                      hold_and_pause);

	if (strcmp(way, "cancel") == 0) {
		await("end");
		CHECK(pthread_cancel(thread) == 0);
	}
	CHECK(pthread_join(thread, NULL) == 0);
	go_on(NULL);
}

static pthread_t first_thread;

static void *join_first(void *unused)
{
	CHECK(pthread_join(first_thread, NULL) == 0);
	return go_on(unused);
}

static void end_process(const char *way)
{
	hold_it();
	if (strcmp(way, "abort") == 0) {
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	if (strcmp(way, "exit") == 0)
		exit(0);
	if (strcmp(way, "exec") == 0)
		execl("/proc/self/exe", "mortal", "--part", "after",
		    (char *)NULL);
	if (strcmp(way, "first thread") == 0) {
		first_thread = pthread_self();
		begin(join_first);
		pthread_exit(NULL);
	}
	if (strcmp(way, "close") == 0) {
		RESULT(handoff_close(thing), mortal->close);
		say("closed");
		await("end");
	}
	if (strcmp(way, "drop") == 0) {
		OK(mortal->drop(thing));
		say("dropped");
		await("end");
	}
	_exit(0);
}

static void get_line(const char *arg)
{
	unsigned line;
	struct room *r = join_room(arg, &line);

	mortal = &mortals[line];
	thing = thing_at(r, line);
}

int part_holder(const char *arg)
{
	const char *way = strchr(arg, ' ') + 1;

	get_line(arg);
	if (strcmp(way, "return") == 0 || strcmp(way, "pthread_exit") == 0 ||
	    strcmp(way, "cancel") == 0)
		end_thread(way);
	if (strcmp(way, "another exits") == 0) {
		begin(hold_and_pause);
		exit_when_told(NULL);
	}
	end_process(way);
	return 1;
}

int part_after(const char *unused)
{
	(void)unused;
	say("ended");
	await("go");
	return 0;
}

/* ---- One that comes next ------------------------------------------------- */

static int take(const char *way, unsigned who)
{
	double end = seconds_now() + 20;
	int e;

	if (strcmp(way, "until") == 0)
		return mortal->take(thing, who, soon(20));
	if (strcmp(way, "late") == 0)
		return mortal->take(thing, who, soon(0.3));
	if (strcmp(way, "try") != 0)
		return mortal->take(thing, who, HANDOFF_NEVER);
	while ((e = mortal->try(thing, who)) == EBUSY && seconds_now() < end)
		sleep_seconds(0.0005);
	return e;
}

static int take_and_obey(const char *way, unsigned who)
{
	say("takes");
	say(handoff_strerror(take(way, who)));
	for (;;) {
		const char *word = await_any();

		if (strcmp(word, "mend") == 0 && mortal->mend)
			OK(mortal->mend(thing));
		else if (strcmp(word, "give") == 0)
			OK(mortal->give(thing));
		else if (strcmp(word, "end") == 0)
			_exit(0);
		say("done");
	}
	return 1;
}

int part_taker(const char *arg)
{
	char way[16];
	unsigned who;

	get_line(arg);
	CHECK(sscanf(strchr(arg, ' '), "%15s %u", way, &who) == 2);
	return take_and_obey(way, who);
}

/* ---- Relatives ----------------------------------------------------------- */

int part_family(const char *arg)
{
	const char *who = strchr(arg, ' ') + 1;
	int child_dies = strcmp(who, "child") == 0;
	int ready[2];
	pid_t child;
	char c = 0;

	get_line(arg);
	CHECK(pipe(ready) == 0);
	if (!child_dies) {
		OK(mortal->hold(thing));
		say("held");
	}
	child = fork();
	CHECK(child >= 0);
	if ((child == 0) != child_dies) {
		if (child_dies)
			CHECK(read(ready[0], &c, 1) == 1);
		return take_and_obey("ever", 1);
	}
	if (!child_dies)
		for (;;)
			pause();
	OK(mortal->hold(thing));
	say("held");
	CHECK(write(ready[1], &c, 1) == 1);
	sleep_seconds(0.1);
	return raise(SIGKILL);
}

int part_in_namespace(const char *arg)
{
	char part[16];
	char line[64];
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) != 0)
		return 77;
	CHECK(sscanf(arg, "%63s %15s", line, part) == 2);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(getpid() == 1);
		strcat(line, strstr(arg, part) + strlen(part));
		if (strcmp(part, "holder") == 0)
			_exit(part_holder(line));
		_exit(strcmp(part, "taker") == 0 ? part_taker(line) : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- The parent ---------------------------------------------------------- */

struct process start_on(const char *part, unsigned line, const char *words)
{
	char arg[64];

	snprintf(arg, sizeof arg, ROOM ":%u %s", line, words);
	return start(part, arg);
}

struct process start_holding(unsigned line, const char *way)
{
	struct process p = start_on("holder", line, way);

	expect(&p, "held");
	return p;
}

struct process start_taking(unsigned line, const char *way, unsigned who)
{
	struct process p;
	char words[32];

	snprintf(words, sizeof words, "%s %u", way, who);
	p = start_on("taker", line, words);
	expect(&p, "takes");
	return p;
}

double is_told(struct process *p, unsigned line, int result, double since)
{
	if (!says_within(p, since + BOUND - seconds_now()))
		fail_msg("%s: nothing is told", mortals[line].name);
	expect(p, handoff_strerror(result));
	return seconds_now() - since;
}

void is_not_told(struct process *p, unsigned line, double seconds)
{
	if (says_within(p, seconds))
		fail_msg("%s: somebody is told something", mortals[line].name);
}

void mend_and_give(struct room *r, struct process *p, unsigned line, int result,
    unsigned next)
{
	thing_at(r, line)->next = next;
	if (result == EOWNERDEAD) {
		tell(p, "mend");
		expect(p, "done");
	}
	tell(p, "give");
	expect(p, "done");
	tell(p, "end");
	assert_int_equal(finish(p), 0);
}

void assert_in_order(struct room *r, unsigned line)
{
	const struct mortal *m = &mortals[line];
	struct thing *t = thing_at(r, line);
	int e = m->take(t, LAST, soon(5));

	if (e != (m->broken ? EOWNERDEAD : 0))
		fail_msg("%s: %s", m->name, handoff_strerror(e));
	assert_int_equal(m->give(t), 0);
}
