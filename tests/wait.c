/* SPDX-License-Identifier: ISC */
/*
 * The waiting engine against a fake port.  What it knows of its process and
 * of its thread it asks once; so each case runs in a child of its own, whose
 * exit status says which line did not hold.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_port.h"
#include "points.h"
#include "wait.h"

#define US 1000u
#define MS 1000000u
#define SECOND 1000000000u
#define HOUR (3600u * (uint64_t)SECOND)

#define SPIN_DEFAULT (100u * US)
#define FIXED_DEFAULT (500u * US)

/* ---- A case in a child ------------------------------------------------------- */

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(int holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, line, what);
	fflush(NULL);
	_exit(1);
}

static void in_child(void (*run)(void))
{
	pid_t child;
	int status = -1;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(20);
		fake_begin();
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- Waits --------------------------------------------------------------------- */

static _Atomic uint32_t word = 7;
static const struct handoff__place place = { 11, 12, &word };

static struct handoff__head head(unsigned policy, uint32_t limit)
{
	return (struct handoff__head){ .attr = policy, .limit = limit };
}

static void begin(struct handoff__wait *w, unsigned policy, uint32_t limit,
    uint64_t deadline, bool owned)
{
	struct handoff__head h = head(policy, limit);

	handoff__wait_begin(w, &h, deadline, owned);
}

/* Spins to the end of it: how long that took, in ns. */
static uint64_t spin(struct handoff__wait *w, unsigned partner)
{
	uint64_t from = fake.now;
	unsigned steps = 0;

	while (handoff__wait_spin(w, partner))
		CHECK(++steps < 100000000);
	CHECK(!handoff__wait_spin(w, partner)); /* for the rest of the wait */
	return fake.now - from;
}

static uint64_t spin_for(unsigned policy, uint32_t limit, unsigned partner)
{
	struct handoff__wait w;
	uint64_t ns;

	begin(&w, policy, limit, HANDOFF_NEVER, false);
	ns = spin(&w, partner);
	handoff__wait_end(&w);
	return ns;
}

/* Within a factor of two. */
static bool about(uint64_t ns, uint64_t expected)
{
	return ns >= expected / 2 && ns <= expected * 2;
}

/* ---- Spinning -------------------------------------------------------------------- */

static void spin_cases(void)
{
	static const uint64_t pauses[] = { 5, 40, 140 };

	for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
		fake.pause_ns = pauses[i];
		CHECK(
		    about(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0), SPIN_DEFAULT));
		CHECK(about(spin_for(HANDOFF_WAIT_SPIN, 0, 0), FIXED_DEFAULT));
	}
	CHECK(fake.pauses > 0 && fake.yields == 0);
	CHECK(fake.parks == 0);
	/* The clock is not asked at every look. */
	CHECK(fake.clocks < fake.pauses);
}

static void spinning_ends_at_the_limit(void **state)
{
	(void)state;
	in_child(spin_cases);
}

static void attr_cases(void)
{
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 20 * US, 0), 20 * US));
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 2 * MS, 0), 2 * MS));
	CHECK(about(spin_for(HANDOFF_WAIT_SPIN, 20 * US, 0), 20 * US));
	CHECK(about(spin_for(HANDOFF_WAIT_SPIN, 900 * MS, 0), 900 * MS));
	CHECK(about(spin_for(HANDOFF_WAIT_YIELD, 20 * US, 0), 20 * US));
	/* No more than the few looks up to the first question. */
	CHECK(spin_for(HANDOFF_WAIT_SPIN, 1, 0) < 2 * US);
}

static void the_limit_is_the_one_of_the_attributes(void **state)
{
	(void)state;
	in_child(attr_cases);
}

