/* SPDX-License-Identifier: ISC */
/*
 * Memory that two processes share: a section of the page file, which goes with
 * the last of them.
 */
#include "api.h"

#include <errno.h>
#include <stdio.h>

#include "../bench.h"
#include "../via.h"

int via_memory_open(void **memory, const struct via_side *side,
    const char *suffix, size_t bytes)
{
	char name[BENCH_NAME_MAX + 32];
	HANDLE section;
	int e = 0;

	snprintf(name, sizeof(name), "Local\\%s%s", side->base, suffix);
	if (side->part == 0)
		section = CreateFileMappingA(INVALID_HANDLE_VALUE, NULL,
		    PAGE_READWRITE, 0, (DWORD)bytes, name);
	else
		section = OpenFileMappingA(FILE_MAP_WRITE, FALSE, name);
	if (!section)
		return api_error();
	*memory = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, bytes);
	if (!*memory)
		e = api_error();
	/* Part 0 keeps it until part 1 has opened it. */
	if (side->part == 1)
		CloseHandle(section);
	return e;
}

void via_memory_close(void *memory, size_t bytes)
{
	(void)bytes;
	UnmapViewOfFile(memory);
}

void via_memory_unlink(const char *base, const char *suffix)
{
	(void)base;
	(void)suffix;
}
