/* SPDX-License-Identifier: ISC */
/* The word, between processes: what handoff_word(3) says beyond what
 * tests/waits.c tests.  What both widths share is tested for each. */
#define _GNU_SOURCE
#include "room.h"
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define CREATE HANDOFF_CREATE
#define PROCESSES 4u
#define WAITERS 5u
#define HIGH ((uint64_t)1 << 32)

/* ---- Both widths ------------------------------------------------------- */

union word {
	handoff_word32 w32;
	handoff_word64 w64;
};

struct width {
	uint64_t most;
	int (*init)(union word *w, uint64_t value,
	    const struct handoff_word_attr *attr);
	int (*open)(union word **w, const char *name, unsigned flags,
	    uint64_t value, const struct handoff_word_attr *attr);
	int (*destroy)(union word *w);
	uint64_t (*load)(const union word *w);
	void (*store)(union word *w, uint64_t value);
	uint64_t (*add)(union word *w, uint64_t value);
	uint64_t (*exchange)(union word *w, uint64_t value);
	int (*swap)(union word *w, uint64_t *expected, uint64_t desired);
	int (*wait)(union word *w, uint64_t equal);
	int (*wait_until)(union word *w, uint64_t equal, uint64_t deadline);
	int (*wake)(union word *w, uint32_t n);
	int (*wake_fenced)(union word *w, uint32_t n);
	/* As a user would, with C11's or the compiler's own. */
	uint64_t (*user_add)(union word *w, uint64_t value);
	void (*user_store)(union word *w, uint64_t value, int relaxed);
};

#define W32(w) ((handoff_word32 *)(w))
#define W64(w) ((handoff_word64 *)(w))

