/* SPDX-License-Identifier: ISC */
/*
 * Opening and making segments.
 *
 * A segment is made without a name, filled, and given its name in one step,
 * so that nobody ever sees one half made; who loses the race for the name
 * drops his and opens the winner's.  Existing ones are opened first and
 * without asking for creation, which some systems refuse for files of others.
 *
 * An opener joins before it looks whether the name still leads to what it
 * opened: so who removes a name and finds that nobody has joined can be sure
 * that nobody will.
 */
#include "segment.h"

#include "peers.h"
#include "points.h"
#include "self.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 1000
#define LED_AWAY (-1) /* no error of the system's */

/* ---- What is valid ----------------------------------------------------- */

int handoff__name(const char **name)
{
	static const char valid[] = "abcdefghijklmnopqrstuvwxyz"
	                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789._-";
	const char *n = *name;
	size_t length;

	if (!n)
		return EINVAL;
	if (*n == '/')
		n++;
	length = strspn(n, valid);
	if (length == 0 || n[length] != '\0' || *n == '.')
		return EINVAL;
	if (length > HANDOFF__NAME)
		return ENAMETOOLONG;
	*name = n;
	return 0;
}

bool handoff__header_valid(const struct handoff__segment_header *header,
    uint64_t file)
{
	return header->magic == HANDOFF__MAGIC &&
	    header->order == HANDOFF__ORDER &&
	    header->layout == HANDOFF__LAYOUT &&
	    header->header == HANDOFF__HEADER && header->id != 0 &&
	    header->bytes > 0 && header->total == file &&
	    header->bytes == header->total - HANDOFF__HEADER;
}

static int check_wanted(struct handoff__wanted *wanted)
{
	if ((wanted->flags & ~(HANDOFF_CREATE | HANDOFF_EXCLUSIVE)) != 0 ||
	    (wanted->flags & (HANDOFF_CREATE | HANDOFF_EXCLUSIVE)) ==
	        HANDOFF_EXCLUSIVE)
		return EINVAL;
	/* Who could not write to it could not use it, not even its owner. */
	if ((wanted->flags & HANDOFF_CREATE) &&
	    ((wanted->mode & ~0777u) != 0 || (wanted->mode & 0600u) != 0600u))
		return EINVAL;
	if (wanted->bytes > PTRDIFF_MAX - HANDOFF__HEADER)
		return ENOMEM;
	return handoff__name(&wanted->name);
}

/* ---- An existing segment ----------------------------------------------- */

/* The header is one that has been checked: others may write to the mapped
 * one meanwhile. */
static struct handoff__open *new_open(struct handoff__map *map,
    const struct handoff__segment_header *header,
    const struct handoff__wanted *wanted)
{
	struct handoff__open *open = calloc(1, sizeof *open);

	if (!open)
		return NULL;
	open->map = map;
	open->header = handoff__map_memory(map);
	open->id = header->id;
	open->bytes = header->bytes;
	open->kind = header->kind;
	open->opens = 1;
	memcpy(open->name, wanted->name, strlen(wanted->name) + 1);
	return open;
}

static bool as_wanted(uint32_t kind, uint64_t bytes,
    const struct handoff__wanted *wanted)
{
	return (wanted->kind == 0 || kind == wanted->kind) &&
	    (wanted->bytes == 0 || bytes == wanted->bytes);
}

static int acceptable(const struct handoff__map *map,
    const struct handoff__segment_header *header,
    const struct handoff__wanted *wanted)
{
	if ((wanted->flags & HANDOFF_CREATE) && (wanted->mode & 077u) == 0 &&
	    !handoff__map_ours(map))
		return EACCES;
	if (!handoff__header_valid(header, handoff__map_bytes(map)) ||
	    !as_wanted(header->kind, header->bytes, wanted))
		return EPROTO;
	return 0;
}

/* With the process locked.  LED_AWAY: the name did meanwhile.  The map is
 * used up unless the result is an error. */
static int adopt(struct handoff__open **found, struct handoff__map *map,
    const struct handoff__segment_header *header,
    const struct handoff__wanted *wanted)
{
	struct handoff__open *open = handoff__segment_same(map);
	int e;

	if (open) {
		/* What we have mapped, whatever the file has become since. */
		if (!as_wanted(open->kind, open->bytes, wanted))
			return EPROTO;
		open->opens++;
		handoff__map_close(map);
		*found = open;
		return 0;
	}
	/* A copy of an open segment's file: an object names its segment by
	 * this, and we would ask the wrong one who lives. */
	if (handoff__segment_by_id(header->id))
		return EPROTO;
	open = new_open(map, header, wanted);
	if (!open)
		return ENOMEM;
	e = handoff__segment_join(open, handoff__process_token());
	if (e == 0 && !handoff__map_leads(map, wanted->name)) {
		handoff__peers_leave(open);
		handoff__life_leave(map);
		e = LED_AWAY;
	}
	if (e != 0) {
		free(open);
		return e;
	}
	handoff__segment_add(open);
	*found = open;
	return 0;
}

/* Whether a file that could not be mapped is no segment: one that only says how
 * large it is may be larger than any memory. */
static bool is_stranger(const char *name)
{
	struct handoff__segment_header header;
	uint64_t file;

	return handoff__map_peek(name, &header, sizeof header, &file) == 0 &&
	    !handoff__header_valid(&header, file);
}