static void partner_cases(void)
{
	struct handoff__wait w;

	fake.cpu = 3;
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 3) < US);
	CHECK(fake.pauses == 0 && fake.yields == 0);
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2), SPIN_DEFAULT));
	/* Either unknown: it may be worth while. */
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0), SPIN_DEFAULT));
	fake.cpu = 0;
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2), SPIN_DEFAULT));
	/* The partner comes to our CPU while we spin. */
	fake.cpu = 3;
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	for (int i = 0; i < 100; i++)
		CHECK(handoff__wait_spin(&w, 2));
	CHECK(spin(&w, 3) < 5 * US);
	/* The policy that looks at nothing. */
	CHECK(about(spin_for(HANDOFF_WAIT_SPIN, 0, 3), FIXED_DEFAULT));
}

static void nobody_spins_on_the_cpu_of_the_partner(void **state)
{
	(void)state;
	in_child(partner_cases);
}

static void one_cpu_cases(void)
{
	uint64_t end;

	fake.cpus = 1;
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0) < US);
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2) < US);
	CHECK(fake.pauses == 0 && fake.yields == 0);
	CHECK(about(spin_for(HANDOFF_WAIT_YIELD, 0, 0), FIXED_DEFAULT));
	/* What is known of the machine is asked again after 10 ms. */
	fake.cpus = 2;
	for (end = fake.now + 11 * MS; fake.now < end; fake.now += MS)
		spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2);
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2), SPIN_DEFAULT));
}

static void nobody_spins_on_a_machine_with_one_cpu(void **state)
{
	(void)state;
	in_child(one_cpu_cases);
}

static void realtime_cases(void)
{
	fake.realtime = 1;
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2) < US);
	CHECK(spin_for(HANDOFF_WAIT_YIELD, 0, 2) < US);
	CHECK(fake.pauses == 0 && fake.yields == 0);
}

static void nobody_spins_or_yields_in_a_realtime_class(void **state)
{
	(void)state;
	in_child(realtime_cases);
}

static void block_cases(void)
{
	CHECK(spin_for(HANDOFF_WAIT_BLOCK, 0, 0) == 0);
	CHECK(spin_for(HANDOFF_WAIT_BLOCK, 900 * MS, 2) == 0);
	CHECK(fake.pauses == 0 && fake.yields == 0 && fake.clocks == 0);
}

static void block_never_spins(void **state)
{
	(void)state;
	in_child(block_cases);
}

static void yield_cases(void)
{
	static const uint64_t costs[] = { 200, 3 * US, 100 * US };

	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
		fake.yield_ns = costs[i];
		CHECK(about(spin_for(HANDOFF_WAIT_YIELD, 0, 0), FIXED_DEFAULT));
	}
	CHECK(fake.yields > 0 && fake.pauses == 0);
	/* Strangers run for a whole timeslice: that was one too many. */
	fake.yield_ns = 4 * MS;
	CHECK(spin_for(HANDOFF_WAIT_YIELD, 0, 0) < 5 * MS);
}

static void yielding_offers_the_cpu_and_ends_at_the_limit(void **state)
{
	(void)state;
	in_child(yield_cases);
}

/* ---- HANDOFF_WAIT ------------------------------------------------------------------ */

static const char *setting;

/* What a process does whose variable is `setting`: a wait of an object that
 * spins for 50 us. */
static uint64_t with_setting(void)
{
	fake.setting = setting;
	return spin_for(HANDOFF_WAIT_SPIN, 50 * US, fake.cpu);
}

static void setting_spin(void)
{
	CHECK(about(with_setting(), FIXED_DEFAULT));
	CHECK(fake.pauses > 0 && fake.yields == 0);
}

static void setting_spin_20us(void)
{
	CHECK(about(with_setting(), 20 * US));
	CHECK(fake.pauses > 0 && fake.yields == 0);
}

static void setting_spin_3ms(void)
{
	CHECK(about(with_setting(), 3 * MS));
}

static void setting_spin_1s(void)
{
	CHECK(about(with_setting(), SECOND));
}

static void setting_spin_5000ns(void)
{
	CHECK(about(with_setting(), 5 * US));
}

static void setting_yield(void)
{
	CHECK(about(with_setting(), FIXED_DEFAULT));
	CHECK(fake.pauses == 0 && fake.yields > 0);
}

