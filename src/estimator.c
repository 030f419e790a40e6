/* SPDX-License-Identifier: ISC */
/*
 * The estimator: how long to spin or to yield before parking.
 *
 * THE COST OF A WAIT
 *   A wait that takes T, with a budget of S, costs T if T <= S, else S and the
 *   price P of a park.  Had one known T, it would have cost min(T, P).
 *
 * THE BUDGET
 *   The histogram of past waits tells for each bucket's upper edge what it
 *   would have cost on the average to have that as the budget; the least wins.
 *   The mean so approaches that of the best fixed budget.  Three things stand
 *   beside it:
 *     the unknown      a little of a wait is counted in each bucket up to P,
 *                      since a wait longer than all that were seen is as
 *                      likely to end soon as to last.  So a budget covers P as
 *                      long as nothing speaks against it: what is a little
 *                      longer than usual, an interrupt or the partner's own
 *                      wake, does not make both sides park for ever
 *     the account      of what was paid beyond what a budget of P would have
 *                      cost, which is never more than twice the optimum.  In
 *                      debt, P is the budget; so no sequence of waits, be it
 *                      made by one who sees the budget, costs much more
 *     probes           one wait in 64 that got no budget gets P, and so do
 *                      those after it as long as that suffices: zero does not
 *                      last for ever where waits have become short
 *
 * YIELDING
 *   Only where the partner last ran on this CPU and nobody else is known to
 *   want it: then a yield is the quickest way to let it run.  With a stranger
 *   there a yield costs a timeslice; so one that took long, unless very many
 *   before it did not, switches yielding off for a time that doubles.  Where
 *   yields find nothing, since the partner sleeps, they are made ever more
 *   rarely.
 */
#include "estimator.h"

#define US 1000u
#define MS 1000000u

#define FIRST_EDGE 256u /* ns; the upper edge of the first bucket */

#define PRICE_UNKNOWN (50u * US)
#define PRICE_LEAST (2u * US)
#define PRICE_MOST (250u * US)
#define BOUND_LEAST (20u * US)
#define BOUND_MOST (500u * US)
#define QUOTA_FULL 2000u /* two CPUs: both sides can run all the time */

#define GROWTH 1.0125f /* of a wait's worth: old ones count less */
#define WORTH_MOST 1e12f
#define UNKNOWN 0.04f /* of a wait, in each bucket */
#define MORE 1.04f    /* what may be paid for each ns of the fixed budget */
#define CREDIT 16.0f  /* prices of a park: what is saved for later at most */
#define BATCH 32u     /* waits between two computations */
#define PROBE 64u     /* one in so many */

#define YIELD_LONG (50u * US)
#define YIELD_OFF (500u * (uint64_t)MS)
#define YIELD_OFF_MOST (60000u * (uint64_t)MS)
#define YIELDS_CLEAN 1000u /* short ones, after which a long one is chance */
#define YIELDS_FORGIVEN 100000u
#define YIELDS 2u /* in a wait */
#define BARREN 8u /* yields are made once in 2^so many waits at the least */

uint32_t handoff__price(const struct handoff__machine *m)
{
	uint32_t price = m->wake_ns ? 2 * m->wake_ns : PRICE_UNKNOWN;

	if (price < PRICE_LEAST)
		return PRICE_LEAST;
	return price < PRICE_MOST ? price : PRICE_MOST;
}

/* The most that a wait may spin and yield. */
static uint32_t bound(const struct handoff__machine *m, uint32_t price,
    uint32_t most)
{
	uint32_t ns = 2 * price > BOUND_LEAST ? 2 * price : BOUND_LEAST;

	if (ns > BOUND_MOST)
		ns = BOUND_MOST;
	if (most != 0)
		ns = most;
	/* The quota is the pair's: what one spins away the other lacks. */
	if (m->quota != 0 && m->quota < QUOTA_FULL && ns > price)
		ns = price;
	return ns;
}

/* ---- The budget -------------------------------------------------------- */

static unsigned bucket(uint64_t ns)
{
	uint64_t edge = FIRST_EDGE;
	unsigned i = 0;

	for (; i < HANDOFF__BUCKETS - 1 && ns >= edge; i++)
		edge *= 2;
	return i;
}

/* Counts `n` waits of `ns` each. */
static void count(struct handoff__history *h, uint64_t ns, unsigned n)
{
	unsigned i = bucket(ns);

	for (unsigned k = 0; k < n; k++)
		h->worth = h->worth > 0 ? h->worth * GROWTH : 1;
	h->count[i] += h->worth * (float)n;
	h->sum[i] += h->worth * (float)n * (float)ns;
	h->learnt = (uint16_t)(h->learnt + n);
	if (h->worth < WORTH_MOST)
		return;
	for (i = 0; i < HANDOFF__BUCKETS; i++) {
		h->count[i] /= h->worth;
		h->sum[i] /= h->worth;
	}
	h->worth = 1;
}

