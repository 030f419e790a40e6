/* SPDX-License-Identifier: ISC */
/*
 * Reads comma-separated values.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "csv.h"

/* Ends the cell that begins at `text`, without its quotation marks.  Returns
 * what follows it, and in *last whether it ends the row. */
static char *cut(char *text, char **cell, bool *last)
{
	bool quoted = *text == '"';
	char *from = text + quoted, *to = from, end;

	*cell = from;
	while (*from && (quoted || (*from != ',' && *from != '\n'))) {
		if (quoted && *from == '"') {
			if (from[1] != '"') {
				quoted = false;
				from++;
				continue;
			}
			from++;
		}
		*to++ = *from++;
	}
	end = *from;
	*to = '\0';
	*last = end != ',';
	return end ? from + 1 : from;
}

bool csv_parse(struct csv *csv, char *text)
{
	size_t column = 0, lines = 1;
	char *c, *cell;
	bool last = false;

	memset(csv, 0, sizeof(*csv));
	for (c = text; *c && *c != '\n'; c++)
		csv->columns += *c == ',';
	csv->columns++;
	for (c = text; *c; c++)
		lines += *c == '\n';
	csv->cells = calloc(lines * csv->columns, sizeof(*csv->cells));
	if (!csv->cells || *text == '\0')
		return false;
	while (*text) {
		text = cut(text, &cell, &last);
		if (column < csv->columns)
			csv->cells[csv->rows * csv->columns + column++] = cell;
		if (!last)
			continue;
		csv->rows++;
		column = 0;
	}
	return csv->rows > 0;
}

void csv_free(struct csv *csv)
{
	free(csv->cells);
	csv->cells = NULL;
}

const char *csv_cell(const struct csv *csv, size_t row, const char *column)
{
	const char *cell;
	size_t i;

	for (i = 0; i < csv->columns; i++) {
		if (strcmp(csv->cells[i], column) != 0)
			continue;
		cell = csv->cells[row * csv->columns + i];
		return cell ? cell : "";
	}
	return "";
}
