/* SPDX-License-Identifier: ISC */
/*
 * Memory that two processes share, and files.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../bench.h"
#include "../via.h"

static void memory_name(char name[BENCH_NAME_MAX + 16], const char *base,
    const char *suffix)
{
	snprintf(name, BENCH_NAME_MAX + 16, "/%s%s", base, suffix);
}

int via_memory_open(void **memory, const struct via_side *side,
    const char *suffix, size_t bytes)
{
	char name[BENCH_NAME_MAX + 16];
	int flags = O_RDWR | (side->part == 0 ? O_CREAT | O_EXCL : 0);
	int fd, e = 0;

	memory_name(name, side->base, suffix);
	fd = shm_open(name, flags, 0600);
	if (fd < 0)
		return errno;
	if (side->part == 0 && ftruncate(fd, (off_t)bytes) != 0)
		e = errno;
	if (e == 0) {
		*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
		if (*memory == MAP_FAILED)
			e = errno;
	}
	close(fd);
	return e;
}

void via_memory_close(void *memory, size_t bytes)
{
	munmap(memory, bytes);
}

void via_memory_unlink(const char *base, const char *suffix)
{
	char name[BENCH_NAME_MAX + 16];

	memory_name(name, base, suffix);
	shm_unlink(name);
}

/* ---- files ------------------------------------------------------------- */

void via_path(char *path, size_t bytes, const char *base, const char *suffix)
{
	const char *dir = getenv("TMPDIR");
	int n = -1;

	if (dir && dir[0])
		n = snprintf(path, bytes, "%s/%s.%s", dir, base, suffix);
	if (n < 0 || (size_t)n >= bytes)
		snprintf(path, bytes, "/tmp/%s.%s", base, suffix);
}

int via_put_byte(int fd)
{
	while (write(fd, "", 1) != 1)
		if (errno != EINTR)
			return errno;
	return 0;
}

int via_get_byte(int fd)
{
	char byte;
	ssize_t n;

	while ((n = read(fd, &byte, 1)) != 1) {
		if (n == 0)
			return EPIPE;
		if (errno != EINTR)
			return errno;
	}
	return 0;
}
