/* SPDX-License-Identifier: ISC */
/*
 * The page of handoff-bench report: HTML that needs nothing but itself.
 */
#ifndef BENCH_REPORT_PAGE_H
#define BENCH_REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#define PAGE_ARGUMENTS 8
#define PAGE_PICTURES 3
#define PAGE_KEYS 3

enum page_kind {
	PAGE_TEXT,
	PAGE_TIME,  /* ns, written with a unit */
	PAGE_COUNT, /* with a unit where it is large */
	PAGE_RATIO, /* two decimals */
	PAGE_FINE,  /* four */
	PAGE_NUMBER /* none */
};

struct page_column {
	const char *csv; /* the name of the column in the csv output */
	const char *title;
	enum page_kind kind;
};

/* What one part of the program has measured. */
struct page_section {
	const char *id, *title;
	const char *how;   /* to read it, in HTML */
	const char *plots; /* how to read the pictures */
	/* The part and its arguments, without format and time. */
	const char *arguments[PAGE_ARGUMENTS];
	bool timed; /* takes the time of the report */
	const char *pictures[PAGE_PICTURES];
	const struct page_column *columns; /* up to one without a title */
	/* The columns by which rows make up tables. */
	const char *keys[PAGE_KEYS];
	/* Rows with that value in that column are left out. */
	const char *drop[2];
};

extern const struct page_section page_sections[];
extern const size_t page_section_count;

void page_begin(FILE *out);

/* Writes a section of what its part printed, which it cuts up; NULL: the part
 * failed.  `directory` has the pictures; NULL: there are none. */
void page_section(FILE *out, const struct page_section *section, char *csv,
    const char *directory);

void page_end(FILE *out);

#endif
