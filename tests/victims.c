/* SPDX-License-Identifier: ISC */
/* Killed at every point. */
#include "victims.h"
#include "system.h"

#include "still.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- The victim ---------------------------------------------------------- */

void arm(void)
{
	say("begin");
	await("go");
	count_points();
}

int play_victim(const char *arg, const struct scenario *scenarios, size_t n)
{
	char name[32];
	struct room *r = join_room(NAME, NULL);

	CHECK(sscanf(arg, "%31s %u", name, &fatal) == 2);
	for (size_t i = 0; i < n; i++)
		if (strcmp(scenarios[i].name, name) == 0) {
			scenarios[i].play(r);
			count_no_more();
			return 0;
		}
	return 1;
}

/* ---- The parent ---------------------------------------------------------- */

struct process start_victim(const struct scenario *x, unsigned n)
{
	return start_fatal(x->name, n);
}

void go(struct process *v)
{
	expect(v, "begin");
	tell(v, "go");
	settle(v->pid);
}

struct process start_other(const char *part, unsigned n, int silent)
{
	char arg[32];
	struct process p;

	snprintf(arg, sizeof arg, NAME ":%u", n);
	p = start(part, arg);
	if (!silent)
		expect(&p, "waits");
	settle(p.pid);
	return p;
}

int hear(struct process *p, double seconds)
{
	char line[256];
	size_t n = 0;

	if (!says_within(p, seconds))
		return -1;
	do
		assert_int_equal(read(p->from, line + n, 1), 1);
	while (line[n] != '\n' && ++n < sizeof line - 1);
	line[n] = '\0';
	if (strcmp(line, handoff_strerror(0)) == 0)
		return 0;
	assert_string_equal(line, handoff_strerror(EOWNERDEAD));
	return EOWNERDEAD;
}

void walk(const struct scenario *x)
{
	unsigned n = 0;
	int alive;

	do {
		struct room *r = open_room(NAME);

		alive = x->run(x, r, ++n);
		close_room(r, NAME);
		assert_int_equal(count_names(), 0);
	} while (!alive && n < MOST);
	assert_walked(x->name, n, alive, x->least);
}
