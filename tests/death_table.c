/* SPDX-License-Identifier: ISC */
/*
 * Everything that can be held, and its holder's end: each kind of end, in each
 * stage of the wait of the next one, among strangers and relatives, again and
 * again.  And holders that only look dead.
 */
#define _GNU_SOURCE
#include "players.h"
#include "still.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ROOM "mortals"
#define TAKERS 3u

/* ---- One end ------------------------------------------------------------- */

struct ending {
	const char *way; /* the holder's; "" if it is killed */
	int thread;      /* the process lives on */
	int status;      /* of the process, if it ends */
};

static const struct ending killed = { "kill", 0, -SIGKILL };

/* What the next one does meanwhile. */
struct stage {
	const char *way;
	const char *wait; /* HANDOFF_WAIT */
	double delay;     /* before the end; < 0: it comes later */
	int alone;        /* it fills a CPU: one line after the other */
};

static const struct stage parked = { "ever", "block", 0.05, 0 };

static void end_holder(struct process *p, const struct ending *end)
{
	if (end->status == -SIGKILL) {
		kill_hard(p);
		return;
	}
	tell(p, "end");
	if (end->thread) {
		expect(p, "ended");
		return;
	}
	assert_int_equal(finish(p), end->status);
}

/* It is told, or, if the end of a thread is none of it, once its process ends
 * too. */
static double is_told_of(struct process *p, struct process *holder,
    const struct ending *end, unsigned line, double since)
{
	const struct mortal *m = &mortals[line];

	if (end->thread && !m->by_thread && strcmp(end->way, "exec") != 0) {
		is_not_told(p, line, 0.3);
		since = seconds_now();
		kill_hard(holder);
	}
	return is_told(p, line, m->told, since);
}

static int is_played(const struct stage *stage, unsigned line)
{
	return strcmp(stage->way, "try") != 0 || mortals[line].try;
}

static void begin(struct play *p, const struct ending *end,
    const struct stage *stage, unsigned line)
{
	int first = stage->delay >= 0 && mortals[line].first;

	if (!is_played(stage, line))
		return;
	if (first) {
		p->taker[line] = start_taking(line, stage->way, 1);
		settle(p->taker[line].pid);
	}
	p->holder[line] = start_holding(line, end->way);
	if (stage->delay >= 0 && !first)
		p->taker[line] = start_taking(line, stage->way, 1);
}

/* It ends; who comes later comes. */
static void end_line(struct play *p, const struct ending *end,
    const struct stage *stage, unsigned line)
{
	if (stage->delay >= 0)
		is_not_told(&p->taker[line], line, 0);
	p->since[line] = seconds_now();
	end_holder(&p->holder[line], end);
	if (stage->delay < 0) {
		p->taker[line] = start_taking(line, stage->way, 1);
		p->since[line] = seconds_now();
	}
}

static double finish_line(struct play *p, const struct ending *end,
    unsigned line)
{
	double took = is_told_of(&p->taker[line], &p->holder[line], end, line,
	    p->since[line]);

	mend_and_give(p->r, &p->taker[line], line, mortals[line].told, LAST);
	assert_in_order(p->r, line);
	if (p->holder[line].pid != 0)
		kill_hard(&p->holder[line]);
	return took;
}

struct longest {
	double seconds;
	unsigned line;
};

/* Lines from..to - 1 at once. */
static void play_some(const struct ending *end, const struct stage *stage,
    unsigned from, unsigned to, struct longest *longest)
{
	struct play p = { .r = open_room(ROOM) };

	for (unsigned i = from; i < to; i++)
		begin(&p, end, stage, i);
	if (stage->delay > 0)
		sleep_seconds(stage->delay);
	for (unsigned i = from; i < to; i++)
		if (is_played(stage, i))
			end_line(&p, end, stage, i);
	for (unsigned i = from; i < to; i++) {
		double took = is_played(stage, i) ? finish_line(&p, end, i) : 0;

		if (took > longest->seconds)
			*longest = (struct longest){ took, i };
	}
	close_room(p.r, ROOM);
}

