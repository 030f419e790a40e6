/* SPDX-License-Identifier: ISC */
/*
 * The word: a number of the user's, of 32 or 64 bits, and beside it who is
 * parked for a change of it.
 *
 * THE WORDS
 *   value    the user's alone
 *   parked   parked and due, see parked.h; waiters park on its half, never on
 *            the value, of which a system could only compare 32 bits
 *
 * WAIT (while the value is e)
 *   w1  look at the value: not e: unmark if there is a mark, done
 *   w2  take number and epoch as seen.  Mark, if they are still so; a mark that
 *       stands from before stays, unless
 *         the epoch moved      it has gone: mark
 *         a wake brought us here, or the number moved since the mark and a
 *         wake is due          unmark, which takes the due: mark
 *   w3  look at the value: not e: w1
 *   w4  park on (epoch, number).  Then w1; at the deadline, and the value is
 *       still e: unmark, ETIMEDOUT
 *
 * WAKE n (the value has been written by a sequentially consistent operation)
 *   k1  look at parked; nobody unwoken: done
 *   k2  issue n wakes, or begin a new epoch for all
 *   k3  wake them
 *   Fenced: k1 is a read-modify-write, for values written otherwise.
 *
 * NO WAKE IS LOST
 *   The write of the value comes before k1, w2 before w3, all sequentially
 *   consistent: a wake that does not find the mark has written the value
 *   before w3, which sees it.  Fenced: k1 and w2 change one atomic; if k1 is
 *   the first, w2 synchronises with it, and w3 sees what was written before.
 *   Between w2 and the park a wake moves number or epoch, so that the park
 *   returns.  A number is never taken as seen after the last look at the value,
 *   nor while a wake is due that may be ours.  k wakes of one are issued to k
 *   different marks, since a mark without a wake is one of parked - due; whoever
 *   is woken and finds the value unchanged has used up its wake, as it would
 *   have by leaving.
 *
 * WHAT A DEATH LEAVES
 *   waiter, marked      a mark too many: one idle wake
 *   waiter, woken       due too many: found by another at its slice's end
 *   waker, k2 to k3     the same
 *
 * DESTROYED WHEN
 *   nobody is in a wait; those woken look at both words.  A wake's last touch
 *   is k2.
 */
#include "making.h"
#include "parked.h"
#include "points.h"
#include "sites.h"

#include <errno.h>

static inline struct handoff__word *word_of(const void *word,
    enum handoff__kind kind)
{
	return handoff__is(word, kind) ?
	    (struct handoff__word *)(uintptr_t)word :
	    NULL;
}

static struct handoff__place place_of(const struct handoff__word *w)
{
	return (struct handoff__place){ .segment = w->head.segment,
		.key = w->head.id,
		.word = handoff__low_half(&w->parked) };
}

/* ---- Waiting ----------------------------------------------------------- */

static bool equal(const struct handoff__word *w, uint64_t value)
{
	if (w->head.tag == HANDOFF__TAG(HANDOFF__WORD64))
		return atomic_load(&w->value64) == value;
	return atomic_load(&w->value32) == (uint32_t)value;
}

static void unmark(struct handoff__site *x, bool woken)
{
	struct handoff__word *w = x->object;

	if (x->is_marked)
		handoff__parked_unmark(&w->parked, x->marked, woken);
	x->is_marked = false;
}

/* w1 and w3 */
static int look(struct handoff__site *x)
{
	if (equal(x->object, x->value))
		return EBUSY;
	unmark(x, x->waited && x->woken == HANDOFF__WOKEN);
	return 0;
}

static void wake_all(struct handoff__word *w)
{
	struct handoff__place place = place_of(w);

	if (handoff__parked_all(&w->parked))
		handoff__unpark(&place, HANDOFF__ALL);
}

/* w2 and w3; for a mark that is there already what w4 says. */
static bool mark(struct handoff__site *x)
{
	struct handoff__word *w = x->object;
	uint64_t state = atomic_load(&w->parked);
	uint32_t now = handoff__parked_half(state);
	bool woken = x->waited && x->woken == HANDOFF__WOKEN;
	int e;

	if (x->is_marked && ((now ^ x->marked) & HANDOFF__PARKED_EPOCH))
		x->is_marked = false;
	if (x->is_marked &&
	    (woken || (now != x->marked && handoff__due(state) > 0)))
		unmark(x, woken);
	x->expected = now;
	if (!x->is_marked) {
		e = handoff__parked_mark(&w->parked, now);
		if (e == EOVERFLOW)
			wake_all(w);
		if (e != 0)
			return false;
		x->is_marked = true;
		x->marked = now;
	}
	HANDOFF__POINT();
	return equal(w, x->value);
}

