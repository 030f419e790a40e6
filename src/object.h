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
	uint32_t spare;
};

#define HANDOFF__POLICY 0x3u         /* an enum handoff_policy */
#define HANDOFF__ATTR_RECURSIVE 0x4u /* mutex; not made by this version */
#define HANDOFF__ATTR_CHECKED 0x8u   /* mutex; not made by this version */
#define HANDOFF__ATTR_UNFAIR 0x10u   /* mutex; not made by this version */
#define HANDOFF__ATTR_MANUAL 0x20u   /* event: manual reset */

/* Noted by slow paths alone, for people to read; nothing decides by it. */
struct handoff__statistics {
	_Atomic uint32_t contended; /* waits that were not over at once */
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

/* ---- Segment ----------------------------------------------------------- */

#define HANDOFF__MAGIC 0x3146464f444e4148u /* "HANDOFF1", little-endian */
#define HANDOFF__ORDER 0x01020304u
#define HANDOFF__HEADER 4096u /* bytes before the memory */

/* A process that has the segment open, for people to read. */
struct handoff__peer {
	_Atomic uint32_t token;
	uint32_t pid;
	uint64_t start;
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
	struct handoff__peer peers[HANDOFF__PEERS]; /* not used yet */
};

/* ---- Mutex ------------------------------------------------------------- */

struct handoff__mutex {
	struct handoff__head head;
	_Atomic uint32_t word;    /* see mutex.c */
	_Atomic uint32_t last;    /* who << 16 | CPU + 1, of the last owner */
	_Atomic uint64_t signals; /* who << 32 | number; see cond.c */
	_Atomic uint32_t streak;  /* reserved for fairness: ms */
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

/* ---- Kinds to come: their layouts are fixed, their code is not here ---- */

struct handoff__sem {
	struct handoff__head head;
	_Atomic uint32_t word; /* MARK | count */
	_Atomic uint32_t last;
	uint32_t maximum;
	struct handoff__statistics statistics;
	unsigned char spare[8];
};

struct handoff__event {
	struct handoff__head head;
	_Atomic uint32_t word; /* generation | SET | MARK */
	_Atomic uint32_t last;
	struct handoff__statistics statistics;
	unsigned char spare[12];
};

struct handoff__word {
	struct handoff__head head;
	_Atomic uint64_t value; /* the user's; 32 bits of it, or all */
	_Atomic uint32_t word;  /* sequence | MARK */
	_Atomic uint32_t last;
	struct handoff__statistics statistics;
	uint32_t spare;
};

#define HANDOFF__READERS 16u

struct handoff__rwlock {
	struct handoff__head head;
	_Atomic uint32_t word; /* the writer's, as a mutex's */
	_Atomic uint32_t last;
	_Atomic uint32_t readers; /* parked readers' own word */
	_Atomic uint32_t others;  /* readers beyond the slots */
	_Atomic uint32_t streak;
	struct handoff__statistics statistics;
	_Atomic uint64_t slots[HANDOFF__READERS]; /* token, count, WANT */
};

#define HANDOFF__PARTIES 64u

struct handoff__barrier {
	struct handoff__head head;
	_Atomic uint64_t state; /* generation, arrived, BROKEN, MARK */
	uint32_t parties;
	_Atomic uint32_t last;
	struct handoff__statistics statistics;
	uint32_t spare;
	_Atomic uint32_t tokens[HANDOFF__PARTIES];
};

struct handoff__baton {
	struct handoff__head head;
	_Atomic uint32_t word; /* whose turn | MARK */
	_Atomic uint32_t last;
	uint32_t parties;
	struct handoff__statistics statistics;
	unsigned char spare[8];
	_Atomic uint32_t tokens[HANDOFF__PARTIES];
};

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
HANDOFF__AT(handoff__mutex, streak, 48);
HANDOFF__SIZE(handoff__cond, 64);
HANDOFF__AT(handoff__cond, state, 32);
HANDOFF__AT(handoff__cond, mutex, 40);
HANDOFF__SIZE(handoff__sem, 64);
HANDOFF__AT(handoff__sem, word, 32);
HANDOFF__SIZE(handoff__event, 64);
HANDOFF__AT(handoff__event, word, 32);
HANDOFF__SIZE(handoff__word, 64);
HANDOFF__AT(handoff__word, value, 32);
HANDOFF__AT(handoff__word, word, 40);
HANDOFF__SIZE(handoff__rwlock, 192);
HANDOFF__AT(handoff__rwlock, slots, 64);
HANDOFF__SIZE(handoff__barrier, 320);
HANDOFF__AT(handoff__barrier, state, 32);
HANDOFF__AT(handoff__barrier, tokens, 64);
HANDOFF__SIZE(handoff__baton, 320);
HANDOFF__AT(handoff__baton, word, 32);
HANDOFF__AT(handoff__baton, tokens, 64);
HANDOFF__SIZE(handoff__channel, 192);
HANDOFF__AT(handoff__channel, tail, 64);
HANDOFF__AT(handoff__channel, head_at, 128);
HANDOFF__SIZE(handoff__gate, 128);
HANDOFF__AT(handoff__gate, turn, 64);

static_assert(sizeof(handoff_mutex) == sizeof(struct handoff__mutex), "");
static_assert(sizeof(handoff_cond) == sizeof(struct handoff__cond), "");

#endif