static void play(const struct ending *end, const struct stage *stage)
{
	struct longest longest = { 0 };

	if (stage->wait)
		setenv("HANDOFF_WAIT", stage->wait, 1);
	for (unsigned i = 0; i < mortals_count;) {
		unsigned to = stage->alone ? i + 1 : mortals_count;

		play_some(end, stage, i, to, &longest);
		i = to;
	}
	unsetenv("HANDOFF_WAIT");
	print_message("%s; %s, %s, %.2f s: told within %.1f ms (%s)\n",
	    end->way, stage->way, stage->wait ? stage->wait : "adaptive",
	    stage->delay, longest.seconds * 1e3, mortals[longest.line].name);
}

/* ---- Each kind of end, each stage ----------------------------------------- */

/* G01 */
static void every_end_of_a_holder_is_told(void **state)
{
	static const struct ending ends[] = {
		{ "kill", 0, -SIGKILL },
		{ "abort", 0, -SIGABRT },
		{ "exit", 0, 0 },
		{ "_exit", 0, 0 },
		{ "another exits", 0, 0 },
		{ "exec", 1, 0 },
		{ "return", 1, 0 },
		{ "pthread_exit", 1, 0 },
		{ "cancel", 1, 0 },
		{ "first thread", 1, 0 },
	};
	const struct stage late = { "ever", NULL, -1, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		play(&ends[i], &parked);
		play(&ends[i], &late);
	}
}

