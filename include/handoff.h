/* SPDX-License-Identifier: ISC */
/*
 * handoff: two or more processes hand work to each other through shared
 * memory.
 *
 * Results.  Every function that can fail returns 0 or a positive errno value;
 * errno itself is neither read nor set, EINTR is never returned, and nothing
 * aborts.  handoff_strerror() puts a result into words.  Errors that a
 * function shares with its whole family are listed once, above the family.
 *
 * Time.  Durations are nanoseconds.  A deadline is a point on the monotonic
 * clock, as handoff_now() reads it; one that has passed means a single try,
 * HANDOFF_NEVER means no deadline.
 *
 * Threads and processes.  Everything may be called by any thread of any
 * process at any time unless a contract says otherwise.  A child made by
 * fork() owns nothing that its parent had locked.  No call is a cancellation
 * point.  Only functions that say so may be called from a signal handler.
 *
 * The manual: handoff(7) and one page for each family, handoff_segment(3),
 * handoff_mutex(3), handoff_cond(3), handoff_sem(3), handoff_event(3),
 * handoff_rwlock(3), handoff_barrier(3), handoff_word(3), handoff_baton(3),
 * handoff_wait_any(3), handoff_wait(3), handoff_strerror(3).
 */
#ifndef HANDOFF_H
#define HANDOFF_H

#include <stddef.h>
#include <stdint.h>

#define HANDOFF_VERSION "0.1.0"

#if defined(_WIN32) && defined(HANDOFF_DLL)
#define HANDOFF_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define HANDOFF_API __attribute__((visibility("default")))
#else
#define HANDOFF_API
#endif

