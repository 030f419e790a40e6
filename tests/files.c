/* SPDX-License-Identifier: ISC */
/* Files at names. */
#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int open_as(const char *name, unsigned flags, unsigned mode, size_t bytes,
    uint32_t kind)
{
	const struct handoff_segment_options o = { sizeof o, bytes, kind, NULL,
		NULL };
	handoff_segment *s;
	int e = handoff_segment_open(&s, name, flags, mode, &o);

	/* Whatever the answer, nothing stays open. */
	return e != 0 ? e : handoff_close(s);
}

const char *path_of(const char *name)
{
	static _Thread_local char paths[4][300];
	static _Thread_local unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/handoff.%s", run_directory(), name);
	return path;
}

void look(struct picture *p)
{
	int fd;

	memset(p, 0, sizeof *p);
	assert_int_equal(lstat(path_of("s"), &p->st), 0);
	if (!S_ISREG(p->st.st_mode))
		return;
	fd = open(path_of("s"), O_RDONLY);
	assert_true(fd >= 0);
	p->n = read(fd, p->bytes, sizeof p->bytes);
	close(fd);
}

void assert_same(const struct picture *before)
{
	struct picture after;

	look(&after);
	assert_true(before->st.st_ino == after.st.st_ino);
	assert_true(before->st.st_mode == after.st.st_mode);
	assert_true(before->st.st_uid == after.st.st_uid);
	assert_true(before->st.st_size == after.st.st_size);
	assert_true(before->st.st_mtim.tv_sec == after.st.st_mtim.tv_sec);
	assert_true(before->st.st_mtim.tv_nsec == after.st.st_mtim.tv_nsec);
	assert_true(before->n == after.n);
	assert_memory_equal(before->bytes, after.bytes, sizeof after.bytes);
}
