/* SPDX-License-Identifier: ISC */
/*
 * Ending an object of any kind, and closing its segment, in each state: free,
 * held by this thread, by another, by another process, waited for (G17).
 */
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <stdio.h>

static struct room *make(void)
{
	struct room *r = make_room("closing", NULL);

	assert_non_null(r);
	return r;
}

static int destroy(struct room *r, unsigned i)
{
	return primitives[i].destroy((unsigned char *)r + primitives[i].object);
}

static void end(struct room *r)
{
	close_room(r, "closing");
}

/* What is destroyed is refused by each wait from now on. */
static void ends(struct room *r, unsigned i)
{
	if (destroy(r, i) != 0)
		fail_msg("%s is busy", primitives[i].name);
	GIVES(destroy(r, i), EINVAL);
	r->ready = 0;
	GIVES(primitives[i].wait(r, 0), EINVAL);
}

static void what_is_free_is_destroyed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make();

		ends(r, i);
		end(r);
		r = make();
		if (primitives[i].hold)
			GIVES(primitives[i].hold(r), 0);
		if (!primitives[i].meets)
			GIVES(primitives[i].let_go(r), 0);
		ends(r, i);
		end(r);
	}
}

/* ---- Held ---------------------------------------------------------------- */

static void assert_held(struct room *r, unsigned i, int here)
{
	GIVES(destroy(r, i), EBUSY);
	if (here)
		GIVES(handoff_close(r), EBUSY);
}

static void what_this_thread_holds_is_busy(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make();

		if (primitives[i].owned) {
			GIVES(primitives[i].hold(r), 0);
			assert_held(r, i, 1);
			GIVES(primitives[i].let_go(r), 0);
		}
		ends(r, i);
		end(r);
	}
}

/* A thread of this process, or the part "hold". */
struct holder {
	pthread_t thread;
	struct room *r;
	unsigned i;
	_Atomic int stage; /* 1: holds; 2: let go */
	int result;
};

static void *hold(void *arg)
{
	struct holder *h = arg;

	h->result = primitives[h->i].hold(h->r);
	h->stage = 1;
	while (h->stage != 2)
		sleep_seconds(0.001);
	h->result |= primitives[h->i].let_go(h->r);
	return NULL;
}

static void what_another_thread_holds_is_busy(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct holder h = { .r = make(), .i = i };

		if (primitives[i].owned) {
			GIVES(pthread_create(&h.thread, NULL, hold, &h), 0);
			while (h.stage == 0)
				sleep_seconds(0.001);
			assert_held(h.r, i, 1);
			h.stage = 2;
			GIVES(pthread_join(h.thread, NULL), 0);
			GIVES(h.result, 0);
		}
		ends(h.r, i);
		end(h.r);
	}
}

/* "name:primitive" */
static int part_hold(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	OK(primitives[i].hold(r));
	say("holds");
	await("let go");
	OK(primitives[i].let_go(r));
	return 0;
}

static struct process start_with(const char *part, unsigned i)
{
	char arg[64];

	snprintf(arg, sizeof arg, "closing:%u", i);
	return start(part, arg);
}

/* It cannot be destroyed; it can be closed, and stays held. */
static void what_another_process_holds_stays_held(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make();
		struct process p;

		if (!primitives[i].owned) {
			end(r);
			continue;
		}
		p = start_with("hold", i);
		expect(&p, "holds");
		assert_held(r, i, 0);
		GIVES(handoff_close(r), 0);
		r = make();
		GIVES(primitives[i].wait(r, 0), ETIMEDOUT);
		GIVES(primitives[i].let_go(r), EPERM);
		assert_held(r, i, 0);
		tell(&p, "let go");
		GIVES(finish(&p), 0);
		GIVES(primitives[i].wait(r, soon(10)), 0);
		ends(r, i);
		end(r);
	}
}

/* ---- Waited for ---------------------------------------------------------- */

static void *wait_in_thread(void *arg)
{
	struct holder *h = arg;

	h->stage = 1;
	h->result = primitives[h->i].wait(h->r, soon(20));
	return NULL;
}

static int blocked(const struct room *r, unsigned i)
{
	const unsigned char *object = (const unsigned char *)r +
	    primitives[i].object;

	return statistics_of(object).parks > 0;
}

static void waited_for(unsigned i)
{
	struct holder h = { .r = make(), .i = i };
	struct process p = { 0 };
	double by = seconds_now() + 10;

	/* By another process, so that the waiter alone keeps it open here. */
	if (primitives[i].hold) {
		p = start_with("hold", i);
		expect(&p, "holds");
	}
	GIVES(pthread_create(&h.thread, NULL, wait_in_thread, &h), 0);
	while (!blocked(h.r, i)) {
		assert_true(seconds_now() < by);
		sleep_seconds(0.001);
	}
	for (int n = 0; n < 3; n++) {
		assert_held(h.r, i, 1);
		sleep_seconds(0.002);
	}
	if (primitives[i].hold)
		tell(&p, "let go");
	else
		GIVES(primitives[i].let_go(h.r), 0);
	GIVES(pthread_join(h.thread, NULL), 0);
	GIVES(h.result, 0);
	if (primitives[i].hold)
		GIVES(finish(&p), 0);
	ends(h.r, i);
	end(h.r);
}

static void what_a_thread_waits_for_is_busy(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		waited_for(i);
}

/* "name:primitive" */
static int part_wait(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	say("waits");
	OK(primitives[i].wait(r, soon(20)));
	return 0;
}

/* What another process waits for can be closed here, and the wait goes on;
 * then the name is gone too. */
static void what_another_process_waits_for_may_be_closed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make();
		struct process h = { 0 };
		struct process p;

		if (primitives[i].hold) {
			h = start_with("hold", i);
			expect(&h, "holds");
		}
		p = start_with("wait", i);
		expect(&p, "waits");
		until_asleep(p.pid);
		GIVES(handoff_close(r), 0);
		assert_false(says_within(&p, 0.005));
		r = make();
		if (primitives[i].hold)
			tell(&h, "let go");
		else
			GIVES(primitives[i].let_go(r), 0);
		GIVES(finish(&p), 0);
		if (primitives[i].hold)
			GIVES(finish(&h), 0);
		end(r);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "hold", part_hold },
		{ "wait", part_wait },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_free_is_destroyed),
		TEST(what_this_thread_holds_is_busy),
		TEST(what_another_thread_holds_is_busy),
		TEST(what_another_process_holds_stays_held),
		TEST(what_a_thread_waits_for_is_busy),
		TEST(what_another_process_waits_for_may_be_closed),
	};

	PROCESSES_BEGIN(argc, argv, parts, 60);
	return processes_end(
	    cmocka_run_group_tests_name("closing_each", tests, NULL, NULL));
}