#ifdef __cplusplus
#define HANDOFF_ALIGNED alignas(64)
extern "C" {
#else
#define HANDOFF_ALIGNED _Alignas(64)
#endif

/* ---- Time and words ---------------------------------------------------- */

/* The deadline that never comes. */
#define HANDOFF_NEVER UINT64_MAX

/* Now, in ns on the monotonic clock that every deadline refers to. */
HANDOFF_API uint64_t handoff_now(void);

/* The deadline `ns` from now; HANDOFF_NEVER where the sum would overflow. */
HANDOFF_API uint64_t handoff_after(uint64_t ns);

/* A result in words: a constant string, also for values that this library
 * never returns. */
HANDOFF_API const char *handoff_strerror(int result);

/* The version of the library that is running, "1.2.3"; HANDOFF_VERSION is the
 * one that was compiled against. */
HANDOFF_API const char *handoff_version(void);

/* ---- Waiting ----------------------------------------------------------- */

/*
 * How a waiter waits before it blocks.  An object's attributes say it for all
 * who wait for it; handoff_set_policy() overrides that for a process or a
 * thread, and the environment variable HANDOFF_WAIT (adaptive, spin, yield or
 * block, each with an optional limit as in "spin:20us") overrides both.  See
 * handoff_wait(3).
 */
enum handoff_policy {
	HANDOFF_WAIT_ADAPTIVE = 0, /* as past waits were ended best */
	HANDOFF_WAIT_SPIN = 1,     /* spin up to the limit, then block */
	HANDOFF_WAIT_YIELD = 2,  /* offer the CPU up to the limit, then block */
	HANDOFF_WAIT_BLOCK = 3,  /* block at once */
	HANDOFF_WAIT_AS_MADE = 4 /* handoff_set_policy(): no longer override */
};

#define HANDOFF_THREAD 0u  /* the calling thread */
#define HANDOFF_PROCESS 1u /* all threads that have none of their own */

/*
 * Sets the policy of all waits that begin from now on, and `limit`, ns of
 * spinning or yielding (0: the default of the policy; UINT32_MAX at the most).
 *   EINVAL          not a policy, a scope or a limit
 *   ENOMEM, EAGAIN  as for locking a mutex, for a thread
 */
HANDOFF_API int handoff_set_policy(unsigned whose, unsigned policy,
    uint64_t limit);

/*
 * One step of waiting, for a loop of the caller's over a condition of the
 * caller's: call it with 0, 1, 2, ... between two looks.  By how long the loop
 * has lasted it pauses, offers the CPU to others, or sleeps for a part of that
 * time, up to 10 ms.
 *
 *	for (unsigned i = 0; !ready(); i++)
 *		handoff_yield(i);
 */
HANDOFF_API void handoff_yield(unsigned iteration);

/*
 * From now on the calling thread, instead of spinning, yielding or blocking in
 * a wait, calls `fn` with the number of the call in this wait, from 0, and ns
 * since its first, and looks again when it returns; `fn` may switch to another
 * fibre or coroutine, which may wait in turn.  NULL: no longer.  Ownership is
 * the thread's: no mutex or readers-writer lock may be held across a switch.
 *   ENOMEM, EAGAIN  as for locking a mutex
 */
HANDOFF_API int handoff_idle(void (*fn)(unsigned iteration, uint64_t waited_ns,
                                 void *ctx),
    void *ctx);

/* What the calling thread's waits have done so far. */
struct handoff_thread_statistics {
	size_t size;     /* sizeof(struct handoff_thread_statistics) */
	uint64_t waits;  /* that did not find at once what they waited for */
	uint64_t spins;  /* pauses between two looks */
	uint64_t yields; /* offers of the CPU */
	uint64_t parks;  /* how often it blocked */
};

/* Reads them.  EINVAL: statistics->size is not known. */
HANDOFF_API int handoff_thread_statistics(
    struct handoff_thread_statistics *statistics);

/*
 * Attributes.  Each kind of object has a structure of them, which begins with
 * its own size; NULL stands for the defaults, which are all 0.  All of them
 * have `policy`, an enum handoff_policy, and `wait_limit`, ns of spinning or
 * yielding (0: the default; UINT32_MAX at the most).  Making an object, by
 * handoff_X_init() in memory that the caller shares or in a segment (usually
 * in its init callback), or by handoff_X_open() under a name of its own, fails
 * with
 *   EINVAL   not aligned to 64, or an argument or attribute is not valid
 *   ENOTSUP  HANDOFF_ROBUST, and the memory is not in a segment
 * handoff_X_open() can also fail as handoff_segment_open() does; the
 * attributes, and other arguments that describe the object, count when this
 * call makes it.  handoff_X_destroy() ends an object that was made by
 * handoff_X_init(); every later call on it is EINVAL.  It fails with
 *   EBUSY    the object is held, or a thread of this process uses it
 */
#define HANDOFF_ROBUST 0x1u /* fail with ENOTSUP if it cannot be robust */

/* ---- Segments and names ------------------------------------------------ */

/*
 * A name is 1 to 200 of [A-Za-z0-9._-] and does not begin with a dot; one
 * leading slash is dropped.  It stands for a segment: one file, handoff.NAME
 * in /dev/shm (/tmp where there is none) or in $HANDOFF_DIR, that holds either
 * one object or a structure of the caller's.  On Windows it is an object of the
 * system's instead, and lives while somebody has it open; see handoff(7).
 *
 * Opening (handoff_segment_open, handoff_X_open) can fail with:
 *   EINVAL        the name, a flag, the mode or an option is not valid
 *   ENAMETOOLONG  the name has more than 200 characters, or with the
 *                 directory's it is too long for the system
 *   ENOENT        no such name, and no HANDOFF_CREATE; or no such directory
 *   EEXIST        the name exists, and HANDOFF_EXCLUSIVE
 *   EACCES        no right to it; or HANDOFF_CREATE with a private mode found
 *                 a file that belongs to another user who is not root
 *   EPROTO        what stands at the name is not such a segment: another
 *                 kind, size, layout version or byte order, a damaged or
 *                 foreign file, a link, a directory; or a copy of a segment
 *                 that this process has open
 *   ENOSPC ENOMEM EMFILE ENFILE   no room for it
 *   EAGAIN        the name was made and removed again and again meanwhile;
 *                 or somebody has a lease on the file, or locks in it that
 *                 leave this process no identity; or a child of fork() could
 *                 not get one of its own in the segments that it inherited
 *   ENOTSUP       the system has no locks that tell of a process's end
 *   and with what an init callback returned.
 */
#define HANDOFF_CREATE 0x1u    /* make the segment if the name is free */
#define HANDOFF_EXCLUSIVE 0x2u /* with CREATE: fail if the name is taken */

/* A segment of this process; from handoff_segment_open(). */
typedef struct handoff_segment handoff_segment;

struct handoff_segment_options {
	size_t size;   /* sizeof(struct handoff_segment_options) */
	size_t bytes;  /* of memory; 0: whatever the existing segment has */
	uint32_t kind; /* the caller's own tag, compared on opening; 0: any.
	                * Values of 0xff000000 and above are the library's */
	/* Fills the memory, which is zero, before anyone else can see the
	 * name.  What it returns other than 0 is the result of the open, and
	 * nothing is left behind.  It may use the library, but not close this
	 * segment, and runs again, on other memory, if somebody else's segment
	 * got the name first and has lost it since. */
	int (*init)(void *memory, size_t bytes, void *arg);
	void *arg;
};

/*
 * Opens the segment `name`, or makes it with HANDOFF_CREATE: with exactly
 * `mode` as its permissions (0600 lets in the same user alone), its memory
 * reserved and initialised before the name appears.  A process that opens the
 * same segment again gets the same handle, and must close it as often.
 * Opening synchronises with the end of the init callback that filled it.
 */
HANDOFF_API int handoff_segment_open(handoff_segment **segment,
    const char *name, unsigned flags, unsigned mode,
    const struct handoff_segment_options *options);

/* The memory of a segment, aligned to 64 at the least; NULL for NULL. */
HANDOFF_API void *handoff_segment_memory(handoff_segment *segment);

/* The size of that memory in bytes, as it was asked for; 0 for NULL. */
HANDOFF_API size_t handoff_segment_bytes(const handoff_segment *segment);

/*
 * Gives back one open of the segment that `object` is, begins or lies in;
 * with the last one its memory leaves this process.  The name and the object
 * stay for others.
 *   EINVAL  not in an open segment
 *   EBUSY   the last open, and a thread of this process holds something in
 *           the segment or waits for it; nothing has changed
 */
HANDOFF_API int handoff_close(void *object);

/*
 * Removes a name.  Who has the segment open keeps it, detached from the name;
 * the next HANDOFF_CREATE makes a new one.  ENOENT, EACCES, EINVAL and
 * ENAMETOOLONG as in opening; EPROTO: a link, a directory or a device stands
 * there, and stays; ENOTSUP: on Windows.
 */
HANDOFF_API int handoff_unlink(const char *name);

/* Kinds that handoff_list() and handoff_info() report for named objects. */
#define HANDOFF_KIND_UNKNOWN 0u /* no kind, no segment, or no right to read */
#define HANDOFF_KIND_MUTEX 0xff000001u
#define HANDOFF_KIND_COND 0xff000002u
#define HANDOFF_KIND_SEM 0xff000003u
#define HANDOFF_KIND_EVENT 0xff000004u
#define HANDOFF_KIND_RWLOCK 0xff000005u
#define HANDOFF_KIND_BARRIER 0xff000006u
#define HANDOFF_KIND_WORD32 0xff000007u
#define HANDOFF_KIND_WORD64 0xff000008u
#define HANDOFF_KIND_BATON 0xff000009u

/*
 * Calls `fn` for every name there is, in no order, with the kind and the
 * bytes of its memory; stops and returns what `fn` returns when that is not
 * 0.  EINVAL: no `fn`; ENOTSUP: on Windows; else the errors of reading a
 * directory.
 */
HANDOFF_API int handoff_list(int (*fn)(const char *name, uint32_t kind,
                                 uint64_t bytes, void *ctx),
    void *ctx);

struct handoff_info {
	size_t size;       /* sizeof(struct handoff_info), set by the caller */
	uint32_t kind;     /* of the segment */
	uint32_t users;    /* living processes that have it open; 0: unknown */
	uint64_t bytes;    /* of the segment's memory */
	uint64_t id;       /* of the segment: random, unique */
	unsigned created;  /* 1: this process made it, or its parent did */
	unsigned detached; /* 1: its name is gone or leads elsewhere */
	unsigned opens;    /* how often this process has it open */
};

/*
 * Tells about the segment that `object` is, begins or lies in.
 *   EINVAL          not in an open segment, or info->size is not known
 *   ENOMEM, EAGAIN  in a child of fork(), as for opening
 */
HANDOFF_API int handoff_info(const void *object, struct handoff_info *info);

/* A process that has a segment open, for people to read. */
struct handoff_peer {
	size_t size;      /* sizeof(struct handoff_peer) */
	uint32_t pid;     /* in the PID namespace of that process */
	uint64_t opened;  /* when, in ns since 1970 */
	const char *name; /* of the program or thread that opened it */
};

/*
 * Calls `fn` for each living process that has the segment of `object` open,
 * up to 120 of them; stops and returns what `fn` returns when that is not 0.
 * Errors: as for handoff_info(); EINVAL also: no `fn`.
 */
HANDOFF_API int handoff_peers(const void *object,
    int (*fn)(const struct handoff_peer *peer, void *ctx), void *ctx);

/* What has been noted about waiting for an object since it was made, by slow
 * paths alone; what passes without blocking is not counted. */
struct handoff_statistics {
	size_t size;        /* sizeof(struct handoff_statistics) */
	uint32_t contended; /* waits that blocked */
	uint32_t parks;     /* how often they did */
	uint64_t longest;   /* ns; the longest of them, to the us */
};

/* Reads them, for an object of any kind.  EINVAL: not an object, or
 * statistics->size is not known. */
HANDOFF_API int handoff_statistics(const void *object,
    struct handoff_statistics *statistics);

/* ---- Mutex ------------------------------------------------------------- */

/*
 * A lock that one thread holds.  In a segment it is robust: when its owner's
 * thread, process or program ends while it holds the lock, the next to lock
 * it is told so.
 *
 *	handoff_mutex *m;
 *	int e = handoff_mutex_open(&m, "counter.lock", HANDOFF_CREATE, 0600,
 *	    NULL);
 *	if (e == 0 && (e = handoff_mutex_lock(m)) == EOWNERDEAD) {
 *		repair();
 *		e = handoff_mutex_consistent(m);
 *	}
 *	if (e == 0) {
 *		work();
 *		handoff_mutex_unlock(m);
 *	}
 *
 * Common errors of all calls on a mutex:
 *   EINVAL          not a mutex: never initialised, destroyed, damaged
 * Common results of the calls that lock:
 *   0               the caller holds it
 *   EOWNERDEAD      the caller holds it; the owner before ended while it held
 *                   it, and what the lock protects may be half changed
 *   ENOTRECOVERABLE someone unlocked it after EOWNERDEAD without
 *                   handoff_mutex_consistent(); nobody will ever hold it
 *   EDEADLK         the calling thread holds it already, and it is not
 *                   recursive
 *   ENOMEM          no memory to note what the thread holds
 *   EAGAIN          the calling thread has locked it 65,536 times; or a child
 *                   of fork() could not get an identity of its own
 * Locking synchronises with the unlock before it.  Nobody starves: an owner
 * that others have waited for longer than a millisecond or two cannot have it
 * again at once.
 */
typedef struct handoff_mutex {
	HANDOFF_ALIGNED unsigned char opaque[64];
} handoff_mutex;

#define HANDOFF_RECURSIVE 0x2u  /* its owner may lock it again */
#define HANDOFF_ERRORCHECK 0x4u /* what every mutex is: EDEADLK and EPERM */
#define HANDOFF_UNFAIR 0x8u     /* others may starve; a little faster */

struct handoff_mutex_attr {
	size_t size;
	unsigned flags; /* HANDOFF_ROBUST, RECURSIVE, ERRORCHECK, UNFAIR */
	unsigned policy;
	uint64_t wait_limit;
};

/* A recursive mutex that also is HANDOFF_ERRORCHECK is EINVAL. */
HANDOFF_API int handoff_mutex_init(handoff_mutex *mutex,
    const struct handoff_mutex_attr *attr);
HANDOFF_API int handoff_mutex_open(handoff_mutex **mutex, const char *name,
    unsigned flags, unsigned mode, const struct handoff_mutex_attr *attr);

/* EBUSY also: its owner has died and nobody has been told. */
HANDOFF_API int handoff_mutex_destroy(handoff_mutex *mutex);

/* Locks, waiting as long as it takes.  Results: above. */
HANDOFF_API int handoff_mutex_lock(handoff_mutex *mutex);

/* Locks if that can be done at once, else EBUSY, also when the calling thread
 * holds it and it is not recursive.  Whether an owner has died is asked once a
 * millisecond at the most.  Results: above. */
HANDOFF_API int handoff_mutex_trylock(handoff_mutex *mutex);

/* Locks; ETIMEDOUT if the deadline passes first.  Results: above. */
HANDOFF_API int handoff_mutex_lock_until(handoff_mutex *mutex,
    uint64_t deadline);

/*
 * Unlocks, as often as it was locked; with the last unlock signals of
 * conditions that the thread gave meanwhile take effect, and the mutex is not
 * touched once another can have it.  After EOWNERDEAD without
 * handoff_mutex_consistent() it becomes ENOTRECOVERABLE.
 *   EPERM  the calling thread does not hold it
 */
HANDOFF_API int handoff_mutex_unlock(handoff_mutex *mutex);

/*
 * Says, after EOWNERDEAD, that what the lock protects is in order again.
 *   EPERM   the calling thread does not hold it
 *   EINVAL  it was not told EOWNERDEAD
 */
HANDOFF_API int handoff_mutex_consistent(handoff_mutex *mutex);

/* ---- Condition --------------------------------------------------------- */

/*
 * Waiting for something that a mutex protects to change.  All who wait at one
 * time use one mutex, which may lie in another segment.  A wait may end
 * without a signal; so look, in a loop, at what is waited for:
 *
 *	handoff_mutex_lock(&s->lock);
 *	while (s->turn != me)
 *		handoff_cond_wait(&s->changed, &s->lock);
 *	...
 *	s->turn = other;
 *	handoff_cond_signal(&s->changed);
 *	handoff_mutex_unlock(&s->lock);
 *
 * Common errors of all calls on a condition:
 *   EINVAL  not a condition, or not a mutex
 */
typedef struct handoff_cond {
	HANDOFF_ALIGNED unsigned char opaque[64];
} handoff_cond;

struct handoff_cond_attr {
	size_t size;
	unsigned flags; /* 0 */
	unsigned policy;
	uint64_t wait_limit;
};

HANDOFF_API int handoff_cond_init(handoff_cond *cond,
    const struct handoff_cond_attr *attr);
HANDOFF_API int handoff_cond_open(handoff_cond **cond, const char *name,
    unsigned flags, unsigned mode, const struct handoff_cond_attr *attr);

/* It may follow a signal or broadcast at once: it waits, 2 s at the most, for
 * the threads of this process that were woken to be done with the condition.
 *   EBUSY  a thread of this process waits for it */
HANDOFF_API int handoff_cond_destroy(handoff_cond *cond);

/*
 * Unlocks the mutex, waits for a signal, and locks the mutex again, as often as
 * it was locked: no signal that is given after the unlock is missed.  The mutex
 * is held on return, except where the result is EINVAL, EPERM or
 * ENOTRECOVERABLE.
 *   EPERM            the calling thread does not hold the mutex; nothing was
 *                    done
 *   EOWNERDEAD       as for handoff_mutex_lock(), the mutex is held; who
 *                    repairs should broadcast, since signals of the one that
 *                    died may have died with it
 *   ENOTRECOVERABLE  as for handoff_mutex_lock(), the mutex is not held
 * Returning synchronises with the unlock of the mutex before it.
 */
HANDOFF_API int handoff_cond_wait(handoff_cond *cond, handoff_mutex *mutex);

/* The same; ETIMEDOUT, with the mutex held, if the deadline passes first. */
HANDOFF_API int handoff_cond_wait_until(handoff_cond *cond,
    handoff_mutex *mutex, uint64_t deadline);

/*
 * Wakes one waiter at the least, if there is any.  Given by a thread that
 * holds the mutex which the waiters use, it takes effect when that thread
 * unlocks the mutex or waits.  Never waits for a waiter.
 */
HANDOFF_API int handoff_cond_signal(handoff_cond *cond);

/* Wakes all waiters, otherwise the same. */
HANDOFF_API int handoff_cond_broadcast(handoff_cond *cond);

/* ---- Semaphore --------------------------------------------------------- */

/*
 * A count that waits take one from, as soon as there is one, and posts add to.
 *
 *	handoff_sem *items;
 *	int e = handoff_sem_open(&items, "items", HANDOFF_CREATE, 0600, 0,
 *	    NULL);
 *	...
 *	put(item);                     get: handoff_sem_wait(items);
 *	handoff_sem_post(items, 1);         item = take();
 *
 * Common errors of all calls on a semaphore:
 *   EINVAL          not a semaphore
 * and of those that wait:
 *   ENOMEM, EAGAIN  as for locking a mutex, when it has to wait
 * A wait synchronises with the posts before it.
 */
typedef struct handoff_sem {
	HANDOFF_ALIGNED unsigned char opaque[64];
} handoff_sem;

#define HANDOFF_SEM_MAX 0x7fffffffu

struct handoff_sem_attr {
	size_t size;
	unsigned flags; /* 0 */
	unsigned policy;
	uint64_t wait_limit;
	uint32_t maximum; /* of the count; 0: HANDOFF_SEM_MAX */
};

HANDOFF_API int handoff_sem_init(handoff_sem *sem, uint32_t initial,
    const struct handoff_sem_attr *attr);
HANDOFF_API int handoff_sem_open(handoff_sem **sem, const char *name,
    unsigned flags, unsigned mode, uint32_t initial,
    const struct handoff_sem_attr *attr);
HANDOFF_API int handoff_sem_destroy(handoff_sem *sem);

/* Takes one, waiting as long as it takes. */
HANDOFF_API int handoff_sem_wait(handoff_sem *sem);

/* Takes one if there is any, else EBUSY. */
HANDOFF_API int handoff_sem_trywait(handoff_sem *sem);

/* Takes one; ETIMEDOUT if the deadline passes first. */
HANDOFF_API int handoff_sem_wait_until(handoff_sem *sem, uint64_t deadline);

/*
 * Adds `n`, which lets up to so many waits end.  Never waits; may be called
 * from a signal handler.  Whoever has taken what it added may destroy the
 * semaphore.
 *   EINVAL     n is 0
 *   EOVERFLOW  the count would exceed its maximum; it is unchanged
 */
HANDOFF_API int handoff_sem_post(handoff_sem *sem, uint32_t n);

/* The count as it was at some moment. */
HANDOFF_API int handoff_sem_value(const handoff_sem *sem, uint32_t *value);

/* ---- Event ------------------------------------------------------------- */

/*
 * Something that has happened.  An event with automatic reset stays set until
 * exactly one wait takes it; sets that find it set are one with it.  With
 * manual reset it stays set until it is reset, and a set ends all waits that
 * began before it, even if a reset follows at once.
 *
 *	handoff_event_set(&s->ready);       handoff_event_wait(&s->ready);
 *
 * Common errors of all calls on an event:
 *   EINVAL          not an event
 * and of those that wait:
 *   ENOMEM, EAGAIN  as for locking a mutex, when it has to wait
 * A wait synchronises with the sets before it.
 */
typedef struct handoff_event {
	HANDOFF_ALIGNED unsigned char opaque[64];
} handoff_event;

#define HANDOFF_EVENT_MANUAL 0x10u /* manual reset */
#define HANDOFF_EVENT_SET 0x20u    /* set from the beginning */

struct handoff_event_attr {
	size_t size;
	unsigned flags; /* HANDOFF_EVENT_MANUAL, HANDOFF_EVENT_SET */
	unsigned policy;
	uint64_t wait_limit;
};

HANDOFF_API int handoff_event_init(handoff_event *event,
    const struct handoff_event_attr *attr);
HANDOFF_API int handoff_event_open(handoff_event **event, const char *name,
    unsigned flags, unsigned mode, const struct handoff_event_attr *attr);
HANDOFF_API int handoff_event_destroy(handoff_event *event);

/* Waits until it is set; takes it, if it resets automatically. */
HANDOFF_API int handoff_event_wait(handoff_event *event);

/* The same if it is set, else EBUSY. */
HANDOFF_API int handoff_event_trywait(handoff_event *event);

/* The same; ETIMEDOUT if the deadline passes first. */
HANDOFF_API int handoff_event_wait_until(handoff_event *event,
    uint64_t deadline);

/* Sets, and resets.  They never wait and may be called from a signal handler.
 * Whoever a set has let through may destroy an event with automatic reset. */
HANDOFF_API int handoff_event_set(handoff_event *event);
HANDOFF_API int handoff_event_reset(handoff_event *event);

/* ---- Readers-writer lock ----------------------------------------------- */

/*
 * A lock that many may hold to read, or one to write.  Who waits to write lets
 * no new readers in, and readers who have waited get their turn between two
 * writers.  A thread that holds it to read may lock it to read again at any
 * time.  In a segment it is robust: a reader that dies gives its lock back; a
 * writer's death is told to the next who locks it.
 *
 *	e = handoff_rwlock_rdlock(&s->lock);
 *	if (e == EOWNERDEAD) {
 *		repair(s);
 *		e = handoff_rwlock_consistent(&s->lock);
 *	}
 *	if (e == 0) {
 *		read(s);
 *		handoff_rwlock_rdunlock(&s->lock);
 *	}
 *
 * Common errors of all calls on a readers-writer lock:
 *   EINVAL          not a readers-writer lock
 * Common results of the calls that lock:
 *   0               the caller holds it
 *   EOWNERDEAD      a writer ended while it held it; the caller holds it
 *                   alone, also if it asked to read: then it shares it with
 *                   readers from handoff_rwlock_consistent() on
 *   ENOTRECOVERABLE someone unlocked it after EOWNERDEAD without
 *                   handoff_rwlock_consistent(); nobody will ever hold it
 *   EDEADLK         the calling thread holds it, and would wait for itself; a
 *                   try is EBUSY
 *   ENOMEM          no memory to note what the thread holds
 *   EAGAIN          too many readers or read locks; or a child of fork() could
 *                   not get an identity of its own
 * Locking synchronises with the unlocks before it.
 *
 * 16 processes can be told apart as readers.  Those beyond them may read too,
 * but if one of them dies while it reads, who wants to write waits for ever,
 * or until its deadline.
 */
typedef struct handoff_rwlock {
	HANDOFF_ALIGNED unsigned char opaque[192];
} handoff_rwlock;

struct handoff_rwlock_attr {
	size_t size;
	unsigned flags; /* HANDOFF_ROBUST or 0 */
	unsigned policy;
	uint64_t wait_limit;
};

HANDOFF_API int handoff_rwlock_init(handoff_rwlock *lock,
    const struct handoff_rwlock_attr *attr);
HANDOFF_API int handoff_rwlock_open(handoff_rwlock **lock, const char *name,
    unsigned flags, unsigned mode, const struct handoff_rwlock_attr *attr);
HANDOFF_API int handoff_rwlock_destroy(handoff_rwlock *lock);

/* Locks to read, shared with others who read.  Results: above; the try
 * answers EBUSY, the third ETIMEDOUT if the deadline passes first. */
HANDOFF_API int handoff_rwlock_rdlock(handoff_rwlock *lock);
HANDOFF_API int handoff_rwlock_tryrdlock(handoff_rwlock *lock);
HANDOFF_API int handoff_rwlock_rdlock_until(handoff_rwlock *lock,
    uint64_t deadline);

/* Locks to write, alone. */
HANDOFF_API int handoff_rwlock_wrlock(handoff_rwlock *lock);
HANDOFF_API int handoff_rwlock_trywrlock(handoff_rwlock *lock);
HANDOFF_API int handoff_rwlock_wrlock_until(handoff_rwlock *lock,
    uint64_t deadline);

/* Gives back what the calling thread holds to read, or to write; the lock is
 * not touched once another can have it alone.
 *   EPERM  it does not hold it so */
HANDOFF_API int handoff_rwlock_rdunlock(handoff_rwlock *lock);
HANDOFF_API int handoff_rwlock_wrunlock(handoff_rwlock *lock);

/* From writing to reading, with no writer in between.
 *   EPERM   the calling thread does not hold it to write
 *   EINVAL  it was told EOWNERDEAD and has not called consistent
 *   EAGAIN  too many readers; it still holds it to write */
HANDOFF_API int handoff_rwlock_downgrade(handoff_rwlock *lock);

/* Says, after EOWNERDEAD, that what the lock protects is in order again; who
 * asked to read shares it with readers from now on.
 *   EPERM   the calling thread does not hold it
 *   EINVAL  it was not told EOWNERDEAD */
HANDOFF_API int handoff_rwlock_consistent(handoff_rwlock *lock);

/* ---- Barrier ----------------------------------------------------------- */

/*
 * Where a fixed number of parties, threads of any processes, wait for each
 * other, again and again.  In a segment it is robust: a process that has used
 * it and ends, or closes the segment, breaks it for good.
 *
 *	for (step = 0; step < steps; step++) {
 *		work(step);
 *		e = handoff_barrier_wait(&s->barrier, &last);
 *		if (e == 0 && last)
 *			publish(step);
 *	}
 *
 * Common results:
 *   EINVAL          not a barrier
 *   EOWNERDEAD      a party has ended: the barrier is broken, now and later
 *   ENOMEM, EAGAIN  as for locking a mutex
 * Returning 0 synchronises with what all parties did before their waits.
 * The death of one of more than 64 processes may not be noticed.
 */
typedef struct handoff_barrier {
	HANDOFF_ALIGNED unsigned char opaque[320];
} handoff_barrier;

#define HANDOFF_BARRIER_MAX 0xffffu /* parties */

struct handoff_barrier_attr {
	size_t size;
	unsigned flags; /* HANDOFF_ROBUST or 0 */
	unsigned policy;
	uint64_t wait_limit;
};

/* EINVAL also: not 1 to HANDOFF_BARRIER_MAX parties. */
HANDOFF_API int handoff_barrier_init(handoff_barrier *barrier, uint32_t parties,
    const struct handoff_barrier_attr *attr);
HANDOFF_API int handoff_barrier_open(handoff_barrier **barrier,
    const char *name, unsigned flags, unsigned mode, uint32_t parties,
    const struct handoff_barrier_attr *attr);

/* It may follow the end of a wait at once: it waits, 2 s at the most, for the
 * threads of this process that are on their way out.
 *   EBUSY  somebody waits at it */
HANDOFF_API int handoff_barrier_destroy(handoff_barrier *barrier);

/* Waits until all parties have come.  *last, unless `last` is NULL, is 1 for
 * one of them, the one that came last, and 0 for the others. */
HANDOFF_API int handoff_barrier_wait(handoff_barrier *barrier, int *last);

/* The same; ETIMEDOUT if the deadline passes first: then it is as if the
 * caller had not come. */
HANDOFF_API int handoff_barrier_wait_until(handoff_barrier *barrier, int *last,
    uint64_t deadline);

/* ---- Word: wait on an address ------------------------------------------ */

/*
 * A number of the caller's in shared memory, on whose change one can wait.
 * `value` may be accessed by any atomic operation of C11, C++ or the compiler,
 * or by the functions below, which are sequentially consistent; write to it
 * first and wake then.
 *
 *	handoff_word32_store(&s->state, READY);     wait: while ((v =
 *	handoff_word32_wake(&s->state, 1);              load(&s->state)) ==
 *	                                            IDLE) handoff_word32_wait(
 *	                                                &s->state, IDLE);
 *
 * Common errors of all calls that wait or wake:
 *   EINVAL          not such a word
 * and of those that wait:
 *   ENOMEM, EAGAIN  as for locking a mutex, when it has to wait
 */
typedef struct handoff_word32 {
	HANDOFF_ALIGNED unsigned char opaque[32];
	uint32_t value;
	unsigned char more[28];
} handoff_word32;

typedef struct handoff_word64 {
	HANDOFF_ALIGNED unsigned char opaque[32];
	uint64_t value;
	unsigned char more[24];
} handoff_word64;

#define HANDOFF_ALL UINT32_MAX /* wake all */

struct handoff_word_attr {
	size_t size;
	unsigned flags; /* 0 */
	unsigned policy;
	uint64_t wait_limit;
};

HANDOFF_API int handoff_word32_init(handoff_word32 *word, uint32_t value,
    const struct handoff_word_attr *attr);
HANDOFF_API int handoff_word32_open(handoff_word32 **word, const char *name,
    unsigned flags, unsigned mode, uint32_t value,
    const struct handoff_word_attr *attr);
HANDOFF_API int handoff_word32_destroy(handoff_word32 *word);

/* Access for languages without atomics; nothing is checked.  add and exchange
 * return the value before; compare_exchange returns 1 if the value was
 * *expected and is `desired` now, else 0 with the value in *expected. */
HANDOFF_API uint32_t handoff_word32_load(const handoff_word32 *word);
HANDOFF_API void handoff_word32_store(handoff_word32 *word, uint32_t value);
HANDOFF_API uint32_t handoff_word32_add(handoff_word32 *word, uint32_t value);
HANDOFF_API uint32_t handoff_word32_exchange(handoff_word32 *word,
    uint32_t value);
HANDOFF_API int handoff_word32_compare_exchange(handoff_word32 *word,
    uint32_t *expected, uint32_t desired);

/* Waits while the value is `while_equal`: returns 0 once it has been seen to
 * be another, ETIMEDOUT if the deadline passes first.  A change that is undone
 * before anyone looks may be missed.  Synchronises with the write seen. */
HANDOFF_API int handoff_word32_wait(handoff_word32 *word, uint32_t while_equal);
HANDOFF_API int handoff_word32_wait_until(handoff_word32 *word,
    uint32_t while_equal, uint64_t deadline);

/*
 * Lets up to `n` of those who wait on this word look again, those first who
 * have waited longest; HANDOFF_ALL: all.  The value must have been written by
 * a sequentially consistent operation, the default of C11 and C++, else
 * ..._wake_fenced() is needed.  Never waits; may be called from a signal
 * handler.  One load where nobody is blocked.
 */
HANDOFF_API int handoff_word32_wake(handoff_word32 *word, uint32_t n);
HANDOFF_API int handoff_word32_wake_fenced(handoff_word32 *word, uint32_t n);

/* The same for 64 bits. */
HANDOFF_API int handoff_word64_init(handoff_word64 *word, uint64_t value,
    const struct handoff_word_attr *attr);
HANDOFF_API int handoff_word64_open(handoff_word64 **word, const char *name,
    unsigned flags, unsigned mode, uint64_t value,
    const struct handoff_word_attr *attr);
HANDOFF_API int handoff_word64_destroy(handoff_word64 *word);
HANDOFF_API uint64_t handoff_word64_load(const handoff_word64 *word);
HANDOFF_API void handoff_word64_store(handoff_word64 *word, uint64_t value);
HANDOFF_API uint64_t handoff_word64_add(handoff_word64 *word, uint64_t value);
HANDOFF_API uint64_t handoff_word64_exchange(handoff_word64 *word,
    uint64_t value);
HANDOFF_API int handoff_word64_compare_exchange(handoff_word64 *word,
    uint64_t *expected, uint64_t desired);
HANDOFF_API int handoff_word64_wait(handoff_word64 *word, uint64_t while_equal);
HANDOFF_API int handoff_word64_wait_until(handoff_word64 *word,
    uint64_t while_equal, uint64_t deadline);
HANDOFF_API int handoff_word64_wake(handoff_word64 *word, uint32_t n);
HANDOFF_API int handoff_word64_wake_fenced(handoff_word64 *word, uint32_t n);

/* ---- Baton ------------------------------------------------------------- */

/*
 * Whose turn it is, among up to 64 parties, each of them a process (which may
 * be several of them): the handoff itself.  Party 0 has the first turn.  A
 * party becomes the process that first waits for its turn; a turn may be
 * passed to a party that has not come yet.
 *
 *	for (e = handoff_baton_wait(b, me); e == 0;
 *	     e = handoff_baton_switch(b, me, other))
 *		work();
 *
 * Common errors of all calls on a baton:
 *   EINVAL          not a baton, or no such party
 * Common results of the calls that wait:
 *   0               it is the caller's turn
 *   EOWNERDEAD      it is the caller's turn; the party whose turn it was has
 *                   ended, in a segment, and may have left its work half done
 *   EBUSY           another living process is that party
 *   ENOMEM, EAGAIN  as for locking a mutex
 * Getting the turn synchronises with the pass of it.
 */
typedef struct handoff_baton {
	HANDOFF_ALIGNED unsigned char opaque[320];
} handoff_baton;

#define HANDOFF_BATON_MAX 64u /* parties */

struct handoff_baton_attr {
	size_t size;
	unsigned flags; /* HANDOFF_ROBUST or 0 */
	unsigned policy;
	uint64_t wait_limit;
};

/* EINVAL also: not 1 to HANDOFF_BATON_MAX parties. */
HANDOFF_API int handoff_baton_init(handoff_baton *baton, uint32_t parties,
    const struct handoff_baton_attr *attr);
HANDOFF_API int handoff_baton_open(handoff_baton **baton, const char *name,
    unsigned flags, unsigned mode, uint32_t parties,
    const struct handoff_baton_attr *attr);
HANDOFF_API int handoff_baton_destroy(handoff_baton *baton);

/* Gives the turn to party `to`.  The baton is not touched once that has it.
 *   EPERM  the turn is not this process's, or it has not waited for it */
HANDOFF_API int handoff_baton_pass(handoff_baton *baton, uint32_t to);

/* Waits for the turn of party `me`.  Results: above. */
HANDOFF_API int handoff_baton_wait(handoff_baton *baton, uint32_t me);

/* The same, and EBUSY also if it is another's turn; whether that one lives is
 * asked once a millisecond at the most. */
HANDOFF_API int handoff_baton_trywait(handoff_baton *baton, uint32_t me);

/* The same as waiting; ETIMEDOUT if the deadline passes first. */
HANDOFF_API int handoff_baton_wait_until(handoff_baton *baton, uint32_t me,
    uint64_t deadline);

/* Passes the turn of party `me` to party `to` and waits for it to come back.
 * Results: above, and EPERM as for passing; then it has not been passed, while
 * after ETIMEDOUT it has. */
HANDOFF_API int handoff_baton_switch(handoff_baton *baton, uint32_t me,
    uint32_t to);
HANDOFF_API int handoff_baton_switch_until(handoff_baton *baton, uint32_t me,
    uint32_t to, uint64_t deadline);

/* Whose turn it was at some moment. */
HANDOFF_API int handoff_baton_turn(const handoff_baton *baton, uint32_t *party);

/* ---- Waiting for any of several ---------------------------------------- */

/* A semaphore, an event or a word; for a word, the value at which it is not
 * ready. */
struct handoff_item {
	void *object;
	uint64_t while_equal;
};

#define HANDOFF_ANY_MAX 64u /* items */

/*
 * Waits until one of the items is ready, and takes that one alone: one from a
 * semaphore, an event that resets automatically; *which, unless `which` is
 * NULL, is its index.  Of several that are ready none is passed over for ever.
 * It waits as the first item's attributes say.
 *   EINVAL          no items or too many, or one that cannot be waited for
 *   ETIMEDOUT       the deadline passed first
 *   ENOMEM, EAGAIN  as for locking a mutex
 * Returning 0 synchronises with what made the item ready.
 */
HANDOFF_API int handoff_wait_any(const struct handoff_item *items, size_t n,
    size_t *which);
HANDOFF_API int handoff_wait_any_until(const struct handoff_item *items,
    size_t n, size_t *which, uint64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