/* G01 */
static void a_death_is_told_in_every_stage_of_a_wait(void **state)
{
	static const struct stage stages[] = {
		{ "until", NULL, -1, 0 },
		{ "try", NULL, -1, 0 },
		{ "ever", NULL, 0, 0 },
		{ "ever", NULL, 0.001, 0 },
		{ "until", NULL, 0.01, 0 },
		{ "try", NULL, 0.05, 0 },
		{ "ever", "spin:4s", 0.02, 1 },
		{ "until", "spin:4s", 0.02, 1 },
		{ "ever", "yield:4s", 0.02, 1 },
		{ "until", "block", 0.05, 0 },
		{ "ever", "block", 1.5, 0 },
		{ "until", "block", 1.5, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
		play(&killed, &stages[i]);
}

/* G01, G46: no mapping or descriptor that a child has keeps its parent alive,
 * or the other way round. */
static void a_death_is_told_among_relatives(void **state)
{
	static const char *const who[] = { "parent", "child" };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (unsigned k = 0; k < mortals_count; k++) {
			struct room *r = open_room(ROOM);
			struct process p = start_on("family", k, who[i]);
			int result = mortals[k].told;
			double since;

			expect(&p, "held");
			expect(&p, "takes");
			if (i == 0) {
				is_not_told(&p, k, 0.05);
				kill(p.pid, SIGKILL);
			}
			since = seconds_now() + (i == 0 ? 0 : 0.1);
			is_told(&p, k, result, since);
			thing_at(r, k)->next = LAST;
			if (result == EOWNERDEAD) {
				tell(&p, "mend");
				expect(&p, "done");
			}
			tell(&p, "give");
			expect(&p, "done");
			assert_in_order(r, k);
			tell(&p, "end");
			finish(&p);
			close_room(r, ROOM);
		}
}

/* ---- Again and again ------------------------------------------------------ */

/* G02: each is told of the death of the one before, whether that had mended it
 * or not. */
static void a_death_during_a_repair_is_told_to_the_next(void **state)
{
	struct room *r = open_room(ROOM);
	struct process p[32];
	int expected[32];

	(void)state;
	for (unsigned i = 0; i < mortals_count; i++) {
		p[i] = start_holding(i, "kill");
		expected[i] = mortals[i].told;
	}
	for (unsigned round = 1; round < LAST; round++)
		for (unsigned i = 0; i < mortals_count; i++) {
			struct process next;
			double since = seconds_now();

			if (round % 3 == 0 && !mortals[i].first)
				next = start_taking(i, "until", round);
			kill_hard(&p[i]);
			if (round % 3 != 0 || mortals[i].first)
				next = start_taking(i, "ever", round);
			is_told(&next, i, expected[i], since);
			p[i] = next;
			if (round % 2 == 0 && expected[i] == EOWNERDEAD) {
				tell(&next, "mend");
				expect(&next, "done");
				expected[i] = 0;
			}
			expected[i] = expected[i] == 0 ? mortals[i].told_again :
			                                 EOWNERDEAD;
		}
	for (unsigned i = 0; i < mortals_count; i++) {
		struct process next;

		kill_hard(&p[i]);
		next = start_taking(i, "ever", LAST - 1);
		is_told(&next, i, expected[i], seconds_now());
		mend_and_give(r, &next, i, expected[i], LAST);
		assert_in_order(r, i);
	}
	close_room(r, ROOM);
}

/* One of those takers that are left has something to say. */
static struct process *one_of(struct process *p, unsigned line)
{
	double end = seconds_now() + BOUND;

	while (seconds_now() < end)
		for (unsigned i = 0; i < TAKERS; i++)
			if (p[i].pid != 0 && says_within(&p[i], 0.001))
				return &p[i];
	fail_msg("%s: nothing is told", mortals[line].name);
	return NULL;
}

/* The others, one after the other, are told nothing. */
static void go_round(struct room *r, struct process *p, unsigned line)
{
	int result = mortals[line].told;

	for (unsigned n = TAKERS; n-- > 0;) {
		struct process *one = one_of(p, line);
		struct process me = *one;
		unsigned next = LAST;

		is_told(one, line, result, seconds_now());
		one->pid = 0;
		for (unsigned i = 0; i < TAKERS; i++)
			if (p[i].pid != 0) {
				next = i + 1;
				if (result == EOWNERDEAD)
					is_not_told(&p[i], line, 0.01);
			}
		mend_and_give(r, &me, line, result, next);
		result = 0;
	}
}

static void exactly_one_of_three_is_told(void **state)
{
	static const char *const ways[] = { "ever", "until", "ever" };
	struct process p[32][TAKERS];
	struct process holder[32];
	struct room *r = open_room(ROOM);

	(void)state;
	for (unsigned i = 0; i < mortals_count; i++) {
		if (mortals[i].broken)
			continue;
		if (!mortals[i].first)
			holder[i] = start_holding(i, "kill");
		for (unsigned k = 0; k < TAKERS; k++)
			p[i][k] = start_taking(i, ways[k], k + 1);
		if (mortals[i].first) {
			settle(p[i][TAKERS - 1].pid);
			holder[i] = start_holding(i, "kill");
		}
	}
	for (unsigned i = 0; i < mortals_count; i++) {
		if (mortals[i].broken)
			continue;
		kill_hard(&holder[i]);
		go_round(r, p[i], i);
		assert_in_order(r, i);
	}
	close_room(r, ROOM);
}

/* G02 */
static void given_back_unmended_it_is_lost_for_all(void **state)
{
	static const char *const ways[] = { "ever", "until" };
	struct room *r = open_room(ROOM);

	(void)state;
	for (unsigned i = 0; i < mortals_count; i++) {
		const struct mortal *m = &mortals[i];
		struct thing *t = thing_at(r, i);
		struct process holder;
		struct process p[TAKERS];

		/* What was only read is in order. */
		if (!m->mend || m->told != EOWNERDEAD)
			continue;
		holder = start_holding(i, "kill");
		kill_hard(&holder);
		p[0] = start_taking(i, "ever", 1);
		is_told(&p[0], i, EOWNERDEAD, seconds_now());
		for (unsigned k = 0; k < 2; k++) {
			p[1 + k] = start_taking(i, ways[k], 2);
			settle(p[1 + k].pid);
		}
		t->next = LAST;
		tell(&p[0], "give");
		for (unsigned k = 1; k < TAKERS; k++) {
			is_told(&p[k], i, ENOTRECOVERABLE, seconds_now());
			kill_hard(&p[k]);
		}
		kill_hard(&p[0]);
		assert_int_equal(m->take(t, 3, HANDOFF_NEVER), ENOTRECOVERABLE);
		assert_int_equal(m->take(t, 3, 0), ENOTRECOVERABLE);
		if (m->try)
			assert_int_equal(m->try(t, 3), ENOTRECOVERABLE);
	}
	close_room(r, ROOM);
}

/* G17: closing what one holds is EBUSY, and nothing is settled; a party that
 * closes has gone. */
static void a_holder_that_closes_is_busy_or_gone(void **state)
{
	struct room *r = open_room(ROOM);

	(void)state;
	for (unsigned i = 0; i < mortals_count; i++) {
		struct process holder = start_holding(i, "close");
		struct process p;

		tell(&holder, "end");
		expect(&holder, "closed");
		p = start_taking(i, "ever", 1);
		if (mortals[i].close != 0) {
			is_not_told(&p, i, 0.2);
			kill_hard(&holder);
		}
		is_told(&p, i, mortals[i].told, seconds_now());
		mend_and_give(r, &p, i, mortals[i].told, LAST);
		assert_in_order(r, i);
		if (holder.pid != 0)
			kill_hard(&holder);
	}
	close_room(r, ROOM);
}

/* ---- Holders that look dead ----------------------------------------------- */

/* By one that waits, one that is late and one that tries. */
static void assert_not_taken(struct process *taker, unsigned line)
{
	struct process late;
	struct process next;

	/* A barrier's parties would meet. */
	if (!mortals[line].broken) {
		late = start_taking(line, "late", 2);
		if (mortals[line].try) {
			next = start_taking(line, "try", 3);
			is_not_told(&next, line, 0.1);
			kill_hard(&next);
		}
		is_told(&late, line, ETIMEDOUT, seconds_now());
		kill_hard(&late);
	}
	is_not_told(taker, line, 0);
}

static void drop(struct room *r, struct process *holder, struct process *taker,
    unsigned line)
{
	thing_at(r, line)->next = 1;
	tell(holder, "end");
	is_told(taker, line, 0, seconds_now());
	expect(holder, "dropped");
	mend_and_give(r, taker, line, 0, LAST);
	if (!mortals[line].broken)
		assert_in_order(r, line);
}

/* G45 */
static void a_stopped_holder_is_not_robbed(void **state)
{
	struct play p = { .r = open_room(ROOM) };
	double end;

	(void)state;
	for (unsigned i = 0; i < mortals_count; i++) {
		if (mortals[i].first)
			continue;
		p.holder[i] = start_holding(i, "drop");
		kill(p.holder[i].pid, SIGSTOP);
		p.taker[i] = start_taking(i, "ever", 1);
	}
	end = seconds_now() + 3;
	for (unsigned i = 0; i < mortals_count; i++)
		if (!mortals[i].first)
			assert_not_taken(&p.taker[i], i);
	while (seconds_now() < end)
		sleep_seconds(0.01);
	for (unsigned i = 0; i < mortals_count; i++)
		if (!mortals[i].first) {
			is_not_told(&p.taker[i], i, 0);
			kill(p.holder[i].pid, SIGCONT);
			drop(p.r, &p.holder[i], &p.taker[i], i);
			kill_hard(&p.holder[i]);
		}
	close_room(p.r, ROOM);
}

/* G53: nor one in another PID namespace, with the same number as the asker. */
static void a_holder_in_another_pid_namespace_is_not_robbed(void **state)
{
	struct play p = { .r = open_room(ROOM) };
	struct process probe = start_on("in_namespace", 0, "probe");

	(void)state;
	if (finish(&probe) == 77) {
		close_room(p.r, ROOM);
		SKIP("another PID namespace needs the rights of root");
	}
	for (unsigned i = 0; i < mortals_count; i++) {
		if (mortals[i].first)
			continue;
		p.holder[i] = start_on("in_namespace", i, "holder drop");
		expect(&p.holder[i], "held");
		p.taker[i] = start_on("in_namespace", i, "taker ever 1");
		expect(&p.taker[i], "takes");
	}
	sleep_seconds(2);
	for (unsigned i = 0; i < mortals_count; i++)
		if (!mortals[i].first) {
			assert_not_taken(&p.taker[i], i);
			drop(p.r, &p.holder[i], &p.taker[i], i);
			tell(&p.holder[i], "end");
			assert_int_equal(finish(&p.holder[i]), 0);
		}
	close_room(p.r, ROOM);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "holder", part_holder },
		{ "taker", part_taker },
		{ "after", part_after },
		{ "family", part_family },
		{ "in_namespace", part_in_namespace },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_end_of_a_holder_is_told),
		TEST(a_death_is_told_in_every_stage_of_a_wait),
		TEST(a_death_is_told_among_relatives),
		TEST(a_death_during_a_repair_is_told_to_the_next),
		TEST(exactly_one_of_three_is_told),
		TEST(given_back_unmended_it_is_lost_for_all),
		TEST(a_holder_that_closes_is_busy_or_gone),
		TEST(a_stopped_holder_is_not_robbed),
		TEST(a_holder_in_another_pid_namespace_is_not_robbed),
	};

	/* Each stage says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 150);
	return processes_end(
	    cmocka_run_group_tests_name("death_table", tests, NULL, NULL));
}
