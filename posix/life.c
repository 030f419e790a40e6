/* SPDX-License-Identifier: ISC */
/*
 * Life: a write lock on one byte of the segment's file, far past its end, at
 * the place that the process's token names.  The kernel gives it up however
 * the process ends.
 *
 * The lock belongs to an open file description, and what keeps that open is a
 * mapping, not a descriptor: one page that nobody may touch, and that children
 * do not inherit.  So no child keeps its parent alive, and a program that
 * closes all its descriptors does not look dead.
 *
 * Who asks has a read lock on the byte for a moment, which others who ask may
 * have at the same time, so that one that is stopped then stands in nobody's
 * way.  It is taken through yet another description, so that no child that
 * inherited a descriptor shares the lock; only when the process is out of
 * descriptors through the one that the map keeps.
 */
#define _GNU_SOURCE
#include <config.h>

#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(F_OFD_SETLK) && defined(MADV_DONTFORK)

/* Where the bytes of the tokens begin. */
#define BASE ((off_t)1 << 40)
#define TOKENS ((off_t)1 << 30)

static int set_lock(int fd, uint32_t token, short type)
{
	struct flock lock = { .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = BASE + (off_t)token,
		.l_len = 1 };
	int e;

	do
		e = fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
	while (e == EINTR);
	if (e == EAGAIN || e == EACCES)
		return EBUSY;
	return e == EINVAL || e == EOPNOTSUPP || e == ENOLCK ? ENOTSUP : e;
}

static int join(struct handoff__map *map, uint32_t token)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = handoff__reopen(map);
	void *life;
	int e;

	if (fd < 0)
		return errno;
	e = set_lock(fd, token, F_WRLCK);
	if (e == 0) {
		life = mmap(NULL, page, PROT_NONE, MAP_SHARED, fd, 0);
		if (life == MAP_FAILED) {
			e = ENOMEM;
		} else if (madvise(life, page, MADV_DONTFORK) != 0) {
			e = ENOTSUP;
			munmap(life, page);
		} else {
			map->life = life;
		}
	}
	close(fd);
	return e;
}

int handoff__life_join(struct handoff__map *map, uint64_t id, uint32_t token)
{
	int before = errno;
	int e = join(map, token);

	(void)id;
	errno = before;
	return e;
}

void handoff__life_leave(struct handoff__map *map)
{
	int before = errno;

	if (map->life)
		munmap(map->life, (size_t)sysconf(_SC_PAGESIZE));
	map->life = NULL;
	errno = before;
}

/* Lets the asking descriptor go; the byte first, since a child may have a
 * copy of the descriptor. */
static void stop_asking(struct handoff__map *map, uint32_t token)
{
	set_lock(map->asker, token, F_UNLCK);
	if (map->asker != map->fd)
		close(map->asker);
	map->asker = -1;
}

/* Whether somebody else is seen to live there: cheap, and the usual case.
 * The descriptor may be shared with a parent or child, since it takes nothing
 * here. */
static int seen_locked(const struct handoff__map *map, uint32_t token)
{
	struct flock lock = { .l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = BASE + (off_t)token,
		.l_len = 1 };
	int fd = handoff__fd(map);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 &&
	    lock.l_type != F_UNLCK;
}

int handoff__life_take(struct handoff__map *map, uint32_t token)
{
	int before = errno;
	int e = 0;

	if (seen_locked(map, token))
		return EBUSY;
	map->asker = handoff__reopen(map);
	if (map->asker < 0)
		map->asker = handoff__fd(map);
	if (map->asker < 0) {
		e = EBADF;
	} else {
		e = set_lock(map->asker, token, F_RDLCK);
		if (e != 0)
			stop_asking(map, token);
	}
	errno = before;
	return e;
}

void handoff__life_give(struct handoff__map *map, uint32_t token)
{
	int before = errno;

	stop_asking(map, token);
	errno = before;
}

/* The lowest byte in [from, end) where somebody lives, or end. */
static off_t first_locked(int fd, off_t from, off_t end)
{
	off_t found = end;

	while (from < found) {
		struct flock lock = { .l_type = F_RDLCK,
			.l_whence = SEEK_SET,
			.l_start = from,
			.l_len = found - from };

		if (fcntl(fd, F_OFD_GETLK, &lock) != 0 ||
		    lock.l_type == F_UNLCK || lock.l_start >= found)
			break;
		found = lock.l_start < from ? from : lock.l_start;
	}
	return found;
}

unsigned handoff__life_count(struct handoff__map *map)
{
	int before = errno;
	int kept = handoff__fd(map);
	int fd = kept >= 0 ? kept : handoff__reopen(map);
	unsigned n = 0;

	if (fd >= 0) {
		const off_t end = BASE + TOKENS;
		off_t at = first_locked(fd, BASE, end);

		for (; at < end; at = first_locked(fd, at + 1, end))
			n++;
		if (fd != kept)
			close(fd);
	}
	errno = before;
	return n;
}

#else

int handoff__life_join(struct handoff__map *map, uint64_t id, uint32_t token)
{
	(void)map;
	(void)id;
	(void)token;
	return ENOTSUP;
}

void handoff__life_leave(struct handoff__map *map)
{
	(void)map;
}

int handoff__life_take(struct handoff__map *map, uint32_t token)
{
	(void)map;
	(void)token;
	return ENOTSUP;
}

void handoff__life_give(struct handoff__map *map, uint32_t token)
{
	(void)map;
	(void)token;
}

unsigned handoff__life_count(struct handoff__map *map)
{
	(void)map;
	return 0;
}

#endif
