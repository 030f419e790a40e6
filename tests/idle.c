/* SPDX-License-Identifier: ISC */
/* Waiting by a function of the user's, handoff_idle(), in the place of
 * spinning, yielding and blocking. */
#include "primitives.h"
#include "words.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 2000u
#define STACK 65536u

/* Who waits by a function does so whatever the object says. */
static struct room *make(unsigned policy)
{
	const struct made made = { policy, 0 };
	struct room *r = make_room("idle", &made);

	assert_non_null(r);
	return r;
}

static void end(struct room *r)
{
	close_room(r, "idle");
}

/* ---- What the function is told ------------------------------------------ */

struct calls {
	unsigned n; /* in all */
	unsigned waits;
	unsigned next;
	uint64_t waited;
	unsigned end_at;        /* call: no function any more; 0: never */
	_Atomic unsigned *told; /* how many, for others; or NULL */
};

static void count_call(unsigned iteration, uint64_t waited_ns, void *ctx)
{
	struct calls *c = ctx;

	c->n++;
	if (iteration == 0) {
		c->waits++;
		CHECK(waited_ns == 0);
	} else {
		CHECK(iteration == c->next);
		CHECK(waited_ns >= c->waited);
	}
	c->next = iteration + 1;
	c->waited = waited_ns;
	if (c->told)
		atomic_store(c->told, c->n);
	if (c->n == c->end_at)
		OK(handoff_idle(NULL, NULL));
	sched_yield();
}

/* Whether the thread's waits have been the function's alone. */
static int left_all_to_it(void)
{
	struct handoff_thread_statistics s = done_so_far();

	if (s.size != 0 && s.spins == 0 && s.yields == 0 && s.parks == 0)
		return 1;
	fprintf(stderr, "%llu spins, %llu yields, %llu parks\n",
	    (unsigned long long)s.spins, (unsigned long long)s.yields,
	    (unsigned long long)s.parks);
	return 0;
}

/* "name:primitive" */
static int part_wait(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);
	struct calls c = { .told = &r->late };

	OK(handoff_idle(count_call, &c));
	OK(primitives[i].wait(r, soon(20)));
	CHECK(c.n >= 2 && c.waited > 0);
	CHECK(c.waits >= 1 && c.waits <= primitives[i].steps);
	CHECK(left_all_to_it());
	CHECK(done_so_far().waits >= 1);
	return 0;
}

static struct process start_on(const char *part, unsigned primitive)
{
	char arg[64];

	snprintf(arg, sizeof arg, "idle:%u", primitive);
	return start(part, arg);
}

static void until_called(struct room *r, unsigned times)
{
	double by = seconds_now() + 10;

	while (atomic_load(&r->late) < times) {
		assert_true(seconds_now() < by);
		sleep_seconds(0.001);
	}
}

static void nobody_blocks_who_has_a_function(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++)
		for (unsigned policy = HANDOFF_WAIT_ADAPTIVE;
		     policy <= HANDOFF_WAIT_BLOCK; policy++) {
			struct room *r = make(policy);
			struct process p;

			if (primitives[i].hold)
				GIVES(primitives[i].hold(r), 0);
			p = start_on("wait", i);
			until_called(r, 2);
			GIVES(primitives[i].let_go(r), 0);
			GIVES(finish(&p), 0);
			end(r);
		}
}

/* "name:primitive": nobody ends its waits. */
static int part_late(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);
	struct calls c = { 0 };

	OK(handoff_idle(count_call, &c));
	for (int turn = 0; turn < 3; turn++) {
		uint64_t deadline = soon(0.01);
		unsigned before = c.waits;

		RESULT(primitives[i].wait(r, deadline), ETIMEDOUT);
		CHECK(handoff_now() >= deadline);
		CHECK(c.waits > before);
	}
	CHECK(left_all_to_it());
	/* One that is over already is a single try. */
	c.n = 0;
	RESULT(primitives[i].wait(r, 0), ETIMEDOUT);
	CHECK(c.n == 0);
	return 0;
}

static void a_deadline_ends_the_wait(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
		struct process p;

		if (primitives[i].hold)
			GIVES(primitives[i].hold(r), 0);
		p = start_on("late", i);
		GIVES(finish(&p), 0);
		if (primitives[i].hold)
			GIVES(primitives[i].let_go(r), 0);
		end(r);
	}
}

