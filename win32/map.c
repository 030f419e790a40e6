/* SPDX-License-Identifier: ISC */
/*
 * Named memory: sections of the page file.
 *
 * A segment lies in a section under a random number, behind a front of 16 KiB
 * that is the port's; its bytes are where they are in a file on other systems.
 * Another section, of the segment's name, says which: it holds that number.
 *
 * THE NUMBER IN THE NAMED SECTION
 *   0      nobody has published anything yet: as if there were no name
 *   n      the section n, if there is one: it is whole.  If there is none, all
 *          who had it open are gone, and only somebody on his way in or out
 *          keeps the named section: as if there were no name
 *
 *   create    makes the section n, which nobody can find
 *   publish   0 -> n, or, from a number whose section is gone, -> n; the only
 *             step by which anything can be seen, and the last
 *
 * Who makes a segment holds a mutex of that name from create to publish, so
 * that others wait instead of making one in vain.  Whoever gets it, abandoned or
 * not, looks whether there is a segment now, and else makes one.  Nothing else
 * depends on it: one whose maker takes more than five seconds, or whose mutex is
 * somebody else's, is made by several, and the first to publish has the name.
 *
 * WHAT A DEATH LEAVES
 *   maker, before publish   nothing: its sections end with their last handle
 *   maker, then             the segment, as long as somebody has it open
 *
 * The name ends with the last handle, too; nobody can remove it before.
 */
#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x31304e4957464648u /* "HFFWIN01" */
#define FRONT sizeof(struct handoff__front)
#define MAKE_MS 5000u

/* What is in the named section. */
struct handoff__page {
	uint64_t magic;
	_Atomic uint64_t number;
};

/* ---- Sections ---------------------------------------------------------- */

static HANDLE open_section(const wchar_t *name, DWORD access)
{
	return OpenFileMappingW(access, FALSE, name);
}

/* NULL also if there is one. */
static HANDLE new_section(const wchar_t *name, uint64_t bytes, bool shared)
{
	struct handoff__access access;
	HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE,
	    handoff__access(&access, shared), PAGE_READWRITE,
	    (DWORD)(bytes >> 32), (DWORD)bytes, name);

	if (section && GetLastError() == ERROR_ALREADY_EXISTS) {
		CloseHandle(section);
		SetLastError(ERROR_ALREADY_EXISTS);
		return NULL;
	}
	return section;
}

static void data_name(wchar_t *to, uint64_t number)
{
	handoff__put_hex(handoff__put_space(to, "!data."), number, 16);
}

static HANDLE open_data(uint64_t number)
{
	wchar_t name[HANDOFF__OBJECT_NAME];

	data_name(name, number);
	return open_section(name,
	    FILE_MAP_READ | FILE_MAP_WRITE | READ_CONTROL);
}

/* Whether there is a section of that number, also one that is not for us. */
static bool exists(uint64_t number)
{
	HANDLE section = open_data(number);

	if (!section)
		return GetLastError() != ERROR_FILE_NOT_FOUND;
	CloseHandle(section);
	return true;
}

static size_t view_bytes(const void *view)
{
	MEMORY_BASIC_INFORMATION about;

	return VirtualQuery(view, &about, sizeof about) ? about.RegionSize : 0;
}

/* ---- The section that leads to another --------------------------------- */

/* Opens it: the number there, or 0 with *e set. */
static uint64_t look_up(const char *name, HANDLE *named,
    const struct handoff__page **page, int *e)
{
	wchar_t object[HANDOFF__OBJECT_NAME];
	uint64_t number;

	*page = NULL;
	handoff__put_name(object, ".", name);
	*named = open_section(object, FILE_MAP_READ);
	if (*named)
		*page = MapViewOfFile(*named, FILE_MAP_READ, 0, 0,
		    sizeof **page);
	if (!*page) {
		*e = handoff__error();
		if (*named)
			CloseHandle(*named);
		*named = NULL;
		return 0;
	}
	number = atomic_load(&(*page)->number);
	if (number != 0 && (*page)->magic == MAGIC)
		return number;
	*e = number == 0 ? ENOENT : EPROTO;
	UnmapViewOfFile(*page);
	CloseHandle(*named);
	*page = NULL;
	*named = NULL;
	return 0;
}

/* Opens or makes it, to write to. */
static HANDLE named_section(const char *name, bool shared)
{
	wchar_t object[HANDOFF__OBJECT_NAME];
	HANDLE named = NULL;

	handoff__put_name(object, ".", name);
	/* Twice: it may come and go meanwhile. */
	for (int i = 0; i < 2 && !named; i++) {
		named = open_section(object, FILE_MAP_READ | FILE_MAP_WRITE);
		if (!named && GetLastError() == ERROR_FILE_NOT_FOUND)
			named = new_section(object,
			    sizeof(struct handoff__page), shared);
	}
	return named;
}

/* ---- Opening ----------------------------------------------------------- */

static struct handoff__map *new_map(const char *name)
{
	struct handoff__map *map = calloc(1, sizeof *map);

	if (map)
		memcpy(map->name, name, strlen(name) + 1);
	return map;
}

static int map_section(struct handoff__map *map)
{
	map->front = MapViewOfFile(map->section, FILE_MAP_READ | FILE_MAP_WRITE,
	    0, 0, 0);
	return map->front ? 0 : ENOMEM;
}

/* Whether a section is what it should be, and how large its segment is. */
static int measure(struct handoff__map *map, size_t least)
{
	size_t bytes = view_bytes(map->front);

	if (bytes < FRONT || map->front->magic != MAGIC)
		return EPROTO;
	map->bytes = map->front->bytes;
	return map->bytes < least || map->bytes > bytes - FRONT ? EPROTO : 0;
}