/*
 * Leaves with something else.  A wake that was issued since the mark may have
 * been used up by our park; then it goes to another, if there is one.
 */
static void pass(struct handoff__site *x)
{
	struct handoff__word *w = x->object;
	uint64_t state = atomic_load(&w->parked);

	unmark(x, false);
	if (handoff__parked_half(state) != x->marked &&
	    handoff__parked_issue(&w->parked, 1))
		handoff__unpark(&x->place, 1);
}

static struct handoff__site site_of(struct handoff__word *w,
    uint64_t while_equal)
{
	return (struct handoff__site){ .look = look,
		.mark = mark,
		.pass = pass,
		.object = w,
		.last = &w->last,
		.statistics = &w->statistics,
		.line = &w->value64,
		.place = place_of(w),
		.value = while_equal };
}

bool handoff__word_site(struct handoff__site *x, void *object,
    uint64_t while_equal)
{
	struct handoff__word *w = word_of(object, HANDOFF__WORD32);

	if (!w)
		w = word_of(object, HANDOFF__WORD64);
	if (w)
		*x = site_of(w, while_equal);
	return w != NULL;
}

static int wait_until(struct handoff__word *w, uint64_t while_equal,
    uint64_t deadline)
{
	struct handoff__site x;
	int e;

	if (!w)
		return EINVAL;
	if (!equal(w, while_equal))
		return 0;
	x = site_of(w, while_equal);
	e = handoff__wait_for(&x, deadline);
	unmark(&x, false);
	return e;
}

/* ---- Waking ------------------------------------------------------------ */

static HANDOFF__SLOW int wake(struct handoff__word *w, uint32_t n)
{
	struct handoff__place place;

	place = place_of(w);
	/* For those who park; who spins need not know. */
	handoff__leave_stamp(&w->last);
	handoff__leave_time(&w->head);
	if (n == HANDOFF_ALL) {
		wake_all(w);
		return 0;
	}
	n = handoff__parked_issue(&w->parked, n);
	if (n > 0)
		handoff__unpark(&place, n);
	return 0;
}

static bool unwoken(uint64_t state)
{
	return handoff__parked(state) > handoff__due(state);
}

/* Sequentially consistent: after the write of the value; pairs with the mark
 * and the look that follows it. */
static inline int wake_plain(struct handoff__word *w, uint32_t n)
{
	if (!w)
		return EINVAL;
	return unwoken(atomic_load(&w->parked)) ? wake(w, n) : 0;
}

/* Changes nothing, but in the order of all changes. */
static int wake_fenced(struct handoff__word *w, uint32_t n)
{
	if (!w)
		return EINVAL;
	return unwoken(atomic_fetch_add(&w->parked, 0)) ? wake(w, n) : 0;
}

/* ---- Making and ending ------------------------------------------------- */

static const struct handoff__making making[] = {
	{ HANDOFF__WORD32, sizeof(handoff_word32),
	    sizeof(struct handoff_word_attr), 0 },
	{ HANDOFF__WORD64, sizeof(handoff_word64),
	    sizeof(struct handoff_word_attr), 0 }
};

static int init(void *word, const struct handoff__making *how, uint64_t value,
    const struct handoff_word_attr *attr)
{
	struct handoff__word *w = word;
	unsigned flags;
	int e = handoff__make(w, how, attr, &flags);

	if (e != 0)
		return e;
	if (how->kind == HANDOFF__WORD64)
		atomic_store(&w->value64, value);
	else
		atomic_store(&w->value32, (uint32_t)value);
	handoff__made(w, how);
	return 0;
}

static int destroy(struct handoff__word *w)
{
	int e = w ? handoff__unused(w, &making[0]) : EINVAL;

	if (e == 0)
		w->head.tag = 0;
	return e;
}

struct wanted {
	const struct handoff__making *how;
	uint64_t value;
	const struct handoff_word_attr *attr;
};

static int init_named(void *memory, size_t bytes, void *arg)
{
	const struct wanted *wanted = arg;

	(void)bytes;
	return init(memory, wanted->how, wanted->value, wanted->attr);
}

static int open_named(void **object, const char *name, unsigned flags,
    unsigned mode, struct wanted *wanted)
{
	return handoff__open(object, wanted->how, name, flags, mode, init_named,
	    wanted);
}

/* ---- 32 bits ----------------------------------------------------------- */

