/* SPDX-License-Identifier: ISC */
/* The rules that the estimator keeps whatever it is told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "estimator.h"

#define US 1000u
#define MS 1000000u
#define NEVER_PARKED UINT32_MAX

static const struct handoff__machine two_cpus = { .cpus = 2,
	.wake_ns = 10 * US };

static struct handoff__budget plan(struct handoff__history *h,
    const struct handoff__machine *m)
{
	return handoff__plan(h, m, HANDOFF__ELSEWHERE, 0, 0);
}

/* One wait of `ns` as its waiter sees it; returns the budget it had. */
static uint32_t wait_for(struct handoff__history *h,
    const struct handoff__machine *m, uint64_t ns)
{
	uint32_t spin = plan(h, m).spin;

	handoff__learn(h, m, ns, ns <= spin ? NEVER_PARKED : spin);
	return spin;
}

static void wait_often(struct handoff__history *h,
    const struct handoff__machine *m, uint64_t ns, unsigned times)
{
	while (times-- > 0)
		wait_for(h, m, ns);
}

/* Durations of all magnitudes, the same in each run. */
static uint64_t any_duration(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 20) >> (*state >> 58) % 44;
}

/* ---- Bounds ------------------------------------------------------------ */

/* The most by default, from the price alone. */
static uint32_t default_bound(const struct handoff__machine *m)
{
	uint32_t ns = 2 * handoff__price(m);

	if (ns < 20 * US)
		return 20 * US;
	return ns < 500 * US ? ns : 500 * US;
}

/* Returns the greatest budget of many waits. */
static uint32_t keeps_bound(const struct handoff__machine *m, uint32_t most,
    uint32_t bound)
{
	struct handoff__history h = { 0 };
	struct handoff__budget budget;
	uint32_t greatest = 0, all;
	uint64_t state = 1, ns;

	for (unsigned i = 0; i < 3000; i++) {
		/* Also a long time of waits that are better spun. */
		ns = i < 1000 ? bound / 2 : any_duration(&state);
		budget = handoff__plan(&h, m, (enum handoff__where)(i % 3),
		    most, i * (uint64_t)MS);
		all = budget.spin + budget.yield;
		assert_true(budget.spin <= bound && budget.yield <= bound);
		assert_true(all <= bound);
		greatest = all > greatest ? all : greatest;
		handoff__learn(&h, m, ns,
		    ns <= budget.spin ? NEVER_PARKED : budget.spin);
	}
	return greatest;
}

static void a_budget_is_at_most_twice_the_price_or_what_was_asked(void **state)
{
	static const uint32_t wakes[] = { 0, 1, 500, 3 * US, 10 * US, 35 * US,
		200 * US, MS };
	static const uint32_t mosts[] = { 1, 7 * US, 30 * US, 2 * MS };
	struct handoff__machine m = two_cpus;

	(void)state;
	for (size_t i = 0; i < sizeof wakes / sizeof *wakes; i++) {
		m.wake_ns = wakes[i];
		assert_true(keeps_bound(&m, 0, default_bound(&m)) > 0);
		for (size_t k = 0; k < sizeof mosts / sizeof *mosts; k++)
			assert_true(keeps_bound(&m, mosts[k], mosts[k]) > 0);
	}
}

static void under_a_quota_it_is_at_most_the_price(void **state)
{
	static const uint32_t quotas[] = { 1, 500, 1000, 1999 };
	struct handoff__machine m = two_cpus;

	(void)state;
	for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
		m.quota = quotas[i];
		keeps_bound(&m, 0, handoff__price(&m));
		keeps_bound(&m, 2 * MS, handoff__price(&m));
	}
}

/* ---- Long waits -------------------------------------------------------- */

/* Long waits after `before` of `ns` each: the budget never rises, but for the
 * probes, is next to nothing after 100 waits, and nothing after 400. */
static void goes_down_after(uint64_t ns, unsigned before)
{
	struct handoff__history h = { 0 };
	uint32_t price = handoff__price(&two_cpus);
	uint32_t spin, last = UINT32_MAX;
	unsigned probes = 0;

	wait_often(&h, &two_cpus, ns, before);
	for (unsigned i = 0; i < 464; i++) {
		spin = wait_for(&h, &two_cpus, 100 * (uint64_t)price);
		if (spin == price && last < price) {
			probes++;
			continue;
		}
		assert_true(spin <= last);
		assert_true(i < 100 || spin <= price / 20);
		assert_true(i < 400 || spin == 0);
		last = spin;
	}
	assert_true(probes <= 464 / 64);
}

static void failed_spins_lower_the_budget_to_zero(void **state)
{
	uint32_t price = handoff__price(&two_cpus);

	(void)state;
	goes_down_after(0, 0);
	for (unsigned before = 1; before <= 10000; before *= 10) {
		goes_down_after(100, before);
		goes_down_after(5 * US, before);
		goes_down_after(price * 9 / 10, before);
		goes_down_after(price * 3 / 2, before);
	}
}

