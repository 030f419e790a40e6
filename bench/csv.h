/* SPDX-License-Identifier: ISC */
/*
 * Comma-separated values, as the parts of the program print them.
 */
#ifndef BENCH_CSV_H
#define BENCH_CSV_H

#include <stdbool.h>
#include <stddef.h>

struct csv {
	char **cells;   /* row by row, the names of columns first */
	size_t columns; /* of the first row, and so of all */
	size_t rows;    /* with the first */
};

/* Cuts `text` into cells, which lie in it.  Missing cells are empty.  False
 * without memory or without a first row. */
bool csv_parse(struct csv *csv, char *text);
void csv_free(struct csv *csv);

/* The cell in the column of that name; "" where there is no such column. */
const char *csv_cell(const struct csv *csv, size_t row, const char *column);

#endif