static inline struct handoff__word *word32(const handoff_word32 *word)
{
	return word_of(word, HANDOFF__WORD32);
}

int handoff_word32_init(handoff_word32 *word, uint32_t value,
    const struct handoff_word_attr *attr)
{
	return init(word, &making[0], value, attr);
}

int handoff_word32_open(handoff_word32 **word, const char *name, unsigned flags,
    unsigned mode, uint32_t value, const struct handoff_word_attr *attr)
{
	struct wanted wanted = { &making[0], value, attr };
	void *object = NULL;
	int e = word ? open_named(&object, name, flags, mode, &wanted) : EINVAL;

	if (word)
		*word = object;
	return e;
}

int handoff_word32_destroy(handoff_word32 *word)
{
	return destroy(word32(word));
}

uint32_t handoff_word32_load(const handoff_word32 *word)
{
	return atomic_load(&((const struct handoff__word *)word)->value32);
}

void handoff_word32_store(handoff_word32 *word, uint32_t value)
{
	atomic_store(&((struct handoff__word *)word)->value32, value);
}

uint32_t handoff_word32_add(handoff_word32 *word, uint32_t value)
{
	return atomic_fetch_add(&((struct handoff__word *)word)->value32,
	    value);
}

uint32_t handoff_word32_exchange(handoff_word32 *word, uint32_t value)
{
	return atomic_exchange(&((struct handoff__word *)word)->value32, value);
}

int handoff_word32_compare_exchange(handoff_word32 *word, uint32_t *expected,
    uint32_t desired)
{
	return atomic_compare_exchange_strong(&((struct handoff__word *)word)
	                                           ->value32,
	    expected, desired);
}

int handoff_word32_wait(handoff_word32 *word, uint32_t while_equal)
{
	return wait_until(word32(word), while_equal, HANDOFF_NEVER);
}

int handoff_word32_wait_until(handoff_word32 *word, uint32_t while_equal,
    uint64_t deadline)
{
	return wait_until(word32(word), while_equal, deadline);
}

int handoff_word32_wake(handoff_word32 *word, uint32_t n)
{
	return wake_plain(word32(word), n);
}

int handoff_word32_wake_fenced(handoff_word32 *word, uint32_t n)
{
	return wake_fenced(word32(word), n);
}

/* ---- 64 bits ----------------------------------------------------------- */

static inline struct handoff__word *word64(const handoff_word64 *word)
{
	return word_of(word, HANDOFF__WORD64);
}

int handoff_word64_init(handoff_word64 *word, uint64_t value,
    const struct handoff_word_attr *attr)
{
	return init(word, &making[1], value, attr);
}

int handoff_word64_open(handoff_word64 **word, const char *name, unsigned flags,
    unsigned mode, uint64_t value, const struct handoff_word_attr *attr)
{
	struct wanted wanted = { &making[1], value, attr };
	void *object = NULL;
	int e = word ? open_named(&object, name, flags, mode, &wanted) : EINVAL;

	if (word)
		*word = object;
	return e;
}

int handoff_word64_destroy(handoff_word64 *word)
{
	return destroy(word64(word));
}

uint64_t handoff_word64_load(const handoff_word64 *word)
{
	return atomic_load(&((const struct handoff__word *)word)->value64);
}

void handoff_word64_store(handoff_word64 *word, uint64_t value)
{
	atomic_store(&((struct handoff__word *)word)->value64, value);
}

uint64_t handoff_word64_add(handoff_word64 *word, uint64_t value)
{
	return atomic_fetch_add(&((struct handoff__word *)word)->value64,
	    value);
}

uint64_t handoff_word64_exchange(handoff_word64 *word, uint64_t value)
{
	return atomic_exchange(&((struct handoff__word *)word)->value64, value);
}

int handoff_word64_compare_exchange(handoff_word64 *word, uint64_t *expected,
    uint64_t desired)
{
	return atomic_compare_exchange_strong(&((struct handoff__word *)word)
	                                           ->value64,
	    expected, desired);
}

int handoff_word64_wait(handoff_word64 *word, uint64_t while_equal)
{
	return wait_until(word64(word), while_equal, HANDOFF_NEVER);
}

int handoff_word64_wait_until(handoff_word64 *word, uint64_t while_equal,
    uint64_t deadline)
{
	return wait_until(word64(word), while_equal, deadline);
}

int handoff_word64_wake(handoff_word64 *word, uint32_t n)
{
	return wake_plain(word64(word), n);
}

int handoff_word64_wake_fenced(handoff_word64 *word, uint32_t n)
{
	return wake_fenced(word64(word), n);
}
