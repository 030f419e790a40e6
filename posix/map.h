/* SPDX-License-Identifier: ISC */
/* A mapped file, as map.c and life.c know it. */
#ifndef HANDOFF_MAP_H
#define HANDOFF_MAP_H

#include "port.h"

#include <sys/types.h>

struct handoff__map {
	void *memory;
	uint64_t bytes;
	dev_t device;
	ino_t inode;
	uid_t owner;
	int fd;     /* for asking and for opening once more; see handoff__fd */
	int asker;  /* holds the byte that handoff__life_take took; -1 */
	void *life; /* the page whose mapping keeps our byte locked; NULL */
	char *path; /* where the file has or had its name; NULL: nowhere */
	int temporary; /* that name is for making it only */
};

/* The map's descriptor if it still is one: a program may have closed all its
 * descriptors and got the number again for another file.  Else -1. */
int handoff__fd(const struct handoff__map *map);

/* Opens the file once more, as an open file description of its own: the
 * descriptor, or -1 with errno set. */
int handoff__reopen(const struct handoff__map *map);

#endif