static void probes_cost_at_most_a_twentieth(void **state)
{
	struct handoff__history h = { 0 };
	uint64_t price = handoff__price(&two_cpus), sum = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		sum += wait_for(&h, &two_cpus, 100 * price);
	assert_true(sum <= 10000 * price / 20);
}

/* A wait that parks is never reported as short: the wake takes its time. */
static void comes_back(uint64_t ns, unsigned before)
{
	struct handoff__history h = { 0 };
	uint64_t price = handoff__price(&two_cpus);
	unsigned spun = 0;
	uint32_t spin;

	wait_often(&h, &two_cpus, 100 * price, before);
	for (unsigned i = 0; i < 200; i++) {
		spin = plan(&h, &two_cpus).spin;
		if (ns <= spin)
			handoff__learn(&h, &two_cpus, ns, NEVER_PARKED);
		else
			handoff__learn(&h, &two_cpus, price, spin);
		spun += i >= 100 && ns <= spin;
	}
	assert_true(spun >= 90);
}

static void zero_does_not_last_when_waits_become_short(void **state)
{
	uint64_t price = handoff__price(&two_cpus);

	(void)state;
	for (unsigned before = 100; before <= 10100; before += 1000) {
		comes_back(200, before);
		comes_back(price / 10, before);
		comes_back(price / 2, before);
	}
}

/* ---- Where ------------------------------------------------------------- */

static void nothing_is_spun_where_the_other_cannot_run(void **state)
{
	struct handoff__machine one_cpu = two_cpus;
	struct handoff__history h = { 0 };

	(void)state;
	one_cpu.cpus = 1;
	for (unsigned i = 0; i < 200; i++) {
		for (int where = 0; where < 3; where++)
			assert_true(handoff__plan(&h, &one_cpu,
			                (enum handoff__where)where, 0, i)
			                .spin == 0);
		assert_true(
		    handoff__plan(&h, &two_cpus, HANDOFF__HERE, 0, i).spin ==
		    0);
		wait_for(&h, &two_cpus, 500);
	}
	assert_true(plan(&h, &two_cpus).spin > 0);
}

static bool yields(const struct handoff__machine *m, enum handoff__where where,
    uint64_t now)
{
	struct handoff__history h = { 0 };

	return handoff__plan(&h, m, where, 0, now).yield > 0;
}

static void it_yields_only_to_one_that_is_here(void **state)
{
	(void)state;
	assert_true(yields(&two_cpus, HANDOFF__HERE, 0));
	assert_false(yields(&two_cpus, HANDOFF__ELSEWHERE, 0));
	assert_false(yields(&two_cpus, HANDOFF__SOMEWHERE, 0));
}

static void it_does_not_yield_to_strangers(void **state)
{
	struct handoff__machine m = two_cpus;

	(void)state;
	m.strangers = true;
	for (m.cpus = 0; m.cpus < 3; m.cpus++)
		for (int where = 0; where < 3; where++)
			assert_false(yields(&m, (enum handoff__where)where, 0));
}

static void it_does_not_yield_in_real_time(void **state)
{
	struct handoff__machine m = two_cpus;

	(void)state;
	m.realtime = true;
	for (m.cpus = 0; m.cpus < 3; m.cpus++)
		for (int where = 0; where < 3; where++)
			assert_false(yields(&m, (enum handoff__where)where, 0));
}

/* ---- Long yields ------------------------------------------------------- */

/* A yield of 4 ms has ended; returns for how long there will be none. */
static uint64_t off_after_long_yield(struct handoff__machine *m, uint64_t *now)
{
	uint64_t began;

	*now += 4 * MS;
	handoff__yielded(m, *now, 4 * MS);
	began = *now;
	while (!yields(m, HANDOFF__HERE, *now)) {
		*now += MS;
		assert_true(*now - began < 3600u * 1000u * (uint64_t)MS);
	}
	return *now - began;
}

static void yield_shortly(struct handoff__machine *m, uint64_t *now,
    unsigned times)
{
	while (times-- > 0) {
		*now += 1 * US;
		handoff__yielded(m, *now, 1 * US);
	}
}

static void a_long_yield_ends_yielding_for_a_time_that_doubles(void **state)
{
	struct handoff__machine m = two_cpus;
	uint64_t now = 1000u * (uint64_t)MS, off, last;

	(void)state;
	yield_shortly(&m, &now, 10);
	assert_true(yields(&m, HANDOFF__HERE, now));
	last = off_after_long_yield(&m, &now);
	assert_true(last > 0);
	for (unsigned i = 0; i < 4; i++) {
		off = off_after_long_yield(&m, &now);
		assert_true(off >= 2 * last - MS && off <= 2 * last + MS);
		last = off;
	}
}