/* ---- An end of it -------------------------------------------------------- */

/* "name:primitive": blocks after the third call. */
static int part_give_up(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);
	struct calls c = { .end_at = 3 };

	OK(handoff_idle(count_call, &c));
	say("waits");
	OK(primitives[i].wait(r, soon(20)));
	CHECK(c.n == 3);
	CHECK(done_so_far().parks > 0);
	return 0;
}

/* "name:primitive": has had a function. */
static int part_without(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);
	struct calls c = { 0 };

	OK(handoff_idle(count_call, &c));
	OK(handoff_idle(NULL, &c));
	say("waits");
	OK(primitives[i].wait(r, soon(20)));
	CHECK(c.n == 0);
	CHECK(done_so_far().parks > 0);
	return 0;
}

static void blocks(const char *part)
{
	for (unsigned i = 0; i < PRIMITIVES; i++) {
		struct room *r = make(HANDOFF_WAIT_BLOCK);
		struct process p;

		if (primitives[i].hold)
			GIVES(primitives[i].hold(r), 0);
		p = start_on(part, i);
		expect(&p, "waits");
		until_asleep(p.pid);
		GIVES(primitives[i].let_go(r), 0);
		GIVES(finish(&p), 0);
		end(r);
	}
}

static void the_function_may_end_it_for_the_running_wait(void **state)
{
	(void)state;
	blocks("give up");
}

static void without_a_function_waits_block_again(void **state)
{
	(void)state;
	blocks("without");
}

static void *without_function(void *arg)
{
	struct room *r = arg;

	RESULT(handoff_sem_wait_until(&r->sem, soon(0.01)), ETIMEDOUT);
	CHECK(done_so_far().parks > 0);
	return NULL;
}

/* Neither another thread nor a child has it. */
static int part_alone(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	struct calls c = { 0 };
	pthread_t thread;
	pid_t child;

	OK(handoff_idle(count_call, &c));
	CHECK(pthread_create(&thread, NULL, without_function, r) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	child = fork();
	if (child == 0) {
		without_function(r);
		_exit(0);
	}
	join_child(child);
	CHECK(c.n == 0);
	RESULT(handoff_sem_wait_until(&r->sem, soon(0.01)), ETIMEDOUT);
	CHECK(c.n > 0);
	return 0;
}

static void it_is_the_threads_own(void **state)
{
	struct room *r = make(HANDOFF_WAIT_BLOCK);
	struct process p = start("alone", "idle");

	(void)state;
	GIVES(finish(&p), 0);
	end(r);
}

/* ---- Deaths -------------------------------------------------------------- */

/* "name:primitive": holds it until it is killed. */
static int part_hold(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);

	if (i == AT_COND)
		OK(handoff_mutex_lock(&r->beside));
	else
		OK(primitives[i].hold(r));
	say("holds");
	linger();
	return 0;
}

static int part_heir(const char *arg)
{
	unsigned i;
	struct room *r = join_room(arg, &i);
	struct calls c = { 0 };

	OK(handoff_idle(count_call, &c));
	say("waits");
	RESULT(primitives[i].wait(r, soon(20)), EOWNERDEAD);
	CHECK(c.n > 0);
	CHECK(left_all_to_it());
	return 0;
}

static void an_owners_death_is_told(void **state)
{
	static const unsigned held[] = { AT_MUTEX, AT_READ, AT_WRITE,
		AT_BATON };

	(void)state;
	for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
		struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
		struct process holder = start_on("hold", held[i]);
		struct process heir;

		expect(&holder, "holds");
		heir = start_on("heir", held[i]);
		expect(&heir, "waits");
		sleep_seconds(0.02);
		assert_false(says_within(&heir, 0));
		kill_hard(&holder);
		GIVES(finish(&heir), 0);
		end(r);
	}
}

/* The mutex's owner dies while one waits for the condition. */
static void an_owners_death_ends_a_wait_for_a_condition(void **state)
{
	struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
	struct process heir = start_on("heir", AT_COND);
	struct process holder;

	(void)state;
	expect(&heir, "waits");
	sleep_seconds(0.02);
	holder = start_on("hold", AT_COND);
	expect(&holder, "holds");
	kill_hard(&holder);
	GIVES(finish(&heir), 0);
	end(r);
}

/* ---- Fibres -------------------------------------------------------------- */

