/* SPDX-License-Identifier: ISC */
/*
 * Who has a segment open, and what has been noted about waiting: for people to
 * read.  Nothing decides by any of it.
 *
 * An entry of the table belongs to the process whose token stands in it, and is
 * written after the token, so that it may be read half written.  Entries of
 * processes that have died are given to those that come when there is no free
 * one.
 */
#include "peers.h"

#include "self.h"

#include <errno.h>
#include <string.h>

/* ---- Entering and leaving ---------------------------------------------- */

static void fill(struct handoff__peer *peer)
{
	char name[sizeof peer->name] = "";
	uint64_t now;
	uint32_t pid;

	handoff__describe(&pid, name, sizeof name, &now);
	peer->pid = pid;
	peer->opened = now;
	memcpy(peer->name, name, sizeof name);
}

/* Takes an entry that says `before`. */
static bool take(struct handoff__peer *peer, uint32_t before, uint32_t token)
{
	if (!atomic_compare_exchange_strong(&peer->token, &before, token))
		return false;
	fill(peer);
	return true;
}

void handoff__peers_enter(struct handoff__open *open, uint32_t token)
{
	struct handoff__peer *peers = open->header->peers;

	for (unsigned i = 0; i < HANDOFF__PEERS; i++)
		if (atomic_load(&peers[i].token) == 0 &&
		    take(&peers[i], 0, token))
			return;
	for (unsigned i = 0; i < HANDOFF__PEERS; i++) {
		uint32_t before = atomic_load(&peers[i].token);
		bool taken;

		if (before < HANDOFF__TOKENS || before == token ||
		    handoff__life_take(open->map, before) != 0)
			continue;
		taken = take(&peers[i], before, token);
		handoff__life_give(open->map, before);
		if (taken)
			return;
	}
}

void handoff__peers_leave(struct handoff__open *open)
{
	struct handoff__peer *peers = open->header->peers;

	for (unsigned i = 0; i < HANDOFF__PEERS; i++)
		if (atomic_load(&peers[i].token) == open->token) {
			peers[i].pid = 0;
			peers[i].opened = 0;
			memset(peers[i].name, 0, sizeof peers[i].name);
			atomic_store(&peers[i].token, 0);
			return;
		}
}

/* ---- Reading ----------------------------------------------------------- */

/* Whether that process lives, as far as can be told. */
static bool lives(struct handoff__open *open, uint32_t token)
{
	if (token < HANDOFF__TOKENS)
		return false;
	if (token == open->token)
		return true;
	if (handoff__life_take(open->map, token) != 0)
		return true;
	handoff__life_give(open->map, token);
	return false;
}

/* A copy, since others may write to the table meanwhile. */
struct found {
	uint32_t pid;
	uint64_t opened;
	char name[sizeof((struct handoff__peer *)0)->name];
};

static unsigned find(struct handoff__open *open, struct found *found)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HANDOFF__PEERS; i++) {
		const struct handoff__peer *at = &open->header->peers[i];

		if (!lives(open, atomic_load(&at->token)))
			continue;
		found[n].pid = at->pid;
		found[n].opened = at->opened;
		memcpy(found[n].name, at->name, sizeof found[n].name);
		found[n].name[sizeof found[n].name - 1] = '\0';
		n++;
	}
	return n;
}

int handoff_peers(const void *object,
    int (*fn)(const struct handoff_peer *peer, void *ctx), void *ctx)
{
	struct found found[HANDOFF__PEERS];
	struct handoff__open *open;
	unsigned n = 0;
	int e;

	if (!object || !fn)
		return EINVAL;
	/* In a child of fork: so that it is among them. */
	e = handoff__self_begin();
	if (e == 0)
		e = handoff__process_lock();
	if (e != 0)
		return e;
	open = handoff__segment_at(object);
	if (open)
		n = find(open, found);
	else
		e = EINVAL;
	handoff__process_unlock();
	for (unsigned i = 0; i < n && e == 0; i++) {
		struct handoff_peer peer = { sizeof peer, found[i].pid,
			found[i].opened, found[i].name };

		e = fn(&peer, ctx);
	}
	return e;
}

/* ---- Statistics -------------------------------------------------------- */

static const struct handoff__statistics *statistics_of(const void *object)
{
	static const size_t offsets[] = {
		[HANDOFF__MUTEX] = offsetof(struct handoff__mutex, statistics),
		[HANDOFF__COND] = offsetof(struct handoff__cond, statistics),
		[HANDOFF__SEM] = offsetof(struct handoff__sem, statistics),
		[HANDOFF__EVENT] = offsetof(struct handoff__event, statistics),
		[HANDOFF__RWLOCK] = offsetof(struct handoff__rwlock,
		    lock.statistics),
		[HANDOFF__BARRIER] = offsetof(struct handoff__barrier,
		    statistics),
		[HANDOFF__WORD32] = offsetof(struct handoff__word, statistics),
		[HANDOFF__WORD64] = offsetof(struct handoff__word, statistics),
		[HANDOFF__BATON] = offsetof(struct handoff__baton, statistics)
	};
	const struct handoff__head *head = object;
	uint32_t kind;

	if (!head || (uintptr_t)head % 64 != 0)
		return NULL;
	/* Read once: others may write to it meanwhile. */
	kind = *(const volatile uint32_t *)&head->tag - HANDOFF__TAG(0u);
	if (kind >= sizeof offsets / sizeof *offsets || offsets[kind] == 0)
		return NULL;
	return (
	    const struct handoff__statistics *)((const unsigned char *)object +
	    offsets[kind]);
}

int handoff_statistics(const void *object,
    struct handoff_statistics *statistics)
{
	const struct handoff__statistics *noted = statistics_of(object);

	if (!noted || !statistics || statistics->size != sizeof *statistics)
		return EINVAL;
	statistics->contended = atomic_load(&noted->contended);
	statistics->parks = atomic_load(&noted->parks);
	statistics->longest = (uint64_t)atomic_load(&noted->longest) * 1000;
	return 0;
}
