/* SPDX-License-Identifier: ISC */
/* The mutex "m", its holders and its lockers. */
#include "lockers.h"

#include <errno.h>
#include <string.h>

#include "named.h"

/* ---- The mutex --------------------------------------------------------- */

handoff_mutex *make_m(unsigned policy, uint64_t limit)
{
	const struct handoff_mutex_attr attr = { sizeof attr, HANDOFF_ROBUST,
		policy, limit };
	handoff_mutex *m;

	assert_int_equal(handoff_mutex_open(&m, "m",
	                     HANDOFF_CREATE | HANDOFF_EXCLUSIVE, 0600, &attr),
	    0);
	return m;
}

void end_m(handoff_mutex *m)
{
	assert_int_equal(handoff_close(m), 0);
	assert_int_equal(unlink_name("m"), 0);
	assert_int_equal(count_names(), 0);
}

void assert_free(handoff_mutex *m)
{
	assert_int_equal(handoff_mutex_lock_until(m, soon(5)), 0);
	assert_int_equal(handoff_mutex_unlock(m), 0);
}

void assert_not_robbed(handoff_mutex *m, double seconds)
{
	double end = seconds_now() + seconds;

	do {
		double before = seconds_now();

		assert_int_equal(handoff_mutex_trylock(m), EBUSY);
		assert_int_equal(handoff_mutex_lock_until(m, soon(0.2)),
		    ETIMEDOUT);
		assert_true(seconds_now() - before >= 0.19);
		assert_true(seconds_now() - before < 1.2);
		assert_int_equal(handoff_mutex_unlock(m), EPERM);
	} while (seconds_now() < end);
}

/* ---- Parts ------------------------------------------------------------- */

/* A result by its name in errno.h. */
static const char *word_of(int e)
{
	switch (e) {
	case 0:
		return "0";
	case EBUSY:
		return "EBUSY";
	case ETIMEDOUT:
		return "ETIMEDOUT";
	case EOWNERDEAD:
		return "EOWNERDEAD";
	case ENOTRECOVERABLE:
		return "ENOTRECOVERABLE";
	default:
		return handoff_strerror(e);
	}
}

int holder(const char *unused)
{
	handoff_mutex *m = open_m();
	int e = handoff_mutex_lock(m);

	(void)unused;
	CHECK(e == 0 || e == EOWNERDEAD);
	say("held");
	await("unlock");
	OK(handoff_mutex_unlock(m));
	return 0;
}

static int lock_somehow(handoff_mutex *m, const char *how)
{
	double end = seconds_now() + 20;
	int e;

	if (strcmp(how, "until") == 0)
		return handoff_mutex_lock_until(m, soon(20));
	if (strcmp(how, "try") != 0)
		return handoff_mutex_lock(m);
	while ((e = handoff_mutex_trylock(m)) == EBUSY && seconds_now() < end)
		sleep_seconds(0.0005);
	return e;
}

int locker(const char *how)
{
	handoff_mutex *m = open_m();
	int e;

	say("trying");
	e = lock_somehow(m, how);
	say(word_of(e));
	if (e == ENOTRECOVERABLE)
		return 0;
	await("unlock");
	if (e == EOWNERDEAD)
		OK(handoff_mutex_consistent(m));
	OK(handoff_mutex_unlock(m));
	OK(handoff_close(m));
	return 0;
}

/* ---- The parent -------------------------------------------------------- */

struct process start_holder(void)
{
	struct process p = start("holder", NULL);

	expect(&p, "held");
	return p;
}

struct process start_locker(const char *how)
{
	struct process p = start("locker", how);

	expect(&p, "trying");
	return p;
}

void expect_lock(struct process *p, const char *word, double since,
    const char *what)
{
	expect_within(p, word, 5);
	since = seconds_now() - since;
	if (what)
		print_message("%s: %.1f ms\n", what, since * 1e3);
	assert_true(since < 1);
}

void let_go(struct process *p)
{
	tell(p, "unlock");
	assert_int_equal(finish(p), 0);
}
