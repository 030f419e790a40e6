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
 * The manual: handoff(7), handoff_segment(3), handoff_mutex(3),
 * handoff_cond(3), handoff_wait(3), handoff_strerror(3).
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
 * How a waiter of an object waits before it blocks.  The environment variable
 * HANDOFF_WAIT (adaptive, spin, yield or block, each with an optional limit as
 * in "spin:20us") overrides it for a process.  See handoff_wait(3).
 */
enum handoff_policy {
	HANDOFF_WAIT_ADAPTIVE = 0, /* spin while that can win, then block */
	HANDOFF_WAIT_SPIN = 1,     /* spin up to the limit, then block */
	HANDOFF_WAIT_YIELD = 2, /* offer the CPU up to the limit, then block */
	HANDOFF_WAIT_BLOCK = 3  /* block at once */
};

/* ---- Segments and names ------------------------------------------------ */

/*
 * A name is 1 to 200 of [A-Za-z0-9._-] and does not begin with a dot; one
 * leading slash is dropped.  It stands for a segment: one file, handoff.NAME
 * in /dev/shm (/tmp where there is none) or in $HANDOFF_DIR, that holds either
 * one object or a structure of the caller's.
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
 *                 foreign file, a link, a directory
 *   ENOSPC ENOMEM EMFILE ENFILE   no room for it
 *   EAGAIN        the name was made and removed again and again meanwhile; or
 *                 a child of fork() could not get an identity of its own in
 *                 the segments that it inherited
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
 * there, and stays.
 */
HANDOFF_API int handoff_unlink(const char *name);

/* Kinds that handoff_list() and handoff_info() report for named objects. */
#define HANDOFF_KIND_UNKNOWN 0u /* no kind, no segment, or no right to read */
#define HANDOFF_KIND_MUTEX 0xff000001u
#define HANDOFF_KIND_COND 0xff000002u

/*
 * Calls `fn` for every name there is, in no order, with the kind and the
 * bytes of its memory; stops and returns what `fn` returns when that is not
 * 0.  EINVAL: no `fn`; else the errors of reading a directory.
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
 *   EDEADLK         the calling thread holds it already
 *   ENOMEM          no memory to note what the thread holds
 *   EAGAIN          a child of fork() could not get an identity of its own
 * Locking synchronises with the unlock before it.
 */
typedef struct handoff_mutex {
	HANDOFF_ALIGNED unsigned char opaque[64];
} handoff_mutex;

#define HANDOFF_ROBUST 0x1u /* fail with ENOTSUP if it cannot be robust */

struct handoff_mutex_attr {
	size_t size;         /* sizeof(struct handoff_mutex_attr) */
	unsigned flags;      /* HANDOFF_ROBUST or 0 */
	unsigned policy;     /* an enum handoff_policy */
	uint64_t wait_limit; /* ns of spinning or yielding; 0: the default */
};

/* Opens the mutex `name`, as handoff_segment_open() opens a segment; the
 * attributes (NULL: the defaults) count when this call makes it. */
HANDOFF_API int handoff_mutex_open(handoff_mutex **mutex, const char *name,
    unsigned flags, unsigned mode, const struct handoff_mutex_attr *attr);

/*
 * Makes a mutex in memory that the caller shares, or in a segment, usually in
 * its init callback.  Outside a segment it is not robust.
 *   EINVAL   not aligned to 64, or an attribute is not valid
 *   ENOTSUP  HANDOFF_ROBUST, and the memory is not in a segment
 */
HANDOFF_API int handoff_mutex_init(handoff_mutex *mutex,
    const struct handoff_mutex_attr *attr);

/*
 * Ends a mutex made by handoff_mutex_init(); every later call is EINVAL.
 *   EBUSY  somebody holds it or died holding it, or a thread of this process
 *          waits for it
 */
HANDOFF_API int handoff_mutex_destroy(handoff_mutex *mutex);

/* Locks, waiting as long as it takes.  Results: above. */
HANDOFF_API int handoff_mutex_lock(handoff_mutex *mutex);

/* Locks if that can be done at once, else EBUSY, also when the calling thread
 * holds it.  Whether an owner has died is asked once a millisecond at the most.
 * Results: above. */
HANDOFF_API int handoff_mutex_trylock(handoff_mutex *mutex);

/* Locks; ETIMEDOUT if the deadline passes first.  Results: above. */
HANDOFF_API int handoff_mutex_lock_until(handoff_mutex *mutex,
    uint64_t deadline);

/*
 * Unlocks; signals of conditions that the thread gave meanwhile take effect.
 * The mutex is not touched once another can have it.  After EOWNERDEAD
 * without handoff_mutex_consistent() it becomes ENOTRECOVERABLE.
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
	size_t size;         /* sizeof(struct handoff_cond_attr) */
	unsigned flags;      /* 0 */
	unsigned policy;     /* an enum handoff_policy */
	uint64_t wait_limit; /* ns of spinning or yielding; 0: the default */
};

/* Opens the condition `name`, as handoff_segment_open() opens a segment; the
 * attributes (NULL: the defaults) count when this call makes it. */
HANDOFF_API int handoff_cond_open(handoff_cond **cond, const char *name,
    unsigned flags, unsigned mode, const struct handoff_cond_attr *attr);

/* Makes a condition in memory that the caller shares, or in a segment.
 *   EINVAL   not aligned to 64, or an attribute is not valid */
HANDOFF_API int handoff_cond_init(handoff_cond *cond,
    const struct handoff_cond_attr *attr);

/*
 * Ends a condition made by handoff_cond_init(); every later call is EINVAL.
 * It may follow a signal or broadcast at once: it waits, 2 s at the most, for
 * the threads of this process that were woken to be done with the condition.
 *   EBUSY  a thread of this process waits for it
 */
HANDOFF_API int handoff_cond_destroy(handoff_cond *cond);

/*
 * Unlocks the mutex, waits for a signal, and locks the mutex again: no signal
 * that is given after the unlock is missed.  The mutex is held on return,
 * except where the result is EINVAL, EPERM or ENOTRECOVERABLE.
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

#ifdef __cplusplus
}
#endif

#endif
