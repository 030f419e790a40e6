/* SPDX-License-Identifier: ISC */
/*
 * Named memory: files in one directory, that of POSIX shared memory or
 * $HANDOFF_DIR.
 *
 * A file is made without a name where the system can do that (O_TMPFILE, and
 * /proc to name it by), else under a temporary name that begins with a dot;
 * only the latter can be left behind by a process that is killed.
 */
#define _GNU_SOURCE
#include <config.h>

#include "map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#define DIRECTORY "/dev/shm"
#else
#define DIRECTORY "/tmp"
#endif
#define PREFIX "handoff."

#define OPEN_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)

/* ---- Places ------------------------------------------------------------ */

/* Not allocated: without memory the place must still be the same. */
static pthread_once_t directory_once = PTHREAD_ONCE_INIT;
static char the_directory[PATH_MAX] = DIRECTORY;
static int too_long;

static void find_directory(void)
{
	const char *set = handoff__setting("HANDOFF_DIR");
	char here[PATH_MAX] = "";
	int n;

	if (!set || !*set)
		return;
	/* Absolute, so that it stays the same place after a chdir. */
	if (*set != '/' && !getcwd(here, sizeof here))
		*here = '\0';
	n = snprintf(the_directory, sizeof the_directory, "%s%s%s", here,
	    *here ? "/" : "", set);
	too_long = n < 0 || (size_t)n >= sizeof the_directory;
}

static const char *directory(void)
{
	pthread_once(&directory_once, find_directory);
	return the_directory;
}

