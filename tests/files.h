/* SPDX-License-Identifier: ISC */
/* What stands at a name, for tests that put something else there. */
#ifndef TESTS_FILES_H
#define TESTS_FILES_H

#include "processes.h"

#include <sys/stat.h>

/* Opens it, with 64 bytes or what there is, and closes it: the result. */
int open_as(const char *name, unsigned flags, unsigned mode, size_t bytes,
    uint32_t kind);

/* The file of a name; of the last four that were asked for. */
const char *path_of(const char *name);

/* What a file is and what it holds. */
struct picture {
	struct stat st;
	unsigned char bytes[16384];
	ssize_t n;
};

/* Of the name "s". */
void look(struct picture *p);
void assert_same(const struct picture *before);

#endif