static int open_existing(struct handoff__open **found,
    const struct handoff__wanted *wanted, bool *again)
{
	struct handoff__segment_header header;
	struct handoff__map *map;
	int e = handoff__map_open(&map, wanted->name, HANDOFF__HEADER);

	*again = false;
	if (e == ENOMEM && is_stranger(wanted->name))
		return EPROTO;
	if (e != 0)
		return e;
	HANDOFF__POINT();
	memcpy(&header, handoff__map_memory(map), sizeof header);
	e = acceptable(map, &header, wanted);
	if (e == 0 && (e = handoff__process_lock()) == 0) {
		e = adopt(found, map, &header, wanted);
		*again = e == LED_AWAY;
		handoff__process_unlock();
	}
	if (e != 0)
		handoff__map_close(map);
	return e;
}

/* ---- A new segment ----------------------------------------------------- */

static void fill_header(struct handoff__segment_header *header,
    const struct handoff__wanted *wanted)
{
	header->magic = HANDOFF__MAGIC;
	header->order = HANDOFF__ORDER;
	header->layout = HANDOFF__LAYOUT;
	header->kind = wanted->kind;
	header->header = HANDOFF__HEADER;
	header->bytes = wanted->bytes;
	header->total = HANDOFF__HEADER + (uint64_t)wanted->bytes;
	do
		handoff__random(&header->id, sizeof header->id);
	while (header->id == 0);
}

/* Maps a nameless segment, joins it and puts it into the list, so that init
 * can make objects in it. */
static int prepare(struct handoff__open **made,
    const struct handoff__wanted *wanted)
{
	struct handoff__map *map;
	struct handoff__open *open;
	int e = handoff__map_create(&map, wanted->name,
	    HANDOFF__HEADER + (uint64_t)wanted->bytes, wanted->mode);

	if (e != 0)
		return e;
	fill_header(handoff__map_memory(map), wanted);
	open = new_open(map, handoff__map_memory(map), wanted);
	e = open ? handoff__process_lock() : ENOMEM;
	if (e == 0) {
		open->created = true;
		e = handoff__segment_join(open, handoff__process_token());
		if (e == 0)
			handoff__segment_add(open);
		handoff__process_unlock();
	}
	if (e != 0) {
		free(open);
		handoff__map_close(map);
		return e;
	}
	*made = open;
	return 0;
}

/* Sets *again if somebody else's segment has got the name meanwhile. */
static int create(struct handoff__open **found,
    const struct handoff__wanted *wanted, bool *again)
{
	struct handoff__open *open;
	int e;

	if (wanted->bytes == 0)
		return EINVAL;
	e = prepare(&open, wanted);
	*again = e == EEXIST;
	if (e != 0)
		return e;
	HANDOFF__POINT();
	if (wanted->init)
		e = wanted->init(handoff_segment_memory(
		                     (handoff_segment *)open->header),
		    wanted->bytes, wanted->arg);
	HANDOFF__POINT();
	if (e == 0) {
		e = handoff__map_publish(open->map, wanted->name);
		*again = e == EEXIST;
	}
	HANDOFF__POINT();
	if (e != 0) {
		/* Locked in init and never seen by anybody. */
		handoff__self_forget(open->header,
		    HANDOFF__HEADER + (size_t)open->bytes);
		handoff__process_lock();
		handoff__segment_remove(open);
		handoff__segment_discard(open);
		handoff__process_unlock();
		return e;
	}
	*found = open;
	return 0;
}

static int get(struct handoff__open **found,
    const struct handoff__wanted *wanted)
{
	bool again = true;
	int e = 0;

	for (int i = 0; again && i < ATTEMPTS; i++) {
		e = open_existing(found, wanted, &again);
		if (wanted->flags & HANDOFF_EXCLUSIVE) {
			if (e == 0)
				handoff_close((*found)->header);
			if (e == 0 || e == EPROTO ||
			    (e == EACCES && handoff__map_exists(wanted->name)))
				return EEXIST;
		}
		if (e == ENOENT && (wanted->flags & HANDOFF_CREATE))
			e = create(found, wanted, &again);
	}
	return again ? EAGAIN : e;
}

int handoff__segment_get(struct handoff__open **found,
    const struct handoff__wanted *asked)
{
	struct handoff__wanted wanted = *asked;
	int before = errno; /* calloc may set it */
	int e = check_wanted(&wanted);
	int cancel;

	if (e == 0)
		e = handoff__self_begin();
	if (e != 0)
		return e;
	cancel = handoff__cancel_off();
	e = get(found, &wanted);
	handoff__cancel_restore(cancel);
	errno = before;
	return e;
}

/* ---- The public part --------------------------------------------------- */

int handoff_segment_open(handoff_segment **segment, const char *name,
    unsigned flags, unsigned mode,
    const struct handoff_segment_options *options)
{
	struct handoff__wanted wanted;
	struct handoff__open *open;
	int e;

	if (!segment)
		return EINVAL;
	*segment = NULL;
	if (!options || options->size != sizeof *options ||
	    options->kind >= HANDOFF__KIND_OURS)
		return EINVAL;
	wanted = (struct handoff__wanted){ name, flags, mode, options->kind,
		options->bytes, options->init, options->arg };
	e = handoff__segment_get(&open, &wanted);
	if (e == 0)
		*segment = (handoff_segment *)open->header;
	return e;
}

int handoff__object_open(void **object, struct handoff__wanted *wanted,
    enum handoff__kind kind)
{
	struct handoff__open *open;
	const struct handoff__head *head;
	int e;

	wanted->kind = HANDOFF__KIND_OURS | (uint32_t)kind;
	e = handoff__segment_get(&open, wanted);
	if (e != 0)
		return e;
	head = handoff_segment_memory((handoff_segment *)open->header);
	if (head->tag != HANDOFF__TAG((uint32_t)kind) ||
	    head->segment != open->id) {
		handoff_close(open->header);
		return EPROTO;
	}
	*object = handoff_segment_memory((handoff_segment *)open->header);
	return 0;
}