static void setting_yield_80us(void)
{
	CHECK(about(with_setting(), 80 * US));
	CHECK(fake.pauses == 0 && fake.yields > 0);
}

static void setting_block(void)
{
	CHECK(with_setting() == 0);
	CHECK(fake.pauses == 0 && fake.yields == 0);
}

/* The partner is on this CPU. */
static void setting_adaptive(void)
{
	CHECK(with_setting() < US);
	CHECK(fake.pauses == 0 && fake.yields == 0);
	CHECK(about(spin_for(HANDOFF_WAIT_BLOCK, 0, 0), SPIN_DEFAULT));
}

static void setting_ignored(void)
{
	CHECK(about(with_setting(), 50 * US));
	CHECK(fake.warnings == 0);
}

static void setting_bad(void)
{
	CHECK(about(with_setting(), 50 * US));
	CHECK(fake.warnings == 1);
	CHECK(strstr(fake.warned, "HANDOFF_WAIT") != NULL);
	CHECK(fake.warned[strlen(fake.warned) - 1] == '\n');
	for (int i = 0; i < 10; i++)
		with_setting();
	CHECK(fake.warnings == 1);
	CHECK(fake.settings == 1);
	CHECK(spin_for(HANDOFF_WAIT_BLOCK, 0, 0) == 0);
}

static void the_variable_overrides_policy_and_limit(void **state)
{
	static const struct {
		const char *text;
		void (*run)(void);
	} cases[] = {
		{ "spin", setting_spin },
		{ "spin:20us", setting_spin_20us },
		{ "spin:3ms", setting_spin_3ms },
		{ "spin:1000ms", setting_spin_1s },
		{ "spin:5000ns", setting_spin_5000ns },
		{ "yield", setting_yield },
		{ "yield:80us", setting_yield_80us },
		{ "block", setting_block },
		{ "block:1us", setting_block },
		{ "adaptive", setting_adaptive },
		{ NULL, setting_ignored },
		{ "", setting_ignored },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		setting = cases[i].text;
		in_child(cases[i].run);
	}
}

static void a_bad_variable_is_reported_once_and_ignored(void **state)
{
	static const char *const bad[] = {
		"spinn",
		"Spin",
		"spi",
		"spin ",
		" spin",
		"spin:",
		"spin:20",
		"spin:20 us",
		"spin:20s",
		"spin:us",
		"spin:0us",
		"spin:-1us",
		"spin:1.5us",
		"spin:1001ms",
		"spin:1000000001ns",
		"spin:18446744073709551636ns",
		"spin:99999999999999999999us",
		"spin:20us:",
		"spinx20us",
		"yield:",
		"block:0ns",
		"none",
		"0",
		":20us",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setting = bad[i];
		in_child(setting_bad);
	}
}

/* ---- Deadlines ----------------------------------------------------------------------- */

static void deadline_cases(void)
{
	static const uint64_t before[] = { SECOND, 1, 0 };
	struct handoff__wait w;
	uint64_t deadline;

	for (unsigned policy = 0; policy <= HANDOFF_WAIT_BLOCK; policy++) {
		deadline = 0; /* the oldest there is */
		begin(&w, policy, 0, deadline, true);
		CHECK(spin(&w, 0) < US);
		CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
		handoff__wait_end(&w);
		for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
			deadline = fake.now - before[i];
			begin(&w, policy, 0, deadline, true);
			CHECK(spin(&w, 0) < US);
			CHECK(handoff__wait_park(&w, &place, 7) ==
			    HANDOFF__DEADLINE);
			handoff__wait_end(&w);
		}
		deadline = fake.now + 1;
		begin(&w, policy, 0, deadline, true);
		CHECK(spin(&w, 0) < US);
		CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
		handoff__wait_end(&w);
	}
	CHECK(fake.parks == 0 && fake.pauses == 0 && fake.yields == 0);
	CHECK(fake.parkers == 0);
}

static void a_passed_deadline_means_no_wait_at_all(void **state)
{
	(void)state;
	in_child(deadline_cases);
}

