/* SPDX-License-Identifier: ISC */
/*
 * The layout of everything in shared memory, as literals: what is written here
 * changes only together with HANDOFF__LAYOUT (G36, G37).  It says once more
 * what object.h says, by hand, so that neither can drift alone.
 */
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

/* ---- Every field of every struct ----------------------------------------- */

/* A field, or the elements of an array: where, how large, how many.  `also`:
 * another member of the union before it. */
struct field {
	const char *name;
	size_t is_at;
	size_t is_size;
	size_t at;
	size_t size;
	size_t count;
	int also;
};

struct layout {
	const char *name;
	size_t is_size;
	size_t is_align;
	size_t size;
	size_t align;
	const struct field *fields;
	size_t n;
};

#define S(type) struct handoff__##type
#define MEMBER(type, name) (((S(type) *)NULL)->name)
#define F(type, name, at, size)                               \
	{                                                     \
#type "." #name, offsetof(S(type), name),     \
		    sizeof MEMBER(type, name), at, size, 1, 0 \
	}
#define ALSO(type, name, at, size)                            \
	{                                                     \
#type "." #name, offsetof(S(type), name),     \
		    sizeof MEMBER(type, name), at, size, 1, 1 \
	}
#define ARRAY(type, name, at, size, count)                                  \
	{                                                                   \
#type "." #name, offsetof(S(type), name),                   \
		    sizeof MEMBER(type, name) / (count), at, size, count, 0 \
	}
#define BYTES(type, name, at, count) ARRAY(type, name, at, 1, count)
#define LAYOUT(type, size, align)                                              \
	{                                                                      \
#type, sizeof(S(type)), _Alignof(S(type)), size, align,        \
		    type##_fields, sizeof type##_fields / sizeof(struct field) \
	}
#define STATISTICS(type, at)                        \
	F(type, statistics.contended, at, 4),       \
	    F(type, statistics.parks, (at) + 4, 4), \
	    F(type, statistics.longest, (at) + 8, 4)
#define HEAD(type)                                                \
	F(type, head.tag, 0, 4), F(type, head.attr, 4, 4),        \
	    F(type, head.id, 8, 8), F(type, head.segment, 16, 8), \
	    F(type, head.limit, 24, 4), F(type, head.used, 28, 4)

static const struct field head_fields[] = { F(head, tag, 0, 4),
	F(head, attr, 4, 4), F(head, id, 8, 8), F(head, segment, 16, 8),
	F(head, limit, 24, 4), F(head, used, 28, 4) };

static const struct field statistics_fields[] = {
	F(statistics, contended, 0, 4),
	F(statistics, parks, 4, 4),
	F(statistics, longest, 8, 4),
};

static const struct field peer_fields[] = {
	F(peer, token, 0, 4),
	F(peer, pid, 4, 4),
	F(peer, opened, 8, 8),
	BYTES(peer, name, 16, 16),
};

static const struct field segment_header_fields[] = {
	F(segment_header, magic, 0, 8),
	F(segment_header, order, 8, 4),
	F(segment_header, layout, 12, 4),
	F(segment_header, kind, 16, 4),
	F(segment_header, header, 20, 4),
	F(segment_header, bytes, 24, 8),
	F(segment_header, total, 32, 8),
	F(segment_header, id, 40, 8),
	BYTES(segment_header, spare, 48, 208),
	ARRAY(segment_header, peers, 256, 32, 120),
};

static const struct field mutex_fields[] = {
	HEAD(mutex),
	F(mutex, word, 32, 4),
	F(mutex, last, 36, 4),
	F(mutex, signals, 40, 8),
	ALSO(mutex, writer, 40, 4),
	ALSO(mutex, others, 44, 4),
	F(mutex, starved, 48, 4),
	STATISTICS(mutex, 52),
};

static const struct field cond_fields[] = {
	HEAD(cond),
	F(cond, state, 32, 8),
	F(cond, mutex, 40, 8),
	STATISTICS(cond, 48),
	F(cond, spare, 60, 4),
};

static const struct field sem_fields[] = {
	HEAD(sem),
	F(sem, word, 32, 4),
	F(sem, last, 36, 4),
	F(sem, maximum, 40, 4),
	STATISTICS(sem, 44),
	BYTES(sem, spare, 56, 8),
};

static const struct field event_fields[] = {
	HEAD(event),
	F(event, word, 32, 4),
	F(event, last, 36, 4),
	STATISTICS(event, 40),
	BYTES(event, spare, 52, 12),
};

