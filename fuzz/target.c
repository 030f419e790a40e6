/* SPDX-License-Identifier: ISC */
/*
 * The fuzz target: an input is an object of some kind, in plain memory, at the
 * end of a segment, or in the file of a name, and what is done to it.  All of
 * that must end, in time and with a result that it may have.
 */
#define _GNU_SOURCE
#include "calls.h"
#include "input.h"
#include "segment.h"
#include "self.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define HEADER 4096u
#define ALONE_NS 5000u
#define BESIDE_NS 200000u
#define BOUND_NS 5000000000u /* for one call */
#define LIFE ((off_t)1 << 40)
#define MOST_FILE (1u << 24)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *directory; /* of names */
static handoff_segment *room;
static uint32_t my_token;

#define CHECK(condition) check(condition, #condition, __LINE__)
static void check(int holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "target.c:%d: not so: %s\n", line, what);
	abort();
}

/* ---- The room ----------------------------------------------------------- */

static int touchable(const void *at)
{
	int fd[2];
	int is;

	CHECK(pipe(fd) == 0);
	is = write(fd[1], at, 1) == 1;
	close(fd[0]);
	close(fd[1]);
	return is;
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/handoff.%s", directory, name);
	return path;
}

/* Somebody else who lives in the room. */
static void settle(void)
{
	struct flock lock = { .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = LIFE + WORD_OTHER,
		.l_len = 1 };
	int fd = open(path_of("room"), O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0);
}

/* A page with nothing behind it. */
static void make_room(void)
{
	const struct handoff_segment_options o = { sizeof o, PAGE, 0, NULL,
		NULL };

	for (;;) {
		CHECK(handoff_segment_open(&room, "room", HANDOFF_CREATE, 0600,
		          &o) == 0);
		if (!touchable((char *)handoff_segment_memory(room) + PAGE))
			break;
		CHECK(handoff_close(room) == 0);
		CHECK(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		          -1, 0) != MAP_FAILED);
	}
	settle();
}

static void clean_up(void)
{
	unlink(path_of("room"));
	unlink(path_of("file"));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	directory = getenv("HANDOFF_DIR");
	CHECK(directory != NULL);
	atexit(clean_up);
	make_room();
	my_token = handoff__self_pointer->token;
	return 0;
}

/* ---- Reading an input --------------------------------------------------- */

struct input {
	const uint8_t *at;
	size_t n;
};

static uint32_t byte(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->at++;
}

static struct input part_of(struct input *in, size_t n)
{
	struct input part = { in->at, n < in->n ? n : in->n };

	in->at += part.n;
	in->n -= part.n;
	return part;
}

static uint32_t word(struct input *in)
{
	uint32_t v = byte(in);

	v |= byte(in) << 8;
	v |= byte(in) << 16;
	return v | byte(in) << 24;
}

/* Copies what is left of the input, or as much as fits. */
static void fill(void *memory, size_t most, struct input *in, uint64_t segment)
{
	unsigned char *to = memory;
	size_t n = in->n < most ? in->n : most;

	memset(memory, 0, most);
	if (n > 0)
		memcpy(to, in->at, n);
	for (size_t i = 0; i + 8 <= most; i += 4) {
		uint32_t v;

		memcpy(&v, to + i, 4);
		if (v == WORD_ME)
			memcpy(to + i, &my_token, 4);
		else if (v == WORD_SEGMENT)
			memcpy(to + i, &segment, 8);
	}
}

/* ---- Steps -------------------------------------------------------------- */

struct run {
	const struct calls *kind;
	struct target target;
	volatile uint32_t *words; /* what a step may write to */
	unsigned n;
	unsigned but; /* calls that are not made */
	struct input steps;
};

static void write_word(const struct run *r, struct input *steps)
{
	unsigned at = byte(steps);
	uint32_t v;

	at = (at | byte(steps) << 8) % r->n;
	v = word(steps);

	r->words[at] = v == WORD_ME ? my_token : v;
}

static void make_call(const struct run *r, unsigned number)
{
	uint64_t began = handoff_now();
	int e = r->kind->calls[number].run(&r->target);

	CHECK(may_result(e));
	CHECK(handoff_now() - began < BOUND_NS);
}

static void *take_steps(void *run)
{
	struct run *r = run;

	while (r->steps.n > 0) {
		uint32_t step = byte(&r->steps);

		if (step >= STEP_WRITE)
			write_word(r, &r->steps);
		else
			make_call(r, step % (r->kind->n - r->but));
	}
	return NULL;
}

static handoff_mutex beside; /* for conditions */

