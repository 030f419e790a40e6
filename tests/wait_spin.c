/* SPDX-License-Identifier: ISC */
/* The waiting engine against a fake port: who spins, and for how long. */
#include "wait_case.h"

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
	/* Of the adaptive policy it is the most. */
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 2 * MS, 0), SPIN_DEFAULT));
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
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 3) < 3 * US);
	CHECK(fake.pauses == 0 && fake.yields <= 4);
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
	/* The few looks before anything is known. */
	spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0);
	CHECK(fake.pauses < 10);
	fake.pauses = fake.yields = 0;
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0) < 3 * US);
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2) < 3 * US);
	CHECK(fake.pauses == 0 && fake.yields <= 8);
	CHECK(about(spin_for(HANDOFF_WAIT_YIELD, 0, 0), FIXED_DEFAULT));
	/* What is known of the machine is asked again after half a second. */
	fake.cpus = 2;
	for (end = fake.now + 501 * MS; fake.now < end; fake.now += MS)
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
	/* On another CPU it cannot be one that we keep from running. */
	CHECK(about(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 2), SPIN_DEFAULT));
	fake.pauses = 0;
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, fake.cpu) < US);
	CHECK(spin_for(HANDOFF_WAIT_ADAPTIVE, 0, 0) < US);
	CHECK(spin_for(HANDOFF_WAIT_YIELD, 0, 2) < US);
	CHECK(fake.pauses < 10 && fake.yields == 0);
}

static void nobody_yields_and_few_spin_in_a_realtime_class(void **state)
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

/* ---- Yielding, adaptive ------------------------------------------------ */

/* One step at a time, as for one that finds what it waits for after the first
 * yield: how many there were in `n` waits. */
static unsigned yields_in(unsigned n)
{
	unsigned before = fake.yields;

	for (unsigned i = 0; i < n; i++) {
		struct handoff__wait w;

		begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
		if (handoff__wait_spin(&w, fake.cpu))
			handoff__wait_end(&w);
		else
			handoff__wait_park(&w, &place, 7);
	}
	return fake.yields - before;
}

static void adaptive_yield_cases(void)
{
	fake.park = FAKE_DIFFERS;
	fake.runnable = 2;
	CHECK(yields_in(1000) == 1000);
	CHECK(fake.parks == 0);
	/* A stranger: known after 50 ms. */
	fake.runnable = 3;
	fake.now += 51 * MS;
	yields_in(8);
	CHECK(yields_in(1000) == 0);
	fake.runnable = 1;
	for (int i = 0; i < 20; i++) {
		fake.now += 51 * MS;
		yields_in(1);
	}
	CHECK(yields_in(1000) == 1000);
	/* One that nobody told us of: a few yields, then none for a while. */
	fake.runnable = 0;
	fake.now += 51 * MS;
	fake.yield_ns = 4 * MS;
	CHECK(yields_in(20) <= 10);
	CHECK(yields_in(1) == 0);
	/* Each time for longer. */
	fake.now += SECOND;
	CHECK(yields_in(20) <= 4);
	fake.now += 50 * MS;
	CHECK(yields_in(20) == 0);
}

static void strangers_on_the_cpu_end_yielding(void **state)
{
	(void)state;
	in_child(adaptive_yield_cases);
}

static void barren_cases(void)
{
	unsigned yields;

	/* The partner sleeps: yields find nothing, and become rare. */
	for (int i = 0; i < 1000; i++) {
		struct handoff__wait w;

		begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
		spin(&w, fake.cpu);
		handoff__wait_park(&w, &place, 7);
		handoff__wait_end(&w);
	}
	CHECK(fake.yields < 100);
	/* And are back when they find something. */
	yields_in(600);
	yields = yields_in(100);
	CHECK(yields == 100);
}

static void yields_that_find_nothing_become_rare(void **state)
{
	(void)state;
	in_child(barren_cases);
}

static bool trusts(unsigned policy, unsigned partner, uint64_t deadline)
{
	struct handoff__head h = head(policy, 0);

	return handoff__wait_trust(handoff__self_pointer, &h, partner,
	    deadline);
}

static bool trusts_here(void)
{
	return trusts(HANDOFF_WAIT_ADAPTIVE, fake.cpu, HANDOFF_NEVER);
}

/* So many timed yields of usual length, each of which ends a wait; then, and
 * not before, some are trusted. */
static void earn_trust(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		CHECK(!trusts_here());
		CHECK(yields_in(1) == 1);
	}
}

