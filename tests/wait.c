/* SPDX-License-Identifier: ISC */
/* The waiting engine against a fake port: deadlines, slices, parks. */
#include "wait_case.h"

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
	deadline = fake.now + 80 * MS;
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

/* Parks `n` times; each slice is between 7/8 and all of `first` doubled up
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
		CHECK(got >= whole / 8 * 7 && got <= whole);
		length = length * 2 < longest ? length * 2 : longest;
	}
	handoff__wait_end(&w);
	CHECK(!fake.forever);
}

static void slice_cases(void)
{
	for (int i = 0; i < 20; i++) {
		slices(true, 16 * MS, 128 * MS, 10, 1, HOUR);
		slices(false, 250 * MS, 1250 * MS, 10, 1, HOUR);
	}
	CHECK(fake.parkers == 0);
	fake.uncounted = true;
	slices(true, 16 * MS, 128 * MS, 10, 1, HOUR);
}

static void slices_double_from_16_to_128_ms_or_from_250_to_1250_ms(void **state)
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
	CHECK(least >= 1093 * (uint64_t)MS && least < 1110 * MS);
	CHECK(most <= 1250 * MS && most > 1235 * MS);
	CHECK(same < 10);
}

static void slices_are_spread_over_the_last_eighth(void **state)
{
	(void)state;
	in_child(jitter_cases);
}

static void crowd_cases(void)
{
	fake.parkers = 3; /* and this one */
	slices(true, 16 * MS, 128 * MS, 8, 1, HOUR);
	CHECK(fake.parkers == 3);
	fake.parkers = 7;
	slices(true, 16 * MS, 128 * MS, 8, 2, 2 * (uint64_t)SECOND);
	slices(false, 250 * MS, 1250 * MS, 8, 2, 2 * (uint64_t)SECOND);
	fake.parkers = 39;
	slices(true, 16 * MS, 128 * MS, 8, 10, 2 * (uint64_t)SECOND);
	fake.parkers = 4999;
	slices(true, 16 * MS, 128 * MS, 8, 1250, 2 * (uint64_t)SECOND);
	slices(false, 250 * MS, 1250 * MS, 8, 1250, 2 * (uint64_t)SECOND);
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

/* `n` waits that end with a wake, 1 ms after they began to park. */
static void woken_after(unsigned n, uint64_t wake_ns, bool told)
{
	fake.park = FAKE_EARLY;
	fake.early = MS;
	fake.wake_ns = wake_ns;
	for (unsigned i = 0; i < n; i++) {
		struct handoff__wait w;

		begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
		fake.woken = told ?
		    (_Atomic uint32_t *)(uintptr_t)&w.head->woken :
		    NULL;
		spin(&w, 2);
		CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__WOKEN);
		handoff__wait_end(&w);
	}
}

static void wake_time_cases(void)
{
	const struct handoff__machine *m =
	    &handoff__self_pointer->learnt.machine;
	uint32_t before;

	woken_after(100, 10 * US, true);
	CHECK(m->wake_ns > 9 * US && m->wake_ns < 11 * US);
	woken_after(100, 80 * US, true);
	CHECK(m->wake_ns > 75 * US && m->wake_ns < 85 * US);
	/* One that came much later had other reasons. */
	before = m->wake_ns;
	woken_after(10, 50 * MS, true);
	CHECK(m->wake_ns == before);
	/* Nobody left a time. */
	woken_after(10, 1 * US, false);
	CHECK(m->wake_ns == before);
}

static void what_a_wake_takes_is_learnt(void **state)
{
	(void)state;
	in_child(wake_time_cases);
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
	CHECK(fake.parked[2].until - fake.parked[2].from >= 32 * MS);
	CHECK(fake.parked[2].until - fake.parked[2].from <= 64 * MS);
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
	fake.pauses = 0;
	spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0);
	CHECK(fake.pauses < 10);
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

/* ---- Naps -------------------------------------------------------------- */

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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_passed_deadline_means_no_wait_at_all),
		cmocka_unit_test(a_deadline_ends_spinning),
		cmocka_unit_test(
		    a_deadline_shorter_than_the_slice_ends_the_park),
		cmocka_unit_test(
		    slices_double_from_16_to_128_ms_or_from_250_to_1250_ms),
		cmocka_unit_test(slices_are_spread_over_the_last_eighth),
		cmocka_unit_test(
		    more_than_four_parkers_lengthen_the_slices_up_to_2_s),
		cmocka_unit_test(wakes_slices_and_deadlines_are_told_apart),
		cmocka_unit_test(what_a_wake_takes_is_learnt),
		cmocka_unit_test(a_clock_that_jumps_an_hour_does_no_harm),
#ifdef HANDOFF__TEST
		cmocka_unit_test(
		    without_slices_a_park_ends_by_wake_or_deadline),
#endif
		cmocka_unit_test(a_nap_lasts_as_long_as_it_is_told),
	};

	fake_begin();
	begin_apart(argc, argv);
	return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
