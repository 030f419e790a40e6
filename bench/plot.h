/* SPDX-License-Identifier: ISC */
/*
 * Draws the figures of pingpong through gnuplot: SVG files in a directory,
 * with the data and the script beside them.
 */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report.h"

/* Runs gnuplot in the directory, in silence: it also speaks of curves of one
 * point.  Returns its exit status, 127 if there is none. */
int plot_run(const char *directory, const char *argument);

/* True if there is a program of that name which runs. */
bool plot_possible(void);

/* Makes the directory, if it is not there.  False, after a message, if nothing
 * could be drawn into it. */
bool plot_prepare(const char *directory);

/* A file in the directory, or NULL after a message; and its end, false after a
 * message if not all was written. */
FILE *plot_create(const char *directory, const char *name);
bool plot_finish(FILE *file, const char *name);

/* False, after a message, if that failed. */
bool plot_pingpong(const char *directory, const struct figures *figures,
    size_t count);

#endif
