/* SPDX-License-Identifier: ISC */
/*
 * The names of a run, for Windows: they are in no directory of files, but in
 * the directory of the session's objects, which NTDLL lists.
 */
#include "processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <windows.h>
#include <winternl.h>

#define TO_QUERY 1

struct entry {
	UNICODE_STRING name;
	UNICODE_STRING type;
};

typedef NTSTATUS NTAPI open_directory(HANDLE *, ACCESS_MASK,
    OBJECT_ATTRIBUTES *);
typedef NTSTATUS NTAPI query_directory(HANDLE, void *, ULONG, BOOLEAN, BOOLEAN,
    ULONG *, ULONG *);

static void (*native(const char *name))(void)
{
	return (void (*)(void))GetProcAddress(GetModuleHandleA("ntdll"), name);
}

static HANDLE open_names(void)
{
	open_directory *open = (open_directory *)native(
	    "NtOpenDirectoryObject");
	wchar_t path[64] = L"\\BaseNamedObjects";
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES attributes;
	HANDLE directory;
	DWORD session = 0;

	ProcessIdToSessionId(GetCurrentProcessId(), &session);
	if (session != 0)
		swprintf(path, 64, L"\\Sessions\\%lu\\BaseNamedObjects",
		    session);
	name.Buffer = path;
	name.Length = (USHORT)(wcslen(path) * sizeof *path);
	name.MaximumLength = sizeof path;
	InitializeObjectAttributes(&attributes, &name, 0, NULL, NULL);
	if (!open || open(&directory, TO_QUERY, &attributes) < 0)
		return NULL;
	return directory;
}

/* What the run's names begin with: win32/names.h. */
static void put_prefix(wchar_t *to, size_t most)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *c = getenv("HANDOFF_DIR"); c && *c; c++)
		h = (h ^ (unsigned char)*c) * 0x100000001b3u;
	swprintf(to, most, L"handoff.%016llx!", (unsigned long long)(h | 1));
}

unsigned count_names(void)
{
	query_directory *query = (query_directory *)native(
	    "NtQueryDirectoryObject");
	HANDLE directory = open_names();
	_Alignas(8) char buffer[1024];
	const struct entry *entry = (const void *)buffer;
	wchar_t prefix[32];
	ULONG at = 0;
	unsigned n = 0;

	put_prefix(prefix, 32);
	while (directory && query &&
	    query(directory, buffer, sizeof buffer, TRUE, FALSE, &at, NULL) ==
	        0)
		n += wcsncmp(entry->name.Buffer, prefix, wcslen(prefix)) == 0;
	if (directory)
		CloseHandle(directory);
	return n;
}

/* It has gone with the last one who had it open. */
int unlink_name(const char *name)
{
	const struct handoff_segment_options any = { .size = sizeof any };
	handoff_segment *s;
	int e = handoff_segment_open(&s, name, 0, 0600, &any);

	if (e == 0)
		handoff_close(s);
	return e == ENOENT ? 0 : e == 0 ? EBUSY : e;
}