static void take_all_steps(struct run *r, int threads)
{
	struct run other = *r;
	pthread_t thread;

	memset(&beside, 0, sizeof beside);
	CHECK(handoff_mutex_init(&beside, NULL) == 0);
	r->target.mutex = other.target.mutex = &beside;
	r->target.wait_ns = other.target.wait_ns = threads ? BESIDE_NS :
	                                                     ALONE_NS;
	if (!threads) {
		take_steps(r);
		return;
	}
	/* To destroy waits for the other thread, for seconds. */
	r->but = other.but = 1;
	other.steps = part_of(&r->steps, r->steps.n / 2);
	CHECK(pthread_create(&thread, NULL, take_steps, &other) == 0);
	take_steps(r);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* Drops what this thread holds, as if it had ended. */
static void forget(void *memory, size_t bytes)
{
	handoff__self_forget(memory, bytes);
	handoff__self_forget(&beside, sizeof beside);
}

/* ---- Places ------------------------------------------------------------- */

static void run_in(void *memory, struct run *r, struct input *in,
    uint64_t segment, int threads)
{
	r->target.object = memory;
	r->words = memory;
	r->n = (unsigned)r->kind->bytes / 4;
	fill(memory, r->kind->bytes, in, segment);
	take_all_steps(r, threads);
	forget(memory, r->kind->bytes);
}

static void run_in_plain_memory(struct run *r, struct input *in, int threads)
{
	void *memory = aligned_alloc(64, r->kind->bytes);

	CHECK(memory != NULL);
	run_in(memory, r, in, 0, threads);
	free(memory);
}

static void run_in_room(struct run *r, struct input *in, int threads)
{
	unsigned char *memory = handoff_segment_memory(room);
	struct handoff__segment_header *header = (void *)room;

	run_in(memory + PAGE - r->kind->bytes, r, in, header->id, threads);
}

/* The file "file", its header's fields and peers first. */
static void write_file(struct input *in)
{
	static unsigned char bytes[HEADER + PAGE];
	uint32_t size = word(in) % MOST_FILE;
	uint32_t peers = byte(in) % 121;
	struct input part = part_of(in, INPUT_FIELDS);
	size_t n = size < sizeof bytes ? size : sizeof bytes;
	int fd;

	fill(bytes, INPUT_PEERS, &part, 0);
	part = part_of(in, (size_t)peers * INPUT_PEER);
	fill(bytes + INPUT_PEERS, HEADER - INPUT_PEERS, &part, 0);
	fill(bytes + HEADER, PAGE, in, 0);
	fd = open(path_of("file"), O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0);
	CHECK(pwrite(fd, bytes, n, 0) == (ssize_t)n);
	CHECK(ftruncate(fd, (off_t)size) == 0);
	close(fd);
}

static int see(const char *name, uint32_t kind, uint64_t bytes, void *ctx)
{
	(void)kind;
	(void)bytes;
	(void)ctx;
	return name[0] == '\0';
}

static int see_peer(const struct handoff_peer *peer, void *ctx)
{
	(void)ctx;
	return strlen(peer->name) > 15;
}

static void ask_about(void *object)
{
	struct handoff_info info = { .size = sizeof info };

	CHECK(handoff_info(object, &info) == 0);
	CHECK(info.opens == 1 && info.users == 1);
	CHECK(handoff_peers(object, see_peer, NULL) == 0);
}

/* By the size of what is open, not of what the header says later. */
static void run_open(struct run *r, handoff_segment *s, int threads)
{
	size_t bytes = handoff_segment_bytes(s);

	ask_about(s);
	r->target.object = handoff_segment_memory(s);
	r->words = (void *)s;
	r->n = HEADER / 4 + (unsigned)r->kind->bytes / 4;
	if (bytes >= r->kind->bytes)
		take_all_steps(r, threads);
	ask_about(s);
	forget(s, HEADER + bytes);
	CHECK(handoff_close(s) == 0);
}

static void run_on_file(struct run *r, struct input *in, int threads)
{
	const struct handoff_segment_options o = { .size = sizeof o };
	struct run again = *r;
	handoff_segment *s;
	void *object;
	int e;

	write_file(in);
	CHECK(handoff_list(see, NULL) == 0);
	e = r->kind->open(&object, "file", HANDOFF_CREATE);
	CHECK(e == EPROTO ? object == NULL : e == 0);
	if (e == 0)
		run_open(r, (void *)((char *)object - HEADER), threads);
	e = handoff_segment_open(&s, "file", 0, 0, &o);
	CHECK(e == EPROTO ? s == NULL : e == 0);
	if (e == 0)
		run_open(&again, s, threads);
	CHECK(handoff_unlink("file") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct input in = { data, n };
	uint32_t place = byte(&in);
	int threads = (place & PLACE_THREADS) != 0;
	struct run r = { .kind = &calls[CALLS_FIRST + byte(&in) % CALLS_LAST] };

	r.steps = part_of(&in, byte(&in));
	switch ((place & ~PLACE_THREADS) % PLACES) {
	case PLACE_PLAIN:
		run_in_plain_memory(&r, &in, threads);
		break;
	case PLACE_SEGMENT:
		run_in_room(&r, &in, threads);
		break;
	default:
		run_on_file(&r, &in, threads);
		break;
	}
	return 0;
}
