/* SPDX-License-Identifier: ISC */
/*
 * The durations of round trips, in a file.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "record.h"

#define FIRST_FREE 10 /* of descriptors: a part has those below for itself */

static FILE *unnamed;

static struct {
	uint64_t *ns;
	size_t count;
} noted;

static bool failed(const char *what)
{
	fprintf(stderr, BENCH_TOOL ": cannot write %s: %s\n", what,
	    strerror(errno));
	return false;
}

bool record_begin(void)
{
	FILE *file = tmpfile();
	int copy = -1;

	if (file) {
		copy = fcntl(fileno(file), F_DUPFD_CLOEXEC, FIRST_FREE);
		fclose(file);
	}
	if (copy >= 0)
		unnamed = fdopen(copy, "w+");
	return unnamed || failed("a temporary file");
}

int record_file(void)
{
	return unnamed ? fileno(unnamed) : -1;
}

void record_pass(void)
{
	if (unnamed)
		fcntl(fileno(unnamed), F_SETFD, 0);
}

static bool copy_into(FILE *to)
{
	char buffer[4096];
	size_t n;

	rewind(unnamed);
	while ((n = fread(buffer, 1, sizeof(buffer), unnamed)) > 0)
		if (fwrite(buffer, 1, n, to) != n)
			return false;
	return !ferror(unnamed);
}

bool record_save(const char *path, const char *via, const char *place)
{
	FILE *file = fopen(path, "we");
	bool ok;

	if (!file)
		return failed(path);
	ok = fprintf(file,
	         "# " BENCH_TOOL " pingpong --via=%s --place=%s: round trips, "
	         "ns\n",
	         via, place) > 0 &&
	    copy_into(file);
	if (fclose(file) != 0 || !ok)
		return failed(path);
	fclose(unnamed);
	unnamed = NULL;
	return true;
}

int record_start(void)
{
	size_t bytes = RECORD_MOST * sizeof(*noted.ns);

	noted.ns = malloc(bytes);
	if (!noted.ns)
		return ENOMEM;
	memset(noted.ns, 0xff, bytes); /* else a page of it costs a fault */
	return 0;
}

void record_add(uint64_t ns)
{
	if (noted.ns && noted.count < RECORD_MOST)
		noted.ns[noted.count++] = ns;
}

int record_write(int file)
{
	FILE *out = fdopen(file, "w");
	bool bad;
	size_t i;

	if (!out)
		return errno;
	for (i = 0; i < noted.count; i++)
		fprintf(out, "%llu\n", (unsigned long long)noted.ns[i]);
	bad = ferror(out) != 0;
	if (fclose(out) != 0 || bad)
		return EIO;
	return 0;
}
