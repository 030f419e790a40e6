/* SPDX-License-Identifier: ISC */
/*
 * A storm of kills: processes do random things with objects of all kinds, and
 * are killed and stopped at any moment.  What happens stands in a table in
 * memory that nothing of the library knows, so that the parent sees which call
 * of which process does not end, and which were ended by a kill.
 */
#ifndef TESTS_STORM_H
#define TESTS_STORM_H

#include "processes.h"

#include <stdatomic.h>
#include <stdbool.h>

#define VICTIMS 8u     /* processes that are killed and replaced */
#define FEEDER VICTIMS /* one that is not: it ends waits that nobody ends */
#define PLACES (VICTIMS + 1)
#define NS_MS 1000000u

/* ---- The table ----------------------------------------------------------- */

enum storm_call {
	CALL_WAIT,  /* as long as it takes */
	CALL_TRY,   /* not at all */
	CALL_UNTIL, /* to a deadline */
	CALL_GIVE,  /* lets others go on */
	CALL_OTHER,
	CALLS
};
extern const char *const storm_calls[CALLS];

/* One process at a time. */
struct place {
	_Alignas(64) _Atomic uint32_t generation;
	_Atomic uint32_t doomed; /* this generation and those before */
	_Atomic uint32_t serial; /* of calls; odd: inside one */
	_Atomic uint32_t kind;
	_Atomic uint32_t call;
	_Atomic uint32_t amount;   /* that the call would give or take */
	_Atomic uint32_t reading;  /* the generation, while it reads */
	_Atomic uint32_t at_point; /* to die at so many points from now */
	char said[200];
};

/* One kind's calls: done, and those that a kill may have cut short. */
struct tally {
	_Atomic uint64_t calls[CALLS];
	_Atomic uint64_t kills[CALLS];
	_Atomic uint64_t gave;
	_Atomic uint64_t took;
	_Atomic uint64_t maybe_gave;
	_Atomic uint64_t maybe_took;
	_Atomic uint64_t told; /* EOWNERDEAD */
	_Atomic uint64_t lost; /* ENOTRECOVERABLE, or broken */
	_Atomic uint64_t last; /* of a barrier's parties */
	_Atomic uint64_t longest;
};

#define STORM_KINDS 16u
#define EPOCHS 2u /* kinds of objects that end and are made anew */

struct table {
	uint64_t seed;
	_Atomic uint32_t stop; /* 1: the victims end; 2: the feeder, too */
	_Atomic uint32_t epochs[EPOCHS];
	struct place places[PLACES];
	struct tally tallies[STORM_KINDS];
};

/* ---- What a lock protects ------------------------------------------------ */

/* A pair of equal numbers, and who is inside. */
struct guarded {
	_Atomic uint32_t inside;
	volatile uint32_t a;
	volatile uint32_t b;
};

/* ---- The objects that all share ------------------------------------------ */

enum { PLAIN, RECURSIVE, ERRORCHECK, UNFAIR, MUTEXES };

struct room {
	handoff_mutex mutexes[MUTEXES];
	struct guarded guarded[MUTEXES];
	handoff_mutex beside; /* of the condition */
	handoff_cond cond;
	struct guarded stock;
	volatile uint64_t puts;
	volatile uint64_t takes;
	handoff_rwlock rwlock;
	struct guarded written;
	handoff_sem sem;
	handoff_event once;
	handoff_event all;
	handoff_word32 word32;
	handoff_word64 word64;
	handoff_sem any_sem;
	handoff_event any_event;
	handoff_word32 any_word;
	handoff_baton baton;
	struct guarded turn;
};

/* ---- A process ----------------------------------------------------------- */

extern struct table *table;
extern struct place *here; /* of this process */
extern struct room *room;
extern uint32_t me; /* its place and generation */

/* Below n, as seed, place and generation say. */
uint32_t chance(uint32_t n);

