/* SPDX-License-Identifier: ISC */
/* The mutex as the condition and the end of a thread see it. */
#ifndef HANDOFF_MUTEX_H
#define HANDOFF_MUTEX_H

#include "self.h"

static inline bool handoff__mutex_valid(const struct handoff__mutex *mutex)
{
	return mutex && mutex->head.tag == HANDOFF__TAG(HANDOFF__MUTEX);
}

/* Whether an owner that died may have left what the mutex protects half done. A
 * readers-writer lock says so itself. */
static inline bool handoff__mutex_suspect(const struct handoff__mutex *mutex)
{
	return mutex->head.tag != HANDOFF__TAG(HANDOFF__RWLOCK) ||
	    atomic_load(&mutex->writer) == HANDOFF__WRITING;
}

/* Locks what this thread does not hold: as handoff_mutex_lock_until.  `parked`:
 * it has been parked there. */
int handoff__mutex_lock(struct handoff__mutex *mutex, bool parked,
    uint64_t deadline);
int handoff__mutex_try(struct handoff__mutex *mutex);

/* Locks after a wait: as handoff_mutex_lock, without a try that would take
 * the line from its owner.  `requeued`: this thread may have been parked on
 * the mutex and must not lose the mark of others. */
int handoff__mutex_relock(struct handoff__mutex *mutex,
    struct handoff__self *self, bool requeued);

/* Moves the signals that travel in the mutex's line, for held->publish. */
void handoff__mutex_publish(struct handoff__mutex *mutex,
    struct handoff__held *held);

/* Unlocks the i-th lock that this thread holds: signals move, if they are to,
 * and the word is exchanged. */
void handoff__mutex_release(struct handoff__mutex *mutex,
    struct handoff__self *self, int i);

/* Whether somebody holds the mutex, or it is lost: one cannot tell whether
 * signals are about to move. */
static inline bool handoff__mutex_held(const struct handoff__mutex *mutex)
{
	return (atomic_load(&mutex->word) & ~HANDOFF__WAITERS) != HANDOFF__FREE;
}

/* Whether somebody holds the mutex who has died, or whose thread has. */
bool handoff__mutex_orphaned(struct handoff__mutex *mutex);

/* The owner's thread ends: the next to lock it is told.  Only in a segment. */
void handoff__mutex_gone(struct handoff__mutex *mutex);

/* Where one parks for the mutex. */
struct handoff__place handoff__mutex_place(const struct handoff__mutex *mutex);

#endif
