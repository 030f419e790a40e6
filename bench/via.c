/* SPDX-License-Identifier: ISC */
/*
 * The list of all vias, and what they have in common: names, memory that two
 * processes share, and the line that tells them of the end of a stretch.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "via.h"

#define CONTROL ".control"

static const struct {
	const struct via *vias;
	const size_t *count;
} tables[] = {
	{ via_ours, &via_ours_count },
	{ via_direct, &via_direct_count },
	{ via_floors, &via_floors_count },
	{ via_fixed, &via_fixed_count },
	{ via_peers, &via_peers_count },
	{ via_kernel, &via_kernel_count },
	{ via_boost, &via_boost_count },
};

const struct via *via_at(size_t index)
{
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (index < *tables[i].count)
			return &tables[i].vias[index];
		index -= *tables[i].count;
	}
	return NULL;
}

const struct via *via_find(const char *name)
{
	const struct via *via;
	size_t i;

	for (i = 0; (via = via_at(i)) != NULL; i++)
		if (strcmp(via->name, name) == 0)
			break;
	return via;
}

const char *via_group_name(enum via_group group)
{
	static const char *const names[] = {
		[VIA_OURS] = "ours",
		[VIA_FLOORS] = "floors",
		[VIA_FIXED] = "fixed",
		[VIA_PEERS] = "peers",
	};

	return names[group];
}

const char *via_missing(const struct via *via)
{
	return via->missing ? via->missing() : NULL;
}

bool via_is_last(const struct via_side *side)
{
	return via_last(side);
}

int via_open(const struct via *via, struct via_side *side)
{
	void *memory;
	int e;

	e = via_memory_open(&memory, side, CONTROL, sizeof(*side->control));
	if (e != 0)
		return e;
	side->control = memory;
	return via->open(side);
}

void via_unlink(const struct via *via, const char *base)
{
	via_memory_unlink(base, CONTROL);
	via->unlink(base);
}

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