int handoff__map_open(struct handoff__map **made, const char *name,
    size_t least)
{
	struct handoff__map *map = new_map(name);
	int e = 0;

	if (!map)
		return ENOMEM;
	map->number = look_up(name, &map->named, &map->page, &e);
	if (map->number != 0) {
		map->section = open_data(map->number);
		e = map->section ? map_section(map) : handoff__error();
	}
	if (e == 0)
		e = measure(map, least);
	if (e != 0)
		handoff__map_close(map);
	else
		*made = map;
	return e;
}

/* ---- Making ------------------------------------------------------------ */

static void stop_making(struct handoff__map *map)
{
	if (map->maker) {
		ReleaseMutex(map->maker);
		CloseHandle(map->maker);
	}
	map->maker = NULL;
}

/* Waits for others who make it; without a mutex goes on without. */
static void begin_making(struct handoff__map *map, bool shared)
{
	wchar_t object[HANDOFF__OBJECT_NAME];
	struct handoff__access access;
	DWORD got;

	handoff__put_name(object, "!make.", map->name);
	map->maker = CreateMutexExW(handoff__access(&access, shared), object, 0,
	    SYNCHRONIZE | MUTEX_MODIFY_STATE);
	if (!map->maker)
		return;
	got = WaitForSingleObjectEx(map->maker, MAKE_MS, FALSE);
	if (got != WAIT_OBJECT_0 && got != WAIT_ABANDONED) {
		CloseHandle(map->maker);
		map->maker = NULL;
	}
}

static int new_data(struct handoff__map *map, uint64_t bytes, bool shared)
{
	wchar_t object[HANDOFF__OBJECT_NAME];
	int e;

	do {
		handoff__random(&map->number, sizeof map->number);
		data_name(object, map->number);
		map->section = map->number != 0 ?
		    new_section(object, FRONT + bytes, shared) :
		    NULL;
	} while (map->number == 0 ||
	    (!map->section && GetLastError() == ERROR_ALREADY_EXISTS));
	if (!map->section) {
		e = handoff__error();
		return e == ENOENT || e == EPROTO ? ENOMEM : e;
	}
	return map_section(map);
}

int handoff__map_create(struct handoff__map **made, const char *name,
    uint64_t bytes, unsigned mode)
{
	bool shared = (mode & 077u) != 0;
	struct handoff__map *map = new_map(name);
	int e;

	if (!map)
		return ENOMEM;
	begin_making(map, shared);
	e = handoff__map_exists(name) ? EEXIST : new_data(map, bytes, shared);
	if (e != 0) {
		handoff__map_close(map);
		return e;
	}
	map->bytes = bytes;
	map->front->magic = MAGIC;
	map->front->bytes = bytes;
	map->front->shared = shared;
	*made = map;
	return 0;
}

/* The step. */
static int lead(struct handoff__page *page, uint64_t to)
{
	uint64_t number = atomic_load(&page->number);

	if (page->magic != 0 && page->magic != MAGIC)
		return EEXIST;
	page->magic = MAGIC;
	do
		if (number != 0 && exists(number))
			return EEXIST;
	while (!atomic_compare_exchange_strong(&page->number, &number, to));
	return 0;
}

int handoff__map_publish(struct handoff__map *map, const char *name)
{
	struct handoff__page *page = NULL;
	HANDLE named = named_section(name, map->front->shared != 0);
	int e;

	if (named)
		page = MapViewOfFile(named, FILE_MAP_READ | FILE_MAP_WRITE, 0,
		    0, sizeof *page);
	e = page ? lead(page, map->number) : handoff__error();
	stop_making(map);
	if (e == 0) {
		map->named = named;
		map->page = page;
		return 0;
	}
	if (page)
		UnmapViewOfFile(page);
	if (named)
		CloseHandle(named);
	return e;
}

int handoff__map_exists(const char *name)
{
	const struct handoff__page *page;
	HANDLE named;
	int e;
	uint64_t number = look_up(name, &named, &page, &e);

	if (number == 0)
		return e != ENOENT;
	UnmapViewOfFile(page);
	CloseHandle(named);
	return exists(number);
}

/* ---- What is known of a map -------------------------------------------- */

int handoff__map_leads(const struct handoff__map *map, const char *name)
{
	return map->page && strcmp(map->name, name) == 0 &&
	    atomic_load(&map->page->number) == map->number;
}

int handoff__map_same(const struct handoff__map *a,
    const struct handoff__map *b)
{
	return a->number == b->number;
}

int handoff__map_ours(const struct handoff__map *map)
{
	return handoff__is_ours(map->section);
}

void *handoff__map_memory(const struct handoff__map *map)
{
	return (unsigned char *)map->front + FRONT;
}

uint64_t handoff__map_bytes(const struct handoff__map *map)
{
	return map->bytes;
}

void handoff__map_close(struct handoff__map *map)
{
	if (map->front)
		UnmapViewOfFile(map->front);
	if (map->section)
		CloseHandle(map->section);
	if (map->page)
		UnmapViewOfFile(map->page);
	if (map->named)
		CloseHandle(map->named);
	stop_making(map);
	free(map);
}

/* ---- What cannot be done ----------------------------------------------- */

int handoff__map_unlink(const char *name)
{
	(void)name;
	return ENOTSUP;
}

int handoff__map_list(int (*fn)(const char *name, void *ctx), void *ctx)
{
	(void)fn;
	(void)ctx;
	return ENOTSUP;
}

int handoff__map_peek(const char *name, void *buffer, size_t n, uint64_t *bytes)
{
	struct handoff__map *map;
	int e = handoff__map_open(&map, name, n);

	if (e != 0)
		return e;
	memcpy(buffer, handoff__map_memory(map), n);
	*bytes = map->bytes;
	handoff__map_close(map);
	return 0;
}