static void deadline_spin_cases(void)
{
	struct handoff__wait w;

	begin(&w, HANDOFF_WAIT_SPIN, 900 * MS, fake.now + 30 * US, true);
	CHECK(about(spin(&w, 0), 30 * US));
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	handoff__wait_end(&w);
	CHECK(fake.parks == 0);
}

static void a_deadline_ends_spinning(void **state)
{
	(void)state;
	in_child(deadline_spin_cases);
}

static void deadline_park_cases(void)
{
	struct handoff__wait w;
	uint64_t deadline = fake.now + MS;

	begin(&w, HANDOFF_WAIT_BLOCK, 0, deadline, true);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	CHECK(fake.parks == 1 && fake.parked[0].until == deadline);
	CHECK(fake.parked[0].expected == 7);
	CHECK(fake.parked[0].place.word == &word);
	/* And from then on without parking. */
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	CHECK(fake.parks == 1);
	handoff__wait_end(&w);
	/* Slices, then what is left of it. */
	deadline = fake.now + 20 * MS;
	begin(&w, HANDOFF_WAIT_BLOCK, 0, deadline, true);
	while (handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE)
		CHECK(fake.now < deadline);
	CHECK(fake.parked[fake.parks - 1].until == deadline);
	CHECK(fake.parks > 3);
	CHECK(fake.now < deadline + US);
	handoff__wait_end(&w);
}

static void a_deadline_shorter_than_the_slice_ends_the_park(void **state)
{
	(void)state;
	in_child(deadline_park_cases);
}

/* ---- Slices ---------------------------------------------------------------------------- */

/* Parks `n` times; each slice is between half and all of `first` doubled up
 * to `longest`, times `factor`. */
static void slices(bool owned, uint64_t first, uint64_t longest, unsigned n,
    uint64_t factor, uint64_t most)
{
	struct handoff__wait w;
	uint64_t length = first;

	fake.parks = 0;
	begin(&w, HANDOFF_WAIT_BLOCK, 0, HANDOFF_NEVER, owned);
	for (unsigned i = 0; i < n; i++) {
		uint64_t whole = length * factor < most ? length * factor :
		                                          most;
		uint64_t got;

		CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
		got = fake.parked[i].until - fake.parked[i].from;
		CHECK(got >= whole / 2 && got <= whole);
		length = length * 2 < longest ? length * 2 : longest;
	}
	handoff__wait_end(&w);
	CHECK(!fake.forever);
}

static void slice_cases(void)
{
	for (int i = 0; i < 20; i++) {
		slices(true, 4 * MS, 128 * MS, 10, 1, HOUR);
		slices(false, 128 * MS, SECOND, 10, 1, HOUR);
	}
	CHECK(fake.parkers == 0);
	fake.uncounted = true;
	slices(true, 4 * MS, 128 * MS, 10, 1, HOUR);
}

static void slices_double_from_4_to_128_ms_or_from_128_ms_to_1_s(void **state)
{
	(void)state;
	in_child(slice_cases);
}

static void jitter_cases(void)
{
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;
	struct handoff__wait w;
	unsigned same = 0;

	begin(&w, HANDOFF_WAIT_BLOCK, 0, HANDOFF_NEVER, false);
	for (unsigned i = 0; i < FAKE_PARKS; i++) {
		uint64_t got;

		CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
		got = fake.parked[i].until - fake.parked[i].from;
		if (i < 4)
			continue;
		least = got < least ? got : least;
		most = got > most ? got : most;
		same += got ==
		    fake.parked[i - 1].until - fake.parked[i - 1].from;
	}
	handoff__wait_end(&w);
	CHECK(least >= SECOND / 2 && least < SECOND / 100 * 55);
	CHECK(most <= SECOND && most > SECOND / 100 * 95);
	CHECK(same < 10);
}

static void slices_are_spread_between_half_and_all(void **state)
{
	(void)state;
	in_child(jitter_cases);
}

