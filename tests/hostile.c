/* SPDX-License-Identifier: ISC */
/*
 * handoff(7): what others write into an object or a header, before it is opened
 * or while it is used, ends no program: each call that tries or has a deadline
 * returns, with a result that it may have, and nothing outside of the mapping
 * is touched.
 *
 * Objects stand at the end of their memory, before a page that nobody may
 * touch.  A part is the victim, since it may crash; it says what it was doing.
 */
#define _GNU_SOURCE
#include "calls.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define HEADER 4096u
#define WAIT_NS 10000u
#define BOUND 5.0 /* s, for one call */
#define STORM 0.4 /* s, for each kind */

/* ---- What is being done ------------------------------------------------ */

static struct {
	const char *where;
	const char *kind;
	const char *call;
	unsigned at;
	uint32_t value;
} now;

static void tell_and_end(int signal)
{
	char line[200];
	int n = snprintf(line, sizeof line,
	    "signal %d: %s, %s: %s, with %08x at %u\n", signal, now.where,
	    now.kind, now.call, now.value, now.at);

	if (write(2, line, (size_t)n) != n)
		_exit(2);
	_exit(1);
}

static void watch(void)
{
	signal(SIGALRM, tell_and_end);
	signal(SIGBUS, tell_and_end);
	signal(SIGSEGV, tell_and_end);
}

static void expect_result(int e, double began)
{
	double took = seconds_now() - began;

	if (may_result(e) && took < BOUND)
		return;
	fprintf(stderr, "%s, %s: %s, with %08x at %u: %s after %.1f s\n",
	    now.where, now.kind, now.call, now.value, now.at,
	    handoff_strerror(e), took);
	_exit(1);
}

/* All calls, the last `but` apart. */
static void call_all(const struct calls *kind, const struct target *t,
    unsigned but)
{
	for (unsigned i = 0; i + but < kind->n; i++) {
		double began = seconds_now();

		now.call = kind->calls[i].name;
		expect_result(kind->calls[i].run(t), began);
	}
	now.call = "give back";
	give_back(kind, t);
}

/* ---- Places ------------------------------------------------------------ */

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

/* Memory of one page, with nothing behind it. */
static unsigned char *plain_page(void)
{
	unsigned char *memory = mmap(NULL, 2 * (size_t)PAGE,
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK(mprotect(memory + PAGE, PAGE, PROT_NONE) == 0);
	return memory;
}

/* The same in a segment: what could be behind it is filled first. */
static unsigned char *segment_page(const char *name)
{
	const struct handoff_segment_options o = { sizeof o, PAGE, 0, NULL,
		NULL };
	handoff_segment *s;

	for (int i = 0; i < 200; i++) {
		unsigned char *memory;

		OK(handoff_segment_open(&s, name, HANDOFF_CREATE, 0600, &o));
		memory = handoff_segment_memory(s);
		if (!touchable(memory + PAGE))
			return memory;
		OK(handoff_close(s));
		CHECK(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		          -1, 0) != MAP_FAILED);
	}
	fprintf(stderr, "no segment has nothing behind it\n");
	_exit(99);
}

/* The bytes of the file of a name. */
static unsigned char *map_file(const char *name, size_t bytes)
{
	char path[300];
	void *memory;
	int fd;

	snprintf(path, sizeof path, "%s/handoff.%s", run_directory(), name);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	close(fd);
	return memory;
}

/* ---- Hostile values ---------------------------------------------------- */

#define VALUES (32u + 5u)

