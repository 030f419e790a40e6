/* SPDX-License-Identifier: ISC */
/*
 * What a system must provide: plain functions, in posix/ or win32/.  A port
 * knows no mutex and no condition; src/ knows no system.  Errors are errno
 * values, 0 is success.  Nothing here calls back into src/ except through a
 * function that it was given.
 */
#ifndef HANDOFF_PORT_H
#define HANDOFF_PORT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The machine and this thread (system.c) ---------------------------- */

/* ns on a clock that never goes back and is the same in all processes. */
uint64_t handoff__clock(void);

/* Tells the CPU that this is a spin loop: 5 to 50 ns. */
void handoff__pause(void);

/* Asks for the cache line of `at` in order to write to it: a hint. */
void handoff__fetch(const volatile void *at);

/* Offers the CPU to whoever is runnable; never sleeps by itself. */
void handoff__yield(void);

/* Fills `bytes` with random bits that no other process has. */
void handoff__random(void *bytes, size_t n);

/* The CPU that this thread runs on, plus 1; 0 if that cannot be told.  A few
 * ns.  Stale as soon as it is known: a hint, never more. */
unsigned handoff__cpu(void);

/* Where the system keeps the number of this thread's CPU, to be read at any
 * time by this thread; NULL if it does not.  A child of fork asks again. */
const volatile uint32_t *handoff__cpu_word(void);

/* What people know this process by: its number, where it says so itself, a name
 * of up to `n` - 1 characters, and the time in ns since 1970. */
void handoff__describe(uint32_t *pid, char *name, size_t n, uint64_t *time);

/* How many CPUs are online, 1 at the least; asks the system once in ten
 * seconds at the most. */
unsigned handoff__cpus(void);

/* 1 if this thread is in a real-time scheduling class. */
int handoff__realtime(void);

/* How much of the CPUs this process and those that share its limit may use, in
 * thousandths of one; 0: there is no limit.  Asks the system once a
 * minute at the most. */
unsigned handoff__quota(void);

/* How many threads want to run on this machine now, this one included; 0: the
 * system does not tell.  A few us. */
unsigned handoff__runnable(void);

/* A number that is another one, almost certainly, once this thread may run on
 * other CPUs than before. */
uint64_t handoff__affinity(void);

/* The environment variable `name`; NULL if it is not set, or if the process
 * has more rights than who started it. */
const char *handoff__setting(const char *name);

/* Tells whoever runs the program, once; where to is the port's choice. */
void handoff__warn(const char *line);

/* ---- Memory and threads (system.c) ------------------------------------- */

/* `bytes` of zeroes, of this process alone, which read as zero again in a
 * child made by fork, however it was made; NULL if there are none. */
void *handoff__private_get(size_t bytes);
void handoff__private_free(void *memory, size_t bytes);

/* Has `fn(arg)` called when this thread ends before its process does.  A later
 * call of the same thread replaces `arg`; `fn` is always the same. */
int handoff__at_thread_end(void (*fn)(void *arg), void *arg);

/* Has `before` called before this process is forked by fork(), and `after` in
 * parent and child; once. */
int handoff__at_fork(void (*before)(void), void (*after)(void));

/* Keeps this thread from being cancelled until it is restored with what this
 * returns; cheap, and may be nested. */
int handoff__cancel_off(void);
void handoff__cancel_restore(int before);

/* ---- Parking (park*.c) ------------------------------------------------- */

/* Where one parks: a word in shared memory, and its name for systems that
 * cannot use its address: the id of its segment (0: plain memory) and a key
 * that no other word has. */
struct handoff__place {
	uint64_t segment;
	uint64_t key;
	const _Atomic uint32_t *word;
	uint32_t lanes; /* bits; a wake reaches those with one in common */
};

#define HANDOFF__EVERY_LANE 0u /* the same as all bits */

/* Sleeps while *word == expected, which is compared after this thread can be
 * woken.  0: woken, or the word differed; a port that must may return so for
 * no reason at all.  ETIMEDOUT: the clock has reached `until`, and no wake was
 * used up.  Signal handlers run meanwhile and end nothing. */
int handoff__park(const struct handoff__place *place, uint32_t expected,
    uint64_t until);