static void crowd_cases(void)
{
	fake.parkers = 3; /* and this one */
	slices(true, 4 * MS, 128 * MS, 8, 1, HOUR);
	CHECK(fake.parkers == 3);
	fake.parkers = 7;
	slices(true, 4 * MS, 128 * MS, 8, 2, 2 * (uint64_t)SECOND);
	slices(false, 128 * MS, SECOND, 8, 2, 2 * (uint64_t)SECOND);
	fake.parkers = 39;
	slices(true, 4 * MS, 128 * MS, 8, 10, 2 * (uint64_t)SECOND);
	fake.parkers = 4999;
	slices(true, 4 * MS, 128 * MS, 8, 1250, 2 * (uint64_t)SECOND);
	slices(false, 128 * MS, SECOND, 8, 1250, 2 * (uint64_t)SECOND);
	CHECK(fake.parkers == 4999);
}

static void more_than_four_parkers_lengthen_the_slices_up_to_2_s(void **state)
{
	(void)state;
	in_child(crowd_cases);
}

/* ---- Why a park ended -------------------------------------------------------------------- */

static void reason_cases(void)
{
	struct handoff__wait w;
	uint64_t deadline = fake.now + 3 * (uint64_t)SECOND;

	begin(&w, HANDOFF_WAIT_BLOCK, 0, deadline, true);
	fake.park = FAKE_DIFFERS;
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__WOKEN);
	fake.park = FAKE_EARLY;
	fake.early = MS;
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__WOKEN);
	CHECK(fake.parkers == 1);
	fake.park = FAKE_EXPIRES;
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
	/* So late that the deadline has passed: still a slice's end, so that
	 * one looks, and the next does not sleep. */
	fake.park = FAKE_LATE;
	fake.late = 5 * (uint64_t)SECOND;
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
	CHECK(fake.now > deadline);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	CHECK(fake.parks == 4);
	handoff__wait_end(&w);
	CHECK(fake.parkers == 0);
	/* Woken when the deadline has passed already: a wake was used up. */
	begin(&w, HANDOFF_WAIT_BLOCK, 0, fake.now + 2 * MS, true);
	fake.park = FAKE_EARLY;
	fake.jump_at = fake.now + MS / 2;
	fake.jump_ns = SECOND;
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__WOKEN);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	handoff__wait_end(&w);
}

static void wakes_slices_and_deadlines_are_told_apart(void **state)
{
	(void)state;
	in_child(reason_cases);
}

static void jump_cases(void)
{
	struct handoff__wait w;

	/* While spinning. */
	begin(&w, HANDOFF_WAIT_SPIN, 900 * MS, HANDOFF_NEVER, true);
	fake.jump_at = fake.now + 10 * US;
	fake.jump_ns = HOUR;
	CHECK(about(spin(&w, 0) - HOUR, 10 * US));
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
	/* While parked: the slices go on as before. */
	fake.jump_at = fake.now + MS;
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__SLICE);
	CHECK(fake.parked[2].until - fake.parked[2].from >= 8 * MS);
	CHECK(fake.parked[2].until - fake.parked[2].from <= 16 * MS);
	handoff__wait_end(&w);
	/* Over the deadline. */
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, fake.now + SECOND, true);
	fake.jump_at = fake.now + 10 * US;
	CHECK(spin(&w, 0) > HOUR);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	handoff__wait_end(&w);
	CHECK(fake.parks == 3);
	/* What was known of the machine is asked again. */
	fake.cpus = 1;
	fake.now += HOUR;
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0) < US);
}

static void a_clock_that_jumps_an_hour_does_no_harm(void **state)
{
	(void)state;
	in_child(jump_cases);
}

#ifdef HANDOFF__TEST
static void endless_cases(void)
{
	struct handoff__wait w;

	handoff__slices = 0;
	begin(&w, HANDOFF_WAIT_BLOCK, 0, HANDOFF_NEVER, true);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__WOKEN);
	CHECK(fake.forever);
	handoff__wait_end(&w);
	begin(&w, HANDOFF_WAIT_BLOCK, 0, fake.now + HOUR, true);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
	CHECK(fake.parks == 2);
	handoff__wait_end(&w);
}

