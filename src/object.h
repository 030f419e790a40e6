/* SPDX-License-Identifier: ISC */
/*
 * The layout of everything in shared memory, of this version and of the kinds
 * that later ones add.  Fixed-width fields only, so that 32-bit and 64-bit
 * processes share an object; no atomic straddles a cache line; unused bytes
 * are zero.  Nothing that is read from here is trusted where it indexes memory
 * or bounds a loop.
 */
#ifndef HANDOFF_OBJECT_H
#define HANDOFF_OBJECT_H

#include "handoff.h"
#include "port.h"

#include <assert.h>

/* What is out of the way of the common path. */
#ifdef __GNUC__
#define HANDOFF__SLOW __attribute__((noinline, cold))
#else
#define HANDOFF__SLOW
#endif

/* ---- What every object begins with ------------------------------------- */

/* Moves when any layout or the meaning of any field does. */
#define HANDOFF__LAYOUT 1u

/* A tag is compared at each entry; zero, or another's, is EINVAL. */
#define HANDOFF__TAG(kind) (0x4f480000u | HANDOFF__LAYOUT << 8 | (kind))

enum handoff__kind {
	HANDOFF__MUTEX = 1,
	HANDOFF__COND = 2,
	HANDOFF__SEM = 3,
	HANDOFF__EVENT = 4,
	HANDOFF__RWLOCK = 5,
	HANDOFF__BARRIER = 6,
	HANDOFF__WORD32 = 7,
	HANDOFF__WORD64 = 8,
	HANDOFF__BATON = 9,
	HANDOFF__CHANNEL = 10,
	HANDOFF__GATE = 11
};

/* The kind of a segment that holds one object; kinds below are the users'. */
#define HANDOFF__KIND_OURS 0xff000000u

struct handoff__head {
	uint32_t tag;     /* HANDOFF__TAG; written last, zeroed by destroy */
	uint32_t attr;    /* HANDOFF__POLICY and the kind's own flags */
	uint64_t id;      /* random; names the object wherever it is mapped */
	uint64_t segment; /* the id of its segment; 0: plain memory */
	uint32_t limit;   /* ns of spinning or yielding; 0: the default */
	union {
		_Atomic uint32_t used;  /* readers-writer lock: its slots */
		_Atomic uint32_t woken; /* else a hint: when one who parked was
		                         * last woken, ns; see site.h */
	};
};

#define HANDOFF__POLICY 0x3u         /* an enum handoff_policy */
#define HANDOFF__ATTR_RECURSIVE 0x4u /* mutex */
#define HANDOFF__ATTR_UNFAIR 0x8u    /* mutex */
#define HANDOFF__ATTR_MANUAL 0x10u   /* event: manual reset */

/* Noted by slow paths alone, for people to read; nothing decides by it. */
struct handoff__statistics {
	_Atomic uint32_t contended; /* waits that came to park */
	_Atomic uint32_t parks;
	_Atomic uint32_t longest; /* us */
};

/* ---- Tokens, and words that name an owner ------------------------------ */

/* A process draws 30 random bits; these are no process. */
#define HANDOFF__FREE 0u
#define HANDOFF__GONE 1u     /* free; the owner's thread ended holding it */
#define HANDOFF__RESERVED 2u /* free, for one that has waited */
#define HANDOFF__TOKENS 16u  /* the first that a process may draw */

#define HANDOFF__OWNER 0x3fffffffu
#define HANDOFF__DEAD 0x40000000u    /* told EOWNERDEAD; alone: for ever */
#define HANDOFF__WAITERS 0x80000000u /* somebody may be parked */

/* In hints: who << 16 | CPU + 1, where `who` tells threads apart. */
#define HANDOFF__CPU 0xffffu

/* The same mark in words that name no owner. */
#define HANDOFF__MARK 0x80000000u

/* ---- Segment ----------------------------------------------------------- */

#define HANDOFF__MAGIC 0x3146464f444e4148u /* "HANDOFF1", little-endian */
#define HANDOFF__ORDER 0x01020304u
#define HANDOFF__HEADER 4096u /* bytes before the memory */

/* A process that has the segment open, for people to read. */
struct handoff__peer {
	_Atomic uint32_t token; /* 0: nobody */
	uint32_t pid;
	uint64_t opened; /* ns since 1970 */
	char name[16];
};

#define HANDOFF__PEERS 120u