/* The same at `n` places, each with its expected value, until one of them is
 * woken or differs; lanes do not count.  A port that cannot do so looks at them
 * every now and then. */
int handoff__park_any(const struct handoff__place *places,
    const uint32_t *expected, unsigned n, uint64_t until);

/* Wakes up to `n` of those parked there, those first who have been parked
 * longest, as far as their priorities are equal.  The memory may be gone
 * already: then nothing happens.  HANDOFF__ALL: all. */
#define HANDOFF__ALL UINT32_MAX
void handoff__unpark(const struct handoff__place *place, uint32_t n);

/* Makes all who are parked at `from` be parked at `to` instead, unwoken; their
 * park returns when they are woken there.  1 if there was anyone, else 0.  A
 * port that cannot do so wakes them all and returns 0. */
int handoff__requeue(const struct handoff__place *from,
    const struct handoff__place *to);

/* ---- Named memory (map.c) ---------------------------------------------- */

/* One mapped file.  `name` is a valid name without its slash, here and in all
 * that follows. */
struct handoff__map;

/* Maps what stands at `name`, shared and writable.  ENOENT; EACCES; EPROTO:
 * not a plain file, or shorter than `least`. */
int handoff__map_open(struct handoff__map **map, const char *name,
    size_t least);

/* Makes `bytes` of zeroes that nobody can open yet, with exactly `mode` and
 * with memory reserved for all of it.  ENOSPC; EEXIST: a port may see already
 * that the name is taken. */
int handoff__map_create(struct handoff__map **map, const char *name,
    uint64_t bytes, unsigned mode);

/* Gives what was created its name, at once and whole.  EEXIST: the name is
 * taken; the map is as before. */
int handoff__map_publish(struct handoff__map *map, const char *name);

/* 1 if anything stands at `name`, as far as this process may see. */
int handoff__map_exists(const char *name);

/* 1 if `name` leads to this very file. */
int handoff__map_leads(const struct handoff__map *map, const char *name);

/* 1 if both are the same file. */
int handoff__map_same(const struct handoff__map *a,
    const struct handoff__map *b);

/* 1 if the file belongs to this user or to the system's. */
int handoff__map_ours(const struct handoff__map *map);

void *handoff__map_memory(const struct handoff__map *map);
uint64_t handoff__map_bytes(const struct handoff__map *map);

/* Unmaps, and undoes a create that was not published. */
void handoff__map_close(struct handoff__map *map);

/* Removes the name of a plain file.  ENOENT, EACCES; EPROTO: not a plain
 * file, and still there; ENOTSUP, here and for the list. */
int handoff__map_unlink(const char *name);

/* Calls `fn` for each name there is until it returns other than 0, and
 * returns that. */
int handoff__map_list(int (*fn)(const char *name, void *ctx), void *ctx);

/* Copies the first `n` bytes of what stands at `name`, opening nothing for
 * long, and tells its size.  EPROTO: not a plain file, or shorter. */
int handoff__map_peek(const char *name, void *buffer, size_t n,
    uint64_t *bytes);

/* ---- Life (life.c) ----------------------------------------------------- */

/*
 * A process that has joined a map as `token` is known there as living until
 * it leaves or ends, in whatever way it ends, and not through its children or
 * by closing descriptors.  All calls on one map come from one thread at a
 * time.
 */

/* Joins.  EBUSY: someone lives, or is being asked about, as `token`; ENOTSUP:
 * this system cannot tell.  In a child of fork it is as if never joined. */
int handoff__life_join(struct handoff__map *map, uint64_t id, uint32_t token);

void handoff__life_leave(struct handoff__map *map);

/* Takes `token`'s place: 0 means that nobody lives as `token` or can come to,
 * until it is given back; others may have it at the same time.  EBUSY: someone
 * does live, or is about to.  Other errors: unknown, which is never to be taken
 * for dead.  Never ask about a token joined as by this process. */
int handoff__life_take(struct handoff__map *map, uint32_t token);

void handoff__life_give(struct handoff__map *map, uint32_t token);

/* How many have joined and live. */
unsigned handoff__life_count(struct handoff__map *map);

#endif