#define WIDTH(bits)                                                            \
	static int init##bits(union word *w, uint64_t value,                   \
	    const struct handoff_word_attr *attr)                              \
	{                                                                      \
		return handoff_word##bits##_init(W##bits(w),                   \
		    (uint##bits##_t)value, attr);                              \
	}                                                                      \
	static int open##bits(union word **w, const char *name,                \
	    unsigned flags, uint64_t value,                                    \
	    const struct handoff_word_attr *attr)                              \
	{                                                                      \
		return handoff_word##bits##_open((handoff_word##bits **)w,     \
		    name, flags, 0600, (uint##bits##_t)value, attr);           \
	}                                                                      \
	static int destroy##bits(union word *w)                                \
	{                                                                      \
		return handoff_word##bits##_destroy(W##bits(w));               \
	}                                                                      \
	static uint64_t load##bits(const union word *w)                        \
	{                                                                      \
		return handoff_word##bits##_load(                              \
		    (const handoff_word##bits *)w);                            \
	}                                                                      \
	static void store##bits(union word *w, uint64_t value)                 \
	{                                                                      \
		handoff_word##bits##_store(W##bits(w), (uint##bits##_t)value); \
	}                                                                      \
	static uint64_t add##bits(union word *w, uint64_t value)               \
	{                                                                      \
		return handoff_word##bits##_add(W##bits(w),                    \
		    (uint##bits##_t)value);                                    \
	}                                                                      \
	static uint64_t exchange##bits(union word *w, uint64_t value)          \
	{                                                                      \
		return handoff_word##bits##_exchange(W##bits(w),               \
		    (uint##bits##_t)value);                                    \
	}                                                                      \
	static int swap##bits(union word *w, uint64_t *expected,               \
	    uint64_t desired)                                                  \
	{                                                                      \
		uint##bits##_t e = (uint##bits##_t)(*expected);                \
		int swapped = handoff_word##bits##_compare_exchange(W##bits(   \
		                                                        w),    \
		    &e, (uint##bits##_t)desired);                              \
                                                                               \
		*expected = e;                                                 \
		return swapped;                                                \
	}                                                                      \
	static int wait##bits(union word *w, uint64_t equal)                   \
	{                                                                      \
		return handoff_word##bits##_wait(W##bits(w),                   \
		    (uint##bits##_t)equal);                                    \
	}                                                                      \
	static int wait_until##bits(union word *w, uint64_t equal,             \
	    uint64_t deadline)                                                 \
	{                                                                      \
		return handoff_word##bits##_wait_until(W##bits(w),             \
		    (uint##bits##_t)equal, deadline);                          \
	}                                                                      \
	static int wake##bits(union word *w, uint32_t n)                       \
	{                                                                      \
		return handoff_word##bits##_wake(W##bits(w), n);               \
	}                                                                      \
	static int wake_fenced##bits(union word *w, uint32_t n)                \
	{                                                                      \
		return handoff_word##bits##_wake_fenced(W##bits(w), n);        \
	}                                                                      \
	static uint64_t user_add##bits(union word *w, uint64_t value)          \
	{                                                                      \
		return atomic_fetch_add((_Atomic uint##bits##_t *)&W##bits(w)  \
		                            ->value,                           \
		    (uint##bits##_t)value);                                    \
	}                                                                      \
	static void user_store##bits(union word *w, uint64_t value,            \
	    int relaxed)                                                       \
	{                                                                      \
		if (relaxed)                                                   \
			__atomic_store_n(&W##bits(w)->value,                   \
			    (uint##bits##_t)value, __ATOMIC_RELAXED);          \
		else                                                           \
			__atomic_store_n(&W##bits(w)->value,                   \
			    (uint##bits##_t)value, __ATOMIC_SEQ_CST);          \
	}

WIDTH(32)
WIDTH(64)

#define ALL_OF(bits)                                                      \
	{                                                                 \
		UINT##bits##_MAX, init##bits, open##bits, destroy##bits,  \
		    load##bits, store##bits, add##bits, exchange##bits,   \
		    swap##bits, wait##bits, wait_until##bits, wake##bits, \
		    wake_fenced##bits, user_add##bits, user_store##bits   \
	}

static const struct width widths[2] = { ALL_OF(32), ALL_OF(64) };

/* What the parts of one test share, in a segment of the test's name. */
struct room {
	union word word; /* 0 in the beginning */
	union word back;
	handoff_mutex other;
	unsigned width;
	_Atomic unsigned stop;
	_Atomic unsigned inside;
	volatile uint64_t total;
	uint64_t each[PROCESSES];
	unsigned moves[PROCESSES];
};

const size_t room_bytes = sizeof(struct room);

struct wanted {
	unsigned width;
	unsigned policy;
	uint64_t limit;
};

int fill_room(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;
	struct handoff_word_attr attr = { sizeof attr, 0, wanted->policy,
		wanted->limit };
	struct room *r = memory;
	int e = widths[wanted->width].init(&r->word, 0, &attr);

	(void)bytes;
	r->width = wanted->width;
	if (e == 0)
		e = widths[wanted->width].init(&r->back, 0, NULL);
	return e != 0 ? e : handoff_mutex_init(&r->other, NULL);
}

static struct room *make(unsigned width, unsigned policy, uint64_t limit)
{
	struct wanted wanted = { width, policy, limit };
	struct room *r = make_room("word", &wanted);

	assert_non_null(r);
	return r;
}

static void end(struct room *r)
{
	close_room(r, "word");
}

#define EACH_WIDTH(test)                          \
	static void test(void **state)            \
	{                                         \
		(void)state;                      \
		for (unsigned i = 0; i < 2; i++)  \
			test##_of(i, &widths[i]); \
	}

/* "word:n": waits while it is n; of 64 bits, while that is in both halves. */
static int part_wait(const char *arg)
{
	unsigned n;
	struct room *r = join_room(arg, &n);
	uint64_t equal = r->width ? n * (HIGH + 1) : n;

	say("waits");
	OK(widths[r->width].wait(&r->word, equal));
	say("done");
	return 0;
}

static void done(struct process *p)
{
	expect(p, "done");
	GIVES(finish(p), 0);
}

/* ---- Bad arguments ----------------------------------------------------- */

static const struct handoff_word_attr bad[] = {
	{ 0, 0, 0, 0 },
	{ sizeof bad[0] - 1, 0, 0, 0 },
	{ sizeof bad[0] + 8, 0, 0, 0 },
	{ sizeof bad[0], HANDOFF_ROBUST, 0, 0 },
	{ sizeof bad[0], 0x80000000u, 0, 0 },
	{ sizeof bad[0], 0, 4, 0 },
	{ sizeof bad[0], 0, UINT32_MAX, 0 },
	{ sizeof bad[0], 0, 0, UINT64_MAX },
	{ sizeof bad[0], 0, 0, (uint64_t)UINT32_MAX + 1 },
};

#define BAD (sizeof bad / sizeof *bad)

static void bad_arguments_are_refused_of(unsigned n, const struct width *x)
{
	struct handoff_word_attr most = { sizeof most, 0, HANDOFF_WAIT_BLOCK,
		UINT32_MAX };
	union word plain[2];
	union word *w;
	char *at = (char *)plain;

	(void)n;
	for (size_t i = 0; i < BAD; i++) {
		GIVES(x->open(&w, "bad", CREATE, 0, &bad[i]), EINVAL);
		assert_null(w);
		GIVES(x->init(plain, 0, &bad[i]), EINVAL);
	}
	GIVES(x->open(NULL, "bad", CREATE, 0, NULL), EINVAL);
	GIVES(x->open(&w, NULL, CREATE, 0, NULL), EINVAL);
	GIVES(x->open(&w, "bad", HANDOFF_EXCLUSIVE, 0, NULL), EINVAL);
	GIVES(count_names(), 0);
	for (size_t i = 1; i < 64; i++)
		GIVES(x->init((union word *)(void *)(at + i), 0, NULL), EINVAL);
	GIVES(x->init(NULL, 0, NULL), EINVAL);
	GIVES(x->init(plain, x->most, &most), 0);
	assert_true(x->load(plain) == x->most);
	GIVES(x->destroy(plain), 0);
}

EACH_WIDTH(bad_arguments_are_refused)

/* Also where the value is not the one that it would wait for. */
static void refused(const struct width *x, union word *w)
{
	for (uint64_t equal = 0; equal < 2; equal++) {
		GIVES(x->wait(w, equal), EINVAL);
		GIVES(x->wait_until(w, equal, 0), EINVAL);
		GIVES(x->wait_until(w, equal, handoff_after(MS)), EINVAL);
	}
	for (uint32_t n = 0; n < 3; n++) {
		GIVES(x->wake(w, n), EINVAL);
		GIVES(x->wake_fenced(w, n), EINVAL);
	}
	GIVES(x->wake(w, HANDOFF_ALL), EINVAL);
	GIVES(x->wake_fenced(w, HANDOFF_ALL), EINVAL);
	GIVES(x->destroy(w), EINVAL);
}

static void what_is_no_such_word_is_refused_of(unsigned n,
    const struct width *x)
{
	struct room *r = make(n, 0, 0);
	handoff_sem sem;
	union word w;

	refused(x, NULL);
	memset(&w, 0, sizeof w);
	refused(x, &w);
	memset(&w, 0xff, sizeof w);
	refused(x, &w);
	refused(x, (union word *)&r->other);
	refused(&widths[!n], &r->word);
	GIVES(handoff_sem_init(&sem, 1, NULL), 0);
	refused(x, (union word *)&sem);
	GIVES(x->init(&w, 1, NULL), 0);
	GIVES(x->destroy(&w), 0);
	refused(x, &w);
	end(r);
}

EACH_WIDTH(what_is_no_such_word_is_refused)

/* ---- The value --------------------------------------------------------- */

static void the_value_is_the_users_of(unsigned n, const struct width *x)
{
	union word w;
	uint64_t was;

	(void)n;
	GIVES(x->init(&w, 7, NULL), 0);
	assert_true(x->load(&w) == 7);
	x->store(&w, x->most - 1);
	assert_true(x->add(&w, 3) == x->most - 1);
	assert_true(x->load(&w) == 1);
	assert_true(x->add(&w, x->most) == 1);
	assert_true(x->exchange(&w, x->most) == 0);
	assert_true(x->exchange(&w, 5) == x->most);
	was = 4;
	GIVES(x->swap(&w, &was, 9), 0);
	assert_true(was == 5);
	assert_true(x->load(&w) == 5);
	GIVES(x->swap(&w, &was, x->most), 1);
	assert_true(was == 5);
	assert_true(x->load(&w) == x->most);
	/* The user's own. */
	x->user_store(&w, x->most / 3, 0);
	assert_true(x->load(&w) == x->most / 3);
	assert_true(x->user_add(&w, 1) == x->most / 3);
	x->store(&w, x->most / 5);
	assert_true(x->user_add(&w, 0) == x->most / 5);
	x->user_store(&w, 2, 1);
	assert_true(x->load(&w) == 2);
	/* It is still a word. */
	GIVES(x->wait(&w, 3), 0);
	GIVES(x->wake(&w, HANDOFF_ALL), 0);
	GIVES(x->destroy(&w), 0);
	/* Nothing is checked. */
	assert_true(x->load(&w) == 2);
}

EACH_WIDTH(the_value_is_the_users)

/* The fields of the structures, in place. */
static void the_value_lies_where_the_header_says(void **state)
{
	handoff_word32 a;
	handoff_word64 b;

	(void)state;
	GIVES(handoff_word32_init(&a, 11, NULL), 0);
	GIVES(handoff_word64_init(&b, HIGH + 12, NULL), 0);
	assert_int_equal(a.value, 11);
	assert_true(b.value == HIGH + 12);
	handoff_word32_store(&a, 13);
	handoff_word64_store(&b, HIGH * 14);
	assert_int_equal(a.value, 13);
	assert_true(b.value == HIGH * 14);
}

static void the_first_to_open_says_the_value_of(unsigned n,
    const struct width *x)
{
	union word *w;
	union word *again;

	(void)n;
	GIVES(x->open(&w, "first", CREATE, x->most - 4, NULL), 0);
	GIVES(x->open(&again, "first", CREATE, 1, NULL), 0);
	assert_ptr_equal(w, again);
	assert_true(x->load(w) == x->most - 4);
	GIVES(x->wait(w, 1), 0);
	GIVES(x->wait_until(w, x->most - 4, 0), ETIMEDOUT);
	GIVES(handoff_close(w), 0);
	GIVES(handoff_close(w), 0);
	GIVES(unlink_name("first"), 0);
}

EACH_WIDTH(the_first_to_open_says_the_value)

/* ---- Waiting and waking ------------------------------------------------ */

static void a_wait_is_over_where_the_value_differs_of(unsigned n,
    const struct width *x)
{
	struct room *r = make(n, 0, 0);

	x->store(&r->word, x->most);
	GIVES(x->wait(&r->word, 0), 0);
	GIVES(x->wait(&r->word, x->most - 1), 0);
	GIVES(x->wait(&r->word, x->most / 2), 0);
	GIVES(x->wait_until(&r->word, 0, 0), 0);
	GIVES(x->wait_until(&r->word, 1, handoff_now()), 0);
	GIVES(x->wait_until(&r->word, 2, HANDOFF_NEVER), 0);
	GIVES(x->wait_until(&r->word, x->most, 0), ETIMEDOUT);
	GIVES(x->wait_until(&r->word, x->most, handoff_now()), ETIMEDOUT);
	/* Wakes of nobody are no errors, and are not remembered. */
	GIVES(x->wake(&r->word, 0), 0);
	GIVES(x->wake(&r->word, 1), 0);
	GIVES(x->wake_fenced(&r->word, 1), 0);
	GIVES(x->wake(&r->word, HANDOFF_ALL), 0);
	GIVES(x->wake_fenced(&r->word, HANDOFF_ALL), 0);
	GIVES(x->wait_until(&r->word, x->most, handoff_after(5 * MS)),
	    ETIMEDOUT);
	end(r);
}

EACH_WIDTH(a_wait_is_over_where_the_value_differs)

static void a_wake_without_a_change_ends_no_wait_of(unsigned n,
    const struct width *x)
{
	struct room *r = make(n, HANDOFF_WAIT_BLOCK, 0);
	struct process p = start_parked("wait", "word:0");

	for (unsigned i = 0; i < 20; i++) {
		GIVES(x->wake(&r->word, 1 + i % 2), 0);
		GIVES(x->wake_fenced(&r->word, 1), 0);
		GIVES(x->wake(&r->word, HANDOFF_ALL), 0);
		sleep_seconds(i % 3 * 0.001);
	}
	assert_false(says_within(&p, 0.02));
	x->store(&r->word, 1);
	GIVES(x->wake(&r->word, 1), 0);
	done(&p);
	end(r);
}

EACH_WIDTH(a_wake_without_a_change_ends_no_wait)

/* Each change is one half of a word alone. */
static void half(uint64_t value, int spinning)
{
	const struct width *x = &widths[1];
	struct room *r = make(1,
	    spinning ? HANDOFF_WAIT_SPIN : HANDOFF_WAIT_BLOCK,
	    spinning ? UINT32_MAX : 0);
	struct process p;

	x->store(&r->word, 7 * HIGH + 7);
	p = spinning ? start_spinning("wait", "word:7") :
	               start_parked("wait", "word:7");
	x->store(&r->word, value);
	GIVES(x->wake(&r->word, 1), 0);
	done(&p);
	end(r);
}

static void a_change_of_one_half_of_64_bits_ends_a_wait(void **state)
{
	(void)state;
	for (int spinning = 0; spinning < 2; spinning++) {
		half(8 * HIGH + 7, spinning);
		half(7, spinning);
		half(7 * HIGH + 8, spinning);
		half(7 * HIGH, spinning);
	}
}

/* All who wait for a value that is gone are let go, in any of these ways. */
static void let_go(unsigned n, unsigned how)
{
	const struct width *x = &widths[n];
	struct room *r = make(n, HANDOFF_WAIT_BLOCK, 0);
	struct process p[WAITERS];

	start_all(p, WAITERS, "wait", "word:0", 0);
	switch (how) {
	case 0:
		x->store(&r->word, 1);
		GIVES(x->wake(&r->word, HANDOFF_ALL), 0);
		break;
	case 1:
		x->user_add(&r->word, 1);
		GIVES(x->wake(&r->word, WAITERS), 0);
		break;
	case 2:
		x->user_store(&r->word, 1, 1);
		GIVES(x->wake_fenced(&r->word, HANDOFF_ALL), 0);
		break;
	case 3:
		x->user_store(&r->word, 1, 1);
		for (unsigned i = 0; i < WAITERS; i++)
			GIVES(x->wake_fenced(&r->word, 1), 0);
		break;
	default:
		for (unsigned i = 0; i < WAITERS; i++) {
			x->user_store(&r->word, i + 1, 0);
			GIVES(x->wake(&r->word, 1), 0);
		}
	}
	for (unsigned i = 0; i < WAITERS; i++)
		done(&p[i]);
	end(r);
}

static void wakes_let_all_go_who_waited_of(unsigned n, const struct width *x)
{
	(void)x;
	for (unsigned how = 0; how < 5; how++)
		let_go(n, how);
}

EACH_WIDTH(wakes_let_all_go_who_waited)

/* A change is enough for those who spin. */
static void who_spins_needs_no_wake_of(unsigned n, const struct width *x)
{
	for (unsigned policy = HANDOFF_WAIT_SPIN; policy <= HANDOFF_WAIT_YIELD;
	     policy++) {
		struct room *r = make(n, policy, UINT32_MAX);
		struct process p = start_spinning("wait", "word:0");

		x->user_store(&r->word, 1, 1);
		done(&p);
		end(r);
	}
}

EACH_WIDTH(who_spins_needs_no_wake)

/* ---- Between processes ------------------------------------------------- */

/* Adds, swaps and exchanges; `each` is what it has brought in all. */
static int part_count(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	const struct width *x = &widths[r->width];
	uint64_t n = 0;
	uint64_t hand = 0; /* what the exchange has taken out */

	say("ready");
	await("go");
	for (unsigned i = 0; i < 30000; i++) {
		uint64_t seen = x->load(&r->word);

		switch (i % 4) {
		case 0:
			x->add(&r->word, 3);
			n += 3;
			break;
		case 1:
			while (!x->swap(&r->word, &seen, seen + 5))
				;
			n += 5;
			break;
		case 2:
			x->user_add(&r->word, 7);
			n += 7;
			break;
		default:
			hand += x->exchange(&r->back, i);
			n -= i;
			break;
		}
		r->moves[me]++;
	}
	r->each[me] = n + hand;
	return 0;
}

static int enough(const struct room *r)
{
	const volatile uint64_t *each = r->each;
	uint64_t sum = 0;

	for (unsigned i = 0; i < PROCESSES; i++) {
		if (each[i] == 0)
			return 0;
		sum += each[i];
	}
	return sum > 1000;
}

static void helpers_and_atomics_of_the_user_conserve_of(unsigned n,
    const struct width *x)
{
	struct room *r = make(n, 0, 0);
	struct process p[PROCESSES];
	uint64_t sum = 0;
	char arg[64];

	for (unsigned i = 0; i < PROCESSES; i++) {
		snprintf(arg, sizeof arg, "word:%u", i);
		p[i] = start("count", arg);
		expect(&p[i], "ready");
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		tell(&p[i], "go");
	for (unsigned i = 0; i < PROCESSES; i++)
		GIVES(finish(&p[i]), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		assert_int_equal(r->moves[i], 30000);
		sum += r->each[i];
	}
	assert_true(x->load(&r->word) == PROCESSES * 7500u * 15u);
	/* What was put in by exchange is what was taken out, or is there. */
	assert_true(x->load(&r->word) == sum + x->load(&r->back));
	end(r);
}

EACH_WIDTH(helpers_and_atomics_of_the_user_conserve)

/* A lock as users build it: 0 free, 1 held, 2 held and somebody may wait. */
static int part_lock(const char *arg)
{
	unsigned me;
	struct room *r = join_room(arg, &me);
	const struct width *x = &widths[r->width];

	say("ready");
	await("go");
	while (!atomic_load(&r->stop)) {
		uint64_t free = 0;

		if (!x->swap(&r->word, &free, 1))
			while (x->exchange(&r->word, 2) != 0)
				OK(x->wait(&r->word, 2));
		CHECK(atomic_fetch_add(&r->inside, 1) == 0);
		r->total = r->total + 1;
		if (r->each[me]++ % 64 == 0) /* others come to wait */
			sched_yield();
		CHECK(atomic_fetch_sub(&r->inside, 1) == 1);
		if (x->exchange(&r->word, 0) == 2)
			OK(x->wake(&r->word, 1));
	}
	return 0;
}

static void lock(unsigned n, unsigned policy)
{
	struct room *r = make(n, policy, 0);
	struct process p[PROCESSES];
	uint64_t sum = 0;
	char arg[64];

	for (unsigned i = 0; i < PROCESSES; i++) {
		snprintf(arg, sizeof arg, "word:%u", i);
		p[i] = start("lock", arg);
		expect(&p[i], "ready");
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		tell(&p[i], "go");
	/* On a loaded machine it takes longer. */
	for (double until = seconds_now() + 10;
	     sleep_seconds(0.4), seconds_now() < until && !enough(r);)
		;
	atomic_store(&r->stop, 1);
	for (unsigned i = 0; i < PROCESSES; i++)
		GIVES(finish(&p[i]), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		assert_true(r->each[i] > 0);
		sum += r->each[i];
	}
	assert_true(sum == r->total);
	assert_true(sum > 1000);
	print_message("%llu times\n", (unsigned long long)sum);
	end(r);
}

static void a_lock_of_the_users_excludes_of(unsigned n, const struct width *x)
{
	(void)x;
	for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK; policy++)
		lock(n, policy);
}

EACH_WIDTH(a_lock_of_the_users_excludes)

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "wait", part_wait },
		{ "count", part_count },
		{ "lock", part_lock },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(bad_arguments_are_refused),
		TEST(what_is_no_such_word_is_refused),
		TEST(the_value_is_the_users),
		TEST(the_value_lies_where_the_header_says),
		TEST(the_first_to_open_says_the_value),
		TEST(a_wait_is_over_where_the_value_differs),
		TEST(a_wake_without_a_change_ends_no_wait),
		TEST(a_change_of_one_half_of_64_bits_ends_a_wait),
		TEST(wakes_let_all_go_who_waited),
		TEST(who_spins_needs_no_wake),
		TEST(helpers_and_atomics_of_the_user_conserve),
		TEST(a_lock_of_the_users_excludes),
	};

	/* Each word says itself how to wait. */
	unsetenv("HANDOFF_WAIT");
	PROCESSES_BEGIN(argc, argv, parts, 120);
	return processes_end(
	    cmocka_run_group_tests_name("word", tests, NULL, NULL));
}