struct handoff__segment_header {
	uint64_t magic;
	uint32_t order;
	uint32_t layout;
	uint32_t kind;
	uint32_t header; /* HANDOFF__HEADER */
	uint64_t bytes;  /* of the memory */
	uint64_t total;  /* of the file */
	uint64_t id;     /* random, not 0 */
	unsigned char spare[208];
	struct handoff__peer peers[HANDOFF__PEERS];
};

/* ---- Mutex ------------------------------------------------------------- */

struct handoff__mutex {
	struct handoff__head head;
	_Atomic uint32_t word; /* see mutex.c */
	_Atomic uint32_t last; /* who << 16 | CPU + 1, of the last owner */
	union {
		_Atomic uint64_t signals; /* who << 32 | number; see cond.c */
		struct {                  /* of a readers-writer lock */
			_Atomic uint32_t writer; /* see rwlock.c */
			_Atomic uint32_t others; /* readers beyond the slots */
		};
	};
	_Atomic uint32_t starved; /* see mutex.c */
	struct handoff__statistics statistics;
};

/* ---- Condition --------------------------------------------------------- */

struct handoff__cond {
	struct handoff__head head;
	_Atomic uint64_t state; /* see cond.c */
	_Atomic uint64_t mutex; /* the id of the mutex that waiters use */
	struct handoff__statistics statistics;
	uint32_t spare;
};

/* ---- Semaphore, event, word -------------------------------------------- */

struct handoff__sem {
	struct handoff__head head;
	_Atomic uint32_t word; /* MARK | count; see semaphore.c */
	_Atomic uint32_t last; /* who << 16 | CPU + 1, of the last to post */
	uint32_t maximum;
	struct handoff__statistics statistics;
	unsigned char spare[8];
};

struct handoff__event {
	struct handoff__head head;
	_Atomic uint32_t word; /* MARK | SET | generation; see event.c */
	_Atomic uint32_t last; /* of the last to set */
	struct handoff__statistics statistics;
	unsigned char spare[12];
};

struct handoff__word {
	struct handoff__head head;
	union { /* the user's */
		_Atomic uint32_t value32;
		_Atomic uint64_t value64;
	};
	_Atomic uint64_t parked; /* see parked.h */
	_Atomic uint32_t last;   /* of the last to wake somebody who slept */
	struct handoff__statistics statistics;
};

/* ---- Readers-writer lock ----------------------------------------------- */

#define HANDOFF__READERS 16u

/* The writer's state: nobody, or a reader on its way in; PENDING: waits for the
 * readers to leave; WRITING: is in. */
#define HANDOFF__PENDING 1u
#define HANDOFF__WRITING 2u

struct handoff__rwlock {
	struct handoff__mutex lock; /* the writers', with this kind's tag */
	_Atomic uint32_t tokens[HANDOFF__READERS];
	_Atomic uint32_t readers[HANDOFF__READERS]; /* WANT | count */
};

/* ---- Barrier, baton ---------------------------------------------------- */

#define HANDOFF__PARTIES 64u

struct handoff__barrier {
	struct handoff__head head;
	_Atomic uint64_t state; /* arrived, MARK, BROKEN, generation */
	uint32_t parties;
	_Atomic uint32_t last; /* of the last to come */
	struct handoff__statistics statistics;
	uint32_t spare;
	_Atomic uint32_t tokens[HANDOFF__PARTIES]; /* processes known */
};

struct handoff__baton {
	struct handoff__head head;
	_Atomic uint64_t state; /* marks, number, turn; see baton.c */
	uint32_t parties;
	_Atomic uint32_t last; /* of the last to pass to, or to become, one who
	                        * parks */
	struct handoff__statistics statistics;
	uint32_t spare;
	_Atomic uint32_t tokens[HANDOFF__PARTIES];
};

/* ---- Kinds to come: their layouts are fixed, their code is not here ---- */

struct handoff__channel {
	struct handoff__head head;
	uint64_t capacity; /* bytes of the ring that follows */
	uint32_t largest;  /* bytes of a message */
	_Atomic uint32_t shut;
	struct handoff__statistics statistics;
	uint32_t spare;
	_Alignas(64) _Atomic uint64_t tail; /* the senders' line */
	_Atomic uint32_t sender;            /* as a mutex's word */
	_Atomic uint32_t sent;              /* sequence | MARK */
	_Atomic uint32_t sender_last;
	_Alignas(64) _Atomic uint64_t head_at; /* the receivers' line */
	_Atomic uint32_t receiver;
	_Atomic uint32_t received;
	_Atomic uint32_t receiver_last;
};