/* The path of a name, to be freed: NULL with errno set. */
static char *path_of(const char *prefix, const char *name)
{
	const char *dir = directory();
	char *path;

	if (too_long ||
	    strlen(dir) + strlen(prefix) + strlen(name) + 2 > PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	if (asprintf(&path, "%s/%s%s", dir, prefix, name) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	return path;
}

/* The errors of opening, in the library's words. */
static int opening_error(int e)
{
	switch (e) {
	case ELOOP: /* a link */
	case EISDIR:
	case ENXIO:
	case ENODEV:
	case EFBIG:
	case EOVERFLOW:
		return EPROTO;
	case ENOTDIR:
		return ENOENT;
	case EPERM:
	case EROFS:
	case ETXTBSY:
		return EACCES;
	case EDQUOT:
		return ENOSPC;
	default:
		return e;
	}
}

/* The same file by a descriptor that is none of the first three, to which
 * programs write whatever they are; -1 with errno set. */
static int beyond_standard(int fd)
{
	int higher;
	int e;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	e = errno;
	close(fd);
	errno = e;
	return higher;
}

/* Opens a plain file: the descriptor, or -1 with errno set. */
static int open_plain(const char *path, int how, struct stat *st)
{
	int fd = beyond_standard(open(path, how | OPEN_FLAGS));

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0) {
		if (S_ISREG(st->st_mode))
			return fd;
		errno = EPROTO;
	}
	how = errno;
	close(fd);
	errno = how;
	return -1;
}

/* ---- The descriptor ---------------------------------------------------- */

int handoff__fd(const struct handoff__map *map)
{
	struct stat st;

	if (map->fd >= 0 && fstat(map->fd, &st) == 0 &&
	    st.st_dev == map->device && st.st_ino == map->inode)
		return map->fd;
	return -1;
}

int handoff__reopen(const struct handoff__map *map)
{
	struct stat st;
	char proc[40];
	int fd;

	if (handoff__fd(map) >= 0) {
		snprintf(proc, sizeof proc, "/proc/self/fd/%d", map->fd);
		fd = beyond_standard(
		    open(proc, O_RDWR | O_CLOEXEC | O_NONBLOCK));
		if (fd >= 0 || errno == EMFILE || errno == ENFILE)
			return fd;
	}
	if (!map->path) {
		errno = ENOENT;
		return -1;
	}
	fd = open_plain(map->path, O_RDWR, &st);
	if (fd >= 0 && (st.st_dev != map->device || st.st_ino != map->inode)) {
		close(fd);
		errno = ENOENT;
		fd = -1;
	}
	return fd;
}

/* ---- Mapping ----------------------------------------------------------- */

static void drop(struct handoff__map *map)
{
	int fd = handoff__fd(map);

	if (map->memory)
		munmap(map->memory, (size_t)map->bytes);
	if (fd >= 0)
		close(fd);
	if (map->temporary)
		unlink(map->path);
	free(map->path);
	free(map);
}

/* A map of an open file; takes the descriptor and the path over, and removes
 * a temporary file if that fails. */
static int map_fd(struct handoff__map **made, int fd, char *path,
    const struct stat *st, int temporary)
{
	struct handoff__map *map = calloc(1, sizeof *map);
	void *memory;

	if (!map) {
		close(fd);
		if (temporary)
			unlink(path);
		free(path);
		return ENOMEM;
	}
	map->fd = fd;
	map->temporary = temporary;
	map->asker = -1;
	map->path = path;
	map->device = st->st_dev;
	map->inode = st->st_ino;
	map->owner = st->st_uid;
	map->bytes = (uint64_t)st->st_size;
	memory = mmap(NULL, (size_t)map->bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int e = errno;

		drop(map);
		return e == EAGAIN ? ENOMEM : e;
	}
	map->memory = memory;
	*made = map;
	return 0;
}

static int open_map(struct handoff__map **map, const char *name, size_t least)
{
	char *path = path_of(PREFIX, name);
	struct stat st;
	int e;
	int fd;

	if (!path)
		return errno;
	fd = open_plain(path, O_RDWR, &st);
	if (fd < 0) {
		e = opening_error(errno);
		/* As a device where there are to be none. */
		if (e == EACCES && lstat(path, &st) == 0 &&
		    !S_ISREG(st.st_mode))
			e = EPROTO;
		free(path);
		return e;
	}
	if (st.st_size < 0 || (uint64_t)st.st_size < least ||
	    (uint64_t)st.st_size > PTRDIFF_MAX) {
		close(fd);
		free(path);
		return EPROTO;
	}
	return map_fd(map, fd, path, &st, 0);
}

int handoff__map_open(struct handoff__map **map, const char *name, size_t least)
{
	int before = errno;
	int e = open_map(map, name, least);

	errno = before;
	return e;
}

/* A new file without a name, or with a temporary one: the descriptor, and
 * its path if it has one; -1 with errno set. */
static int open_nameless(char **path)
{
	char random[33];
	uint64_t bits[2];
	int higher;
	int fd;

	*path = NULL;
#ifdef O_TMPFILE
	if (access("/proc/self/fd", X_OK) == 0) {
		fd = beyond_standard(
		    open(directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));

		if (fd >= 0 ||
		    (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
			return fd;
	}
#endif
	handoff__random(bits, sizeof bits);
	snprintf(random, sizeof random, "%016llx%016llx",
	    (unsigned long long)bits[0], (unsigned long long)bits[1]);
	*path = path_of(".handoff.", random);
	if (!*path)
		return -1;
	fd = open(*path, O_RDWR | O_CREAT | O_EXCL | OPEN_FLAGS, 0600);
	higher = beyond_standard(fd);
	if (fd >= 0 && higher < 0) {
		fd = errno;
		unlink(*path);
		errno = fd;
	}
	return higher;
}

/* A limit on the size of files is told by a signal too, which would end the
 * program; it comes to this thread, and goes no further. */
static int allocate(int fd, uint64_t bytes)
{
	sigset_t limit;
	sigset_t pending;
	sigset_t before;
	int had;
	int e;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigpending(&pending);
	had = sigismember(&pending, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	do
		e = posix_fallocate(fd, 0, (off_t)bytes);
	while (e == EINTR);
	sigpending(&pending);
	if (!had && sigismember(&pending, SIGXFSZ)) {
		int ignored;

		sigwait(&limit, &ignored);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e;
}

static int reserve(int fd, uint64_t bytes)
{
	int e;

	if (bytes > PTRDIFF_MAX)
		return ENOSPC;
	e = allocate(fd, bytes);
	return e == EFBIG ? ENOSPC : e;
}

static int create_map(struct handoff__map **map, uint64_t bytes, unsigned mode)
{
	char *path;
	int fd = open_nameless(&path);
	struct stat st = { 0 };
	int e;

	if (fd < 0) {
		e = opening_error(errno);
		free(path);
		return e;
	}
	e = reserve(fd, bytes);
	if (e == 0 && (fchmod(fd, (mode_t)mode) != 0 || fstat(fd, &st) != 0))
		e = opening_error(errno);
	if (e != 0) {
		close(fd);
		if (path)
			unlink(path);
		free(path);
		return e;
	}
	return map_fd(map, fd, path, &st, path != NULL);
}

int handoff__map_create(struct handoff__map **map, const char *name,
    uint64_t bytes, unsigned mode)
{
	int before = errno;
	int e = create_map(map, bytes, mode);

	(void)name;
	errno = before;
	return e;
}

/* ---- Names ------------------------------------------------------------- */

static int publish(struct handoff__map *map, char *path)
{
	char proc[40];

	if (map->temporary) {
		if (link(map->path, path) != 0)
			return opening_error(errno);
		unlink(map->path);
		free(map->path);
		map->temporary = 0;
	} else {
		snprintf(proc, sizeof proc, "/proc/self/fd/%d", map->fd);
		if (linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW) !=
		    0)
			return opening_error(errno);
	}
	map->path = path;
	return 0;
}

int handoff__map_publish(struct handoff__map *map, const char *name)
{
	int before = errno;
	char *path = path_of(PREFIX, name);
	int e = path ? publish(map, path) : errno;

	if (e != 0)
		free(path);
	errno = before;
	return e;
}

int handoff__map_exists(const char *name)
{
	int before = errno;
	char *path = path_of(PREFIX, name);
	struct stat st;
	int exists = path && lstat(path, &st) == 0;

	free(path);
	errno = before;
	return exists;
}

int handoff__map_leads(const struct handoff__map *map, const char *name)
{
	int before = errno;
	char *path = path_of(PREFIX, name);
	struct stat st;
	int leads = path && lstat(path, &st) == 0 && st.st_dev == map->device &&
	    st.st_ino == map->inode;

	free(path);
	errno = before;
	return leads;
}

int handoff__map_same(const struct handoff__map *a,
    const struct handoff__map *b)
{
	return a->device == b->device && a->inode == b->inode;
}

int handoff__map_ours(const struct handoff__map *map)
{
	return map->owner == 0 || map->owner == geteuid();
}

void *handoff__map_memory(const struct handoff__map *map)
{
	return map->memory;
}

uint64_t handoff__map_bytes(const struct handoff__map *map)
{
	return map->bytes;
}

void handoff__map_close(struct handoff__map *map)
{
	int before = errno;

	drop(map);
	errno = before;
}

int handoff__map_unlink(const char *name)
{
	int before = errno;
	char *path = path_of(PREFIX, name);
	struct stat st;
	int e = 0;

	if (!path || lstat(path, &st) != 0)
		e = opening_error(errno);
	else if (!S_ISREG(st.st_mode))
		e = EPROTO;
	else if (unlink(path) != 0)
		e = opening_error(errno);
	free(path);
	errno = before;
	return e;
}

/* ---- Listing ----------------------------------------------------------- */

int handoff__map_list(int (*fn)(const char *name, void *ctx), void *ctx)
{
	int before = errno;
	const char *path = directory();
	DIR *dir = too_long ? NULL : opendir(path);
	const struct dirent *entry;
	int e = dir ? 0 : opening_error(too_long ? ENAMETOOLONG : errno);

	while (dir && e == 0) {
		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			e = errno;
			break;
		}
		if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0)
			e = fn(entry->d_name + sizeof PREFIX - 1, ctx);
	}
	if (dir)
		closedir(dir);
	errno = before;
	return e;
}

int handoff__map_peek(const char *name, void *buffer, size_t n, uint64_t *bytes)
{
	int before = errno;
	char *path = path_of(PREFIX, name);
	struct stat st;
	int fd = path ? open_plain(path, O_RDONLY, &st) : -1;
	int e = fd < 0 ? opening_error(errno) : 0;

	if (fd >= 0) {
		if (pread(fd, buffer, n, 0) != (ssize_t)n)
			e = EPROTO;
		*bytes = (uint64_t)st.st_size;
		close(fd);
	}
	free(path);
	errno = before;
	return e;
}
