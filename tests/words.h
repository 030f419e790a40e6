/* SPDX-License-Identifier: ISC */
/*
 * What the tests of semaphore, event and word share: waiters that are known to
 * sleep or to spin.
 */
#ifndef TESTS_WORDS_H
#define TESTS_WORDS_H

#include "processes.h"
#include "system.h"

/* ---- What all of them do ----------------------------------------------- */

union object {
	handoff_sem sem;
	handoff_event event;
	handoff_word32 word32;
	handoff_word64 word64;
};

/* A give lets one wait end, and such a wait leaves the object as it was before
 * the give. */
struct kind {
	const char *name;
	int (*init)(union object *o, unsigned policy, uint64_t limit);
	int (*open)(union object **o, const char *name, unsigned flags);
	int (*wait)(union object *o);
	int (*wait_until)(union object *o, uint64_t deadline);
	int (*give)(union object *o);
	int (*destroy)(union object *o);
};

enum { SEM, AUTOMATIC, MANUAL, WORD32, WORD64, KINDS };
extern const struct kind kinds[KINDS];

/* The same by number, for one that leaves things as they are: a wait takes from
 * a semaphore or an automatic event alone. */
int kind_wait(union object *o, unsigned kind, uint64_t deadline);

/* Lets up to `n` go: by a post, a set, or a write and a wake. */
int kind_let_go(union object *o, unsigned kind, uint32_t n, int fenced);

/* For the parent: takes back what there is. */
void kind_empty(union object *o, unsigned kind);

/* The word of a semaphore or an event. */
uint32_t word_of(const union object *o);

static inline int is_word(unsigned kind)
{
	return kind == WORD32 || kind == WORD64;
}

/* ---- A word of either width -------------------------------------------- */

uint64_t word_load(const union object *o, unsigned wide);
void word_add(union object *o, unsigned wide, uint64_t n);
uint64_t word_exchange(union object *o, unsigned wide, uint64_t to);
int word_swap(union object *o, unsigned wide, uint64_t from, uint64_t to);

/* Not sequentially consistent, so that only a fenced wake will do. */
void word_release(union object *o, unsigned wide, uint64_t to);

int word_wait(union object *o, unsigned wide, uint64_t equal,
    uint64_t deadline);
int word_wake(union object *o, unsigned wide, uint32_t n, int fenced);

/* ---- For the parent ---------------------------------------------------- */

#define GIVES(call, expected) assert_int_equal(call, expected)

/* The same, and errno stays as it was. */
#define KEPT(call, expected)                   \
	do {                                   \
		errno = 4711;                  \
		GIVES(call, expected);         \
		assert_int_equal(errno, 4711); \
	} while (0)

/* Until that process sleeps, or is dead, as far as can be told. */
void until_asleep(pid_t pid);

/* Until it has worked for so long that it can only spin in its wait. */
void until_spinning(pid_t pid);

/* Starts a part that says "waits" and does so: it is parked, or spins. */
struct process start_parked(const char *part, const char *arg);
struct process start_spinning(const char *part, const char *arg);

/* The same for `n` parts. */
void start_all(struct process *p, unsigned n, const char *part, const char *arg,
    int spinning);

/* How many of the parts have something to say: `least` at the least, within
 * 10 s, and no more after another moment. */
unsigned count_sayers(struct process *p, unsigned n, unsigned least);

/* One of those *n parts says `word` and ends well; *n are left. */
void finish_sayer(struct process *p, unsigned *n, const char *word);

struct handoff_statistics statistics_of(const void *object);

/* ---- For a part -------------------------------------------------------- */

/* Nothing will be mapped where the parent has something, which says where. */
void keep_clear_of(const char *address, size_t bytes);

/* The child has ended well. */
void join_child(pid_t child);

/* Calls `on_signal` for SIGUSR1; calls are not restarted. */
void catch_usr1(void (*on_signal)(int signal));

#endif