static const struct field word_fields[] = {
	HEAD(word),
	F(word, value64, 32, 8),
	ALSO(word, value32, 32, 4),
	F(word, parked, 40, 8),
	F(word, last, 48, 4),
	STATISTICS(word, 52),
};

static const struct field rwlock_fields[] = {
	F(rwlock, lock, 0, 64),
	ARRAY(rwlock, tokens, 64, 4, 16),
	ARRAY(rwlock, readers, 128, 4, 16),
};

static const struct field barrier_fields[] = {
	HEAD(barrier),
	F(barrier, state, 32, 8),
	F(barrier, parties, 40, 4),
	F(barrier, last, 44, 4),
	STATISTICS(barrier, 48),
	F(barrier, spare, 60, 4),
	ARRAY(barrier, tokens, 64, 4, 64),
};

static const struct field baton_fields[] = {
	HEAD(baton),
	F(baton, state, 32, 8),
	F(baton, parties, 40, 4),
	F(baton, last, 44, 4),
	STATISTICS(baton, 48),
	F(baton, spare, 60, 4),
	ARRAY(baton, tokens, 64, 4, 64),
};

static const struct field channel_fields[] = {
	HEAD(channel),
	F(channel, capacity, 32, 8),
	F(channel, largest, 40, 4),
	F(channel, shut, 44, 4),
	STATISTICS(channel, 48),
	F(channel, spare, 60, 4),
	F(channel, tail, 64, 8),
	F(channel, sender, 72, 4),
	F(channel, sent, 76, 4),
	F(channel, sender_last, 80, 4),
	F(channel, head_at, 128, 8),
	F(channel, receiver, 136, 4),
	F(channel, received, 140, 4),
	F(channel, receiver_last, 144, 4),
};

static const struct field gate_fields[] = {
	HEAD(gate),
	F(gate, caller, 32, 4),
	F(gate, server, 36, 4),
	STATISTICS(gate, 40),
	F(gate, largest, 52, 4),
	BYTES(gate, spare, 56, 8),
	F(gate, turn, 64, 4),
	F(gate, last, 68, 4),
	F(gate, call_bytes, 72, 4),
	F(gate, reply_bytes, 76, 4),
};

static const struct layout layouts[] = {
	LAYOUT(head, 32, 8),
	LAYOUT(statistics, 12, 4),
	LAYOUT(peer, 32, 8),
	LAYOUT(segment_header, 4096, 8),
	LAYOUT(mutex, 64, 8),
	LAYOUT(cond, 64, 8),
	LAYOUT(sem, 64, 8),
	LAYOUT(event, 64, 8),
	LAYOUT(word, 64, 8),
	LAYOUT(rwlock, 192, 8),
	LAYOUT(barrier, 320, 8),
	LAYOUT(baton, 320, 8),
	LAYOUT(channel, 192, 64),
	LAYOUT(gate, 128, 64),
};

#define LAYOUTS (sizeof layouts / sizeof *layouts)

static void sizes_and_alignments_are_as_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < LAYOUTS; i++) {
		const struct layout *l = &layouts[i];
		/* Some 32-bit systems align what is 8 bytes long to 4, and no
		 * offset differs for it. */
		size_t align = sizeof(void *) == 4 && l->is_align == 4 ?
		    4 :
		    l->align;

		if (l->is_size != l->size || l->is_align != align)
			fail_msg("%s: size %zu, alignment %zu, not %zu, %zu",
			    l->name, l->is_size, l->is_align, l->size,
			    l->align);
	}
}

static void every_field_is_where_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < LAYOUTS; i++)
		for (size_t k = 0; k < layouts[i].n; k++) {
			const struct field *f = &layouts[i].fields[k];

			if (f->is_at != f->at || f->is_size != f->size)
				fail_msg("%s: %zu bytes at %zu, not %zu at %zu",
				    f->name, f->is_size, f->is_at, f->size,
				    f->at);
		}
}

/* So that no field is without a line here: in order, each begins where the one
 * before ends, except for what is aligned on purpose or left free at the
 * end. */