static void without_slices_a_park_ends_by_wake_or_deadline(void **state)
{
	(void)state;
	in_child(endless_cases);
}
#endif

/* ---- The quiet before the first look -------------------------------------------------------- */

static void learn_cases(void)
{
	struct handoff__self self = { .quiet = 0 };
	struct handoff__wait w;
	uint64_t from;

	for (int i = 0; i < 100000; i++)
		handoff__wait_learn(&self, false);
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	from = fake.now;
	handoff__wait_quiet(&w, 2, &self, &word);
	CHECK(fake.pauses > 0 && fake.pauses <= 32);
	CHECK(fake.now - from < 2 * US);
	CHECK(fake.fetches == 1 && fake.fetched == &word);
	CHECK(about(spin(&w, 2), SPIN_DEFAULT)); /* it spins all the same */
	handoff__wait_end(&w);
	for (int i = 0; i < 100000; i++)
		handoff__wait_learn(&self, true);
	fake.pauses = 0;
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, 2, &self, &word);
	CHECK(fake.pauses == 0);
	handoff__wait_end(&w);
}

static void the_quiet_before_the_first_look_is_learnt_and_short(void **state)
{
	(void)state;
	in_child(learn_cases);
}

static void quiet_cases(void)
{
	struct handoff__self self = { .quiet = 0 };
	struct handoff__wait w;

	for (int i = 0; i < 100000; i++)
		handoff__wait_learn(&self, false);
	begin(&w, HANDOFF_WAIT_BLOCK, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, 2, &self, &word);
	begin(&w, HANDOFF_WAIT_YIELD, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, 2, &self, &word);
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, fake.cpu, &self, &word);
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, fake.now, false);
	handoff__wait_quiet(&w, 2, &self, &word);
	CHECK(fake.pauses == 0 && fake.yields == 0);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
}

static void nobody_is_quiet_who_may_not_spin(void **state)
{
	(void)state;
	in_child(quiet_cases);
}

static void nap_cases(void)
{
	uint64_t from = fake.now;

	handoff__nap(3 * MS);
	CHECK(fake.parks == 1);
	CHECK(about(fake.now - from, 3 * MS));
}

static void a_nap_lasts_as_long_as_it_is_told(void **state)
{
	(void)state;
	in_child(nap_cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinning_ends_at_the_limit),
		cmocka_unit_test(the_limit_is_the_one_of_the_attributes),
		cmocka_unit_test(nobody_spins_on_the_cpu_of_the_partner),
		cmocka_unit_test(nobody_spins_on_a_machine_with_one_cpu),
		cmocka_unit_test(nobody_spins_or_yields_in_a_realtime_class),
		cmocka_unit_test(block_never_spins),
		cmocka_unit_test(yielding_offers_the_cpu_and_ends_at_the_limit),
		cmocka_unit_test(the_variable_overrides_policy_and_limit),
		cmocka_unit_test(a_bad_variable_is_reported_once_and_ignored),
		cmocka_unit_test(a_passed_deadline_means_no_wait_at_all),
		cmocka_unit_test(a_deadline_ends_spinning),
		cmocka_unit_test(
		    a_deadline_shorter_than_the_slice_ends_the_park),
		cmocka_unit_test(
		    slices_double_from_4_to_128_ms_or_from_128_ms_to_1_s),
		cmocka_unit_test(slices_are_spread_between_half_and_all),
		cmocka_unit_test(
		    more_than_four_parkers_lengthen_the_slices_up_to_2_s),
		cmocka_unit_test(wakes_slices_and_deadlines_are_told_apart),
		cmocka_unit_test(a_clock_that_jumps_an_hour_does_no_harm),
#ifdef HANDOFF__TEST
		cmocka_unit_test(
		    without_slices_a_park_ends_by_wake_or_deadline),
#endif
		cmocka_unit_test(
		    the_quiet_before_the_first_look_is_learnt_and_short),
		cmocka_unit_test(nobody_is_quiet_who_may_not_spin),
		cmocka_unit_test(a_nap_lasts_as_long_as_it_is_told),
	};

	return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
