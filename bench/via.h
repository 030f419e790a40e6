/* SPDX-License-Identifier: ISC */
/*
 * A via is a way in which two processes hand the turn to each other.  Part 0
 * calls: it gives the turn away and waits until it has it back, which is one
 * round trip.  Part 1 serves: it waits for the turn and gives it back.
 *
 * To add one: write its functions in a via_*.c and put it into the table at
 * that file's end.  Each system has a list of its tables (vias.c).
 */
#ifndef BENCH_VIA_H
#define BENCH_VIA_H

#ifdef __cplusplus
extern "C" {
#else
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
struct via_control;
#else
/* What the bench itself shares between the parts: a line that is written only
 * when a stretch of a trial ends, and one for when part 1 had the turn, where
 * that is asked for. */
struct via_control {
	_Alignas(64) _Atomic uint32_t stretch;
	_Alignas(64) _Atomic uint64_t turn_at;
};
#endif

/* One process's side of a via. */
struct via_side {
	const char *base; /* what each name of this trial begins with */
	int part;         /* 0 or 1 */
	uint32_t stretch; /* the one being served */
	struct via_control *control;
	void *own; /* the via's own */
	/* Part 1: what it does before it answers, or NULL; see work.h. */
	void (*turn)(const struct via_side *side);
	uint64_t work_ns;
	bool stamp;
};

enum via_group { VIA_OURS, VIA_FLOORS, VIA_FIXED, VIA_PEERS };

/* Functions return 0 or an errno value. */
struct via {
	const char *name;
	enum via_group group;
	/* Why this build or this system does not have it, or NULL if it does.
	 * NULL itself where every system has it. */
	const char *(*missing)(void);
	/* Part 0 makes the names and everything behind them; then part 1 opens
	 * them.  The turn is part 0's. */
	int (*open)(struct via_side *side);
	/* Part 0, before its first round trip and after its last; or NULL. */
	int (*begin)(struct via_side *side);
	int (*end)(struct via_side *side);
	/* Part 0: so many round trips in a row. */
	int (*call)(struct via_side *side, uint64_t rounds);
	/* Part 1: serves, up to and with the round trip in which via_last()
	 * is true.  It must ask when it has the turn, before it gives it
	 * back. */
	int (*serve)(struct via_side *side);
	void (*close)(struct via_side *side);
	/* Removes the names that there are; any process may do it. */
	void (*unlink)(const char *base);
};

extern const struct via via_ours[], via_direct[], via_floors[], via_fixed[],
    via_peers[], via_kernel[], via_boost[];
extern const size_t via_ours_count, via_direct_count, via_floors_count,
    via_fixed_count, via_peers_count, via_kernel_count, via_boost_count;

/* The tables that this system has, as vias are listed. */
struct via_table {
	const struct via *vias;
	const size_t *count;
};
extern const struct via_table via_tables[];
extern const size_t via_tables_count;

/* All of them, counted from 0; NULL behind the last. */
const struct via *via_at(size_t index);
const struct via *via_find(const char *name);

/* The name of a group. */
const char *via_group_name(enum via_group group);

/* Why a via cannot be measured here, or NULL. */
const char *via_missing(const struct via *via);

/* Opens what a side needs, the control line first. */
int via_open(const struct via *via, struct via_side *side);
void via_unlink(const struct via *via, const char *base);

/* True in the last round trip of a stretch.  Part 1 also works here, where a
 * job says so. */
bool via_is_last(const struct via_side *side);
#ifndef __cplusplus
static inline bool via_last(const struct via_side *side)
{
	if (side->turn)
		side->turn(side);
	return atomic_load_explicit(&side->control->stretch,
	           memory_order_acquire) != side->stretch;
}
#endif

/* ---- shared memory of the bench's own, not the library's --------------- */

/* Puts the memory behind base + suffix, made by part 0, into `memory`. */
int via_memory_open(void **memory, const struct via_side *side,
    const char *suffix, size_t bytes);
void via_memory_close(void *memory, size_t bytes);
void via_memory_unlink(const char *base, const char *suffix);

/* ---- files of the bench's own, in $TMPDIR or /tmp ---------------------- */

/* Puts the path of base + "." + suffix into `path`; in /tmp where it does not
 * fit. */
void via_path(char *path, size_t bytes, const char *base, const char *suffix);

/* Write and read a byte: a turn.  EPIPE at the end of what there is. */
int via_put_byte(int fd);
int via_get_byte(int fd);

#ifdef __cplusplus
}
#endif

#endif
