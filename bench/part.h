/* SPDX-License-Identifier: ISC */
/*
 * What a part of a trial, which is a process, asks of the system.
 */
#ifndef BENCH_PART_H
#define BENCH_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "run.h"

/* The first that a part does; and what it does when it has its job. */
void part_begin(void);
void part_limit(const struct job *job);

/* Sees to it that this process ends when the bench does.  False if the bench
 * has ended. */
bool part_follow(const struct job *job);

/* Messages, from the bench and to it.  False if it has ended. */
bool part_receive(void *data, size_t bytes);
bool part_transmit(const void *data, size_t bytes);

/* Sets what the system counts of what this process has used. */
void part_usage(struct usage *usage);

#endif