/* Fails: the parent tells what is said. */
void storm_fail(const char *file, int line, const char *what, int e);
#define MUST(condition)                                                \
	do {                                                           \
		if (!(condition))                                      \
			storm_fail(__FILE__, __LINE__, #condition, 0); \
	} while (0)
#define GIVES0(call) storm_gives0(call, __FILE__, __LINE__, #call)
void storm_gives0(int e, const char *file, int line, const char *what);

/* A call of the library: IN(kind, CALL_TRY, handoff_sem_trywait(s)).  One that
 * gives or takes what is counted does so by one. */
#define IN(kind, call, expression) (enter(kind, call, 1), leave(expression))
void enter(unsigned kind, enum storm_call call, uint32_t amount);
int leave(int e);

/* Some way to get something: waiting, trying, or until a deadline. */
struct ways {
	int (*wait)(void *object);
	int (*attempt)(void *object);
	int (*until)(void *object, uint64_t deadline);
};
int get(unsigned kind, const struct ways *ways, void *object);

/* Functions of one type, of those of an object. */
#define WAYS(name, type, waits, attempts, has_until)                   \
	static int name##_wait(void *o)                                \
	{                                                              \
		return waits((type *)o);                               \
	}                                                              \
	static int name##_attempt(void *o)                             \
	{                                                              \
		return attempts((type *)o);                            \
	}                                                              \
	static int name##_until(void *o, uint64_t deadline)            \
	{                                                              \
		return has_until((type *)o, deadline);                 \
	}                                                              \
	static const struct ways name = { name##_wait, name##_attempt, \
		name##_until };

/* A deadline that comes soon. */
uint64_t some_deadline(void);

/* Whether a process is one that was killed, or is being. */
bool is_doomed(uint32_t who);

/* Comes in after a lock's 0 or EOWNERDEAD, works, and leaves before the
 * unlock.  True: it had been told that a holder died, and has repaired. */
bool come_in(unsigned kind, struct guarded *g, int e);
void work(struct guarded *g);
void go_out(struct guarded *g);

/* A short time that is not always the same. */
void dawdle(void);

/* Whether a victim is in a call of this kind that takes. */
bool somebody_waits(unsigned kind);

/* ---- The kinds ----------------------------------------------------------- */

struct storm_kind {
	const char *name;
	/* Something random, by a process that may be killed meanwhile. */
	void (*act)(unsigned kind);
	/* So that no wait lasts: by the feeder, all the time; or NULL. */
	void (*feed)(unsigned kind);
	/* By the parent in the end: what is wrong, or NULL. */
	const char *(*settle)(unsigned kind);
	unsigned calls; /* that it makes, one bit for each */
	size_t object;  /* where in the room, for kinds that differ in that */
};
extern const struct storm_kind storm_kinds[STORM_KINDS];

/* What this process has to do at once, whatever it is about to do. */
void take_turn_that_came(void);

void act_mutex(unsigned kind);
const char *settle_mutex(unsigned kind);
void act_mortal(unsigned kind);
void act_cond(unsigned kind);
void feed_cond(unsigned kind);
const char *settle_cond(unsigned kind);
void act_rwlock(unsigned kind);
const char *settle_rwlock(unsigned kind);
void act_sem(unsigned kind);
void feed_sem(unsigned kind);
const char *settle_sem(unsigned kind);
void act_once(unsigned kind);
void feed_once(unsigned kind);
const char *settle_taken(unsigned kind);
void act_all(unsigned kind);
void feed_all(unsigned kind);
void act_word32(unsigned kind);
void feed_word32(unsigned kind);
const char *settle_word32(unsigned kind);
void act_word64(unsigned kind);
void feed_word64(unsigned kind);
const char *settle_word64(unsigned kind);
void act_any(unsigned kind);
void feed_any(unsigned kind);
void act_barrier(unsigned kind);
void feed_barrier(unsigned kind);
const char *settle_barrier(unsigned kind);
void act_baton(unsigned kind);
void feed_baton(unsigned kind);
const char *settle_baton(unsigned kind);
void act_names(unsigned kind);

/* What ends and is made anew under another name: the object of now, NULL if
 * there is none; it is no longer the one of now. */
void *epoch_open(unsigned which, unsigned kind);
void epoch_over(unsigned which, unsigned kind);

/* ---- The program --------------------------------------------------------- */

/* Makes the objects. */
int fill_room(void *memory, size_t bytes, void *arg);

/* A process of the storm, from its beginning to its end. */
void storm_live(unsigned place, uint32_t generation);

/* The library with points pauses there, and dies as the parent says. */
extern const bool storm_has_points;
void storm_use_points(void);

#endif