static void no_field_is_missing_here(void **state)
{
	(void)state;
	for (size_t i = 0; i < LAYOUTS; i++) {
		size_t end = 0;

		for (size_t k = 0; k < layouts[i].n; k++) {
			const struct field *f = &layouts[i].fields[k];

			if (f->also)
				continue;
			if (f->at != end && f->at % 64 != 0)
				fail_msg("%s: there is a hole before it",
				    f->name);
			end = f->at + f->size * f->count;
		}
		if (layouts[i].align != 64 && end != layouts[i].size)
			fail_msg("%s: there is a hole at its end",
			    layouts[i].name);
	}
}

static void no_atomic_straddles_a_cache_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < LAYOUTS; i++)
		for (size_t k = 0; k < layouts[i].n; k++) {
			const struct field *f = &layouts[i].fields[k];
			size_t at = f->is_at;

			if (f->is_size > 8)
				continue;
			for (size_t n = 0; n < f->count; n++, at += f->is_size)
				if (at / 64 != (at + f->is_size - 1) / 64 ||
				    at % f->is_size != 0)
					fail_msg("%s[%zu] straddles", f->name,
					    n);
		}
}

static void public_types_are_whole_cache_lines(void **state)
{
	(void)state;
#define PUBLIC(type, size)                      \
	assert_int_equal(sizeof(type), (size)); \
	assert_int_equal(_Alignof(type), 64)
	PUBLIC(handoff_mutex, 64);
	PUBLIC(handoff_cond, 64);
	PUBLIC(handoff_sem, 64);
	PUBLIC(handoff_event, 64);
	PUBLIC(handoff_rwlock, 192);
	PUBLIC(handoff_barrier, 320);
	PUBLIC(handoff_word32, 64);
	PUBLIC(handoff_word64, 64);
	PUBLIC(handoff_baton, 320);
	assert_int_equal(offsetof(handoff_word32, value), 32);
	assert_int_equal(offsetof(handoff_word64, value), 32);
}

/* ---- Values -------------------------------------------------------------- */

static void tags_are_as_written(void **state)
{
	(void)state;
	assert_int_equal(HANDOFF__LAYOUT, 1);
	assert_int_equal(HANDOFF__TAG(HANDOFF__MUTEX), 0x4f480101);
	assert_int_equal(HANDOFF__TAG(HANDOFF__COND), 0x4f480102);
	assert_int_equal(HANDOFF__TAG(HANDOFF__SEM), 0x4f480103);
	assert_int_equal(HANDOFF__TAG(HANDOFF__EVENT), 0x4f480104);
	assert_int_equal(HANDOFF__TAG(HANDOFF__RWLOCK), 0x4f480105);
	assert_int_equal(HANDOFF__TAG(HANDOFF__BARRIER), 0x4f480106);
	assert_int_equal(HANDOFF__TAG(HANDOFF__WORD32), 0x4f480107);
	assert_int_equal(HANDOFF__TAG(HANDOFF__WORD64), 0x4f480108);
	assert_int_equal(HANDOFF__TAG(HANDOFF__BATON), 0x4f480109);
	assert_int_equal(HANDOFF__TAG(HANDOFF__CHANNEL), 0x4f48010a);
	assert_int_equal(HANDOFF__TAG(HANDOFF__GATE), 0x4f48010b);
}