static void many_short_yields_shorten_that_time(void **state)
{
	struct handoff__machine m = two_cpus;
	uint64_t now = 1000u * (uint64_t)MS, last = 0, off;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		last = off_after_long_yield(&m, &now);
	yield_shortly(&m, &now, 1000000);
	/* After so many the first one may be taken for chance. */
	off = off_after_long_yield(&m, &now);
	if (off == 0)
		off = off_after_long_yield(&m, &now);
	assert_true(off > 0 && off < last);
}

/* ---- Nothing known, and nonsense --------------------------------------- */

static void of_nothing_known_it_makes_about_the_price(void **state)
{
	const struct handoff__machine m = { 0 };
	uint32_t price = handoff__price(&m), spin;

	(void)state;
	assert_true(price > 0);
	for (int where = 0; where < 2; where++) {
		struct handoff__history h = { 0 };

		spin = handoff__plan(&h, &m, (enum handoff__where)where, 0, 0)
		           .spin;
		assert_true(spin >= price / 2 && spin <= price * 2);
	}
}

static void a_history_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(struct handoff__history) <= 192);
}

/* The budget after sensible waits tells whether a number has become none. */
static void survives(const uint64_t *durations, size_t count)
{
	static const uint32_t spins[] = { NEVER_PARKED, 0, 1, UINT32_MAX - 1 };
	struct handoff__history h = { 0 };
	uint32_t bound = default_bound(&two_cpus), first, second;

	for (unsigned i = 0; i < 20000; i++) {
		assert_true(plan(&h, &two_cpus).spin <= bound);
		handoff__learn(&h, &two_cpus, durations[i % count],
		    spins[i / 7 % 4]);
	}
	for (size_t i = 0; i < HANDOFF__BUCKETS; i++)
		assert_true(isfinite(h.count[i]) && isfinite(h.sum[i]));
	assert_true(isfinite(h.worth) && isfinite(h.balance));
	wait_often(&h, &two_cpus, 500, 2000);
	assert_true(plan(&h, &two_cpus).spin >= 500);
	wait_often(&h, &two_cpus, 50 * MS, 1000);
	first = wait_for(&h, &two_cpus, 50 * MS); /* one may be a probe */
	second = wait_for(&h, &two_cpus, 50 * MS);
	assert_true(first < 2 * US || second < 2 * US);
}

static void nonsense_does_no_harm(void **state)
{
	static const uint64_t durations[] = { 0, UINT64_MAX, 0, 1, UINT32_MAX,
		UINT64_MAX / 2 };

	(void)state;
	survives(durations, 1);
	survives(durations + 1, 1);
	survives(durations, 2);
	survives(durations, sizeof durations / sizeof *durations);
}

static void a_wake_that_took_any_time_leaves_a_price(void **state)
{
	static const uint64_t took[] = { 0, UINT64_MAX, 1, MS };
	struct handoff__machine m = two_cpus;

	(void)state;
	for (size_t i = 0; i < sizeof took / sizeof *took; i++) {
		for (unsigned k = 0; k < 1000; k++) {
			handoff__woken_after(&m, took[i]);
			assert_true(handoff__price(&m) >= 1 * US);
			assert_true(handoff__price(&m) <= 1 * MS);
		}
	}
	for (unsigned k = 0; k < 1000; k++)
		handoff__woken_after(&m, 20 * US);
	assert_true(handoff__price(&m) > 30 * US);
	assert_true(handoff__price(&m) < 50 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_budget_is_at_most_twice_the_price_or_what_was_asked),
		cmocka_unit_test(under_a_quota_it_is_at_most_the_price),
		cmocka_unit_test(failed_spins_lower_the_budget_to_zero),
		cmocka_unit_test(probes_cost_at_most_a_twentieth),
		cmocka_unit_test(zero_does_not_last_when_waits_become_short),
		cmocka_unit_test(nothing_is_spun_where_the_other_cannot_run),
		cmocka_unit_test(it_yields_only_to_one_that_is_here),
		cmocka_unit_test(it_does_not_yield_to_strangers),
		cmocka_unit_test(it_does_not_yield_in_real_time),
		cmocka_unit_test(
		    a_long_yield_ends_yielding_for_a_time_that_doubles),
		cmocka_unit_test(many_short_yields_shorten_that_time),
		cmocka_unit_test(of_nothing_known_it_makes_about_the_price),
		cmocka_unit_test(a_history_is_small),
		cmocka_unit_test(nonsense_does_no_harm),
		cmocka_unit_test(a_wake_that_took_any_time_leaves_a_price),
	};

	return cmocka_run_group_tests_name("estimator", tests, NULL, NULL);
}
