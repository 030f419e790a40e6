/* SPDX-License-Identifier: ISC */
/* What the tests of semaphore, event and word share. */
#define _GNU_SOURCE
#include "words.h"
#include "system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "still.h"

#define BOUND 10.0
#define MOMENT 0.02
#define SPINS 0.005 /* s of CPU: far more than the way into a wait */

/* ---- What all of them do ----------------------------------------------- */

static int init_sem(union object *o, unsigned policy, uint64_t limit)
{
	struct handoff_sem_attr attr = { sizeof attr, 0, policy, limit, 0 };

	return handoff_sem_init(&o->sem, 0, &attr);
}

static int open_sem(union object **o, const char *name, unsigned flags)
{
	return handoff_sem_open((handoff_sem **)o, name, flags, 0600, 0, NULL);
}

static int wait_sem(union object *o)
{
	return handoff_sem_wait(&o->sem);
}

static int wait_until_sem(union object *o, uint64_t deadline)
{
	return handoff_sem_wait_until(&o->sem, deadline);
}

static int give_sem(union object *o)
{
	return handoff_sem_post(&o->sem, 1);
}

static int destroy_sem(union object *o)
{
	return handoff_sem_destroy(&o->sem);
}

static int init_automatic(union object *o, unsigned policy, uint64_t limit)
{
	struct handoff_event_attr attr = { sizeof attr, 0, policy, limit };

	return handoff_event_init(&o->event, &attr);
}

static int open_automatic(union object **o, const char *name, unsigned flags)
{
	return handoff_event_open((handoff_event **)o, name, flags, 0600, NULL);
}

static int init_manual(union object *o, unsigned policy, uint64_t limit)
{
	struct handoff_event_attr attr = { sizeof attr, HANDOFF_EVENT_MANUAL,
		policy, limit };

	return handoff_event_init(&o->event, &attr);
}

static int open_manual(union object **o, const char *name, unsigned flags)
{
	struct handoff_event_attr attr = { sizeof attr, HANDOFF_EVENT_MANUAL, 0,
		0 };

	return handoff_event_open((handoff_event **)o, name, flags, 0600,
	    &attr);
}

static int wait_automatic(union object *o)
{
	return handoff_event_wait(&o->event);
}

static int wait_until_automatic(union object *o, uint64_t deadline)
{
	return handoff_event_wait_until(&o->event, deadline);
}

static int wait_manual(union object *o)
{
	int e = handoff_event_wait(&o->event);

	return e != 0 ? e : handoff_event_reset(&o->event);
}

static int wait_until_manual(union object *o, uint64_t deadline)
{
	int e = handoff_event_wait_until(&o->event, deadline);

	return e != 0 ? e : handoff_event_reset(&o->event);
}

static int give_event(union object *o)
{
	return handoff_event_set(&o->event);
}

static int destroy_event(union object *o)
{
	return handoff_event_destroy(&o->event);
}

/* A word that is 1 once it has been given, else 0. */
#define WORD(bits)                                                           \
	static int init_word##bits(union object *o, unsigned policy,         \
	    uint64_t limit)                                                  \
	{                                                                    \
		struct handoff_word_attr attr = { sizeof attr, 0, policy,    \
			limit };                                             \
                                                                             \
		return handoff_word##bits##_init(&o->word##bits, 0, &attr);  \
	}                                                                    \
	static int open_word##bits(union object **o, const char *name,       \
	    unsigned flags)                                                  \
	{                                                                    \
		return handoff_word##bits##_open((handoff_word##bits **)o,   \
		    name, flags, 0600, 0, NULL);                             \
	}                                                                    \
	static int wait_until_word##bits(union object *o, uint64_t deadline) \
	{                                                                    \
		int e = handoff_word##bits##_wait_until(&o->word##bits, 0,   \
		    deadline);                                               \
                                                                             \
		if (e == 0)                                                  \
			handoff_word##bits##_store(&o->word##bits, 0);       \
		return e;                                                    \
	}                                                                    \
	static int wait_word##bits(union object *o)                          \
	{                                                                    \
		int e = handoff_word##bits##_wait(&o->word##bits, 0);        \
                                                                             \
		if (e == 0)                                                  \
			handoff_word##bits##_store(&o->word##bits, 0);       \
		return e;                                                    \
	}                                                                    \
	static int give_word##bits(union object *o)                          \
	{                                                                    \
		handoff_word##bits##_store(&o->word##bits, 1);               \
		return handoff_word##bits##_wake(&o->word##bits, 1);         \
	}                                                                    \
	static int destroy_word##bits(union object *o)                       \
	{                                                                    \
		return handoff_word##bits##_destroy(&o->word##bits);         \
	}

WORD(32)
WORD(64)

const struct kind kinds[KINDS] = {
	{ "sem", init_sem, open_sem, wait_sem, wait_until_sem, give_sem,
	    destroy_sem },
	{ "automatic", init_automatic, open_automatic, wait_automatic,
	    wait_until_automatic, give_event, destroy_event },
	{ "manual", init_manual, open_manual, wait_manual, wait_until_manual,
	    give_event, destroy_event },
	{ "word32", init_word32, open_word32, wait_word32, wait_until_word32,
	    give_word32, destroy_word32 },
	{ "word64", init_word64, open_word64, wait_word64, wait_until_word64,
	    give_word64, destroy_word64 },
};

/* ---- A word of either width -------------------------------------------- */

uint64_t word_load(const union object *o, unsigned wide)
{
	return wide ? handoff_word64_load(&o->word64) :
	              handoff_word32_load(&o->word32);
}

void word_add(union object *o, unsigned wide, uint64_t n)
{
	if (wide)
		handoff_word64_add(&o->word64, n);
	else
		handoff_word32_add(&o->word32, (uint32_t)n);
}

