/* SPDX-License-Identifier: ISC */
/*
 * What the vias of the library have in common: names, and a segment that
 * holds all that both parts need.
 */
#ifndef BENCH_VIA_OURS_H
#define BENCH_VIA_OURS_H

#include <stddef.h>
#include <stdint.h>

#include <handoff.h>

#include "bench.h"
#include "via.h"

typedef char ours_name_buffer[BENCH_NAME_MAX + 16];

/* The name base.suffix. */
const char *ours_name(ours_name_buffer name, const char *base,
    const char *suffix);

/* To make a name in part 0 and to open it in part 1. */
unsigned ours_flags(const struct via_side *side);

/* Puts the memory of the one segment of a trial into `memory`. */
int ours_segment_open(void **memory, const struct via_side *side, size_t bytes,
    uint32_t kind, int (*init)(void *memory, size_t bytes, void *arg));
void ours_segment_unlink(const char *base);

#endif