static void trust_cases(void)
{
	struct handoff__wait w;

	earn_trust(17); /* the first one came long after any other */
	fake.yields = 0;
	CHECK(!trusts(HANDOFF_WAIT_BLOCK, fake.cpu, HANDOFF_NEVER));
	CHECK(!trusts(HANDOFF_WAIT_ADAPTIVE, 2, HANDOFF_NEVER));
	CHECK(!trusts(HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER));
	CHECK(!trusts(HANDOFF_WAIT_ADAPTIVE, fake.cpu, fake.now + SECOND));
	CHECK(fake.yields == 0);
	for (int i = 0; i < 3; i++)
		CHECK(trusts_here());
	CHECK(fake.yields == 3);
	earn_trust(1);
	/* A wait that has to begin ends it. */
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	CHECK(!trusts_here());
	handoff__wait_end(&w);
	earn_trust(1);
	/* One among them that took long is noticed: the next one comes late. */
	CHECK(trusts_here());
	fake.now += 4 * MS;
	CHECK(trusts_here() && trusts_here());
	earn_trust(17);
	CHECK(trusts_here());
	/* So is one that is timed. */
	fake.yield_ns = 4 * MS;
	CHECK(yields_in(1) == 1);
	CHECK(!trusts_here());
}

static void a_few_yields_are_made_on_trust(void **state)
{
	(void)state;
	in_child(trust_cases);
}

/* ---- HANDOFF_WAIT ------------------------------------------------------------------ */

#define SETTING "TEST_SETTING" /* what the child takes for the variable */

/* What a process does that has this variable: a wait of an object that spins for
 * 50 us. */
static uint64_t with_setting(void)
{
	fake.setting = getenv(SETTING);
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
	CHECK(with_setting() < 3 * US);
	CHECK(fake.pauses == 0 && fake.yields <= 4);
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
		if (cases[i].text)
			setenv(SETTING, cases[i].text, 1);
		else
			unsetenv(SETTING);
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
		setenv(SETTING, bad[i], 1);
		in_child(setting_bad);
	}
}

/* ---- The quiet before the first look -------------------------------------------------------- */

static void learn_cases(void)
{
	struct handoff__self *self = handoff__self_pointer;
	struct handoff__wait w;
	uint64_t from;

	for (int i = 0; i < 100000; i++)
		handoff__wait_learn(self, false);
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	from = fake.now;
	handoff__wait_quiet(&w, 2, &word);
	CHECK(fake.pauses > 0 && fake.pauses <= 32);
	CHECK(fake.now - from < 2 * US);
	CHECK(fake.fetches == 1 && fake.fetched == &word);
	CHECK(about(spin(&w, 2), SPIN_DEFAULT)); /* it spins all the same */
	handoff__wait_end(&w);
	for (int i = 0; i < 100000; i++)
		handoff__wait_learn(self, true);
	fake.pauses = 0;
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, 2, &word);
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
	struct handoff__self *self = handoff__self_pointer;
	struct handoff__wait w;

	for (int i = 0; i < 100000; i++)
		handoff__wait_learn(self, false);
	begin(&w, HANDOFF_WAIT_BLOCK, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, 2, &word);
	begin(&w, HANDOFF_WAIT_YIELD, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, 2, &word);
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, HANDOFF_NEVER, false);
	handoff__wait_quiet(&w, fake.cpu, &word);
	begin(&w, HANDOFF_WAIT_ADAPTIVE, 0, fake.now, false);
	handoff__wait_quiet(&w, 2, &word);
	CHECK(fake.pauses == 0 && fake.yields == 0);
	CHECK(handoff__wait_park(&w, &place, 7) == HANDOFF__DEADLINE);
}

static void nobody_is_quiet_who_may_not_spin(void **state)
{
	(void)state;
	in_child(quiet_cases);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinning_ends_at_the_limit),
		cmocka_unit_test(the_limit_is_the_one_of_the_attributes),
		cmocka_unit_test(nobody_spins_on_the_cpu_of_the_partner),
		cmocka_unit_test(nobody_spins_on_a_machine_with_one_cpu),
		cmocka_unit_test(
		    nobody_yields_and_few_spin_in_a_realtime_class),
		cmocka_unit_test(block_never_spins),
		cmocka_unit_test(yielding_offers_the_cpu_and_ends_at_the_limit),
		cmocka_unit_test(strangers_on_the_cpu_end_yielding),
		cmocka_unit_test(yields_that_find_nothing_become_rare),
		cmocka_unit_test(a_few_yields_are_made_on_trust),
		cmocka_unit_test(the_variable_overrides_policy_and_limit),
		cmocka_unit_test(a_bad_variable_is_reported_once_and_ignored),
		cmocka_unit_test(
		    the_quiet_before_the_first_look_is_learnt_and_short),
		cmocka_unit_test(nobody_is_quiet_who_may_not_spin),
	};

	fake_begin();
	begin_apart(argc, argv);
	return cmocka_run_group_tests_name("wait_spin", tests, NULL, NULL);
}