struct handoff__gate {
	struct handoff__head head;
	_Atomic uint32_t caller; /* as a mutex's word */
	_Atomic uint32_t server;
	struct handoff__statistics statistics;
	uint32_t largest; /* bytes of a call or a reply */
	unsigned char spare[8];
	_Alignas(64) _Atomic uint32_t
	    turn; /* state | MARK: one line each way */
	_Atomic uint32_t last;
	uint32_t call_bytes;
	uint32_t reply_bytes;
};

/* ---- What must never change -------------------------------------------- */

#define HANDOFF__AT(type, field, offset)                        \
	static_assert(offsetof(struct type, field) == (offset), \
	    #type "." #field)
#define HANDOFF__SIZE(type, size)                                          \
	static_assert(sizeof(struct type) == (size) && (size) % 64 == 0 && \
	        (size) % _Alignof(struct type) == 0,                       \
	    #type)

HANDOFF__AT(handoff__head, segment, 16);
HANDOFF__AT(handoff__head, limit, 24);
static_assert(sizeof(struct handoff__head) == 32, "handoff__head");
static_assert(sizeof(struct handoff__segment_header) == HANDOFF__HEADER,
    "handoff__segment_header");
HANDOFF__AT(handoff__segment_header, kind, 16);
HANDOFF__AT(handoff__segment_header, bytes, 24);
HANDOFF__AT(handoff__segment_header, id, 40);
HANDOFF__AT(handoff__segment_header, peers, 256);

HANDOFF__SIZE(handoff__mutex, 64);
HANDOFF__AT(handoff__mutex, word, 32);
HANDOFF__AT(handoff__mutex, last, 36);
HANDOFF__AT(handoff__mutex, signals, 40);
HANDOFF__AT(handoff__mutex, writer, 40);
HANDOFF__AT(handoff__mutex, others, 44);
HANDOFF__AT(handoff__mutex, starved, 48);
HANDOFF__AT(handoff__mutex, statistics, 52);
HANDOFF__SIZE(handoff__cond, 64);
HANDOFF__AT(handoff__cond, state, 32);
HANDOFF__AT(handoff__cond, mutex, 40);
HANDOFF__SIZE(handoff__sem, 64);
HANDOFF__AT(handoff__sem, word, 32);
HANDOFF__SIZE(handoff__event, 64);
HANDOFF__AT(handoff__event, word, 32);
HANDOFF__SIZE(handoff__word, 64);
HANDOFF__AT(handoff__word, value32, 32);
HANDOFF__AT(handoff__word, value64, 32);
HANDOFF__AT(handoff__word, parked, 40);
HANDOFF__SIZE(handoff__rwlock, 192);
HANDOFF__AT(handoff__rwlock, tokens, 64);
HANDOFF__AT(handoff__rwlock, readers, 128);
HANDOFF__SIZE(handoff__barrier, 320);
HANDOFF__AT(handoff__barrier, state, 32);
HANDOFF__AT(handoff__barrier, tokens, 64);
HANDOFF__SIZE(handoff__baton, 320);
HANDOFF__AT(handoff__baton, state, 32);
HANDOFF__AT(handoff__baton, tokens, 64);
HANDOFF__SIZE(handoff__channel, 192);
HANDOFF__AT(handoff__channel, tail, 64);
HANDOFF__AT(handoff__channel, head_at, 128);
HANDOFF__SIZE(handoff__gate, 128);
HANDOFF__AT(handoff__gate, turn, 64);

static_assert(sizeof(handoff_mutex) == sizeof(struct handoff__mutex), "");
static_assert(sizeof(handoff_cond) == sizeof(struct handoff__cond), "");
static_assert(sizeof(handoff_sem) == sizeof(struct handoff__sem), "");
static_assert(sizeof(handoff_event) == sizeof(struct handoff__event), "");
static_assert(sizeof(handoff_rwlock) == sizeof(struct handoff__rwlock), "");
static_assert(sizeof(handoff_barrier) == sizeof(struct handoff__barrier), "");
static_assert(sizeof(handoff_word32) == sizeof(struct handoff__word), "");
static_assert(sizeof(handoff_word64) == sizeof(struct handoff__word), "");
static_assert(offsetof(handoff_word32, value) == 32, "");
static_assert(offsetof(handoff_word64, value) == 32, "");
static_assert(sizeof(handoff_baton) == sizeof(struct handoff__baton), "");

#endif