/* Two fibres of one thread and where it came from. */
static struct fibre {
	ucontext_t context;
	unsigned me;
	unsigned done; /* rounds */
	unsigned switches;
	int over;
	_Alignas(16) unsigned char stack[STACK];
} fibres[2];
static ucontext_t home;
static struct room *fibres_room;
static enum {
	ANSWERED, /* both hand off */
	OF_ANY,   /* and the second one waits for any of several */
	CROSSING, /* nobody answers; who waited first gives up first */
	NESTED    /* gives up last */
} manner;

static struct fibre *running;

/* Goes to the other fibre, unless that is over; this one goes on when the
 * other one waits. */
static void switch_fibre(unsigned iteration, uint64_t waited_ns, void *ctx)
{
	struct fibre *me = running;
	struct fibre *other = &fibres[!me->me];

	(void)iteration;
	(void)waited_ns;
	CHECK(ctx == fibres);
	if (other->over) {
		sched_yield();
		return;
	}
	running = other;
	me->switches++;
	CHECK(swapcontext(&me->context, &other->context) == 0);
	CHECK(running == me);
}

/* The partner answers on the semaphore to fibre 0, on the event to fibre 1. */
static void round_of(struct room *r, unsigned me)
{
	if (manner >= CROSSING) {
		uint64_t end = soon(
		    (manner == CROSSING) == (me == 1) ? 0.02 : 0.005);

		RESULT(primitives[me ? AT_EVENT : AT_SEM].wait(r, end),
		    ETIMEDOUT);
		return;
	}
	if (me == 0) {
		handoff_word32_add(&r->word32, 1);
		OK(handoff_word32_wake(&r->word32, 1));
		OK(handoff_sem_wait_until(&r->sem, soon(20)));
		return;
	}
	handoff_word64_add(&r->word64, 1);
	OK(handoff_word64_wake(&r->word64, 1));
	if (manner == OF_ANY) {
		struct handoff_item items[] = { { &r->event, 0 } };

		OK(handoff_wait_any_until(items, 1, NULL, soon(20)));
	} else {
		OK(handoff_event_wait_until(&r->event, soon(20)));
	}
}

static unsigned rounds_of(unsigned how)
{
	return how < CROSSING ? ROUNDS : 1;
}

static void run_fibre(void)
{
	struct fibre *me = running;

	for (; me->done < rounds_of(manner); me->done++)
		round_of(fibres_room, me->me);
	me->over = 1;
	running = &fibres[!me->me];
	setcontext(running->over ? &home : &running->context);
	CHECK(0);
}

static void run_fibres(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct fibre *f = &fibres[i];

		f->me = i;
		CHECK(getcontext(&f->context) == 0);
		f->context.uc_stack.ss_sp = f->stack;
		f->context.uc_stack.ss_size = sizeof f->stack;
		f->context.uc_link = &home;
		makecontext(&f->context, run_fibre, 0);
	}
	running = &fibres[0];
	OK(handoff_idle(switch_fibre, fibres));
	CHECK(swapcontext(&home, &fibres[0].context) == 0);
	OK(handoff_idle(NULL, NULL));
}

static void *try_to_close(void *arg)
{
	struct room *r = arg;
	double by = seconds_now() + 10;

	/* The thread that had fibres blocks now, and is seen to. */
	while (statistics_of(&r->barrier).parks == 0) {
		CHECK(seconds_now() < by);
		sleep_seconds(0.001);
	}
	RESULT(handoff_close(r), EBUSY);
	OK(handoff_barrier_wait(&r->barrier, NULL));
	return NULL;
}

/* The thread that had fibres waits for the barrier. */
static void a_close_is_refused(struct room *r)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, try_to_close, r) == 0);
	OK(handoff_barrier_wait(&r->barrier, NULL));
	CHECK(pthread_join(thread, NULL) == 0);
}

/* "name:manner" */
static int part_fibres(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);

	manner = n;
	fibres_room = r;
	run_fibres();
	for (unsigned i = 0; i < 2; i++) {
		CHECK(fibres[i].over && fibres[i].done == rounds_of(n));
		CHECK(fibres[i].switches > 0);
	}
	CHECK(left_all_to_it());
	if (n < CROSSING)
		a_close_is_refused(r);
	OK(handoff_close(r));
	RESULT(handoff_close(r), EINVAL);
	return 0;
}