static uint32_t random_bits(void)
{
	static _Thread_local uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

/* The i-th, for a word that is `good`. */
static uint32_t hostile(uint32_t good, unsigned i)
{
	if (i < 32)
		return good ^ (uint32_t)1 << i;
	switch (i) {
	case 32:
		return 0;
	case 33:
		return 1;
	case 34:
		return UINT32_MAX;
	default:
		return random_bits();
	}
}

/* What a table does with each bad image of `words` words, which it gets in
 * place of the good one. */
struct table {
	volatile uint32_t *words; /* where they are */
	unsigned n;
	uint32_t good[HEADER / 4];
	void (*try)(struct table *t);
	const struct calls *kind;
	struct target target;
	const char *name;
};

static void put(struct table *t, const uint32_t *image)
{
	for (unsigned i = 0; i < t->n; i++)
		t->words[i] = image[i];
}

static void try_image(struct table *t, const uint32_t *image)
{
	put(t, image);
	alarm(20);
	t->try(t);
	put(t, t->good);
}

/* Each word has each hostile value, and its neighbour the same at times; then
 * some images in which all but the first words is random. */
static void try_all(struct table *t, unsigned first)
{
	uint32_t image[HEADER / 4];

	for (unsigned i = 0; i < t->n; i++)
		t->good[i] = t->words[i];
	for (unsigned at = 0; at < t->n; at++)
		for (unsigned k = 0; k < VALUES + 3; k++) {
			unsigned v = k < VALUES ? k : k - 3;

			memcpy(image, t->good, sizeof image);
			image[at] = hostile(image[at], v);
			if (k >= VALUES)
				image[at ^ 1] = hostile(image[at ^ 1], v);
			now.at = 4 * at;
			now.value = image[at];
			try_image(t, image);
		}
	for (unsigned n = 0; n < 300; n++) {
		memcpy(image, t->good, sizeof image);
		for (unsigned at = first; at < t->n; at++)
			if (n % 3 == 0 || random_bits() % 4 == 0)
				image[at] = hostile(image[at],
				    random_bits() % VALUES);
		now.at = UINT32_MAX;
		now.value = n;
		try_image(t, image);
	}
}

/* ---- Objects ----------------------------------------------------------- */

static void call_in_place(struct table *t)
{
	call_all(t->kind, &t->target, 0);
}

static void open_and_call(struct table *t)
{
	void *object;
	int e;

	now.call = "open";
	e = t->kind->open(&object, t->name, 0);
	CHECK(e == 0 || (e == EPROTO && object == NULL));
	if (e == EPROTO)
		return;
	t->target.object = object;
	call_all(t->kind, &t->target, 0);
	now.call = "close";
	OK(handoff_close(object));
}

static handoff_mutex beside; /* for conditions */

/* An object of that kind at the end of a page. */
static void table_of(struct table *t, unsigned kind, unsigned char *page)
{
	*t = (struct table){ .try = call_in_place, .kind = &calls[kind] };
	t->n = (unsigned)t->kind->bytes / 4;
	t->target = (struct target){ page + PAGE - t->kind->bytes, &beside,
		WAIT_NS };
	t->words = t->target.object;
	now.kind = t->kind->name;
	memset(t->target.object, 0, t->kind->bytes);
	OK(t->kind->init(t->target.object));
}

static int in_plain_memory(const char *unused)
{
	unsigned char *page = plain_page();
	struct table t;

	(void)unused;
	watch();
	now.where = "plain memory";
	OK(handoff_mutex_init(&beside, NULL));
	for (unsigned kind = CALLS_FIRST; kind <= CALLS_LAST; kind++) {
		table_of(&t, kind, page);
		try_all(&t, 1);
	}
	say("done");
	return 0;
}

static int in_a_segment(const char *unused)
{
	unsigned descriptors;
	unsigned char *page;
	struct table t;

	(void)unused;
	watch();
	now.where = "segment";
	OK(handoff_mutex_init(&beside, NULL));
	page = segment_page("hostile");
	descriptors = count_descriptors();
	for (unsigned kind = CALLS_FIRST; kind <= CALLS_LAST; kind++) {
		table_of(&t, kind, page);
		try_all(&t, 1);
		try_all(&t, 6); /* in this segment, as they say */
	}
	CHECK(count_descriptors() == descriptors);
	OK(handoff_close(page));
	OK(handoff_unlink("hostile"));
	say("done");
	return 0;
}

static int opened_anew(const char *unused)
{
	struct table t;

	(void)unused;
	watch();
	now.where = "opened anew";
	OK(handoff_mutex_init(&beside, NULL));
	for (unsigned kind = CALLS_FIRST; kind <= CALLS_LAST; kind++) {
		void *object;
		unsigned char *file;

		t = (struct table){ .try = open_and_call,
			.kind = &calls[kind],
			.target = { NULL, &beside, WAIT_NS },
			.name = "hostile" };
		t.n = (unsigned)t.kind->bytes / 4;
		now.kind = t.kind->name;
		OK(t.kind->open(&object, t.name, HANDOFF_CREATE));
		OK(handoff_close(object));
		file = map_file(t.name, HEADER + t.kind->bytes);
		t.words = (uint32_t *)(void *)(file + HEADER);
		try_all(&t, 6);
		CHECK(munmap(file, HEADER + t.kind->bytes) == 0);
		OK(handoff_unlink(t.name));
	}
	say("done");
	return 0;
}

/* ---- Headers ----------------------------------------------------------- */

#define FIELDS 16u  /* words of the header that mean something */
#define ENTRIES 64u /* the word at which the peers begin */
#define ENTRY 8u    /* words of one */

static int see_peer(const struct handoff_peer *peer, void *ctx)
{
	unsigned *n = ctx;

	CHECK(peer->size == sizeof *peer && strlen(peer->name) < 16);
	CHECK(++*n <= 120);
	return 0;
}

static int see_name(const char *name, uint32_t kind, uint64_t bytes, void *ctx)
{
	(void)kind;
	(void)bytes;
	(void)ctx;
	CHECK(strcmp(name, "hostile") == 0);
	return 0;
}

static void ask_about(const void *segment)
{
	struct handoff_info info = { .size = sizeof info };
	unsigned n = 0;

	now.call = "info";
	OK(handoff_info(segment, &info));
	CHECK(info.users == 1 && info.bytes == PAGE);
	now.call = "peers";
	OK(handoff_peers(segment, see_peer, &n));
	now.call = "list";
	OK(handoff_list(see_name, NULL));
}

static int open_hostile(handoff_segment **s, unsigned flags)
{
	const struct handoff_segment_options o = { sizeof o, PAGE, 7, NULL,
		NULL };

	now.call = "open";
	return handoff_segment_open(s, "hostile", flags, 0600, &o);
}

/* A header that changes while the segment is open: what this process knows of
 * it stays so. */
static void use_open(struct table *t)
{
	handoff_segment *again;
	int e;

	ask_about(t->target.object);
	CHECK(handoff_segment_bytes(t->target.object) == PAGE);
	e = open_hostile(&again, 0);
	if (e == 0) {
		CHECK(again == t->target.object);
		OK(handoff_close(again));
	} else {
		CHECK(e == EPROTO && !again);
	}
	now.call = "lock";
	OK(handoff_mutex_trylock(t->target.mutex));
	OK(handoff_mutex_unlock(t->target.mutex));
}

static void use_anew(struct table *t)
{
	handoff_segment *s;
	int e = open_hostile(&s, 0);

	(void)t;
	CHECK(e == 0 || (e == EPROTO && !s));
	if (e != 0)
		return;
	ask_about(s);
	OK(handoff_close(s));
}

static void try_headers(struct table *t, unsigned char *file)
{
	uint32_t *words = (uint32_t *)(void *)file;

	now.kind = "header";
	t->words = words;
	t->n = FIELDS;
	try_all(t, 0);
	now.kind = "peers";
	t->words = words + ENTRIES;
	t->n = 2 * ENTRY;
	try_all(t, 0);
	t->words = words + ENTRIES;
	t->n = 120 * ENTRY;
	for (unsigned i = 0; i < t->n; i++)
		t->good[i] = t->words[i];
	for (unsigned n = 0; n < 20; n++) {
		uint32_t image[HEADER / 4];

		for (unsigned i = 0; i < t->n; i++)
			image[i] = n == 0 ? UINT32_MAX : random_bits();
		try_image(t, image);
	}
}

static int headers(const char *unused)
{
	struct table t = { 0 };
	handoff_segment *s;
	unsigned char *file;

	(void)unused;
	watch();
	OK(open_hostile(&s, HANDOFF_CREATE));
	t.target.object = s;
	t.target.mutex = handoff_segment_memory(s);
	OK(handoff_mutex_init(t.target.mutex, NULL));
	file = map_file("hostile", HEADER);
	now.where = "an open segment";
	t.try = use_open;
	try_headers(&t, file);
	OK(handoff_close(s));
	now.where = "a segment opened anew";
	t.try = use_anew;
	try_headers(&t, file);
	OK(handoff_unlink("hostile"));
	say("done");
	return 0;
}

/* ---- Storms ------------------------------------------------------------ */

static struct {
	struct table t;
	_Atomic int over;
} storm;

static void *victim(void *unused)
{
	(void)unused;
	while (!atomic_load(&storm.over))
		call_all(storm.t.kind, &storm.t.target, 1);
	return NULL;
}

/* Writes into the object all the while, every now and then what is right. */
static void rage(void)
{
	struct table *t = &storm.t;

	for (double end = seconds_now() + STORM; seconds_now() < end;)
		for (unsigned n = 0; n < 64; n++) {
			unsigned at = random_bits() % t->n;

			t->words[at] = hostile(t->good[at],
			    random_bits() % VALUES);
			if (n % 4 == 0)
				put(t, t->good);
		}
	put(t, t->good);
}

static int in_a_storm(const char *unused)
{
	unsigned descriptors;
	unsigned char *page;

	(void)unused;
	watch();
	now.where = "storm";
	OK(handoff_mutex_init(&beside, NULL));
	page = segment_page("hostile");
	descriptors = count_descriptors();
	for (unsigned kind = CALLS_FIRST; kind <= CALLS_LAST; kind++) {
		struct table *t = &storm.t;
		pthread_t threads[2];

		table_of(t, kind, page);
		for (unsigned i = 0; i < t->n; i++)
			t->good[i] = t->words[i];
		atomic_store(&storm.over, 0);
		alarm(30);
		for (int i = 0; i < 2; i++)
			CHECK(pthread_create(&threads[i], NULL, victim, NULL) ==
			    0);
		rage();
		atomic_store(&storm.over, 1);
		for (int i = 0; i < 2; i++)
			CHECK(pthread_join(threads[i], NULL) == 0);
	}
	CHECK(count_descriptors() == descriptors);
	/* Who held something has ended. */
	OK(handoff_close(page));
	OK(handoff_unlink("hostile"));
	say("done");
	return 0;
}

/* ---- The parent -------------------------------------------------------- */

static void run(const char *part)
{
	struct process p = start(part, NULL);

	expect_within(&p, "done", 200);
	assert_int_equal(finish(&p), 0);
	assert_int_equal(count_names(), 0);
}

/* G36, G37 */
static void objects_in_plain_memory_may_hold_anything(void **state)
{
	(void)state;
	run("in_plain_memory");
}

static void objects_in_a_segment_may_hold_anything(void **state)
{
	(void)state;
	run("in_a_segment");
}

static void named_objects_may_hold_anything(void **state)
{
	(void)state;
	run("opened_anew");
}

static void headers_may_hold_anything(void **state)
{
	(void)state;
	run("headers");
}

static void anything_may_change_meanwhile(void **state)
{
	(void)state;
	run("in_a_storm");
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{ "in_plain_memory", in_plain_memory },
		{ "in_a_segment", in_a_segment },
		{ "opened_anew", opened_anew },
		{ "headers", headers },
		{ "in_a_storm", in_a_storm },
	};
#define TEST(name) cmocka_unit_test_teardown(name, processes_teardown)
	const struct CMUnitTest tests[] = {
		TEST(objects_in_plain_memory_may_hold_anything),
		TEST(objects_in_a_segment_may_hold_anything),
		TEST(named_objects_may_hold_anything),
		TEST(headers_may_hold_anything),
		TEST(anything_may_change_meanwhile),
	};

	PROCESSES_BEGIN(argc, argv, parts, 600);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