uint64_t word_exchange(union object *o, unsigned wide, uint64_t to)
{
	return wide ? handoff_word64_exchange(&o->word64, to) :
	              handoff_word32_exchange(&o->word32, (uint32_t)to);
}

int word_swap(union object *o, unsigned wide, uint64_t from, uint64_t to)
{
	uint32_t narrow = (uint32_t)from;

	return wide ?
	    handoff_word64_compare_exchange(&o->word64, &from, to) :
	    handoff_word32_compare_exchange(&o->word32, &narrow, (uint32_t)to);
}

void word_release(union object *o, unsigned wide, uint64_t to)
{
	if (wide)
		__atomic_store_n(&o->word64.value, to, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&o->word32.value, (uint32_t)to,
		    __ATOMIC_RELEASE);
}

int word_wait(union object *o, unsigned wide, uint64_t equal, uint64_t deadline)
{
	return wide ?
	    handoff_word64_wait_until(&o->word64, equal, deadline) :
	    handoff_word32_wait_until(&o->word32, (uint32_t)equal, deadline);
}

int word_wake(union object *o, unsigned wide, uint32_t n, int fenced)
{
	if (wide)
		return fenced ? handoff_word64_wake_fenced(&o->word64, n) :
		                handoff_word64_wake(&o->word64, n);
	return fenced ? handoff_word32_wake_fenced(&o->word32, n) :
	                handoff_word32_wake(&o->word32, n);
}

/* The value of a word that means go. */
static uint64_t go_of(unsigned kind)
{
	return kind == WORD64 ? (uint64_t)1 << 32 : 1;
}

int kind_wait(union object *o, unsigned kind, uint64_t deadline)
{
	if (kind == SEM)
		return handoff_sem_wait_until(&o->sem, deadline);
	if (is_word(kind))
		return word_wait(o, kind == WORD64, 0, deadline);
	return handoff_event_wait_until(&o->event, deadline);
}

int kind_let_go(union object *o, unsigned kind, uint32_t n, int fenced)
{
	if (kind == SEM)
		return handoff_sem_post(&o->sem, n);
	if (!is_word(kind))
		return handoff_event_set(&o->event);
	if (fenced)
		word_release(o, kind == WORD64, go_of(kind));
	else
		word_exchange(o, kind == WORD64, go_of(kind));
	return word_wake(o, kind == WORD64, n, fenced);
}

void kind_empty(union object *o, unsigned kind)
{
	if (is_word(kind))
		word_exchange(o, kind == WORD64, 0);
	else if (kind == MANUAL)
		GIVES(handoff_event_reset(&o->event), 0);
	else
		while (kind_wait(o, kind, 0) == 0)
			;
	GIVES(kind_wait(o, kind, 0), ETIMEDOUT);
}

uint32_t word_of(const union object *o)
{
	return atomic_load((const _Atomic uint32_t *)(const void *)o + 8);
}

/* ---- Waiters ----------------------------------------------------------- */

void until_asleep(pid_t pid)
{
	double end = seconds_now() + BOUND;

	do
		sleep_seconds(0.002);
	while (!is_still(pid) && seconds_now() < end);
}

void until_spinning(pid_t pid)
{
	double before = cpu_of(pid);
	double end = seconds_now() + BOUND;

	do {
		sleep_seconds(0.001);
		assert_true(seconds_now() < end);
	} while (before >= 0 && cpu_of(pid) < before + SPINS);
}

struct process start_parked(const char *part, const char *arg)
{
	struct process p = start(part, arg);

	expect(&p, "waits");
	until_asleep(p.pid);
	return p;
}

struct process start_spinning(const char *part, const char *arg)
{
	struct process p = start(part, arg);

	expect(&p, "waits");
	until_spinning(p.pid);
	return p;
}

void start_all(struct process *p, unsigned n, const char *part, const char *arg,
    int spinning)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = spinning ? start_spinning(part, arg) :
		                  start_parked(part, arg);
}

unsigned count_sayers(struct process *p, unsigned n, unsigned least)
{
	double end = seconds_now() + BOUND;
	unsigned sayers;

	do {
		sayers = 0;
		for (unsigned i = 0; i < n; i++)
			sayers += says_within(&p[i], 0) != 0;
		if (sayers >= least)
			break;
		sleep_seconds(0.001);
	} while (seconds_now() < end);
	sleep_seconds(MOMENT);
	sayers = 0;
	for (unsigned i = 0; i < n; i++)
		sayers += says_within(&p[i], 0) != 0;
	return sayers;
}

void finish_sayer(struct process *p, unsigned *n, const char *word)
{
	for (unsigned i = 0; i < *n; i++) {
		if (!says_within(&p[i], 0))
			continue;
		expect(&p[i], word);
		assert_int_equal(finish(&p[i]), 0);
		p[i] = p[--*n];
		return;
	}
	fail_msg("nobody says \"%s\"", word);
}

/* ---- What is noted -------------------------------------------------------- */

struct handoff_statistics statistics_of(const void *object)
{
	struct handoff_statistics s = { .size = sizeof s };

	assert_int_equal(handoff_statistics(object, &s), 0);
	return s;
}

/* ---- Memory ------------------------------------------------------------ */

void keep_clear_of(const char *address, size_t bytes)
{
	void *there;

	CHECK(sscanf(address, "%p", &there) == 1);
	keep_clear(there, bytes);
}

/* ---- Children and signals ---------------------------------------------- */

void join_child(pid_t child)
{
	int status = -1;

	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
}

void catch_usr1(void (*on_signal)(int signal))
{
	catch_signal(SIGUSR1, on_signal, 0);
}