/* Answers whoever has asked. */
static int part_answer(const char *arg)
{
	struct room *r = join_room(arg, NULL);
	uint64_t asked[2] = { 0, 0 };

	while (asked[0] < ROUNDS || asked[1] < ROUNDS) {
		struct handoff_item items[] = { { &r->word32, asked[0] },
			{ &r->word64, asked[1] } };
		size_t which;

		OK(handoff_wait_any_until(items, 2, &which, soon(20)));
		asked[which]++;
		if (which == 0)
			OK(handoff_sem_post(&r->sem, 1));
		else
			OK(handoff_event_set(&r->event));
	}
	return 0;
}

static void two_fibres(unsigned how)
{
	struct room *r = make(HANDOFF_WAIT_ADAPTIVE);
	struct process p = start_on("fibres", how);

	if (how < CROSSING) {
		struct process answers = start("answer", "idle");

		GIVES(finish(&answers), 0);
	}
	GIVES(finish(&p), 0);
	end(r);
}

static void two_fibres_of_a_thread_hand_off(void **state)
{
	(void)state;
	two_fibres(ANSWERED);
	two_fibres(OF_ANY);
}

static void waits_of_fibres_end_in_any_order(void **state)
{
	(void)state;
	two_fibres(CROSSING);
	two_fibres(NESTED);
}

/* ---- A wait in the function ---------------------------------------------- */

static void wait_inside(unsigned iteration, uint64_t waited_ns, void *ctx)
{
	struct room *r = ctx;
	struct handoff_item items[] = { { &r->event, 0 } };

	(void)waited_ns;
	if (iteration > 2) {
		OK(handoff_idle(NULL, NULL));
		return;
	}
	OK(handoff_idle(NULL, NULL));
	RESULT(handoff_event_wait_until(&r->event, soon(0.001)), ETIMEDOUT);
	RESULT(handoff_wait_any_until(items, 1, NULL, soon(0.001)), ETIMEDOUT);
	RESULT(primitives[AT_COND].wait(r, soon(0.001)), ETIMEDOUT);
	OK(handoff_idle(wait_inside, r));
}

static void *close_while_it_waits(void *arg)
{
	struct room *r = arg;
	double by = seconds_now() + 10;

	while (statistics_of(&r->sem).parks == 0) {
		CHECK(seconds_now() < by);
		sleep_seconds(0.001);
	}
	RESULT(handoff_close(r), EBUSY);
	OK(handoff_sem_post(&r->sem, 1));
	return NULL;
}

/* "name:any": what was noted of the outer wait is there when the function
 * returns. */
static int part_inside(const char *arg)
{
	unsigned any;
	struct room *r = join_room(arg, &any);
	struct handoff_item items[] = { { &r->sem, 0 } };
	pthread_t thread;

	OK(handoff_idle(wait_inside, r));
	CHECK(pthread_create(&thread, NULL, close_while_it_waits, r) == 0);
	if (any)
		OK(handoff_wait_any_until(items, 1, NULL, soon(20)));
	else
		OK(handoff_sem_wait_until(&r->sem, soon(20)));
	CHECK(pthread_join(thread, NULL) == 0);
	OK(handoff_close(r));
	return 0;
}

static void the_function_may_wait_itself(void **state)
{
	(void)state;
	for (unsigned any = 0; any < 2; any++) {
		struct room *r = make(HANDOFF_WAIT_BLOCK);
		struct process p = start_on("inside", any);

		GIVES(finish(&p), 0);
		end(r);
	}
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "late", part_late },
		{ "give up", part_give_up },
		{ "without", part_without },
		{ "alone", part_alone },
		{ "hold", part_hold },
		{ "heir", part_heir },
		{ "fibres", part_fibres },
		{ "answer", part_answer },
		{ "inside", part_inside },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(nobody_blocks_who_has_a_function),
		TEST(a_deadline_ends_the_wait),
		TEST(the_function_may_end_it_for_the_running_wait),
		TEST(without_a_function_waits_block_again),
		TEST(it_is_the_threads_own),
		TEST(an_owners_death_is_told),
		TEST(an_owners_death_ends_a_wait_for_a_condition),
		TEST(two_fibres_of_a_thread_hand_off),
		TEST(waits_of_fibres_end_in_any_order),
		TEST(the_function_may_wait_itself),
	};

	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("idle", tests, NULL, NULL));
}