/* The budget that would have cost the least. */
static void compute(struct handoff__history *h, uint32_t price)
{
	const float p = (float)price;
	float unknown = UNKNOWN * h->worth;
	float spun = 0;   /* what those cost that the budget covers */
	float parked = 0; /* how many it does not */
	float least;
	uint32_t edge = FIRST_EDGE;
	unsigned i;

	for (i = 0; i < HANDOFF__BUCKETS; i++) {
		parked += h->count[i];
		if (FIRST_EDGE << i <= price)
			parked += unknown;
	}
	least = parked * p;
	h->spin = 0;
	for (i = 0; i < HANDOFF__BUCKETS - 1; i++, edge *= 2) {
		float cost;

		spun += h->sum[i];
		parked -= h->count[i];
		if (edge <= price) {
			spun += unknown * 0.75f * (float)edge;
			parked -= unknown;
		}
		cost = spun + parked * ((float)edge + p);
		if (cost < least) {
			least = cost;
			h->spin = edge;
		}
	}
	h->price = price;
	h->learnt = 0;
}

static bool changed(uint32_t price, uint32_t before)
{
	return price > before + before / 8 || price < before - before / 8;
}

/* Counts what was too short to be measured. */
static void count_brief(struct handoff__history *h)
{
	if (h->brief < BATCH)
		return;
	count(h, FIRST_EDGE / 2, h->brief < 2 * BATCH ? h->brief : 2 * BATCH);
	h->brief = 0;
}

static uint32_t budget(struct handoff__history *h, uint32_t price)
{
	uint32_t spin;

	count_brief(h);
	if (h->worth <= 0)
		return price;
	if (h->learnt >= BATCH || changed(price, h->price))
		compute(h, price);
	spin = h->spin;
	if (h->balance > 0 || (spin < price && h->unspun >= PROBE - 1))
		return price;
	return spin;
}

static uint32_t yields(struct handoff__history *h,
    const struct handoff__machine *m, uint64_t now)
{
	unsigned rarely = h->barren < BARREN ? h->barren : BARREN;

	if (m->realtime || m->strangers || now < m->no_yield_until)
		return 0;
	return h->here++ % (1u << rarely) == 0 ? YIELDS : 0;
}

struct handoff__budget handoff__plan(struct handoff__history *h,
    const struct handoff__machine *m, enum handoff__where where, uint32_t most,
    uint64_t now)
{
	struct handoff__budget plan = { 0, 0, 0 };
	uint32_t price = handoff__price(m);
	uint32_t end = bound(m, price, most);

	if (where == HANDOFF__HERE || m->cpus == 1) {
		plan.yields = yields(h, m, now);
		plan.yield = plan.yields ? end : 0;
		return plan;
	}
	/* It may be one of lower priority that we keep from running. */
	if (m->realtime && where != HANDOFF__ELSEWHERE)
		return plan;
	plan.spin = budget(h, price);
	if (plan.spin > end)
		plan.spin = end;
	return plan;
}

/* What this wait cost, against a budget of the price of a park. */
static void settle(struct handoff__history *h, float price, float ns,
    uint32_t spun)
{
	float paid = spun == UINT32_MAX ? ns : (float)spun + price;
	float fixed = ns <= price ? ns : 2 * price;

	h->balance += paid - MORE * fixed;
	if (h->balance < -CREDIT * price)
		h->balance = -CREDIT * price;
	if (h->balance > CREDIT * price)
		h->balance = CREDIT * price;
}

void handoff__learn(struct handoff__history *h,
    const struct handoff__machine *m, uint64_t ns, uint32_t spun)
{
	const uint64_t longest = 1000u * (uint64_t)MS;
	uint32_t price = handoff__price(m);

	if (ns > longest)
		ns = longest;
	if (spun != UINT32_MAX && spun < price)
		h->unspun = h->unspun < UINT16_MAX ? h->unspun + 1 : UINT16_MAX;
	else if (spun != UINT32_MAX || h->unspun < PROBE - 1)
		h->unspun = 0; /* while probes succeed the next one is one */
	settle(h, (float)price, (float)ns, spun);
	count(h, ns, 1);
	/* One that parked can afford it. */
	if (spun != UINT32_MAX)
		compute(h, price);
}

/* ---- Yielding, and what a park costs ----------------------------------- */

void handoff__learn_yields(struct handoff__history *h, bool ended)
{
	if (ended)
		h->barren = 0;
	else if (h->barren < UINT16_MAX)
		h->barren++;
}

bool handoff__yielded(struct handoff__machine *m, uint64_t now, uint64_t ns)
{
	uint64_t off = m->no_yield_ns ? 2 * m->no_yield_ns : YIELD_OFF;

	if (ns < YIELD_LONG) {
		if (++m->short_yields % YIELDS_FORGIVEN == 0)
			m->no_yield_ns /= 2;
		return true;
	}
	if (m->short_yields < YIELDS_CLEAN) {
		m->no_yield_ns = off < YIELD_OFF_MOST ? off : YIELD_OFF_MOST;
		m->no_yield_until = now + m->no_yield_ns;
	}
	m->short_yields = 0;
	return false;
}

void handoff__woken_after(struct handoff__machine *m, uint64_t ns)
{
	uint32_t took = ns < PRICE_MOST / 2 ? (uint32_t)ns : PRICE_MOST / 2;

	if (m->wake_ns == 0)
		m->wake_ns = PRICE_UNKNOWN / 2;
	m->wake_ns = m->wake_ns - m->wake_ns / 8 + took / 8;
	if (m->wake_ns == 0)
		m->wake_ns = 1;
}