static void public_kinds_are_as_written(void **state)
{
	(void)state;
#define KIND(kind, value)                                             \
	assert_int_equal(HANDOFF_KIND_##kind, 0xff000000u | (value)); \
	assert_int_equal(HANDOFF__KIND_OURS | HANDOFF__##kind,        \
	    0xff000000u | (value))
	assert_int_equal(HANDOFF_KIND_UNKNOWN, 0);
	KIND(MUTEX, 1);
	KIND(COND, 2);
	KIND(SEM, 3);
	KIND(EVENT, 4);
	KIND(RWLOCK, 5);
	KIND(BARRIER, 6);
	KIND(WORD32, 7);
	KIND(WORD64, 8);
	KIND(BATON, 9);
}

static void public_flags_and_limits_are_as_written(void **state)
{
	(void)state;
	assert_int_equal(HANDOFF_CREATE, 1);
	assert_int_equal(HANDOFF_EXCLUSIVE, 2);
	assert_int_equal(HANDOFF_ROBUST, 1);
	assert_int_equal(HANDOFF_RECURSIVE, 2);
	assert_int_equal(HANDOFF_ERRORCHECK, 4);
	assert_int_equal(HANDOFF_UNFAIR, 8);
	assert_int_equal(HANDOFF_EVENT_MANUAL, 0x10);
	assert_int_equal(HANDOFF_EVENT_SET, 0x20);
	assert_int_equal(HANDOFF_WAIT_ADAPTIVE, 0);
	assert_int_equal(HANDOFF_WAIT_SPIN, 1);
	assert_int_equal(HANDOFF_WAIT_YIELD, 2);
	assert_int_equal(HANDOFF_WAIT_BLOCK, 3);
	assert_int_equal(HANDOFF_SEM_MAX, 0x7fffffff);
	assert_int_equal(HANDOFF_BARRIER_MAX, 0xffff);
	assert_int_equal(HANDOFF_BATON_MAX, 64);
	assert_int_equal(HANDOFF_ANY_MAX, 64);
}

static void reserved_values_are_as_written(void **state)
{
	(void)state;
	assert_int_equal(HANDOFF__FREE, 0);
	assert_int_equal(HANDOFF__GONE, 1);
	assert_int_equal(HANDOFF__RESERVED, 2);
	assert_int_equal(HANDOFF__TOKENS, 16);
	assert_int_equal(HANDOFF__OWNER, 0x3fffffff);
	assert_int_equal(HANDOFF__DEAD, 0x40000000);
	assert_int_equal(HANDOFF__WAITERS, 0x80000000);
	assert_int_equal(HANDOFF__CPU, 0xffff);
	assert_int_equal(HANDOFF__MARK, 0x80000000);
	assert_int_equal(HANDOFF__POLICY, 3);
	assert_int_equal(HANDOFF__ATTR_RECURSIVE, 4);
	assert_int_equal(HANDOFF__ATTR_UNFAIR, 8);
	assert_int_equal(HANDOFF__ATTR_MANUAL, 0x10);
	assert_int_equal(HANDOFF__HEADER, 4096);
	assert_int_equal(HANDOFF__PEERS, 120);
	assert_int_equal(HANDOFF__READERS, 16);
	assert_int_equal(HANDOFF__PENDING, 1);
	assert_int_equal(HANDOFF__WRITING, 2);
	assert_int_equal(HANDOFF__PARTIES, 64);
	assert_true(HANDOFF__MAGIC == UINT64_C(0x3146464f444e4148));
	assert_int_equal(HANDOFF__ORDER, 0x01020304);
}

/* ---- Golden images ------------------------------------------------------- */

static int little_endian(void)
{
	const uint32_t one = 1;
	unsigned char first;

	memcpy(&first, &one, 1);
	if (first != 1)
		print_message("skipped: the images are little-endian\n");
	return first == 1;
}

/* Compares with `image`, where -1 stands for a random byte; rest: zero. */
static void assert_image(const unsigned char *is, size_t bytes,
    const int *image, size_t n)
{
	for (size_t i = 0; i < bytes; i++) {
		int expected = i < n ? image[i] : 0;

		if (expected >= 0 && is[i] != expected)
			fail_msg("byte %zu is %02x, not %02x", i, is[i],
			    (unsigned)expected);
	}
}

#define RANDOM8 -1, -1, -1, -1, -1, -1, -1, -1
#define ZERO8 0, 0, 0, 0, 0, 0, 0, 0

/* The image of an object with limit 0x01020304 ns in plain memory up to byte
 * 32. */
#define IMAGE(kind, attr)                                                     \
	kind, 0x01, 0x48, 0x4f, attr, 0, 0, 0, RANDOM8, ZERO8, 4, 3, 2, 1, 0, \
	    0, 0, 0

static void assert_fresh(const void *object, size_t bytes, const int *image,
    size_t n)
{
	unsigned char copy[320];

	memcpy(copy, object, bytes);
	assert_image(copy, bytes, image, n);
}

/* One test: what is made, its attributes, how (of `o`, with `attr`), the
 * image. */
#define GOLDEN(test, type, attributes, options, way, init, destroy, ...) \
	static void test(void **state)                                   \
	{                                                                \
		static const int image[] = { __VA_ARGS__ };              \
		struct attributes attr = { .size = sizeof attr,          \
			.flags = (options),                              \
			.policy = (way),                                 \
			.wait_limit = 0x01020304 };                      \
		type o;                                                  \
                                                                         \
		(void)state;                                             \
		if (!little_endian())                                    \
			skip();                                          \
		memset(&o, 0xa5, sizeof o);                              \
		assert_int_equal(init, 0);                               \
		assert_fresh(&o, sizeof o, image,                        \
		    sizeof image / sizeof *image);                       \
		assert_int_equal(destroy(&o), 0);                        \
	}

GOLDEN(a_fresh_mutex_has_the_golden_image, handoff_mutex, handoff_mutex_attr,
    HANDOFF_RECURSIVE | HANDOFF_UNFAIR, HANDOFF_WAIT_BLOCK,
    handoff_mutex_init(&o, &attr), handoff_mutex_destroy, IMAGE(1, 4 | 8 | 3))

GOLDEN(a_fresh_condition_has_the_golden_image, handoff_cond, handoff_cond_attr,
    0, HANDOFF_WAIT_YIELD, handoff_cond_init(&o, &attr), handoff_cond_destroy,
    IMAGE(2, 2))

/* Word, last, maximum. */
GOLDEN(a_fresh_semaphore_has_the_golden_image, handoff_sem, handoff_sem_attr, 0,
    HANDOFF_WAIT_SPIN, handoff_sem_init(&o, 0x205, &attr), handoff_sem_destroy,
    IMAGE(3, 1), 5, 2, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f)

GOLDEN(a_fresh_event_has_the_golden_image, handoff_event, handoff_event_attr,
    HANDOFF_EVENT_MANUAL | HANDOFF_EVENT_SET, HANDOFF_WAIT_BLOCK,
    handoff_event_init(&o, &attr), handoff_event_destroy, IMAGE(4, 0x10 | 3), 0,
    0, 0, 0x40)

GOLDEN(a_fresh_rwlock_has_the_golden_image, handoff_rwlock, handoff_rwlock_attr,
    0, HANDOFF_WAIT_BLOCK, handoff_rwlock_init(&o, &attr),
    handoff_rwlock_destroy, IMAGE(5, 3))

/* State, of which a generation that is random, parties. */
GOLDEN(a_fresh_barrier_has_the_golden_image, handoff_barrier,
    handoff_barrier_attr, 0, HANDOFF_WAIT_BLOCK,
    handoff_barrier_init(&o, 0x205, &attr), handoff_barrier_destroy,
    IMAGE(6, 3), -1, -1, -1, -1, 0, 0, 0, 0, 5, 2, 0, 0)

GOLDEN(a_fresh_word32_has_the_golden_image, handoff_word32, handoff_word_attr,
    0, HANDOFF_WAIT_YIELD, handoff_word32_init(&o, 0x08070605, &attr),
    handoff_word32_destroy, IMAGE(7, 2), 5, 6, 7, 8)

GOLDEN(a_fresh_word64_has_the_golden_image, handoff_word64, handoff_word_attr,
    0, HANDOFF_WAIT_YIELD,
    handoff_word64_init(&o, UINT64_C(0x0807060504030201), &attr),
    handoff_word64_destroy, IMAGE(8, 2), 1, 2, 3, 4, 5, 6, 7, 8)

GOLDEN(a_fresh_baton_has_the_golden_image, handoff_baton, handoff_baton_attr, 0,
    HANDOFF_WAIT_BLOCK, handoff_baton_init(&o, 64, &attr),
    handoff_baton_destroy, IMAGE(9, 3), ZERO8, 64, 0, 0, 0)

/* The bytes of the segment of that name: of its file, where it is one. */
static size_t read_name(const char *name, const void *memory, void *bytes,
    size_t n)
{
	struct handoff_info info = { .size = sizeof info };
	char path[256];
	size_t got;
	FILE *f;

	if (!HAS_FILES) {
		assert_int_equal(handoff_info(memory, &info), 0);
		got = 4096 + (size_t)info.bytes;
		memcpy(bytes, (const char *)memory - 4096, got < n ? got : n);
		return got;
	}
	snprintf(path, sizeof path, "%s/handoff.%s", run_directory(), name);
	f = fopen(path, "rb");
	assert_non_null(f);
	got = fread(bytes, 1, n, f);
	fclose(f);
	return got;
}

/* Who made it is among the peers: token, PID, when, name.  Takes that out. */
static void assert_peer(unsigned char *header)
{
	struct handoff__peer none;
	unsigned n = 0;

	memset(&none, 0, sizeof none);
	for (size_t i = 0; i < HANDOFF__PEERS; i++) {
		unsigned char *at = header + 256 + 32 * i;
		uint32_t token;
		uint32_t pid;
		uint64_t opened;

		if (memcmp(at, &none, sizeof none) == 0)
			continue;
		n++;
		memcpy(&token, at, 4);
		memcpy(&pid, at + 4, 4);
		memcpy(&opened, at + 8, 8);
		assert_true(token >= 16 && token <= 0x3fffffff);
		assert_int_equal(pid, getpid());
		assert_true(opened > UINT64_C(1600000000000000000));
		assert_true(at[16] != 0 && at[31] == 0);
		memset(at, 0, sizeof none);
	}
	assert_int_equal(n, 1);
}

static void a_fresh_segment_has_the_golden_image(void **state)
{
	/* "HANDOFF1", order, layout, kind, header, bytes, total, id. */
	static const int image[] = { 'H', 'A', 'N', 'D', 'O', 'F', 'F', '1', 4,
		3, 2, 1, 1, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0, 16, 0, 0, 100,
		0, 0, 0, 0, 0, 0, 0, 100, 16, 0, 0, 0, 0, 0, 0, RANDOM8 };
	const struct handoff_segment_options options = { .size = sizeof options,
		.bytes = 100,
		.kind = 0x12345678 };
	unsigned char bytes[4096 + 200];
	handoff_segment *s;

	(void)state;
	if (!little_endian())
		skip();
	assert_int_equal(handoff_segment_open(&s, "image", HANDOFF_CREATE, 0600,
	                     &options),
	    0);
	assert_int_equal(read_name("image", handoff_segment_memory(s), bytes,
	                     sizeof bytes),
	    4096 + 100);
	assert_peer(bytes);
	assert_image(bytes, 4096 + 100, image, sizeof image / sizeof *image);
	assert_int_equal(handoff_close(s), 0);
	assert_int_equal(unlink_name("image"), 0);
}

/* An object in a segment carries the segment's id, and a random one. */
static void a_named_mutex_has_the_golden_image(void **state)
{
	static const int image[] = { 0x01, 0x01, 0x48, 0x4f, ZERO8 };
	unsigned char bytes[4096 + 65];
	handoff_mutex *m;
	uint64_t ids[3];

	(void)state;
	if (!little_endian())
		skip();
	assert_int_equal(handoff_mutex_open(&m, "image", HANDOFF_CREATE, 0600,
	                     NULL),
	    0);
	assert_int_equal(read_name("image", m, bytes, sizeof bytes), 4096 + 64);
	memcpy(&ids[0], bytes + 40, 8);
	memcpy(&ids[1], bytes + 4096 + 8, 8);
	memcpy(&ids[2], bytes + 4096 + 16, 8);
	assert_true(ids[0] != 0 && ids[1] != 0 && ids[0] != ids[1]);
	assert_true(ids[2] == ids[0]);
	assert_int_equal(bytes[16] | bytes[17] << 8, 1);
	assert_int_equal(bytes[19], 0xff);
	memset(bytes + 4096 + 8, 0, 16);
	assert_image(bytes + 4096, 64, image, sizeof image / sizeof *image);
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(unlink_name("image"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_alignments_are_as_written),
		cmocka_unit_test(every_field_is_where_it_was),
		cmocka_unit_test(no_field_is_missing_here),
		cmocka_unit_test(no_atomic_straddles_a_cache_line),
		cmocka_unit_test(public_types_are_whole_cache_lines),
		cmocka_unit_test(tags_are_as_written),
		cmocka_unit_test(public_kinds_are_as_written),
		cmocka_unit_test(public_flags_and_limits_are_as_written),
		cmocka_unit_test(reserved_values_are_as_written),
		cmocka_unit_test(a_fresh_mutex_has_the_golden_image),
		cmocka_unit_test(a_fresh_condition_has_the_golden_image),
		cmocka_unit_test(a_fresh_semaphore_has_the_golden_image),
		cmocka_unit_test(a_fresh_event_has_the_golden_image),
		cmocka_unit_test(a_fresh_rwlock_has_the_golden_image),
		cmocka_unit_test(a_fresh_barrier_has_the_golden_image),
		cmocka_unit_test(a_fresh_word32_has_the_golden_image),
		cmocka_unit_test(a_fresh_word64_has_the_golden_image),
		cmocka_unit_test(a_fresh_baton_has_the_golden_image),
		cmocka_unit_test(a_fresh_segment_has_the_golden_image),
		cmocka_unit_test(a_named_mutex_has_the_golden_image),
	};

	processes_begin(argc, argv, NULL, 0, 60);
	return processes_end(cmocka_run_group_tests(tests, NULL, NULL));
}
